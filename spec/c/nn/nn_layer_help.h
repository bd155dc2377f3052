/* Layers under test: each beside a naive one in double, and its gradient beside central differences
 * of the naive one. */
#ifndef BERTH_NN_LAYER_HELP_H
#define BERTH_NN_LAYER_HELP_H

#include "must.h"

enum { MOST_IN = 6, MOST_OUT = 4096 };

static berth_rng rng;

/* NN(op, ...) is berth_nn_op, which must succeed; what it gives belongs to the test. */
static berth_array *nn_out;
static berth_array *nn_given(berth_status st) {
  CHECK_OK(st);
  own_array(&nn_out);
  return nn_out;
}
#define NN(op, ...) nn_given(berth_nn_##op(__VA_ARGS__, &nn_out))

/* ---- the checker ---- */

typedef struct layer_case layer_case;
struct layer_case {
  berth_status (*run)(const layer_case *c, berth_tape *t, berth_array **out);
  void (*naive)(const layer_case *c, const double *const *in, double *out);
  berth_array *in[MOST_IN]; /* NULL: none */
  berth_array *mask;
  berth_segments *segments;
  berth_index *index, *index2;
  int k;
  double p;
  double tol;
};

static berth_array *array(int32_t rank, const int32_t *shape) {
  return must_array_new(rank, shape);
}

static berth_array *normal_array(int32_t rank, int32_t n, int32_t m, int32_t l) {
  int32_t shape[3] = { n, m, l };
  berth_array *a = array(rank, shape);
  for (int64_t i = 0; i < berth_array_size(a); i++)
    berth_array_data(a)[i] = (float)berth_rng_normal(&rng);
  return a;
}

/* 0 or 1; the last of several rows sees nothing. */
static berth_array *mask_array(int32_t rank, int32_t n, int32_t m, int32_t l) {
  berth_array *a = normal_array(rank, n, m, l);
  int64_t size = berth_array_size(a), last = berth_array_shape(a)[rank - 1];
  for (int64_t i = 0; i < size; i++)
    berth_array_data(a)[i] = berth_array_data(a)[i] > -0.3f && (rank == 1 || i < size - last);
  return a;
}

/* The same, of a shape as text: "3x4x5". */
static int32_t shape_of(const char *text, int32_t *n) {
  int32_t rank = 1;
  for (n[0] = (int32_t)strtol(text, (char **)&text, 10); *text == 'x'; rank++)
    n[rank] = (int32_t)strtol(text + 1, (char **)&text, 10);
  return rank;
}
static berth_array *normal(const char *shape) {
  int32_t n[3] = { 0 }, rank = shape_of(shape, n);
  return normal_array(rank, n[0], n[1], n[2]);
}
static berth_array *mask_of(const char *shape) {
  int32_t n[3] = { 0 }, rank = shape_of(shape, n);
  return mask_array(rank, n[0], n[1], n[2]);
}

static berth_segments *segments_of(int32_t n, const int32_t *length) {
  berth_segments *s = NULL;
  CHECK_OK(berth_segments_new(ctx, n, length, &s));
  own_segments(&s);
  return s;
}

static berth_index *index_of(int32_t n, const int32_t *ids) {
  berth_index *x = NULL;
  CHECK_OK(berth_index_new(ctx, n, ids, &x));
  own_index(&x);
  return x;
}

static int64_t extent(const berth_array *a, int32_t k) { return berth_array_shape(a)[k]; }
static int64_t last_of(const berth_array *a) { return extent(a, berth_array_rank(a) - 1); }

static void free_case(layer_case *c) {
  for (int k = 0; k < MOST_IN; k++) {
    int j = 0;
    while (j < k && c->in[j] != c->in[k]) j++;
    if (j == k) RELEASE(c->in[k]); /* one array may be two inputs */
  }
  RELEASE(c->mask, c->segments, c->index, c->index2);
}

static void to_double(const layer_case *c, double *in[MOST_IN]) {
  for (int k = 0; k < MOST_IN; k++) {
    in[k] = NULL;
    for (int j = 0; j < k; j++) {
      if (c->in[k] && c->in[j] == c->in[k]) in[k] = in[j];
    }
    if (in[k] || !c->in[k]) continue;
    in[k] = malloc(sizeof(double) * (size_t)berth_array_size(c->in[k]) + 1);
    for (int64_t i = 0; i < berth_array_size(c->in[k]); i++)
      in[k][i] = berth_array_data(c->in[k])[i];
  }
}

static void free_doubles(double *in[MOST_IN]) {
  for (int k = 0; k < MOST_IN; k++) {
    for (int j = k + 1; j < MOST_IN; j++) {
      if (in[j] == in[k]) in[j] = NULL;
    }
    free(in[k]);
  }
}

/* Sum of w times what is finite of the naive output. */
static double naive_loss(const layer_case *c, double *const *in, const double *w, int64_t n) {
  static double out[MOST_OUT];
  double sum = 0;
  const double *const_in[MOST_IN];
  for (int k = 0; k < MOST_IN; k++) const_in[k] = in[k];
  c->naive(c, const_in, out);
  for (int64_t i = 0; i < n; i++) sum += isinf(out[i]) ? 0 : w[i] * out[i];
  return sum;
}

static void check_forward(const layer_case *c, double *const *in, berth_array *got) {
  static double out[MOST_OUT];
  const double *const_in[MOST_IN];
  for (int k = 0; k < MOST_IN; k++) const_in[k] = in[k];
  c->naive(c, const_in, out);
  for (int64_t i = 0; i < berth_array_size(got); i++)
    CHECK_NEAR(berth_array_data(got)[i], out[i], c->tol * (1 + fabs(out[i])));
}

static void check_gradient(const layer_case *c, double *const *in, int k, const double *w,
                           int64_t n, berth_array *got) {
  const double step = 1e-5;
  if (!CHECK(got && berth_array_size(got) == berth_array_size(c->in[k]))) return;
  for (int64_t i = 0; i < berth_array_size(got); i++) {
    double x = in[k][i];
    in[k][i] = x + step;
    double above = naive_loss(c, in, w, n);
    in[k][i] = x - step;
    double below = naive_loss(c, in, w, n);
    in[k][i] = x;
    double want = (above - below) / (2 * step);
    CHECK_NEAR(berth_array_data(got)[i], want, 10 * c->tol * (1 + fabs(want)));
  }
}

/* Loss: sum of w max(out, -50), which keeps -INFINITY out; its gradient there is not to be looked
 * at by the layer. */
static berth_status weighted(berth_tape *t, berth_array *out, berth_array *w, berth_array **loss) {
  const int32_t one = 1;
  berth_array *least = NULL, *a = NULL, *b = NULL;
  berth_status st = berth_array_new(ctx, 1, &one, &least);
  if (st == BERTH_OK) berth_array_data(least)[0] = -50;
  TRY(st, berth_nn_apply2(t, BERTH_NN_MAX, out, least, &a));
  TRY(st, berth_nn_apply2(t, BERTH_NN_MUL, a, w, &b));
  TRY(st, berth_nn_reduce(t, BERTH_NN_SUM, b, BERTH_NONE, loss));
  RELEASE(least, a, b);
  return st;
}

static void check_case(layer_case *c) {
  berth_array *out = NULL, *untaped = NULL, *loss = NULL;
  if (c->tol == 0) c->tol = 2e-6;
  double *in[MOST_IN];
  to_double(c, in);
  berth_tape *t = must_tape_new();
  CHECK_OK(c->run(c, t, &untaped));
  CHECK(berth_tape_length(t) == 0); /* nothing is wanted yet */
  for (int k = 0; k < MOST_IN; k++) {
    if (c->in[k]) CHECK_OK(berth_tape_watch(t, c->in[k]));
  }
  if (!CHECK_OK(c->run(c, t, &out))) return;
  check_forward(c, in, out);
  int64_t n = berth_array_size(out);
  CHECK(memcmp(berth_array_data(out), berth_array_data(untaped), (size_t)n * sizeof(float)) == 0);
  berth_array *weights = array(berth_array_rank(out), berth_array_shape(out));
  double w[MOST_OUT];
  for (int64_t i = 0; i < n; i++)
    w[i] = berth_array_data(weights)[i] = (float)berth_rng_normal(&rng);
  CHECK_OK(weighted(t, out, weights, &loss));
  CHECK_OK(berth_tape_backward(t, loss));
  for (int k = 0; k < MOST_IN; k++) {
    if (c->in[k]) check_gradient(c, in, k, w, n, berth_tape_gradient(t, c->in[k]));
  }
  RELEASE(out, untaped, weights, loss, t);
  free_doubles(in);
}

static void check_and_free(layer_case *c) {
  check_case(c);
  free_case(c);
}

/* run_LAYER beside naive_LAYER; the rest are fields of the case. */
#define CHECK_LAYER(LAYER, ...) \
  check_and_free(&(layer_case){ .run = run_##LAYER, .naive = naive_##LAYER, __VA_ARGS__ })

/* n numbers `step` apart, those with mask 0 left out. */
static void naive_soft(const double *x, const float *mask, int64_t n, int64_t step, int log_of,
                       double *out) {
  double sum = 0, most = -INFINITY;
  for (int64_t i = 0; i < n; i++) {
    if (!mask || mask[i] != 0) most = fmax(most, x[i * step]);
  }
  for (int64_t i = 0; i < n; i++) sum += !mask || mask[i] != 0 ? exp(x[i * step] - most) : 0;
  for (int64_t i = 0; i < n; i++) {
    double p = !mask || mask[i] != 0 ? x[i * step] - most - log(sum) : -INFINITY;
    out[i * step] = log_of ? p : exp(p);
  }
}

#endif
