/* Random moves. Weights: a block to a random device 1, to a neighbour's 1, swap 1, rotation 1, a link of the critical chain 3. */
#include "search_internal.h"

static int32_t below(berth_i_walk *w, int32_t n) { return berth_rng_below(&w->rng, n); }

/* Another one than the present, where the block may be. */
static void to_random(berth_i_walk *w, const berth_i_clumps *b, int32_t block) {
  int32_t now = berth_i_block_device(w, b, block), d;
  if (w->p->n_devices < 2) return;
  d = below(w, w->p->n_devices - 1);
  berth_i_walk_put_block(w, b, block, d + (d >= now));
}

/* One that reads from the op or that it reads from; BERTH_NONE. */
static int32_t random_neighbour(berth_i_walk *w, int32_t op) {
  const berth_graph *g = w->p->cost->g;
  int32_t ins = g->in_at[op + 1] - g->in_at[op], outs = g->out_at[op + 1] - g->out_at[op], k, t;
  if (ins + outs == 0) return BERTH_NONE;
  k = below(w, ins + outs);
  if (k < ins) return g->producer[g->in[g->in_at[op] + k]];
  t = g->out[g->out_at[op] + k - ins];
  if (g->use_at[t] == g->use_at[t + 1]) return BERTH_NONE;
  return g->use[g->use_at[t] + below(w, g->use_at[t + 1] - g->use_at[t])];
}

static void to_neighbour(berth_i_walk *w, const berth_i_clumps *b, int32_t block) {
  int32_t op = b->ops[b->at[block] + below(w, b->at[block + 1] - b->at[block])], other = random_neighbour(w, op);
  if (other != BERTH_NONE && b->of[other] != block) berth_i_walk_put_block(w, b, block, w->device[other]);
}

/* k blocks of a class go round: each to the device of the next. */
static void rotate(berth_i_walk *w, const berth_i_clumps *b, int32_t block, int32_t k) {
  int32_t size = b->class_size[block], from, first, i, device[5], chosen[5];
  if (size < 2) return;
  if (k > size) k = size;
  from = below(w, size);
  for (i = 0; i < k; i++) { /* neighbours in a shuffled stretch would be as good: a stride that meets each once */
    int32_t at = b->class_first[block] + (i == 0 ? from : below(w, size)), j;
    chosen[i] = b->by_class[at];
    for (j = 0; j < i && chosen[j] != chosen[i]; j++) continue;
    if (j < i) return; /* met twice: no move */
    device[i] = berth_i_block_device(w, b, chosen[i]);
  }
  first = device[0];
  for (i = 0; i < k; i++) berth_i_walk_put_block(w, b, chosen[i], i + 1 < k ? device[i + 1] : first);
}

/* ---- the critical chain ------------------------------------------------------------------------------ */

static bool reads_from(const berth_graph *g, int32_t op, int32_t from) {
  int32_t i;
  for (i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
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

static int32_t random_link(berth_i_walk *w, const berth_i_clumps *b) {
  int32_t i, n = 0;
  for (i = 0; i + 1 < w->n_chain; i++) {
    if (useful(w, b, i)) w->order[n++] = i;
  }
  return n > 0 ? w->order[below(w, n)] : BERTH_NONE;
}

static void along_chain(berth_i_walk *w, const berth_i_clumps *b) {
  int32_t link = random_link(w, b), op, cause, coin;
  if (link == BERTH_NONE) return;
  op = w->chain[link];
  cause = w->chain[link + 1];
  coin = below(w, 2);
  if (w->device[op] == w->device[cause]) to_random(w, b, b->of[coin ? op : cause]);
  else if (coin) berth_i_walk_put_block(w, b, b->of[op], w->device[cause]);
  else berth_i_walk_put_block(w, b, b->of[cause], w->device[op]);
}

void berth_i_walk_move(berth_i_walk *w, const berth_i_clumps *b, double single) {
  enum { RANDOM = 10, NEIGHBOUR = 20, SWAP = 30, ROTATE = 40, ALL = 70 };
  const berth_i_clumps *on = berth_rng_uniform(&w->rng) < single ? &w->p->atoms : b;
  int32_t kind = below(w, ALL), block = below(w, on->n);
  if (kind < RANDOM) to_random(w, on, block);
  else if (kind < NEIGHBOUR) to_neighbour(w, on, block);
  else if (kind < SWAP) rotate(w, b, below(w, b->n), 2);
  else if (kind < ROTATE) rotate(w, b, below(w, b->n), 2 + below(w, 4));
  else along_chain(w, on);
}
