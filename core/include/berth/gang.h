/* Schedulers of gangs: a job runs on a fixed number of GPUs (or whole machines), all of them at
 * once, or it waits.
 *
 * A gang is a berth_scheduler for one run of a berth_cluster on which no other scheduler decides.
 * It decides once per instant, after all that happens then. A job that has run before keeps its
 * work and goes on elsewhere, at no cost.
 *
 * A rule is a file of core/gang with its descriptor (berth_gang_about), and a line of
 * BERTH_GANG_RULES. Jobs of OPTIMUS and POLLUX are resizable: all get their GPUs anew as
 * berth_elastic_optimus and berth_elastic_pollux say, and where they change, the job pauses and
 * goes on. GAVEL serves jobs by their share of a type of GPU, by berth_gavel_allocate, over
 * the rounds that they have had on it.
 *
 * Equal ones: SRTF keeps the order of the last decision, in which arrivals come last; a queue of
 * LAS has those that run before those that wait, and arrivals and those that were put down or up
 * last; GITTINS has those that run first; the others go by number of the job. Jobs too large for
 * the cluster are refused, with cause BERTH_GANG_TOO_LARGE.
 *
 * Sources: J. Gu et al., "Tiresias", NSDI 2019, and its published simulator; Q. Weng et al., "MLaaS
 * in the Wild", NSDI 2022, and its simulator (SJF); A. Mu'alem and D. Feitelson, "Utilization,
 * Predictability, Workloads, and User Runtime Estimates", 2001 (EASY). */
#ifndef BERTH_GANG_H
#define BERTH_GANG_H

#include <berth/cluster.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_GANG_RULES(X)                                                    \
  X(FIFO, fifo)           /* by arrival, no job overtakes  */                  \
  X(FIT_FIRST, fit_first) /* by arrival, any job that fits */                  \
  X(BACKFILL,                                                                  \
    backfill) /* by arrival, who does not delay the first that waits (EASY) */ \
  X(SJF, sjf) /* shortest job, any job that fits; no pauses */                 \
  X(SRTF, srtf)       /* least time left, others pause */                      \
  X(SRTF_2D, srtf_2d) /* least GPU-s left */                                   \
  X(FEWEST, fewest)   /* fewest GPUs */                                        \
  X(LAS, las) /* queues by seconds run (Tiresias): berth_gang_las_options */   \
  X(LAS_2D, las_2d) /* queues by GPU-s */                                      \
  X(GITTINS,                                                                   \
    gittins) /* index of GPU-s run (Tiresias): berth_gang_gittins_options */   \
  X(OPTIMUS, optimus) /* resizable jobs: berth_gang_resize_options */          \
  X(POLLUX, pollux)   /* likewise */                                           \
  X(GAVEL, gavel)     /* types of GPUs, rounds: berth_gang_gavel_options */
#define BERTH_GANG_VALUE(NAME, symbol) BERTH_GANG_##NAME,
typedef enum berth_gang_rule { BERTH_GANG_RULES(BERTH_GANG_VALUE) } berth_gang_rule;
#undef BERTH_GANG_VALUE

/** What a rule is, and what it takes. */
typedef struct berth_gang_about {
  berth_choice choice; /* its name, "las-2d"; in which order jobs are served, and who runs */
  const char *source;  /* NULL: none */
  const char *reads;   /* keys of the options that it reads, common ones and its own, separated by
                          spaces; NULL: none */
  /** The table of the struct that `own` points to; NULL: it has none. */
  const berth_option_table *(*options)(void);
} berth_gang_about;
/** @return NULL: there is no such rule; rules are numbered from 0 */
const berth_gang_about *berth_gang_describe(int rule);

typedef enum berth_gang_placement {
  BERTH_GANG_ANY,         /* the first machines with anything left */
  BERTH_GANG_CONSOLIDATE, /* the fewest machines that hold it, the fullest of these; else it
                             waits */
  BERTH_GANG_SPREAD       /* one by one where most is left */
} berth_gang_placement;

enum { BERTH_GANG_TOO_LARGE = 1 };

typedef struct berth_gang_options {
  berth_gang_rule rule;
  int amounts;                    /* gangs are amounts of the first resource, whole ones; 0
                                     (default): whole machines */
  berth_gang_placement placement; /* of amounts on machines; default ANY */
  const uint8_t *consolidate;     /* [jobs] with CONSOLIDATE: only jobs that are not 0, others
                                     spread; NULL: all */
  const void *own;                /* options of the rule: the struct that its table describes;
                                     NULL (default): its defaults */
  /** Work per s of a job on machines; NULL: 1. Called at each start, and on arrival for the first
   * places of an empty cluster, which gives the seconds by which jobs that wait are ordered. Not of
   * OPTIMUS, POLLUX and GAVEL. */
  berth_status (*rate)(void *ud, int32_t job, int32_t n, const int32_t *machine,
                       const double *amount, double *rate);
  void *ud;
} berth_gang_options;
berth_gang_options berth_gang_default(berth_gang_rule rule);
const berth_option_table *berth_gang_option_table(void);

/** LAS and LAS_2D. */
typedef struct berth_gang_las_options {
  int32_t n_limits;
  const double *limits; /* service at which a job goes down a queue, s or GPU-s, ascending;
                           default 3250, 7200 */
  double promote;       /* back to the first queue after waiting so many times the seconds run
                           since; INFINITY (default): never */
  double tick;          /* s; jobs go down at whole ticks; 0 (default): at once. Published
                           (Tiresias): 1 */
  int published;        /* LAS_2D: 1: finds jobs that go down when the published simulator does:
                           after as many whole s as their GPUs would take for the GPU-s left, of
                           which it takes their s so far; so some go down later. Default 0 */
} berth_gang_las_options;
berth_gang_las_options berth_gang_las_default(void);

typedef struct berth_gang_gittins_options {
  int32_t n_history;
  const double *history; /* GPU-s of jobs known before; NULL (default): of those that have ended in
                            this run */
  double quantum;        /* GPU-s to look ahead; default 3250 */
} berth_gang_gittins_options;
berth_gang_gittins_options berth_gang_gittins_default(void);

/** OPTIMUS and POLLUX. The speeds are required. */
typedef struct berth_gang_resize_options {
  int32_t n_first, n_speeds;
  const int32_t *first; /* [jobs + 1] job j has speeds[first[j]] .. speeds[first[j + 1] - 1] */
  const double *speeds; /* work per s on 1, 2, ... GPUs; 0: not on so many. More than a machine has:
                           only on whole machines */
  double restart;       /* s that a job waits before it goes on after a change, on GPUs that no
                           other job else is on; default 0 */
  double power, floor;  /* POLLUX: see berth_elastic_pollux; default -1, 0.01 */
} berth_gang_resize_options;
berth_gang_resize_options berth_gang_resize_default(void);

/** Types and throughputs are required; the cluster has no slots; types are served in order. */
typedef struct berth_gang_gavel_options {
  int32_t n_types;           /* at least 1 (default) */
  int32_t n_machines, n_throughputs, n_priorities;
  const int32_t *types;      /* [machines of the cluster] type of each, from 0 */
  const double *throughputs; /* [jobs * n_types] work per s on a type; 0: not there */
  const double *priorities;  /* [jobs] above 0; NULL: 1 each */
  int goal;                  /* berth_gavel_goal; default MAX_MIN */
  double round;              /* s that a round lasts at most; default 360 */
  double reset;              /* s between two solutions at least; default 1920; 0: at the first
                                round after each change of who is there */
  double slack;              /* of the makespan: berth_gavel; default 0.05, as published */
  int32_t n_steps;
  const double *steps;       /* [jobs] work of a step, above 0: a round has whole ones; NULL: work
                                is continuous */
} berth_gang_gavel_options;
berth_gang_gavel_options berth_gang_gavel_default(void);

typedef struct berth_gang berth_gang;

/**
 * @param n jobs of the cluster that it will decide for @param size [n] gangs, at least 1; not used
 *        of resizable jobs. All arrays are copied
 * @return BERTH_OK; BERTH_EINVAL (options, sizes: the value and its place); BERTH_ENOMEM
 */
berth_status berth_gang_new(berth_ctx *ctx, int32_t n, const int32_t *size,
                            const berth_gang_options *opts, berth_gang **out);
void berth_gang_release(berth_gang *g); /* NULL is fine */

/** For berth_cluster_run, once; borrowed from g. Each event O((running + changes) log waiting).
 *  Its functions return BERTH_EINVAL if the cluster has not n jobs, what `rate` returned,
 *  BERTH_ENOMEM. */
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

/** What no schedule of the jobs that have come and were not refused can beat, even with all jobs
 * known, with pauses or without: each runs on `size` GPUs or more at once, at 1 s of work per s at
 * most. */
typedef struct berth_gang_bound {
  double mean_jct;  /* s; NAN of no jobs */
  double makespan;  /* s: the last end is not earlier */
} berth_gang_bound;
/**
 * @param c    after its run, under any scheduler
 * @param size [jobs of c] GPUs of each
 * @param gpus in all, above 0
 * @return BERTH_OK; BERTH_EINVAL (gpus); BERTH_ENOMEM
 *
 * O(n log n). Means of moments of service, relaxed to all GPUs for one job at a time: M. Goemans et
 * al., "Single machine scheduling with release dates", SIAM J. Discrete Math., 2002, here for
 * gangs.
 */
berth_status berth_gang_bounds(berth_ctx *ctx, const berth_cluster *c, const int32_t *size,
                               double gpus, berth_gang_bound *out);

/** After a decision. */
typedef struct berth_gang_count {
  double time;            /* s */
  int32_t idle, left;     /* machines without jobs; GPUs, or machines, that are free */
  int32_t waiting;        /* jobs */
} berth_gang_count;
const berth_gang_count *berth_gang_counts(const berth_gang *g, int32_t *n); /* only changes */

/* ---- resizable jobs ---- */
/* Jobs that can run on more or fewer GPUs: how many each gets now, and how fast it learns on them.
 *
 * berth_gang (rules OPTIMUS, POLLUX) calls these at each slot; they may be called alone. */

typedef struct berth_elastic_job {
  int32_t most;        /* GPUs */
  const double *speed; /* [most] work per s on 1, 2, ... GPUs; 0: not on so many */
  double left;         /* work */
  int32_t now;         /* GPUs that it has; 0: none */
  double change;       /* POLLUX: times its speed, on another number than `now`: what a restart
                          costs; 1: nothing */
} berth_elastic_job;

/**
 * Optimus's choice where workers are GPUs and nothing else: each job, in order, gets the least that
 * it can run on; then the job gets more whose remaining time falls most per GPU, as long as that is
 * above 0.
 *
 * @param jobs [n] in order of arrival  @param count [n] out, GPUs; their sum is at most gpus
 * @return BERTH_OK; BERTH_EINVAL (a number, with its place); BERTH_ENOMEM
 *
 * O(n + gpus log n). Source: Y. Peng et al., "Optimus", EuroSys 2018, as the Pollux artifact has it
 * without parameter servers. Departs: where a job cannot run on one more, it may be offered several
 * at once, at their mean gain.
 */
berth_status berth_elastic_optimus(berth_ctx *ctx, int32_t n, const berth_elastic_job *jobs,
                                   int32_t gpus, int32_t *count);

/**
 * The greatest mean of speedup^power, of all ways to give at most `gpus`: exact, by dynamic
 * programming. The speedup of a job is its speed over that on the least that it can run on; of one
 * that gets nothing it counts as `floor`.
 *
 * @param power at most 1; 0: of the logarithms; published: -1  @param floor above 0; e.g. 0.01
 * @param count [n] out  @return as above
 *
 * O(n gpus most) time, O(n gpus) memory. Source: A. Qiao et al., "Pollux", OSDI 2021, sec. 4.2
 * (fitness of eq. 14, restart penalty of eq. 15). Departs: exact, where Pollux searches by
 * generations; that speedups are over one GPU is its artifact's.
 */
berth_status berth_elastic_pollux(berth_ctx *ctx, int32_t n, const berth_elastic_job *jobs,
                                  int32_t gpus, double power, double floor, int32_t *count);

/** Pollux's model of a training job. Batches in samples, times in s. */
typedef struct berth_goodput {
  double grad, grad_sample;   /* a_c + b_c m: computing on a batch of m per GPU */
  double sync_near, near_gpu; /* a_r + b_r (K - 2): synchronising K >= 2 GPUs of one machine */
  double sync_far, far_gpu;   /* a_n + b_n (K - 2): of several */
  double overlap;             /* gamma, 1 to 10: T = (T_grad^gamma + T_sync^gamma)^(1/gamma) */
  double noise;               /* phi: gradient noise scale; INFINITY: efficiency is always 1 */
  double batch;               /* M0: least batch in all, at which efficiency is 1 */
  double most_batch;          /* largest batch in all; INFINITY */
  double most_per_gpu;        /* largest that fits a GPU; INFINITY */
} berth_goodput;

/** @return s of an iteration on `gpus` of `machines`, at a batch per GPU */
double berth_goodput_time(const berth_goodput *g, int32_t gpus, int32_t machines, double per_gpu);
/** @return share of its samples that a batch is worth, as if they were of batches of M0: (phi + M0)
 *         / (phi + M) */
double berth_goodput_efficiency(const berth_goodput *g, double batch);
/**
 * The largest goodput, samples per s times efficiency, over all batches in range.
 *
 * @param batch out, may be NULL: the batch in all; 0 if none is in range
 * @param out   goodput; 0 if M0 does not fit
 * @return BERTH_OK; BERTH_EINVAL (numbers of the model; gpus, machines: at least 1, no more
 *         machines than GPUs)
 *
 * Goodput rises to one maximum and falls: golden section.
 */
berth_status berth_goodput_best(berth_ctx *ctx, const berth_goodput *g, int32_t gpus,
                                int32_t machines, double *batch, double *out);

/* ---- Gavel's linear programs ---- */
/* Gavel's policies: which share of the time each job should have on each type of GPU, by linear
 * programs.
 *
 * berth_gang (rule GAVEL) calls it when jobs have come or gone, and serves jobs so that their
 * rounds follow these shares; it may be called alone. */

typedef enum berth_gavel_goal {
  BERTH_GAVEL_MAX_MIN,     /* the least of the jobs' throughputs times gang, over priority and what
                              an equal share would give */
  BERTH_GAVEL_MAKESPAN,    /* time until all work left is done, s */
  BERTH_GAVEL_FINISH_TIME, /* the largest ratio of a job's time in all to that alone */
  BERTH_GAVEL_MAX_SUM,     /* sum of throughputs */
  BERTH_GAVEL_FIFO         /* jobs in their order, each on the type where it is fastest among those
                              with enough GPUs left; the first that finds none waits, and all
                              behind it; objective: jobs that have GPUs */
} berth_gavel_goal;
const berth_choice *const *berth_gavel_goals(void); /* NULL-terminated */

typedef struct berth_gavel {
  int32_t n, types;
  const double *throughput; /* [n * types] work per s of a job all the time on a type; 0: not
                               there */
  const int32_t *gang;      /* [n] GPUs; NULL: 1 each */
  const double *priority;   /* [n] above 0; NULL: 1 each */
  const int32_t *gpus;      /* [types] */
  const double *left;       /* [n] work; MAKESPAN, FINISH_TIME */
  const double *elapsed;    /* [n] s since it has come; FINISH_TIME */
  const double *alone;      /* [n] s in all if it were alone, above 0; FINISH_TIME */
  double slack;             /* MAKESPAN: shares reach a time that a bisection from 100 to 1e6 s
                               finds within this part of the least, 0.05 as published; 0: the
                               least */
} berth_gavel;

/**
 * @param share     [n * types] out: of its time, that a job is to have on a type
 * @param objective out: what the goal names, NAN of no jobs
 * @return BERTH_OK; BERTH_EINVAL (a number, with its place); BERTH_EINFEASIBLE (a job that can run
 *         nowhere, which); BERTH_ENOMEM; BERTH_EINTERRUPT; BERTH_EUNSUPPORTED (the solver gave up)
 *
 * A job's shares sum to 1 at most, and those on a type, times gangs, to its GPUs; gangs larger than
 * a type get none of it. The objective is unique, shares need not be. One linear program of n types
 * + 1 columns; FINISH_TIME some more, each nearer the optimum. Source: D. Narayanan et al.,
 * "Heterogeneity-aware cluster scheduling policies for deep learning workloads", OSDI 2020, sec. 4.
 */
berth_status berth_gavel_allocate(berth_ctx *ctx, const berth_gavel *p, berth_gavel_goal goal,
                                  double *share, double *objective);

/* ---- the clairvoyant bound ---- */
/* How many jobs could be accepted if all arrivals were known: a bound for schedulers that
 * do not.
 *
 * Each job has choices: so many servers for so many seconds from its arrival, without a queue. The
 * relaxation lets a job take fractions of choices, one job's worth at most, and requires only that
 * no more servers are in use than there are at the moment of each arrival (in between, jobs only
 * end):
 * where the servers are does not matter. It is a linear program; any prices of the moments prove a
 * bound, and the program gives the best ones.
 *
 * It follows from weak duality of linear programs alone. docs/pacml.md, "A bound". */

typedef struct berth_clairvoyant_choice {
  double seconds;  /* from the arrival to the end; INFINITY: forever */
  int32_t servers; /* at least 1; more than there are: never taken */
} berth_clairvoyant_choice;

typedef struct berth_clairvoyant_jobs {
  int32_t n;                              /* jobs */
  const double *arrival;                  /* [n] s, ascending */
  const int32_t *first;                   /* [n + 1] choices of job i: first[i] .. first[i + 1] - 1;
                                             none: it is lost */
  const berth_clairvoyant_choice *choice; /* [first[n]] */
  int32_t servers;                        /* there are, at least 1 */
  double slack;                           /* s: a job that ends so little after an arrival is gone
                                             by then; published: 1e-7 */
} berth_clairvoyant_jobs;

typedef struct berth_clairvoyant_summary {
  double bound;       /* no more jobs can be accepted: proved by the prices, whatever the solver
                         did */
  double value;       /* jobs that the relaxation accepts by the shares below; the optimum lies
                         between */
  int32_t jobs;       /* bound, rounded down: jobs are whole */
  int32_t columns;    /* choices in the program: those that no other choice of the job makes
                         useless */
  int32_t moments;    /* different arrivals */
  int32_t iterations; /* of the simplex method */
} berth_clairvoyant_summary;

typedef struct berth_clairvoyant berth_clairvoyant;

/**
 * @return BERTH_OK; BERTH_EINVAL (numbers that make no sense, each with its place); BERTH_ENOMEM;
 *         BERTH_EINTERRUPT; BERTH_EUNSUPPORTED (the solver gave up, or no thread for it can be had)
 *
 * 1001 arrivals with nine choices each: below a second. Deterministic. The solver (GLPK) runs on a
 * thread of its own, so that nothing of the caller's use of GLPK is touched; it allocates outside
 * the context's allocator.
 */
berth_status berth_clairvoyant_new(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs,
                                   berth_clairvoyant **out);
void berth_clairvoyant_release(berth_clairvoyant *c); /* NULL is fine */
const berth_clairvoyant_summary *berth_clairvoyant_get(const berth_clairvoyant *c);
/** [first[n]] share of each choice that is taken, 0 to 1: they break no constraint beyond
 * rounding. */
const double *berth_clairvoyant_share(const berth_clairvoyant *c);
/** [n] price of a server at the moment of each arrival, in jobs; of several at one moment the first
 * has it, the others 0. */
const double *berth_clairvoyant_price(const berth_clairvoyant *c);

/**
 * The bound that prices prove: what the servers are worth, and of each job what its best choice is
 * worth beyond its servers.
 *
 * @param price [n] of a server at the moment of each arrival, not negative
 * @return BERTH_OK; BERTH_EINVAL (as berth_clairvoyant_new; a price); BERTH_ENOMEM
 *
 * Uses nothing of the solver. O(choices log n).
 */
berth_status berth_clairvoyant_prove(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs,
                                     const double *price, double *bound);

#ifdef __cplusplus
}
#endif
#endif
