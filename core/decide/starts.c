/* What is valued first: starts, and each action for all decisions; then actions for all decisions
 * but where the prior holds another for much likelier. And what fills in decisions that are not
 * made yet: the first decision's action, the best start, the nearest made decision's, or the
 * caller's function. O(decisions) an assignment, O(decisions^2) by the nearest. */
#include "decide_internal.h"
#include "base/sort_internal.h"

/* ---- filling in ---- */

void berth_i_decide_first(const berth_decider *d, int32_t *row) {
  if (d->p.n_starts > 0) {
    memcpy(row, &d->p.start[(size_t)d->first_start * (size_t)d->p.n], (size_t)d->p.n * sizeof *row);
    return;
  }
  for (int32_t i = 0; i < d->p.n; i++)
    for (row[i] = 0; !berth_i_legal(d, i, row[i]);) row[i]++;
}

/* The action of the nearest made decision that may be copied; else as it is. O(decided) */
static int32_t nearest(const berth_decider *d, int32_t decided, const int32_t *row, int32_t i) {
  double least = INFINITY;
  int32_t action = row[i];
  for (int32_t j = 0; j < decided; j++) {
    const double far = fabs(d->p.position[i] - d->p.position[j]);
    const int32_t same = far < least ? berth_i_stand_in(d, i, row[j]) : BERTH_NONE;
    if (same == BERTH_NONE) continue;
    least = far;
    action = same;
  }
  return action;
}

static berth_status check_own(const berth_decider *d, const int32_t *row) {
  for (int32_t i = 0; i < d->p.n; i++)
    if (row[i] < 0 || row[i] >= d->p.n_actions || !berth_i_legal(d, i, row[i]))
      return berth_i_fail(d->ctx, BERTH_EINVAL,
                          "fill gives decision %d action %d, which is not legal", (int)i,
                          (int)row[i]);
  return BERTH_OK;
}

static berth_status own(berth_decider *d, int32_t decided, int32_t *row) {
  const size_t made = (size_t)decided * sizeof *row;
  memcpy(d->pick, row, made);
  berth_status st = d->p.own_fill(d->p.ud, decided, row);
  memcpy(row, d->pick, made);
  return st == BERTH_OK ? check_own(d, row) : st;
}

static void copy_first(const berth_decider *d, int32_t decided, int32_t *row) {
  for (int32_t i = decided; i < d->p.n && decided > 0; i++) {
    const int32_t same = berth_i_stand_in(d, i, row[0]);
    if (same != BERTH_NONE) row[i] = same;
  }
}

berth_status berth_i_decide_fill(berth_decider *d, int32_t decided, int32_t *row) {
  switch (d->p.fill) {
  case BERTH_FILL_FIRST: copy_first(d, decided, row); return BERTH_OK;
  case BERTH_FILL_START: return BERTH_OK; /* there is nothing yet but the first start */
  case BERTH_FILL_OWN: return own(d, decided, row);
  default: break;
  }
  for (int32_t i = decided; i < d->p.n && decided > 0; i++) row[i] = nearest(d, decided, row, i);
  return BERTH_OK;
}

/* ---- prior ---- */

static berth_status normalise(berth_decider *d, int32_t decision, double *p) {
  double sum = 0, most = 0;
  int32_t n = 0;
  for (int32_t a = 0; a < d->p.n_actions; a++) {
    if (!berth_i_legal(d, decision, a)) p[a] = 0;
    else if (!(p[a] >= 0) || isinf(p[a]))
      return berth_i_fail(
          d->ctx, BERTH_EINVAL,
          "the prior of action %d at decision %d is %g, expected a finite number from 0", (int)a,
          (int)decision, p[a]);
    else n++;
    sum += p[a];
    most = fmax(most, p[a]);
  }
  if (isinf(sum)) {
    sum = 0;
    for (int32_t a = 0; a < d->p.n_actions; a++) sum += p[a] /= most;
  }
  for (int32_t a = 0; a < d->p.n_actions; a++)
    if (berth_i_legal(d, decision, a)) p[a] = sum > 0 ? p[a] / sum : 1.0 / n;
  return BERTH_OK;
}

berth_status berth_i_decide_prior(berth_decider *d, int32_t k) {
  const size_t n = (size_t)d->p.n_actions;
  berth_status st = BERTH_OK;
  if (k == 0) return BERTH_OK;
  for (size_t i = 0; i < (size_t)k * n; i++) d->weight[i] = 0;
  if (d->p.prior) st = d->p.prior(d->p.ud, k, d->query, d->weight);
  for (int32_t i = 0; i < k && st == BERTH_OK; i++)
    st = normalise(d, d->query[i].decision, &d->weight[(size_t)i * n]);
  return st;
}

/* ---- starts ---- */

static void keep_best_start(berth_decider *d, int32_t known) {
  const berth_i_worth w = d->known.worth[known];
  if (d->best_start != BERTH_NONE && !berth_i_better(w, d->start)) return;
  d->best_start = known;
  d->start = w;
}

/* In the order given. */
static void keep_start(berth_decider *d, int32_t known, int32_t number) {
  const berth_i_worth w = d->known.worth[known];
  keep_best_start(d, known);
  if (number > 0 && (d->first.excess == 0 || w.excess > 0)) return;
  d->first = w;
  d->first_start = number;
}

static int32_t count_starts(const berth_decider *d) {
  return d->p.n_starts > 0 ? d->p.n_starts : 1;
}

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

/* A start whose value the caller knows. */
static bool is_given(const berth_decider *d, int32_t start) {
  return start < d->p.n_starts && d->p.start_value && !isnan(d->p.start_value[start]);
}

static berth_status add_given(berth_decider *d, int32_t start, int32_t *known) {
  const int32_t *row = &d->p.start[(size_t)start * (size_t)d->p.n];
  const berth_i_worth w = { d->p.start_excess ? d->p.start_excess[start] : 0,
                            d->p.start_value[start] };
  return berth_i_known_add(d, row, w, known);
}

static berth_status value_starts(berth_decider *d) {
  const int32_t n = count_starts(d);
  int32_t known;
  berth_status st = BERTH_OK;
  /* 1. Given values, before anything is evaluated: the same assignment may be among the others, and
   * the budget may end before these. */
  for (int32_t start = 0; d->n_started < n && start < d->p.n_starts && st == BERTH_OK; start++) {
    if (is_given(d, start) && (st = add_given(d, start, &known)) == BERTH_OK)
      keep_best_start(d, known);
  }
  /* 2. All in the order of their numbers, as many at once as have no given value. */
  while (d->n_started < n && st == BERTH_OK) {
    const int32_t at = d->n_started;
    if (is_given(d, at)) {
      if ((st = add_given(d, at, &known)) != BERTH_OK) return st;
      keep_start(d, known, at);
      d->n_started++;
      continue;
    }
    if (!berth_i_decide_goes_on(d)) break;
    int32_t k = 1, done;
    while (k < least(d->o.batch, n - at) && !is_given(d, at + k)) k++;
    berth_i_decide_first(d, d->row);
    if (d->p.n_starts > 0)
      memcpy(d->row, &d->p.start[(size_t)at * (size_t)d->p.n],
             (size_t)k * (size_t)d->p.n * sizeof *d->row);
    if ((st = berth_i_decide_values(d, k, &done)) != BERTH_OK) return st;
    for (int32_t i = 0; i < done; i++) keep_start(d, d->row_known[i], at + i);
    d->n_started += done;
  }
  return st;
}

/* ---- uniform ---- */

/* Adds how likely each action is, over all decisions of the best start. */
static berth_status add_likelihood(berth_decider *d, berth_i_keyed *sum) {
  const int32_t *row = berth_i_known_key(d, d->best_start);
  for (int32_t i = 0; i < d->p.n && d->p.prior; i += d->o.batch) {
    const int32_t k = least(d->o.batch, d->p.n - i);
    for (int32_t j = 0; j < k; j++) d->query[j] = (berth_leaf){ row, d->p.n, i + j };
    berth_status st;
    if ((st = berth_i_decide_prior(d, k)) != BERTH_OK) return st;
    for (int32_t j = 0; j < k; j++)
      for (int32_t a = 0; a < d->p.n_actions; a++)
        sum[a].key += d->weight[(size_t)j * (size_t)d->p.n_actions + (size_t)a];
  }
  return BERTH_OK;
}

/* Where nothing replaces an illegal action, as in the best start. */
static void everywhere(const berth_decider *d, int32_t action, int32_t *row) {
  memcpy(row, berth_i_known_key(d, d->best_start), (size_t)d->p.n * sizeof *row);
  for (int32_t i = 0; i < d->p.n; i++) {
    const int32_t same = berth_i_stand_in(d, i, action);
    if (same != BERTH_NONE) row[i] = same;
  }
}

static berth_status value_uniform(berth_decider *d, int32_t n, const berth_i_keyed *order) {
  const bool all = d->o.method == BERTH_DECIDE_ANNEAL;
  const int64_t most = d->budget.most, left = most - d->evaluations;
  berth_status st = BERTH_OK;
  if (!all && most < INT64_MAX)
    d->budget.most = d->evaluations + (int64_t)ceil(d->o.uniform_part * (double)left);
  for (int32_t i = 0; i < n && st == BERTH_OK && berth_i_decide_goes_on(d); i += d->o.batch) {
    int32_t k = least(d->o.batch, n - i);
    for (int32_t j = 0; j < k; j++)
      everywhere(d, order[i + j].id, &d->row[(size_t)j * (size_t)d->p.n]);
    int32_t done;
    st = berth_i_decide_values(d, k, &done);
  }
  d->budget.most = most;
  return st;
}

/* Actions whose uniform assignment is known, best first; equal ones by their number. */
static void rank_good(berth_decider *d) {
  const berth_i_worth *worth = d->known.worth;
  int32_t *known = d->pick;
  d->n_good = 0;
  for (int32_t a = 0; a < d->p.n_actions; a++) {
    int32_t i = d->n_good;
    everywhere(d, a, d->row);
    int32_t one;
    if ((one = berth_i_known_find(d, d->row)) == BERTH_NONE) continue;
    for (; i > 0 && berth_i_better(worth[one], worth[known[i - 1]]); i--) {
      known[i] = known[i - 1];
      d->good[i] = d->good[i - 1];
    }
    known[i] = one;
    d->good[i] = a;
    d->n_good++;
  }
}

/* Actions for all decisions, the likeliest first; those that are not worth it are left out. */
static berth_status uniform(berth_decider *d) {
  const size_t size = (size_t)d->p.n_actions;
  berth_i_keyed *order = berth_i_alloc(d->ctx, size, sizeof *order);
  berth_status st = BERTH_OK;
  int32_t n = 0;
  if (!order) return berth_i_nomem(d->ctx);
  for (int32_t a = 0; a < d->p.n_actions; a++) order[a] = (berth_i_keyed){ 0, a };
  if (d->o.method != BERTH_DECIDE_ANNEAL) st = add_likelihood(d, order);
  if (st == BERTH_OK) {
    berth_i_sort_keyed_down(order, d->p.n_actions);
    for (int32_t k = 0; k < d->p.n_actions; k++)
      if (!d->p.everywhere || d->p.everywhere[order[k].id]) order[n++] = order[k];
    st = value_uniform(d, n, order);
  }
  berth_i_free(d->ctx, order, size, sizeof *order);
  return st;
}

berth_status berth_i_decide_starts(berth_decider *d) {
  berth_status st = value_starts(d);
  if (st != BERTH_OK || d->uniform_done || d->n_started < count_starts(d)) return st;
  if (d->o.uniform) st = uniform(d);
  if (st != BERTH_OK) return st;
  d->uniform_done = true;
  rank_good(d);
  return BERTH_OK;
}

/* ---- informed ---- */

static const double MUCH = 3; /* times as likely */

/* What is much likelier than in `row`, given that. */
static berth_status follow_prior(berth_decider *d, const int32_t *row, int32_t *out) {
  const size_t actions = (size_t)d->p.n_actions;
  for (int32_t i = 0; i < d->p.n; i += d->o.batch) {
    const int32_t k = least(d->o.batch, d->p.n - i);
    for (int32_t j = 0; j < k; j++) d->query[j] = (berth_leaf){ row, d->p.n, i + j };
    berth_status st;
    if ((st = berth_i_decide_prior(d, k)) != BERTH_OK) return st;
    for (int32_t j = 0; j < k; j++) {
      const double *p = &d->weight[(size_t)j * actions];
      int32_t best = row[i + j];
      for (int32_t a = 0; a < d->p.n_actions; a++)
        if (p[a] > p[best]) best = a;
      out[i + j] = p[best] > MUCH * p[row[i + j]] ? best : row[i + j];
    }
  }
  return BERTH_OK;
}

static berth_status inform(berth_decider *d, int32_t *row) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < d->n_good && st == BERTH_OK && berth_i_decide_goes_on(d); i++) {
    if (d->p.everywhere && !d->p.everywhere[d->good[i]]) continue;
    everywhere(d, d->good[i], row);
    int32_t done;
    if ((st = follow_prior(d, row, d->row)) == BERTH_OK) st = berth_i_decide_values(d, 1, &done);
  }
  return st;
}

berth_status berth_i_decide_informed(berth_decider *d) {
  const berth_i_budget whole = d->budget;
  const size_t n = (size_t)d->p.n;
  const double part = d->o.informed_part;
  if (!d->p.prior || part == 0) return BERTH_OK;
  int32_t *row;
  if (!(row = berth_i_alloc(d->ctx, n, sizeof *row))) return berth_i_nomem(d->ctx);
  if (whole.most < INT64_MAX)
    d->budget.most = d->evaluations + (int64_t)ceil(part * (double)(whole.most - d->evaluations));
  if (whole.until < INFINITY) {
    const double now = berth_i_ctx_clock(d->ctx);
    d->budget.until = now + part * (whole.until - now);
  }
  berth_status st = inform(d, row);
  d->budget = whole;
  berth_i_free(d->ctx, row, n, sizeof *row);
  return st;
}
