/* Least and greatest transfer times over all pairs of devices. The kept links are those that no
 * other link beats in both latency and bandwidth: for any size the extreme is among them. */
#include "pair_times_internal.h"

/* a costs at least as little as b for every size; with `most`, as much. */
static bool covers(const berth_link *a, const berth_link *b, bool most) {
  return most ? a->latency >= b->latency && a->bandwidth <= b->bandwidth
              : a->latency <= b->latency && a->bandwidth >= b->bandwidth;
}

static berth_status add_link(berth_i_pair_times *p, berth_link l) {
  int32_t kept = 0;
  for (int32_t i = 0; i < p->n; i++) {
    if (covers(&p->links[i], &l, p->most)) return BERTH_OK;
  }
  for (int32_t i = 0; i < p->n; i++) {
    if (!covers(&l, &p->links[i], p->most)) p->links[kept++] = p->links[i];
  }
  p->n = kept;
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
  if (cost->table) return BERTH_OK; /* evaluated tensor by tensor */
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

double berth_i_pair_time(const berth_i_pair_times *p, int32_t tensor) {
  double best = p->most ? 0 : INFINITY;
  if (!p->cost->table) return berth_i_pair_time_of(p, p->cost->g->tensor_bytes[tensor]);
  for (int32_t a = 0; a < p->cost->n_devices; a++) {
    for (int32_t b = 0; b < p->cost->n_devices; b++) {
      double s = berth_i_transfer_time(p->cost, tensor, a, b);
      if (counts(p, a, b) && !isinf(s)) best = better(p, best, s);
    }
  }
  return best;
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
