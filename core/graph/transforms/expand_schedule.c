/* Textbook schedules of collectives, over positions 0..n-1: ring, recursive halving and doubling,
 * binomial tree, direct. Invariant: within a step no position sends a block that it receives in the
 * same step. */
#include "expand_internal.h"

void berth_i_schedule_clear(berth_i_schedule *s) {
  s->n = 0;
  s->steps = 0;
}

static berth_status emit(berth_i_schedule *s, berth_i_message m) {
  berth_status st = BERTH_I_POOL_GROW(s->pool, s->at, s->cap, s->n + 1);
  if (st != BERTH_OK) return st;
  s->at[s->n++] = m;
  if (m.step >= s->steps) s->steps = m.step + 1;
  return BERTH_OK;
}

static int32_t wrap(int64_t i, int32_t n) {
  int64_t r = i % n;
  return (int32_t)(r < 0 ? r + n : r);
}

static int32_t lesser(int32_t a, int32_t b) { return a < b ? a : b; }

static bool equal_groups(const berth_i_rounds *r) {
  for (int32_t a = 1; a < r->n_groups; a++) {
    if (r->size[a] != r->size[0]) return false;
  }
  return true;
}

static int32_t largest_group(const berth_i_rounds *r) {
  int32_t most = 0;
  for (int32_t a = 0; a < r->n_groups; a++) {
    if (r->size[a] > most) most = r->size[a];
  }
  return most;
}

/* ---- all-gather ---- */

static berth_status gather_ring(berth_i_schedule *s, int32_t n, int32_t way) {
  berth_status st = BERTH_OK;
  for (int32_t step = 0; step < n - 1; step++) {
    for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
      int32_t block = wrap((int64_t)i - (int64_t)step * way, n);
      st = emit(s, (berth_i_message){ step, i, wrap((int64_t)i + way, n), block, 1, 1 });
    }
  }
  return st;
}

/* Recursive doubling for any number (Bruck et al., 1997): what position i has is i, i + 1, ...,
 * twice as many after each step. */
static berth_status gather_doubling(berth_i_schedule *s, int32_t n) {
  int32_t step = 0;
  berth_status st = BERTH_OK;
  for (int64_t k = 1; k < n; k *= 2, step++) {
    int32_t count = lesser((int32_t)k, n - (int32_t)k);
    for (int32_t i = 0; i < n && st == BERTH_OK; i++)
      st = emit(s, (berth_i_message){ step, i, wrap(i - k, n), i, count, 1 });
  }
  return st;
}

static berth_status gather_direct(berth_i_schedule *s, int32_t n) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t j = 1; j < n && st == BERTH_OK; j++) {
      st = emit(s, (berth_i_message){ 0, i, wrap((int64_t)i + j, n), i, 1, 1 });
    }
  }
  return st;
}

/* Positions of one rank in all groups form a ring; then each group is one, and passes on what a
 * rank has as a whole. */
static berth_status gather_two_rings(berth_i_schedule *s, const berth_i_rounds *r, int32_t way) {
  int32_t groups = r->n_groups, size = r->size[0];
  berth_status st = BERTH_OK;
  for (int32_t step = 0; step < groups - 1; step++) {
    for (int32_t i = 0; i < r->n && st == BERTH_OK; i++) {
      int32_t to = wrap((int64_t)i + (int64_t)way * size, r->n);
      st = emit(s, (berth_i_message){ step, i, to,
                                      wrap((int64_t)i - (int64_t)step * way * size, r->n), 1, 1 });
    }
  }
  for (int32_t step = 0; step < size - 1; step++) {
    for (int32_t a = 0; a < groups; a++) {
      for (int32_t i = 0; i < size && st == BERTH_OK; i++) {
        int32_t src = a * size + i, dst = a * size + wrap((int64_t)i + way, size);
        int32_t rank = wrap((int64_t)i - (int64_t)step * way, size);
        st = emit(s, (berth_i_message){ groups - 1 + step, src, dst, rank, groups, size });
      }
    }
  }
  return st;
}

/* ---- ... through the first of each group, where groups differ in size ---- */

/* Binomial tree of a group: i hangs below i without its lowest bit, with those behind it up to the
 * next one of its level. */
static berth_status to_first(berth_i_schedule *s, const berth_i_rounds *r, int32_t a, int32_t step,
                             int64_t k) {
  berth_status st = BERTH_OK;
  for (int64_t i = k; i < r->size[a] && st == BERTH_OK; i += 2 * k) {
    int32_t from = r->start[a] + (int32_t)i, count = lesser((int32_t)k, r->size[a] - (int32_t)i);
    st = emit(s, (berth_i_message){ step, from, from - (int32_t)k, from, count, 1 });
  }
  return st;
}

/* All but what the child has had from the start and from below. */
static berth_status from_first(berth_i_schedule *s, const berth_i_rounds *r, int32_t a,
                               int32_t step, int64_t k) {
  berth_status st = BERTH_OK;
  for (int64_t i = k; i < r->size[a] && st == BERTH_OK; i += 2 * k) {
    int32_t to = r->start[a] + (int32_t)i, has = lesser((int32_t)k, r->size[a] - (int32_t)i);
    if (has < r->n)
      st = emit(s, (berth_i_message){ step, to - (int32_t)k, to, wrap((int64_t)to + has, r->n),
                                      r->n - has, 1 });
  }
  return st;
}

static berth_status firsts_ring(berth_i_schedule *s, const berth_i_rounds *r, int32_t step,
                                int32_t way) {
  int32_t groups = r->n_groups;
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < groups - 1; k++) {
    for (int32_t a = 0; a < groups && st == BERTH_OK; a++) {
      int32_t to = wrap((int64_t)a + way, groups), of = wrap((int64_t)a - (int64_t)k * way, groups);
      st = emit(s, (berth_i_message){ step + k, r->start[a], r->start[to], r->start[of],
                                      r->size[of], 1 });
    }
  }
  return st;
}

static berth_status gather_by_firsts(berth_i_schedule *s, const berth_i_rounds *r, int32_t way) {
  int32_t step = 0;
  int64_t k, most = largest_group(r);
  berth_status st = BERTH_OK;
  for (k = 1; k < most; k *= 2, step++) {
    for (int32_t a = 0; a < r->n_groups && st == BERTH_OK; a++) st = to_first(s, r, a, step, k);
  }
  if (st == BERTH_OK) st = firsts_ring(s, r, step, way);
  step += r->n_groups - 1;
  for (k /= 2; k >= 1; k /= 2, step++) {
    for (int32_t a = 0; a < r->n_groups && st == BERTH_OK; a++) st = from_first(s, r, a, step, k);
  }
  return st;
}

static berth_status gather_tree(berth_i_schedule *s, int32_t n) {
  const int32_t start = 0;
  const berth_i_rounds all = { n, 1, &start, &n };
  return gather_by_firsts(s, &all, 1);
}

berth_status berth_i_gather(berth_i_schedule *s, berth_expand_algorithm how,
                            const berth_i_rounds *r, int32_t way) {
  switch (how) {
    case BERTH_EXPAND_RING: return gather_ring(s, r->n, way);
    case BERTH_EXPAND_TREE: return gather_tree(s, r->n);
    case BERTH_EXPAND_HALVING: return gather_doubling(s, r->n);
    case BERTH_EXPAND_DIRECT: return gather_direct(s, r->n);
    case BERTH_EXPAND_HIERARCHICAL: break;
  }
  return equal_groups(r) ? gather_two_rings(s, r, way) : gather_by_firsts(s, r, way);
}

/* ---- all-to-all ---- */

/* @param in_turn in n - 1 steps, one partner each */
static berth_status exchange_pairs(berth_i_schedule *s, int32_t n, bool in_turn) {
  berth_status st = BERTH_OK;
  for (int32_t j = 1; j < n; j++) {
    for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
      st = emit(s, (berth_i_message){ in_turn ? j - 1 : 0, i, wrap((int64_t)i + j, n), BERTH_NONE,
                                      1, 0 });
    }
  }
  return st;
}

static int32_t count_with_bit(int32_t n, int64_t bit) {
  int32_t count = 0;
  for (int32_t j = 1; j < n; j++) count += (j & bit) != 0;
  return count;
}

/* A block for the position j further on moves by each bit of j in turn (Bruck et al., 1997). */
static berth_status exchange_by_bits(berth_i_schedule *s, int32_t n) {
  int32_t step = 0;
  berth_status st = BERTH_OK;
  for (int64_t k = 1; k < n; k *= 2, step++) {
    int32_t count = count_with_bit(n, k);
    for (int32_t i = 0; i < n && st == BERTH_OK; i++)
      st = emit(s, (berth_i_message){ step, i, wrap(i + k, n), BERTH_NONE, count, 0 });
  }
  return st;
}

/* First to the one in the own group that has the rank of the receiver, then across. */
static berth_status exchange_by_rank(berth_i_schedule *s, const berth_i_rounds *r) {
  int32_t groups = r->n_groups, size = r->size[0];
  berth_status st = BERTH_OK;
  for (int32_t j = 1; j < size; j++) {
    for (int32_t i = 0; i < r->n && st == BERTH_OK; i++) {
      int32_t first = i / size * size, to = first + wrap((int64_t)i - first + j, size);
      st = emit(s, (berth_i_message){ j - 1, i, to, BERTH_NONE, groups, 0 });
    }
  }
  for (int32_t j = 1; j < groups; j++) {
    for (int32_t i = 0; i < r->n && st == BERTH_OK; i++) {
      st = emit(s,
                (berth_i_message){ size - 1 + j - 1, i, wrap((int64_t)i + (int64_t)j * size, r->n),
                                   BERTH_NONE, size, 0 });
    }
  }
  return st;
}

berth_status berth_i_exchange(berth_i_schedule *s, berth_expand_algorithm how,
                              const berth_i_rounds *r) {
  if (how == BERTH_EXPAND_HALVING) return exchange_by_bits(s, r->n);
  if (how == BERTH_EXPAND_HIERARCHICAL && equal_groups(r)) return exchange_by_rank(s, r);
  return exchange_pairs(s, r->n, how != BERTH_EXPAND_DIRECT);
}

/* ---- broadcast ---- */

static berth_status pass(berth_i_schedule *s, int32_t step, int32_t src, int32_t dst) {
  return emit(s, (berth_i_message){ step, src, dst, 0, 1, 1 });
}

static int64_t power_below(int32_t n) {
  int64_t k = 1;
  while (2 * k < n) k *= 2;
  return k;
}

/* Binomial tree over the n positions from `first` on, its root `root` behind that. The longest path
 * first: few ways are long then, and between neighbouring groups there are no more than there must
 * be. */
static berth_status spread_binomial(berth_i_schedule *s, int32_t first, int32_t n, int32_t root,
                                    int32_t step) {
  berth_status st = BERTH_OK;
  for (int64_t k = power_below(n); n > 1 && k >= 1; k /= 2, step++) {
    for (int64_t i = 0; i + k < n && st == BERTH_OK; i += 2 * k) {
      st = pass(s, step, first + wrap(root + i, n), first + wrap(root + i + k, n));
    }
  }
  return st;
}

static int32_t group_of(const berth_i_rounds *r, int32_t position) {
  int32_t a = 0;
  while (position >= r->start[a] + r->size[a]) a++;
  return a;
}

/* The root represents its group, the first one the others. */
static berth_status spread_groups(berth_i_schedule *s, const berth_i_rounds *r, int32_t root) {
  int32_t home = group_of(r, root), groups = r->n_groups, step = 0;
  berth_status st = BERTH_OK;
  for (int64_t k = power_below(groups); groups > 1 && k >= 1; k /= 2, step++) {
    for (int64_t i = 0; i + k < groups && st == BERTH_OK; i += 2 * k) {
      int32_t from = wrap(home + i, groups), to = wrap(home + i + k, groups);
      st = pass(s, step, from == home ? root : r->start[from], r->start[to]);
    }
  }
  for (int32_t a = 0; a < groups && st == BERTH_OK; a++) {
    st = spread_binomial(s, r->start[a], r->size[a], a == home ? root - r->start[a] : 0, step);
  }
  return st;
}

/* The blocks of what the root has: every position gets its own, and on the way those of the
 * positions behind it in the tree. */
berth_status berth_i_scatter(berth_i_schedule *s, int32_t n, int32_t root) {
  int32_t step = 0;
  berth_status st = BERTH_OK;
  for (int64_t k = power_below(n); n > 1 && k >= 1; k /= 2, step++) {
    for (int64_t i = k; i < n && st == BERTH_OK; i += 2 * k) {
      int32_t count = lesser((int32_t)k, n - (int32_t)i), block = wrap(root + i, n);
      st = emit(s, (berth_i_message){ step, wrap(root + i - k, n), block, block, count, 1 });
    }
  }
  return st;
}

berth_status berth_i_spread(berth_i_schedule *s, berth_expand_algorithm how,
                            const berth_i_rounds *r, int32_t root) {
  berth_status st = BERTH_OK;
  if (how == BERTH_EXPAND_TREE) return spread_binomial(s, 0, r->n, root, 0);
  if (how == BERTH_EXPAND_HIERARCHICAL) return spread_groups(s, r, root);
  for (int32_t i = 1; i < r->n && st == BERTH_OK; i++) {
    int32_t from = how == BERTH_EXPAND_RING ? wrap((int64_t)root + i - 1, r->n) : root;
    st = pass(s, how == BERTH_EXPAND_RING ? i - 1 : 0, from, wrap((int64_t)root + i, r->n));
  }
  return st;
}
