/* Collectives: ring algorithms over the slowest pair of members. */
#include "cost_internal.h"

/* Steps of the ring and the bytes that each member sends in one, for n members. */
typedef struct Ring {
  double steps, chunk;
  bool pipelined; /* the bytes stream through the steps, so that they count once */
} Ring;

static Ring ring_of(berth_collective_kind kind, double bytes, double n) {
  Ring r = { n - 1, bytes / n, false };
  switch (kind) {
    case BERTH_ALLREDUCE: r.steps = 2 * (n - 1); break;
    case BERTH_ALLGATHER: r.chunk = bytes; break;
    case BERTH_REDUCESCATTER: break;
    case BERTH_ALLTOALL: break;
    case BERTH_BROADCAST: r.chunk = bytes; r.pipelined = true; break;
    case BERTH_BARRIER: r.steps = 2 * (n - 1); r.chunk = 0; break;
  }
  return r;
}

static double ring_seconds(const Ring *r, double latency, double bandwidth) {
  double stream = r->chunk / bandwidth;
  return r->steps * latency + (r->pipelined ? stream : r->steps * stream);
}

static bool seen_before(const int32_t *devices, int32_t k) {
  int32_t j;
  for (j = 0; j < k; j++)
    if (devices[j] == devices[k]) return true;
  return false;
}

static int32_t count_distinct(const int32_t *devices, int32_t n) {
  int32_t k, distinct = 0;
  for (k = 0; k < n; k++) distinct += !seen_before(devices, k);
  return distinct;
}

static berth_status unreachable(const berth_cost *c, int32_t collective, int32_t a, int32_t b) {
  char from[128], to[128];
  return berth_i_fail(c->ctx, BERTH_EUNREACHABLE, "collective %d: no route from %s to %s", (int)collective,
                      berth_i_device_label(c->t, a, from, sizeof from), berth_i_device_label(c->t, b, to, sizeof to));
}

/* O(members^2), no memory: may be asked from many threads. */
static berth_status built_in(const berth_cost *c, int32_t collective, int32_t n, const int32_t *devices, double *seconds) {
  const berth_collective *k = &c->g->collectives[collective];
  Ring r = ring_of(k->kind, k->bytes, count_distinct(devices, n));
  double slowest = 0;
  int32_t i, j;
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++) {
      size_t pair = berth_i_pair(c->t, devices[i], devices[j]);
      if (devices[i] == devices[j]) continue;
      if (isinf(c->t->latency[pair])) return unreachable(c, collective, devices[i], devices[j]);
      slowest = fmax(slowest, ring_seconds(&r, c->t->latency[pair], c->t->bandwidth[pair]));
    }
  *seconds = slowest * c->transfer_factor;
  return BERTH_OK;
}

static berth_status by_function(const berth_cost *c, int32_t collective, int32_t n, const int32_t *devices, double *seconds) {
  double s = NAN;
  berth_status st = c->collective(c->ud, collective, n, devices, &s);
  if (st != BERTH_OK) return st;
  if (!(s >= 0)) return berth_i_fail(c->ctx, BERTH_EINVAL, "collective %d: the cost function gave %g s", (int)collective, s);
  *seconds = s * c->transfer_factor;
  return BERTH_OK;
}

static berth_status check(const berth_cost *c, int32_t collective, int32_t n, const int32_t *devices) {
  int32_t k;
  if (collective < 0 || collective >= c->g->n_collectives)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "collective %d: the graph has %d", (int)collective, (int)c->g->n_collectives);
  if (n != c->g->collectives[collective].n_members)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "collective %d: %d devices for %d members", (int)collective, (int)n,
                        (int)c->g->collectives[collective].n_members);
  for (k = 0; k < n; k++)
    if (devices[k] < 0 || devices[k] >= c->n_devices)
      return berth_i_fail(c->ctx, BERTH_EINVAL, "collective %d: member %d on device %d of %d", (int)collective, (int)k,
                          (int)devices[k], (int)c->n_devices);
  return BERTH_OK;
}

berth_status berth_cost_collective(const berth_cost *c, int32_t collective, int32_t n, const int32_t *devices, double *seconds) {
  berth_status st = check(c, collective, n, devices);
  if (st != BERTH_OK) return st;
  return (c->collective ? by_function : built_in)(c, collective, n, devices, seconds);
}
