/* The cluster's state. */
#ifndef BERTH_CLUSTER_INTERNAL_H
#define BERTH_CLUSTER_INTERNAL_H

#include "base/heap_internal.h"
#include "base/pool_internal.h"
#include <berth/cluster.h>

/** Amounts that a job holds on one machine; those of a job are a list. */
typedef struct berth_i_hold {
  int32_t machine, next;
} berth_i_hold;

typedef struct berth_i_cluster_job {
  berth_job_record r;
  double since;          /* s: `left` is as of then */
  double share;          /* machines' worth that it holds */
  int32_t hold;          /* first, BERTH_NONE */
  int32_t before, after; /* while it waits: those that wait, by number; BERTH_NONE */
} berth_i_cluster_job;

struct berth_cluster {
  berth_i_pool pool;
  berth_ctx *ctx;
  berth_cluster_options o;
  double *capacity, *free_amount; /* [machines * resources] */
  int32_t *users;                 /* [machines] jobs that hold something there */
  int64_t *named, starts;         /* [machines] the start that named it last; starts so far */
  int32_t n, next_arrival;
  int32_t first_waiting, last_waiting; /* BERTH_NONE: no job waits */
  berth_job *job;                      /* [n] */
  berth_i_cluster_job *at;             /* [n] */
  berth_i_heap ends;                   /* running jobs by the time of their end */
  berth_i_hold *hold;                  /* all, those that are free in a list */
  double *amount;                      /* [holds * resources] */
  size_t cap_hold, cap_amount;
  int32_t n_holds, free_hold, n_free_holds;
  double now, slot_at, wake_at;
  bool over;
  berth_cluster_summary sum;
  int32_t used_machines;
  double used_share;
};

/** Moves the clock, with what is summed over time. */
void berth_i_cluster_advance(berth_cluster *c, double time);
/** A job waits from now on. */
void berth_i_cluster_enter(berth_cluster *c, int32_t job);
/** A job gives back what it holds. */
void berth_i_cluster_give_back(berth_cluster *c, int32_t job);

#endif
