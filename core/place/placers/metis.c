/* Partitioning by METIS, one part per device. The pipeline: a graph of units, weighed by the
 * transfers between them (list_edges, fill_csr); shares of the work by device speed, and of memory
 * where it counts (find_shares, call_metis); parts to devices that are near (part_map.c); then a
 * packing that keeps limits, units near their neighbours (make_fit). Without METIS where there is
 * nothing to cut: longest unit first, where it ends first.
 *
 * O(edges) and METIS. Source: Karypis, Kumar, "Multilevel k-way partitioning scheme for irregular
 * graphs", 1998. */
#include "extern/metis_internal.h"
#include "base/sort_internal.h"
#include "place/place_internal.h"

enum { INT_TOTAL = 1 << 27 }; /* what weights are scaled to: sums stay far below 2^31, an op is
                                 rounded by 1e-8 of the whole */

typedef struct edge {
  int32_t a, b; /* units, a < b */
  double weight;
} edge;

typedef struct model {
  berth_i_pool pool;
  const berth_i_units *u;
  const berth_place_options *opts;
  edge *edges, *sorted; /* [edges of the graph] */
  size_t n_edges;
  double *seconds;                      /* [n] mean time of each unit */
  int32_t *part_device, parts;          /* devices that can run something */
  double *speed;                        /* [devices] share of the work, summing to 1 */
  int32_t *preferred;                   /* [n] device */
  int32_t *at, *adjacent, *edge_weight; /* CSR of the units */
} model;

/* ---- the graph of units ---- */

/* A tensor read by k other units becomes k edges that together weigh what it is expected to cost
 * when everything is put on D devices at random: it crosses to a device once, so k edges of full
 * weight would count it too often. */
static double star_factor(int32_t k, int32_t devices) {
  double d = devices;
  return d * (1 - pow(1 - 1 / d, k)) / k;
}

static void add_tensor(model *m, int32_t tensor, double seconds, int32_t *stamp) {
  const berth_graph *g = m->u->cost->g;
  int32_t src = m->u->of[g->producer[tensor]];
  size_t first = m->n_edges;
  stamp[src] = tensor;
  for (int32_t i = g->use_at[tensor]; i < g->use_at[tensor + 1]; i++) {
    int32_t dst = m->u->of[g->use[i]];
    if (stamp[dst] == tensor) continue;
    stamp[dst] = tensor;
    m->edges[m->n_edges].a = src < dst ? src : dst;
    m->edges[m->n_edges++].b = src < dst ? dst : src;
  }
  if (m->n_edges == first) return;
  double factor = isfinite(seconds) ? star_factor((int32_t)(m->n_edges - first), m->parts) : 0;
  for (; first < m->n_edges; first++) m->edges[first].weight = factor > 0 ? seconds * factor : 0;
}

static void sort_by(const edge *from, edge *to, size_t n, int32_t keys, bool second,
                    int32_t *count) {
  memset(count, 0, ((size_t)keys + 1) * sizeof *count);
  for (size_t i = 0; i < n; i++) count[(second ? from[i].b : from[i].a) + 1]++;
  for (int32_t v = 0; v < keys; v++) count[v + 1] += count[v];
  for (size_t i = 0; i < n; i++) to[count[second ? from[i].b : from[i].a]++] = from[i];
}

/* Edges by (a, b), parallel ones summed. */
static berth_status list_edges(model *m) {
  berth_cost *cost = m->u->cost;
  berth_i_pool scratch = berth_i_pool_empty(cost->ctx);
  double *seconds = berth_i_pool_alloc(&scratch, (size_t)cost->g->n_tensors, sizeof *seconds);
  int32_t *stamp = berth_i_pool_alloc(&scratch, (size_t)m->u->n + 1, sizeof *stamp);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) st = berth_cost_mean_transfers(cost, BERTH_AVERAGE_TEXTBOOK, seconds);
  if (st != BERTH_OK) goto done;
  for (int32_t i = 0; i < m->u->n; i++) stamp[i] = BERTH_NONE;
  for (int32_t t = 0; t < cost->g->n_tensors; t++) add_tensor(m, t, seconds[t], stamp);
  size_t n = 0, all = m->n_edges;
  sort_by(m->edges, m->sorted, all, m->u->n, true, stamp);
  sort_by(m->sorted, m->edges, all, m->u->n, false, stamp);
  for (size_t i = 0; i < all; i++) {
    edge *last = n > 0 ? &m->edges[n - 1] : NULL;
    if (last && last->a == m->edges[i].a && last->b == m->edges[i].b)
      last->weight += m->edges[i].weight;
    else m->edges[n++] = m->edges[i];
  }
  m->n_edges = n;
done:
  berth_i_pool_free(&scratch);
  return st;
}

static int32_t scaled(double value, double total, int32_t least) {
  double w = total > 0 ? nearbyint(value / total * INT_TOTAL) : 0;
  return w < least ? least : (int32_t)w;
}

/* Lists are to be ascending, and edges come by (a, b): filled from the last, larger neighbours
 * first, then the smaller. */
static void fill_csr(model *m) {
  int32_t n = m->u->n, *at = m->at;
  double total = 0;
  memset(at, 0, ((size_t)n + 1) * sizeof *at);
  for (size_t i = 0; i < m->n_edges; i++) {
    total += m->edges[i].weight;
    at[m->edges[i].a]++;
    at[m->edges[i].b]++;
  }
  for (int32_t v = 0; v < n; v++) at[v + 1] += at[v];
  for (int smaller = 0; smaller < 2; smaller++) {
    for (size_t i = m->n_edges; i-- > 0;) {
      const edge *e = &m->edges[i];
      int32_t k = --at[smaller ? e->b : e->a];
      m->adjacent[k] = smaller ? e->a : e->b;
      m->edge_weight[k] = scaled(e->weight, total, 1);
    }
  }
}

/* ---- weights and shares ---- */

/* The share of a device: how many times faster than the mean it is on what it can run; at most the
 * share of the work that it can run at all. */
static void find_shares(model *m) {
  const berth_i_units *u = m->u;
  double total = 0, sum = 0;
  for (int32_t i = 0; i < u->n; i++) {
    int32_t k = 0;
    double all = 0;
    for (int32_t d = 0; d < u->cost->n_devices; d++) {
      if (!berth_i_unit_can_run(u, i, d)) continue;
      all += berth_i_unit_time(u, i, d);
      k++;
    }
    total += m->seconds[i] = all / k;
  }
  for (int32_t d = 0; d < u->cost->n_devices; d++) {
    double mean = 0, here = 0;
    bool some = false;
    for (int32_t i = 0; i < u->n; i++) {
      if (!berth_i_unit_can_run(u, i, d)) continue;
      some = true;
      mean += m->seconds[i];
      here += berth_i_unit_time(u, i, d);
    }
    if (!some) continue;
    m->part_device[m->parts++] = d;
    m->speed[d] = here > 0 && mean > 0 ? mean / here * (total > 0 ? mean / total : 1) : 1;
  }
  for (int32_t i = 0; i < m->parts; i++) sum += m->speed[m->part_device[i]];
  for (int32_t i = 0; i < m->parts; i++) m->speed[m->part_device[i]] /= sum;
}

static bool memory_counts(const model *m, double bytes) {
  if (m->opts->memory == BERTH_MEMORY_NONE || !(bytes > 0)) return false;
  for (int32_t i = 0; i < m->parts; i++) {
    if (!isinf(m->u->cost->t->devices[m->part_device[i]].memory)) return true;
  }
  return false;
}

/* METIS divides by shares: none may vanish. */
static void even_out(double *share, int32_t parts, int32_t step) {
  double sum = 0;
  for (int32_t i = 0; i < parts; i++) sum += share[i * step] = fmax(share[i * step], 1e-3 / parts);
  for (int32_t i = 0; i < parts; i++) share[i * step] /= sum;
}

/* Memory as second constraint: targets in proportion to what is free, so that the same slack is
 * left on all. @return that slack */
static double memory_shares(const model *m, double bytes, double *share) {
  double room = 0, most = 0;
  for (int32_t i = 0; i < m->u->n; i++) most = fmax(most, m->u->temporary[i]);
  for (int32_t i = 0; i < m->parts; i++) {
    double limit = m->u->cost->t->devices[m->part_device[i]].memory - most;
    share[i * 2 + 1] = fmin(fmax(limit, 0), bytes);
    room += share[i * 2 + 1];
  }
  for (int32_t i = 0; i < m->parts; i++)
    share[i * 2 + 1] = room > 0 ? share[i * 2 + 1] / room : 1.0 / m->parts;
  even_out(share + 1, m->parts, 2);
  return fmax(room / bytes, 1.001);
}

static berth_status call_metis(model *m) {
  const berth_i_units *u = m->u;
  berth_i_pool scratch = berth_i_pool_empty(u->cost->ctx);
  double bytes = 0, total = 0, slack[2] = { 1.03, 0 };
  for (int32_t i = 0; i < u->n; i++) {
    bytes += u->permanent[i];
    total += m->seconds[i];
  }
  int32_t constraints = memory_counts(m, bytes) ? 2 : 1;
  size_t k = (size_t)constraints;
  int32_t *weight = berth_i_pool_alloc(&scratch, (size_t)u->n * k, sizeof *weight);
  double *share = berth_i_pool_alloc(&scratch, (size_t)m->parts * k, sizeof *share);
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  for (int32_t i = 0; i < u->n; i++) {
    weight[i * constraints] = total > 0 ? scaled(m->seconds[i], total, m->seconds[i] > 0) : 1;
    if (constraints == 2) weight[i * 2 + 1] = scaled(u->permanent[i], bytes, 0);
  }
  for (int32_t i = 0; i < m->parts; i++) share[i * constraints] = m->speed[m->part_device[i]];
  even_out(share, m->parts, constraints);
  if (constraints == 2) slack[1] = memory_shares(m, bytes, share);
  berth_i_partition p = { u->n,   constraints, m->parts, m->at, m->adjacent,    m->edge_weight,
                          weight, share,       slack,    m->opts->seed, false };
  if ((st = berth_i_metis_partition(u->cost->ctx, &p, m->preferred)) != BERTH_OK) goto done;
  if ((st = berth_i_map_parts(u, m->parts, m->preferred, m->part_device)) != BERTH_OK) goto done;
  for (int32_t i = 0; i < u->n; i++) m->preferred[i] = m->part_device[m->preferred[i]];
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* Without METIS: nothing to cut, or fewer units than it can handle. Longest unit first, each where
 * it ends first. */
static berth_status spread(model *m) {
  const berth_i_units *u = m->u;
  berth_i_pool scratch = berth_i_pool_empty(u->cost->ctx);
  berth_i_keyed *order = berth_i_pool_alloc(&scratch, (size_t)u->n, sizeof *order);
  double *load = berth_i_pool_zalloc(&scratch, (size_t)u->cost->n_devices, sizeof *load);
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  for (int32_t i = 0; i < u->n; i++) order[i] = (berth_i_keyed){ m->seconds[i], i };
  berth_i_sort_keyed_down(order, u->n);
  for (int32_t i = 0; i < u->n; i++) {
    int32_t unit = order[i].id, best = BERTH_NONE;
    for (int32_t d = 0; d < u->cost->n_devices; d++) {
      if (!berth_i_unit_can_run(u, unit, d)) continue;
      if (best == BERTH_NONE
          || load[d] + berth_i_unit_time(u, unit, d)
                 < load[best] + berth_i_unit_time(u, unit, best))
        best = d;
    }
    m->preferred[unit] = best;
    load[best] += berth_i_unit_time(u, unit, best);
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- within limits ---- */

/* The device of its part; else of those that take the unit the one with most seconds of edges to
 * neighbours that are there, then with most free memory.  @param pull [devices] scratch */
static bool put_near(const model *m, berth_i_packing *k, int32_t unit, double *pull) {
  int32_t best = BERTH_NONE;
  if (berth_i_packing_try(k, unit, m->preferred[unit]) == 0) return true;
  memset(pull, 0, (size_t)k->cost->n_devices * sizeof *pull);
  for (int32_t i = m->at[unit]; i < m->at[unit + 1]; i++) {
    int32_t d = k->device[m->u->ops[m->u->at[m->adjacent[i]]]];
    if (d != BERTH_NONE) pull[d] += m->edge_weight[i];
  }
  for (int32_t d = 0; d < k->cost->n_devices; d++) {
    if (berth_i_packing_try(k, unit, d) != 0) continue;
    berth_i_packing_pop(k);
    if (best == BERTH_NONE || pull[d] > pull[best]
        || (pull[d] == pull[best] && berth_i_packing_left(k, d) > berth_i_packing_left(k, best)))
      best = d;
  }
  return best != BERTH_NONE && berth_i_packing_try(k, unit, best) == 0;
}

static berth_status make_fit(const model *m, int32_t *device, berth_obstacle *why) {
  bool fits = true;
  berth_i_packing k;
  berth_status st = berth_i_packing_init(m->u, m->opts->memory, device, &k);
  if (st != BERTH_OK) return st;
  double *pull = berth_i_pool_alloc(&k.pool, (size_t)m->u->cost->n_devices, sizeof *pull);
  if ((st = berth_i_pool_status(&k.pool)) != BERTH_OK) goto done;
  /* pinned units first: the others can give way */
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < m->u->n && fits; i++) {
      if ((m->u->pin[i] == BERTH_NONE) == (pass == 1)) fits = put_near(m, &k, i, pull);
    }
  }
  if (!fits) st = berth_i_packing_find_feasible(&k, "metis", m->opts, why);
done:
  berth_i_pool_free(&k.pool);
  return st;
}

static berth_status partition(const berth_i_units *u, const berth_place_options *opts,
                              int32_t *device, berth_obstacle *why) {
  model m = { .pool = berth_i_pool_empty(u->cost->ctx), .u = u, .opts = opts };
  size_t n = (size_t)u->n, devices = (size_t)u->cost->n_devices, e = (size_t)u->cost->g->n_edges;
  m.edges = berth_i_pool_alloc(&m.pool, e, sizeof *m.edges);
  m.sorted = berth_i_pool_alloc(&m.pool, e, sizeof *m.sorted);
  m.seconds = berth_i_pool_alloc(&m.pool, n, sizeof *m.seconds);
  m.part_device = berth_i_pool_alloc(&m.pool, devices, sizeof *m.part_device);
  m.speed = berth_i_pool_zalloc(&m.pool, devices, sizeof *m.speed);
  m.preferred = berth_i_pool_alloc(&m.pool, n, sizeof *m.preferred);
  m.at = berth_i_pool_alloc(&m.pool, n + 1, sizeof *m.at);
  m.adjacent = berth_i_pool_alloc(&m.pool, 2 * e, sizeof *m.adjacent);
  m.edge_weight = berth_i_pool_alloc(&m.pool, 2 * e, sizeof *m.edge_weight);
  berth_status st;
  if ((st = berth_i_pool_status(&m.pool)) != BERTH_OK) goto done;
  find_shares(&m);
  if ((st = list_edges(&m)) != BERTH_OK) goto done;
  fill_csr(&m);
  st = m.parts < 2 || u->n <= m.parts || m.n_edges == 0 ? spread(&m) : call_metis(&m);
  if (st == BERTH_OK) st = make_fit(&m, device, why);
done:
  berth_i_pool_free(&m.pool);
  return st;
}

static berth_status run_metis(berth_cost *cost, const berth_place_options *opts,
                              berth_placement **out, berth_obstacle *why) {
  if (cost->g->n_edges > INT32_MAX / 2) {
    return berth_i_fail(cost->ctx, BERTH_EUNSUPPORTED,
                        "metis: %d edges are more than it can number", (int)cost->g->n_edges);
  }
  return berth_i_place_devices(cost, "metis", opts->memory, opts, partition, out, why);
}

const berth_i_placer berth_i_placer_metis = {
  .about = { .name = "metis", .reads = "coarsen coarsen_ops transfer_weight",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Cuts the graph into one part per device: shares of the work as the devices' "
              "speeds, little transfer time across the cuts.",
      .source = "Karypis, Kumar 1998 (multilevel k-way partitioning)",
      .good = "Wide graphs, and where links are slow: it moves little.",
      .weak = "Ignores the order of ops: parts of equal work may run one after the "
               "other." }) },
  .run = run_metis,
  .members = BERTH_I_MEMBERS(
    { .order = 210, .name = "metis" },
    { .order = 320, .name = "metis fuse", .coarsen = BERTH_COARSEN_FUSE, .coarsen_ops = 16 }),
};
