/* RAMP: jobs whose ops are cut into pieces, on a flat optical cluster.
 *
 * Source: Parsonson, Shabka, Ottino, Zervas, "Partitioning Distributed Compute Jobs with
 * Reinforcement Learning and Graph Neural Networks", 2023 (PAC-ML), and its published simulator;
 * the network: Ottino et al., "RAMP", 2022. Two modes: compat does what the published simulator
 * does, quirks included; exact what it should do. Each function describes how they differ.
 *
 * Servers are (group, rack, slot), numbered lexicographically: (g * racks + r) * slots + s. */
#ifndef BERTH_RAMP_H
#define BERTH_RAMP_H

#include <berth/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct berth_ramp_options {
  int32_t groups, racks, slots; /* communication groups, racks in each (at most groups), servers in
                                   each; default 4, 4, 2; at most 1024 servers */
  double bandwidth;             /* bytes/s of a server in all; a channel between two has bandwidth /
                                   groups; default 1.6e12 */
  double latency, io_latency;   /* s, of propagation (default 50e-9) and at each end (100e-9) */
  double memory;                /* bytes of a server; default 80e9 */
  double memory_rate, flops;    /* bytes/s and FLOP/s of the additions of a reduction; default 2e12,
                                   130e12 */
  double value_bytes;           /* of a number that is reduced; default 2 */
  double quantum;               /* s; an op gets no more pieces than it has quanta; default: 1e-5 in
                                   exact mode, 0.01 in compat */
  double time_scale;            /* op times of graphs are multiplied by it; default 1, in compat
                                   1000: the published simulator takes the milliseconds of its
                                   profiles for seconds */
  int compat;                   /* 1: as published */
} berth_ramp_options;

/** @param compat 1: what the published results were made with */
berth_ramp_options berth_ramp_default(int compat);
const berth_option_table *berth_ramp_option_table(void);

/** A cluster; immutable. */
typedef struct berth_ramp berth_ramp;
/** @return BERTH_OK, BERTH_EINVAL (options: sizes, numbers), BERTH_ENOMEM */
berth_status berth_ramp_new(berth_ctx *ctx, const berth_ramp_options *opts, berth_ramp **out);
void berth_ramp_retain(berth_ramp *r);
void berth_ramp_release(berth_ramp *r);
int32_t berth_ramp_servers(const berth_ramp *r);
/** Lives as long as r. */
const berth_ramp_options *berth_ramp_options_of(const berth_ramp *r);

/** Seconds from one server to another: 0 on one server or for no bytes, else latency + 2 io_latency
 *  + bytes / (bandwidth / groups); NaN for servers that do not exist. Source: PAC-ML specification
 *  2.3 */
double berth_ramp_transfer(const berth_ramp *r, int32_t src, int32_t dst, double bytes);
/**
 * Seconds of an all-reduce, by reduce-scatter and all-gather in at most four stages.
 *
 * @param n end points  @param server [n] of each; may repeat  @param bytes of all messages together
 * @return BERTH_OK, BERTH_EINVAL (a server that does not exist, bytes)
 * compat: rate bandwidth / groups^2 of each transceiver; never contending racks. exact: bandwidth /
 * groups; as many racks contend as one group has among the end points. O(n)
 */
berth_status berth_ramp_collective(const berth_ramp *r, int32_t n, const int32_t *server,
                                   double bytes, double *seconds);

/* ---- models ---- */

/** A training graph that can be cut: what all jobs of one kind share. Immutable. */
typedef struct berth_ramp_model berth_ramp_model;
/**
 * @param g every op has a twin (berth_graph_mirror), one time for all devices; no collectives
 * @param order [forward ops] in which they are worked through, ids of g; NULL: by id. Published:
 *        lines of the profile
 * @param batch 1: ops with tensors flagged BERTH_TENSOR_BATCH are cut along it, all into as many
 *        pieces: each holds all parameters, works on its share of the samples, and sends it to the
 *        piece with the same number; the gradients are added up as ever. Ours, not published;
 *        BERTH_EINVAL on a compat cluster
 * @return BERTH_OK; BERTH_EINVAL (each op at fault is named); BERTH_ENOMEM
 */
berth_status berth_ramp_model_new(berth_ramp *r, berth_graph *g, const int32_t *order, int batch,
                                  berth_ramp_model **out);
void berth_ramp_model_retain(berth_ramp_model *m);
void berth_ramp_model_release(berth_ramp_model *m);
/** Seconds of one step on one server: the sum of all op times (scaled). */
double berth_ramp_sequential(const berth_ramp_model *m);
/** Bytes that all ops hold (activation and parameters, forward and backward), and that all
 * dependencies carry, uncut. */
double berth_ramp_model_memory(const berth_ramp_model *m);
double berth_ramp_model_bytes(const berth_ramp_model *m);

/* ---- one decision ---- */

typedef enum berth_ramp_cause {
  BERTH_RAMP_PLACED,
  BERTH_RAMP_NO_BLOCK /* an op has no free legal block: `op` is which, `pieces` how many it
                         needs */
} berth_ramp_cause;

/** What a model cut into at most so many pieces comes to on the servers that are free. */
typedef struct berth_ramp_outcome {
  berth_ramp_cause cause;
  int32_t op, pieces;        /* of NO_BLOCK; else BERTH_NONE and the most pieces of an op */
  int32_t n_servers;         /* that the job holds */
  int32_t ops, ticks;        /* pieces of ops; instants simulated */
  int64_t deps, flows;       /* dependencies between pieces, synchronisation included; those between
                                servers, with bytes */
  int32_t channels;          /* ordered pairs of servers between which there are flows */
  double step;               /* s of one training step */
  double compute, communication; /* s of a step with an op running, with a flow under way */
  double memory, bytes, flow_bytes; /* of all pieces; of all dependencies; of flows */
} berth_ramp_outcome;

/** Cuts, places, schedules and computes the look-ahead; keeps its arrays between calls. */
typedef struct berth_ramp_planner berth_ramp_planner;
berth_status berth_ramp_planner_new(berth_ramp *r, berth_ramp_planner **out);
void berth_ramp_planner_release(berth_ramp_planner *p);

/**
 * Pieces of an op: even, at most `most` and not below what its forward time has quanta, 1 if it
 * takes no time; the backward twin gets the same; exact: as many fewer as it takes to have a block
 * within the block of the op with most (6 in 4 x 4 x 2 become 4 beside 8). Placement: first fit of
 * legal blocks, in topological order of the forward ops. compat: parts of one op may be anywhere.
 * exact: the block of the op with most pieces is sought first, and the others within it, if they
 * can be.
 * Schedule: shortest piece first, shortest transfer first, by rank. Look-ahead: one step on the
 * servers, alone.
 * compat: transfers share nothing, time goes on to where the transfer of highest rank on some
 * channel ends, and those before it only then; synchronised pieces count as producers. exact: on a
 * channel one transfer at a time, by rank; a collective starts when its last piece is there.
 *
 * @param most 1 or even  @param busy [servers] nonzero: not free; NULL: all are free
 * @param servers [servers] out: those that it takes, ascending (n_servers of them); may be NULL
 * @param look 0: places only; step, ticks, compute and communication are then 0
 * @return BERTH_OK also if there is no block; BERTH_EINVAL (most; numbers too large to count),
 *         BERTH_ENOMEM, BERTH_EINTERRUPT
 * (called only while a step of many pieces is simulated; a hook must not use the same planner)
 * O(pieces x servers / 64 + dependencies): k^2 dependencies between two ops cost k operations and
 * k^2 additions.
 */
berth_status berth_ramp_plan(berth_ramp_planner *p, berth_ramp_model *m, int32_t most,
                             const uint8_t *busy, int look, int32_t *servers,
                             berth_ramp_outcome *out);
/**
 * The same with the ops that have most pieces on a block that the caller chooses: their free legal
 * block, or there is none.
 * @param n as many servers as these ops have pieces @param block [n] in the order of a block:
 *        lexicographic
 * @return also BERTH_EINVAL (n; a block that is not legal)
 */
berth_status berth_ramp_plan_on(berth_ramp_planner *p, berth_ramp_model *m, int32_t most,
                                const uint8_t *busy, int32_t n, const int32_t *block, int look,
                                int32_t *servers, berth_ramp_outcome *out);
/** Whether an op may have that many pieces, 1 or an even number, and some block of as many servers
 * is legal on an empty cluster. */
int berth_ramp_legal(const berth_ramp *r, int32_t pieces);

#ifdef __cplusplus
}
#endif
#endif
