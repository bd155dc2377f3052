/* Kinds that reduce dimensions, or count and select along them; signals. */
#include "onnx_internal.h"

/* Values of ReduceProd, Sum, Max, Min over all elements, as sizes are computed. */
static void reduce_values(onnx_call *c) {
  const double *v = berth_i_onnx_input(c, 0);
  size_t n = v ? (size_t)berth_i_onnx_elements(c->in[0]) : 0;
  if (n == 0 || berth_i_onnx_elements(c->out[0]) != 1) return;
  bool prod = berth_i_onnx_equal(c->node->kind, "ReduceProd"),
       sum = berth_i_onnx_equal(c->node->kind, "ReduceSum"),
       max = berth_i_onnx_equal(c->node->kind, "ReduceMax");
  if (!prod && !sum && !max && !berth_i_onnx_equal(c->node->kind, "ReduceMin")) return;
  double x = v[0];
  for (size_t k = 1; k < n; k++)
    x = prod ? x * v[k] : sum ? x + v[k] : (max ? v[k] > x : v[k] < x) ? v[k] : x;
  berth_i_onnx_put(c, 0, x);
}

bool berth_i_onnx_reduce(onnx_call *c) {
  bool given, keep = berth_i_onnx_int(c, "keepdims", 1);
  uint32_t set;
  int64_t dim[ONNX_RANK];
  int rank = 0;
  if (!berth_i_onnx_listed_axes(c, &set, &given)) return false;
  const onnx_value *x = c->in[0];
  if (!set && !berth_i_onnx_int(c, "noop_with_empty_axes", 0)) set = ~(uint32_t)0;
  for (int d = 0; d < x->rank; d++) {
    if (!(set >> d & 1)) dim[rank++] = x->dim[d];
    else if (keep) dim[rank++] = 1;
  }
  berth_i_onnx_set(c->out[0], x->dtype, rank, dim);
  reduce_values(c);
  return true;
}

bool berth_i_onnx_arg(onnx_call *c) {
  int axis, rank = 0;
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  const onnx_value *x = c->in[0];
  bool keep = berth_i_onnx_int(c, "keepdims", 1);
  if (!berth_i_onnx_axis(c, berth_i_onnx_int(c, "axis", 0), x->rank, &axis)) return false;
  for (int d = 0; d < x->rank; d++)
    if (d != axis || keep) dim[rank++] = d == axis ? 1 : x->dim[d];
  return berth_i_onnx_set(c->out[0], ONNX_INT64, rank, dim);
}

bool berth_i_onnx_top_k(onnx_call *c) {
  int axis;
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  const onnx_value *x = c->in[0];
  const double *k = berth_i_onnx_input(c, 1);
  const onnx_attribute *a = berth_i_onnx_attr(c, "k");
  if (!k && !a) return false;
  if (!berth_i_onnx_axis(c, berth_i_onnx_int(c, "axis", -1), x->rank, &axis)) return false;
  for (int d = 0; d < x->rank; d++) dim[d] = x->dim[d];
  dim[axis] = berth_i_onnx_clamp(a ? a->i : berth_i_onnx_whole(*k), 0, x->dim[axis]);
  for (size_t o = 0; o < c->n_out; o++)
    berth_i_onnx_set(c->out[o], o ? ONNX_INT64 : x->dtype, x->rank, dim);
  return true;
}

bool berth_i_onnx_det(onnx_call *c) {
  KNOWN(0);
  if (c->in[0]->rank < 2) return berth_i_onnx_wrong(c, "%d dimensions", c->in[0]->rank);
  return berth_i_onnx_set(c->out[0], c->in[0]->dtype, c->in[0]->rank - 2, c->in[0]->dim);
}

/* X [n, c, ...], grid [n, ..., sizes]. */
bool berth_i_onnx_grid_sample(onnx_call *c) {
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  KNOWN(1);
  int rank = c->in[0]->rank;
  if (rank < 3 || c->in[1]->rank != rank) return berth_i_onnx_wrong(c, "%d dimensions", rank);
  for (int d = 0; d < rank; d++) dim[d] = d < 2 ? c->in[0]->dim[d] : c->in[1]->dim[d - 1];
  return berth_i_onnx_set(c->out[0], c->in[0]->dtype, rank, dim);
}

/* Where the condition is known. */
bool berth_i_onnx_compress(onnx_call *c) {
  int axis = 0;
  int64_t dim[ONNX_RANK], kept = 0;
  KNOWN(0);
  const double *keep = berth_i_onnx_input(c, 1);
  const onnx_attribute *a = berth_i_onnx_attr(c, "axis");
  if (!keep || (a && !berth_i_onnx_axis(c, a->i, c->in[0]->rank, &axis))) return false;
  for (size_t k = 0; k < (size_t)berth_i_onnx_elements(c->in[1]); k++) kept += keep[k] != 0;
  if (!a) return berth_i_onnx_set(c->out[0], c->in[0]->dtype, 1, &kept);
  for (int d = 0; d < c->in[0]->rank; d++) dim[d] = d == axis ? kept : c->in[0]->dim[d];
  return berth_i_onnx_set(c->out[0], c->in[0]->dtype, c->in[0]->rank, dim);
}

/* A number for each index of ngram_indexes. */
bool berth_i_onnx_tf_idf(onnx_call *c) {
  int64_t dim[ONNX_RANK], most = -1;
  KNOWN(0);
  const onnx_attribute *a = berth_i_onnx_attr(c, "ngram_indexes");
  int rank = c->in[0]->rank;
  if (!a || rank < 1) return false;
  for (size_t k = 0; k < a->ints.n; k++) most = a->ints.at[k] > most ? a->ints.at[k] : most;
  for (int d = 0; d < rank; d++) dim[d] = c->in[0]->dim[d];
  dim[rank - 1] = berth_i_onnx_clamp(most, -1, (int64_t)1 << 48) + 1;
  return berth_i_onnx_set(c->out[0], ONNX_FLOAT, rank, dim);
}

bool berth_i_onnx_scalar(onnx_call *c) { return berth_i_onnx_set(c->out[0], ONNX_BOOL, 0, NULL); }

/* Real or complex in, complex out; 5 n log2 n FLOP for n numbers of the axis. */
bool berth_i_onnx_dft(onnx_call *c) {
  int axis;
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  const onnx_value *x = c->in[0];
  const double *size = berth_i_onnx_input(c, 1), *given = berth_i_onnx_input(c, 2);
  bool half = berth_i_onnx_int(c, "onesided", 0) != 0;
  if (x->rank < 2 || (!size && c->n_in > 1 && c->in[1])) return false;
  int64_t at = given ? berth_i_onnx_whole(*given) : berth_i_onnx_int(c, "axis", 1);
  if (!berth_i_onnx_axis(c, at, x->rank, &axis)) return false;
  for (int d = 0; d < x->rank; d++) dim[d] = x->dim[d];
  dim[x->rank - 1] = 2;
  dim[axis] = x->dim[axis];
  if (size) dim[axis] = berth_i_onnx_clamp(berth_i_onnx_whole(*size), 0, (int64_t)1 << 48);
  double n = (double)dim[axis];
  if (half) dim[axis] = dim[axis] / 2 + 1;
  berth_i_onnx_set(c->out[0], x->dtype, x->rank, dim);
  if (n > 1) c->flop = 2.5 * berth_i_onnx_elements(c->out[0]) * log2(n);
  return true;
}

/* Signal [batch, length, 1 or 2], step, window, length of a frame: as the window without it. */
bool berth_i_onnx_stft(onnx_call *c) {
  KNOWN(0);
  const onnx_value *x = c->in[0], *window = berth_i_onnx_known(c, 2) ? c->in[2] : NULL;
  const double *step = berth_i_onnx_input(c, 1), *given = berth_i_onnx_input(c, 3);
  if (x->rank != 3 || !step || !(*step >= 1) || (!given && !window)) return false;
  double n = given ? *given : berth_i_onnx_elements(window);
  if (!(n >= 1) || n > (double)x->dim[1])
    return berth_i_onnx_wrong(c, "a frame of %.0f in %.0f", n, (double)x->dim[1]);
  int64_t size = berth_i_onnx_whole(n);
  int64_t dim[4] = { x->dim[0], (x->dim[1] - size) / berth_i_onnx_whole(*step) + 1,
                     berth_i_onnx_int(c, "onesided", 1) ? size / 2 + 1 : size, 2 };
  berth_i_onnx_set(c->out[0], x->dtype, 4, dim);
  if (n > 1) c->flop = 2.5 * berth_i_onnx_elements(c->out[0]) * log2(n);
  return true;
}

/* Where it is known what is not 0: the positions, [rank, count]. */
bool berth_i_onnx_non_zero(onnx_call *c) {
  const double *v = berth_i_onnx_input(c, 0);
  if (!v) return false;
  const onnx_value *x = c->in[0];
  int64_t n = (int64_t)berth_i_onnx_elements(x), dim[2] = { x->rank, 0 }, at = 0;
  for (int64_t i = 0; i < n; i++) dim[1] += v[i] != 0;
  berth_i_onnx_set(c->out[0], ONNX_INT64, 2, dim);
  double *to = berth_i_onnx_room_for(c, c->out[0]);
  for (int64_t i = 0; to && i < n; i++) {
    if (v[i] == 0) continue;
    int64_t rest = i;
    for (int d = x->rank - 1; d >= 0; d--) {
      to[d * dim[1] + at] = (double)(rest % x->dim[d]);
      rest /= x->dim[d];
    }
    at++;
  }
  c->out[0]->v = to;
  return true;
}

/* Rate, step, then the tensors, their gradients and states: new tensors and states. */
bool berth_i_onnx_optimizer(onnx_call *c) {
  size_t lists = berth_i_onnx_equal(c->node->kind, "Adam") ? 4 : 3;
  size_t n = c->n_in > 2 ? (c->n_in - 2) / lists : 0;
  for (size_t k = 0; k < c->n_out; k++) {
    size_t at = 2 + k + (k < n ? 0 : n);
    KNOWN(at);
    berth_i_onnx_set(c->out[k], c->in[at]->dtype, c->in[at]->rank, c->in[at]->dim);
  }
  return n > 0 && c->out[0];
}
