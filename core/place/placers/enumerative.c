/* The enumerative optimizer: meta-op after meta-op, each spread evenly over the devices at the
 * least cost of moving inputs. Source: Yao et al., "DOPPLER", ICLR 2026, which names it and its
 * idea; the assignment problem instead of enumeration is ours. */
#include "enumerative_internal.h"


/* Times within it are those of one operator: profiles are measured. */
#define SAME_TIME 0.01

/* ---- the walk ---- */

/* Pinned units first, so that the others take what is left; members of groups that have a place
 * count for its device. */
static berth_status list_units(berth_i_spread *w, int32_t set) {
  w->n_units = 0;
  memset(w->share, 0, (size_t)w->u->cost->n_devices * sizeof *w->share);
  for (int32_t i = w->set_at[set]; i < w->set_at[set + 1]; i++) {
    int32_t op = w->order[i], unit = w->u->of[op], at = w->packing.device[op];
    if (at != BERTH_NONE) w->share[at]++;
    else if (w->u->pin[unit] != BERTH_NONE) {
      if (!berth_i_spread_put(w, unit, w->u->pin[unit])) return BERTH_EINFEASIBLE;
    } else if (!w->listed[unit]) {
      w->listed[unit] = 1;
      w->unit[w->n_units++] = unit;
    }
  }
  return BERTH_OK;
}

static berth_status spread_all(berth_i_spread *w) {
  const char *variant = w->opts->variant;
  berth_i_spread_fn rule = strcmp(variant, "blocks") == 0   ? berth_i_spread_blocks
                           : strcmp(variant, "greedy") == 0 ? berth_i_spread_greedy
                                                            : berth_i_spread_rounds;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < w->n_sets && st == BERTH_OK; i++) {
    if ((st = berth_i_interrupted(w->u->cost->ctx)) == BERTH_OK) st = list_units(w, i);
    if (st == BERTH_OK) st = rule(w);
  }
  return st;
}

/* ---- meta-ops by depth ---- */

/* A set has one depth, so that sets in order of depth are in topological order. Counts, then fills;
 * sets keep the order of ids. */
static void sort_sets(berth_i_spread *w, const int32_t *set, const int32_t *depth, int32_t *next) {
  int32_t n = w->u->n_ops, at = 0, last = BERTH_NONE;
  memset(next, 0, ((size_t)n + 1) * sizeof *next);
  for (int32_t i = 0; i < n; i++) next[depth[i] + 1]++;
  for (int32_t i = 0; i < n; i++) next[i + 1] += next[i];
  for (int32_t i = 0; i < n; i++) w->order[next[depth[i]]++] = i;
  for (w->n_sets = 0; at < n; at++) {
    if (set[w->order[at]] != last) w->set_at[w->n_sets++] = at;
    last = set[w->order[at]];
  }
  w->set_at[w->n_sets] = n;
}

static berth_status find_sets(berth_i_spread *w) {
  const berth_cost *c = w->u->cost;
  size_t n = (size_t)w->u->n_ops;
  berth_i_pool scratch = berth_i_pool_empty(c->ctx);
  double *sum = berth_i_pool_alloc(&scratch, n, sizeof *sum);
  int32_t *set = berth_i_pool_alloc(&scratch, n, sizeof *set);
  int32_t *depth = berth_i_pool_alloc(&scratch, n, sizeof *depth);
  int32_t *next = berth_i_pool_alloc(&scratch, n + 1, sizeof *next);
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  /* over all classes of devices: infinite if one of them cannot run the op */
  for (int32_t i = 0; i < c->g->n_ops; i++) {
    sum[i] = 0;
    for (int32_t k = 0; k < c->n_classes; k++)
      sum[i] += c->op[(size_t)i * (size_t)c->n_classes + (size_t)k];
  }
  if ((st = berth_meta_ops(c->g, sum, SAME_TIME, set, NULL)) != BERTH_OK) goto done;
  if ((st = berth_depth(c->g, depth)) == BERTH_OK) sort_sets(w, set, depth, next);
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- life ---- */

static berth_status alloc_spread(berth_i_spread *w) {
  berth_i_pool *pool = &w->pool;
  size_t n = (size_t)w->u->n_ops, units = (size_t)w->u->n, d = (size_t)w->u->cost->n_devices;
  w->set_at = berth_i_pool_alloc(pool, n + 1, sizeof *w->set_at);
  w->order = berth_i_pool_alloc(pool, n, sizeof *w->order);
  w->load = berth_i_pool_zalloc(pool, d, sizeof *w->load);
  w->copied = berth_i_pool_zalloc(pool, ((size_t)w->u->cost->g->n_tensors * d + 7) / 8, 1);
  w->unit = berth_i_pool_alloc(pool, units, sizeof *w->unit);
  w->listed = berth_i_pool_zalloc(pool, units, 1);
  w->share = berth_i_pool_zalloc(pool, d, sizeof *w->share);
  w->useful = berth_i_pool_alloc(pool, d, sizeof *w->useful);
  w->column = berth_i_pool_alloc(pool, d, sizeof *w->column);
  w->chosen = berth_i_pool_alloc(pool, d, sizeof *w->chosen);
  w->price = berth_i_pool_alloc(pool, d * d, sizeof *w->price);
  w->busy = berth_i_pool_zalloc(pool, d, sizeof *w->busy);
  w->trial = berth_i_pool_zalloc(pool, d, sizeof *w->trial);
  return berth_i_pool_status(pool);
}

static berth_status fill(const berth_i_units *u, const berth_place_options *opts, int32_t *device,
                         berth_obstacle *why) {
  berth_i_spread w = { .pool = berth_i_pool_empty(u->cost->ctx), .u = u, .opts = opts };
  berth_status st = berth_i_packing_init(u, opts->memory, device, &w.packing);
  if (st != BERTH_OK) return st;
  if ((st = alloc_spread(&w)) == BERTH_OK) st = find_sets(&w);
  if (st == BERTH_OK) st = spread_all(&w);
  if (st == BERTH_EINFEASIBLE)
    st = berth_i_packing_find_feasible(&w.packing, "enumerative", opts, why);
  berth_i_pool_free(&w.pool);
  berth_i_pool_free(&w.packing.pool);
  return st;
}

static berth_status run(berth_cost *cost, const berth_place_options *opts, berth_placement **out,
                        berth_obstacle *why) {
  return berth_i_place_devices(cost, "enumerative", opts->memory, opts, fill, out, why);
}

const berth_i_placer berth_i_placer_enumerative = {
  .about = { .name = "enumerative", .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Meta-ops (runs of ops of one kind, time, depth and number of inputs) in order of "
              "depth: the ops of one go to different devices, as many as there are at a time, by "
              "the assignment of least total time to move inputs that are not there yet.",
      .source = "Yao et al. 2026 (DOPPLER), its enumerative optimizer; by Kuhn 1955 (assignment) "
                "in place of enumeration",
      .good = "Graphs whose operators are split into equal blocks, equal devices.",
      .weak = "Decides one meta-op at a time; where there are none it deals out ops of one "
              "depth." },
    { .name = "enumerate",
      .rule = "The same by trying all assignments, up to 8 devices: as good in each round, ties "
              "may fall otherwise.",
      .source = "Yao et al. 2026",
      .good = "To see that the plain form loses nothing.",
      .weak = "Slow on 8 devices; with more it is the plain form." },
    { .name = "blocks",
      .rule = "As the plain form walks, but partial products are placed with their sum: spread "
              "to 1, 2, 4, ... neighbouring devices in turn, the sum on one of them, so that the "
              "busiest device of the operator has least to do, moved inputs included.",
      .source = "einsummable runtime, its function alocate01",
      .good = "Matrix products split along the summed index: it makes dear partial products where "
              "they are summed.",
      .weak = "Balances each operator by itself." },
    { .name = "greedy",
      .rule = "Each op on the device that keeps the largest load least, where moved inputs load "
              "both ends.",
      .source = "einsummable runtime, its function alocate02",
      .good = "As a yardstick of blocks.",
      .weak = "Loads ignore the order of ops." }) },
  .run = run,
};
