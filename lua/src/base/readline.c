/* berth.readline: line editing, history and completion over libedit, for the REPL. Optional, and no
 * part of berth.core.
 *
 * An interpreter that is itself linked with GNU readline (Debian's lua5.4) already has functions of
 * the same names, and those run then: only what both libraries have is used. They keep the terminal
 * and the history in process-wide state, and their callbacks carry no user data: `active` below is
 * the one Lua state that is inside readline() now, NULL otherwise; `watched` is the number of
 * interrupts that berth.core has caught and no call has handled yet.
 */
#define _POSIX_C_SOURCE 200809L
#include "compat.h"
#include <editline/readline.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static lua_State *active;
static const volatile sig_atomic_t *watched;

static const char completer_key = 0; /* its address is the registry key of the completion
                                        function */

static void push_completer(lua_State *L) {
  lua_pushlightuserdata(L, (void *)&completer_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
}

static void free_matches(char **matches) {
  for (size_t i = 0; matches && matches[i]; i++) free(matches[i]);
  free(matches);
}

static char *copy(const char *s, size_t n) {
  char *out = malloc(n + 1);
  if (!out) return NULL;
  memcpy(out, s, n);
  out[n] = '\0';
  return out;
}

/* Length of the prefix that all strings of the array at the top share. */
static size_t common_prefix(lua_State *L, size_t n) {
  size_t shared = 0;
  lua_rawgeti(L, -1, 1);
  const char *first = lua_tolstring(L, -1, &shared);
  for (size_t i = 2; i <= n; i++) {
    lua_rawgeti(L, -2, (int)i);
    const char *s = lua_tostring(L, -1);
    size_t k;
    for (k = 0; k < shared && s[k] == first[k]; k++) continue;
    shared = k;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return shared;
}

/* Whether the table at the top holds strings at 1 to n. */
static int all_strings(lua_State *L, size_t n) {
  int ok = 1;
  for (size_t i = 1; i <= n && ok; i++) {
    lua_rawgeti(L, -1, (int)i);
    ok = lua_type(L, -1) == LUA_TSTRING;
    lua_pop(L, 1);
  }
  return ok;
}

/* The array that readline frees: first what all matches begin with, then these. 0: no memory. */
static int fill_matches(lua_State *L, char **matches, size_t n) {
  lua_rawgeti(L, -1, 1);
  matches[0] = copy(lua_tostring(L, -1), 0);
  lua_pop(L, 1);
  for (size_t i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, (int)i);
    size_t len;
    const char *s = lua_tolstring(L, -1, &len);
    matches[i] = copy(s, len);
    lua_pop(L, 1);
    if (!matches[i]) return 0;
  }
  return matches[0] != NULL;
}

/* What libedit expects: the common prefix, then the candidates, then NULL; all freed by it. */
static char **matches_of(lua_State *L) {
  size_t n;
  if (lua_type(L, -1) != LUA_TTABLE || (n = lua_rawlen(L, -1)) == 0 || !all_strings(L, n))
    return NULL;
  char **matches = calloc(n + 2, sizeof *matches);
  if (!matches) return NULL;
  if (!fill_matches(L, matches, n)) {
    free_matches(matches);
    return NULL;
  }
  size_t shared = common_prefix(L, n);
  free(matches[0]);
  matches[0] = copy(matches[1], shared);
  return matches;
}

static int call_completer(lua_State *L, const char *text, int start) {
  push_completer(L);
  if (lua_type(L, -1) != LUA_TFUNCTION) return 0;
  lua_pushstring(L, text);
  lua_pushlstring(L, rl_line_buffer, (size_t)start);
  return lua_pcall(L, 2, 1, 0) == LUA_OK;
}

/* Called by readline outside of Lua: whatever happens, the stack is as before and no error
 * passes. */
static char **complete(const char *text, int start, int end) {
  lua_State *L = active;
  char **matches = NULL;
  (void)end;
  rl_attempted_completion_over = 1; /* never file names */
  if (!L || !lua_checkstack(L, 8)) return NULL;
  int top = lua_gettop(L);
  if (call_completer(L, text, start)) matches = matches_of(L);
  lua_settop(L, top);
  rl_completion_append_character = '\0';
  return matches;
}

static int is_interrupted(void) { return watched && *watched > 0; }

/* GNU readline reads on after a signal: its event hook, which it calls ten times a second, ends the
 * line. */
static int end_line_if_interrupted(void) {
  if (is_interrupted()) rl_done = 1;
  return 0;
}

/* libedit gives up by itself; it would call an event hook without pause. */
static void set_event_hook(void) {
  if (watched && !strstr(rl_library_version, "EditLine")) rl_event_hook = end_line_if_interrupted;
}

/** readline(prompt): a line without its end; nil at the end of input; false if it was
 * interrupted. */
static int read_line(lua_State *L) {
  const char *prompt = luaL_checkstring(L, 1);
  rl_attempted_completion_function = complete;
  set_event_hook();
  active = L;
  char *line = readline(prompt);
  active = NULL;
  if (is_interrupted()) {
    /* GNU readline has ended the line */
    if (!line) fputc('\n', rl_outstream ? rl_outstream : stdout);
    free(line);
    lua_pushboolean(L, 0);
    return 1;
  }
  if (!line) return 0;
  lua_pushstring(L, line);
  free(line);
  return 1;
}

static int remember(lua_State *L) {
  add_history(luaL_checkstring(L, 1));
  return 0;
}

/** read_history(path), write_history(path): true if it worked. */
static int load_history(lua_State *L) {
  lua_pushboolean(L, read_history(luaL_checkstring(L, 1)) == 0);
  return 1;
}

static int save_history(lua_State *L) {
  lua_pushboolean(L, write_history(luaL_checkstring(L, 1)) == 0);
  return 1;
}

/** completion(function(word, before) return { candidate, ... } end), or completion(nil). */
static int set_completer(lua_State *L) {
  if (!lua_isnoneornil(L, 1)) luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushlightuserdata(L, (void *)&completer_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return 0;
}

/** watch(count): the address that berth.core.interrupt_count gives. */
static int watch(lua_State *L) {
  luaL_checktype(L, 1, LUA_TLIGHTUSERDATA);
  watched = lua_touserdata(L, 1);
  return 0;
}

/** is_terminal(): both standard input and standard output are one. */
static int is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
  return 1;
}

static const luaL_Reg functions[] = { { "readline", read_line },
                                      { "add_history", remember },
                                      { "read_history", load_history },
                                      { "write_history", save_history },
                                      { "completion", set_completer },
                                      { "is_terminal", is_terminal },
                                      { "watch", watch },
                                      { NULL, NULL } };

int luaopen_berth_readline(lua_State *L);
int luaopen_berth_readline(lua_State *L) {
  static char name[] = "berth", breaks[] = " \t\n\"'`@$><=;|&{}()[]+-*/^%#~,";
  rl_readline_name = name;
  rl_completer_word_break_characters = breaks;
  using_history();
  lua_newtable(L);
  luaL_setfuncs(L, functions, 0);
  return 1;
}
