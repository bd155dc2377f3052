/* Types "schedule_problem" and "schedule": pipeline problems, schedules, generators
 * (berth/schedule.h). Actions are arrays of { kind, chunk, microbatch, overlapped }, ids from 1. */
#include "base/binding.h"
#include <math.h>

typedef struct problem_box {
  berth_schedule_problem *problem;
} problem_box;
typedef struct schedule_box {
  berth_schedule *schedule;
} schedule_box;

static void release_problem(void *box) {
  berth_schedule_problem_release(((problem_box *)box)->problem);
}
static void release_schedule(void *box) {
  berth_schedule_release(((schedule_box *)box)->schedule);
}

const bl_class bl_schedule_problem_class = {
  .name = "schedule problem", .key = "berth.schedule_problem", .release = release_problem
};
const bl_class bl_schedule_class = {
  .name = "schedule", .key = "berth.schedule", .release = release_schedule
};

static berth_schedule_problem *check_problem(lua_State *L, int i, const char *fn) {
  return ((problem_box *)bl_check(L, i, &bl_schedule_problem_class, fn, "problem"))->problem;
}
static berth_schedule *check_schedule(lua_State *L, int i, const char *fn) {
  return ((schedule_box *)bl_check(L, i, &bl_schedule_class, fn, "schedule"))->schedule;
}

/* Names of the kinds of actions, in the order of berth_schedule_kind. */
static const char *const kinds[] = { "F", "B", "W", "BW", NULL };
static const char *const outcomes[] = { "runs", "deadlock", "memory" };

/* ---- problems ---- */

const bl_table bl_schedule_problem_tables[] = { berth_schedule_problem_option_table, NULL };

/* schedule_problem(options): object; nil, message, code where a stage cannot hold a chunk */
static int schedule_problem(lua_State *L) {
  BL_WHERE(w, "berth.schedule.problem");
  berth_schedule_problem_options o = berth_schedule_problem_default();
  lua_settop(L, 1);
  bl_take_options(L, 1, &w, bl_schedule_problem_tables, &o);
  problem_box *box = bl_new(L, &bl_schedule_problem_class, sizeof *box);
  berth_status st = berth_schedule_problem_new(bl_ctx(L), &o, &box->problem);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_track(L);
  return 1;
}

/* Sets the arrays of the options, in full. */
static void set_arrays(lua_State *L, const berth_schedule_problem_options *o) {
  int32_t chunks = o->stages * o->chunks;
  bl_set_numbers(L, "forward", chunks, o->forward);
  bl_set_numbers(L, "backward", chunks, o->backward);
  bl_set_numbers(L, "weight", chunks, o->weight);
  bl_set_numbers(L, "p2p", chunks - 1, o->p2p);
  bl_set_numbers(L, "activations", chunks, o->activations);
  bl_set_numbers(L, "memory", o->stages, o->memory);
  bl_set_numbers(L, "extra", o->stages, o->extra);
}

/* schedule_read(problem): its options with arrays in full; `chunk` [stages][chunks], `stage`
 * [chunks of the model], `work` [stages] s */
static int schedule_read(lua_State *L) {
  const berth_schedule_problem *p = check_problem(L, 1, "berth.schedule.read");
  const berth_schedule_problem_options *o = berth_schedule_problem_read(p);
  bl_push_options(L, berth_schedule_problem_option_table(), o);
  set_arrays(L, o);
  lua_createtable(L, o->stages, 0);
  for (int32_t s = 0; s < o->stages; s++) {
    lua_createtable(L, o->chunks, 0);
    for (int32_t k = 0; k < o->chunks; k++) {
      bl_push_id(L, berth_schedule_problem_chunk(p, s, k));
      lua_rawseti(L, -2, k + 1);
    }
    lua_rawseti(L, -2, s + 1);
  }
  lua_setfield(L, -2, "chunk");
  lua_createtable(L, o->stages * o->chunks, 0);
  for (int32_t c = 0; c < o->stages * o->chunks; c++) {
    bl_push_id(L, berth_schedule_problem_stage(p, c));
    lua_rawseti(L, -2, c + 1);
  }
  lua_setfield(L, -2, "stage");
  lua_createtable(L, o->stages, 0);
  for (int32_t s = 0; s < o->stages; s++) {
    lua_pushnumber(L, berth_schedule_problem_work(p, s));
    lua_rawseti(L, -2, s + 1);
  }
  lua_setfield(L, -2, "work");
  return 1;
}

/* schedule_topology(problem, bandwidth): topology */
static int schedule_topology(lua_State *L) {
  BL_WHERE(w, "berth.schedule.topology");
  const berth_schedule_problem *p = check_problem(L, 1, w.fn);
  double bandwidth = bl_to_quantity(L, 2, &w, "bandwidth", BERTH_BYTES_PER_SECOND);
  berth_status st = berth_schedule_topology(p, bandwidth, bl_new_topology(L));
  return st == BERTH_OK ? 1 : bl_refused(L, w.fn, st);
}

/* ---- schedules ---- */

static berth_schedule_action to_action(lua_State *L, int i, const bl_where *w) {
  berth_schedule_action a = { BERTH_SCHEDULE_FORWARD, 0, 0, 0 };
  int kind = 0;
  int32_t chunk = 0, microbatch = 0;
  bl_need_table(L, i, w, NULL);
  bl_need(L, bl_get_enum(L, i, w, "kind", kinds, &kind), w, "kind");
  bl_need(L, bl_get_whole(L, i, w, "chunk", 1, INT32_MAX, &chunk), w, "chunk");
  bl_need(L, bl_get_whole(L, i, w, "microbatch", 1, INT32_MAX, &microbatch), w, "microbatch");
  bl_get_bool(L, i, w, "overlapped", &a.overlapped);
  a.kind = (berth_schedule_kind)kind;
  a.chunk = chunk - 1;
  a.microbatch = microbatch - 1;
  return a;
}

/* [-0, +n] The actions of all stages at i, an array of arrays; count [stages]. */
static berth_schedule_action *to_actions(lua_State *L, int i, const bl_where *w, int32_t stages,
                                int32_t *count) {
  size_t n = 0, at = 0;
  bl_need_length(L, i, w, "actions", stages, "stage");
  for (int32_t s = 0; s < stages; s++) {
    lua_rawgeti(L, i, s + 1);
    n += (size_t)(count[s] = bl_to_length(L, lua_gettop(L), w, "actions"));
    lua_pop(L, 1);
  }
  berth_schedule_action *list = bl_scratch(L, n + 1, sizeof *list);
  for (int32_t s = 0; s < stages; s++) {
    lua_rawgeti(L, i, s + 1);
    for (int32_t k = 0; k < count[s]; k++) {
      bl_where item = { w->fn, "actions", (int)k + 1 };
      lua_rawgeti(L, -1, k + 1);
      list[at++] = to_action(L, lua_gettop(L), &item);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  return list;
}

/* schedule_new(problem, actions by stage, name or nil): object */
static int schedule_new(lua_State *L) {
  BL_WHERE(w, "berth.schedule.new");
  berth_schedule_problem *p = check_problem(L, 1, w.fn);
  int32_t stages = berth_schedule_problem_read(p)->stages;
  lua_settop(L, 3);
  const char *name = lua_isnil(L, 3) ? NULL : bl_to_string(L, 3, &w, "name");
  int32_t *count = bl_scratch(L, (size_t)stages, sizeof *count);
  const berth_schedule_action *actions = to_actions(L, 2, &w, stages, count);
  schedule_box *box = bl_new(L, &bl_schedule_class, sizeof *box);
  berth_status st = berth_schedule_new(p, count, actions, name, &box->schedule);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_track(L);
  return 1;
}

/* schedule_make(problem, name): object; nil, message, code */
static int schedule_make(lua_State *L) {
  BL_WHERE(w, "berth.schedule.make");
  berth_schedule_problem *p = check_problem(L, 1, w.fn);
  lua_settop(L, 2);
  const char *name = bl_to_string(L, 2, &w, "name");
  schedule_box *box = bl_new(L, &bl_schedule_class, sizeof *box);
  berth_status st = berth_schedule_make(p, name, &box->schedule);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_track(L);
  return 1;
}

static void push_action(lua_State *L, const berth_schedule_action *a) {
  lua_createtable(L, 0, 4);
  bl_set_string(L, "kind", kinds[a->kind]);
  bl_set_id(L, "chunk", a->chunk);
  bl_set_id(L, "microbatch", a->microbatch);
  if (a->overlapped) bl_set_bool(L, "overlapped", 1);
}

/* schedule_actions(schedule): actions by stage, name */
static int schedule_actions(lua_State *L) {
  berth_schedule *s = check_schedule(L, 1, "berth.schedule.actions");
  int32_t stages = berth_schedule_problem_read(berth_schedule_problem_of(s))->stages;
  lua_settop(L, 1);
  lua_createtable(L, stages, 0);
  for (int32_t i = 0; i < stages; i++) {
    int32_t n = berth_schedule_actions(s, i, NULL);
    berth_schedule_action *list = bl_scratch(L, (size_t)n + 1, sizeof *list);
    berth_schedule_actions(s, i, list);
    lua_createtable(L, n, 0);
    for (int32_t k = 0; k < n; k++) {
      push_action(L, &list[k]);
      lua_rawseti(L, -2, k + 1);
    }
    lua_rawseti(L, 2, i + 1);
    lua_settop(L, 2);
  }
  lua_pushstring(L, berth_schedule_name(s));
  return 2;
}

/* Sets what stopped it in the table at the top. */
static void set_stop(lua_State *L, const berth_schedule_value *v) {
  if (v->outcome == BERTH_SCHEDULE_RUNS) return;
  bl_set_id(L, "stage", v->stage);
  bl_set_id(L, "index", v->index);
  bl_set_number(L, "excess", v->excess);
  push_action(L, &v->action);
  lua_setfield(L, -2, "action");
}

/* schedule_evaluate(schedule): { outcome, step, span, makespan, bubble, start, finish (flat, stage
 * by stage), peak, stage, index, action, excess } */
static int schedule_evaluate(lua_State *L) {
  berth_schedule *s = check_schedule(L, 1, "berth.schedule.evaluate");
  int32_t stages = berth_schedule_problem_read(berth_schedule_problem_of(s))->stages, n = 0;
  for (int32_t i = 0; i < stages; i++) n += berth_schedule_actions(s, i, NULL);
  double *start = bl_scratch(L, (size_t)n + 1, sizeof *start);
  double *finish = bl_scratch(L, (size_t)n + 1, sizeof *finish);
  double *peak = bl_scratch(L, (size_t)stages, sizeof *peak);
  berth_schedule_value v;
  berth_status st = berth_schedule_evaluate(s, &v, start, finish, peak);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, 0, 12);
  bl_set_string(L, "outcome", outcomes[v.outcome]);
  bl_set_finite(L, "step", v.step);
  bl_set_finite(L, "span", v.span);
  bl_set_finite(L, "makespan", v.makespan);
  bl_set_finite(L, "bubble", v.bubble);
  bl_set_numbers(L, "start", n, start);
  bl_set_numbers(L, "finish", n, finish);
  bl_set_numbers(L, "peak", stages, peak);
  set_stop(L, &v);
  return 1;
}

/* schedule_graph(schedule, bandwidth): graph */
static int schedule_graph(lua_State *L) {
  BL_WHERE(w, "berth.schedule.graph");
  berth_schedule *s = check_schedule(L, 1, w.fn);
  double bandwidth = bl_to_quantity(L, 2, &w, "bandwidth", BERTH_BYTES_PER_SECOND);
  berth_status st = berth_schedule_graph(s, bandwidth, bl_new_graph(L));
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  bl_track(L);
  return 1;
}

/* schedule_placement(schedule): placement with its order; nil, message, code: deadlock */
static int schedule_placement(lua_State *L) {
  BL_WHERE(w, "berth.schedule.placement");
  berth_schedule *s = check_schedule(L, 1, w.fn);
  berth_status st = berth_schedule_placement(s, &bl_new_placement(L)->placement);
  return st == BERTH_OK ? 1 : bl_refused(L, w.fn, st);
}

/* ---- search, bounds ---- */

const bl_table bl_schedule_search_tables[] = { berth_schedule_search_option_table, NULL };

typedef berth_status (*search_fn)(berth_schedule_problem *, const berth_schedule_search_options *,
                                  berth_schedule **, berth_schedule_report *);

/* (problem, options): schedule, { step, bound, proven, interrupted, calls }; nil, message, code */
static int search_by(lua_State *L, const bl_where *w, search_fn search) {
  berth_schedule_problem *p = check_problem(L, 1, w->fn);
  berth_schedule_search_options o = berth_schedule_search_default();
  lua_settop(L, 2);
  int t = bl_take_options(L, 2, w, bl_schedule_search_tables, &o);
  schedule_box *box = bl_new(L, &bl_schedule_class, sizeof *box);
  berth_schedule_report r;
  berth_schedule_problem_retain(p); /* a hook may close its box */
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, search(p, t ? &o : NULL, &box->schedule, &r));
  berth_schedule_problem_release(p);
  if (st != BERTH_OK) return bl_refused(L, w->fn, st);
  bl_track(L);
  lua_createtable(L, 0, 5);
  bl_set_number(L, "step", r.step);
  bl_set_number(L, "bound", r.bound);
  bl_set_bool(L, "proven", r.proven);
  bl_set_bool(L, "interrupted", r.interrupted);
  bl_set_count(L, "calls", (double)r.calls);
  return 2;
}

/* schedule_search(problem, options) */
static int schedule_search(lua_State *L) {
  BL_WHERE(w, "berth.schedule.search");
  return search_by(L, &w, berth_schedule_search);
}

/* schedule_exact(problem, options) */
static int schedule_exact(lua_State *L) {
  BL_WHERE(w, "berth.schedule.exact");
  return search_by(L, &w, berth_schedule_exact);
}

/* schedule_bound(problem): { work, stage, pair, area, chain, best }, s */
static int schedule_bound(lua_State *L) {
  berth_schedule_bounds b;
  berth_status st = berth_schedule_bound(check_problem(L, 1, "berth.schedule.bound"), &b);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, 0, 6);
  bl_set_number(L, "work", b.work);
  bl_set_number(L, "stage", b.stage);
  bl_set_number(L, "pair", b.pair);
  bl_set_number(L, "area", b.area);
  bl_set_number(L, "chain", b.chain);
  bl_set_number(L, "best", b.best);
  return 1;
}

/* schedule_bound_splits(problem, { forward, backward, weight, activations, p2p }, most): s */
static int schedule_bound_splits(lua_State *L) {
  BL_WHERE(w, "berth.schedule.search");
  const berth_schedule_problem *p = check_problem(L, 1, w.fn);
  berth_schedule_layers l = { 0 };
  double out;
  bl_need_table(L, 2, &w, "layers");
  const char *const keys[] = { "forward", "backward", "weight", "activations" };
  const double **lists[] = { &l.forward, &l.backward, &l.weight, &l.activations };
  for (int k = 0; k < 4; k++) {
    lua_getfield(L, 2, keys[k]);
    if (k == 0) l.n = bl_to_length(L, lua_gettop(L), &w, keys[k]);
    *lists[k] = bl_to_numbers(L, lua_gettop(L), &w, keys[k], l.n, "layer");
  }
  bl_get_number(L, 2, &w, "p2p", &l.p2p);
  berth_status st = berth_schedule_bound_splits(p, &l, luaL_checknumber(L, 3), &out);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushnumber(L, out);
  return 1;
}

/* ---- generators ---- */

static void push_generator(lua_State *L, const berth_schedule_generator *g) {
  lua_createtable(L, 0, 5);
  bl_set_string(L, "name", g->name);
  bl_set_string(L, "text", g->text);
  bl_set_string(L, "source", g->source);
  bl_set_string(L, "map", bl_choice_name(berth_schedule_problem_option_table(), "map",
                                         (int)g->map));
  bl_set_count(L, "chunks", g->chunks);
}

/* schedule_generators(name or nil): array of { name, text, source, map, chunks }; or the one of
 * that name, nil: there is none */
static int schedule_generators(lua_State *L) {
  BL_WHERE(w, "berth.schedule.generators");
  if (!lua_isnoneornil(L, 1)) {
    const berth_schedule_generator *g =
        berth_schedule_generator_find(bl_to_string(L, 1, &w, "name"));
    if (g) push_generator(L, g);
    else lua_pushnil(L);
    return 1;
  }
  lua_newtable(L);
  const berth_schedule_generator *g;
  for (int i = 0; (g = berth_schedule_generator_at(i)) != NULL; i++) {
    push_generator(L, g);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

const luaL_Reg bl_schedule_functions[] = {
  { "schedule_problem", schedule_problem }, { "schedule_read", schedule_read },
  { "schedule_topology", schedule_topology }, { "schedule_new", schedule_new },
  { "schedule_make", schedule_make }, { "schedule_actions", schedule_actions },
  { "schedule_evaluate", schedule_evaluate }, { "schedule_graph", schedule_graph },
  { "schedule_placement", schedule_placement }, { "schedule_generators", schedule_generators },
  { "schedule_search", schedule_search }, { "schedule_exact", schedule_exact },
  { "schedule_bound", schedule_bound }, { "schedule_bound_splits", schedule_bound_splits },
  { NULL, NULL }
};
