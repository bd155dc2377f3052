/* A search: starts (begin.c), walks on threads that share the budget (methods.c), and a last
 * annealing from the best (polish). Structure: a team of walks, each with its own random stream and
 * part of the calls. Invariant: the answer depends on the seed and the calls, not on the number of
 * threads; with a time limit it depends on the machine. One simulation per call. */
#include "search_internal.h"

enum { SHORT = 20000, MEDIUM = 50000, MANY = 4, TWO_PHASES = 1000, TWO_FROM_GIVEN = 5000 };

/* ---- threads ---- */

/* One where the user's objective or allocator is called. */
static int32_t count_threads(const berth_i_problem *p, int32_t jobs) {
  if (p->o->objective || !berth_i_ctx_default_alloc(p->ctx)) return 1;
  /* a function prices them, on the calling thread */
  if (p->cost->collective && p->cost->g->n_collectives > 0) return 1;
  return berth_i_parallel_width(p->o->threads, jobs);
}

/* ---- walks ---- */

typedef struct team {
  berth_i_pool pool;
  berth_i_search s;
  berth_i_walk *walk;  /* [n] */
  int32_t n, rounds;
  int64_t spent;       /* calls of the starts */
  bool two_phases, polishes;
  bool is_long;        /* there are calls enough to leave from a worse start that leads further */
  berth_i_starts start;
} team;

static int32_t count_annealing(const berth_search_options *o) {
  if (o->restarts > 0)
    return o->calls > 0 && o->calls < o->restarts ? (int32_t)o->calls : o->restarts;
  if (o->calls == 0) return MANY;
  return o->calls < SHORT ? 1 : o->calls < MEDIUM ? 2 : MANY;
}

/* BRKGA: walks evaluate the rows of a generation, one walk per thread. */
static int32_t count_walks(const berth_i_problem *p) {
  switch (p->o->method) {
  case BERTH_SEARCH_LOCAL: return 1;
  case BERTH_SEARCH_BRKGA: return count_threads(p, berth_i_population(p));
  default: return count_annealing(p->o);
  }
}

static void set_phase(berth_i_walk *w, int64_t calls, double seconds) {
  w->failed = 0;
  w->from_calls = w->calls;
  w->most_calls = w->p->o->calls > 0 ? w->calls + calls : 0;
  w->from_time = atomic_load(&w->s->elapsed);
  w->to_time = w->p->o->seconds > 0 ? w->from_time + seconds : INFINITY;
}

/* First on units that hold everything in line, then from the best on the usual ones, cooler. Walks
 * differ in how they begin: every other one with more moves of single ops, every other pair
 * hotter. */
static void two_phases(berth_i_walk *w, int32_t walk, int64_t calls, double seconds, double scale) {
  const berth_search_options *o = w->p->o;
  const double t_start = o->t_start * (walk / 2 % 2 == 1 ? 3 : 1),
               single = walk % 2 == 1 ? 0.3 : 0.05;
  set_phase(w, calls / 2, seconds / 2);
  berth_i_walk_anneal(w, &w->p->lines, t_start * scale, o->t_end * scale, single);
  berth_i_walk_take(w, memcpy(w->order, w->best, (size_t)w->p->n * sizeof *w->order),
                    w->best_value);
  set_phase(w, calls - calls / 2, seconds / 2);
  berth_i_walk_anneal(w, &w->p->units, fmax(o->t_start / 4, o->t_end) * scale,
                      o->t_end * scale, 0.3);
}

/* Descents, then one cold phase: a hot one would leave what is good in the given start. */
static void from_given(berth_i_walk *w, const berth_i_starts *a, int64_t calls, double seconds,
                       double scale) {
  const berth_search_options *o = w->p->o;
  set_phase(w, calls / 5, seconds / 5);
  berth_i_walk_descend(w, a);
  berth_i_walk_take(w, memcpy(w->order, w->best, (size_t)w->p->n * sizeof *w->order),
                    w->best_value);
  set_phase(w, calls - calls / 5, seconds - seconds / 5);
  berth_i_walk_anneal(w, &w->p->units, o->t_start / 20 * scale, o->t_end / 10 * scale, 0.3);
}

/* Every other walk stays near the given start, or near one that is ahead of those of units. */
static bool stays_near(const team *t, int32_t walk) {
  const double AHEAD = 0.98;
  const berth_i_starts *a = &t->start;
  return walk % 2 == 0 && (t->s.p->o->start || a->rival_value < AHEAD * a->value[0]);
}

/* The best of all counts as visited. A walk leaves from it, too, if it is short or those of units
 * are far behind. */
static void take_start(const team *t, berth_i_walk *w, int32_t walk) {
  const berth_i_starts *a = &t->start;
  const bool given = t->s.p->o->start != NULL;
  const int32_t pick = (given ? walk / 2 : walk) % a->n;
  if (!isinf(a->rival_value)) berth_i_walk_take(w, a->rival, a->rival_value);
  if (stays_near(t, walk)) return;
  if (t->is_long ? !berth_i_starts_near(a, pick) : a->rival_value < a->value[pick]) return;
  berth_i_walk_take(w, a->device[pick], a->value[pick]);
}

/* Calls of what the starts and the polish leave, in equal parts; the first walks take the rest. */
static void walk_job(void *ud, int32_t thread, int32_t job) {
  team *t = ud;
  berth_i_walk *w = &t->walk[job];
  const berth_search_options *o = w->p->o;
  int64_t left = o->calls - t->spent - (t->polishes ? o->calls / 10 : 0),
          calls = left < 0 ? 0 : left / t->n + (job < left % t->n);
  double scale = fabs(berth_i_starts_value(&t->start)), seconds = o->seconds;
  if (!isinf(seconds)) seconds = seconds * (t->polishes ? 0.9 : 1) / t->rounds;
  w->home = thread == 0;
  take_start(t, w, job);
  if (o->calls > 0 && calls == 0) return;
  if (o->method == BERTH_SEARCH_ANNEAL && stays_near(t, job)) {
    from_given(w, &t->start, calls, seconds, scale);
    return;
  }
  if (t->two_phases) {
    two_phases(w, job, calls, seconds, scale);
    return;
  }
  set_phase(w, calls, seconds);
  if (o->method == BERTH_SEARCH_LOCAL) berth_i_walk_descend(w, &t->start);
  else berth_i_walk_anneal(w, &w->p->units, o->t_start * scale, o->t_end * scale, 0.3);
}

static void watch(void *ud) { berth_i_search_watch(&((team *)ud)->s); }

static int32_t best_walk(const team *t) {
  int32_t best = 0;
  for (int32_t i = 1; i < t->n; i++) {
    if (t->walk[i].best_value < t->walk[best].best_value) best = i;
  }
  return best;
}

static void polish(team *t) {
  berth_i_walk *w = &t->walk[0], *best = &t->walk[best_walk(t)];
  const berth_search_options *o = w->p->o;
  double scale = fabs(best->best_value);
  int64_t calls = o->calls - (int64_t)atomic_load(&t->s.calls);
  w->home = true;
  berth_i_search_watch(&t->s);
  if (o->calls > 0 && calls <= 0) return;
  berth_i_walk_take(w, memcpy(w->order, best->best, (size_t)w->p->n * sizeof *w->order),
                    best->best_value);
  set_phase(w, calls, o->seconds - atomic_load(&t->s.elapsed));
  berth_i_walk_anneal(w, &w->p->units, 0.1 * o->t_start * scale, 0.01 * o->t_end * scale, 0.7);
}

/* ---- the whole ---- */

static berth_status init_team(berth_i_problem *p, team *t) {
  const berth_search_options *o = p->o;
  bool anneals = o->method == BERTH_SEARCH_ANNEAL;
  *t = (team){ .pool = berth_i_pool_empty(p->ctx), .s.p = p, .n = count_walks(p) };
  t->polishes = t->n >= MANY && anneals;
  /* a start that is given is not left for the first phase of a short walk */
  t->is_long = o->calls == 0
            || o->calls / t->n >= (o->start && anneals ? TWO_FROM_GIVEN : TWO_PHASES);
  t->two_phases = anneals && t->is_long;
  berth_status st;
  if ((st = berth_i_starts_init(p, &t->pool, &t->start)) != BERTH_OK) return st;
  if (!(t->walk = berth_i_pool_zalloc(&t->pool, (size_t)t->n, sizeof *t->walk)))
    return berth_i_nomem(p->ctx);
  for (int32_t i = 0; i < t->n && st == BERTH_OK; i++)
    st = berth_i_walk_init(&t->s, &t->pool, i, &t->walk[i]);
  return st;
}

static void release_team(team *t) {
  for (int32_t i = 0; t->walk && i < t->n; i++) {
    if (t->walk[i].p) berth_i_walk_release(&t->walk[i]);
  }
  berth_i_pool_free(&t->pool);
}

static berth_status run_team(team *t, int32_t *device, berth_search_report *report) {
  const berth_search_options *o = t->s.p->o;
  berth_i_jobs jobs = { walk_job, NULL, watch, t };
  if (o->seconds > 0) t->s.began = berth_i_ctx_clock(t->s.p->ctx);
  berth_status st =
      berth_i_starts_make(&t->walk[0], &t->start, o->method == BERTH_SEARCH_ANNEAL && t->n == 1);
  if (st != BERTH_OK) return st;
  t->spent = t->walk[0].calls;
  if (o->method == BERTH_SEARCH_BRKGA) {
    st = berth_i_breed(t->walk, t->n, &t->start);
  } else {
    int32_t threads = count_threads(t->s.p, t->n);
    t->rounds = (t->n + threads - 1) / threads;
    berth_i_parallel_watched(threads, t->n, &jobs);
    if (t->polishes) polish(t);
  }
  berth_i_search_watch(&t->s);
  for (int32_t i = 0; i < t->n && st == BERTH_OK; i++) st = t->walk[i].status;
  if (st != BERTH_OK) return st;
  const berth_i_walk *w = &t->walk[best_walk(t)];
  if (w->p->n > 0) memcpy(device, w->best, (size_t)w->p->n * sizeof *device);
  if (report)
    *report = (berth_search_report){
      .start = o->start ? t->start.rival_value : berth_i_starts_value(&t->start),
      .value = w->best_value,
      .calls = (int64_t)atomic_load(&t->s.calls),
      .units = w->p->units.n,
      .interrupted = atomic_load(&t->s.interrupted)
    };
  return BERTH_OK;
}

berth_status berth_search(berth_cost *cost, const berth_search_options *opts, int32_t *device,
                          berth_search_report *report) {
  if (!cost) return BERTH_EINVAL;
  berth_search_options o = opts ? *opts : berth_search_default();
  berth_i_problem p;
  berth_status st = berth_i_problem_init(cost, &o, &p);
  if (st != BERTH_OK) return st;
  team t;
  if ((st = init_team(&p, &t)) == BERTH_OK) st = run_team(&t, device, report);
  release_team(&t);
  berth_i_problem_release(&p);
  return st;
}
