/* The order of Baechi's published step simulator: ops are handled by (ready time, topological
 * number), not by end time, so a channel can be claimed by a transfer that starts later than one
 * handled after it. */
#include "sim_internal.h"

bool berth_i_sim_ready_order(const berth_i_sim_plan *p, berth_i_sim_state *s, bool poll) {
  for (int32_t i = 0; i < p->n_roots; i++)
    berth_i_heap_push(&s->queue, p->number[p->roots[i]], s->ops[p->roots[i]].time);
  while (s->queue.n > 0) {
    /* the op that is ready first, ties by topological number, starts when its device is free */
    double at;
    int32_t id = p->cost->g->topo[berth_i_heap_pop(&s->queue, &at)];
    berth_i_sim_op *op = &s->ops[id];
    berth_i_sim_device *v = &s->dev[op->device];
    if (at > p->horizon) break;
    double start = at > v->free_at ? at : v->free_at, finish = start + op->work;
    if (s->limit < INFINITY && start + p->tail[id] > s->limit) {
      s->cut = true;
      s->limit = start + p->tail[id];
    }
    op->last = v->free_at > op->time ? v->prev : op->last;
    if (s->memory) berth_i_memory_later(p, s, id, start, finish);
    berth_i_sim_take(s, v, id, start, finish);
    if (finish > s->now) s->now = finish;
    if (s->cut) return true;
    if (finish > p->horizon) break;

    /* its tensors leave when it ends, in edge order; a copy is sent once */
    for (int32_t e = p->edge_at[id]; e < p->edge_at[id + 1]; e++) {
      int32_t copy = s->lead[e];
      double arrival = finish;
      if (copy != BERTH_NONE)
        arrival = copy == e ? berth_i_links_send(p, s, e, finish) : s->arrival[copy];
      berth_i_sim_op *to = &s->ops[p->edge_to[e]];
      if (arrival >= to->time) {
        to->time = arrival;
        to->last = id;
      }
      if (--to->missing == 0) berth_i_heap_push(&s->queue, p->number[p->edge_to[e]], to->time);
    }
    s->done++;
    if (poll && (s->done & 0xffff) == 0 && berth_i_interrupted(p->ctx) != BERTH_OK) {
      s->fault.kind = BERTH_I_FAULT_INTERRUPT;
      return false;
    }
  }
  if (s->done < p->n_ops) {
    berth_i_sim_stuck(p, s);
    return false;
  }
  if (s->memory) berth_i_memory_drain(p, s);
  return true;
}
