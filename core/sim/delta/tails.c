/* How long it takes at least from the start of an op to the end of all on given devices, transfers
 * included: what cuts a trial short. Of a base they are kept. A move changes those of the moved op
 * and of what leads to it; of these a trial needs only the ones that start after it has left the
 * base, mostly few. */
#include "base/plain_heap_internal.h"
#include "rewind_internal.h"

void berth_i_rewind_ranks(const berth_i_sim_plan *p, berth_i_rewind *r) {
  for (int32_t i = 0; i < p->n_ops; i++) r->rank[p->cost->g->topo[i]] = i;
}

/* A tensor that cannot arrive at all is reported by the run. */
static double transfer_of(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t edge,
                          int32_t from, int32_t to) {
  double t = p->edge_time ? p->edge_time[edge]
                          : berth_i_transfer_units(p, s, p->edge_tensor[edge], from, to);
  return t < INFINITY ? t : 0;
}

double berth_i_placed_tail(const berth_i_sim_plan *p, const double *tail,
                           const berth_i_sim_state *s, const int32_t *device, int32_t op) {
  int32_t d = device[op];
  double after = 0;
  for (int32_t e = p->edge_at[op]; e < p->edge_at[op + 1]; e++) {
    int32_t to = p->edge_to[e];
    double t = tail[to];
    if (device[to] != d) t += transfer_of(p, s, e, d, device[to]);
    if (t > after) after = t;
  }
  return after + p->work[(size_t)op * (size_t)p->cost->n_classes + (size_t)p->cost->class_of[d]];
}

void berth_i_rewind_all_tails(const berth_i_sim_plan *p, berth_i_rewind *r,
                              const berth_i_sim_state *s, const int32_t *device) {
  const int32_t *topo = p->cost->g->topo;
  for (int32_t i = p->n_ops - 1; i >= 0; i--)
    r->tail[topo[i]] = berth_i_placed_tail(p, r->tail, s, device, topo[i]);
}

/* ---- for a trial ---- */

static void include(berth_i_rewind *r, int32_t op) {
  if (r->in_set[op] || r->op[op].start_at < r->from) return;
  r->in_set[op] = 1;
  r->set[r->n_set++] = op;
}

static void include_producers(const berth_i_sim_plan *p, berth_i_rewind *r, int32_t op) {
  const berth_graph *g = p->cost->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) include(r, g->producer[g->in[i]]);
}

/* The moved ops and what leads to them from `from` on. @return there are few */
static bool gather(const berth_i_sim_plan *p, berth_i_rewind *r, const berth_i_moves *m) {
  int32_t most = 64 + p->n_ops / 16 + m->n;
  for (int32_t i = 0; i < m->n; i++) include(r, m->op[i]);
  for (int32_t i = 0; i < r->n_set && r->n_set <= most; i++) include_producers(p, r, r->set[i]);
  return r->n_set <= most;
}

static inline bool is_less(int32_t a, int32_t b) { return a < b; }
BERTH_I_HEAP(rank, int32_t, is_less)

/* Latest in topological order first: a heap of ranks, the least of which go to its end. */
static void sort_set(const berth_i_sim_plan *p, const berth_i_rewind *r) {
  for (int32_t i = 0; i < r->n_set; i++) rank_up(r->set, i, r->rank[r->set[i]]);
  for (int32_t n = r->n_set; n > 1; n--) {
    int32_t least = rank_pop(r->set, n);
    r->set[n - 1] = least;
  }
  for (int32_t i = 0; i < r->n_set; i++) r->set[i] = p->cost->g->topo[r->set[i]];
}

static void forget_set(berth_i_rewind *r) {
  for (int32_t i = 0; i < r->n_set; i++) r->in_set[r->set[i]] = 0;
  r->n_set = 0;
}

const double *berth_i_rewind_tails(const berth_i_sim_plan *p, berth_i_rewind *r,
                                   const berth_i_sim_state *s, const berth_i_moves *m) {
  if (!gather(p, r, m)) {
    forget_set(r);
    return p->tail; /* those without transfers hold for every placement */
  }
  sort_set(p, r);
  for (int32_t i = 0; i < r->n_set; i++) {
    r->tail_before[i] = r->tail[r->set[i]];
    r->tail[r->set[i]] = berth_i_placed_tail(p, r->tail, s, m->device, r->set[i]);
  }
  return r->tail;
}

void berth_i_rewind_tails_back(berth_i_rewind *r) {
  for (int32_t i = 0; i < r->n_set; i++) r->tail[r->set[i]] = r->tail_before[i];
  forget_set(r);
}

/* ---- changes by moves ---- */

int32_t berth_i_tails_change(const berth_i_sim_plan *p, const berth_i_sim_state *s,
                             const berth_i_moves *m, const int32_t *rank, uint8_t *flagged,
                             double *tail, int32_t *op, double *before) {
  const berth_graph *g = p->cost->g;
  int32_t last = -1, n = 0;
  /* A move changes the tail of its op and, by the transfers, those of the op's producers. */
  for (int32_t i = 0; i < m->n; i++) {
    int32_t v = m->op[i];
    flagged[v] = 1;
    for (int32_t k = g->in_at[v]; k < g->in_at[v + 1]; k++) flagged[g->producer[g->in[k]]] = 1;
    if (rank[v] > last) last = rank[v];
  }
  /* Backwards along the order, as long as something changes. */
  for (int32_t i = last; i >= 0; i--) {
    int32_t v = g->topo[i];
    if (!flagged[v]) continue;
    flagged[v] = 0;
    double changed = berth_i_placed_tail(p, tail, s, m->device, v);
    if (changed == tail[v]) continue;
    if (op) {
      op[n] = v;
      before[n++] = tail[v];
    }
    tail[v] = changed;
    for (int32_t k = g->in_at[v]; k < g->in_at[v + 1]; k++) flagged[g->producer[g->in[k]]] = 1;
  }
  return n;
}

void berth_i_rewind_new_tails(const berth_i_sim_plan *p, berth_i_rewind *r,
                              const berth_i_sim_state *s, const berth_i_moves *m) {
  berth_i_rewind_tails_back(r);
  berth_i_tails_change(p, s, m, r->rank, r->in_set, r->tail, NULL, NULL);
}
