/* Local search on the max load, out of the contiguous splits: moves and exchanges of units from the
 * busiest device (Kernighan, Lin 1970, without uphill moves); and whether a split is contiguous.
 * Invariant: count has, for each net and device, the units of the net there. A move is O(nets of
 * the unit), a round O(units^2). */
#include "split_internal.h"

typedef struct improver {
  const berth_i_split_model *m;
  int32_t *device;       /* [units] */
  int32_t *count;        /* [nets * devices] units of the net there */
  double *load, *bytes;  /* [devices] */
  int32_t n_devices;
} improver;

static bool is_cpu(const improver *p, int32_t d) { return p->m->sorts.is_cpu[d]; }

static double net_load(const improver *p, int32_t net, int32_t d) {
  int32_t n = p->count[(size_t)net * (size_t)p->n_devices + (size_t)d];
  return !is_cpu(p, d) && n > 0 && n < p->m->net_at[net + 1] - p->m->net_at[net] ? p->m->price[net]
                                                                                 : 0;
}

/* Adds (by 1) or takes away (by -1) a unit. Loads of other devices do not change. */
static void shift(improver *p, int32_t u, int32_t d, int32_t by) {
  const berth_i_split_model *m = p->m;
  for (int32_t e = m->of_at[u]; e < m->of_at[u + 1]; e++) {
    int32_t k = m->of[e];
    double before = net_load(p, k, d);
    p->count[(size_t)k * (size_t)p->n_devices + (size_t)d] += by;
    p->load[d] += net_load(p, k, d) - before;
  }
  p->load[d] += by * (is_cpu(p, d) ? m->cpu[u] : m->acc[u]);
  p->bytes[d] += by * m->bytes[u];
}

static bool can_run(const improver *p, int32_t u, int32_t d) {
  return !isinf(is_cpu(p, d) ? p->m->cpu[u] : p->m->acc[u]);
}
static bool fits(const improver *p, int32_t d) {
  return is_cpu(p, d) || p->bytes[d] <= p->m->sorts.memory * (1 + 1e-12);
}

static void exchange(improver *p, int32_t u, int32_t v, int32_t a, int32_t b) {
  shift(p, u, a, -1);
  shift(p, u, b, 1);
  if (v == BERTH_NONE) return;
  shift(p, v, b, -1);
  shift(p, v, a, 1);
}

/* u of device a to b, v of b (or none) back; kept if the larger load of the two becomes smaller. */
static bool attempt(improver *p, int32_t u, int32_t v) {
  int32_t a = p->device[u], b = v == BERTH_NONE ? BERTH_NONE : p->device[v];
  for (int32_t d = v == BERTH_NONE ? 0 : b; d < (v == BERTH_NONE ? p->n_devices : b + 1); d++) {
    double la = p->load[a], lb = p->load[d], ba = p->bytes[a], bb = p->bytes[d];
    if (d == a || !can_run(p, u, d) || (v != BERTH_NONE && !can_run(p, v, a))) continue;
    exchange(p, u, v, a, d);
    if (fits(p, a) && fits(p, d) && fmax(p->load[a], p->load[d]) < fmax(la, lb) * (1 - 1e-9)) {
      p->device[u] = d;
      if (v != BERTH_NONE) p->device[v] = a;
      return true;
    }
    exchange(p, u, v, d, a);
    p->load[a] = la;
    p->load[d] = lb;
    p->bytes[a] = ba;
    p->bytes[d] = bb;
  }
  return false;
}

/* Only what unburdens the busiest device counts; each step lowers the loads, sorted, as words are
 * ordered: it ends. */
static bool improve_once(improver *p) {
  int32_t n = p->m->n, d = 0;
  for (int32_t i = 1; i < p->n_devices; i++)
    if (p->load[i] > p->load[d]) d = i;
  for (int32_t u = 0; u < n; u++)
    if (p->device[u] == d && attempt(p, u, BERTH_NONE)) return true;
  for (int32_t u = 0; u < n; u++) {
    if (p->device[u] != d) continue;
    for (int32_t v = 0; v < n; v++)
      if (p->device[v] != d && attempt(p, u, v)) return true;
  }
  return false;
}

berth_status berth_i_split_improve(const berth_i_split_model *m, int32_t *device) {
  berth_ctx *ctx = m->cost->ctx;
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  improver p = { .m = m, .device = device, .n_devices = m->cost->n_devices };
  size_t d = (size_t)p.n_devices;
  p.count = berth_i_pool_zalloc(&scratch, (size_t)m->n_nets * d, sizeof *p.count);
  p.load = berth_i_pool_alloc(&scratch, d, sizeof *p.load);
  p.bytes = berth_i_pool_alloc(&scratch, d, sizeof *p.bytes);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) {
    for (int32_t i = 0; i < p.n_devices; i++) p.load[i] = p.bytes[i] = 0;
    for (int32_t u = 0; u < m->n; u++) shift(&p, u, device[u], 1);
    while (berth_i_interrupted(ctx) == BERTH_OK && improve_once(&p)) continue;
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* The devices form a chain of ideals if and only if the graph of devices, by forward edges, has no
 * circle. */
berth_status berth_i_split_contiguous(const berth_i_split_model *m, const int32_t *device,
                                      bool *yes) {
  berth_i_pool scratch = berth_i_pool_empty(m->cost->ctx);
  int32_t n = 0, count = 0, d = m->cost->n_devices;
  int32_t *from = berth_i_pool_alloc(&scratch, (size_t)m->n_edges, sizeof *from), *at = NULL;
  int32_t *into = berth_i_pool_alloc(&scratch, (size_t)m->n_edges, sizeof *into), *to = NULL;
  int32_t *component = berth_i_pool_alloc(&scratch, (size_t)d, sizeof *component);
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  for (int32_t u = 0; u < m->n; u++) {
    for (int32_t e = m->succ_at[u]; e < m->succ_at[u + 1]; e++) {
      if (device[u] == device[m->succ[e]]) continue;
      from[n] = device[u];
      into[n++] = device[m->succ[e]];
    }
  }
  if ((st = berth_i_csr(&scratch, d, n, from, into, &at, &to)) != BERTH_OK) goto done;
  st = berth_i_strong(m->cost->ctx, d, at, to, component, &count);
  if (st == BERTH_OK) *yes = count == d;
done:
  berth_i_pool_free(&scratch);
  return st;
}
