/* Trials that go on from a copy of the state of the base: for everything that has an order of
 * events. */
#ifndef BERTH_DELTA_CHECKPOINTS_INTERNAL_H
#define BERTH_DELTA_CHECKPOINTS_INTERNAL_H

#include "copy_internal.h"
#include "delta_internal.h"

/** The least times from the start of an op to the end of all under the placement, with transfers,
 * without collectives. */
typedef struct berth_i_paths {
  double *tail;        /* [n_ops] */
  int32_t *rank;       /* [n_ops] place in the topological order */
  int32_t *op;         /* [n] changed by the trial */
  double *before;      /* [n] */
  uint8_t *flagged;    /* [n_ops] 0 between calls */
  int32_t n;
  bool known;          /* those of the base are there */
} berth_i_paths;

struct berth_i_checkpoints {
  berth_i_pool pool;
  berth_i_sim_state **at;     /* [n] states of the base, or one before it, at `step`, 2 `step`, ...
                                 ends */
  int32_t *ended, *ended_now; /* [n_ops + n_collectives] in order, of the base and of the
                                 current run */
  int32_t *rank;              /* [n_ops + n_collectives] place in `ended` */
  int32_t *device;            /* [n_ops] of the base */
  int32_t *backward_of;       /* [n_ops] with forward twins that memory counts; else NULL */
  int32_t *turn;              /* [n_ops] PLANNED: place in the sequence; else NULL */
  berth_i_watch watch;
  berth_i_adapt adapt;
  berth_i_paths paths;
  int32_t n, n_valid;     /* n_valid: the first ones are states of this base */
  int32_t step;           /* ends between two of them */
  int32_t from;           /* ends before which the current run is the base's */
};

berth_status berth_i_paths_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_paths *x);
/** Those of the moved placement, until _back or _keep. @param base devices, if they are not
 * known */
const double *berth_i_paths_move(const berth_i_sim_plan *p, berth_i_paths *x,
                                 const berth_i_sim_state *s, const int32_t *base,
                                 const berth_i_moves *m);
void berth_i_paths_back(berth_i_paths *x);
/** The moved placement is the base. */
void berth_i_paths_keep(const berth_i_sim_plan *p, berth_i_paths *x, const berth_i_sim_state *s,
                        const berth_i_moves *m);

#endif
