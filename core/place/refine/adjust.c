/* Groups that a placement has split, each put on one device: the devices of its ops by one of six
 * rules, best first; with `fit` the first that has enough free memory, then any other.
 * Invariant: an op without a group keeps its device. O((ops + devices log) + packing). */
#include "base/sort_internal.h"
#include "place/place_internal.h"
#include "sim/rows_internal.h"

typedef struct choice {
  double score;
  int32_t tie, device;
} choice;

typedef struct adjusting {
  berth_i_pool pool;
  berth_cost *cost;
  const berth_adjust_options *o;
  const int32_t *from; /* [ops] the placement to adjust */
  berth_i_units units;
  berth_i_packing packing; /* with `fit` */
  choice *choices;         /* [devices] of the present unit */
  int32_t n_choices;
  int32_t *slot;       /* [devices] place in choices; BERTH_NONE */
  berth_placement *p;
} adjusting;

berth_adjust_options berth_adjust_default(const berth_graph *g) {
  return (berth_adjust_options){ .by = BERTH_ADJUST_FREQUENT, .place = berth_place_default(g) };
}

#define C BERTH_I_CHOICE

static const berth_choice *const rules[] = {
  C("random", "That of its first op, by id."),
  C("memory", "That of its op with the largest demand: parameters, workspace and outputs."),
  C("time", "That of its op with the longest time."),
  C("frequent", "That of most of its ops."),
  C("memory_sum", "That with the largest sum of demands."),
  C("time_sum", "That with the largest sum of times."),
  NULL
};

static void set_defaults(void *out) { *(berth_adjust_options *)out = berth_adjust_default(NULL); }

const berth_option_table *berth_adjust_option_table(void) {
  static const berth_option options[] = {
    { BERTH_I_OPTION(berth_adjust_options, by, CHOICE), .choices = rules,
      .text = "which of its devices a group goes to" },
    { BERTH_I_OPTION(berth_adjust_options, fit, FLAG),
      .text = "devices in the order of `by`, then the others, until one fits; else memory is "
              "not checked" },
    BERTH_I_LINKS_ROW(berth_adjust_options, place.links),
    BERTH_I_MEMORY_ROW(berth_adjust_options, place.memory),
    BERTH_I_PARAM_MULTIPLE_ROW(berth_adjust_options, place.param_multiple),
    BERTH_I_QUANTUM_ROW(berth_adjust_options, place.quantum),
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("adjust", options, berth_adjust_options, set_defaults);
}

/* ---- checks ---- */

static bool is_group(const berth_i_units *u, int32_t unit) {
  return berth_i_group(u->cost->g, u->ops[u->at[unit]]) != BERTH_NONE;
}

static berth_status check_devices(const adjusting *a) {
  const berth_graph *g = a->cost->g;
  char label[160], where[160];
  for (int32_t v = 0; v < g->n_ops; v++) {
    berth_i_op_label(g, v, label, sizeof label);
    if (a->from[v] < 0 || a->from[v] >= a->cost->n_devices) {
      return berth_i_fail(a->cost->ctx, BERTH_EINVAL,
                          "adjust: %s: device %ld does not exist (there are %ld)", label,
                          (long)a->from[v], (long)a->cost->n_devices);
    }
    if (berth_i_group(g, v) != BERTH_NONE || berth_i_can_run(a->cost, v, a->from[v])) continue;
    return berth_i_fail(a->cost->ctx, BERTH_EINVAL, "adjust: %s cannot run on %s (type or pin)",
                        label, berth_i_device_label(a->cost->t, a->from[v], where, sizeof where));
  }
  return BERTH_OK;
}

/* ---- which device ---- */

static double weight_of(const adjusting *a, int32_t op) {
  berth_i_demand d;
  double time;
  switch (a->o->by) {
    case BERTH_ADJUST_RANDOM: return -(double)op;
    case BERTH_ADJUST_FREQUENT: return 1;
    case BERTH_ADJUST_TIME:
    case BERTH_ADJUST_TIME_SUM:
      time = berth_i_op_time(a->cost, op, a->from[op]);
      return isinf(time) ? 0 : time;
    default:
      d = berth_i_op_demand(a->cost->g, op, a->o->place.memory, a->o->place.param_multiple);
      return d.permanent + d.temporary;
  }
}

static bool adds_up(berth_adjust_by by) {
  return by == BERTH_ADJUST_FREQUENT || by == BERTH_ADJUST_MEMORY_SUM
         || by == BERTH_ADJUST_TIME_SUM;
}

BERTH_I_SORT(sort_by_score, choice, BERTH_I_DOWN(score) BERTH_I_UP(tie))

/* The devices of its ops, best first. */
static void rank_devices(adjusting *a, int32_t unit) {
  bool frequent = a->o->by == BERTH_ADJUST_FREQUENT, sums = adds_up(a->o->by);
  for (int32_t i = 0; i < a->n_choices; i++) a->slot[a->choices[i].device] = BERTH_NONE;
  a->n_choices = 0;
  for (int32_t i = a->units.at[unit]; i < a->units.at[unit + 1]; i++) {
    int32_t op = a->units.ops[i], device = a->from[op];
    double weight = weight_of(a, op);
    if (a->slot[device] == BERTH_NONE) {
      a->slot[device] = a->n_choices;
      a->choices[a->n_choices++] = (choice){ sums ? 0 : -INFINITY, frequent ? device : op, device };
    }
    choice *x = &a->choices[a->slot[device]];
    if (sums) {
      x->score += weight;
      if (!frequent && op < x->tie) x->tie = op;
    } else if (weight > x->score || (weight == x->score && op < x->tie)) {
      x->score = weight;
      x->tie = op;
    }
  }
  sort_by_score(a->choices, (size_t)a->n_choices);
  for (int32_t i = 0; i < a->n_choices; i++) a->slot[a->choices[i].device] = i;
}

/* The k-th device in order: the ranked ones, then the others by id. BERTH_NONE: it was ranked. */
static int32_t kth_device(const adjusting *a, int32_t k) {
  if (k < a->n_choices) return a->choices[k].device;
  return a->slot[k - a->n_choices] == BERTH_NONE ? k - a->n_choices : BERTH_NONE;
}

/* ---- without memory ---- */

static void choose(adjusting *a, int32_t unit) {
  int32_t k = 0, device = a->from[a->units.ops[a->units.at[unit]]];
  if (is_group(&a->units, unit)) {
    rank_devices(a, unit);
    do device = kth_device(a, k++);
    while (device == BERTH_NONE || !berth_i_unit_can_run(&a->units, unit, device));
  }
  for (int32_t i = a->units.at[unit]; i < a->units.at[unit + 1]; i++)
    a->p->device[a->units.ops[i]] = device;
}

/* ---- within memory ---- */

static bool put_where_it_fits(adjusting *a, int32_t unit) {
  int32_t n = a->cost->n_devices;
  if (!is_group(&a->units, unit))
    return berth_i_packing_try(&a->packing, unit, a->from[a->units.ops[a->units.at[unit]]]) == 0;
  rank_devices(a, unit);
  for (int32_t k = 0; k < a->n_choices + n; k++) {
    int32_t device = kth_device(a, k);
    if (device != BERTH_NONE && berth_i_packing_try(&a->packing, unit, device) == 0) return true;
  }
  return false;
}

typedef struct sized {
  double bytes;
  int32_t unit, group;
} sized;

BERTH_I_SORT(sort_by_size, sized, BERTH_I_UP(group) BERTH_I_DOWN(bytes) BERTH_I_UP(unit))

/* An op that stays has one device to be on. */
static berth_status refuse_fixed(adjusting *a, int32_t unit, berth_obstacle *why) {
  int32_t op = a->units.ops[a->units.at[unit]], device = a->from[op];
  double missing = berth_i_packing_try(&a->packing, unit, device);
  if (isnan(missing)) return berth_i_packing_refuse(&a->packing, "adjust", unit, &a->o->place, why);
  return berth_i_infeasible(a->cost, "adjust", op, device, missing, why);
}

static berth_status fit(adjusting *a, berth_obstacle *why) {
  const berth_i_units *u = &a->units;
  sized *order = berth_i_pool_alloc(&a->pool, (size_t)u->n, sizeof *order);
  if (!order) return berth_i_nomem(a->cost->ctx);
  berth_status st = berth_i_packing_init(u, a->o->place.memory, a->p->device, &a->packing);
  if (st != BERTH_OK) return st;
  /* ops without a group first, then groups, the largest first */
  for (int32_t i = 0; i < u->n; i++)
    order[i] = (sized){ is_group(u, i) ? u->permanent[i] + u->temporary[i] : 0, i, is_group(u, i) };
  sort_by_size(order, (size_t)u->n);
  for (int32_t i = 0; i < u->n && st == BERTH_OK; i++) {
    int32_t unit = order[i].unit;
    if (put_where_it_fits(a, unit)) continue;
    st = is_group(u, unit)
             ? berth_i_packing_refuse(&a->packing, "adjust", unit, &a->o->place, why)
             : refuse_fixed(a, unit, why);
  }
  berth_i_pool_free(&a->packing.pool);
  return st;
}

/* ---- the whole ---- */

static berth_status adjust(adjusting *a, berth_obstacle *why) {
  berth_ctx *ctx = a->cost->ctx;
  a->choices = berth_i_pool_alloc(&a->pool, (size_t)a->cost->n_devices, sizeof *a->choices);
  a->slot = berth_i_pool_alloc(&a->pool, (size_t)a->cost->n_devices, sizeof *a->slot);
  berth_status st;
  if ((st = berth_i_pool_status(&a->pool)) != BERTH_OK) return st;
  memset(a->slot, 0xff, (size_t)a->cost->n_devices * sizeof *a->slot);
  if ((st = berth_i_placement_make(ctx, a->cost->g->n_ops, "adjust", true, &a->p)) != BERTH_OK)
    return st;
  if (a->o->fit && (st = fit(a, why)) != BERTH_OK) return st;
  for (int32_t i = 0; !a->o->fit && i < a->units.n; i++) choose(a, i);
  berth_oom oom;
  if ((st = berth_i_plan_fifo(a->cost, &a->o->place, a->p, &oom, NULL)) != BERTH_OK) return st;
  return a->o->fit && oom.op != BERTH_NONE ? berth_i_runs_out(a->cost, "adjust", &oom, why)
                                           : BERTH_OK;
}

berth_status berth_adjust(berth_cost *cost, const int32_t *device, const berth_adjust_options *opts,
                          berth_placement **out, berth_obstacle *why) {
  if (!cost || !out) return BERTH_EINVAL;
  const berth_adjust_options defaults = berth_adjust_default(cost->g);
  adjusting a = { .pool = berth_i_pool_empty(cost->ctx),
                  .cost = cost,
                  .o = opts ? opts : &defaults,
                  .from = device };
  berth_status st;
  if ((st = berth_options_check(cost->ctx, berth_adjust_option_table(), a.o)) != BERTH_OK)
    return st;
  if ((st = check_devices(&a)) != BERTH_OK) return st;
  st = berth_i_units_init(cost, "adjust", a.o->place.memory, a.o->place.param_multiple, &a.units,
                          why);
  if (st != BERTH_OK) return st;
  st = adjust(&a, why);
  berth_i_pool_free(&a.pool);
  berth_i_units_release(&a.units);
  if (st == BERTH_OK) {
    *out = a.p;
  } else {
    berth_placement_release(a.p);
  }
  return st;
}
