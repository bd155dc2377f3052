/* Workers and parameter servers: what the files of the problem and of its runs share. */
#ifndef BERTH_PS_INTERNAL_H
#define BERTH_PS_INTERNAL_H

#include "base/pool_internal.h"
#include <berth/ps.h>

/* Amounts that were added up and taken apart, and work that was cut into slots, may be off by
 * rounding: relative to the capacity, and to the job's work. */
#define BERTH_I_PS_TOLERANCE 1e-9

struct berth_ps {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t references;
  berth_ps_options o;
  double *capacity;   /* [machines * resources] */
  int32_t *rack;      /* [machines]; NULL: none */
  int32_t n;
  berth_ps_job *job;  /* [n] */
};

/** Places of a job: a stretch of the run's list. */
typedef struct berth_i_ps_stretch {
  size_t first;
  int32_t n;
} berth_i_ps_stretch;

typedef struct berth_i_ps_state {
  berth_i_ps_stretch last;  /* in the last slot in which it had any; n = 0: none yet */
  berth_i_ps_stretch now;   /* assigned in this slot; n = 0: nothing */
  int32_t given;            /* where it is among those that have something now */
  double owed;              /* slots still without progress, as it moved */
  berth_ps_record r;
} berth_i_ps_state;

/** A job in a slot; the job's place in the log. */
typedef struct berth_i_ps_entry {
  int32_t slot, job;
  berth_i_ps_stretch at;
} berth_i_ps_entry;

struct berth_ps_run {
  berth_i_pool pool;
  berth_ps *ps;
  berth_ctx *ctx;
  berth_cluster *cluster;
  int32_t slot;                  /* BERTH_NONE before the first */
  const berth_ps_policy *policy; /* while it is played */
  bool assigning, over;
  berth_i_ps_state *at;       /* [jobs] */
  double *used, *free_amount; /* [machines * resources] assigned in this slot, and what is
                                 left: not below 0 */
  int32_t *users;             /* [machines] jobs that are assigned something there */
  int32_t *active, n_active;  /* [jobs] by arrival; those that are over are dropped when it
                                 is read */
  int32_t *ended, n_ended;    /* [jobs] done since the last slot */
  int32_t *held, n_held;      /* [jobs] had places in the last slot */
  int32_t *given, n_given;    /* [jobs] have some in this one */
  double *times;              /* [jobs] scratch for a median */
  berth_ps_place *place;      /* all that were ever assigned; the same again are not written
                                 again */
  size_t n_places, cap_places;
  berth_i_ps_entry *entry;     /* the log */
  size_t n_entries, cap_entries;
  int32_t *machine;            /* [cap_machine] of one start of the cluster, with amounts */
  double *amount;              /* [cap_amount] */
  size_t cap_machine, cap_amount;
  double taken[BERTH_PS_RESOURCES]; /* units times slots */
};

/** What a worker and a server take of a resource, together. */
static inline double berth_i_ps_demand(const berth_ps_job *j, const berth_ps_place *at,
                                       int32_t resource) {
  double x = 0;
  if (at->workers > 0) x += at->workers * j->worker[resource];
  if (at->servers > 0) x += at->servers * j->server[resource];
  return x;
}
/** Servers that so many workers need. What is a rounding error above a whole number is that
 * number. */
static inline int32_t berth_i_ps_servers(const berth_ps_job *j, int32_t workers) {
  double x = ceil(workers / j->ratio * (1 - 1e-12));
  return x < 1 ? 1 : x > INT32_MAX ? INT32_MAX : (int32_t)x;
}
/** Samples of a job. */
static inline double berth_i_ps_work(const berth_ps_job *j) { return j->epochs * j->samples; }
/** It arrived, and is neither done nor refused. */
static inline bool berth_i_ps_is_here(const berth_i_ps_state *s) {
  return s->r.state == BERTH_JOB_WAITING || s->r.state == BERTH_JOB_RUNNING;
}

/** Nothing is assigned any more; the slot before is forgotten.  O(what was assigned) */
void berth_i_ps_clear(berth_ps_run *r);
/** What was assigned in this slot takes effect. */
berth_status berth_i_ps_commit(berth_ps_run *r);

#endif
