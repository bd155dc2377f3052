/* What can be decided for an op group, and what of it is legal for which. An action is a device
 * set, an option (PS, AllReduce, model parallel, duplicate) and shares; the table is by set. PS
 * stands for AllReduce where it would come to the same (its twin). O(groups actions + groups sets
 * ops devices). */
#include "deploy/compile/compile_internal.h"
#include <stdio.h>

/* ---- the table ---- */

static berth_status add(berth_deploy *d, int32_t set, berth_deploy_option option,
                        berth_deploy_shares shares) {
  berth_status st = BERTH_I_POOL_GROW(&d->pool, d->action, d->action_cap, (size_t)d->n_actions + 1);
  if (st == BERTH_OK) d->action[d->n_actions++] = (berth_action){ set, option, shares };
  return st;
}

/* With even shares, and with shares by speed where these differ. */
static berth_status add_replicas(berth_deploy *d, int32_t set, berth_deploy_option option) {
  berth_status st = add(d, set, option, BERTH_SHARES_EVEN);
  return st == BERTH_OK && d->o.uneven && d->uneven[set]
             ? add(d, set, option, BERTH_SHARES_SPEED)
             : st;
}

/* ---- legal ---- */

/* The first op of the group, and device of the set, on which it cannot run. Inputs run where they
 * can. */
static bool find_misfit(const berth_deploy *d, int32_t group, int32_t set, int32_t *op,
                        int32_t *device) {
  for (int32_t i = d->group_at[group]; i < d->group_at[group + 1]; i++) {
    *op = d->group_op[i];
    if (d->role[*op] == BERTH_ROLE_INPUT) continue;
    for (int32_t k = 0; k < berth_i_place_size(d, set); k++) {
      *device = berth_i_place_devices(d, set)[k];
      if (!berth_i_can_run(d->cost, *op, *device)) return true;
    }
  }
  return false;
}

static bool equal_shares(const berth_deploy *d, const berth_action *a) {
  berth_i_form f = berth_i_form_of(a->set, berth_i_cut_by(a->shares));
  for (int32_t k = 1; k < berth_i_place_size(d, a->set); k++)
    if (berth_i_form_samples(d, f, k) != berth_i_form_samples(d, f, 0)) return false;
  return true;
}

/* A reader of what is summed, or put together row by row, where the op group is replicated. */
static bool reads_reduced(const berth_deploy *d, int32_t op) {
  const berth_graph *g = d->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    berth_i_kind kind = berth_i_tensor_kind(d, g->in[i]);
    if (kind == BERTH_I_PARTIAL && d->cut_op[g->producer[g->in[i]]]) return true;
    if (kind == BERTH_I_CUT && d->role[op] == BERTH_ROLE_SCATTER) return true;
  }
  return false;
}

int berth_deploy_reduces(const berth_deploy *d, int32_t group) {
  if (group < 0 || group >= d->n_groups) return 0;
  for (int32_t i = d->group_at[group]; i < d->group_at[group + 1]; i++)
    if (reads_reduced(d, d->group_op[i])) return true;
  return false;
}

static bool suits(const berth_deploy *d, int32_t group, const berth_action *a, bool servers) {
  if (a->option == BERTH_DEPLOY_SPLIT) {
    /* SPLIT has something to deal out. */
    const int32_t *op = d->group_op + d->group_at[group];
    int32_t n = d->group_at[group + 1] - d->group_at[group], first = berth_i_group(d->g, op[0]);
    for (int32_t i = 1; i < n; i++)
      if (first == BERTH_NONE || berth_i_group(d->g, op[i]) != first) return true;
    return false;
  }
  if (a->option == BERTH_DEPLOY_PS && berth_i_place_size(d, a->set) > 1 && !servers) return false;
  bool replicated = a->option == BERTH_DEPLOY_PS || a->option == BERTH_DEPLOY_ALLREDUCE;
  return !d->o.strict || !replicated || equal_shares(d, a);
}

static berth_status no_action(const berth_deploy *d, int32_t group) {
  int32_t op = 0, device = 0;
  if (!find_misfit(d, group, d->action[0].set, &op, &device))
    return berth_i_fail(d->ctx, BERTH_EINFEASIBLE,
                        "op group %ld: no device set gives equal shares of a batch of %ld",
                        (long)group, (long)d->batch);
  char label[80], where[80];
  return berth_i_fail(d->ctx, BERTH_EINFEASIBLE,
                      "op group %ld: no device set can run all of its %ld ops: %s not on %s",
                      (long)group, (long)(d->group_at[group + 1] - d->group_at[group]),
                      berth_i_op_label(d->g, op, label, sizeof label),
                      berth_i_device_label(d->t, device, where, sizeof where));
}

berth_status berth_i_deploy_actions(berth_deploy *d) {
  berth_status st = BERTH_OK;
  for (int32_t set = 0; set < d->n_sets; set++) {
    if (berth_i_place_size(d, set) == 1) {
      if ((st = add(d, set, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN)) != BERTH_OK) return st;
      continue;
    }
    if ((st = add_replicas(d, set, BERTH_DEPLOY_PS)) != BERTH_OK
        || (st = add_replicas(d, set, BERTH_DEPLOY_ALLREDUCE)) != BERTH_OK
        || (st = add(d, set, BERTH_DEPLOY_SPLIT, BERTH_SHARES_EVEN)) != BERTH_OK)
      return st;
    if (d->o.duplicates) st = add(d, set, BERTH_DEPLOY_DUPLICATE, BERTH_SHARES_EVEN);
    if (st != BERTH_OK) return st;
  }
  d->legal = berth_i_pool_alloc(&d->pool, (size_t)d->n_groups, (size_t)d->n_actions);
  if (!d->legal) return berth_i_nomem(d->ctx);
  for (int32_t group = 0; group < d->n_groups; group++) {
    /* Ops and devices are compared once for all actions of a set. */
    uint8_t *legal = d->legal + (size_t)group * (size_t)d->n_actions;
    bool servers = d->o.redundant || berth_deploy_reduces(d, group);
    int32_t op, device;
    for (int32_t k = 0; k < d->n_actions; k++) {
      const berth_action *a = &d->action[k];
      bool new_set = k == 0 || a[-1].set != a->set;
      uint8_t fits =
          new_set ? !find_misfit(d, group, a->set, &op, &device) : (uint8_t)(legal[k - 1] >> 1);
      legal[k] = (uint8_t)(fits << 1 | (fits && suits(d, group, a, servers)));
    }
    for (int32_t k = 0; k < d->n_actions; k++) legal[k] &= 1;
    if (!memchr(legal, 1, (size_t)d->n_actions)) return no_action(d, group);
  }
  return BERTH_OK;
}

/* ---- strategies ---- */

int32_t berth_i_deploy_twin(const berth_deploy *d, int32_t action) {
  const berth_action *a = &d->action[action];
  for (int32_t k = action + 1;
       a->option == BERTH_DEPLOY_PS && k < d->n_actions && d->action[k].set == a->set; k++) {
    const berth_action *b = &d->action[k];
    if (b->option == BERTH_DEPLOY_ALLREDUCE && b->shares == a->shares) return k;
  }
  return BERTH_NONE;
}

int32_t berth_i_deploy_instead(const berth_deploy *d, int32_t group, int32_t action) {
  if (berth_i_is_legal(d, group, action)) return action;
  int32_t twin = berth_i_deploy_twin(d, action);
  return twin != BERTH_NONE && berth_i_is_legal(d, group, twin) ? twin : BERTH_NONE;
}

berth_status berth_i_deploy_check_strategy(berth_deploy *d, const int32_t *action) {
  for (int32_t group = 0; group < d->n_groups; group++) {
    int32_t k = action[group];
    if (k < 0 || k >= d->n_actions)
      return berth_i_fail(d->ctx, BERTH_EINVAL,
                          "op group %ld: there is no action %ld (there are %ld)", (long)group,
                          (long)k, (long)d->n_actions);
    if (berth_i_deploy_instead(d, group, k) == BERTH_NONE) {
      /* Why it is not legal. */
      static const char *const option_name[] = { "PS", "AllReduce", "model parallel", "duplicate" };
      const berth_action *a = &d->action[k];
      char what[64];
      snprintf(what, sizeof what, "op group %ld: action %ld (%s)", (long)group, (long)k,
               option_name[a->option]);
      char label[80], where[80];
      int32_t op, device;
      if (find_misfit(d, group, a->set, &op, &device))
        return berth_i_fail(d->ctx, BERTH_EINVAL, "%s: %s cannot run on %s", what,
                            berth_i_op_label(d->g, op, label, sizeof label),
                            berth_i_device_label(d->t, device, where, sizeof where));
      if (a->option == BERTH_DEPLOY_SPLIT)
        return berth_i_fail(d->ctx, BERTH_EINVAL, "%s: its ops share a device anyway", what);
      return berth_i_fail(d->ctx, BERTH_EINVAL,
                          "%s: the batch of %ld does not divide by %ld devices",
                          what, (long)d->batch,
                          (long)berth_i_place_size(d, a->set));
    }
  }
  return BERTH_OK;
}
