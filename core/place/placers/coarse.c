/* Placing a coarser graph, or one with weighted transfers, by any placer that chooses devices.
 * Structure: a view, which is a cost whose graph has sets of ops for ops (summed times, only the
 * tensors that leave their set) and whose transfers are multiplied by a weight.
 * Steps: coarsen, price, place by the view, give each op the device of its set, repair on the true
 * cost. Invariant: only the view is weighted; the answer's times are those of the caller's cost.
 * O(ops + edges) besides the transform and the placer. */
#include "graph/transforms/transform_internal.h"
#include "place/place_internal.h"
#include <stdio.h>

enum { MOST_OPS = 16, LEAST_SETS = 16 }; /* ops in a set; sets that the smallest device holds at the
                                            least */

/* The cost that a placer is given instead of the caller's. Classes of devices, topology and
 * collectives are the cost's own. */
typedef struct view {
  berth_i_pool pool;
  berth_cost *cost;   /* the caller's */
  berth_cost seen;
  berth_graph *g;     /* NULL: the graph is not coarsened */
  int32_t *map;       /* [ops] set of each op; NULL likewise */
  int32_t *tensor;    /* [tensors of g] that of the caller's graph; BERTH_NONE: it has no reader */
} view;

/* ---- the coarse graph ---- */

static int32_t graph_type(const berth_graph *g, const char *type) {
  if (g->n_types == 1 && g->types[0][0] == '\0') return 0;
  for (int32_t i = 0; i < g->n_types; i++) {
    if (strcmp(g->types[i], type) == 0) return i;
  }
  return BERTH_NONE;
}

static berth_status contract(const berth_graph *g, berth_coarsen how, berth_fuse_options *o,
                             berth_graph **out, int32_t *map) {
  if (how == BERTH_COARSEN_CHAINS) return berth_graph_fuse_chains(g, o, out, map);
  if (how == BERTH_COARSEN_COPLACE) {
    berth_coplace_options c = berth_coplace_default();
    berth_graph *grouped = NULL;
    c.share = o->share;
    berth_status st = berth_graph_coplace(g, &c, &grouped, NULL);
    if (st == BERTH_OK) st = berth_graph_fuse(grouped, o, out, map);
    berth_graph_release(grouped);
    return st;
  }
  o->scope = BERTH_FUSE_ALL;
  return berth_graph_fuse(g, o, out, map);
}

/* What a user's function allows: each device is then a class of its own. NULL: types say it all. */
static uint8_t *devices_of_ops(const berth_cost *c, berth_i_pool *pool) {
  size_t n = (size_t)c->g->n_ops, k = (size_t)c->n_devices;
  if (c->n_classes < c->n_devices) return NULL;
  uint8_t *runs = berth_i_pool_alloc(pool, n, k);
  for (size_t i = 0; runs && i < n * k; i++)
    runs[i] = !isinf(berth_i_op_time(c, (int32_t)(i / k), (int32_t)(i % k)));
  return runs;
}

static berth_status coarsen(view *v, const berth_place_options *o) {
  berth_cost *cost = v->cost;
  berth_fuse_options fuse = berth_fuse_default();
  berth_share_options *share = &fuse.share;
  berth_i_pool scratch = berth_i_pool_empty(cost->ctx);
  int32_t *types = berth_i_pool_alloc(&scratch, (size_t)cost->n_devices, sizeof *types);
  double least = INFINITY;
  share->runs = devices_of_ops(cost, &scratch);
  v->map = berth_i_pool_alloc(&v->pool, (size_t)cost->g->n_ops, sizeof *v->map);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) st = berth_i_pool_status(&v->pool);
  if (st != BERTH_OK) goto done;
  /* no set is so large that the smallest device holds only a few */
  for (int32_t d = 0; d < cost->n_devices; d++) {
    types[d] = graph_type(cost->g, cost->t->devices[d].type);
    least = fmin(least, cost->t->devices[d].memory);
  }
  share->n_devices = cost->n_devices;
  share->device_type = types;
  share->max_ops = o->coarsen_ops > 0                   ? o->coarsen_ops
                   : o->coarsen == BERTH_COARSEN_CHAINS ? INT32_MAX
                                                        : MOST_OPS;
  share->param_multiple = o->param_multiple;
  if (o->memory != BERTH_MEMORY_NONE) share->max_bytes = least / LEAST_SETS;
  st = contract(cost->g, o->coarsen, &fuse, &v->g, v->map);
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- its price ---- */

static berth_status price_ops(view *v) {
  const berth_cost *cost = v->cost;
  size_t classes = (size_t)cost->n_classes;
  v->seen.op = berth_i_pool_zalloc(&v->pool, (size_t)v->g->n_ops * classes, sizeof *v->seen.op);
  if (!v->seen.op) return berth_i_nomem(cost->ctx);
  for (int32_t op = 0; op < cost->g->n_ops; op++) {
    double *sum = v->seen.op + (size_t)v->map[op] * classes;
    for (size_t cell = 0; cell < classes; cell++)
      sum[cell] += cost->op[(size_t)op * classes + cell];
  }
  /* a user's function may forbid what types do not */
  for (int32_t op = 0; op < v->g->n_ops; op++) {
    int32_t d = 0;
    while (d < cost->n_devices && !berth_i_can_run(&v->seen, op, d)) d++;
    if (d < cost->n_devices) continue;
    char label[160];
    return berth_i_fail(cost->ctx, BERTH_EUNSUPPORTED,
                        "coarsen: by the cost function no device runs all ops of set %s",
                        berth_i_op_label(v->g, op, label, sizeof label));
  }
  return BERTH_OK;
}

static bool leaves_its_set(const view *v, int32_t tensor) {
  const berth_graph *g = v->cost->g;
  int32_t own = v->map[g->producer[tensor]];
  for (int32_t j = g->use_at[tensor]; j < g->use_at[tensor + 1]; j++) {
    if (v->map[g->use[j]] != own) return true;
  }
  return g->use_at[tensor] == g->use_at[tensor + 1];
}

/* Tensors that leave a set keep their order; behind them come those without readers. */
static berth_status find_tensors(view *v) {
  int32_t n = 0;
  v->tensor = berth_i_pool_alloc(&v->pool, (size_t)v->g->n_tensors, sizeof *v->tensor);
  if (!v->tensor) return berth_i_nomem(v->cost->ctx);
  for (int32_t t = 0; t < v->cost->g->n_tensors; t++) {
    if (leaves_its_set(v, t)) v->tensor[n++] = t;
  }
  while (n < v->g->n_tensors) v->tensor[n++] = BERTH_NONE;
  return BERTH_OK;
}

/* `width` times for each tensor, multiplied by the weight. */
static berth_status price_tensors(view *v, const double *from, size_t width, double weight,
                                  double **out) {
  const berth_graph *g = v->seen.g;
  if (!from) return BERTH_OK;
  *out = berth_i_pool_zalloc(&v->pool, (size_t)g->n_tensors, width * sizeof **out);
  if (!*out) return berth_i_nomem(v->cost->ctx);
  for (int32_t t = 0; t < g->n_tensors; t++) {
    int32_t old = v->tensor ? v->tensor[t] : t;
    for (size_t i = 0; old != BERTH_NONE && i < width; i++)
      (*out)[(size_t)t * width + i] = weight * from[(size_t)old * width + i];
  }
  return BERTH_OK;
}

static berth_status make_view(berth_cost *cost, const berth_place_options *o, view *v) {
  size_t pairs = (size_t)cost->n_devices * (size_t)cost->n_devices;
  double weight = o->transfer_weight;
  berth_status st = BERTH_OK;
  if (o->coarsen != BERTH_COARSEN_NONE && (st = coarsen(v, o)) != BERTH_OK) return st;
  v->seen = *cost;
  v->seen.refs = 1;
  v->seen.uniform = v->seen.table = NULL;
  v->seen.transfer_factor *= weight;
  if (v->g) {
    v->seen.g = v->g;
    v->seen.op = NULL;
    if ((st = price_ops(v)) != BERTH_OK) return st;
    if ((st = find_tensors(v)) != BERTH_OK) return st;
  }
  if ((st = price_tensors(v, cost->uniform, 1, weight, &v->seen.uniform)) != BERTH_OK) return st;
  return price_tensors(v, cost->table, pairs, weight, &v->seen.table);
}

/* ---- placing ---- */

/* If the sets cannot be placed, the ops have no device yet, and repair chooses all of them. */
static berth_status choose_devices(view *v, const berth_i_placer *p, const berth_place_options *o,
                                   int32_t *device) {
  berth_place_options plain = *o;
  berth_obstacle ignored = { BERTH_NONE, BERTH_NONE, 0 };
  berth_placement *coarse = NULL;
  plain.coarsen = BERTH_COARSEN_NONE;
  plain.coarsen_ops = 0;
  plain.transfer_weight = 1;
  berth_status st = p->run(&v->seen, &plain, &coarse, &ignored);
  if (st != BERTH_OK && st != BERTH_EINFEASIBLE) return st;
  for (int32_t op = 0; op < v->cost->g->n_ops; op++)
    device[op] = st == BERTH_OK ? coarse->device[v->map ? v->map[op] : op] : BERTH_NONE;
  berth_placement_release(coarse);
  return BERTH_OK;
}

/* An error of the repair step names `repair`; the caller's placer replaces that. */
static berth_status rename_error(berth_ctx *ctx, berth_status st, const char *placer) {
  static const char own[] = "repair: ";
  char text[1024];
  snprintf(text, sizeof text, "%s", berth_errmsg(ctx));
  if (strncmp(text, own, sizeof own - 1) != 0) return st;
  return berth_i_fail(ctx, st, "%s: %s", placer, text + sizeof own - 1);
}

static berth_status carry_over(berth_cost *cost, const int32_t *device, const char *placer,
                               const berth_place_options *o, berth_placement **out,
                               berth_obstacle *why) {
  berth_place_options plain = berth_i_plain_options(cost->g, o);
  berth_placement *p = NULL;
  berth_status st;
  if ((st = berth_place_repair(cost, device, &plain, &p, why)) == BERTH_OK) {
    char *own = berth_i_pool_strdup(&p->pool, placer);
    if (own) p->placer = own;
    st = berth_i_pool_status(&p->pool);
  }
  if (st == BERTH_OK) {
    *out = p;
    return st;
  }
  berth_placement_release(p);
  return rename_error(cost->ctx, st, placer);
}

berth_status berth_i_run_coarse(berth_cost *cost, const berth_i_placer *p,
                                const berth_place_options *o, berth_placement **out,
                                berth_obstacle *why) {
  size_t n = (size_t)cost->g->n_ops;
  int32_t *device = berth_i_alloc(cost->ctx, n, sizeof *device);
  view v = { .pool = berth_i_pool_empty(cost->ctx), .cost = cost };
  berth_status st = device ? make_view(cost, o, &v) : berth_i_nomem(cost->ctx);
  if (st == BERTH_OK) st = choose_devices(&v, p, o, device);
  berth_i_pool_free(&v.pool);
  berth_graph_release(v.g);
  if (st == BERTH_OK) st = carry_over(cost, device, p->about.name, o, out, why);
  berth_i_free(cost->ctx, device, n, sizeof *device);
  return st;
}
