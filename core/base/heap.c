/* Indexed heap: making and releasing it. The operations are inline in heap_internal.h. */
#include "heap_internal.h"

berth_status berth_i_heap_init(berth_ctx *ctx, berth_i_heap *h, int32_t n_items, size_t cap) {
  memset(h, 0, sizeof *h);
  h->slot = berth_i_alloc(ctx, (size_t)n_items, sizeof *h->slot);
  h->at = berth_i_alloc(ctx, cap, sizeof *h->at);
  h->n_items = n_items;
  h->cap = cap;
  if (!h->slot || !h->at) {
    berth_i_heap_release(ctx, h);
    return berth_i_nomem(ctx);
  }
  for (int32_t i = 0; i < n_items; i++) h->slot[i] = -1;
  return BERTH_OK;
}

void berth_i_heap_release(berth_ctx *ctx, berth_i_heap *h) {
  berth_i_free(ctx, h->slot, (size_t)h->n_items, sizeof *h->slot);
  berth_i_free(ctx, h->at, h->cap, sizeof *h->at);
  memset(h, 0, sizeof *h);
}

void berth_i_heap_clear(berth_i_heap *h) {
  for (int32_t i = 0; i < h->n; i++) h->slot[h->at[i].item] = -1;
  h->n = 0;
}
