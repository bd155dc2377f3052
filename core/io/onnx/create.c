/* Kinds that make tensors: of constants, of sizes, of positions. */
#include "onnx_internal.h"

bool berth_i_onnx_constant(onnx_call *c) {
  const onnx_attribute *a;
  onnx_value *out = c->out[0];
  onnx_bytes name = out->name;
  c->bytes = 0;
  if ((a = berth_i_onnx_attr(c, "value")) && a->tensor.at) {
    bool good = berth_i_onnx_tensor(c->m, a->tensor, out);
    out->name = name;
    return good;
  }
  bool whole = (a = berth_i_onnx_attr(c, "value_int")) != NULL;
  if (a || (a = berth_i_onnx_attr(c, "value_float"))) {
    berth_i_onnx_set(out, whole ? ONNX_INT64 : ONNX_FLOAT, 0, NULL);
    return berth_i_onnx_put(c, 0, whole ? (double)a->i : a->f);
  }
  whole = (a = berth_i_onnx_attr(c, "value_ints")) != NULL;
  if (!a && !(a = berth_i_onnx_attr(c, "value_floats"))) return false;
  int64_t n = (int64_t)(whole ? a->ints.n : a->floats.n);
  berth_i_onnx_set(out, whole ? ONNX_INT64 : ONNX_FLOAT, 1, &n);
  out->v = berth_i_onnx_room_for(c, out);
  for (int64_t k = 0; out->v && k < n; k++)
    out->v[k] = whole ? (double)a->ints.at[k] : berth_i_onnx_float(a, (size_t)k);
  return true;
}

static bool shape_of_list(onnx_call *c, onnx_value *out, int dtype, const onnx_ints *list) {
  if (list->n > ONNX_RANK) return false;
  for (size_t k = 0; k < list->n; k++)
    if (list->at[k] < 0 || list->at[k] > (int64_t)1 << 48)
      return berth_i_onnx_wrong(c, "a size of %.0f", (double)list->at[k]);
  return berth_i_onnx_set(out, dtype, (int)list->n, list->at);
}

bool berth_i_onnx_constant_of_shape(onnx_call *c) {
  onnx_ints list;
  onnx_value *fill = berth_i_onnx_value(c->m, (onnx_bytes){ NULL, 0 });
  const onnx_attribute *a = berth_i_onnx_attr(c, "value");
  if (!fill || !berth_i_onnx_list(c, NULL, 0, &list)) return false;
  fill->dtype = ONNX_FLOAT;
  if (a && a->tensor.at && !berth_i_onnx_tensor(c->m, a->tensor, fill)) return false;
  const double *x = a ? berth_i_onnx_values(c->m, fill) : NULL;
  if (!shape_of_list(c, c->out[0], fill->dtype, &list)) return false;
  double *v = a && !x ? NULL : berth_i_onnx_room_for(c, c->out[0]);
  for (size_t k = 0, n = v ? (size_t)berth_i_onnx_elements(c->out[0]) : 0; k < n; k++)
    v[k] = x ? *x : 0;
  c->out[0]->v = v;
  return berth_i_onnx_moves_output(c);
}

bool berth_i_onnx_random_shape(onnx_call *c) {
  const onnx_attribute *a = berth_i_onnx_attr(c, "shape");
  return a && shape_of_list(c, c->out[0], (int)berth_i_onnx_int(c, "dtype", ONNX_FLOAT), &a->ints);
}

bool berth_i_onnx_range(onnx_call *c) {
  const double *from = berth_i_onnx_input(c, 0), *to = berth_i_onnx_input(c, 1),
               *by = berth_i_onnx_input(c, 2);
  if (!from || !to || !by || *by == 0) return false;
  double n = ceil((*to - *from) / *by);
  int64_t size = !(n > 0) ? 0 : berth_i_onnx_whole(n);
  berth_i_onnx_set(c->out[0], c->in[0]->dtype, 1, &size);
  double *v = berth_i_onnx_room_for(c, c->out[0]);
  for (int64_t k = 0; v && k < size; k++) v[k] = *from + (double)k * *by;
  c->out[0]->v = v;
  return true;
}

bool berth_i_onnx_one_hot(onnx_call *c) {
  int axis;
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  const double *depth = berth_i_onnx_input(c, 1);
  const onnx_value *x = c->in[0];
  if (!depth || !(*depth >= 0) || x->rank == ONNX_RANK || c->n_in < 3 || !c->in[2]) return false;
  if (!berth_i_onnx_axis(c, berth_i_onnx_int(c, "axis", -1), x->rank + 1, &axis)) return false;
  for (int d = 0, at = 0; d <= x->rank; d++)
    dim[d] = d == axis ? berth_i_onnx_whole(*depth) : x->dim[at++];
  return berth_i_onnx_set(c->out[0], c->in[2]->dtype, x->rank + 1, dim);
}

bool berth_i_onnx_eye(onnx_call *c) {
  KNOWN(0);
  int64_t dtype = berth_i_onnx_int(c, "dtype", c->in[0]->dtype);
  return berth_i_onnx_set(c->out[0], (int)dtype, c->in[0]->rank, c->in[0]->dim);
}

bool berth_i_onnx_cosine_window(onnx_call *c) {
  const double *size = berth_i_onnx_input(c, 0);
  if (!size || !(*size >= 0)) return false;
  int64_t n = berth_i_onnx_whole(*size);
  return berth_i_onnx_set(c->out[0], (int)berth_i_onnx_int(c, "output_datatype", ONNX_FLOAT), 1,
                          &n);
}

/* Bins of the spectrum by bands. */
bool berth_i_onnx_mel_matrix(onnx_call *c) {
  const double *bands = berth_i_onnx_input(c, 0), *size = berth_i_onnx_input(c, 1);
  if (!bands || !size || !(*bands >= 0) || !(*size >= 0)) return false;
  int64_t dim[2] = { berth_i_onnx_whole(*size) / 2 + 1, berth_i_onnx_whole(*bands) };
  return berth_i_onnx_set(c->out[0], (int)berth_i_onnx_int(c, "output_datatype", ONNX_FLOAT), 2,
                          dim);
}
