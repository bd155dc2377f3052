/* Runs that differ from a base by the devices of a few ops: trials. Two ways to evaluate one:
 * rewinding the log of the base (rewind.c) where links are free, else resuming a copied state
 * (checkpoints.c). */
#ifndef BERTH_DELTA_INTERNAL_H
#define BERTH_DELTA_INTERNAL_H

#include "sim/sim_internal.h"

/* ---- rewinding: free links, push, fifo, no memory ---- */

typedef struct berth_i_rewind berth_i_rewind;

typedef struct berth_i_moves {
  const int32_t *device;      /* [n_ops] as moved */
  const int32_t *op, *before; /* [n] ops that moved, each once, and where they were */
  int32_t n;
} berth_i_moves;

/** The plan is one of those; it has tails and inputs, and ops. */
bool berth_i_rewind_goes(const berth_i_sim_plan *p);
/** To be freed with its pool, if it failed, too. */
berth_status berth_i_rewind_new(const berth_i_sim_plan *p, berth_i_rewind **out);
/** Runs from the start; s has been reset. To be accepted.  @return false: it stopped short */
bool berth_i_rewind_base(const berth_i_sim_plan *p, berth_i_rewind *r, berth_i_sim_state *s);
/** The run of the moved placement, from where the moves begin to matter; the state is that of the
 * last run.
 *  @param limit units, rounding allowed for  @param ended grows by the ends simulated
 *  @return false: it stopped short */
bool berth_i_rewind_try(const berth_i_sim_plan *p, berth_i_rewind *r, berth_i_sim_state *s,
                        const berth_i_moves *m, double limit, int64_t *ended);
/** The last run becomes the base; it was whole. @param m of the trial; n < 0: it was the run of a
 * new base */
void berth_i_rewind_accept(const berth_i_sim_plan *p, berth_i_rewind *r, berth_i_sim_state *s,
                           const berth_i_moves *m);
/** Completes the state of the last run, which was whole, by what came before. */
void berth_i_rewind_restore(berth_i_rewind *r, berth_i_sim_state *s, const int32_t *device);

/* ---- checkpoints: everything in order EVENT ---- */

typedef struct berth_i_checkpoints berth_i_checkpoints;

/** The plan is one of those; it has tails. */
bool berth_i_checkpoints_go(const berth_i_sim_plan *p);
/** To be released if it failed, too. */
berth_status berth_i_checkpoints_new(const berth_i_sim_plan *p, berth_i_checkpoints **out);
void berth_i_checkpoints_release(const berth_i_sim_plan *p, berth_i_checkpoints *c);
/** Runs from the start. @param ended grows by the ends simulated @return false: it stopped short;
 * there is no base */
bool berth_i_checkpoints_base(const berth_i_sim_plan *p, berth_i_checkpoints *c,
                              berth_i_sim_state *s, const int32_t *device, int64_t *ended);
/** The run of the moved placement; s is whole afterwards.  @param limit units, rounding allowed for
 *  @return false: it stopped short */
bool berth_i_checkpoints_try(const berth_i_sim_plan *p, berth_i_checkpoints *c,
                             berth_i_sim_state *s, const berth_i_moves *m, double limit,
                             int64_t *ended);
/** The last trial becomes the base; it was whole. s may be that of another run. */
void berth_i_checkpoints_accept(const berth_i_sim_plan *p, berth_i_checkpoints *c,
                                const berth_i_sim_state *s, const berth_i_moves *m);

/* ---- trials ---- */

typedef struct berth_i_delta {
  berth_i_pool pool;
  const berth_i_sim_plan *plan, *fast; /* fast: times alone; the plan itself if it has no memory to
                                          account for */
  berth_i_sim_state *state;            /* of the plan; borrowed */
  berth_i_sim_state *quick;            /* of fast; NULL: there is nothing to rewind */
  berth_i_rewind *rewind;              /* NULL: times take more than that */
  berth_i_checkpoints *checkpoints;    /* of the plan; NULL: the rewind suffices, or every trial is
                                          a run from the start */
  int32_t *device;                     /* [n_ops] of the base, with the last trial's changes */
  int32_t *moved, *before;             /* [n_ops] ops of the last trial and their devices in the
                                          base */
  uint8_t *is_moved;                   /* [n_ops] */
  int32_t *group_size, *group_moved;   /* [n_groups] NULL: no groups */
  int32_t *group_first;                /* [n_groups] */
  int32_t n_moved;
  bool has_base;
  bool has_trial;                    /* the last trial can be accepted */
  bool rewound, resumed;             /* ... it was made by rewinding; from a checkpoint, or
                                        both */
  const berth_i_sim_plan *last_plan; /* of the last run; NULL: it gives no chain */
  const berth_i_sim_state *last;
  int64_t ended;                       /* ops whose ends have been simulated */
} berth_i_delta;

typedef struct berth_i_verdict {
  double makespan;  /* units; cut: a lower bound above the limit */
  double peak;
  int32_t oom_op;
  bool cut;         /* memory was not computed */
} berth_i_verdict;

/** What a delta needs of its plans. *fast: the plan for times alone; NULL: p is that, or there is
 * nothing to rewind. */
berth_status berth_i_delta_plans(berth_i_sim_plan *p, berth_i_sim_plan **fast);
/** Trials cost less than runs. */
bool berth_i_delta_pays(const berth_i_sim_plan *p, const berth_i_sim_plan *fast);
/** Plans from above; they and the state outlive it. */
berth_status berth_i_delta_new(const berth_i_sim_plan *p, const berth_i_sim_plan *fast,
                               berth_i_sim_state *state, berth_i_delta **out);
void berth_i_delta_release(berth_i_delta *d);
/** @return false: the fault is in d->state, and there is no base */
bool berth_i_delta_base(berth_i_delta *d, const int32_t *device, berth_i_verdict *out);
/** A trial: begin, moves, and the run. Ops are in range; of several devices for one op the last
 * counts. There is a base. */
void berth_i_delta_begin(berth_i_delta *d);
void berth_i_delta_move(berth_i_delta *d, int32_t op, int32_t device);
/** @param limit units  @return false: the fault is in d->state; the base stays */
bool berth_i_delta_try(berth_i_delta *d, double limit, berth_i_verdict *out);
/** There is a trial that can be accepted. */
void berth_i_delta_accept(berth_i_delta *d);
/** Of the last base or trial. */
int32_t berth_i_delta_chain(berth_i_delta *d, int32_t *ops);

/** EINVAL if it is running. */
berth_status berth_i_sim_idle(const berth_sim *sim);

struct berth_sim {
  berth_i_sim_plan *plan;
  berth_i_sim_state *state;
  berth_i_sim_plan *fast;  /* of the delta; NULL: it needs none */
  berth_i_delta *delta;    /* NULL: there was no base yet */
  bool last_is_delta;      /* the last run was a base or a trial */
  bool running;            /* its cost's functions and the hooks may call it meanwhile, and are
                              refused */
  int64_t ended;           /* in other runs */
};

#endif
