/* The state: scratch arrays of one run in one pool, and putting a placement into them: checks of
 * devices, pins and groups, work per op, which edges lead copies. A reset is O(ops + edges +
 * devices). */
#include "sim_internal.h"

/* ---- life ---- */

static berth_status copies_init(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  size_t m = (size_t)p->n_edges;
  s->lead = berth_i_pool_alloc(&s->kept, m, sizeof *s->lead);
  s->lead_of = berth_i_pool_alloc(&s->pool, (size_t)p->n_devices, sizeof *s->lead_of);
  s->arrival = berth_i_pool_alloc(&s->pool, m, sizeof *s->arrival);
  s->copy = berth_i_pool_alloc(&s->pool, m, sizeof *s->copy);
  if (p->n_collectives > 0) berth_i_sim_collectives_init(p, &s->pool, &s->kept, &s->coll);
  if (p->n_async > 0) berth_i_async_ops_init(p, &s->pool, &s->async);
  berth_i_links_init(p, &s->pool, &s->links);
  if (p->o.order == BERTH_ORDER_TASK) berth_i_tasks_init(p, &s->pool, &s->tasks);
  if (p->o.memory != BERTH_MEMORY_NONE) s->memory = berth_i_memory_new(p, &s->pool);
  berth_status st;
  if ((st = berth_i_pool_status(&s->kept)) != BERTH_OK || p->o.order != BERTH_ORDER_READY)
    return st;
  return berth_i_heap_init(p->ctx, &s->queue, p->n_ops, (size_t)p->n_ops);
}

static int32_t n_sources(const berth_i_sim_plan *p) {
  int32_t more = (p->n_collectives > 0) + (p->n_async > 0);
  if (!p->contended) return p->n_devices + more;
  return (berth_i_on_links(p->o.links) ? p->n_devices + 3 : 2 * p->n_devices + 1) + more;
}

static berth_status state_init(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  size_t n = (size_t)p->n_ops;
  berth_status st = BERTH_OK;
  s->ops = berth_i_pool_alloc(&s->pool, n, sizeof *s->ops);
  s->dev = berth_i_pool_alloc(&s->pool, (size_t)p->n_devices, sizeof *s->dev);
  s->pending = berth_i_pool_alloc(&s->pool, n, sizeof *s->pending);
  s->over = berth_i_pool_alloc(&s->pool, n, sizeof *s->over);
  if (p->choosy) s->ready = berth_i_pool_alloc(&s->pool, n, sizeof *s->ready);
  if (p->o.sequence) s->order = berth_i_pool_alloc(&s->pool, n, sizeof *s->order);
  if (p->cost->g->group) {
    s->group_device =
        berth_i_pool_alloc(&s->pool, (size_t)p->cost->g->n_groups, sizeof *s->group_device);
  }
  berth_i_slots_init(&s->pool, &s->slots, n_sources(p));
  if (!p->plain) st = copies_init(p, s);
  return st == BERTH_OK ? berth_i_pool_status(&s->pool) : st;
}

berth_status berth_i_sim_state_new(const berth_i_sim_plan *p, berth_i_sim_state **out) {
  berth_i_sim_state *s = berth_i_pool_object(p->ctx, sizeof *s);
  if (!s) return berth_i_nomem(p->ctx);
  s->kept = berth_i_pool_empty(p->ctx);
  berth_status st;
  if ((st = state_init(p, s)) != BERTH_OK) {
    berth_i_sim_state_release(p, s);
    return st;
  }
  *out = s;
  return BERTH_OK;
}

/* An op is cut at most once by each op that becomes ready. */
static size_t most_stretches(const berth_i_sim_plan *p) {
  return (size_t)p->n_ops * (p->preempt ? 2 : 1);
}

static size_t log_length(const berth_i_sim_plan *p) {
  return most_stretches(p) + (size_t)p->n_edges + (size_t)p->n_collectives;
}

berth_status berth_i_sim_trace_new(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  size_t n = (size_t)p->n_ops;
  berth_i_trace *t = berth_i_pool_zalloc(&s->kept, 1, sizeof *t);
  if (!t) return berth_i_pool_status(&s->kept);
  s->trace = t;
  t->start = berth_i_pool_alloc(&s->kept, n, sizeof *t->start);
  t->finish = berth_i_pool_alloc(&s->kept, n, sizeof *t->finish);
  t->cause = berth_i_pool_alloc(&s->kept, n, sizeof *t->cause);
  t->log = berth_i_pool_alloc(&s->kept, log_length(p), sizeof *t->log);
  t->sent = berth_i_pool_alloc(&s->kept, (size_t)p->n_edges, sizeof *t->sent);
  if (p->preempt)
    t->stretch = berth_i_pool_alloc(&s->kept, 2 * most_stretches(p), sizeof *t->stretch);
  if (p->o.split_windows)
    t->window = berth_i_pool_alloc(&s->kept, (size_t)p->n_edges, sizeof *t->window);
  berth_status st;
  if ((st = berth_i_pool_status(&s->kept)) != BERTH_OK || !s->memory) return st;
  return berth_i_memory_trace(p, s);
}

void berth_i_sim_state_release(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  if (!s) return;
  if (s->queue.slot) berth_i_heap_release(p->ctx, &s->queue);
  berth_i_pool_free(&s->kept);
  berth_i_pool_free(&s->pool);
}

/* ---- noise ---- */

static void add_noise(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  for (int32_t i = 0; i < p->n_ops; i++) {
    double t =
        berth_i_op_time(p->cost, i, s->ops[i].device) * berth_i_sim_noise(p, s, 2 * (uint64_t)i);
    s->ops[i].work = berth_i_op_units(p, t);
  }
}

/* ---- the placement ---- */

static bool check_pins(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device) {
  const int32_t *pin = p->cost->g->pin;
  for (int32_t i = 0; pin && i < p->n_ops; i++) {
    if (pin[i] != BERTH_NONE && pin[i] != device[i])
      return berth_i_sim_refuse(s, BERTH_I_FAULT_PIN, i, device[i], pin[i]);
  }
  return true;
}

static bool check_groups(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device) {
  const berth_graph *g = p->cost->g;
  if (!g->group) return true;
  for (int32_t i = 0; i < g->n_groups; i++) s->group_device[i] = BERTH_NONE;
  for (int32_t i = 0; i < p->n_ops; i++) {
    int32_t group = g->group[i];
    if (group == BERTH_NONE) continue;
    int32_t *home = &s->group_device[group];
    if (*home == BERTH_NONE) *home = device[i];
    if (*home != device[i]) return berth_i_sim_refuse(s, BERTH_I_FAULT_GROUP, i, device[i], *home);
  }
  return true;
}

static bool cannot_end(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op,
                       int32_t device) {
  bool runs = !isinf(berth_i_op_time(p->cost, op, device));
  return berth_i_sim_refuse(s, runs ? BERTH_I_FAULT_LATE_OP : BERTH_I_FAULT_CANNOT_RUN, op, device,
                            0);
}

static bool place_ops(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device) {
  const int32_t *in_at = p->cost->g->in_at, *class_of = p->cost->class_of;
  const double *work = p->work;
  double horizon = p->horizon;
  int32_t n = p->n_ops, n_devices = p->n_devices, classes = p->cost->n_classes;
  for (int32_t i = 0; i < n; i++, work += classes) {
    berth_i_sim_op *op = &s->ops[i];
    int32_t d = device[i];
    if (d < 0 || d >= n_devices) return berth_i_sim_refuse(s, BERTH_I_FAULT_DEVICE, i, d, 0);
    op->time = 0;
    op->work = work[class_of[d]];
    op->seq = 0;
    op->missing = in_at[i + 1] - in_at[i];
    op->device = d;
    op->last = BERTH_NONE;
    s->dev[d].end++;
    if (!(op->work <= horizon)) return cannot_end(p, s, i, d);
  }
  return true;
}

static void clear_devices(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  for (int32_t d = 0; d < p->n_devices; d++) {
    berth_i_sim_device *v = &s->dev[d];
    memset(v, 0, sizeof *v);
    v->op = v->prev = BERTH_NONE;
    v->due = INFINITY;
  }
}

/* Communication ops take no place in the lists of their devices. */
static void leave_out_async(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  for (int32_t i = 0; i < p->n_async; i++) s->dev[s->ops[p->async_op[i]].device].end--;
}

/* dev[d].end holds the number of ops of the device on entry. */
static void slice_arrays(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  int32_t at = 0;
  for (int32_t d = 0; d < p->n_devices; d++) {
    berth_i_sim_device *v = &s->dev[d];
    v->base = v->head = v->tail = at;
    at = v->end += at;
  }
  for (int32_t i = 0; s->order && i < p->n_ops; i++) {
    int32_t op = p->o.sequence[i];
    if (berth_i_is_async(p, op)) continue;
    s->order[s->dev[s->ops[op].device].tail++] = op;
  }
}

/* One pass per tensor: the first consumer on each remote device leads. */
static void find_copies(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  const int32_t *producer = p->cost->g->producer;
  int32_t d, first = 0;
  for (d = 0; d < p->n_devices; d++) s->lead_of[d] = BERTH_NONE;
  for (int32_t e = 0; e < p->n_edges; e++) {
    int32_t t = p->edge_tensor[e];
    if (e == 0 || t != p->edge_tensor[e - 1]) first = e;
    d = s->ops[p->edge_to[e]].device;
    if (d == s->ops[producer[t]].device) {
      s->lead[e] = BERTH_NONE;
    } else {
      if (s->lead_of[d] < first) s->lead_of[d] = e;
      s->lead[e] = s->lead_of[d];
    }
  }
}

static bool reset_copies(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  if (p->o.noise > 0) add_noise(p, s);
  find_copies(p, s);
  if (p->n_collectives > 0 && !berth_i_sim_collectives_reset(p, s)) return false;
  if (p->n_async > 0) berth_i_async_ops_reset(p, s);
  memset(s->copy, BERTH_I_COPY_NONE, (size_t)p->n_edges);
  berth_i_links_reset(p, s);
  if (s->queue.slot) berth_i_heap_clear(&s->queue);
  if (s->memory) berth_i_memory_reset(p, s);
  if (s->trace) s->trace->n_log = s->trace->n_sent = s->trace->n_coll_logged = 0;
  return true;
}

bool berth_i_sim_reset(const berth_i_sim_plan *p, berth_i_sim_state *s, const int32_t *device,
                       uint64_t seed) {
  s->seed = seed;
  s->seq = s->place = 0;
  s->done = 0;
  s->now = 0;
  s->fault.kind = BERTH_I_FAULT_NONE;
  clear_devices(p, s);
  if (!place_ops(p, s, device) || !check_pins(p, s, device) || !check_groups(p, s, device))
    return false;
  leave_out_async(p, s);
  slice_arrays(p, s);
  berth_i_slots_clear(&s->slots);
  if (p->o.dispatch == BERTH_DISPATCH_RANDOM) berth_rng_init(&s->rng, seed, UINT64_MAX);
  return p->plain || reset_copies(p, s);
}
