/* Simulated annealing on assignments. Plain: single decisions, segments and prefixes by position,
 * swaps. Guided: actions are drawn from the prior or copied from neighbours, segments from other
 * good assignments, and moves that have led to improvements come more often.
 *
 * Invariant: w->cur has legal actions only and is of worth w->worth; a move leaves its proposal in
 * d->row. O(decisions) a step besides the value. Source: Kirkpatrick, Gelatt, Vecchi,
 * "Optimization by simulated annealing", 1983; moves by our own rules. */
#include "decide_internal.h"

enum {
  MOST_REPEATS = 2000,
  TRIES = 8,
  ELITE = 8,
  SOFT = 1,
  HARD = 100,
  SEVERAL = 6,
  ROUNDS = 3,
  FEW = 10,
  CUTS = 16
};
static const double LEARN = 0.05, LEAST = 0.05, FIRST = 0.3; /* of the gains of moves */
typedef enum move { SINGLE, SEGMENT, PREFIX, SWAP, BORDER, RUN, CROSS, SEAM, N_MOVES } move;

typedef struct walk {
  berth_decider *d;
  bool guided;
  int32_t *cur;            /* [n] */
  berth_i_worth worth;
  double per_excess;             /* what is not allowed costs */
  double gain[N_MOVES];          /* part of the moves that have led to something better, lately */
  int32_t top;                   /* of known: the best on this way */
  double *weight;                /* [n * actions] prior of each decision given cur */
  uint8_t *fresh;                /* [n] weight is that of cur */
  int32_t elite[ELITE], n_elite; /* of known, the best first */
  berth_status status;
} walk;

/* ---- prior ---- */

static const double *prior_of(walk *w, int32_t decision) {
  berth_decider *d = w->d;
  double *row = &w->weight[(size_t)decision * (size_t)d->p.n_actions];
  if (w->fresh[decision]) return row;
  d->query[0] = (berth_leaf){ w->cur, d->p.n, decision };
  if ((w->status = berth_i_decide_prior(d, 1)) != BERTH_OK) return NULL;
  memcpy(row, d->weight, (size_t)d->p.n_actions * sizeof *row);
  w->fresh[decision] = 1;
  return row;
}

static int32_t any_legal(berth_decider *d, int32_t decision) {
  int32_t n = 0;
  for (int32_t a = 0; a < d->p.n_actions; a++)
    if (berth_i_legal(d, decision, a)) d->pick[n++] = a;
  return d->pick[berth_rng_below(&d->walk_rng, n)];
}

/* By the prior, but for one in four: what is costly by itself may pay in all. */
static int32_t draw(walk *w, int32_t decision) {
  berth_decider *d = w->d;
  int32_t last = BERTH_NONE;
  if (!w->guided || !d->p.prior || berth_rng_below(&d->walk_rng, 4) == 0)
    return any_legal(d, decision);
  const double *p;
  if (!(p = prior_of(w, decision))) return w->cur[decision];
  double u = berth_rng_uniform(&d->walk_rng);
  for (int32_t a = 0; a < d->p.n_actions; a++)
    if (p[a] > 0) {
      last = a;
      if ((u -= p[a]) < 0) break;
    }
  return last;
}

/* ---- moves: cur to row ---- */

static void put(const walk *w, int32_t decision, int32_t action) {
  const int32_t same = berth_i_stand_in(w->d, decision, action);
  if (same != BERTH_NONE) w->d->row[decision] = same;
}

static void put_segment(const walk *w, int32_t low, int32_t high, int32_t action) {
  for (int32_t k = low; k < high; k++) put(w, w->d->near[k], action);
}

static int32_t below(const walk *w, int32_t n) { return berth_rng_below(&w->d->walk_rng, n); }

/* Short ones are as likely as long ones: uniform in the logarithm. */
static int32_t some_length(const walk *w) {
  const double length = exp(berth_rng_uniform(&w->d->walk_rng) * log((double)w->d->p.n + 1));
  return length < w->d->p.n ? (int32_t)length : w->d->p.n;
}

static void segment_at(const walk *w, int32_t *low, int32_t *high) {
  const int32_t length = some_length(w);
  *low = below(w, w->d->p.n - length + 1);
  *high = *low + length;
}

/* By weight, or, for every other one, alike. */
static int32_t some_decision(walk *w) {
  const berth_decider *d = w->d;
  int32_t i = 0;
  if (!w->guided || !d->p.weight || below(w, 2) == 0) return below(w, d->p.n);
  double u = d->total_weight * berth_rng_uniform(&w->d->walk_rng);
  while (i + 1 < d->p.n && (u -= d->p.weight[i]) >= 0) i++;
  return i;
}

static void single(walk *w) {
  const int32_t i = some_decision(w);
  put(w, i, draw(w, i));
}

static void segment(walk *w) {
  int32_t low, high;
  segment_at(w, &low, &high);
  put_segment(w, low, high, draw(w, w->d->near[low + below(w, high - low)]));
}

static void prefix(walk *w) {
  const int32_t n = w->d->p.n, at = 1 + below(w, n);
  const bool suffix = w->guided && below(w, 2) == 0;
  const int32_t low = suffix ? n - at : 0, high = suffix ? n : at;
  put_segment(w, low, high, draw(w, w->d->near[low + below(w, high - low)]));
}

static void swap(walk *w) {
  const int32_t i = below(w, w->d->p.n), j = below(w, w->d->p.n);
  if (!berth_i_legal(w->d, i, w->cur[j]) || !berth_i_legal(w->d, j, w->cur[i])) return;
  w->d->row[i] = w->cur[j];
  w->d->row[j] = w->cur[i];
}

static int32_t action_at(const walk *w, int32_t rank) { return w->cur[w->d->near[rank]]; }

/* The border between two runs of equal actions moves. */
static void border(walk *w) {
  const int32_t n = w->d->p.n, from = below(w, n), length = some_length(w);
  int32_t k = from;
  while (k + 1 < n && action_at(w, k) == action_at(w, k + 1)) k++;
  if (k + 1 == n) return;
  if (below(w, 2) == 0)
    put_segment(w, k + 1, k + 1 + length < n ? k + 1 + length : n, action_at(w, k));
  else put_segment(w, k + 1 - length > 0 ? k + 1 - length : 0, k + 1, action_at(w, k + 1));
}

/* A whole run of equal actions takes another one. */
static void run(walk *w) {
  const int32_t n = w->d->p.n, at = below(w, n);
  int32_t low = at, high = at + 1;
  while (low > 0 && action_at(w, low - 1) == action_at(w, at)) low--;
  while (high < n && action_at(w, high) == action_at(w, at)) high++;
  put_segment(w, low, high, draw(w, w->d->near[at]));
}

/* A segment of another good assignment. */
static void cross(walk *w) {
  const berth_decider *d = w->d;
  if (w->n_elite == 0) return;
  const int32_t *other = berth_i_known_key(d, w->elite[below(w, w->n_elite)]);
  int32_t low, high;
  segment_at(w, &low, &high);
  for (int32_t k = low; k < high; k++) d->row[d->near[k]] = other[d->near[k]];
}

/* Good seams and good actions come more often. */
static int32_t some_cut(const walk *w) {
  const int32_t n = w->d->p.n - 1, most = n < CUTS ? n : CUTS;
  return w->d->cut[(int32_t)(most * pow(berth_rng_uniform(&w->d->walk_rng), 1.5))];
}

static int32_t some_good(const walk *w) {
  const double u = berth_rng_uniform(&w->d->walk_rng);
  return w->d->good[(int32_t)(0.7 * w->d->n_good * u * u)];
}

/* Up to a seam, from there on, or between two takes an action that is good everywhere. */
static void seam(walk *w) {
  const int32_t n = w->d->p.n, way = below(w, 3);
  int32_t low = 0, high = n;
  if (n < 2 || w->d->n_good == 0) return;
  if (way != 0) low = some_cut(w) + 1;
  if (way != 1) high = some_cut(w) + 1;
  if (low > high) put_segment(w, high, low, some_good(w));
  else put_segment(w, low, high, some_good(w));
}

static void make_move(walk *w, move m) {
  static void (*const moves[N_MOVES])(walk *) = { single, segment, prefix, swap,
                                                  border, run,     cross,  seam };
  const size_t bytes = (size_t)w->d->p.n * sizeof *w->cur;
  for (int32_t i = 0; i < TRIES && w->status == BERTH_OK; i++) {
    memcpy(w->d->row, w->cur, bytes);
    moves[m](w);
    if (memcmp(w->d->row, w->cur, bytes) != 0) return;
  }
}

/* ---- walking ---- */

static const double plain_share[N_MOVES] = { 0.5, 0.25, 0.1, 0.15, 0, 0, 0, 0 };
static const double guided_share[N_MOVES] = { 0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.1 };

/* Those that have helped lately come more often. */
static move choose(walk *w) {
  const double *share = w->guided ? guided_share : plain_share;
  const int32_t n = w->guided ? N_MOVES : BORDER;
  double chance[N_MOVES], sum = 0;
  int32_t m = 0;
  for (int32_t k = 0; k < n; k++) sum += chance[k] = share[k] * w->gain[k];
  double u = sum * berth_rng_uniform(&w->d->walk_rng);
  while (m + 1 < n && (u -= chance[m]) >= 0) m++;
  return (move)m;
}

/* Kept sorted; equal values once. */
static void keep_elite(walk *w, int32_t known) {
  const berth_i_worth *worth = w->d->known.worth;
  int32_t i = w->n_elite;
  if (worth[known].excess > 0) return;
  for (int32_t k = 0; k < w->n_elite; k++)
    if (worth[w->elite[k]].value == worth[known].value) return;
  if (i == ELITE && !berth_i_better(worth[known], worth[w->elite[i - 1]])) return;
  if (i < ELITE) w->n_elite++;
  else i--;
  for (; i > 0 && berth_i_better(worth[known], worth[w->elite[i - 1]]); i--)
    w->elite[i] = w->elite[i - 1];
  w->elite[i] = known;
}

/* Worse by less than the temperature allows; what is not allowed costs per_excess. */
static bool accepts(walk *w, berth_i_worth next, double temperature) {
  const double most = -temperature * log(1 - berth_rng_uniform(&w->d->walk_rng));
  const double cur = berth_i_penalised(w->worth, w->per_excess),
               value = berth_i_penalised(next, w->per_excess);
  if (isinf(value) || isinf(cur)) return isinf(cur);
  return (value - cur) / (cur != 0 ? fabs(cur) : 1) <= most;
}

static void take(walk *w, const int32_t *row, berth_i_worth worth) {
  const size_t n = (size_t)w->d->p.n;
  memmove(w->cur, row, n * sizeof *row);
  memset(w->fresh, 0, n);
  w->worth = worth;
}

/* Simulated annealing from a known assignment until that part of the budget is used. */
static void anneal(walk *w, int32_t from, double end) {
  berth_decider *d = w->d;
  const double begin = berth_i_decide_used(d);
  int32_t repeats = 0, turn = 0;
  w->top = from;
  while (w->status == BERTH_OK && repeats < MOST_REPEATS && !berth_i_all_known(d)
         && berth_i_decide_goes_on(d)) {
    const int64_t before = d->evaluations;
    const double done = begin < end ? (berth_i_decide_used(d) - begin) / (end - begin) : 1;
    if (done >= 1 && end < 1) break;
    /* 1. At each quarter continue from the best of this run. */
    if (done * 4 >= turn) {
      take(w, berth_i_known_key(d, w->top), d->known.worth[w->top]);
      turn++;
    }
    /* 2. Cool; what is not allowed costs ever more. */
    const double temperature = d->o.t_start * pow(d->o.t_end / d->o.t_start, done);
    w->per_excess = SOFT * pow((double)HARD / SOFT, done);
    /* 3. Propose a move; where moves lead to known assignments only, every other time anything. */
    const bool random = repeats > MOST_REPEATS / 4 && repeats % 2 == 0;
    const move m = random ? N_MOVES : choose(w);
    if (!random) make_move(w, m);
    for (int32_t i = 0; random && i < d->p.n; i++) d->row[i] = any_legal(d, i);
    /* 4. Evaluate, learn which moves help, accept or not. */
    int32_t valued = 0;
    if (w->status == BERTH_OK) w->status = berth_i_decide_values(d, 1, &valued);
    if (w->status == BERTH_OK && valued > 0) {
      const berth_i_worth next = d->row_worth[0];
      if (!random && w->guided)
        w->gain[m] += LEARN * (LEAST + (berth_i_better(next, w->worth) ? 1 : 0) - w->gain[m]);
      keep_elite(w, d->row_known[0]);
      if (berth_i_better(next, d->known.worth[w->top])) w->top = d->row_known[0];
      if (accepts(w, next, temperature)) take(w, d->row, next);
    }
    repeats = d->evaluations > before ? 0 : repeats + 1;
  }
}

/* Successive halving: from several assignments that are unlike each other, as many as get FEW
 * evaluations each in the first round, and one for four decisions; each round the better half
 * continues with the same budget for all of them together. */
static void anneal_several(walk *w) {
  berth_decider *d = w->d;
  const berth_i_worth *worth;
  const double left =
      d->budget.most == INT64_MAX ? INFINITY : (double)(d->budget.most - d->evaluations);
  const double begin = berth_i_decide_used(d), part = d->o.several_part * (1 - begin);
  const double ways =
      d->o.several_part > 0 ? d->o.several_part * left / (ROUNDS * fmax(FEW, d->p.n / 4.0)) : 0;
  int32_t top[SEVERAL], rounds = 0;
  int32_t n = berth_i_known_unlike(d, ways < SEVERAL ? (int32_t)ways : SEVERAL, top);
  for (int32_t k = n; k > 1; k = (k + 1) / 2) rounds++;
  for (int32_t r = 0; r < rounds && berth_i_decide_goes_on(d); r++) {
    for (int32_t k = 0; k < n && w->status == BERTH_OK; k++) {
      anneal(w, top[k], begin + part * (r + (k + 1.0) / n) / rounds);
      top[k] = w->top;
    }
    worth = d->known.worth;
    for (int32_t k = 1; k < n; k++) { /* insertion sort, best first: stable */
      const int32_t one = top[k];
      int32_t i = k;
      for (; i > 0 && berth_i_better(worth[one], worth[top[i - 1]]); i--) top[i] = top[i - 1];
      top[i] = one;
    }
    n = (n + 1) / 2;
  }
}

berth_status berth_i_decide_anneal(berth_decider *d, bool guided) {
  const size_t n = (size_t)d->p.n, actions = (size_t)d->p.n_actions;
  const int32_t known = d->known.n;
  berth_i_pool pool = berth_i_pool_empty(d->ctx);
  walk w = { .d = d, .guided = guided };
  w.cur = berth_i_pool_alloc(&pool, n, sizeof *w.cur);
  w.weight = berth_i_pool_alloc(&pool, n * actions, sizeof *w.weight);
  w.fresh = berth_i_pool_zalloc(&pool, n, 1);
  if ((w.status = berth_i_pool_status(&pool)) != BERTH_OK) goto done;
  for (int32_t m = 0; m < N_MOVES; m++) w.gain[m] = FIRST;
  for (int32_t i = 0; i < known; i++) keep_elite(&w, i);
  if (d->o.method == BERTH_DECIDE_MCTS) anneal_several(&w);
  if (w.status == BERTH_OK) anneal(&w, d->best, 1);
done:
  berth_i_pool_free(&pool);
  return w.status;
}
