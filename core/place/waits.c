/* Heads and tails with transfers. Tails are heads of the graph read backwards, in which a schedule is read backwards, too. */
#include "waits_internal.h"
#include <stdlib.h>

/* ---- least and greatest transfer times ------------------------------------------------------- */

static double seconds_of(const berth_link *l, double bytes) { return l->latency + bytes / l->bandwidth; }

/* a costs at least as little as b for every size; with `most`, as much. */
static bool covers(const berth_link *a, const berth_link *b, bool most) {
  return most ? a->latency >= b->latency && a->bandwidth <= b->bandwidth
              : a->latency <= b->latency && a->bandwidth >= b->bandwidth;
}

static bool covered(const berth_i_pair_times *p, const berth_link *l) {
  int32_t i;
  for (i = 0; i < p->n; i++) {
    if (covers(&p->links[i], l, p->most)) return true;
  }
  return false;
}

static void drop_covered(berth_i_pair_times *p, const berth_link *l) {
  int32_t i, kept = 0;
  for (i = 0; i < p->n; i++) {
    if (!covers(l, &p->links[i], p->most)) p->links[kept++] = p->links[i];
  }
  p->n = kept;
}

static berth_status add_link(berth_i_pair_times *p, berth_link l) {
  size_t cap = (size_t)p->cap;
  berth_status st;
  if (covered(p, &l)) return BERTH_OK;
  drop_covered(p, &l);
  st = berth_i_grow(p->cost->ctx, (void **)&p->links, &cap, (size_t)p->n + 1, sizeof *p->links);
  if (st != BERTH_OK) return st;
  p->cap = (int32_t)cap;
  p->links[p->n++] = l;
  return BERTH_OK;
}

static bool counts(const berth_i_pair_times *p, int32_t a, int32_t b) { return p->part ? p->part[a] != p->part[b] : a != b; }

berth_status berth_i_pair_times_init(const berth_cost *cost, const int32_t *part, bool most, berth_i_pair_times *p) {
  int32_t a, b;
  *p = (berth_i_pair_times){ cost, part, NULL, 0, 0, most };
  if (cost->table) return BERTH_OK; /* asked tensor by tensor */
  for (a = 0; a < cost->n_devices; a++) {
    for (b = 0; b < cost->n_devices; b++) {
      size_t pair = berth_i_pair(cost->t, a, b);
      berth_status st;
      if (!counts(p, a, b) || isinf(cost->t->latency[pair])) continue;
      st = add_link(p, (berth_link){ cost->t->bandwidth[pair], cost->t->latency[pair] });
      if (st == BERTH_OK) continue;
      berth_i_pair_times_release(p);
      return st;
    }
  }
  return BERTH_OK;
}

void berth_i_pair_times_release(berth_i_pair_times *p) {
  berth_i_free(p->cost->ctx, p->links, (size_t)p->cap, sizeof *p->links);
  p->links = NULL;
  p->cap = p->n = 0;
}

static double better(const berth_i_pair_times *p, double a, double b) { return p->most ? fmax(a, b) : fmin(a, b); }

static double table_time(const berth_i_pair_times *p, int32_t tensor) {
  double best = p->most ? 0 : INFINITY;
  int32_t a, b;
  for (a = 0; a < p->cost->n_devices; a++) {
    for (b = 0; b < p->cost->n_devices; b++) {
      double s = berth_i_transfer_time(p->cost, tensor, a, b);
      if (counts(p, a, b) && !isinf(s)) best = better(p, best, s);
    }
  }
  return best;
}

double berth_i_pair_time(const berth_i_pair_times *p, int32_t tensor) {
  double bytes = p->cost->g->tensor_bytes[tensor], best = p->most ? 0 : INFINITY;
  int32_t i;
  if (p->cost->table) return table_time(p, tensor);
  if (p->n > 0 && bytes == 0 && p->cost->free_control) return 0;
  for (i = 0; i < p->n; i++) best = better(p, best, seconds_of(&p->links[i], bytes) * p->cost->transfer_factor);
  return best;
}

/* ---- one op ---------------------------------------------------------------------------------- */

/* A producer of the op in question (backwards: a consumer). */
typedef struct source {
  int32_t op, rank;
  double head, length;
  double arrival; /* at another device; INFINITY: it shares the op's group */
} source;

typedef struct waits {
  const berth_i_units *u;
  const double *least;
  double *cross;   /* [tensors] s */
  source *list;    /* [most neighbours of an op] latest arrival first */
  source *by_head; /* the same, earliest head first; rank: position in list */
  int32_t n;
  double apart;    /* latest arrival of those that are surely elsewhere */
} waits;

static int by_op(const void *pa, const void *pb) {
  const source *a = pa, *b = pb;
  return (a->op > b->op) - (a->op < b->op);
}

static int by_arrival(const void *pa, const void *pb) {
  const source *a = pa, *b = pb;
  return a->arrival != b->arrival ? (a->arrival > b->arrival ? -1 : 1) : by_op(pa, pb);
}

static int by_earliest(const void *pa, const void *pb) {
  const source *a = pa, *b = pb;
  return a->head != b->head ? (a->head < b->head ? -1 : 1) : by_op(pa, pb);
}

static bool pinned_apart(const berth_i_units *u, int32_t a, int32_t b) {
  int32_t pa = u->pin[u->of[a]], pb = u->pin[u->of[b]];
  return pa != BERTH_NONE && pb != BERTH_NONE && pa != pb;
}

static void add_source(waits *w, int32_t op, int32_t other, double head, double cross) {
  double arrival = head + w->least[other] + cross;
  if (pinned_apart(w->u, op, other)) {
    w->apart = fmax(w->apart, arrival);
    return;
  }
  if (w->u->of[op] == w->u->of[other]) arrival = INFINITY;
  w->list[w->n++] = (source){ other, 0, head, w->least[other], arrival };
}

/* Several tensors between two ops cross side by side: the one that takes longest counts. */
static void join_doubles(waits *w) {
  int32_t i, kept = 0;
  qsort(w->list, (size_t)w->n, sizeof *w->list, by_op);
  for (i = 0; i < w->n; i++) {
    if (kept > 0 && w->list[kept - 1].op == w->list[i].op) {
      w->list[kept - 1].arrival = fmax(w->list[kept - 1].arrival, w->list[i].arrival);
    } else {
      w->list[kept++] = w->list[i];
    }
  }
  w->n = kept;
}

static void sort_sources(waits *w) {
  int32_t i;
  join_doubles(w);
  qsort(w->list, (size_t)w->n, sizeof *w->list, by_arrival);
  for (i = 0; i < w->n; i++) w->list[i].rank = i;
  memcpy(w->by_head, w->list, (size_t)w->n * sizeof *w->list);
  qsort(w->by_head, (size_t)w->n, sizeof *w->by_head, by_earliest);
}

/* The first k of the list, one after another on one device. Grows with k. */
static double done_together(const waits *w, int32_t k) {
  double t = 0;
  int32_t i;
  for (i = 0; i < w->n; i++) {
    if (w->by_head[i].rank < k) t = fmax(t, w->by_head[i].head) + w->by_head[i].length;
  }
  return t;
}

/* What crosses if the first k are on the op's device. Falls with k. */
static double last_arrival(const waits *w, int32_t k) { return k < w->n ? w->list[k].arrival : 0; }

/* The least of the larger of the two: where they meet. */
static double least_wait(waits *w) {
  int32_t low = 0, high;
  if (w->n == 0) return w->apart;
  sort_sources(w);
  high = w->n;
  while (low < high) {
    int32_t k = low + (high - low) / 2;
    if (done_together(w, k) >= last_arrival(w, k)) high = k;
    else low = k + 1;
  }
  return fmax(w->apart, low > 0 ? fmin(done_together(w, low), last_arrival(w, low - 1)) : last_arrival(w, 0));
}

/* ---- all ops ----------------------------------------------------------------------------------- */

static double head_of(waits *w, int32_t op, const double *head) {
  const berth_graph *g = w->u->cost->g;
  int32_t i;
  w->n = 0;
  w->apart = 0;
  for (i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], from = g->producer[t];
    add_source(w, op, from, head[from], w->cross[t]);
  }
  return least_wait(w);
}

static double tail_of(waits *w, int32_t op, const double *tail) {
  const berth_graph *g = w->u->cost->g;
  int32_t i, j;
  w->n = 0;
  w->apart = 0;
  for (i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (j = g->use_at[t]; j < g->use_at[t + 1]; j++) add_source(w, op, g->use[j], tail[g->use[j]], w->cross[t]);
  }
  return least_wait(w);
}

static int32_t most_neighbours(const berth_graph *g) {
  int32_t op, i, most = 0;
  for (op = 0; op < g->n_ops; op++) {
    int32_t in = g->in_at[op + 1] - g->in_at[op], out = 0;
    for (i = g->out_at[op]; i < g->out_at[op + 1]; i++) out += g->use_at[g->out[i] + 1] - g->use_at[g->out[i]];
    if (in > most) most = in;
    if (out > most) most = out;
  }
  return most;
}

static berth_status fill_cross(const berth_i_units *u, double *cross) {
  berth_i_pair_times p;
  berth_status st = berth_i_pair_times_init(u->cost, NULL, false, &p);
  int32_t t;
  if (st != BERTH_OK) return st;
  for (t = 0; t < u->cost->g->n_tensors; t++) cross[t] = berth_i_pair_time(&p, t);
  berth_i_pair_times_release(&p);
  return BERTH_OK;
}

static void sweep(waits *w, double *head, double *tail) {
  const int32_t *topo = w->u->cost->g->topo;
  int32_t i, n = w->u->n_ops;
  for (i = 0; i < n; i++) head[topo[i]] = head_of(w, topo[i], head);
  for (i = n - 1; i >= 0; i--) tail[topo[i]] = tail_of(w, topo[i], tail);
}

berth_status berth_i_waits(const berth_i_units *u, const double *least, double *head, double *tail) {
  berth_ctx *ctx = u->cost->ctx;
  size_t tensors = (size_t)u->cost->g->n_tensors, cap = (size_t)most_neighbours(u->cost->g);
  waits w = { u, least, NULL, NULL, NULL, 0, 0 };
  berth_status st = BERTH_ENOMEM;
  w.cross = berth_i_alloc(ctx, tensors, sizeof *w.cross);
  w.list = berth_i_alloc(ctx, cap, sizeof *w.list);
  w.by_head = berth_i_alloc(ctx, cap, sizeof *w.by_head);
  if (!w.cross || !w.list || !w.by_head) {
    st = berth_i_nomem(ctx);
    goto done;
  }
  if ((st = fill_cross(u, w.cross)) == BERTH_OK) sweep(&w, head, tail);
done:
  berth_i_free(ctx, w.cross, tensors, sizeof *w.cross);
  berth_i_free(ctx, w.list, cap, sizeof *w.list);
  berth_i_free(ctx, w.by_head, cap, sizeof *w.by_head);
  return st;
}
