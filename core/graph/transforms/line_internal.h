/* A total order of 0..n-1 that reports which of two comes first, and in which things move.
 * Labels between neighbours; where they run out, the smallest stretch around that is thin enough is
 * spread anew: amortised O(log n) a move. */
#ifndef BERTH_LINE_INTERNAL_H
#define BERTH_LINE_INTERNAL_H

#include "base/pool_internal.h"

typedef struct berth_i_line {
  int32_t n;            /* place n is the end, before the first and behind the last */
  int32_t *next, *prev; /* [n + 1] */
  uint64_t *label;      /* [n + 1] rising; the end has 0 */
} berth_i_line;

/** @param pool of the arrays  @param order [n] first to last */
berth_status berth_i_line_init(berth_i_pool *pool, int32_t n, const int32_t *order,
                               berth_i_line *l);
void berth_i_line_remove(berth_i_line *l, int32_t x);
/** Puts a thing that was removed behind `after` (n: first of all). */
void berth_i_line_insert(berth_i_line *l, int32_t x, int32_t after);
static inline bool berth_i_line_before(const berth_i_line *l, int32_t a, int32_t b) {
  return l->label[a] < l->label[b];
}

#endif
