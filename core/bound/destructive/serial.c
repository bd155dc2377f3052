/* One machine: what must share a device runs there one after another. A place of several devices is
 * one that is so many times as fast, for sums: each op is evaluated by itself elsewhere.
 * Heads of joins (tails of forks) by Jackson's schedule of what stays with them; windows of
 * clusters by Jackson's schedule, and by edge finding. O(edges n log(n)), edge finding O(n^3) for
 * up to 24 heavy ops. Source: Carlier, Pinson 1989. */
#include "base/sort_internal.h"
#include "destructive_internal.h"

/* ---- joins and forks ---- */

/* Those of the op's cluster that come before v; ids rise from the label on.
 * @return how many items there are then */
static int32_t add_cluster(berth_i_destruct *b, const berth_i_destruct_state *s, int dir,
                           int32_t op, int32_t v, int32_t n) {
  int32_t first = s->label[op], x = first;
  do {
    double q = dir ? x <= v ? -1 : berth_i_destruct_path(b, 1, s->g->id[x], s->g->id[v])
             : x >= v ? -1 : berth_i_destruct_path(b, 0, s->g->id[x], s->g->id[v]);
    if (q >= 0) b->item[n++] = (berth_i_destruct_item){ s->h[dir][x], s->p[x] / b->width, q };
    b->work++;
    x = s->next[x];
  } while (x != first && (dir || x < v));
  return n;
}

BERTH_I_SORT(sort_by_arrival, berth_i_destruct_input, BERTH_I_DOWN(arrival) BERTH_I_UP(op))

/* @param base out: v starts no earlier in any case. @return inputs whose crossing would delay v,
 *        the latest first */
static int32_t late_inputs(berth_i_destruct *b, const berth_i_destruct_state *s, int dir, int32_t v,
                           double *base) {
  const berth_i_destruct_dag *g = s->g;
  int32_t n = 0;
  *base = s->h[dir][v];
  for (int32_t i = g->at[dir][v]; i < g->at[dir][v + 1]; i++) {
    int32_t e = g->edge[dir][i], u = g->end[dir][e];
    double done = s->h[dir][u] + s->p[u];
    *base = berth_i_max(*base, done + (s->edge[e] == BERTH_I_DESTRUCT_APART ? g->c[e] : 0));
    if (s->edge[e] == BERTH_I_DESTRUCT_OPEN && s->label[u] != s->label[v]
        && done + g->c[e] > s->h[dir][v]) {
      b->input[n++] = (berth_i_destruct_input){ done + g->c[e], u };
    }
  }
  b->work += g->at[dir][v + 1] - g->at[dir][v];
  sort_by_arrival(b->input, (size_t)n);
  return n;
}

/* v waits for the input, if there is one, and for what crosses the port with it. */
static double wait_for(berth_i_destruct *b, const berth_i_destruct_state *s, int dir, int32_t v,
                       const berth_i_destruct_input *in, int32_t items) {
  uint8_t *side = in ? &b->side[s->label[in->op]] : NULL, was = side ? *side : 0;
  double wait = in ? in->arrival : 0;
  if (!(b->rules & BERTH_I_DESTRUCT_PORTS) || b->port_work >= b->port_most) return wait;
  if (side) *side = BERTH_I_DESTRUCT_ELSEWHERE;
  wait = berth_i_max(wait, berth_i_destruct_port_delay(b, s, dir, v, items));
  if (side) *side = was;
  return wait;
}

/* The k latest inputs stay on v's device, and v waits for the next one, which crosses only if none
 * of its cluster is among them; an input whose cluster is elsewhere is the last one evaluated. */
static double join_value(berth_i_destruct *b, const berth_i_destruct_state *s, int dir,
                         int32_t v) {
  double base, best = INFINITY;
  int32_t n = late_inputs(b, s, dir, v, &base);
  if (!(b->rules & BERTH_I_DESTRUCT_JOIN)) return base;
  if (n == 0 && s->next[v] == v && !(b->rules & BERTH_I_DESTRUCT_PORTS)) return base;
  int32_t items = add_cluster(b, s, dir, v, v, 0);
  berth_i_destruct_sides(b, s, dir, v);
  for (int32_t k = 0; k <= n; k++) {
    uint8_t *side = k < n ? &b->side[s->label[b->input[k].op]] : NULL;
    if (side && *side == BERTH_I_DESTRUCT_HERE) continue;
    double local = berth_i_max(base, berth_i_destruct_jackson(b, items));
    if (local < best) {
      double wait = wait_for(b, s, dir, v, side ? &b->input[k] : NULL, items);
      best = berth_i_min(best, berth_i_max(local, wait));
    }
    if (k == n || local >= best || *side == BERTH_I_DESTRUCT_ELSEWHERE) break;
    items = add_cluster(b, s, dir, b->input[k].op, v, items);
    *side = BERTH_I_DESTRUCT_HERE;
  }
  return best;
}

/* The value of a join depends on its cluster and those of its inputs alone. */
static bool joins_anew(const berth_i_destruct_state *s, int dir, int32_t v) {
  const berth_i_destruct_dag *g = s->g;
  const int32_t *stamp = s->stamp[dir], since = s->swept[dir];
  bool anew = stamp[s->label[v]] > since;
  for (int32_t i = g->at[dir][v]; i < g->at[dir][v + 1] && !anew; i++)
    anew = stamp[s->label[g->end[dir][g->edge[dir][i]]]] > since;
  return anew;
}

/* What a sweep raises matters to later ops of it only. */
void berth_i_destruct_join(berth_i_destruct *b, berth_i_destruct_state *s, int dir) {
  int32_t n = s->g->n;
  for (int32_t i = 0; i < n && !s->impossible; i++) {
    int32_t v = dir ? n - 1 - i : i;
    if (joins_anew(s, dir, v)) berth_i_destruct_lift(s, dir, v, join_value(b, s, dir, v));
  }
  b->work += n + 2 * s->g->m;
  s->swept[dir] = s->clock;
}

/* ---- clusters ---- */

/* Classes of devices on which the n ops of b->list cannot run in time are out. */
static void check_cluster(berth_i_destruct *b, berth_i_destruct_state *s, int32_t label,
                          int32_t n) {
  bool some = false;
  for (int32_t k = 0; k < b->classes && !some; k++) {
    if (b->masks && !(s->can[label] & b->class_of[k])) continue;
    for (int32_t i = 0; i < n; i++) {
      int32_t x = b->list[i];
      size_t op = (size_t)b->op[s->g->id[x]];
      double p = s->p[x];
      if (b->classes > 1 && s->g->p[x] > 0)
        p = berth_i_max(p, b->u->cost->op[op * (size_t)b->classes + (size_t)k]);
      b->item[i] = (berth_i_destruct_item){ s->h[0][x], p / b->width, s->h[1][x] };
    }
    some = berth_i_destruct_jackson(b, n) <= s->limit + s->slip;
    if (!some && b->masks) s->can[label] &= ~b->class_of[k];
  }
  if (!some) s->impossible = true;
}

/* Edge finding: an op that cannot be followed by any of those that fill an interval (from, to)
 * comes after all of them.  O(n^3) */
static void find_edges(berth_i_destruct *b, berth_i_destruct_state *s, int dir, int32_t n) {
  const int32_t *list = b->list;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t j = 0; j < n && !s->impossible; j++) {
      double from = s->h[dir][list[i]], to = s->limit - s->h[!dir][list[j]], load = 0;
      if (to <= from) continue;
      for (int32_t k = 0; k < n; k++) {
        if (s->h[dir][list[k]] >= from && s->limit - s->h[!dir][list[k]] <= to)
          load += s->p[list[k]];
      }
      b->work += 2 * n;
      for (int32_t k = 0; load > 0 && k < n; k++) {
        int32_t x = list[k];
        double h = s->h[dir][x];
        if (h >= from && s->limit - s->h[!dir][x] <= to) continue;
        if (berth_i_min(h, from) + load + s->p[x] > to + s->slip)
          berth_i_destruct_lift(s, dir, x, from + load);
      }
    }
  }
}

void berth_i_destruct_serial(berth_i_destruct *b, berth_i_destruct_state *s) {
  int32_t since = s->serial, now = s->clock;
  s->serial = now;
  for (int32_t label = 0; label < s->g->n && !s->impossible; label++) {
    int32_t x = label, n = 0, heavy = 0;
    if (s->label[x] != x || s->next[x] == x) continue;
    if (s->stamp[0][x] <= since && s->stamp[1][x] <= since) continue;
    do b->list[n++] = x;
    while ((x = s->next[x]) != label);
    b->work += n;
    check_cluster(b, s, label, n);
    if (s->impossible || !(b->rules & BERTH_I_DESTRUCT_EDGE_FINDING)) continue;
    for (int32_t i = 0; i < n; i++) {
      if (s->p[b->list[i]] >= s->limit / 200) b->list[heavy++] = b->list[i];
    }
    if (heavy < 2 || heavy > 24) continue;
    find_edges(b, s, 0, heavy);
    find_edges(b, s, 1, heavy);
  }
}
