/* The event loop. Every source of events has one slot with its next one: a busy device its completion, an idle device the
 * moment at which its first op is ready, a sender the end of its transfer. So there is no event per edge and no event queue: an
 * op whose last producer has ended knows its ready time and waits in its device's pending list.
 *
 * Events order by (time, insertion). An op is ready with its latest input; if several tie, the one inserted last counts.
 * Numbers are drawn per consumer in edge order when a producer ends, and at the start of an op for its completion. */
#include "sim_internal.h"

typedef struct mode {
  bool plain;   /* no copies, no records */
  bool uniform; /* plan->edge_time holds */
  bool planned;
  bool choosy;
  bool limited; /* plain: the run may be cut short */
  bool noted;   /* plain: starts and ends are noted */
} mode;

/* ---- pending lists: ops that know when they are ready, by (time, seq) -------------------------- */

/* Insertion looks back this far; what belongs before goes to the device's heap. Keeps the cost of an insertion bounded. */
enum { NEAR = 48 };

static bool push_over(berth_i_sim_state *s, berth_i_sim_device *v, berth_i_ready e) {
  berth_i_ready_up(&s->over[v->base], v->n_over++, e);
  return s->over[v->base].op == e.op && (v->head == v->tail || berth_i_ready_before(e, s->pending[v->head]));
}

/** @return it is the first now */
BERTH_I_INLINE bool pending_push(berth_i_sim_state *s, berth_i_sim_device *v, berth_i_ready e) {
  berth_i_ready *at = s->pending;
  int32_t i = v->tail, head = v->head;
  if (i - head > NEAR && berth_i_ready_before(e, at[i - 1 - NEAR])) return push_over(s, v, e);
  v->tail++;
  for (; i > head && berth_i_ready_before(e, at[i - 1]); i--) at[i] = at[i - 1];
  at[i] = e;
  return i == head && (v->n_over == 0 || berth_i_ready_before(e, s->over[v->base]));
}

BERTH_I_INLINE const berth_i_ready *pending_first(const berth_i_sim_state *s, const berth_i_sim_device *v) {
  const berth_i_ready *first = v->head < v->tail ? &s->pending[v->head] : NULL;
  if (v->n_over == 0) return first;
  return first && berth_i_ready_before(*first, s->over[v->base]) ? first : &s->over[v->base];
}

BERTH_I_INLINE int32_t pending_pop(berth_i_sim_state *s, berth_i_sim_device *v) {
  const berth_i_ready *first = pending_first(s, v);
  if (v->n_over == 0 || first != &s->over[v->base]) return s->pending[v->head++].op;
  return berth_i_ready_pop(&s->over[v->base], v->n_over--).op;
}

/* ---- ready sets, for dispatches that choose ------------------------------------------------------- */

static double dispatch_key(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t op, uint32_t place) {
  size_t classes = (size_t)p->cost->n_classes;
  switch (p->o.dispatch) {
  case BERTH_DISPATCH_LIGHT_FIRST: /* as expected: a scheduler does not know the noise */
    return p->work[(size_t)op * classes + (size_t)p->cost->class_of[s->ops[op].device]];
  case BERTH_DISPATCH_LIFO: return -(double)place;
  case BERTH_DISPATCH_BLEVEL:
  case BERTH_DISPATCH_STATIC: return p->key[op];
  default: return 0;
  }
}

static void ready_put(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v, berth_i_ready e) {
  berth_i_ready *set = &s->ready[v->base];
  if (p->o.dispatch == BERTH_DISPATCH_RANDOM) {
    set[v->n_ready++] = e;
  } else {
    berth_i_ready_up(set, v->n_ready++, e);
  }
}

static void absorb_pending(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v, double now) {
  const berth_i_ready *first;
  while ((first = pending_first(s, v)) && first->time <= now) {
    berth_i_ready e;
    e.op = pending_pop(s, v);
    e.seq = s->place++;
    e.time = dispatch_key(p, s, e.op, e.seq);
    ready_put(p, s, v, e);
  }
}

static int32_t ready_take(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v) {
  berth_i_ready *set = &s->ready[v->base], e;
  if (p->o.dispatch == BERTH_DISPATCH_RANDOM) {
    int32_t k = berth_rng_below(&s->rng, v->n_ready);
    e = set[k];
    set[k] = set[--v->n_ready];
  } else {
    e = berth_i_ready_pop(set, v->n_ready--);
  }
  v->key = e.time;
  v->place = e.seq;
  return e.op;
}

/* ---- slots of devices --------------------------------------------------------------------------------- */

/* Busy: the end of the phase or, with preemption, an op that becomes ready before. */
static void show_due(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d) {
  const berth_i_sim_device *v = &s->dev[d];
  const berth_i_ready *first = p->preempt ? pending_first(s, v) : NULL;
  if (first && first->time < v->due) {
    berth_i_slot_set(&s->slots, d, first->time, first->seq | BERTH_I_CHOOSE);
  } else {
    berth_i_slot_set(&s->slots, d, v->due, v->due_seq);
  }
}

/* The ready time of the op has just become known. */
BERTH_I_INLINE void become_known(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id, mode m) {
  const berth_i_sim_op *op = &s->ops[id];
  int32_t d = op->device;
  berth_i_sim_device *v = &s->dev[d];
  berth_i_ready e;
  e.time = op->time;
  e.seq = op->seq;
  e.op = id;
  if (m.planned) {
    if (v->op < 0 && s->order[v->head] == id) berth_i_slot_set(&s->slots, d, e.time, e.seq);
    return;
  }
  if (!pending_push(s, v, e)) return;
  if (v->op >= 0) {
    if (!m.plain && p->preempt) show_due(p, s, d);
  } else if (!m.choosy) {
    berth_i_slot_set(&s->slots, d, e.time, e.seq);
  } else if (e.time < berth_i_slot_time(&s->slots, d)) { /* else it has something to choose from before */
    berth_i_slot_set(&s->slots, d, e.time, e.seq | BERTH_I_CHOOSE);
  }
}

BERTH_I_INLINE void deliver(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t to, double time, uint32_t seq, int32_t from,
                            mode m) {
  berth_i_sim_op *op = &s->ops[to];
  bool latest = time >= op->time;
  op->time = latest ? time : op->time;
  op->seq = latest ? seq : op->seq;
  if (!m.plain && latest) op->last = from;
  if (--op->missing == 0) become_known(p, s, to, m);
}

/* ---- an op on its device: fetch, run, stop -------------------------------------------------------------- */

static void begin_phase(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, berth_i_phase phase, double due) {
  berth_i_sim_device *v = &s->dev[d];
  v->phase = phase;
  v->due = due;
  v->due_seq = s->seq++;
  show_due(p, s, d);
}

/* What is left of the run cannot end in time; `end`: not before. */
static void cut_short(berth_i_sim_state *s, double end) {
  s->cut = true;
  s->limit = end;
}

static void check_limit(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  double end = s->now + (p->n_collectives > 0 ? s->meet.tail : p->tail)[op];
  if (end > s->limit) cut_short(s, end);
}

static void begin_computing(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d) {
  berth_i_sim_device *v = &s->dev[d];
  berth_i_sim_op *op = &s->ops[v->op];
  if (op->missing >= 0) { /* for the first time */
    op->missing = -1;
    if (s->limit < INFINITY) check_limit(p, s, v->op);
    if (s->memory) berth_i_memory_start(p, s, v->op);
    if (s->trace) s->trace->start[v->op] = s->now;
  }
  v->since = s->now;
  begin_phase(p, s, d, BERTH_I_RUNNING, s->now + op->work);
}

/* Asks for the inputs that are not on the device. @return when they are all there; INFINITY: their arrivals will tell */
static double fetch_inputs(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id) {
  const berth_graph *g = p->cost->g;
  berth_i_sim_op *op = &s->ops[id];
  double there = s->now;
  int32_t i;
  op->missing = 0;
  for (i = g->in_at[id]; i < g->in_at[id + 1]; i++) {
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

static void occupy(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, int32_t id) {
  berth_i_sim_device *v = &s->dev[d];
  berth_i_sim_op *op = &s->ops[id];
  double there = s->now;
  v->op = id;
  op->last = v->free_at > op->time ? v->prev : op->last;
  if (s->trace) s->trace->cause[id] = op->last;
  if (p->o.send == BERTH_SEND_PULL && op->missing >= 0) there = fetch_inputs(p, s, id);
  if (there > s->now) {
    begin_phase(p, s, d, BERTH_I_FETCHING, there);
  } else {
    begin_computing(p, s, d);
  }
}

/* The device stops computing: log the stretch. */
static void end_stretch(berth_i_sim_state *s, berth_i_sim_device *v, double done) {
  v->busy += done;
  v->free_at = s->now;
  v->prev = v->op;
  if (s->trace) berth_i_trace_stretch(s->trace, v->op, v->since, s->now);
}

/* The rest of the op goes back to its place among the ready ones. */
static void suspend(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v) {
  berth_i_sim_op *op = &s->ops[v->op];
  berth_i_ready e;
  if (v->phase == BERTH_I_RUNNING) {
    double left = v->due - s->now, done = op->work - left;
    op->work = left;
    end_stretch(s, v, done);
  }
  e.time = v->key;
  e.seq = v->place;
  e.op = v->op;
  ready_put(p, s, v, e);
}

static void end_op(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v) {
  int32_t id = v->op;
  end_stretch(s, v, s->ops[id].work);
  if (s->trace) s->trace->finish[id] = s->now;
  if (s->memory) berth_i_memory_finish(p, s, id);
}

/* ---- what is next on a device ------------------------------------------------------------------------------- */

/* To be called before the numbers of the event are drawn. */
BERTH_I_INLINE void note(berth_i_sim_state *s, int32_t what) {
  berth_i_notes *x = s->notes;
  x->at[x->n] = what;
  x->seq[x->n++] = s->seq;
}

BERTH_I_INLINE void note_start(berth_i_sim_state *s, int32_t d, int32_t id, double now) {
  double left = s->notes->left[d], tail = s->notes->tail[id], least = left > tail ? left : tail;
  note(s, id);
  if (now + least > s->limit) cut_short(s, now + least);
  s->notes->left[d] = left - s->ops[id].work;
}

BERTH_I_INLINE void start(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, int32_t id, double now, mode m) {
  if (m.plain) {
    if (m.noted) note_start(s, d, id, now);
    s->ops[id].last = s->dev[d].prev;
    s->dev[d].op = s->dev[d].prev = id;
    if (m.limited && now + p->tail[id] > s->limit) cut_short(s, now + p->tail[id]);
    berth_i_slot_set(&s->slots, d, now + s->ops[id].work, s->seq++);
  } else {
    occupy(p, s, d, id);
  }
}

static int32_t choose(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v, double now) {
  absorb_pending(p, s, v, now);
  return ready_take(p, s, v);
}

/* An idle device starts the op for which its slot stood. */
BERTH_I_INLINE void start_next(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, double now, mode m) {
  berth_i_sim_device *v = &s->dev[d];
  int32_t id = m.planned ? s->order[v->head++] : m.choosy ? choose(p, s, v, now) : pending_pop(s, v);
  start(p, s, d, id, now, m);
}

/* A busy device has new ready ops: the best of them may take over. */
static void reconsider(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d) {
  berth_i_sim_device *v = &s->dev[d];
  berth_i_ready running;
  absorb_pending(p, s, v, s->now);
  running.time = v->key;
  running.seq = v->place;
  running.op = v->op;
  if (v->n_ready > 0 && berth_i_ready_before(s->ready[v->base], running)) {
    suspend(p, s, v);
    occupy(p, s, d, ready_take(p, s, v));
  } else {
    show_due(p, s, d);
  }
}

/* First op in line of an idle device, as far as its ready time is known. */
BERTH_I_INLINE bool first_in_line(const berth_i_sim_state *s, const berth_i_sim_device *v, berth_i_ready *e, mode m) {
  const berth_i_ready *first;
  if (m.planned) {
    const berth_i_sim_op *op;
    if (v->head >= v->end) return false;
    op = &s->ops[s->order[v->head]];
    e->time = op->time;
    e->seq = op->seq;
    return op->missing == 0;
  }
  if (!(first = pending_first(s, v))) return false;
  *e = *first;
  return true;
}

/* The device has just ended an op, by the event (now, seq). */
BERTH_I_INLINE void become_idle(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, double now, uint64_t seq, mode m) {
  berth_i_sim_device *v = &s->dev[d];
  berth_i_ready e;
  v->op = BERTH_NONE;
  v->phase = BERTH_I_IDLE;
  if (m.choosy && v->n_ready > 0) {
    berth_i_slot_set(&s->slots, d, now, seq | BERTH_I_CHOOSE);
  } else if (!first_in_line(s, v, &e, m)) {
    berth_i_slot_set(&s->slots, d, INFINITY, 0);
  } else if (m.choosy) {
    berth_i_slot_set(&s->slots, d, e.time > now ? e.time : now, (e.time < now ? seq : e.seq) | BERTH_I_CHOOSE);
  } else if (e.time < now || (e.time == now && e.seq < seq)) {
    start_next(p, s, d, now, m);
  } else {
    berth_i_slot_set(&s->slots, d, e.time, e.seq);
  }
}

/* ---- completions ------------------------------------------------------------------------------------------------ */

/* x, or 0 without a branch. */
BERTH_I_INLINE double only_if(bool yes, double x) {
  uint64_t bits = berth_i_time_bits(x) & (0 - (uint64_t)yes);
  memcpy(&x, &bits, sizeof x);
  return x;
}

BERTH_I_INLINE void release_plain(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id, double now, mode m) {
  int32_t e, end = p->edge_at[id + 1], d = s->ops[id].device;
  uint32_t seq = s->seq;
  for (e = p->edge_at[id]; e < end; e++) {
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
  int32_t e;
  for (e = p->edge_at[id]; e < p->edge_at[id + 1]; e++) {
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

BERTH_I_INLINE void complete(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, double now, mode m) {
  uint64_t seq = s->slots.at[d].seq;
  int32_t id = s->dev[d].op;
  s->done++;
  if (m.plain) {
    if (m.noted) note(s, ~id);
    s->ops[id].time = now;
    s->ops[id].missing = -1;
    release_plain(p, s, id, now, m);
  } else {
    end_op(p, s, &s->dev[d]);
    release_copies(p, s, id, m);
    if (p->n_collectives > 0) berth_i_meetings_leave(p, s, id);
  }
  become_idle(p, s, d, now, seq, m);
}

/* ---- ends of queued transfers -------------------------------------------------------------------------------------- */

static void arrive_for(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t to, int32_t from, mode m) {
  int32_t d = s->ops[to].device;
  berth_i_sim_device *v = &s->dev[d];
  if (p->o.send == BERTH_SEND_PUSH) {
    deliver(p, s, to, s->now, s->seq++, from, m);
  } else if (v->op == to && v->phase == BERTH_I_FETCHING && --s->ops[to].missing == 0) {
    begin_phase(p, s, d, BERTH_I_FETCHING, s->now);
  }
}

static void end_transfer(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t sender, mode m) {
  int32_t copy = berth_i_links_end(p, s, sender), tensor, e;
  if (copy == BERTH_NONE) return;
  tensor = p->edge_tensor[copy];
  for (e = copy; e < p->n_edges && p->edge_tensor[e] == tensor; e++) {
    if (s->lead[e] == copy) arrive_for(p, s, p->edge_to[e], p->cost->g->producer[tensor], m);
  }
}

/* ---- ends of collectives -------------------------------------------------------------------------------------------- */

static void end_meeting(const berth_i_sim_plan *p, berth_i_sim_state *s, mode m) {
  int32_t k = berth_i_meeting_end(p, s), i;
  const berth_collective *c;
  if (k == BERTH_NONE) return;
  c = &p->cost->g->collectives[k];
  s->done++;
  for (i = 0; i < c->n_consumers; i++) deliver(p, s, c->consumers[i], s->now, s->seq++, s->meet.one[k].last, m);
}

/* ---- the loop -------------------------------------------------------------------------------------------------------- */

static void device_event(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, mode m) {
  const berth_i_sim_device *v = &s->dev[d];
  if (v->phase == BERTH_I_IDLE) {
    start_next(p, s, d, s->now, m);
  } else if (s->slots.at[d].seq != v->due_seq) {
    reconsider(p, s, d);
  } else if (v->phase == BERTH_I_FETCHING) {
    begin_computing(p, s, d);
  } else {
    complete(p, s, d, s->now, m);
  }
}

static void any_event(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t slot, mode m) {
  if (slot < p->n_devices) {
    device_event(p, s, slot, m);
  } else if (p->n_collectives > 0 && slot == p->meeting_slot) {
    end_meeting(p, s, m);
  } else if (slot < s->slots.n - 1) {
    end_transfer(p, s, slot - p->n_devices, m);
  } else {
    berth_i_links_pump(p, s);
  }
}

/* Until `target` ops and collectives have ended, or nothing more happens up to the horizon. */
BERTH_I_INLINE void event_loop(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t target, mode m) {
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

static const mode FIFO_UNIFORM = { true, true, false, false, false, false },
                  FIFO_PAIRS = { true, false, false, false, false, false },
                  PLANNED_UNIFORM = { true, true, true, false, false, false },
                  PLANNED_PAIRS = { true, false, true, false, false, false },
                  FIFO_UNIFORM_LIMITED = { true, true, false, false, true, false },
                  FIFO_UNIFORM_NOTED = { true, true, false, false, false, true },
                  FIFO_PAIRS_NOTED = { true, false, false, false, false, true };

static mode mode_of(const berth_i_sim_plan *p) {
  mode m;
  m.plain = p->plain;
  m.uniform = p->edge_time != NULL;
  m.planned = p->o.dispatch == BERTH_DISPATCH_PLANNED;
  m.choosy = p->choosy;
  m.limited = p->tail != NULL;
  m.noted = false;
  return m;
}

static void run_until(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t target) {
  mode m = mode_of(p);
  if (m.plain && !m.choosy && !m.planned && m.uniform && m.limited && s->limit < INFINITY) {
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

static bool event_order(const berth_i_sim_plan *p, berth_i_sim_state *s, bool poll) {
  mode m = mode_of(p);
  int32_t i, target = 0, all = p->n_ops + p->n_collectives;
  for (i = 0; i < p->n_roots; i++) {
    s->ops[p->roots[i]].seq = s->seq++;
    become_known(p, s, p->roots[i], m);
  }
  while (target < all) {
    target = all - target > 0x10000 ? target + 0x10000 : all;
    run_until(p, s, target);
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

static bool execute(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device, uint64_t seed, bool poll) {
  s->cut = false;
  if (poll && interrupted(p, s)) return false;
  if (!berth_i_sim_reset(p, s, device, seed)) return false;
  return p->o.order == BERTH_ORDER_READY ? berth_i_sim_ready_order(p, s, poll) : event_order(p, s, poll);
}

bool berth_i_sim_execute(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device, uint64_t seed, bool poll) {
  s->limit = INFINITY;
  return execute(p, s, device, seed, poll);
}

bool berth_i_sim_execute_limited(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device, uint64_t seed, bool poll,
                                 double limit) {
  s->limit = p->tail ? limit * (1 + BERTH_I_LIMIT_SLACK) : INFINITY;
  return execute(p, s, device, seed, poll);
}
