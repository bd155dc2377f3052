/* The trivial answers that every other one is measured against: single, round-robin, random. */
#include "place/place_internal.h"


/* ---- single ---- */

typedef struct single_fit {
  int32_t first_unfit, n_unfit; /* unit that cannot run there; how many */
  double seconds, missing;      /* total time; bytes over the limit */
  bool tried;
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

/* @return BERTH_NONE: all are tried */
static int32_t next_single(const berth_cost *cost, const single_fit *fits) {
  int32_t best = BERTH_NONE;
  for (int32_t d = 0; d < cost->n_devices; d++) {
    if (!fits[d].tried && (best == BERTH_NONE || better_single(&fits[d], &fits[best]))) best = d;
  }
  return best;
}

/* Devices that are alike fare alike. */
static void mark_tried(const berth_cost *cost, int32_t device, single_fit *fits) {
  for (int32_t d = 0; d < cost->n_devices; d++) {
    if (cost->class_of[d] != cost->class_of[device]) continue;
    if (cost->t->devices[d].memory == cost->t->devices[device].memory) fits[d].tried = true;
  }
}

static berth_status run_on(berth_cost *cost, const berth_place_options *opts, int32_t device,
                           berth_placement *p, berth_oom *oom) {
  for (int32_t i = 0; i < p->n; i++) p->device[i] = device;
  return berth_i_plan_fifo(cost, opts, p, oom, NULL);
}

/* The best device by the sizes first; whether memory holds, the run shows. */
static berth_status choose_single(const berth_i_units *u, const berth_place_options *opts,
                                  single_fit *fits, berth_placement *p, berth_obstacle *why) {
  berth_oom oom, least = { BERTH_NONE, BERTH_NONE, 0, INFINITY };
  int32_t d = next_single(u->cost, fits), first = d;
  berth_status st;
  for (; d != BERTH_NONE && fits[d].n_unfit == 0 && fits[d].missing == 0;
       d = next_single(u->cost, fits)) {
    if ((st = run_on(u->cost, opts, d, p, &oom)) != BERTH_OK || oom.op == BERTH_NONE) return st;
    if (oom.shortfall < least.shortfall) least = oom;
    mark_tried(u->cost, d, fits);
  }
  if (least.op != BERTH_NONE) return berth_i_runs_out(u->cost, "single", &least, why);
  return refuse_single(u, first, &fits[first], why);
}

static berth_status place_single(const berth_i_units *u, const berth_place_options *opts,
                                 berth_placement **out, berth_obstacle *why) {
  berth_ctx *ctx = u->cost->ctx;
  size_t devices = (size_t)u->cost->n_devices;
  single_fit *fits = berth_i_alloc(ctx, devices, sizeof *fits);
  berth_placement *p = NULL;
  berth_status st = fits ? BERTH_OK : berth_i_nomem(ctx);
  if (st == BERTH_OK) st = berth_i_placement_make(ctx, u->n_ops, "single", true, &p);
  for (int32_t d = 0; d < u->cost->n_devices && st == BERTH_OK; d++) {
    fits[d] = fit_on(u, d);
    fits[d].tried = opts->device != BERTH_NONE && d != opts->device;
  }
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

typedef bool (*choose_fn)(berth_i_packing *k, int32_t unit, int32_t place, berth_rng *rng,
                          int32_t *fits);

/* place: of the unit's first op in topological order */
static bool put_in_turn(berth_i_packing *k, int32_t unit, int32_t place, berth_rng *rng,
                        int32_t *fits) {
  int32_t devices = k->cost->n_devices;
  (void)rng;
  (void)fits;
  for (int32_t i = 0; i < devices; i++) {
    if (berth_i_packing_try(k, unit, (place + i) % devices) == 0) return true;
  }
  return false;
}

static bool put_at_random(berth_i_packing *k, int32_t unit, int32_t place, berth_rng *rng,
                          int32_t *fits) {
  int32_t n = 0;
  (void)place;
  for (int32_t d = 0; d < k->cost->n_devices; d++) {
    if (berth_i_packing_try(k, unit, d) != 0) continue;
    berth_i_packing_pop(k);
    fits[n++] = d;
  }
  return n > 0 && berth_i_packing_try(k, unit, fits[berth_rng_below(rng, n)]) == 0;
}

static bool put_all(berth_i_packing *k, choose_fn choose, uint64_t seed, int32_t *fits) {
  const berth_graph *g = k->cost->g;
  berth_rng rng;
  int32_t next = 0;
  berth_rng_init(&rng, seed, 0);
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (k->u->of[g->topo[i]] != next) continue;
    if (!choose(k, next++, i, &rng, fits)) return false;
  }
  return true;
}

static berth_status pack_by(const berth_i_units *u, const berth_place_options *opts,
                            const char *name, choose_fn choose, int32_t *device,
                            berth_obstacle *why) {
  berth_i_packing k;
  size_t devices = (size_t)u->cost->n_devices;
  int32_t *fits = NULL;
  berth_status st = berth_i_packing_init(u, opts->memory, device, &k);
  if (st != BERTH_OK) return st;
  if (!(fits = berth_i_alloc(u->cost->ctx, devices, sizeof *fits)))
    st = berth_i_nomem(u->cost->ctx);
  else
    st = put_all(&k, choose, opts->seed, fits) ? BERTH_OK
                                               : berth_i_packing_find_feasible(&k, name, opts, why);
  berth_i_free(u->cost->ctx, fits, devices, sizeof *fits);
  berth_i_pool_free(&k.pool);
  return st;
}

static berth_status fill_in_turn(const berth_i_units *u, const berth_place_options *opts,
                                 int32_t *device, berth_obstacle *why) {
  return pack_by(u, opts, "round-robin", put_in_turn, device, why);
}

static berth_status fill_at_random(const berth_i_units *u, const berth_place_options *opts,
                                   int32_t *device, berth_obstacle *why) {
  return pack_by(u, opts, "random", put_at_random, device, why);
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
  .members = BERTH_I_MEMBERS({ .order = 10, .name = "single" }),
};
const berth_i_placer berth_i_placer_round_robin = {
  .about = { .name = "round-robin", .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Op k in topological order goes to device k modulo n, or the next one that can take "
              "it; colocation groups as wholes.",
      .source = "trivial baseline",
      .good = "Shows what transfers cost when they are not avoided.",
      .weak = "Looks at no time and no tensor." }) },
  .run = run_round_robin,
  .members = BERTH_I_MEMBERS({ .order = 20, .name = "round-robin" }),
};
const berth_i_placer berth_i_placer_random = {
  .about = { .name = "random", .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Every op on any of the devices that can take it, with equal chance (seed); "
              "colocation groups as wholes.",
      .source = "trivial baseline",
      .good = "As a floor for comparisons, and as a start for search.",
      .weak = "Looks at no time and no tensor." }) },
  .run = run_random,
};
