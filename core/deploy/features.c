/* Numbers for graph networks, as TAG's code has them: of op groups, of device groups, of what
 * crosses between groups and of links, scaled by the time and the bandwidth of the problem.
 * O(groups device groups + devices^2), besides the simulation that feedback needs. */
#include "values_internal.h"

enum {
  SIZES = 4,
  OP = BERTH_DEPLOY_OP_FEATURES,
  DEVICE = BERTH_DEPLOY_DEVICE_FEATURES,
  PLACE = BERTH_DEPLOY_PLACE_FEATURES
};
enum { OP_PARAMS = 4, OP_INNER, OP_OPTION, OP_MAKESPAN = 9, OP_IDLE, OP_DECIDED, OP_DECIDING };

berth_status berth_deploy_features_shape(berth_deploy *d, berth_deploy_shape *out) {
  if (!d) return BERTH_EINVAL;
  berth_i_values *v;
  berth_status st = berth_i_values_of(d, &v);
  if (st != BERTH_OK) return st;
  *out = (berth_deploy_shape){ d->n_groups, d->n_device_groups, v->n_crossings, v->from, v->to };
  return BERTH_OK;
}

/* ---- times ---- */

/* Of each group on each device group, at B, B/2, B/4, B/8: the mean over those devices of the
 * device group that can run all; 0 without. */
static berth_status make_seconds(berth_deploy *d, berth_i_values *v) {
  size_t n = (size_t)d->n_groups * (size_t)d->n_device_groups;
  double *x = v->place_seconds;
  if (x) return BERTH_OK;
  if (!(x = v->place_seconds = berth_i_pool_alloc(&v->pool, n, SIZES * sizeof *x)))
    return berth_i_pool_status(&v->pool);
  for (int32_t g = 0; g < d->n_groups; g++)
    for (int32_t m = 0; m < d->n_device_groups; m++)
      for (int32_t k = 0; k < SIZES; k++) {
        int32_t samples = d->batch >> k > 1 ? d->batch >> k : 1, found = 0;
        double sum = 0;
        for (int32_t device = 0; device < d->n_devices; device++) {
          double t = 0;
          if (d->device_group[device] != m) continue;
          for (int32_t i = d->group_at[g]; i < d->group_at[g + 1]; i++)
            t += berth_i_deploy_seconds(d, d->group_op[i], device, samples);
          if (isinf(t)) continue;
          sum += t;
          found++;
        }
        *x++ = found > 0 ? sum / found : 0;
      }
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

static void fill(const scale *s, const state *now, berth_deploy_features *out) {
  const berth_deploy *d = s->d;
  const int32_t groups = d->n_device_groups;
  for (int32_t i = 0; out->op && i < d->n_groups; i++) op_row(s, now, i, out->op + (size_t)i * OP);
  for (int32_t i = 0; out->device && i < groups; i++)
    device_row(s, now, i, out->device + (size_t)i * DEVICE);
  for (int32_t i = 0; out->edge && i < s->v->n_crossings; i++)
    out->edge[i] = of_bytes(s, s->v->crossing[i].cut + s->v->crossing[i].whole);
  for (int32_t i = 0; out->link && i < groups; i++)
    for (int32_t k = 0; k < groups; k++)
      out->link[(size_t)i * (size_t)groups + (size_t)k] =
          of_bandwidth(s, bandwidth_between(d, i, k));
  float *row = out->place;
  const double *x = s->v->place_seconds;
  for (int32_t g = 0; row && g < d->n_groups; g++) {
    const int32_t *list;
    int32_t n = berth_deploy_set(d, d->action[now->action[g]].set, &list);
    for (int32_t m = 0; m < groups; m++, row += PLACE) {
      int32_t found = 0;
      for (int32_t k = 0; k < SIZES; k++) row[k] = of_seconds(s, *x++);
      for (int32_t k = 0; k < n; k++) found += d->device_group[list[k]] == m;
      row[SIZES] = (float)((double)found / s->size[m]);
    }
  }
}

/* ---- the call ---- */

berth_status berth_deploy_features_of(berth_deploy *d, const int32_t *action,
                                      const uint8_t *duplicate, int32_t decided, int32_t deciding,
                                      berth_deploy_scale how, int feedback,
                                      berth_deploy_features *out, berth_deploy_value *value) {
  if (!d) return BERTH_EINVAL;
  size_t ops = (size_t)d->n_ops, devices = (size_t)d->n_devices, n = 2 * (ops + devices),
         m = (size_t)d->n_device_groups;
  state now = { action, decided, deciding, { NULL, NULL, NULL, NULL, NULL, NULL } };
  double *scratch = NULL;
  int32_t *size = NULL;
  if (decided < 0 || decided > d->n_groups)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "%d op groups decided: there are %d", (int)decided,
                        (int)d->n_groups);
  if (deciding != BERTH_NONE && (deciding < 0 || deciding >= d->n_groups))
    return berth_i_fail(d->ctx, BERTH_EINVAL, "op group %d: there are %d", (int)deciding,
                        (int)d->n_groups);
  if (how != BERTH_DEPLOY_SCALE_RAW && how != BERTH_DEPLOY_SCALE_LOG)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "there is no scale %d of features", (int)how);
  berth_status st;
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
  if (feedback) {
    berth_deploy_value own;
    now.f = (berth_deploy_feedback){ scratch, scratch + ops, NULL, scratch + 2 * ops,
                                     scratch + 2 * ops + devices, NULL };
    st = berth_deploy_simulate(d, action, duplicate, &now.f, value ? value : &own);
  }
  if (st == BERTH_OK) {
    scale s = { d, v, size, 1, 1, how == BERTH_DEPLOY_SCALE_LOG };
    find_scale(&s);
    fill(&s, &now, out);
  }
done:
  berth_i_free(d->ctx, scratch, n, sizeof *scratch);
  berth_i_free(d->ctx, size, m, sizeof *size);
  return st;
}
