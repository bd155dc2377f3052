/* Type "pdors": online primal-dual scheduling; prices, decisions, certificates (source:
 * berth/pdors.h). The box holds a reference to the problem. Slots count from 0, machines, resources
 * and jobs from 1. */
#include "ps/ps.h"
#include <math.h>

/* The scheduler reads the problem until it is gone. */
static void release(void *box) {
  bl_pdors_box *b = box;
  berth_pdors_release(b->pdors);
  berth_ps_release(b->ps);
}
static bl_pdors_box *self(lua_State *L, const char *fn) { return bl_self(L, &bl_pdors_class, fn); }

/* ---- options ---- */

const bl_table bl_pdors_tables[] = { berth_pdors_option_table, NULL };

/* Lowest and highest price of bounds = "prior", the latter by resource. */
static void read_prior(lua_State *L, int t, const bl_where *w, int32_t resources,
                       berth_pdors_options *o) {
  bl_get_positive(L, t, w, "low", &o->low);
  int32_t n;
  if (!bl_get_array(L, t, w, "high", &n)) return;
  const double *high = bl_to_numbers(L, lua_gettop(L), w, "high", resources, "resource");
  for (int32_t r = 0; r < resources; r++) o->high[r] = high[r];
}

/* The algorithm, the mode and the kind of plans set defaults, which the other options change. */
static berth_pdors_options read_options(lua_State *L, int i, const bl_where *w, const berth_ps *p) {
  berth_pdors_options o = berth_pdors_default();
  const berth_option_table *table = berth_pdors_option_table();
  int t = bl_option_table(L, i, w, bl_pdors_tables);
  int mode = (int)o.mode, algorithm = (int)o.algorithm;
  bl_get_choice(L, t, w, "mode", bl_choices(table, "mode"), &mode);
  bl_get_choice(L, t, w, "algorithm", bl_choices(table, "algorithm"), &algorithm);
  int plans = algorithm == BERTH_OASIS || mode == BERTH_PDORS_FAITHFUL ? BERTH_PDORS_FINAL
                                                                       : BERTH_PDORS_REVISED;
  bl_get_choice(L, t, w, "plans", bl_choices(table, "plans"), &plans);
  o.plans = (berth_pdors_plans)plans;
  if (mode == BERTH_PDORS_FAITHFUL && plans == BERTH_PDORS_FINAL) o.reclaim = o.extend = 0;
  bl_read_options(L, t, w, berth_pdors_option_table(), &o);
  read_prior(L, t, w, berth_ps_options_of(p)->resources, &o);
  return o;
}

/* pdors(problem, options): object */
static int pdors(lua_State *L) {
  BL_WHERE(w, "berth.pdors.scheduler");
  berth_ps *p = bl_check_ps(L, 1, w.fn, "problem");
  lua_settop(L, 2);
  luaL_checkstack(L, 40, w.fn);
  berth_pdors_options o = read_options(L, 2, &w, p);
  bl_pdors_box *box = bl_new(L, &bl_pdors_class, sizeof *box);
  berth_status st = berth_pdors_new(p, &o, &box->pdors);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  berth_ps_retain(p);
  box->ps = p;
  bl_track(L);
  return 1;
}

/* ---- decisions ---- */

/* { { slot, places }, ... } */
static void push_schedule(lua_State *L, const berth_pdors_plan *plan) {
  int32_t found = 0;
  size_t i = 0;
  lua_newtable(L);
  while (i < plan->n) {
    size_t end = i;
    while (end < plan->n && plan->slot[end] == plan->slot[i]) end++;
    lua_createtable(L, 0, 2);
    bl_set_count(L, "slot", plan->slot[i]);
    bl_push_places(L, (int32_t)(end - i), plan->place + i);
    lua_setfield(L, -2, "places");
    lua_rawseti(L, -2, ++found);
    i = end;
  }
}

/* NaN: left out. */
static void set_if_there(lua_State *L, const char *key, double x) {
  if (!isnan(x)) bl_set_number(L, key, x);
}

/* [-0, +1] { admitted, payoff, utility, cost, bound, done, schedule }. */
static int push_plan(lua_State *L, const berth_pdors_plan *plan) {
  lua_createtable(L, 0, 7);
  bl_set_bool(L, "admitted", plan->admitted);
  set_if_there(L, "payoff", plan->payoff);
  set_if_there(L, "utility", plan->utility);
  set_if_there(L, "cost", plan->cost);
  set_if_there(L, "bound", plan->bound);
  if (plan->done != BERTH_NONE) bl_set_count(L, "done", plan->done);
  push_schedule(L, plan);
  lua_setfield(L, -2, "schedule");
  return 1;
}

typedef berth_status (*decision)(berth_pdors *d, int32_t job, berth_pdors_plan *out);

/* [-0, +1] The plan for job 2, or nil, message, code. */
static int decided(lua_State *L, const bl_where *w, decision f) {
  bl_pdors_box *b = self(L, w->fn);
  int32_t job = bl_to_ps_job(L, 2, w, b->ps);
  berth_pdors_plan plan;
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, f(b->pdors, job, &plan));
  return st == BERTH_OK ? push_plan(L, &plan) : bl_refused(L, w->fn, st);
}

/* decide(job): { admitted, payoff, utility, cost, bound, done, schedule = { { slot, places }, ... }
 * }; changes nothing */
static int decide(lua_State *L) {
  BL_WHERE(w, "scheduler:decide");
  return decided(L, &w, berth_pdors_decide);
}

/* admit(job): the same, and commits */
static int admit(lua_State *L) {
  BL_WHERE(w, "scheduler:admit");
  return decided(L, &w, berth_pdors_admit);
}

/* ---- prices ---- */

static int32_t to_slot(lua_State *L, int i, const bl_where *w, const berth_ps *p) {
  return (int32_t)bl_to_whole(L, i, w, "slot", 0, berth_ps_options_of(p)->slots - 1);
}

/* price(machine, resource, slot): math.huge if it is not to be had */
static int price(lua_State *L) {
  BL_WHERE(w, "scheduler:price");
  bl_pdors_box *b = self(L, w.fn);
  const berth_ps_options *o = berth_ps_options_of(b->ps);
  int32_t machine = bl_to_id(L, 2, &w, "machine", o->machines, "machine");
  int32_t resource = bl_to_id(L, 3, &w, "resource", o->resources, "resource");
  lua_pushnumber(L, berth_pdors_price(b->pdors, machine, resource, to_slot(L, 4, &w, b->ps)));
  return 1;
}

/* range(machine, resource): L and U as they are now */
static int range(lua_State *L) {
  BL_WHERE(w, "scheduler:range");
  bl_pdors_box *b = self(L, w.fn);
  const berth_ps_options *o = berth_ps_options_of(b->ps);
  int32_t machine = bl_to_id(L, 2, &w, "machine", o->machines, "machine");
  int32_t resource = bl_to_id(L, 3, &w, "resource", o->resources, "resource");
  double low, high;
  berth_status st = berth_pdors_range(b->pdors, machine, resource, &low, &high);
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_pushnumber(L, low);
  lua_pushnumber(L, high);
  return 2;
}

/* committed(slot): amounts, an array per machine */
static int committed(lua_State *L) {
  BL_WHERE(w, "scheduler:committed");
  bl_pdors_box *b = self(L, w.fn);
  bl_push_amounts(L, b->ps, berth_pdors_committed(b->pdors, to_slot(L, 2, &w, b->ps)));
  return 1;
}

/* counts(): how often what was computed */
static int counts(lua_State *L) {
  berth_pdors_counts c = berth_pdors_counted(self(L, "scheduler:counts")->pdors);
  lua_createtable(L, 0, 7);
  bl_set_count(L, "slots_solved", (double)c.slots_solved);
  bl_set_count(L, "slots_remembered", (double)c.slots_remembered);
  bl_set_count(L, "programs", (double)c.programs);
  bl_set_count(L, "roundings", (double)c.roundings);
  bl_set_count(L, "never_feasible", (double)c.never_feasible);
  bl_set_count(L, "repairs", (double)c.repairs);
  bl_set_count(L, "pivots", (double)c.pivots);
  bl_set_count(L, "unproved", (double)c.unproved);
  return 1;
}

/* ---- certificates ---- */

/* certify(utility, steps = 0): { utility, bound, ratio, possible, prices, jobs, worst_case }
 */
static int certify(lua_State *L) {
  BL_WHERE(w, "scheduler:certify");
  bl_pdors_box *b = self(L, w.fn);
  double utility = bl_to_number(L, 2, &w, "utility");
  int32_t steps = bl_opt_whole(L, 3, &w, "steps", 0, 0, INT32_MAX);
  berth_pdors_certificate c;
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_pdors_certify(b->pdors, utility, steps, &c));
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_createtable(L, 0, 7);
  bl_set_number(L, "utility", c.utility);
  bl_set_number(L, "bound", c.bound);
  set_if_there(L, "ratio", c.ratio);
  bl_set_count(L, "possible", c.possible);
  bl_set_number(L, "prices", c.prices);
  bl_set_number(L, "jobs", c.jobs);
  set_if_there(L, "worst_case", c.worst_case);
  return 1;
}

/* pdors_offline(problem, nodes = 100000): { utility, bound, proved, nodes, jobs = utility of each
 * } */
static int offline(lua_State *L) {
  BL_WHERE(w, "berth.pdors.offline");
  berth_ps *p = bl_check_ps(L, 1, w.fn, "problem");
  int32_t nodes = bl_opt_whole(L, 2, &w, "nodes", 100000, 1, INT32_MAX),
          n = berth_ps_jobs(p);
  double *utility = bl_scratch(L, (size_t)n, sizeof *utility);
  berth_pdors_optimum x;
  bl_call call = bl_enter(L);
  berth_status st = bl_leave(&call, berth_pdors_offline(p, nodes, &x, utility));
  if (st != BERTH_OK) return bl_refused(L, w.fn, st);
  lua_createtable(L, 0, 5);
  bl_set_number(L, "utility", x.utility);
  bl_set_number(L, "bound", x.bound);
  bl_set_bool(L, "proved", x.proved);
  bl_set_count(L, "nodes", x.nodes);
  bl_set_numbers(L, "jobs", n, utility);
  return 1;
}

/* Index of the choice in that field, among those of the option. */
static int choice_of(lua_State *L, int t, const bl_where *w, const char *key, const char *option) {
  int k = 0;
  bl_get_choice(L, t, w, key, bl_choices(berth_pdors_option_table(), option), &k);
  return k;
}

BL_OPTIONS(gdelta,
  BL_OTHER("favour", "name", "packing", "packing or covering, as of pdors.scheduler"),
  BL_OTHER("form", "name", "formula", "formula as published; tight: always valid"),
  BL_ROW("rows", NUMBER, "none; must be given", "of the program", .low = 1),
  BL_ROW("delta", NUMBER, "as of pdors.scheduler", "probability of a rounding that fails",
         .above = 1, .high = 1),
  BL_ROW("width", NUMBER, "none; must be given", "of the program", .above = 1))

/* gdelta { favour, form, rows, delta, width }: number, or nil if there is none */
static int gdelta(lua_State *L) {
  static const bl_where w = { "berth.pdors.gdelta", NULL, 0 };
  int t = bl_option_table(L, 1, &w, bl_gdelta_tables);
  int favour = choice_of(L, t, &w, "favour", "favour"),
      form = choice_of(L, t, &w, "form", "gdelta");
  double rows = 0, delta = berth_pdors_default().delta, width = 0;
  if (form == BERTH_GDELTA_GIVEN) bl_wrong(L, &w, "form", "expected formula or tight");
  bl_need(L, bl_get_positive(L, t, &w, "rows", &rows), &w, "rows");
  bl_need(L, bl_get_positive(L, t, &w, "width", &width), &w, "width");
  bl_get_positive(L, t, &w, "delta", &delta);
  double g = berth_gdelta((berth_pdors_favour)favour, (berth_pdors_gdelta)form, rows, delta, width);
  if (isnan(g))
    bl_wrong(L, &w, "rows, delta, width", "expected at least 1, between 0 and 1, above 0");
  lua_pushnumber(L, g);
  return 1;
}

static int to_string(lua_State *L) {
  bl_pdors_box *b = self(L, "tostring");
  lua_pushfstring(L, "scheduler: prices of %d machines in %d slots",
                  (int)berth_ps_options_of(b->ps)->machines,
                  (int)berth_ps_options_of(b->ps)->slots);
  return 1;
}

static const luaL_Reg methods[] = { { "decide", decide },       { "admit", admit },
                                    { "price", price },         { "range", range },
                                    { "committed", committed }, { "counts", counts },
                                    { "certify", certify },     { NULL, NULL } };
const bl_class bl_pdors_class = {
  .name = "scheduler", .key = "berth.scheduler", .release = release, .methods = methods,
  .text = to_string
};

const luaL_Reg bl_pdors_functions[] = {
  { "pdors", pdors }, { "pdors_offline", offline }, { "gdelta", gdelta }, { NULL, NULL }
};
