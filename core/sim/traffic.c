/* What went over the links: bytes and busy time of each, shares of concurrent transfers, and how
 * much of the traffic overlapped with computing. From the trace of a result, by sorted sweeps. */
#include "base/sort_internal.h"
#include "result_internal.h"

/* ---- transfers ---- */

int32_t berth_result_transfers(const berth_result *r, const berth_transfer **out) {
  *out = r->by_start ? r->by_start : r->trace->sent;
  return r->trace->n_sent;
}

/* ---- collectives ---- */

berth_status berth_i_result_collectives(berth_result *r, const berth_i_sim_state *s) {
  const berth_i_sim_plan *p = r->plan;
  if (!(r->collectives = berth_i_pool_alloc(&r->pool, (size_t)p->n_collectives,
                                            sizeof *r->collectives)))
    return berth_i_nomem(r->ctx);
  for (int32_t k = 0; k < p->n_collectives; k++) {
    const berth_i_sim_collective *x = &s->coll.one[k];
    berth_collective_run *y = &r->collectives[k];
    y->start = x->start * p->unit;
    y->finish = x->end * p->unit;
    y->seconds = x->seconds;
    y->bytes = p->cost->g->collectives[k].bytes;
    y->n_devices = x->n_devices;
    y->last = x->last;
    y->algorithm = x->algorithm;
  }
  return BERTH_OK;
}

int32_t berth_result_collectives(const berth_result *r, const berth_collective_run **out) {
  *out = r->collectives;
  return r->plan->n_collectives;
}

int32_t berth_result_collective_devices(const berth_result *r, int32_t collective,
                                        const int32_t **devices) {
  *devices = NULL;
  if (collective < 0 || collective >= r->plan->n_collectives) return 0;
  *devices = &r->collective_device[r->plan->participant_at[collective]];
  return r->collectives[collective].n_devices;
}

/* ---- loads: transfers, then collectives behind them ---- */

typedef struct span {
  double start, finish;
} span;

static span span_of(const berth_result *r, const berth_transfer *x, int32_t load) {
  span s = { 0, 0 };
  if (load < r->trace->n_sent) {
    s.start = x[load].start;
    s.finish = x[load].finish;
  } else {
    s.start = r->collectives[load - r->trace->n_sent].start;
    s.finish = r->collectives[load - r->trace->n_sent].finish;
  }
  return s;
}

typedef void (*on_link)(void *ud, int32_t link, double bytes);

typedef struct route_walk {
  const berth_topology *t;
  on_link visit;
  void *ud;
} route_walk;

static void along(void *ud, int32_t src, int32_t dst, double bytes) {
  const route_walk *w = ud;
  const int32_t *route;
  int32_t n = berth_topology_route(w->t, src, dst, &route);
  for (int32_t i = 0; i < n; i++) w->visit(w->ud, route[i], bytes);
}

/* A link may come up several times for a collective. */
static void walk_links(const berth_result *r, const berth_transfer *x, int32_t load, on_link visit,
                       void *ud) {
  const berth_i_sim_plan *p = r->plan;
  route_walk w = { p->cost->t, visit, ud };
  int32_t k = load - r->trace->n_sent;
  if (k < 0) {
    along(&w, x[load].src, x[load].dst, p->cost->g->tensor_bytes[x[load].tensor]);
  } else {
    berth_i_collective_flows(p->cost, k, r->collectives[k].algorithm, r->collectives[k].n_devices,
                             &r->collective_device[p->participant_at[k]], along, &w);
  }
}

/* ---- bytes and busy time of links, in order of start ---- */

typedef struct busy_pass {
  berth_result *r;
  double *until; /* [n_links] */
  span now;
} busy_pass;

static void add_to_link(void *ud, int32_t link, double bytes) {
  busy_pass *b = ud;
  double *end = &b->until[link], from = b->now.start > *end ? b->now.start : *end;
  b->r->link_bytes[link] += bytes;
  if (b->now.finish <= from) return;
  b->r->link_busy[link] += b->now.finish - from;
  *end = b->now.finish;
}

typedef struct turn {
  double start;
  int32_t collective;
} turn;

BERTH_I_SORT(sort_by_start, turn, BERTH_I_UP(start) BERTH_I_UP(collective))

/* Transfers and collectives are merged by start: the busy time of a link is the union of their
 * spans. */
berth_status berth_i_result_links(berth_result *r) {
  berth_i_pool scratch = berth_i_pool_empty(r->ctx);
  busy_pass b = { r,
                  berth_i_pool_zalloc(&scratch, (size_t)r->plan->cost->t->n_links, sizeof *b.until),
                  { 0, 0 } };
  const berth_transfer *x;
  int32_t i = 0, k = 0, n = berth_result_transfers(r, &x), m = r->plan->n_collectives;
  turn *order = berth_i_pool_alloc(&scratch, (size_t)m, sizeof *order);
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  for (int32_t c = 0; c < m; c++) order[c] = (turn){ r->collectives[c].start, c };
  sort_by_start(order, (size_t)m);
  while (i < n || k < m) {
    bool transfer = k >= m || (i < n && x[i].start <= order[k].start);
    int32_t load = transfer ? i++ : n + order[k++].collective;
    b.now = span_of(r, x, load);
    walk_links(r, x, load, add_to_link, &b);
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- peak sharing ---- */

typedef struct edge {
  double time;
  int32_t load;
  bool starts;
} edge;

BERTH_I_SORT(sort_ends_first, edge, BERTH_I_UP(time) BERTH_I_UP(starts) BERTH_I_UP(load))

static size_t list_edges(const berth_result *r, const berth_transfer *x, edge *e) {
  int32_t n = r->trace->n_sent + r->plan->n_collectives;
  size_t k = 0;
  for (int32_t i = 0; i < n; i++) {
    span s = span_of(r, x, i);
    if (!(s.start < s.finish)) continue;
    e[k++] = (edge){ s.start, i, true };
    e[k++] = (edge){ s.finish, i, false };
  }
  sort_ends_first(e, k);
  return k;
}

typedef struct crowd {
  int32_t *peak, *now, *seen; /* [n_links] */
  int32_t event, step;
} crowd;

static void count_on_link(void *ud, int32_t link, double bytes) {
  crowd *c = ud;
  (void)bytes;
  if (c->seen[link] == c->event) return;
  c->seen[link] = c->event;
  c->now[link] += c->step;
  if (c->now[link] > c->peak[link]) c->peak[link] = c->now[link];
}

const int32_t *berth_result_link_sharing(const berth_result *r) {
  berth_result *cached = (berth_result *)(uintptr_t)r; /* immutable but for this */
  size_t links = (size_t)r->plan->cost->t->n_links,
         n = 2 * ((size_t)r->trace->n_sent + (size_t)r->plan->n_collectives);
  berth_i_pool scratch = berth_i_pool_empty(r->ctx);
  crowd c = { 0 };
  if (r->sharing) return r->sharing;
  edge *e = berth_i_pool_alloc(&scratch, n, sizeof *e);
  c.peak = berth_i_pool_zalloc(&scratch, links, sizeof *c.peak);
  c.now = berth_i_pool_zalloc(&scratch, links, sizeof *c.now);
  c.seen = berth_i_pool_zalloc(&scratch, links, sizeof *c.seen);
  const berth_transfer *x;
  if (berth_i_pool_status(&scratch) == BERTH_OK) {
    berth_result_transfers(r, &x);
    size_t k = list_edges(r, x, e);
    for (size_t i = 0; i < k; i++) {
      c.event++;
      c.step = e[i].starts ? 1 : -1;
      walk_links(r, x, e[i].load, count_on_link, &c);
    }
    cached->sharing = berth_i_result_keep(cached, c.peak, links, sizeof *c.peak);
  }
  berth_i_pool_free(&scratch);
  return r->sharing;
}

/* ---- exposed and overlapped communication ---- */

typedef struct change {
  double time;
  int32_t device;
  int8_t computing, receiving;
} change;

BERTH_I_SORT(sort_by_time, change, BERTH_I_UP(time))

static size_t put_span(change *c, size_t at, int32_t device, span s, bool computes) {
  int8_t one = 1, none = 0;
  if (!(s.start < s.finish)) return at;
  c[at++] = (change){ s.start, device, computes ? one : none, computes ? none : one };
  c[at++] =
      (change){ s.finish, device, computes ? (int8_t)-1 : none, computes ? none : (int8_t)-1 };
  return at;
}

static size_t put_stretches(const berth_result *r, change *c) {
  const berth_i_trace *t = r->trace;
  int32_t stretch = 0;
  size_t at = 0;
  for (int32_t i = 0; i < t->n_log; i++) {
    int32_t op = t->log[i];
    if (op < 0 || op >= r->plan->n_ops) continue;
    span s;
    s.start = t->stretch ? t->stretch[2 * stretch] : t->start[op];
    s.finish = t->stretch ? t->stretch[2 * stretch + 1] : t->finish[op];
    stretch++;
    if (berth_i_is_async(r->plan, op)) continue;
    at = put_span(c, at, r->device[op], s, true);
  }
  return at;
}

static size_t put_loads(const berth_result *r, change *c, size_t at) {
  const berth_transfer *x;
  int32_t n = berth_result_transfers(r, &x);
  for (int32_t i = 0; i < n; i++) at = put_span(c, at, x[i].dst, span_of(r, x, i), false);
  for (int32_t k = 0; k < r->plan->n_collectives; k++) {
    for (int32_t i = 0; i < r->collectives[k].n_devices && r->collectives[k].n_devices > 1; i++) {
      at = put_span(c, at, r->collective_device[r->plan->participant_at[k] + i],
                    span_of(r, x, n + k), false);
    }
  }
  return at;
}

/* How many compute, and how much is on its way, since when. */
typedef struct watch {
  double since;
  int32_t computing, receiving;
} watch;

static void observe(watch *w, berth_overlap *o, const change *c) {
  if (w->receiving > 0) *(w->computing > 0 ? &o->overlapped : &o->exposed) += c->time - w->since;
  w->since = c->time;
  w->computing += c->computing;
  w->receiving += c->receiving;
}

const berth_overlap *berth_result_overlap(const berth_result *r) {
  berth_result *cached = (berth_result *)(uintptr_t)r; /* immutable but for this */
  size_t d = (size_t)r->plan->n_devices + 1,
         n = 2 * ((size_t)r->trace->n_log + (size_t)r->plan->n_participants);
  berth_i_pool scratch = berth_i_pool_empty(r->ctx);
  if (r->overlap) return r->overlap;
  change *c = berth_i_pool_alloc(&scratch, n, sizeof *c);
  watch *w = berth_i_pool_zalloc(&scratch, d, sizeof *w);
  berth_overlap *o = berth_i_pool_zalloc(&scratch, d, sizeof *o);
  if (berth_i_pool_status(&scratch) == BERTH_OK) {
    size_t k = put_loads(r, c, put_stretches(r, c));
    sort_by_time(c, k);
    for (size_t i = 0; i < k; i++) {
      observe(&w[c[i].device], &o[c[i].device], &c[i]);
      observe(&w[d - 1], &o[d - 1], &c[i]);
    }
    for (size_t i = 0; i < d; i++) o[i].communication = o[i].exposed + o[i].overlapped;
    cached->overlap = berth_i_result_keep(cached, o, d, sizeof *o);
  }
  berth_i_pool_free(&scratch);
  return r->overlap;
}
