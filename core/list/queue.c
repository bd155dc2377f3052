/* Min-heap of entries by (key, second, item), four children to a node: shallower than a binary
 * heap, and the children share cache lines. Invariant: no entry is before its parent. O(log4 n) to
 * push, O(4 log4 n) to pop. */
#include "engine_internal.h"

berth_status berth_i_queue_push(berth_i_pool *pool, berth_i_queue *q, double key, double second,
                                int32_t item) {
  berth_i_entry e = { key, second, item };
  size_t i = q->n;
  if (q->n == q->cap) {
    berth_status st = berth_i_pool_grow(pool, (void **)&q->at, &q->cap, q->n + 1, sizeof *q->at);
    if (st != BERTH_OK) return st;
  }
  q->n++;
  while (i > 0) {
    size_t parent = (i - 1) / 4;
    if (!berth_i_entry_before(&e, &q->at[parent])) break;
    q->at[i] = q->at[parent];
    i = parent;
  }
  q->at[i] = e;
  return BERTH_OK;
}

static size_t least_child(const berth_i_queue *q, size_t i) {
  size_t child = 4 * i + 1, end = child + 4 < q->n ? child + 4 : q->n, best = child;
  for (child++; child < end; child++) {
    if (berth_i_entry_before(&q->at[child], &q->at[best])) best = child;
  }
  return best;
}

static void sink(berth_i_queue *q, size_t i, berth_i_entry e) {
  while (4 * i + 1 < q->n) {
    size_t child = least_child(q, i);
    if (!berth_i_entry_before(&q->at[child], &e)) break;
    q->at[i] = q->at[child];
    i = child;
  }
  q->at[i] = e;
}

berth_i_entry berth_i_queue_pop(berth_i_queue *q) {
  berth_i_entry top = q->at[0];
  q->n--;
  if (q->n > 0) sink(q, 0, q->at[q->n]);
  return top;
}

void berth_i_queue_filter(berth_i_queue *q, bool (*keep)(const void *ud, int32_t item),
                          const void *ud) {
  size_t kept = 0;
  for (size_t i = 0; i < q->n; i++) {
    if (keep(ud, q->at[i].item)) q->at[kept++] = q->at[i];
  }
  q->n = kept;
  for (size_t i = kept / 4 + 1; i-- > 0;) {
    if (i < kept) sink(q, i, q->at[i]);
  }
}
