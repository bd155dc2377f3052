/* Messages of onnx.proto that the reader needs, and the names of a graph: open addressing over
 * FNV-1a hashes. */
#include "onnx_internal.h"

bool berth_i_onnx_equal(onnx_bytes a, const char *b) {
  return strlen(b) == a.n && memcmp(a.at ? a.at : "", b, a.n) == 0;
}

bool berth_i_onnx_alike(onnx_bytes a, onnx_bytes b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

const char *berth_i_onnx_text(onnx_model *m, onnx_bytes b) {
  char *s = berth_i_pool_alloc(&m->pool, b.n + 1, 1);
  if (!s) {
    berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
    return "";
  }
  if (b.n) memcpy(s, b.at, b.n);
  s[b.n] = 0;
  return s;
}

int berth_i_onnx_order(onnx_bytes a, const char *b) {
  size_t n = strlen(b);
  int c = memcmp(a.at ? a.at : "", b, a.n < n ? a.n : n);
  return c ? c : a.n < n ? -1 : a.n > n;
}

/* ---- names ---- */

static uint64_t hash(onnx_bytes b) {
  uint64_t h = 1469598103934665603u;
  for (size_t k = 0; k < b.n; k++) h = (h ^ (unsigned char)b.at[k]) * 1099511628211u;
  return h ^ h >> 32;
}

static onnx_slot *probe(const onnx_scope *s, onnx_bytes name, uint64_t h) {
  size_t mask = s->n_slots - 1, i = h & mask;
  while (s->slot[i].value && !(s->slot[i].hash == h && berth_i_onnx_alike(s->slot[i].name, name)))
    i = (i + 1) & mask;
  return &s->slot[i];
}

onnx_value *berth_i_onnx_find(const onnx_scope *s, onnx_bytes name) {
  uint64_t h = hash(name);
  for (; s; s = s->outer) {
    onnx_value *v = s->n_slots ? probe(s, name, h)->value : NULL;
    if (v) return v;
  }
  return NULL;
}

static bool widen(onnx_model *m, onnx_scope *s) {
  onnx_scope wide = { .n_slots = s->n_slots ? 2 * s->n_slots : 16 };
  wide.slot = berth_i_pool_zalloc(&m->pool, wide.n_slots, sizeof *wide.slot);
  if (!wide.slot) return berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
  for (size_t i = 0; i < s->n_slots; i++)
    if (s->slot[i].value) *probe(&wide, s->slot[i].name, s->slot[i].hash) = s->slot[i];
  s->slot = wide.slot;
  s->n_slots = wide.n_slots;
  return true;
}

bool berth_i_onnx_define(onnx_model *m, onnx_scope *s, onnx_bytes name, onnx_value *v) {
  uint64_t h = hash(name);
  if (2 * (s->n + 1) > s->n_slots && !widen(m, s)) return false;
  onnx_slot *slot = probe(s, name, h);
  s->n += !slot->value;
  *slot = (onnx_slot){ h, name, v };
  return true;
}

onnx_value *berth_i_onnx_value(onnx_model *m, onnx_bytes name) {
  onnx_value *v = berth_i_pool_zalloc(&m->pool, 1, sizeof *v);
  if (!v) {
    berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
    return NULL;
  }
  v->name = name;
  v->rank = -1;
  v->op = v->id = v->last = v->maker = BERTH_NONE;
  return v;
}

/* ---- tensors ---- */

static const double sizes[ONNX_DTYPES] = { 0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2,
                                           1, 1, 1, 1, 0.5, 0.5, 0.5 };

bool berth_i_onnx_is_float(int dtype) {
  return dtype == ONNX_FLOAT || dtype == ONNX_FLOAT16 || dtype == ONNX_DOUBLE
         || (dtype >= ONNX_BFLOAT16 && dtype <= 20) || dtype == 23;
}

double berth_i_onnx_elements(const onnx_value *v) {
  double n = 1;
  for (int k = 0; k < v->rank; k++) n *= (double)v->dim[k];
  return n;
}

double berth_i_onnx_bytes(const onnx_value *v) {
  double items = 0;
  for (int32_t k = 0; v->item && k < v->n_items; k++)
    if (!v->item[k]->item) items += berth_i_onnx_bytes(v->item[k]);
  if (v->item) return items;
  if (v->rank < 0 || v->dtype < 0 || v->dtype >= ONNX_DTYPES) return 0;
  return berth_i_onnx_elements(v) * sizes[v->dtype];
}

static bool add_dims(onnx_wire *w, const onnx_field *f, onnx_value *v) {
  onnx_ints list = { 0 };
  if (!berth_i_onnx_add(w, f, &list)) return false;
  for (size_t k = 0; k < list.n; k++) {
    if (v->rank == ONNX_RANK)
      return berth_i_onnx_bad(w, f, "more than %d dimensions", ONNX_RANK);
    if (list.at[k] < 0 || list.at[k] > (int64_t)1 << 48)
      return berth_i_onnx_bad(w, f, "a dimension of %.0f", (double)list.at[k]);
    v->dim[v->rank++] = list.at[k];
  }
  return true;
}

/* Lengths are checked by raw_data alone: external data is known by size, the other lists by their
 * packed bytes. */
bool berth_i_onnx_tensor(onnx_model *m, onnx_bytes data, onnx_value *v) {
  onnx_wire w = berth_i_onnx_wire(m, data, "TensorProto");
  onnx_field f, raw = { 0 };
  v->rank = 0;
  v->tensor = data;
  v->constant = true;
  while (berth_i_onnx_next(&w, &f)) {
    if (f.number == 1 && !add_dims(&w, &f, v)) return false;
    if (f.number == 2) {
      if (!berth_i_onnx_is(&w, &f, ONNX_VARINT)) return false;
      if (f.value == 0 || f.value >= ONNX_DTYPES)
        return berth_i_onnx_bad(&w, &f, "data type %.0f is unknown", (double)f.value);
      v->dtype = (int)f.value;
    }
    if ((f.number == 8 || f.number == 9) && !berth_i_onnx_is(&w, &f, ONNX_LENGTH)) return false;
    if (f.number == 8) v->name = f.data;
    if (f.number == 9) raw = f;
  }
  if (m->st != BERTH_OK) return false;
  double bytes = ceil(berth_i_onnx_bytes(v));
  if (raw.number && (double)raw.data.n != bytes)
    return berth_i_onnx_bad(&w, &raw, "raw_data has %zu bytes, tensor %.*s %.0f", raw.data.n,
                            ONNX_TEXT(v->name), bytes);
  return true;
}

static double half(uint32_t x) {
  int e = x >> 10 & 31;
  double f = x & 1023, r = e == 0 ? ldexp(f, -24) : ldexp(1024 + f, e - 25);
  return e == 31 ? NAN : x >> 15 ? -r : r;
}

static double single(uint32_t x) {
  float f;
  memcpy(&f, &x, sizeof f);
  return f;
}

double berth_i_onnx_float(const onnx_attribute *a, size_t k) {
  return single((uint32_t)a->floats.at[k]);
}

static double twice(uint64_t x) {
  double d;
  memcpy(&d, &x, sizeof d);
  return d;
}

/* A number of a dtype from its bits, in the low bytes of x. */
static double number_of(int dtype, uint64_t x) {
  switch (dtype) {
  case ONNX_FLOAT: return single((uint32_t)x);
  case ONNX_DOUBLE: return twice(x);
  case ONNX_FLOAT16: return half((uint32_t)x);
  case ONNX_BFLOAT16: return single((uint32_t)x << 16);
  case ONNX_INT8: return (int8_t)x;
  case ONNX_INT16: return (int16_t)x;
  case ONNX_INT32: return (int32_t)x;
  case ONNX_INT64: return (double)(int64_t)x;
  default: return (double)x;
  }
}

static bool has_numbers(int dtype) {
  return dtype >= 1 && dtype <= ONNX_BFLOAT16 && dtype != ONNX_STRING && dtype != ONNX_COMPLEX64
         && dtype != ONNX_COMPLEX128;
}

/* raw_data, or the list of one of the typed fields. @return numbers read */
static size_t read_numbers(onnx_model *m, const onnx_value *v, double *out, size_t n) {
  onnx_wire w = berth_i_onnx_wire(m, v->tensor, "TensorProto");
  onnx_field f;
  size_t got = 0;
  while (berth_i_onnx_next(&w, &f)) {
    bool typed = f.number == 4 || f.number == 5 || f.number == 7 || f.number == 10
                 || f.number == 11;
    size_t each = f.number == 9 ? (size_t)sizes[v->dtype] : f.number == 4 ? 4 : 8;
    if (f.number == 9 || (f.type == ONNX_LENGTH && (f.number == 4 || f.number == 10))) {
      const char *at = f.data.at;
      for (size_t left = f.data.n; left >= each && got < n; left -= each, at += each) {
        uint64_t x = 0;
        for (size_t k = each; k-- > 0;) x = x << 8 | (unsigned char)at[k];
        out[got++] = number_of(v->dtype, x);
      }
    } else if (typed) {
      onnx_ints list = { 0 };
      if (f.type == ONNX_LENGTH && f.data.n > 10 * n) return 0;
      if (!berth_i_onnx_add(&w, &f, &list)) return 0;
      for (size_t k = 0; k < list.n && got < n; k++)
        out[got++] = number_of(v->dtype, (uint64_t)list.at[k]);
    }
  }
  return got;
}

const double *berth_i_onnx_values(onnx_model *m, onnx_value *v) {
  double n = berth_i_onnx_elements(v);
  if (v->v || v->tensor.n == 0 || n > ONNX_VALUES || !has_numbers(v->dtype)) return v->v;
  double *out = berth_i_pool_zalloc(&m->pool, (size_t)n + 1, sizeof *out);
  if (!out) berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
  else if (read_numbers(m, v, out, (size_t)n) == (size_t)n) v->v = out;
  v->tensor.n = v->v ? v->tensor.n : 0;
  return v->v;
}

/* ---- types of values ---- */

bool berth_i_onnx_bound(onnx_model *m, onnx_bytes name, int64_t *out) {
  for (int32_t k = 0; k < m->opts->n_bind; k++) {
    if (!berth_i_onnx_equal(name, m->opts->bind[k].name)) continue;
    *out = (int64_t)m->opts->bind[k].value;
    return m->bound[k] = true;
  }
  return false;
}

/* TensorShapeProto.Dimension: a size, a name, or neither: then it is bound as "input:axis". */
static bool read_dim(onnx_model *m, onnx_bytes data, onnx_value *v, onnx_bytes *free) {
  onnx_wire w = berth_i_onnx_wire(m, data, "TensorShapeProto.Dimension");
  onnx_field f;
  onnx_bytes name = { NULL, 0 };
  int64_t size = -1;
  while (berth_i_onnx_next(&w, &f)) {
    if (f.number == 1 && !berth_i_onnx_is(&w, &f, ONNX_VARINT)) return false;
    if (f.number == 2 && !berth_i_onnx_is(&w, &f, ONNX_LENGTH)) return false;
    if (f.number == 1) size = (int64_t)f.value;
    if (f.number == 2) name = f.data;
  }
  if (m->st != BERTH_OK) return false;
  if (size > (int64_t)1 << 48) return berth_i_onnx_bad(&w, &f, "a dimension of %.0f", (double)size);
  if (size < 0 && name.n == 0) {
    char *text = berth_i_pool_alloc(&m->pool, v->name.n + 8, 1);
    if (!text) return berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
    if (v->name.n) memcpy(text, v->name.at, v->name.n);
    int n = berth_snprintf(text + v->name.n, 8, ":%d", v->rank);
    name = (onnx_bytes){ text, v->name.n + (size_t)n };
  }
  if (size < 0 && !berth_i_onnx_bound(m, name, &size) && free->n == 0) *free = name;
  v->dim[v->rank++] = size;
  return true;
}

static bool read_shape(onnx_model *m, onnx_bytes data, onnx_value *v, onnx_bytes *free) {
  onnx_wire w = berth_i_onnx_wire(m, data, "TensorShapeProto");
  onnx_field f;
  v->rank = 0;
  while (berth_i_onnx_next(&w, &f)) {
    if (f.number != 1) continue;
    if (!berth_i_onnx_is(&w, &f, ONNX_LENGTH)) return false;
    if (v->rank == ONNX_RANK)
      return berth_i_onnx_bad(&w, &f, "more than %d dimensions", ONNX_RANK);
    if (!read_dim(m, f.data, v, free)) return false;
  }
  return m->st == BERTH_OK;
}

/* Types that are no tensor (sequences, maps) stay unknown. */
static bool read_type(onnx_model *m, onnx_bytes data, onnx_value *v, onnx_bytes *free) {
  onnx_wire w = berth_i_onnx_wire(m, data, "TypeProto");
  onnx_field f, g;
  while (berth_i_onnx_next(&w, &f)) {
    if (f.number != 1) continue;
    if (!berth_i_onnx_is(&w, &f, ONNX_LENGTH)) return false;
    onnx_wire t = berth_i_onnx_wire(m, f.data, "TypeProto.Tensor");
    while (berth_i_onnx_next(&t, &g)) {
      if (g.number == 1 && g.type == ONNX_VARINT && g.value < ONNX_DTYPES) v->dtype = (int)g.value;
      if (g.number != 2) continue;
      if (!berth_i_onnx_is(&t, &g, ONNX_LENGTH) || !read_shape(m, g.data, v, free)) return false;
    }
  }
  return m->st == BERTH_OK;
}

bool berth_i_onnx_info(onnx_model *m, onnx_bytes data, onnx_value *v, onnx_bytes *free) {
  onnx_wire w = berth_i_onnx_wire(m, data, "ValueInfoProto");
  onnx_field f;
  onnx_bytes type = { NULL, 0 };
  *free = (onnx_bytes){ NULL, 0 };
  while (berth_i_onnx_next(&w, &f)) {
    if (f.number > 2) continue;
    if (!berth_i_onnx_is(&w, &f, ONNX_LENGTH)) return false;
    if (f.number == 1) v->name = f.data;
    else type = f.data;
  }
  if (type.n && !read_type(m, type, v, free)) return false;
  if (free->n) v->rank = -1;
  return m->st == BERTH_OK;
}

/* ---- nodes ---- */

static bool append(onnx_model *m, onnx_list *list, onnx_bytes x) {
  if (!ONNX_GROW(m, list->at, list->cap, list->n + 1)) return false;
  list->at[list->n++] = x;
  return true;
}

static bool read_attribute(onnx_model *m, onnx_bytes data, onnx_attribute *a) {
  onnx_wire w = berth_i_onnx_wire(m, data, "AttributeProto");
  onnx_field f;
  while (berth_i_onnx_next(&w, &f)) {
    bool text = f.number == 1 || (f.number >= 4 && f.number <= 6) || f.number == 21;
    if (text && !berth_i_onnx_is(&w, &f, ONNX_LENGTH)) return false;
    if (f.number == 2 && !berth_i_onnx_is(&w, &f, ONNX_FIXED32)) return false;
    if (f.number == 3 && !berth_i_onnx_is(&w, &f, ONNX_VARINT)) return false;
    const bool value = f.number >= 2 && f.number <= 8;
    if (value && a->type == 0)
      a->type = f.number < 7 ? (int)f.number - 1 : f.number == 7 ? BERTH_NODE_FLOATS
                                                                 : BERTH_NODE_INTS;
    switch (f.number) {
    case 1: a->name = f.data; break;
    case 20: a->type = f.type == ONNX_VARINT && f.value < 16 ? (int)f.value : 0; break;
    case 2: a->f = single((uint32_t)f.value); break;
    case 3: a->i = (int64_t)f.value; break;
    case 4: a->s = f.data; break;
    case 5: a->tensor = f.data; break;
    case 6: a->graph = f.data; break;
    case 8: if (!berth_i_onnx_add(&w, &f, &a->ints)) return false; break;
    case 21: a->refers = f.data; break;
    case 7: /* floats, packed or not: their bits */
      for (size_t k = 0; f.type == ONNX_LENGTH && k + 4 <= f.data.n; k += 4) {
        uint32_t x;
        memcpy(&x, f.data.at + k, sizeof x);
        onnx_field one = { 7, ONNX_FIXED32, x, { NULL, 0 } };
        if (!berth_i_onnx_add(&w, &one, &a->floats)) return false;
      }
      if (f.type != ONNX_LENGTH && !berth_i_onnx_add(&w, &f, &a->floats)) return false;
      break;
    default: break;
    }
  }
  return m->st == BERTH_OK;
}

bool berth_i_onnx_node(onnx_model *m, onnx_bytes data, onnx_node *out) {
  onnx_wire w = berth_i_onnx_wire(m, data, "NodeProto");
  onnx_field f;
  *out = (onnx_node){ 0 };
  while (berth_i_onnx_next(&w, &f)) {
    if (f.number > 7) continue;
    if (!berth_i_onnx_is(&w, &f, ONNX_LENGTH)) return false;
    switch (f.number) {
    case 1: if (!append(m, &out->in, f.data)) return false; break;
    case 2: if (!append(m, &out->out, f.data)) return false; break;
    case 3: out->name = f.data; break;
    case 4: out->kind = f.data; break;
    case 7: out->domain = f.data; break;
    case 5:
      if (!ONNX_GROW(m, out->attr, out->cap_attr, out->n_attr + 1)) return false;
      out->attr[out->n_attr] = (onnx_attribute){ 0 };
      if (!read_attribute(m, f.data, &out->attr[out->n_attr++])) return false;
      break;
    default: break;
    }
  }
  if (berth_i_onnx_equal(out->domain, "ai.onnx")) out->domain.n = 0;
  return m->st == BERTH_OK;
}

/* ---- the top ---- */

bool berth_i_onnx_read_opset(onnx_model *m, onnx_bytes data, onnx_opset *s) {
  onnx_wire w = berth_i_onnx_wire(m, data, "OperatorSetIdProto");
  onnx_field f;
  *s = (onnx_opset){ { NULL, 0 }, 1 };
  while (berth_i_onnx_next(&w, &f)) {
    if (f.number == 1 && f.type == ONNX_LENGTH) s->domain = f.data;
    if (f.number == 2 && f.type == ONNX_VARINT) s->version = (int64_t)f.value;
  }
  if (berth_i_onnx_equal(s->domain, "ai.onnx")) s->domain.n = 0;
  return m->st == BERTH_OK;
}

int64_t berth_i_onnx_opset(const onnx_opset *list, size_t n, onnx_bytes domain) {
  for (size_t k = 0; k < n; k++)
    if (berth_i_onnx_alike(list[k].domain, domain)) return list[k].version;
  return 1;
}

bool berth_i_onnx_open(onnx_model *m) {
  onnx_wire w = berth_i_onnx_wire(m, (onnx_bytes){ m->text, m->len }, "ModelProto");
  onnx_field f;
  bool version = false;
  while (berth_i_onnx_next(&w, &f)) {
    bool inner = f.number == 7 || f.number == 8 || f.number == 25;
    if (inner && !berth_i_onnx_is(&w, &f, ONNX_LENGTH)) return false;
    version |= f.number == 1;
    if (f.number == 7) m->graph = f.data;
    if (f.number == 8) {
      if (!ONNX_GROW(m, m->opset, m->cap_opset, m->n_opset + 1)) return false;
      if (!berth_i_onnx_read_opset(m, f.data, &m->opset[m->n_opset++])) return false;
    }
    if (f.number == 25 && !append(m, &m->functions, f.data)) return false;
  }
  if (m->st != BERTH_OK) return false;
  const char *missing = !m->graph.at ? "graph" : !version ? "ir_version"
                        : m->n_opset == 0 ? "opset_import" : NULL;
  if (!missing) return true;
  return berth_i_onnx_fail(m, BERTH_EPARSE, "byte %zu: ModelProto: %s is missing", m->len, missing);
}
