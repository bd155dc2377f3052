/* What the files of PAC-ML share: the environment, and the state of a run. */
#ifndef BERTH_PACML_INTERNAL_H
#define BERTH_PACML_INTERNAL_H

#include "base/pool_internal.h"
#include "ramp/ramp_internal.h"
#include <berth/pacml.h>

/** Outcome of a model on certain servers, once simulated. Found by a hash of model, pieces and the
 * servers of all ops. */
typedef struct berth_i_pacml_known {
  uint64_t hash[2]; /* both 0: free */
  berth_ramp_outcome outcome;
} berth_i_pacml_known;

struct berth_pacml {
  berth_i_pool pool;
  berth_ramp *ramp;
  int32_t refs, n, steps, most;
  berth_ramp_model **model;      /* [n] */
  berth_ramp_planner *planner;
  int32_t *decisions;            /* [n_decisions] 0, 1, 2, 4, ... */
  int32_t n_decisions;
  uint8_t *legal;                /* [most + 1] some block of that size is legal */
  berth_i_pacml_known *known;    /* [n_slots] open addressing */
  size_t n_slots, n_known;
};

/** The outcome of a decision about the present job, once computed. */
typedef struct berth_i_pacml_answer {
  bool known;
  berth_pacml_outcome outcome;
  berth_ramp_outcome ramp;
} berth_i_pacml_answer;

typedef struct berth_i_pacml_past {
  int32_t decision;          /* BERTH_NONE: none yet */
  berth_pacml_outcome outcome;
  berth_ramp_outcome ramp;
} berth_i_pacml_past;

struct berth_pacml_run {
  berth_i_pool pool;
  berth_pacml *env;
  berth_cluster *cluster;
  int32_t n, job;                     /* job: to be decided about; BERTH_NONE: none at present */
  const berth_pacml_decider *decider; /* while it is played */
  berth_pacml_job *jobs;              /* [n] */
  berth_i_pacml_past *past;           /* [n] */
  uint8_t *busy;                      /* [servers] */
  double *free_at;                    /* [servers] */
  int32_t *owner;                     /* [servers] job that was there last */
  berth_i_pacml_answer *answer;/* [most + 2] by decision; the last: on a given block */
  int32_t *servers;            /* [(most + 2) * servers] of each answer */
  berth_ramp_outcome *first;   /* compat: [n models * (most + 1)] by pieces; ticks == 0: not seen
                                  yet */
};

/** Places a model, and looks ahead unless that placement is known.
 *  @param block [n] of the ops with most pieces; n 0: the first that fits @param servers [servers]
 *         out */
berth_status berth_i_pacml_plan(berth_pacml *p, int32_t model, int32_t decision,
                                const uint8_t *busy, int32_t n, const int32_t *block,
                                int32_t *servers, berth_ramp_outcome *out);

#endif
