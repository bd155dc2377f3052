/* Schedulers of workers and parameter servers that decide slot by slot: those with which PD-ORS is compared, and Optimus.
 *
 * A bundle is the least that is given at once: floor(ratio) workers and a server; below a ratio of 1, a worker and ceil(1 / ratio)
 * servers; the last one of a job has what the batch still allows. Shares are of the cluster's total capacity. Sources: as
 * berth/ps.h, and those named below. */
#ifndef BERTH_PS_POLICIES_H
#define BERTH_PS_POLICIES_H

#include <berth/ps.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct berth_ps_scheduler berth_ps_scheduler;
/** For runs of the problem it was made for, one at a time. Borrowed from s. */
berth_ps_policy berth_ps_scheduler_policy(berth_ps_scheduler *s);
void berth_ps_scheduler_release(berth_ps_scheduler *s);

/* ---- FIFO -------------------------------------------------------------------------------------- */

typedef struct berth_ps_fifo_options {
  bool backfill;    /* who fits goes ahead of those that do not; default false: nobody overtakes */
  int32_t most;     /* workers of a job: drawn from 1 .. min(most, batch); default 30 */
  uint64_t seed;
} berth_ps_fifo_options;
berth_ps_fifo_options berth_ps_fifo_defaults(void);
/**
 * In order of arrival, a job gets a fixed number of workers, and servers for them, put one by one on the next machine in turn that
 * has room, and keeps these until it is done. A job for which an empty cluster is too small is refused, with cause 1.
 *
 * @return BERTH_OK; BERTH_EINVAL (options); BERTH_ENOMEM  Each slot: O(log machines) for each unit placed (typical; a machine that
 *         has enough of every resource but not on one machine makes the search longer)
 */
berth_status berth_ps_fifo_new(berth_ps *p, const berth_ps_fifo_options *opts, berth_ps_scheduler **out);

/* ---- DRF --------------------------------------------------------------------------------------- */

/**
 * Dominant resource fairness: whenever a job came or ended, all is shared out anew. The job whose largest share of any resource is
 * the least (ties: the earlier) gets a bundle, put in turn on machines as by FIFO, again and again; a job whose bundle finds no
 * room, or that has as many workers as its batch, is out. In between all keep what they have.
 * Source: Ghodsi et al., "Dominant Resource Fairness", 2011.
 * Departs from it: only the job that finds no room is out, not all.  O(log jobs + log machines) for each unit
 */
berth_status berth_ps_drf_new(berth_ps *p, berth_ps_scheduler **out);

/* ---- Dorm -------------------------------------------------------------------------------------- */

typedef struct berth_ps_dorm_options {
  double theta_f;     /* fairness: the sum of |share - DRF share| is at most theta_f * 2 * resources; default 0.1 */
  double theta_a;     /* adjustment: of the running jobs at most this part gets more or less; default 0.1 */
  int32_t nodes;      /* of a branch and bound; default 200 */
  int32_t most_jobs;  /* with more jobs that are there, the greedy one decides; default 40; 0: always */
  int32_t most_cells; /* with at most so many jobs * machines, bundles are put on machines by the program itself, else it has the
                         cluster's sums, and bundles are put where there is room afterwards; default 60 */
} berth_ps_dorm_options;
berth_ps_dorm_options berth_ps_dorm_defaults(void);
/** How often what decided. */
typedef struct berth_ps_dorm_counts {
  int64_t programs, proved, greedy, nodes; /* greedy: there were too many jobs, or the program had no answer */
} berth_ps_dorm_counts;
/**
 * Whenever a job came or ended: numbers of bundles that use most of the cluster, summed over resources, within the limits of
 * fairness and adjustment; running jobs have at least one bundle.
 * Source: Sun et al., "Towards Distributed Machine Learning in Shared Clusters: A Dynamically-Partitioned Approach", 2017.
 * Departs from it: waiting jobs may get nothing. Where no numbers keep within the limits, or for many jobs, greedy ones: running
 * jobs keep what they have, but those farthest from their DRF share, as many as may be adjusted, and which come down to it; then
 * one bundle for each waiting job by arrival, then bundles by use, as long as fairness allows it or it gets no worse.
 */
berth_status berth_ps_dorm_new(berth_ps *p, const berth_ps_dorm_options *opts, berth_ps_scheduler **out);
/** Zeros for other schedulers. */
berth_ps_dorm_counts berth_ps_dorm_counted(const berth_ps_scheduler *s);

/* ---- Optimus ----------------------------------------------------------------------------------- */

/** Speed by numbers: slots per sample = batch / workers * theta[0] + theta[1] + theta[2] workers / servers + theta[3] workers +
 *  theta[4] servers. */
typedef struct berth_ps_speed_fit {
  double theta[5];   /* not below 0 */
} berth_ps_speed_fit;
/**
 * Nonnegative least squares, exactly: the best of all subsets of terms.
 * @param workers, servers, speed [n] above 0; speed in samples per slot
 * @return BERTH_OK; BERTH_EINVAL (which number)  O(n)
 */
berth_status berth_ps_speed_fit_to(berth_ctx *ctx, int32_t batch, int32_t n, const double *workers, const double *servers,
                                   const double *speed, berth_ps_speed_fit *out);

typedef struct berth_ps_optimus_options {
  const berth_ps_speed_fit *fit; /* [jobs] borrowed for the call; NULL: by the problem's own model, all on several machines */
} berth_ps_optimus_options;
berth_ps_optimus_options berth_ps_optimus_defaults(void);
/**
 * In each slot: a worker, and servers for it, to each job, those with the least left first; then again and again the one worker
 * (with the servers that it makes necessary) or server that takes most time off what is left, for its dominant share; until nothing
 * takes any off, or has room in the cluster's sums. Then smallest jobs first: each on as few machines as can take it evenly spread;
 * where none can, unit by unit where there is room. Never more servers than workers, unless these need them.
 * Source: Peng et al., "Optimus", 2018.
 * Departs from it: a worker comes with its servers, as berth/ps.h knows no speed with fewer; a job that finds no room does not stop
 * others.
 */
berth_status berth_ps_optimus_new(berth_ps *p, const berth_ps_optimus_options *opts, berth_ps_scheduler **out);

#ifdef __cplusplus
}
#endif
#endif
