/* Communication ops: they run beside what their devices compute, each as soon as it can. One slot
 * shows the next start or end of all of them. */
#include "pending_internal.h"

berth_status berth_i_async_ops_plan(berth_i_sim_plan *p) {
  const berth_graph *g = p->cost->g;
  int32_t n = 0;
  for (int32_t i = 0; i < p->n_ops; i++) n += berth_i_is_communication(g, i);
  if ((p->n_async = n) == 0) return BERTH_OK;
  p->async_slot = !p->contended                  ? p->n_devices
                  : berth_i_on_links(p->o.links) ? p->n_devices + 2
                                                 : 2 * p->n_devices;
  p->async_slot += p->n_collectives > 0;
  p->async_op = berth_i_pool_alloc(&p->pool, (size_t)n, sizeof *p->async_op);
  p->is_async = berth_i_pool_alloc(&p->pool, (size_t)p->n_ops, sizeof *p->is_async);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  for (int32_t i = n = 0; i < p->n_ops; i++) {
    p->is_async[i] = berth_i_is_communication(g, i);
    if (p->is_async[i]) p->async_op[n++] = i;
  }
  return BERTH_OK;
}

void berth_i_async_ops_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_async_ops *x) {
  x->next = berth_i_pool_alloc(pool, (size_t)p->n_async, sizeof *x->next);
  x->phase = berth_i_pool_alloc(pool, (size_t)p->n_ops, sizeof *x->phase);
}

void berth_i_async_ops_reset(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_async_ops *x = &s->async;
  memset(x->phase, BERTH_I_IDLE, (size_t)p->n_ops * sizeof *x->phase);
  x->n_next = 0;
  x->last = BERTH_NONE;
  x->last_end = 0;
}

/* ---- events ---- */

static void show_next(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_i_async_ops *x = &s->async;
  double time = x->n_next > 0 ? x->next[0].time : INFINITY;
  berth_i_slot_set(&s->slots, p->async_slot, time, x->n_next > 0 ? x->next[0].seq : 0);
}

static void schedule(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double time,
                     uint32_t seq) {
  berth_i_ready_up(s->async.next, s->async.n_next++,
                   (berth_i_ready){ .time = time, .seq = seq, .op = op });
  show_next(p, s);
}

void berth_i_async_ready(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  schedule(p, s, op, s->ops[op].time, s->ops[op].seq);
}

static void start(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  s->async.phase[op] = BERTH_I_RUNNING;
  s->ops[op].missing = -1;
  if (s->limit < INFINITY) berth_i_check_limit(p, s, op);
  if (s->memory) berth_i_memory_start(p, s, op);
  if (s->trace) {
    s->trace->start[op] = s->now;
    s->trace->cause[op] = s->ops[op].last;
  }
  schedule(p, s, op, s->now + s->ops[op].work, s->seq++);
}

static void fetch(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  double there = berth_i_fetch_inputs(p, s, op);
  s->async.phase[op] = BERTH_I_FETCHING;
  if (there == s->now) {
    start(p, s, op);
  } else if (s->ops[op].missing == 0) {
    schedule(p, s, op, there, s->seq++);
  }
}

void berth_i_async_fetched(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  if (s->async.phase[op] == BERTH_I_FETCHING && --s->ops[op].missing == 0)
    schedule(p, s, op, s->now, s->seq++);
}

static void end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  berth_i_async_ops *x = &s->async;
  if (x->last == BERTH_NONE || s->now > x->last_end || op < x->last) x->last = op;
  x->last_end = s->now;
  x->phase[op] = BERTH_I_IDLE;
  if (s->trace) {
    s->trace->finish[op] = s->now;
    berth_i_trace_stretch(s->trace, op, s->trace->start[op], s->now);
  }
  if (s->memory) berth_i_memory_finish(p, s, op);
}

int32_t berth_i_async_event(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_async_ops *x = &s->async;
  int32_t op = berth_i_ready_pop(x->next, x->n_next--).op;
  show_next(p, s);
  if (x->phase[op] == BERTH_I_RUNNING) {
    end(p, s, op);
    return op;
  }
  if (x->phase[op] == BERTH_I_IDLE && p->o.send == BERTH_SEND_PULL) fetch(p, s, op);
  else start(p, s, op);
  return BERTH_NONE;
}
