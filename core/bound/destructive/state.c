/* Facts that hold for all schedules within a limit: windows of ops, which of them share a device (a
 * cluster, named by its least member), which edges cross. One block holds all arrays, so that a
 * state is copied at once. Invariant: windows only narrow, clusters only grow. */
#include "destructive_internal.h"

static berth_status alloc_state(berth_i_destruct *b,
                                const berth_i_destruct_dag *g,
                                berth_i_destruct_state *s) {
  size_t n = (size_t)g->n;
  memset(s, 0, sizeof *s);
  s->g = g;
  s->size = n * (3 * sizeof(double) + sizeof(uint64_t) + 4 * sizeof(int32_t)) + (size_t)g->m;
  if (b->kinds) s->size += n * sizeof *s->bytes;
  if (!(s->block = berth_i_alloc(b->ctx, s->size, 1))) return berth_i_nomem(b->ctx);
  char *at = s->block;
  s->h[0] = (double *)(void *)at;
  s->h[1] = s->h[0] + n;
  s->p = s->h[1] + n;
  s->can = (uint64_t *)(void *)(s->p + n);
  at = (char *)(s->can + n);
  if (b->kinds) {
    s->bytes = (berth_i_least_bytes *)(void *)at;
    at += n * sizeof *s->bytes;
  }
  s->label = (int32_t *)(void *)at;
  s->next = s->label + n;
  s->stamp[0] = s->next + n;
  s->stamp[1] = s->stamp[0] + n;
  s->edge = (uint8_t *)(void *)(s->stamp[1] + n);
  return BERTH_OK;
}

void berth_i_destruct_state_release(berth_i_destruct *b, berth_i_destruct_state *s) {
  berth_i_free(b->ctx, s->block, s->size, 1);
  s->block = NULL;
}

berth_status berth_i_destruct_state_copy(berth_i_destruct *b, const berth_i_destruct_state *from,
                                     berth_i_destruct_state *s) {
  berth_status st = alloc_state(b, from->g, s);
  if (st != BERTH_OK) return st;
  memcpy(s->block, from->block, from->size);
  b->work += from->g->n;
  s->limit = from->limit;
  s->slip = from->slip;
  s->rest = from->rest;
  s->clock = from->clock;
  s->serial = from->serial;
  for (int i = 0; i < 2; i++) s->swept[i] = from->swept[i];
  s->merged = from->merged;
  return BERTH_OK;
}

void berth_i_destruct_lift(berth_i_destruct_state *s, int dir, int32_t op, double value) {
  if (!(value > s->h[dir][op] + s->slip)) return;
  s->h[dir][op] = value;
  s->changed = true;
  s->stamp[dir][s->label[op]] = ++s->clock;
  if (s->h[0][op] + s->p[op] + s->h[1][op] > s->limit + s->slip) s->impossible = true;
}

/* ---- clusters ---- */

static void touch(berth_i_destruct_state *s, int32_t op) {
  s->stamp[0][s->label[op]] = s->stamp[1][s->label[op]] = ++s->clock;
}

/* Fewer devices: op times may be longer. The end of a part has none. */
static void narrow(berth_i_destruct *b, berth_i_destruct_state *s, int32_t label, uint64_t can) {
  int32_t x = label;
  if (!b->masks) return;
  s->can[label] = can;
  if (!can) s->impossible = true;
  if (!can || b->classes == 1) return;
  do {
    const double *time = b->u->cost->op + (size_t)b->op[s->g->id[x]] * (size_t)b->classes;
    double p = s->g->p[x] > 0 ? INFINITY : 0;
    for (int32_t k = 0; k < b->classes; k++) {
      if (can & b->class_of[k]) p = berth_i_min(p, time[k]);
    }
    if (p > s->p[x]) s->p[x] = p, s->changed = true, touch(s, x);
    if (s->h[0][x] + s->p[x] + s->h[1][x] > s->limit + s->slip) s->impossible = true;
    x = s->next[x];
  } while (x != label);
}

/* Both rise from their least member on, which `keep` is of the list that results. */
static void join_lists(berth_i_destruct *b, berth_i_destruct_state *s, int32_t keep, int32_t drop) {
  int32_t last = keep, x = s->next[keep], y = drop;
  bool more_x = x != keep, more_y = true;
  while (more_x || more_y) {
    bool take_x = more_x && (!more_y || x < y);
    int32_t *from = take_x ? &x : &y;
    s->next[last] = *from;
    last = *from;
    *from = s->next[last];
    if (take_x) more_x = x != keep;
    else more_y = y != drop;
    b->work++;
  }
  s->next[last] = keep;
}

static void merge(berth_i_destruct *b, berth_i_destruct_state *s, int32_t x, int32_t y) {
  int32_t a = s->label[x], c = s->label[y], keep = a < c ? a : c, drop = a < c ? c : a, i = drop;
  if (a == c) return;
  uint64_t can = s->can[keep] & s->can[drop];
  do {
    s->label[i] = keep;
    i = s->next[i];
    b->work++;
  } while (i != drop);
  join_lists(b, s, keep, drop);
  s->changed = s->merged = true;
  touch(s, keep);
  if (s->bytes) {
    berth_i_least_add(&s->bytes[keep], s->bytes[drop]);
    can = berth_i_destruct_holding(b, can, s->bytes[keep]);
    if (!can) s->impossible = true;
  }
  narrow(b, s, keep, can);
}

void berth_i_destruct_decide(berth_i_destruct *b, berth_i_destruct_state *s,
                             int32_t e, int verdict) {
  int32_t x = s->g->end[0][e], y = s->g->end[1][e];
  s->edge[e] = (uint8_t)verdict;
  s->changed = true;
  touch(s, x);
  touch(s, y);
  if (verdict == BERTH_I_DESTRUCT_SAME) merge(b, s, x, y);
  else if (s->label[x] == s->label[y]) s->impossible = true;
}

/* Groups, and what is pinned to one device.  b->mark: first op of a unit */
static void merge_given(berth_i_destruct *b, berth_i_destruct_state *s) {
  int32_t first[64], d;
  for (d = 0; d < 64; d++) first[d] = BERTH_NONE;
  for (int32_t i = 0; i < s->g->n; i++) b->mark[b->u->of[b->op[s->g->id[i]]]] = BERTH_NONE;
  for (int32_t i = 0; i < s->g->n; i++) {
    int32_t *mate = &b->mark[b->u->of[b->op[s->g->id[i]]]];
    if (*mate != BERTH_NONE) merge(b, s, *mate, i);
    *mate = i;
  }
  for (int32_t i = 0; b->masks && i < s->g->n; i++) {
    uint64_t can = s->can[s->label[i]];
    if (!can || can & (can - 1)) continue; /* not one place */
    for (d = 0; !(can >> d & 1); d++) continue;
    if (first[d] != BERTH_NONE) merge(b, s, first[d], i);
    first[d] = i;
  }
}

/* The bytes of a unit are with its first op here; in a part that leaves ops out, others do not
 * count.  b->mark: 1: counted */
static void fill_bytes(berth_i_destruct *b, berth_i_destruct_state *s) {
  static const berth_i_least_bytes none = { 0, 0, 0 };
  if (!s->bytes) return;
  for (int32_t i = 0; i < b->u->n; i++) b->mark[i] = 0;
  for (int32_t i = 0; i < s->g->n; i++) {
    int32_t unit = b->u->of[b->op[s->g->id[i]]];
    s->bytes[i] = b->mark[unit] ? none : berth_i_least_unit(&b->kinds->least, unit);
    b->mark[unit] = 1;
  }
  for (int32_t i = 0; i < b->u->n && b->window >= b->n; i++) {
    if (!b->mark[i]) berth_i_least_add(&s->rest, berth_i_least_unit(&b->kinds->least, i));
  }
  s->merged = true;
}

berth_status berth_i_destruct_state_init(berth_i_destruct *b,
                                         const berth_i_destruct_dag *g,
                                         double limit,
                                         berth_i_destruct_state *s) {
  size_t n = (size_t)g->n;
  berth_status st = alloc_state(b, g, s);
  if (st != BERTH_OK) return st;
  s->limit = limit;
  s->slip = 1e-11 * limit;
  s->clock = 1;
  for (int32_t i = 0; i < 2; i++) memcpy(s->h[i], g->h[i], n * sizeof(double));
  memcpy(s->p, g->p, n * sizeof *s->p);
  memset(s->edge, BERTH_I_DESTRUCT_OPEN, (size_t)g->m);
  for (int32_t i = 0; i < g->n; i++) {
    s->label[i] = s->next[i] = i;
    s->stamp[0][i] = s->stamp[1][i] = 1;
    s->can[i] = b->masks ? b->can[g->id[i]] : ~(uint64_t)0;
  }
  fill_bytes(b, s);
  merge_given(b, s);
  return BERTH_OK;
}
