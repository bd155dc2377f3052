/* Assignment as a sequence of decisions: which op next, on which device. What learned placers
 * (DOPPLER, PLACETO, GDP) see and do; see papers' own words: an episode is one complete assignment,
 * one step one op.
 *
 * A candidate is an op that is not assigned and whose producers all are. The members of a
 * collective are producers of its consumers; estimates leave out the time that it takes. With units
 * (sets of ops that share a device: pins, colocation groups, and `unit`) a decision for one op
 * fixes its whole unit; ops that are candidates and whose device is known are assigned at once, so
 * an episode has as many steps as units. */
#ifndef BERTH_EPISODES_H
#define BERTH_EPISODES_H

#include <berth/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what does not change: features of the graph ---- */

typedef enum berth_estimates {
  BERTH_ESTIMATES_EXACT, /* start = earliest start, end = start + op time, a device is available at
                            its last end */
  BERTH_ESTIMATES_LOAD   /* start = op times on the device so far: the published code, which leaves
                            out waits and transfers */
} berth_estimates;
typedef enum berth_t_levels {
  BERTH_T_LEVELS_CODE,    /* the b-level recursion on reversed edges: op itself included, its own
                             transfer for the producer's */
  BERTH_T_LEVELS_TEXTBOOK /* as berth_t_level, with the transfer time of all outputs of the producer
                             on each edge */
} berth_t_levels;
typedef enum berth_edge_costs {
  BERTH_EDGE_COSTS_PRODUCER, /* an edge against the flow has the transfer time of the tensor */
  BERTH_EDGE_COSTS_CODE      /* ... that of the consumer's output: the published code */
} berth_edge_costs;

typedef struct berth_assign_options {
  berth_estimates estimates;
  berth_t_levels t_levels;
  berth_edge_costs edge_costs;
  const int32_t *unit;       /* [ops] unit of each op, any numbers >= 0; NULL: each op, but for
                                groups and pins */
  int partners;              /* 1: a sixth device feature, which DOPPLER does not have: see
                                berth_episodes_devices; default 0 */
  int contract;              /* 1: units as the searches make them (berth_search_options), unless
                                `unit` gives */
} berth_assign_options;
berth_assign_options berth_assign_default(void);
const berth_option_table *berth_assign_option_table(void);

#define BERTH_ASSIGN_OP_FEATURES 5

/** Immutable. Op times and transfer times are means over the devices (pairs) that can run them; an
 *  op's transfer time is that of all its outputs together, 0 on a single device. */
typedef struct berth_assign berth_assign;
/** Keeps the cost.  @param opts NULL: defaults; its `unit` is borrowed for the call
 *  @return BERTH_OK, BERTH_EINVAL (option unknown, negative unit), BERTH_EINFEASIBLE (no device can
 *          run all of a unit),
 *  BERTH_EUNSUPPORTED (more than 2^30 pairs of ops), BERTH_ENOMEM. O(ops devices +
 *  edges log edges) */
berth_status berth_assign_new(berth_cost *cost, const berth_assign_options *opts,
                              berth_assign **out);
void berth_assign_retain(berth_assign *a);
void berth_assign_release(berth_assign *a);
berth_cost *berth_assign_cost(const berth_assign *a); /* borrowed */
int32_t berth_assign_steps(const berth_assign *a);    /* decisions of one episode: units */
/** 1: some op that is decided may not go everywhere, by type or for want of a route. */
int berth_assign_restricted(const berth_assign *a);
int32_t berth_assign_device_features(const berth_assign *a); /* 5, with partners 6 */
const int32_t *berth_assign_units(const berth_assign *a); /* [ops] unit of each op, numbered by
                                                             their first op */

/** [ops x 5] s: op time; b-level; t-level; transfer times of the inputs; of the output, once for
 *  each consumer. O(ops + edges). Source: DOPPLER, 4.1 (table of static features). */
const double *berth_assign_op_features(const berth_assign *a);
/** Next op of each on its b-path (towards the sinks) and t-path (towards the sources): the first in
 *  edge order that attains the maximum; BERTH_NONE ends. */
const int32_t *berth_assign_b_next(const berth_assign *a); /* [ops] */
const int32_t *berth_assign_t_next(const berth_assign *a); /* [ops] */
/** Both directions of every (producer, consumer) pair that a tensor or collective joins, each pair
 *  once, sorted by destination, then source.
 *  @param src, dst, seconds through them: [count]  @return count */
int32_t berth_assign_edges(const berth_assign *a, const int32_t **src, const int32_t **dst,
                           const double **seconds);

/* ---- episodes in lock-step ---- */

/** Some episodes at once. All take their steps together; they all have berth_assign_steps of
 * them. */
typedef struct berth_episodes berth_episodes;
/** At the start already, with seed 0.  @param n at least 1
 *  @return BERTH_OK, BERTH_EINVAL (n, or more than 2^31 numbers in all), BERTH_ENOMEM. Memory: O(n
 *          (ops + devices)) and what is recorded: O(n steps devices + candidates) */
berth_status berth_episodes_new(berth_assign *a, int32_t n, berth_episodes **out);
void berth_episodes_retain(berth_episodes *e);
void berth_episodes_release(berth_episodes *e);
/** All from the start; episode i draws from stream first + i of the seed, so who runs it does not
 * matter. */
void berth_episodes_start(berth_episodes *e, uint64_t seed, int64_t first);
int32_t berth_episodes_count(const berth_episodes *e);
int32_t berth_episodes_step(const berth_episodes *e);  /* steps taken; berth_assign_steps: all
                                                          done */

/** Candidates of this step, by id within each episode.
 *  @param first through it: [n + 1] @param ops through it: [first[n]]; until the next step @return
 *         first[n] */
int32_t berth_episodes_candidates(const berth_episodes *e, const int32_t **first,
                                  const int32_t **ops);
/** Device features, s, for op[i] of each episode i (a candidate, or EINVAL):
 *  op times already there (of whole units, as soon as one of their ops is there; pinned ones from
 *  the start; not of communication ops, which hold no device); of op's producers there; least
 *  estimated start, largest estimated end of producers there (0: none); earliest start of op, after
 *  what is left of the units there. INFINITY in the last where op cannot run or is out of reach.
 *  With partners, a sixth: op times already there that meet op at a consumer, each times the number
 *  of such consumers. Ops that look alike, as the shards of one product do, differ in it.
 *  @param out [n x devices x features]. O(n (producers + devices inputs)), with partners also the
 *         producers of consumers.
 *  Source: DOPPLER, 4.3. Departs from it: units, and per tensor in place of per op transfer times
 *  in the last. */
berth_status berth_episodes_devices(berth_episodes *e, const int32_t *op, double *out);
/** 1: op[i] may go there: types of its unit, a way from where its producers are and to where
 *  consumers are pinned; types alone where that leaves nothing. [n x devices]. O(n devices (inputs
 *  + consumers)) where berth_assign_restricted, else O(n devices) */
berth_status berth_episodes_allowed(berth_episodes *e, const int32_t *op, uint8_t *out);
/** One step of all, or on failure of none: BERTH_EINVAL (no candidate, cannot run there, all steps
 *  taken), BERTH_ENOMEM. Records candidates, op, device and, if berth_episodes_devices was called
 *  for these ops, its answer. */
berth_status berth_episodes_assign(berth_episodes *e, const int32_t *op, const int32_t *device);

/** Device of every op, [n x ops]; BERTH_NONE: not yet. */
const int32_t *berth_episodes_placement(const berth_episodes *e);

/* The teacher: critical path list scheduling (Kwok and Ahmad), DOPPLER 9. Its answers depend on the
 * state, whoever led there. */
typedef enum berth_teacher_ties {
  BERTH_TEACHER_TEXTBOOK, /* the candidates of largest b-level; then the devices of least earliest
                             start */
  BERTH_TEACHER_CODE      /* with k candidates of largest b-level: the first k candidates, in the
                             order in which they became so */
} berth_teacher_ties;
/** @param best [candidates] out: 1: one of its choices */
berth_status berth_episodes_teacher_ops(berth_episodes *e, berth_teacher_ties ties, uint8_t *best);
/** The devices that may run op[i] of least earliest start; does not count as
 * berth_episodes_devices.
 *  @param best [n x devices] out: 1: one of its choices for op[i] */
berth_status berth_episodes_teacher_devices(berth_episodes *e, const int32_t *op, uint8_t *best);

typedef enum berth_episodes_choice {
  BERTH_CHOICE_SAMPLE, /* from (1 - epsilon) softmax(score) + epsilon uniform */
  BERTH_CHOICE_GREEDY, /* with 1 - epsilon the largest score (ties: the first), else uniform: the
                          published code */
  BERTH_CHOICE_RANDOM_TIES /* as GREEDY, but ties at random: for marks */
} berth_episodes_choice;
/** One of each segment, drawn from the episodes' streams (segment i from episode i's).
 *  @param first [n + 1], each segment at least 1  @param score [first[n]]; -INFINITY: never
 *  @param epsilon from 0 to 1; uniform is among those that are not ruled out @param out [n]
 *         position within the segment
 *  @return BERTH_OK, BERTH_EINVAL (epsilon, way, a score that is NaN or INFINITY, nothing to choose
 *          from): no draw is made */
berth_status berth_episodes_choose(berth_episodes *e, const int32_t *first, const float *score,
                                   berth_episodes_choice how, double epsilon, int32_t *out);

/* What happened, of all steps: rows by episode, then step. */
typedef struct berth_episode_log {
  int32_t n_rows;               /* n x steps */
  const int32_t *op, *device;   /* [rows] */
  const int32_t *first;         /* [rows + 1] into: */
  const int32_t *candidates;    /* candidates of the step */
  const int32_t *chosen;        /* [rows] which of them op is */
  const double *devices;        /* [rows x devices x features] as filled by berth_episodes_devices;
                                   NULL: not requested in every step */
  const uint8_t *allowed;       /* [rows x devices] as berth_episodes_allowed fills it; NULL: all,
                                   everywhere */
} berth_episode_log;
/** Borrowed until the next call, or release. @return BERTH_OK, BERTH_EINVAL (not all steps are
 * taken), BERTH_ENOMEM */
berth_status berth_episodes_log(berth_episodes *e, berth_episode_log *out);

#ifdef __cplusplus
}
#endif
#endif
