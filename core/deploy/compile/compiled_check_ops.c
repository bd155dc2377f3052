/* The checker: what splits, concatenations and sums do, what replicas read, and what reaches them
 * through AllReduces. */
#include "compiled_check_internal.h"
#include <stdio.h>

berth_status berth_i_check_wrong(const berth_i_check *x, int32_t v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char text[200];
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  char label[96];
  return berth_i_fail(x->g->ctx, BERTH_EINVAL, "%s: %s",
                      berth_i_op_label(x->g, v, label, sizeof label), text);
}

/* ---- splits, concatenations, sums ---- */

/* Inputs are different, all of the tensor of the output, from replicas or what handles their
 * outputs. @return samples in all */
static int64_t sum_inputs(const berth_i_check *x, int32_t v, int32_t t) {
  int32_t n;
  const int32_t *in = berth_i_inputs_of(x->g, v, &n);
  int64_t sum = 0;
  for (int32_t i = 0; i < n; i++) {
    if (x->c->source[in[i]] != t) return -1;
    sum += berth_i_samples_in(x, in[i]);
  }
  return sum;
}

static int64_t sum_outputs(const berth_i_check *x, int32_t v) {
  int64_t sum = 0;
  for (int32_t i = x->g->out_at[v]; i < x->g->out_at[v + 1]; i++)
    sum += berth_i_samples_in(x, x->g->out[i]);
  return sum;
}

static berth_status check_split(const berth_i_check *x, int32_t v) {
  int32_t n;
  const int32_t *in = berth_i_inputs_of(x->g, v, &n);
  int64_t taken = sum_outputs(x, v);
  if (n != 1) return berth_i_check_wrong(x, v, "splits %d tensors", n);
  int32_t t = x->c->source[in[0]];
  if (!x->batch[t]) return berth_i_check_wrong(x, v, "splits tensor %d, which has no batch", t);
  int64_t given = berth_i_samples_in(x, in[0]);
  if (!berth_i_is_sized(x, t)) return BERTH_OK;
  if (taken > given || (x->cut[x->old->producer[t]] && taken < given))
    return berth_i_check_wrong(x, v, "splits %ld samples into %ld", (long)given, (long)taken);
  return BERTH_OK;
}

/* The only one that it waits for; BERTH_NONE: none; -2: several. */
static int32_t waits_for(const berth_i_check *x, int32_t v) {
  int32_t n = x->g->after ? x->g->after_at[v + 1] - x->g->after_at[v] : 0;
  return n == 0 ? BERTH_NONE : n == 1 ? x->g->after[x->g->after_at[v]] : -2;
}

/* Each replica of the op is a member once, and what else is one brings nothing. */
static bool all_are_members(const berth_i_check *x, const berth_collective *c, int32_t op) {
  int32_t found = 0;
  for (int32_t i = 0; i < c->n_members; i++) {
    int32_t m = c->members[i];
    if (x->c->origin[m] != op) return false;
    if (x->c->part[m] == BERTH_PART_REPLICA) found++;
    else if (x->c->part[m] != BERTH_PART_BUCKET || x->g->in_at[m] < x->g->in_at[m + 1])
      return false;
  }
  return found == berth_i_count_replicas(x, op);
}

static bool is_seat(const berth_i_check *x, const berth_collective *c, int32_t device) {
  for (int32_t i = 0; i < c->n_members; i++) {
    if (x->c->device[c->members[i]] == device) return true;
  }
  return false;
}

static berth_status check_concat(const berth_i_check *x, int32_t v) {
  int64_t out = sum_outputs(x, v);
  if (x->g->out_at[v + 1] != x->g->out_at[v] + 1)
    return berth_i_check_wrong(x, v, "concatenates into several tensors");
  int32_t t = x->c->source[x->g->out[x->g->out_at[v]]];
  if (!x->batch[t])
    return berth_i_check_wrong(x, v, "concatenates tensor %d, which has no batch", t);
  int64_t in = sum_inputs(x, v, t);
  if (in < 0) return berth_i_check_wrong(x, v, "reads something else than tensor %d", t);
  if (waits_for(x, v) != BERTH_NONE && out == x->d->batch) {
    /* Check gathered. */
    int32_t k = waits_for(x, v);
    const berth_collective *c = k >= 0 ? &x->g->collectives[k] : NULL;
    if (!c || c->kind != BERTH_ALLGATHER || !all_are_members(x, c, x->old->producer[t]))
      return berth_i_check_wrong(x, v, "gathers tensor %d by no AllGather of all its replicas", t);
    if (!berth_i_is_near(c->bytes * c->n_members, x->old->tensor_bytes[t]))
      return berth_i_check_wrong(x, v, "collective %d does not bring the bytes of tensor %d", k, t);
    if (!is_seat(x, c, x->c->device[v]))
      return berth_i_check_wrong(x, v, "is on device %d, where collective %d has no member",
                                 x->c->device[v], k);
    return BERTH_OK;
  }
  if (in == out || !berth_i_is_sized(x, t)) return BERTH_OK;
  return berth_i_check_wrong(x, v, "makes %ld samples of %ld", (long)out, (long)in);
}

/* One partial from each replica. */
static berth_status check_sum(const berth_i_check *x, int32_t v) {
  int32_t n;
  const int32_t *in = berth_i_inputs_of(x->g, v, &n);
  if (x->g->out_at[v + 1] != x->g->out_at[v] + 1)
    return berth_i_check_wrong(x, v, "sums into several tensors");
  int32_t t = x->c->source[x->g->out[x->g->out_at[v]]];
  for (int32_t i = 0; i < n; i++) {
    if (x->c->source[in[i]] != t || x->c->part[x->g->producer[in[i]]] != BERTH_PART_REPLICA)
      return berth_i_check_wrong(x, v, "its input %d is no replica's tensor %d", i, t);
  }
  if (!berth_i_is_partial(x, t) || n != berth_i_count_replicas(x, x->old->producer[t]))
    return berth_i_check_wrong(x, v, "sums %d parts of tensor %d", n, t);
  if (!berth_i_is_near(x->g->tensor_bytes[x->g->out[x->g->out_at[v]]], x->old->tensor_bytes[t]))
    return berth_i_check_wrong(x, v, "its sum of tensor %d has the wrong size", t);
  return BERTH_OK;
}

berth_status berth_i_check_auxiliary(const berth_i_check *x) {
  berth_status st = BERTH_OK;
  for (int32_t v = 0; v < x->g->n_ops && st == BERTH_OK; v++) {
    switch (x->c->part[v]) {
    case BERTH_PART_SPLIT: st = check_split(x, v); break;
    case BERTH_PART_CONCAT: st = check_concat(x, v); break;
    case BERTH_PART_SUM: st = check_sum(x, v); break;
    default: break;
    }
  }
  return st;
}

/* ---- what replicas read ---- */

/* How often the member brings in what this replica of the producer makes of t. */
static int32_t brings(const berth_i_check *x, int32_t member, int32_t t) {
  int32_t n, found = 0;
  const int32_t *in = berth_i_inputs_of(x->g, member, &n);
  if (x->c->part[member] == BERTH_PART_REPLICA) return x->c->origin[member] == x->old->producer[t];
  for (int32_t i = 0; i < n; i++)
    found += x->c->source[in[i]] == t && x->c->part[x->g->producer[in[i]]] == BERTH_PART_REPLICA;
  return found;
}

static bool reduces(const berth_i_check *x, const berth_collective *c, int32_t t) {
  int32_t found = 0;
  if (c->kind != BERTH_ALLREDUCE) return false;
  for (int32_t i = 0; i < c->n_members; i++) {
    int32_t n = brings(x, c->members[i], t);
    if (n > 1) return false;
    found += n;
  }
  return found == berth_i_count_replicas(x, x->old->producer[t]);
}

/* Gradients of one op that the replica reads by an AllReduce each cannot be told apart: as many as
 * there are collectives. */
static int32_t count_reductions(const berth_i_check *x, int32_t v, int32_t t) {
  int32_t n = 0;
  for (int32_t i = x->g->after ? x->g->after_at[v] : 0; x->g->after && i < x->g->after_at[v + 1];
       i++)
    n += reduces(x, &x->g->collectives[x->g->after[i]], t);
  return n;
}

static int32_t count_partials(const berth_i_check *x, int32_t op, int32_t maker) {
  int32_t n = 0, inputs;
  const int32_t *in = berth_i_inputs_of(x->old, op, &inputs);
  for (int32_t i = 0; i < inputs; i++)
    n += x->old->producer[in[i]] == maker && berth_i_is_partial(x, in[i]);
  return n;
}

/* As many reductions as tensors of that maker, or one bucket that brings each of them. */
static berth_status check_reduced(const berth_i_check *x, int32_t v, int32_t t, int32_t tensor) {
  int32_t maker = x->g->producer[tensor], op = x->old->producer[t], n = count_reductions(x, v, t);
  if (x->c->part[maker] == BERTH_PART_SUM)
    return n == 0 ? BERTH_OK
                  : berth_i_check_wrong(
                      x, v, "reads a sum of tensor %d, and waits for %d AllReduces of it", t, n);
  if (x->c->part[maker] != BERTH_PART_REPLICA || x->c->device[maker] != x->c->device[v])
    return berth_i_check_wrong(
        x, v, "reads tensor %d from op %d, which is neither its sum nor made here", t, maker);
  if (n == 1 || (n > 0 && n == count_partials(x, x->c->origin[v], op))) return BERTH_OK;
  return berth_i_check_wrong(x, v, "waits for %d AllReduces of tensor %d", n, t);
}

/* The input of v that is tensor t; BERTH_NONE: none, -2: several. */
static int32_t find_input(const berth_i_check *x, int32_t v, int32_t t) {
  int32_t n, found = BERTH_NONE;
  const int32_t *in = berth_i_inputs_of(x->g, v, &n);
  for (int32_t i = 0; i < n; i++) {
    if (x->c->source[in[i]] != t) continue;
    if (found != BERTH_NONE) return -2;
    found = in[i];
  }
  return found;
}

static berth_status check_rows(const berth_i_check *x, int32_t v, int32_t t, int32_t tensor) {
  int32_t there = berth_i_samples_in(x, tensor), needed = x->c->samples[v];
  if (there == needed || !berth_i_is_sized(x, t)) return BERTH_OK;
  return berth_i_check_wrong(x, v, "reads %d samples of tensor %d, needs %d", there, t, needed);
}

static berth_status check_input(const berth_i_check *x, int32_t v, int32_t t) {
  int32_t tensor = find_input(x, v, t), needed = x->c->samples[v];
  bool whole = !x->cut[x->c->origin[v]];
  if (tensor == BERTH_NONE && berth_i_carries(x, t) && x->batch[t] && needed == 0) return BERTH_OK;
  if (tensor == BERTH_NONE) return berth_i_check_wrong(x, v, "does not read tensor %d", t);
  if (tensor < 0) return berth_i_check_wrong(x, v, "reads tensor %d twice", t);
  if (!berth_i_carries(x, t)) return BERTH_OK;
  if (x->batch[t]) return check_rows(x, v, t, tensor);
  if (berth_i_is_partial(x, t) && whole) return check_reduced(x, v, t, tensor);
  int32_t maker = x->g->producer[tensor];
  if (x->c->part[maker] != BERTH_PART_REPLICA)
    return berth_i_check_wrong(x, v, "reads tensor %d from op %d, which is no replica", t, maker);
  if (berth_i_is_partial(x, t)
      && (x->c->device[maker] != x->c->device[v] || x->c->samples[maker] != needed))
    return berth_i_check_wrong(x, v, "reads a part of tensor %d that is not of its %d samples", t,
                               needed);
  return BERTH_OK;
}

berth_status berth_i_check_reads(const berth_i_check *x) {
  berth_status st = BERTH_OK;
  int32_t n, due;
  for (int32_t v = 0; v < x->g->n_ops; v++) {
    if (x->c->part[v] != BERTH_PART_REPLICA) continue;
    const int32_t *in = berth_i_inputs_of(x->old, x->c->origin[v], &due);
    for (int32_t i = 0; i < due && st == BERTH_OK; i++) st = check_input(x, v, in[i]);
    if (st != BERTH_OK) return st;
    berth_i_inputs_of(x->g, v, &n);
    if (n > due) return berth_i_check_wrong(x, v, "reads %d tensors, its op %d", n, due);
  }
  return BERTH_OK;
}

/* ---- collectives ---- */

/* What one member brings to an AllReduce, by the buckets; a replica as member brings one
 * gradient. */
static double bucket_bytes(const berth_i_check *x, int32_t member, int32_t *count) {
  int32_t n;
  const int32_t *in = berth_i_inputs_of(x->g, member, &n);
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += x->g->tensor_bytes[in[i]];
  *count = n;
  return sum;
}

static bool makes_one_of(const berth_i_check *x, int32_t v, double bytes) {
  for (int32_t i = x->g->out_at[v]; i < x->g->out_at[v + 1]; i++) {
    if (berth_i_is_partial(x, x->c->source[x->g->out[i]])
        && berth_i_is_near(x->g->tensor_bytes[x->g->out[i]], bytes))
      return true;
  }
  return false;
}

berth_status berth_i_check_collectives(const berth_i_check *x) {
  for (int32_t k = 0; k < x->g->n_collectives; k++) {
    const berth_collective *c = &x->g->collectives[k];
    for (int32_t i = 0; i < c->n_members; i++) {
      int32_t m = c->members[i], count = 1;
      bool bucket = x->c->part[m] == BERTH_PART_BUCKET;
      double bytes = bucket ? bucket_bytes(x, m, &count) : c->bytes;
      if (c->kind != BERTH_ALLREDUCE) continue;
      if (!berth_i_is_near(bytes, c->bytes) || count != c->count
          || (!bucket && !makes_one_of(x, m, c->bytes)))
        return berth_i_check_wrong(
            x, m, "does not bring the bytes of the %d gradients of collective %d", c->count, k);
    }
  }
  return BERTH_OK;
}
