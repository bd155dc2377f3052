/* Training steps: which ops get a gradient, what their backward ops read, move and compute, and the
 * updates of weights. Each O(ops + edges), but for what an op reads: O(its inputs) per question. */
#include "graph/transforms/mirror_internal.h"

static bool is_sink(const berth_graph *g, int32_t v) {
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) {
    int32_t t = g->out[i];
    if (g->use_at[t] < g->use_at[t + 1]) return false;
  }
  return true;
}

static uint32_t flags_of(const berth_i_mirror *m, int32_t v) {
  if (m->step->of) return m->step->of[v].flags;
  return m->opts->activations ? BERTH_I_SAVE_INPUTS : 0;
}

/* ---- which ops have backward ops ---- */

/* Without a reader's: the parameters of each op. */
static berth_status own_weights(berth_i_mirror *m) {
  int32_t n = 0, *readers = berth_i_pool_alloc(&m->pool, (size_t)m->g->n_ops, sizeof *readers);
  berth_i_weight *w = berth_i_pool_alloc(&m->pool, (size_t)m->g->n_ops, sizeof *w);
  if (!readers || !w) return berth_i_pool_status(&m->pool);
  for (int32_t v = 0; v < m->g->n_ops; v++) {
    if (berth_i_param(m->g, v) == 0) continue;
    w[n] = (berth_i_weight){ berth_i_param(m->g, v), n, 1 };
    readers[n++] = v;
  }
  m->own = (berth_i_step){ .weight = w, .n_weights = n, .readers = readers };
  m->step = &m->own;
  return BERTH_OK;
}

/* A weight's group: its first reader's, else a new one. */
static void read_weights(berth_i_mirror *m) {
  m->n_groups = m->g->n_groups;
  for (int32_t v = 0; v < m->g->n_ops; v++) m->group[v] = berth_i_group(m->g, v);
  for (int32_t k = 0; k < m->step->n_weights; k++) {
    const berth_i_weight *w = &m->step->weight[k];
    for (int32_t i = w->first; i < w->first + w->n; i++)
      m->weights[m->step->readers[i]] += w->bytes;
    int32_t owner = m->step->readers[w->first];
    if (m->group[owner] == BERTH_NONE) m->group[owner] = m->n_groups++;
  }
}

static bool passes(const berth_i_mirror *m, int32_t t) {
  return !(m->step->fixed && m->step->fixed[t]);
}

static bool any_wanted(const berth_i_mirror *m, int32_t v, int32_t besides) {
  for (int32_t i = m->g->in_at[v]; i < m->g->in_at[v + 1]; i++)
    if (m->g->in[i] != besides && berth_i_mirror_wants(m, m->g->in[i])) return true;
  return false;
}

/* Does a gradient come back through an output? If no consumer sends one, that of the loss does. */
static bool gets_gradient(berth_i_mirror *m, int32_t v) {
  const berth_graph *g = m->g;
  bool sink = is_sink(g, v), any = false, loss = sink && g->out_at[v] == g->out_at[v + 1];
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) {
    int32_t t = g->out[i];
    if (!passes(m, t)) continue;
    loss |= sink || (m->step->output && m->step->output[t]);
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++) any |= m->needs[g->use[j]] != 0;
  }
  m->ends[v] = loss && !any;
  return loss || any;
}

static void find_needs(berth_i_mirror *m) {
  const berth_graph *g = m->g;
  for (int32_t k = 0; k < g->n_ops; k++) {
    int32_t v = g->topo[k];
    if (flags_of(m, v) & BERTH_I_NO_GRADIENT) continue;
    m->needs[v] = m->weights[v] > 0 || any_wanted(m, v, BERTH_NONE);
  }
  for (int32_t k = g->n_ops - 1; k >= 0; k--) {
    int32_t v = g->topo[k];
    m->needs[v] = m->needs[v] && gets_gradient(m, v);
  }
}

/* Is a weight an operand, not only a bias? */
static bool multiplies_weight(const berth_i_mirror *m, int32_t v) {
  const berth_i_backward *f = m->step->of ? &m->step->of[v] : NULL;
  bool any = !f || f->n_operands == 0;
  for (int32_t k = 0; !any && k < f->n_operands; k++) any = f->operand[k] == BERTH_I_WEIGHT;
  return any && m->weights[v] > 0;
}

static void number(berth_i_mirror *m) {
  for (int32_t v = 0; !m->step && v < m->g->n_ops; v++) m->ends[v] = is_sink(m->g, v);
  m->n_ops = m->g->n_ops;
  for (int32_t v = m->g->n_ops - 1; v >= 0; v--) {
    bool all = !m->step, inputs = all || (m->needs[v] && any_wanted(m, v, BERTH_NONE));
    const berth_shape *s = all ? NULL : berth_i_shape(m->g, v);
    bool two = inputs && s && s->product.m > 0 && !s->product.gradients && multiplies_weight(m, v);
    m->giver[v] = m->twin[v] = BERTH_NONE;
    if (inputs) m->giver[v] = m->n_ops++;
    if (two || (!inputs && m->needs[v])) m->twin[v] = m->n_ops++;
    else m->twin[v] = m->giver[v];
  }
}

berth_status berth_i_mirror_plan(berth_i_mirror *m) {
  size_t n = (size_t)m->g->n_ops;
  bool step = m->step || m->opts->optimizer != BERTH_OPTIMIZER_NONE;
  m->twin = berth_i_pool_alloc(&m->pool, n, sizeof *m->twin);
  m->giver = berth_i_pool_alloc(&m->pool, n, sizeof *m->giver);
  m->needs = berth_i_pool_zalloc(&m->pool, n, sizeof *m->needs);
  m->ends = berth_i_pool_zalloc(&m->pool, n, sizeof *m->ends);
  m->weights = berth_i_pool_zalloc(&m->pool, n, sizeof *m->weights);
  m->group = berth_i_pool_alloc(&m->pool, n, sizeof *m->group);
  berth_status st = berth_i_pool_status(&m->pool);
  if (st == BERTH_OK && step && !m->step) st = own_weights(m);
  if (st != BERTH_OK) return st;
  if (step) {
    read_weights(m);
    find_needs(m);
  }
  number(m);
  if (step && m->n_ops == m->g->n_ops)
    return berth_i_fail(m->g->ctx, BERTH_EINVAL, "mirror: nothing to train: no op has parameters "
                        "that a gradient reaches");
  return BERTH_OK;
}

/* ---- what a backward op does ---- */

/* Of v: has this op the gradients of inputs, of the weight? */
static bool gives(const berth_i_mirror *m, int32_t v, int32_t op) { return m->giver[v] == op; }
static bool trains(const berth_i_mirror *m, int32_t v, int32_t op) {
  return m->twin[v] == op && m->weights[v] > 0;
}

/* Of a product, which this op gives: 1 the left operand's, 2 the others'. */
static int32_t sides(const berth_i_mirror *m, int32_t v, int32_t op) {
  const berth_i_backward *f = &m->step->of[v];
  int32_t out = 0;
  for (int32_t k = 0; k < f->n_operands; k++) {
    int32_t t = f->operand[k];
    bool wanted = t == BERTH_I_WEIGHT ? trains(m, v, op)
                  : t != BERTH_NONE && gives(m, v, op) && berth_i_mirror_wants(m, t);
    if (wanted) out |= k > 0 ? 2 : 1;
  }
  return out;
}

int32_t berth_i_mirror_gradients(const berth_i_mirror *m, int32_t v, int32_t op) {
  if (!m->step) return 2;
  if (flags_of(m, v) & BERTH_I_LIGHT) return 1;
  if (m->step->of && m->step->of[v].n_operands > 0) {
    int32_t given = sides(m, v, op);
    return given / 2 + given % 2;
  }
  int32_t n = trains(m, v, op), inputs = 0;
  for (int32_t i = m->g->in_at[v]; gives(m, v, op) && i < m->g->in_at[v + 1]; i++)
    inputs += berth_i_mirror_wants(m, m->g->in[i]);
  if (m->weights[v] > 0 && inputs > 1) inputs = 1;
  return n + inputs < 2 ? n + inputs : 2;
}

/* Gradients flow from step to step of a recurrence even if its inputs need none. */
double berth_i_mirror_share(const berth_i_mirror *m, int32_t v, int32_t op) {
  int32_t n = berth_i_mirror_gradients(m, v, op);
  bool last = n == 1 && m->step && m->step->of && sides(m, v, op) == 2;
  double state = last ? m->step->of[v].state : 0;
  return (n + state) / 2;
}

bool berth_i_mirror_saves(const berth_i_mirror *m, int32_t v, int32_t op, int32_t t) {
  if (!m->step) return m->opts->activations != 0;
  uint32_t flags = flags_of(m, v);
  bool two = m->twin[v] != m->giver[v] && m->giver[v] != BERTH_NONE;
  if (two && op == m->giver[v]) return false; /* of a product it reads the weight */
  if (flags & BERTH_I_SAVE_FIXED && !berth_i_mirror_wants(m, t)) return true;
  if (flags & BERTH_I_SAVE_INPUTS) return true;
  return (flags & BERTH_I_SAVE_OTHERS) && (trains(m, v, op) || any_wanted(m, v, t));
}

bool berth_i_mirror_saves_output(const berth_i_mirror *m, int32_t v, int32_t op) {
  return m->step && op == m->twin[v] && (flags_of(m, v) & BERTH_I_SAVE_OUTPUT)
         && !m->ends[v]; /* those are read in any case */
}

/* Gradients of the outputs, or these for that of the loss. */
static double incoming(const berth_i_mirror *m, int32_t v) {
  const berth_graph *g = m->g;
  double bytes = 0;
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) {
    int32_t t = g->out[i], n = m->ends[v];
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++)
      n += berth_i_mirror_wants(m, t) && m->giver[g->use[j]] != BERTH_NONE;
    bytes += n * g->tensor_bytes[t];
  }
  return bytes;
}

/* A view moves nothing backward either. */
double berth_i_mirror_bytes(const berth_i_mirror *m, int32_t v, int32_t op) {
  const berth_graph *g = m->g;
  double forward = g->bytes ? g->bytes[v] : 0, bytes = incoming(m, v);
  if (!m->step) return forward * m->opts->ratio;
  if (forward == 0) return 0;
  for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
    int32_t t = g->in[i];
    if (berth_i_mirror_saves(m, v, op, t)) bytes += g->tensor_bytes[t];
    if (gives(m, v, op) && berth_i_mirror_wants(m, t)) bytes += g->tensor_bytes[t];
  }
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++)
    if (berth_i_mirror_saves_output(m, v, op)) bytes += g->tensor_bytes[g->out[i]];
  return bytes + m->weights[v] * (gives(m, v, op) + trains(m, v, op));
}

/* Of [m, k] times [k, n]: of the right operand [k, m] times [m, n], of the left [m, n] times
 * [n, k]; a convolution sums the latter, of a pixel of its input, over its windows, too. */
const berth_shape *berth_i_mirror_shape(const berth_i_mirror *m, int32_t v, int32_t op,
                                        berth_shape *out) {
  const berth_shape *forward = berth_i_shape(m->g, v);
  int32_t n = berth_i_mirror_gradients(m, v, op);
  if (!forward || forward->product.gradients || forward->attention.backward || m->opts->ratio < 2)
    return NULL;
  if (n == 0 || (n < 2 && forward->attention.seq > 0)) return NULL;
  *out = *forward;
  berth_product *p = &out->product;
  out->attention.backward = forward->attention.seq > 0;
  bool known = m->step && m->step->of && m->step->of[v].n_operands > 0;
  if (n == 2) p->gradients = p->m > 0;
  else if (known ? sides(m, v, op) == 2 : trains(m, v, op)) { /* of the right operand */
    p->m = forward->product.k;
    p->k = forward->product.m;
  } else {
    double area = m->step->of && m->step->of[v].area > 0 ? m->step->of[v].area : 1;
    p->n = forward->product.k / area;
    p->k = forward->product.n * area;
  }
  return out;
}

/* ---- updates ---- */

berth_status berth_i_mirror_name(berth_i_mirror *m, const char *forward, const char *ending,
                                 const char **out) {
  size_t n = forward ? strlen(forward) : 0, more = strlen(ending) + 1;
  *out = NULL;
  if (n == 0) return BERTH_OK;
  berth_status st;
  if ((st = BERTH_I_POOL_GROW(&m->pool, m->name, m->name_cap, n + more)) != BERTH_OK) return st;
  memcpy(m->name, forward, n);
  memcpy(m->name + n, ending, more);
  *out = m->name;
  return BERTH_OK;
}

/* FLOP and bytes of state of a parameter. Source: D. Kingma, J. Ba, "Adam: A Method for Stochastic
 * Optimization", 2015, algorithm 1. */
static const struct rule {
  const char *kind;
  double flop, state;
} rules[] = { { "", 0, 0 }, { "sgd", 2, 0 }, { "momentum", 4, 4 }, { "adam", 12, 8 } };

/* Bytes of a number; without a dtype 4. */
static double width(const berth_graph *g) {
  const char *dtype = g->dtype ? g->dtype : "";
  return strcmp(dtype, "fp64") == 0 ? 8 : strcmp(dtype, "bf16") == 0 || strcmp(dtype, "fp16") == 0
                                          ? 2 : 4;
}

int32_t berth_i_mirror_parts(const berth_i_mirror *m, const berth_i_weight *w) {
  int32_t n = 0;
  if (m->opts->optimizer == BERTH_OPTIMIZER_NONE) return 0;
  for (int32_t i = w->first; i < w->first + w->n; i++)
    n += m->twin[m->step->readers[i]] != BERTH_NONE;
  return n;
}

/* It reads the gradients and changes weight and state. */
static berth_status add_update(berth_i_mirror *m, const berth_i_weight *w, int32_t parts) {
  const struct rule *rule = &rules[m->opts->optimizer];
  int32_t owner = m->step->readers[w->first];
  double size = width(m->g), count = w->bytes / size, state = rule->state + (size < 4 ? 4 : 0);
  berth_op op, from;
  berth_status st;
  if ((st = berth_graph_op(m->g, owner, &from)) != BERTH_OK) return st;
  op = berth_op_default();
  if ((st = berth_i_mirror_name(m, from.name, ".update", &op.name)) != BERTH_OK) return st;
  op.kind = rule->kind;
  op.flop = (rule->flop + parts - 1) * count;
  op.bytes = (parts + 2) * w->bytes + 2 * count * state;
  op.param_bytes = count * state;
  op.group = m->group[owner];
  op.pin = from.pin;
  op.flags = BERTH_OP_UPDATE;
  return berth_graph_builder_add_op(m->b, &op, NULL);
}

berth_status berth_i_mirror_updates(berth_i_mirror *m) {
  berth_status st = BERTH_OK;
  for (int32_t k = m->step->n_weights - 1; k >= 0 && st == BERTH_OK; k--) {
    int32_t parts = berth_i_mirror_parts(m, &m->step->weight[k]);
    if (parts > 0) st = add_update(m, &m->step->weight[k], parts);
  }
  return st;
}

static berth_status add_weight_gradients(berth_i_mirror *m, const berth_i_weight *w,
                                         int32_t update) {
  berth_status st = BERTH_OK;
  for (int32_t i = w->first; i < w->first + w->n && st == BERTH_OK; i++) {
    berth_tensor x = { m->twin[m->step->readers[i]], w->bytes, -1, BERTH_TENSOR_GRADIENT };
    int32_t id;
    if (x.producer == BERTH_NONE) continue;
    if ((st = berth_graph_builder_add_tensor(m->b, &x, &id)) == BERTH_OK)
      st = berth_graph_builder_add_consumer(m->b, id, update);
  }
  return st;
}

berth_status berth_i_mirror_weight_gradients(berth_i_mirror *m) {
  berth_status st = BERTH_OK;
  int32_t update = m->n_ops;
  for (int32_t k = m->step->n_weights - 1; k >= 0 && st == BERTH_OK; k--)
    if (berth_i_mirror_parts(m, &m->step->weight[k]) > 0)
      st = add_weight_gradients(m, &m->step->weight[k], update++);
  return st;
}
