/* Ops without transfers on identical devices: list schedules from perturbed priorities, each pushed
 * to one end and back until it gets no shorter (forward-backward improvement). A schedule is O((n +
 * edges) log n + n m).
 *
 * Source: Valls, Ballestin, Quintanilla, "Justification and RCPSP: a technique that pays", 2005. */
#include "exact_internal.h"
#include "base/plain_heap_internal.h"
#include "base/sort_internal.h"
#include <stdlib.h>

typedef struct heap {
  berth_i_keyed *at;
  int32_t n;
} heap;

/* A schedule in one direction: side 0 from the sources on, 1 from the sinks on, time counted from
 * that end. */
typedef struct sheet {
  double *start; /* [n] */
  int32_t *device;
  double makespan;
} sheet;

typedef struct search {
  berth_i_pool pool;
  const berth_i_equal *e;
  berth_i_best *best;
  berth_rng rng;
  heap ready, running;
  int32_t *pending, *idle; /* [n], [m] */
  double *free_at;         /* [m] */
  berth_i_keyed *order;    /* [n] */
  double *priority;        /* [n] least first */
  sheet now, next, keep;
  int32_t left;            /* schedules that may still be made */
} search;

static inline bool before(berth_i_keyed a, berth_i_keyed b) {
  return a.key != b.key ? a.key < b.key : a.id < b.id;
}
BERTH_I_HEAP(item, berth_i_keyed, before)

static void push(heap *h, double key, int32_t op) {
  item_up(h->at, h->n++, (berth_i_keyed){ key, op });
}
static berth_i_keyed pop(heap *h) { return item_pop(h->at, h->n--); }

/* ---- two ways to make a schedule ---- */

static void begin(search *s, int side) {
  const int32_t *at = s->e->at[1 - side];
  s->ready.n = s->running.n = 0;
  for (int32_t i = 0; i < s->e->n; i++) {
    s->pending[i] = at[i + 1] - at[i];
    if (s->pending[i] == 0) push(&s->ready, s->priority[i], i);
  }
}

static void finish(search *s, int side, int32_t op) {
  for (int32_t k = s->e->at[side][op]; k < s->e->at[side][op + 1]; k++) {
    int32_t v = s->e->to[side][k];
    if (--s->pending[v] == 0) push(&s->ready, s->priority[v], v);
  }
}

/* No device waits while an op is ready. O((n + edges) log n) */
static void list_schedule(search *s, int side, sheet *out) {
  double now = 0;
  int32_t idle = s->e->m;
  for (int32_t i = 0; i < idle; i++) s->idle[i] = idle - 1 - i;
  begin(s, side);
  while (s->ready.n + s->running.n > 0) {
    while (idle > 0 && s->ready.n > 0) {
      int32_t op = pop(&s->ready).id;
      out->start[op] = now;
      out->device[op] = s->idle[--idle];
      push(&s->running, now + s->e->p[op], op);
    }
    now = s->running.at[0].key;
    while (s->running.n > 0 && s->running.at[0].key <= now) {
      int32_t op = pop(&s->running).id;
      s->idle[idle++] = out->device[op];
      finish(s, side, op);
    }
  }
  out->makespan = now;
  s->left--;
}

/* The device that is free latest, but by then; else the first that is. */
static int32_t best_fit(const search *s, double ready) {
  int32_t best = 0;
  for (int32_t d = 1; d < s->e->m; d++) {
    double f = s->free_at[d], g = s->free_at[best];
    if (g <= ready ? f <= ready && f > g : f < g) best = d;
  }
  return best;
}

/* The other end first: ops of `from` by their finish, last first, each as early as possible
 * seen from there. Never longer. An op of no time ends with what it follows: the order of the graph
 * breaks the tie. O(n log n + n m + edges) */
static void push_back(search *s, int side, const sheet *from, sheet *out) {
  const berth_i_equal *e = s->e;
  for (int32_t i = 0; i < e->n; i++) {
    int32_t op = e->topo[side ? e->n - 1 - i : i];
    s->order[i] = (berth_i_keyed){ -(from->start[op] + e->p[op]), i };
  }
  berth_i_sort_keyed(s->order, e->n);
  int32_t d;
  for (d = 0; d < e->m; d++) s->free_at[d] = 0;
  out->makespan = 0;
  for (int32_t i = 0; i < e->n; i++) {
    int32_t op = e->topo[side ? e->n - 1 - s->order[i].id : s->order[i].id];
    double ready = 0;
    for (int32_t k = e->at[1 - side][op]; k < e->at[1 - side][op + 1]; k++) {
      int32_t u = e->to[1 - side][k];
      ready = fmax(ready, out->start[u] + e->p[u]);
    }
    d = best_fit(s, ready);
    out->device[op] = d;
    out->start[op] = fmax(ready, s->free_at[d]);
    s->free_at[d] = out->start[op] + e->p[op];
    out->makespan = fmax(out->makespan, s->free_at[d]);
  }
  s->left--;
}

/* ---- what is kept ---- */

static void copy(const search *s, const sheet *from, sheet *to) {
  size_t n = (size_t)s->e->n;
  if (n > 0) memcpy(to->start, from->start, n * sizeof *from->start);
  if (n > 0) memcpy(to->device, from->device, n * sizeof *from->device);
  to->makespan = from->makespan;
}

static void swap(sheet *a, sheet *b) {
  sheet x = *a;
  *a = *b;
  *b = x;
}

/* Ops of no time first among those that start together, then the order of the graph. */
static void take_order(search *s) {
  berth_i_best *b = s->best;
  int32_t n = s->e->n;
  for (int32_t i = 0; i < n; i++) {
    int32_t op = s->e->topo[i];
    s->order[i] = (berth_i_keyed){ b->start[op], b->finish[op] > b->start[op] ? n + i : i };
  }
  berth_i_sort_keyed(s->order, n);
  for (int32_t i = 0; i < n; i++) b->sequence[i] = s->e->topo[s->order[i].id % n];
}

/* x counts from the sources. */
static void record(search *s, const sheet *x) {
  berth_i_best *b = s->best;
  if (!(x->makespan < b->makespan)) return;
  for (int32_t i = 0; i < s->e->n; i++) {
    b->device[i] = x->device[i];
    b->start[i] = x->start[i];
    b->finish[i] = x->start[i] + s->e->p[i];
  }
  b->makespan = x->makespan;
  take_order(s);
}

/* Pushes to and fro until it gets no shorter; ends as it began: from the sources on. */
static void shorten(search *s, int side) {
  if (side == 1) {
    push_back(s, 0, &s->now, &s->next);
    swap(&s->now, &s->next);
  }
  double was;
  do {
    was = s->now.makespan;
    push_back(s, 1, &s->now, &s->next);
    push_back(s, 0, &s->next, &s->now);
  } while (s->now.makespan < was && s->left > 0);
  record(s, &s->now);
}

static bool enough(const search *s) {
  return s->left <= 0 || berth_i_reaches(s->best->bound, s->best->makespan);
}

/* ---- the search ---- */

/* Longest remaining path and the levels with shared ancestors, from both ends. */
static void first_schedules(search *s) {
  const berth_i_equal *e = s->e;
  for (int side = 0; side < 2 && (side == 0 || !enough(s)); side++) {
    for (int i = 0; i < e->n; i++) s->priority[i] = -(e->p[i] + (side ? e->head[i] : e->tail[i]));
    list_schedule(s, side, &s->now);
    shorten(s, side);
    if (side == 0 || s->now.makespan < s->keep.makespan) copy(s, &s->now, &s->keep);
  }
}

/* Priorities by the kept schedule, or by levels, with noise of some size. */
static void perturb(search *s, int side) {
  static const double sizes[] = { 0.02, 0.05, 0.1, 0.2, 0.4 };
  const berth_i_equal *e = s->e;
  double noise = sizes[berth_rng_below(&s->rng, 5)] * s->keep.makespan, end = s->keep.makespan;
  bool levels = berth_rng_below(&s->rng, 4) == 0;
  for (int32_t i = 0; i < e->n; i++) {
    double level = side ? end - s->keep.start[i] - e->p[i] : s->keep.start[i];
    if (levels) level = -(e->p[i] + (side ? e->head[i] : e->tail[i]));
    s->priority[i] = level + noise * berth_rng_uniform(&s->rng);
  }
}

static void improve(search *s) {
  for (int32_t round = 0; !enough(s); round++) {
    int side = (int)(round & 1);
    if (round % 64 == 0 && berth_i_best_stopped(s->e->ctx, s->best)) return;
    perturb(s, side);
    list_schedule(s, side, &s->now);
    shorten(s, side);
    if (s->now.makespan <= s->keep.makespan) swap(&s->now, &s->keep);
  }
}

static void alloc_sheet(search *s, sheet *x) {
  x->start = berth_i_pool_alloc(&s->pool, (size_t)s->e->n, sizeof *x->start);
  x->device = berth_i_pool_alloc(&s->pool, (size_t)s->e->n, sizeof *x->device);
}

static berth_status alloc_search(search *s) {
  berth_i_pool *pool = &s->pool;
  size_t n = (size_t)s->e->n, m = (size_t)s->e->m;
  s->ready.at = berth_i_pool_alloc(pool, n, sizeof *s->ready.at);
  s->running.at = berth_i_pool_alloc(pool, n, sizeof *s->running.at);
  s->pending = berth_i_pool_alloc(pool, n, sizeof *s->pending);
  s->idle = berth_i_pool_alloc(pool, m, sizeof *s->idle);
  s->free_at = berth_i_pool_alloc(pool, m, sizeof *s->free_at);
  s->order = berth_i_pool_alloc(pool, n, sizeof *s->order);
  s->priority = berth_i_pool_alloc(pool, n, sizeof *s->priority);
  alloc_sheet(s, &s->now);
  alloc_sheet(s, &s->next);
  alloc_sheet(s, &s->keep);
  return berth_i_pool_status(pool);
}

berth_status berth_i_equal_search(const berth_i_equal *e, uint64_t seed, int32_t schedules,
                                  berth_i_best *best) {
  search s = { .pool = berth_i_pool_empty(e->ctx), .e = e, .best = best, .left = schedules };
  berth_status st = alloc_search(&s);
  if (st == BERTH_OK && !enough(&s)) {
    berth_rng_init(&s.rng, seed, 0);
    first_schedules(&s);
    improve(&s);
    best->schedules = schedules - s.left;
  }
  berth_i_pool_free(&s.pool);
  return st;
}
