/* The options of the step simulator from a Lua table. */
#include "sim_options.h"

static const char *const dispatch_names[] = { "fifo", "light-first", "blevel", "planned", "lifo", "random", "static", NULL };
static const char *const send_names[] = { "push", "pull", NULL };
static const char *const order_names[] = { "event", "ready", "task", NULL };
static const char *const collectives_names[] = { "links", "queue", NULL };

#define RULES "links", "dispatch", "send", "memory", "param_multiple", "order", "split_windows", "preempt", "quantum", "noise", \
  "seed", "rank", "sequence", "preset", "collectives", "reserve"

const char *const bl_sim_keys[] = { RULES, "cost", "bound", NULL };
const char *const bl_run_keys[] = { RULES, "cost", NULL };
const char *const bl_judge_keys[] = { RULES, NULL };
const char *const bl_batch_keys[] = { RULES, "cost", "threads", NULL };

static void read_choices(lua_State *L, int t, const bl_where *w, berth_sim_options *o) {
  int k;
  if (bl_get_enum(L, t, w, "links", bl_link_names, &k)) o->links = (berth_links)k;
  if (bl_get_enum(L, t, w, "dispatch", dispatch_names, &k)) o->dispatch = (berth_dispatch)k;
  if (bl_get_enum(L, t, w, "send", send_names, &k)) o->send = (berth_send)k;
  if (bl_get_enum(L, t, w, "memory", bl_memory_names, &k)) o->memory = (berth_memory_policy)k;
  if (bl_get_enum(L, t, w, "order", order_names, &k)) o->order = (berth_event_order)k;
  if (bl_get_enum(L, t, w, "collectives", collectives_names, &k)) o->collectives = (berth_collectives)k;
}

static void read_numbers(lua_State *L, int t, const bl_where *w, berth_sim_options *o) {
  bl_get_positive(L, t, w, "param_multiple", &o->param_multiple);
  bl_get_bool(L, t, w, "split_windows", &o->split_windows);
  bl_get_bool(L, t, w, "preempt", &o->preempt);
  bl_get_bool(L, t, w, "reserve", &o->reserve);
  bl_get_quantity(L, t, w, "quantum", BERTH_SECONDS, &o->quantum);
  bl_get_positive(L, t, w, "noise", &o->noise);
  bl_get_seed(L, t, w, "seed", &o->seed);
}

static void read_arrays(lua_State *L, int t, const bl_where *w, int32_t n_ops, berth_sim_options *o) {
  int32_t n;
  if (bl_get_array(L, t, w, "rank", &n)) {
    if (o->dispatch != BERTH_DISPATCH_STATIC) bl_wrong(L, w, "rank", "goes with dispatch = \"static\" only");
    o->rank = bl_to_numbers(L, -1, w, "rank", n_ops, "op");
  } else if (o->dispatch == BERTH_DISPATCH_STATIC) {
    bl_wrong(L, w, "rank", "is missing: dispatch = \"static\" needs it");
  }
  if (bl_get_array(L, t, w, "sequence", &n)) {
    if (o->dispatch != BERTH_DISPATCH_PLANNED) bl_wrong(L, w, "sequence", "goes with dispatch = \"planned\" only");
    o->sequence = bl_to_ids(L, -1, w, "sequence", n_ops, n_ops, "op");
  }
}

static void read_preset(lua_State *L, int t, const bl_where *w, berth_sim_options *o) {
  const char *preset = t ? bl_get_string(L, t, w, "preset") : NULL;
  if (preset && berth_sim_preset(bl_ctx(L), preset, o) != BERTH_OK) bl_wrong(L, w, "preset", "%s", berth_errmsg(bl_ctx(L)));
}

berth_sim_options bl_judge_options(lua_State *L, int t, const bl_where *w, const berth_cost *cost) {
  const berth_graph *g = berth_cost_graph(cost);
  berth_sim_options o = berth_sim_default(g);
  read_preset(L, t, w, &o);
  read_choices(L, t, w, &o);
  read_numbers(L, t, w, &o);
  read_arrays(L, t, w, berth_graph_ops(g), &o);
  return o;
}

berth_sim_options bl_sim_options(lua_State *L, int t, const bl_where *w, const berth_cost *cost, const berth_placement *p) {
  berth_sim_options o = bl_judge_options(L, t, w, cost);
  if (o.dispatch == BERTH_DISPATCH_PLANNED && !o.sequence) {
    o.sequence = p ? berth_placement_sequence(p) : NULL;
    if (!o.sequence) bl_wrong(L, w, "sequence", "is missing: dispatch = \"planned\" needs it and the placement has none");
  }
  return o;
}

void bl_push_sim_options(lua_State *L, const berth_sim_options *o) {
  lua_createtable(L, 0, 13);
  bl_set_string(L, "links", bl_link_names[o->links]);
  bl_set_string(L, "dispatch", dispatch_names[o->dispatch]);
  bl_set_string(L, "send", send_names[o->send]);
  bl_set_string(L, "memory", bl_memory_names[o->memory]);
  bl_set_string(L, "order", order_names[o->order]);
  bl_set_string(L, "collectives", collectives_names[o->collectives]);
  bl_set_bool(L, "reserve", o->reserve);
  bl_set_number(L, "param_multiple", o->param_multiple);
  bl_set_bool(L, "split_windows", o->split_windows);
  bl_set_bool(L, "preempt", o->preempt);
  bl_set_number(L, "quantum", o->quantum);
  bl_set_number(L, "noise", o->noise);
  bl_set_count(L, "seed", (double)o->seed);
}
