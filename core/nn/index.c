/* Lists of ids, and rows in segments: immutable, with counted references, as tapes keep them. Range
 * checks are O(1) by the least and largest id. */
#include "nn_internal.h"

berth_status berth_index_new(berth_ctx *ctx, int32_t n, const int32_t *ids, berth_index **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  if (n < 0) return berth_i_fail(ctx, BERTH_EINVAL, "index: %d ids", (int)n);
  for (int32_t i = 0; i < n; i++) {
    if (ids[i] < BERTH_NONE)
      return berth_i_fail(ctx, BERTH_EINVAL, "index: id %d at %d", (int)ids[i], (int)i);
  }
  berth_index *x;
  if (!(x = berth_i_pool_object(ctx, sizeof *x))) return berth_i_nomem(ctx);
  if (!(x->ids = berth_i_pool_alloc(&x->pool, (size_t)n, sizeof *x->ids))) {
    berth_i_pool_free(&x->pool);
    return berth_i_nomem(ctx);
  }
  if (n > 0) memcpy(x->ids, ids, (size_t)n * sizeof *ids);
  x->ctx = ctx;
  x->refs = 1;
  x->n = n;
  x->least = n ? INT32_MAX : BERTH_NONE;
  x->largest = BERTH_NONE;
  for (int32_t i = 0; i < n; i++) {
    if (ids[i] < x->least) x->least = ids[i];
    if (ids[i] > x->largest) x->largest = ids[i];
  }
  berth_ctx_retain(ctx);
  *out = x;
  return BERTH_OK;
}

void berth_index_retain(berth_index *x) { x->refs++; }

void berth_index_release(berth_index *x) {
  if (!x || --x->refs > 0) return;
  berth_ctx *ctx = x->ctx;
  berth_i_pool_free(&x->pool);
  berth_ctx_release(ctx);
}

int32_t berth_index_size(const berth_index *x) { return x->n; }
const int32_t *berth_index_ids(const berth_index *x) { return x->ids; }
int32_t berth_index_largest(const berth_index *x) { return x->largest; }
int32_t berth_index_least(const berth_index *x) { return x->least; }

berth_status berth_i_check_index(const char *what, const char *unit, const berth_index *x,
                                 int32_t n, bool none) {
  if (x->largest >= n) {
    return berth_i_fail(x->ctx, BERTH_EINVAL, "%s: there is no %s %d among %d", what, unit,
                        (int)x->largest, (int)n);
  }
  if (!none && x->n > 0 && x->least < 0)
    return berth_i_fail(x->ctx, BERTH_EINVAL, "%s: an id is missing", what);
  return BERTH_OK;
}

/* first[] is a running sum, which must fit into int32_t. */
berth_status berth_segments_new(berth_ctx *ctx, int32_t n, const int32_t *length,
                                berth_segments **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  int64_t rows = 0;
  if (n < 0) return berth_i_fail(ctx, BERTH_EINVAL, "segments: %d of them", (int)n);
  for (int32_t i = 0; i < n; i++) {
    if (length[i] < 0)
      return berth_i_fail(ctx, BERTH_EINVAL, "segments: length %d at %d", (int)length[i], (int)i);
    rows += length[i];
  }
  if (rows > INT32_MAX)
    return berth_i_fail(ctx, BERTH_EINVAL, "segments: more than %d rows", INT32_MAX);
  berth_segments *s;
  if (!(s = berth_i_pool_object(ctx, sizeof *s))) return berth_i_nomem(ctx);
  if (!(s->first = berth_i_pool_alloc(&s->pool, (size_t)n + 1, sizeof *s->first))) {
    berth_i_pool_free(&s->pool);
    return berth_i_nomem(ctx);
  }
  s->ctx = ctx;
  s->refs = 1;
  s->n = n;
  s->first[0] = 0;
  for (int32_t i = 0; i < n; i++) s->first[i + 1] = s->first[i] + length[i];
  berth_ctx_retain(ctx);
  *out = s;
  return BERTH_OK;
}

void berth_segments_retain(berth_segments *s) { s->refs++; }

void berth_segments_release(berth_segments *s) {
  if (!s || --s->refs > 0) return;
  berth_ctx *ctx = s->ctx;
  berth_i_pool_free(&s->pool);
  berth_ctx_release(ctx);
}

int32_t berth_segments_count(const berth_segments *s) { return s->n; }
int32_t berth_segments_rows(const berth_segments *s) { return s->first[s->n]; }
const int32_t *berth_segments_first(const berth_segments *s) { return s->first; }

/* Rows of an array are its extent along axis 0. */
berth_status berth_i_check_segments(const char *what, const berth_array *a,
                                    const berth_segments *s) {
  if (s->first[s->n] == a->shape[0]) return BERTH_OK;
  return berth_i_fail(a->ctx, BERTH_EINVAL, "%s: segments of %d rows in all, but the array has %d",
                      what, (int)s->first[s->n], (int)a->shape[0]);
}
