/* Fits of link, ring and lines to measured times (berth/cost.h): arrays of bytes, devices and
 * seconds as arguments, [n] each, in scratch on the stack. */
#include "base/binding.h"

/* [-0, +1] Quantities [n] in scratch, with units in strings ("64 KB"); the name of an item is made
 * for each, since arrays of measurements are short. */
static double *measured(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                        berth_unit unit, const char *per) {
  int32_t got = bl_to_length(L, i, w, key);
  double *x = bl_scratch(L, (size_t)n, sizeof *x);
  if (got != n)
    bl_wrong(L, w, key, "has %d entries, expected %d (one per %s)", (int)got, (int)n, per);
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    const char *name = lua_pushfstring(L, "%s[%d]", key, (int)k + 1);
    x[k] = bl_to_quantity(L, -2, w, name, unit);
    lua_pop(L, 2);
  }
  return x;
}

/* [-0, +1] { latency (s), bandwidth (bytes/s), r2 }. */
static int push_fit(lua_State *L, const berth_link *l, double r2) {
  lua_createtable(L, 0, 3);
  bl_set_number(L, "latency", l->latency);
  bl_set_number(L, "bandwidth", l->bandwidth);
  bl_set_number(L, "r2", r2);
  return 1;
}

BL_OPTIONS(fit, BL_ROW("relative", FLAG, "false", "errors are relative to the measured times"))

/* fit_link(bytes, seconds, { relative }): { latency in s, bandwidth in bytes/s, r2 } of a line
 * through [n] measurements; nil, message, code. */
static int fit_link(lua_State *L) {
  static const bl_where w = { "berth.fit_link", NULL, 0 };
  int32_t n = bl_to_length(L, 1, &w, "bytes");
  int relative = 0;
  double r2 = 0;
  lua_settop(L, 3);
  bl_take_options(L, 3, &w, bl_fit_tables, &relative);
  double *bytes = measured(L, 1, &w, "bytes", n, BERTH_BYTES, "measurement");
  double *seconds = measured(L, 2, &w, "seconds", n, BERTH_SECONDS, "size");
  berth_link l;
  berth_status st = berth_fit_link(bl_ctx(L), n, bytes, seconds, relative, &l, &r2);
  if (st != BERTH_OK) return bl_failed(L, st);
  return push_fit(L, &l, r2);
}

/* [-0, +1] Numbers of devices [n] in scratch: counts, not ids, so that they are not shifted. */
static int32_t *counted(lua_State *L, int i, const bl_where *w, int32_t n) {
  int32_t got = bl_to_length(L, i, w, "devices"), *x = bl_scratch(L, (size_t)n, sizeof *x);
  if (got != n)
    bl_wrong(L, w, "devices", "has %d entries, expected %d (one per measurement)", (int)got,
             (int)n);
  for (int32_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    double count = bl_to_number(L, -1, w, "devices");
    if (count != (double)(int32_t)count)
      bl_wrong(L, w, "devices", "%g is no number of devices", count);
    x[k] = (int32_t)count;
    lua_pop(L, 1);
  }
  return x;
}

/* fit_collective(bytes, devices, seconds, { relative }): the same of AllReduces on a ring, [n]
 * each; nil, message, code. */
static int fit_collective(lua_State *L) {
  static const bl_where w = { "berth.fit_collective", NULL, 0 };
  int32_t n = bl_to_length(L, 1, &w, "bytes");
  int relative = 0;
  double r2 = 0;
  lua_settop(L, 4);
  bl_take_options(L, 4, &w, bl_fit_tables, &relative);
  double *bytes = measured(L, 1, &w, "bytes", n, BERTH_BYTES, "measurement");
  int32_t *devices = counted(L, 2, &w, n);
  double *seconds = measured(L, 3, &w, "seconds", n, BERTH_SECONDS, "size");
  berth_link l;
  berth_status st = berth_fit_collective(bl_ctx(L), n, bytes, devices, seconds, relative, &l, &r2);
  return st == BERTH_OK ? push_fit(L, &l, r2) : bl_failed(L, st);
}

/* fit_lines(bytes, seconds): { c1, c0, d1, d0 }, us per KiB and us of two lines, for the option
 * collective_lines; nil, message, code. */
static int fit_lines(lua_State *L) {
  BL_WHERE(w, "berth.fit_lines");
  int32_t n = bl_to_length(L, 1, &w, "bytes");
  lua_settop(L, 2);
  double *bytes = measured(L, 1, &w, "bytes", n, BERTH_BYTES, "measurement");
  double *seconds = measured(L, 2, &w, "seconds", n, BERTH_SECONDS, "size");
  double lines[4];
  berth_status st;
  if ((st = berth_fit_lines(bl_ctx(L), n, bytes, seconds, lines)) != BERTH_OK)
    return bl_failed(L, st);
  bl_push_numbers(L, 4, lines);
  return 1;
}

const luaL_Reg bl_fit_functions[] = { { "fit_link", fit_link },
                                      { "fit_collective", fit_collective },
                                      { "fit_lines", fit_lines },
                                      { NULL, NULL } };
