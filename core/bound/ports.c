/* How much a port lets through, and what must go through it or stay. */
#include "base/sort_internal.h"
#include "ports_internal.h"

enum { MOST_ITEMS = 24, MOST_DEVICES = 1024 };

/* ---- width ---- */

enum { FIRST, LAST, NARROWEST, WAYS };

typedef struct survey {
  const berth_cost *cost;
  const int32_t *part;
  int32_t place, dir, way;
  int32_t *uses;  /* [links] routes over each */
  uint8_t *taken; /* [links] */
  double sum;     /* of the links chosen: their number, or bytes/s */
  bool fair, open; /* open: some route has no link */
} survey;

static int32_t place_of(const int32_t *part, int32_t d) { return part ? part[d] : d; }

static int32_t narrowest(const survey *s, const int32_t *route, int32_t n) {
  const berth_link *links = s->cost->t->links;
  int32_t best = route[0];
  for (int32_t i = 1; i < n; i++) {
    double w = links[route[i]].bandwidth, least = links[best].bandwidth;
    if (w < least || (w == least && s->uses[route[i]] > s->uses[best])) best = route[i];
  }
  return best;
}

static void count_uses(survey *s, const int32_t *route, int32_t n) {
  for (int32_t i = 0; i < n; i++) s->uses[route[i]]++;
}

static void take_link(survey *s, const int32_t *route, int32_t n) {
  if (n == 0) {
    s->open = true;
    return;
  }
  int32_t link = s->way == FIRST  ? route[0]
                 : s->way == LAST ? route[n - 1]
                                  : narrowest(s, route, n);
  if (s->taken[link]) return;
  s->taken[link] = 1;
  s->sum += s->fair ? s->cost->t->links[link].bandwidth : 1;
}

static void each_route(survey *s, void (*look)(survey *, const int32_t *, int32_t)) {
  const berth_topology *t = s->cost->t;
  for (int32_t inside = 0; inside < t->n_devices; inside++) {
    if (place_of(s->part, inside) != s->place) continue;
    for (int32_t other = 0; other < t->n_devices; other++) {
      size_t pair = s->dir ? berth_i_pair(t, inside, other) : berth_i_pair(t, other, inside);
      if (place_of(s->part, other) == s->place || t->route_len[pair] < 0) continue;
      look(s, t->route + t->route_first[pair], t->route_len[pair]);
    }
  }
}

/* Every route into (out of) the place has a link of each of these sets. */
static double width_of_place(survey *s) {
  size_t links = (size_t)s->cost->t->n_links;
  double least = INFINITY;
  memset(s->uses, 0, links * sizeof *s->uses);
  each_route(s, count_uses);
  for (s->way = 0; s->way < WAYS; s->way++) {
    memset(s->taken, 0, links);
    s->sum = 0;
    s->open = false;
    each_route(s, take_link);
    least = fmin(least, s->open ? INFINITY : s->sum);
  }
  return least;
}

static berth_status survey_routes(berth_i_ports *p, const int32_t *part, int32_t places) {
  berth_i_pool scratch = berth_i_pool_empty(p->cost->ctx);
  size_t links = (size_t)p->cost->t->n_links;
  survey s = { p->cost, part, 0, 0, 0, NULL, NULL, 0, p->links == BERTH_LINKS_FAIR, false };
  s.uses = berth_i_pool_alloc(&scratch, links, sizeof *s.uses);
  s.taken = berth_i_pool_alloc(&scratch, links, 1);
  berth_status st = berth_i_pool_status(&scratch);
  for (s.dir = 0; s.dir < 2 && st == BERTH_OK; s.dir++) {
    for (s.place = 0; s.place < places; s.place++)
      p->width[s.dir] = fmax(p->width[s.dir], width_of_place(&s));
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* Devices of the place, or pairs that they make with the others. */
static double channels_of(const berth_i_ports *p, const int32_t *part, int32_t place) {
  int32_t n = 0;
  for (int32_t d = 0; d < p->cost->n_devices; d++) n += place_of(part, d) == place;
  return p->links == BERTH_LINKS_PAIR ? (double)n * (p->cost->n_devices - n) : n;
}

berth_status berth_i_ports_init(const berth_cost *cost, berth_links links, const int32_t *part,
                                int32_t places, berth_i_ports *p) {
  bool by_routes = links == BERTH_LINKS_ROUTE || links == BERTH_LINKS_FAIR;
  berth_status st = BERTH_OK;
  *p = (berth_i_ports){ cost, links, { 0, 0 } };
  if (cost->n_devices > MOST_DEVICES) p->links = BERTH_LINKS_FREE;
  if (!berth_i_ports_count(p)) return BERTH_OK;
  if (by_routes) st = survey_routes(p, part, places);
  for (int32_t i = 0; !by_routes && i < places; i++)
    p->width[0] = p->width[1] = fmax(p->width[0], channels_of(p, part, i));
  for (int32_t i = 0; i < 2; i++) {
    if (p->width[i] == 0) p->width[i] = INFINITY; /* nothing can cross */
  }
  return st;
}

double berth_i_port_time(const berth_i_ports *p, int dir, double bytes, double seconds) {
  if (!berth_i_ports_count(p) || isinf(seconds)) return 0;
  return (p->links == BERTH_LINKS_FAIR ? bytes * p->cost->transfer_factor : seconds)
         / p->width[dir];
}

/* ---- this way or that ---- */

BERTH_I_SORT(sort_by_port, berth_i_port_item, BERTH_I_DOWN(w))

/* Cheapest to keep, for what it saves, first. What crosses in any case is last. */
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
