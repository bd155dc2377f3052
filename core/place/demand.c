/* What an op takes of its device's memory, and how a refusal is told. */
#include "place_internal.h"

static double output_bytes(const berth_graph *g, int32_t op) {
  double sum = 0;
  int32_t i;
  for (i = g->out_at[op]; i < g->out_at[op + 1]; i++) sum += berth_i_resident(g, g->out[i]);
  return sum;
}

/* Outputs exist from the op's start on, whatever happens to them later: where they are not for good, they are at least there
 * while it runs. */
berth_i_demand berth_i_op_demand(const berth_graph *g, int32_t op, berth_memory_policy policy, double param_multiple) {
  berth_i_demand d = { 0, 0 };
  double outputs;
  if (policy == BERTH_MEMORY_NONE) return d;
  outputs = output_bytes(g, op);
  d.permanent = berth_i_param(g, op) * param_multiple;
  d.temporary = berth_i_workspace(g, op);
  if (policy == BERTH_MEMORY_TOTAL) {
    d.permanent += outputs;
  } else {
    d.temporary += outputs;
  }
  return d;
}

static berth_status say_bytes(berth_cost *cost, const char *placer, const char *who, int32_t device, double missing) {
  char where[160], bytes[32];
  berth_quantity_format(missing, BERTH_BYTES, bytes, sizeof bytes);
  if (device == BERTH_NONE) {
    return berth_i_fail(cost->ctx, BERTH_EINFEASIBLE, "%s: %s does not fit on any device: %s are missing", placer, who, bytes);
  }
  berth_i_device_label(cost->t, device, where, sizeof where);
  return berth_i_fail(cost->ctx, BERTH_EINFEASIBLE, "%s: %s does not fit: %s comes closest, %s are missing", placer, who, where,
                      bytes);
}

berth_status berth_i_infeasible(berth_cost *cost, const char *placer, int32_t op, int32_t device, double missing,
                                berth_obstacle *why) {
  char label[160] = "the graph";
  if (why) {
    why->op = op;
    why->device = device;
    why->missing = missing;
  }
  if (op != BERTH_NONE) berth_i_op_label(cost->g, op, label, sizeof label);
  if (missing > 0) return say_bytes(cost, placer, label, device, missing);
  return berth_i_fail(cost->ctx, BERTH_EINFEASIBLE, "%s: no device can take %s (type, pin or colocation group)", placer, label);
}
