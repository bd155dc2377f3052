/* Numbers for graph networks: op groups, device groups, and what is between them. */
#include "values_internal.h"

enum {
  SIZES = 4,
  OP = BERTH_DEPLOY_OP_FEATURES,
  DEVICE = BERTH_DEPLOY_DEVICE_FEATURES,
  PLACE = BERTH_DEPLOY_PLACE_FEATURES
};
enum { OP_PARAMS = 4, OP_INNER, OP_OPTION, OP_MAKESPAN = 9, OP_IDLE, OP_DECIDED, OP_DECIDING };

berth_status berth_deploy_features_shape(berth_deploy *d, berth_deploy_shape *out) {
  berth_i_values *v;
  berth_status st = berth_i_values_of(d, &v);
  if (st != BERTH_OK) return st;
  *out = (berth_deploy_shape){ d->n_groups, d->n_device_groups, v->n_crossings, v->from, v->to };
  return BERTH_OK;
}

/* ---- times ---- */

static int32_t samples_at(const berth_deploy *d, int32_t size) {
  int32_t n = d->batch >> size;
  return n < 1 ? 1 : n;
}

static double group_on_device(const berth_deploy *d, int32_t group, int32_t device,
                              int32_t samples) {
  double sum = 0;
  for (int32_t i = d->group_at[group]; i < d->group_at[group + 1]; i++)
    sum += berth_i_deploy_seconds(d, d->group_op[i], device, samples);
  return sum;
}

/* Mean over those devices of the device group that can run all; 0 without. */
static double mean_on(const berth_deploy *d, int32_t group, int32_t device_group, int32_t samples) {
  double sum = 0;
  int32_t n = 0;
  for (int32_t k = 0; k < d->n_devices; k++) {
    double t;
    if (d->device_group[k] != device_group || isinf(t = group_on_device(d, group, k, samples)))
      continue;
    sum += t;
    n++;
  }
  return n > 0 ? sum / n : 0;
}

static berth_status make_seconds(berth_deploy *d, berth_i_values *v) {
  size_t n = (size_t)d->n_groups * (size_t)d->n_device_groups;
  double *x = v->place_seconds;
  if (x) return BERTH_OK;
  if (!(x = v->place_seconds = berth_i_pool_alloc(&v->pool, n, SIZES * sizeof *x)))
    return berth_i_pool_status(&v->pool);
  for (int32_t g = 0; g < d->n_groups; g++)
    for (int32_t m = 0; m < d->n_device_groups; m++)
      for (int32_t k = 0; k < SIZES; k++) *x++ = mean_on(d, g, m, samples_at(d, k));
  return BERTH_OK;
}

/* ---- scales ---- */

typedef struct scale {
  const berth_deploy *d;
  const berth_i_values *v;
  const int32_t *size;   /* [n_device_groups] devices */
  double seconds, bandwidth;
  bool log;
} scale;

static float to_feature(const scale *s, double x) {
  return (float)(s->log ? log1p(1000 * x) / log1p(1000) : x);
}
static float of_seconds(const scale *s, double x) { return to_feature(s, x / s->seconds); }
static float of_bytes(const scale *s, double x) {
  return to_feature(s, x / (s->seconds * s->bandwidth));
}
static float of_bandwidth(const scale *s, double x) {
  return to_feature(s, (isinf(x) ? s->bandwidth : x) / s->bandwidth);
}

static double mean_seconds(const scale *s, int32_t group, int32_t k) {
  const berth_deploy *d = s->d;
  const double *x = s->v->place_seconds + (size_t)group * (size_t)d->n_device_groups * SIZES;
  double sum = 0;
  for (int32_t m = 0; m < d->n_device_groups; m++) sum += x[m * SIZES + k] * s->size[m];
  return sum / d->n_devices;
}

/* The slowest pair; within a group of one device: infinite; 0: no route. */
static double bandwidth_between(const berth_deploy *d, int32_t a, int32_t b) {
  double least = INFINITY;
  for (int32_t i = 0; i < d->n_devices; i++) {
    for (int32_t k = 0; k < d->n_devices; k++) {
      size_t pair = berth_i_pair(d->t, i, k);
      if (i == k || d->device_group[i] != a || d->device_group[k] != b) continue;
      least = fmin(least, isinf(d->t->latency[pair]) ? 0 : d->t->bandwidth[pair]);
    }
  }
  return least;
}

static void find_scale(scale *s) {
  const berth_deploy *d = s->d;
  double squares = 0;
  for (int32_t g = 0; g < d->n_groups; g++)
    squares += mean_seconds(s, g, 0) * mean_seconds(s, g, 0);
  s->seconds = squares > 0 ? sqrt(squares) : 1;
  s->bandwidth = 0;
  for (int32_t a = 0; a < d->n_device_groups; a++) {
    for (int32_t b = 0; b < d->n_device_groups; b++) {
      double w = bandwidth_between(d, a, b);
      if (!isinf(w)) s->bandwidth = fmax(s->bandwidth, w);
    }
  }
  if (s->bandwidth == 0) s->bandwidth = 1;
}

/* ---- what the strategy is ---- */

typedef struct state {
  const int32_t *action;
  int32_t decided, deciding;
  berth_deploy_feedback f; /* NULL: none */
} state;

static double group_mean(const berth_deploy *d, int32_t group, const double *x) {
  double sum = 0;
  for (int32_t i = d->group_at[group]; x && i < d->group_at[group + 1]; i++)
    sum += x[d->group_op[i]];
  return sum / berth_i_group_size(d, group);
}

static void op_row(const scale *s, const state *now, int32_t group, float *row) {
  const berth_deploy *d = s->d;
  berth_deploy_option option = d->action[now->action[group]].option;
  for (int32_t k = 0; k < SIZES; k++) row[k] = of_seconds(s, mean_seconds(s, group, k));
  row[OP_PARAMS] = of_bytes(s, s->v->params[group]);
  row[OP_INNER] = of_bytes(s, s->v->inner[group]);
  for (int32_t k = 0; k < 3; k++) row[OP_OPTION + k] = (int)option == k;
  row[OP_MAKESPAN] = of_seconds(s, group_mean(d, group, now->f.makespan));
  row[OP_IDLE] = of_seconds(s, group_mean(d, group, now->f.idle_after));
  row[OP_DECIDED] = group < now->decided;
  row[OP_DECIDING] = group == now->deciding;
}

static void device_row(const scale *s, const state *now, int32_t m, float *row) {
  const berth_deploy *d = s->d;
  double memory = INFINITY, fullest = 0, busy = 0;
  for (int32_t k = 0; k < d->n_devices; k++) {
    double holds = berth_i_memory_of(d, k);
    if (d->device_group[k] != m) continue;
    memory = fmin(memory, holds);
    if (now->f.peak && !isinf(holds) && holds > 0) fullest = fmax(fullest, now->f.peak[k] / holds);
    if (now->f.busy) busy += now->f.busy[k];
  }
  row[0] = (float)(s->size[m] / 4.0);
  row[1] = isinf(memory) ? 0 : of_bytes(s, memory);
  row[2] = of_bandwidth(s, bandwidth_between(d, m, m));
  row[3] = (float)fullest;
  row[4] = (float)(busy / s->size[m]);
}

static double placed_share(const scale *s, const state *now, int32_t group, int32_t m) {
  const int32_t *list;
  int32_t n = berth_deploy_set(s->d, s->d->action[now->action[group]].set, &list), found = 0;
  for (int32_t k = 0; k < n; k++) found += s->d->device_group[list[k]] == m;
  return (double)found / s->size[m];
}

static void fill(const scale *s, const state *now, berth_deploy_features *out) {
  const berth_deploy *d = s->d;
  for (int32_t i = 0; out->op && i < d->n_groups; i++) op_row(s, now, i, out->op + (size_t)i * OP);
  for (int32_t i = 0; out->device && i < d->n_device_groups; i++)
    device_row(s, now, i, out->device + (size_t)i * DEVICE);
  for (int32_t i = 0; out->edge && i < s->v->n_crossings; i++)
    out->edge[i] = of_bytes(s, s->v->crossing[i].cut + s->v->crossing[i].whole);
  for (int32_t i = 0; out->link && i < d->n_device_groups; i++)
    for (int32_t k = 0; k < d->n_device_groups; k++)
      out->link[(size_t)i * (size_t)d->n_device_groups + (size_t)k] =
          of_bandwidth(s, bandwidth_between(d, i, k));
  if (out->place) {
    float *row = out->place;
    const double *x = s->v->place_seconds;
    for (int32_t g = 0; g < s->d->n_groups; g++) {
      for (int32_t m = 0; m < s->d->n_device_groups; m++, row += PLACE) {
        for (int32_t k = 0; k < SIZES; k++) row[k] = of_seconds(s, *x++);
        row[SIZES] = (float)placed_share(s, now, g, m);
      }
    }
  }
}

/* ---- the call ---- */

static berth_status check(berth_deploy *d, int32_t decided, int32_t deciding,
                          berth_deploy_scale how) {
  if (decided < 0 || decided > d->n_groups)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "%d op groups decided: there are %d", (int)decided,
                        (int)d->n_groups);
  if (deciding != BERTH_NONE && (deciding < 0 || deciding >= d->n_groups))
    return berth_i_fail(d->ctx, BERTH_EINVAL, "op group %d: there are %d", (int)deciding,
                        (int)d->n_groups);
  if (how != BERTH_DEPLOY_SCALE_RAW && how != BERTH_DEPLOY_SCALE_LOG)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "there is no scale %d of features", (int)how);
  return BERTH_OK;
}

/* The arrays of the feedback are slices of scratch: [2 * ops + 2 * devices]. */
static berth_status simulate(berth_deploy *d, const uint8_t *duplicate, double *scratch, state *now,
                             berth_deploy_value *value) {
  size_t n = (size_t)d->n_ops, m = (size_t)d->n_devices;
  now->f = (berth_deploy_feedback){ scratch,         scratch + n,         NULL,
                                    scratch + 2 * n, scratch + 2 * n + m, NULL };
  berth_deploy_value own;
  return berth_deploy_simulate(d, now->action, duplicate, &now->f, value ? value : &own);
}

berth_status berth_deploy_features_of(berth_deploy *d, const int32_t *action,
                                      const uint8_t *duplicate, int32_t decided, int32_t deciding,
                                      berth_deploy_scale how, int feedback,
                                      berth_deploy_features *out, berth_deploy_value *value) {
  size_t n = 2 * ((size_t)d->n_ops + (size_t)d->n_devices), m = (size_t)d->n_device_groups;
  state now = { action, decided, deciding, { NULL, NULL, NULL, NULL, NULL, NULL } };
  double *scratch = NULL;
  int32_t *size = NULL;
  berth_status st;
  if ((st = check(d, decided, deciding, how)) != BERTH_OK) return st;
  if ((st = berth_i_deploy_check_strategy(d, action)) != BERTH_OK) return st;
  berth_i_values *v;
  if ((st = berth_i_values_of(d, &v)) != BERTH_OK) return st;
  if ((st = make_seconds(d, v)) != BERTH_OK) return st;
  scratch = berth_i_alloc(d->ctx, n, sizeof *scratch);
  size = berth_i_zalloc(d->ctx, m, sizeof *size);
  if (!scratch || !size) {
    st = berth_i_nomem(d->ctx);
    goto done;
  }
  for (int32_t k = 0; k < d->n_devices; k++) size[d->device_group[k]]++;
  if (feedback && (st = simulate(d, duplicate, scratch, &now, value)) != BERTH_OK) goto done;
  {
    scale s = { d, v, size, 1, 1, how == BERTH_DEPLOY_SCALE_LOG };
    find_scale(&s);
    fill(&s, &now, out);
  }
done:
  berth_i_free(d->ctx, scratch, n, sizeof *scratch);
  berth_i_free(d->ctx, size, m, sizeof *size);
  return st;
}
