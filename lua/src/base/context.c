/* One context per Lua state; errors and their messages; collecting garbage by the core's memory.
 * The context's box is in the registry under a light userdata key. Messages of the core count ids
 * from 0: bl_push_text adds one to numbers behind the nouns listed here. Positions of errors are
 * those of the first caller outside berth's own modules, whose source prefix set_home gives. */
#define _POSIX_C_SOURCE 200809L
#include "binding.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct context_box {
  berth_ctx *ctx;
  size_t threshold; /* bytes held at which garbage is collected next */
  bl_hooks hooks;
} context_box;

enum { FIRST_THRESHOLD = 64 << 20 };

static const char context_key = 0, home_key = 0; /* addresses are registry keys */

static double monotonic_clock(void *ud) {
  (void)ud;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void release_context(void *box) {
  context_box *c = box;
  bl_forget_interrupts(&c->hooks);
  berth_ctx_release(c->ctx);
}
static const bl_class context_class = {
  .name = "context", .key = "berth.context", .release = release_context
};

/* Pushes registry[key]. */
static void registry_get(lua_State *L, const void *key) {
  lua_pushlightuserdata(L, (void *)key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

/* Sets registry[key] to the value on the top. */
static void registry_set(lua_State *L, const void *key) {
  lua_pushlightuserdata(L, (void *)key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* [-0, +0] Leaves the box in the registry. */
static context_box *make_context(lua_State *L) {
  berth_hooks hooks = { 0 };
  hooks.clock = monotonic_clock;
  bl_register(L, &context_class);
  context_box *box = bl_new(L, &context_class, sizeof *box);
  box->threshold = FIRST_THRESHOLD;
  bl_hooks_init(L, &box->hooks, &hooks);
  bl_interrupts_init(L);
  if (berth_ctx_new(&hooks, &box->ctx) != BERTH_OK) luaL_error(L, "berth: out of memory");
  registry_set(L, &context_key);
  return box;
}

/* Made at the first use in a Lua state. */
static context_box *get_context(lua_State *L) {
  registry_get(L, &context_key);
  context_box *box = lua_touserdata(L, -1);
  lua_pop(L, 1);
  /* a finaliser that came after the context's own */
  if (box && !box->ctx) luaL_error(L, "berth: its Lua state is closing");
  return box ? box : make_context(L);
}

berth_ctx *bl_ctx(lua_State *L) { return get_context(L)->ctx; }
bl_hooks *bl_hooks_of(lua_State *L) { return &get_context(L)->hooks; }

void bl_track(lua_State *L) {
  context_box *box = get_context(L);
  size_t held = berth_ctx_memory(box->ctx);
  if (held < box->threshold) return;
  lua_gc(L, LUA_GCCOLLECT, 0);
  held = 2 * berth_ctx_memory(box->ctx);
  box->threshold = held > FIRST_THRESHOLD ? held : FIRST_THRESHOLD;
}

/* ---- positions ---- */

/* Is this level a C function, or one of berth's own modules? */
static bool is_ours(const lua_Debug *ar, const char *home) {
  if (ar->currentline < 0) return true;
  return home && strncmp(ar->source, home, strlen(home)) == 0;
}

/* Pushes "file:line: " of the user's code. */
static void push_where(lua_State *L) {
  registry_get(L, &home_key);
  const char *home = lua_tostring(L, -1);
  lua_Debug ar;
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (is_ours(&ar, home)) continue;
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
    lua_remove(L, -2);
    return;
  }
  lua_pushliteral(L, ""); /* no caller outside berth, as in the command line */
  lua_remove(L, -2);
}

static int where(lua_State *L) {
  push_where(L);
  return 1;
}

/* set_home(source prefix): where berth's own Lua modules are, so that errors blame their
 * callers. */
static int set_home(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  registry_set(L, &home_key);
  return 0;
}

/* ---- errors ---- */

/* Formats in C: lua_pushfstring differs between the interpreters, and the text must not. */
int bl_error(lua_State *L, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char text[1024];
  berth_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  push_where(L);
  lua_pushstring(L, text);
  lua_concat(L, 2);
  return lua_error(L);
}

/* Core messages number from 0; in Lua, ids are from 1. Names are in quotes and stay unchanged. */

static const char *const numbered[] = {
  "op ",       "ops ",         "device ",    "devices ",     "tensor ",   "tensors ", "collective ",
  "link ",     "device type ", "switch ",    "measurement ", "links ",    "node ",    "group ",
  "groups ",   "row ",         "placement ", "member ",      "episode ",  "segment ", "column ",
  "bin ",      "server ",      "job ",       "machine ",     "resource ", "axis ",    "rows are ",
  "axes are ", "decision ",    "action ",    "device set ",  "profile ",  NULL
};

/* Length of the noun at s that begins a word and is followed by a number; 0: none. */
static size_t noun_length(const char *begin, const char *s) {
  if (s > begin && isalnum((unsigned char)s[-1])) return 0;
  for (int k = 0; numbered[k]; k++) {
    size_t n = strlen(numbered[k]);
    if (strncmp(s, numbered[k], n) == 0 && isdigit((unsigned char)s[n])) return n;
  }
  return 0;
}

/* Copies a list of ids, "3" or "3, 4 -> 5 and 6", each one larger. */
static const char *add_shifted(luaL_Buffer *b, const char *s) {
  static const char *const joints[] = { ", ", " -> ", " and ", " to ", "..", NULL };
  for (;;) {
    unsigned long id = 0;
    for (; isdigit((unsigned char)*s); s++) id = id * 10 + (unsigned long)(*s - '0');
    bl_add_format(b, "%lu", id + 1);
    int k;
    for (k = 0; joints[k]; k++) {
      size_t n = strlen(joints[k]);
      if (strncmp(s, joints[k], n) == 0 && isdigit((unsigned char)s[n])) break;
    }
    if (!joints[k]) return s;
    luaL_addstring(b, joints[k]);
    s += strlen(joints[k]);
  }
}

/* Names in quotes may look like ids: copied as they are. */
static const char *add_quoted(luaL_Buffer *b, const char *s) {
  luaL_addchar(b, *s);
  for (s++; *s && *s != '"'; s++) luaL_addchar(b, *s);
  if (*s) luaL_addchar(b, *s++);
  return s;
}

/* [-0, +1] The core counts from 0 and Lua from 1: numbers behind a noun are shifted, quoted
 * names are copied as they are. */
void bl_push_text(lua_State *L, const char *message) {
  const char *s = message;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  while (*s) {
    size_t n = noun_length(message, s);
    if (n > 0) {
      luaL_addlstring(&b, s, n);
      s = add_shifted(&b, s + n);
    } else if (*s == '"') {
      s = add_quoted(&b, s);
    } else {
      luaL_addchar(&b, *s++);
    }
  }
  luaL_pushresult(&b);
}

/* [-0, +1] Why the last call of the core failed. */
void bl_push_message(lua_State *L, berth_status st) {
  const char *message = berth_errmsg(bl_ctx(L));
  if (!*message) message = berth_status_name(st);
  if (st == BERTH_EPARSE || st == BERTH_EIO) {
    lua_pushstring(L, message); /* speaks of the file and its own numbers */
  } else {
    bl_push_text(L, message);
  }
}

/* Callback and interrupt errors are raised, everything else is returned. */
int bl_failed(lua_State *L, berth_status st) {
  if (st == BERTH_ECALLBACK) return lua_error(L);
  if (st == BERTH_EINTERRUPT) bl_raise_failure(L);
  lua_pushnil(L);
  bl_push_message(L, st);
  lua_pushstring(L, berth_status_name(st));
  return 3;
}

int bl_refused(lua_State *L, const char *fn, berth_status st) {
  if (st != BERTH_EINVAL) return bl_failed(L, st);
  bl_push_message(L, st);
  return bl_error(L, "%s: %s", fn, lua_tostring(L, -1));
}

void bl_must_build(lua_State *L, const bl_where *w, berth_status st) {
  if (st == BERTH_OK) return;
  bl_push_message(L, st);
  if (w->list) bl_error(L, "%s: %s[%d]: %s", w->fn, w->list, w->i, lua_tostring(L, -1));
  bl_error(L, "%s: %s", w->fn, lua_tostring(L, -1));
}

int bl_done(lua_State *L, berth_status st) {
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_pushboolean(L, 1);
  return 1;
}

/* ---- the module ---- */

/* memory(reset): bytes held, and at most since the last reset. */
static int memory(lua_State *L) {
  berth_ctx *ctx = bl_ctx(L);
  lua_pushnumber(L, (lua_Number)berth_ctx_memory(ctx));
  lua_pushnumber(L, (lua_Number)berth_ctx_memory_peak(ctx));
  if (lua_toboolean(L, 1)) berth_ctx_memory_reset_peak(ctx);
  return 2;
}

BL_GETTER(clock_seconds, lua_pushnumber, monotonic_clock(NULL))

const luaL_Reg bl_context_functions[] = { { "memory", memory },
                                          { "clock", clock_seconds },
                                          { "where", where },
                                          { "set_home", set_home },
                                          { NULL, NULL } };
