/* The linear system of one interior-point iteration: the normal equations A^T D A of the
 * constraints, with the weights D = dual / primal of the iterate. Structure: the sparsity pattern
 * is fixed for a problem, so that the symbolic factor is computed once; an iterate only changes
 * values. Solutions are refined against the operator itself. O(nonzeros) besides the factorisation
 * (extern/). */
#include "interior_internal.h"

/* ---- the operator ---- */

/* Of the i-th item of row_var in row r. */
static double signed_by(const berth_i_lp_model *a, int32_t r, int32_t i, double x) {
  return a->stand_in[r] == a->row_var[i] ? -x : x;
}

void berth_i_lp_forward(const berth_i_lp_model *a, const double *x, double *out) {
  const double *y = x + a->q->n + 1;
  double *row = out + a->arcs;
  for (int32_t k = 0; k < a->arcs; k++) {
    out[k] = x[a->to[k]] - (a->from[k] == BERTH_NONE ? 0 : x[a->from[k]]);
    if (a->var[k] != BERTH_NONE) out[k] += a->c[k] * y[a->var[k]];
  }
  for (int32_t r = 0; r < a->rows; r++) {
    double sum = 0;
    for (int32_t i = a->row_at[r]; i < a->row_at[r + 1]; i++)
      sum += signed_by(a, r, i, y[a->row_var[i]]);
    row[r] = -sum;
  }
  memcpy(row + a->rows, y, (size_t)a->vars * sizeof *y);
}

void berth_i_lp_backward(const berth_i_lp_model *a, const double *pairs, double *out) {
  const double *row = pairs + a->arcs;
  double *y = out + a->q->n + 1;
  memset(out, 0, (size_t)(a->q->n + 1) * sizeof *out);
  memcpy(y, row + a->rows, (size_t)a->matchable * sizeof *y);
  memset(y + a->matchable, 0, (size_t)(a->vars - a->matchable) * sizeof *y);
  for (int32_t k = 0; k < a->arcs; k++) {
    out[a->to[k]] += pairs[k];
    if (a->from[k] != BERTH_NONE) out[a->from[k]] -= pairs[k];
    if (a->var[k] != BERTH_NONE) y[a->var[k]] += a->c[k] * pairs[k];
  }
  for (int32_t r = 0; r < a->rows; r++) {
    for (int32_t i = a->row_at[r]; i < a->row_at[r + 1]; i++)
      y[a->row_var[i]] -= signed_by(a, r, i, row[r]);
  }
}

/* ---- the pattern ----------------------------------------------------------------------------
 * Order of assembly: the diagonal; for each arc (from, to), (from, y), (to, y); for each row its
 * pairs. No entry comes twice: edges are distinct pairs of nodes, so that two of them share one row
 * at most. */

static int64_t count_entries(const berth_i_lp_model *a) {
  int64_t sum = berth_i_lp_unknowns(a);
  for (int32_t k = 0; k < a->arcs; k++)
    sum += (a->from[k] != BERTH_NONE) + (a->var[k] != BERTH_NONE ? 2 : 0);
  for (int32_t r = 0; r < a->rows; r++) {
    int64_t d = a->row_at[r + 1] - a->row_at[r];
    sum += d * (d - 1) / 2;
  }
  return sum;
}

/* Takes entry (i, j) of the upper triangle: counted into at[j + 1], its row and column kept. */
static void take(berth_i_lp_system *s, int32_t *column, int32_t *row, int32_t i, int32_t j) {
  int32_t e = s->entries++;
  row[e] = i < j ? i : j;
  column[e] = i < j ? j : i;
  s->at[column[e] + 1]++;
}

/* All entries in the order of assembly, then a bucket sort by columns. */
static berth_status build_pattern(berth_i_lp_system *s, size_t entries) {
  const berth_i_lp_model *a = s->a;
  berth_i_pool scratch = berth_i_pool_empty(a->ctx);
  int32_t *column = berth_i_pool_alloc(&scratch, entries, sizeof *column);
  int32_t *row = berth_i_pool_alloc(&scratch, entries, sizeof *row);
  int32_t *next = berth_i_pool_alloc(&scratch, (size_t)s->n, sizeof *next), first = a->q->n + 1;
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  for (int32_t k = 0; k < s->n; k++) take(s, column, row, k, k);
  for (int32_t k = 0; k < a->arcs; k++) {
    if (a->from[k] != BERTH_NONE) take(s, column, row, a->from[k], a->to[k]);
    if (a->var[k] == BERTH_NONE) continue;
    take(s, column, row, a->from[k], first + a->var[k]);
    take(s, column, row, a->to[k], first + a->var[k]);
  }
  for (int32_t r = 0; r < a->rows; r++) {
    for (int32_t i = a->row_at[r]; i < a->row_at[r + 1]; i++)
      for (int32_t j = a->row_at[r]; j < i; j++)
        take(s, column, row, first + a->row_var[i], first + a->row_var[j]);
  }
  for (int32_t j = 0; j < s->n; j++) {
    s->at[j + 1] += s->at[j];
    next[j] = s->at[j];
  }
  for (int32_t e = 0; e < s->entries; e++) {
    s->place[e] = next[column[e]]++;
    s->row[s->place[e]] = row[e];
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

berth_status berth_i_lp_system_init(const berth_i_lp_model *a, berth_i_lp_system *s) {
  int64_t count = count_entries(a);
  size_t n = (size_t)berth_i_lp_unknowns(a), entries = (size_t)count;
  *s = (berth_i_lp_system){ .a = a, .n = (int32_t)n };
  if (count > INT32_MAX / 2) {
    return berth_i_fail(a->ctx, BERTH_EUNSUPPORTED,
                        "favourite-child LP: a linear system of %.3g entries is too large",
                        (double)count);
  }
  s->at = berth_i_pool_zalloc(a->pool, n + 1, sizeof *s->at);
  s->row = berth_i_pool_alloc(a->pool, entries, sizeof *s->row);
  s->place = berth_i_pool_alloc(a->pool, entries, sizeof *s->place);
  s->value = berth_i_pool_alloc(a->pool, entries, sizeof *s->value);
  s->rhs = berth_i_pool_alloc(a->pool, n, sizeof *s->rhs);
  s->rest = berth_i_pool_alloc(a->pool, n, sizeof *s->rest);
  s->pairs = berth_i_pool_alloc(a->pool, (size_t)berth_i_lp_pairs(a), sizeof *s->pairs);
  berth_status st = berth_i_pool_status(a->pool);
  if (st == BERTH_OK) st = build_pattern(s, entries);
  return st == BERTH_OK ? berth_i_cholesky_new(a->ctx, s->n, s->at, s->row, &s->factor) : st;
}

/* ---- values ---- */

static void put_diagonal(const berth_i_lp_system *s, const double *ratio, double more) {
  const berth_i_lp_model *a = s->a;
  const double *row = ratio + a->arcs;
  double *sum = s->rest, *y = sum + a->q->n + 1;
  memset(sum, 0, (size_t)(a->q->n + 1) * sizeof *sum);
  memcpy(y, row + a->rows, (size_t)a->vars * sizeof *y);
  for (int32_t k = 0; k < a->arcs; k++) {
    sum[a->to[k]] += ratio[k];
    if (a->from[k] != BERTH_NONE) sum[a->from[k]] += ratio[k];
    if (a->var[k] != BERTH_NONE) y[a->var[k]] += a->c[k] * a->c[k] * ratio[k];
  }
  for (int32_t r = 0; r < a->rows; r++) {
    for (int32_t i = a->row_at[r]; i < a->row_at[r + 1]; i++) y[a->row_var[i]] += row[r];
  }
  for (int32_t k = 0; k < s->n; k++) s->value[s->place[k]] = sum[k] * (1 + more);
}

static void put_rest(const berth_i_lp_system *s, const double *ratio) {
  const berth_i_lp_model *a = s->a;
  const int32_t *place = s->place + s->n;
  const double *row = ratio + a->arcs;
  for (int32_t k = 0; k < a->arcs; k++) {
    if (a->from[k] != BERTH_NONE) s->value[*place++] = -ratio[k];
    if (a->var[k] == BERTH_NONE) continue;
    s->value[*place++] = -a->c[k] * ratio[k];
    s->value[*place++] = a->c[k] * ratio[k];
  }
  for (int32_t r = 0; r < a->rows; r++) {
    for (int32_t i = a->row_at[r]; i < a->row_at[r + 1]; i++)
      for (int32_t j = a->row_at[r]; j < i; j++) s->value[*place++] = signed_by(a, r, i, row[r]);
  }
}

berth_status berth_i_lp_system_factor(berth_i_lp_system *s, const double *ratio, bool *good) {
  double more = 0;
  s->ratio = ratio;
  put_rest(s, ratio);
  berth_status st;
  do {
    put_diagonal(s, ratio, more);
    if ((st = berth_i_cholesky_factor(s->factor, s->value, good)) != BERTH_OK) return st;
    more = more > 0 ? 100 * more : 1e-14;
  } while (!*good && more < 1e-5);
  return BERTH_OK;
}

/* ---- solution ---- */

static double largest(const double *x, int32_t n) {
  double most = 0;
  for (int32_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* The residual is rest = rhs - matrix x by the operator: nothing of the factor or of its
 * regularisation is in it. */
berth_status berth_i_lp_system_solve(berth_i_lp_system *s, double *x) {
  enum { REFINEMENTS = 3 };
  double goal = 1e-10 * largest(s->rhs, s->n), before = INFINITY;
  int32_t pairs = berth_i_lp_true_pairs(s->a);
  memcpy(x, s->rhs, (size_t)s->n * sizeof *x);
  berth_status st;
  if ((st = berth_i_cholesky_solve(s->factor, x)) != BERTH_OK) return st;
  for (int32_t pass = 0; pass < REFINEMENTS; pass++) {
    berth_i_lp_forward(s->a, x, s->pairs);
    for (int32_t k = 0; k < pairs; k++) s->pairs[k] *= s->ratio[k];
    berth_i_lp_backward(s->a, s->pairs, s->rest);
    for (int32_t k = 0; k < s->n; k++) s->rest[k] = s->rhs[k] - s->rest[k];
    double size = largest(s->rest, s->n);
    if (!(size > goal) || !(size < 0.5 * before)) break;
    if ((st = berth_i_cholesky_solve(s->factor, s->rest)) != BERTH_OK) return st;
    for (int32_t k = 0; k < s->n; k++) x[k] += s->rest[k];
    before = size;
  }
  return BERTH_OK;
}
