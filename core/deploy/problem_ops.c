/* What the compiler needs of ops: times at any number of samples (by profiles at several batches,
 * or a line), speeds of devices, which ops depend on the batch, where updates are, op groups, and
 * ranks by which ops are dispatched: the longest way to the end first, updates last, ops that make
 * gradients only as if they were on the way of what else reads their inputs. */
#include "base/sort_internal.h"
#include "deploy/analyse/grouping_internal.h"
#include "deploy_internal.h"
#include <berth/cost.h>

/* ---- what ops take: at any number of samples, on the mean, and how fast devices are ---- */

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
  if (d->roofline[op]) fixed = berth_i_op_start(d->cost, device);
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

berth_status berth_i_deploy_times(berth_deploy *d, const berth_deploy_options *o) {
  berth_status st;
  /* Costs at other batches, by batch. */
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
  for (int32_t op = 0; op < d->n_ops; op++) {
    const berth_graph *g = d->g;
    bool profile = g->seconds && !isnan(g->seconds[(size_t)op * (size_t)g->n_types]);
    d->roofline[op] = !profile && ((g->flop && g->flop[op] > 0) || (g->bytes && g->bytes[op] > 0));
  }
  if ((st = berth_cost_mean_ops(d->cost, d->mean_seconds)) != BERTH_OK) return st;
  /* Speeds: shares of the sum, by the time of all ops. */
  double least = INFINITY, sum = 0;
  for (int32_t device = 0; device < d->n_devices; device++) {
    /* The whole graph on it; a device takes as long as others do on the mean for what it cannot
     * run. */
    double total = 0;
    for (int32_t op = 0; op < d->n_ops; op++) {
      double t = berth_i_op_time(d->cost, op, device);
      total += isinf(t) ? d->mean_seconds[op] : t;
    }
    d->speed[device] = total;
    if (d->speed[device] > 0 && d->speed[device] < least) least = d->speed[device];
  }
  /* Compared with the fastest that takes time at all, within bounds that keep shares in numbers. */
  for (int32_t device = 0; device < d->n_devices; device++) {
    double total = d->speed[device], speed = total > least ? least / total : 1;
    sum += d->speed[device] = speed > SLOWEST ? speed : SLOWEST;
  }
  for (int32_t device = 0; device < d->n_devices; device++) d->speed[device] /= sum;
  return BERTH_OK;
}

/* ---- ops ---- */

static bool any_cut(const berth_deploy *d, const int32_t *tensor, int32_t from, int32_t to) {
  for (int32_t i = from; i < to; i++)
    if (d->cut_tensor[tensor[i]]) return true;
  return false;
}

static void find_levels(berth_deploy *d) {
  const berth_graph *g = d->g;
  for (int32_t i = 0; i < d->n_ops; i++) {
    int32_t v = g->topo[i], most = 0;
    for (int32_t j = g->in_at[v]; j < g->in_at[v + 1]; j++) {
      int32_t u = g->producer[g->in[j]], level = d->level[u] + (d->update_number[u] != BERTH_NONE);
      if (level > most) most = level;
    }
    d->level[v] = most;
  }
}

static int32_t first_reader(const berth_deploy *d, int32_t op) {
  const berth_graph *g = d->g;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++)
      if (d->role[g->use[j]] != BERTH_ROLE_INPUT) return g->use[j];
  }
  return BERTH_NONE;
}

/* ---- groups ---- */

bool berth_i_deploy_is_forward(const berth_deploy *d, int32_t op) {
  return !(berth_i_flags(d->g, op) & (BERTH_OP_BACKWARD | BERTH_OP_UPDATE))
         && d->update_number[op] == BERTH_NONE;
}

double berth_i_deploy_held_bytes(const berth_deploy *d, int32_t op) {
  const berth_graph *g = d->g;
  double bytes = berth_i_param(g, op) * d->sim.param_multiple;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1] && berth_i_deploy_is_forward(d, op); i++)
    bytes += berth_i_resident(g, g->out[i]);
  return bytes;
}

static berth_status group_ops(berth_deploy *d) {
  size_t n = (size_t)d->n_ops;
  berth_i_pool scratch = berth_i_pool_empty(d->ctx);
  double *seconds = berth_i_pool_alloc(&scratch, n, BERTH_I_GROUP_TIMES * sizeof *seconds);
  double *bytes = berth_i_pool_alloc(&scratch, n, sizeof *bytes);
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  const berth_i_grouping o = { .groups = d->o.op_groups, .top_k = d->o.top_k != 0,
                               .seed = d->o.seed, .bytes = bytes, .limit = d->o.group_bytes };
  for (int32_t op = 0; op < d->n_ops; op++) bytes[op] = berth_i_deploy_held_bytes(d, op);
  for (int32_t k = 0; k < BERTH_I_GROUP_TIMES; k++) {
    int32_t samples = d->batch >> k > 0 ? d->batch >> k : 1;
    for (int32_t op = 0; op < d->n_ops; op++) {
      double sum = 0;
      int32_t found = 0;
      for (int32_t device = 0; samples < d->batch && device < d->n_devices; device++) {
        if (!berth_i_can_run(d->cost, op, device)) continue;
        sum += berth_i_deploy_seconds(d, op, device, samples);
        found++;
      }
      seconds[(size_t)k * n + (size_t)op] = samples == d->batch ? d->mean_seconds[op]
                                            : found > 0         ? sum / found
                                                                : 0;
    }
  }
  st = berth_i_deploy_group(d->analysis, seconds, &o, d->group, &d->n_groups);
done:
  berth_i_pool_free(&scratch);
  return st;
}

static berth_status list_groups(berth_deploy *d) {
  size_t n = (size_t)d->n_groups;
  d->group_at = berth_i_pool_zalloc(&d->pool, n + 1, sizeof *d->group_at);
  d->group_seconds = berth_i_pool_zalloc(&d->pool, n, sizeof *d->group_seconds);
  if (!d->group_at || !d->group_seconds) return berth_i_nomem(d->ctx);
  for (int32_t op = 0; op < d->n_ops; op++) {
    d->group_at[d->group[op]]++;
    d->group_seconds[d->group[op]] += d->mean_seconds[op];
  }
  for (int32_t k = 1; k <= d->n_groups; k++) d->group_at[k] += d->group_at[k - 1];
  for (int32_t op = d->n_ops - 1; op >= 0; op--) d->group_op[--d->group_at[d->group[op]]] = op;
  return BERTH_OK;
}

/* ---- rank ---- */

/* An op that makes gradients only: its own way to the end is short, but the op that sums them
 * waits for them. */
static bool makes_gradients(const berth_deploy *d, int32_t op) {
  const berth_graph *g = d->g;
  int32_t n = 0;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    if (berth_i_is_control(g, g->out[i])) continue;
    if (d->cut_tensor[g->out[i]]) return false;
    n++;
  }
  return n > 0 && d->cut_op[op];
}

typedef struct ranked {
  double way;   /* s to the end */
  int32_t op;
  uint8_t last, makes_grads;
} ranked;

BERTH_I_SORT(sort_by_rank, ranked,
             BERTH_I_UP(last) BERTH_I_DOWN(way) BERTH_I_UP(makes_grads) BERTH_I_UP(op))

static berth_status find_rank(berth_deploy *d) {
  size_t n = (size_t)d->n_ops;
  ranked *place = berth_i_alloc(d->ctx, n, sizeof *place);
  uint8_t *makes_grads = berth_i_alloc(d->ctx, n, 1);
  berth_status st = place && makes_grads
                        ? berth_b_level(d->g, d->mean_seconds, NULL, d->rank)
                        : berth_i_nomem(d->ctx);
  if (st != BERTH_OK) goto done;
  for (int32_t op = 0; op < d->n_ops; op++) makes_grads[op] = makes_gradients(d, op);
  /* An op that makes gradients only is ranked as if it were on the longest way of what else reads
   * what it reads last. */
  const berth_graph *g = d->g;
  double *way = d->rank;
  for (int32_t k = 0; k < d->n_ops; k++) {
    int32_t op = g->topo[k], last = BERTH_NONE;
    if (!makes_grads[op]) continue;
    for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
      int32_t u = g->producer[g->in[i]];
      if (last == BERTH_NONE || way[u] < way[last]) last = u;
    }
    if (last == BERTH_NONE) continue;
    double best = -1;
    for (int32_t i = g->out_at[last]; i < g->out_at[last + 1]; i++)
      for (int32_t j = g->use_at[g->out[i]]; j < g->use_at[g->out[i] + 1]; j++)
        if (!makes_grads[g->use[j]]) best = fmax(best, way[g->use[j]]);
    way[op] = fmax(way[op], best < 0 ? way[last] : best);
  }
  for (int32_t op = 0; op < d->n_ops; op++)
    place[op] = (ranked){ d->rank[op], op, d->update_number[op] != BERTH_NONE, makes_grads[op] };
  sort_by_rank(place, n);
  for (int32_t op = 0; op < d->n_ops; op++) d->rank[place[op].op] = op;
done:
  berth_i_free(d->ctx, place, n, sizeof *place);
  berth_i_free(d->ctx, makes_grads, n, 1);
  return st;
}

/* ---- all ---- */

berth_status berth_i_deploy_ops(berth_deploy *d) {
  size_t size = (size_t)d->n_ops;
  d->cut_op = berth_i_pool_alloc(&d->pool, size, 1);
  d->scales = berth_i_pool_alloc(&d->pool, size, 1);
  d->update_number = berth_i_pool_alloc(&d->pool, size, sizeof *d->update_number);
  d->level = berth_i_pool_alloc(&d->pool, size, sizeof *d->level);
  d->first_reader = berth_i_pool_alloc(&d->pool, size, sizeof *d->first_reader);
  d->rank = berth_i_pool_alloc(&d->pool, size, sizeof *d->rank);
  d->group = berth_i_pool_alloc(&d->pool, size, sizeof *d->group);
  d->group_op = berth_i_pool_alloc(&d->pool, size, sizeof *d->group_op);
  berth_status st;
  if ((st = berth_i_pool_status(&d->pool)) != BERTH_OK) return st;
  d->role = berth_analysis_role(d->analysis);
  d->cut_tensor = berth_analysis_batch(d->analysis);
  const uint8_t *from_input = berth_analysis_from_input(d->analysis);
  for (int32_t op = 0; op < d->n_ops; op++)
    d->cut_op[op] =
        from_input[op] && (d->role[op] == BERTH_ROLE_COMPUTE || d->role[op] == BERTH_ROLE_INPUT);
  /* What reads and makes only what each replica has in full works on all of it, however few samples
   * that stands for. */
  const berth_graph *g = d->g;
  for (int32_t op = 0; op < d->n_ops; op++)
    d->scales[op] =
        d->cut_op[op]
        && (d->role[op] == BERTH_ROLE_INPUT || any_cut(d, g->in, g->in_at[op], g->in_at[op + 1])
            || any_cut(d, g->out, g->out_at[op], g->out_at[op + 1]));
  int32_t n = 0;
  for (int32_t op = 0; op < d->n_ops; op++) {
    bool update = d->role[op] == BERTH_ROLE_UPDATE || d->role[op] == BERTH_ROLE_SCATTER;
    d->update_number[op] = update ? n++ : BERTH_NONE;
  }
  find_levels(d);
  for (int32_t op = 0; op < d->n_ops; op++)
    d->first_reader[op] = d->role[op] == BERTH_ROLE_INPUT ? first_reader(d, op) : BERTH_NONE;
  if ((st = group_ops(d)) != BERTH_OK) return st;
  if ((st = list_groups(d)) != BERTH_OK) return st;
  return find_rank(d);
}
