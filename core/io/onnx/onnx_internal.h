/* ONNX: what its files share. A model is read in one pass over its nodes in the order of the file:
 * each gets the shapes, dtypes and small values of its inputs, and gives those of its outputs and
 * what it costs. What depends on constants alone is computed when the model is loaded and is no op.
 *
 * All memory is in one pool. The first failure stays in onnx_model.st; functions that may fail
 * return false then. Bytes of the file are never copied, weights never read. */
#ifndef BERTH_ONNX_INTERNAL_H
#define BERTH_ONNX_INTERNAL_H

#include "io/io_internal.h"

enum {
  ONNX_RANK = 12,     /* dimensions of a tensor at most */
  ONNX_VALUES = 4096, /* elements whose values are followed, at most */
  ONNX_DEPTH = 32     /* functions and subgraphs in each other */
};

typedef enum onnx_dtype {
  ONNX_FLOAT = 1, ONNX_UINT8, ONNX_INT8, ONNX_UINT16, ONNX_INT16, ONNX_INT32, ONNX_INT64,
  ONNX_STRING, ONNX_BOOL, ONNX_FLOAT16, ONNX_DOUBLE, ONNX_UINT32, ONNX_UINT64, ONNX_COMPLEX64,
  ONNX_COMPLEX128, ONNX_BFLOAT16, ONNX_DTYPES = 24
} onnx_dtype;

typedef struct onnx_bytes {
  const char *at;
  size_t n;
} onnx_bytes;
#define ONNX_TEXT(b) (int)((b).n < 80 ? (b).n : 80), (b).at

/* ---- wire format (wire.c) ---- */

typedef struct onnx_model onnx_model;
typedef struct onnx_wire {
  onnx_model *m;
  const char *at, *end;
  const char *message; /* "NodeProto", for errors */
} onnx_wire;
enum { ONNX_VARINT = 0, ONNX_FIXED64 = 1, ONNX_LENGTH = 2, ONNX_FIXED32 = 5 };
typedef struct onnx_field {
  uint32_t number;
  int type;
  uint64_t value;  /* of numbers */
  onnx_bytes data; /* of ONNX_LENGTH */
} onnx_field;
bool berth_i_onnx_fail(onnx_model *m, berth_status st, const char *format, ...)
    BERTH_PRINTF(3, 4);
bool berth_i_onnx_room(onnx_model *m, void **array, size_t *cap, size_t need, size_t size);
#define ONNX_GROW(m, array, cap, need) \
  berth_i_onnx_room(m, (void **)&(array), &(cap), need, sizeof *(array))
onnx_wire berth_i_onnx_wire(onnx_model *m, onnx_bytes data, const char *message);
/** The next field; false at the end or on failure. */
bool berth_i_onnx_next(onnx_wire *w, onnx_field *f);
/** Fails unless the field is of the type. */
bool berth_i_onnx_is(onnx_wire *w, const onnx_field *f, int type);
/** Fails at the place of the field. */
bool berth_i_onnx_bad(onnx_wire *w, const onnx_field *f, const char *reason, ...)
    BERTH_PRINTF(3, 4);
typedef struct onnx_ints {
  int64_t *at;
  size_t n, cap;
} onnx_ints;
/** Adds the numbers of a repeated field, packed or not; of 4-byte floats their bits. */
bool berth_i_onnx_add(onnx_wire *w, const onnx_field *f, onnx_ints *list);
/** Is it a model, by the tags of its top? */
bool berth_i_onnx_matches(const char *text, size_t len);

/* ---- the model (model.c) ---- */

/* A constant's memory: counted once, at its first reader. */
typedef struct onnx_weight {
  double elements, bytes;
  int32_t reader; /* first product or look-up; BERTH_NONE */
  bool trained, counted;
  int32_t first, last, last_read; /* of its onnx_read; op of the last; BERTH_NONE */
} onnx_weight;
/* An op that reads a trained weight. */
typedef struct onnx_read {
  onnx_weight *weight;
  int32_t op, next; /* next: read of the same weight; BERTH_NONE */
} onnx_read;

typedef struct onnx_value onnx_value;
struct onnx_value {
  onnx_bytes name;
  int dtype;           /* 0: unknown */
  int rank;            /* -1: unknown */
  int64_t dim[ONNX_RANK];
  bool constant;       /* the same in each run */
  double *v;           /* values; NULL: unknown, or in `tensor` */
  onnx_bytes tensor;   /* TensorProto with the values; n 0: none */
  onnx_weight *weight; /* of a constant */
  int32_t op;          /* that makes it; BERTH_NONE */
  int32_t id;          /* tensor of the graph; BERTH_NONE */
  int32_t maker;       /* node of the model that makes it; BERTH_NONE */
  int32_t last;        /* mark of the last node to note it as an input */
  bool output;         /* of the model */
  bool used;           /* some op reads it */
  onnx_value **item;   /* [n_items] of a sequence; NULL: it is none, or not known */
  int32_t n_items;
};

/* Names of a graph; what is not there is looked up in the graph around it. */
typedef struct onnx_slot {
  uint64_t hash;
  onnx_bytes name;
  onnx_value *value;
} onnx_slot;
typedef struct onnx_scope {
  const struct onnx_scope *outer;
  onnx_slot *slot;
  size_t n, n_slots;
  onnx_bytes graph;            /* n 0: that of a function */
  struct onnx_scope *declared; /* what its value_info says, by name; NULL: not read yet */
} onnx_scope;

typedef struct onnx_attribute {
  onnx_bytes name, refers; /* refers: attribute of the function around; n 0: none */
  int64_t i;
  double f;
  onnx_bytes s, tensor, graph;
  onnx_ints ints, floats; /* floats: their bits */
  int type;               /* AttributeProto.AttributeType; 0: unknown */
} onnx_attribute;
typedef struct onnx_list {
  onnx_bytes *at;
  size_t n, cap;
} onnx_list;
typedef struct onnx_node {
  onnx_bytes name, kind, domain;
  onnx_list in, out;
  onnx_attribute *attr;
  size_t n_attr, cap_attr;
} onnx_node;

typedef struct onnx_op {
  onnx_bytes name, kind, domain;
  double flop, matrix, bytes, params;
  berth_product product;
  double area;    /* of the window of a convolution; 0: another */
  double state;   /* part of the product in gradients of states between the steps of a recurrence */
  onnx_value **operand; /* [n_operands] of the product, the left one first; 0: not known */
  size_t n_operands;
  bool view;      /* moves nothing */
  bool data;      /* depends on an input of the model */
  onnx_value **in;
  size_t n_in, cap_in;
  int32_t group; /* an op of lower number that it is placed with, or itself */
} onnx_op;

typedef struct onnx_opset {
  onnx_bytes domain;
  int64_t version;
} onnx_opset;
typedef struct onnx_count {
  onnx_bytes domain, kind;
  int32_t n;
} onnx_count;

struct onnx_model {
  berth_ctx *ctx;
  const char *name, *text;
  size_t len;
  const berth_load_options *opts;
  berth_status st;
  berth_i_pool pool;
  onnx_bytes graph;
  onnx_list functions;
  onnx_opset *opset;
  size_t n_opset, cap_opset;
  bool *bound;            /* [n_bind] used */
  onnx_op *op;
  size_t n_op, cap_op;
  onnx_value **made;      /* outputs of ops */
  size_t n_made, cap_made;
  onnx_value **output;    /* of the model */
  size_t n_output, cap_output;
  onnx_count *unknown;    /* kinds without a rule, or without the shapes that it needs */
  size_t n_unknown, cap_unknown;
  double nodes, uses, pairs, initializers, elements, parameters, trained, weight_bytes;
  double unknown_outputs;
  onnx_read *read;        /* for training */
  size_t n_read, cap_read;
  double steps;           /* nodes visited, with those of loops; 16 a turn, 1 for 64 values */
  int32_t checks;         /* calls of berth_i_onnx_step */
  double floats[ONNX_DTYPES]; /* elements of initializers by dtype */
};

const char *berth_i_onnx_text(onnx_model *m, onnx_bytes b); /* a copy that ends with 0 */
bool berth_i_onnx_equal(onnx_bytes a, const char *b);
bool berth_i_onnx_alike(onnx_bytes a, onnx_bytes b);
int berth_i_onnx_order(onnx_bytes a, const char *b); /* as strcmp */
/** Top of the file: graph, functions, opsets. */
bool berth_i_onnx_open(onnx_model *m);
bool berth_i_onnx_node(onnx_model *m, onnx_bytes data, onnx_node *out);
bool berth_i_onnx_read_opset(onnx_model *m, onnx_bytes data, onnx_opset *out);
/** Version of a domain that one of n imports; 1: none does. */
int64_t berth_i_onnx_opset(const onnx_opset *list, size_t n, onnx_bytes domain);
onnx_value *berth_i_onnx_value(onnx_model *m, onnx_bytes name);
/** Value of a name, in this graph or those around; NULL: none. */
onnx_value *berth_i_onnx_find(const onnx_scope *s, onnx_bytes name);
bool berth_i_onnx_define(onnx_model *m, onnx_scope *s, onnx_bytes name, onnx_value *v);
/** Dtype and shape of a TensorProto, and its name. Does not read values. */
bool berth_i_onnx_tensor(onnx_model *m, onnx_bytes data, onnx_value *v);
/** Values of a constant of at most ONNX_VALUES elements, or NULL. */
const double *berth_i_onnx_values(onnx_model *m, onnx_value *v);
/** The number that bind has for a name. */
bool berth_i_onnx_bound(onnx_model *m, onnx_bytes name, int64_t *out);
/** ValueInfoProto: name, dtype, shape by the options' bind. @param free set if a dimension has no
 *  value: the shape is unknown then */
bool berth_i_onnx_info(onnx_model *m, onnx_bytes data, onnx_value *v, onnx_bytes *free);
double berth_i_onnx_elements(const onnx_value *v);
double berth_i_onnx_bytes(const onnx_value *v); /* 0 if unknown */
bool berth_i_onnx_is_float(int dtype);
double berth_i_onnx_float(const onnx_attribute *a, size_t k); /* k-th of a list of floats */

/* ---- rules (rules.c), and what they share (call.c) ---- */

typedef struct onnx_call {
  onnx_model *m;
  const onnx_node *node;
  const onnx_node *caller;  /* call of the function around, whose attributes are referred to */
  int64_t opset;
  onnx_value **in, **out;   /* NULL: absent */
  size_t n_in, n_out;
  double flop, matrix;      /* out */
  double bytes;             /* out; negative: inputs and outputs, once each */
  berth_product product;    /* out */
  double area, state;       /* out: as in onnx_op */
  size_t n_operands;        /* out: inputs from 0 on */
} onnx_call;
typedef bool (*onnx_infer)(onnx_call *c);  /* false: shapes unknown, or failed */
typedef struct onnx_rule {
  const char *kind;
  onnx_infer infer;
  double per_out, per_in;   /* FLOP of an element */
} onnx_rule;
const onnx_rule *berth_i_onnx_rule(const onnx_node *node);

const onnx_attribute *berth_i_onnx_attr(const onnx_call *c, const char *name);
int64_t berth_i_onnx_int(const onnx_call *c, const char *name, int64_t fallback);
bool berth_i_onnx_is_text(const onnx_call *c, const char *name, const char *text);
/** Integers of an attribute, or else the values of an input. @return false: neither is known */
bool berth_i_onnx_list(onnx_call *c, const char *name, size_t input, onnx_ints *out);
/** Axis in 0..rank-1. @return false, failed: out of range */
bool berth_i_onnx_axis(onnx_call *c, int64_t axis, int rank, int *out);
/** Fails with the node's name and kind. */
bool berth_i_onnx_wrong(onnx_call *c, const char *format, ...) BERTH_PRINTF(2, 3);
/** Sizes beyond 2^48 become 2^48. */
bool berth_i_onnx_set(onnx_value *out, int dtype, int rank, const int64_t *dim);
static inline bool berth_i_onnx_known(const onnx_call *c, size_t k) {
  return k < c->n_in && c->in[k] && c->in[k]->rank >= 0;
}
/** Shape of operands that are stretched to each other. */
bool berth_i_onnx_broadcast(onnx_call *c, size_t first, size_t last, int *rank, int64_t *dim);
const double *berth_i_onnx_input(onnx_call *c, size_t k);
/** Room for the values of an output, if these are to be followed. */
double *berth_i_onnx_room_for(onnx_call *c, onnx_value *out);
/** out[i] = in[offset + sum of index x stride] in the order of out's shape. */
void berth_i_onnx_walk(const onnx_value *out, double *to, const double *from, int64_t offset,
                       const int64_t *stride);
int64_t berth_i_onnx_whole(double x);
enum { ONNX_SIZE_BITS = 48 };
/** A size of at most 2^48, as all are; not a number and negative: 0. */
static inline int64_t berth_i_onnx_extent(double x) {
  const int64_t most = (int64_t)1 << ONNX_SIZE_BITS;
  return x >= (double)most ? most : x > 0 ? (int64_t)x : 0;
}
/** A product without overflow; of strides that are used it has none. */
static inline int64_t berth_i_onnx_wrap(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline int64_t berth_i_onnx_clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}
/** Output k is a number. */
bool berth_i_onnx_put(onnx_call *c, size_t k, double x);
/** Moves what it selects alone. */
bool berth_i_onnx_moves_output(onnx_call *c);
/** Set of axes as bits. */
bool berth_i_onnx_axes(onnx_call *c, const onnx_ints *axes, int rank, uint32_t *set);
/** Those of input 0 that an attribute or input 1 lists.  @param given false: there is no list */
bool berth_i_onnx_listed_axes(onnx_call *c, uint32_t *set, bool *given);
#define KNOWN(k) if (!berth_i_onnx_known(c, k)) return false

/* kinds: elementwise.c, layout.c, create.c, reduce.c, products.c, windows.c, sequence.c */
#define ONNX_INFERS(X) \
  X(binary) X(compare) X(where) X(same) X(to_bool) X(cast) X(quantize) X(dequantize) \
  X(dynamic_quantize) X(norm) X(batch_norm) X(dropout) X(random_like) X(shape) X(size) X(gather) \
  X(gather_elements) X(gather_nd) X(scatter) X(concat) X(split) X(slice) X(squeeze) X(unsqueeze) \
  X(reshape) X(flatten) X(transpose) X(expand) X(tile) X(constant) X(constant_of_shape) X(range) \
  X(identity) X(pad) X(resize) X(depth_to_space) X(one_hot) X(eye) X(reduce) X(arg) X(top_k) \
  X(matmul) X(gemm) X(conv) X(conv_transpose) X(einsum) X(recurrent) X(pool) X(global_pool) \
  X(random_shape) X(roi) X(loss) X(det) X(grid_sample) X(cosine_window) X(compress) X(tf_idf) \
  X(scalar) X(dft) X(stft) X(mel_matrix) X(non_zero) X(max_unpool) X(optimizer) X(sequence) \
  X(sequence_insert) X(sequence_erase) X(sequence_at) X(sequence_length) X(concat_sequence) \
  X(split_sequence)
#define ONNX_DECLARE(name) bool berth_i_onnx_##name(onnx_call *c);
ONNX_INFERS(ONNX_DECLARE)

/** What the options' function says of a node without a rule. @param known out: it has a cost */
bool berth_i_onnx_foreign(onnx_call *c, bool *known);

/* ---- the pass over nodes (pass.c) ---- */

typedef struct onnx_walker {
  onnx_model *m;
  onnx_op *op;             /* that is being added up; NULL: nodes are ops of their own */
  int32_t id;              /* its number */
  int32_t mark;            /* of the node of the model that is visited */
  const onnx_node *caller; /* call of the function around */
  const onnx_opset *opset; /* [n_opset] what that function imports; NULL: as the model */
  size_t n_opset;
  int depth;
  bool (*visit)(struct onnx_walker *w, onnx_scope *s, onnx_bytes data); /* a node */
} onnx_walker;

bool berth_i_onnx_pass(onnx_model *m);

/* ---- what an op reads and makes (op.c) ---- */

/** Counts a node, or a turn of a loop. @return false: too many, or interrupted */
bool berth_i_onnx_step(onnx_model *m);
/** An input of the op that is added up: an edge, or a weight; each once. @param ties of weights
 *  that several read */
bool berth_i_onnx_note_input(onnx_walker *w, onnx_value *v, bool ties);
bool berth_i_onnx_keep_constant(onnx_model *m, onnx_value *v, onnx_value *from);
/** A value that no rule gives has the type that the model declares, if it does. */
bool berth_i_onnx_declare(onnx_model *m, onnx_scope *s, onnx_value *v);

/* ---- bodies (bodies.c) ---- */

bool berth_i_onnx_has_body(const onnx_node *node, onnx_bytes function);
bool berth_i_onnx_run(onnx_walker *w, onnx_scope *s, onnx_call *c, onnx_bytes function);
/** The function of that domain and name; n 0: none. */
onnx_bytes berth_i_onnx_function(onnx_model *m, const onnx_node *node);
/** Names of a graph: initializers, then inputs that are none of these, from `in` or by types. */
bool berth_i_onnx_open_graph(onnx_walker *w, onnx_scope *s, onnx_value **in, size_t n_in);
/** Visits the nodes, which have that field number. */
bool berth_i_onnx_visit_all(onnx_walker *w, onnx_scope *s, onnx_bytes data, uint32_t field);
/** Values of the outputs of a graph. */
bool berth_i_onnx_outputs_of(onnx_walker *w, const onnx_scope *s, onnx_value **out, size_t n);

/* ---- training steps (training.c) ---- */

/** Notes that the op of that number reads a weight, if input k is one that is trained. */
bool berth_i_onnx_trains(onnx_model *m, const onnx_call *c, size_t k, int32_t op);
/** Counts what is trained of the inputs. @return a training step needs the node as an op, though it
 *  may depend on constants alone */
bool berth_i_onnx_count_trained(onnx_call *c);
/** Replaces the graph, whose ops and tensors are those of the model, by its training step. */
berth_status berth_i_onnx_train(onnx_model *m, berth_graph **g);

#endif
