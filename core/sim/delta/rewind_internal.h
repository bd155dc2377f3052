/* The log of a base, shared by the files that rewind: starts and ends in order, with the insertion
 * numbers that came next, and marks at regular places. */
#ifndef BERTH_REWIND_INTERNAL_H
#define BERTH_REWIND_INTERNAL_H

#include "delta_internal.h"

typedef struct berth_i_record {
  double finish;
  int32_t start_at, end_at; /* in the log */
  int32_t touched;          /* first end of a producer, in the log; a root: ~its number */
  int32_t before;           /* op before it on its device; BERTH_NONE */
} berth_i_record;

struct berth_i_rewind {
  berth_i_pool pool;
  berth_i_notes notes;      /* the current run; from `from` on */
  int32_t *at;              /* [2 * n_ops] log of the base */
  uint32_t *seq;            /* [2 * n_ops] */
  berth_i_record *op;       /* [n_ops] of the base */
  int32_t step;             /* log entries between two marks */
  int32_t *on;              /* [n_marks * n_devices] last op that has started on each device before
                               each mark */
  double *begun;            /* [n_marks * n_devices] work that has started before */
  int32_t *ended;           /* [n_marks] */
  double *load;             /* [n_devices] of the base */
  double *load_moved;       /* [n_devices] of the current run */
  int32_t *count, *count_moved; /* [n_devices] ops */
  int32_t *run;             /* [n_devices] last op that has started before `from` */
  int32_t n_ended;          /* ops that have ended before `from` */
  int32_t from;             /* where the current run has left the base */
  int32_t valid;            /* the state is that of the base for what ended before this place in the
                               log */
  /* tails: least time from the start of an op to the end of all, on the devices of the base; for
   * the current run those of the ops in `set` are others */
  double *tail;             /* [n_ops] */
  int32_t *rank;            /* [n_ops] place in the topological order */
  int32_t *set;             /* [n_set] */
  double *tail_before;      /* [n_set] of the base */
  uint8_t *in_set;          /* [n_ops] */
  int32_t n_set;
};

/** Brings tails up to date with moves. O(what changes + ops before the last move)
 *  @param rank [n_ops] place in the topological order @param flagged [n_ops] zeros, left so
 *  @param op, before [n_ops] out: ops whose tail has changed and the old tails; NULL: not required
 *  @return how many, if op is not NULL */
int32_t berth_i_tails_change(const berth_i_sim_plan *p, const berth_i_sim_state *s,
                             const berth_i_moves *m, const int32_t *rank, uint8_t *flagged,
                             double *tail, int32_t *op, double *before);
void berth_i_rewind_ranks(const berth_i_sim_plan *p, berth_i_rewind *r);
/** From the start of op to the end of all at least, transfers between these devices included.
 *  @param tail [ops] known for its consumers */
double berth_i_placed_tail(const berth_i_sim_plan *p, const double *tail,
                           const berth_i_sim_state *s, const int32_t *device, int32_t op);
/** Of a new base, all. */
void berth_i_rewind_all_tails(const berth_i_sim_plan *p, berth_i_rewind *r,
                              const berth_i_sim_state *s, const int32_t *device);
/** Those of the moved placement, for all ops that start from r->from on, until _back. */
const double *berth_i_rewind_tails(const berth_i_sim_plan *p, berth_i_rewind *r,
                                   const berth_i_sim_state *s, const berth_i_moves *m);
void berth_i_rewind_tails_back(berth_i_rewind *r);
/** The moved placement becomes the base. */
void berth_i_rewind_new_tails(const berth_i_sim_plan *p, berth_i_rewind *r,
                              const berth_i_sim_state *s, const berth_i_moves *m);

#endif
