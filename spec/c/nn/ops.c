/* Operations on single numbers, rows and shapes; products; the tape. */
#include "nn_layer_help.h"

/* ---- functions of two arrays, by repetition ---- */

static double two(int f, double x, double y) {
  switch (f) {
    case BERTH_NN_ADD: return x + y;
    case BERTH_NN_SUB: return x - y;
    case BERTH_NN_MUL: return x * y;
    case BERTH_NN_DIV: return x / y;
    case BERTH_NN_MAX: return x >= y ? x : y;
    default: return x <= y ? x : y;
  }
}

static int32_t padded(const berth_array *a, int32_t axis) {
  int32_t i = axis - (BERTH_NN_RANK - berth_array_rank(a));
  return i < 0 ? 1 : berth_array_shape(a)[i];
}

/* Where the number at `at` of the output stands in a. */
static int64_t place_in(const berth_array *a, const int32_t *at) {
  int64_t place = 0;
  for (int32_t i = 0; i < BERTH_NN_RANK; i++)
    place = place * padded(a, i) + (padded(a, i) == 1 ? 0 : at[i]);
  return place;
}

static void naive_two(const layer_case *c, const double *const *in, double *out) {
  int32_t n[BERTH_NN_RANK];
  for (int i = 0; i < BERTH_NN_RANK; i++)
    n[i] = padded(c->in[0], i) == 1 ? padded(c->in[1], i) : padded(c->in[0], i);
  int32_t at[BERTH_NN_RANK];
  for (at[0] = 0; at[0] < n[0]; at[0]++)
    for (at[1] = 0; at[1] < n[1]; at[1]++)
      for (at[2] = 0; at[2] < n[2]; at[2]++)
        for (at[3] = 0; at[3] < n[3]; at[3]++)
          *out++ = two(c->k, in[0][place_in(c->in[0], at)], in[1][place_in(c->in[1], at)]);
}
static berth_status run_two(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_apply2(t, (berth_nn_binary)c->k, c->in[0], c->in[1], out);
}

static berth_array *away_from_zero(berth_array *a) {
  for (int64_t i = 0; i < berth_array_size(a); i++)
    berth_array_data(a)[i] += berth_array_data(a)[i] < 0 ? -0.5f : 0.5f;
  return a;
}

static berth_array *random_array(int32_t rank, const int32_t *shape) {
  berth_array *a = array(rank, shape);
  for (int64_t i = 0; i < berth_array_size(a); i++)
    berth_array_data(a)[i] = (float)berth_rng_normal(&rng);
  return away_from_zero(a);
}

/* Every axis of both is 1 or its extent, ranks 1 to 4. */
SETUP { berth_rng_init(&rng, 5, 0); }

TEST("functions of two arrays: every way to repeat, all ranks") {
  static const int32_t fulls[][BERTH_NN_RANK] = {
    { 2, 3, 1, 4 }, { 2, 3, 4, 2 }, { 3, 4, 1, 1 }, { 5, 1, 1, 1 }, { 2, 1, 3, 1 }
  };
  for (int trial = 0; trial < 1000; trial++) {
    const int32_t *full = fulls[trial / 200];
    int32_t rank[2], shape[2][BERTH_NN_RANK];
    for (int k = 0; k < 2; k++) {
      rank[k] = 1 + berth_rng_below(&rng, BERTH_NN_RANK);
      for (int i = 0; i < rank[k]; i++)
        shape[k][i] = berth_rng_below(&rng, 3) ? full[BERTH_NN_RANK - rank[k] + i] : 1;
    }
    CHECK_LAYER(two, .k = trial % 6, .tol = 2e-5, .in = { random_array(rank[0], shape[0]),
                random_array(rank[1], shape[1]) });
  }
  for (int k = 0; k < 3; k++) { /* one array on both sides; MAX of equals goes to the first */
    berth_array *a = normal("3x5");
    CHECK_LAYER(two, .k = k, .in = { a, a });
  }
}

/* ---- functions of one array ---- */

static double one(int f, double p, double x) {
  switch (f) {
    case BERTH_NN_IDENTITY: return x;
    case BERTH_NN_RELU: return x > 0 ? x : 0;
    case BERTH_NN_LEAKY_RELU: return x > 0 ? x : p * x;
    case BERTH_NN_SIGMOID: return 1 / (1 + exp(-x));
    case BERTH_NN_TANH: return tanh(x);
    case BERTH_NN_EXP: return exp(x);
    case BERTH_NN_LOG: return log(x > p ? x : p);
    case BERTH_NN_SQRT: return sqrt(x);
    case BERTH_NN_SQUARE: return x * x;
    case BERTH_NN_ABS: return fabs(x);
    case BERTH_NN_SOFTPLUS: return log1p(exp(x));
    default: return x * 0.5 * (1 + erf(x / sqrt(2)));
  }
}
static void naive_one(const layer_case *c, const double *const *in, double *out) {
  for (int64_t i = 0; i < berth_array_size(c->in[0]); i++) out[i] = one(c->k, c->p, in[0][i]);
}
static berth_status run_one(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_apply(t, (berth_nn_unary)c->k, c->p, c->in[0], out);
}
static berth_status run_scale(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_scale(t, c->in[0], c->p, -1.5, out);
}
static void naive_scale(const layer_case *c, const double *const *in, double *out) {
  for (int64_t i = 0; i < berth_array_size(c->in[0]); i++) out[i] = c->p * in[0][i] - 1.5;
}

TEST("functions of one array") {
  for (int f = 0; f <= BERTH_NN_GELU; f++) {
    berth_array *a = away_from_zero(normal("3x4x5"));
    for (int64_t i = 0; f == BERTH_NN_SQRT && i < berth_array_size(a); i++)
      berth_array_data(a)[i] = fabsf(berth_array_data(a)[i]);
    CHECK_LAYER(one, .k = f, .p = 0.1, .tol = 1e-5, .in = { a });
  }
  CHECK_LAYER(scale, .p = -2.5, .in = { normal("3x7") });
}

/* ---- products ---- */

static double entry(const double *x, int32_t cols, int transposed, int32_t i, int32_t j) {
  return transposed ? x[(int64_t)j * cols + i] : x[(int64_t)i * cols + j];
}

static void naive_product(const layer_case *c, const double *const *in, double *out) {
  const berth_array *a = c->in[0], *b = c->in[1];
  int ta = c->k & 1, tb = c->k >> 1 & 1, ra = berth_array_rank(a), rb = berth_array_rank(b);
  const int32_t *x = berth_array_shape(a) + ra - 2, *y = berth_array_shape(b) + rb - 2;
  int32_t m = x[ta], n = y[!tb], k = x[!ta], count = ra == 3 ? berth_array_shape(a)[0] : 1;
  for (int32_t s = 0; s < count; s++) {
    const double *p = in[0] + (int64_t)s * x[0] * x[1],
                 *q = in[1] + (rb == 3 ? (int64_t)s * y[0] * y[1] : 0);
    for (int32_t i = 0; i < m; i++)
      for (int32_t j = 0; j < n; j++, out++) {
        *out = 0;
        for (int32_t l = 0; l < k; l++) *out += entry(p, x[1], ta, i, l) * entry(q, y[1], tb, l, j);
      }
  }
}
static berth_status run_product(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_matmul(t, c->in[0], c->k & 1, c->in[1], c->k >> 1 & 1, out);
}

static berth_array *factor(int32_t count, int transposed, int32_t n, int32_t m) {
  int32_t x = transposed ? m : n, y = transposed ? n : m;
  return count ? normal_array(3, count, x, y) : normal_array(2, x, y, 0);
}

TEST("matrix products: all transpositions, many at once, a matrix by itself") {
  for (int k = 0; k < 4; k++) {
    for (int counts = 0; counts < 3; counts++) {
      CHECK_LAYER(product, .k = k, .tol = 1e-5, .in = { factor(counts ? 3 : 0, k & 1, 4, 5),
                  factor(counts == 2 ? 3 : 0, k >> 1 & 1, 5, 6) });
    }
    if (k == 1 || k == 2) {
      berth_array *a = normal("4x5");
      CHECK_LAYER(product, .k = k, .tol = 1e-5, .in = { a, a });
    }
  }
  CHECK_LAYER(product, .in = { normal("3x0"), normal("0x2") });
}

static void naive_layer(const layer_case *c, const double *const *in, double *out) {
  const int32_t *w = berth_array_shape(c->in[1]);
  int64_t rows = berth_array_size(c->in[0]) / w[0];
  for (int64_t i = 0; i < rows; i++)
    for (int32_t j = 0; j < w[1]; j++) {
      double y = in[2] ? in[2][j] : 0;
      for (int32_t l = 0; l < w[0]; l++) y += in[0][i * w[0] + l] * in[1][(int64_t)l * w[1] + j];
      *out++ = one(c->k, c->p, y);
    }
}
static berth_status run_layer(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_linear(t, c->in[0], c->in[1], c->in[2], (berth_nn_unary)c->k, c->p, out);
}

static void naive_grouped(const layer_case *c, const double *const *in, double *out) {
  const int32_t *w = berth_array_shape(c->in[1]), *first = berth_segments_first(c->segments);
  for (int32_t g = 0; g < w[0]; g++)
    for (int32_t i = first[g]; i < first[g + 1]; i++)
      for (int32_t j = 0; j < w[2]; j++, out++) {
        *out = 0;
        for (int32_t l = 0; l < w[1]; l++)
          *out += in[0][(int64_t)i * w[1] + l] * in[1][((int64_t)g * w[1] + l) * w[2] + j];
      }
}
static berth_status run_grouped(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_grouped_matmul(t, c->in[0], c->segments, c->in[1], out);
}

TEST("a layer in one: all its functions, with and without bias") {
  for (int f = 0; f <= BERTH_NN_TANH; f++) {
    CHECK_LAYER(layer, .k = f, .p = 0.1, .tol = 1e-5, .in = { normal("7x5"), normal("5x6"),
                normal("6") });
    CHECK_LAYER(layer, .k = f, .p = 0.1, .tol = 1e-5, .in = { normal("2x3x5"), normal("5x2") });
  }
  CASE("a matrix for each segment of rows");
  CHECK_LAYER(grouped, .tol = 1e-5, .in = { normal("9x4"), normal("4x4x3") },
              .segments = segments_of(4, (const int32_t[]){ 5, 0, 3, 1 }));
}

/* ---- shapes ---- */

/* c->k: 0 reshape, 1 transpose, 2 slice along axis (int)p, 3 concat of all along axis (int)p. */
static berth_status run_shape(const layer_case *c, berth_tape *t, berth_array **out) {
  int32_t n = 0;
  if (c->k == 0) return berth_nn_reshape(t, c->in[0], 2, (const int32_t[]){ BERTH_NONE, 6 }, out);
  if (c->k == 1) return berth_nn_transpose(t, c->in[0], out);
  if (c->k == 2) return berth_nn_slice(t, c->in[0], (int32_t)c->p, 1, 3, out);
  while (n < MOST_IN && c->in[n]) n++;
  return berth_nn_concat(t, n, (berth_array *const *)c->in, (int32_t)c->p, out);
}
static void naive_shape(const layer_case *c, const double *const *in, double *out) {
  const int32_t *s = berth_array_shape(c->in[0]);
  int axis = (int)c->p;
  if (c->k == 0) {
    memcpy(out, in[0], sizeof(double) * (size_t)berth_array_size(c->in[0]));
    return;
  }
  for (int32_t i = 0; c->k == 1 && i < s[0]; i++)
    for (int32_t j = 0; j < s[2]; j++)
      for (int32_t l = 0; l < s[1]; l++) *out++ = in[0][(i * s[1] + l) * s[2] + j];
  for (int32_t i = 0; c->k == 2 && i < s[0] * s[1] * s[2]; i++) {
    int32_t at[3] = { i / (s[1] * s[2]), i / s[2] % s[1], i % s[2] };
    if (at[axis] >= 1 && at[axis] < 3) *out++ = in[0][i];
  }
  if (c->k != 3) return;
  for (int32_t o = 0; o < (axis == 0 ? 1 : s[0]); o++)
    for (int n = 0; n < MOST_IN && c->in[n]; n++) {
      int64_t run = berth_array_size(c->in[n]) / (axis == 0 ? 1 : s[0]);
      memcpy(out, in[n] + o * run, sizeof(double) * (size_t)run);
      out += run;
    }
}

TEST("reshaped, transposed, cut and joined") {
  CHECK_LAYER(shape, .k = 0, .in = { normal("3x4x5") });
  CHECK_LAYER(shape, .k = 1, .in = { normal("3x4x5") });
  for (int axis = 0; axis < 3; axis++) {
    CHECK_LAYER(shape, .k = 2, .p = axis, .in = { normal("3x4x5") });
  }
  for (int axis = 0; axis < 2; axis++) {
    berth_array *a = normal("3x4");
    CHECK_LAYER(shape, .k = 3, .p = axis, .in = { a, axis ? normal("3x2") : normal("5x4"), a });
  }
  berth_array *out = NULL;
  CHECK_OK(berth_nn_reshape(NULL, normal("0x4"), 2, (const int32_t[]){ 2, 0 }, &out));
  RELEASE(out);
}

/* ---- rows ---- */

/* c->k: 0 gather, 1 scatter to 6 rows, 2 pick, 3.. reduction k % 3 along axis (int)p (9.. of
 * segments), 20 repeat, 30 gathered and added up, 31 their mean. */
static berth_status run_rows_of(const layer_case *c, berth_tape *t, berth_array **out) {
  if (c->k == 0) return berth_nn_gather(t, c->in[0], c->index, out);
  if (c->k == 1) return berth_nn_scatter(t, c->in[0], c->index, 6, out);
  if (c->k == 2) return berth_nn_pick(t, c->in[0], c->index, out);
  if (c->k == 20) return berth_nn_segment_repeat(t, c->in[0], c->segments, out);
  if (c->k >= 30)
    return berth_nn_gather_reduce(t, (berth_nn_reduction)(c->k - 30), c->in[0], c->index,
                                  c->segments, out);
  if (c->k >= 9)
    return berth_nn_segment_reduce(t, (berth_nn_reduction)(c->k % 3), c->in[0], c->segments, out);
  return berth_nn_reduce(t, (berth_nn_reduction)(c->k % 3), c->in[0], (int32_t)c->p, out);
}

static double reduced(int f, const double *x, int64_t n, int64_t step) {
  double y = f == BERTH_NN_LARGEST && n > 0 ? x[0] : 0;
  for (int64_t i = 0; i < n; i++)
    y = f == BERTH_NN_LARGEST ? fmax(y, x[i * step]) : y + x[i * step];
  return f == BERTH_NN_MEAN && n > 0 ? y / (double)n : y;
}

static void naive_reduced(const layer_case *c, const double *x, double *out) {
  const int32_t *s = berth_array_shape(c->in[0]);
  int axis = (int)c->p;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; i++) outer *= s[i];
  for (int i = axis + 1; i < berth_array_rank(c->in[0]); i++) inner *= s[i];
  if (axis < 0) {
    out[0] = reduced(c->k % 3, x, berth_array_size(c->in[0]), 1);
    return;
  }
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++)
      *out++ = reduced(c->k % 3, x + o * s[axis] * inner + i, s[axis], inner);
}

static void naive_gather_reduced(const layer_case *c, const double *x, int64_t m, double *out) {
  const int32_t *ids = berth_index_ids(c->index), *first = berth_segments_first(c->segments);
  for (int32_t s = 0; s < berth_segments_count(c->segments); s++) {
    for (int64_t j = 0; j < m; j++) {
      double sum = 0;
      for (int32_t r = first[s]; r < first[s + 1]; r++) sum += ids[r] < 0 ? 0 : x[ids[r] * m + j];
      out[s * m + j] =
          c->k == 31 && first[s + 1] > first[s] ? sum / (first[s + 1] - first[s]) : sum;
    }
  }
}

static void naive_rows_of(const layer_case *c, const double *const *in, double *out) {
  int64_t m = berth_array_size(c->in[0]) / extent(c->in[0], 0);
  const int32_t *ids = c->index ? berth_index_ids(c->index) : NULL,
                *first = c->segments ? berth_segments_first(c->segments) : NULL;
  if (c->k >= 30) {
    naive_gather_reduced(c, in[0], m, out);
    return;
  }
  if (c->k == 1) memset(out, 0, sizeof(double) * 6 * (size_t)m);
  for (int32_t i = 0; ids && i < berth_index_size(c->index); i++) {
    for (int64_t j = 0; c->k == 0 && j < m; j++)
      out[i * m + j] = ids[i] < 0 ? 0 : in[0][ids[i] * m + j];
    for (int64_t j = 0; c->k == 1 && ids[i] >= 0 && j < m; j++)
      out[ids[i] * m + j] += in[0][i * m + j];
    if (c->k == 2) out[i] = in[0][i * m + ids[i]];
  }
  if (c->k >= 3 && c->k < 9) naive_reduced(c, in[0], out);
  for (int32_t s = 0; first && s < berth_segments_count(c->segments); s++) {
    for (int64_t j = 0; c->k < 20 && j < m; j++)
      out[s * m + j] = reduced(c->k % 3, in[0] + first[s] * m + j, first[s + 1] - first[s], m);
    for (int64_t r = first[s]; c->k == 20 && r < first[s + 1]; r++)
      memcpy(out + r * m, in[0] + s * m, sizeof(double) * (size_t)m);
  }
}

TEST("rows fetched, sent and picked") {
  static const int32_t ids[] = { 4, 0, BERTH_NONE, 4, 2 }, columns[] = { 2, 0, 1, 1, 0 },
                       lengths[] = { 2, 0, 3 };
  CHECK_LAYER(rows_of, .k = 0, .in = { normal("5x2x3") }, .index = index_of(5, ids));
  CHECK_LAYER(rows_of, .k = 0, .in = { normal("5") }, .index = index_of(5, ids));
  CHECK_LAYER(rows_of, .k = 1, .in = { normal("5x3") }, .index = index_of(5, ids));
  for (int k = 30; k < 32; k++) {
    CHECK_LAYER(rows_of, .k = k, .in = { normal("5x11") }, .index = index_of(5, ids),
                .segments = segments_of(3, lengths));
    CHECK_LAYER(rows_of, .k = k, .in = { normal("5x2x3") }, .index = index_of(5, ids),
                .segments = segments_of(3, lengths));
  }
  CHECK_LAYER(rows_of, .k = 2, .in = { normal("5x3") }, .index = index_of(5, columns));
  CASE("sums, means and maxima along every axis, of all, and of segments");
  for (int k = 3; k < 6; k++) {
    for (int axis = -1; axis < 3; axis++) {
      CHECK_LAYER(rows_of, .k = k, .p = axis, .in = { normal("3x4x5") });
    }
    CHECK_LAYER(rows_of, .k = k, .p = 0, .in = { normal("7") });
    CHECK_LAYER(rows_of, .k = k + 6, .in = { normal("5x3") }, .segments = segments_of(3, lengths));
    CHECK_LAYER(rows_of, .k = k + 6, .in = { normal("5") }, .segments = segments_of(3, lengths));
  }
  CHECK_LAYER(rows_of, .k = 20, .in = { normal("3x4") }, .segments = segments_of(3, lengths));
}

/* ---- the tape ---- */

static berth_array *sum_of_squares(berth_tape *t, berth_array *a) {
  berth_array *b = NULL, *loss = NULL;
  b = NN(apply2, t, BERTH_NN_MUL, a, a);
  loss = NN(reduce, t, BERTH_NN_SUM, b, BERTH_NONE);
  RELEASE(b);
  return loss;
}

static void check_double(berth_array *gradient, berth_array *a, float factor) {
  for (int64_t i = 0; i < berth_array_size(a); i++)
    CHECK(berth_array_data(gradient)[i] == factor * berth_array_data(a)[i]);
}

TEST("the tape: parameters add up, it is reused, two do not meddle, watched gradients stay "
     "until the next") {
  berth_array *w = NULL, *x = normal("3");
  berth_tape *t = NULL, *other = NULL;
  const int32_t three = 3;
  berth_params *p = must_params_new();
  CHECK_OK(berth_params_add(p, "w", 1, &three, BERTH_NN_NORMAL, 1, &rng, &w));
  t = must_tape_new();
  other = must_tape_new();
  berth_array *loss = sum_of_squares(NULL, w);
  CHECK_STATUS(berth_tape_backward(t, loss), BERTH_EINVAL); /* it was not looking */
  loss = sum_of_squares(t, w);
  berth_array *again = sum_of_squares(other, w);
  CHECK(berth_tape_length(t) == 2 && berth_tape_length(other) == 2);
  CHECK_STATUS(berth_tape_backward(t, again), BERTH_EINVAL); /* of the other tape */
  CHECK_OK(berth_tape_backward(t, loss));
  check_double(berth_params_gradient(p, 0), w, 2);
  CHECK(berth_tape_length(t) == 0);
  CHECK_OK(berth_tape_backward(other, again));
  check_double(berth_params_gradient(p, 0), w, 4);
  CHECK_STATUS(berth_tape_backward(other, again), BERTH_EINVAL); /* cleared */
  RELEASE(again);
  CHECK_OK(berth_tape_watch(t, x));
  loss = sum_of_squares(t, x);
  CHECK_OK(berth_tape_backward(t, loss));
  check_double(berth_tape_gradient(t, x), x, 2);
  CHECK(berth_tape_gradient(t, w) == NULL);
  check_double(berth_params_gradient(p, 0), w, 4);
  berth_tape_clear(t);
  CHECK(berth_tape_gradient(t, x) == NULL);
  CHECK_STATUS(berth_tape_backward(t, x), BERTH_EINVAL); /* three numbers */
}

/* ---- refusals ---- */

#define REFUSED(CALL, TEXT)                                      \
  do {                                                           \
    CHECK_STATUS(CALL, BERTH_EINVAL);                            \
    CHECK(says(TEXT));              \
  } while (0)

TEST("what does not go together is refused, with both") {
  berth_array *a = normal("3x4"), *b = normal("3x5"),
              *c = normal("3x4x5"), *v = normal("4");
  berth_array *out = NULL;
  berth_index *far = index_of(3, (const int32_t[]){ 0, 9, 1 }),
              *none = index_of(3, (const int32_t[]){ 0, BERTH_NONE, 1 });
  berth_segments *s = segments_of(2, (const int32_t[]){ 1, 1 });
  REFUSED(berth_nn_apply2(NULL, BERTH_NN_ADD, a, b, &out), "3 x 4 and 3 x 5");
  REFUSED(berth_nn_matmul(NULL, a, 0, b, 0, &out), "3 x 4 and 3 x 5");
  REFUSED(berth_nn_matmul(NULL, a, 0, c, 0, &out), "3 x 4 and 3 x 4 x 5");
  REFUSED(berth_nn_linear(NULL, a, b, NULL, BERTH_NN_RELU, 0, &out), "3 x 4 and 3 x 5");
  REFUSED(berth_nn_linear(NULL, v, a, NULL, BERTH_NN_EXP, 0, &out), "not for layers");
  REFUSED(berth_nn_grouped_matmul(NULL, a, s, c, &out), "2 segments and 3 matrices");
  REFUSED(berth_nn_reshape(NULL, a, 2, (const int32_t[]){ 5, BERTH_NONE }, &out),
          "12 numbers of 3 x 4");
  REFUSED(berth_nn_transpose(NULL, v, &out), "axis");
  REFUSED(berth_nn_concat(NULL, 2, (berth_array *const[]){ a, b }, 0, &out), "3 x 4 and 3 x 5");
  REFUSED(berth_nn_slice(NULL, a, 1, 2, 5, &out), "2 to 5 of 4");
  REFUSED(berth_nn_slice(NULL, a, 2, 0, 1, &out), "no axis 2");
  REFUSED(berth_nn_gather(NULL, a, far, &out), "no row 9");
  REFUSED(berth_nn_scatter(NULL, a, far, 9, &out), "no row 9");
  REFUSED(berth_nn_pick(NULL, a, none, &out), "missing");
  REFUSED(berth_nn_reduce(NULL, BERTH_NN_SUM, a, 2, &out), "no axis 2");
  REFUSED(berth_nn_segment_reduce(NULL, BERTH_NN_SUM, a, s, &out), "2 rows");
  REFUSED(berth_nn_gather_reduce(NULL, BERTH_NN_SUM, a, far, s, &out),
          "3 ids in segments of 2 rows");
  REFUSED(berth_nn_gather_reduce(NULL, BERTH_NN_LARGEST, a, far, s, &out), "sums and means only");
  REFUSED(berth_nn_segment_repeat(NULL, a, s, &out), "2 segments for 3 rows");
  REFUSED(berth_array_new(ctx, 5, (const int32_t[]){ 1, 1, 1, 1, 1 }, &out), "rank 5");
  REFUSED(berth_array_new(ctx, 1, (const int32_t[]){ -1 }, &out), "-1 numbers");
  REFUSED(berth_index_new(ctx, 1, (const int32_t[]){ -2 }, &far), "id -2");
  CHECK(out == NULL);
  RELEASE(far);
}

TEST("a layer of more rows than CBLAS counts is refused") {
  const int32_t many[3] = { 65536, 32768, 0 };
  berth_array *x = array(3, many), *w = normal("0x3"), *out = NULL;
  REFUSED(berth_nn_linear(NULL, x, w, NULL, BERTH_NN_RELU, 0, &out),
          "linear: 2147483648 rows, at most 2147483647");
}

/* ---- no numbers ---- */

TEST("arrays without rows go through") {
  static const int32_t none[] = { 0 };
  berth_array *a = normal("0x4"), *w = normal("4x3");
  berth_segments *s = segments_of(2, (const int32_t[]){ 0, 0 });
  berth_index *x = index_of(0, none);
  berth_array *out = NN(linear, NULL, a, w, NULL, BERTH_NN_RELU, 0);
  CHECK(berth_array_size(out) == 0 && last_of(out) == 3);
  out = NN(segment_reduce, NULL, BERTH_NN_MEAN, a, s);
  CHECK(berth_array_size(out) == 8 && berth_array_data(out)[7] == 0);
  out = NN(gather_reduce, NULL, BERTH_NN_MEAN, a, x, s);
  CHECK(berth_array_size(out) == 8 && berth_array_data(out)[7] == 0);
  out = NN(scatter, NULL, a, x, 2);
  CHECK(berth_array_size(out) == 8 && berth_array_data(out)[0] == 0);
  out = NN(gather, NULL, w, x);
  CHECK(berth_array_size(out) == 0);
  out = NN(reduce, NULL, BERTH_NN_SUM, a, BERTH_NONE);
  CHECK(berth_array_size(out) == 1 && berth_array_data(out)[0] == 0);
}
