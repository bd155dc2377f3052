/* Look-ahead of PAC-ML: one training step of a placed job, alone on its servers. Pieces run by
 * priority on each server, transfers by rank; time moves from end to end (a tick). Lists of a
 * server, highest rank first: pieces that are ready, rows under way.
 *
 * Invariant between ticks: what is listed has its predecessors done; `parts` counts the rows that
 * are still to arrive. O(servers + rows under way) a tick. Source: Parsonson et al., "Partitioning
 * distributed compute jobs with reinforcement learning and graph neural networks" (PAC-ML), its
 * simulator; discipline and departures: berth/ramp.h. */
#include "ramp_internal.h"

enum {
  SOON = 50000 /* rows: up to here a step takes milliseconds, so that no interrupt is needed */
};

typedef struct walk {
  berth_ramp_planner *p;
  int32_t pieces, parts;    /* still to come: pieces; rows, those with transfers within their server
                               and to others counted twice */
  int32_t n_local, n_later; /* in p->local and p->later */
  bool running, flowing;    /* in this tick */
} walk;

static const uint64_t *mask_of(const berth_ramp_planner *p, int32_t row) {
  return p->mask + (size_t)row * (size_t)p->words;
}

static bool leaves(const berth_ramp_planner *p, int32_t row) {
  const uint64_t *mask = mask_of(p, row);
  for (int32_t w = 0; w < p->words; w++)
    if (mask[w]) return !p->row[row].free;
  return false;
}

static bool stays(const berth_ramp_planner *p, int32_t row) {
  return p->row[row].free || p->row[row].local != BERTH_NONE;
}

/* ---- lists, highest first ---- */

static void make_ready(walk *k, int32_t piece) {
  berth_ramp_planner *p = k->p;
  int32_t *at = &p->ready[p->server[piece]], mine = p->priority[p->group[piece]];
  while (*at != BERTH_NONE && p->priority[p->group[*at]] > mine) at = &p->next[*at];
  p->next[piece] = *at;
  *at = piece;
}

/* ---- what follows from what ---- */

/* Published: every predecessor counts once it is done, partners of the synchronisation too. */
static void arrive(walk *k, int32_t piece) {
  berth_ramp_planner *p = k->p;
  if (++p->done[piece] == p->need[piece]) make_ready(k, piece);
}

/* To pieces on other servers, or to all if it is free. */
static void arrive_away(walk *k, int32_t row) {
  const berth_ramp_planner *p = k->p;
  const berth_i_ramp_row *r = &p->row[row];
  const uint64_t *mask = mask_of(p, row);
  bool sync = r->dst == p->group[p->source[row]];
  if (sync && !p->ramp->o.compat) return;
  for (int32_t j = p->base[r->dst]; j < p->base[r->dst + 1]; j++) {
    int32_t s = p->server[j];
    if (mask[s / 64] >> (s % 64) & 1) arrive(k, j);
  }
}

static void begin_row(walk *k, int32_t row) {
  if (stays(k->p, row)) k->p->later[k->n_later++] = row;
  if (leaves(k->p, row)) {
    berth_ramp_planner *p = k->p;
    int32_t *at = &p->flows[p->server[p->source[row]]];
    while (*at != BERTH_NONE && p->row[*at].rank > p->row[row].rank) at = &p->row_next[*at];
    p->row_next[row] = *at;
    *at = row;
  }
}

/* Its rows begin; one of a collective waits for all others of it. */
static void end_piece(walk *k, int32_t piece) {
  berth_ramp_planner *p = k->p;
  for (int32_t row = p->first_row[piece]; row < p->first_row[piece + 1]; row++) {
    int32_t set = p->row[row].set;
    if (set == BERTH_NONE) {
      begin_row(k, row);
      continue;
    }
    p->row_next[row] = p->gathered[set];
    p->gathered[set] = row;
    if (--p->waiting[set] > 0) continue;
    for (int32_t r = p->gathered[set], next; r != BERTH_NONE; r = next) {
      next = p->row_next[r];
      begin_row(k, r);
    }
  }
  k->pieces--;
}

/* ---- one tick ---- */

/* Calls a row first on a channel if no row above it uses that channel. Published: a row counts that
 * is first on any of its channels. Exact: a row moves that is first on all of them. */
static bool is_first(const berth_ramp_planner *p, int32_t row, const uint64_t *used) {
  const uint64_t *mask = mask_of(p, row);
  bool any = false, all = true;
  for (int32_t w = 0; w < p->words; w++) {
    any = any || (mask[w] & ~used[w]);
    all = all && !(mask[w] & used[w]);
  }
  return p->ramp->o.compat ? any : all;
}

static void use(const berth_ramp_planner *p, int32_t row, uint64_t *used) {
  const uint64_t *mask = mask_of(p, row);
  for (int32_t w = 0; w < p->words; w++) used[w] |= mask[w];
}

/* Transfers that take no time are a tick of their own, as published. Those that begin in a tick
 * move from the next on. @return s; INFINITY: nothing ends */
static double one_tick(walk *k) {
  berth_ramp_planner *p = k->p;
  const bool instant = k->n_local > 0, compat = p->ramp->o.compat;
  double tick = instant ? 0 : INFINITY;
  k->running = k->flowing = false;
  /* 1. Time to the first end: of the first piece of each server, and of the rows that are first on
   * a channel. */
  for (int32_t i = 0; i < p->n_own; i++) {
    int32_t s = p->own[i];
    uint64_t used[BERTH_I_RAMP_SERVERS / 64] = { 0 };
    if (p->ready[s] != BERTH_NONE) tick = fmin(tick, p->left[p->ready[s]]);
    for (int32_t row = p->flows[s]; !instant && row != BERTH_NONE; row = p->row_next[row]) {
      if (!is_first(p, row, used)) continue;
      tick = fmin(tick, p->row_left[row]);
      use(p, row, used);
    }
  }
  if (isinf(tick)) return tick;
  /* 2. Pieces run. */
  int32_t ended = BERTH_NONE;
  for (int32_t i = 0; i < p->n_own; i++) {
    int32_t s = p->own[i], piece = p->ready[s];
    if (piece == BERTH_NONE) continue;
    k->running = true;
    p->left[piece] -= fmin(tick, p->left[piece]);
    if (p->left[piece] > 0) continue;
    p->ready[s] = p->next[piece];
    p->next[piece] = ended;
    ended = piece;
  }
  /* 3. Transfers: those without time, else all flows (exact: those first on all their channels). */
  int32_t n = k->n_local, *local = p->local;
  for (int32_t i = 0; i < n; i++) {
    const berth_i_ramp_row *r = &p->row[local[i]];
    if (r->local != BERTH_NONE) arrive(k, r->local);
    if (r->free) arrive_away(k, local[i]);
    k->parts--;
  }
  for (int32_t i = 0; !instant && i < p->n_own; i++) {
    uint64_t used[BERTH_I_RAMP_SERVERS / 64] = { 0 };
    for (int32_t *at = &p->flows[p->own[i]]; *at != BERTH_NONE;) {
      int32_t row = *at;
      bool moves = compat || is_first(p, row, used);
      k->flowing = true;
      if (moves) {
        use(p, row, used);
        p->row_left[row] -= fmin(tick, p->row_left[row]);
      }
      if (!moves || p->row_left[row] > 0) {
        at = &p->row_next[row];
        continue;
      }
      *at = p->row_next[row];
      arrive_away(k, row);
      k->parts--;
    }
  }
  /* 4. What pieces that have ended send begins. */
  for (int32_t piece = ended, next; piece != BERTH_NONE; piece = next) {
    next = p->next[piece];
    end_piece(k, piece);
  }
  p->local = p->later;
  p->later = local;
  k->n_local = k->n_later;
  k->n_later = 0;
  return tick;
}

/* ---- a step ---- */

static void begin(walk *k, const berth_ramp_model *m) {
  berth_ramp_planner *p = k->p;
  k->pieces = p->n_pieces;
  for (int32_t set = 0; set < 4 * m->n; set++) p->waiting[set] = 0, p->gathered[set] = BERTH_NONE;
  for (int32_t row = 0; row < p->n_rows; row++)
    if (p->row[row].set != BERTH_NONE) p->waiting[p->row[row].set]++;
  for (int32_t i = 0; i < p->n_own; i++) p->ready[p->own[i]] = p->flows[p->own[i]] = BERTH_NONE;
  for (int32_t row = 0; row < p->n_rows; row++) k->parts += stays(p, row) + leaves(p, row);
  for (int32_t piece = 0; piece < p->n_pieces; piece++)
    if (p->need[piece] == 0) make_ready(k, piece);
}

berth_status berth_i_ramp_lookahead(berth_ramp_planner *p, const berth_ramp_model *m,
                               berth_ramp_outcome *out) {
  walk k = { .p = p };
  berth_status st = BERTH_OK;
  begin(&k, m);
  while (k.pieces > 0 || k.parts > 0) {
    if (p->n_rows > SOON && (st = berth_i_interrupted(p->ramp->ctx)) != BERTH_OK) return st;
    double tick = one_tick(&k);
    if (isinf(tick))
      return berth_i_fail(p->ramp->ctx, BERTH_EINVAL,
                          "ramp: a step takes longer than can be counted");
    out->ticks++;
    out->step += tick;
    if (k.running) out->compute += tick;
    if (k.flowing) out->communication += tick;
  }
  return BERTH_OK;
}
