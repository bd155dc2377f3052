/* The cost of moving a unit in seconds, and moves by that price: transfers that begin and end, and
 * work on devices with a higher or lower load.
 * Unloading: offers (unit, device) of a device that overflows are in a queue by price for each byte
 * of relief; the price of an offer is checked again when it is taken. Refinement: units near those
 * that moved go where they are cheaper, memory kept, as in Kernighan, Lin 1970 and Fiduccia,
 * Mattheyses 1982 without their uphill moves. Invariant: a move never raises the overflow of a
 * device. O((units + edges) x devices x log). */
#include "list/engine_internal.h"
#include "pack_internal.h"

typedef struct market {
  berth_i_pool pool;
  berth_i_assignment *s;
  double *load, mean; /* [devices] s of work; their mean */
  uint8_t *near;      /* [n] 1: a neighbour has moved */
  berth_i_queue queue;
} market;

static berth_status market_init(berth_i_assignment *s, market *m) {
  *m = (market){ .pool = berth_i_pool_empty(s->ctx), .s = s };
  m->load = berth_i_pool_zalloc(&m->pool, (size_t)s->devices, sizeof *m->load);
  m->near = berth_i_pool_zalloc(&m->pool, (size_t)s->n, 1);
  berth_status st;
  if ((st = berth_i_pool_status(&m->pool)) != BERTH_OK) return st;
  for (int32_t i = 0; i < s->n; i++) m->load[s->at[i]] += berth_i_unit_time(s->u, i, s->at[i]);
  for (int32_t i = 0; i < s->devices; i++) m->mean += m->load[i] / s->devices;
  return BERTH_OK;
}

/* ---- prices ---- */

/* The same device twice in a row, as among the consumers of a hub, is counted once. */
static double sent_from(const berth_i_assignment *s, int32_t tensor, int32_t unit, int32_t device) {
  const berth_graph *g = s->cost->g;
  double sum = 0;
  int32_t last = BERTH_NONE;
  for (int32_t i = g->use_at[tensor]; i < g->use_at[tensor + 1]; i++) {
    int32_t reader = s->u->of[g->use[i]], to = s->at[reader];
    if (reader == unit || to == last) continue;
    sum += berth_i_transfer_time(s->cost, tensor, device, to);
    last = to;
  }
  return sum;
}

/* Seconds of the transfers to and from the unit if it were on the device. */
static double transfers_on(const berth_i_assignment *s, int32_t unit, int32_t device) {
  const berth_graph *g = s->cost->g;
  double sum = 0;
  for (int32_t i = s->u->at[unit]; i < s->u->at[unit + 1]; i++) {
    int32_t op = s->u->ops[i];
    for (int32_t j = g->in_at[op]; j < g->in_at[op + 1]; j++) {
      int32_t from = s->u->of[g->producer[g->in[j]]];
      if (from != unit) sum += berth_i_transfer_time(s->cost, g->in[j], s->at[from], device);
    }
    for (int32_t j = g->out_at[op]; j < g->out_at[op + 1]; j++)
      sum += sent_from(s, g->out[j], unit, device);
  }
  return sum;
}

/* Slope of half the sum of squared loads over their mean: a second counts more on a device
 * with a higher load. */
static double work_price(const market *m, int32_t unit, int32_t to) {
  int32_t from = m->s->at[unit];
  double there = berth_i_unit_time(m->s->u, unit, to),
         here = berth_i_unit_time(m->s->u, unit, from);
  if (!(m->mean > 0)) return 0;
  return (there * (m->load[to] + there / 2) - here * (m->load[from] - here / 2)) / m->mean;
}

static double price(const market *m, int32_t unit, int32_t to) {
  return transfers_on(m->s, unit, to) - transfers_on(m->s, unit, m->s->at[unit])
         + work_price(m, unit, to);
}

/* ---- moving ---- */

static void mark_neighbours(market *m, int32_t unit) {
  const berth_i_assignment *s = m->s;
  const berth_graph *g = s->cost->g;
  for (int32_t i = s->u->at[unit]; i < s->u->at[unit + 1]; i++) {
    int32_t op = s->u->ops[i];
    for (int32_t j = g->in_at[op]; j < g->in_at[op + 1]; j++)
      m->near[s->u->of[g->producer[g->in[j]]]] = 1;
    for (int32_t j = g->out_at[op]; j < g->out_at[op + 1]; j++) {
      for (int32_t k = g->use_at[g->out[j]]; k < g->use_at[g->out[j] + 1]; k++)
        m->near[s->u->of[g->use[k]]] = 1;
    }
  }
  m->near[unit] = 0;
}

/* Unless the target would overflow, or the source more than before. */
static bool try_move(market *m, int32_t unit, int32_t to) {
  berth_i_assignment *s = m->s;
  int32_t from = s->at[unit];
  double held_from = s->held[from], held_to = s->held[to],
         before = berth_i_assignment_over(s, from);
  berth_i_assignment_move(s, unit, to);
  if (berth_i_assignment_over(s, to) > 0 || berth_i_assignment_over(s, from) > fmax(0, before)) {
    berth_i_assignment_move(s, unit, from);
    s->held[from] = held_from;
    s->held[to] = held_to;
    return false;
  }
  m->load[from] -= berth_i_unit_time(s->u, unit, from);
  m->load[to] += berth_i_unit_time(s->u, unit, to);
  return true;
}

/* ---- unloading ---- */

/* Bytes that the move takes off the overflow, roughly; 0: none. */
static double relief(const berth_i_assignment *s, int32_t unit, int32_t from) {
  double bytes = s->size[unit];
  if (s->top[from] == s->rank[unit]) bytes += s->temporary[unit];
  return fmin(bytes, berth_i_assignment_over(s, from));
}

static berth_status offer_to(market *m, int32_t unit, int32_t to) {
  berth_i_assignment *s = m->s;
  double bytes = relief(s, unit, s->at[unit]);
  if (!(bytes > 0) || to == s->at[unit] || !berth_i_assignment_may(s, unit, to)) return BERTH_OK;
  return berth_i_queue_push(&m->pool, &m->queue, price(m, unit, to) / bytes, bytes,
                            unit * s->devices + to);
}

/* Neighbours on the old device cost less to move now. */
static berth_status offer_neighbours(market *m, int32_t unit, int32_t from) {
  const berth_i_assignment *s = m->s;
  const berth_graph *g = s->cost->g;
  int32_t to = s->at[unit];
  berth_status st = BERTH_OK;
  for (int32_t i = s->u->at[unit]; i < s->u->at[unit + 1]; i++) {
    int32_t op = s->u->ops[i];
    for (int32_t j = g->in_at[op]; j < g->in_at[op + 1] && st == BERTH_OK; j++) {
      int32_t v = s->u->of[g->producer[g->in[j]]];
      if (s->at[v] == from) st = offer_to(m, v, to);
    }
    for (int32_t j = g->out_at[op]; j < g->out_at[op + 1]; j++) {
      int32_t first = g->use_at[g->out[j]], last = g->use_at[g->out[j] + 1];
      if (last - first > 64) continue; /* a hub: its readers are offered anyway */
      for (int32_t k = first; k < last && st == BERTH_OK; k++) {
        int32_t v = s->u->of[g->use[k]];
        if (s->at[v] == from) st = offer_to(m, v, to);
      }
    }
  }
  return st;
}

/* The units of one device, while it overflows: the cheapest offer first. */
static berth_status unload_device(market *m, int32_t from) {
  berth_i_assignment *s = m->s;
  berth_status st = BERTH_OK;
  m->queue.n = 0;
  for (int32_t i = s->first[from]; i != BERTH_NONE; i = s->next[i]) {
    for (int32_t d = 0; d < s->devices && st == BERTH_OK; d++) {
      if (berth_i_assignment_over(s, d) < 0) st = offer_to(m, i, d);
    }
  }
  while (st == BERTH_OK && m->queue.n > 0 && berth_i_assignment_over(s, from) > 0) {
    berth_i_entry e = berth_i_queue_pop(&m->queue);
    int32_t unit = e.item / s->devices, to = e.item % s->devices;
    if (s->at[unit] != from || berth_i_assignment_over(s, to) >= 0) continue;
    double bytes = relief(s, unit, from);
    if (!(bytes > 0)) continue;
    double key = price(m, unit, to) / bytes;
    if (m->queue.n > 0 && key > e.key && key > m->queue.at[0].key) {
      /* the price has risen since: others are cheaper now */
      st = berth_i_queue_push(&m->pool, &m->queue, key, bytes, e.item);
    } else if (try_move(m, unit, to)) {
      mark_neighbours(m, unit);
      st = offer_neighbours(m, unit, from);
    }
  }
  return st;
}

/* ---- refinement ---- */

/* Each move lowers a sum of prices, so this ends; the count of rounds keeps it short. */
static void refine(market *m) {
  const berth_i_assignment *s = m->s;
  bool moved = true;
  for (int32_t round = 0; round < 8 && moved; round++) {
    moved = false;
    for (int32_t i = 0; i < s->n; i++) {
      if (!m->near[i]) continue;
      m->near[i] = 0;
      double least = -1e-9 * m->mean;
      int32_t best = BERTH_NONE;
      for (int32_t d = 0; d < s->devices; d++) {
        if (d == s->at[i] || berth_i_excess(s->held[d] + s->size[i], s->limit[d]) > 0
            || !berth_i_assignment_may(s, i, d))
          continue;
        double p = price(m, i, d);
        if (p < least) least = p, best = d;
      }
      if (best == BERTH_NONE || !try_move(m, i, best)) continue;
      mark_neighbours(m, i);
      moved = true;
    }
  }
}

berth_status berth_i_assignment_refine(berth_i_assignment *s, uint8_t *near) {
  market m;
  berth_status st = market_init(s, &m);
  if (st == BERTH_OK) {
    if (s->n > 0) memcpy(m.near, near, (size_t)s->n);
    refine(&m);
  }
  berth_i_pool_free(&m.pool);
  return st;
}

/* Each device that overflows once, the fullest first. */
berth_status berth_i_assignment_unload(berth_i_assignment *s) {
  uint8_t *done = NULL;
  if ((int64_t)s->n * s->devices > INT32_MAX) return BERTH_OK; /* offers are numbered by pairs */
  market m;
  berth_status st = market_init(s, &m);
  if (st == BERTH_OK && !(done = berth_i_pool_zalloc(&m.pool, (size_t)s->devices, 1)))
    st = berth_i_nomem(s->ctx);
  while (st == BERTH_OK) {
    int32_t worst = BERTH_NONE;
    double most = 0;
    for (int32_t d = 0; d < s->devices; d++) {
      double over = berth_i_assignment_over(s, d);
      if (!done[d] && over > most) most = over, worst = d;
    }
    if (worst == BERTH_NONE) break;
    done[worst] = 1;
    st = unload_device(&m, worst);
  }
  if (st == BERTH_OK) refine(&m);
  berth_i_pool_free(&m.pool);
  return st;
}
