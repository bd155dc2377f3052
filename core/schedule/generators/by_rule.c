/* Generators that schedule: the V's with zero bubble, with half and with a third of the memory, and
 * greedy heuristics. F's and B's are put in order at unit times (or at the problem's), within so
 * many times the memory of 1F1B; then W's fill gaps at the problem's times. */
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

/* The best of `n` rules.  @return BERTH_EINFEASIBLE: none keeps the limits */
static berth_status best_of(const berth_schedule_problem *p, double share, const berth_i_rule *rule,
                            int32_t n, berth_i_words *w) {
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  berth_schedule_problem q;
  berth_i_rules rules;
  berth_i_fill fill;
  berth_i_words skeleton;
  double step = INFINITY;
  double *theta = berth_i_pool_alloc(&pool, (size_t)p->p, sizeof *theta);
  berth_status st = limited(p, share, &pool, &q);
  if (st == BERTH_OK) st = berth_i_rules_make(&q, &pool, &rules);
  if (st == BERTH_OK) st = berth_i_fill_make(&q, &pool, &fill);
  if (st == BERTH_OK) st = berth_i_words_make(&q, &pool, &skeleton);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    for (int32_t s = 0; s < p->p; s++) theta[s] = rule[i].theta;
    if (!berth_i_rule_run(&rules, &rule[i], &skeleton)) continue;
    berth_i_cost c = berth_i_fill_run(&fill, &skeleton, theta, INFINITY);
    if (!(c.step < step)) continue;
    step = c.step;
    memcpy(w->code, fill.words.code, w->begin[p->p] * sizeof *w->code);
  }
  if (st == BERTH_OK && isinf(step))
    st = berth_i_fail(p->ctx, BERTH_EINFEASIBLE,
                      "schedule: the heuristic finds nothing within the limits");
  berth_i_pool_free(&pool);
  return st;
}

berth_status berth_i_make_zb_v(const berth_schedule_problem *p, berth_i_words *w) {
  berth_i_rule r = { .family = BERTH_I_BY_LIST, .list = UNIT };
  r.list.eager = BERTH_I_WEIGHT_FIRST;
  return best_of(p, 1, &r, 1, w);
}

/* A building block of actions of one unit, six a period. */
static berth_status by_period(const berth_schedule_problem *p, double share,
                              berth_i_periodic_rule block, berth_i_words *w) {
  block.period = 6;
  block.unit = block.group = 1;
  return best_of(p, share, &(berth_i_rule){ .family = BERTH_I_BY_PERIOD, .periodic = block }, 1,
                 w);
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

/* Times of the problem or unit times, W's at once, when memory blocks an F or last, each with three
 * values of theta. */
enum { HEURISTICS = 2 * 3 * 3 };
static berth_status heuristic(const berth_schedule_problem *p, double share, berth_i_words *w) {
  berth_i_rule rule[HEURISTICS];
  double longest = 0;
  for (int32_t c = 0; c < p->n; c++) longest = fmax(longest, p->time[2][c]);
  for (int32_t i = 0; i < HEURISTICS; i++) {
    rule[i] = (berth_i_rule){ .family = BERTH_I_BY_LIST, .list = UNIT };
    if (i % 2) rule[i].list.time[0] = -1;
    rule[i].list.eager = (berth_i_eager)(i / 2 % 3);
    rule[i].theta = i / 6 * longest / 2;
  }
  return best_of(p, share, rule, HEURISTICS, w);
}

berth_status berth_i_make_heuristic_1x(const berth_schedule_problem *p, berth_i_words *w) {
  return heuristic(p, 1, w);
}

berth_status berth_i_make_heuristic_2x(const berth_schedule_problem *p, berth_i_words *w) {
  return heuristic(p, 2, w);
}
