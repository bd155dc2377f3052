/* Several placers, the best answer by the objective. Of the room place, floor 5. */
#ifndef BERTH_PORTFOLIO_H
#define BERTH_PORTFOLIO_H

#include <berth/place.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One member: a placer and its options. `name` is what reports call it; NULL: the placer's. */
typedef struct berth_member {
  const char *name, *placer;
  berth_place_options options;
} berth_member;

typedef struct berth_portfolio_options {
  berth_place_options place;       /* links, memory, param_multiple, quantum, averages, tries, seed: of every built-in member */
  int32_t n_members;               /* 0: the built-in ones */
  const berth_member *members;     /* [n_members] instead of them; their options are taken as they are */
  const berth_sim_options *judge;  /* the objective: makespan of this simulation; NULL: the default with links, memory, param_multiple
                                      and quantum of `place` */
  int32_t threads;                 /* 0: one per core; placers with a policy of the user's run on the calling thread */
  double seconds;                  /* by the context's clock: no member is begun, and those that run are stopped, when it has passed;
                                      0 (default): no limit. The baselines always run */
} berth_portfolio_options;
/** @param g as for berth_place_default */
berth_portfolio_options berth_portfolio_default(const berth_graph *g);

typedef struct berth_portfolio berth_portfolio; /* what a run found; immutable */

typedef struct berth_member_report {
  const char *name;
  berth_status status;             /* of placing and judging; BERTH_EINTERRUPT: stopped, or not begun, when the time had passed */
  const char *message;             /* "" if it answered */
  double makespan;                 /* s, by the judge; NaN: no answer */
  int oom;                         /* 1: it runs out of memory in the judge's simulation */
  berth_obstacle why;              /* what stopped it, with BERTH_EINFEASIBLE or oom */
  berth_placement *placement;      /* borrowed; NULL: no answer */
  double seconds;                  /* by the context's clock, NaN without one: placing and judging */
} berth_member_report;

/**
 * Runs the members and keeps the answer with the shortest makespan of those that keep memory; ties: the first in the list.
 * Never worse, by the judge, than any member whose answer keeps memory. Same input and seed, same answer, for any number of
 * threads, as long as no time limit stops it.
 *
 * @param opts NULL: defaults
 * @param out also filled, with what there is, when the answer is BERTH_EINFEASIBLE, or BERTH_EINTERRUPT after some member has
 *        answered; else NULL
 * @param why as in berth_place
 * @return BERTH_OK; BERTH_EINFEASIBLE (a proof that nothing fits if there is one; else what came closest); BERTH_EINTERRUPT (hook);
 *         errors of options and of the judge; BERTH_ENOMEM
 */
berth_status berth_portfolio_run(berth_cost *cost, const berth_portfolio_options *opts, berth_portfolio **out, berth_obstacle *why);
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
