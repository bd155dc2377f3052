/* The trivial placements that every other one is compared with: all ops on one device, in turn, at
 * random. Invariant: colocation groups are units and memory limits hold; round-robin and random
 * pack with berth_i_packing and fall back to its search for any feasible packing. */
#include "place/place_internal.h"

/* ---- single ---- */

typedef struct single_fit {
  int32_t first_unfit, n_unfit; /* unit that cannot run there; how many */
  double seconds, missing;      /* total time; bytes over the limit */
  bool left_out;
} single_fit;

static single_fit fit_on(const berth_i_units *u, int32_t device) {
  single_fit f = { BERTH_NONE, 0, 0, 0, false };
  double permanent = 0, temporary = 0;
  for (int32_t i = 0; i < u->n; i++) {
    if (!berth_i_unit_can_run(u, i, device)) {
      if (f.n_unfit++ == 0) f.first_unfit = i;
      continue;
    }
    f.seconds += berth_i_unit_time(u, i, device);
    permanent += u->permanent[i];
    temporary = fmax(temporary, u->temporary[i]);
  }
  if (u->memory == BERTH_MEMORY_NONE) return f;
  f.missing = fmax(0, berth_i_excess(permanent + temporary, u->cost->t->devices[device].memory));
  return f;
}

static bool better_single(const single_fit *a, const single_fit *b) {
  if (a->n_unfit != b->n_unfit) return a->n_unfit < b->n_unfit;
  if (a->missing != b->missing) return a->missing < b->missing;
  return a->seconds < b->seconds;
}

static berth_status refuse_single(const berth_i_units *u, int32_t device, const single_fit *f,
                                  berth_obstacle *why) {
  int32_t first = BERTH_NONE;
  if (f->n_unfit == 0)
    return berth_i_infeasible(u->cost, "single", BERTH_NONE, device, f->missing, why);
  for (int32_t i = u->at[f->first_unfit]; i < u->at[f->first_unfit + 1] && first == BERTH_NONE;
       i++) {
    if (!berth_i_can_run(u->cost, u->ops[i], device)) first = u->ops[i];
  }
  berth_i_infeasible(u->cost, "single", first, device, 0, why);
  char op[160], where[160];
  return berth_i_fail(u->cost->ctx, BERTH_EINFEASIBLE, "single: %s cannot run on %s (type or pin)",
                      berth_i_op_label(u->cost->g, first, op, sizeof op),
                      berth_i_device_label(u->cost->t, device, where, sizeof where));
}

/* The best device by sums of time and bytes first. Whether memory holds is known only after a run;
 * where it does not, the next one follows, but for those that are alike. */
static berth_status choose_single(const berth_i_units *u, const berth_place_options *opts,
                                  single_fit *fits, berth_placement *p, berth_obstacle *why) {
  const berth_cost *cost = u->cost;
  const berth_device *device = cost->t->devices;
  berth_oom oom, least = { BERTH_NONE, BERTH_NONE, 0, INFINITY };
  for (int32_t d = 0; d < cost->n_devices; d++) {
    fits[d] = fit_on(u, d);
    fits[d].left_out = opts->device != BERTH_NONE && d != opts->device;
  }
  for (;;) {
    int32_t best = BERTH_NONE;
    for (int32_t d = 0; d < cost->n_devices; d++) {
      if (fits[d].left_out) continue;
      if (best == BERTH_NONE || better_single(&fits[d], &fits[best])) best = d;
    }
    bool fails = best == BERTH_NONE || fits[best].n_unfit > 0 || fits[best].missing > 0;
    if (fails && least.op != BERTH_NONE) return berth_i_runs_out(u->cost, "single", &least, why);
    if (fails) return refuse_single(u, best, &fits[best], why);
    for (int32_t i = 0; i < p->n; i++) p->device[i] = best;
    berth_status st = berth_i_plan_fifo(u->cost, opts, p, &oom, NULL);
    if (st != BERTH_OK || oom.op == BERTH_NONE) return st;
    if (least.op == BERTH_NONE || oom.shortfall < least.shortfall) least = oom;
    for (int32_t d = 0; d < cost->n_devices; d++) {
      if (cost->class_of[d] == cost->class_of[best] && device[d].memory == device[best].memory)
        fits[d].left_out = true;
    }
  }
}

static berth_status place_single(const berth_i_units *u, const berth_place_options *opts,
                                 berth_placement **out, berth_obstacle *why) {
  berth_ctx *ctx = u->cost->ctx;
  size_t devices = (size_t)u->cost->n_devices;
  single_fit *fits = berth_i_alloc(ctx, devices, sizeof *fits);
  berth_placement *p = NULL;
  berth_status st = fits ? BERTH_OK : berth_i_nomem(ctx);
  if (st == BERTH_OK) st = berth_i_placement_make(ctx, u->n_ops, "single", true, &p);
  if (st == BERTH_OK) st = choose_single(u, opts, fits, p, why);
  if (st == BERTH_OK) *out = p;
  else berth_placement_release(p);
  berth_i_free(ctx, fits, devices, sizeof *fits);
  return st;
}

static berth_status run_single(berth_cost *cost, const berth_place_options *opts,
                               berth_placement **out, berth_obstacle *why) {
  berth_i_units u;
  berth_status st = berth_i_units_init(cost, "single", opts->memory, opts->param_multiple, &u, why);
  if (st != BERTH_OK) return st;
  st = place_single(&u, opts, out, why);
  berth_i_units_release(&u);
  return st;
}

/* ---- round-robin and random ---- */

/* Units in topological order of their first ops: each on the device whose number is the position of
 * that op modulo the devices, or the next that it fits on; or on any that it fits on, at random. If
 * one fits nowhere, any feasible packing. */
static berth_status pack_by(const berth_i_units *u, const berth_place_options *opts,
                            const char *name, bool random, int32_t *device,
                            berth_obstacle *why) {
  const berth_graph *g = u->cost->g;
  int32_t devices = u->cost->n_devices, next = 0;
  berth_i_packing k;
  berth_status st = berth_i_packing_init(u, opts->memory, device, &k);
  if (st != BERTH_OK) return st;
  berth_rng rng;
  berth_rng_init(&rng, opts->seed, 0);
  int32_t *fits = berth_i_pool_alloc(&k.pool, (size_t)devices, sizeof *fits);
  if (!fits) st = berth_i_nomem(u->cost->ctx);
  for (int32_t i = 0; i < g->n_ops && st == BERTH_OK; i++) {
    if (u->of[g->topo[i]] != next) continue;
    int32_t unit = next++, n = 0;
    for (int32_t d = 0; d < devices && (random || n == 0); d++) {
      int32_t to = random ? d : (i + d) % devices;
      if (berth_i_packing_try(&k, unit, to) != 0) continue;
      if (random) berth_i_packing_pop(&k);
      fits[n++] = to;
    }
    if (random && n > 0) berth_i_packing_try(&k, unit, fits[berth_rng_below(&rng, n)]);
    if (n > 0) continue;
    st = berth_i_packing_find_feasible(&k, name, opts, why);
    break;
  }
  berth_i_pool_free(&k.pool);
  return st;
}

static berth_status fill_in_turn(const berth_i_units *u, const berth_place_options *opts,
                                 int32_t *device, berth_obstacle *why) {
  return pack_by(u, opts, "round-robin", false, device, why);
}

static berth_status fill_at_random(const berth_i_units *u, const berth_place_options *opts,
                                   int32_t *device, berth_obstacle *why) {
  return pack_by(u, opts, "random", true, device, why);
}

static berth_status run_round_robin(berth_cost *cost, const berth_place_options *opts,
                                    berth_placement **out, berth_obstacle *why) {
  return berth_i_place_devices(cost, "round-robin", opts->memory, opts, fill_in_turn, out, why);
}

static berth_status run_random(berth_cost *cost, const berth_place_options *opts,
                               berth_placement **out, berth_obstacle *why) {
  return berth_i_place_devices(cost, "random", opts->memory, opts, fill_at_random, out, why);
}

const berth_i_placer berth_i_placer_single = {
  .about = { .name = "single", .reads = "device", .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "All ops on the device that runs them in the least total time within its memory; "
              "option device: on that one.",
      .source = "trivial baseline",
      .good = "First: what does not beat it is not worth several devices.",
      .weak = "Refuses a graph that is too large for one device." }) },
  .run = run_single,
  .members = BERTH_I_MEMBERS({ .order = 10, .name = "single", .any_size = true }),
};
const berth_i_placer berth_i_placer_round_robin = {
  .about = { .name = "round-robin", .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Op k in topological order goes to device k modulo n, or the next one that can take "
              "it; colocation groups as wholes.",
      .source = "trivial baseline",
      .good = "Shows what transfers cost when they are not avoided.",
      .weak = "Ignores times and tensors." }) },
  .run = run_round_robin,
  .members = BERTH_I_MEMBERS({ .order = 20, .name = "round-robin", .any_size = true }),
};
const berth_i_placer berth_i_placer_random = {
  .about = { .name = "random", .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Every op on any of the devices that can take it, with equal chance (seed); "
              "colocation groups as wholes.",
      .source = "trivial baseline",
      .good = "As a floor for comparisons, and as a start for search.",
      .weak = "Ignores times and tensors." }) },
  .run = run_random,
};
