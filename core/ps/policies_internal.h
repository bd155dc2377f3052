/* What the schedulers of slots share: packing units on machines, and jobs as bundles. */
#ifndef BERTH_PS_POLICIES_INTERNAL_H
#define BERTH_PS_POLICIES_INTERNAL_H

#include "ps_internal.h"
#include <berth/ps.h>

/* ---- pack.c: machines of one slot ---- */

typedef struct berth_i_ps_unit {
  int32_t job;
  berth_ps_place at;
} berth_i_ps_unit;

typedef struct berth_i_ps_pack {
  berth_status st;       /* of a slot: after a refusal of memory nothing more is put */
  const berth_ps *ps;
  berth_i_pool *pool;
  int32_t leaves;        /* power of two */
  double *tree;          /* [2 * leaves * resources] what is left of each resource, at most, below
                            each node; leaves are machines */
  berth_i_ps_unit *unit; /* all that was put, in that order */
  size_t n, cap, cap_sorted;
  berth_i_ps_unit *sorted;
  size_t *first;         /* [max(machines, jobs) + 1] of a counting sort */
  berth_ps_place *place; /* [machines] */
} berth_i_ps_pack;

/** Arrays belong to the pool. */
berth_status berth_i_ps_pack_init(berth_i_ps_pack *k, berth_i_pool *pool, const berth_ps *p);
/** All is free.  O(machines * resources) */
void berth_i_ps_pack_reset(berth_i_ps_pack *k);
/** First machine at or after `from` that holds all of it, if need be from 0 again;
 * BERTH_NONE. */
int32_t berth_i_ps_pack_find(const berth_i_ps_pack *k, int32_t from, const double *demand);
/** Takes it, whether it fits or not. A refusal of memory is reported by berth_i_ps_pack_assign. */
void berth_i_ps_pack_put(berth_i_ps_pack *k, int32_t job, const berth_ps_place *at);
/** Takes back all that was put since there were `n` of them. */
void berth_i_ps_pack_undo(berth_i_ps_pack *k, size_t n);
/** What was put is assigned.  O(units + machines + jobs) */
berth_status berth_i_ps_pack_assign(berth_i_ps_pack *k, berth_ps_run *r);

/** Workers, then servers, one by one on the next machine in turn.  @return false: they do not fit,
 *  and nothing was put */
bool berth_i_ps_pack_spread(berth_i_ps_pack *k, int32_t job, int32_t workers, int32_t servers,
                            int32_t *turn);

/* ---- policies.c ---- */

typedef struct berth_i_ps_rules {
  size_t size;  /* of a scheduler of this kind */
  berth_status (*arrival)(berth_ps_scheduler *s, berth_ps_run *r, int32_t job); /* may be NULL */
  berth_status (*slot)(berth_ps_scheduler *s, berth_ps_run *r);
  /* of what it has besides; may be NULL */
  void (*release)(berth_ps_scheduler *s);
} berth_i_ps_rules;

struct berth_ps_scheduler {
  berth_i_pool pool; /* what it has besides is in it, too */
  const berth_i_ps_rules *rules;
  berth_ps *ps;
  berth_ctx *ctx;
  berth_i_ps_pack pack;
  bool changed;    /* some job came or ended since the last slot */
  int32_t *jobs;   /* [jobs] those that are there, by arrival */
  int32_t n_jobs;
  double total[BERTH_PS_RESOURCES];  /* capacity of the cluster */
};

berth_status berth_i_ps_scheduler_new(berth_ps *p, const berth_i_ps_rules *rules,
                                      berth_ps_scheduler **out);
/** It had places in the slot before. */
bool berth_i_ps_runs(const berth_ps_run *r, int32_t job);
/** What a job had in the slot before is put again. */
void berth_i_ps_keep(berth_ps_scheduler *s, berth_ps_run *r, int32_t job);
/** All jobs have what they had in the slot before. */
berth_status berth_i_ps_keep_all(berth_ps_scheduler *s, berth_ps_run *r);

/** Largest share of the cluster of any resource. INFINITY: of something of which there is none. */
double berth_i_ps_share(const berth_ps_scheduler *s, int32_t job, double workers, double servers);

typedef struct berth_i_ps_bundle {
  int32_t workers, servers, most; /* most: bundles of a job, the last perhaps with fewer workers */
} berth_i_ps_bundle;
berth_i_ps_bundle berth_i_ps_bundle_of(const berth_ps_job *j);
/** Workers of so many bundles. */
static inline int32_t berth_i_ps_bundle_workers(const berth_ps_job *j, const berth_i_ps_bundle *b,
                                                int32_t n) {
  int64_t workers = (int64_t)b->workers * n;
  return workers > j->batch ? j->batch : (int32_t)workers;
}

#endif
