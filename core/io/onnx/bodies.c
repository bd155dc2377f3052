/* Graphs within the model and functions of it, which are visited with the values of their inputs:
 * If, Loop, Scan, calls. */
#include "onnx_internal.h"

typedef onnx_walker walker;

/* A number that bind has for an input of one element, such as that of turns of a loop. */
static bool bind_value(onnx_model *m, onnx_value *v) {
  int64_t x;
  if (v->rank < 0 || berth_i_onnx_elements(v) != 1 || !berth_i_onnx_bound(m, v->name, &x))
    return true;
  if (!(v->v = berth_i_pool_alloc(&m->pool, 1, sizeof *v->v)))
    return berth_i_onnx_fail(m, BERTH_ENOMEM, "out of memory");
  *v->v = (double)x;
  return v->constant = true;
}

bool berth_i_onnx_open_graph(walker *w, onnx_scope *s, onnx_value **in, size_t n_in) {
  onnx_model *m = w->m;
  onnx_wire g = berth_i_onnx_wire(m, s->graph, "GraphProto");
  onnx_field f;
  onnx_bytes free;
  size_t k = 0;
  while (berth_i_onnx_next(&g, &f)) {
    if (f.number != 5) continue;
    onnx_value *v = berth_i_onnx_value(m, (onnx_bytes){ NULL, 0 });
    if (!v || !berth_i_onnx_is(&g, &f, ONNX_LENGTH)) return false;
    if (!berth_i_onnx_tensor(m, f.data, v) || !berth_i_onnx_keep_constant(m, v, NULL)) return false;
    if (!berth_i_onnx_define(m, s, v->name, v)) return false;
    if (w->depth > 0) continue;
    m->initializers++;
    m->elements += v->weight->elements;
    m->weight_bytes += v->weight->bytes;
    m->floats[v->dtype] += v->weight->elements;
    if (berth_i_onnx_is_float(v->dtype)) m->parameters += v->weight->elements;
    v->weight->trained = berth_i_onnx_is_float(v->dtype) && v->rank > 0;
  }
  g = berth_i_onnx_wire(m, s->graph, "GraphProto");
  while (berth_i_onnx_next(&g, &f)) {
    if (f.number != 11) continue;
    onnx_value *v = berth_i_onnx_value(m, (onnx_bytes){ NULL, 0 });
    if (!v || !berth_i_onnx_is(&g, &f, ONNX_LENGTH)) return false;
    if (!berth_i_onnx_info(m, f.data, v, &free)) return false;
    onnx_scope alone = *s;
    alone.outer = NULL;
    if (in && k < n_in) {
      onnx_value *given = in[k] ? in[k] : berth_i_onnx_value(m, v->name);
      k++;
      if (!given || !berth_i_onnx_define(m, s, v->name, given)) return false;
      continue;
    }
    if (berth_i_onnx_find(&alone, v->name)) continue;
    if (free.n && w->depth == 0)
      return berth_i_onnx_fail(m, BERTH_EINVAL, "dimension %.*s of input %.*s has no value: give "
                               "one in bind, as %.*s=8", ONNX_TEXT(free), ONNX_TEXT(v->name),
                               ONNX_TEXT(free));
    if (w->depth == 0 && !bind_value(m, v)) return false;
    if (!berth_i_onnx_define(m, s, v->name, v)) return false;
  }
  return m->st == BERTH_OK;
}

bool berth_i_onnx_outputs_of(walker *w, const onnx_scope *s, onnx_value **out, size_t n) {
  onnx_model *m = w->m;
  onnx_wire g = berth_i_onnx_wire(m, s->graph, "GraphProto");
  onnx_field f;
  onnx_bytes free;
  size_t k = 0;
  while (berth_i_onnx_next(&g, &f) && k < n) {
    if (f.number != 12) continue;
    onnx_value *v = berth_i_onnx_value(m, (onnx_bytes){ NULL, 0 });
    if (!v || !berth_i_onnx_is(&g, &f, ONNX_LENGTH)) return false;
    if (!berth_i_onnx_info(m, f.data, v, &free)) return false;
    if (!(out[k++] = berth_i_onnx_find(s, v->name)))
      return berth_i_onnx_fail(m, BERTH_EPARSE, "output %.*s of a graph is made by no node",
                               ONNX_TEXT(v->name));
  }
  if (m->st == BERTH_OK && k < n)
    return berth_i_onnx_fail(m, BERTH_EPARSE, "a graph has %zu outputs, expected %zu", k, n);
  return m->st == BERTH_OK;
}

bool berth_i_onnx_visit_all(walker *w, onnx_scope *s, onnx_bytes data, uint32_t field) {
  onnx_wire g = berth_i_onnx_wire(w->m, data, "GraphProto");
  onnx_field f;
  while (berth_i_onnx_next(&g, &f)) {
    if (f.number != field) continue;
    if (!berth_i_onnx_is(&g, &f, ONNX_LENGTH) || !w->visit(w, s, f.data)) return false;
  }
  return w->m->st == BERTH_OK;
}

/* A subgraph with these inputs; its outputs to out[n]. */
static bool run_graph(walker *w, const onnx_scope *outer, onnx_bytes graph, onnx_value **in,
                      size_t n_in, onnx_value **out, size_t n) {
  onnx_scope s = { .outer = outer, .graph = graph };
  return berth_i_onnx_open_graph(w, &s, in, n_in) && berth_i_onnx_visit_all(w, &s, graph, 1)
         && berth_i_onnx_outputs_of(w, &s, out, n);
}

/* An output of the node takes what the body gives, which may be a value of outside. */
static bool take_over(walker *w, onnx_value *out, onnx_value *from) {
  if (!berth_i_onnx_note_input(w, from, false)) return false;
  onnx_bytes name = out->name;
  *out = *from;
  out->name = name;
  out->op = out->id = out->last = out->maker = BERTH_NONE;
  return !(out->output = out->used = false);
}

static bool refuse(onnx_call *c, const char *what) {
  onnx_bytes name = c->node->name.n || c->node->out.n == 0 ? c->node->name : c->node->out.at[0];
  return berth_i_onnx_fail(c->m, BERTH_EUNSUPPORTED, "node %.*s (%.*s): %s",
                           ONNX_TEXT(name), ONNX_TEXT(c->node->kind), what);
}

/* A value that decides is not known: bind may have it if it is an input of the model. */
static bool refuse_unknown(const onnx_scope *s, onnx_call *c, const onnx_value *v,
                           const char *what) {
  char text[300];
  while (s->outer) s = s->outer;
  bool input = v && !v->weight && v->maker == BERTH_NONE && berth_i_onnx_find(s, v->name) == v;
  if (input)
    berth_snprintf(text, sizeof text, "%s is not known: give it in bind, as %.*s=1", what,
                   ONNX_TEXT(v->name));
  else
    berth_snprintf(text, sizeof text, "%s is not known from the inputs; give bind a value", what);
  return refuse(c, text);
}

static bool run_if(walker *w, onnx_scope *s, onnx_call *c) {
  const double *which = berth_i_onnx_input(c, 0);
  if (!which) return refuse_unknown(s, c, c->n_in > 0 ? c->in[0] : NULL, "its condition");
  const onnx_attribute *a = berth_i_onnx_attr(c, *which != 0 ? "then_branch" : "else_branch");
  onnx_value *got[64];
  if (!a || !a->graph.at) return berth_i_onnx_wrong(c, "its branch is missing");
  if (c->n_out > 64) return refuse(c, "more than 64 outputs");
  if (!run_graph(w, s, a->graph, NULL, 0, got, c->n_out)) return false;
  for (size_t k = 0; k < c->n_out; k++)
    if (c->out[k] && !take_over(w, c->out[k], got[k])) return false;
  return true;
}

/* Outputs behind the carried ones: one slice for each turn. */
static bool stack(onnx_value *out, const onnx_value *from, int64_t turns) {
  int64_t dim[ONNX_RANK] = { turns };
  if (from->rank < 0 || from->rank >= ONNX_RANK) return false;
  for (int d = 0; d < from->rank; d++) dim[d + 1] = from->dim[d];
  return berth_i_onnx_set(out, from->dtype, from->rank + 1, dim);
}

/* Turns are visited one by one: shapes may grow. */
static bool run_loop(walker *w, onnx_scope *s, onnx_call *c) {
  const onnx_attribute *a = berth_i_onnx_attr(c, "body");
  const double *most = berth_i_onnx_input(c, 0), *go = berth_i_onnx_input(c, 1);
  bool counted = c->n_in > 0 && c->in[0], tested = c->n_in > 1 && c->in[1];
  size_t carried = c->n_in > 2 ? c->n_in - 2 : 0, n = c->n_out + 1, extra = c->n_out - carried;
  onnx_value *in[66], *out[66];
  if (!a || !a->graph.at) return berth_i_onnx_wrong(c, "its body is missing");
  if (carried > 64 || n > 66 || c->n_out < carried) return refuse(c, "too many values");
  if (!counted && !tested) return refuse(c, "it has neither a number of turns nor a condition");
  if (counted && !most) return refuse_unknown(s, c, c->in[0], "its number of turns");
  if (tested && !go) return refuse_unknown(s, c, c->in[1], "its condition");
  for (size_t k = 0; k < carried; k++) in[k + 2] = c->in[k + 2];
  bool on = !tested || *go != 0;
  int64_t turn = 0;
  for (; on && (!counted || (double)turn < *most); turn++) {
    onnx_value *at = in[0] = berth_i_onnx_value(w->m, (onnx_bytes){ NULL, 0 }), *cond = NULL;
    if (!at || !(cond = in[1] = berth_i_onnx_value(w->m, (onnx_bytes){ NULL, 0 }))) return false;
    berth_i_onnx_set(at, ONNX_INT64, 0, NULL);
    berth_i_onnx_set(cond, ONNX_BOOL, 0, NULL);
    at->v = berth_i_onnx_room_for(c, at);
    cond->v = berth_i_onnx_room_for(c, cond);
    if (!at->v || !cond->v) return false;
    *at->v = (double)turn;
    *cond->v = 1;
    at->constant = cond->constant = true;
    w->m->steps += 15;
    if (!berth_i_onnx_step(w->m)) return false;
    if (!run_graph(w, s, a->graph, in, carried + 2, out, n)) return false;
    const double *next = berth_i_onnx_values(w->m, out[0]);
    if (!next) return refuse(c, "when it ends is not known from the inputs");
    on = *next != 0;
    for (size_t k = 0; k < carried; k++) in[k + 2] = out[k + 1];
  }
  for (size_t k = 0; k < carried; k++)
    if (c->out[k] && in[k + 2] && !take_over(w, c->out[k], in[k + 2])) return false;
  for (size_t k = carried; turn > 0 && k < carried + extra; k++)
    if (c->out[k] && !stack(c->out[k], out[k + 1], turn)) return false;
  return true;
}

/* One slice of a value along an axis, or the whole (axis -1): what a body gets in any turn. */
static onnx_value *slice_of(walker *w, const onnx_value *from, int axis) {
  onnx_value *out = berth_i_onnx_value(w->m, (onnx_bytes){ NULL, 0 });
  int64_t dim[ONNX_RANK];
  int rank = 0;
  for (int d = 0; d < from->rank; d++)
    if (d != axis) dim[rank++] = from->dim[d];
  if (out) berth_i_onnx_set(out, from->dtype, rank, dim);
  return out;
}

/* A value with one more dimension. */
static bool grow(onnx_value *out, const onnx_value *from, int axis, int64_t n) {
  int64_t dim[ONNX_RANK];
  if (from->rank < 0 || from->rank >= ONNX_RANK || axis < 0 || axis > from->rank) return false;
  for (int d = 0, at = 0; d <= from->rank; d++) dim[d] = d == axis ? n : from->dim[at++];
  return berth_i_onnx_set(out, from->dtype, from->rank + 1, dim);
}

static int64_t axis_of(const onnx_call *c, const char *list, size_t k, int rank) {
  const onnx_attribute *a = berth_i_onnx_attr(c, list);
  int64_t axis = a && k < a->ints.n ? a->ints.at[k] : 0;
  return axis < 0 ? axis + rank : axis;
}

/* States, then inputs that are read slice by slice. The body is visited once, for states keep their
 * shapes, and its work counts once a turn. Before opset 9 there is a batch in front, and the
 * lengths of its sequences as first input. */
static bool run_scan(walker *w, onnx_scope *s, onnx_call *c) {
  const onnx_attribute *a = berth_i_onnx_attr(c, "body");
  bool old = c->opset < 9;
  int64_t slices = berth_i_onnx_int(c, "num_scan_inputs", 0), turns = 0, batch = 1;
  size_t n = c->n_in - (old && c->n_in > 0);
  onnx_value **from = c->in + (c->n_in - n), *in[64], *out[64];
  if (!a || !a->graph.at) return berth_i_onnx_wrong(c, "its body is missing");
  if (slices < 1 || (size_t)slices > n || n > 64 || c->n_out > 64)
    return refuse(c, "more than 64 values, or no scan inputs");
  size_t states = n - (size_t)slices;
  for (size_t k = 0; k < n; k++) {
    const onnx_value *x = from[k];
    if (!x || x->rank < old + (k >= states)) return refuse(c, "an input has no known shape");
    const onnx_value *one = old ? slice_of(w, x, 0) : x;
    int64_t axis = k < states ? -1 : old ? 0 : axis_of(c, "scan_input_axes", k - states, x->rank);
    if (!one || axis >= one->rank) return berth_i_onnx_wrong(c, "an axis of %.0f", (double)axis);
    if (k >= states) turns = one->dim[axis];
    if (old) batch = x->dim[0];
    if (!(in[k] = slice_of(w, one, (int)axis))) return false;
  }
  onnx_op before = *w->op;
  if (!run_graph(w, s, a->graph, in, n, out, c->n_out)) return false;
  double more = (double)turns * (double)batch - 1;
  w->op->flop += more * (w->op->flop - before.flop);
  w->op->matrix += more * (w->op->matrix - before.matrix);
  w->op->bytes += more * (w->op->bytes - before.bytes);
  for (size_t k = 0; k < c->n_in; k++)
    if (!berth_i_onnx_note_input(w, c->in[k], false)) return false;
  for (size_t k = 0; k < c->n_out; k++) {
    if (!c->out[k] || out[k]->rank < 0) continue;
    onnx_value *one = k < states || !old ? c->out[k] : berth_i_onnx_value(w->m, c->out[k]->name);
    int64_t axis = old || k < states ? 0 : axis_of(c, "scan_output_axes", k - states,
                                                   out[k]->rank + 1);
    if (!one) return false;
    if (k < states) {
      if (old ? !grow(one, out[k], 0, batch)
              : !berth_i_onnx_set(one, out[k]->dtype, out[k]->rank, out[k]->dim))
        return refuse(c, "too many dimensions");
    } else if (!grow(one, out[k], (int)axis, turns)
               || (old && !grow(c->out[k], one, 0, batch))) {
      return refuse(c, "too many dimensions");
    }
  }
  return true;
}

/* Inputs of the function get the values of the call. FunctionProto: name 1, inputs 4, outputs 5,
 * nodes 7, opsets 9, domain 10. */
static bool open_function(walker *w, onnx_scope *s, onnx_call *c, onnx_bytes data) {
  onnx_wire g = berth_i_onnx_wire(w->m, data, "FunctionProto");
  onnx_field f;
  onnx_opset *opset = NULL;
  size_t k = 0, n = 0, cap = 0;
  while (berth_i_onnx_next(&g, &f)) {
    if (f.number != 4 && f.number != 9) continue;
    if (!berth_i_onnx_is(&g, &f, ONNX_LENGTH)) return false;
    if (f.number == 9) {
      if (!ONNX_GROW(w->m, opset, cap, n + 1)) return false;
      if (!berth_i_onnx_read_opset(w->m, f.data, &opset[n++])) return false;
      continue;
    }
    onnx_value *v = k < c->n_in ? c->in[k] : NULL;
    k++;
    if (v && !berth_i_onnx_define(w->m, s, f.data, v)) return false;
  }
  w->caller = c->node;
  w->opset = opset;
  w->n_opset = n;
  return w->m->st == BERTH_OK;
}

static bool run_function(walker *w, onnx_call *c, onnx_bytes data) {
  onnx_wire g = berth_i_onnx_wire(w->m, data, "FunctionProto");
  onnx_field f;
  onnx_scope s = { 0 };
  walker outside = *w;
  size_t o = 0;
  bool good = open_function(w, &s, c, data) && berth_i_onnx_visit_all(w, &s, data, 7);
  w->caller = outside.caller;
  w->opset = outside.opset;
  w->n_opset = outside.n_opset;
  while (good && berth_i_onnx_next(&g, &f)) {
    if (f.number != 5 || o >= c->n_out) continue;
    onnx_value *v = berth_i_onnx_find(&s, f.data);
    if (!v) return berth_i_onnx_wrong(c, "output %.*s of its function is made by no node",
                                      ONNX_TEXT(f.data));
    if (c->out[o] && !take_over(w, c->out[o], v)) return false;
    o++;
  }
  return good && w->m->st == BERTH_OK;
}

static bool is(const onnx_node *node, const char *kind) {
  return node->domain.n == 0 && berth_i_onnx_equal(node->kind, kind);
}

bool berth_i_onnx_has_body(const onnx_node *node, onnx_bytes function) {
  return function.n || is(node, "If") || is(node, "Loop") || is(node, "Scan");
}

bool berth_i_onnx_run(onnx_walker *w, onnx_scope *s, onnx_call *c, onnx_bytes function) {
  if (w->depth >= ONNX_DEPTH) return refuse(c, "functions and subgraphs are too deep");
  w->depth++;
  bool good = function.n ? run_function(w, c, function)
              : is(c->node, "If") ? run_if(w, s, c)
              : is(c->node, "Loop") ? run_loop(w, s, c) : run_scan(w, s, c);
  w->depth--;
  return good;
}

onnx_bytes berth_i_onnx_function(onnx_model *m, const onnx_node *node) {
  for (size_t k = 0; k < m->functions.n; k++) {
    onnx_wire w = berth_i_onnx_wire(m, m->functions.at[k], "FunctionProto");
    onnx_field f;
    onnx_bytes name = { NULL, 0 }, domain = { NULL, 0 };
    while (berth_i_onnx_next(&w, &f)) {
      if (f.number == 1 && f.type == ONNX_LENGTH) name = f.data;
      if (f.number == 10 && f.type == ONNX_LENGTH) domain = f.data;
    }
    if (berth_i_onnx_alike(name, node->kind) && berth_i_onnx_alike(domain, node->domain))
      return m->functions.at[k];
  }
  return (onnx_bytes){ NULL, 0 };
}

