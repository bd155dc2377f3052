/* The terminal that standard output or standard error is. */
#define _DEFAULT_SOURCE /* struct winsize */
#include "binding.h"
#include <sys/ioctl.h>
#include <unistd.h>

/* columns(): columns of the terminal; nil: standard output is none, or has no size. */
static int columns(lua_State *L) {
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 0;
  lua_pushinteger(L, size.ws_col);
  return 1;
}

/* shows_errors(): standard error is a terminal. */
static int shows_errors(lua_State *L) {
  lua_pushboolean(L, isatty(STDERR_FILENO));
  return 1;
}

const luaL_Reg bl_terminal_functions[] = { { "columns", columns },
                                           { "shows_errors", shows_errors },
                                           { NULL, NULL } };
