/* Layout of the context, for the files of base alone; the cache of large blocks, between alloc.c
 * and block_cache.c. */
#ifndef BERTH_CONTEXT_INTERNAL_H
#define BERTH_CONTEXT_INTERNAL_H

#include "base_internal.h"

/* A block that was freed and not given back. */
typedef struct berth_i_cached_block {
  void *ptr;
  size_t size;
} berth_i_cached_block;

struct berth_ctx {
  berth_hooks hooks;
  int32_t refs;
  size_t used, peak;
  berth_i_cached_block *cached; /* [n_cached], the oldest first; see block_cache.c */
  int32_t n_cached, cache_users;
  size_t cached_bytes;
  uint64_t number; /* the last that berth_i_ctx_number gave */
  char error[1024];
};

/** Before `more` bytes are allocated: gives cached blocks back, the oldest first, so that with what
 *  is in use they stay within the peak. */
void berth_i_block_cache_trim(berth_ctx *ctx, size_t more);
/** The size that a block has: `size`, or more. */
size_t berth_i_block_cache_rounded(size_t size);
/** A cached block of a rounded size; NULL: there is none. */
void *berth_i_block_cache_take(berth_ctx *ctx, size_t size);
/** @param size rounded  @return whether the block was kept */
bool berth_i_block_cache_put(berth_ctx *ctx, void *ptr, size_t size);
/** Gives all cached blocks back.  @return whether there were any */
bool berth_i_block_cache_drop(berth_ctx *ctx);

#endif
