/* Splits of a graph over accelerators and CPUs, measured and searched, for pipelined throughput
 * (the largest load of a device) or for the latency of one sample. The answer is a placement with
 * one reference of the caller's; loads and reports are arrays and structs of the caller. */
#ifndef BERTH_SPLIT_H
#define BERTH_SPLIT_H

#include <berth/placement.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The model. Devices are accelerators, all alike, or CPUs, all alike; all data pass through the
 * memory of the host. A set S of ops on an accelerator takes its load: op times, and the transfer
 * time of every tensor with an edge that crosses S, in or out, once each. Its parameters must fit.
 * On a CPU ops take their times and nothing else, and there is no limit.
 *
 * Max load: a pipeline takes one sample per largest load. Latency, of one sample: an accelerator
 * starts when all its inputs have been made and runs for its load, in one go, after which its
 * outputs are there; an op on a CPU starts as soon as its inputs are there, whatever else runs.
 *
 * Contiguous: what the devices have of the forward part are the differences of a chain of
 * downward-closed sets of ops (ideals); an op of a backward pass goes where its colocation group
 * goes. Groups are contracted first, an op without group is a unit by itself; one of the backward
 * pass only counts as forward, its backward edges turned round; circles of groups are fused; then a
 * unit that takes no time and has a single neighbour joins it, over and over: that cannot raise a
 * load, and keeps the ideals few. (Where such a unit has parameters and memory is tight it is a
 * restriction.) */

typedef enum berth_split_objective {
  BERTH_SPLIT_MAX_LOAD,
  BERTH_SPLIT_LATENCY
} berth_split_objective;

typedef struct berth_split_options {
  berth_split_objective objective; /* default MAX_LOAD */
  const char *cpu;                 /* devices of this type are CPUs; default "cpu" */
  int contiguous;                  /* 1 (default): the best contiguous split, of MAX_LOAD. 0: then
                                      units move and change places one by one as long as that helps;
                                      `contiguous` of the report is what it became. LATENCY has
                                      a search of its own */
  double memory;                   /* bytes that ideals and tables may take; default 192 MiB; may be
                                      infinite */
  double visits;                   /* at most so many pairs of ideals are evaluated; INFINITY
                                      (default): no limit. LATENCY: what is left of them limits the
                                      moves, too, which are 60,000 at most */
} berth_split_options;
berth_split_options berth_split_default(void);
const berth_option_table *berth_split_option_table(void);
/** What berth_split_measure reads of them. */
const berth_option_table *berth_split_measure_option_table(void);

typedef struct berth_split_value {
  double max_load;       /* s; INFINITY: an op cannot run where it is */
  int32_t busiest;       /* device of the largest load; ties: the lowest */
  double latency;        /* s; INFINITY: devices wait for one another in a circle, as with most
                            splits of training graphs */
  int32_t over;          /* the device that exceeds its memory most; BERTH_NONE: all fit */
  double missing;        /* bytes, there; 0 */
} berth_split_value;

/**
 * What a given split is worth, contiguous or not, groups kept or not.
 *
 * @param device [ops]
 * @param opts   NULL: defaults; only cpu is read
 * @param loads  [devices] s; may be NULL
 * @return BERTH_OK; BERTH_EINVAL (options, a device that is not there); BERTH_EUNSUPPORTED
 *         (collectives; devices of a sort that are not alike, or pairs of devices with different
 *         transfer times); BERTH_ENOMEM
 * O(ops + edges)
 */
berth_status berth_split_measure(berth_cost *cost, const int32_t *device,
                                 const berth_split_options *opts, double *loads,
                                 berth_split_value *out);

typedef struct berth_split_report {
  berth_split_value value; /* of the answer */
  double bound;            /* s; MAX_LOAD: nothing contiguous is below it. LATENCY: no split is */
  int proven;              /* 1: the best contiguous split was found and proved, before any other
                              improvement */
  double contiguous_load;  /* s; max load of the best contiguous split found; NaN with LATENCY */
  int contiguous;          /* 1: the answer is contiguous */
  int32_t units;           /* after contraction */
  double ideals;           /* that were listed; 0: the search ended before; not all of them if
                              complete is 0 */
  int complete;            /* 1: all ideals were listed */
  double visits;           /* pairs of ideals evaluated */
} berth_split_report;

/**
 * MAX_LOAD: the best split by a dynamic program over ideals. A start from dynamic programs along
 * topological orders limits it, work left limits what a partial split is worth, and thresholds
 * between bound and start are tested in turn, so that most ideals are never expanded. LATENCY:
 * dynamic programs for the least sum of the loads, along topological orders and, where few enough
 * steps do, over all ideals; one device alone; a core on one accelerator with a shell on CPUs,
 * which is what is left to training graphs that no accelerator holds; then annealing on the latency
 * from the best, by single units and by all that lies on one side of a cut.
 *
 * @param opts NULL: defaults
 * @param why  filled with BERTH_EINFEASIBLE; may be NULL
 * @return BERTH_OK, also if memory, visits or the interrupt hook ended the search after an answer
 *         was found (proven is 0); else BERTH_EINTERRUPT; BERTH_EINFEASIBLE (an op larger than an
 *         accelerator, or more than all of them hold, without CPUs; no contiguous split that fits);
 *         as berth_split_measure; BERTH_EUNSUPPORTED also for pins
 * Deterministic. Source: Tarnawski, Phanishayee, Devanur, Mahajan, Nina Paravecino, "Efficient
 * Algorithms for Device Placement of DNN Graph Operators", 2020, sec. 5; start, bounds and
 * thresholds are ours.
 */
berth_status berth_split_find(berth_cost *cost, const berth_split_options *opts,
                              berth_placement **out, berth_split_report *report,
                              berth_obstacle *why);

#ifdef __cplusplus
}
#endif
#endif
