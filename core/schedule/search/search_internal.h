/* What the files of the search share.
 *
 * A skeleton is the words without W's. The filler runs it as the evaluator does and puts W's where
 * they delay the next F or B by at most theta, or where memory needs them. A rule makes a skeleton:
 * by list scheduling, or by repetition of the way of one micro-batch. */
#ifndef BERTH_SCHEDULE_SEARCH_INTERNAL_H
#define BERTH_SCHEDULE_SEARCH_INTERNAL_H

#include "schedule/schedule_internal.h"

/* ---- filler: fill.c ---- */

/* What the search makes small: the objective, s, and among equal ones the mean over stages. */
typedef struct berth_i_cost {
  double step, mean;
} berth_i_cost;
berth_i_cost berth_i_cost_of(const berth_i_run *r);

typedef struct berth_i_fill {
  berth_i_run run;
  double *held, *left;   /* [p] memory; s of work that has not run */
  double *work;          /* [p] s */
  size_t *at;            /* [p] end of a stage's word so far */
  size_t *next_weight;   /* [p] no B before it waits for its W */
  berth_i_words words;   /* of the last fill */
} berth_i_fill;
berth_status berth_i_fill_make(const berth_schedule_problem *p, berth_i_pool *pool,
                               berth_i_fill *out);
/** @param theta [p] s
 *  @param limit s: a run that must exceed it may stop
 *  @return infinite: deadlock, too much memory or over the limit */
berth_i_cost berth_i_fill_run(berth_i_fill *f, const berth_i_words *skeleton, const double *theta,
                              double limit);

/* ---- repetition: periodic.c ---- */

enum { BERTH_I_WAITS = 4 };
typedef struct berth_i_periodic_rule {
  double period;                /* s from one micro-batch to the next, on average */
  double hop[2][BERTH_I_WAITS]; /* s of wait before each F, B, by number of the chunk modulo 4 */
  double turn[3];               /* s of wait where F's, B's go on to another chunk of a stage, and
                                   before the last chunk's B (the middle one) */
  int32_t group;                /* micro-batches that follow one another by */
  double apart;                 /* s */
  bool weights;                 /* a B leaves room for its W behind it */
  double unit;                  /* s that each action takes instead of its own time, without p2p;
                                   0: its own */
} berth_i_periodic_rule;

typedef struct berth_i_periodic berth_i_periodic;
berth_status berth_i_periodic_make(const berth_schedule_problem *p, berth_i_pool *pool,
                                   berth_i_periodic **out);
/** Finds when micro-batch 0 does what. */
void berth_i_periodic_lay(berth_i_periodic *q, const berth_i_periodic_rule *rule);
/** When the k-th micro-batch of a lane begins. */
double berth_i_periodic_begin(const berth_i_periodic *q, int32_t lane, int32_t k);
/** The words of what was laid. */
void berth_i_periodic_words(berth_i_periodic *q, berth_i_words *skeleton);

/* ---- list scheduling: list.c ---- */

typedef enum berth_i_first {
  BERTH_I_LATER_FIRST,   /* the later chunk of the model */
  BERTH_I_EARLIER_FIRST,
  BERTH_I_OLDEST_FIRST,  /* what has waited longest */
  BERTH_I_TARGET_FIRST   /* what `target` has first, of F's and B's alike */
} berth_i_first;
typedef enum berth_i_eager {
  BERTH_I_WEIGHT_LAST,    /* a W runs when nothing else can */
  BERTH_I_WEIGHT_BLOCKED, /* and when an F waits for memory */
  BERTH_I_WEIGHT_FIRST
} berth_i_eager;
typedef struct berth_i_list_rule {
  double time[3], lag;   /* surrogate times of F, B, W and p2p, s */
  double reserve;        /* memory that an F leaves on its stage to later chunks, as a share of what
                            these need in the V at 1x; at least room for one of each */
  double interval;       /* s between the F's of a first chunk */
  bool forward_first;    /* F before B */
  berth_i_first first;   /* which chunk */
  berth_i_eager eager;
  double slack;          /* with `target`: an F starts so much before it at the earliest */
} berth_i_list_rule;

typedef struct berth_i_list berth_i_list;
berth_status berth_i_list_make(const berth_schedule_problem *p, berth_i_pool *pool,
                               berth_i_list **out);
/** @param target NULL: none  @param skeleton room for all F and B of each stage
 *  @return false: it does not end */
bool berth_i_list_run(berth_i_list *l, const berth_i_list_rule *rule,
                      const berth_i_periodic *target, berth_i_words *skeleton);

/* ---- rules: rules.c ---- */

typedef enum berth_i_family {
  BERTH_I_BY_LIST, BERTH_I_BY_TARGET, BERTH_I_BY_PERIOD, BERTH_I_FAMILIES
} berth_i_family;
typedef struct berth_i_rule {
  berth_i_family family;
  berth_i_list_rule list;
  berth_i_periodic_rule periodic;
  double theta;          /* s */
} berth_i_rule;

typedef struct berth_i_rules {
  const berth_schedule_problem *p;
  berth_i_list *list;
  berth_i_periodic *periodic;
  double f, b, w, lag, work; /* s: means over chunks, and of a micro-batch on a stage */
} berth_i_rules;
berth_status berth_i_rules_make(const berth_schedule_problem *p, berth_i_pool *pool,
                                berth_i_rules *out);
/** The i-th of the first rules; then random ones. */
berth_i_rule berth_i_rule_draw(const berth_i_rules *r, berth_rng *rng, berth_i_family family);
void berth_i_rule_change(const berth_i_rules *r, berth_rng *rng, berth_i_rule *rule);
/** @return false: it makes none */
bool berth_i_rule_run(berth_i_rules *r, const berth_i_rule *rule, berth_i_words *skeleton);

/* ---- moves: moves.c ---- */

/** Moves the action at i of the word of stage s, and its like on stages low..high around it.
 *  @return false: nothing changed */
bool berth_i_move_earlier(berth_i_words *w, berth_rng *rng, int32_t s, berth_i_code code,
                          int32_t k, int32_t *low, int32_t *high);
bool berth_i_move_shift(berth_i_words *w, berth_rng *rng, int32_t s, size_t i, int32_t *low,
                        int32_t *high);

/* ---- the best so far, budget: found.c ---- */

typedef struct berth_i_found {
  const berth_schedule_problem *p;
  berth_ctx *ctx;
  berth_i_fill fill;
  berth_i_words best;        /* words */
  double step, bound;        /* s; of the best, INFINITY: none */
  int64_t calls, most_calls; /* evaluations */
  int64_t next_look;         /* at the clock and the hooks, in calls */
  double used;               /* share of the budget, 0 to 1 */
  double started, most_seconds;
  berth_status stopped;      /* BERTH_EINTERRUPT: by the hook */
} berth_i_found;
/** A skeleton's words and cost; they are kept if they are the best. */
berth_i_cost berth_i_found_try(berth_i_found *f, const berth_i_words *skeleton,
                               const double *theta, double limit);
/** Is the budget used, the bound met, or did the hook stop it? */
bool berth_i_found_ends(berth_i_found *f);

/* ---- the critical path: critical.c ---- */

/* Its F's and B's that came after their input. */
typedef struct berth_i_critical {
  int32_t n;
  int32_t *stage;
  berth_i_code *code;
  int32_t *number;       /* which one of its chunk and kind */
  double *start, *finish; /* s, by place in the words */
  size_t *place, *at;    /* of F's and B's in the words, by lane and number */
  int32_t *count;        /* number of an action, by place */
} berth_i_critical;
berth_status berth_i_critical_make(const berth_schedule_problem *p, berth_i_pool *pool,
                                   berth_i_critical *out);
void berth_i_critical_find(berth_i_critical *k, berth_i_run *run, const berth_i_words *w);

/* ---- annealing: anneal.c ---- */

double berth_i_energy(berth_i_cost c);
/* A skeleton on its way. */
typedef struct berth_i_walk {
  berth_i_words now, kept;     /* skeletons; the same between moves */
  double *theta, *kept_theta;  /* [p] */
  double energy;
  berth_i_critical critical;   /* of `now` */
  berth_i_run run;
  int32_t changes;             /* since it was found */
} berth_i_walk;
berth_status berth_i_walk_make(const berth_schedule_problem *p, berth_i_pool *pool,
                               berth_i_walk *out);
/** @param skeleton may have W's, which run in their places
 *  @param theta -INFINITY: no W is put into a gap */
void berth_i_walk_start(berth_i_walk *k, berth_i_found *f, const berth_i_words *skeleton,
                        double theta, double energy);
/** Until so much of the budget is used.
 *  @param hot, cold shares of the step, first and last temperature */
void berth_i_walk_run(berth_i_walk *k, berth_i_found *f, berth_rng *rng, double until, double hot,
                      double cold);


#endif
