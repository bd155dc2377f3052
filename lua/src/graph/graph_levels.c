/* Type "graph": orders, levels, paths, reachability. Times of ops and tensors come from options:
 * arrays `comp` and `comm`, or the means of a cost; without them, from the profile of the first
 * device type.
 * Arrays are in scratch on the stack, [ops] or [tensors], s; results leave as tables. Formulas and
 * sources are with the functions of the core, berth/graph.h. */
#include "graph_names.h"

typedef struct times {
  const double *comp, *comm; /* [ops], [tensors] or NULL; in scratch on the stack */
} times;

BL_SELF(self, berth_graph, bl_graph_class)

static int32_t op_arg(lua_State *L, int i, const berth_graph *g, const char *fn, const char *what) {
  bl_where w = { fn, NULL, 0 };
  return bl_to_id(L, i, &w, what, berth_graph_ops(g), "op");
}

static int no_profile(lua_State *L, const bl_where *w, int32_t op, const char *name) {
  const char *quote = *name ? "\"" : "";
  return bl_wrong(L, w, "comp", "op %d%s%s%s%s has no profile: give comp = {...} or cost = c",
                  (int)op + 1, *name ? " " : "", quote, name, quote);
}

/* [-0, +1] [ops] s of the first device type. An op without a profile raises: 0 s would hide it. */
static double *profile(lua_State *L, const berth_graph *g, const bl_where *w) {
  int32_t n = berth_graph_ops(g);
  double *x = bl_scratch(L, (size_t)n, sizeof *x);
  berth_op op;
  for (int32_t k = 0; k < n; k++) {
    if (berth_graph_op(g, k, &op) != BERTH_OK) break;
    if (!op.seconds) no_profile(L, w, k, op.name ? op.name : "");
    x[k] = op.seconds[0];
  }
  return x;
}

/* [-0, +2] Mean times over the devices, s. */
static void cost_times(lua_State *L, const berth_graph *g, berth_cost *c, const bl_where *w,
                       times *out) {
  if (berth_cost_graph(c) != g) bl_wrong(L, w, "cost", "is of another graph");
  double *comp = bl_scratch(L, (size_t)berth_graph_ops(g), sizeof *comp);
  double *comm = bl_scratch(L, (size_t)berth_graph_tensors(g), sizeof *comm);
  if (berth_cost_mean_ops(c, comp) != BERTH_OK
      || berth_cost_mean_transfers(c, BERTH_AVERAGE_TEXTBOOK, comm) != BERTH_OK)
    bl_error(L, "%s: %s", w->fn, berth_errmsg(bl_ctx(L)));
  out->comp = comp;
  out->comm = comm;
}

BL_OWN_OPTIONS(comp_option, BL_OTHER("comp", "array", "profile of the first device type",
                                     "time of each op, s"))
BL_OWN_OPTIONS(comm_options,
  BL_OTHER("comm", "array", "0", "transfer time of each tensor, s"),
  BL_OTHER("cost", "cost", "none", "mean times over devices, where comp and comm are not given"))
const bl_table bl_levels_tables[] = { comp_option, comm_options, NULL };

/* [-0, +n] Times of ops and tensors, in scratch: options override the cost, that the profile. comm
 * NULL: all transfers take 0 s. */
static times read_times(lua_State *L, const berth_graph *g, const char *fn) {
  bl_where w = { fn, NULL, 0 };
  times out = { NULL, NULL };
  lua_settop(L, 2);
  int t = bl_option_table(L, 2, &w, bl_levels_tables);
  if (t) {
    lua_getfield(L, t, "cost");
    if (!lua_isnil(L, -1)) cost_times(L, g, bl_check_cost(L, -1, fn, "cost"), &w, &out);
  }
  int32_t n;
  if (bl_get_array(L, t, &w, "comp", &n))
    out.comp = bl_to_numbers(L, -1, &w, "comp", berth_graph_ops(g), "op");
  if (bl_get_array(L, t, &w, "comm", &n))
    out.comm = bl_to_numbers(L, -1, &w, "comm", berth_graph_tensors(g), "tensor");
  if (!out.comp) out.comp = profile(L, g, &w);
  return out;
}

typedef berth_status (*level_fn)(const berth_graph *g, const double *comp, const double *comm,
                                 double *out);

/* graph:b_level(options), graph:t_level(options), graph:slack(options): [ops], s; nil, message,
 * code. */
static int levels(lua_State *L, const char *fn, level_fn f) {
  const berth_graph *g = self(L, fn);
  int32_t n = berth_graph_ops(g);
  times t = read_times(L, g, fn);
  double *out = bl_scratch(L, (size_t)n, sizeof *out);
  berth_status st = f(g, t.comp, t.comm, out);
  if (st != BERTH_OK) return bl_refused(L, fn, st);
  bl_push_numbers(L, n, out);
  return 1;
}

static int b_level(lua_State *L) { return levels(L, "graph:b_level", berth_b_level); }
static int t_level(lua_State *L) { return levels(L, "graph:t_level", berth_t_level); }
static int slack(lua_State *L) { return levels(L, "graph:slack", berth_slack); }

/* graph:critical_path(options): ids of ops from a source to a sink, length in s. */
static int critical_path(lua_State *L) {
  static const char FN[] = "graph:critical_path";
  const berth_graph *g = self(L, FN);
  times t = read_times(L, g, FN);
  int32_t n = 0, *path = bl_scratch(L, (size_t)berth_graph_ops(g), sizeof *path);
  double length = 0;
  berth_status st = berth_critical_path(g, t.comp, t.comm, path, &n, &length);
  if (st != BERTH_OK) return bl_refused(L, FN, st);
  bl_push_ids(L, n, path);
  lua_pushnumber(L, length);
  return 2;
}

/* graph:topo_order(): ids of ops, producers first. */
static int topo_order(lua_State *L) {
  const berth_graph *g = self(L, "graph:topo_order");
  int32_t n = berth_graph_ops(g), *order = bl_scratch(L, (size_t)n, sizeof *order);
  berth_status st = berth_topo_order(g, order);
  if (st != BERTH_OK) return bl_failed(L, st);
  bl_push_ids(L, n, order);
  return 1;
}

/* graph:depth(): [ops] number of edges on the longest path from a source; 0 for a source. */
static int depth(lua_State *L) {
  const berth_graph *g = self(L, "graph:depth");
  int32_t n = berth_graph_ops(g), *out = bl_scratch(L, (size_t)n, sizeof *out);
  berth_status st = berth_depth(g, out);
  if (st != BERTH_OK) return bl_failed(L, st);
  bl_push_counts(L, n, out);
  return 1;
}

BL_OWN_OPTIONS(tolerance_option,
  BL_ROW("tolerance", NUMBER, "0", "share by which times of a meta-op may differ", .high = 1))
const bl_table bl_meta_ops_tables[] = { comp_option, tolerance_option, NULL };

/* graph:meta_ops(options): [ops] number of the meta-op of each, how many there are. */
static int meta_ops(lua_State *L) {
  static const char FN[] = "graph:meta_ops";
  bl_where w = { FN, NULL, 0 };
  const berth_graph *g = self(L, FN);
  int32_t n = berth_graph_ops(g), sets = 0;
  const double *comp = NULL;
  double tolerance = 0;
  lua_settop(L, 2);
  int t = bl_option_table(L, 2, &w, bl_meta_ops_tables);
  bl_get_number(L, t, &w, "tolerance", &tolerance);
  int32_t k;
  if (bl_get_array(L, t, &w, "comp", &k)) comp = bl_to_numbers(L, -1, &w, "comp", n, "op");
  if (!comp) comp = profile(L, g, &w);
  int32_t *out = bl_scratch(L, (size_t)n, sizeof *out);
  berth_status st;
  if ((st = berth_meta_ops(g, comp, tolerance, out, &sets)) != BERTH_OK)
    return bl_refused(L, FN, st);
  bl_push_ids(L, n, out);
  lua_pushinteger(L, sets);
  return 2;
}

/* graph:reachable(a, b): boolean; an op reaches itself. O(ops + edges) each. */
static int reachable(lua_State *L) {
  static const char FN[] = "graph:reachable";
  const berth_graph *g = self(L, FN);
  int32_t a = op_arg(L, 2, g, FN, "a"), b = op_arg(L, 3, g, FN, "b");
  int yes = 0;
  berth_status st = berth_reachable(g, a, b, &yes);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_pushboolean(L, yes);
  return 1;
}

/* descendants(op), ancestors(op): ids, rising, without the op */
static int relatives(lua_State *L, const char *fn, int forward) {
  const berth_graph *g = self(L, fn);
  int32_t n = berth_graph_ops(g), op = op_arg(L, 2, g, fn, "op");
  uint8_t *mark = bl_scratch(L, (size_t)n, 1);
  berth_status st = berth_reach(g, op, forward, mark);
  if (st != BERTH_OK) return bl_failed(L, st);
  mark[op] = 0;
  bl_push_marked(L, n, mark);
  return 1;
}

static int descendants(lua_State *L) { return relatives(L, "graph:descendants", 1); }
static int ancestors(lua_State *L) { return relatives(L, "graph:ancestors", 0); }

/* graph:components(): [ops] number of the component of each, how many there are. */
static int components(lua_State *L) {
  const berth_graph *g = self(L, "graph:components");
  int32_t count = 0, n = berth_graph_ops(g), *out = bl_scratch(L, (size_t)n, sizeof *out);
  berth_status st = berth_components(g, out, &count);
  if (st != BERTH_OK) return bl_failed(L, st);
  bl_push_ids(L, n, out);
  lua_pushinteger(L, count);
  return 2;
}

const luaL_Reg bl_level_methods[] = { { "topo_order", topo_order },
                                      { "b_level", b_level },
                                      { "t_level", t_level },
                                      { "slack", slack },
                                      { "depth", depth },
                                      { "meta_ops", meta_ops },
                                      { "critical_path", critical_path },
                                      { "reachable", reachable },
                                      { "descendants", descendants },
                                      { "ancestors", ancestors },
                                      { "components", components },
                                      { "layout", bl_graph_layout },
                                      { NULL, NULL } };
