/* Heads through the depth of the graph: what must be on an op's device for it to start early, back
 * through every edge that has no time to cross. That runs one op after another, and has to fit. */
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
  berth_i_destruct_bytes bytes;
  uint64_t can;
  berth_i_keyed *by_head; /* [n] */
} growth;

static double path_to(const berth_i_destruct *b, const growth *w, int32_t x) {
  size_t from = (size_t)(w->dir ? w->v : x), to = (size_t)(w->dir ? x : w->v);
  return b->path[from * (size_t)b->n + to];
}

/* ---- frontier: the latest arrival first ---- */

static inline bool later(berth_i_destruct_frontier a, berth_i_destruct_frontier b) {
  return a.arrival != b.arrival ? a.arrival > b.arrival : a.edge < b.edge;
}
BERTH_I_HEAP(frontier, berth_i_destruct_frontier, later)

static void push(berth_i_destruct *b, growth *w, berth_i_destruct_frontier x) {
  frontier_up(b->frontier, w->waiting++, x);
}
static berth_i_destruct_frontier pop(berth_i_destruct *b, growth *w) {
  return frontier_pop(b->frontier, w->waiting--);
}

/* ---- growing ---- */

static void push_inputs(berth_i_destruct *b, growth *w, int32_t z) {
  const berth_i_destruct_dag *g = w->g;
  double after = z == w->v ? 0 : g->p[z] + path_to(b, w, z);
  for (int32_t i = g->at[w->dir][z]; i < g->at[w->dir][z + 1]; i++) {
    int32_t e = g->edge[w->dir][i], y = g->end[w->dir][e];
    double arrival = g->h[w->dir][y] + g->p[y] + g->c[e] + after;
    if (b->stamp[y] != b->epoch && arrival > w->low)
      push(b, w, (berth_i_destruct_frontier){ arrival, e });
  }
  b->work += 1 + g->at[w->dir][z + 1] - g->at[w->dir][z];
}

static void add_unit(berth_i_destruct *b, growth *w, int32_t x) {
  int32_t unit = b->u->of[b->op[x]], *seen = &b->stamp[b->n + unit];
  w->can &= b->masks ? b->can[x] : ~(uint64_t)0;
  if (*seen == b->epoch) return;
  *seen = b->epoch;
  if (!b->kinds) return;
  berth_i_destruct_add_bytes(&w->bytes, berth_i_destruct_unit_bytes(b, unit));
  w->can = berth_i_destruct_holding(b, w->can, w->bytes);
}

static void add_op(berth_i_destruct *b, growth *w, int32_t x, double arrival) {
  b->stamp[x] = b->epoch;
  w->below[w->n] = arrival;
  b->list[w->n++] = x;
  add_unit(b, w, x);
}

/* With all of its group that comes before v. */
static void add(berth_i_destruct *b, growth *w, int32_t x, double arrival) {
  int32_t unit = b->u->of[b->op[x]], first = w->n;
  add_op(b, w, x, arrival);
  for (int32_t i = b->u->at[unit]; i < b->u->at[unit + 1]; i++) {
    int32_t y = b->row[b->u->ops[i]];
    if (b->stamp[y] != b->epoch && path_to(b, w, y) >= 0) add_op(b, w, y, arrival);
  }
  for (int32_t i = first; i < w->n; i++) push_inputs(b, w, b->list[i]);
}

/* Until no arrival matters, or no device can have all that. @return ops that are sure to be
 * together, by arrival */
static void grow(berth_i_destruct *b, growth *w) {
  double least = INFINITY;
  while (w->waiting > 0 && w->can) {
    berth_i_destruct_frontier next = pop(b, w);
    int32_t y = w->g->end[w->dir][next.edge];
    if (b->stamp[y] == b->epoch) continue;
    least = fmin(least, next.arrival);
    add(b, w, y, least);
  }
}

/* ---- the head ---- */

/* Once, for all beginnings of the list. */
static void sort_by_head(berth_i_destruct *b, growth *w) {
  for (int32_t i = 0; i < w->n; i++)
    w->by_head[i] = (berth_i_keyed){ w->g->h[w->dir][b->list[i]], i };
  berth_i_sort_keyed(w->by_head, w->n);
  b->work += 8 * w->n;
}

/* The first n of the list, one after another, then v. */
static double done(berth_i_destruct *b, const growth *w, int32_t n) {
  int32_t items = 0;
  for (int32_t i = 0; i < w->n; i++) {
    int32_t x = b->list[w->by_head[i].id];
    if (w->by_head[i].id >= n || x == w->v) continue;
    b->item[items++] =
        (berth_i_destruct_item){ w->by_head[i].key, w->g->p[x] / b->width, path_to(b, w, x) };
  }
  b->work += w->n;
  return berth_i_destruct_jackson(b, items);
}

/* What comes in if only the first n are on the device. */
static double arrival_after(const growth *w, int32_t n) { return n < w->n ? w->below[n] : w->low; }

/* v waits for what crosses, or for what does not: the best set is where the two are equal. The set
 * that no device can have is as good as never done. */
static double crossing_point(berth_i_destruct *b, const growth *w) {
  int32_t low = 1, high = w->n;
  while (low < high) {
    int32_t k = low + (high - low) / 2;
    if (done(b, w, k) >= arrival_after(w, k)) high = k;
    else low = k + 1;
  }
  double before = low > 1 ? w->below[low - 1] : INFINITY;
  if (low == w->n && !w->can) return before;
  return fmin(before, fmax(done(b, w, low), arrival_after(w, low)));
}

double berth_i_destruct_deep(berth_i_destruct *b, const berth_i_destruct_dag *g, int dir, int32_t v,
                         double low) {
  growth w = { g,
               dir,
               v,
               0,
               0,
               low,
               b->real,
               { 0, 0, 0 },
               ~(uint64_t)0,
               (berth_i_keyed *)(void *)(b->real + b->n) };
  b->epoch++;
  add(b, &w, v, INFINITY);
  if (!w.can) return low; /* alone it fits nowhere: somebody else's business */
  grow(b, &w);
  sort_by_head(b, &w);
  double head = crossing_point(b, &w);
  return isinf(head) ? low : fmax(low, head);
}
