/* m-TOPO: devices filled one after another along a topological order, each up to a balanced share
 * of the memory. O(ops + edges + ops x devices), except where fill_corrected falls back to pack
 * feasible.
 *
 * Source: Jeon et al., "Baechi: fast device placement of machine learning graphs", 2020, and its
 * two published programs (TensorFlow, PyTorch), which differ in what they count. The default
 * departs from them: whole groups, a share that small devices do not shrink, real limits, and a
 * device that was left is evaluated again before a refusal. */
#include "place/place_internal.h"

/* The sizes that are balanced: without accounting as TOTAL, or there would be nothing to
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

/* What an op counts for in the cap, and is charged: TensorFlow temporary + outputs, PyTorch
 * permanent only. */
static double size_of(const walk *w, int32_t op) {
  berth_i_demand d =
      berth_i_op_demand(w->u->cost->g, op, sizing(w->opts), w->opts->param_multiple);
  return w->tf ? d.permanent + d.temporary : d.permanent;
}

/* Bytes over the cap that stop the unit; negative: it fits. TensorFlow tests a group by its
 * parameters and largest temporary, strictly, though it charges the sum of the sizes; PyTorch tests
 * the sum and the largest temporary, though its cap does not count the latter. */
static double over(const walk *w, int32_t unit, int32_t device) {
  const berth_graph *g = w->u->cost->g;
  int32_t first = w->u->ops[w->u->at[unit]];
  bool group = berth_i_group(g, first) != BERTH_NONE;
  double sum = 0, temporary = 0;
  if (w->tf && !group) return w->used[device] + size_of(w, first) - w->cap;
  for (int32_t i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) {
    int32_t op = w->u->ops[i];
    sum += w->tf ? berth_i_param(g, op) * w->opts->param_multiple : size_of(w, op);
    temporary = fmax(temporary, w->tf ? berth_i_workspace(g, op)
                                      : berth_i_op_demand(g, op, sizing(w->opts),
                                                          w->opts->param_multiple).temporary);
  }
  double bytes = w->used[device] + (sum + temporary) - w->cap;
  return w->tf && bytes == 0 ? 1 : bytes; /* strict: a full byte short */
}

static void put(walk *w, int32_t unit, int32_t device) {
  for (int32_t i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) {
    w->device[w->u->ops[i]] = device;
    w->used[device] += size_of(w, w->u->ops[i]);
  }
}

/* From the present device on. Types and pins are unknown to the published programs: a unit that
 * they keep from the present device runs on the first one that takes it, and the walk stays where
 * it was. */
static bool put_unit(walk *w, int32_t unit) {
  int32_t devices = w->u->cost->n_devices;
  for (; w->now < devices; w->now++) {
    if (!berth_i_unit_can_run(w->u, unit, w->now)) break;
    if (over(w, unit, w->now) > 0) continue;
    put(w, unit, w->now);
    return true;
  }
  for (int32_t d = 0; w->now < devices && d < devices; d++) {
    if (!berth_i_unit_can_run(w->u, unit, d) || over(w, unit, d) > 0) continue;
    put(w, unit, d);
    return true;
  }
  return false;
}

/* It is the share that stops the unit, not the real limits. */
static berth_status refuse_walk(const walk *w, int32_t unit, berth_obstacle *why) {
  int32_t closest = BERTH_NONE,
          op = berth_i_unit_largest(w->u, unit, sizing(w->opts), w->opts->param_multiple);
  for (int32_t d = 0; d < w->u->cost->n_devices; d++) {
    if (!berth_i_unit_can_run(w->u, unit, d)) continue;
    if (closest == BERTH_NONE || over(w, unit, d) < over(w, unit, closest)) closest = d;
  }
  double missing = fmax(0, over(w, unit, closest));
  berth_i_infeasible(w->u->cost, "m-topo", op, closest, missing, why);
  char label[160], where[160], cap[32], lacks[32];
  return berth_i_fail(w->u->cost->ctx, BERTH_EINFEASIBLE,
                      "m-topo: no placement found: %s does not fit into the share of a device by "
                      "the rule of \"%s\", %s: on %s, where it comes closest, it is exceeded by "
                      "%s", berth_i_op_label(w->u->cost->g, op, label, sizeof label),
                      w->opts->variant, berth_quantity_format(w->cap, BERTH_BYTES, cap, sizeof cap),
                      berth_i_device_label(w->u->cost->t, closest, where, sizeof where),
                      berth_quantity_format(missing, BERTH_BYTES, lacks, sizeof lacks));
}

static berth_status fill_published(const berth_i_units *u, const berth_place_options *opts,
                                   int32_t *device, berth_obstacle *why) {
  walk w = { .u = u, .opts = opts, .tf = strcmp(opts->variant, "baechi-tf") == 0,
             .device = device };
  size_t devices = (size_t)u->cost->n_devices;
  double sum = 0, most = 0;
  berth_status st = BERTH_OK;
  if (!(w.used = berth_i_zalloc(u->cost->ctx, devices, sizeof *w.used)))
    return berth_i_nomem(u->cost->ctx);
  /* 1. The cap: an equal share, and the largest op. */
  for (int32_t op = 0; op < u->n_ops; op++) {
    sum += size_of(&w, op);
    most = fmax(most, size_of(&w, op));
  }
  w.cap = floor(sum / (double)devices) + most;
  /* 2. Device after device: TensorFlow in topological order, PyTorch by id. */
  for (int32_t i = 0; i < u->n_ops && st == BERTH_OK; i++) {
    int32_t op = w.tf ? u->cost->g->topo[i] : i;
    if (device[op] == BERTH_NONE && !put_unit(&w, u->of[op])) st = refuse_walk(&w, u->of[op], why);
  }
  berth_i_free(u->cost->ctx, w.used, devices, sizeof *w.used);
  return st;
}

/* ---- corrected ---- */

/* The level L with sum over devices of min(limit, L) = bytes: the mean, raised by what small
 * devices cannot take. */
static double water_level(const berth_i_packing *k, double bytes) {
  int32_t devices = k->cost->n_devices;
  double level = bytes / devices;
  /* each round fixes at least one more small device, or ends */
  for (int32_t d = 0; d < devices; d++) {
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

/* Units in topological order, each from the present device on within the cap, then anywhere within
 * real limits. The present device moves on only if the unit was too large for it.
 * @param load, temporary [devices] zeros: bytes of units, without copies */
static bool fill_all(berth_i_packing *k, double cap, double *load, double *temporary) {
  const berth_i_units *u = k->u;
  int32_t devices = k->cost->n_devices, now = 0;
  for (int32_t unit = 0; unit < u->n; unit++) {
    int32_t i, d = now;
    for (i = 0; i < 2 * devices; i++) {
      d = (now + i) % devices;
      double bytes = load[d] + u->permanent[unit] + fmax(temporary[d], u->temporary[unit]);
      if (i < devices && berth_i_excess(bytes, cap) > 0) continue;
      if (berth_i_packing_try(k, unit, d) == 0) break;
    }
    if (i == 2 * devices) return false;
    load[d] += u->permanent[unit];
    temporary[d] = fmax(temporary[d], u->temporary[unit]);
    if (d > now && berth_i_unit_can_run(u, unit, now)) now = d;
  }
  return true;
}

static berth_status fill_corrected(const berth_i_units *u, const berth_place_options *opts,
                                   int32_t *device, berth_obstacle *why) {
  size_t devices = (size_t)u->cost->n_devices;
  double sum = 0, most = 0;
  berth_i_packing k;
  berth_status st = berth_i_packing_init(u, opts->memory, device, &k);
  if (st != BERTH_OK) return st;
  double *load = berth_i_pool_zalloc(&k.pool, devices, sizeof *load);
  double *temporary = berth_i_pool_zalloc(&k.pool, devices, sizeof *temporary);
  if ((st = berth_i_pool_status(&k.pool)) != BERTH_OK) goto done;
  for (int32_t i = 0; i < u->n; i++) {
    sum += u->permanent[i];
    most = fmax(most, u->permanent[i] + u->temporary[i]);
  }
  if (!fill_all(&k, water_level(&k, sum) + most, load, temporary))
    st = berth_i_packing_find_feasible(&k, "m-topo", opts, why);
done:
  berth_i_pool_free(&k.pool);
  return st;
}

/* The published programs test no real limits, and their plans run without. */
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
      .weak = "Ignores times; devices wait for one another." },
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
