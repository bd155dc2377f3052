/* Cluster: jobs arrive, are given machines or refused, run at some rate, and leave.
 *
 * One event loop: berth_cluster_next moves time on to the next arrival, end, slot or wake, and
 * reports which; in between the caller decides, by starting, changing, pausing and refusing jobs. A
 * scheduler is what answers events: berth_cluster_run calls it for all of them. Runs of berth/ps.h
 * and berth/pacml.h are played by the same loop: what decides there is an adapter of this
 * scheduler.
 * Machines have amounts of some resources; a job holds amounts on machines until it ends or is
 * paused.
 * Same instant: ends first, by job, then wakes, slots, arrivals by job. */
#ifndef BERTH_CLUSTER_H
#define BERTH_CLUSTER_H

#include <berth/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct berth_job {
  double arrival;   /* s */
  double work;      /* what there is to do, in any unit: at rate r it takes work / r s */
  double deadline;  /* s after the arrival; INFINITY: none. For schedulers; never enforced */
  int32_t kind;     /* what the scheduler makes of it */
} berth_job;

typedef struct berth_cluster_options {
  int32_t machines;       /* 1 to 2^20 */
  int32_t resources;      /* of each machine, 1 to 1024; default 1 */
  const double *capacity; /* [machines * resources]; NULL: 1 of each */
  double horizon;         /* s: nothing happens from then on; INFINITY (default): until all is
                             done */
  double slot;            /* s between slots, the first at 0; 0 (default): none */
  double slack;           /* s: an end so little after another event comes before it; default 0,
                             published (PAC-ML) 1e-7 */
} berth_cluster_options;
berth_cluster_options berth_cluster_default(int32_t machines);
const berth_option_table *berth_cluster_option_table(void);

typedef enum berth_job_state {
  BERTH_JOB_COMING,   /* has not arrived */
  BERTH_JOB_WAITING,  /* arrived, or paused */
  BERTH_JOB_RUNNING,
  BERTH_JOB_DONE,
  BERTH_JOB_REFUSED
} berth_job_state;

/** What became of a job so far. */
typedef struct berth_job_record {
  berth_job_state state;
  double start;       /* s, of the first run; NAN */
  double end;         /* s, when it was done or refused; NAN */
  double left;        /* work, at the present time */
  double rate;        /* work per s; 0 unless it runs */
  double held;        /* machine-seconds: shares of machines that it held, by the resource of which
                         it has the largest share */
  int32_t pauses;
  int32_t cause;      /* as refused with */
  double ran;         /* s that it has run */
} berth_job_record;

typedef enum berth_cluster_event_kind {
  BERTH_CLUSTER_END_OF_JOB,
  BERTH_CLUSTER_WAKE,
  BERTH_CLUSTER_SLOT,
  BERTH_CLUSTER_ARRIVAL,
  BERTH_CLUSTER_OVER     /* the horizon, or nothing can happen any more (jobs may be waiting) */
} berth_cluster_event_kind;

typedef struct berth_cluster_event {
  berth_cluster_event_kind kind;
  double time;  /* s */
  int32_t job;  /* of END_OF_JOB and ARRIVAL, else BERTH_NONE */
} berth_cluster_event;

typedef struct berth_cluster berth_cluster;

/**
 * @param jobs [n] in order of arrival; copied
 * @return BERTH_OK; BERTH_EINVAL (options; a job that arrives before the one in front of it,
 *         negative or NaN numbers, each with its place); BERTH_ENOMEM
 */
berth_status berth_cluster_new(berth_ctx *ctx, const berth_cluster_options *opts, int32_t n,
                               const berth_job *jobs, berth_cluster **out);
void berth_cluster_release(berth_cluster *c);

/** Moves on. What comes after OVER is OVER.  @return BERTH_OK  O(log running) */
berth_status berth_cluster_next(berth_cluster *c, berth_cluster_event *out);
/** When berth_cluster_next will move to, as things are: the present time while more happens at this
 *  instant. INFINITY: nothing more happens, or not before the horizon. */
double berth_cluster_upcoming(const berth_cluster *c);

/* ---- decisions, at the present time ----
 * A refused decision (BERTH_EINVAL; BERTH_EINFEASIBLE: a machine has too little left, the error
 * gives which and how much) changes nothing. */

/** A waiting job begins, or goes on.
 *  @param n places @param machine [n] each once; at least one @param amount [n * resources]; NULL:
 *         all that the machines have
 *  @param rate work per s, above 0
 *  @return BERTH_EINVAL also when it is over  O(n * resources + log running) */
berth_status berth_cluster_start(berth_cluster *c, int32_t job, int32_t n, const int32_t *machine,
                                 const double *amount, double rate);
/** A running job goes on at another rate, on what it holds. */
berth_status berth_cluster_set_rate(berth_cluster *c, int32_t job, double rate);
/** A running job gives back what it holds, and waits.  O(places * resources), and a step for each
 *  job that waits and arrived after it, or that arrived between it and the next that waits: the
 *  fewer */
berth_status berth_cluster_pause(berth_cluster *c, int32_t job);
/** A waiting job leaves.  @param cause any number, for the record */
berth_status berth_cluster_refuse(berth_cluster *c, int32_t job, int32_t cause);
/** There will be an event WAKE then (not before now; one at a time: the last call holds). INFINITY:
 * none. */
berth_status berth_cluster_wake(berth_cluster *c, double time);

/* ---- what is ---- */

double berth_cluster_now(const berth_cluster *c);
int32_t berth_cluster_jobs(const berth_cluster *c);
int32_t berth_cluster_machines(const berth_cluster *c);
int32_t berth_cluster_resources(const berth_cluster *c);
double berth_cluster_slot(const berth_cluster *c); /* s between slots; 0: none */
/** @return BERTH_OK, BERTH_EINVAL (no such job) */
berth_status berth_cluster_job(const berth_cluster *c, int32_t job, berth_job *out);
berth_status berth_cluster_record(const berth_cluster *c, int32_t job, berth_job_record *out);
/** [machines * resources] what is left; borrowed until the next decision or event. */
const double *berth_cluster_free(const berth_cluster *c);
const double *berth_cluster_capacity(const berth_cluster *c); /* [machines * resources] */
/** [machines] how many jobs hold something there, if only 0 of it; borrowed likewise. */
const int32_t *berth_cluster_users(const berth_cluster *c);
/** Jobs that wait, in order of arrival.  @param jobs [capacity] out
 *  @return their number, also if capacity is less  O(capacity) */
int32_t berth_cluster_waiting(const berth_cluster *c, int32_t capacity, int32_t *jobs);
/** Jobs that run, by the time at which they will end (ties: lower job).  @param jobs [capacity] out
 *  @return their number, also if capacity is less */
int32_t berth_cluster_running(const berth_cluster *c, int32_t capacity, int32_t *jobs);
/** When a running job will end at its rate; INFINITY for others. */
double berth_cluster_end_of(const berth_cluster *c, int32_t job);
/** Where a job holds what. @param machine, amount [capacity], [capacity * resources] out, may be
 * NULL
 *  @return the number of places */
int32_t berth_cluster_places(const berth_cluster *c, int32_t job, int32_t capacity,
                             int32_t *machine, double *amount);

/** Sums over the time so far. */
typedef struct berth_cluster_summary {
  double time;             /* s */
  int32_t arrived, done, refused, running, waiting;
  double running_seconds;  /* integral of the number of running jobs */
  double machine_seconds;  /* integral of the machines on which anybody holds anything */
  double share_seconds;    /* integral of the shares held, as in berth_job_record */
} berth_cluster_summary;
berth_cluster_summary berth_cluster_summarise(const berth_cluster *c);

/* ---- schedulers ---- */

/** The scheduler seam: NULL functions are not called. They decide through c. What they return but
 * BERTH_OK ends the run. */
typedef struct berth_scheduler {
  berth_status (*arrival)(void *ud, berth_cluster *c, int32_t job);
  berth_status (*end)(void *ud, berth_cluster *c, int32_t job);
  berth_status (*slot)(void *ud, berth_cluster *c);
  berth_status (*wake)(void *ud, berth_cluster *c);
  void *ud;
} berth_scheduler;

/** Moves on by one event and calls the scheduler for it. @param out the event @return BERTH_OK,
 * what the function returned */
berth_status berth_cluster_step(berth_cluster *c, const berth_scheduler *s,
                                berth_cluster_event *out);
/** Steps until it is over. @return BERTH_OK, BERTH_EINTERRUPT (what happened so far is kept), what
 * a function returned */
berth_status berth_cluster_run(berth_cluster *c, const berth_scheduler *s);
/** It is over at the present time, whatever the horizon: the next event is OVER, and no job starts
 * any more. */
void berth_cluster_stop(berth_cluster *c);

#ifdef __cplusplus
}
#endif
#endif
