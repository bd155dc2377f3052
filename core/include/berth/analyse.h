/* Analysis of a training graph: what depends on the batch, which ops must agree on how they are split, what can be left out. */
#ifndef BERTH_ANALYSE_H
#define BERTH_ANALYSE_H

#include <berth/cost.h>
#include <berth/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rules: what is known of a kind of op ------------------------------------------------- */

typedef enum berth_role {
  BERTH_ROLE_COMPUTE,
  BERTH_ROLE_INPUT,    /* where the batch enters */
  BERTH_ROLE_VARIABLE, /* holds parameters, reads nothing */
  BERTH_ROLE_UPDATE,   /* optimiser step: its gradients are summed over the replicas */
  BERTH_ROLE_SCATTER,  /* sparse update: its indices and updates are concatenated */
  BERTH_ROLE_ASSIGN,   /* sets a variable, and goes where that is */
  BERTH_ROLE_AUTO      /* in a rule: not said */
} berth_role;

/** When the output of an op has the batch as its first dimension. */
typedef enum berth_batch_rule {
  BERTH_BATCH_NEVER,
  BERTH_BATCH_ALWAYS,
  BERTH_BATCH_FIRST, /* as the first of its inputs that descend from the input of the graph */
  BERTH_BATCH_ANY,   /* as any of its inputs */
  BERTH_BATCH_AUTO   /* in a rule: not said */
} berth_batch_rule;

/** An attribute that changes the rule is part of the kind: "MatMul" has the batch of its first input, "MatMul:transpose_a" sums
 *  over it. Inputs stand in the order in which they were added; in graphs from files and tables that is the order of tensors:
 *  hence parameters and constants among them are passed over. */
typedef struct berth_kind_rule {
  const char *kind;     /* as in berth_op.kind, whole, case counts; "*": every op that no other rule is about */
  berth_role role;
  berth_batch_rule batch;
  int all_outputs;      /* 1: of every output; 0: of the first, the others never have it */
} berth_kind_rule;

/** The built-in table: kinds of TensorFlow graphs as published, and those of berth's own models.  @return its length */
int32_t berth_kind_rules(const berth_kind_rule **rules);

/* ---- analysis ----------------------------------------------------------------------------- */

typedef struct berth_analysis_options {
  int32_t n_rules;                /* looked up before the built-in table; the first that has the kind counts */
  const berth_kind_rule *rules;
  int32_t n_ops;                  /* ops of which the caller knows better; the last rule for an op counts */
  const int32_t *op;              /* [n_ops] */
  const berth_kind_rule *op_rule; /* [n_ops] kind is not read */
  int flags;                      /* 1: tensors flagged BERTH_TENSOR_BATCH have the batch; 0: by the built-in table;
                                     -1 (default): flags if any tensor has one. Rules of the caller's come first either way */
} berth_analysis_options;
berth_analysis_options berth_analysis_default(void);

typedef struct berth_analysis berth_analysis; /* immutable; keeps the graph */

/**
 * Roles, batch flags and base groups of a training graph as it would run on one device.
 *
 * Role: by the rules of op and kind, else UPDATE where the op is flagged so, else COMPUTE. Batch flags of tensors, in topological
 * order: by the graph or by rules; then of what descends from the input, what an update reads has none (it is summed), and what
 * a scatter update reads has one (it is concatenated). A tensor of 0 bytes without flags is a control dependency: it carries
 * nothing. From input: input ops, ops without inputs that make a tensor with the batch, and what descends from these by data.
 * Base groups: an update, scatter or assign op and the variables it reads; ops from input and the maker of each tensor without the
 * batch that they read, where that is from input or in a group; colocation groups. A kind that no rule knows makes no batch, and
 * joins the makers of all that it reads, where flags do not say better. So every tensor between two base groups has the batch, or
 * does not depend on it.
 *
 * @param opts NULL: defaults
 * @return BERTH_OK; BERTH_EINVAL (rules); BERTH_EUNSUPPORTED (the graph has collectives: it is deployed already); BERTH_ENOMEM
 *
 * O(ops + edges + kinds x rules). Source: Zhang et al., "Expediting Distributed DNN Training with Device Topology-Aware Graph
 * Deployment", 2023, and its published code, graph analysis.
 * Departs from it: rules are data; the first input is the first that descends from the input; ops may have several outputs;
 * colocation groups count; unknown kinds are glued; sources of a batch need not be of an input kind.
 */
berth_status berth_analyse(berth_graph *g, const berth_analysis_options *opts, berth_analysis **out);
void berth_analysis_retain(berth_analysis *a);
void berth_analysis_release(berth_analysis *a); /* NULL is fine */
berth_graph *berth_analysis_graph(const berth_analysis *a);        /* borrowed */
const uint8_t *berth_analysis_role(const berth_analysis *a);       /* [ops] berth_role */
const uint8_t *berth_analysis_batch(const berth_analysis *a);      /* [tensors] 1: can be cut along the batch */
/** [tensors] 1: read by an update or scatter op, and from input: a gradient, to be summed where batch is 0, else concatenated. */
const uint8_t *berth_analysis_gradient(const berth_analysis *a);
const uint8_t *berth_analysis_from_input(const berth_analysis *a); /* [ops] 1: an input, or descends from one */
/** [ops] base group of each: those that must agree on being split; numbered by their lowest op from 0; an op outside all has its
 *  own.  @param n number of them; may be NULL */
const int32_t *berth_analysis_base(const berth_analysis *a, int32_t *n);
/** Kinds of ops from input that no rule knows, so that these stay with what they read; in the order of their first ops, "" for
 *  ops without a kind. None where flags tell of the batch.  @return [n] borrowed texts; never NULL  @param n not NULL */
const char *const *berth_analysis_unknown(const berth_analysis *a, int32_t *n);

/* ---- simplification ----------------------------------------------------------------------- */

typedef struct berth_simplify_options {
  int32_t n_sinks;          /* 0: updates, scatter and assign ops; all ops, if there are none */
  const int32_t *sink;      /* [n_sinks] */
  int32_t n_kinds;          /* kinds of cheap ops; -1 (default): Sigmoid, Relu, LeakyRelu, Tanh */
  const char *const *kinds; /* [n_kinds] */
  double cheap;             /* also cheap: ops of at most this share of the time of all; 0 (default): none. Needs times */
  berth_cost *cost;         /* of the graph: times, and what joined ops take. NULL: see below */
  int control;              /* 1: tensors of 0 bytes without flags stay; 0 (default): they count for what sinks need, no more */
} berth_simplify_options;
berth_simplify_options berth_simplify_default(void);

/**
 * A smaller graph to deploy: what no sink depends on is dropped; NoOp and Identity are removed, their readers read what they
 * read; a cheap op joins its parent, the deepest of the ops that it reads from, if nobody else reads from that one. The parent
 * keeps its name, kind and twin. Never joined: inputs, variables, updates, sinks, ops of another pass or stream, with another pin
 * or colocation group; without a cost, what has a profile and what has FLOP or bytes only. A sink that is a NoOp stands for what
 * it waits for.
 *
 * What a joined op takes: seconds, FLOP, bytes and parameter bytes are the sums, the workspace is the largest; tensors that only
 * it read are gone. This is exact where both have profiles; and with a cost: each joined op then has seconds for each type of
 * device of its topology, the longest on a device of that type (op_factor taken out again), so that no time gets lost. Without a
 * cost a roofline prices the sums as one fused kernel: less than the two by what memory traffic hides behind arithmetic, and by
 * one `overhead`.
 *
 * @param opts NULL: defaults
 * @param map [ops] new op of each, BERTH_NONE: dropped; may be NULL. An Identity goes with the op that it reads from
 * @return BERTH_OK; BERTH_EINVAL (options; cheap without times; nothing left); BERTH_EUNSUPPORTED (collectives; with a cost, types
 *         of devices with and without a name); BERTH_ENOMEM.  O(ops (devices + kinds) + edges)
 *
 * Source: as above, simplification. Departs from it: times are kept; a parent that others read from keeps its activation.
 */
berth_status berth_simplify(const berth_graph *g, const berth_simplify_options *opts, berth_graph **out, int32_t *map);

#ifdef __cplusplus
}
#endif
#endif
