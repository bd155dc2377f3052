/* m-TOPO: devices filled one after another along a topological order, to a balanced share of the
 * memory.
 * Source: Baechi, 2020, and its two published programs (TensorFlow, PyTorch). */
#include "place/place_internal.h"


/* The sizes that are balanced: without accounting, as TOTAL, or there would be nothing to
 * balance. */
static berth_memory_policy sizing(const berth_place_options *opts) {
  return opts->memory == BERTH_MEMORY_NONE ? BERTH_MEMORY_TOTAL : opts->memory;
}

/* ---- as published ---- */

/* No device is visited twice, no real limit is tested. */
typedef struct walk {
  const berth_i_units *u;
  const berth_place_options *opts;
  bool tf;
  double cap;
  double *used; /* [devices] */
  int32_t *device, now;
} walk;

static berth_i_demand demand(const walk *w, int32_t op) {
  return berth_i_op_demand(w->u->cost->g, op, sizing(w->opts), w->opts->param_multiple);
}

/* What an op counts for in the cap, and is charged: TensorFlow temporary + outputs, PyTorch
 * permanent only. */
static double size_of(const walk *w, int32_t op) {
  berth_i_demand d = demand(w, op);
  return w->tf ? d.permanent + d.temporary : d.permanent;
}

static double uniform_cap(const walk *w) {
  double sum = 0, most = 0;
  for (int32_t i = 0; i < w->u->n_ops; i++) {
    double m = size_of(w, i);
    sum += m;
    most = fmax(most, m);
  }
  return floor(sum / (double)w->u->cost->n_devices) + most;
}

/* TensorFlow tests a group by its parameters and largest temporary, strictly, though it charges the
 * sum of the sizes. */
static double tf_group_need(const walk *w, int32_t unit) {
  double persistent = 0, temporary = 0;
  for (int32_t i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) {
    int32_t op = w->u->ops[i];
    persistent += berth_i_param(w->u->cost->g, op) * w->opts->param_multiple;
    temporary = fmax(temporary, berth_i_workspace(w->u->cost->g, op));
  }
  return persistent + temporary;
}

static bool is_group(const walk *w, int32_t unit) {
  return berth_i_group(w->u->cost->g, w->u->ops[w->u->at[unit]]) != BERTH_NONE;
}

/* PyTorch tests the sum and the largest temporary, though its cap knows nothing of the latter. */
static double pt_need(const walk *w, int32_t unit) {
  double permanent = 0, temporary = 0;
  for (int32_t i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) {
    berth_i_demand d = demand(w, w->u->ops[i]);
    permanent += d.permanent;
    temporary = fmax(temporary, d.temporary);
  }
  return permanent + temporary;
}

/* Bytes over the cap that stop the unit; negative: it fits. */
static double over(const walk *w, int32_t unit, int32_t device) {
  if (!w->tf) return w->used[device] + pt_need(w, unit) - w->cap;
  if (!is_group(w, unit)) return w->used[device] + size_of(w, w->u->ops[w->u->at[unit]]) - w->cap;
  double over_cap = w->used[device] + tf_group_need(w, unit) - w->cap;
  return over_cap == 0 ? 1 : over_cap; /* strict: a full byte short */
}

static void settle(walk *w, int32_t unit, int32_t device) {
  for (int32_t i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) {
    w->device[w->u->ops[i]] = device;
    w->used[device] += size_of(w, w->u->ops[i]);
  }
}

/* Types and pins are unknown to the published programs: a unit that they keep from the present
 * device goes to the first one that takes it, and the walk goes on where it was. */
static bool settle_elsewhere(walk *w, int32_t unit) {
  for (int32_t d = 0; d < w->u->cost->n_devices; d++) {
    if (!berth_i_unit_can_run(w->u, unit, d) || over(w, unit, d) > 0) continue;
    settle(w, unit, d);
    return true;
  }
  return false;
}

static bool settle_unit(walk *w, int32_t unit) {
  for (; w->now < w->u->cost->n_devices; w->now++) {
    if (!berth_i_unit_can_run(w->u, unit, w->now)) return settle_elsewhere(w, unit);
    if (over(w, unit, w->now) > 0) continue;
    settle(w, unit, w->now);
    return true;
  }
  return false;
}

/* Real limits are not what stops it. */
static berth_status say_share(const walk *w, int32_t op, int32_t device, double missing,
                              berth_obstacle *why) {
  berth_ctx *ctx = w->u->cost->ctx;
  berth_i_infeasible(w->u->cost, "m-topo", op, device, missing, why);
  char label[160], where[160], cap[32], lacks[32];
  return berth_i_fail(ctx, BERTH_EINFEASIBLE,
                      "m-topo: no placement found: %s does not fit into the share of a device by "
                      "the rule of \"%s\", %s: on %s, where it comes closest, it is exceeded by "
                      "%s", berth_i_op_label(w->u->cost->g, op, label, sizeof label),
                      w->opts->variant, berth_quantity_format(w->cap, BERTH_BYTES, cap, sizeof cap),
                      berth_i_device_label(w->u->cost->t, device, where, sizeof where),
                      berth_quantity_format(missing, BERTH_BYTES, lacks, sizeof lacks));
}

static berth_status refuse_walk(const walk *w, int32_t unit, berth_obstacle *why) {
  int32_t closest = BERTH_NONE,
          op = berth_i_unit_largest(w->u, unit, sizing(w->opts), w->opts->param_multiple);
  for (int32_t d = 0; d < w->u->cost->n_devices; d++) {
    if (!berth_i_unit_can_run(w->u, unit, d)) continue;
    if (closest == BERTH_NONE || over(w, unit, d) < over(w, unit, closest)) closest = d;
  }
  return say_share(w, op, closest, fmax(0, over(w, unit, closest)), why);
}

/* TensorFlow walks in topological order, PyTorch by id. */
static berth_status walk_ops(walk *w, berth_obstacle *why) {
  int32_t n = w->u->n_ops;
  for (int32_t i = 0; i < n; i++) {
    int32_t op = w->tf ? w->u->cost->g->topo[i] : i;
    if (w->device[op] != BERTH_NONE) continue;
    if (!settle_unit(w, w->u->of[op])) return refuse_walk(w, w->u->of[op], why);
  }
  return BERTH_OK;
}

static berth_status fill_published(const berth_i_units *u, const berth_place_options *opts,
                                   int32_t *device, berth_obstacle *why) {
  walk w = { 0 };
  size_t devices = (size_t)u->cost->n_devices;
  w.u = u;
  w.opts = opts;
  w.tf = strcmp(opts->variant, "baechi-tf") == 0;
  w.device = device;
  w.used = berth_i_zalloc(u->cost->ctx, devices, sizeof *w.used);
  if (!w.used) return berth_i_nomem(u->cost->ctx);
  w.cap = uniform_cap(&w);
  berth_status st = walk_ops(&w, why);
  berth_i_free(u->cost->ctx, w.used, devices, sizeof *w.used);
  return st;
}

/* ---- corrected ---- */

typedef struct fill {
  berth_i_packing *k;
  double *load, *temporary; /* [devices] bytes of units, without copies */
  double cap;
} fill;

/* The level L with sum over devices of min(limit, L) = bytes: the mean, raised by what small
 * devices cannot take. */
static double water_level(const berth_i_packing *k, double bytes) {
  int32_t devices = k->cost->n_devices;
  double level = bytes / devices;
  for (int32_t d = 0; d < devices; d++) { /* each round fixes at least one more small device, or
                                             ends */
    double taken = 0;
    int32_t open = 0;
    for (int32_t e = 0; e < devices; e++) {
      if (k->limit[e] < level) taken += k->limit[e];
      else open++;
    }
    if (open == 0 || (bytes - taken) / open <= level) break;
    level = (bytes - taken) / open;
  }
  return level;
}

static double corrected_cap(const berth_i_packing *k) {
  double sum = 0, most = 0;
  for (int32_t i = 0; i < k->u->n; i++) {
    sum += k->u->permanent[i];
    most = fmax(most, k->u->permanent[i] + k->u->temporary[i]);
  }
  return water_level(k, sum) + most;
}

static bool within_cap(const fill *f, int32_t unit, int32_t device) {
  double held = f->load[device] + f->k->u->permanent[unit];
  return berth_i_excess(held + fmax(f->temporary[device], f->k->u->temporary[unit]), f->cap) <= 0;
}

static bool fill_one(fill *f, int32_t unit, int32_t device, bool capped) {
  if (capped && !within_cap(f, unit, device)) return false;
  if (berth_i_packing_try(f->k, unit, device) != 0) return false;
  f->load[device] += f->k->u->permanent[unit];
  f->temporary[device] = fmax(f->temporary[device], f->k->u->temporary[unit]);
  return true;
}

/* Onwards from the present device, which moves on only if the unit was too large for it; then
 * anywhere within real limits. */
static bool fill_unit(fill *f, int32_t unit, int32_t *now) {
  int32_t devices = f->k->cost->n_devices;
  for (int32_t i = 0; i < 2 * devices; i++) {
    int32_t device = (*now + i) % devices;
    if (!fill_one(f, unit, device, i < devices)) continue;
    if (device > *now && berth_i_unit_can_run(f->k->u, unit, *now)) *now = device;
    return true;
  }
  return false;
}

static bool fill_all(fill *f) {
  int32_t now = 0;
  for (int32_t i = 0; i < f->k->u->n; i++) {
    if (!fill_unit(f, i, &now)) return false;
  }
  return true;
}

static berth_status fill_packing(berth_i_packing *k, const berth_place_options *opts,
                                 berth_obstacle *why) {
  size_t devices = (size_t)k->cost->n_devices;
  berth_i_pool scratch = berth_i_pool_empty(k->cost->ctx);
  fill f = { k, NULL, NULL, corrected_cap(k) };
  f.load = berth_i_pool_zalloc(&scratch, devices, sizeof *f.load);
  f.temporary = berth_i_pool_zalloc(&scratch, devices, sizeof *f.temporary);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK && !fill_all(&f)) st = berth_i_packing_find_feasible(k, "m-topo", opts, why);
  berth_i_pool_free(&scratch);
  return st;
}

static berth_status fill_corrected(const berth_i_units *u, const berth_place_options *opts,
                                   int32_t *device, berth_obstacle *why) {
  berth_i_packing k;
  berth_status st = berth_i_packing_init(u, opts->memory, device, &k);
  if (st != BERTH_OK) return st;
  st = fill_packing(&k, opts, why);
  berth_i_pool_free(&k.pool);
  return st;
}

/* The published programs know no real limits, and their plans run where they must. */
static berth_status run_published(berth_cost *cost, const berth_place_options *opts,
                                  berth_placement **out, berth_obstacle *why) {
  berth_i_units u;
  berth_placement *p = NULL;
  berth_place_options unlimited = *opts;
  berth_status st = berth_i_units_init(cost, "m-topo", sizing(opts), opts->param_multiple, &u, why);
  if (st != BERTH_OK) return st;
  unlimited.memory = BERTH_MEMORY_NONE;
  if ((st = berth_i_placement_make(cost->ctx, cost->g->n_ops, "m-topo", true, &p)) != BERTH_OK)
    goto done;
  if ((st = fill_published(&u, opts, p->device, why)) != BERTH_OK) goto done;
  berth_oom none;
  if ((st = berth_i_plan_fifo(cost, &unlimited, p, &none, NULL)) != BERTH_OK) goto done;
  *out = p;
  p = NULL;
done:
  berth_placement_release(p);
  berth_i_units_release(&u);
  return st;
}

static berth_status run_m_topo(berth_cost *cost, const berth_place_options *opts,
                               berth_placement **out, berth_obstacle *why) {
  if (opts->variant[0]) return run_published(cost, opts, out, why);
  return berth_i_place_devices(cost, "m-topo", sizing(opts), opts, fill_corrected, out, why);
}

const berth_i_placer berth_i_placer_m_topo = {
  .about = { .name = "m-topo", .reads = "coarsen coarsen_ops transfer_weight",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Fills device after device in topological order, each up to an equal share of the "
              "memory, within real limits.",
      .source = "Jeon et al. 2020 (Baechi), corrected",
      .good = "Models that one device cannot hold: few crossings, in milliseconds.",
      .weak = "Looks at no time; devices wait for one another." },
    { BERTH_I_BAECHI_TF("the share counts outputs and workspace, real limits are never tested."),
      .weak = "May overfill a device; the simulator then reports it." },
    { BERTH_I_BAECHI_PT("the share counts permanent memory only, ops go by id, real limits are "
                        "never tested."),
      .weak = "May overfill a device, or find no place though there is room." }) },
  .run = run_m_topo,
  .members = BERTH_I_MEMBERS(
    { .order = 200, .name = "m-topo" },
    { .order = 270, .name = "m-topo coplace", .coarsen = BERTH_COARSEN_COPLACE, .coarsen_ops = 8 }),
};
