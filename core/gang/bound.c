/* What no schedule of gangs can beat.
 *
 * Of a job that runs for p s in all and ends at C, the mean of the moments at which it runs is at
 * most C - p / 2. The least sum of these means, if jobs could have any part of the GPUs at any
 * time, is that of serving one at a time with all of them, always the one with the least work in
 * GPU-s of those that are there (an exchange of two pieces shows it). The loop below serves that
 * fluid: it has no machines and no scheduler, so it is not the cluster's. */
#include "gang_internal.h"

typedef struct fluid {
  double now, gpus;
  double *left;        /* [n] GPU-s */
  double *moments;     /* [n] GPU-s times the moment at which they were served */
  berth_i_heap there;  /* by work */
} fluid;

/* Until that moment. @param sum means of the jobs that ended are added to it */
static void serve(fluid *f, const double *work, double until, double *sum) {
  while (f->there.n > 0 && f->now < until) {
    int32_t job = f->there.at[0].item;
    double span = fmin(f->left[job] / f->gpus, until - f->now), done = span * f->gpus;
    bool ends = f->now + f->left[job] / f->gpus <= until;
    f->moments[job] += done * (f->now + span / 2);
    f->left[job] = ends ? 0 : f->left[job] - done;
    f->now += span;
    if (!ends) return;
    berth_i_heap_remove(&f->there, job);
    *sum += f->moments[job] / work[job];
  }
}

berth_status berth_gang_bounds(berth_ctx *ctx, const berth_cluster *c, const int32_t *size,
                               double gpus, berth_gang_bound *out) {
  if (!ctx || !c || !out) return BERTH_EINVAL;
  int32_t n_jobs = berth_cluster_jobs(c);
  if (n_jobs > 0 && !size) return BERTH_EINVAL;
  size_t n = (size_t)n_jobs;
  fluid f = { .gpus = gpus };
  double jobs = 0, arrivals = 0, seconds = 0, means = 0, makespan = 0; /* all but the last: sums */
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  if (!(gpus > 0 && gpus < INFINITY))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "gang: bounds: gpus is %g, expected a finite number above 0", gpus);
  f.left = berth_i_pool_alloc(&scratch, n, sizeof *f.left);
  f.moments = berth_i_pool_zalloc(&scratch, n, sizeof *f.moments);
  double *work = berth_i_pool_alloc(&scratch, n, sizeof *work);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if ((st = berth_i_heap_init(ctx, &f.there, n_jobs, n)) != BERTH_OK) goto done;
  for (int32_t j = 0; j < n_jobs; j++) {
    berth_job b;
    berth_job_record r;
    if ((st = berth_cluster_job(c, j, &b)) != BERTH_OK
        || (st = berth_cluster_record(c, j, &r)) != BERTH_OK)
      goto done;
    if (r.state == BERTH_JOB_REFUSED || r.state == BERTH_JOB_COMING) continue;
    /* 1. The fluid serves until the job arrives; its work is then there, too. */
    serve(&f, work, b.arrival, &means);
    f.now = fmax(f.now, b.arrival);
    work[j] = f.left[j] = b.work * size[j];
    if (work[j] > 0) berth_i_heap_push(&f.there, j, work[j]);
    else means += b.arrival;
    jobs++;
    arrivals += b.arrival;
    seconds += b.work;
    makespan = fmax(makespan, b.arrival + b.work);
  }
  /* 2. What is left; the fluid is idle only when there is no job. */
  serve(&f, work, INFINITY, &means);
  *out = (berth_gang_bound){ NAN, fmax(makespan, f.now) };
  if (jobs > 0) out->mean_jct = fmax(seconds, means + seconds / 2 - arrivals) / jobs;
done:
  berth_i_heap_release(ctx, &f.there);
  berth_i_pool_free(&scratch);
  return st;
}
