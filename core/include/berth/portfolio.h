/* Several placers, the best answer by the objective. */
#ifndef BERTH_PORTFOLIO_H
#define BERTH_PORTFOLIO_H

#include <berth/place.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A placer of the user's as a member, on the calling thread. Any of the library may be called from there, on this context.
 *  @param why BERTH_NONE and 0 on entry; may be filled with BERTH_EINFEASIBLE
 *  @param message [size] "" on entry; the reason, with another status than BERTH_OK; left "": berth_errmsg of the context
 *  @return BERTH_OK; a refusal, which is the member's; BERTH_ECALLBACK and BERTH_ENOMEM end the whole run */
typedef berth_status (*berth_member_fn)(void *ud, berth_cost *cost, berth_placement **out, berth_obstacle *why, char *message,
                                        size_t size);

/** One member: a placer and its options. `name` is what reports call it; NULL: the placer's. */
typedef struct berth_member {
  const char *name, *placer;
  berth_place_options options;
  berth_member_fn place;   /* NULL, or what places, instead of a placer by name */
  void *ud;
} berth_member;

typedef struct berth_portfolio_options {
  berth_place_options place;      /* links, memory, param_multiple, quantum, averages, tries, seed, gap: of every built-in
                                     member; what is for one placer only must be as by default */
  int32_t n_members;              /* 0: the built-in ones */
  const berth_member *members;    /* [n_members] instead of them; their options are taken as they are */
  const berth_sim_options *judge; /* the objective: makespan of this simulation; NULL: the default with links, memory,
                                     param_multiple and quantum of `place`. PLANNED without a sequence: each answer in its own;
                                     one that has none is not judged */
  int32_t threads;                /* 0: one per core, or a single one if the graph is small. A user's placer or policy, the linear
                                     program and metis run on the calling thread. With an allocator of the user's, which need
                                     not be for many threads, all do */
  double seconds;                 /* by the context's clock: when it has passed no member is begun, and those that run are
                                     stopped; 0 (default): no limit. The baselines (single, round-robin) always run */
} berth_portfolio_options;
/** @param g as for berth_place_default. The built-in members, in this order: single, round-robin; m-etf with ties by level,
 *  topological and by b-level; m-sct with favourites greedily by through-length and from the linear program, both greedily with
 *  ties by level and topological, the program's also by b-level; with tau 0.5 and with 0.1, topological; etf, heft, peft, cpop,
 *  blevel, critical-path, minmin, m-topo, metis. Then, on sets of up to 8 ops by coplace: m-etf and m-sct by b-level,
 *  critical-path and heft with transfers weighed 2, etf with 0.5, m-topo; peft on chains; on sets of up to 16 ops by fuse: etf,
 *  minmin and blevel with 0.5, metis; on ops: blevel with 0.5, m-sct by through-length with 4. The program of the ops is solved
 *  once */
berth_portfolio_options berth_portfolio_default(const berth_graph *g);

typedef struct berth_portfolio berth_portfolio; /* what a run found; immutable */

typedef struct berth_member_report {
  const char *name;
  const char *placer;              /* NULL: the user's own */
  const berth_place_options *options; /* with these berth_place(placer) gives the same; NULL: the user's own */
  berth_status status;             /* of placing and judging; BERTH_EINTERRUPT: stopped, or not begun, when the time had passed */
  const char *message;             /* "" if it answered */
  double makespan;                 /* s, by the judge; NaN: no answer */
  int oom;                         /* 1: it runs out of memory in the judge's simulation */
  berth_obstacle why;              /* what stopped it, with BERTH_EINFEASIBLE or oom */
  berth_placement *placement;      /* borrowed; NULL: no answer */
  double seconds;                  /* by the context's clock, NaN without one or if not begun: placing and judging */
} berth_member_report;

/**
 * Runs the members and keeps the answer with the shortest makespan of those that keep memory; ties: the first in the list.
 * Never worse, by the judge, than any member whose answer keeps memory. Same input and seed, same answer, for any number of
 * threads, as long as no time limit stops it. The hook `progress` hears of members that are done ("portfolio"), and of nothing
 * within them.
 *
 * @param opts NULL: defaults
 * @param out also filled, with what there is, when no member's answer keeps memory, or the hook stops the run after some member
 *        has answered; else NULL
 * @param why as in berth_place
 * @return BERTH_OK; BERTH_EINFEASIBLE (a proof that nothing fits if there is one, for which built-in members are not run; else
 *         what came closest); what the first member says if none lacks memory; BERTH_EINTERRUPT (hook, or the time had passed
 *         before any member answered); errors of options; BERTH_ECALLBACK; BERTH_ENOMEM
 */
berth_status berth_portfolio_run(berth_cost *cost, const berth_portfolio_options *opts, berth_portfolio **out,
                                 berth_obstacle *why);
void berth_portfolio_release(berth_portfolio *p);
/** The best answer, borrowed; NULL: none keeps memory. */
berth_placement *berth_portfolio_best(const berth_portfolio *p);
int32_t berth_portfolio_winner(const berth_portfolio *p); /* its member; BERTH_NONE */
int32_t berth_portfolio_members(const berth_portfolio *p);
/** Borrowed until p goes; NULL: no such member. */
const berth_member_report *berth_portfolio_report(const berth_portfolio *p, int32_t member);

#ifdef __cplusplus
}
#endif
#endif
