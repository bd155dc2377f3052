/* Checks a compiled graph against the graph that it comes from, by counting: who handles how many
 * samples, what each replica reads, which partial gradients are summed. It uses neither the
 * strategy nor places nor the emitter. */
#include "compiled_internal.h"
#include <stdio.h>

typedef struct checking {
  berth_i_pool pool;
  const berth_compiled *c;
  const berth_deploy *d;
  const berth_graph *g, *old;
  const uint8_t *role, *batch, *from_input; /* of the old graph */
  int32_t *replica_at, *replica;            /* [old ops + 1], [replicas] by op */
  uint8_t *cut;                             /* [old ops] its replicas share the batch */
  int32_t *seen;                            /* [ops] scratch: an order */
  int32_t *left;                            /* [ops + collectives] scratch */
} checking;

static inline bool carries(const checking *x, int32_t t) {
  return x->old->tensor_bytes[t] > 0 || (x->old->tensor_flags && x->old->tensor_flags[t] != 0);
}

/* What replicas that share the batch make of it has to be summed. */
static inline bool is_partial(const checking *x, int32_t t) {
  int32_t u = x->old->producer[t];
  return carries(x, t) && !x->batch[t] && x->cut[u];
}

/* Its bytes show how many samples it has. */
static inline bool is_sized(const checking *x, int32_t t) {
  return x->old->tensor_bytes[t] > 0;
}

/* Of a tensor of the compiled graph, from its bytes; -1: none that is whole. */
static inline int32_t samples_in(const checking *x, int32_t tensor) {
  double all = x->old->tensor_bytes[x->c->source[tensor]];
  if (x->c->part[x->g->producer[tensor]] == BERTH_PART_REPLICA)
    return x->c->samples[x->g->producer[tensor]];
  if (!(all > 0)) return x->c->samples[x->g->producer[tensor]];
  double n = x->g->tensor_bytes[tensor] / all * x->d->batch;
  return fabs(n - nearbyint(n)) < 1e-6 * (1 + n) ? (int32_t)nearbyint(n) : -1;
}

static inline int32_t count_replicas(const checking *x, int32_t op) {
  return x->replica_at[op + 1] - x->replica_at[op];
}

static inline bool is_near(double a, double b) {
  return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

static inline const int32_t *inputs_of(const berth_graph *g, int32_t v, int32_t *n) {
  *n = g->in_at[v + 1] - g->in_at[v];
  return g->in + g->in_at[v];
}

/* The checker: what splits, concatenations and sums do, what replicas read, and what reaches them
 * through AllReduces. */

/* EINVAL: op v of the compiled graph, and what is wrong with it. */
static berth_status report_wrong(const checking *x, int32_t v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char text[200];
  berth_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  char label[96];
  return berth_i_fail(x->g->ctx, BERTH_EINVAL, "%s: %s",
                      berth_i_op_label(x->g, v, label, sizeof label), text);
}

/* ---- splits, concatenations, sums ---- */

/* Inputs are different, all of the tensor of the output, from replicas or what handles their
 * outputs. @return samples in all */
static int64_t sum_inputs(const checking *x, int32_t v, int32_t t) {
  int32_t n;
  const int32_t *in = inputs_of(x->g, v, &n);
  int64_t sum = 0;
  for (int32_t i = 0; i < n; i++) {
    if (x->c->source[in[i]] != t) return -1;
    sum += samples_in(x, in[i]);
  }
  return sum;
}

static int64_t sum_outputs(const checking *x, int32_t v) {
  int64_t sum = 0;
  for (int32_t i = x->g->out_at[v]; i < x->g->out_at[v + 1]; i++)
    sum += samples_in(x, x->g->out[i]);
  return sum;
}

static berth_status check_split(const checking *x, int32_t v) {
  int32_t n;
  const int32_t *in = inputs_of(x->g, v, &n);
  int64_t taken = sum_outputs(x, v);
  if (n != 1) return report_wrong(x, v, "splits %d tensors", n);
  int32_t t = x->c->source[in[0]];
  if (!x->batch[t]) return report_wrong(x, v, "splits tensor %d, which has no batch", t);
  int64_t given = samples_in(x, in[0]);
  if (!is_sized(x, t)) return BERTH_OK;
  if (taken > given || (x->cut[x->old->producer[t]] && taken < given))
    return report_wrong(x, v, "splits %ld samples into %ld", (long)given, (long)taken);
  return BERTH_OK;
}

/* The only one that it waits for; BERTH_NONE: none; -2: several. */
static int32_t waits_for(const checking *x, int32_t v) {
  int32_t n = x->g->after ? x->g->after_at[v + 1] - x->g->after_at[v] : 0;
  return n == 0 ? BERTH_NONE : n == 1 ? x->g->after[x->g->after_at[v]] : -2;
}

/* Each replica of the op is a member once, and what else is one brings nothing. */
static bool all_are_members(const checking *x, const berth_collective *c, int32_t op) {
  int32_t found = 0;
  for (int32_t i = 0; i < c->n_members; i++) {
    int32_t m = c->members[i];
    if (x->c->origin[m] != op) return false;
    if (x->c->part[m] == BERTH_PART_REPLICA) found++;
    else if (x->c->part[m] != BERTH_PART_BUCKET || x->g->in_at[m] < x->g->in_at[m + 1])
      return false;
  }
  return found == count_replicas(x, op);
}

static bool has_member_on(const checking *x, const berth_collective *c, int32_t device) {
  for (int32_t i = 0; i < c->n_members; i++)
    if (x->c->device[c->members[i]] == device) return true;
  return false;
}

static berth_status check_concat(const checking *x, int32_t v) {
  int64_t out = sum_outputs(x, v);
  if (x->g->out_at[v + 1] != x->g->out_at[v] + 1)
    return report_wrong(x, v, "concatenates into several tensors");
  int32_t t = x->c->source[x->g->out[x->g->out_at[v]]];
  if (!x->batch[t])
    return report_wrong(x, v, "concatenates tensor %d, which has no batch", t);
  int64_t in = sum_inputs(x, v, t);
  if (in < 0) return report_wrong(x, v, "reads something else than tensor %d", t);
  if (waits_for(x, v) != BERTH_NONE && out == x->d->batch) {
    /* It waits for an AllGather. */
    int32_t k = waits_for(x, v);
    const berth_collective *c = k >= 0 ? &x->g->collectives[k] : NULL;
    if (!c || c->kind != BERTH_ALLGATHER || !all_are_members(x, c, x->old->producer[t]))
      return report_wrong(x, v, "gathers tensor %d by no AllGather of all its replicas", t);
    if (!is_near(c->bytes * c->n_members, x->old->tensor_bytes[t]))
      return report_wrong(x, v, "collective %d does not bring the bytes of tensor %d", k, t);
    if (!has_member_on(x, c, x->c->device[v]))
      return report_wrong(x, v, "is on device %d, where collective %d has no member",
                                 x->c->device[v], k);
    return BERTH_OK;
  }
  if (in == out || !is_sized(x, t)) return BERTH_OK;
  return report_wrong(x, v, "makes %ld samples of %ld", (long)out, (long)in);
}

/* One partial from each replica. */
static berth_status check_sum(const checking *x, int32_t v) {
  int32_t n;
  const int32_t *in = inputs_of(x->g, v, &n);
  if (x->g->out_at[v + 1] != x->g->out_at[v] + 1)
    return report_wrong(x, v, "sums into several tensors");
  int32_t t = x->c->source[x->g->out[x->g->out_at[v]]];
  for (int32_t i = 0; i < n; i++)
    if (x->c->source[in[i]] != t || x->c->part[x->g->producer[in[i]]] != BERTH_PART_REPLICA)
      return report_wrong(x, v, "its input %d is no replica's tensor %d", i, t);
  if (!is_partial(x, t) || n != count_replicas(x, x->old->producer[t]))
    return report_wrong(x, v, "sums %d parts of tensor %d", n, t);
  if (!is_near(x->g->tensor_bytes[x->g->out[x->g->out_at[v]]], x->old->tensor_bytes[t]))
    return report_wrong(x, v, "its sum of tensor %d has the wrong size", t);
  return BERTH_OK;
}

/* ---- what replicas read ---- */

/* How often the member brings in what this replica of the producer makes of t. */
static int32_t brings(const checking *x, int32_t member, int32_t t) {
  int32_t n, found = 0;
  const int32_t *in = inputs_of(x->g, member, &n);
  if (x->c->part[member] == BERTH_PART_REPLICA) return x->c->origin[member] == x->old->producer[t];
  for (int32_t i = 0; i < n; i++)
    found += x->c->source[in[i]] == t && x->c->part[x->g->producer[in[i]]] == BERTH_PART_REPLICA;
  return found;
}

static bool reduces(const checking *x, const berth_collective *c, int32_t t) {
  int32_t found = 0;
  if (c->kind != BERTH_ALLREDUCE) return false;
  for (int32_t i = 0; i < c->n_members; i++) {
    int32_t n = brings(x, c->members[i], t);
    if (n > 1) return false;
    found += n;
  }
  return found == count_replicas(x, x->old->producer[t]);
}

/* Gradients of one op that the replica reads by an AllReduce each cannot be distinguished: as many
 * as there are collectives. */
static int32_t count_reductions(const checking *x, int32_t v, int32_t t) {
  int32_t n = 0;
  for (int32_t i = x->g->after ? x->g->after_at[v] : 0; x->g->after && i < x->g->after_at[v + 1];
       i++)
    n += reduces(x, &x->g->collectives[x->g->after[i]], t);
  return n;
}

static int32_t count_partials(const checking *x, int32_t op, int32_t maker) {
  int32_t n = 0, inputs;
  const int32_t *in = inputs_of(x->old, op, &inputs);
  for (int32_t i = 0; i < inputs; i++)
    n += x->old->producer[in[i]] == maker && is_partial(x, in[i]);
  return n;
}

/* As many reductions as tensors of that maker, or one bucket that brings each of them. */
static berth_status check_reduced(const checking *x, int32_t v, int32_t t, int32_t tensor) {
  int32_t maker = x->g->producer[tensor], op = x->old->producer[t], n = count_reductions(x, v, t);
  if (x->c->part[maker] == BERTH_PART_SUM)
    return n == 0 ? BERTH_OK
                  : report_wrong(
                      x, v, "reads a sum of tensor %d, and waits for %d AllReduces of it", t, n);
  if (x->c->part[maker] != BERTH_PART_REPLICA || x->c->device[maker] != x->c->device[v])
    return report_wrong(
        x, v, "reads tensor %d from op %d, which is neither its sum nor made here", t, maker);
  if (n == 1 || (n > 0 && n == count_partials(x, x->c->origin[v], op))) return BERTH_OK;
  return report_wrong(x, v, "waits for %d AllReduces of tensor %d", n, t);
}

/* The input of v that is tensor t; BERTH_NONE: none, -2: several. */
static int32_t find_input(const checking *x, int32_t v, int32_t t) {
  int32_t n, found = BERTH_NONE;
  const int32_t *in = inputs_of(x->g, v, &n);
  for (int32_t i = 0; i < n; i++) {
    if (x->c->source[in[i]] != t) continue;
    if (found != BERTH_NONE) return -2;
    found = in[i];
  }
  return found;
}

static berth_status check_rows(const checking *x, int32_t v, int32_t t, int32_t tensor) {
  int32_t there = samples_in(x, tensor), needed = x->c->samples[v];
  if (there == needed || !is_sized(x, t)) return BERTH_OK;
  return report_wrong(x, v, "reads %d samples of tensor %d, needs %d", there, t, needed);
}

static berth_status check_input(const checking *x, int32_t v, int32_t t) {
  int32_t tensor = find_input(x, v, t), needed = x->c->samples[v];
  bool whole = !x->cut[x->c->origin[v]];
  if (tensor == BERTH_NONE && carries(x, t) && x->batch[t] && needed == 0) return BERTH_OK;
  if (tensor == BERTH_NONE) return report_wrong(x, v, "does not read tensor %d", t);
  if (tensor < 0) return report_wrong(x, v, "reads tensor %d twice", t);
  if (!carries(x, t)) return BERTH_OK;
  if (x->batch[t]) return check_rows(x, v, t, tensor);
  if (is_partial(x, t) && whole) return check_reduced(x, v, t, tensor);
  int32_t maker = x->g->producer[tensor];
  if (x->c->part[maker] != BERTH_PART_REPLICA)
    return report_wrong(x, v, "reads tensor %d from op %d, which is no replica", t, maker);
  if (is_partial(x, t)
      && (x->c->device[maker] != x->c->device[v] || x->c->samples[maker] != needed))
    return report_wrong(x, v, "reads a part of tensor %d that is not of its %d samples", t,
                               needed);
  return BERTH_OK;
}

static berth_status check_reads(const checking *x) {
  berth_status st = BERTH_OK;
  int32_t n, due;
  for (int32_t v = 0; v < x->g->n_ops; v++) {
    if (x->c->part[v] != BERTH_PART_REPLICA) continue;
    const int32_t *in = inputs_of(x->old, x->c->origin[v], &due);
    for (int32_t i = 0; i < due && st == BERTH_OK; i++) st = check_input(x, v, in[i]);
    if (st != BERTH_OK) return st;
    inputs_of(x->g, v, &n);
    if (n > due) return report_wrong(x, v, "reads %d tensors, its op %d", n, due);
  }
  return BERTH_OK;
}

/* ---- collectives ---- */

/* What one member brings to an AllReduce, by the buckets; a replica as member brings one
 * gradient. */
static double bucket_bytes(const checking *x, int32_t member, int32_t *count) {
  int32_t n;
  const int32_t *in = inputs_of(x->g, member, &n);
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += x->g->tensor_bytes[in[i]];
  *count = n;
  return sum;
}

static bool makes_one_of(const checking *x, int32_t v, double bytes) {
  for (int32_t i = x->g->out_at[v]; i < x->g->out_at[v + 1]; i++)
    if (is_partial(x, x->c->source[x->g->out[i]])
        && is_near(x->g->tensor_bytes[x->g->out[i]], bytes))
      return true;
  return false;
}

/* What is brought to AllReduces. */
static berth_status check_collectives(const checking *x) {
  for (int32_t k = 0; k < x->g->n_collectives; k++) {
    const berth_collective *c = &x->g->collectives[k];
    for (int32_t i = 0; i < c->n_members; i++) {
      int32_t m = c->members[i], count = 1;
      bool bucket = x->c->part[m] == BERTH_PART_BUCKET;
      double bytes = bucket ? bucket_bytes(x, m, &count) : c->bytes;
      if (c->kind != BERTH_ALLREDUCE) continue;
      if (!is_near(bytes, c->bytes) || count != c->count
          || (!bucket && !makes_one_of(x, m, c->bytes)))
        return report_wrong(
            x, m, "does not bring the bytes of the %d gradients of collective %d", c->count, k);
    }
  }
  return BERTH_OK;
}

/* ---- replicas ---- */

static bool may_share(const checking *x, int32_t op) {
  return x->from_input[op]
         && (x->role[op] == BERTH_ROLE_COMPUTE || x->role[op] == BERTH_ROLE_INPUT);
}

static berth_status list_replicas(checking *x) {
  int32_t op;
  for (int32_t v = 0; v < x->g->n_ops; v++) {
    op = x->c->origin[v];
    if (op < 0 || op >= x->old->n_ops)
      return report_wrong(x, v, "its origin is op %d of %d", op, x->old->n_ops);
    if (x->c->device[v] < 0 || x->c->device[v] >= x->d->n_devices
        || berth_i_pin(x->g, v) != x->c->device[v])
      return report_wrong(x, v, "is on device %d, pinned to %d", x->c->device[v],
                                 berth_i_pin(x->g, v));
    x->replica_at[op + 1] += x->c->part[v] == BERTH_PART_REPLICA;
  }
  for (op = 0; op < x->old->n_ops; op++) x->replica_at[op + 1] += x->replica_at[op];
  int32_t n = x->replica_at[x->old->n_ops];
  for (int32_t v = x->g->n_ops - 1; v >= 0; v--)
    if (x->c->part[v] == BERTH_PART_REPLICA) x->replica[--x->replica_at[x->c->origin[v] + 1]] = v;
  memmove(x->replica_at, x->replica_at + 1, (size_t)x->old->n_ops * sizeof *x->replica_at);
  x->replica_at[x->old->n_ops] = n;
  return BERTH_OK;
}

static berth_status check_shares(checking *x, int32_t op) {
  int32_t n = count_replicas(x, op), whole = 0;
  int64_t sum = 0;
  for (int32_t i = x->replica_at[op]; i < x->replica_at[op + 1]; i++) {
    whole += x->c->samples[x->replica[i]] == x->d->batch;
    sum += x->c->samples[x->replica[i]];
  }
  x->cut[op] = whole < n;
  if (n > 0 && (whole == n || (may_share(x, op) && sum == x->d->batch))) {
    /* No two replicas on one device. */
    for (int32_t i = x->replica_at[op]; i < x->replica_at[op + 1]; i++)
      for (int32_t j = x->replica_at[op]; j < i; j++)
        if (x->c->device[x->replica[i]] == x->c->device[x->replica[j]])
          return report_wrong(x, x->replica[i],
                                     "another replica is on device %d, too (replica %d)",
                                     x->c->device[x->replica[i]], j - x->replica_at[op]);
    return BERTH_OK;
  }
  char label[96];
  return berth_i_fail(x->g->ctx, BERTH_EINVAL,
                      "%s has %ld replicas, of which %ld do all of the batch, with %ld of %ld "
                      "samples in all",
                      berth_i_op_label(x->old, op, label, sizeof label), (long)n, (long)whole,
                      (long)sum, (long)x->d->batch);
}

static berth_status check_replicas(checking *x) {
  berth_status st = list_replicas(x);
  for (int32_t op = 0; op < x->old->n_ops && st == BERTH_OK; op++) st = check_shares(x, op);
  return st;
}

/* ---- sizes ---- */

static double bytes_due(const checking *x, int32_t tensor) {
  int32_t t = x->c->source[tensor], v = x->g->producer[tensor], op = x->old->producer[t];
  double all = x->old->tensor_bytes[t];
  if (!x->cut[op]) return all;
  if (x->batch[t]) return all * x->c->samples[v] / x->d->batch;
  return x->d->o.split_gradients && is_partial(x, t) ? all / count_replicas(x, op)
                                                             : all;
}

static berth_status check_sizes(const checking *x) {
  for (int32_t i = 0; i < x->g->n_tensors; i++) {
    int32_t v = x->g->producer[i], t = x->c->source[i];
    if (t < 0 || t >= x->old->n_tensors || x->old->producer[t] != x->c->origin[v])
      return report_wrong(
          x, v, "its tensor %d says that it is tensor %d, which another op makes", i, t);
    if (x->c->part[v] == BERTH_PART_REPLICA
        && !is_near(x->g->tensor_bytes[i], bytes_due(x, i)))
      return report_wrong(x, v, "its tensor %d has the wrong size for %d samples", i,
                                 x->c->samples[v]);
    if (samples_in(x, i) < 0)
      return report_wrong(x, v, "its tensor %d is no whole number of samples of tensor %d",
                                 i, t);
  }
  return BERTH_OK;
}

static berth_status check_acyclic(const checking *x) {
  int32_t done = berth_i_take_order(x->g, x->left, x->left + x->g->n_ops, x->seen);
  if (done == x->g->n_ops) return BERTH_OK;
  return berth_i_fail(x->g->ctx, BERTH_EINVAL, "%ld of %ld ops wait for each other",
                      (long)(x->g->n_ops - done), (long)x->g->n_ops);
}

/* ---- all ---- */

berth_status berth_compiled_check(const berth_compiled *c) {
  if (!c) return BERTH_EINVAL;
  const berth_analysis *a = c->d->analysis;
  checking x = {
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
    if (st == BERTH_OK) {
      /* Splits, concatenations, sums. */
      for (int32_t v = 0; v < x.g->n_ops && st == BERTH_OK; v++) {
        switch (x.c->part[v]) {
        case BERTH_PART_SPLIT: st = check_split(&x, v); break;
        case BERTH_PART_CONCAT: st = check_concat(&x, v); break;
        case BERTH_PART_SUM: st = check_sum(&x, v); break;
        default: break;
        }
      }
    }
    if (st == BERTH_OK) st = check_reads(&x);
    if (st == BERTH_OK) st = check_collectives(&x);
    st = st == BERTH_OK ? check_acyclic(&x) : st;
  }
  berth_i_pool_free(&x.pool);
  return st;
}
