/* The memory accountant: what each device holds, at simulated times.
 *
 * Of one instant, what goes is taken off before what comes is charged; but an op's start comes before its own finish. */
#include "sim_internal.h"

enum { RANK_FREE, RANK_ARRIVE, RANK_OP }; /* order within an instant */
enum { EVENT_SENT, EVENT_ARRIVE, EVENT_START, EVENT_FINISH };

/* ---- life ---------------------------------------------------------------------------------------- */

static bool frees(const berth_i_sim_plan *p) {
  return p->o.memory == BERTH_MEMORY_INFERENCE || p->o.memory == BERTH_MEMORY_TRAINING;
}

/* Each copy arrives and is sent once; READY order keeps the ops for later, too. */
static size_t event_capacity(const berth_i_sim_plan *p) {
  return 2 * (size_t)p->n_edges + (p->o.order == BERTH_ORDER_READY ? 2 * (size_t)p->n_ops : 0);
}

berth_status berth_i_memory_new(const berth_i_sim_plan *p, berth_i_memory **out) {
  size_t d = (size_t)p->n_devices;
  berth_i_memory *m = berth_i_zalloc(p->ctx, 1, sizeof *m);
  if (!m) return berth_i_nomem(p->ctx);
  *out = m; /* the state releases it, complete or not */
  m->used = berth_i_alloc(p->ctx, d, sizeof *m->used);
  m->peak = berth_i_alloc(p->ctx, d, sizeof *m->peak);
  m->peak_time = berth_i_alloc(p->ctx, d, sizeof *m->peak_time);
  m->peak_clock = berth_i_alloc(p->ctx, d, sizeof *m->peak_clock);
  m->event = berth_i_alloc(p->ctx, event_capacity(p), sizeof *m->event);
  if (!m->used || !m->peak || !m->peak_time || !m->peak_clock || !m->event) return berth_i_nomem(p->ctx);
  if (!frees(p)) return BERTH_OK;
  m->home_left = berth_i_alloc(p->ctx, (size_t)p->cost->g->n_tensors, sizeof *m->home_left);
  m->copy_left = berth_i_alloc(p->ctx, (size_t)p->n_edges, sizeof *m->copy_left);
  return m->home_left && m->copy_left ? BERTH_OK : berth_i_nomem(p->ctx);
}

berth_status berth_i_memory_trace(const berth_i_sim_plan *p, berth_i_memory *m) {
  size_t n = (size_t)p->n_ops, t = (size_t)p->cost->g->n_tensors, e = (size_t)p->n_edges;
  m->op_born = berth_i_alloc(p->ctx, n, sizeof *m->op_born);
  m->op_died = berth_i_alloc(p->ctx, n, sizeof *m->op_died);
  m->home_died = berth_i_alloc(p->ctx, t, sizeof *m->home_died);
  m->copy_born = berth_i_alloc(p->ctx, e, sizeof *m->copy_born);
  m->copy_died = berth_i_alloc(p->ctx, e, sizeof *m->copy_died);
  return m->op_born && m->op_died && m->home_died && m->copy_born && m->copy_died ? BERTH_OK : berth_i_nomem(p->ctx);
}

void berth_i_memory_release(const berth_i_sim_plan *p, berth_i_memory *m) {
  size_t d = (size_t)p->n_devices, n = (size_t)p->n_ops, t = (size_t)p->cost->g->n_tensors, e = (size_t)p->n_edges;
  if (!m) return;
  berth_i_free(p->ctx, m->used, d, sizeof *m->used);
  berth_i_free(p->ctx, m->peak, d, sizeof *m->peak);
  berth_i_free(p->ctx, m->peak_time, d, sizeof *m->peak_time);
  berth_i_free(p->ctx, m->peak_clock, d, sizeof *m->peak_clock);
  berth_i_free(p->ctx, m->event, event_capacity(p), sizeof *m->event);
  berth_i_free(p->ctx, m->home_left, t, sizeof *m->home_left);
  berth_i_free(p->ctx, m->copy_left, e, sizeof *m->copy_left);
  berth_i_free(p->ctx, m->op_born, n, sizeof *m->op_born);
  berth_i_free(p->ctx, m->op_died, n, sizeof *m->op_died);
  berth_i_free(p->ctx, m->home_died, t, sizeof *m->home_died);
  berth_i_free(p->ctx, m->copy_born, e, sizeof *m->copy_born);
  berth_i_free(p->ctx, m->copy_died, e, sizeof *m->copy_died);
  berth_i_free(p->ctx, m, 1, sizeof *m);
}

/* ---- charging ------------------------------------------------------------------------------------- */

static void check_limit(const berth_i_sim_plan *p, berth_i_memory *m, int32_t device, int32_t op, double now) {
  double limit = p->cost->t->devices[device].memory;
  if (m->oom.op != BERTH_NONE || m->used[device] <= limit) return;
  m->oom.op = op;
  m->oom.device = device;
  m->oom.time = now;
  m->oom.shortfall = m->used[device] - limit;
}

static uint32_t charge(const berth_i_sim_plan *p, berth_i_memory *m, int32_t device, double bytes, int32_t op, double now) {
  m->used[device] += bytes;
  m->clock++;
  if (m->used[device] > m->peak[device]) {
    m->peak[device] = m->used[device];
    m->peak_time[device] = now;
    m->peak_clock[device] = m->clock;
    check_limit(p, m, device, op, now);
  }
  return m->clock;
}

static uint32_t discharge(berth_i_memory *m, int32_t device, double bytes) {
  m->used[device] -= bytes;
  return ++m->clock;
}

static void charge_op(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double now) {
  const berth_graph *g = p->cost->g;
  berth_i_memory *m = s->memory;
  double bytes = berth_i_workspace(g, op);
  uint32_t clock;
  int32_t i;
  for (i = g->out_at[op]; i < g->out_at[op + 1]; i++) bytes += berth_i_resident(g, g->out[i]);
  clock = charge(p, m, s->ops[op].device, bytes, op, now);
  if (m->op_born) m->op_born[op] = clock;
}

static void charge_copy(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy, double now) {
  berth_i_memory *m = s->memory;
  double bytes = berth_i_resident(p->cost->g, p->edge_tensor[copy]);
  uint32_t clock = charge(p, m, berth_i_copy_dst(p, s, copy), bytes, p->edge_to[copy], now);
  if (m->copy_born) m->copy_born[copy] = clock;
}

static void leave_home(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t tensor) {
  const berth_graph *g = p->cost->g;
  berth_i_memory *m = s->memory;
  uint32_t clock;
  if (!m->home_left || --m->home_left[tensor] > 0) return;
  clock = discharge(m, s->ops[g->producer[tensor]].device, berth_i_resident(g, tensor));
  if (m->home_died) m->home_died[tensor] = clock;
}

static void leave_copy(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy) {
  berth_i_memory *m = s->memory;
  uint32_t clock;
  if (!m->copy_left || --m->copy_left[copy] > 0) return;
  clock = discharge(m, berth_i_copy_dst(p, s, copy), berth_i_resident(p->cost->g, p->edge_tensor[copy]));
  if (m->copy_died) m->copy_died[copy] = clock;
}

/* What `op` reads, where it reads it. */
static void leave_inputs(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  const berth_graph *g = p->cost->g;
  int32_t i;
  for (i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t copy = s->lead[p->in_edge[i]];
    if (copy == BERTH_NONE) {
      leave_home(p, s, g->in[i]);
    } else {
      leave_copy(p, s, copy);
    }
  }
}

static void release_op(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  const berth_graph *g = p->cost->g;
  int32_t forward = p->forward_of ? p->forward_of[op] : BERTH_NONE, i;
  uint32_t clock = discharge(s->memory, s->ops[op].device, berth_i_workspace(g, op));
  if (s->memory->op_died) s->memory->op_died[op] = clock;
  leave_inputs(p, s, op);
  if (forward == BERTH_NONE) return;
  leave_inputs(p, s, forward);
  for (i = g->out_at[forward]; i < g->out_at[forward + 1]; i++) leave_home(p, s, g->out[i]);
}

/* ---- counts: who must end before a tensor goes --------------------------------------------------------- */

static void count_home(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_graph *g = p->cost->g;
  berth_i_memory *m = s->memory;
  int32_t e;
  memset(m->home_left, 0, (size_t)g->n_tensors * sizeof *m->home_left);
  memset(m->copy_left, 0, (size_t)p->n_edges * sizeof *m->copy_left);
  for (e = 0; e < p->n_edges; e++) {
    int32_t lead = s->lead[e];
    if (lead == BERTH_NONE || lead == e) m->home_left[p->edge_tensor[e]]++; /* a local reader, or a send */
    if (lead != BERTH_NONE) m->copy_left[lead]++;
  }
}

static void count_twins(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_graph *g = p->cost->g;
  berth_i_memory *m = s->memory;
  int32_t op, i;
  for (op = 0; op < p->n_ops; op++) {
    int32_t forward = p->forward_of[op];
    if (forward == BERTH_NONE) continue;
    for (i = g->out_at[forward]; i < g->out_at[forward + 1]; i++) m->home_left[g->out[i]]++;
    for (i = g->in_at[forward]; i < g->in_at[forward + 1]; i++) {
      int32_t copy = s->lead[p->in_edge[i]];
      ++*(copy == BERTH_NONE ? &m->home_left[g->in[i]] : &m->copy_left[copy]);
    }
  }
}

static void charge_parameters(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const berth_graph *g = p->cost->g;
  berth_i_memory *m = s->memory;
  int32_t op, d;
  for (op = 0; g->param_bytes && op < p->n_ops; op++) {
    charge(p, m, s->ops[op].device, g->param_bytes[op] * p->o.param_multiple, op, 0);
  }
  if (m->oom.op != BERTH_NONE) { /* all of them are there at once */
    m->oom.shortfall = m->used[m->oom.device] - p->cost->t->devices[m->oom.device].memory;
  }
  for (d = 0; d < p->n_devices; d++) m->peak_clock[d] = 0;
  m->clock = 0;
}

static void clear_clocks(const berth_i_sim_plan *p, berth_i_memory *m) {
  memset(m->op_died, 0xff, (size_t)p->n_ops * sizeof *m->op_died);
  memset(m->op_born, 0xff, (size_t)p->n_ops * sizeof *m->op_born);
  memset(m->home_died, 0xff, (size_t)p->cost->g->n_tensors * sizeof *m->home_died);
  memset(m->copy_born, 0xff, (size_t)p->n_edges * sizeof *m->copy_born);
  memset(m->copy_died, 0xff, (size_t)p->n_edges * sizeof *m->copy_died);
}

void berth_i_memory_reset(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  berth_i_memory *m = s->memory;
  int32_t d;
  for (d = 0; d < p->n_devices; d++) m->used[d] = m->peak[d] = m->peak_time[d] = 0;
  m->n_events = 0;
  m->n_pushed = 0;
  m->clock = 0;
  m->oom.op = m->oom.device = BERTH_NONE;
  if (m->op_born) clear_clocks(p, m);
  charge_parameters(p, s);
  if (m->home_left) count_home(p, s);
  if (m->home_left && p->forward_of) count_twins(p, s);
}

/* ---- changes to come -------------------------------------------------------------------------------------- */

static bool sooner(const berth_i_memory_event *a, const berth_i_memory_event *b) {
  if (a->time != b->time) return a->time < b->time;
  if (a->rank != b->rank) return a->rank < b->rank;
  return a->order < b->order;
}

static void push(berth_i_memory *m, double time, int rank, int what, int32_t id) {
  berth_i_memory_event e;
  int32_t i = m->n_events++;
  e.time = time;
  e.order = m->n_pushed++;
  e.id = id;
  e.rank = (uint8_t)rank;
  e.what = (uint8_t)what;
  while (i > 0 && sooner(&e, &m->event[(i - 1) / 2])) {
    m->event[i] = m->event[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  m->event[i] = e;
}

static berth_i_memory_event pop(berth_i_memory *m) {
  berth_i_memory_event top = m->event[0], e = m->event[--m->n_events];
  int32_t i = 0, child;
  for (; (child = 2 * i + 1) < m->n_events; i = child) {
    if (child + 1 < m->n_events && sooner(&m->event[child + 1], &m->event[child])) child++;
    if (!sooner(&m->event[child], &e)) break;
    m->event[i] = m->event[child];
  }
  m->event[i] = e;
  return top;
}

static void apply(const berth_i_sim_plan *p, berth_i_sim_state *s, const berth_i_memory_event *e) {
  switch (e->what) {
  case EVENT_SENT: leave_home(p, s, p->edge_tensor[e->id]); break;
  case EVENT_ARRIVE: charge_copy(p, s, e->id, e->time); break;
  case EVENT_START: charge_op(p, s, e->id, e->time); break;
  default: release_op(p, s, e->id); break;
  }
}

/* Up to this moment of this instant. */
static void advance(const berth_i_sim_plan *p, berth_i_sim_state *s, double now, int rank) {
  berth_i_memory *m = s->memory;
  while (m->n_events > 0 && (m->event[0].time < now || (m->event[0].time == now && m->event[0].rank <= rank))) {
    berth_i_memory_event e = pop(m);
    apply(p, s, &e);
  }
}

void berth_i_memory_start(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double now) {
  advance(p, s, now, RANK_ARRIVE);
  charge_op(p, s, op, now);
}

void berth_i_memory_finish(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double since, double now) {
  advance(p, s, now, since == now ? RANK_ARRIVE : RANK_FREE);
  release_op(p, s, op);
}

void berth_i_memory_send(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t copy, double start, double sent) {
  (void)p;
  push(s->memory, start, RANK_ARRIVE, EVENT_ARRIVE, copy);
  if (s->memory->home_left) push(s->memory, sent, RANK_FREE, EVENT_SENT, copy);
}

void berth_i_memory_later(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op, double start, double finish) {
  (void)p;
  push(s->memory, start, RANK_OP, EVENT_START, op);
  push(s->memory, finish, finish > start ? RANK_FREE : RANK_OP, EVENT_FINISH, op);
}

void berth_i_memory_drain(const berth_i_sim_plan *p, berth_i_sim_state *s) { advance(p, s, INFINITY, RANK_OP); }
