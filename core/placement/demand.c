/* The bytes of a device that an op takes, permanently and while it runs, under each memory policy;
 * and the error texts of refusals, with the op, the device that comes closest and the bytes
 * missing. */
#include "placement_internal.h"

/* Outputs exist from the op's start on: where they are not permanent, they are there at least while
 * it runs. */
berth_i_demand berth_i_op_demand(const berth_graph *g, int32_t op, berth_memory_policy policy,
                                 double param_multiple) {
  berth_i_demand d = { 0, 0 };
  if (policy == BERTH_MEMORY_NONE) return d;
  double outputs = berth_i_output_bytes(g, op);
  d.permanent = berth_i_param(g, op) * param_multiple;
  d.temporary = berth_i_workspace(g, op);
  if (policy == BERTH_MEMORY_TOTAL) {
    d.permanent += outputs;
  } else {
    d.temporary += outputs;
  }
  return d;
}

static void note(berth_obstacle *why, int32_t op, int32_t device, double missing) {
  if (!why) return;
  why->op = op;
  why->device = device;
  why->missing = missing;
}

static berth_status say_bytes(berth_cost *cost, const char *placer, const char *verdict, int32_t op,
                              int32_t device, double missing) {
  char what[160] = "the graph";
  if (op != BERTH_NONE) berth_i_op_label(cost->g, op, what, sizeof what);
  char bytes[32];
  berth_quantity_format(missing, BERTH_BYTES, bytes, sizeof bytes);
  if (device == BERTH_NONE) {
    return berth_i_fail(cost->ctx, BERTH_EINFEASIBLE,
                        "%s: %s: %s does not fit on any device: %s are missing", placer, verdict,
                        what, bytes);
  }
  char where[160];
  berth_i_device_label(cost->t, device, where, sizeof where);
  return berth_i_fail(cost->ctx, BERTH_EINFEASIBLE,
                      "%s: %s: %s does not fit: %s comes closest, %s are missing", placer, verdict,
                      what, where, bytes);
}

berth_status berth_i_infeasible(berth_cost *cost, const char *placer, int32_t op, int32_t device,
                                double missing, berth_obstacle *why) {
  char label[160] = "the graph";
  note(why, op, device, missing);
  if (missing > 0) return say_bytes(cost, placer, "no placement found", op, device, missing);
  if (op != BERTH_NONE) berth_i_op_label(cost->g, op, label, sizeof label);
  return berth_i_fail(cost->ctx, BERTH_EINFEASIBLE,
                      "%s: no device can take %s (type, pin or colocation group)", placer, label);
}

berth_status berth_i_cannot_fit(berth_cost *cost, const char *placer, int32_t op, int32_t device,
                                double missing, berth_obstacle *why) {
  note(why, op, device, missing);
  return say_bytes(cost, placer, "cannot fit", op, device, missing);
}

berth_status berth_i_runs_out(berth_cost *cost, const char *placer, const berth_oom *oom,
                              berth_obstacle *why) {
  note(why, oom->op, oom->device, oom->shortfall);
  char what[160], where[160], bytes[32];
  return berth_i_fail(cost->ctx, BERTH_EINFEASIBLE,
                      "%s: no placement found: first in, first out, %s runs out of memory on %s: "
                      "%s are missing", placer,
                      berth_i_op_label(cost->g, oom->op, what, sizeof what),
                      berth_i_device_label(cost->t, oom->device, where, sizeof where),
                      berth_quantity_format(oom->shortfall, BERTH_BYTES, bytes, sizeof bytes));
}
