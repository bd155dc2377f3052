/* A line hook for coverage: require "line_hook" (LUA_INIT does) notes each line of lua/berth that
 * runs, in all coroutines, and appends "path<tab>line" for each to a file in the folder
 * $BERTH_LINES when the process ends. A spec that sets another hook ends it. */
#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 4096, NAME = 256, LINES = 4096 };

/* The address of a source's text selects its slot. The text is compared: the memory of a source may
 * be reused for another. */
static struct slot {
  char name[NAME];
  const char *path; /* within name, from "lua/berth/" on; NULL: not ours */
  unsigned char run[LINES];
} slots[SLOTS];

static void write_slot(FILE *out, const struct slot *s) {
  for (int line = 1; s->path && line < LINES; line++) {
    if (s->run[line]) fprintf(out, "%s\t%d\n", s->path, line);
  }
}

static FILE *open_output(void) {
  char path[1024];
  const char *folder = getenv("BERTH_LINES");
  snprintf(path, sizeof path, "%s/%ld", folder ? folder : ".", (long)getpid());
  return fopen(path, "a");
}

static void write_all(void) {
  FILE *out = open_output();
  if (!out) return;
  for (int i = 0; i < SLOTS; i++) write_slot(out, &slots[i]);
  fclose(out);
}

static void take(struct slot *s, const char *source) {
  FILE *out = s->path ? open_output() : NULL;
  if (out) {
    write_slot(out, s);
    fclose(out);
  }
  memset(s, 0, sizeof *s);
  strncpy(s->name, source, NAME - 1);
  s->path = source[0] == '@' ? strstr(s->name, "lua/berth/") : NULL;
}

static void hook(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "S", ar);
  struct slot *s = &slots[((uintptr_t)ar->source >> 4) * 2654435761u % SLOTS];
  if (strncmp(s->name, ar->source, NAME - 1) != 0) take(s, ar->source);
  if (ar->currentline > 0 && ar->currentline < LINES) s->run[ar->currentline] = 1;
}

int luaopen_line_hook(lua_State *L) {
  atexit(write_all);
  lua_sethook(L, hook, LUA_MASKLINE, 0);
  return 0;
}
