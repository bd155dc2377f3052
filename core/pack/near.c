/* From devices that need not fit to a packing near them: each unit where most of it is, then the
 * changes that cost least (price.c), then local search. O((units + edges) x devices x log) and the
 * work of the search. */
#include "pack_internal.h"

static const double WORK = 1e3, MOST_WORK = 5e6; /* steps of local search a unit, and at most */

/* Of the devices of its members the one that has most of its bytes, then most members; BERTH_NONE:
 * none is placed. */
static int32_t wanted_device(const berth_i_units *u, int32_t unit, const int32_t *start,
                             double *bytes, int32_t *members) {
  const berth_graph *g = u->cost->g;
  int32_t d, best = BERTH_NONE;
  for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
    int32_t op = u->ops[i];
    if ((d = start[op]) == BERTH_NONE) continue;
    bytes[d] += berth_i_param(g, op) * u->param_multiple + berth_i_output_bytes(g, op);
    members[d]++;
  }
  for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
    if ((d = start[u->ops[i]]) == BERTH_NONE) continue;
    if (best == BERTH_NONE || bytes[d] > bytes[best]
        || (bytes[d] == bytes[best] && members[d] > members[best]))
      best = d;
  }
  for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
    if ((d = start[u->ops[i]]) != BERTH_NONE) bytes[d] = 0, members[d] = 0;
  }
  return best;
}

/* The device of a producer if there is room, else that with most room. @param at [units]
 * BERTH_NONE: not placed  @param left [devices] bytes */
static int32_t device_for(const berth_i_units *u, int32_t unit, const int32_t *at,
                          const double *left) {
  const berth_graph *g = u->cost->g;
  double need = u->permanent[unit] + u->temporary[unit];
  int32_t best = BERTH_NONE;
  for (int32_t i = u->at[unit]; i < u->at[unit + 1]; i++) {
    int32_t op = u->ops[i];
    for (int32_t j = g->in_at[op]; j < g->in_at[op + 1]; j++) {
      int32_t d = at[u->of[g->producer[g->in[j]]]];
      if (d != BERTH_NONE && left[d] >= need && berth_i_unit_can_run(u, unit, d)) return d;
    }
  }
  for (int32_t d = 0; d < u->cost->n_devices; d++) {
    if (berth_i_unit_can_run(u, unit, d) && (best == BERTH_NONE || left[d] > left[best])) best = d;
  }
  return best;
}

static berth_status first_devices(const berth_i_units *u, const double *limit, const int32_t *start,
                                  int32_t *at) {
  berth_i_pool scratch = berth_i_pool_empty(u->cost->ctx);
  size_t d = (size_t)u->cost->n_devices;
  double *bytes = berth_i_pool_zalloc(&scratch, d, sizeof *bytes),
         *left = berth_i_pool_copy(&scratch, limit, d, sizeof *left);
  int32_t *members = berth_i_pool_zalloc(&scratch, d, sizeof *members);
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  for (int32_t i = 0; i < u->n; i++) {
    at[i] = wanted_device(u, i, start, bytes, members);
    if (at[i] != BERTH_NONE && !berth_i_unit_can_run(u, i, at[i])) at[i] = BERTH_NONE;
    if (at[i] != BERTH_NONE) left[at[i]] -= u->permanent[i];
  }
  for (int32_t i = 0; i < u->n; i++) {
    if (at[i] != BERTH_NONE) continue;
    at[i] = device_for(u, i, at, left);
    left[at[i]] -= u->permanent[i];
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* Units without routes to their neighbours first: every other device is cheaper. Then off devices
 * that overflow, then local search. */
static berth_status search_near(berth_i_assignment *s) {
  berth_status st = BERTH_OK;
  bool fits = false;
  if (s->cut) {
    uint8_t *near = berth_i_zalloc(s->ctx, (size_t)s->n, 1);
    if (!near) return berth_i_nomem(s->ctx);
    for (int32_t i = 0; i < s->n; i++) near[i] = !berth_i_assignment_may(s, i, s->at[i]);
    st = berth_i_assignment_refine(s, near);
    berth_i_free(s->ctx, near, (size_t)s->n, 1);
  }
  if (st == BERTH_OK) st = berth_i_assignment_unload(s);
  return st == BERTH_OK ? berth_i_assignment_local_search(s, fmin(MOST_WORK, WORK * s->n), &fits)
                        : st;
}

berth_status berth_i_pack_near(berth_i_packing *k, const int32_t *start, int32_t *at, bool *found) {
  const berth_i_units *u = k->u;
  berth_i_assignment s;
  berth_status st = berth_i_assignment_init(u, k->limit, u->permanent, u->temporary,
                                            k->copy_share, &s);
  *found = false;
  if (st != BERTH_OK) return st;
  if ((st = first_devices(u, k->limit, start, at)) != BERTH_OK) goto done;
  berth_i_assignment_load(&s, at);
  if ((st = search_near(&s)) != BERTH_OK) goto done;
  if (s.n > 0) memcpy(at, s.at, (size_t)s.n * sizeof *at);
  *found = berth_i_packing_load(k, at);
done:
  berth_i_pool_free(&s.pool);
  return st;
}
