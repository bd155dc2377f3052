/* What the files of the binding share. bl_ is short for "berth in Lua". One file per type; none is
 * API.
 *
 * Boxes: every userdata is a struct that starts with `void *object`; NULL says closed. A box is
 * made, tagged and closed, before the core allocates; then filled. close, __gc and __close are
 * idempotent. What bl_check returned stays valid until the calling function returns, even if a
 * finaliser or a hook closes the box meanwhile; see calls.c.
 * Ids are 1-based in Lua; only bl_to_id and bl_push_ids translate.
 */
#ifndef BERTH_LUA_BINDING_H
#define BERTH_LUA_BINDING_H

#include "compat.h"
#include <berth/berth.h>
#include <stdbool.h>

/* ---- boxes ---- */

typedef struct bl_class {
  const char *name;               /* in messages: "graph" */
  const char *key;                /* what getmetatable gives: "berth.graph" */
  void (*release)(void *box);     /* frees all that an open box holds; the caller then marks it
                                     closed */
  const luaL_Reg *methods;        /* NULL: none */
  const luaL_Reg *more_methods;   /* of another file; NULL: none */
  const luaL_Reg *fields;         /* computed: called with the object; NULL: none */
  lua_CFunction text;             /* tostring of an open object; NULL: its name */
  lua_CFunction length;           /* #object; NULL: none */
  lua_CFunction item;             /* object[number]; NULL: nil */
  bool light;                     /* made by the thousand: without an anchor, by bl_new_light */
  const luaL_Reg *meta;           /* operators; NULL: none */
  const luaL_Reg *const *further_methods; /* NULL-terminated; NULL: none */
} bl_class;

typedef struct bl_box {
  void *object;
} bl_box;

/* The `release` of a class whose boxes hold nothing but their object. */
#define BL_RELEASE(name, core_release) \
  static void name(void *box) { core_release(((bl_box *)box)->object); }

/* What a cost box remembers of the last bounds, so that simulating often prices them once. */
typedef struct bl_cost_box {
  berth_cost *cost;
  struct bl_hooks *hooks;
  struct bl_model *making; /* its functions, while it is made */
  bool has_bounds;
  berth_memory_policy bounds_memory;
  double bounds_multiple;
  berth_links bounds_links;
  berth_bounds bounds;
} bl_cost_box;

typedef struct bl_placement_box {
  berth_placement *placement;
  berth_cost *cost; /* for the names in files; NULL: made from an array */
} bl_placement_box;

typedef struct bl_execution_box {
  berth_execution *execution;
} bl_execution_box;

extern const bl_class bl_graph_class, bl_topology_class, bl_cost_class, bl_placement_class,
    bl_result_class, bl_plan_class, bl_rng_class, bl_executor_class, bl_execution_class,
    bl_tries_class, bl_schedule_problem_class, bl_schedule_class,
    bl_kernels_class;

/** Makes the metatable of a class, unless it is there. */
void bl_register(lua_State *L, const bl_class *c);
/** A closed box of `size` zero bytes with an anchor table, on the stack. */
void *bl_new(lua_State *L, const bl_class *c, size_t size);
/** Pushes { name, key, methods, fields }. */
void bl_push_class(lua_State *L, const bl_class *c);
void *bl_new_light(lua_State *L, const bl_class *c, size_t size);
/** The box, open or closed; NULL: something else. */
void *bl_test(lua_State *L, int i, const bl_class *c);
/** The open box; raises "fn: what: expected a graph, got nil" or "... is closed". */
void *bl_check(lua_State *L, int i, const bl_class *c, const char *fn, const char *what);
#define bl_self(L, c, fn) bl_check(L, 1, c, fn, "self")
/* name(L, fn): the object of the open box of that class at 1. */
#define BL_SELF(name, type, class) \
  static type *name(lua_State *L, const char *fn) { \
    return ((bl_box *)bl_self(L, &class, fn))->object; \
  }
/** "graph" for boxes of a registered class, else the Lua type. */
const char *bl_kind(lua_State *L, int i);
/** Is the box at i open? One that is closed while a function of the binding works is freed later,
 * and counts as closed. */
bool bl_is_open(lua_State *L, int i);
/** Pushes anchor[key] of the box at i, or, if it is nil, what build(L) pushes, which is kept. */
int bl_cached(lua_State *L, int i, const char *key, void (*build)(lua_State *L));
/** anchor[key] of the box at `box` = the value at `value`; value 0: nothing to keep. */
void bl_keep(lua_State *L, int box, const char *key, int value);
/** Pushes anchor[key] of the box at 1 and returns 1. */
int bl_kept(lua_State *L, const char *key);
/** Collects garbage when the core's memory, which Lua does not see, has doubled. Call when a large
 * object is on the stack. */
void bl_track(lua_State *L);
/** A C function for Lua that pushes one value and returns it; the expression may use L. */
#define BL_GETTER(name, push, ...) \
  static int name(lua_State *L) { \
    push(L, __VA_ARGS__); \
    return 1; \
  }

/* ---- functions under way: calls.c ---- */

/** Pushes a function of the binding with n upvalues, which it takes from the stack, and a mark as
 * the last one. */
void bl_push_closure(lua_State *L, lua_CFunction f, int n);
/** Sets functions without upvalues in the table on the top. */
void bl_set_functions(lua_State *L, const luaL_Reg *list);
/** L is about to fetch what is in a box. */
void bl_note_thread(lua_State *L);
/** Is another function of the binding active, in any thread, below the calling one? */
bool bl_is_working(lua_State *L);

/* ---- context and errors ---- */

/** One per Lua state, in the registry; borrowed. */
berth_ctx *bl_ctx(lua_State *L);
/** Raises with the position of the first caller outside berth's own modules. */
int bl_error(lua_State *L, const char *format, ...);
/** Pushes nil, message, code and returns 3. A user's function that failed: raises its error value,
 * on the top, unchanged. */
int bl_failed(lua_State *L, berth_status st);
/** The same, but what is the caller's mistake (BERTH_EINVAL) is raised as "fn: message". */
int bl_refused(lua_State *L, const char *fn, berth_status st);
/** Pushes the last message with the ids in it 1-based. */
void bl_push_message(lua_State *L, berth_status st);
/** A message of the core's, that may be kept from before, in the same way. */
void bl_push_text(lua_State *L, const char *message);
/** `return bl_done(L, st)`: true, or nil, message, code. */
int bl_done(lua_State *L, berth_status st);

/* ---- hooks and interrupts ---- */

/* Part of the context's box; what the core's hooks are called with. */
typedef struct bl_hooks {
  lua_State *running;       /* that called the core last and has not come back yet; NULL: none */
  bool interrupt, progress; /* functions are set */
  bool calling;             /* one of them runs now */
  bool failed;              /* one of them has raised */
} bl_hooks;

void bl_hooks_init(lua_State *L, bl_hooks *h, berth_hooks *core);
bl_hooks *bl_hooks_of(lua_State *L);

/** Around each call of the core that may call hooks or other functions in Lua: `call = bl_enter(L);
 *  st = bl_leave(&call, work())`. Between them nothing may raise, and what the work is about must
 *  be held: a hook may close any object. */
typedef struct bl_call {
  bl_hooks *hooks;
  lua_State *outer;
} bl_call;
bl_call bl_enter(lua_State *L);
bl_call bl_enter_with(lua_State *L, bl_hooks *h); /* known already */
/** @return st; BERTH_EINTERRUPT if a hook has raised */
berth_status bl_leave(const bl_call *call, berth_status st);
/** Raises what a hook has raised, if one has. */
void bl_raise_failure(lua_State *L);

/** Has SIGINT come, and is it caught for these hooks? Then it is cleared. L: the running thread, or
 * NULL. */
bool bl_take_interrupt(const bl_hooks *h, lua_State *L);
/** Before the state goes: gives the signal back if it was caught for these hooks. */
void bl_forget_interrupts(const bl_hooks *h);
lua_State *bl_main_thread(lua_State *L);
/** Notes the main thread, where Lua has no way to find it later. */
void bl_interrupts_init(lua_State *L);

/* ---- reading tables ---- */

/** Place of a value in messages: "fn: list[i].key". list NULL: "fn: key". */
typedef struct bl_where {
  const char *fn, *list;
  int i;
} bl_where;
/* The arguments of a function of the binding: BL_WHERE(w, "berth.place"); */
#define BL_WHERE(name, fn) static const bl_where name = { fn, NULL, 0 }
/** Raises "place: message". */
int bl_wrong(lua_State *L, const bl_where *w, const char *key, const char *format, ...);
/** Raises "place: message" unless BERTH_OK: for objects that are built from tables. */
void bl_must_build(lua_State *L, const bl_where *w, berth_status st);
/** Raises "expected a table, got ..." unless there is one at i. */
void bl_need_table(lua_State *L, int i, const bl_where *w, const char *key);
/** Raises "is missing" unless given. */
void bl_need(lua_State *L, bool given, const bl_where *w, const char *key);

/** [-0, +0] The device at index i: an id from 1, or a name of the topology. Raises.
 *  @return from 0 */
int32_t bl_to_device(lua_State *L, int i, const bl_where *w, const char *key,
                     const berth_topology *t);
/** [-0, +2] berth_names_text() on the top of the stack. */
const char *bl_push_legal(lua_State *L, const char *word, const char *const *names, int32_t n,
                          const char *all);
/** Raises for a key that is none of the names (NULL-terminated) and lists them. `items`: numbers
 * are legal keys. */
void bl_check_keys(lua_State *L, int t, const bl_where *w, const char *const *names, bool items);

/* ---- options by descriptors: options.c; module.c lists the functions that have them ---- */

typedef const berth_option_table *(*bl_table)(void);
/* A table of options that only Lua has: BL_OWN_OPTIONS(threads, { .key = "threads", ... },
 * BL_OTHER("judge", ...)) */
#define BL_OWN_OPTIONS(fn, ...) \
  static const berth_option_table *fn(void) { \
    static const berth_option options[] = { __VA_ARGS__, { .key = NULL } }; \
    static const berth_option_table table = { #fn, options, 0, NULL }; \
    return &table; \
  }
/* The table of a function that has no other options, and its list for module.c: bl_NAME_tables. */
#define BL_OPTIONS(name, ...) \
  BL_OWN_OPTIONS(name##_options, __VA_ARGS__) \
  const bl_table bl_##name##_tables[] = { name##_options, NULL };
/* Rows: BL_ROW("calls", WHOLE, "50", "strategies that are simulated at most", .low = 2) */
#define BL_ROW(name, kind, default_, ...) \
  { .key = name, .type = BERTH_OPTION_##kind, .fallback = default_, .text = __VA_ARGS__ }
#define BL_OTHER(name, is, default_, what) BL_ROW(name, OTHER, default_, what, .takes = is)
#define BL_CHOICE(name, what) &(const berth_choice){ name, what }
const berth_option_table *bl_cost_option(void); /* the option "cost" alone: sim_options.c */
#define BL_MOST_WHOLE 9007199254740992.0 /* 2^53: exact in both interpreters */

/** Raises for a key of the table at t that is in none of the tables (NULL-terminated). */
void bl_check_options(lua_State *L, int t, const bl_where *w, const bl_table *tables);
/** The option table at i, its keys checked; 0: none given. */
int bl_option_table(lua_State *L, int i, const bl_where *w, const bl_table *tables);
/** The same; what the first of the tables describes goes into the struct. */
int bl_take_options(lua_State *L, int i, const bl_where *w, const bl_table *tables, void *options);
/** Every flag, number, choice and array of numbers of the table at t (0: none) into the struct;
 * what is not given stays. Arrays are in scratch that it pushes: valid while it is on the stack. */
void bl_read_options(lua_State *L, int t, const bl_where *w, const berth_option_table *table,
                     void *options);
/** Pushes a table of the same. */
void bl_push_options(lua_State *L, const berth_option_table *table, const void *options);
/** The shape of an op that the table at i is. */
void bl_to_op_shape(lua_State *L, int i, const bl_where *w, berth_shape *out);
/** Choices of the option of that key, which has some; and the name of a value of it. */
const berth_choice *const *bl_choices(const berth_option_table *table, const char *key);
const char *bl_choice_name(const berth_option_table *table, const char *key, int value);
/** Index of the choice at stack index i. */
int bl_to_choice(lua_State *L, int i, const bl_where *w, const char *key,
                 const berth_choice *const *choices);
int bl_push_descriptors(lua_State *L, const bl_table *tables);

/* Values at a stack index. */
/** The string at i; raises if it is none, or holds a zero byte: C would end it there. */
const char *bl_to_string(lua_State *L, int i, const bl_where *w, const char *key);
/** The same, and of numbers their text. */
const char *bl_to_text(lua_State *L, int i, const bl_where *w, const char *key);
double bl_to_number(lua_State *L, int i, const bl_where *w, const char *key);   /* no NaN */
/* no NaN, none below 0 */
double bl_to_quantity(lua_State *L, int i, const bl_where *w, const char *key, berth_unit unit);
double bl_to_whole(lua_State *L, int i, const bl_where *w, const char *key, double low,
                   double high);
/** otherwise: of nil and none */
double bl_opt_whole(lua_State *L, int i, const bl_where *w, const char *key, double otherwise,
                    double low, double high);
/** 0-based, of n things called noun. */
int32_t bl_to_id(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                 const char *noun);
/** Length of the array at i; a number among the keys that is no position of it raises. */
int32_t bl_to_length(lua_State *L, int i, const bl_where *w, const char *key);
/** Raises unless there is an array of n entries at i, one per `per` (NULL: not said). */
void bl_need_length(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                    const char *per);
/** Index of the string at i in names (NULL-terminated). */
int bl_to_enum(lua_State *L, int i, const bl_where *w, const char *key, const char *const *names);
/** Arrays, in scratch userdata that they push: valid while it is on the stack. */
double *bl_to_numbers(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                      const char *per);
int32_t *bl_to_ids(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                   int32_t n_things, const char *noun);

/** [n] whole numbers from low on; messages name w->fn: key[k]. */
int32_t *bl_to_wholes(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                      int32_t low);
/** [rows * columns]: an array of `rows` arrays, each of `columns` numbers (one per `per`). */
double *bl_to_rows(lua_State *L, int i, const bl_where *w, const char *key, int32_t rows,
                   int32_t columns, const char *per);
/** Pushes entry k (from 0) of the array at list, a table with no keys but these (NULL: not
 * checked);
 * sets w->i. @return its stack index */
int bl_to_entry(lua_State *L, int list, bl_where *w, int32_t k, const char *const *keys);
/** Raises where an entry says an `id` that is not its position w->i: tables that an object has
 * printed carry their own. */
void bl_check_own_id(lua_State *L, int t, const bl_where *w);

/* Fields of the table at t: false and out untouched if nil. t 0: always false. */
bool bl_is_given(lua_State *L, int t, const char *key);
bool bl_get_quantity(lua_State *L, int t, const bl_where *w, const char *key, berth_unit unit,
                     double *out);
bool bl_get_positive(lua_State *L, int t, const bl_where *w, const char *key, double *out);
bool bl_get_number(lua_State *L, int t, const bl_where *w, const char *key, double *out);
bool bl_get_bool(lua_State *L, int t, const bl_where *w, const char *key, int *out);
bool bl_get_whole(lua_State *L, int t, const bl_where *w, const char *key, int32_t low,
                  int32_t high, int32_t *out);
bool bl_get_enum(lua_State *L, int t, const bl_where *w, const char *key, const char *const *names,
                 int *out);
bool bl_get_choice(lua_State *L, int t, const bl_where *w, const char *key,
                   const berth_choice *const *choices, int *out);
/* These leave the value on the stack if there is one. */
const char *bl_get_string(lua_State *L, int t, const bl_where *w, const char *key);
bool bl_get_array(lua_State *L, int t, const bl_where *w, const char *key, int32_t *n);
/** One of exactly n entries, one per `per`. */
bool bl_get_sized(lua_State *L, int t, const bl_where *w, const char *key, int32_t n,
                  const char *per);
bool bl_get_function(lua_State *L, int t, const bl_where *w, const char *key);

void *bl_scratch(lua_State *L, size_t n, size_t size);

/* ---- writing ---- */

void bl_push_numbers(lua_State *L, int32_t n, const double *x);
void bl_push_ids(lua_State *L, int32_t n, const int32_t *ids); /* 1-based */
void bl_push_id(lua_State *L, int32_t id);                     /* 1-based; BERTH_NONE: nil */
void bl_push_counts(lua_State *L, int32_t n, const int32_t *x); /* as they are */
/** An array without holes: false for BERTH_NONE. */
void bl_push_map(lua_State *L, int32_t n, const int32_t *ids);
/** Ids of those that are marked. */
void bl_push_marked(lua_State *L, int32_t n, const uint8_t *marks);
/** names[code[k]] for each k. */
void bl_push_names(lua_State *L, int32_t n, const uint8_t *code, const char *const *names);
void bl_push_strings(lua_State *L, int32_t n, const char *const *s);
/** An array of `rows` arrays of `columns` numbers. */
void bl_push_rows(lua_State *L, int32_t rows, int32_t columns, const double *x);
int bl_push_or_nil(lua_State *L, double x); /* NaN: nil; returns 1 */
/** Pushes a text of up to 299 bytes and returns 1. */
int bl_push_format(lua_State *L, const char *format, ...);
void bl_set_numbers(lua_State *L, const char *key, int32_t n, const double *x);
void bl_set_ids(lua_State *L, const char *key, int32_t n, const int32_t *ids);
void bl_set_finite(lua_State *L, const char *key, double x); /* NaN and infinite: left out */
void bl_set_number(lua_State *L, const char *key, double x);   /* in the table on the top */
void bl_set_count(lua_State *L, const char *key, double n);    /* an integer where Lua has these */
void bl_set_id(lua_State *L, const char *key, int32_t id);
void bl_set_bool(lua_State *L, const char *key, int yes);
void bl_set_string(lua_State *L, const char *key, const char *s); /* "" and NULL: left out */
/** An array of { tensor, from, to, start, finish }. */
void bl_push_transfers(lua_State *L, int32_t n, const berth_transfer *t);
/** Adds "41.2 ms" to a string buffer. */
void bl_add_quantity(luaL_Buffer *b, double x, berth_unit unit);
void bl_add_format(luaL_Buffer *b, const char *format, ...);
/** A name of a file or user, escaped (berth_escape), cut to 100 bytes. */
void bl_add_name(luaL_Buffer *b, const char *name);

/* ---- types ---- */

/* Own the reference that they are given, unless they raise before taking it: box first, then
 * fill. */
berth_graph **bl_new_graph(lua_State *L);
berth_topology **bl_new_topology(lua_State *L);
bl_placement_box *bl_new_placement(lua_State *L);
/** The same with a reference to the cost, for a call of the core that makes the placement: a hook
 * may close the cost box meanwhile. */
bl_placement_box *bl_new_placed(lua_State *L, berth_cost *cost);
/** After that call, for the box at `at`: pushes the placement and returns 1; or drops the reference
 * and pushes nil, message, code, and the obstacle if there is one. */
int bl_give_placed(lua_State *L, int at, const char *fn, berth_status st,
                   const berth_obstacle *why);

berth_graph *bl_check_graph(lua_State *L, int i, const char *fn, const char *what);
/** [-0, +0|1] A sentence on ops without times, FLOP and bytes. @return how many values */
int bl_push_graph_note(lua_State *L, const berth_graph *g);
berth_topology *bl_check_topology(lua_State *L, int i, const char *fn, const char *what);
berth_cost *bl_check_cost(lua_State *L, int i, const char *fn, const char *what);
berth_placement *bl_check_placement(lua_State *L, int i, const char *fn, const char *what);

static inline int32_t bl_ops(const berth_cost *c) { return berth_graph_ops(berth_cost_graph(c)); }
static inline int32_t bl_devices(const berth_cost *c) {
  return berth_topology_devices(berth_cost_topology(c));
}

/** Makes (graph, topology, ...) into (cost, ...): the cost is at 1 afterwards. `options`: place of
 *  the option table, counted behind the cost. @return status; not BERTH_OK: nothing else has
 *  changed */
berth_status bl_cost_first(lua_State *L, const char *fn, int options);
/** makespan, peak, and the op that ran out of memory if one did. @return how many */
int bl_push_summary(lua_State *L, const berth_sim_summary *s);
/** Bounds of the cost box, the cheap ones, remembered. */
berth_status bl_bounds(bl_cost_box *box, berth_memory_policy memory, double multiple,
                       berth_links links, berth_bounds *out, berth_obstacle *why);

/** Device ids of a placement, or of a plain array, for a cost: [ops]; may push scratch. */
const int32_t *bl_to_devices(lua_State *L, int i, const berth_cost *cost, const bl_where *w,
                             const char *key);
/** The same for n ops and m devices. */
const int32_t *bl_to_placed(lua_State *L, int i, const bl_where *w, const char *key, int32_t n,
                            int32_t m);
/** The same for the table at i into out [ops] if all is in order; NULL: it is not. Never raises. */
const int32_t *bl_fill_devices(lua_State *L, int i, berth_cost *cost, int32_t *out);
/** After BERTH_EINFEASIBLE pushes { op, device, missing } and returns 1; else 0. */
int bl_push_obstacle(lua_State *L, berth_status st, const berth_obstacle *why);

/** Options of a placer, named as in berth_placers(), from the table at t (0: none); may push
 * scratch that they point to. */
void bl_place_options(lua_State *L, int t, const bl_where *w, const berth_cost *cost,
                      const char *placer, berth_place_options *o);
extern const bl_table bl_place_tables[], bl_cost_tables[], bl_load_tables[], bl_parse_tables[];

/* A policy in Lua while it places; see policy.c. */
typedef struct bl_policy {
  lua_State *L;
  berth_policy c;           /* what the core gets */
  bl_box *plan;             /* the userdata `plan` */
  int cost, plan_at, est, eft, prepare, select, pick; /* stack indices; 0: none */
  int arguments;            /* how many `pick` takes of op, est, plan, eft */
  bool scores;              /* pick is `score`, not `device` */
  int32_t n_ops, n_devices;
  char fault[300];          /* what is wrong with a result; raised after the core has cleaned up */
} bl_policy;

/** Reads the policy at i (a table, or a function `device`); leaves what it needs on the stack.
 * cost: stack index of the cost. */
void bl_policy_read(lua_State *L, int i, int cost, const bl_where *w, bl_policy *y);
/** After the core has returned: forgets the plan; raises what a function did wrong. */
void bl_policy_done(bl_policy *y, const char *fn, berth_status st);

extern const char *const bl_unit_names[];

int bl_bounds_table(lua_State *L);
int bl_graph_save(lua_State *L);
int bl_graph_to_string(lua_State *L);
int bl_topology_save(lua_State *L);
int bl_topology_to_string(lua_State *L);
int bl_placement_save(lua_State *L);
int bl_placement_to_string(lua_State *L);
int bl_result_save_trace(lua_State *L);
int bl_result_trace(lua_State *L);
int bl_execution_save_trace(lua_State *L);
int bl_execution_trace(lua_State *L);

#endif
