/* The search: rules, each a call, the better ones changed; then annealing of skeletons from the
 * best rules; all against one budget. */
#include "search_internal.h"
#include "schedule/generators/generators_internal.h"
#include "schedule/slots_internal.h"

enum { KEPT = 8, WALKS = 8 }; /* rules of each family that may be changed; walks, one from the best
                                 generator */
/* Share of the budget for rules; for those with less than ENOUGH calls for each F and B, where a
 * walk does not get far. Of the rest, the share of all walks but the last. */
static const double RULES = 0.3, ONLY_RULES = 0.7, ENOUGH = 8, FIRST_WALKS = 0.7;
static const double HOT = 0.15, COLD = 0.01;     /* temperatures, in mean times of an action */
/* With more than LONG micro-batches for each stage, rules are searched on SHORT for each. OF_WHOLE:
 * the share of the rules' budget for the whole. */
enum { LONG = 4, SHORT = 2 };
static const double OF_WHOLE = 0.4;
static const double ACTIONS = 6e7, FEWEST_CALLS = 2000, MOST_CALLS = 200000; /* by default */

/* ---- rules ---- */

typedef struct ranked {
  berth_i_rule rule;
  berth_i_cost cost;
} ranked;
typedef struct ranking {
  ranked at[BERTH_I_FAMILIES][KEPT]; /* the best first */
  int32_t n[BERTH_I_FAMILIES];
} ranking;

static bool better(berth_i_cost a, berth_i_cost b) {
  return a.step != b.step ? a.step < b.step : a.mean < b.mean;
}

static void keep(ranking *g, const ranked *x) {
  int32_t family = x->rule.family, *n = &g->n[family];
  ranked *at = g->at[family];
  int32_t i = *n;
  for (int32_t k = 0; k < *n; k++)
    if (at[k].cost.step == x->cost.step && at[k].cost.mean == x->cost.mean) return;
  while (i > 0 && better(x->cost, at[i - 1].cost)) i--;
  if (i == KEPT) return;
  if (*n < KEPT) ++*n;
  memmove(at + i + 1, at + i, (size_t)(*n - i - 1) * sizeof *at);
  at[i] = *x;
}

static void try_rule(berth_i_found *f, berth_i_rules *rules, ranking *g, double *theta,
                     berth_i_words *skeleton, ranked *x) {
  for (int32_t s = 0; s < f->p->p; s++) theta[s] = x->rule.theta;
  int32_t family = x->rule.family;
  double limit = g->n[family] == KEPT ? g->at[family][KEPT - 1].cost.step : INFINITY;
  if (berth_i_rule_run(rules, &x->rule, skeleton))
    x->cost = berth_i_found_try(f, skeleton, theta, limit);
  else {
    f->calls++;
    return;
  }
  if (isfinite(x->cost.step)) keep(g, x);
}

/* A new rule; mostly with a part of one that is kept. */
static berth_i_rule draw_rule(const berth_i_rules *rules, const ranking *g, berth_rng *rng,
                              berth_i_family family) {
  berth_i_rule x = berth_i_rule_draw(rules, rng, family);
  if (g->n[family] == 0 || berth_rng_below(rng, 5) == 0) return x;
  const berth_i_rule *y = &g->at[family][berth_rng_below(rng, g->n[family])].rule;
  if (family == BERTH_I_BY_TARGET && berth_rng_below(rng, 3) == 0) x.periodic = y->periodic;
  else x.list = y->list;
  x.theta = y->theta;
  return x;
}

/* After a while, half of the calls are for the family of the best rule. */
static berth_i_family draw_family(const ranking *g, berth_rng *rng, bool early) {
  int32_t family = berth_rng_below(rng, BERTH_I_FAMILIES);
  if (early || berth_rng_below(rng, 2)) return (berth_i_family)family;
  for (int32_t i = 0; i < BERTH_I_FAMILIES; i++)
    if (g->n[i] > 0 && (g->n[family] == 0 || better(g->at[i][0].cost, g->at[family][0].cost)))
      family = i;
  return (berth_i_family)family;
}

static void search_rules(berth_i_found *f, berth_i_rules *rules, ranking *g, berth_rng *rng,
                         double *theta, berth_i_words *skeleton, double until) {
  while (!berth_i_found_ends(f) && f->used < until) {
    bool early = f->used < until / 4;
    berth_i_family family = draw_family(g, rng, early);
    int32_t n = g->n[family];
    ranked x;
    if (n == 0 || berth_rng_below(rng, 3) == 0 || (early && n < KEPT))
      x.rule = draw_rule(rules, g, rng, family);
    else {
      double u = berth_rng_uniform(rng);
      x.rule = g->at[family][(int32_t)(u * u * n)].rule;
      berth_i_rule_change(rules, rng, &x.rule);
    }
    try_rule(f, rules, g, theta, skeleton, &x);
  }
}

/* ---- walks from the best rules ---- */

/* The best rules of all families, the best first. */
static int32_t best_rules(const ranking *g, ranked *out, int32_t most) {
  int32_t n = 0, at[BERTH_I_FAMILIES] = { 0 };
  while (n < most) {
    int32_t best = BERTH_NONE;
    for (int32_t f = 0; f < BERTH_I_FAMILIES; f++)
      if (at[f] < g->n[f]
          && (best == BERTH_NONE || better(g->at[f][at[f]].cost, g->at[best][at[best]].cost)))
        best = f;
    if (best == BERTH_NONE) break;
    out[n++] = g->at[best][at[best]++];
  }
  return n;
}

/* ---- generators ---- */

/* F's and B's of words. */
static void strip(const berth_i_words *w, berth_i_words *skeleton) {
  size_t n = 0;
  for (int32_t s = 0; s < w->p->p; s++) {
    skeleton->begin[s] = n;
    for (size_t i = w->begin[s]; i < w->begin[s + 1]; i++) {
      int32_t kind = berth_i_kind(w->code[i]), back = berth_i_is_backward(kind);
      if (kind != BERTH_SCHEDULE_WEIGHT)
        skeleton->code[n++] = berth_i_code_of(berth_i_local(w->code[i]), back);
    }
  }
  skeleton->begin[w->p->p] = n;
}

/* Are all actions of words F, B or W of their own? */
static bool are_plain(const berth_i_words *w) {
  for (size_t i = 0; i < w->begin[w->p->p]; i++)
    if (w->code[i] & BERTH_I_OVERLAPPED || berth_i_kind(w->code[i]) == BERTH_SCHEDULE_FULL)
      return false;
  return true;
}

/* Every generator of the problem's shape, with its own W's and with these placed anew with three
 * values of theta. The skeleton of the best of these becomes the start of the first walk. */
static berth_status try_generators(berth_i_found *f, berth_i_words *words, berth_i_words *skeleton,
                                   berth_i_walk *walk, double *theta) {
  const berth_schedule_problem *p = f->p;
  double longest = 0;
  walk->energy = INFINITY;
  for (int32_t c = 0; c < p->n; c++) longest = fmax(longest, p->time[2][c]);
  for (int32_t g = 0; berth_schedule_generator_at(g) && !berth_i_found_ends(f); g++) {
    berth_i_words_begin(words);
    berth_status st = berth_i_generate(p, g, words);
    if (st == BERTH_ENOMEM) return st;
    if (st != BERTH_OK) continue;
    if (are_plain(words)) {
      for (int32_t s = 0; s < p->p; s++) theta[s] = -INFINITY;
      berth_i_found_try(f, words, theta, INFINITY);
    }
    strip(words, skeleton);
    for (int32_t k = 0; k < 3 && !berth_i_found_ends(f); k++) {
      for (int32_t s = 0; s < p->p; s++) theta[s] = k * longest / 2;
      berth_i_cost c = berth_i_found_try(f, skeleton, theta, INFINITY);
      if (berth_i_energy(c) < walk->energy)
        berth_i_walk_start(walk, f, skeleton, theta[0], berth_i_energy(c));
    }
  }
  return BERTH_OK;
}

/* ---- the course ---- */

typedef struct course {
  berth_i_rules rules;
  berth_i_words words, skeleton;
  berth_i_walk walk[WALKS];
  ranking ranking;
  berth_rng rng;
  double *theta; /* [p] */
} course;

static berth_status course_make(course *k, const berth_schedule_problem *p, berth_i_pool *pool,
                                uint64_t seed) {
  memset(&k->ranking, 0, sizeof k->ranking);
  berth_rng_init(&k->rng, seed, 0);
  berth_status st = berth_i_rules_make(p, pool, &k->rules);
  if (st == BERTH_OK) st = berth_i_words_make(p, pool, &k->words);
  if (st == BERTH_OK) st = berth_i_words_make(p, pool, &k->skeleton);
  for (int32_t i = 0; i < WALKS && st == BERTH_OK; i++)
    st = berth_i_walk_make(p, pool, &k->walk[i]);
  if (st != BERTH_OK) return st;
  k->theta = berth_i_pool_alloc(pool, (size_t)p->p, sizeof *k->theta);
  return berth_i_pool_status(pool);
}

static void walk_all(berth_i_found *f, course *k) {
  const double unit = (k->rules.f + k->rules.b + k->rules.w) / 3;
  ranked best[WALKS - 1];
  const double each = FIRST_WALKS * (1 - f->used) / WALKS;
  int32_t n = best_rules(&k->ranking, best, WALKS - 1), w = 0;
  for (int32_t i = 0; i <= n && !berth_i_found_ends(f); i++) {
    berth_i_walk *walk = &k->walk[i];
    if (i == 0 && isinf(walk->energy)) continue; /* no generator fits */
    if (i > 0) {
      berth_i_rule_run(&k->rules, &best[i - 1].rule, &k->skeleton);
      berth_i_walk_start(walk, f, &k->skeleton, best[i - 1].rule.theta,
                         berth_i_energy(best[i - 1].cost));
    }
    berth_i_walk_run(walk, f, &k->rng, f->used + each, HOT * unit, COLD * unit);
    if (walk->energy < k->walk[w].energy) w = i;
  }
  if (isinf(k->walk[w].energy) || berth_i_found_ends(f)) return;
  berth_i_walk_run(&k->walk[w], f, &k->rng, (1 + f->used) / 2, HOT / 2 * unit, COLD * unit);
  berth_i_run *run = &k->walk[w].run;
  berth_i_run_words(run, &f->best, NULL, NULL);
  berth_i_walk_start(&k->walk[w], f, &f->best, -INFINITY, berth_i_energy(berth_i_cost_of(run)));
  berth_i_walk_run(&k->walk[w], f, &k->rng, 1, HOT / 2 * unit, COLD * unit);
}

/* ---- budget ---- */

static berth_status found_make(const berth_schedule_problem *p,
                               const berth_schedule_search_options *o, berth_i_pool *pool,
                               berth_i_found *f) {
  berth_schedule_bounds bounds;
  *f = (berth_i_found){ .p = p, .ctx = p->ctx, .step = INFINITY, .most_calls = o->calls,
                        .most_seconds = o->seconds, .started = berth_i_ctx_clock(p->ctx) };
  berth_status st = berth_i_fill_make(p, pool, &f->fill);
  if (st == BERTH_OK) st = berth_i_words_make(p, pool, &f->best);
  if (st == BERTH_OK) st = berth_schedule_bound(p, &bounds);
  if (st == BERTH_OK) f->bound = bounds.best;
  return st;
}

/* ---- rules on fewer micro-batches ---- */

/* The problem with fewer micro-batches: a rule that is good for it is good for the whole. */
static berth_status shorten(const berth_schedule_problem *p, int32_t m, berth_i_pool *pool,
                            berth_schedule_problem *out) {
  *out = *p;
  out->m = m;
  out->count = berth_i_pool_alloc(pool, (size_t)p->n, sizeof *out->count);
  if (!out->count) return berth_i_pool_status(pool);
  for (int32_t c = 0; c < p->n; c++) out->count[c] = p->count[c] == p->m ? m : m / 2;
  return BERTH_OK;
}

/* Searches rules on the shorter problem, for its part of the budget, and tries the best ones on the
 * whole. */
static berth_status search_shorter(berth_i_found *f, course *k, berth_i_pool *pool, uint64_t seed) {
  berth_schedule_problem q;
  berth_i_found g;
  course *shorter = berth_i_pool_alloc(pool, 1, sizeof *shorter);
  const double part = RULES * (1 - OF_WHOLE), ratio = (double)SHORT * f->p->p / f->p->m;
  if (!shorter) return berth_i_pool_status(pool);
  berth_schedule_search_options o = { (int64_t)(part * (double)f->most_calls / ratio) + 1,
                                      part * f->most_seconds, 0 };
  berth_status st = shorten(f->p, SHORT * f->p->p, pool, &q);
  if (st == BERTH_OK) st = found_make(&q, &o, pool, &g);
  if (st == BERTH_OK) st = course_make(shorter, &q, pool, seed);
  if (st != BERTH_OK) return st;
  search_rules(&g, &shorter->rules, &shorter->ranking, &shorter->rng, shorter->theta,
               &shorter->skeleton, 1);
  f->calls += (int64_t)((double)g.calls * ratio);
  f->next_look = f->calls;
  for (int32_t family = 0; family < BERTH_I_FAMILIES; family++)
    for (int32_t i = 0; i < shorter->ranking.n[family] && !berth_i_found_ends(f); i++)
      try_rule(f, &k->rules, &k->ranking, k->theta, &k->skeleton,
               &shorter->ranking.at[family][i]);
  return g.stopped == BERTH_EINTERRUPT ? g.stopped : BERTH_OK;
}

static berth_status search(berth_i_found *f, berth_i_pool *pool, uint64_t seed) {
  course k;
  berth_status st = course_make(&k, f->p, pool, seed);
  if (st == BERTH_OK) st = try_generators(f, &k.words, &k.skeleton, &k.walk[0], k.theta);
  if (st != BERTH_OK) return st;
  if (f->p->m > LONG * f->p->p && !berth_i_found_ends(f))
    st = search_shorter(f, &k, pool, seed);
  if (st != BERTH_OK) return st;
  search_rules(f, &k.rules, &k.ranking, &k.rng, k.theta, &k.skeleton, RULES);
  if ((double)f->calls < ENOUGH * f->used * 2 * f->p->n * f->p->m)
    search_rules(f, &k.rules, &k.ranking, &k.rng, k.theta, &k.skeleton, ONLY_RULES);
  walk_all(f, &k);
  return f->stopped;
}

/* ---- the public function ---- */

berth_schedule_search_options berth_schedule_search_default(void) {
  return (berth_schedule_search_options){ 0, INFINITY, 0 };
}

/* About as long for every problem: calls x actions are ACTIONS. */
static int64_t calls_by_size(const berth_schedule_problem *p) {
  const double calls = ACTIONS / (3.0 * p->n * p->m);
  return (int64_t)fmin(fmax(calls, FEWEST_CALLS), MOST_CALLS);
}

static void set_defaults(void *out) {
  *(berth_schedule_search_options *)out = berth_schedule_search_default();
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_schedule_search_options, name, kind)

const berth_option_table *berth_schedule_search_option_table(void) {
  static const berth_option options[] = {
    { FIELD(calls, LONG),
      .text = "schedules that are evaluated at most; 0: so many that these have 60 million "
              "actions, 2,000 to 200,000" },
    { FIELD(seconds, QUANTITY), .unit = BERTH_SECONDS, .high = INFINITY, .fallback = "no limit",
      .text = "time budget; where it ends the search, the answer depends on the machine" },
    { FIELD(seed, SEED), .text = "of random rules and moves" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("schedule search", options, berth_schedule_search_options, set_defaults);
}

berth_status berth_schedule_search(berth_schedule_problem *p,
                                   const berth_schedule_search_options *opts,
                                   berth_schedule **out, berth_schedule_report *report) {
  if (!p || !out) return BERTH_EINVAL;
  berth_schedule_search_options o = opts ? *opts : berth_schedule_search_default();
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  berth_i_found f;
  berth_status st = berth_options_check(p->ctx, berth_schedule_search_option_table(), &o);
  if (o.calls == 0) o.calls = calls_by_size(p);
  int64_t of_slots = berth_i_least_share(p) < 1 ? o.calls / 4 : 0;
  double deadline = berth_i_ctx_clock(p->ctx) + o.seconds;
  o.calls -= of_slots;
  if (of_slots > 0) o.seconds *= 0.75;
  if (st == BERTH_OK) st = found_make(p, &o, &pool, &f);
  if (st == BERTH_OK) st = search(&f, &pool, o.seed);
  if (st == BERTH_OK && of_slots > 0)
    st = berth_i_slots(p, of_slots, deadline, &f.best, &f.step, &f.calls);
  bool interrupted = st == BERTH_EINTERRUPT;
  if (interrupted && isfinite(f.step)) st = BERTH_OK;
  if (st == BERTH_OK && isinf(f.step))
    st = berth_i_fail(p->ctx, BERTH_EINFEASIBLE,
                      "schedule: no schedule within the limits was found in %lld calls",
                      (long long)f.calls);
  if (st == BERTH_OK) st = berth_i_schedule_of(p, &f.best, "search", out);
  if (st == BERTH_OK && report)
    *report = (berth_schedule_report){ f.step, f.bound, f.step <= f.bound * (1 + 1e-9), interrupted,
                                       f.calls };
  berth_i_pool_free(&pool);
  return st;
}
