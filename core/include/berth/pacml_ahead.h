/* Deciding PAC-ML's question with what is known before the decision: the look-ahead of each choice, when running jobs will end, and
 * how jobs arrive.
 *
 * A small network says, from what a choice leaves behind, how many jobs will be blocked; the choice with the least, this job
 * included, is taken. It learns that from games with itself, by TD(lambda), and, if asked to, from rollouts on the way. On top of
 * it, rollouts: for each choice, sampled futures are played on with the network, and the choice with the fewest blocked jobs is
 * taken. Both work on a quick copy of the cluster, in which servers are bits: exact but for two things that the decision itself
 * then checks: memory never binds, and a model takes the time that it takes on an empty cluster. At most 64 servers.
 *
 * Ours; learning as in Sutton, "Learning to Predict by the Methods of Temporal Differences", 1988; rollouts as in
 * Tesauro and Galperin, "On-line Policy Improvement using Monte-Carlo Search", 1996; futures shared out as in Karnin, Koren and
 * Somekh, "Almost Optimal Exploration in Multi-Armed Bandits", 2013. */
#ifndef BERTH_PACML_AHEAD_H
#define BERTH_PACML_AHEAD_H

#include <berth/pacml.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How jobs arrive, as far as a planner knows: models alike, gaps and betas independent. */
typedef struct berth_pacml_process {
  double gap_least, gap_most; /* s between arrivals, uniform; 0 < gap_least <= gap_most */
  int32_t n;                  /* betas that occur */
  const double *beta, *mass;  /* [n] each; masses not negative, of any sum above 0 */
} berth_pacml_process;

typedef struct berth_pacml_ahead berth_pacml_ahead;
/**
 * @param hidden units of the network, 1 to 1024
 * @param blocks choices of a block for each number of pieces, 1 to 8: the first that fits, as published, and those that leave most
 *        large blocks free
 * @param discount of what is blocked one arrival later, 0 to below 1
 * @param process copied
 * @return BERTH_OK; BERTH_EINVAL (process); BERTH_EUNSUPPORTED (more than 64 servers); BERTH_ENOMEM
 * Before anything is learned the weights are those of a rule, one unit: the more servers and blocks stay free at the moments to
 * come, the better. With rollouts that is a rolling-horizon planner which needs no training. Of weights that are all 0 the first
 * choice is taken, that with fewest pieces.
 */
berth_status berth_pacml_ahead_new(berth_pacml *p, int32_t hidden, int32_t blocks, double discount,
                                   const berth_pacml_process *process, berth_pacml_ahead **out);
void berth_pacml_ahead_release(berth_pacml_ahead *a);
/** Numbers that the network sees of each choice. */
int32_t berth_pacml_ahead_inputs(const berth_pacml_ahead *a);
/** [weights]: a row of `hidden` for each input and one of biases; then one for the output, and its bias. */
int32_t berth_pacml_ahead_weights(const berth_pacml_ahead *a);
/** @param w [weights] copied; finite, else BERTH_EINVAL */
berth_status berth_pacml_ahead_set(berth_pacml_ahead *a, const double *w);

/** Jobs of that process.  @param jobs [n] out, the first at 0  */
void berth_pacml_ahead_draw(const berth_pacml_ahead *a, berth_rng *rng, int32_t n, berth_pacml_job *jobs);
/** Plays jobs with the network alone, on the quick copy, from an empty cluster.
 *  @param blocked out: how many were turned away  @return BERTH_OK, BERTH_EINVAL (jobs), BERTH_EINTERRUPT.
 *  O(n choices hidden inputs) */
berth_status berth_pacml_ahead_play(berth_pacml_ahead *a, int32_t n, const berth_pacml_job *jobs, int32_t *blocked);

typedef struct berth_pacml_learn_options {
  int32_t jobs;           /* that are played; default 300,000 */
  double rate, last_rate; /* of learning, geometrically from one to the other; default 0.02 to 0.0005 */
  double explore;         /* share of choices at random, falling to 0; default 0.02 */
  double trace;           /* lambda, 0 to below 1; default 0.5 */
  int32_t futures;        /* of each of the most promising choices; learning from them, too; default 0: none, else some 16 */
  int32_t depth, choices; /* arrivals in each; how many are most promising; default 16, 5 */
} berth_pacml_learn_options;
berth_pacml_learn_options berth_pacml_learn_defaults(void);
/** Learns from games with itself: jobs of the process, on the quick copy. Goes on from the weights that there are, from random ones
 *  if nothing has been learned or all are 0.
 *  @param blocked out: share of the jobs that were turned away on the way
 *  @return BERTH_OK; BERTH_EINVAL (options); BERTH_ENOMEM; BERTH_EINTERRUPT (what was learned stays)
 *  Some 5 us a job, and 0.1 ms a future of 16 arrivals and a choice. */
berth_status berth_pacml_ahead_learn(berth_pacml_ahead *a, const berth_pacml_learn_options *opts, berth_rng *rng, double *blocked);
/** @param w [weights] out */
void berth_pacml_ahead_get(const berth_pacml_ahead *a, double *w);

typedef struct berth_pacml_ahead_options {
  int32_t futures; /* sampled for each choice, in the mean: the worse half of the choices drops out again and again; 0: the network
                      alone decides; default 32 */
  int32_t depth;   /* arrivals in each; default 24 */
  uint64_t seed;   /* futures depend on it and on the number of the job; default 0 */
  int reject;      /* 1 (default): turning away a job that could run is a choice, too */
  double horizon;  /* s: what ends later counts as blocked, what arrives later does not count, as published; INFINITY (default) */
} berth_pacml_ahead_options;
berth_pacml_ahead_options berth_pacml_ahead_defaults(void);
/** The decision for the present job of a run of the same models. 0 if no choice would be accepted.
 *  @param n_block, block [servers] out: the block to decide on (berth_pacml_decide_on); n_block 0: the first that fits
 *  @return BERTH_OK, BERTH_EINVAL (no job is left; options; a run of other models), BERTH_ENOMEM, BERTH_EINTERRUPT */
berth_status berth_pacml_ahead_decide(berth_pacml_ahead *a, berth_pacml_run *r, const berth_pacml_ahead_options *opts,
                                      int32_t *decision, int32_t *n_block, int32_t *block);

#ifdef __cplusplus
}
#endif
#endif
