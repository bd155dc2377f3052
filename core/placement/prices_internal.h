/* The price form of the work bound: what a unit costs at the cheapest device, for the prices that
 * make the sum largest. */
#ifndef BERTH_PRICES_INTERNAL_H
#define BERTH_PRICES_INTERNAL_H

#include "units_internal.h"

/** What the simulator charges at the very least, whatever the order of ops, the links and the other
 *  devices do. A device has the parameters of its units all the time, in the end all that is never
 *  freed, and at some moment what one op runs with. */
typedef struct berth_i_least {
  double *held;   /* [units] bytes that are on its device when all ops have ended */
  double *param;  /* [units] bytes of parameters, part of these */
  double *moment; /* [units] bytes beside parameters while one of its ops runs: workspace, outputs,
                     inputs; of all ops the most */
  double *need;   /* [units] bytes at once, without the other units */
} berth_i_least;

/** What a set of units takes of the devices that it shares: sum, sum, most. */
typedef struct berth_i_least_bytes {
  double held, param, moment;
} berth_i_least_bytes;
static inline void berth_i_least_add(berth_i_least_bytes *sum, berth_i_least_bytes more) {
  sum->held += more.held;
  sum->param += more.param;
  sum->moment = fmax(sum->moment, more.moment);
}
static inline berth_i_least_bytes berth_i_least_unit(const berth_i_least *l, int32_t unit) {
  return (berth_i_least_bytes){ l->held[unit], l->param[unit], l->moment[unit] };
}
static inline double berth_i_least_need(berth_i_least_bytes x) {
  return fmax(x.held, x.param + x.moment);
}

/** @param pool of the arrays */
berth_status berth_i_least_init(const berth_i_units *u, berth_memory_policy memory,
                                berth_i_pool *pool, berth_i_least *l);

/** Devices that are alike for every unit are one kind: same times, same limit, nothing pinned to
 * them. */
typedef struct berth_i_kinds {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t n, devices, units;
  int32_t *of;      /* [devices] */
  int32_t *size;    /* [n] devices of the kind */
  int32_t *sample;  /* [n] one of them */
  double *limit;    /* [n] bytes of one device; INFINITY without memory accounting */
  double *time;     /* [units * n] s; INFINITY where type, pin, or (with memory) size forbid it */
  berth_i_least least;
  double slack;     /* of a limit: how far another order of summation, the simulator's, may fall
                       short */
} berth_i_kinds;

/** For proofs that something does not fit. */
static inline bool berth_i_exceeds(const berth_i_kinds *k, double bytes, double limit) {
  return berth_i_excess(bytes, limit * (1 + k->slack)) > 0;
}

/** @param memory NONE, or the units' own */
berth_status berth_i_kinds_init(const berth_i_units *u, berth_memory_policy memory,
                                berth_i_kinds *k);
void berth_i_kinds_release(berth_i_kinds *k);

/** Prices: P of time (sums to 1 over kinds), Q of memory (>= 0, s per byte). */
typedef struct berth_i_prices {
  double *time, *memory; /* [kinds] */
  double value;          /* s */
} berth_i_prices;

/**
 * Finds prices for a large bound, starting from those given; any prices give a valid one.
 *
 * Let x be any assignment of makespan T. Device d works at most T and holds at most M_d, so with
 * prices p_d, q_d >= 0 and sum p_d = 1:
 *   sum_u (p_x(u) t_u,x(u) + q_x(u) m_u) <= T + sum_d q_d M_d,
 * hence  T >= sum_u min_d (p_d t_ud + q_d m_u) - sum_d q_d M_d.
 *
 * @param with_memory false: memory prices stay 0
 */
berth_status berth_i_prices_raise(berth_ctx *ctx, const berth_i_kinds *k, bool with_memory,
                                  berth_i_prices *p);

#endif
