/* Why a run could not be made, in words. */
#include "sim_internal.h"

static berth_status report_device(const berth_i_sim_plan *p, const berth_i_fault *f, const char *op) {
  return berth_i_fail(p->ctx, BERTH_EINVAL, "%s: device %d is out of range (there are %d)", op, (int)f->device,
                      (int)p->n_devices);
}

static berth_status report_unreachable(const berth_i_sim_plan *p, const berth_i_fault *f, const char *op, const char *device) {
  char to[64];
  return berth_i_fail(p->ctx, BERTH_EUNREACHABLE, "no route from %s to %s for tensor %d of %s", device,
                      berth_i_device_label(p->cost->t, f->other, to, sizeof to), (int)f->tensor, op);
}

static berth_status report_deadlock(const berth_i_sim_plan *p, const berth_i_fault *f, const char *op, const char *device) {
  char other[64];
  return berth_i_fail(p->ctx, BERTH_EINVAL, "the sequence deadlocks: %s is next on %s but waits for %s, which never runs", op,
                      device, berth_i_op_label(p->cost->g, f->other, other, sizeof other));
}

berth_status berth_i_fault_report(const berth_i_sim_plan *p, const berth_i_fault *f) {
  char op[64] = "", device[64] = "", other[64];
  if (f->op >= 0) berth_i_op_label(p->cost->g, f->op, op, sizeof op);
  if (f->device >= 0 && f->device < p->n_devices) berth_i_device_label(p->cost->t, f->device, device, sizeof device);
  switch (f->kind) {
  case BERTH_I_FAULT_NONE: return BERTH_OK;
  case BERTH_I_FAULT_DEVICE: return report_device(p, f, op);
  case BERTH_I_FAULT_CANNOT_RUN: return berth_i_fail(p->ctx, BERTH_EINVAL, "%s cannot run on %s", op, device);
  case BERTH_I_FAULT_PIN:
    return berth_i_fail(p->ctx, BERTH_EINVAL, "%s is on %s but pinned to %s", op, device,
                        berth_i_device_label(p->cost->t, f->other, other, sizeof other));
  case BERTH_I_FAULT_GROUP:
    return berth_i_fail(p->ctx, BERTH_EINVAL, "%s is on %s, but others of its colocation group %d are on %s", op, device,
                        (int)p->cost->g->group[f->op], berth_i_device_label(p->cost->t, f->other, other, sizeof other));
  case BERTH_I_FAULT_UNREACHABLE: return report_unreachable(p, f, op, device);
  case BERTH_I_FAULT_DEADLOCK: return report_deadlock(p, f, op, device);
  case BERTH_I_FAULT_INTERRUPT: return berth_i_fail(p->ctx, BERTH_EINTERRUPT, "interrupted");
  }
  return BERTH_EINVAL;
}
