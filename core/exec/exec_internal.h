/* What the files of this room share.
 *
 * One lock guards all that threads decide by. Whoever ends something takes a turn: under the lock
 * it reports what became ready, then gives idle devices their next op and free channels their next
 * transfer. Threads only carry out what they are given.
 *
 * An edge is a position in graph->use. A tensor's copy on a device is called by the first edge that
 * leads there. */
#ifndef BERTH_EXEC_INTERNAL_H
#define BERTH_EXEC_INTERNAL_H

#include "base/pool_internal.h"
#include "cost/cost_internal.h"
#include "sim/dispatch/dispatch_internal.h"
#include <berth/exec.h>
#include <pthread.h>
#include <stdatomic.h>

enum { BERTH_I_EXEC_GIVEN = 1024 }; /* numbers that an op without inputs reads, or one without
                                       outputs writes */

/* ---- time ---- */

double berth_i_exec_now(void);
/** Waits on wake, whose clock is CLOCK_MONOTONIC, until then or a signal. @return false: it is
 * time */
bool berth_i_exec_wait_until(pthread_cond_t *wake, pthread_mutex_t *lock, double until);
int berth_i_exec_cond_init(pthread_cond_t *c);
/** Timers of the calling thread, where the system lets it. */
void berth_i_exec_sharpen_timers(void);

/* ---- kernels ---- */

typedef enum berth_i_kernel_kind {
  BERTH_I_KERNEL_PRODUCT,
  BERTH_I_KERNEL_MEAN,
  BERTH_I_KERNEL_SOFTSIGN
} berth_i_kernel_kind;

typedef struct berth_i_kernel {
  berth_i_kernel_kind kind;
  int32_t side;         /* PRODUCT: of its matrices */
  int32_t number;       /* of its class */
} berth_i_kernel;

/** What a kernel reads and writes. */
typedef struct berth_i_operands {
  const float **in;     /* [n_in] */
  int64_t *in_length;
  int32_t n_in;
  float **out;          /* [n_out] */
  int64_t *out_length;
  int32_t n_out;
  float *scratch;       /* [3 side^2] for products */
} berth_i_operands;

/** @param seconds nominal, on the mean device */
berth_i_kernel berth_i_kernel_of(const berth_graph *g, int32_t op, double seconds, double flops);
size_t berth_i_kernel_scratch(const berth_i_kernel *k); /* floats */
/** How often (PRODUCT) or for how many elements (others) it takes the seconds at the rate. */
double berth_i_kernel_amount(const berth_i_kernel *k, int32_t n_in, double seconds,
                             const berth_exec_options *o);
/** At least once whole.  @param stop cuts it short when set */
void berth_i_kernel_run(const berth_i_kernel *k, const berth_i_operands *x, double amount,
                        atomic_int *stop);

/* ---- executor ---- */

typedef struct berth_i_arena {
  char *block;          /* as allocated */
  size_t size;
  size_t used;          /* bytes of the present layout, from the first multiple of 64 on */
} berth_i_arena;

/** A requested transfer. */
typedef struct berth_i_copy {
  int32_t edge, tensor, src, dst;
  double seconds;       /* nominal */
  double start, finish;
  int32_t pieces, done; /* in how many pieces, and how many are copied */
  int32_t next;         /* of those under way in the same thread; BERTH_NONE */
} berth_i_copy;

typedef struct berth_i_exec_thread {
  struct berth_executor *x;
  pthread_t id;
  pthread_cond_t wake;
  int32_t number;
  int32_t first;        /* copy thread: the first under way; BERTH_NONE. Device: the op given to
                           it */
} berth_i_exec_thread;

typedef struct berth_i_exec_device {
  int32_t *ready;       /* [ops on it] within executor->ready */
  int32_t n_ready;
  int32_t op;           /* BERTH_NONE: idle */
  berth_i_operands args;
} berth_i_exec_device;

typedef int (*berth_i_spawn_fn)(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *),
                                void *ud);

struct berth_executor {
  berth_i_pool pool;
  berth_ctx *ctx;
  berth_cost *cost;
  const berth_graph *g;
  berth_exec_options o;
  berth_sim *simulator;           /* checks placements */
  double scale, byte_scale;
  int32_t n_devices, n_copiers, n_started;
  int32_t most_in, most_out;
  berth_i_kernel *kernel;     /* [ops] */
  int32_t n_kernels;
  int64_t *length;            /* [tensors] floats */
  int32_t *in_edge;           /* [edges] of each input */
  int32_t *edge_tensor;       /* [edges] */
  double *key;                /* [ops] what the dispatch has prepared; NULL: nothing */
  uint64_t *expected;         /* [ops] checksums; NULL: not yet */
  berth_i_exec_thread *thread;/* [devices + copiers] */
  bool running;
  int32_t corrupt;            /* for tests: the op whose result is spoilt; BERTH_NONE */

  /* of the present placement */
  const int32_t *device;
  berth_i_arena *arena;       /* [devices] */
  float **home;               /* [tensors] */
  float **own;                /* [ops] given numbers of a source, or the result of a sink */
  int32_t *lead;              /* [edges] the edge by which its copy is called; BERTH_NONE: local */
  float **copy_at;            /* [edges] */

  /* under the lock */
  pthread_mutex_t lock;
  pthread_cond_t news;        /* for the calling thread */
  berth_i_exec_device *dev;   /* [devices] */
  int32_t *ready;             /* [ops] */
  int32_t *missing;           /* [ops] inputs that are not there yet */
  berth_exec_turns *turns;    /* [ops] */
  int64_t *since;             /* [ops] in which order they became ready */
  double *start, *finish;     /* [ops] */
  berth_i_copy *copy;         /* [edges] in the order of their requests */
  int32_t *waiting;           /* [edges] of these, those that wait for channels, oldest first */
  int32_t n_copies, n_waiting;
  uint8_t *channel;           /* busy: [devices] out, [devices] in (CHANNEL: the same); PAIR:
                                 [devices^2] */
  size_t n_channels;
  int64_t turn, sequence;
  int32_t left;               /* ops and transfers to end */
  int32_t busy;               /* threads that run something */
  double origin;
  berth_rng rng;
  bool quit;
  atomic_int stop;
};

berth_status berth_i_executor_new(berth_cost *cost, const berth_exec_options *opts,
                                  berth_i_spawn_fn spawn, berth_executor **out);

/** Kernels, sizes, edges: all that the graph alone decides. */
berth_status berth_i_exec_plan(berth_executor *x);
/** Arenas for x->device. */
berth_status berth_i_exec_layout(berth_executor *x);
/** Points args at the inputs and outputs of op. */
void berth_i_exec_operands(const berth_executor *x, int32_t op, berth_i_operands *args);
/** Arrays belong to the pool. */
berth_status berth_i_operands_new(const berth_executor *x, berth_i_pool *pool, berth_i_operands *a);
/* the numbers that a source reads */
void berth_i_exec_give(const berth_executor *x, int32_t op, float *out);

/** The run on one thread: fills x->expected. */
berth_status berth_i_exec_expect(berth_executor *x);
/** @param sums [ops] out  @return the first wrong op; BERTH_NONE */
int32_t berth_i_exec_compare(berth_executor *x, uint64_t *sums);

/* Turns; under the lock. */
void berth_i_exec_begin(berth_executor *x);
void berth_i_exec_op_ended(berth_executor *x, int32_t op);
void berth_i_exec_copy_ended(berth_executor *x, int32_t copy);
double berth_i_exec_nominal(const berth_executor *x, int32_t op);

/** Bodies of threads; ud: berth_i_exec_thread. */
void *berth_i_exec_device_main(void *ud);
void *berth_i_exec_copier_main(void *ud);

#endif
