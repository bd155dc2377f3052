/* Placements: the device of each op, optionally with the order of ops, planned times, the placer's
 * own estimate and a lower bound; what stops one; the options that placers share. Immutable, with
 * counted references; arrays are [ops] and live as long as the placement. */
#ifndef BERTH_PLACEMENT_H
#define BERTH_PLACEMENT_H

#include <berth/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the result ---- */

typedef struct berth_placement berth_placement; /* immutable */

/** From arrays, e.g. a user's own answer.
 *  @param device [ops]  @param sequence [ops] ops in execution order; NULL: none
 *  @param placer label, copied; NULL: none  @param estimate s; NaN: none */
berth_status berth_placement_new(berth_ctx *ctx, int32_t ops, const int32_t *device,
                                 const int32_t *sequence, const char *placer, double estimate,
                                 berth_placement **out);
void berth_placement_retain(berth_placement *p);
void berth_placement_release(berth_placement *p);
int32_t berth_placement_ops(const berth_placement *p);
const int32_t *berth_placement_device(const berth_placement *p);   /* [ops] */
/* [ops] ops by planned start; NULL: none */
const int32_t *berth_placement_sequence(const berth_placement *p);
/* [ops] planned, s; NULL: none */
const double *berth_placement_start(const berth_placement *p);
/* [ops] planned, s; NULL: none */
const double *berth_placement_finish(const berth_placement *p);
/* the placer's own makespan, s; NaN: none */
double berth_placement_estimate(const berth_placement *p);
/* s: proved by its placer, "exact" or, on small graphs, "portfolio": no schedule that keeps memory
 * as it did, on any links and without preemption, is shorter; NaN: nothing */
double berth_placement_bound(const berth_placement *p);
/* berth_links that the plan keeps to; BERTH_NONE: no plan */
int32_t berth_placement_links(const berth_placement *p);
const char *berth_placement_placer(const berth_placement *p);      /* "m-etf", ...; "" if none */

/** What stops a placement. op BERTH_NONE: no single op does; device BERTH_NONE: no device does. */
typedef struct berth_obstacle {
  int32_t op, device; /* the op that fits nowhere, or at which memory runs out, and the device that
                         comes closest */
  double missing;     /* bytes; above 0 wherever memory is what stops it. Where nothing fits, a
                         proved lower bound: on what all devices lack together, on what one lacks
                         for one piece more, or, if all ways are ruled out, so much that in each of
                         them some device lacks it */
} berth_obstacle;

/* ---- options of placers ---- */

/** Where the favourite children of m-sct come from. */
typedef enum berth_favourites {
  BERTH_FAVOURITES_LP,      /* the linear program (lp.h), rounded */
  BERTH_FAVOURITES_THROUGH, /* a matching, greedily by the length of the longest path through the
                               edge; no LP is solved */
  BERTH_FAVOURITES_NONE,    /* no op has one */
  BERTH_FAVOURITES_GIVEN    /* given by `favourite` */
} berth_favourites;
/** Which of two candidates that could start equally early goes first. */
typedef enum berth_ties {
  BERTH_TIES_DEFAULT,     /* LEVEL; published Baechi: TOPOLOGICAL */
  BERTH_TIES_LEVEL,       /* longest path of op times to a sink */
  BERTH_TIES_TOPOLOGICAL, /* place in the topological order */
  BERTH_TIES_BLEVEL       /* longest path to a sink, mean op times and mean transfers: the upward
                             rank of HEFT */
} berth_ties;
/** What is placed as one. Sets of ops as the transforms of that name (graph.h) make them, with an
 *  exact check for cycles; none of them has more parameter and output bytes than a sixteenth of the
 *  smallest device. */
typedef enum berth_coarsen {
  BERTH_COARSEN_NONE,    /* each op (default) */
  BERTH_COARSEN_CHAINS,  /* chains: u and v where v is all that follows u, and u all that v
                            follows */
  BERTH_COARSEN_COPLACE, /* an op with one consumer joins it, heaviest edges first; then
                            sets are fused */
  BERTH_COARSEN_FUSE     /* ops with a tensor between them, heaviest pairs first */
} berth_coarsen;

typedef struct berth_place_options {
  const struct berth_policy *policy;  /* for placer "policy" */
  const char *variant;           /* "": the corrected or textbook form; else "baechi-tf",
                                    "baechi-pt", "code", ... by placer */
  berth_average averages;        /* HEFT, CPOP, PEFT */
  berth_links links;             /* discipline that the planner assumes; default FREE. With ROUTE
                                    and FAIR the list engine plans on DUPLEX; whoever simulates to
                                    decide (the first five, searches, portfolio) takes them as they
                                    are */
  berth_memory_policy memory;    /* what counts against device memory; default as in the
                                    simulator */
  double param_multiple;         /* as in berth_sim_options; default 1 */
  double quantum;                /* s, as in berth_sim_options; default 0 */
  berth_ties ties;               /* m-etf, m-sct */
  berth_coarsen coarsen;         /* metis, m-topo and the list placers, without variants */
  int32_t coarsen_ops;           /* most ops in one set; 0 (default): 16, chains of any length */
  double transfer_weight;        /* the same placers: they see transfers that take so many times
                                    their time; default 1 */
  berth_favourites favourites;   /* m-sct; default LP */
  const int32_t *favourite;      /* [ops] m-sct with GIVEN: favourite child of each op, BERTH_NONE:
                                    none. A consumer of the op, and of no two ops the same */
  double tau;                    /* m-sct with LP, 0..1: an edge whose x = 1 - y is at most tau is a
                                    favourite; where two collide, as they may above 0.5, the larger
                                    y. 0 (default): a maximal matching, greedily by y; baechi-tf:
                                    0.1; baechi-pt: 0.5 */
  double gap;                    /* m-sct: relative gap to which the LP is solved; default 0.01 */
  int32_t device;                /* single: this one; BERTH_NONE (default): the best that fits */
  int32_t tries;                 /* critical-path with random ties: best of so many; default 1 */
  uint64_t seed;
  const struct berth_search_options *search; /* anneal, local, brkga: budget, start, judge,
                                                objective; NULL: defaults, judged first in, first
                                                out with links, memory, param_multiple and quantum.
                                                Its method and seed are not read. exact: its
                                                seconds; agent: its calls, NULL: 50 */
  struct berth_search_report *search_report; /* anneal, local, brkga: NULL, or out. They are
                                                anytime: what `interrupt` stops is an answer; this
                                                reports it */
} berth_place_options;
/** @param g decides the memory policy as in berth_sim_default: TRAINING if any op has a twin, else
 *           INFERENCE; NULL: TOTAL, under which an answer holds in any order of execution */
berth_place_options berth_place_default(const berth_graph *g);
const berth_option_table *berth_place_option_table(void);

/* ---- descriptions of placers ---- */

typedef struct berth_placer_variant {
  const char *name;   /* "": the corrected or textbook form */
  const char *rule, *source, *good, *weak; /* what it does; paper or program; when to use it; known
                                              weakness. source NULL: none */
  int own_links;      /* 1: it plans with a discipline of its own, and refuses `links` */
} berth_placer_variant;

typedef struct berth_placer {
  const char *name;
  const char *reads;  /* keys of options besides those that all read, separated by spaces; NULL:
                         none */
  int32_t calls;      /* default of the option calls; 0: as in berth_search_default, or not read */
  const berth_placer_variant *variants; /* "" first, ended by a name that is NULL */
} berth_placer;

/** Does the placer read this option? An option in no list is for all. */
int berth_placer_reads(const berth_placer *p, const char *key);

#ifdef __cplusplus
}
#endif
#endif
