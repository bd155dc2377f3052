/* The planner of PAC-ML's job: the choices (choices.c), the network that values what a choice
 * leaves behind (value.c), and rollouts (rollouts.c), on a quick cluster of masks (fast.h). */
#ifndef BERTH_PACML_AHEAD_INTERNAL_H
#define BERTH_PACML_AHEAD_INTERNAL_H

#include "fast.h"
#include <berth/pacml.h>

enum {
  BERTH_I_AHEAD_MOMENTS = 6,
  BERTH_I_AHEAD_SIZES = 6,   /* of blocks that are counted */
  BERTH_I_AHEAD_ROW = 8,     /* sizes, rounded up to whole vectors */
  BERTH_I_AHEAD_COUNTED = 24, /* blocks of a size, the first ones in the order of the search, which
                                 stand for all */
  BERTH_I_AHEAD_OWN = 6,
  BERTH_I_AHEAD_INPUTS = BERTH_I_AHEAD_MOMENTS * (BERTH_I_AHEAD_SIZES + 1) + BERTH_I_AHEAD_OWN,
  BERTH_I_AHEAD_HIDDEN = 1024,
  BERTH_I_AHEAD_CHOICES = BERTH_I_FAST_DECISIONS * 8,
  BERTH_I_AHEAD_RULE_DEPTH = 8
};

#define BERTH_I_AHEAD_SLACK 1e-7 /* s, as the run has it */

/** Counted blocks, a bit each, by size. A multiple of 16 bytes, for vectors. */
typedef struct berth_i_blocks {
  uint32_t of[BERTH_I_AHEAD_ROW];
} berth_i_blocks;

struct berth_pacml_ahead {
  berth_i_fast f;
  int32_t hidden, inputs, n_weights;
  /* sizes that are counted, of how many blocks */
  int32_t n_counted, counted[BERTH_I_AHEAD_SIZES], blocks[BERTH_I_AHEAD_SIZES];
  /* counted blocks: all, and those in which a server is */
  berth_i_blocks all, with[BERTH_I_FAST_SERVERS];
  double *w;                   /* [n_weights]: a row of `hidden` for each input, one of biases, one
                                  of the output, its bias */
  berth_pacml_process process; /* beta and mass are ours */
  double *cumulative;          /* [process.n] */
  double gap;                  /* s, mean */
  int32_t n_blocks;            /* that are choices, of each decision */
  double discount;             /* of what is blocked one arrival later */
  bool is_new;                 /* nothing has been learned: weights are the rule's, or all 0 */
  bool is_chosen;              /* cap is the best rule for the weights and the process */
  int32_t cap;                 /* of the capped rule that decides in the network's place; 0: none */
};

/** A moment of the quick cluster: a job has come. */
typedef struct berth_i_ahead_state {
  double free_at[BERTH_I_FAST_SERVERS];
  double now;
} berth_i_ahead_state;

/** What may be decided: index of the decision, block of the ops with most pieces (BERTH_NONE: the
 * first that fits), seconds, all servers. */
typedef struct berth_i_choice {
  int32_t index, block;
  double jct;
  berth_i_servers servers;
} berth_i_choice;

/* ---- choices.c ---- */

berth_i_ahead_state berth_i_ahead_empty(const berth_pacml_ahead *a);
berth_i_blocks berth_i_blocks_free(const berth_pacml_ahead *a, const berth_i_servers *busy);
berth_i_blocks berth_i_blocks_hit(const berth_pacml_ahead *a, const berth_i_servers *servers);
/** Decisions that meet the deadline and fit; of several with the same time the first.
 *  @param choice [BERTH_I_AHEAD_CHOICES] out */
int32_t berth_i_ahead_choices(const berth_pacml_ahead *a, const berth_i_ahead_state *s,
                              const berth_pacml_job *job, berth_i_choice *choice);
void berth_i_ahead_hold(const berth_pacml_ahead *a, berth_i_ahead_state *s,
                        const berth_i_choice *c);
double berth_i_ahead_limit(const berth_pacml_ahead *a, const berth_pacml_job *job);
berth_pacml_job berth_i_ahead_draw(const berth_pacml_ahead *a, berth_rng *rng, double arrival);
double berth_i_ahead_gap(const berth_pacml_ahead *a, berth_rng *rng);

/* ---- value.c ---- */

/** All choices for a job. */
typedef struct berth_i_ahead_view {
  const berth_i_choice *choice; /* [n] */
  int32_t n;                    /* turning the job away comes after them */
  double limit, horizon;        /* s after now; s */
} berth_i_ahead_view;

/** Jobs that will be blocked after the state x, discounted. @param unit [hidden] out: before
 * squashing */
double berth_i_ahead_value(const berth_pacml_ahead *a, const double *x, double *unit);
/** Adds scale times the gradient of the value at x by the weights to g. */
void berth_i_ahead_gradient(const berth_pacml_ahead *a, double scale, double *g, const double *x,
                            const double *unit);
/** @param c NULL: the job is refused  @param x [inputs] out */
void berth_i_ahead_inputs(const berth_pacml_ahead *a, const berth_i_ahead_state *s,
                          const berth_i_choice *c, double limit, double *x);
/** Index of the choice with the least to be blocked; n: the job is refused. Ties to the first.
 *  @param reject turning away a job that could run is a choice @param each [n + 1] out: what will
 *         be blocked, this job included; may be NULL */
int32_t berth_i_ahead_prefer(const berth_pacml_ahead *a, const berth_i_ahead_state *s,
                             const berth_i_ahead_view *v, bool reject, double *each);

/* ---- rollouts.c ---- */

/** A job comes and a policy decides. @param cap 0: the network; else the capped rule
 *  @param x [inputs] out: what it leaves behind; NULL: not wanted
 *  @return whether it is blocked */
bool berth_i_ahead_step(const berth_pacml_ahead *a, berth_i_ahead_state *s,
                        const berth_pacml_job *job, int32_t cap, double horizon, double *x);
/** Plays jobs from an empty cluster. */
berth_status berth_i_ahead_play(const berth_pacml_ahead *a, int32_t n, const berth_pacml_job *jobs,
                                int32_t cap, int32_t *blocked);
/** What is blocked in one future after a choice (NULL: refused). By the network: discounted, with
 *  what it expects at the end. By the capped rule: not discounted, and
 *  BERTH_I_AHEAD_RULE_DEPTH times as many arrivals, since nothing is expected at the end. The same
 *  future for every choice. */
double berth_i_ahead_future(const berth_pacml_ahead *a, const berth_i_ahead_state *now,
                            const berth_i_choice *c, const berth_pacml_ahead_options *o,
                            uint64_t stream);

#endif
