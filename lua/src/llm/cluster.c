/* Type "llm cluster": GPUs in machines (berth/llm.h). */
#include "llm.h"

BL_RELEASE(release, berth_llm_cluster_release)
BL_SELF(self, berth_llm_cluster, bl_llm_cluster_class)
BL_WHERE(where, "berth.llm.cluster");

berth_llm_cluster *bl_check_llm_cluster(lua_State *L, int i, const bl_where *w) {
  return ((bl_llm_cluster_box *)bl_check(L, i, &bl_llm_cluster_class, w->fn, "cluster"))->cluster;
}

const bl_table bl_llm_cluster_tables[] = { berth_llm_cluster_option_table, NULL };

static bl_llm_cluster_box *box(lua_State *L) {
  return bl_new(L, &bl_llm_cluster_class, sizeof(bl_llm_cluster_box));
}

/* llm_cluster_parse(text) */
static int parse(lua_State *L) {
  const char *text = bl_to_string(L, 1, &where, "cluster");
  bl_llm_cluster_box *b = box(L);
  return bl_give_llm(L, where.fn, berth_llm_cluster_parse(bl_ctx(L), text, &b->cluster));
}

/* llm_cluster_new(options) */
static int from_options(lua_State *L) {
  berth_llm_cluster_options o = berth_llm_cluster_default();
  lua_settop(L, 1);
  bl_need_table(L, 1, &where, "options");
  int t = bl_option_table(L, 1, &where, bl_llm_cluster_tables);
  bl_need(L, bl_is_given(L, t, "gpu"), &where, "gpu");
  bl_need(L, bl_is_given(L, t, "gpus"), &where, "gpus");
  bl_read_options(L, t, &where, berth_llm_cluster_option_table(), &o);
  o.gpu = bl_get_string(L, t, &where, "gpu");
  bl_llm_cluster_box *b = box(L);
  return bl_give_llm(L, where.fn, berth_llm_cluster_new(bl_ctx(L), &o, &b->cluster));
}

/* llm_cluster_of(topology) */
static int of_topology(lua_State *L) {
  berth_topology *t = bl_check_topology(L, 1, where.fn, "topology");
  bl_llm_cluster_box *b = box(L);
  return bl_give_llm(L, where.fn, berth_llm_cluster_of(t, &b->cluster));
}

/* cluster:topology() */
static int topology(lua_State *L) {
  const berth_llm_cluster *c = self(L, "llm_cluster:topology");
  berth_topology **t = bl_new_topology(L);
  bl_call call = bl_enter(L);
  return bl_give_llm(L, "llm_cluster:topology",
                     bl_leave(&call, berth_llm_cluster_topology(c, t)));
}

BL_GETTER(gpus, lua_pushinteger, berth_llm_cluster_size(self(L, "llm_cluster.gpus")))

static void build_groups(lua_State *L) {
  const berth_llm_gpus *g;
  int32_t n = berth_llm_cluster_groups(self(L, "llm_cluster.groups"), &g);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_createtable(L, 0, 11);
    bl_set_string(L, "name", g[k].name);
    bl_set_count(L, "count", g[k].count);
    bl_set_count(L, "per_machine", g[k].per_machine);
    bl_set_count(L, "domain", g[k].domain);
    bl_set_number(L, "memory", g[k].memory);
    bl_set_number(L, "flops", g[k].flops);
    bl_set_number(L, "memory_bandwidth", g[k].memory_bandwidth);
    bl_set_number(L, "link", g[k].link);
    bl_set_number(L, "link_latency", g[k].link_latency);
    bl_set_number(L, "nic", g[k].nic);
    bl_set_number(L, "nic_latency", g[k].nic_latency);
    lua_rawseti(L, -2, k + 1);
  }
}

static int groups(lua_State *L) {
  self(L, "llm_cluster.groups");
  return bl_cached(L, 1, "groups", build_groups);
}

/* "64 x H100 in 8 machines, 85.5 GB each, 450 GB/s within, 400 GB/s between machines" */
static int to_string(lua_State *L) {
  const berth_llm_gpus *g;
  int32_t n = berth_llm_cluster_groups(self(L, "tostring"), &g);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int32_t k = 0; k < n; k++) {
    int32_t machines = (g[k].count + g[k].per_machine - 1) / g[k].per_machine;
    bl_add_format(&b, "%s%d x ", k ? "; " : "", (int)g[k].count);
    bl_add_name(&b, g[k].name);
    bl_add_format(&b, " in %d machine%s, ", (int)machines, machines == 1 ? "" : "s");
    bl_add_quantity(&b, g[k].memory, BERTH_BYTES);
    luaL_addstring(&b, " each, ");
    bl_add_quantity(&b, g[k].link, BERTH_BYTES_PER_SECOND);
    luaL_addstring(&b, " within");
    if (machines == 1) continue;
    luaL_addstring(&b, ", ");
    bl_add_quantity(&b, g[k].nic, BERTH_BYTES_PER_SECOND);
    luaL_addstring(&b, " of a machine to others");
  }
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg methods[] = { { "topology", topology }, { NULL, NULL } };
static const luaL_Reg fields[] = { { "gpus", gpus }, { "groups", groups }, { NULL, NULL } };
const bl_class bl_llm_cluster_class = {
  .name = "llm cluster", .key = "berth.llm_cluster", .release = release, .methods = methods,
  .fields = fields, .text = to_string
};

const luaL_Reg bl_llm_cluster_functions[] = {
  { "llm_cluster_parse", parse }, { "llm_cluster_new", from_options },
  { "llm_cluster_of", of_topology }, { NULL, NULL }
};
