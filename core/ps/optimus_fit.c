/* A speed model of a job from speeds that were measured: nonnegative least squares in five terms
 * (Peng et al., EuroSys 2018). Samples are turned into one triangle by Givens rotations; then each
 * of the 31 subsets of terms is solved from it, and the best one without a negative coefficient is
 * taken, which is exact. O(samples), besides a constant. */
#include "policies_internal.h"

enum { TERMS = 5, WIDTH = TERMS + 1 };

/* Rows of a least-squares problem, of `width` numbers the last of which is wanted, turned one by
 * one into a triangle that has the same solutions. */
typedef struct triangle {
  int width;
  double at[WIDTH][WIDTH];
} triangle;

/* By Givens rotations; spoils the row. */
static void feed(triangle *t, double *row) {
  for (int i = 0; i < t->width; i++) {
    double a = t->at[i][i], b = row[i], h = hypot(a, b);
    if (b == 0) continue;
    for (int j = i; j < t->width; j++) {
      double x = t->at[i][j], y = row[j];
      t->at[i][j] = (a * x + b * y) / h;
      row[j] = (a * y - b * x) / h;
    }
  }
}

/* Columns that are all but combinations of others have no solution of their own: a smaller subset
 * has it. */
static bool solve(const triangle *t, double *x) {
  int n = t->width - 1;
  for (int i = n - 1; i >= 0; i--) {
    double size = 0, sum = t->at[i][n];
    for (int k = 0; k <= i; k++) size = hypot(size, t->at[k][i]);
    if (!(fabs(t->at[i][i]) > 1e-10 * size)) return false;
    for (int j = i + 1; j < n; j++) sum -= t->at[i][j] * x[j];
    x[i] = sum / t->at[i][i];
    if (!(x[i] >= 0)) return false;
  }
  return true;
}

/* Some of the terms.  @return the residual; INFINITY: some would be below 0 */
static double try_terms(const triangle *all, unsigned terms, double theta[TERMS]) {
  triangle t = { 1, { { 0 } } };
  int n = 0;
  for (int j = 0; j < TERMS; j++) t.width += terms >> j & 1;
  for (int i = 0; i < WIDTH; i++) {
    n = 0;
    double row[WIDTH];
    for (int j = 0; j < WIDTH; j++)
      if (j == TERMS || terms >> j & 1) row[n++] = all->at[i][j];
    feed(&t, row);
  }
  double x[TERMS];
  if (!solve(&t, x)) return INFINITY;
  n = 0;
  for (int j = 0; j < TERMS; j++) theta[j] = terms >> j & 1 ? x[n++] : 0;
  return fabs(t.at[t.width - 1][t.width - 1]);
}

static berth_status check_positive(berth_ctx *ctx, const char *what, int32_t n, const double *x) {
  for (int32_t i = 0; i < n; i++)
    if (!(x[i] > 0) || isinf(x[i]))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "speed fit: %s of sample %d: expected a finite number above 0, got %g",
                          what, (int)i, x[i]);
  return BERTH_OK;
}

berth_status berth_ps_speed_fit_to(berth_ctx *ctx, int32_t batch, int32_t n, const double *workers,
                                   const double *servers, const double *speed,
                                   berth_ps_speed_fit *out) {
  if (!ctx) return BERTH_EINVAL;
  triangle all = { WIDTH, { { 0 } } };
  double best = INFINITY;
  berth_status st = check_positive(ctx, "workers", n, workers);
  if (st == BERTH_OK) st = check_positive(ctx, "servers", n, servers);
  if (st == BERTH_OK) st = check_positive(ctx, "speed", n, speed);
  if (st == BERTH_OK && (n < 1 || batch < 1))
    st = berth_i_fail(ctx, BERTH_EINVAL, "speed fit: expected a sample and a batch, got %d and %d",
                      (int)n, (int)batch);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < n; i++) {
    double row[WIDTH] = { batch / workers[i], 1,          workers[i] / servers[i],
                          workers[i],         servers[i], 1 / speed[i] };
    feed(&all, row);
  }
  for (unsigned terms = 1; terms < 1u << TERMS; terms++) {
    double theta[TERMS], residual = try_terms(&all, terms, theta);
    if (!(residual < best)) continue;
    best = residual;
    memcpy(out->theta, theta, sizeof theta);
  }
  return BERTH_OK;
}
