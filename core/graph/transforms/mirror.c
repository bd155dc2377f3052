/* Forward graph in, forward and backward graph out. Op v of n gets the twin 2n - 1 - v; in a
 * training step, where ops have no backward op or two, the numbers of mirror_step.c. Each tensor
 * has a gradient that flows against it; sinks are joined to their twins, or only the last one.
 * O(ops + edges). */
#include "graph/transforms/mirror_internal.h"

typedef berth_i_mirror mirror;

berth_mirror_options berth_mirror_default(void) {
  return (berth_mirror_options){ .ratio = 2, .join = BERTH_JOIN_SINKS, .activations = 1 };
}

static void set_defaults(void *out) { *(berth_mirror_options *)out = berth_mirror_default(); }

static const berth_choice *const joins[] = {
  BERTH_I_CHOICE("sinks", "Every sink feeds its own backward op."),
  BERTH_I_CHOICE("last", "Only the last op feeds the first backward op, as PAC-ML's simulator "
                         "does."),
  NULL
};
static const berth_choice *const gradients[] = {
  BERTH_I_CHOICE("input", "As the tensor whose gradient it is."),
  BERTH_I_CHOICE("output", "As the first output of the op whose twin sends it, as PAC-ML's "
                           "simulator does."),
  NULL
};

const berth_choice *const berth_i_optimizers[] = {
  BERTH_I_CHOICE("none", "No updates; each op has a backward op."),
  BERTH_I_CHOICE("sgd", "Gradient descent: no state."),
  BERTH_I_CHOICE("momentum", "With a velocity: 4 bytes of state a parameter."),
  BERTH_I_CHOICE("adam", "With two moments: 8 bytes of state a parameter."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_mirror_options, name, kind)

const berth_option_table *berth_mirror_option_table(void) {
  static const berth_option options[] = {
    { FIELD(ratio, NUMBER), .text = "backward time / forward time" },
    { FIELD(seconds, OTHER), .takes = "array", .fallback = "by ratio",
      .text = "backward time of each op" },
    { FIELD(join, CHOICE), .choices = joins, .text = "how the backward pass begins" },
    { FIELD(gradients, CHOICE), .choices = gradients, .text = "bytes of backward tensors" },
    { FIELD(activations, FLAG), .text = "a backward op also reads the inputs of its forward op" },
    { FIELD(params, FLAG), .text = "a backward op has the parameter bytes, too (gradients)" },
    { FIELD(optimizer, CHOICE), .choices = berth_i_optimizers,
      .text = "a training step: updates of the parameters, and gradients where these need them" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("mirror", options, berth_mirror_options, set_defaults);
}

/* ---- checks ---- */

static berth_status check_forward_op(const berth_graph *g, int32_t v) {
  const char *what = NULL;
  if (berth_i_twin(g, v) != BERTH_NONE) {
    what = "has a twin";
  } else if (g->flags && (g->flags[v] & BERTH_OP_BACKWARD)) {
    what = "is a backward op";
  } else if (g->flags && (g->flags[v] & BERTH_OP_UPDATE)) {
    what = "is an optimiser step";
  }
  if (!what) return BERTH_OK;
  char label[80];
  return berth_i_fail(g->ctx, BERTH_EINVAL, "mirror: %s %s already",
                      berth_i_op_label(g, v, label, sizeof label), what);
}

static berth_status check_graph(const berth_graph *g) {
  berth_status st = BERTH_OK;
  if (g->n_collectives > 0) {
    return berth_i_fail(g->ctx, BERTH_EINVAL, "mirror: graph has %ld collectives",
                        (long)g->n_collectives);
  }
  if (g->n_ops > INT32_MAX / 4)
    return berth_i_fail(g->ctx, BERTH_EINVAL, "mirror: too many ops: %ld", (long)g->n_ops);
  for (int32_t v = 0; v < g->n_ops && st == BERTH_OK; v++) st = check_forward_op(g, v);
  return st;
}

static berth_status check_seconds(const berth_graph *g, const double *seconds) {
  if (!seconds) return BERTH_OK;
  if (g->n_types != 1) {
    return berth_i_fail(g->ctx, BERTH_EINVAL,
                        "mirror: backward times need a graph of one device type, this has %ld",
                        (long)g->n_types);
  }
  char label[80];
  for (int32_t v = 0; v < g->n_ops; v++) {
    if (seconds[v] >= 0) continue;
    berth_i_op_label(g, v, label, sizeof label);
    if (isnan(seconds[v]))
      return berth_i_fail(g->ctx, BERTH_EINVAL, "mirror: %s: backward time is not a number", label);
    return berth_i_fail(g->ctx, BERTH_EINVAL, "mirror: %s: backward time %g s is negative", label,
                        seconds[v]);
  }
  return BERTH_OK;
}

static berth_status check(const berth_graph *g, const berth_mirror_options *opts) {
  berth_status st = check_graph(g);
  if (st != BERTH_OK) return st;
  if ((st = berth_options_check(g->ctx, berth_mirror_option_table(), opts)) != BERTH_OK) return st;
  return check_seconds(g, opts->seconds);
}

/* ---- ops ---- */

static double scaled(double seconds, double ratio) {
  return isinf(seconds) ? BERTH_UNSUPPORTED : seconds * ratio;
}

/* @param share of the backward times */
static const double *backward_seconds(mirror *m, int32_t v, const double *forward, double share) {
  const double *given = m->opts->seconds ? &m->opts->seconds[v] : forward;
  double ratio = m->opts->seconds ? share : share * m->opts->ratio;
  for (int32_t k = 0; given && k < m->g->n_types; k++) m->seconds[k] = scaled(given[k], ratio);
  return given ? m->seconds : NULL;
}

/* One of the backward ops of v. Each gradient takes half of what both take. */
static berth_status add_backward_op(mirror *m, int32_t v, int32_t id) {
  berth_op op;
  berth_shape shape;
  berth_status st = berth_graph_op(m->g, v, &op);
  bool twin = id == m->twin[v], grouped = m->step && id == m->giver[v];
  double share = berth_i_mirror_share(m, v, id);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_mirror_name(m, op.name, twin ? ".backward" : ".backward_inputs", &op.name))
      != BERTH_OK)
    return st;
  op.seconds = backward_seconds(m, v, op.seconds, share);
  op.flop *= m->opts->ratio * share;
  op.shape = berth_i_mirror_shape(m, v, id, &shape);
  op.bytes = berth_i_mirror_bytes(m, v, id);
  if (!m->opts->params || !twin) op.param_bytes = 0;
  else if (m->step) op.param_bytes = m->weights[v];
  if (grouped) op.group = m->group[v];
  op.twin = twin ? v : BERTH_NONE;
  op.flags |= BERTH_OP_BACKWARD;
  return berth_graph_builder_add_op(m->b, &op, NULL);
}

static berth_status add_ops(mirror *m) {
  berth_status st = BERTH_OK;
  for (int32_t v = 0; v < m->g->n_ops && st == BERTH_OK; v++) {
    berth_op op;
    if ((st = berth_graph_op(m->g, v, &op)) != BERTH_OK) return st;
    op.twin = m->twin[v];
    if (m->step) op.group = m->group[v];
    st = berth_graph_builder_add_op(m->b, &op, NULL);
  }
  for (int32_t v = m->g->n_ops - 1; v >= 0 && st == BERTH_OK; v--) {
    int32_t giver = m->giver[v], twin = m->twin[v];
    if (giver != BERTH_NONE) st = add_backward_op(m, v, giver);
    if (st == BERTH_OK && twin != giver) st = add_backward_op(m, v, twin);
  }
  return st == BERTH_OK && m->step ? berth_i_mirror_updates(m) : st;
}

/* ---- tensors ---- */

static void size_as_output(const berth_graph *g, int32_t v, berth_tensor *x) {
  bool any = g->out_at[v] < g->out_at[v + 1];
  x->bytes = any ? g->tensor_bytes[g->out[g->out_at[v]]] : 0;
  x->resident_bytes = any ? berth_i_resident(g, g->out[g->out_at[v]]) : 0;
}

/* The backward ops of v read the tensor. */
static berth_status add_readers(mirror *m, int32_t tensor, int32_t v) {
  berth_status st = BERTH_OK;
  if (m->giver[v] != BERTH_NONE)
    st = berth_graph_builder_add_consumer(m->b, tensor, m->giver[v]);
  if (st == BERTH_OK && m->twin[v] != m->giver[v])
    st = berth_graph_builder_add_consumer(m->b, tensor, m->twin[v]);
  return st;
}

/* giver(v) -> backward ops of u for one u -> v of tensor t. */
static berth_status add_gradient(mirror *m, int32_t t, int32_t v) {
  berth_tensor x;
  if (m->giver[v] == BERTH_NONE || !berth_i_mirror_wants(m, t)) return BERTH_OK;
  berth_status st = berth_graph_tensor(m->g, t, &x);
  if (st != BERTH_OK) return st;
  int32_t u = x.producer, id;
  x.producer = m->giver[v];
  x.flags &= ~(uint32_t)BERTH_TENSOR_GRADIENT;
  if (m->opts->gradients == BERTH_GRADIENT_AS_OUTPUT) size_as_output(m->g, v, &x);
  if ((st = berth_graph_builder_add_tensor(m->b, &x, &id)) != BERTH_OK) return st;
  return add_readers(m, id, u);
}

/* The backward ops read what the op produces, or wait for it if that is nothing. */
static berth_status join_twin(mirror *m, int32_t v) {
  const berth_graph *g = m->g;
  berth_status st = BERTH_OK;
  if (m->twin[v] == BERTH_NONE) return st;
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1] && st == BERTH_OK; i++)
    st = add_readers(m, g->out[i], v);
  if (g->out_at[v] < g->out_at[v + 1]) return st;
  int32_t id;
  berth_tensor x = { v, 0, -1, 0 };
  if ((st = berth_graph_builder_add_tensor(m->b, &x, &id)) != BERTH_OK) return st;
  return add_readers(m, id, v);
}

/* Backward ops of v that save tensor t of its inputs. */
static berth_status save_input(mirror *m, int32_t t, int32_t v) {
  berth_status st = BERTH_OK;
  int32_t twin = m->twin[v], giver = m->giver[v];
  if (giver != BERTH_NONE && berth_i_mirror_saves(m, v, giver, t))
    st = berth_graph_builder_add_consumer(m->b, t, giver);
  if (st == BERTH_OK && twin != giver && berth_i_mirror_saves(m, v, twin, t))
    st = berth_graph_builder_add_consumer(m->b, t, twin);
  return st;
}

static berth_status save_tensor(mirror *m, int32_t t) {
  const berth_graph *g = m->g;
  int32_t u = g->producer[t];
  berth_status st = BERTH_OK;
  if (m->twin[u] != BERTH_NONE && berth_i_mirror_saves_output(m, u, m->twin[u]))
    st = berth_graph_builder_add_consumer(m->b, t, m->twin[u]);
  for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && st == BERTH_OK; j++)
    st = save_input(m, t, g->use[j]);
  return st;
}

/* Where it is known what is saved, a tensor that no backward op reads is overwritten in place by
 * its reader. It takes no memory of its own: rule "training" would count it up to the backward
 * pass. */
static bool is_transient(const mirror *m, int32_t t) {
  const berth_graph *g = m->g;
  int32_t u = g->producer[t];
  if (!m->step || !m->step->of || m->twin[u] == BERTH_NONE || g->use_at[t] == g->use_at[t + 1])
    return false;
  bool read = m->ends[u] || berth_i_mirror_saves_output(m, u, m->twin[u]);
  for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && !read; j++) {
    int32_t v = g->use[j];
    read = m->twin[v] != BERTH_NONE && (berth_i_mirror_saves(m, v, m->twin[v], t)
           || (m->giver[v] != BERTH_NONE && berth_i_mirror_saves(m, v, m->giver[v], t)));
  }
  return !read;
}

/* In this order, which is that of the inputs of the backward ops: forward tensors, joins,
 * gradients, activations. */
static berth_status add_tensors(mirror *m) {
  const berth_graph *g = m->g;
  berth_status st = BERTH_OK;
  for (int32_t t = 0; t < g->n_tensors && st == BERTH_OK; t++) {
    berth_tensor x;
    if ((st = berth_graph_tensor(g, t, &x)) != BERTH_OK) return st;
    if (is_transient(m, t)) x.resident_bytes = 0;
    st = berth_graph_builder_add_tensor(m->b, &x, NULL);
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && st == BERTH_OK; j++)
      st = berth_graph_builder_add_consumer(m->b, t, g->use[j]);
  }
  if (st == BERTH_OK && m->opts->join == BERTH_JOIN_LAST) st = join_twin(m, g->n_ops - 1);
  for (int32_t v = 0; m->opts->join == BERTH_JOIN_SINKS && v < g->n_ops && st == BERTH_OK; v++)
    if (m->ends[v]) st = join_twin(m, v);
  for (int32_t t = 0; t < g->n_tensors; t++)
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && st == BERTH_OK; j++)
      st = add_gradient(m, t, g->use[j]);
  for (int32_t t = 0; t < g->n_tensors && st == BERTH_OK; t++) st = save_tensor(m, t);
  return st == BERTH_OK && m->step ? berth_i_mirror_weight_gradients(m) : st;
}

/* ---- the whole ---- */

static berth_status build(mirror *m, berth_graph **out) {
  const berth_graph *g = m->g;
  berth_status st;
  if ((st = berth_graph_builder_types(m->b, g->n_types, (const char *const *)g->types)) != BERTH_OK)
    return st;
  if ((st = berth_graph_builder_name(m->b, g->name)) != BERTH_OK) return st;
  berth_i_builder_describe(m->b, g);
  if ((st = berth_graph_builder_reserve(m->b, m->n_ops, 0, 0)) != BERTH_OK) return st;
  if ((st = add_ops(m)) != BERTH_OK) return st;
  if ((st = add_tensors(m)) != BERTH_OK) return st;
  return berth_graph_builder_finish(m->b, out);
}

static void write_origin(const mirror *m, int32_t *origin) {
  int32_t update = m->n_ops;
  for (int32_t v = 0; v < m->g->n_ops; v++) {
    origin[v] = v;
    if (m->twin[v] == BERTH_NONE) continue;
    origin[m->twin[v]] = v;
    if (m->giver[v] != BERTH_NONE) origin[m->giver[v]] = v;
  }
  for (int32_t k = m->step ? m->step->n_weights - 1 : -1; k >= 0; k--) {
    const berth_i_weight *w = &m->step->weight[k];
    if (berth_i_mirror_parts(m, w) > 0) origin[update++] = m->step->readers[w->first];
  }
}

berth_status berth_i_graph_mirror(const berth_graph *g, const berth_mirror_options *opts,
                                  const berth_i_step *step, berth_graph **out, int32_t *origin) {
  mirror m = { .pool = berth_i_pool_empty(g->ctx), .g = g, .opts = opts, .step = step };
  berth_status st = check(g, m.opts);
  if (st != BERTH_OK) return st;
  if ((st = berth_graph_builder_new(g->ctx, &m.b)) != BERTH_OK) return st;
  m.seconds = berth_i_pool_alloc(&m.pool, (size_t)g->n_types, sizeof *m.seconds);
  if ((st = berth_i_pool_status(&m.pool)) == BERTH_OK) st = berth_i_mirror_plan(&m);
  if (st == BERTH_OK) st = build(&m, out);
  if (st == BERTH_OK && origin) write_origin(&m, origin);
  berth_i_pool_free(&m.pool);
  berth_graph_builder_release(m.b);
  return st;
}

berth_status berth_graph_mirror(const berth_graph *g, const berth_mirror_options *opts,
                                berth_graph **out, int32_t *origin) {
  if (!g || !out) return BERTH_EINVAL;
  const berth_mirror_options defaults = berth_mirror_default();
  return berth_i_graph_mirror(g, opts ? opts : &defaults, NULL, out, origin);
}
