/* First fit (RAMP's placement): ops in topological order of the forward ops; each with a producer
 * whose servers hold it, or on the first legal block of free servers, shapes in a fixed order.
 * Legal blocks and their order: place_op and find_block. `home` lists the servers of the blocks
 * that the job has; `where` says where an op's begin, twins and joined ops sharing them. O(ops
 * blocks servers) at worst. */
#include "ramp_internal.h"

/* Servers that differ in all of groups, racks and slots as a box, or along the diagonal of groups
 * and racks. */
typedef struct shape {
  int32_t groups, racks, slots;
  bool diagonal;
} shape;

typedef struct search {
  berth_ramp_planner *p;
  int32_t pieces;
  double need;             /* bytes of a piece */
  bool within;             /* only where the job is already */
  berth_i_ramp_accept *accept; /* called instead of checking free servers: whether a block is
                              accepted */
  void *ud;
} search;

static int32_t server_at(const berth_ramp *r, int32_t g, int32_t k, int32_t s) {
  return (g * r->o.racks + k) * r->o.slots + s;
}

static bool fits(const search *q) {
  const berth_ramp_planner *p = q->p;
  if (q->accept) return q->accept(q->ud, q->pieces, p->block);
  for (int32_t i = 0; i < q->pieces; i++) {
    int32_t s = p->block[i];
    if (p->taken[s] || p->free_bytes[s] < q->need || (q->within && !p->mine[s])) return false;
  }
  return true;
}

/* Blocks of a shape by their origins, lexicographically; into p->block. */
static bool try_shape(const search *q, shape b) {
  berth_ramp_planner *p = q->p;
  const berth_ramp *r = p->ramp;
  int32_t slots = b.diagonal ? 1 : b.slots;
  for (int32_t g = 0; g + b.groups <= r->o.groups; g++)
    for (int32_t k = 0; k + b.racks <= r->o.racks; k++)
      for (int32_t s = 0; s + slots <= r->o.slots; s++) {
        int32_t n = 0;
        for (; b.diagonal && n < q->pieces; n++) p->block[n] = server_at(r, g + n, k + n, s);
        for (int32_t dg = 0; !b.diagonal && dg < b.groups; dg++)
          for (int32_t dk = 0; dk < b.racks; dk++)
            for (int32_t ds = 0; ds < b.slots; ds++)
              p->block[n++] = server_at(r, g + dg, k + dk, s + ds);
        if (fits(q)) return true;
      }
  return false;
}

/* Into p->block, if there is one. Shapes of a x b servers: square over groups and racks, flat along
 * slots, flat along racks; then the diagonal and the line. */
static bool find_block(const search *q) {
  const berth_ramp_options *o = &q->p->ramp->o;
  if (q->pieces > q->p->ramp->servers) return false;
  for (int32_t b = 1; b <= q->pieces; b++) {
    int32_t a = q->pieces / b, m = (int32_t)lround(sqrt(a));
    if (q->pieces % b != 0 || b > o->slots) continue;
    if (m * m == a && m <= o->groups && m <= o->racks && try_shape(q, (shape){ m, m, b, false }))
      return true;
    if (a <= o->groups && a <= o->racks
        && (try_shape(q, (shape){ a, 1, b, false }) || try_shape(q, (shape){ a, b, 1, false })))
      return true;
  }
  return try_shape(q, (shape){ q->pieces, q->pieces, 1, true })
         || try_shape(q, (shape){ q->pieces, 1, 1, false });
}

/* ---- a job ---- */

/* Bytes of an op in all its pieces; published: of the forward op alone. */
static double weight(const berth_ramp_planner *p, const berth_ramp_model *m, int32_t v) {
  if (m->batch[v]) return p->pieces[v] * (p->held[v] + p->held[m->twin[v]]);
  return m->ramp->o.compat ? m->memory[v] : m->memory[v] + m->memory[m->twin[v]];
}

static void put_piece(berth_ramp_planner *p, int32_t v, int32_t where, double each) {
  p->where[v] = where;
  for (int32_t i = 0; i < p->pieces[v]; i++) {
    int32_t s = p->home[where + i];
    p->free_bytes[s] -= each;
    p->mine[s] = 1;
  }
}

static bool place_op(berth_ramp_planner *p, const berth_ramp_model *m, int32_t v) {
  const int32_t pieces = p->pieces[v];
  const bool compat = m->ramp->o.compat;
  search q = { p, pieces, weight(p, m, v) / pieces, false, NULL, NULL };
  /* 1. The servers of the first producer that has as many pieces, and space for it: published, on
   * them together; else on each. */
  for (int32_t i = m->in_start[v]; i < m->in_start[v + 1]; i++) {
    int32_t u = m->edge[m->in[i]].src;
    if (p->where[u] == BERTH_NONE || p->pieces[u] != pieces) continue;
    double together = 0, least = INFINITY;
    for (int32_t k = 0; k < pieces; k++) {
      together += p->free_bytes[p->home[p->where[u] + k]];
      least = fmin(least, p->free_bytes[p->home[p->where[u] + k]]);
    }
    if ((compat ? together : least * pieces) < weight(p, m, v)) continue;
    put_piece(p, v, p->where[u], q.need);
    return true;
  }
  /* 2. The given block, if the op has as many pieces; else the first block within the servers of
   * the job (not published), or anywhere. */
  if (p->n_wish == pieces) {
    for (int32_t i = 0; i < pieces; i++) p->block[i] = p->wish[i];
    if (!fits(&q)) return false;
  } else {
    q.within = !compat;
    if (!q.within || !find_block(&q)) {
      q.within = false;
      if (!find_block(&q)) return false;
    }
  }
  int32_t where = p->n_homes;
  for (int32_t i = 0; i < pieces; i++) p->home[p->n_homes++] = p->block[i];
  put_piece(p, v, where, q.need);
  return true;
}

berth_status berth_i_ramp_place(berth_ramp_planner *p, const berth_ramp_model *m,
                                const uint8_t *busy, berth_ramp_outcome *out) {
  berth_status st = berth_i_ramp_reserve(p, BERTH_I_RAMP_OF_HOMES, (size_t)p->n_pieces);
  if (st != BERTH_OK) return st;
  /* What is free, and nothing of the job anywhere yet. */
  p->n_homes = 0;
  for (int32_t v = 0; v < 2 * m->n; v++) p->where[v] = BERTH_NONE;
  for (int32_t s = 0; s < p->ramp->servers; s++) {
    p->free_bytes[s] = p->ramp->o.memory;
    p->taken[s] = busy && busy[s];
    p->mine[s] = 0;
  }
  /* Not published: the op with most pieces first, so that others find their blocks within its. */
  int32_t widest = m->kahn[0];
  for (int32_t i = 0; i < m->n; i++)
    if (p->pieces[m->kahn[i]] > p->pieces[widest]) widest = m->kahn[i];
  for (int32_t i = m->ramp->o.compat ? 0 : -1; i < m->n; i++) {
    int32_t v = i < 0 ? widest : m->kahn[i];
    if (p->where[v] != BERTH_NONE || place_op(p, m, v)) continue;
    out->cause = BERTH_RAMP_NO_BLOCK;
    out->op = v;
    out->pieces = p->pieces[v];
    return BERTH_OK;
  }
  for (int32_t i = 0; i < m->n; i++) p->where[m->twin[m->forward[i]]] = p->where[m->forward[i]];
  out->cause = BERTH_RAMP_PLACED;
  out->pieces = p->pieces[widest];
  out->ops = p->n_pieces;
  return BERTH_OK;
}

bool berth_i_ramp_each_block(const berth_ramp *r, int32_t pieces, berth_i_ramp_accept *accept,
                             void *ud) {
  int32_t block[BERTH_I_RAMP_SERVERS];
  berth_ramp_planner p = { .ramp = (berth_ramp *)r, .block = block };
  search q = { &p, pieces, 0, false, accept, ud };
  return (pieces == 1 || (pieces > 1 && pieces % 2 == 0)) && find_block(&q);
}

static bool same_block(void *ud, int32_t n, const int32_t *block) {
  return memcmp(ud, block, (size_t)n * sizeof *block) == 0;
}

bool berth_i_ramp_is_block(const berth_ramp *r, int32_t n, const int32_t *block) {
  return berth_i_ramp_each_block(r, n, same_block, (void *)block);
}

/* Marks the servers of a block. */
static bool mark_block(void *ud, int32_t n, const int32_t *block) {
  uint8_t *marked = ud;
  for (int32_t i = 0; i < n; i++) marked[block[i]] = 1;
  return true;
}

static bool all_marked(void *ud, int32_t n, const int32_t *block) {
  const uint8_t *marked = ud;
  for (int32_t i = 0; i < n; i++)
    if (!marked[block[i]]) return false;
  return true;
}

bool berth_i_ramp_within(const berth_ramp *r, int32_t inner, int32_t outer) {
  uint8_t marked[BERTH_I_RAMP_SERVERS] = { 0 };
  return !berth_i_ramp_each_block(r, outer, mark_block, marked)
         || berth_i_ramp_each_block(r, inner, all_marked, marked);
}

static bool any_block(void *ud, int32_t n, const int32_t *block) {
  (void)ud, (void)n, (void)block;
  return true;
}

int berth_ramp_legal(const berth_ramp *r, int32_t pieces) {
  return berth_i_ramp_each_block(r, pieces, any_block, NULL);
}
