/* The problem of a search: checked options, the simulation plan, mean times, and blocks of ops at
 * three sizes: atoms (colocation groups alone), units (contracted along heavy tensors), lines (all
 * that is in line, too). Invariant: read only while walks run. O(ops x devices + edges) and up to
 * TRIES contractions. */
#include "search_internal.h"

enum { TRIES = 8 };

static bool memory_counts(const berth_i_problem *p) {
  for (int32_t d = 0; p->judge.memory != BERTH_MEMORY_NONE && d < p->n_devices; d++) {
    if (!isinf(p->cost->t->devices[d].memory)) return true;
  }
  return false;
}

/* Parameters; and outputs, where nothing is freed. */
static void fill_bytes(berth_i_problem *p) {
  const berth_graph *g = p->cost->g;
  for (int32_t i = 0; i < p->n; i++) {
    p->bytes[i] = berth_i_param(g, i) * p->judge.param_multiple;
    for (int32_t k = g->out_at[i]; p->judge.memory == BERTH_MEMORY_TOTAL && k < g->out_at[i + 1];
         k++) {
      p->bytes[i] += berth_i_resident(g, g->out[k]);
    }
  }
}

static bool any_infinite(const double *x, size_t n) {
  size_t i = 0;
  while (i < n && !isinf(x[i])) i++;
  return i < n;
}

static bool may_be_apart(const berth_cost *c) {
  size_t pairs = (size_t)c->n_devices * (size_t)c->n_devices;
  if (any_infinite(c->t->latency, pairs)) return true;
  return c->table && any_infinite(c->table, pairs * (size_t)c->g->n_tensors);
}

static berth_status price(berth_i_problem *p) {
  p->comp = berth_i_pool_alloc(&p->pool, (size_t)p->n, sizeof *p->comp);
  p->comm = berth_i_pool_alloc(&p->pool, (size_t)p->cost->g->n_tensors, sizeof *p->comm);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  if ((st = berth_cost_mean_ops(p->cost, p->comp)) != BERTH_OK) return st;
  if ((st = berth_cost_mean_transfers(p->cost, BERTH_AVERAGE_TEXTBOOK, p->comm)) != BERTH_OK)
    return st;
  for (int32_t i = 0; i < p->n; i++) p->work += p->comp[i];
  if (!memory_counts(p)) return BERTH_OK;
  if (!(p->bytes = berth_i_pool_alloc(&p->pool, (size_t)p->n, sizeof *p->bytes)))
    return berth_i_nomem(p->ctx);
  fill_bytes(p);
  return BERTH_OK;
}

/* Where so much is joined that there is little to move, less is joined; where the blocks do not fit
 * into the devices together, smaller ones are made.  @param device [ops], held [devices] scratch */
static berth_status contract(berth_i_problem *p, bool all_lines, int32_t *device, double *held,
                             berth_i_clumps *out) {
  double share = p->work / p->n_devices;
  berth_i_contract c = { share / 20, all_lines ? INFINITY : share / 100, 1 };
  berth_status st = berth_i_clumps_make(p, &c, out);
  for (int32_t k = 0; st == BERTH_OK && k < TRIES; k++) {
    const bool few = out->n < 2 * p->n_devices && out->n < p->atoms.n;
    const bool packs = !p->bytes || berth_i_start_dealt(p, out, NULL, device, held);
    if (!few && packs) break;
    if (few) {
      c.heavy *= 2;
      if (all_lines) c.light = isinf(c.light) ? share / 2 : c.light / 2;
    }
    if (!packs) c.most /= 2;
    berth_i_pool_free(&out->pool);
    st = berth_i_clumps_make(p, &c, out);
  }
  return st;
}

static berth_status make_blocks(berth_i_problem *p) {
  static const berth_i_contract alone = { INFINITY, 0, 1 };
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  int32_t *device = berth_i_pool_alloc(&scratch, (size_t)p->n, sizeof *device);
  double *held = berth_i_pool_alloc(&scratch, (size_t)p->n_devices, sizeof *held);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) st = berth_i_clumps_make(p, &alone, &p->atoms);
  if (st == BERTH_OK) st = contract(p, false, device, held, &p->units);
  if (st == BERTH_OK) st = contract(p, true, device, held, &p->lines);
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- options ---- */

berth_search_options berth_search_default(void) {
  berth_search_options o = { 0 };
  o.method = BERTH_SEARCH_ANNEAL;
  o.calls = 2000;
  o.t_start = 0.006;
  o.t_end = 1e-4;
  o.elite = 0.2;
  o.mutants = 0.15;
  o.bias = 0.7;
  return o;
}

static void set_defaults(void *out) { *(berth_search_options *)out = berth_search_default(); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_search_options, name, kind)

const berth_option_table *berth_search_option_table(void) {
  static const berth_option options[] = {
    { FIELD(calls, LONG),
      .text = "placements that are evaluated at most; agent: from 1 to 50, by default 50" },
    { FIELD(seconds, QUANTITY), .unit = BERTH_SECONDS, .high = INFINITY, .fallback = "no limit",
      .text = "time limit; alone, it replaces the default of calls. Answers then depend on the "
              "machine" },
    { FIELD(restarts, WHOLE), .high = 1000, .fallback = "by the budget",
      .text = "independent walks that share the budget" },
    { FIELD(threads, WHOLE), .high = 4096, .fallback = "one per core",
      .text = "threads that share the work" },
    { FIELD(start, OTHER), .takes = "placement", .fallback = "the best of several constructed ones",
      .text = "placement to improve" },
    { FIELD(judge, OTHER), .takes = "table",
      .fallback = "links, memory, param_multiple and quantum of the call",
      .text = "options of the simulation that evaluates a placement" },
    { FIELD(objective, OTHER), .takes = "function", .fallback = "the makespan by judge",
      .text = "value of a placement, to be minimised" },
    { FIELD(steepest, FLAG),
      .text = "the best of all moves each time, not the first that improves" },
    { FIELD(population, WHOLE), .high = 100000, .fallback = "one per unit, 20 to 100",
      .text = "placements in a generation" },
    { FIELD(elite, NUMBER), .high = 1, .above = 1, .text = "share of a generation that stays" },
    { FIELD(mutants, NUMBER), .high = 1, .text = "share of a generation that is drawn anew" },
    { FIELD(bias, NUMBER), .low = 0.5, .high = 1,
      .text = "chance of a key to come from the elite parent" },
    { .key = NULL }
  };
  static const berth_option_table table = { "search", options, sizeof(berth_search_options),
                                            set_defaults };
  return &table;
}

static berth_status check(berth_ctx *ctx, const berth_search_options *o) {
  berth_status st;
  if ((st = berth_options_check(ctx, berth_search_option_table(), o)) != BERTH_OK) {
    berth_i_prefix_error(ctx, "search: ");
    return st;
  }
  if ((unsigned)o->method > BERTH_SEARCH_BRKGA)
    return berth_i_fail(ctx, BERTH_EINVAL, "search: there is no method %d", (int)o->method);
  if (o->calls == 0 && (o->seconds == 0 || isinf(o->seconds)))
    return berth_i_fail(ctx, BERTH_EINVAL, "search: a budget is needed: calls or seconds");
  if (!(o->t_start > 0) || isinf(o->t_start) || !(o->t_end > 0) || o->t_end > o->t_start)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "search: temperatures from %g to %g: expected finite ones above 0 that "
                        "fall", o->t_start, o->t_end);
  if (o->method == BERTH_SEARCH_BRKGA && o->population > 0 && o->population < 3)
    return berth_i_fail(ctx, BERTH_EINVAL, "search: option population: %d is not from 3 to 100000",
                        (int)o->population);
  if (o->method == BERTH_SEARCH_BRKGA && o->elite + o->mutants >= 1)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "search: options elite: %g and mutants: %g sum to 1 or more: no children",
                        o->elite, o->mutants);
  if (o->n_further < 0 || (o->n_further > 0 && !o->further))
    return berth_i_fail(ctx, BERTH_EINVAL, "search: option n_further: %d placements, but %s",
                        (int)o->n_further, o->further ? "expected 0 or more" : "none are given");
  if (o->seconds > 0 && !berth_i_ctx_has_clock(ctx))
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                        "search: option seconds: the context has no clock");
  return BERTH_OK;
}

berth_status berth_i_problem_init(berth_cost *cost, const berth_search_options *o,
                                  berth_i_problem *p) {
  memset(p, 0, sizeof *p);
  p->pool = berth_i_pool_empty(p->ctx = cost->ctx);
  p->cost = cost;
  p->o = o;
  p->n = cost->g->n_ops;
  p->n_devices = cost->n_devices;
  p->judge = o->judge ? *o->judge : berth_sim_default(cost->g);
  berth_status st;
  if ((st = check(p->ctx, o)) != BERTH_OK) return st;
  /* the same times, sooner */
  if (!memory_counts(p)) p->judge.memory = BERTH_MEMORY_NONE;
  p->any_order = p->judge.memory == BERTH_MEMORY_TOTAL;
  p->apart = may_be_apart(cost);
  st = berth_i_sim_plan_new(cost, &p->judge, false, &p->plan);
  if (st == BERTH_OK && !o->no_limit) st = berth_i_delta_plans(p->plan, &p->fast);
  if (st == BERTH_OK) st = price(p);
  if (st == BERTH_OK) st = make_blocks(p);
  if (st != BERTH_OK) berth_i_problem_release(p);
  return st;
}

void berth_i_problem_release(berth_i_problem *p) {
  berth_i_pool_free(&p->atoms.pool);
  berth_i_pool_free(&p->units.pool);
  berth_i_pool_free(&p->lines.pool);
  berth_i_pool_free(&p->pool);
  berth_i_sim_plan_release(p->fast);
  berth_i_sim_plan_release(p->plan);
}
