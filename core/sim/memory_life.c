/* What the memory accountant keeps: made, and given back. */
#include "sim_internal.h"

static bool frees(const berth_i_sim_plan *p) {
  return p->o.memory == BERTH_MEMORY_INFERENCE || p->o.memory == BERTH_MEMORY_TRAINING;
}

/* Each copy is charged and sent once; orders READY and TASK keep the ops for later, too. */
static size_t event_capacity(const berth_i_sim_plan *p) {
  return 2 * (size_t)p->n_edges + (size_t)p->n_seats + (p->o.order != BERTH_ORDER_EVENT ? 2 * (size_t)p->n_ops : 0);
}

static size_t n_things(const berth_i_sim_plan *p) { return berth_i_memory_runs(p) + (size_t)p->n_edges; }

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
  m->starting = berth_i_alloc(p->ctx, n_things(p), sizeof *m->starting);
  m->ending = berth_i_alloc(p->ctx, n_things(p), sizeof *m->ending);
  m->op_state = berth_i_alloc(p->ctx, berth_i_memory_runs(p), 1);
  if (!m->used || !m->peak || !m->peak_time || !m->peak_clock || !m->event || !m->starting || !m->ending || !m->op_state) {
    return berth_i_nomem(p->ctx);
  }
  if (!frees(p)) return BERTH_OK;
  m->home_left = berth_i_alloc(p->ctx, (size_t)p->cost->g->n_tensors, sizeof *m->home_left);
  m->copy_left = berth_i_alloc(p->ctx, (size_t)p->n_edges, sizeof *m->copy_left);
  m->copy_here = berth_i_alloc(p->ctx, (size_t)p->n_edges, 1);
  return m->home_left && m->copy_left && m->copy_here ? BERTH_OK : berth_i_nomem(p->ctx);
}

berth_status berth_i_memory_trace(const berth_i_sim_plan *p, berth_i_memory *m) {
  size_t n = berth_i_memory_runs(p), t = (size_t)p->cost->g->n_tensors, e = (size_t)p->n_edges;
  m->op_born = berth_i_alloc(p->ctx, n, sizeof *m->op_born);
  m->op_died = berth_i_alloc(p->ctx, n, sizeof *m->op_died);
  m->home_died = berth_i_alloc(p->ctx, t, sizeof *m->home_died);
  m->copy_born = berth_i_alloc(p->ctx, e, sizeof *m->copy_born);
  m->copy_died = berth_i_alloc(p->ctx, e, sizeof *m->copy_died);
  m->levels = berth_i_zalloc(p->ctx, (size_t)p->n_devices, sizeof *m->levels);
  if (!m->op_born || !m->op_died || !m->home_died || !m->copy_born || !m->copy_died || !m->levels) return berth_i_nomem(p->ctx);
  return BERTH_OK;
}

void berth_i_levels_release(const berth_i_sim_plan *p, berth_i_levels *levels) {
  int32_t d;
  for (d = 0; levels && d < p->n_devices; d++) {
    berth_i_free(p->ctx, levels[d].time, levels[d].time_cap, sizeof *levels[d].time);
    berth_i_free(p->ctx, levels[d].bytes, levels[d].bytes_cap, sizeof *levels[d].bytes);
  }
  berth_i_free(p->ctx, levels, (size_t)p->n_devices, sizeof *levels);
}

void berth_i_memory_release(const berth_i_sim_plan *p, berth_i_memory *m) {
  size_t d = (size_t)p->n_devices, n = berth_i_memory_runs(p), t = (size_t)p->cost->g->n_tensors, e = (size_t)p->n_edges;
  if (!m) return;
  berth_i_free(p->ctx, m->used, d, sizeof *m->used);
  berth_i_free(p->ctx, m->peak, d, sizeof *m->peak);
  berth_i_free(p->ctx, m->peak_time, d, sizeof *m->peak_time);
  berth_i_free(p->ctx, m->peak_clock, d, sizeof *m->peak_clock);
  berth_i_free(p->ctx, m->event, event_capacity(p), sizeof *m->event);
  berth_i_free(p->ctx, m->starting, n_things(p), sizeof *m->starting);
  berth_i_free(p->ctx, m->ending, n_things(p), sizeof *m->ending);
  berth_i_free(p->ctx, m->op_state, n, 1);
  berth_i_free(p->ctx, m->home_left, t, sizeof *m->home_left);
  berth_i_free(p->ctx, m->copy_left, e, sizeof *m->copy_left);
  berth_i_free(p->ctx, m->copy_here, e, 1);
  berth_i_free(p->ctx, m->op_born, n, sizeof *m->op_born);
  berth_i_free(p->ctx, m->op_died, n, sizeof *m->op_died);
  berth_i_free(p->ctx, m->home_died, t, sizeof *m->home_died);
  berth_i_free(p->ctx, m->copy_born, e, sizeof *m->copy_born);
  berth_i_free(p->ctx, m->copy_died, e, sizeof *m->copy_died);
  berth_i_levels_release(p, m->levels);
  berth_i_free(p->ctx, m, 1, sizeof *m);
}
