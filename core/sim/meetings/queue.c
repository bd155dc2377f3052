/* Collectives under way, by their ends. One slot shows the next of them. */
#include "sim/sim_internal.h"

static void show_next(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_i_meetings *x = &s->meet;
  berth_i_slot_set(&s->slots, p->meeting_slot, x->n_under_way ? x->under_way[0].time : INFINITY,
                   x->n_under_way ? x->under_way[0].seq : 0);
}

static void expect_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k, double end) {
  berth_i_ready e;
  e.time = end;
  e.seq = p->o.order == BERTH_ORDER_TASK ? (uint32_t)k : s->seq++;
  e.op = k;
  berth_i_ready_up(s->meet.under_way, s->meet.n_under_way++, e);
  show_next(p, s);
}

static void check_limit(berth_i_sim_state *s, const berth_i_meeting *x) {
  if (!(s->limit < INFINITY) || !(x->end + x->after > s->limit)) return;
  s->cut = true;
  s->limit = x->end + x->after;
}

void berth_i_meeting_start(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k,
                           double start) {
  berth_i_meeting *x = &s->meet.one[k];
  x->start = start;
  x->end = start + x->units;
  check_limit(s, x);
  if (s->memory && x->n_devices > 1) berth_i_memory_meet(p, s, k, start);
  if (s->trace) {
    s->trace->log[s->trace->n_log++] = p->n_ops + k;
    s->trace->n_met++;
  }
  expect_end(p, s, k, x->end);
}

void berth_i_meeting_flowed(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  berth_i_meeting *x = &s->meet.one[k];
  if (--x->flows == 0 && x->late) expect_end(p, s, k, s->now);
}

int32_t berth_i_meeting_next(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  int32_t k = berth_i_ready_pop(s->meet.under_way, s->meet.n_under_way--).op;
  show_next(p, s);
  return k;
}
