/* Types "index" and "segments": lists of ids, and lengths of consecutive rows. 0 in Lua is
 * BERTH_NONE. Both are light boxes without an anchor; tables are converted in place on the
 * stack. */
#include "nn.h"
#include <math.h>

BL_RELEASE(release_index, berth_index_release)
BL_RELEASE(release_segments, berth_segments_release)

bl_index_box *bl_new_index(lua_State *L) {
  return bl_new_light(L, &bl_index_class, sizeof(bl_index_box));
}
bl_segments_box *bl_new_segments(lua_State *L) {
  return bl_new_light(L, &bl_segments_class, sizeof(bl_segments_box));
}

/* ---- making ---- */

/* [-0, +1] Whole numbers >= 0, less `shift`, of the table at i, in scratch. shift 1 makes ids
 * 0-based, and BERTH_NONE of 0; lengths are not shifted. */
static int32_t *read_wholes(lua_State *L, int i, const bl_where *w, const char *key, int32_t shift,
                            int32_t *n) {
  if (!lua_istable(L, i)) bl_wrong(L, w, key, "expected a table of numbers, got %s", bl_kind(L, i));
  *n = bl_to_length(L, i, w, key);
  int32_t *out = bl_scratch(L, (size_t)*n, sizeof *out);
  for (int32_t k = 0; k < *n; k++) {
    lua_rawgeti(L, i, k + 1);
    double x = lua_type(L, -1) == LUA_TNUMBER ? (double)lua_tonumber(L, -1) : -1;
    if (!(x >= 0 && x <= INT32_MAX) || x != floor(x)) {
      const char *name = lua_pushfstring(L, "%s[%d]", key, (int)k + 1);
      bl_to_whole(L, -2, w, name, 0, INT32_MAX);
    }
    out[k] = (int32_t)x - shift;
    lua_pop(L, 1);
  }
  return out;
}

/* [-0, +1] The index of the table at i; the scratch goes. */
static bl_index_box *push_index(lua_State *L, int i, const bl_where *w, const char *key) {
  int32_t n, *ids = read_wholes(L, i, w, key, 1, &n);
  bl_index_box *box = bl_new_index(L);
  bl_must(L, berth_index_new(bl_ctx(L), n, ids, &box->index));
  lua_remove(L, -2);
  return box;
}

static bl_segments_box *push_segments(lua_State *L, int i, const bl_where *w, const char *key) {
  int32_t n, *lengths = read_wholes(L, i, w, key, 0, &n);
  bl_segments_box *box = bl_new_segments(L);
  bl_must(L, berth_segments_new(bl_ctx(L), n, lengths, &box->segments));
  lua_remove(L, -2);
  return box;
}

/* index(ids): object; 0: none. segments(lengths): object. Both are converted once, where a table
 * that is given to a method would be converted in each call. */
static int make_index(lua_State *L) {
  BL_WHERE(w, "berth.nn.index");
  push_index(L, 1, &w, "ids");
  return 1;
}

static int make_segments(lua_State *L) {
  BL_WHERE(w, "berth.nn.segments");
  push_segments(L, 1, &w, "lengths");
  return 1;
}

void bl_convert_index(lua_State *L, int i, const bl_where *w, const char *key) {
  if (!lua_istable(L, i)) return;
  push_index(L, i, w, key);
  lua_replace(L, i);
}

void bl_convert_segments(lua_State *L, int i, const bl_where *w, const char *key) {
  if (!lua_istable(L, i)) return;
  push_segments(L, i, w, key);
  lua_replace(L, i);
}

/* [-0, +0] The index replaces a table at i, so that the stack keeps it for the call. */
berth_index *bl_to_index(lua_State *L, int i, const bl_where *w, const char *key) {
  bl_convert_index(L, i, w, key);
  return ((bl_index_box *)bl_check(L, i, &bl_index_class, w->fn, key))->index;
}

berth_segments *bl_to_segments(lua_State *L, int i, const bl_where *w, const char *key) {
  bl_convert_segments(L, i, w, key);
  return ((bl_segments_box *)bl_check(L, i, &bl_segments_class, w->fn, key))->segments;
}

/* ---- index ---- */

BL_SELF(self_index, berth_index, bl_index_class)

/* index[i]: id; nil out of range */
static int index_item(lua_State *L) {
  const berth_index *x = self_index(L, "index[i]");
  double k = (double)lua_tonumber(L, 2);
  if (!(k >= 1 && k <= berth_index_size(x)) || k != floor(k)) return 0;
  lua_pushinteger(L, berth_index_ids(x)[(int32_t)k - 1] + 1);
  return 1;
}

BL_GETTER(index_length, lua_pushinteger, berth_index_size(self_index(L, "#index")))

/* index:totable(): ids, 0 for none. */
static int index_table(lua_State *L) {
  bl_index_box *own = bl_new_index(L); /* a finaliser may close the other one */
  berth_index_retain(own->index = self_index(L, "index:totable"));
  bl_push_ids(L, berth_index_size(own->index), berth_index_ids(own->index));
  return 1;
}

enum { SHOWN = 8 };

static int index_string(lua_State *L) {
  const berth_index *x = self_index(L, "tostring");
  int32_t n = berth_index_size(x);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_format(&b, "index of %d", (int)n);
  for (int32_t k = 0; k < n && k < SHOWN; k++)
    bl_add_format(&b, k ? " %d" : ": %d", (int)berth_index_ids(x)[k] + 1);
  if (n > SHOWN) luaL_addstring(&b, " ...");
  luaL_pushresult(&b);
  return 1;
}

/* ---- segments ---- */

BL_SELF(self_segments, berth_segments, bl_segments_class)

static int32_t length_of(const berth_segments *s, int32_t k) {
  return berth_segments_first(s)[k + 1] - berth_segments_first(s)[k];
}

/* segments[i]: length; nil out of range */
static int segments_item(lua_State *L) {
  const berth_segments *s = self_segments(L, "segments[i]");
  double k = (double)lua_tonumber(L, 2);
  if (!(k >= 1 && k <= berth_segments_count(s)) || k != floor(k)) return 0;
  lua_pushinteger(L, length_of(s, (int32_t)k - 1));
  return 1;
}

BL_GETTER(segments_length, lua_pushinteger, berth_segments_count(self_segments(L, "#segments")))
BL_GETTER(segments_rows, lua_pushinteger, berth_segments_rows(self_segments(L, "segments.rows")))

/* segments:lengths(): array. */
static int segments_table(lua_State *L) {
  bl_segments_box *own = bl_new_segments(L); /* likewise */
  berth_segments_retain(own->segments = self_segments(L, "segments:lengths"));
  int32_t n = berth_segments_count(own->segments);
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    lua_pushinteger(L, length_of(own->segments, k));
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

static int segments_string(lua_State *L) {
  const berth_segments *s = self_segments(L, "tostring");
  int32_t n = berth_segments_count(s);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  bl_add_format(&b, "segments: %d of %d rows", (int)n, (int)berth_segments_rows(s));
  for (int32_t k = 0; k < n && k < SHOWN; k++)
    bl_add_format(&b, k ? " %d" : ": %d", (int)length_of(s, k));
  if (n > SHOWN) luaL_addstring(&b, " ...");
  luaL_pushresult(&b);
  return 1;
}

const luaL_Reg bl_nn_list_functions[] = { { "nn_index", make_index },
                                          { "nn_segments", make_segments },
                                          { NULL, NULL } };

static const luaL_Reg index_methods[] = { { "totable", index_table }, { NULL, NULL } };
const bl_class bl_index_class = {
  .name = "index", .key = "berth.index", .release = release_index, .methods = index_methods,
  .text = index_string, .length = index_length, .item = index_item, .light = true
};

static const luaL_Reg segments_methods[] = { { "lengths", segments_table }, { NULL, NULL } };
static const luaL_Reg segments_fields[] = { { "rows", segments_rows }, { NULL, NULL } };
const bl_class bl_segments_class = {.name = "segments",
                                    .key = "berth.segments",
                                    .release = release_segments,
                                    .methods = segments_methods,
                                    .fields = segments_fields,
                                    .text = segments_string,
                                    .length = segments_length,
                                    .item = segments_item,
                                    .light = true};
