/* The cluster of the planner: servers are bits, blocks are masks, what a model takes is a
 * table. As long as memory does not bind, all ops of a job with as many pieces lie in the same
 * block, the first that is free; so a job takes one block for each number of pieces that its ops
 * have. Games on it (some 5 us a job on 64 servers) take jobs in turn, and ends are times in
 * `free_at`: they need no events, so they do not run the cluster's loop. */
#ifndef BERTH_PACML_FAST_H
#define BERTH_PACML_FAST_H

#include "pacml_internal.h"

enum {
  BERTH_I_FAST_SERVERS = BERTH_I_RAMP_SERVERS,
  BERTH_I_FAST_WORDS = BERTH_I_FAST_SERVERS / 64,
  BERTH_I_FAST_SIZES = 8,
  BERTH_I_FAST_DECISIONS = 40
};

/** A set of servers; only the first `words` words of a cluster are read or written. */
typedef struct berth_i_servers {
  uint64_t w[BERTH_I_FAST_WORDS];
} berth_i_servers;

/** A model under a decision. */
typedef struct berth_i_fast_cut {
  int32_t n_sizes, size[BERTH_I_FAST_SIZES]; /* pieces that its ops have, most first */
  double jct;                                /* s; INFINITY: there is no legal block */
} berth_i_fast_cut;

typedef struct berth_i_fast {
  berth_i_pool pool;
  berth_pacml *env;
  int32_t servers, words;
  int32_t *first;  /* [most + 2] blocks of each size, in the order of the search */
  uint64_t *block; /* [n_blocks * words] */
  size_t n_blocks;
  berth_i_fast_cut *cut; /* [models * decisions] by index of the decision in env->decisions */
} berth_i_fast;

berth_status berth_i_fast_new(berth_pacml *env, berth_i_fast *f);
void berth_i_fast_release(berth_i_fast *f);
/** Whether a job can be placed. @param block of its ops with most pieces, free; BERTH_NONE: the
 *  first that fits  @param taken out: its servers */
bool berth_i_fast_place(const berth_i_fast *f, const berth_i_fast_cut *cut,
                        const berth_i_servers *busy, int32_t block, berth_i_servers *taken);
berth_i_servers berth_i_fast_busy(const berth_i_fast *f, const double *free_at, double time);

static inline const uint64_t *berth_i_fast_block(const berth_i_fast *f, int32_t i) {
  return f->block + (size_t)i * (size_t)f->words;
}

static inline bool berth_i_fast_meets(const berth_i_fast *f, const uint64_t *a,
                                      const uint64_t *b) {
  for (int32_t i = 0; i < f->words; i++)
    if (a[i] & b[i]) return true;
  return false;
}

static inline bool berth_i_fast_equal(const berth_i_fast *f, const uint64_t *a,
                                      const uint64_t *b) {
  return !memcmp(a, b, (size_t)f->words * sizeof *a);
}

static inline int32_t berth_i_fast_count(const berth_i_fast *f, const uint64_t *a) {
  int32_t n = 0;
  for (int32_t i = 0; i < f->words; i++) n += berth_i_count_bits(a[i]);
  return n;
}

/* The servers of a set, in ascending order.  @return how many */
static inline int32_t berth_i_fast_list(const berth_i_fast *f, const uint64_t *a,
                                        int32_t *servers) {
  int32_t n = 0;
  for (int32_t i = 0; i < f->words; i++)
    for (uint64_t left = a[i]; left; left &= left - 1)
      servers[n++] = i * 64 + berth_i_count_bits((left & -left) - 1);
  return n;
}

#endif
