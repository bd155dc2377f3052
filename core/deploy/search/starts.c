/* What a search of deployments begins with: baselines, the strategies given; without any, data
 * parallelism, model parallelism if that does not fit, and the chain if neither does. */
#include "search_internal.h"

enum { FALLBACKS = 3, BEST = 2 };

/* ---- the list ---- */

static int32_t *next(const berth_deploy *d, berth_i_first *out) {
  out->value[out->n] = NAN;
  return &out->assignment[(size_t)out->n++ * (size_t)d->n_groups];
}

/* ---- without any: all devices ---- */

/* DP; if it does not fit, model parallel, too; if that does not either, the chain cut by memory. */
static berth_status fall_back(berth_deploy *d, berth_deploy_sfb rule, uint8_t *duplicate,
                              berth_i_first *out) {
  static const berth_deploy_option options[] = { BERTH_DEPLOY_ALLREDUCE, BERTH_DEPLOY_SPLIT };
  bool yes = false;
  berth_status st = BERTH_OK;
  for (int k = 0; k < 2 && !yes && st == BERTH_OK; k++) {
    int32_t *start = next(d, out);
    berth_deploy_option option = options[k];
    /* All devices, this option, even shares: the more of this the better. */
    int32_t all = 0, best_mark = -1;
    for (int32_t a = 0; a < d->n_actions; a++) {
      const berth_action *x = &d->action[a];
      const int32_t size = berth_i_place_size(d, d->set_place[x->set]);
      const int32_t mark = 4 * size + 2 * (x->option == option) + (x->shares == BERTH_SHARES_EVEN);
      if (mark <= best_mark) continue;
      all = a;
      best_mark = mark;
    }
    for (int32_t i = 0; i < d->n_groups; i++) {
      start[i] = all;
      if (berth_i_is_legal(d, i, all)) continue;
      for (start[i] = 0; start[i] < d->n_actions && !berth_i_is_legal(d, i, start[i]);) start[i]++;
    }
    berth_deploy_value v;
    st = berth_deploy_evaluate_rule(d, start, rule, duplicate, NULL, &v);
    yes = st == BERTH_OK && v.over == 0;
    if (st == BERTH_EUNREACHABLE) st = BERTH_OK;
  }
  if (st != BERTH_OK || yes) return st;
  st = berth_i_chain(d, next(d, out), &yes);
  out->n -= !yes;
  return st;
}

/* ---- baselines ---- */

static berth_status add_baseline(berth_deploy *d, const berth_i_space *x,
                                 const berth_deploy_list *l, int32_t k, bool valued,
                                 uint8_t *duplicate, berth_i_first *out) {
  const berth_deploy_value *v = berth_deploy_list_value(l, k);
  const int32_t *action = berth_deploy_list_action(l, k);
  berth_status st = berth_deploy_repeat(d, action, berth_deploy_list_rule(l, k), duplicate);
  if (st != BERTH_OK) return st;
  berth_i_space_encode(d, x, action, duplicate, next(d, out));
  if (!valued) return BERTH_OK;
  out->value[out->n - 1] = v->seconds;
  out->excess[out->n - 1] = berth_i_search_excess(v);
  return BERTH_OK;
}

/* The best behind `after` in the order of values, of other actions; the first of equal ones.
 * BERTH_NONE: there is none. */
static int32_t next_best(const berth_deploy *d, const berth_deploy_list *l, int32_t after) {
  int32_t best = BERTH_NONE;
  for (int32_t k = 0; k < berth_deploy_list_size(l); k++) {
    const berth_deploy_value *v = berth_deploy_list_value(l, k);
    if (after != BERTH_NONE
        && (!berth_i_value_better(berth_deploy_list_value(l, after), v)
            || memcmp(berth_deploy_list_action(l, after), berth_deploy_list_action(l, k),
                      (size_t)d->n_groups * sizeof(int32_t))
                   == 0))
      continue;
    if (best == BERTH_NONE || berth_i_value_better(v, berth_deploy_list_value(l, best))) best = k;
  }
  return best;
}

/* All with their values. But where a rule for all op groups makes other values of them: the first
 * and the best, to be valued again. */
static berth_status add_baselines(berth_deploy *d, const berth_deploy_search_options *o,
                                  const berth_i_space *x, const berth_deploy_list *l,
                                  uint8_t *duplicate, berth_i_first *out) {
  berth_status st = BERTH_OK;
  int32_t n = berth_deploy_list_size(l), best = BERTH_NONE;
  bool again = !x->chooses && o->sfb != BERTH_DEPLOY_SFB_NONE;
  for (int32_t k = 0; k < n && !again && st == BERTH_OK; k++)
    if (x->chooses || berth_deploy_list_rule(l, k) == BERTH_DEPLOY_SFB_NONE)
      st = add_baseline(d, x, l, k, true, duplicate, out);
  if (again && n > 0) st = add_baseline(d, x, l, 0, false, duplicate, out);
  for (int i = 0; i < BEST && again && st == BERTH_OK; i++)
    if ((best = next_best(d, l, best)) == BERTH_NONE) break;
    else st = add_baseline(d, x, l, best, false, duplicate, out);
  return st;
}

/* ---- all ---- */

berth_status berth_i_search_starts(berth_deploy *d, const berth_deploy_search_options *o,
                                   const berth_i_space *x, berth_i_first *out) {
  berth_deploy_list *l = NULL;
  berth_status st = o->baselines ? berth_deploy_baselines(d, &l) : BERTH_OK;
  if (st != BERTH_OK) return st;
  const size_t groups = (size_t)d->n_groups, baselines = l ? (size_t)berth_deploy_list_size(l) : 0,
               n = (size_t)o->n_starts + baselines + BEST + 1 + FALLBACKS;
  out->pool = berth_i_pool_empty(d->ctx);
  out->assignment = berth_i_pool_alloc(&out->pool, n * groups, sizeof *out->assignment);
  out->value = berth_i_pool_alloc(&out->pool, n, sizeof *out->value);
  out->excess = berth_i_pool_zalloc(&out->pool, n, sizeof *out->excess);
  uint8_t *duplicate = berth_i_pool_alloc(&out->pool, (size_t)d->n_ops, 1);
  st = berth_i_pool_status(&out->pool);
  /* 1. Baselines, as what is given may be among them. 2. What is given. 3. Without any, all
   * devices. */
  if (st == BERTH_OK && l) st = add_baselines(d, o, x, l, duplicate, out);
  for (int32_t k = 0; k < o->n_starts && st == BERTH_OK; k++)
    memcpy(next(d, out), o->start + (size_t)k * groups, groups * sizeof *o->start);
  if (st == BERTH_OK && out->n == 0)
    st = fall_back(d, x->chooses ? BERTH_DEPLOY_SFB_NONE : o->sfb, duplicate, out);
  berth_deploy_list_release(l);
  return st;
}
