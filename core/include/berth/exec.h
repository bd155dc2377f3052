/* Executor: a placed graph run for real, on threads, in an order that is decided while it runs.
 *
 * An executor is made for one priced graph, with its buffers and threads, and runs placements; an
 * execution is the record of one run, independent of the executor. This is the one part of the
 * library that reads a clock by itself: its results are measurements, and differ from run to
 * run. */
#ifndef BERTH_EXEC_H
#define BERTH_EXEC_H

#include <berth/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A work-conserving executor: what the step simulator foretells, done. Every device is a thread
 * with an arena of its own in which all its tensors lie, ops are kernels that read and write them,
 * transfers are copies between arenas by copy threads. An op starts as soon as its inputs are on
 * its device and the device is free, a transfer as soon as it is produced and its channels are
 * free; which of several goes first is decided at that moment. There are no barriers. So the same
 * placement takes another time each time.
 *
 * Times. An op of t seconds by the cost model has the nominal time scale x t, a transfer likewise.
 *   COMPUTE  a device computes for the whole of it: how long that really takes, depends on the
 *            machine.
 *            Threads beyond the cores share these.
 *   PACED    a device computes for the share `duty` of it, then sleeps to its end: no op takes less
 *            than its nominal time, and many devices fit on few cores.
 *   Transfers are paced in both: a copy is made in pieces of 64 KiB or more, each when it is due,
 *   so that it takes its nominal time.
 *
 * Kernels, by the kind of the op (its nominal time on the mean device is T, on its own device t):
 *   "matmul", "einsummable", "conv2d", "gemm", "linear", "attention", or "matmul" in it: a product
 *            of two n x n matrices filled from its inputs, n = cbrt(T flops / 16) from 16 to 128 in
 *            steps of 16, as often as takes t at the rate `flops`. They are not by CBLAS, whose
 *            sequential builds are not safe in several threads;
 *   "formation", "reduce", "add", "sum", "allreduce", or another op of three or more inputs: the
 *            mean of its inputs, taken in their order, so that the result is the same to the bit;
 *   others   x / (1 + |x|) of that mean.
 *   The last two take t at the rate of `stream` elements a second and input. A kernel that is
 *   repeated writes the same again, so results do not depend on times, order, devices or mode. The
 *   same options give the same kernels on every machine; what they really take is measured by
 *   calibration (Lua: executor:calibrate).
 *
 * Sizes. A tensor has as many float32 as its bytes say, times a factor such that all tensors of the
 * graph fit into `memory`; at least 16, also where it has no bytes. Arenas are laid out for the
 * placement before the run, at multiples of 64 bytes, and grow only.
 *
 * The clock. This room alone reads CLOCK_MONOTONIC by itself: its threads sleep by it, and the
 * context's clock need not be callable from them. Hooks are called on the calling thread only;
 * memory comes from the context's allocator on that thread, and from the system for the stacks of
 * threads. Signals are blocked in them.
 */
typedef enum berth_exec_mode { BERTH_EXEC_COMPUTE, BERTH_EXEC_PACED } berth_exec_mode;

typedef struct berth_exec_options {
  berth_exec_mode mode;    /* default COMPUTE */
  berth_links links;       /* who shares what: FREE, CHANNEL, DUPLEX (default) or PAIR, as in the
                              simulator; one copy thread for each device that sends (FREE: it makes
                              all its copies at once), PAIR: for each ordered pair */
  berth_dispatch dispatch; /* FIFO (default), LIGHT_FIRST, LIGHT_CLASS, BLEVEL, LIFO or RANDOM */
  double seconds;          /* s that all ops take nominally, one after the other; default 0.1 */
  double scale;            /* real s for a s of the cost model; 0 (default): by `seconds` (1 if no
                              op takes time) */
  double duty;             /* PACED: share of its time that a device computes, 0 to 1; default
                              0.1 */
  double flops;            /* rate by which products are sized, FLOP/s; default 2e10 */
  double stream;           /* rate by which other kernels are sized, elements/s; default 1e9 */
  double memory;           /* bytes that all tensors take together at most, each once; default 64
                              MiB */
  int check;               /* 1 (default): compare all results with those of a run on one thread */
  uint64_t seed;           /* of the graph's inputs and of RANDOM; default 0 */
} berth_exec_options;

berth_exec_options berth_exec_default(void);
const berth_option_table *berth_exec_option_table(void);

/** Threads, kernels and arenas, kept between runs. */
typedef struct berth_executor berth_executor;

/**
 * @param opts NULL: berth_exec_default()
 * @return BERTH_OK; BERTH_EINVAL (an option, with its value; ops so short or long that `seconds`
 *         gives no finite scale above 0); BERTH_EUNSUPPORTED (collectives: expand them;
 *         communication ops that take time; links ROUTE and FAIR; dispatch PLANNED
 * and STATIC; threads that cannot be had, with how many there are); BERTH_ENOMEM. Starts devices +
 * senders threads (PAIR: devices^2). O(ops + edges)
 */
berth_status berth_executor_new(berth_cost *cost, const berth_exec_options *opts,
                                berth_executor **out);
/** NULL is fine. Joins the threads. */
void berth_executor_release(berth_executor *x);
/** Real s for a s of the cost model. */
double berth_executor_scale(const berth_executor *x);
/** Bytes of arenas for a byte of the graph. */
double berth_executor_byte_scale(const berth_executor *x);
int32_t berth_executor_threads(const berth_executor *x);
/** Ops of one class run one kernel with inputs and outputs of the same sizes. @param out [ops]
 * numbers from 0 @return how many */
int32_t berth_executor_kernels(const berth_executor *x, int32_t *out);

/** One run, recorded; of several runs the one of median makespan (the lower of two). Immutable. */
typedef struct berth_execution berth_execution;

/**
 * @param device [ops]
 * @param repeats runs, at least 1; run i takes the seed + i for RANDOM
 * @return as berth_simulate for a placement (EINVAL, EUNREACHABLE); BERTH_EINVAL also: repeats,
 *         called from within its own run, nominally 1e9 s or more; BERTH_ENOMEM; BERTH_EINTERRUPT:
 *         all threads are idle again
 */
berth_status berth_executor_run(berth_executor *x, const int32_t *device, int32_t repeats,
                                berth_execution **out);
void berth_execution_release(berth_execution *r);

double berth_execution_makespan(const berth_execution *r);         /* s, real */
/* [n] makespans of all runs, in order, s */
const double *berth_execution_times(const berth_execution *r, int32_t *n);
const int32_t *berth_execution_device(const berth_execution *r);   /* [ops] */
/* [ops] s after the begin of the run */
const double *berth_execution_start(const berth_execution *r);
const double *berth_execution_finish(const berth_execution *r);    /* [ops] s */
/* [devices] s from start to finish of its ops */
const double *berth_execution_busy(const berth_execution *r);
/** In order of start.  @return count */
int32_t berth_execution_transfers(const berth_execution *r, const berth_transfer **out);
/** Decisions are made in turns, numbered in order: an op became ready, started and finished in
 *  these. A device is given its next op in the turn in which it becomes free or, if none is ready
 *  then, in the one in which one becomes ready. */
typedef struct berth_exec_turns {
  int64_t ready, start, finish;
} berth_exec_turns;
const berth_exec_turns *berth_execution_turns(const berth_execution *r); /* [ops] */
/** Checksum (FNV-1a) of the output of each op; NULL: not checked.  [ops] */
const uint64_t *berth_execution_checksums(const berth_execution *r);
/** The first op in id order of which a result, or a copy of it, in any of the runs is not that of
 *  the run on one thread; BERTH_NONE */
int32_t berth_execution_wrong(const berth_execution *r);
berth_cost *berth_execution_cost(const berth_execution *r);        /* borrowed */

#ifdef __cplusplus
}
#endif
#endif
