/* Sufficient factor broadcasting: which ops every replica repeats for the full batch, so that gradients need no AllReduce. */
#ifndef BERTH_SFB_H
#define BERTH_SFB_H

#include <berth/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What the choice costs. Op i has M_i replicas that each do 1/M_i of the batch, T_i s for all of it, and B_i bytes/s to the slowest
 * of them. Duplicated, every replica does all of it. A tensor of S bytes made by an op i that is not duplicated is gathered if an
 * op that reads it is. The gradients of a duplicated op are whole on every replica: their AllReduce goes.
 *
 * PER_DEVICE: seconds on one device: (1 - 1/M) T for a duplicated op, (M-1)/M S/B for a tensor, once for all its readers;
 *             less t for a gradient, 2 (M-1)/M S/B unless given
 * COMPAT:     as published, work and traffic of all devices together: (M-1) T + per_op for a duplicated op, M(M-1) S/B for every
 *             edge from an op that is not duplicated to one that is; less 2 (M-1)/M S/B for a gradient
 */
typedef enum berth_sfb_cost { BERTH_SFB_PER_DEVICE, BERTH_SFB_COMPAT } berth_sfb_cost;

typedef struct berth_sfb_problem {
  berth_sfb_cost cost;
  double per_op;                  /* s for each duplicated op; default 0, and 1e-6 (as published) for COMPAT */
  int32_t ops;
  const double *seconds;          /* [ops] T, of the full batch */
  const int32_t *replicas;        /* [ops] M, at least 1 */
  const double *bandwidth;        /* [ops] B, bytes/s; may be infinite */
  const uint8_t *barred;          /* [ops] 1: never duplicated (not replicated, not kept in step by AllReduce); NULL: none */
  int32_t tensors;                /* those that are cut along the batch; others are on every replica */
  const int32_t *producer;        /* [tensors] */
  const double *bytes;            /* [tensors] of the full batch */
  const int32_t *first;           /* [tensors + 1] where the readers of each begin in consumer; from 0, rising */
  const int32_t *consumer;        /* [first[tensors]] */
  int32_t gradients;              /* summed over the replicas otherwise */
  const int32_t *gradient_op;     /* [gradients] the op that makes it */
  const double *gradient_bytes;   /* [gradients] */
  const double *gradient_seconds; /* [gradients] PER_DEVICE: time of its AllReduce, s; NaN, or NULL for all: by its bytes */
} berth_sfb_problem;
berth_sfb_problem berth_sfb_default(berth_sfb_cost cost); /* empty */

/** Against no op duplicated, s. total = work + gather - sync. */
typedef struct berth_sfb_value {
  double work;   /* repeated, per_op included */
  double gather; /* of tensors */
  double sync;   /* of gradients that need no AllReduce */
  double total;  /* below 0: it pays */
  int32_t duplicated, gathered, removed; /* ops, tensors, gradients */
} berth_sfb_value;

/**
 * What a given choice is worth.
 *
 * @param duplicated [ops] 1: every replica repeats it
 * @param gathered   [tensors] out; may be NULL
 * @param removed    [gradients] out; may be NULL
 * @return BERTH_OK; BERTH_EINVAL (the problem; a barred op duplicated)
 * O(ops + edges)
 */
berth_status berth_sfb_measure(berth_ctx *ctx, const berth_sfb_problem *p, const uint8_t *duplicated, uint8_t *gathered,
                               uint8_t *removed, berth_sfb_value *out);

/**
 * The best choice, as a minimum cut; of equally good ones that with the fewest ops.
 *
 * @param duplicated [ops] out  @param gathered [tensors] out; may be NULL  @param removed [gradients] out; may be NULL
 * @return BERTH_OK; BERTH_EINVAL (the problem; costs that are no finite numbers); BERTH_ENOMEM
 * Exact up to 2^-50 of the sum of all costs per cost. igraph's push-relabel on ops + tensors + 2 nodes.
 *
 * Source: Zhang and others, "Expediting Distributed DNN Training with Device Topology-Aware Graph Deployment", 2023, and its code.
 * Departs from it: a cut instead of a 0/1 program; PER_DEVICE; a tensor with several readers is gathered once; bytes instead of
 * elements; an M and a B of each op.
 */
berth_status berth_sfb_choose(berth_ctx *ctx, const berth_sfb_problem *p, uint8_t *duplicated, uint8_t *gathered, uint8_t *removed,
                              berth_sfb_value *out);

#ifdef __cplusplus
}
#endif
#endif
