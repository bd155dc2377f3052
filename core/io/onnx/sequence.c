/* Sequences whose items are known one by one: they are references, and move nothing. */
#include "onnx_internal.h"

/* Output 0 is a sequence of n items, without those yet. */
static onnx_value **make(onnx_call *c, int32_t n) {
  onnx_value *out = c->out[0];
  c->bytes = 0;
  out->item = berth_i_pool_zalloc(&c->m->pool, (size_t)n + 1, sizeof *out->item);
  if (!out->item) berth_i_onnx_fail(c->m, BERTH_ENOMEM, "out of memory");
  out->n_items = n;
  c->m->steps += n / 64.0;
  return out->item;
}

static bool is_sequence(const onnx_call *c, size_t k) {
  return k < c->n_in && c->in[k] && c->in[k]->item;
}

/* Position that input k gives, from 0; without that input the last. @return false: unknown */
static bool position(onnx_call *c, size_t k, int32_t n, int32_t last, int32_t *out) {
  const double *at = berth_i_onnx_input(c, k);
  *out = last;
  if (k >= c->n_in || !c->in[k]) return last >= 0;
  if (!at) return false;
  int64_t i = berth_i_onnx_whole(*at);
  i = i < 0 ? i + n : i;
  if (i < 0 || i > last)
    return berth_i_onnx_wrong(c, "position %.0f in a sequence of %d", *at, (int)n);
  *out = (int32_t)i;
  return true;
}

bool berth_i_onnx_sequence(onnx_call *c) {
  bool empty = berth_i_onnx_equal(c->node->kind, "SequenceEmpty");
  onnx_value **item = make(c, empty ? 0 : (int32_t)c->n_in);
  for (size_t k = 0; item && !empty && k < c->n_in; k++) {
    if (!c->in[k]) return berth_i_onnx_wrong(c, "an item is missing");
    item[k] = c->in[k];
  }
  return item != NULL;
}

bool berth_i_onnx_sequence_insert(onnx_call *c) {
  int32_t at;
  if (!is_sequence(c, 0) || c->n_in < 2 || !c->in[1]) return false;
  const onnx_value *s = c->in[0];
  if (s->n_items >= ONNX_VALUES || !position(c, 2, s->n_items, s->n_items, &at)) return false;
  onnx_value **item = make(c, s->n_items + 1);
  for (int32_t k = 0; item && k <= s->n_items; k++)
    item[k] = k == at ? c->in[1] : s->item[k - (k > at)];
  return item != NULL;
}

bool berth_i_onnx_sequence_erase(onnx_call *c) {
  int32_t at;
  if (!is_sequence(c, 0)) return false;
  const onnx_value *s = c->in[0];
  if (!position(c, 1, s->n_items, s->n_items - 1, &at)) return false;
  onnx_value **item = make(c, s->n_items - 1);
  for (int32_t k = 0; item && k < s->n_items - 1; k++) item[k] = s->item[k + (k >= at)];
  return item != NULL;
}

bool berth_i_onnx_sequence_at(onnx_call *c) {
  int32_t at;
  if (!is_sequence(c, 0) || !position(c, 1, c->in[0]->n_items, c->in[0]->n_items - 1, &at))
    return false;
  onnx_value *item = c->in[0]->item[at];
  c->bytes = 0;
  if (!berth_i_onnx_set(c->out[0], item->dtype, item->rank, item->dim)) return false;
  c->out[0]->v = (double *)berth_i_onnx_values(c->m, item);
  return true;
}

bool berth_i_onnx_sequence_length(onnx_call *c) {
  berth_i_onnx_set(c->out[0], ONNX_INT64, 0, NULL);
  c->bytes = 0;
  return !is_sequence(c, 0) || berth_i_onnx_put(c, 0, c->in[0]->n_items);
}

/* As Concat, with new_axis = 1 behind an Unsqueeze of each. */
bool berth_i_onnx_concat_sequence(onnx_call *c) {
  int axis;
  int64_t dim[ONNX_RANK + 1];
  if (!is_sequence(c, 0) || c->in[0]->n_items == 0 || c->in[0]->item[0]->rank < 0) return false;
  const onnx_value *s = c->in[0], *first = s->item[0];
  bool wide = berth_i_onnx_int(c, "new_axis", 0) != 0;
  int rank = first->rank + wide;
  if (!berth_i_onnx_axis(c, berth_i_onnx_int(c, "axis", 0), rank, &axis)) return false;
  for (int d = 0, at = 0; d < rank; d++) dim[d] = wide && d == axis ? 0 : first->dim[at++];
  if (wide) dim[axis] = s->n_items;
  for (int32_t k = 1; k < s->n_items; k++) {
    if (s->item[k]->rank != first->rank) return false;
    if (wide) continue;
    dim[axis] = berth_i_onnx_extent((double)dim[axis] + (double)s->item[k]->dim[axis]);
  }
  return berth_i_onnx_set(c->out[0], first->dtype, rank, dim);
}

/* Sizes of the parts: one number, the last part smaller; a list; without them 1 each. */
static bool part_sizes(onnx_call *c, int64_t size, onnx_ints *out) {
  onnx_ints given = { 0 };
  bool listed = c->n_in > 1 && c->in[1];
  if (listed && !berth_i_onnx_list(c, NULL, 1, &given)) return false;
  if (listed && c->in[1]->rank == 1) return *out = given, true;
  int64_t each = listed && given.n ? given.at[0] : 1;
  *out = (onnx_ints){ 0 };
  if (each < 1 || size / each > ONNX_VALUES) return false;
  for (int64_t left = size; left > 0; left -= each) {
    if (!ONNX_GROW(c->m, out->at, out->cap, out->n + 1)) return false;
    out->at[out->n++] = left < each ? left : each;
  }
  return true;
}

bool berth_i_onnx_split_sequence(onnx_call *c) {
  int axis;
  onnx_ints sizes;
  int64_t dim[ONNX_RANK];
  KNOWN(0);
  const onnx_value *x = c->in[0];
  if (!berth_i_onnx_axis(c, berth_i_onnx_int(c, "axis", 0), x->rank, &axis)) return false;
  if (!part_sizes(c, x->dim[axis], &sizes)) return false;
  bool keep = (c->n_in > 1 && c->in[1]) || berth_i_onnx_int(c, "keepdims", 1) != 0;
  onnx_value **item = make(c, (int32_t)sizes.n);
  for (size_t k = 0; item && k < sizes.n; k++) {
    int rank = 0;
    for (int d = 0; d < x->rank; d++)
      if (d != axis || keep) dim[rank++] = d == axis ? sizes.at[k] : x->dim[d];
    if (!(item[k] = berth_i_onnx_value(c->m, (onnx_bytes){ NULL, 0 }))) return false;
    if (sizes.at[k] < 0) return berth_i_onnx_wrong(c, "a part of size %.0f", (double)sizes.at[k]);
    berth_i_onnx_set(item[k], x->dtype, rank, dim);
  }
  c->bytes = 2 * berth_i_onnx_bytes(x);
  return item != NULL;
}
