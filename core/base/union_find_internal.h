/* Disjoint sets over 0..n-1 as an array of parents: `up[i] = i` at first. The root of a set is its
 * lowest member; paths are halved on the way, so n operations take O(n log n). */
#ifndef BERTH_UNION_FIND_INTERNAL_H
#define BERTH_UNION_FIND_INTERNAL_H

#include <stdint.h>

static inline void berth_i_sets_init(int32_t *up, int32_t n) {
  for (int32_t i = 0; i < n; i++) up[i] = i;
}

static inline int32_t berth_i_sets_root(int32_t *up, int32_t i) {
  while (up[i] != i) i = up[i] = up[up[i]];
  return i;
}

/** Joins the sets of a and b.  @return the root of both */
static inline int32_t berth_i_sets_join(int32_t *up, int32_t a, int32_t b) {
  a = berth_i_sets_root(up, a);
  b = berth_i_sets_root(up, b);
  if (a < b) return up[b] = a;
  return up[a] = b;
}

#endif
