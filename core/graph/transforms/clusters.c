/* Nodes that grow together (contract_internal.h): concatenated adjacency lists, the order of the
 * nodes, and searches for paths between two nodes, which are limited to the stretch of the order
 * between them. */
#include "base/sort_internal.h"
#include "contract_internal.h"

/* ---- life ---- */

static berth_i_adjacency new_adjacency(const berth_i_clusters *c, berth_i_pool *pool,
                                       int32_t *end) {
  size_t n = (size_t)c->n_nodes;
  return (berth_i_adjacency){ .head = berth_i_pool_alloc(pool, n, sizeof(int32_t)),
                              .tail = berth_i_pool_alloc(pool, n, sizeof(int32_t)),
                              .n = berth_i_pool_alloc(pool, n, sizeof(int32_t)),
                              .next =
                                  berth_i_pool_alloc(pool, (size_t)c->pairs->n, sizeof(int32_t)),
                              .end = end };
}

static berth_status alloc(berth_i_clusters *c, berth_i_pool *pool) {
  size_t n = (size_t)c->n_nodes;
  c->out = new_adjacency(c, pool, c->pairs->dst);
  c->in = new_adjacency(c, pool, c->pairs->src);
  c->low = berth_i_pool_alloc(pool, n, sizeof *c->low);
  c->high = berth_i_pool_alloc(pool, n, sizeof *c->high);
  c->at = berth_i_pool_alloc(pool, n, sizeof *c->at);
  c->ahead.list = berth_i_pool_alloc(pool, n, sizeof *c->ahead.list);
  c->back.list = berth_i_pool_alloc(pool, n, sizeof *c->back.list);
  c->seen = berth_i_pool_zalloc(pool, n, sizeof *c->seen);
  c->mark = berth_i_pool_zalloc(pool, n, sizeof *c->mark);
  c->moving = berth_i_pool_alloc(pool, n, sizeof *c->moving);
  return berth_i_pool_status(pool);
}

/* ---- adjacency ---- */

static void append(berth_i_adjacency *a, int32_t x, int32_t pair) {
  a->next[pair] = BERTH_NONE;
  if (a->head[x] == BERTH_NONE) {
    a->head[x] = pair;
  } else {
    a->next[a->tail[x]] = pair;
  }
  a->tail[x] = pair;
  a->n[x]++;
}

static void fill_adjacency(berth_i_clusters *c) {
  size_t n = (size_t)c->n_nodes;
  memset(c->out.head, 0xff, n * sizeof *c->out.head);
  memset(c->in.head, 0xff, n * sizeof *c->in.head);
  memset(c->out.n, 0, n * sizeof *c->out.n);
  memset(c->in.n, 0, n * sizeof *c->in.n);
  for (int32_t e = 0; e < c->pairs->n; e++) {
    append(&c->out, c->pairs->src[e], e);
    append(&c->in, c->pairs->dst[e], e);
  }
}

/* @param before the pair before e in the list of x; BERTH_NONE: e is the first */
static void unlink_pair(berth_i_adjacency *a, int32_t x, int32_t before, int32_t e) {
  if (before == BERTH_NONE) {
    a->head[x] = a->next[e];
  } else {
    a->next[before] = a->next[e];
  }
  if (a->tail[x] == e) a->tail[x] = before;
  a->n[x]--;
}

/* A pair within x, or to a node that stood in the list before. */
static bool is_redundant(berth_i_clusters *c, int32_t x, int32_t y) {
  if (y == x || c->seen[y] == c->pass) return true;
  c->seen[y] = c->pass;
  return false;
}

/* Pairs within x, and those to `except` but for one, are unlinked on the way, so that they are
 * passed once only. */
int32_t berth_i_cluster_neighbour(berth_i_clusters *c, berth_i_adjacency *a, int32_t x,
                                  int32_t except) {
  int32_t before = BERTH_NONE;
  bool passed = false;
  for (int32_t e = a->head[x]; e != BERTH_NONE; e = a->next[e]) {
    int32_t y = a->end[e] = berth_i_cluster(c, a->end[e]);
    if (y != x && y != except) return y;
    if (y == x || passed) {
      unlink_pair(a, x, before, e);
      continue;
    }
    passed = true;
    before = e;
  }
  return BERTH_NONE;
}

static bool has_end(berth_i_clusters *c, berth_i_adjacency *a, int32_t x, int32_t y) {
  int32_t z = x, before = BERTH_NONE;
  c->pass++;
  for (int32_t e = a->head[x]; e != BERTH_NONE && z != y; e = a->next[e]) {
    z = a->end[e] = berth_i_cluster(c, a->end[e]);
    if (is_redundant(c, x, z)) {
      unlink_pair(a, x, before, e);
    } else {
      before = e;
    }
  }
  return z == y;
}

bool berth_i_cluster_follows(berth_i_clusters *c, int32_t u, int32_t v) {
  return c->out.n[u] <= c->in.n[v] ? has_end(c, &c->out, u, v) : has_end(c, &c->in, v, u);
}

static void concatenate(berth_i_adjacency *a, int32_t root, int32_t other) {
  if (a->head[other] == BERTH_NONE) return;
  if (a->head[root] == BERTH_NONE) {
    a->head[root] = a->head[other];
  } else {
    a->next[a->tail[root]] = a->head[other];
  }
  a->tail[root] = a->tail[other];
  a->n[root] += a->n[other];
}

/* ---- spanning tree: the parent of a node is the latest of its predecessors ---- */

static void find_parents(berth_i_clusters *c, const int32_t *order, const int32_t *place,
                         int32_t *parent) {
  for (int32_t k = 0; k < c->n_nodes; k++) {
    int32_t v = order[k];
    parent[v] = BERTH_NONE;
    for (int32_t e = c->in.head[v]; e != BERTH_NONE; e = c->in.next[e]) {
      int32_t u = c->pairs->src[e];
      if (parent[v] == BERTH_NONE || place[u] > place[parent[v]]) parent[v] = u;
    }
  }
}

/* at: places in preorder; `high` holds sizes, then ends, `low` the next free place within the
 * stretch, then its begin. */
static void number_tree(berth_i_clusters *c, const int32_t *order, const int32_t *parent) {
  int32_t v, roots = 0;
  for (v = 0; v < c->n_nodes; v++) c->high[v] = 1;
  for (int32_t k = c->n_nodes - 1; k >= 0; k--) {
    v = order[k];
    if (parent[v] != BERTH_NONE) c->high[parent[v]] += c->high[v];
  }
  for (int32_t k = 0; k < c->n_nodes; k++) {
    v = order[k];
    int32_t *next = parent[v] == BERTH_NONE ? &roots : &c->low[parent[v]];
    int32_t size = c->high[v];
    c->at[v] = *next;
    *next += size;
    c->low[v] = c->at[v] + 1;
    c->high[v] = c->at[v] + size - 1;
  }
  memcpy(c->low, c->at, (size_t)c->n_nodes * sizeof *c->low);
}

/* Of y, one member is an ancestor of one member of x: a path leads from y to x. */
static bool is_above(const berth_i_clusters *c, int32_t y, int32_t x) {
  return c->low[y] <= c->at[x] && c->at[x] <= c->high[y];
}

/* ---- order of all nodes: that of the graph, collectives after their last members ---- */

static void find_order(const berth_graph *g, int32_t *left, int32_t *order) {
  int32_t n = 0;
  for (int32_t k = 0; k < g->n_collectives; k++) left[k] = g->collectives[k].n_members;
  for (int32_t k = 0; k < g->n_ops; k++) {
    int32_t v = g->topo[k];
    order[n++] = v;
    for (int32_t i = g->wait ? g->wait_at[v] : 0; g->wait && i < g->wait_at[v + 1]; i++) {
      if (--left[g->wait[i]] == 0) order[n++] = g->n_ops + g->wait[i];
    }
  }
}

/* The lists of the searches serve as scratch: order and parents. */
static berth_status prepare(berth_i_clusters *c, berth_i_pool *pool) {
  int32_t *order = c->ahead.list, *parent = c->back.list, *place;
  berth_ctx *ctx = c->g->ctx;
  if (!(place = berth_i_alloc(ctx, (size_t)c->n_nodes, sizeof *place))) return berth_i_nomem(ctx);
  fill_adjacency(c);
  find_order(c->g, place, order);
  for (int32_t k = 0; k < c->n_nodes; k++) place[order[k]] = k;
  find_parents(c, order, place, parent);
  number_tree(c, order, parent);
  berth_i_free(ctx, place, (size_t)c->n_nodes, sizeof *place);
  return berth_i_line_init(pool, c->n_nodes, order, &c->line);
}

berth_status berth_i_clusters_init(const berth_graph *g, berth_i_sharing *sharing,
                                   berth_i_pairs *pairs, berth_i_pool *pool, berth_i_clusters *c) {
  *c = (berth_i_clusters){ .g = g, .sharing = sharing, .pairs = pairs, .n_nodes = pairs->n_nodes };
  berth_status st = alloc(c, pool);
  return st == BERTH_OK ? prepare(c, pool) : st;
}

/* ---- paths ---- */

typedef struct search {
  berth_i_clusters *c;
  int32_t u, v;
  bool direct; /* the edge u -> v counts */
} search;

static void start_front(berth_i_front *f, int32_t x) {
  *f = (berth_i_front){ .list = f->list, .n = 1 }, f->list[0] = x;
}

/* A path is found when the other end, or what the other side has reached, is reached; or when the
 * tree decides it. */
static int32_t reach_ahead(const search *s, int32_t from, int32_t y) {
  berth_i_clusters *c = s->c;
  if (y == s->v) return from != s->u || s->direct ? from : BERTH_NONE;
  if (!berth_i_line_before(&c->line, y, s->v) || c->mark[y] == 2 * c->searches) return BERTH_NONE;
  if (c->mark[y] == 2 * c->searches + 1 || is_above(c, y, s->v)) return y;
  c->mark[y] = 2 * c->searches;
  c->ahead.list[c->ahead.n++] = y;
  return BERTH_NONE;
}

static int32_t reach_back(const search *s, int32_t from, int32_t y) {
  berth_i_clusters *c = s->c;
  if (y == s->u) return from != s->v || s->direct ? from : BERTH_NONE;
  if (!berth_i_line_before(&c->line, s->u, y) || c->mark[y] == 2 * c->searches + 1)
    return BERTH_NONE;
  if (c->mark[y] == 2 * c->searches || is_above(c, s->u, y)) return y;
  c->mark[y] = 2 * c->searches + 1;
  c->back.list[c->back.n++] = y;
  return BERTH_NONE;
}

/* Tidies the list as far as it is walked. */
static int32_t expand(const search *s, bool ahead) {
  berth_i_clusters *c = s->c;
  berth_i_front *f = ahead ? &c->ahead : &c->back;
  berth_i_adjacency *a = ahead ? &c->out : &c->in;
  int32_t x = f->list[f->done++], before = BERTH_NONE, found = BERTH_NONE;
  c->pass++;
  for (int32_t e = a->head[x]; e != BERTH_NONE && found == BERTH_NONE; e = a->next[e]) {
    int32_t y = a->end[e] = berth_i_cluster(c, a->end[e]);
    f->scanned++;
    if (is_redundant(c, x, y)) {
      unlink_pair(a, x, before, e);
      continue;
    }
    before = e;
    found = ahead ? reach_ahead(s, x, y) : reach_back(s, x, y);
  }
  return found;
}

static int64_t cost_after_next(const berth_i_front *f, const berth_i_adjacency *a) {
  return f->scanned + a->n[f->list[f->done]];
}

/* Both sides in turn, the cheaper one first, until one has nothing left. */
static int32_t find_path(const search *s) {
  berth_i_clusters *c = s->c;
  int32_t found = BERTH_NONE;
  c->searches++;
  start_front(&c->ahead, s->u);
  start_front(&c->back, s->v);
  while (found == BERTH_NONE && c->ahead.done < c->ahead.n && c->back.done < c->back.n) {
    found = expand(s, cost_after_next(&c->ahead, &c->out) < cost_after_next(&c->back, &c->in));
  }
  return found;
}

int32_t berth_i_cluster_detour(berth_i_clusters *c, int32_t u, int32_t v) {
  const search s = { c, u, v, false };
  return find_path(&s);
}

bool berth_i_cluster_reaches(berth_i_clusters *c, int32_t a, int32_t b) {
  const search s = { c, a, b, true };
  if (!berth_i_line_before(&c->line, a, b)) return false;
  return is_above(c, a, b) || find_path(&s) != BERTH_NONE;
}

/* ---- contraction ---- */

BERTH_I_SORT(sort_by_label, berth_i_placed, BERTH_I_UP(label))

/* Moves what a side reached, its first node apart, right behind `after`, in the order that it
 * has. */
static void move_behind(berth_i_clusters *c, const berth_i_front *f, int32_t after) {
  for (int32_t k = 1; k < f->n; k++)
    c->moving[k - 1] = (berth_i_placed){ c->line.label[f->list[k]], f->list[k] };
  sort_by_label(c->moving, (size_t)f->n - 1);
  for (int32_t k = 0; k < f->n - 1; k++) {
    int32_t x = c->moving[k].node;
    berth_i_line_remove(&c->line, x);
    berth_i_line_insert(&c->line, x, after);
    after = x;
  }
}

/* The root takes the place of `there`, which is one of the two. */
static void take_place(berth_i_clusters *c, int32_t root, int32_t other, int32_t there) {
  if (there == root) {
    berth_i_line_remove(&c->line, other);
    return;
  }
  berth_i_line_remove(&c->line, root);
  berth_i_line_insert(&c->line, root, there);
  berth_i_line_remove(&c->line, there);
}

/* All that u leads to within the stretch is moved behind v, or all that leads to v before u:
 * whichever is known completely. */
static void make_way(berth_i_clusters *c, int32_t u, int32_t v, bool at_v) {
  if (at_v) {
    move_behind(c, &c->ahead, v);
  } else {
    move_behind(c, &c->back, c->line.prev[u]);
  }
}

static void join_trees(berth_i_clusters *c, int32_t root, int32_t u, int32_t v) {
  int32_t wide = c->high[u] - c->low[u] >= c->high[v] - c->low[v] ? u : v;
  int32_t low = c->low[wide], high = c->high[wide], at = c->at[v];
  c->low[root] = low;
  c->high[root] = high;
  c->at[root] = at;
}

int32_t berth_i_cluster_join(berth_i_clusters *c, int32_t u, int32_t v, bool searched, bool lone) {
  bool at_v = searched ? c->ahead.done == c->ahead.n : lone;
  if (searched) make_way(c, u, v, at_v);
  int32_t root = berth_i_sharing_join(c->sharing, u, v);
  int32_t other = root == u ? v : u;
  take_place(c, root, other, at_v ? v : u);
  join_trees(c, root, u, v);
  concatenate(&c->out, root, other);
  concatenate(&c->in, root, other);
  return root;
}
