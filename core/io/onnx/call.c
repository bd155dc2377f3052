/* What the rules of kinds share: attributes, values of inputs, axes, broadcasting, walks. */
#include "onnx_internal.h"

static const onnx_attribute *find(const onnx_node *node, onnx_bytes name) {
  for (size_t k = 0; k < node->n_attr; k++)
    if (berth_i_onnx_alike(node->attr[k].name, name)) return &node->attr[k];
  return NULL;
}

const onnx_attribute *berth_i_onnx_attr(const onnx_call *c, const char *name) {
  const onnx_attribute *a = find(c->node, (onnx_bytes){ name, strlen(name) });
  if (a && a->refers.n) return c->caller ? find(c->caller, a->refers) : NULL;
  return a;
}

int64_t berth_i_onnx_int(const onnx_call *c, const char *name, int64_t fallback) {
  const onnx_attribute *a = berth_i_onnx_attr(c, name);
  return a ? a->i : fallback;
}

bool berth_i_onnx_is_text(const onnx_call *c, const char *name, const char *text) {
  const onnx_attribute *a = berth_i_onnx_attr(c, name);
  return a && berth_i_onnx_equal(a->s, text);
}

const double *berth_i_onnx_input(onnx_call *c, size_t k) {
  return berth_i_onnx_known(c, k) ? berth_i_onnx_values(c->m, c->in[k]) : NULL;
}

int64_t berth_i_onnx_whole(double x) {
  const double most = (double)((int64_t)1 << 52);
  return x >= most ? (int64_t)1 << 52 : x > -most ? (int64_t)x : -((int64_t)1 << 52); /* NaN */
}

bool berth_i_onnx_list(onnx_call *c, const char *name, size_t input, onnx_ints *out) {
  const onnx_attribute *a = name ? berth_i_onnx_attr(c, name) : NULL;
  if (a) {
    *out = a->ints;
    return true;
  }
  const double *v = berth_i_onnx_input(c, input);
  if (!v) return false;
  size_t n = (size_t)berth_i_onnx_elements(c->in[input]);
  *out = (onnx_ints){ 0 };
  if (!ONNX_GROW(c->m, out->at, out->cap, n + 1)) return false;
  for (size_t k = 0; k < n; k++) out->at[out->n++] = berth_i_onnx_whole(v[k]);
  return true;
}

bool berth_i_onnx_wrong(onnx_call *c, const char *format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  berth_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  onnx_bytes name = c->node->name;
  if (name.n == 0 && c->node->out.n) name = c->node->out.at[0];
  return berth_i_onnx_fail(c->m, BERTH_EPARSE, "node %.*s (%.*s): %s", ONNX_TEXT(name),
                           ONNX_TEXT(c->node->kind), text);
}

bool berth_i_onnx_axis(onnx_call *c, int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank)
    return berth_i_onnx_wrong(c, "axis %.0f of a tensor of %d dimensions", (double)axis, rank);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return true;
}

bool berth_i_onnx_set(onnx_value *out, int dtype, int rank, const int64_t *dim) {
  if (!out) return true;
  if (rank < 0 || rank > ONNX_RANK) return false;
  out->dtype = dtype;
  out->rank = rank;
  for (int k = 0; k < rank; k++) out->dim[k] = berth_i_onnx_extent((double)dim[k]);
  return true;
}

bool berth_i_onnx_broadcast(onnx_call *c, size_t first, size_t last, int *rank, int64_t *dim) {
  *rank = 0;
  for (size_t k = first; k < last; k++) {
    if (!berth_i_onnx_known(c, k)) return false;
    if (c->in[k]->rank > *rank) *rank = c->in[k]->rank;
  }
  for (int d = 0; d < *rank; d++) {
    dim[d] = 1;
    for (size_t k = first; k < last; k++) {
      int at = d - (*rank - c->in[k]->rank);
      int64_t n = at < 0 ? 1 : c->in[k]->dim[at];
      if (n == 1 || n == dim[d]) continue;
      if (dim[d] != 1)
        return berth_i_onnx_wrong(c, "sizes %.0f and %.0f do not match", (double)dim[d], (double)n);
      dim[d] = n;
    }
  }
  return true;
}

double *berth_i_onnx_room_for(onnx_call *c, onnx_value *out) {
  double n = berth_i_onnx_elements(out);
  if (n > ONNX_VALUES) return NULL;
  c->m->steps += n / 64;
  double *v = berth_i_pool_zalloc(&c->m->pool, (size_t)n + 1, sizeof *v);
  if (!v) berth_i_onnx_fail(c->m, BERTH_ENOMEM, "out of memory");
  return v;
}

void berth_i_onnx_walk(const onnx_value *out, double *to, const double *from, int64_t offset,
                       const int64_t *stride) {
  int64_t n = (int64_t)berth_i_onnx_elements(out), index[ONNX_RANK] = { 0 };
  for (int64_t i = 0; i < n; i++) {
    to[i] = from[offset];
    for (int d = out->rank - 1; d >= 0; d--) {
      offset += stride[d];
      if (++index[d] < out->dim[d]) break;
      offset -= stride[d] * out->dim[d];
      index[d] = 0;
    }
  }
}

bool berth_i_onnx_put(onnx_call *c, size_t k, double x) {
  double *v = c->out[k] ? berth_i_onnx_room_for(c, c->out[k]) : NULL;
  if (v) *v = x;
  if (c->out[k]) c->out[k]->v = v;
  return true;
}

bool berth_i_onnx_moves_output(onnx_call *c) {
  c->bytes = 0;
  for (size_t k = 0; k < c->n_out; k++)
    if (c->out[k]) c->bytes += 2 * berth_i_onnx_bytes(c->out[k]);
  return true;
}

bool berth_i_onnx_listed_axes(onnx_call *c, uint32_t *set, bool *given) {
  onnx_ints axes = { 0 };
  KNOWN(0);
  *given = berth_i_onnx_list(c, "axes", 1, &axes);
  if (!*given && c->n_in > 1 && c->in[1]) return false;
  return berth_i_onnx_axes(c, &axes, c->in[0]->rank, set);
}

bool berth_i_onnx_axes(onnx_call *c, const onnx_ints *axes, int rank, uint32_t *set) {
  *set = 0;
  for (size_t k = 0; k < axes->n; k++) {
    int axis;
    if (!berth_i_onnx_axis(c, axes->at[k], rank, &axis)) return false;
    *set |= (uint32_t)1 << axis;
  }
  return true;
}
