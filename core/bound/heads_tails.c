/* Heads and tails with transfers. Tails are heads of the graph read backwards, in which a schedule
 * is read backwards, too. */
#include "base/sort_internal.h"
#include "heads_tails_internal.h"

/* ---- least and greatest transfer times ---- */

/* a costs at least as little as b for every size; with `most`, as much. */
static bool covers(const berth_link *a, const berth_link *b, bool most) {
  return most ? a->latency >= b->latency && a->bandwidth <= b->bandwidth
              : a->latency <= b->latency && a->bandwidth >= b->bandwidth;
}

static bool covered(const berth_i_pair_times *p, const berth_link *l) {
  for (int32_t i = 0; i < p->n; i++) {
    if (covers(&p->links[i], l, p->most)) return true;
  }
  return false;
}

static void drop_covered(berth_i_pair_times *p, const berth_link *l) {
  int32_t kept = 0;
  for (int32_t i = 0; i < p->n; i++) {
    if (!covers(l, &p->links[i], p->most)) p->links[kept++] = p->links[i];
  }
  p->n = kept;
}

static berth_status add_link(berth_i_pair_times *p, berth_link l) {
  if (covered(p, &l)) return BERTH_OK;
  drop_covered(p, &l);
  berth_status st =
      berth_i_pool_grow(&p->pool, (void **)&p->links, &p->cap, (size_t)p->n + 1, sizeof *p->links);
  if (st == BERTH_OK) p->links[p->n++] = l;
  return st;
}

static bool counts(const berth_i_pair_times *p, int32_t a, int32_t b) {
  return p->part ? p->part[a] != p->part[b] : a != b;
}

berth_status berth_i_pair_times_init(const berth_cost *cost, const int32_t *part, bool most,
                                     berth_i_pair_times *p) {
  *p = (berth_i_pair_times){
    .pool = berth_i_pool_empty(cost->ctx), .cost = cost, .part = part, .most = most
  };
  if (cost->table) return BERTH_OK; /* asked tensor by tensor */
  for (int32_t a = 0; a < cost->n_devices; a++) {
    for (int32_t b = 0; b < cost->n_devices; b++) {
      size_t pair = berth_i_pair(cost->t, a, b);
      if (!counts(p, a, b) || isinf(cost->t->latency[pair])) continue;
      berth_status st =
          add_link(p, (berth_link){ cost->t->bandwidth[pair], cost->t->latency[pair] });
      if (st == BERTH_OK) continue;
      berth_i_pool_free(&p->pool);
      return st;
    }
  }
  return BERTH_OK;
}

static double better(const berth_i_pair_times *p, double a, double b) {
  return p->most ? fmax(a, b) : fmin(a, b);
}

static double table_time(const berth_i_pair_times *p, int32_t tensor) {
  double best = p->most ? 0 : INFINITY;
  for (int32_t a = 0; a < p->cost->n_devices; a++) {
    for (int32_t b = 0; b < p->cost->n_devices; b++) {
      double s = berth_i_transfer_time(p->cost, tensor, a, b);
      if (counts(p, a, b) && !isinf(s)) best = better(p, best, s);
    }
  }
  return best;
}

double berth_i_pair_time(const berth_i_pair_times *p, int32_t tensor) {
  return p->cost->table ? table_time(p, tensor)
                        : berth_i_pair_time_of(p, p->cost->g->tensor_bytes[tensor]);
}

double berth_i_pair_time_of(const berth_i_pair_times *p, double bytes) {
  double best = p->most ? 0 : INFINITY;
  if (p->n > 0 && bytes == 0 && p->cost->free_control) return 0;
  for (int32_t i = 0; i < p->n; i++) {
    best = better(
        p, best, berth_i_route_seconds(p->cost, p->links[i].latency, p->links[i].bandwidth, bytes));
  }
  return best;
}

/* ---- one op ---- */

/* A producer of the op in question (backwards: a consumer). */
typedef struct source {
  int32_t op, rank;
  double head, length;
  double arrival; /* at another device; INFINITY: it shares the op's group */
  double cross, port; /* s of the transfer, of the port that it goes through */
} source;

enum { MOST_THROUGH_PORT = 64 };

typedef struct heads_tails {
  const berth_i_units *u;
  const double *least;
  double *cross;   /* [tensors] s */
  source *list;    /* [most neighbours of an op] latest arrival first */
  source *by_head; /* the same, earliest head first; rank: position in list */
  int32_t n;
  double apart;    /* latest arrival of those that are surely elsewhere */
  berth_i_ports ports;
  const double *collective_time;     /* [collectives] s at least, or NULL */
  double *members_end;             /* [collectives] last member's end; backwards: from the first
                                      consumer on */
  berth_i_port_item *item; /* [twice the neighbours] what is surely elsewhere, then what may be */
  int32_t far;
} heads_tails;

BERTH_I_SORT(sort_by_op, source, BERTH_I_UP(op))
BERTH_I_SORT(sort_by_arrival, source, BERTH_I_DOWN(arrival) BERTH_I_UP(op))
BERTH_I_SORT(sort_by_head, source, BERTH_I_UP(head) BERTH_I_UP(op))

static bool pinned_apart(const berth_i_units *u, int32_t a, int32_t b) {
  int32_t pa = u->pin[u->of[a]], pb = u->pin[u->of[b]];
  return pa != BERTH_NONE && pb != BERTH_NONE && pa != pb;
}

/* Of a tensor that goes to several consumers each has its share of the port. */
static double port_time(const heads_tails *w, int dir, int32_t tensor) {
  const berth_graph *g = w->u->cost->g;
  int32_t users = dir ? g->use_at[tensor + 1] - g->use_at[tensor] : 1;
  return berth_i_port_time(&w->ports, dir, g->tensor_bytes[tensor], w->cross[tensor]) / users;
}

static void add_source(heads_tails *w, int dir, int32_t op, int32_t other,
                       double head, int32_t tensor) {
  double end = head + w->least[other], arrival = end + w->cross[tensor],
         port = port_time(w, dir, tensor);
  if (pinned_apart(w->u, op, other)) {
    w->apart = fmax(w->apart, arrival);
    if (port > 0) w->item[w->far++] = (berth_i_port_item){ head, end, INFINITY, port };
    return;
  }
  if (w->u->of[op] == w->u->of[other]) arrival = INFINITY;
  w->list[w->n++] = (source){ other, 0, head, w->least[other], arrival, w->cross[tensor], port };
}

/* Several tensors between two ops cross side by side: the one that takes longest counts. On the
 * same channel or route they cross one after another. */
static void join_double(const heads_tails *w, source *to, const source *x) {
  bool one_by_one = berth_i_ports_count(&w->ports) && w->ports.links != BERTH_LINKS_FAIR;
  to->arrival = one_by_one ? to->arrival + x->cross : fmax(to->arrival, x->arrival);
  to->port += x->port;
}

static void join_doubles(heads_tails *w) {
  int32_t kept = 0;
  sort_by_op(w->list, (size_t)w->n);
  for (int32_t i = 0; i < w->n; i++) {
    if (kept > 0 && w->list[kept - 1].op == w->list[i].op) {
      join_double(w, &w->list[kept - 1], &w->list[i]);
    } else {
      w->list[kept++] = w->list[i];
    }
  }
  w->n = kept;
}

static void sort_sources(heads_tails *w) {
  join_doubles(w);
  sort_by_arrival(w->list, (size_t)w->n);
  for (int32_t i = 0; i < w->n; i++) w->list[i].rank = i;
  memcpy(w->by_head, w->list, (size_t)w->n * sizeof *w->list);
  sort_by_head(w->by_head, (size_t)w->n);
}

/* The first k of the list, one after another on one device. Grows with k. */
static double done_together(const heads_tails *w, int32_t k) {
  double t = 0;
  for (int32_t i = 0; i < w->n; i++) {
    if (w->by_head[i].rank < k) t = fmax(t, w->by_head[i].head) + w->by_head[i].length;
  }
  return t;
}

/* What crosses if the first k are on the op's device. Falls with k. */
static double last_arrival(const heads_tails *w, int32_t k) {
  return k < w->n ? w->list[k].arrival : 0;
}

/* ---- through the port ---- */

/* Of the first k, ready from then on. */
static double load_from(const heads_tails *w, int32_t k, double from) {
  double sum = 0;
  for (int32_t i = 0; i < k; i++) sum += w->list[i].head >= from ? w->list[i].length : 0;
  return sum;
}

/* What else is to be done if the first k are on the op's device and the next one is not. */
static double port_delay(const heads_tails *w, int32_t k) {
  berth_i_port_item *a = w->item + w->far;
  double most = 0;
  int32_t n = w->far;
  memcpy(a, w->item, (size_t)w->far * sizeof *a);
  for (int32_t i = k; i < w->n; i++) {
    const source *s = &w->list[i];
    if (s->port > 0)
      a[n++] = (berth_i_port_item){ s->head, s->head + s->length, i == k ? INFINITY : s->length,
                                    s->port };
  }
  n = berth_i_port_order(a, n);
  for (int32_t i = 0; i < n; i++) {
    double from = isinf(a[i].p) ? a[i].end : a[i].head;
    most = fmax(most, berth_i_port_split(a, n, from, load_from(w, k, from)));
  }
  return most;
}

/* The least over all k: those that stay are the latest. */
static double least_through_port(heads_tails *w) {
  double best = INFINITY;
  sort_sources(w);
  for (int32_t k = 0; k <= w->n; k++) {
    double together = done_together(w, k);
    if (together >= best) break;
    together = fmax(together, last_arrival(w, k));
    if (together < best) best = fmin(best, fmax(together, port_delay(w, k)));
  }
  return fmax(w->apart, best);
}

/* ---- best split of the producers ---- */

/* The least of the larger of the two. */
static double earliest_start(heads_tails *w) {
  int32_t low = 0;
  if (w->n == 0 && w->far == 0) return w->apart;
  if (berth_i_ports_count(&w->ports) && w->n + w->far <= MOST_THROUGH_PORT)
    return least_through_port(w);
  if (w->n == 0) return w->apart;
  sort_sources(w);
  int32_t high = w->n;
  while (low < high) {
    int32_t k = low + (high - low) / 2;
    if (done_together(w, k) >= last_arrival(w, k)) high = k;
    else low = k + 1;
  }
  return fmax(w->apart,
              low > 0 ? fmin(done_together(w, low), last_arrival(w, low - 1)) : last_arrival(w, 0));
}

/* ---- all ops ---- */

/* Collectives that the op waits for; backwards: that wait for it. */
static double after_collectives(const heads_tails *w, int dir, int32_t op) {
  const berth_graph *g = w->u->cost->g;
  const int32_t *at = dir ? g->wait_at : g->after_at, *list = dir ? g->wait : g->after;
  double h = 0;
  for (int32_t i = w->collective_time && at ? at[op] : 0;
       w->collective_time && at && i < at[op + 1]; i++)
    h = fmax(h, w->members_end[list[i]] + w->collective_time[list[i]]);
  return h;
}

static void record_member_end(heads_tails *w, int dir, int32_t op, double done) {
  const berth_graph *g = w->u->cost->g;
  const int32_t *at = dir ? g->after_at : g->wait_at, *list = dir ? g->after : g->wait;
  for (int32_t i = w->collective_time && at ? at[op] : 0;
       w->collective_time && at && i < at[op + 1]; i++)
    w->members_end[list[i]] = fmax(w->members_end[list[i]], done);
}

static double head_of(heads_tails *w, int32_t op, const double *head) {
  const berth_graph *g = w->u->cost->g;
  w->n = w->far = 0;
  w->apart = after_collectives(w, 0, op);
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], from = g->producer[t];
    add_source(w, 0, op, from, head[from], t);
  }
  return earliest_start(w);
}

static double tail_of(heads_tails *w, int32_t op, const double *tail) {
  const berth_graph *g = w->u->cost->g;
  w->n = w->far = 0;
  w->apart = after_collectives(w, 1, op);
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++)
      add_source(w, 1, op, g->use[j], tail[g->use[j]], t);
  }
  return earliest_start(w);
}

static int32_t most_neighbours(const berth_graph *g) {
  int32_t most = 0;
  for (int32_t op = 0; op < g->n_ops; op++) {
    int32_t in = g->in_at[op + 1] - g->in_at[op], out = 0;
    for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++)
      out += g->use_at[g->out[i] + 1] - g->use_at[g->out[i]];
    if (in > most) most = in;
    if (out > most) most = out;
  }
  return most;
}

static berth_status fill_cross(const berth_i_units *u, double *cross) {
  berth_i_pair_times p;
  berth_status st = berth_i_pair_times_init(u->cost, NULL, false, &p);
  if (st != BERTH_OK) return st;
  for (int32_t t = 0; t < u->cost->g->n_tensors; t++) cross[t] = berth_i_pair_time(&p, t);
  berth_i_pool_free(&p.pool);
  return BERTH_OK;
}

static void clear_member_ends(heads_tails *w) {
  for (int32_t k = 0; k < w->u->cost->g->n_collectives; k++) w->members_end[k] = 0;
}

static void sweep(heads_tails *w, double *head, double *tail) {
  const int32_t *topo = w->u->cost->g->topo;
  int32_t n = w->u->n_ops;
  clear_member_ends(w);
  for (int32_t i = 0; i < n; i++)
    head[topo[i]] = head_of(w, topo[i], head),
    record_member_end(w, 0, topo[i], head[topo[i]] + w->least[topo[i]]);
  clear_member_ends(w);
  for (int32_t i = n - 1; i >= 0; i--) {
    tail[topo[i]] = tail_of(w, topo[i], tail);
    record_member_end(w, 1, topo[i], tail[topo[i]] + w->least[topo[i]]);
  }
}

berth_status berth_i_heads_tails(const berth_i_units *u, berth_links links,
                                 const double *collective_time,
                                 const double *least, double *head,
                                 double *tail) {
  berth_i_pool scratch = berth_i_pool_empty(u->cost->ctx);
  size_t tensors = (size_t)u->cost->g->n_tensors, cap = (size_t)most_neighbours(u->cost->g);
  size_t collectives = (size_t)u->cost->g->n_collectives;
  heads_tails w = { .u = u, .least = least, .collective_time = collective_time };
  w.cross = berth_i_pool_alloc(&scratch, tensors, sizeof *w.cross);
  w.list = berth_i_pool_alloc(&scratch, cap, sizeof *w.list);
  w.by_head = berth_i_pool_alloc(&scratch, cap, sizeof *w.by_head);
  w.item = berth_i_pool_alloc(&scratch, 2 * cap, sizeof *w.item);
  w.members_end = berth_i_pool_alloc(&scratch, collectives, sizeof *w.members_end);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if ((st = berth_i_ports_init(u->cost, links, NULL, u->cost->n_devices, &w.ports)) != BERTH_OK)
    goto done;
  if ((st = fill_cross(u, w.cross)) == BERTH_OK) sweep(&w, head, tail);
done:
  berth_i_pool_free(&scratch);
  return st;
}
