/* What a strategy of deployment is worth: simulated, estimated, bounded; strategies to begin with; ops that replicas repeat. */
#ifndef BERTH_DEPLOY_VALUE_H
#define BERTH_DEPLOY_VALUE_H

#include <berth/deploy.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- by simulation ---------------------------------------------------------------------- */

typedef struct berth_deploy_value {
  double seconds;    /* step time */
  double peak;       /* bytes, the largest of all devices */
  int32_t over;      /* devices that hold more than their memory; 0 if memory is not accounted */
  int32_t worst;     /* the one of them that lacks most; BERTH_NONE */
  double shortfall;  /* bytes that it lacks */
  double excess;     /* sum over these devices of what they lack in parts of their memory */
  int32_t repeated;  /* ops marked in `duplicate` */
} berth_deploy_value;

/**
 * Compiles a strategy and simulates it.
 *
 * @param action [op groups]
 * @param duplicate [ops]; NULL: none
 * @param peak [devices] out, bytes; may be NULL
 * @return as berth_deploy_compile and berth_simulate, but BERTH_EUNREACHABLE where the end is later than the simulation can count;
 *         running out of memory is a value
 * Some 10 ms for 2,000 ops on 16 devices.
 */
berth_status berth_deploy_evaluate(berth_deploy *d, const int32_t *action, const uint8_t *duplicate, double *peak,
                                   berth_deploy_value *out);

/** How many strategies of d were simulated so far, by whatever function: the work done, whatever the machine. */
int64_t berth_deploy_evaluations(const berth_deploy *d);

/** What the simulation tells of each op and device; each array may be NULL. What an op is: its replicas, and what was inserted to
 *  handle its outputs, as berth_compiled_origin has it; collectives: their members. */
typedef struct berth_deploy_feedback {
  double *makespan;   /* [ops] s from the earliest start to the latest end */
  double *idle_after; /* [ops] s, least time from an end to the start of something else that waits for it: an op, a transfer, a
                         collective; 0 without */
  double *group_makespan; /* [op groups] s from the earliest start to the latest end of its ops */
  double *busy;       /* [devices] share of the step time in which it computes */
  double *peak;       /* [devices] bytes */
  double *link_busy;  /* [links of the topology] share of the step time with something on it */
} berth_deploy_feedback;

/** Errors as of berth_deploy_compile and berth_simulate. Source: TAG's code, which divided busy times as whole numbers, ended
 *  collectives for their last member only, let idle times wrap around, and had no links. */
berth_status berth_deploy_simulate(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                   berth_deploy_feedback *feedback, berth_deploy_value *out);

/* ---- ops that every replica repeats (SFB) ------------------------------------------------- */

typedef enum berth_deploy_sfb {
  BERTH_DEPLOY_SFB_NONE,
  BERTH_DEPLOY_SFB_LOCAL, /* op by op that makes a gradient: repeated if (time of the full batch - time of its share) on the
                             slowest device + gathering of what it reads, if no other repeated op of the group reads it, is less
                             than what the AllReduce of the op group saves */
  BERTH_DEPLOY_SFB_CUT    /* berth_sfb_choose on all op groups at once: chains of ops, too */
} berth_deploy_sfb;

/** Only ops in op groups with option ALLREDUCE on several devices are repeated. LOCAL depends on each group's own action, and is
 *  remembered: O(ops) from the second time on.
 *  @param duplicate [ops] out  @return BERTH_OK, BERTH_EINVAL (action), BERTH_ENOMEM */
berth_status berth_deploy_repeat(berth_deploy *d, const int32_t *action, berth_deploy_sfb rule, uint8_t *duplicate);

/**
 * A strategy with the ops that a rule repeats, or with none, whichever is better: a rule is believed only where the simulation
 * agrees. One simulation, or two where the rule repeats something.
 *
 * @param duplicate [ops] out: what is repeated in the better one
 * @param peak [devices] out, bytes; may be NULL
 * @return as berth_deploy_evaluate
 */
berth_status berth_deploy_evaluate_rule(berth_deploy *d, const int32_t *action, berth_deploy_sfb rule, uint8_t *duplicate,
                                        double *peak, berth_deploy_value *out);

/**
 * Keeps what pays: simulates without any repeated op, then without each layer (repeated ops that hang together), the layer first
 * whose inputs are largest, and takes off what is no slower without.
 *
 * @param duplicate [ops] in and out
 * @param most evaluations, at least 2: layers for which they do not suffice stay
 * @param out value of the result
 */
berth_status berth_deploy_guard(berth_deploy *d, const int32_t *action, uint8_t *duplicate, int32_t most,
                                berth_deploy_value *out);

/* ---- without simulation -------------------------------------------------------------------- */

/**
 * What each action of an op group would cost there, the other groups' actions as they are: time of its slowest device, plus what
 * keeps its variables in step (AllReduce as the cost model prices it, or ops repeated by the rule LOCAL if that is less; PS over
 * the busiest link), plus for each neighbour the tensors between the two that change device, over the busiest link of their
 * routes. An op group that is dealt out (SPLIT): its longest path, or its busiest device.
 *
 * @param action [op groups]
 * @param seconds [actions] out; INFINITY: illegal, or some device cannot hold the parameters
 * @return BERTH_OK, BERTH_EINVAL (action, group), BERTH_ENOMEM
 * O(actions x neighbours) but for what is asked for the first time.
 */
berth_status berth_deploy_local(berth_deploy *d, const int32_t *action, int32_t group, double *seconds);

/**
 * No strategy of the problem has a smaller step time, whatever its sets, options, shares and repeated ops are; memory does not
 * count. The larger of two bounds:
 *
 * Work. R(i,d) is the least time per sample of op i on device d, at any number of samples that the sets and shares give it,
 * times the batch; of ops that do not depend on the batch the time. A device that does a share x of the samples works at least
 * x R, and each sample of each op is worked on somewhere. So for any prices y of devices that add up to 1 the step takes at
 * least the sum over ops of the least y R. 200 prices are tried.
 *
 * Path. The samples of a batch go through the ops of a path; sample s takes, in each op, the time of the replica that has it.
 * The mean over samples is below the longest: an op counts with the least of sum over d of b_d / B t_d(b_d), where the b_d add
 * up to B. With t_d(b) >= o + c_d b that is at least o + B / sum (1 / c_d). With `positional` replicas are not matched by
 * samples: an op counts with its least time on any device at any number of samples.
 *
 * @param which "work" or "path": the larger one; may be NULL
 * @return BERTH_OK, BERTH_EUNSUPPORTED (noise), BERTH_ENOMEM
 */
berth_status berth_deploy_bound(berth_deploy *d, double *seconds, const char **which);

/* ---- to begin with ------------------------------------------------------------------------- */

typedef struct berth_deploy_list berth_deploy_list; /* of named strategies; immutable */

/**
 * Strategies that others would take, as far as the actions are there and legal:
 * "dp" all devices, AllReduce, even shares; "dp-speed" shares by speed; "dp-ps" and "dp-ps-speed" by PS; "model-parallel" all
 * devices, SPLIT (what cannot be dealt out is on one device, in turn); "single" the best device; "uniform-17" action 17, counted
 * from 1, for all op groups, for every action that is legal for all, and "uniform-17-sfb" with ops repeated by the rule LOCAL
 * where it repeats any; "heterog" and "chain" see below.
 *
 * heterog: each op group on one device, or on all with even shares or by speed, by PS or AllReduce. From the best of those that
 * are one such choice for all, op group by op group, the choice that is best by berth_deploy_local is simulated, and kept if it
 * is better. (The original learns all choices at once.)
 *
 * chain: op groups in the order of where their forward ops are, packed onto single devices. Devices in several orders (as
 * numbered, by memory, by speed), filled up one after another, or in pieces of equal time as far as memory allows; what an op
 * group holds is estimated, then corrected by what the simulation of the packing holds, five rounds. The fastest that memory can
 * hold, else that which lacks least.
 *
 * Takes some hundred evaluations the first time; the problem keeps them.
 */
berth_status berth_deploy_baselines(berth_deploy *d, berth_deploy_list **out);
void berth_deploy_list_release(berth_deploy_list *l); /* NULL is fine */
int32_t berth_deploy_list_size(const berth_deploy_list *l);
const char *berth_deploy_list_name(const berth_deploy_list *l, int32_t k);      /* NULL: no such k */
const int32_t *berth_deploy_list_action(const berth_deploy_list *l, int32_t k); /* [op groups]; NULL */
berth_deploy_sfb berth_deploy_list_rule(const berth_deploy_list *l, int32_t k);           /* of repeated ops: NONE or LOCAL */
const berth_deploy_value *berth_deploy_list_value(const berth_deploy_list *l, int32_t k); /* NULL */

/* ---- for graph networks --------------------------------------------------------------------- */

enum { BERTH_DEPLOY_OP_FEATURES = 13, BERTH_DEPLOY_DEVICE_FEATURES = 5, BERTH_DEPLOY_PLACE_FEATURES = 5 };
typedef enum berth_deploy_scale {
  BERTH_DEPLOY_SCALE_RAW, /* as published: times / T, sizes / (T b), bandwidths / b; T: Euclidean norm of the op groups' times at
                             the full batch, b: the largest bandwidth */
  BERTH_DEPLOY_SCALE_LOG  /* of these but shares and marks log(1 + 1000 x) / log(1001) */
} berth_deploy_scale;

typedef struct berth_deploy_shape {
  int32_t groups, device_groups, edges; /* edges: ordered pairs of op groups with a tensor from one to the other */
  const int32_t *from, *to;             /* [edges] op groups, by from, then to; as long as d */
} berth_deploy_shape;
berth_status berth_deploy_features_shape(berth_deploy *d, berth_deploy_shape *out);

/** Row-major; each may be NULL. */
typedef struct berth_deploy_features {
  float *op;     /* [groups x 13] time at B, B/2, B/4, B/8 samples, mean of devices; parameters; tensors within the group; 1 at
                    the option of three (DUPLICATE: none); mean makespan and idle_after of its ops; decided; being decided */
  float *device; /* [device groups x 5] devices / 4, memory (0: unlimited), bandwidth within; largest peak / memory; mean busy
                    share */
  float *edge;   /* [edges] bytes that cross */
  float *link;   /* [device groups x device groups] bandwidth from one to the other; diagonal: within */
  float *place;  /* [groups x device groups x 5] time at B, B/2, B/4, B/8 samples, mean over it; share of it in the set */
} berth_deploy_features;

/**
 * @param action [op groups]  @param duplicate [ops]; NULL: none
 * @param decided op groups that are decided: the first ones
 * @param deciding the one being decided; BERTH_NONE
 * @param feedback 1: simulates; 0: makespan, idle_after, peak and busy share are 0
 * @param value of the simulation; may be NULL
 * Source: TAG's code (features of its nodes and edges). Departs from it: bytes, not elements; crossing bytes are filled in; no
 * bandwidth is divided twice; times on a device group are means.
 */
berth_status berth_deploy_features_of(berth_deploy *d, const int32_t *action, const uint8_t *duplicate, int32_t decided,
                                      int32_t deciding, berth_deploy_scale scale, int feedback, berth_deploy_features *out,
                                      berth_deploy_value *value);

#ifdef __cplusplus
}
#endif
#endif
