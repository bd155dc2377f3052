/* Layout of a result. It keeps the plan, the log and the copies, for the slack; arrays taken over
 * from the state are in `kept`. */
#ifndef BERTH_RESULT_INTERNAL_H
#define BERTH_RESULT_INTERNAL_H

#include "sim_internal.h"

struct berth_result {
  berth_i_pool pool;
  berth_i_pool kept;                  /* taken over from the state: trace, lead, collective_device,
                                         levels */
  berth_ctx *ctx;
  int32_t refs;
  berth_i_sim_plan *plan;
  berth_i_trace *trace;               /* times in s */
  int32_t *lead;                      /* [n_edges] */
  double makespan;
  int32_t *device;                   /* [n_ops] */
  double *busy, *peak, *peak_time;   /* [n_devices] */
  berth_transfer *by_start;          /* [n_sent] NULL: the trace has them in that order */
  double *link_bytes, *link_busy;    /* [n_links] */
  int32_t *sharing;                  /* [n_links] NULL: not computed yet */
  berth_overlap *overlap;            /* [n_devices + 1] NULL: not computed yet */
  berth_collective_run *collectives; /* [n_collectives] */
  int32_t *collective_device;        /* [n_participants] NULL without collectives */
  berth_oom oom;
  berth_i_levels *levels;             /* [n_devices]; NULL: memory was not accounted */
  berth_sim_options options;          /* rank and sequence: NULL */
  int32_t *peak_at;                   /* [n_devices + 1] into the next two */
  int32_t *peak_op;                   /* [n_ops] at most */
  double *peak_bytes;
  int32_t *critical;                  /* [n_ops] at most */
  int32_t n_critical;
  double *slack;                      /* [n_ops] s; NULL: not computed yet */
};

/** Copies what the collectives of the state did. */
berth_status berth_i_result_collectives(berth_result *r, const berth_i_sim_state *s);
/** Fills link_bytes and link_busy. */
berth_status berth_i_result_links(berth_result *r);
/** Fills slack[n_ops]. */
berth_status berth_i_result_slack(const berth_result *r, double *slack);
/** What was computed and stays: a copy in the result's pool.  @return NULL: refused */
static inline void *berth_i_result_keep(berth_result *r, const void *from, size_t n, size_t size) {
  void *copy = berth_i_pool_copy(&r->pool, from, n, size);
  berth_i_pool_status(&r->pool);
  return copy;
}

#endif
