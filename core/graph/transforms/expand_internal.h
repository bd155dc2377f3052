/* Schedules of collectives: a list of messages, step by step, each with the blocks that it carries.
 * Positions are devices, as the schedule counts them. */
#ifndef BERTH_EXPAND_INTERNAL_H
#define BERTH_EXPAND_INTERNAL_H

#include "transform_internal.h"

/** Blocks first, first + stride, ... modulo the number of positions; positions are devices, as the
 * schedule counts them. */
typedef struct berth_i_message {
  int32_t step, src, dst;
  int32_t first, count, stride;
} berth_i_message;

typedef struct berth_i_schedule {
  berth_i_pool *pool;
  berth_i_message *at; /* [n] by step */
  size_t n, cap;
  int32_t steps;
} berth_i_schedule;

/** Positions in groups: group a has size[a] of them from start[a] on. */
typedef struct berth_i_rounds {
  int32_t n;           /* positions */
  int32_t n_groups;
  const int32_t *start, *size; /* [n_groups] */
} berth_i_rounds;

void berth_i_schedule_clear(berth_i_schedule *s);

/** Every position starts with the block of its number; in the end all have all, and none has got
 *  one twice. Read backwards, with sums instead of copies, it is a reduce-scatter that adds every
 *  contribution once.
 *  @param way 1 or -1: the direction of rings */
berth_status berth_i_gather(berth_i_schedule *s, berth_expand_algorithm how,
                            const berth_i_rounds *r, int32_t way);
/** Every position has a block for every other one. Messages have no first block. */
berth_status berth_i_exchange(berth_i_schedule *s, berth_expand_algorithm how,
                              const berth_i_rounds *r);
/** Who passes on to whom what the root has, parents before children; step: depth. @param root
 * position */
berth_status berth_i_spread(berth_i_schedule *s, berth_expand_algorithm how,
                            const berth_i_rounds *r, int32_t root);
/** Cuts what the root has in n blocks and gives every position its own: with a gather behind it, a
 * broadcast. */
berth_status berth_i_scatter(berth_i_schedule *s, int32_t n, int32_t root);

#endif
