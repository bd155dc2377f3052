/* Arrays that are freed together: a doubly linked list of blocks, so that one that grows may be
 * taken out. */
#include "pool_internal.h"

#include <stddef.h>

typedef struct berth_i_pool_block {
  _Alignas(max_align_t) struct berth_i_pool_block *next; /* so that what follows the header is
                                                            aligned, too */
  struct berth_i_pool_block *previous;
  size_t bytes; /* with this header */
} block;

static void link_block(berth_i_pool *p, block *b) {
  if (b->next) b->next->previous = b;
  if (b->previous) b->previous->next = b;
  else p->first = b;
}

void *berth_i_pool_realloc(berth_i_pool *p, void *ptr, size_t n_old, size_t n, size_t size) {
  block *b = n_old > 0 ? (block *)ptr - 1 : NULL;
  size_t bytes = sizeof *b + n * size;
  if (n > (SIZE_MAX - sizeof *b) / size) return NULL;
  if (!(b = berth_i_realloc(p->ctx, b, b ? b->bytes : 0, bytes, 1))) return NULL;
  if (n_old == 0) {
    b->next = p->first;
    b->previous = NULL;
  }
  b->bytes = bytes;
  link_block(p, b);
  return b + 1;
}

void *berth_i_pool_alloc(berth_i_pool *p, size_t n, size_t size) {
  if (p->refused) return NULL;
  if (n == 0) return berth_i_alloc(p->ctx, 0, size);
  void *ptr = berth_i_pool_realloc(p, NULL, 0, n, size);
  p->refused = !ptr;
  return ptr;
}

void *berth_i_pool_zalloc(berth_i_pool *p, size_t n, size_t size) {
  void *ptr = berth_i_pool_alloc(p, n, size);
  if (ptr && n > 0) memset(ptr, 0, n * size);
  return ptr;
}

void *berth_i_pool_copy(berth_i_pool *p, const void *from, size_t n, size_t size) {
  void *ptr = from ? berth_i_pool_alloc(p, n, size) : NULL;
  if (ptr && n > 0) memcpy(ptr, from, n * size);
  return ptr;
}

char *berth_i_pool_strdup(berth_i_pool *p, const char *s) {
  return berth_i_pool_copy(p, s, strlen(s) + 1, 1);
}

berth_status berth_i_pool_grow(berth_i_pool *p, void **ptr, size_t *cap, size_t need, size_t size) {
  size_t n = *cap < 8 ? 8 : *cap;
  if (need <= *cap) return BERTH_OK;
  while (n < need) n += n / 2;
  void *grown;
  if (!(grown = berth_i_pool_realloc(p, *ptr, *cap, n, size))) return berth_i_nomem(p->ctx);
  *ptr = grown;
  *cap = n;
  return BERTH_OK;
}

berth_status berth_i_pool_status(berth_i_pool *p) {
  bool refused = p->refused;
  p->refused = false;
  return refused ? berth_i_nomem(p->ctx) : BERTH_OK;
}

void berth_i_pool_free(berth_i_pool *p) {
  berth_ctx *ctx = p->ctx;
  block *b = p->first;
  p->first = NULL; /* now: the pool may be in one of its blocks */
  p->refused = false;
  while (b) {
    block *next = b->next;
    berth_i_free(ctx, b, b->bytes, 1);
    b = next;
  }
}

void berth_i_pool_move(berth_i_pool *p, berth_ctx *to) {
  size_t bytes = 0;
  for (const block *b = p->first; b; b = b->next) bytes += b->bytes;
  berth_i_ctx_move(p->ctx, to, bytes);
  p->ctx = to;
}

void *berth_i_pool_object(berth_ctx *ctx, size_t size) {
  berth_i_pool pool = berth_i_pool_empty(ctx);
  void *object = berth_i_pool_zalloc(&pool, 1, size);
  if (object) memcpy(object, &pool, sizeof pool);
  return object;
}
