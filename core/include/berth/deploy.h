/* Deployment: which devices repeat an op group, how they are kept in step, and the graph that comes of it. */
#ifndef BERTH_DEPLOY_H
#define BERTH_DEPLOY_H

#include <berth/analyse.h>
#include <berth/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum berth_deploy_option {
  BERTH_DEPLOY_PS,        /* replicas; gradients are summed on one device of the set, in turn, and read from there */
  BERTH_DEPLOY_ALLREDUCE, /* replicas; gradients by AllReduce */
  BERTH_DEPLOY_SPLIT,     /* model parallel: the ops of the group are dealt out to the devices */
  BERTH_DEPLOY_DUPLICATE  /* every device does all of the batch */
} berth_deploy_option;
typedef enum berth_deploy_shares {
  BERTH_SHARES_EVEN,
  BERTH_SHARES_SPEED      /* of the batch, in proportion to the speed of each device on the whole graph */
} berth_deploy_shares;

/** On a set of one device the option is PS and the shares are EVEN: the op group is just there. */
typedef struct berth_action {
  int32_t set;                 /* candidate device set */
  berth_deploy_option option;
  berth_deploy_shares shares;
} berth_action;

typedef enum berth_bucket { BERTH_BUCKET_NONE, BERTH_BUCKET_GROUP, BERTH_BUCKET_BYTES } berth_bucket;
typedef enum berth_deploy_order { BERTH_DEPLOY_FIFO, BERTH_DEPLOY_RANK } berth_deploy_order;

typedef struct berth_deploy_options {
  int32_t batch;                /* samples in a step; no default */
  const berth_analysis *analysis; /* NULL: berth_analyse with defaults */
  int32_t op_groups;            /* at most; default 60 */
  int top_k;                    /* 1: the costliest base groups as centres, each other one with the nearest; 0 (default): METIS */
  int split_parameters;         /* 1: as published: SPLIT balances parameters; 0 (default): time */
  uint64_t seed;                /* of METIS; default 0 */
  const int32_t *device_group;  /* [devices] any numbers from 0; NULL: same machine, type, speed, rates and memory */
  int32_t n_sets;               /* candidate device sets; 0: every union of device groups (above six: each alone, all of a type,
                                   all that share a machine, all), then every single device that is no union */
  const int32_t *set_at, *set_device; /* [n_sets + 1], [set_at[n_sets]] different devices each */
  int32_t n_points;             /* further profiles: costs of the same graph at other batch sizes, on the same topology */
  const int32_t *point_batch;   /* [n_points] */
  berth_cost *const *point_cost;
  int uneven;                   /* 1 (default): actions with shares SPEED too */
  int duplicates;               /* 1: actions with option DUPLICATE too; default 0 */
  int strict;                   /* 1: no replicas with unequal shares; default 0 */
  int redundant;                /* 1: as published: PS is legal, too, where no gradient is reduced; 0 (default): ALLREDUCE alone,
                                   a strategy with PS there counts as that */
  berth_bucket bucket;          /* gradients of an op group in one AllReduce (default), each alone, or up to bucket_bytes */
  double bucket_bytes;          /* goes with BYTES; default 25 MiB; a larger gradient goes alone */
  int split_gradients;          /* 1: as published: partial gradients count as 1/n of their bytes; default 0 */
  int positional;               /* 1: as published: parts by position, splits and concatenations on the first device; default 0 */
  int gather;                   /* 1 (default): parts to all replicas by AllGather; 0: a concatenation that all read */
  int free_auxiliary;           /* 1: splits, sums and concatenations take no time; 0 (default): bytes in and out / memory
                                   bandwidth */
  int input_at_first;           /* 1: input ops are on the first device that can run them, whole; 0 (default): where they are read
                                   first, and as that reader is, as synthetic input allows */
  berth_deploy_order order;     /* which ready op first; default RANK: longest way to the end, updates last; what makes gradients
                                   only goes behind what else reads the same */
} berth_deploy_options;
/** Which rules a problem is made for; prices and simulation are those of the cost and of the simulator's options. */
typedef enum berth_physics {
  BERTH_PHYSICAL,  /* the defaults above */
  BERTH_COMPAT,    /* TAG's model of communication: bucket NONE, free_auxiliary, FIFO */
  BERTH_PUBLISHED  /* as TAG's code does it: besides, split_parameters, split_gradients, positional, redundant; even shares and
                      concatenations only */
} berth_physics;
berth_deploy_options berth_deploy_default(berth_physics physics);

/** Problem: graph, devices, batch, candidate sets, actions; immutable but for its caches, so one thread at a time. */
typedef struct berth_deploy berth_deploy;

/**
 * @param cost the graph at the full batch on the topology; its model prices transfers and collectives of the compiled graphs, too
 * @param sim how compiled graphs are simulated; NULL: defaults
 * @param opts arrays are copied
 * @return BERTH_OK; BERTH_EINVAL (options; an analysis of another graph; a point of another graph or topology, or with the batch of
 *         another; what berth_sim_new says, with the order); BERTH_EUNSUPPORTED (functions of the user's for transfers or
 *         collectives; simulations of order READY; what berth_analyse and berth_sim_new say);
 *         BERTH_EINFEASIBLE (an op group that no action suits, with two ops that disagree); BERTH_ENOMEM
 *
 * Time of an op at b samples: with one cost, the straight line from the device's `overhead` at 0 (0 for profiled ops) to its time
 * at the full batch; with points, berth_batch_time. Ops whose work does not depend on the batch take all of their time. A replica
 * without samples takes none. With the cost's whole_us each is cut off again. EVEN, and SPEED in proportion to 1 / the whole
 * graph's time on each device, are rounded down, and what is left goes one by one to the device that is done first with it.
 * Source: Zhang et al., "Expediting Distributed DNN Training with Device Topology-Aware Graph Deployment", 2023, and its published
 * code. Departs from it: uneven shares, who owns which samples, buckets, AllGather, gradient sizes; each has its option.
 */
berth_status berth_deploy_new(berth_cost *cost, const berth_sim_options *sim, const berth_deploy_options *opts, berth_deploy **out);
void berth_deploy_retain(berth_deploy *d);
void berth_deploy_release(berth_deploy *d); /* NULL is fine */
berth_cost *berth_deploy_cost(const berth_deploy *d);                       /* borrowed */
const berth_analysis *berth_deploy_analysis(const berth_deploy *d);         /* borrowed */
const berth_deploy_options *berth_deploy_given(const berth_deploy *d);      /* the options, without their arrays */
const berth_sim_options *berth_deploy_simulation(const berth_deploy *d);    /* as given, or the defaults; without a rank */

int32_t berth_deploy_groups(const berth_deploy *d);                         /* op groups, heaviest first */
const int32_t *berth_deploy_group(const berth_deploy *d);                   /* [ops] op group of each */
const double *berth_deploy_group_seconds(const berth_deploy *d);            /* [groups] s at the full batch, mean over devices */
/** 1: replicas of the op group have gradients to sum or rows to put together; 0: PS and ALLREDUCE are the same. O(its edges) */
int berth_deploy_reduces(const berth_deploy *d, int32_t group);
int32_t berth_deploy_device_groups(const berth_deploy *d);
const int32_t *berth_deploy_device_group(const berth_deploy *d);            /* [devices] numbered by their lowest device */
int32_t berth_deploy_sets(const berth_deploy *d);
/** @return count, and through devices a borrowed array; 0 for an id out of range */
int32_t berth_deploy_set(const berth_deploy *d, int32_t set, const int32_t **devices);
/** Samples of each device of a set. @param out [devices of the set].  @return BERTH_OK, BERTH_EINVAL */
berth_status berth_deploy_samples(const berth_deploy *d, int32_t set, berth_deploy_shares shares, int32_t *out);
/** Which device of the set handles each sample.  @param out [batch] device.  @return BERTH_OK, BERTH_EINVAL */
berth_status berth_deploy_owners(const berth_deploy *d, int32_t set, berth_deploy_shares shares, int32_t *out);
/** Seconds of an op on a device at that many samples, INFINITY: cannot run there; NaN for what is out of range. */
double berth_deploy_op(const berth_deploy *d, int32_t op, int32_t device, int32_t samples);
/** By set; then PS, ALLREDUCE, each EVEN, then SPEED if that is different; SPLIT; DUPLICATE. One device: PS. */
int32_t berth_deploy_actions(const berth_deploy *d, const berth_action **out);
/** [groups x actions] 1: every op of the group can run on every device of the set (inputs need not); SPLIT: there are two ops or
 *  colocation groups to deal out; strict: shares are equal; PS on several devices: a gradient is reduced, or `redundant`. */
const uint8_t *berth_deploy_legal(const berth_deploy *d);

/* ---- the compiled graph ------------------------------------------------------------------- */

/** A strategy: action [op groups]; duplicate [ops] 1: every replica does all of the batch (SFB), or NULL. What reads a tensor of a
 *  repeated op that is not cut along the batch, updates excepted, is repeated, too. */

typedef enum berth_part {       /* what an op of the compiled graph is */
  BERTH_PART_REPLICA, BERTH_PART_SPLIT, BERTH_PART_CONCAT, BERTH_PART_SUM,
  BERTH_PART_BUCKET             /* member of a collective, of no time; in simulations of order EVENT beside the device's work */
} berth_part;
typedef struct berth_compiled berth_compiled; /* immutable */

/**
 * The graph that runs: replicas of every op on the devices of its action, pinned, and what keeps them in step.
 *
 * Replicas of an op that depends on the batch each do their samples (PS, ALLREDUCE), all others all of it. A tensor goes from one
 * way of being spread to another thus:
 *   whole -> whole      each device takes its own copy, or one of the same machine, or one in turn by its number;
 *   whole -> cut        a split on each device that serves itself or others, of what these own;
 *   cut -> cut          samples that change device are split off where they are and concatenated where they go;
 *   cut -> whole        one device: a concatenation there. Several: an AllGather over both sets, then a concatenation without time
 *                       on each device; where readers are fewer than half of these devices, a concatenation on each;
 *   gradients           ALLREDUCE with one set on both sides: an AllReduce, which the readers wait for, while the gradient stays
 *                       where it is. Else a sum on a device of the reader's set, in turn by running number of the update, which all
 *                       read. Sparse ones (SCATTER) under PS: a concatenation in the place of the sum.
 *
 * @return BERTH_OK; BERTH_EINVAL (no such action; one that is not legal, told why); BERTH_ENOMEM
 *
 * O(compiled ops + edges).
 */
berth_status berth_deploy_compile(berth_deploy *d, const int32_t *action, const uint8_t *duplicate, berth_compiled **out);
void berth_compiled_retain(berth_compiled *c);
void berth_compiled_release(berth_compiled *c); /* NULL is fine */
berth_deploy *berth_compiled_deploy(const berth_compiled *c);     /* borrowed */
berth_graph *berth_compiled_graph(const berth_compiled *c);       /* borrowed; one device type "": seconds are its device's */
berth_cost *berth_compiled_cost(const berth_compiled *c);         /* borrowed */
const int32_t *berth_compiled_device(const berth_compiled *c);    /* [compiled ops] */
const int32_t *berth_compiled_origin(const berth_compiled *c);    /* [compiled ops] op, or that whose output it handles */
const uint8_t *berth_compiled_part(const berth_compiled *c);      /* [compiled ops] berth_part */
const int32_t *berth_compiled_samples(const berth_compiled *c);   /* [compiled ops] of the batch that it handles */
const int32_t *berth_compiled_source(const berth_compiled *c);    /* [compiled tensors] tensor that it is, or is a part or sum of */
const double *berth_compiled_rank(const berth_compiled *c);       /* [compiled ops] for dispatch STATIC */
/** Every op has replicas, whose samples add up to the batch, or are all of it each; what each reads are the samples that it needs,
 *  and nothing twice; each gradient of each update is reduced exactly once; bytes are those of the samples; the graph is acyclic.
 *  Shares no code with what compiles.
 *  @return BERTH_OK, BERTH_EINVAL (what is wrong), BERTH_ENOMEM.  O(compiled ops + edges + members of collectives) */
berth_status berth_compiled_check(const berth_compiled *c);

#ifdef __cplusplus
}
#endif
#endif
