/* Ops without transfers on identical devices: heads, tails and the interval bound. Structure: edges
 * in CSR both ways. Invariant: no schedule starts an op before its head, nor ends the graph sooner
 * than its tail after the op. O(n^3) for heads and for a round of the bound, up to 256 ops; else
 * O(n + edges), paths alone.
 * Source: Fernandez, Bussell, "Bounds on the number of processors and time for multiprocessor
 * optimal schedules", 1973 (the interval bound). */
#include "base/sort_internal.h"
#include "exact_internal.h"

bool berth_i_equal_is(const berth_cost *cost, const berth_place_options *o) {
  const berth_graph *g = cost->g;
  if (cost->n_classes != 1 || berth_i_memory_counts(cost, o->memory)) return false;
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (berth_i_pin(g, i) != BERTH_NONE || berth_i_group(g, i) != BERTH_NONE) return false;
  }
  for (int32_t t = 0; t < g->n_tensors; t++) {
    if (g->use_at[t] == g->use_at[t + 1]) continue;
    for (int32_t s = 0; s < cost->n_devices; s++) {
      for (int32_t d = 0; d < cost->n_devices; d++) {
        if (berth_i_transfer_time(cost, t, s, d) != 0) return false;
      }
    }
  }
  return true;
}

/* ---- the graph by ops ---- */

static void count_edges(const berth_graph *g, berth_i_equal *e) {
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t k = g->use_at[t]; k < g->use_at[t + 1]; k++) {
      e->at[0][g->producer[t] + 1]++;
      e->at[1][g->use[k] + 1]++;
    }
  }
}

/* at[side][v + 1] counts up from the begin of v's list while it is filled. */
static void fill_edges(const berth_graph *g, berth_i_equal *e) {
  for (int32_t side = 0; side < 2; side++) {
    for (int32_t i = e->n; i > 0; i--) e->at[side][i] = e->at[side][i - 1];
    e->at[side][0] = 0;
    for (int32_t i = 1; i <= e->n; i++) e->at[side][i] += e->at[side][i - 1];
  }
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t k = g->use_at[t]; k < g->use_at[t + 1]; k++) {
      int32_t u = g->producer[t], v = g->use[k];
      e->to[0][e->at[0][u + 1]++] = v;
      e->to[1][e->at[1][v + 1]++] = u;
    }
  }
}

static berth_status alloc_equal(berth_i_equal *e) {
  size_t n = (size_t)e->n, m = (size_t)e->edges;
  for (int32_t s = 0; s < 2; s++) {
    e->at[s] = berth_i_pool_zalloc(&e->pool, n + 1, sizeof *e->at[s]);
    e->to[s] = berth_i_pool_alloc(&e->pool, m, sizeof *e->to[s]);
  }
  e->p = berth_i_pool_alloc(&e->pool, n, sizeof *e->p);
  e->head = berth_i_pool_zalloc(&e->pool, n, sizeof *e->head);
  e->tail = berth_i_pool_zalloc(&e->pool, n, sizeof *e->tail);
  return berth_i_pool_status(&e->pool);
}

berth_status berth_i_equal_init(const berth_cost *cost, berth_i_equal *e) {
  memset(e, 0, sizeof *e);
  e->pool = berth_i_pool_empty(e->ctx = cost->ctx);
  e->n = cost->g->n_ops;
  e->m = cost->n_devices;
  e->edges = cost->g->n_edges;
  e->topo = cost->g->topo;
  e->whole = true;
  berth_status st;
  if ((st = alloc_equal(e)) != BERTH_OK) return st;
  count_edges(cost->g, e);
  fill_edges(cost->g, e);
  for (int32_t i = 0; i < e->n; i++) {
    e->p[i] = berth_i_op_time(cost, i, 0);
    if (e->p[i] != floor(e->p[i]) || e->p[i] > 1e12) e->whole = false;
  }
  return BERTH_OK;
}

/* ---- heads and tails ---- */

static double rounded_up(const berth_i_equal *e, double x) {
  return e->whole ? ceil(x - 1e-9 * fmax(1, x)) : x;
}

typedef struct kin {
  double level, p;
} kin;

BERTH_I_SORT(sort_by_level, kin, BERTH_I_DOWN(level))

/* All ancestors of v that start at `level` or later end before v starts: m devices share them.
 * @param set [k] */
static double shared_head(const berth_i_equal *e, kin *set, int32_t k) {
  double sum = 0, most = 0;
  sort_by_level(set, (size_t)k);
  for (int32_t i = 0; i < k; i++) {
    sum += set[i].p;
    most = fmax(most, set[i].level + rounded_up(e, sum / e->m));
  }
  return most;
}

static double path_head(const berth_i_equal *e, int side, const double *level, int32_t v) {
  double most = 0;
  for (int32_t k = e->at[side][v]; k < e->at[side][v + 1]; k++)
    most = fmax(most, level[e->to[side][k]] + e->p[e->to[side][k]]);
  return most;
}

/* Row v of `reach`: its ancestors on that side (all its neighbours' rows are done). @return how
 * many */
static int32_t collect(const berth_i_equal *e, int side, const double *level, uint8_t *reach,
                       int32_t v, kin *set) {
  size_t n = (size_t)e->n;
  uint8_t *row = reach + (size_t)v * n;
  int32_t found = 0;
  memset(row, 0, n);
  for (int32_t k = e->at[side][v]; k < e->at[side][v + 1]; k++) {
    const uint8_t *other = reach + (size_t)e->to[side][k] * n;
    for (size_t j = 0; j < n; j++) row[j] |= other[j];
    row[e->to[side][k]] = 1;
  }
  for (size_t j = 0; j < n; j++) {
    if (row[j]) set[found++] = (kin){ level[j], e->p[j] };
  }
  return found;
}

/* side 1: heads from predecessors; side 0: tails from successors. @param reach [n * n], NULL: paths
 * only */
static void fill_levels(const berth_i_equal *e, int side, double *level, uint8_t *reach, kin *set) {
  for (int32_t i = 0; i < e->n; i++) {
    int32_t v = e->topo[side ? i : e->n - 1 - i];
    level[v] = path_head(e, side, level, v);
    if (reach)
      level[v] = fmax(level[v], shared_head(e, set, collect(e, side, level, reach, v, set)));
  }
}

/* ---- the interval bound ---- */

/* What op i must do inside [a, b] if all ends by `end`. */
static double forced(const berth_i_equal *e, int32_t i, double a, double b, double end) {
  double x =
      fmin(fmin(e->p[i], b - a), fmin(e->head[i] + e->p[i] - a, b - (end - e->tail[i] - e->p[i])));
  return x > 0 ? x : 0;
}

/* How much longer than `end` it takes because of the interval. */
static double excess(const berth_i_equal *e, double a, double b, double end) {
  double sum = 0;
  for (int32_t i = 0; i < e->n; i++) sum += forced(e, i, a, b, end);
  return sum / e->m - (b - a);
}

static double worst_interval(const berth_i_equal *e, double end) {
  double most = 0;
  for (int32_t i = 0; i < e->n; i++) {
    for (int32_t j = 0; j < e->n; j++) {
      double a = e->head[i], b = end - e->tail[j];
      if (b > a) most = fmax(most, excess(e, a, b, end));
    }
  }
  return most;
}

static void raise_by_intervals(const berth_i_equal *e, double *bound) {
  for (int32_t round = 0; round < 8; round++) {
    double more = worst_interval(e, *bound);
    if (!(more > 1e-9 * *bound)) return;
    *bound = rounded_up(e, *bound + more);
  }
}

berth_status berth_i_equal_bound(berth_i_equal *e, double *bound) {
  berth_i_pool scratch = berth_i_pool_empty(e->ctx);
  size_t n = (size_t)e->n;
  bool small = e->n <= 256; /* n^3 steps */
  uint8_t *reach = small ? berth_i_pool_alloc(&scratch, n * n, 1) : NULL;
  kin *set = berth_i_pool_alloc(&scratch, n, sizeof *set);
  double work = 0;
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  fill_levels(e, 1, e->head, reach, set);
  fill_levels(e, 0, e->tail, reach, set);
  for (int32_t i = 0; i < e->n; i++) {
    work += e->p[i];
    *bound = fmax(*bound, e->head[i] + e->p[i] + e->tail[i]);
  }
  *bound = rounded_up(e, fmax(*bound, work / e->m));
  if (small) raise_by_intervals(e, bound);
done:
  berth_i_pool_free(&scratch);
  return st;
}
