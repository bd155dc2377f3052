/* What the evaluator keeps with a problem. Nearly all is computed on first use.
 *
 * A spread is how an action spreads the ops of a group: a place, and cut by EVEN or SPEED,
 * whole, or spread (SPLIT). Spreads of the actions are numbered from 0; several actions may have
 * one. */
#ifndef BERTH_VALUES_INTERNAL_H
#define BERTH_VALUES_INTERNAL_H

#include "deploy_internal.h"
#include <berth/deploy.h>

typedef enum berth_i_manner {
  BERTH_I_BY_EVEN,
  BERTH_I_BY_SPEED,
  BERTH_I_BY_WHOLE,
  BERTH_I_BY_SPLIT
} berth_i_manner;

typedef struct berth_i_spread {
  int32_t place;
  berth_i_manner manner;
} berth_i_spread;

/** Tensors from one op group to another. */
typedef struct berth_i_crossing {
  int32_t from, to;
  double cut, whole; /* bytes, of the full batch: of those that are cut along it, of the others */
} berth_i_crossing;

/** Seconds for each byte between two spreads; NaN: not computed yet. */
typedef struct berth_i_rate {
  float cut, whole;
  float latency;     /* s, once */
} berth_i_rate;

/** Repeated by the rule LOCAL. */
typedef struct berth_i_local_sfb {
  double saved;      /* s against no op repeated, at least 0 */
  uint8_t flag[];    /* [ops of the group] as in group_op */
} berth_i_local_sfb;

typedef struct berth_i_values {
  berth_i_pool pool;
  berth_i_emission *emission;       /* NULL: in use */
  int64_t evaluations;
  /* op groups */
  int32_t n_crossings;
  berth_i_crossing *crossing;       /* [n_crossings] by from, to */
  int32_t *from, *to;               /* [n_crossings] the same */
  int32_t *out_at;                  /* [n_groups + 1] into crossing, by from */
  int32_t *in_at, *in;              /* [n_groups + 1] into [n_crossings] crossings by to */
  double *inner;                    /* [n_groups] bytes of tensors that stay in it */
  double *params;                   /* [n_groups] bytes */
  int32_t *in_order;                /* [n_ops] ops of each group in topological order; parallel to
                                       group_op */
  int32_t *index;                   /* [n_ops] where it is in group_op, from the first of its
                                       group */
  int32_t *gradient_at, *gradient;  /* [n_groups + 1] tensors that are reduced, by the group of
                                       their producer, ascending */
  uint8_t *reduced;                 /* [n_tensors] 1: it is one of them */
  double *rows;                     /* [n_groups] bytes that sparse updates read, cut along the
                                       batch */
  /* spreads */
  int32_t n_spreads;
  berth_i_spread *spread;           /* [n_spreads] */
  int32_t *spread_of;               /* [n_actions] */
  berth_i_rate *rate;               /* [n_spreads^2]; NULL: no local cost was needed yet */
  double *seconds;                  /* [n_groups * n_spreads] of the slowest device; NaN */
  double *sync;                     /* [n_groups * n_actions] NaN */
  berth_i_local_sfb **sfb;          /* [n_groups * n_actions] NULL */
  double *place_seconds;            /* [n_groups * n_device_groups * 4] features: at B, B/2, B/4,
                                       B/8; NULL */
  double *load;                     /* [links] scratch: zero between uses */
  int32_t *touched;                 /* [links] scratch */
  int32_t n_touched;
} berth_i_values;

/** Makes them, if they are not there.  @return BERTH_OK, BERTH_ENOMEM */
berth_status berth_i_values_of(berth_deploy *d, berth_i_values **out);

static inline int32_t berth_i_action_place(const berth_deploy *d, int32_t action) {
  return d->set_place[d->action[action].set];
}
static inline int32_t berth_i_group_size(const berth_deploy *d, int32_t group) {
  return d->group_at[group + 1] - d->group_at[group];
}
static inline double berth_i_memory_of(const berth_deploy *d, int32_t device) {
  return d->t->devices[device].memory;
}
/** Replicas that each do their share, on several devices. */
static inline bool berth_i_is_data_parallel(const berth_deploy *d, int32_t action) {
  berth_deploy_option o = d->action[action].option;
  return (o == BERTH_DEPLOY_PS || o == BERTH_DEPLOY_ALLREDUCE)
         && berth_i_place_size(d, berth_i_action_place(d, action)) > 1;
}

/** Replicas whose gradients an AllReduce adds up. */
static inline bool berth_i_reduces_all(const berth_deploy *d, int32_t action) {
  return d->action[action].option == BERTH_DEPLOY_ALLREDUCE && berth_i_is_data_parallel(d, action);
}

/* ---- evaluation ---- */

/** a is to be preferred: memory lacks less, or the same and the step is faster. */
bool berth_i_value_better(const berth_deploy_value *a, const berth_deploy_value *b);

/* ---- local costs ---- */
/** Adds traffic of a route to the loads of its links.  @return false: there is no route */
bool berth_i_load_add(const berth_deploy *d, berth_i_values *v, int32_t src, int32_t dst,
                      double bytes, double *latency);
/** Seconds of the busiest link; clears the loads. */
double berth_i_load_take(const berth_deploy *d, berth_i_values *v);

/** Of an AllReduce of these bytes over the place's devices. */
double berth_i_allreduce_seconds(const berth_deploy *d, int32_t place, double bytes);
/** Of a tensor of these bytes, cut, to all devices of the place: by AllGather or by a
 * concatenation, as the compiler does. */
double berth_i_gather_seconds(const berth_deploy *d, int32_t place, double bytes);
/** Bytes of a gradient as they are sent. */
double berth_i_gradient_bytes(const berth_deploy *d, int32_t tensor, int32_t place);
/** NULL: out of memory. Only where gradients are reduced by AllReduce. */
const berth_i_local_sfb *berth_i_local_sfb_of(berth_deploy *d, berth_i_values *v, int32_t group,
                                              int32_t action);

/* ---- strategies to begin with ---- */

/** Op groups packed onto single devices.  @param action [n_groups] out
 *  @param found false: there are no single devices to choose */
berth_status berth_i_chain(berth_deploy *d, int32_t *action, bool *found);

#endif
