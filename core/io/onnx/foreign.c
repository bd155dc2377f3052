/* Nodes of kinds without a rule: their cost is that of the options' function, or a note. */
#include "onnx_internal.h"

static bool to_values(onnx_call *c, onnx_value **from, size_t n, const berth_node_value **out) {
  berth_node_value *v = berth_i_pool_zalloc(&c->m->pool, n + 1, sizeof *v);
  if (!v) return berth_i_onnx_fail(c->m, BERTH_ENOMEM, "out of memory");
  for (size_t k = 0; k < n; k++) {
    if (!from[k]) continue;
    v[k] = (berth_node_value){ berth_i_onnx_text(c->m, from[k]->name), from[k]->dtype,
                               from[k]->rank, from[k]->dim };
  }
  *out = v;
  return c->m->st == BERTH_OK;
}

static bool to_floats(onnx_call *c, const onnx_attribute *a, const double **out) {
  double *v = berth_i_pool_zalloc(&c->m->pool, a->floats.n + 1, sizeof *v);
  if (!v) return berth_i_onnx_fail(c->m, BERTH_ENOMEM, "out of memory");
  for (size_t k = 0; k < a->floats.n; k++) v[k] = berth_i_onnx_float(a, k);
  *out = v;
  return true;
}

/* Numbers and texts; what the caller of the function around leaves out is absent. */
static bool to_attributes(onnx_call *c, berth_node *node) {
  berth_node_attribute *list = berth_i_pool_zalloc(&c->m->pool, c->node->n_attr + 1, sizeof *list);
  if (!list) return berth_i_onnx_fail(c->m, BERTH_ENOMEM, "out of memory");
  for (size_t k = 0; k < c->node->n_attr; k++) {
    const char *name = berth_i_onnx_text(c->m, c->node->attr[k].name);
    const onnx_attribute *a = berth_i_onnx_attr(c, name);
    berth_node_attribute *x = &list[node->n_attributes];
    if (!a || a->type < BERTH_NODE_FLOAT || a->type > BERTH_NODE_INTS) continue;
    if (a->type > BERTH_NODE_STRING && a->type < BERTH_NODE_FLOATS) continue;
    *x = (berth_node_attribute){ .name = name, .type = a->type, .i = a->i, .f = a->f,
                                 .s = berth_i_onnx_text(c->m, a->s), .ints = a->ints.at };
    x->n = (int32_t)(a->type == BERTH_NODE_INTS ? a->ints.n : a->floats.n);
    if (!to_floats(c, a, &x->floats)) return false;
    node->n_attributes++;
  }
  node->attributes = list;
  return c->m->st == BERTH_OK;
}

static bool is_amount(double x) { return x >= 0 && !isinf(x); }

bool berth_i_onnx_foreign(onnx_call *c, bool *known) {
  onnx_model *m = c->m;
  const onnx_node *from = c->node;
  berth_node node = { .name = berth_i_onnx_text(m, from->name.n || from->out.n == 0 ? from->name
                                                   : from->out.at[0]),
                      .kind = berth_i_onnx_text(m, from->kind),
                      .domain = berth_i_onnx_text(m, from->domain),
                      .n_inputs = (int32_t)c->n_in, .n_outputs = (int32_t)c->n_out };
  berth_node_cost cost = { .bytes = -1 };
  *known = false;
  if (!m->opts->cost) return true;
  if (!to_values(c, c->in, c->n_in, &node.inputs) || !to_values(c, c->out, c->n_out, &node.outputs))
    return false;
  if (!to_attributes(c, &node)) return false;
  berth_status st = m->opts->cost(m->opts->cost_ud, &node, &cost);
  cost.why[sizeof cost.why - 1] = 0;
  if (st == BERTH_OK && cost.known && !(is_amount(cost.flop) && !isinf(cost.bytes)
                                        && !isnan(cost.bytes))) {
    berth_snprintf(cost.why, sizeof cost.why, "%s is %g", is_amount(cost.flop) ? "bytes" : "flop",
                   is_amount(cost.flop) ? cost.bytes : cost.flop);
    st = BERTH_EINVAL;
  }
  if (st != BERTH_OK)
    return berth_i_onnx_fail(m, st, "node %s (%s%s%s): cost: %s", node.name, node.domain,
                             *node.domain ? "." : "", node.kind, cost.why);
  if (!cost.known) return true;
  *known = true;
  c->flop = cost.flop;
  c->bytes = cost.bytes;
  return true;
}
