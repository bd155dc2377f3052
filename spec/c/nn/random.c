/* Random graphs of operations: values and gradients beside a naive evaluation in double and its
 * central differences. */
#include "nn_layer_help.h"
#include <stdbool.h>

enum { MOST_VALUES = 40, MOST_NUMBERS = 64, MOST_EXTENT = 6, GRAPHS = 300, STEPS = 12 };

typedef enum value_kind {
  LEAF, ADD, SUB, MUL, DIV, SIGMOID, TANH, SOFTPLUS, GELU, SCALE, MATMUL, LINEAR, GROUPED,
  TRANSPOSE, RESHAPE, CONCAT, SLICE,
  GATHER,
  SCATTER, GATHER_MEAN, SEGMENT_SUM, SEGMENT_MEAN, SEGMENT_REPEAT, SOFTMAX, LOG_SOFTMAX,
  SEGMENT_SOFTMAX, ZSCORE, LAYER_NORM,
  PATH_SUM, COLUMN_SUMS, ROW_MEANS, KINDS
} value_kind;

/* A value [n, m] and how it comes about: from values a and b, a list of ids, or lengths of
 * segments. */
typedef struct graph_value {
  value_kind kind;
  int a, b, n, m, from;
  int ids[MOST_NUMBERS], n_ids;
  double x[MOST_NUMBERS];
} graph_value;

typedef struct value_graph {
  graph_value v[MOST_VALUES];
  int count;
} value_graph;

static int below(int n) { return berth_rng_below(&rng, n); }

/* ---- in double ---- */

static double function_of(value_kind k, double x) {
  switch (k) {
    case SIGMOID: return 1 / (1 + exp(-x));
    case TANH: return tanh(x);
    case SOFTPLUS: return log1p(exp(x));
    case GELU: return x * 0.5 * erfc(-x / sqrt(2));
    default: return 0.7 * x - 0.2; /* SCALE */
  }
}

static double both(value_kind k, double x, double y) {
  return k == ADD ? x + y : k == SUB ? x - y : k == MUL ? x * y : x / (y * y + 1);
}

static void soft_run(const double *x, int n, int step, int log_of, double *out) {
  naive_soft(x, NULL, n, step, log_of, out);
}

/* (x - mean) / (deviation + e), or / sqrt(variance + e), of n numbers `step` apart. */
static void normalise(const double *x, int n, int step, int layer, double *out) {
  double mean = 0, variance = 0;
  for (int i = 0; i < n; i++) mean += x[i * step] / n;
  for (int i = 0; i < n; i++) variance += (x[i * step] - mean) * (x[i * step] - mean) / n;
  double by = layer ? sqrt(variance + 0.1) : sqrt(variance) + 0.1;
  for (int i = 0; i < n; i++) out[i * step] = (x[i * step] - mean) / by;
}

static void by_segments(const graph_value *a, graph_value *v) {
  for (int s = 0, row = 0; s < v->n_ids; row += v->ids[s++]) {
    for (int j = 0; j < a->m; j++) {
      double sum = 0;
      for (int i = row; i < row + v->ids[s]; i++) sum += a->x[i * a->m + j];
      if (v->kind == SEGMENT_SOFTMAX)
        soft_run(a->x + row * a->m + j, v->ids[s], a->m, 0, v->x + row * a->m + j);
      else v->x[s * a->m + j] = v->kind == SEGMENT_MEAN && v->ids[s] ? sum / v->ids[s] : sum;
    }
  }
}

static void by_rows(const graph_value *a, graph_value *v) {
  memset(v->x, 0, sizeof v->x);
  for (int i = 0; i < v->n_ids; i++) {
    for (int j = 0; j < a->m; j++) {
      int id = v->ids[i];
      if (v->kind == SCATTER && id >= 0) v->x[id * a->m + j] += a->x[i * a->m + j];
      else if (v->kind == GATHER && id >= 0) v->x[i * a->m + j] = a->x[id * a->m + j];
      else if (v->kind == GATHER_MEAN && id >= 0) v->x[j] += a->x[id * a->m + j] / v->n_ids;
      else if (v->kind == PATH_SUM)
        for (int r = i; r >= 0; r = v->ids[r]) v->x[i * a->m + j] += a->x[r * a->m + j];
    }
  }
}

static void product(const graph_value *a, const graph_value *b, graph_value *v) {
  for (int i = 0; i < v->n; i++) {
    for (int j = 0; j < v->m; j++) {
      double sum = 0;
      for (int k = 0; k < a->m; k++) sum += a->x[i * a->m + k] * b->x[k * b->m + j];
      v->x[i * v->m + j] = v->kind == LINEAR ? tanh(sum) : sum;
    }
  }
}

static void repeat(const graph_value *a, graph_value *v) {
  int row = 0;
  for (int s = 0; s < v->n_ids; s++) {
    for (int k = 0; k < v->ids[s]; k++, row++)
      memcpy(v->x + row * a->m, a->x + s * a->m, sizeof(double) * (size_t)a->m);
  }
}

static void evaluate(value_graph *g, int i) {
  graph_value *v = &g->v[i];
  const graph_value *a = &g->v[v->a], *b = &g->v[v->b];
  int size = v->n * v->m;
  switch (v->kind) {
    case LEAF: break;
    case ADD: case SUB: case MUL: case DIV:
      for (int k = 0; k < size; k++)
        v->x[k] = both(v->kind, a->x[k], b->x[b->n == 1 ? k % v->m : k]);
      break;
    case SIGMOID: case TANH: case SOFTPLUS: case GELU: case SCALE:
      for (int k = 0; k < size; k++) v->x[k] = function_of(v->kind, a->x[k]);
      break;
    case MATMUL: case LINEAR: case GROUPED: product(a, b, v); break;
    case TRANSPOSE:
      for (int k = 0; k < size; k++) v->x[k] = a->x[k % v->m * v->n + k / v->m];
      break;
    case RESHAPE: memcpy(v->x, a->x, sizeof v->x); break;
    case CONCAT:
      memcpy(v->x, a->x, sizeof(double) * (size_t)(a->n * a->m));
      memcpy(v->x + a->n * a->m, b->x, sizeof(double) * (size_t)(b->n * b->m));
      break;
    case SLICE:
      for (int k = 0; k < size; k++) v->x[k] = a->x[k / v->m * a->m + v->from + k % v->m];
      break;
    case GATHER: case SCATTER: case GATHER_MEAN: case PATH_SUM: by_rows(a, v); break;
    case SEGMENT_SUM: case SEGMENT_MEAN: case SEGMENT_SOFTMAX: by_segments(a, v); break;
    case SEGMENT_REPEAT: repeat(a, v); break;
    case SOFTMAX: case LOG_SOFTMAX:
      for (int r = 0; r < v->n; r++)
        soft_run(a->x + r * v->m, v->m, 1, v->kind == LOG_SOFTMAX, v->x + r * v->m);
      break;
    case ZSCORE: for (int j = 0; j < v->m; j++) normalise(a->x + j, v->n, v->m, 0, v->x + j); break;
    case LAYER_NORM:
      for (int r = 0; r < v->n; r++) normalise(a->x + r * v->m, v->m, 1, 1, v->x + r * v->m);
      break;
    case COLUMN_SUMS: case ROW_MEANS:
      memset(v->x, 0, sizeof v->x);
      for (int k = 0; k < a->n * a->m; k++)
        v->x[v->kind == ROW_MEANS ? k / a->m : k % a->m] +=
            a->x[k] / (v->kind == ROW_MEANS ? a->m : 1);
      break;
    case KINDS: break;
  }
}

/* Sum of tanh of all numbers, those of value i by 1 / (1 + i). */
static double loss_of(value_graph *g) {
  double sum = 0;
  for (int i = 0; i < g->count; i++) evaluate(g, i);
  for (int i = 0; i < g->count; i++) {
    for (int k = 0; k < g->v[i].n * g->v[i].m; k++) sum += tanh(g->v[i].x[k]) / (1 + i);
  }
  return sum;
}

/* ---- making ---- */

static int leaf(value_graph *g, int n, int m) {
  graph_value *v = &g->v[g->count];
  *v = (graph_value){ .kind = LEAF, .n = n, .m = m };
  for (int k = 0; k < n * m; k++) v->x[k] = (float)berth_rng_normal(&rng);
  return g->count++;
}

/* Lengths of segments that have n rows in all, some of them empty. */
static void cut(graph_value *v, int n) {
  v->n_ids = 0;
  while (n > 0) {
    int k = below(n + 1);
    if (v->n_ids == MOST_EXTENT - 1) k = n;
    v->ids[v->n_ids++] = k;
    n -= k;
  }
}

static void draw_ids(graph_value *v, int n, int limit) {
  v->n_ids = n;
  for (int i = 0; i < n; i++) v->ids[i] = below(limit + 1) - 1;
}

static int partner(value_graph *g, int n, int m) {
  int start = below(g->count);
  for (int k = 0; k < g->count; k++) {
    int i = (start + k) % g->count;
    if (g->v[i].n == n && g->v[i].m == m) return i;
  }
  return leaf(g, n, m);
}

/* Extents, ids and the second input of an operation on v->a. */
static void complete(value_graph *g, graph_value *v) {
  const graph_value *a = &g->v[v->a];
  v->n = a->n;
  v->m = a->m;
  switch (v->kind) {
    case ADD: case SUB: case MUL: case DIV: v->b = partner(g, below(2) ? a->n : 1, a->m); break;
    case MATMUL: case LINEAR: case GROUPED:
      v->m = 1 + below(MOST_EXTENT);
      v->b = partner(g, a->m, v->m);
      break;
    case TRANSPOSE: case RESHAPE:
      v->n = a->m;
      v->m = a->n;
      break;
    case CONCAT:
      v->b = partner(g, 1 + below(2), a->m);
      v->n = a->n + g->v[v->b].n;
      break;
    case SLICE:
      v->m = 1 + below(a->m);
      v->from = below(a->m - v->m + 1);
      break;
    case GATHER: draw_ids(v, v->n = 1 + below(MOST_EXTENT), a->n); break;
    case SCATTER: draw_ids(v, a->n, v->n = 1 + below(MOST_EXTENT)); break;
    case GATHER_MEAN:
      draw_ids(v, 1 + below(MOST_EXTENT), a->n);
      v->n = 1;
      break;
    case PATH_SUM:
      v->n_ids = a->n;
      for (int i = 0; i < a->n; i++) v->ids[i] = i + 1 + below(2) < a->n ? i + 1 : -1;
      break;
    case SEGMENT_SUM: case SEGMENT_MEAN:
      cut(v, a->n);
      v->n = v->n_ids;
      break;
    case SEGMENT_SOFTMAX: cut(v, a->n); break;
    case SEGMENT_REPEAT:
      v->n = v->n_ids = a->n;
      for (int i = 0; i < a->n; i++) v->ids[i] = 1;
      v->ids[0] = 2;
      v->n = a->n + 1;
      break;
    case COLUMN_SUMS: v->n = 1; break;
    case ROW_MEANS: v->m = 1; break;
    default: break;
  }
}

static bool small(const value_graph *g, int i) {
  for (int k = 0; k < g->v[i].n * g->v[i].m; k++) {
    if (fabs(g->v[i].x[k]) > 4) return false;
  }
  return true;
}

static void grow(value_graph *g) {
  graph_value v = { 0 };
  v.a = below(g->count);
  v.kind = small(g, v.a) ? (value_kind)(1 + below(KINDS - 1)) : TANH;
  complete(g, &v);
  if (v.n > MOST_EXTENT + 2 || v.n * v.m > MOST_NUMBERS) return;
  g->v[g->count] = v;
  evaluate(g, g->count++);
}

static void make_graph(value_graph *g) {
  g->count = 0;
  leaf(g, 1 + below(MOST_EXTENT), 1 + below(MOST_EXTENT));
  leaf(g, 1 + below(MOST_EXTENT), 1 + below(MOST_EXTENT));
  for (int i = 0; i < STEPS; i++) grow(g);
}

/* ---- on a tape ---- */

static berth_status divide(berth_tape *t, berth_array *a, berth_array *b, berth_array **out) {
  berth_array *square = NULL, *more = NULL;
  berth_status st = berth_nn_apply(t, BERTH_NN_SQUARE, 0, b, &square);
  TRY(st, berth_nn_scale(t, square, 1, 1, &more));
  TRY(st, berth_nn_apply2(t, BERTH_NN_DIV, a, more, out));
  RELEASE(square, more);
  return st;
}

static berth_status grouped(berth_tape *t, berth_array *a, berth_array *b, berth_array **out) {
  const int32_t *e = berth_array_shape(b), shape[3] = { 1, e[0], e[1] },
                rows = berth_array_shape(a)[0];
  berth_segments *s = segments_of(1, &rows);
  berth_array *w = NULL;
  berth_status st = berth_nn_reshape(t, b, 3, shape, &w);
  TRY(st, berth_nn_grouped_matmul(t, a, s, w, out));
  RELEASE(w, s);
  return st;
}

/* Reduced along an axis, which stays with an extent of 1. */
static berth_status reduce_to(berth_tape *t, berth_array *a, const graph_value *v,
                              berth_array **out) {
  const int32_t shape[2] = { v->n, v->m };
  berth_array *flat = NULL;
  berth_status st = v->kind == ROW_MEANS ? berth_nn_reduce(t, BERTH_NN_MEAN, a, 1, &flat)
                                         : berth_nn_reduce(t, BERTH_NN_SUM, a, 0, &flat);
  TRY(st, berth_nn_reshape(t, flat, 2, shape, out));
  RELEASE(flat);
  return st;
}

static berth_status run_rows(berth_tape *t, const graph_value *v, berth_array *a,
                             berth_array **out) {
  const int32_t all = v->n_ids;
  berth_index *x = index_of(v->n_ids, v->ids);
  berth_segments *s = segments_of(1, &all);
  berth_status st = v->kind == GATHER    ? berth_nn_gather(t, a, x, out)
                    : v->kind == SCATTER ? berth_nn_scatter(t, a, x, v->n, out)
                    : v->kind == PATH_SUM ? berth_nn_path_sum(t, a, x, out)
                                          : berth_nn_gather_reduce(t, BERTH_NN_MEAN, a, x, s, out);
  RELEASE(x, s);
  return st;
}

static berth_status run_segments(berth_tape *t, const graph_value *v, berth_array *a,
                                 berth_array **out) {
  berth_segments *s = segments_of(v->n_ids, v->ids);
  berth_status st = v->kind == SEGMENT_SUM    ? berth_nn_segment_reduce(t, BERTH_NN_SUM, a, s, out)
                    : v->kind == SEGMENT_MEAN ? berth_nn_segment_reduce(t, BERTH_NN_MEAN, a, s, out)
                    : v->kind == SEGMENT_SOFTMAX ? berth_nn_segment_softmax(t, a, s, out)
                                                 : berth_nn_segment_repeat(t, a, s, out);
  RELEASE(s);
  return st;
}

static berth_status run_value(berth_tape *t, const graph_value *v, berth_array *a, berth_array *b,
                              berth_array **out) {
  static const berth_nn_unary functions[] = { BERTH_NN_SIGMOID, BERTH_NN_TANH, BERTH_NN_SOFTPLUS,
                                              BERTH_NN_GELU };
  const int32_t shape[2] = { v->n, BERTH_NONE };
  switch (v->kind) {
    case ADD: return berth_nn_apply2(t, BERTH_NN_ADD, a, b, out);
    case SUB: return berth_nn_apply2(t, BERTH_NN_SUB, a, b, out);
    case MUL: return berth_nn_apply2(t, BERTH_NN_MUL, a, b, out);
    case DIV: return divide(t, a, b, out);
    case SIGMOID:
    case TANH:
    case SOFTPLUS:
    case GELU: return berth_nn_apply(t, functions[v->kind - SIGMOID], 0, a, out);
    case SCALE: return berth_nn_scale(t, a, 0.7, -0.2, out);
    case MATMUL: return berth_nn_matmul(t, a, 0, b, 0, out);
    case LINEAR: return berth_nn_linear(t, a, b, NULL, BERTH_NN_TANH, 0, out);
    case GROUPED: return grouped(t, a, b, out);
    case TRANSPOSE: return berth_nn_transpose(t, a, out);
    case RESHAPE: return berth_nn_reshape(t, a, 2, shape, out);
    case CONCAT: return berth_nn_concat(t, 2, (berth_array *[]){ a, b }, 0, out);
    case SLICE: return berth_nn_slice(t, a, 1, v->from, v->from + v->m, out);
    case GATHER: case SCATTER: case GATHER_MEAN: case PATH_SUM: return run_rows(t, v, a, out);
    case SOFTMAX: return berth_nn_softmax(t, a, NULL, out);
    case LOG_SOFTMAX: return berth_nn_log_softmax(t, a, NULL, out);
    case ZSCORE: return berth_nn_zscore(t, a, NULL, 0.1, out);
    case LAYER_NORM: return berth_nn_layer_norm(t, a, NULL, NULL, 0.1, out);
    case COLUMN_SUMS: case ROW_MEANS: return reduce_to(t, a, v, out);
    default: return run_segments(t, v, a, out);
  }
}

/* total += sum of tanh(x) / (1 + i) */
static berth_status add_loss(berth_tape *t, int i, berth_array *x, berth_array **total) {
  berth_array *bounded = NULL, *sum = NULL, *part = NULL, *more = NULL;
  berth_status st = berth_nn_apply(t, BERTH_NN_TANH, 0, x, &bounded);
  TRY(st, berth_nn_reduce(t, BERTH_NN_SUM, bounded, BERTH_NONE, &sum));
  TRY(st, berth_nn_scale(t, sum, 1.0 / (1 + i), 0, &part));
  if (st == BERTH_OK && *total) st = berth_nn_apply2(t, BERTH_NN_ADD, *total, part, &more);
  if (st == BERTH_OK && *total) {
    RELEASE(*total);
    *total = more;
  } else if (st == BERTH_OK) {
    berth_array_retain(*total = part);
  }
  RELEASE(bounded, sum, part);
  return st;
}

static void run_graph(berth_tape *t, const value_graph *g, berth_array **made, berth_array **loss) {
  for (int i = 0; i < g->count; i++) {
    const graph_value *v = &g->v[i];
    const int32_t shape[2] = { v->n, v->m };
    if (v->kind == LEAF) {
      made[i] = array(2, shape);
      for (int k = 0; k < v->n * v->m; k++) berth_array_data(made[i])[k] = (float)v->x[k];
      CHECK_OK(berth_tape_watch(t, made[i]));
    } else {
      CHECK_OK(run_value(t, v, made[v->a], made[v->b], &made[i]));
    }
    CHECK_OK(add_loss(t, i, made[i], loss));
  }
}

static void check_leaf(value_graph *g, int i, berth_array *gradient) {
  const double step = 1e-5;
  graph_value *v = &g->v[i];
  if (!CHECK(gradient != NULL)) return;
  for (int k = 0; k < v->n * v->m; k++) {
    double x = v->x[k];
    v->x[k] = x + step;
    double above = loss_of(g);
    v->x[k] = x - step;
    double lower = loss_of(g);
    v->x[k] = x;
    double want = (above - lower) / (2 * step);
    CHECK_NEAR(berth_array_data(gradient)[k], want, 2e-4 * (1 + fabs(want)));
  }
}

static void print_graph(const value_graph *g) {
  for (int i = 0; i < g->count; i++) {
    printf("#   %d: kind %d of %d, %d: %d x %d\n", i, (int)g->v[i].kind, g->v[i].a, g->v[i].b,
           g->v[i].n, g->v[i].m);
  }
}

static int check_graph(value_graph *g) {
  berth_array *made[MOST_VALUES] = { NULL }, *loss = NULL;
  int bad = check_bad;
  double want = loss_of(g);
  berth_tape *t = must_tape_new();
  run_graph(t, g, made, &loss);
  CHECK_NEAR(berth_array_data(loss)[0], want, 1e-4 * (1 + fabs(want)));
  CHECK_OK(berth_tape_backward(t, loss));
  for (int i = 0; i < g->count; i++) {
    if (g->v[i].kind == LEAF) check_leaf(g, i, berth_tape_gradient(t, made[i]));
  }
  for (int i = 0; i < g->count; i++) RELEASE(made[i]);
  RELEASE(loss, t);
  if (bad != check_bad) print_graph(g);
  return bad == check_bad;
}

SETUP { berth_rng_init(&rng, 41, 0); }

TEST("gradients of random graphs of operations agree with central differences") {
  static value_graph g;
  int used[KINDS] = { 0 }, most = 0;
  for (int k = 0; k < GRAPHS && most < 3; k++) {
    make_graph(&g);
    most += !check_graph(&g);
    for (int i = 0; i < g.count; i++) used[g.v[i].kind]++;
  }
  for (int k = 0; k < KINDS; k++) CHECK(used[k] >= 20);
}
