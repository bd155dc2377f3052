/* The memory accountant: what each device holds, at simulated times.
 *
 * What is held from a to b counts at the instants a <= t < b, and at a if b is a too. So the
 * changes of an instant wait until time moves on; then, on every device, what ends is taken off,
 * what starts is charged and the level checked, and what both started and ended is taken off. No
 * order of events within an instant matters.
 *
 * A thing that starts or ends is an op (its id), or a copy of a tensor (~copy): it starts with its
 * transfer and ends with its send; or a collective on one of its devices (n_ops + participant). A
 * tensor is freed at the end of the last thing that it waits for. */
#include "sim_internal.h"

enum { STARTED = 1, ENDED = 2 };

#define SLIP 1e-12 /* of the limit: sums of bytes that fit but for rounding fit */

/* ---- levels ---- */

static double limit_of(const berth_i_sim_plan *p, int32_t device) {
  return p->cost->t->devices[device].memory;
}

bool berth_i_memory_overflows(const berth_i_sim_plan *p, int32_t device, double bytes) {
  return bytes > limit_of(p, device) * (1 + SLIP);
}

static bool overflows(const berth_i_sim_plan *p, const berth_i_memory *m, int32_t device) {
  return berth_i_memory_overflows(p, device, m->used[device]);
}

static void charge(const berth_i_sim_plan *p, berth_i_memory *m, int32_t device, double bytes,
                   double now) {
  m->used[device] += bytes;
  if (!(m->used[device] > m->peak[device])) return;
  m->peak[device] = m->used[device];
  m->peak_time[device] = now;
  m->peak_clock[device] = m->clock;
  m->over |= overflows(p, m, device);
}

static void discharge(berth_i_memory *m, int32_t device, double bytes) { m->used[device] -= bytes; }

static double op_bytes(const berth_graph *g, int32_t op) {
  double bytes = berth_i_workspace(g, op);
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++)
    bytes += berth_i_resident(g, g->out[i]);
  return bytes;
}

static double member_bytes(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t thing) {
  return berth_i_sim_collective_bytes(p, s, p->participant_of[thing - p->n_ops]);
}

static double run_bytes(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t thing) {
  return thing < p->n_ops ? op_bytes(p->cost->g, thing) : member_bytes(p, s, thing);
}

static double copy_bytes(const berth_i_sim_plan *p, int32_t copy) {
  return berth_i_resident(p->cost->g, p->edge_tensor[copy]);
}

/* ---- levels over time, if traced ---- */

static bool grow_levels(berth_i_pool *pool, berth_i_levels *x) {
  return x->n < INT32_MAX
         && BERTH_I_POOL_GROW(pool, x->time, x->time_cap, x->n + 1)
                == BERTH_OK
         && BERTH_I_POOL_GROW(pool, x->bytes, x->bytes_cap, x->n + 1)
                == BERTH_OK;
}

static void add_level(const berth_i_sim_plan *p, berth_i_memory *m, int32_t device, double now,
                      double bytes) {
  berth_i_levels *x = &m->levels[device];
  if (x->n >= x->bytes_cap && !grow_levels(m->kept, x)) { /* which grows last */
    m->lost = true;
    return;
  }
  x->time[x->n] = now * p->unit;
  x->bytes[x->n++] = bytes;
}

/* Rounding may leave less than nothing. */
static double held_on(const berth_i_memory *m, int32_t device) {
  return m->used[device] > 0 ? m->used[device] : 0;
}

static void keep_first(const berth_i_sim_plan *p, berth_i_memory *m) {
  for (int32_t d = 0; d < p->n_devices && !m->lost; d++) add_level(p, m, d, 0, held_on(m, d));
}

static void keep_level(const berth_i_sim_plan *p, berth_i_memory *m, int32_t device, double now) {
  const berth_i_levels *x = &m->levels[device];
  if (!m->lost && held_on(m, device) != x->bytes[x->n - 1])
    add_level(p, m, device, now, held_on(m, device));
}

/* The level at the instant is kept before the one after it, even if it is the level before the
 * instant, too. */
static void keep_rest(const berth_i_sim_plan *p, berth_i_memory *m, int32_t device, double now) {
  const berth_i_levels *x = &m->levels[device];
  if (m->lost || held_on(m, device) == x->bytes[x->n - 1]) return;
  if (x->time[x->n - 1] < now * p->unit) add_level(p, m, device, now, x->bytes[x->n - 1]);
  if (!m->lost) add_level(p, m, device, now, held_on(m, device));
}

static int32_t device_of_run(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t thing) {
  return thing < p->n_ops ? s->ops[thing].device : s->coll.device[thing - p->n_ops];
}

static int32_t device_of_start(const berth_i_sim_plan *p, const berth_i_sim_state *s,
                               int32_t thing) {
  return thing < 0 ? berth_i_copy_dst(p, s, ~thing) : device_of_run(p, s, thing);
}

static int32_t forward_of(const berth_i_sim_plan *p, int32_t thing) {
  return p->forward_of && thing < p->n_ops ? p->forward_of[thing] : BERTH_NONE;
}

/* When all that starts in an instant is charged. */
static void keep_levels(const berth_i_sim_plan *p, const berth_i_sim_state *s, double now) {
  berth_i_memory *m = s->memory;
  for (int32_t i = 0; i < m->n_starting; i++)
    keep_level(p, m, device_of_start(p, s, m->starting[i]), now);
  for (int32_t i = 0; i < m->n_ending; i++) {
    int32_t thing = m->ending[i], forward = thing >= 0 ? forward_of(p, thing) : BERTH_NONE;
    keep_level(p, m, thing < 0 ? berth_i_copy_src(p, s, ~thing) : device_of_run(p, s, thing), now);
    if (forward != BERTH_NONE) keep_level(p, m, s->ops[forward].device, now);
  }
}

/* When what started and ended in it is taken off: only where something started. */
static void keep_rests(const berth_i_sim_plan *p, const berth_i_sim_state *s, double now) {
  berth_i_memory *m = s->memory;
  for (int32_t i = 0; i < m->n_starting; i++)
    keep_rest(p, m, device_of_start(p, s, m->starting[i]), now);
}

/* ---- out of memory: first instant, lowest device, op that added most ---- */

static bool has_run_out(const berth_i_memory *m) { return m->oom.op != BERTH_NONE; }

static void run_out(const berth_i_sim_plan *p, berth_i_memory *m, double now) {
  int32_t d = 0;
  while (!overflows(p, m, d)) d++;
  m->oom.device = d;
  m->oom.time = now;
  m->oom.shortfall = m->used[d] - limit_of(p, d);
}

/* Ties: the lowest id. */
static void suspect(berth_i_memory *m, int32_t op, double bytes, double *most) {
  if (bytes < *most || (bytes == *most && m->oom.op < op)) return;
  m->oom.op = op;
  *most = bytes;
}

static int32_t op_of(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t thing) {
  if (thing < 0) return p->edge_to[~thing];
  return thing < p->n_ops ? thing : berth_i_member_slot_op(p, s, thing - p->n_ops);
}

static void run_out_while_starting(const berth_i_sim_plan *p, berth_i_sim_state *s, double now) {
  berth_i_memory *m = s->memory;
  double most = -1;
  run_out(p, m, now);
  for (int32_t i = 0; i < m->n_starting; i++) {
    int32_t thing = m->starting[i], op = op_of(p, s, thing);
    if (s->ops[op].device == m->oom.device)
      suspect(m, op, thing < 0 ? copy_bytes(p, ~thing) : run_bytes(p, s, thing), &most);
  }
}

/* ---- ends ---- */

static void drop_home(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t tensor) {
  const berth_graph *g = p->cost->g;
  berth_i_memory *m = s->memory;
  discharge(m, s->ops[g->producer[tensor]].device, berth_i_resident(g, tensor));
  if (m->home_died) m->home_died[tensor] = m->clock;
}

static void drop_copy(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  berth_i_memory *m = s->memory;
  discharge(m, berth_i_copy_dst(p, s, copy), copy_bytes(p, copy));
  if (m->copy_died) m->copy_died[copy] = m->clock;
}

static void drop_workspace(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  berth_i_memory *m = s->memory;
  discharge(m, device_of_run(p, s, op),
            op < p->n_ops ? berth_i_workspace(p->cost->g, op) : member_bytes(p, s, op));
  if (m->op_died) m->op_died[op] = m->clock;
}

/* What is not charged yet starts in this very instant: it is dropped after that. */
static void leave_home(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t tensor) {
  const berth_i_memory *m = s->memory;
  if (--m->home_left[tensor] == 0 && m->op_state[p->cost->g->producer[tensor]] & STARTED)
    drop_home(p, s, tensor);
}

static void leave_copy(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  const berth_i_memory *m = s->memory;
  if (--m->copy_left[copy] == 0 && m->copy_here[copy]) drop_copy(p, s, copy);
}

static void leave_outputs(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  const berth_graph *g = p->cost->g;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) leave_home(p, s, g->out[i]);
}

/* What `op` reads, where it reads it. */
static void leave_inputs(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  const berth_graph *g = p->cost->g;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t copy = s->lead[p->in_edge[i]];
    if (copy == BERTH_NONE) {
      leave_home(p, s, g->in[i]);
    } else {
      leave_copy(p, s, copy);
    }
  }
}

static void end_op(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  berth_i_memory *m = s->memory;
  int32_t forward = forward_of(p, op);
  m->op_state[op] |= ENDED;
  if (m->op_state[op] & STARTED) drop_workspace(p, s, op);
  if (!m->home_left || op >= p->n_ops) return;
  leave_outputs(p, s, op);
  leave_inputs(p, s, op);
  if (forward == BERTH_NONE) return;
  leave_outputs(p, s, forward);
  leave_inputs(p, s, forward);
}

/* ---- starts ---- */

static void start_op(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double now) {
  berth_i_memory *m = s->memory;
  charge(p, m, device_of_run(p, s, op), run_bytes(p, s, op), now);
  m->op_state[op] |= STARTED;
  if (m->op_born) m->op_born[op] = m->clock;
}

static void start_copy(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy, double now) {
  berth_i_memory *m = s->memory;
  charge(p, m, berth_i_copy_dst(p, s, copy), copy_bytes(p, copy), now);
  if (m->copy_here) m->copy_here[copy] = 1;
  if (m->copy_born) m->copy_born[copy] = m->clock;
}

/* What started in this instant may have ended in it. */
static void drop_op(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  const berth_graph *g = p->cost->g;
  const berth_i_memory *m = s->memory;
  if (!(m->op_state[op] & ENDED)) return;
  drop_workspace(p, s, op);
  if (op >= p->n_ops) return;
  for (int32_t i = g->out_at[op]; m->home_left && i < g->out_at[op + 1]; i++) {
    if (m->home_left[g->out[i]] == 0) drop_home(p, s, g->out[i]);
  }
}

/* ---- instants ---- */

static inline bool earlier(berth_i_memory_event a, berth_i_memory_event b) {
  return a.time < b.time;
}
BERTH_I_HEAP(event, berth_i_memory_event, earlier)

static void push(berth_i_memory *m, double time, bool starts, int32_t thing) {
  event_up(m->event, m->n_events++,
           (berth_i_memory_event){ .time = time, .thing = thing, .starts = starts });
}

static void list(berth_i_memory *m, bool starts, int32_t thing) {
  if (starts) {
    m->starting[m->n_starting++] = thing;
  } else {
    m->ending[m->n_ending++] = thing;
  }
}

/* The changes of one instant. Each of the three steps has its own tick of the clock: a peak is at
 * the tick of the starts. */
static void apply_events(const berth_i_sim_plan *p, berth_i_sim_state *s, double now) {
  berth_i_memory *m = s->memory;
  while (m->n_events > 0 && m->event[0].time == now) {
    berth_i_memory_event e = event_pop(m->event, m->n_events--);
    list(m, e.starts, e.thing);
  }

  /* 1. what ends is taken off, as far as it was charged before this instant */
  m->clock++;
  for (int32_t i = 0; i < m->n_ending; i++) {
    int32_t thing = m->ending[i];
    if (thing < 0) leave_home(p, s, p->edge_tensor[~thing]);
    else end_op(p, s, thing);
  }

  /* 2. what starts is charged, and the level checked */
  m->clock++;
  for (int32_t i = 0; i < m->n_starting; i++) {
    int32_t thing = m->starting[i];
    if (thing < 0) start_copy(p, s, ~thing, now);
    else start_op(p, s, thing, now);
  }
  if (m->over && !has_run_out(m)) run_out_while_starting(p, s, now);
  if (m->levels) keep_levels(p, s, now);

  /* 3. what started and ended in this instant is taken off */
  m->clock++;
  for (int32_t i = 0; i < m->n_starting; i++) {
    int32_t thing = m->starting[i];
    if (thing >= 0) drop_op(p, s, thing);
    else if (m->copy_left && m->copy_left[~thing] == 0) drop_copy(p, s, ~thing);
  }
  if (m->levels) keep_rests(p, s, now);
  m->n_starting = m->n_ending = 0;
}

/* Applies the changes of every instant before now. */
static void advance(const berth_i_sim_plan *p, berth_i_sim_state *s, double now) {
  berth_i_memory *m = s->memory;
  if (!(m->present < now)) return;
  if (m->n_starting + m->n_ending > 0) apply_events(p, s, m->present);
  while (m->n_events > 0 && m->event[0].time < now) apply_events(p, s, m->event[0].time);
  m->present = now;
}

static void note(berth_i_memory *m, double time, bool starts, int32_t thing) {
  if (time == m->present) {
    list(m, starts, thing);
  } else {
    push(m, time, starts, thing);
  }
}

void berth_i_memory_start(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  advance(p, s, s->now);
  list(s->memory, true, op);
}

void berth_i_memory_finish(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  advance(p, s, s->now);
  list(s->memory, false, op);
}

void berth_i_memory_send(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy,
                         double start, double sent) {
  if (p->o.order != BERTH_ORDER_READY) advance(p, s, s->now);
  note(s->memory, start, true, ~copy);
  if (s->memory->home_left) note(s->memory, sent, false, ~copy);
}

void berth_i_memory_collective(const berth_i_sim_plan *p, berth_i_sim_state *s,
                               int32_t k, double start) {
  advance(p, s, s->now);
  for (int32_t i = 0; i < s->coll.one[k].n_devices; i++)
    note(s->memory, start, true, p->n_ops + p->participant_at[k] + i);
}

void berth_i_memory_collective_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t k) {
  advance(p, s, s->now);
  for (int32_t i = 0; i < s->coll.one[k].n_devices; i++)
    list(s->memory, false, p->n_ops + p->participant_at[k] + i);
}

void berth_i_memory_depart(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  advance(p, s, s->now);
  list(s->memory, true, ~copy);
}

void berth_i_memory_arrive(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  advance(p, s, s->now);
  if (s->memory->home_left) list(s->memory, false, ~copy);
}

void berth_i_memory_later(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double start,
                          double finish) {
  (void)p;
  push(s->memory, start, true, op);
  push(s->memory, finish, false, op);
}

void berth_i_memory_ahead(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double start,
                          double finish) {
  advance(p, s, s->now);
  note(s->memory, start, true, op);
  note(s->memory, finish, false, op);
}

void berth_i_memory_drain(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  advance(p, s, INFINITY);
}

/* ---- reset: what each tensor waits for ---- */

/* At home: the end of its producer, of readers there and of sends; elsewhere: of readers there. */
static void count_readers(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_memory *m = s->memory;
  for (int32_t t = 0; t < p->cost->g->n_tensors; t++) m->home_left[t] = 1;
  memset(m->copy_left, 0, (size_t)p->n_edges * sizeof *m->copy_left);
  for (int32_t e = 0; e < p->n_edges; e++) {
    int32_t lead = s->lead[e];
    if (lead == BERTH_NONE || lead == e) m->home_left[p->edge_tensor[e]]++;
    if (lead != BERTH_NONE) m->copy_left[lead]++;
  }
}

static void count_twins(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_graph *g = p->cost->g;
  berth_i_memory *m = s->memory;
  for (int32_t op = 0; op < p->n_ops; op++) {
    int32_t forward = p->forward_of[op];
    if (forward == BERTH_NONE) continue;
    for (int32_t i = g->out_at[forward]; i < g->out_at[forward + 1]; i++) m->home_left[g->out[i]]++;
    for (int32_t i = g->in_at[forward]; i < g->in_at[forward + 1]; i++) {
      int32_t copy = s->lead[p->in_edge[i]];
      ++*(copy == BERTH_NONE ? &m->home_left[g->in[i]] : &m->copy_left[copy]);
    }
  }
}

/* They are there before anything starts. */
static void charge_parameters(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const double *params = p->cost->g->param_bytes;
  berth_i_memory *m = s->memory;
  double most = -1;
  if (!params) return;
  for (int32_t op = 0; op < p->n_ops; op++)
    charge(p, m, s->ops[op].device, params[op] * p->o.param_multiple, 0);
  if (!m->over) return;
  run_out(p, m, 0);
  for (int32_t op = 0; op < p->n_ops; op++) {
    if (s->ops[op].device == m->oom.device) suspect(m, op, params[op], &most);
  }
}

static void clear_clocks(const berth_i_sim_plan *p, berth_i_memory *m) {
  memset(m->op_died, 0xff, berth_i_memory_runs(p) * sizeof *m->op_died);
  memset(m->op_born, 0xff, berth_i_memory_runs(p) * sizeof *m->op_born);
  memset(m->home_died, 0xff, (size_t)p->cost->g->n_tensors * sizeof *m->home_died);
  memset(m->copy_born, 0xff, (size_t)p->n_edges * sizeof *m->copy_born);
  memset(m->copy_died, 0xff, (size_t)p->n_edges * sizeof *m->copy_died);
}

void berth_i_memory_reset(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_memory *m = s->memory;
  for (int32_t d = 0; d < p->n_devices; d++) {
    m->used[d] = m->peak[d] = m->peak_time[d] = 0;
    m->peak_clock[d] = 0;
  }
  m->n_events = m->n_starting = m->n_ending = 0;
  m->present = p->o.order == BERTH_ORDER_READY ? -1 : 0; /* READY has no present: every change lies
                                                            ahead */
  m->clock = 0;
  m->over = false;
  m->oom.op = m->oom.device = BERTH_NONE;
  memset(m->op_state, 0, berth_i_memory_runs(p));
  if (m->copy_here) memset(m->copy_here, 0, (size_t)p->n_edges);
  if (m->op_born) clear_clocks(p, m);
  charge_parameters(p, s);
  if (m->levels) keep_first(p, m);
  if (m->home_left) count_readers(p, s);
  if (m->home_left && p->forward_of) count_twins(p, s);
}
