/* Exact makespans: branch and bound on small graphs, and schedules of ops without transfers on identical devices. */
#ifndef BERTH_EXACT_H
#define BERTH_EXACT_H

#include <berth/bounds.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct berth_exact_options {
  berth_place_options place; /* read are memory, param_multiple, seed; links must be FREE and quantum 0 */
  int64_t nodes;             /* partial schedules at most; 0 (default): with seconds no limit, else 1,000,000 up to 20 ops, and
                                above 2e7 / (edges + ops x devices), a tenth of that where list schedules (next) went before */
  int32_t schedules;         /* identical devices without transfers: list schedules at most; default 8000 */
  double seconds;            /* by the context's clock; 0 (default): no limit. Bounds and list placers, which come first, are not
                                cut short. Answers may then differ from run to run */
} berth_exact_options;
/** @param g decides the memory policy as for berth_place_default */
berth_exact_options berth_exact_default(const berth_graph *g);

typedef struct berth_exact_summary {
  double makespan, bound; /* s; no schedule is shorter than `bound`, as exactly as 1e-9 of it */
  int proved;             /* 1: makespan is the optimum: the bound reaches it */
  int interrupted;        /* 1: the interrupt hook said stop; the answer is the best until then */
  int timed_out;          /* 1: so did `seconds` */
  int64_t nodes;          /* partial schedules looked at */
  int32_t schedules;      /* list schedules made */
} berth_exact_summary;

/**
 * The shortest makespan on free links, without preemption or duplication, or the best found and a bound on it.
 *
 * First the list placers and the bounds of bounds.h. Where all devices are alike, nothing takes time to cross and no op is bound
 * to a device or a group, one list placer, and instead of these bounds the interval bound with heads and tails of ancestors; then
 * list schedules forward and backward from perturbed priorities, improved by pushing all ops to one end and back.
 * Then, up to 64 ops, branch and bound over partial schedules, in order of starts: which ready op next, on which device. It
 * drops what is too long by remaining path (transfers that no schedule can spare included) or work, what another one of the same
 * ops, with equal devices renamed, is nowhere later than, and all but one of equal idle devices. Memory: a schedule counts
 * if simulation (PLANNED, its sequence) does not run out of it; the shortest that did so limits the bound, for waiting might have
 * helped it.
 *
 * @param opts NULL: defaults  @param summary may be NULL  @param why as in berth_place
 * @return BERTH_OK, also without a proof and after an interrupt; BERTH_EINVAL (options); BERTH_EUNSUPPORTED (collectives, links,
 *         quantum, seconds without a clock); BERTH_EINFEASIBLE as the list placers tell it; BERTH_EUNREACHABLE; BERTH_ENOMEM
 * Deterministic, but for `seconds`: work is counted, not time. O(nodes x (edges + ops x devices))
 *
 * Sources: Fernandez, Bussell 1973 (interval bound); Valls, Ballestin, Quintanilla 2005 (pushing to one end and back).
 */
berth_status berth_exact(berth_cost *cost, const berth_exact_options *opts, berth_placement **out, berth_exact_summary *summary,
                         berth_obstacle *why);

#ifdef __cplusplus
}
#endif
#endif
