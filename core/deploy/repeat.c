/* Ops that every replica repeats, so that their gradients need no AllReduce (sufficient factor
 * broadcasting): by a rule for each gradient, what the AllReduce saves against more work and a
 * gather; or by a minimum cut over all of them (sfb.c). The guard takes layers of repeated ops off
 * again as long as the simulated step gets no slower. */
#include "base/sort_internal.h"
#include "base/union_find_internal.h"
#include "values_internal.h"
#include <berth/deploy.h>
#include <string.h>

/* ---- repeated ops that do not pay are taken off again ---- */

/* A layer: repeated ops that are connected by tensors. Its number is its lowest op. */
typedef struct layer {
  int32_t number;
  double bytes;    /* that its ops read, cut along the batch */
} layer;

BERTH_I_SORT(sort_by_bytes, layer, BERTH_I_DOWN(bytes) BERTH_I_UP(number))

/* The layers of the repeated ops, the one that reads most first. @param up [ops] out: union-find
 * @param slot [ops] scratch @return their number */
static int32_t list_layers(const berth_deploy *d, const uint8_t *duplicate, int32_t *up,
                           int32_t *slot, layer *list) {
  const berth_graph *g = d->g;
  int32_t n = 0;
  for (int32_t k = 0; k < d->n_ops; k++) up[k] = k;
  for (int32_t t = 0; t < g->n_tensors; t++)
    for (int32_t k = g->use_at[t]; k < g->use_at[t + 1] && duplicate[g->producer[t]]; k++)
      if (duplicate[g->use[k]]) berth_i_sets_join(up, g->producer[t], g->use[k]);
  for (int32_t i = 0; i < d->n_ops; i++) {
    int32_t root = berth_i_sets_root(up, i);
    if (!duplicate[i]) continue;
    if (root == i) {
      slot[i] = n;
      list[n++] = (layer){ i, 0 };
    }
    for (int32_t k = g->in_at[i]; k < g->in_at[i + 1]; k++)
      if (d->cut_tensor[g->in[k]]) list[slot[root]].bytes += g->tensor_bytes[g->in[k]];
  }
  sort_by_bytes(list, (size_t)n);
  return n;
}

berth_status berth_deploy_guard(berth_deploy *d, const int32_t *action, uint8_t *duplicate,
                                int32_t most, berth_deploy_value *out) {
  if (!d) return BERTH_EINVAL;
  size_t n = (size_t)d->n_ops;
  berth_i_pool pool = berth_i_pool_empty(d->ctx);
  if (most < 2)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "%d evaluations: it takes at least 2", (int)most);
  uint8_t *now = berth_i_pool_alloc(&pool, n, 1), *trial = berth_i_pool_zalloc(&pool, n, 1);
  int32_t *up = berth_i_pool_alloc(&pool, n, sizeof *up),
          *slot = berth_i_pool_alloc(&pool, n, sizeof *slot);
  layer *list = berth_i_pool_alloc(&pool, n, sizeof *list);
  berth_deploy_value best, none, value;
  berth_status st = berth_i_pool_status(&pool);
  if (st != BERTH_OK) goto done;
  memcpy(now, duplicate, n);
  /* 1. All of them, and none at all. */
  if ((st = berth_deploy_evaluate(d, action, now, NULL, &best)) != BERTH_OK) goto done;
  if (best.repeated > 0) {
    st = berth_deploy_evaluate(d, action, trial, NULL, &none);
    bool any = st == BERTH_OK;
    if (!any && st != BERTH_EUNREACHABLE) goto done;
    /* 2. Without one layer after another, kept if that is no worse. */
    int32_t layers = list_layers(d, now, up, slot, list);
    for (int32_t k = 0, left = most - 2; k < layers && left > 0; k++, left--) {
      for (size_t i = 0; i < n; i++)
        trial[i] = now[i] && berth_i_sets_root(up, (int32_t)i) != list[k].number;
      st = berth_deploy_evaluate(d, action, trial, NULL, &value);
      if (st != BERTH_OK && st != BERTH_EUNREACHABLE) goto done;
      if (st != BERTH_OK || berth_i_value_better(&best, &value)) continue;
      best = value;
      memcpy(now, trial, n);
    }
    /* 3. None, if what is left is no better. */
    if (any && !berth_i_value_better(&best, &none)) {
      best = none;
      memset(now, 0, n);
    }
  }
  st = BERTH_OK;
  memcpy(duplicate, now, n);
  *out = best;
done:
  berth_i_pool_free(&pool);
  return st;
}

/* ---- a rule, or nothing ---- */

berth_status berth_deploy_evaluate_rule(berth_deploy *d, const int32_t *action,
                                        berth_deploy_sfb rule, uint8_t *duplicate, double *peak,
                                        berth_deploy_value *out) {
  if (!d) return BERTH_EINVAL;
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

/* ---- gradient by gradient ---- */

/* A reader of a tensor that is not cut would have to be repeated, too. */
static bool drags_others(const berth_deploy *d, int32_t op) {
  const berth_graph *g = d->g;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t k = g->use_at[t]; k < g->use_at[t + 1] && !d->cut_tensor[t]; k++) {
      int32_t to = g->use[k];
      if (d->update_number[to] == BERTH_NONE && d->cut_op[to]) return true;
    }
  }
  return false;
}

static bool may_repeat(const berth_deploy *d, int32_t op) {
  return d->cut_op[op] && d->role[op] == BERTH_ROLE_COMPUTE && !drags_others(d, op);
}

/* Time that the slowest replica takes longer. */
static double more_work(const berth_deploy *d, int32_t op, berth_i_form f) {
  int32_t place = berth_i_form_place(f), n = berth_i_place_size(d, place);
  double most = 0;
  for (int32_t k = 0; k < n; k++) {
    int32_t device = berth_i_place_devices(d, place)[k];
    double more = berth_i_deploy_seconds(d, op, device, d->batch)
                  - berth_i_deploy_seconds(d, op, device, berth_i_form_samples(d, f, k));
    most = more > most ? more : most;
  }
  return most;
}

typedef struct choice {
  const berth_deploy *d;
  const berth_i_values *v;
  int32_t group, place;
  berth_i_form form;
  double bytes;            /* still reduced by AllReduce */
  berth_i_local_sfb *sfb;
} choice;

/* Some op of the group that is repeated already reads it. */
static bool is_gathered(const choice *r, int32_t tensor) {
  const berth_graph *g = r->d->g;
  for (int32_t k = g->use_at[tensor]; k < g->use_at[tensor + 1]; k++) {
    int32_t to = g->use[k];
    if (r->d->group[to] == r->group && r->sfb->flag[r->v->index[to]]) return true;
  }
  return false;
}

static void try_op(choice *r, int32_t op) {
  const berth_deploy *d = r->d;
  const berth_graph *g = d->g;
  double bytes = 0, gather = 0;
  /* 1. What it makes that is reduced, and what that takes: alone, or of the group's AllReduce. */
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++)
    if (r->v->reduced[g->out[i]]) bytes += berth_i_gradient_bytes(d, g->out[i], r->place);
  if (bytes == 0 || !may_repeat(d, op)) return;
  double all = d->o.bucket == BERTH_BUCKET_GROUP ? r->bytes : bytes;
  double saved = berth_i_allreduce_seconds(d, r->place, all)
                 - berth_i_allreduce_seconds(d, r->place, all - bytes);
  /* 2. What it reads that is not gathered yet. */
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++)
    if (d->cut_tensor[g->in[i]] && !is_gathered(r, g->in[i]))
      gather += berth_i_gather_seconds(d, r->place, g->tensor_bytes[g->in[i]]);
  double gain = saved - more_work(d, op, r->form) - gather;
  if (!(gain > 0)) return;
  r->sfb->flag[r->v->index[op]] = 1;
  r->sfb->saved += gain;
  r->bytes -= bytes;
}

const berth_i_local_sfb *berth_i_local_sfb_of(berth_deploy *d, berth_i_values *v, int32_t group,
                                              int32_t action) {
  berth_i_local_sfb **kept = &v->sfb[(size_t)group * (size_t)d->n_actions + (size_t)action];
  size_t size = sizeof **kept + (size_t)berth_i_group_size(d, group);
  choice r = { d, v, group, berth_i_action_place(d, action), 0, 0, NULL };
  if (*kept) return *kept;
  if (!(*kept = berth_i_pool_zalloc(&v->pool, 1, size))) {
    berth_i_pool_status(&v->pool);
    return NULL;
  }
  r.sfb = *kept;
  r.form = berth_i_form_of(r.place, berth_i_cut_by(d->action[action].shares));
  for (int32_t i = v->gradient_at[group]; i < v->gradient_at[group + 1]; i++)
    r.bytes += berth_i_gradient_bytes(d, v->gradient[i], r.place);
  for (int32_t i = d->group_at[group]; i < d->group_at[group + 1]; i++)
    try_op(&r, d->group_op[i]);
  return *kept;
}

/* ---- by a minimum cut ---- */

typedef struct cut {
  berth_i_pool pool;
  berth_sfb_problem p; /* of the arrays below */
  double *seconds, *bandwidth, *bytes, *gradient_bytes, *gradient_seconds;
  int32_t *replicas, *producer, *first, *consumer, *gradient_op;
  uint8_t *barred;
} cut;

static berth_status cut_alloc(const berth_deploy *d, cut *c) {
  size_t ops = (size_t)d->n_ops, tensors = (size_t)d->g->n_tensors, readers = (size_t)d->g->n_edges;
  c->p.seconds = c->seconds = berth_i_pool_alloc(&c->pool, ops, sizeof *c->seconds);
  c->p.bandwidth = c->bandwidth = berth_i_pool_alloc(&c->pool, ops, sizeof *c->bandwidth);
  c->p.replicas = c->replicas = berth_i_pool_alloc(&c->pool, ops, sizeof *c->replicas);
  c->p.barred = c->barred = berth_i_pool_alloc(&c->pool, ops, sizeof *c->barred);
  c->p.bytes = c->bytes = berth_i_pool_alloc(&c->pool, tensors, sizeof *c->bytes);
  c->p.producer = c->producer = berth_i_pool_alloc(&c->pool, tensors, sizeof *c->producer);
  c->p.first = c->first = berth_i_pool_alloc(&c->pool, tensors + 1, sizeof *c->first);
  c->p.consumer = c->consumer = berth_i_pool_alloc(&c->pool, readers, sizeof *c->consumer);
  c->p.gradient_op = c->gradient_op = berth_i_pool_alloc(&c->pool, tensors, sizeof *c->gradient_op);
  c->p.gradient_bytes = c->gradient_bytes =
      berth_i_pool_alloc(&c->pool, tensors, sizeof *c->gradient_bytes);
  c->p.gradient_seconds = c->gradient_seconds =
      berth_i_pool_alloc(&c->pool, tensors, sizeof *c->gradient_seconds);
  return berth_i_pool_status(&c->pool);
}

/* T of which (1 - 1/M) T is what the slowest replica takes longer; B of which (M-1)/M S/B is the
 * time of an AllGather of 1 MiB. */
static void cut_op(const berth_deploy *d, const int32_t *action, int32_t op, cut *c) {
  const double reference = 1 << 20;
  int32_t a = action[d->group[op]], place = berth_i_action_place(d, a),
          n = berth_i_place_size(d, place);
  double part = 1 - 1.0 / n;
  c->barred[op] = !berth_i_reduces_all(d, a) || !may_repeat(d, op);
  c->replicas[op] = n;
  c->seconds[op] = 0;
  c->bandwidth[op] = INFINITY;
  if (n < 2 || !berth_i_reduces_all(d, a)) return;
  double gather = berth_i_gather_seconds(d, place, reference);
  if (isinf(gather)) c->barred[op] = 1;
  else if (gather > 0) c->bandwidth[op] = part * reference / gather;
  c->seconds[op] =
      more_work(d, op,
                berth_i_form_of(place, berth_i_cut_by(d->action[a].shares))) /
      part;
}

static void cut_tensor(const berth_deploy *d, const int32_t *action, int32_t t, cut *c) {
  const berth_graph *g = d->g;
  int32_t n = c->p.tensors, at = c->first[n];
  if (!d->cut_tensor[t]) return;
  for (int32_t k = g->use_at[t]; k < g->use_at[t + 1]; k++)
    if (berth_i_reduces_all(d, action[d->group[g->use[k]]])) c->consumer[at++] = g->use[k];
  if (at == c->first[n]) return;
  c->producer[n] = g->producer[t];
  c->bytes[n] = g->tensor_bytes[t];
  c->first[++c->p.tensors] = at;
}

/* Gradients of a bucket share its time by their bytes. Without a route none can be saved. */
static void cut_gradients(const berth_deploy *d, const berth_i_values *v, const int32_t *action,
                          int32_t group, cut *c) {
  int32_t place = berth_i_action_place(d, action[group]);
  double sum = 0;
  for (int32_t k = v->gradient_at[group]; k < v->gradient_at[group + 1]; k++)
    sum += berth_i_gradient_bytes(d, v->gradient[k], place);
  double all = berth_i_allreduce_seconds(d, place, sum);
  if (isinf(all)) return;
  for (int32_t k = v->gradient_at[group]; k < v->gradient_at[group + 1]; k++) {
    double bytes = berth_i_gradient_bytes(d, v->gradient[k], place);
    bool shared = d->o.bucket == BERTH_BUCKET_GROUP && sum > 0;
    c->gradient_op[c->p.gradients] = d->g->producer[v->gradient[k]];
    c->gradient_bytes[c->p.gradients] = bytes;
    c->gradient_seconds[c->p.gradients++] =
        shared ? all * (bytes / sum) : berth_i_allreduce_seconds(d, place, bytes);
  }
}

static berth_status repeat_cut(berth_deploy *d, berth_i_values *v, const int32_t *action,
                               uint8_t *duplicate) {
  cut c;
  memset(&c, 0, sizeof c);
  c.pool = berth_i_pool_empty(d->ctx);
  c.p = berth_sfb_default(BERTH_SFB_PER_DEVICE);
  berth_sfb_value worth;
  berth_status st;
  if ((st = cut_alloc(d, &c)) == BERTH_OK) {
    c.p.ops = d->n_ops;
    c.first[0] = 0;
    for (int32_t i = 0; i < d->n_ops; i++) cut_op(d, action, i, &c);
    for (int32_t i = 0; i < d->g->n_tensors; i++) cut_tensor(d, action, i, &c);
    for (int32_t i = 0; i < d->n_groups; i++)
      if (berth_i_reduces_all(d, action[i])) cut_gradients(d, v, action, i, &c);
    st = berth_sfb_choose(d->ctx, &c.p, duplicate, NULL, NULL, &worth);
  }
  berth_i_pool_free(&c.pool);
  return st;
}

berth_status berth_deploy_repeat(berth_deploy *d, const int32_t *action, berth_deploy_sfb rule,
                                 uint8_t *duplicate) {
  if (!d) return BERTH_EINVAL;
  berth_status st = berth_i_deploy_check_strategy(d, action);
  if (st != BERTH_OK) return st;
  if (rule != BERTH_DEPLOY_SFB_NONE && rule != BERTH_DEPLOY_SFB_LOCAL
      && rule != BERTH_DEPLOY_SFB_CUT)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "there is no rule %d for repeated ops", (int)rule);
  berth_i_values *v;
  if ((st = berth_i_values_of(d, &v)) != BERTH_OK) return st;
  memset(duplicate, 0, (size_t)d->n_ops);
  if (rule == BERTH_DEPLOY_SFB_LOCAL) {
    for (int32_t g = 0; g < d->n_groups; g++) {
      if (!berth_i_reduces_all(d, action[g])) continue;
      const berth_i_local_sfb *sfb;
      if (!(sfb = berth_i_local_sfb_of(d, v, g, action[g]))) return BERTH_ENOMEM;
      for (int32_t i = 0; i < berth_i_group_size(d, g); i++)
        duplicate[d->group_op[d->group_at[g] + i]] = sfb->flag[i];
    }
    return BERTH_OK;
  }
  return rule == BERTH_DEPLOY_SFB_CUT ? repeat_cut(d, v, action, duplicate) : BERTH_OK;
}
