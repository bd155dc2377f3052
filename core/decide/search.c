/* Searches and their results: budgets, methods, the best assignment, the root of the tree.
 *
 * Every entry that may call the user's functions is between `enter` and `leave`: it is refused
 * while another is under way, and the decider lives until it ends even if a callback releases
 * it. */
#include "decide_internal.h"

/* ---- budgets ---- */

static const int64_t COUNTABLE = INT64_C(1) << 53; /* more are any number */

static berth_status enter(berth_decider *d, int64_t evaluations, double seconds) {
  if (d->busy) return berth_i_fail(d->ctx, BERTH_EINVAL, "the search is under way");
  if (evaluations < 0 || !(seconds >= 0))
    return berth_i_fail(d->ctx, BERTH_EINVAL, "%lld evaluations, %g s: expected none below 0",
                        (long long)evaluations, seconds);
  if (seconds > 0 && !berth_i_ctx_has_clock(d->ctx))
    return berth_i_fail(d->ctx, BERTH_EUNSUPPORTED,
                        "a budget in seconds needs a clock in the context");
  d->budget.most =
      evaluations > 0 && evaluations < COUNTABLE ? d->evaluations + evaluations : INT64_MAX;
  d->budget.until = seconds > 0 ? berth_i_ctx_clock(d->ctx) + seconds : INFINITY;
  d->budget.from = d->evaluations;
  d->budget.began = seconds > 0 ? berth_i_ctx_clock(d->ctx) : 0;
  d->interrupted = false;
  d->reported = 0;
  d->busy = 1;
  d->refs++; /* a callback may release it */
  return BERTH_OK;
}

/* An interrupt, be it in the midst of a function, leaves the best so far. */
static berth_status keep_best_on_interrupt(berth_decider *d, berth_status st) {
  if (st == BERTH_EINTERRUPT) d->interrupted = true;
  if (st != BERTH_EINTERRUPT && (st != BERTH_OK || !d->interrupted)) return st;
  return d->best == BERTH_NONE ? BERTH_EINTERRUPT : BERTH_OK;
}

static berth_status leave(berth_decider *d, berth_status st) {
  d->busy = 0;
  berth_decider_release(d);
  return st;
}

/* ---- methods ---- */

static berth_status search(berth_decider *d) {
  berth_status st = berth_i_decide_starts(d);
  if (st != BERTH_OK || d->best_start == BERTH_NONE) return st;
  switch (d->o.method) {
  case BERTH_DECIDE_TREE: return berth_i_tree_run(d, INT64_MAX);
  case BERTH_DECIDE_ANNEAL: return berth_i_decide_anneal(d, false);
  case BERTH_DECIDE_MCTS:
    st = berth_i_decide_informed(d);
    if (st == BERTH_OK) st = berth_i_decide_trees(d);
    break;
  case BERTH_DECIDE_REFINE: break;
  }
  return st == BERTH_OK ? berth_i_decide_anneal(d, true) : st;
}

berth_status berth_decider_search(berth_decider *d, int64_t evaluations, double seconds) {
  if (!d) return BERTH_EINVAL;
  if (evaluations == 0 && seconds == 0)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "neither evaluations nor seconds are limited");
  berth_status st = enter(d, evaluations, seconds);
  return st == BERTH_OK ? leave(d, keep_best_on_interrupt(d, search(d))) : st;
}

berth_status berth_decider_run(berth_decider *d, int64_t visits) {
  if (!d) return BERTH_EINVAL;
  if (visits < 0 || visits == INT64_MAX)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "%lld visits", (long long)visits);
  berth_status st;
  if ((st = enter(d, 0, 0)) != BERTH_OK) return st;
  st = berth_i_decide_starts(d);
  if (st == BERTH_OK) st = berth_i_tree_run(d, visits);
  return leave(d, keep_best_on_interrupt(d, st));
}

berth_status berth_decide(berth_ctx *ctx, const berth_decisions *p,
                          const berth_decide_options *opts, int32_t *assignment,
                          berth_decide_report *report) {
  if (!ctx) return BERTH_EINVAL;
  const berth_decide_options o = opts ? *opts : berth_decide_default(0);
  berth_decider *d;
  berth_status st = berth_decider_new(ctx, p, &o, &d);
  if (st != BERTH_OK) return st;
  st = berth_decider_search(d, o.calls, o.seconds);
  if (st == BERTH_OK) st = berth_decider_best(d, assignment, report);
  berth_decider_release(d);
  return st;
}

/* ---- the root ---- */

static berth_status expand_root(berth_decider *d) {
  const int32_t root = d->tree.root, decided = d->tree.node[root].decided;
  if (d->tree.node[root].n_kids >= 0) return BERTH_OK;
  berth_status st;
  if ((st = berth_i_tree_row(d, root, d->row)) != BERTH_OK) return st;
  d->query[0] = (berth_leaf){ d->row, decided, decided };
  if ((st = berth_i_decide_prior(d, 1)) != BERTH_OK) return st;
  return berth_i_tree_expand(d, root, d->weight);
}

static int32_t listed(const berth_decider *d, int32_t node, int32_t place) {
  const berth_i_node *x = &d->tree.node[node];
  int32_t k = 0;
  while (k < x->n_kids && d->tree.kid[x->kids + (size_t)k] != place) k++;
  return k;
}

/* Places of an action from the first choice on. */
static int32_t way_to(const berth_decider *d, int32_t action, int32_t *way) {
  int32_t n = 0, place;
  for (place = d->choices.end[action]; place != 0; place = d->choices.parent[place]) n++;
  place = d->choices.end[action];
  for (int32_t k = n; k > 0; place = d->choices.parent[place]) way[--k] = place;
  return n;
}

static berth_status advance(berth_decider *d, int32_t action) {
  berth_i_tree *t = &d->tree;
  berth_status st = berth_i_tree_begin(d);
  if (st != BERTH_OK) return st;
  int32_t node = t->root;
  const int32_t decided = t->node[node].decided;
  if (decided == d->p.n)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "all %d decisions are made", (int)d->p.n);
  if (action < 0 || action >= d->p.n_actions || !berth_i_legal(d, decided, action))
    return berth_i_fail(d->ctx, BERTH_EINVAL, "action %d is not legal for decision %d", (int)action,
                        (int)decided);
  if ((st = expand_root(d)) != BERTH_OK) return st;
  const int32_t n = way_to(d, action, d->way);
  for (int32_t k = 0; k < n; k++) {
    if (t->node[node].n_kids < 0 && (st = berth_i_tree_expand(d, node, NULL)) != BERTH_OK)
      return st;
    int32_t kid = berth_i_tree_kid(d, node, d->way[k]);
    if (kid == BERTH_NONE
        && (st = berth_i_tree_open(d, node, listed(d, node, d->way[k]), &kid)) != BERTH_OK)
      return st;
    node = kid;
  }
  t->root = node;
  return BERTH_OK;
}

berth_status berth_decider_advance(berth_decider *d, int32_t action) {
  if (!d) return BERTH_EINVAL;
  berth_status st = enter(d, 0, 0);
  return st == BERTH_OK ? leave(d, advance(d, action)) : st;
}

static berth_status root_row(berth_decider *d, int32_t *decided, int32_t *assignment) {
  berth_status st = berth_i_tree_begin(d);
  if (st == BERTH_OK) st = berth_i_tree_row(d, d->tree.root, d->row);
  if (st != BERTH_OK) return st;
  memcpy(assignment, d->row, (size_t)d->p.n * sizeof *assignment);
  *decided = d->tree.node[d->tree.root].decided;
  return BERTH_OK;
}

berth_status berth_decider_root(berth_decider *d, int32_t *decided, int32_t *assignment) {
  if (!d) return BERTH_EINVAL;
  berth_status st = enter(d, 0, 0);
  return st == BERTH_OK ? leave(d, root_row(d, decided, assignment)) : st;
}

/* ---- reading the tree ---- */

static bool has_kids(const berth_decider *d, int32_t node) {
  return node != BERTH_NONE && d->tree.node[node].n_kids >= 0;
}

/* Where the tree ends between the choices of an action, what is left of its prior is reported by
 * the weights of the decision. */
static void look(const berth_decider *d, int32_t action, int32_t *node, double *prior) {
  const int32_t n = way_to(d, action, d->way), start = *node;
  *prior = has_kids(d, start) ? 1 : 0;
  for (int32_t k = 0; k < n; k++) {
    if (!has_kids(d, *node)) {
      if (k > 0) *prior *= berth_i_tree_rest(d, start, d->way[k - 1], action);
      *node = BERTH_NONE;
      return;
    }
    const berth_i_node *x = &d->tree.node[*node];
    const int32_t at = listed(d, *node, d->way[k]);
    *prior *= at < x->n_kids ? d->tree.kid_prior[x->kids + (size_t)at] : 0;
    *node = berth_i_tree_kid(d, *node, d->way[k]);
  }
}

berth_status berth_decider_node(const berth_decider *d, int32_t n_actions, const int32_t *action,
                                berth_decide_node *out) {
  if (!d) return BERTH_EINVAL;
  const bool begun = d->tree.n > 0;
  const int32_t decided = begun ? d->tree.node[d->tree.root].decided : 0;
  int32_t node = begun ? d->tree.root : BERTH_NONE;
  double prior = 1;
  for (int32_t i = 0; i < n_actions; i++) {
    if (decided + i >= d->p.n || action[i] < 0 || action[i] >= d->p.n_actions
        || !berth_i_legal(d, decided + i, action[i]))
      return berth_i_fail(d->ctx, BERTH_EINVAL, "action %d is not legal for decision %d",
                          (int)action[i], (int)(decided + i));
    look(d, action[i], &node, &prior);
  }
  out->visits = node == BERTH_NONE ? 0 : d->tree.node[node].visits;
  out->q = node == BERTH_NONE ? 0 : berth_i_tree_q(d, &d->tree.node[node]);
  out->prior = prior;
  return BERTH_OK;
}

int32_t berth_decider_decisions(const berth_decider *d) { return d->p.n; }
int32_t berth_decider_actions(const berth_decider *d) { return d->p.n_actions; }

berth_status berth_decider_best(const berth_decider *d, int32_t *assignment,
                                berth_decide_report *report) {
  if (!d) return BERTH_EINVAL;
  if (d->best == BERTH_NONE)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "nothing has been valued yet");
  if (assignment)
    memcpy(assignment, berth_i_known_key(d, d->best), (size_t)d->p.n * sizeof *assignment);
  const berth_i_worth w = d->known.worth[d->best];
  if (report)
    *report = (berth_decide_report){
        .value = w.value,
        .excess = w.excess,
        .start = d->start.excess > 0 ? INFINITY : d->start.value,
        .evaluations = d->evaluations,
        .repeats = d->repeats,
        .playouts = d->playouts + d->tree.playouts,
        .interrupted = d->interrupted,
    };
  if (w.excess == 0) return BERTH_OK;
  return berth_i_fail(d->ctx, BERTH_EINFEASIBLE,
                      "none of %d assignments is allowed; the least excess is %g", (int)d->known.n,
                      w.excess);
}

int32_t berth_decider_trace(const berth_decider *d, const int64_t **evaluations,
                            const double **value) {
  *evaluations = d->trace_at;
  *value = d->trace_value;
  return (int32_t)d->trace_n;
}
