/* What the files of the checker share: both graphs, and what the old one says of its tensors. */
#ifndef BERTH_COMPILED_CHECK_INTERNAL_H
#define BERTH_COMPILED_CHECK_INTERNAL_H

#include "compiled_internal.h"

typedef struct berth_i_check {
  berth_i_pool pool;
  const berth_compiled *c;
  const berth_deploy *d;
  const berth_graph *g, *old;
  const uint8_t *role, *batch, *from_input; /* of the old graph */
  int32_t *replica_at, *replica; /* [old ops + 1], [replicas] by op */
  uint8_t *cut;                  /* [old ops] its replicas share the batch */
  int32_t *seen;                 /* [ops] scratch: a stack */
  int32_t *left;                 /* [ops + collectives] scratch */
} berth_i_check;

/** EINVAL: op v of the compiled graph, and what is wrong with it. */
berth_status berth_i_check_wrong(const berth_i_check *x, int32_t v, const char *format, ...)
    BERTH_PRINTF(3, 4);
/** Splits, concatenations, sums. */
berth_status berth_i_check_auxiliary(const berth_i_check *x);
/** What replicas read. */
berth_status berth_i_check_reads(const berth_i_check *x);
/** What is brought to AllReduces. */
berth_status berth_i_check_collectives(const berth_i_check *x);

static inline bool berth_i_carries(const berth_i_check *x, int32_t t) {
  return x->old->tensor_bytes[t] > 0 || (x->old->tensor_flags && x->old->tensor_flags[t] != 0);
}

/* What replicas that share the batch make of it has to be summed. */
static inline bool berth_i_is_partial(const berth_i_check *x, int32_t t) {
  int32_t u = x->old->producer[t];
  return berth_i_carries(x, t) && !x->batch[t] && x->cut[u];
}

/* Samples can be told from its bytes. */
static inline bool berth_i_is_sized(const berth_i_check *x, int32_t t) {
  return x->old->tensor_bytes[t] > 0;
}

/* Of a tensor of the compiled graph, from its bytes; -1: none that is whole. */
static inline int32_t berth_i_samples_in(const berth_i_check *x, int32_t tensor) {
  double all = x->old->tensor_bytes[x->c->source[tensor]];
  if (x->c->part[x->g->producer[tensor]] == BERTH_PART_REPLICA)
    return x->c->samples[x->g->producer[tensor]];
  if (!(all > 0)) return x->c->samples[x->g->producer[tensor]];
  double n = x->g->tensor_bytes[tensor] / all * x->d->batch;
  return fabs(n - nearbyint(n)) < 1e-6 * (1 + n) ? (int32_t)nearbyint(n) : -1;
}

static inline int32_t berth_i_count_replicas(const berth_i_check *x, int32_t op) {
  return x->replica_at[op + 1] - x->replica_at[op];
}

static inline bool berth_i_is_near(double a, double b) {
  return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

static inline const int32_t *berth_i_inputs_of(const berth_graph *g, int32_t v, int32_t *n) {
  *n = g->in_at[v + 1] - g->in_at[v];
  return g->in + g->in_at[v];
}

#endif
