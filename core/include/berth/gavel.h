/* Gavel's policies: which share of the time each job should have on each type of GPU, by linear programs.
 *
 * berth_gang (rule GAVEL) asks at slots, and serves jobs so that their rounds follow these shares; it may be asked alone. */
#ifndef BERTH_GAVEL_H
#define BERTH_GAVEL_H

#include <berth/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum berth_gavel_goal {
  BERTH_GAVEL_MAX_MIN,     /* the least of the jobs' throughputs times gang, over priority and what an equal share would give */
  BERTH_GAVEL_MAKESPAN,    /* time until all work left is done, s */
  BERTH_GAVEL_FINISH_TIME, /* the largest ratio of a job's time in all to that alone */
  BERTH_GAVEL_MAX_SUM      /* sum of throughputs */
} berth_gavel_goal;

typedef struct berth_gavel {
  int32_t n, types;
  const double *throughput; /* [n * types] work per s of a job all the time on a type; 0: not there */
  const int32_t *gang;      /* [n] GPUs; NULL: 1 each */
  const double *priority;   /* [n] above 0; NULL: 1 each */
  const int32_t *gpus;      /* [types] */
  const double *left;       /* [n] work; MAKESPAN, FINISH_TIME */
  const double *elapsed;    /* [n] s since it has come; FINISH_TIME */
  const double *alone;      /* [n] s in all if it were alone, above 0; FINISH_TIME */
} berth_gavel;

/**
 * @param share     [n * types] out: of its time, that a job is to have on a type
 * @param objective out: what the goal names, NAN of no jobs
 * @return BERTH_OK; BERTH_EINVAL (a number, with its place); BERTH_EINFEASIBLE (a job that can run nowhere, which); BERTH_ENOMEM;
 *         BERTH_EINTERRUPT; BERTH_EUNSUPPORTED (the solver gave up)
 *
 * A job's shares sum to 1 at most, and those on a type, times gangs, to its GPUs; gangs larger than a type get none of it. The
 * objective is unique, shares need not be. One linear program of n types + 1 columns; FINISH_TIME some more, each nearer the
 * optimum. Source: D. Narayanan et al., "Heterogeneity-aware cluster scheduling policies for deep learning workloads", OSDI 2020,
 * sec. 4.
 */
berth_status berth_gavel_allocate(berth_ctx *ctx, const berth_gavel *p, berth_gavel_goal goal, double *share, double *objective);

#ifdef __cplusplus
}
#endif
#endif
