/* List placers that get stuck at memory limits: the devices that they had chosen, or would choose
 * without limits, are changed as little as makes them fit, and the placer's rule then orders the
 * ops on these. */
#include "list/engine_internal.h"
#include "pack_internal.h"
#include <stdio.h>

enum { LEAST_ROUNDS = 3, MOST_ROUNDS = 6, FEW_OPS_AND_EDGES = 40000 };
static const double NEAR_IDEAL = 1.25;

typedef struct retry {
  berth_i_pool pool;
  berth_cost *cost;
  const berth_i_setup *setup;
  const berth_place_options *opts;
  berth_i_units u;
  int32_t *partial, *ample;  /* [ops] as far as the placer came; without limits */
  int32_t *device, *forced, *start, *at; /* [ops], [ops], [ops], [units] scratch */
  double *limit;             /* [devices] that is packed for: less than there is where a plan needed
                                more than packings count */
  double *held;              /* [devices] bytes of the latest packing */
  double ideal;              /* s, the estimate without limits; INFINITY: there is no such plan */
  berth_placement *best;
} retry;

static bool is_stuck(berth_status st) {
  return st == BERTH_EINFEASIBLE || st == BERTH_EUNREACHABLE;
}

static void keep_better(retry *r, berth_placement *p) {
  if (r->best && r->best->estimate <= p->estimate) {
    berth_placement_release(p);
    return;
  }
  berth_placement_release(r->best);
  r->best = p;
}

/* ---- planning on given devices ---- */

static bool is_weightless(const berth_i_units *u, int32_t unit) {
  const berth_graph *g = u->cost->g;
  if (u->permanent[unit] > 0 || u->temporary[unit] > 0) return false;
  for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
    if (berth_i_input_bytes(g, u->ops[i]) > 0 || berth_i_output_bytes(g, u->ops[i]) > 0)
      return false;
  }
  return true;
}

/* @param freely what takes no memory goes where the rule puts it */
static berth_status run_on(retry *r, bool freely, berth_obstacle *why) {
  berth_i_setup again = *r->setup;
  berth_placement *p = NULL;
  for (int32_t i = 0; i < r->u.n_ops; i++) {
    r->forced[i] = freely && is_weightless(&r->u, r->u.of[i]) ? BERTH_NONE : r->device[i];
  }
  again.forced = r->forced;
  again.partial = NULL;
  berth_status st = berth_i_engine_run(r->cost, &again, &p, why);
  if (st == BERTH_OK) keep_better(r, p);
  return st;
}

static berth_status plan_on(retry *r, berth_obstacle *why) {
  berth_status st = run_on(r, true, why);
  return st == BERTH_EUNREACHABLE ? run_on(r, false, why) : st;
}

/* ---- first in, first out ---- */

/* The order of a run by readiness, if memory holds when exactly that is run. */
static berth_status plan_in_turn(retry *r) {
  berth_placement *p = NULL;
  berth_sim *sim = NULL;
  berth_sim_options o = berth_i_fifo_options(r->cost, r->opts);
  bool holds = false;
  berth_status st = berth_i_placement_make(r->cost->ctx, r->u.n_ops, r->setup->placer, true, &p);
  if (st != BERTH_OK) return st;
  if (p->n > 0) memcpy(p->device, r->device, (size_t)p->n * sizeof *p->device);
  berth_oom oom;
  if ((st = berth_i_plan_fifo(r->cost, r->opts, p, &oom, NULL)) != BERTH_OK) goto done;
  o.links = BERTH_LINKS_FREE;
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.sequence = p->sequence;
  if ((st = berth_sim_new(r->cost, &o, &sim)) != BERTH_OK) goto done;
  berth_sim_summary sum;
  st = berth_sim_run(sim, p->device, &sum);
  holds = st == BERTH_OK && sum.oom_op == BERTH_NONE;
  berth_sim_release(sim);
done:
  if (holds) keep_better(r, p);
  else berth_placement_release(p);
  return st;
}

/* The plan without limits. */
static berth_status plan_without_limits(retry *r) {
  berth_i_setup own = *r->setup;
  berth_placement *p = NULL;
  own.rule = BERTH_I_RULE_NONE;
  own.partial = NULL;
  r->ideal = INFINITY;
  berth_obstacle ignored;
  berth_status st = berth_i_engine_run(r->cost, &own, &p, &ignored);
  if (st == BERTH_OK) {
    if (p->n > 0) memcpy(r->ample, p->device, (size_t)p->n * sizeof *p->device);
    r->ideal = p->estimate;
  }
  berth_placement_release(p);
  return is_stuck(st) ? BERTH_OK : st;
}

/* ---- near what there was ---- */

static berth_status pack_near(retry *r, const int32_t *start, bool *found) {
  berth_i_packing k;
  berth_status st = berth_i_packing_init(&r->u, r->setup->memory, r->device, &k);
  if (st != BERTH_OK) return st;
  memcpy(k.limit, r->limit, (size_t)r->cost->n_devices * sizeof *r->limit);
  st = berth_i_pack_near(&k, start, r->at, found);
  for (int32_t d = 0; d < r->cost->n_devices; d++) r->held[d] = k.used[d] + k.temporary[d];
  berth_i_pool_free(&k.pool);
  return st;
}

static void reset_limits(retry *r) {
  for (int32_t d = 0; d < r->cost->n_devices; d++) r->limit[d] = r->cost->t->devices[d].memory;
}

static int32_t rounds_for(const retry *r) {
  double size = 1.0 + r->u.n_ops + r->cost->g->n_edges;
  if (r->u.share == 1) return 1;
  return (int32_t)fmax(LEAST_ROUNDS, fmin(MOST_ROUNDS, 2e5 / size));
}

/* Where the plan ran out, below what was packed there by what was missing; and everywhere a part of
 * what is free is kept, more from round to round. */
static void lower_limits(retry *r, const berth_obstacle *where, double part) {
  const berth_device *device = r->cost->t->devices;
  double room = 0, free = 0;
  int32_t d;
  for (d = 0; d < r->cost->n_devices; d++) {
    if (isinf(device[d].memory)) continue;
    room += device[d].memory;
    free += device[d].memory - r->held[d];
  }
  for (d = 0; d < r->cost->n_devices; d++) {
    double keep = room > 0 ? part * free * (device[d].memory / room) : 0;
    if (!isinf(device[d].memory)) r->limit[d] = device[d].memory - keep;
  }
  d = where->device;
  r->limit[d] = fmin(r->limit[d], r->held[d] - where->missing);
}

/* What packs tightest is not always worst: with few ops all are compared; with many, what comes
 * near the ideal will do. */
static bool is_large(const retry *r) {
  return (int64_t)r->u.n_ops + r->cost->g->n_edges > FEW_OPS_AND_EDGES;
}
static bool is_enough(const retry *r) {
  return r->best && is_large(r) && r->best->estimate <= NEAR_IDEAL * r->ideal;
}

/* Other devices are sought until the rule's own plan holds there; where plans take long, until any
 * does. */
static berth_status try_devices(retry *r, bool first, berth_obstacle *where, bool *done) {
  berth_status st = plan_on(r, where), own = st;
  if (st == BERTH_OK || is_stuck(st)) st = BERTH_OK;
  if (st == BERTH_OK && first && r->u.share < 1 && !is_enough(r)) st = plan_in_turn(r);
  *done = own == BERTH_OK || (is_large(r) && r->best);
  return st;
}

/* Under INFERENCE and TRAINING outputs may pile up on a device more than its packing counts: then
 * it is packed for less. */
static berth_status try_near(retry *r, const int32_t *start, bool *done) {
  int32_t rounds = rounds_for(r);
  berth_status st = BERTH_OK;
  *done = false;
  reset_limits(r);
  for (int32_t round = 0; round < rounds && st == BERTH_OK && !*done; round++) {
    berth_obstacle where = { BERTH_NONE, BERTH_NONE, 0 };
    bool found = false;
    if ((st = pack_near(r, start, &found)) != BERTH_OK || !found) return st;
    if ((st = try_devices(r, round == 0, &where, done)) != BERTH_OK || *done) return st;
    if (where.device == BERTH_NONE || !(where.missing > 0)) return st;
    lower_limits(r, &where, (1.0 + round) / fmax(1, rounds - 1));
    memcpy(r->start, r->device, (size_t)r->u.n_ops * sizeof *r->device);
    start = r->start;
  }
  return st;
}

/* ---- packing alone ---- */

static berth_status try_packed(retry *r, berth_obstacle *why) {
  berth_i_packing k;
  berth_status st = berth_i_packing_init(&r->u, r->setup->memory, r->device, &k);
  if (st != BERTH_OK) return st;
  st = berth_i_packing_find_feasible(&k, r->setup->placer, r->opts, why);
  berth_i_pool_free(&k.pool);
  return st == BERTH_OK ? plan_on(r, why) : st;
}

/* ---- first in, first out, repaired ---- */

/* The rule's own order may let outputs pile up where another does not: devices that are found by
 * runs in order of readiness keep memory in that order, which then is the plan. */
static berth_status try_in_turn(retry *r) {
  berth_place_options free = *r->opts;
  bool found = false;
  free.links = BERTH_LINKS_FREE;
  berth_i_units_size(&r->u, 0);
  reset_limits(r);
  berth_status st;
  if ((st = pack_near(r, r->partial, &found)) != BERTH_OK || !found) return st;
  if ((st = berth_i_repair(&r->u, &free, r->device, &found)) != BERTH_OK || !found) return st;
  return plan_in_turn(r);
}

/* ---- all together ---- */

static berth_status try_share(retry *r, berth_obstacle *why) {
  bool done = false;
  berth_status st = try_near(r, r->partial, &done);
  if (st == BERTH_OK && !isinf(r->ideal) && !is_enough(r)) st = try_near(r, r->ample, &done);
  if (st == BERTH_OK && !is_enough(r)) st = try_packed(r, why);
  return is_stuck(st) && r->best ? BERTH_OK : st;
}

/* First as loosely as may be, then so that any order holds. What stops the former is the better
 * reason. */
static berth_status try_shares(retry *r, berth_obstacle *why) {
  berth_status st = plan_without_limits(r);
  if (st == BERTH_OK) st = try_share(r, why);
  if (!is_stuck(st) || r->u.share == 1) return st;
  char reason[1400];
  snprintf(reason, sizeof reason, "%s", berth_errmsg(r->cost->ctx));
  berth_i_units_size(&r->u, 1);
  berth_obstacle ignored;
  berth_status strict = try_share(r, &ignored);
  if (is_stuck(strict)) strict = try_in_turn(r);
  if (strict == BERTH_OK && !r->best) strict = BERTH_EINFEASIBLE;
  return is_stuck(strict) ? berth_i_fail(r->cost->ctx, st, "%s", reason) : strict;
}

/* ---- entry ---- */

static berth_status alloc_retry(retry *r) {
  size_t n = (size_t)r->cost->g->n_ops;
  r->ample = berth_i_pool_alloc(&r->pool, n, sizeof *r->ample);
  r->device = berth_i_pool_alloc(&r->pool, n, sizeof *r->device);
  r->forced = berth_i_pool_alloc(&r->pool, n, sizeof *r->forced);
  r->start = berth_i_pool_alloc(&r->pool, n, sizeof *r->start);
  r->at = berth_i_pool_alloc(&r->pool, n, sizeof *r->at);
  r->limit = berth_i_pool_alloc(&r->pool, 2 * (size_t)r->cost->n_devices, sizeof *r->limit);
  r->held = r->limit ? r->limit + r->cost->n_devices : NULL;
  return berth_i_pool_status(&r->pool);
}

/* Parameters alone come close to all memory: then a proof may save a long run that fails. */
static bool is_tight(const berth_cost *cost, const berth_i_setup *setup) {
  double bytes = 0, room = 0;
  for (int32_t i = 0; i < cost->g->n_ops; i++)
    bytes += berth_i_param(cost->g, i) * setup->param_multiple;
  for (int32_t i = 0; i < cost->n_devices; i++) room += cost->t->devices[i].memory;
  return bytes > 0.9 * room;
}

/* A proof is sooner found than a placement is not. */
static berth_status place_again(berth_cost *cost, const berth_i_setup *setup,
                                const berth_place_options *opts, int32_t *partial,
                                berth_placement **out, berth_obstacle *why) {
  retry r = { .pool = berth_i_pool_empty(cost->ctx),
              .cost = cost,
              .setup = setup,
              .opts = opts,
              .partial = partial };
  berth_status st = BERTH_OK;
  if (!is_tight(cost, setup))
    st = berth_i_prove_infeasible(cost, setup->placer, setup->memory, setup->param_multiple, why);
  if (st != BERTH_OK) return st;
  if ((st = alloc_retry(&r)) == BERTH_OK
      && (st = berth_i_units_init(cost, setup->placer, setup->memory, setup->param_multiple, &r.u,
                                  why))
             == BERTH_OK) {
    st = try_shares(&r, why);
    berth_i_units_release(&r.u);
  }
  if (st == BERTH_OK) *out = r.best;
  else berth_placement_release(r.best);
  berth_i_pool_free(&r.pool);
  return st;
}

berth_status berth_i_list_place(berth_cost *cost, const berth_i_setup *setup,
                                const berth_place_options *opts, berth_placement **out,
                                berth_obstacle *why) {
  bool published = setup->rule == BERTH_I_RULE_BAECHI_TF || setup->rule == BERTH_I_RULE_BAECHI_PT;
  berth_i_setup own = *setup;
  size_t n = (size_t)cost->g->n_ops;
  if (published || !berth_i_memory_counts(cost, setup->memory))
    return berth_i_engine_run(cost, setup, out, why);
  berth_status st;
  if (is_tight(cost, setup)) {
    st = berth_i_prove_infeasible(cost, setup->placer, setup->memory, setup->param_multiple, why);
    if (st != BERTH_OK) return st;
  }
  if (!(own.partial = berth_i_alloc(cost->ctx, n, sizeof *own.partial)))
    return berth_i_nomem(cost->ctx);
  st = berth_i_engine_run(cost, &own, out, why);
  if (is_stuck(st)) st = place_again(cost, setup, opts, own.partial, out, why);
  berth_i_free(cost->ctx, own.partial, n, sizeof *own.partial);
  return st;
}
