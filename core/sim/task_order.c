/* The order of TAG's published simulator: a heap of the ends of tasks by (time, number). Tasks are
 * ops, edges and collectives. One that becomes ready is given at once what it takes, its device,
 * the links of its route or the queue of collectives, from the moment on at which that is free; so
 * its end is known. An edge between ops on one device is a task of no time, which ends behind all
 * of this instant with lower numbers; of the edges along which a tensor crosses to one device the
 * first represents all. */
#include "sim_internal.h"

/* ---- life ---- */

void berth_i_tasks_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_tasks *x) {
  size_t n = (size_t)p->n_ops + (size_t)p->n_edges + (size_t)p->n_collectives;
  x->later = berth_i_pool_alloc(pool, n, sizeof *x->later);
  x->now = berth_i_pool_alloc(pool, n, sizeof *x->now);
}

static void push(berth_i_sim_state *s, double end, int32_t task) {
  berth_i_tasks *x = &s->tasks;
  berth_i_ready e = { end, (uint32_t)task, task };
  if (end == s->now) berth_i_ready_up(x->now, x->n_now++, e);
  else berth_i_ready_up(x->later, x->n_later++, e);
}

/* @return false: there is none up to the horizon */
static bool pop(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t *task) {
  berth_i_tasks *x = &s->tasks;
  if (x->n_now > 0 && (x->n_later == 0 || berth_i_ready_before(x->now[0], x->later[0]))) {
    *task = berth_i_ready_pop(x->now, x->n_now--).op;
    return true;
  }
  if (x->n_later == 0 || !(x->later[0].time <= p->horizon)) return false;
  s->now = x->later[0].time;
  *task = berth_i_ready_pop(x->later, x->n_later--).op;
  return true;
}

/* ---- what becomes ready ---- */

static void check_limit(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double start) {
  double end = start + (p->n_collectives > 0 ? s->coll.tail : p->tail)[op];
  if (!s->cut && end > s->limit) {
    s->cut = true;
    s->limit = end;
  }
}

static void begin_op(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id) {
  berth_i_sim_op *op = &s->ops[id];
  berth_i_sim_device *v = &s->dev[op->device];
  double start = s->now > v->free_at ? s->now : v->free_at, finish = start + op->work;
  if (s->limit < INFINITY) check_limit(p, s, id, start);
  op->time = s->now;
  op->missing = -1;
  if (v->free_at > s->now) op->last = v->prev;
  if (s->memory) berth_i_memory_ahead(p, s, id, start, finish);
  berth_i_sim_take(s, v, id, start, finish);
  push(s, finish, id);
}

static void deliver(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t to, int32_t from) {
  berth_i_sim_op *op = &s->ops[to];
  op->last = from;
  if (--op->missing == 0) begin_op(p, s, to);
}

static void end_task(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t task) {
  const berth_graph *g = p->cost->g;
  if (task < p->n_ops) {
    /* an op: its edges begin, and the collectives of which it was the last member; these have begun
     * now or ahead, so that their ends are known */
    s->done++;
    for (int32_t e = p->edge_at[task]; e < p->edge_at[task + 1]; e++) {
      if (s->lead[e] == BERTH_NONE) push(s, s->now, p->n_ops + e);
      else if (s->lead[e] == e) push(s, berth_i_links_send(p, s, e, s->now), p->n_ops + e);
    }
    if (p->n_collectives == 0) return;
    berth_i_sim_collectives_leave(p, s, task);
    for (int32_t i = g->wait_at[task]; i < g->wait_at[task + 1]; i++) {
      int32_t k = g->wait[i];
      if (s->coll.one[k].missing == 0) push(s, s->coll.one[k].end, p->n_ops + p->n_edges + k);
    }
  } else if (task < p->n_ops + p->n_edges) {
    /* an edge: its consumer, or all that read the copy */
    int32_t edge = task - p->n_ops, tensor = p->edge_tensor[edge], from = g->producer[tensor];
    if (s->lead[edge] == BERTH_NONE) {
      deliver(p, s, p->edge_to[edge], from);
      return;
    }
    for (int32_t e = edge; e < p->n_edges && p->edge_tensor[e] == tensor; e++)
      if (s->lead[e] == edge) deliver(p, s, p->edge_to[e], from);
  } else {
    int32_t k = berth_i_sim_collective_end(p, s);
    const berth_collective *c = &g->collectives[k];
    s->done++;
    for (int32_t i = 0; i < c->n_consumers; i++)
      deliver(p, s, c->consumers[i], s->coll.one[k].last);
  }
}

bool berth_i_sim_task_order(const berth_i_sim_plan *p, berth_i_sim_state *s, bool poll) {
  uint32_t turns = 0;
  s->tasks.n_later = s->tasks.n_now = 0;
  for (int32_t i = 0; i < p->n_roots; i++) begin_op(p, s, p->roots[i]);
  int32_t task;
  while (!s->cut && pop(p, s, &task)) {
    end_task(p, s, task);
    if (poll && (++turns & 0xffff) == 0 && berth_i_interrupted(p->ctx) != BERTH_OK) {
      s->fault.kind = BERTH_I_FAULT_INTERRUPT;
      return false;
    }
  }
  if (s->cut) return true;
  if (s->done < p->n_ops + p->n_collectives) {
    berth_i_sim_stuck(p, s);
    return false;
  }
  if (s->memory) berth_i_memory_drain(p, s);
  return true;
}
