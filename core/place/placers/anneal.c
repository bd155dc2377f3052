/* The placers "anneal", "local" and "brkga": a search (search.h) from its own starts and from
 * answers of quick placers, or from a given start; then the plan of the answer. Invariant: the
 * estimate is the value of the objective, which the plan's makespan need not be. */
#include "place/place_internal.h"

/* Where the starts made of units do not keep memory: from the repaired start, or from round-robin,
 * which packs. */
static berth_status search_again(berth_cost *cost, const berth_place_options *opts,
                                 const berth_search_options *o, int32_t *device,
                                 berth_search_report *report, berth_obstacle *why) {
  berth_place_options plan = berth_i_plain_options(cost->g, opts);
  berth_search_options again = *o;
  berth_placement *start = NULL;
  berth_status st = o->start ? berth_place_repair(cost, o->start, &plan, &start, why)
                             : berth_i_placer_run(cost, &berth_i_placer_round_robin, &plan, &start,
                                                  why);
  if (st != BERTH_OK) return st;
  again.start = start->device;
  st = berth_search(cost, &again, device, report);
  berth_placement_release(start);
  return st;
}

/* ---- further starts: answers of quick placers ---- */

/* The trivial ones first: few calls are spent on these, so that the answer is never worse. */
static const struct quick {
  const berth_i_placer *placer;
  berth_coarsen coarsen;
} quick[] = { { &berth_i_placer_single, BERTH_COARSEN_NONE },
              { &berth_i_placer_round_robin, BERTH_COARSEN_NONE },
              { &berth_i_placer_m_etf, BERTH_COARSEN_NONE },
              { &berth_i_placer_critical_path, BERTH_COARSEN_NONE },
              { &berth_i_placer_heft, BERTH_COARSEN_NONE },
              { &berth_i_placer_etf, BERTH_COARSEN_COPLACE },
              { &berth_i_placer_critical_path, BERTH_COARSEN_COPLACE } };
enum {
  QUICK = sizeof quick / sizeof *quick,
  OWN = 2,
  AGENT_CALLS = 50,
  AGENTS = 4,  /* they lead to different plateaus of the makespan, which annealing seldom leaves */
  SOON = 20000 /* ops: up to here the starts are too quick to poll the interrupt */
};

/* Agents that a search of so many calls starts from: they take a tenth of the calls at most. */
static int32_t count_agents(int64_t calls) {
  if (calls == 0) return 1; /* no limit */
  if (calls < 20 * AGENT_CALLS) return 0;
  const int64_t tenth = calls / (10 * AGENT_CALLS);
  return tenth < AGENTS ? (int32_t)tenth : AGENTS;
}

/* Adds the answer of a placer to the starts, if it has one.  @param device [starts * ops] */
static berth_status add_start(berth_cost *cost, const berth_i_placer *placer,
                              const berth_place_options *plan, int32_t *device, int32_t *n) {
  const size_t ops = (size_t)cost->g->n_ops;
  berth_placement *p = NULL;
  berth_status st = berth_i_placer_run(cost, placer, plan, &p, NULL);
  if (st == BERTH_ENOMEM || st == BERTH_EINTERRUPT) return st;
  if (st != BERTH_OK) return BERTH_OK;
  if (ops > 0) memcpy(device + (size_t)*n * ops, p->device, ops * sizeof *device);
  berth_placement_release(p);
  ++*n;
  return BERTH_OK;
}

/* Ends early, with the starts there are, after an interrupt. */
static berth_status add_starts(berth_cost *cost, const berth_search_options *o, int32_t placers,
                               int32_t agents, int32_t *device, int32_t *n) {
  const berth_search_options of_agent = { .calls = AGENT_CALLS };
  berth_place_options plan = berth_place_default(cost->g);
  plan.links = o->judge->links;
  plan.memory = o->judge->memory;
  plan.param_multiple = o->judge->param_multiple;
  plan.quantum = o->judge->quantum;
  plan.seed = o->seed;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < placers && st == BERTH_OK; i++) {
    plan.coarsen = quick[i].coarsen;
    st = add_start(cost, quick[i].placer, &plan, device, n);
  }
  plan.coarsen = BERTH_COARSEN_NONE;
  plan.search = &of_agent;
  berth_rng seeds;
  berth_rng_init(&seeds, o->seed, 0);
  for (int32_t i = 0; i < agents && st == BERTH_OK; i++) {
    st = add_start(cost, &berth_i_placer_agent, &plan, device, n);
    plan.seed = berth_rng_u64(&seeds);
  }
  return st == BERTH_EINTERRUPT ? BERTH_OK : st;
}

static berth_status search_from_quick(berth_cost *cost, const berth_search_options *o,
                                      int32_t *device, berth_search_report *report) {
  const bool all_placers = o->calls == 0 || o->calls >= QUICK + OWN;
  int32_t placers = all_placers ? QUICK : o->calls > OWN ? (int32_t)(o->calls - OWN) : 0;
  const int32_t agents = count_agents(o->calls), most = placers + agents;
  const size_t all = (size_t)most * (size_t)cost->g->n_ops;
  berth_search_options with = *o;
  int32_t *further = berth_i_alloc(cost->ctx, all, sizeof *further);
  if (!further) return berth_i_nomem(cost->ctx);
  /* no progress: that is reported by the search alone */
  berth_hooks none = { 0 }, before = berth_i_ctx_swap_hooks(cost->ctx, &none);
  berth_hooks interrupt = { .interrupt = before.interrupt, .ud = before.ud };
  if (cost->g->n_ops > SOON) berth_i_ctx_swap_hooks(cost->ctx, &interrupt);
  with.n_further = 0;
  berth_status st = add_starts(cost, o, placers, agents, further, &with.n_further);
  berth_i_ctx_swap_hooks(cost->ctx, &before);
  with.further = further;
  if (o->calls > 0) with.calls -= agents * AGENT_CALLS;
  if (st == BERTH_OK) st = berth_search(cost, &with, device, report);
  report->calls += o->calls - with.calls;
  berth_i_free(cost->ctx, further, all, sizeof *further);
  return st;
}

/* ---- the whole ---- */

/* The estimate is the value of the objective that was sought. */
static berth_status finish(berth_cost *cost, const berth_place_options *opts, const char *name,
                           const int32_t *device, double value, berth_placement **out) {
  berth_placement *p = NULL;
  berth_hooks none = { 0 };
  berth_status st = berth_i_placement_make(cost->ctx, cost->g->n_ops, name, true, &p);
  if (st != BERTH_OK) return st;
  if (p->n > 0) memcpy(p->device, device, (size_t)p->n * sizeof *device);
  /* without hooks: an interrupted search still returns its answer */
  berth_hooks before = berth_i_ctx_swap_hooks(cost->ctx, &none);
  berth_oom oom;
  st = berth_i_plan_fifo(cost, opts, p, &oom, NULL);
  berth_i_ctx_swap_hooks(cost->ctx, &before);
  p->estimate = value;
  if (st == BERTH_OK) *out = p;
  else berth_placement_release(p);
  return st;
}

static berth_status run(berth_cost *cost, const berth_place_options *opts, const char *name,
                        berth_search_method method, berth_placement **out, berth_obstacle *why) {
  berth_search_options o = opts->search ? *opts->search : berth_search_default();
  berth_search_report report = { 0 };
  berth_sim_options judge = berth_i_fifo_options(cost, opts);
  size_t n = (size_t)cost->g->n_ops;
  int32_t *device = berth_i_alloc(cost->ctx, n, sizeof *device);
  if (!device) return berth_i_nomem(cost->ctx);
  o.method = method;
  o.seed = opts->seed;
  if (!o.judge) o.judge = &judge;
  berth_status st;
  if (o.start || o.further) st = berth_search(cost, &o, device, &report);
  else st = search_from_quick(cost, &o, device, &report);
  if (st == BERTH_EINFEASIBLE) st = search_again(cost, opts, &o, device, &report, why);
  if (st == BERTH_OK) st = finish(cost, opts, name, device, report.value, out);
  if (st == BERTH_OK && opts->search_report) *opts->search_report = report;
  berth_i_free(cost->ctx, device, n, sizeof *device);
  return st;
}

static berth_status run_anneal(berth_cost *cost, const berth_place_options *opts,
                               berth_placement **out, berth_obstacle *why) {
  return run(cost, opts, "anneal", BERTH_SEARCH_ANNEAL, out, why);
}

static berth_status run_local(berth_cost *cost, const berth_place_options *opts,
                              berth_placement **out, berth_obstacle *why) {
  return run(cost, opts, "local", BERTH_SEARCH_LOCAL, out, why);
}

static berth_status run_brkga(berth_cost *cost, const berth_place_options *opts,
                              berth_placement **out, berth_obstacle *why) {
  return run(cost, opts, "brkga", BERTH_SEARCH_BRKGA, out, why);
}

const berth_i_placer berth_i_placer_anneal = {
  .about = { .name = "anneal", .reads = "calls seconds threads judge start objective restarts",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Contracts ops into units along heavy tensors and light lines; from the best of two "
              "placements of units and what quick placers (with 1,000 calls also up to four runs "
              "of the agent) answer, or `start`, moves units (at first larger ones) and ops at "
              "random and along the critical chain, worse placements ever more rarely accepted; "
              "`calls` simulations or `seconds`.",
      .source = "Kirkpatrick, Gelatt, Vecchi 1983; moves and contraction by our own rules",
      .good = "When an answer may cost thousands of simulations; behind others, from what they "
              "found.",
      .weak = "No bound on how far it stays from the best; on huge graphs a call is dear." }) },
  .run = run_anneal,
};
const berth_i_placer berth_i_placer_local = {
  .about = { .name = "local", .reads = "calls seconds threads judge start objective steepest",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Descents from the same starts: units to other devices, then ops, as long as "
              "something improves (`steepest`: the best move each time); then again from random "
              "placements.",
      .good = "Tiny graphs, and as a yardstick of anneal.",
      .weak = "Stays in the first valley of each start." }) },
  .run = run_local,
};
const berth_i_placer berth_i_placer_brkga = {
  .about = { .name = "brkga",
             .reads = "calls seconds threads judge start objective population elite mutants bias",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "From the same starts and random ones, generations of placements of the units: "
              "`elite` of them stay, `mutants` are drawn anew, the rest take each unit's device "
              "from an elite parent with probability `bias`, else from another.",
      .source = "Goncalves, Resende 2011 (biased random-key genetic algorithms)",
      .good = "As a yardstick of anneal; wide graphs of few units on many cores.",
      .weak = "Slower than anneal at the same calls: what a unit's neighbours do is lost in "
              "crossing; single ops do not move." }) },
  .run = run_brkga,
};
