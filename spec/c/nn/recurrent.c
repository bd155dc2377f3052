/* Path sums, running sums, GRU and attention. */
#include "nn_layer_help.h"

/* ---- paths and running sums ---- */

static void naive_paths(const layer_case *c, const double *const *in, double *out) {
  int64_t n = extent(c->in[0], 0), m = berth_array_size(c->in[0]) / n;
  const int32_t *next = berth_index_ids(c->index);
  for (int64_t v = 0; v < n; v++) {
    for (int64_t j = 0; j < m; j++) out[v * m + j] = 0;
    for (int64_t u = v; u != BERTH_NONE; u = next[u]) {
      for (int64_t j = 0; j < m; j++) out[v * m + j] += in[0][u * m + j];
    }
  }
}
static berth_status run_paths(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_path_sum(t, c->in[0], c->index, out);
}

static berth_index *random_forest(int32_t n) {
  int32_t names[64];
  for (int32_t i = 0; i < n; i++) names[i] = i;
  berth_rng_shuffle(&rng, names, n);
  int32_t ids[64];
  for (int32_t i = 0; i < n; i++) {
    ids[names[i]] =
        i == 0 || berth_rng_below(&rng, 5) == 0 ? BERTH_NONE : names[berth_rng_below(&rng, i)];
  }
  return index_of(n, ids);
}

SETUP { berth_rng_init(&rng, 12, 0); }

TEST("path sums over forests") {
  enum { LONG = 100000 };
  int32_t shape[2] = { LONG, 1 }, *chain = malloc(sizeof *chain * LONG);
  berth_array *a = array(2, shape);
  for (int k = 0; k < 5; k++) {
    CHECK_LAYER(paths, .in = { normal("40x3") }, .index = random_forest(40));
  }
  CHECK_LAYER(paths, .in = { normal("7") }, .index = random_forest(7));
  CASE("a path of 100000 rows is one pass");
  for (int32_t i = 0; i < LONG; i++) {
    chain[i] = i - 1;
    berth_array_data(a)[i] = 1;
  }
  berth_index *x = index_of(LONG, chain);
  berth_array *out = NN(path_sum, NULL, a, x);
  CHECK(berth_array_data(out)[LONG - 1] == LONG && berth_array_data(out)[0] == 1);
  CASE("a path that comes back is refused");
  chain[0] = 2;
  x = index_of(LONG, chain);
  CHECK_ERROR(berth_nn_path_sum(NULL, a, x, &out), BERTH_ECYCLE,
              "path_sum: 3 of 100000 rows are on a cycle");
  x = index_of(3, chain);
  CHECK_ERROR(berth_nn_path_sum(NULL, a, x, &out), BERTH_EINVAL,
              "path_sum: 100000 rows, but 3 ids of the next");
  RELEASE(chain);
}

static void naive_running(const layer_case *c, const double *const *in, double *out) {
  const int32_t *first = berth_segments_first(c->segments), *row = berth_index_ids(c->index),
                *bin = berth_index_ids(c->index2);
  int64_t m = extent(c->in[0], 1), bins = c->k;
  for (int32_t s = 0; s < berth_segments_count(c->segments); s++) {
    for (int64_t i = first[s]; i < first[s + 1]; i++) {
      for (int64_t at = 0; at < bins * m; at++) out[i * bins * m + at] = 0;
      for (int64_t before = first[s]; before < i; before++) {
        for (int64_t j = 0; row[before] != BERTH_NONE && bin[before] != BERTH_NONE && j < m; j++) {
          out[(i * bins + bin[before]) * m + j] += in[0][row[before] * m + j];
        }
      }
    }
  }
}
static berth_status run_running(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_running_sum(t, c->in[0], c->segments, c->index, c->index2, c->k, out);
}

TEST("running sums: what lay in each bin before each step") {
  static const int32_t lengths[] = { 5, 0, 1, 9 };
  int32_t row[15], bin[15];
  for (int k = 0; k < 15; k++) {
    row[k] = k % 6 == 5 ? BERTH_NONE : berth_rng_below(&rng, 8);
    bin[k] = k == 9 ? BERTH_NONE : berth_rng_below(&rng, 3);
  }
  CHECK_LAYER(running, .in = { normal("8x5") }, .k = 3, .segments = segments_of(4, lengths),
              .index = index_of(15, row), .index2 = index_of(15, bin));
}

/* ---- GRU ---- */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* Column j of x w + b, row i. */
static double affine(const double *x, const double *w, const double *b, int64_t i, int64_t j,
                     int64_t k, int64_t m) {
  double sum = b ? b[j] : 0;
  for (int64_t c = 0; c < k; c++) sum += x[i * k + c] * w[c * m + j];
  return sum;
}
static void naive_gru(const layer_case *c, const double *const *in, double *out) {
  int64_t n = extent(c->in[0], 0), k = extent(c->in[0], 1), m = extent(c->in[1], 1);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < m; j++) {
      double r = sigmoid(affine(in[0], in[2], in[4], i, j, k, 3 * m)
                         + affine(in[1], in[3], in[5], i, j, m, 3 * m));
      double z = sigmoid(affine(in[0], in[2], in[4], i, m + j, k, 3 * m)
                         + affine(in[1], in[3], in[5], i, m + j, m, 3 * m));
      double u = affine(in[1], in[3], in[5], i, 2 * m + j, m, 3 * m);
      double v = tanh(affine(in[0], in[2], in[4], i, 2 * m + j, k, 3 * m) + r * u);
      out[i * m + j] = (1 - z) * v + z * in[1][i * m + j];
    }
  }
}
static berth_status run_gru(const layer_case *c, berth_tape *t, berth_array **out) {
  berth_array *const *in = c->in;
  return berth_nn_gru(t, in[0], in[1], in[2], in[3], in[4], in[5], out);
}

/* Rounds with the same input and weights, as message passing has them. */
static void naive_rounds(const layer_case *c, const double *const *in, double *out) {
  const double *now[MOST_IN];
  memcpy(now, in, sizeof now);
  double h[MOST_OUT];
  for (int k = 0; k < c->k; k++) {
    naive_gru(c, now, out);
    memcpy(h, out, sizeof(double) * (size_t)berth_array_size(c->in[1]));
    now[1] = h;
  }
}
static berth_status run_rounds(const layer_case *c, berth_tape *t, berth_array **out) {
  berth_array *h = c->in[1], *next = NULL;
  berth_status st = BERTH_OK;
  berth_array_retain(h);
  for (int k = 0; st == BERTH_OK && k < c->k; k++) {
    st = berth_nn_gru(t, c->in[0], h, c->in[2], c->in[3], c->in[4], c->in[5], &next);
    RELEASE(h);
    h = next;
  }
  *out = h;
  return st;
}

TEST("GRU, with and without biases") {
  berth_array *x = normal("4x5");
  CHECK_LAYER(gru, .in = { normal("4x3"), normal("4x5"), normal("3x15"), normal("5x15"),
              normal("15"), normal("15") });
  CHECK_LAYER(gru, .in = { normal("2x3"), normal("2x1"), normal("3x3"), normal("1x3") });
  CASE("GRU whose input is its state");
  CHECK_LAYER(gru, .tol = 4e-6, .in = { x, x, normal("5x15"), normal("5x15"), normal("15"),
              normal("15") });
  CASE("six rounds of a GRU with shared weights");
  CHECK_LAYER(rounds, .k = 6, .tol = 1e-5, .in = { normal("4x3"), normal("4x5"), normal("3x15"),
              normal("5x15"), normal("15"), normal("15") });
}

/* ---- attention ---- */

typedef struct array_view {
  int64_t batch, heads, n, m, d, e; /* d, e: of one head */
} array_view;

static void naive_query(const layer_case *c, const array_view *w, const double *const *in,
                        int64_t b, int64_t h, int64_t i, double *out) {
  int64_t dd = w->d * w->heads, ee = w->e * w->heads;
  const float *mask = NULL;
  if (c->mask)
    mask = berth_array_data(c->mask) + (berth_array_rank(c->mask) == 3 ? b * w->n * w->m : 0)
           + i * w->m;
  double scores[64];
  for (int64_t j = 0; j < w->m; j++) {
    scores[j] = 0;
    for (int64_t k = h * w->d; k < (h + 1) * w->d; k++) {
      scores[j] += in[0][(b * w->n + i) * dd + k] * in[1][(b * w->m + j) * dd + k];
    }
    scores[j] /= sqrt((double)w->d);
  }
  double p[64];
  naive_soft(scores, mask, w->m, 1, 0, p);
  for (int64_t k = h * w->e; k < (h + 1) * w->e; k++) {
    double sum = 0;
    for (int64_t j = 0; j < w->m; j++) sum += p[j] * in[2][(b * w->m + j) * ee + k];
    out[(b * w->n + i) * ee + k] = sum;
  }
}
static void naive_attention(const layer_case *c, const double *const *in, double *out) {
  int32_t r = berth_array_rank(c->in[0]);
  array_view w = { r == 3 ? extent(c->in[0], 0) : 1, c->k,
             extent(c->in[0], r - 2),          extent(c->in[1], r - 2),
             last_of(c->in[0]) / c->k,         last_of(c->in[2]) / c->k };
  for (int64_t b = 0; b < w.batch; b++) {
    for (int64_t h = 0; h < w.heads; h++) {
      for (int64_t i = 0; i < w.n; i++) naive_query(c, &w, in, b, h, i, out);
    }
  }
}
static berth_status run_attention(const layer_case *c, berth_tape *t, berth_array **out) {
  return berth_nn_attention(t, c->in[0], c->in[1], c->in[2], c->k, c->mask, out);
}

TEST("attention of one head and of several") {
  berth_array *x = normal("5x6");
  CHECK_LAYER(attention, .k = 1, .in = { normal("3x4"), normal("5x4"), normal("5x2") });
  CHECK_LAYER(attention, .k = 2, .in = { normal("3x6"), normal("5x6"), normal("5x4") });
  CASE("attention with a mask, a row of which sees nothing");
  CHECK_LAYER(attention, .k = 2, .mask = mask_of("3x5"), .in = { normal("3x6"), normal("5x6"),
              normal("5x4") });
  CASE("attention in batches, with a mask for each and one for all");
  CHECK_LAYER(attention, .k = 2, .mask = mask_of("2x3x5"), .in = { normal("2x3x4"), normal("2x5x4"),
              normal("2x5x6") });
  CHECK_LAYER(attention, .k = 1, .mask = mask_of("3x5"), .in = { normal("2x3x4"), normal("2x5x4"),
              normal("2x5x6") });
  CASE("attention to itself: one array three times");
  CHECK_LAYER(attention, .k = 3, .in = { x, x, x }, .tol = 5e-6);
}
