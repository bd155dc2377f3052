/* The memory that an op requires of a device, alone and with its colocation group, and the devices
 * that a group may go to. Invariant: the first member that is placed binds its group and is charged
 * for the parameters of all members; the others then require no permanent bytes.
 * O(1) an op; O(members x devices) once a group. */
#include "engine_internal.h"

/* Published rules count outputs as permanent, though they free them later. */
berth_i_demand berth_i_demand_alone(const berth_plan *p, int32_t op) {
  bool published =
      p->setup->rule == BERTH_I_RULE_BAECHI_TF || p->setup->rule == BERTH_I_RULE_BAECHI_PT;
  berth_i_demand d = berth_i_op_demand(p->g, op, published ? BERTH_MEMORY_TOTAL : p->setup->memory,
                                       p->setup->param_multiple);
  if (p->setup->rule != BERTH_I_RULE_STRICT || d.temporary == 0
      || !berth_i_may_be_instant(p->cost, op))
    return d;
  d.permanent += d.temporary;
  d.temporary = 0;
  return d;
}

bool berth_i_demand_reserved(const berth_plan *p, int32_t op) {
  int32_t group = berth_i_group(p->g, op);
  return group != BERTH_NONE ? p->groups.bound[group] != BERTH_NONE
                             : p->reserved && p->reserved[op];
}

berth_i_demand berth_i_store_demand(const berth_plan *p, int32_t op) {
  berth_i_demand d = berth_i_demand_alone(p, op);
  int32_t group = berth_i_group(p->g, op);
  if (berth_i_demand_reserved(p, op)) {
    d.permanent = 0;
  } else if (group != BERTH_NONE) {
    d.permanent = p->groups.permanent[group];
    d.temporary = p->groups.temporary[group];
  }
  return d;
}

/* ---- groups ---- */

static void forbid(berth_plan *p, int32_t group, int32_t op) {
  uint8_t *forbidden = p->groups.forbidden + (size_t)group * (size_t)p->devices;
  for (int32_t d = 0; d < p->devices; d++) {
    if (!berth_i_can_run(p->cost, op, d)) forbidden[d] = 1;
  }
}

/* TF counts the parameters of a group only. */
static void add_member(berth_plan *p, int32_t group, int32_t op) {
  berth_i_demand d = berth_i_demand_alone(p, op);
  if (p->setup->rule == BERTH_I_RULE_BAECHI_TF) d.permanent = berth_i_plan_param_bytes(p, op);
  p->groups.permanent[group] += d.permanent;
  p->groups.temporary[group] = fmax(p->groups.temporary[group], d.temporary);
  forbid(p, group, op);
}

berth_status berth_i_groups_init(berth_plan *p) {
  berth_i_groups *s = &p->groups;
  size_t n = (size_t)p->g->n_groups;
  s->bound = berth_i_pool_alloc(&p->pool, n, sizeof *s->bound);
  s->permanent = berth_i_pool_zalloc(&p->pool, n, sizeof *s->permanent);
  s->temporary = berth_i_pool_zalloc(&p->pool, n, sizeof *s->temporary);
  s->forbidden = berth_i_pool_zalloc(&p->pool, n * (size_t)p->devices, 1);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  for (int32_t i = 0; i < p->g->n_groups; i++) s->bound[i] = BERTH_NONE;
  for (int32_t i = 0; i < p->n; i++) {
    int32_t group = berth_i_group(p->g, i);
    if (group != BERTH_NONE) add_member(p, group, i);
  }
  return BERTH_OK;
}
