/* The pass over nodes. A call of a function, and an If or a Loop whose way is known, is one op: its
 * body is visited with the values of its inputs, and what the body costs is added up.
 *
 * What has constant inputs alone is constant; a tensor that only views or converts a weight stands
 * for that weight, so that tied weights count once. */
#include "onnx_internal.h"

typedef onnx_walker walker;

/* ---- one node ---- */

static bool count_unknown(onnx_model *m, const onnx_node *node) {
  size_t k = 0;
  while (k < m->n_unknown && !(berth_i_onnx_alike(m->unknown[k].kind, node->kind)
                               && berth_i_onnx_alike(m->unknown[k].domain, node->domain)))
    k++;
  if (k == m->n_unknown) {
    if (!ONNX_GROW(m, m->unknown, m->cap_unknown, k + 1)) return false;
    m->unknown[m->n_unknown++] = (onnx_count){ node->domain, node->kind, 0 };
  }
  m->unknown[k].n++;
  return true;
}

static double distinct_bytes(const onnx_call *c) {
  double bytes = 0;
  for (size_t k = 0; k < c->n_in; k++) {
    bool before = false;
    for (size_t j = 0; j < k && j < 16; j++) before |= c->in[j] == c->in[k];
    if (c->in[k] && !before) bytes += berth_i_onnx_bytes(c->in[k]);
  }
  for (size_t k = 0; k < c->n_out; k++)
    if (c->out[k]) bytes += berth_i_onnx_bytes(c->out[k]);
  return bytes;
}

/* @param known out: a rule or a body gave the outputs */
static bool infer(walker *w, onnx_scope *s, onnx_call *c, onnx_bytes function, bool *known) {
  const onnx_node *node = c->node;
  *known = true;
  if (berth_i_onnx_has_body(node, function)) return berth_i_onnx_run(w, s, c, function);
  const onnx_rule *rule = berth_i_onnx_rule(node);
  *known = rule && rule->infer(c);
  if (!*known) c->flop = c->matrix = 0;
  if (*known && rule->per_out > 0) c->flop += rule->per_out * berth_i_onnx_elements(c->out[0]);
  if (*known && rule->per_in > 0) c->flop += rule->per_in * berth_i_onnx_elements(c->in[0]);
  for (size_t k = 0; k < c->n_out && w->m->st == BERTH_OK; k++)
    if (c->out[k] && c->out[k]->rank < 0) berth_i_onnx_declare(w->m, s, c->out[k]);
  bool priced = false;
  if (*known || w->m->st != BERTH_OK) return w->m->st == BERTH_OK;
  if (!berth_i_onnx_foreign(c, &priced) || (!priced && !count_unknown(w->m, node))) return false;
  if (w->depth == 0) w->m->unknown_outputs += (double)node->out.n;
  return w->m->st == BERTH_OK;
}

/* Kinds that keep the elements of a constant: done once, when the model is loaded. */
static bool keeps_elements(onnx_bytes kind) {
  static const char *const list[] = { "Constant", "Identity", "Reshape", "Flatten", "Squeeze",
                                      "Unsqueeze", "Transpose", "Cast" };
  for (size_t k = 0; k < sizeof list / sizeof *list; k++)
    if (berth_i_onnx_equal(kind, list[k])) return true;
  return false;
}

/* Is it no op: are all its values known, as a shape's are, or has it the elements of a constant?
 * What depends on a trained weight is not known. */
static bool is_constant(const onnx_call *c, bool known, bool trained) {
  bool all = known && c->node->domain.n == 0 && keeps_elements(c->node->kind), values = known;
  for (size_t k = 0; k < c->n_in; k++) all &= !c->in[k] || c->in[k]->constant;
  if (trained && !all) c->out[0]->v = NULL;
  for (size_t k = 0; k < c->n_out; k++)
    values &= !c->out[k] || c->out[k]->v || c->out[k]->constant;
  return all || values;
}

/* Products, look-ups, and what takes a part, as exporters make the gates of a layer. */
static bool has_ties(const onnx_call *c) {
  onnx_bytes kind = c->node->kind;
  return c->matrix > 0 || (kind.n >= 6 && memcmp(kind.at, "Gather", 6) == 0)
         || berth_i_onnx_equal(kind, "Slice") || berth_i_onnx_equal(kind, "Split");
}

/* What the node costs, to the op that it is or is part of. */
static bool add_cost(walker *w, onnx_call *c, bool body) {
  onnx_op *op = w->op;
  if (body) return true;
  op->flop += c->flop + c->matrix;
  op->matrix += c->matrix;
  op->bytes += c->bytes >= 0 ? c->bytes : distinct_bytes(c);
  if (w->depth == 0) {
    op->product = c->product;
    op->area = c->area;
    op->state = c->state;
    op->operand = c->in;
    op->n_operands = c->n_operands;
    op->view = c->bytes == 0 && c->flop + c->matrix == 0;
  }
  for (size_t k = 0; k < c->n_in; k++)
    if (!berth_i_onnx_note_input(w, c->in[k], has_ties(c))
        || !berth_i_onnx_trains(w->m, c, k, w->id))
      return false;
  return true;
}

static bool make_outputs(walker *w, onnx_call *c, int32_t id) {
  onnx_model *m = w->m;
  for (size_t k = 0; k < c->n_out; k++) {
    if (!c->out[k]) continue;
    c->out[k]->op = id;
    if (!ONNX_GROW(m, m->made, m->cap_made, m->n_made + 1)) return false;
    m->made[m->n_made++] = c->out[k];
  }
  return true;
}

/* Inputs of the nodes of the model that other nodes make, and pairs of two such nodes. */
static void count_use(onnx_model *m, const onnx_call *c, size_t k) {
  bool before = false;
  if (c->in[k]->maker == BERTH_NONE) return;
  for (size_t j = 0; j < k; j++) before |= c->in[j] && c->in[j]->maker == c->in[k]->maker;
  m->uses++;
  m->pairs += !before;
}

/* Values of inputs and places of outputs; an output without a name that a rule needs gets one. */
static bool open_call(walker *w, onnx_scope *s, const onnx_node *node, onnx_call *c) {
  onnx_model *m = w->m;
  *c = (onnx_call){ .m = m, .node = node, .caller = w->caller, .n_in = node->in.n,
                    .n_out = node->out.n ? node->out.n : 1, .bytes = -1 };
  c->opset = w->opset ? berth_i_onnx_opset(w->opset, w->n_opset, node->domain)
                      : berth_i_onnx_opset(m->opset, m->n_opset, node->domain);
  c->in = berth_i_pool_zalloc(&m->pool, c->n_in + 1, sizeof *c->in);
  c->out = berth_i_pool_zalloc(&m->pool, c->n_out, sizeof *c->out);
  if (!c->in || !c->out) return berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
  for (size_t k = 0; k < c->n_in; k++) {
    if (node->in.at[k].n == 0) continue;
    c->in[k] = berth_i_onnx_find(s, node->in.at[k]);
    if (c->in[k]) {
      if (w->depth == 0) count_use(m, c, k);
      continue;
    }
    if (w->caller) continue; /* an input that the caller leaves out */
    return berth_i_onnx_wrong(c, "input %.*s is made by no node before it",
                              ONNX_TEXT(node->in.at[k]));
  }
  for (size_t k = 0; k < c->n_out; k++) {
    onnx_bytes name = k < node->out.n ? node->out.at[k] : (onnx_bytes){ NULL, 0 };
    if (name.n == 0 && k > 0) continue;
    if (!(c->out[k] = berth_i_onnx_value(m, name))) return false;
  }
  return true;
}

static bool visit_node(walker *w, onnx_scope *s, const onnx_node *node) {
  onnx_model *m = w->m;
  onnx_call c;
  onnx_op op = { .name = node->name, .kind = node->kind, .domain = node->domain,
                 .group = (int32_t)m->n_op };
  bool top = !w->op, known;
  if (!open_call(w, s, node, &c)) return false;
  onnx_bytes function = berth_i_onnx_function(m, node);
  if (top) {
    w->op = &op;
    w->id = (int32_t)m->n_op;
    w->mark++;
    if (op.name.n == 0 && node->out.n) op.name = node->out.at[0];
  }
  if (!infer(w, s, &c, function, &known)) return false;
  bool body = berth_i_onnx_has_body(node, function);
  bool constant = is_constant(&c, known, !body && berth_i_onnx_count_trained(&c));
  if (!constant && !add_cost(w, &c, body)) return false;
  for (size_t k = 0; k < c.n_out; k++) {
    if (!c.out[k]) continue;
    if (top) c.out[k]->maker = w->mark;
    if (constant && !berth_i_onnx_keep_constant(m, c.out[k], c.n_in ? c.in[0] : NULL)) return false;
    if (c.out[k]->name.n && !berth_i_onnx_define(m, s, c.out[k]->name, c.out[k])) return false;
  }
  if (!top) return true;
  w->op = NULL;
  if (constant) return true;
  if (!ONNX_GROW(m, m->op, m->cap_op, m->n_op + 1)) return false;
  m->op[m->n_op++] = op;
  return make_outputs(w, &c, (int32_t)m->n_op - 1);
}

static bool visit(onnx_walker *w, onnx_scope *s, onnx_bytes data) {
  onnx_node node;
  onnx_model *m = w->m;
  m->nodes += w->depth == 0;
  return berth_i_onnx_step(m) && berth_i_onnx_node(m, data, &node) && visit_node(w, s, &node);
}

bool berth_i_onnx_pass(onnx_model *m) {
  walker w = { .m = m, .visit = visit };
  onnx_scope s = { .graph = m->graph };
  onnx_wire g = berth_i_onnx_wire(m, m->graph, "GraphProto");
  onnx_field f;
  if (!berth_i_onnx_open_graph(&w, &s, NULL, 0) || !berth_i_onnx_visit_all(&w, &s, m->graph, 1))
    return false;
  while (berth_i_onnx_next(&g, &f)) m->n_output += f.number == 12;
  m->output = berth_i_pool_zalloc(&m->pool, m->n_output + 1, sizeof *m->output);
  if (!m->output) return berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
  if (!berth_i_onnx_outputs_of(&w, &s, m->output, m->n_output)) return false;
  for (size_t k = 0; k < m->n_output; k++) m->output[k]->output = true;
  return m->st == BERTH_OK;
}
