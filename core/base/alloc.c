/* Accounted allocation: arrays, and large blocks that may come from those kept (block_cache.c). The
 * context counts the bytes in use and their peak; sizes are given back at free, so no header is
 * needed. */
#include "context_internal.h"

static char nothing[1]; /* what arrays of length zero point to; never written */

static void *allocate(berth_ctx *ctx, void *ptr, size_t osize, size_t nsize) {
  if (ctx->n_cached && nsize > osize) berth_i_block_cache_trim(ctx, nsize - osize);
  void *p = ctx->hooks.alloc(ctx->hooks.alloc_ud, ptr, osize, nsize);
  if (!p && berth_i_block_cache_drop(ctx))
    p = ctx->hooks.alloc(ctx->hooks.alloc_ud, ptr, osize, nsize);
  if (!p) return NULL;
  ctx->used += nsize - osize;
  if (ctx->used > ctx->peak) ctx->peak = ctx->used;
  return p;
}

void *berth_i_alloc(berth_ctx *ctx, size_t n, size_t size) {
  if (n == 0) return nothing;
  if (n > SIZE_MAX / size) return NULL;
  return allocate(ctx, NULL, 0, n * size);
}

void *berth_i_zalloc(berth_ctx *ctx, size_t n, size_t size) {
  void *p = berth_i_alloc(ctx, n, size);
  if (p && n > 0) memset(p, 0, n * size);
  return p;
}

void berth_i_free(berth_ctx *ctx, void *ptr, size_t n, size_t size) {
  if (!ptr || n == 0) return;
  ctx->used -= n * size;
  ctx->hooks.alloc(ctx->hooks.alloc_ud, ptr, n * size, 0);
}

void *berth_i_realloc(berth_ctx *ctx, void *ptr, size_t n_old, size_t n_new, size_t size) {
  if (!ptr || n_old == 0) return berth_i_alloc(ctx, n_new, size);
  if (n_new == 0) {
    berth_i_free(ctx, ptr, n_old, size);
    return nothing;
  }
  if (n_new > SIZE_MAX / size) return NULL;
  return allocate(ctx, ptr, n_old * size, n_new * size);
}

berth_status berth_i_grow(berth_ctx *ctx, void **ptr, size_t *cap, size_t need, size_t size) {
  size_t n = *cap < 8 ? 8 : *cap;
  if (need <= *cap) return BERTH_OK;
  while (n < need) n += n / 2;
  void *p = berth_i_realloc(ctx, *ptr, *cap, n, size);
  if (!p) return berth_i_nomem(ctx);
  *ptr = p;
  *cap = n;
  return BERTH_OK;
}

char *berth_i_strdup(berth_ctx *ctx, const char *s) {
  size_t n = strlen(s) + 1;
  char *copy = berth_i_alloc(ctx, n, 1);
  if (copy) memcpy(copy, s, n);
  return copy;
}

void berth_i_strfree(berth_ctx *ctx, char *s) {
  if (s) berth_i_free(ctx, s, strlen(s) + 1, 1);
}

/* ---- blocks ---- */

void *berth_i_block_alloc(berth_ctx *ctx, size_t size) {
  size_t n = berth_i_block_cache_rounded(size);
  void *ptr = berth_i_block_cache_take(ctx, n);
  if (!ptr) return berth_i_alloc(ctx, 1, n);
  ctx->used += n;
  berth_i_ctx_count_peak(ctx, 0);
  return ptr;
}

void berth_i_block_free(berth_ctx *ctx, void *ptr, size_t size) {
  size_t n = berth_i_block_cache_rounded(size);
  if (!ptr) return;
  if (berth_i_block_cache_put(ctx, ptr, n)) ctx->used -= n;
  else berth_i_free(ctx, ptr, 1, n);
}
