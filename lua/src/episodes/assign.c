/* Type "assignment": what learned placers are given of a graph on a topology before they begin:
 * features of ops, edges, next ops on longest paths, as arrays, indices and segments of berth.nn.
 * The cost's box is in the anchor. */
#include "assign.h"
#include <stdlib.h>

/* ---- numbers for berth.nn ---- */

/* [-0, +1] Doubles become floats here: arrays of berth.nn are float32. */
void bl_push_array_of(lua_State *L, int32_t rank, const int32_t *shape, const double *x) {
  bl_array_box *box = bl_push_zeros(L, rank, shape);
  for (int64_t i = 0; i < box->size; i++) box->data[i] = (float)x[i];
}

/* [-0, +1] One 0 or 1 as float32 for each mark. */
void bl_push_marks(lua_State *L, int32_t rank, const int32_t *shape, const uint8_t *marks) {
  bl_array_box *box = bl_push_zeros(L, rank, shape);
  for (int64_t i = 0; i < box->size; i++) box->data[i] = marks[i];
}

/* [-0, +1] ids [n], 0-based, are copied. */
void bl_push_index(lua_State *L, int32_t n, const int32_t *ids) {
  bl_index_box *box = bl_new_index(L);
  bl_must(L, berth_index_new(bl_ctx(L), n, ids, &box->index));
}

/* [-0, +1] lengths [n] of consecutive rows. */
void bl_push_segments(lua_State *L, int32_t n, const int32_t *lengths) {
  bl_segments_box *box = bl_new_segments(L);
  bl_must(L, berth_segments_new(bl_ctx(L), n, lengths, &box->segments));
}

/* [-0, +1] The scratch goes again. */
void bl_push_segments_from(lua_State *L, int32_t n, const int32_t *first) {
  int32_t *length = bl_scratch(L, (size_t)n, sizeof *length);
  for (int32_t i = 0; i < n; i++) length[i] = first[i + 1] - first[i];
  bl_push_segments(L, n, length);
  lua_remove(L, -2);
}

/* ---- making ---- */

BL_RELEASE(release_assignment, berth_assign_release)

const bl_table bl_assign_tables[] = { berth_assign_option_table, bl_cost_option, NULL };

/* [ops] whole numbers from 0 on, in scratch, which stays on the stack; NULL: none given */
static const int32_t *read_units(lua_State *L, int t, const bl_where *w, int32_t n_ops) {
  if (!bl_get_sized(L, t, w, "unit", n_ops, "op")) return NULL;
  return bl_to_wholes(L, -1, w, "unit", n_ops, 0);
}

/* assignment(graph, topology, options) or (cost, options): object; nil, message, code. The core
 * retains the cost; the anchor keeps its box for the fields cost, graph and topology. */
static int assignment(lua_State *L) {
  BL_WHERE(w, "berth.assignment");
  berth_assign_options o = berth_assign_default();
  lua_settop(L, 3);
  berth_status st;
  if ((st = bl_cost_first(L, w.fn, 2)) != BERTH_OK) return bl_failed(L, st);
  berth_cost *cost = bl_check_cost(L, 1, w.fn, "cost");
  int t = bl_take_options(L, 2, &w, bl_assign_tables, &o);
  o.unit = read_units(L, t, &w, bl_ops(cost));
  bl_assignment_box *box = bl_new(L, &bl_assignment_class, sizeof *box);
  int at = lua_gettop(L);
  if ((st = berth_assign_new(cost, &o, &box->assign)) != BERTH_OK) return bl_refused(L, w.fn, st);
  compat_getanchor(L, at);
  lua_pushvalue(L, 1);
  lua_setfield(L, -2, "cost");
  lua_pushvalue(L, at);
  bl_track(L);
  return 1;
}

/* ---- reading ---- */

BL_SELF(self, const berth_assign, bl_assignment_class)

static int32_t ops_of(const berth_assign *a) {
  return bl_ops(berth_assign_cost(a));
}
static int32_t devices_of(const berth_assign *a) {
  return bl_devices(berth_assign_cost(a));
}

/* assignment:units(): [ops] number of the unit of each op, from 1: ops of a unit are assigned in
 * one step. */
static int units(lua_State *L) {
  const berth_assign *a = self(L, "assignment:units");
  bl_push_ids(L, ops_of(a), berth_assign_units(a));
  return 1;
}

/* assignment:op_features(): array [ops, features] of berth.nn. */
static int op_features(lua_State *L) {
  const berth_assign *a = self(L, "assignment:op_features");
  const int32_t shape[2] = { ops_of(a), BERTH_ASSIGN_OP_FEATURES };
  bl_push_array_of(L, 2, shape, berth_assign_op_features(a));
  return 1;
}

/* b_next(), t_next(): the next op on the longest path to a sink, or from a source */
static int b_next(lua_State *L) {
  const berth_assign *a = self(L, "assignment:b_next");
  bl_push_index(L, ops_of(a), berth_assign_b_next(a));
  return 1;
}

/* (self) -> next op on the longest path to an end (docs/learning.md), as an index of berth.nn. */
static int t_next(lua_State *L) {
  const berth_assign *a = self(L, "assignment:t_next");
  bl_push_index(L, ops_of(a), berth_assign_t_next(a));
  return 1;
}

/* assignment:edges(): index [m] of sources, index [m] of destinations, array [m, 1] of seconds,
 * segments [ops] by destination. The edges are sorted by destination, which segments need. */
static int edges(lua_State *L) {
  const berth_assign *a = self(L, "assignment:edges");
  const int32_t *src, *dst;
  const double *seconds;
  int32_t m = berth_assign_edges(a, &src, &dst, &seconds), n = ops_of(a);
  const int32_t shape[2] = { m, 1 };
  bl_push_index(L, m, src);
  bl_push_index(L, m, dst);
  bl_push_array_of(L, 2, shape, seconds);
  int32_t *length = bl_scratch(L, (size_t)n, sizeof *length);
  for (int32_t i = 0; i < n; i++) length[i] = 0;
  for (int32_t i = 0; i < m; i++) length[dst[i]]++;
  bl_push_segments(L, n, length);
  lua_remove(L, -2);
  return 4;
}

typedef struct valued {
  double seconds;
  int32_t edge;
} valued;

/* Times rising; of equals the lower edge: qsort is not stable, and differs between C libraries. */
static int by_value(const void *x, const void *y) {
  const valued *a = x, *b = y;
  if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
  return a->edge < b->edge ? -1 : 1;
}

/* assignment:edge_groups(): edges of equal time together: index [m] of their numbers, segments [k],
 * array [k, 1] of times. A network computes what depends on the time alone once per group. O(m log
 * m) */
static int edge_groups(lua_State *L) {
  const berth_assign *a = self(L, "assignment:edge_groups");
  const int32_t *src, *dst;
  const double *seconds;
  int32_t m = berth_assign_edges(a, &src, &dst, &seconds), k = -1, shape[2] = { 0, 1 };
  valued *v = bl_scratch(L, (size_t)m, sizeof *v);
  int32_t *order = bl_scratch(L, (size_t)m, sizeof *order),
          *length = bl_scratch(L, (size_t)m, sizeof *length);
  double *value = bl_scratch(L, (size_t)m, sizeof *value);
  for (int32_t i = 0; i < m; i++) v[i] = (valued){ seconds[i], i };
  if (m > 1) qsort(v, (size_t)m, sizeof *v, by_value);
  for (int32_t i = 0; i < m; i++) {
    order[i] = v[i].edge;
    if (k < 0 || value[k] != v[i].seconds) {
      value[++k] = v[i].seconds;
      length[k] = 0;
    }
    length[k]++;
  }
  shape[0] = k + 1;
  bl_push_index(L, m, order);
  bl_push_segments(L, k + 1, length);
  bl_push_array_of(L, 2, shape, value);
  return 3;
}

/* assignment:graph_edges(): index of producers, index of consumers, each pair once: of the two
 * directions that which the ops' topological order allows. */
static int graph_edges(lua_State *L) {
  const berth_assign *a = self(L, "assignment:graph_edges");
  const int32_t *src, *dst, *order = bl_scratch(L, (size_t)ops_of(a), sizeof *order);
  const double *seconds;
  int32_t m = berth_assign_edges(a, &src, &dst, &seconds), n = 0;
  bl_must(L, berth_topo_order(berth_cost_graph(berth_assign_cost(a)), (int32_t *)order));
  int32_t *place = bl_scratch(L, (size_t)ops_of(a), sizeof *place);
  int32_t *from = bl_scratch(L, (size_t)m, sizeof *from);
  int32_t *to = bl_scratch(L, (size_t)m, sizeof *to);
  for (int32_t i = 0; i < ops_of(a); i++) place[order[i]] = i;
  for (int32_t i = 0; i < m; i++) {
    if (place[src[i]] > place[dst[i]]) continue;
    from[n] = src[i];
    to[n++] = dst[i];
  }
  bl_push_index(L, n, from);
  bl_push_index(L, n, to);
  return 2;
}

/* ---- fields ---- */

BL_GETTER(steps, lua_pushinteger, berth_assign_steps(self(L, "assignment.steps")))
BL_GETTER(n_ops, lua_pushinteger, ops_of(self(L, "assignment.ops")))
BL_GETTER(n_devices, lua_pushinteger, devices_of(self(L, "assignment.devices")))
BL_GETTER(restricted, lua_pushboolean, berth_assign_restricted(self(L, "assignment.restricted")))
BL_GETTER(device_features, lua_pushinteger,
          berth_assign_device_features(self(L, "assignment.device_features")))
static int cost(lua_State *L) {
  self(L, "assignment.cost");
  return bl_kept(L, "cost");
}
static int graph(lua_State *L) {
  cost(L);
  lua_getfield(L, -1, "graph");
  return 1;
}
static int topology(lua_State *L) {
  cost(L);
  lua_getfield(L, -1, "topology");
  return 1;
}

static int to_string(lua_State *L) {
  const berth_assign *a = self(L, "tostring");
  return bl_push_format(L, "assignment: %d ops on %d devices in %d steps", (int)ops_of(a),
                (int)devices_of(a), (int)berth_assign_steps(a));
}

static const luaL_Reg methods[] = { { "episodes", bl_episodes_new },
                                    { "units", units },
                                    { "op_features", op_features },
                                    { "b_next", b_next },
                                    { "t_next", t_next },
                                    { "edges", edges },
                                    { "edge_groups", edge_groups },
                                    { "graph_edges", graph_edges },
                                    { NULL, NULL } };
static const luaL_Reg fields[] = { { "steps", steps },
                                   { "ops", n_ops },
                                   { "devices", n_devices },
                                   { "device_features", device_features },
                                   { "cost", cost },
                                   { "restricted", restricted },
                                   { "graph", graph },
                                   { "topology", topology },
                                   { NULL, NULL } };
const bl_class bl_assignment_class = {
  .name = "assignment", .key = "berth.assignment", .release = release_assignment,
  .methods = methods, .fields = fields, .text = to_string
};

const luaL_Reg bl_assignment_functions[] = { { "assignment", assignment }, { NULL, NULL } };
