/* Earliest starts of the words of a schedule, and the memory along each.
 *
 * A ring of stages that may go on; each runs its word until an action whose input has not ended.
 * One stage at most waits for an action, so an end wakes at most that one. Memory is a prefix sum
 * along the word. O(actions).
 * Source: the problem of Qi et al., "Zero Bubble Pipeline Parallelism", 2024, sec. 2. */
#include "schedule_internal.h"

berth_status berth_i_run_make(const berth_schedule_problem *p, berth_i_pool *pool,
                              berth_i_run *out) {
  size_t total = 0, lanes = 2 * (size_t)p->n, stages = (size_t)p->p;
  *out = (berth_i_run){ .p = p };
  out->at = berth_i_pool_alloc(pool, lanes, sizeof *out->at);
  for (int32_t l = 0; out->at && l < 2 * p->n; l++) {
    out->at[l] = total;
    total += (size_t)p->count[l / 2];
  }
  out->end = berth_i_pool_alloc(pool, total, sizeof *out->end);
  out->done = berth_i_pool_alloc(pool, lanes, sizeof *out->done);
  out->pos = berth_i_pool_alloc(pool, stages, sizeof *out->pos);
  out->first = berth_i_pool_alloc(pool, stages, sizeof *out->first);
  out->last = berth_i_pool_alloc(pool, stages, sizeof *out->last);
  out->queue = berth_i_pool_alloc(pool, stages, sizeof *out->queue);
  out->queued = berth_i_pool_alloc(pool, stages, 1);
  return berth_i_pool_status(pool);
}

void berth_i_run_reset(berth_i_run *r) {
  const berth_schedule_problem *p = r->p;
  for (int32_t l = 0; l < 2 * p->n; l++) r->done[l] = 0;
  for (int32_t s = 0; s < p->p; s++) {
    r->pos[s] = 0;
    r->first[s] = r->last[s] = 0;
    r->queue[s] = s;
    r->queued[s] = 1;
  }
  r->head = 0;
  r->waiting = p->p;
}

int32_t berth_i_run_stage(berth_i_run *r) {
  if (r->waiting == 0) return BERTH_NONE;
  int32_t s = r->queue[r->head];
  r->head = r->head + 1 == r->p->p ? 0 : r->head + 1;
  r->waiting--;
  r->queued[s] = 0;
  return s;
}

static double arrival_of(const berth_i_run *r, int32_t c, int32_t kind) {
  return kind == BERTH_SCHEDULE_WEIGHT ? 0 : berth_i_arrival(r, berth_i_lane(c, kind));
}

/* One slot of a stage, one or two actions.  @return actions done; 0: it waits */
static size_t run_slot(berth_i_run *r, int32_t s, const berth_i_code *code, double *start,
                       double *finish) {
  const berth_schedule_problem *p = r->p;
  int32_t c = berth_i_chunk(p, s, *code), kind = berth_i_kind(*code);
  double begin = fmax(arrival_of(r, c, kind), r->last[s]), took = berth_i_seconds(p, c, kind);
  size_t n = *code & BERTH_I_OVERLAPPED ? 2 : 1;
  if (n == 2) {
    int32_t c2 = berth_i_chunk(p, s, code[1]), kind2 = berth_i_kind(code[1]);
    begin = fmax(begin, arrival_of(r, c2, kind2));
    took = p->o.overlap * (took + berth_i_seconds(p, c2, kind2));
  }
  if (isinf(begin)) return 0;
  if (r->pos[s] == 0) r->first[s] = begin;
  r->last[s] = begin + took;
  for (size_t i = 0; i < n; i++) {
    int32_t k = berth_i_kind(code[i]);
    if (k != BERTH_SCHEDULE_WEIGHT)
      berth_i_end(r, berth_i_lane(berth_i_chunk(p, s, code[i]), k), r->last[s]);
    if (start) start[i] = begin;
    if (finish) finish[i] = r->last[s];
  }
  return n;
}

double berth_i_run_span(const berth_i_run *r) {
  double span = 0;
  for (int32_t s = 0; s < r->p->p; s++)
    span = fmax(span, r->last[s] + r->p->extra[s] - r->first[s]);
  return span;
}

double berth_i_run_makespan(const berth_i_run *r) {
  double most = 0;
  for (int32_t s = 0; s < r->p->p; s++) most = fmax(most, r->last[s] + r->p->extra[s]);
  return most;
}

double berth_i_run_words(berth_i_run *r, const berth_i_words *w, double *start, double *finish) {
  const berth_schedule_problem *p = r->p;
  int32_t s;
  berth_i_run_reset(r);
  while ((s = berth_i_run_stage(r)) != BERTH_NONE) {
    size_t n = w->begin[s + 1] - w->begin[s], did;
    for (; r->pos[s] < n; r->pos[s] += did) {
      size_t i = w->begin[s] + r->pos[s];
      did = run_slot(r, s, w->code + i, start ? start + i : NULL, finish ? finish + i : NULL);
      if (did == 0) break;
    }
  }
  for (s = 0; s < p->p; s++)
    if (r->pos[s] < w->begin[s + 1] - w->begin[s]) return INFINITY;
  return p->o.objective == BERTH_SCHEDULE_SPAN ? berth_i_run_span(r) : berth_i_run_makespan(r);
}

double berth_i_word_peak(const berth_i_words *w, int32_t stage, size_t n, size_t *over) {
  const berth_schedule_problem *p = w->p;
  const berth_i_code *code = w->code + w->begin[stage];
  double held = 0, peak = 0, freed = 0;
  if (over) *over = n;
  for (size_t i = 0; i < n; i++) {
    int32_t c = berth_i_chunk(p, stage, code[i]), kind = berth_i_kind(code[i]);
    if (kind == BERTH_SCHEDULE_FORWARD) held += p->adds[c];
    freed += berth_i_freed(p, c, kind);
    if (over && *over == n && berth_i_over(held, p->limit[stage])) *over = i;
    peak = fmax(peak, held);
    if (code[i] & BERTH_I_OVERLAPPED) continue; /* its slot has not ended */
    held -= freed;
    freed = 0;
  }
  return peak;
}

/* ---- of a schedule ---- */

/* The lowest stage that has actions left; memory as far as the stages ran. */
static void find_deadlock(const berth_i_run *r, const berth_i_words *w,
                          berth_schedule_value *v) {
  for (int32_t s = 0; s < r->p->p; s++) {
    if (r->pos[s] >= w->begin[s + 1] - w->begin[s]) continue;
    *v = (berth_schedule_value){ .outcome = BERTH_SCHEDULE_DEADLOCK, .step = INFINITY,
                                 .span = INFINITY, .makespan = INFINITY, .bubble = NAN,
                                 .stage = s, .index = (int32_t)r->pos[s] };
    return;
  }
}

/* The first action in time that passes a limit; ties: the lowest stage. */
static void find_excess(const berth_i_run *r, const berth_i_words *w, const double *start,
                        double *peak, berth_schedule_value *v) {
  double first = INFINITY;
  for (int32_t s = 0; s < r->p->p; s++) {
    size_t over, n = r->pos[s];
    double most = berth_i_word_peak(w, s, n, &over);
    if (peak) peak[s] = most;
    if (over == n || v->outcome == BERTH_SCHEDULE_DEADLOCK
        || !(start[w->begin[s] + over] < first))
      continue;
    first = start[w->begin[s] + over];
    v->outcome = BERTH_SCHEDULE_MEMORY;
    v->stage = s;
    v->index = (int32_t)over;
    v->excess = berth_i_word_peak(w, s, over + 1, NULL) - r->p->limit[s];
  }
}

/* s that slots save a stage, against their actions one after the other. */
static double saved_by_slots(const berth_i_words *w, int32_t s) {
  const berth_schedule_problem *p = w->p;
  double both = 0;
  for (size_t i = w->begin[s]; i < w->begin[s + 1]; i++)
    for (size_t k = i; w->code[i] & BERTH_I_OVERLAPPED && k < i + 2; k++)
      both += berth_i_seconds(p, berth_i_chunk(p, s, w->code[k]), berth_i_kind(w->code[k]));
  return (1 - p->o.overlap) * both;
}

static double bubble_of(const berth_i_words *w, double step) {
  double busy = 0;
  for (int32_t s = 0; s < w->p->p; s++)
    busy = fmax(busy, berth_schedule_problem_work(w->p, s) - saved_by_slots(w, s));
  return step > 0 ? (step - busy) / step : 0;
}

/* The action at which v stopped. */
static berth_status name_action(const berth_schedule *s, berth_i_pool *pool,
                                berth_schedule_value *v) {
  size_t n = s->w.begin[v->stage + 1] - s->w.begin[v->stage];
  berth_schedule_action *all = berth_i_pool_alloc(pool, n, sizeof *all);
  if (!all) return berth_i_pool_status(pool);
  berth_schedule_actions(s, v->stage, all);
  v->action = all[v->index];
  return BERTH_OK;
}

berth_status berth_schedule_evaluate(const berth_schedule *s, berth_schedule_value *out,
                                     double *start, double *finish, double *peak) {
  if (!s || !out) return BERTH_EINVAL;
  berth_i_pool pool = berth_i_pool_empty(s->ctx);
  size_t n = s->w.begin[s->p->p];
  berth_i_run run;
  double *own = start ? start : berth_i_pool_alloc(&pool, n, sizeof *own);
  berth_status st = berth_i_run_make(s->p, &pool, &run);
  if (st == BERTH_OK) {
    berth_schedule_value v = { .stage = BERTH_NONE, .index = BERTH_NONE };
    for (size_t i = 0; i < n; i++) own[i] = NAN;
    for (size_t i = 0; finish && i < n; i++) finish[i] = NAN;
    v.step = berth_i_run_words(&run, &s->w, own, finish);
    if (isinf(v.step)) find_deadlock(&run, &s->w, &v);
    else {
      v.span = berth_i_run_span(&run);
      v.makespan = berth_i_run_makespan(&run);
      v.bubble = bubble_of(&s->w, v.step);
    }
    find_excess(&run, &s->w, own, peak, &v);
    if (v.stage != BERTH_NONE) st = name_action(s, &pool, &v);
    if (st == BERTH_OK) *out = v;
  }
  berth_i_pool_free(&pool);
  return st;
}
