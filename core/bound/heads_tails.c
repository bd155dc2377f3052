/* Heads and tails of ops with transfers. Tails are heads of the graph read backwards, in which a
 * schedule is read backwards, too.
 *
 * Of the producers of an op those with the k latest arrivals run on its device, one after another,
 * and the others' tensors cross; the head is the least value over k. Invariant: a set that leaves
 * out an arrival at t contains all later ones, and ends no earlier for containing more, so no other
 * set does better ("transfers" in bound.h has the proof).
 * Structure: `list` has the producers by falling arrival, `by_head` the same by rising head.
 * O(d log(d)) for an op of d neighbours; with contention O(d^3) up to 64 neighbours. */
#include "base/sort_internal.h"
#include "heads_tails_internal.h"

/* A producer of the op in question (backwards: a consumer). */
typedef struct source {
  int32_t op, rank;
  double head, length;
  double arrival;     /* at another device; INFINITY: it shares the op's group */
  double cross, port; /* s of the transfer, of the port that it goes through */
} source;

enum { MOST_THROUGH_PORT = 64 };

typedef struct heads_tails {
  const berth_i_units *u;
  const double *least;
  double *cross;           /* [tensors] s */
  source *list;            /* [most neighbours of an op] latest arrival first */
  source *by_head;         /* the same, earliest head first; rank: position in list */
  int32_t n;
  double apart;            /* latest arrival of those that are surely elsewhere */
  berth_i_ports ports;
  const double *collective_time; /* [collectives] s at least, or NULL */
  double *members_end;     /* [collectives] last member's end; backwards: from the first consumer
                              on */
  berth_i_port_item *item; /* [twice the neighbours] what is surely elsewhere, then what may be */
  int32_t far;
} heads_tails;

BERTH_I_SORT(sort_by_op, source, BERTH_I_UP(op))
BERTH_I_SORT(sort_by_arrival, source, BERTH_I_DOWN(arrival) BERTH_I_UP(op))
BERTH_I_SORT(sort_by_head, source, BERTH_I_UP(head) BERTH_I_UP(op))

/* ---- one op ---- */

static void add_source(heads_tails *w, int dir, int32_t op, int32_t other, double head,
                       int32_t tensor) {
  const berth_graph *g = w->u->cost->g;
  int32_t pin = w->u->pin[w->u->of[op]], other_pin = w->u->pin[w->u->of[other]];
  int32_t users = dir ? g->use_at[tensor + 1] - g->use_at[tensor] : 1;
  double end = head + w->least[other], arrival = end + w->cross[tensor];
  /* of a tensor that goes to several consumers each has its share of the port */
  double port =
      berth_i_port_time(&w->ports, dir, g->tensor_bytes[tensor], w->cross[tensor]) / users;
  if (pin != BERTH_NONE && other_pin != BERTH_NONE && pin != other_pin) {
    w->apart = fmax(w->apart, arrival);
    if (port > 0) w->item[w->far++] = (berth_i_port_item){ head, end, INFINITY, port };
    return;
  }
  if (w->u->of[op] == w->u->of[other]) arrival = INFINITY;
  w->list[w->n++] = (source){ other, 0, head, w->least[other], arrival, w->cross[tensor], port };
}

/* Several tensors between two ops cross side by side: the one that takes longest counts. On the
 * same channel or route they cross one after another. */
static void sort_sources(heads_tails *w) {
  bool one_by_one = berth_i_ports_count(&w->ports) && w->ports.links != BERTH_LINKS_FAIR;
  int32_t kept = 0;
  sort_by_op(w->list, (size_t)w->n);
  for (int32_t i = 0; i < w->n; i++) {
    source *to = kept > 0 ? &w->list[kept - 1] : NULL, *x = &w->list[i];
    if (!to || to->op != x->op) {
      w->list[kept++] = *x;
      continue;
    }
    to->arrival = one_by_one ? to->arrival + x->cross : fmax(to->arrival, x->arrival);
    to->port += x->port;
  }
  w->n = kept;
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

/* What else is to be done if the first k are on the op's device and the next one is not: from each
 * instant on, the first k load the device, the rest the device or the port. */
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
    double from = isinf(a[i].p) ? a[i].end : a[i].head, load = 0;
    for (int32_t j = 0; j < k; j++) load += w->list[j].head >= from ? w->list[j].length : 0;
    most = fmax(most, berth_i_port_split(a, n, from, load));
  }
  return most;
}

/* The least over k of the larger of both: what the first k take, and what crosses then. Without
 * contention one rises and the other falls with k, so bisection finds where they cross. */
static double earliest_start(heads_tails *w) {
  double best = INFINITY;
  bool ports = berth_i_ports_count(&w->ports) && w->n + w->far <= MOST_THROUGH_PORT;
  if (w->n == 0 && (w->far == 0 || !ports)) return w->apart;
  sort_sources(w);
  for (int32_t k = 0; ports && k <= w->n; k++) {
    double together = done_together(w, k);
    if (together >= best) break;
    together = fmax(together, last_arrival(w, k));
    if (together < best) best = fmin(best, fmax(together, port_delay(w, k)));
  }
  if (ports) return fmax(w->apart, best);
  int32_t low = 0, high = w->n;
  while (low < high) {
    int32_t k = low + (high - low) / 2;
    if (done_together(w, k) >= last_arrival(w, k)) high = k;
    else low = k + 1;
  }
  return fmax(w->apart,
              low > 0 ? fmin(done_together(w, low), last_arrival(w, low - 1)) : last_arrival(w, 0));
}

/* ---- all ops ---- */

/* Every op after its producers (dir 1: before its consumers), so that their levels are known. */
static void sweep(heads_tails *w, int dir, double *level) {
  const berth_graph *g = w->u->cost->g;
  for (int32_t k = 0; k < g->n_collectives; k++) w->members_end[k] = 0;
  for (int32_t i = 0; i < g->n_ops; i++) {
    int32_t op = g->topo[dir ? g->n_ops - 1 - i : i];
    w->n = w->far = 0;
    w->apart = berth_i_collectives_end(g, w->collective_time, w->members_end, dir, op);
    for (int32_t k = g->in_at[op]; !dir && k < g->in_at[op + 1]; k++) {
      int32_t from = g->producer[g->in[k]];
      add_source(w, dir, op, from, level[from], g->in[k]);
    }
    for (int32_t k = g->out_at[op]; dir && k < g->out_at[op + 1]; k++) {
      int32_t t = g->out[k];
      for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++)
        add_source(w, dir, op, g->use[j], level[g->use[j]], t);
    }
    level[op] = earliest_start(w);
    berth_i_record_member(g, w->members_end, dir, op, level[op] + w->least[op]);
  }
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

berth_status berth_i_heads_tails(const berth_i_units *u, berth_links links,
                                 const double *collective_time, const double *least, double *head,
                                 double *tail) {
  const berth_graph *g = u->cost->g;
  berth_i_pool scratch = berth_i_pool_empty(u->cost->ctx);
  size_t cap = (size_t)most_neighbours(g);
  heads_tails w = { .u = u, .least = least, .collective_time = collective_time };
  w.cross = berth_i_pool_alloc(&scratch, (size_t)g->n_tensors, sizeof *w.cross);
  w.list = berth_i_pool_alloc(&scratch, cap, sizeof *w.list);
  w.by_head = berth_i_pool_alloc(&scratch, cap, sizeof *w.by_head);
  w.item = berth_i_pool_alloc(&scratch, 2 * cap, sizeof *w.item);
  w.members_end =
      berth_i_pool_alloc(&scratch, (size_t)g->n_collectives, sizeof *w.members_end);
  berth_i_pair_times times;
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if ((st = berth_i_ports_init(u->cost, links, NULL, u->cost->n_devices, &w.ports)) != BERTH_OK)
    goto done;
  if ((st = berth_i_pair_times_init(u->cost, NULL, false, &times)) != BERTH_OK) goto done;
  for (int32_t t = 0; t < g->n_tensors; t++) w.cross[t] = berth_i_pair_time(&times, t);
  berth_i_pool_free(&times.pool);
  sweep(&w, 0, head);
  sweep(&w, 1, tail);
done:
  berth_i_pool_free(&scratch);
  return st;
}
