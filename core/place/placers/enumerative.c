/* The enumerative optimizer: meta-op after meta-op, each spread evenly over the devices at the least cost of moving inputs.
 * Source: Yao et al., "DOPPLER", ICLR 2026, which names it and its idea; the assignment problem instead of enumeration is ours. */
#include "enumerative_internal.h"

static const char *const variants[] = { "", "enumerate", "blocks", "greedy", NULL };

/* Times within it are those of one operator: profiles are measured. */
#define SAME_TIME 0.01

/* ---- prices ------------------------------------------------------------------------------ */

static double inputs_to(const berth_i_walk *w, int32_t op, int32_t device) {
  const berth_cost *c = w->u->cost;
  double sum = 0;
  int32_t i;
  for (i = c->g->in_at[op]; i < c->g->in_at[op + 1]; i++) {
    int32_t t = c->g->in[i], src = w->packing.device[c->g->producer[t]];
    if (src != BERTH_NONE && !berth_i_walk_is_copied(w, t, device)) sum += berth_i_transfer_time(c, t, src, device);
  }
  return sum;
}

/* Consumers come before their producer only with colocation groups. */
static double outputs_from(const berth_i_walk *w, int32_t op, int32_t device) {
  const berth_cost *c = w->u->cost;
  double sum = 0;
  int32_t i, j;
  for (i = c->g->out_at[op]; i < c->g->out_at[op + 1]; i++) {
    int32_t t = c->g->out[i];
    for (j = c->g->use_at[t]; j < c->g->use_at[t + 1]; j++) {
      int32_t dst = w->packing.device[c->g->use[j]];
      if (dst != BERTH_NONE) sum += berth_i_transfer_time(c, t, device, dst);
    }
  }
  return sum;
}

double berth_i_walk_moves(const berth_i_walk *w, int32_t unit, int32_t device) {
  double sum = 0;
  int32_t i;
  for (i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) {
    sum += inputs_to(w, w->u->ops[i], device) + outputs_from(w, w->u->ops[i], device);
  }
  return sum;
}

static double least_time(const berth_i_units *u, int32_t unit) {
  double least = INFINITY;
  int32_t d;
  for (d = 0; d < u->cost->n_devices; d++) {
    if (berth_i_unit_can_run(u, unit, d)) least = fmin(least, berth_i_unit_time(u, unit, d));
  }
  return least;
}

/* Where devices are unlike, the time that a unit loses on a slow one counts like a transfer. */
static berth_i_price price_of(const berth_i_walk *w, int32_t unit, int32_t device, double least) {
  berth_i_price p = { 1, 0, 0 };
  double moves;
  if (!berth_i_unit_can_run(w->u, unit, device)) return p;
  moves = berth_i_walk_moves(w, unit, device);
  if (isinf(moves)) return p;
  p.refused = 0;
  p.cost = moves + (berth_i_unit_time(w->u, unit, device) - least);
  p.tie = w->load[device];
  return p;
}

/* ---- putting units ----------------------------------------------------------------------- */

static void mark_copies(berth_i_walk *w, int32_t op, int32_t device) {
  const berth_graph *g = w->u->cost->g;
  int32_t i;
  for (i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    size_t bit = (size_t)device * (size_t)g->n_tensors + (size_t)g->in[i];
    w->copied[bit / 8] |= (uint8_t)(1u << (bit % 8));
  }
}

bool berth_i_walk_settle(berth_i_walk *w, int32_t unit, int32_t device) {
  int32_t i;
  if (berth_i_packing_try(&w->packing, unit, device) != 0) return false;
  w->load[device] += berth_i_unit_time(w->u, unit, device);
  w->share[device]++;
  for (i = w->u->at[unit]; i < w->u->at[unit + 1]; i++) mark_copies(w, w->u->ops[i], device);
  return true;
}

static bool takes(berth_i_walk *w, int32_t unit, int32_t device) {
  if (berth_i_packing_try(&w->packing, unit, device) != 0) return false;
  berth_i_packing_pop(&w->packing);
  return true;
}

bool berth_i_walk_cheapest(berth_i_walk *w, int32_t unit) {
  double least = least_time(w->u, unit);
  berth_i_price best = { 1, 0, 0 };
  int32_t d, where = BERTH_NONE;
  for (d = 0; d < w->u->cost->n_devices; d++) {
    berth_i_price p = price_of(w, unit, d, least);
    if (p.refused > 0 || !takes(w, unit, d)) continue;
    if (where != BERTH_NONE && berth_i_price_compare(p, best) >= 0) continue;
    best = p;
    where = d;
  }
  return where != BERTH_NONE && berth_i_walk_settle(w, unit, where);
}

/* ---- one meta-op in rounds ---------------------------------------------------------------- */

/* Devices that can run some unit of the meta-op by type.  @return how many */
static int32_t find_useful(berth_i_walk *w) {
  int32_t d, i, n = 0;
  for (d = 0; d < w->u->cost->n_devices; d++) {
    for (i = 0; i < w->n_units && !berth_i_unit_can_run(w->u, w->unit[i], d); i++) {}
    n += w->useful[d] = i < w->n_units;
  }
  return n;
}

/* Useful devices that have had no more than `round` units of the meta-op: each gets its next one when all have had theirs. */
static int32_t find_columns(berth_i_walk *w, int32_t round) {
  int32_t d, n = 0;
  for (d = 0; d < w->u->cost->n_devices; d++) {
    if (w->useful[d] && w->share[d] <= round) w->column[n++] = d;
  }
  return n;
}

static berth_status assign_round(berth_i_walk *w, int32_t rows, int32_t columns) {
  int32_t i, j;
  for (i = 0; i < rows; i++) {
    double least = least_time(w->u, w->unit[i]);
    for (j = 0; j < columns; j++) w->price[(size_t)i * (size_t)columns + (size_t)j] = price_of(w, w->unit[i], w->column[j], least);
  }
  if (strcmp(w->opts->variant, "enumerate") == 0 && columns <= BERTH_I_MOST_PERMUTED) {
    berth_i_assignment_enumerate(rows, columns, w->price, w->chosen);
    return BERTH_OK;
  }
  return berth_i_assignment(w->u->cost->ctx, rows, columns, w->price, w->chosen);
}

/* Those that found a place leave the list.  @return how many */
static int32_t settle_round(berth_i_walk *w, int32_t rows) {
  int32_t i, left = 0;
  for (i = 0; i < w->n_units; i++) {
    if (i < rows && berth_i_walk_settle(w, w->unit[i], w->column[w->chosen[i]])) continue;
    w->unit[left++] = w->unit[i];
  }
  i = w->n_units - left;
  w->n_units = left;
  return i;
}

/* Memory, pins or types stand against an even spread. */
static berth_status settle_first(berth_i_walk *w) {
  if (!berth_i_walk_cheapest(w, w->unit[0])) return BERTH_EINFEASIBLE;
  w->n_units--;
  memmove(w->unit, w->unit + 1, (size_t)w->n_units * sizeof *w->unit);
  return BERTH_OK;
}

static berth_status walk_rounds(berth_i_walk *w) {
  int32_t round, useful = find_useful(w);
  berth_status st = BERTH_OK;
  for (round = 0; w->n_units > 0 && st == BERTH_OK; round++) {
    int32_t columns = find_columns(w, round), rows = columns < w->n_units ? columns : w->n_units;
    if ((st = assign_round(w, rows, columns)) != BERTH_OK) return st;
    if (settle_round(w, rows) == 0 && columns == useful) st = settle_first(w);
  }
  return st;
}

/* ---- the walk ----------------------------------------------------------------------------- */

/* Pinned units first, so that the others take what is left; members of groups that have a place count for its device. */
static berth_status list_units(berth_i_walk *w, int32_t set) {
  int32_t i;
  w->n_units = 0;
  memset(w->share, 0, (size_t)w->u->cost->n_devices * sizeof *w->share);
  for (i = w->set_at[set]; i < w->set_at[set + 1]; i++) {
    int32_t op = w->order[i], unit = w->u->of[op], at = w->packing.device[op];
    if (at != BERTH_NONE) w->share[at]++;
    else if (w->u->pin[unit] != BERTH_NONE) {
      if (!berth_i_walk_settle(w, unit, w->u->pin[unit])) return BERTH_EINFEASIBLE;
    } else if (!w->listed[unit]) {
      w->listed[unit] = 1;
      w->unit[w->n_units++] = unit;
    }
  }
  return BERTH_OK;
}

static berth_i_walk_fn rule_of(const char *variant) {
  if (strcmp(variant, "blocks") == 0) return berth_i_walk_blocks;
  return strcmp(variant, "greedy") == 0 ? berth_i_walk_greedy : walk_rounds;
}

static berth_status walk_all(berth_i_walk *w) {
  berth_i_walk_fn rule = rule_of(w->opts->variant);
  berth_status st = BERTH_OK;
  int32_t i;
  for (i = 0; i < w->n_sets && st == BERTH_OK; i++) {
    if ((st = berth_i_interrupted(w->u->cost->ctx)) == BERTH_OK) st = list_units(w, i);
    if (st == BERTH_OK) st = rule(w);
  }
  return st;
}

/* ---- meta-ops by depth --------------------------------------------------------------------- */

/* Over all classes of devices: infinite if one of them cannot run the op. */
static void sum_times(const berth_cost *c, double *sum) {
  int32_t i, k;
  for (i = 0; i < c->g->n_ops; i++) {
    for (sum[i] = 0, k = 0; k < c->n_classes; k++) sum[i] += c->op[(size_t)i * (size_t)c->n_classes + (size_t)k];
  }
}

/* A set has one depth, so that sets in order of depth are in topological order. Counts, then fills; sets keep the order of ids. */
static void sort_sets(berth_i_walk *w, const int32_t *set, const int32_t *depth, int32_t *next) {
  int32_t i, n = w->u->n_ops, at = 0, last = BERTH_NONE;
  memset(next, 0, ((size_t)n + 1) * sizeof *next);
  for (i = 0; i < n; i++) next[depth[i] + 1]++;
  for (i = 0; i < n; i++) next[i + 1] += next[i];
  for (i = 0; i < n; i++) w->order[next[depth[i]]++] = i;
  for (w->n_sets = 0; at < n; at++) {
    if (set[w->order[at]] != last) w->set_at[w->n_sets++] = at;
    last = set[w->order[at]];
  }
  w->set_at[w->n_sets] = n;
}

static berth_status find_sets(berth_i_walk *w) {
  const berth_cost *c = w->u->cost;
  size_t n = (size_t)w->u->n_ops;
  int32_t *set = NULL, *depth = NULL, *next = NULL;
  double *sum = NULL;
  berth_status st = BERTH_ENOMEM;
  if (!(sum = berth_i_alloc(c->ctx, n, sizeof *sum))) goto done;
  if (!(set = berth_i_alloc(c->ctx, n, sizeof *set))) goto done;
  if (!(depth = berth_i_alloc(c->ctx, n, sizeof *depth))) goto done;
  if (!(next = berth_i_alloc(c->ctx, n + 1, sizeof *next))) goto done;
  sum_times(c, sum);
  if ((st = berth_meta_ops(c->g, sum, SAME_TIME, set, NULL)) != BERTH_OK) goto done;
  if ((st = berth_depth(c->g, depth)) == BERTH_OK) sort_sets(w, set, depth, next);
done:
  berth_i_free(c->ctx, sum, n, sizeof *sum);
  berth_i_free(c->ctx, set, n, sizeof *set);
  berth_i_free(c->ctx, depth, n, sizeof *depth);
  berth_i_free(c->ctx, next, n + 1, sizeof *next);
  return st == BERTH_ENOMEM ? berth_i_nomem(c->ctx) : st;
}

/* ---- life ---------------------------------------------------------------------------------- */

static bool alloc_walk(berth_i_walk *w) {
  berth_ctx *ctx = w->u->cost->ctx;
  size_t n = (size_t)w->u->n_ops, units = (size_t)w->u->n, d = (size_t)w->u->cost->n_devices;
  w->n_bits = ((size_t)w->u->cost->g->n_tensors * d + 7) / 8;
  return (w->set_at = berth_i_alloc(ctx, n + 1, sizeof *w->set_at)) != NULL
      && (w->order = berth_i_alloc(ctx, n, sizeof *w->order)) != NULL
      && (w->load = berth_i_zalloc(ctx, d, sizeof *w->load)) != NULL
      && (w->copied = berth_i_zalloc(ctx, w->n_bits, 1)) != NULL
      && (w->unit = berth_i_alloc(ctx, units, sizeof *w->unit)) != NULL
      && (w->listed = berth_i_zalloc(ctx, units, 1)) != NULL
      && (w->share = berth_i_zalloc(ctx, d, sizeof *w->share)) != NULL
      && (w->useful = berth_i_alloc(ctx, d, sizeof *w->useful)) != NULL
      && (w->column = berth_i_alloc(ctx, d, sizeof *w->column)) != NULL
      && (w->chosen = berth_i_alloc(ctx, d, sizeof *w->chosen)) != NULL
      && (w->price = berth_i_alloc(ctx, d * d, sizeof *w->price)) != NULL
      && (w->busy = berth_i_zalloc(ctx, d, sizeof *w->busy)) != NULL
      && (w->trial = berth_i_zalloc(ctx, d, sizeof *w->trial)) != NULL;
}

static void free_walk(berth_i_walk *w) {
  berth_ctx *ctx = w->u->cost->ctx;
  size_t n = (size_t)w->u->n_ops, units = (size_t)w->u->n, d = (size_t)w->u->cost->n_devices;
  berth_i_free(ctx, w->set_at, n + 1, sizeof *w->set_at);
  berth_i_free(ctx, w->order, n, sizeof *w->order);
  berth_i_free(ctx, w->load, d, sizeof *w->load);
  berth_i_free(ctx, w->copied, w->n_bits, 1);
  berth_i_free(ctx, w->unit, units, sizeof *w->unit);
  berth_i_free(ctx, w->listed, units, 1);
  berth_i_free(ctx, w->share, d, sizeof *w->share);
  berth_i_free(ctx, w->useful, d, sizeof *w->useful);
  berth_i_free(ctx, w->column, d, sizeof *w->column);
  berth_i_free(ctx, w->chosen, d, sizeof *w->chosen);
  berth_i_free(ctx, w->price, d * d, sizeof *w->price);
  berth_i_free(ctx, w->busy, d, sizeof *w->busy);
  berth_i_free(ctx, w->trial, d, sizeof *w->trial);
}

static berth_status fill(const berth_i_units *u, const berth_place_options *opts, int32_t *device, berth_obstacle *why) {
  berth_i_walk w = { 0 };
  berth_status st = berth_i_packing_init(u, opts->memory, device, &w.packing);
  if (st != BERTH_OK) return st;
  w.u = u;
  w.opts = opts;
  st = alloc_walk(&w) ? find_sets(&w) : berth_i_nomem(u->cost->ctx);
  if (st == BERTH_OK) st = walk_all(&w);
  if (st == BERTH_EINFEASIBLE) st = berth_i_packing_rescue(&w.packing, "enumerative", opts, why);
  free_walk(&w);
  berth_i_packing_release(&w.packing);
  return st;
}

static berth_status run(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why) {
  return berth_i_place_devices(cost, "enumerative", opts->memory, opts, fill, out, why);
}

const berth_i_placer berth_i_placer_enumerative = { "enumerative", variants, run };
