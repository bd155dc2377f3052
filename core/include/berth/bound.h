/* Lower bounds on the makespan of a priced graph, and guarantees of placers.
 *
 * A bound holds for every placement, or for the given one, under the options it was computed with:
 * the optimality gap is makespan / bound - 1. A guarantee is a published worst-case ratio, with the
 * conditions that this graph and topology fulfil or not. Results are plain structs of the caller;
 * nothing is owned. */
#ifndef BERTH_BOUND_H
#define BERTH_BOUND_H

#include <berth/lp.h>
#include <berth/placement.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- lower bounds ---- */

/* With communication ops, which take no device's time, only the critical path (with them), work and
 * memory (without them) are computed; the others are NaN. */
typedef struct berth_bounds_options {
  berth_memory_policy memory; /* NONE: no bound counts memory; else what the simulator counts at the
                                 very least, in any order: parameters, with TOTAL outputs, and on
                                 top of all parameters what one op runs with (workspace, outputs,
                                 inputs). Default as in the simulator */
  double param_multiple;      /* as in berth_sim_options; default 1 */
  int thorough;               /* 0 (default): level "cheap"; up to 2000 ops, above "paths". 1: level
                                 "thorough", up to 4000 ops, above "linear program". Transfers take
                                 no time in critical path, work and memory of "paths" and "cheap";
                                 in work and memory of the others devices wait for them, too.
                                 Collectives take time in all */
  double gap;                 /* thorough: relative gap to which the linear program is solved;
                                 default 0.001. `lp` is its certified lower end, so that a wide gap
                                 makes it smaller, never wrong */
  berth_links links;          /* on which the schedules run; default FREE, and then the bounds hold
                                 for all of them */
  double effort;              /* million steps that bounds by search may take, about 3 ms each; the
                                 highest level that they afford is computed (`level`). 0 (default):
                                 as `thorough` says; above 0 excludes it */
} berth_bounds_options;
/** @param g decides the memory policy as for berth_place_default */
berth_bounds_options berth_bounds_default(const berth_graph *g);
const berth_option_table *berth_bounds_option_table(void);

typedef struct berth_bounds {
  double critical_path; /* s, longest path of least op times, no transfers */
  double transfers;     /* s, the same with the transfers that cannot be spared; NaN: not
                           computed */
  double lp;            /* s, berth_lp_solve with LEAST; NaN: not computed */
  double work;          /* s, work that the devices must share, at their best rates */
  double memory;        /* s, work bound with each device's share limited by its memory; 0: not
                           taken */
  double best;          /* s, the largest */
  const char *name;     /* of the largest: "critical path", "transfers", "linear program",
                           "work", "memory", "serial clusters", "intervals", "link cut"; ties: the
                           first of these */
  double clusters;      /* s, "serial clusters": what must share a device runs there one after
                           another; NaN: not computed */
  double intervals;     /* s, the same with the loads of intervals, at least `clusters`; NaN: not
                           computed */
  double link_cut;      /* s, "link cut": the same of parts of the devices, between which links are
                           thin; NaN: not computed, as where all pairs of devices are as close */
  const char *level;    /* what was computed. "paths": critical path, work, memory. "linear
                           program": also transfers and lp, for more than 4000 ops. "cheap": paths,
                           and clusters, intervals and a link cut with few steps, up to 2000 ops.
                           "windows": these, transfers and lp, with a search in parts of up to 64
                           ops, up to 4000 ops. "thorough": parts of any size, loads of intervals in
                           them, three link cuts */
} berth_bounds;

/**
 * Valid for every schedule without preemption or duplication. With `links` FREE on any link
 * discipline, as contention only makes transfers later; with another one for schedules under it, be
 * the queue, the order and the way to send what they may.
 *
 * `links`: a place (device; part, in a link cut) takes in, and gives out, through a port. CHANNEL,
 * DUPLEX: one transfer at a time for each device of it; PAIR: one for each pair with another
 * place's device; ROUTE, FAIR: one for each link, or the bytes/s of the links, of a set that all
 * routes into it (out of it) cross: their first links, their last links, or the narrowest of each,
 * whichever is least. The widest port counts for all places. The inputs of an op run before it on
 * its device, or go through its port; each takes the one or the other, so that both are not done
 * before some time, even if they may be divided (over all sets that are not ready before an
 * instant). So "transfers" and the joins and forks of "serial clusters", "intervals" and "link cut"
 * wait, clusters for all that surely crosses into or out of them, too. A tensor goes through the
 * port of a place once, and several tensors between two ops cross one after another (FAIR: at the
 * bandwidth of one route together). "critical path", "linear program", "work" and
 * "memory" do not count ports, but heads and tails of the latter two do with `thorough`. Above 1024
 * devices as FREE.
 *
 * Collectives: one whose members have one device each that can run them, by pin, group or type,
 * takes what it is priced there, in "critical path", "transfers" and in heads and tails everywhere;
 * "linear program" counts it as no time. Others, and those that a function prices, take none: all
 * members might be on one device.
 *
 * "transfers" is valid for any ratio of transfer to op times. Of the producers of an op, some set S
 * runs on its device, one after another; the others' tensors cross. So it starts no earlier than S
 * can be done there, nor than any other producer's end plus the least time of the transfer; the
 * bound takes the best S, which consists of those with the latest arrivals: any S that leaves out
 * an arrival at t holds all that arrive later than t, and is done no earlier for holding more.
 * Likewise, backwards, for the consumers of an op. Ops of one group are surely in S, ops pinned
 * apart surely not.
 *
 * "serial clusters" and "intervals" are destructive: a makespan T is disproved, the bound is the
 * largest T, found by bisection. From heads and tails, ops get windows within T. An edge that has
 * no time to cross joins its ends to a cluster, which one device runs one after another: its
 * preemptive schedule must end by T, and delays joins and forks at it. Of the inputs of a join some
 * of the latest stay with it, and it waits for the next one. Within any interval the devices must
 * do what their windows force the clusters to do; these are items that no device can split, so that
 * dual feasible functions apply. A join that keeps its producers together, or sends some across and
 * so shortens their windows, adds to that. A few open edges are tested both ways. Heads and tails
 * themselves come first, one after another, as bounds of the part of the graph that is before
 * (after) the op: of the latest 8, 16, 32, 64 ops there and then of all, each with a search, for
 * most of what delays a join is near it. What an op's device must have done before it is also
 * traced through the depth of
 * the graph: back through every edge that would deliver too late if it crossed. Memory takes part
 * under every policy but NONE: what is sure to share a device must fit (counted as for "memory"),
 * or some edge crosses; two clusters that no device holds are apart; all have to be packed.
 * Op times are the least that the cluster's types, pins and memory allow, transfer times the least
 * of all pairs; the work of an interval is priced by what each kind of device would take for it.
 * Collectives count in heads and tails only. Work is limited by counting, so that the answer
 * depends on nothing else; beyond the limit, and on larger graphs, the bound is smaller or left
 * out. They are sharp where transfers are long, or memory is tight.
 *
 * "link cut": devices are joined to parts (machines, say) along the closest pairs, up to where the
 * distance takes a step; CHEAP: the largest step, `thorough`: the three largest. A part is a device
 * that does as much at once as the largest has devices, and holds what all its devices hold; only
 * transfers between parts take time, the least over pairs of different parts. That many tensors
 * share a thin link counts as far as `links` allows.
 * Source: Jackson 1955, Carlier, Pinson 1989, Fekete, Schepers 2001 for the parts.
 *
 * @param opts NULL: defaults
 * @return BERTH_OK; BERTH_EINVAL (options); BERTH_EINFEASIBLE (proved: no placement can fit in any
 *         order; largest op, or total; or a bound beyond everything one after another: what has to
 *         be apart has no route, reported without op; not all infeasible problems are proved so);
 *         BERTH_ENOMEM; BERTH_EINTERRUPT
 * Not thorough: O(ops x kinds of device + edges), and up to 2000 ops O(ops x edges) and 9 million
 * steps (some 0.03 s), those of link cuts included; half as much again for ports. `thorough`:
 * beside the linear program O(edges log(edges) + devices^2), with prices from a user's table
 * O(tensors x devices^2); up to 4000 ops 220 million steps (some 0.7 s) at most, and 40, 20 and 10
 * million for the three cuts. `effort`: three quarters for devices, one for link cuts
 */
berth_status berth_bounds_compute(berth_cost *cost, const berth_bounds_options *opts,
                                  berth_bounds *out, berth_obstacle *why);

/* ---- guarantees -------------------------------------------------------------------------- *
 * How far from the optimum a placer's plan can be at most (berth_placement_estimate: what the
 * simulator makes of it with PLANNED), and whether that is proved for this graph on these devices.
 * n devices; W: sum of op times; c: the largest time of any tensor between two ops on any pair of
 * devices; rho = max c / min op time; r: the largest sum of c / sum of op times of a path.
 *
 * Greedy ("m-etf", "etf", also "m-sct": an op whose inputs would be on every device by now is
 * started on any idle one that it fits on). Follow the schedule backwards from the last op: while a
 * device that refuses no op is idle, some op of one chain runs, or a tensor of it crosses. With n'
 * devices that never refuse, P and C the op and transfer times of the chain:
 *   n' makespan <= W + (n' - 1) P + n' C.
 * With n' = n these are Graham's bound and that of Hwang, Chow, Anger, Lee 1989 (C <= rho P): 2 +
 * rho - 1/n. Here C <= r P: that is sharper (a path has fewer transfers than ops, so r < rho), and
 * says something where ops take no time, as inputs do: r is infinite only if two such ops have a
 * transfer between them.
 * Memory: a device that has ever refused an op held more than its limit less the largest demand of
 * one op; all that ops ever bring to their devices (parameters, outputs, copies of inputs), freed
 * later or not, is D, and is brought to one device only. So at most `closed` devices refuse, the
 * most whose such remainders sum up to D at most; n' = n - closed; OPT may even ignore memory.
 * Favourite children ("m-sct" with the linear program, rho <= 1): Hanen, Munier 1995; 2001. An edge
 * that is no favourite has x > tau (>= 1/2 for the maximal matching, and where it lost to one with
 * a larger y): the longest path is at most (1 + rho) / (1 + tau rho) times the program's value, and
 * that, but for the gap of its solution, is below the optimum. The latter needs rho itself: a
 * second child that follows at once behind one that takes no time waits for nothing, and the
 * program does not count that. */

typedef struct berth_guarantee_options {
  berth_memory_policy memory; /* what the placer counts; default as for berth_place_default */
  double param_multiple;      /* default 1 */
  berth_links links;          /* for which is planned, and on which it runs; default FREE */
  double tau;                 /* of m-sct; 0 (default), as there: the maximal matching */
  double gap;                 /* of m-sct; default 0.01 */
  double best;                /* s, a lower bound (berth_bounds.best); NaN (default): none */
  double makespan;            /* s, to be compared with it; NaN (default): none */
} berth_guarantee_options;
/** @param g as for berth_place_default */
berth_guarantee_options berth_guarantee_default(const berth_graph *g);
const berth_option_table *berth_guarantee_option_table(void);

enum { BERTH_GUARANTEES = 7, BERTH_GUARANTEE_REASON = 800 };

typedef struct berth_guarantee {
  const char *name;    /* "etf": 2 + r - 1/n. "etf seconds": longest path of (1 - 1/n) p + c, plus W
                          / n. "etf memory": n/n' + 1 + r - 1/n'. "etf memory seconds": as "etf
                          seconds" with n'. "sct unlimited": (1 + rho) / (1 + tau rho) (1 + gap).
                          "sct": 1 + (1 - 1/n) times that. "sct memory": n/n' + (1 - 1/n') times
                          that, proved with n' = n only: a full device turns favourites away, whose
                          tensors then cross */
  const char *placers; /* that keep it, in their corrected form (variant "") */
  double limit;        /* s, no schedule of theirs is longer; INFINITY: only the ratio is known */
  double ratio;        /* makespan / optimum at most; of "seconds": limit / `best`. INFINITY:
                          no guarantee, or the graph is out of the formula's range ("sct" with
                          rho above 1) */
  int valid;           /* 1: it holds here. 0: the numbers are what the formula gives, and prove
                          nothing */
  char why[BERTH_GUARANTEE_REASON]; /* why not, all that prevents it, with "; " between; "" if
                                       valid */
} berth_guarantee;

typedef struct berth_guarantees {
  double rho;          /* max c / min op time over all ops; 0 without transfers or with one device;
                          INFINITY if an op takes none (berth_cost_rho leaves such ops out, and
                          proves nothing for them) */
  double path_rho;     /* r; at most rho; 0 like it; INFINITY if two ops without time have a
                          transfer between them */
  int32_t devices;     /* n */
  int32_t closed;      /* n - n': devices that may refuse an op for lack of memory */
  double achieved;     /* makespan / best; NaN without one of them; 1 if both are 0 */
  berth_guarantee of[BERTH_GUARANTEES];
} berth_guarantees;

/**
 * @param opts NULL: defaults
 * @return BERTH_OK; BERTH_EINVAL (options); BERTH_ENOMEM. O(ops + edges + devices^2), a few times
 *         over for path_rho; with prices from a user's table O(tensors x devices^2)
 */
berth_status berth_guarantees_compute(berth_cost *cost, const berth_guarantee_options *opts,
                                      berth_guarantees *out);

#ifdef __cplusplus
}
#endif
#endif
