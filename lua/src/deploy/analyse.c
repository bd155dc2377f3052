/* berth.deploy: type "analysis" (roles of ops, tensors with the batch, gradients), the table of
 * rules by kind, and simplification of graphs. Arrays become tables at the first access and stay in
 * the anchor. Names of roles and rules are in the order of the core's enums. */
#include "analyse.h"
#include <string.h>

static const char *const role_names[] = { "compute", "input",  "variable", "update",
                                          "scatter", "assign", "auto",     NULL };
static const char *const batch_names[] = { "never", "always", "first", "any", "auto", NULL };
static const char *const output_names[] = { "first", "all", NULL };

/* ---- the object ---- */

BL_RELEASE(release, berth_analysis_release)

berth_analysis *bl_check_analysis(lua_State *L, int i, const char *fn, const char *what) {
  return ((bl_box *)bl_check(L, i, &bl_analysis_class, fn, what))->object;
}

BL_SELF(self, berth_analysis, bl_analysis_class)
static int32_t n_ops(const berth_analysis *a) { return berth_graph_ops(berth_analysis_graph(a)); }
static int32_t n_tensors(const berth_analysis *a) {
  return berth_graph_tensors(berth_analysis_graph(a));
}

/* [-0, +1] Array of booleans [n], unlike bl_push_marked: the position is the id, and false is in
 * it. */
static void push_marks(lua_State *L, int32_t n, const uint8_t *mark) {
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_pushboolean(L, mark[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

/* get_NAME: what build_NAME pushes, made once and kept in the anchor. A script that changes the
 * table changes what it reads later, never the analysis. */
#define CACHED(NAME)                                                                              \
  static int get_##NAME(lua_State *L) {                                                           \
    self(L, "analysis." #NAME);                                                                   \
    return bl_cached(L, 1, #NAME, build_##NAME);                                                  \
  }
#define MARKS(NAME, COUNT, GET)                                                                   \
  static void build_##NAME(lua_State *L) {                                                        \
    const berth_analysis *a = self(L, "analysis." #NAME);                                         \
    push_marks(L, COUNT(a), GET(a));                                                              \
  }                                                                                               \
  CACHED(NAME)

MARKS(batch, n_tensors, berth_analysis_batch)
MARKS(gradient, n_tensors, berth_analysis_gradient)
MARKS(from_input, n_ops, berth_analysis_from_input)

/* [-0, +1] [ops] names of roles: "compute", "input", ... */
static void build_role(lua_State *L) {
  const berth_analysis *a = self(L, "analysis.role");
  bl_push_names(L, n_ops(a), berth_analysis_role(a), role_names);
}

CACHED(role)

/* [-0, +1] [ops] base group of each op. */
static void build_base(lua_State *L) {
  const berth_analysis *a = self(L, "analysis.base");
  bl_push_ids(L, n_ops(a), berth_analysis_base(a, NULL));
}

CACHED(base)

/* [-0, +1] Kinds of ops for which there is no rule. */
static void build_unknown(lua_State *L) {
  int32_t n;
  const char *const *kind = berth_analysis_unknown(self(L, "analysis.unknown"), &n);
  bl_push_strings(L, n, kind);
}

CACHED(unknown)

/* [-0, +1] A new box of the same graph each time. */
static int get_graph(lua_State *L) {
  berth_analysis *a = self(L, "analysis.graph");
  berth_graph **g = bl_new_graph(L);
  berth_graph_retain(berth_analysis_graph(a));
  *g = berth_analysis_graph(a);
  return 1;
}

/* ---- counts ---- */

typedef struct counts {
  int32_t ops, tensors, base, batch, gradients, from_input, role[BERTH_ROLE_AUTO];
} counts;

/* How many ops and tensors have each property, O(ops + tensors): for the field `counts` and
 * tostring. */
static counts count(const berth_analysis *a) {
  counts c = { n_ops(a), n_tensors(a), 0, 0, 0, 0, { 0 } };
  berth_analysis_base(a, &c.base);
  for (int32_t k = 0; k < c.tensors; k++) {
    c.batch += berth_analysis_batch(a)[k];
    c.gradients += berth_analysis_gradient(a)[k];
  }
  for (int32_t k = 0; k < c.ops; k++) {
    c.from_input += berth_analysis_from_input(a)[k];
    c.role[berth_analysis_role(a)[k]]++;
  }
  return c;
}

/* [-0, +1] How many of each role and kind. */
static int get_counts(lua_State *L) {
  counts c = count(self(L, "analysis.counts"));
  lua_newtable(L);
  bl_set_count(L, "ops", c.ops);
  bl_set_count(L, "tensors", c.tensors);
  bl_set_count(L, "base", c.base);
  bl_set_count(L, "batch", c.batch);
  bl_set_count(L, "gradient", c.gradients);
  bl_set_count(L, "from_input", c.from_input);
  for (int k = 0; k < BERTH_ROLE_AUTO; k++) bl_set_count(L, role_names[k], c.role[k]);
  return 1;
}

static int to_string(lua_State *L) {
  counts c = count(self(L, "tostring"));
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_format(&b, "analysis: %d ops in %d base groups, %d from input; ", (int)c.ops, (int)c.base,
                (int)c.from_input);
  bl_add_format(&b, "%d of %d tensors have the batch, %d are gradients; ", (int)c.batch,
                (int)c.tensors, (int)c.gradients);
  bl_add_format(&b, "%d inputs, %d variables, %d updates", (int)c.role[BERTH_ROLE_INPUT],
                (int)c.role[BERTH_ROLE_VARIABLE],
                (int)(c.role[BERTH_ROLE_UPDATE] + c.role[BERTH_ROLE_SCATTER]));
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg fields[] = {
  { "batch", get_batch },           { "gradient", get_gradient }, { "role", get_role },
  { "from_input", get_from_input }, { "base", get_base },         { "graph", get_graph },
  { "counts", get_counts },         { "unknown", get_unknown },   { NULL, NULL }
};

const bl_class bl_analysis_class = {.name = "analysis",
                                    .key = "berth.analysis",
                                    .release = release,
                                    .fields = fields,
                                    .text = to_string};

/* ---- rules ---- */

/* deploy_rules(): array of { kind, role, batch, outputs } */
static int deploy_rules(lua_State *L) {
  const berth_kind_rule *rule;
  int32_t n = berth_kind_rules(&rule);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_newtable(L);
    bl_set_string(L, "kind", rule[k].kind);
    bl_set_string(L, "role", role_names[rule[k].role]);
    bl_set_string(L, "batch", batch_names[rule[k].batch]);
    bl_set_string(L, "outputs", output_names[rule[k].all_outputs != 0]);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* [-0, +0] The table at the top. What is not given stays AUTO: found from the graph. */
static void read_rule(lua_State *L, const bl_where *w, berth_kind_rule *r) {
  int t = lua_gettop(L);
  *r = (berth_kind_rule){ NULL, BERTH_ROLE_AUTO, BERTH_BATCH_AUTO, 0 };
  int k;
  if (bl_get_enum(L, t, w, "role", role_names, &k)) r->role = (berth_role)k;
  if (bl_get_enum(L, t, w, "batch", batch_names, &k)) r->batch = (berth_batch_rule)k;
  if (bl_get_enum(L, t, w, "outputs", output_names, &k)) r->all_outputs = k;
}

/* [-0, +2] Rules by kind, in scratch. The texts are anchored in the table of the caller's, which is
 * an argument and cannot be collected while the call runs. */
static void read_kinds(lua_State *L, int t, const char *fn, berth_analysis_options *o) {
  static const char *const keys[] = { "kind", "role", "batch", "outputs", NULL };
  bl_where w = { fn, NULL, 0 }, item = { fn, "rules", 0 };
  int32_t n;
  if (!bl_get_array(L, t, &w, "rules", &n)) return;
  berth_kind_rule *rules = bl_scratch(L, (size_t)n, sizeof *rules);
  lua_getfield(L, t, "rules");
  for (int32_t k = 0; k < n; k++) {
    int at = bl_to_entry(L, -1, &item, k, keys);
    read_rule(L, &item, &rules[k]);
    bl_need(L, (rules[k].kind = bl_get_string(L, at, &item, "kind")) != NULL, &item, "kind");
    lua_settop(L, at - 1);
  }
  o->n_rules = n;
  o->rules = rules;
}

/* [-0, +0] The field `op`, by name or id, 0-based. A name that several ops share raises, as one
 * that none has: berth_graph_find does not distinguish them. */
static int32_t named_op(lua_State *L, int at, const bl_where *item, const berth_graph *g) {
  lua_getfield(L, at, "op");
  int32_t op;
  if (lua_type(L, -1) == LUA_TSTRING) {
    op = berth_graph_find(g, lua_tostring(L, -1));
    if (op == BERTH_NONE)
      bl_wrong(L, item, "op", "there is no op \"%s\", or there are several", lua_tostring(L, -1));
  } else {
    op = bl_to_id(L, lua_gettop(L), item, "op", berth_graph_ops(g), "op");
  }
  lua_pop(L, 1);
  return op;
}

/* [-0, +n] Rules of single ops, each under the op it names. */
static void read_ops(lua_State *L, int t, const char *fn, const berth_graph *g,
                     berth_analysis_options *o) {
  static const char *const keys[] = { "op", "role", "batch", "outputs", NULL };
  bl_where w = { fn, NULL, 0 }, item = { fn, "ops", 0 };
  int32_t n;
  if (!bl_get_array(L, t, &w, "ops", &n)) return;
  berth_kind_rule *rules = bl_scratch(L, (size_t)n, sizeof *rules);
  int32_t *op = bl_scratch(L, (size_t)n, sizeof *op);
  lua_getfield(L, t, "ops");
  for (int32_t k = 0; k < n; k++) {
    int at = bl_to_entry(L, -1, &item, k, keys);
    op[k] = named_op(L, at, &item, g);
    read_rule(L, &item, &rules[k]);
    lua_settop(L, at - 1);
  }
  o->n_ops = n;
  o->op = op;
  o->op_rule = rules;
}

const bl_table bl_analysis_tables[] = { berth_analysis_option_table, NULL };
const bl_table bl_simplify_tables[] = { berth_simplify_option_table, NULL };

/* berth.deploy.analyse(graph, { rules, ops, flags }): analysis; nil, message, code. Stack: graph,
 * options, the box, arrays of rules. */
static int deploy_analyse(lua_State *L) {
  BL_WHERE(w, "berth.deploy.analyse");
  berth_analysis_options o = berth_analysis_default();
  lua_settop(L, 2);
  berth_graph *g = bl_check_graph(L, 1, w.fn, "graph");
  int t = bl_option_table(L, 2, &w, bl_analysis_tables);
  bl_box *box = bl_new(L, &bl_analysis_class, sizeof *box);
  bl_read_options(L, t, &w, berth_analysis_option_table(), &o);
  if (t) read_kinds(L, t, w.fn, &o);
  if (t) read_ops(L, t, w.fn, g, &o);
  berth_analysis *a;
  berth_status st;
  if ((st = berth_analyse(g, &o, &a)) != BERTH_OK) return bl_refused(L, w.fn, st);
  box->object = a;
  lua_pushvalue(L, 3);
  bl_track(L);
  return 1;
}

/* ---- simplification ---- */

/* [-0, +n] The strings stay in the table of the caller. */
static void read_cheap_kinds(lua_State *L, int t, const bl_where *w, berth_simplify_options *o) {
  int32_t n;
  if (!bl_get_array(L, t, w, "kinds", &n)) return;
  const char **kinds = bl_scratch(L, (size_t)n, sizeof *kinds);
  lua_getfield(L, t, "kinds");
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, -1, k + 1);
    kinds[k] = bl_to_text(L, lua_gettop(L), w, "kinds");
    lua_pop(L, 1);
  }
  o->n_kinds = n;
  o->kinds = kinds;
}

/* [-0, +n] Ops whose inputs are needed; without the option the core selects them. */
static void read_sinks(lua_State *L, int t, const bl_where *w, const berth_graph *g,
                       berth_simplify_options *o) {
  int32_t n;
  if (!bl_get_array(L, t, w, "sinks", &n)) return;
  o->sink = bl_to_ids(L, lua_gettop(L), w, "sinks", n, berth_graph_ops(g), "op");
  o->n_sinks = n;
}

/* berth.deploy.simplify(graph, { sinks, kinds, cheap, cost, control }): graph, map [ops] with the
 * id in the new graph, or false where the op is gone; nil, message, code. */
static int deploy_simplify(lua_State *L) {
  BL_WHERE(w, "berth.deploy.simplify");
  berth_simplify_options o = berth_simplify_default();
  lua_settop(L, 2);
  berth_graph *g = bl_check_graph(L, 1, w.fn, "graph");
  int t = bl_option_table(L, 2, &w, bl_simplify_tables);
  berth_graph **out = bl_new_graph(L);
  int32_t *map = bl_scratch(L, (size_t)berth_graph_ops(g), sizeof *map);
  bl_read_options(L, t, &w, berth_simplify_option_table(), &o);
  if (t) {
    read_cheap_kinds(L, t, &w, &o);
    read_sinks(L, t, &w, g, &o);
    lua_getfield(L, t, "cost");
    if (!lua_isnil(L, -1)) o.cost = bl_check_cost(L, lua_gettop(L), w.fn, "cost");
  }
  berth_status st;
  if ((st = berth_simplify(g, &o, out, map)) != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushvalue(L, 3);
  bl_track(L);
  bl_push_map(L, berth_graph_ops(g), map);
  return 2;
}

const luaL_Reg bl_analyse_functions[] = { { "deploy_analyse", deploy_analyse },
                                          { "deploy_rules", deploy_rules },
                                          { "deploy_simplify", deploy_simplify },
                                          { NULL, NULL } };
