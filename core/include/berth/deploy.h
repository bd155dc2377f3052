/* Strategies for training graphs: how each op group runs on which devices (replicated with
 * AllReduce or parameter server, split, sufficient factor broadcasting).
 *
 * Nouns, in the order of use:
 *  - analysis: role and batch behaviour of each op of a training graph;
 *  - deployment problem (berth_deploy): graph, topology, op groups and their legal actions;
 *  - strategy: an action for each group; compiled: the graph that it becomes, with devices;
 *  - rule: a strategy given by role, as the published baselines are.
 * Objects keep what they are made of alive. Strategies are arrays of the caller. */
#ifndef BERTH_DEPLOY_H
#define BERTH_DEPLOY_H

#include <berth/decide.h>
#include <berth/placement.h>
#include <berth/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rules: what is known of a kind of op ---- */

typedef enum berth_role {
  BERTH_ROLE_COMPUTE,
  BERTH_ROLE_INPUT,    /* where the batch enters */
  BERTH_ROLE_VARIABLE, /* holds parameters, reads nothing */
  BERTH_ROLE_UPDATE,   /* optimiser step: its gradients are summed over the replicas */
  BERTH_ROLE_SCATTER,  /* sparse update: its indices and updates are concatenated */
  BERTH_ROLE_ASSIGN,   /* sets a variable, and is placed where that is */
  BERTH_ROLE_AUTO      /* in a rule: not given */
} berth_role;

/** When the output of an op has the batch as its first dimension. */
typedef enum berth_batch_rule {
  BERTH_BATCH_NEVER,
  BERTH_BATCH_ALWAYS,
  BERTH_BATCH_FIRST, /* as the first of its inputs that descend from the input of the graph */
  BERTH_BATCH_ANY,   /* as any of its inputs */
  BERTH_BATCH_AUTO   /* in a rule: not said */
} berth_batch_rule;

/** An attribute that changes the rule is part of the kind: "MatMul" has the batch of its first
 *  input, "MatMul:transpose_a" sums over it. Inputs are in the order in which they were added; in
 *  graphs from files and tables that is the order of tensors: hence parameters and constants among
 *  them are passed over. */
typedef struct berth_kind_rule {
  const char *kind;     /* as in berth_op.kind, whole, case counts; "*": every op that no other rule
                           is about */
  berth_role role;
  berth_batch_rule batch;
  int all_outputs;      /* 1: of every output; 0: of the first, the others never have it */
} berth_kind_rule;

/** The built-in table: kinds of TensorFlow graphs as published, and those of berth's own models.
 * @return its length */
int32_t berth_kind_rules(const berth_kind_rule **rules);

/* ---- analysis ---- */

/** Which tensors have the batch. Rules of the caller's come first in any case. */
typedef enum berth_batch_flags {
  BERTH_FLAGS_AUTO,  /* default: flags if any tensor has one */
  BERTH_FLAGS_RULES, /* by the built-in table */
  BERTH_FLAGS_GRAPH  /* those flagged BERTH_TENSOR_BATCH */
} berth_batch_flags;

typedef struct berth_analysis_options {
  int32_t n_rules;                /* looked up before the built-in table; the first that has the
                                     kind counts */
  const berth_kind_rule *rules;
  int32_t n_ops;                  /* ops with rules of their own; the last rule for an op
                                     counts */
  const int32_t *op;              /* [n_ops] */
  const berth_kind_rule *op_rule; /* [n_ops] kind is not read */
  berth_batch_flags flags;
} berth_analysis_options;
berth_analysis_options berth_analysis_default(void);
const berth_option_table *berth_analysis_option_table(void);

typedef struct berth_analysis berth_analysis; /* immutable; keeps the graph */

/**
 * Roles, batch flags and base groups of a training graph as it would run on one device.
 *
 * Role: by the rules of op and kind, else UPDATE where the op is flagged so, else COMPUTE. Batch
 * flags of tensors, in topological order: by the graph or by rules; then of what descends from the
 * input, what an update reads has none (it is summed), and what a scatter update reads has one (it
 * is concatenated). A tensor of 0 bytes without flags is a control dependency: it carries nothing.
 * From input: input ops, ops without inputs that make a tensor with the batch, and what descends
 * from these by data. Base groups: an update, scatter or assign op and the variables it reads; ops
 * from input and the maker of each tensor without the batch that they read, where that is from
 * input or in a group; colocation groups. A kind without a rule makes no batch, and joins the
 * makers of all that it reads, where flags do not say better. So every tensor between two base
 * groups has the batch, or does not depend on it.
 *
 * @param opts NULL: defaults
 * @return BERTH_OK; BERTH_EINVAL (rules); BERTH_EUNSUPPORTED (the graph has collectives: it is
 *         deployed already); BERTH_ENOMEM
 *
 * O(ops + edges + kinds x rules). Source: Zhang et al., "Expediting Distributed DNN Training with
 * Device Topology-Aware Graph Deployment", 2023, and its published code, graph analysis.
 * Departs from it: rules are data; the first input is the first that descends from the input; ops
 * may have several outputs; colocation groups count; unknown kinds are glued; sources of a batch
 * need not be of an input kind.
 */
berth_status berth_analyse(berth_graph *g, const berth_analysis_options *opts,
                           berth_analysis **out);
void berth_analysis_retain(berth_analysis *a);
void berth_analysis_release(berth_analysis *a); /* NULL is fine */
berth_graph *berth_analysis_graph(const berth_analysis *a);        /* borrowed */
const uint8_t *berth_analysis_role(const berth_analysis *a);       /* [ops] berth_role */
/* [tensors] 1: can be cut along the batch */
const uint8_t *berth_analysis_batch(const berth_analysis *a);
/** [tensors] 1: read by an update or scatter op, and from input: a gradient, to be summed where
 * batch is 0, else concatenated. */
const uint8_t *berth_analysis_gradient(const berth_analysis *a);
/* [ops] 1: an input, or descends from one */
const uint8_t *berth_analysis_from_input(const berth_analysis *a);
/** [ops] base group of each: those that must agree on being split; numbered by their lowest op from
 *  0; an op outside all has its own. @param n number of them; may be NULL */
const int32_t *berth_analysis_base(const berth_analysis *a, int32_t *n);
/** Kinds of ops from input that have no rule, so that these stay with what they read; in the order
 *  of their first ops, "" for ops without a kind. None where flags mark the batch. @return [n]
 *  borrowed texts; never NULL @param n not NULL */
const char *const *berth_analysis_unknown(const berth_analysis *a, int32_t *n);

/* ---- simplification ---- */

typedef struct berth_simplify_options {
  int32_t n_sinks;          /* 0: updates, scatter and assign ops; all ops, if there are none */
  const int32_t *sink;      /* [n_sinks] */
  int32_t n_kinds;          /* kinds of cheap ops; -1 (default): Sigmoid, Relu, LeakyRelu, Tanh */
  const char *const *kinds; /* [n_kinds] */
  double cheap;             /* also cheap: ops of at most this share of the time of all; 0
                               (default): none. Needs times */
  berth_cost *cost;         /* of the graph: times, and what joined ops take. NULL: see below */
  int control;              /* 1: tensors of 0 bytes without flags stay; 0 (default): they count for
                               what sinks need, no more */
} berth_simplify_options;
berth_simplify_options berth_simplify_default(void);
const berth_option_table *berth_simplify_option_table(void);

/**
 * A smaller graph to deploy: what no sink depends on is dropped; NoOp and Identity are removed,
 * their readers read what they read; a cheap op joins its parent, the deepest of the ops that it
 * reads from, if no other op reads from that one. The parent keeps its name, kind and twin. Never
 * joined: inputs, variables, updates, sinks, ops of another pass or stream, with another pin or
 * colocation group; without a cost, what has a profile and what has FLOP or bytes only. A sink that
 * is a NoOp represents what it waits for.
 *
 * What a joined op takes: seconds, FLOP, bytes and parameter bytes are the sums, the workspace is
 * the largest; tensors that only it read are gone. This is exact where both have profiles; and with
 * a cost: each joined op then has seconds for each type of device of its topology, the longest on a
 * device of that type (op_factor taken out again), so that no time gets lost. Without a cost a
 * roofline prices the sums as one fused kernel: less than the two by what memory traffic hides
 * behind arithmetic, and by one `overhead`.
 *
 * @param opts NULL: defaults
 * @param map [ops] new op of each, BERTH_NONE: dropped; may be NULL. An Identity follows the op
 *        that it reads from
 * @return BERTH_OK; BERTH_EINVAL (options; cheap without times; nothing left); BERTH_EUNSUPPORTED
 *         (collectives; with a cost, types of devices with and without a name); BERTH_ENOMEM. O(ops
 *         (devices + kinds) + edges)
 *
 * Source: as above, simplification. Departs from it: times are kept; a parent that others read from
 * keeps its activation.
 */
berth_status berth_simplify(const berth_graph *g, const berth_simplify_options *opts,
                            berth_graph **out, int32_t *map);

/* ---- strategies ---- */
/* Deployment: which devices repeat an op group, how they are kept in step, and the graph that comes
 * of it. */

typedef enum berth_deploy_option {
  BERTH_DEPLOY_PS,        /* replicas; gradients are summed on one device of the set, in turn, and
                             read from there */
  BERTH_DEPLOY_ALLREDUCE, /* replicas; gradients by AllReduce */
  BERTH_DEPLOY_SPLIT,     /* model parallel: the ops of the group are spread over the devices */
  BERTH_DEPLOY_DUPLICATE  /* every device does all of the batch */
} berth_deploy_option;
typedef enum berth_deploy_shares {
  BERTH_SHARES_EVEN,
  BERTH_SHARES_SPEED      /* of the batch, in proportion to the speed of each device on the whole
                             graph */
} berth_deploy_shares;

/** On a set of one device the option is PS and the shares are EVEN: the op group is just there. */
typedef struct berth_action {
  int32_t set;                 /* candidate device set */
  berth_deploy_option option;
  berth_deploy_shares shares;
} berth_action;

typedef enum berth_bucket {
  BERTH_BUCKET_NONE,
  BERTH_BUCKET_GROUP,
  BERTH_BUCKET_BYTES
} berth_bucket;
typedef enum berth_deploy_order { BERTH_DEPLOY_FIFO, BERTH_DEPLOY_RANK } berth_deploy_order;

typedef struct berth_deploy_options {
  int32_t batch;                /* samples in a step; no default */
  const berth_analysis *analysis; /* NULL: berth_analyse with defaults */
  int32_t op_groups;            /* at most, but for group_bytes; default 60 */
  double group_bytes;           /* most bytes of an op group, parameters (times the multiple of the
                                   simulation) and outputs of forward ops: one with more is cut
                                   into runs of base groups; default INFINITY */
  int top_k;                    /* 1: the costliest base groups as centres, each other one with the
                                   nearest; 0 (default): METIS */
  int split_parameters;         /* 1: as published: SPLIT balances parameters; 0 (default): time */
  uint64_t seed;                /* of METIS; default 0 */
  const int32_t *device_group;  /* [devices] any numbers from 0; NULL: same machine, type, speed,
                                   rates and memory */
  int32_t n_sets;               /* candidate device sets; 0: every union of device groups (above
                                   six: each alone, all of a type, all that share a machine, all),
                                   then every single device that is no union */
  const int32_t *set_at, *set_device; /* [n_sets + 1], [set_at[n_sets]] different devices each */
  int32_t n_points;             /* further profiles: costs of the same graph at other batch sizes,
                                   on the same topology */
  const int32_t *point_batch;   /* [n_points] */
  berth_cost *const *point_cost;
  int uneven;                   /* 1 (default): actions with shares SPEED too */
  int duplicates;               /* 1: actions with option DUPLICATE too; default 0 */
  int strict;                   /* 1: no replicas with unequal shares; default 0 */
  int redundant;                /* 1: as published: PS is legal, too, where no gradient is reduced;
                                   0 (default): ALLREDUCE alone, a strategy with PS there counts as
                                   that */
  berth_bucket bucket;          /* gradients of an op group in one AllReduce (default), each alone,
                                   or up to bucket_bytes */
  double bucket_bytes;          /* requires BYTES; default 25 MiB; a larger gradient goes alone */
  int split_gradients;          /* 1: as published: partial gradients count as 1/n of their bytes;
                                   default 0 */
  int positional;               /* 1: as published: parts by position, splits and concatenations on
                                   the first device; default 0 */
  int gather;                   /* 1 (default): parts to all replicas by AllGather; 0: a
                                   concatenation that all read */
  int free_auxiliary;           /* 1: splits, sums and concatenations take no time; 0 (default):
                                   bytes in and out / memory bandwidth */
  int input_at_first;           /* 1: input ops are on the first device that can run them, whole; 0
                                   (default): where they are read first, and as that reader is, as
                                   synthetic input allows */
  berth_deploy_order order;     /* which ready op first; default RANK: longest way to the end,
                                   updates last; what makes gradients only goes behind what else
                                   reads the same */
} berth_deploy_options;
/** Which rules a problem is made for; prices and simulation are those of the cost and of the
 * simulator's options. */
typedef enum berth_physics {
  BERTH_PHYSICAL,  /* the defaults above */
  BERTH_COMPAT,    /* TAG's model of communication: bucket NONE, free_auxiliary, FIFO */
  BERTH_PUBLISHED  /* as TAG's code does it: besides, split_parameters, split_gradients, positional,
                      redundant; even shares and concatenations only */
} berth_physics;
berth_deploy_options berth_deploy_default(berth_physics physics);
const berth_option_table *berth_deploy_option_table(void);

/** Problem: graph, devices, batch, candidate sets, actions; immutable but for its caches, so one
 * thread at a time. */
typedef struct berth_deploy berth_deploy;

/**
 * @param cost the graph at the full batch on the topology; its model prices transfers and
 *        collectives of the compiled graphs, too
 * @param sim how compiled graphs are simulated; NULL: defaults
 * @param opts arrays are copied
 * @return BERTH_OK; BERTH_EINVAL (options; an analysis of another graph; a point of another graph
 *         or topology, or with the batch of another; errors of berth_sim_new, with the order);
 *         BERTH_EUNSUPPORTED (functions of the user's for transfers or collectives; simulations of
 *         order READY; what berth_analyse and berth_sim_new say);
 *         BERTH_EINFEASIBLE (an op group that no action suits, with two ops that disagree);
 *         BERTH_ENOMEM
 *
 * Time of an op at b samples: with one cost, the straight line from the device's `overhead` at 0 (0
 * for profiled ops) to its time at the full batch; with points, berth_batch_time. Ops whose work
 * does not depend on the batch take all of their time. A replica without samples takes none. With
 * the cost's whole_us each is cut off again. EVEN, and SPEED in proportion to 1 / the whole graph's
 * time on each device, are rounded down, and what is left goes one by one to the device that is
 * done first with it. Source: Zhang et al., "Expediting Distributed DNN Training with Device
 * Topology-Aware Graph Deployment", 2023, and its published code. Departs from it: uneven shares,
 * who owns which samples, buckets, AllGather, gradient sizes; each has its option.
 */
berth_status berth_deploy_new(berth_cost *cost, const berth_sim_options *sim,
                              const berth_deploy_options *opts, berth_deploy **out);
void berth_deploy_retain(berth_deploy *d);
void berth_deploy_release(berth_deploy *d); /* NULL is fine */
berth_cost *berth_deploy_cost(const berth_deploy *d);                       /* borrowed */
const berth_analysis *berth_deploy_analysis(const berth_deploy *d);         /* borrowed */
/* the options, without their arrays */
const berth_deploy_options *berth_deploy_given(const berth_deploy *d);
/* as given, or the defaults; without a rank */
const berth_sim_options *berth_deploy_simulation(const berth_deploy *d);

/* op groups, heaviest first */
int32_t berth_deploy_groups(const berth_deploy *d);
/* [ops] op group of each */
const int32_t *berth_deploy_group(const berth_deploy *d);
/* [groups] s at the full batch, mean over devices */
const double *berth_deploy_group_seconds(const berth_deploy *d);
/** 1: replicas of the op group have gradients to sum or rows to put together; 0: PS and ALLREDUCE
 * are the same. O(its edges) */
int berth_deploy_reduces(const berth_deploy *d, int32_t group);
int32_t berth_deploy_device_groups(const berth_deploy *d);
/* [devices] numbered by their lowest device */
const int32_t *berth_deploy_device_group(const berth_deploy *d);
int32_t berth_deploy_sets(const berth_deploy *d);
/** @return count, and through devices a borrowed array; 0 for an id out of range */
int32_t berth_deploy_set(const berth_deploy *d, int32_t set, const int32_t **devices);
/** Samples of each device of a set. @param out [devices of the set]. @return BERTH_OK,
 * BERTH_EINVAL */
berth_status berth_deploy_samples(const berth_deploy *d, int32_t set, berth_deploy_shares shares,
                                  int32_t *out);
/** Which device of the set handles each sample. @param out [batch] device. @return BERTH_OK,
 * BERTH_EINVAL */
berth_status berth_deploy_owners(const berth_deploy *d, int32_t set, berth_deploy_shares shares,
                                 int32_t *out);
/** Seconds of an op on a device at that many samples, INFINITY: cannot run there; NaN for what is
 * out of range. */
double berth_deploy_op(const berth_deploy *d, int32_t op, int32_t device, int32_t samples);
/** By set; then PS, ALLREDUCE, each EVEN, then SPEED if that is different; SPLIT; DUPLICATE. One
 * device: PS. */
int32_t berth_deploy_actions(const berth_deploy *d, const berth_action **out);
/** [groups x actions] 1: every op of the group can run on every device of the set (inputs need
 *  not); SPLIT: there are two ops or colocation groups to deal out; strict: shares are equal; PS on
 *  several devices: a gradient is reduced, or `redundant`. */
const uint8_t *berth_deploy_legal(const berth_deploy *d);

/* ---- the compiled graph ---- */

/** A strategy: action [op groups]; duplicate [ops] 1: every replica does all of the batch (SFB), or
 *  NULL. What reads a tensor of a repeated op that is not cut along the batch, updates excepted, is
 *  repeated, too. */

typedef enum berth_part {       /* what an op of the compiled graph is */
  BERTH_PART_REPLICA, BERTH_PART_SPLIT, BERTH_PART_CONCAT, BERTH_PART_SUM,
  BERTH_PART_BUCKET             /* member of a collective, of no time; in simulations of order EVENT
                                   beside the device's work */
} berth_part;
typedef struct berth_compiled berth_compiled; /* immutable */

/**
 * The graph that runs: replicas of every op on the devices of its action, pinned, and what keeps
 * them in step.
 *
 * Replicas of an op that depends on the batch each do their samples (PS, ALLREDUCE), all others all
 * of it. A tensor goes from one way of being spread to another thus:
 *   whole -> whole each device takes its own copy, or one of the same machine, or one in turn by
 *   its number;
 *   whole -> cut        a split on each device that serves itself or others, of what these own;
 *   cut -> cut samples that change device are split off where they are and concatenated where they
 *   go;
 *   cut -> whole one device: a concatenation there. Several: an AllGather over both sets, then a
 *                       concatenation without time on each device; where readers are fewer than
 *                       half of these devices, a concatenation on each;
 *   gradients           ALLREDUCE with one set on both sides: an AllReduce, which the readers wait
 *                       for, while the gradient stays where it is. Else a sum on a device of the
 *                       reader's set, in turn by running number of the update, which all read.
 *                       Sparse ones (SCATTER) under PS: a concatenation in the place of the sum.
 *
 * @return BERTH_OK; BERTH_EINVAL (no such action; one that is not legal; the message gives the
 *         reason);
 *         BERTH_ENOMEM
 *
 * O(compiled ops + edges).
 */
berth_status berth_deploy_compile(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                  berth_compiled **out);
void berth_compiled_retain(berth_compiled *c);
void berth_compiled_release(berth_compiled *c); /* NULL is fine */
berth_deploy *berth_compiled_deploy(const berth_compiled *c);     /* borrowed */
/* borrowed; one device type "": seconds are its device's */
berth_graph *berth_compiled_graph(const berth_compiled *c);
berth_cost *berth_compiled_cost(const berth_compiled *c);         /* borrowed */
const int32_t *berth_compiled_device(const berth_compiled *c);    /* [compiled ops] */
/* [compiled ops] op, or that whose output it handles */
const int32_t *berth_compiled_origin(const berth_compiled *c);
const uint8_t *berth_compiled_part(const berth_compiled *c);      /* [compiled ops] berth_part */
/* [compiled ops] of the batch that it handles */
const int32_t *berth_compiled_samples(const berth_compiled *c);
/* [compiled tensors] tensor that it is, or is a part or sum of */
const int32_t *berth_compiled_source(const berth_compiled *c);
/* [compiled ops] for dispatch STATIC */
const double *berth_compiled_rank(const berth_compiled *c);
/** Every op has replicas, whose samples add up to the batch, or are all of it each; what each reads
 *  are the samples that it needs, and nothing twice; each gradient of each update is reduced
 *  exactly once; bytes are those of the samples; the graph is acyclic. Shares no code with what
 *  compiles.
 *  @return BERTH_OK, BERTH_EINVAL (what is wrong), BERTH_ENOMEM. O(compiled ops + edges + members
 *          of collectives) */
berth_status berth_compiled_check(const berth_compiled *c);

/* ---- values of strategies ---- */
/* What a strategy of deployment is worth: simulated, estimated, bounded; strategies to begin with;
 * ops that replicas repeat. */

/* ---- by simulation ---- */

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
 * @return as berth_deploy_compile and berth_simulate, but BERTH_EUNREACHABLE where the end is later
 *         than the simulation can count; running out of memory is a value
 * Some 10 ms for 2,000 ops on 16 devices.
 */
berth_status berth_deploy_evaluate(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                   double *peak, berth_deploy_value *out);

/** How many strategies of d were simulated so far, by whatever function: the work done, whatever
 * the machine. */
int64_t berth_deploy_evaluations(const berth_deploy *d);

/** What the simulation reports of each op and device; each array may be NULL. What an op is: its
 *  replicas, and what was inserted to handle its outputs, as berth_compiled_origin has it;
 *  collectives: their members. */
typedef struct berth_deploy_feedback {
  double *makespan;   /* [ops] s from the earliest start to the latest end */
  double *idle_after; /* [ops] s, least time from an end to the start of something else that waits
                         for it: an op, a transfer, a collective; 0 without */
  double *group_makespan; /* [op groups] s from the earliest start to the latest end of its ops */
  double *busy;       /* [devices] share of the step time in which it computes */
  double *peak;       /* [devices] bytes */
  double *link_busy;  /* [links of the topology] share of the step time with something on it */
} berth_deploy_feedback;

/** Errors as of berth_deploy_compile and berth_simulate. Source: TAG's code, which divided busy
 *  times as whole numbers, ended collectives for their last member only, let idle times wrap
 *  around, and had no links. */
berth_status berth_deploy_simulate(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                   berth_deploy_feedback *feedback, berth_deploy_value *out);

/* ---- ops that every replica repeats (SFB) ---- */

typedef enum berth_deploy_sfb {
  BERTH_DEPLOY_SFB_NONE,
  BERTH_DEPLOY_SFB_LOCAL, /* op by op that makes a gradient: repeated if (time of the full batch -
                             time of its share) on the slowest device + gathering of what it reads,
                             if no other repeated op of the group reads it, is less than what the
                             AllReduce of the op group saves */
  BERTH_DEPLOY_SFB_CUT    /* berth_sfb_choose on all op groups at once: chains of ops, too */
} berth_deploy_sfb;

/** Only ops in op groups with option ALLREDUCE on several devices are repeated. LOCAL depends on
 *  each group's own action, and is remembered: O(ops) from the second time on.
 *  @param duplicate [ops] out  @return BERTH_OK, BERTH_EINVAL (action), BERTH_ENOMEM */
berth_status berth_deploy_repeat(berth_deploy *d, const int32_t *action, berth_deploy_sfb rule,
                                 uint8_t *duplicate);

/**
 * A strategy with the ops that a rule repeats, or with none, whichever is better: a rule is
 * believed only where the simulation agrees. One simulation, or two where the rule repeats
 * something.
 *
 * @param duplicate [ops] out: what is repeated in the better one
 * @param peak [devices] out, bytes; may be NULL
 * @return as berth_deploy_evaluate
 */
berth_status berth_deploy_evaluate_rule(berth_deploy *d, const int32_t *action,
                                        berth_deploy_sfb rule, uint8_t *duplicate, double *peak,
                                        berth_deploy_value *out);

/**
 * Keeps what pays: simulates without any repeated op, then without each layer (repeated ops that
 * hang together), the layer first whose inputs are largest, and takes off what is no slower
 * without.
 *
 * @param duplicate [ops] in and out
 * @param most evaluations, at least 2: layers for which they do not suffice stay
 * @param out value of the result
 */
berth_status berth_deploy_guard(berth_deploy *d, const int32_t *action, uint8_t *duplicate,
                                int32_t most, berth_deploy_value *out);

/* ---- without simulation ---- */

/**
 * What each action of an op group would cost there, the other groups' actions as they are: time of
 * its slowest device, plus what keeps its variables in step (AllReduce as the cost model prices it,
 * or ops repeated by the rule LOCAL if that is less; PS over the busiest link), plus for each
 * neighbour the tensors between the two that change device, over the busiest link of their routes.
 * An op group that is spread (SPLIT): its longest path, or its busiest device.
 *
 * @param action [op groups]
 * @param seconds [actions] out; INFINITY: illegal, or some device cannot hold the parameters
 * @return BERTH_OK, BERTH_EINVAL (action, group), BERTH_ENOMEM
 * O(actions x neighbours) but for what is computed on first use.
 */
berth_status berth_deploy_local(berth_deploy *d, const int32_t *action, int32_t group,
                                double *seconds);

/**
 * No strategy of the problem has a smaller step time, whatever its sets, options, shares and
 * repeated ops are; memory does not count. The larger of two bounds:
 *
 * Work. R(i,d) is the least time per sample of op i on device d, at any number of samples that the
 * sets and shares give it, times the batch; of ops that do not depend on the batch the time. A
 * device that does a share x of the samples works at least x R, and each sample of each op is
 * worked on somewhere. So for any prices y of devices that add up to 1 the step takes at least the
 * sum over ops of the least y R. 200 prices are evaluated.
 *
 * Path. The samples of a batch go through the ops of a path; sample s takes, in each op, the time
 * of the replica that has it. The mean over samples is below the longest: an op counts with the
 * least of sum over d of b_d / B t_d(b_d), where the b_d add up to B. With t_d(b) >= o + c_d b that
 * is at least o + B / sum (1 / c_d). With `positional` replicas are not matched by samples: an op
 * counts with its least time on any device at any number of samples.
 *
 * @param which "work" or "path": the larger one; may be NULL
 * @return BERTH_OK, BERTH_EUNSUPPORTED (noise), BERTH_ENOMEM
 */
berth_status berth_deploy_bound(berth_deploy *d, double *seconds, const char **which);

/* ---- to begin with ---- */

typedef struct berth_deploy_list berth_deploy_list; /* of named strategies; immutable */

/**
 * Strategies that others would take, as far as the actions are there and legal:
 * "dp" all devices, AllReduce, even shares; "dp-speed" shares by speed; "dp-ps" and "dp-ps-speed"
 * by PS; "model-parallel" all devices, SPLIT (what cannot be spread is on one device, in turn);
 * "single" the best device; "uniform-17" action 17, counted from 1, for all op groups, for every
 * action that is legal for all, and "uniform-17-sfb" with ops repeated by the rule LOCAL where it
 * repeats any; "heterog" and "chain" see below.
 *
 * heterog: each op group on one device, or on all with even shares or by speed, by PS or AllReduce.
 * From the best of those that are one such choice for all, op group by op group, the choice that is
 * best by berth_deploy_local is simulated, and kept if it is better. (The original learns all
 * choices at once.)
 *
 * chain: op groups in the order of where their forward ops are, packed onto single devices. Devices
 * in several orders (as numbered, by memory, by speed), filled up one after another, in pieces of
 * equal time as far as memory allows, or each by the same least share of its memory; what an op
 * group holds is estimated, then corrected by what the simulation of the packing holds, five
 * rounds. The fastest that memory can hold, else that which lacks least.
 *
 * Takes some hundred evaluations the first time; the problem keeps them.
 */
berth_status berth_deploy_baselines(berth_deploy *d, berth_deploy_list **out);
void berth_deploy_list_release(berth_deploy_list *l); /* NULL is fine */
/**
 * The strategy that is nearest to a placement of the graph: each op group on the device alone that
 * holds most of its parameters and outputs; if none holds any, on that of most time; ties to the
 * lowest device. The same as the placement where no op group is on several devices.
 *
 * @param device [ops] of a placement
 * @param action [op groups] out
 * @return BERTH_OK; BERTH_EINVAL (no such device); BERTH_EINFEASIBLE (the device alone is not among
 *         the candidate sets, or cannot run the op group); BERTH_ENOMEM
 * O(ops + groups devices)
 */
berth_status berth_deploy_from_placement(berth_deploy *d, const int32_t *device, int32_t *action);

/**
 * A proof that no strategy fits: the parameters of an op, with its colocation group, are larger
 * than each device that can run it, or those of all ops than all devices together. Replicas and
 * repeated ops hold parameters again, so that this holds whatever is decided.
 *
 * @param why the op, device and bytes that are missing; BERTH_NONE where it is about all; may be
 *        NULL
 * @return BERTH_EINFEASIBLE: it is proved, the message is the proof; BERTH_OK: it is not, and
 *         nothing is known; BERTH_ENOMEM
 * O(ops devices)
 */
berth_status berth_deploy_prove_infeasible(const berth_deploy *d, berth_obstacle *why);

int32_t berth_deploy_list_size(const berth_deploy_list *l);
/* NULL: no such k */
const char *berth_deploy_list_name(const berth_deploy_list *l, int32_t k);
/* [op groups]; NULL */
const int32_t *berth_deploy_list_action(const berth_deploy_list *l, int32_t k);
/* of repeated ops: NONE or LOCAL */
berth_deploy_sfb berth_deploy_list_rule(const berth_deploy_list *l, int32_t k);
const berth_deploy_value *berth_deploy_list_value(const berth_deploy_list *l, int32_t k); /* NULL */

/* ---- for graph networks ---- */

enum {
  BERTH_DEPLOY_OP_FEATURES = 13,
  BERTH_DEPLOY_DEVICE_FEATURES = 5,
  BERTH_DEPLOY_PLACE_FEATURES = 5
};
typedef enum berth_deploy_scale {
  BERTH_DEPLOY_SCALE_RAW, /* as published: times / T, sizes / (T b), bandwidths / b; T: Euclidean
                             norm of the op groups' times at the full batch, b: the largest
                             bandwidth */
  BERTH_DEPLOY_SCALE_LOG  /* of these but shares and marks log(1 + 1000 x) / log(1001) */
} berth_deploy_scale;

typedef struct berth_deploy_shape {
  int32_t groups, device_groups, edges; /* edges: ordered pairs of op groups with a tensor from one
                                           to the other */
  const int32_t *from, *to;             /* [edges] op groups, by from, then to; as long as d */
} berth_deploy_shape;
berth_status berth_deploy_features_shape(berth_deploy *d, berth_deploy_shape *out);

/** Row-major; each may be NULL. */
typedef struct berth_deploy_features {
  float *op;     /* [groups x 13] time at B, B/2, B/4, B/8 samples, mean of devices; parameters;
                    tensors within the group; 1 at the option of three (DUPLICATE: none); mean
                    makespan and idle_after of its ops; decided; being decided */
  float *device; /* [device groups x 5] devices / 4, memory (0: unlimited), bandwidth within;
                    largest peak / memory; mean busy share */
  float *edge;   /* [edges] bytes that cross */
  float *link;   /* [device groups x device groups] bandwidth from one to the other; diagonal:
                    within */
  float *place;  /* [groups x device groups x 5] time at B, B/2, B/4, B/8 samples, mean over it;
                    share of it in the set */
} berth_deploy_features;

/**
 * @param action [op groups]  @param duplicate [ops]; NULL: none
 * @param decided op groups that are decided: the first ones
 * @param deciding the one being decided; BERTH_NONE
 * @param feedback 1: simulates; 0: makespan, idle_after, peak and busy share are 0
 * @param value of the simulation; may be NULL
 * Source: TAG's code (features of its nodes and edges). Departs from it: bytes, not elements;
 * crossing bytes are filled in; no bandwidth is divided twice; times on a device group are means.
 */
berth_status berth_deploy_features_of(berth_deploy *d, const int32_t *action,
                                      const uint8_t *duplicate, int32_t decided, int32_t deciding,
                                      berth_deploy_scale scale, int feedback,
                                      berth_deploy_features *out, berth_deploy_value *value);

/* ---- search ---- */
/* Searching strategies of deployment: op groups as decisions, step times as values. */

typedef enum berth_deploy_prior {
  BERTH_DEPLOY_PRIOR_LOCAL,   /* by berth_deploy_local: exp(-(t - least) / (temperature * least)) */
  BERTH_DEPLOY_PRIOR_UNIFORM,
  BERTH_DEPLOY_PRIOR_OWN      /* function `own`, such as a trained network */
} berth_deploy_prior;

typedef struct berth_deploy_search_options {
  berth_deploy_prior prior;
  double temperature;        /* of LOCAL, above 0; default 0.3 */
  berth_deploy_sfb sfb;      /* the rule for ops that replicas repeat; default LOCAL */
  int choose;                /* 1 (default): with LOCAL each op group chooses whether its ops are
                                repeated, see below; 0, and with CUT: all that the rule lists, or
                                none, whichever is better, for the whole strategy */
  berth_fill fill;           /* NEAREST (default), FIRST or START */
  int steps;                 /* 1: the tree chooses device group by device group, then option and
                                shares; 0: whole actions; default -1: in steps above six device
                                groups */
  int32_t n_starts;
  const int32_t *start;      /* [n_starts * op groups] assignments of the search. None, and no
                                baselines: all devices, AllReduce, even shares, or what is nearest
                                to it among the actions, where that is illegal, the first legal
                                action; if it does not fit, the same with SPLIT, too; then the chain
                                of berth_deploy_baselines. (To see whether they fit is not
                                counted.) */
  int baselines;             /* 1: begins with berth_deploy_baselines, too, whose values are known
                                and not counted; where a rule holds for whole strategies, with the
                                first and the two best of them, valued again; default 0 */
  /* as `prior` of berth_decisions, but of strategies: assignments and weights are of the problem's
   * actions; where an op group may repeat ops, half of the weight is for that */
  berth_status (*own)(void *ud, int32_t k, const berth_leaf *leaf, double *p);
  void *ud;
  berth_decide_options decide;
} berth_deploy_search_options;
/** @param published 1: as TAG's code: tree alone, uniform prior, fill FIRST, no repeated ops */
berth_deploy_search_options berth_deploy_search_default(int published);
const berth_option_table *berth_deploy_search_option_table(void); /* but for `decide` */
const berth_choice *const *berth_deploy_sfb_choices(void);

/**
 * A search on the strategies of d: decisions are the op groups, heaviest first. What runs out of
 * memory is not allowed, and exceeds by the sum over devices of peak / memory - 1; what has no
 * route is not allowed. Near are op groups whose forward ops (else backward ones, mirrored) are
 * near in topological order; seams are where few bytes of the batch cross. The rest is that of
 * berth_decider;
 * berth_deploy_strategy returns what an assignment means. An evaluation is one strategy and one
 * simulation; without `choose` two where the rule repeats something.
 *
 * With `choose` the search has more actions than the problem: behind these, in their order, each
 * AllReduce on several devices once more, now with the ops of the op group repeated by the rule
 * LOCAL; legal where that repeats any.
 *
 * @param opts NULL: defaults
 * @return BERTH_OK, BERTH_EINVAL, BERTH_ENOMEM
 */
berth_status berth_deploy_decider(berth_deploy *d, const berth_deploy_search_options *opts,
                                  berth_decider **out);

/**
 * Where op groups are in the model, as searches see it: the mean place of their forward ops in
 * topological order, else of what they have of backward ops, mirrored, else of variables, else of
 * updates.
 * @param position [op groups] out  @return BERTH_OK, BERTH_ENOMEM
 */
berth_status berth_deploy_positions(const berth_deploy *d, double *position);

/** Actions of a search with these options: at least those of the problem. */
int32_t berth_deploy_search_actions(const berth_deploy *d, const berth_deploy_search_options *opts);
/**
 * The strategy that an assignment of the search means.
 * @param assignment [op groups] @param action [op groups] out @param duplicate [ops] out: ops that
 *        are repeated
 * @return BERTH_OK, BERTH_EINVAL (illegal), BERTH_ENOMEM; where a rule holds for whole strategies
 *         as berth_deploy_evaluate_rule, which it takes
 */
berth_status berth_deploy_strategy(berth_deploy *d, const berth_deploy_search_options *opts,
                                   const int32_t *assignment, int32_t *action, uint8_t *duplicate);
/**
 * The assignment that is nearest to a strategy: where an action is illegal, its substitute; an
 * op group with a repeated op repeats all that the rule lists, if the search has a choice.
 * @param duplicate [ops]; NULL: none @param out [op groups] @return BERTH_OK, BERTH_EINVAL,
 *        BERTH_ENOMEM
 */
berth_status berth_deploy_assignment(berth_deploy *d, const berth_deploy_search_options *opts,
                                     const int32_t *action, const uint8_t *duplicate, int32_t *out);

/* ---- sufficient factor broadcasting ---- */
/* Sufficient factor broadcasting: which ops every replica repeats for the full batch, so that
 * gradients need no AllReduce. */

/**
 * What the choice costs. Op i has M_i replicas that each do 1/M_i of the batch, T_i s for all of
 * it, and B_i bytes/s to the slowest of them. Duplicated, every replica does all of it. A tensor of
 * S bytes made by an op i that is not duplicated is gathered if an op that reads it is. The
 * gradients of a duplicated op are whole on every replica: their AllReduce is dropped.
 *
 * PER_DEVICE: seconds on one device: (1 - 1/M) T for a duplicated op, (M-1)/M S/B for a tensor,
 *             once for all its readers; less t for a gradient, 2 (M-1)/M S/B unless given
 * COMPAT:     as published, work and traffic of all devices together: (M-1) T + per_op for a
 *             duplicated op, M(M-1) S/B for every edge from an op that is not duplicated to one
 *             that is; less 2 (M-1)/M S/B for a gradient
 */
typedef enum berth_sfb_cost { BERTH_SFB_PER_DEVICE, BERTH_SFB_COMPAT } berth_sfb_cost;

typedef struct berth_sfb_problem {
  berth_sfb_cost cost;
  double per_op;                  /* s for each duplicated op; default 0, and 1e-6 (as published)
                                     for COMPAT */
  int32_t ops;
  const double *seconds;          /* [ops] T, of the full batch */
  const int32_t *replicas;        /* [ops] M, at least 1 */
  const double *bandwidth;        /* [ops] B, bytes/s; may be infinite */
  const uint8_t *barred;          /* [ops] 1: never duplicated (not replicated, not kept in step by
                                     AllReduce); NULL: none */
  int32_t tensors;                /* those that are cut along the batch; others are on every
                                     replica */
  const int32_t *producer;        /* [tensors] */
  const double *bytes;            /* [tensors] of the full batch */
  const int32_t *first;           /* [tensors + 1] where the readers of each begin in consumer; from
                                     0, rising */
  const int32_t *consumer;        /* [first[tensors]] */
  int32_t gradients;              /* summed over the replicas otherwise */
  const int32_t *gradient_op;     /* [gradients] the op that makes it */
  const double *gradient_bytes;   /* [gradients] */
  const double *gradient_seconds; /* [gradients] PER_DEVICE: time of its AllReduce, s; NaN, or NULL
                                     for all: by its bytes */
} berth_sfb_problem;
berth_sfb_problem berth_sfb_default(berth_sfb_cost cost); /* empty */
/** `cost` and what berth_sfb_default sets by it. */
const berth_option_table *berth_sfb_option_table(void);

/** Against no op duplicated, s. total = work + gather - sync. */
typedef struct berth_sfb_value {
  double work;                           /* repeated, per_op included */
  double gather;                         /* of tensors */
  double sync;                           /* of gradients that need no AllReduce */
  double total;                          /* below 0: it pays */
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
berth_status berth_sfb_measure(berth_ctx *ctx, const berth_sfb_problem *p,
                               const uint8_t *duplicated, uint8_t *gathered, uint8_t *removed,
                               berth_sfb_value *out);

/**
 * The best choice, as a minimum cut; of equally good ones that with the fewest ops.
 *
 * @param duplicated [ops] out @param gathered [tensors] out; may be NULL @param removed [gradients]
 *        out; may be NULL
 * @return BERTH_OK; BERTH_EINVAL (the problem; costs that are no finite numbers); BERTH_ENOMEM
 * Exact up to 2^-50 of the sum of all costs per cost. igraph's push-relabel on ops + tensors + 2
 * nodes.
 *
 * Source: Zhang and others, "Expediting Distributed DNN Training with Device Topology-Aware Graph
 * Deployment", 2023, and its code. Departs from it: a cut instead of a 0/1 program; PER_DEVICE; a
 * tensor with several readers is gathered once; bytes instead of elements; an M and a B of each op.
 */
berth_status berth_sfb_choose(berth_ctx *ctx, const berth_sfb_problem *p, uint8_t *duplicated,
                              uint8_t *gathered, uint8_t *removed, berth_sfb_value *out);

#ifdef __cplusplus
}
#endif
#endif
