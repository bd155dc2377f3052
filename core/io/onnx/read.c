/* ONNX models, binary (docs/onnx.md): the graph of the ops of one inference, and what was counted
 * on the way. */
#include "onnx_internal.h"
#include "io/formats_internal.h"

/* The arithmetic of most weights; with none of these types NULL. */
static const char *dtype_of(const onnx_model *m) {
  static const struct {
    int dtype;
    const char *name;
  } list[] = { { ONNX_FLOAT, "fp32" }, { ONNX_FLOAT16, "fp16" }, { ONNX_BFLOAT16, "bf16" },
               { ONNX_DOUBLE, "fp64" } };
  const char *best = NULL;
  double most = 0;
  for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
    double n = m->floats[list[k].dtype];
    if (n > most) best = list[k].name;
    if (n > most) most = n;
  }
  return best;
}

static bool done(onnx_model *m, berth_status st) {
  if (st == BERTH_OK) return true;
  if (m->st == BERTH_OK && st == BERTH_EINVAL) {
    berth_i_prefix_error(m->ctx, "%s: ", m->name);
    st = BERTH_EPARSE;
  }
  m->st = st;
  return false;
}

static bool add_op(onnx_model *m, berth_graph_builder *b, size_t k, const uint8_t *grouped) {
  const onnx_op *from = &m->op[k];
  berth_op op = berth_op_default();
  berth_shape shape = { .product = from->product };
  const double no_time = 0;
  int32_t root = (int32_t)k;
  while (m->op[root].group != root) root = m->op[root].group;
  op.name = berth_i_onnx_text(m, from->name);
  op.kind = berth_i_onnx_text(m, from->kind);
  op.flop = from->flop;
  op.bytes = from->bytes;
  op.param_bytes = from->params;
  if (from->view) op.seconds = &no_time;
  if (from->data) op.flags = BERTH_OP_SPLITTABLE;
  if (grouped[root]) op.group = root;
  if (from->product.m > 0) op.shape = &shape;
  return m->st == BERTH_OK && done(m, berth_graph_builder_add_op(b, &op, NULL));
}

static bool add_ops(onnx_model *m, berth_graph_builder *b) {
  uint8_t *grouped = berth_i_pool_zalloc(&m->pool, m->n_op + 1, 1);
  if (!grouped) return berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
  for (size_t k = 0; k < m->n_op; k++) {
    int32_t root = (int32_t)k;
    while (m->op[root].group != root) root = m->op[root].group;
    if (root != (int32_t)k) grouped[root] = 1;
  }
  for (size_t k = 0; k < m->n_op; k++)
    if (!add_op(m, b, k, grouped)) return false;
  return true;
}

/* What no op reads and the model does not give away is no tensor. */
static bool add_tensors(onnx_model *m, berth_graph_builder *b) {
  for (size_t k = 0; k < m->n_made; k++) {
    onnx_value *v = m->made[k];
    berth_tensor t = { v->op, berth_i_onnx_bytes(v), -1, 0 };
    if (!v->used && !v->output) continue;
    if (m->op[v->op].data && berth_i_onnx_elements(v) > 1) t.flags = BERTH_TENSOR_BATCH;
    if (!done(m, berth_graph_builder_add_tensor(b, &t, &v->id))) return false;
  }
  for (size_t k = 0; k < m->n_op; k++)
    for (size_t i = 0; i < m->op[k].n_in; i++)
      if (!done(m, berth_graph_builder_add_consumer(b, m->op[k].in[i]->id, (int32_t)k)))
        return false;
  return true;
}

/* ---- what was counted ---- */

static double op_pairs(const onnx_model *m) {
  double n = 0;
  for (size_t k = 0; k < m->n_op; k++)
    for (size_t i = 0; i < m->op[k].n_in; i++) {
      bool before = false;
      for (size_t j = 0; j < i; j++) before |= m->op[k].in[j]->op == m->op[k].in[i]->op;
      n += !before;
    }
  return n;
}

static void put_outputs(onnx_model *m, berth_i_out *o) {
  for (size_t k = 0; k < m->n_output; k++) {
    const onnx_value *v = m->output[k];
    berth_i_put(o, k ? ",{\"name\":" : "{\"name\":");
    berth_i_put_string(o, berth_i_onnx_text(m, v->name));
    berth_i_putf(o, ",\"dtype\":%d", v->dtype);
    for (int d = 0; d < v->rank; d++)
      berth_i_putf(o, "%s%.0f", d ? "," : ",\"shape\":[", (double)v->dim[d]);
    berth_i_put(o, v->rank > 0 ? "]}" : v->rank == 0 ? ",\"shape\":[]}" : "}");
  }
}

static berth_status put_facts(onnx_model *m, berth_text *out) {
  berth_i_out o = berth_i_out_open(m->ctx, out);
  double flop = 0, matrix = 0, activations = 0;
  for (size_t k = 0; k < m->n_op; k++) {
    flop += m->op[k].flop;
    matrix += m->op[k].matrix;
  }
  for (size_t k = 0; k < m->n_made; k++)
    if (m->made[k]->name.n) activations += berth_i_onnx_bytes(m->made[k]);
  const struct {
    const char *key;
    double value;
  } list[] = { { "opset", (double)berth_i_onnx_opset(m->opset, m->n_opset,
                                                        (onnx_bytes){ NULL, 0 }) },
               { "nodes", m->nodes }, { "uses", m->uses }, { "pairs", m->pairs },
               { "ops", (double)m->n_op }, { "op_pairs", op_pairs(m) },
               { "initializers", m->initializers }, { "initializer_elements", m->elements },
               { "initializer_bytes", m->weight_bytes }, { "parameters", m->parameters },
               { "trained_parameters", m->trained },
               { "matrix_flop", matrix }, { "flop", flop }, { "activation_bytes", activations },
               { "unknown_outputs", m->unknown_outputs } };
  for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
    berth_i_putf(&o, "%s\"%s\":", k ? "," : "{", list[k].key);
    berth_i_put_number(&o, list[k].value);
  }
  berth_i_put(&o, ",\"outputs\":[");
  put_outputs(m, &o);
  berth_i_put(&o, "]}");
  return berth_i_out_close(&o);
}

/* "opset 23, ...; FLOP not known, counted as 0: 3 com.example.Gelu, 1 NonZero" */
static void put_note(onnx_model *m, char *note, size_t size) {
  int64_t opset = berth_i_onnx_opset(m->opset, m->n_opset, (onnx_bytes){ NULL, 0 });
  size_t used = 0;
  if (opset < 7 || opset > 21)
    used = (size_t)berth_snprintf(note, size, "opset %lld: the rules are those of 7 to 21%s",
                                  (long long)opset, m->n_unknown ? "; " : "");
  for (size_t k = 0; k < m->n_unknown && used + 80 < size; k++) {
    const onnx_count *u = &m->unknown[k];
    used += (size_t)berth_snprintf(note + used, size - used, "%s%d %s%s%s",
                                   k ? ", " : "FLOP not known, counted as 0: ", (int)u->n,
                                   berth_i_onnx_text(m, u->domain), u->domain.n ? "." : "",
                                   berth_i_onnx_text(m, u->kind));
    if (used >= size) used = size - 1;
  }
}

/* ---- reading ---- */

static bool check_bind(onnx_model *m) {
  for (int32_t k = 0; k < m->opts->n_bind; k++)
    if (!m->bound[k])
      return berth_i_onnx_fail(m, BERTH_EINVAL, "bind has %s, but no dimension or input of one "
                               "element has that name", m->opts->bind[k].name);
  return true;
}

static bool build(onnx_model *m, berth_graph_builder *b, berth_bundle *out) {
  if (m->n_op == 0)
    return berth_i_onnx_fail(m, BERTH_EPARSE, "no node depends on the inputs: there are no ops");
  if (!done(m, berth_graph_builder_dtype(b, dtype_of(m)))) return false;
  if (!add_ops(m, b) || !add_tensors(m, b)) return false;
  if (!done(m, berth_graph_builder_finish(b, &out->graph))) return false;
  if (m->opts->training) m->st = berth_i_onnx_train(m, &out->graph);
  put_note(m, out->note, sizeof out->note);
  return m->st == BERTH_OK && done(m, put_facts(m, &out->facts)) && m->st == BERTH_OK;
}

static berth_status read_onnx(const berth_i_source *src, berth_bundle *out) {
  onnx_model m = { .ctx = src->ctx, .name = src->name, .text = src->text, .len = src->len,
                   .opts = &src->opts, .pool = berth_i_pool_empty(src->ctx) };
  berth_graph_builder *b = NULL;
  berth_status st = berth_graph_builder_new(src->ctx, &b);
  if (st != BERTH_OK) return st;
  m.bound = berth_i_pool_zalloc(&m.pool, (size_t)m.opts->n_bind + 1, sizeof *m.bound);
  if (!m.bound) berth_i_onnx_fail(&m, BERTH_ENOMEM, "out of memory");
  else if (berth_i_onnx_open(&m) && berth_i_onnx_pass(&m) && check_bind(&m)) build(&m, b, out);
  berth_graph_builder_release(b);
  berth_i_pool_free(&m.pool);
  return m.st;
}

static berth_i_match match_onnx(const char *text, size_t len) {
  return berth_i_match_if(berth_i_onnx_matches(text, len), BERTH_I_MATCH_MARK);
}

const berth_i_format berth_i_format_onnx = {
  .about = { .choice = { "onnx", "ONNX models, opsets 7 to 21." }, .loads = BERTH_HOLDS_GRAPH,
             .reads = "bind cost" },
  .trains = true, .match_bytes = match_onnx, .read_bytes = read_onnx
};
