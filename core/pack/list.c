/* List placers that get stuck at memory limits. The devices that the placer had chosen, or would
 * choose without limits, are changed as little as makes them fit; then the list engine runs again
 * with each op forced to its device.
 * Steps: try_near (pack near a start, plan, pack for less where the plan still runs out), then any
 * feasible packing; first with outputs that are freed, then with all that is ever held, which holds
 * in any order. Invariant: r->best is the plan with the least estimate so far, and keeps memory.
 * At most 2 * MOST_ROUNDS runs of the engine for each of the two shares. */
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

/* The rule's own plan on r->device. Units that take no memory go where the rule puts them; where
 * these have no route, they are forced, too. */
static berth_status plan_on(retry *r, berth_obstacle *why) {
  berth_i_setup again = *r->setup;
  berth_status st = BERTH_EUNREACHABLE;
  again.forced = r->forced;
  again.partial = NULL;
  for (int pass = 0; pass < 2 && st == BERTH_EUNREACHABLE; pass++) {
    berth_placement *p = NULL;
    for (int32_t i = 0; i < r->u.n_ops; i++) {
      bool freely = pass == 0 && is_weightless(&r->u, r->u.of[i]);
      r->forced[i] = freely ? BERTH_NONE : r->device[i];
    }
    if ((st = berth_i_engine_run(r->cost, &again, &p, why)) == BERTH_OK) keep_better(r, p);
  }
  return st;
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

/* ---- near given devices ---- */

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

/* The device where the plan ran out is limited to the packed bytes less the missing ones; and on
 * each device a part of the free bytes is kept back, more from round to round. */
static void lower_limits(retry *r, const berth_obstacle *where, double part) {
  const berth_device *device = r->cost->t->devices;
  double all = 0, free = 0;
  int32_t d;
  for (d = 0; d < r->cost->n_devices; d++) {
    if (isinf(device[d].memory)) continue;
    all += device[d].memory;
    free += device[d].memory - r->held[d];
  }
  for (d = 0; d < r->cost->n_devices; d++) {
    double keep = all > 0 ? part * free * (device[d].memory / all) : 0;
    if (!isinf(device[d].memory)) r->limit[d] = device[d].memory - keep;
  }
  d = where->device;
  r->limit[d] = fmin(r->limit[d], r->held[d] - where->missing);
}

/* With few ops all packings are compared; with many, one near the ideal estimate is enough. */
static bool is_large(const retry *r) {
  return (int64_t)r->u.n_ops + r->cost->g->n_edges > FEW_OPS_AND_EDGES;
}
static bool is_enough(const retry *r) {
  return r->best && is_large(r) && r->best->estimate <= NEAR_IDEAL * r->ideal;
}

/* Under INFERENCE and TRAINING outputs may pile up on a device more than its packing counts: then
 * it is packed for less, round by round. */
static berth_status try_near(retry *r, const int32_t *start) {
  double size = 1.0 + r->u.n_ops + r->cost->g->n_edges;
  int32_t rounds = r->u.share == 1
                       ? 1
                       : (int32_t)fmax(LEAST_ROUNDS, fmin(MOST_ROUNDS, 2e5 / size));
  reset_limits(r);
  for (int32_t round = 0; round < rounds; round++) {
    /* 1. A packing near the start. */
    berth_obstacle where = { BERTH_NONE, BERTH_NONE, 0 };
    bool found = false;
    berth_status st, own;
    if ((st = pack_near(r, start, &found)) != BERTH_OK || !found) return st;
    /* 2. The rule's own plan on it; in the first round also the order of a run by readiness. */
    own = plan_on(r, &where);
    if (own != BERTH_OK && !is_stuck(own)) return own;
    if (round == 0 && r->u.share < 1 && !is_enough(r) && (st = plan_in_turn(r)) != BERTH_OK)
      return st;
    /* 3. Ends with the rule's own plan; where plans take long, with any. */
    if (own == BERTH_OK || (is_large(r) && r->best)) return BERTH_OK;
    if (where.device == BERTH_NONE || !(where.missing > 0)) return BERTH_OK;
    /* 4. From there again, for less. */
    lower_limits(r, &where, (1.0 + round) / fmax(1, rounds - 1));
    memcpy(r->start, r->device, (size_t)r->u.n_ops * sizeof *r->device);
    start = r->start;
  }
  return BERTH_OK;
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
  /* 1. Near the devices that the rule had chosen; 2. near those that it chooses without limits. */
  berth_status st = try_near(r, r->partial);
  if (st == BERTH_OK && !isinf(r->ideal) && !is_enough(r)) st = try_near(r, r->ample);
  /* 3. On any feasible packing. */
  if (st == BERTH_OK && !is_enough(r)) {
    berth_i_packing k;
    if ((st = berth_i_packing_init(&r->u, r->setup->memory, r->device, &k)) != BERTH_OK) return st;
    st = berth_i_packing_find_feasible(&k, r->setup->placer, r->opts, why);
    berth_i_pool_free(&k.pool);
    if (st == BERTH_OK) st = plan_on(r, why);
  }
  return is_stuck(st) && r->best ? BERTH_OK : st;
}

/* First with the loosest count of memory, then with the one that holds in any order. If both fail,
 * the message of the former is reported. */
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

/* Parameters alone come close to all memory: then a proof may save a long run that fails. */
static bool is_tight(const berth_cost *cost, const berth_i_setup *setup) {
  double bytes = 0, room = 0;
  for (int32_t i = 0; i < cost->g->n_ops; i++)
    bytes += berth_i_param(cost->g, i) * setup->param_multiple;
  for (int32_t i = 0; i < cost->n_devices; i++) room += cost->t->devices[i].memory;
  return bytes > 0.9 * room;
}

static berth_status place_again(berth_cost *cost, const berth_i_setup *setup,
                                const berth_place_options *opts, int32_t *partial,
                                berth_placement **out, berth_obstacle *why) {
  size_t n = (size_t)cost->g->n_ops, devices = (size_t)cost->n_devices;
  retry r = { .pool = berth_i_pool_empty(cost->ctx),
              .cost = cost,
              .setup = setup,
              .opts = opts,
              .partial = partial };
  berth_status st = BERTH_OK;
  /* a proof that nothing fits is found sooner than the search for a placement ends */
  if (!is_tight(cost, setup))
    st = berth_i_prove_infeasible(cost, setup->placer, setup->memory, setup->param_multiple, why);
  if (st != BERTH_OK) return st;
  r.ample = berth_i_pool_alloc(&r.pool, n, sizeof *r.ample);
  r.device = berth_i_pool_alloc(&r.pool, n, sizeof *r.device);
  r.forced = berth_i_pool_alloc(&r.pool, n, sizeof *r.forced);
  r.start = berth_i_pool_alloc(&r.pool, n, sizeof *r.start);
  r.at = berth_i_pool_alloc(&r.pool, n, sizeof *r.at);
  r.limit = berth_i_pool_alloc(&r.pool, devices, sizeof *r.limit);
  r.held = berth_i_pool_alloc(&r.pool, devices, sizeof *r.held);
  if ((st = berth_i_pool_status(&r.pool)) == BERTH_OK
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
