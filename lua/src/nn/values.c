/* Numbers into arrays and out of them: nested tables, flat tables with a shape, single elements,
 * rows. Positions in messages name the place: data[2][3]. */
#include "nn.h"
#include <string.h>

/* ---- nested tables ---- */

typedef struct reader {
  lua_State *L;
  bl_where w;
  int32_t rank, shape[BERTH_NN_RANK];
  int32_t at[BERTH_NN_RANK]; /* where it reads, for messages */
  float *out;
} reader;

/* "data[2][3]", on the stack. */
static const char *place(reader *r, int32_t depth) {
  luaL_Buffer b;
  luaL_buffinit(r->L, &b);
  luaL_addstring(&b, "data");
  for (int32_t k = 0; k < depth; k++) bl_add_format(&b, "[%d]", (int)r->at[k] + 1);
  luaL_pushresult(&b);
  return lua_tostring(r->L, -1);
}

/* [-0, +0] The extents as the first entries have them, of the table at 1. Other entries are
 * compared with them when they are read. */
static void find_shape(reader *r) {
  int top = lua_gettop(r->L);
  lua_pushvalue(r->L, 1);
  do {
    if (r->rank == BERTH_NN_RANK)
      bl_wrong(r->L, &r->w, "data", "is nested more than %d deep", BERTH_NN_RANK);
    r->shape[r->rank++] = bl_to_length(r->L, lua_gettop(r->L), &r->w, "data");
    lua_rawgeti(r->L, -1, 1);
  } while (lua_istable(r->L, -1));
  lua_settop(r->L, top);
}

/* [-0, +0] The number at the top becomes the next one of the array; its place is only named for the
 * message. */
static void read_number(reader *r, int32_t depth) {
  if (lua_type(r->L, -1) != LUA_TNUMBER) {
    const char *where = place(r, depth);
    bl_wrong(r->L, &r->w, where, "expected a number, got %s", bl_kind(r->L, -2));
  }
  *r->out++ = (float)lua_tonumber(r->L, -1);
}

/* [-0, +0] The table at the top, `depth` deep, in row-major order. Entries are read raw: no code of
 * the user's runs while `out` points into the array. */
static void read_table(reader *r, int32_t depth) {
  int t = lua_gettop(r->L);
  int32_t n = r->shape[depth];
  if (!lua_istable(r->L, t) || lua_rawlen(r->L, t) != (size_t)n) {
    const char *where = place(r, depth);
    int got = lua_istable(r->L, t) ? (int)lua_rawlen(r->L, t) : 0;
    if (!lua_istable(r->L, t))
      bl_wrong(r->L, &r->w, where, "expected a table of %d, got %s", (int)n, bl_kind(r->L, t));
    bl_wrong(r->L, &r->w, where, "has %d entries, expected %d", got, (int)n);
  }
  for (int32_t k = 0; k < n; k++) {
    r->at[depth] = k;
    lua_rawgeti(r->L, t, k + 1);
    if (depth + 1 < r->rank) {
      read_table(r, depth + 1);
    } else {
      read_number(r, depth + 1);
    }
    lua_pop(r->L, 1);
  }
}

/* In double: the product of four int32_t extents may exceed int64_t. */
static double size_of(int32_t rank, const int32_t *shape) {
  double n = 1;
  while (rank-- > 0) n *= *shape++;
  return n;
}

/* [-0, +1] A flat table at 1, with the shape at 2, whose product must be its length. */
static int read_flat(reader *r) {
  int32_t shape[BERTH_NN_RANK], rank = bl_to_shape(r->L, 2, &r->w, "shape", false, shape);
  r->rank = 1;
  r->shape[0] = bl_to_length(r->L, 1, &r->w, "data");
  if (size_of(rank, shape) != r->shape[0])
    bl_wrong(r->L, &r->w, "data", "has %d numbers, the shape %.0f", (int)r->shape[0],
             size_of(rank, shape));
  r->out = bl_push_zeros(r->L, rank, shape)->data;
  lua_pushvalue(r->L, 1);
  read_table(r, 0);
  lua_pop(r->L, 1);
  return 1;
}

/* array(table, shape): array. Without a shape the table is nested, one level per axis. */
int bl_nn_array(lua_State *L) {
  reader r = { L, { "berth.nn.array", NULL, 0 }, 0, { 0 }, { 0 }, NULL };
  if (!lua_istable(L, 1)) bl_wrong(L, &r.w, "data", "expected a table, got %s", bl_kind(L, 1));
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) return read_flat(&r);
  find_shape(&r);
  r.out = bl_push_zeros(L, r.rank, r.shape)->data;
  lua_pushvalue(L, 1);
  read_table(&r, 0);
  lua_pop(L, 1);
  return 1;
}

/* [-0, +1] What begins at x, from axis `depth` on, as nested tables. @return behind it */
static const float *push_nested(lua_State *L, const berth_array *a, int32_t depth, const float *x) {
  int32_t n = berth_array_shape(a)[depth];
  lua_createtable(L, n, 0);
  for (int32_t k = 0; k < n; k++) {
    if (depth + 1 < berth_array_rank(a)) {
      x = push_nested(L, a, depth + 1, x);
    } else {
      lua_pushnumber(L, (lua_Number)*x++);
    }
    lua_rawseti(L, -2, k + 1);
  }
  return x;
}

/* array:totable(): nested tables, one level per axis; float32 become doubles exactly. */
static int to_table(lua_State *L) {
  const bl_array_box *a = bl_hold_array(L, "array:totable");
  push_nested(L, a->array, 0, a->data);
  return 1;
}

/* array:flat(): all numbers in one table, row-major. */
static int flat(lua_State *L) {
  const bl_array_box *a = bl_hold_array(L, "array:flat");
  lua_createtable(L, (int)a->size, 0);
  for (int64_t i = 0; i < a->size; i++) {
    lua_pushnumber(L, (lua_Number)a->data[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

/* ---- single numbers ---- */

/* [-0, +0] The number whose 1-based indices begin at argument `first`, one per axis, to the last
 * argument. */
static float *element(lua_State *L, const bl_array_box *a, int first, const bl_where *w) {
  int32_t rank = berth_array_rank(a->array);
  int64_t at = 0;
  if (lua_gettop(L) - first + 1 != rank)
    bl_wrong(L, w, "index", "expected %d (one per axis), got %d", (int)rank,
             lua_gettop(L) - first + 1);
  for (int32_t k = 0; k < rank; k++) {
    int32_t n = berth_array_shape(a->array)[k];
    at = at * n + (int64_t)bl_to_whole(L, first + k, w, "index", 1, n) - 1;
  }
  return a->data + at;
}

/* get(i, j, ...): number */
static int get(lua_State *L) {
  BL_WHERE(w, "array:get");
  const bl_array_box *a = bl_check_array(L, 1, w.fn, "self");
  lua_pushnumber(L, (lua_Number)*element(L, a, 2, &w));
  return 1;
}

/* set(value, i, j, ...) */
static int set(lua_State *L) {
  BL_WHERE(w, "array:set");
  const bl_array_box *a = bl_check_array(L, 1, w.fn, "self");
  double x = bl_to_number(L, 2, &w, "value");
  *element(L, a, 3, &w) = (float)x;
  return 0;
}

/* item(): the number of an array of one */
static int item(lua_State *L) {
  BL_WHERE(w, "array:item");
  const bl_array_box *a = bl_check_array(L, 1, w.fn, "self");
  if (a->size != 1) bl_wrong(L, &w, "self", "has %.0f numbers, expected 1", (double)a->size);
  lua_pushnumber(L, (lua_Number)a->data[0]);
  return 1;
}

/* ---- whole arrays ---- */

/* array:copy(): array of the same numbers, not recorded by a tape. */
static int copy(lua_State *L) {
  bl_array_box *out = bl_result(L, 1);
  const bl_array_box *a = bl_check_array(L, 1, "array:copy", "self");
  berth_status st = berth_array_new(a->nn->ctx, berth_array_rank(a->array),
                                    berth_array_shape(a->array), &out->array);
  if (st == BERTH_OK && a->size)
    memcpy(berth_array_data(out->array), a->data, (size_t)a->size * sizeof *a->data);
  return bl_give(L, out, st);
}

/* array:copy_from(array): itself, with the same numbers; only the sizes must agree, not the shapes.
 * memmove, since both may share memory. */
static int copy_from(lua_State *L) {
  BL_WHERE(w, "array:copy_from");
  const bl_array_box *a = bl_check_array(L, 1, w.fn, "self"),
                     *b = bl_check_array(L, 2, w.fn, "source");
  if (a->size != b->size)
    bl_wrong(L, &w, "source", "has %.0f numbers, expected %.0f", (double)b->size, (double)a->size);
  if (a->size) memmove(a->data, b->data, (size_t)a->size * sizeof *a->data);
  lua_settop(L, 1);
  return 1;
}

/* fill(value): itself */
static int fill(lua_State *L) {
  BL_WHERE(w, "array:fill");
  const bl_array_box *a = bl_check_array(L, 1, w.fn, "self");
  double x = bl_to_number(L, 2, &w, "value");
  for (int64_t i = 0; i < a->size; i++) a->data[i] = (float)x;
  lua_settop(L, 1);
  return 1;
}

/* Numbers of a row: what one index of the first axis spans. */
static int64_t row_size(const bl_array_box *a) {
  int32_t n = berth_array_shape(a->array)[0];
  return n ? a->size / n : 0;
}

/* Index and source of a scatter fit the rows of the target. */
static void check_rows(lua_State *L, const bl_where *w, const bl_array_box *a, const berth_index *x,
                       const bl_array_box *b) {
  int32_t rows = berth_array_shape(b->array)[0], n = berth_array_shape(a->array)[0];
  if (berth_index_size(x) != rows)
    bl_wrong(L, w, "index", "has %d ids for %d rows", (int)berth_index_size(x), (int)rows);
  if (berth_index_largest(x) >= n)
    bl_wrong(L, w, "index", "there is no row %d of %d", (int)berth_index_largest(x) + 1, (int)n);
  if (b->size && row_size(a) != row_size(b))
    bl_wrong(L, w, "source", "has rows of %.0f numbers, expected %.0f", (double)row_size(b),
             (double)row_size(a));
}

/* array:add_rows(index, b, scale = 1): itself; a[index[i]] += scale b[i], in order; 0: dropped. The
 * index comes first: a table there is converted, which allocates. Not recorded by a tape. */
static int add_rows(lua_State *L) {
  BL_WHERE(w, "array:add_rows");
  const berth_index *x = bl_to_index(L, 2, &w, "index");
  const bl_array_box *a = bl_check_array(L, 1, w.fn, "self"),
                     *b = bl_check_array(L, 3, w.fn, "source");
  const float scale = (float)bl_opt_number(L, 4, &w, "scale", 1);
  check_rows(L, &w, a, x, b);
  int64_t m = row_size(b);
  for (int32_t i = 0; i < berth_index_size(x); i++) {
    float *to = a->data + m * berth_index_ids(x)[i];
    const float *from = b->data + m * i;
    if (berth_index_ids(x)[i] != BERTH_NONE)
      for (int64_t k = 0; k < m; k++) to[k] += scale * from[k];
  }
  lua_settop(L, 1);
  return 1;
}

/* array:set_rows(index, b): itself; a[index[i]] = b[i], in order; 0: dropped. */
static int set_rows(lua_State *L) {
  BL_WHERE(w, "array:set_rows");
  const bl_array_box *a = bl_check_array(L, 1, w.fn, "self"),
                     *b = bl_check_array(L, 3, w.fn, "source");
  const berth_index *x = bl_to_index(L, 2, &w, "index");
  check_rows(L, &w, a, x, b);
  size_t m = (size_t)row_size(b);
  for (int32_t i = 0; i < berth_index_size(x); i++) {
    int32_t row = berth_index_ids(x)[i];
    if (row != BERTH_NONE && m)
      memmove(a->data + m * (size_t)row, b->data + m * (size_t)i, m * sizeof *a->data);
  }
  lua_settop(L, 1);
  return 1;
}

const luaL_Reg bl_nn_value_methods[] = { { "totable", to_table },
                                         { "flat", flat },
                                         { "get", get },
                                         { "set", set },
                                         { "item", item },
                                         { "copy", copy },
                                         { "copy_from", copy_from },
                                         { "fill", fill },
                                         { "add_rows", add_rows },
                                         { "set_rows", set_rows },
                                         { NULL, NULL } };
