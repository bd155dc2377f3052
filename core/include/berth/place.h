/* Placers: by name, in a portfolio, exact; placements adjusted and repaired.
 *
 * A placer takes a priced graph and options, and returns a placement (placement.h) with a reference
 * of the caller's. The portfolio runs several, simulates each result and keeps the best; its object
 * holds the report of all members. Infeasible problems are an ordinary status, with the op, device
 * and bytes that stop them. */
#ifndef BERTH_PLACE_H
#define BERTH_PLACE_H

#include <berth/bound.h>
#include <berth/list.h>
#include <berth/search.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- placers ---- */

/** The registered placers, NULL-terminated: "single" "round-robin" "random" "metis" "m-topo"
 *  "m-etf" "m-sct" "etf" "heft" "cpop" "peft" "minmin" "blevel" "critical-path" "enumerative"
 *  "agent" "exact" (berth_exact) "anneal", "local" and "brkga" (search.h) "portfolio" "policy". The
 *  first five only choose devices: plan and estimate are what these give when each device runs its
 *  ops first in, first out, under `links` and `quantum`. They put colocation groups as wholes; if
 *  their own rule gets stuck at memory limits, they pack for feasibility alone before they give up.
 *  "m-topo": "" balances memory within real limits; "baechi-tf" and "baechi-pt" never test real
 *  limits. "metis" fills shares by device speed; memory is its second constraint where there are
 *  limits. "enumerative", too, only chooses devices and is planned like the first five, with the
 *  same promise about memory. It takes meta-ops (berth_meta_ops, times to within 1 %) by depth:
 *  blocks of one go to different devices, as many as there are at a time, at the least total time
 *  of moving inputs that are not there yet, plus what slow devices take longer; ties to devices
 *  with less to do. "": by an assignment problem, O(devices^3) for each round; "enumerate": the
 *  same answers up to ties by trying all, up to 8 devices; "blocks", "greedy": two rules of the
 *  einsummable runtime, of which the first takes partial products with their sum. Pins, types,
 *  groups and memory come before an even spread.
 *  The others plan as they place, and reserve channels in the order of placing. On free links their
 *  plan is what the simulator makes of it with PLANNED. On others a simulation, which sends in the
 *  order of production, takes another time, more or less: on random graphs of 200 ops on 4 devices,
 *  0.81 to 1.22 times the estimate on CHANNEL, 0.89 to 1.28 on DUPLEX, 0.99 to 1.24 on PAIR.
 *  "agent" is planned like the first five, with the same promise about memory. It reads of `search`
 *  the calls alone, from 1 to 50, and places up to 20,000 ops (else BERTH_EUNSUPPORTED).
 *  "exact" plans on free links and without a quantum; with others its devices are planned like
 *  those of the first five. "anneal", "local" and "brkga" plan as the first five; their estimate is
 *  the value of their objective. Without a start they try, besides those of search.h and as far as
 *  calls last, what single, round-robin, m-etf, critical-path, heft and coplaced etf and
 *  critical-path answer under the links and memory of the judge.
 *  "peft" with averages SAGA: real transfer times in its table of optimistic costs, not their
 *  averages.
 *  With `coarsen` or a `transfer_weight` other than 1 a placer only chooses devices: it works on a
 *  graph of sets, or with other transfer times, and its answer is carried over to the ops, repaired
 *  as by berth_place_repair where memory does not hold, and planned first in, first out with the
 *  true times. If it finds no place for its sets, ops are packed one by one. */
const berth_placer *const *berth_placers(void);
/* Collectives. In plans one is over at the latest end of its members plus its price on their
 * devices, whatever `links` is; consumers are candidates as soon as all members are placed
 * (READY_FINISHED: have finished), and start no earlier than that. Where a member goes is decided
 * without the price. Ranks count a collective as an edge from members to consumers, which takes
 * what it would with the members distributed over the devices in turn, pins kept; levels without
 * transfers ("etf", "m-etf", "m-sct") and favourites as one that takes no time. Members go where
 * those that are placed or pinned can be reached. Under a memory policy its bytes, for an
 * all-gather times the members (or devices), count for good on each device that has a member: more
 * than the simulator holds, and enough for all orders. The placers that only choose devices, and
 * searches, leave collectives to the simulation. */
/** NULL: no placer of that name. */
const berth_placer *berth_placer_find(const char *name);

/**
 * @param placer a name from berth_placers()
 * @param opts NULL: defaults
 * @param why NULL, or filled when the answer is BERTH_EINFEASIBLE
 * @return BERTH_OK; BERTH_EINFEASIBLE (message: op, device, bytes missing; "cannot fit" if it is
 *         proved that nothing does, and if memory as a whole cannot hold the graph, that is
 *         reported, with no op and, unless it is about one, no device; else "no placement found");
 *         BERTH_EINVAL (unknown placer or variant: lists them); BERTH_EUNREACHABLE (also: members
 *         of a collective have come to devices that do not reach one another); BERTH_EUNSUPPORTED
 *         (exact: collectives; times or sizes that may sum to more than 1e150); BERTH_ENOMEM;
 *         BERTH_ECALLBACK; BERTH_EINTERRUPT.
 *
 * Every placer keeps colocation groups, pins, unsupported types and, but for published variants
 * that do not, memory limits. What the latter means in berth_simulate with the same memory and
 * param_multiple, without noise and preempt:
 *   TOTAL                the placement does not run out of memory under any dispatch, links and
 *                        send. So the placers count all that is ever on a device and the largest
 *                        workspace on top of it (of ops that may take no time: all workspaces), and
 *                        refuse what would hold in some order only.
 *   INFERENCE, TRAINING what is held depends on the order. The first five: the placement does not
 *                        run out first in, first out, with the same links and quantum (on free
 *                        links nor with PLANNED and its sequence). If their own rule runs out
 *                        there, it is run again with that share of the outputs counted as never
 *                        freed that was there at once, or more; then ops move away from where
 *                        memory runs out; then devices in turn take slices of the ops in their
 *                        order, twins together; at last packings are tested one by one, up to a
 *                        number.
 *                        The others: it does not run out with PLANNED and its sequence, with links
 *                        FREE for both. Planned for other links, run in another order, or by a
 *                        policy that says "not now", it may; "critical-path" variant "code" has no
 *                        sequence. Where their rule gets stuck, ops move until it does not; where
 *                        its order would still run out, and first in, first out does not, that is
 *                        the plan.
 */
berth_status berth_place(berth_cost *cost, const char *placer, const berth_place_options *opts,
                         berth_placement **out, berth_obstacle *why);

/* ---- adjusting ---- */

/** On which device a colocation group goes that a placement, made without regard to groups, has
 *  split. Ties: of ops and sums, the device with the lowest op; FREQUENT: the lowest device. */
typedef enum berth_adjust_by {
  BERTH_ADJUST_RANDOM,     /* that of its first op, by id (so called by the published program) */
  BERTH_ADJUST_MEMORY,     /* that of its op with the largest demand: parameters, workspace and
                              outputs */
  BERTH_ADJUST_TIME,       /* that of its op with the longest time, where it is (0 where it cannot
                              run) */
  BERTH_ADJUST_FREQUENT,   /* that of most of its ops */
  BERTH_ADJUST_MEMORY_SUM, /* that with the largest sum of demands */
  BERTH_ADJUST_TIME_SUM    /* that with the largest sum of times */
} berth_adjust_by;

typedef struct berth_adjust_options {
  berth_adjust_by by;        /* default FREQUENT */
  int fit;                   /* 0 (default): devices that cannot run the group are passed over,
                                memory is not checked. 1: the devices of its ops in the order of
                                `by`, then the others by id, until one fits; largest group
                                first */
  berth_place_options place; /* links, memory, param_multiple, quantum */
} berth_adjust_options;
/** @param g as for berth_place_default */
berth_adjust_options berth_adjust_default(const berth_graph *g);
const berth_option_table *berth_adjust_option_table(void);

/**
 * Puts each colocation group on one device; other ops stay where they are.
 *
 * @param device [ops] may split groups
 * @param opts NULL: defaults
 * @param out plan and estimate: first in, first out, as berth_place's first five; label "adjust"
 * @param why as in berth_place
 * @return BERTH_OK; BERTH_EINVAL (a device out of range; an op without group that cannot run where
 *         it is); BERTH_EINFEASIBLE (no device can run a group; with `fit`: an op or a group that
 *         fits nowhere, reported with the device that comes closest, or, under INFERENCE and
 *         TRAINING, where memory runs out first in, first out); else as berth_place
 *
 * With `fit`, TOTAL and no error, memory holds in any order. INFERENCE and TRAINING count what is
 * held for good (parameters) and the largest op on it; that what is held for a time fits, too, is
 * seen by one simulation at the end.
 * O(ops log + groups x devices). Source: Jeon et al., Baechi, 2020, published code (its adjusters).
 */
berth_status berth_adjust(berth_cost *cost, const int32_t *device, const berth_adjust_options *opts,
                          berth_placement **out, berth_obstacle *why);

/**
 * A placement near given devices that keeps colocation groups, pins, types, routes and memory.
 *
 * @param device [ops] need keep none of these; BERTH_NONE: nowhere yet. A group goes where most of
 *        its bytes are
 * @param opts NULL: defaults. Read are links, memory, param_multiple and quantum
 * @param out labelled "repair", with plan and estimate as the first five placers give them, and
 *        their promise about memory
 * @param why as in berth_place
 * @return as berth_place; BERTH_EINVAL also for a device that is not there
 *
 * What fits stays as it is. Else units move off devices that overflow, cheapest first in seconds of
 * transfers begun and of work on devices that have much of it, for each byte, and neighbours follow
 * where that saves time; then units are exchanged until nothing overflows; at last everything is
 * packed anew. Deterministic.
 */
berth_status berth_place_repair(berth_cost *cost, const int32_t *device,
                                const berth_place_options *opts, berth_placement **out,
                                berth_obstacle *why);
/** The fields of berth_place_options that it reads. */
const berth_option_table *berth_repair_option_table(void);

/* ---- portfolio ---- */
/* Several placers, the best answer by the objective. */

/** A placer of the user's as a member, on the calling thread. Any of the library may be called from
 * there, on this context.
 *  @param why BERTH_NONE and 0 on entry; may be filled with BERTH_EINFEASIBLE
 *  @param message [size] "" on entry; the reason, with another status than BERTH_OK; left "":
 *         berth_errmsg of the context
 *  @return BERTH_OK; a refusal, which is the member's; BERTH_ECALLBACK and BERTH_ENOMEM end the
 *          whole run */
typedef berth_status (*berth_member_fn)(void *ud, berth_cost *cost, berth_placement **out,
                                        berth_obstacle *why, char *message, size_t size);

/** One member: a placer and its options. `name` is what reports call it; NULL: the placer's. */
typedef struct berth_member {
  const char *name, *placer;
  berth_place_options options;
  berth_member_fn place;   /* NULL, or what places, instead of a placer by name */
  void *ud;
} berth_member;

enum { BERTH_CALLS_BY_SIZE = -1 };

typedef struct berth_portfolio_options {
  berth_place_options place;      /* links, memory, param_multiple, quantum, averages, tries, seed,
                                     gap: of every built-in member; what is for one placer only must
                                     be as by default */
  int32_t n_members;              /* 0: the built-in ones */
  const berth_member *members;    /* [n_members] instead of them; their options are taken as they
                                     are */
  const berth_sim_options *judge; /* the objective: makespan of this simulation; NULL: the default
                                     with links, memory, param_multiple and quantum of `place`.
                                     PLANNED without a sequence: each answer in its own; one that
                                     has none is not judged */
  int32_t threads;                /* 0: one per core, or a single one if the graph is small. A
                                     user's placer or policy, the linear program and metis run on
                                     the calling thread. With an allocator of the user's, which need
                                     not be for many threads, all do */
  int64_t calls;                  /* placements that a search from the best answer evaluates at
                                     most; 0: no search, nor a proof; BERTH_CALLS_BY_SIZE (default):
                                     8000, above 1,000 ops 8e6 / ops, above 10,000 ops 8e10 /
                                     ops^2, about a CPU second for 1,000 ops; none with members of
                                     the user's */
  double seconds;                 /* by the context's clock, for members and search: when it has
                                     passed none is begun, and those that run are stopped; 0
                                     (default): no limit. Alone, it replaces the default of calls.
                                     The baselines (single, round-robin) always run */
} berth_portfolio_options;
/** @param g as for berth_place_default. The built-in members, in this order: single, round-robin;
 *  m-etf with ties by level, topological and by b-level; m-sct with favourites greedily by
 *  through-length and from the linear program, both greedily with ties by level and topological,
 *  the program's also by b-level; with tau 0.5 and with 0.1, topological; etf, heft, peft, cpop,
 *  blevel, critical-path, minmin, m-topo, metis. Then, on sets of up to 8 ops by coplace: m-etf and
 *  m-sct by b-level, critical-path and heft with transfers weighed 2, etf with 0.5, m-topo; peft on
 *  chains; on sets of up to 16 ops by fuse: etf, minmin and blevel with 0.5, metis; on ops: blevel
 *  with 0.5, m-sct by through-length with 4; agent. The program of the ops is solved once */
berth_portfolio_options berth_portfolio_default(const berth_graph *g);
const berth_option_table *berth_portfolio_option_table(void);

typedef struct berth_portfolio berth_portfolio; /* what a run found; immutable */

typedef struct berth_member_report {
  const char *name;
  const char *placer;                 /* NULL: the user's own */
  const berth_place_options *options; /* with these berth_place(placer) gives the same; NULL: the
                                         user's own */
  berth_status status;                /* of placing and judging; BERTH_EINTERRUPT: stopped, or not
                                         begun, when the time had passed */
  const char *message;                /* "" if it answered */
  double makespan;                    /* s, by the judge; NaN: no answer */
  int oom;                            /* 1: it runs out of memory in the judge's simulation */
  berth_obstacle why;                 /* what stopped it, with BERTH_EINFEASIBLE or oom */
  berth_placement *placement;         /* borrowed; NULL: no answer */
  double seconds;                     /* by the context's clock, NaN without one or if not begun:
                                         placing and judging */
} berth_member_report;

/**
 * Runs the members and keeps the answer with the shortest makespan of those that keep memory; ties:
 * the first in the list. Up to 16 ops built-in members are followed by "exact" within 500,000
 * steps, which is a member where it proves its answer; what it proves is the bound of the best
 * answer. A search from the best ("anneal", with `start`) is the last member. Where the judge is
 * PLANNED without a sequence there is neither. Never worse, by the judge, than any member
 * whose answer keeps memory. Same input and seed, same answer, for any number of threads, as long
 * as no time limit stops it. The hook `progress` hears of members that are done ("portfolio"), of
 * nothing within them, and of the search ("search").
 *
 * @param opts NULL: defaults
 * @param out also filled, with what there is, when no member's answer keeps memory, or the hook
 *        stops the run after some member has answered; else NULL
 * @param why as in berth_place
 * @return BERTH_OK; BERTH_EINFEASIBLE (a proof that nothing fits if there is one, for which
 *         built-in members are not run; else what came closest); the error of the first member if
 *         none lacks memory; BERTH_EINTERRUPT (hook, or the time had passed before any member
 *         answered);
 *         errors of options; BERTH_ECALLBACK; BERTH_ENOMEM
 */
berth_status berth_portfolio_run(berth_cost *cost, const berth_portfolio_options *opts,
                                 berth_portfolio **out, berth_obstacle *why);
void berth_portfolio_release(berth_portfolio *p);
/** The best answer, borrowed; NULL: none keeps memory. */
berth_placement *berth_portfolio_best(const berth_portfolio *p);
int32_t berth_portfolio_winner(const berth_portfolio *p); /* its member; BERTH_NONE */
int32_t berth_portfolio_members(const berth_portfolio *p);
/** Borrowed until p goes; NULL: no such member. */
const berth_member_report *berth_portfolio_report(const berth_portfolio *p, int32_t member);

/* ---- exact ---- */
/* Exact makespans: branch and bound on small graphs, and schedules of ops without transfers on
 * identical devices. */

typedef struct berth_exact_options {
  berth_place_options place; /* read are memory, param_multiple, seed; links must be FREE and
                                quantum 0 */
  int64_t nodes;             /* partial schedules at most; 0 (default): with seconds no limit, else
                                1,000,000 up to 20 ops, and above 2e7 / (edges + ops x devices), a
                                tenth of that where list schedules (next) went before */
  int32_t schedules;         /* identical devices without transfers: list schedules at most; default
                                8000 */
  double seconds;            /* by the context's clock; 0 (default): no limit. Bounds and list
                                placers, which come first, are not cut short. Answers may then
                                differ from run to run */
} berth_exact_options;
/** @param g decides the memory policy as for berth_place_default */
berth_exact_options berth_exact_default(const berth_graph *g);
const berth_option_table *berth_exact_option_table(void);

typedef struct berth_exact_summary {
  double makespan, bound; /* s; no schedule is shorter than `bound`, as exactly as 1e-9 of it */
  int proved;             /* 1: makespan is the optimum: the bound reaches it */
  int interrupted;        /* 1: the interrupt hook returned stop; the answer is the best until
                             then */
  int timed_out;          /* 1: so did `seconds` */
  int64_t nodes;          /* partial schedules visited */
  int32_t schedules;      /* list schedules made */
} berth_exact_summary;

/**
 * The shortest makespan on free links, without preemption or duplication, or the best found and a
 * bound on it.
 *
 * First the list placers and the bounds of bound.h. Where all devices are alike, nothing takes time
 * to cross and no op is bound to a device or a group, one list placer, and instead of these bounds
 * the interval bound with heads and tails of ancestors; then list schedules forward and backward
 * from perturbed priorities, improved by pushing all ops to one end and back.
 * Then, up to 64 ops, branch and bound over partial schedules, in order of starts: which ready op
 * next, on which device. It drops what is too long by remaining path (transfers that no schedule
 * can avoid included) or work, what another one of the same ops, with equal devices renamed, is
 * nowhere later than, and all but one of equal idle devices. Memory: a schedule counts if
 * simulation (PLANNED, its sequence) does not run out of it; the shortest that did so limits the
 * bound, for waiting might have helped it.
 *
 * @param opts NULL: defaults  @param summary may be NULL  @param why as in berth_place
 * @return BERTH_OK, also without a proof and after an interrupt; BERTH_EINVAL (options);
 *         BERTH_EUNSUPPORTED (collectives, links, quantum, seconds without a clock);
 *         BERTH_EINFEASIBLE as from the list placers; BERTH_EUNREACHABLE; BERTH_ENOMEM
 * Deterministic, but for `seconds`: work is counted, not time. O(nodes x (edges + ops x devices))
 *
 * Sources: Fernandez, Bussell 1973 (interval bound); Valls, Ballestin, Quintanilla 2005 (pushing to
 * one end and back).
 */
berth_status berth_exact(berth_cost *cost, const berth_exact_options *opts, berth_placement **out,
                         berth_exact_summary *summary, berth_obstacle *why);

#ifdef __cplusplus
}
#endif
#endif
