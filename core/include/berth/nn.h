/* Learning: dense float arrays, a reverse-mode tape, layers, optimisers.
 *
 * Every operation takes a tape first and gives a new array last. With tape NULL it only computes:
 * inference keeps nothing. With a tape it is remembered if one of its inputs has a gradient there:
 * parameters (berth_params) always, others once watched, and what was computed from these on that
 * tape. berth_tape_backward then walks back.
 *
 * Arrays are row-major float32 of rank 1 to 4; "rows" of an array are what is left when its last
 * axis is taken off. Data may be written through berth_array_data as long as no tape remembers the
 * array. Products go to CBLAS; with the threaded OpenBLAS its number of threads, which belongs to
 * the process, is set to one at the first product; the serial one is no good in two threads at once
 * (0.3.21), so there products wait for one another. Same input, same bytes, on one machine;
 * between processors results agree to rounding.
 *
 * While a context has a tape, it keeps freed arrays of 64 KB to 256 MB for the next of their size,
 * which spares the system's work on fresh pages: 256 MB in all at most, and together with what it
 * holds not more than its peak, without small objects. They do not count in berth_ctx_memory, and
 * are freed back to the allocator when it refuses something, and with the last tape.
 *
 * A NaN comes through every operation that reads it, to all that depends on it: also functions with
 * a threshold, maxima, softmax. Only what a mask hides is not read. The gradient of RELU, LOG, MAX
 * and MIN at a NaN is that of the side that was taken: the NaN's.
 *
 * Shapes that do not match: BERTH_EINVAL, with both in the message. Also BERTH_ENOMEM. Ids out of
 * range are refused. */
#ifndef BERTH_NN_H
#define BERTH_NN_H

#include <berth/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_NN_RANK 4

/* ---- arrays, indices, segments ---- */

typedef struct berth_array berth_array;

/** Zeros.  @param shape [rank] each >= 0 */
berth_status berth_array_new(berth_ctx *ctx, int32_t rank, const int32_t *shape, berth_array **out);
void berth_array_retain(berth_array *a);
void berth_array_release(berth_array *a); /* NULL is fine */
int32_t berth_array_rank(const berth_array *a);
const int32_t *berth_array_shape(const berth_array *a); /* [rank] */
int64_t berth_array_size(const berth_array *a);         /* numbers in it */
float *berth_array_data(berth_array *a);                /* [size] */

/** An immutable list of ids, 0-based; kept by the tapes that need it, so that it can be used many
 * times without a copy. */
typedef struct berth_index berth_index;
/** @param ids [n] copied, BERTH_NONE or more */
berth_status berth_index_new(berth_ctx *ctx, int32_t n, const int32_t *ids, berth_index **out);
void berth_index_retain(berth_index *x);
void berth_index_release(berth_index *x);
int32_t berth_index_size(const berth_index *x);
const int32_t *berth_index_ids(const berth_index *x);
int32_t berth_index_largest(const berth_index *x); /* BERTH_NONE: empty */
int32_t berth_index_least(const berth_index *x);   /* BERTH_NONE: empty, or there is one */

/** Rows in consecutive segments, some perhaps empty (CSR). Immutable. */
typedef struct berth_segments berth_segments;
/** @param length [n] rows of each, >= 0 */
berth_status berth_segments_new(berth_ctx *ctx, int32_t n, const int32_t *length,
                                berth_segments **out);
void berth_segments_retain(berth_segments *s);
void berth_segments_release(berth_segments *s);
int32_t berth_segments_count(const berth_segments *s);
int32_t berth_segments_rows(const berth_segments *s);           /* in all */
const int32_t *berth_segments_first(const berth_segments *s);   /* [count + 1] */

/* ---- the tape ---- */

typedef struct berth_tape berth_tape;

berth_status berth_tape_new(berth_ctx *ctx, berth_tape **out);
void berth_tape_retain(berth_tape *t);
void berth_tape_release(berth_tape *t);
/** Forgets everything; gradients of parameters stay. */
void berth_tape_clear(berth_tape *t);
int32_t berth_tape_length(const berth_tape *t); /* operations remembered */
/** From now on the gradient with respect to a is wanted. */
berth_status berth_tape_watch(berth_tape *t, berth_array *a);
/** Adds the gradient of `loss`, one number, to the gradients of all parameters on the tape, and
 *  keeps those of watched arrays. The tape is cleared after, watched gradients stay readable until
 *  the next clear or backward.
 *  O(what was computed). Not BERTH_OK: no gradient has changed. */
berth_status berth_tape_backward(berth_tape *t, berth_array *loss);
/** Gradient of a watched array, borrowed; NULL: none. */
berth_array *berth_tape_gradient(const berth_tape *t, const berth_array *a);

/* ---- operations ---- */

/* Element by element; shapes are matched from the last axis, an axis of 1 is repeated. */
typedef enum berth_nn_binary {
  BERTH_NN_ADD,
  BERTH_NN_SUB,
  BERTH_NN_MUL,
  BERTH_NN_DIV,
  BERTH_NN_MAX,
  BERTH_NN_MIN
} berth_nn_binary;
berth_status berth_nn_apply2(berth_tape *t, berth_nn_binary f, berth_array *a, berth_array *b,
                             berth_array **out);

typedef enum berth_nn_unary {
  BERTH_NN_IDENTITY,
  BERTH_NN_RELU,
  BERTH_NN_LEAKY_RELU, /* slope p below zero */
  BERTH_NN_SIGMOID,
  BERTH_NN_TANH,
  BERTH_NN_EXP,
  BERTH_NN_LOG,        /* of max(x, p) */
  BERTH_NN_SQRT,
  BERTH_NN_SQUARE,
  BERTH_NN_ABS,
  BERTH_NN_SOFTPLUS,
  BERTH_NN_GELU        /* x Phi(x), exact */
} berth_nn_unary;
berth_status berth_nn_apply(berth_tape *t, berth_nn_unary f, double p, berth_array *a,
                            berth_array **out);
/** a * factor + offset */
berth_status berth_nn_scale(berth_tape *t, berth_array *a, double factor, double offset,
                            berth_array **out);

/** Matrix product, a and b transposed on demand (last two axes). Rank 2 by rank 2; rank 3 by rank 3
 *  of as many matrices; rank 3 by rank 2: b for all. */
berth_status berth_nn_matmul(berth_tape *t, berth_array *a, int transpose_a, berth_array *b,
                             int transpose_b, berth_array **out);
/** f(x w + b) in one: x [..., k], w [k, m], b [m] or NULL. f: IDENTITY, RELU, LEAKY_RELU, SIGMOID
 * or TANH. */
berth_status berth_nn_linear(berth_tape *t, berth_array *x, berth_array *w, berth_array *b,
                             berth_nn_unary f, double p, berth_array **out);
/** Rows of segment i of x [rows, k] times w[i] of w [count, k, m]: [rows, m]. */
berth_status berth_nn_grouped_matmul(berth_tape *t, berth_array *x, berth_segments *s,
                                     berth_array *w, berth_array **out);

/* Shape. One extent may be BERTH_NONE: what remains. */
berth_status berth_nn_reshape(berth_tape *t, berth_array *a, int32_t rank, const int32_t *shape,
                              berth_array **out);
/* the last two axes */
berth_status berth_nn_transpose(berth_tape *t, berth_array *a, berth_array **out);
/** n at least 1. */
berth_status berth_nn_concat(berth_tape *t, int32_t n, berth_array *const *a, int32_t axis,
                             berth_array **out);
berth_status berth_nn_slice(berth_tape *t, berth_array *a, int32_t axis, int32_t begin, int32_t end,
                            berth_array **out);

/** Rows of a (along axis 0): out[i] = a[index[i]]; BERTH_NONE: zeros. */
berth_status berth_nn_gather(berth_tape *t, berth_array *a, berth_index *index, berth_array **out);
/** The other way: out[index[i]] += a[i], `rows` rows in all; BERTH_NONE: dropped. */
berth_status berth_nn_scatter(berth_tape *t, berth_array *a, berth_index *index, int32_t rows,
                              berth_array **out);
/** out[i] = a[i][index[i]] of a [n, m]: [n]. */
berth_status berth_nn_pick(berth_tape *t, berth_array *a, berth_index *index, berth_array **out);

typedef enum berth_nn_reduction {
  BERTH_NN_SUM,
  BERTH_NN_MEAN,
  BERTH_NN_LARGEST
} berth_nn_reduction;
/** Along one axis, which goes (a rank of 1 stays, of 1 number); axis BERTH_NONE: all, to [1].
 *  LARGEST: the gradient goes to the first of equals. */
berth_status berth_nn_reduce(berth_tape *t, berth_nn_reduction f, berth_array *a, int32_t axis,
                             berth_array **out);
/** Of each segment of rows: a [rows, ...] to [count, ...]; an empty segment: zeros. */
berth_status berth_nn_segment_reduce(berth_tape *t, berth_nn_reduction f, berth_array *a,
                                     berth_segments *s, berth_array **out);
/** Gather and segment_reduce in one, SUM or MEAN, without the rows between: of a [rows, ...], those
 *  that index names in each segment, to [count, ...]. BERTH_NONE: zeros, which a mean counts. Same
 *  numbers as the two.
 *  @param s as many rows as ids */
berth_status berth_nn_gather_reduce(berth_tape *t, berth_nn_reduction f, berth_array *a,
                                    berth_index *index, berth_segments *s, berth_array **out);
/** Each row of a [count, ...] once for every row of its segment. */
berth_status berth_nn_segment_repeat(berth_tape *t, berth_array *a, berth_segments *s,
                                     berth_array **out);

/** Over the last axis. mask: NULL, or same shape or [last]: where it is 0 the probability is 0 (its
 *  logarithm -INFINITY, without gradient); all 0: a row of zeros (-INFINITY). A number of -INFINITY
 *  counts as masked. The mask gets no gradient. */
berth_status berth_nn_softmax(berth_tape *t, berth_array *a, berth_array *mask, berth_array **out);
berth_status berth_nn_log_softmax(berth_tape *t, berth_array *a, berth_array *mask,
                                  berth_array **out);
/** Over the rows of each segment, every column by itself: a [rows, ...]. */
berth_status berth_nn_segment_softmax(berth_tape *t, berth_array *a, berth_segments *s,
                                      berth_array **out);
berth_status berth_nn_segment_log_softmax(berth_tape *t, berth_array *a, berth_segments *s,
                                          berth_array **out);

/** Every column (a - mean) / (deviation + epsilon) over all rows (s NULL) or over the rows of each
 *  segment; population deviation. The gradient goes through mean and deviation. A column that is
 *  constant becomes 0, and gets none.
 *  @param a [rows, ...]  @param epsilon >= 0 */
berth_status berth_nn_zscore(berth_tape *t, berth_array *a, berth_segments *s, double epsilon,
                             berth_array **out);
/** Every row (a - mean) / sqrt(variance + epsilon) * gain + bias; gain, bias [last] or NULL;
 *  epsilon >= 0.
 *  Source: Ba, Kiros and Hinton, "Layer Normalization", 2016. */
berth_status berth_nn_layer_norm(berth_tape *t, berth_array *a, berth_array *gain,
                                 berth_array *bias, double epsilon, berth_array **out);

/** Sums along a forest: out[v] = a[v] + out[next[v]], BERTH_NONE ends. O(rows), however long the
 * paths are.
 *  @param a [rows, ...]  @param next [rows]
 *  @return BERTH_ECYCLE as well */
berth_status berth_nn_path_sum(berth_tape *t, berth_array *a, berth_index *next, berth_array **out);
/** What lay in each of `bins` bins before each step: steps in segments, each from empty bins; step
 *  i puts a[row[i]] into bin[i]. a [rows, m] to [steps, bins, m]; a row or a bin of BERTH_NONE puts
 *  nothing. O(steps bins m). */
berth_status berth_nn_running_sum(berth_tape *t, berth_array *a, berth_segments *s,
                                  berth_index *row, berth_index *bin, int32_t bins,
                                  berth_array **out);

/** One step of a gated recurrent unit: x [n, k], h [n, m], wx [k, 3m], wh [m, 3m], bx and bh [3m];
 *  gates in the order r, z, n: r = s(x wxr + bxr + h whr + bhr), z likewise, n = tanh(x wxn + bxn +
 *  r (h whn + bhn)), out = (1 - z) n + z h.
 *  bx, bh: NULL is none. Keeps 4 n m numbers for the way back.
 *  Source: Cho et al., 2014, in the form that PyTorch has. */
berth_status berth_nn_gru(berth_tape *t, berth_array *x, berth_array *h, berth_array *wx,
                          berth_array *wh, berth_array *bx, berth_array *bh, berth_array **out);
/** softmax(q k' / sqrt(d / heads)) v, in `heads` equal parts of the last axis: q [n, d], k [m, d],
 *  v [m, e]: [n, e]; or all with a first axis of as many. mask: NULL or [n, m] (or with the first
 *  axis), 0: not seen; a row that sees nothing gives zeros. Keeps heads n m numbers. Source:
 *  Vaswani et al., "Attention Is All You Need", 2017, sec. 3.2, without projections. */
berth_status berth_nn_attention(berth_tape *t, berth_array *q, berth_array *k, berth_array *v,
                                int32_t heads, berth_array *mask, berth_array **out);

/** Mean over all numbers of (a - b)^2, or Huber's: half the square up to delta > 0, then linear;
 *  one number, 0 of none. Gradients go to both. */
berth_status berth_nn_mse(berth_tape *t, berth_array *a, berth_array *b, berth_array **out);
berth_status berth_nn_huber(berth_tape *t, berth_array *a, berth_array *b, double delta,
                            berth_array **out);
/** Mean over rows of -log softmax(a)[index]; a [n, m]; index [n], each below m; one number. */
berth_status berth_nn_cross_entropy(berth_tape *t, berth_array *a, berth_index *index,
                                    berth_array **out);

/* ---- parameters ---- */

typedef enum berth_nn_init {
  BERTH_NN_ZEROS,
  BERTH_NN_CONSTANT,   /* p */
  BERTH_NN_UNIFORM,    /* -p to p */
  BERTH_NN_NORMAL,     /* deviation p */
  BERTH_NN_XAVIER,     /* uniform, p sqrt(6 / (in + out)): in the last axis but one, out the last */
  BERTH_NN_HE,         /* normal, p sqrt(2 / in) */
  BERTH_NN_ORTHOGONAL  /* p times a matrix with orthonormal rows or columns, whichever are fewer;
                          rank 3: each matrix */
} berth_nn_init;       /* the last three: rank 2 or more; p finite, and not negative where it is a
                          width */

/** An ordered set of named arrays with gradients: what is trained and saved. */
typedef struct berth_params berth_params;

berth_status berth_params_new(berth_ctx *ctx, berth_params **out);
void berth_params_retain(berth_params *p);
void berth_params_release(berth_params *p);
/** Same stream, same numbers. ORTHOGONAL: O(n^2 m) of n x m, n <= m.
 *  @param name unique, not empty @param rng may be NULL for ZEROS and CONSTANT @param a borrowed
 *         from p */
berth_status berth_params_add(berth_params *p, const char *name, int32_t rank, const int32_t *shape,
                              berth_nn_init init, double value, berth_rng *rng, berth_array **a);
int32_t berth_params_count(const berth_params *p);
int64_t berth_params_size(const berth_params *p);               /* numbers in all */
const char *berth_params_name(const berth_params *p, int32_t i);
berth_array *berth_params_array(const berth_params *p, int32_t i);    /* borrowed */
berth_array *berth_params_gradient(const berth_params *p, int32_t i); /* borrowed */
int32_t berth_params_find(const berth_params *p, const char *name);   /* BERTH_NONE */
void berth_params_zero_gradients(berth_params *p);
/** All in one, in order: for sums over processes.  @param flat [size] */
void berth_params_get(const berth_params *p, int gradients, float *flat);
void berth_params_set(berth_params *p, int gradients, const float *flat);
/** Euclidean norm of all gradients, in double; if above `most`, they are scaled down to it. One
 *  that is not finite leaves them as they are, for berth_adam_step to name. @param most > 0,
 *  INFINITY: only measures @param norm before; may be NULL */
berth_status berth_params_clip(berth_params *p, double most, double *norm);

typedef struct berth_adam_options {
  double beta1, beta2, epsilon; /* 0.9, 0.999, 1e-8 */
  double decay;                 /* decoupled weight decay per step and unit of rate; 0 */
} berth_adam_options;
berth_adam_options berth_adam_default(void);
const berth_option_table *berth_adam_option_table(void);

/** Adam (Kingma and Ba, 2015, algorithm 1), with decoupled decay (Loshchilov and Hutter, 2019): x
 *  -= rate decay x. Departs: moments below 1e-30 (1e-36, the second), which would only be slow,
 *  become 0. */
typedef struct berth_adam berth_adam;
/** @param p all its parameters are there by now @param opts NULL: defaults; betas in 0..1 (1 not),
 *        epsilon > 0, decay >= 0 */
berth_status berth_adam_new(berth_params *p, const berth_adam_options *opts, berth_adam **out);
void berth_adam_retain(berth_adam *a);
void berth_adam_release(berth_adam *a);
/** Gradients stay. O(size). BERTH_EINVAL: one of them is not finite, or 1e19 or more, so that its
 *  square is not (names it); the rate is negative; parameters were added; and nothing has
 *  changed. */
berth_status berth_adam_step(berth_adam *a, double rate);
int64_t berth_adam_steps(const berth_adam *a);

/**
 * One file: a header (magic, version, byte order, names, shapes, steps, note), then the numbers,
 * then moments, then a checksum. Written beside and renamed, so a file is whole or the one from
 * before. Little-endian on every machine; a symbolic link stays one.
 *
 * @param adam NULL: without moments; else Adam of p @param note any text, zero-terminated; NULL: ""
 * @return BERTH_OK, BERTH_EIO (also: there is something that is not a regular file), BERTH_ENOMEM,
 *         BERTH_EINVAL (Adam of others)
 */
berth_status berth_params_save(const berth_params *p, const berth_adam *adam, const char *note,
                               const char *path);
/** The note alone: what a program must know before it can make the parameters. @param note caller
 * frees with berth_nn_free_note */
berth_status berth_params_note(berth_ctx *ctx, const char *path, char **note);
void berth_nn_free_note(berth_ctx *ctx, char *note);
/** Names, shapes and order must be those of the file (the first difference is reported); or nothing
 * changes. Gradients stay.
 *  @param adam NULL: moments in the file are left; else it must have some
 *  @return BERTH_OK, BERTH_EIO, BERTH_EPARSE (no such file kind, other version, cut off, damaged),
 *          BERTH_EINVAL (other network), BERTH_ENOMEM; whatever the file contains, no more memory
 *          is allocated than p (and Adam) take, and its note and names */
berth_status berth_params_load(berth_params *p, berth_adam *adam, const char *path);

#ifdef __cplusplus
}
#endif
#endif
