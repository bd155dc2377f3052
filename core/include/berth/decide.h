/* Decisions: search for the best sequence of choices. The problem is a table of functions (what is
 * legal, what a complete sequence is worth); a prior gives probabilities of actions. A decider
 * holds the search tree between calls, so that decisions can be taken one by one. It copies the
 * tables of functions; what their `ud` points to must outlive it. */
#ifndef BERTH_DECIDE_H
#define BERTH_DECIDE_H

#include <berth/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How decisions that have not been made yet are filled in, so that each node of the tree is a
 * complete assignment. */
typedef enum berth_fill {
  BERTH_FILL_NEAREST, /* as the nearest made one by position, of two equally near the earlier
                         decision */
  BERTH_FILL_FIRST,   /* as the first decision */
  BERTH_FILL_START,   /* as in the best assignment that was known when the tree was begun */
  BERTH_FILL_OWN      /* function `fill` */
} berth_fill;

/** The input of a prior: which action for `decision`, when the first `decided` ones are made and
 *  the others are filled in? In the tree decision == decided; improving a complete assignment,
 *  decided is their number. */
typedef struct berth_leaf {
  const int32_t *assignment; /* [n] */
  int32_t decided, decision;
} berth_leaf;

/** Before the first decision (but with START), and where neither the action to be copied nor one
 *  instead of it is legal, all is as in the first start that is allowed. */
typedef struct berth_decisions {
  int32_t n;                  /* decisions, in the order in which they are made */
  int32_t n_actions;          /* the same ones for all */
  const uint8_t *legal;       /* [n * n_actions]; NULL: all are. At least one for each decision */
  const int32_t *instead;     /* [n_actions] the substitute of an action where that is illegal, or
                                 again the substitute of this one; BERTH_NONE: nothing. In circles:
                                 EINVAL. NULL: nothing for any */
  const double *position;     /* [n] which decisions are near one another; NULL: 0, 1, 2 ... */
  const int32_t *path_at, *path; /* [n_actions + 1], [path_at[n_actions]] or NULL: actions as
                                    sequences of choices (any numbers from 0), none of which begins
                                    with another. The tree then walks choice by choice */
  const double *weight;       /* [n] how often each is picked to be changed; not all 0; NULL: alike.
                                 ANNEAL picks alike */
  const double *seam;         /* [n] what crosses a cut behind each decision, in the order of
                                 positions: segments begin and end where this is least. That of the
                                 last one is not read; NULL: alike */
  const uint8_t *everywhere;  /* [n_actions] 0: not worth trying for all decisions; NULL: all are */
  int32_t n_starts;
  const int32_t *start;       /* [n_starts * n] valued first; the published value relates to the
                                 first that is allowed. Illegal: EINVAL. None: the first legal
                                 action everywhere */
  const double *start_value, *start_excess; /* [n_starts] of those that are known already: not
                                               valued for, nor counted as evaluations. A value that
                                               is NaN, NULL: not known */
  berth_fill fill;
  /** @param assignment [k * n] complete and legal, all different
   *  @param value [k] out: least is best. INFINITY: not allowed
   *  @param excess [k] 0; out: above 0: not allowed, and by how much. What is allowed is better,
   *    then less excess, then less value */
  berth_status (*value)(void *ud, int32_t k, const int32_t *assignment, double *value,
                        double *excess);
  /** @param p [k * n_actions] out, from 0: weights of the actions of each leaf; those of illegal
   *  ones do not matter; all 0: alike. NULL: all alike */
  berth_status (*prior)(void *ud, int32_t k, const berth_leaf *leaf, double *p);
  /** @param assignment [n] the first `decided` are made, the others as in the first start; in and
   *  out. What it changes of the first is put back */
  berth_status (*own_fill)(void *ud, int32_t decided, int32_t *assignment);
  void (*release)(void *ud);  /* NULL, or called when the decider goes, or could not be made */
  void *ud;
} berth_decisions;

typedef enum berth_decide_method {
  BERTH_DECIDE_MCTS,   /* starts; with a prior each action for all decisions once more, but where
                          the prior holds another for much likelier; trees around the best ones that
                          are unlike each other, then one filled by `fill`; as REFINE from the
                          best ones that are unlike each other, the better half of them again and
                          again; each with a part of the budget; with the rest as REFINE from the
                          best */
  BERTH_DECIDE_TREE,   /* starts, then the tree alone */
  BERTH_DECIDE_ANNEAL, /* starts, then simulated annealing without the prior: the baseline */
  BERTH_DECIDE_REFINE  /* starts, then annealing whose proposals come from the prior, neighbours and
                          good assignments */
} berth_decide_method;

typedef struct berth_decide_options {
  berth_decide_method method;
  int64_t calls;         /* assignments valued at most; what is known already does not count; 0: no
                            limit; default 800 */
  double seconds;        /* by the context's clock, but one is valued in any case; 0 (default): no
                            limit. One of the two has to be given */
  uint64_t seed;
  int uniform;           /* 1 (default): after the starts each action for all decisions (where
                            legal), likely ones first, with at most uniform_part of the calls */
  double uniform_part;   /* default 0.5; ANNEAL: always 1 */
  double informed_part;  /* MCTS with a prior: of what the starts leave, at most, for actions for
                            all decisions but where another one is three times as likely; default
                            0.3 */
  double several_part;   /* MCTS: of what the trees leave, for ways from up to six assignments that
                            differ in a quarter of the decisions, fewer where little is left;
                            default 0.6 */
  double tree_part;      /* MCTS: of what that leaves, but at most 2 calls for each decision and
                            each action; without a prior half of this; default 0.3 */
  double exploration;    /* factor of c = sqrt(children / 10); default 0.1, published 1 */
  double widening, widening_power; /* of a node with v visits only the likeliest widening *
                                      v^widening_power children count, at least one; widening 0:
                                      all */
  int first_play;        /* 1 (default): a child without visits is as good as its parent less
                            first_play_loss; 0: as 0 (published) */
  double first_play_loss;
  double best_part;      /* part of the best value below a node in its q, the rest is the mean;
                            default 0.9, published 0 */
  double scale;          /* reward x <= 0 ? e^x : 1 + x, x = (1 - value / best before the tree) /
                            scale, default 0.1; what is not allowed counts as value (1 + 4 excess).
                            0: as published: v = first start that is allowed / value - 1, v^(1/4)
                            above 1, -1 if not allowed */
  int skip_known;        /* 1 (default): nodes with nothing left to find below are skipped in
                            searches; published 0 */
  int32_t batch;         /* leaves at once, 1 to 1024; default 1 */
  double virtual_loss;   /* for each visit under way a child counts as this much worse; default 1 */
  double t_start;        /* ANNEAL, REFINE: first temperature, in parts of the value; default
                            0.003 */
  double t_end;          /* ANNEAL, REFINE: last temperature, in parts of the value; default
                            2e-4 */
} berth_decide_options;
/** @param published 1: method TREE as TAG's code has it (set the fill to FIRST), no uniform
 *        assignments */
berth_decide_options berth_decide_default(int published);
const berth_option_table *berth_decide_option_table(void);

typedef struct berth_decide_report {
  double value, excess; /* of the best */
  double start;         /* value of the best start; INFINITY: none is allowed */
  int64_t evaluations;  /* assignments valued */
  int64_t repeats;      /* proposed again, known already */
  int64_t playouts;     /* of the tree */
  int32_t interrupted;  /* 1: the hook `interrupt` has stopped it */
} berth_decide_report;

/**
 * The best of the assignments valued: never worse than a start. Same input and seed, same answer,
 * as long as the budget is in calls. Ends early when all assignments are known, or nothing new
 * turns up for long.
 *
 * @param opts NULL: defaults
 * @param assignment [n] out
 * @param report NULL, or out
 * @return BERTH_OK; BERTH_EINFEASIBLE (none of those valued is allowed: assignment is that of least
 *         excess); BERTH_EINVAL (problem, options; NaN or -INFINITY from a function);
 *         BERTH_EUNSUPPORTED (seconds without a clock); BERTH_EINTERRUPT (before there was
 *         anything); BERTH_ENOMEM; what a function returned
 *
 * PUCT as in TAG (Zhang et al., "Expediting Distributed DNN Training with Device Topology-Aware
 * Graph Deployment", IEEE TPDS 2023): argmax q + c p sqrt(n of the parent) / (1 + n). Departs from
 * it by default: known assignments cost nothing, undecided ones copy their nearest neighbour,
 * rewards have the scale of what is left to gain, and the best is refined.
 */
berth_status berth_decide(berth_ctx *ctx, const berth_decisions *problem,
                          const berth_decide_options *opts, int32_t *assignment,
                          berth_decide_report *report);

/** A search that goes on: what was valued, the best, the tree. */
typedef struct berth_decider berth_decider;
/** Copies tables; functions are called with ud until it goes. @return as above */
berth_status berth_decider_new(berth_ctx *ctx, const berth_decisions *problem,
                               const berth_decide_options *opts, berth_decider **out);
void berth_decider_retain(berth_decider *d);
void berth_decider_release(berth_decider *d);
/** `calls` more, or `seconds` more, of the method given. @return as above, but for
 *  BERTH_EINFEASIBLE; BERTH_EINVAL: it runs */
berth_status berth_decider_search(berth_decider *d, int64_t calls, double seconds);
/** Playouts from the root until it has `visits`, after the starts; those it has from before, as a
 * child, count. @return the same */
berth_status berth_decider_run(berth_decider *d, int64_t visits);
/** The root becomes its child by this action, with what is known below. @return BERTH_OK,
 * BERTH_EINVAL (illegal; all made), ... */
berth_status berth_decider_advance(berth_decider *d, int32_t action);

int32_t berth_decider_decisions(const berth_decider *d);
int32_t berth_decider_actions(const berth_decider *d);
/** @param assignment NULL, or [n] out. @return BERTH_OK, BERTH_EINFEASIBLE (not allowed),
 *        BERTH_EINVAL (nothing valued yet) */
berth_status berth_decider_best(const berth_decider *d, int32_t *assignment,
                                berth_decide_report *report);
/** The best after each evaluation that made it better, those allowed only. @return their number */
int32_t berth_decider_trace(const berth_decider *d, const int64_t **evaluations,
                            const double **value);
/** Decisions made at the root, and its assignment, filled in. @param assignment [n] out */
berth_status berth_decider_root(berth_decider *d, int32_t *decided, int32_t *assignment);

typedef struct berth_decide_node {
  int64_t visits;
  double q;     /* reward */
  double prior; /* its probability at its parent; the root: 1 */
} berth_decide_node;
/** The node behind these actions from the root; without visits: zeros but for the prior, if that is
 * known.
 *  @return BERTH_OK, BERTH_EINVAL (illegal) */
berth_status berth_decider_node(const berth_decider *d, int32_t n_actions, const int32_t *action,
                                berth_decide_node *out);

#ifdef __cplusplus
}
#endif
#endif
