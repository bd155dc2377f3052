/* Checks a compiled graph against the graph that it comes from, by counting: who handles how many
 * samples, what each replica reads, which partial gradients meet. Knows nothing of strategies,
 * places or how things were emitted. */
#include "compiled_check_internal.h"

/* ---- replicas ---- */

static bool may_share(const berth_i_check *x, int32_t op) {
  return x->from_input[op]
         && (x->role[op] == BERTH_ROLE_COMPUTE || x->role[op] == BERTH_ROLE_INPUT);
}

static berth_status list_replicas(berth_i_check *x) {
  int32_t op;
  for (int32_t v = 0; v < x->g->n_ops; v++) {
    op = x->c->origin[v];
    if (op < 0 || op >= x->old->n_ops)
      return berth_i_check_wrong(x, v, "its origin is op %d of %d", op, x->old->n_ops);
    if (x->c->device[v] < 0 || x->c->device[v] >= x->d->n_devices
        || berth_i_pin(x->g, v) != x->c->device[v])
      return berth_i_check_wrong(x, v, "is on device %d, pinned to %d", x->c->device[v],
                                 berth_i_pin(x->g, v));
    x->replica_at[op + 1] += x->c->part[v] == BERTH_PART_REPLICA;
  }
  for (op = 0; op < x->old->n_ops; op++) x->replica_at[op + 1] += x->replica_at[op];
  int32_t n = x->replica_at[x->old->n_ops];
  for (int32_t v = x->g->n_ops - 1; v >= 0; v--) {
    if (x->c->part[v] == BERTH_PART_REPLICA) x->replica[--x->replica_at[x->c->origin[v] + 1]] = v;
  }
  memmove(x->replica_at, x->replica_at + 1, (size_t)x->old->n_ops * sizeof *x->replica_at);
  x->replica_at[x->old->n_ops] = n;
  return BERTH_OK;
}

static berth_status check_shares(berth_i_check *x, int32_t op) {
  int32_t n = berth_i_count_replicas(x, op), whole = 0;
  int64_t sum = 0;
  for (int32_t i = x->replica_at[op]; i < x->replica_at[op + 1]; i++) {
    whole += x->c->samples[x->replica[i]] == x->d->batch;
    sum += x->c->samples[x->replica[i]];
  }
  x->cut[op] = whole < n;
  if (n > 0 && (whole == n || (may_share(x, op) && sum == x->d->batch))) {
    /* Check devices. */
    for (int32_t i = x->replica_at[op]; i < x->replica_at[op + 1]; i++) {
      for (int32_t j = x->replica_at[op]; j < i; j++) {
        if (x->c->device[x->replica[i]] == x->c->device[x->replica[j]])
          return berth_i_check_wrong(x, x->replica[i],
                                     "another replica is on device %d, too (replica %d)",
                                     x->c->device[x->replica[i]], j - x->replica_at[op]);
      }
    }
    return BERTH_OK;
  }
  char label[96];
  return berth_i_fail(x->g->ctx, BERTH_EINVAL,
                      "%s has %ld replicas, of which %ld do all of the batch, with %ld of %ld "
                      "samples in all",
                      berth_i_op_label(x->old, op, label, sizeof label), (long)n, (long)whole,
                      (long)sum, (long)x->d->batch);
}

static berth_status check_replicas(berth_i_check *x) {
  berth_status st = list_replicas(x);
  for (int32_t op = 0; op < x->old->n_ops && st == BERTH_OK; op++) st = check_shares(x, op);
  return st;
}

/* ---- sizes ---- */

static double bytes_due(const berth_i_check *x, int32_t tensor) {
  int32_t t = x->c->source[tensor], v = x->g->producer[tensor], op = x->old->producer[t];
  double all = x->old->tensor_bytes[t];
  if (!x->cut[op]) return all;
  if (x->batch[t]) return all * x->c->samples[v] / x->d->batch;
  return x->d->o.split_gradients && berth_i_is_partial(x, t) ? all / berth_i_count_replicas(x, op)
                                                             : all;
}

static berth_status check_sizes(const berth_i_check *x) {
  for (int32_t i = 0; i < x->g->n_tensors; i++) {
    int32_t v = x->g->producer[i], t = x->c->source[i];
    if (t < 0 || t >= x->old->n_tensors || x->old->producer[t] != x->c->origin[v])
      return berth_i_check_wrong(
          x, v, "its tensor %d says that it is tensor %d, which another op makes", i, t);
    if (x->c->part[v] == BERTH_PART_REPLICA
        && !berth_i_is_near(x->g->tensor_bytes[i], bytes_due(x, i)))
      return berth_i_check_wrong(x, v, "its tensor %d has the wrong size for %d samples", i,
                                 x->c->samples[v]);
    if (berth_i_samples_in(x, i) < 0)
      return berth_i_check_wrong(x, v, "its tensor %d is no whole number of samples of tensor %d",
                                 i, t);
  }
  return BERTH_OK;
}

/* ---- acyclic ---- */

/* Takes away what waits for nothing more, ops and collectives alike. seen is the stack. */
static int32_t release_op(const berth_i_check *x, int32_t v, int32_t top) {
  const berth_graph *g = x->g;
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) {
    for (int32_t j = g->use_at[g->out[i]]; j < g->use_at[g->out[i] + 1]; j++) {
      if (--x->left[g->use[j]] == 0) x->seen[top++] = g->use[j];
    }
  }
  int32_t k;
  for (int32_t i = g->wait ? g->wait_at[v] : 0; g->wait && i < g->wait_at[v + 1]; i++) {
    const berth_collective *c = &g->collectives[k = g->wait[i]];
    if (--x->left[g->n_ops + k] > 0) continue;
    for (int32_t j = 0; j < c->n_consumers; j++) {
      if (--x->left[c->consumers[j]] == 0) x->seen[top++] = c->consumers[j];
    }
  }
  return top;
}

static berth_status check_acyclic(const berth_i_check *x) {
  const berth_graph *g = x->g;
  int32_t v, top = 0, done = 0;
  for (v = 0; v < g->n_ops; v++) {
    x->left[v] =
        g->in_at[v + 1] - g->in_at[v] + (g->after ? g->after_at[v + 1] - g->after_at[v] : 0);
    if (x->left[v] == 0) x->seen[top++] = v;
  }
  for (int32_t k = 0; k < g->n_collectives; k++)
    x->left[g->n_ops + k] = g->collectives[k].n_members;
  for (; top > 0; done++) {
    v = x->seen[--top];
    top = release_op(x, v, top);
  }
  if (done == g->n_ops) return BERTH_OK;
  return berth_i_fail(g->ctx, BERTH_EINVAL, "%ld of %ld ops wait for each other",
                      (long)(g->n_ops - done), (long)g->n_ops);
}

/* ---- all ---- */

berth_status berth_compiled_check(const berth_compiled *c) {
  const berth_analysis *a = c->d->analysis;
  berth_i_check x = {
    .pool = berth_i_pool_empty(c->g->ctx), .c = c, .d = c->d, .g = c->g, .old = c->d->g,
    .role = berth_analysis_role(a), .batch = berth_analysis_batch(a),
    .from_input = berth_analysis_from_input(a)
  };
  size_t ops = (size_t)x.g->n_ops, old = (size_t)x.old->n_ops;
  x.replica_at = berth_i_pool_zalloc(&x.pool, old + 1, sizeof *x.replica_at);
  x.replica = berth_i_pool_alloc(&x.pool, ops, sizeof *x.replica);
  x.cut = berth_i_pool_zalloc(&x.pool, old, 1);
  x.seen = berth_i_pool_zalloc(&x.pool, ops, sizeof *x.seen);
  x.left = berth_i_pool_alloc(&x.pool, ops + (size_t)x.g->n_collectives, sizeof *x.left);
  berth_status st = berth_i_pool_status(&x.pool);
  if (st == BERTH_OK) {
    st = check_replicas(&x);
    if (st == BERTH_OK) st = check_sizes(&x);
    if (st == BERTH_OK) st = berth_i_check_auxiliary(&x);
    if (st == BERTH_OK) st = berth_i_check_reads(&x);
    if (st == BERTH_OK) st = berth_i_check_collectives(&x);
    st = st == BERTH_OK ? check_acyclic(&x) : st;
  }
  berth_i_pool_free(&x.pool);
  return st;
}
