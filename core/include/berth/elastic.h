/* Jobs that can run on more or fewer GPUs: how many each gets now, and how fast it learns on them.
 *
 * berth_gang (rules OPTIMUS, POLLUX) asks these at each slot; they may be asked alone. */
#ifndef BERTH_ELASTIC_H
#define BERTH_ELASTIC_H

#include <berth/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct berth_elastic_job {
  int32_t most;        /* GPUs */
  const double *speed; /* [most] work per s on 1, 2, ... GPUs; 0: not on so many */
  double left;         /* work */
  int32_t now;         /* GPUs that it has; 0: none */
  double change;       /* POLLUX: times its speed, on another number than `now`: what a restart costs; 1: nothing */
} berth_elastic_job;

/**
 * Optimus's choice where workers are GPUs and nothing else: each job, in order, gets the least that it can run on; then the job
 * gets more whose remaining time falls most per GPU, as long as that is above 0.
 *
 * @param jobs [n] in order of arrival  @param count [n] out, GPUs; their sum is at most gpus
 * @return BERTH_OK; BERTH_EINVAL (a number, with its place); BERTH_ENOMEM
 *
 * O(n + gpus log n). Source: Y. Peng et al., "Optimus", EuroSys 2018, as the Pollux artifact has it without parameter servers.
 * Departs: where a job cannot run on one more, it may be offered several at once, at their mean gain.
 */
berth_status berth_elastic_optimus(berth_ctx *ctx, int32_t n, const berth_elastic_job *jobs, int32_t gpus, int32_t *count);

/**
 * The greatest mean of speedup^power, of all ways to give at most `gpus`: exact, by dynamic programming. The speedup of a job is
 * its speed over that on the least that it can run on; of one that gets nothing it counts as `floor`.
 *
 * @param power at most 1; 0: of the logarithms; published: -1  @param floor above 0; e.g. 0.01
 * @param count [n] out  @return as above
 *
 * O(n gpus most) time, O(n gpus) memory. Source: A. Qiao et al., "Pollux", OSDI 2021, sec. 4.2 (fitness of eq. 14, restart penalty
 * of eq. 15). Departs: exact, where Pollux searches by generations; that speedups are over one GPU is its artifact's.
 */
berth_status berth_elastic_pollux(berth_ctx *ctx, int32_t n, const berth_elastic_job *jobs, int32_t gpus, double power,
                                  double floor, int32_t *count);

/** Pollux's model of a training job. Batches in samples, times in s. */
typedef struct berth_goodput {
  double grad, grad_sample;   /* a_c + b_c m: computing on a batch of m per GPU */
  double sync_near, near_gpu; /* a_r + b_r (K - 2): synchronising K >= 2 GPUs of one machine */
  double sync_far, far_gpu;   /* a_n + b_n (K - 2): of several */
  double overlap;             /* gamma, 1 to 10: T = (T_grad^gamma + T_sync^gamma)^(1/gamma) */
  double noise;               /* phi: gradient noise scale; INFINITY: efficiency is always 1 */
  double batch;               /* M0: least batch in all, at which efficiency is 1 */
  double most_batch;          /* largest batch in all; INFINITY */
  double most_per_gpu;        /* largest that fits a GPU; INFINITY */
} berth_goodput;

/** @return s of an iteration on `gpus` of `machines`, at a batch per GPU */
double berth_goodput_time(const berth_goodput *g, int32_t gpus, int32_t machines, double per_gpu);
/** @return share of its samples that a batch is worth, as if they were of batches of M0: (phi + M0) / (phi + M) */
double berth_goodput_efficiency(const berth_goodput *g, double batch);
/**
 * The largest goodput, samples per s times efficiency, over all batches in range.
 *
 * @param batch out, may be NULL: the batch in all; 0 if none is in range
 * @param out   goodput; 0 if M0 does not fit
 * @return BERTH_OK; BERTH_EINVAL (numbers of the model; gpus, machines: at least 1, no more machines than GPUs)
 *
 * Goodput rises to one maximum and falls: golden section.
 */
berth_status berth_goodput_best(berth_ctx *ctx, const berth_goodput *g, int32_t gpus, int32_t machines, double *batch, double *out);

#ifdef __cplusplus
}
#endif
#endif
