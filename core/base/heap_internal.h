/* Indexed binary min-heap over items 0..n-1 with a double key; ties by item id. All inline: this is
 * hot.
 * The heap array grows with the items in it; `slot` has one int32 per possible item. */
#ifndef BERTH_HEAP_INTERNAL_H
#define BERTH_HEAP_INTERNAL_H

#include "base_internal.h"

typedef struct berth_i_heap_entry {
  double key;
  int32_t item;
} berth_i_heap_entry;

typedef struct berth_i_heap {
  berth_i_heap_entry *at;
  int32_t *slot; /* [n_items] position in `at`, -1: not in the heap */
  int32_t n, n_items;
  size_t cap;
} berth_i_heap;

berth_status berth_i_heap_init(berth_ctx *ctx, berth_i_heap *h, int32_t n_items, size_t cap);
void berth_i_heap_release(berth_ctx *ctx, berth_i_heap *h);
void berth_i_heap_clear(berth_i_heap *h);

static inline bool berth_i_heap_before(berth_i_heap_entry a, berth_i_heap_entry b) {
  return a.key < b.key || (a.key == b.key && a.item < b.item);
}

static inline void berth_i_heap_put(berth_i_heap *h, int32_t i, berth_i_heap_entry e) {
  h->at[i] = e;
  h->slot[e.item] = i;
}
static inline void berth_i_heap_up(berth_i_heap *h, int32_t i, berth_i_heap_entry e) {
  while (i > 0) {
    int32_t parent = (i - 1) / 2;
    if (!berth_i_heap_before(e, h->at[parent])) break;
    berth_i_heap_put(h, i, h->at[parent]);
    i = parent;
  }
  berth_i_heap_put(h, i, e);
}
static inline void berth_i_heap_down(berth_i_heap *h, int32_t i, berth_i_heap_entry e) {
  for (;;) {
    int32_t child = 2 * i + 1;
    if (child >= h->n) break;
    if (child + 1 < h->n && berth_i_heap_before(h->at[child + 1], h->at[child])) child++;
    if (!berth_i_heap_before(h->at[child], e)) break;
    berth_i_heap_put(h, i, h->at[child]);
    i = child;
  }
  berth_i_heap_put(h, i, e);
}
/** Inserts, or changes the key. */
static inline void berth_i_heap_push(berth_i_heap *h, int32_t item, double key) {
  berth_i_heap_entry e = { key, item };
  int32_t i = h->slot[item];
  if (i < 0) {
    berth_i_heap_up(h, h->n++, e);
  } else if (berth_i_heap_before(e, h->at[i])) {
    berth_i_heap_up(h, i, e);
  } else {
    berth_i_heap_down(h, i, e);
  }
}
static inline void berth_i_heap_remove(berth_i_heap *h, int32_t item) {
  int32_t i = h->slot[item];
  if (i < 0) return;
  h->slot[item] = -1;
  berth_i_heap_entry last = h->at[--h->n];
  if (i == h->n) return;
  if (i > 0 && berth_i_heap_before(last, h->at[(i - 1) / 2])) {
    berth_i_heap_up(h, i, last);
  } else {
    berth_i_heap_down(h, i, last);
  }
}
/** Needs n > 0. */
static inline int32_t berth_i_heap_pop(berth_i_heap *h, double *key) {
  int32_t item = h->at[0].item;
  if (key) *key = h->at[0].key;
  berth_i_heap_remove(h, item);
  return item;
}

#endif
