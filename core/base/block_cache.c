/* Freed large blocks that are kept for the next of the same size: a short list, oldest first,
 * searched from the newest. Invariant: cached bytes plus bytes in use never exceed the context's
 * peak, so the cache does not raise the memory of a program. */
#include "context_internal.h"

/* Of 64 KB and more each: so many are over 32 MB, and a search through all of them is nothing
 * beside writing one. */
enum { MOST_BLOCKS = 512 };

static bool is_large(size_t size) {
  return size >= BERTH_I_CACHED_LEAST && size <= BERTH_I_CACHED_MOST;
}

/* Up to the next eighth of a power of two, so that blocks of nearly the same size can replace one
 * another. */
size_t berth_i_block_cache_rounded(size_t size) {
  size_t step = BERTH_I_CACHED_LEAST / 8;
  if (!is_large(size)) return size;
  while (step * 16 <= size) step *= 2;
  return (size + step - 1) / step * step;
}

static void remove_at(berth_ctx *ctx, int32_t i) {
  ctx->cached_bytes -= ctx->cached[i].size;
  ctx->n_cached--;
  memmove(ctx->cached + i, ctx->cached + i + 1, (size_t)(ctx->n_cached - i) * sizeof *ctx->cached);
}

static void give_back_oldest(berth_ctx *ctx) {
  berth_i_cached_block oldest = ctx->cached[0];
  remove_at(ctx, 0);
  ctx->hooks.alloc(ctx->hooks.alloc_ud, oldest.ptr, oldest.size, 0);
}

/* Small ones may exceed the peak: a large block is not given up for each of them. */
void berth_i_block_cache_trim(berth_ctx *ctx, size_t more) {
  if (more < BERTH_I_CACHED_LEAST) return;
  while (ctx->n_cached > 0 && ctx->used + ctx->cached_bytes + more > ctx->peak)
    give_back_oldest(ctx);
}

bool berth_i_block_cache_drop(berth_ctx *ctx) {
  if (!ctx->cached) return false;
  for (int32_t i = 0; i < ctx->n_cached; i++)
    ctx->hooks.alloc(ctx->hooks.alloc_ud, ctx->cached[i].ptr, ctx->cached[i].size, 0);
  ctx->hooks.alloc(ctx->hooks.alloc_ud, ctx->cached, MOST_BLOCKS * sizeof *ctx->cached, 0);
  ctx->cached = NULL;
  ctx->n_cached = 0;
  ctx->cached_bytes = 0;
  return true;
}

void *berth_i_block_cache_take(berth_ctx *ctx, size_t size) {
  if (!is_large(size)) return NULL;
  for (int32_t i = ctx->n_cached; i-- > 0;) {
    void *ptr = ctx->cached[i].ptr;
    if (ctx->cached[i].size != size) continue;
    remove_at(ctx, i);
    return ptr;
  }
  return NULL;
}

/* The list is there from the first block on; without memory for it none is kept. */
static bool can_keep(berth_ctx *ctx, size_t size) {
  if (ctx->cache_users == 0 || !is_large(size)) return false;
  if (!ctx->cached)
    ctx->cached = ctx->hooks.alloc(ctx->hooks.alloc_ud, NULL, 0, MOST_BLOCKS * sizeof *ctx->cached);
  return ctx->cached != NULL;
}

bool berth_i_block_cache_put(berth_ctx *ctx, void *ptr, size_t size) {
  if (!can_keep(ctx, size)) return false;
  while (ctx->n_cached == MOST_BLOCKS || ctx->cached_bytes + size > BERTH_I_CACHED_MOST)
    give_back_oldest(ctx);
  ctx->cached[ctx->n_cached++] = (berth_i_cached_block){ ptr, size };
  ctx->cached_bytes += size;
  return true;
}

void berth_i_block_cache_keep(berth_ctx *ctx) { ctx->cache_users++; }

void berth_i_block_cache_release(berth_ctx *ctx) {
  if (--ctx->cache_users == 0) berth_i_block_cache_drop(ctx);
}
