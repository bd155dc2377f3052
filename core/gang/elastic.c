/* How many GPUs each of several resizable jobs gets: Optimus' greedy steps (Peng et al., EuroSys
 * 2018), by a heap of the best next steps, O((jobs + GPUs) log jobs) besides the search of a next
 * step; and Pollux' greatest mean (Qiao et al., OSDI 2021, sec. 4.2), by dynamic programming over
 * jobs and GPUs, O(jobs GPUs counts): best[g] of the jobs so far on at most g GPUs. Pollux' own
 * search is genetic; this one is exact. */
#include "base/heap_internal.h"
#include "base/pool_internal.h"
#include <berth/gang.h>

static berth_status check(berth_ctx *ctx, int32_t n, const berth_elastic_job *jobs, int32_t gpus) {
  if (n < 0 || gpus < 0)
    return berth_i_fail(ctx, BERTH_EINVAL, "elastic: %d jobs, %d GPUs: expected at least 0", (int)n,
                        (int)gpus);
  for (int32_t i = 0; i < n; i++) {
    const berth_elastic_job *j = &jobs[i];
    if (j->most < 0 || !(j->left >= 0) || isinf(j->left))
      return berth_i_fail(
          ctx, BERTH_EINVAL,
          "elastic: job %d: %d GPUs at most, %g left: expected finite numbers not below 0", (int)i,
          (int)j->most, j->left);
    if (!(j->change >= 0) || isinf(j->change))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "elastic: job %d: change: expected a finite number not below 0, got %g",
                          (int)i, j->change);
    for (int32_t k = 0; k < j->most; k++)
      if (!(j->speed[k] >= 0) || isinf(j->speed[k]))
        return berth_i_fail(
            ctx, BERTH_EINVAL,
            "elastic: job %d: speed on %d GPUs: expected a finite number not below 0, got %g",
            (int)i, (int)k + 1, j->speed[k]);
  }
  return BERTH_OK;
}

/* The next number of GPUs above n on which it can run; BERTH_NONE. */
static int32_t next_count(const berth_elastic_job *j, int32_t n) {
  for (int32_t k = n; k < j->most; k++)
    if (j->speed[k] > 0) return k + 1;
  return BERTH_NONE;
}

/* ---- Optimus ---- */

/* Time saved per GPU by the next step up; the best such step that fits. */
static double gain(const berth_elastic_job *j, int32_t n, int32_t left, int32_t *to) {
  double best = 0, now = j->left / j->speed[n - 1];
  for (int32_t k = next_count(j, n); k != BERTH_NONE && k - n <= left; k = next_count(j, k)) {
    double saved = (now - j->left / j->speed[k - 1]) / (k - n);
    if (saved > best) {
      best = saved;
      *to = k;
    }
    if (k == n + 1) break; /* one at a time where that can be */
  }
  return best;
}

berth_status berth_elastic_optimus(berth_ctx *ctx, int32_t n, const berth_elastic_job *jobs,
                                   int32_t gpus, int32_t *count) {
  if (!ctx) return BERTH_EINVAL;
  berth_i_heap best = { 0 };
  berth_status st = check(ctx, n, jobs, gpus);
  int32_t to = 0;
  if (st != BERTH_OK || (st = berth_i_heap_init(ctx, &best, n, (size_t)n)) != BERTH_OK) return st;
  /* 1. The least number each can run on, by arrival. */
  for (int32_t i = 0; i < n; i++) {
    const int32_t least = next_count(&jobs[i], 0);
    count[i] = least != BERTH_NONE && least <= gpus ? least : 0;
    gpus -= count[i];
  }
  /* 2. The step that saves most time per GPU, as long as GPUs are left. */
  double g;
  for (int32_t i = 0; i < n; i++)
    if (count[i] > 0 && (g = gain(&jobs[i], count[i], gpus, &to)) > 0)
      berth_i_heap_push(&best, i, -g);
  while (best.n > 0 && gpus > 0) {
    double key;
    int32_t i = berth_i_heap_pop(&best, &key);
    if (!((g = gain(&jobs[i], count[i], gpus, &to)) > 0)) continue;
    if (-g > key) { /* its step up does not fit any more */
      berth_i_heap_push(&best, i, -g);
      continue;
    }
    gpus -= to - count[i];
    count[i] = to;
    if ((g = gain(&jobs[i], to, gpus, &to)) > 0) berth_i_heap_push(&best, i, -g);
  }
  berth_i_heap_release(ctx, &best);
  return BERTH_OK;
}

/* ---- Pollux ---- */

/* What a job on n GPUs adds to the mean: speedup^power / power, of power 0 the logarithm. */
static double worth_of(const berth_elastic_job *j, int32_t n, double power, double floor) {
  int32_t least = next_count(j, 0);
  double speedup = n > 0 && least != BERTH_NONE ? j->speed[n - 1] / j->speed[least - 1] : 0;
  if (n != j->now) speedup *= j->change;
  speedup = fmax(speedup, floor);
  return power == 0 ? log(speedup) : pow(speedup, power) / power;
}

berth_status berth_elastic_pollux(berth_ctx *ctx, int32_t n, const berth_elastic_job *jobs,
                                  int32_t gpus, double power, double floor, int32_t *count) {
  if (!ctx) return BERTH_EINVAL;
  berth_status st = check(ctx, n, jobs, gpus);
  size_t width = (size_t)(gpus < 0 ? 0 : gpus) + 1;
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  if (st != BERTH_OK) return st;
  if (!(power <= 1) || isinf(power))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "elastic: power: expected a finite number of at most 1, got %g", power);
  if (!(floor > 0) || isinf(floor))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "elastic: floor: expected a finite number above 0, got %g", floor);
  double *best = berth_i_pool_zalloc(&scratch, 2 * width, sizeof *best);
  int32_t *from = berth_i_pool_alloc(&scratch, (size_t)n * width, sizeof *from);
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  /* 1. Job by job: best[g] of the jobs up to i on at most g GPUs; from[i][g]: what i gets then. */
  for (int32_t i = 0; i < n; i++) {
    const double *before = best + (i % 2 ? width : 0);
    double *after = best + (i % 2 ? 0 : width), nothing = worth_of(&jobs[i], 0, power, floor);
    int32_t *last = from + (size_t)i * width;
    for (int32_t g = 0; g <= gpus; g++) {
      after[g] = before[g] + nothing;
      last[g] = 0;
    }
    for (int32_t k = next_count(&jobs[i], 0); k != BERTH_NONE && k <= gpus;
         k = next_count(&jobs[i], k)) {
      double w = worth_of(&jobs[i], k, power, floor);
      for (int32_t g = k; g <= gpus; g++) {
        double sum = before[g - k] + w;
        if (!(sum > after[g])) continue;
        after[g] = sum;
        last[g] = k;
      }
    }
  }
  /* 2. Back from all GPUs after the last job. */
  for (int32_t i = n - 1, g = gpus; i >= 0; i--) {
    count[i] = from[(size_t)i * width + (size_t)g];
    g -= count[i];
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}
