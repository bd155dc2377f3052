/* A partial placement of units within memory limits, types, pins and routes. Structure: stacks of
 * packed units and of the copies that they left, each with what the device held before, so that
 * undoing is exact. Invariant: used + temporary of each device is within its limit.
 * O(edges of the unit) to put or take back. */
#include "packing_internal.h"

berth_status berth_i_packing_init(const berth_i_units *u, berth_memory_policy memory,
                                  int32_t *device, berth_i_packing *k) {
  const berth_graph *g = u->cost->g;
  size_t devices = (size_t)u->cost->n_devices, bits = (size_t)g->n_tensors * devices;
  *k = (berth_i_packing){
    .pool = berth_i_pool_empty(u->cost->ctx), .cost = u->cost, .u = u, .device = device
  };
  for (int32_t i = 0; i < u->n_ops; i++) device[i] = BERTH_NONE;
  k->copy_share = berth_i_memory_counts(u->cost, memory) ? u->share : 0;
  k->used = berth_i_pool_zalloc(&k->pool, devices, sizeof *k->used);
  k->temporary = berth_i_pool_zalloc(&k->pool, devices, sizeof *k->temporary);
  k->limit = berth_i_pool_zalloc(&k->pool, devices, sizeof *k->limit);
  k->packed = berth_i_pool_alloc(&k->pool, (size_t)u->n, sizeof *k->packed);
  if (k->copy_share > 0) {
    k->here = berth_i_pool_zalloc(&k->pool, (bits + 7) / 8, 1);
    k->copies = berth_i_pool_alloc(&k->pool, (size_t)g->n_edges, sizeof *k->copies);
  }
  berth_status st = berth_i_pool_status(&k->pool);
  if (st != BERTH_OK) berth_i_pool_free(&k->pool);
  for (int32_t i = 0; i < u->cost->n_devices && st == BERTH_OK; i++)
    k->limit[i] = memory == BERTH_MEMORY_NONE ? INFINITY : u->cost->t->devices[i].memory;
  return st;
}

void berth_i_packing_clear(berth_i_packing *k) {
  while (k->n_packed > 0) berth_i_packing_pop(k);
}

static size_t bit_of(const berth_i_packing *k, int32_t tensor, int32_t device) {
  return (size_t)device * (size_t)k->cost->g->n_tensors + (size_t)tensor;
}

static void set_devices(berth_i_packing *k, int32_t unit, int32_t device) {
  for (int32_t i = k->u->at[unit]; i < k->u->at[unit + 1]; i++) k->device[k->u->ops[i]] = device;
}

/* @return false: there is no route */
static bool charge(berth_i_packing *k, int32_t tensor, int32_t src, int32_t dst) {
  size_t bit = bit_of(k, tensor, dst);
  if (isinf(berth_i_transfer_time(k->cost, tensor, src, dst))) return false;
  if (k->copy_share == 0 || (k->here[bit / 8] >> (bit % 8) & 1)) return true;
  k->copies[k->n_copies++] = (berth_i_copy){ tensor, dst, k->used[dst] };
  k->here[bit / 8] |= (uint8_t)(1u << (bit % 8));
  k->used[dst] += k->copy_share * berth_i_resident(k->cost->g, tensor);
  return true;
}

/* Both directions: with groups, and out of topological order, consumers may be there before their
 * producer. */
static bool connect_op(berth_i_packing *k, int32_t op, int32_t device) {
  const berth_graph *g = k->cost->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t src = k->device[g->producer[g->in[i]]];
    if (src != BERTH_NONE && src != device && !charge(k, g->in[i], src, device)) return false;
  }
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++) {
      int32_t dst = k->device[g->use[j]];
      if (dst != BERTH_NONE && dst != device && !charge(k, t, device, dst)) return false;
    }
  }
  return true;
}

static double excess(const berth_i_packing *k, int32_t device) {
  return fmax(0, berth_i_excess(k->used[device] + k->temporary[device], k->limit[device]));
}

void berth_i_packing_pop(berth_i_packing *k) {
  const berth_i_packed *p = &k->packed[--k->n_packed];
  while (k->n_copies > p->copies) {
    const berth_i_copy *c = &k->copies[--k->n_copies];
    size_t bit = bit_of(k, c->tensor, c->device);
    k->here[bit / 8] &= (uint8_t)~(1u << (bit % 8));
    k->used[c->device] = c->used;
  }
  k->used[p->device] = p->used;
  k->temporary[p->device] = p->temporary;
  set_devices(k, p->unit, BERTH_NONE);
}

double berth_i_packing_try(berth_i_packing *k, int32_t unit, int32_t device) {
  const berth_i_units *u = k->u;
  bool joined = true;
  if (!berth_i_unit_can_run(u, unit, device)) return INFINITY;
  size_t copies = k->n_copies;
  k->packed[k->n_packed++] =
      (berth_i_packed){ unit, device, copies, k->used[device], k->temporary[device] };
  k->used[device] += u->permanent[unit];
  k->temporary[device] = fmax(k->temporary[device], u->temporary[unit]);
  set_devices(k, unit, device);
  for (int32_t i = u->at[unit]; i < u->at[unit + 1] && joined; i++)
    joined = connect_op(k, u->ops[i], device);
  double missing = joined ? excess(k, device) : NAN; /* the most, of all devices that it changes */
  for (size_t i = copies; joined && i < k->n_copies; i++)
    missing = fmax(missing, excess(k, k->copies[i].device));
  if (missing != 0) berth_i_packing_pop(k);
  return missing;
}

bool berth_i_packing_load(berth_i_packing *k, const int32_t *at) {
  berth_i_packing_clear(k);
  for (int32_t i = 0; i < k->u->n; i++) {
    if (berth_i_packing_try(k, i, at[i]) != 0) return false;
  }
  return true;
}

berth_status berth_i_packing_refuse(berth_i_packing *k, const char *placer, int32_t unit,
                                    const berth_place_options *opts, berth_obstacle *why) {
  int32_t closest = BERTH_NONE,
          op = berth_i_unit_largest(k->u, unit, opts->memory, opts->param_multiple);
  double least = INFINITY;
  bool cut = false;
  for (int32_t d = 0; d < k->cost->n_devices; d++) {
    double missing = berth_i_packing_try(k, unit, d);
    if (missing == 0) berth_i_packing_pop(k);
    if (isnan(missing)) cut = true;
    if (!(missing < least)) continue;
    least = missing;
    closest = d;
  }
  char label[160];
  if (closest == BERTH_NONE && cut)
    return berth_i_fail(k->cost->ctx, BERTH_EUNREACHABLE,
                        "%s: no device that can take %s has routes to the devices of its "
                        "producers and consumers", placer,
                        berth_i_op_label(k->cost->g, k->u->ops[k->u->at[unit]], label,
                                         sizeof label));
  return berth_i_infeasible(k->cost, placer, op, closest, closest == BERTH_NONE ? 0 : least, why);
}
