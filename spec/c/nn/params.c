/* Parameters: initial values, clipping, and Adam beside a naive one in double. */
#include "nn_params_help.h"

/* ---- initial values ---- */

static void moments_of(berth_array *a, double *mean, double *variance, double *most) {
  const float *x = berth_array_data(a);
  int64_t n = berth_array_size(a);
  *mean = *variance = *most = 0;
  for (int64_t i = 0; i < n; i++) {
    *mean += x[i] / (double)n;
    *variance += (double)x[i] * x[i] / (double)n;
    if (fabs(x[i]) > *most) *most = fabs(x[i]);
  }
  *variance -= *mean * *mean;
}

/* Rows (or columns) are orthonormal up to a factor of p. */
static double farthest_from_orthonormal(const float *x, int32_t n, int32_t m, double p) {
  double worst = 0;
  int32_t k = n < m ? n : m, l = n < m ? m : n;
  for (int32_t i = 0; i < k; i++) {
    for (int32_t j = 0; j <= i; j++) {
      double sum = 0;
      for (int32_t c = 0; c < l; c++)
        sum += n < m ? (double)x[i * m + c] * x[j * m + c] : (double)x[c * m + i] * x[c * m + j];
      sum = fabs(sum - (i == j ? p * p : 0));
      if (sum > worst) worst = sum;
    }
  }
  return worst;
}

static double orthogonal_error(berth_params *p, const char *name, int32_t n, int32_t m,
                               double factor) {
  return farthest_from_orthonormal(
      berth_array_data(add2(p, name, n, m, BERTH_NN_ORTHOGONAL, factor, 1)), n, m, factor);
}

TEST("zeros and constants are what they say") {
  berth_params *p = new_params();
  int32_t shape[3] = { 3, 4, 6 };
  berth_array *a = add2(p, "zeros", 3, 4, BERTH_NN_ZEROS, 0, 1);
  double mean, variance, most;
  moments_of(a, &mean, &variance, &most);
  CHECK(most == 0);
  a = add2(p, "constant", 3, 4, BERTH_NN_CONSTANT, -1.5, 1);
  CHECK(berth_array_data(a)[0] == -1.5f && berth_array_data(a)[11] == -1.5f);
  CASE("uniform, normal, xavier and he have the spread they should");
  moments_of(add2(p, "uniform", 200, 100, BERTH_NN_UNIFORM, 0.3, 1), &mean, &variance, &most);
  CHECK_NEAR(mean, 0, 0.005);
  CHECK_NEAR(variance, 0.03, 0.001);
  CHECK(most <= 0.3);
  moments_of(add2(p, "normal", 200, 100, BERTH_NN_NORMAL, 2, 1), &mean, &variance, &most);
  CHECK_NEAR(mean, 0, 0.06);
  CHECK_NEAR(variance, 4, 0.16);
  moments_of(add2(p, "xavier", 200, 100, BERTH_NN_XAVIER, 1, 1), &mean, &variance, &most);
  CHECK_NEAR(variance, 2.0 / 300, 0.0003);
  CHECK(most <= sqrt(6.0 / 300));
  moments_of(add2(p, "he", 200, 100, BERTH_NN_HE, 1, 1), &mean, &variance, &most);
  CHECK_NEAR(variance, 0.01, 0.0005);
  CASE("orthogonal: rows or columns are orthonormal, whichever are fewer");
  CHECK_NEAR(orthogonal_error(p, "wide", 16, 50, 1), 0, 1e-6);
  CHECK_NEAR(orthogonal_error(p, "tall", 50, 16, 2), 0, 4e-6);
  CHECK_NEAR(orthogonal_error(p, "square", 64, 64, 1), 0, 1e-6);
  CHECK_NEAR(fabs(berth_array_data(add2(p, "one", 1, 1, BERTH_NN_ORTHOGONAL, 1, 1))[0]), 1, 1e-6);
  berth_rng rng = seeded(5, 0);
  CHECK_OK(berth_params_add(p, "three", 3, shape, BERTH_NN_ORTHOGONAL, 1, &rng, &a));
  for (int k = 0; k < 3; k++)
    CHECK_NEAR(farthest_from_orthonormal(berth_array_data(a) + 24 * k, 4, 6, 1), 0, 1e-6);
}

TEST("same seed, same bytes; another seed, others") {
  static const berth_nn_init all[] = { BERTH_NN_UNIFORM, BERTH_NN_NORMAL, BERTH_NN_XAVIER,
                                       BERTH_NN_HE, BERTH_NN_ORTHOGONAL };
  for (int k = 0; k < 5; k++) {
    berth_params *p = new_params();
    float *a = berth_array_data(add2(p, "a", 7, 9, all[k], 1, 3)),
          *b = berth_array_data(add2(p, "b", 7, 9, all[k], 1, 3));
    float *c = berth_array_data(add2(p, "c", 7, 9, all[k], 1, 4));
    CHECK(memcmp(a, b, 63 * sizeof *a) == 0);
    CHECK(memcmp(a, c, 63 * sizeof *a) != 0);
  }
}

static void refuse_add(berth_params *p, const char *name, int32_t rank, berth_nn_init init,
                       double v, berth_rng *rng, const char *why) {
  int32_t shape[2] = { 2, 3 }, before = berth_params_count(p);
  berth_array *a = NULL;
  CHECK_ERROR(berth_params_add(p, name, rank, shape, init, v, rng, &a), BERTH_EINVAL, why);
  CHECK(a == NULL && berth_params_count(p) == before);
}

TEST("parameters are found by name, in the order they came") {
  berth_params *p = new_params();
  berth_array *w = add2(p, "w", 2, 3, BERTH_NN_ZEROS, 0, 1),
              *b = add2(p, "b", 1, 3, BERTH_NN_ZEROS, 0, 1);
  berth_rng rng = seeded(1, 0);
  CHECK(berth_params_count(p) == 2 && berth_params_size(p) == 9);
  CHECK(berth_params_find(p, "b") == 1 && berth_params_find(p, "x") == BERTH_NONE);
  CHECK(berth_params_array(p, 0) == w && berth_params_array(p, 1) == b);
  CHECK_TEXT(berth_params_name(p, 1), "b");
  CASE("what cannot be added is refused, with the reason");
  refuse_add(p, "w", 2, BERTH_NN_ZEROS, 0, NULL, "there is a parameter \"w\" already");
  refuse_add(p, "", 2, BERTH_NN_ZEROS, 0, NULL, "a parameter needs a name");
  refuse_add(p, "x", 1, BERTH_NN_HE, 1, &rng,
             "parameter \"x\": this initialiser needs two axes or more");
  refuse_add(p, "x", 2, BERTH_NN_HE, 1, NULL,
             "parameter \"x\": this initialiser needs random numbers");
  refuse_add(p, "x", 2, BERTH_NN_NORMAL, -1, &rng,
             "parameter \"x\": initialiser with -1, must be finite and not negative");
  refuse_add(p, "x", 2, BERTH_NN_CONSTANT, INFINITY, NULL,
             "parameter \"x\": initialiser with inf, must be finite");
  refuse_add(p, "x", 2, (berth_nn_init)7, 0, &rng,
             "parameter \"x\": no initialiser has the number 7");
  CASE("an array outlives its parameters") berth_array_retain(w);
  RELEASE(p);
  CHECK(berth_array_size(w) == 6);
  RELEASE(w);
}

/* ---- all at once ---- */

TEST("values and gradients go out and in as one array, in order") {
  berth_params *p = new_params();
  float *w = berth_array_data(add2(p, "w", 1, 2, BERTH_NN_CONSTANT, 1, 1));
  float *b = berth_array_data(add2(p, "b", 1, 1, BERTH_NN_CONSTANT, 2, 1));
  float values[3] = { 7, 8, 9 };
  float got[3];
  berth_params_get(p, 0, got);
  CHECK(got[0] == 1 && got[1] == 1 && got[2] == 2);
  berth_params_set(p, 0, values);
  CHECK(w[0] == 7 && w[1] == 8 && b[0] == 9);
  berth_params_set(p, 1, values);
  berth_params_get(p, 1, got);
  CHECK(memcmp(got, values, sizeof got) == 0);
  CHECK(berth_array_data(berth_params_gradient(p, 1))[0] == 9);
  berth_params_zero_gradients(p);
  berth_params_get(p, 1, got);
  CHECK(got[0] == 0 && got[1] == 0 && got[2] == 0 && w[0] == 7);
}

TEST("gradients above a norm are scaled to it: (2 3 6) has 7") {
  berth_params *p = new_params();
  float g[3] = { 2, 3, 6 };
  double norm = 0;
  add2(p, "w", 1, 2, BERTH_NN_ZEROS, 0, 1);
  add2(p, "b", 1, 1, BERTH_NN_ZEROS, 0, 1);
  berth_params_set(p, 1, g);
  CHECK_OK(berth_params_clip(p, 7.5, &norm));
  float got[3];
  berth_params_get(p, 1, got);
  CHECK_NEAR(norm, 7, 1e-12);
  CHECK(memcmp(got, g, sizeof g) == 0);
  CHECK_OK(berth_params_clip(p, 3.5, &norm));
  berth_params_get(p, 1, got);
  CHECK_NEAR(norm, 7, 1e-12);
  CHECK(got[0] == 1 && got[1] == 1.5f && got[2] == 3);
  CHECK_OK(berth_params_clip(p, 1, NULL));
  CASE("a gradient that is not finite is left to be found by the step");
  g[1] = NAN;
  berth_params_set(p, 1, g);
  CHECK_OK(berth_params_clip(p, 1, &norm));
  berth_params_get(p, 1, got);
  CHECK(isnan(norm) && got[0] == 2 && got[2] == 6);
  CHECK_ERROR(berth_params_clip(p, 0, &norm), BERTH_EINVAL,
              "gradients clipped to a norm of 0, must be above 0");
  CHECK_STATUS(berth_params_clip(p, NAN, &norm), BERTH_EINVAL);
}

/* ---- Adam ---- */

enum { N_NAIVE = 37 };

typedef struct naive_adam {
  double x[N_NAIVE], m[N_NAIVE], v[N_NAIVE];
} naive_adam;

/* Algorithm 1 of the paper, as printed, and decay as in algorithm 2 of the other. */
static void naive_step(naive_adam *s, const float *g, int t, double rate,
                       const berth_adam_options *o) {
  for (int i = 0; i < N_NAIVE; i++) {
    s->m[i] = o->beta1 * s->m[i] + (1 - o->beta1) * g[i];
    s->v[i] = o->beta2 * s->v[i] + (1 - o->beta2) * g[i] * g[i];
    double m;
    m = s->m[i] / (1 - pow(o->beta1, t));
    double v;
    v = s->v[i] / (1 - pow(o->beta2, t));
    s->x[i] -= rate * (m / (sqrt(v) + o->epsilon) + o->decay * s->x[i]);
  }
}

static void beside_naive(const berth_adam_options *o) {
  berth_params *p = new_params();
  naive_adam s = { { 0 }, { 0 }, { 0 } };
  add2(p, "w", 5, 7, BERTH_NN_NORMAL, 1, 1);
  add2(p, "b", 1, 2, BERTH_NN_NORMAL, 1, 2);
  float x[N_NAIVE];
  berth_params_get(p, 0, x);
  for (int i = 0; i < N_NAIVE; i++) s.x[i] = x[i];
  berth_adam *adam = must_adam_new(p, o);
  float g[N_NAIVE];
  for (int t = 1; t <= 100; t++) {
    double rate = 0.01 / t;
    fill_gradients(p, (uint64_t)t);
    berth_params_get(p, 1, g);
    naive_step(&s, g, t, rate, o);
    CHECK_OK(berth_adam_step(adam, rate));
  }
  berth_params_get(p, 0, x);
  for (int i = 0; i < N_NAIVE; i++) CHECK_NEAR(x[i], s.x[i], 3e-6);
  CHECK(berth_adam_steps(adam) == 100);
}

TEST("Adam's first step is rate times the sign of the gradient, the second by hand") {
  berth_adam_options o = berth_adam_default();
  berth_params *p = new_params();
  float *x = berth_array_data(add2(p, "x", 1, 3, BERTH_NN_CONSTANT, 1, 1)), g[3] = { 4, -0.25f, 0 };
  berth_adam *adam = must_adam_new(p, NULL);
  berth_params_set(p, 1, g);
  CHECK_OK(berth_adam_step(adam, 0.1));
  CHECK_NEAR(x[0], 0.9, 1e-6);
  CHECK_NEAR(x[1], 1.1, 1e-6);
  CHECK(x[2] == 1);
  /* m = 0.9 0.1 4 = 0.36, of 1 - 0.81; v = 0.999 0.001 16 = 0.015984, of 1 - 0.998001: 1.894737 /
   * 2.827725 */
  g[0] = 0;
  berth_params_set(p, 1, g);
  CHECK_OK(berth_adam_step(adam, 0.1));
  CHECK_NEAR(x[0], 0.9 - 0.1 * (0.36 / 0.19) / sqrt(0.015984 / 0.001999), 1e-6);
  CHECK_NEAR(berth_array_data(berth_params_gradient(p, 0))[1], -0.25, 0);
  CASE("Adam is what a naive one in double is, over 100 steps of changing rate");
  beside_naive(&o);
  o.decay = 0.3;
  o.beta1 = 0.5;
  o.beta2 = 0.9;
  o.epsilon = 1e-3;
  beside_naive(&o);
  o.beta1 = o.beta2 = 0;
  beside_naive(&o);
}

static void refuse_options(berth_params *p, berth_adam_options o, const char *why) {
  berth_adam *adam = NULL;
  CHECK_ERROR(berth_adam_new(p, &o, &adam), BERTH_EINVAL, why);
}

TEST("a gradient that is not finite, or whose square is not, stops a step before anything has "
     "changed") {
  berth_params *p = new_params();
  berth_adam_options o = berth_adam_default();
  float *x = berth_array_data(add2(p, "w", 1, 9, BERTH_NN_CONSTANT, 1, 1));
  static const float bad[] = { NAN, INFINITY, -INFINITY, 2e19f, -3e38f };
  float *g = berth_array_data(berth_params_gradient(p, 0));
  berth_adam *adam = must_adam_new(p, NULL);
  for (int k = 0; k < 5; k++) {
    for (int i = 0; i < 9; i++) g[i] = 1;
    g[k + 4] = bad[k];
    CHECK_STATUS(berth_adam_step(adam, 0.1), BERTH_EINVAL);
    if (k == 1)
      CHECK_TEXT(berth_errmsg(ctx),
                 "adam: gradient 5 of \"w\" is inf, must be finite and below 1e19");
    for (int i = 0; i < 9; i++) CHECK(x[i] == 1);
    CHECK(berth_adam_steps(adam) == 0);
  }
  g[8] = 1;
  CHECK_ERROR(berth_adam_step(adam, NAN), BERTH_EINVAL,
              "adam: rate is nan, must be finite and not negative");
  CHECK_OK(berth_adam_step(adam, 0));
  CHECK(x[3] == 1);
  CASE("parameters added after Adam was made stop its steps");
  add2(p, "late", 1, 2, BERTH_NN_ZEROS, 0, 1);
  CHECK_ERROR(berth_adam_step(adam, 0.1), BERTH_EINVAL,
              "adam: made for 9 numbers, the parameters have 11 now");
  CASE("Adam's options are checked");
  o.beta2 = 1;
  refuse_options(p, o, "options beta1 and beta2 must be below 1");
  o = berth_adam_default();
  o.epsilon = 1e-60;
  refuse_options(p, o, "option epsilon is 1e-60 (a float must hold it)");
  o = berth_adam_default();
  o.decay = NAN;
  refuse_options(p, o, "option decay is nan (a finite number from 0)");
  RELEASE(p); /* before Adam: it holds them */
}
