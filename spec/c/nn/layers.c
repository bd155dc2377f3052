/* Softmax, normalisation and losses; what all layers refuse; no numbers, and no memory. */

#include "nn/vector_internal.h"
#include "refusals.h"
#include "nn_layer_help.h"

/* ---- exponentials ---- */

SETUP { berth_rng_init(&rng, 11, 0); }

static double off(double got, double want) {
  return want == 0 ? fabs(got) : fabs(got - want) / fabs(want);
}

TEST("e^x, sigmoid and tanh are exact to a few units in the last place") {
  double worst[3] = { 0, 0, 0 };
  for (double x = -86; x < 88.7; x += 0.00137) {
    float f = (float)x;
    worst[0] = fmax(worst[0], off(berth_i_exp(f), exp(f)));
    worst[1] = fmax(worst[1], off(berth_i_sigmoid(f), 1 / (1 + exp(-(double)f))));
    worst[2] = fmax(worst[2], off(berth_i_tanh(f / 8), tanh(f / 8)));
  }
  CHECK_NEAR(worst[0], 0, 2.5e-7);
  CHECK_NEAR(worst[1], 0, 4e-7);
  CHECK_NEAR(worst[2], 0, 4e-7);
  CHECK(berth_i_exp(0) == 1 && berth_i_exp(-INFINITY) == 0 && berth_i_exp(-1000) == 0);
  CHECK(berth_i_exp(INFINITY) == INFINITY && berth_i_exp(89) == INFINITY
        && isnan(berth_i_exp(NAN)));
  CHECK(berth_i_sigmoid(-INFINITY) == 0 && berth_i_sigmoid(INFINITY) == 1
        && berth_i_sigmoid(0) == 0.5f);
  CHECK(berth_i_tanh(-INFINITY) == -1 && berth_i_tanh(INFINITY) == 1 && isnan(berth_i_tanh(NAN))
        && isnan(berth_i_sigmoid(NAN)));
  CHECK(berth_i_tanh(1e-20f) == 1e-20f && berth_i_tanh(0) == 0);
}

/* ---- softmax ---- */

static void naive_rows(const layer_case *c, const double *const *in, double *out) {
  int64_t m = last_of(c->in[0]), n = berth_array_size(c->in[0]) / m;
  int whole = c->mask && berth_array_rank(c->mask) > 1;
  for (int64_t i = 0; i < n; i++) {
    naive_soft(in[0] + i * m, c->mask ? berth_array_data(c->mask) + (whole ? i * m : 0) : NULL, m,
               1, c->k, out + i * m);
  }
}
static berth_status run_rows(const layer_case *c, berth_tape *t, berth_array **out) {
  return c->k ? berth_nn_log_softmax(t, c->in[0], c->mask, out)
              : berth_nn_softmax(t, c->in[0], c->mask, out);
}

static void naive_segments(const layer_case *c, const double *const *in, double *out) {
  int64_t m = berth_array_rank(c->in[0]) > 1 ? extent(c->in[0], 1) : 1;
  const int32_t *first = berth_segments_first(c->segments);
  for (int32_t s = 0; s < berth_segments_count(c->segments); s++) {
    for (int64_t j = 0; j < m; j++) {
      naive_soft(in[0] + first[s] * m + j, NULL, first[s + 1] - first[s], m, c->k,
                 out + first[s] * m + j);
    }
  }
}
static berth_status run_segments(const layer_case *c, berth_tape *t, berth_array **out) {
  if (c->k) return berth_nn_segment_log_softmax(t, c->in[0], c->segments, out);
  return berth_nn_segment_softmax(t, c->in[0], c->segments, out);
}

TEST("softmax of rows, with and without a mask") {
  static const int32_t lengths[] = { 3, 0, 1, 9, 17 };
  for (int k = 0; k < 2; k++) {
    if (k) CASE("log softmax of rows, with and without a mask");
    CHECK_LAYER(rows, .k = k, .in = { normal("5x19") });
    CHECK_LAYER(rows, .k = k, .in = { normal("8") });
    CHECK_LAYER(rows, .k = k, .in = { normal("2x3x11") }, .mask = mask_of("2x3x11"));
    CHECK_LAYER(rows, .k = k, .in = { normal("4x6") }, .mask = mask_of("6"));
    CASE(k ? "log softmax of segments" : "softmax of segments");
    CHECK_LAYER(segments, .k = k, .in = { normal("30") }, .segments = segments_of(5, lengths));
    CHECK_LAYER(segments, .k = k, .in = { normal("30x7") }, .segments = segments_of(5, lengths));
  }
}

TEST("softmax of what is large, and of -infinity, is no NaN") {
  berth_array *a = normal("3x3");
  const float x[] = { 1e4f, 1e4f, -1e4f, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 3, -INFINITY };
  const float want[] = { 0.5f, 0.5f, 0, 0, 0, 0, 0, 1, 0 };
  berth_segments *s = segments_of(1, (const int32_t[]){ 3 });
  memcpy(berth_array_data(a), x, sizeof x);
  berth_array *out = NN(softmax, NULL, a, NULL);
  CHECK(memcmp(berth_array_data(out), want, sizeof want) == 0);
  out = NN(log_softmax, NULL, a, NULL);
  CHECK_NEAR(berth_array_data(out)[0], -log(2), 1e-6);
  CHECK_NEAR(berth_array_data(out)[2], -20000 - log(2), 2e-3);
  CHECK(berth_array_data(out)[4] == -INFINITY && berth_array_data(out)[7] == 0);
  out = NN(segment_softmax, NULL, a, s);
  CHECK(berth_array_data(out)[0] == 1 && berth_array_data(out)[1] == 1
        && berth_array_data(out)[2] == 1);
  CHECK(berth_array_data(out)[5] == 0);
  out = NN(segment_log_softmax, NULL, a, s);
  CHECK(berth_array_data(out)[0] == 0 && berth_array_data(out)[3] == -INFINITY
        && berth_array_data(out)[2] == 0);
}

TEST("NaN comes through softmax, unless the mask hides it") {
  berth_array *a = normal("2x11"), *mask = mask_of("11");
  for (int j = 0; j < 11; j++) berth_array_data(mask)[j] = j != 3;
  berth_array_data(a)[3] = NAN;
  berth_array *out = NN(softmax, NULL, a, NULL);
  for (int j = 0; j < 11; j++)
    CHECK(isnan(berth_array_data(out)[j]) && !isnan(berth_array_data(out)[11 + j]));
  out = NN(softmax, NULL, a, mask);
  CHECK_NEAR(berth_i_sum(berth_array_data(out), 11), 1, 1e-6);
  CHECK(berth_array_data(out)[3] == 0);
  for (int j = 0; j < 11; j++) berth_array_data(a)[j] = j == 9 ? NAN : -INFINITY;
  out = NN(softmax, NULL, a, NULL);
  CHECK(isnan(berth_array_data(out)[0]));
}

/* ---- normalisation ---- */

static void naive_column(const double *x, int64_t n, int64_t m, double epsilon, double *out) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n; i++) mean += x[i * m] / (double)n;
  for (int64_t i = 0; i < n; i++) variance += (x[i * m] - mean) * (x[i * m] - mean) / (double)n;
  for (int64_t i = 0; i < n; i++) out[i * m] = (x[i * m] - mean) / (sqrt(variance) + epsilon);
}
static void naive_zscore(const layer_case *c, const double *const *in, double *out) {
  int64_t rows = extent(c->in[0], 0), m = berth_array_size(c->in[0]) / rows;
  int32_t whole[2] = { 0, (int32_t)rows },
          count = c->segments ? berth_segments_count(c->segments) : 1;
  const int32_t *first = c->segments ? berth_segments_first(c->segments) : whole;
  for (int32_t s = 0; s < count; s++) {
    for (int64_t j = 0; j < m; j++) {
      naive_column(in[0] + first[s] * m + j, first[s + 1] - first[s], m, c->p,
                   out + first[s] * m + j);
    }
  }
}
static berth_status run_zscore(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_zscore(t, c->in[0], c->segments, c->p, out);
}

TEST("z-score over all rows, through mean and deviation") {
  static const int32_t lengths[] = { 3, 0, 2, 8, 7 };
  CHECK_LAYER(zscore, .p = 1e-6, .in = { normal("12x5") });
  CHECK_LAYER(zscore, .p = 0.5, .in = { normal("6x2x3") });
  CHECK_LAYER(zscore, .p = 0, .in = { normal("9") });
  CASE("z-score of segments");
  CHECK_LAYER(zscore, .p = 0.1, .in = { normal("20x6") }, .segments = segments_of(5, lengths));
  CHECK_LAYER(zscore, .p = 0.1, .in = { normal("20") }, .segments = segments_of(5, lengths));
}

TEST("z-score of a constant column, and of a single row, is 0 and has gradient 0, whatever "
     "epsilon is") {
  berth_array *a = normal("7x2");
  berth_segments *s = segments_of(3, (const int32_t[]){ 1, 4, 2 });
  for (int i = 0; i < 7; i++) berth_array_data(a)[2 * i] = 0.1f;
  berth_tape *t = must_tape_new();
  CHECK_OK(berth_tape_watch(t, a));
  berth_array *out = NN(zscore, t, a, s, 0);
  for (int i = 0; i < 7; i++) CHECK(berth_array_data(out)[2 * i] == 0);
  CHECK(berth_array_data(out)[1] == 0);
  berth_array *square = NN(apply, t, BERTH_NN_EXP, 0, out);
  berth_array *loss = NN(reduce, t, BERTH_NN_SUM, square, BERTH_NONE);
  CHECK_OK(berth_tape_backward(t, loss));
  for (int i = 0; i < 7; i++) CHECK(berth_array_data(berth_tape_gradient(t, a))[2 * i] == 0);
  CHECK(berth_array_data(berth_tape_gradient(t, a))[1] == 0);
  CHECK(berth_array_data(berth_tape_gradient(t, a))[3] != 0);
}

static void naive_layer_norm(const layer_case *c, const double *const *in, double *out) {
  int64_t m = last_of(c->in[0]), n = berth_array_size(c->in[0]) / m;
  for (int64_t i = 0; i < n; i++) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < m; j++) mean += in[0][i * m + j] / (double)m;
    for (int64_t j = 0; j < m; j++)
      variance += (in[0][i * m + j] - mean) * (in[0][i * m + j] - mean) / (double)m;
    for (int64_t j = 0; j < m; j++) {
      out[i * m + j] = (in[0][i * m + j] - mean) / sqrt(variance + c->p) * (in[1] ? in[1][j] : 1)
                       + (in[2] ? in[2][j] : 0);
    }
  }
}
static berth_status run_layer_norm(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_layer_norm(t, c->in[0], c->in[1], c->in[2], c->p, out);
}

TEST("layer norm, with and without gain and bias") {
  CHECK_LAYER(layer_norm, .p = 1e-5, .in = { normal("6x13"), normal("13"), normal("13") });
  CHECK_LAYER(layer_norm, .p = 1e-5, .in = { normal("2x3x5") });
  CHECK_LAYER(layer_norm, .p = 1, .in = { normal("5"), NULL, normal("5") });
}

/* ---- losses ---- */

static void naive_loss_of(const layer_case *c, const double *const *in, double *out) {
  int64_t n = berth_array_size(c->in[0]);
  out[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    double d = fabs(in[0][i] - in[1][i]);
    out[0] += (c->p == 0 ? d * d : d <= c->p ? d * d / 2 : c->p * (d - c->p / 2)) / (double)n;
  }
}
static berth_status run_loss_of(const layer_case *c, berth_tape *t, berth_array **out) {
  return c->p == 0 ? berth_nn_mse(t, c->in[0], c->in[1], out)
                   : berth_nn_huber(t, c->in[0], c->in[1], c->p, out);
}

static void naive_cross(const layer_case *c, const double *const *in, double *out) {
  int64_t n = extent(c->in[0], 0), m = extent(c->in[0], 1);
  out[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = 0; j < m; j++) sum += exp(in[0][i * m + j]);
    out[0] -= (in[0][i * m + berth_index_ids(c->index)[i]] - log(sum)) / (double)n;
  }
}
static berth_status run_cross(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_cross_entropy(t, c->in[0], c->index, out);
}

TEST("losses by hand: of differences 1 and 3") {
  static const int32_t answers[] = { 2, 0, 6, 6 };
  berth_array *a = array(1, (const int32_t[]){ 2 }), *b = array(1, (const int32_t[]){ 2 }),
              *out = NULL;
  berth_array_data(a)[0] = 1;
  berth_array_data(b)[1] = 3;
  out = NN(mse, NULL, a, b);
  CHECK(berth_array_data(out)[0] == 5);
  out = NN(huber, NULL, a, b, 2);
  CHECK(berth_array_data(out)[0] == 2.25f); /* (1/2 + 2 (3 - 1)) / 2 */
  CASE("squared error, Huber's loss and cross entropy");
  CHECK_LAYER(loss_of, .in = { normal("4x5"), normal("4x5") });
  CHECK_LAYER(loss_of, .p = 0.7, .in = { normal("4x5"), normal("4x5") });
  CHECK_LAYER(cross, .in = { normal("4x7") }, .index = index_of(4, answers));
}

/* ---- refusals ---- */

static void refuse(berth_status got, const char *why) {
  CHECK_ERROR(got, BERTH_EINVAL, why);
}

TEST("shapes that do not match are refused, with both") {
  berth_array *a = normal("3x4"), *b = normal("3x5"),
              *v = normal("4");
  berth_array *w = normal("4x12");
  berth_array *out = NULL;
  berth_segments *two = segments_of(1, (const int32_t[]){ 2 });
  berth_index *x = index_of(2, (const int32_t[]){ 0, 5 }),
              *three = index_of(3, (const int32_t[]){ 0, 4, 1 });
  refuse(berth_nn_softmax(NULL, a, b, &out), "softmax: 3 x 4 and 3 x 5 do not match");
  refuse(berth_nn_layer_norm(NULL, b, v, NULL, 1e-5, &out),
         "layer_norm: 3 x 5 and 4 do not match");
  refuse(berth_nn_zscore(NULL, a, NULL, -1, &out),
         "zscore: epsilon is -1, must be finite and not negative");
  refuse(berth_nn_gru(NULL, a, b, w, w, NULL, NULL, &out),
         "gru, weights of the input: 3 x 4 and 4 x 12 do not match");
  refuse(berth_nn_gru(NULL, a, a, w, w, v, NULL, &out),
         "gru, bias: 4 x 12 and 4 do not match");
  refuse(berth_nn_gru(NULL, a, v, w, w, v, NULL, &out), "gru: 3 x 4 and 4 do not match");
  refuse(berth_nn_attention(NULL, a, b, b, 1, NULL, &out),
         "attention, q and k: 3 x 4 and 3 x 5 do not match");
  refuse(berth_nn_attention(NULL, a, a, b, 3, NULL, &out),
         "attention: 3 heads do not divide 4 and 5 columns");
  refuse(berth_nn_attention(NULL, a, a, b, 0, NULL, &out),
         "attention: 0 heads do not divide 4 and 5 columns");
  refuse(berth_nn_attention(NULL, a, a, a, 2, b, &out),
         "attention, q and the mask: 3 x 4 and 3 x 5 do not match");
  refuse(berth_nn_mse(NULL, a, b, &out), "mse: 3 x 4 and 3 x 5 do not match");
  refuse(berth_nn_huber(NULL, a, a, 0, &out), "huber: delta is 0, must be above 0");
  refuse(berth_nn_cross_entropy(NULL, a, x, &out),
         "cross_entropy: 3 x 4 and 2 ids do not match");
  refuse(berth_nn_running_sum(NULL, v, two, x, x, 3, &out), "running_sum: 4 has not two axes");
  refuse(berth_nn_running_sum(NULL, a, two, three, x, 3, &out),
         "running_sum: 2 steps, but 3 rows and 2 bins for them");
  CHECK_STATUS(berth_nn_segment_softmax(NULL, a, two, &out), BERTH_EINVAL);
  CHECK_STATUS(berth_nn_zscore(NULL, a, two, 0, &out), BERTH_EINVAL);
  CHECK_STATUS(berth_nn_cross_entropy(NULL, a, three, &out), BERTH_EINVAL);
  CHECK_STATUS(berth_nn_running_sum(NULL, a, two, x, x, 6, &out), BERTH_EINVAL);
  CHECK(out == NULL);
}

/* ---- nothing at all, and no memory ---- */

TEST("arrays without numbers go through") {
  int32_t none[2] = { 0, 4 }, narrow[2] = { 4, 0 };
  berth_array *a = array(2, none), *b = array(2, narrow), *out = NULL;
  berth_segments *s = segments_of(0, none);
  berth_index *x = index_of(0, none);
  for (int k = 0; k < 2; k++) {
    out = NN(softmax, NULL, k ? a : b, NULL);
    out = NN(zscore, NULL, k ? a : b, NULL, 0);
    out = NN(layer_norm, NULL, k ? a : b, NULL, NULL, 0);
    out = NN(mse, NULL, k ? a : b, k ? a : b);
    CHECK(berth_array_data(out)[0] == 0);
  }
  out = NN(segment_softmax, NULL, a, s);
  out = NN(path_sum, NULL, a, x);
  out = NN(running_sum, NULL, b, s, x, x, 3);
  out = NN(cross_entropy, NULL, a, x);
  CHECK(berth_array_data(out)[0] == 0);
  out = NN(attention, NULL, a, a, a, 2, NULL);
}

/* Arrays that a job has made, released together at its end. */
typedef struct made_arrays {
  berth_array *made[32];
  int n;
  berth_status st;
} made_arrays;

static berth_array **next_of(made_arrays *j) { return &j->made[j->n++]; }

#define DO(call) \
  do { \
    if (j.st == BERTH_OK) j.st = (call); \
  } while (0)

/* A little of everything, on one tape. */
static berth_status whole_job(void) {
  const int32_t square[2] = { 4, 4 }, wide[2] = { 4, 12 }, two_two[2] = { 2, 2 },
                ids[4] = { BERTH_NONE, 0, 1, 1 };
  made_arrays j = { { NULL }, 0, BERTH_OK };
  berth_array **m = j.made;
  berth_segments *s = NULL;
  berth_index *x = NULL;
  berth_tape *t = NULL;
  DO(berth_tape_new(ctx, &t));
  DO(berth_array_new(ctx, 2, square, next_of(&j)));
  DO(berth_array_new(ctx, 2, wide, next_of(&j)));
  DO(berth_segments_new(ctx, 2, two_two, &s));
  DO(berth_index_new(ctx, 4, ids, &x));
  for (int i = 0; j.st == BERTH_OK && i < 16; i++) berth_array_data(m[0])[i] = (float)(i % 5);
  DO(berth_tape_watch(t, m[0]));
  DO(berth_tape_watch(t, m[1]));
  DO(berth_nn_softmax(t, m[0], NULL, next_of(&j)));
  DO(berth_nn_segment_log_softmax(t, m[2], s, next_of(&j)));
  DO(berth_nn_zscore(t, m[3], s, 1e-6, next_of(&j)));
  DO(berth_nn_layer_norm(t, m[4], NULL, NULL, 1e-5, next_of(&j)));
  DO(berth_nn_path_sum(t, m[5], x, next_of(&j)));
  DO(berth_nn_gru(t, m[6], m[0], m[1], m[1], NULL, NULL, next_of(&j)));
  DO(berth_nn_attention(t, m[7], m[6], m[0], 2, NULL, next_of(&j)));
  DO(berth_nn_running_sum(t, m[8], s, x, x, 4, next_of(&j)));
  DO(berth_nn_huber(t, m[9], m[9], 1, next_of(&j)));
  DO(berth_tape_backward(t, m[10]));
  for (int i = 0; i < j.n; i++) RELEASE(m[i]);
  RELEASE(s, x, t);
  return j.st;
}

TEST("every allocation refused in turn: an orderly end, no leak") {
  refuse_in_turn(whole_job, 1);
  refuse_in_turn(whole_job, -1);
}
