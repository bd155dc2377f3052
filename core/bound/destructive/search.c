/* Propagation to a fixpoint, a short search over open edges, and the largest limit that is
 * disproved by doubling and bisection. A state is impossible when some window is empty; each
 * propagation rule only narrows windows or decides edges, so the fixpoint is reached in any order;
 * ROUNDS bounds the time. */
#include "destructive_internal.h"

enum { ROUNDS = 12 };

/* What the windows decide: an edge without time to cross joins its ends; ends without a common
 * place are apart. */
static void force(berth_i_destruct *b, berth_i_destruct_state *s) {
  const berth_i_destruct_dag *g = s->g;
  for (int32_t e = 0; e < g->m && !s->impossible; e++) {
    int32_t x = g->end[0][e], y = g->end[1][e];
    bool together = s->label[x] == s->label[y];
    if (s->edge[e] == BERTH_I_DESTRUCT_APART && together) s->impossible = true;
    if (s->edge[e] != BERTH_I_DESTRUCT_OPEN) continue;
    if (together) s->edge[e] = BERTH_I_DESTRUCT_SAME;
    else if (!(s->can[s->label[x]] & s->can[s->label[y]]))
      berth_i_destruct_decide(b, s, e, BERTH_I_DESTRUCT_APART);
    else if (s->h[0][x] + s->p[x] + g->c[e] + s->p[y] + s->h[1][y] > s->limit + s->slip) {
      berth_i_destruct_decide(b, s, e, BERTH_I_DESTRUCT_SAME);
    }
  }
  b->work += 2 * g->m;
}

static bool exhausted(const berth_i_destruct *b) { return b->st != BERTH_OK || b->work >= b->most; }

/* @return false: a contradiction */
static bool propagate(berth_i_destruct *b, berth_i_destruct_state *s) {
  s->impossible = false;
  for (int32_t x = 0; x < s->g->n; x++) {
    if (s->h[0][x] + s->p[x] + s->h[1][x] > s->limit + s->slip) s->impossible = true;
  }
  s->changed = true;
  for (int round = 0; round < ROUNDS && s->changed && !s->impossible && !exhausted(b); round++) {
    s->changed = false;
    berth_i_destruct_join(b, s, 0);
    if (!s->impossible) berth_i_destruct_join(b, s, 1);
    if (!s->impossible && (b->rules & BERTH_I_DESTRUCT_FORCE)) force(b, s);
    if (!s->impossible && (b->rules & BERTH_I_DESTRUCT_SERIAL)) berth_i_destruct_serial(b, s);
    if (!s->impossible && s->bytes && s->merged) berth_i_destruct_memory(b, s);
    if (!s->impossible && (b->rules & BERTH_I_DESTRUCT_PORTS) && b->port_work < b->port_most)
      berth_i_destruct_ports(b, s);
    if (!s->impossible && !s->changed && (b->rules & BERTH_I_DESTRUCT_LOADS))
      berth_i_destruct_loads(b, s);
  }
  return !s->impossible;
}

/* The open edge that has least room to cross. */
static int32_t tightest(const berth_i_destruct_state *s) {
  const berth_i_destruct_dag *g = s->g;
  double least = INFINITY;
  int32_t best = BERTH_NONE;
  for (int32_t e = 0; e < g->m; e++) {
    int32_t x = g->end[0][e], y = g->end[1][e];
    if (s->edge[e] != BERTH_I_DESTRUCT_OPEN || g->c[e] < s->limit / 200
        || s->label[x] == s->label[y])
      continue;
    double slack = s->limit - s->h[1][y] - s->p[y] - s->h[0][x] - s->p[x] - g->c[e];
    if (slack < least) least = slack, best = e;
  }
  return best;
}

/* Both ways of each edge lead to a contradiction: apart in a copy, the same place here. */
static bool refute_state(berth_i_destruct *b, berth_i_destruct_state *s, int32_t *nodes) {
  while (propagate(b, s)) {
    int32_t edge = *nodes > 0 && !exhausted(b) ? tightest(s) : BERTH_NONE;
    if (edge == BERTH_NONE) return false;
    --*nodes;
    berth_i_destruct_state child;
    if ((b->st = berth_i_destruct_state_copy(b, s, &child)) != BERTH_OK) return false;
    berth_i_destruct_decide(b, &child, edge, BERTH_I_DESTRUCT_APART);
    bool refuted = refute_state(b, &child, nodes);
    berth_i_destruct_state_release(b, &child);
    if (!refuted || b->st != BERTH_OK) return false;
    berth_i_destruct_decide(b, s, edge, BERTH_I_DESTRUCT_SAME);
  }
  return true;
}

/* true: no schedule takes `limit` or less. */
static bool refute(berth_i_destruct *b, const berth_i_destruct_dag *g, double limit) {
  int32_t nodes = b->nodes;
  if (exhausted(b) || (b->st = berth_i_interrupted(b->ctx)) != BERTH_OK) return false;
  berth_i_destruct_state s;
  if ((b->st = berth_i_destruct_state_init(b, g, limit, &s)) != BERTH_OK) return false;
  b->work += 4 * g->n + g->m;
  bool refuted = refute_state(b, &s, &nodes);
  berth_i_destruct_state_release(b, &s);
  return refuted && b->st == BERTH_OK;
}

double berth_i_destruct_raise(berth_i_destruct *b,
                              const berth_i_destruct_dag *g, double low,
                              double step) {
  double stride = step;
  if (!(step > 0) || !refute(b, g, low + step)) return low;
  low += step;
  while (refute(b, g, low + 2 * stride)) {
    stride *= 2;
    low += stride;
  }
  double high = low + 2 * stride;
  while (high - low > step && !exhausted(b)) {
    double middle = low + (high - low) / 2;
    if (refute(b, g, middle)) low = middle;
    else high = middle;
  }
  return low;
}
