/* Generators that schedule: the V's with zero bubble, with half and with a third of the memory, and
 * greedy heuristics. F's and B's are put in order by a pattern, or by a list rule at unit times (or
 * at the problem's), within so many times the memory of 1F1B; then W's fill gaps at the problem's
 * times. */
#include "generators_internal.h"
#include "schedule/search/search_internal.h"

/* The problem with at most `share` of 1F1B's memory on each stage. */
static berth_status limited(const berth_schedule_problem *p, double share, berth_i_pool *pool,
                    berth_schedule_problem *out) {
  *out = *p;
  out->limit = berth_i_pool_alloc(pool, (size_t)p->p, sizeof *out->limit);
  for (int32_t s = 0; out->limit && s < p->p; s++) {
    double one = 0;
    for (int32_t k = 0; k < p->v; k++) one += p->adds[p->chunk[s * p->v + k]];
    out->limit[s] = fmin(p->limit[s], share * p->p * one);
  }
  return berth_i_pool_status(pool);
}

static const berth_i_list_rule UNIT = { .time = { 1, 1, 1 } };

/* ---- the best of several ---- */

/* What is tried on one problem, and the best so far. */
typedef struct trial {
  berth_schedule_problem q;
  berth_i_rules rules;
  berth_i_fill fill;
  berth_i_words skeleton, *best;
  double *theta, step;
  int32_t *ahead;
} trial;

static berth_status trial_make(const berth_schedule_problem *p, double share, berth_i_pool *pool,
                               berth_i_words *best, trial *t) {
  t->best = best;
  t->step = INFINITY;
  t->theta = berth_i_pool_alloc(pool, (size_t)p->p, sizeof *t->theta);
  t->ahead = berth_i_pool_alloc(pool, (size_t)p->p, sizeof *t->ahead);
  berth_status st = limited(p, share, pool, &t->q);
  if (st == BERTH_OK) st = berth_i_rules_make(&t->q, pool, &t->rules);
  if (st == BERTH_OK) st = berth_i_fill_make(&t->q, pool, &t->fill);
  if (st == BERTH_OK) st = berth_i_words_make(&t->q, pool, &t->skeleton);
  return st;
}

/* The skeleton with W's. */
static void try_skeleton(trial *t) {
  berth_i_cost c = berth_i_fill_run(&t->fill, &t->skeleton, t->theta, INFINITY);
  if (!(c.step < t->step)) return;
  t->step = c.step;
  memcpy(t->best->code, t->fill.words.code, t->best->begin[t->q.p] * sizeof *t->best->code);
}

static void try_rule(trial *t, const berth_i_rule *rule) {
  for (int32_t s = 0; s < t->q.p; s++) t->theta[s] = rule->theta;
  if (berth_i_rule_run(&t->rules, rule, &t->skeleton)) try_skeleton(t);
}

static berth_status trial_end(const trial *t) {
  if (isfinite(t->step)) return BERTH_OK;
  return berth_i_fail(t->q.ctx, BERTH_EINFEASIBLE,
                      "schedule: the heuristic finds nothing within the limits");
}

/* The schedule of a rule, with at most `share` of 1F1B's memory. */
static berth_status by(const berth_schedule_problem *p, double share, const berth_i_rule *rule,
                       berth_i_words *w) {
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  trial t;
  berth_status st = trial_make(p, share, &pool, w, &t);
  if (st == BERTH_OK) {
    try_rule(&t, rule);
    st = trial_end(&t);
  }
  berth_i_pool_free(&pool);
  return st;
}

/* A building block of actions of one unit, six a period. */
static berth_status by_period(const berth_schedule_problem *p, double share,
                              berth_i_periodic_rule block, berth_i_words *w) {
  block.period = 6;
  block.unit = block.group = 1;
  return by(p, share, &(berth_i_rule){ .family = BERTH_I_BY_PERIOD, .periodic = block }, w);
}

/* F's go up, and B's come back on the first chunk, in two units. */
berth_status berth_i_make_v_half(const berth_schedule_problem *p, berth_i_words *w) {
  berth_i_periodic_rule block = { .turn = { 1, 1, 0 } };
  block.hop[0][1] = block.hop[1][0] = 1;
  return by_period(p, (p->p + 2) / (2.0 * p->p), block, w);
}

berth_status berth_i_make_v_min(const berth_schedule_problem *p, berth_i_words *w) {
  return by_period(p, (p->p + 4) / (3.0 * p->p), (berth_i_periodic_rule){ .unit = 1 }, w);
}

/* Unit times or times of the problem, W's at once, when memory blocks an F or last, each with three
 * values of theta. */
enum { LISTS = 2 * 3 * 3 };
static void try_lists(trial *t, int32_t n, double longest) {
  for (int32_t i = 0; i < n; i++) {
    berth_i_rule rule = { .family = BERTH_I_BY_LIST, .list = UNIT };
    if (i % 2) rule.list.time[0] = -1;
    rule.list.eager = (berth_i_eager)(BERTH_I_WEIGHT_FIRST - i / 2 % 3);
    rule.theta = i / 6 * longest / 2;
    try_rule(t, &rule);
  }
}

/* Zero-bubble skeletons; theta in five steps, the same on all stages, falling or rising along
 * them. */
enum { THETAS = 9 * 3 };
static void try_zero_bubble(trial *t, double longest) {
  int32_t p = t->q.p;
  for (int32_t i = 0; berth_i_zero_bubble(&t->q, i, t->ahead, &t->skeleton); i++)
    for (int32_t j = 0; j < THETAS; j++) {
      for (int32_t s = 0; s < p; s++) {
        double slope = j % 3 == 0 ? 1 : j % 3 == 1 ? (p - 1.0 - s) / p : (double)s / p;
        t->theta[s] = j / 3 / 8.0 * longest * slope;
      }
      try_skeleton(t);
    }
}

/* The best of zero-bubble skeletons and of the first `lists` list schedules. */
static berth_status heuristic(const berth_schedule_problem *p, double share, int32_t lists,
                              berth_i_words *w) {
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  trial t;
  double longest = 0;
  for (int32_t c = 0; c < p->n; c++) longest = fmax(longest, p->time[2][c]);
  berth_status st = trial_make(p, share, &pool, w, &t);
  if (st == BERTH_OK) {
    try_lists(&t, lists, longest);
    try_zero_bubble(&t, longest);
    st = trial_end(&t);
  }
  berth_i_pool_free(&pool);
  return st;
}

berth_status berth_i_make_zb_v(const berth_schedule_problem *p, berth_i_words *w) {
  return heuristic(p, 1, 1, w); /* a list schedule keeps memory where chunks are unlike */
}

berth_status berth_i_make_heuristic_1x(const berth_schedule_problem *p, berth_i_words *w) {
  return heuristic(p, 1, LISTS, w);
}

berth_status berth_i_make_heuristic_2x(const berth_schedule_problem *p, berth_i_words *w) {
  return heuristic(p, 2, LISTS, w);
}
