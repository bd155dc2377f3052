/* Groups of devices joined by fast links: the bandwidth at which pairs fall into two classes is the
 * largest ratio of neighbours in the sorted list; groups are the components of the fast pairs.
 * O(devices^2 log devices). */
#include "cost_internal.h"
#include "base/sort_internal.h"
#include "base/union_find_internal.h"

/* The larger of the two neighbours, in ascending order, with the largest ratio; NAN: all are alike.
 * Ties: the largest. */
static double cut(double *x, size_t n) {
  double best = 1, at = (double)NAN;
  berth_i_sort_numbers(x, n);
  for (size_t i = 1; i < n; i++) {
    double ratio = x[i] == x[i - 1] ? 1 : x[i] / x[i - 1];
    if (ratio <= 1 || ratio < best) continue;
    best = ratio;
    at = x[i];
  }
  return at;
}

/* How fast a pair is: 1 / latency where bandwidths are alike; what has no route is not. */
static double speed(const berth_topology *t, size_t pair, bool by_latency) {
  if (isinf(t->latency[pair])) return 0;
  return by_latency ? 1 / t->latency[pair] : t->bandwidth[pair];
}

static double least_fast(const berth_topology *t, bool by_latency, double *scratch) {
  size_t n = 0;
  for (int32_t a = 0; a < t->n_devices; a++) {
    for (int32_t b = 0; b < t->n_devices; b++) {
      size_t pair = berth_i_pair(t, a, b);
      if (a != b && !isinf(t->latency[pair])) scratch[n++] = speed(t, pair, by_latency);
    }
  }
  return cut(scratch, n);
}

static bool fast(const berth_topology *t, int32_t a, int32_t b, bool by_latency, double least) {
  return speed(t, berth_i_pair(t, a, b), by_latency) >= least
         && speed(t, berth_i_pair(t, b, a), by_latency) >= least;
}

/* Groups are called by their lowest device. */
static void join(const berth_topology *t, bool by_latency, double least, int32_t *group) {
  berth_i_sets_init(group, t->n_devices);
  for (int32_t a = 0; a < t->n_devices; a++) {
    for (int32_t b = a + 1; b < t->n_devices; b++)
      if (fast(t, a, b, by_latency, least)) berth_i_sets_join(group, a, b);
  }
  for (int32_t d = 0; d < t->n_devices; d++) group[d] = berth_i_sets_root(group, d);
}

berth_status berth_i_device_groups(berth_ctx *ctx, const berth_topology *t, int32_t *group) {
  size_t pairs = (size_t)t->n_devices * (size_t)t->n_devices;
  double *scratch = berth_i_alloc(ctx, pairs, sizeof *scratch);
  if (!scratch) return berth_i_nomem(ctx);
  double least = least_fast(t, false, scratch);
  bool by_latency = isnan(least);
  if (by_latency) least = least_fast(t, true, scratch);
  if (isnan(least)) {
    for (int32_t d = 0; d < t->n_devices; d++) group[d] = 0;
  } else {
    join(t, by_latency, least, group);
  }
  berth_i_free(ctx, scratch, pairs, sizeof *scratch);
  return BERTH_OK;
}

berth_status berth_device_groups(const berth_topology *t, int32_t *group) {
  if (!t) return BERTH_EINVAL;
  return berth_i_device_groups(t->ctx, t, group);
}
