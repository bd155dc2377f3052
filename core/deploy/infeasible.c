/* Proofs that no strategy fits memory, from parameters alone: each op has a replica somewhere, and
 * a replica holds all of its op's parameters, whatever its share of the batch. Outputs are left
 * out: replicas may share them. */
#include "deploy_internal.h"

static berth_status refuse(const berth_deploy *d, int32_t op, int32_t device, double bytes,
                           double room, berth_obstacle *why) {
  char name[160], need[32], has[32], lacks[32];
  if (why) *why = (berth_obstacle){ op, device, bytes - room };
  berth_quantity_format(bytes, BERTH_BYTES, need, sizeof need);
  berth_quantity_format(room, BERTH_BYTES, has, sizeof has);
  berth_quantity_format(bytes - room, BERTH_BYTES, lacks, sizeof lacks);
  if (op == BERTH_NONE)
    return berth_i_fail(d->ctx, BERTH_EINFEASIBLE,
                        "nothing fits: all parameters need %s, all devices have %s: %s are "
                        "missing",
                        need, has, lacks);
  return berth_i_fail(d->ctx, BERTH_EINFEASIBLE,
                      "nothing fits: parameters of %s%s need %s, no device that can run it has "
                      "more than %s: %s are missing",
                      berth_i_op_label(d->g, op, name, sizeof name),
                      berth_i_group(d->g, op) == BERTH_NONE ? "" : " and its colocation group",
                      need, has, lacks);
}

berth_status berth_deploy_prove_infeasible(const berth_deploy *d, berth_obstacle *why) {
  if (!d) return BERTH_EINVAL;
  if (d->sim.memory == BERTH_MEMORY_NONE) return BERTH_OK;
  const berth_graph *g = d->g;
  const size_t groups = (size_t)berth_graph_groups(g);
  double *sum = berth_i_zalloc(d->ctx, groups, sizeof *sum), all = 0, room = 0;
  if (groups > 0 && !sum) return berth_i_nomem(d->ctx);
  for (int32_t op = 0; op < g->n_ops; op++) {
    const double bytes = berth_i_param(g, op) * d->sim.param_multiple;
    const int32_t group = berth_i_group(g, op);
    all += bytes;
    if (group != BERTH_NONE) sum[group] += bytes;
  }
  berth_status st = BERTH_OK;
  /* 1. One op with its colocation group. */
  for (int32_t op = 0; op < g->n_ops && st == BERTH_OK; op++) {
    const int32_t group = berth_i_group(g, op);
    const double bytes =
        group == BERTH_NONE ? berth_i_param(g, op) * d->sim.param_multiple : sum[group];
    int32_t most = BERTH_NONE;
    for (int32_t k = 0; k < d->n_devices; k++)
      if (berth_i_can_run(d->cost, op, k)
          && (most == BERTH_NONE || d->t->devices[k].memory > d->t->devices[most].memory))
        most = k;
    if (most != BERTH_NONE && bytes > d->t->devices[most].memory * (1 + 1e-9))
      st = refuse(d, op, most, bytes, d->t->devices[most].memory, why);
  }
  /* 2. All of them. */
  for (int32_t k = 0; k < d->n_devices; k++) room += d->t->devices[k].memory;
  if (st == BERTH_OK && all > room * (1 + 1e-9))
    st = refuse(d, BERTH_NONE, BERTH_NONE, all, room, why);
  berth_i_free(d->ctx, sum, groups, sizeof *sum);
  return st;
}
