/* Shared by the files of this room: the fixed part (berth_assign), the state of one episode, the
 * record of all. */
#ifndef BERTH_EPISODES_INTERNAL_H
#define BERTH_EPISODES_INTERNAL_H

#include "base/pool_internal.h"
#include "cost/cost_internal.h"
#include <berth/episodes.h>

enum { BERTH_I_FEATURES = 5 };

/** Pairs of ops with tensors from one to the other, each pair once, as seen from one side. */
typedef struct berth_i_reads {
  int32_t n;
  int32_t *at;        /* [ops + 1] */
  int32_t *op;        /* [n] at the other end, in edge order */
  int32_t *tensor_at; /* [n + 1] for producers, else NULL */
  int32_t *tensor;    /* what crosses */
} berth_i_reads;

struct berth_assign {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs;
  berth_cost *cost;
  berth_assign_options o;   /* its `unit` is NULL */
  int32_t n, n_devices, n_units, steps;
  int32_t width;            /* features of a device */
  bool restricted;          /* some op that is decided may not run on some device, or some devices
                               do not reach one another */
  int32_t *unit;            /* [n] */
  uint8_t *may;             /* [n_units * n_devices] */
  int32_t *fixed;           /* [n_units] device by a pin; BERTH_NONE */
  int32_t *unit_size;       /* [n_units] ops */
  double *unit_work;        /* [n_units * n_devices] s that its ops hold the device; INFINITY:
                               cannot */
  double *comp, *comm;      /* [n] mean s; of all outputs together */
  double *feature;          /* [n * 5] */
  int32_t *b_next, *t_next; /* [n] */
  berth_i_reads before, after; /* producers; consumers */
  int32_t n_edges, *src, *dst; /* both directions, by dst, then src */
  double *seconds;
};

/** One of the episodes in lock-step. */
typedef struct berth_i_episode {
  berth_rng rng;
  int32_t *device;          /* [n] BERTH_NONE: not yet */
  int32_t *unit_device;     /* [n_units] */
  int32_t *open;            /* [n] producers that are not assigned */
  double *start, *end;      /* [n] estimated s */
  double *load;             /* [devices] s that ops and reserved units hold it */
  double *placed;           /* [devices] s that ops assigned hold it */
  int32_t *reserved;        /* [devices] ops of its units that are not assigned: 0: load and placed
                               agree, but for rounding */
  double *free_at;          /* [devices] s */
  int32_t *ready;           /* [n] candidates by id */
  int32_t n_ready;
  int64_t *since;           /* [n] when it became a candidate */
  int64_t stamps;
  int32_t *due;             /* [n] candidates whose device is known, a queue */
  int32_t n_due, at_due;
} berth_i_episode;

typedef struct berth_i_log {
  berth_i_pool pool;
  int32_t *op, *device, *first, *candidates, *chosen; /* [rows], [rows + 1] first */
  double *devices;
  uint8_t *allowed;
  size_t rows;
} berth_i_log;

struct berth_episodes {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t refs;
  berth_assign *a;
  int32_t n, step;
  berth_i_episode *episode; /* [n] */
  int32_t *placement;       /* [n * ops] devices of all episodes */
  int32_t *first, *list;    /* [n + 1], [n * ops] candidates of all */
  int32_t *legal;           /* [n] scratch */
  bool devices_filled;      /* `answer` holds the devices of this step, for: */
  int32_t *filled_for;      /* [n] */
  double *answer;           /* [n * devices * width] */
  /* recorded by step, then episode */
  int32_t *op, *to, *chosen; /* [steps * n] */
  int32_t *history_first;    /* [steps * n + 1] into: */
  int32_t *history;          /* candidates of all steps */
  size_t cap_history;
  double *seen;              /* [steps * n * devices * width]; NULL: not requested yet */
  bool seen_all;
  berth_i_log log;           /* by episode, then step */
};

/** BERTH_EINVAL unless op[i] is a candidate of episode i. */
berth_status berth_i_episodes_check(const berth_episodes *e, const int32_t *op);
/** Earliest start of op there, s, by what is estimated of its producers; INFINITY: unreachable. */
double berth_i_earliest(const berth_assign *a, const berth_i_episode *s, int32_t op,
                        int32_t device);
/** Is there anything that berth_i_allowed could rule out? */
bool berth_i_assign_restricts(const berth_assign *a);
/** @param device [ops] where producers are  @param out [devices] 1: op may go there */
void berth_i_allowed(const berth_assign *a, const int32_t *device, int32_t op, uint8_t *out);
/** Puts op there and all that follows from it. */
void berth_i_episode_put(const berth_assign *a, berth_i_episode *s, int32_t op, int32_t device);
void berth_i_episode_start(const berth_assign *a, berth_i_episode *s);

berth_status berth_i_assign_pairs(berth_assign *a);
/** Units, from `unit` [n] (NULL: none given) with groups and pins; what they may, and what they
 * weigh. */
berth_status berth_i_assign_units(berth_assign *a, const int32_t *unit);
berth_status berth_i_assign_features(berth_assign *a);
berth_status berth_i_assign_edges(berth_assign *a);

/** Seconds that op holds the device: communication goes on beside it. */
static inline double berth_i_busy(const berth_assign *a, int32_t op, int32_t device) {
  double seconds = berth_i_op_time(a->cost, op, device);
  return berth_i_is_communication(a->cost->g, op) && !isinf(seconds) ? 0 : seconds;
}

static inline bool berth_i_may(const berth_assign *a, int32_t op, int32_t device) {
  return a->may[(size_t)a->unit[op] * (size_t)a->n_devices + (size_t)device];
}

#endif
