/* Strategies that others would take, to begin with and to compare with: one choice for all op
 * groups, the best single device, HeteroG's local choices, the chain cut by memory. They are
 * evaluated once for a problem and kept. */
#include "deploy/values_internal.h"
#include <stdio.h>

typedef struct named {
  char name[32];
  berth_deploy_sfb rule;
  int32_t *action; /* [n_groups] */
  berth_deploy_value value;
} named;

/* Made once for a problem, which keeps it and its pool; each that was given out holds the
 * problem. */
struct berth_deploy_list {
  berth_i_pool *pool; /* while it is made */
  berth_deploy *d;
  named *one;
  size_t n, cap;
  uint8_t *duplicate; /* [n_ops] scratch */
  berth_status st;    /* after a failure nothing more is added */
  bool passed_over;   /* something that cannot be simulated */
};

/* ---- reading ---- */

int32_t berth_deploy_list_size(const berth_deploy_list *l) { return (int32_t)l->n; }

static const named *at(const berth_deploy_list *l, int32_t k) {
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

/* ---- adding ---- */

static void append(berth_deploy_list *l, const char *name, const int32_t *action,
                   berth_deploy_sfb rule, const berth_deploy_value *value) {
  l->st = BERTH_I_POOL_GROW(l->pool, l->one, l->cap, l->n + 1);
  if (l->st != BERTH_OK) return;
  named *one = &l->one[l->n];
  one->action = berth_i_pool_copy(l->pool, action, (size_t)l->d->n_groups, sizeof *one->action);
  if ((l->st = berth_i_pool_status(l->pool)) != BERTH_OK) return;
  l->n++;
  snprintf(one->name, sizeof one->name, "%s", name);
  one->rule = rule;
  one->value = *value;
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

static berth_status value_of(berth_deploy_list *l, const int32_t *action, berth_deploy_sfb rule,
                             berth_deploy_value *out) {
  berth_status st = berth_deploy_repeat(l->d, action, rule, l->duplicate);
  return st == BERTH_OK ? berth_deploy_evaluate(l->d, action, l->duplicate, NULL, out) : st;
}

/* What cannot reach its tensors is left out. */
static void add(berth_deploy_list *l, const char *name, const int32_t *action,
                berth_deploy_sfb rule) {
  berth_deploy_value value;
  if (l->st != BERTH_OK) return;
  berth_status st = value_of(l, action, rule, &value);
  if (st == BERTH_EUNREACHABLE) l->passed_over = true;
  else if (st != BERTH_OK) l->st = st;
  else if (rule == BERTH_DEPLOY_SFB_NONE || value.repeated > 0)
    append(l, name, action, rule, &value);
}

static void fill(const berth_deploy *d, int32_t a, int32_t *action) {
  for (int32_t g = 0; g < d->n_groups; g++) action[g] = berth_i_deploy_instead(d, g, a);
}

static void add_uniform(berth_deploy_list *l, int32_t a, int32_t *action) {
  fill(l->d, a, action);
  char name[32];
  snprintf(name, sizeof name, "uniform-%d", (int)a + 1);
  add(l, name, action, BERTH_DEPLOY_SFB_NONE);
  if (l->d->action[a].option != BERTH_DEPLOY_ALLREDUCE) return;
  snprintf(name, sizeof name, "uniform-%d-sfb", (int)a + 1);
  add(l, name, action, BERTH_DEPLOY_SFB_LOCAL);
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

/* One op cannot be distributed: such a group goes to one device of the set, in turn. */
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

static void add_on_all(berth_deploy_list *l, int32_t *action) {
  const berth_deploy *d = l->d;
  int32_t set = set_of_size(d, d->n_devices, BERTH_NONE);
  for (size_t k = 0; set != BERTH_NONE && k < sizeof on_all / sizeof *on_all; k++) {
    int32_t g;
    for (g = 0; g < d->n_groups; g++) {
      int32_t a = find_action(d, g, set, on_all[k].option, on_all[k].shares);
      if (a == BERTH_NONE && on_all[k].option == BERTH_DEPLOY_SPLIT) a = in_turn(d, set, g);
      if (a == BERTH_NONE) break;
      action[g] = a;
    }
    if (g == d->n_groups) add(l, on_all[k].name, action, BERTH_DEPLOY_SFB_NONE);
  }
}

/* The best single device; of a device group the first, as they are alike. */
static void add_single(berth_deploy_list *l, int32_t *action) {
  const berth_deploy *d = l->d;
  berth_deploy_value value, best = { 0, 0, 0, BERTH_NONE, 0, 0, 0 };
  int32_t found = BERTH_NONE;
  for (int32_t k = 0; k < d->n_devices && l->st == BERTH_OK; k++) {
    int32_t first = 0;
    while (d->device_group[first] != d->device_group[k]) first++;
    int32_t set = set_of_size(d, 1, k);
    if (first < k || set == BERTH_NONE) continue;
    int32_t a = find_action(d, 0, set, BERTH_DEPLOY_PS, BERTH_SHARES_EVEN);
    if (a == BERTH_NONE || !legal_for_all(d, a)) continue;
    fill(d, a, action);
    berth_status st = value_of(l, action, BERTH_DEPLOY_SFB_NONE, &value);
    if (st == BERTH_EUNREACHABLE) l->passed_over = true;
    else if (st != BERTH_OK) l->st = st;
    else if (found == BERTH_NONE || berth_i_value_better(&value, &best)) best = value, found = a;
  }
  if (found == BERTH_NONE || l->st != BERTH_OK) return;
  fill(d, found, action);
  append(l, "single", action, BERTH_DEPLOY_SFB_NONE, &best);
}

/* ---- HeteroG's choices ---- */

static bool is_heterog(const berth_deploy *d, int32_t a) {
  int32_t place = berth_i_action_place(d, a), n = berth_i_place_size(d, place);
  berth_deploy_option o = d->action[a].option;
  return (o == BERTH_DEPLOY_PS || o == BERTH_DEPLOY_ALLREDUCE) && (n == 1 || n == d->n_devices);
}

/* Op group by op group, the heaviest first: the other choice that is locally best, kept if the
 * simulated value improves. */
static berth_status improve(berth_deploy *d, int32_t *action) {
  double *seconds = berth_i_alloc(d->ctx, (size_t)d->n_actions, sizeof *seconds);
  if (!seconds) return berth_i_nomem(d->ctx);
  berth_deploy_value best, value;
  berth_status st = berth_deploy_evaluate(d, action, NULL, NULL, &best);
  for (int32_t g = 0; g < d->n_groups && st == BERTH_OK; g++) {
    int32_t before = action[g], choice = BERTH_NONE;
    if ((st = berth_deploy_local(d, action, g, seconds)) != BERTH_OK) break;
    for (int32_t a = 0; a < d->n_actions; a++) {
      if (a == before || isinf(seconds[a]) || !is_heterog(d, a)) continue;
      if (choice == BERTH_NONE || seconds[a] < seconds[choice]) choice = a;
    }
    if (choice == BERTH_NONE) continue;
    action[g] = choice;
    st = berth_deploy_evaluate(d, action, NULL, NULL, &value);
    if (st == BERTH_OK && berth_i_value_better(&value, &best)) best = value;
    else action[g] = before;
    if (st == BERTH_EUNREACHABLE) st = BERTH_OK;
  }
  berth_i_free(d->ctx, seconds, (size_t)d->n_actions, sizeof *seconds);
  return st;
}

/* From the best of those that HeteroG could have with one choice for all. */
static void add_heterog(berth_deploy_list *l, int32_t *action) {
  const named *start = NULL;
  for (size_t k = 0; k < l->n; k++) {
    const named *x = &l->one[k];
    int32_t g = 0;
    while (g < l->d->n_groups && is_heterog(l->d, x->action[g])) g++;
    if (g < l->d->n_groups) continue;
    if (!start || berth_i_value_better(&x->value, &start->value)) start = x;
  }
  if (!start || l->st != BERTH_OK) return;
  memcpy(action, start->action, (size_t)l->d->n_groups * sizeof *action);
  l->st = improve(l->d, action);
  add(l, "heterog", action, BERTH_DEPLOY_SFB_NONE);
}

static berth_status add_all(berth_deploy_list *l, int32_t *action) {
  bool found = false;
  add_on_all(l, action);
  add_single(l, action);
  add_heterog(l, action);
  if (l->st == BERTH_OK) l->st = berth_i_chain(l->d, action, &found);
  if (found) add(l, "chain", action, BERTH_DEPLOY_SFB_NONE);
  for (int32_t a = 0; a < l->d->n_actions && l->st == BERTH_OK; a++)
    if (legal_for_all(l->d, a)) add_uniform(l, a, action);
  return l->st;
}

/* ---- life ---- */

berth_status berth_deploy_baselines(berth_deploy *d, berth_deploy_list **out) {
  if (!d || !out) return BERTH_EINVAL;
  berth_i_pool pool = berth_i_pool_empty(d->ctx);
  if (!d->baselines) {
    berth_deploy_list *l = berth_i_pool_zalloc(&pool, 1, sizeof *l);
    int32_t *action = berth_i_pool_alloc(&pool, (size_t)d->n_groups, sizeof *action);
    uint8_t *duplicate = berth_i_pool_alloc(&pool, (size_t)d->n_ops, 1);
    berth_status st = berth_i_pool_status(&pool);
    if (st == BERTH_OK) {
      *l = (berth_deploy_list){ .pool = &pool, .d = d, .duplicate = duplicate };
      st = add_all(l, action);
    }
    if (st == BERTH_OK && l->n == 0 && l->passed_over) {
      char why[256]; /* of the last one that could not be simulated */
      snprintf(why, sizeof why, "%s", berth_errmsg(d->ctx));
      st = berth_i_fail(d->ctx, BERTH_EUNREACHABLE, "no baseline can be simulated: %s", why);
    }
    if (st != BERTH_OK || d->baselines) { /* a hook may have made them meanwhile */
      berth_i_pool_free(&pool);
      if (st != BERTH_OK) return st;
    } else {
      d->baselines = l;
      d->baseline_pool = pool;
    }
  }
  berth_deploy_retain(d);
  *out = d->baselines;
  return BERTH_OK;
}

void berth_deploy_list_release(berth_deploy_list *l) {
  if (l) berth_deploy_release(l->d);
}
