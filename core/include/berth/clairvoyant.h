/* How many jobs could be accepted by somebody who knows all arrivals: a bound for schedulers that do not.
 *
 * Each job has choices: so many servers for so many seconds from its arrival, without a queue. The relaxation lets a job take
 * fractions of choices, one job's worth at most, and asks only that no more servers are in use than there are at the moment of
 * each arrival (in between, jobs only end): where the servers are does not matter. It is a linear program; any prices of the
 * moments prove a bound, and the program gives the best ones.
 *
 * Weak duality of linear programs is all that it stands on. docs/pacml.md, "A bound". */
#ifndef BERTH_CLAIRVOYANT_H
#define BERTH_CLAIRVOYANT_H

#include <berth/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct berth_clairvoyant_choice {
  double seconds;  /* from the arrival to the end; INFINITY: forever */
  int32_t servers; /* at least 1; more than there are: never taken */
} berth_clairvoyant_choice;

typedef struct berth_clairvoyant_jobs {
  int32_t n;                              /* jobs */
  const double *arrival;                  /* [n] s, ascending */
  const int32_t *first;                   /* [n + 1] choices of job i: first[i] .. first[i + 1] - 1; none: it is lost */
  const berth_clairvoyant_choice *choice; /* [first[n]] */
  int32_t servers;                        /* there are, at least 1 */
  double slack;                           /* s: a job that ends so little after an arrival is gone by then; published: 1e-7 */
} berth_clairvoyant_jobs;

typedef struct berth_clairvoyant_summary {
  double bound;       /* no more jobs can be accepted: proved by the prices, whatever the solver did */
  double value;       /* jobs that the relaxation accepts by the shares below; the optimum lies between */
  int32_t jobs;       /* bound, rounded down: jobs are whole */
  int32_t columns;    /* choices in the program: those that no other choice of the job makes useless */
  int32_t moments;    /* different arrivals */
  int32_t iterations; /* of the simplex method */
} berth_clairvoyant_summary;

typedef struct berth_clairvoyant berth_clairvoyant;

/**
 * @return BERTH_OK; BERTH_EINVAL (numbers that make no sense, each with its place); BERTH_ENOMEM; BERTH_EINTERRUPT;
 *         BERTH_EUNSUPPORTED (the solver gave up, or no thread for it can be had)
 *
 * 1001 arrivals with nine choices each: below a second. Deterministic. The solver (GLPK) runs on a thread of its own, so that
 * nothing of the caller's use of GLPK is touched; it allocates outside the context's allocator.
 */
berth_status berth_clairvoyant_new(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs, berth_clairvoyant **out);
void berth_clairvoyant_release(berth_clairvoyant *c); /* NULL is fine */
const berth_clairvoyant_summary *berth_clairvoyant_get(const berth_clairvoyant *c);
/** [first[n]] share of each choice that is taken, 0 to 1: they break no constraint beyond rounding. */
const double *berth_clairvoyant_share(const berth_clairvoyant *c);
/** [n] price of a server at the moment of each arrival, in jobs; of several at one moment the first has it, the others 0. */
const double *berth_clairvoyant_price(const berth_clairvoyant *c);

/**
 * The bound that prices prove: what the servers are worth, and of each job what its best choice is worth beyond its servers.
 *
 * @param price [n] of a server at the moment of each arrival, not negative
 * @return BERTH_OK; BERTH_EINVAL (as berth_clairvoyant_new; a price); BERTH_ENOMEM
 *
 * Uses nothing of the solver. O(choices log n).
 */
berth_status berth_clairvoyant_prove(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs, const double *price, double *bound);

#ifdef __cplusplus
}
#endif
#endif
