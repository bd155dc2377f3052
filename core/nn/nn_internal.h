/* What the files of the room share: arrays inside, the node that a tape keeps of an operation, maps
 * and products. A layer is a forward function, a backward function, and a node that connects the
 * two. */
#ifndef BERTH_NN_INTERNAL_H
#define BERTH_NN_INTERNAL_H

#include "base/pool_internal.h"
#include <berth/nn.h>

struct berth_array {
  berth_ctx *ctx;
  int32_t refs;
  int32_t rank, shape[BERTH_NN_RANK];
  int64_t size;
  float *data;
  berth_array *gradient; /* of a parameter, same shape, owned; else NULL */
  uint64_t tape;         /* epoch of the last tape that has it (no two tapes, and no two fillings
                            of one, share one); 0: none */
  int32_t slot;          /* its place there */
  bool shared;           /* two tapes have had it at the same time: the one before has to
                            search */
};

struct berth_index {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs, n, least, largest;
  int32_t *ids;
};

struct berth_segments {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs, n;
  int32_t *first; /* [n + 1] */
};

/* ---- remembering an operation ----------------------------------------------------------- *
 * A forward function checks shapes, makes `out`, computes, and, if berth_i_wanted says so for one
 * of its inputs, fills a node and gives it to berth_i_record, which takes references to all that
 * the node names. Then it returns out. */

typedef struct berth_i_node berth_i_node;

/** Adds to the gradients of the inputs, each through berth_i_gradient, which is NULL where no
 * gradient is required.
 *  @param d gradient of the output, [out->size] */
typedef berth_status (*berth_i_backward_fn)(berth_tape *t, const berth_i_node *node,
                                            const float *d);

enum { BERTH_I_NODE_ARRAYS = 8 };
struct berth_i_node {
  berth_i_backward_fn backward;
  berth_array *out;
  berth_array *in[BERTH_I_NODE_ARRAYS];    /* inputs that may have gradients; NULL: none */
  berth_array **more_in;                   /* concat: [n_more]; berth_i_record copies the list */
  int32_t n_more;
  berth_array *kept[BERTH_I_NODE_ARRAYS];  /* what backward needs besides; NULL: none */
  berth_index *index, *index2;
  berth_segments *segments;
  double p[2];
  int32_t k[6];
};

/** Is there a gradient to compute for a: t remembers, and a is a parameter or known to t? t NULL:
 * no. */
bool berth_i_wanted(const berth_tape *t, const berth_array *a);
/** On failure nothing is remembered, and the caller releases what it has made. */
berth_status berth_i_record(berth_tape *t, const berth_i_node *node);
/** While walking back: where to add the gradient of a, [a->size], zero at first; NULL: not wanted,
 * or (*st not OK) no memory. */
float *berth_i_gradient(berth_tape *t, berth_array *a, berth_status *st);

/* ---- arrays ---- */

/** Not set to zero. */
berth_status berth_i_array_raw(berth_ctx *ctx, int32_t rank, const int32_t *shape,
                               berth_array **out);
static inline berth_status berth_i_array_like(const berth_array *a, berth_array **out) {
  return berth_i_array_raw(a->ctx, a->rank, a->shape, out);
}
static inline int32_t berth_i_last(const berth_array *a) { return a->shape[a->rank - 1]; }
/** Numbers per row along axis 0. */
static inline int64_t berth_i_stride(const berth_array *a) {
  return a->shape[0] ? a->size / a->shape[0] : 0;
}
bool berth_i_same_shape(const berth_array *a, const berth_array *b);
/** "2 x 3 x 4" into buf.  @return buf */
enum { BERTH_I_SHAPE_TEXT = 64 };
const char *berth_i_shape_text(const berth_array *a, char buf[BERTH_I_SHAPE_TEXT]);
/** "what: 2 x 3 and 4 x 5 do not match".  @return BERTH_EINVAL */
berth_status berth_i_shapes(const char *what, const berth_array *a, const berth_array *b);
/** BERTH_EINVAL unless all ids are below n (and, unless `none`, not BERTH_NONE). @param unit what n
 * counts: "row" */
berth_status berth_i_check_index(const char *what, const char *unit, const berth_index *x,
                                 int32_t n, bool none);
/** BERTH_EINVAL unless the segments have as many rows as a. */
berth_status berth_i_check_segments(const char *what, const berth_array *a,
                                    const berth_segments *s);

/* ---- functions of one number ---- */

/** out [n] = f(in); in and out may be one. */
void berth_i_map(berth_nn_unary f, float p, int64_t n, const float *in, float *out);
/** g += d f'(in), where out = f(in). For the functions of layers `out` may be passed for `in`. */
void berth_i_map_back(berth_nn_unary f, float p, int64_t n, const float *in, const float *out,
                      const float *d, float *g);

/* ---- products, by CBLAS (core/extern/cblas.c) ---- */

/** c [m x n] = a b + beta c; a [m x k] (transposed: [k x m]), b [k x n] (transposed: [n x k]), all
 * row-major and dense. */
void berth_i_gemm(int ta, int tb, int32_t m, int32_t n, int32_t k, const float *a, const float *b,
                  float beta, float *c);

/** y += x, n numbers. */
static inline void berth_i_add_to(float *restrict y, const float *restrict x, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] += x[i];
}

#endif
