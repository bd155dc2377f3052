/* One number at a time: functions of one array, and of two whose shapes match by repetition. A
 * function has one row of a switch for its value and one for its slope; the loops around them are
 * macros, so that the compiler vectorises each case. */
#include "vector_internal.h"

#include "layer_internal.h"

/* ---- two arrays -------------------------------------------------------------------------- *
 * Shapes are aligned from the last axis and padded with ones in front. The innermost loop runs
 * along the last axis with steps of 0 or 1; axes that both inputs run through alike are folded into
 * one before that. */

typedef struct pattern {
  int32_t n[BERTH_NN_RANK];                   /* extents of the output */
  int64_t a[BERTH_NN_RANK], b[BERTH_NN_RANK]; /* steps of the inputs, 0 where repeated */
} pattern;

static int32_t extent(const berth_array *x, int32_t axis) {
  int32_t i = axis - (BERTH_NN_RANK - x->rank);
  return i < 0 ? 1 : x->shape[i];
}

/* A step of 0 repeats the number along an axis of 1. */
static void steps(const berth_array *x, const int32_t *n, int64_t *step) {
  int64_t size = 1;
  for (int32_t i = BERTH_NN_RANK - 1; i >= 0; i--) {
    int32_t e = extent(x, i);
    step[i] = e == n[i] && e != 1 ? size : 0;
    size *= e;
  }
}

/* @return false: two extents differ, and neither is 1 */
static bool match(const berth_array *a, const berth_array *b, pattern *p) {
  for (int32_t i = 0; i < BERTH_NN_RANK; i++) {
    int32_t x = extent(a, i), y = extent(b, i);
    if (x != y && x != 1 && y != 1) return false;
    p->n[i] = x == 1 ? y : x;
  }
  steps(a, p->n, p->a);
  steps(b, p->n, p->b);
  return true;
}

/* Axis `outer` and the next inwards are one if both inputs run through them without a jump, or
 * repeat both. */
static bool joins(const pattern *p, int32_t outer, int32_t inner) {
  const int64_t n = p->n[inner];
  if (n * p->n[outer] > INT32_MAX) return false;
  return p->a[outer] == p->a[inner] * n && p->b[outer] == p->b[inner] * n;
}

static void move_axis(pattern *p, int32_t from, int32_t to) {
  p->n[to] = p->n[from];
  p->a[to] = p->a[from];
  p->b[to] = p->b[from];
}

/* Axes of 1 go, and what joins is joined, from the last axis on: at `to` is the one that grows. */
static void fold(pattern *p) {
  int32_t to = BERTH_NN_RANK - 1;
  for (int32_t i = BERTH_NN_RANK - 2; i >= 0; i--) {
    if (p->n[i] == 1) continue;
    if (p->n[to] == 1) move_axis(p, i, to);
    else if (joins(p, i, to)) p->n[to] *= p->n[i];
    else move_axis(p, i, --to);
  }
  while (to-- > 0) p->n[to] = 1;
}

/* Visits the rows of the output in order; x and y are where the inputs' rows begin. */
#define EACH_ROW(p, x, y)                                                            \
  for (int32_t i0 = 0; i0 < (p)->n[0]; i0++)                                         \
    for (int32_t i1 = 0; i1 < (p)->n[1]; i1++)                                       \
      for (int32_t i2 = 0; i2 < (p)->n[2]; i2++)                                     \
        for (int64_t x = i0 * (p)->a[0] + i1 * (p)->a[1] + i2 * (p)->a[2],           \
                     y = i0 * (p)->b[0] + i1 * (p)->b[1] + i2 * (p)->b[2], once = 1; \
             once; once = 0)

/* Four loops, each with constant steps, so that each is vectorised. */
#define ROW_OF(EXPRESSION)            \
  if (sa && sb)                       \
    for (int32_t j = 0; j < n; j++) { \
      float x = a[j], y = b[j];       \
      out[j] = (EXPRESSION);          \
    }                                 \
  else if (sa)                        \
    for (int32_t j = 0; j < n; j++) { \
      float x = a[j], y = b[0];       \
      out[j] = (EXPRESSION);          \
    }                                 \
  else if (sb)                        \
    for (int32_t j = 0; j < n; j++) { \
      float x = a[0], y = b[j];       \
      out[j] = (EXPRESSION);          \
    }                                 \
  else                                \
    for (int32_t j = 0; j < n; j++) { \
      float x = a[0], y = b[0];       \
      out[j] = (EXPRESSION);          \
    }

static void row_of(berth_nn_binary f, int32_t n, const float *restrict a, bool sa,
                   const float *restrict b, bool sb, float *restrict out) {
  switch (f) {
    case BERTH_NN_ADD: ROW_OF(x + y) break;
    case BERTH_NN_SUB: ROW_OF(x - y) break;
    case BERTH_NN_MUL: ROW_OF(x * y) break;
    case BERTH_NN_DIV: ROW_OF(x / y) break;
    case BERTH_NN_MAX: ROW_OF(x >= y || x != x ? x : y) break;
    case BERTH_NN_MIN: ROW_OF(x <= y || x != x ? x : y) break;
  }
}

static void combine(berth_nn_binary f, const pattern *p, const float *a, const float *b,
                    float *out) {
  EACH_ROW(p, x, y) {
    row_of(f, p->n[3], a + x, p->a[3] != 0, b + y, p->b[3] != 0, out);
    out += p->n[3];
  }
}

/* d(out)/da (second: d(out)/db) at each place. Where two are equal, MAX and MIN take the first; of
 * a NaN and a number, the NaN. */
static inline float slope2(berth_nn_binary f, bool second, float x, float y) {
  switch (f) {
    case BERTH_NN_ADD: return 1;
    case BERTH_NN_SUB: return second ? -1.0f : 1.0f;
    case BERTH_NN_MUL: return second ? x : y;
    case BERTH_NN_DIV: return second ? -x / (y * y) : 1 / y;
    case BERTH_NN_MAX: return (x >= y || x != x) != second;
    case BERTH_NN_MIN: return (x <= y || x != x) != second;
  }
  return 0;
}

/* step 0: the input was repeated along the row, and its gradient is the sum over it. */
#define ROW_BACK(EXPRESSION)                \
  {                                         \
    if (!step) {                            \
      float sum = 0;                        \
      for (int32_t j = 0; j < n; j++) {     \
        float x = a[j * sa], y = b[j * sb]; \
        (void)x;                            \
        (void)y;                            \
        sum += d[j] * (EXPRESSION);         \
      }                                     \
      g[0] += sum;                          \
    } else {                                \
      for (int32_t j = 0; j < n; j++) {     \
        float x = a[j * sa], y = b[j * sb]; \
        (void)x;                            \
        (void)y;                            \
        g[j] += d[j] * (EXPRESSION);        \
      }                                     \
    }                                       \
  }

/* Simple slopes get loops of their own; the others go through slope2, which is not vectorised. */
static void row_back(berth_nn_binary f, bool second, int32_t n, const float *restrict a, int64_t sa,
                     const float *restrict b, int64_t sb, const float *restrict d,
                     float *restrict g, bool step) {
  if (f == BERTH_NN_ADD || (f == BERTH_NN_SUB && !second)) ROW_BACK(1.0f)
  else if (f == BERTH_NN_SUB) ROW_BACK(-1.0f)
  else if (f == BERTH_NN_MUL && !second) ROW_BACK(y)
  else if (f == BERTH_NN_MUL) ROW_BACK(x)
  else ROW_BACK(slope2(f, second, x, y))
}

static berth_status binary_back(berth_tape *t, const berth_i_node *node, const float *d) {
  const berth_array *a = node->in[0], *b = node->in[1];
  berth_nn_binary f = (berth_nn_binary)node->k[0];
  berth_status st = BERTH_OK;
  pattern p;
  if (!match(a, b, &p)) return BERTH_EINVAL; /* they did */
  fold(&p);
  for (int second = 0; second < 2; second++) {
    float *g = berth_i_gradient_of(t, node->in[second], &st);
    const float *from = d;
    if (!g) continue;
    EACH_ROW(&p, x, y) {
      row_back(f, second, p.n[3], a->data + x, p.a[3], b->data + y, p.b[3], from,
               g + (second ? y : x), (second ? p.b[3] : p.a[3]) != 0);
      from += p.n[3];
    }
  }
  return st;
}

static berth_status shape_of_both(const char *what, const berth_array *a, const berth_array *b,
                                  pattern *p, berth_array **out) {
  int32_t rank = a->rank > b->rank ? a->rank : b->rank;
  if (!match(a, b, p)) return berth_i_shapes(what, a, b);
  return berth_i_array_raw(a->ctx, rank, p->n + BERTH_NN_RANK - rank, out);
}

berth_status berth_nn_apply2(berth_tape *t, berth_nn_binary f, berth_array *a, berth_array *b,
                             berth_array **out) {
  if (!a || !b || !out) return BERTH_EINVAL;
  static const char *const names[] = { "add", "sub", "mul", "div", "max", "min" };
  berth_i_node node = { .backward = binary_back, .in = { a, b }, .k = { (int32_t)f } };
  if ((unsigned)f > BERTH_NN_MIN)
    return berth_i_fail(a->ctx, BERTH_EINVAL, "apply2: no function %d", (int)f);
  berth_status st;
  pattern p;
  if ((st = shape_of_both(names[f], a, b, &p, &node.out)) != BERTH_OK) return st;
  fold(&p);
  if (node.out->size > 0) combine(f, &p, a->data, b->data, node.out->data);
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

/* ---- one array ---- */

#define EACH(EXPRESSION)            \
  for (int64_t i = 0; i < n; i++) { \
    float x = in[i];                \
    out[i] = (EXPRESSION);          \
  }                                 \
  break

/* x Phi(x), exact, by erf; not the tanh approximation. */
static inline float gelu(float x) { return 0.5f * x * (1 + erff(x * 0.70710678118654752f)); }
static inline float gelu_slope(float x) {
  return 0.5f * (1 + erff(x * 0.70710678118654752f))
         + x * 0.39894228040143268f * expf(-0.5f * x * x);
}
/* log(1 + e^x), written so that e never overflows. */
static inline float softplus(float x) { return (x > 0 ? x : 0) + log1pf(berth_i_exp(-fabsf(x))); }

/* Comparisons are such that the result of a NaN is a NaN. */
void berth_i_map(berth_nn_unary f, float p, int64_t n, const float *in, float *out) {
  switch (f) {
    case BERTH_NN_IDENTITY: EACH(x);
    case BERTH_NN_RELU: EACH(x <= 0 ? 0 : x);
    case BERTH_NN_LEAKY_RELU: EACH(x > 0 ? x : p * x);
    case BERTH_NN_SIGMOID: EACH(berth_i_sigmoid(x));
    case BERTH_NN_TANH: EACH(berth_i_tanh(x));
    case BERTH_NN_EXP: EACH(berth_i_exp(x));
    case BERTH_NN_LOG: EACH(logf(x <= p ? p : x));
    case BERTH_NN_SQRT: EACH(sqrtf(x));
    case BERTH_NN_SQUARE: EACH(x * x);
    case BERTH_NN_ABS: EACH(fabsf(x));
    case BERTH_NN_SOFTPLUS: EACH(softplus(x));
    case BERTH_NN_GELU: EACH(gelu(x));
  }
}

#undef EACH
#define EACH(EXPRESSION)            \
  for (int64_t i = 0; i < n; i++) { \
    float x = in[i], y = out[i];    \
    (void)x;                        \
    (void)y;                        \
    g[i] += d[i] * (EXPRESSION);    \
  }                                 \
  break

/* g += d f'(x), by the output y where that is simpler: x may then be anything. */
void berth_i_map_back(berth_nn_unary f, float p, int64_t n, const float *restrict in,
                      const float *restrict out, const float *restrict d, float *restrict g) {
  switch (f) {
    case BERTH_NN_IDENTITY: EACH(1.0f);
    case BERTH_NN_RELU: EACH(y <= 0 ? 0.0f : 1.0f);
    case BERTH_NN_LEAKY_RELU: EACH(x > 0 ? 1.0f : p);
    case BERTH_NN_SIGMOID: EACH(y * (1 - y));
    case BERTH_NN_TANH: EACH(1 - y * y);
    case BERTH_NN_EXP: EACH(y);
    case BERTH_NN_LOG: EACH(x <= p ? 0.0f : 1 / x);
    case BERTH_NN_SQRT: EACH(0.5f / y);
    case BERTH_NN_SQUARE: EACH(2 * x);
    case BERTH_NN_ABS: EACH(x > 0 ? 1.0f : x < 0 ? -1.0f : x);
    case BERTH_NN_SOFTPLUS: EACH(berth_i_sigmoid(x));
    case BERTH_NN_GELU: EACH(gelu_slope(x));
  }
}

static berth_status unary_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st);
  if (g)
    berth_i_map_back((berth_nn_unary)node->k[0], (float)node->p[0], a->size, a->data,
                     node->out->data, d, g);
  return st;
}

berth_status berth_nn_apply(berth_tape *t, berth_nn_unary f, double p, berth_array *a,
                            berth_array **out) {
  if (!a || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = unary_back, .in = { a }, .k = { (int32_t)f }, .p = { p } };
  if ((unsigned)f > BERTH_NN_GELU)
    return berth_i_fail(a->ctx, BERTH_EINVAL, "apply: no function %d", (int)f);
  berth_status st;
  if ((st = berth_i_array_like(a, &node.out)) != BERTH_OK) return st;
  berth_i_map(f, (float)p, a->size, a->data, node.out->data);
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}

static berth_status scale_back(berth_tape *t, const berth_i_node *node, const float *d) {
  berth_array *a = node->in[0];
  berth_status st = BERTH_OK;
  float *g = berth_i_gradient_of(t, a, &st), factor = (float)node->p[0];
  for (int64_t i = 0; g && i < a->size; i++) g[i] += factor * d[i];
  return st;
}

berth_status berth_nn_scale(berth_tape *t, berth_array *a, double factor, double offset,
                            berth_array **out) {
  if (!a || !out) return BERTH_EINVAL;
  berth_i_node node = { .backward = scale_back, .in = { a }, .p = { factor } };
  berth_status st = berth_i_array_like(a, &node.out);
  float f = (float)factor, c = (float)offset;
  if (st != BERTH_OK) return st;
  for (int64_t i = 0; i < a->size; i++) node.out->data[i] = f * a->data[i] + c;
  return berth_i_finish_op(t, &node, BERTH_OK, out);
}
