/* Random moves. Weights: a block to a random device 2, to a neighbour's 2, swap 2, rotation 2, a
 * link of the critical chain 6, a run of the chain on one device 3. Invariant: a move is on the
 * walk's stack of changes, to be kept or undone; pins, types and groups hold. O(size of the blocks
 * + devices), and O(chain) along the chain. */
#include "search_internal.h"

static int32_t below(berth_i_walk *w, int32_t n) { return berth_rng_below(&w->rng, n); }

/* Another one than the present, where the block may be. */
static void to_random(berth_i_walk *w, const berth_i_clumps *b, int32_t block) {
  int32_t now = berth_i_block_device(w, b, block);
  if (w->p->n_devices < 2) return;
  int32_t d = below(w, w->p->n_devices - 1);
  berth_i_walk_put_block(w, b, block, d + (d >= now));
}

/* One that reads from the op or that it reads from; BERTH_NONE. */
static int32_t random_neighbour(berth_i_walk *w, int32_t op) {
  const berth_graph *g = w->p->cost->g;
  int32_t ins = g->in_at[op + 1] - g->in_at[op], outs = g->out_at[op + 1] - g->out_at[op];
  if (ins + outs == 0) return BERTH_NONE;
  int32_t k = below(w, ins + outs);
  if (k < ins) return g->producer[g->in[g->in_at[op] + k]];
  int32_t t = g->out[g->out_at[op] + k - ins];
  if (g->use_at[t] == g->use_at[t + 1]) return BERTH_NONE;
  return g->use[g->use_at[t] + below(w, g->use_at[t + 1] - g->use_at[t])];
}

static void to_neighbour(berth_i_walk *w, const berth_i_clumps *b, int32_t block) {
  int32_t op = b->ops[b->at[block] + below(w, b->at[block + 1] - b->at[block])],
          other = random_neighbour(w, op);
  if (other != BERTH_NONE && b->of[other] != block)
    berth_i_walk_put_block(w, b, block, w->device[other]);
}

/* k blocks of a class go round: each to the device of the next. */
static void rotate(berth_i_walk *w, const berth_i_clumps *b, int32_t block, int32_t k) {
  int32_t size = b->class_size[block];
  if (size < 2) return;
  if (k > size) k = size;
  int32_t from = below(w, size);
  int32_t device[5], chosen[5];
  for (int32_t i = 0; i < k; i++) { /* drawn one by one: blocks that come twice are no move */
    int32_t at = b->class_first[block] + (i == 0 ? from : below(w, size));
    chosen[i] = b->by_class[at];
    int32_t j;
    for (j = 0; j < i && chosen[j] != chosen[i]; j++) continue;
    if (j < i) return; /* drawn twice: no move */
    device[i] = berth_i_block_device(w, b, chosen[i]);
  }
  int32_t first = device[0];
  for (int32_t i = 0; i < k; i++)
    berth_i_walk_put_block(w, b, chosen[i], i + 1 < k ? device[i + 1] : first);
}

/* ---- the critical chain ---- */

static bool reads_from(const berth_graph *g, int32_t op, int32_t from) {
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    if (g->producer[g->in[i]] == from) return true;
  }
  return false;
}

/* A link of use: the op waited for a tensor from elsewhere, or for its device. */
static bool useful(const berth_i_walk *w, const berth_i_clumps *b, int32_t link) {
  int32_t op = w->chain[link], cause = w->chain[link + 1];
  if (b->of[op] == b->of[cause]) return w->device[op] != w->device[cause];
  return w->device[op] != w->device[cause] || !reads_from(w->p->cost->g, op, cause);
}

static void along_chain(berth_i_walk *w, const berth_i_clumps *b) {
  int32_t n = 0;
  for (int32_t i = 0; i + 1 < w->n_chain; i++) {
    if (useful(w, b, i)) w->order[n++] = i;
  }
  if (n == 0) return;
  int32_t link = w->order[below(w, n)], op = w->chain[link], cause = w->chain[link + 1];
  int32_t coin = below(w, 2);
  if (w->device[op] == w->device[cause]) to_random(w, b, b->of[coin ? op : cause]);
  else if (coin) berth_i_walk_put_block(w, b, b->of[op], w->device[cause]);
  else berth_i_walk_put_block(w, b, b->of[cause], w->device[op]);
}

/* Ops of the chain in a row on one device go to the device before or behind them: two
 * transfers less, where single moves would each add some. */
static void run_of_chain(berth_i_walk *w, const berth_i_clumps *b) {
  enum { LONGEST = 64 };
  int32_t n = 0;
  for (int32_t i = 0; i + 1 < w->n_chain; i++) {
    if (w->device[w->chain[i]] != w->device[w->chain[i + 1]]) w->order[n++] = i;
  }
  if (n == 0) return;
  int32_t link = w->order[below(w, n)], back = below(w, 2), left = 1 + below(w, LONGEST);
  int32_t at = back ? link + 1 : link, step = back ? 1 : -1;
  int32_t from = w->device[w->chain[at]], to = w->device[w->chain[back ? link : link + 1]];
  for (; at >= 0 && at < w->n_chain && left > 0; at += step, left--) {
    int32_t op = w->chain[at];
    if (w->touched[op]) continue; /* its block is moved */
    if (w->device[op] != from) return;
    berth_i_walk_put_block(w, b, b->of[op], to);
  }
}

/* ---- memory after a move ---- */

static double overflow_of(const berth_i_walk *w, int32_t d) {
  return w->held[d] - w->p->cost->t->devices[d].memory * (1 + 1e-9);
}

/* Of a few unmoved blocks on the device the one whose bytes are closest to the overflow. */
static int32_t pick_to_leave(berth_i_walk *w, const berth_i_clumps *b, int32_t d) {
  enum { SOME = 3, DRAWS = 6 };
  const double need = overflow_of(w, d);
  int32_t seen = 0, best = BERTH_NONE;
  for (int32_t i = 0; i < DRAWS * w->p->n_devices && seen < SOME; i++) {
    int32_t block = below(w, b->n);
    bool moved = false;
    for (int32_t k = b->at[block]; k < b->at[block + 1]; k++) moved |= w->touched[b->ops[k]];
    if (berth_i_block_device(w, b, block) != d || !(b->bytes[block] > 0) || moved) continue;
    seen++;
    if (best == BERTH_NONE || fabs(b->bytes[block] - need) < fabs(b->bytes[best] - need))
      best = block;
  }
  return best;
}

static bool fits(const berth_i_walk *w, const berth_i_clumps *b, int32_t block, int32_t d) {
  return berth_i_block_may(w, b, block, d)
         && w->held[d] + b->bytes[block] <= w->p->cost->t->devices[d].memory;
}

/* Where what came was before, as in a swap; else anywhere. */
static int32_t place_to_go(berth_i_walk *w, const berth_i_clumps *b, int32_t block, int32_t from) {
  int32_t d = w->undo_device[0];
  if (d != from && fits(w, b, block, d)) return d;
  d = below(w, w->p->n_devices);
  for (int32_t i = 0; i < w->p->n_devices; i++, d = (d + 1) % w->p->n_devices) {
    if (d != from && fits(w, b, block, d)) return d;
  }
  return BERTH_NONE;
}

void berth_i_walk_evict(berth_i_walk *w, const berth_i_clumps *b) {
  enum { MOST = 8 };
  if (!w->p->bytes || w->n_undo == 0) return;
  int32_t d, block, to;
  for (int32_t i = 0; i < MOST; i++) {
    for (d = 0; d < w->p->n_devices && !(overflow_of(w, d) > 0); d++) continue;
    if (d == w->p->n_devices) return;
    if ((block = pick_to_leave(w, b, d)) == BERTH_NONE) return;
    if ((to = place_to_go(w, b, block, d)) == BERTH_NONE) return;
    berth_i_walk_put_block(w, b, block, to);
  }
}

void berth_i_walk_move(berth_i_walk *w, const berth_i_clumps *b, double single) {
  enum { RANDOM = 20, NEIGHBOUR = 40, SWAP = 60, ROTATE = 80, LINK = 140, ALL = 170 };
  const berth_i_clumps *on = berth_rng_uniform(&w->rng) < single ? &w->p->atoms : b;
  int32_t kind = below(w, ALL), block = below(w, on->n);
  if (kind < RANDOM) to_random(w, on, block);
  else if (kind < NEIGHBOUR) to_neighbour(w, on, block);
  else if (kind < SWAP) rotate(w, b, below(w, b->n), 2);
  else if (kind < ROTATE) {
    int32_t length = 2 + below(w, 4); /* drawn first: compilers differ in the order of arguments */
    rotate(w, b, below(w, b->n), length);
  }
  else if (kind < LINK) along_chain(w, on);
  else run_of_chain(w, on);
  berth_i_walk_evict(w, on);
}
