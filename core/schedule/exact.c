/* The shortest schedule of a small problem, with proof: depth first over actions in order of time.
 *
 * Of all actions that can be next on their stages, the one that would end first sets a time; some
 * action of its stage that can start before that time comes next on it (Giffler, Thompson, 1960):
 * otherwise that one could be put before what comes next. An F could not, for it takes memory; so,
 * if it is an F, its stage may also wait: the F's that it could run are barred until it has run
 * something else. A state is left if its lower bound is not below the best step, or if one with the
 * same actions done and barred was expanded in which everything was at least as early. W's of a
 * stage that are alike stand for one another: the one of the last chunk comes first, and of what
 * was done only their number counts. Stages start at their earliest, as the evaluator has it; then
 * the span, too, only grows with every end. */
#include "schedule_internal.h"

enum { TABLE = 1 << 20, MOST_NUMBERS = 1 << 24 };

/* A state that was expanded: numbers[0..n) of `data`, after those actions. */
typedef struct label {
  uint64_t key;
  int32_t next;      /* with the same slot; NONE: last */
  uint32_t at, n;
} label;

typedef struct exact {
  const berth_schedule_problem *p;
  berth_i_run run;      /* ends of what was done; `last` by stage */
  int32_t *weights;     /* [n] W's done, by chunk */
  bool *alike;          /* [p] W's of the stage's chunks take as long, and free as much */
  double *held, *left;  /* [p] memory; s of work to do */
  uint32_t *barred;     /* [p] F's that do not come next, by chunk of the stage */
  double *head;         /* [p] s, start of the first action */
  double *ends;         /* [2n] bound of the end of each lane */
  berth_i_words now, best;
  double step;
  int32_t *slot;        /* [TABLE] first label; NONE */
  label *labels;
  double *data;
  size_t labels_cap, data_cap, n_labels, n_data;
  int64_t calls, most_calls;
  double bound, started, seconds;
  berth_status stopped;
  berth_i_pool *pool;
} exact;

/* ---- what can be next ---- */

static bool can_run(const exact *x, int32_t s, int32_t c, int32_t kind, double *start) {
  const berth_schedule_problem *p = x->p;
  const int32_t *done = x->run.done;
  if (kind == BERTH_SCHEDULE_WEIGHT) {
    *start = x->run.last[s];
    return !p->o.joined && x->weights[c] < done[2 * c + 1];
  }
  int32_t lane = berth_i_lane(c, kind);
  if (done[lane] >= p->count[c]) return false;
  if (kind == BERTH_SCHEDULE_FORWARD
      && (berth_i_over(x->held[s] + p->adds[c], p->limit[s]) || x->barred[s] >> p->local[c] & 1))
    return false;
  double arrival = berth_i_arrival(&x->run, lane);
  *start = fmax(arrival, x->run.last[s]);
  return !isinf(arrival);
}

/* The stage of the action that can end first, and when; BERTH_NONE: nothing can run. */
static int32_t first_to_end(const exact *x, double *when, int32_t *which) {
  const berth_schedule_problem *p = x->p;
  int32_t best = BERTH_NONE;
  *when = INFINITY;
  for (int32_t c = 0; c < p->n; c++)
    for (int32_t kind = 0; kind < 3; kind++) {
      double start;
      if (!can_run(x, p->stage[c], c, kind, &start)) continue;
      double end = start + p->time[kind][c];
      if (end >= *when) continue;
      *when = end;
      *which = kind;
      best = p->stage[c];
    }
  return best;
}

/* ---- bounds of a state ---- */

/* No lane ends before what is left of it has run, nor before its source and one more. */
static double lane_end(const exact *x, int32_t lane) {
  const berth_schedule_problem *p = x->p;
  int32_t c = lane / 2, kind = lane % 2, s = p->stage[c], left = p->count[c] - x->run.done[lane];
  int32_t from = p->source[lane];
  if (left == 0) return x->run.end[x->run.at[lane] + (size_t)p->count[c] - 1];
  double arrival = berth_i_arrival(&x->run, lane);
  double begin = isinf(arrival) ? x->run.last[s] : fmax(arrival, x->run.last[s]);
  double end = begin + left * p->time[kind][c];
  return from == BERTH_NONE ? end : fmax(end, x->ends[from] + p->wait[lane] + p->time[kind][c]);
}

static double bound_of(const exact *x) {
  const berth_schedule_problem *p = x->p;
  bool span = p->o.objective == BERTH_SCHEDULE_SPAN;
  double bound = 0;
  for (int32_t c = 0; c < p->n; c++) x->ends[2 * c] = lane_end(x, 2 * c);
  for (int32_t c = p->n - 1; c >= 0; c--) x->ends[2 * c + 1] = lane_end(x, 2 * c + 1);
  for (int32_t s = 0; s < p->p; s++) {
    int32_t c = p->chunk[s * p->v];
    double end = x->run.last[s] + x->left[s];
    if (x->weights[c] < p->count[c]) end = fmax(end, x->ends[2 * c + 1] + p->time[2][c]);
    bound = fmax(bound, end + p->extra[s] - (span ? x->head[s] : 0));
  }
  return bound;
}

/* ---- states that were expanded ---- */

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

static uint64_t key_of(const exact *x) {
  uint64_t h = 1;
  const berth_schedule_problem *p = x->p;
  for (int32_t c = 0; c < p->n; c++)
    h = mix(h, (uint64_t)x->run.done[2 * c] << 32 | (uint64_t)x->run.done[2 * c + 1]);
  for (int32_t s = 0; s < p->p; s++) {
    int32_t all = 0;
    for (int32_t k = 0; k < p->v; k++) {
      int32_t done = x->weights[p->chunk[s * p->v + k]];
      all += done;
      if (!x->alike[s]) h = mix(h, (uint64_t)done);
    }
    h = mix(h, (uint64_t)all << 32 | x->barred[s]);
  }
  return h;
}

/* Everything on which what follows depends: when stages are free, and when inputs that wait came.
 * @return how many numbers; `out` NULL: only that */
static uint32_t numbers_of(const exact *x, double *out) {
  const berth_schedule_problem *p = x->p;
  const berth_i_run *r = &x->run;
  uint32_t n = 0;
  for (int32_t s = 0; s < p->p; s++, n++)
    if (out) out[n] = r->last[s];
  for (int32_t lane = 0; lane < 2 * p->n; lane++) {
    int32_t from = p->source[lane];
    for (int32_t k = r->done[lane]; from != BERTH_NONE && k < r->done[from]; k++, n++)
      if (out) out[n] = fmax(r->end[r->at[from] + (size_t)k] + p->wait[lane],
                             r->last[p->stage[lane / 2]]);
  }
  return n;
}

static bool dominates(const double *a, const double *b, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (a[i] > b[i]) return false;
  return true;
}

/* Was a state that is at least as early expanded? If not, this one is noted while there is room. */
static bool is_known(exact *x) {
  uint64_t key = key_of(x);
  int32_t *first = &x->slot[key % TABLE];
  uint32_t n = numbers_of(x, NULL);
  bool room = x->n_data + n <= MOST_NUMBERS;
  if (BERTH_I_POOL_GROW(x->pool, x->data, x->data_cap, x->n_data + n) != BERTH_OK
      || BERTH_I_POOL_GROW(x->pool, x->labels, x->labels_cap, x->n_labels + 1) != BERTH_OK) {
    x->stopped = BERTH_ENOMEM;
    return true;
  }
  double *own = x->data + x->n_data;
  numbers_of(x, own);
  for (int32_t i = *first; i != BERTH_NONE; i = x->labels[i].next)
    if (x->labels[i].key == key && x->labels[i].n == n
        && dominates(x->data + x->labels[i].at, own, n))
      return true;
  if (!room) return false;
  x->labels[x->n_labels] = (label){ key, *first, (uint32_t)x->n_data, n };
  *first = (int32_t)x->n_labels++;
  x->n_data += n;
  return false;
}

/* ---- depth first ---- */

/* What one action changed. */
typedef struct undo {
  double last, held, left;
  uint32_t barred;
} undo;

static undo run_action(exact *x, int32_t s, int32_t c, int32_t kind, double start) {
  const berth_schedule_problem *p = x->p;
  undo u = { x->run.last[s], x->held[s], x->left[s], x->barred[s] };
  int32_t lane = berth_i_lane(c, kind);
  if (x->run.pos[s] == 0) x->head[s] = start;
  x->run.last[s] = start + p->time[kind][c];
  x->held[s] += kind == BERTH_SCHEDULE_FORWARD ? p->adds[c] : -p->frees[kind][c];
  x->left[s] -= p->time[kind][c];
  x->barred[s] = 0;
  if (kind == BERTH_SCHEDULE_WEIGHT) x->weights[c]++;
  else x->run.end[x->run.at[lane] + (size_t)x->run.done[lane]++] = x->run.last[s];
  x->now.code[x->now.begin[s] + x->run.pos[s]++] = berth_i_code_of(p->local[c], kind);
  return u;
}

static void take_back(exact *x, int32_t s, int32_t c, int32_t kind, undo u) {
  x->run.pos[s]--;
  if (kind == BERTH_SCHEDULE_WEIGHT) x->weights[c]--;
  else x->run.done[berth_i_lane(c, kind)]--;
  x->run.last[s] = u.last;
  x->held[s] = u.held;
  x->left[s] = u.left;
  x->barred[s] = u.barred;
}

static bool ends(exact *x) {
  if (x->stopped != BERTH_OK || x->calls >= x->most_calls
      || x->step <= x->bound * (1 + 1e-9))
    return true;
  if (x->calls % 256) return false;
  double now = isfinite(x->seconds) ? berth_i_ctx_clock(x->p->ctx) : 0;
  if (isfinite(x->seconds) && now - x->started > x->seconds) x->most_calls = x->calls;
  x->stopped = berth_i_interrupted(x->p->ctx);
  return x->stopped != BERTH_OK || x->calls >= x->most_calls;
}

/* F's of the stage that can start before `when`, as bits; 0 where memory holds all F's left. */
static uint32_t to_bar(const exact *x, int32_t s, double when) {
  const berth_schedule_problem *p = x->p;
  uint32_t bits = 0;
  double all = x->held[s];
  for (int32_t k = 0; k < p->v; k++) {
    int32_t c = p->chunk[s * p->v + k];
    double start;
    all += (p->count[c] - x->run.done[2 * c]) * p->adds[c];
    if (can_run(x, s, c, BERTH_SCHEDULE_FORWARD, &start) && start < when) bits |= 1u << k;
  }
  return berth_i_over(all, p->limit[s]) ? bits : 0;
}

static void expand(exact *x, size_t left) {
  const berth_schedule_problem *p = x->p;
  if (ends(x)) return;
  x->calls++;
  double bound = bound_of(x), when;
  if (!(bound < x->step * (1 - 1e-9))) return;
  if (left == 0) {
    x->step = bound;
    memcpy(x->best.code, x->now.code, x->best.begin[p->p] * sizeof *x->best.code);
    return;
  }
  if (is_known(x)) return;
  int32_t first = 0, s = first_to_end(x, &when, &first);
  static const int32_t order[] = { BERTH_SCHEDULE_BACKWARD, BERTH_SCHEDULE_FORWARD,
                                   BERTH_SCHEDULE_WEIGHT };
  for (int32_t i = 0; s != BERTH_NONE && i < 3; i++)
    for (int32_t k = p->v - 1; k >= 0; k--) {
      int32_t c = p->chunk[s * p->v + k], kind = order[i];
      double start;
      if (!can_run(x, s, c, kind, &start) || !(start < when || p->time[kind][c] == 0)) continue;
      undo u = run_action(x, s, c, kind, start);
      expand(x, left - 1);
      take_back(x, s, c, kind, u);
      if (kind == BERTH_SCHEDULE_WEIGHT && x->alike[s]) break;
    }
  uint32_t bars = s == BERTH_NONE || first != BERTH_SCHEDULE_FORWARD ? 0 : to_bar(x, s, when);
  if (!bars) return;
  x->barred[s] |= bars;
  expand(x, left);
  x->barred[s] &= ~bars;
}

/* ---- the public function ---- */

static bool weights_alike(const berth_schedule_problem *p, int32_t s) {
  const int32_t *c = p->chunk + s * p->v;
  for (int32_t k = 1; k < p->v; k++)
    if (p->time[2][c[k]] != p->time[2][*c] || p->frees[2][c[k]] != p->frees[2][*c]) return false;
  return true;
}

static berth_status make(exact *x, const berth_schedule_problem *p, berth_i_pool *pool) {
  size_t n = (size_t)p->n, stages = (size_t)p->p;
  berth_status st = berth_i_run_make(p, pool, &x->run);
  if (st == BERTH_OK) st = berth_i_words_make(p, pool, &x->now);
  if (st == BERTH_OK) st = berth_i_words_make(p, pool, &x->best);
  if (st != BERTH_OK) return st;
  x->p = p;
  x->pool = pool;
  x->weights = berth_i_pool_zalloc(pool, n, sizeof *x->weights);
  x->alike = berth_i_pool_alloc(pool, stages, sizeof *x->alike);
  x->held = berth_i_pool_zalloc(pool, stages, sizeof *x->held);
  x->left = berth_i_pool_zalloc(pool, stages, sizeof *x->left);
  x->barred = berth_i_pool_zalloc(pool, stages, sizeof *x->barred);
  x->head = berth_i_pool_zalloc(pool, stages, sizeof *x->head);
  x->ends = berth_i_pool_zalloc(pool, 2 * n, sizeof *x->ends);
  x->slot = berth_i_pool_alloc(pool, TABLE, sizeof *x->slot);
  if ((st = berth_i_pool_status(pool)) != BERTH_OK) return st;
  for (int32_t i = 0; i < TABLE; i++) x->slot[i] = BERTH_NONE;
  berth_i_run_reset(&x->run);
  for (int32_t s = 0; s < p->p; s++) {
    x->alike[s] = weights_alike(p, s);
    x->left[s] = berth_schedule_problem_work(p, s) - p->extra[s];
    for (int32_t c = 0; c != p->chunk[s * p->v]; c = p->next[c])
      x->head[s] += p->time[0][c] + p->lag[p->next[c]];
  }
  return BERTH_OK;
}

static berth_status check_small(const berth_schedule_problem *p) {
  size_t actions = 0;
  for (int32_t s = 0; s < p->p; s++) actions += berth_i_word_most(p, s);
  if (p->o.map == BERTH_MAP_BIDIRECTIONAL || berth_i_least_share(p) < 1)
    return berth_i_fail(p->ctx, BERTH_EUNSUPPORTED, "schedule: exact search has no bidirectional "
                                                    "map, and no overlap below 1");
  if (actions > BERTH_SCHEDULE_EXACT_MOST || p->v > 32)
    return berth_i_fail(p->ctx, BERTH_EUNSUPPORTED,
                        "schedule: exact search has at most %d actions and 32 chunks a stage, "
                        "given %.0f and %d",
                        BERTH_SCHEDULE_EXACT_MOST, (double)actions, (int)p->v);
  return BERTH_OK;
}

/* The search gives the first step to beat. */
static berth_status search_first(berth_schedule_problem *p, exact *x, berth_schedule **found) {
  berth_schedule_search_options few = berth_schedule_search_default();
  berth_schedule_report r;
  few.calls = 2000;
  berth_status st = berth_schedule_search(p, &few, found, &r);
  x->step = st == BERTH_OK ? r.step : INFINITY;
  return st == BERTH_EINFEASIBLE ? BERTH_OK : st;
}

berth_status berth_schedule_exact(berth_schedule_problem *p,
                                  const berth_schedule_search_options *opts,
                                  berth_schedule **out, berth_schedule_report *report) {
  if (!p || !out) return BERTH_EINVAL;
  berth_schedule_search_options o = opts ? *opts : berth_schedule_search_default();
  if (o.calls == 0) o.calls = 2000000;
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  exact x = { .most_calls = o.calls, .seconds = o.seconds,
              .started = berth_i_ctx_clock(p->ctx) };
  berth_schedule_bounds bounds;
  berth_schedule *found = NULL;
  berth_status st = berth_options_check(p->ctx, berth_schedule_search_option_table(), &o);
  if (st == BERTH_OK) st = check_small(p);
  if (st == BERTH_OK) st = berth_schedule_bound(p, &bounds);
  if (st == BERTH_OK) st = search_first(p, &x, &found);
  double start = x.step;
  if (st == BERTH_OK) st = make(&x, p, &pool);
  if (st == BERTH_OK) {
    x.bound = bounds.best;
    expand(&x, x.now.begin[p->p]);
    st = x.stopped == BERTH_EINTERRUPT && isfinite(x.step) ? BERTH_OK : x.stopped;
  }
  bool all = st == BERTH_OK && x.stopped == BERTH_OK && x.calls < x.most_calls;
  if (st == BERTH_OK && isinf(x.step))
    st = berth_i_fail(p->ctx, BERTH_EINFEASIBLE, "schedule: %s",
                      all ? "no schedule keeps the limits" : "none was found in the budget");
  if (st == BERTH_OK && x.step < start) {
    berth_schedule_release(found);
    found = NULL;
    st = berth_i_schedule_of(p, &x.best, "exact", &found);
  }
  if (st == BERTH_OK && report)
    *report = (berth_schedule_report){ x.step, all ? x.step : bounds.best, all,
                                       x.stopped == BERTH_EINTERRUPT, x.calls };
  if (st == BERTH_OK) *out = found;
  else berth_schedule_release(found);
  if (st == BERTH_ENOMEM) berth_i_nomem(p->ctx);
  berth_i_pool_free(&pool);
  return st;
}
