/* Type "llm launch": a launch file of a framework (berth/llm.h). */
#include "llm.h"

BL_RELEASE(release, berth_llm_launch_release)
BL_SELF(self, berth_llm_launch, bl_llm_launch_class)

enum { MOST_OPTIONS = 64 };

typedef struct launch_box {
  berth_llm_launch *launch;
} launch_box;

/* llm_launch(name, text[, format]) */
static int parse(lua_State *L) {
  BL_WHERE(w, "berth.llm.launch");
  size_t len;
  const char *name = bl_to_string(L, 1, &w, "name");
  luaL_checktype(L, 2, LUA_TSTRING);
  const char *text = lua_tolstring(L, 2, &len);
  const char *format = lua_isnoneornil(L, 3) ? NULL : bl_to_string(L, 3, &w, "format");
  launch_box *box = bl_new(L, &bl_llm_launch_class, sizeof *box);
  return bl_give_llm(L, w.fn, berth_llm_launch_parse(bl_ctx(L), name, text, len, format,
                                                     &box->launch));
}

/* llm_formats(): array of { name, title, text, reads, writes } */
static int formats(lua_State *L) {
  const berth_llm_format *f;
  lua_newtable(L);
  for (int32_t i = 0; (f = berth_llm_format_at(i)) != NULL; i++) {
    lua_createtable(L, 0, 5);
    bl_set_string(L, "name", f->name);
    bl_set_string(L, "title", f->title);
    bl_set_string(L, "text", f->text);
    bl_set_bool(L, "reads", f->reads);
    bl_set_bool(L, "writes", f->writes);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* ---- the plan ---- */

/* Bit i: row i of the options is in the table at t. */
static uint64_t given_in(lua_State *L, int t) {
  const berth_option *o = berth_llm_plan_option_table()->options;
  uint64_t given = 0;
  for (int i = 0; o[i].key; i++) given |= (uint64_t)bl_is_given(L, t, o[i].key) << i;
  return given;
}

static void push_given(lua_State *L, const berth_llm_plan *p, uint64_t given) {
  const berth_option *o = berth_llm_plan_option_table()->options;
  bl_push_options(L, berth_llm_plan_option_table(), p);
  if (p->stages) {
    bl_push_counts(L, p->n_stages, p->stages);
    lua_setfield(L, -2, "stages");
  }
  for (int i = 0; o[i].key; i++) {
    if (given >> i & 1) continue;
    lua_pushnil(L);
    lua_setfield(L, -2, o[i].key);
  }
}

static void push_sources(lua_State *L, const char *const *source) {
  const berth_option *o = berth_llm_plan_option_table()->options;
  lua_newtable(L);
  for (int i = 0; o[i].key; i++)
    if (source[i]) bl_set_string(L, o[i].key, source[i]);
}

/* launch:plan([options[, gpus[, layers]]]): options with those of the file, and a table that says
 * where each of these comes from */
static int plan(lua_State *L) {
  BL_WHERE(w, "llm_launch:plan");
  berth_llm_launch *l = self(L, w.fn);
  lua_settop(L, 4);
  berth_llm_plan p = berth_llm_plan_default();
  const char *source[MOST_OPTIONS] = { NULL };
  double gpus = bl_opt_whole(L, 3, &w, "gpus", 0, 0, 1 << 20);
  double layers = bl_opt_whole(L, 4, &w, "layers", 0, 0, 100000);
  int t = bl_take_options(L, 2, &w, bl_llm_plan_tables, &p);
  uint64_t given = t ? given_in(L, t) : 0;
  berth_status st = berth_llm_launch_plan(l, (int32_t)gpus, (int32_t)layers, &p, &given, source);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  push_given(L, &p, given);
  push_sources(L, source);
  return 2;
}

/* launch:model() */
static int model(lua_State *L) {
  const berth_llm_launch *l = self(L, "llm_launch:model");
  bl_llm_box *box = bl_new(L, &bl_llm_class, sizeof *box);
  return bl_give_llm(L, "llm_launch:model", berth_llm_launch_model(l, &box->llm));
}

/* ---- fields ---- */

#define ABOUT(field) berth_llm_launch_about_of(self(L, "llm_launch." #field)).field
BL_GETTER(name_of, lua_pushstring, ABOUT(name))
BL_GETTER(format_of, lua_pushstring, ABOUT(format))
BL_GETTER(model_of, lua_pushstring, ABOUT(model))
BL_GETTER(flavor_of, lua_pushstring, ABOUT(flavor))
BL_GETTER(no_model_of, lua_pushstring, ABOUT(no_model))
BL_GETTER(settings_of, lua_pushinteger, ABOUT(settings))
BL_GETTER(shapes_of, bl_push_options, berth_llm_shapes_option_table(),
          berth_llm_launch_shapes(self(L, "llm_launch.shapes")))

static int gpus_of(lua_State *L) {
  int32_t gpus = ABOUT(gpus);
  if (gpus) lua_pushinteger(L, gpus);
  else lua_pushnil(L);
  return 1;
}

static int notes_of(lua_State *L) {
  const char *const *notes;
  int32_t n = berth_llm_launch_notes(self(L, "llm_launch.notes"), &notes);
  bl_push_strings(L, n, notes);
  return 1;
}

static int to_string(lua_State *L) {
  berth_llm_launch_about a = berth_llm_launch_about_of(self(L, "tostring"));
  const char *const *notes;
  int32_t n = berth_llm_launch_notes(self(L, "tostring"), &notes);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_name(&b, a.name);
  bl_add_format(&b, ": %s, %d setting%s read, %d note%s", a.format, (int)a.settings,
                a.settings == 1 ? "" : "s", (int)n, n == 1 ? "" : "s");
  if (a.gpus) bl_add_format(&b, ", %d GPUs", (int)a.gpus);
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg methods[] = { { "plan", plan }, { "model", model }, { NULL, NULL } };
static const luaL_Reg fields[] = {
  { "name", name_of }, { "format", format_of }, { "model_name", model_of }, { "flavor", flavor_of },
  { "no_model", no_model_of }, { "settings", settings_of }, { "shapes", shapes_of },
  { "gpus", gpus_of }, { "notes", notes_of }, { NULL, NULL }
};
const bl_class bl_llm_launch_class = {
  .name = "llm launch", .key = "berth.llm_launch", .release = release, .methods = methods,
  .fields = fields, .text = to_string
};

const luaL_Reg bl_llm_launch_functions[] = {
  { "llm_launch", parse }, { "llm_formats", formats }, { NULL, NULL }
};
