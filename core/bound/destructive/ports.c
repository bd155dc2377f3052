/* What must cross goes through the port of its place, one after another: of a join's inputs, and of
 * a cluster. A tensor goes to a place once: `slot` has its item in the present epoch.
 * O(inputs^2) for a join, O(edges log(edges)) for all clusters. */
#include "destructive_internal.h"

/* ---- one op ---- */

void berth_i_destruct_sides(berth_i_destruct *b,
                            const berth_i_destruct_state *s, int dir,
                            int32_t v) {
  const berth_i_destruct_dag *g = s->g;
  for (int32_t i = g->at[dir][v]; i < g->at[dir][v + 1]; i++)
    b->side[s->label[g->end[dir][g->edge[dir][i]]]] = BERTH_I_DESTRUCT_EITHER;
  for (int32_t i = g->at[dir][v]; i < g->at[dir][v + 1]; i++) {
    int32_t e = g->edge[dir][i];
    if (s->edge[e] == BERTH_I_DESTRUCT_APART)
      b->side[s->label[g->end[dir][e]]] = BERTH_I_DESTRUCT_ELSEWHERE;
  }
  b->side[s->label[v]] = BERTH_I_DESTRUCT_HERE;
}

static void forget_slots(berth_i_destruct *b) { b->epoch_of_slots++; }

/* @param n items so far; a new one counts from there  @return the tensor's item */
static int32_t slot_of(berth_i_destruct *b, int32_t tensor, int32_t *n) {
  if (b->slot_epoch[tensor] != b->epoch_of_slots) {
    b->slot_epoch[tensor] = b->epoch_of_slots;
    b->slot[tensor] = (*n)++;
    b->port[b->slot[tensor]] = (berth_i_port_item){ INFINITY, INFINITY, 0, 0 };
  }
  return b->slot[tensor];
}

/* Consumers of one tensor: if one of them is elsewhere it crosses once at least, in time for the
 * first of those; else it does not if all that can be are here. */
static void join_consumer(berth_i_port_item *x, const berth_i_port_item *y) {
  x->w = berth_i_max(x->w, y->w);
  if (isinf(y->p)) {
    x->end = isinf(x->p) ? berth_i_max(x->end, y->end) : y->end;
    x->p = INFINITY;
  } else if (!isinf(x->p)) {
    x->p += y->p;
    x->head = berth_i_min(x->head, y->head);
    x->end = berth_i_min(x->end, y->end);
  }
}

double berth_i_destruct_port_delay(berth_i_destruct *b, const berth_i_destruct_state *s, int dir,
                                   int32_t v, int32_t items) {
  const berth_i_destruct_dag *g = s->g;
  double most = 0;
  int32_t n = 0;
  if (dir) forget_slots(b);
  for (int32_t i = g->at[dir][v]; i < g->at[dir][v + 1]; i++) {
    int32_t e = g->edge[dir][i], u = g->end[dir][e];
    int side = b->side[s->label[u]];
    double head = s->h[dir][u], w = g->w[dir][e];
    berth_i_port_item x = { head, head + s->p[u],
                            side == BERTH_I_DESTRUCT_ELSEWHERE ? INFINITY : s->p[u] / b->width,
                            w };
    if (side == BERTH_I_DESTRUCT_HERE || !(w > 0)) continue;
    if (dir) join_consumer(&b->port[slot_of(b, g->tensor[e], &n)], &x);
    else b->port[n++] = x;
  }
  b->port_work += g->at[dir][v + 1] - g->at[dir][v];
  if (n == 0) return 0;
  n = berth_i_port_order(b->port, n);
  for (int32_t i = 0; i < n; i++) {
    double from = isinf(b->port[i].p) ? b->port[i].end : b->port[i].head, load = 0;
    for (int32_t j = 0; j < items; j++) load += b->item[j].r >= from ? b->item[j].p : 0;
    most = berth_i_max(most, berth_i_port_split(b->port, n, from, load));
  }
  b->port_work += (int64_t)n * (2 * n + items);
  return most;
}

/* ---- one cluster ---- */

/* Seconds that the tensor of an edge takes of the port. */
static double taken(const berth_i_destruct *b, const berth_i_destruct_dag *g, int dir, int32_t e) {
  const double *width = b->ports.width;
  return dir || isinf(width[1]) ? g->w[dir][e] * dir : g->w[1][e] * width[1] / width[0];
}

/* Tensors between the cluster and elsewhere, one item each; dir 0: into it. What one tensor is for
 * ends last where it counts.  @return false: they cannot all cross in time */
static bool crosses_in_time(berth_i_destruct *b, const berth_i_destruct_state *s, int dir,
                            int32_t label) {
  const berth_i_destruct_dag *g = s->g;
  int32_t x = label, n = 0;
  forget_slots(b);
  do {
    for (int32_t i = g->at[dir][x]; i < g->at[dir][x + 1]; i++) {
      int32_t e = g->edge[dir][i], src = g->end[0][e], dst = g->end[1][e];
      if (s->edge[e] != BERTH_I_DESTRUCT_APART || !(g->w[dir][e] > 0)) continue;
      berth_i_port_item *to = &b->port[slot_of(b, g->tensor[e], &n)];
      to->head = s->h[0][src] + s->p[src];
      to->p = berth_i_max(to->p, s->p[dst] + s->h[1][dst]);
      to->w = berth_i_max(to->w, taken(b, g, dir, e));
    }
    b->port_work += 1 + g->at[dir][x + 1] - g->at[dir][x];
    x = s->next[x];
  } while (x != label);
  if (n > b->n) n = b->n; /* the array of items has no more entries */
  for (int32_t i = 0; i < n; i++)
    b->item[i] = (berth_i_destruct_item){ b->port[i].head, b->port[i].w, b->port[i].p };
  return n < 2 || berth_i_destruct_jackson(b, n) <= s->limit + s->slip;
}

void berth_i_destruct_ports(berth_i_destruct *b, berth_i_destruct_state *s) {
  for (int32_t x = 0; x < s->g->n && !s->impossible; x++) {
    for (int dir = 0; dir < 2 && s->label[x] == x && !s->impossible; dir++)
      s->impossible = !crosses_in_time(b, s, dir, x);
  }
}
