/* What the files of core/deploy share: the problem, device sets as places, which device owns which
 * samples, compiled graphs in an arena.
 *
 * A place is a list of different devices: places 0..n_sets-1 are the candidate sets, then every
 * device alone. A form is how an op is in a compiled graph: a place, and whole (every replica
 * does all of the batch) or cut (each does its samples, by EVEN or SPEED shares). Replica k of an
 * op is on device k of its place. */
#ifndef BERTH_DEPLOY_INTERNAL_H
#define BERTH_DEPLOY_INTERNAL_H

#include "base/pool_internal.h"
#include "cost/cost_internal.h"
#include "deploy/analyse/analyse_internal.h"
#include <berth/deploy.h>

typedef enum berth_i_cut { BERTH_I_CUT_EVEN, BERTH_I_CUT_SPEED, BERTH_I_WHOLE } berth_i_cut;

/** place * 3 + berth_i_cut */
typedef int32_t berth_i_form;
static inline berth_i_form berth_i_form_of(int32_t place, berth_i_cut cut) {
  return place * 3 + (int32_t)cut;
}
static inline berth_i_cut berth_i_cut_by(berth_deploy_shares shares) {
  return shares == BERTH_SHARES_SPEED ? BERTH_I_CUT_SPEED : BERTH_I_CUT_EVEN;
}
static inline int32_t berth_i_form_place(berth_i_form f) { return f / 3; }
static inline berth_i_cut berth_i_form_cut(berth_i_form f) { return (berth_i_cut)(f % 3); }

/** Samples first..(first of the next run) - 1 of the batch belong to position `owner` of the
 * place. */
typedef struct berth_i_run {
  int32_t first, owner;
} berth_i_run;

/** Samples that go from a position of one place to one of another. */
typedef struct berth_i_move {
  int32_t src, dst, samples;
} berth_i_move;

/** How a tensor changes from one cut to another; by (src, dst). */
typedef struct berth_i_moves {
  berth_i_form from, to; /* -1: the slot is free */
  int32_t n;
  berth_i_move *move;
} berth_i_moves;

struct berth_i_values; /* of the evaluator */
struct berth_deploy_list;

struct berth_deploy {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs;
  berth_cost *cost;              /* at the full batch */
  berth_graph *g;                /* the cost's */
  berth_topology *t;
  berth_analysis *analysis;
  berth_deploy_options o;        /* without its arrays */
  berth_sim_options sim;         /* without its arrays; rank is set where it is used */
  int32_t n_ops, n_devices, batch;

  /* op groups, heaviest first */
  int32_t n_groups;
  int32_t *group;                /* [n_ops] */
  int32_t *group_at, *group_op;  /* [n_groups + 1], [n_ops] ops of each, ascending */
  double *group_seconds;         /* [n_groups] mean over devices, at the full batch */

  /* devices */
  int32_t n_device_groups;
  int32_t *device_group;         /* [n_devices] from 0, by their lowest device */
  int32_t n_sets, n_places;      /* n_places = n_sets + n_devices */
  int32_t *place_at, *place_device; /* [n_places + 1] */
  int32_t *position;             /* [n_places * n_devices] of the device in the place; BERTH_NONE */
  int32_t *set_place;            /* [n_sets] the set itself; a set of one device: that device
                                    alone */
  double *speed;                 /* [n_devices] of the whole graph, shares of all devices adding up
                                    to 1 */
  int32_t *samples;              /* [2][place_at[n_places]] by EVEN, then by SPEED: samples of each
                                    position */
  int32_t *run_at[2];            /* [n_places + 1] each */
  berth_i_run *run[2];
  size_t run_cap[2];
  uint8_t *uneven;               /* [n_places] 1: SPEED differs from EVEN there */

  /* actions */
  int32_t n_actions;
  size_t action_cap;
  berth_action *action;
  uint8_t *legal;                /* [n_groups * n_actions] */

  /* ops and tensors */
  const uint8_t *role;           /* [n_ops] berth_role; the analysis's */
  const uint8_t *cut_tensor;     /* [n_tensors] 1: along the batch; the analysis's */
  uint8_t *cut_op;               /* [n_ops] 1: replicas have samples of their own */
  uint8_t *scales;               /* [n_ops] 1: and their work is that of these; 0 of those that add
                                    up gradients, say */
  int32_t *update_number;        /* [n_ops] running number of updates; BERTH_NONE: none */
  int32_t *level;                /* [n_ops] most updates on a way to it */
  int32_t *first_reader;         /* [n_ops] of inputs: the op whose form they take; BERTH_NONE */
  double *rank;                  /* [n_ops] */

  /* times */
  double *mean_seconds;          /* [n_ops] over the devices that can run it, at the full batch */
  int32_t n_points;              /* costs at batch sizes, the full one among them, by batch */
  double *point_batch;           /* [n_points] */
  berth_cost **point_cost;       /* [n_points] */
  uint8_t *roofline;             /* [n_ops] 1: without profile: a batch of none takes the device's
                                    overhead */

  /* caches */
  int32_t **part;                /* [n_groups * (n_devices + 1)] by devices of the set: that of each
                                    op; NULL: not yet */
  berth_i_moves *moves;          /* [BERTH_I_MOVE_SLOTS] */
  struct berth_i_emission *scratch; /* of berth_deploy_compile; NULL: not yet */
  struct berth_i_values *values; /* the evaluator's; NULL: not yet */
  struct berth_deploy_list *baselines; /* NULL: not yet */
  berth_i_pool baseline_pool;    /* of these */
};

enum { BERTH_I_MOVE_SLOTS = 1024 };

static inline int32_t berth_i_place_size(const berth_deploy *d, int32_t place) {
  return d->place_at[place + 1] - d->place_at[place];
}
static inline const int32_t *berth_i_place_devices(const berth_deploy *d, int32_t place) {
  return d->place_device + d->place_at[place];
}
/** Samples that position k of the form handles. */
static inline int32_t berth_i_form_samples(const berth_deploy *d, berth_i_form f, int32_t k) {
  int32_t place = berth_i_form_place(f), total = d->place_at[d->n_places];
  berth_i_cut cut = berth_i_form_cut(f);
  return cut == BERTH_I_WHOLE
             ? d->batch
             : d->samples[(cut == BERTH_I_CUT_SPEED ? total : 0) + d->place_at[place] + k];
}
static inline bool berth_i_is_legal(const berth_deploy *d, int32_t group, int32_t action) {
  return d->legal[(size_t)group * (size_t)d->n_actions + (size_t)action] != 0;
}
/** Seconds of an op on a device for that many samples; an op whose work does not depend on the
 * batch: all of it; none: 0. */
double berth_i_deploy_seconds(const berth_deploy *d, int32_t op, int32_t device, int32_t samples);
/** Of the forward pass: neither flagged otherwise nor an update. */
bool berth_i_deploy_is_forward(const berth_deploy *d, int32_t op);
/** Bytes of the op that stay in memory: parameters, outputs of a forward op. */
double berth_i_deploy_held_bytes(const berth_deploy *d, int32_t op);
/** Which position of a set of n devices each op of the group is on under SPLIT.
 *  @param part through it: [ops of the group] in the order of group_op; kept */
berth_status berth_i_deploy_dealt(berth_deploy *d, int32_t group, int32_t n, const int32_t **part);
/** Samples that change hands between two cuts; valid until the next call. */
berth_status berth_i_deploy_moves(berth_deploy *d, berth_i_form from, berth_i_form to,
                                  const berth_i_moves **out);
/** Forms of all ops under a strategy.  @param duplicate NULL: none  @param form [n_ops] out
 *  @param repeated [n_ops] out: duplicate, and what must follow: readers of a repeated op's tensors
 *         that are not cut (updates
 *  excepted) */
berth_status berth_i_deploy_forms(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                  berth_i_form *form, uint8_t *repeated);
berth_status berth_i_deploy_check_strategy(berth_deploy *d, const int32_t *action);
/** Of PS: ALLREDUCE of the same set and shares, which is the same where no gradient is reduced;
 * BERTH_NONE. */
int32_t berth_i_deploy_twin(const berth_deploy *d, int32_t action);
/** The action if it is legal for the op group; its twin, if that is; BERTH_NONE. */
int32_t berth_i_deploy_instead(const berth_deploy *d, int32_t group, int32_t action);

/* What berth_deploy_new is made of; each fills in its part of d. */
berth_status berth_i_deploy_sets(berth_deploy *d, const berth_deploy_options *o);
berth_status berth_i_deploy_ops(berth_deploy *d);
berth_status berth_i_deploy_times(berth_deploy *d, const berth_deploy_options *o);
berth_status berth_i_deploy_lay_out(berth_deploy *d);
berth_status berth_i_deploy_actions(berth_deploy *d);
void berth_i_values_release(berth_deploy *d);

/* ---- compiled graphs in an arena ---- */

/** A compiled graph that the next one overwrites. graph and cost are made by hand: they may be
 *  retained and released by their users, in pairs, before the next. cost has one class of
 *  devices: seconds are those on the op's own device. */
typedef struct berth_i_emission {
  berth_graph graph;      /* without names and kinds; pin is `device` */
  berth_cost cost;
  int32_t *device;        /* [ops] */
  int32_t *origin;        /* [ops] */
  uint8_t *part;          /* [ops] berth_part */
  int32_t *samples;       /* [ops] */
  double *rank;           /* [ops] */
  int32_t *source;        /* [tensors] tensor of the graph that it is, or carries a part or a sum
                             of */
  struct berth_i_arena *arena;
} berth_i_emission;

berth_status berth_i_emission_new(berth_deploy *d, berth_i_emission **out);
void berth_i_emission_release(berth_deploy *d, berth_i_emission *e); /* NULL is fine */
/** Compiles into the arena: no allocation once it is large enough.  @param duplicate NULL: none */
berth_status berth_i_deploy_emit(berth_deploy *d, const int32_t *action, const uint8_t *duplicate,
                                 berth_i_emission *e);

#endif
