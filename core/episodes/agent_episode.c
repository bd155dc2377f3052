/* One episode of the shipped agent: ops in order of priority, each on the device of least score;
 * a decision places the whole set of ops (grain) that the op is in, or, where the set fits nowhere,
 * the op's group alone. The plan appends ops to devices and transfers to ports, as duplex links or
 * half-duplex channels have them; other links are planned without ports.
 * Invariant: held and most are what the decided sets need of each device.
 * O((ops + edges) x devices + decisions x network). */
#include "agent_internal.h"
#include "base/plain_heap_internal.h"

enum { SPLIT = -2, MOST_CONSUMERS = 8, MOST_INPUTS = 16 };

static bool goes_first(berth_i_agent_ready a, berth_i_agent_ready b) {
  return a.key < b.key || (a.key == b.key && a.at < b.at);
}
BERTH_I_HEAP(heap, berth_i_agent_ready, goes_first)

/* fmax is a function call */
static inline double later(double x, double y) { return x > y ? x : y; }

static int32_t where(const berth_i_agent *a, int32_t op) {
  const berth_i_agent_grain *r = &a->grain[a->g];
  int32_t d = r->device[r->b->of[op]];
  return d == SPLIT ? a->grain[0].device[a->grain[0].b->of[op]] : d;
}

static double *term_of(const berth_i_agent *a, int32_t d) {
  return a->term + (size_t)d * BERTH_I_TERMS;
}

/* ---- the terms of a decision ---- */

enum {
  START, TIME, REST, INPUTS, NEIGHBOURS, RESERVED, LOAD, GAP, PORT, PARTNERS, MEMORY, CRITICAL,
  DISTANCE, EMPTY
};

/* When a transfer from src to d may be sent. */
static double port_free(const berth_i_agent *a, int32_t src, int32_t d) {
  const berth_topology *t = a->cost->t;
  size_t pair = berth_i_pair(t, src, d);
  double at = 0;
  switch (a->ports) {
  case BERTH_I_PORTS_PAIR: return a->in_free[pair];
  case BERTH_I_PORTS_DEVICE: return later(a->in_free[d], a->out_free[src]);
  case BERTH_I_PORTS_ROUTE:
    for (int32_t k = 0; k < t->route_len[pair]; k++)
      at = later(at, a->in_free[t->route[t->route_first[pair] + k]]);
    return at;
  default: return 0;
  }
}

static void take_port(berth_i_agent *a, int32_t src, int32_t d, double until) {
  const berth_topology *t = a->cost->t;
  size_t pair = berth_i_pair(t, src, d);
  if (a->ports == BERTH_I_PORTS_PAIR) a->in_free[pair] = until;
  if (a->ports == BERTH_I_PORTS_DEVICE) a->in_free[d] = a->out_free[src] = until;
  if (a->ports != BERTH_I_PORTS_ROUTE) return;
  for (int32_t k = 0; k < t->route_len[pair]; k++)
    a->in_free[t->route[t->route_first[pair] + k]] = until;
}

/* When all inputs are there, the missing ones sent one after another; what sending takes. */
static void arrive(const berth_i_agent *a, int32_t op, int32_t d, double *f) {
  const berth_graph *g = a->cost->g;
  const bool one = a->ports == BERTH_I_PORTS_DEVICE;
  double at = 0, port = one ? a->in_free[d] : 0, sum = 0, latest = -1, critical = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], from = g->producer[t], src = a->device[from];
    double came = a->sent[(size_t)t * (size_t)a->n_devices + (size_t)d], seconds = 0;
    if (src == d) came = a->finish[from];
    else {
      seconds = berth_i_transfer_time(a->cost, t, src, d);
      if (came < 0) {
        double begin = later(a->finish[from], port_free(a, src, d));
        if (one) begin = later(begin, port);
        came = begin + seconds;
        if (one) port = came;
        sum += seconds;
      }
    }
    at = later(at, came);
    if (a->finish[from] + a->p.comm[t] > latest) {
      latest = a->finish[from] + a->p.comm[t];
      critical = seconds;
    }
  }
  for (int32_t i = g->after ? g->after_at[op] : 0; g->after && i < g->after_at[op + 1]; i++) {
    const berth_collective *c = &g->collectives[g->after[i]];
    for (int32_t j = 0; j < c->n_members; j++) at = later(at, a->finish[c->members[j]]);
  }
  f[START] = later(at, a->free_at[d]);
  f[GAP] = later(0, at - a->free_at[d]);
  f[INPUTS] = sum;
  f[CRITICAL] = critical;
  f[PORT] = port;
}

/* A transfer from or to a decided device, for the device of the decision on its other end. */
static void meet(berth_i_agent *a, int32_t tensor, int32_t at, bool sends, double *all) {
  if (a->cost->uniform) {
    *all += a->cost->uniform[tensor];
    term_of(a, at)[NEIGHBOURS] -= a->cost->uniform[tensor];
    return;
  }
  for (int32_t d = 0; d < a->n_devices; d++) {
    term_of(a, d)[NEIGHBOURS] += sends ? berth_i_transfer_time(a->cost, tensor, at, d)
                                       : berth_i_transfer_time(a->cost, tensor, d, at);
  }
}

/* Transfers between the set and what is decided, whichever is listed first. */
static void meet_neighbours(berth_i_agent *a, const berth_i_clumps *b, int32_t block) {
  const berth_graph *g = a->cost->g;
  double all = 0;
  for (int32_t k = b->at[block]; k < b->at[block + 1]; k++) {
    int32_t op = b->ops[k];
    for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
      int32_t src = where(a, g->producer[g->in[i]]);
      if (src >= 0) meet(a, g->in[i], src, true, &all);
    }
    for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
      a->stamps++;
      for (int32_t j = g->use_at[g->out[i]]; j < g->use_at[g->out[i] + 1]; j++) {
        int32_t to = where(a, g->use[j]);
        if (to < 0 || a->stamp[to] == a->stamps) continue;
        a->stamp[to] = a->stamps;
        meet(a, g->out[i], to, false, &all);
      }
    }
  }
  for (int32_t d = 0; d < a->n_devices && all > 0; d++) term_of(a, d)[NEIGHBOURS] += all;
}

/* What the op's consumers also read, where it is. */
static void meet_partners(berth_i_agent *a, int32_t op) {
  const berth_graph *g = a->cost->g;
  int32_t consumers = 0;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && consumers < MOST_CONSUMERS; j++) {
      int32_t to = g->use[j], last = g->in_at[to + 1];
      consumers++;
      if (last > g->in_at[to] + MOST_INPUTS) last = g->in_at[to] + MOST_INPUTS;
      for (int32_t k = g->in_at[to]; k < last; k++) {
        int32_t d = g->in[k] == t ? BERTH_NONE : where(a, g->producer[g->in[k]]);
        if (d >= 0) term_of(a, d)[PARTNERS] += a->p.comm[g->in[k]];
      }
    }
  }
}

/* Bytes of the inputs that are not on the device, as far as they count for good. */
static double copies(const berth_i_agent *a, int32_t op, int32_t d) {
  const berth_graph *g = a->cost->g;
  double sum = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i];
    if (a->device[g->producer[t]] == d) continue;
    if (a->sent[(size_t)t * (size_t)a->n_devices + (size_t)d] < 0) sum += berth_i_resident(g, t);
  }
  return sum * a->u.share;
}

static bool fits(const berth_i_agent *a, const berth_i_agent_grain *r, int32_t op, int32_t block,
                 int32_t d) {
  if (!a->counts_memory) return true;
  double bytes = a->held[d] + r->permanent[block] + later(a->most[d], r->temporary[block]);
  if (a->u.share > 0) bytes += copies(a, op, d);
  return berth_i_excess(bytes, a->cost->t->devices[d].memory) <= 0;
}

/* Nothing is there, and a device before it is alike: it would score the same. */
static bool is_like_one_before(const berth_i_agent *a, int32_t d) {
  const berth_cost *c = a->cost;
  if (!c->uniform || a->used[d]) return false;
  for (int32_t e = 0; e < d; e++) {
    if (a->may[e] && !a->used[e] && c->class_of[e] == c->class_of[d]
        && c->t->devices[e].memory == c->t->devices[d].memory)
      return true;
  }
  return false;
}

static void fill_context(const berth_i_agent *a, int32_t op, double rest, double *c) {
  double least = INFINITY, most = 0;
  for (int32_t d = 0; d < a->n_devices; d++) {
    least = fmin(least, a->load[d]);
    most = later(most, a->load[d]);
  }
  memcpy(c, a->graph_context, sizeof a->graph_context);
  const berth_graph *g = a->cost->g;
  double time = a->p.comp[op];
  c[0] = a->work > 0 ? a->done / a->work : 0;
  c[1] = berth_i_agent_ratio(a->b_level[op], a->scale);
  c[2] = a->path > 0 ? (a->t_level[op] + a->static_level[op]) / a->path : 0;
  c[3] = berth_i_agent_ratio(time, a->in_seconds[op]);
  c[4] = berth_i_agent_ratio(time, a->out_seconds[op]);
  c[5] = berth_i_agent_ratio(time + rest, 0.02 * a->scale);
  c[6] = berth_i_agent_ratio(g->in_at[op + 1] - g->in_at[op], 2);
  c[7] = 0;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++)
    c[7] += g->use_at[g->out[i] + 1] - g->use_at[g->out[i]];
  c[7] = berth_i_agent_ratio(c[7], 2);
  c[8] = berth_i_agent_ratio(most - least, 0.2 * a->scale);
  c[9] = a->grain[a->g].b->n > 0 ? berth_i_agent_ratio(rest, time) : 0;
  c[10] = a->g == 1;
  c[11] = a->g == 2;
  c[22] = a->order == BERTH_I_BY_START;
}

/* @return the device; BERTH_NONE: the set fits nowhere */
static int32_t choose(berth_i_agent *a, const berth_i_agent_grain *r, int32_t op, int32_t block) {
  const berth_cost *cost = a->cost;
  int32_t legal = 0, best = BERTH_NONE;
  for (int32_t d = 0; d < a->n_devices; d++) {
    a->may[d] = r->b->may[(size_t)block * (size_t)a->n_devices + (size_t)d]
                && fits(a, r, op, block, d) && !is_like_one_before(a, d);
    if (a->may[d]) best = d;
    legal += a->may[d];
  }
  if (legal <= 1 && (best == BERTH_NONE || a->cost->uniform)) return best;
  /* 1. The terms of all devices. */
  memset(a->term, 0, (size_t)a->n_devices * BERTH_I_TERMS * sizeof *a->term);
  meet_neighbours(a, r->b, block);
  meet_partners(a, op);
  for (int32_t d = 0; d < a->n_devices; d++) {
    double *f = term_of(a, d);
    if (!a->may[d]) continue;
    arrive(a, op, d, f);
    f[TIME] = berth_i_is_communication(cost->g, op) ? 0 : berth_i_op_time(cost, op, d);
    f[REST] = later(0, r->work[(size_t)block * (size_t)cost->n_classes + (size_t)cost->class_of[d]]
                      - f[TIME]);
    f[RESERVED] = later(0, a->load[d] - a->listed[d]);
    f[LOAD] = a->load[d];
    double limit = cost->t->devices[d].memory;
    if (a->counts_memory && !isinf(limit) && limit > 0)
      f[MEMORY] = (a->held[d] + r->permanent[block]) / limit * (f[TIME] + f[REST]);
    f[DISTANCE] = a->distance[d] * a->out_seconds[op];
    f[EMPTY] = a->load[d] > 0 ? 0 : a->in_seconds[op] + a->out_seconds[op];
  }
  /* 2. Their factors in this state. */
  double context[BERTH_I_CONTEXT], factor[BERTH_I_TERMS], least = INFINITY;
  fill_context(a, op, best == BERTH_NONE ? 0 : term_of(a, best)[REST], context);
  if (a->plain) memset(factor, 0, sizeof factor);
  else berth_i_agent_network(a->w, context, factor);
  /* 3. The least sum. What no route leads to has infinite terms. */
  best = BERTH_NONE;
  for (int32_t d = 0; d < a->n_devices; d++) {
    const double *f = term_of(a, d);
    double score = 0;
    if (!a->may[d] || isinf(f[START]) || isinf(f[NEIGHBOURS])) continue;
    for (int k = 0; k < BERTH_I_TERMS; k++) score += (a->factor[k] + factor[k]) * f[k];
    if (best == BERTH_NONE || score < least) least = score, best = d;
  }
  return best;
}

/* ---- what a decision changes ---- */

static void settle(berth_i_agent *a, berth_i_agent_grain *r, int32_t block, int32_t d) {
  const berth_cost *c = a->cost;
  r->device[block] = d;
  a->used[d] = 1;
  a->load[d] += r->work[(size_t)block * (size_t)c->n_classes + (size_t)c->class_of[d]];
  a->held[d] += r->permanent[block];
  a->most[d] = later(a->most[d], r->temporary[block]);
}

/* Where the op goes, and with it what is left of its set; BERTH_NONE: it fits nowhere. */
static int32_t decide(berth_i_agent *a, int32_t op) {
  berth_i_agent_grain *r = &a->grain[a->g], *atoms = &a->grain[0];
  int32_t block = r->b->of[op], d = where(a, op);
  if (d != BERTH_NONE) return d;
  if (r->device[block] != SPLIT) {
    if ((d = choose(a, r, op, block)) != BERTH_NONE) {
      settle(a, r, block, d);
      return d;
    }
    if (a->g == 0) return BERTH_NONE;
    r->device[block] = SPLIT;
  }
  block = atoms->b->of[op];
  if ((d = choose(a, atoms, op, block)) != BERTH_NONE) settle(a, atoms, block, d);
  return d;
}

static void put(berth_i_agent *a, int32_t op, int32_t d) {
  const berth_graph *g = a->cost->g;
  double at = 0;
  if (a->u.share > 0) a->held[d] += copies(a, op, d);
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i], from = g->producer[t], src = a->device[from];
    double *came = &a->sent[(size_t)t * (size_t)a->n_devices + (size_t)d];
    if (src == d) {
      at = later(at, a->finish[from]);
      continue;
    }
    if (*came < 0) {
      double begin = later(a->finish[from], port_free(a, src, d));
      *came = begin + berth_i_transfer_time(a->cost, t, src, d);
      take_port(a, src, d, *came);
    }
    at = later(at, *came);
  }
  for (int32_t i = g->after ? g->after_at[op] : 0; g->after && i < g->after_at[op + 1]; i++) {
    const berth_collective *c = &g->collectives[g->after[i]];
    for (int32_t j = 0; j < c->n_members; j++) at = later(at, a->finish[c->members[j]]);
  }
  double time = berth_i_op_time(a->cost, op, d);
  a->device[op] = d;
  if (berth_i_is_communication(g, op)) {
    a->finish[op] = at + time;
    return;
  }
  a->finish[op] = a->free_at[d] = later(at, a->free_at[d]) + time;
  a->listed[d] += time;
  a->done += a->p.comp[op];
}

static double priority(const berth_i_agent *a, int32_t op, double when) {
  const double *o = a->factor + BERTH_I_TERMS;
  return o[2] * when - o[0] * a->b_level[op] - o[1] * a->static_level[op];
}

static void make_ready(berth_i_agent *a, int32_t op, double when) {
  a->likely[op] = BERTH_NONE;
  if (a->order == BERTH_I_BY_TIME) {
    heap_up(a->later, a->n_later++, (berth_i_agent_ready){ when, a->place[op] });
    return;
  }
  heap_up(a->ready, a->n_ready++, (berth_i_agent_ready){ priority(a, op, when), a->place[op] });
}

/* All that are ready when the first device in use is free; at least one. */
static void advance(berth_i_agent *a) {
  double now = INFINITY;
  for (int32_t d = 0; d < a->n_devices; d++) {
    if (a->listed[d] > 0 && a->free_at[d] < now) now = a->free_at[d];
  }
  if (isinf(now)) now = 0;
  while (a->n_later > 0 && (a->n_ready == 0 || a->later[0].key <= now)) {
    berth_i_agent_ready first = heap_pop(a->later, a->n_later--);
    now = later(now, first.key);
    first.key = priority(a, a->cost->g->topo[first.at], first.key);
    heap_up(a->ready, a->n_ready++, first);
  }
}

static void release(berth_i_agent *a, int32_t op) {
  const berth_graph *g = a->cost->g;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    for (int32_t j = g->use_at[g->out[i]]; j < g->use_at[g->out[i] + 1]; j++) {
      if (--a->open[g->use[j]] == 0) make_ready(a, g->use[j], a->finish[op]);
    }
  }
  for (int32_t i = g->wait ? g->wait_at[op] : 0; g->wait && i < g->wait_at[op + 1]; i++) {
    const berth_collective *c = &g->collectives[g->wait[i]];
    if (--a->members[g->wait[i]] > 0) continue;
    for (int32_t j = 0; j < c->n_consumers; j++) {
      if (--a->open[c->consumers[j]] == 0) make_ready(a, c->consumers[j], a->finish[op]);
    }
  }
}

/* ---- the whole ---- */

/* Plain rules: ties of starts by the longest path of op times; the longest path with transfers. */
static const float earliest_start[BERTH_I_FACTORS] = { [START] = 1, [BERTH_I_TERMS + 1] = 1e-3f,
                                                       [BERTH_I_TERMS + 2] = 1 },
                   earliest_finish[BERTH_I_FACTORS] = { [START] = 1, [TIME] = 1,
                                                        [BERTH_I_TERMS] = 1 };

/* Sets with one device, as pinned ones have, are decided at once: others see where they are. */
static void start(berth_i_agent *a, const berth_i_agent_try *t) {
  const berth_graph *g = a->cost->g;
  const size_t devices = (size_t)a->n_devices;
  const float *base = a->w + BERTH_I_AT_BASE + t->head * BERTH_I_FACTORS;
  a->g = t->head % BERTH_I_GRAINS;
  a->done = a->planned = 0;
  a->order = (berth_i_agent_order)(t->head / BERTH_I_GRAINS);
  a->plain = t->plain;
  a->n_ready = a->n_later = 0;
  if (t->plain) base = t->head < 2 * BERTH_I_GRAINS ? earliest_start : earliest_finish;
  for (int k = 0; k < BERTH_I_FACTORS; k++)
    a->factor[k] = (double)base[k] + (double)a->w[BERTH_I_AT_SPREAD + k] * t->shift[k];
  for (size_t d = 0; d < devices; d++) {
    a->free_at[d] = a->load[d] = a->listed[d] = a->held[d] = a->most[d] = 0;
    a->used[d] = 0;
  }
  for (int32_t i = 0; i < a->n_ports; i++) a->in_free[i] = a->out_free[i] = 0;
  for (size_t i = 0; i < (size_t)g->n_tensors * devices; i++) a->sent[i] = -1;
  for (int k = 0; k < BERTH_I_GRAINS; k++) {
    berth_i_agent_grain *r = &a->grain[k];
    for (int32_t b = 0; b < r->b->n; b++) r->device[b] = BERTH_NONE;
  }
  berth_i_agent_grain *r = &a->grain[a->g];
  for (int32_t b = 0; b < r->b->n; b++) {
    int32_t only = BERTH_NONE, legal = 0;
    for (int32_t d = 0; d < a->n_devices; d++) {
      if (r->b->may[(size_t)b * devices + (size_t)d]) only = d, legal++;
    }
    if (legal == 1) settle(a, r, b, only);
  }
  for (int32_t k = 0; k < g->n_collectives; k++) a->members[k] = g->collectives[k].n_members;
  for (int32_t op = 0; op < a->n; op++) {
    a->open[op] = g->in_at[op + 1] - g->in_at[op];
    if (g->after) a->open[op] += g->after_at[op + 1] - g->after_at[op];
    if (a->open[op] == 0) make_ready(a, op, 0);
  }
}

/* The device of earliest start, of those where the op may go. */
static int32_t earliest(berth_i_agent *a, int32_t op, double *when) {
  const berth_i_clumps *b = a->grain[0].b;
  int32_t best = BERTH_NONE;
  *when = INFINITY;
  for (int32_t d = 0; d < a->n_devices; d++) {
    double f[BERTH_I_TERMS];
    if (!b->may[(size_t)b->of[op] * (size_t)a->n_devices + (size_t)d]) continue;
    arrive(a, op, d, f);
    if (f[START] < *when) *when = f[START], best = d;
  }
  return best;
}

/* Starts move back as devices fill: the first op waits again where another one is now before it.
 * Its start is that on its device, or, as long as none is decided, on the one where it started
 * first when it was here for the first time. */
static bool waits(berth_i_agent *a, berth_i_agent_ready *first, int32_t op) {
  double f[BERTH_I_TERMS], when;
  if (a->order != BERTH_I_BY_START || a->n_ready == 0) return false;
  int32_t d = where(a, op);
  if (d == BERTH_NONE && (d = a->likely[op]) == BERTH_NONE) {
    a->likely[op] = earliest(a, op, &when);
  } else {
    arrive(a, op, d, f);
    when = f[START];
  }
  double key = priority(a, op, when);
  if (!(key > first->key) || !(key > a->ready[0].key)) return false;
  first->key = key;
  heap_up(a->ready, a->n_ready++, *first);
  return true;
}

bool berth_i_agent_episode(berth_i_agent *a, const berth_i_agent_try *t) {
  start(a, t);
  while (a->n_ready > 0 || a->n_later > 0) {
    if (a->n_later > 0) advance(a);
    berth_i_agent_ready first = heap_pop(a->ready, a->n_ready--);
    int32_t op = a->cost->g->topo[first.at];
    if (waits(a, &first, op)) continue;
    int32_t d = decide(a, op);
    if (d == BERTH_NONE) return false;
    put(a, op, d);
    a->planned = later(a->planned, a->finish[op]);
    release(a, op);
  }
  return true;
}
