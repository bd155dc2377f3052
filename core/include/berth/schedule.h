/* Pipeline schedules: the order in which the stages of a pipeline run the forward and backward
 * passes of micro-batches; generators, search, lower bounds, exact answers.
 *
 * Nouns:
 *  - problem: stages, chunks of the model and their stages, times, memory, objective. Immutable;
 *  - schedule: one word per stage, the actions in execution order. Immutable;
 *  - generator: a published rule that makes a schedule.
 * A schedule is also a graph, a placement and a planned order: the step simulator (sim.h) gives the
 * same start times, and others with links that are shared. */
#ifndef BERTH_SCHEDULE_H
#define BERTH_SCHEDULE_H

#include <berth/placement.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- problem ---- */

/** Where chunk c of the stages x chunks of a model is, p stages. */
typedef enum berth_schedule_map {
  BERTH_MAP_INTERLEAVED,  /* on stage c mod p */
  BERTH_MAP_ZIGZAG,       /* down the stages and up again: with two chunks a stage, the V */
  BERTH_MAP_BIDIRECTIONAL /* two chunks a stage, two copies of the model: chunks 0..p-1 go down the
                             stages and run the first half of the micro-batches, chunks p..2p-1 go
                             up and run the rest */
} berth_schedule_map;

typedef enum berth_schedule_objective {
  BERTH_SCHEDULE_MAKESPAN, /* end of the last action */
  BERTH_SCHEDULE_SPAN      /* the longest stage, from its own first to its own last action, as the
                              zero-bubble paper counts */
} berth_schedule_objective;

/* Arrays by chunk have one entry for all chunks, or stages x chunks; those by stage one or
 * `stages`.
 * Actions of a micro-batch in a chunk: F (forward), B (gradient of the inputs), W (gradient of the
 * weights, any time after its B), or B and W as one. F takes memory until B frees a share of it
 * and W the rest; they free at their end. */
typedef struct berth_schedule_problem_options {
  int32_t stages;       /* at least 1 */
  int32_t microbatches; /* at least 1 */
  int32_t chunks;       /* of a stage; default 1 */
  berth_schedule_map map;
  berth_schedule_objective objective; /* default MAKESPAN */
  int joined;           /* 1: B and W are one action; default 0 */
  const double *forward, *backward, *weight; /* s, by chunk; default 1 each */
  int32_t n_forward, n_backward, n_weight;
  const double *p2p;    /* s, from chunk c to c + 1 and back, where these are on different stages;
                           one entry or stages x chunks - 1 (BIDIRECTIONAL: that between the two
                           copies is not read); default 0 */
  int32_t n_p2p;
  const double *activations; /* by chunk, what F takes of the memory, any unit; default
                                1 / chunks */
  int32_t n_activations;
  double freed;         /* share of it that B frees, 0 to 1; default 0.5. Not read with `joined`: B
                           frees all */
  const double *memory; /* by stage, at most so much is held; default INFINITY */
  int32_t n_memory;
  const double *extra;  /* s, by stage, after its last action: optimiser, data-parallel
                           communication; default 0 */
  int32_t n_extra;
  double overlap;       /* an F and a B in one slot take so many times the sum of their times;
                           default 1 */
} berth_schedule_problem_options;
berth_schedule_problem_options berth_schedule_problem_default(void);
const berth_option_table *berth_schedule_problem_option_table(void);

typedef struct berth_schedule_problem berth_schedule_problem; /* immutable */

/** @return BERTH_OK; BERTH_EINVAL (options; lengths of arrays; BIDIRECTIONAL without two chunks and
 *  an even number of stages and of micro-batches; more than 2^28 actions); BERTH_EINFEASIBLE (a
 *  stage cannot hold one micro-batch of a chunk); BERTH_ENOMEM */
berth_status berth_schedule_problem_new(berth_ctx *ctx, const berth_schedule_problem_options *opts,
                                        berth_schedule_problem **out);
void berth_schedule_problem_retain(berth_schedule_problem *p);
void berth_schedule_problem_release(berth_schedule_problem *p); /* NULL is fine */
/** The options with every array in full. Valid as long as p. */
const berth_schedule_problem_options *
berth_schedule_problem_read(const berth_schedule_problem *p);
/** The chunk of the model that is chunk k, from 0, of a stage, in the order of the model;
 *  BERTH_NONE: there is none. */
int32_t berth_schedule_problem_chunk(const berth_schedule_problem *p, int32_t stage, int32_t k);
/** The stage of a chunk of the model; BERTH_NONE: there is none. */
int32_t berth_schedule_problem_stage(const berth_schedule_problem *p, int32_t chunk);
/** s of work on the stage, `extra` included; 0: there is no such stage. */
double berth_schedule_problem_work(const berth_schedule_problem *p, int32_t stage);

/* ---- schedule ---- */

typedef enum berth_schedule_kind {
  BERTH_SCHEDULE_FORWARD,
  BERTH_SCHEDULE_BACKWARD, /* gradient of the inputs; with `joined` of both */
  BERTH_SCHEDULE_WEIGHT,   /* gradient of the weights */
  BERTH_SCHEDULE_FULL      /* B and W as one, in a problem where they are separate */
} berth_schedule_kind;

typedef struct berth_schedule_action {
  berth_schedule_kind kind;
  int32_t chunk;         /* of the model */
  int32_t microbatch;
  int overlapped;        /* 1: in one slot with the next action of the stage: both begin when both
                            can begin, and end together */
} berth_schedule_action;

typedef struct berth_schedule berth_schedule; /* immutable */

/**
 * A schedule from the actions of each stage, e.g. of a user's own generator.
 *
 * @param count  [stages] actions of each stage
 * @param action [sum of count] stage by stage, in execution order
 * @param name   label, copied; NULL: none
 * @return BERTH_OK; BERTH_EINVAL (an action that is not of the stage, occurs twice or is missing; a
 *         slot other than an F with a B or FULL of another chunk; W before its B);
 *         BERTH_EUNSUPPORTED (micro-batches of a chunk not in order: no schedule is the better for
 *         it); each named; BERTH_ENOMEM.  Deadlocks and memory are what berth_schedule_evaluate
 *         reports
 */
berth_status berth_schedule_new(berth_schedule_problem *p, const int32_t *count,
                                const berth_schedule_action *action, const char *name,
                                berth_schedule **out);
void berth_schedule_retain(berth_schedule *s);
void berth_schedule_release(berth_schedule *s); /* NULL is fine */
berth_schedule_problem *berth_schedule_problem_of(const berth_schedule *s); /* borrowed */
const char *berth_schedule_name(const berth_schedule *s); /* "" if none */
/** Actions of a stage.
 *  @param out [count] may be NULL  @return count; 0: there is no such stage */
int32_t berth_schedule_actions(const berth_schedule *s, int32_t stage, berth_schedule_action *out);

/* ---- value ---- */

typedef enum berth_schedule_outcome {
  BERTH_SCHEDULE_RUNS,
  BERTH_SCHEDULE_DEADLOCK, /* stages wait for one another */
  BERTH_SCHEDULE_MEMORY    /* a stage passes its limit */
} berth_schedule_outcome;

typedef struct berth_schedule_value {
  berth_schedule_outcome outcome;
  double step;           /* s, by the objective; INFINITY with DEADLOCK */
  double span, makespan; /* s */
  double bubble;         /* share of the step in which the stage with most work is idle */
  /* What stops it; BERTH_NONE with RUNS. DEADLOCK: the lowest stage that waits, and its action.
   * MEMORY: the first action in time that passes a limit */
  int32_t stage, index;  /* index: place among the stage's actions */
  berth_schedule_action action;
  double excess;         /* MEMORY: over the limit; else 0 */
} berth_schedule_value;

/**
 * Earliest start of every action, p2p without contention.
 *
 * @param start  [actions] s, stage by stage; NaN: never; may be NULL
 * @param finish [actions] s; may be NULL
 * @param peak   [stages] most memory held; with DEADLOCK, up to there; may be NULL
 * @return BERTH_OK, BERTH_ENOMEM.  O(actions)
 */
berth_status berth_schedule_evaluate(const berth_schedule *s, berth_schedule_value *out,
                                     double *start, double *finish, double *peak);

/* ---- as graph, placement and order ---- */

/** Ops are slots, stage by stage in execution order, named "F2.5" (chunk, micro-batch) or "F2.5
 *  B0.3"; behind the words come the ops of `extra`. A tensor between stages has p2p x bandwidth
 *  bytes and takes no memory; what F takes is held by tensors, under memory policy
 *  INFERENCE.
 *  @param bandwidth bytes/s, above 0
 *  @return BERTH_OK, BERTH_EINVAL, BERTH_ENOMEM.  O(actions) */
berth_status berth_schedule_graph(const berth_schedule *s, double bandwidth, berth_graph **out);
/** Device = stage, with the order: for dispatch PLANNED.
 *  @return BERTH_OK; BERTH_EINFEASIBLE (deadlock, as berth_schedule_evaluate names it);
 *  BERTH_ENOMEM */
berth_status berth_schedule_placement(const berth_schedule *s, berth_placement **out);
/** A ring of the stages, duplex links without latency; memory: the limits. */
berth_status berth_schedule_topology(const berth_schedule_problem *p, double bandwidth,
                                     berth_topology **out);

/* ---- generators ---- */

typedef struct berth_schedule_generator {
  const char *name, *text, *source;
  berth_schedule_map map;  /* that it is for, when there are several chunks */
  int32_t chunks;          /* of a stage; 0: any number from 2 on */
} berth_schedule_generator;

/** Generator i, from 0, in the order of the documentation; NULL: there are no more. */
const berth_schedule_generator *berth_schedule_generator_at(int32_t i);
/** NULL: there is none of that name. */
const berth_schedule_generator *berth_schedule_generator_find(const char *name);
/**
 * @return BERTH_OK; BERTH_EINVAL (name); BERTH_EUNSUPPORTED (the problem's chunks or map are not
 *         those of the generator; a number of micro-batches that it does not serve);
 *         BERTH_EINFEASIBLE (a heuristic found nothing within the limits); BERTH_ENOMEM. Published
 *         patterns ignore the limits, heuristics keep them
 */
berth_status berth_schedule_make(berth_schedule_problem *p, const char *name,
                                 berth_schedule **out);

/* ---- search ---- */

typedef struct berth_schedule_search_options {
  int64_t calls;   /* schedules that are evaluated at most; default 0: by the number of actions */
  double seconds;  /* by the context's clock; default INFINITY. Where it ends differs by machine */
  uint64_t seed;   /* default 0 */
} berth_schedule_search_options;
berth_schedule_search_options berth_schedule_search_default(void);
const berth_option_table *berth_schedule_search_option_table(void);

typedef struct berth_schedule_report {
  double step, bound;  /* s */
  int proven;          /* 1: step is bound */
  int interrupted;     /* 1: the interrupt hook ended it */
  int64_t calls;       /* schedules that were evaluated */
} berth_schedule_report;

/**
 * A schedule within the limits that makes the objective small: generators, rules of list scheduling
 * and of repetition with random parameters, annealing of the best; W's fill the gaps. With
 * `overlap` below 1 and several chunks a quarter of the calls joins F's and B's to slots.
 *
 * @param opts   NULL: defaults
 * @param report may be NULL
 * @return BERTH_OK, also if the interrupt hook or the budget ended it after a schedule was found;
 *         BERTH_EINFEASIBLE (none was found); BERTH_EINTERRUPT; BERTH_EINVAL (options);
 *         BERTH_ENOMEM
 * Same calls and seed, same schedule.  O(calls x actions)
 */
berth_status berth_schedule_search(berth_schedule_problem *p,
                                   const berth_schedule_search_options *opts,
                                   berth_schedule **out, berth_schedule_report *report);

enum { BERTH_SCHEDULE_EXACT_MOST = 400 }; /* actions */
/**
 * The shortest schedule, with proof: depth first over actions in order of time. Proved is that no
 * schedule whose stages start at their earliest is shorter: with SPAN one that waits may be.
 *
 * @param opts   NULL: defaults; calls: states that are expanded at most, 0: 2,000,000
 * @param report proven 1: the search was complete, or step is bound; may be NULL
 * @return as berth_schedule_search; BERTH_EUNSUPPORTED: more actions than
 *         BERTH_SCHEDULE_EXACT_MOST, map bidirectional, overlap below 1 with several chunks
 */
berth_status berth_schedule_exact(berth_schedule_problem *p,
                                  const berth_schedule_search_options *opts,
                                  berth_schedule **out, berth_schedule_report *report);

/* ---- lower bounds ---- */

typedef struct berth_schedule_bounds {
  double work;  /* s, the stage with most work */
  double stage; /* a stage cannot start its B's before a path, nor end sooner than one after its
                   last F: what memory lets it do meanwhile is limited */
  double pair;  /* one stage starts before another, and ends after it */
  double area;  /* memory x time that micro-batches must hold */
  double chain; /* an F waits for the B whose memory it takes */
  double best;  /* the largest */
} berth_schedule_bounds;
/** No schedule within the limits has a shorter step. With `overlap` below 1 and several chunks as
 *  if every action were in a slot: then it is weak.
 *  @return BERTH_OK, BERTH_ENOMEM.  O(stages^2 x chunks) */
berth_status berth_schedule_bound(const berth_schedule_problem *p, berth_schedule_bounds *out);

/* Layers of a model, in order, that a split cuts into the chunks of a pipeline. */
typedef struct berth_schedule_layers {
  int32_t n;
  const double *forward, *backward, *weight; /* [n] s */
  const double *activations;                 /* [n] what F takes of the memory */
  double p2p;                                /* s, the least between chunks on different stages */
} berth_schedule_layers;
/**
 * No split of the layers into chunks, some of which may be empty, has a schedule within the limits
 * with a shorter step, nor one below `most`.
 *
 * @param p    stages, micro-batches, map, limits, `extra`, objective; times of its chunks are not
 *             read
 * @param most s, a step that a split has, or INFINITY: the bound is at most that
 * @return BERTH_OK, BERTH_EINVAL (numbers), BERTH_EINTERRUPT, BERTH_ENOMEM.  One chunk a stage:
 *         O(stages x n^2); two: about a second at most, then it is weaker; other maps and numbers
 *         of chunks: O(n), and weak
 */
berth_status berth_schedule_bound_splits(const berth_schedule_problem *p,
                                         const berth_schedule_layers *layers, double most,
                                         double *out);

#ifdef __cplusplus
}
#endif
#endif
