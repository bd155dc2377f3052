/* What the evaluator keeps with a problem: tensors that cross between op groups, added up by pair
 * and sorted; gradients that are reduced, by group; ops of each group in topological order; and
 * the spreads of actions. O(edges log edges). */
#include "values_internal.h"
#include "base/sort_internal.h"

/* ---- what crosses between op groups ---- */

/* By pair; then by size, so that sums are the same whatever the sort does with equal pairs. */
BERTH_I_SORT(sort_crossings, berth_i_crossing,
             BERTH_I_UP(from) BERTH_I_UP(to) BERTH_I_UP(cut) BERTH_I_UP(whole))

typedef struct gatherer {
  berth_i_pool pool;
  berth_i_crossing *list;
  size_t n, cap;
  int32_t *seen; /* [n_groups] the last tensor that a group was seen to read, and one more */
} gatherer;

/* Each tensor once for each group that reads it. */
static berth_status gather(berth_deploy *d, gatherer *x) {
  const berth_graph *g = d->g;
  for (int32_t t = 0; t < g->n_tensors; t++)
    for (int32_t k = g->use_at[t]; k < g->use_at[t + 1]; k++) {
      int32_t from = d->group[g->producer[t]], to = d->group[g->use[k]];
      double bytes = g->tensor_bytes[t];
      if (x->seen[to] == t + 1) continue;
      x->seen[to] = t + 1;
      if (from == to) {
        d->values->inner[from] += bytes;
        continue;
      }
      berth_status st = BERTH_I_POOL_GROW(&x->pool, x->list, x->cap, x->n + 1);
      if (st != BERTH_OK) return st;
      x->list[x->n++] = (berth_i_crossing){ from, to, d->cut_tensor[t] ? bytes : 0,
                                            d->cut_tensor[t] ? 0 : bytes };
    }
  return BERTH_OK;
}

/* Sorted: those of one pair become one. */
static int32_t merge(berth_i_crossing *list, size_t n) {
  int32_t last = -1;
  for (size_t i = 0; i < n; i++) {
    if (last >= 0 && list[last].from == list[i].from && list[last].to == list[i].to) {
      list[last].cut += list[i].cut;
      list[last].whole += list[i].whole;
    } else {
      list[++last] = list[i];
    }
  }
  return last + 1;
}

static berth_status keep_crossings(berth_deploy *d, const gatherer *x) {
  berth_i_values *v = d->values;
  size_t n = (size_t)(v->n_crossings = x->n > 0 ? merge(x->list, x->n) : 0);
  v->crossing = berth_i_pool_alloc(&v->pool, n, sizeof *v->crossing);
  v->from = berth_i_pool_alloc(&v->pool, n, sizeof *v->from);
  v->to = berth_i_pool_alloc(&v->pool, n, sizeof *v->to);
  v->in = berth_i_pool_alloc(&v->pool, n, sizeof *v->in);
  v->out_at = berth_i_pool_zalloc(&v->pool, (size_t)d->n_groups + 1, sizeof *v->out_at);
  v->in_at = berth_i_pool_zalloc(&v->pool, (size_t)d->n_groups + 1, sizeof *v->in_at);
  if (berth_i_pool_status(&v->pool) != BERTH_OK) return BERTH_ENOMEM;
  for (size_t i = 0; i < n; i++) {
    v->crossing[i] = x->list[i];
    v->from[i] = x->list[i].from;
    v->to[i] = x->list[i].to;
  }
  return BERTH_OK;
}

static berth_status make_crossings(berth_deploy *d) {
  gatherer x = { berth_i_pool_empty(d->ctx), NULL, 0, 0, NULL };
  x.seen = berth_i_pool_zalloc(&x.pool, (size_t)d->n_groups, sizeof *x.seen);
  berth_status st;
  if ((st = berth_i_pool_status(&x.pool)) != BERTH_OK) goto done;
  if ((st = gather(d, &x)) != BERTH_OK) goto done;
  sort_crossings(x.list, x.n);
  if ((st = keep_crossings(d, &x)) != BERTH_OK) goto done;
  /* Crossings by the group that they leave, and by the one that they enter. */
  berth_i_values *v = d->values;
  for (int32_t i = 0; i < v->n_crossings; i++) {
    v->out_at[v->from[i] + 1]++;
    v->in_at[v->to[i] + 1]++;
  }
  for (int32_t g = 0; g < d->n_groups; g++) {
    v->out_at[g + 1] += v->out_at[g];
    v->in_at[g + 1] += v->in_at[g];
  }
  for (int32_t i = 0; i < v->n_crossings; i++) v->in[v->in_at[v->to[i]]++] = i;
  for (int32_t g = d->n_groups; g > 0; g--) v->in_at[g] = v->in_at[g - 1];
  v->in_at[0] = 0;
done:
  berth_i_pool_free(&x.pool);
  return st;
}

/* ---- ops and gradients ---- */

static berth_status make_orders(berth_deploy *d) {
  berth_i_values *v = d->values;
  int32_t *next = berth_i_alloc(d->ctx, (size_t)d->n_groups, sizeof *next);
  v->in_order = berth_i_pool_alloc(&v->pool, (size_t)d->n_ops, sizeof *v->in_order);
  v->index = berth_i_pool_alloc(&v->pool, (size_t)d->n_ops, sizeof *v->index);
  if (next && v->index) {
    for (int32_t g = 0; g < d->n_groups; g++) next[g] = d->group_at[g];
    for (int32_t i = 0; i < d->n_ops; i++)
      v->in_order[next[d->group[d->g->topo[i]]]++] = d->g->topo[i];
    for (int32_t i = 0; i < d->n_ops; i++) {
      int32_t op = d->group_op[i];
      v->index[op] = i - d->group_at[d->group[op]];
      v->params[d->group[op]] += berth_i_param(d->g, op);
    }
  }
  berth_i_free(d->ctx, next, (size_t)d->n_groups, sizeof *next);
  return next ? berth_i_pool_status(&v->pool) : berth_i_nomem(d->ctx);
}

static bool is_for_update(const berth_deploy *d, int32_t t) {
  const berth_graph *g = d->g;
  for (int32_t k = g->use_at[t]; k < g->use_at[t + 1]; k++)
    if (d->update_number[g->use[k]] != BERTH_NONE) return true;
  return false;
}

static berth_status make_gradients(berth_deploy *d) {
  berth_i_values *v = d->values;
  size_t n = (size_t)d->g->n_tensors;
  v->reduced = berth_i_pool_alloc(&v->pool, n, sizeof *v->reduced);
  v->gradient = berth_i_pool_alloc(&v->pool, n, sizeof *v->gradient);
  v->gradient_at = berth_i_pool_zalloc(&v->pool, (size_t)d->n_groups + 1, sizeof *v->gradient_at);
  if (berth_i_pool_status(&v->pool) != BERTH_OK) return BERTH_ENOMEM;
  for (int32_t t = 0; t < d->g->n_tensors; t++) {
    int32_t op = d->g->producer[t];
    bool updates = is_for_update(d, t);
    v->reduced[t] = updates && !d->cut_tensor[t] && d->cut_op[op];
    if (v->reduced[t]) v->gradient_at[d->group[op] + 1]++;
    else if (updates && d->cut_tensor[t]) v->rows[d->group[op]] += d->g->tensor_bytes[t];
  }
  for (int32_t g = 0; g < d->n_groups; g++) v->gradient_at[g + 1] += v->gradient_at[g];
  for (int32_t t = 0; t < d->g->n_tensors; t++)
    if (v->reduced[t]) v->gradient[v->gradient_at[d->group[d->g->producer[t]]]++] = t;
  for (int32_t g = d->n_groups; g > 0; g--) v->gradient_at[g] = v->gradient_at[g - 1];
  v->gradient_at[0] = 0;
  return BERTH_OK;
}

/* ---- spreads ---- */

static berth_i_spread spread_of(const berth_deploy *d, int32_t action) {
  const berth_action *a = &d->action[action];
  berth_i_spread s = { berth_i_action_place(d, action), BERTH_I_BY_EVEN };
  if (berth_i_place_size(d, s.place) == 1) return s;
  if (a->option == BERTH_DEPLOY_SPLIT) s.manner = BERTH_I_BY_SPLIT;
  else if (a->option == BERTH_DEPLOY_DUPLICATE) s.manner = BERTH_I_BY_WHOLE;
  else if (a->shares == BERTH_SHARES_SPEED) s.manner = BERTH_I_BY_SPEED;
  return s;
}

/* Actions are grouped by set: only the last ones are compared. */
static int32_t find_spread(const berth_i_values *v, berth_i_spread s) {
  for (int32_t k = v->n_spreads - 1; k >= 0 && v->spread[k].place == s.place; k--)
    if (v->spread[k].manner == s.manner) return k;
  return v->n_spreads;
}

static berth_status make_spreads(berth_deploy *d) {
  berth_i_values *v = d->values;
  size_t n = (size_t)d->n_actions;
  v->spread = berth_i_pool_alloc(&v->pool, n, sizeof *v->spread);
  v->spread_of = berth_i_pool_alloc(&v->pool, n, sizeof *v->spread_of);
  if (berth_i_pool_status(&v->pool) != BERTH_OK) return BERTH_ENOMEM;
  for (int32_t a = 0; a < d->n_actions; a++) {
    berth_i_spread s = spread_of(d, a);
    int32_t k = v->spread_of[a] = find_spread(v, s);
    v->spread[k] = s;
    v->n_spreads += k == v->n_spreads;
  }
  return BERTH_OK;
}

/* ---- life ---- */

static berth_status fill(berth_deploy *d) {
  berth_i_values *v = d->values;
  v->inner = berth_i_pool_zalloc(&v->pool, (size_t)d->n_groups, sizeof *v->inner);
  v->params = berth_i_pool_zalloc(&v->pool, (size_t)d->n_groups, sizeof *v->params);
  v->rows = berth_i_pool_zalloc(&v->pool, (size_t)d->n_groups, sizeof *v->rows);
  v->load = berth_i_pool_zalloc(&v->pool, (size_t)d->t->n_links, sizeof *v->load);
  v->touched = berth_i_pool_alloc(&v->pool, (size_t)d->t->n_links, sizeof *v->touched);
  berth_status st;
  if ((st = berth_i_pool_status(&v->pool)) != BERTH_OK || (st = make_crossings(d)) != BERTH_OK
      || (st = make_orders(d)) != BERTH_OK || (st = make_gradients(d)) != BERTH_OK
      || (st = make_spreads(d)) != BERTH_OK)
    return st;
  size_t s = (size_t)v->n_spreads, g = (size_t)d->n_groups, a = (size_t)d->n_actions;
  v->seconds = berth_i_pool_alloc(&v->pool, g * s, sizeof *v->seconds);
  v->sync = berth_i_pool_alloc(&v->pool, g * a, sizeof *v->sync);
  v->sfb = berth_i_pool_zalloc(&v->pool, g * a, sizeof *v->sfb);
  if ((st = berth_i_pool_status(&v->pool)) != BERTH_OK) return st;
  for (size_t i = 0; i < g * s; i++) v->seconds[i] = NAN;
  for (size_t i = 0; i < g * a; i++) v->sync[i] = NAN;
  return berth_i_emission_new(d, &v->emission);
}

berth_status berth_i_values_of(berth_deploy *d, berth_i_values **out) {
  berth_status st = BERTH_OK;
  if (!d->values) {
    if (!(d->values = berth_i_pool_object(d->ctx, sizeof *d->values))) return berth_i_nomem(d->ctx);
    if ((st = fill(d)) != BERTH_OK) berth_i_values_release(d);
  }
  *out = d->values;
  return st;
}

void berth_i_values_release(berth_deploy *d) {
  berth_i_values *v = d->values;
  if (!v) return;
  berth_i_emission_release(d, v->emission);
  berth_i_pool_free(&v->pool);
  d->values = NULL;
}
