/* What ops take: at any number of samples, on the mean, and how fast devices are. */
#include "deploy_internal.h"
#include <berth/cost.h>

#define SLOWEST 0x1p-50

/* ---- points ---- */

static berth_status check_point(const berth_deploy *d, const berth_deploy_options *o, int32_t k) {
  const berth_cost *c = o->point_cost[k];
  if (o->point_batch[k] < 1)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "profile %ld has a batch of %ld: needs 1 or more",
                        (long)k, (long)o->point_batch[k]);
  if (c->g->n_ops != d->n_ops || c->t != d->t)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "profile %ld is of another %s than the cost", (long)k,
                        c->t != d->t ? "topology" : "graph");
  int32_t j;
  for (j = 0; j < k && o->point_batch[j] != o->point_batch[k]; j++) continue;
  if (j < k || o->point_batch[k] == d->batch)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "profile %ld has a batch of %ld, as another one has",
                        (long)k, (long)o->point_batch[k]);
  return BERTH_OK;
}

/* Keeps the points sorted by batch. */
static void insert_point(berth_deploy *d, int32_t batch, berth_cost *c) {
  int32_t k = d->n_points++;
  for (; k > 0 && d->point_batch[k - 1] > batch; k--) {
    d->point_batch[k] = d->point_batch[k - 1];
    d->point_cost[k] = d->point_cost[k - 1];
  }
  d->point_batch[k] = batch;
  d->point_cost[k] = c;
  berth_cost_retain(c);
}

/* ---- one op ---- */

static double cut_off(const berth_deploy *d, double seconds) {
  return d->cost->whole_us ? berth_i_whole_us(seconds) : seconds;
}

/* The line from what an empty batch takes. */
static double on_line(const berth_deploy *d, int32_t op, int32_t device, double share) {
  double all = berth_i_op_time(d->cost, op, device), fixed = 0;
  if (d->roofline[op]) fixed = d->t->devices[device].overhead * d->cost->op_factor;
  if (fixed > all) fixed = all;
  return fixed + (all - fixed) * share;
}

/* The line through the two points around it. */
static double between_points(const berth_deploy *d, int32_t op, int32_t device, double samples) {
  int32_t k = 1;
  while (k < d->n_points - 1 && d->point_batch[k] < samples) k++;
  double low = berth_i_op_time(d->point_cost[k - 1], op, device);
  double high = berth_i_op_time(d->point_cost[k], op, device);
  if (isinf(low) || isinf(high)) return on_line(d, op, device, samples / d->batch);
  double width = d->point_batch[k] - d->point_batch[k - 1];
  return fmax(0, high * ((samples - d->point_batch[k - 1]) / width)
                     + low * ((d->point_batch[k] - samples) / width));
}

double berth_i_deploy_seconds(const berth_deploy *d, int32_t op, int32_t device, int32_t samples) {
  if (samples == 0) return 0;
  if (samples == d->batch || !d->scales[op])
    return cut_off(d, berth_i_op_time(d->cost, op, device));
  if (d->n_points > 1) return cut_off(d, between_points(d, op, device, samples));
  return cut_off(d, on_line(d, op, device, (double)samples / d->batch));
}

/* ---- all ---- */

/* The whole graph on it; a device takes as long as others do on the mean for what it cannot run. */
static double total_on(const berth_deploy *d, int32_t device) {
  double total = 0;
  for (int32_t op = 0; op < d->n_ops; op++) {
    double s = berth_i_op_time(d->cost, op, device);
    total += isinf(s) ? d->mean_seconds[op] : s;
  }
  return total;
}

/* Compared with the fastest that takes time at all, within bounds that keep shares in numbers. */
static double speed_of(double total, double least) {
  double speed = total > least ? least / total : 1;
  return speed > SLOWEST ? speed : SLOWEST;
}

static bool has_profile(const berth_graph *g, int32_t op) {
  return g->seconds && !isnan(g->seconds[(size_t)op * (size_t)g->n_types]);
}

static bool has_roofline(const berth_graph *g, int32_t op) {
  return !has_profile(g, op) && ((g->flop && g->flop[op] > 0) || (g->bytes && g->bytes[op] > 0));
}

berth_status berth_i_deploy_times(berth_deploy *d, const berth_deploy_options *o) {
  berth_status st;
  /* Take points. */
  size_t n = (size_t)o->n_points + 1;
  d->point_batch = berth_i_pool_alloc(&d->pool, n, sizeof *d->point_batch);
  d->point_cost = berth_i_pool_alloc(&d->pool, n, sizeof *d->point_cost);
  if (berth_i_pool_status(&d->pool) != BERTH_OK) return BERTH_ENOMEM;
  insert_point(d, d->batch, d->cost);
  for (int32_t k = 0; k < o->n_points; k++) {
    st = check_point(d, o, k);
    if (st != BERTH_OK) return st;
    insert_point(d, o->point_batch[k], o->point_cost[k]);
  }
  d->roofline = berth_i_pool_alloc(&d->pool, (size_t)d->n_ops, 1);
  d->mean_seconds = berth_i_pool_alloc(&d->pool, (size_t)d->n_ops, sizeof *d->mean_seconds);
  d->speed = berth_i_pool_alloc(&d->pool, (size_t)d->n_devices, sizeof *d->speed);
  if ((st = berth_i_pool_status(&d->pool)) != BERTH_OK) return st;
  for (int32_t op = 0; op < d->n_ops; op++) d->roofline[op] = has_roofline(d->g, op);
  if ((st = berth_cost_mean_ops(d->cost, d->mean_seconds)) != BERTH_OK) return st;
  /* Find speeds. */
  double least = INFINITY, sum = 0;
  for (int32_t device = 0; device < d->n_devices; device++) {
    d->speed[device] = total_on(d, device);
    if (d->speed[device] > 0 && d->speed[device] < least) least = d->speed[device];
  }
  for (int32_t device = 0; device < d->n_devices; device++)
    sum += d->speed[device] = speed_of(d->speed[device], least);
  for (int32_t device = 0; device < d->n_devices; device++) d->speed[device] /= sum;
  return BERTH_OK;
}
