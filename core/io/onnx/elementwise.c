/* Kinds whose outputs have the shape of an input, or that to which their inputs are stretched; with
 * values of small tensors, which is how exporters compute shapes. */
#include "onnx_internal.h"

typedef double (*binary_fn)(double a, double b);
static double add(double a, double b) { return a + b; }
static double sub(double a, double b) { return a - b; }
static double mul(double a, double b) { return a * b; }
static double quotient(double a, double b) { return a / b; }
static double whole_quotient(double a, double b) { return b == 0 ? 0 : trunc(a / b); }
static double modulo(double a, double b) { return b == 0 ? 0 : a - floor(a / b) * b; }
static double most(double a, double b) { return a > b ? a : b; }
static double least(double a, double b) { return a < b ? a : b; }
static double equal(double a, double b) { return a == b; }
static double less(double a, double b) { return a < b; }
static double less_equal(double a, double b) { return a <= b; }
static double greater(double a, double b) { return a > b; }
static double greater_equal(double a, double b) { return a >= b; }
static double both(double a, double b) { return a != 0 && b != 0; }
static double either(double a, double b) { return a != 0 || b != 0; }
static double one_of(double a, double b) { return (a != 0) != (b != 0); }

static binary_fn function_of(const onnx_call *c, bool whole) {
  static const struct {
    const char *kind;
    binary_fn fn;
  } list[] = { { "Add", add }, { "Sum", add }, { "Sub", sub }, { "Mul", mul }, { "Pow", pow },
               { "Max", most }, { "Min", least }, { "Equal", equal }, { "Less", less },
               { "LessOrEqual", less_equal }, { "Greater", greater },
               { "GreaterOrEqual", greater_equal }, { "And", both }, { "Or", either },
               { "Xor", one_of } };
  for (size_t k = 0; k < sizeof list / sizeof *list; k++)
    if (berth_i_onnx_equal(c->node->kind, list[k].kind)) return list[k].fn;
  if (berth_i_onnx_equal(c->node->kind, "Div")) return whole ? whole_quotient : quotient;
  bool mod = berth_i_onnx_equal(c->node->kind, "Mod") && whole && !berth_i_onnx_int(c, "fmod", 0);
  return mod ? modulo : NULL;
}

/* Strides by which an input is read as if it had the shape of the output. */
static void stretch(const onnx_value *in, const onnx_value *out, int64_t *stride) {
  int64_t step = 1;
  for (int d = out->rank - 1; d >= 0; d--) {
    int at = d - (out->rank - in->rank);
    stride[d] = at < 0 || in->dim[at] == 1 ? 0 : step;
    if (at >= 0) step = berth_i_onnx_wrap(step, in->dim[at]);
  }
}

/* Values of input k as the output has them; NULL: unknown. */
static double *stretched(onnx_call *c, size_t k, const onnx_value *out) {
  int64_t stride[ONNX_RANK];
  const double *from = berth_i_onnx_input(c, k);
  double *to = from ? berth_i_onnx_room_for(c, (onnx_value *)out) : NULL;
  if (!to) return NULL;
  stretch(c->in[k], out, stride);
  berth_i_onnx_walk(out, to, from, 0, stride);
  return to;
}

static void fold(onnx_call *c, onnx_value *out) {
  binary_fn fn = function_of(c, !berth_i_onnx_is_float(c->in[0]->dtype));
  size_t n = (size_t)berth_i_onnx_elements(out);
  for (size_t k = 0; fn && k < c->n_in; k++)
    if (!berth_i_onnx_input(c, k)) return;
  double *v = fn ? stretched(c, 0, out) : NULL;
  for (size_t k = 1; v && k < c->n_in; k++) {
    const double *w = stretched(c, k, out);
    if (!w) return;
    for (size_t i = 0; i < n; i++) v[i] = fn(v[i], w[i]);
  }
  out->v = v;
}

static bool stretch_all(onnx_call *c, int dtype) {
  int rank;
  int64_t dim[ONNX_RANK];
  if (c->n_in == 0 || c->n_out == 0 || !c->out[0]) return false;
  if (!berth_i_onnx_broadcast(c, 0, c->n_in, &rank, dim)) return false;
  berth_i_onnx_set(c->out[0], dtype, rank, dim);
  fold(c, c->out[0]);
  return true;
}

bool berth_i_onnx_binary(onnx_call *c) {
  return berth_i_onnx_known(c, 0) && stretch_all(c, c->in[0]->dtype);
}

bool berth_i_onnx_compare(onnx_call *c) { return stretch_all(c, ONNX_BOOL); }

bool berth_i_onnx_where(onnx_call *c) {
  int rank;
  int64_t dim[ONNX_RANK];
  if (c->n_in < 3 || !berth_i_onnx_broadcast(c, 0, 3, &rank, dim)) return false;
  onnx_value *out = c->out[0];
  berth_i_onnx_set(out, c->in[1]->dtype, rank, dim);
  double *which = stretched(c, 0, out), *yes = which ? stretched(c, 1, out) : NULL,
         *no = yes ? stretched(c, 2, out) : NULL;
  for (size_t i = 0, n = (size_t)berth_i_onnx_elements(out); no && i < n; i++)
    which[i] = which[i] != 0 ? yes[i] : no[i];
  out->v = no ? which : NULL;
  return true;
}

static double negative(double x) { return -x; }
static double opposite(double x) { return x == 0; }
static double sign(double x) { return (x > 0) - (x < 0); }
static double inverse(double x) { return 1 / x; }
static double positive(double x) { return x > 0 ? x : 0; }

static bool like(onnx_call *c, int dtype) {
  if (!berth_i_onnx_known(c, 0)) return false;
  return c->n_out > 0 && berth_i_onnx_set(c->out[0], dtype, c->in[0]->rank, c->in[0]->dim);
}

static double (*unary_of(onnx_bytes kind))(double) {
  static const struct {
    const char *kind;
    double (*fn)(double x);
  } list[] = { { "Neg", negative }, { "Not", opposite }, { "Abs", fabs }, { "Floor", floor },
               { "Ceil", ceil }, { "Sqrt", sqrt }, { "Round", nearbyint }, { "Sign", sign },
               { "Reciprocal", inverse }, { "Relu", positive }, { "Exp", exp }, { "Log", log } };
  for (size_t k = 0; k < sizeof list / sizeof *list; k++)
    if (berth_i_onnx_equal(kind, list[k].kind)) return list[k].fn;
  return NULL;
}

bool berth_i_onnx_same(onnx_call *c) {
  if (!berth_i_onnx_known(c, 0) || !like(c, c->in[0]->dtype)) return false;
  double (*fn)(double) = unary_of(c->node->kind);
  const double *from = fn ? berth_i_onnx_input(c, 0) : NULL;
  double *to = from ? berth_i_onnx_room_for(c, c->out[0]) : NULL;
  for (size_t i = 0, n = to ? (size_t)berth_i_onnx_elements(c->out[0]) : 0; i < n; i++)
    to[i] = fn(from[i]);
  if (c->out[0]) c->out[0]->v = to;
  return true;
}

bool berth_i_onnx_to_bool(onnx_call *c) { return like(c, ONNX_BOOL); }

bool berth_i_onnx_random_like(onnx_call *c) {
  if (!berth_i_onnx_known(c, 0)) return false;
  bool multinomial = berth_i_onnx_equal(c->node->kind, "Multinomial");
  int64_t dtype = berth_i_onnx_int(c, "dtype", multinomial ? ONNX_INT32 : c->in[0]->dtype);
  if (!like(c, (int)dtype)) return false;
  if (multinomial && c->out[0] && c->out[0]->rank == 2)
    c->out[0]->dim[1] = berth_i_onnx_int(c, "sample_size", 1);
  return true;
}

bool berth_i_onnx_cast(onnx_call *c) {
  int64_t to = berth_i_onnx_int(c, "to", 0);
  if (to == 0 && c->n_in > 1 && c->in[1]) to = c->in[1]->dtype;
  if (to <= 0 || to >= ONNX_DTYPES || !like(c, (int)to)) return false;
  bool whole = !berth_i_onnx_is_float((int)to);
  const double *from = berth_i_onnx_input(c, 0);
  double *v = from && to != ONNX_STRING ? berth_i_onnx_room_for(c, c->out[0]) : NULL;
  for (size_t i = 0, n = v ? (size_t)berth_i_onnx_elements(c->out[0]) : 0; i < n; i++)
    v[i] = to == ONNX_BOOL ? from[i] != 0 : whole ? trunc(from[i]) : from[i];
  c->out[0]->v = v;
  return true;
}

bool berth_i_onnx_quantize(onnx_call *c) {
  int64_t to = berth_i_onnx_int(c, "output_dtype", 0);
  if (to <= 0 || to >= ONNX_DTYPES) to = c->n_in > 2 && c->in[2] ? c->in[2]->dtype : ONNX_UINT8;
  return like(c, (int)to);
}

bool berth_i_onnx_dequantize(onnx_call *c) {
  return c->n_in > 1 && c->in[1] && like(c, c->in[1]->dtype ? c->in[1]->dtype : ONNX_FLOAT);
}

bool berth_i_onnx_dynamic_quantize(onnx_call *c) {
  if (!like(c, ONNX_UINT8)) return false;
  if (c->n_out > 1) berth_i_onnx_set(c->out[1], ONNX_FLOAT, 0, NULL);
  if (c->n_out > 2) berth_i_onnx_set(c->out[2], ONNX_UINT8, 0, NULL);
  return true;
}

/* LayerNormalization: mean and inverse deviation have size 1 from the axis on. */
bool berth_i_onnx_norm(onnx_call *c) {
  int axis;
  if (!berth_i_onnx_known(c, 0) || !like(c, c->in[0]->dtype)) return false;
  if (!berth_i_onnx_axis(c, berth_i_onnx_int(c, "axis", -1), c->in[0]->rank, &axis)) return false;
  int64_t dim[ONNX_RANK];
  for (int d = 0; d < c->in[0]->rank; d++) dim[d] = d < axis ? c->in[0]->dim[d] : 1;
  int dtype = (int)berth_i_onnx_int(c, "stash_type", ONNX_FLOAT);
  for (size_t k = 1; k < c->n_out; k++)
    berth_i_onnx_set(c->out[k], dtype, c->in[0]->rank, dim);
  return true;
}

/* Outputs beside the first: of training, one number for each channel. */
bool berth_i_onnx_batch_norm(onnx_call *c) {
  if (!berth_i_onnx_known(c, 0) || !like(c, c->in[0]->dtype)) return false;
  for (size_t k = 1; k < c->n_out; k++) {
    if (!berth_i_onnx_known(c, 3)) return false;
    berth_i_onnx_set(c->out[k], c->in[3]->dtype, c->in[3]->rank, c->in[3]->dim);
  }
  return true;
}

/* Not in training: the input itself. */
bool berth_i_onnx_dropout(onnx_call *c) {
  if (!berth_i_onnx_known(c, 0) || !like(c, c->in[0]->dtype)) return false;
  int mask = c->opset < 10 ? c->in[0]->dtype : ONNX_BOOL;
  if (c->n_out > 1) berth_i_onnx_set(c->out[1], mask, c->in[0]->rank, c->in[0]->dim);
  return true;
}
