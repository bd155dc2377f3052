/* The latency of splits, the time of one sample through all devices: a lower bound, annealing, and
 * topological orders to start from.
 * Invariant: the best split of the annealing is never worse than the given one. A move takes one
 * unit, alone or with all that precedes (or follows) it on its device, and costs one evaluation,
 * O(ops + edges), as the bound does. */
#include "split_internal.h"

/* ---- orders ---- */

/* Kahn's algorithm along or against the edges, next taken from the front (FIFO) or the back of what
 * is ready. */
static void kahn(const berth_i_split_model *m, bool against, bool fifo, int32_t *order,
                 int32_t *inputs, int32_t *ready) {
  const int32_t *in = against ? m->succ_at : m->pred_at, *at = against ? m->pred_at : m->succ_at;
  const int32_t *to = against ? m->pred : m->succ;
  int32_t u, head = 0, tail = 0;
  for (int32_t i = 0; i < m->n; i++) {
    u = against ? m->n - 1 - i : i;
    inputs[u] = in[u + 1] - in[u];
    if (inputs[u] == 0) ready[tail++] = u;
  }
  for (int32_t i = 0; i < m->n; i++) {
    u = fifo ? ready[head++] : ready[--tail];
    order[against ? m->n - 1 - i : i] = u;
    for (int32_t e = at[u]; e < at[u + 1]; e++)
      if (--inputs[to[e]] == 0) ready[tail++] = to[e];
  }
}

bool berth_i_split_order(const berth_i_split_model *m, int k, int32_t *order, int32_t *scratch) {
  if (k > 4) return false;
  if (k < 4) kahn(m, k >= 2, k % 2 == 1, order, scratch, scratch + m->n);
  else
    for (int32_t u = 0; u < m->n; u++) order[u] = u;
  return true;
}

/* ---- bound ---- */

static double least_time(const berth_cost *c, const berth_i_sorts *s, int32_t op) {
  double a = s->n_acc ? berth_i_op_time(c, op, s->acc[0]) : (double)INFINITY;
  return s->n_cpu ? fmin(a, berth_i_op_time(c, op, s->cpu[0])) : a;
}

/* The longest path of least op times: what runs on one device in one go takes all of them, too. */
berth_status berth_i_split_latency_bound(const berth_i_split_model *m, double *bound) {
  const berth_cost *c = m->cost;
  double longest = 0, *t = berth_i_zalloc(c->ctx, (size_t)m->n_ops, sizeof *t);
  if (!t) return berth_i_nomem(c->ctx);
  for (int32_t i = 0; i < m->n_ops; i++) {
    int32_t op = c->g->topo[i];
    t[op] += least_time(c, &m->sorts, op);
    longest = fmax(longest, t[op]);
    for (int32_t k = c->g->out_at[op]; k < c->g->out_at[op + 1]; k++)
      for (int32_t e = c->g->use_at[c->g->out[k]]; e < c->g->use_at[c->g->out[k] + 1]; e++)
        t[c->g->use[e]] = fmax(t[c->g->use[e]], t[op]);
  }
  berth_i_free(c->ctx, t, (size_t)m->n_ops, sizeof *t);
  *bound = longest;
  return BERTH_OK;
}

/* ---- a core on one accelerator, a shell on CPUs ---- */

/* A backward op is with its forward op, so two accelerators that cut the forward pass in two wait
 * for each other: only the innermost part can be on an accelerator then, and what is outside on
 * CPUs, where ops run one by one. The units of `order` from `from` on are the core. */
void berth_i_split_core(const berth_i_split_model *m, const int32_t *order, int32_t from,
                        int32_t *device) {
  for (int32_t i = 0; i < m->n; i++) {
    int32_t u = order[i], d = i < from || isinf(m->acc[u]) ? m->sorts.cpu[0] : m->sorts.acc[0];
    device[u] = isinf(m->cpu[u]) ? m->sorts.acc[0] : d;
  }
}

/* ---- annealing ---- */

enum { MOST_TRIALS = 60000, POLL = 64 };
static const double TRIALS_BY_SIZE = 6e7;       /* ops and edges valued in all */
static const double WARMTH[] = { 0.003, 0.03, 0.3 }; /* of the latency at the start of a walk: what
                                                        a move may cost, at first */

typedef struct climber {
  const berth_i_split_model *m;
  berth_rng rng;
  int32_t *device, *best;      /* [units] */
  int32_t *op_device;          /* [ops] */
  int32_t *cut, *source;       /* [edges] scratch: those between devices, and where they begin */
  int32_t *moved, *before;     /* [units] of the present move: which, and where they were */
  int32_t n_moved;
  double latency, least;
} climber;

/* Of k->device, s; INFINITY: more than the memory of some accelerator. */
static berth_status value_of(climber *k, double *latency) {
  for (int32_t v = 0; v < k->m->n_ops; v++) k->op_device[v] = k->device[k->m->unit[v]];
  berth_split_value value;
  berth_status st;
  if ((st = berth_i_split_value(k->m->cost, &k->m->sorts, k->op_device, NULL, &value)) != BERTH_OK)
    return st;
  *latency = value.over == BERTH_NONE ? value.latency : (double)INFINITY;
  return BERTH_OK;
}

static void move(climber *k, int32_t u, int32_t to) {
  k->moved[k->n_moved] = u;
  k->before[k->n_moved++] = k->device[u];
  k->device[u] = to;
}

/* With u all that is on its device before it (up), or behind it: two devices in a row stay so. */
static void move_closure(climber *k, int32_t u, int32_t to, bool up) {
  const int32_t *at = up ? k->m->pred_at : k->m->succ_at, *other = up ? k->m->pred : k->m->succ;
  int32_t from = k->device[u];
  move(k, u, to);
  for (int32_t i = 0; i < k->n_moved; i++)
    for (int32_t e = at[k->moved[i]]; e < at[k->moved[i] + 1]; e++)
      if (k->device[other[e]] == from) move(k, other[e], to);
}

/* One end of a cut edge and the device of the other; else, or if there is none, any unit and any
 * device. */
static int32_t choose(climber *k, bool *head, int32_t *to) {
  const berth_i_split_model *m = k->m;
  int32_t n = 0;
  for (int32_t u = 0; u < m->n; u++)
    for (int32_t e = m->succ_at[u]; e < m->succ_at[u + 1]; e++)
      if (k->device[u] != k->device[m->succ[e]]) k->source[n] = u, k->cut[n++] = e;
  *head = berth_rng_below(&k->rng, 2);
  if (n == 0 || berth_rng_below(&k->rng, 10) == 0) {
    *to = berth_rng_below(&k->rng, m->cost->n_devices);
    return berth_rng_below(&k->rng, m->n);
  }
  int32_t i = berth_rng_below(&k->rng, n), u = k->source[i], v = m->succ[k->cut[i]];
  *to = k->device[*head ? u : v];
  return *head ? v : u;
}

/* A unit, alone or with its side of the cut, goes elsewhere; an increase up to `warmth` is
 * accepted, a larger one with smaller probability. */
static berth_status try_move(climber *k, double warmth) {
  double draw = berth_rng_uniform(&k->rng), latency;
  bool head, alone = berth_rng_below(&k->rng, 3) == 0;
  int32_t to, u = choose(k, &head, &to);
  k->n_moved = 0;
  if (to == k->device[u]) return BERTH_OK;
  if (alone) move(k, u, to);
  else move_closure(k, u, to, head);
  berth_status st;
  if ((st = value_of(k, &latency)) != BERTH_OK) return st;
  if (isinf(latency) || latency > k->latency + warmth * draw * draw) {
    while (k->n_moved-- > 0) k->device[k->moved[k->n_moved]] = k->before[k->n_moved];
    return BERTH_OK;
  }
  k->latency = latency;
  if (!(latency < k->least)) return BERTH_OK;
  k->least = latency;
  memcpy(k->best, k->device, (size_t)k->m->n * sizeof *k->best);
  return BERTH_OK;
}

berth_status berth_i_split_latency_search(const berth_i_split_model *m, int32_t *device,
                                          double visits) {
  berth_i_pool scratch = berth_i_pool_empty(m->cost->ctx);
  size_t n = (size_t)m->n, walks = sizeof WARMTH / sizeof *WARMTH;
  climber k = { .m = m, .best = device };
  double trials =
      fmin(visits, fmin(MOST_TRIALS, TRIALS_BY_SIZE / (1.0 + m->n_ops + m->cost->g->n_edges)));
  k.device = berth_i_pool_copy(&scratch, device, n, sizeof *k.device);
  k.moved = berth_i_pool_alloc(&scratch, n, sizeof *k.moved);
  k.before = berth_i_pool_alloc(&scratch, n, sizeof *k.before);
  k.op_device = berth_i_pool_alloc(&scratch, (size_t)m->n_ops, sizeof *k.op_device);
  k.cut = berth_i_pool_alloc(&scratch, (size_t)m->n_edges, sizeof *k.cut);
  k.source = berth_i_pool_alloc(&scratch, (size_t)m->n_edges, sizeof *k.source);
  berth_rng_init(&k.rng, 1, 0);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if ((st = value_of(&k, &k.latency)) != BERTH_OK) goto done;
  k.least = k.latency;
  /* walks from the best so far, each from its warmth to nothing; not from an infeasible split */
  for (size_t i = 0; i < walks && st == BERTH_OK && !isinf(k.least); i++) {
    double warmth = WARMTH[i] * k.least, each = trials / (double)walks;
    memcpy(k.device, k.best, n * sizeof *k.best);
    k.latency = k.least;
    for (double t = 0; t < each && st == BERTH_OK; t++) {
      double left = 1 - t / each;
      if (fmod(t, POLL) == 0 && berth_i_interrupted(m->cost->ctx) != BERTH_OK) break;
      st = try_move(&k, warmth * left * left * left);
    }
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}
