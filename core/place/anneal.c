/* The placers "anneal" and "local": search.h from a start of its own or a given one, and the plan of the answer. */
#include "packing_internal.h"

static const char *const plain[] = { "", NULL };

/* Where the starts made of units do not keep memory, placers that pack do. */
static berth_status other_start(berth_cost *cost, const berth_place_options *opts, const berth_search_options *o,
                                berth_placement **out, berth_obstacle *why) {
  berth_place_options plan = berth_place_default(cost->g);
  plan.links = opts->links;
  plan.memory = opts->memory;
  plan.param_multiple = opts->param_multiple;
  plan.quantum = opts->quantum;
  if (o->start) return berth_place_repair(cost, o->start, &plan, out, why);
  return berth_place(cost, "round-robin", &plan, out, why);
}

static berth_status search_again(berth_cost *cost, const berth_place_options *opts, const berth_search_options *o,
                                 int32_t *device, berth_search_report *report, berth_obstacle *why) {
  berth_search_options again = *o;
  berth_placement *start = NULL;
  berth_status st = other_start(cost, opts, o, &start, why);
  if (st != BERTH_OK) return st;
  again.start = start->device;
  st = berth_search(cost, &again, device, report);
  berth_placement_release(start);
  return st;
}

/* The estimate is the value of the objective that was sought. */
static berth_status finish(berth_cost *cost, const berth_place_options *opts, const char *name, const int32_t *device,
                           double value, berth_placement **out) {
  berth_placement *p = NULL;
  berth_hooks none = { 0 }, before;
  berth_oom oom;
  berth_status st = berth_i_placement_make(cost->ctx, cost->g->n_ops, name, true, &p);
  if (st != BERTH_OK) return st;
  if (p->n > 0) memcpy(p->device, device, (size_t)p->n * sizeof *device);
  before = berth_i_ctx_swap_hooks(cost->ctx, &none); /* what has interrupted the search leaves its answer */
  st = berth_i_plan_fifo(cost, opts, p, &oom, NULL);
  berth_i_ctx_swap_hooks(cost->ctx, &before);
  p->estimate = value;
  if (st == BERTH_OK) *out = p;
  else berth_placement_release(p);
  return st;
}

static berth_status run(berth_cost *cost, const berth_place_options *opts, const char *name, berth_search_method method,
                        berth_placement **out, berth_obstacle *why) {
  berth_search_options o = opts->search ? *opts->search : berth_search_default();
  berth_search_report report = { 0 };
  berth_sim_options judge = berth_i_fifo_options(cost, opts);
  size_t n = (size_t)cost->g->n_ops;
  int32_t *device = berth_i_alloc(cost->ctx, n, sizeof *device);
  berth_status st;
  if (!device) return berth_i_nomem(cost->ctx);
  o.method = method;
  o.seed = opts->seed;
  if (!o.judge) o.judge = &judge;
  st = berth_search(cost, &o, device, &report);
  if (st == BERTH_EINFEASIBLE) st = search_again(cost, opts, &o, device, &report, why);
  if (st == BERTH_OK) st = finish(cost, opts, name, device, report.value, out);
  if (st == BERTH_OK && opts->search_report) *opts->search_report = report;
  berth_i_free(cost->ctx, device, n, sizeof *device);
  return st;
}

static berth_status run_anneal(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why) {
  return run(cost, opts, "anneal", BERTH_SEARCH_ANNEAL, out, why);
}

static berth_status run_local(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why) {
  return run(cost, opts, "local", BERTH_SEARCH_LOCAL, out, why);
}

const berth_i_placer berth_i_placer_anneal = { "anneal", plain, run_anneal };
const berth_i_placer berth_i_placer_local = { "local", plain, run_local };
