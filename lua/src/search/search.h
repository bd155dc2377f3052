/* The options of the placers that search, from a Lua table, and what one search holds while it
 * runs. */
#ifndef BERTH_LUA_SEARCH_H
#define BERTH_LUA_SEARCH_H

#include "sim/sim_options.h"

typedef struct bl_search {
  berth_search_options o;
  berth_search_report report;
  berth_sim_options judge;
  berth_objective objective;
  lua_State *L;
  int function, cost; /* stack indices of the objective and the cost */
  char fault[200];    /* what is wrong with a result of the objective */
} bl_search;

/** Leaves what it needs on the stack. Reads nothing unless placer is one of them. */
void bl_search_read(lua_State *L, int t, const bl_where *w, berth_cost *cost, const char *placer,
                    bl_search *s);
/** Raises what the objective did wrong. */
void bl_search_done(const bl_search *s, const char *fn, berth_status st);
/** Pushes a message and "interrupted" and returns 2, if it was; else 0. */
int bl_search_interrupted(lua_State *L, const bl_search *s);

#endif
