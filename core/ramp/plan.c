/* A decision from one end to the other: ops are cut into pieces (PAC-ML's partitioning: as many as
 * quanta of their time, even, at most the decision), placed, and the step is scheduled and
 * simulated. */
#include "ramp_internal.h"

/* ---- pieces of each op, and bytes between two pieces ---- */

/* exact: not more than have a block within the block of the ops with most, or the job would hold
 * servers for a few ops alone. */
static void keep_within(berth_ramp_planner *p, const berth_ramp_model *m) {
  int32_t fits[BERTH_I_RAMP_SERVERS + 1] = { 0 }, most = 1; /* fits: by number of pieces; 0: not
                                                               known yet */
  for (int32_t i = 0; i < m->n; i++)
    if (p->pieces[m->forward[i]] > most) most = p->pieces[m->forward[i]];
  if (most > p->ramp->servers) return;
  for (int32_t i = 0; i < m->n; i++) {
    int32_t v = m->forward[i], k = p->pieces[v];
    while (!fits[k] && k > 1 && k < most && !berth_i_ramp_within(p->ramp, k, most))
      k -= k > 2 ? 2 : 1;
    if (!fits[k]) fits[k] = k;
    fits[p->pieces[v]] = fits[k];
    p->pieces[v] = p->pieces[m->twin[v]] = fits[k];
  }
}

static void size_around(berth_ramp_planner *p, const berth_ramp_model *m, int32_t v,
                        const double *held) {
  int32_t k = p->pieces[v];
  for (int32_t i = m->in_start[v]; i < m->in_start[v + 1]; i++)
    p->size[m->in[i]] = held[m->edge[m->in[i]].src] / k;
  for (int32_t i = m->out_start[v]; i < m->out_start[v + 1]; i++)
    p->size[m->out[i]] = held[m->edge[m->out[i]].dst] / k;
}

/* Partitioning. */
static berth_status cut(berth_ramp_planner *p, const berth_ramp_model *m, int32_t most) {
  int32_t groups = 2 * m->n;
  berth_status st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_GROUPS, (size_t)groups + 1);
  if (st == BERTH_OK) st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_SETS, 2 * (size_t)groups);
  if (st == BERTH_OK)
    st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_EDGES, (size_t)m->n_edges + 8 * (size_t)groups);
  if (st != BERTH_OK) return st;
  /* 1. Pieces of each forward op, and of its twin: even, as many as quanta of its time. Along the
   * batch all ops have as many, so that nothing moves between their pieces. */
  for (int32_t i = 0; i < m->n; i++) {
    int32_t v = m->forward[i];
    double even = fmin(most, 2 * ceil(ceil(m->cost[v] / m->ramp->o.quantum) / 2));
    p->pieces[v] = p->pieces[m->twin[v]] = m->batch[v] ? most : even < 1 ? 1 : (int32_t)even;
  }
  if (!m->ramp->o.compat) keep_within(p, m);
  /* More pieces than servers have no block: they need not be distinguished. */
  p->base[0] = 0;
  for (int32_t v = 0; v < groups; v++)
    p->base[v + 1] =
        p->base[v] + (p->pieces[v] > p->ramp->servers ? p->ramp->servers : p->pieces[v]);
  p->n_pieces = p->base[groups];
  /* 2. Bytes of a piece, and between two of them. */
  if (m->ramp->o.compat) {
    /* As the published simulator has it: forward ops one after another, their twins with them; what
     * goes into a cut op is sized by what the producer holds at that moment, what leaves it by what
     * the consumer holds. */
    memcpy(p->held, m->memory, (size_t)groups * sizeof *p->held);
    for (int32_t e = 0; e < m->n_edges; e++) p->size[e] = p->held[m->edge[e].src];
    for (int32_t i = 0; i < m->n; i++) {
      int32_t v = m->forward[i], w = m->twin[v];
      if (p->pieces[v] == 1) continue;
      size_around(p, m, v, p->held);
      p->held[v] /= p->pieces[v];
      size_around(p, m, w, p->held);
      p->held[w] /= p->pieces[w];
    }
  } else {
    for (int32_t v = 0; v < groups; v++) {
      double whole = m->batch[v] ? m->params[v] : 0;
      p->held[v] = whole + (m->memory[v] - whole) / p->pieces[v];
    }
    for (int32_t e = 0; e < m->n_edges; e++) {
      int32_t to = m->edge[e].batch ? 1 : p->pieces[m->edge[e].dst];
      p->size[e] = m->edge[e].bytes / p->pieces[m->edge[e].src] / to;
    }
  }
  return BERTH_OK;
}

static berth_status check_block(const berth_ramp_planner *p, const berth_ramp_model *m, int32_t n,
                                const int32_t *block) {
  int32_t most = 1;
  for (int32_t i = 0; i < m->n; i++)
    if (p->pieces[m->forward[i]] > most) most = p->pieces[m->forward[i]];
  if (n != most)
    return berth_i_fail(p->ramp->ctx, BERTH_EINVAL,
                        "ramp: a block of %d servers for ops with %d pieces", (int)n, (int)most);
  if (!berth_i_ramp_is_block(p->ramp, n, block))
    return berth_i_fail(p->ramp->ctx, BERTH_EINVAL,
                        "ramp: %d servers from server %d on are no legal block", (int)n,
                        (int)block[0]);
  return BERTH_OK;
}

/* Cut, place; then, if requested, what a step takes.  @param given n and block: where
 * the ops with most pieces are to be */
static berth_status plan(berth_ramp_planner *p, const berth_ramp_model *m, int32_t most,
                         const uint8_t *busy, bool given, int32_t n, const int32_t *block,
                         int look, int32_t *servers, berth_ramp_outcome *out) {
  berth_ramp_outcome o = { .op = BERTH_NONE };
  if (m->ramp != p->ramp)
    return berth_i_fail(p->ramp->ctx, BERTH_EINVAL,
                        "ramp: the model was made for another cluster");
  if (most < 1 || (most > 1 && most % 2 != 0))
    return berth_i_fail(p->ramp->ctx, BERTH_EINVAL,
                        "ramp: most pieces: expected 1 or an even number, got %d", (int)most);
  berth_status st = cut(p, m, most);
  if (st == BERTH_OK && given) st = check_block(p, m, n, block);
  if (st != BERTH_OK) return st;
  p->wish = block;
  p->n_wish = n;
  st = berth_i_ramp_place(p, m, busy, &o);
  p->n_wish = 0;
  if (st != BERTH_OK) return st;
  if (o.cause == BERTH_RAMP_PLACED) {
    p->n_own = 0;
    for (int32_t s = 0; s < p->ramp->servers; s++)
      if (p->mine[s]) p->own[p->n_own++] = s;
    o.n_servers = p->n_own;
    if (look && ((st = berth_i_ramp_schedule(p, m, &o)) != BERTH_OK
                 || (st = berth_i_ramp_lookahead(p, m, &o)) != BERTH_OK))
      return st;
    for (int32_t i = 0; servers && i < p->n_own; i++) servers[i] = p->own[i];
  }
  *out = o;
  return BERTH_OK;
}

berth_status berth_ramp_plan(berth_ramp_planner *p, berth_ramp_model *m, int32_t most,
                             const uint8_t *busy, int look, int32_t *servers,
                             berth_ramp_outcome *out) {
  if (!p || !m) return BERTH_EINVAL;
  return plan(p, m, most, busy, false, 0, NULL, look, servers, out);
}

berth_status berth_ramp_plan_on(berth_ramp_planner *p, berth_ramp_model *m, int32_t most,
                                const uint8_t *busy, int32_t n, const int32_t *block, int look,
                                int32_t *servers, berth_ramp_outcome *out) {
  if (!p || !m) return BERTH_EINVAL;
  return plan(p, m, most, busy, true, n, block, look, servers, out);
}
