/* How many pieces each op gets, and how many bytes go between two pieces. */
#include "ramp_internal.h"

static int32_t pieces_of(const berth_ramp_model *m, int32_t forward, int32_t most) {
  double even = 2 * ceil(ceil(m->cost[forward] / m->ramp->o.quantum) / 2);
  if (even > most) even = most;
  return even < 1 ? 1 : (int32_t)even;
}

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

/* More pieces than servers have no block: they need not be told apart. */
static int32_t counted(const berth_ramp_planner *p, int32_t pieces) {
  return pieces > p->ramp->servers ? p->ramp->servers : pieces;
}

/* ---- bytes ---- */

static void size_around(berth_ramp_planner *p, const berth_ramp_model *m, int32_t v,
                        const double *held) {
  int32_t k = p->pieces[v];
  for (int32_t i = m->in_start[v]; i < m->in_start[v + 1]; i++)
    p->size[m->in[i]] = held[m->edge[m->in[i]].src] / k;
  for (int32_t i = m->out_start[v]; i < m->out_start[v + 1]; i++)
    p->size[m->out[i]] = held[m->edge[m->out[i]].dst] / k;
}

berth_status berth_i_ramp_cut(berth_ramp_planner *p, const berth_ramp_model *m, int32_t most) {
  int32_t groups = 2 * m->n;
  berth_status st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_GROUPS, (size_t)groups + 1);
  if (st == BERTH_OK) st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_SETS, 2 * (size_t)groups);
  if (st == BERTH_OK)
    st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_EDGES, (size_t)m->n_edges + 8 * (size_t)groups);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < m->n; i++) {
    int32_t v = m->forward[i];
    p->pieces[v] = p->pieces[m->twin[v]] = pieces_of(m, v, most);
  }
  if (!m->ramp->o.compat) keep_within(p, m);
  p->base[0] = 0;
  for (int32_t v = 0; v < groups; v++) p->base[v + 1] = p->base[v] + counted(p, p->pieces[v]);
  p->n_pieces = p->base[groups];
  if (m->ramp->o.compat) {
    /* As the published simulator has it: forward ops one after another, their twins with them; what
     * goes into a cut op is sized by what the producer holds at that moment, what leaves it by what
     * the consumer holds. */
    memcpy(p->held, m->memory, 2 * (size_t)m->n * sizeof *p->held);
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
    for (int32_t v = 0; v < 2 * m->n; v++) p->held[v] = m->memory[v] / p->pieces[v];
    for (int32_t e = 0; e < m->n_edges; e++)
      p->size[e] = m->edge[e].bytes / p->pieces[m->edge[e].src] / p->pieces[m->edge[e].dst];
  }
  return BERTH_OK;
}
