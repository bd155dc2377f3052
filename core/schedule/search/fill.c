/* Words from a skeleton. As in evaluate.c, stages run as far as their inputs are there. Before an F
 * or B whose input comes at a, W's start while they end by a + theta; before an F that does not
 * fit, W's run until it does. A gap that is known is final, since nothing that its stage does in it
 * can change it: so the choice needs no look ahead. O(actions).
 * Source: Qi et al., "Zero Bubble Pipeline Parallelism", 2024, sec. 3 (W's fill bubbles). */
#include "search_internal.h"

berth_status berth_i_fill_make(const berth_schedule_problem *p, berth_i_pool *pool,
                               berth_i_fill *out) {
  size_t stages = (size_t)p->p;
  berth_status st = berth_i_run_make(p, pool, &out->run);
  out->held = berth_i_pool_alloc(pool, stages, sizeof *out->held);
  out->left = berth_i_pool_alloc(pool, stages, sizeof *out->left);
  out->at = berth_i_pool_alloc(pool, stages, sizeof *out->at);
  out->next_weight = berth_i_pool_alloc(pool, stages, sizeof *out->next_weight);
  out->work = berth_i_pool_alloc(pool, stages, sizeof *out->work);
  for (int32_t s = 0; out->work && s < p->p; s++) out->work[s] = berth_schedule_problem_work(p, s);
  return st == BERTH_OK ? berth_i_words_make(p, pool, &out->words) : st;
}

/* The chunk whose W has waited longest, as place of its B in the stage's word; the end of what has
 * been written: none. */
static size_t oldest(berth_i_fill *f, int32_t s, size_t end) {
  const berth_i_code *code = f->words.code;
  size_t i = f->next_weight[s];
  while (i < end && berth_i_kind(code[i]) != BERTH_SCHEDULE_BACKWARD) i++;
  return f->next_weight[s] = i;
}

/* A stage that is run: what of it stays in registers. */
typedef struct turn {
  int32_t s;
  double last, held;
  size_t end;          /* of its word so far */
} turn;

static void run_weight(berth_i_fill *f, turn *t) {
  const berth_schedule_problem *p = f->run.p;
  berth_i_code code = f->words.code[f->next_weight[t->s]++];
  int32_t c = berth_i_chunk(p, t->s, code);
  f->words.code[t->end++] = (berth_i_code)(code + BERTH_SCHEDULE_WEIGHT - BERTH_SCHEDULE_BACKWARD);
  t->last += p->time[2][c];
  t->held -= p->frees[2][c];
  f->left[t->s] -= p->time[2][c];
}

/* W's that end by `until`, then those that an F of `adds` needs.  @return false: it never fits */
static bool run_weights(berth_i_fill *f, turn *t, double until, double adds) {
  const berth_schedule_problem *p = f->run.p;
  double most = p->limit[t->s] - adds;
  size_t i;
  while ((i = oldest(f, t->s, t->end)) < t->end) {
    int32_t c = berth_i_chunk(p, t->s, f->words.code[i]);
    if (!(t->last + p->time[2][c] <= until) && !berth_i_over(t->held, most)) return true;
    run_weight(f, t);
  }
  return !berth_i_over(t->held, most);
}

/* Runs a stage as far as inputs are there.  @return false: an F never fits */
static bool run_stage(berth_i_fill *f, const berth_i_words *k, int32_t s, double theta) {
  berth_i_run *r = &f->run;
  const berth_schedule_problem *p = r->p;
  turn t = { s, r->last[s], f->held[s], f->at[s] };
  size_t n = k->begin[s + 1] - k->begin[s], i = r->pos[s];
  bool fits = true;
  for (; i < n; i++) {
    berth_i_code code = k->code[k->begin[s] + i];
    int32_t c = berth_i_chunk(p, s, code), kind = berth_i_kind(code);
    if (kind == BERTH_SCHEDULE_WEIGHT) {
      if (oldest(f, s, t.end) < t.end) run_weight(f, &t);
      continue;
    }
    int32_t lane = berth_i_lane(c, kind);
    double arrival = berth_i_arrival(r, lane);
    if (isinf(arrival)) break;
    bool forward = kind == BERTH_SCHEDULE_FORWARD;
    if (!p->o.joined
        && !(fits = run_weights(f, &t, arrival + theta, forward ? p->adds[c] : -INFINITY)))
      break;
    if (p->o.joined && forward && !(fits = !berth_i_over(t.held + p->adds[c], p->limit[s]))) break;
    double begin = fmax(arrival, t.last);
    if (i == 0) r->first[s] = begin;
    t.last = begin + p->time[kind][c];
    t.held += forward ? p->adds[c] : -p->frees[1][c];
    f->left[s] -= p->time[kind][c];
    f->words.code[t.end++] = code;
    berth_i_end(r, lane, t.last);
  }
  r->pos[s] = i;
  r->last[s] = t.last;
  f->held[s] = t.held;
  f->at[s] = t.end;
  return fits;
}

/* The W's that are left, when the skeleton has run. */
static bool run_rest(berth_i_fill *f, const berth_i_words *k) {
  berth_i_run *r = &f->run;
  for (int32_t s = 0; s < r->p->p; s++) {
    if (r->pos[s] < k->begin[s + 1] - k->begin[s]) return false;
    turn t = { s, r->last[s], f->held[s], f->at[s] };
    if (!r->p->o.joined) run_weights(f, &t, INFINITY, -INFINITY);
    r->last[s] = t.last;
    f->at[s] = t.end;
  }
  return true;
}

berth_i_cost berth_i_fill_run(berth_i_fill *f, const berth_i_words *k, const double *theta,
                              double limit) {
  berth_i_run *r = &f->run;
  const berth_schedule_problem *p = r->p;
  const berth_i_cost never = { INFINITY, INFINITY };
  bool span = p->o.objective == BERTH_SCHEDULE_SPAN;
  int32_t s;
  berth_i_run_reset(r);
  for (s = 0; s < p->p; s++) {
    f->held[s] = 0;
    f->at[s] = f->next_weight[s] = f->words.begin[s];
    f->left[s] = f->work[s];
  }
  while ((s = berth_i_run_stage(r)) != BERTH_NONE) {
    if (!run_stage(f, k, s, theta[s])) return never;
    if (r->last[s] + f->left[s] - (span ? r->first[s] : 0) > limit) return never;
  }
  return run_rest(f, k) ? berth_i_cost_of(r) : never;
}

berth_i_cost berth_i_cost_of(const berth_i_run *r) {
  double most = 0, sum = 0;
  bool span = r->p->o.objective == BERTH_SCHEDULE_SPAN;
  for (int32_t s = 0; s < r->p->p; s++) {
    double took = r->last[s] + r->p->extra[s] - (span ? r->first[s] : 0);
    most = fmax(most, took);
    sum += took;
  }
  return (berth_i_cost){ most, sum / r->p->p };
}
