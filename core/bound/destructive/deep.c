/* Heads through the depth of the graph: what must be on an op's device for it to start early, back
 * through every edge that has no time to cross. That runs one op after another, and has to fit.
 * The set grows by the latest arrival first (a heap of edges), each op with its group; `below` has
 * the least arrival that led to each size. The head is the least over all sizes of the larger of
 * both, the schedule of the set and the next arrival. O(edges log(edges) + ops log(ops)^2). */
#include "destructive_internal.h"
#include "base/plain_heap_internal.h"
#include "base/sort_internal.h"

/* A set of ops on v's device, as it grows. */
typedef struct growth {
  const berth_i_destruct_dag *g;
  int dir;
  int32_t v, n, waiting; /* ops; edges in the frontier */
  double low;            /* arrivals from there on down do not matter */
  double *below;         /* [ops] least arrival that made the set as large as that */
  berth_i_least_bytes bytes;
  uint64_t can;
  berth_i_keyed *by_head; /* [n] */
} growth;

static inline bool later(berth_i_destruct_frontier a, berth_i_destruct_frontier b) {
  return a.arrival != b.arrival ? a.arrival > b.arrival : a.edge < b.edge;
}
BERTH_I_HEAP(frontier, berth_i_destruct_frontier, later)

static void add_op(berth_i_destruct *b, growth *w, int32_t x, double arrival) {
  int32_t unit = b->u->of[b->op[x]], *seen = &b->stamp[b->n + unit];
  b->stamp[x] = b->epoch;
  w->below[w->n] = arrival;
  b->list[w->n++] = x;
  w->can &= b->masks ? b->can[x] : ~(uint64_t)0;
  if (*seen == b->epoch) return;
  *seen = b->epoch;
  if (!b->kinds) return;
  berth_i_least_add(&w->bytes, berth_i_least_unit(&b->kinds->least, unit));
  w->can = berth_i_destruct_holding(b, w->can, w->bytes);
}

/* With all of its group that comes before v; edges into them join the frontier. */
static void add(berth_i_destruct *b, growth *w, int32_t x, double arrival) {
  const berth_i_destruct_dag *g = w->g;
  int32_t unit = b->u->of[b->op[x]], first = w->n;
  add_op(b, w, x, arrival);
  for (int32_t i = b->u->at[unit]; i < b->u->at[unit + 1]; i++) {
    int32_t y = b->row[b->u->ops[i]];
    if (b->stamp[y] != b->epoch && berth_i_destruct_path(b, w->dir, y, w->v) >= 0)
      add_op(b, w, y, arrival);
  }
  for (int32_t k = first; k < w->n; k++) {
    int32_t z = b->list[k];
    double after = z == w->v ? 0 : g->p[z] + berth_i_destruct_path(b, w->dir, z, w->v);
    for (int32_t i = g->at[w->dir][z]; i < g->at[w->dir][z + 1]; i++) {
      int32_t e = g->edge[w->dir][i], y = g->end[w->dir][e];
      double at_v = g->h[w->dir][y] + g->p[y] + g->c[e] + after;
      if (b->stamp[y] != b->epoch && at_v > w->low)
        frontier_up(b->frontier, w->waiting++, (berth_i_destruct_frontier){ at_v, e });
    }
    b->work += 1 + g->at[w->dir][z + 1] - g->at[w->dir][z];
  }
}

/* The first n of the list, one after another, then v. */
static double done(berth_i_destruct *b, const growth *w, int32_t n) {
  int32_t items = 0;
  for (int32_t i = 0; i < w->n; i++) {
    int32_t x = b->list[w->by_head[i].id];
    if (w->by_head[i].id >= n || x == w->v) continue;
    b->item[items++] = (berth_i_destruct_item){ w->by_head[i].key, w->g->p[x] / b->width,
                                                berth_i_destruct_path(b, w->dir, x, w->v) };
  }
  b->work += w->n;
  return berth_i_destruct_jackson(b, items);
}

/* What comes in if only the first n are on the device. */
static double arrival_after(const growth *w, int32_t n) { return n < w->n ? w->below[n] : w->low; }

double berth_i_destruct_deep(berth_i_destruct *b, const berth_i_destruct_dag *g, int dir,
                             int32_t v, double low) {
  growth w = { .g = g, .dir = dir, .v = v, .low = low, .below = b->real, .can = ~(uint64_t)0,
               .by_head = (berth_i_keyed *)(void *)(b->real + b->n) };
  double least = INFINITY;
  b->epoch++;
  add(b, &w, v, INFINITY);
  if (!w.can) return low; /* alone it fits nowhere: proved elsewhere */
  /* grow until no arrival matters, or no device can have all that */
  while (w.waiting > 0 && w.can) {
    berth_i_destruct_frontier next = frontier_pop(b->frontier, w.waiting--);
    int32_t y = g->end[dir][next.edge];
    if (b->stamp[y] == b->epoch) continue;
    least = berth_i_min(least, next.arrival);
    add(b, &w, y, least);
  }
  /* sort by head once, for all beginnings of the list */
  for (int32_t i = 0; i < w.n; i++) w.by_head[i] = (berth_i_keyed){ g->h[dir][b->list[i]], i };
  berth_i_sort_keyed(w.by_head, w.n);
  b->work += 8 * w.n;
  /* bisect for the size where what stays takes as long as what crosses */
  int32_t size = 1, high = w.n;
  while (size < high) {
    int32_t k = size + (high - size) / 2;
    if (done(b, &w, k) >= arrival_after(&w, k)) high = k;
    else size = k + 1;
  }
  double head = size > 1 ? w.below[size - 1] : INFINITY;
  /* the set that no device can have is as good as never done */
  if (size < w.n || w.can)
    head = berth_i_min(head, berth_i_max(done(b, &w, size), arrival_after(&w, size)));
  return isinf(head) ? low : berth_i_max(low, head);
}
