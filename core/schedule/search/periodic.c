/* Skeletons by repetition: micro-batches take the same way, a period apart, in groups. Each action
 * of one of them is put as early as its input allows, after a wait of its lane, where it overlaps
 * none on its stage in any period; a stage's word is all actions by their times, which are not the
 * times at which they will run.
 * Source: Qi, Wan, Amar, Lin, "Pipeline Parallelism with Controllable Memory", 2024 (building
 * blocks); waits are parameters here. O(actions x chunks of a stage). */
#include "search_internal.h"

/* What a stage does in a period: begin and length of each action, modulo the period. */
typedef struct slots {
  double *begin, *length; /* [p * 3v] */
  int32_t *n;             /* [p] */
} slots;

struct berth_i_periodic {
  const berth_schedule_problem *p;
  slots slots;
  berth_i_periodic_rule rule;
  double *offset;     /* [2n] of micro-batch 0, by lane */
  int32_t *next;      /* [2v] of a stage while its word is merged */
};

berth_status berth_i_periodic_make(const berth_schedule_problem *p, berth_i_pool *pool,
                                   berth_i_periodic **out) {
  berth_i_periodic *q = berth_i_pool_zalloc(pool, 1, sizeof *q);
  if (!q) return berth_i_pool_status(pool);
  size_t most = 3 * (size_t)p->n;
  q->p = p;
  q->slots.begin = berth_i_pool_alloc(pool, most, sizeof(double));
  q->slots.length = berth_i_pool_alloc(pool, most, sizeof(double));
  q->slots.n = berth_i_pool_alloc(pool, (size_t)p->p, sizeof(int32_t));
  q->offset = berth_i_pool_alloc(pool, 2 * (size_t)p->n, sizeof(double));
  q->next = berth_i_pool_alloc(pool, 2 * (size_t)p->v, sizeof(int32_t));
  *out = q;
  return berth_i_pool_status(pool);
}

/* The earliest time from t on at which `length` fits into the stage's period; t where none does. */
static double fit(const slots *x, const berth_schedule_problem *p, int32_t s, double t,
                  double length, double period) {
  const double *begin = x->begin + s * 3 * p->v, *busy = x->length + s * 3 * p->v;
  double at = t;
  for (int32_t tries = 0, i = 0; i < x->n[s];) {
    double after = fmod(at - begin[i], period); /* since that one began */
    if (after < 0) after += period;
    bool apart = after >= busy[i] - 1e-9 * period && after + length <= period * (1 + 1e-9);
    if (apart) {
      i++;
      continue;
    }
    if (++tries > 3 * p->v) return t;
    at += after < busy[i] ? busy[i] - after : busy[i] + period - after;
    i = 0;
  }
  return at;
}

static double seconds(const berth_i_periodic *q, int32_t c, int32_t kind) {
  return q->rule.unit > 0 ? q->rule.unit : q->p->time[kind][c];
}

static double wait(const berth_i_periodic *q, int32_t lane) {
  return q->rule.unit > 0 ? 0 : q->p->wait[lane];
}

static double put(berth_i_periodic *q, int32_t c, int32_t kind, double t) {
  const berth_schedule_problem *p = q->p;
  int32_t s = p->stage[c], at = s * 3 * p->v + q->slots.n[s];
  double length = seconds(q, c, kind);
  if (kind == BERTH_SCHEDULE_BACKWARD && q->rule.weights) length += seconds(q, c, 2);
  t = fit(&q->slots, p, s, t, length, q->rule.period);
  q->slots.begin[at] = t;
  q->slots.length[at] = length;
  q->slots.n[s]++;
  return t;
}

/* One micro-batch on its way from a first chunk to its end and back. */
static void lay_way(berth_i_periodic *q, int32_t first) {
  const berth_i_periodic_rule *rule = &q->rule;
  const berth_schedule_problem *p = q->p;
  double t = 0;
  int32_t c = first, last = first;
  for (; c != BERTH_NONE; last = c, c = p->next[c]) {
    int32_t k = p->local[c] % BERTH_I_WAITS;
    if (c != first) t += wait(q, 2 * c) + rule->hop[0][k];
    if (c != first && p->local[c] != p->local[last]) t += rule->turn[0];
    t = q->offset[2 * c] = put(q, c, BERTH_SCHEDULE_FORWARD, t);
    t += seconds(q, c, 0);
  }
  t += rule->turn[1];
  for (c = last; c != BERTH_NONE; last = c, c = p->prev[c]) {
    int32_t k = p->local[c] % BERTH_I_WAITS;
    if (c != last) t += wait(q, 2 * c + 1) + rule->hop[1][k];
    if (p->local[c] != p->local[last]) t += rule->turn[2];
    t = q->offset[2 * c + 1] = put(q, c, BERTH_SCHEDULE_BACKWARD, t);
    t += seconds(q, c, 1);
  }
}

/* Micro-batches of a group follow one another by `apart`, groups by their periods. */
static double begin_of(const berth_i_periodic_rule *rule, int32_t k) {
  int32_t group = k / rule->group, member = k % rule->group;
  return group * rule->group * rule->period + member * rule->apart;
}

static void merge(berth_i_periodic *q, int32_t s, berth_i_words *w) {
  const berth_schedule_problem *p = q->p;
  size_t end = w->begin[s];
  for (int32_t i = 0; i < 2 * p->v; i++) q->next[i] = 0;
  for (;;) {
    int32_t best = BERTH_NONE;
    double least = INFINITY;
    for (int32_t i = 0; i < 2 * p->v; i++) {
      int32_t c = p->chunk[s * p->v + i / 2];
      if (q->next[i] >= p->count[c]) continue;
      double t = q->offset[2 * c + i % 2] + begin_of(&q->rule, q->next[i]);
      if (t >= least) continue;
      least = t;
      best = i;
    }
    if (best == BERTH_NONE) break;
    q->next[best]++;
    w->code[end++] = berth_i_code_of(best / 2, best % 2);
  }
  w->begin[s + 1] = end;
}

double berth_i_periodic_begin(const berth_i_periodic *q, int32_t lane, int32_t k) {
  return q->offset[lane] + begin_of(&q->rule, k);
}

void berth_i_periodic_lay(berth_i_periodic *q, const berth_i_periodic_rule *rule) {
  const berth_schedule_problem *p = q->p;
  q->rule = *rule;
  for (int32_t s = 0; s < p->p; s++) q->slots.n[s] = 0;
  for (int32_t c = 0; c < p->n; c++)
    if (p->prev[c] == BERTH_NONE) lay_way(q, c);
}

void berth_i_periodic_words(berth_i_periodic *q, berth_i_words *skeleton) {
  skeleton->begin[0] = 0;
  for (int32_t s = 0; s < q->p->p; s++) merge(q, s, skeleton);
}
