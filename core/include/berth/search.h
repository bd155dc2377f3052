/* Search: better placements by evaluating many, on the objective seam: simulated annealing, local
 * search, a genetic algorithm. An objective is the makespan of a simulation or a table of functions
 * of the caller, valid during the call. The best placement goes to an array of the caller; no
 * object is made. */
#ifndef BERTH_SEARCH_H
#define BERTH_SEARCH_H

#include <berth/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The objective seam: how good is this placement. Called on the calling thread. */
typedef struct berth_objective {
  /** @param device [ops] keeps pins, types and colocation groups
   *  @param limit what is above it is refused, whatever it is exactly; INFINITY: nothing is
   *  @param out least is best; INFINITY: not allowed. Above `limit` a lower bound will do
   *  @return BERTH_OK; another status ends the search */
  berth_status (*value)(void *ud, const int32_t *device, double limit, double *out);
  /** NULL, or: what set the last value. ops [ops] out: the last op first, each waited for the next
   * one. @return their number */
  int32_t (*chain)(void *ud, int32_t *ops);
  void *ud;
} berth_objective;

typedef enum berth_search_method {
  BERTH_SEARCH_ANNEAL, /* simulated annealing on units of ops, critical-chain moves, three tenths of
                          the moves on single ops */
  BERTH_SEARCH_LOCAL,  /* descents: units to other devices, then ops; then again from random
                          placements of the units */
  BERTH_SEARCH_BRKGA   /* biased random-key genetic algorithm: a key per unit selects which of its
                          devices; on units alone */
} berth_search_method;

typedef struct berth_search_options {
  berth_search_method method;
  const berth_objective *objective; /* NULL: the makespan of the simulation `judge` */
  const berth_sim_options *judge;   /* NULL: berth_sim_default(graph). Its memory policy holds at
                                       every step (TOTAL: in any order of execution), for an
                                       objective of the user's, too: what runs out of memory in this
                                       simulation is refused before the objective is called, and so
                                       is what has no route under its links */
  const int32_t *start;             /* [ops] placement to improve; of several walks every other one
                                       leaves from units, unless these are far worse. NULL: the
                                       better of two made of units, list-scheduled and spread in
                                       turn, and of `further` */
  const int32_t *further;           /* [n_further * ops] placements to try besides, as long as calls
                                       last; what breaks pins, types, groups or memory is passed
                                       over; NULL */
  int32_t n_further;                /* default 0. Not read with `start` */
  int64_t calls;                    /* placements that are evaluated at most, those of the starts
                                       included, and those that are refused before an objective of
                                       the user's is called; 0: no limit; default 2000 */
  double seconds;                   /* by the context's clock; 0 (default): no limit. One of the two
                                       has to be given */
  int32_t restarts;                 /* ANNEAL: independent walks that share the budget; 0 (default):
                                       1 below 20,000 calls, 2 below 50,000, else 4, as with seconds
                                       alone. With 4 and more walks a tenth of the budget polishes
                                       the best. Walks of 1,000 calls and more (with `start`: 5,000)
                                       have two phases */
  int32_t threads;                  /* over walks, or the placements of a generation; 0 (default):
                                       one per core. With an objective or an allocator of the
                                       user's: one */
  double t_start;                   /* ANNEAL: first temperature, in parts of the start's value;
                                       default 0.006 */
  double t_end;                     /* ANNEAL: last temperature, in parts of the start's value;
                                       default 1e-4 */
  int32_t population;               /* BRKGA: placements in a generation, 3 to 100,000; 0 (default):
                                       one per unit, 20 to 100 */
  double elite;                     /* BRKGA: part of a generation that stays, the best, above 0;
                                       default 0.2 */
  double mutants;                   /* BRKGA: part that is drawn anew; together below 1; default
                                       0.15 */
  double bias;                      /* BRKGA: chance of a key to come from the elite parent, 0.5 to
                                       1; default 0.7 */
  int steepest;                     /* LOCAL: 1: the best of all moves each time; 0 (default): the
                                       first that improves */
  int no_limit;                     /* 1: each simulation goes from the start to the end; the answer
                                       is the same; default 0 */
  uint64_t seed;
} berth_search_options;
berth_search_options berth_search_default(void);
const berth_option_table *berth_search_option_table(void);

typedef struct berth_search_report {
  double start, value; /* of the objective: the start and the answer */
  int64_t calls;       /* placements evaluated; an objective of the user's was called as often, or
                          less: what memory or a missing route forbids is counted, too, but refused
                          before */
  int32_t units;       /* sets of ops that moved as one */
  int32_t interrupted; /* 1: the hook `interrupt` has stopped it; the answer is the best so far */
} berth_search_report;

/**
 * Never worse than its start; pins, types, colocation groups and memory hold at every step. Same
 * input and seed, same answer, for any number of threads, as long as the budget is in calls. The
 * hooks `progress` ("search") and `interrupt` are called on the calling thread, now and then.
 *
 * @param opts NULL: defaults
 * @param device [ops] out
 * @param report NULL, or out
 * @return BERTH_OK; BERTH_EINFEASIBLE (no start keeps memory, or is allowed by the objective);
 *         BERTH_EINVAL (options; a start that breaks pins, types or groups); BERTH_EINTERRUPT
 *         (before there was anything); what the objective returned; BERTH_EUNSUPPORTED (seconds,
 *         but the context has no clock); BERTH_EUNREACHABLE (no route between members of a
 *         collective); BERTH_ENOMEM
 *
 * Units: ops joined by tensors that take W/D/20 and more (W: work, D: devices) as long as some
 * device can run and hold them, and light ops (below W/D/100) in line. In two phases a walk begins
 * with units that hold all ops in line, and goes on from its best with the usual ones at a quarter
 * of `t_start`. Near a given start (or one that is 2 % ahead of those of units) every other walk
 * spends a fifth on descents, then one phase at a twentieth of `t_start` and a tenth of `t_end`. A
 * walk accepts what is at most cur - T ln u, u uniform; the simulation stops as
 * soon as that is out of reach. BRKGA: Goncalves, Resende, J. Heuristics 2011; of a generation only
 * what may become elite is simulated to the end. O(calls x simulation)
 */
berth_status berth_search(berth_cost *cost, const berth_search_options *opts, int32_t *device,
                          berth_search_report *report);

#ifdef __cplusplus
}
#endif
#endif
