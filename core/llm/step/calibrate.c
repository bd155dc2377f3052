/* Calibration: factors of measured steps, by Nelder and Mead's simplex over the logarithms of
 * multipliers of the framework's factors. */
#include "step_internal.h"
#include <stdlib.h>

enum { MOST = 6, MOST_PARTS = 40 };
#define NINE_OF_TEN 2.06 /* of normal errors nine of ten are below so many times their mean */

berth_llm_calibrate_options berth_llm_calibrate_default(void) {
  return (berth_llm_calibrate_options){ .terms = BERTH_LLM_FOUR, .shrink = 0.1, .calls = 300 };
}

static void set_defaults(void *out) {
  *(berth_llm_calibrate_options *)out = berth_llm_calibrate_default();
}

static const berth_choice *const terms[] = {
  BERTH_I_CHOICE("four", "Products with attention, element-wise work with launches, communication "
                 "inside and across machines."),
  BERTH_I_CHOICE("six", "Each factor."), NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_llm_calibrate_options, name, kind)
#define FACTOR(name, kind) BERTH_I_OPTION_AT(berth_llm_calibrate_options, start.name, #name, kind)
#define SHIPPED .fallback = "the framework's"

const berth_option_table *berth_llm_calibrate_option_table(void) {
  static const berth_option rows[] = {
    { FIELD(terms, CHOICE), .choices = terms, .text = "factors that are fitted together" },
    { FIELD(shrink, NUMBER), .high = 100,
      .text = "how strongly few rows stay near the framework's factors" },
    { FACTOR(products, NUMBER), .high = 100, SHIPPED, .text = "to stay near: of matrix products" },
    { FACTOR(attention, NUMBER), .high = 100, SHIPPED, .text = "of attention" },
    { FACTOR(elementwise, NUMBER), .high = 100, SHIPPED, .text = "of element-wise work" },
    { FACTOR(launch, QUANTITY), .unit = BERTH_SECONDS, SHIPPED, .text = "of launches" },
    { FACTOR(inside, NUMBER), .high = 1000, SHIPPED, .text = "of communication inside a machine" },
    { FACTOR(across, NUMBER), .high = 1000, SHIPPED, .text = "of communication across machines" },
    { FIELD(calls, LONG), .low = 10, .high = 1e9, .text = "evaluations of a fit" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("llm.calibrate", rows, berth_llm_calibrate_options, set_defaults);
}

/* ---- multipliers ---- */

/* The factors in the order of multipliers; `of` says which multiplier each has. */
static double *factor_at(berth_llm_factors *f, int i) {
  double *const at[MOST] = { &f->products, &f->attention, &f->elementwise, &f->launch, &f->inside,
                             &f->across };
  return at[i];
}

static int multiplier_of(berth_llm_terms t, int i) {
  static const int four[MOST] = { 0, 0, 1, 1, 2, 3 };
  return t == BERTH_LLM_FOUR ? four[i] : i;
}

static int multipliers(berth_llm_terms t) { return t == BERTH_LLM_FOUR ? 4 : 6; }

typedef struct problem {
  int32_t n, part, parts;  /* rows; those of `part` are left out, -1: none */
  const berth_llm_measured *row;
  const berth_llm_plan *plan; /* [n] filled */
  berth_llm_calibrate_options o;
  berth_llm_factors start;
  berth_status st;         /* of the estimates */
} problem;

static berth_llm_factors factors_at(const problem *p, const double *x) {
  berth_llm_factors f = p->start;
  for (int i = 0; i < MOST; i++) *factor_at(&f, i) *= exp(x[multiplier_of(p->o.terms, i)]);
  return f;
}

/* log(estimate / measurement) */
static double error_of(problem *p, int32_t row, const berth_llm_factors *f) {
  berth_i_llm_step s;
  double step = 1;
  berth_status st = berth_i_llm_step_make(p->row[row].model, p->row[row].cluster, &p->plan[row], f,
                                          &s);
  if (st == BERTH_OK) st = berth_i_llm_closed(&s, &step);
  berth_i_pool_free(&s.pool);
  if (st != BERTH_OK) p->st = st;
  return log(step / p->row[row].seconds);
}

static double value_of(problem *p, const double *x) {
  berth_llm_factors f = factors_at(p, x);
  double sum = 0, far = 0, n = 0;
  for (int32_t i = 0; i < p->n && p->st == BERTH_OK; i++) {
    if (p->part >= 0 && i % p->parts == p->part) continue;
    sum += fabs(error_of(p, i, &f));
    n++;
  }
  for (int i = 0; i < multipliers(p->o.terms); i++) far += fabs(x[i]);
  return (sum + p->o.shrink * far) / n;
}

/* ---- the simplex ---- */

typedef struct point {
  double x[MOST], value;
} point;

static point towards(problem *p, int k, const double *from, const double *to, double t) {
  point q = { .value = 0 };
  for (int i = 0; i < k; i++) q.x[i] = from[i] + t * (to[i] - from[i]);
  q.value = value_of(p, q.x);
  return q;
}

static int by_value(const void *a, const void *b) {
  const point *x = a, *y = b;
  return (x->value > y->value) - (x->value < y->value);
}

/* Moves the worst point, or all towards the best. @return calls */
static int turn(problem *p, int k, point *s) {
  double centre[MOST] = { 0 };
  qsort(s, (size_t)k + 1, sizeof *s, by_value);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < k; i++) centre[i] += s[j].x[i] / k;
  point *worst = &s[k], new = towards(p, k, centre, worst->x, -1);
  if (new.value < s[0].value) {
    point far = towards(p, k, centre, worst->x, -2);
    *worst = far.value < new.value ? far : new;
    return 2;
  }
  if (new.value < s[k - 1].value) {
    *worst = new;
    return 1;
  }
  point near = towards(p, k, centre, new.value < worst->value ? new.x : worst->x, 0.5);
  if (near.value < fmin(new.value, worst->value)) {
    *worst = near;
    return 2;
  }
  for (int j = 1; j <= k; j++) s[j] = towards(p, k, s[0].x, s[j].x, 0.5);
  return k + 2;
}

/* From no change, and again from where that ends: a simplex shrinks too early at a kink. */
static berth_status fit(problem *p, berth_ctx *ctx, berth_llm_factors *out) {
  int k = multipliers(p->o.terms);
  point best = { .value = 0 };
  for (int start = 0; start < 3; start++) {
    point s[MOST + 1] = { best };
    double size = start == 1 ? -0.3 : 0.3;
    s[0].value = value_of(p, s[0].x);
    for (int j = 1; j <= k; j++) {
      s[j] = s[0];
      s[j].x[j - 1] += size;
      s[j].value = value_of(p, s[j].x);
    }
    for (int64_t calls = k + 1; calls < p->o.calls / 3 && p->st == BERTH_OK;) {
      calls += turn(p, k, s);
      if (p->st == BERTH_OK) p->st = berth_i_interrupted(ctx);
    }
    qsort(s, (size_t)k + 1, sizeof *s, by_value);
    best = s[0];
  }
  *out = factors_at(p, best.x);
  return p->st;
}

/* ---- the answer ---- */

static double mean_error(problem *p, const berth_llm_factors *f) {
  double sum = 0;
  for (int32_t i = 0; i < p->n; i++) sum += fabs(expm1(error_of(p, i, f)));
  return sum / p->n;
}

/* Fits without each part: ranges, and the error of what was left out. */
static berth_status leave_out(problem *p, berth_ctx *ctx, berth_llm_calibration *out) {
  double sum = 0;
  out->low = out->high = out->factors;
  p->parts = p->n < MOST_PARTS ? p->n : MOST_PARTS;
  for (p->part = 0; p->part < p->parts; p->part++) {
    berth_llm_factors f;
    berth_status st = fit(p, ctx, &f);
    if (st != BERTH_OK) return st;
    for (int i = 0; i < MOST; i++) {
      double x = *factor_at(&f, i), *low = factor_at(&out->low, i),
             *high = factor_at(&out->high, i);
      *low = fmin(*low, x);
      *high = fmax(*high, x);
    }
    for (int32_t i = p->part; i < p->n; i += p->parts) sum += fabs(expm1(error_of(p, i, &f)));
  }
  out->left_out = sum / p->n;
  return p->st;
}

static berth_status check(int32_t n, const berth_llm_measured *rows, berth_llm_plan *plan) {
  berth_ctx *ctx = rows[0].model->pool.ctx;
  for (int32_t i = 0; i < n; i++) {
    if (!(rows[i].seconds > 0) || isinf(rows[i].seconds))
      return berth_i_fail(ctx, BERTH_EINVAL, "row %d: seconds is %g, expected above 0", (int)i,
                          rows[i].seconds);
    if (rows[i].plan.framework != rows[0].plan.framework)
      return berth_i_fail(ctx, BERTH_EINVAL, "row %d is of another framework than row 0",
                          (int)i);
    plan[i] = rows[i].plan;
    berth_status st = berth_llm_plan_fill(rows[i].model, rows[i].cluster, &plan[i]);
    if (st != BERTH_OK) return st;
  }
  return BERTH_OK;
}

berth_status berth_llm_calibrate(int32_t n, const berth_llm_measured *rows,
                                 const berth_llm_calibrate_options *opts,
                                 berth_llm_calibration *out) {
  if (n < 1 || !rows || !out) return BERTH_EINVAL;
  berth_ctx *ctx = rows[0].model->pool.ctx;
  berth_i_pool pool = berth_i_pool_empty(ctx);
  problem p = { .n = n, .part = -1, .row = rows, .o = berth_llm_calibrate_default() };
  berth_llm_calibration c = { .rows = n, .left_out = (double)NAN };
  if (opts) p.o = *opts;
  berth_status st = berth_options_check(ctx, berth_llm_calibrate_option_table(), &p.o);
  berth_llm_plan *plan = st == BERTH_OK ? berth_i_pool_alloc(&pool, (size_t)n, sizeof *plan) : NULL;
  if (st == BERTH_OK) st = plan ? check(n, rows, plan) : berth_i_pool_status(&pool);
  if (st == BERTH_OK) {
    p.plan = plan;
    p.start = berth_llm_factors_of(plan[0].framework, NULL);
    for (int i = 0; i < MOST; i++)
      if (*factor_at(&p.o.start, i) > 0) *factor_at(&p.start, i) = *factor_at(&p.o.start, i);
    c.before = mean_error(&p, &p.start);
    st = p.st == BERTH_OK ? fit(&p, ctx, &c.factors) : p.st;
  }
  if (st == BERTH_OK) {
    c.error = mean_error(&p, &c.factors);
    c.low = c.high = c.factors;
    if (n > 1) st = leave_out(&p, ctx, &c);
  }
  if (st == BERTH_OK) {
    /* rows that are few or alike say little of others: their errors are the framework's still */
    berth_llm_provenance about;
    berth_llm_factors_of(plan[0].framework, &about);
    c.worst = fmax(NINE_OF_TEN * c.left_out, about.worst / sqrt(n));
    *out = c;
  }
  berth_i_pool_free(&pool);
  return st;
}
