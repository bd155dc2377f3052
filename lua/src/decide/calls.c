/* Functions in Lua that a search on decisions calls: values, priors, fill.
 * Each call goes through lua_pcall of a C function with a light userdata of the request, so that
 * reading the results may raise, too. Errors stay on the top of the stack and the core unwinds with
 * BERTH_ECALLBACK; a wrong result is described in `fault` of the box. */
#include "decide.h"
#include <math.h>
#include <stdio.h>

/* What a protected call works on; more than its arguments may hold. */
typedef struct request {
  bl_tree_box *box;
  int32_t k, decided;
  const int32_t *assignment;
  const berth_leaf *leaf;
  int32_t *row;
  double *out, *excess;
} request;

/* [-0, +0] Keeps a message until the core has returned; the body ends without an error. 299 bytes
 * at most. */
static int fault(bl_tree_box *box, const char *format, ...) {
  va_list args;
  va_start(args, format);
  berth_vsnprintf(box->fault, sizeof box->fault, format, args);
  va_end(args);
  return 0;
}

/* [-0, +0], or the error at the top: an error must not pass through frames of the core. */
static berth_status call_protected(bl_tree_box *box, lua_CFunction f, int function, request *q) {
  lua_State *L = box->L;
  if (!lua_checkstack(L, 24)) return BERTH_ENOMEM;
  lua_pushcfunction(L, f);
  lua_pushlightuserdata(L, q);
  lua_pushvalue(L, function);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) return BERTH_ECALLBACK;
  return *box->fault ? BERTH_ECALLBACK : BERTH_OK;
}

static int32_t decisions(const bl_tree_box *box) { return berth_decider_decisions(box->decider); }
static int32_t actions(const bl_tree_box *box) {
  return box->actions > 0 ? box->actions : berth_decider_actions(box->decider);
}

/* NaN is no value: comparisons with it order nothing. */
static bool read_number(lua_State *L, int i, double *out) {
  if (lua_type(L, i) != LUA_TNUMBER) return false;
  *out = (double)lua_tonumber(L, i);
  return !isnan(*out);
}

/* Protected: value(assignment): value, excess. excess nil: 0. Everything is left to lua_pcall to
 * pop. */
static int value_body(lua_State *L) {
  request *q = lua_touserdata(L, 1);
  double excess = 0;
  bl_push_ids(L, decisions(q->box), q->assignment);
  lua_call(L, 1, 2);
  if (!read_number(L, -2, q->out) || *q->out == -INFINITY)
    return fault(q->box, "value: gave %s, expected a number above -inf",
                 lua_type(L, -2) == LUA_TNUMBER ? isnan(*q->out) ? "NaN" : "-inf" : bl_kind(L, -2));
  if (!lua_isnil(L, -1) && (!read_number(L, -1, &excess) || excess < 0))
    return fault(q->box, "value: the excess is %s, expected a number, not below 0",
                 lua_type(L, -1) == LUA_TNUMBER ? isnan(excess) ? "NaN" : "below 0"
                                                : bl_kind(L, -1));
  *q->excess = excess;
  return 0;
}

/* One call of Lua per assignment: a batch has no meaning there. */
berth_status bl_call_value(void *ud, int32_t k, const int32_t *assignment, double *value,
                           double *excess) {
  bl_tree_box *box = ud;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < k && st == BERTH_OK; i++) {
    request q = { box,  1,    0,         assignment + (size_t)i * (size_t)decisions(box),
                   NULL, NULL, value + i, excess + i };
    st = call_protected(box, value_body, box->value, &q);
  }
  return st;
}

/* [-0, +1] { assignment, decision, decided }. */
static void push_leaf(lua_State *L, const bl_tree_box *box, const berth_leaf *leaf) {
  lua_createtable(L, 0, 3);
  bl_set_ids(L, box->assignment, decisions(box), leaf->assignment);
  bl_set_id(L, "decision", leaf->decision);
  bl_set_count(L, "decided", leaf->decided);
}

/* [-0, +0] The weights at the top, [actions] of leaf i, to row i of out. They need not add up to
 * 1. */
static bool read_weights(lua_State *L, request *q, int32_t i) {
  const int32_t n = actions(q->box);
  double *p = q->out + (size_t)i * (size_t)n;
  if (!lua_istable(L, -1)) {
    fault(q->box, "prior: gave %s for leaf %d of %d, expected an array of weights", bl_kind(L, -1),
          (int)i + 1, (int)q->k);
    return false;
  }
  for (int32_t a = 0; a < n; a++) {
    lua_rawgeti(L, -1, a + 1);
    if (!read_number(L, -1, &p[a]) || p[a] < 0 || isinf(p[a])) {
      fault(q->box, "prior: weight %d of leaf %d is %s, expected a finite number, not below 0",
            (int)a + 1, (int)i + 1,
            lua_type(L, -1) != LUA_TNUMBER ? bl_kind(L, -1)
            : isnan(p[a])                  ? "NaN"
            : p[a] < 0                     ? "below 0"
                                           : "inf");
      return false;
    }
    lua_pop(L, 1);
  }
  return true;
}

/* Protected: prior(leaves): array of weights of each. One call of Lua for a batch of leaves, so
 * that a network evaluates them together. */
static int prior_body(lua_State *L) {
  request *q = lua_touserdata(L, 1);
  lua_createtable(L, q->k, 0);
  for (int32_t i = 0; i < q->k; i++) {
    push_leaf(L, q->box, &q->leaf[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_call(L, 1, 1);
  if (!lua_istable(L, -1))
    return fault(q->box, "prior: gave %s, expected an array per leaf", bl_kind(L, -1));
  for (int32_t i = 0; i < q->k; i++) {
    lua_rawgeti(L, -1, i + 1);
    if (!read_weights(L, q, i)) return 0;
    lua_pop(L, 1);
  }
  return 0;
}

berth_status bl_call_prior(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  bl_tree_box *box = ud;
  request q = { box, k, 0, NULL, leaf, NULL, p, NULL };
  return call_protected(box, prior_body, box->prior, &q);
}

/* Protected: fill(decided, assignment): assignment. Only what is behind `decided` is read: decided
 * actions stay, whatever the function returns. */
static int fill_body(lua_State *L) {
  request *q = lua_touserdata(L, 1);
  lua_pushinteger(L, q->decided);
  bl_push_ids(L, decisions(q->box), q->row);
  lua_call(L, 2, 1);
  if (!lua_istable(L, -1))
    return fault(q->box, "fill: gave %s, expected an assignment", bl_kind(L, -1));
  for (int32_t i = q->decided; i < decisions(q->box); i++) {
    lua_rawgeti(L, -1, i + 1);
    double a;
    if (!read_number(L, -1, &a) || !(a >= 1 && a <= actions(q->box)) || a != floor(a))
      return fault(q->box, "fill: there is no action at [%d]", (int)i + 1);
    q->row[i] = (int32_t)a - 1;
    lua_pop(L, 1);
  }
  return 0;
}

berth_status bl_call_fill(void *ud, int32_t decided, int32_t *row) {
  bl_tree_box *box = ud;
  request q = { box, 1, decided, NULL, NULL, row, NULL, NULL };
  return call_protected(box, fill_body, box->fill, &q);
}
