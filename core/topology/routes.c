/* Routes between all devices: fewest links, then largest bottleneck bandwidth, then least latency, then lowest link ids.
 *
 * The rule has no optimal substructure as a whole (a narrow, quick head may win once a later link is the bottleneck), so each
 * source is done in steps: layers by breadth-first search; the widest bottleneck of every device over the links that lead one
 * layer on; then, for each set of devices with the same bottleneck B, the quickest path over the links of at least B, which
 * does have it. */
#include "topology_internal.h"
#include <stdlib.h>

typedef struct Target {
  double width;
  int32_t hops, device;
} Target;

typedef struct Router {
  berth_topology *t;
  int32_t *out_at, *out, *in_at, *in; /* links by node, in id order */
  int32_t *hops;                      /* [nodes] from the source; -1: not reached */
  double *width, *latency;            /* [nodes] */
  int32_t *via;                       /* [nodes] last link of the best path */
  int32_t *mark;                      /* [nodes] see want() */
  int32_t *layer, *next;              /* [nodes] work lists */
  Target *targets;                    /* [devices] */
  int32_t n_targets;
  size_t route_cap;
} Router;

/* ---- set-up ------------------------------------------------------------------------------ */

static berth_status make_csr(berth_ctx *ctx, int32_t n_nodes, int32_t n_links, const int32_t *end, int32_t **at, int32_t **list) {
  int32_t l, v;
  *at = berth_i_zalloc(ctx, (size_t)n_nodes + 1, sizeof **at);
  *list = berth_i_alloc(ctx, (size_t)n_links, sizeof **list);
  if (!*at || !*list) return berth_i_nomem(ctx);
  for (l = 0; l < n_links; l++) (*at)[end[l] + 1]++;
  for (v = 0; v < n_nodes; v++) (*at)[v + 1] += (*at)[v];
  for (l = 0; l < n_links; l++) (*list)[(*at)[end[l]]++] = l;
  for (v = n_nodes; v > 0; v--) (*at)[v] = (*at)[v - 1];
  (*at)[0] = 0;
  return BERTH_OK;
}

static berth_status router_init(Router *r, berth_topology *t) {
  berth_ctx *ctx = t->ctx;
  size_t n = (size_t)t->n_nodes;
  berth_status st;
  memset(r, 0, sizeof *r);
  r->t = t;
  if ((st = make_csr(ctx, t->n_nodes, t->n_links, t->from, &r->out_at, &r->out)) != BERTH_OK) return st;
  if ((st = make_csr(ctx, t->n_nodes, t->n_links, t->to, &r->in_at, &r->in)) != BERTH_OK) return st;
  r->hops = berth_i_alloc(ctx, n, sizeof *r->hops);
  r->width = berth_i_alloc(ctx, n, sizeof *r->width);
  r->latency = berth_i_alloc(ctx, n, sizeof *r->latency);
  r->via = berth_i_alloc(ctx, n, sizeof *r->via);
  r->mark = berth_i_alloc(ctx, n, sizeof *r->mark);
  r->layer = berth_i_alloc(ctx, n, sizeof *r->layer);
  r->next = berth_i_alloc(ctx, n, sizeof *r->next);
  r->targets = berth_i_alloc(ctx, (size_t)t->n_devices, sizeof *r->targets);
  if (!r->hops || !r->width || !r->latency || !r->via || !r->mark || !r->layer || !r->next || !r->targets)
    return berth_i_nomem(ctx);
  return BERTH_OK;
}

static void router_release(Router *r) {
  berth_ctx *ctx = r->t->ctx;
  size_t n = (size_t)r->t->n_nodes, m = (size_t)r->t->n_links;
  berth_i_free(ctx, r->out_at, n + 1, sizeof *r->out_at);
  berth_i_free(ctx, r->out, m, sizeof *r->out);
  berth_i_free(ctx, r->in_at, n + 1, sizeof *r->in_at);
  berth_i_free(ctx, r->in, m, sizeof *r->in);
  berth_i_free(ctx, r->hops, n, sizeof *r->hops);
  berth_i_free(ctx, r->width, n, sizeof *r->width);
  berth_i_free(ctx, r->latency, n, sizeof *r->latency);
  berth_i_free(ctx, r->via, n, sizeof *r->via);
  berth_i_free(ctx, r->mark, n, sizeof *r->mark);
  berth_i_free(ctx, r->layer, n, sizeof *r->layer);
  berth_i_free(ctx, r->next, n, sizeof *r->next);
  berth_i_free(ctx, r->targets, (size_t)r->t->n_devices, sizeof *r->targets);
}

/* ---- one source -------------------------------------------------------------------------- */

/* Layers and, as all links into a node's layer are seen before the node is taken, widths in the same sweep. */
static void sweep(Router *r, int32_t source) {
  const berth_topology *t = r->t;
  int32_t head = 0, tail = 0, v, k;
  for (v = 0; v < t->n_nodes; v++) r->hops[v] = r->mark[v] = -1;
  r->hops[source] = 0;
  r->width[source] = INFINITY;
  r->layer[tail++] = source;
  while (head < tail) {
    int32_t u = r->layer[head++];
    for (k = r->out_at[u]; k < r->out_at[u + 1]; k++) {
      int32_t w = t->to[r->out[k]];
      double width = fmin(r->width[u], t->links[r->out[k]].bandwidth);
      if (r->hops[w] < 0) {
        r->hops[w] = r->hops[u] + 1;
        r->width[w] = width;
        r->layer[tail++] = w;
      } else if (r->hops[w] == r->hops[u] + 1 && width > r->width[w]) {
        r->width[w] = width;
      }
    }
  }
}

/* Widest first; the farthest of one width first, so that nearer ones find their route inside. */
static int compare_targets(const void *pa, const void *pb) {
  const Target *a = pa, *b = pb;
  if (a->width != b->width) return a->width > b->width ? -1 : 1;
  if (a->hops != b->hops) return a->hops > b->hops ? -1 : 1;
  return (a->device > b->device) - (a->device < b->device);
}

static void list_targets(Router *r, int32_t src) {
  const berth_topology *t = r->t;
  int32_t d, n = 0;
  for (d = 0; d < t->n_devices; d++) {
    int32_t v = t->device_node[d];
    if (d == src || r->hops[v] < 0) continue;
    r->targets[n].width = r->width[v];
    r->targets[n].hops = r->hops[v];
    r->targets[n++].device = d;
  }
  r->n_targets = n;
  qsort(r->targets, (size_t)n, sizeof *r->targets, compare_targets);
}

static bool leads_on(const Router *r, int32_t link, double width) {
  const berth_topology *t = r->t;
  int32_t u = t->from[link];
  return r->hops[u] >= 0 && r->hops[t->to[link]] == r->hops[u] + 1 && t->links[link].bandwidth >= width;
}

/* Marks with `want` what lies between the source and the targets; settle() turns it to want + 1 where it arrives.
 * Later groups use larger numbers. */
static void want_ways(Router *r, const Target *targets, int32_t n, int32_t want) {
  const berth_topology *t = r->t;
  int32_t top = 0, i, k;
  for (i = 0; i < n; i++) {
    int32_t v = t->device_node[targets[i].device];
    r->mark[v] = want;
    r->next[top++] = v;
  }
  while (top > 0) {
    int32_t v = r->next[--top];
    for (k = r->in_at[v]; k < r->in_at[v + 1]; k++) {
      int32_t u = t->from[r->in[k]];
      if (!leads_on(r, r->in[k], targets[0].width) || r->mark[u] == want) continue;
      r->mark[u] = want;
      r->next[top++] = u;
    }
  }
}

static void relax_layer(Router *r, int32_t n, double width, int32_t want) {
  const berth_topology *t = r->t;
  int32_t i, k;
  for (i = 0; i < n; i++) {
    int32_t u = r->layer[i];
    for (k = r->out_at[u]; k < r->out_at[u + 1]; k++) {
      int32_t link = r->out[k], v = t->to[link];
      double latency = r->latency[u] + t->links[link].latency;
      if (r->mark[v] < want || !leads_on(r, link, width)) continue;
      if (r->mark[v] == want + 1 && latency >= r->latency[v]) continue;
      r->mark[v] = want + 1;
      r->latency[v] = latency;
      r->via[v] = link;
    }
  }
}

/* Keeps each layer in the lexicographic order of its nodes' paths, so that the first to offer a latency is the one with the
 * lowest link ids. */
static int32_t next_layer(Router *r, int32_t n, int32_t want) {
  const berth_topology *t = r->t;
  int32_t i, k, n_next = 0, *swap;
  for (i = 0; i < n; i++) {
    int32_t u = r->layer[i];
    for (k = r->out_at[u]; k < r->out_at[u + 1]; k++) {
      int32_t v = t->to[r->out[k]];
      if (r->mark[v] == want + 1 && r->via[v] == r->out[k]) r->next[n_next++] = v;
    }
  }
  swap = r->layer;
  r->layer = r->next;
  r->next = swap;
  return n_next;
}

static void settle(Router *r, int32_t source, double width, int32_t want) {
  int32_t n = 1;
  r->latency[source] = 0;
  r->mark[source] = want - 1;
  r->layer[0] = source;
  while (n > 0) {
    relax_layer(r, n, width, want);
    n = next_layer(r, n, want);
  }
}

static berth_status reserve_links(Router *r, size_t more) {
  return berth_i_grow(r->t->ctx, (void **)&r->t->route, &r->route_cap, r->t->n_route + more, sizeof *r->t->route);
}

static void set_pair(berth_topology *t, size_t pair, size_t first, int32_t len, double latency, double bandwidth) {
  t->route_first[pair] = (int64_t)first;
  t->route_len[pair] = len;
  t->latency[pair] = latency;
  t->bandwidth[pair] = bandwidth;
}

/* Writes the route to one target; devices of the same width on the way get its head. */
static berth_status write_route(Router *r, int32_t src, Target target) {
  berth_topology *t = r->t;
  int32_t v = t->device_node[target.device], left = target.hops;
  berth_status st = reserve_links(r, (size_t)left);
  if (st != BERTH_OK) return st;
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

static berth_status write_group(Router *r, int32_t src, const Target *targets, int32_t n) {
  int32_t i;
  berth_status st;
  for (i = 0; i < n; i++) {
    if (r->t->route_len[berth_i_pair(r->t, src, targets[i].device)] >= 0) continue;
    if ((st = write_route(r, src, targets[i])) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status route_from(Router *r, int32_t src) {
  int32_t source = r->t->device_node[src], first, end;
  berth_status st;
  sweep(r, source);
  list_targets(r, src);
  for (first = 0; first < r->n_targets; first = end) {
    double width = r->targets[first].width;
    int32_t want = 2 * first + 1;
    for (end = first + 1; end < r->n_targets && r->targets[end].width == width; end++) {}
    want_ways(r, r->targets + first, end - first, want);
    settle(r, source, width, want);
    if ((st = write_group(r, src, r->targets + first, end - first)) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

/* ---- all --------------------------------------------------------------------------------- */

static berth_status alloc_pairs(berth_topology *t) {
  size_t n = (size_t)t->n_devices, pairs = n * n, i;
  t->route_first = berth_i_zalloc(t->ctx, pairs, sizeof *t->route_first);
  t->route_len = berth_i_alloc(t->ctx, pairs, sizeof *t->route_len);
  t->latency = berth_i_alloc(t->ctx, pairs, sizeof *t->latency);
  t->bandwidth = berth_i_alloc(t->ctx, pairs, sizeof *t->bandwidth);
  t->route_set = berth_i_zalloc(t->ctx, pairs, sizeof *t->route_set);
  if (!t->route_first || !t->route_len || !t->latency || !t->bandwidth || !t->route_set) return berth_i_nomem(t->ctx);
  for (i = 0; i < pairs; i++) set_pair(t, i, 0, -1, INFINITY, INFINITY);
  for (i = 0; i < n; i++) set_pair(t, i * n + i, 0, 0, 0, INFINITY);
  return BERTH_OK;
}

static berth_status write_forced(Router *r, const berth_i_forced *f, const int32_t *links) {
  berth_topology *t = r->t;
  size_t pair = berth_i_pair(t, f->src, f->dst);
  double latency = 0, bandwidth = INFINITY;
  int32_t i;
  berth_status st = reserve_links(r, (size_t)f->n);
  if (st != BERTH_OK) return st;
  for (i = 0; i < f->n; i++) {
    latency += t->links[links[i]].latency;
    bandwidth = fmin(bandwidth, t->links[links[i]].bandwidth);
    t->route[t->n_route + (size_t)i] = links[i];
  }
  set_pair(t, pair, t->n_route, f->n, latency, bandwidth);
  t->route_set[pair] = 1;
  t->n_route += (size_t)f->n;
  return BERTH_OK;
}

static berth_status route_everything(Router *r, const berth_i_forced *forced, size_t n_forced, const int32_t *pool) {
  int32_t src;
  size_t i;
  berth_status st;
  for (src = 0; src < r->t->n_devices; src++) {
    if ((st = berth_i_interrupted(r->t->ctx)) != BERTH_OK) return st;
    if ((st = route_from(r, src)) != BERTH_OK) return st;
  }
  for (i = 0; i < n_forced; i++)
    if ((st = write_forced(r, &forced[i], pool + forced[i].at)) != BERTH_OK) return st;
  return BERTH_OK;
}

/* Gives back what doubling asked for too much; the topology frees exactly n_route. */
static berth_status trim(Router *r) {
  berth_topology *t = r->t;
  int32_t *exact = berth_i_realloc(t->ctx, t->route, r->route_cap, t->n_route, sizeof *t->route);
  if (!exact) return berth_i_nomem(t->ctx);
  t->route = exact;
  r->route_cap = t->n_route;
  return BERTH_OK;
}

berth_status berth_i_topology_route_all(berth_topology *t, const berth_i_forced *forced, size_t n_forced, const int32_t *pool) {
  Router r;
  berth_status st = router_init(&r, t);
  if (st == BERTH_OK) st = alloc_pairs(t);
  if (st == BERTH_OK) st = route_everything(&r, forced, n_forced, pool);
  if (st == BERTH_OK) st = trim(&r);
  if (st != BERTH_OK) {
    berth_i_free(t->ctx, t->route, r.route_cap, sizeof *t->route);
    t->route = NULL;
    t->n_route = 0;
  }
  router_release(&r);
  return st;
}
