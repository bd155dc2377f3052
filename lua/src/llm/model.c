/* Type "llm": a language model (berth/llm.h), from a config.json or by hand. All that it holds is
 * in its fields; tables among them are made at the first access. */
#include "llm.h"

BL_RELEASE(release, berth_llm_release)
BL_SELF(self, berth_llm, bl_llm_class)

berth_llm *bl_check_llm(lua_State *L, int i, const bl_where *w) {
  return ((bl_llm_box *)bl_check(L, i, &bl_llm_class, w->fn, "model"))->llm;
}

const bl_table bl_llm_model_tables[] = { berth_llm_shapes_option_table, NULL };

int bl_give_llm(lua_State *L, const char *fn, berth_status st) {
  return st == BERTH_OK ? 1 : bl_refused(L, fn, st);
}

/* llm_parse(name, text): of a config.json. */
static int parse(lua_State *L) {
  BL_WHERE(w, "berth.llm.model");
  size_t len;
  const char *name = bl_to_string(L, 1, &w, "name");
  luaL_checktype(L, 2, LUA_TSTRING);
  const char *text = lua_tolstring(L, 2, &len);
  bl_llm_box *box = bl_new(L, &bl_llm_class, sizeof *box);
  return bl_give_llm(L, w.fn, berth_llm_parse(bl_ctx(L), name, text, len, &box->llm));
}

/* llm_new(shapes): by hand. */
static int by_hand(lua_State *L) {
  BL_WHERE(w, "berth.llm.model");
  berth_llm_shapes s = berth_llm_shapes_default();
  lua_settop(L, 1);
  bl_need_table(L, 1, &w, "shapes");
  bl_take_options(L, 1, &w, bl_llm_model_tables, &s);
  bl_llm_box *box = bl_new(L, &bl_llm_class, sizeof *box);
  return bl_give_llm(L, w.fn, berth_llm_new(bl_ctx(L), &s, &box->llm));
}

/* ---- fields ---- */

BL_GETTER(name_of, lua_pushstring, berth_llm_about_of(self(L, "llm.name"))->name)
BL_GETTER(type_of, lua_pushstring, berth_llm_about_of(self(L, "llm.type"))->type)
BL_GETTER(layers_of, lua_pushinteger, berth_llm_about_of(self(L, "llm.layers"))->layers)
BL_GETTER(hidden_of, lua_pushinteger, berth_llm_about_of(self(L, "llm.hidden"))->hidden)
BL_GETTER(vocab_of, lua_pushinteger, berth_llm_about_of(self(L, "llm.vocab"))->vocab)
BL_GETTER(tied_of, lua_pushboolean, berth_llm_about_of(self(L, "llm.tied"))->tied)
BL_GETTER(parameters_of, lua_pushinteger,
          (lua_Integer)berth_llm_about_of(self(L, "llm.parameters"))->parameters)
BL_GETTER(active_of, lua_pushinteger,
          (lua_Integer)berth_llm_about_of(self(L, "llm.active"))->active)

static void push_weights(lua_State *L, int32_t n, const berth_llm_weight *w) {
  lua_createtable(L, n, 0);
  for (int32_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 7);
    bl_set_string(L, "name", w[i].name);
    bl_set_count(L, "rows", w[i].rows);
    bl_set_count(L, "columns", w[i].columns);
    bl_set_count(L, "copies", w[i].copies);
    bl_set_string(L, "part", berth_llm_part_name(w[i].part));
    bl_set_string(L, "shard", berth_llm_shard_name(w[i].shard));
    bl_set_count(L, "parameters", berth_llm_weight_count(&w[i]));
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_kind(lua_State *L, const berth_llm_kind *k) {
  const struct { const char *key; int32_t value; } counts[] = {
    { "layers", k->layers }, { "heads", k->heads }, { "kv_heads", k->kv_heads },
    { "head_dim", k->head_dim }, { "value_dim", k->value_dim }, { "window", k->window },
    { "q_rank", k->q_rank }, { "kv_rank", k->kv_rank }, { "rope_dim", k->rope_dim },
    { "index_heads", k->index_heads }, { "index_dim", k->index_dim },
    { "index_top", k->index_top }, { "ffn", k->ffn }, { "experts", k->experts },
    { "top", k->top }, { "expert_ffn", k->expert_ffn }, { "shared_ffn", k->shared_ffn }
  };
  lua_createtable(L, 0, 21);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    bl_set_count(L, counts[i].key, counts[i].value);
  bl_set_bool(L, "gated", k->gated);
  bl_set_count(L, "parameters", k->parameters);
  bl_set_count(L, "active", k->active);
  push_weights(L, k->n_weights, k->weights);
  lua_setfield(L, -2, "weights");
}

static void build_kinds(lua_State *L) {
  const berth_llm *m = self(L, "llm.kinds");
  int32_t n = berth_llm_about_of(m)->kinds;
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    push_kind(L, &berth_llm_kinds(m)[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

static void build_kind_of(lua_State *L) {
  const berth_llm *m = self(L, "llm.kind_of");
  bl_push_ids(L, berth_llm_about_of(m)->layers, berth_llm_layers(m));
}

static void build_weights(lua_State *L) {
  const berth_llm_about *a = berth_llm_about_of(self(L, "llm.weights"));
  push_weights(L, a->n_weights, a->weights);
}

static void build_notes(lua_State *L) {
  const char *const *notes;
  int32_t n = berth_llm_notes(self(L, "llm.notes"), &notes);
  bl_push_strings(L, n, notes);
}

#define CACHED(name) \
  static int name(lua_State *L) { \
    self(L, "llm." #name); \
    return bl_cached(L, 1, #name, build_##name); \
  }
CACHED(kinds)
CACHED(kind_of)
CACHED(weights)
CACHED(notes)

/* ---- text ---- */

/* "8.03 B", to three digits. */
static void add_count(luaL_Buffer *b, double n) {
  static const char *const units[] = { "", " k", " M", " B", " T" };
  int k = 0;
  for (; k < 4 && n >= 999.5; k++) n /= 1000;
  bl_add_format(b, "%.3g%s", n, units[k]);
}

/* The kind with the most layers stands for the model. */
static const berth_llm_kind *usual(const berth_llm *m) {
  const berth_llm_kind *k = berth_llm_kinds(m), *most = k;
  for (int32_t i = 1; i < berth_llm_about_of(m)->kinds; i++)
    if (k[i].layers > most->layers) most = &k[i];
  return most;
}

static void add_layer(luaL_Buffer *b, const berth_llm_kind *k) {
  bl_add_format(b, "%d heads", (int)k->heads);
  if (k->kv_rank) bl_add_format(b, " (latent %d)", (int)k->kv_rank);
  else if (k->kv_heads != k->heads) bl_add_format(b, " (%d kv)", (int)k->kv_heads);
  bl_add_format(b, " x %d", (int)k->head_dim);
  if (k->experts)
    bl_add_format(b, ", %d of %d experts of %d", (int)k->top, (int)k->experts, (int)k->expert_ffn);
  if (k->shared_ffn) bl_add_format(b, " and %d shared", (int)k->shared_ffn);
  if (k->ffn) bl_add_format(b, ", MLP %d%s", (int)k->ffn, k->gated ? " gated" : "");
}

static int to_string(lua_State *L) {
  const berth_llm *m = self(L, "tostring");
  const berth_llm_about *a = berth_llm_about_of(m);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_name(&b, a->name);
  luaL_addstring(&b, ": ");
  add_count(&b, a->parameters);
  luaL_addstring(&b, " parameters");
  if (a->active < a->parameters) {
    luaL_addstring(&b, " (");
    add_count(&b, a->active);
    luaL_addstring(&b, " active)");
  }
  bl_add_format(&b, ", %d layers of width %d, ", (int)a->layers, (int)a->hidden);
  add_layer(&b, usual(m));
  bl_add_format(&b, ", vocabulary %d%s", (int)a->vocab, a->tied ? " (tied)" : "");
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg fields[] = {
  { "name", name_of }, { "type", type_of }, { "layers", layers_of }, { "hidden", hidden_of },
  { "vocab", vocab_of }, { "tied", tied_of }, { "parameters", parameters_of },
  { "active", active_of }, { "kinds", kinds }, { "kind_of", kind_of }, { "weights", weights },
  { "notes", notes }, { NULL, NULL }
};
const bl_class bl_llm_class = {
  .name = "llm", .key = "berth.llm", .release = release, .fields = fields, .text = to_string
};

const luaL_Reg bl_llm_functions[] = {
  { "llm_parse", parse }, { "llm_new", by_hand }, { NULL, NULL }
};
