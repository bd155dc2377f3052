/* The list of baselines: named strategies and their values, as others read it. */
#include "baselines_internal.h"

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
