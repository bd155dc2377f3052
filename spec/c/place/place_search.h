/* The best of all schedules of a small problem, transfers included, by trying; and what tests of
 * bounds and guarantees share. */
#ifndef BERTH_PLACE_SEARCH_H
#define BERTH_PLACE_SEARCH_H

#include "place_help.h"

/* ---- all schedules, with transfers ---- */

typedef struct search {
  const problem *p;
  const double *table; /* [edges * devices^2] s; NULL: latency and bandwidth */
  int alike; /* devices: of the empty ones only the first is tried */
  int32_t device[MOST_OPS];
  double finish[MOST_OPS], free_at[MOST_DEVICES], best;
  int limits; /* memory counts: parameters, and the largest workspace */
} search;

static inline double crossing(const search *s, int32_t edge, int32_t from, int32_t to) {
  int32_t n = s->p->devices;
  if (from == to) return 0;
  return s->table ? s->table[(edge * n + from) * n + to]
                  : s->p->latency + s->p->bytes[edge] / s->p->bandwidth;
}

static inline int has_producers(const search *s, int32_t op) {
  for (int32_t i = 0; i < s->p->edges; i++) {
    if (s->p->dst[i] == op && s->device[s->p->src[i]] == BERTH_NONE) return 0;
  }
  return 1;
}

static inline double arrival(const search *s, int32_t op, int32_t d) {
  double ready = 0;
  for (int32_t i = 0; i < s->p->edges; i++) {
    int32_t from = s->p->src[i];
    if (s->p->dst[i] == op)
      ready = fmax(ready, s->finish[from] + crossing(s, i, s->device[from], d));
  }
  return ready;
}

static inline int has_room(const search *s, int32_t op, int32_t d) {
  double sum = s->p->param[op], most = s->p->workspace[op];
  for (int32_t i = 0; i < s->p->ops; i++) {
    if (s->device[i] != d) continue;
    sum += s->p->param[i];
    most = fmax(most, s->p->workspace[i]);
  }
  return !s->limits || sum + most <= s->p->memory[d];
}

static inline int may_run(const search *s, int32_t op, int32_t d) {
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
static inline void extend(search *s, int32_t placed, double end) {
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

static inline double optimum_by(const problem *p, const double *table, int alike) {
  search s = { p, table, alike, { 0 }, { 0 }, { 0 }, INFINITY, 0 };
  for (int32_t i = 0; i < MOST_OPS; i++) s.device[i] = BERTH_NONE;
  extend(&s, 0, 0);
  return s.best;
}

static inline double optimum(const problem *p, int alike) { return optimum_by(p, NULL, alike); }

/* INFINITY: nothing fits. */
static inline double optimum_within(const problem *p) {
  search s = { p, NULL, 0, { 0 }, { 0 }, { 0 }, INFINITY, 1 };
  for (int32_t i = 0; i < MOST_OPS; i++) s.device[i] = BERTH_NONE;
  extend(&s, 0, 0);
  return s.best;
}

/* ---- problems, and what is asked of them ---- */

static inline void join_of(problem *p, int32_t producers, int32_t devices, double transfer) {
  problem_clear(p, producers + 1, devices);
  p->bandwidth = 1;
  for (int32_t i = 0; i < producers; i++) problem_edge(p, i, producers, transfer);
}

static inline void add_edges(problem *p, berth_rng *rng, int most_bytes) {
  int32_t density = 1 + berth_rng_below(rng, 3);
  for (int32_t i = 1; i < p->ops; i++) {
    for (int32_t j = 0; j < i; j++) {
      if (berth_rng_below(rng, density + 1) == 0)
        problem_edge(p, j, i, 1 + berth_rng_below(rng, most_bytes));
      if (p->edges + 1 < MOST_EDGES && berth_rng_below(rng, 12) == 0)
        problem_edge(p, j, i, 1 + berth_rng_below(rng, most_bytes));
    }
  }
}

static inline berth_bounds thorough(berth_ctx *ctx, const problem *p) {
  made m = problem_make(ctx, p);
  berth_bounds_options o = { BERTH_MEMORY_NONE, 1, true, 1e-6, BERTH_LINKS_FREE };
  berth_bounds b = { 0 };
  CHECK_STATUS(berth_bounds_compute(m.c, &o, &b, NULL), BERTH_OK);
  unmake(&m);
  return b;
}

#endif
