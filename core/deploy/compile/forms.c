/* From a strategy to the form of every op: the place of its group's action, cut along the batch or
 * whole; distributed over single devices under SPLIT; whole where it is repeated. Inputs take the
 * form of their first reader. O(ops + edges). */
#include "deploy/analyse/grouping_internal.h"
#include "deploy/deploy_internal.h"

/* ---- SPLIT ---- */

berth_status berth_i_deploy_dealt(berth_deploy *d, int32_t group, int32_t n, const int32_t **part) {
  const berth_i_dealing o = {
    .parts = n, .number = group, .published = d->o.split_parameters != 0, .seed = d->o.seed
  };
  int32_t first = d->group_at[group], count = d->group_at[group + 1] - first;
  size_t slots = (size_t)d->n_groups * ((size_t)d->n_devices + 1);
  if (!d->part && !(d->part = berth_i_pool_zalloc(&d->pool, slots, sizeof *d->part)))
    return berth_i_pool_status(&d->pool);
  int32_t **slot = &d->part[(size_t)group * ((size_t)d->n_devices + 1) + (size_t)n];
  if (!*slot) {
    int32_t *made;
    if (!(made = berth_i_pool_alloc(&d->pool, (size_t)count, sizeof *made)))
      return berth_i_pool_status(&d->pool);
    berth_status st;
    if ((st = berth_i_deploy_split(d->g, count, d->group_op + first, d->mean_seconds, &o, made))
        != BERTH_OK)
      return st;
    *slot = made;
  }
  *part = *slot;
  return BERTH_OK;
}

/* ---- repeated ops ---- */

static bool reads_repeated(const berth_deploy *d, int32_t op, const uint8_t *repeated) {
  const berth_graph *g = d->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], u = g->producer[t];
    if (repeated[u] && !d->cut_tensor[t] && !berth_i_is_control(g, t)) return true;
  }
  return false;
}

/* ---- forms ---- */

static berth_status form_group(berth_deploy *d, int32_t group, const berth_action *a,
                               const uint8_t *repeated, berth_i_form *form) {
  int32_t place = d->set_place[a->set];
  bool cut = berth_i_place_size(d, place) > 1
             && (a->option == BERTH_DEPLOY_PS || a->option == BERTH_DEPLOY_ALLREDUCE);
  berth_i_cut how = d->uneven[place] ? berth_i_cut_by(a->shares) : BERTH_I_CUT_EVEN;
  if (a->option == BERTH_DEPLOY_SPLIT) {
    const int32_t *part, *device = berth_i_place_devices(d, place);
    int32_t first = d->group_at[group];
    berth_status st = berth_i_deploy_dealt(d, group, berth_i_place_size(d, place), &part);
    if (st != BERTH_OK) return st;
    for (int32_t i = first; i < d->group_at[group + 1]; i++)
      form[d->group_op[i]] = berth_i_form_of(d->n_sets + device[part[i - first]], BERTH_I_WHOLE);
    return BERTH_OK;
  }
  for (int32_t i = d->group_at[group]; i < d->group_at[group + 1]; i++) {
    int32_t op = d->group_op[i];
    form[op] = berth_i_form_of(place, cut && d->cut_op[op] && !repeated[op] ? how : BERTH_I_WHOLE);
  }
  return BERTH_OK;
}

static bool runs_all_over(const berth_deploy *d, int32_t op, int32_t place) {
  for (int32_t k = 0; k < berth_i_place_size(d, place); k++)
    if (!berth_i_can_run(d->cost, op, berth_i_place_devices(d, place)[k])) return false;
  return true;
}

static bool makes_uncut(const berth_deploy *d, int32_t op) {
  for (int32_t i = d->g->out_at[op]; i < d->g->out_at[op + 1]; i++)
    if (!d->cut_tensor[d->g->out[i]] && !berth_i_is_control(d->g, d->g->out[i])) return true;
  return false;
}

berth_status berth_i_deploy_forms(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                  berth_i_form *form, uint8_t *repeated) {
  berth_status st = berth_i_deploy_check_strategy(d, action);
  if (duplicate) {
    /* Inputs follow their readers. */
    for (int32_t i = 0; i < d->n_ops; i++) {
      int32_t v = d->g->topo[i];
      bool may = d->cut_op[v] && d->role[v] != BERTH_ROLE_INPUT;
      repeated[v] = may && (duplicate[v] || reads_repeated(d, v, repeated));
    }
  } else memset(repeated, 0, (size_t)d->n_ops);
  for (int32_t i = 0; i < d->n_groups && st == BERTH_OK; i++)
    st = form_group(d, i, &d->action[action[i]], repeated, form);
  for (int32_t i = 0; i < d->n_ops && st == BERTH_OK; i++) {
    if (d->role[i] == BERTH_ROLE_INPUT) {
      /* An input has the form of its first reader where it can run there. */
      int32_t reader = d->first_reader[i];
      berth_i_form f = reader != BERTH_NONE ? form[reader] : form[i];
      if (d->o.input_at_first || !runs_all_over(d, i, berth_i_form_place(f))) {
        int32_t device = 0; /* there is one: the cost has checked it */
        while (!berth_i_can_run(d->cost, i, device)) device++;
        f = berth_i_form_of(d->n_sets + device, BERTH_I_WHOLE);
      }
      if (!d->cut_op[i] || makes_uncut(d, i))
        f = berth_i_form_of(berth_i_form_place(f), BERTH_I_WHOLE);
      form[i] = f;
    }
  }
  return st;
}
