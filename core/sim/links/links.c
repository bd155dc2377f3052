/* Links: channels in closed form, waiting requests; ROUTE and FAIR have files of their own.
 *
 * Closed form (FREE, PAIR, split windows, reserve, orders READY and TASK): a channel is one number,
 * the end of its last window, and a transfer's times are known when it is requested. Queues
 * (CHANNEL, DUPLEX): a transfer waits until both its ends are free, then holds them; the oldest
 * that can start goes first. */
#include "sim/sim_internal.h"

/* ---- life ---- */

size_t berth_i_links_channels(const berth_i_sim_plan *p) {
  size_t d = (size_t)p->n_devices;
  if (p->contended || p->o.links == BERTH_LINKS_FREE) return 0;
  if (p->o.links == BERTH_LINKS_ROUTE) return (size_t)p->cost->t->n_links;
  return p->o.links == BERTH_LINKS_PAIR ? d * d : p->o.links == BERTH_LINKS_DUPLEX ? 2 * d : d;
}

static void queues_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_links *l) {
  size_t d = (size_t)p->n_devices, m = (size_t)p->n_edges;
  l->out_busy = berth_i_pool_alloc(pool, d, 1);
  l->in_busy = p->o.links == BERTH_LINKS_CHANNEL ? l->out_busy : berth_i_pool_alloc(pool, d, 1);
  l->head = berth_i_pool_alloc(pool, d * d, sizeof *l->head);
  l->tail = berth_i_pool_alloc(pool, d * d, sizeof *l->tail);
  l->next = berth_i_pool_alloc(pool, m, sizeof *l->next);
  l->age = berth_i_pool_alloc(pool, m, sizeof *l->age);
  l->carried = berth_i_pool_alloc(pool, d, sizeof *l->carried);
  l->from_waiting = berth_i_pool_alloc(pool, d, sizeof *l->from_waiting);
  l->to_waiting = berth_i_pool_alloc(pool, d, sizeof *l->to_waiting);
  l->touched = berth_i_pool_alloc(pool, d, sizeof *l->touched);
  l->choice = berth_i_pool_alloc(pool, d, sizeof *l->choice);
  l->is_touched = berth_i_pool_alloc(pool, d, 1);
}

void berth_i_links_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_links *l) {
  size_t channels = berth_i_links_channels(p);
  if (p->o.links == BERTH_LINKS_ROUTE && p->contended) l->route = berth_i_route_new(p, pool);
  else if (p->o.links == BERTH_LINKS_FAIR) l->fair = berth_i_fair_new(p, pool);
  else if (p->contended) queues_init(p, pool, l);
  else if (channels > 0) l->until = berth_i_pool_alloc(pool, channels, sizeof *l->until);
}

void berth_i_links_reset(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_links *l = &s->links;
  size_t d = (size_t)p->n_devices;
  if (l->route) berth_i_route_reset(p, l->route);
  if (l->fair) berth_i_fair_reset(p, s);
  for (size_t i = 0; l->until && i < berth_i_links_channels(p); i++) l->until[i] = 0;
  if (!l->out_busy) return;
  memset(l->out_busy, 0, d);
  memset(l->in_busy, 0, d);
  memset(l->is_touched, 0, d);
  memset(l->from_waiting, 0, d * sizeof *l->from_waiting);
  memset(l->to_waiting, 0, d * sizeof *l->to_waiting);
  for (size_t i = 0; i < d * d; i++) l->head[i] = BERTH_NONE;
  l->n_touched = 0;
  l->n_requests = 0;
}

/* ---- closed form ---- */

typedef struct windows {
  double start, sent, arrival;
} windows;

static double later(double a, double b) { return a > b ? a : b; }

static windows one_channel(double *until, double from, double c) {
  windows w;
  w.start = later(from, *until);
  w.sent = w.arrival = *until = w.start + c;
  return w;
}

/* Published Baechi rule: the sender's window, then the receiver's; they need not coincide. */
static windows two_windows(double *out, double *in, double from, double c) {
  windows w;
  w.start = later(from, *out);
  w.sent = *out = w.start + c;
  w.arrival = *in = later(w.start, *in) + c;
  return w;
}

static windows both_channels(double *out, double *in, double from, double c) {
  windows w;
  w.start = later(from, later(*out, *in));
  w.sent = w.arrival = *out = *in = w.start + c;
  return w;
}

/* All links of the route, from when the last of them is free; without a route it never arrives. */
static windows whole_route(const berth_i_sim_plan *p, double *until, int32_t src, int32_t dst,
                           double from, double c) {
  const int32_t *links;
  int32_t n = berth_topology_route(p->cost->t, src, dst, &links);
  windows w;
  w.start = from;
  for (int32_t i = 0; i < n; i++) w.start = later(w.start, until[links[i]]);
  w.sent = w.arrival = n < 0 ? INFINITY : w.start + c;
  for (int32_t i = 0; i < n; i++) until[links[i]] = w.sent;
  return w;
}

static windows reserve(const berth_i_sim_plan *p, berth_i_links *l, int32_t src, int32_t dst,
                       double from, double c) {
  double none = 0;
  switch (p->o.links) {
  case BERTH_LINKS_FREE: return one_channel(&none, from, c);
  case BERTH_LINKS_PAIR: return one_channel(&l->until[berth_i_pair(p->cost->t, src, dst)], from, c);
  case BERTH_LINKS_ROUTE: return whole_route(p, l->until, src, dst, from, c);
  case BERTH_LINKS_CHANNEL:
  case BERTH_LINKS_DUPLEX:
  case BERTH_LINKS_FAIR: break;
  }
  double *out = &l->until[src];
  double *in = &l->until[p->o.links == BERTH_LINKS_DUPLEX ? p->n_devices + dst : dst];
  return p->o.split_windows ? two_windows(out, in, from, c) : both_channels(out, in, from, c);
}

double berth_i_links_send(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy,
                          double from) {
  double c = berth_i_copy_units(p, s, copy);
  windows w =
      reserve(p, &s->links, berth_i_copy_src(p, s, copy), berth_i_copy_dst(p, s, copy), from, c);
  berth_i_links_note(p, s, copy, w.start, w.sent, w.arrival);
  s->copy[copy] = BERTH_I_COPY_SENT;
  s->arrival[copy] = w.arrival;
  return w.arrival;
}

/* ---- collectives, as far as devices have channels: in closed form, or in the queue ---- */

typedef struct pair_windows {
  const berth_i_sim_plan *p;
  double *until, latest, end;
} pair_windows;

/* PAIR: the channel of the pair; ROUTE: the links of its route. */
static int32_t channels_of(const berth_i_sim_plan *p, int32_t src, int32_t dst, int32_t *pair,
                           const int32_t **channels) {
  if (p->o.links == BERTH_LINKS_ROUTE) return berth_topology_route(p->cost->t, src, dst, channels);
  *pair = (int32_t)berth_i_pair(p->cost->t, src, dst);
  *channels = pair;
  return 1;
}

static void find_latest(void *ud, int32_t src, int32_t dst, double bytes) {
  pair_windows *x = ud;
  const int32_t *channels;
  int32_t pair, n = channels_of(x->p, src, dst, &pair, &channels);
  (void)bytes;
  for (int32_t i = 0; i < n; i++) x->latest = later(x->latest, x->until[channels[i]]);
}

static void take_pair(void *ud, int32_t src, int32_t dst, double bytes) {
  pair_windows *x = ud;
  const int32_t *channels;
  int32_t pair, n = channels_of(x->p, src, dst, &pair, &channels);
  (void)bytes;
  for (int32_t i = 0; i < n; i++) x->until[channels[i]] = x->end;
}

/* PAIR and ROUTE: what the pairs that it uses have. */
static double reserve_pairs(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  pair_windows x = { p, s->links.until, s->now, 0 };
  berth_i_sim_collective_flows(p, s, k, find_latest, &x);
  x.end = x.latest + s->coll.one[k].units;
  berth_i_sim_collective_flows(p, s, k, take_pair, &x);
  return x.latest;
}

/* Split windows: all channels of its devices, for one window. */
static double reserve_devices(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  const int32_t *device = &s->coll.device[p->participant_at[k]];
  size_t in = p->o.links == BERTH_LINKS_DUPLEX ? (size_t)p->n_devices : 0;
  double *until = s->links.until, latest = s->now;
  for (int32_t i = 0; i < s->coll.one[k].n_devices; i++)
    latest = later(latest, later(until[device[i]], until[in + (size_t)device[i]]));
  for (int32_t i = 0; i < s->coll.one[k].n_devices; i++)
    until[device[i]] = until[in + (size_t)device[i]] = latest + s->coll.one[k].units;
  return latest;
}

static double reserve_for_all(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  switch (p->o.links) {
  case BERTH_LINKS_PAIR:
  case BERTH_LINKS_ROUTE: return reserve_pairs(p, s, k);
  case BERTH_LINKS_CHANNEL:
  case BERTH_LINKS_DUPLEX: return reserve_devices(p, s, k);
  case BERTH_LINKS_FREE:
  case BERTH_LINKS_FAIR: break;
  }
  return s->now;
}

/* One after another, whatever the links do. */
static void queue_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  double start = later(s->now, s->coll.queue_free);
  s->coll.queue_free = start + s->coll.one[k].units;
  berth_i_sim_collective_start(p, s, k, start);
}

void berth_i_links_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  berth_i_links *l = &s->links;
  if (p->o.collectives == BERTH_COLLECTIVES_QUEUE) {
    queue_collective(p, s, k);
  } else if (l->route) {
    berth_i_route_collective(p, s, k);
  } else if (l->fair) {
    berth_i_fair_collective(p, s, k);
  } else if (p->contended) {
    s->coll.one[k].age = l->n_requests++;
    s->coll.waiting[s->coll.n_waiting++] = k;
    berth_i_slot_set(&s->slots, s->slots.n - 1, s->now, BERTH_I_PUMP);
  } else {
    berth_i_sim_collective_start(p, s, k, reserve_for_all(p, s, k));
  }
}

/* ---- queues: a transfer waits until both its ends are free, then holds them
 * -------------------------------- * Of one ordered pair only the oldest request can be next, so a
 * device has at most 2 * n_devices candidates. Whatever could not start before waits for a channel
 * that was busy then: only devices changed since are checked. */

static void touch(berth_i_sim_state *s, int32_t device) {
  berth_i_links *l = &s->links;
  berth_i_slot_set(&s->slots, s->slots.n - 1, s->now, BERTH_I_PUMP);
  if (l->is_touched[device]) return;
  l->is_touched[device] = 1;
  l->touched[l->n_touched++] = device;
}

void berth_i_links_request(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  berth_i_links *l = &s->links;
  int32_t src = berth_i_copy_src(p, s, copy), dst = berth_i_copy_dst(p, s, copy);
  size_t pair = berth_i_pair(p->cost->t, src, dst);
  if (l->route) {
    berth_i_route_request(p, s, copy);
    return;
  }
  if (l->fair) {
    berth_i_fair_request(p, s, copy);
    return;
  }
  l->age[copy] = l->n_requests++;
  l->next[copy] = BERTH_NONE;
  if (l->head[pair] == BERTH_NONE) {
    l->head[pair] = copy;
  } else {
    l->next[l->tail[pair]] = copy;
  }
  l->tail[pair] = copy;
  l->from_waiting[src]++;
  l->to_waiting[dst]++;
  s->copy[copy] = BERTH_I_COPY_SENT;
  touch(s, src);
}

static int32_t older(const berth_i_links *l, int32_t a, int32_t b) {
  if (a == BERTH_NONE) return b;
  return b == BERTH_NONE || l->age[a] < l->age[b] ? a : b;
}

/* Oldest request of a device, as the sender or as the receiver, whose other end is free. */
BERTH_I_INLINE int32_t oldest_at(const berth_i_sim_plan *p, const berth_i_links *l, int32_t device,
                                 bool sends) {
  const uint8_t *busy = sends ? l->out_busy : l->in_busy, *other = sends ? l->in_busy : l->out_busy;
  int32_t best = BERTH_NONE;
  if (busy[device] || (sends ? l->from_waiting : l->to_waiting)[device] == 0) return BERTH_NONE;
  for (int32_t d = 0; d < p->n_devices; d++) {
    if (other[d]) continue;
    size_t pair = sends ? berth_i_pair(p->cost->t, device, d) : berth_i_pair(p->cost->t, d, device);
    best = older(l, best, l->head[pair]);
  }
  return best;
}

static int32_t oldest_of(const berth_i_sim_plan *p, const berth_i_links *l, int32_t device) {
  return older(l, oldest_at(p, l, device, true), oldest_at(p, l, device, false));
}

static bool can_start(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t copy) {
  int32_t src = berth_i_copy_src(p, s, copy), dst = berth_i_copy_dst(p, s, copy);
  return s->links.head[berth_i_pair(p->cost->t, src, dst)] == copy && !s->links.out_busy[src]
         && !s->links.in_busy[dst];
}

BERTH_I_INLINE void start_transfer(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  berth_i_links *l = &s->links;
  int32_t src = berth_i_copy_src(p, s, copy), dst = berth_i_copy_dst(p, s, copy);
  double end = s->now + berth_i_copy_units(p, s, copy);
  l->head[berth_i_pair(p->cost->t, src, dst)] = l->next[copy];
  l->from_waiting[src]--;
  l->to_waiting[dst]--;
  l->out_busy[src] = l->in_busy[dst] = 1;
  l->carried[src] = copy;
  s->arrival[copy] = end;
  berth_i_links_note(p, s, copy, s->now, end, end);
  berth_i_slot_set(&s->slots, p->n_devices + src, end, s->seq++);
}

/* Index in touched of the oldest that can start; choices that can no longer start are computed
 * again on the way. */
BERTH_I_INLINE int32_t best_choice(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_links *l = &s->links;
  int32_t best = BERTH_NONE;
  for (int32_t i = 0; i < l->n_touched; i++) {
    int32_t *choice = &l->choice[i];
    if (*choice != BERTH_NONE && !can_start(p, s, *choice))
      *choice = oldest_of(p, l, l->touched[i]);
    if (*choice != BERTH_NONE && (best == BERTH_NONE || l->age[*choice] < l->age[l->choice[best]]))
      best = i;
  }
  return best;
}

static bool all_free(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t k) {
  const int32_t *device = &s->coll.device[p->participant_at[k]];
  for (int32_t i = 0; i < s->coll.one[k].n_devices; i++) {
    if (s->links.out_busy[device[i]] || s->links.in_busy[device[i]]) return false;
  }
  return true;
}

/* Place in the list of the oldest collective that can start; n_waiting: none can. */
static int32_t first_free(const berth_i_sim_plan *p, const berth_i_sim_state *s) {
  int32_t i = 0;
  while (i < s->coll.n_waiting && !all_free(p, s, s->coll.waiting[i])) i++;
  return i;
}

static void set_channels(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k, uint8_t busy) {
  const int32_t *device = &s->coll.device[p->participant_at[k]];
  for (int32_t i = 0; i < s->coll.one[k].n_devices; i++)
    s->links.out_busy[device[i]] = s->links.in_busy[device[i]] = busy;
}

static void start_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t at) {
  int32_t k = s->coll.waiting[at];
  for (s->coll.n_waiting--; at < s->coll.n_waiting; at++)
    s->coll.waiting[at] = s->coll.waiting[at + 1];
  set_channels(p, s, k, 1);
  berth_i_sim_collective_start(p, s, k, s->now);
}

/* A collective or a transfer. @return false: none can start */
static bool start_oldest(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_i_links *l = &s->links;
  int32_t best = best_choice(p, s), at = first_free(p, s);
  if (at < s->coll.n_waiting
      && (best == BERTH_NONE || s->coll.one[s->coll.waiting[at]].age < l->age[l->choice[best]])) {
    start_collective(p, s, at);
    return true;
  }
  if (best != BERTH_NONE) start_transfer(p, s, l->choice[best]);
  return best != BERTH_NONE;
}

void berth_i_links_collective_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  const int32_t *device = &s->coll.device[p->participant_at[k]];
  if (p->o.collectives == BERTH_COLLECTIVES_QUEUE) return;
  if (s->links.route) berth_i_route_collective_end(p, s, k);
  if (!s->links.out_busy) return;
  set_channels(p, s, k, 0);
  for (int32_t i = 0; i < s->coll.one[k].n_devices; i++) touch(s, device[i]);
}

static void pump_queues(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_links *l = &s->links;
  berth_i_slot_set(&s->slots, s->slots.n - 1, INFINITY, BERTH_I_PUMP);
  for (int32_t i = 0; i < l->n_touched; i++) l->choice[i] = oldest_of(p, l, l->touched[i]);
  if (p->n_collectives > 0) {
    while (start_oldest(p, s)) continue;
  } else {
    int32_t best;
    while ((best = best_choice(p, s)) != BERTH_NONE) start_transfer(p, s, l->choice[best]);
  }
  for (int32_t i = 0; i < l->n_touched; i++) l->is_touched[l->touched[i]] = 0;
  l->n_touched = 0;
}

void berth_i_links_pump(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  if (s->links.route) {
    berth_i_route_pump(p, s);
  } else if (s->links.fair) {
    berth_i_fair_pump(p, s);
  } else {
    pump_queues(p, s);
  }
}

static int32_t end_queued(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t sender) {
  int32_t copy = s->links.carried[sender], dst = berth_i_copy_dst(p, s, copy);
  s->links.out_busy[sender] = s->links.in_busy[dst] = 0;
  s->copy[copy] = BERTH_I_COPY_THERE;
  berth_i_slot_set(&s->slots, p->n_devices + sender, INFINITY, 0);
  touch(s, sender);
  touch(s, dst);
  return copy;
}

int32_t berth_i_links_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t sender) {
  if (s->links.route) return berth_i_route_end(p, s);
  if (s->links.fair) return berth_i_fair_end(p, s, sender);
  return end_queued(p, s, sender);
}
