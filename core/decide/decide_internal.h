/* What the files of searching decisions share: the decider, the known assignments, the choices of
 * an action, and the tree. */
#ifndef BERTH_DECIDE_INTERNAL_H
#define BERTH_DECIDE_INTERNAL_H

#include "base/pool_internal.h"
#include <berth/decide.h>

/** Less excess is better, then less value. */
typedef struct berth_i_worth {
  double excess, value;
} berth_i_worth;

static inline bool berth_i_better(berth_i_worth a, berth_i_worth b) {
  return a.excess < b.excess || (a.excess == b.excess && a.value < b.value);
}

/** Assignments that were valued, numbered in that order. */
typedef struct berth_i_known {
  int32_t n;
  size_t key_cap, worth_cap, hash_cap;
  int32_t *key;           /* [n * decisions] */
  berth_i_worth *worth;   /* [n] */
  uint64_t *hash;         /* [n] */
  int32_t *slot;          /* open addressing, -1: free */
  size_t n_slots;         /* a power of two, or 0 */
} berth_i_known;

/** Choices in order; actions that begin alike are neighbours. Place 0 is the root; a place
 * without kids ends an action. */
typedef struct berth_i_choices {
  int32_t n;              /* places */
  int32_t *kid_at, *kid;  /* [n + 1], [n - 1] */
  int32_t *low, *high;    /* [n] the actions below: order[low] ... order[high - 1] */
  int32_t *order;         /* [actions] */
  int32_t *parent;        /* [n] */
  int32_t *end;           /* [actions] place where each ends */
} berth_i_choices;

typedef struct berth_i_node {
  int32_t parent, first, last, next; /* nodes; BERTH_NONE. Children in the order of being opened */
  int32_t place;          /* 0: between two decisions; else within one */
  int32_t action;         /* that led here, if place is 0; BERTH_NONE at the first root */
  int32_t decided;
  int32_t n_kids;         /* -1: not expanded */
  int32_t opened;         /* kids that are nodes: always the first ones of the list */
  int32_t pending;
  int32_t done;           /* kids with nothing left to find; of a node without kids: 1: it was
                             visited */
  int64_t visits;
  size_t kids;              /* where the list of kids begins in tree.kid and tree.kid_prior */
  size_t weights;           /* where the prior of the actions of the decision begins in tree.weight:
                               with choices in steps only */
  double prior, mean, best; /* best, mean: of the rewards of its visits */
} berth_i_node;

typedef struct berth_i_tree {
  berth_i_pool pool;
  berth_i_node *node;
  int32_t n, root;        /* n 0: not begun */
  size_t node_cap;
  int32_t *kid;           /* places, the likeliest first */
  double *kid_prior, *weight;
  size_t kid_n, kid_cap, prior_cap, weight_n, weight_cap;
  int64_t playouts;
} berth_i_tree;

typedef struct berth_i_budget {
  int64_t most;           /* evaluations; INT64_MAX: any number */
  double until;           /* s by the clock; INFINITY */
  int64_t from;           /* evaluations before */
  double began;           /* s by the clock */
} berth_i_budget;

struct berth_decider {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs, busy;
  berth_decisions p;      /* tables are its own */
  berth_decide_options o;
  berth_i_choices choices;
  berth_i_known known;
  berth_i_tree tree;
  berth_i_budget budget;
  double space;           /* number of assignments, at least as much as is left to find */
  int64_t evaluations, repeats;
  int64_t playouts;       /* of trees that were not kept */
  int32_t best;           /* of known; BERTH_NONE */
  berth_i_worth first, start; /* of the first start; of the best one, uniform ones not counted */
  int32_t best_start;     /* of known; BERTH_NONE: not yet valued */
  int32_t first_start;    /* the first that is allowed, or 0 */
  const int32_t *order;   /* [n] decisions as the present tree has them; NULL: 0, 1, 2 ... */
  int32_t *cut;           /* [n] places in near behind which to cut, the best seams first; n - 1 of
                             them */
  int32_t *good;          /* [actions] those that were valued for all decisions, best first;
                             n_good */
  int32_t n_good;
  int32_t *by_weight;     /* [n] heaviest first */
  double total_weight;
  int32_t base;           /* of known: the best when the tree was begun; BERTH_NONE */
  double reference;       /* value that rewards relate to; NAN: none yet */
  int32_t n_started;      /* starts that were valued */
  bool uniform_done, interrupted;
  bool skips;             /* what is known entirely, in the tree */
  int64_t *trace_at;
  double *trace_value;
  size_t trace_n, trace_at_cap, trace_value_cap;
  int32_t *near;          /* [n] decisions by position */
  int32_t *rank;          /* [n] of each in near */
  berth_rng tree_rng, walk_rng;
  int reported;
  /* scratch */
  int32_t *row;             /* [batch * n] */
  berth_i_worth *row_worth; /* [batch] */
  int32_t *row_known;       /* [batch] number in known */
  double *value, *excess;   /* [batch] */
  double *weight;           /* [batch * actions] */
  int32_t *leaf;            /* [batch] nodes */
  berth_leaf *query;         /* [batch] */
  int32_t *pick;            /* [max(n, actions)] */
  int32_t *way;             /* [places] */
};

static inline bool berth_i_legal(const berth_decider *d, int32_t decision, int32_t action) {
  return !d->p.legal || d->p.legal[(size_t)decision * (size_t)d->p.n_actions + (size_t)action];
}
/** The action, or what replaces it where it is illegal; BERTH_NONE: nothing does. */
static inline int32_t berth_i_stand_in(const berth_decider *d, int32_t decision, int32_t action) {
  while (action != BERTH_NONE && !berth_i_legal(d, decision, action))
    action = d->p.instead ? d->p.instead[action] : BERTH_NONE;
  return action;
}
/** What a value that is not allowed counts as. */
static inline double berth_i_penalised(berth_i_worth w, double per_excess) {
  return w.excess > 0 ? w.value + per_excess * w.excess * (w.value != 0 ? fabs(w.value) : 1)
                      : w.value;
}
/** Which one is decided as that number in the present tree. */
static inline int32_t berth_i_decision(const berth_decider *d, int32_t decided) {
  return d->order ? d->order[decided] : decided;
}
static inline const int32_t *berth_i_known_key(const berth_decider *d, int32_t i) {
  return &d->known.key[(size_t)i * (size_t)d->p.n];
}

/* known.c */
/** The number of an assignment in known; BERTH_NONE. */
int32_t berth_i_known_find(const berth_decider *d, const int32_t *row);
/** The best assignment that is known, and the most promising ones, each of another value than those
 *  before, and unlike each of them in a quarter of the decisions. @return their number, at most
 *  `most`. O(known * most^2 * n) */
int32_t berth_i_known_unlike(const berth_decider *d, int32_t most, int32_t *out);
/** Adds an assignment whose worth is given, unless it is known already. @param
 * known out: its number */
berth_status berth_i_known_add(berth_decider *d, const int32_t *row, berth_i_worth worth,
                                int32_t *known);
/** Values of k <= batch rows, known or evaluated. Stops where evaluations run out: *done < k.
 * row_known and row_worth are set. */
berth_status berth_i_decide_values(berth_decider *d, int32_t k, int32_t *done);
/** Whether more may be valued. Evaluates hooks and the clock. */
bool berth_i_decide_goes_on(berth_decider *d);
/** Part of the budget that is used; 1 and more: none is left. */
double berth_i_decide_used(const berth_decider *d);
static inline bool berth_i_all_known(const berth_decider *d) {
  return (double)d->known.n >= d->space;
}

/* starts.c */
/** The first start, into row [n]. */
void berth_i_decide_first(const berth_decider *d, int32_t *row);
/** Values the starts, then the uniform assignments. */
berth_status berth_i_decide_starts(berth_decider *d);
/** Values actions for all decisions, good ones first, but where the prior holds another for much
 * likelier. */
berth_status berth_i_decide_informed(berth_decider *d);
/** Undecided ones of row [n], of which `decided` are made. */
berth_status berth_i_decide_fill(berth_decider *d, int32_t decided, int32_t *row);
/** Weights of k leaves as probabilities of legal actions, in d->weight. */
berth_status berth_i_decide_prior(berth_decider *d, int32_t k);

/* choices.c */
/** Arrays belong to the pool. */
berth_status berth_i_choices_make(berth_i_pool *pool, const berth_decisions *p, berth_i_choices *c);

/* mcts_tree.c */
berth_status berth_i_tree_begin(berth_decider *d);
/** Gives a node its kids: of a new decision by weight [actions], else by those of the decision. */
berth_status berth_i_tree_expand(berth_decider *d, int32_t node, const double *weight);
/** The kid at this place of the list, which is not below `opened`, becomes a node; it changes
 * places with the first of those. */
berth_status berth_i_tree_open(berth_decider *d, int32_t node, int32_t kid, int32_t *out);
/** The whole assignment at a node that is between two decisions, into row [n]. */
berth_status berth_i_tree_row(berth_decider *d, int32_t node, int32_t *row);
/** How likely an action is among those below a place of the choices, at a node where a decision
 *  begins and whose kids are listed. */
double berth_i_tree_rest(const berth_decider *d, int32_t node, int32_t place, int32_t action);
/** The kid that is a node, at this place of the choices; BERTH_NONE. */
int32_t berth_i_tree_kid(const berth_decider *d, int32_t node, int32_t place);
static inline double berth_i_tree_q(const berth_decider *d, const berth_i_node *x) {
  return d->o.best_part > 0 && x->visits > 0
             ? (1 - d->o.best_part) * x->mean + d->o.best_part * x->best
             : x->mean;
}

/* mcts.c */
/** Playouts until the root has `visits`, or the budget is used up, or, with visits INT64_MAX,
 * nothing new turns up. */
berth_status berth_i_tree_run(berth_decider *d, int64_t visits);

/* trees.c */
/** Trees, with their part of the budget. */
berth_status berth_i_decide_trees(berth_decider *d);

/* anneal.c */
berth_status berth_i_decide_anneal(berth_decider *d, bool guided);

#endif
