/* The assignment problem: rows to different columns at the least sum. */
#ifndef BERTH_ASSIGNMENT_INTERNAL_H
#define BERTH_ASSIGNMENT_INTERNAL_H

#include "base/pool_internal.h"

/** Compared in this order. */
typedef struct berth_i_price {
  double refused; /* 1: may not be */
  double cost, tie;
} berth_i_price;

static inline int berth_i_price_compare(berth_i_price a, berth_i_price b) {
  if (a.refused != b.refused) return a.refused < b.refused ? -1 : 1;
  if (a.cost != b.cost) return a.cost < b.cost ? -1 : 1;
  return a.tie < b.tie ? -1 : a.tie > b.tie;
}

enum { BERTH_I_MOST_PERMUTED = 8 };

/**
 * As few refused pairs as can be, then the least cost, then the least tie.
 *
 * @param price [rows * columns], rows <= columns  @param column [rows] out
 *
 * O(rows^2 columns). Source: Kuhn, "The Hungarian Method", 1955, by shortest augmenting paths as in
 * Jonker, Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment
 * problems", 1987, without their initialisation; on prices in lexicographic order, which the proof
 * allows: it only adds, subtracts and compares.
 */
berth_status berth_i_assignment(berth_ctx *ctx, int32_t rows, int32_t columns,
                                const berth_i_price *price, int32_t *column);
/** The same by trying all, but one of equal columns; columns <= BERTH_I_MOST_PERMUTED. Of equal
 *  answers the first in lexicographic order. */
void berth_i_assignment_enumerate(int32_t rows, int32_t columns, const berth_i_price *price,
                                  int32_t *column);

#endif
