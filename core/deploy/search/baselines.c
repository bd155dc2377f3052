/* Strategies that others would take, to begin with and to compare with. */
#include "baselines_internal.h"
#include "deploy/values_internal.h"
#include <stdio.h>

/* The list of baselines: named strategies and their values. */

static berth_status baselines_append(berth_deploy_list *l, const char *name, const int32_t *action,
                                      berth_deploy_sfb rule, const berth_deploy_value *value) {
  size_t n = (size_t)l->d->n_groups;
  berth_status st = BERTH_I_POOL_GROW(&l->pool, l->one, l->cap, l->n + 1);
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

/* ---- actions by what they are ---- */

/* Of actions that come to the same for all, one. */
static bool legal_for_all(const berth_deploy *d, int32_t action) {
  bool itself = false;
  for (int32_t g = 0; g < d->n_groups; g++) {
    if (berth_i_deploy_instead(d, g, action) == BERTH_NONE) return false;
    itself |= berth_i_is_legal(d, g, action);
  }
  return itself;
}

/* BERTH_NONE: there is none that is legal for the op group. */
static int32_t find_action(const berth_deploy *d, int32_t group, int32_t set,
                           berth_deploy_option option, berth_deploy_shares shares) {
  for (int32_t a = 0; a < d->n_actions; a++) {
    const berth_action *x = &d->action[a];
    if (x->set == set && x->option == option && x->shares == shares)
      return berth_i_deploy_instead(d, group, a);
  }
  return BERTH_NONE;
}

static int32_t set_of_size(const berth_deploy *d, int32_t n, int32_t with) {
  const int32_t *list;
  for (int32_t s = 0; s < d->n_sets; s++)
    if (berth_deploy_set(d, s, &list) == n && (with == BERTH_NONE || list[0] == with)) return s;
  return BERTH_NONE;
}

static int32_t whole_set(const berth_deploy *d) { return set_of_size(d, d->n_devices, BERTH_NONE); }

/* ---- the list ---- */

static berth_status value_of(berth_deploy_list *l, const int32_t *action, berth_deploy_sfb rule,
                             berth_deploy_value *out) {
  berth_status st = berth_deploy_repeat(l->d, action, rule, l->duplicate);
  return st == BERTH_OK ? berth_deploy_evaluate(l->d, action, l->duplicate, NULL, out) : st;
}

/* What cannot reach its tensors is left out. */
static berth_status add(berth_deploy_list *l, const char *name, const int32_t *action,
                        berth_deploy_sfb rule) {
  berth_deploy_value value;
  berth_status st = value_of(l, action, rule, &value);
  l->passed_over |= st == BERTH_EUNREACHABLE;
  if (st == BERTH_EUNREACHABLE
      || (st == BERTH_OK && rule != BERTH_DEPLOY_SFB_NONE && value.repeated == 0))
    return BERTH_OK;
  return st == BERTH_OK ? baselines_append(l, name, action, rule, &value) : st;
}

static void fill(const berth_deploy *d, int32_t a, int32_t *action) {
  for (int32_t g = 0; g < d->n_groups; g++) action[g] = berth_i_deploy_instead(d, g, a);
}

static berth_status add_uniform(berth_deploy_list *l, int32_t a, int32_t *action) {
  fill(l->d, a, action);
  char name[32];
  snprintf(name, sizeof name, "uniform-%d", (int)a + 1);
  berth_status st;
  if ((st = add(l, name, action, BERTH_DEPLOY_SFB_NONE)) != BERTH_OK) return st;
  snprintf(name, sizeof name, "uniform-%d-sfb", (int)a + 1);
  return l->d->action[a].option == BERTH_DEPLOY_ALLREDUCE
             ? add(l, name, action, BERTH_DEPLOY_SFB_LOCAL)
             : BERTH_OK;
}

/* ---- on all devices ---- */

static const struct {
  const char *name;
  berth_deploy_option option;
  berth_deploy_shares shares;
} on_all[] = { { "dp", BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_EVEN },
               { "dp-speed", BERTH_DEPLOY_ALLREDUCE, BERTH_SHARES_SPEED },
               { "dp-ps", BERTH_DEPLOY_PS, BERTH_SHARES_EVEN },
               { "dp-ps-speed", BERTH_DEPLOY_PS, BERTH_SHARES_SPEED },
               { "model-parallel", BERTH_DEPLOY_SPLIT, BERTH_SHARES_EVEN } };
enum { ON_ALL = sizeof on_all / sizeof *on_all, OF_HETEROG = 4 };

/* One op cannot be dealt out: such a group goes to one device of the set, in turn. */
static int32_t in_turn(const berth_deploy *d, int32_t set, int32_t group) {
  const int32_t *list;
  int32_t n = berth_deploy_set(d, set, &list), device = list[group % n];
  for (int32_t a = 0; a < d->n_actions; a++) {
    int32_t place = berth_i_action_place(d, a);
    if (berth_i_place_size(d, place) != 1 || berth_i_place_devices(d, place)[0] != device) continue;
    if (berth_i_is_legal(d, group, a)) return a;
  }
  return BERTH_NONE;
}

/* @return false: some op group has no such action */
static bool fill_on_all(const berth_deploy *d, int32_t set, berth_deploy_option option,
                        berth_deploy_shares shares, int32_t *action) {
  for (int32_t g = 0; g < d->n_groups; g++) {
    int32_t a = find_action(d, g, set, option, shares);
    if (a == BERTH_NONE && option == BERTH_DEPLOY_SPLIT) a = in_turn(d, set, g);
    if (a == BERTH_NONE) return false;
    action[g] = a;
  }
  return true;
}

static berth_status add_on_all(berth_deploy_list *l, int32_t *action) {
  int32_t set = whole_set(l->d);
  berth_status st = BERTH_OK;
  for (size_t k = 0; set != BERTH_NONE && k < ON_ALL && st == BERTH_OK; k++) {
    if (!fill_on_all(l->d, set, on_all[k].option, on_all[k].shares, action)) continue;
    st = add(l, on_all[k].name, action, BERTH_DEPLOY_SFB_NONE);
  }
  return st;
}

/* Devices of one group are alike. */
static bool leads_group(const berth_deploy *d, int32_t device) {
  for (int32_t k = 0; k < device; k++)
    if (d->device_group[k] == d->device_group[device]) return false;
  return true;
}

static int32_t single_action(const berth_deploy *d, int32_t device) {
  int32_t set = set_of_size(d, 1, device);
  if (set == BERTH_NONE) return BERTH_NONE;
  int32_t a = find_action(d, 0, set, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN);
  return a != BERTH_NONE && legal_for_all(d, a) ? a : BERTH_NONE;
}

static berth_status add_single(berth_deploy_list *l, int32_t *action) {
  berth_deploy_value value, best = { 0, 0, 0, BERTH_NONE, 0, 0, 0 };
  int32_t a, found = BERTH_NONE;
  for (int32_t k = 0; k < l->d->n_devices; k++) {
    if (!leads_group(l->d, k) || (a = single_action(l->d, k)) == BERTH_NONE) continue;
    fill(l->d, a, action);
    berth_status st = value_of(l, action, BERTH_DEPLOY_SFB_NONE, &value);
    l->passed_over |= st == BERTH_EUNREACHABLE;
    if (st == BERTH_EUNREACHABLE) continue;
    if (st != BERTH_OK) return st;
    if (found != BERTH_NONE && !berth_i_value_better(&value, &best)) continue;
    best = value;
    found = a;
  }
  if (found == BERTH_NONE) return BERTH_OK;
  fill(l->d, found, action);
  return baselines_append(l, "single", action, BERTH_DEPLOY_SFB_NONE, &best);
}

/* ---- HeteroG's choices ---- */

static bool is_heterog(const berth_deploy *d, int32_t a) {
  int32_t place = berth_i_action_place(d, a), n = berth_i_place_size(d, place);
  berth_deploy_option o = d->action[a].option;
  return (o == BERTH_DEPLOY_PS || o == BERTH_DEPLOY_ALLREDUCE) && (n == 1 || n == d->n_devices);
}

static int32_t best_choice(const berth_deploy *d, int32_t now, const double *seconds) {
  int32_t best = BERTH_NONE;
  for (int32_t a = 0; a < d->n_actions; a++) {
    if (a == now || isinf(seconds[a]) || !is_heterog(d, a)) continue;
    if (best == BERTH_NONE || seconds[a] < seconds[best]) best = a;
  }
  return best;
}

static berth_status improve(berth_deploy *d, int32_t *action) {
  double *seconds = berth_i_alloc(d->ctx, (size_t)d->n_actions, sizeof *seconds);
  if (!seconds) return berth_i_nomem(d->ctx);
  berth_deploy_value best;
  berth_status st = berth_deploy_evaluate(d, action, NULL, NULL, &best);
  berth_deploy_value value;
  for (int32_t g = 0; g < d->n_groups && st == BERTH_OK; g++) {
    int32_t before = action[g];
    if ((st = berth_deploy_local(d, action, g, seconds)) != BERTH_OK) break;
    int32_t choice;
    if ((choice = best_choice(d, before, seconds)) == BERTH_NONE) continue;
    action[g] = choice;
    st = berth_deploy_evaluate(d, action, NULL, NULL, &value);
    if (st == BERTH_OK && berth_i_value_better(&value, &best)) best = value;
    else action[g] = before;
    if (st == BERTH_EUNREACHABLE) st = BERTH_OK;
  }
  berth_i_free(d->ctx, seconds, (size_t)d->n_actions, sizeof *seconds);
  return st;
}

static bool all_heterog(const berth_deploy *d, const int32_t *action) {
  for (int32_t g = 0; g < d->n_groups; g++)
    if (!is_heterog(d, action[g])) return false;
  return true;
}

static berth_status add_heterog(berth_deploy_list *l, int32_t *action) {
  /* The best of those that HeteroG could say with one choice for all. */
  const berth_i_named *start = NULL;
  for (size_t k = 0; k < l->n; k++) {
    const berth_i_named *x = &l->one[k];
    if (!all_heterog(l->d, x->action)) continue;
    if (!start || berth_i_value_better(&x->value, &start->value)) start = x;
  }
  if (!start) return BERTH_OK;
  memcpy(action, start->action, (size_t)l->d->n_groups * sizeof *action);
  berth_status st;
  if ((st = improve(l->d, action)) != BERTH_OK) return st;
  return add(l, "heterog", action, BERTH_DEPLOY_SFB_NONE);
}

static berth_status add_chain(berth_deploy_list *l, int32_t *action) {
  bool found = false;
  berth_status st = berth_i_chain(l->d, action, &found);
  return st == BERTH_OK && found ? add(l, "chain", action, BERTH_DEPLOY_SFB_NONE) : st;
}

/* ---- life ---- */

static berth_status add_all(berth_deploy_list *l, int32_t *action) {
  berth_status st;
  if ((st = add_on_all(l, action)) != BERTH_OK) return st;
  if ((st = add_single(l, action)) != BERTH_OK) return st;
  if ((st = add_heterog(l, action)) != BERTH_OK) return st;
  if ((st = add_chain(l, action)) != BERTH_OK) return st;
  /* Add all uniform. */
  st = BERTH_OK;
  for (int32_t a = 0; a < l->d->n_actions && st == BERTH_OK; a++)
    if (legal_for_all(l->d, a)) st = add_uniform(l, a, action);
  return st;
}

/* The text is that of the last one which could not be simulated. */
static berth_status none(berth_deploy *d) {
  char why[256];
  snprintf(why, sizeof why, "%s", berth_errmsg(d->ctx));
  return berth_i_fail(d->ctx, BERTH_EUNREACHABLE, "no baseline can be simulated: %s", why);
}

static berth_status make(berth_deploy *d, berth_deploy_list **out) {
  berth_deploy_list *l = berth_i_pool_object(d->ctx, sizeof *l);
  int32_t *action = berth_i_alloc(d->ctx, (size_t)d->n_groups, sizeof *action);
  berth_status st = BERTH_ENOMEM;
  if (l) {
    l->ctx = d->ctx;
    l->d = d;
    l->duplicate = berth_i_pool_alloc(&l->pool, (size_t)d->n_ops, 1);
  }
  if (l && action && l->duplicate) st = add_all(l, action);
  else berth_i_nomem(d->ctx);
  if (st == BERTH_OK && l->n == 0 && l->passed_over) st = none(d);
  berth_i_free(d->ctx, action, (size_t)d->n_groups, sizeof *action);
  if (st == BERTH_OK) *out = l;
  else if (l) berth_i_baselines_drop(l);
  return st;
}

berth_status berth_deploy_baselines(berth_deploy *d, berth_deploy_list **out) {
  berth_deploy_list *made = NULL;
  berth_status st = d->baselines ? BERTH_OK : make(d, &made);
  if (st != BERTH_OK) return st;
  if (!d->baselines) d->baselines = made;
  else if (made) berth_i_baselines_drop(made); /* a hook has made them meanwhile */
  berth_deploy_retain(d);
  *out = d->baselines;
  return BERTH_OK;
}

void berth_deploy_list_release(berth_deploy_list *l) {
  if (l) berth_deploy_release(l->d);
}
