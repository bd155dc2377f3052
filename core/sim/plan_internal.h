/* The plan of simulations: options and graph, prepared once; and the faults that end a run. */
#ifndef BERTH_PLAN_INTERNAL_H
#define BERTH_PLAN_INTERNAL_H

#include "base/heap_internal.h"
#include "base/pool_internal.h"
#include "cost/cost_internal.h"
#include "sim/dispatch/dispatch_internal.h"
#include "sim/rows_internal.h"
#include <berth/sim.h>

#if defined(__GNUC__)
# define BERTH_I_INLINE static inline __attribute__((always_inline))
#else
# define BERTH_I_INLINE static inline
#endif

#define BERTH_I_LIMIT_SLACK 1e-9 /* of a limit: sums in another order differ by rounding */
#define BERTH_I_MOST_QUANTA 9007199254740992.0 /* 2^53: the whole numbers up to there are exact */

/* ---- plan: immutable while simulating, shared by the threads of a batch ---- */

typedef struct berth_i_sim_plan {
  berth_i_pool pool;
  berth_ctx *ctx;
  berth_cost *cost;
  berth_sim_options o;   /* rank and sequence: own copies */
  int32_t n_ops, n_edges, n_devices, n_roots;
  double unit;           /* s per unit of simulated time */
  double horizon;        /* units: what would end later cannot be counted (exactly, in quanta; at
                            all, in s) */
  bool plain;            /* free push, nothing recorded or accounted: copies of tensors need no
                            tracking */
  bool contended;        /* transfers wait in queues; else their times are known when they are
                            requested for */
  bool choosy;           /* the dispatch compares ready ops: an instant's events are handled first,
                            then idle devices choose */
  bool preempt;          /* ... and choose again while busy */
  const double *work;    /* [n_ops * n_classes] units, without noise; own_work or the cost's */
  double *own_work;
  int32_t *edge_at;      /* [n_ops + 1] edges that leave an op */
  int32_t *edge_to;      /* [n_edges] consumer */
  int32_t *edge_tensor;  /* [n_edges] */
  double *edge_time;     /* [n_edges] units between any two devices; NULL: depends on the pair, or
                            noisy */
  int32_t *in_edge;      /* [n_edges] parallel to graph->in; NULL until needed */
  int32_t *roots;        /* [n_roots] ops without inputs, in id order */
  int32_t *number;       /* [n_ops] position in the topological order, for READY; else NULL */
  double *key;           /* [n_ops] what the dispatch has prepared; NULL: nothing */
  /* NULL: it does not compare */
  double (*dispatch_key)(const double *prepared, int32_t op, double time, double place);
  int32_t *forward_of;   /* [n_ops] forward op of a backward op, TRAINING; else NULL */
  double *tail;          /* [n_ops] units: least time from the start of an op to the end of all, for
                            limits; NULL until needed */
  struct berth_i_classes *classes; /* FAIR; else NULL */
  /* communication ops; without any: 0 and NULL */
  int32_t n_async;
  int32_t async_slot; /* of their next start or end */
  int32_t *async_op;  /* [n_async] ascending */
  uint8_t *is_async;  /* [n_ops] */
  /* collectives; without any: 0 and NULL */
  int32_t n_collectives;
  int32_t collective_slot; /* of the next end of a collective */
  int32_t n_participants;         /* a participant: one device of one collective */
  int32_t *participant_at;        /* [n_collectives + 1] each has as many places as it has members,
                                     or as there are devices */
  int32_t *participant_of;     /* [n_participants] the collective */
  int32_t n_flows;         /* FAIR: most flows of all collectives together */
} berth_i_sim_plan;

/** FAIR: ordered pairs of devices whose routes cross the same links of finite bandwidth are one
 * class. */
typedef struct berth_i_classes {
  int32_t n;
  int32_t *of_pair;      /* [n_devices^2] BERTH_NONE: no such link, or no route */
  int32_t *at, *link;    /* [n + 1] into [at[n]]: the links of each class, ascending */
  int32_t *owner;        /* [at[n]] parallel to link: the class */
  int32_t *on_link;      /* [n_links + 1] into lists of classes by link */
} berth_i_classes;

/** Makes p->classes. */
berth_status berth_i_classes_new(berth_i_sim_plan *p);

/** @param record the run will be traced */
berth_status berth_i_sim_plan_new(berth_cost *cost, const berth_sim_options *opts, bool record,
                                  berth_i_sim_plan **out);
void berth_i_sim_plan_release(berth_i_sim_plan *p);
/** Makes tail if it is not there. With noise, tails are 0. */
berth_status berth_i_sim_plan_tails(berth_i_sim_plan *p);
/** Makes in_edge if it is not there. */
berth_status berth_i_sim_plan_inputs(berth_i_sim_plan *p);
berth_status berth_i_sim_check_options(berth_cost *cost, const berth_sim_options *o);

/* ---- faults: found on any thread, reported on the calling one ---- */

typedef enum berth_i_fault_kind {
  BERTH_I_FAULT_NONE,
  BERTH_I_FAULT_DEVICE,      /* out of range */
  BERTH_I_FAULT_CANNOT_RUN,
  BERTH_I_FAULT_PIN,
  BERTH_I_FAULT_GROUP,        /* op and other are apart */
  BERTH_I_FAULT_UNREACHABLE,  /* tensor of op, from device to other */
  BERTH_I_FAULT_LATE_OP,      /* would end beyond the horizon */
  BERTH_I_FAULT_LATE_TENSOR,  /* tensor of op would reach device beyond the horizon */
  BERTH_I_FAULT_DEADLOCK,     /* op waits for other */
  BERTH_I_FAULT_COLLECTIVE_ROUTE,   /* collective `tensor`: no route from device to other */
  BERTH_I_FAULT_LATE_COLLECTIVE, /* collective `tensor` would end beyond the horizon */
  BERTH_I_FAULT_CALLBACK,     /* the cost's function for collectives gave `status`, and has set the
                                 message why */
  BERTH_I_FAULT_INTERRUPT
} berth_i_fault_kind;

typedef struct berth_i_fault {
  berth_i_fault_kind kind;
  int32_t op, device, other, tensor;
  berth_status status;
} berth_i_fault;

/** Sets the context's error text; returns the status, never BERTH_OK. */
berth_status berth_i_fault_report(const berth_i_sim_plan *p, const berth_i_fault *f);

#endif
