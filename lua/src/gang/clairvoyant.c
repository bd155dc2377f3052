/* Behind berth.pacml.bound and berth.pacml.prove: how many jobs a scheduler that is given all
 * arrivals in advance could accept. The linear program's solution is in a hidden box while it is
 * copied. Choices of all jobs follow each other in [choices] arrays; first[j] to first[j + 1] are
 * those of job j. */
#include "base/binding.h"

/* Holds a solution while it is copied: never seen by anyone. */
BL_RELEASE(release_box, berth_clairvoyant_release)
static const bl_class clairvoyant_class = {
  .name = "solution", .key = "berth.pacml.solution", .release = release_box
};

/* @param count [n] choices of each job  @return [n + 1] */
static int32_t *read_first(lua_State *L, int i, const bl_where *w, int32_t n, int32_t choices) {
  double *count = bl_to_numbers(L, i, w, "count", n, "job");
  int32_t *first = bl_scratch(L, (size_t)n + 1, sizeof *first);
  first[0] = 0;
  for (int32_t k = 0; k < n; k++) {
    if (!(count[k] >= 0 && count[k] <= choices - first[k]))
      bl_wrong(L, w, "count", "[%d] is %.14g", (int)k + 1, count[k]);
    first[k + 1] = first[k] + (int32_t)count[k];
  }
  if (first[n] != choices)
    bl_wrong(L, w, "count", "%d choices, expected %d", (int)first[n], (int)choices);
  return first;
}

/* [-0, +n] Arrays of servers and seconds at i and i + 1, as pairs. */
static berth_clairvoyant_choice *read_choices(lua_State *L, int i, const bl_where *w, int32_t n) {
  double *servers = bl_to_numbers(L, i, w, "servers", n, "choice"),
         *seconds = bl_to_numbers(L, i + 1, w, "seconds", n, "choice");
  berth_clairvoyant_choice *choice = bl_scratch(L, (size_t)n, sizeof *choice);
  for (int32_t k = 0; k < n; k++) {
    if (!(servers[k] >= 1 && servers[k] <= INT32_MAX))
      bl_wrong(L, w, "servers", "[%d] is %.14g", (int)k + 1, servers[k]);
    choice[k] = (berth_clairvoyant_choice){ seconds[k], (int32_t)servers[k] };
  }
  return choice;
}

/* Arguments 1 to 6: arrivals; numbers of choices per job; servers and seconds of choices; servers
 * there are; slack. */
static berth_clairvoyant_jobs read_jobs(lua_State *L, const bl_where *w) {
  berth_clairvoyant_jobs jobs;
  int32_t choices = bl_to_length(L, 3, w, "servers");
  jobs.n = bl_to_length(L, 1, w, "arrivals");
  jobs.arrival = bl_to_numbers(L, 1, w, "arrivals", jobs.n, "job");
  jobs.first = read_first(L, 2, w, jobs.n, choices);
  jobs.choice = read_choices(L, 3, w, choices);
  jobs.servers = (int32_t)bl_to_whole(L, 5, w, "capacity", 1, INT32_MAX);
  jobs.slack = bl_to_number(L, 6, w, "slack");
  return jobs;
}

/* [-0, +1] Bound and value in the units of the objective; the rest are counts. */
static void push_summary(lua_State *L, const berth_clairvoyant_summary *s) {
  lua_createtable(L, 0, 16);
  bl_set_number(L, "bound", s->bound);
  bl_set_number(L, "value", s->value);
  bl_set_count(L, "jobs", s->jobs);
  bl_set_count(L, "columns", s->columns);
  bl_set_count(L, "moments", s->moments);
  bl_set_count(L, "iterations", s->iterations);
}

/* clairvoyant(arrivals, count, servers, seconds, capacity, slack): table; nil, message, code */
static int clairvoyant(lua_State *L) {
  BL_WHERE(w, "berth.pacml.bound");
  berth_clairvoyant *c = NULL;
  lua_settop(L, 6);
  berth_clairvoyant_jobs jobs = read_jobs(L, &w);
  bl_register(L, &clairvoyant_class);
  bl_box *box = bl_new(L, &clairvoyant_class, sizeof *box);
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_clairvoyant_new(bl_ctx(L), &jobs, &c));
  box->object = c;
  if (st != BERTH_OK) return bl_failed(L, st);
  push_summary(L, berth_clairvoyant_get(c));
  bl_set_numbers(L, "share", jobs.first[jobs.n], berth_clairvoyant_share(c));
  bl_set_numbers(L, "price", jobs.n, berth_clairvoyant_price(c));
  berth_clairvoyant_release(c);
  box->object = NULL;
  return 1;
}

/* clairvoyant_prove(arrivals, count, servers, seconds, capacity, slack, prices): bound */
static int prove(lua_State *L) {
  BL_WHERE(w, "berth.pacml.bound");
  double bound = 0;
  lua_settop(L, 7);
  berth_clairvoyant_jobs jobs = read_jobs(L, &w);
  berth_status st = berth_clairvoyant_prove(
      bl_ctx(L), &jobs, bl_to_numbers(L, 7, &w, "prices", jobs.n, "job"), &bound);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushnumber(L, bound);
  return 1;
}

const luaL_Reg bl_clairvoyant_functions[] = { { "clairvoyant", clairvoyant },
                                              { "clairvoyant_prove", prove },
                                              { NULL, NULL } };
