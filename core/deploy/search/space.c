/* The actions of a search: those of the problem, then each AllReduce on several devices once more
 * with the ops that the rule LOCAL repeats, if groups choose. encode and decode turn strategies
 * into assignments and back; what the rule does not repeat cannot be encoded. */
#include "search_internal.h"

/* ---- actions ---- */

static bool chooses(const berth_deploy_search_options *o) {
  return o->choose && o->sfb == BERTH_DEPLOY_SFB_LOCAL;
}

/* An action with repeated ops is legal where the rule repeats an op of the group. */
static berth_status mark_legal(berth_deploy *d, berth_i_space *x) {
  berth_i_values *v;
  berth_status st = berth_i_values_of(d, &v);
  if (st != BERTH_OK) return st;
  for (int32_t g = 0; g < d->n_groups; g++) {
    uint8_t *legal = x->legal + (size_t)g * (size_t)x->n_actions;
    for (int32_t a = 0; a < x->n_actions; a++) {
      legal[a] = berth_i_is_legal(d, g, x->of[a]);
      if (a < d->n_actions || !legal[a]) continue;
      const berth_i_local_sfb *sfb = berth_i_local_sfb_of(d, v, g, x->of[a]);
      if (!sfb) return BERTH_ENOMEM;
      legal[a] = memchr(sfb->flag, 1, (size_t)berth_i_group_size(d, g)) != NULL;
    }
  }
  return BERTH_OK;
}

/* ---- life ---- */

berth_status berth_i_space_make(berth_deploy *d, const berth_deploy_search_options *o,
                                berth_i_space *x) {
  const size_t actions = (size_t)d->n_actions;
  x->pool = berth_i_pool_empty(d->ctx);
  x->of = berth_i_pool_alloc(&x->pool, 2 * actions, sizeof *x->of);
  x->with = berth_i_pool_alloc(&x->pool, actions, sizeof *x->with);
  x->instead = berth_i_pool_alloc(&x->pool, 2 * actions, sizeof *x->instead);
  x->legal = berth_i_pool_alloc(&x->pool, (size_t)d->n_groups * 2 * actions, 1);
  berth_status st;
  if ((st = berth_i_pool_status(&x->pool)) == BERTH_OK) {
    x->chooses = chooses(o);
    /* Those that may repeat ops are listed once more, behind all others. */
    x->n_actions = d->n_actions;
    for (int32_t a = 0; a < d->n_actions; a++) {
      x->of[a] = a;
      x->with[a] = BERTH_NONE;
      if (!x->chooses || !berth_i_reduces_all(d, a)) continue;
      x->with[a] = x->n_actions;
      x->of[x->n_actions++] = a;
    }
    for (int32_t a = 0; a < x->n_actions; a++)
      x->instead[a] = a < d->n_actions ? berth_i_deploy_twin(d, a) : x->of[a];
    st = mark_legal(d, x);
  }
  if (st != BERTH_OK) {
    berth_i_pool_free(&x->pool);
    memset(x, 0, sizeof *x);
  }
  return st;
}

/* ---- strategies and assignments ---- */

static bool any_marked(const berth_deploy *d, int32_t group, const uint8_t *duplicate) {
  for (int32_t i = d->group_at[group]; duplicate && i < d->group_at[group + 1]; i++)
    if (duplicate[d->group_op[i]]) return true;
  return false;
}

void berth_i_space_encode(const berth_deploy *d, const berth_i_space *x, const int32_t *action,
                          const uint8_t *duplicate, int32_t *out) {
  for (int32_t g = 0; g < d->n_groups; g++) {
    const int32_t a = berth_i_deploy_instead(d, g, action[g]);
    int32_t with = x->with[a];
    if (with != BERTH_NONE
        && (!x->legal[(size_t)g * (size_t)x->n_actions + (size_t)with]
            || !any_marked(d, g, duplicate)))
      with = BERTH_NONE;
    out[g] = with == BERTH_NONE ? a : with;
  }
}

berth_status berth_i_space_decode(berth_deploy *d, const berth_i_space *x,
                                  const int32_t *assignment, int32_t *action, uint8_t *duplicate,
                                  bool *any) {
  berth_i_values *v;
  berth_status st = berth_i_values_of(d, &v);
  if (st != BERTH_OK) return st;
  memset(duplicate, 0, (size_t)d->n_ops);
  *any = false;
  for (int32_t g = 0; g < d->n_groups; g++) {
    action[g] = x->of[assignment[g]];
    if (assignment[g] < d->n_actions) continue;
    const berth_i_local_sfb *sfb;
    if (!(sfb = berth_i_local_sfb_of(d, v, g, action[g]))) return BERTH_ENOMEM;
    for (int32_t i = 0; i < berth_i_group_size(d, g); i++)
      duplicate[d->group_op[d->group_at[g] + i]] = sfb->flag[i];
    *any = true;
  }
  return BERTH_OK;
}

/* ---- for others ---- */

int32_t berth_deploy_search_actions(const berth_deploy *d, const berth_deploy_search_options *o) {
  int32_t n = d->n_actions;
  for (int32_t a = 0; a < d->n_actions && chooses(o); a++) n += berth_i_reduces_all(d, a);
  return n;
}

berth_status berth_deploy_assignment(berth_deploy *d, const berth_deploy_search_options *o,
                                     const int32_t *action, const uint8_t *duplicate,
                                     int32_t *out) {
  if (!d) return BERTH_EINVAL;
  berth_i_space x = { 0 };
  berth_status st = berth_i_deploy_check_strategy(d, action);
  if (st != BERTH_OK || (st = berth_i_space_make(d, o, &x)) != BERTH_OK) return st;
  berth_i_space_encode(d, &x, action, duplicate, out);
  berth_i_pool_free(&x.pool);
  return BERTH_OK;
}

berth_status berth_deploy_strategy(berth_deploy *d, const berth_deploy_search_options *o,
                                   const int32_t *assignment, int32_t *action, uint8_t *duplicate) {
  if (!d) return BERTH_EINVAL;
  berth_i_space x = { 0 };
  berth_status st = berth_i_space_make(d, o, &x);
  if (st != BERTH_OK) return st;
  for (int32_t g = 0; g < d->n_groups && st == BERTH_OK; g++) {
    const int32_t a = assignment[g];
    if (a < 0 || a >= x.n_actions || !x.legal[(size_t)g * (size_t)x.n_actions + (size_t)a])
      st = berth_i_fail(d->ctx, BERTH_EINVAL, "op group %d: action %d of the search is not legal",
                        (int)g, (int)a);
  }
  bool any;
  if (st == BERTH_OK) st = berth_i_space_decode(d, &x, assignment, action, duplicate, &any);
  berth_deploy_value v;
  if (st == BERTH_OK && !x.chooses && o->sfb != BERTH_DEPLOY_SFB_NONE)
    st = berth_deploy_evaluate_rule(d, action, o->sfb, duplicate, NULL, &v);
  berth_i_pool_free(&x.pool);
  return st;
}
