/* Forward graph in, forward and backward graph out. Op v of n gets the twin 2n - 1 - v. Each tensor
 * has a gradient that flows against it; sinks are joined to their twins, or only the last one.
 * O(ops + edges). */
#include "graph/graph_internal.h"

typedef struct mirror {
  berth_i_pool pool;
  const berth_graph *g;
  const berth_mirror_options *opts;
  berth_graph_builder *b;
  double *seconds;   /* [n_types] of the current op */
  char *name;        /* [name_cap] of the current op */
  size_t name_cap;
} mirror;

static const char suffix[] = ".backward";

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
  if (g->n_ops > INT32_MAX / 2)
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

static int32_t twin_of(const mirror *m, int32_t v) { return 2 * m->g->n_ops - 1 - v; }

static double scaled(double seconds, double ratio) {
  return isinf(seconds) ? BERTH_UNSUPPORTED : seconds * ratio;
}

static const double *backward_seconds(mirror *m, int32_t v, const double *forward) {
  if (m->opts->seconds) return &m->opts->seconds[v];
  for (int32_t k = 0; forward && k < m->g->n_types; k++)
    m->seconds[k] = scaled(forward[k], m->opts->ratio);
  return forward ? m->seconds : NULL;
}

static berth_status backward_name(mirror *m, const char *forward, const char **out) {
  size_t n = forward ? strlen(forward) : 0;
  *out = NULL;
  if (n == 0) return BERTH_OK;
  berth_status st;
  if ((st = BERTH_I_POOL_GROW(&m->pool, m->name, m->name_cap, n + sizeof suffix)) != BERTH_OK)
    return st;
  memcpy(m->name, forward, n);
  memcpy(m->name + n, suffix, sizeof suffix);
  *out = m->name;
  return BERTH_OK;
}

/* The backward kernels do at least twice the work of the forward one. @param s out */
static const berth_shape *backward_shape(const mirror *m, const berth_shape *forward,
                                         berth_shape *s) {
  if (!forward || forward->product.gradients || forward->attention.backward || m->opts->ratio < 2)
    return NULL;
  *s = *forward;
  s->product.gradients = s->product.m > 0;
  s->attention.backward = s->attention.seq > 0;
  return s;
}

static berth_status add_backward_op(mirror *m, int32_t v) {
  berth_op op;
  berth_shape shape;
  berth_status st = berth_graph_op(m->g, v, &op);
  if (st != BERTH_OK) return st;
  if ((st = backward_name(m, op.name, &op.name)) != BERTH_OK) return st;
  op.seconds = backward_seconds(m, v, op.seconds);
  op.flop *= m->opts->ratio;
  op.shape = backward_shape(m, op.shape, &shape);
  op.bytes *= m->opts->ratio;
  if (!m->opts->params) op.param_bytes = 0;
  op.twin = v;
  op.flags |= BERTH_OP_BACKWARD;
  return berth_graph_builder_add_op(m->b, &op, NULL);
}

static berth_status add_ops(mirror *m) {
  berth_status st = BERTH_OK;
  for (int32_t v = 0; v < m->g->n_ops && st == BERTH_OK; v++) {
    berth_op op;
    if ((st = berth_graph_op(m->g, v, &op)) != BERTH_OK) return st;
    op.twin = twin_of(m, v);
    st = berth_graph_builder_add_op(m->b, &op, NULL);
  }
  for (int32_t v = m->g->n_ops - 1; v >= 0 && st == BERTH_OK; v--) st = add_backward_op(m, v);
  return st;
}

/* ---- tensors ---- */

static void size_as_output(const berth_graph *g, int32_t v, berth_tensor *x) {
  bool any = g->out_at[v] < g->out_at[v + 1];
  x->bytes = any ? g->tensor_bytes[g->out[g->out_at[v]]] : 0;
  x->resident_bytes = any ? berth_i_resident(g, g->out[g->out_at[v]]) : 0;
}

/* twin(v) -> twin(u) for one u -> v of tensor t. */
static berth_status add_gradient(mirror *m, int32_t t, int32_t v) {
  berth_tensor x;
  berth_status st = berth_graph_tensor(m->g, t, &x);
  if (st != BERTH_OK) return st;
  int32_t twin_u = twin_of(m, x.producer);
  x.producer = twin_of(m, v);
  x.flags &= ~(uint32_t)BERTH_TENSOR_GRADIENT;
  if (m->opts->gradients == BERTH_GRADIENT_AS_OUTPUT) size_as_output(m->g, v, &x);
  int32_t id;
  if ((st = berth_graph_builder_add_tensor(m->b, &x, &id)) != BERTH_OK) return st;
  return berth_graph_builder_add_consumer(m->b, id, twin_u);
}

static bool is_sink(const berth_graph *g, int32_t v) {
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) {
    int32_t t = g->out[i];
    if (g->use_at[t] < g->use_at[t + 1]) return false;
  }
  return true;
}

/* The twin reads what the op produces, or waits for it if that is nothing. */
static berth_status join_twin(mirror *m, int32_t v) {
  const berth_graph *g = m->g;
  berth_status st = BERTH_OK;
  if (g->out_at[v] == g->out_at[v + 1])
    return berth_graph_builder_connect(m->b, v, twin_of(m, v), 0, NULL);
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1] && st == BERTH_OK; i++) {
    st = berth_graph_builder_add_consumer(m->b, g->out[i], twin_of(m, v));
  }
  return st;
}

/* In this order, which is that of the inputs of the backward ops: forward tensors, joins,
 * gradients, activations. */
static berth_status add_tensors(mirror *m) {
  const berth_graph *g = m->g;
  berth_status st = BERTH_OK;
  for (int32_t t = 0; t < g->n_tensors && st == BERTH_OK; t++) {
    berth_tensor x;
    if ((st = berth_graph_tensor(g, t, &x)) == BERTH_OK)
      st = berth_graph_builder_add_tensor(m->b, &x, NULL);
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && st == BERTH_OK; j++)
      st = berth_graph_builder_add_consumer(m->b, t, g->use[j]);
  }
  if (st == BERTH_OK && m->opts->join == BERTH_JOIN_LAST) st = join_twin(m, g->n_ops - 1);
  for (int32_t v = 0; m->opts->join == BERTH_JOIN_SINKS && v < g->n_ops && st == BERTH_OK; v++)
    if (is_sink(g, v)) st = join_twin(m, v);
  for (int32_t t = 0; t < g->n_tensors; t++)
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && st == BERTH_OK; j++)
      st = add_gradient(m, t, g->use[j]);
  for (int32_t t = 0; m->opts->activations && t < g->n_tensors; t++)
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && st == BERTH_OK; j++)
      st = berth_graph_builder_add_consumer(m->b, t, twin_of(m, g->use[j]));
  return st;
}

/* ---- the whole ---- */

static berth_status build(mirror *m, berth_graph **out) {
  const berth_graph *g = m->g;
  berth_status st;
  if ((st = berth_graph_builder_types(m->b, g->n_types, (const char *const *)g->types)) != BERTH_OK)
    return st;
  if ((st = berth_graph_builder_name(m->b, g->name)) != BERTH_OK) return st;
  berth_i_builder_describe(m->b, g);
  if ((st = berth_graph_builder_reserve(m->b, 2 * g->n_ops, 0, 0)) != BERTH_OK) return st;
  if ((st = add_ops(m)) != BERTH_OK) return st;
  if ((st = add_tensors(m)) != BERTH_OK) return st;
  return berth_graph_builder_finish(m->b, out);
}

static void write_origin(const berth_graph *g, int32_t *origin) {
  for (int32_t v = 0; origin && v < g->n_ops; v++) origin[v] = origin[2 * g->n_ops - 1 - v] = v;
}

berth_status berth_graph_mirror(const berth_graph *g, const berth_mirror_options *opts,
                                berth_graph **out, int32_t *origin) {
  if (!g || !out) return BERTH_EINVAL;
  const berth_mirror_options defaults = berth_mirror_default();
  mirror m = { .pool = berth_i_pool_empty(g->ctx), .g = g, .opts = opts ? opts : &defaults };
  berth_status st = check(g, m.opts);
  if (st != BERTH_OK) return st;
  if ((st = berth_graph_builder_new(g->ctx, &m.b)) != BERTH_OK) return st;
  m.seconds = berth_i_pool_alloc(&m.pool, (size_t)g->n_types, sizeof *m.seconds);
  if ((st = berth_i_pool_status(&m.pool)) == BERTH_OK) st = build(&m, out);
  if (st == BERTH_OK) write_origin(g, origin);
  berth_i_pool_free(&m.pool);
  berth_graph_builder_release(m.b);
  return st;
}
