/* The tree of decisions: nodes, their kids, the way to the root. */
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

static void append(berth_i_tree *t, int32_t node, int32_t kid) {
  berth_i_node *x = &t->node[node];
  if (x->last == BERTH_NONE) x->first = kid;
  else t->node[x->last].next = kid;
  x->last = kid;
  x->opened++;
}

/* Where the choices of a decision end, the next one begins. */
static void enter(const berth_decider *d, berth_i_node *x, int32_t place) {
  const berth_i_choices *c = &d->choices;
  const berth_i_node *parent = &d->tree.node[x->parent];
  const bool ends = c->kid_at[place] == c->kid_at[place + 1];
  x->place = ends ? 0 : place;
  x->weights = parent->weights;
  x->decided = parent->decided + ends;
  x->action = ends ? c->order[c->low[place]] : parent->action;
}

static void swap_kids(berth_i_tree *t, size_t a, size_t b) {
  const int32_t kid = t->kid[a];
  const double p = t->kid_prior[a];
  t->kid[a] = t->kid[b];
  t->kid_prior[a] = t->kid_prior[b];
  t->kid[b] = kid;
  t->kid_prior[b] = p;
}

berth_status berth_i_tree_open(berth_decider *d, int32_t node, int32_t kid, int32_t *out) {
  berth_i_tree *t = &d->tree;
  berth_status st = add(d, node, out);
  if (st != BERTH_OK) return st;
  size_t at = t->node[node].kids + (size_t)t->node[node].opened;
  swap_kids(t, at, t->node[node].kids + (size_t)kid);
  t->node[*out].prior = t->kid_prior[at];
  enter(d, &t->node[*out], t->kid[at]);
  append(t, node, *out);
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

static bool in_steps(const berth_decider *d) { return d->choices.n > d->p.n_actions + 1; }

/* Later choices of the decision need its weights, too. */
static berth_status keep_weights(berth_decider *d, int32_t node, const double *weight) {
  berth_i_tree *t = &d->tree;
  const size_t n = (size_t)d->p.n_actions;
  berth_status st = berth_i_pool_grow(&t->pool, (void **)&t->weight, &t->weight_cap,
                                      t->weight_n + n, sizeof *weight);
  if (st != BERTH_OK) return st;
  memcpy(&t->weight[t->weight_n], weight, n * sizeof *weight);
  t->node[node].weights = t->weight_n;
  t->weight_n += n;
  return BERTH_OK;
}

berth_status berth_i_tree_expand(berth_decider *d, int32_t node, const double *weight) {
  berth_i_tree *t = &d->tree;
  const int32_t place = t->node[node].place;
  const size_t need = t->kid_n + (size_t)(d->choices.kid_at[place + 1] - d->choices.kid_at[place]);
  berth_status st =
      berth_i_pool_grow(&t->pool, (void **)&t->kid, &t->kid_cap, need, sizeof *t->kid);
  if (st == BERTH_OK)
    st = berth_i_pool_grow(&t->pool, (void **)&t->kid_prior, &t->prior_cap, need,
                           sizeof *t->kid_prior);
  if (st == BERTH_OK && place == 0 && in_steps(d)) st = keep_weights(d, node, weight);
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
