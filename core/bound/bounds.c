/* Lower bounds on the makespan of every schedule without preemption or duplication.
 * Structure: heads and tails of all ops (levels.c of graph/ without transfers, heads_tails.c with
 * them); the bounds of work need nothing else, because heads and tails hold for each op in every
 * such schedule. Then the destructive bounds, and the largest of all with its name.
 * Complexity and sources: bound.h. */
#include "bound/destructive/destructive_internal.h"
#include "base/sort_internal.h"
#include <berth/bound.h>
#include "placement/prices_internal.h"
#include "heads_tails_internal.h"
#include "sim/rows_internal.h"
#include <float.h>

typedef struct levels {
  double *least, *head, *tail; /* [ops] s: least time; before the op can start; after it has
                                  ended */
  double *early, *late;        /* [ops] heads, tails in ascending order */
} levels;

/* With communication ops only paths count: the other bounds require that the ops of one device run
 * one after another. */
static bool paths_only(const berth_cost *cost) {
  return berth_i_first_communication(cost->g) != BERTH_NONE;
}

static berth_status solve_lp(berth_cost *cost, double gap, double *lower) {
  berth_lp_options o = berth_lp_default();
  berth_lp *lp = NULL;
  o.times = BERTH_LP_LEAST;
  o.gap = gap;
  berth_status st;
  if ((st = berth_lp_solve(cost, &o, &lp)) != BERTH_OK) return st;
  *lower = berth_lp_get(lp)->lower;
  berth_lp_release(lp);
  return BERTH_OK;
}

/* ---- heads and tails ---- */

static double unit_least(const berth_i_units *u, int32_t unit) {
  double least = INFINITY;
  for (int32_t d = 0; d < u->cost->n_devices; d++) {
    if (berth_i_unit_can_run(u, unit, d)) least = fmin(least, berth_i_unit_time(u, unit, d));
  }
  return least;
}

/* Heads and tails; those with transfers replace those without, if requested. */
static berth_status fill_levels(const berth_i_units *u, const berth_bounds_options *o,
                                bool transfers, const double *collective_time, levels *l,
                                berth_bounds *b) {
  const berth_graph *g = u->cost->g;
  for (int32_t i = 0; i < u->n_ops; i++) {
    l->least[i] = INFINITY; /* an op runs where its whole group can */
    for (int32_t d = 0; d < u->cost->n_devices; d++) {
      if (berth_i_unit_can_run(u, u->of[i], d))
        l->least[i] = fmin(l->least[i], berth_i_op_time(u->cost, i, d));
    }
  }
  berth_status st;
  if ((st = berth_i_t_level(g, l->least, NULL, collective_time, l->head)) != BERTH_OK) return st;
  if ((st = berth_i_b_level(g, l->least, NULL, collective_time, l->tail)) != BERTH_OK) return st;
  for (int32_t i = 0; i < u->n_ops; i++) {
    b->critical_path = fmax(b->critical_path, l->tail[i]);
    l->tail[i] = fmax(0, l->tail[i] - l->least[i]);
  }
  if (transfers && !paths_only(u->cost)) {
    st = berth_i_heads_tails(u, o->links, collective_time, l->least, l->head, l->tail);
    if (st == BERTH_OK) st = solve_lp(u->cost, o->gap, &b->lp);
    if (st != BERTH_OK) return st;
    b->transfers = 0;
    for (int32_t i = 0; i < u->n_ops; i++)
      b->transfers = fmax(b->transfers, l->head[i] + l->least[i] + l->tail[i]);
  }
  memcpy(l->early, l->head, (size_t)u->n_ops * sizeof *l->early);
  memcpy(l->late, l->tail, (size_t)u->n_ops * sizeof *l->late);
  berth_i_sort_numbers(l->early, u->n_ops);
  berth_i_sort_numbers(l->late, u->n_ops);
  return BERTH_OK;
}

/* ---- work of one machine ---- */

/* One device runs a group one op after another: none starts before the least head, and the least
 * tail follows the last. */
static double group_bound(const berth_i_units *u, const levels *l, int32_t unit) {
  double head = INFINITY, tail = INFINITY;
  for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
    head = fmin(head, l->head[u->ops[i]]);
    tail = fmin(tail, l->tail[u->ops[i]]);
  }
  return head + unit_least(u, unit) + tail;
}

/* The same for everything that is pinned to one device. @param sum, head, tail [devices] scratch */
static double pinned_bound(const berth_i_units *u, const levels *l, double *sum, double *head,
                           double *tail) {
  double most = 0;
  int32_t d;
  for (d = 0; d < u->cost->n_devices; d++) sum[d] = 0, head[d] = tail[d] = INFINITY;
  for (int32_t unit = 0; unit < u->n; unit++) {
    if ((d = u->pin[unit]) == BERTH_NONE) continue;
    sum[d] += berth_i_unit_time(u, unit, d);
    for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
      head[d] = fmin(head[d], l->head[u->ops[i]]);
      tail[d] = fmin(tail[d], l->tail[u->ops[i]]);
    }
  }
  for (d = 0; d < u->cost->n_devices; d++) {
    if (!isinf(head[d])) most = fmax(most, head[d] + sum[d] + tail[d]);
  }
  return most;
}

/* Of k D + 1 units some device runs k + 1, at least the k + 1 smallest of them. @param least [n] is
 * sorted */
static double pigeonhole_bound(double *least, int32_t n, int32_t devices) {
  double most = 0;
  berth_i_sort_numbers_down(least, n);
  for (int64_t k = 1; k * devices < n; k++) {
    double sum = 0;
    for (int32_t i = 0; i <= k; i++) sum += least[k * devices - i];
    most = fmax(most, sum);
    if (k >= 64) break; /* from there on the average is as strong */
  }
  return most;
}

static berth_status serial_bound(const berth_i_units *u, const levels *l, double *out) {
  berth_i_pool pool = berth_i_pool_empty(u->cost->ctx);
  size_t n = (size_t)u->n, devices = (size_t)u->cost->n_devices;
  double *least = berth_i_pool_alloc(&pool, n, sizeof *least),
         *scratch = berth_i_pool_alloc(&pool, 3 * devices, sizeof *scratch);
  berth_status st = berth_i_pool_status(&pool);
  if (st == BERTH_OK) {
    *out = pinned_bound(u, l, scratch, scratch + devices, scratch + 2 * devices);
    for (int32_t i = 0; i < u->n; i++) {
      least[i] = unit_least(u, i);
      if (u->at[i + 1] - u->at[i] > 1) *out = fmax(*out, group_bound(u, l, i));
    }
    *out = fmax(*out, pigeonhole_bound(least, u->n, u->cost->n_devices));
  }
  berth_i_pool_free(&pool);
  return st;
}

/* ---- shared work ---- */

/* A device waits for the head of its first op, and is idle for the tail of its last one; these ops
 * differ from device to device. So the i-th smallest head and tail count, priced in the order that
 * makes the sum least. A device without ops is idle throughout: at least the i-th smallest head +
 * tail as long as i <= (n + 1) / 2, when some op has both at least as large, and the critical path
 * is as long as their sum.
 * @param sorted heads or tails, ascending  @param price [devices] descending */
static double idle_at_end(const double *sorted, int32_t n, const double *price, int32_t devices) {
  double sum = 0;
  for (int32_t i = 0; i < devices && i < (n + 1) / 2; i++) sum += price[i] * sorted[i];
  return sum;
}

/* First with time prices alone, then from there with memory prices; idle time is added to both. */
static berth_status price_bound(berth_ctx *ctx, const berth_i_kinds *k, bool with_memory,
                                const levels *l, int32_t ops, double *out) {
  size_t n = (size_t)k->n, all = 2 * n + (size_t)k->devices;
  double *room = berth_i_zalloc(ctx, all, sizeof *room);
  if (!room) return berth_i_nomem(ctx);
  berth_i_prices p = { room, room + n, 0 };
  double *price = room + 2 * n; /* [devices] */
  *out = 0;
  for (size_t i = 0; i < n; i++) p.time[i] = 1.0 / k->devices;
  berth_status st = BERTH_OK;
  for (int pass = 0; pass <= with_memory && st == BERTH_OK; pass++) {
    if ((st = berth_i_prices_raise(ctx, k, pass == 1, &p)) != BERTH_OK) break;
    for (int32_t d = 0; d < k->devices; d++) price[d] = p.time[k->of[d]];
    berth_i_sort_numbers_down(price, k->devices);
    *out = fmax(*out, p.value + idle_at_end(l->early, ops, price, k->devices)
                          + idle_at_end(l->late, ops, price, k->devices));
  }
  berth_i_free(ctx, room, all, sizeof *room);
  return st;
}

/* Types and pins are in both bounds; that of memory also has sizes and limits, if there are any. */
static berth_status shared_bound(const berth_i_units *u, const levels *l,
                                 berth_memory_policy memory, double *out, berth_obstacle *why) {
  berth_i_kinds k;
  bool limited = memory != BERTH_MEMORY_NONE;
  if (limited && !berth_i_memory_counts(u->cost, memory)) return BERTH_OK;
  berth_status st = berth_i_kinds_init(u, memory, &k);
  if (st != BERTH_OK) return st;
  if (limited) st = berth_i_prove_unfit(u, &k, "bounds", why);
  if (st == BERTH_OK) st = price_bound(u->cost->ctx, &k, limited, l, u->n_ops, out);
  berth_i_kinds_release(&k);
  return st;
}

/* ---- no schedule at all ---- */

/* Where nothing waits without need, something runs or crosses at any time: all of it, one after
 * another, on the slowest device and route. Collectives may take any finite time. */
static double longest_schedule(const berth_cost *c) {
  const berth_graph *g = c->g;
  size_t pairs = (size_t)c->n_devices * (size_t)c->n_devices;
  double sum = g->n_collectives > 0 ? DBL_MAX / 1e6 : 0, latency = 0, bandwidth = INFINITY;
  for (size_t i = 0; i < pairs; i++) {
    if (isinf(c->t->latency[i])) continue;
    latency = fmax(latency, c->t->latency[i]);
    bandwidth = fmin(bandwidth, c->t->bandwidth[i]);
  }
  for (int32_t i = 0; i < g->n_ops; i++) {
    double most = 0;
    for (int32_t k = 0; k < c->n_classes; k++) {
      double s = c->op[(size_t)i * (size_t)c->n_classes + (size_t)k];
      if (!isinf(s)) most = fmax(most, s);
    }
    sum += most;
  }
  for (int32_t t = 0; t < g->n_tensors; t++) {
    const double *row = c->table ? c->table + (size_t)t * pairs : NULL;
    double most = row ? 0 : berth_i_route_seconds(c, latency, bandwidth, g->tensor_bytes[t]);
    for (size_t i = 0; row && i < pairs; i++) {
      if (!isinf(row[i])) most = fmax(most, row[i]);
    }
    sum += (g->use_at[t + 1] - g->use_at[t]) * most;
  }
  return sum;
}

/* A bound above the longest schedule proves that there is none: what cannot be on one device has no
 * way to another. */
static berth_status refuse_endless(berth_cost *cost, double bound, berth_obstacle *why) {
  if (!(bound > 0) || bound <= longest_schedule(cost) * (1 + 1e-6)) return BERTH_OK;
  if (why) *why = (berth_obstacle){ BERTH_NONE, BERTH_NONE, 0 };
  return berth_i_fail(
      cost->ctx, BERTH_EINFEASIBLE,
      "bounds: cannot fit: ops that no one device can take have no route between devices that can");
}

/* ---- all together ---- */

static void take_if_larger(berth_bounds *b, double value, const char *name) {
  if (!(value > b->best)) return; /* NaN: not computed */
  if (value > b->best * (1 + 1e-6)) b->name = name;
  b->best = value;
}

/* The simplest of those that are equal, as exactly as prices are found, gives the name. */
static void name_best(berth_bounds *b) {
  b->best = b->critical_path;
  b->name = "critical path";
  take_if_larger(b, b->transfers, "transfers");
  take_if_larger(b, b->lp, "linear program");
  take_if_larger(b, b->work, "work");
  take_if_larger(b, b->memory, "memory");
  take_if_larger(b, b->clusters, "serial clusters");
  take_if_larger(b, b->intervals, "intervals");
  take_if_larger(b, b->link_cut, "link cut");
}

/* ---- levels of search ---- */

typedef struct search_level {
  const char *name;
  double least;                            /* million steps of `effort` that it needs */
  const berth_i_destruct_plan *plan, *cut; /* NULL: no search */
  int32_t cuts;
  bool transfers;                          /* also `transfers` and `lp` */
} search_level;

enum { PATHS, LINEAR, CHEAP, WINDOWS, THOROUGH, LEVELS };

static const search_level level_of[LEVELS] = {
  { "paths", 0, NULL, NULL, 0, false },
  { "linear program", 0, NULL, NULL, 0, true },
  { "cheap", 1, &berth_i_destruct_cheap, &berth_i_destruct_cheap_cut, 1, false },
  { "windows", 30, &berth_i_destruct_windows, &berth_i_destruct_cheap_cut, 1, true },
  { "thorough", 120, &berth_i_destruct_thorough, &berth_i_destruct_cut, 3, true },
};

/* The highest that the effort affords, or that is requested. A search counts the paths between all
 * pairs of ops; on graphs too large for it, the linear program takes some 2000 steps an edge. */
static int choose_level(const berth_graph *g, const berth_bounds_options *o) {
  double paths = 1e-6 * berth_i_destruct_path_steps(g->n_ops, g->n_edges);
  int k = o->thorough || o->effort > 0 ? THOROUGH : CHEAP;
  for (; k >= CHEAP; k--) {
    bool enough = !(o->effort > 0) || o->effort >= level_of[k].least + 2 * paths;
    if (enough && g->n_ops <= level_of[k].plan->ops) return k;
    if (o->thorough) break;
  }
  bool large = g->n_ops > level_of[THOROUGH].plan->ops;
  return o->thorough || (large && o->effort > 2e-3 * g->n_edges) ? LINEAR : PATHS;
}

/* Work of a level: all of `effort` but what cuts may take. */
static berth_i_destruct_plan with_effort(const berth_i_destruct_plan *plan, double effort,
                                         double share) {
  berth_i_destruct_plan p = *plan;
  if (effort > 0) p.work = (int64_t)(1e6 * effort * share);
  return p;
}

/* Above the cheap level that one comes first: bisection may end lower than it, and a proof that
 * there is no schedule ends the computation. */
static berth_status take_destructive(const berth_i_units *u, const berth_bounds_options *o,
                                     const search_level *v, const double *collective_time,
                                     berth_bounds *b, berth_obstacle *why) {
  berth_i_destruct_result found = { NAN, NAN, 0 }, cheap = found;
  berth_i_destruct_scope scope = { NULL, NULL, 0, o->links, collective_time };
  if (!v->plan) return BERTH_OK;
  berth_i_destruct_plan plan = with_effort(v->plan, o->effort, 0.75),
                        cut = with_effort(v->cut, o->effort, v->cuts > 1 ? 0.125 : 0.25);
  berth_i_kinds k;
  berth_status st;
  if ((st = berth_i_kinds_init(u, u->memory, &k)) != BERTH_OK) return st;
  if (berth_i_memory_counts(u->cost, u->memory)) scope.kinds = &k;
  if (v != &level_of[CHEAP] && u->n_ops <= berth_i_destruct_cheap.ops) {
    st = berth_i_destructive_bound(u, &scope, &berth_i_destruct_cheap, &cheap);
    if (st == BERTH_OK) st = refuse_endless(u->cost, fmax(cheap.clusters, cheap.intervals), why);
    plan.work -= cheap.work;
  }
  if (st == BERTH_OK) st = berth_i_destructive_bound(u, &scope, &plan, &found);
  if (st == BERTH_OK) st = berth_i_destruct_cuts(u, &scope, &cut, v->cuts, &b->link_cut);
  berth_i_kinds_release(&k);
  if (st != BERTH_OK) return st;
  b->clusters = fmax(found.clusters, cheap.clusters); /* NaN: not computed */
  b->intervals = fmax(found.intervals, cheap.intervals);
  return BERTH_OK;
}

/* ---- options ---- */

berth_bounds_options berth_bounds_default(const berth_graph *g) {
  return (berth_bounds_options){ .memory = berth_place_default(g).memory,
                                 .param_multiple = 1,
                                 .gap = 1e-3,
                                 .effort = 0,
                                 .links = BERTH_LINKS_FREE };
}

static void set_defaults(void *out) { *(berth_bounds_options *)out = berth_bounds_default(NULL); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_bounds_options, name, kind)

const berth_option_table *berth_bounds_option_table(void) {
  static const berth_option options[] = {
    BERTH_I_MEMORY_ROW(berth_bounds_options, memory),
    BERTH_I_PARAM_MULTIPLE_ROW(berth_bounds_options, param_multiple),
    BERTH_I_LINKS_ROW(berth_bounds_options, links),
    { FIELD(thorough, FLAG), .text = "also bounds that a search or the linear program finds" },
    { FIELD(effort, NUMBER), .low = 0,
      .text = "million steps that searches may take, some 3 ms each; 0: as `thorough` says" },
    { FIELD(gap, NUMBER), .low = 1e-9,
      .text = "thorough: relative gap to which the linear program is solved" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("bounds", options, berth_bounds_options, set_defaults);
}

static berth_status compute(const berth_i_units *u, const berth_bounds_options *o,
                            const search_level *v, berth_bounds *b, berth_obstacle *why) {
  berth_i_pool scratch = berth_i_pool_empty(u->cost->ctx);
  size_t n = (size_t)u->n_ops;
  double *collective_time = berth_i_pool_alloc(&scratch, (size_t)u->cost->g->n_collectives,
                                               sizeof *collective_time);
  double serial = 0, *level = berth_i_pool_alloc(&scratch, 5 * n, sizeof *level);
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  levels l = { level, level + n, level + 2 * n, level + 3 * n, level + 4 * n };
  if ((st = berth_i_least_collective_times(u, collective_time)) != BERTH_OK) goto done;
  if ((st = fill_levels(u, o, v->transfers, collective_time, &l, b)) != BERTH_OK) goto done;
  if ((st = serial_bound(u, &l, &serial)) != BERTH_OK) goto done;
  if ((st = shared_bound(u, &l, BERTH_MEMORY_NONE, &b->work, why)) != BERTH_OK) goto done;
  b->work = fmax(b->work, serial);
  if (u->memory != BERTH_MEMORY_NONE) {
    b->memory = b->work;
    if ((st = shared_bound(u, &l, u->memory, &b->memory, why)) != BERTH_OK) goto done;
    b->memory = fmax(b->memory, b->work);
  }
  if (!paths_only(u->cost)) st = take_destructive(u, o, v, collective_time, b, why);
done:
  berth_i_pool_free(&scratch);
  return st;
}

berth_status berth_bounds_compute(berth_cost *cost, const berth_bounds_options *opts,
                                  berth_bounds *out, berth_obstacle *why) {
  if (!cost) return BERTH_EINVAL;
  berth_bounds_options o = opts ? *opts : berth_bounds_default(cost->g);
  berth_bounds b = { 0, NAN, NAN, 0, 0, 0, NULL, NAN, NAN, NAN, NULL };
  berth_status st;
  if ((st = berth_options_check(cost->ctx, berth_bounds_option_table(), &o)) != BERTH_OK) return st;
  if (o.thorough && o.effort > 0)
    return berth_i_fail(cost->ctx, BERTH_EINVAL, "bounds: effort: excludes thorough");
  const search_level *v = &level_of[choose_level(cost->g, &o)];
  b.level = v->name;
  berth_i_units u;
  if ((st = berth_i_units_init(cost, "bounds", o.memory, o.param_multiple, &u, why)) != BERTH_OK)
    return st;
  st = compute(&u, &o, v, &b, why);
  berth_i_units_release(&u);
  if (st != BERTH_OK) return st;
  name_best(&b);
  if ((st = refuse_endless(cost, b.best, why)) != BERTH_OK) return st;
  *out = b;
  return BERTH_OK;
}
