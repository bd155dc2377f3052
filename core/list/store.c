/* Memory of the devices while a plan grows: whether an op fits, and what it is charged, by the rule
 * of the setup. STRICT sums all that is ever put on a device; the two published rules of Baechi
 * follow its programs; PROFILE (residency.c) counts bytes over planned time. */
#include "engine_internal.h"

/* Inputs that are not there yet, each once. */
static double copy_bytes(const berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  double sum = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t t = g->in[i];
    if (p->device[g->producer[t]] == device || berth_i_has_copy(p, t, device)) continue;
    sum += berth_i_resident(g, t);
  }
  return sum;
}

/* Published: an edge is a tensor, so every remote input counts again. */
static double remote_bytes(const berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  double sum = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    if (p->device[g->producer[g->in[i]]] != device) sum += berth_i_resident(g, g->in[i]);
  }
  return sum;
}

static double strict_missing(const berth_plan *p, int32_t op, int32_t device) {
  const berth_i_store *s = &p->store;
  berth_i_demand d = berth_i_store_demand(p, op);
  double bytes = s->held[device] + d.permanent + copy_bytes(p, op, device)
                 + fmax(s->temporary[device], d.temporary);
  bytes += berth_i_collectives_bytes(p, op, device);
  return berth_i_excess(bytes, s->limit[device]);
}

static bool group_unbound(const berth_plan *p, int32_t op) {
  int32_t group = berth_i_group(p->g, op);
  return group != BERTH_NONE && p->groups.bound[group] == BERTH_NONE;
}

static double tf_missing(const berth_plan *p, int32_t op, int32_t device) {
  berth_i_demand d = berth_i_demand_alone(p, op);
  double need = d.permanent + d.temporary;
  if (group_unbound(p, op)) need = fmax(need, p->groups.permanent[berth_i_group(p->g, op)]);
  return berth_i_excess(p->store.held[device] + need, p->store.limit[device]);
}

static double pt_missing(const berth_plan *p, int32_t op, int32_t device) {
  const berth_i_store *s = &p->store;
  berth_i_demand d = berth_i_demand_alone(p, op);
  double in = remote_bytes(p, op, device), used = s->held[device] + in + d.permanent + d.temporary;
  return berth_i_excess(fmax(used, s->temporary[device] + in + berth_i_plan_param_bytes(p, op)),
                        s->limit[device]);
}

double berth_i_store_missing(berth_plan *p, int32_t op, int32_t device, double start) {
  if (p->setup->rule == BERTH_I_RULE_NONE || isinf(p->store.limit[device])) return -INFINITY;
  switch (p->setup->rule) {
    case BERTH_I_RULE_STRICT: return strict_missing(p, op, device);
    case BERTH_I_RULE_BAECHI_TF: return tf_missing(p, op, device);
    case BERTH_I_RULE_BAECHI_PT: return pt_missing(p, op, device);
    default: return berth_i_residency_missing(p, op, device, start);
  }
}

bool berth_i_store_fits_rule(berth_plan *p, int32_t op, int32_t device, double start) {
  if (p->setup->rule == BERTH_I_RULE_PROFILE) return berth_i_residency_fits(p, op, device, start);
  return berth_i_store_missing(p, op, device, start) <= 0;
}

double berth_i_store_least(const berth_plan *p, int32_t op) {
  berth_i_demand d = p->setup->rule == BERTH_I_RULE_BAECHI_TF ? berth_i_demand_alone(p, op)
                                                              : berth_i_store_demand(p, op);
  return d.permanent + d.temporary;
}

bool berth_i_store_full(const berth_plan *p, int32_t device, double least) {
  double held = p->store.held[device];
  if (p->setup->rule == BERTH_I_RULE_PROFILE)
    held += berth_i_profile_last(&p->store.profile[device]);
  return berth_i_excess(held + least, p->store.limit[device]) > 0;
}

/* ---- charging ---- */

berth_status berth_i_store_copy(berth_plan *p, int32_t tensor, int32_t device, double time) {
  double bytes = berth_i_resident(p->g, tensor);
  if (p->setup->rule == BERTH_I_RULE_STRICT) p->store.held[device] += bytes;
  if (p->setup->rule == BERTH_I_RULE_PROFILE)
    return berth_i_profile_add(&p->pool, &p->store.profile[device], time, bytes);
  return BERTH_OK;
}

static void charge_strict(berth_plan *p, int32_t op, int32_t device) {
  berth_i_demand d = berth_i_store_demand(p, op);
  p->store.held[device] += d.permanent + berth_i_collectives_bytes(p, op, device);
  p->store.temporary[device] = fmax(p->store.temporary[device], d.temporary);
}

/* The outputs of a producer, without parameters, are freed when its last reader is scheduled. */
static void charge_tf(berth_plan *p, int32_t op, int32_t device) {
  const berth_graph *g = p->g;
  p->store.held[device] += berth_i_demand_alone(p, op).permanent;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t u = g->producer[g->in[i]];
    if (--p->store.readers[u] > 0) continue;
    p->store.held[p->device[u]] -= berth_i_output_bytes(g, u);
    p->store.released = true;
  }
}

static void charge_pt(berth_plan *p, int32_t op, int32_t device) {
  berth_i_store *s = &p->store;
  berth_i_demand d = berth_i_demand_alone(p, op);
  double in = remote_bytes(p, op, device);
  s->temporary[device] = fmax(s->temporary[device], s->held[device] + d.permanent + d.temporary);
  s->held[device] += d.permanent;
  s->temporary[device] = fmax(s->temporary[device], s->held[device] + in);
  s->held[device] += in;
}

berth_status berth_i_store_charge(berth_plan *p, int32_t op) {
  int32_t device = p->device[op];
  switch (p->setup->rule) {
    case BERTH_I_RULE_NONE: return BERTH_OK;
    case BERTH_I_RULE_STRICT: charge_strict(p, op, device); return BERTH_OK;
    case BERTH_I_RULE_BAECHI_TF: charge_tf(p, op, device); return BERTH_OK;
    case BERTH_I_RULE_BAECHI_PT: charge_pt(p, op, device); return BERTH_OK;
    default: return berth_i_residency_charge(p, op);
  }
}

/* ---- reservations ---- */

/* The one device that is left for an op; BERTH_NONE: none or several. */
static int32_t only_device(const berth_plan *p, int32_t op) {
  int32_t only = BERTH_NONE;
  for (int32_t d = 0; d < p->devices; d++) {
    if (!berth_i_plan_may(p, op, d)) continue;
    if (only != BERTH_NONE) return BERTH_NONE;
    only = d;
  }
  return only;
}

static void reserve(berth_plan *p, int32_t op, int32_t device) {
  berth_i_demand d = berth_i_store_demand(p, op);
  int32_t group = berth_i_group(p->g, op);
  p->store.held[device] += d.permanent;
  if (p->setup->rule == BERTH_I_RULE_STRICT)
    p->store.temporary[device] = fmax(p->store.temporary[device], d.temporary);
  if (group != BERTH_NONE) {
    p->groups.bound[group] = device;
  } else {
    p->reserved[op] = 1;
  }
}

/* What can run on one device only is counted there from the start, so that nothing else takes its
 * place. */
static berth_status reserve_forced(berth_plan *p) {
  bool choice = p->devices > 1 && p->cost->n_classes == 1 && !p->g->pin && !p->setup->forced;
  if (choice) return BERTH_OK;
  p->reserved = berth_i_pool_zalloc(&p->pool, (size_t)p->n, 1);
  if (!p->reserved) return berth_i_nomem(p->ctx);
  for (int32_t op = 0; op < p->n; op++) {
    int32_t device = berth_i_demand_reserved(p, op) ? BERTH_NONE : only_device(p, op);
    if (device != BERTH_NONE) reserve(p, op, device);
  }
  return BERTH_OK;
}

/* Readers count by (tensor, reader) pair. */
static berth_status count_readers(berth_plan *p) {
  const berth_graph *g = p->g;
  p->store.readers = berth_i_pool_zalloc(&p->pool, (size_t)p->n, sizeof *p->store.readers);
  if (!p->store.readers) return berth_i_nomem(p->ctx);
  for (int32_t op = 0; op < p->n; op++) {
    for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++)
      p->store.readers[op] += g->use_at[g->out[i] + 1] - g->use_at[g->out[i]];
  }
  return BERTH_OK;
}

berth_status berth_i_store_init(berth_plan *p) {
  berth_i_store *s = &p->store;
  size_t n = (size_t)p->devices;
  s->held = berth_i_pool_zalloc(&p->pool, n, sizeof *s->held);
  s->temporary = berth_i_pool_zalloc(&p->pool, n, sizeof *s->temporary);
  s->limit = berth_i_pool_alloc(&p->pool, n, sizeof *s->limit);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  for (int32_t d = 0; d < p->devices; d++) s->limit[d] = p->cost->t->devices[d].memory;
  if (p->g->n_groups > 0 && (st = berth_i_groups_init(p)) != BERTH_OK) return st;
  switch (p->setup->rule) {
    case BERTH_I_RULE_NONE:
    case BERTH_I_RULE_BAECHI_PT: return BERTH_OK;
    case BERTH_I_RULE_BAECHI_TF: return count_readers(p);
    case BERTH_I_RULE_PROFILE:
      if ((st = berth_i_residency_init(p)) != BERTH_OK) return st;
      return reserve_forced(p);
    default: return reserve_forced(p);
  }
}

