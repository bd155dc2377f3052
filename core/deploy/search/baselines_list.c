/* The list of baselines: named strategies and their values. */
#include "baselines_internal.h"
#include <stdio.h>

berth_status berth_i_baselines_append(berth_deploy_list *l, const char *name, const int32_t *action,
                                      berth_deploy_sfb rule, const berth_deploy_value *value) {
  size_t n = (size_t)l->d->n_groups;
  berth_status st =
      berth_i_pool_grow(&l->pool, (void **)&l->one, &l->cap, l->n + 1, sizeof *l->one);
  if (st != BERTH_OK) return st;
  berth_i_named *one;
  one = &l->one[l->n];
  if (!(one->action = berth_i_pool_copy(&l->pool, action, n, sizeof *one->action)))
    return berth_i_pool_status(&l->pool);
  l->n++;
  snprintf(one->name, sizeof one->name, "%s", name);
  one->rule = rule;
  one->value = *value;
  return BERTH_OK;
}

void berth_i_baselines_drop(berth_deploy_list *l) { berth_i_pool_free(&l->pool); }

int32_t berth_deploy_list_size(const berth_deploy_list *l) { return (int32_t)l->n; }

static const berth_i_named *at(const berth_deploy_list *l, int32_t k) {
  return k >= 0 && (size_t)k < l->n ? &l->one[k] : NULL;
}

const char *berth_deploy_list_name(const berth_deploy_list *l, int32_t k) {
  return at(l, k) ? at(l, k)->name : NULL;
}
const int32_t *berth_deploy_list_action(const berth_deploy_list *l, int32_t k) {
  return at(l, k) ? at(l, k)->action : NULL;
}
const berth_deploy_value *berth_deploy_list_value(const berth_deploy_list *l, int32_t k) {
  return at(l, k) ? &at(l, k)->value : NULL;
}
berth_deploy_sfb berth_deploy_list_rule(const berth_deploy_list *l, int32_t k) {
  return at(l, k) ? at(l, k)->rule : BERTH_DEPLOY_SFB_NONE;
}
