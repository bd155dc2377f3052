/* Jackson's preemptive schedule of one machine: at any time the released item with the longest delivery runs. */
#include "destructive_internal.h"
#include <stdlib.h>

static void sift_down(const berth_i_bite_item *a, int32_t *heap, int32_t n, int32_t i) {
  int32_t x = heap[i];
  for (;;) {
    int32_t k = 2 * i + 1;
    if (k >= n) break;
    if (k + 1 < n && a[heap[k + 1]].q > a[heap[k]].q) k++;
    if (!(a[heap[k]].q > a[x].q)) break;
    heap[i] = heap[k];
    i = k;
  }
  heap[i] = x;
}

static void sift_up(const berth_i_bite_item *a, int32_t *heap, int32_t i) {
  int32_t x = heap[i];
  while (i > 0 && a[x].q > a[heap[(i - 1) / 2]].q) {
    heap[i] = heap[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  heap[i] = x;
}

static int by_release(const void *pa, const void *pb) {
  const berth_i_bite_item *a = pa, *b = pb;
  return (a->r > b->r) - (a->r < b->r);
}

/* Mostly sorted already: ids are in topological order.  @return steps */
static int32_t sort_items(berth_i_bite_item *a, int32_t n) {
  int32_t i, j, moves = 0;
  for (i = 1; i < n; i++) {
    berth_i_bite_item x = a[i];
    for (j = i; j > 0 && a[j - 1].r > x.r; j--) a[j] = a[j - 1];
    moves += i - j;
    a[j] = x;
    if (moves > 8 * n) break;
  }
  if (i == n) return moves / 2;
  qsort(a, (size_t)n, sizeof *a, by_release);
  return 16 * n;
}

double berth_i_bite_jackson(berth_i_bite *b, int32_t n) {
  berth_i_bite_item *a = b->sorted;
  double now = 0, end = 0;
  int32_t next = 0, size = 0;
  if (n == 0) return 0;
  memcpy(a, b->item, (size_t)n * sizeof *a);
  b->work += 2 * n + sort_items(a, n);
  while (next < n || size > 0) {
    berth_i_bite_item *x;
    double until;
    if (size == 0) now = fmax(now, a[next].r);
    while (next < n && a[next].r <= now) b->heap[size] = next++, sift_up(a, b->heap, size++);
    x = &a[b->heap[0]];
    until = next < n ? a[next].r : INFINITY;
    if (now + x->p <= until) {
      now += x->p;
      end = fmax(end, now + x->q);
      b->heap[0] = b->heap[--size];
      if (size > 0) sift_down(a, b->heap, size, 0);
    } else {
      x->p -= until - now;
      now = until;
    }
  }
  return end;
}
