/* List scheduling: one plan, filled op by op, under the setting of a placer. Every list placer is a
 * berth_policy and the few switches of berth_i_setup. Times inside the engine count `unit` seconds:
 * 1, or the quantum.
 *
 * Invariants: an op is a candidate once all of its producers (and collectives) are placed, or, with
 * READY_FINISHED, finished; placed ops never move; memory that is charged is given back only
 * when every op that may still need it is planned. */
#ifndef BERTH_ENGINE_INTERNAL_H
#define BERTH_ENGINE_INTERNAL_H

#include "base/pool_internal.h"
#include "placement/placement_internal.h"
#include <berth/list.h>

/* ---- queue: min-heap by (key, second, item); stale entries are dropped at the top ---- */

typedef struct berth_i_entry {
  double key, second;
  int32_t item;
} berth_i_entry;
typedef struct berth_i_queue {
  berth_i_entry *at;
  size_t n, cap;
} berth_i_queue;

static inline bool berth_i_entry_before(const berth_i_entry *a, const berth_i_entry *b) {
  if (a->key != b->key) return a->key < b->key;
  if (a->second != b->second) return a->second < b->second;
  return a->item < b->item;
}
berth_status berth_i_queue_push(berth_i_pool *pool, berth_i_queue *q, double key, double second,
                                int32_t item);
/** Needs q->n > 0. */
berth_i_entry berth_i_queue_pop(berth_i_queue *q);
/** Keeps the entries for which keep(ud, item) holds. O(n) */
void berth_i_queue_filter(berth_i_queue *q, bool (*keep)(const void *ud, int32_t item),
                          const void *ud);

/* ---- free slots of a device (slots.c) ---- */

typedef struct berth_i_free_block berth_i_free_block;
typedef struct berth_i_free_slots {
  berth_i_free_block *block;
  size_t n, cap;
} berth_i_free_slots;
berth_status berth_i_free_slots_init(berth_i_pool *pool, berth_i_free_slots *slots);
/** Earliest start >= ready of a stretch of that length. O(log + blocks that are too tight) */
double berth_i_free_slots_find(const berth_i_free_slots *slots, double ready, double length);
/** Takes start..finish, as found. */
berth_status berth_i_free_slots_take(berth_i_pool *pool, berth_i_free_slots *slots, double start,
                                     double finish);

/* ---- profile: bytes held on one device over time ---- */

typedef struct berth_i_profile_node berth_i_profile_node;
typedef struct berth_i_profile {
  berth_i_profile_node *node;
  size_t n, cap;
  int32_t root;
} berth_i_profile;

void berth_i_profile_init(berth_i_profile *f);
/** From `time` on, `bytes` more (or fewer). O(log n) expected */
berth_status berth_i_profile_add(berth_i_pool *pool, berth_i_profile *f, double time, double bytes);
/** The most that is held at any time from `time` on, what is freed at that very time not counted.
 * O(log n) expected */
double berth_i_profile_most(const berth_i_profile *f, double time);
/** The most that is held at any time, at least 0. O(1) */
double berth_i_profile_highest(const berth_i_profile *f);
/** What is held in the end. */
double berth_i_profile_last(const berth_i_profile *f);

/* ---- settings ---- */

typedef enum berth_i_tie {
  BERTH_I_TIE_ID,     /* ops: lowest id; devices: lowest id */
  BERTH_I_TIE_INPUTS, /* devices: most bytes of the op's inputs on them, then lowest id (choose PAIR
                         by est) */
  BERTH_I_TIE_RANDOM, /* ops and devices: uniform (choose OP) */
  BERTH_I_TIE_DOPPLER /* ops: with k of the largest priority, one of the first k candidates
                         (published code); devices: uniform */
} berth_i_tie;

typedef enum berth_i_rule {  /* of memory */
  BERTH_I_RULE_NONE,
  BERTH_I_RULE_STRICT,    /* all that is ever put on a device, and the largest workspace: holds
                             under any order of execution */
  BERTH_I_RULE_PROFILE,   /* INFERENCE, TRAINING: bytes over planned time */
  BERTH_I_RULE_BAECHI_TF, /* published: freed when the last consumer is scheduled; no copies */
  BERTH_I_RULE_BAECHI_PT  /* published: used and peak */
} berth_i_rule;

typedef struct berth_i_setup {
  const char *placer;
  berth_policy policy;
  berth_links links;
  bool split_windows;   /* as berth_sim_options */
  bool blind_estimates; /* published: the tensors of one producer are estimated as one, those of
                           different producers apart */
  bool load_only;       /* published DOPPLER: an op starts at the sum of op times on its device */
  bool clamp;           /* READY_FINISHED: nothing starts before the plan's present time */
  berth_i_tie tie;
  berth_i_rule rule;
  berth_memory_policy memory;
  double param_multiple, quantum;
  uint64_t seed, stream;
  const int32_t *forced; /* [ops] devices to keep to, BERTH_NONE: any; NULL: none */
  int32_t *partial;      /* [ops] out: the devices of a plan that could not be completed; NULL: not
                            requested */
  const int32_t *favourite; /* [ops] favourite child, BERTH_NONE; NULL: no device waits for any
                               (READY_FINISHED, APPEND) */
  bool published;       /* ... by the published rule of m-SCT */
} berth_i_setup;

/** From the options: default rules, no published switches. */
berth_i_setup berth_i_setup_from(const char *placer, const berth_policy *policy,
                                 const berth_place_options *opts);
/** @param why may be NULL. O(edges x devices + ops x devices x log) for choose OP and for PAIR by
 *        the two rules below */
berth_status berth_i_engine_run(berth_cost *cost, const berth_i_setup *setup, berth_placement **out,
                                berth_obstacle *why);

/** Scores that the engine recognises by their address, so that choose PAIR need not call them: by
 * est (this), by eft (NULL). */
berth_status berth_i_score_est(void *ud, const berth_plan *p, int32_t op, const double *est,
                               const double *eft, double *score, double *wake);

/* ---- the plan ---- */

/** Copies of tensors on other devices than their producer's, while readers are left. width doubles
 * per tensor. */
typedef struct berth_i_copies {
  int32_t *row, *left; /* [tensors] row in pool, BERTH_NONE; readers to be placed; NULL: no copies
                          are kept */
  double *pool;        /* [cap * width] arrival per device, NaN: not there; profile: then the end of
                          its last use per device */
  int32_t *idle;       /* [cap_idle] stack of free rows */
  int32_t n_idle, n_rows, width;
  size_t cap, cap_idle; /* they differ after a refused allocation */
} berth_i_copies;

typedef struct berth_i_undo {
  double *at, was;
} berth_i_undo;

typedef struct berth_i_channels {
  double *busy;        /* s until which each is taken: channel [devices], duplex [out devices, in
                          devices], pair [devices^2] */
  berth_i_undo *undo;  /* [2 * most inputs of an op] */
  size_t n_undo;
  int32_t *sent;       /* [most inputs of an op] transfers of the latest op to its device */
  size_t n_sent;
} berth_i_channels;

typedef struct berth_i_store {
  double *held;             /* [devices] permanent bytes (published: now) */
  double *temporary;        /* [devices] strict: largest workspace; PT: peak */
  double *limit;            /* [devices] */
  int32_t *readers;         /* TF: [ops] readers of its outputs to be placed */
  berth_i_profile *profile; /* [devices] */
  int32_t *uses_left;       /* profile: [tensors] readers and backward twins to be placed */
  double *until;            /* profile: [tensors] end of the last of these twins */
  uint8_t *backward;        /* profile: [ops] 1: the later one of two twins; NULL: none counts */
  berth_i_queue scratch;
  bool released;       /* memory came back since this was last cleared */
} berth_i_store;

typedef struct berth_i_groups {
  int32_t *bound;                /* [groups] device */
  double *permanent, *temporary; /* [groups] bytes of all members: sum, largest */
  uint8_t *forbidden;            /* [groups * devices] 1: a member cannot run there */
} berth_i_groups;

/** Collectives: all NULL if the graph has none. */
typedef struct berth_i_collectives {
  int32_t *left;       /* [collectives] members that are not placed (or not finished) */
  double *end;         /* [collectives] latest finish of a member; with none left, the collective's
                          end */
  int32_t *device;     /* [most members] scratch: devices of members */
  bool apart;          /* some devices do not reach one another */
} berth_i_collectives;

struct berth_plan {
  berth_i_pool pool;      /* all arrays, those of the selectors included */
  berth_ctx *ctx;
  berth_cost *cost;
  const berth_graph *g;
  const berth_i_setup *setup;
  int32_t n, devices, placed;
  double unit, now;
  berth_placement *answer;
  int32_t *device;        /* [ops] the answer's; BERTH_NONE: not placed */
  double *start, *finish; /* [ops] the answer's */
  double *priority;       /* [ops] */
  int32_t *pending;       /* [ops] inputs whose producers are not placed (or not finished), and
                             collectives likewise */
  double *free_at, *load; /* [devices] end of its last op; sum of op times */
  int32_t *last;          /* [devices] op placed last */
  uint8_t *reserved;      /* [ops] 1: its memory is reserved on the only device that can run it;
                             NULL: none */
  int32_t *fresh;         /* ops that became candidates, not yet fetched */
  size_t n_fresh, cap_fresh;
  berth_i_queue running;  /* READY_FINISHED: (finish, order, op) */
  berth_i_collectives collectives;
  berth_i_copies copies;
  berth_i_channels channels;
  berth_i_store store;
  berth_i_groups groups;
  berth_i_free_slots *slots;         /* [devices]; NULL: append */
  double *ready, *est, *eft, *score; /* [devices] scratch of the chooser */
  double *shown;                     /* [2 * devices] est and eft in s, for the policy */
  berth_rng rng;
  int32_t ticks, idle_steps; /* idle_steps: steps of time since an op was placed */
  double retries_left;    /* retry budget: how often an op may still not fit for now, where memory
                             may be freed and the plan is one of several; below 0: used up, at
                             `last_refused` */
  int32_t last_refused;
};

berth_status berth_i_plan_new(berth_cost *cost, const berth_i_setup *setup, berth_plan **out);
void berth_i_plan_release(berth_plan *p);

static inline double berth_i_plan_length(const berth_plan *p, int32_t op, int32_t device) {
  return berth_i_quantise_op(berth_i_op_time(p->cost, op, device), p->setup->quantum);
}
static inline double berth_i_plan_cross(const berth_plan *p, int32_t tensor, int32_t src,
                                        int32_t dst) {
  return berth_i_quantise_transfer(berth_i_transfer_time(p->cost, tensor, src, dst),
                                   p->setup->quantum);
}
static inline bool berth_i_plan_finished(const berth_plan *p) {
  return p->setup->policy.ready == BERTH_READY_FINISHED;
}
/** From when a device may start something appended. */
static inline double berth_i_plan_open_at(const berth_plan *p, int32_t device) {
  double t = p->setup->load_only ? p->load[device] : p->free_at[device];
  return p->setup->clamp && t < p->now ? p->now : t;
}
/** Estimates change otherwise than by the device's own next free time: channels are taken. */
static inline bool berth_i_plan_contended(const berth_plan *p) { return p->channels.busy != NULL; }

/** Bytes of the op's inputs that were made on the device. */
static inline double berth_i_plan_input_bytes(const berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  double sum = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    if (p->device[g->producer[g->in[i]]] == device) sum += g->tensor_bytes[g->in[i]];
  }
  return sum;
}

/** Earliest start of op on a device for which the inputs are there at `ready`. Communication ops
 * wait for nothing else. */
double berth_i_plan_earliest(const berth_plan *p, int32_t op, int32_t device, double ready,
                         double length);
/** est and eft of all devices in plan units, INFINITY where it cannot be.
 *  @param ready [devices] as berth_i_ready_row fills it */
void berth_i_plan_estimate(berth_plan *p, int32_t op, const double *ready, double *est,
                           double *eft);
/** Puts op on device as early as the setting lets it, with its transfers; then its consumers may
 * become fresh. */
berth_status berth_i_plan_put(berth_plan *p, int32_t op, int32_t device);
/** READY_FINISHED: takes the op that finishes next, moves `now`; needs p->running.n > 0. */
berth_status berth_i_plan_next_finish(berth_plan *p);
/** Sets priority and pending, makes the sources fresh. */
berth_status berth_i_plan_prepare(berth_plan *p);
/** Calls the policy's select for a new candidate. */
berth_status berth_i_plan_select(berth_plan *p, int32_t op);
/** The policy's scores, or its rule's, for est and eft in plan units. @param wake INFINITY, or when
 * to try again, in plan units */
berth_status berth_i_plan_score(berth_plan *p, int32_t op, const double *est, const double *eft,
                                double *score, double *wake);
/** Called when time passes: bounds a policy that always answers "later". @return false: too
 * often */
bool berth_i_plan_may_advance(berth_plan *p);
/** Every ~1000 calls: interrupt and progress hooks. */
berth_status berth_i_plan_tick(berth_plan *p);
/** The placement, once all ops are placed. */
berth_status berth_i_plan_answer(berth_plan *p, berth_placement **out);
/** An op cannot fit now; retry when memory is freed. */
void berth_i_plan_count_refusal(berth_plan *p, int32_t op);
/** The retry budget is used up: other devices for all ops are the faster way to an answer. */
berth_status berth_i_plan_give_up(berth_plan *p, berth_obstacle *why);
/** No more op can be placed: which one, and why.  @param op BERTH_NONE: finds one */
berth_status berth_i_plan_stuck(berth_plan *p, int32_t op, berth_obstacle *why);

/* collectives.c: collectives. One is over at the latest finish of its members, plus its price on
 * their devices. */
berth_status berth_i_collectives_init(berth_plan *p);
/** op is placed (or has finished). @param k one of the collectives that it is a member of @param
 * over out: no member is left */
berth_status berth_i_collectives_leave(berth_plan *p, int32_t op, int32_t k, bool *over);
/** When the collectives that op waits for are over; 0: it waits for none. */
double berth_i_collectives_ready(const berth_plan *p, int32_t op);
/** Raises `end`, s, to that of the last collective. All ops are placed. */
berth_status berth_i_collectives_last(berth_plan *p, double *end);
/** The other members of op's collectives, as far as they are placed or pinned, can be reached from
 * the device. */
bool berth_i_collectives_joins(const berth_plan *p, int32_t op, int32_t device);
/** Bytes that the op's collectives may hold on the device while they take place, but those of which
 * another member is there. */
double berth_i_collectives_bytes(const berth_plan *p, int32_t op, int32_t device);

/* demand.c: what an op requires of a device */
berth_status berth_i_groups_init(berth_plan *p);
/** Type, pin, group and forced device allow it. */
static inline bool berth_i_plan_may(const berth_plan *p, int32_t op, int32_t device) {
  int32_t group = berth_i_group(p->g, op);
  if (p->setup->forced && p->setup->forced[op] != BERTH_NONE && p->setup->forced[op] != device)
    return false;
  if (p->collectives.apart && !berth_i_collectives_joins(p, op, device)) return false;
  if (group == BERTH_NONE) return berth_i_can_run(p->cost, op, device);
  if (p->groups.bound[group] != BERTH_NONE) return p->groups.bound[group] == device;
  return !p->groups.forbidden[(size_t)group * (size_t)p->devices + (size_t)device];
}
/** Permanent bytes of op, and of the group that it would bind; and its temporary bytes. */
berth_i_demand berth_i_store_demand(const berth_plan *p, int32_t op);
/** The op's own, without its group. */
berth_i_demand berth_i_demand_alone(const berth_plan *p, int32_t op);
/** Its memory is counted already: its group is bound, or its only device is known. */
bool berth_i_demand_reserved(const berth_plan *p, int32_t op);
static inline double berth_i_plan_param_bytes(const berth_plan *p, int32_t op) {
  return berth_i_param(p->g, op) * p->setup->param_multiple;
}

/* copies.c */
berth_status berth_i_copies_init(berth_plan *p);
/** A copy of the tensor is there, or on its way. */
static inline bool berth_i_has_copy(const berth_plan *p, int32_t tensor, int32_t device) {
  int32_t row = p->copies.row[tensor];
  return row != BERTH_NONE
         && !isnan(p->copies.pool[(size_t)row * (size_t)p->copies.width + (size_t)device]);
}
/** Row of a tensor, made if there is none; NULL: out of memory. */
double *berth_i_copy_row(berth_plan *p, int32_t tensor);
void berth_i_copy_drop(berth_plan *p, int32_t tensor);

/* arrivals.c: transfers under the links discipline */
berth_status berth_i_arrivals_init(berth_plan *p);
/** When the inputs of op could be on each device; INFINITY: unreachable. */
void berth_i_ready_row(berth_plan *p, int32_t op, double *row);
double berth_i_ready_at(berth_plan *p, int32_t op, int32_t device);
/** Reserves the missing transfers, listed in channels.sent. */
berth_status berth_i_fetch(berth_plan *p, int32_t op, int32_t device, double *ready);

/* store.c, residency.c: memory */
berth_status berth_i_store_init(berth_plan *p);
/** Bytes missing for op on device from `start` on; <= 0: it fits. */
double berth_i_store_missing(berth_plan *p, int32_t op, int32_t device, double start);
/** missing <= 0, by cheaper tests first, under any rule but NONE. */
bool berth_i_store_fits_rule(berth_plan *p, int32_t op, int32_t device, double start);
static inline bool berth_i_store_fits(berth_plan *p, int32_t op, int32_t device, double start) {
  return p->setup->rule == BERTH_I_RULE_NONE || berth_i_store_fits_rule(p, op, device, start);
}
/** Least bytes that must be free for op on any device. */
double berth_i_store_least(const berth_plan *p, int32_t op);
/** An op that needs at least so many would not fit. */
bool berth_i_store_full(const berth_plan *p, int32_t device, double least);
/** Charges a new copy, sent from `time` on. */
berth_status berth_i_store_copy(berth_plan *p, int32_t tensor, int32_t device, double time);
/** Charges a placed op; after its transfers are made, before its group is bound. */
berth_status berth_i_store_charge(berth_plan *p, int32_t op);
berth_status berth_i_residency_init(berth_plan *p);
double berth_i_residency_missing(berth_plan *p, int32_t op, int32_t device, double start);
bool berth_i_residency_fits(berth_plan *p, int32_t op, int32_t device, double start);
berth_status berth_i_residency_charge(berth_plan *p, int32_t op);

/* The ways to choose. */
berth_status berth_i_choose_op(berth_plan *p, berth_obstacle *why);
/* by est or eft, with heaps */
berth_status berth_i_choose_pair(berth_plan *p, berth_obstacle *why);
/* pair or device, any score */
berth_status berth_i_choose_score(berth_plan *p, berth_obstacle *why);
/* device, with favourite children: sct_internal.h */
berth_status berth_i_choose_sct(berth_plan *p, berth_obstacle *why);

/** Runs the engine for a built-in placer; where its greedy choice cannot be completed, repairs the
 *  devices until they fit and runs again on these. */
berth_status berth_i_list_place(berth_cost *cost, const berth_i_setup *setup,
                                const berth_place_options *opts, berth_placement **out,
                                berth_obstacle *why);

#endif
