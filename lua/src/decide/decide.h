/* Searches on decisions in Lua: what berth.decide and the search of deployments share. */
#ifndef BERTH_LUA_DECIDE_H
#define BERTH_LUA_DECIDE_H

#include "base/binding.h"
#include <berth/decide.h>

/* A search that goes on. Its functions are in the anchor: value, prior, fill. */
typedef struct bl_tree_box {
  berth_decider *decider;   /* NULL: closed */
  bl_hooks *hooks;
  int64_t calls;            /* of search() without arguments */
  double seconds;
  const char *fn;           /* for messages */
  const char *assignment, *value_name; /* what results call them: "assignment", "value" */
  /** Adds to the result on the top; may leave nothing else on the stack. NULL */
  void (*finish)(lua_State *L, struct bl_tree_box *box, const int32_t *assignment);
  /** Instead of "none of .. is allowed": pushes nil, message, code ... for the assignment of least
   * excess. @return how many */
  int (*refuse)(lua_State *L, struct bl_tree_box *box, const int32_t *assignment,
                int64_t evaluations);
  void *object;             /* what the decider holds: of these */
  int rule, choose;         /* of these */
  int32_t actions;          /* that a prior gives weights of; 0: the decider's */
  lua_State *L;             /* that runs it; its functions are on this stack */
  int value, prior, fill;   /* there; 0: none */
  char fault[300];          /* what is wrong with what a function gave */
} bl_tree_box;

extern const bl_class bl_tree_class;
/** The options `fill` and `prior`. */
const berth_option_table *bl_decide_functions_option(void);

/** A closed box on the stack. */
bl_tree_box *bl_new_tree(lua_State *L, const char *fn);
/** Options of the table at t (0: none), `fill` among them. */
berth_decide_options bl_decide_options(lua_State *L, int t, const bl_where *w, berth_decisions *p);
/** The function t[key], if it is one, goes into the anchor of the box at `at`. @return there is
 * one */
bool bl_tree_function(lua_State *L, int at, int t, const bl_where *w, const char *key);
/** Seams that call the functions of the box, which is ud. */
berth_status bl_call_value(void *ud, int32_t k, const int32_t *assignment, double *value,
                           double *excess);
berth_status bl_call_prior(void *ud, int32_t k, const berth_leaf *leaf, double *p);
berth_status bl_call_fill(void *ud, int32_t decided, int32_t *assignment);
/** berth_decider_new for the box at `at`. */
berth_status bl_tree_make(lua_State *L, int at, const berth_decisions *p,
                          const berth_decide_options *o);
/** Searches and pushes the result, or nil, message, code. @return how many */
int bl_tree_search(lua_State *L, int at, int64_t calls, double seconds);

#endif
