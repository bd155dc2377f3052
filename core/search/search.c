/* A search: starts, walks on threads that share the budget, a polish of the best. */
#include "search_internal.h"

enum { SHORT = 20000, MEDIUM = 50000, MANY = 4, TWO_PHASES = 20000 };

berth_search_options berth_search_default(void) {
  berth_search_options o = { 0 };
  o.method = BERTH_SEARCH_ANNEAL;
  o.calls = 2000;
  o.hot = 0.006;
  o.cold = 1e-4;
  return o;
}

/* ---- hooks and clock -------------------------------------------------------------------------- */

enum { LOOK_EVERY = 16 };

static double clock_now(const berth_i_search *s) { return berth_i_ctx_clock(s->p->ctx); }

static double used_part(const berth_i_search *s) {
  const berth_search_options *o = s->p->o;
  double part = 0;
  if (o->calls > 0) part = (double)atomic_load(&s->calls) / (double)o->calls;
  if (o->seconds > 0) part = fmax(part, atomic_load(&s->elapsed) / o->seconds);
  return fmin(part, 1);
}

static void tell(berth_i_search *s) {
  int hundredths = (int)(100 * used_part(s));
  if (hundredths <= s->told) return;
  s->told = hundredths;
  berth_i_progress(s->p->ctx, "search", hundredths / 100.0);
}

static void look_now(berth_i_search *s) {
  if (s->p->o->seconds > 0) atomic_store(&s->elapsed, clock_now(s) - s->began);
  tell(s);
  if (atomic_load(&s->stopped) || berth_i_interrupted(s->p->ctx) == BERTH_OK) return;
  atomic_store(&s->asked, true);
  atomic_store(&s->stopped, true);
}

void berth_i_search_look(berth_i_search *s) {
  if (s->looks++ % LOOK_EVERY == 0 || s->p->o->objective) look_now(s);
}

/* ---- starts ------------------------------------------------------------------------------------ */

typedef struct starts {
  int32_t *device[2]; /* best first; [n] */
  double value[2];
  int32_t n;
} starts;

static berth_status add_start(berth_i_walk *w, starts *a) {
  double value;
  berth_status st = berth_i_walk_value(w, a->device[a->n], &value);
  if (st != BERTH_OK || isinf(value)) return st;
  a->value[a->n++] = value;
  if (a->n == 2 && a->value[1] < a->value[0]) {
    int32_t *swap = a->device[0];
    a->device[0] = a->device[1];
    a->device[1] = swap;
    a->value[1] = a->value[0];
    a->value[0] = value;
  }
  return BERTH_OK;
}

/* Whatever is wrong with the devices is told with the simulator's words. */
static berth_status given_start(berth_i_walk *w, starts *a) {
  berth_i_problem *p = w->p;
  if (!berth_i_sim_execute(p->plan, w->state, p->o->start, p->plan->o.seed, false)) {
    return berth_i_fault_report(p->plan, &w->state->fault);
  }
  if (p->n > 0) memcpy(a->device[0], p->o->start, (size_t)p->n * sizeof *a->device[0]);
  return add_start(w, a);
}

static berth_status own_starts(berth_i_walk *w, starts *a) {
  berth_i_problem *p = w->p;
  bool found = false;
  berth_status st = berth_i_start_listed(p, &p->units, a->device[0], w->held, &found);
  if (st == BERTH_OK && !found) st = berth_i_start_listed(p, &p->atoms, a->device[0], w->held, &found);
  if (st == BERTH_OK && found) st = add_start(w, a);
  if (st != BERTH_OK || w->calls == p->o->calls) return st;
  if (berth_i_start_in_turn(p, &p->units, a->device[a->n], w->held)) st = add_start(w, a);
  return st;
}

static berth_status make_starts(berth_i_walk *w, starts *a) {
  berth_i_problem *p = w->p;
  berth_status st;
  if (berth_i_interrupted(p->ctx) != BERTH_OK) return BERTH_EINTERRUPT;
  st = p->o->start ? given_start(w, a) : own_starts(w, a);
  if (st != BERTH_OK || a->n > 0) return st;
  return berth_i_fail(p->ctx, BERTH_EINFEASIBLE, "search: %s is refused: it runs out of memory, some tensor has no route, or the "
                      "objective does not allow it", p->o->start ? "the start" : "each start made of units");
}

/* ---- walks --------------------------------------------------------------------------------------- */

typedef struct team {
  berth_i_search s;
  berth_i_walk *walk;  /* [n] */
  int32_t n, rounds;
  int64_t spent;       /* calls of the starts */
  bool two_phases, polishes;
  starts start;
} team;

static int32_t count_walks(const berth_search_options *o) {
  if (o->method == BERTH_SEARCH_LOCAL) return 1;
  if (o->restarts > 0) return o->calls > 0 && o->calls < o->restarts ? (int32_t)o->calls : o->restarts;
  if (o->calls == 0) return MANY;
  return o->calls < SHORT ? 1 : o->calls < MEDIUM ? 2 : MANY;
}

static int32_t count_threads(const team *t) {
  const berth_i_problem *p = t->s.p;
  if (p->o->objective || !berth_i_ctx_default_alloc(p->ctx)) return 1;
  return berth_i_parallel_width(p->o->threads, t->n);
}

static void set_phase(berth_i_walk *w, int64_t calls, double seconds) {
  w->vain = 0;
  w->from_calls = w->calls;
  w->most_calls = w->p->o->calls > 0 ? w->calls + calls : 0;
  w->from_time = atomic_load(&w->s->elapsed);
  w->to_time = w->p->o->seconds > 0 ? w->from_time + seconds : INFINITY;
}

static int64_t polish_calls(const team *t) { return t->polishes ? t->s.p->o->calls / 10 : 0; }

/* Of what the starts and the polish leave, in equal parts; the first walks take the rest. */
static int64_t calls_of(const team *t, int32_t walk) {
  int64_t left = t->s.p->o->calls - t->spent - polish_calls(t);
  return left < 0 ? 0 : left / t->n + (walk < left % t->n);
}

static double seconds_of(const team *t) {
  double seconds = t->s.p->o->seconds;
  return isinf(seconds) ? INFINITY : seconds * (t->polishes ? 0.9 : 1) / t->rounds;
}

/* First on units that hold everything in line, then from the best on the usual ones, cooler. */
static void two_phases(berth_i_walk *w, int64_t calls, double seconds, double scale) {
  const berth_search_options *o = w->p->o;
  set_phase(w, calls / 2, seconds / 2);
  berth_i_walk_anneal(w, &w->p->lines, o->hot * scale, o->cold * scale, 0.3);
  berth_i_walk_take(w, memcpy(w->order, w->best, (size_t)w->p->n * sizeof *w->order), w->best_value);
  set_phase(w, calls - calls / 2, seconds / 2);
  berth_i_walk_anneal(w, &w->p->units, fmax(o->hot / 4, o->cold) * scale, o->cold * scale, 0.3);
}

static void walk_job(void *ud, int32_t thread, int32_t job) {
  team *t = ud;
  berth_i_walk *w = &t->walk[job];
  const berth_search_options *o = w->p->o;
  const int32_t pick = job % t->start.n;
  int64_t calls = calls_of(t, job);
  double scale = fabs(t->start.value[0]);
  w->home = thread == 0;
  berth_i_walk_take(w, t->start.device[pick], t->start.value[pick]);
  if (o->calls > 0 && calls == 0) return;
  if (t->two_phases) {
    two_phases(w, calls, seconds_of(t), scale);
    return;
  }
  set_phase(w, calls, seconds_of(t));
  if (o->method == BERTH_SEARCH_LOCAL) berth_i_walk_descend(w);
  else berth_i_walk_anneal(w, &w->p->units, o->hot * scale, o->cold * scale, 0.3);
}

static void watch(void *ud) { look_now(&((team *)ud)->s); }

static int32_t best_walk(const team *t) {
  int32_t i, best = 0;
  for (i = 1; i < t->n; i++) {
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
  look_now(&t->s);
  if (o->calls > 0 && calls <= 0) return;
  berth_i_walk_take(w, memcpy(w->order, best->best, (size_t)w->p->n * sizeof *w->order), best->best_value);
  set_phase(w, calls, o->seconds - atomic_load(&t->s.elapsed));
  berth_i_walk_anneal(w, &w->p->units, 0.1 * o->hot * scale, 0.01 * o->cold * scale, 0.7);
}

static void run_walks(team *t) {
  berth_i_crew crew = { walk_job, NULL, watch, t };
  int32_t threads = count_threads(t);
  t->rounds = (t->n + threads - 1) / threads;
  berth_i_parallel_watched(threads, t->n, &crew);
  if (t->polishes) polish(t);
  look_now(&t->s);
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static berth_status init_team(berth_i_problem *p, team *t) {
  const berth_search_options *o = p->o;
  size_t n = (size_t)p->n;
  berth_status st = BERTH_OK;
  int32_t i;
  t->s.p = p;
  t->n = count_walks(o);
  t->polishes = t->n >= MANY && o->method == BERTH_SEARCH_ANNEAL;
  t->two_phases = o->method == BERTH_SEARCH_ANNEAL && (o->calls == 0 || o->calls / t->n >= TWO_PHASES / 4) && t->n > 1;
  t->start.device[0] = berth_i_zalloc(p->ctx, n, sizeof **t->start.device);
  t->start.device[1] = berth_i_zalloc(p->ctx, n, sizeof **t->start.device);
  t->walk = berth_i_zalloc(p->ctx, (size_t)t->n, sizeof *t->walk);
  if (!t->start.device[0] || !t->start.device[1] || !t->walk) return berth_i_nomem(p->ctx);
  for (i = 0; i < t->n && st == BERTH_OK; i++) st = berth_i_walk_init(&t->s, i, &t->walk[i]);
  return st;
}

static void release_team(berth_i_problem *p, team *t) {
  int32_t i;
  for (i = 0; t->walk && i < t->n; i++) {
    if (t->walk[i].p) berth_i_walk_release(&t->walk[i]);
  }
  berth_i_free(p->ctx, t->walk, (size_t)t->n, sizeof *t->walk);
  berth_i_free(p->ctx, t->start.device[0], (size_t)p->n, sizeof **t->start.device);
  berth_i_free(p->ctx, t->start.device[1], (size_t)p->n, sizeof **t->start.device);
}

static berth_status failure(const team *t) {
  int32_t i;
  for (i = 0; i < t->n; i++) {
    if (t->walk[i].status != BERTH_OK) return t->walk[i].status;
  }
  return BERTH_OK;
}

static void answer(team *t, int32_t *device, berth_search_report *report) {
  const berth_i_walk *w = &t->walk[best_walk(t)];
  if (w->p->n > 0) memcpy(device, w->best, (size_t)w->p->n * sizeof *device);
  if (!report) return;
  report->start = t->start.value[0];
  report->value = w->best_value;
  report->calls = (int64_t)atomic_load(&t->s.calls);
  report->units = w->p->units.n;
  report->interrupted = atomic_load(&t->s.asked);
}

static berth_status run_team(team *t, int32_t *device, berth_search_report *report) {
  berth_status st;
  if (t->s.p->o->seconds > 0) t->s.began = clock_now(&t->s);
  if ((st = make_starts(&t->walk[0], &t->start)) != BERTH_OK) return st;
  t->spent = t->walk[0].calls;
  run_walks(t);
  if ((st = failure(t)) != BERTH_OK) return st;
  answer(t, device, report);
  return BERTH_OK;
}

berth_status berth_search(berth_cost *cost, const berth_search_options *opts, int32_t *device, berth_search_report *report) {
  berth_search_options o = opts ? *opts : berth_search_default();
  berth_i_problem p;
  team t;
  berth_status st = berth_i_problem_init(cost, &o, &p);
  if (st != BERTH_OK) return st;
  memset(&t, 0, sizeof t);
  if ((st = init_team(&p, &t)) == BERTH_OK) st = run_team(&t, device, report);
  release_team(&p, &t);
  berth_i_problem_release(&p);
  return st;
}
