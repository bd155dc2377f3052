/* Why a run could not be made: a run only stops short, then the state is searched for the reason,
 * and the reason becomes a message. Found on any thread; reported on the calling one, as messages
 * are written to the context. */
#include "sim_internal.h"

#include <assert.h>
#include <stdio.h>

bool berth_i_sim_refuse(berth_i_sim_state *s, berth_i_fault_kind kind, int32_t op, int32_t device,
                        int32_t other) {
  s->fault.kind = kind;
  s->fault.op = op;
  s->fault.device = device;
  s->fault.other = other;
  return false;
}

/* ---- no way across ---- */

/* A function of the user gives an infinite price, the topology no route; a price of the topology
 * may also be too high to be counted. Links that are held make up a route, whatever the function
 * returns. */
static bool can_cross(const berth_i_sim_plan *p, int32_t tensor, int32_t src, int32_t dst) {
  const berth_cost *c = p->cost;
  if (c->table && isinf(berth_i_transfer_time(c, tensor, src, dst))) return false;
  if (c->table && !berth_i_on_links(p->o.links)) return true;
  return !isinf(c->t->latency[berth_i_pair(c->t, src, dst)]);
}

static bool find_unreachable(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  for (int32_t e = 0; e < p->n_edges; e++) {
    int32_t t = p->edge_tensor[e], src = berth_i_copy_src(p, s, e), dst = berth_i_copy_dst(p, s, e);
    if (src == dst || can_cross(p, t, src, dst)) continue;
    berth_i_sim_refuse(s, BERTH_I_FAULT_UNREACHABLE, p->cost->g->producer[t], src, dst);
    s->fault.tensor = t;
    return true;
  }
  return false;
}

/* ---- beyond the horizon ---- */

/* The op on the device that would end too late; BERTH_NONE. */
static int32_t late_op(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t d) {
  const berth_i_sim_device *v = &s->dev[d];
  if (p->o.order != BERTH_ORDER_EVENT) return v->free_at > p->horizon ? v->prev : BERTH_NONE;
  if (p->plain) return berth_i_slot_time(&s->slots, d) > p->horizon ? v->op : BERTH_NONE;
  return v->phase == BERTH_I_RUNNING && v->due > p->horizon ? v->op : BERTH_NONE;
}

static bool find_late_op(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  int32_t first = BERTH_NONE;
  for (int32_t d = 0; d < p->n_devices; d++) {
    int32_t op = late_op(p, s, d);
    if (op != BERTH_NONE && (first == BERTH_NONE || op < first)) first = op;
  }
  if (first == BERTH_NONE) return false;
  berth_i_sim_refuse(s, BERTH_I_FAULT_LATE_OP, first, s->ops[first].device, 0);
  return true;
}

/* When the tensor of the edge reaches the consumer's device, if it has been sent there; else 0. */
static double arrival_of(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t edge) {
  const berth_i_sim_op *producer = &s->ops[p->cost->g->producer[p->edge_tensor[edge]]];
  if (producer->device == berth_i_copy_dst(p, s, edge)) return 0;
  if (p->plain) return producer->missing < 0 ? producer->time + berth_i_copy_units(p, s, edge) : 0;
  if (p->contended && !berth_i_on_links(p->o.links)) {
    bool carried =
        s->links.out_busy[producer->device] && s->links.carried[producer->device] == edge;
    return carried && s->copy[edge] == BERTH_I_COPY_SENT ? s->arrival[edge] : 0;
  }
  return s->copy[edge] == BERTH_I_COPY_SENT ? s->arrival[edge] : 0;
}

static bool find_late_tensor(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  for (int32_t e = 0; e < p->n_edges; e++) {
    int32_t t = p->edge_tensor[e];
    if (!(arrival_of(p, s, e) > p->horizon)) continue;
    berth_i_sim_refuse(s, BERTH_I_FAULT_LATE_TENSOR, p->cost->g->producer[t],
                       berth_i_copy_dst(p, s, e), 0);
    s->fault.tensor = t;
    return true;
  }
  return false;
}

/* Its time would be over too late, or flows of it that share links never end;
 * BERTH_NONE. */
static int32_t late_collective(const berth_i_sim_plan *p, const berth_i_sim_state *s) {
  if (s->coll.n_under_way > 0 && s->coll.under_way[0].time > p->horizon)
    return s->coll.under_way[0].op;
  for (int32_t k = 0; k < p->n_collectives; k++) {
    if (s->coll.one[k].flows > 0) return k;
  }
  return BERTH_NONE;
}

static bool find_late_collective(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  int32_t k = late_collective(p, s);
  if (k == BERTH_NONE) return false;
  berth_i_sim_refuse(s, BERTH_I_FAULT_LATE_COLLECTIVE, BERTH_NONE, BERTH_NONE, BERTH_NONE);
  s->fault.tensor = k;
  return true;
}

/* ---- deadlock ---- */

static bool never_ran(const berth_i_sim_state *s, int32_t op) {
  const berth_i_sim_device *v = &s->dev[s->ops[op].device];
  for (int32_t k = v->head; k < v->end; k++) {
    if (s->order[k] == op) return true;
  }
  return false;
}

/* Also through a collective. */
static int32_t unfinished_producer(const berth_i_sim_plan *p, const berth_i_sim_state *s,
                                   int32_t op) {
  const berth_graph *g = p->cost->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    if (never_ran(s, g->producer[g->in[i]])) return g->producer[g->in[i]];
  }
  for (int32_t i = g->after_at ? g->after_at[op] : 0; g->after_at && i < g->after_at[op + 1]; i++) {
    const berth_collective *c = &g->collectives[g->after[i]];
    for (int32_t k = 0; k < c->n_members; k++) {
      if (never_ran(s, c->members[k])) return c->members[k];
    }
  }
  return op;
}

static bool find_deadlock(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  for (int32_t d = 0; s->order && d < p->n_devices; d++) {
    const berth_i_sim_device *v = &s->dev[d];
    if (v->head >= v->end) continue;
    berth_i_sim_refuse(s, BERTH_I_FAULT_DEADLOCK, s->order[v->head], d,
                       unfinished_producer(p, s, s->order[v->head]));
    return true;
  }
  return false;
}

void berth_i_sim_stuck(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  bool found = find_unreachable(p, s) || find_late_op(p, s) || find_late_tensor(p, s)
               || find_late_collective(p, s) || find_deadlock(p, s);
  assert(found);
  (void)found;
}

/* ---- words ---- */

/* what: "... would end", "... would arrive". */
static berth_status report_late(const berth_i_sim_plan *p, const char *what) {
  if (p->horizon != BERTH_I_MOST_QUANTA)
    return berth_i_fail(p->ctx, BERTH_EINVAL, "%s at inf s", what);
  return berth_i_fail(p->ctx, BERTH_EINVAL, "%s later than %.0f quanta of %g s", what, p->horizon,
                      p->unit);
}

berth_status berth_i_fault_report(const berth_i_sim_plan *p, const berth_i_fault *f) {
  berth_ctx *ctx = p->ctx;
  const berth_graph *g = p->cost->g;
  const berth_topology *t = p->cost->t;
  char op[64] = "", device[64] = "", other[64], what[192];
  if (f->op >= 0) berth_i_op_label(g, f->op, op, sizeof op);
  if (f->device >= 0 && f->device < p->n_devices)
    berth_i_device_label(t, f->device, device, sizeof device);
  switch (f->kind) {
  case BERTH_I_FAULT_NONE: break;
  case BERTH_I_FAULT_DEVICE:
    return berth_i_fail(ctx, BERTH_EINVAL, "%s: device %d is out of range (there are %d)", op,
                        (int)f->device, (int)p->n_devices);
  case BERTH_I_FAULT_CANNOT_RUN:
    return berth_i_fail(ctx, BERTH_EINVAL, "%s cannot run on %s", op, device);
  case BERTH_I_FAULT_PIN:
    return berth_i_fail(ctx, BERTH_EINVAL, "%s is on %s but pinned to %s", op, device,
                        berth_i_device_label(t, f->other, other, sizeof other));
  case BERTH_I_FAULT_GROUP:
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "%s is on %s, but others of its colocation group %d are on %s", op, device,
                        (int)g->group[f->op],
                        berth_i_device_label(t, f->other, other, sizeof other));
  case BERTH_I_FAULT_UNREACHABLE:
    return berth_i_fail(ctx, BERTH_EUNREACHABLE, "no route from %s to %s for tensor %d of %s",
                        device, berth_i_device_label(t, f->other, other, sizeof other),
                        (int)f->tensor, op);
  case BERTH_I_FAULT_LATE_OP:
    snprintf(what, sizeof what, "%s would end", op);
    return report_late(p, what);
  case BERTH_I_FAULT_LATE_TENSOR:
    snprintf(what, sizeof what, "tensor %d of %s would reach %s", (int)f->tensor, op, device);
    return report_late(p, what);
  case BERTH_I_FAULT_DEADLOCK:
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "the sequence deadlocks: %s is next on %s but waits for %s, which never "
                        "runs",
                        op, device, berth_i_op_label(g, f->other, other, sizeof other));
  case BERTH_I_FAULT_COLLECTIVE_ROUTE:
    return berth_i_collective_unreachable(p->cost, f->tensor, f->device, f->other);
  case BERTH_I_FAULT_LATE_COLLECTIVE:
    snprintf(what, sizeof what, "collective %d would end", (int)f->tensor);
    return report_late(p, what);
  case BERTH_I_FAULT_CALLBACK: return f->status;
  case BERTH_I_FAULT_INTERRUPT: return berth_i_fail(ctx, BERTH_EINTERRUPT, "interrupted");
  }
  assert(f->kind != BERTH_I_FAULT_NONE);
  return berth_i_fail(ctx, BERTH_EINVAL, "the simulation stopped early");
}
