/* Graph: ops, tensors, collectives; levels and orders; transforms. */
#ifndef BERTH_GRAPH_H
#define BERTH_GRAPH_H

#include <berth/base.h>
#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An op time that says: this op cannot run on that type of device. */
#define BERTH_UNSUPPORTED ((double)INFINITY)

enum {                        /* op flags */
  BERTH_OP_BACKWARD = 1,      /* belongs to the backward pass */
  BERTH_OP_UPDATE = 2,        /* optimiser step */
  BERTH_OP_SPLITTABLE = 4,    /* may be split along the batch */
  BERTH_OP_COMMUNICATION = 8  /* runs beside what its device computes, as on a copy engine or a communication stream: it begins as
                                 soon as its inputs are on its device, any number at once, and takes no turn in the device's order.
                                 On a device type without a name its profile counts with its longest time */
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

/** What one op is; to add and to read. Start from berth_op_default(). */
typedef struct berth_op {
  const char *name;       /* NULL or "": none (messages then say "op 17") */
  const char *kind;       /* e.g. "matmul"; NULL or "": none */
  const double *seconds;  /* [n_types] time on a device of each type at speed 1, BERTH_UNSUPPORTED where it
                             cannot run; NULL: by roofline from flop and bytes */
  double flop;            /* floating-point operations */
  double bytes;           /* bytes moved to and from the device's memory, for the roofline */
  double param_bytes;     /* persistent: parameters, optimiser state */
  double workspace_bytes; /* held while the op runs */
  int32_t group;          /* colocation group: ops of one group share a device; BERTH_NONE */
  int32_t twin;           /* the forward op of a backward op and the other way round; BERTH_NONE */
  int32_t pin;            /* device index on which it must run; BERTH_NONE */
  uint32_t flags;         /* BERTH_OP_... */
} berth_op;

berth_op berth_op_default(void);

/** One tensor: produced by one op, read by any number; it crosses to a device once. */
typedef struct berth_tensor {
  int32_t producer;
  double bytes;           /* moved to another device; 0 is legal (control dependency) */
  double resident_bytes;  /* held in memory while live; negative when adding: same as bytes */
  uint32_t flags;         /* BERTH_TENSOR_... */
} berth_tensor;

/** Members meet, then all go on: starts when the last member has finished, ends for all at once. */
typedef struct berth_collective {
  berth_collective_kind kind;
  double bytes;             /* per member */
  int32_t count;            /* how many dependencies it stands for, >= 1 */
  int32_t n_members;
  const int32_t *members;   /* [n_members] ops it waits for */
  int32_t n_consumers;
  const int32_t *consumers; /* [n_consumers] ops that wait for it; may be none (terminal) */
} berth_collective;

/* ---- building --------------------------------------------------------------------------- */

berth_status berth_graph_builder_new(berth_ctx *ctx, berth_graph_builder **out);
void berth_graph_builder_release(berth_graph_builder *b); /* NULL is fine */

/* Ids of what was added leave through the last pointer, which may be NULL. Numbers must be finite and not negative, flags known,
 * the ops and tensors referred to (but for twins) must exist, names be UTF-8; else BERTH_EINVAL, and the builder is as before. */

/** Names the device types that `seconds` refers to; call before the first op. Default: one type, "",
 *  whose times hold for devices of every type.  @return BERTH_OK, BERTH_EINVAL (duplicate, unnamed among several, ops exist) */
berth_status berth_graph_builder_types(berth_graph_builder *b, int32_t n, const char *const *names);
berth_status berth_graph_builder_name(berth_graph_builder *b, const char *name);
/** Capacity hint; never needed.  @return BERTH_OK, BERTH_EINVAL (negative), BERTH_ENOMEM (what was added before stays) */
berth_status berth_graph_builder_reserve(berth_graph_builder *b, int32_t ops, int32_t tensors, int32_t edges);

/** op->seconds may also be infinite. op->twin may name a later op; it is checked in _finish. Group ids may be sparse. */
berth_status berth_graph_builder_add_op(berth_graph_builder *b, const berth_op *op, int32_t *id);
berth_status berth_graph_builder_add_tensor(berth_graph_builder *b, const berth_tensor *t, int32_t *id);
/** Order of calls is kept: the consumers of a tensor, and the inputs of an op, are listed in it.
 *  A consumer given twice for one tensor is refused in _finish. */
berth_status berth_graph_builder_add_consumer(berth_graph_builder *b, int32_t tensor, int32_t op);
/** Shorthand: a tensor of its own from src to dst.  @param tensor may be NULL */
berth_status berth_graph_builder_connect(berth_graph_builder *b, int32_t src, int32_t dst, double bytes, int32_t *tensor);
/** At least one member. An op given twice on one side is refused in _finish. */
berth_status berth_graph_builder_add_collective(berth_graph_builder *b, const berth_collective *c, int32_t *id);

/** Makes the graph and empties the builder (also on failure it stays releasable, contents kept).
 *  Twins must point at each other (setting one side is enough), not to themselves. Ops of one group must not be pinned to
 *  different devices. A graph without ops is refused. Columns that hold only defaults take no memory: an op with a time, a tensor
 *  and two edges takes 56 bytes, 76 at the peak.
 *  @return BERTH_OK, BERTH_ECYCLE (names ops on it), BERTH_EINVAL, BERTH_ENOMEM.  O(ops + edges) */
berth_status berth_graph_builder_finish(berth_graph_builder *b, berth_graph **out);

/* ---- reading ---------------------------------------------------------------------------- */

void berth_graph_retain(berth_graph *g);
void berth_graph_release(berth_graph *g); /* NULL is fine */

const char *berth_graph_name(const berth_graph *g);       /* "" if none */
int32_t berth_graph_ops(const berth_graph *g);
int32_t berth_graph_tensors(const berth_graph *g);
int32_t berth_graph_edges(const berth_graph *g);          /* (tensor, consumer) pairs */
int32_t berth_graph_collectives(const berth_graph *g);
int32_t berth_graph_groups(const berth_graph *g);         /* 1 + the largest group id */
int32_t berth_graph_types(const berth_graph *g);          /* >= 1 */
const char *berth_graph_type(const berth_graph *g, int32_t type);

/** Borrowed until the graph goes. Ids out of range: BERTH_EINVAL. */
berth_status berth_graph_op(const berth_graph *g, int32_t op, berth_op *out);
berth_status berth_graph_tensor(const berth_graph *g, int32_t tensor, berth_tensor *out);
berth_status berth_graph_collective(const berth_graph *g, int32_t collective, berth_collective *out);
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

/** Kahn's algorithm with a FIFO queue: sources by id, then consumers in edge order as their last input is taken. */
berth_status berth_topo_order(const berth_graph *g, int32_t *order);
/** Longest path to a sink, the op itself included: bl[v] = comp[v] + max_w (comm[v->w] + bl[w]). */
berth_status berth_b_level(const berth_graph *g, const double *comp, const double *comm, double *out);
/** Longest path from a source, the op itself excluded: tl[v] = max_u (tl[u] + comp[u] + comm[u->v]). */
berth_status berth_t_level(const berth_graph *g, const double *comp, const double *comm, double *out);
/** How much later each op may finish without moving the longest path: length - tl[v] - bl[v]; never below 0.
 *  What is below 1e-12 of the length is rounding and counts as 0. On an infinite longest path: 0; beside it: infinite. */
berth_status berth_slack(const berth_graph *g, const double *comp, const double *comm, double *out);
/** Ops of one longest path, source first; ties to the lowest id.
 *  @param path [ops] capacity  @param n number of ops written  @param length s; each may be NULL */
berth_status berth_critical_path(const berth_graph *g, const double *comp, const double *comm, int32_t *path, int32_t *n,
                                 double *length);
/** Longest number of edges from a source to each op. */
berth_status berth_depth(const berth_graph *g, int32_t *out);
/**
 * Meta-ops: maximal runs of consecutive ids with the same kind, op time, depth and number of inputs. In a graph whose operators
 * were split into blocks they are the operators; in others mostly single ops.
 *
 * @param comp [ops] op times, s; infinite is legal
 * @param tolerance times that differ by no more than this share of the larger one, from the first of the run, are the same; 0:
 *        equal
 * @param set [ops] out, numbered in the order of ids  @param n number of them; may be NULL
 * @return BERTH_OK; BERTH_EINVAL (NaN or negative time; tolerance outside 0..1, 1 excluded); BERTH_ENOMEM
 *
 * O(ops + edges). Colocation groups play no part: they say what goes to one device, blocks of an operator go to several.
 * Source: what the published graphs of DOPPLER (Yao et al., 2026) allow, which carry no ids of operators.
 */
berth_status berth_meta_ops(const berth_graph *g, const double *comp, double tolerance, int32_t *set, int32_t *n);
/**
 * Layered layout, to draw a graph: every op in a layer, above those that read from it, side by side so that few edges cross.
 *
 * @param layer [ops] rises along every edge; NULL: berth_depth
 * @param x [ops] out: place within the layer; two ops of a layer are at least 1 apart
 * @param y [ops] out: the layer
 * @return BERTH_OK; BERTH_EINVAL (layer); BERTH_EUNSUPPORTED (edges pass more than 100,000 layers in all: coarsen first);
 *         BERTH_ENOMEM
 *
 * Superlinear in the layers that edges pass. Source: Sugiyama, Tagawa, Toda, "Methods for Visual Understanding of Hierarchical
 * System Structures", 1981, as igraph has it.
 */
berth_status berth_graph_layout(const berth_graph *g, const int32_t *layer, double *x, double *y);
/** Marks with 1 what can be reached from op along edges (forward != 0) or against them; op itself included. */
berth_status berth_reach(const berth_graph *g, int32_t op, int forward, uint8_t *mark);
/** @param yes 1 if a path leads from a to b (a == b counts) */
berth_status berth_reachable(const berth_graph *g, int32_t a, int32_t b, int *yes);
/** Weakly connected components, numbered by their lowest op. The members of a collective hang together even if nobody waits for
 *  it.  @param component [ops]  @param n may be NULL */
berth_status berth_components(const berth_graph *g, int32_t *component, int32_t *n);

/* ---- transforms ------------------------------------------------------------------------- */

typedef struct berth_mirror_options {
  double ratio;            /* backward time / forward time, also for flop and bytes; default 2 */
  const double *seconds;   /* [ops] backward times, s, for graphs of one type; NULL: by ratio */
  int joins;               /* BERTH_JOIN_... */
  int activations;         /* 1 (default): a backward op also reads the inputs of its forward op */
  int params;              /* 1: the backward op has the parameter bytes, too (gradients); default 0 */
  int gradients;           /* BERTH_GRADIENT_...: how large backward tensors are */
} berth_mirror_options;
enum {
  BERTH_JOIN_SINKS,        /* default: every sink feeds its own backward op */
  BERTH_JOIN_LAST          /* only the last op feeds the first backward op, as PAC-ML's simulator does */
};
enum {
  BERTH_GRADIENT_AS_INPUT, /* default: as the tensor whose gradient it is */
  BERTH_GRADIENT_AS_OUTPUT /* as the first output of the op whose twin sends it (0 without), as PAC-ML's simulator does */
};
berth_mirror_options berth_mirror_defaults(void);

/**
 * Forward graph in, forward + backward graph out. Op v of n gets the backward twin 2n-1-v; a forward tensor u -> v of b bytes
 * gets the backward tensor twin(v) -> twin(u) of b bytes, one for each consumer; sinks are joined to their twins.
 * Twins are linked and flagged; a twin joins the colocation group of its op, if it has one, and has its pin. It is called
 * "conv1.backward" after "conv1". An op that cannot run on a type has a twin that cannot either.
 * A join: the twin reads all that the op produces; if that is nothing, it waits for it by a tensor of 0 bytes.
 * Forward tensors keep their ids; then come the tensors of joins, then gradients by forward tensor and consumer.
 *
 * @param opts NULL: defaults
 * @param origin [2 * ops] forward op of each new op; may be NULL
 * @return BERTH_OK, BERTH_EINVAL (twins, backward or update ops exist already; collectives), BERTH_ENOMEM
 *
 * O(ops + edges). Source: Parsonson et al., "Partitioning Distributed Compute Jobs with Reinforcement Learning and Graph Neural
 * Networks", 2023, and its simulator, which is: BERTH_JOIN_LAST, BERTH_GRADIENT_AS_OUTPUT, params = 1, activations = 0 and
 * measured times.
 */
berth_status berth_graph_mirror(const berth_graph *g, const berth_mirror_options *opts, berth_graph **out, int32_t *origin);

#ifdef __cplusplus
}
#endif
#endif
