/* Gavel's linear programs: shares of time of each job on each type of GPU. Columns: z, which all
 * jobs get so many times of what they need; then shares, type by type. A goal is a choice of needs
 * (and of costs for max_sum): max-min, makespan and one step of finish-time fairness are one
 * program. First in, first out needs none. Source: Narayanan et al., "Gavel", OSDI 2020, its
 * policies. */
#include "base/pool_internal.h"
#include "extern/glpk_internal.h"
#include <berth/gang.h>

typedef struct program {
  const berth_gavel *p;
  berth_i_glpk_mip lp; /* of the arrays below */
  double *bound, *cost, *most, *value, *need, *weight, *x;
  uint8_t *sense;
  int32_t *at, *row;
} program;

static size_t cells(const berth_gavel *p) { return (size_t)p->n * (size_t)p->types; }
static int32_t gang_of(const berth_gavel *p, int32_t i) { return p->gang ? p->gang[i] : 1; }
static double priority_of(const berth_gavel *p, int32_t i) {
  return p->priority ? p->priority[i] : 1;
}
static double rate(const berth_gavel *p, int32_t i, int32_t j) {
  return p->throughput[(size_t)i * (size_t)p->types + (size_t)j];
}
static bool runs(const berth_gavel *p, int32_t i, int32_t j) {
  return rate(p, i, j) > 0 && gang_of(p, i) <= p->gpus[j];
}

/* ---- checks ---- */

static berth_status check_number(berth_ctx *ctx, int32_t i, const char *what, double x,
                                 bool positive) {
  if (isfinite(x) && (positive ? x > 0 : x >= 0)) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "gavel: job %d: %s: expected a finite number %s, got %g",
                      (int)i, what, positive ? "above 0" : "not below 0", x);
}

static berth_status check_job(berth_ctx *ctx, const berth_gavel *p, berth_gavel_goal goal,
                              int32_t i) {
  berth_status st = check_number(ctx, i, "priority", priority_of(p, i), true);
  bool anywhere = false;
  for (int32_t j = 0; j < p->types && st == BERTH_OK; j++) {
    st = check_number(ctx, i, "throughput", rate(p, i, j), false);
    anywhere = anywhere || runs(p, i, j);
  }
  if (st != BERTH_OK) return st;
  if (gang_of(p, i) < 1)
    return berth_i_fail(ctx, BERTH_EINVAL, "gavel: job %d: gang: expected at least 1, got %d",
                        (int)i, (int)gang_of(p, i));
  if (!anywhere)
    return berth_i_fail(ctx, BERTH_EINFEASIBLE, "gavel: job %d, on %d GPUs, can run on no type",
                        (int)i, (int)gang_of(p, i));
  if (goal == BERTH_GAVEL_MAKESPAN || goal == BERTH_GAVEL_FINISH_TIME)
    st = check_number(ctx, i, "work left", p->left[i], true);
  if (goal != BERTH_GAVEL_FINISH_TIME || st != BERTH_OK) return st;
  if ((st = check_number(ctx, i, "elapsed", p->elapsed[i], false)) != BERTH_OK) return st;
  return check_number(ctx, i, "time alone", p->alone[i], true);
}

static berth_status check(berth_ctx *ctx, const berth_gavel *p, berth_gavel_goal goal) {
  if (p->n < 0 || p->types < 1)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "gavel: %d jobs on %d types of GPUs: expected some types", (int)p->n,
                        (int)p->types);
  if ((int)goal < 0 || goal > BERTH_GAVEL_FIFO)
    return berth_i_fail(ctx, BERTH_EINVAL, "gavel: no goal %d", (int)goal);
  for (int32_t j = 0; j < p->types; j++)
    if (p->gpus[j] < 0)
      return berth_i_fail(ctx, BERTH_EINVAL, "gavel: type %d: GPUs: expected at least 0, got %d",
                          (int)j, (int)p->gpus[j]);
  for (int32_t i = 0; i < p->n; i++) {
    berth_status st = check_job(ctx, p, goal, i);
    if (st != BERTH_OK) return st;
  }
  return BERTH_OK;
}

/* ---- the program ---- */

static berth_status get(berth_i_pool *pool, const berth_gavel *p, program *g) {
  size_t rows = 2 * (size_t)p->n + (size_t)p->types, columns = 1 + cells(p),
         values = 3 * cells(p) + (size_t)p->n;
  *g = (program){ .p = p };
  g->bound = berth_i_pool_alloc(pool, rows, sizeof *g->bound);
  g->sense = berth_i_pool_zalloc(pool, rows, sizeof *g->sense);
  g->cost = berth_i_pool_zalloc(pool, columns, sizeof *g->cost);
  g->most = berth_i_pool_alloc(pool, columns, sizeof *g->most);
  g->x = berth_i_pool_zalloc(pool, columns, sizeof *g->x);
  g->at = berth_i_pool_alloc(pool, columns + 1, sizeof *g->at);
  g->row = berth_i_pool_alloc(pool, values, sizeof *g->row);
  g->value = berth_i_pool_alloc(pool, values, sizeof *g->value);
  g->need = berth_i_pool_zalloc(pool, (size_t)p->n, sizeof *g->need);
  g->weight = berth_i_pool_alloc(pool, (size_t)p->n, sizeof *g->weight);
  g->lp = (berth_i_glpk_mip){ .rows = (int32_t)rows, .columns = (int32_t)columns, .presolve = true,
                              .sense = g->sense, .bound = g->bound, .cost = g->cost,
                              .most = g->most, .at = g->at, .row = g->row, .value = g->value };
  for (int32_t i = 0; i < p->n && g->weight; i++) g->weight[i] = 1;
  return berth_i_pool_status(pool);
}

static void put(program *g, int32_t *k, int32_t row, double value) {
  g->row[*k] = row;
  g->value[(*k)++] = value;
}

/* Rows: what a job needs beyond what it gets; a type's GPUs; a job's shares. Where a time is given
 * z is 0, and each job must get what it needs in that time. Several vertices are optimal; which of
 * them GLPK finds depends on the order of rows and columns, here the published one. */
static void set_program(program *g, double time) {
  const berth_gavel *p = g->p;
  int32_t k = 0, column = 0, needs = time > 0 ? p->types + p->n : 0;
  int32_t types = time > 0 ? 0 : p->n, jobs = types + p->types;
  for (int32_t i = 0; i < p->n; i++) {
    g->bound[needs + i] = time > 0 ? -g->need[i] / time : 0;
    g->bound[jobs + i] = 1;
  }
  for (int32_t j = 0; j < p->types; j++) g->bound[types + j] = p->gpus[j];
  g->most[column] = INFINITY;
  g->at[column++] = k;
  for (int32_t i = 0; i < p->n && !(time > 0); i++) put(g, &k, needs + i, g->need[i]);
  for (int32_t j = 0; j < p->types; j++) {
    for (int32_t i = 0; i < p->n; i++) {
      g->most[column] = runs(p, i, j) ? INFINITY : 0;
      g->at[column++] = k;
      put(g, &k, types + j, gang_of(p, i));
      put(g, &k, jobs + i, 1);
      put(g, &k, needs + i, -rate(p, i, j) * g->weight[i]);
    }
  }
  g->at[column] = k;
}

static berth_status solve(berth_ctx *ctx, program *g, double time) {
  berth_i_glpk_answer a = { .x = g->x };
  set_program(g, time);
  berth_status st = berth_i_glpk_solve(ctx, &g->lp, &a);
  if (st == BERTH_OK && !a.feasible)
    st = berth_i_fail(ctx, BERTH_EUNSUPPORTED, "gavel: GLPK found no shares");
  return st;
}

/* z, by what each job needs. */
static berth_status maximise_needs(berth_ctx *ctx, program *g, double *z) {
  g->cost[0] = 1;
  berth_status st;
  if ((st = solve(ctx, g, 0)) == BERTH_OK) *z = g->x[0];
  return st;
}

/* ---- goals ---- */

static size_t column_of(const program *g, int32_t i, int32_t j) {
  return 1 + (size_t)j * (size_t)g->p->n + (size_t)i;
}

static double throughput(const program *g, int32_t i) {
  double sum = 0;
  for (int32_t j = 0; j < g->p->types; j++) sum += rate(g->p, i, j) * g->x[column_of(g, i, j)];
  return sum;
}

/* Throughput of an equal share: of the types as they are in the cluster. */
static double norm(const berth_gavel *p, int32_t i) {
  double sum = 0, gpus = 0;
  for (int32_t j = 0; j < p->types; j++) {
    sum += rate(p, i, j) * p->gpus[j];
    gpus += p->gpus[j];
  }
  return sum / gpus;
}

static berth_status max_min(berth_ctx *ctx, program *g, double *objective) {
  for (int32_t i = 0; i < g->p->n; i++) {
    g->need[i] = 1;
    g->weight[i] = gang_of(g->p, i) / (priority_of(g->p, i) * norm(g->p, i));
  }
  return maximise_needs(ctx, g, objective);
}

static berth_status shortest(berth_ctx *ctx, program *g, double *time) {
  for (int32_t i = 0; i < g->p->n; i++) g->need[i] = g->p->left[i];
  double z;
  berth_status st;
  if ((st = maximise_needs(ctx, g, &z)) == BERTH_OK) *time = 1 / z;
  return st;
}

/* The end of a bisection for the least feasible time, as published: it stops within `slack`. */
static double bisected(double least, double slack) {
  double low = 100, high = 1e6;
  while (high < least) {
    low = high;
    high *= 10;
  }
  for (int k = 0; k < 100 && (1 + slack) * low < high; k++) {
    double middle = (low + high) / 2;
    *(middle < least * (1 - 1e-9) ? &low : &high) = middle;
  }
  return high;
}

static berth_status makespan(berth_ctx *ctx, program *g, double *objective) {
  berth_status st = shortest(ctx, g, objective);
  if (st != BERTH_OK || !(g->p->slack > 0)) return st;
  *objective = bisected(*objective, g->p->slack);
  g->cost[0] = 0;
  return solve(ctx, g, *objective);
}

/* From the ratio that shares reach, what each job needs to stay at it; as long as all can have more
 * than that, it falls. */
static berth_status finish_time(berth_ctx *ctx, program *g, double *objective) {
  double z;
  berth_status st = shortest(ctx, g, &z);
  for (int k = 0; k < 100 && st == BERTH_OK; k++) {
    double ratio = 0;
    for (int32_t i = 0; i < g->p->n; i++)
      ratio = fmax(ratio, (g->p->elapsed[i] + g->p->left[i] / throughput(g, i)) / g->p->alone[i]);
    for (int32_t i = 0; i < g->p->n; i++)
      g->need[i] = g->p->left[i] / (ratio * g->p->alone[i] - g->p->elapsed[i]);
    *objective = ratio;
    if ((st = maximise_needs(ctx, g, &z)) != BERTH_OK || z <= 1 + 1e-10) return st;
  }
  return st;
}

static berth_status max_sum(berth_ctx *ctx, program *g, double *objective) {
  for (int32_t i = 0; i < g->p->n; i++)
    for (int32_t j = 0; j < g->p->types; j++) g->cost[column_of(g, i, j)] = rate(g->p, i, j);
  berth_status st;
  if ((st = solve(ctx, g, 0)) != BERTH_OK) return st;
  *objective = 0;
  for (int32_t i = 0; i < g->p->n; i++) *objective += throughput(g, i);
  return st;
}

/* No program: in the order of the jobs, each all of its time on the type where it is fastest among
 * those that have enough GPUs left. The first that finds none waits, and all behind it. */
static berth_status fifo(berth_ctx *ctx, program *g, double *objective) {
  (void)ctx;
  const berth_gavel *p = g->p;
  double *left = g->cost;
  *objective = 0;
  for (int32_t j = 0; j < p->types; j++) left[j] = p->gpus[j];
  for (int32_t i = 0; i < p->n; i++) {
    int32_t best = BERTH_NONE;
    for (int32_t j = 0; j < p->types; j++)
      if (left[j] >= gang_of(p, i) && (best == BERTH_NONE || rate(p, i, j) > rate(p, i, best)))
        best = j;
    if (best == BERTH_NONE) break;
    g->x[column_of(g, i, best)] = 1;
    left[best] -= gang_of(p, i);
    (*objective)++;
  }
  return BERTH_OK;
}

berth_status berth_gavel_allocate(berth_ctx *ctx, const berth_gavel *p, berth_gavel_goal goal,
                                  double *share, double *objective) {
  if (!ctx) return BERTH_EINVAL;
  static berth_status (*const goals[])(berth_ctx *, program *, double *) = {
    max_min, makespan, finish_time, max_sum, fifo
  };
  berth_status st = check(ctx, p, goal);
  berth_i_pool scratch = berth_i_pool_empty(ctx);
  double reached = NAN;
  if (st != BERTH_OK) return st;
  program g;
  if ((st = get(&scratch, p, &g)) == BERTH_OK && p->n > 0) st = goals[goal](ctx, &g, &reached);
  if (st == BERTH_OK) {
    for (int32_t i = 0; i < p->n; i++)
      for (int32_t j = 0; j < p->types; j++)
        share[i * p->types + j] = fmin(1, fmax(0, g.x[column_of(&g, i, j)]));
    *objective = reached;
  }
  berth_i_pool_free(&scratch);
  return st;
}
