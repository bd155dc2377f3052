/* Jackson's preemptive schedule of one machine: at any time the released item with the longest
 * delivery runs; its end is the least makespan with preemption. Those released are a heap in the
 * first `size` places of the array: they are fewer than those that have been passed.
 * O(n log(n)). Source: Jackson 1955; Carlier, Pinson 1989. */
#include "base/plain_heap_internal.h"
#include "destructive_internal.h"

static inline bool longer(berth_i_destruct_item x, berth_i_destruct_item y) { return x.q > y.q; }
BERTH_I_HEAP(released, berth_i_destruct_item, longer)

/* Copies the items by rising release: merges pairs of rising runs until one is left. Lists of
 * clusters rise in topological order, so that there are few runs.  @return steps */
static int64_t sort_items(berth_i_destruct *b, int32_t n) {
  const berth_i_destruct_item *from = b->item;
  berth_i_destruct_item *to = b->sorted;
  int64_t steps = 0;
  for (int32_t runs = 2; runs > 1;) {
    runs = 0;
    for (int32_t i = 0; i < n; runs++) {
      int32_t k = i, middle = i + 1;
      while (middle < n && from[middle - 1].r <= from[middle].r) middle++;
      int32_t end = middle < n ? middle + 1 : n, j = middle;
      while (end < n && from[end - 1].r <= from[end].r) end++;
      for (int32_t at = k; at < end; at++)
        to[at] = j == end || (i < middle && from[i].r <= from[j].r) ? from[i++] : from[j++];
      i = end;
    }
    steps += n;
    from = to;
    to = to == b->sorted ? b->spare : b->sorted;
  }
  if (from != b->sorted) {
    berth_i_destruct_item *swap = b->sorted;
    b->sorted = b->spare;
    b->spare = swap;
  }
  return steps;
}

double berth_i_destruct_jackson(berth_i_destruct *b, int32_t n) {
  double now = 0, end = 0;
  int32_t next = 0, size = 0;
  if (n == 0) return 0;
  b->work += n + sort_items(b, n);
  berth_i_destruct_item *a = b->sorted;
  while (next < n || size > 0) {
    if (size == 0) now = berth_i_max(now, a[next].r);
    while (next < n && a[next].r <= now) released_up(a, size++, a[next]), next++;
    double until = next < n ? a[next].r : INFINITY;
    if (now + a->p <= until) {
      now += a->p;
      end = berth_i_max(end, now + a->q);
      released_pop(a, size--);
    } else {
      a->p -= until - now;
      now = until;
    }
  }
  return end;
}
