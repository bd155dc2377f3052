/* The event loop. Every source of events has one slot with its next one: a busy device its
 * completion, an idle device the moment at which its first op is ready, a sender the end of its
 * transfer. So there is no event per edge and no event queue: an op whose last producer has ended
 * has its ready time and waits in its device's pending list.
 *
 * Events order by (time, insertion). An op is ready with its latest input; if several tie, the one
 * inserted last counts. Numbers are drawn per consumer in edge order when a producer ends, and at
 * the start of an op for its completion. */
#include "pending_internal.h"

typedef struct mode {
  bool plain;   /* no copies, no records */
  bool uniform; /* plan->edge_time holds */
  bool planned;
  bool choosy;
  bool limited; /* plain: the run may be cut short */
  bool noted;   /* plain: starts and ends are noted */
  bool watched; /* the order of ends is noted */
} mode;

/* ---- ready times ---- */

/* The ready time of the op has just become known. */
BERTH_I_INLINE void become_known(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id,
                                 mode m) {
  const berth_i_sim_op *op = &s->ops[id];
  int32_t d = op->device;
  berth_i_sim_device *v = &s->dev[d];
  berth_i_ready e = { op->time, op->seq, id };
  if (!m.plain && berth_i_is_async(p, id)) {
    berth_i_async_ready(p, s, id);
    return;
  }
  if (m.planned) {
    if (v->op < 0 && s->order[v->head] == id) berth_i_slot_set(&s->slots, d, e.time, e.seq);
    return;
  }
  if (!berth_i_pending_push(s, v, e)) return;
  if (v->op >= 0) {
    if (!m.plain && p->preempt) berth_i_show_due(p, s, d);
  } else if (!m.choosy) {
    berth_i_slot_set(&s->slots, d, e.time, e.seq);
  } else if (e.time < berth_i_slot_time(&s->slots, d)) { /* else it has something to choose from
                                                            before */
    berth_i_slot_set(&s->slots, d, e.time, e.seq | BERTH_I_CHOOSE);
  }
}

BERTH_I_INLINE void deliver(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t to,
                            double time, uint32_t seq, int32_t from, mode m) {
  berth_i_sim_op *op = &s->ops[to];
  bool latest = time >= op->time;
  op->time = latest ? time : op->time;
  op->seq = latest ? seq : op->seq;
  if (!m.plain && latest) op->last = from;
  if (--op->missing == 0) become_known(p, s, to, m);
}

/* ---- what is next on a device ---- */

/* To be called before the numbers of the event are drawn. */
BERTH_I_INLINE void note(berth_i_sim_state *s, int32_t what) {
  berth_i_notes *x = s->notes;
  x->at[x->n] = what;
  x->seq[x->n++] = s->seq;
}

BERTH_I_INLINE void note_start(berth_i_sim_state *s, int32_t d, int32_t id, double now) {
  double left = s->notes->left[d], tail = s->notes->tail[id], least = left > tail ? left : tail;
  note(s, id);
  if (now + least > s->limit) berth_i_cut_short(s, now + least);
  s->notes->left[d] = left - s->ops[id].work;
}

static void check_watched(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id, double now) {
  double least = berth_i_watch_start(p, s, id, p->tail[id]);
  if (now + least > s->limit) berth_i_cut_short(s, now + least);
}

BERTH_I_INLINE void start(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, int32_t id,
                          double now, mode m) {
  if (m.plain) {
    if (m.noted) note_start(s, d, id, now);
    s->ops[id].last = s->dev[d].prev;
    s->dev[d].op = s->dev[d].prev = id;
    if (m.watched && s->limit < INFINITY) check_watched(p, s, id, now);
    else if (m.limited && now + p->tail[id] > s->limit) berth_i_cut_short(s, now + p->tail[id]);
    berth_i_slot_set(&s->slots, d, now + s->ops[id].work, s->seq++);
  } else {
    berth_i_occupy(p, s, d, id);
  }
}

static int32_t choose(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v,
                      double now) {
  berth_i_absorb_pending(p, s, v, now);
  return berth_i_ready_take(p, s, v);
}

/* An idle device starts the op for which its slot stood. */
BERTH_I_INLINE void start_next(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d,
                               double now, mode m) {
  berth_i_sim_device *v = &s->dev[d];
  int32_t id = m.planned  ? s->order[v->head++]
               : m.choosy ? choose(p, s, v, now)
                          : berth_i_pending_pop(s, v);
  start(p, s, d, id, now, m);
}

/* A busy device has new ready ops: the best of them may take over. */
static void reconsider(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d) {
  berth_i_sim_device *v = &s->dev[d];
  berth_i_absorb_pending(p, s, v, s->now);
  berth_i_ready running = { v->key, v->place, v->op };
  if (v->n_ready > 0 && berth_i_ready_before(s->ready[v->base], running)) {
    berth_i_suspend(p, s, v);
    berth_i_occupy(p, s, d, berth_i_ready_take(p, s, v));
  } else {
    berth_i_show_due(p, s, d);
  }
}

/* Next op of an idle device, as far as its ready time is known. */
BERTH_I_INLINE bool next_in_order(const berth_i_sim_state *s, const berth_i_sim_device *v,
                                  berth_i_ready *e, mode m) {
  if (m.planned) {
    if (v->head >= v->end) return false;
    const berth_i_sim_op *op = &s->ops[s->order[v->head]];
    e->time = op->time;
    e->seq = op->seq;
    return op->missing == 0;
  }
  const berth_i_ready *first;
  if (!(first = berth_i_pending_first(s, v))) return false;
  *e = *first;
  return true;
}

/* The device has just ended an op, by the event (now, seq). */
BERTH_I_INLINE void become_idle(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d,
                                double now, uint64_t seq, mode m) {
  berth_i_sim_device *v = &s->dev[d];
  v->op = BERTH_NONE;
  v->phase = BERTH_I_IDLE;
  berth_i_ready e;
  if (m.choosy && v->n_ready > 0) {
    berth_i_slot_set(&s->slots, d, now, seq | BERTH_I_CHOOSE);
  } else if (!next_in_order(s, v, &e, m)) {
    berth_i_slot_set(&s->slots, d, INFINITY, 0);
  } else if (m.choosy) {
    berth_i_slot_set(&s->slots, d, e.time > now ? e.time : now,
                     (e.time < now ? seq : e.seq) | BERTH_I_CHOOSE);
  } else if (e.time < now || (e.time == now && e.seq < seq)) {
    start_next(p, s, d, now, m);
  } else {
    berth_i_slot_set(&s->slots, d, e.time, e.seq);
  }
}

/* ---- completions ---- */

/* x, or 0 without a branch. */
BERTH_I_INLINE double only_if(bool yes, double x) {
  uint64_t bits = berth_i_time_bits(x) & (0 - (uint64_t)yes);
  memcpy(&x, &bits, sizeof x);
  return x;
}

BERTH_I_INLINE void release_plain(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id,
                                  double now, mode m) {
  int32_t end = p->edge_at[id + 1], d = s->ops[id].device;
  uint32_t seq = s->seq;
  for (int32_t e = p->edge_at[id]; e < end; e++) {
    int32_t to = p->edge_to[e], there = s->ops[to].device;
    double arrival = now;
    if (m.uniform) {
      arrival = now + only_if(there != d, p->edge_time[e]);
    } else if (there != d) {
      arrival = now + berth_i_transfer_units(p, s, p->edge_tensor[e], d, there);
    }
    deliver(p, s, to, arrival, seq++, id, m);
  }
  s->seq = seq;
}

static void release_copies(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id, mode m) {
  for (int32_t e = p->edge_at[id]; e < p->edge_at[id + 1]; e++) {
    int32_t copy = s->lead[e];
    double arrival = s->now;
    if (copy != BERTH_NONE && p->o.send == BERTH_SEND_PUSH) {
      if (p->contended) {
        if (copy == e) berth_i_links_request(p, s, e);
        continue;
      }
      arrival = copy == e ? berth_i_links_send(p, s, e, s->now) : s->arrival[copy];
    }
    deliver(p, s, p->edge_to[e], arrival, s->seq++, id, m);
  }
}

BERTH_I_INLINE void complete(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, double now,
                             mode m) {
  uint64_t seq = s->slots.at[d].seq;
  int32_t id = s->dev[d].op;
  if (m.watched) s->watch->ended[s->done] = id;
  s->done++;
  if (m.plain) {
    if (m.noted) note(s, ~id);
    s->ops[id].time = now;
    s->ops[id].missing = -1;
    release_plain(p, s, id, now, m);
  } else {
    berth_i_end_op(p, s, &s->dev[d]);
    release_copies(p, s, id, m);
    if (p->n_collectives > 0) berth_i_sim_collectives_leave(p, s, id);
  }
  become_idle(p, s, d, now, seq, m);
}

/* ---- ends of queued transfers ---- */

static void arrive_for(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t to, int32_t from,
                       mode m) {
  int32_t d = s->ops[to].device;
  berth_i_sim_device *v = &s->dev[d];
  if (p->o.send == BERTH_SEND_PUSH) {
    deliver(p, s, to, s->now, s->seq++, from, m);
  } else if (berth_i_is_async(p, to)) {
    berth_i_async_fetched(p, s, to);
  } else if (v->op == to && v->phase == BERTH_I_FETCHING && --s->ops[to].missing == 0) {
    berth_i_begin_phase(p, s, d, BERTH_I_FETCHING, s->now);
  }
}

static void end_transfer(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t sender, mode m) {
  int32_t copy = berth_i_links_end(p, s, sender);
  if (copy == BERTH_NONE) return;
  int32_t tensor = p->edge_tensor[copy];
  for (int32_t e = copy; e < p->n_edges && p->edge_tensor[e] == tensor; e++) {
    if (s->lead[e] == copy) arrive_for(p, s, p->edge_to[e], p->cost->g->producer[tensor], m);
  }
}

/* ---- ends of collectives ---- */

static void end_collective(const berth_i_sim_plan *p, berth_i_sim_state *s, mode m) {
  int32_t k = berth_i_sim_collective_end(p, s);
  if (k == BERTH_NONE) return;
  const berth_collective *c = &p->cost->g->collectives[k];
  if (m.watched) s->watch->ended[s->done] = p->n_ops + k;
  s->done++;
  for (int32_t i = 0; i < c->n_consumers; i++)
    deliver(p, s, c->consumers[i], s->now, s->seq++, s->coll.one[k].last, m);
}

/* ---- communication ops ---- */

static void async_event(const berth_i_sim_plan *p, berth_i_sim_state *s, mode m) {
  int32_t id = berth_i_async_event(p, s);
  if (id == BERTH_NONE) return;
  if (m.watched) s->watch->ended[s->done] = id;
  s->done++;
  release_copies(p, s, id, m);
  if (p->n_collectives > 0) berth_i_sim_collectives_leave(p, s, id);
}

/* ---- the loop ---- */

static void device_event(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, mode m) {
  const berth_i_sim_device *v = &s->dev[d];
  if (v->phase == BERTH_I_IDLE) {
    start_next(p, s, d, s->now, m);
  } else if (s->slots.at[d].seq != v->due_seq) {
    reconsider(p, s, d);
  } else if (v->phase == BERTH_I_FETCHING) {
    berth_i_begin_computing(p, s, d);
  } else {
    complete(p, s, d, s->now, m);
  }
}

static void any_event(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t slot, mode m) {
  if (slot < p->n_devices) {
    device_event(p, s, slot, m);
  } else if (p->n_collectives > 0 && slot == p->collective_slot) {
    end_collective(p, s, m);
  } else if (p->n_async > 0 && slot == p->async_slot) {
    async_event(p, s, m);
  } else if (slot < s->slots.n - 1) {
    end_transfer(p, s, slot - p->n_devices, m);
  } else {
    berth_i_links_pump(p, s);
  }
}

/* Until `target` ops and collectives have ended, or nothing more happens up to the horizon. */
BERTH_I_INLINE void event_loop(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t target,
                               mode m) {
  double now = s->now, horizon = p->horizon;
  while (s->done < target && !((m.limited || m.noted || !m.plain) && s->cut)) {
    int32_t slot = berth_i_slots_next(&s->slots);
    double time = berth_i_slot_time(&s->slots, slot);
    if (!(time <= horizon)) break;
    now = time;
    if (!m.plain) {
      s->now = now;
      any_event(p, s, slot, m);
    } else if (s->dev[slot].op < 0) {
      start_next(p, s, slot, now, m);
    } else {
      complete(p, s, slot, now, m);
    }
  }
  s->now = now;
}

static const mode FIFO_UNIFORM = { true, true, false, false, false, false, false },
                  FIFO_PAIRS = { true, false, false, false, false, false, false },
                  PLANNED_UNIFORM = { true, true, true, false, false, false, false },
                  PLANNED_PAIRS = { true, false, true, false, false, false, false },
                  FIFO_UNIFORM_LIMITED = { true, true, false, false, true, false, false },
                  FIFO_UNIFORM_NOTED = { true, true, false, false, false, true, false },
                  FIFO_PAIRS_NOTED = { true, false, false, false, false, true, false };

static mode mode_of(const berth_i_sim_plan *p, const berth_i_sim_state *s) {
  mode m;
  m.plain = p->plain;
  m.uniform = p->edge_time != NULL;
  m.planned = p->o.dispatch == BERTH_DISPATCH_PLANNED;
  m.choosy = p->choosy;
  m.limited = p->tail != NULL;
  m.noted = false;
  m.watched = s->watch != NULL;
  return m;
}

void berth_i_sim_run_until(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t target) {
  mode m = mode_of(p, s);
  if (m.watched) {
    event_loop(p, s, target, m);
  } else if (m.plain && !m.choosy && !m.planned && m.uniform && m.limited && s->limit < INFINITY) {
    event_loop(p, s, target, FIFO_UNIFORM_LIMITED);
  } else if (!m.plain || m.choosy || (m.limited && s->limit < INFINITY)) {
    event_loop(p, s, target, m);
  } else if (m.planned) {
    if (m.uniform) event_loop(p, s, target, PLANNED_UNIFORM);
    else event_loop(p, s, target, PLANNED_PAIRS);
  } else {
    if (m.uniform) event_loop(p, s, target, FIFO_UNIFORM);
    else event_loop(p, s, target, FIFO_PAIRS);
  }
}

void berth_i_sim_resume(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  if (p->edge_time) event_loop(p, s, p->n_ops, FIFO_UNIFORM_NOTED);
  else event_loop(p, s, p->n_ops, FIFO_PAIRS_NOTED);
}

static bool interrupted(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  if (berth_i_interrupted(p->ctx) == BERTH_OK) return false;
  s->fault.kind = BERTH_I_FAULT_INTERRUPT;
  return true;
}

void berth_i_sim_begin(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  mode m = mode_of(p, s);
  for (int32_t i = 0; i < p->n_roots; i++) {
    s->ops[p->roots[i]].seq = s->seq++;
    become_known(p, s, p->roots[i], m);
  }
}

static bool event_order(const berth_i_sim_plan *p, berth_i_sim_state *s, bool poll) {
  int32_t target = 0, all = p->n_ops + p->n_collectives;
  berth_i_sim_begin(p, s);
  while (target < all) {
    target = all - target > 0x10000 ? target + 0x10000 : all;
    berth_i_sim_run_until(p, s, target);
    if (s->cut) return true;
    if (s->done < target) {
      berth_i_sim_stuck(p, s);
      return false;
    }
    if (poll && target < all && interrupted(p, s)) return false;
  }
  if (s->memory) berth_i_memory_drain(p, s);
  return true;
}

static bool execute(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device,
                    uint64_t seed, bool poll) {
  s->cut = false;
  if (poll && interrupted(p, s)) return false;
  if (!berth_i_sim_reset(p, s, device, seed)) return false;
  if (p->o.order == BERTH_ORDER_READY) return berth_i_sim_ready_order(p, s, poll);
  return p->o.order == BERTH_ORDER_TASK ? berth_i_sim_task_order(p, s, poll)
                                        : event_order(p, s, poll);
}

bool berth_i_sim_execute(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device,
                         uint64_t seed, bool poll) {
  s->limit = INFINITY;
  return execute(p, s, device, seed, poll);
}

bool berth_i_sim_execute_limited(const berth_i_sim_plan *p, berth_i_sim_state *s,
                                 const int32_t *device, uint64_t seed, bool poll, double limit) {
  s->limit = p->tail ? limit * (1 + BERTH_I_LIMIT_SLACK) : INFINITY;
  return execute(p, s, device, seed, poll);
}
