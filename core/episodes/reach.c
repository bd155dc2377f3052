/* The devices that an op may go to: those that can run its unit and have routes from the devices of
 * its producers and to pinned consumers. If no device passes, all that can run it do.
 * O(devices x (inputs + uses of outputs)). */
#include "episodes_internal.h"
#include "placement/placement_internal.h"

/* Some tensor has no route between some devices. */
static bool has_cuts(const berth_cost *c) {
  size_t pairs = (size_t)c->n_devices * (size_t)c->n_devices;
  if (c->uniform) return false;
  return c->table ? berth_i_any_infinite(c->table, pairs * (size_t)c->g->n_tensors)
                  : berth_i_any_infinite(c->t->latency, pairs);
}

bool berth_i_assign_restricts(const berth_assign *a) {
  for (int32_t u = 0; u < a->n_units; u++) {
    for (int32_t d = 0; a->fixed[u] == BERTH_NONE && d < a->n_devices; d++) {
      if (!a->may[(size_t)u * (size_t)a->n_devices + (size_t)d]) return true;
    }
  }
  return a->cost->g->n_tensors > 0 && has_cuts(a->cost);
}

static bool from_producers(const berth_assign *a, const int32_t *device, int32_t op, int32_t d) {
  for (int32_t k = a->before.at[op]; k < a->before.at[op + 1]; k++) {
    for (int32_t i = a->before.tensor_at[k]; i < a->before.tensor_at[k + 1]; i++) {
      if (isinf(berth_i_transfer_time(a->cost, a->before.tensor[i], device[a->before.op[k]], d)))
        return false;
    }
  }
  return true;
}

/* Those of consumers that are pinned: where others will be is not known yet. */
static bool to_pinned(const berth_assign *a, int32_t op, int32_t d) {
  const berth_graph *g = a->cost->g;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++) {
      int32_t at = a->fixed[a->unit[g->use[j]]];
      if (at != BERTH_NONE && isinf(berth_i_transfer_time(a->cost, t, d, at))) return false;
    }
  }
  return true;
}

void berth_i_allowed(const berth_assign *a, const int32_t *device, int32_t op, uint8_t *out) {
  int32_t n = 0;
  const uint8_t *may = a->may + (size_t)a->unit[op] * (size_t)a->n_devices;
  memcpy(out, may, (size_t)a->n_devices);
  if (!a->restricted) return;
  for (int32_t d = 0; d < a->n_devices; d++)
    n += out[d] = may[d] && from_producers(a, device, op, d) && to_pinned(a, op, d);
  if (n == 0) memcpy(out, may, (size_t)a->n_devices);
}
