/* Order maintenance by labels: Bender, Cole, Demaine, Farach-Colton, Zito, "Two simplified
 * algorithms for maintaining order in a list", ESA 2002. */
#include "line_internal.h"

#define TOP ((uint64_t)1 << 62)

berth_status berth_i_line_init(berth_i_pool *pool, int32_t n, const int32_t *order,
                               berth_i_line *l) {
  uint64_t gap = TOP / ((uint64_t)n + 1);
  int32_t last = n;
  *l = (berth_i_line){ .n = n };
  l->next = berth_i_pool_alloc(pool, (size_t)n + 1, sizeof *l->next);
  l->prev = berth_i_pool_alloc(pool, (size_t)n + 1, sizeof *l->prev);
  l->label = berth_i_pool_alloc(pool, (size_t)n + 1, sizeof *l->label);
  berth_status st;
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) return st;
  l->label[n] = 0;
  for (int32_t k = 0; k < n; k++) {
    l->next[last] = order[k];
    l->prev[order[k]] = last;
    l->label[order[k]] = ((uint64_t)k + 1) * gap;
    last = order[k];
  }
  l->next[last] = n;
  l->prev[n] = last;
  return BERTH_OK;
}

void berth_i_line_remove(berth_i_line *l, int32_t x) {
  l->next[l->prev[x]] = l->next[x];
  l->prev[l->next[x]] = l->prev[x];
}

static uint64_t label_behind(const berth_i_line *l, int32_t x) {
  return l->next[x] == l->n ? TOP : l->label[l->next[x]];
}

/* From `first`, `count` things on labels evenly over [low, low + size). The end keeps 0, which is
 * where its stretch begins. */
static void spread(berth_i_line *l, int32_t first, int32_t count, uint64_t low, uint64_t size) {
  uint64_t gap = size / (uint64_t)count;
  int32_t x = first;
  for (int32_t k = 0; k < count; k++, x = l->next[x]) l->label[x] = low + (uint64_t)k * gap;
}

/* A stretch of 2^i labels may hold (2 / 1.5)^i things. */
static void thin_out(berth_i_line *l, int32_t x) {
  int32_t first = x, last = x, count = 1;
  uint64_t size = 1, low;
  double most = 1;
  do {
    size *= 2;
    most *= 2 / 1.5;
    low = l->label[x] & ~(size - 1);
    while (first != l->n && l->label[l->prev[first]] >= low) {
      first = l->prev[first];
      count++;
    }
    while (l->next[last] != l->n && l->label[l->next[last]] < low + size) {
      last = l->next[last];
      count++;
    }
  } while (size < TOP && (double)count >= most);
  spread(l, first, count, low, size);
}

void berth_i_line_insert(berth_i_line *l, int32_t x, int32_t after) {
  if (label_behind(l, after) - l->label[after] < 2) thin_out(l, after);
  int32_t behind = l->next[after];
  l->label[x] = l->label[after] + (label_behind(l, after) - l->label[after]) / 2;
  l->prev[x] = after;
  l->next[x] = behind;
  l->next[after] = x;
  l->prev[behind] = x;
}
