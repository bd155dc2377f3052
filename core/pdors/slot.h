/* One slot of one job at given prices: the least cost of so many samples (theta of PD-ORS 4.3), and
 * a lower bound on it. */
#ifndef BERTH_PDORS_SLOT_H
#define BERTH_PDORS_SLOT_H

#include "base/base_internal.h"
#include <berth/pdors.h>

typedef struct berth_i_slot_solver berth_i_slot_solver;

/** A state of a slot. Machines with the same numbers in all resources are alike; solvers treat them
 * as one class. */
typedef struct berth_i_slot_state {
  const double *price; /* [machines * resources], INFINITY: not to be had */
  const double *left;  /* [machines * resources] */
} berth_i_slot_state;

typedef struct berth_i_slot_answer {
  bool feasible;
  double cost;         /* INFINITY if not feasible */
  double bound;        /* no schedule of that much in this slot costs less (LP); 0 at least */
  bool inside;         /* all on one machine */
  int32_t n;
  berth_ps_place *place; /* [machines] of the caller; machines ascending */
} berth_i_slot_answer;

/** Servers for that many workers. */
static inline double berth_i_pdors_servers(const berth_ps_job *j, double workers) {
  return fmax(1, ceil(workers / j->ratio * (1 - 1e-12)));
}
/** Whole workers for that much work; what is a rounding error above a whole number is that
 * number. */
static inline double berth_i_pdors_workers(double samples, double slots_of_worker) {
  return fmax(1, ceil(samples * slots_of_worker * (1 - 1e-12)));
}

berth_status berth_i_slot_solver_new(berth_ps *p, const berth_pdors_options *o,
                                     berth_i_slot_solver **out);
void berth_i_slot_solver_release(berth_i_slot_solver *s);
/** Prepares a state for a job: classes, prices of a worker and of a server, free units. Then solve
 * for any amounts of work. */
berth_status berth_i_slot_begin(berth_i_slot_solver *s, int32_t job,
                                const berth_i_slot_state *state);
/** @param samples above 0 @param stream of random numbers: the same one, the same answer, whatever
 *        was solved before */
berth_status berth_i_slot_solve(berth_i_slot_solver *s, double samples, uint64_t stream,
                                berth_i_slot_answer *out);
/** With shared links: most samples of the job in a slot of the state begun, by any offer. */
berth_status berth_i_slot_fastest(berth_i_slot_solver *s, double *speed);
const berth_pdors_counts *berth_i_slot_counts(const berth_i_slot_solver *s);

#endif
