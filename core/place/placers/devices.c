/* Placers that only choose devices: from a rule to a placement whose plan keeps memory. Under
 * INFERENCE and TRAINING memory depends on the order of execution, so the rule proposes and the
 * simulator decides. Steps: the rule's proposal; further ones with a larger share of the outputs
 * counted as permanent, by bisection; the closest one repaired. Invariant: `best` is the proposal
 * with the least shortfall. At most MOST_SHARES + 2 simulations besides the repair. */
#include "place/place_internal.h"

enum { MOST_SHARES = 8 };

typedef struct attempt {
  const char *placer;
  const berth_place_options *opts;
  berth_i_fill_fn fill;
  berth_i_units u;
  berth_placement *p;
  int32_t *best;   /* [ops] devices of the proposal that came closest */
  berth_oom oom;   /* ... and what it lacked; op BERTH_NONE: no proposal yet */
  bool done;       /* p keeps memory */
} attempt;

/* Plans what p->device holds. */
static berth_status judge(attempt *a, double *live) {
  berth_oom oom;
  berth_status st = berth_i_plan_fifo(a->u.cost, a->opts, a->p, &oom, live);
  if (st != BERTH_OK) return st;
  a->done = oom.op == BERTH_NONE;
  if (a->done || (a->oom.op != BERTH_NONE && a->oom.shortfall <= oom.shortfall)) return BERTH_OK;
  a->oom = oom;
  memcpy(a->best, a->p->device, (size_t)a->p->n * sizeof *a->best);
  return BERTH_OK;
}

/* Runs the rule again with larger shares of the outputs as permanent: bisection between a share
 * with which memory runs out and one with which the rule finds nothing.
 * @param live share that was there when memory ran out */
static berth_status tighten(attempt *a, double live) {
  double low = 0, high = INFINITY;
  for (int32_t i = 0; i < MOST_SHARES && !a->done && low < 1; i++) {
    double share = isinf(high) ? fmin(1, fmax(live, 2 * low)) : (low + high) / 2;
    berth_i_units_size(&a->u, share);
    berth_obstacle ignored;
    berth_status st = a->fill(&a->u, a->opts, a->p->device, &ignored);
    if (st == BERTH_EINFEASIBLE || st == BERTH_EUNREACHABLE) {
      high = share;
      continue;
    }
    if (st != BERTH_OK || (st = judge(a, &live)) != BERTH_OK) return st;
    low = share;
  }
  return BERTH_OK;
}

static berth_status run(attempt *a, berth_obstacle *why) {
  bool order_matters =
      a->opts->memory == BERTH_MEMORY_INFERENCE || a->opts->memory == BERTH_MEMORY_TRAINING;
  double live = 1;
  bool found = false;
  berth_status st;
  /* 1. The proposal of the rule. */
  if ((st = a->fill(&a->u, a->opts, a->p->device, why)) != BERTH_OK) return st;
  if ((st = judge(a, &live)) != BERTH_OK || a->done) return st;
  /* 2. Others, with larger units. */
  if (order_matters && (st = tighten(a, live)) != BERTH_OK) return st;
  /* 3. The one that came closest, repaired. */
  if (order_matters && !a->done) {
    berth_i_units_size(&a->u, 0);
    if ((st = berth_i_repair(&a->u, a->opts, a->best, &found)) != BERTH_OK) return st;
    memcpy(a->p->device, a->best, (size_t)a->p->n * sizeof *a->best);
    if (found && (st = judge(a, NULL)) != BERTH_OK) return st;
  }
  return a->done ? BERTH_OK : berth_i_runs_out(a->u.cost, a->placer, &a->oom, why);
}

berth_status berth_i_place_devices(berth_cost *cost, const char *placer, berth_memory_policy sizing,
                                   const berth_place_options *opts, berth_i_fill_fn fill,
                                   berth_placement **out, berth_obstacle *why) {
  attempt a = { 0 };
  size_t n = (size_t)cost->g->n_ops;
  berth_status st = berth_i_units_init(cost, placer, sizing, opts->param_multiple, &a.u, why);
  if (st != BERTH_OK) return st;
  a.placer = placer;
  a.opts = opts;
  a.fill = fill;
  a.oom.op = BERTH_NONE;
  if (!(a.best = berth_i_alloc(cost->ctx, n, sizeof *a.best))) st = berth_i_nomem(cost->ctx);
  if (st == BERTH_OK) st = berth_i_placement_make(cost->ctx, cost->g->n_ops, placer, true, &a.p);
  if (st == BERTH_OK) st = run(&a, why);
  if (st == BERTH_OK) {
    *out = a.p;
    a.p = NULL;
  }
  berth_placement_release(a.p);
  berth_i_free(cost->ctx, a.best, n, sizeof *a.best);
  berth_i_units_release(&a.u);
  return st;
}
