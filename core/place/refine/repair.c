/* A user's placement, changed as little as is necessary to keep groups, types, pins, routes and
 * memory. Steps: packed near the start, else anywhere; under INFERENCE and TRAINING repaired by
 * simulated runs (pack/repair.c); else packed so that memory holds in any order. Invariant: the
 * answer has run within memory. */
#include "pack/pack_internal.h"
#include "place/place_internal.h"
#include "sim/rows_internal.h"

static const char *const NAME = "repair";

typedef struct repairing {
  berth_cost *cost;
  const berth_place_options *opts;
  const int32_t *start; /* [ops] */
  berth_i_units u;
  int32_t *at;          /* [units] scratch */
  berth_placement *p;
  berth_oom oom;        /* of the first proposal that ran out */
  bool done;
} repairing;

/* ---- options ---- */

static berth_status check_devices(berth_cost *cost, const int32_t *device) {
  char label[160];
  for (int32_t i = 0; i < cost->g->n_ops; i++) {
    if (device[i] >= BERTH_NONE && device[i] < cost->n_devices) continue;
    return berth_i_fail(cost->ctx, BERTH_EINVAL, "%s: %s is on device %d, and there are %d", NAME,
                        berth_i_op_label(cost->g, i, label, sizeof label), (int)device[i],
                        (int)cost->n_devices);
  }
  return BERTH_OK;
}

static void set_defaults(void *out) { *(berth_place_options *)out = berth_place_default(NULL); }

const berth_option_table *berth_repair_option_table(void) {
  static const berth_option options[] = {
    BERTH_I_LINKS_ROW(berth_place_options, links),
    BERTH_I_MEMORY_ROW(berth_place_options, memory),
    BERTH_I_PARAM_MULTIPLE_ROW(berth_place_options, param_multiple),
    BERTH_I_QUANTUM_ROW(berth_place_options, quantum),
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("repair", options, berth_place_options, set_defaults);
}

/* The options that are read are those of a placer that chooses devices only. */
static berth_status check_all(berth_cost *cost, const int32_t *device,
                              const berth_place_options *opts) {
  berth_place_options read = berth_i_plain_options(cost->g, opts);
  berth_status st = berth_i_placer_check(cost, &berth_i_placer_m_topo, &read);
  return st == BERTH_OK ? check_devices(cost, device) : st;
}

/* ---- repair ---- */

static berth_status judge(repairing *m) {
  berth_oom oom;
  berth_status st = berth_i_plan_fifo(m->cost, m->opts, m->p, &oom, NULL);
  if (st != BERTH_OK) return st;
  m->done = oom.op == BERTH_NONE;
  if (!m->done && m->oom.op == BERTH_NONE) m->oom = oom;
  return BERTH_OK;
}

/* Near the start, else anywhere. */
static berth_status pack(repairing *m, bool *found, berth_obstacle *why) {
  berth_i_packing k;
  berth_status st = berth_i_packing_init(&m->u, m->opts->memory, m->p->device, &k);
  if (st != BERTH_OK) return st;
  st = berth_i_pack_near(&k, m->start, m->at, found);
  if (st == BERTH_OK && !*found) st = berth_i_packing_find_feasible(&k, NAME, m->opts, why);
  *found = st == BERTH_OK;
  berth_i_pool_free(&k.pool);
  return st;
}

static berth_status run(repairing *m, berth_obstacle *why) {
  bool found = false;
  berth_obstacle ignored;
  berth_status st;
  /* 1. A packing by the sizes of units. */
  if ((st = pack(m, &found, why)) != BERTH_OK || (st = judge(m)) != BERTH_OK || m->done) return st;
  /* 2. Moves of units from where a simulated run overfills a device. */
  if ((st = berth_i_repair(&m->u, m->opts, m->p->device, &found)) != BERTH_OK) return st;
  /* 3. A packing that keeps memory in any order. */
  if (!found) {
    berth_i_units_size(&m->u, 1);
    st = pack(m, &found, &ignored);
    if (st != BERTH_OK && st != BERTH_EINFEASIBLE && st != BERTH_EUNREACHABLE) return st;
  }
  if (found && (st = judge(m)) != BERTH_OK) return st;
  return m->done ? BERTH_OK : berth_i_runs_out(m->cost, NAME, &m->oom, why);
}

static berth_status give_reason(berth_cost *cost, const berth_place_options *opts,
                                berth_obstacle *why) {
  if (why->op == BERTH_NONE || !(why->missing > 0)) return BERTH_EINFEASIBLE;
  berth_status st = berth_i_prove_infeasible(cost, NAME, opts->memory, opts->param_multiple, why);
  return st == BERTH_OK ? BERTH_EINFEASIBLE : st;
}

berth_status berth_place_repair(berth_cost *cost, const int32_t *device,
                                const berth_place_options *opts, berth_placement **out,
                                berth_obstacle *why) {
  if (!cost || !out) return BERTH_EINVAL;
  berth_place_options o = opts ? *opts : berth_place_default(cost->g);
  berth_obstacle own = { BERTH_NONE, BERTH_NONE, 0 };
  repairing m = { .cost = cost, .opts = &o, .start = device, .oom = { .op = BERTH_NONE } };
  size_t n = (size_t)cost->g->n_ops;
  o.variant = "";
  berth_status st;
  if ((st = check_all(cost, device, &o)) != BERTH_OK) return st;
  st = berth_i_units_init(cost, NAME, o.memory, o.param_multiple, &m.u, &own);
  if (st != BERTH_OK) goto refused;
  if (!(m.at = berth_i_alloc(cost->ctx, n, sizeof *m.at))) st = berth_i_nomem(cost->ctx);
  else st = berth_i_placement_make(cost->ctx, cost->g->n_ops, NAME, true, &m.p);
  if (st == BERTH_OK) st = run(&m, &own);
  berth_i_free(cost->ctx, m.at, n, sizeof *m.at);
  berth_i_units_release(&m.u);
refused:
  if (st == BERTH_EINFEASIBLE) st = give_reason(cost, &o, &own);
  if (st == BERTH_EINFEASIBLE && why) *why = own;
  if (st == BERTH_OK) *out = m.p;
  else berth_placement_release(m.p);
  return st;
}
