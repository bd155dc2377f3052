/* The checker: what splits, concatenations and sums do. */
#include "compiled_check_internal.h"

/* Inputs are different, all of the tensor of the output, from replicas or what handles their outputs. @return samples in all */
static int64_t sum_inputs(const berth_i_check *x, int32_t v, int32_t t) {
  int32_t i, n;
  const int32_t *in = berth_i_inputs_of(x->g, v, &n);
  int64_t sum = 0;
  for (i = 0; i < n; i++) {
    if (x->c->source[in[i]] != t) return -1;
    sum += berth_i_samples_in(x, in[i]);
  }
  return sum;
}

static int64_t sum_outputs(const berth_i_check *x, int32_t v) {
  int64_t sum = 0;
  int32_t i;
  for (i = x->g->out_at[v]; i < x->g->out_at[v + 1]; i++) sum += berth_i_samples_in(x, x->g->out[i]);
  return sum;
}

static berth_status check_split(const berth_i_check *x, int32_t v) {
  int32_t n, t;
  const int32_t *in = berth_i_inputs_of(x->g, v, &n);
  int64_t given, taken = sum_outputs(x, v);
  if (n != 1) return berth_i_check_wrong(x, v, "splits %d tensors", n);
  t = x->c->source[in[0]];
  if (!x->batch[t]) return berth_i_check_wrong(x, v, "splits tensor %d, which has no batch", t);
  given = berth_i_samples_in(x, in[0]);
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
  int32_t i, found = 0;
  for (i = 0; i < c->n_members; i++) {
    int32_t m = c->members[i];
    if (x->c->origin[m] != op) return false;
    if (x->c->part[m] == BERTH_PART_REPLICA) found++;
    else if (x->c->part[m] != BERTH_PART_BUCKET || x->g->in_at[m] < x->g->in_at[m + 1]) return false;
  }
  return found == berth_i_count_replicas(x, op);
}

static bool is_seat(const berth_i_check *x, const berth_collective *c, int32_t device) {
  int32_t i;
  for (i = 0; i < c->n_members; i++) {
    if (x->c->device[c->members[i]] == device) return true;
  }
  return false;
}

static berth_status check_gathered(const berth_i_check *x, int32_t v, int32_t t) {
  int32_t k = waits_for(x, v);
  const berth_collective *c = k >= 0 ? &x->g->collectives[k] : NULL;
  if (!c || c->kind != BERTH_ALLGATHER || !all_are_members(x, c, x->old->producer[t]))
    return berth_i_check_wrong(x, v, "gathers tensor %d by no AllGather of all its replicas", t);
  if (!berth_i_is_near(c->bytes * c->n_members, x->old->tensor_bytes[t]))
    return berth_i_check_wrong(x, v, "collective %d does not bring the bytes of tensor %d", k, t);
  if (!is_seat(x, c, x->c->device[v]))
    return berth_i_check_wrong(x, v, "is on device %d, where collective %d has no member", x->c->device[v], k);
  return BERTH_OK;
}

static berth_status check_concat(const berth_i_check *x, int32_t v) {
  int32_t t;
  int64_t in, out = sum_outputs(x, v);
  if (x->g->out_at[v + 1] != x->g->out_at[v] + 1) return berth_i_check_wrong(x, v, "concatenates into several tensors");
  t = x->c->source[x->g->out[x->g->out_at[v]]];
  if (!x->batch[t]) return berth_i_check_wrong(x, v, "concatenates tensor %d, which has no batch", t);
  in = sum_inputs(x, v, t);
  if (in < 0) return berth_i_check_wrong(x, v, "reads something else than tensor %d", t);
  if (waits_for(x, v) != BERTH_NONE && out == x->d->batch) return check_gathered(x, v, t);
  if (in == out || !berth_i_is_sized(x, t)) return BERTH_OK;
  return berth_i_check_wrong(x, v, "makes %ld samples of %ld", (long)out, (long)in);
}

/* One partial from each replica. */
static berth_status check_sum(const berth_i_check *x, int32_t v) {
  int32_t i, n, t;
  const int32_t *in = berth_i_inputs_of(x->g, v, &n);
  if (x->g->out_at[v + 1] != x->g->out_at[v] + 1) return berth_i_check_wrong(x, v, "sums into several tensors");
  t = x->c->source[x->g->out[x->g->out_at[v]]];
  for (i = 0; i < n; i++) {
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
  int32_t v;
  for (v = 0; v < x->g->n_ops && st == BERTH_OK; v++) {
    switch (x->c->part[v]) {
    case BERTH_PART_SPLIT: st = check_split(x, v); break;
    case BERTH_PART_CONCAT: st = check_concat(x, v); break;
    case BERTH_PART_SUM: st = check_sum(x, v); break;
    default: break;
    }
  }
  return st;
}
