/* Rules: random ones, changes of one, the skeleton that one makes. Times are drawn in units of the
 * work of a micro-batch on a stage. */
#include "search_internal.h"

berth_status berth_i_rules_make(const berth_schedule_problem *p, berth_i_pool *pool,
                                berth_i_rules *out) {
  *out = (berth_i_rules){ .p = p };
  for (int32_t c = 0; c < p->n; c++) {
    out->f += p->time[0][c] / p->n;
    out->b += p->time[1][c] / p->n;
    out->w += p->time[2][c] / p->n;
    out->lag += p->lag[c] / p->n;
  }
  out->work = (out->f + out->b + out->w) * p->v;
  berth_status st = berth_i_list_make(p, pool, &out->list);
  return st == BERTH_OK ? berth_i_periodic_make(p, pool, &out->periodic) : st;
}

/* ---- draws ---- */

static double uniform(berth_rng *rng) { return berth_rng_uniform(rng); }
static bool chance(berth_rng *rng, int32_t one_in) { return berth_rng_below(rng, one_in) == 0; }
/* 0 in half of the cases, else up to `most`. */
static double some(berth_rng *rng, double most) {
  return berth_rng_u64(rng) & 1 ? uniform(rng) * most : 0;
}

/* Those of the problem, all alike, or in between. */
static void draw_times(const berth_i_rules *r, berth_rng *rng, berth_i_list_rule *l) {
  double one = (r->f + r->b + r->w) / 3, mix = uniform(rng);
  switch (berth_rng_below(rng, 4)) {
  case 0: l->time[0] = -1; return;
  case 1: mix = 0; break;
  default: break;
  }
  l->time[0] = one + mix * (r->f - one);
  l->time[1] = one + mix * (r->b - one);
  l->time[2] = one + mix * (r->w - one);
  l->lag = chance(rng, 2) ? 0 : r->lag * uniform(rng) * 2;
}

static double draw_slack(const berth_i_rules *r, berth_rng *rng) {
  return chance(rng, 3) ? INFINITY : uniform(rng) * 2 * r->work;
}
static double draw_reserve(berth_rng *rng) { return some(rng, 1.4); }
static double draw_period(const berth_i_rules *r, berth_rng *rng) {
  double x = uniform(rng);
  return r->work * (0.9 + 1.2 * x * x);
}

static void draw_group(const berth_i_rules *r, berth_rng *rng, berth_i_periodic_rule *q) {
  q->group = chance(rng, 2) ? 1 : 1 + berth_rng_below(rng, r->p->p);
  q->apart = uniform(rng) * q->period;
}

/* Times of a block of unit actions are whole units. */
static void set_units(berth_i_periodic_rule *q) {
  if (!(q->unit > 0)) return;
  for (int32_t k = 0; k < 2 * BERTH_I_WAITS; k++)
    q->hop[k % 2][k / 2] = q->unit * round(q->hop[k % 2][k / 2] / q->unit);
  for (int32_t k = 0; k < 3; k++) q->turn[k] = q->unit * round(q->turn[k] / q->unit);
  q->period = q->unit * round(q->period / q->unit);
}

berth_i_rule berth_i_rule_draw(const berth_i_rules *r, berth_rng *rng, berth_i_family family) {
  berth_i_rule x = { .family = family };
  berth_i_periodic_rule *q = &x.periodic;
  berth_i_list_rule *l = &x.list;
  draw_times(r, rng, l);
  l->reserve = draw_reserve(rng);
  l->interval = some(rng, r->work * 1.2);
  l->forward_first = chance(rng, 2);
  l->first = family == BERTH_I_BY_TARGET ? BERTH_I_TARGET_FIRST
                                         : (berth_i_first)berth_rng_below(rng, 3);
  l->eager = (berth_i_eager)berth_rng_below(rng, 3);
  if (family == BERTH_I_BY_TARGET) l->interval = 0;
  l->slack = draw_slack(r, rng);
  q->period = draw_period(r, rng);
  for (int32_t k = 0; k < BERTH_I_WAITS; k++) {
    q->hop[0][k] = some(rng, r->work / 2);
    q->hop[1][k] = some(rng, r->work / 2);
  }
  for (int32_t k = 0; k < 3; k++) q->turn[k] = some(rng, r->work);
  draw_group(r, rng, q);
  q->weights = chance(rng, 2);
  q->unit = chance(rng, 2) ? r->work / (3 * r->p->v) : 0;
  set_units(q);
  x.theta = uniform(rng) * 1.5 * r->w;
  return x;
}

/* ---- changes ---- */

static void change_list(const berth_i_rules *r, berth_rng *rng, berth_i_list_rule *l) {
  switch (berth_rng_below(rng, 7)) {
  case 0: draw_times(r, rng, l); break;
  case 1: l->reserve = draw_reserve(rng); break;
  case 2: l->reserve *= 0.8 + 0.4 * uniform(rng); break;
  case 3: l->interval = some(rng, r->work * 1.2); break;
  case 4: l->interval *= 0.8 + 0.4 * uniform(rng); break;
  case 5: l->eager = (berth_i_eager)berth_rng_below(rng, 3); break;
  default:
    if (l->first == BERTH_I_TARGET_FIRST) l->slack = draw_slack(r, rng);
    else if (chance(rng, 2)) l->forward_first = !l->forward_first;
    else l->first = (berth_i_first)berth_rng_below(rng, 3);
  }
}

static void change_periodic(const berth_i_rules *r, berth_rng *rng, berth_i_periodic_rule *q) {
  int32_t most = r->p->v < BERTH_I_WAITS ? r->p->v : BERTH_I_WAITS;
  double *hop = &q->hop[berth_rng_below(rng, 2)][berth_rng_below(rng, most)];
  switch (berth_rng_below(rng, 8)) {
  case 0: q->period = draw_period(r, rng); break;
  case 1: q->period *= 0.95 + 0.1 * uniform(rng); break;
  case 2: q->weights = !q->weights; break;
  case 3: *hop = some(rng, r->work / 2); break;
  case 4: *hop *= 0.7 + 0.6 * uniform(rng); break;
  case 5: q->turn[berth_rng_below(rng, 3)] = some(rng, r->work); break;
  case 6: q->apart = uniform(rng) * q->period; break;
  default: draw_group(r, rng, q);
  }
  set_units(q);
}

void berth_i_rule_change(const berth_i_rules *r, berth_rng *rng, berth_i_rule *x) {
  int32_t changes = 1 + berth_rng_below(rng, 3);
  for (int32_t i = 0; i < changes; i++) {
    if (chance(rng, 6)) x->theta = uniform(rng) * 1.5 * r->w;
    else if (x->family == BERTH_I_BY_LIST || (x->family == BERTH_I_BY_TARGET && chance(rng, 2)))
      change_list(r, rng, &x->list);
    else change_periodic(r, rng, &x->periodic);
  }
}

bool berth_i_rule_run(berth_i_rules *r, const berth_i_rule *x, berth_i_words *skeleton) {
  if (x->family != BERTH_I_BY_LIST) berth_i_periodic_lay(r->periodic, &x->periodic);
  if (x->family == BERTH_I_BY_PERIOD) {
    berth_i_periodic_words(r->periodic, skeleton);
    return true;
  }
  return berth_i_list_run(r->list, &x->list,
                          x->family == BERTH_I_BY_TARGET ? r->periodic : NULL, skeleton);
}
