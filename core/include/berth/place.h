/* Placement: the list engine, the placers on it, baselines. See also bounds.h and portfolio.h. */
#ifndef BERTH_PLACE_H
#define BERTH_PLACE_H

#include <berth/search.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the result ------------------------------------------------------------------------- */

typedef struct berth_placement berth_placement; /* immutable */

/** From arrays, e.g. a user's own answer.
 *  @param device [ops]  @param sequence [ops] ops in execution order; NULL: none
 *  @param placer label, copied; NULL: none  @param estimate s; NaN: none */
berth_status berth_placement_new(berth_ctx *ctx, int32_t ops, const int32_t *device, const int32_t *sequence, const char *placer,
                                 double estimate, berth_placement **out);
void berth_placement_retain(berth_placement *p);
void berth_placement_release(berth_placement *p);
int32_t berth_placement_ops(const berth_placement *p);
const int32_t *berth_placement_device(const berth_placement *p);   /* [ops] */
const int32_t *berth_placement_sequence(const berth_placement *p); /* [ops] ops by planned start; NULL: none */
const double *berth_placement_start(const berth_placement *p);     /* [ops] planned, s; NULL: none */
const double *berth_placement_finish(const berth_placement *p);    /* [ops] planned, s; NULL: none */
double berth_placement_estimate(const berth_placement *p);         /* the placer's own makespan, s; NaN: none */
double berth_placement_bound(const berth_placement *p);            /* s: proved by its placer, "exact": no schedule that keeps
                                                                      memory as it did, on any links and without preemption, is
                                                                      shorter; NaN: nothing */
int32_t berth_placement_links(const berth_placement *p);           /* berth_links that the plan keeps to; BERTH_NONE: no plan */
const char *berth_placement_placer(const berth_placement *p);      /* "m-etf", ...; "" if none */

/** What stops a placement. op BERTH_NONE: no single op does; device BERTH_NONE: no device does. */
typedef struct berth_obstacle {
  int32_t op, device; /* the op that fits nowhere, or at which memory runs out, and the device that comes closest */
  double missing;     /* bytes; above 0 wherever memory is what stops it. Where nothing fits, a proved lower bound: on what all
                         devices lack together, on what one lacks for one piece more, or, if all ways are ruled out, so much
                         that in each of them some device lacks it */
} berth_obstacle;

/* ---- the list engine -------------------------------------------------------------------- */

typedef enum berth_ready {
  BERTH_READY_ASSIGNED, /* an op is a candidate when all its producers are placed */
  BERTH_READY_FINISHED  /* ... when they have finished, in the plan's time */
} berth_ready;
typedef enum berth_fit { BERTH_FIT_APPEND, BERTH_FIT_INSERTION } berth_fit;
typedef enum berth_choose {
  BERTH_CHOOSE_OP,    /* best op by priority, then the best device for it */
  BERTH_CHOOSE_PAIR,  /* best (op, device) by score; ties: priority, then op id, then device id */
  BERTH_CHOOSE_DEVICE /* each idle device in turn takes its best op, or waits */
} berth_choose;

/** What a policy sees of the plan so far. */
typedef struct berth_plan berth_plan;
berth_cost *berth_plan_cost(const berth_plan *p);                /* borrowed */
int32_t berth_plan_device_of(const berth_plan *p, int32_t op);   /* BERTH_NONE: not placed yet */
double berth_plan_start(const berth_plan *p, int32_t op);        /* s; NaN: not placed yet */
double berth_plan_finish(const berth_plan *p, int32_t op);       /* s; NaN: not placed yet */
double berth_plan_free_at(const berth_plan *p, int32_t device);  /* s, end of its last op */
int32_t berth_plan_last(const berth_plan *p, int32_t device);    /* op placed there last; BERTH_NONE */
double berth_plan_memory(const berth_plan *p, int32_t device);   /* bytes held */
double berth_plan_now(const berth_plan *p);                      /* s; 0 unless READY_FINISHED */

/**
 * The policy seam: which op next; how good is each device for it. A NULL function means the engine's own rule.
 * Built-in placers and users' policies are values of this type.
 */
typedef struct berth_policy {
  const char *name;
  berth_ready ready;     /* default ASSIGNED */
  berth_fit fit;         /* default APPEND */
  berth_choose choose;   /* default OP */
  /** Once, before the first op.  @param priority [ops] out: larger goes first; zero on entry */
  berth_status (*prepare)(void *ud, const berth_plan *p, double *priority);
  /** When op becomes a candidate: may replace its priority. */
  berth_status (*select)(void *ud, const berth_plan *p, int32_t op, double *priority);
  /** One call per op (choose OP) or per changed op (PAIR, DEVICE), with the estimates for all devices:
   *  @param est [devices] earliest start, s; INFINITY: cannot (memory, type, pin, group)
   *  @param eft [devices] earliest finish, s
   *  @param score [devices] out, least wins; eft on entry; INFINITY: not here
   *  @param wake out: with every score INFINITY, "not now": try again at this time (READY_FINISHED only) */
  berth_status (*score)(void *ud, const berth_plan *p, int32_t op, const double *est, const double *eft, double *score,
                        double *wake);
  void *ud;
} berth_policy;

/** Where the favourite children of m-sct come from. */
typedef enum berth_favourites {
  BERTH_FAVOURITES_LP,      /* the linear program (bounds.h), rounded */
  BERTH_FAVOURITES_THROUGH, /* a matching, greedily by the length of the longest path through the edge; no LP is solved */
  BERTH_FAVOURITES_NONE,    /* nobody has one */
  BERTH_FAVOURITES_GIVEN    /* `favourite` says it */
} berth_favourites;
/** Which of two candidates that could start equally early goes first. */
typedef enum berth_ties {
  BERTH_TIES_DEFAULT,     /* LEVEL; published Baechi: TOPOLOGICAL */
  BERTH_TIES_LEVEL,       /* longest path of op times to a sink */
  BERTH_TIES_TOPOLOGICAL, /* place in the topological order */
  BERTH_TIES_BLEVEL       /* longest path to a sink, mean op times and mean transfers: the upward rank of HEFT */
} berth_ties;
/** What is placed as one. Sets of ops as the transforms of that name (transform.h) make them, with an exact check for cycles; none
 *  of them has more parameter and output bytes than a sixteenth of the smallest device. */
typedef enum berth_coarsen {
  BERTH_COARSEN_NONE,    /* each op (default) */
  BERTH_COARSEN_CHAINS,  /* chains: u and v where v is all that follows u, and u all that v follows */
  BERTH_COARSEN_COPLACE, /* an op that has one consumer goes with it, heaviest edges first; then sets are fused */
  BERTH_COARSEN_FUSE     /* ops with a tensor between them, heaviest pairs first */
} berth_coarsen;

typedef struct berth_place_options {
  const berth_policy *policy;    /* for placer "policy" */
  const char *variant;           /* "": the corrected or textbook form; else "baechi-tf", "baechi-pt", "code", ... by placer */
  berth_average averages;        /* HEFT, CPOP, PEFT */
  berth_links links;             /* discipline that the planner assumes; default FREE. With ROUTE and FAIR the list engine plans on
                                    DUPLEX; whoever simulates to decide (the first five, searches, portfolio) takes them as they
                                    are */
  berth_memory_policy memory;    /* what counts against device memory; default as in the simulator */
  double param_multiple;         /* as in berth_sim_options; default 1 */
  double quantum;                /* s, as in berth_sim_options; default 0 */
  berth_ties ties;               /* m-etf, m-sct */
  berth_coarsen coarsen;         /* metis, m-topo and the list placers, without variants */
  int32_t coarsen_ops;           /* most ops in one set; 0 (default): 16, chains of any length */
  double transfer_weight;        /* the same placers: they see transfers that take so many times their time; default 1 */
  berth_favourites favourites;   /* m-sct; default LP */
  const int32_t *favourite;      /* [ops] m-sct with GIVEN: favourite child of each op, BERTH_NONE: none. A consumer of the op, and
                                    of no two ops the same */
  double tau;                    /* m-sct with LP, 0..1: an edge whose x = 1 - y is at most tau is a favourite; where two collide,
                                    as they may above 0.5, the larger y. 0 (default): a maximal matching, greedily by y; baechi-tf:
                                    0.1; baechi-pt: 0.5 */
  double gap;                    /* m-sct: relative gap to which the LP is solved; default 0.01 */
  int32_t device;                /* single: this one; BERTH_NONE (default): the best that fits */
  int32_t tries;                 /* critical-path with random ties: best of so many; default 1 */
  uint64_t seed;
  const berth_search_options *search;   /* anneal, local, brkga: budget, start, judge, objective; NULL: defaults, judged first in,
                                           first out with links, memory, param_multiple and quantum. Its method and seed are not
                                           read. exact: its seconds */
  berth_search_report *search_report;   /* anneal, local, brkga: NULL, or out. They are anytime: what `interrupt` stops is an
                                           answer, and this tells */
} berth_place_options;
/** @param g decides the memory policy as in berth_sim_default: TRAINING if any op has a twin, else INFERENCE; NULL: TOTAL, under
 *           which an answer holds in any order of execution */
berth_place_options berth_place_default(const berth_graph *g);

/** Names of the placers, NULL-terminated: "single" "round-robin" "random" "metis" "m-topo" "m-etf" "m-sct" "etf" "heft" "cpop"
 *  "peft" "minmin" "blevel" "critical-path" "enumerative" "exact" (exact.h) "anneal", "local" and "brkga" (search.h) "portfolio"
 *  "policy". The first five only choose devices: plan and estimate are what these give when each device runs its ops first in,
 *  first out, under `links` and `quantum`. They put colocation groups as wholes; if their own rule gets stuck at memory limits,
 *  they pack for feasibility alone before they give up. "m-topo": "" balances memory within real limits; "baechi-tf" and
 *  "baechi-pt" never test real limits. "metis" fills shares by device speed; memory is its second constraint where there are
 *  limits. "enumerative", too, only chooses devices and is planned like the first five, with the same promise about memory. It
 *  takes meta-ops (berth_meta_ops, times to within 1 %) by depth: blocks of one go to different devices, as many as there are at a
 *  time, at the least total time of moving inputs that are not there yet, plus what slow devices take longer; ties to devices with
 *  less to do. "": by an assignment problem, O(devices^3) for each round; "enumerate": the same answers up to ties by trying all,
 *  up to 8 devices; "blocks", "greedy": two rules of the einsummable runtime, of which the first takes partial products with their
 *  sum. Pins, types, groups and memory come before an even spread.
 *  The others plan as they place, and reserve channels in the order of placing. On free links their plan is what the simulator
 *  makes of it with PLANNED. On others a simulation, which sends in the order of production, takes another time, more or less:
 *  on random graphs of 200 ops on 4 devices, 0.81 to 1.22 times the estimate on CHANNEL, 0.89 to 1.28 on DUPLEX, 0.99 to 1.24
 *  on PAIR.
 *  "exact" plans on free links and without a quantum; with others its devices are planned like those of the first five.
 *  "anneal", "local" and "brkga" plan as the first five; their estimate is the value of their objective. Without a start they try,
 *  besides those of search.h and as far as calls last, what single, round-robin, m-etf, critical-path, heft and coplaced etf and
 *  critical-path answer under the links and memory of the judge.
 *  "peft" with averages SAGA: real transfer times in its table of optimistic costs, not their averages.
 *  With `coarsen` or a `transfer_weight` other than 1 a placer only chooses devices: it works on a graph of sets, or with other
 *  transfer times, and its answer is carried over to the ops, repaired as by berth_place_repair where memory does not hold, and
 *  planned first in, first out with the true times. If it finds no place for its sets, ops are packed one by one. */
const char *const *berth_placers(void);
/* Collectives. In plans one is over at the latest end of its members plus its price on their devices, whatever `links` is;
 * consumers are candidates as soon as all members are placed (READY_FINISHED: have finished), and start no earlier than that.
 * Where a member goes is decided without the price. Ranks count a collective as an edge from members to consumers, which takes
 * what it would with the members dealt out to the devices in turn, pins kept; levels without transfers ("etf", "m-etf", "m-sct")
 * and favourites as one that takes no time. Members go where those that are placed or pinned can be reached. Under a memory
 * policy its bytes, for an all-gather times the members (or devices), count for good on each device that has a member: more than
 * the simulator holds, and enough for all orders. The placers that only choose devices, and searches, leave collectives to the
 * simulation. */
/** Variants of a placer, NULL-terminated, "" first; NULL for an unknown placer. */
const char *const *berth_placer_variants(const char *placer);

/**
 * @param placer a name from berth_placers()
 * @param opts NULL: defaults
 * @param why NULL, or filled when the answer is BERTH_EINFEASIBLE
 * @return BERTH_OK; BERTH_EINFEASIBLE (message: op, device, bytes missing; "cannot fit" if it is proved that nothing does, and if
 *         memory as a whole cannot hold the graph, that is told, with no op and, unless it is about one, no device; else "no
 *         placement found"); BERTH_EINVAL (unknown placer or variant: lists them); BERTH_EUNREACHABLE (also: members of a
 *         collective have come to devices that do not reach one another); BERTH_EUNSUPPORTED (exact: collectives);
 *         BERTH_ENOMEM; BERTH_ECALLBACK; BERTH_EINTERRUPT.
 *
 * Every placer keeps colocation groups, pins, unsupported types and, but for published variants that do not, memory limits. What
 * the latter means in berth_simulate with the same memory and param_multiple, without noise and preempt:
 *   TOTAL                the placement does not run out of memory under any dispatch, links and send. So the placers count all
 *                        that is ever on a device and the largest workspace on top of it (of ops that may take no time: all
 *                        workspaces), and refuse what would hold in some order only.
 *   INFERENCE, TRAINING  what is held depends on the order. The first five: the placement does not run out first in, first out,
 *                        with the same links and quantum (on free links nor with PLANNED and its sequence). If their own rule
 *                        runs out there, it is asked again with that share of the outputs counted as never freed that was there
 *                        at once, or more; then ops move away from where memory runs out; then devices in turn take slices of
 *                        the ops in their order, twins together; at last packings are tried one by one, up to a number.
 *                        The others: it does not run out with PLANNED and its sequence, with links FREE for both. Planned for
 *                        other links, run in another order, or by a policy that says "not now", it may; "critical-path" variant
 *                        "code" has no sequence. Where their rule gets stuck, ops move until it does not; where its order would
 *                        still run out, and first in, first out does not, that is the plan.
 */
berth_status berth_place(berth_cost *cost, const char *placer, const berth_place_options *opts, berth_placement **out,
                         berth_obstacle *why);

/* ---- adjusting -------------------------------------------------------------------------- */

/** On which device a colocation group goes that a placement, made without regard to groups, has split. Ties: of ops and sums, the
 *  device with the lowest op; FREQUENT: the lowest device. */
typedef enum berth_adjust_by {
  BERTH_ADJUST_RANDOM,     /* that of its first op, by id (so called by the published program) */
  BERTH_ADJUST_MEMORY,     /* that of its op with the largest demand: parameters, workspace and outputs */
  BERTH_ADJUST_TIME,       /* that of its op with the longest time, where it is (0 where it cannot run) */
  BERTH_ADJUST_FREQUENT,   /* that of most of its ops */
  BERTH_ADJUST_MEMORY_SUM, /* that with the largest sum of demands */
  BERTH_ADJUST_TIME_SUM    /* that with the largest sum of times */
} berth_adjust_by;

typedef struct berth_adjust_options {
  berth_adjust_by by;        /* default FREQUENT */
  int fit;                   /* 0 (default): devices that cannot run the group are passed over, memory is not looked at. 1: the
                                devices of its ops in the order of `by`, then the others by id, until one has room; largest group
                                first */
  berth_place_options place; /* links, memory, param_multiple, quantum */
} berth_adjust_options;
/** @param g as for berth_place_default */
berth_adjust_options berth_adjust_default(const berth_graph *g);

/**
 * Puts each colocation group on one device; other ops stay where they are.
 *
 * @param device [ops] may split groups
 * @param opts NULL: defaults
 * @param out plan and estimate: first in, first out, as berth_place's first five; label "adjust"
 * @param why as in berth_place
 * @return BERTH_OK; BERTH_EINVAL (a device out of range; an op without group that cannot run where it is); BERTH_EINFEASIBLE (no
 *         device can run a group; with `fit`: an op or a group that has no room, told with the device that comes closest, or, under
 *         INFERENCE and TRAINING, where memory runs out first in, first out); else as berth_place
 *
 * With `fit`, TOTAL and room found, memory holds in any order. INFERENCE and TRAINING count what is held for good (parameters) and
 * the largest op on it; that what is held for a time fits, too, is seen by one simulation at the end.
 * O(ops log + groups x devices). Source: Jeon et al., Baechi, 2020, published code (its adjusters).
 */
berth_status berth_adjust(berth_cost *cost, const int32_t *device, const berth_adjust_options *opts, berth_placement **out,
                          berth_obstacle *why);

/**
 * A placement near given devices that keeps colocation groups, pins, types, routes and memory.
 *
 * @param device [ops] need keep none of these; BERTH_NONE: nowhere yet. A group goes where most of its bytes are
 * @param opts NULL: defaults. Read are links, memory, param_multiple and quantum
 * @param out labelled "repair", with plan and estimate as the first five placers give them, and their promise about memory
 * @param why as in berth_place
 * @return as berth_place; BERTH_EINVAL also for a device that is not there
 *
 * What fits stays as it is. Else units move off devices that overflow, cheapest first in seconds of transfers begun and of work on
 * devices that have much of it, for each byte, and neighbours follow where that saves time; then units are exchanged until nothing
 * overflows; at last everything is packed anew. Deterministic.
 */
berth_status berth_place_repair(berth_cost *cost, const int32_t *device, const berth_place_options *opts, berth_placement **out,
                                berth_obstacle *why);

#ifdef __cplusplus
}
#endif
#endif
