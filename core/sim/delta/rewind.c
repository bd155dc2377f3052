/* Free links, push, FIFO: what a placement does up to some event is known from the log of the base,
 * so the state before any event is made anew from the log, and only for the ops that start from
 * there on. No copies of states are kept.
 *
 * With free links a moved op matters to others from its place in the queues on: on the device that
 * it leaves, from its start there; on the device that it comes to, from the first end of an op
 * there at which it is the next op. What it reads from producers that ended before arrives when it
 * always would have from there, and draws the same insertion numbers. */
#include "rewind_internal.h"

/* So that marks take no more room than the log. */
static int32_t step_of(const berth_i_sim_plan *p) { return p->n_devices > 64 ? p->n_devices : 64; }
static size_t n_marks(const berth_i_sim_plan *p) {
  return 2 * (size_t)p->n_ops / (size_t)step_of(p) + 1;
}

bool berth_i_rewind_goes(const berth_i_sim_plan *p) {
  return p->plain && p->o.dispatch == BERTH_DISPATCH_FIFO && p->tail && p->in_edge && p->n_ops > 0
         && p->cost->g->n_collectives == 0;
}

/* ---- life ---- */

berth_status berth_i_rewind_new(const berth_i_sim_plan *p, berth_i_rewind **out) {
  size_t n = (size_t)p->n_ops, d = (size_t)p->n_devices, marks = n_marks(p);
  berth_i_rewind *r = berth_i_pool_object(p->ctx, sizeof *r);
  if (!r) return berth_i_nomem(p->ctx);
  *out = r;
  r->step = step_of(p);
  r->notes.at = berth_i_pool_alloc(&r->pool, 2 * n, sizeof *r->notes.at);
  r->notes.seq = berth_i_pool_alloc(&r->pool, 2 * n, sizeof *r->notes.seq);
  r->notes.left = berth_i_pool_alloc(&r->pool, d, sizeof *r->notes.left);
  r->at = berth_i_pool_alloc(&r->pool, 2 * n, sizeof *r->at);
  r->seq = berth_i_pool_alloc(&r->pool, 2 * n, sizeof *r->seq);
  r->op = berth_i_pool_alloc(&r->pool, n, sizeof *r->op);
  r->on = berth_i_pool_alloc(&r->pool, marks * d, sizeof *r->on);
  r->begun = berth_i_pool_alloc(&r->pool, marks * d, sizeof *r->begun);
  r->ended = berth_i_pool_alloc(&r->pool, marks, sizeof *r->ended);
  r->load = berth_i_pool_alloc(&r->pool, d, sizeof *r->load);
  r->load_moved = berth_i_pool_alloc(&r->pool, d, sizeof *r->load_moved);
  r->count = berth_i_pool_alloc(&r->pool, d, sizeof *r->count);
  r->count_moved = berth_i_pool_alloc(&r->pool, d, sizeof *r->count_moved);
  r->run = berth_i_pool_alloc(&r->pool, d, sizeof *r->run);
  r->tail = berth_i_pool_alloc(&r->pool, n, sizeof *r->tail);
  r->rank = berth_i_pool_alloc(&r->pool, n, sizeof *r->rank);
  r->set = berth_i_pool_alloc(&r->pool, n, sizeof *r->set);
  r->tail_before = berth_i_pool_alloc(&r->pool, n, sizeof *r->tail_before);
  r->in_set = berth_i_pool_zalloc(&r->pool, n, sizeof *r->in_set);
  berth_status st;
  if ((st = berth_i_pool_status(&r->pool)) != BERTH_OK) return st;
  berth_i_rewind_ranks(p, r);
  return BERTH_OK;
}

/* ---- small things ---- */

static double work_of(const berth_i_sim_plan *p, int32_t op, int32_t device) {
  return p->work[(size_t)op * (size_t)p->cost->n_classes + (size_t)p->cost->class_of[device]];
}

static double arrival_of(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t edge,
                         double end, int32_t from, int32_t to) {
  if (from == to) return end;
  return end
         + (p->edge_time ? p->edge_time[edge]
                         : berth_i_transfer_units(p, s, p->edge_tensor[edge], from, to));
}

static int32_t log_length(const berth_i_sim_plan *p) { return 2 * p->n_ops; }

/* ---- marks ---- */

/* From the mark before `place` on. Sums are never taken from: they do not drift. */
static void set_marks(const berth_i_sim_plan *p, berth_i_rewind *r, const int32_t *device,
                      int32_t place) {
  size_t d = (size_t)p->n_devices, mark = (size_t)(place / r->step);
  int32_t end = log_length(p);
  memcpy(r->load, &r->begun[mark * d], d * sizeof *r->load);
  memcpy(r->run, &r->on[mark * d], d * sizeof *r->run);
  r->n_ended = r->ended[mark];
  for (int32_t i = (int32_t)mark * r->step; i < end; i++) {
    int32_t op = r->at[i];
    if (i % r->step == 0) {
      mark = (size_t)(i / r->step);
      memcpy(&r->begun[mark * d], r->load, d * sizeof *r->load);
      memcpy(&r->on[mark * d], r->run, d * sizeof *r->run);
      r->ended[mark] = r->n_ended;
    }
    if (op < 0) {
      r->n_ended++;
    } else {
      r->load[device[op]] += work_of(p, op, device[op]);
      r->run[device[op]] = op;
    }
  }
}

static void clear_first_mark(const berth_i_sim_plan *p, berth_i_rewind *r) {
  for (int32_t d = 0; d < p->n_devices; d++) {
    r->begun[d] = 0;
    r->on[d] = BERTH_NONE;
  }
  r->ended[0] = 0;
}

static int32_t last_on(const berth_i_sim_plan *p, const berth_i_rewind *r, const int32_t *device,
                       int32_t d, int32_t place) {
  int32_t mark = place / r->step, op = r->on[(size_t)mark * (size_t)p->n_devices + (size_t)d];
  for (int32_t i = mark * r->step; i < place; i++) {
    if (r->at[i] >= 0 && device[r->at[i]] == d) op = r->at[i];
  }
  return op;
}

/* What has happened before `from`: the ops on the devices, the work left after it, ends. */
static void load_history(const berth_i_sim_plan *p, berth_i_rewind *r, const int32_t *device) {
  size_t n = (size_t)p->n_devices, mark = (size_t)(r->from / r->step);
  memcpy(r->run, &r->on[mark * n], n * sizeof *r->run);
  for (size_t d = 0; d < n; d++) r->notes.left[d] = r->load_moved[d] - r->begun[mark * n + d];
  r->n_ended = r->ended[mark];
  for (int32_t i = (int32_t)mark * r->step; i < r->from; i++) {
    int32_t op = r->at[i];
    if (op < 0) {
      r->n_ended++;
    } else {
      r->run[device[op]] = op;
      r->notes.left[device[op]] -= work_of(p, op, device[op]);
    }
  }
}

/* ---- where moves begin to matter ---- */

/* Of the event at `place`, or of one soon after: the last entry is an end. */
static double time_at(const berth_i_rewind *r, int32_t place) {
  while (r->at[place] >= 0) place++;
  return r->op[~r->at[place]].finish;
}

/* First place whose event is not before `time`, or earlier. */
static int32_t place_of(const berth_i_sim_plan *p, const berth_i_rewind *r, double time) {
  int32_t low = 0, high = log_length(p);
  while (low < high) {
    int32_t mid = low + (high - low) / 2;
    if (time_at(r, mid) < time) low = mid + 1;
    else high = mid;
  }
  return low;
}

/* Delivers what producers that ended before `place` have sent. @return inputs that are missing */
static int32_t known_inputs(const berth_i_sim_plan *p, const berth_i_rewind *r,
                            const berth_i_sim_state *s, const int32_t *device, int32_t op,
                            int32_t place, berth_i_ready *e) {
  const berth_graph *g = p->cost->g;
  int32_t missing = 0;
  e->time = 0;
  e->seq = r->op[op].touched < 0 ? (uint32_t)~r->op[op].touched : 0;
  e->op = op;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t edge = p->in_edge[i], from = g->producer[g->in[i]];
    const berth_i_record *x = &r->op[from];
    if (x->end_at >= place) {
      missing++;
      continue;
    }
    berth_i_ready input = {
        arrival_of(p, s, edge, x->finish, device[from], device[op]),
        r->seq[x->end_at] + (uint32_t)(edge - p->edge_at[from]), op};
    if (berth_i_ready_before(*e, input)) *e = input;
  }
  return missing;
}

/* Where the op begins to matter on the device that it comes to; `before` if not before that. */
static int32_t comes_in(const berth_i_sim_plan *p, const berth_i_rewind *r,
                        const berth_i_sim_state *s, const int32_t *device, int32_t op,
                        int32_t before) {
  berth_i_ready mine;
  int32_t place;
  if (known_inputs(p, r, s, device, op, before, &mine) > 0
      || (place = place_of(p, r, mine.time)) >= before)
    return before;
  int32_t on = last_on(p, r, device, device[op], place);
  if (on == BERTH_NONE || r->op[on].end_at < place) return place; /* the device is idle */
  berth_i_ready next;
  for (; (place = r->op[on].end_at) < before; on = next.op) {
    next.op = place + 1 < log_length(p) ? r->at[place + 1] : BERTH_NONE;
    if (next.op < 0 || r->op[next.op].before != on) return place;
    known_inputs(p, r, s, device, next.op, log_length(p), &next);
    if (!berth_i_ready_before(next, mine)) return place;
  }
  return before;
}

/* A start may be part of the end before it. */
static int32_t first_of_event(const berth_i_rewind *r, int32_t place) {
  if (place == 0 || r->at[place] < 0 || r->at[place - 1] >= 0) return place;
  return r->op[r->at[place]].before == ~r->at[place - 1] ? place - 1 : place;
}

static int32_t first_that_matters(const berth_i_sim_plan *p, const berth_i_rewind *r,
                                  const berth_i_sim_state *s, const berth_i_moves *m) {
  int32_t i, place = log_length(p) - 1; /* the last end, if nothing moves */
  for (i = 0; i < m->n; i++) {
    if (r->op[m->op[i]].start_at < place) place = r->op[m->op[i]].start_at;
  }
  for (i = 0; i < m->n; i++) place = comes_in(p, r, s, m->device, m->op[i], place);
  return first_of_event(r, place);
}

/* ---- the state before an event ---- */

static void line_up(berth_i_sim_state *s, berth_i_sim_device *v, berth_i_ready e) {
  int32_t i;
  for (i = v->tail++; i > v->head && berth_i_ready_before(e, s->pending[i - 1]); i--)
    s->pending[i] = s->pending[i - 1];
  s->pending[i] = e;
}

static void put_running(const berth_i_rewind *r, berth_i_sim_state *s, int32_t d, int32_t id) {
  const berth_i_record *x = &r->op[id];
  s->ops[id].device = d;
  s->ops[id].last = x->before;
  s->ops[id].missing = 0;
  s->dev[d].op = id;
  berth_i_slot_set(&s->slots, d, x->finish, r->seq[x->start_at]);
}

static void show_device(const berth_i_rewind *r, berth_i_sim_state *s, int32_t d) {
  const berth_i_sim_device *v = &s->dev[d];
  int32_t id = r->run[d];
  if (id != BERTH_NONE && r->op[id].end_at >= r->from) {
    put_running(r, s, d, id);
  } else if (v->head < v->tail) {
    berth_i_slot_set(&s->slots, d, s->pending[v->head].time, s->pending[v->head].seq);
  }
}

static void rewind_state(const berth_i_sim_plan *p, berth_i_rewind *r, berth_i_sim_state *s,
                         const int32_t *device) {
  int32_t end = log_length(p), base = 0;
  s->seq = r->seq[r->from];
  s->done = r->n_ended;
  s->now = 0;
  s->cut = false;
  s->fault.kind = BERTH_I_FAULT_NONE;

  /* devices: empty, with slices for the ops of the new placement */
  for (int32_t d = 0; d < p->n_devices; d++) {
    berth_i_sim_device *v = &s->dev[d];
    memset(v, 0, sizeof *v);
    v->op = BERTH_NONE;
    v->prev = r->run[d];
    v->due = INFINITY;
    v->base = v->head = v->tail = base;
    base = v->end = base + r->count_moved[d];
  }
  berth_i_slots_clear(&s->slots);

  /* ops that start from here on: as at the start of a run, but for inputs that are there already */
  for (int32_t i = r->from; i < end; i++) {
    int32_t id = r->at[i];
    if (id < 0) continue;
    int32_t d = device[id];
    berth_i_sim_op *op = &s->ops[id];
    op->time = 0;
    op->work = work_of(p, id, d);
    op->seq = 0;
    op->missing = p->cost->g->in_at[id + 1] - p->cost->g->in_at[id];
    op->device = d;
    op->last = BERTH_NONE;
    if (r->op[id].touched >= r->from) continue; /* no input has arrived */
    berth_i_ready e;
    op->missing = known_inputs(p, r, s, device, id, r->from, &e);
    op->time = e.time;
    op->seq = e.seq;
    if (op->missing == 0) line_up(s, &s->dev[d], e);
  }

  /* what each device does now, or next */
  for (int32_t d = 0; d < p->n_devices; d++) show_device(r, s, d);
}

/* ---- runs ---- */

static bool go_on(const berth_i_sim_plan *p, berth_i_rewind *r, berth_i_sim_state *s) {
  s->notes = &r->notes;
  r->notes.n = r->from;
  berth_i_sim_resume(p, s);
  s->notes = NULL;
  return s->cut || s->done == p->n_ops;
}

static void first_state(const berth_i_sim_plan *p, berth_i_rewind *r, berth_i_sim_state *s) {
  for (int32_t d = 0; d < p->n_devices; d++) {
    r->notes.left[d] = 0;
    r->count_moved[d] = s->dev[d].end - s->dev[d].base;
    r->run[d] = BERTH_NONE;
  }
  for (int32_t i = 0; i < p->n_ops; i++) {
    r->notes.left[s->ops[i].device] += s->ops[i].work;
    r->op[i].touched = INT32_MAX;
  }
  berth_i_ready e;
  for (int32_t i = 0; i < p->n_roots; i++) {
    e.time = 0;
    e.seq = s->ops[p->roots[i]].seq = s->seq++;
    e.op = p->roots[i];
    r->op[e.op].touched = ~(int32_t)e.seq;
    line_up(s, &s->dev[s->ops[e.op].device], e);
  }
  r->from = 0;
  for (int32_t d = 0; d < p->n_devices; d++) show_device(r, s, d);
}

bool berth_i_rewind_base(const berth_i_sim_plan *p, berth_i_rewind *r, berth_i_sim_state *s) {
  s->limit = INFINITY;
  s->cut = false;
  r->notes.tail = p->tail;
  berth_i_rewind_tails_back(r);
  first_state(p, r, s);
  if (!go_on(p, r, s)) return false;
  clear_first_mark(p, r);
  r->valid = 0;
  return true;
}

static void count_moves(const berth_i_sim_plan *p, berth_i_rewind *r, const berth_i_moves *m) {
  size_t d = (size_t)p->n_devices;
  memcpy(r->load_moved, r->load, d * sizeof *r->load);
  memcpy(r->count_moved, r->count, d * sizeof *r->count);
  for (int32_t i = 0; i < m->n; i++) {
    int32_t op = m->op[i], to = m->device[op];
    r->load_moved[m->before[i]] -= work_of(p, op, m->before[i]);
    r->load_moved[to] += work_of(p, op, to);
    r->count_moved[m->before[i]]--;
    r->count_moved[to]++;
  }
}

/* What a device has left after what it does now. */
static bool ends_late(const berth_i_sim_plan *p, const berth_i_rewind *r, berth_i_sim_state *s) {
  double now = 0;
  int32_t i = r->from;
  while (i > 0 && r->at[i - 1] >= 0) i--;
  if (i > 0) now = r->op[~r->at[i - 1]].finish;
  for (int32_t d = 0; d < p->n_devices; d++) {
    const berth_i_record *x = r->run[d] == BERTH_NONE ? NULL : &r->op[r->run[d]];
    double free_at = x && x->finish > now ? x->finish : now;
    if (!(r->notes.left[d] > 0) || !(free_at + r->notes.left[d] > s->limit)) continue;
    s->limit = free_at + r->notes.left[d];
    s->cut = true;
    return true;
  }
  return false;
}

bool berth_i_rewind_try(const berth_i_sim_plan *p, berth_i_rewind *r, berth_i_sim_state *s,
                        const berth_i_moves *m, double limit, int64_t *ended) {
  s->limit = limit;
  s->cut = false;
  count_moves(p, r, m);
  r->from = first_that_matters(p, r, s, m);
  load_history(p, r, m->device);
  berth_i_rewind_tails_back(r);
  if (ends_late(p, r, s)) return true;
  r->notes.tail = limit < INFINITY ? berth_i_rewind_tails(p, r, s, m) : r->tail;
  if (r->from < r->valid) r->valid = r->from;
  rewind_state(p, r, s, m->device);
  bool whole = go_on(p, r, s);
  *ended += s->done - r->n_ended;
  return whole;
}

/* ---- a new base ---- */

static void note_first_inputs(const berth_i_sim_plan *p, berth_i_rewind *r, int32_t place) {
  int32_t op = ~r->at[place];
  for (int32_t e = p->edge_at[op]; e < p->edge_at[op + 1]; e++) {
    int32_t *touched = &r->op[p->edge_to[e]].touched;
    if (*touched > place) *touched = place;
  }
}

static void forget_first_inputs(const berth_i_sim_plan *p, berth_i_rewind *r) {
  int32_t end = log_length(p);
  for (int32_t i = r->from; i < end; i++) {
    int32_t op = r->notes.at[i];
    if (op >= 0 && r->op[op].touched >= r->from) r->op[op].touched = INT32_MAX;
  }
}

static void take_log(const berth_i_sim_plan *p, berth_i_rewind *r, const berth_i_sim_state *s) {
  int32_t end = log_length(p);
  for (int32_t i = r->from; i < end; i++) {
    int32_t op = r->notes.at[i];
    r->at[i] = op;
    r->seq[i] = r->notes.seq[i];
    if (op >= 0) {
      r->op[op].start_at = i;
      r->op[op].before = s->ops[op].last;
    } else {
      r->op[~op].end_at = i;
      r->op[~op].finish = s->ops[~op].time;
      note_first_inputs(p, r, i);
    }
  }
}

void berth_i_rewind_restore(berth_i_rewind *r, berth_i_sim_state *s, const int32_t *device) {
  for (int32_t i = r->valid; i < r->from; i++) {
    int32_t id = ~r->at[i];
    if (id < 0) continue;
    s->ops[id].time = r->op[id].finish;
    s->ops[id].last = r->op[id].before;
    s->ops[id].missing = -1;
    s->ops[id].device = device[id];
  }
  if (r->valid < r->from) r->valid = r->from;
}

void berth_i_rewind_accept(const berth_i_sim_plan *p, berth_i_rewind *r, berth_i_sim_state *s,
                           const berth_i_moves *m) {
  berth_i_rewind_restore(r, s, m->device);
  r->valid = log_length(p);
  forget_first_inputs(p, r);
  take_log(p, r, s);
  memcpy(r->count, r->count_moved, (size_t)p->n_devices * sizeof *r->count);
  set_marks(p, r, m->device, r->from);
  if (m->n < 0) berth_i_rewind_all_tails(p, r, s, m->device);
  else berth_i_rewind_new_tails(p, r, s, m);
}
