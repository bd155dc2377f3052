/* Contention as a port of each place: how much it lets through at once, and by when all that must
 * go through it or stay is done.
 * Width: every route into (out of) a place has a link in each of three sets, the first links, the
 * last links, and the narrowest ones; the port is as wide as the least of these sets together.
 * Split: each item takes the device or the port, even a fraction of it; the least time by when both
 * are done is that of the fractional knapsack (Dantzig 1957), items by device time for port time.
 * Width O(devices^2 x length of routes), split O(n). */
#include "base/sort_internal.h"
#include "ports_internal.h"

enum { MOST_ITEMS = 24, MOST_DEVICES = 1024 };

/* ---- width ---- */

static int32_t place_of(const int32_t *part, int32_t d) { return part ? part[d] : d; }

/* Of equally narrow links the one that most routes use, so that the set is small. */
static int32_t narrowest(const berth_link *links, const int32_t *uses, const int32_t *route,
                         int32_t n) {
  int32_t best = route[0];
  for (int32_t i = 1; i < n; i++) {
    double w = links[route[i]].bandwidth, least = links[best].bandwidth;
    if (w < least || (w == least && uses[route[i]] > uses[best])) best = route[i];
  }
  return best;
}

/* @param uses, taken [links] scratch */
static double width_of_place(const berth_i_ports *p, const int32_t *part, int32_t place, int dir,
                             int32_t *uses, uint8_t *taken) {
  enum { COUNT, FIRST, LAST, NARROWEST, WAYS }; /* COUNT: counts the uses of links */
  const berth_topology *t = p->cost->t;
  double least = INFINITY;
  memset(uses, 0, (size_t)t->n_links * sizeof *uses);
  for (int way = COUNT; way < WAYS; way++) {
    double sum = 0;
    memset(taken, 0, (size_t)t->n_links);
    for (int32_t inside = 0; inside < t->n_devices; inside++) {
      for (int32_t other = 0; other < t->n_devices; other++) {
        size_t pair = dir ? berth_i_pair(t, inside, other) : berth_i_pair(t, other, inside);
        const int32_t n = t->route_len[pair];
        if (place_of(part, inside) != place || place_of(part, other) == place || n < 0) continue;
        const int32_t *route = t->route + t->route_first[pair];
        for (int32_t i = 0; way == COUNT && i < n; i++) uses[route[i]]++;
        if (n == 0) sum = INFINITY;
        if (n == 0 || way == COUNT) continue;
        int32_t link = way == FIRST  ? route[0]
                       : way == LAST ? route[n - 1]
                                     : narrowest(t->links, uses, route, n);
        if (!taken[link]) sum += p->links == BERTH_LINKS_FAIR ? t->links[link].bandwidth : 1;
        taken[link] = 1;
      }
    }
    if (way != COUNT) least = fmin(least, sum);
  }
  return least;
}

/* By channels: devices of the place, or pairs that they make with the others. */
berth_status berth_i_ports_init(const berth_cost *cost, berth_links links, const int32_t *part,
                                int32_t places, berth_i_ports *p) {
  bool by_routes = links == BERTH_LINKS_ROUTE || links == BERTH_LINKS_FAIR;
  size_t n_links = (size_t)cost->t->n_links;
  *p = (berth_i_ports){ cost, links, { 0, 0 } };
  if (cost->n_devices > MOST_DEVICES) p->links = BERTH_LINKS_FREE;
  if (!berth_i_ports_count(p)) return BERTH_OK;
  berth_i_pool scratch = berth_i_pool_empty(cost->ctx);
  int32_t *uses = berth_i_pool_alloc(&scratch, n_links, sizeof *uses);
  uint8_t *taken = berth_i_pool_alloc(&scratch, n_links, 1);
  berth_status st = berth_i_pool_status(&scratch);
  for (int dir = 0; dir < 2 && st == BERTH_OK; dir++) {
    for (int32_t i = 0; i < places; i++) {
      int32_t n = 0;
      for (int32_t d = 0; d < cost->n_devices; d++) n += place_of(part, d) == i;
      double width = by_routes ? width_of_place(p, part, i, dir, uses, taken)
                     : links == BERTH_LINKS_PAIR ? (double)n * (cost->n_devices - n)
                                                 : n;
      p->width[dir] = fmax(p->width[dir], width);
    }
    if (p->width[dir] == 0) p->width[dir] = INFINITY; /* nothing can cross */
  }
  berth_i_pool_free(&scratch);
  return st;
}

double berth_i_port_time(const berth_i_ports *p, int dir, double bytes, double seconds) {
  if (!berth_i_ports_count(p) || isinf(seconds)) return 0;
  return (p->links == BERTH_LINKS_FAIR ? bytes * p->cost->transfer_factor : seconds)
         / p->width[dir];
}

/* ---- this way or that ---- */

BERTH_I_SORT(sort_by_port, berth_i_port_item, BERTH_I_DOWN(w))

/* By cost for each second saved, the least first. Items that cross in any case are last. */
static double worth(const berth_i_port_item *x) { return isinf(x->p) ? INFINITY : x->p / x->w; }
BERTH_I_SORT(sort_by_worth, berth_i_port_item, BERTH_I_KEY(worth(a), worth(b)))

int32_t berth_i_port_order(berth_i_port_item *a, int32_t n) {
  if (n > MOST_ITEMS) {
    sort_by_port(a, (size_t)n);
    n = MOST_ITEMS;
  }
  sort_by_worth(a, (size_t)n);
  return n;
}

static bool counts(const berth_i_port_item *x, double from) {
  return isinf(x->p) ? x->end >= from : x->head >= from;
}

double berth_i_port_split(const berth_i_port_item *a, int32_t n, double from, double load) {
  double device = from + load, first = INFINITY, sum = 0;
  for (int32_t i = 0; i < n; i++) {
    if (counts(&a[i], from)) first = fmin(first, a[i].end), sum += a[i].w;
  }
  if (isinf(first)) return 0;
  double port = fmax(from, first) + sum;
  for (int32_t i = 0; i < n && port > device; i++) {
    if (isinf(a[i].p) || !counts(&a[i], from)) continue;
    if (port - a[i].w < device + a[i].p)
      return device + (port - device) * a[i].p / (a[i].p + a[i].w);
    port -= a[i].w;
    device += a[i].p;
  }
  return fmax(device, port);
}
