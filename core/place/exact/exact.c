/* berth_exact, the best placement with a proof: bounds, list placers, list schedules on identical
 * devices without transfers, then branch and bound (branch.c), each only while the best schedule is
 * above the bound. Invariant: b->bound <= the optimum <= b->makespan. Exponential; branch and bound
 * is limited by nodes or seconds, and up to BERTH_I_EXACT_OPS ops. */
#include "exact_internal.h"
#include "sim/rows_internal.h"
#include <stdio.h>

berth_exact_options berth_exact_default(const berth_graph *g) {
  berth_exact_options o = { berth_place_default(g), 0, 8000, 0 };
  return o;
}

static void set_defaults(void *out) { *(berth_exact_options *)out = berth_exact_default(NULL); }

const berth_option_table *berth_exact_option_table(void) {
  static const berth_option options[] = {
    BERTH_I_MEMORY_ROW(berth_exact_options, place.memory),
    BERTH_I_PARAM_MULTIPLE_ROW(berth_exact_options, place.param_multiple),
    { BERTH_I_OPTION_AT(berth_exact_options, place.seed, "seed", SEED),
      .text = "of list schedules" },
    { BERTH_I_OPTION(berth_exact_options, nodes, LONG),
      .fallback = "with seconds no limit; else by the size of the graph",
      .text = "partial schedules at most" },
    { BERTH_I_OPTION(berth_exact_options, schedules, WHOLE),
      .text = "identical devices without transfers: list schedules at most" },
    { BERTH_I_OPTION(berth_exact_options, seconds, QUANTITY), .unit = BERTH_SECONDS,
      .fallback = "no limit",
      .text = "time limit, but for bounds and list placers; answers then depend on the machine" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("exact", options, berth_exact_options, set_defaults);
}

static berth_status check_options(berth_cost *cost, const berth_exact_options *o) {
  berth_ctx *ctx = cost->ctx;
  berth_status st = berth_i_placer_check(cost, &berth_i_placer_exact, &o->place);
  if (st != BERTH_OK) return st;
  if (o->place.links != BERTH_LINKS_FREE)
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                        "exact: option links: what is exact is so on free links only");
  if (o->place.quantum > 0)
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                        "exact: option quantum: %g s; times are not rounded here",
                        o->place.quantum);
  if ((st = berth_options_check(ctx, berth_exact_option_table(), o)) != BERTH_OK) return st;
  if (o->seconds > 0 && !berth_i_ctx_has_clock(ctx))
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED, "exact: option seconds: the context has no clock");
  return BERTH_OK;
}

/* ---- the best so far ---- */

static berth_status best_init(berth_ctx *ctx, int32_t ops, berth_i_best *b) {
  size_t n = (size_t)ops;
  *b = (berth_i_best){ .pool = berth_i_pool_empty(ctx),
                       .n = ops,
                       .makespan = INFINITY,
                       .refused = INFINITY,
                       .open = INFINITY,
                       .deadline = INFINITY };
  b->device = berth_i_pool_alloc(&b->pool, n, sizeof *b->device);
  b->sequence = berth_i_pool_alloc(&b->pool, n, sizeof *b->sequence);
  b->start = berth_i_pool_alloc(&b->pool, n, sizeof *b->start);
  b->finish = berth_i_pool_alloc(&b->pool, n, sizeof *b->finish);
  return berth_i_pool_status(&b->pool);
}

static void take(berth_i_best *b, const berth_placement *p) {
  size_t n = (size_t)b->n;
  if (!(p->estimate < b->makespan)) return;
  b->makespan = p->estimate;
  if (n == 0) return;
  memcpy(b->device, p->device, n * sizeof *b->device);
  memcpy(b->sequence, p->sequence, n * sizeof *b->sequence);
  memcpy(b->start, p->start, n * sizeof *b->start);
  memcpy(b->finish, p->finish, n * sizeof *b->finish);
}

static berth_status answer(berth_ctx *ctx, const berth_i_best *b, berth_placement **out) {
  berth_placement *p;
  size_t n = (size_t)b->n;
  berth_status st = berth_i_placement_make(ctx, b->n, "exact", true, &p);
  if (st != BERTH_OK) return st;
  if (n > 0) {
    memcpy(p->device, b->device, n * sizeof *b->device);
    memcpy(p->sequence, b->sequence, n * sizeof *b->sequence);
    memcpy(p->start, b->start, n * sizeof *b->start);
    memcpy(p->finish, b->finish, n * sizeof *b->finish);
  }
  p->estimate = b->makespan;
  p->bound = fmin(b->bound, b->makespan);
  p->links = BERTH_LINKS_FREE;
  *out = p;
  return BERTH_OK;
}

/* ---- stages ---- */

static bool done(const berth_i_best *b) {
  return b->interrupted || b->late || berth_i_reaches(b->bound, b->makespan);
}

/* Until the bound is reached. A placer that finds nothing is an error only if none finds anything.
 * @return of the first that failed, if none found anything */
static berth_status list_placers(berth_cost *cost, const berth_place_options *o, bool equal,
                                 berth_i_best *b, berth_obstacle *why) {
  static const berth_i_placer *const placers[] = { &berth_i_placer_blevel, &berth_i_placer_heft,
                                                   &berth_i_placer_m_etf, &berth_i_placer_peft,
                                                   &berth_i_placer_minmin };
  /* list schedules of its own follow */
  size_t count = equal ? 1 : sizeof placers / sizeof *placers;
  berth_place_options plain = berth_place_default(cost->g);
  berth_status first = BERTH_OK;
  plain.memory = o->memory;
  plain.param_multiple = o->param_multiple;
  for (size_t k = 0; k < count && !done(b); k++) {
    berth_placement *p = NULL;
    berth_status st =
        berth_i_placer_run(cost, placers[k], &plain, &p, first == BERTH_OK ? why : NULL);
    if (st == BERTH_EINTERRUPT && !isinf(b->makespan)) b->interrupted = true;
    else if (st != BERTH_OK && st != BERTH_EINFEASIBLE && st != BERTH_EUNREACHABLE) return st;
    if (st == BERTH_OK) take(b, p);
    else if (first == BERTH_OK) first = st;
    berth_placement_release(p);
  }
  if (!isinf(b->makespan)) return BERTH_OK;
  return first;
}

static berth_status root_bound(berth_cost *cost, const berth_place_options *o, berth_i_best *b,
                               berth_obstacle *why) {
  berth_bounds_options bo = berth_bounds_default(cost->g);
  bo.memory = o->memory;
  bo.param_multiple = o->param_multiple;
  if (cost->g->n_ops <= 2000) bo.thorough = 1;
  berth_bounds found;
  berth_status st;
  if ((st = berth_bounds_compute(cost, &bo, &found, why)) == BERTH_OK) b->bound = found.best;
  return st;
}

/* @param whole out: all that counts is whole numbers */
static berth_status on_equal_devices(berth_cost *cost, const berth_exact_options *o,
                                     berth_i_best *b, bool *whole) {
  berth_i_equal e;
  berth_status st = berth_i_equal_init(cost, &e);
  *whole = e.whole;
  if (st == BERTH_OK) st = berth_i_equal_bound(&e, &b->bound);
  if (st == BERTH_OK && !done(b)) st = berth_i_equal_search(&e, o->place.seed, o->schedules, b);
  berth_i_pool_free(&e.pool);
  return st;
}

/* The search is complete below the least of the best makespan, of those refused for memory and of
 * the bounds of subtrees that were left open. */
static void close_bound(const berth_cost *cost, berth_i_best *b) {
  double reached = fmin(fmin(b->makespan, b->refused), b->open);
  if (cost->g->n_ops <= BERTH_I_EXACT_OPS) b->bound = fmax(b->bound, reached);
}

/* About a second up to 20 ops, else a fourth of it; list schedules have done most of the work where
 * devices are equal. */
static int64_t node_budget(const berth_cost *cost, const berth_exact_options *o, bool equal) {
  double each = (double)cost->g->n_edges + (double)cost->g->n_ops * cost->n_devices;
  if (o->nodes > 0) return o->nodes;
  if (o->seconds > 0) return INT64_MAX;
  return cost->g->n_ops <= 20 ? 1000000 : (int64_t)((equal ? 2e6 : 2e7) / each) + 1;
}

static berth_status search(berth_cost *cost, const berth_exact_options *o, berth_i_best *b,
                           berth_obstacle *why) {
  bool whole = false, equal = berth_i_equal_is(cost, &o->place);
  berth_status st;
  if ((st = list_placers(cost, &o->place, equal, b, why)) != BERTH_OK) return st;
  if (equal) st = on_equal_devices(cost, o, b, &whole);
  else if (!b->interrupted) st = root_bound(cost, &o->place, b, why);
  if (st == BERTH_EINTERRUPT) b->interrupted = true;
  else if (st != BERTH_OK) return st;
  if (done(b)) return BERTH_OK;
  if ((st = berth_i_branch(cost, &o->place, node_budget(cost, o, equal), whole, b)) == BERTH_OK)
    close_bound(cost, b);
  return st;
}

static void summarise(const berth_i_best *b, berth_exact_summary *s) {
  s->makespan = b->makespan;
  s->bound = fmin(b->bound, b->makespan);
  s->proved = b->bound >= b->makespan * (1 - 1e-9);
  s->interrupted = b->interrupted;
  s->timed_out = b->late;
  s->nodes = b->nodes;
  s->schedules = b->schedules;
}

berth_status berth_exact(berth_cost *cost, const berth_exact_options *opts, berth_placement **out,
                         berth_exact_summary *summary, berth_obstacle *why) {
  if (!cost || !out) return BERTH_EINVAL;
  berth_exact_options o = opts ? *opts : berth_exact_default(cost->g);
  berth_i_best b = { 0 };
  berth_status st = check_options(cost, &o);
  if (st != BERTH_OK) return st;
  if ((st = best_init(cost->ctx, cost->g->n_ops, &b)) != BERTH_OK) goto done;
  if (o.seconds > 0) b.deadline = berth_i_ctx_clock(cost->ctx) + o.seconds;
  if ((st = search(cost, &o, &b, why)) != BERTH_OK) goto done;
  if ((st = answer(cost->ctx, &b, out)) != BERTH_OK) goto done;
  if (summary) summarise(&b, summary);
done:
  berth_i_pool_free(&b.pool);
  return st;
}

/* ---- the placer ---- */

/* Exact on free links; under others, or with a quantum, its devices are judged first in, first
 * out. */
static berth_status run_exact(berth_cost *cost, const berth_place_options *opts,
                              berth_placement **out, berth_obstacle *why) {
  berth_exact_options o = berth_exact_default(cost->g);
  berth_placement *p = NULL;
  berth_oom oom = { BERTH_NONE, BERTH_NONE, 0, 0 };
  o.place.memory = opts->memory;
  o.place.param_multiple = opts->param_multiple;
  o.place.seed = opts->seed;
  if (opts->search) o.seconds = opts->search->seconds;
  berth_status st;
  if ((st = berth_exact(cost, &o, &p, NULL, why)) != BERTH_OK) return st;
  if (opts->links != BERTH_LINKS_FREE || opts->quantum > 0)
    st = berth_i_plan_fifo(cost, opts, p, &oom, NULL);
  if (st == BERTH_OK && oom.op != BERTH_NONE) st = berth_i_runs_out(cost, "exact", &oom, why);
  if (st == BERTH_OK) *out = p;
  else berth_placement_release(p);
  return st;
}

static berth_status check(berth_cost *cost, const berth_place_options *o) {
  int32_t op = berth_i_first_communication(cost->g);
  (void)o;
  if (cost->g->n_collectives > 0) {
    return berth_i_fail(cost->ctx, BERTH_EUNSUPPORTED,
                        "exact: the graph has %d collectives; search (anneal, local) takes them",
                        (int)cost->g->n_collectives);
  }
  if (op == BERTH_NONE) return BERTH_OK;
  char label[64];
  return berth_i_fail(cost->ctx, BERTH_EUNSUPPORTED,
                      "exact: %s is a communication op; search (anneal, local) takes them",
                      berth_i_op_label(cost->g, op, label, sizeof label));
}

const berth_i_placer berth_i_placer_exact = {
  .about = { .name = "exact", .reads = "seconds", .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "On free links: the list placers, list schedules pushed to and fro where devices "
              "are alike and nothing takes time to cross, then branch and bound; berth.exact "
              "reports what is proved.",
      .source = "Fernandez, Bussell 1973; Valls, Ballestin, Quintanilla 2005; branch and bound by "
                "our own rules",
      .good = "Up to some 20 ops with transfers, and schedules of hundreds of ops on identical "
              "processors.",
      .weak = "With more ops it stops at a count of partial schedules; other links only judge "
              "its devices." }) },
  .run = run_exact,
  .check = check,
};
