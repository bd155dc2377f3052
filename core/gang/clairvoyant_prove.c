/* When choices are in use, and what prices prove. */
#include "clairvoyant_internal.h"

/* ---- checks ---- */

static berth_status check_choice(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs, int32_t job,
                                 int32_t c) {
  const berth_clairvoyant_choice *choice = &jobs->choice[c];
  int32_t k = c - jobs->first[job];
  if (!(choice->seconds >= 0)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "job %d, choice %d: %g s: a time must be at least 0",
                        (int)job, (int)k, choice->seconds);
  }
  if (choice->servers < 1) {
    return berth_i_fail(ctx, BERTH_EINVAL, "job %d, choice %d: %d servers: expected at least 1",
                        (int)job, (int)k, (int)choice->servers);
  }
  return BERTH_OK;
}

static berth_status check_job(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs, int32_t i) {
  berth_status st = BERTH_OK;
  if (!(jobs->arrival[i] >= 0) || isinf(jobs->arrival[i])) {
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "job %d: arrival %g s: expected a finite time of at least 0", (int)i,
                        jobs->arrival[i]);
  }
  if (i > 0 && jobs->arrival[i] < jobs->arrival[i - 1]) {
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "job %d arrives at %g s, before the job in front of it, %g s", (int)i,
                        jobs->arrival[i], jobs->arrival[i - 1]);
  }
  if (jobs->first[i + 1] < jobs->first[i]) {
    return berth_i_fail(ctx, BERTH_EINVAL, "job %d: its choices end before they begin", (int)i);
  }
  for (int32_t c = jobs->first[i]; c < jobs->first[i + 1] && st == BERTH_OK; c++)
    st = check_choice(ctx, jobs, i, c);
  return st;
}

/* Three entries each, and as many jobs again, must be countable. */
enum { MOST_CHOICES = INT32_MAX / 8 };

/* ---- spans ---- */

/* The first moment behind `from` that is not before the time, less the slack: a job that ends at it
 * is gone. */
static int32_t end_of(const berth_clairvoyant_jobs *jobs, const berth_i_spans *s, int32_t from,
                      double time) {
  int32_t low = from + 1, high = s->moments;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (jobs->arrival[s->job[middle]] + jobs->slack < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

berth_status berth_i_spans_init(berth_i_pool *pool, const berth_clairvoyant_jobs *jobs,
                                berth_i_spans *out) {
  size_t n = (size_t)(jobs->n < 0 ? 0 : jobs->n);
  berth_status st;
  berth_ctx *ctx = pool->ctx;
  st = BERTH_OK;
  if (jobs->n < 0 || jobs->n > MOST_CHOICES)
    return berth_i_fail(ctx, BERTH_EINVAL, "%d jobs", (int)jobs->n);
  if (jobs->servers < 1)
    return berth_i_fail(ctx, BERTH_EINVAL, "%d servers: expected at least 1", (int)jobs->servers);
  if (!(jobs->slack >= 0) || isinf(jobs->slack)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "slack %g s: expected a finite time of at least 0",
                        jobs->slack);
  }
  if (jobs->first[0] != 0)
    return berth_i_fail(ctx, BERTH_EINVAL, "the first choice is number %d, not 0",
                        (int)jobs->first[0]);
  if (jobs->first[jobs->n] > MOST_CHOICES)
    return berth_i_fail(ctx, BERTH_EINVAL, "%d choices", (int)jobs->first[jobs->n]);
  for (int32_t i = 0; i < jobs->n && st == BERTH_OK; i++) st = check_job(ctx, jobs, i);
  if (st != BERTH_OK) return st;
  out->job = berth_i_pool_alloc(pool, n, sizeof *out->job);
  out->from = berth_i_pool_alloc(pool, n, sizeof *out->from);
  out->to = berth_i_pool_alloc(pool, (size_t)jobs->first[jobs->n], sizeof *out->to);
  if ((st = berth_i_pool_status(pool)) == BERTH_OK) {
    out->moments = 0;
    for (int32_t i = 0; i < jobs->n; i++) {
      if (i == 0 || jobs->arrival[i] > jobs->arrival[i - 1]) out->job[out->moments++] = i;
      out->from[i] = out->moments - 1;
    }
    for (int32_t i = 0; i < jobs->n; i++)
      for (int32_t c = jobs->first[i]; c < jobs->first[i + 1]; c++)
        out->to[c] = end_of(jobs, out, out->from[i], jobs->arrival[i] + jobs->choice[c].seconds);
  }
  return st;
}

/* ---- proof ---- */

/* What a job is worth beyond the servers of its best choice; 0: it is better lost. @param before
 * [moments + 1] sums of prices */
static double worth(const berth_clairvoyant_jobs *jobs, const berth_i_spans *s,
                    const double *before, int32_t job) {
  double best = 0;
  for (int32_t c = jobs->first[job]; c < jobs->first[job + 1]; c++) {
    double cost = jobs->choice[c].servers * (before[s->to[c]] - before[s->from[job]]);
    if (jobs->choice[c].servers <= jobs->servers && 1 - cost > best) best = 1 - cost;
  }
  return best;
}

static berth_status sum_prices(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs,
                               const berth_i_spans *s, const double *price, double *before) {
  for (int32_t i = 0; i < jobs->n; i++) {
    if (!(price[i] >= 0) || isinf(price[i])) {
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "price %d is %g: expected a finite number of at least 0", (int)i,
                          price[i]);
    }
    before[s->from[i] + 1] += price[i];
  }
  for (int32_t i = 0; i < s->moments; i++) before[i + 1] += before[i];
  return BERTH_OK;
}

berth_status berth_clairvoyant_prove(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs,
                                     const double *price, double *bound) {
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  berth_i_spans s = { 0 };
  berth_status st = berth_i_spans_init(&scratch, jobs, &s);
  if (st != BERTH_OK) goto done;
  double *before = berth_i_pool_zalloc(&scratch, (size_t)s.moments + 1, sizeof *before);
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK
      || (st = sum_prices(ctx, jobs, &s, price, before)) != BERTH_OK)
    goto done;
  double sum = before[s.moments] * jobs->servers;
  for (int32_t i = 0; i < jobs->n; i++) sum += worth(jobs, &s, before, i);
  *bound = sum;
done:
  berth_i_pool_free(&scratch);
  return st;
}
