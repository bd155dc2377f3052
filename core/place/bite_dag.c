/* The graph as the bounds see it: pairs of ops with the least time between devices, and parts of it. */
#include "bite_internal.h"
#include "waits_internal.h"
#include <stdlib.h>

static berth_status alloc_dag(berth_i_bite *b, int32_t n, int32_t m, berth_i_bite_dag *g) {
  size_t ops = (size_t)n, edges = (size_t)m;
  memset(g, 0, sizeof *g);
  g->n = n;
  g->m = m;
  g->reals = berth_i_alloc(b->ctx, 3 * ops + edges, sizeof *g->reals);
  g->ints = berth_i_zalloc(b->ctx, 3 * ops + 2 + 4 * edges, sizeof *g->ints);
  if (!g->reals || !g->ints) {
    berth_i_bite_dag_release(b, g);
    return berth_i_nomem(b->ctx);
  }
  g->p = g->reals;
  g->h[0] = g->p + n;
  g->h[1] = g->h[0] + n;
  g->c = g->h[1] + n;
  g->id = g->ints;
  g->at[0] = g->id + n;
  g->at[1] = g->at[0] + n + 1;
  g->edge[0] = g->at[1] + n + 1;
  g->edge[1] = g->edge[0] + m;
  g->end[0] = g->edge[1] + m;
  g->end[1] = g->end[0] + m;
  return BERTH_OK;
}

void berth_i_bite_dag_release(berth_i_bite *b, berth_i_bite_dag *g) {
  size_t ops = (size_t)g->n, edges = (size_t)g->m;
  berth_i_free(b->ctx, g->reals, 3 * ops + edges, sizeof *g->reals);
  berth_i_free(b->ctx, g->ints, 3 * ops + 2 + 4 * edges, sizeof *g->ints);
  g->reals = NULL;
  g->ints = NULL;
}

/* at[] counts, then ends, then beginnings. */
static void list_edges(berth_i_bite_dag *g, int dir) {
  int32_t *at = g->at[dir], i;
  const int32_t *end = g->end[!dir];
  for (i = 0; i <= g->n; i++) at[i] = 0;
  for (i = 0; i < g->m; i++) at[end[i]]++;
  for (i = 1; i <= g->n; i++) at[i] += at[i - 1];
  for (i = g->m - 1; i >= 0; i--) g->edge[dir][--at[end[i]]] = i;
}

typedef struct pair {
  int32_t src, dst;
  double c;
} pair;

static int by_ends(const void *pa, const void *pb) {
  const pair *a = pa, *b = pb;
  if (a->src != b->src) return a->src < b->src ? -1 : 1;
  return (a->dst > b->dst) - (a->dst < b->dst);
}

/* Several tensors between two ops cross side by side. */
static int32_t join_pairs(pair *e, int32_t n) {
  int32_t i, kept = 0;
  if (n > 0) qsort(e, (size_t)n, sizeof *e, by_ends);
  for (i = 0; i < n; i++) {
    if (kept > 0 && by_ends(&e[kept - 1], &e[i]) == 0) e[kept - 1].c = fmax(e[kept - 1].c, e[i].c);
    else e[kept++] = e[i];
  }
  return kept;
}

static int32_t list_pairs(const berth_graph *g, const int32_t *row, const berth_i_pair_times *times, pair *e) {
  int32_t t, i, n = 0;
  for (t = 0; t < g->n_tensors; t++) {
    double c = g->use_at[t] < g->use_at[t + 1] ? berth_i_pair_time(times, t) : 0;
    for (i = g->use_at[t]; i < g->use_at[t + 1]; i++) e[n++] = (pair){ row[g->producer[t]], row[g->use[i]], c };
  }
  return join_pairs(e, n);
}

/* Where it may run, its memory being large enough. */
static double least_time(const berth_i_bite *b, int32_t row) {
  int32_t op = b->op[row], d;
  double least = INFINITY;
  for (d = 0; d < b->u->cost->n_devices; d++) {
    bool can = b->masks && !b->part ? b->can[row] >> d & 1 : berth_i_unit_can_run(b->u, b->u->of[op], d);
    if (can) least = fmin(least, berth_i_op_time(b->u->cost, op, d));
  }
  return least;
}

static void fill_whole(berth_i_bite *b, const pair *e, berth_i_bite_dag *g) {
  int32_t i;
  for (i = 0; i < g->n; i++) {
    g->id[i] = i;
    g->p[i] = least_time(b, i);
    g->h[0][i] = g->h[1][i] = 0;
  }
  for (i = 0; i < g->m; i++) g->end[0][i] = e[i].src, g->end[1][i] = e[i].dst, g->c[i] = e[i].c;
  list_edges(g, 0);
  list_edges(g, 1);
}

berth_status berth_i_bite_dag_whole(berth_i_bite *b, berth_i_bite_dag *g) {
  const berth_graph *from = b->u->cost->g;
  size_t edges = (size_t)from->n_edges;
  pair *e = berth_i_alloc(b->ctx, edges, sizeof *e);
  berth_i_pair_times times;
  berth_status st = e ? berth_i_pair_times_init(b->u->cost, b->part, false, &times) : berth_i_nomem(b->ctx);
  if (st != BERTH_OK) goto done;
  st = alloc_dag(b, b->n, list_pairs(from, b->row, &times, e), g);
  if (st == BERTH_OK) fill_whole(b, e, g);
  berth_i_pair_times_release(&times);
done:
  berth_i_free(b->ctx, e, edges, sizeof *e);
  return st;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool is_before(const berth_i_bite *b, int dir, int32_t x, int32_t v) {
  return b->path[dir ? (size_t)v * (size_t)b->n + (size_t)x : (size_t)x * (size_t)b->n + (size_t)v] >= 0;
}

static int32_t mark_part(berth_i_bite *b, int dir, int32_t v) {
  int32_t x, n = 0;
  for (x = 0; x < b->n; x++) b->mark[x] = x == v || is_before(b, dir, x, v) ? n++ : BERTH_NONE;
  return n;
}

static bool is_inside(const berth_i_bite *b, const berth_i_bite_dag *g, int32_t e) {
  return b->mark[g->end[0][e]] != BERTH_NONE && b->mark[g->end[1][e]] != BERTH_NONE;
}

static void fill_part(const berth_i_bite *b, const berth_i_bite_dag *whole, int dir, int32_t v, berth_i_bite_dag *g) {
  int32_t x, e, k = 0;
  for (x = 0; x < whole->n; x++) {
    int32_t i = b->mark[x];
    if (i == BERTH_NONE) continue;
    g->id[i] = x;
    g->p[i] = x == v ? 0 : whole->p[x];
    g->h[dir][i] = whole->h[dir][x];
    g->h[!dir][i] = 0;
  }
  for (e = 0; e < whole->m; e++) {
    if (!is_inside(b, whole, e)) continue;
    g->end[0][k] = b->mark[whole->end[0][e]];
    g->end[1][k] = b->mark[whole->end[1][e]];
    g->c[k++] = whole->c[e];
  }
  list_edges(g, 0);
  list_edges(g, 1);
}

berth_status berth_i_bite_dag_part(berth_i_bite *b, const berth_i_bite_dag *whole, int dir, int32_t v, berth_i_bite_dag *g) {
  int32_t n = mark_part(b, dir, v), m = 0, e;
  berth_status st;
  for (e = 0; e < whole->m; e++) m += is_inside(b, whole, e);
  b->work += whole->n + whole->m;
  if ((st = alloc_dag(b, n, m, g)) == BERTH_OK) fill_part(b, whole, dir, v, g);
  return st;
}
