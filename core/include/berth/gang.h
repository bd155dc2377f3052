/* Schedulers of gangs: a job runs on a fixed number of GPUs (or whole machines), all of them at once, or it waits.
 *
 * A gang is a berth_scheduler for one run of a berth_cluster on which nobody else decides. It decides once per instant, after all
 * that happens then. A job that has run before keeps its work and goes on elsewhere, at no cost.
 *
 *   rule                 order of the queue                                    who runs
 *   FIFO                 arrival                                               nobody overtakes
 *   FIT_FIRST            arrival                                               whoever fits, at every event
 *   BACKFILL             arrival                                               who does not put off the first that waits (EASY)
 *   SJF                  seconds of the whole job                              whoever fits, at every event; no pauses
 *   SRTF, SRTF_2D        seconds left; times GPUs                              first in order, whoever fits; others pause
 *   FEWEST               GPUs                                                  likewise
 *   LAS, LAS_2D          queues by seconds run; times GPUs (Tiresias)          likewise; see `limit`
 *   GITTINS              the index of seconds run times GPUs (Tiresias)        likewise; see `history`
 *   OPTIMUS, POLLUX      resizable jobs: at each slot of the cluster (at each event if it has none) all get their GPUs anew, as
 *                        berth_elastic_optimus and berth_elastic_pollux say; where they change, the job pauses and goes on
 *   GAVEL                types of GPUs: at each slot (a round; published: 360 s) jobs are served by their share of a type, as
 *                        berth_gavel_allocate says, over the rounds that they have had on it
 *
 * Equal ones: SRTF keeps the order of the last decision, in which arrivals come last; a queue of LAS has those that run before
 * those that wait, and arrivals and those that were put down or up last; GITTINS has those that run first; the others go by number
 * of the job. Jobs too large for the cluster are refused, with cause BERTH_GANG_TOO_LARGE.
 *
 * Sources: J. Gu et al., "Tiresias", NSDI 2019, and its published simulator; Q. Weng et al., "MLaaS in the Wild", NSDI 2022, and
 * its simulator (SJF); A. Mu'alem and D. Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates", 2001
 * (EASY). */
#ifndef BERTH_GANG_H
#define BERTH_GANG_H

#include <berth/cluster.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum berth_gang_rule {
  BERTH_GANG_FIFO,
  BERTH_GANG_FIT_FIRST,
  BERTH_GANG_BACKFILL,
  BERTH_GANG_SJF,
  BERTH_GANG_SRTF,
  BERTH_GANG_SRTF_2D,
  BERTH_GANG_FEWEST,
  BERTH_GANG_LAS,
  BERTH_GANG_LAS_2D,
  BERTH_GANG_GITTINS,
  BERTH_GANG_OPTIMUS,
  BERTH_GANG_POLLUX,
  BERTH_GANG_GAVEL
} berth_gang_rule;

typedef enum berth_gang_placement {
  BERTH_GANG_ANY,         /* the first machines with anything left */
  BERTH_GANG_CONSOLIDATE, /* the fewest machines that hold it, the fullest of these; else it waits */
  BERTH_GANG_SPREAD       /* one by one where most is left */
} berth_gang_placement;

enum { BERTH_GANG_TOO_LARGE = 1 };

typedef struct berth_gang_options {
  berth_gang_rule rule;
  int amounts;                    /* gangs are amounts of the first resource, whole ones; 0 (default): whole machines */
  berth_gang_placement placement; /* of amounts on machines; default ANY */
  const uint8_t *consolidate;     /* [jobs] with CONSOLIDATE: only jobs that are not 0, others spread; NULL: all */
  int32_t n_limits;
  const double *limit;   /* LAS: [n_limits] service at which a job goes down a queue, s or GPU-s, ascending; default 3250, 7200 */
  double promote;        /* LAS: back to the first queue after waiting so many times the seconds run since; INFINITY (default):
                            never */
  double tick;           /* LAS: s; jobs go down at whole ticks; 0 (default): at once. Published (Tiresias): 1 */
  int published;         /* LAS_2D: 1: looks for jobs that go down when the published simulator does: after as many whole s as their
                            GPUs would take for the GPU-s left, of which it takes their s so far; so some go down later. Default
                            0 */
  int32_t n_history;
  const double *history; /* GITTINS: [n_history] GPU-s of jobs known before; NULL: of those that have ended in this run */
  double quantum;        /* GITTINS: GPU-s to look ahead; default 3250 */
  const int32_t *first;  /* OPTIMUS, POLLUX: [jobs + 1] speeds of job j: speed[first[j]] .. speed[first[j + 1] - 1] */
  const double *speed;   /* work per s on 1, 2, ... GPUs; 0: not on so many. More than a machine has: only on whole machines */
  double restart;        /* s that a job waits before it goes on after a change, on GPUs that nobody else is on; default 0 */
  double power, floor;   /* POLLUX: see berth_elastic_pollux; default -1, 0.01 */
  int32_t n_types, n_machines;
  const int32_t *type;      /* GAVEL: [n_machines] of each machine of the cluster, from 0 */
  const double *throughput; /* GAVEL: [jobs * n_types] work per s on a type; 0: not there */
  const double *priority;   /* GAVEL: [jobs] above 0; NULL: 1 each */
  int goal;                 /* GAVEL: berth_gavel_goal; default MAX_MIN */
  /** Of the other rules: work per s of a job on machines; NULL: 1. Asked at each start, and on arrival for the first places of an
   *  empty cluster, which gives the seconds by which jobs that wait are ordered. */
  berth_status (*rate)(void *ud, int32_t job, int32_t n, const int32_t *machine, const double *amount, double *rate);
  void *ud;
} berth_gang_options;
berth_gang_options berth_gang_defaults(berth_gang_rule rule);

typedef struct berth_gang berth_gang;

/**
 * @param n jobs of the cluster that it will decide for  @param size [n] gangs, at least 1; not used of resizable jobs. All arrays
 *        are copied
 * @return BERTH_OK; BERTH_EINVAL (options, sizes: the value and its place); BERTH_ENOMEM
 */
berth_status berth_gang_new(berth_ctx *ctx, int32_t n, const int32_t *size, const berth_gang_options *opts, berth_gang **out);
void berth_gang_release(berth_gang *g); /* NULL is fine */

/** For berth_cluster_run, once; borrowed from g. Each event O((running + changes) log waiting).
 *  Its functions return BERTH_EINVAL if the cluster has not n jobs, what `rate` returned, BERTH_ENOMEM. */
berth_scheduler berth_gang_scheduler(berth_gang *g);

/** A stretch of time in which a job ran on the same machines. */
typedef struct berth_gang_run {
  int32_t job;
  int32_t first, n;   /* places: first .. first + n - 1 of berth_gang_places */
  double start, end;  /* s; end NAN: it still runs */
} berth_gang_run;
/** In order of their starts; borrowed until the next event. @param n out */
const berth_gang_run *berth_gang_runs(const berth_gang *g, int32_t *n);
/** Of all runs. @param amount out, may be NULL: how much of each; of whole machines 1 */
const int32_t *berth_gang_places(const berth_gang *g, const int32_t **amount);

/** What no schedule of the jobs that have come and were not refused can beat, whatever it knows, with pauses or without. */
typedef struct berth_gang_bound {
  double mean_jct;  /* s; NAN of no jobs */
  double makespan;  /* s: the last end is not earlier */
} berth_gang_bound;
/**
 * @param c the cluster that g has decided for
 * @return BERTH_OK; BERTH_EUNSUPPORTED (a job's time depends on where it runs); BERTH_EINVAL (another cluster); BERTH_ENOMEM
 *
 * O(n log n). Means of moments of service, relaxed to all GPUs for one job at a time: M. Goemans et al., "Single machine scheduling
 * with release dates", SIAM J. Discrete Math., 2002, here for gangs.
 */
berth_status berth_gang_bounds(const berth_gang *g, const berth_cluster *c, berth_gang_bound *out);

/** After a decision. */
typedef struct berth_gang_count {
  double time;            /* s */
  int32_t idle, left;     /* machines on which nobody is; GPUs, or machines, that nobody has */
  int32_t waiting;        /* jobs */
} berth_gang_count;
const berth_gang_count *berth_gang_counts(const berth_gang *g, int32_t *n); /* only changes */

#ifdef __cplusplus
}
#endif
#endif
