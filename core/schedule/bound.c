/* Lower bounds of the step: idle time that a stage must have, from the path of one micro-batch and
 * from memory. All hold for the span of some stage, and so for the makespan.
 *
 * A path is the time of one micro-batch from action to action without waiting. `first` and `last`
 * are the chunks of a stage that come first and last on the way of a micro-batch; the first B of a
 * stage is of its last chunk, the last B of its first chunk, since each chunk's micro-batches are
 * in order. Source: ours; each is proved where it is computed. */
#include "bound_internal.h"

typedef berth_i_ways ways;
typedef berth_i_thing thing;

static int32_t first_chunk(const berth_schedule_problem *p, int32_t s) {
  return p->chunk[s * p->v];
}
static int32_t last_chunk(const berth_schedule_problem *p, int32_t s) {
  return p->chunk[s * p->v + p->v - 1];
}

static void set_ways(ways *w) {
  const berth_schedule_problem *p = w->p;
  w->forward[0] = 0;
  for (int32_t c = 1; c < p->n; c++)
    w->forward[c] = w->forward[c - 1] + p->time[0][c - 1] + p->lag[c];
  w->round = w->forward[p->n - 1] + p->time[0][p->n - 1];
  w->backward[p->n - 1] = 0;
  for (int32_t c = p->n - 2; c >= 0; c--)
    w->backward[c] = w->backward[c + 1] + p->time[1][c + 1] + p->lag[c + 1];
}

/* From the start of F at one chunk to that of B at another. */
static double path(const ways *w, int32_t f, int32_t b) {
  return w->round - w->forward[f] + w->backward[b];
}

/* ---- what memory lets a stage do ---- */

/* The most work that fits below a limit, the last thing in part. */
static double most_work(thing *x, int32_t n, double limit) {
  double sum = 0;
  for (;;) {
    thing *best = NULL;
    for (int32_t i = 0; i < n; i++)
      if (x[i].count > 0 && x[i].work > 0
          && (!best || x[i].work * best->memory > best->work * x[i].memory))
        best = &x[i];
    if (!best) return sum;
    double take = best->memory > 0 ? fmin(best->count, fmax(limit, 0) / best->memory)
                                   : best->count;
    sum += take * best->work;
    if (take < best->count) return sum;
    limit -= take * best->memory;
    best->count = 0;
  }
}

static double whole(double x) { return floor(x * (1 + 1e-12)); }

/* The same of things of two sorts, none in part. */
static double most_whole(thing large, thing small, double limit) {
  double best = 0, most = fmin(large.count, whole(limit / large.memory));
  for (double n = 0; n <= most; n++) {
    double left = fmax(0, limit - n * large.memory);
    double others = small.memory > 0 ? fmin(small.count, whole(left / small.memory)) : small.count;
    best = fmax(best, n * large.work + others * small.work);
  }
  return best;
}

/* The memory of a stage that can ever be used, if all that is taken and freed is alike. */
static double usable(const berth_schedule_problem *p, int32_t s) {
  double unit = 0;
  for (int32_t k = 0; k < p->v; k++) {
    int32_t c = p->chunk[s * p->v + k];
    double part = p->frees[1][c];
    bool halves = part == 0 || part == p->adds[c] || 2 * part == p->adds[c];
    double own = part == 0 ? p->adds[c] : part;
    if (!halves || (k > 0 && own != unit)) return p->limit[s];
    unit = own;
  }
  return isinf(p->limit[s]) ? p->limit[s] : floor(p->limit[s] / unit * (1 + 1e-12)) * unit;
}

/* Of one stage. */
typedef struct stage {
  int32_t first, last;    /* chunks */
  double limit, work;     /* usable memory; s, without `extra` */
  double before_backward; /* s of F's before the first B */
  double after_forward;   /* s of B's and W's behind the last F */
  double after_backward;  /* s of W's behind the last B */
  bool all_fit;           /* every F may run before the first B */
  double ramp[2];         /* memory x time under the limit while memory fills, and empties */
} stage;

/* Chunks alike: whole things. */
static void set_alike(const berth_schedule_problem *p, stage *g) {
  int32_t c = g->first;
  double n = (double)p->count[c] * p->v, w = p->time[2][c];
  thing none = { 0, 1, 0 }, forward = { p->time[0][c], p->adds[c], n };
  thing weight = { w, p->frees[2][c], n }, both = { p->time[1][c] + w, p->adds[c], n };
  g->before_backward = most_whole(forward, none, g->limit);
  g->after_forward = most_whole(both, weight, g->limit);
  g->after_backward = most_whole((thing){ 0, p->adds[c], 0 }, weight, g->limit);
}

static void set_unlike(const berth_schedule_problem *p, int32_t s, thing *x, stage *g) {
  int32_t v = p->v;
  for (int32_t k = 0; k < v; k++) {
    int32_t c = p->chunk[s * v + k];
    x[k] = (thing){ p->time[0][c], p->adds[c], p->count[c] };
  }
  g->before_backward = most_work(x, v, g->limit);
  for (int32_t k = 0; k < v; k++) {
    int32_t c = p->chunk[s * v + k];
    double w = p->time[2][c];
    x[k] = (thing){ w, p->frees[2][c], p->count[c] };
    x[v + k] = (thing){ p->time[1][c] + w, p->adds[c], p->count[c] };
  }
  g->after_forward = most_work(x, 2 * v, g->limit);
  for (int32_t k = 0; k < v; k++) {
    int32_t c = p->chunk[s * v + k];
    x[k] = (thing){ p->time[2][c], p->frees[2][c], p->count[c] };
  }
  g->after_backward = most_work(x, v, g->limit);
}

static stage stage_of(const berth_schedule_problem *p, int32_t s, thing *x) {
  stage g = { .first = first_chunk(p, s), .last = last_chunk(p, s), .limit = usable(p, s) };
  double all = 0;
  bool alike = isfinite(g.limit);
  g.work = berth_schedule_problem_work(p, s) - p->extra[s];
  for (int32_t k = 0; k < p->v; k++) {
    int32_t c = p->chunk[s * p->v + k];
    all += p->count[c] * p->adds[c];
    alike &= p->adds[c] == p->adds[g.first] && p->frees[1][c] == p->frees[1][g.first];
    for (int32_t kind = 0; kind < 3; kind++)
      alike &= p->time[kind][c] == p->time[kind][g.first];
  }
  g.all_fit = !berth_i_over(all, g.limit);
  if (alike) set_alike(p, &g);
  else set_unlike(p, s, x, &g);
  return g;
}

/* ---- the bounds ---- */

/* Idle before the first B: it comes a path after the stage's first F, which F's do not fill. Before
 * the first F of a later chunk even only those of the chunks before it run. */
static double idle_start(const ways *w, int32_t s, const stage *g) {
  const berth_schedule_problem *p = w->p;
  double idle = fmax(0, path(w, g->first, g->last) - g->before_backward), earlier = 0;
  for (int32_t k = 0; k < p->v; k++) {
    int32_t c = p->chunk[s * p->v + k];
    idle = fmax(idle, w->forward[c] - w->forward[g->first] - earlier);
    earlier += p->count[c] * p->time[0][c];
  }
  return idle;
}

/* From the end of the last F, of whatever chunk, to the end of the last B. */
static double last_path(const ways *w, int32_t s, const stage *g) {
  const berth_schedule_problem *p = w->p;
  double least = INFINITY;
  for (int32_t k = 0; k < p->v; k++) {
    int32_t c = p->chunk[s * p->v + k];
    least = fmin(least, path(w, c, g->first) - p->time[0][c]);
  }
  return least + p->time[1][g->first];
}

/* Idle before the first B and behind the last F; where every F may run before the first B the two
 * may be the same time. */
static double stage_bound(const ways *w, int32_t s, const stage *g) {
  const berth_schedule_problem *p = w->p;
  double start = idle_start(w, s, g);
  double end = fmax(0, last_path(w, s, g) + p->time[2][g->first] - g->after_forward);
  return g->work + p->extra[s] + (g->all_fit ? fmax(start, end) : start + end);
}

/* From the first start on stage s to the end of its last B: all its work but W's that memory lets
 * it postpone; or all but what is pending behind the last F, and a path. */
static double to_last_backward(const ways *w, int32_t s, const stage *g) {
  double start = idle_start(w, s, g);
  double postponed = g->work - g->after_backward + start;
  double pending = g->work - g->after_forward + last_path(w, s, g);
  return fmax(postponed, pending + (g->all_fit ? 0 : start));
}

/* What stage r needs before the first F and after the last B of s: a path each, and a last W. */
static double around(const ways *w, int32_t r, const stage *gr, const stage *gs) {
  const berth_schedule_problem *p = w->p;
  double lag = w->forward[gs->first] - w->forward[gr->first];
  double tail = w->backward[gr->first] + p->time[1][gr->first]
                - (w->backward[gs->first] + p->time[1][gs->first]);
  return lag + tail + p->time[2][gr->first] + p->extra[r];
}

static double pair_bound(const ways *w, int32_t r, int32_t s, const stage *gr, const stage *gs) {
  if (gr->first > gs->first) return 0;
  return to_last_backward(w, s, gs) + around(w, r, gr, gs);
}

/* Memory x time below the limit while the stage's memory fills: after i of the quickest F's at most
 * i are held; and likewise, from its end backward, while it empties. */
static double ramp(double limit, double unit, double seconds, double count) {
  double n = fmin(floor(limit / unit * (1 + 1e-12)), count);
  return seconds * (n * limit - unit * n * (n + 1) / 2);
}

static void set_ramps(const berth_schedule_problem *p, int32_t s, stage *g) {
  double adds = 0, part = INFINITY, f = INFINITY, freeing = INFINITY, count = 0;
  for (int32_t k = 0; k < p->v; k++) {
    int32_t c = p->chunk[s * p->v + k];
    adds = fmax(adds, p->adds[c]);
    f = fmin(f, p->time[0][c]);
    count += p->count[c];
    for (int32_t kind = 1; kind < 3; kind++) {
      if (!(p->frees[kind][c] > 0)) continue;
      freeing = fmin(freeing, p->time[kind][c]);
      part = isinf(part) ? p->frees[kind][c] : fmax(part, p->frees[kind][c]);
    }
  }
  g->ramp[0] = isinf(g->limit) ? 0 : ramp(g->limit, adds, f, count);
  g->ramp[1] = isinf(g->limit) ? 0 : ramp(g->limit, part, freeing, count);
}

/* Memory x time from each F of the stage to the end of its B. */
static double area_to_backward(const ways *w, int32_t s) {
  const berth_schedule_problem *p = w->p;
  double area = 0;
  for (int32_t k = 0; k < p->v; k++) {
    int32_t c = p->chunk[s * p->v + k];
    area += p->count[c] * p->adds[c] * (path(w, c, c) + p->time[1][c]);
  }
  return area;
}

static double area_bound(const ways *w, int32_t s, const stage *g) {
  const berth_schedule_problem *p = w->p;
  if (isinf(g->limit)) return 0;
  double area = area_to_backward(w, s) + g->ramp[0] + g->ramp[1];
  for (int32_t k = 0; k < p->v; k++) {
    int32_t c = p->chunk[s * p->v + k];
    area += p->count[c] * p->frees[2][c] * p->time[2][c];
  }
  return area / g->limit + p->extra[s];
}

/* The same from the first start of the stage to the end of its last B, which W's that fill the
 * memory may follow; as time of a stage r, as in the bound of a pair. */
static double area_of_pair(const ways *w, int32_t r, int32_t s, const stage *gr,
                           const stage *gs) {
  const berth_schedule_problem *p = w->p;
  if (gr->first > gs->first || isinf(gs->limit)) return 0;
  double area = area_to_backward(w, s) + gs->ramp[0], pending = gs->limit, slow = 0;
  for (int32_t k = 0; k < p->v; k++) {
    int32_t c = p->chunk[s * p->v + k];
    area += p->count[c] * p->frees[2][c] * p->time[2][c];
    slow = fmax(slow, p->time[2][c]);
  }
  return (area - pending * slow) / gs->limit + around(w, r, gr, gs);
}

/* F number j + k of a chunk of which k fill the memory waits for B number j. Where B frees nothing,
 * it waits for that W, too; where the k leave no part that B does not free, for that W or, of
 * several, for the next B. Before and behind the chain it is as in a pair of stages. */
static double chain_bound(const ways *w, int32_t r, const stage *gr, const stage *gs) {
  const berth_schedule_problem *p = w->p;
  int32_t c = gs->first;
  if (isinf(gs->limit) || gr->first > c) return 0;
  double k = floor(gs->limit / p->adds[c] * (1 + 1e-12)), left = gs->limit - k * p->adds[c];
  double f = p->time[0][c], b = p->time[1][c], gap = p->time[2][c];
  if (p->frees[1][c] > 0 && !(left < p->frees[2][c] * (1 - 1e-9))) gap = 0;
  else if (p->frees[1][c] > 0 && k > 1) gap = fmin(gap, fmax(f, b));
  double once = path(w, c, c) + b;
  double links = floor((p->count[c] - 1) / k), rest = p->count[c] - 1 - links * k;
  return links * (once + gap) + rest * f + once + around(w, r, gr, gs);
}

static void bound_all(const ways *w, stage *g, thing *x, berth_schedule_bounds *b) {
  const berth_schedule_problem *p = w->p;
  bool makespan = p->o.objective == BERTH_SCHEDULE_MAKESPAN;
  for (int32_t s = 0; s < p->p; s++) {
    g[s] = stage_of(p, s, x);
    set_ramps(p, s, &g[s]);
  }
  for (int32_t s = 0; s < p->p; s++) {
    double head = makespan ? w->forward[g[s].first] : 0;
    b->stage = fmax(b->stage, head + stage_bound(w, s, &g[s]));
    b->area = fmax(b->area, head + area_bound(w, s, &g[s]));
    for (int32_t r = 0; r < p->p; r++) {
      double lead = makespan ? w->forward[g[r].first] : 0;
      b->pair = fmax(b->pair, lead + pair_bound(w, r, s, &g[r], &g[s]));
      b->area = fmax(b->area, lead + area_of_pair(w, r, s, &g[r], &g[s]));
      b->chain = fmax(b->chain, lead + chain_bound(w, r, &g[r], &g[s]));
    }
  }
}

double berth_i_bound_of_stage(const berth_i_ways *w, int32_t s, berth_i_thing *x) {
  const berth_schedule_problem *p = w->p;
  bool makespan = p->o.objective == BERTH_SCHEDULE_MAKESPAN;
  stage g = stage_of(p, s, x);
  set_ramps(p, s, &g);
  stage zero = { .first = first_chunk(p, 0) }; /* all that is read of an earlier stage */
  double head = makespan ? w->forward[g.first] : 0;
  double best = head + fmax(stage_bound(w, s, &g), area_bound(w, s, &g));
  for (int32_t k = 0; k < 2; k++) {
    int32_t r = k ? s : 0;
    const stage *gr = k ? &g : &zero;
    double lead = k ? head : 0;
    best = fmax(best, lead + pair_bound(w, r, s, gr, &g));
    best = fmax(best, lead + area_of_pair(w, r, s, gr, &g));
    best = fmax(best, lead + chain_bound(w, r, gr, &g));
  }
  return best;
}

/* Times with slots as short as they can be: the actions of a slot, one after the other and each
 * that much shorter, would take as long and start no sooner than their slot. */
static void shorten(const berth_schedule_problem *p, berth_i_pool *pool,
                    berth_schedule_problem *out) {
  double share = berth_i_least_share(p);
  *out = *p;
  for (int32_t k = 0; k < 3 && share < 1; k++) {
    out->time[k] = berth_i_pool_alloc(pool, (size_t)p->n, sizeof *out->time[k]);
    for (int32_t c = 0; out->time[k] && c < p->n; c++) out->time[k][c] = share * p->time[k][c];
  }
}

/* Two copies of the model share stages: there only work counts. */
berth_status berth_schedule_bound(const berth_schedule_problem *given, berth_schedule_bounds *out) {
  if (!given || !out) return BERTH_EINVAL;
  berth_i_pool pool = berth_i_pool_empty(given->ctx);
  berth_schedule_bounds b = { 0 };
  berth_schedule_problem q;
  const berth_schedule_problem *p = &q;
  ways w = { .p = p };
  shorten(given, &pool, &q);
  w.forward = berth_i_pool_alloc(&pool, (size_t)p->n, sizeof(double));
  w.backward = berth_i_pool_alloc(&pool, (size_t)p->n, sizeof(double));
  stage *g = berth_i_pool_alloc(&pool, (size_t)p->p, sizeof *g);
  thing *x = berth_i_pool_alloc(&pool, 2 * (size_t)p->v, sizeof *x);
  berth_status st = berth_i_pool_status(&pool);
  if (st == BERTH_OK) {
    for (int32_t s = 0; s < p->p; s++) b.work = fmax(b.work, berth_schedule_problem_work(p, s));
    if (p->o.map != BERTH_MAP_BIDIRECTIONAL) {
      set_ways(&w);
      bound_all(&w, g, x, &b);
    }
    b.best = fmax(fmax(fmax(b.work, b.stage), fmax(b.pair, b.area)), b.chain);
    *out = b;
  }
  berth_i_pool_free(&pool);
  return st;
}
