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
  int32_t *into;          /* [2n] the lane that waits for this one; NONE */
  /* By stage, then F's and B's, then chunks of the stage: what is next of each lane. */
  double *at;             /* [2n] when it can start; INFINITY: its input has not ended */
  double *rank;           /* [2n] of what can start, the least goes first */
  double *most;           /* [2n] memory that its stage may hold before it */
  double *held;           /* [p] */
  double *ready;          /* [p] the next time at which the stage can start something */
  int32_t *soonest;       /* [2 * leaves] a tree of stages: of each two the one that is ready first,
                             the lower one of equals; the root is at 1 */
  int32_t leaves;
  int32_t *weights, *pending; /* [n], [p] W's that can run */
};

berth_status berth_i_list_make(const berth_schedule_problem *p, berth_i_pool *pool,
                               berth_i_list **out) {
  size_t n = (size_t)p->n, stages = (size_t)p->p;
  berth_i_list *l = berth_i_pool_zalloc(pool, 1, sizeof *l);
  if (!l) return berth_i_pool_status(pool);
  l->p = p;
  for (int32_t k = 0; k < 3; k++) l->time[k] = berth_i_pool_alloc(pool, n, sizeof **l->time);
  l->wait = berth_i_pool_alloc(pool, 2 * n, sizeof *l->wait);
  l->life = berth_i_pool_alloc(pool, n, sizeof *l->life);
  l->into = berth_i_pool_alloc(pool, 2 * n, sizeof *l->into);
  l->at = berth_i_pool_alloc(pool, 2 * n, sizeof *l->at);
  l->rank = berth_i_pool_alloc(pool, 2 * n, sizeof *l->rank);
  l->most = berth_i_pool_alloc(pool, 2 * n, sizeof *l->most);
  l->held = berth_i_pool_alloc(pool, stages, sizeof *l->held);
  l->ready = berth_i_pool_alloc(pool, stages, sizeof *l->ready);
  l->weights = berth_i_pool_alloc(pool, n, sizeof *l->weights);
  l->pending = berth_i_pool_alloc(pool, stages, sizeof *l->pending);
  for (l->leaves = 1; l->leaves < p->p; l->leaves *= 2) continue;
  l->soonest = berth_i_pool_alloc(pool, 2 * (size_t)l->leaves, sizeof *l->soonest);
  int32_t left = 0;
  for (int32_t c = p->n - 1; l->life && c >= 0; c--) {
    left = p->next[c] == BERTH_NONE ? 1 : left + 1;
    l->life[c] = left * p->adds[c];
  }
  for (int32_t i = 0; l->into && i < 2 * p->n; i++) l->into[i] = BERTH_NONE;
  for (int32_t i = 0; l->into && i < 2 * p->n; i++)
    if (p->source[i] != BERTH_NONE) l->into[p->source[i]] = i;
  *out = l;
  return berth_i_run_make(p, pool, &l->run);
}

/* Leaves without a stage are to the right: where b has one, a has. */
static int32_t sooner(const berth_i_list *l, int32_t a, int32_t b) {
  return b == BERTH_NONE || l->ready[a] <= l->ready[b] ? a : b;
}

static void set_ready(berth_i_list *l, int32_t s, double when) {
  l->ready[s] = when;
  for (int32_t i = (l->leaves + s) / 2; i > 0; i /= 2) {
    int32_t first = sooner(l, l->soonest[2 * i], l->soonest[2 * i + 1]);
    if (first == l->soonest[i] && first != s) return;
    l->soonest[i] = first;
  }
}

static void set_times(berth_i_list *l) {
  const berth_schedule_problem *p = l->p;
  bool own = l->rule->time[0] < 0;
  for (int32_t c = 0; c < p->n; c++)
    for (int32_t k = 0; k < 3; k++) l->time[k][c] = own ? p->time[k][c] : l->rule->time[k];
  for (int32_t i = 0; i < 2 * p->n; i++)
    l->wait[i] = own ? p->wait[i] : p->source[i] == BERTH_NONE ? 0 : l->rule->lag;
}

/* Place of a lane in `at`, `rank` and `most`. */
static int32_t place(const berth_schedule_problem *p, int32_t lane) {
  int32_t c = lane / 2;
  return (2 * p->stage[c] + lane % 2) * p->v + p->local[c];
}

/* In the V at 1x a chunk needs of its stage's memory the share that its life has in the sum. */
static void set_most(berth_i_list *l) {
  const berth_schedule_problem *p = l->p;
  for (int32_t s = 0; s < p->p; s++) {
    double all = 0, later = 0, room = 0, limit = p->limit[s];
    for (int32_t k = 0; k < p->v; k++) all += l->life[p->chunk[s * p->v + k]];
    for (int32_t k = p->v - 1; k >= 0; k--) {
      int32_t c = p->chunk[s * p->v + k];
      double leave = isinf(limit) ? 0 : fmax(room, l->rule->reserve * limit * later / all);
      double cap = fmax(limit - leave, fmin(limit - room, p->adds[c]));
      l->most[place(p, 2 * c)] = cap + 1e-9 * fabs(cap) - p->adds[c];
      l->most[place(p, 2 * c + 1)] = INFINITY;
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
  if (from != BERTH_NONE && k >= r->done[from]) return INFINITY;
  if (l->target && lane % 2 == 0)
    gate = fmax(gate, berth_i_periodic_begin(l->target, lane, k) - l->rule->slack);
  if (from == BERTH_NONE) return gate;
  return fmax(gate, r->end[r->at[from] + (size_t)k] + l->wait[lane]);
}

static double rank(const berth_i_list *l, int32_t lane, double at) {
  const berth_i_list_rule *rule = l->rule;
  double class = rule->forward_first == (lane % 2 == 0) ? 0 : l->p->n;
  switch (rule->first) {
  case BERTH_I_TARGET_FIRST: return berth_i_periodic_begin(l->target, lane, l->run.done[lane]);
  case BERTH_I_LATER_FIRST: return class - lane / 2;
  case BERTH_I_EARLIER_FIRST: return class + lane / 2;
  default: return class > 0 ? at : at - 1e100;
  }
}

static void look_at(berth_i_list *l, int32_t lane) {
  int32_t i = place(l->p, lane);
  double at = l->at[i] = arrival(l, lane);
  if (at < INFINITY) l->rank[i] = rank(l, lane, at);
}

static int32_t a_weight(const berth_i_list *l, int32_t s) {
  const berth_schedule_problem *p = l->p;
  for (int32_t k = p->v - 1; k >= 0 && l->pending[s] > 0; k--)
    if (l->weights[p->chunk[s * p->v + k]] > 0) return berth_i_code_of(k, BERTH_SCHEDULE_WEIGHT);
  return BERTH_NONE;
}

/* What a stage starts at `now`; if nothing, when it can at the earliest, in *now. */
static int32_t choose(const berth_i_list *l, int32_t s, double *now) {
  const int32_t v = l->p->v;
  const double *at = l->at + 2 * s * v, *most = l->most + 2 * s * v, *ranks = l->rank + 2 * s * v;
  const berth_i_eager eager = l->rule->eager;
  double soonest = INFINITY, least = INFINITY;
  int32_t best = BERTH_NONE;
  bool blocked = false;
  if (eager == BERTH_I_WEIGHT_FIRST && l->pending[s] > 0) return a_weight(l, s);
  for (int32_t i = 2 * v - 1; i >= 0; i--) {
    bool there = at[i] <= *now;
    if (l->held[s] > most[i]) {
      blocked |= there;
      continue;
    }
    if (at[i] < soonest) soonest = at[i];
    if (!there || ranks[i] >= least) continue;
    least = ranks[i];
    best = i;
  }
  bool now_w = eager == BERTH_I_WEIGHT_BLOCKED && blocked;
  if (l->pending[s] > 0 && (now_w || best == BERTH_NONE)) return a_weight(l, s);
  if (best != BERTH_NONE) return berth_i_code_of(best % v, best / v);
  *now = soonest;
  return BERTH_NONE;
}

static void start(berth_i_list *l, int32_t s, berth_i_code code, double now) {
  const berth_schedule_problem *p = l->p;
  int32_t c = berth_i_chunk(p, s, code), kind = berth_i_kind(code);
  double end = now + l->time[kind][c];
  berth_i_run *r = &l->run;
  r->last[s] = end;
  l->held[s] += kind == BERTH_SCHEDULE_FORWARD ? p->adds[c] : -p->frees[kind][c];
  if (kind == BERTH_SCHEDULE_WEIGHT) {
    l->weights[c]--;
    l->pending[s]--;
    return;
  }
  int32_t lane = berth_i_lane(c, kind), into = l->into[lane], reader = p->reader[lane];
  if (kind == BERTH_SCHEDULE_BACKWARD && !p->o.joined) {
    l->weights[c]++;
    l->pending[s]++;
  }
  r->end[r->at[lane] + (size_t)r->done[lane]++] = end;
  look_at(l, lane);
  if (into != BERTH_NONE && r->done[into] + 1 == r->done[lane]) look_at(l, into);
  if (reader != BERTH_NONE && l->ready[reader] > fmax(r->last[reader], end))
    set_ready(l, reader, fmax(r->last[reader], end));
}

static void begin(berth_i_list *l, berth_i_words *skeleton) {
  const berth_schedule_problem *p = l->p;
  set_times(l);
  set_most(l);
  berth_i_run_reset(&l->run);
  for (int32_t c = 0; c < p->n; c++) l->weights[c] = 0;
  for (int32_t i = 0; i < 2 * p->n; i++) look_at(l, i);
  skeleton->begin[0] = 0;
  for (int32_t s = 0; s < p->p; s++) {
    l->held[s] = l->ready[s] = 0;
    l->pending[s] = 0;
    size_t n = 0;
    for (int32_t k = 0; k < p->v; k++) n += 2 * (size_t)p->count[p->chunk[s * p->v + k]];
    skeleton->begin[s + 1] = skeleton->begin[s] + n;
  }
  for (int32_t i = 0; i < l->leaves; i++) l->soonest[l->leaves + i] = i < p->p ? i : BERTH_NONE;
  for (int32_t i = l->leaves - 1; i > 0; i--) l->soonest[i] = l->soonest[2 * i];
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
