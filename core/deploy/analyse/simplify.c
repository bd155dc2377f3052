/* What a deployment can do without: ops that no sink needs, ops that do nothing, cheap ops that
 * join their parent. An op joins its one predecessor, or the deepest op that it reads if it is the
 * only reader, so that the smaller graph stays acyclic. `into` is the op that stands for each;
 * `source` the tensor that replaces what an idle op makes. O(ops + edges). Source: TAG's code. */
#include "simplify_internal.h"

typedef berth_i_simplifying simplifying;

static const char *const cheap_kinds[] = { "Sigmoid", "Relu", "LeakyRelu", "Tanh" };

berth_simplify_options berth_simplify_default(void) {
  return (berth_simplify_options){ .n_kinds = -1 };
}

static void set_defaults(void *out) { *(berth_simplify_options *)out = berth_simplify_default(); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_simplify_options, name, kind)

const berth_option_table *berth_simplify_option_table(void) {
  static const berth_option options[] = {
    { BERTH_I_OPTION_AT(berth_simplify_options, sink, "sinks", OTHER), .takes = "array",
      .fallback = "updates, scatter and assign ops",
      .text = "ops that are needed, with all before them" },
    { FIELD(kinds, OTHER), .takes = "array", .fallback = "Sigmoid, Relu, LeakyRelu, Tanh",
      .text = "kinds of cheap ops" },
    { FIELD(cheap, NUMBER), .high = 1,
      .text = "also cheap: ops of at most this share of the time of all" },
    { FIELD(cost, OTHER), .takes = "cost", .text = "a cost of the graph, for op times" },
    { FIELD(control, FLAG), .text = "tensors of 0 bytes without flags stay" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("simplify", options, berth_simplify_options, set_defaults);
}

static bool is_kind(const berth_graph *g, int32_t op, const char *kind) {
  return g->op_kind && g->op_kind[op] != BERTH_NONE
         && strcmp(g->kinds.text[g->op_kind[op]], kind) == 0;
}

/* ---- what sinks need ---- */

/* @return how many */
static int32_t mark_sinks(const simplifying *x, uint8_t *sink) {
  int32_t n = x->o->n_sinks;
  memset(sink, 0, (size_t)x->g->n_ops);
  for (int32_t k = 0; k < x->o->n_sinks; k++) sink[x->o->sink[k]] = 1;
  for (int32_t k = 0; x->o->n_sinks == 0 && k < x->g->n_ops; k++) {
    sink[k] = berth_i_writes_variable(x->rule[k].role);
    n += sink[k];
  }
  return n;
}

/* Control dependencies count. A NoOp hands on that it is a sink. */
static void mark_needed(const simplifying *x, uint8_t *sink) {
  const berth_graph *g = x->g;
  if (mark_sinks(x, sink) == 0) memset(x->needed, 1, (size_t)g->n_ops);
  else memcpy(x->needed, sink, (size_t)g->n_ops);
  for (int32_t k = g->n_ops - 1; k >= 0; k--) {
    int32_t v = g->topo[k];
    bool passes_sink = sink[v] && !x->o->control && is_kind(g, v, "NoOp");
    for (int32_t i = g->in_at[v]; x->needed[v] && i < g->in_at[v + 1]; i++) {
      x->needed[g->producer[g->in[i]]] = 1;
      sink[g->producer[g->in[i]]] |= passes_sink;
    }
    if (passes_sink) sink[v] = 0;
  }
}

/* ---- sets ---- */

static bool compatible(int32_t a, int32_t b) {
  return a == BERTH_NONE || b == BERTH_NONE || a == b;
}

/* Without a cost, a profile and a roofline do not add up. */
static bool adds_up(const simplifying *x, int32_t u, int32_t v) {
  return x->o->cost || (x->timed[u] | x->timed[v]) != (BERTH_I_BY_PROFILE | BERTH_I_BY_ROOFLINE);
}

static bool may_join(const simplifying *x, int32_t head, int32_t v) {
  const uint32_t apart = BERTH_OP_BACKWARD | BERTH_OP_UPDATE | BERTH_OP_COMMUNICATION;
  return !((berth_i_flags(x->g, head) ^ berth_i_flags(x->g, v)) & apart)
         && compatible(x->group[head], x->group[v]) && compatible(x->pin[head], x->pin[v])
         && adds_up(x, head, v);
}

static void join(const simplifying *x, int32_t head, int32_t v) {
  x->into[v] = head;
  x->timed[head] |= x->timed[v];
  if (x->group[head] == BERTH_NONE) x->group[head] = x->group[v];
  if (x->pin[head] == BERTH_NONE) x->pin[head] = x->pin[v];
}

/* ---- ops that do nothing ---- */

static bool gives_data_only(const simplifying *x, int32_t v) {
  const berth_graph *g = x->g;
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++)
    if (berth_i_stays(x, g->out[i]) && berth_i_is_control(g, g->out[i])) return false;
  return true;
}

static bool gives_nothing(const simplifying *x, int32_t v) {
  const berth_graph *g = x->g;
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++)
    if (berth_i_stays(x, g->out[i])) return false;
  return true;
}

/* It has one predecessor: so there is no other path from that to it, whatever else reads from
 * there. */
static void pass_on(const simplifying *x, int32_t v, int32_t t) {
  const berth_graph *g = x->g;
  t = x->source[t];
  int32_t head = x->into[g->producer[t]];
  if (berth_i_is_control(g, t) || !gives_data_only(x, v) || !may_join(x, head, v)) return;
  join(x, head, v);
  x->passes[v] = 1;
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) x->source[g->out[i]] = t;
}

static void remove_idle(const simplifying *x, const uint8_t *sink) {
  for (int32_t k = 0; k < x->g->n_ops; k++) {
    int32_t v = x->g->topo[k];
    if (!x->needed[v] || sink[v] || !(is_kind(x->g, v, "Identity") || is_kind(x->g, v, "NoOp")))
      continue;
    /* The one tensor that it reads. BERTH_NONE: none; BERTH_I_SEVERAL. */
    const berth_graph *g = x->g;
    int32_t t = BERTH_NONE;
    for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
      if (!berth_i_stays(x, g->in[i])) continue;
      t = t == BERTH_NONE ? g->in[i] : BERTH_I_SEVERAL;
    }
    if (t >= 0) pass_on(x, v, t);
    else if (t == BERTH_NONE) {
      /* It only keeps order, which is dropped with control dependencies. */
      if (is_kind(x->g, v, "NoOp") && gives_nothing(x, v)) x->into[v] = BERTH_NONE;
    }
  }
}

/* ---- cheap ops ---- */

static bool is_cheap(const simplifying *x, int32_t v, double most) {
  int32_t n =
      x->o->n_kinds < 0 ? (int32_t)(sizeof cheap_kinds / sizeof *cheap_kinds) : x->o->n_kinds;
  const char *const *kinds = x->o->n_kinds < 0 ? cheap_kinds : x->o->kinds;
  if (x->seconds && x->seconds[v] <= most) return true;
  for (int32_t k = 0; k < n; k++)
    if (is_kind(x->g, v, kinds[k])) return true;
  return false;
}

/* The deepest op that it reads from, if it waits for none deeper; ties to the lowest.
 * @param level out: longest number of edges before v */
static int32_t deepest(const simplifying *x, int32_t v, int32_t *level) {
  const berth_graph *g = x->g;
  int32_t best = BERTH_NONE;
  *level = 0;
  for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
    int32_t u = g->producer[x->source[g->in[i]]];
    if (!berth_i_stays(x, g->in[i])) continue;
    int32_t l = x->level[x->into[u]] + 1;
    if (l > *level) best = BERTH_NONE;
    if (l >= *level && !berth_i_is_control(g, g->in[i]) && (best == BERTH_NONE || u < best))
      best = u;
    if (l > *level) *level = l;
  }
  return best;
}

/* The only reader of its parent can join it: no other way leads from there to here. */
static bool joins(const simplifying *x, int32_t u, int32_t v) {
  if (u == BERTH_NONE || x->sole[u] != v || x->rule[v].role != BERTH_ROLE_COMPUTE) return false;
  int32_t head = x->into[u];
  return x->rule[head].role == BERTH_ROLE_COMPUTE && may_join(x, head, v);
}

static void join_cheap(const simplifying *x, const uint8_t *sink) {
  double total = 0;
  for (int32_t v = 0; x->seconds && v < x->g->n_ops; v++) total += x->needed[v] ? x->seconds[v] : 0;
  double most = total * x->o->cheap;
  for (int32_t k = 0; k < x->g->n_ops; k++) {
    int32_t v = x->g->topo[k];
    if (x->into[v] != v) continue;
    int32_t u = deepest(x, v, &x->level[v]);
    if (sink[v] || !is_cheap(x, v, most) || !joins(x, u, v) || sink[x->into[u]]) continue;
    join(x, x->into[u], v);
  }
}

/* ---- times ---- */

static double mean_profile(const berth_graph *g, int32_t op) {
  const double *s = g->seconds + (size_t)op * (size_t)g->n_types;
  double sum = 0;
  int32_t n = 0;
  for (int32_t k = 0; k < g->n_types; k++) {
    if (isinf(s[k])) continue;
    sum += s[k];
    n++;
  }
  return n > 0 ? sum / n : BERTH_UNSUPPORTED;
}

static berth_status find_times(const simplifying *x) {
  const berth_graph *g = x->g;
  if (x->o->cost) return berth_cost_mean_ops(x->o->cost, x->seconds);
  char label[80];
  for (int32_t v = 0; v < g->n_ops; v++) {
    if (!berth_i_profiled(g, v) && !berth_i_is_free(g, v))
      return berth_i_fail(g->ctx, BERTH_EINVAL,
                          "option cheap needs times, and %s has none: give a cost",
                          berth_i_op_label(g, v, label, sizeof label));
    x->seconds[v] = berth_i_profiled(g, v) ? mean_profile(g, v) : 0;
  }
  return BERTH_OK;
}

/* ---- the whole ---- */

static berth_status alloc(simplifying *x) {
  size_t ops = (size_t)x->g->n_ops;
  x->rule = berth_i_pool_alloc(&x->pool, ops, sizeof *x->rule);
  x->needed = berth_i_pool_zalloc(&x->pool, ops, 1);
  x->passes = berth_i_pool_zalloc(&x->pool, ops, 1);
  x->into = berth_i_pool_alloc(&x->pool, ops, sizeof *x->into);
  x->group = berth_i_pool_alloc(&x->pool, ops, sizeof *x->group);
  x->pin = berth_i_pool_alloc(&x->pool, ops, sizeof *x->pin);
  x->source = berth_i_pool_alloc(&x->pool, (size_t)x->g->n_tensors, sizeof *x->source);
  x->sole = berth_i_pool_alloc(&x->pool, ops, sizeof *x->sole);
  x->level = berth_i_pool_zalloc(&x->pool, ops, sizeof *x->level);
  x->timed = berth_i_pool_alloc(&x->pool, ops, 1);
  if (x->o->cheap > 0) x->seconds = berth_i_pool_alloc(&x->pool, ops, sizeof *x->seconds);
  return berth_i_pool_status(&x->pool);
}

/* @param sink [ops] scratch */
static berth_status run(simplifying *x, uint8_t *sink, berth_graph **out, int32_t *map) {
  const berth_analysis_options rules = berth_analysis_default();
  berth_status st;
  if ((st = berth_i_op_rules(x->g, &rules, x->rule)) != BERTH_OK) return st;
  if (x->seconds && (st = find_times(x)) != BERTH_OK) return st;
  mark_needed(x, sink);
  for (int32_t v = 0; v < x->g->n_ops; v++) {
    x->into[v] = x->needed[v] ? v : BERTH_NONE;
    x->group[v] = berth_i_group(x->g, v);
    x->pin[v] = berth_i_pin(x->g, v);
    x->timed[v] = berth_i_profiled(x->g, v)  ? BERTH_I_BY_PROFILE
                  : berth_i_is_free(x->g, v) ? 0
                                             : BERTH_I_BY_ROOFLINE;
  }
  for (int32_t t = 0; t < x->g->n_tensors; t++) x->source[t] = t;
  remove_idle(x, sink);
  /* The one reader of each op. */
  const berth_graph *g = x->g;
  for (int32_t v = 0; v < g->n_ops; v++) x->sole[v] = BERTH_NONE;
  for (int32_t v = 0; v < g->n_ops; v++) {
    for (int32_t i = g->in_at[v]; x->into[v] == v && i < g->in_at[v + 1]; i++) {
      int32_t u = g->producer[x->source[g->in[i]]];
      if (!berth_i_stays(x, g->in[i])) continue;
      x->sole[u] = x->sole[u] == BERTH_NONE || x->sole[u] == v ? v : BERTH_I_SEVERAL;
    }
  }
  join_cheap(x, sink);
  /* What was removed follows its parent, which may have joined another op since. */
  for (int32_t k = 0; k < x->g->n_ops; k++) {
    int32_t v = x->g->topo[k];
    if (x->into[v] != BERTH_NONE) x->into[v] = x->into[x->into[v]];
  }
  return berth_i_simplify_build(x, out, map);
}

berth_status berth_simplify(const berth_graph *g, const berth_simplify_options *opts,
                            berth_graph **out, int32_t *map) {
  if (!g || !out) return BERTH_EINVAL;
  const berth_simplify_options defaults = berth_simplify_default(), *o = opts ? opts : &defaults;
  simplifying x = { .pool = berth_i_pool_empty(g->ctx), .g = g, .o = o };
  size_t ops = (size_t)g->n_ops;
  berth_status st;
  if (g->n_collectives > 0)
    return berth_i_fail(g->ctx, BERTH_EUNSUPPORTED,
                        "the graph has %ld collectives: it is deployed already",
                        (long)g->n_collectives);
  st = berth_options_check(g->ctx, berth_simplify_option_table(), o);
  if (st != BERTH_OK) return st;
  if (o->cost && berth_cost_graph(o->cost) != g)
    return berth_i_fail(g->ctx, BERTH_EINVAL, "the cost is of another graph");
  if (o->n_sinks < 0) return berth_i_fail(g->ctx, BERTH_EINVAL, "%ld sinks", (long)o->n_sinks);
  for (int32_t k = 0; k < o->n_sinks; k++)
    if (o->sink[k] < 0 || o->sink[k] >= g->n_ops)
      return berth_i_fail(g->ctx, BERTH_EINVAL, "there is no op %ld, only %ld ops",
                          (long)o->sink[k], (long)g->n_ops);
  uint8_t *sink = berth_i_pool_alloc(&x.pool, ops, 1);
  if ((st = alloc(&x)) == BERTH_OK) st = run(&x, sink, out, map);
  berth_i_pool_free(&x.pool);
  return st;
}
