/* The cluster of the planner: servers are bits, blocks are masks, what a model takes is a
 * table. As long as memory does not bind, all ops of a job with as many pieces lie in the same
 * block, the first that is free; so a job takes one block for each number of pieces that its ops
 * have. At most 64 servers. Games on it (some 5 us a job) take jobs in turn, and ends are times in
 * `free_at`: they need no events, so they do not run the cluster's loop. */
#ifndef BERTH_PACML_FAST_H
#define BERTH_PACML_FAST_H

#include "pacml_internal.h"

enum { BERTH_I_FAST_SERVERS = 64, BERTH_I_FAST_SIZES = 8, BERTH_I_FAST_DECISIONS = 40 };

/** A model under a decision. */
typedef struct berth_i_fast_cut {
  int32_t n_sizes, size[BERTH_I_FAST_SIZES]; /* pieces that its ops have, most first */
  double jct;                                /* s; INFINITY: there is no legal block */
} berth_i_fast_cut;

typedef struct berth_i_fast {
  berth_i_pool pool;
  berth_pacml *env;
  int32_t servers;
  uint64_t all;
  int32_t *first;   /* [most + 2] blocks of each size, in the order of the search */
  uint64_t *block;
  size_t n_blocks;
  berth_i_fast_cut *cut; /* [models * decisions] by index of the decision in env->decisions */
} berth_i_fast;

berth_status berth_i_fast_new(berth_pacml *env, berth_i_fast *f);
void berth_i_fast_release(berth_i_fast *f);
/** Servers that a job takes; 0: it cannot be placed. @param block of its ops with most pieces,
 * free; 0: the first that fits */
uint64_t berth_i_fast_place(const berth_i_fast *f, const berth_i_fast_cut *cut, uint64_t busy,
                            uint64_t block);

static inline uint64_t berth_i_fast_busy(const berth_i_fast *f, const double *free_at,
                                         double time) {
  uint64_t busy = 0;
  for (int32_t s = 0; s < f->servers; s++) busy |= (uint64_t)(free_at[s] > time) << s;
  return busy;
}

#endif
