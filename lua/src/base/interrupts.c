/* Ctrl-C: SIGINT, on request, stops what the library or Lua code is doing instead of ending the
 * process.
 *
 * The handler counts, and sets a debug hook on Lua's main thread, as the stand-alone interpreter
 * does. The first that checks takes the signal and clears the other: the core's interrupt hook, so
 * that the call returns "interrupted", or Lua code, which raises. A signal disposition belongs to
 * the process, so this state does, too: one Lua state at a time has it.
 */
#define _POSIX_C_SOURCE 200809L
#include "binding.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>

/* After so many signals that nothing has handled, the process gets the next one as it would have
 * without this file. */
enum { MOST_UNHANDLED = 3 };

static volatile sig_atomic_t pending, taken;

/* Written only while the handler is not installed; the last line by the handler. */
static struct {
  const bl_hooks *owner; /* NULL: not caught */
  lua_State *main;
  pthread_t thread;
  struct sigaction before;
  lua_Hook hook; int mask, count; /* the debug hook that ours replaces while it is set */
} caught;

static const char main_key = 0; /* its address is a registry key */

/* ---- Lua's side ---- */

static void stop(lua_State *L, lua_Debug *ar);

/* Called in the signal's handler. */
static void set_debug_hook(lua_State *L) {
  if (lua_gethook(L) == stop) return;
  caught.hook = lua_gethook(L);
  caught.mask = lua_gethookmask(L);
  caught.count = lua_gethookcount(L);
  lua_sethook(L, stop, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

/* L: a coroutine inherits the hook if it is made in between. */
static void unset_debug_hook(lua_State *L) {
  if (lua_gethook(caught.main) == stop)
    lua_sethook(caught.main, caught.hook, caught.mask, caught.count);
  if (L && lua_gethook(L) == stop) lua_sethook(L, NULL, 0, 0);
}

bool bl_take_interrupt(const bl_hooks *h, lua_State *L) {
  if (!pending || h != caught.owner) return false;
  unset_debug_hook(L);
  pending = 0;
  taken = 1;
  return true;
}

/* "file:line: " of the innermost Lua function, or "". */
static void push_position(lua_State *L) {
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0) continue;
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
    return;
  }
  lua_pushliteral(L, "");
}

static void stop(lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (!bl_take_interrupt(caught.owner, L)) {
    unset_debug_hook(L);
    return;
  }
  push_position(L);
  lua_pushliteral(L, "interrupted");
  lua_concat(L, 2);
  lua_error(L);
}

/* ---- the signal ---- */

/* As lua.c does it: the signal sets a debug hook, which raises when Lua code runs next. After
 * MOST_UNHANDLED signals that no hook has taken the default action ends the process. */
static void on_signal(int sig) {
  int kept = errno;
  if (!pthread_equal(pthread_self(), caught.thread)) {
    pthread_kill(caught.thread, sig); /* came to a worker of a batch */
  } else if (++pending < MOST_UNHANDLED) {
    set_debug_hook(caught.main);
  } else {
    sigaction(sig, &caught.before, NULL);
    raise(sig);
  }
  errno = kept;
}

static void begin(lua_State *main, const bl_hooks *h) {
  struct sigaction ours = { 0 };
  caught.owner = h;
  caught.main = main;
  caught.thread = pthread_self();
  ours.sa_handler = on_signal; /* without SA_RESTART: a read at the prompt ends */
  sigemptyset(&ours.sa_mask);
  sigaction(SIGINT, &ours, &caught.before);
}

/* A signal without effect so far is passed on. */
static void end(void) {
  sigaction(SIGINT, &caught.before, NULL);
  caught.owner = NULL;
  bool late = pending > 0;
  if (late) unset_debug_hook(NULL);
  pending = taken = 0;
  if (late) raise(SIGINT);
}

void bl_forget_interrupts(const bl_hooks *h) {
  if (caught.owner == h) end();
}

/* ---- functions of the module ---- */

void bl_interrupts_init(lua_State *L) {
#if LUA_VERSION_NUM < 502
  lua_pushlightuserdata(L, (void *)&main_key);
  lua_pushthread(L);
  lua_rawset(L, LUA_REGISTRYINDEX);
#else
  (void)L;
  (void)main_key;
#endif
}

/* Lua 5.1 does not keep it: there the thread that loaded the module was noted. */
lua_State *bl_main_thread(lua_State *L) {
#if LUA_VERSION_NUM < 502
  lua_pushlightuserdata(L, (void *)&main_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
#else
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
#endif
  lua_State *main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return main;
}

/* catch_interrupts(yes): whether they were caught before */
static int catch_interrupts(lua_State *L) {
  BL_WHERE(w, "berth.catch_interrupts");
  const bl_hooks *h = bl_hooks_of(L);
  bool yes = lua_toboolean(L, 1), was = caught.owner == h;
  if (!lua_isboolean(L, 1)) bl_wrong(L, &w, "yes", "expected true or false, got %s", bl_kind(L, 1));
  if (caught.owner && !was) bl_error(L, "%s: another Lua state of this process catches them", w.fn);
  if (yes && !was) begin(bl_main_thread(L), h);
  if (!yes && was) end();
  lua_pushboolean(L, was);
  return 1;
}

/* interrupted(): has an interrupt had its effect since the last call? */
static int interrupted(lua_State *L) {
  lua_pushboolean(L, taken != 0);
  taken = 0;
  return 1;
}

/* interrupt_count(): address of the number of interrupts without effect so far, a volatile
 * sig_atomic_t */
static int interrupt_count(lua_State *L) {
  lua_pushlightuserdata(L, (void *)&pending);
  return 1;
}

const luaL_Reg bl_interrupt_functions[] = { { "catch_interrupts", catch_interrupts },
                                            { "interrupted", interrupted },
                                            { "interrupt_count", interrupt_count },
                                            { NULL, NULL } };
