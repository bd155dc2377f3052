/* Playouts: from the root along argmax q + c p sqrt(n of the parent) / (1 + n) to a leaf, whose own
 * assignment is valued. */
#include "decide_internal.h"

static const double MOST = 1e9; /* of rewards */
enum { MOST_REPEATS = 1000, PER_EXCESS = 4 }; /* playouts in a row without anything new; value of
                                                 what is not allowed */

/* ---- rewards ---- */

static double published(double reference, double value) {
  double v = reference > 0 && value > 0 ? reference / value - 1
                                        : (reference - value) / fmax(fabs(reference), 1);
  if (v < -1) v = -1;
  return v > 1 ? sqrt(sqrt(v)) : v;
}

/* Above the reference a straight line continues the exponential, whose slope there is the
 * same. */
static double scaled(double reference, double scale, double value) {
  const double x = (reference - value) / (scale * (reference != 0 ? fabs(reference) : 1));
  return x > 0 ? 1 + x : exp(x);
}

static double reward(berth_decider *d, berth_i_worth w) {
  const bool scales = d->o.scale > 0;
  if (isinf(w.excess) || isinf(w.value) || (w.excess > 0 && !scales)) return -1;
  if (scales && isinf(w.value = berth_i_penalised(w, PER_EXCESS))) return -1;
  if (isnan(d->reference)) d->reference = w.value;
  double v = scales ? scaled(d->reference, d->o.scale, w.value) : published(d->reference, w.value);
  return v >= -1 ? fmin(v, MOST) : -1;
}

/* Published: the first start if it is allowed; one that is not, as if it were, unless another
 * is. */
static void set_reference(berth_decider *d) {
  const berth_i_worth best = d->best == BERTH_NONE ? d->first : d->known.worth[d->best];
  if (!isnan(d->reference)) return;
  if (d->o.scale > 0) {
    if (!isinf(best.excess) && !isinf(best.value))
      d->reference = berth_i_penalised(best, PER_EXCESS);
  } else if (d->first.excess == 0) d->reference = d->first.value;
  else if (!isinf(d->first.value)) d->reference = d->first.value;
}

/* ---- selection ---- */

static int32_t considered(const berth_decider *d, const berth_i_node *x) {
  if (!(d->o.widening > 0)) return x->n_kids;
  double most = ceil(d->o.widening * pow((double)(x->visits + x->pending), d->o.widening_power));
  return most < 1 ? 1 : most < x->n_kids ? (int32_t)most : x->n_kids;
}

static double score(const berth_decider *d, double factor, double first_play,
                    const berth_i_node *kid) {
  const int64_t n = kid->visits + kid->pending;
  double q = kid->visits > 0 ? berth_i_tree_q(d, kid) : first_play;
  if (kid->pending > 0) q -= d->o.virtual_loss * (double)kid->pending / (double)n;
  return q + factor * kid->prior / (double)(1 + n);
}

static bool is_done(const berth_decider *d, const berth_i_node *x) {
  return x->decided == d->p.n ? x->done > 0 : x->n_kids >= 0 && x->done == x->n_kids;
}

static int32_t first_left(const berth_decider *d, const berth_i_node *x) {
  int32_t k = x->first;
  while (d->skips && d->tree.node[k].next != BERTH_NONE && is_done(d, &d->tree.node[k]))
    k = d->tree.node[k].next;
  return k;
}

/* Equal ones: the first of the list. *kid is NONE if the best is no node yet: the first such. */
static void select_kid(const berth_decider *d, int32_t node, int32_t *kid) {
  const berth_i_tree *t = &d->tree;
  const berth_i_node *x = &t->node[node];
  const double factor =
      d->o.exploration * sqrt(x->n_kids / 10.0) * sqrt((double)(x->visits + x->pending));
  const double first_play = d->o.first_play ? berth_i_tree_q(d, x) - d->o.first_play_loss : 0;
  double best = -INFINITY;
  *kid = BERTH_NONE;
  double s;
  for (int32_t k = x->first; k != BERTH_NONE; k = t->node[k].next)
    if (!(d->skips && is_done(d, &t->node[k]))
        && (s = score(d, factor, first_play, &t->node[k])) > best) {
      best = s;
      *kid = k;
    }
  if (x->opened < considered(d, x)
      && first_play + factor * t->kid_prior[x->kids + (size_t)x->opened] > best)
    *kid = BERTH_NONE;
  /* no score is a number */
  if (*kid == BERTH_NONE && x->opened == x->n_kids) *kid = first_left(d, x);
}

static berth_status step(berth_decider *d, int32_t *node) {
  int32_t kid;
  select_kid(d, *node, &kid);
  if (kid == BERTH_NONE) {
    berth_status st = berth_i_tree_open(d, *node, d->tree.node[*node].opened, &kid);
    if (st != BERTH_OK) return st;
  }
  *node = kid;
  return BERTH_OK;
}

/* Nodes within a decision are no leaves. */
static berth_status descend(berth_decider *d, int32_t *leaf) {
  int32_t node = d->tree.root;
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && d->tree.node[node].decided < d->p.n) {
    if (d->tree.node[node].n_kids < 0) {
      if (d->tree.node[node].place == 0) break;
      st = berth_i_tree_expand(d, node, NULL);
    }
    if (st == BERTH_OK) st = step(d, &node);
  }
  *leaf = node;
  return st;
}

/* ---- the way back ---- */

static void mark(berth_decider *d, int32_t node, int32_t by) {
  for (;; node = d->tree.node[node].parent) {
    d->tree.node[node].pending += by;
    if (node == d->tree.root) return;
  }
}

/* A node all of whose kids are done is a kid that is done. */
static void finish(berth_decider *d, int32_t node) {
  d->tree.node[node].done = 1;
  while (node != d->tree.root && is_done(d, &d->tree.node[node]))
    d->tree.node[node = d->tree.node[node].parent].done++;
}

static void back_up(berth_decider *d, int32_t node, double v) {
  if (d->tree.node[node].decided == d->p.n && d->tree.node[node].done == 0) finish(d, node);
  for (;; node = d->tree.node[node].parent) {
    berth_i_node *x = &d->tree.node[node];
    x->best = x->visits == 0 || v > x->best ? v : x->best;
    x->mean += (v - x->mean) / (double)++x->visits;
    if (node == d->tree.root) return;
  }
}

/* ---- playouts ---- */

/* Up to k leaves, all different, and their rows. */
static berth_status collect(berth_decider *d, int32_t k, int32_t *n) {
  berth_status st = BERTH_OK;
  for (*n = 0; *n < k && st == BERTH_OK;) {
    int32_t leaf;
    if ((st = descend(d, &leaf)) != BERTH_OK || d->tree.node[leaf].pending > 0) break;
    mark(d, d->leaf[*n] = leaf, 1);
    st = berth_i_tree_row(d, leaf, &d->row[(size_t)*n * (size_t)d->p.n]);
    ++*n;
  }
  return st;
}

static bool is_to_expand(const berth_decider *d, int32_t node) {
  return d->tree.node[node].n_kids < 0 && d->tree.node[node].decided < d->p.n;
}

static berth_status expand(berth_decider *d, int32_t n) {
  int32_t k = 0;
  for (int32_t i = 0; i < n; i++) {
    const int32_t decided = d->tree.node[d->leaf[i]].decided;
    if (is_to_expand(d, d->leaf[i]))
      d->ask[k++] = (berth_leaf){ &d->row[(size_t)i * (size_t)d->p.n], d->order ? d->p.n : decided,
                                  berth_i_decision(d, decided) };
  }
  berth_status st;
  if ((st = berth_i_decide_prior(d, k)) != BERTH_OK) return st;
  k = 0;
  for (int32_t i = 0; i < n && st == BERTH_OK; i++)
    if (is_to_expand(d, d->leaf[i]))
      st = berth_i_tree_expand(d, d->leaf[i], &d->weight[(size_t)k++ * (size_t)d->p.n_actions]);
  return st;
}

static berth_status play(berth_decider *d, int32_t k) {
  int32_t n, done = 0;
  berth_status st = collect(d, k, &n);
  if (st == BERTH_OK) st = berth_i_decide_values(d, n, &done);
  if (st == BERTH_OK) st = expand(d, done);
  for (int32_t i = 0; i < n; i++) mark(d, d->leaf[i], -1);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < done; i++) back_up(d, d->leaf[i], reward(d, d->row_worth[i]));
  d->tree.playouts += done;
  return BERTH_OK;
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
