/* Monte Carlo tree search over decisions. Each playout has four steps: 1. select a leaf by
 * argmax q + c p sqrt(n of the parent) / (1 + n); 2. evaluate the leaf's own assignment (no random
 * rollout); 3. expand it by the prior; 4. back up the reward. A batch selects several leaves before
 * it evaluates; visits under way count as virtual losses.
 *
 * Invariant between batches: no node is pending; a node's visits are those that passed through it.
 * O(depth x opened kids) a playout besides value and prior. Source: TAG (Zhang et al., IEEE TPDS
 * 2023), the search of its code; departures are options, see berth_decide in decide.h. */
#include "decide_internal.h"

static const double MOST = 1e9; /* of rewards */
enum { MOST_REPEATS = 1000, PER_EXCESS = 4 }; /* playouts in a row without anything new; value of
                                                 what is not allowed */

/* Relative gain over the reference. Published: its fourth root above 1. Scaled: an exponential
 * below the reference, above it a straight line of the slope that the exponential has there. */
static double reward(berth_decider *d, berth_i_worth w) {
  const bool scales = d->o.scale > 0;
  if (isinf(w.excess) || isinf(w.value) || (w.excess > 0 && !scales)) return -1;
  if (scales && isinf(w.value = berth_i_penalised(w, PER_EXCESS))) return -1;
  if (isnan(d->reference)) d->reference = w.value;
  const double r = d->reference;
  double v;
  if (scales) {
    const double x = (r - w.value) / (d->o.scale * (r != 0 ? fabs(r) : 1));
    v = x > 0 ? 1 + x : exp(x);
  } else {
    v = r > 0 && w.value > 0 ? r / w.value - 1 : (r - w.value) / fmax(fabs(r), 1);
    if (v > 1) v = sqrt(sqrt(v));
  }
  return v >= -1 ? fmin(v, MOST) : -1;
}

static bool is_done(const berth_decider *d, const berth_i_node *x) {
  return x->decided == d->p.n ? x->done > 0 : x->n_kids >= 0 && x->done == x->n_kids;
}

/* Step 1. Kids become nodes in the order of their priors, so the best of those that are none yet is
 * the first of them. Equal scores: the first of the list. */
static berth_status select_leaf(berth_decider *d, int32_t *leaf) {
  berth_i_tree *t = &d->tree;
  int32_t node = t->root;
  while (t->node[node].decided < d->p.n) {
    berth_status st;
    if (t->node[node].n_kids < 0) {
      if (t->node[node].place == 0) break;
      /* a node within a decision is no leaf: its kids have the weights of the decision */
      if ((st = berth_i_tree_expand(d, node, NULL)) != BERTH_OK) return st;
    }
    const berth_i_node *x = &t->node[node];
    const double visits = (double)(x->visits + x->pending);
    const double factor = d->o.exploration * sqrt(x->n_kids / 10.0) * sqrt(visits);
    const double first_play = d->o.first_play ? berth_i_tree_q(d, x) - d->o.first_play_loss : 0;
    double best = -INFINITY;
    int32_t kid = BERTH_NONE;
    for (int32_t k = x->first; k != BERTH_NONE; k = t->node[k].next) {
      const berth_i_node *y = &t->node[k];
      if (d->skips && is_done(d, y)) continue;
      const int64_t n = y->visits + y->pending;
      double score = y->visits > 0 ? berth_i_tree_q(d, y) : first_play;
      if (y->pending > 0) score -= d->o.virtual_loss * (double)y->pending / (double)n;
      score += factor * y->prior / (double)(1 + n);
      if (score > best) {
        best = score;
        kid = k;
      }
    }
    const double widest =
        d->o.widening > 0
            ? fmax(1, ceil(d->o.widening * pow(visits, d->o.widening_power)))
            : INFINITY;
    if (x->opened < x->n_kids
        && (kid == BERTH_NONE
            || (x->opened < widest
                && first_play + factor * t->kid_prior[x->kids + (size_t)x->opened] > best))) {
      if ((st = berth_i_tree_open(d, node, x->opened, &kid)) != BERTH_OK) return st;
    } else if (kid == BERTH_NONE) { /* no score is a number */
      kid = x->first;
      while (d->skips && t->node[kid].next != BERTH_NONE && is_done(d, &t->node[kid]))
        kid = t->node[kid].next;
    }
    node = kid;
  }
  *leaf = node;
  return BERTH_OK;
}

/* Visits under way, from a leaf to the root. */
static void mark(berth_decider *d, int32_t node, int32_t by) {
  for (;; node = d->tree.node[node].parent) {
    d->tree.node[node].pending += by;
    if (node == d->tree.root) return;
  }
}

/* Step 4. A whole assignment is done when it has been visited, any other node when all its kids
 * are. */
static void back_up(berth_decider *d, int32_t leaf, double v) {
  berth_i_tree *t = &d->tree;
  if (t->node[leaf].decided == d->p.n && t->node[leaf].done == 0) {
    t->node[leaf].done = 1;
    for (int32_t k = leaf; k != t->root && is_done(d, &t->node[k]);)
      t->node[k = t->node[k].parent].done++;
  }
  for (int32_t k = leaf;; k = t->node[k].parent) {
    berth_i_node *x = &t->node[k];
    x->best = x->visits == 0 || v > x->best ? v : x->best;
    x->mean += (v - x->mean) / (double)++x->visits;
    if (k == t->root) return;
  }
}

static bool is_to_expand(const berth_decider *d, int32_t node) {
  return d->tree.node[node].n_kids < 0 && d->tree.node[node].decided < d->p.n;
}

/* A batch of up to k playouts. */
static berth_status play(berth_decider *d, int32_t k) {
  const size_t row = (size_t)d->p.n;
  int32_t n = 0, done = 0, expands = 0;
  berth_status st = BERTH_OK;
  /* 1. Select leaves, all different, and their rows. */
  while (n < k && st == BERTH_OK) {
    int32_t leaf = BERTH_NONE;
    if ((st = select_leaf(d, &leaf)) != BERTH_OK || d->tree.node[leaf].pending > 0) break;
    mark(d, d->leaf[n] = leaf, 1);
    st = berth_i_tree_row(d, leaf, &d->row[(size_t)n++ * row]);
  }
  /* 2. Evaluate: fewer than n where evaluations run out. */
  if (st == BERTH_OK) st = berth_i_decide_values(d, n, &done);
  /* 3. Expand: the priors of all leaves by one call. */
  for (int32_t i = 0; i < done && st == BERTH_OK; i++) {
    const int32_t decided = d->tree.node[d->leaf[i]].decided;
    if (is_to_expand(d, d->leaf[i]))
      d->query[expands++] = (berth_leaf){ &d->row[(size_t)i * row], d->order ? d->p.n : decided,
                                      berth_i_decision(d, decided) };
  }
  if (st == BERTH_OK) st = berth_i_decide_prior(d, expands);
  expands = 0;
  for (int32_t i = 0; i < done && st == BERTH_OK; i++)
    if (is_to_expand(d, d->leaf[i]))
      st = berth_i_tree_expand(
          d, d->leaf[i],
          &d->weight[(size_t)expands++ * (size_t)d->p.n_actions]);
  /* 4. Back up. */
  for (int32_t i = 0; i < n; i++) mark(d, d->leaf[i], -1);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < done; i++) back_up(d, d->leaf[i], reward(d, d->row_worth[i]));
  d->tree.playouts += done;
  return BERTH_OK;
}

/* What rewards relate to. Published: the first start if it is allowed; one that is not, as if it
 * were, unless another is. */
static void set_reference(berth_decider *d) {
  const berth_i_worth best = d->best == BERTH_NONE ? d->first : d->known.worth[d->best];
  if (!isnan(d->reference)) return;
  if (d->o.scale > 0) {
    if (!isinf(best.excess) && !isinf(best.value))
      d->reference = berth_i_penalised(best, PER_EXCESS);
  } else if (d->first.excess == 0 || !isinf(d->first.value)) d->reference = d->first.value;
}

berth_status berth_i_tree_run(berth_decider *d, int64_t visits) {
  const bool any = visits == INT64_MAX;
  int32_t repeats = 0;
  berth_status st = berth_i_tree_begin(d);
  d->skips = any && d->o.skip_known;
  set_reference(d);
  while (st == BERTH_OK && d->tree.node[d->tree.root].visits < visits
         && berth_i_decide_goes_on(d)) {
    const int64_t before = d->evaluations, left = visits - d->tree.node[d->tree.root].visits;
    if (any && (berth_i_all_known(d) || repeats > MOST_REPEATS)) break;
    if (d->skips && is_done(d, &d->tree.node[d->tree.root])) break;
    st = play(d, left < d->o.batch ? (int32_t)left : d->o.batch);
    repeats = d->evaluations > before ? 0 : repeats + 1;
  }
  return st;
}
