/* Limits of runs: how long it takes from the start of an op at least; and what set the makespan of
 * a run. */
#include "sim_internal.h"

berth_status berth_i_sim_plan_tails(berth_i_sim_plan *p) {
  const berth_graph *g = p->cost->g;
  if (p->tail) return BERTH_OK;
  double *tail = berth_i_pool_alloc(&p->pool, (size_t)p->n_ops, sizeof *tail);
  if (!tail) return berth_i_pool_status(&p->pool);
  for (int32_t i = p->n_ops - 1; i >= 0; i--) {
    int32_t op = g->topo[i];
    const double *w = &p->work[(size_t)op * (size_t)p->cost->n_classes];
    double after = 0, least = INFINITY;
    for (int32_t e = p->edge_at[op]; e < p->edge_at[op + 1]; e++)
      if (tail[p->edge_to[e]] > after) after = tail[p->edge_to[e]];
    for (int32_t c = 0; c < p->cost->n_classes; c++) least = w[c] < least ? w[c] : least;
    tail[op] = p->o.noise > 0 ? 0 : least + after; /* with noise any time may be shorter */
  }
  p->tail = tail;
  return BERTH_OK;
}

/* ---- the chain ---- */

/* Plain runs note the op before it on the device and the end. Waits for its device, or for the
 * input that came last. */
static int32_t plain_cause(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t op) {
  const berth_graph *g = p->cost->g;
  int32_t d = s->ops[op].device, before = s->ops[op].last, cause = BERTH_NONE;
  double ready = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t from = g->producer[g->in[i]], there = s->ops[from].device;
    double at =
        s->ops[from].time + (there == d ? 0 : berth_i_transfer_units(p, s, g->in[i], there, d));
    if (cause != BERTH_NONE && !(at > ready)) continue;
    ready = at;
    cause = from;
  }
  return before != BERTH_NONE && s->ops[before].time > ready ? before : cause;
}

static double end_of(const berth_i_sim_plan *p, const berth_i_sim_state *s,
                     const berth_i_sim_device *v) {
  return p->plain ? s->ops[v->prev].time : v->free_at;
}

/* A collective that ends after all ops: its last member. */
static int32_t last_collective(const berth_i_sim_plan *p, const berth_i_sim_state *s, double end,
                        int32_t last) {
  for (int32_t k = 0; k < p->n_collectives; k++) {
    if (!(s->coll.one[k].end > end)) continue;
    end = s->coll.one[k].end;
    last = s->coll.one[k].last;
  }
  return last;
}

static int32_t last_op(const berth_i_sim_plan *p, const berth_i_sim_state *s) {
  int32_t last = BERTH_NONE;
  double end = 0;
  for (int32_t d = 0; d < p->n_devices; d++) {
    const berth_i_sim_device *v = &s->dev[d];
    if (v->prev == BERTH_NONE || (last != BERTH_NONE && !(end_of(p, s, v) > end))) continue;
    end = end_of(p, s, v);
    last = v->prev;
  }
  if (p->n_async > 0 && s->async.last != BERTH_NONE
      && (last == BERTH_NONE || s->async.last_end > end)) {
    last = s->async.last;
    end = s->async.last_end;
  }
  return last_collective(p, s, end, last);
}

int32_t berth_i_sim_chain(const berth_i_sim_plan *p, const berth_i_sim_state *s, int32_t *ops) {
  int32_t n = 0;
  if (p->n_ops == 0 || s->cut || s->fault.kind != BERTH_I_FAULT_NONE || s->done < p->n_ops)
    return 0;
  for (int32_t op = last_op(p, s); op != BERTH_NONE && n < p->n_ops;
       op = p->plain ? plain_cause(p, s, op) : s->ops[op].last) {
    ops[n++] = op;
  }
  return n;
}
