/* Graphs of ops, tensors and collectives; levels and orders; transforms.
 *
 * A graph is built by a builder and immutable afterwards: threads may read it together. An op runs
 * on one device; a tensor has one producer and any number of consumers, and crosses to a device
 * once; a collective begins with its last member and ends for all consumers together. Arrays are by
 * id; a transform makes a new graph and a map to the old one, and leaves the old one as it is. */
#ifndef BERTH_GRAPH_H
#define BERTH_GRAPH_H

#include <berth/base.h>
#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An op time: this op cannot run on that type of device. */
#define BERTH_UNSUPPORTED ((double)INFINITY)

enum {                        /* op flags */
  BERTH_OP_BACKWARD = 1,      /* belongs to the backward pass */
  BERTH_OP_UPDATE = 2,        /* optimiser step */
  BERTH_OP_SPLITTABLE = 4,    /* may be split along the batch */
  BERTH_OP_COMMUNICATION = 8  /* runs beside what its device computes, as on a copy engine or a
                                 communication stream: it begins as soon as its inputs are on its
                                 device, any number at once, and takes no turn in the device's
                                 order. On a device type without a name its profile counts with its
                                 longest time */
};
enum {                        /* tensor flags */
  BERTH_TENSOR_BATCH = 1,     /* has a batch dimension */
  BERTH_TENSOR_GRADIENT = 2   /* gradient of a parameter */
};

typedef enum berth_collective_kind {
  BERTH_ALLREDUCE,
  BERTH_ALLGATHER,
  BERTH_REDUCESCATTER,
  BERTH_BROADCAST,
  BERTH_ALLTOALL,
  BERTH_BARRIER,
  BERTH_PARAMETER_SERVER   /* the others push to the device of the first member, then pull back */
} berth_collective_kind;

typedef struct berth_graph berth_graph;                 /* immutable */
typedef struct berth_graph_builder berth_graph_builder; /* collects one */

/** [m, k] times [k, n], `copies` times with other numbers, as one kernel. */
typedef struct berth_product {
  double m, n, k;
  double copies;  /* 0: 1 */
  int gradients;  /* 1: the gradients of both operands instead: [m, n] times [n, k], and [k, m]
                     times [m, n] */
} berth_product;
const berth_option_table *berth_product_option_table(void);

/** Flash attention: softmax(query key^T) value, scores not kept. */
typedef struct berth_attention {
  double batch;        /* 0: 1 */
  double seq, heads;
  double kv_heads;     /* 0: heads */
  double head_size;    /* of query and key */
  double value_size;   /* 0: head_size */
  double window;       /* keys that a query sees at most; 0: all */
  int full;            /* 0 (default): causal */
  int backward;        /* 1: the backward kernel, 2.5 times the work: five products for two */
} berth_attention;
const berth_option_table *berth_attention_option_table(void);

/** What an op computes, by which form KERNELS of a cost prices it: one of the two. */
typedef struct berth_shape {
  berth_product product;     /* m 0: none */
  berth_attention attention; /* seq 0: none */
} berth_shape;

/** What one op is; to add and to read. Start from berth_op_default(). */
typedef struct berth_op {
  const char *name;       /* NULL or "": none (messages then say "op 17") */
  const char *kind;       /* e.g. "matmul"; NULL or "": none */
  const double *seconds;  /* [n_types] time on a device of each type at speed 1, BERTH_UNSUPPORTED
                             where it cannot run; NULL: by roofline from flop and bytes */
  double flop;            /* floating-point operations */
  double bytes;           /* bytes moved to and from the device's memory, for the roofline */
  double param_bytes;     /* persistent: parameters, optimiser state */
  double workspace_bytes; /* held while the op runs */
  int32_t group;          /* colocation group: ops of one group share a device; BERTH_NONE */
  int32_t twin;           /* the forward op of a backward op and the other way round; BERTH_NONE */
  int32_t pin;            /* device index on which it must run; BERTH_NONE */
  uint32_t flags;         /* BERTH_OP_... */
  const berth_shape *shape; /* of its one kernel; NULL: unknown. Needs flop, of a product at least
                             its 2 m n k copies, twice that for gradients */
} berth_op;

berth_op berth_op_default(void);

/** One tensor: produced by one op, read by any number; it crosses to a device once. */
typedef struct berth_tensor {
  int32_t producer;
  double bytes;           /* moved to another device; 0 is legal (control dependency) */
  double resident_bytes;  /* held in memory while live; negative when adding: same as bytes */
  uint32_t flags;         /* BERTH_TENSOR_... */
} berth_tensor;

/** Members synchronise: starts when the last member has finished, ends for all at once. */
typedef struct berth_collective {
  berth_collective_kind kind;
  double bytes;             /* per member */
  int32_t count;            /* how many dependencies it represents, >= 1 */
  int32_t n_members;
  const int32_t *members;   /* [n_members] ops it waits for */
  int32_t n_consumers;
  const int32_t *consumers; /* [n_consumers] ops that wait for it; may be none (terminal) */
} berth_collective;

/* ---- building ---- */

berth_status berth_graph_builder_new(berth_ctx *ctx, berth_graph_builder **out);
void berth_graph_builder_release(berth_graph_builder *b); /* NULL is fine */

/* Ids of what was added leave through the last pointer, which may be NULL. Numbers must be finite
 * and not negative, flags known, the ops and tensors referred to (but for twins) must exist, names
 * be UTF-8; else BERTH_EINVAL, and the builder is as before. */

/** Names the device types that `seconds` refers to; call before the first op. Default: one type,
 *  "", whose times hold for devices of every type. @return BERTH_OK, BERTH_EINVAL (duplicate,
 *  unnamed among several, ops exist) */
berth_status berth_graph_builder_types(berth_graph_builder *b, int32_t n, const char *const *names);
berth_status berth_graph_builder_name(berth_graph_builder *b, const char *name);
/** The arithmetic of its ops, by which berth_device_rate() gives the rate of a preset: "fp64"
 *  "fp32" "tf32" "bf16" "fp16"; NULL or "": unknown.
 *  @return BERTH_OK, BERTH_EINVAL (lists them) */
berth_status berth_graph_builder_dtype(berth_graph_builder *b, const char *dtype);
/** 1: times and sizes are in units of the file that it comes from, and print without units. */
void berth_graph_builder_unitless(berth_graph_builder *b, int unitless);
/** Capacity hint; never needed. @return BERTH_OK, BERTH_EINVAL (negative), BERTH_ENOMEM (what was
 * added before stays) */
berth_status berth_graph_builder_reserve(berth_graph_builder *b, int32_t ops, int32_t tensors,
                                         int32_t edges);

/** op->seconds may also be infinite. op->twin may name a later op; it is checked in _finish. Group
 * ids may be sparse. */
berth_status berth_graph_builder_add_op(berth_graph_builder *b, const berth_op *op, int32_t *id);
berth_status berth_graph_builder_add_tensor(berth_graph_builder *b, const berth_tensor *t,
                                            int32_t *id);
/** Order of calls is kept: the consumers of a tensor, and the inputs of an op, are listed in it.
 *  A consumer given twice for one tensor is refused in _finish. */
berth_status berth_graph_builder_add_consumer(berth_graph_builder *b, int32_t tensor, int32_t op);
/** Shorthand: a tensor of its own from src to dst.  @param tensor may be NULL */
berth_status berth_graph_builder_connect(berth_graph_builder *b, int32_t src, int32_t dst,
                                         double bytes, int32_t *tensor);
/** At least one member. An op given twice on one side is refused in _finish. */
berth_status berth_graph_builder_add_collective(berth_graph_builder *b, const berth_collective *c,
                                                int32_t *id);

/** Makes the graph and empties the builder (also on failure it stays releasable, contents kept).
 *  Twins must point at each other (setting one side is enough), not to themselves. Ops of one group
 *  must not be pinned to different devices. A graph without ops is refused. Columns that hold only
 *  defaults take no memory: an op with a time, a tensor and two edges takes 56 bytes, 76 at the
 *  peak.
 *  @return BERTH_OK, BERTH_ECYCLE (names ops on it), BERTH_EINVAL, BERTH_ENOMEM.  O(ops + edges) */
berth_status berth_graph_builder_finish(berth_graph_builder *b, berth_graph **out);

/* ---- reading ---- */

void berth_graph_retain(berth_graph *g);
void berth_graph_release(berth_graph *g); /* NULL is fine */

const char *berth_graph_name(const berth_graph *g);       /* "" if none */
const char *berth_graph_dtype(const berth_graph *g);      /* "" if unknown */
int berth_graph_unitless(const berth_graph *g);           /* 1: in units of its file */
int32_t berth_graph_ops(const berth_graph *g);
int32_t berth_graph_tensors(const berth_graph *g);
int32_t berth_graph_edges(const berth_graph *g);          /* (tensor, consumer) pairs */
/** Ops without times, FLOP and bytes, which take no time anywhere unless a cost function gives one.
 *  @param first the lowest of them, BERTH_NONE: there is none; may be NULL  @return how many */
int32_t berth_graph_untimed(const berth_graph *g, int32_t *first);
/** Ops with a shape. O(ops) */
int32_t berth_graph_shapes(const berth_graph *g);
int32_t berth_graph_collectives(const berth_graph *g);
int32_t berth_graph_groups(const berth_graph *g);         /* 1 + the largest group id */
int32_t berth_graph_types(const berth_graph *g);          /* >= 1 */
const char *berth_graph_type(const berth_graph *g, int32_t type);

/** Borrowed until the graph goes. Ids out of range: BERTH_EINVAL. */
berth_status berth_graph_op(const berth_graph *g, int32_t op, berth_op *out);
berth_status berth_graph_tensor(const berth_graph *g, int32_t tensor, berth_tensor *out);
berth_status berth_graph_collective(const berth_graph *g, int32_t collective,
                                    berth_collective *out);
/** Each returns the count and, through ids, a borrowed array; 0 and NULL for an id out of range. */
int32_t berth_graph_inputs(const berth_graph *g, int32_t op, const int32_t **tensors);
int32_t berth_graph_outputs(const berth_graph *g, int32_t op, const int32_t **tensors);
int32_t berth_graph_consumers(const berth_graph *g, int32_t tensor, const int32_t **ops);
/** Id of the op with that name; BERTH_NONE if there is none or the name is not unique. O(ops) */
int32_t berth_graph_find(const berth_graph *g, const char *name);

/* ---- orders, levels, paths -------------------------------------------------------------- *
 * comp [ops] op times, s; comm [tensors] transfer times, s, NULL: all zero.
 * Collectives count as edges of zero time from each member to each consumer.
 * All: O(ops + edges); BERTH_EINVAL on NaN or negative times (infinite is legal). */

/** Kahn's algorithm with a FIFO queue: sources by id, then consumers in edge order as their last
 * input is taken. */
berth_status berth_topo_order(const berth_graph *g, int32_t *order);
/** Longest path to a sink, the op itself included: bl[v] = comp[v] + max_w (comm[v->w] + bl[w]). */
berth_status berth_b_level(const berth_graph *g, const double *comp, const double *comm,
                           double *out);
/** Longest path from a source, the op itself excluded: tl[v] = max_u (tl[u] + comp[u] +
 * comm[u->v]). */
berth_status berth_t_level(const berth_graph *g, const double *comp, const double *comm,
                           double *out);
/** How much later each op may finish without moving the longest path: length - tl[v] - bl[v]; never
 *  below 0.
 *  What is below 1e-12 of the length is rounding and counts as 0. On an infinite longest path: 0;
 *  beside it: infinite. */
berth_status berth_slack(const berth_graph *g, const double *comp, const double *comm, double *out);
/** Ops of one longest path, source first; ties to the lowest id.
 *  @param path [ops] capacity  @param n number of ops written  @param length s; each may be NULL */
berth_status berth_critical_path(const berth_graph *g, const double *comp, const double *comm,
                                 int32_t *path, int32_t *n, double *length);
/** Longest number of edges from a source to each op. */
berth_status berth_depth(const berth_graph *g, int32_t *out);
/**
 * Meta-ops: maximal runs of consecutive ids with the same kind, op time, depth and number of
 * inputs. In a graph whose operators were split into blocks they are the operators; in others
 * mostly single ops.
 *
 * @param comp [ops] op times, s; infinite is legal
 * @param tolerance times that differ by no more than this share of the larger one, from the first
 *        of the run, are the same; 0: equal
 * @param set [ops] out, numbered in the order of ids  @param n number of them; may be NULL
 * @return BERTH_OK; BERTH_EINVAL (NaN or negative time; tolerance outside 0..1, 1 excluded);
 *         BERTH_ENOMEM
 *
 * O(ops + edges). Colocation groups play no part: they say what goes to one device, blocks of an
 * operator go to several. Source: what the published graphs of DOPPLER (Yao et al., 2026) allow,
 * which carry no ids of operators.
 */
berth_status berth_meta_ops(const berth_graph *g, const double *comp, double tolerance,
                            int32_t *set, int32_t *n);
/**
 * Layered layout, to draw a graph: every op in a layer, above those that read from it, side by side
 * so that few edges cross.
 *
 * @param layer [ops] rises along every edge; NULL: berth_depth
 * @param x [ops] out: place within the layer; two ops of a layer are at least 1 apart
 * @param y [ops] out: the layer
 * @return BERTH_OK; BERTH_EINVAL (layer); BERTH_EUNSUPPORTED (edges pass more than 100,000 layers
 *         in all: coarsen first); BERTH_ENOMEM
 *
 * Superlinear in the layers that edges pass. Source: Sugiyama, Tagawa, Toda, "Methods for Visual
 * Understanding of Hierarchical System Structures", 1981, as igraph has it.
 */
berth_status berth_graph_layout(const berth_graph *g, const int32_t *layer, double *x, double *y);
/** Marks with 1 what can be reached from op along edges (forward != 0) or against them; op itself
 * included. */
berth_status berth_reach(const berth_graph *g, int32_t op, int forward, uint8_t *mark);
/** @param yes 1 if a path leads from a to b (a == b counts) */
berth_status berth_reachable(const berth_graph *g, int32_t a, int32_t b, int *yes);
/** Weakly connected components, numbered by their lowest op. The members of a collective hang
 *  together even without consumers. @param component [ops] @param n may be NULL */
berth_status berth_components(const berth_graph *g, int32_t *component, int32_t *n);

/* ---- transforms ---- */

typedef struct berth_mirror_options {
  double ratio;            /* backward time / forward time, also for flop and bytes; default 2 */
  const double *seconds;   /* [ops] backward times, s, for graphs of one type; NULL: by ratio */
  int join;                /* BERTH_JOIN_... */
  int activations;         /* 1 (default): a backward op also reads the inputs of its forward op */
  int params;              /* 1: the backward op has the parameter bytes, too (gradients); default
                              0 */
  int gradients;           /* BERTH_GRADIENT_...: how large backward tensors are */
  int optimizer;           /* BERTH_OPTIMIZER_...: that of a training step; default NONE */
} berth_mirror_options;
enum {                     /* state per parameter, beside an FP32 copy of narrower weights */
  BERTH_OPTIMIZER_NONE,    /* no updates, and each op has a twin */
  BERTH_OPTIMIZER_SGD,     /* none */
  BERTH_OPTIMIZER_MOMENTUM, /* 4 bytes */
  BERTH_OPTIMIZER_ADAM     /* 8 bytes */
};
enum {
  BERTH_JOIN_SINKS,        /* default: every sink feeds its own backward op */
  BERTH_JOIN_LAST          /* only the last op feeds the first backward op, as PAC-ML's simulator
                              does */
};
enum {
  BERTH_GRADIENT_AS_INPUT, /* default: as the tensor whose gradient it is */
  BERTH_GRADIENT_AS_OUTPUT /* as the first output of the op whose twin sends it (0 without), as
                              PAC-ML's simulator does */
};
berth_mirror_options berth_mirror_default(void);
const berth_option_table *berth_mirror_option_table(void);

/**
 * Forward graph in, forward + backward graph out. Op v of n gets the backward twin 2n-1-v; a
 * forward tensor u -> v of b bytes gets the backward tensor twin(v) -> twin(u) of b bytes, one for
 * each consumer; sinks are joined to their twins.
 * A shape becomes that of the backward kernels, from a ratio of 2 on.
 * Twins are linked and flagged; a twin joins the colocation group of its op, if it has one, and has
 * its pin. It is called "conv1.backward" after "conv1". An op that cannot run on a type has a twin
 * that cannot either.
 * A join: the twin reads all that the op produces; if that is nothing, it waits for it by a tensor
 * of 0 bytes.
 * Forward tensors keep their ids; then come the tensors of joins, then gradients by forward tensor
 * and consumer.
 *
 * With an optimizer the result is a training step. The parameters of an op are one weight, which
 * has an update op behind the backward ops: "conv1.update" of kind "adam", with the bytes of the
 * optimizer's state as its parameters; it reads the gradient of the weight. No gradient goes to an
 * op that neither has parameters nor depends on an op that has: it has no twin. A gradient costs
 * ratio / 2 of the forward op: of two inputs or more one for each of two, and one for the weight.
 * Those of a product with parameters are two ops: "conv1.backward_inputs", and the twin
 * "conv1.backward" for the weight. Backward ops move what they read and make, unless their forward
 * op moves nothing. An op with parameters is in one group with its update and with the backward ops
 * that read them.
 *
 * @param opts NULL: defaults
 * @param origin [2 * ops, with an optimizer 4 * ops] forward op of each new op; may be NULL
 * @return BERTH_OK, BERTH_EINVAL (twins, backward or update ops exist already; collectives; an
 *         optimizer, but no op has parameters), BERTH_ENOMEM
 *
 * O(ops + edges). Source: Parsonson et al., "Partitioning Distributed Compute Jobs with
 * Reinforcement Learning and Graph Neural Networks", 2023, and its simulator, which is:
 * BERTH_JOIN_LAST, BERTH_GRADIENT_AS_OUTPUT, params = 1, activations = 0 and measured times.
 */
berth_status berth_graph_mirror(const berth_graph *g, const berth_mirror_options *opts,
                                berth_graph **out, int32_t *origin);

/* ---- transforms with a way back ---- */
/* Transforms of a graph: colocation, fusion, forward ops only before it is placed; collectives into
 * transfers afterwards.
 *
 * Each gives a new graph and the way back: map [ops of g], the new op of every op. The device of
 * map[v] is the device of v: a placement of the new graph, read through the map, keeps the pins,
 * types and colocation groups of the old one. Transforms that only put ops into groups keep all
 * ids; they have no map. All are deterministic; the order of ids in which ties are broken is the
 * only thing that the numbering of ops decides.
 *
 * Source: Jeon et al., Baechi, 2020, and its published code, sections on graph preprocessing; where
 * we depart is described below. */

/** How far ops may grow together. A set that is larger to begin with (an op, a colocation group of
 *  g) stays, and nothing joins it. What has no device type in common, or different pins, never
 *  comes together. */
typedef struct berth_share_options {
  int32_t max_ops;            /* ops in one set, at least 1; default INT32_MAX */
  double max_bytes;           /* parameter bytes x param_multiple + resident bytes of all outputs:
                                 what memory policy TOTAL counts, workspaces and copies apart;
                                 default INFINITY */
  double param_multiple;      /* default 1 */
  double max_seconds;         /* sum of op times, on the slowest type that can run the set; default
                                 INFINITY */
  const double *seconds;      /* [ops] what max_seconds adds up; NULL: the times of the graph, which
                                 all ops must have then */
  int32_t n_devices;          /* 0 (default): devices of every type exist, and a pin may be of any
                                 type */
  const int32_t *device_type; /* [n_devices] type of each device, an index into the graph's types;
                                 BERTH_NONE: one that it does not name (there only ops without
                                 times, or with FLOP or bytes, run) */
  const uint8_t *runs;        /* [ops * n_devices] 0: a price of its own forbids the op there,
                                 whatever the types; what has no device in common never comes
                                 together. NULL (default): types alone count */
} berth_share_options;
berth_share_options berth_share_default(void);
const berth_option_table *berth_share_option_table(void);

/* ---- groups ---- */

/**
 * Names of colocation groups, as frameworks give them: an op may carry several. Ops that carry the
 * same name share a device, and so do all names that one op carries; the union is taken, together
 * with the groups that g has. Groups are numbered anew, by their lowest op; an op that shares with
 * none reads has none.
 *
 * @param n number of pairs  @param op [n]  @param name [n] not empty
 * @param same [n] out: first pair whose name represents the group of pair k: the shortest, then
 *         lexically (byte by byte) smallest of the names in its union; may be NULL
 * @return BERTH_OK; BERTH_EINVAL (op, name, pins that differ); BERTH_EINFEASIBLE (no type of device
 *         can run all ops of a group: two ops are named); BERTH_ENOMEM. O(ops + edges + pairs log)
 */
berth_status berth_graph_colocate(const berth_graph *g, int32_t n, const int32_t *op,
                                  const char *const *name, berth_graph **out, int32_t *same);

typedef struct berth_coplace_options {
  berth_share_options share;
  int control;                /* 1 (default): an edge of zero bytes counts; 0: it is not seen at
                                 all */
} berth_coplace_options;
berth_coplace_options berth_coplace_default(void);
const berth_option_table *berth_coplace_option_table(void);

/**
 * Every op with exactly one consumer (op by op: several tensors to one op are one edge) shares a
 * device with it. Sets join by the bytes between producer and consumer, largest first, ties by the
 * lower producer, and only as long as the options allow it: so limits cut where least is moved.
 * Groups are numbered as in berth_graph_colocate; those of g stay together. To be a member of a
 * collective is an edge, too, along which no sets join.
 * Without limits this is the published rule, which can put most of a model into one group: of the
 * inference graphs of the dnn-partitioning set, 79 % of the parameters of the BERT-24 layers, 51 %
 * of the BERT-3 ops, 41 % of the Inception-V3 layers.
 *
 * @param opts NULL: defaults  @param n_joined edges whose ends came together; may be NULL
 * @return BERTH_OK; BERTH_EINVAL (options); BERTH_ENOMEM.  O((ops + edges) log)
 * Departs from the paper: its repetition to a fixpoint adds nothing to one pass.
 */
berth_status berth_graph_coplace(const berth_graph *g, const berth_coplace_options *opts,
                                 berth_graph **out, int32_t *n_joined);

/* ---- contraction ---- */

typedef enum berth_fuse_check {
  BERTH_FUSE_EXACT, /* u -> v is left alone only if another path leads from u to v, which
                       contraction would close to a cycle. That is the published "thorough" rule,
                       too: two paths without a common op between exist just then */
  BERTH_FUSE_CHEAP, /* published: left alone if u has several consumers and v several producers */
  BERTH_FUSE_THOROUGH /* EXACT by its published name */
} berth_fuse_check;
typedef enum berth_fuse_scope {
  BERTH_FUSE_GROUPS, /* both in one colocation group */
  BERTH_FUSE_ALL     /* any two ops, not of two different groups */
} berth_fuse_scope;
typedef enum berth_fuse_inner {
  BERTH_INNER_KEEP,  /* what is made and read within a fused op becomes one tensor that no op
                        reads, of their resident bytes */
  BERTH_INNER_DROP   /* published: it is gone, and memory is underestimated */
} berth_fuse_inner;

typedef struct berth_fuse_options {
  berth_share_options share; /* of each fused op */
  berth_fuse_check check;    /* default EXACT */
  berth_fuse_scope scope;    /* default GROUPS */
  berth_fuse_inner inner;    /* default KEEP */
  int split_twins;           /* 0 (default): an op and its twin are fused side by side or not at
                                all; 1: each as it can be, and a fused op has a twin only if all
                                twins of its ops are in one, and the other way round: then memory
                                policy TRAINING may free too early what has none */
} berth_fuse_options;
berth_fuse_options berth_fuse_default(void);
const berth_option_table *berth_fuse_option_table(void);
/** What berth_graph_fuse_chains reads of them, but for share. */
const berth_option_table *berth_chains_option_table(void);

/**
 * Contracts directly connected ops, most bytes first (ties: earlier producer, then earlier consumer
 * in topological order), until no pair is left that may be. Never makes a cycle. A pair that was
 * refused is tested again when that may have changed; not so one that was left because of the
 * pair of its twins.
 *
 * The fused op: times summed per type (a type that one of them cannot run, it cannot run), FLOP,
 * bytes and parameters summed, workspace the largest. Ops with times are not fused with such that
 * only have FLOP or bytes; these are priced from the sums, as one kernel: by the roofline never
 * above the sum of what they took alone. Pin and group are those of its ops; flags those that all
 * have (but what is all backward pass has BACKWARD and UPDATE if one has it); kind the one that all
 * have, or "fused"; the shape that of the only op with FLOP or bytes. Two ops a
 * and b are called "a+b", more "first..last (5)" by topological order.
 * Tensors that leave stay distinct, with their bytes; those without readers stay, too. Fused ops
 * are numbered by their lowest op. Members of one collective that are fused are one member.
 *
 * Memory under KEEP: with policy TOTAL a device holds in the end, workspaces apart, exactly what it
 * holds for the ops by themselves. On one device, the ops of each fused op in a row, it holds under
 * any policy at no instant less.
 *
 * @param opts NULL: defaults  @param map [ops] may be NULL
 * @return BERTH_OK; BERTH_EINVAL (options); BERTH_ENOMEM; BERTH_EINTERRUPT
 *
 * O((ops + edges) log) and the search: other paths are sought only between the two ops in a
 * topological order that is kept up to date, from both sides at once, as far as the smaller side
 * goes; a spanning tree of the original graph answers most of those that exist. Layered random
 * graphs (1 to 3 producers each) of 20,000 and 100,000 ops, CPU seconds: 0.02 and 0.27 with layers
 * of 20 ops, all fused; 0.04 and 0.6 with layers of 1,000. Their co-placement: 0.01 and 0.07;
 * fusion in its groups: 0.01 and 0.12.
 */
berth_status berth_graph_fuse(const berth_graph *g, const berth_fuse_options *opts,
                              berth_graph **out, int32_t *map);

/** Contracts u -> v where v is all that follows u and u all that v follows (op by op), again and
 *  again: chains become one op. `scope` and `check` are not read: groups need not exist, but ops of
 *  two groups, or pinned apart, stay apart. Else as berth_graph_fuse. O((ops + edges) log) */
berth_status berth_graph_fuse_chains(const berth_graph *g, const berth_fuse_options *opts,
                                     berth_graph **out, int32_t *map);

/* ---- forward ops only ---- */

typedef enum berth_forward_memory {
  BERTH_FORWARD_TRAINING, /* a forward op carries the parameters (gradients, optimiser state) of the
                             ops that join it, and as workspace the most that it or one of them
                             has while it runs: workspace, outputs, and inputs from the backward
                             pass. Place it under memory policy TOTAL: activations wait for the
                             backward pass, so within the forward pass nothing is freed */
  BERTH_FORWARD_ONLY      /* published: what the forward ops have by themselves; training needs
                             more */
} berth_forward_memory;

typedef struct berth_forward_options {
  berth_forward_memory memory; /* default TRAINING */
  double memory_fraction;      /* above 0, at most 1 (default): the placer is to see devices with
                                  this share of their memory. The graph has no devices: all that
                                  it holds in memory (parameters, workspace, resident bytes) is
                                  divided by it, which is the same; transfers are as before */
} berth_forward_options;
berth_forward_options berth_forward_default(void);
const berth_option_table *berth_forward_option_table(void);

/**
 * The graph of the forward ops. Not forward is what is flagged BACKWARD or UPDATE, of two twins
 * without flags the later in topological order, and what waits for any such op. The way back: an op
 * with a forward twin belongs to it; an UPDATE op with the op whose parameters it updates: of the
 * ops that its producers are or join, the one with most parameters; others, and update ops
 * without such, with the producer (or what it belongs to) that sends most bytes; ties to the lowest
 * op. What has no producers belongs to the first op of its group that is forward, else with its
 * lowest reader, or with the lowest forward op. Pins, groups and types of ops that are left out
 * hold for those that they join: ops in one group join ops that are put into one group.
 *
 * @param map [ops] may be NULL
 * @return BERTH_OK; BERTH_EINVAL (options; no forward op; pins that cannot be kept, and collectives
 *         across the two passes, are named); BERTH_EINFEASIBLE (no type can run an op and what goes
 *         with it, named); BERTH_EUNSUPPORTED (an op without times belongs to one that some type
 *         cannot run: nothing in the graph can say so); BERTH_ENOMEM. O(ops log + edges)
 *
 * Times are those of the forward pass: a plan for it implies nothing about the length of the whole
 * step.
 */
berth_status berth_graph_forward(const berth_graph *g, const berth_forward_options *opts,
                                 berth_graph **out, int32_t *map);

/* ---- collectives into transfers ---- */

/** Who sends what to whom, among the n different devices of a collective; b: its bytes, L =
 *  ceil(log2 n). Steps, and the bytes that each device sends (and receives) in all. The devices are
 *  in order of their groups, then of their numbers.
 *
 *  RING          neighbours only: all-reduce 2(n-1) steps, 2(n-1)/n b; all-gather n-1, (n-1) b;
 *                reduce-scatter n-1, (n-1)/n b; broadcast along a chain, in segments; all-to-all
 *                n-1, pairwise, (n-1)/n b
 *  TREE          binomial: all-reduce to the first device and back, 2L steps, b for each of n-1
 *                edges and way; broadcast L; all-gather and reduce-scatter 2L, through the first
 *                device; all-to-all as RING
 *  HALVING       recursive halving and doubling, in Bruck's form for any n: all-reduce 2L, 2(n-1)/n
 *                b; all-gather L, (n-1) b; reduce-scatter L, (n-1)/n b; broadcast 2L, scattered and
 *                gathered; all-to-all L: a block moves by each bit of its way
 *  HIERARCHICAL  with m devices in each of k groups: reduce-scatter by rings in the groups,
 *                all-reduce of what they have by rings across (2(k-1)/k b/m on the slow links for
 *                each device), all-gather in the groups. Groups that differ in size go through the
 *                first device of each: binomial in the groups, a ring among the first. Broadcast
 *                binomial to the first of each group, then in it; all-to-all in the group to the
 *                one of the receiver's rank, then across (as RING if groups differ)
 *  DIRECT        everyone with everyone, at once: all-reduce 2 steps, 2(n-1)/n b; the others 1
 *
 *  Barriers go the same ways with tensors of 0 bytes. A parameter server has one way: all others
 *  send b to the device of the first member, which sends b back to each. The first member is the
 *  root of a broadcast. */
typedef enum berth_expand_algorithm {
  BERTH_EXPAND_RING,
  BERTH_EXPAND_TREE,
  BERTH_EXPAND_HALVING,
  BERTH_EXPAND_HIERARCHICAL,
  BERTH_EXPAND_DIRECT
} berth_expand_algorithm;

typedef struct berth_expand_options {
  berth_expand_algorithm algorithm; /* default RING */
  const int32_t *groups; /* [n_devices] devices that fast links join, any numbers; in order of their
                            lowest device. Needed for HIERARCHICAL; the others take their order of
                            devices from it. NULL (default): all are one group */
  double reduce_rate;    /* bytes/s at which a device of speed 1 adds what it has received; INFINITY
                            (default): in no time */
  int32_t segments;      /* of a broadcast that is passed on as it comes (all but HALVING's): at
                            least 1; default 8. Segments times devices that receive: at most 2^26 */
} berth_expand_options;
berth_expand_options berth_expand_default(void);
const berth_option_table *berth_expand_option_table(void);

/** What a tensor of an expanded collective carries. Of a vector that is cut into `blocks`, the
 *  blocks first, first + stride, ... modulo blocks; block k is that of the k-th device in order. */
typedef struct berth_piece {
  int32_t collective;    /* of the graph given; BERTH_NONE: a tensor of that graph */
  int32_t step;          /* from 0; BERTH_NONE: it only orders two ops, and has no bytes */
  int32_t blocks, first, count, stride; /* first is BERTH_NONE for all-to-all, whose blocks differ
                                           by sender and receiver */
  int32_t reduces;       /* 1: the receiver adds it to what it has; 0: it takes it over */
} berth_piece;

typedef struct berth_expansion berth_expansion;

/**
 * The graph with each collective replaced by tensors and ops, for given devices of its ops: what
 * links really carry can then be simulated. Ops and tensors of g keep their ids; behind them come,
 * for each collective and device that has members of it, an op that waits for these members, and
 * one for each step in which the device receives. They are pinned, take no time but to reduce, hold
 * no memory (buffers are used in place), have the kind of the collective ("allreduce") and names
 * like "allreduce0.step3" (collectives and steps from 0; ".in" for the first). A consumer waits for
 * the last of them on its device; on a device without members, for the last ones of all members'
 * devices. Of a broadcast it hears when the root's bytes are there, and the members of its own
 * device have ended: not when others have.
 *
 * The new ops are communication ops (BERTH_OP_COMMUNICATION): they run beside what their devices
 * compute.
 *
 * @param device [ops] device of each op, 0..n_devices-1, as pins have it
 * @param opts NULL: defaults
 * @return BERTH_OK; BERTH_EINVAL (devices, options); BERTH_ENOMEM; BERTH_EINTERRUPT. O(graph +
 *         messages)
 *
 * Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
 * MPICH", 2005; Bruck et al., "Efficient Algorithms for All-to-All Communications in Multiport
 * Message-Passing Systems", 1997.
 */
berth_status berth_graph_expand(const berth_graph *g, int32_t n_devices, const int32_t *device,
                                const berth_expand_options *opts, berth_expansion **out);
void berth_expansion_release(berth_expansion *x);           /* NULL is fine */
berth_graph *berth_expansion_graph(const berth_expansion *x); /* borrowed; retain it to keep it */
/** [ops of the new graph] device of each: those given, and the pins of the new ones. */
const int32_t *berth_expansion_device(const berth_expansion *x);
/** [ops of the new graph] the collective for which an op is there; BERTH_NONE: an op of the graph
 * given. */
const int32_t *berth_expansion_collective(const berth_expansion *x);
/** @param tensor of the new graph  @return BERTH_OK, BERTH_EINVAL */
berth_status berth_expansion_piece(const berth_expansion *x, int32_t tensor, berth_piece *out);

#ifdef __cplusplus
}
#endif
#endif
