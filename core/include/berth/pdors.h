/* PD-ORS: online primal-dual scheduling of workers and parameter servers with locality; and OASiS, from which it comes.
 *
 * Every resource of every machine in every slot has a price that grows with what is committed there. A job that arrives gets the
 * schedule with the largest utility less cost; it is admitted, with that schedule for good, if that is above 0.
 *
 * Source as berth/ps.h. Prices are kept as logarithms; work is counted in quanta; rounding is followed by repair unless `mode` says
 * otherwise. */
#ifndef BERTH_PDORS_H
#define BERTH_PDORS_H

#include <berth/ps.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum berth_pdors_mode {
  BERTH_PDORS_FAITHFUL, /* round the LP until feasible, at most `tries` times, else there is no schedule in that slot */
  BERTH_PDORS_REPAIRED, /* default: rounded ones are repaired; floor and greedy are candidates, too */
  BERTH_PDORS_EXACT     /* the slot's integer program by branch and bound; for small clusters */
} berth_pdors_mode;

typedef enum berth_pdors_algorithm { BERTH_PDORS, BERTH_OASIS } berth_pdors_algorithm;
typedef enum berth_pdors_favour { BERTH_PDORS_PACKING, BERTH_PDORS_COVERING } berth_pdors_favour;
typedef enum berth_pdors_gdelta { BERTH_GDELTA_FORMULA, BERTH_GDELTA_TIGHT, BERTH_GDELTA_GIVEN } berth_pdors_gdelta;
typedef enum berth_pdors_bounds {
  BERTH_PDORS_ORACLE, /* L and U from all jobs of the problem, as the evaluation does */
  BERTH_PDORS_PRIOR,  /* as given */
  BERTH_PDORS_ONLINE  /* from jobs seen so far, widened by `safety` */
} berth_pdors_bounds;

typedef struct berth_pdors_options {
  berth_pdors_algorithm algorithm;
  berth_pdors_mode mode;
  berth_pdors_favour favour;
  berth_pdors_gdelta gdelta;
  double factor;              /* G, if gdelta is GIVEN */
  double delta;               /* default 0.5 */
  int32_t tries;              /* roundings of a program; default 20 */
  int32_t quanta, most_quanta; /* of a job's work: about, and at most; default 64, 256 */
  bool exact_work;            /* a quantum is a sample; for tiny jobs */
  berth_pdors_bounds bounds;
  double low, high[BERTH_PS_RESOURCES]; /* L and U if bounds is PRIOR; above 0 */
  double safety;              /* of ONLINE; default 2 */
  double floor;               /* least utility in L, by importance; default 1e-6 */
  bool reclaim;               /* what an early end leaves is given back; default true, false in the published one */
  int32_t nodes;              /* of a branch and bound; default 100000 */
  uint64_t seed;
} berth_pdors_options;
berth_pdors_options berth_pdors_defaults(void);

/** G_delta for n rows whose least ratio of bound to coefficient is w (PD-ORS 4.4). TIGHT is always valid, FORMULA when packing only if it is 1/2 or
 *  more.  @return NAN unless n >= 1, w > 0, 0 < delta < 1 */
double berth_gdelta(berth_pdors_favour favour, berth_pdors_gdelta form, double n, double delta, double w);

typedef struct berth_pdors berth_pdors;
/** @return BERTH_OK; BERTH_EINVAL (options); BERTH_ENOMEM */
berth_status berth_pdors_new(berth_ps *p, const berth_pdors_options *opts, berth_pdors **out);
void berth_pdors_release(berth_pdors *d);
/** For a run of the same problem. It keeps what it committed: one run each. */
berth_ps_policy berth_pdors_policy(berth_pdors *d);

/** A schedule. */
typedef struct berth_pdors_plan {
  bool admitted;
  double payoff, utility, cost;   /* utility less cost; NAN if there is no schedule */
  double bound;                   /* upper bound on the payoff at these prices, by the LPs of the slots */
  int32_t done;                   /* slot in which it will be done; BERTH_NONE */
  size_t n;
  const int32_t *slot;            /* [n] ascending; borrowed until the next decision */
  const berth_ps_place *place;    /* [n] */
} berth_pdors_plan;
/** The best schedule for a job at the present prices. Changes nothing. */
berth_status berth_pdors_decide(berth_pdors *d, int32_t job, berth_pdors_plan *out);
/** Decides, and commits if admitted. */
berth_status berth_pdors_admit(berth_pdors *d, int32_t job, berth_pdors_plan *out);
/** Price of a resource of a machine in a slot. NAN: no such. */
double berth_pdors_price(const berth_pdors *d, int32_t machine, int32_t resource, int32_t slot);
const double *berth_pdors_committed(const berth_pdors *d, int32_t slot); /* [machines * resources] borrowed */

typedef struct berth_pdors_counts {
  int64_t slots_solved, slots_remembered, programs, roundings, never_feasible, repairs, pivots;
} berth_pdors_counts;
berth_pdors_counts berth_pdors_counted(const berth_pdors *d);

/* ---- certificates --------------------------------------------------------------------------- */

typedef struct berth_pdors_certificate {
  double utility;     /* of the run */
  double bound;       /* no schedule of all these jobs, even one that knows all of them, is worth more */
  double ratio;       /* utility / bound; 1 if both are 0 */
  double prices;      /* part of the bound: prices times capacities */
  double jobs;        /* part of the bound: payoffs */
  double worst_case;  /* what the paper guarantees: 6 G / delta max(1, ln U / L); OASiS 2 max(1, ...) */
} berth_pdors_certificate;
/** Dual bound at the best of several price vectors (those committed now, scaled ones, subgradient steps).
 *  @param steps of improvement; 0: prices as they are */
berth_status berth_pdors_certify(berth_pdors *d, double utility, int32_t steps, berth_pdors_certificate *out);

typedef struct berth_pdors_optimum {
  double utility, bound;  /* equal if proved */
  bool proved;
  int32_t nodes;
} berth_pdors_optimum;
/** The best that one who knows all jobs can do: a MIP, for small problems.
 *  @param utility_of [jobs] out, may be NULL  */
berth_status berth_pdors_offline(berth_ps *p, int32_t nodes, berth_pdors_optimum *out, double *utility_of);

#ifdef __cplusplus
}
#endif
#endif
