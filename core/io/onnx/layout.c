/* Kinds that move, select or make elements. Values follow as far as those of their inputs are
 * known: a strided walk does slices, transposes and stretches. */
#include "onnx_internal.h"

/* Keeps the values of input 0 in the same order. */
static bool keep_values(onnx_call *c) {
  c->out[0]->v = (double *)berth_i_onnx_input(c, 0);
  c->bytes = 0;
  return true;
}

static void strides_of(const onnx_value *v, int64_t *stride) {
  int64_t step = 1;
  for (int d = v->rank - 1; d >= 0; d--) {
    stride[d] = step;
    step = berth_i_onnx_wrap(step, v->dim[d]);
  }
}

static bool walk(onnx_call *c, size_t k, int64_t offset, const int64_t *stride) {
  const double *from = berth_i_onnx_input(c, 0);
  double *to = from && c->out[k] ? berth_i_onnx_room_for(c, c->out[k]) : NULL;
  if (to) berth_i_onnx_walk(c->out[k], to, from, offset, stride);
  if (c->out[k]) c->out[k]->v = to;
  return true;
}

bool berth_i_onnx_identity(onnx_call *c) {
  if (c->n_in > 0 && c->in[0] && c->in[0]->item) {
    c->out[0]->item = c->in[0]->item;
    c->out[0]->n_items = c->in[0]->n_items;
    c->bytes = 0;
    return true;
  }
  KNOWN(0);
  if (!berth_i_onnx_set(c->out[0], c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim)) return false;
  return keep_values(c);
}

bool berth_i_onnx_shape(onnx_call *c) {
  KNOWN(0);
  int64_t rank = c->in[0]->rank, from = berth_i_onnx_int(c, "start", 0),
          to = berth_i_onnx_int(c, "end", rank);
  from = from < 0 ? from + rank : from;
  to = to < 0 ? to + rank : to;
  from = from < 0 ? 0 : from > rank ? rank : from;
  to = to > rank ? rank : to < from ? from : to;
  int64_t n = to - from;
  berth_i_onnx_set(c->out[0], ONNX_INT64, 1, &n);
  double *v = berth_i_onnx_room_for(c, c->out[0]);
  for (int64_t k = 0; v && k < n; k++) v[k] = (double)c->in[0]->dim[from + k];
  c->out[0]->v = v;
  c->bytes = 0;
  return true;
}

bool berth_i_onnx_size(onnx_call *c) {
  KNOWN(0);
  berth_i_onnx_set(c->out[0], ONNX_INT64, 0, NULL);
  c->bytes = 0;
  return berth_i_onnx_put(c, 0, berth_i_onnx_elements(c->in[0]));
}

static void gather_values(onnx_call *c, int axis) {
  const onnx_value *x = c->in[0], *at = c->in[1];
  const double *from = berth_i_onnx_input(c, 0), *index = berth_i_onnx_input(c, 1);
  double *to = from && index ? berth_i_onnx_room_for(c, c->out[0]) : NULL;
  if (!to || berth_i_onnx_elements(c->out[0]) == 0) return;
  int64_t outer = 1, inner = 1, n = (int64_t)berth_i_onnx_elements(at), size = x->dim[axis];
  for (int d = 0; d < axis; d++) outer *= x->dim[d];
  for (int d = axis + 1; d < x->rank; d++) inner *= x->dim[d];
  double *next = to;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t k = 0; k < n; k++) {
      int64_t i = berth_i_onnx_whole(index[k]);
      i = i < 0 ? i + size : i;
      if (i < 0 || i >= size) return;
      for (int64_t e = 0; e < inner; e++) *next++ = from[(o * size + i) * inner + e];
    }
  c->out[0]->v = to;
}

bool berth_i_onnx_gather(onnx_call *c) {
  int axis, rank = 0;
  int64_t dim[2 * ONNX_RANK];
  KNOWN(0);
  KNOWN(1);
  const onnx_value *x = c->in[0], *at = c->in[1];
  if (!berth_i_onnx_axis(c, berth_i_onnx_int(c, "axis", 0), x->rank, &axis)) return false;
  for (int d = 0; d < axis; d++) dim[rank++] = x->dim[d];
  for (int d = 0; d < at->rank; d++) dim[rank++] = at->dim[d];
  for (int d = axis + 1; d < x->rank; d++) dim[rank++] = x->dim[d];
  if (!berth_i_onnx_set(c->out[0], x->dtype, rank, dim)) return false;
  gather_values(c, axis);
  berth_i_onnx_moves_output(c);
  c->bytes += berth_i_onnx_bytes(at);
  return true;
}

bool berth_i_onnx_gather_elements(onnx_call *c) {
  KNOWN(0);
  KNOWN(1);
  return berth_i_onnx_set(c->out[0], c->in[0]->dtype, c->in[1]->rank, c->in[1]->dim)
         && berth_i_onnx_moves_output(c);
}

bool berth_i_onnx_gather_nd(onnx_call *c) {
  int64_t dim[2 * ONNX_RANK], batch = berth_i_onnx_int(c, "batch_dims", 0);
  int rank = 0;
  KNOWN(0);
  KNOWN(1);
  const onnx_value *x = c->in[0], *at = c->in[1];
  if (at->rank == 0 || batch < 0 || batch >= at->rank) return false;
  int64_t depth = at->dim[at->rank - 1];
  if (depth < 0 || depth + batch > x->rank)
    return berth_i_onnx_wrong(c, "%.0f indices into %d dimensions", (double)depth, x->rank);
  for (int d = 0; d < at->rank - 1; d++) dim[rank++] = at->dim[d];
  for (int d = (int)(depth + batch); d < x->rank; d++) dim[rank++] = x->dim[d];
  return berth_i_onnx_set(c->out[0], x->dtype, rank, dim) && berth_i_onnx_moves_output(c);
}

bool berth_i_onnx_scatter(onnx_call *c) {
  KNOWN(0);
  return berth_i_onnx_set(c->out[0], c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

static void concat_values(onnx_call *c, int axis) {
  onnx_value *out = c->out[0];
  int64_t outer = 1, inner = 1;
  for (size_t k = 0; k < c->n_in; k++)
    if (!berth_i_onnx_input(c, k)) return;
  double *to = berth_i_onnx_room_for(c, out), *next = to;
  if (!to || berth_i_onnx_elements(out) == 0) return;
  for (int d = 0; d < axis; d++) outer *= out->dim[d];
  for (int d = axis + 1; d < out->rank; d++) inner *= out->dim[d];
  for (int64_t o = 0; to && o < outer; o++)
    for (size_t k = 0; k < c->n_in; k++) {
      int64_t n = c->in[k]->dim[axis] * inner;
      const double *from = berth_i_onnx_input(c, k) + o * n;
      for (int64_t e = 0; e < n; e++) *next++ = from[e];
    }
  out->v = to;
}

bool berth_i_onnx_concat(onnx_call *c) {
  int axis;
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  int rank = c->in[0]->rank;
  if (!berth_i_onnx_axis(c, berth_i_onnx_int(c, "axis", 1), rank, &axis)) return false;
  for (int d = 0; d < rank; d++) dim[d] = c->in[0]->dim[d];
  for (size_t k = 1; k < c->n_in; k++) {
    KNOWN(k);
    if (c->in[k]->rank != rank) return berth_i_onnx_wrong(c, "inputs differ in dimensions");
    for (int d = 0; d < rank; d++)
      if (d != axis && c->in[k]->dim[d] != dim[d])
        return berth_i_onnx_wrong(c, "sizes %.0f and %.0f of dimension %d", (double)dim[d],
                                  (double)c->in[k]->dim[d], d);
    dim[axis] = berth_i_onnx_extent((double)dim[axis] + (double)c->in[k]->dim[axis]);
  }
  if (!berth_i_onnx_set(c->out[0], c->in[0]->dtype, rank, dim)) return false;
  concat_values(c, axis);
  return true;
}

/* Sizes from attribute or input; without them equal parts, the last one smaller. */
bool berth_i_onnx_split(onnx_call *c) {
  int axis;
  int64_t dim[ONNX_RANK], stride[ONNX_RANK], offset = 0;
  onnx_ints sizes = { 0 };
  KNOWN(0);
  const onnx_value *x = c->in[0];
  if (!berth_i_onnx_axis(c, berth_i_onnx_int(c, "axis", 0), x->rank, &axis)) return false;
  bool given = berth_i_onnx_list(c, berth_i_onnx_attr(c, "split") ? "split" : NULL, 1, &sizes);
  if (!given && c->n_in > 1 && c->in[1]) return false;
  if (given && sizes.n < c->n_out)
    return berth_i_onnx_wrong(c, "%zu sizes for %zu outputs", sizes.n, c->n_out);
  int64_t n = (int64_t)c->n_out, each = n ? (x->dim[axis] + n - 1) / n : 0, left = x->dim[axis];
  strides_of(x, stride);
  for (size_t k = 0; k < c->n_out; k++) {
    int64_t size = given ? sizes.at[k] : each < left ? each : left;
    if (size < 0 || size > left) return berth_i_onnx_wrong(c, "a part of size %.0f", (double)size);
    for (int d = 0; d < x->rank; d++) dim[d] = d == axis ? size : x->dim[d];
    berth_i_onnx_set(c->out[k], x->dtype, x->rank, dim);
    walk(c, k, offset, stride);
    offset = (int64_t)((uint64_t)offset + (uint64_t)berth_i_onnx_wrap(size, stride[axis]));
    left -= size;
  }
  return berth_i_onnx_moves_output(c);
}

/* One dimension: first element, elements. */
static int64_t slice_one(int64_t size, int64_t from, int64_t to, int64_t step, int64_t *first) {
  from = from < 0 ? from + size : from;
  to = to < 0 ? to + size : to;
  from = step > 0 ? berth_i_onnx_clamp(from, 0, size) : berth_i_onnx_clamp(from, 0, size - 1);
  to = step > 0 ? berth_i_onnx_clamp(to, 0, size) : berth_i_onnx_clamp(to, -1, size - 1);
  int64_t span = step > 0 ? to - from : from - to, by = step > 0 ? step : -step;
  *first = from;
  return span > 0 ? (span + by - 1) / by : 0;
}

bool berth_i_onnx_slice(onnx_call *c) {
  onnx_ints from, to, axes = { 0 }, steps = { 0 };
  int64_t dim[ONNX_RANK], stride[ONNX_RANK], offset = 0;
  uint32_t taken = 0;
  KNOWN(0);
  const onnx_value *x = c->in[0];
  if (!berth_i_onnx_list(c, "starts", 1, &from) || !berth_i_onnx_list(c, "ends", 2, &to))
    return false;
  bool some = berth_i_onnx_list(c, "axes", 3, &axes), by = berth_i_onnx_list(c, NULL, 4, &steps);
  if ((!some && c->n_in > 3 && c->in[3]) || (!by && c->n_in > 4 && c->in[4])) return false;
  if (to.n != from.n || (some && axes.n != from.n) || (by && steps.n != from.n))
    return berth_i_onnx_wrong(c, "starts, ends, axes and steps differ in number");
  strides_of(x, stride);
  for (int d = 0; d < x->rank; d++) dim[d] = x->dim[d];
  for (size_t k = 0; k < from.n; k++) {
    int axis;
    int64_t first, step = by ? steps.at[k] : 1;
    if (!berth_i_onnx_axis(c, some ? axes.at[k] : (int64_t)k, x->rank, &axis)) return false;
    if (step == 0 || step < -((int64_t)1 << 48) || step > (int64_t)1 << 48)
      step = step == 0 ? 0 : step > 0 ? (int64_t)1 << 48 : -((int64_t)1 << 48);
    if (step == 0) return berth_i_onnx_wrong(c, "a step of 0");
    if (taken >> axis & 1) return berth_i_onnx_wrong(c, "axis %d is given twice", axis);
    taken |= (uint32_t)1 << axis;
    dim[axis] = slice_one(x->dim[axis], from.at[k], to.at[k], step, &first);
    offset = (int64_t)((uint64_t)offset + (uint64_t)berth_i_onnx_wrap(first, stride[axis]));
    stride[axis] = dim[axis] > 1 ? berth_i_onnx_wrap(stride[axis], step) : 0;
  }
  berth_i_onnx_set(c->out[0], x->dtype, x->rank, dim);
  walk(c, 0, offset, stride);
  return berth_i_onnx_moves_output(c);
}

bool berth_i_onnx_squeeze(onnx_call *c) {
  bool given;
  uint32_t set;
  int64_t dim[ONNX_RANK];
  int rank = 0;
  if (!berth_i_onnx_listed_axes(c, &set, &given)) return false;
  const onnx_value *x = c->in[0];
  for (int d = 0; d < x->rank; d++) {
    bool drop = given ? set >> d & 1 : x->dim[d] == 1;
    if (drop && x->dim[d] != 1)
      return berth_i_onnx_wrong(c, "axis %d has size %.0f", d, (double)x->dim[d]);
    if (drop) continue;
    dim[rank++] = x->dim[d];
  }
  return berth_i_onnx_set(c->out[0], x->dtype, rank, dim) && keep_values(c);
}

bool berth_i_onnx_unsqueeze(onnx_call *c) {
  onnx_ints axes;
  uint32_t set;
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  const onnx_value *x = c->in[0];
  if (!berth_i_onnx_list(c, "axes", 1, &axes)) return false;
  if (axes.n + (size_t)x->rank > ONNX_RANK) return false;
  int rank = x->rank + (int)axes.n, at = 0;
  if (!berth_i_onnx_axes(c, &axes, rank, &set)) return false;
  for (int d = 0; d < rank; d++) {
    bool new_one = set >> d & 1;
    if (!new_one && at == x->rank) return berth_i_onnx_wrong(c, "an axis is given twice");
    dim[d] = new_one ? 1 : x->dim[at++];
  }
  return berth_i_onnx_set(c->out[0], x->dtype, rank, dim) && keep_values(c);
}

bool berth_i_onnx_reshape(onnx_call *c) {
  onnx_ints to;
  int64_t dim[ONNX_RANK];
  int open = -1;
  double rest = 1, n;
  KNOWN(0);
  const onnx_value *x = c->in[0];
  if (!berth_i_onnx_list(c, berth_i_onnx_attr(c, "shape") ? "shape" : NULL, 1, &to)) return false;
  if (to.n > ONNX_RANK) return false;
  bool zero = berth_i_onnx_int(c, "allowzero", 0) != 0;
  for (size_t k = 0; k < to.n; k++) {
    dim[k] = to.at[k];
    if (dim[k] == 0 && !zero) {
      if (k >= (size_t)x->rank) return berth_i_onnx_wrong(c, "size 0 copies no dimension");
      dim[k] = x->dim[k];
    }
    if (dim[k] < -1 || (dim[k] == -1 && open >= 0))
      return berth_i_onnx_wrong(c, "a size of %.0f", (double)dim[k]);
    if (dim[k] == -1) open = (int)k;
    else rest *= (double)dim[k];
  }
  n = berth_i_onnx_elements(x);
  if (open >= 0) dim[open] = rest > 0 ? berth_i_onnx_extent(n / rest) : 0;
  if (open >= 0) rest *= (double)dim[open];
  if (rest != n) return berth_i_onnx_wrong(c, "%.0f elements do not fill a shape of %.0f", n, rest);
  return berth_i_onnx_set(c->out[0], x->dtype, (int)to.n, dim) && keep_values(c);
}

bool berth_i_onnx_flatten(onnx_call *c) {
  int64_t axis = berth_i_onnx_int(c, "axis", 1), dim[2] = { 1, 1 };
  KNOWN(0);
  const onnx_value *x = c->in[0];
  axis = axis < 0 ? axis + x->rank : axis;
  if (axis < 0 || axis > x->rank)
    return berth_i_onnx_wrong(c, "axis %.0f of a tensor of %d dimensions", (double)axis, x->rank);
  for (int d = 0; d < x->rank; d++)
    dim[d >= axis] = berth_i_onnx_extent((double)dim[d >= axis] * (double)x->dim[d]);
  return berth_i_onnx_set(c->out[0], x->dtype, 2, dim) && keep_values(c);
}

bool berth_i_onnx_transpose(onnx_call *c) {
  int64_t dim[ONNX_RANK], from[ONNX_RANK], stride[ONNX_RANK];
  uint32_t taken = 0;
  KNOWN(0);
  const onnx_value *x = c->in[0];
  const onnx_attribute *perm = berth_i_onnx_attr(c, "perm");
  if (perm && perm->ints.n != (size_t)x->rank)
    return berth_i_onnx_wrong(c, "perm has %zu axes of %d", perm->ints.n, x->rank);
  strides_of(x, from);
  for (int d = 0; d < x->rank; d++) {
    int axis;
    if (!berth_i_onnx_axis(c, perm ? perm->ints.at[d] : x->rank - 1 - d, x->rank, &axis))
      return false;
    if (taken >> axis & 1) return berth_i_onnx_wrong(c, "perm has axis %d twice", axis);
    taken |= (uint32_t)1 << axis;
    dim[d] = x->dim[axis];
    stride[d] = from[axis];
  }
  berth_i_onnx_set(c->out[0], x->dtype, x->rank, dim);
  return walk(c, 0, 0, stride);
}

bool berth_i_onnx_expand(onnx_call *c) {
  onnx_ints to;
  int64_t dim[ONNX_RANK], from[ONNX_RANK], stride[ONNX_RANK];
  KNOWN(0);
  const onnx_value *x = c->in[0];
  if (!berth_i_onnx_list(c, NULL, 1, &to) || to.n > ONNX_RANK) return false;
  int rank = (int)to.n > x->rank ? (int)to.n : x->rank;
  strides_of(x, from);
  for (int d = 0; d < rank; d++) {
    int a = d - (rank - x->rank), b = d - (rank - (int)to.n);
    int64_t have = a < 0 ? 1 : x->dim[a], want = b < 0 ? 1 : to.at[b];
    if (have != want && have != 1 && want != 1)
      return berth_i_onnx_wrong(c, "size %.0f to %.0f", (double)have, (double)want);
    dim[d] = have == 1 ? want : have;
    stride[d] = have == 1 ? 0 : from[a];
    if (dim[d] < 0) return berth_i_onnx_wrong(c, "a size of %.0f", (double)dim[d]);
  }
  berth_i_onnx_set(c->out[0], x->dtype, rank, dim);
  walk(c, 0, 0, stride);
  return berth_i_onnx_moves_output(c);
}

bool berth_i_onnx_tile(onnx_call *c) {
  onnx_ints by;
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  const onnx_value *x = c->in[0];
  if (!berth_i_onnx_list(c, NULL, 1, &by) || by.n != (size_t)x->rank) return false;
  for (int d = 0; d < x->rank; d++) {
    if (by.at[d] < 0) return berth_i_onnx_wrong(c, "%.0f repeats", (double)by.at[d]);
    dim[d] = berth_i_onnx_extent((double)x->dim[d] * (double)by.at[d]);
  }
  return berth_i_onnx_set(c->out[0], x->dtype, x->rank, dim) && berth_i_onnx_moves_output(c);
}

/* Pads of all axes or, from opset 18, of those listed. */
bool berth_i_onnx_pad(onnx_call *c) {
  onnx_ints pads, axes = { 0 };
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  const onnx_value *x = c->in[0];
  if (!berth_i_onnx_list(c, "pads", 1, &pads)) return false;
  bool some = berth_i_onnx_list(c, NULL, 3, &axes);
  size_t n = some ? axes.n : (size_t)x->rank;
  if (pads.n != 2 * n) return berth_i_onnx_wrong(c, "%zu pads for %zu axes", pads.n, n);
  for (int d = 0; d < x->rank; d++) dim[d] = x->dim[d];
  for (size_t k = 0; k < n; k++) {
    int axis;
    if (!berth_i_onnx_axis(c, some ? axes.at[k] : (int64_t)k, x->rank, &axis)) return false;
    double size = (double)dim[axis] + (double)pads.at[k] + (double)pads.at[n + k];
    if (size < 0) return berth_i_onnx_wrong(c, "a size of %.0f", size);
    dim[axis] = berth_i_onnx_extent(size);
  }
  return berth_i_onnx_set(c->out[0], x->dtype, x->rank, dim);
}

/* Upsample: scales from attribute or input 1; Resize: from input 1 or, from opset 11, 2 with sizes
 * in 3. A size is floor(size x scale). */
bool berth_i_onnx_resize(onnx_call *c) {
  int64_t dim[ONNX_RANK];
  onnx_ints axes = { 0 };
  KNOWN(0);
  const onnx_value *x = c->in[0];
  size_t at = berth_i_onnx_equal(c->node->kind, "Resize") && c->opset >= 11 ? 2 : 1;
  const onnx_attribute *a = berth_i_onnx_attr(c, "scales"),
                       *some = berth_i_onnx_attr(c, "axes");
  if (some) axes = some->ints;
  const double *scale = berth_i_onnx_input(c, at), *size = at == 2 ? berth_i_onnx_input(c, 3)
                                                                   : NULL;
  size_t n = size ? (size_t)berth_i_onnx_elements(c->in[3]) : scale
             ? (size_t)berth_i_onnx_elements(c->in[at]) : a ? a->floats.n : 0;
  if (n != (some ? axes.n : (size_t)x->rank)) return false;
  const onnx_attribute *policy = berth_i_onnx_attr(c, "keep_aspect_ratio_policy");
  if (policy && !berth_i_onnx_equal(policy->s, "stretch")) return false;
  for (int d = 0; d < x->rank; d++) dim[d] = x->dim[d];
  for (size_t k = 0; k < n; k++) {
    int axis;
    if (!berth_i_onnx_axis(c, some ? axes.at[k] : (int64_t)k, x->rank, &axis)) return false;
    double s = size ? 0 : scale ? (float)scale[k] : berth_i_onnx_float(a, k);
    double y = size ? size[k] : floor((double)x->dim[axis] * s);
    if (!(y >= 0 && y < 1e12)) return berth_i_onnx_wrong(c, "a size of %g", y);
    dim[axis] = (int64_t)y;
  }
  berth_i_onnx_set(c->out[0], x->dtype, x->rank, dim);
  const onnx_attribute *mode = berth_i_onnx_attr(c, "mode");
  if (!mode || berth_i_onnx_equal(mode->s, "nearest"))
    c->flop -= 7 * berth_i_onnx_elements(c->out[0]); /* of the 8 of the table */
  return true;
}

bool berth_i_onnx_depth_to_space(onnx_call *c) {
  int64_t by = berth_i_onnx_int(c, "blocksize", 1), dim[4];
  KNOWN(0);
  const onnx_value *x = c->in[0];
  if (x->rank != 4 || by < 1 || by > 65536) return false;
  bool up = berth_i_onnx_equal(c->node->kind, "DepthToSpace");
  if (up ? x->dim[1] % (by * by) : x->dim[2] % by || x->dim[3] % by)
    return berth_i_onnx_wrong(c, "blocks of %.0f do not divide the sizes", (double)by);
  dim[0] = x->dim[0];
  dim[1] = up ? x->dim[1] / (by * by) : berth_i_onnx_extent((double)x->dim[1] * (double)(by * by));
  for (int d = 2; d < 4; d++)
    dim[d] = up ? berth_i_onnx_extent((double)x->dim[d] * (double)by) : x->dim[d] / by;
  return berth_i_onnx_set(c->out[0], x->dtype, 4, dim);
}

