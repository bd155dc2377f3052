/* The most jobs that any scheduler can finish in time if it knows all of them in advance: a linear
 * program over choices (seconds, servers) of each job, which begin when it arrives.
 *
 * The program is written in differences: the servers in use at one moment are those at the one
 * before, and what begins, less what has ended. So a choice has three coefficients however long it
 * lasts: its job, its first moment, the first one after it. Any prices of a server at each moment
 * prove a bound by weak duality, in O(choices) and apart from the solver. Moments are the
 * different arrivals; choices that another choice of the job dominates are left out. */
#include "base/pool_internal.h"
#include "extern/glpk_internal.h"
#include <berth/gang.h>

/** Moments are the different arrivals. A choice is in use from its job's moment up to, not at,
 * another one. */
typedef struct span_table {
  int32_t moments;
  int32_t *job;  /* [n] of each moment: its first job */
  int32_t *from; /* [n] of each job */
  int32_t *to;   /* [choices] above that of its job, at most moments */
} span_table;

/* ---- checks ---- */

static berth_status check_job(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs, int32_t i) {
  if (!(jobs->arrival[i] >= 0) || isinf(jobs->arrival[i]))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "job %d: arrival %g s: expected a finite time of at least 0", (int)i,
                        jobs->arrival[i]);
  if (i > 0 && jobs->arrival[i] < jobs->arrival[i - 1])
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "job %d arrives at %g s, before the job in front of it, %g s", (int)i,
                        jobs->arrival[i], jobs->arrival[i - 1]);
  if (jobs->first[i + 1] < jobs->first[i])
    return berth_i_fail(ctx, BERTH_EINVAL, "job %d: its choices end before they begin", (int)i);
  for (int32_t k = 0, c = jobs->first[i]; c < jobs->first[i + 1]; c++, k++) {
    const berth_clairvoyant_choice *choice = &jobs->choice[c];
    if (!(choice->seconds >= 0))
      return berth_i_fail(ctx, BERTH_EINVAL, "job %d, choice %d: %g s: a time must be at least 0",
                          (int)i, (int)k, choice->seconds);
    if (choice->servers < 1)
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "job %d, choice %d: %d servers: expected at least 1", (int)i, (int)k,
                          (int)choice->servers);
  }
  return BERTH_OK;
}

/* Three entries each, and as many jobs again, must be countable. */
enum { MOST_CHOICES = INT32_MAX / 8 };

/* ---- spans ---- */

/* The first moment behind `from` that is not before the time, less the slack: a job that ends at it
 * is gone. */
static int32_t end_of(const berth_clairvoyant_jobs *jobs, const span_table *s, int32_t from,
                      double time) {
  int32_t low = from + 1, high = s->moments;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (jobs->arrival[s->job[middle]] + jobs->slack < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Checks the jobs; arrays belong to the pool. @return BERTH_OK, BERTH_EINVAL, BERTH_ENOMEM
 * O(choices log n) */
static berth_status spans_init(berth_i_pool *pool, const berth_clairvoyant_jobs *jobs,
                                span_table *out) {
  size_t n = (size_t)(jobs->n < 0 ? 0 : jobs->n);
  berth_status st = BERTH_OK;
  berth_ctx *ctx = pool->ctx;
  if (jobs->n < 0 || jobs->n > MOST_CHOICES)
    return berth_i_fail(ctx, BERTH_EINVAL, "%d jobs", (int)jobs->n);
  if (jobs->servers < 1)
    return berth_i_fail(ctx, BERTH_EINVAL, "%d servers: expected at least 1", (int)jobs->servers);
  if (!(jobs->slack >= 0) || isinf(jobs->slack))
    return berth_i_fail(ctx, BERTH_EINVAL, "slack %g s: expected a finite time of at least 0",
                        jobs->slack);
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
static double worth(const berth_clairvoyant_jobs *jobs, const span_table *s,
                    const double *before, int32_t job) {
  double best = 0;
  for (int32_t c = jobs->first[job]; c < jobs->first[job + 1]; c++) {
    double cost = jobs->choice[c].servers * (before[s->to[c]] - before[s->from[job]]);
    if (jobs->choice[c].servers <= jobs->servers && 1 - cost > best) best = 1 - cost;
  }
  return best;
}

berth_status berth_clairvoyant_prove(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs,
                                     const double *price, double *bound) {
  if (!ctx) return BERTH_EINVAL;
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  span_table s = { 0 };
  berth_status st = spans_init(&scratch, jobs, &s);
  if (st != BERTH_OK) goto done;
  double *before = berth_i_pool_zalloc(&scratch, (size_t)s.moments + 1, sizeof *before);
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  for (int32_t i = 0; i < jobs->n; i++) {
    if (!(price[i] >= 0) || isinf(price[i])) {
      st = berth_i_fail(ctx, BERTH_EINVAL,
                        "price %d is %g: expected a finite number of at least 0", (int)i,
                        price[i]);
      goto done;
    }
    before[s.from[i] + 1] += price[i];
  }
  for (int32_t i = 0; i < s.moments; i++) before[i + 1] += before[i];
  double sum = before[s.moments] * jobs->servers;
  for (int32_t i = 0; i < jobs->n; i++) sum += worth(jobs, &s, before, i);
  *bound = sum;
done:
  berth_i_pool_free(&scratch);
  return st;
}

struct berth_clairvoyant {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t n, choices;
  double *share; /* [choices] */
  double *price; /* [n] */
  berth_clairvoyant_summary summary;
};

/* ---- the program ---- */

/* Columns: choices, then the servers in use at each moment. Rows: jobs, then moments. */
typedef struct program {
  const berth_clairvoyant_jobs *jobs;
  const span_table *spans;
  berth_i_glpk_program lp;
  int32_t *choice; /* [choices kept] */
  int32_t kept, *at, *row;
  double *bound, *cost, *most, *value, *x, *dual;
  uint8_t *equal;
} program;

/* Fits the cluster, and no other choice of the job takes fewer servers or as many, and ends sooner
 * or as soon (of equal ones the first is kept). */
static bool is_useful(const program *p, int32_t job, int32_t c) {
  const berth_clairvoyant_choice *choice = p->jobs->choice;
  if (!(choice[c].servers <= p->jobs->servers)) return false;
  for (int32_t b = p->jobs->first[job]; b < p->jobs->first[job + 1]; b++) {
    int32_t servers = choice[b].servers - choice[c].servers,
            end = p->spans->to[b] - p->spans->to[c];
    if (servers <= 0 && end <= 0 && (servers < 0 || end < 0 || b < c)) return false;
  }
  return true;
}

static void put(program *p, int32_t row, double value) {
  int32_t k = p->at[p->lp.columns + 1]++;
  p->row[k] = row;
  p->value[k] = value;
}

static void begin_column(program *p, double cost, double most) {
  int32_t j = p->lp.columns;
  p->cost[j] = cost;
  p->most[j] = most;
  p->at[j + 1] = p->at[j];
}

static size_t n_columns(const program *p) {
  return (size_t)p->jobs->first[p->jobs->n] + (size_t)p->jobs->n;
}

static berth_status program_init(berth_i_pool *pool, program *p) {
  size_t columns = n_columns(p), rows = 2 * (size_t)p->jobs->n;
  p->choice = berth_i_pool_alloc(pool, columns, sizeof *p->choice);
  p->lp.at = p->at = berth_i_pool_zalloc(pool, columns + 1, sizeof *p->at);
  p->lp.row = p->row = berth_i_pool_alloc(pool, 3 * columns, sizeof *p->row);
  p->lp.value = p->value = berth_i_pool_alloc(pool, 3 * columns, sizeof *p->value);
  p->lp.cost = p->cost = berth_i_pool_alloc(pool, columns, sizeof *p->cost);
  p->lp.most = p->most = berth_i_pool_alloc(pool, columns, sizeof *p->most);
  p->x = berth_i_pool_zalloc(pool, columns, sizeof *p->x);
  p->lp.bound = p->bound = berth_i_pool_alloc(pool, rows, sizeof *p->bound);
  p->lp.equal = p->equal = berth_i_pool_alloc(pool, rows, sizeof *p->equal);
  p->dual = berth_i_pool_zalloc(pool, rows, sizeof *p->dual);
  if (berth_i_pool_status(pool) != BERTH_OK) return BERTH_ENOMEM;
  p->lp.rows = p->jobs->n + p->spans->moments;
  for (int32_t i = 0; i < p->lp.rows; i++) {
    p->equal[i] = i >= p->jobs->n;
    p->bound[i] = !p->equal[i];
  }
  for (int32_t i = 0; i < p->jobs->n; i++)
    for (int32_t c = p->jobs->first[i]; c < p->jobs->first[i + 1]; c++)
      if (is_useful(p, i, c)) {
        double servers = p->jobs->choice[c].servers;
        int32_t moment_rows = p->jobs->n;
        p->choice[p->kept++] = c;
        begin_column(p, 1, INFINITY);
        put(p, i, 1);
        put(p, moment_rows + p->spans->from[i], servers);
        if (p->spans->to[c] < p->spans->moments) put(p, moment_rows + p->spans->to[c], -servers);
        p->lp.columns++;
      }
  for (int32_t i = 0; i < p->spans->moments; i++) {
    begin_column(p, 0, p->jobs->servers);
    put(p, p->jobs->n + i, -1);
    if (i + 1 < p->spans->moments) put(p, p->jobs->n + i + 1, 1);
    p->lp.columns++;
  }
  return BERTH_OK;
}

/* ---- its answer ---- */

static berth_status read_shares(berth_clairvoyant *c, const program *p) {
  size_t moments = (size_t)p->spans->moments + 1;
  double *use = berth_i_zalloc(c->ctx, moments, sizeof *use);
  if (!use) return berth_i_nomem(c->ctx);
  for (int32_t k = 0; k < p->kept; k++) c->share[p->choice[k]] = p->x[k] < 0 ? 0 : p->x[k];
  /* The factor by which all shares are divided so that no constraint is broken by rounding. */
  const berth_clairvoyant_jobs *jobs = p->jobs;
  double worst = 1, now = 0;
  for (int32_t i = 0; i < c->n; i++) {
    double sum = 0;
    for (int32_t k = jobs->first[i]; k < jobs->first[i + 1]; k++) {
      sum += c->share[k];
      use[p->spans->from[i]] += c->share[k] * jobs->choice[k].servers;
      use[p->spans->to[k]] -= c->share[k] * jobs->choice[k].servers;
    }
    if (sum > worst) worst = sum;
  }
  for (int32_t k = 0; k < p->spans->moments; k++) {
    now += use[k];
    if (now > worst * jobs->servers) worst = now / jobs->servers;
  }
  double part = 1 / worst;
  for (int32_t k = 0; k < c->choices; k++) {
    c->share[k] *= part;
    c->summary.value += c->share[k];
  }
  berth_i_free(c->ctx, use, moments, sizeof *use);
  return BERTH_OK;
}

static berth_status solve(berth_clairvoyant *c, berth_i_pool *scratch, program *p) {
  berth_status st = program_init(scratch, p);
  if (st == BERTH_OK && p->kept > 0)
    st = berth_i_glpk_maximise(c->ctx, &p->lp, p->x, p->dual, &c->summary.iterations);
  if (st != BERTH_OK) return st;
  c->summary.columns = p->kept;
  c->summary.moments = p->spans->moments;
  /* A server is worth at a moment what a begin then costs less one at the next. */
  const double *begin = p->dual + c->n;
  for (int32_t k = 0; k < p->spans->moments; k++) {
    double next = k + 1 < p->spans->moments ? begin[k + 1] : 0;
    c->price[p->spans->job[k]] = begin[k] > next ? begin[k] - next : 0;
  }
  if ((st = read_shares(c, p)) != BERTH_OK) return st;
  if ((st = berth_clairvoyant_prove(c->ctx, p->jobs, c->price, &c->summary.bound)) != BERTH_OK)
    return st;
  /* Rounding of a sum of that many numbers could hide a whole job. */
  c->summary.jobs = (int32_t)fmin(c->n, floor(c->summary.bound + 1e-9 * (1 + c->summary.bound)));
  return BERTH_OK;
}

/* ---- life ---- */

berth_status berth_clairvoyant_new(berth_ctx *ctx, const berth_clairvoyant_jobs *jobs,
                                   berth_clairvoyant **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_clairvoyant *c = NULL;
  span_table spans = { 0 };
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  program p = { .jobs = jobs, .spans = &spans };
  berth_status st = spans_init(&scratch, jobs, &spans);
  if (st != BERTH_OK) goto done;
  if (!(c = berth_i_pool_object(ctx, sizeof *c))) {
    st = berth_i_nomem(ctx);
    goto done;
  }
  berth_ctx_retain(c->ctx = ctx);
  c->n = jobs->n;
  c->choices = jobs->first[jobs->n];
  c->share = berth_i_pool_zalloc(&c->pool, (size_t)c->choices, sizeof *c->share);
  c->price = berth_i_pool_zalloc(&c->pool, (size_t)c->n, sizeof *c->price);
  if ((st = berth_i_pool_status(&c->pool)) == BERTH_OK) st = solve(c, &scratch, &p);
done:
  berth_i_pool_free(&scratch);
  if (st == BERTH_OK) *out = c;
  else berth_clairvoyant_release(c);
  return st;
}

void berth_clairvoyant_release(berth_clairvoyant *c) {
  if (!c) return;
  berth_ctx *ctx = c->ctx;
  berth_i_pool_free(&c->pool);
  berth_ctx_release(ctx);
}

const berth_clairvoyant_summary *berth_clairvoyant_get(const berth_clairvoyant *c) {
  return &c->summary;
}
const double *berth_clairvoyant_share(const berth_clairvoyant *c) { return c->share; }
const double *berth_clairvoyant_price(const berth_clairvoyant *c) { return c->price; }
