/* What devices may hold at most under the policy TOTAL, whatever the order, the links and the
 * sends: all that is ever put there, and the largest workspace on top. Ops that take no time may
 * all be there in one instant. */
#include "sim_internal.h"

berth_status berth_i_any_order_init(const berth_cost *c, berth_i_any_order *a) {
  size_t d = (size_t)c->n_devices;
  a->held = berth_i_alloc(c->ctx, 2 * d, sizeof *a->held);
  a->stamp = berth_i_alloc(c->ctx, d, sizeof *a->stamp);
  if (!a->held || !a->stamp) return berth_i_nomem(c->ctx);
  a->workspace = a->held + d;
  return BERTH_OK;
}

void berth_i_any_order_release(const berth_cost *c, berth_i_any_order *a) {
  size_t d = (size_t)c->n_devices;
  berth_i_free(c->ctx, a->held, 2 * d, sizeof *a->held);
  berth_i_free(c->ctx, a->stamp, d, sizeof *a->stamp);
}

static void add_op(const berth_cost *c, int32_t op, int32_t d, double multiple,
                   berth_i_any_order *a) {
  double workspace = berth_i_workspace(c->g, op);
  a->held[d] += berth_i_param(c->g, op) * multiple;
  if (berth_i_op_time(c, op, d) > 0 && !berth_i_is_communication(c->g, op)) {
    a->workspace[d] = fmax(a->workspace[d], workspace);
  } else {
    a->held[d] += workspace;
  }
}

/* Once on each device that makes or reads it. */
static void add_tensor(const berth_graph *g, int32_t t, const int32_t *device,
                       berth_i_any_order *a) {
  double bytes = berth_i_resident(g, t);
  int32_t home = device[g->producer[t]];
  a->held[home] += bytes;
  a->stamp[home] = t;
  for (int32_t i = g->use_at[t]; i < g->use_at[t + 1]; i++) {
    int32_t d = device[g->use[i]];
    if (a->stamp[d] == t) continue;
    a->stamp[d] = t;
    a->held[d] += bytes;
  }
}

static void clear_stamps(berth_i_any_order *a, int32_t n) {
  for (int32_t d = 0; d < n; d++) a->stamp[d] = BERTH_NONE;
}

/* @return devices of the members, stamped with k */
static int32_t stamp_members(const berth_collective *c, int32_t k, const int32_t *device,
                             berth_i_any_order *a) {
  int32_t n = 0;
  for (int32_t i = 0; i < c->n_members; i++) {
    if (a->stamp[device[c->members[i]]] == k) continue;
    a->stamp[device[c->members[i]]] = k;
    n++;
  }
  return n;
}

static void add_collective(const berth_graph *g, int32_t k, int32_t devices, const int32_t *device,
                           berth_i_any_order *a) {
  const berth_collective *c = &g->collectives[k];
  int32_t n = stamp_members(c, k, device, a);
  double bytes = c->kind == BERTH_ALLGATHER ? c->bytes * n : c->bytes;
  if (c->kind == BERTH_BARRIER || c->n_members < 2) return;
  for (int32_t d = 0; d < devices; d++) {
    if (a->stamp[d] == k) a->held[d] += bytes;
  }
}

int32_t berth_i_any_order_over(const berth_cost *c, double multiple, const int32_t *device,
                               berth_i_any_order *a) {
  const berth_graph *g = c->g;
  for (int32_t i = 0; i < c->n_devices; i++) a->held[i] = a->workspace[i] = 0;
  for (int32_t i = 0; i < g->n_ops; i++) add_op(c, i, device[i], multiple, a);
  clear_stamps(a, c->n_devices);
  for (int32_t i = 0; i < g->n_tensors; i++) add_tensor(g, i, device, a);
  clear_stamps(a, c->n_devices);
  for (int32_t i = 0; c->n_devices > 1 && i < g->n_collectives; i++)
    add_collective(g, i, c->n_devices, device, a);
  for (int32_t i = 0; i < c->n_devices; i++) {
    if (a->held[i] + a->workspace[i] > c->t->devices[i].memory * (1 + 1e-12)) return i;
  }
  return BERTH_NONE;
}
