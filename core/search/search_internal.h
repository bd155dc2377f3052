/* Shared by the files of this room: the problem (read only while walks run), blocks of ops that
 * move as one, starts, walks. */
#ifndef BERTH_SEARCH_INTERNAL_H
#define BERTH_SEARCH_INTERNAL_H

#include "base/pool_internal.h"
#include "sim/delta/delta_internal.h"
#include <berth/search.h>
#include <stdatomic.h>

/** Sets of ops that move as one. */
typedef struct berth_i_clumps {
  berth_i_pool pool;
  int32_t n;
  int32_t *of;          /* [ops] */
  int32_t *at, *ops;    /* [n + 1], [ops] members in topological order */
  uint8_t *may;         /* [n * devices] some member is not forbidden there */
  double *work;         /* [n] mean s */
  double *bytes;        /* [n] held permanently; all 0 where memory does not count */
  int32_t *by_bytes;    /* [n] blocks, the largest first */
  int32_t *by_class;    /* [n] blocks, those alike side by side */
  int32_t *class_first; /* [n] where in by_class the class of a block begins */
  int32_t *class_size;  /* [n] */
} berth_i_clumps;

typedef struct berth_i_problem {
  berth_i_pool pool;    /* but for blocks */
  berth_ctx *ctx;
  berth_cost *cost;
  const berth_search_options *o;
  berth_sim_options judge;
  berth_i_sim_plan *plan, *fast; /* fast: what tries of moves need besides, or NULL */
  int32_t n, n_devices;
  double *comp;                       /* [n] mean s */
  double *comm;                       /* [tensors] mean s */
  double *bytes;                      /* [n] held permanently; NULL: memory does not count */
  double work;                        /* sum of comp */
  bool any_order;                     /* TOTAL, and memory counts */
  bool apart;                         /* some tensor or collective may find no route */
  berth_i_clumps atoms, units, lines; /* groups alone; contracted; and all that is in line, too */
} berth_i_problem;

typedef struct berth_i_contract {
  double heavy;         /* s: tensors from here on join their ends; INFINITY: none */
  double light;         /* s: ops below are joined in line */
  double most;          /* part of a device's memory that what is joined may take */
} berth_i_contract;

berth_status berth_i_problem_init(berth_cost *cost, const berth_search_options *o,
                                  berth_i_problem *p);
void berth_i_problem_release(berth_i_problem *p);
berth_status berth_i_clumps_make(const berth_i_problem *p, const berth_i_contract *c,
                                 berth_i_clumps *out);

/** Starts. @return, *found: false: some block does not fit. `held` [devices] is scratch.
 *  Blocks distributed in turn, or by keys.
 *  @param key [blocks] from 0 to below 1: which of the devices that may run it; NULL: in turn */
bool berth_i_start_dealt(const berth_i_problem *p, const berth_i_clumps *b, const double *key,
                         int32_t *device, double *held);
berth_status berth_i_start_listed(const berth_i_problem *p, const berth_i_clumps *b,
                                  int32_t *device, double *held, bool *found);

/** Placements to begin with. Those made of units lead further than others of the same value. */
enum { BERTH_I_STARTS = 2 };
typedef struct berth_i_starts {
  int32_t *device[BERTH_I_STARTS]; /* of units, or if there are none the rival: best first; [ops] */
  double value[BERTH_I_STARTS];
  int32_t n;
  int32_t *rival;                  /* [ops] the given one, or the best of the further ones */
  double rival_value;              /* INFINITY: none */
  int32_t *trial;                  /* [ops] */
} berth_i_starts;

/** What walks share while they run. */
typedef struct berth_i_search {
  berth_i_problem *p;
  atomic_bool stopped;     /* by the hook, the time limit, or a walk that failed */
  atomic_bool interrupted; /* by the hook */
  _Atomic double elapsed;  /* s; set by the calling thread, which alone reads the clock */
  atomic_llong calls;
  double began;
  uint32_t polls;
  int reported;                 /* hundredths, to the progress hook */
} berth_i_search;

typedef struct berth_i_walk {
  berth_i_search *s;
  berth_i_problem *p;
  berth_objective f;
  berth_i_sim_state *state;  /* of the built-in objective, or for memory */
  berth_i_delta *delta;      /* of the built-in objective: the base is the present placement; NULL:
                                moves are run from the start */
  berth_rng rng;
  int32_t *device, *best;    /* [n] */
  int32_t *undo_op, *undo_device, n_undo;
  uint8_t *touched;          /* [n] is to be undone */
  double *held;              /* [devices] permanent bytes */
  berth_i_any_order sums;    /* scratch, where memory must hold in any order */
  int32_t *chain, n_chain;   /* of the present placement */
  int32_t *order;            /* [n] scratch */
  double cur, best_value;
  int64_t calls, most_calls; /* most_calls: where the present phase ends; 0: at no number */
  int64_t from_calls;
  double from_time, to_time; /* to_time INFINITY: at no time */
  int32_t failed;            /* moves in a row that came to no call */
  bool home;                 /* on the calling thread */
  berth_status status;
} berth_i_walk;

/** @param pool holds its arrays; release the walk before, also after a failure */
berth_status berth_i_walk_init(berth_i_search *s, berth_i_pool *pool, int32_t stream,
                               berth_i_walk *w);
void berth_i_walk_release(berth_i_walk *w);
/** Takes a placement whose value is known. */
void berth_i_walk_take(berth_i_walk *w, const int32_t *device, double value);
/** The one place where a placement is evaluated: counts as a call. *out INFINITY: not allowed;
 * above limit: a lower bound. */
berth_status berth_i_walk_evaluate(berth_i_walk *w, const int32_t *device,
                                   double limit, double *out);
/** Counts as a move: remembered for undoing. */
void berth_i_walk_put(berth_i_walk *w, int32_t op, int32_t device);
void berth_i_walk_put_block(berth_i_walk *w, const berth_i_clumps *b, int32_t block,
                            int32_t device);
void berth_i_walk_undo(berth_i_walk *w);
/** The same for all but the first n changes. */
void berth_i_walk_undo_to(berth_i_walk *w, int32_t n);
/** No device holds more than its memory, beyond rounding. */
bool berth_i_walk_fits(const berth_i_walk *w);
/** While some device holds too much after a move, blocks that the move did not touch go elsewhere;
 * at most a few. */
void berth_i_walk_evict(berth_i_walk *w, const berth_i_clumps *b);
/** The changes are kept if the value is at most limit, else undone. @return they are kept */
bool berth_i_walk_try(berth_i_walk *w, double limit);
/** The value with the changes, which are undone; INFINITY: above the limit, or not allowed. */
double berth_i_walk_probe(berth_i_walk *w, double limit);
/** The budget of the phase is not used up. @param done out: the used part; may be NULL */
bool berth_i_walk_continues(berth_i_walk *w, double *done);
/** Calls hooks and reads the clock, on the calling thread, every few calls. */
void berth_i_search_poll(berth_i_search *s);
/** The same, now. */
void berth_i_search_watch(berth_i_search *s);

berth_status berth_i_starts_init(const berth_i_problem *p, berth_i_pool *pool, berth_i_starts *a);
/** Weighs the given start, or the further ones, and its own; `alone`: only the given one, if there
 * is one. Keeps the best. */
berth_status berth_i_starts_make(berth_i_walk *w, berth_i_starts *a, bool alone);
/** The least there is. */
double berth_i_starts_value(const berth_i_starts *a);
/** Those of units are worth leaving from, though the rival may be better. */
bool berth_i_starts_near(const berth_i_starts *a, int32_t pick);

int32_t berth_i_population(const berth_i_problem *p);
/** Generations of random keys; walk[0] ends with the best. */
berth_status berth_i_breed(berth_i_walk *walk, int32_t n_walks, const berth_i_starts *start);

/** One random move on the blocks (or single atoms, with probability `single`); nothing may have
 * been put. */
void berth_i_walk_move(berth_i_walk *w, const berth_i_clumps *b, double single);
void berth_i_walk_anneal(berth_i_walk *w, const berth_i_clumps *b, double t_start, double t_end,
                         double single);
/** From where it is, from the other starts, then from random placements. */
void berth_i_walk_descend(berth_i_walk *w, const berth_i_starts *a);

static inline int32_t berth_i_block_device(const berth_i_walk *w, const berth_i_clumps *b,
                                           int32_t block) {
  return w->device[b->ops[b->at[block]]];
}
static inline bool berth_i_block_may(const berth_i_walk *w, const berth_i_clumps *b, int32_t block,
                                     int32_t device) {
  return b->may[(size_t)block * (size_t)w->p->n_devices + (size_t)device] != 0;
}

#endif
