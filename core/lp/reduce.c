/* The linear program of favourite children made smaller, by two rules in turn until neither
 * applies:
 * a pair that no other pair competes with has y = 1 (and two ops that only have one another are one
 * node); a pair through which no path is longer than the floor, the longest path without c, cannot
 * matter. Invariant: the reduced program has the same value as the whole one; `fate` says how each
 * pair is mapped back. O(rounds x (ops + pairs)), at most MOST_ROUNDS rounds. */
#include "pairs_internal.h"

/* Each round costs O(pairs); what the next ones would find is little. */
enum { MOST_ROUNDS = 16 };

/* ---- levels ---- */

static bool left_out(const uint8_t *fate, int32_t pair) {
  return fate && fate[pair] >= BERTH_I_LP_DROPPED;
}

double berth_i_lp_pair_levels(const berth_i_lp_pairs *a, const double *c, const uint8_t *fate,
                              double *before, double *after) {
  double most = 0;
  for (int32_t i = 0; i < a->n; i++) {
    int32_t op = a->g->topo[i];
    before[op] = 0;
    for (int32_t k = a->in_at[op]; k < a->in_at[op + 1]; k++) {
      int32_t e = a->in[k], from = a->src[e];
      double x = before[from] + a->p[from] + (c ? c[e] : 0);
      if (x > before[op] && !left_out(fate, e)) before[op] = x;
    }
  }
  for (int32_t i = a->n - 1; i >= 0; i--) {
    int32_t op = a->g->topo[i];
    double on = 0;
    for (int32_t k = a->out_at[op]; k < a->out_at[op + 1]; k++) {
      double x = (c ? c[k] : 0) + after[a->dst[k]];
      if (x > on && !left_out(fate, k)) on = x;
    }
    after[op] = a->p[op] + on;
    most = fmax(most, after[op]);
  }
  return most;
}

/* ---- fates ---- */

typedef struct fates {
  const berth_i_lp_pairs *a;
  uint8_t *fate;
  double *c;                        /* [m] what is left of it */
  int32_t *out, *in;                /* [n] pairs with c > 0 that compete */
  int32_t *all_out, *all_in;        /* [n] pairs that are not dropped */
  double *before, *after;           /* [n] */
} fates;

static void count_pairs(fates *f) {
  size_t bytes = (size_t)f->a->n * sizeof(int32_t);
  memset(f->out, 0, bytes);
  memset(f->in, 0, bytes);
  memset(f->all_out, 0, bytes);
  memset(f->all_in, 0, bytes);
  for (int32_t e = 0; e < f->a->m; e++) {
    int32_t i = f->a->src[e], j = f->a->dst[e];
    if (left_out(f->fate, e)) continue;
    f->all_out[i]++;
    f->all_in[j]++;
    if (f->c[e] == 0) continue;
    f->out[i]++;
    f->in[j]++;
  }
}

/* Without dropped pairs, and where c > 0 only with itself: y = 1 is best. With nothing else at all:
 * one node. */
static bool free_lone(fates *f) {
  bool changed = false;
  for (int32_t e = 0; e < f->a->m; e++) {
    int32_t i = f->a->src[e], j = f->a->dst[e];
    if (f->fate[e] >= BERTH_I_LP_MERGED) continue;
    if (f->c[e] > 0 && f->out[i] == 1 && f->in[j] == 1) {
      f->fate[e] = BERTH_I_LP_FREE;
      f->c[e] = 0;
      changed = true;
    }
    if (f->c[e] == 0 && f->all_out[i] == 1 && f->all_in[j] == 1) f->fate[e] = BERTH_I_LP_MERGED;
  }
  return changed;
}

static bool drop_short(fates *f, double floor) {
  bool changed = false;
  berth_i_lp_pair_levels(f->a, f->c, f->fate, f->before, f->after);
  for (int32_t e = 0; e < f->a->m; e++) {
    int32_t i = f->a->src[e];
    if (f->fate[e] >= BERTH_I_LP_MERGED
        || f->before[i] + f->a->p[i] + f->c[e] + f->after[f->a->dst[e]] > floor)
      continue;
    f->fate[e] = f->fate[e] == BERTH_I_LP_FREE ? BERTH_I_LP_SPARE : BERTH_I_LP_DROPPED;
    changed = true;
  }
  return changed;
}

static berth_status decide(fates *f, double floor) {
  berth_status st = BERTH_OK;
  for (int round = 0; round < MOST_ROUNDS && st == BERTH_OK; round++) {
    count_pairs(f);
    bool changed = free_lone(f);
    if (!drop_short(f, floor) && !changed) break;
    st = berth_i_interrupted(f->a->ctx);
  }
  count_pairs(f);
  free_lone(f);
  return st;
}

/* ---- the smaller problem ---- */

static bool stays(const berth_i_lp_reduced *r, int32_t pair) {
  return r->fate[pair] == BERTH_I_LP_EDGE || r->fate[pair] == BERTH_I_LP_FREE;
}

static int32_t merged_parent(const berth_i_lp_pairs *a, const berth_i_lp_reduced *r, int32_t op) {
  for (int32_t k = a->in_at[op]; k < a->in_at[op + 1]; k++) {
    if (r->fate[a->in[k]] == BERTH_I_LP_MERGED) return a->src[a->in[k]];
  }
  return BERTH_NONE;
}

/* Pairs that stay enter the first op of a chain and leave the last one. So chains in the order of
 * their first ops are in topological order, and those that no such pair touches need no number.
 * @param first [n] out: first op of the chain  @param last [n] out, at first ops: its last op */
static void find_chains(const berth_i_lp_pairs *a, const berth_i_lp_reduced *r, int32_t *first,
                        int32_t *last, uint8_t *touched) {
  memset(touched, 0, (size_t)a->n);
  for (int32_t i = 0; i < a->n; i++) {
    int32_t op = a->g->topo[i], parent = merged_parent(a, r, op);
    first[op] = parent == BERTH_NONE ? op : first[parent];
    last[first[op]] = op;
  }
  for (int32_t e = 0; e < a->m; e++) {
    if (stays(r, e)) touched[first[a->src[e]]] = touched[first[a->dst[e]]] = 1;
  }
}

/* @param number [nodes] out: first op of each */
static void number_nodes(const berth_i_lp_pairs *a, berth_i_lp_reduced *r, const int32_t *first,
                         const uint8_t *touched, int32_t *number) {
  int32_t n = 0;
  for (int32_t i = 0; i < a->n; i++) {
    int32_t op = a->g->topo[i], head = first[op];
    if (!touched[head]) {
      r->node[op] = BERTH_NONE;
    } else if (head == op) {
      number[n] = op;
      r->q.p[n] = a->p[op];
      r->node[op] = n++;
    } else {
      r->node[op] = r->node[head];
      r->q.p[r->node[op]] += a->p[op];
    }
  }
}

static void to_offsets(int32_t *at, int32_t n) {
  for (int32_t i = 0; i < n; i++) at[i + 1] += at[i];
}

/* By head, then by tail.  @param next [n] scratch */
static void number_edges(const berth_i_lp_pairs *a, berth_i_lp_reduced *r, const double *c,
                         const int32_t *number, const int32_t *last, int32_t *next) {
  berth_i_lp_problem *q = &r->q;
  for (int32_t e = 0; e < a->m; e++) {
    r->edge[e] = BERTH_NONE;
    if (!stays(r, e)) continue;
    q->in_at[r->node[a->dst[e]] + 1]++;
    q->out_at[r->node[a->src[e]] + 1]++;
  }
  to_offsets(q->in_at, q->n);
  to_offsets(q->out_at, q->n);
  for (int32_t i = 0; i < q->n; i++) next[i] = q->in_at[i];
  for (int32_t i = 0; i < q->n; i++) {
    int32_t op = last[number[i]];
    for (int32_t e = a->out_at[op]; e < a->out_at[op + 1]; e++) {
      if (!stays(r, e)) continue;
      r->edge[e] = next[r->node[a->dst[e]]]++;
      q->tail[r->edge[e]] = i;
      q->head[r->edge[e]] = r->node[a->dst[e]];
      q->c[r->edge[e]] = c[e];
    }
  }
  for (int32_t i = 0; i < q->n; i++) next[i] = q->out_at[i];
  for (int32_t e = 0; e < q->m; e++) q->out[next[q->tail[e]]++] = e;
}

static berth_status alloc_problem(berth_i_pool *pool, berth_i_lp_problem *q) {
  size_t n = (size_t)q->n, m = (size_t)q->m;
  q->p = berth_i_pool_alloc(pool, n, sizeof *q->p);
  q->c = berth_i_pool_alloc(pool, m, sizeof *q->c);
  q->tail = berth_i_pool_alloc(pool, m, sizeof *q->tail);
  q->head = berth_i_pool_alloc(pool, m, sizeof *q->head);
  q->in_at = berth_i_pool_zalloc(pool, n + 1, sizeof *q->in_at);
  q->out_at = berth_i_pool_zalloc(pool, n + 1, sizeof *q->out_at);
  q->out = berth_i_pool_alloc(pool, m, sizeof *q->out);
  return berth_i_pool_status(pool);
}

/* @param work [4n] scratch */
static berth_status build(const berth_i_lp_pairs *a, const double *c, int32_t *work,
                          uint8_t *touched, berth_i_lp_reduced *r) {
  int32_t *first = work, *last = first + a->n, *number = last + a->n, *next = number + a->n;
  find_chains(a, r, first, last, touched);
  for (int32_t i = 0; i < a->n; i++) r->q.n += first[i] == i && touched[i];
  for (int32_t e = 0; e < a->m; e++) r->q.m += stays(r, e);
  berth_status st;
  if ((st = alloc_problem(&r->pool, &r->q)) != BERTH_OK) return st;
  number_nodes(a, r, first, touched, number);
  number_edges(a, r, c, number, last, next);
  return BERTH_OK;
}

berth_status berth_i_lp_reduce(const berth_i_lp_pairs *a, berth_i_lp_reduced *r) {
  size_t n = (size_t)a->n;
  berth_i_pool scratch = berth_i_pool_empty(a->ctx);
  double *c = berth_i_pool_copy(&scratch, a->c, (size_t)a->m, sizeof *c);
  int32_t *work = berth_i_pool_alloc(&scratch, 4 * n, sizeof *work);
  uint8_t *touched = berth_i_pool_alloc(&scratch, n, 1);
  berth_status st = berth_i_pool_status(&scratch);
  *r = (berth_i_lp_reduced){ .pool = berth_i_pool_empty(a->ctx), .q.ctx = a->ctx };
  r->node = berth_i_pool_alloc(&r->pool, n, sizeof *r->node);
  r->edge = berth_i_pool_alloc(&r->pool, a->cap, sizeof *r->edge);
  r->fate = berth_i_pool_zalloc(&r->pool, a->cap, sizeof *r->fate);
  r->before = berth_i_pool_alloc(&r->pool, n, sizeof *r->before);
  r->after = berth_i_pool_alloc(&r->pool, n, sizeof *r->after);
  if (st == BERTH_OK) st = berth_i_pool_status(&r->pool);
  if (st == BERTH_OK) {
    fates f = { a, r->fate, c, work, work + n, work + 2 * n, work + 3 * n, r->before, r->after };
    r->q.floor = berth_i_lp_pair_levels(a, NULL, NULL, r->before, r->after);
    st = decide(&f, r->q.floor);
  }
  if (st == BERTH_OK) st = build(a, c, work, touched, r);
  if (st != BERTH_OK) berth_i_pool_free(&r->pool);
  berth_i_pool_free(&scratch);
  return st;
}
