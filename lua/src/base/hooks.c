/* Hooks in Lua: whether to stop, and how far the work is. The core calls them on the calling
 * thread, in the midst of its own frames.
 *
 * A caller of the core says from which Lua state (bl_enter, bl_leave), so that the functions run on
 * its stack. A function that raises stops the work; its error waits in the table of hooks until
 * the core has cleaned up, and is raised then, unchanged.
 */
#include "binding.h"

/* in the table of hooks; false: none */
enum { INTERRUPT = 1, PROGRESS, FAILURE, N_SLOTS = FAILURE };

static const char hooks_key = 0; /* its address is the registry key of the table of hooks */

static void push_hooks(lua_State *L) {
  lua_pushlightuserdata(L, (void *)&hooks_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

/* ---- calls ---- */

typedef struct hook_call {
  const char *what;
  double done;
  bool stop;
} hook_call;

static int interrupt_body(lua_State *L) {
  hook_call *q = lua_touserdata(L, 1);
  push_hooks(L);
  lua_rawgeti(L, -1, INTERRUPT);
  lua_call(L, 0, 1);
  q->stop = lua_toboolean(L, -1);
  return 0;
}

/* Protected: (hook_call). What the function returns is ignored. */
static int progress_body(lua_State *L) {
  const hook_call *q = lua_touserdata(L, 1);
  push_hooks(L);
  lua_rawgeti(L, -1, PROGRESS);
  lua_pushstring(L, q->what);
  lua_pushnumber(L, q->done);
  lua_call(L, 2, 0);
  return 0;
}

/* Takes the error from the top into its slot, which is there already: that allocates nothing. */
static void keep_failure(bl_hooks *h) {
  lua_State *L = h->running;
  push_hooks(L);
  lua_insert(L, -2);
  lua_rawseti(L, -2, FAILURE);
  lua_pop(L, 1);
  h->failed = true;
}

/* A hook may call the core, but is not called from there again. */
static void call_hook(bl_hooks *h, lua_CFunction f, hook_call *q) {
  h->calling = true;
  if (compat_cpcall(h->running, f, q) != LUA_OK) keep_failure(h);
  h->calling = false;
}

static int on_interrupt(void *ud) {
  bl_hooks *h = ud;
  hook_call q = { NULL, 0, false };
  if (bl_take_interrupt(h, h->running) || h->failed) return 1;
  if (!h->interrupt || !h->running || h->calling) return 0;
  call_hook(h, interrupt_body, &q);
  return q.stop || h->failed;
}

static void on_progress(void *ud, const char *what, double done) {
  bl_hooks *h = ud;
  hook_call q = { what, done, false };
  if (!h->progress || !h->running || h->calling || h->failed) return;
  call_hook(h, progress_body, &q);
}

/* All slots are made here and hold false when empty: filling one inside of the core allocates
 * nothing. */
void bl_hooks_init(lua_State *L, bl_hooks *h, berth_hooks *core) {
  lua_pushlightuserdata(L, (void *)&hooks_key);
  lua_createtable(L, N_SLOTS, 0);
  for (int slot = 1; slot <= N_SLOTS; slot++) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, -2, slot);
  }
  lua_rawset(L, LUA_REGISTRYINDEX);
  core->interrupt = on_interrupt;
  core->progress = on_progress;
  core->ud = h;
}

/* ---- calls of the core ---- */

bl_call bl_enter_with(lua_State *L, bl_hooks *h) {
  bl_call call = { h, h->running };
  luaL_checkstack(L, 20, "berth");
  h->running = L;
  return call;
}

bl_call bl_enter(lua_State *L) { return bl_enter_with(L, bl_hooks_of(L)); }

berth_status bl_leave(const bl_call *call, berth_status st) {
  call->hooks->running = call->outer;
  return st == BERTH_OK && call->hooks->failed ? BERTH_EINTERRUPT : st;
}

/* Raises the value that a hook raised inside of the core, unchanged, and forgets it. */
void bl_raise_failure(lua_State *L) {
  bl_hooks *h = bl_hooks_of(L);
  if (!h->failed) return;
  h->failed = false;
  push_hooks(L);
  lua_rawgeti(L, -1, FAILURE);
  lua_pushboolean(L, 0);
  lua_rawseti(L, -3, FAILURE);
  lua_error(L);
}

/* ---- functions of the module ---- */

/* Sets field `key` of the table on the top, if there is such a hook. */
static void push_hook(lua_State *L, int slot, const char *key) {
  push_hooks(L);
  lua_rawgeti(L, -1, slot);
  if (lua_isfunction(L, -1)) lua_setfield(L, -3, key);
  else lua_pop(L, 1);
  lua_pop(L, 1);
}

/* Pushes the function at `key`, or false. */
static bool get_hook(lua_State *L, int t, const bl_where *w, const char *key) {
  if (bl_get_function(L, t, w, key)) return true;
  lua_pushboolean(L, 0);
  return false;
}

/* Both are read before either is set: a wrong one changes nothing. */
static void set_hooks(lua_State *L, int t, const bl_where *w) {
  bl_hooks *h = bl_hooks_of(L);
  push_hooks(L);
  bool interrupt = get_hook(L, t, w, "interrupt");
  bool progress = get_hook(L, t, w, "progress");
  lua_rawseti(L, -3, PROGRESS);
  lua_rawseti(L, -2, INTERRUPT);
  lua_pop(L, 1);
  h->interrupt = interrupt;
  h->progress = progress;
}

BL_OPTIONS(hook,
  BL_OTHER("interrupt", "function", "none", "called while work runs: true stops it"),
  BL_OTHER("progress", "function", "none", "called with what runs, and the share that is done"))

/* hooks { interrupt, progress }: those that were there before; without an argument they stay */
static int hooks(lua_State *L) {
  static const bl_where w = { "berth.hooks", NULL, 0 };
  int t = bl_option_table(L, 1, &w, bl_hook_tables), n = lua_gettop(L);
  lua_newtable(L);
  push_hook(L, INTERRUPT, "interrupt");
  push_hook(L, PROGRESS, "progress");
  if (n > 0) set_hooks(L, t, &w);
  return 1;
}

/* progress(what, done): from the Lua modules; the hook's error just passes through them */
static int progress(lua_State *L) {
  bl_hooks *h = bl_hooks_of(L);
  if (!h->progress || h->calling) return 0;
  lua_settop(L, 2);
  push_hooks(L);
  lua_rawgeti(L, -1, PROGRESS);
  lua_insert(L, 1);
  lua_settop(L, 3);
  h->calling = true;
  bool failed = lua_pcall(L, 2, 0, 0) != LUA_OK;
  h->calling = false;
  return failed ? lua_error(L) : 0;
}

const luaL_Reg bl_hook_functions[] = { { "hooks", hooks },
                                       { "progress", progress },
                                       { NULL, NULL } };
