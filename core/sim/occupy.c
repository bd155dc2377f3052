/* An op on its device: it fetches (PULL), computes, and may be preempted. Phases: IDLE, FETCHING,
 * RUNNING; the end of the present phase is in the device's slot. */
#include "pending_internal.h"

void berth_i_begin_phase(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d,
                         berth_i_phase phase, double due) {
  berth_i_sim_device *v = &s->dev[d];
  v->phase = phase;
  v->due = due;
  v->due_seq = s->seq++;
  berth_i_show_due(p, s, d);
}

void berth_i_check_limit(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  double least = (p->n_collectives > 0 ? s->coll.tail : p->tail)[op];
  if (s->watch) least = berth_i_watch_start(p, s, op, least);
  if (s->now + least > s->limit) berth_i_cut_short(s, s->now + least);
}

void berth_i_begin_computing(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d) {
  berth_i_sim_device *v = &s->dev[d];
  berth_i_sim_op *op = &s->ops[v->op];
  if (op->missing >= 0) { /* for the first time */
    op->missing = -1;
    if (s->limit < INFINITY) berth_i_check_limit(p, s, v->op);
    if (s->memory) berth_i_memory_start(p, s, v->op);
    if (s->trace) s->trace->start[v->op] = s->now;
  }
  v->since = s->now;
  berth_i_begin_phase(p, s, d, BERTH_I_RUNNING, s->now + op->work);
}

double berth_i_fetch_inputs(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id) {
  const berth_graph *g = p->cost->g;
  berth_i_sim_op *op = &s->ops[id];
  double there = s->now;
  op->missing = 0;
  for (int32_t i = g->in_at[id]; i < g->in_at[id + 1]; i++) {
    int32_t copy = s->lead[p->in_edge[i]];
    if (copy == BERTH_NONE || s->copy[copy] == BERTH_I_COPY_THERE) continue;
    if (p->contended) {
      if (s->copy[copy] == BERTH_I_COPY_NONE) berth_i_links_request(p, s, copy);
      op->missing++;
    } else {
      if (s->copy[copy] == BERTH_I_COPY_NONE) berth_i_links_send(p, s, copy, s->now);
      if (s->arrival[copy] > there) there = s->arrival[copy];
    }
  }
  return op->missing > 0 ? INFINITY : there;
}

void berth_i_occupy(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, int32_t id) {
  berth_i_sim_device *v = &s->dev[d];
  berth_i_sim_op *op = &s->ops[id];
  double there = s->now;
  v->op = id;
  op->last = v->free_at > op->time ? v->prev : op->last;
  if (s->trace) s->trace->cause[id] = op->last;
  if (p->o.send == BERTH_SEND_PULL && op->missing >= 0) there = berth_i_fetch_inputs(p, s, id);
  if (there > s->now) {
    berth_i_begin_phase(p, s, d, BERTH_I_FETCHING, there);
  } else {
    berth_i_begin_computing(p, s, d);
  }
}

/* The device stops computing: log the stretch. */
static void end_stretch(berth_i_sim_state *s, berth_i_sim_device *v, double done) {
  v->busy += done;
  v->free_at = s->now;
  v->prev = v->op;
  if (s->trace) berth_i_trace_stretch(s->trace, v->op, v->since, s->now);
}

void berth_i_suspend(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v) {
  berth_i_sim_op *op = &s->ops[v->op];
  if (v->phase == BERTH_I_RUNNING) {
    double left = v->due - s->now, done = op->work - left;
    op->work = left;
    end_stretch(s, v, done);
  }
  berth_i_ready e = { v->key, v->place, v->op };
  berth_i_ready_put(p, s, v, e);
}

void berth_i_end_op(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v) {
  int32_t id = v->op;
  end_stretch(s, v, s->ops[id].work);
  if (s->trace) s->trace->finish[id] = s->now;
  if (s->memory) berth_i_memory_finish(p, s, id);
}
