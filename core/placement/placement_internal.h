/* The placement's layout, memory demands, the text of refusals, and planned times first in, first
 * out. */
#ifndef BERTH_PLACEMENT_INTERNAL_H
#define BERTH_PLACEMENT_INTERNAL_H

#include "cost/cost_internal.h"
#include <berth/placement.h>

struct berth_placement {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs, n;
  int32_t *device;        /* [n] */
  int32_t *sequence;      /* [n] or NULL */
  double *start, *finish; /* [n] or NULL */
  double estimate;        /* NaN: none */
  double bound;           /* NaN: none */
  int32_t links;          /* berth_links of the plan; BERTH_NONE: no plan */
  char *placer;
};

/** An empty placement for a placer to fill: device (all BERTH_NONE), and with `planned` sequence,
 * start and finish too. */
berth_status berth_i_placement_make(berth_ctx *ctx, int32_t n, const char *placer, bool planned,
                                    berth_placement **out);

/** Moves a placement with one reference to another context with the same allocator. */
void berth_i_placement_move(berth_placement *p, berth_ctx *to);
/** Bytes over a limit; 0 or less: they fit. Every comparison with a device's memory goes through
 *  it: less than 1e-12 of the limit is rounding. */
static inline double berth_i_excess(double bytes, double limit) {
  double over = bytes - limit;
  return over > 1e-12 * limit ? over : fmin(over, 0);
}
/** Some device has a limit, and the policy counts. */
static inline bool berth_i_memory_counts(const berth_cost *cost, berth_memory_policy memory) {
  for (int32_t d = 0; memory != BERTH_MEMORY_NONE && d < cost->n_devices; d++) {
    if (!isinf(cost->t->devices[d].memory)) return true;
  }
  return false;
}

/** Resident bytes of what an op produces, and of what it reads: all of them are on its device while
 * it runs. */
static inline double berth_i_output_bytes(const berth_graph *g, int32_t op) {
  double sum = 0;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) sum += berth_i_resident(g, g->out[i]);
  return sum;
}
static inline double berth_i_input_bytes(const berth_graph *g, int32_t op) {
  double sum = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) sum += berth_i_resident(g, g->in[i]);
  return sum;
}

/** On some device the op takes no time: then its workspace and that of the next op there can be
 *  held in the same instant; as it can be if the op runs beside what its device computes. */
static inline bool berth_i_may_be_instant(const berth_cost *cost, int32_t op) {
  const double *time = cost->op + (size_t)op * (size_t)cost->n_classes;
  int32_t c = 0;
  if (berth_i_is_communication(cost->g, op)) return true;
  while (c < cost->n_classes && time[c] > 0) c++;
  return c < cost->n_classes;
}

/** Some of the n times is infinite: a device without a route to another, or a type that cannot run
 *  an op. */
static inline bool berth_i_any_infinite(const double *x, size_t n) {
  size_t i = 0;
  while (i < n && !isinf(x[i])) i++;
  return i < n;
}
/** Members of the largest collective; 0: there is none. */
static inline size_t berth_i_most_members(const berth_graph *g) {
  int32_t most = 0;
  for (int32_t k = 0; k < g->n_collectives; k++) {
    if (g->collectives[k].n_members > most) most = g->collectives[k].n_members;
  }
  return (size_t)most;
}

/** Permanent bytes of an op on its device under a memory policy, and those while it runs.
 *  TOTAL, TRAINING and INFERENCE alike count parameters x multiple as permanent; TOTAL also the
 *  resident bytes of outputs. */
typedef struct berth_i_demand {
  double permanent, temporary;
} berth_i_demand;
berth_i_demand berth_i_op_demand(const berth_graph *g, int32_t op, berth_memory_policy policy,
                                 double param_multiple);

/** A placer found nothing: which op stopped it, by how many bytes; missing 0: type, pin or group.
 *  Sets the message and *why (may be NULL). @return BERTH_EINFEASIBLE */
berth_status berth_i_infeasible(berth_cost *cost, const char *placer, int32_t op, int32_t device,
                                double missing, berth_obstacle *why);
/** The same, proved: no placer could find anything. */
berth_status berth_i_cannot_fit(berth_cost *cost, const char *placer, int32_t op, int32_t device,
                                double missing, berth_obstacle *why);
/** Orders the sequence by start, finish, and where it was: an op of no length comes before one that
 *  starts with it. O(ops log) */
berth_status berth_i_order_by_start(berth_placement *p);
/** Devices are chosen, but run first in, first out they exceed memory. */
berth_status berth_i_runs_out(berth_cost *cost, const char *placer, const berth_oom *oom,
                              berth_obstacle *why);
/** First in, first out, under the same links, quantum and memory. */
berth_sim_options berth_i_fifo_options(const berth_cost *cost, const berth_place_options *opts);
/** Fills sequence, start, finish and estimate: the placement's devices run first in, first out (by
 *  ready time) under opts->links and opts->quantum.
 *  @param oom where memory runs out on the way, under opts->memory, its shortfall up to the peak;
 *         op BERTH_NONE: it holds
 *  @param live NULL, or the share of the outputs and copies on that device that are there at its
 *         peak; untouched if it holds */
berth_status berth_i_plan_fifo(berth_cost *cost, const berth_place_options *opts,
                               berth_placement *p, berth_oom *oom, double *live);

#endif
