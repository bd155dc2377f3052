/* Annealing on skeletons: moves of actions, and of theta on a range of stages. */
#include "search_internal.h"

/* What is made small: the step, and a little of the mean, so that a plateau has a slope. */
static const double OF_MEAN = 0.3;
enum { STALE = 20 }; /* moves that the critical path outlives */

double berth_i_energy(berth_i_cost c) { return c.step + OF_MEAN * c.mean; }

berth_status berth_i_walk_make(const berth_schedule_problem *p, berth_i_pool *pool,
                               berth_i_walk *k) {
  k->theta = berth_i_pool_zalloc(pool, (size_t)p->p, sizeof *k->theta);
  k->kept_theta = berth_i_pool_zalloc(pool, (size_t)p->p, sizeof *k->theta);
  berth_status st = berth_i_words_make(p, pool, &k->now);
  if (st == BERTH_OK) st = berth_i_run_make(p, pool, &k->run);
  if (st == BERTH_OK) st = berth_i_critical_make(p, pool, &k->critical);
  return st == BERTH_OK ? berth_i_words_make(p, pool, &k->kept) : st;
}

static void copy_stages(berth_i_words *to, const berth_i_words *from, int32_t low, int32_t high) {
  size_t at = from->begin[low];
  memcpy(to->code + at, from->code + at, (from->begin[high + 1] - at) * sizeof *to->code);
}

void berth_i_walk_start(berth_i_walk *k, berth_i_found *f, const berth_i_words *skeleton,
                        double theta, double energy) {
  int32_t p = f->p->p;
  for (int32_t s = 0; s < p; s++) k->theta[s] = k->kept_theta[s] = theta;
  memcpy(k->now.begin, skeleton->begin, (size_t)(p + 1) * sizeof *k->now.begin);
  memcpy(k->kept.begin, skeleton->begin, (size_t)(p + 1) * sizeof *k->now.begin);
  copy_stages(&k->now, skeleton, 0, p - 1);
  copy_stages(&k->kept, skeleton, 0, p - 1);
  k->energy = energy;
  k->changes = STALE + 1;
}

/* One theta for a range of stages. */
static void move_theta(berth_i_walk *k, const berth_schedule_problem *p, berth_rng *rng,
                       int32_t *low, int32_t *high) {
  *low = berth_rng_below(rng, p->p);
  *high = *low + berth_rng_below(rng, p->p - *low);
  double x = berth_rng_uniform(rng) * 1.5 * p->time[2][p->chunk[*low * p->v]];
  for (int32_t s = *low; s <= *high; s++) k->theta[s] = x;
}

/* An action that the critical path delays goes before what delays it. */
static bool move_critical(berth_i_walk *k, berth_i_found *f, berth_rng *rng, int32_t *low,
                          int32_t *high) {
  berth_i_critical *c = &k->critical;
  if (k->changes > STALE) {
    berth_i_fill_run(&f->fill, &k->now, k->theta, INFINITY);
    berth_i_critical_find(c, &k->run, &f->fill.words);
    k->changes = 0;
  }
  if (c->n == 0) return false;
  int32_t i = berth_rng_below(rng, c->n);
  return berth_i_move_earlier(&k->now, rng, c->stage[i], c->code[i], c->number[i], low, high);
}

static bool move(berth_i_walk *k, berth_i_found *f, berth_rng *rng, int32_t *low, int32_t *high) {
  const berth_schedule_problem *p = f->p;
  bool gaps = !p->o.joined && !isinf(k->theta[0]); /* W's are put into gaps by theta */
  if (gaps && berth_rng_below(rng, 16) == 0) {
    move_theta(k, p, rng, low, high);
    return true;
  }
  if (berth_rng_below(rng, 2) && move_critical(k, f, rng, low, high)) return true;
  int32_t s = berth_rng_below(rng, p->p);
  size_t begin = k->now.begin[s], n = k->now.begin[s + 1] - begin;
  return berth_i_move_shift(&k->now, rng, s, begin + (size_t)berth_rng_below(rng, (int32_t)n), low,
                            high);
}

static void settle(berth_i_walk *k, int32_t low, int32_t high, bool keep) {
  size_t bytes = (size_t)(high - low + 1) * sizeof *k->theta;
  if (keep) copy_stages(&k->kept, &k->now, low, high);
  else copy_stages(&k->now, &k->kept, low, high);
  if (keep) memcpy(k->kept_theta + low, k->theta + low, bytes);
  else memcpy(k->theta + low, k->kept_theta + low, bytes);
}

void berth_i_walk_run(berth_i_walk *k, berth_i_found *f, berth_rng *rng, double until, double hot,
                      double cold) {
  const berth_schedule_problem *p = f->p;
  double least = 0; /* what the mean adds at least */
  double from = f->used;
  for (int32_t s = 0; s < p->p; s++) least += OF_MEAN * f->fill.work[s] / p->p;
  while (!berth_i_found_ends(f) && f->used < until) {
    double heat = hot * pow(cold / hot, (f->used - from) / (until - from)) * f->step;
    double allowed = k->energy - heat * log(1 - berth_rng_uniform(rng));
    int32_t low, high;
    if (!move(k, f, rng, &low, &high)) {
      f->calls++;
      continue;
    }
    double e = berth_i_energy(berth_i_found_try(f, &k->now, k->theta, allowed - least));
    k->changes += e <= allowed;
    if (e <= allowed) k->energy = e;
    settle(k, low, high, e <= allowed);
  }
}
