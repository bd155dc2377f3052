/* Repeated ops that do not pay are taken off again. */
#include "values_internal.h"
#include "base/sort_internal.h"
#include "base/union_find_internal.h"
#include <string.h>

/* A layer: repeated ops that hang together by tensors. Its number is its lowest op. */
typedef struct layer {
  int32_t number;
  double bytes;    /* that its ops read, cut along the batch */
} layer;

static double bytes_read(const berth_deploy *d, int32_t op) {
  double sum = 0;
  for (int32_t k = d->g->in_at[op]; k < d->g->in_at[op + 1]; k++) {
    if (d->cut_tensor[d->g->in[k]]) sum += d->g->tensor_bytes[d->g->in[k]];
  }
  return sum;
}

BERTH_I_SORT(sort_by_bytes, layer, BERTH_I_DOWN(bytes) BERTH_I_UP(number))

/* slot [ops] scratch */
static int32_t list_layers(const berth_deploy *d, const uint8_t *duplicate, int32_t *up,
                           int32_t *slot, layer *list) {
  int32_t n = 0;
  for (int32_t i = 0; i < d->n_ops; i++) {
    int32_t root = berth_i_sets_root(up, i);
    if (!duplicate[i]) continue;
    if (root == i) {
      slot[i] = n;
      list[n++] = (layer){ i, 0 };
    }
    list[slot[root]].bytes += bytes_read(d, i);
  }
  sort_by_bytes(list, (size_t)n);
  return n;
}

typedef struct guard {
  berth_deploy *d;
  const int32_t *action;
  uint8_t *now, *trial;    /* [ops] */
  int32_t *up, *slot;      /* [ops] */
  layer *list;             /* [ops] */
  int32_t left;            /* evaluations */
  berth_deploy_value best;
} guard;

/* What is no better with the ops goes without them. */
static bool no_worse(const berth_deploy_value *a, const berth_deploy_value *b) {
  return !berth_i_value_better(b, a);
}

static berth_status try_without(guard *x, int32_t number) {
  size_t n = (size_t)x->d->n_ops;
  for (size_t i = 0; i < n; i++)
    x->trial[i] = x->now[i] && berth_i_sets_root(x->up, (int32_t)i) != number;
  berth_deploy_value value;
  berth_status st = berth_deploy_evaluate(x->d, x->action, x->trial, NULL, &value);
  x->left--;
  if (st != BERTH_OK || !no_worse(&value, &x->best))
    return st == BERTH_EUNREACHABLE ? BERTH_OK : st;
  x->best = value;
  memcpy(x->now, x->trial, n);
  return BERTH_OK;
}

static berth_status try_layers(guard *x) {
  berth_status st = BERTH_OK;
  /* Join layers. */
  const berth_graph *g = x->d->g;
  for (int32_t k = 0; k < x->d->n_ops; k++) x->up[k] = k;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t k = g->use_at[t]; k < g->use_at[t + 1] && x->now[g->producer[t]]; k++) {
      if (x->now[g->use[k]]) berth_i_sets_join(x->up, g->producer[t], g->use[k]);
    }
  }
  int32_t n = list_layers(x->d, x->now, x->up, x->slot, x->list);
  for (int32_t k = 0; k < n && x->left > 0 && st == BERTH_OK; k++)
    st = try_without(x, x->list[k].number);
  return st;
}

/* Layer by layer from all; then against none at all. */
static berth_status run(guard *x) {
  size_t n = (size_t)x->d->n_ops;
  berth_status st = berth_deploy_evaluate(x->d, x->action, x->now, NULL, &x->best);
  if (st != BERTH_OK || x->best.repeated == 0) return st;
  x->left -= 2;
  memset(x->trial, 0, n);
  berth_deploy_value none;
  st = berth_deploy_evaluate(x->d, x->action, x->trial, NULL, &none);
  bool any = st == BERTH_OK;
  if (any || st == BERTH_EUNREACHABLE) st = try_layers(x);
  if (st != BERTH_OK || !any || !no_worse(&none, &x->best)) return st;
  x->best = none;
  memset(x->now, 0, n);
  return BERTH_OK;
}

berth_status berth_deploy_guard(berth_deploy *d, const int32_t *action, uint8_t *duplicate,
                                int32_t most, berth_deploy_value *out) {
  size_t n = (size_t)d->n_ops;
  guard x = { d, action, NULL, NULL, NULL, NULL, NULL, most, { 0, 0, 0, BERTH_NONE, 0, 0, 0 } };
  berth_i_pool scratch = berth_i_pool_empty(d->ctx);
  if (most < 2)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "%d evaluations: it takes at least 2", (int)most);
  x.now = berth_i_pool_alloc(&scratch, n, 1);
  x.trial = berth_i_pool_alloc(&scratch, n, 1);
  x.up = berth_i_pool_alloc(&scratch, n, sizeof *x.up);
  x.slot = berth_i_pool_alloc(&scratch, n, sizeof *x.slot);
  x.list = berth_i_pool_alloc(&scratch, n, sizeof *x.list);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) {
    memcpy(x.now, duplicate, n);
    st = run(&x);
  }
  if (st == BERTH_OK) {
    memcpy(duplicate, x.now, n);
    *out = x.best;
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- a rule, or nothing ---- */

berth_status berth_deploy_evaluate_rule(berth_deploy *d, const int32_t *action,
                                        berth_deploy_sfb rule, uint8_t *duplicate, double *peak,
                                        berth_deploy_value *out) {
  const size_t n = (size_t)d->n_devices;
  double *more = NULL;
  berth_status st = berth_deploy_repeat(d, action, rule, duplicate);
  if (st != BERTH_OK || (st = berth_deploy_evaluate(d, action, NULL, peak, out)) != BERTH_OK)
    return st;
  if (!(memchr(duplicate, 1, (size_t)d->n_ops) != NULL)) return BERTH_OK;
  if (!(more = berth_i_alloc(d->ctx, n, sizeof *more))) return berth_i_nomem(d->ctx);
  berth_deploy_value with;
  st = berth_deploy_evaluate(d, action, duplicate, more, &with);
  if (st == BERTH_EUNREACHABLE || (st == BERTH_OK && berth_i_value_better(out, &with))) {
    memset(duplicate, 0, (size_t)d->n_ops);
    st = BERTH_OK;
    goto done;
  }
  if (st != BERTH_OK) goto done;
  *out = with;
  if (peak) memcpy(peak, more, n * sizeof *peak);
done:
  berth_i_free(d->ctx, more, n, sizeof *more);
  return st;
}
