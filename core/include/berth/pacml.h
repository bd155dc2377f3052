/* PAC-ML: jobs arrive at a RAMP cluster, and for each one a number decides: into how many pieces
 * its ops may be cut at most, 0 to turn it away. All else follows: pieces, servers, look-ahead. A
 * job is blocked if it is refused, if there is no legal block of free servers, or if it would
 * end after its deadline; else it holds its servers until it ends.
 *
 * Source: Parsonson et al., "Partitioning Distributed Compute Jobs with Reinforcement Learning and
 * Graph Neural Networks", 2023, and its published simulator. The mode is that of the RAMP cluster.
 * compat: the look-ahead of a model cut into so many pieces is taken from the first
 * decision for it in a run, wherever the pieces were then; a job that runs at the horizon counts as
 * blocked. exact: each placement is simulated by itself; deadlines hold up to 1e-9 of themselves.
 */
#ifndef BERTH_PACML_H
#define BERTH_PACML_H

#include <berth/cluster.h>
#include <berth/ramp.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Models that jobs are of, and all that was found out about placements of them: shared by runs. */
typedef struct berth_pacml berth_pacml;
/**
 * @param models [n] of one RAMP cluster; retained @param steps training steps of a job, at least 1;
 *        published: 50
 * @param most the largest decision, at least 1; published: 16
 * @return BERTH_OK, BERTH_EINVAL, BERTH_ENOMEM
 */
berth_status berth_pacml_new(berth_ramp *r, int32_t n, berth_ramp_model *const *models,
                             int32_t steps, int32_t most, berth_pacml **out);
void berth_pacml_retain(berth_pacml *p);
void berth_pacml_release(berth_pacml *p);
int32_t berth_pacml_most(const berth_pacml *p);
/** Seconds of a job of that model on one server: steps times the sum of its op times. NaN: no such
 * model. */
double berth_pacml_sequential(const berth_pacml *p, int32_t model);

typedef struct berth_pacml_job {
  double arrival; /* s */
  double beta;    /* its deadline is beta times its sequential time, after the arrival; above 0 */
  int32_t model;
} berth_pacml_job;

typedef enum berth_pacml_cause {
  BERTH_PACML_ACCEPTED,
  BERTH_PACML_REJECTED,  /* by decision 0 */
  BERTH_PACML_PLACEMENT, /* no legal block */
  BERTH_PACML_LATE       /* it would end after its deadline */
} berth_pacml_cause;
/** "accepted", "rejected", "op_placement", "jct", as the published simulator calls them; NULL for
 * others. */
const char *berth_pacml_cause_name(berth_pacml_cause cause);

/** What a decision comes to. */
typedef struct berth_pacml_outcome {
  berth_pacml_cause cause;
  double jct;        /* s from arrival to end; NAN: not placed */
  int32_t pieces;    /* most pieces of an op */
  int32_t n_servers;
  int32_t channels;
} berth_pacml_outcome;

/** One sequence of jobs on the cluster. */
typedef struct berth_pacml_run berth_pacml_run;
/** The first arrival has come when it returns (if there is one).
 *  @return BERTH_OK, BERTH_EINVAL (a job at fault is named), BERTH_ENOMEM */
berth_status berth_pacml_run_new(berth_pacml *p, int32_t n, const berth_pacml_job *jobs,
                                 berth_pacml_run **out);
void berth_pacml_run_release(berth_pacml_run *r);
/** The cluster under it: machines are servers, a job's work is its sequential time, its rate how
 *  many times as fast it is. Decide through the run only. */
const berth_cluster *berth_pacml_run_cluster(const berth_pacml_run *r);
/** The job that is to be decided about; BERTH_NONE: all have been, and time has gone on until the
 *  last has ended; or, in a decider, the present one has been. */
int32_t berth_pacml_run_job(const berth_pacml_run *r);
/** [servers] when each one will be free, s; not above the present time: it is. Borrowed. */
const double *berth_pacml_run_free_at(const berth_pacml_run *r);
/** [servers] 1: a job is there. Borrowed. */
const uint8_t *berth_pacml_run_busy(const berth_pacml_run *r);

/** What a decision about the present job would come to. Looking changes nothing: compat takes the
 *  look-ahead of a model in so many pieces from the first decision for them.
 *  @param servers [servers] out, n_servers of them, ascending; may be NULL
 *  @return BERTH_OK; BERTH_EINVAL (no job is left; neither 0, 1 nor even, or above `most`);
 *          BERTH_ENOMEM */
berth_status berth_pacml_look(berth_pacml_run *r, int32_t decision, berth_pacml_outcome *out,
                              int32_t *servers);
/** Decides, and moves on to the next arrival; within berth_pacml_run_play decides only. @return as
 * berth_pacml_look */
berth_status berth_pacml_decide(berth_pacml_run *r, int32_t decision, berth_pacml_outcome *out);

/** The same with a block of one's own for the ops with most pieces: not as published, where it is
 * the first that fits.
 *  @param block [n] servers, ascending; n 0: the first that fits @return also BERTH_EINVAL (not a
 *         legal block, or not of as many
 *  servers as these ops have pieces) */
berth_status berth_pacml_look_on(berth_pacml_run *r, int32_t decision, int32_t n,
                                 const int32_t *block, berth_pacml_outcome *out, int32_t *servers);
berth_status berth_pacml_decide_on(berth_pacml_run *r, int32_t decision, int32_t n,
                                   const int32_t *block, berth_pacml_outcome *out);

/** What decides in a run that is played: an adapter makes it a scheduler of the cluster. Anything
 * but BERTH_OK ends playing. */
typedef struct berth_pacml_decider {
  /* decides about it, by berth_pacml_decide */
  berth_status (*arrival)(void *ud, berth_pacml_run *r, int32_t job);
  berth_status (*end)(void *ud, berth_pacml_run *r, int32_t job);     /* NULL: not called */
  void *ud;
} berth_pacml_decider;
/** Calls a decider for the present job and all that come. After an error the run is at
 *  the next job that is not decided about (ends before it are not reported), and can be played or
 *  decided on.
 *  @return BERTH_OK; BERTH_EINTERRUPT; BERTH_EINVAL (a job was not decided about; the run is being
 *          played); what it returned */
berth_status berth_pacml_run_play(berth_pacml_run *r, const berth_pacml_decider *decider);

/** Legal decisions as published: 0; 1 if a server is free; an even number if as many are, and the
 *  size is legal on an empty cluster.
 *  @param mask [most + 1] out */
berth_status berth_pacml_mask(const berth_pacml_run *r, uint8_t *mask);
/** Those, but 0, that would be accepted.  @param mask [most + 1] out: mask[0] is 1 */
berth_status berth_pacml_accepted(berth_pacml_run *r, uint8_t *mask);

/** What became of a job.  @return BERTH_OK, BERTH_EINVAL (no such job, or not decided yet) */
berth_status berth_pacml_result(const berth_pacml_run *r, int32_t job, int32_t *decision,
                                berth_pacml_outcome *out);

/** Section 7 of the specification. Means are over completed jobs, 0 if there are none. */
typedef struct berth_pacml_report {
  /* blocked is the sum of the last four in compat, without unfinished in exact mode */
  int32_t arrived, completed, blocked, rejected, unplaced, late, unfinished;
  double blocking_rate, acceptance_rate;
  double time;                        /* s: when the last job ended, or was refused; the
                                         horizon, if that is before */
  double jct, speedup, pieces, servers, channels; /* means; s */
  double compute_fraction, communication_fraction; /* of a step with an op running, with a flow
                                                      under way; means */
  double jobs_running;                /* mean over time */
  double mounted_fraction;            /* of servers, mean over time */
  double mounted_utilisation;         /* share of the time for which a held server computes, mean
                                         over server-seconds */
  double utilisation;                 /* the product */
  double published_utilisation;       /* mounted_utilisation as published: the mean over completed
                                         jobs, and of one step over the time of all */
  double load_rate;                   /* bytes/s that arrive: memory and dependencies, uncut, over
                                         the time between arrivals */
  double throughput, cluster_throughput; /* bytes/s that were worked off: of the graphs as they
                                            came, and as they were cut */
  double compute_throughput, dep_throughput; /* the parts of the latter: memory of ops,
                                                dependencies */
  double flow_throughput;                    /* of the dependencies, those between servers */
} berth_pacml_report;
/** @param horizon s; INFINITY: until all is done. @return BERTH_OK, BERTH_EINVAL (jobs are left to
 *        decide about; horizon) */
berth_status berth_pacml_run_report(const berth_pacml_run *r, double horizon,
                                    berth_pacml_report *out);

/* ---- the planner ---- */
/* Deciding PAC-ML's question with what is known before the decision: the look-ahead of each choice,
 * when running jobs will end, and how jobs arrive.
 *
 * A small network predicts, from what a choice leaves free, how many jobs will be blocked; the
 * choice with the least, this job included, is taken. It learns that from games with itself, by
 * TD(lambda), and, if requested, from rollouts on the way. On top of it, rollouts: for each choice,
 * sampled futures are played on with the network, and the choice with the fewest blocked jobs is
 * taken. Both work on a quick copy of the cluster, in which servers are bits: exact but for two
 * things that the decision itself then checks: memory never binds, and a model takes the time that
 * it takes on an empty cluster.
 *
 * Ours; learning as in Sutton, "Learning to Predict by the Methods of Temporal Differences", 1988;
 * rollouts as in Tesauro and Galperin, "On-line Policy Improvement using Monte-Carlo Search", 1996;
 * futures shared out as in Karnin, Koren and Somekh, "Almost Optimal Exploration in Multi-Armed
 * Bandits", 2013. */

/** How jobs arrive, as a planner models it: models alike, gaps and betas independent. */
typedef struct berth_pacml_process {
  double gap_least, gap_most; /* s between arrivals, uniform; 0 < gap_least <= gap_most */
  int32_t n;                  /* betas that occur */
  const double *beta, *mass;  /* [n] each; masses not negative, of any sum above 0 */
} berth_pacml_process;

typedef struct berth_pacml_ahead berth_pacml_ahead;
/**
 * @param hidden units of the network, 1 to 1024
 * @param blocks choices of a block for each number of pieces, 1 to 8: the first that fits, as
 *        published, and those that leave most large blocks free
 * @param discount of what is blocked one arrival later, 0 to below 1
 * @param process copied
 * @return BERTH_OK; BERTH_EINVAL (process); BERTH_EUNSUPPORTED (more than 40 decisions);
 *         BERTH_ENOMEM
 * Before anything is learned the weights are those of a rule, one unit: the more servers and blocks
 * stay free at the moments to come, the better. With rollouts that is a rolling-horizon planner
 * which needs no training. Of weights that are all 0 the first choice is taken, that with fewest
 * pieces.
 */
berth_status berth_pacml_ahead_new(berth_pacml *p, int32_t hidden, int32_t blocks, double discount,
                                   const berth_pacml_process *process, berth_pacml_ahead **out);
void berth_pacml_ahead_release(berth_pacml_ahead *a);
/** Numbers that the network sees of each choice. */
int32_t berth_pacml_ahead_inputs(const berth_pacml_ahead *a);
/** [weights]: a row of `hidden` for each input and one of biases; then one for the output, and its
 * bias. */
int32_t berth_pacml_ahead_weights(const berth_pacml_ahead *a);
/** @param w [weights] copied; finite, else BERTH_EINVAL */
berth_status berth_pacml_ahead_set(berth_pacml_ahead *a, const double *w);

/** Jobs of that process.  @param jobs [n] out, the first at 0  */
void berth_pacml_ahead_draw(const berth_pacml_ahead *a, berth_rng *rng, int32_t n,
                            berth_pacml_job *jobs);
/** Plays jobs with the network alone, on the quick copy, from an empty cluster.
 *  @param blocked out: how many were refused @return BERTH_OK, BERTH_EINVAL (jobs),
 *         BERTH_EINTERRUPT.
 *  O(n choices hidden inputs) */
berth_status berth_pacml_ahead_play(berth_pacml_ahead *a, int32_t n, const berth_pacml_job *jobs,
                                    int32_t *blocked);

typedef struct berth_pacml_learn_options {
  int32_t jobs;           /* that are played; default 300,000 */
  double rate, last_rate; /* of learning, geometrically from one to the other; default 0.02 to
                             0.0005 */
  double explore;         /* share of choices at random, falling to 0; default 0.02 */
  double trace;           /* lambda, 0 to below 1; default 0.5 */
  int32_t futures;        /* of each of the most promising choices; learning from them, too; default
                             0: none, else some 16 */
  int32_t depth, choices; /* arrivals in each; how many are most promising; default 16, 5 */
} berth_pacml_learn_options;
berth_pacml_learn_options berth_pacml_learn_default(void);
const berth_option_table *berth_pacml_learn_option_table(void);
/** Learns from games with itself: jobs of the process, on the quick copy. Goes on from the weights
 *  that there are, from random ones if nothing has been learned or all are 0.
 *  @param blocked out: share of the jobs that were refused on the way
 *  @return BERTH_OK; BERTH_EINVAL (options); BERTH_ENOMEM; BERTH_EINTERRUPT (what was learned
 *          stays)
 *  Some 5 us a job, and 0.1 ms a future of 16 arrivals and a choice. */
berth_status berth_pacml_ahead_learn(berth_pacml_ahead *a, const berth_pacml_learn_options *opts,
                                     berth_rng *rng, double *blocked);
/** @param w [weights] out */
void berth_pacml_ahead_get(const berth_pacml_ahead *a, double *w);

typedef struct berth_pacml_ahead_options {
  int32_t futures; /* sampled for each choice, in the mean: the worse half of the choices drops out
                      again and again; 0: the network alone decides; default 32 */
  int32_t depth;   /* arrivals in each; default 24 */
  uint64_t seed;   /* futures depend on it and on the number of the job; default 0 */
  int reject;      /* 1 (default): turning away a job that could run is a choice, too */
  int rules;       /* 1 (default): the best capped rule (most pieces up to a cap that fit and end by
                      the deadline, else the fewest above) takes the network's place where it blocks
                      fewer of 4,096 jobs of the process; chosen at the first decision */
  double horizon;  /* s: what ends later counts as blocked, what arrives later does not count, as
                      published; INFINITY (default) */
} berth_pacml_ahead_options;
berth_pacml_ahead_options berth_pacml_ahead_default(void);
const berth_option_table *berth_pacml_ahead_option_table(void);
/** The decision for the present job of a run of the same models. 0 if no choice would be accepted.
 *  @param n_block, block [servers] out: the block to decide on (berth_pacml_decide_on); n_block 0:
 *         the first that fits
 *  @return BERTH_OK, BERTH_EINVAL (no job is left; options; a run of other models), BERTH_ENOMEM,
 *          BERTH_EINTERRUPT */
berth_status berth_pacml_ahead_decide(berth_pacml_ahead *a, berth_pacml_run *r,
                                      const berth_pacml_ahead_options *opts, int32_t *decision,
                                      int32_t *n_block, int32_t *block);

#ifdef __cplusplus
}
#endif
#endif
