/* What an op reads and makes: edges, weights and their ties, constants, declared types. */
#include "onnx_internal.h"

typedef onnx_walker walker;

/* ---- inputs of an op ---- */

static int32_t root(onnx_model *m, int32_t op) {
  while (m->op[op].group != op) op = m->op[op].group;
  return op;
}

enum { SHARED = 4096 }; /* elements of weights that readers share in place of a copy each */

/* Bytes of a weight belong to the first op that reads it; products, look-ups and slices that share
 * it are placed together. Others get a copy each, such as masks and scalars. */
static void read_weight(walker *w, onnx_value *v, bool ties) {
  onnx_weight *x = v->weight;
  onnx_model *m = w->m;
  if (x->elements <= SHARED || !ties) {
    w->op->params += x->bytes;
    return;
  }
  if (x->reader == BERTH_NONE) {
    x->reader = w->id;
    w->op->params += x->bytes;
    return;
  }
  if (x->reader == w->id) return;
  int32_t a = root(m, x->reader), b = w->op->group == w->id ? a : root(m, w->op->group);
  m->op[a > b ? a : b].group = w->op->group = a > b ? b : a;
}

bool berth_i_onnx_note_input(walker *w, onnx_value *v, bool ties) {
  onnx_model *m = w->m;
  if (!v || v->last == w->mark) return true;
  v->last = w->mark;
  w->op->data |= !v->constant && (v->op == BERTH_NONE || (v->op != w->id && m->op[v->op].data));
  if (v->weight && (v->weight->elements > 64 || berth_i_onnx_is_float(v->dtype)))
    read_weight(w, v, ties);
  if (v->op == BERTH_NONE || v->op == w->id) return true;
  if (!ONNX_GROW(m, w->op->in, w->op->cap_in, w->op->n_in + 1)) return false;
  w->op->in[w->op->n_in++] = v;
  return v->used = true;
}

/* ---- outputs ---- */

static bool new_weight(onnx_model *m, onnx_value *v) {
  v->weight = berth_i_pool_zalloc(&m->pool, 1, sizeof *v->weight);
  if (!v->weight) return berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
  *v->weight = (onnx_weight){ berth_i_onnx_elements(v), berth_i_onnx_bytes(v), BERTH_NONE, false,
                              false, BERTH_NONE, BERTH_NONE, BERTH_NONE };
  return true;
}

bool berth_i_onnx_keep_constant(onnx_model *m, onnx_value *v, onnx_value *from) {
  v->constant = true;
  if (v->rank < 0) return true;
  if (from && from->weight && from->weight->elements == berth_i_onnx_elements(v)) {
    v->weight = from->weight;
    return true;
  }
  return new_weight(m, v);
}

/* Types of value_info and outputs, by name. */
static bool read_declared(onnx_model *m, onnx_scope *s) {
  onnx_wire w = berth_i_onnx_wire(m, s->graph, "GraphProto");
  onnx_field f;
  onnx_bytes free;
  s->declared = berth_i_pool_zalloc(&m->pool, 1, sizeof *s->declared);
  if (!s->declared) return berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
  while (s->graph.n && berth_i_onnx_next(&w, &f)) {
    if ((f.number != 12 && f.number != 13) || f.type != ONNX_LENGTH) continue;
    onnx_value *v = berth_i_onnx_value(m, (onnx_bytes){ NULL, 0 });
    if (!v || !berth_i_onnx_info(m, f.data, v, &free)) return false;
    if (!berth_i_onnx_define(m, s->declared, v->name, v)) return false;
  }
  return m->st == BERTH_OK;
}

bool berth_i_onnx_declare(onnx_model *m, onnx_scope *s, onnx_value *v) {
  if (!s->declared && !read_declared(m, s)) return false;
  const onnx_value *info = berth_i_onnx_find(s->declared, v->name);
  if (!info) return true;
  v->dtype = info->dtype ? info->dtype : v->dtype;
  if (info->rank >= 0) berth_i_onnx_set(v, v->dtype, info->rank, info->dim);
  return true;
}

bool berth_i_onnx_step(onnx_model *m) {
  if ((m->steps += 1) > 2e6)
    return berth_i_onnx_fail(m, BERTH_EUNSUPPORTED, "more than 2,000,000 nodes, with those of "
                             "loops");
  if (++m->checks % 1024 == 0 && berth_i_interrupted(m->ctx) != BERTH_OK) {
    m->st = BERTH_EINTERRUPT;
    return false;
  }
  return true;
}
