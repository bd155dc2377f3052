/* The tree of decisions. A node lists its legal kids as places of the choices, the likeliest first;
 * those that are nodes themselves come first and form a linked list. Nodes, lists and weights are
 * arrays of the tree's own pool, so that a tree is freed by one call and nodes are numbers. */
#include "decide_internal.h"

/* ---- nodes ---- */

static berth_status add(berth_decider *d, int32_t parent, int32_t *out) {
  berth_i_tree *t = &d->tree;
  const size_t n = (size_t)t->n + 1;
  berth_status st =
      berth_i_pool_grow(&t->pool, (void **)&t->node, &t->node_cap, n, sizeof *t->node);
  if (st != BERTH_OK) return st;
  berth_i_node *x = &t->node[*out = t->n++];
  memset(x, 0, sizeof *x);
  x->parent = parent;
  x->first = x->last = x->next = x->action = BERTH_NONE;
  x->n_kids = -1;
  x->prior = 1;
  return BERTH_OK;
}

berth_status berth_i_tree_begin(berth_decider *d) {
  if (d->tree.n > 0) return BERTH_OK;
  d->base = d->best;
  d->tree.pool = berth_i_pool_empty(d->ctx);
  return add(d, BERTH_NONE, &d->tree.root);
}

berth_status berth_i_tree_open(berth_decider *d, int32_t node, int32_t kid, int32_t *out) {
  berth_i_tree *t = &d->tree;
  const berth_i_choices *c = &d->choices;
  berth_status st = add(d, node, out);
  if (st != BERTH_OK) return st;
  berth_i_node *x = &t->node[node], *y = &t->node[*out];
  /* 1. It changes places with the first kid that is no node. */
  const size_t at = x->kids + (size_t)x->opened, from = x->kids + (size_t)kid;
  const int32_t place = t->kid[from];
  y->prior = t->kid_prior[from];
  t->kid[from] = t->kid[at];
  t->kid_prior[from] = t->kid_prior[at];
  t->kid[at] = place;
  t->kid_prior[at] = y->prior;
  /* 2. Where the choices of a decision end, the next decision begins. */
  const bool ends = c->kid_at[place] == c->kid_at[place + 1];
  y->place = ends ? 0 : place;
  y->weights = x->weights;
  y->decided = x->decided + ends;
  y->action = ends ? c->order[c->low[place]] : x->action;
  /* 3. It is the last of the parent's nodes. */
  if (x->last == BERTH_NONE) x->first = *out;
  else t->node[x->last].next = *out;
  x->last = *out;
  x->opened++;
  return BERTH_OK;
}

int32_t berth_i_tree_kid(const berth_decider *d, int32_t node, int32_t place) {
  const berth_i_tree *t = &d->tree;
  size_t at = t->node[node].kids;
  int32_t kid = t->node[node].first;
  for (; kid != BERTH_NONE && t->kid[at] != place; at++) kid = t->node[kid].next;
  return kid;
}

/* ---- kids ---- */

/* Weight and number of the legal actions below a place. */
static int32_t below(const berth_decider *d, int32_t decision, int32_t place, const double *weight,
                     double *sum) {
  const berth_i_choices *c = &d->choices;
  int32_t n = 0;
  *sum = 0;
  for (int32_t k = c->low[place]; k < c->high[place]; k++)
    if (berth_i_legal(d, decision, c->order[k])) {
      *sum += weight[c->order[k]];
      n++;
    }
  return n;
}

/* Legal kids, shuffled, then the likeliest first. */
static void list_kids(berth_decider *d, int32_t node, const double *weight) {
  const berth_i_choices *c = &d->choices;
  berth_i_node *x = &d->tree.node[node];
  int32_t *kid = &d->tree.kid[x->kids], n = 0;
  double *prior = &d->tree.kid_prior[x->kids], all, sum;
  const int32_t decision = berth_i_decision(d, x->decided),
                n_all = below(d, decision, x->place, weight, &all);
  for (int32_t k = c->kid_at[x->place]; k < c->kid_at[x->place + 1]; k++)
    if (below(d, decision, c->kid[k], weight, &sum) > 0) kid[n++] = c->kid[k];
  berth_rng_shuffle(&d->tree_rng, kid, n);
  for (int32_t k = 0; k < n; k++) {
    const int32_t place = kid[k], count = below(d, decision, place, weight, &sum);
    const double p = all > 0 ? sum / all : (double)count / n_all;
    int32_t i = k;
    for (; i > 0 && prior[i - 1] < p; i--) {
      kid[i] = kid[i - 1];
      prior[i] = prior[i - 1];
    }
    kid[i] = place;
    prior[i] = p;
  }
  x->n_kids = n;
  d->tree.kid_n += (size_t)n;
}

berth_status berth_i_tree_expand(berth_decider *d, int32_t node, const double *weight) {
  berth_i_tree *t = &d->tree;
  const int32_t place = t->node[node].place;
  const size_t need = t->kid_n + (size_t)(d->choices.kid_at[place + 1] - d->choices.kid_at[place]);
  const size_t actions = (size_t)d->p.n_actions;
  berth_status st =
      berth_i_pool_grow(&t->pool, (void **)&t->kid, &t->kid_cap, need, sizeof *t->kid);
  if (st == BERTH_OK)
    st = berth_i_pool_grow(&t->pool, (void **)&t->kid_prior, &t->prior_cap, need,
                           sizeof *t->kid_prior);
  if (st == BERTH_OK && place == 0 && d->choices.n > d->p.n_actions + 1) {
    /* actions are sequences of choices: later ones need the weights, too */
    st = berth_i_pool_grow(&t->pool, (void **)&t->weight, &t->weight_cap, t->weight_n + actions,
                           sizeof *weight);
    if (st != BERTH_OK) return st;
    memcpy(&t->weight[t->weight_n], weight, actions * sizeof *weight);
    t->node[node].weights = t->weight_n;
    t->weight_n += actions;
  }
  if (st != BERTH_OK) return st;
  t->node[node].kids = t->kid_n;
  list_kids(d, node, place == 0 ? weight : &t->weight[t->node[node].weights]);
  return BERTH_OK;
}

double berth_i_tree_rest(const berth_decider *d, int32_t node, int32_t place, int32_t action) {
  const berth_i_node *x = &d->tree.node[node];
  const int32_t decision = berth_i_decision(d, x->decided);
  const double *weight = &d->tree.weight[x->weights];
  double sum;
  const int32_t n = below(d, decision, place, weight, &sum);
  if (!berth_i_legal(d, decision, action)) return 0;
  return sum > 0 ? weight[action] / sum : 1.0 / n;
}

/* ---- assignments ---- */

berth_status berth_i_tree_row(berth_decider *d, int32_t node, int32_t *row) {
  const berth_i_node *x = d->tree.node;
  const int32_t decided = x[node].decided;
  const bool whole = d->p.fill == BERTH_FILL_START && d->base != BERTH_NONE;
  if (whole) memcpy(row, berth_i_known_key(d, d->base), (size_t)d->p.n * sizeof *row);
  else berth_i_decide_first(d, row);
  for (; node != BERTH_NONE; node = x[node].parent)
    if (x[node].place == 0 && x[node].decided > 0)
      row[berth_i_decision(d, x[node].decided - 1)] = x[node].action;
  return whole ? BERTH_OK : berth_i_decide_fill(d, decided, row);
}
