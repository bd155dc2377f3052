/* Type "adam", which trains parameters, and the files of both (berth/nn.h has the formulas). The
 * box holds a reference to the parameters; a file written with adam resumes training where it
 * stopped. */
#include "nn.h"
#include <math.h>

typedef struct adam_box {
  berth_adam *adam;
  berth_params *params;
  double rate, clip; /* clip INFINITY: not */
} adam_box;

static void release_adam(void *p) {
  adam_box *box = p;
  berth_adam_release(box->adam);
  berth_params_release(box->params);
}

static adam_box *self_adam(lua_State *L, const char *fn) { return bl_self(L, &bl_adam_class, fn); }

typedef struct own {
  double rate, clip;
} own;
BL_OWN_OPTIONS(own_options,
  BL_ROW("rate", NUMBER, "0.001", "of learning"),
  BL_ROW("clip", NUMBER, "not clipped", "greatest norm of the gradients",
         .offset = offsetof(own, clip), .above = 1, .high = INFINITY))
const bl_table bl_adam_tables[] = { berth_adam_option_table, own_options, NULL };

/* adam(parameters, { rate, beta1, beta2, epsilon, decay, clip }): object */
static int adam_new(lua_State *L) {
  BL_WHERE(w, "berth.nn.adam");
  int t = bl_option_table(L, 2, &w, bl_adam_tables);
  berth_adam_options o = berth_adam_default();
  own more = { 1e-3, INFINITY };
  bl_read_options(L, t, &w, berth_adam_option_table(), &o);
  bl_read_options(L, t, &w, own_options(), &more);
  adam_box *box = bl_new(L, &bl_adam_class, sizeof *box);
  bl_params_box *p = bl_check(L, 1, &bl_parameters_class, w.fn, "parameters");
  bl_must(L, berth_adam_new(p->params, &o, &box->adam));
  berth_params_retain(box->params = p->params);
  box->rate = more.rate;
  box->clip = more.clip;
  return 1;
}

/* adam:step(rate = that of the options): norm of the gradients before clipping. Gradients are zero
 * afterwards. The rate is not kept. */
static int step(lua_State *L) {
  BL_WHERE(w, "adam:step");
  adam_box *box = self_adam(L, w.fn);
  double rate = bl_opt_number(L, 2, &w, "rate", box->rate), norm = 0;
  bl_must(L, berth_params_clip(box->params, box->clip, &norm));
  bl_must(L, berth_adam_step(box->adam, rate));
  berth_params_zero_gradients(box->params);
  lua_pushnumber(L, norm);
  return 1;
}

BL_GETTER(steps, lua_pushinteger, (lua_Integer)berth_adam_steps(self_adam(L, "adam.steps")->adam))
BL_GETTER(rate_of, lua_pushnumber, self_adam(L, "adam.rate")->rate)

static int adam_string(lua_State *L) {
  const adam_box *box = self_adam(L, "tostring");
  return bl_push_format(L, "adam: %.0f steps, rate %g",
                        (double)berth_adam_steps(box->adam), box->rate);
}

static const luaL_Reg adam_methods[] = { { "step", step }, { NULL, NULL } };
static const luaL_Reg adam_fields[] = { { "steps", steps }, { "rate", rate_of }, { NULL, NULL } };
const bl_class bl_adam_class = {
  .name = "adam", .key = "berth.adam", .release = release_adam, .methods = adam_methods,
  .fields = adam_fields, .text = adam_string
};

/* ---- files ---- */

/* Pushes the option `adam` of the table at t, or nil. */
static void push_adam(lua_State *L, int t) {
  if (t) lua_getfield(L, t, "adam");
  else lua_pushnil(L);
}

/* [-0, +0] What push_adam pushed to i: an optimiser that trains these parameters, or NULL. It is
 * checked last, when nothing allocates any more. */
static berth_adam *check_adam(lua_State *L, int i, const bl_where *w, const bl_params_box *p) {
  if (lua_isnil(L, i)) return NULL;
  adam_box *box = bl_check(L, i, &bl_adam_class, w->fn, "adam");
  if (box->params != p->params) bl_wrong(L, w, "adam", "is for other parameters");
  return box->adam;
}

BL_OPTIONS(params_load, BL_OTHER("adam", "adam", "none", "optimiser, whose state is in the file"))
BL_OWN_OPTIONS(note_option, BL_OTHER("note", "string", "none", "text in the file"))
const bl_table bl_params_save_tables[] = { params_load_options, note_option, NULL };

/* p:save(path, { adam, note }): true; nil, message, code */
int bl_params_save(lua_State *L) {
  static const bl_where w = { "parameters:save", NULL, 0 };
  const char *path = bl_to_string(L, 2, &w, "path");
  int t = bl_option_table(L, 3, &w, bl_params_save_tables);
  push_adam(L, t);
  int adam = lua_gettop(L);
  const char *note = bl_get_string(L, t, &w, "note");
  bl_params_box *box = bl_self(L, &bl_parameters_class, w.fn);
  return bl_done(L, berth_params_save(box->params, check_adam(L, adam, &w, box), note, path));
}

/* p:load(path, { adam }): true; nil, message, code */
int bl_params_load(lua_State *L) {
  static const bl_where w = { "parameters:load", NULL, 0 };
  const char *path = bl_to_string(L, 2, &w, "path");
  push_adam(L, bl_option_table(L, 3, &w, bl_params_load_tables));
  bl_params_box *box = bl_self(L, &bl_parameters_class, w.fn);
  return bl_done(L, berth_params_load(box->params, check_adam(L, lua_gettop(L), &w, box), path));
}

typedef struct note_holder {
  berth_ctx *ctx;
  char *note;
} note_holder;

/* Protected: copies the core's text into the registry. lua_pushstring may raise for memory, and
 * then the text must still be freed; lua_cpcall of the 5.1 ABI returns no values, hence the
 * registry. */
static int copy_note(lua_State *L) {
  note_holder *h = lua_touserdata(L, 1);
  lua_pushstring(L, h->note);
  lua_setfield(L, LUA_REGISTRYINDEX, "berth.note");
  return 0;
}

/* read_note(path): string; nil, message, code */
static int read_note(lua_State *L) {
  BL_WHERE(w, "berth.nn.read_note");
  note_holder h = { bl_ctx(L), NULL };
  berth_status st = berth_params_note(h.ctx, bl_to_string(L, 1, &w, "path"), &h.note);
  if (st != BERTH_OK) return bl_failed(L, st);
  int failed = compat_cpcall(L, copy_note, &h);
  berth_nn_free_note(h.ctx, h.note);
  if (failed) return lua_error(L);
  lua_getfield(L, LUA_REGISTRYINDEX, "berth.note");
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "berth.note");
  return 1;
}

const luaL_Reg bl_nn_adam_functions[] = { { "nn_adam", adam_new },
                                          { "nn_read_note", read_note },
                                          { NULL, NULL } };
