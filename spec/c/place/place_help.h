/* Small random problems for the tests of the place room, and the best of all schedules of one,
 * transfers included, by trying. */
#ifndef BERTH_PLACE_HELP_H
#define BERTH_PLACE_HELP_H

#include "must.h"

enum { MOST_OPS = 8, MOST_DEVICES = 4, MOST_EDGES = 32 };

/* Zero-based arrays; device d is of type "t<d>" with the times of column d. */
typedef struct problem {
  int32_t ops, devices, edges;
  double time[MOST_OPS][MOST_DEVICES]; /* INFINITY: unsupported */
  double param[MOST_OPS], workspace[MOST_OPS];
  int32_t group[MOST_OPS], pin[MOST_OPS];
  int32_t src[MOST_EDGES], dst[MOST_EDGES];
  double bytes[MOST_EDGES];            /* moved; resident as well if `resident` */
  int resident;
  double memory[MOST_DEVICES];
  double bandwidth, latency;
} problem;

typedef struct made {
  berth_graph *g;
  berth_topology *t;
  berth_cost *c;
} made;

static berth_graph *problem_graph(const problem *p) {
  const char *types[] = { "t0", "t1", "t2", "t3" };
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_OK(berth_graph_builder_types(b, p->devices, types));
  for (int32_t i = 0; i < p->ops; i++) {
    berth_op op = berth_op_default();
    op.seconds = p->time[i];
    op.param_bytes = p->param[i];
    op.workspace_bytes = p->workspace[i];
    op.group = p->group[i];
    op.pin = p->pin[i];
    must_add_op(b, &op);
  }
  for (int32_t i = 0; i < p->edges; i++) {
    berth_tensor t = { p->src[i], p->bytes[i], p->resident ? -1 : 0, 0 };
    must_add_tensor(b, &t);
    CHECK_OK(berth_graph_builder_add_consumer(b, i, p->dst[i]));
  }
  return must_graph(b);
}

/* Devices 2 k and 2 k + 1 are close. */
static berth_topology *topology_of_pairs(const problem *p, berth_link close, berth_link far) {
  const char *types[] = { "t0", "t1", "t2", "t3" };
  berth_topology_builder *b = must_topology_builder_new();
  for (int32_t i = 0; i < p->devices; i++) {
    berth_device d = berth_device_default();
    d.type = types[i];
    d.memory = p->memory[i];
    must_add_device(b, &d);
  }
  for (int32_t i = 0; i < p->devices; i++) {
    for (int32_t j = i + 1; j < p->devices; j++) {
      const berth_link *l = i / 2 == j / 2 ? &close : &far;
      CHECK_OK(berth_topology_builder_add_duplex(b, i, j, l, NULL));
    }
  }
  return must_topology(b);
}
static berth_topology *problem_topology(const problem *p) {
  const berth_link link = { p->bandwidth, p->latency };
  return topology_of_pairs(p, link, link);
}

static made problem_make(const problem *p) {
  berth_graph *g = problem_graph(p);
  berth_topology *t = problem_topology(p);
  return (made){ g, t, must_cost_new(g, t, NULL) };
}

static void unmake(made *m) {
  RELEASE(m->c, m->g, m->t);
}

/* Defaults: one op time everywhere, no groups, no pins, no limits, free links. */
static void problem_clear(problem *p, int32_t ops, int32_t devices) {
  memset(p, 0, sizeof *p);
  p->ops = ops;
  p->devices = devices;
  p->bandwidth = INFINITY;
  for (int32_t i = 0; i < MOST_OPS; i++) {
    p->group[i] = p->pin[i] = BERTH_NONE;
    for (int32_t d = 0; d < MOST_DEVICES; d++) p->time[i][d] = 1;
  }
  for (int32_t d = 0; d < MOST_DEVICES; d++) p->memory[d] = INFINITY;
}

static problem clear_problem(int32_t ops, int32_t devices) {
  problem p;
  problem_clear(&p, ops, devices);
  return p;
}

static void problem_edge(problem *p, int32_t src, int32_t dst, double bytes) {
  p->src[p->edges] = src;
  p->dst[p->edges] = dst;
  p->bytes[p->edges++] = bytes;
}

/* As in graph_of_text: "0>1:8 1>2:4". */
static void problem_edges(problem *p, const char *text) {
  for (char *t = (char *)text; *t; t += strspn(t, " ")) {
    int32_t src = (int32_t)strtol(t, &t, 10), dst = (int32_t)strtol(t + 1, &t, 10);
    problem_edge(p, src, dst, strtod(t + 1, &t));
  }
}

static void random_times(problem *p, berth_rng *rng, int alike) {
  for (int32_t i = 0; i < p->ops; i++) {
    double t = berth_rng_below(rng, 10);
    int32_t keep = berth_rng_below(rng, p->devices);
    for (int32_t d = 0; d < p->devices; d++) {
      p->time[i][d] = alike ? t : berth_rng_below(rng, 10);
      if (!alike && d != keep && berth_rng_below(rng, 6) == 0) p->time[i][d] = BERTH_UNSUPPORTED;
    }
  }
}

/* Integer sizes, so that sums are exact; limits around the share of each device. Edges carry
 * nothing: memory is the ops'. */
static void random_problem(problem *p, berth_rng *rng) {
  int32_t alike = berth_rng_below(rng, 2), density = 2 + berth_rng_below(rng, 6);
  double total = 0;
  problem_clear(p, 1 + berth_rng_below(rng, 6), 1 + berth_rng_below(rng, 3));
  random_times(p, rng, alike);
  for (int32_t i = 0; i < p->ops; i++) {
    total += p->param[i] = berth_rng_below(rng, 7);
    p->workspace[i] = berth_rng_below(rng, 4) ? 0 : berth_rng_below(rng, 4);
    if (berth_rng_below(rng, 5) == 0) p->group[i] = berth_rng_below(rng, 2);
    if (berth_rng_below(rng, 8) == 0) p->pin[i] = berth_rng_below(rng, p->devices);
    if (p->group[i] != BERTH_NONE || (p->pin[i] != BERTH_NONE && isinf(p->time[i][p->pin[i]])))
      p->pin[i] = BERTH_NONE;
    if (i == p->ops - 1 && p->group[i] == 0) p->pin[i] = berth_rng_below(rng, 2) ? 0 : BERTH_NONE;
    if (p->pin[i] != BERTH_NONE && isinf(p->time[i][p->pin[i]])) p->pin[i] = BERTH_NONE;
    for (int32_t j = 0; j < i; j++) {
      if (berth_rng_below(rng, density) == 0) problem_edge(p, j, i, 0);
    }
  }
  for (int32_t i = 0; i < p->devices; i++) {
    if (berth_rng_below(rng, 3))
      p->memory[i] = floor(total / p->devices * (0.6 + berth_rng_uniform(rng)));
  }
}

/* ---- all schedules ---- */

typedef struct search {
  const problem *p;
  const double *table; /* [edges * devices^2] s; NULL: latency and bandwidth */
  int alike; /* devices: of the empty ones only the first is tried */
  int32_t device[MOST_OPS];
  double finish[MOST_OPS], free_at[MOST_DEVICES], best;
  int limits; /* memory counts: parameters, and the largest workspace */
} search;

static double crossing(const search *s, int32_t edge, int32_t from, int32_t to) {
  int32_t n = s->p->devices;
  if (from == to) return 0;
  return s->table ? s->table[(edge * n + from) * n + to]
                  : s->p->latency + s->p->bytes[edge] / s->p->bandwidth;
}

static int has_producers(const search *s, int32_t op) {
  for (int32_t i = 0; i < s->p->edges; i++) {
    if (s->p->dst[i] == op && s->device[s->p->src[i]] == BERTH_NONE) return 0;
  }
  return 1;
}

static double arrival(const search *s, int32_t op, int32_t d) {
  double ready = 0;
  for (int32_t i = 0; i < s->p->edges; i++) {
    int32_t from = s->p->src[i];
    if (s->p->dst[i] == op)
      ready = fmax(ready, s->finish[from] + crossing(s, i, s->device[from], d));
  }
  return ready;
}

static int has_room(const search *s, int32_t op, int32_t d) {
  double sum = s->p->param[op], most = s->p->workspace[op];
  for (int32_t i = 0; i < s->p->ops; i++) {
    if (s->device[i] != d) continue;
    sum += s->p->param[i];
    most = fmax(most, s->p->workspace[i]);
  }
  return !s->limits || sum + most <= s->p->memory[d];
}

static int may_run(const search *s, int32_t op, int32_t d) {
  if (isinf(s->p->time[op][d]) || (s->p->pin[op] != BERTH_NONE && s->p->pin[op] != d)) return 0;
  for (int32_t i = 0; i < s->p->ops && s->p->group[op] != BERTH_NONE; i++) {
    if (s->p->group[i] == s->p->group[op] && s->device[i] != BERTH_NONE && s->device[i] != d)
      return 0;
  }
  for (int32_t i = 0; s->alike && i < s->p->ops && d > 0; i++) {
    if (s->device[i] >= d - 1) return 1; /* it is in use, or the one before it */
  }
  return !s->alike || d == 0;
}

/* No schedule is left out: sorted by start, its ops append in this way, none later than there. */
static void extend(search *s, int32_t placed, double end) {
  if (end >= s->best) return;
  if (placed == s->p->ops) s->best = end;
  for (int32_t op = 0; op < s->p->ops; op++) {
    if (s->device[op] != BERTH_NONE || !has_producers(s, op)) continue;
    for (int32_t d = 0; d < s->p->devices; d++) {
      double before = s->free_at[d], ready = arrival(s, op, d);
      if (isinf(ready) || !may_run(s, op, d) || !has_room(s, op, d)) continue;
      s->device[op] = d;
      s->free_at[d] = s->finish[op] = fmax(before, ready) + s->p->time[op][d];
      extend(s, placed + 1, fmax(end, s->finish[op]));
      s->device[op] = BERTH_NONE;
      s->free_at[d] = before;
    }
  }
}

/* INFINITY: nothing fits. */
static double best_schedule(const problem *p, const double *table, int alike, int limits) {
  search s = { p, table, alike, { 0 }, { 0 }, { 0 }, INFINITY, limits };
  for (int32_t i = 0; i < MOST_OPS; i++) s.device[i] = BERTH_NONE;
  extend(&s, 0, 0);
  return s.best;
}

static double optimum_by(const problem *p, const double *table, int alike) {
  return best_schedule(p, table, alike, 0);
}
static double optimum(const problem *p, int alike) { return optimum_by(p, NULL, alike); }
static double optimum_within(const problem *p) { return best_schedule(p, NULL, 0, 1); }

/* No transfer takes time. */
static double best_makespan(const problem *p, int limits) {
  problem free_of_transfers = *p;
  free_of_transfers.bandwidth = INFINITY;
  free_of_transfers.latency = 0;
  return best_schedule(&free_of_transfers, NULL, 0, limits);
}

#endif
