/* Collectives of a run: their participants (devices with members), and what they cost once the
 * placement is known. The participants of collective k are participant_at[k]..participant_at[k +
 * 1];
 * as many places as there may be devices, of which the first n_devices are used. */
#include "sim/sim_internal.h"

/* ---- plan ---- */

static int32_t room_for(const berth_i_sim_plan *p, int32_t k) {
  int32_t members = p->cost->g->collectives[k].n_members;
  return members < p->n_devices ? members : p->n_devices;
}

static berth_status count_flows(berth_i_sim_plan *p) {
  size_t flows = 0;
  for (int32_t k = 0; k < p->n_collectives && p->o.links == BERTH_LINKS_FAIR; k++) {
    flows += berth_i_collective_most_flows(p->cost->g->collectives[k].kind, room_for(p, k));
  }
  if (flows > INT32_MAX) {
    return berth_i_fail(p->ctx, BERTH_EUNSUPPORTED, "collectives of %.0f flows between devices",
                        (double)flows);
  }
  p->n_flows = (int32_t)flows;
  return BERTH_OK;
}

berth_status berth_i_sim_collectives_plan(berth_i_sim_plan *p) {
  p->collective_slot = !p->contended                  ? p->n_devices
                    : berth_i_on_links(p->o.links) ? p->n_devices + 2
                                                   : 2 * p->n_devices;
  if (!(p->participant_at =
            berth_i_pool_alloc(&p->pool, (size_t)p->n_collectives + 1, sizeof *p->participant_at)))
    return berth_i_nomem(p->ctx);
  p->participant_at[0] = 0;
  for (int32_t k = 0; k < p->n_collectives; k++)
    p->participant_at[k + 1] = p->participant_at[k] + room_for(p, k);
  p->n_participants = p->participant_at[p->n_collectives];
  if (!(p->participant_of = berth_i_pool_alloc(
            &p->pool, (size_t)p->n_participants, sizeof *p->participant_of)))
    return berth_i_nomem(p->ctx);
  for (int32_t k = 0; k < p->n_collectives; k++) {
    for (int32_t i = p->participant_at[k]; i < p->participant_at[k + 1]; i++)
      p->participant_of[i] = k;
  }
  return count_flows(p);
}

/* ---- life ---- */

static size_t most_members(const berth_i_sim_plan *p) {
  int32_t most = 0;
  for (int32_t k = 0; k < p->n_collectives; k++) {
    int32_t n = p->cost->g->collectives[k].n_members;
    most = n > most ? n : most;
  }
  return (size_t)most;
}

void berth_i_sim_collectives_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_pool *kept,
                           berth_i_sim_collectives *x) {
  size_t n = (size_t)p->n_collectives;
  x->device = berth_i_pool_alloc(kept, (size_t)p->n_participants, sizeof *x->device);
  x->one = berth_i_pool_alloc(pool, n, sizeof *x->one);
  x->seen = berth_i_pool_alloc(pool, (size_t)p->n_devices, sizeof *x->seen);
  x->under_way = berth_i_pool_alloc(pool, n, sizeof *x->under_way);
  x->waiting = berth_i_pool_alloc(pool, n, sizeof *x->waiting);
  x->tail = berth_i_pool_alloc(pool, (size_t)p->n_ops, sizeof *x->tail);
  if (p->cost->collective)
    x->member_device = berth_i_pool_alloc(pool, most_members(p), sizeof *x->member_device);
}

/* ---- prices ---- */

static void find_devices(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  const berth_collective *c = &p->cost->g->collectives[k];
  int32_t *device = &s->coll.device[p->participant_at[k]], n = 0;
  for (int32_t i = 0; i < c->n_members; i++) {
    int32_t d = s->ops[c->members[i]].device;
    if (s->coll.seen[d] == k) continue;
    s->coll.seen[d] = k;
    device[n++] = d;
  }
  s->coll.one[k].n_devices = n;
}

static bool refuse_collective(berth_i_sim_state *s, berth_i_fault_kind kind,
                              int32_t k, int32_t device, int32_t other) {
  s->fault.tensor = k;
  return berth_i_sim_refuse(s, kind, BERTH_NONE, device, other);
}

static bool call_price_function(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k,
                         berth_i_collective_price *price) {
  const berth_collective *c = &p->cost->g->collectives[k];
  for (int32_t i = 0; i < c->n_members; i++)
    s->coll.member_device[i] = s->ops[c->members[i]].device;
  price->algorithm = BERTH_COLLECTIVE_FUNCTION;
  s->fault.status =
      berth_i_collective_function(p->cost, k, c->n_members, s->coll.member_device, &price->seconds);
  return s->fault.status == BERTH_OK
         || refuse_collective(s, BERTH_I_FAULT_CALLBACK, k, BERTH_NONE, BERTH_NONE);
}

static bool find_price(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k,
                      berth_i_collective_price *price) {
  int32_t n = s->coll.one[k].n_devices;
  if (p->cost->collective) return call_price_function(p, s, k, price);
  price->algorithm = p->cost->algorithm;
  if (n < 2) return true;
  *price = berth_i_collective_built_in(p->cost, k, n, &s->coll.device[p->participant_at[k]]);
  return price->src == BERTH_NONE
         || refuse_collective(s, BERTH_I_FAULT_COLLECTIVE_ROUTE, k, price->src, price->dst);
}

static double noise_of(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t k) {
  uint64_t transfers = (uint64_t)p->cost->g->n_tensors * (uint64_t)p->n_devices;
  return berth_i_sim_noise(p, s, 2 * (transfers + (uint64_t)k) + 1);
}

static bool flows(const berth_i_sim_plan *p, const berth_i_sim_collective *x) {
  if (p->o.links != BERTH_LINKS_FAIR || p->o.collectives != BERTH_COLLECTIVES_LINKS) return false;
  return x->n_devices > 1 && x->algorithm != BERTH_COLLECTIVE_LINES
         && x->algorithm != BERTH_COLLECTIVE_FUNCTION;
}

static bool price_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  berth_i_collective_price price = { 0, 0, BERTH_COLLECTIVE_RING, BERTH_NONE, BERTH_NONE };
  berth_i_sim_collective *x = &s->coll.one[k];
  double noise = noise_of(p, s, k);
  find_devices(p, s, k);
  if (!find_price(p, s, k, &price)) return false;
  x->seconds = price.seconds;
  x->units = berth_i_quantise_transfer(price.seconds * noise, p->o.quantum);
  x->latency = price.latency * noise;
  x->algorithm = price.algorithm;
  x->factor = flows(p, x) ? p->cost->transfer_factor * noise / p->cost->collective_bandwidth : 0;
  x->missing = p->cost->g->collectives[k].n_members;
  x->last = BERTH_NONE;
  x->start = x->end = x->after = 0;
  x->flows = 0;
  x->age = 0;
  x->late = 0;
  return x->units <= p->horizon
         || refuse_collective(s, BERTH_I_FAULT_LATE_COLLECTIVE, k, BERTH_NONE, BERTH_NONE);
}

bool berth_i_sim_collective_price_again(const berth_i_sim_plan *p,
                                        berth_i_sim_state *s, int32_t k) {
  berth_i_sim_collective *x = &s->coll.one[k];
  int32_t missing = x->missing, last = x->last;
  for (int32_t i = 0; i < p->n_devices; i++) s->coll.seen[i] = BERTH_NONE;
  bool priced = price_collective(p, s, k);
  x->missing = missing;
  x->last = last;
  return priced;
}

/* ---- limits: least time from the start of each op to the end, under this placement ---- */

static double longest_tail(const double *tail, int32_t n, const int32_t *ops) {
  double most = 0;
  for (int32_t i = 0; i < n; i++) most = tail[ops[i]] > most ? tail[ops[i]] : most;
  return most;
}

static double tail_after(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  const berth_graph *g = p->cost->g;
  double after =
      longest_tail(s->coll.tail, p->edge_at[op + 1] - p->edge_at[op], &p->edge_to[p->edge_at[op]]);
  for (int32_t i = g->wait_at[op]; i < g->wait_at[op + 1]; i++) {
    berth_i_sim_collective *x = &s->coll.one[g->wait[i]];
    const berth_collective *c = &g->collectives[g->wait[i]];
    if (x->after < 0) x->after = longest_tail(s->coll.tail, c->n_consumers, c->consumers);
    if (x->units + x->after > after) after = x->units + x->after;
  }
  return after;
}

/* Consumers come later in the topological order than members: `after` is computed once for all of
 * them. */
void berth_i_sim_collectives_tails(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_graph *g = p->cost->g;
  for (int32_t i = 0; i < p->n_collectives; i++) s->coll.one[i].after = p->o.noise > 0 ? 0 : -1;
  for (int32_t i = p->n_ops - 1; i >= 0; i--) {
    int32_t op = g->topo[i];
    s->coll.tail[op] = p->o.noise > 0 ? 0 : s->ops[op].work + tail_after(p, s, op);
  }
}

bool berth_i_sim_collectives_reset(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const int32_t *after_at = p->cost->g->after_at;
  s->coll.n_under_way = s->coll.n_waiting = 0;
  s->coll.queue_free = 0;
  for (int32_t i = 0; i < p->n_devices; i++) s->coll.seen[i] = BERTH_NONE;
  for (int32_t i = 0; i < p->n_collectives; i++) {
    if (!price_collective(p, s, i)) return false;
  }
  for (int32_t i = 0; i < p->n_ops; i++) s->ops[i].missing += after_at[i + 1] - after_at[i];
  if (s->limit < INFINITY) berth_i_sim_collectives_tails(p, s);
  return true;
}

/* ---- what it is ---- */

double berth_i_sim_collective_bytes(const berth_i_sim_plan *p,
                                    const berth_i_sim_state *s, int32_t k) {
  const berth_collective *c = &p->cost->g->collectives[k];
  if (c->kind == BERTH_BARRIER) return 0;
  return c->kind == BERTH_ALLGATHER ? c->bytes * s->coll.one[k].n_devices : c->bytes;
}

void berth_i_sim_collective_flows(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t k,
                           berth_i_flow_fn flow, void *ud) {
  const berth_i_sim_collective *x = &s->coll.one[k];
  berth_i_collective_flows(p->cost, k, x->algorithm, x->n_devices,
                           &s->coll.device[p->participant_at[k]], flow, ud);
}

int32_t berth_i_member_slot_op(const berth_i_sim_plan *p,
                               const berth_i_sim_state *s, int32_t participant) {
  const berth_collective *c = &p->cost->g->collectives[p->participant_of[participant]];
  int32_t lowest = BERTH_NONE;
  for (int32_t i = 0; i < c->n_members; i++) {
    int32_t op = c->members[i];
    if (s->ops[op].device == s->coll.device[participant] && (lowest == BERTH_NONE || op < lowest))
      lowest = op;
  }
  return lowest;
}
