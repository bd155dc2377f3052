/* Training jobs of workers and parameter servers on machines, slot by slot: how fast a job runs
 * where, what it is worth when it is done, and runs of a policy that says in each slot who has
 * what.
 *
 * Synchronous training, W workers and S = W / ratio servers: a worker needs tau + 2 bytes ratio /
 * (b batch) slots for a sample (PD-ORS, equation 1), b the bandwidth between a worker and a server.
 * Two cases: all on one machine (`inside`), or not (`across`); with racks a third between them.
 * Runs use berth/cluster.h: one slot of this file is `slot_seconds` there.
 *
 * Source: Yu, Liu, Wu, Ji, Bentley, "Toward Efficient Online Scheduling for Distributed Machine
 * Learning Systems", 2021; Bao, Peng, Wu, Li, "Online Job Scheduling in Distributed Machine
 * Learning Clusters", 2018. */
#ifndef BERTH_PS_H
#define BERTH_PS_H

#include <berth/cluster.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BERTH_PS_RESOURCES = 8 };

typedef struct berth_ps_job {
  int32_t arrival;        /* slot, 0 .. slots - 1; decided about before anything runs in it */
  double epochs, samples; /* work: epochs * samples of an epoch */
  int32_t batch;          /* samples of an iteration over all workers; so many workers at most */
  double tau;             /* slots that one worker computes for one sample */
  double bytes;           /* of gradients, as of parameters */
  double ratio;           /* gamma, above 0: workers per parameter server */
  double inside, across;  /* bytes per slot between a worker and a server on one machine, and on
                             two */
  double rack;            /* on two machines of one rack; 0: as across */
  /* what one takes of each resource */
  double worker[BERTH_PS_RESOURCES], server[BERTH_PS_RESOURCES];
  double importance, urgency, target; /* theta 1 to 3 of the utility: importance / (1 + exp(urgency
                                         (slots - target))) */
  double moving;          /* slots without progress when the places of a running job change; 0 */
} berth_ps_job;

typedef enum berth_ps_comm {
  BERTH_PS_CASES,  /* equation 1, by the pair farthest apart */
  BERTH_PS_SHARED  /* the links of a worker and of a server are shared by what is on other machines
                      (as DL2's simulator) */
} berth_ps_comm;

typedef struct berth_ps_options {
  int32_t machines, resources, slots;
  const double *capacity; /* [machines * resources] */
  const int32_t *rack;    /* [machines]; NULL: no racks */
  double slot_seconds;    /* default 1200 */
  berth_ps_comm comm;
} berth_ps_options;
berth_ps_options berth_ps_default(int32_t machines, int32_t resources, int32_t slots,
                                  const double *capacity);
const berth_option_table *berth_ps_option_table(void);

/** A cluster and the jobs that will come; does not change. */
typedef struct berth_ps berth_ps;
/** @param jobs [n] in order of arrival; copied
 *  @return BERTH_OK; BERTH_EINVAL (options or a job: which, what and why); BERTH_ENOMEM */
berth_status berth_ps_new(berth_ctx *ctx, const berth_ps_options *opts, int32_t n,
                          const berth_ps_job *jobs, berth_ps **out);
void berth_ps_retain(berth_ps *p);
void berth_ps_release(berth_ps *p);
berth_ctx *berth_ps_ctx(const berth_ps *p);
const berth_ps_options *berth_ps_options_of(const berth_ps *p); /* arrays borrowed */
int32_t berth_ps_jobs(const berth_ps *p);
/* borrowed; NULL: no such job */
const berth_ps_job *berth_ps_job_at(const berth_ps *p, int32_t job);

/** Some of a job on one machine. */
typedef struct berth_ps_place {
  int32_t machine, workers, servers;
} berth_ps_place;

/** Worker-slots per sample at a bandwidth (c of the paper). */
double berth_ps_worker_slots(const berth_ps_job *job, double bandwidth);
/** Samples per slot on these places; 0 without a worker or a server, or with fewer servers than
 *  workers / ratio, rounded up (up to rounding errors, 1e-12). Workers above `batch` do nothing and
 *  need no server. CASES: workers / berth_ps_worker_slots at `inside` if all is on one machine,
 *  `rack` if in one rack, else `across`, even where that is the larger one.
 *  SHARED: an iteration takes tau batch / workers + 2 bytes / (servers b), b the least of `inside`
 *  where a worker and a server share a machine, the link's bandwidth (`rack` if the whole job is in
 *  one, else `across`) / servers on other machines for each worker, and
 *  / workers on other machines for each server.  O(n) */
double berth_ps_speed(const berth_ps *p, int32_t job, int32_t n, const berth_ps_place *places);
/** What a job is worth when it is done so many slots after its arrival (0: in the slot of its
 * arrival). */
double berth_ps_utility(const berth_ps_job *job, double slots);

/* ---- runs ---- */

typedef struct berth_ps_run berth_ps_run;

/** What decides; an adapter makes it a scheduler of the cluster. NULL functions are not called.
 *  Anything but BERTH_OK ends the run. In each slot: ends of jobs, then arrivals in order, then
 *  `slot`. Slots go on while anybody is there or is to come; ends in the last one are passed to
 *  `finish` after it, with slot number `slots`. */
typedef struct berth_ps_policy {
  berth_status (*arrival)(void *ud, berth_ps_run *r, int32_t job);
  /* it is done, since the last slot */
  berth_status (*finish)(void *ud, berth_ps_run *r, int32_t job);
  /* allocates by berth_ps_assign; other jobs wait */
  berth_status (*slot)(void *ud, berth_ps_run *r, int32_t slot);
  void *ud;
} berth_ps_policy;

berth_status berth_ps_run_new(berth_ps *p, berth_ps_run **out);
void berth_ps_run_release(berth_ps_run *r);
/** To the last slot. A job whose places change loses `moving` slots from there on; what is left of
 *  a job after a slot counts as done if it is at most 1e-9 of its work.
 *  @return BERTH_OK; BERTH_EINTERRUPT (what happened so far is kept; the run may go on);
 *          BERTH_EINVAL (it is over); what the policy returned O(assigned places * resources + n
 *          log n of the jobs assigned) in each slot, besides the policy's work */
berth_status berth_ps_run_play(berth_ps_run *r, const berth_ps_policy *policy);

/** In `slot`: the job has these places in this slot, instead of those assigned before. It keeps
 *  none from the slot before; given the same places again, it runs on. All that is assigned on a
 *  machine is at most its capacity, up to 1e-9 of it. What is refused changes nothing.
 *  @param places [n] machines each once, workers + servers above 0; n = 0: nothing
 *  @return BERTH_EINVAL (not in `slot`; no such job, not arrived, done, refused; places),
 *          BERTH_EINFEASIBLE (capacity: machine, resource, amounts) */
berth_status berth_ps_assign(berth_ps_run *r, int32_t job, int32_t n, const berth_ps_place *places);
/** The job leaves, for good; also one that runs. In any function of a policy. @param cause any
 * number, for the record
 *  @return BERTH_EINVAL (no such job, not arrived, done, refused) */
berth_status berth_ps_refuse(berth_ps_run *r, int32_t job, int32_t cause);

int32_t berth_ps_run_slot(const berth_ps_run *r); /* BERTH_NONE before the first */
berth_ps *berth_ps_run_problem(const berth_ps_run *r);
/** Jobs that arrived and are neither done nor refused, by arrival.
 *  @param jobs [capacity] out  @return their number, also if capacity is less */
int32_t berth_ps_run_active(const berth_ps_run *r, int32_t capacity, int32_t *jobs);
/** Samples that are left of a job. NAN: no such. */
double berth_ps_run_left(const berth_ps_run *r, int32_t job);
/** [machines * resources] what is not assigned yet in this slot, not below 0; borrowed, changes
 * with each assignment. */
const double *berth_ps_run_free(const berth_ps_run *r);
/** Places of a job in the last slot in which it had any. @return their number, also if capacity is
 * less */
int32_t berth_ps_run_places(const berth_ps_run *r, int32_t job, int32_t capacity,
                            berth_ps_place *places);

typedef struct berth_ps_record {
  berth_job_state state;
  int32_t cause;         /* as refused with */
  int32_t first, done;   /* slots in which it first ran and was done; BERTH_NONE */
  double end;            /* slots, with fraction; NAN */
  double left;           /* samples */
  double utility;        /* 0 unless it is done */
  double worker_slots, server_slots; /* that it held; a slot counts whole */
  int32_t slots;         /* in which it held anything */
  int32_t inside;        /* of these on one machine */
  int32_t moves;         /* how often its places changed from one slot in which it ran to the
                            next */
} berth_ps_record;
berth_status berth_ps_run_record(const berth_ps_run *r, int32_t job, berth_ps_record *out);

/** What was assigned, in order of slots, jobs, machines. @param slot, job, place [capacity] out,
 * may be NULL
 *  @return the number of entries, also if capacity is less */
size_t berth_ps_run_log(const berth_ps_run *r, size_t capacity, int32_t *slot, int32_t *job,
                        berth_ps_place *place);

typedef struct berth_ps_report {
  double utility;                 /* total */
  int32_t done, refused, unfinished;
  double training_mean, training_median; /* slots from arrival to end; those not done count as all
                                            slots (PD-ORS, experiment 3) */
  double inside;                         /* share of slots with places that were on one machine */
  double used[BERTH_PS_RESOURCES];       /* share of each resource over all slots */
} berth_ps_report;
berth_ps_report berth_ps_run_report(const berth_ps_run *r);

/* ---- policies ---- */
/* Schedulers of workers and parameter servers that decide slot by slot: those with which PD-ORS is
 * compared, and Optimus.
 *
 * A bundle is the least that is given at once: floor(ratio) workers and a server; below a ratio of
 * 1, a worker and ceil(1 / ratio) servers; the last one of a job has what the batch still allows.
 * Shares are of the cluster's total capacity. Sources: as berth/ps.h, and those named below. */

typedef struct berth_ps_scheduler berth_ps_scheduler;
/** For runs of the problem it was made for, one at a time. Borrowed from s. */
berth_ps_policy berth_ps_scheduler_policy(berth_ps_scheduler *s);
void berth_ps_scheduler_release(berth_ps_scheduler *s);

/* ---- FIFO ---- */

typedef struct berth_ps_fifo_options {
  int backfill;     /* jobs that fit run before those that do not; default 0: no job overtakes */
  int32_t most;     /* workers of a job: drawn from 1 .. min(most, batch); default 30 */
  uint64_t seed;
} berth_ps_fifo_options;
berth_ps_fifo_options berth_ps_fifo_default(void);
const berth_option_table *berth_ps_fifo_option_table(void);
/**
 * In order of arrival, a job gets a fixed number of workers, and servers for them, put one by one
 * on the next machine in turn that holds it, and keeps these until it is done. A job for which an
 * empty cluster is too small is refused, with cause 1.
 *
 * @return BERTH_OK; BERTH_EINVAL (options); BERTH_ENOMEM Each slot: O(log machines) for each unit
 *         placed (typical; a machine that has enough of every resource but not on one machine makes
 *         the search longer)
 */
berth_status berth_ps_fifo_new(berth_ps *p, const berth_ps_fifo_options *opts,
                               berth_ps_scheduler **out);

/* ---- DRF ---- */

/**
 * Dominant resource fairness: whenever a job came or ended, all is shared out anew. The job whose
 * largest share of any resource is the least (ties: the earlier) gets a bundle, put in turn on
 * machines as by FIFO, again and again; a job whose bundle fits nowhere, or that has as many
 * workers as its batch, is out. In between all keep what they have.
 * Source: Ghodsi et al., "Dominant Resource Fairness", 2011.
 * Departs from it: only the job that fits nowhere is out, not all. O(log jobs + log machines) for
 * each unit
 */
berth_status berth_ps_drf_new(berth_ps *p, berth_ps_scheduler **out);

/* ---- Dorm ---- */

typedef struct berth_ps_dorm_options {
  double theta_f;     /* fairness: the sum of |share - DRF share| is at most theta_f * 2 *
                         resources; default 0.1 */
  double theta_a;     /* adjustment: of the running jobs at most this part gets more or less;
                         default 0.1 */
  int32_t nodes;      /* of a branch and bound; default 200 */
  int32_t most_jobs;  /* with more jobs that are there, the greedy one decides; default 40; 0:
                         always */
  int32_t most_cells; /* with at most so many jobs * machines, bundles are put on machines by the
                         program itself, else it has the cluster's sums, and bundles are put where
                         there is room afterwards; default 60 */
} berth_ps_dorm_options;
berth_ps_dorm_options berth_ps_dorm_default(void);
const berth_option_table *berth_ps_dorm_option_table(void);
/** How often what decided. */
typedef struct berth_ps_dorm_counts {
  int64_t programs, proved, greedy, nodes; /* greedy: there were too many jobs, or the program had
                                              no answer */
} berth_ps_dorm_counts;
/**
 * Whenever a job came or ended: numbers of bundles that use most of the cluster, summed over
 * resources, within the limits of fairness and adjustment; running jobs have at least one bundle.
 * Source: Sun et al., "Towards Distributed Machine Learning in Shared Clusters: A
 * Dynamically-Partitioned Approach", 2017. Departs from it: waiting jobs may get nothing. Where no
 * numbers keep within the limits, or for many jobs, greedy ones: running jobs keep what they have,
 * but those farthest from their DRF share, as many as may be adjusted, and which come down to it;
 * then one bundle for each waiting job by arrival, then bundles by use, as long as fairness allows
 * it or it gets no worse.
 */
berth_status berth_ps_dorm_new(berth_ps *p, const berth_ps_dorm_options *opts,
                               berth_ps_scheduler **out);
/** Zeros for other schedulers. */
berth_ps_dorm_counts berth_ps_dorm_counted(const berth_ps_scheduler *s);

/* ---- Optimus ---- */

/** Speed by numbers: slots per sample = batch / workers * theta[0] + theta[1] + theta[2] workers /
 *  servers + theta[3] workers + theta[4] servers. */
typedef struct berth_ps_speed_fit {
  double theta[5];   /* not below 0 */
} berth_ps_speed_fit;
/**
 * Nonnegative least squares, exactly: the best of all subsets of terms.
 * @param workers, servers, speed [n] above 0; speed in samples per slot
 * @return BERTH_OK; BERTH_EINVAL (which number)  O(n)
 */
berth_status berth_ps_speed_fit_to(berth_ctx *ctx, int32_t batch, int32_t n, const double *workers,
                                   const double *servers, const double *speed,
                                   berth_ps_speed_fit *out);

typedef struct berth_ps_optimus_options {
  const berth_ps_speed_fit *fit; /* [jobs] borrowed for the call; NULL: by the problem's own model,
                                    all on several machines */
} berth_ps_optimus_options;
berth_ps_optimus_options berth_ps_optimus_default(void);
const berth_option_table *berth_ps_optimus_option_table(void);
/**
 * In each slot: a worker, and servers for it, to each job, those with the least left first; then
 * again and again the one worker (with the servers that it makes necessary) or server that takes
 * most time off what is left, for its dominant share; until nothing takes any off, or fits in
 * the cluster's sums. Then smallest jobs first: each on as few machines as can take it evenly
 * spread; where none can, unit by unit where one fits. Never more servers than workers, unless
 * these need them.
 * Source: Peng et al., "Optimus", 2018.
 * Departs from it: a worker comes with its servers, as berth/ps.h has no speed with fewer; a job
 * that fits nowhere does not stop others.
 */
berth_status berth_ps_optimus_new(berth_ps *p, const berth_ps_optimus_options *opts,
                                  berth_ps_scheduler **out);

#ifdef __cplusplus
}
#endif
#endif
