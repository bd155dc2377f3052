/* Collectives in a plan: one ends at the latest finish of its members, plus its price on their
 * devices. O(members) each. */
#include "engine_internal.h"

berth_status berth_i_collectives_init(berth_plan *p) {
  const berth_graph *g = p->g;
  berth_i_collectives *m = &p->collectives;
  size_t n = (size_t)g->n_collectives, pairs = (size_t)p->devices * (size_t)p->devices;
  if (n == 0) return BERTH_OK;
  m->left = berth_i_pool_alloc(&p->pool, n, sizeof *m->left);
  m->end = berth_i_pool_zalloc(&p->pool, n, sizeof *m->end);
  m->device = berth_i_pool_alloc(&p->pool, berth_i_most_members(g), sizeof *m->device);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  for (int32_t k = 0; k < g->n_collectives; k++) m->left[k] = g->collectives[k].n_members;
  m->apart = berth_i_any_infinite(p->cost->t->latency, pairs);
  return BERTH_OK;
}

static berth_status price(berth_plan *p, int32_t k, double *length) {
  const berth_collective *c = &p->g->collectives[k];
  for (int32_t i = 0; i < c->n_members; i++) p->collectives.device[i] = p->device[c->members[i]];
  double seconds;
  berth_status st;
  if ((st = berth_cost_collective(p->cost, k, c->n_members,
                                  p->collectives.device, &seconds)) != BERTH_OK)
    return st;
  if (isinf(seconds)) {
    return berth_i_fail(p->ctx, BERTH_EUNREACHABLE,
                        "%s: collective %d cannot take place between the devices of its members",
                        p->setup->placer, (int)k);
  }
  *length = berth_i_quantise_transfer(seconds, p->setup->quantum);
  return BERTH_OK;
}

berth_status berth_i_collectives_leave(berth_plan *p, int32_t op, int32_t k, bool *over) {
  berth_i_collectives *m = &p->collectives;
  double length = 0;
  if (p->finish[op] > m->end[k]) m->end[k] = p->finish[op];
  *over = --m->left[k] == 0;
  if (!*over) return BERTH_OK;
  berth_status st;
  if ((st = price(p, k, &length)) == BERTH_OK) m->end[k] += length;
  return st;
}

/* READY_FINISHED: members that were placed last have not been seen to finish. */
static berth_status ends_at(berth_plan *p, int32_t k, double *end) {
  const berth_collective *c = &p->g->collectives[k];
  double length = 0;
  *end = 0;
  for (int32_t i = 0; i < c->n_members; i++) *end = fmax(*end, p->finish[c->members[i]]);
  berth_status st;
  if ((st = price(p, k, &length)) == BERTH_OK) *end += length * p->unit;
  return st;
}

berth_status berth_i_collectives_last(berth_plan *p, double *end) {
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < p->g->n_collectives && st == BERTH_OK; k++) {
    double e = p->collectives.end[k] * p->unit;
    if (p->collectives.left[k] > 0) st = ends_at(p, k, &e);
    if (st == BERTH_OK) *end = fmax(*end, e);
  }
  return st;
}

double berth_i_collectives_ready(const berth_plan *p, int32_t op) {
  const berth_graph *g = p->g;
  double ready = 0;
  if (!g->after) return 0;
  for (int32_t i = g->after_at[op]; i < g->after_at[op + 1]; i++) {
    if (p->collectives.end[g->after[i]] > ready) ready = p->collectives.end[g->after[i]];
  }
  return ready;
}

static bool reach(const berth_topology *t, int32_t a, int32_t b) {
  return a == b
         || (!isinf(t->latency[berth_i_pair(t, a, b)])
             && !isinf(t->latency[berth_i_pair(t, b, a)]));
}

bool berth_i_collectives_joins(const berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  for (int32_t i = g->wait_at[op]; i < g->wait_at[op + 1]; i++) {
    const berth_collective *c = &g->collectives[g->wait[i]];
    for (int32_t j = 0; j < c->n_members; j++) {
      int32_t other = p->device[c->members[j]];
      if (other == BERTH_NONE) other = berth_i_pin(g, c->members[j]);
      if (other != BERTH_NONE && !reach(p->cost->t, other, device)) return false;
    }
  }
  return true;
}

static bool has_other(const berth_plan *p, const berth_collective *c, int32_t op, int32_t device) {
  for (int32_t j = 0; j < c->n_members; j++) {
    if (c->members[j] != op && p->device[c->members[j]] == device) return true;
  }
  return false;
}

/* As the simulator counts it, for the most devices that there can be; also if in the end there is
 * but one. */
static double held_bytes(const berth_plan *p, const berth_collective *c) {
  if (c->kind == BERTH_BARRIER || c->n_members < 2) return 0;
  return c->kind == BERTH_ALLGATHER
             ? c->bytes * (c->n_members < p->devices ? c->n_members : p->devices)
             : c->bytes;
}

double berth_i_collectives_bytes(const berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  double sum = 0;
  if (!g->wait || p->devices < 2) return 0;
  for (int32_t i = g->wait_at[op]; i < g->wait_at[op + 1]; i++) {
    const berth_collective *c = &g->collectives[g->wait[i]];
    if (!has_other(p, c, op, device)) sum += held_bytes(p, c);
  }
  return sum;
}
