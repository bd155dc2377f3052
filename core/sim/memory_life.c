/* What the memory accountant keeps: arrays by policy and by whether the run is traced. INFERENCE
 * and TRAINING count what each tensor waits for; NONE and TOTAL free nothing. */
#include "sim_internal.h"

static bool frees(const berth_i_sim_plan *p) {
  return p->o.memory == BERTH_MEMORY_INFERENCE || p->o.memory == BERTH_MEMORY_TRAINING;
}

/* Each copy is charged and sent once; orders READY and TASK keep the ops for later, too. */
static size_t event_capacity(const berth_i_sim_plan *p) {
  return 2 * (size_t)p->n_edges + (size_t)p->n_participants
         + (p->o.order != BERTH_ORDER_EVENT ? 2 * (size_t)p->n_ops : 0);
}

static size_t n_things(const berth_i_sim_plan *p) {
  return berth_i_memory_runs(p) + (size_t)p->n_edges;
}

berth_i_memory *berth_i_memory_new(const berth_i_sim_plan *p, berth_i_pool *pool) {
  size_t d = (size_t)p->n_devices;
  berth_i_memory *m = berth_i_pool_zalloc(pool, 1, sizeof *m);
  if (!m) return NULL;
  m->used = berth_i_pool_alloc(pool, d, sizeof *m->used);
  m->peak = berth_i_pool_alloc(pool, d, sizeof *m->peak);
  m->peak_time = berth_i_pool_alloc(pool, d, sizeof *m->peak_time);
  m->peak_clock = berth_i_pool_alloc(pool, d, sizeof *m->peak_clock);
  m->event = berth_i_pool_alloc(pool, event_capacity(p), sizeof *m->event);
  m->starting = berth_i_pool_alloc(pool, n_things(p), sizeof *m->starting);
  m->ending = berth_i_pool_alloc(pool, n_things(p), sizeof *m->ending);
  m->op_state = berth_i_pool_alloc(pool, berth_i_memory_runs(p), 1);
  if (!frees(p)) return m;
  m->home_left = berth_i_pool_alloc(pool, (size_t)p->cost->g->n_tensors, sizeof *m->home_left);
  m->copy_left = berth_i_pool_alloc(pool, (size_t)p->n_edges, sizeof *m->copy_left);
  m->copy_here = berth_i_pool_alloc(pool, (size_t)p->n_edges, 1);
  return m;
}

berth_status berth_i_memory_trace(const berth_i_sim_plan *p, berth_i_sim_state *s) {
  size_t n = berth_i_memory_runs(p), t = (size_t)p->cost->g->n_tensors, e = (size_t)p->n_edges;
  berth_i_memory *m = s->memory;
  m->op_born = berth_i_pool_alloc(&s->pool, n, sizeof *m->op_born);
  m->op_died = berth_i_pool_alloc(&s->pool, n, sizeof *m->op_died);
  m->home_died = berth_i_pool_alloc(&s->pool, t, sizeof *m->home_died);
  m->copy_born = berth_i_pool_alloc(&s->pool, e, sizeof *m->copy_born);
  m->copy_died = berth_i_pool_alloc(&s->pool, e, sizeof *m->copy_died);
  m->kept = &s->kept;
  m->levels = berth_i_pool_zalloc(m->kept, (size_t)p->n_devices, sizeof *m->levels);
  return m->levels ? berth_i_pool_status(&s->pool) : berth_i_nomem(p->ctx);
}

