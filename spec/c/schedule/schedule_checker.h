/* An independent checker: from the actions and start times of a schedule, without the room's code
 * but its public reading. Words, dependencies, devices, memory, both objectives. */
#ifndef SCHEDULE_CHECKER_H
#define SCHEDULE_CHECKER_H

#include "check.h"

enum { CHECKED_MOST = 20000 };

typedef struct timed_action {
  berth_schedule_action a;
  int stage;
  double start, finish;
} timed_action;

static timed_action checked[CHECKED_MOST];

/* The one action with F, B or W of a chunk and micro-batch; NULL: there is not just one. */
static const timed_action *part(int n, int kind, int chunk, int microbatch) {
  const timed_action *found = NULL;
  for (int i = 0; i < n; i++) {
    int k = checked[i].a.kind;
    int is = k == kind || (k == BERTH_SCHEDULE_FULL && kind != BERTH_SCHEDULE_FORWARD);
    if (!is || checked[i].a.chunk != chunk || checked[i].a.microbatch != microbatch) continue;
    if (found) return NULL;
    found = &checked[i];
  }
  return found;
}

static double lag_between(const berth_schedule_problem *p, int from, int to) {
  const berth_schedule_problem_options *o = berth_schedule_problem_read(p);
  int same = berth_schedule_problem_stage(p, from) == berth_schedule_problem_stage(p, to);
  return same ? 0 : o->p2p[from < to ? from : to];
}

static int load_actions(const berth_schedule *s, const double *start, const double *finish) {
  berth_schedule_action list[CHECKED_MOST];
  int n = 0;
  int stages = berth_schedule_problem_read(berth_schedule_problem_of(s))->stages;
  for (int i = 0; i < stages; i++) {
    int count = berth_schedule_actions(s, i, list);
    for (int k = 0; k < count; k++, n++)
      checked[n] = (timed_action){ list[k], i, start[n], finish[n] };
  }
  return n;
}

/* Data of one micro-batch on its way through `chunks` chunks from `first`. */
static int follows(const berth_schedule_problem *p, int n, int first, int chunks, int m) {
  const berth_schedule_problem_options *o = berth_schedule_problem_read(p);
  int ok = 1;
  for (int c = first; c < first + chunks; c++) {
    const timed_action *f = part(n, BERTH_SCHEDULE_FORWARD, c, m);
    const timed_action *b = part(n, BERTH_SCHEDULE_BACKWARD, c, m);
    const timed_action *w = o->joined ? b : part(n, BERTH_SCHEDULE_WEIGHT, c, m);
    if (!f || !b || !w) return 0;
    ok &= f->stage == berth_schedule_problem_stage(p, c) && b->stage == f->stage;
    ok &= w->stage == f->stage && b->start >= f->finish - 1e-9;
    ok &= w == b || w->start >= b->finish - 1e-9;
    if (c == first) continue;
    const timed_action *f0 = part(n, BERTH_SCHEDULE_FORWARD, c - 1, m);
    const timed_action *b0 = part(n, BERTH_SCHEDULE_BACKWARD, c - 1, m);
    double lag = lag_between(p, c - 1, c);
    ok &= f0 && f->start >= f0->finish + lag - 1e-9;
    ok &= b0 && b0->start >= b->finish + lag - 1e-9;
  }
  return ok;
}

static double seconds_of(const berth_schedule_problem_options *o, const berth_schedule_action *a) {
  int c = a->chunk;
  if (a->kind == BERTH_SCHEDULE_FORWARD) return o->forward[c];
  if (a->kind == BERTH_SCHEDULE_WEIGHT) return o->weight[c];
  int both = o->joined || a->kind == BERTH_SCHEDULE_FULL;
  return o->backward[c] + (both ? o->weight[c] : 0);
}

/* One action at a time, each as long as it must be; two of one slot together. */
static int runs_alone(const berth_schedule_problem_options *o, int n) {
  int ok = 1;
  for (int i = 0; i < n; i++) {
    double took = seconds_of(o, &checked[i].a);
    int pair = checked[i].a.overlapped, second = i > 0 && checked[i - 1].a.overlapped;
    if (pair) took = o->overlap * (took + seconds_of(o, &checked[i + 1].a));
    if (second) took = checked[i - 1].finish - checked[i - 1].start;
    ok &= fabs(checked[i].finish - checked[i].start - took) < 1e-9 * (1 + fabs(took));
    if (i > 0 && checked[i].stage == checked[i - 1].stage)
      ok &= second ? checked[i].start == checked[i - 1].start
                   : checked[i].start >= checked[i - 1].finish - 1e-9;
  }
  return ok;
}

/* Most memory of a stage, from the events of its actions by time; what is freed counts first. */
static double peak_of(const berth_schedule_problem_options *o, int n, int stage) {
  double peak = 0;
  for (int i = 0; i < n; i++) {
    if (checked[i].stage != stage) continue;
    double held = 0, now = checked[i].start;
    for (int k = 0; k < n; k++) {
      const timed_action *x = &checked[k];
      if (x->stage != stage) continue;
      double adds = o->activations[x->a.chunk], share = o->joined ? 1 : o->freed;
      if (x->a.kind == BERTH_SCHEDULE_FORWARD && x->start <= now) held += adds;
      if (x->a.kind == BERTH_SCHEDULE_FORWARD || x->finish > now + 1e-9) continue;
      held -= x->a.kind == BERTH_SCHEDULE_BACKWARD ? share * adds
              : x->a.kind == BERTH_SCHEDULE_WEIGHT ? (1 - share) * adds
                                                  : adds;
    }
    peak = held > peak ? held : peak;
  }
  return peak;
}

/* Everything about a schedule that runs. */
static void check_schedule(const berth_schedule *s, const char *name) {
  static double start[CHECKED_MOST], finish[CHECKED_MOST], peak[64];
  const berth_schedule_problem *p = berth_schedule_problem_of(s);
  const berth_schedule_problem_options *o = berth_schedule_problem_read(p);
  berth_schedule_value v;
  CHECK_STATUS(berth_schedule_evaluate(s, &v, start, finish, peak), BERTH_OK);
  check_report(v.outcome != BERTH_SCHEDULE_DEADLOCK, __FILE__, __LINE__, name);
  int n = load_actions(s, start, finish), ok = 1;
  int two = o->map == BERTH_MAP_BIDIRECTIONAL, ways = two ? 2 : 1;
  for (int m = 0; m < o->microbatches; m++) {
    int way = two && m >= o->microbatches / 2, chunks = o->stages * o->chunks / ways;
    ok &= follows(p, n, way * chunks, chunks, m);
  }
  check_report(ok && runs_alone(o, n), __FILE__, __LINE__, name);
  double span = 0, makespan = 0;
  for (int i = 0; i < o->stages; i++) {
    double first = INFINITY, last = 0;
    for (int k = 0; k < n; k++) {
      if (checked[k].stage != i) continue;
      first = fmin(first, checked[k].start);
      last = fmax(last, checked[k].finish);
    }
    span = fmax(span, last + o->extra[i] - first);
    makespan = fmax(makespan, last + o->extra[i]);
    check_near(peak[i], peak_of(o, n, i), 1e-9, __FILE__, __LINE__, name);
    if (v.outcome == BERTH_SCHEDULE_RUNS)
      check_report(peak[i] <= o->memory[i] * (1 + 1e-9), __FILE__, __LINE__, name);
  }
  check_near(v.span, span, 1e-9 * span, __FILE__, __LINE__, name);
  check_near(v.makespan, makespan, 1e-9 * makespan, __FILE__, __LINE__, name);
  check_near(v.step, o->objective == BERTH_SCHEDULE_SPAN ? span : makespan, 1e-9 * span, __FILE__,
             __LINE__, name);
}

#endif
