/* Initial values of parameters: constants, uniform, normal, scaled by the extents (Glorot and
 * Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010, eq.
 * 16; He et al., "Delving deep into rectifiers", 2015, eq. 10), orthogonal. Numbers are drawn in
 * order, so the same seed gives the same parameters. */
#include "vector_internal.h"

#include "params_internal.h"

static void uniform(berth_array *a, double p, berth_rng *rng) {
  for (int64_t i = 0; i < a->size; i++) a->data[i] = (float)(p * (2 * berth_rng_uniform(rng) - 1));
}

static void normal(float *x, int64_t n, double deviation, berth_rng *rng) {
  for (int64_t i = 0; i < n; i++) x[i] = (float)(deviation * berth_rng_normal(rng));
}

/* ---- orthogonal
 * ----------------------------------------------------------------------------------- *
 * Gram-Schmidt on normal rows, twice each (Kahan: twice is enough), so uniform over the orthogonal
 * matrices. */

enum { PASSES = 2 };

/* In double and in lanes: a loss of orthogonality would come from here. */
static double dot(const float *x, const float *y, int64_t n) {
  double lane[BERTH_I_LANES] = { 0 }, sum = 0;
  int64_t i, whole = n - n % BERTH_I_LANES;
  for (i = 0; i < whole; i += BERTH_I_LANES) {
    for (int k = 0; k < BERTH_I_LANES; k++) lane[k] += (double)x[i + k] * y[i + k];
  }
  for (; i < n; i++) sum += (double)x[i] * y[i];
  for (int k = 0; k < BERTH_I_LANES; k++) sum += lane[k];
  return sum;
}

static void subtract(float *restrict x, const float *restrict y, double times, int64_t n) {
  float f = (float)times;
  for (int64_t i = 0; i < n; i++) x[i] -= f * y[i];
}

/* q [n, m], n <= m: orthonormal rows. A row is drawn anew if it depends on those before it: as good
 * as never (once in thousands of rows for square matrices). */
static void gram_schmidt(float *q, int32_t n, int64_t m, berth_rng *rng) {
  for (int32_t i = 0; i < n; i++) {
    float *x = q + i * m;
    double before, after;
    do {
      normal(x, m, 1, rng);
      before = sqrt(dot(x, x, m));
      for (int pass = 0; pass < PASSES; pass++) {
        for (int32_t j = 0; j < i; j++) subtract(x, q + j * m, dot(x, q + j * m, m), m);
      }
      after = sqrt(dot(x, x, m));
    } while (!(after / before > 1e-3));
    double f = 1 / after;
    for (int64_t j = 0; j < m; j++) x[j] = (float)(x[j] * f);
  }
}

/* a [n, m] = p q. More rows than columns: the columns are made orthonormal, in flat, and
 * transposed. @param flat [n * m] scratch, NULL: n <= m */
static void orthogonal_matrix(float *a, int32_t n, int32_t m, double p, berth_rng *rng,
                              float *flat) {
  gram_schmidt(flat ? flat : a, flat ? m : n, flat ? n : m, rng);
  for (int64_t i = 0; flat && i < n; i++) {
    for (int64_t j = 0; j < m; j++) a[i * m + j] = flat[j * n + i];
  }
  for (int64_t i = 0; i < (int64_t)n * m; i++) a[i] = (float)(a[i] * p);
}

/* Of every matrix of the last two axes. */
static berth_status orthogonal(berth_array *a, double p, berth_rng *rng) {
  int32_t n = a->shape[a->rank - 2], m = berth_i_last(a);
  size_t size = (size_t)n * (size_t)m;
  float *flat = NULL;
  if (a->size == 0) return BERTH_OK;
  if (n > m && !(flat = berth_i_alloc(a->ctx, size, sizeof *flat))) return berth_i_nomem(a->ctx);
  for (int64_t at = 0; at < a->size; at += (int64_t)size)
    orthogonal_matrix(a->data + at, n, m, p, rng, flat);
  berth_i_free(a->ctx, flat, size, sizeof *flat);
  return BERTH_OK;
}

/* ---- public ---- */

static bool needs_axes(berth_nn_init init) {
  return init == BERTH_NN_XAVIER || init == BERTH_NN_HE || init == BERTH_NN_ORTHOGONAL;
}
static bool needs_rng(berth_nn_init init) {
  return init != BERTH_NN_ZEROS && init != BERTH_NN_CONSTANT;
}

static berth_status check_init(const berth_array *a, const char *name, berth_nn_init init,
                               double value, const berth_rng *rng) {
  bool signless = init == BERTH_NN_UNIFORM || init == BERTH_NN_NORMAL || init == BERTH_NN_XAVIER
                  || init == BERTH_NN_HE;
  if ((int)init < 0 || init > BERTH_NN_ORTHOGONAL) {
    return berth_i_fail(a->ctx, BERTH_EINVAL, "parameter \"%s\": no initialiser has the number %d",
                        name, (int)init);
  }
  if (!isfinite(value) || (signless && value < 0)) {
    return berth_i_fail(a->ctx, BERTH_EINVAL,
                        "parameter \"%s\": initialiser with %g, must be finite%s", name, value,
                        signless ? " and not negative" : "");
  }
  if (needs_axes(init) && a->rank < 2) {
    return berth_i_fail(a->ctx, BERTH_EINVAL,
                        "parameter \"%s\": this initialiser needs two axes or more", name);
  }
  if (needs_rng(init) && !rng) {
    return berth_i_fail(a->ctx, BERTH_EINVAL,
                        "parameter \"%s\": this initialiser needs random numbers", name);
  }
  return BERTH_OK;
}

berth_status berth_i_init(berth_array *a, const char *name, berth_nn_init init, double value,
                          berth_rng *rng) {
  berth_status st = check_init(a, name, init, value, rng);
  double in = a->rank > 1 ? a->shape[a->rank - 2] : 1, out = berth_i_last(a);
  if (st != BERTH_OK) return st;
  switch (init) {
    case BERTH_NN_ZEROS: memset(a->data, 0, (size_t)a->size * sizeof *a->data); break;
    case BERTH_NN_CONSTANT:
      for (int64_t i = 0; i < a->size; i++) a->data[i] = (float)value;
      break;
    case BERTH_NN_UNIFORM: uniform(a, value, rng); break;
    case BERTH_NN_NORMAL: normal(a->data, a->size, value, rng); break;
    case BERTH_NN_XAVIER: uniform(a, value * sqrt(6 / (in + out)), rng); break;
    case BERTH_NN_HE: normal(a->data, a->size, value * sqrt(2 / in), rng); break;
    case BERTH_NN_ORTHOGONAL: return orthogonal(a, value, rng);
  }
  return BERTH_OK;
}
