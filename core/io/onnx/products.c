/* Kinds with matrix products, which count 2 FLOP for a multiply-add: MatMul, Gemm, convolutions,
 * recurrent layers, Einsum. Additions of biases are free. */
#include "onnx_internal.h"

static bool is(const onnx_call *c, const char *kind) {
  return berth_i_onnx_equal(c->node->kind, kind);
}

/* Position of the second operand, and the dtype of the result: quantised kinds have scales between
 * the operands. */
static size_t second(const onnx_call *c, int *dtype) {
  bool linear = is(c, "QLinearMatMul") || is(c, "QLinearConv");
  bool whole = is(c, "MatMulInteger") || is(c, "ConvInteger");
  *dtype = whole ? ONNX_INT32 : c->in[0]->dtype;
  if (linear && c->n_in > 7 && c->in[7]) *dtype = c->in[7]->dtype;
  return linear ? 3 : 1;
}

static void product(onnx_call *c, double m, double n, double k, double copies) {
  c->matrix = 2 * m * n * k * copies;
  c->n_operands = 2;
  if (c->matrix > 0) c->product = (berth_product){ .m = m, .n = n, .k = k, .copies = copies };
}

/* A tensor of one dimension is a row on the left, a column on the right; its 1 is left out. */
static onnx_value *as_matrix(onnx_call *c, const onnx_value *v, bool column) {
  onnx_value *out = berth_i_onnx_value(c->m, v->name);
  if (!out) return NULL;
  *out = *v;
  if (v->rank != 1) return out;
  out->rank = 2;
  out->dim[0] = column ? v->dim[0] : 1;
  out->dim[1] = column ? 1 : v->dim[0];
  return out;
}

bool berth_i_onnx_matmul(onnx_call *c) {
  int dtype, rank = 0;
  int64_t dim[ONNX_RANK], shown[ONNX_RANK];
  KNOWN(0);
  size_t k2 = second(c, &dtype);
  KNOWN(k2);
  const onnx_value *x = c->in[0], *y = c->in[k2];
  if (x->rank == 0 || y->rank == 0) return berth_i_onnx_wrong(c, "an operand is a scalar");
  onnx_value *a = as_matrix(c, x, false), *b = as_matrix(c, y, true);
  if (!a || !b) return false;
  int64_t m = a->dim[a->rank - 2], k = a->dim[a->rank - 1], n = b->dim[b->rank - 1];
  if (b->dim[b->rank - 2] != k)
    return berth_i_onnx_wrong(c, "inner sizes %.0f and %.0f", (double)k,
                              (double)b->dim[b->rank - 2]);
  bool flat = b->rank == 2;
  a->rank -= 2;
  b->rank -= 2;
  onnx_value *pair[] = { a, b };
  onnx_call batch = *c;
  batch.in = pair;
  batch.n_in = 2;
  if (!berth_i_onnx_broadcast(&batch, 0, 2, &rank, dim)) return false;
  double copies = 1;
  for (int d = 0; d < rank; d++) copies *= (double)dim[d];
  if (flat) product(c, copies * (double)m, (double)n, (double)k, 1);
  else product(c, (double)m, (double)n, (double)k, copies);
  int total = 0;
  for (int d = 0; d < rank; d++) shown[total++] = dim[d];
  if (total + 2 > ONNX_RANK) return false;
  if (x->rank > 1) shown[total++] = m;
  if (y->rank > 1) shown[total++] = n;
  return berth_i_onnx_set(c->out[0], dtype, total, shown);
}

bool berth_i_onnx_gemm(onnx_call *c) {
  KNOWN(0);
  KNOWN(1);
  const onnx_value *a = c->in[0], *b = c->in[1];
  if (a->rank != 2 || b->rank != 2) return berth_i_onnx_wrong(c, "an operand is no matrix");
  int ta = berth_i_onnx_int(c, "transA", 0) != 0, tb = berth_i_onnx_int(c, "transB", 0) != 0;
  int64_t dim[2] = { a->dim[ta], b->dim[1 - tb] }, k = a->dim[1 - ta];
  if (b->dim[tb] != k)
    return berth_i_onnx_wrong(c, "inner sizes %.0f and %.0f", (double)k, (double)b->dim[tb]);
  product(c, (double)dim[0], (double)dim[1], (double)k, 1);
  return berth_i_onnx_set(c->out[0], a->dtype, 2, dim);
}

/* ---- windows ---- */

typedef struct window {
  int n;                  /* dimensions */
  int64_t size[ONNX_RANK], stride[ONNX_RANK], dilation[ONNX_RANK], pad[ONNX_RANK]; /* both sides */
  int64_t before[ONNX_RANK];
  bool same;              /* SAME_UPPER, SAME_LOWER */
  bool ceil;
} window;

static int64_t item(const onnx_attribute *a, size_t k, int64_t fallback) {
  return a && k < a->ints.n ? a->ints.at[k] : fallback;
}

/* Attributes of n dimensions; size of the window without kernel_shape: that of the weights. */
static bool read_window(onnx_call *c, int n, const int64_t *size, window *w) {
  const onnx_attribute *kernel = berth_i_onnx_attr(c, "kernel_shape"),
                       *pads = berth_i_onnx_attr(c, "pads"),
                       *strides = berth_i_onnx_attr(c, "strides"),
                       *dilations = berth_i_onnx_attr(c, "dilations");
  *w = (window){ .n = n, .ceil = berth_i_onnx_int(c, "ceil_mode", 0) != 0 };
  w->same = berth_i_onnx_is_text(c, "auto_pad", "SAME_UPPER")
            || berth_i_onnx_is_text(c, "auto_pad", "SAME_LOWER");
  if (berth_i_onnx_is_text(c, "auto_pad", "VALID")) pads = NULL;
  if (!kernel && !size) return berth_i_onnx_wrong(c, "kernel_shape is missing");
  const int64_t most = (int64_t)1 << 32;
  for (int d = 0; d < n; d++) {
    w->size[d] = item(kernel, (size_t)d, size ? size[d] : 1);
    w->stride[d] = item(strides, (size_t)d, 1);
    w->dilation[d] = item(dilations, (size_t)d, 1);
    w->before[d] = item(pads, (size_t)d, 0);
    int64_t after = item(pads, (size_t)(d + n), 0);
    if (w->size[d] < 1 || w->size[d] > most || w->stride[d] < 1 || w->stride[d] > most
        || w->dilation[d] < 1 || w->dilation[d] > most || w->before[d] < -most
        || w->before[d] > most || after < -most || after > most)
      return berth_i_onnx_wrong(c, "window of dimension %d: size %.0f, stride %.0f", d,
                                (double)w->size[d], (double)w->stride[d]);
    w->pad[d] = w->before[d] + after;
  }
  return true;
}

/* With ceil_mode a last window that begins in the padding behind is left out. */
static bool slide(onnx_call *c, const window *w, const int64_t *in, int64_t *out) {
  for (int d = 0; d < w->n; d++) {
    double span = (double)w->dilation[d] * (double)(w->size[d] - 1) + 1,
           free = (double)(in[d] + w->pad[d]) - span, n = free / (double)w->stride[d];
    if (w->same) out[d] = (in[d] + w->stride[d] - 1) / w->stride[d];
    else if (free < 0)
      return berth_i_onnx_wrong(c, "a window of %.0f does not fit in %.0f", span,
                                (double)(in[d] + w->pad[d]));
    else out[d] = (int64_t)(w->ceil ? ceil(n) : floor(n)) + 1;
    if (!w->same && w->ceil && (out[d] - 1) * w->stride[d] >= in[d] + w->before[d]) out[d]--;
  }
  return true;
}

bool berth_i_onnx_conv(onnx_call *c) {
  int dtype;
  int64_t dim[ONNX_RANK];
  window win;
  KNOWN(0);
  size_t k2 = second(c, &dtype);
  KNOWN(k2);
  const onnx_value *x = c->in[0], *w = c->in[k2];
  int64_t group = berth_i_onnx_int(c, "group", 1);
  if (x->rank < 3 || w->rank != x->rank)
    return berth_i_onnx_wrong(c, "%d and %d dimensions", x->rank, w->rank);
  if (group < 1 || group > (int64_t)1 << 40 || w->dim[1] * (double)group != (double)x->dim[1])
    return berth_i_onnx_wrong(c, "%.0f channels, weights for %.0f in %.0f groups",
                              (double)x->dim[1], (double)w->dim[1], (double)group);
  if (!read_window(c, x->rank - 2, w->dim + 2, &win)) return false;
  if (!slide(c, &win, x->dim + 2, dim + 2)) return false;
  dim[0] = x->dim[0];
  dim[1] = w->dim[0];
  double pixels = (double)dim[0], k = (double)w->dim[1];
  for (int d = 2; d < x->rank; d++) {
    pixels *= (double)dim[d];
    k *= (double)w->dim[d];
  }
  product(c, pixels, (double)w->dim[0] / (double)group, k, (double)group);
  c->area = w->dim[1] > 0 ? k / (double)w->dim[1] : 0;
  return berth_i_onnx_set(c->out[0], dtype, x->rank, dim);
}

bool berth_i_onnx_conv_transpose(onnx_call *c) {
  int64_t dim[ONNX_RANK];
  window win;
  KNOWN(0);
  KNOWN(1);
  const onnx_value *x = c->in[0], *w = c->in[1];
  const onnx_attribute *shape = berth_i_onnx_attr(c, "output_shape"),
                       *extra = berth_i_onnx_attr(c, "output_padding");
  int64_t group = berth_i_onnx_int(c, "group", 1);
  if (x->rank < 3 || w->rank != x->rank || group < 1 || group > (int64_t)1 << 40)
    return berth_i_onnx_wrong(c, "%d and %d dimensions", x->rank, w->rank);
  if (!read_window(c, x->rank - 2, w->dim + 2, &win)) return false;
  dim[0] = x->dim[0];
  dim[1] = berth_i_onnx_extent((double)w->dim[1] * (double)group);
  int skip = shape && shape->ints.n == (size_t)x->rank ? 2 : 0; /* some list all dimensions */
  for (int d = 0; d < win.n; d++) {
    double span = (double)win.dilation[d] * (double)(win.size[d] - 1) + 1,
           add = (double)item(extra, (size_t)d, 0),
           full = (double)win.stride[d] * (double)(x->dim[d + 2] - 1) + add + span,
           n = shape ? (double)item(shape, (size_t)(d + skip), 1)
               : win.same ? (double)x->dim[d + 2] * (double)win.stride[d]
                          : full - (double)win.pad[d];
    if (!(n >= 0 && n < 1e14)) return berth_i_onnx_wrong(c, "a size of %.0f", n);
    dim[d + 2] = (int64_t)n;
  }
  double per = 1;
  for (int d = 1; d < w->rank; d++) per *= (double)w->dim[d];
  c->matrix = 2 * berth_i_onnx_elements(x) * per;
  c->n_operands = 2;
  return berth_i_onnx_set(c->out[0], x->dtype, x->rank, dim);
}

bool berth_i_onnx_pool(onnx_call *c) {
  int64_t dim[ONNX_RANK];
  window win;
  KNOWN(0);
  const onnx_value *x = c->in[0];
  if (x->rank < 3) return berth_i_onnx_wrong(c, "%d dimensions", x->rank);
  if (!read_window(c, x->rank - 2, NULL, &win)) return false;
  if (!slide(c, &win, x->dim + 2, dim + 2)) return false;
  dim[0] = x->dim[0];
  dim[1] = x->dim[1];
  berth_i_onnx_set(c->out[0], x->dtype, x->rank, dim);
  if (c->n_out > 1) berth_i_onnx_set(c->out[1], ONNX_INT64, x->rank, dim);
  c->flop = berth_i_onnx_elements(c->out[0]);
  for (int d = 0; d < win.n; d++) c->flop *= (double)win.size[d];
  return true;
}

/* The sizes that MaxPool had, or those of input 2. */
bool berth_i_onnx_max_unpool(onnx_call *c) {
  onnx_ints given = { 0 };
  int64_t dim[ONNX_RANK];
  window win;
  KNOWN(0);
  const onnx_value *x = c->in[0];
  bool listed = berth_i_onnx_list(c, NULL, 2, &given);
  if (x->rank < 3 || !read_window(c, x->rank - 2, NULL, &win)) return false;
  if (!listed && c->n_in > 2 && c->in[2]) return false;
  for (int d = 0; d < x->rank; d++) {
    double n = (double)x->dim[d];
    if (d > 1) n = (n - 1) * (double)win.stride[d - 2] + (double)(win.size[d - 2] - win.pad[d - 2]);
    if (listed && given.n == (size_t)x->rank) n = (double)given.at[d];
    if (!(n >= 0 && n < 1e14)) return berth_i_onnx_wrong(c, "a size of %.0f", n);
    dim[d] = (int64_t)n;
  }
  return berth_i_onnx_set(c->out[0], x->dtype, x->rank, dim);
}

bool berth_i_onnx_global_pool(onnx_call *c) {
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  for (int d = 0; d < c->in[0]->rank; d++) dim[d] = d < 2 ? c->in[0]->dim[d] : 1;
  return berth_i_onnx_set(c->out[0], c->in[0]->dtype, c->in[0]->rank, dim);
}

/* MaxRoiPool, RoiAlign: a region of interest each. */
bool berth_i_onnx_roi(onnx_call *c) {
  KNOWN(0);
  KNOWN(1);
  const onnx_attribute *shape = berth_i_onnx_attr(c, "pooled_shape");
  if (c->in[0]->rank != 4 || c->in[1]->rank < 1) return false;
  int64_t dim[4] = { c->in[1]->dim[0], c->in[0]->dim[1],
                     shape ? item(shape, 0, 1) : berth_i_onnx_int(c, "output_height", 1),
                     shape ? item(shape, 1, 1) : berth_i_onnx_int(c, "output_width", 1) };
  for (int d = 2; d < 4; d++)
    if (dim[d] < 0 || dim[d] > (int64_t)1 << 32)
      return berth_i_onnx_wrong(c, "a size of %.0f", (double)dim[d]);
  return berth_i_onnx_set(c->out[0], c->in[0]->dtype, 4, dim);
}

/* Losses: of each label, or a scalar; then the logarithms of the probabilities. */
bool berth_i_onnx_loss(onnx_call *c) {
  KNOWN(0);
  KNOWN(1);
  bool each = berth_i_onnx_is_text(c, "reduction", "none");
  berth_i_onnx_set(c->out[0], c->in[0]->dtype, each ? c->in[1]->rank : 0, c->in[1]->dim);
  if (c->n_out > 1)
    berth_i_onnx_set(c->out[1], c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
  return true;
}

/* ---- recurrent layers ---- */

bool berth_i_onnx_recurrent(onnx_call *c) {
  KNOWN(0);
  KNOWN(1);
  KNOWN(2);
  const onnx_value *x = c->in[0], *w = c->in[1], *r = c->in[2];
  bool batch_first = berth_i_onnx_int(c, "layout", 0) != 0;
  if (x->rank != 3 || w->rank != 3 || r->rank != 3)
    return berth_i_onnx_wrong(c, "X, W and R have %d, %d and %d dimensions", x->rank, w->rank,
                              r->rank);
  if (w->dim[2] != x->dim[2] || r->dim[0] != w->dim[0] || r->dim[1] != w->dim[1])
    return berth_i_onnx_wrong(c, "sizes of X, W and R do not match");
  int64_t t = x->dim[batch_first], b = x->dim[!batch_first], dirs = w->dim[0], h = r->dim[2];
  int64_t all[] = { t, dirs, b, h }, swapped[] = { b, t, dirs, h }, last[] = { dirs, b, h },
          last_swapped[] = { b, dirs, h };
  double of_state = berth_i_onnx_elements(r), all_weights = berth_i_onnx_elements(w) + of_state;
  c->matrix = 2 * (double)t * (double)b * all_weights;
  c->n_operands = 3;
  if (c->matrix > 0) c->state = of_state / all_weights * (double)(t - 1) / (double)t;
  for (size_t k = 1; k < c->n_out; k++)
    berth_i_onnx_set(c->out[k], x->dtype, 3, batch_first ? last_swapped : last);
  return berth_i_onnx_set(c->out[0], x->dtype, 4, batch_first ? swapped : all);
}

/* ---- Einsum ---- */

enum { LETTERS = 52 };
typedef struct terms {
  int64_t size[LETTERS], dots[ONNX_RANK]; /* of letters, 0: not there; of "...", from the last */
  int n_dots;
  uint64_t in[2], out;                    /* letters of operands 0 and the others, of the result */
  int seen[LETTERS];
  size_t first[LETTERS], last[LETTERS];   /* operands */
} terms;

static int letter(char x) {
  return x >= 'a' && x <= 'z' ? x - 'a' : x >= 'A' && x <= 'Z' ? x - 'A' + 26 : -1;
}

static bool set_size(onnx_call *c, int64_t *size, int64_t n) {
  if (*size > 1 && n > 1 && *size != n)
    return berth_i_onnx_wrong(c, "sizes %.0f and %.0f do not match", (double)*size, (double)n);
  if (n != 1 || *size == 0) *size = n;
  return true;
}

/* One operand's letters. */
static bool read_term(onnx_call *c, onnx_bytes text, const onnx_value *v, size_t k, terms *t) {
  int n = 0, at = 0;
  for (size_t i = 0; i < text.n; i++) n += letter(text.at[i]) >= 0;
  for (size_t i = 0; i < text.n; i++) {
    int l = letter(text.at[i]);
    if (l >= 0) {
      if (at >= v->rank) return berth_i_onnx_wrong(c, "operand %zu has %d dimensions", k, v->rank);
      if (!set_size(c, &t->size[l], v->dim[at++])) return false;
      if (!t->seen[l]++) t->first[l] = k;
      t->last[l] = k;
      t->in[k > 0] |= (uint64_t)1 << l;
    } else if (text.at[i] == '.' && i + 2 < text.n) {
      int dots = v->rank - n;
      i += 2;
      if (dots < 0) return berth_i_onnx_wrong(c, "operand %zu has %d dimensions", k, v->rank);
      for (int d = 0; d < dots; d++, at++)
        if (!set_size(c, &t->dots[dots - 1 - d], v->dim[at])) return false;
      if (dots > t->n_dots) t->n_dots = dots;
    } else if (text.at[i] != ' ') {
      return berth_i_onnx_wrong(c, "equation has '%c'", text.at[i]);
    }
  }
  return at == v->rank || berth_i_onnx_wrong(c, "operand %zu has %d dimensions", k, v->rank);
}

static bool add_dots(const terms *t, int *rank, int64_t *dim) {
  for (int d = t->n_dots - 1; d >= 0 && *rank < ONNX_RANK; d--) dim[(*rank)++] = t->dots[d];
  return true;
}

/* The result: as the equation has it, or, without an arrow, letters that occur once, by
 * alphabet (capitals first), after the dots. */
static bool read_result(onnx_call *c, onnx_bytes text, bool arrow, terms *t) {
  int64_t dim[ONNX_RANK];
  int rank = 0;
  if (!arrow) add_dots(t, &rank, dim);
  for (int k = 0; !arrow && k < LETTERS && rank < ONNX_RANK; k++) {
    int l = (k + 26) % LETTERS;
    if (t->seen[l] != 1) continue;
    dim[rank++] = t->size[l];
    t->out |= (uint64_t)1 << l;
  }
  for (size_t i = 0; arrow && i < text.n && rank < ONNX_RANK; i++) {
    int l = letter(text.at[i]);
    if (l >= 0) {
      if (!t->seen[l])
        return berth_i_onnx_wrong(c, "index '%c' of the result is in no operand", text.at[i]);
      dim[rank++] = t->size[l];
      t->out |= (uint64_t)1 << l;
    } else if (text.at[i] == '.') {
      i += 2;
      add_dots(t, &rank, dim);
    }
  }
  return berth_i_onnx_set(c->out[0], c->in[0]->dtype, rank, dim);
}

/* Two operands at a time, from the first: a letter is summed where it is needed last. */
static double chain(const terms *t, size_t operands) {
  double all = 0;
  for (size_t k = 1; k < operands; k++) {
    double flop = 2;
    for (int d = 0; d < t->n_dots; d++) flop *= (double)t->dots[d];
    for (int l = 0; l < LETTERS; l++) {
      size_t last = t->out >> l & 1 ? operands : t->last[l] > 0 ? t->last[l] : 1;
      if (t->seen[l] && t->first[l] <= k && k <= last) flop *= (double)t->size[l];
    }
    all += flop;
  }
  return all;
}

static void count_einsum(onnx_call *c, const terms *t) {
  double m = 1, n = 1, k = 1, copies = 1;
  for (int d = 0; d < t->n_dots; d++) copies *= (double)t->dots[d];
  for (int l = 0; l < LETTERS; l++) {
    double size = t->seen[l] ? (double)t->size[l] : 1;
    bool a = t->in[0] >> l & 1, b = t->in[1] >> l & 1, out = t->out >> l & 1;
    if (a && b && out) copies *= size;
    else if (a && b) k *= size;
    else if (a) m *= size;
    else n *= size;
  }
  if (c->n_in == 2) product(c, m, n, k, copies);
  else c->matrix = chain(t, c->n_in);
  c->n_operands = c->n_in;
}

bool berth_i_onnx_einsum(onnx_call *c) {
  const onnx_attribute *a = berth_i_onnx_attr(c, "equation");
  terms t = { 0 };
  if (!a || !a->s.at || c->n_in == 0) return false;
  const char *at = a->s.at, *end = at + a->s.n, *arrow = end;
  for (const char *p = at; p + 1 < end && arrow == end; p++)
    if (p[0] == '-' && p[1] == '>') arrow = p;
  for (size_t k = 0; k < c->n_in; k++) {
    KNOWN(k);
    const char *stop = at;
    while (stop < arrow && *stop != ',') stop++;
    if (!read_term(c, (onnx_bytes){ at, (size_t)(stop - at) }, c->in[k], k, &t)) return false;
    at = stop < arrow ? stop + 1 : stop;
  }
  onnx_bytes result = { arrow, (size_t)(end - arrow) };
  if (result.n) result = (onnx_bytes){ arrow + 2, result.n - 2 };
  if (!read_result(c, result, arrow != end, &t)) return false;
  count_einsum(c, &t);
  return true;
}
