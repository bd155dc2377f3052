/* Trees of the method MCTS: around assignments that are known, for changes of a few decisions, by
 * successive halving; then the one that is kept. A tree around an assignment decides the heaviest
 * decisions first and fills in the others from it; the decider's own tree is kept apart meanwhile,
 * and so are its order and fill. */
#include "decide_internal.h"

enum { BASES = 5, PER_CHOICE = 2, SMALL = 15 };

/* What trees may take: at most PER_CHOICE evaluations for each decision and each action: they find
 * what they can early. */
typedef struct share {
  double evaluations, seconds; /* INFINITY: any time */
} share;

typedef struct around {
  berth_i_tree tree;
  int32_t base, lead; /* of known: what it is around, the best of it */
} around;

static berth_status run(berth_decider *d, share s, double part) {
  const berth_i_budget whole = d->budget;
  d->budget.most = d->evaluations + (int64_t)(part * s.evaluations);
  if (d->budget.most > whole.most) d->budget.most = whole.most;
  if (s.seconds < INFINITY)
    d->budget.until = fmin(whole.until, berth_i_ctx_clock(d->ctx) + part * s.seconds);
  berth_status st = berth_i_tree_run(d, INT64_MAX);
  d->budget = whole;
  return st;
}

/* The decider works on this tree for a while: the heaviest decisions first, the others as in the
 * base. */
static berth_status grow(berth_decider *d, around *x, share s, double part) {
  const berth_i_tree kept = d->tree;
  const berth_fill fill = d->p.fill;
  const int32_t base = d->base, first = d->known.n;
  d->tree = x->tree;
  d->p.fill = BERTH_FILL_START;
  d->order = d->by_weight;
  berth_status st = berth_i_tree_begin(d);
  d->base = x->base;
  if (st == BERTH_OK) st = run(d, s, part);
  x->tree = d->tree;
  for (int32_t i = first; i < d->known.n; i++)
    if (berth_i_better(d->known.worth[i], d->known.worth[x->lead])) x->lead = i;
  d->tree = kept;
  d->p.fill = fill;
  d->order = NULL;
  d->base = base;
  return st;
}

/* Successive halving: each round the better half continues with the same budget for all. */
static berth_status around_known(berth_decider *d, share s) {
  around x[BASES] = { 0 };
  int32_t base[BASES];
  const int32_t all = berth_i_known_unlike(d, BASES, base),
                rounds = all > 4 ? 3 : all > 1 ? 2 : 1;
  int32_t n = all;
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < n; k++) x[k].lead = x[k].base = base[k];
  for (int32_t r = 0; r < rounds && st == BERTH_OK; r++) {
    for (int32_t k = 0; k < n && st == BERTH_OK; k++) st = grow(d, &x[k], s, 1.0 / (rounds * n));
    const berth_i_worth *worth = d->known.worth;
    for (int32_t k = 1; k < n; k++) { /* insertion sort, best first: stable */
      const around one = x[k];
      int32_t i = k;
      for (; i > 0 && berth_i_better(worth[one.lead], worth[x[i - 1].lead]); i--) x[i] = x[i - 1];
      x[i] = one;
    }
    n = (n + 1) / 2;
  }
  for (int32_t k = 0; k < all; k++) {
    d->playouts += x[k].tree.playouts;
    berth_i_pool_free(&x[k].tree.pool);
  }
  return st;
}

berth_status berth_i_decide_trees(berth_decider *d) {
  const berth_i_budget *b = &d->budget;
  /* without a prior they are worth less */
  const double half = d->o.tree_part / (d->p.prior ? 2 : 4);
  share s = { 0.5 * PER_CHOICE * ((double)d->p.n + d->p.n_actions), INFINITY };
  if (b->most < INT64_MAX) {
    const double left = (double)(b->most - d->evaluations); /* of little, trees get more */
    s.evaluations = fmin(s.evaluations, fmax(half * left, fmin(SMALL, 0.3 * left)));
  }
  if (b->until < INFINITY) s.seconds = half * (b->until - berth_i_ctx_clock(d->ctx));
  if (half == 0) return BERTH_OK;
  berth_status st = around_known(d, s);
  return st == BERTH_OK ? run(d, s, 1) : st;
}
