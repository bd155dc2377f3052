/* Routes between all devices: fewest links, then largest bottleneck bandwidth, then least latency,
 * then lowest link ids.
 *
 * The rule has no optimal substructure as a whole (a narrow, quick head may win once a later link
 * is the bottleneck), so each source is done in steps: layers by breadth-first search; the widest
 * bottleneck of every device over the links that lead one layer on; then, for each set of devices
 * with the same bottleneck B, the quickest path over the links of at least B, which does have
 * it. */
#include "base/sort_internal.h"
#include "topology_internal.h"

typedef struct route_target {
  double width;
  int32_t hops, device;
} route_target;

/* How the best path arrives at a node: in the order of these the paths themselves are in
 * lexicographic order. */
typedef struct arrival {
  int32_t rank, link, node; /* rank of the node before */
} arrival;

typedef struct router {
  berth_i_pool pool;
  berth_topology *t;
  int32_t *out_at, *out;                 /* links by the node they leave, in id order */
  int32_t *hops;                         /* [nodes] from the source; -1: not reached */
  int32_t *tight, *tight_next;           /* [nodes], [links] lists of the links that arrive from one
                                            layer before; -1 ends */
  double *width, *latency;               /* [nodes] */
  int32_t *via, *rank;                   /* [nodes] last link of the best path, and its place among
                                            those of the layer */
  int32_t *mark;                         /* [nodes] number of the group of targets that it was last
                                            on the path to */
  int32_t *queue, *bucket, *bucket_next; /* [nodes] search order; marked nodes by layer */
  arrival *arrivals;                     /* [nodes] */
  route_target *targets;                 /* [devices] */
  int32_t n_targets;
  size_t route_cap;
} router;

/* ---- set-up ---- */

static berth_status list_links(router *r) {
  const berth_topology *t = r->t;
  r->out_at = berth_i_pool_zalloc(&r->pool, (size_t)t->n_nodes + 1, sizeof *r->out_at);
  r->out = berth_i_pool_alloc(&r->pool, (size_t)t->n_links, sizeof *r->out);
  r->tight_next = berth_i_pool_alloc(&r->pool, (size_t)t->n_links, sizeof *r->tight_next);
  berth_status st;
  if ((st = berth_i_pool_status(&r->pool)) != BERTH_OK) return st;
  for (int32_t l = 0; l < t->n_links; l++) r->out_at[t->from[l] + 1]++;
  for (int32_t v = 0; v < t->n_nodes; v++) r->out_at[v + 1] += r->out_at[v];
  for (int32_t l = 0; l < t->n_links; l++) r->out[r->out_at[t->from[l]]++] = l;
  for (int32_t v = t->n_nodes; v > 0; v--) r->out_at[v] = r->out_at[v - 1];
  r->out_at[0] = 0;
  return BERTH_OK;
}

static berth_status router_init(router *r, berth_topology *t) {
  size_t n = (size_t)t->n_nodes;
  int32_t **const columns[] = { &r->hops, &r->tight, &r->via,    &r->rank,
                                &r->mark, &r->queue, &r->bucket, &r->bucket_next };
  *r = (router){ .pool = berth_i_pool_empty(t->ctx), .t = t };
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    *columns[i] = berth_i_pool_alloc(&r->pool, n, sizeof **columns[i]);
  r->width = berth_i_pool_alloc(&r->pool, n, sizeof *r->width);
  r->latency = berth_i_pool_alloc(&r->pool, n, sizeof *r->latency);
  r->arrivals = berth_i_pool_alloc(&r->pool, n, sizeof *r->arrivals);
  r->targets = berth_i_pool_alloc(&r->pool, (size_t)t->n_devices, sizeof *r->targets);
  return list_links(r);
}

/* ---- one source ---- */

/* Breadth-first search: layers, the links from one layer to the next, and widths. All links into a
 * layer are seen before its first node is expanded, so widths are final in the same sweep. Ends
 * with the layer of the last device: a full mesh is done when the source's own links are. */
static void sweep(router *r, int32_t source) {
  const berth_topology *t = r->t;
  int32_t head = 0, tail = 1, missing = t->n_devices - 1, last = 0;
  for (int32_t v = 0; v < t->n_nodes; v++)
    r->hops[v] = r->tight[v] = r->mark[v] = r->bucket[v] = -1;
  r->hops[source] = 0;
  r->width[source] = INFINITY;
  r->queue[0] = source;
  for (; head < tail; head++) {
    int32_t u = r->queue[head];
    if (missing == 0 && r->hops[u] >= last) break;
    for (int32_t k = r->out_at[u]; k < r->out_at[u + 1]; k++) {
      int32_t link = r->out[k], v = t->to[link];
      double width = fmin(r->width[u], t->links[link].bandwidth);
      if (r->hops[v] < 0) {
        r->hops[v] = r->hops[u] + 1;
        r->width[v] = width;
        r->queue[tail++] = v;
        if (t->node_device[v] != BERTH_NONE) {
          missing--;
          last = r->hops[v];
        }
      }
      if (r->hops[v] != r->hops[u] + 1) continue;
      r->width[v] = fmax(r->width[v], width);
      r->tight_next[link] = r->tight[v];
      r->tight[v] = link;
    }
  }
}

/* Widest first; the farthest of one width first, so that nearer ones find their route inside. */
BERTH_I_SORT(sort_targets, route_target, BERTH_I_DOWN(width) BERTH_I_DOWN(hops) BERTH_I_UP(device))

static void list_targets(router *r, int32_t src) {
  const berth_topology *t = r->t;
  int32_t n = 0;
  for (int32_t d = 0; d < t->n_devices; d++) {
    int32_t v = t->device_node[d];
    if (d == src || r->hops[v] < 0) continue;
    r->targets[n].width = r->width[v];
    r->targets[n].hops = r->hops[v];
    r->targets[n++].device = d;
  }
  r->n_targets = n;
  sort_targets(r->targets, (size_t)n);
}

static void mark_node(router *r, int32_t v, int32_t group) {
  if (r->mark[v] == group) return;
  r->mark[v] = group;
  r->bucket_next[v] = r->bucket[r->hops[v]];
  r->bucket[r->hops[v]] = v;
}

/* Marks what lies between the source and the targets over links of at least their width. The
 * farthest target is first. */
static void mark_paths(router *r, const route_target *targets, int32_t n, int32_t group) {
  const berth_topology *t = r->t;
  for (int32_t i = 0; i < n; i++) mark_node(r, t->device_node[targets[i].device], group);
  for (int32_t h = targets[0].hops; h > 1; h--)
    for (int32_t v = r->bucket[h]; v >= 0; v = r->bucket_next[v])
      for (int32_t l = r->tight[v]; l >= 0; l = r->tight_next[l])
        if (t->links[l].bandwidth >= targets[0].width) mark_node(r, t->from[l], group);
}


BERTH_I_SORT(sort_arrivals, arrival, BERTH_I_UP(rank) BERTH_I_UP(link))

/* Quickest paths over links of at least `width` to all marked nodes, layer by layer up to `last`.
 * Of equally quick paths the lexicographically lowest by link ids: a node's rank is the place of
 * its path among those of its layer. */
static void best_paths(router *r, int32_t source, double width, int32_t last) {
  const berth_topology *t = r->t;
  r->latency[source] = 0;
  r->rank[source] = 0;
  for (int32_t h = 1; h <= last; h++) {
    int32_t n = 0;
    for (int32_t v = r->bucket[h]; v >= 0; v = r->bucket_next[v]) {
      r->latency[v] = INFINITY; /* stays so if no path of that width arrives */
      for (int32_t l = r->tight[v]; l >= 0; l = r->tight_next[l]) {
        int32_t u = t->from[l], best = r->via[v];
        double latency = r->latency[u] + t->links[l].latency;
        if (t->links[l].bandwidth < width || isinf(latency) || latency > r->latency[v]) continue;
        if (latency == r->latency[v]
            && (r->rank[u] > r->rank[t->from[best]] || (u == t->from[best] && l > best)))
          continue;
        r->latency[v] = latency;
        r->via[v] = l;
      }
      if (isinf(r->latency[v])) continue;
      r->arrivals[n].rank = r->rank[t->from[r->via[v]]];
      r->arrivals[n].link = r->via[v];
      r->arrivals[n++].node = v;
    }
    if (h < last) sort_arrivals(r->arrivals, (size_t)n);
    for (int32_t i = 0; h < last && i < n; i++) r->rank[r->arrivals[i].node] = i;
    r->bucket[h] = -1;
  }
}

static berth_status reserve_links(router *r, size_t more) {
  return BERTH_I_POOL_GROW(&r->t->pool, r->t->route, r->route_cap, r->t->n_route + more);
}

static void set_pair(berth_topology *t, size_t pair, size_t first, int32_t len, double latency,
                     double bandwidth) {
  t->route_first[pair] = (int64_t)first;
  t->route_len[pair] = len;
  t->latency[pair] = latency;
  t->bandwidth[pair] = bandwidth;
}

/* A sum of finite latencies that is infinite would mean that there is no route. @param link one of
 * the route's */
static berth_status refuse_latency(const berth_topology *t, int32_t src, int32_t dst, int32_t n,
                                   int32_t link) {
  return berth_i_fail(t->ctx, BERTH_EINVAL,
                      "route from \"%s\" to \"%s\": the latencies of its %d links add up to inf s "
                      "(link %d from \"%s\" to \"%s\" has %g s)",
                      t->devices[src].name, t->devices[dst].name, (int)n, (int)link,
                      t->node_name[t->from[link]], t->node_name[t->to[link]],
                      t->links[link].latency);
}

/* Writes the route to one target; devices of the same width on the way get its head. */
static berth_status write_route(router *r, int32_t src, route_target target) {
  berth_topology *t = r->t;
  int32_t v = t->device_node[target.device], left = target.hops;
  if (isinf(r->latency[v])) return refuse_latency(t, src, target.device, left, r->tight[v]);
  berth_status st;
  if ((st = reserve_links(r, (size_t)left)) != BERTH_OK) return st;
  for (; left > 0; left--) {
    int32_t d = t->node_device[v];
    if (d != BERTH_NONE && r->width[v] == target.width && t->route_len[berth_i_pair(t, src, d)] < 0)
      set_pair(t, berth_i_pair(t, src, d), t->n_route, left, r->latency[v], target.width);
    t->route[t->n_route + (size_t)left - 1] = r->via[v];
    v = t->from[r->via[v]];
  }
  t->n_route += (size_t)target.hops;
  return BERTH_OK;
}

static berth_status route_from(router *r, int32_t src) {
  int32_t source = r->t->device_node[src];
  sweep(r, source);
  list_targets(r, src);
  int32_t end;
  berth_status st;
  for (int32_t first = 0; first < r->n_targets; first = end) {
    double width = r->targets[first].width;
    for (end = first + 1; end < r->n_targets && r->targets[end].width == width; end++) {}
    mark_paths(r, r->targets + first, end - first, first);
    best_paths(r, source, width, r->targets[first].hops);
    for (int32_t i = first; i < end; i++) {
      if (r->t->route_len[berth_i_pair(r->t, src, r->targets[i].device)] >= 0) continue;
      if ((st = write_route(r, src, r->targets[i])) != BERTH_OK) return st;
    }
  }
  return BERTH_OK;
}

/* ---- all ---- */

static berth_status alloc_pairs(berth_topology *t) {
  size_t n = (size_t)t->n_devices, pairs = n * n;
  t->route_first = berth_i_pool_zalloc(&t->pool, pairs, sizeof *t->route_first);
  t->route_len = berth_i_pool_alloc(&t->pool, pairs, sizeof *t->route_len);
  t->latency = berth_i_pool_alloc(&t->pool, pairs, sizeof *t->latency);
  t->bandwidth = berth_i_pool_alloc(&t->pool, pairs, sizeof *t->bandwidth);
  t->route_set = berth_i_pool_zalloc(&t->pool, pairs, sizeof *t->route_set);
  berth_status st;
  if ((st = berth_i_pool_status(&t->pool)) != BERTH_OK) return st;
  for (size_t i = 0; i < pairs; i++) set_pair(t, i, 0, -1, INFINITY, INFINITY);
  for (size_t i = 0; i < n; i++) set_pair(t, i * n + i, 0, 0, 0, INFINITY);
  return BERTH_OK;
}

static berth_status write_forced(router *r, const berth_i_forced *f, const int32_t *links) {
  berth_topology *t = r->t;
  size_t pair = berth_i_pair(t, f->src, f->dst);
  double latency = 0, bandwidth = INFINITY;
  berth_status st = reserve_links(r, (size_t)f->n);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < f->n; i++) {
    latency += t->links[links[i]].latency;
    bandwidth = fmin(bandwidth, t->links[links[i]].bandwidth);
    t->route[t->n_route + (size_t)i] = links[i];
  }
  if (isinf(latency)) return refuse_latency(t, f->src, f->dst, f->n, links[0]);
  set_pair(t, pair, t->n_route, f->n, latency, bandwidth);
  t->route_set[pair] = 1;
  t->n_route += (size_t)f->n;
  return BERTH_OK;
}

static berth_status route_everything(router *r, const berth_i_forced *forced, size_t n_forced,
                                     const int32_t *pool) {
  berth_status st;
  for (int32_t src = 0; src < r->t->n_devices; src++) {
    if ((st = berth_i_interrupted(r->t->ctx)) != BERTH_OK) return st;
    if ((st = route_from(r, src)) != BERTH_OK) return st;
  }
  for (size_t i = 0; i < n_forced; i++)
    if ((st = write_forced(r, &forced[i], pool + forced[i].at)) != BERTH_OK) return st;
  return BERTH_OK;
}

/* Shrinks what doubling allocated beyond need. */
static berth_status trim(router *r) {
  berth_topology *t = r->t;
  int32_t *exact =
      berth_i_pool_realloc(&t->pool, t->route, r->route_cap, t->n_route, sizeof *t->route);
  if (!exact) return berth_i_nomem(t->ctx);
  t->route = exact;
  return BERTH_OK;
}

berth_status berth_i_topology_route_all(berth_topology *t, const berth_i_forced *forced,
                                        size_t n_forced, const int32_t *pool) {
  router r;
  berth_status st = router_init(&r, t);
  if (st == BERTH_OK) st = alloc_pairs(t);
  if (st == BERTH_OK) st = route_everything(&r, forced, n_forced, pool);
  if (st == BERTH_OK) st = trim(&r);
  berth_i_pool_free(&r.pool);
  return st;
}
