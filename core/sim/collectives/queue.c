/* Collectives under way, as a heap by their ends. One slot shows the next of them. */
#include "sim/sim_internal.h"

static void show_next(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_i_sim_collectives *x = &s->coll;
  berth_i_slot_set(&s->slots, p->collective_slot, x->n_under_way ? x->under_way[0].time : INFINITY,
                   x->n_under_way ? x->under_way[0].seq : 0);
}

static void expect_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k, double end) {
  berth_i_ready e = { end, p->o.order == BERTH_ORDER_TASK ? (uint32_t)k : s->seq++, k };
  berth_i_ready_up(s->coll.under_way, s->coll.n_under_way++, e);
  show_next(p, s);
}

static void check_limit(berth_i_sim_state *s, const berth_i_sim_collective *x) {
  if (!(s->limit < INFINITY) || !(x->end + x->after > s->limit)) return;
  s->cut = true;
  s->limit = x->end + x->after;
}

void berth_i_sim_collective_start(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k,
                           double start) {
  berth_i_sim_collective *x = &s->coll.one[k];
  x->start = start;
  x->end = start + x->units;
  check_limit(s, x);
  if (s->memory && x->n_devices > 1) berth_i_memory_collective(p, s, k, start);
  if (s->trace) {
    s->trace->log[s->trace->n_log++] = p->n_ops + k;
    s->trace->n_coll_logged++;
  }
  expect_end(p, s, k, x->end);
}

void berth_i_sim_collective_flowed(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  berth_i_sim_collective *x = &s->coll.one[k];
  if (--x->flows == 0 && x->late) expect_end(p, s, k, s->now);
}

int32_t berth_i_sim_collective_next(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  int32_t k = berth_i_ready_pop(s->coll.under_way, s->coll.n_under_way--).op;
  show_next(p, s);
  return k;
}
