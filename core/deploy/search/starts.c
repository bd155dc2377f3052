/* What a search of deployments begins with. */
#include "search_internal.h"

enum { FALLBACKS = 3, BEST = 2 };

/* ---- the list ---- */

static berth_status reserve_starts(const berth_deploy *d, size_t n, berth_i_first *out) {
  out->pool = berth_i_pool_empty(d->ctx);
  out->assignment =
      berth_i_pool_alloc(&out->pool, n * (size_t)d->n_groups, sizeof *out->assignment);
  out->value = berth_i_pool_alloc(&out->pool, n, sizeof *out->value);
  out->excess = berth_i_pool_zalloc(&out->pool, n, sizeof *out->excess);
  return berth_i_pool_status(&out->pool);
}

static int32_t *next(const berth_deploy *d, berth_i_first *out) {
  out->value[out->n] = NAN;
  return &out->assignment[(size_t)out->n++ * (size_t)d->n_groups];
}

/* ---- without any: all devices ---- */

static berth_status fits(berth_deploy *d, berth_deploy_sfb rule, const int32_t *action,
                         uint8_t *duplicate, bool *yes) {
  berth_deploy_value v;
  berth_status st = berth_deploy_evaluate_rule(d, action, rule, duplicate, NULL, &v);
  *yes = st == BERTH_OK && v.over == 0;
  return st == BERTH_EUNREACHABLE ? BERTH_OK : st;
}

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
    st = fits(d, rule, start, duplicate, &yes);
  }
  if (st != BERTH_OK || yes) return st;
  st = berth_i_chain(d, next(d, out), &yes);
  out->n -= !yes;
  return st;
}

/* ---- baselines ---- */

static bool same_action(const berth_deploy *d, const berth_deploy_list *l, int32_t i, int32_t k) {
  return memcmp(berth_deploy_list_action(l, i), berth_deploy_list_action(l, k),
                (size_t)d->n_groups * sizeof(int32_t))
         == 0;
}

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
            || same_action(d, l, after, k)))
      continue;
    if (best == BERTH_NONE || berth_i_value_better(v, berth_deploy_list_value(l, best))) best = k;
  }
  return best;
}

/* Where a rule for all op groups makes other values of them: the first and the best, to be valued
 * again. */
static berth_status add_some(berth_deploy *d, const berth_i_space *x, const berth_deploy_list *l,
                             uint8_t *duplicate, berth_i_first *out) {
  berth_status st =
      berth_deploy_list_size(l) > 0 ? add_baseline(d, x, l, 0, false, duplicate, out) : BERTH_OK;
  int32_t k = BERTH_NONE;
  for (int i = 0; i < BEST && st == BERTH_OK && (k = next_best(d, l, k)) != BERTH_NONE; i++)
    st = add_baseline(d, x, l, k, false, duplicate, out);
  return st;
}

static berth_status add_baselines(berth_deploy *d, const berth_deploy_search_options *o,
                                  const berth_i_space *x, const berth_deploy_list *l,
                                  uint8_t *duplicate, berth_i_first *out) {
  berth_status st = BERTH_OK;
  if (!x->chooses && o->sfb != BERTH_DEPLOY_SFB_NONE) return add_some(d, x, l, duplicate, out);
  for (int32_t k = 0; k < berth_deploy_list_size(l) && st == BERTH_OK; k++)
    if (x->chooses || berth_deploy_list_rule(l, k) == BERTH_DEPLOY_SFB_NONE)
      st = add_baseline(d, x, l, k, true, duplicate, out);
  return st;
}

/* ---- all ---- */

static berth_status fill(berth_deploy *d, const berth_deploy_search_options *o,
                         const berth_i_space *x, const berth_deploy_list *l, berth_i_first *out) {
  const int32_t baselines = l ? berth_deploy_list_size(l) + BEST + 1 : 0;
  uint8_t *duplicate = berth_i_alloc(d->ctx, (size_t)d->n_ops, 1);
  berth_status st =
      duplicate ? reserve_starts(
                      d, (size_t)(o->n_starts + baselines + FALLBACKS), out)
                : berth_i_nomem(d->ctx);
  /* first: what is given may be among them */
  if (st == BERTH_OK && l) st = add_baselines(d, o, x, l, duplicate, out);
  if (st == BERTH_OK)
    for (int32_t k = 0; k < o->n_starts; k++)
      memcpy(next(d, out), o->start + (size_t)k * (size_t)d->n_groups,
             (size_t)d->n_groups * sizeof *o->start);
  if (st == BERTH_OK && out->n == 0)
    st = fall_back(d, x->chooses ? BERTH_DEPLOY_SFB_NONE : o->sfb, duplicate, out);
  berth_i_free(d->ctx, duplicate, (size_t)d->n_ops, 1);
  return st;
}

berth_status berth_i_search_starts(berth_deploy *d, const berth_deploy_search_options *o,
                                   const berth_i_space *x, berth_i_first *out) {
  berth_deploy_list *l = NULL;
  berth_status st = o->baselines ? berth_deploy_baselines(d, &l) : BERTH_OK;
  if (st != BERTH_OK) return st;
  st = fill(d, o, x, l, out);
  berth_deploy_list_release(l);
  return st;
}
