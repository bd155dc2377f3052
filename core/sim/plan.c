/* The plan: what all runs on one priced graph with one set of options share; immutable while
 * simulating, so threads share it. Edges are numbered by producer, then output, then consumer. */
#include "sim_internal.h"

#include <float.h>

/* Whole numbers are exact, and ties with them, up to 2^53; and the time in seconds has to be
 * finite. */
static double horizon_of(double quantum) {
  double finite = quantum > 1 ? nextafter(DBL_MAX / quantum, 0) : DBL_MAX;
  return quantum > 0 && finite > BERTH_I_MOST_QUANTA ? BERTH_I_MOST_QUANTA : finite;
}

static void decide_mode(berth_i_sim_plan *p, bool record) {
  const berth_sim_options *o = &p->o;
  bool two_ended = o->links == BERTH_LINKS_CHANNEL || o->links == BERTH_LINKS_DUPLEX;
  p->unit = o->quantum > 0 ? o->quantum : 1;
  p->horizon = horizon_of(o->quantum);
  p->dispatch_key = berth_i_dispatch_of(o->dispatch)->key;
  p->choosy = p->dispatch_key || o->dispatch == BERTH_DISPATCH_RANDOM;
  p->preempt = o->preempt != 0;
  p->n_collectives = p->cost->g->n_collectives;
  p->contended = (berth_i_on_links(o->links) && !o->reserve)
                 || (two_ended && !o->split_windows && o->order == BERTH_ORDER_EVENT);
  p->plain = !record && !p->preempt && o->links == BERTH_LINKS_FREE && o->send == BERTH_SEND_PUSH
             && o->noise == 0 && o->memory == BERTH_MEMORY_NONE && o->order == BERTH_ORDER_EVENT
             && p->n_collectives == 0;
}

/* ---- edges ---- */

static void number_edges(berth_i_sim_plan *p) {
  const berth_graph *g = berth_i_plan_graph(p);
  int32_t n = 0;
  for (int32_t op = 0; op < g->n_ops; op++) {
    p->edge_at[op] = n;
    for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
      int32_t t = g->out[i];
      for (int32_t k = g->use_at[t]; k < g->use_at[t + 1]; k++, n++) {
        p->edge_to[n] = g->use[k];
        p->edge_tensor[n] = t;
      }
    }
  }
  p->edge_at[g->n_ops] = n;
}

berth_status berth_i_sim_plan_inputs(berth_i_sim_plan *p) {
  if (p->in_edge) return BERTH_OK;
  int32_t *in_edge = berth_i_pool_alloc(&p->pool, (size_t)p->n_edges, sizeof *in_edge);
  if (!in_edge) return berth_i_pool_status(&p->pool);
  berth_status st = berth_i_input_edges(p->cost->g, p->edge_to, p->edge_tensor, in_edge);
  if (st == BERTH_OK) p->in_edge = in_edge;
  return st;
}

static berth_status make_edges(berth_i_sim_plan *p) {
  size_t m = (size_t)p->n_edges;
  p->edge_at = berth_i_pool_alloc(&p->pool, (size_t)p->n_ops + 1, sizeof *p->edge_at);
  p->edge_to = berth_i_pool_alloc(&p->pool, m, sizeof *p->edge_to);
  p->edge_tensor = berth_i_pool_alloc(&p->pool, m, sizeof *p->edge_tensor);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  number_edges(p);
  if (p->cost->uniform && p->o.noise == 0) {
    if (!(p->edge_time = berth_i_pool_alloc(&p->pool, m, sizeof *p->edge_time)))
      return berth_i_nomem(p->ctx);
    for (int32_t e = 0; e < p->n_edges; e++) {
      p->edge_time[e] =
          berth_i_quantise_transfer(p->cost->uniform[p->edge_tensor[e]], p->o.quantum);
    }
  }
  return p->o.memory == BERTH_MEMORY_NONE && p->o.send == BERTH_SEND_PUSH
             ? BERTH_OK
             : berth_i_sim_plan_inputs(p);
}

static bool is_root(const berth_graph *g, int32_t op) {
  return g->in_at[op] == g->in_at[op + 1]
         && (!g->after_at || g->after_at[op] == g->after_at[op + 1]);
}

static berth_status make_roots(berth_i_sim_plan *p) {
  const berth_graph *g = berth_i_plan_graph(p);
  int32_t n = 0;
  for (int32_t i = 0; i < g->n_ops; i++) p->n_roots += is_root(g, i);
  if (!(p->roots = berth_i_pool_alloc(&p->pool, (size_t)p->n_roots, sizeof *p->roots)))
    return berth_i_nomem(p->ctx);
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (is_root(g, i)) p->roots[n++] = i;
  }
  return BERTH_OK;
}

/* ---- times and keys ---- */

static berth_status make_work(berth_i_sim_plan *p) {
  size_t n = (size_t)p->n_ops * (size_t)p->cost->n_classes;
  p->work = p->cost->op;
  if (p->o.quantum <= 0) return BERTH_OK;
  if (!(p->own_work = berth_i_pool_alloc(&p->pool, n, sizeof *p->own_work)))
    return berth_i_nomem(p->ctx);
  for (size_t i = 0; i < n; i++) p->own_work[i] = berth_i_op_units(p, p->cost->op[i]);
  p->work = p->own_work;
  return BERTH_OK;
}

static berth_status make_keys(berth_i_sim_plan *p, const berth_sim_options *o) {
  const berth_i_dispatch *dispatch = berth_i_dispatch_of(o->dispatch);
  size_t n = (size_t)p->n_ops;
  if (dispatch->prepare) {
    if (!(p->key = berth_i_pool_alloc(&p->pool, n, sizeof *p->key))) return berth_i_nomem(p->ctx);
    return dispatch->prepare(p->cost, o, p->key);
  }
  if (dispatch->kind == BERTH_I_DISPATCH_PLANNED) {
    p->o.sequence = berth_i_pool_copy(&p->pool, o->sequence, n, sizeof *o->sequence);
    if (!p->o.sequence) return berth_i_nomem(p->ctx);
  }
  return BERTH_OK;
}

static berth_status make_numbers(berth_i_sim_plan *p) {
  const berth_graph *g = berth_i_plan_graph(p);
  if (p->o.order != BERTH_ORDER_READY) return BERTH_OK;
  if (!(p->number = berth_i_pool_alloc(&p->pool, (size_t)p->n_ops, sizeof *p->number)))
    return berth_i_nomem(p->ctx);
  for (int32_t i = 0; i < p->n_ops; i++) p->number[g->topo[i]] = i;
  return BERTH_OK;
}

/* The twin that comes later in the graph is the backward one, whether flagged or not. */
static berth_status make_twins(berth_i_sim_plan *p) {
  const berth_graph *g = berth_i_plan_graph(p);
  if (p->o.memory != BERTH_MEMORY_TRAINING || !g->twin) return BERTH_OK;
  if (!(p->forward_of = berth_i_pool_alloc(&p->pool, (size_t)p->n_ops, sizeof *p->forward_of)))
    return berth_i_nomem(p->ctx);
  for (int32_t i = 0; i < p->n_ops; i++) p->forward_of[i] = -2; /* not visited yet */
  for (int32_t i = 0; i < p->n_ops; i++) {
    int32_t op = g->topo[i], twin = g->twin[op];
    p->forward_of[op] = twin != BERTH_NONE && p->forward_of[twin] != -2 ? twin : BERTH_NONE;
  }
  return BERTH_OK;
}

/* ---- life ---- */

berth_status berth_i_sim_plan_new(berth_cost *cost, const berth_sim_options *opts, bool record,
                                  berth_i_sim_plan **out) {
  berth_sim_options o = opts ? *opts : berth_sim_default(cost->g);
  berth_status st = berth_i_sim_check_options(cost, &o);
  if (st != BERTH_OK) return st;
  berth_i_sim_plan *p;
  if (!(p = berth_i_pool_object(cost->ctx, sizeof *p))) return berth_i_nomem(cost->ctx);
  p->ctx = cost->ctx;
  p->cost = cost;
  berth_cost_retain(cost);
  p->o = o;
  p->o.rank = NULL;
  p->o.sequence = NULL;
  p->n_ops = cost->g->n_ops;
  p->n_edges = cost->g->n_edges;
  p->n_devices = cost->n_devices;
  decide_mode(p, record);
  if ((st = berth_i_async_ops_plan(p)) != BERTH_OK) goto fail;
  p->plain = p->plain && p->n_async == 0;
  if ((st = make_edges(p)) != BERTH_OK) goto fail;
  if ((st = make_roots(p)) != BERTH_OK) goto fail;
  if ((st = make_work(p)) != BERTH_OK) goto fail;
  if ((st = make_keys(p, &o)) != BERTH_OK) goto fail;
  if ((st = make_numbers(p)) != BERTH_OK) goto fail;
  if ((st = make_twins(p)) != BERTH_OK) goto fail;
  if (p->n_collectives > 0 && (st = berth_i_sim_collectives_plan(p)) != BERTH_OK) goto fail;
  if (o.links == BERTH_LINKS_FAIR && (st = berth_i_classes_new(p)) != BERTH_OK) goto fail;
  *out = p;
  return BERTH_OK;
fail:
  berth_i_sim_plan_release(p);
  return st;
}

void berth_i_sim_plan_release(berth_i_sim_plan *p) {
  if (!p) return;
  berth_cost *cost = p->cost;
  berth_i_pool_free(&p->pool);
  berth_cost_release(cost); /* last: it may hold the context */
}
