/* The latency of splits: a lower bound, local search; topological orders to start from. */
#include "maxload_internal.h"

/* ---- orders ------------------------------------------------------------------------------- */

/* Kahn's algorithm along or against the edges, next taken from the front (FIFO) or the back of what is ready. */
static void kahn(const berth_i_split_model *m, bool against, bool fifo, int32_t *order, int32_t *waits, int32_t *ready) {
  const int32_t *in = against ? m->succ_at : m->pred_at, *at = against ? m->pred_at : m->succ_at;
  const int32_t *to = against ? m->pred : m->succ;
  int32_t i, u, e, head = 0, tail = 0;
  for (i = 0; i < m->n; i++) {
    u = against ? m->n - 1 - i : i;
    waits[u] = in[u + 1] - in[u];
    if (waits[u] == 0) ready[tail++] = u;
  }
  for (i = 0; i < m->n; i++) {
    u = fifo ? ready[head++] : ready[--tail];
    order[against ? m->n - 1 - i : i] = u;
    for (e = at[u]; e < at[u + 1]; e++)
      if (--waits[to[e]] == 0) ready[tail++] = to[e];
  }
}

bool berth_i_split_order(const berth_i_split_model *m, int k, int32_t *order, int32_t *scratch) {
  int32_t u;
  if (k > 4) return false;
  if (k < 4) kahn(m, k >= 2, k % 2 == 1, order, scratch, scratch + m->n);
  else
    for (u = 0; u < m->n; u++) order[u] = u;
  return true;
}

/* ---- bound -------------------------------------------------------------------------------- */

static double least_time(const berth_cost *c, const berth_i_sorts *s, int32_t op) {
  double a = s->n_acc ? berth_i_op_time(c, op, s->acc[0]) : (double)INFINITY;
  return s->n_cpu ? fmin(a, berth_i_op_time(c, op, s->cpu[0])) : a;
}

/* The longest path of least op times: what runs on one device in one go takes all of them, too. */
berth_status berth_i_split_latency_bound(const berth_i_split_model *m, double *bound) {
  const berth_cost *c = m->cost;
  double longest = 0, *t = berth_i_zalloc(c->ctx, (size_t)m->n_ops, sizeof *t);
  int32_t i, k, e;
  if (!t) return berth_i_nomem(c->ctx);
  for (i = 0; i < m->n_ops; i++) {
    int32_t op = c->g->topo[i];
    t[op] += least_time(c, &m->sorts, op);
    longest = fmax(longest, t[op]);
    for (k = c->g->out_at[op]; k < c->g->out_at[op + 1]; k++)
      for (e = c->g->use_at[c->g->out[k]]; e < c->g->use_at[c->g->out[k] + 1]; e++)
        t[c->g->use[e]] = fmax(t[c->g->use[e]], t[op]);
  }
  berth_i_free(c->ctx, t, (size_t)m->n_ops, sizeof *t);
  *bound = longest;
  return BERTH_OK;
}

/* ---- local search ------------------------------------------------------------------------- */

enum { MOST_TRIALS = 4000 };
static const double TRIALS_BY_SIZE = 4e6; /* ops and edges valued in all */

typedef struct climber {
  const berth_i_split_model *m;
  int32_t *device, *op_device; /* [units], [ops] */
  int32_t *movable;            /* scratch [edges] edges between devices */
  double latency;
} climber;

static berth_status value_of(climber *k, double *latency) {
  berth_split_value value;
  int32_t v;
  berth_status st;
  for (v = 0; v < k->m->n_ops; v++) k->op_device[v] = k->device[k->m->unit[v]];
  if ((st = berth_i_split_value(k->m->cost, &k->m->sorts, k->op_device, NULL, &value)) != BERTH_OK) return st;
  *latency = value.over == BERTH_NONE ? value.latency : (double)INFINITY;
  return BERTH_OK;
}

static int32_t list_cut(climber *k) {
  int32_t u, e, n = 0;
  for (u = 0; u < k->m->n; u++)
    for (e = k->m->succ_at[u]; e < k->m->succ_at[u + 1]; e++)
      if (k->device[u] != k->device[k->m->succ[e]]) k->movable[n++] = e;
  return n;
}

static int32_t source_of(const berth_i_split_model *m, int32_t e) {
  int32_t low = 0, high = m->n - 1;
  while (low < high) {
    int32_t mid = (low + high + 1) / 2;
    if (m->succ_at[mid] <= e) low = mid;
    else high = mid - 1;
  }
  return low;
}

/* One end of a cut edge goes to the device of the other, or to any. */
static berth_status try_move(climber *k, berth_rng *rng) {
  int32_t n = list_cut(k), e, u, v, from;
  double latency;
  berth_status st;
  if (n == 0) return BERTH_OK;
  e = k->movable[berth_rng_below(rng, n)];
  u = source_of(k->m, e);
  v = k->m->succ[e];
  if (berth_rng_below(rng, 2)) {
    int32_t t = u;
    u = v;
    v = t;
  }
  from = k->device[u];
  k->device[u] = berth_rng_below(rng, 8) ? k->device[v] : berth_rng_below(rng, k->m->cost->n_devices);
  if ((st = value_of(k, &latency)) != BERTH_OK) return st;
  if (latency <= k->latency) k->latency = latency;
  else k->device[u] = from;
  return BERTH_OK;
}

berth_status berth_i_split_latency_search(const berth_i_split_model *m, int32_t *device, double visits) {
  berth_ctx *ctx = m->cost->ctx;
  climber k = { .m = m, .device = device };
  double trials = fmin(visits, fmin(MOST_TRIALS, TRIALS_BY_SIZE / (1.0 + m->n_ops + m->cost->g->n_edges)));
  berth_rng rng;
  berth_status st = BERTH_ENOMEM;
  k.op_device = berth_i_alloc(ctx, (size_t)m->n_ops, sizeof *k.op_device);
  k.movable = berth_i_alloc(ctx, (size_t)m->n_edges, sizeof *k.movable);
  berth_rng_init(&rng, 1, 0);
  st = k.op_device && k.movable ? value_of(&k, &k.latency) : berth_i_nomem(ctx);
  for (; st == BERTH_OK && trials >= 1 && berth_i_interrupted(ctx) == BERTH_OK; trials--) st = try_move(&k, &rng);
  berth_i_free(ctx, k.op_device, (size_t)m->n_ops, sizeof *k.op_device);
  berth_i_free(ctx, k.movable, (size_t)m->n_edges, sizeof *k.movable);
  return st;
}
