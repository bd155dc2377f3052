/* A state as it would be under another placement, at a moment at which the ops that moved have not
 * mattered yet: none of their producers has ended, so no copy of what they read has been sent,
 * nothing waits for them and nothing that waits for what they read or write has ended. What depends
 * on the placement beforehand is done anew for them: which edges lead copies, what tensors wait for
 * in memory, the prices of their collectives, parameters, and the slices of shared arrays. */
#include "copy_internal.h"

static void copy(void *to, const void *from, size_t n, size_t size) {
  if (n > 0) memcpy(to, from, n * size);
}

#define COPY(field, n) copy(dst->field, src->field, (size_t)(n), sizeof *dst->field)

/* ---- parameters: levels shift, exactly if all bytes are whole ---- */

/* Bytes. */
static double params_of(const berth_i_sim_plan *p, int32_t op) {
  const double *params = p->cost->g->param_bytes;
  return params ? params[op] * p->o.param_multiple : 0;
}

static bool add_whole(double *sum, double bytes) {
  *sum += bytes;
  return bytes == floor(bytes) && *sum < BERTH_I_MOST_QUANTA;
}

static bool counts_whole(const berth_i_sim_plan *p) {
  const berth_graph *g = p->cost->g;
  double sum = 0;
  bool whole = true;
  for (int32_t i = 0; i < p->n_ops && whole; i++) {
    whole = add_whole(&sum, berth_i_workspace(g, i)) && add_whole(&sum, params_of(p, i));
  }
  for (int32_t i = 0; i < g->n_tensors && whole; i++)
    whole = add_whole(&sum, berth_i_resident(g, i));
  for (int32_t i = 0; i < p->n_edges && whole; i++)
    whole = add_whole(&sum, berth_i_resident(g, p->edge_tensor[i]));
  for (int32_t i = 0; i < p->n_collectives && whole; i++) {
    double bytes = g->collectives[i].bytes;
    whole = bytes == floor(bytes) && add_whole(&sum, bytes * p->n_devices * p->n_devices);
  }
  return whole;
}

/* ---- scratch ---- */

berth_status berth_i_adapt_init(const berth_i_sim_plan *p, berth_i_pool *pool, berth_i_adapt *x) {
  size_t n = (size_t)p->n_ops;
  x->op = berth_i_pool_alloc(pool, n, sizeof *x->op);
  x->source = berth_i_pool_alloc(pool, n, sizeof *x->source);
  x->is_source = berth_i_pool_zalloc(pool, n, 1);
  x->is_forward = berth_i_pool_zalloc(pool, n, 1);
  x->lead_of = berth_i_pool_alloc(pool, (size_t)p->n_devices, sizeof *x->lead_of);
  x->shift = berth_i_pool_zalloc(pool, (size_t)p->n_devices, sizeof *x->shift);
  x->next = berth_i_pool_alloc(pool, (size_t)p->n_devices, sizeof *x->next);
  berth_status st;
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) return st;
  for (size_t i = 0; p->forward_of && i < n; i++) {
    if (p->forward_of[i] != BERTH_NONE) x->is_forward[p->forward_of[i]] = 1;
  }
  x->whole = counts_whole(p);
  return BERTH_OK;
}

static bool shifts(const berth_i_sim_plan *p, berth_i_adapt *x, const berth_i_sim_state *s,
                   const int32_t *device) {
  bool any = false;
  for (int32_t i = 0; i < p->n_ops; i++) {
    double bytes;
    if (s->ops[i].device == device[i] || !((bytes = params_of(p, i)) > 0)) continue;
    x->shift[s->ops[i].device] -= bytes;
    x->shift[device[i]] += bytes;
    any = true;
  }
  return any;
}

/* Not if memory has run out, or would have, on a device of which more or less is held: then the
 * first time may be another one. */
bool berth_i_adapt_can(const berth_i_sim_plan *p, berth_i_adapt *x, const berth_i_sim_state *s,
                       const int32_t *device) {
  bool can = true;
  if (!s->memory || !p->cost->g->param_bytes || !shifts(p, x, s, device)) return true;
  for (int32_t d = 0; d < p->n_devices; d++) {
    double peak = s->memory->peak[d];
    if (x->shift[d] != 0) can &= x->whole && !berth_i_memory_overflows(p, d, peak)
                                && !berth_i_memory_overflows(p, d, peak + x->shift[d]);
    x->shift[d] = 0;
  }
  return can;
}

static void shift_params(const berth_i_sim_plan *p, berth_i_memory *m, int32_t op, int32_t from,
                         int32_t to) {
  double bytes = params_of(p, op);
  if (!(bytes > 0)) return;
  m->used[from] -= bytes;
  m->peak[from] -= bytes;
  m->used[to] += bytes;
  m->peak[to] += bytes;
}

/* ---- the parts of a state as they are ---- */

static void copy_queues(const berth_i_sim_plan *p, berth_i_links *dst, const berth_i_links *src) {
  size_t d = (size_t)p->n_devices, m = (size_t)p->n_edges;
  COPY(out_busy, d);
  if (dst->in_busy != dst->out_busy) COPY(in_busy, d);
  COPY(head, d * d);
  COPY(tail, d * d);
  COPY(next, m);
  COPY(age, m);
  COPY(carried, d);
  COPY(from_waiting, d);
  COPY(to_waiting, d);
  COPY(touched, src->n_touched);
  COPY(is_touched, d);
  dst->n_touched = src->n_touched;
  dst->n_requests = src->n_requests;
}

static void copy_collectives(const berth_i_sim_plan *p, berth_i_sim_collectives *dst,
                          const berth_i_sim_collectives *src) {
  COPY(one, p->n_collectives);
  COPY(device, p->n_participants);
  COPY(under_way, src->n_under_way);
  COPY(waiting, src->n_waiting);
  dst->n_under_way = src->n_under_way;
  dst->n_waiting = src->n_waiting;
  dst->queue_free = src->queue_free;
}

static void copy_memory(const berth_i_sim_plan *p, berth_i_memory *dst, const berth_i_memory *src) {
  size_t d = (size_t)p->n_devices, m = (size_t)p->n_edges;
  COPY(used, d);
  COPY(peak, d);
  COPY(peak_time, d);
  COPY(peak_clock, d);
  COPY(op_state, berth_i_memory_runs(p));
  if (src->home_left) {
    COPY(home_left, p->cost->g->n_tensors);
    COPY(copy_left, m);
    COPY(copy_here, m);
  }
  COPY(starting, src->n_starting);
  COPY(ending, src->n_ending);
  COPY(event, src->n_events);
  dst->n_starting = src->n_starting;
  dst->n_ending = src->n_ending;
  dst->n_events = src->n_events;
  dst->clock = src->clock;
  dst->present = src->present;
  dst->over = src->over;
  dst->oom = src->oom;
}

static void copy_copies(const berth_i_sim_plan *p, berth_i_sim_state *dst,
                        const berth_i_sim_state *src) {
  COPY(lead, p->n_edges);
  COPY(arrival, p->n_edges);
  COPY(copy, p->n_edges);
  if (src->links.until)
    copy(dst->links.until, src->links.until, berth_i_links_channels(p), sizeof *dst->links.until);
  if (src->links.out_busy) copy_queues(p, &dst->links, &src->links);
  if (src->links.route) berth_i_route_copy(p, dst->links.route, src->links.route);
  if (p->n_collectives > 0) copy_collectives(p, &dst->coll, &src->coll);
  if (src->memory) copy_memory(p, dst->memory, src->memory);
}

static void copy_numbers(berth_i_sim_state *dst, const berth_i_sim_state *src) {
  dst->seq = src->seq;
  dst->place = src->place;
  dst->done = src->done;
  dst->now = src->now;
  dst->limit = INFINITY;
  dst->cut = false;
  dst->seed = src->seed;
  dst->rng = src->rng;
  dst->fault.kind = BERTH_I_FAULT_NONE;
}

/* ---- devices and their slices ---- */

static void cut_slices(const berth_i_sim_plan *p, berth_i_sim_state *dst,
                       const berth_i_sim_state *src, const berth_i_adapt *x) {
  int32_t at = 0;
  for (int32_t d = 0; d < p->n_devices; d++) dst->dev[d].end = src->dev[d].end - src->dev[d].base;
  for (int32_t i = 0; i < x->n; i++) {
    dst->dev[src->ops[x->op[i]].device].end--;
    dst->dev[dst->ops[x->op[i]].device].end++;
  }
  for (int32_t d = 0; d < p->n_devices; d++) {
    berth_i_sim_device *v = &dst->dev[d];
    int32_t move = at - src->dev[d].base;
    v->base = at;
    v->head = src->dev[d].head + move;
    v->tail = src->dev[d].tail + move;
    at = v->end += at;
  }
}

static void fill_order(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_adapt *x) {
  for (int32_t d = 0; d < p->n_devices; d++) {
    x->next[d] = s->dev[d].base;
    s->dev[d].tail = s->dev[d].end;
  }
  for (int32_t i = 0; i < p->n_ops; i++) {
    int32_t op = p->o.sequence[i];
    s->order[x->next[s->ops[op].device]++] = op;
  }
}

static void copy_slices(const berth_i_sim_plan *p, berth_i_sim_state *dst,
                        const berth_i_sim_state *src) {
  for (int32_t d = 0; d < p->n_devices; d++) {
    const berth_i_sim_device *v = &dst->dev[d], *w = &src->dev[d];
    copy(&dst->pending[v->head], &src->pending[w->head], (size_t)(w->tail - w->head),
         sizeof *dst->pending);
    copy(&dst->over[v->base], &src->over[w->base], (size_t)w->n_over, sizeof *dst->over);
    if (dst->ready)
      copy(&dst->ready[v->base], &src->ready[w->base], (size_t)w->n_ready, sizeof *dst->ready);
  }
}

static void copy_devices(const berth_i_sim_plan *p, berth_i_sim_state *dst,
                         const berth_i_sim_state *src, berth_i_adapt *x) {
  size_t padded = ((size_t)src->slots.n + 1) & ~(size_t)1;
  COPY(dev, p->n_devices);
  cut_slices(p, dst, src, x);
  if (dst->order) fill_order(p, dst, x);
  else copy_slices(p, dst, src);
  COPY(slots.at, padded);
  if (dst->slots.winner) COPY(slots.winner, 2 * (size_t)dst->slots.width);
}

/* ---- what moved ---- */

static double work_of(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t op) {
  int32_t d = s->ops[op].device;
  if (p->o.noise > 0) {
    return berth_i_op_units(p, berth_i_op_time(p->cost, op, d)
                                   * berth_i_sim_noise(p, s, 2 * (uint64_t)op));
  }
  return p->work[(size_t)op * (size_t)p->cost->n_classes + (size_t)p->cost->class_of[d]];
}

static void copy_ops(const berth_i_sim_plan *p, berth_i_sim_state *dst,
                     const berth_i_sim_state *src, const int32_t *device, berth_i_adapt *x) {
  COPY(ops, p->n_ops);
  x->n = 0;
  for (int32_t i = 0; i < p->n_ops; i++) {
    if (dst->ops[i].device == device[i]) continue;
    x->op[x->n++] = i;
    dst->ops[i].device = device[i];
    dst->ops[i].work = work_of(p, dst, i);
  }
}

static void add_source(berth_i_adapt *x, int32_t op) {
  if (x->is_source[op]) return;
  x->is_source[op] = 1;
  x->source[x->n_sources++] = op;
}

static void find_sources(const berth_i_sim_plan *p, berth_i_adapt *x) {
  const berth_graph *g = p->cost->g;
  x->n_sources = 0;
  for (int32_t i = 0; i < x->n; i++) {
    add_source(x, x->op[i]);
    for (int32_t j = g->in_at[x->op[i]]; j < g->in_at[x->op[i] + 1]; j++)
      add_source(x, g->producer[g->in[j]]);
  }
  for (int32_t i = 0; i < x->n_sources; i++) x->is_source[x->source[i]] = 0;
}

/* The first consumer of a tensor on each remote device leads. */
static void lead_edges(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_adapt *x,
                       int32_t op) {
  int32_t first = p->edge_at[op], home = s->ops[op].device;
  for (int32_t e = p->edge_at[op]; e < p->edge_at[op + 1]; e++)
    x->lead_of[s->ops[p->edge_to[e]].device] = BERTH_NONE;
  for (int32_t e = p->edge_at[op]; e < p->edge_at[op + 1]; e++) {
    int32_t d = s->ops[p->edge_to[e]].device;
    if (p->edge_tensor[e] != p->edge_tensor[first]) first = e;
    s->lead[e] = BERTH_NONE;
    if (d == home) continue;
    if (x->lead_of[d] < first) x->lead_of[d] = e;
    s->lead[e] = x->lead_of[d];
  }
}

/* What the outputs of an op wait for, while nothing of that has ended. */
static void count_waits(const berth_i_sim_plan *p, berth_i_sim_state *s, const berth_i_adapt *x,
                        int32_t op) {
  const berth_graph *g = p->cost->g;
  berth_i_memory *m = s->memory;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++)
    m->home_left[g->out[i]] = 1 + x->is_forward[op];
  for (int32_t e = p->edge_at[op]; e < p->edge_at[op + 1]; e++) m->copy_left[e] = 0;
  for (int32_t e = p->edge_at[op]; e < p->edge_at[op + 1]; e++) {
    int32_t lead = s->lead[e], readers = 1 + x->is_forward[p->edge_to[e]],
            *home = &m->home_left[p->edge_tensor[e]];
    if (lead == BERTH_NONE) {
      *home += readers;
    } else {
      m->copy_left[lead] += readers;
      *home += lead == e; /* its send */
    }
  }
}

static bool price_again(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op) {
  const berth_graph *g = p->cost->g;
  for (int32_t i = g->wait_at[op]; i < g->wait_at[op + 1]; i++) {
    if (!berth_i_sim_collective_price_again(p, s, g->wait[i])) return false;
  }
  return true;
}

static bool move_ops(const berth_i_sim_plan *p, berth_i_sim_state *dst,
                     const berth_i_sim_state *src, berth_i_adapt *x) {
  find_sources(p, x);
  for (int32_t i = 0; i < x->n_sources; i++) {
    lead_edges(p, dst, x, x->source[i]);
    if (dst->memory && dst->memory->home_left) count_waits(p, dst, x, x->source[i]);
  }
  for (int32_t i = 0; i < x->n; i++) {
    int32_t op = x->op[i];
    if (dst->memory) shift_params(p, dst->memory, op, src->ops[op].device, dst->ops[op].device);
    if (p->n_collectives > 0 && !price_again(p, dst, op)) return false;
  }
  return true;
}

bool berth_i_adapt_state(const berth_i_sim_plan *p, berth_i_adapt *x, berth_i_sim_state *dst,
                         const berth_i_sim_state *src, const int32_t *device) {
  copy_numbers(dst, src);
  copy_ops(p, dst, src, device, x);
  if (!p->plain) {
    copy_copies(p, dst, src);
    if (x->n > 0 && !move_ops(p, dst, src, x)) return false;
    if (src->links.fair) berth_i_fair_copy(p, dst, src, x->n > 0);
  }
  copy_devices(p, dst, src, x);
  return true;
}
