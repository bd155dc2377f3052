/* Jackson's preemptive schedule of one machine: at any time the released item with the longest
 * delivery runs; its end is the least makespan with preemption. Those released are a heap in the
 * first `size` places of the array: they are fewer than those that have been passed.
 * O(n log(n)). Source: Jackson 1955; Carlier, Pinson 1989. */
#include "base/plain_heap_internal.h"
#include "base/sort_internal.h"
#include "destructive_internal.h"

static inline bool longer(berth_i_destruct_item x, berth_i_destruct_item y) { return x.q > y.q; }
BERTH_I_HEAP(released, berth_i_destruct_item, longer)

BERTH_I_SORT(sort_by_release, berth_i_destruct_item, BERTH_I_UP(r))

/* Mostly sorted already: ids are in topological order.  @return steps */
static int32_t sort_items(berth_i_destruct_item *a, int32_t n) {
  int32_t i, moves = 0;
  for (i = 1; i < n; i++) {
    berth_i_destruct_item x = a[i];
    int32_t j;
    for (j = i; j > 0 && a[j - 1].r > x.r; j--) a[j] = a[j - 1];
    moves += i - j;
    a[j] = x;
    if (moves > 8 * n) break;
  }
  if (i == n) return moves / 2;
  sort_by_release(a, (size_t)n);
  return 16 * n;
}

double berth_i_destruct_jackson(berth_i_destruct *b, int32_t n) {
  berth_i_destruct_item *a = b->sorted;
  double now = 0, end = 0;
  int32_t next = 0, size = 0;
  if (n == 0) return 0;
  memcpy(a, b->item, (size_t)n * sizeof *a);
  b->work += 2 * n + sort_items(a, n);
  while (next < n || size > 0) {
    if (size == 0) now = fmax(now, a[next].r);
    while (next < n && a[next].r <= now) released_up(a, size++, a[next]), next++;
    double until = next < n ? a[next].r : INFINITY;
    if (now + a->p <= until) {
      now += a->p;
      end = fmax(end, now + a->q);
      released_pop(a, size--);
    } else {
      a->p -= until - now;
      now = until;
    }
  }
  return end;
}
