/* PD-ORS: online primal-dual scheduling of workers and parameter servers with locality; and OASiS,
 * from which it comes.
 *
 * Every resource of every machine in every slot has a price that grows with what is committed
 * there. A job that arrives gets the schedule with the largest utility less cost; it is admitted,
 * with that schedule for good, if that is above 0. So `plans` FINAL; by default they are revised.
 *
 * Source as berth/ps.h. Departs from it: prices are kept as logarithms. Work is counted in quanta,
 * of which a slot at full speed is a whole number. Rounding is followed by repair unless `mode`
 * decides otherwise. A resource that no job takes has no price; what a machine has none of is not
 * to be had. L and U leave out jobs that cannot be done in time even alone; the utility in L is at
 * least `floor` times the importance, and U at least e L. Streams of random numbers go by seed,
 * job, contents of a slot and amount of work, so that equal slots are solved once. If moves cost
 * time (`moving`), every slot is planned as if it began with one, and the plan is cut where it is
 * done without those that it does not have. On shared links final plans follow equation 1. OASiS
 * has machines for workers, the first half and the odd one, and others for servers; its chunks
 * are samples, and its workers run at the speed across machines. */
#ifndef BERTH_PDORS_H
#define BERTH_PDORS_H

#include <berth/ps.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum berth_pdors_mode {
  BERTH_PDORS_FAITHFUL, /* round the LP until feasible, at most `tries` times, else there is no
                           schedule in that slot */
  BERTH_PDORS_REPAIRED, /* default: rounded ones are repaired; floor and greedy are candidates,
                           too */
  BERTH_PDORS_EXACT     /* the best whole numbers for each slot: a table over machines that dual
                           prices prune; about twice the time */
} berth_pdors_mode;

typedef enum berth_pdors_algorithm { BERTH_PDORS, BERTH_OASIS } berth_pdors_algorithm;
typedef enum berth_pdors_favour { BERTH_PDORS_PACKING, BERTH_PDORS_COVERING } berth_pdors_favour;
typedef enum berth_pdors_gdelta {
  BERTH_GDELTA_FORMULA,
  BERTH_GDELTA_TIGHT,
  BERTH_GDELTA_GIVEN
} berth_pdors_gdelta;
typedef enum berth_pdors_bounds {
  BERTH_PDORS_ORACLE, /* L and U from all jobs of the problem, as the evaluation does */
  BERTH_PDORS_PRIOR,  /* as given */
  BERTH_PDORS_ONLINE, /* from jobs seen so far, widened by `safety` */
  BERTH_PDORS_AUTO    /* default: ORACLE if plans are FINAL, else ONLINE */
} berth_pdors_bounds;
typedef enum berth_pdors_plans {
  BERTH_PDORS_REVISED, /* default: in a run, all jobs that are present are planned again whenever
                          one came, ended early or is late, those worth most for their share of the
                          cluster first. Only jobs that cannot be done in time are refused. With
                          shared links plans follow the true speeds */
  BERTH_PDORS_FINAL    /* as published: a job that comes is admitted with its plan for good, or
                          refused; on shared links plans follow equation 1 */
} berth_pdors_plans;

typedef struct berth_pdors_options {
  berth_pdors_algorithm algorithm; /* OASIS requires plans FINAL */
  berth_pdors_plans plans;
  berth_pdors_mode mode;
  berth_pdors_favour favour;
  berth_pdors_gdelta gdelta;
  double factor;               /* G, if gdelta is GIVEN */
  double delta;                /* default 0.5 */
  int32_t tries;               /* roundings of a program; default 20 */
  int32_t quanta, most_quanta; /* of a job's work: about, and at most; default 64, 256 */
  int exact_work;              /* a quantum is a sample; for tiny jobs */
  berth_pdors_bounds bounds;
  double low, high[BERTH_PS_RESOURCES]; /* L and U if bounds is PRIOR; above 0 */
  double safety;              /* of ONLINE; default 2 */
  double low_scale, high_scale; /* L and U times these; default 1 */
  int per_job;                /* L and U are the least and greatest worth per unit of all that a job
                                 takes, as in online knapsacks: * then prices hold back all of a
                                 cluster, and no more, for better jobs. Default 0: as published, *
                                 where U is per unit of one worker and one server, and L all
                                 capacity at most half of a job's * worth */
  double floor;               /* least utility in L, by importance; default 1e-6 */
  int reclaim;                /* what an early end leaves is free again; default 1, 0 in the
                                 published one; 0 requires plans FINAL */
  int extend;                 /* a job that is not done at the end of its plan (slower than thought)
                                 is planned on; default 1; 0 requires plans FINAL */
  int32_t nodes;              /* of EXACT: entries of its table for a slot; default 100000 */
  uint64_t seed;
} berth_pdors_options;
berth_pdors_options berth_pdors_default(void);
const berth_option_table *berth_pdors_option_table(void);

/** G_delta for n rows whose least ratio of bound to coefficient is w (PD-ORS 4.4). TIGHT is always
 *  valid, FORMULA when packing only if it is 1/2 or more. @return NAN unless n >= 1, w > 0, 0 <
 *  delta < 1 */
double berth_gdelta(berth_pdors_favour favour, berth_pdors_gdelta form, double n, double delta,
                    double w);

typedef struct berth_pdors berth_pdors;
/** @return BERTH_OK; BERTH_EINVAL (options); BERTH_ENOMEM */
berth_status berth_pdors_new(berth_ps *p, const berth_pdors_options *opts, berth_pdors **out);
void berth_pdors_release(berth_pdors *d);
/** For a run of the same problem, or of one with as many jobs, machines, resources and slots (plans
 *  then follow what d believes). It keeps what it committed: one run each. Jobs are refused with
 *  cause 1: no schedule would be done in time; 2: none pays (FINAL only). d must outlive the
 *  run. */
berth_ps_policy berth_pdors_policy(berth_pdors *d);

/** A schedule. */
typedef struct berth_pdors_plan {
  bool admitted;
  double payoff, utility, cost;   /* utility less cost; NAN if there is no schedule, or `bound`
                                     shows that none pays */
  double bound;                   /* no schedule pays more at these prices: work in any shares,
                                     slots at their cheapest machines, or * -INFINITY: it cannot be
                                     done in time */
  int32_t done;                   /* slot in which it will be done; BERTH_NONE */
  size_t n;
  const int32_t *slot;            /* [n] ascending; borrowed until the next decision */
  const berth_ps_place *place;    /* [n] */
} berth_pdors_plan;
/**
 * The best schedule for a job at the present prices, from its arrival on. Commits nothing; under
 * ONLINE, the default of revised plans, the job counts as seen. Equal payoffs: the earliest end;
 * equal costs: earlier slots.
 *
 * @return BERTH_OK, also if there is none; BERTH_EINVAL (no such job); BERTH_EUNSUPPORTED
 *         (exact_work with more than 16384 samples); BERTH_ENOMEM; BERTH_EINTERRUPT
 *
 * O(k machines resources + slots q v) and the slots that bounds leave to be solved, with k
 * different slots, q quanta in all and v at most in a slot. Source: PD-ORS, algorithms 2 and 3.
 */
berth_status berth_pdors_decide(berth_pdors *d, int32_t job, berth_pdors_plan *out);
/** Decides, and commits if admitted.  @return also BERTH_EINVAL: it was decided about before */
berth_status berth_pdors_admit(berth_pdors *d, int32_t job, berth_pdors_plan *out);
/** Price of a resource of a machine in a slot. NAN: no such. O(1) */
double berth_pdors_price(const berth_pdors *d, int32_t machine, int32_t resource, int32_t slot);
/** L and U as they are now; under OASiS of the machine's pool. 0 both if no job takes of the
 * resource, or no job was seen yet.
 *  @return BERTH_EINVAL: no such machine or resource */
berth_status berth_pdors_range(const berth_pdors *d, int32_t machine, int32_t resource, double *low,
                               double *high);
/* [machines * resources] borrowed */
const double *berth_pdors_committed(const berth_pdors *d, int32_t slot);

typedef struct berth_pdors_counts {
  int64_t slots_solved, slots_remembered, programs, roundings, never_feasible, repairs, pivots;
  int64_t unproved; /* of EXACT: more nodes than allowed, the repaired answer is kept */
} berth_pdors_counts;
berth_pdors_counts berth_pdors_counted(const berth_pdors *d);

/* ---- certificates ---- */

typedef struct berth_pdors_certificate {
  double utility;     /* of the run */
  double bound;       /* no schedule of all these jobs, even one with all of them known in advance,
                         is worth more */
  double ratio;       /* utility / bound; NAN if the bound is 0 */
  int32_t possible;   /* jobs that could be done in time, and worth something, if each were alone.
                         0: no schedule of any policy is worth anything */
  double prices;      /* part of the bound: prices times capacities */
  double jobs;        /* part of the bound: payoffs */
  double worst_case;  /* what the paper guarantees: 6 G / delta max(1, ln U / L); OASiS and EXACT 2
                         max(1, ln U / L). NAN: nothing, * as L or U are others */
} berth_pdors_certificate;
/**
 * Dual bound at the best of several prices: those of now, scaled ones, steps along a subgradient.
 * It holds for every policy, so d need not have played the run; only where it begins depends on
 * what is committed. Machines of the same capacities have the same prices.
 *
 * @param utility of the run
 * @param steps of improvement; 0: prices as they are; 50 to 200 sensible
 * @return BERTH_OK; BERTH_EINVAL (utility, steps below 0); BERTH_ENOMEM; BERTH_EINTERRUPT
 *
 * O(jobs slots (types resources + log slots)) a step, and about 100 times that to scale. Source:
 * weak duality, PD-ORS, section 2. Rigorous up to 1e-9 of the bound.
 */
berth_status berth_pdors_certify(berth_pdors *d, double utility, int32_t steps,
                                 berth_pdors_certificate *out);

typedef struct berth_pdors_optimum {
  double utility, bound;  /* equal if proved */
  bool proved;
  int32_t nodes;
} berth_pdors_optimum;
/**
 * The best schedule if all jobs are known in advance: an integer program, for small problems (a few
 * jobs, machines and slots).
 *
 * @param nodes of branch and bound; 0: no limit
 * @param utility_of [jobs] out, may be NULL
 * @return BERTH_OK; BERTH_EINVAL; BERTH_EUNSUPPORTED (shared links, moves that cost time, more than
 *         20000 columns; GLPK gave up); BERTH_ENOMEM; BERTH_EINTERRUPT
 */
berth_status berth_pdors_offline(berth_ps *p, int32_t nodes, berth_pdors_optimum *out,
                                 double *utility_of);

#ifdef __cplusplus
}
#endif
#endif
