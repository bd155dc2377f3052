/* Freed large blocks that are kept for the next of the same size. */
#include "context_internal.h"

/* Of 64 KB and more each: so many are over 32 MB, and a search through all of them is nothing
 * beside writing one. */
enum { MOST_BLOCKS = 512 };

static bool is_large(size_t size) {
  return size >= BERTH_I_SPARE_LEAST && size <= BERTH_I_SPARE_MOST;
}

/* Up to the next eighth of a power of two, so that blocks of nearly the same size stand in for one
 * another. */
size_t berth_i_spare_rounded(size_t size) {
  size_t step = BERTH_I_SPARE_LEAST / 8;
  if (!is_large(size)) return size;
  while (step * 16 <= size) step *= 2;
  return (size + step - 1) / step * step;
}

static void remove_at(berth_ctx *ctx, int32_t i) {
  ctx->spare_bytes -= ctx->spare[i].size;
  ctx->n_spare--;
  memmove(ctx->spare + i, ctx->spare + i + 1, (size_t)(ctx->n_spare - i) * sizeof *ctx->spare);
}

static void give_back_oldest(berth_ctx *ctx) {
  berth_i_spare oldest = ctx->spare[0];
  remove_at(ctx, 0);
  ctx->hooks.alloc(ctx->hooks.alloc_ud, oldest.ptr, oldest.size, 0);
}

/* Small ones may exceed the peak: a large block is not given up for each of them. */
void berth_i_spare_make_room(berth_ctx *ctx, size_t more) {
  if (more < BERTH_I_SPARE_LEAST) return;
  while (ctx->n_spare > 0 && ctx->used + ctx->spare_bytes + more > ctx->peak) give_back_oldest(ctx);
}

bool berth_i_spare_drop(berth_ctx *ctx) {
  if (!ctx->spare) return false;
  for (int32_t i = 0; i < ctx->n_spare; i++)
    ctx->hooks.alloc(ctx->hooks.alloc_ud, ctx->spare[i].ptr, ctx->spare[i].size, 0);
  ctx->hooks.alloc(ctx->hooks.alloc_ud, ctx->spare, MOST_BLOCKS * sizeof *ctx->spare, 0);
  ctx->spare = NULL;
  ctx->n_spare = 0;
  ctx->spare_bytes = 0;
  return true;
}

void *berth_i_spare_take(berth_ctx *ctx, size_t size) {
  if (!is_large(size)) return NULL;
  for (int32_t i = ctx->n_spare; i-- > 0;) {
    void *ptr = ctx->spare[i].ptr;
    if (ctx->spare[i].size != size) continue;
    remove_at(ctx, i);
    return ptr;
  }
  return NULL;
}

/* The list is there from the first block on; without memory for it none is kept. */
static bool can_keep(berth_ctx *ctx, size_t size) {
  if (ctx->spare_keepers == 0 || !is_large(size)) return false;
  if (!ctx->spare)
    ctx->spare = ctx->hooks.alloc(ctx->hooks.alloc_ud, NULL, 0, MOST_BLOCKS * sizeof *ctx->spare);
  return ctx->spare != NULL;
}

bool berth_i_spare_put(berth_ctx *ctx, void *ptr, size_t size) {
  if (!can_keep(ctx, size)) return false;
  while (ctx->n_spare == MOST_BLOCKS || ctx->spare_bytes + size > BERTH_I_SPARE_MOST)
    give_back_oldest(ctx);
  ctx->spare[ctx->n_spare++] = (berth_i_spare){ ptr, size };
  ctx->spare_bytes += size;
  return true;
}

void berth_i_spare_keep(berth_ctx *ctx) { ctx->spare_keepers++; }

void berth_i_spare_let_go(berth_ctx *ctx) {
  if (--ctx->spare_keepers == 0) berth_i_spare_drop(ctx);
}
