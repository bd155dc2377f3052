/* Skeletons by list scheduling: when a stage is idle it takes, of what can start, the first by the
 * rule. An F is held back by the memory that it must leave to later chunks, and by an interval or a
 * target. An F of the k-th chunk leaves at least as much as one micro-batch of each later chunk
 * takes; so the oldest micro-batch can always go on.
 * O(actions x (log(stages) + chunks of a stage)). */
#include "search_internal.h"

struct berth_i_list {
  const berth_schedule_problem *p;
  const berth_i_list_rule *rule;
  const berth_i_periodic *target;
  berth_i_run run;
  double *time[3], *wait; /* [n], [2n] surrogates */
  double *life;           /* [n] chunks from an F on to the end of the way, times what it adds */
  double *cap;            /* [n] memory with an F of the chunk, at most */
  double *held;           /* [p] */
  double *ready;          /* [p] the next time at which the stage can start something */
  int32_t *soonest;       /* [2 * leaves] a tree of stages: of each two the one that is ready first,
                             the lower one of equals; the root is at 1 */
  int32_t leaves;
  int32_t *weights;       /* [n] W's that can run */
};

berth_status berth_i_list_make(const berth_schedule_problem *p, berth_i_pool *pool,
                               berth_i_list **out) {
  size_t n = (size_t)p->n, stages = (size_t)p->p;
  berth_i_list *l = berth_i_pool_zalloc(pool, 1, sizeof *l);
  if (!l) return berth_i_pool_status(pool);
  l->p = p;
  for (int32_t k = 0; k < 3; k++) l->time[k] = berth_i_pool_alloc(pool, n, sizeof **l->time);
  l->wait = berth_i_pool_alloc(pool, 2 * n, sizeof *l->wait);
  l->cap = berth_i_pool_alloc(pool, n, sizeof *l->cap);
  l->life = berth_i_pool_alloc(pool, n, sizeof *l->life);
  l->held = berth_i_pool_alloc(pool, stages, sizeof *l->held);
  l->ready = berth_i_pool_alloc(pool, stages, sizeof *l->ready);
  l->weights = berth_i_pool_alloc(pool, n, sizeof *l->weights);
  for (l->leaves = 1; l->leaves < p->p; l->leaves *= 2) continue;
  l->soonest = berth_i_pool_alloc(pool, 2 * (size_t)l->leaves, sizeof *l->soonest);
  int32_t left = 0;
  for (int32_t c = p->n - 1; l->life && c >= 0; c--) {
    left = p->next[c] == BERTH_NONE ? 1 : left + 1;
    l->life[c] = left * p->adds[c];
  }
  *out = l;
  return berth_i_run_make(p, pool, &l->run);
}

static int32_t sooner(const berth_i_list *l, int32_t a, int32_t b) {
  return b == BERTH_NONE || l->ready[a] <= l->ready[b] ? a : b;
}

static void set_ready(berth_i_list *l, int32_t s, double when) {
  l->ready[s] = when;
  for (int32_t i = (l->leaves + s) / 2; i > 0; i /= 2)
    if (l->soonest[2 * i] != BERTH_NONE)
      l->soonest[i] = sooner(l, l->soonest[2 * i], l->soonest[2 * i + 1]);
}

static void set_times(berth_i_list *l) {
  const berth_schedule_problem *p = l->p;
  bool own = l->rule->time[0] < 0;
  for (int32_t c = 0; c < p->n; c++)
    for (int32_t k = 0; k < 3; k++) l->time[k][c] = own ? p->time[k][c] : l->rule->time[k];
  for (int32_t i = 0; i < 2 * p->n; i++)
    l->wait[i] = own ? p->wait[i] : p->source[i] == BERTH_NONE ? 0 : l->rule->lag;
}

/* In the V at 1x a chunk needs of its stage's memory the share that its life has in the sum. */
static void set_caps(berth_i_list *l) {
  const berth_schedule_problem *p = l->p;
  for (int32_t s = 0; s < p->p; s++) {
    double all = 0, later = 0, room = 0, limit = p->limit[s];
    for (int32_t k = 0; k < p->v; k++) all += l->life[p->chunk[s * p->v + k]];
    for (int32_t k = p->v - 1; k >= 0; k--) {
      int32_t c = p->chunk[s * p->v + k];
      double leave = isinf(limit) ? 0 : fmax(room, l->rule->reserve * limit * later / all);
      l->cap[c] = fmax(limit - leave, fmin(limit - room, p->adds[c]));
      later += l->life[c];
      room += p->adds[c];
    }
  }
}

/* When the next action of a lane can start. */
static double arrival(const berth_i_list *l, int32_t lane) {
  const berth_i_run *r = &l->run;
  int32_t from = l->p->source[lane], k = r->done[lane];
  if (k >= l->p->count[lane / 2]) return INFINITY;
  double gate = from == BERTH_NONE ? k * l->rule->interval : 0;
  if (l->target && lane % 2 == 0)
    gate = fmax(gate, berth_i_periodic_begin(l->target, lane, k) - l->rule->slack);
  if (from == BERTH_NONE) return gate;
  if (k >= r->done[from]) return INFINITY;
  return fmax(gate, r->end[r->at[from] + (size_t)k] + l->wait[lane]);
}

static bool fits(const berth_i_list *l, int32_t s, int32_t c) {
  return !berth_i_over(l->held[s] + l->p->adds[c], l->cap[c]);
}

/* Of what can start, the least goes first. `at`: since when. */
static double rank(const berth_i_list *l, int32_t c, int32_t kind, double at) {
  const berth_i_list_rule *rule = l->rule;
  int32_t lane = berth_i_lane(c, kind);
  double class = rule->forward_first == (kind == BERTH_SCHEDULE_FORWARD) ? 0 : l->p->n;
  switch (rule->first) {
  case BERTH_I_TARGET_FIRST: return berth_i_periodic_begin(l->target, lane, l->run.done[lane]);
  case BERTH_I_LATER_FIRST: return class - c;
  case BERTH_I_EARLIER_FIRST: return class + c;
  default: return class > 0 ? at : at - 1e100;
  }
}

static int32_t a_weight(const berth_i_list *l, int32_t s) {
  const berth_schedule_problem *p = l->p;
  for (int32_t k = p->v - 1; k >= 0 && !p->o.joined; k--)
    if (l->weights[p->chunk[s * p->v + k]] > 0) return berth_i_code_of(k, BERTH_SCHEDULE_WEIGHT);
  return BERTH_NONE;
}

/* What a stage starts at `now`; if nothing, when it can at the earliest, in *now. */
static int32_t choose(const berth_i_list *l, int32_t s, double *now) {
  const berth_schedule_problem *p = l->p;
  double soonest = INFINITY, least = INFINITY;
  int32_t best = BERTH_NONE, w = a_weight(l, s);
  bool blocked = false;
  for (int32_t kind = BERTH_SCHEDULE_BACKWARD; kind >= 0; kind--)
    for (int32_t k = p->v - 1; k >= 0; k--) {
      int32_t c = p->chunk[s * p->v + k];
      double at = arrival(l, berth_i_lane(c, kind));
      if (kind == BERTH_SCHEDULE_FORWARD && !fits(l, s, c)) {
        blocked |= at <= *now;
        continue;
      }
      soonest = fmin(soonest, at);
      double r = at > *now ? INFINITY : rank(l, c, kind, at);
      if (r >= least) continue;
      least = r;
      best = berth_i_code_of(k, kind);
    }
  berth_i_eager eager = l->rule->eager;
  bool now_w = eager == BERTH_I_WEIGHT_FIRST || (eager == BERTH_I_WEIGHT_BLOCKED && blocked);
  if (w != BERTH_NONE && (now_w || best == BERTH_NONE)) return w;
  if (best == BERTH_NONE) *now = soonest;
  return best;
}

static void start(berth_i_list *l, int32_t s, berth_i_code code, double now) {
  const berth_schedule_problem *p = l->p;
  int32_t c = berth_i_chunk(p, s, code), kind = berth_i_kind(code);
  double end = now + l->time[kind][c];
  l->run.last[s] = end;
  l->held[s] += kind == BERTH_SCHEDULE_FORWARD ? p->adds[c] : -p->frees[kind][c];
  if (kind == BERTH_SCHEDULE_WEIGHT) {
    l->weights[c]--;
    return;
  }
  int32_t lane = berth_i_lane(c, kind), reader = p->reader[lane];
  if (kind == BERTH_SCHEDULE_BACKWARD) l->weights[c]++;
  berth_i_end(&l->run, lane, end);
  if (reader != BERTH_NONE)
    set_ready(l, reader, fmin(l->ready[reader], fmax(l->run.last[reader], end)));
}

static void begin(berth_i_list *l, berth_i_words *skeleton) {
  const berth_schedule_problem *p = l->p;
  set_times(l);
  set_caps(l);
  berth_i_run_reset(&l->run);
  for (int32_t c = 0; c < p->n; c++) l->weights[c] = 0;
  skeleton->begin[0] = 0;
  for (int32_t s = 0; s < p->p; s++) {
    l->held[s] = l->ready[s] = 0;
    size_t n = 0;
    for (int32_t k = 0; k < p->v; k++) n += 2 * (size_t)p->count[p->chunk[s * p->v + k]];
    skeleton->begin[s + 1] = skeleton->begin[s] + n;
  }
  for (int32_t i = 0; i < l->leaves; i++) l->soonest[l->leaves + i] = i < p->p ? i : BERTH_NONE;
  for (int32_t i = l->leaves - 1; i > 0; i--) {
    int32_t a = l->soonest[2 * i];
    l->soonest[i] = a == BERTH_NONE ? BERTH_NONE : sooner(l, a, l->soonest[2 * i + 1]);
  }
}

bool berth_i_list_run(berth_i_list *l, const berth_i_list_rule *rule,
                      const berth_i_periodic *target, berth_i_words *skeleton) {
  const berth_schedule_problem *p = l->p;
  l->rule = rule;
  l->target = target;
  begin(l, skeleton);
  for (size_t left = skeleton->begin[p->p]; left > 0;) {
    int32_t s = l->soonest[1];
    double now = l->ready[s];
    if (isinf(now)) return false;
    int32_t code = choose(l, s, &now);
    if (code != BERTH_NONE) {
      start(l, s, (berth_i_code)code, now);
      now = l->run.last[s];
      if (berth_i_kind((berth_i_code)code) != BERTH_SCHEDULE_WEIGHT) {
        skeleton->code[skeleton->begin[s] + l->run.pos[s]++] = (berth_i_code)code;
        left--;
      }
    }
    set_ready(l, s, now);
  }
  return true;
}
