/* Arrays: one block each, head and numbers, row-major float32. Large blocks come from the context's
 * block cache. Counted references; a parameter's gradient is owned by its array. */
#include "vector_internal.h"

#include "nn_internal.h"

#include <stdio.h>

/* Numbers begin at a multiple of 64 bytes behind the head: whole cache lines where the allocator
 * gives them. */
enum { HEAD = (sizeof(berth_array) + 63) / 64 * 64 };

static size_t bytes_of(const berth_array *a) { return HEAD + (size_t)a->size * sizeof(float); }

/* Products of any extents must fit, of empty arrays, too. */
static berth_status check_shape(berth_ctx *ctx, int32_t rank, const int32_t *shape, int64_t *size) {
  int64_t n = 1;
  bool empty = false;
  if (rank < 1 || rank > BERTH_NN_RANK) {
    return berth_i_fail(ctx, BERTH_EINVAL, "array: rank %d is not 1 to %d", (int)rank,
                        BERTH_NN_RANK);
  }
  for (int32_t i = 0; i < rank; i++) {
    if (shape[i] < 0)
      return berth_i_fail(ctx, BERTH_EINVAL, "array: axis %d has %d numbers", (int)i,
                          (int)shape[i]);
    empty = empty || shape[i] == 0;
    if (shape[i] > 0 && n > INT64_MAX / 8 / shape[i])
      return berth_i_fail(ctx, BERTH_ENOMEM, "array: too many numbers");
    n *= shape[i] > 0 ? shape[i] : 1;
  }
  *size = empty ? 0 : n;
  return BERTH_OK;
}

berth_status berth_i_array_raw(berth_ctx *ctx, int32_t rank, const int32_t *shape,
                               berth_array **out) {
  int64_t size = 0;
  berth_status st = check_shape(ctx, rank, shape, &size);
  if (st != BERTH_OK) return st;
  berth_array *a;
  if (!(a = berth_i_block_alloc(ctx, HEAD + (size_t)size * sizeof(float))))
    return berth_i_nomem(ctx);
  a->ctx = ctx;
  a->refs = 1;
  a->rank = rank;
  for (int32_t i = 0; i < BERTH_NN_RANK; i++) a->shape[i] = i < rank ? shape[i] : 1;
  a->size = size;
  a->data = (float *)(void *)((char *)a + HEAD);
  a->gradient = NULL;
  a->tape = 0;
  a->slot = 0;
  a->shared = false;
  berth_ctx_retain(ctx);
  *out = a;
  return BERTH_OK;
}

berth_status berth_array_new(berth_ctx *ctx, int32_t rank, const int32_t *shape,
                             berth_array **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_status st = berth_i_array_raw(ctx, rank, shape, out);
  if (st == BERTH_OK) memset((*out)->data, 0, (size_t)(*out)->size * sizeof(float));
  return st;
}

void berth_array_retain(berth_array *a) { a->refs++; }

/* The context last: it may be the last reference to that, too. */
void berth_array_release(berth_array *a) {
  if (!a || --a->refs > 0) return;
  berth_ctx *ctx = a->ctx;
  berth_array_release(a->gradient);
  berth_i_block_free(ctx, a, bytes_of(a));
  berth_ctx_release(ctx);
}

int32_t berth_array_rank(const berth_array *a) { return a->rank; }
const int32_t *berth_array_shape(const berth_array *a) { return a->shape; }
int64_t berth_array_size(const berth_array *a) { return a->size; }
float *berth_array_data(berth_array *a) { return a->data; }

bool berth_i_same_shape(const berth_array *a, const berth_array *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

/* Four extents of at most ten digits and three separators fit into the buffer. */
const char *berth_i_shape_text(const berth_array *a, char buf[BERTH_I_SHAPE_TEXT]) {
  int at = 0;
  for (int32_t i = 0; i < a->rank; i++) {
    at += snprintf(buf + at, (size_t)(BERTH_I_SHAPE_TEXT - at), "%s%d", i ? " x " : "",
                   (int)a->shape[i]);
  }
  return buf;
}

berth_status berth_i_shapes(const char *what, const berth_array *a, const berth_array *b) {
  char x[BERTH_I_SHAPE_TEXT], y[BERTH_I_SHAPE_TEXT];
  return berth_i_fail(a->ctx, BERTH_EINVAL, "%s: %s and %s do not match", what,
                      berth_i_shape_text(a, x), berth_i_shape_text(b, y));
}
