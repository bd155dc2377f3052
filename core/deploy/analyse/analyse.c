/* Roles, batch flags, what descends from the input, base groups: TAG's graph analyser.
 *
 * One pass in topological order marks which tensors carry the batch (by rules of kinds, or the
 * graph's flags) and which ops descend from an input. Base groups are disjoint sets: a variable
 * with what writes it, an op with the makers of the tensors that it reads whole, colocation groups;
 * the root of a set is its lowest op. O(ops + edges), nearly. Source: TAG (Zhang et al., IEEE TPDS
 * 2023), its code. */
#include "analyse_internal.h"
#include "base/union_find_internal.h"

typedef struct analysing {
  const berth_graph *g;
  berth_analysis *a;
  berth_i_op_rule *rule; /* [ops] */
  int32_t *parent;       /* [ops] disjoint sets; the root is the lowest op */
  uint8_t *seeded;       /* [ops] in a group from the start: writes a variable, or is one that is
                            written */
  bool flags;            /* the graph's flags count, where no rule is given */
} analysing;

berth_analysis_options berth_analysis_default(void) {
  return (berth_analysis_options){ .flags = BERTH_FLAGS_AUTO };
}

static void set_defaults(void *out) { *(berth_analysis_options *)out = berth_analysis_default(); }

static const berth_choice *const flags[] = {
  BERTH_I_CHOICE("rules", "By the built-in table."),
  BERTH_I_CHOICE("graph", "Those that the graph flags."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_analysis_options, name, kind)

const berth_option_table *berth_analysis_option_table(void) {
  static const berth_option options[] = {
    { FIELD(rules, OTHER), .takes = "array",
      .text = "{ kind, role, batch, outputs }: rules that come before the built-in table" },
    { BERTH_I_OPTION_AT(berth_analysis_options, op, "ops", OTHER), .takes = "array",
      .text = "{ op, role, batch, outputs }: rules of single ops" },
    { FIELD(flags, CHOICE), .first = BERTH_FLAGS_RULES, .choices = flags,
      .fallback = "graph if any tensor has a flag",
      .text = "which tensors have the batch" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("analysis", options, berth_analysis_options, set_defaults);
}

/* ---- what descends from the input ---- */

/* Does this tensor bring what depends on the input? */
static bool carries(const analysing *x, int32_t t) {
  return !berth_i_is_control(x->g, t) && x->a->from_input[x->g->producer[t]];
}

static bool reads_nothing(const berth_graph *g, int32_t op) {
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++)
    if (!berth_i_is_control(g, g->in[i])) return false;
  return true;
}

/* Its outputs have their flags. */
static bool is_source(const analysing *x, int32_t op) {
  const berth_graph *g = x->g;
  if (x->a->role[op] == BERTH_ROLE_INPUT) return true;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1] && reads_nothing(g, op); i++)
    if (x->a->batch[g->out[i]]) return true;
  return false;
}

static bool descends(const analysing *x, int32_t op) {
  for (int32_t i = x->g->in_at[op]; i < x->g->in_at[op + 1]; i++)
    if (carries(x, x->g->in[i])) return true;
  return false;
}

/* ---- batch flags ---- */

/* FIRST: of the inputs that descend from the input; neither a parameter nor a constant says
 * anything about the batch. */
static bool makes_batch(const analysing *x, int32_t op) {
  const berth_graph *g = x->g;
  uint8_t rule = x->rule[op].batch;
  if (rule == BERTH_BATCH_ALWAYS) return true;
  if (rule != BERTH_BATCH_FIRST && rule != BERTH_BATCH_ANY) return false;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    bool batch = x->a->batch[g->in[i]];
    if (rule == BERTH_BATCH_ANY ? batch : carries(x, g->in[i])) return batch;
  }
  return false;
}

static bool flagged(const berth_graph *g, int32_t t) {
  return g->tensor_flags && (g->tensor_flags[t] & BERTH_TENSOR_BATCH);
}

static bool has_flags(const berth_graph *g) {
  for (int32_t t = 0; t < g->n_tensors; t++)
    if (flagged(g, t)) return true;
  return false;
}

/* Gradients are summed; what scatters is concatenated, whatever else reads it. */
static void set_update_roles(const analysing *x, uint8_t role, uint8_t batch) {
  const berth_graph *g = x->g;
  for (int32_t v = 0; v < g->n_ops; v++)
    for (int32_t i = g->in_at[v]; x->a->role[v] == role && i < g->in_at[v + 1]; i++)
      if (carries(x, g->in[i])) x->a->batch[g->in[i]] = batch;
}

static void find_marks(const analysing *x) {
  for (int32_t k = 0; k < x->g->n_ops; k++) {
    int32_t v = x->g->topo[k];
    /* Which of its outputs have a batch. */
    const berth_graph *g = x->g;
    bool by_flags = x->flags && !x->rule[v].given, yes = !by_flags && makes_batch(x, v),
         first = true;
    for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) {
      int32_t t = g->out[i];
      if (berth_i_is_control(g, t)) continue;
      x->a->batch[t] = by_flags ? flagged(g, t) : yes && (first || x->rule[v].all_outputs);
      first = false;
    }
    x->a->from_input[v] = is_source(x, v) || descends(x, v);
  }
  set_update_roles(x, BERTH_ROLE_UPDATE, 0);
  set_update_roles(x, BERTH_ROLE_SCATTER, 1);
}

/* ---- kinds without a rule ---- */

/* In the order of their first ops; ops without a kind count as one kind. */
static berth_status find_unknown(const analysing *x) {
  const berth_graph *g = x->g;
  size_t n = (size_t)g->kinds.n + 1;
  uint8_t *seen = berth_i_zalloc(g->ctx, n, 1);
  if (!seen) return berth_i_nomem(g->ctx);
  for (int32_t v = 0; v < g->n_ops; v++) {
    int32_t kind = g->op_kind && g->op_kind[v] != BERTH_NONE ? g->op_kind[v] : g->kinds.n;
    if (x->flags || x->rule[v].known || !x->a->from_input[v]
        || x->a->role[v] != BERTH_ROLE_COMPUTE || seen[kind])
      continue;
    seen[kind] = 1;
    x->a->unknown[x->a->n_unknown++] = kind < g->kinds.n ? g->kinds.text[kind] : "";
  }
  berth_i_free(g->ctx, seen, n, 1);
  return BERTH_OK;
}

/* ---- base groups ---- */

static void seed(const analysing *x, int32_t op) {
  const berth_graph *g = x->g;
  x->seeded[op] = 1;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t u = g->producer[g->in[i]];
    if (x->a->role[u] != BERTH_ROLE_VARIABLE) continue;
    x->seeded[u] = 1;
    berth_i_sets_join(x->parent, op, u);
  }
}

static void join_makers(const analysing *x, int32_t op) {
  const berth_graph *g = x->g;
  bool glued = !x->flags && !x->rule[op].known;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], u = g->producer[t];
    if (berth_i_is_control(g, t) || (x->a->batch[t] && !glued)) continue;
    if (x->a->from_input[u] || x->seeded[u]) berth_i_sets_join(x->parent, op, u);
  }
}

/* @param first [groups] scratch */
static void join_colocated(const analysing *x, int32_t *first) {
  const berth_graph *g = x->g;
  memset(first, 0xff, (size_t)g->n_groups * sizeof *first);
  for (int32_t v = 0; g->group && v < g->n_ops; v++) {
    if (g->group[v] == BERTH_NONE) continue;
    if (first[g->group[v]] == BERTH_NONE) first[g->group[v]] = v;
    else berth_i_sets_join(x->parent, first[g->group[v]], v);
  }
}

static berth_status find_base(const analysing *x) {
  const berth_graph *g = x->g;
  size_t groups = (size_t)g->n_groups;
  int32_t *first = berth_i_alloc(g->ctx, groups, sizeof *first);
  if (!first) return berth_i_nomem(g->ctx);
  for (int32_t v = 0; v < g->n_ops; v++) x->parent[v] = v;
  for (int32_t v = 0; v < g->n_ops; v++)
    if (berth_i_writes_variable(x->a->role[v])) seed(x, v);
  for (int32_t v = 0; v < g->n_ops; v++)
    if (x->a->from_input[v]) join_makers(x, v);
  join_colocated(x, first);
  /* A root is the lowest op of its set, so it has its number before the others need it. */
  int32_t n = 0;
  for (int32_t v = 0; v < x->g->n_ops; v++) {
    int32_t root = berth_i_sets_root(x->parent, v);
    x->a->base[v] = root == v ? n++ : x->a->base[root];
  }
  x->a->n_base = n;
  berth_i_free(g->ctx, first, groups, sizeof *first);
  return BERTH_OK;
}

/* ---- the object ---- */

static berth_status alloc_arrays(berth_analysis *a) {
  size_t ops = (size_t)a->g->n_ops, tensors = (size_t)a->g->n_tensors;
  a->role = berth_i_pool_alloc(&a->pool, ops, 1);
  a->from_input = berth_i_pool_zalloc(&a->pool, ops, 1);
  a->batch = berth_i_pool_zalloc(&a->pool, tensors, 1);
  a->gradient = berth_i_pool_zalloc(&a->pool, tensors, 1);
  a->base = berth_i_pool_alloc(&a->pool, ops, sizeof *a->base);
  a->unknown = berth_i_pool_alloc(&a->pool, (size_t)a->g->kinds.n + 1, sizeof *a->unknown);
  return berth_i_pool_status(&a->pool);
}

static berth_status fill(analysing *x, const berth_analysis_options *o) {
  berth_status st = berth_i_op_rules(x->g, o, x->rule);
  if (st != BERTH_OK) return st;
  for (int32_t v = 0; v < x->g->n_ops; v++) x->a->role[v] = x->rule[v].role;
  x->flags = o->flags == BERTH_FLAGS_GRAPH || (o->flags == BERTH_FLAGS_AUTO && has_flags(x->g));
  find_marks(x);
  /* Gradients among what updates read. */
  const berth_graph *g = x->g;
  for (int32_t v = 0; v < g->n_ops; v++) {
    if (x->a->role[v] != BERTH_ROLE_UPDATE && x->a->role[v] != BERTH_ROLE_SCATTER) continue;
    for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
      int32_t t = g->in[i];
      x->a->gradient[t] = carries(x, t);
    }
  }
  if ((st = find_unknown(x)) != BERTH_OK) return st;
  return find_base(x);
}

berth_status berth_analyse(berth_graph *g, const berth_analysis_options *opts,
                           berth_analysis **out) {
  if (!g || !out) return BERTH_EINVAL;
  const berth_analysis_options defaults = berth_analysis_default(), *o = opts ? opts : &defaults;
  berth_status st = berth_options_check(g->ctx, berth_analysis_option_table(), o);
  if (st == BERTH_OK) st = berth_i_check_rules(g, o);
  if (st != BERTH_OK) return st;
  if (g->n_collectives > 0)
    return berth_i_fail(g->ctx, BERTH_EUNSUPPORTED,
                        "the graph has %ld collectives: it is deployed already",
                        (long)g->n_collectives);
  berth_analysis *a;
  if (!(a = berth_i_pool_object(g->ctx, sizeof *a))) return berth_i_nomem(g->ctx);
  a->refs = 1;
  a->g = g;
  berth_graph_retain(g);
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  size_t ops = (size_t)g->n_ops;
  analysing x = { .g = g, .a = a };
  x.rule = berth_i_pool_alloc(&scratch, ops, sizeof *x.rule);
  x.parent = berth_i_pool_alloc(&scratch, ops, sizeof *x.parent);
  x.seeded = berth_i_pool_zalloc(&scratch, ops, 1);
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) st = alloc_arrays(a);
  if (st == BERTH_OK) st = fill(&x, o);
  berth_i_pool_free(&scratch);
  if (st == BERTH_OK) *out = a;
  else berth_analysis_release(a);
  return st;
}

void berth_analysis_retain(berth_analysis *a) { a->refs++; }

void berth_analysis_release(berth_analysis *a) {
  if (!a || --a->refs > 0) return;
  berth_graph *g = a->g;
  berth_i_pool_free(&a->pool);
  berth_graph_release(g);
}

berth_graph *berth_analysis_graph(const berth_analysis *a) { return a->g; }
const uint8_t *berth_analysis_role(const berth_analysis *a) { return a->role; }
const uint8_t *berth_analysis_batch(const berth_analysis *a) { return a->batch; }
const uint8_t *berth_analysis_gradient(const berth_analysis *a) { return a->gradient; }
const uint8_t *berth_analysis_from_input(const berth_analysis *a) { return a->from_input; }

const int32_t *berth_analysis_base(const berth_analysis *a, int32_t *n) {
  if (n) *n = a->n_base;
  return a->base;
}

const char *const *berth_analysis_unknown(const berth_analysis *a, int32_t *n) {
  *n = a->n_unknown;
  return a->unknown;
}
