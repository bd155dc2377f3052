/* Arrays that live together: allocated one by one, freed by one call.
 *
 * A pool is a list of blocks of the context's allocator, each with a header of 32 bytes. A request
 * that is refused marks the pool, and all later ones return NULL: a caller allocates all of its
 * arrays and checks once, by berth_i_pool_status. Pools may be moved (copied and the old one
 * forgotten). */
#ifndef BERTH_POOL_INTERNAL_H
#define BERTH_POOL_INTERNAL_H

#include "base_internal.h"

typedef struct berth_i_pool {
  berth_ctx *ctx;
  struct berth_i_pool_block *first;
  bool refused;
} berth_i_pool;

static inline berth_i_pool berth_i_pool_empty(berth_ctx *ctx) {
  return (berth_i_pool){ ctx, NULL, false };
}
/** As berth_i_alloc, with the pool as owner. */
void *berth_i_pool_alloc(berth_i_pool *p, size_t n, size_t size);
void *berth_i_pool_zalloc(berth_i_pool *p, size_t n, size_t size);
/** A copy of n items of `from`; of NULL, NULL. */
void *berth_i_pool_copy(berth_i_pool *p, const void *from, size_t n, size_t size);
char *berth_i_pool_strdup(berth_i_pool *p, const char *s);
/** Another length of an array of the pool; with n_old 0, a new array. A refusal leaves the array
 * and does not mark the pool. */
void *berth_i_pool_realloc(berth_i_pool *p, void *ptr, size_t n_old, size_t n, size_t size);
/** As berth_i_grow, of an array of the pool or, with *cap 0, a new one. A refusal does not mark the
 * pool. */
berth_status berth_i_pool_grow(berth_i_pool *p, void **ptr, size_t *cap, size_t need, size_t size);
/** The same of an array by its name. */
#define BERTH_I_POOL_GROW(pool, array, cap, need) \
  berth_i_pool_grow(pool, (void **)&(array), &(cap), need, sizeof *(array))
/** Removes the mark.  @return BERTH_OK, BERTH_ENOMEM (a request was refused since the last call) */
berth_status berth_i_pool_status(berth_i_pool *p);
/** An object that begins with the pool in which it is: berth_i_pool_free of that one frees it, too.
 *  @return zeroed but for the pool; NULL: refused */
void *berth_i_pool_object(berth_ctx *ctx, size_t size);
/** All of it, one reference of its context with it, now belongs to `to`, which has the same
 * allocator. O(blocks) */
void berth_i_pool_move(berth_i_pool *p, berth_ctx *to);
/** Frees all. The pool is empty then and may be used again.  O(blocks) */
void berth_i_pool_free(berth_i_pool *p);

#endif
