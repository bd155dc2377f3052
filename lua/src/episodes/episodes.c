/* Type "episodes": n assignments made step by step, side by side (berth/episodes.h). Methods take
 * one op or device per episode as an index of [n] and return arrays, indices and segments of
 * berth.nn.
 * The box holds a reference to the assignment, and its anchor the assignment's box. The core
 * refuses what comes in the wrong order; such errors are the caller's and are raised. */
#include "assign.h"
#include "sim/sim_options.h"
#include <math.h>
#include <string.h>

typedef struct episodes_box {
  berth_episodes *episodes;
  berth_assign *assign; /* of its own reference */
} episodes_box;

/* Episodes read the assignment until they are gone. */
static void release_episodes(void *p) {
  episodes_box *box = p;
  berth_episodes_release(box->episodes);
  berth_assign_release(box->assign);
}

/* assignment:episodes(n): object; nil, message, code. n side by side, at most 10^6. */
int bl_episodes_new(lua_State *L) {
  BL_WHERE(w, "assignment:episodes");
  bl_assignment_box *a = bl_self(L, &bl_assignment_class, w.fn);
  int32_t n = (int32_t)bl_to_whole(L, 2, &w, "n", 1, 1000000);
  episodes_box *box = bl_new(L, &bl_episodes_class, sizeof *box);
  berth_status st = berth_episodes_new(a->assign, n, &box->episodes);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  berth_assign_retain(a->assign);
  box->assign = a->assign;
  bl_keep(L, -1, "assignment", 1);
  bl_track(L);
  return 1;
}

static episodes_box *self(lua_State *L, const char *fn) {
  return bl_self(L, &bl_episodes_class, fn);
}
static int32_t devices_of(const episodes_box *box) {
  return bl_devices(berth_assign_cost(box->assign));
}
static int32_t ops_of(const episodes_box *box) {
  return bl_ops(berth_assign_cost(box->assign));
}

/* [-0, +0] One op, or device, for each episode, 0-based, of the index at i; a table there is
 * replaced by an index. BERTH_NONE (0 in Lua) is left to the core to refuse. */
static const int32_t *each(lua_State *L, int i, const episodes_box *box, const char *fn,
                           const char *key) {
  bl_where w = { fn, NULL, 0 };
  const berth_index *x = bl_to_index(L, i, &w, key);
  if (berth_index_size(x) != berth_episodes_count(box->episodes)) {
    bl_wrong(L, &w, key, "%d ids for %d episodes", (int)berth_index_size(x),
             (int)berth_episodes_count(box->episodes));
  }
  return berth_index_ids(x);
}

/* [-0, +0] What the core refuses is the caller's mistake: raised with the name of the method.
 * Memory raises here, too: methods of a training loop have no nil, message, code. */
static void must(lua_State *L, const char *fn, berth_status st) {
  if (st != BERTH_OK) {
    bl_push_message(L, st);
    bl_error(L, "%s: %s", fn, lua_tostring(L, -1));
  }
}

/* ---- stepping ---- */

/* episodes:start(seed, first): itself. first: number of the first episode, which its random numbers
 * depend on. Below 2^53: what both interpreters hold exactly. */
static int start(lua_State *L) {
  BL_WHERE(w, "episodes:start");
  episodes_box *box = self(L, w.fn);
  double seed = bl_opt_whole(L, 2, &w, "seed", 0, 0, 9007199254740991.0);
  double first = bl_opt_whole(L, 3, &w, "first", 0, 0, 9007199254740991.0);
  berth_episodes_start(box->episodes, (uint64_t)seed, (int64_t)first);
  lua_settop(L, 1);
  return 1;
}

/* episodes:candidates(): index of ops that may be next, segments [n] by episode. */
static int candidates(lua_State *L) {
  episodes_box *box = self(L, "episodes:candidates");
  const int32_t *first, *ops;
  int32_t n = berth_episodes_candidates(box->episodes, &first, &ops);
  bl_push_index(L, n, ops);
  bl_push_segments_from(L, berth_episodes_count(box->episodes), first);
  return 2;
}

/* Features of all devices, for `n` ops. Where one cannot run the earliest start is infinite;
 * networks get the latest of the other devices in its place, which `allowed` rules out. */
static void push_devices(lua_State *L, const episodes_box *box, int32_t n, double *x) {
  enum { EARLIEST = 4 };
  const int32_t d = devices_of(box),
                shape[2] = { n * d, berth_assign_device_features(box->assign) };
  for (int32_t i = 0; i < n; i++) {
    double *f = x + (size_t)i * (size_t)d * (size_t)shape[1] + EARLIEST, latest = 0;
    for (int32_t k = 0; k < d; k++)
      latest = isinf(f[k * shape[1]]) ? latest : fmax(latest, f[k * shape[1]]);
    for (int32_t k = 0; k < d; k++) f[k * shape[1]] = fmin(f[k * shape[1]], latest);
  }
  bl_push_array_of(L, 2, shape, x);
}

/* devices(ops): features [n * devices, features] for one op of each episode */
static int devices(lua_State *L) {
  static const char *const fn = "episodes:devices";
  episodes_box *box = self(L, fn);
  const int32_t *op = each(L, 2, box, fn, "ops");
  int32_t n = berth_episodes_count(box->episodes),
          width = berth_assign_device_features(box->assign);
  double *x = bl_scratch(L, (size_t)n * (size_t)devices_of(box) * (size_t)width, sizeof *x);
  must(L, fn, berth_episodes_devices(box->episodes, op, x));
  push_devices(L, box, n, x);
  return 1;
}

/* What fills marks [n x devices] from an op of each episode. */
typedef berth_status (*mark_fn)(berth_episodes *e, const int32_t *op, uint8_t *out);

/* [-0, +1] An array of marks, episodes x devices, as berth.nn takes it. */
static int marks_of(lua_State *L, const char *fn, mark_fn fill) {
  episodes_box *box = self(L, fn);
  const int32_t *op = each(L, 2, box, fn, "ops");
  const int32_t shape[2] = { berth_episodes_count(box->episodes), devices_of(box) };
  uint8_t *x = bl_scratch(L, (size_t)shape[0] * (size_t)shape[1], sizeof *x);
  must(L, fn, fill(box->episodes, op, x));
  bl_push_marks(L, 2, shape, x);
  return 1;
}

/* allowed(ops), teacher_devices(ops): 1 and 0, [n, devices] */
static int allowed(lua_State *L) { return marks_of(L, "episodes:allowed", berth_episodes_allowed); }
static int teacher_devices(lua_State *L) {
  return marks_of(L, "episodes:teacher_devices", berth_episodes_teacher_devices);
}

static const char *const tie_names[] = { "textbook", "code", NULL };

/* episodes:teacher_ops("textbook" | "code"): array [candidates], 1 for those of largest b-level. */
static int teacher_ops(lua_State *L) {
  BL_WHERE(w, "episodes:teacher_ops");
  episodes_box *box = self(L, w.fn);
  int ties = lua_isnoneornil(L, 2) ? 0 : bl_to_enum(L, 2, &w, "ties", tie_names);
  const int32_t *first, *ops;
  int32_t n = berth_episodes_candidates(box->episodes, &first, &ops);
  uint8_t *x = bl_scratch(L, (size_t)n, sizeof *x);
  must(L, w.fn, berth_episodes_teacher_ops(box->episodes, ties, x));
  bl_push_marks(L, 1, &n, x);
  return 1;
}

/* [-0, +1] Where the segments of scores begin, [n + 1]: those given, or all of one length. A copy,
 * since the segments may be a table that was converted in place. */
static int32_t *choice_segments(lua_State *L, int i, const episodes_box *box, int64_t scores,
                                const bl_where *w) {
  int32_t n = berth_episodes_count(box->episodes),
          *first = bl_scratch(L, (size_t)n + 1, sizeof *first);
  if (lua_isnoneornil(L, i)) {
    if (scores % n != 0)
      bl_wrong(L, w, "scores", "%d numbers are not as many for each of %d episodes", (int)scores,
               (int)n);
    for (int32_t k = 0; k <= n; k++) first[k] = (int32_t)(scores / n) * k;
  } else {
    const berth_segments *s = bl_to_segments(L, i, w, "segments");
    if (berth_segments_count(s) != n || berth_segments_rows(s) != scores) {
      bl_wrong(L, w, "segments", "%d of %d rows for %d episodes and %d scores",
               (int)berth_segments_count(s), (int)berth_segments_rows(s), (int)n, (int)scores);
    }
    memcpy(first, berth_segments_first(s), ((size_t)n + 1) * sizeof *first);
  }
  return first;
}

static const berth_choice *const choices[] = {
  BL_CHOICE("sample", "From the softmax, mixed with epsilon of uniform."),
  BL_CHOICE("greedy", "The largest score, the first of equals; with epsilon a uniform one."),
  BL_CHOICE("random-ties", "The same, but equals at random."), NULL
};

BL_OPTIONS(choose,
  BL_ROW("how", CHOICE, "sample", "a position is chosen", .choices = choices),
  BL_ROW("epsilon", NUMBER, "0", "share of uniform choices", .high = 1))

/* episodes:choose(scores, segments, { how, epsilon }): index [n] of positions in the segments, from
 * 1 in Lua; random numbers are of each episode's own stream. */
static int choose(lua_State *L) {
  static const bl_where w = { "episodes:choose", NULL, 0 };
  episodes_box *box = self(L, w.fn);
  bl_array_box *scores = bl_check_array(L, 2, w.fn, "scores");
  int32_t n = berth_episodes_count(box->episodes);
  double epsilon = 0;
  int how = 0;
  lua_settop(L, 4);
  int t = bl_option_table(L, 4, &w, bl_choose_tables);
  bl_get_choice(L, t, &w, "how", choices, &how);
  bl_get_number(L, t, &w, "epsilon", &epsilon);
  int32_t *first = choice_segments(L, 3, box, scores->size, &w);
  int32_t *out = bl_scratch(L, (size_t)n, sizeof *out);
  must(L, w.fn,
       berth_episodes_choose(box->episodes, first, scores->data, (berth_episodes_choice)how,
                             epsilon, out));
  bl_push_index(L, n, out);
  return 1;
}

/* episodes:select(ops, segments, positions): index [segments], the op at its position in each. */
static int select_ops(lua_State *L) {
  BL_WHERE(w, "episodes:select");
  self(L, w.fn);
  const berth_index *ops = bl_to_index(L, 2, &w, "ops");
  const berth_segments *s = bl_to_segments(L, 3, &w, "segments");
  const berth_index *at = bl_to_index(L, 4, &w, "positions");
  int32_t n = berth_segments_count(s);
  if (berth_index_size(at) != n || berth_segments_rows(s) != berth_index_size(ops)) {
    bl_wrong(L, &w, "positions",
             "%d positions, %d segments of %d rows and %d ops do not go together",
             (int)berth_index_size(at), (int)n, (int)berth_segments_rows(s),
             (int)berth_index_size(ops));
  }
  int32_t *out = bl_scratch(L, (size_t)n, sizeof *out);
  for (int32_t i = 0; i < n; i++) {
    int32_t first = berth_segments_first(s)[i], k = berth_index_ids(at)[i];
    if (k < 0 || k >= berth_segments_first(s)[i + 1] - first)
      bl_wrong(L, &w, "positions", "segment %d has no row %d", (int)i + 1, (int)k + 1);
    out[i] = berth_index_ids(ops)[first + k];
  }
  bl_push_index(L, n, out);
  return 1;
}

/* episodes:assign(ops, devices): itself; the next step of every episode, indices [n] each. */
static int assign(lua_State *L) {
  static const char *const fn = "episodes:assign";
  episodes_box *box = self(L, fn);
  const int32_t *op = each(L, 2, box, fn, "ops"), *device = each(L, 3, box, fn, "devices");
  must(L, fn, berth_episodes_assign(box->episodes, op, device));
  lua_settop(L, 1);
  return 1;
}

/* ---- what came of it ---- */

/* [-0, +1] [ops] device ids of episode i, one row of the core's matrix. */
static void push_placement(lua_State *L, const episodes_box *box, int32_t i) {
  int32_t n = ops_of(box);
  /* what is not assigned yet: 0 */
  bl_push_ids(L, n, berth_episodes_placement(box->episodes) + (size_t)i * (size_t)n);
}

/* episodes:placement(i): [ops] devices of an episode; episodes:placements(): array of them. */
static int placement(lua_State *L) {
  BL_WHERE(w, "episodes:placement");
  episodes_box *box = self(L, w.fn);
  push_placement(L, box,
                 bl_to_id(L, 2, &w, "episode", berth_episodes_count(box->episodes), "episode"));
  return 1;
}

static int placements(lua_State *L) {
  episodes_box *box = self(L, "episodes:placements");
  int32_t n = berth_episodes_count(box->episodes);
  lua_createtable(L, n, 0);
  for (int32_t i = 0; i < n; i++) {
    push_placement(L, box, i);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* One placement that needs a route which is not there stops a batch. Here it counts like one that
 * runs out of memory. The seed of each is that of its place in the batch. */
static berth_status each_by_itself(berth_cost *cost, const berth_sim_options *o,
                                   const berth_episodes *e, berth_sim_summary *out) {
  int32_t n = berth_episodes_count(e), ops = bl_ops(cost);
  for (int32_t i = 0; i < n; i++) {
    berth_sim_options own = *o;
    own.seed += (uint64_t)i; /* as in the batch */
    berth_status st = berth_sim_batch(
        cost, &own, 1, berth_episodes_placement(e) + (size_t)i * (size_t)ops, 1, &out[i]);
    if (st != BERTH_OK && st != BERTH_EUNREACHABLE) return st;
    if (st == BERTH_EUNREACHABLE)
      out[i] = (berth_sim_summary){ .makespan = INFINITY, .oom_op = BERTH_NONE };
  }
  return BERTH_OK;
}

/* A batch stops at the first placement that cannot be reached; one by one the others have a
 * time. */
static berth_status simulate_all(berth_cost *cost, const berth_sim_options *o, int threads,
                                 const berth_episodes *e, berth_sim_summary *out) {
  berth_status st =
      berth_sim_batch(cost, o, berth_episodes_count(e), berth_episodes_placement(e), threads, out);
  return st == BERTH_EUNREACHABLE ? each_by_itself(cost, o, e, out) : st;
}

/* episodes:simulate(cost, { threads, ... }): [n] makespans in s, math.huge where memory runs out or
 * a route is missing; nil, message, code. Episodes and cost are retained: a hook may close both
 * boxes. */
static int simulate(lua_State *L) {
  BL_WHERE(w, "episodes:simulate");
  episodes_box *box = self(L, w.fn);
  berth_episodes *e = box->episodes;
  int32_t n = berth_episodes_count(e), threads = 1;
  lua_settop(L, 3);
  berth_cost *cost = lua_isnil(L, 2) ? berth_assign_cost(box->assign)
                                     : bl_check_cost(L, 2, w.fn, "cost");
  int t = bl_option_table(L, 3, &w, bl_batch_tables);
  berth_sim_options o = bl_sim_options(L, t, &w, cost, NULL);
  bl_get_whole(L, t, &w, "threads", 0, 4096, &threads);
  if (berth_episodes_step(e) < berth_assign_steps(box->assign)) {
    bl_wrong(L, &w, "self", "only %d of %d steps are taken", (int)berth_episodes_step(e),
             (int)berth_assign_steps(box->assign));
  }
  if (bl_ops(cost) != ops_of(box)) {
    bl_wrong(L, &w, "cost", "is of %d ops, the episodes are of %d",
             (int)bl_ops(cost), (int)ops_of(box));
  }
  berth_sim_summary *out = bl_scratch(L, (size_t)n, sizeof *out);
  berth_episodes_retain(e);
  berth_cost_retain(cost);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, simulate_all(cost, &o, threads, e, out));
  berth_cost_release(cost);
  berth_episodes_release(e);
  if (st != BERTH_OK) return bl_failed(L, st);
  lua_createtable(L, n, 0);
  for (int32_t i = 0; i < n; i++) {
    lua_pushnumber(L, out[i].oom_op == BERTH_NONE ? out[i].makespan : INFINITY);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* [-0, +1] An array, rows x devices x features; a copy, since the log belongs to the episodes. */
static void push_log_devices(lua_State *L, const episodes_box *box, const berth_episode_log *log) {
  size_t size = (size_t)log->n_rows * (size_t)devices_of(box)
                * (size_t)berth_assign_device_features(box->assign);
  double *x = bl_scratch(L, size, sizeof *x);
  memcpy(x, log->devices, size * sizeof *x);
  push_devices(L, box, log->n_rows, x);
  lua_remove(L, -2);
}

/* episodes:log(): { op, device, chosen, candidates, steps, devices, allowed, episodes } of all
 * steps, as indices, segments and arrays with a row per step. devices is left out unless
 * episodes:devices was called in every step, allowed where every device was. */
static int record(lua_State *L) {
  static const char *const fn = "episodes:log";
  episodes_box *box = self(L, fn);
  int32_t n = berth_episodes_count(box->episodes), steps = berth_assign_steps(box->assign);
  berth_episode_log log;
  must(L, fn, berth_episodes_log(box->episodes, &log));
  lua_createtable(L, 0, 7);
  bl_push_index(L, log.n_rows, log.op);
  lua_setfield(L, -2, "op");
  bl_push_index(L, log.n_rows, log.device);
  lua_setfield(L, -2, "device");
  bl_push_index(L, log.n_rows, log.chosen);
  lua_setfield(L, -2, "chosen");
  bl_push_index(L, log.first[log.n_rows], log.candidates);
  lua_setfield(L, -2, "candidates");
  bl_push_segments_from(L, log.n_rows, log.first);
  lua_setfield(L, -2, "steps");
  if (log.devices) {
    push_log_devices(L, box, &log);
    lua_setfield(L, -2, "devices");
  }
  if (log.allowed) {
    const int32_t shape[2] = { log.n_rows, devices_of(box) };
    bl_push_marks(L, 2, shape, log.allowed);
    lua_setfield(L, -2, "allowed");
  }
  int32_t *length = bl_scratch(L, (size_t)n, sizeof *length);
  for (int32_t i = 0; i < n; i++) length[i] = steps;
  bl_push_segments(L, n, length);
  lua_setfield(L, -3, "episodes");
  lua_pop(L, 1);
  return 1;
}

/* ---- fields ---- */

BL_GETTER(count, lua_pushinteger, berth_episodes_count(self(L, "episodes.count")->episodes))
BL_GETTER(step, lua_pushinteger, berth_episodes_step(self(L, "episodes.step")->episodes))
static int done(lua_State *L) {
  episodes_box *box = self(L, "episodes.done");
  lua_pushboolean(L, berth_episodes_step(box->episodes) >= berth_assign_steps(box->assign));
  return 1;
}
static int of_assignment(lua_State *L) {
  self(L, "episodes.assignment");
  return bl_kept(L, "assignment");
}

static int to_string(lua_State *L) {
  episodes_box *box = self(L, "tostring");
  return bl_push_format(L, "episodes: %d side by side, %d of %d steps taken",
                (int)berth_episodes_count(box->episodes), (int)berth_episodes_step(box->episodes),
                (int)berth_assign_steps(box->assign));
}

static const luaL_Reg methods[] = { { "start", start },
                                    { "candidates", candidates },
                                    { "devices", devices },
                                    { "allowed", allowed },
                                    { "choose", choose },
                                    { "select", select_ops },
                                    { "assign", assign },
                                    { "teacher_ops", teacher_ops },
                                    { "teacher_devices", teacher_devices },
                                    { "placement", placement },
                                    { "placements", placements },
                                    { "simulate", simulate },
                                    { "log", record },
                                    { NULL, NULL } };
static const luaL_Reg fields[] = { { "count", count },
                                   { "step", step },
                                   { "done", done },
                                   { "assignment", of_assignment },
                                   { NULL, NULL } };
const bl_class bl_episodes_class = {
  .name = "episodes", .key = "berth.episodes", .release = release_episodes, .methods = methods,
  .fields = fields, .text = to_string
};
