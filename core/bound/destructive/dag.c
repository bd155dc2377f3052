/* The graph of the bounds: pairs of ops with the least time between devices, and parts of it (what
 * comes before an op, or after it). Invariant: local ids are in topological order.
 * O(edges log(edges)); a part O(ops + edges). */
#include "base/sort_internal.h"
#include "destructive_internal.h"
#include "bound/heads_tails_internal.h"

static berth_status alloc_dag(berth_i_destruct *b, int32_t n, int32_t m, berth_i_destruct_dag *g) {
  size_t ops = (size_t)n, edges = (size_t)m;
  memset(g, 0, sizeof *g);
  g->n = n;
  g->m = m;
  g->reals = berth_i_alloc(b->ctx, 3 * ops + 3 * edges, sizeof *g->reals);
  g->ints = berth_i_zalloc(b->ctx, 3 * ops + 2 + 5 * edges, sizeof *g->ints);
  if (!g->reals || !g->ints) {
    berth_i_destruct_dag_release(b, g);
    return berth_i_nomem(b->ctx);
  }
  g->p = g->reals;
  g->h[0] = g->p + n;
  g->h[1] = g->h[0] + n;
  g->c = g->h[1] + n;
  g->w[0] = g->c + m;
  g->w[1] = g->w[0] + m;
  g->id = g->ints;
  g->at[0] = g->id + n;
  g->at[1] = g->at[0] + n + 1;
  g->edge[0] = g->at[1] + n + 1;
  g->edge[1] = g->edge[0] + m;
  g->end[0] = g->edge[1] + m;
  g->end[1] = g->end[0] + m;
  g->tensor = g->end[1] + m;
  return BERTH_OK;
}

void berth_i_destruct_dag_release(berth_i_destruct *b, berth_i_destruct_dag *g) {
  size_t ops = (size_t)g->n, edges = (size_t)g->m;
  berth_i_free(b->ctx, g->reals, 3 * ops + 3 * edges, sizeof *g->reals);
  berth_i_free(b->ctx, g->ints, 3 * ops + 2 + 5 * edges, sizeof *g->ints);
  g->reals = NULL;
  g->ints = NULL;
}

/* at[] counts, then ends, then beginnings. */
static void list_edges(berth_i_destruct_dag *g, int dir) {
  int32_t *at = g->at[dir];
  const int32_t *end = g->end[!dir];
  for (int32_t i = 0; i <= g->n; i++) at[i] = 0;
  for (int32_t i = 0; i < g->m; i++) at[end[i]]++;
  for (int32_t i = 1; i <= g->n; i++) at[i] += at[i - 1];
  for (int32_t i = g->m - 1; i >= 0; i--) g->edge[dir][--at[end[i]]] = i;
}

typedef struct pair {
  int32_t src, dst, tensor;
  double c, bytes, in, out; /* s, or bytes, of all; s of ports, the latter of `tensor` */
  bool shared;              /* others read `tensor`, too */
} pair;

BERTH_I_SORT(sort_by_ends, pair, BERTH_I_UP(src) BERTH_I_UP(dst) BERTH_I_UP(tensor))

/* Several tensors between two ops cross side by side; with contention on the same links, one after
 * another or sharing them. What only this edge sends adds up; of what others send, too, one tensor
 * counts. */
static void join_pair(const berth_i_destruct *b, const berth_i_pair_times *times, pair *to,
                      const pair *e) {
  to->bytes += e->bytes;
  to->in += e->in;
  if (!to->shared && !e->shared) to->out += e->out;
  else if (e->out > to->out) to->out = e->out, to->tensor = e->tensor, to->shared = e->shared;
  if (!berth_i_ports_count(&b->ports)) to->c = berth_i_max(to->c, e->c);
  else if (b->ports.links == BERTH_LINKS_FAIR && !times->cost->table)
    to->c = berth_i_max(berth_i_max(to->c, e->c), berth_i_pair_time_of(times, to->bytes));
  else to->c += e->c;
}

/* Each pair of ops once.  @param e [edges] out  @return how many */
static int32_t list_pairs(const berth_i_destruct *b, const berth_i_pair_times *times, pair *e) {
  const berth_graph *g = b->u->cost->g;
  int32_t n = 0, kept = 0, last = BERTH_NONE;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    double c = g->use_at[t] < g->use_at[t + 1] ? berth_i_pair_time(times, t) : 0,
           bytes = g->tensor_bytes[t];
    pair p = { b->row[g->producer[t]], 0, t, c, bytes, berth_i_port_time(&b->ports, 0, bytes, c),
               berth_i_port_time(&b->ports, 1, bytes, c), g->use_at[t + 1] - g->use_at[t] > 1 };
    for (int32_t i = g->use_at[t]; i < g->use_at[t + 1]; i++) p.dst = b->row[g->use[i]], e[n++] = p;
  }
  sort_by_ends(e, (size_t)n);
  for (int32_t i = 0; i < n; i++) {
    bool again = kept > 0 && e[kept - 1].src == e[i].src && e[kept - 1].dst == e[i].dst;
    if (again && e[i].tensor == last) continue;
    last = e[i].tensor;
    if (again) join_pair(b, times, &e[kept - 1], &e[i]);
    else e[kept++] = e[i];
  }
  return kept;
}

/* Op times are the least where the op may run, its memory being large enough. */
static void fill_whole(berth_i_destruct *b, const pair *e, berth_i_destruct_dag *g) {
  for (int32_t i = 0; i < g->n; i++) {
    int32_t op = b->op[i];
    g->id[i] = i;
    g->p[i] = INFINITY;
    g->h[0][i] = g->h[1][i] = 0;
    for (int32_t d = 0; d < b->devices; d++) {
      bool can = b->masks && !b->part ? b->can[i] >> d & 1
                                      : berth_i_unit_can_run(b->u, b->u->of[op], d);
      if (can) g->p[i] = berth_i_min(g->p[i], berth_i_op_time(b->u->cost, op, d));
    }
  }
  for (int32_t i = 0; i < g->m; i++) {
    g->end[0][i] = e[i].src, g->end[1][i] = e[i].dst, g->c[i] = e[i].c;
    g->w[0][i] = e[i].in, g->w[1][i] = e[i].out, g->tensor[i] = e[i].tensor;
  }
  list_edges(g, 0);
  list_edges(g, 1);
}

berth_status berth_i_destruct_dag_whole(berth_i_destruct *b, berth_i_destruct_dag *g) {
  size_t edges = (size_t)b->u->cost->g->n_edges;
  pair *e = berth_i_alloc(b->ctx, edges, sizeof *e);
  berth_i_pair_times times;
  berth_status st =
      e ? berth_i_pair_times_init(b->u->cost, b->part, false, &times) : berth_i_nomem(b->ctx);
  if (st != BERTH_OK) goto done;
  st = alloc_dag(b, b->n, list_pairs(b, &times, e), g);
  if (st == BERTH_OK) fill_whole(b, e, g);
  berth_i_pool_free(&times.pool);
done:
  berth_i_free(b->ctx, e, edges, sizeof *e);
  return st;
}

/* ---- parts ---- */

/* Rows of the part, rising: v and those before it, b->window of the latest at most.
 * @param row [n] out  @return how many */
static int32_t list_rows(berth_i_destruct *b, int dir, int32_t v, int32_t *row) {
  int32_t n = 0;
  for (int32_t i = b->listed - 1; i >= 0 && n < b->window; i--) {
    if (berth_i_destruct_path(b, dir, b->by_head[i], v) >= 0) row[n++] = b->by_head[i];
    b->work++;
  }
  row[n++] = v;
  berth_i_sort_ids(row, n);
  return n;
}

/* Only ops before (dir 1: after) v, so that their edges are among those into them (out of them). */
berth_status berth_i_destruct_dag_part(berth_i_destruct *b, const berth_i_destruct_dag *whole,
                                       int dir, int32_t v, berth_i_destruct_dag *g) {
  int32_t *row = b->list, n = list_rows(b, dir, v, row), m = 0, k = 0;
  for (int32_t x = 0; x < b->n; x++) b->mark[x] = BERTH_NONE;
  for (int32_t i = 0; i < n; i++) b->mark[row[i]] = i;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t j = whole->at[dir][row[i]]; j < whole->at[dir][row[i] + 1]; j++)
      m += b->mark[whole->end[dir][whole->edge[dir][j]]] != BERTH_NONE;
  }
  b->work += 3 * n + m + b->n / 8;
  berth_status st;
  if ((st = alloc_dag(b, n, m, g)) != BERTH_OK) return st;
  for (int32_t i = 0; i < n; i++) {
    int32_t x = row[i];
    g->id[i] = x;
    g->p[i] = x == v ? 0 : whole->p[x];
    g->h[dir][i] = whole->h[dir][x];
    g->h[!dir][i] = 0;
    for (int32_t j = whole->at[dir][x]; j < whole->at[dir][x + 1]; j++) {
      int32_t e = whole->edge[dir][j];
      if (b->mark[whole->end[dir][e]] == BERTH_NONE) continue;
      g->end[0][k] = b->mark[whole->end[0][e]];
      g->end[1][k] = b->mark[whole->end[1][e]];
      g->w[0][k] = whole->w[0][e];
      g->w[1][k] = whole->w[1][e];
      g->tensor[k] = whole->tensor[e];
      g->c[k++] = whole->c[e];
    }
  }
  list_edges(g, 0);
  list_edges(g, 1);
  return BERTH_OK;
}
