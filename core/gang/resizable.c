/* Resizable jobs: at each slot, or where there are none at each event, all are given their GPUs
 * again. Those whose number stays keep their places; others pause, and go on elsewhere after the
 * time of a restart, in which their GPUs are reserved. How many is Optimus' or Pollux' choice
 * (elastic.c); the places are packed, the largest job first.
 *
 * Invariant: `plan` is the capacity less the places of jobs that run or are to begin. */
#include "gang_internal.h"
#include <berth/gang.h>

typedef struct elastic {
  berth_gang_resize_options o; /* its arrays are not used: the copies are below */
  bool optimus;
  int32_t *first;            /* [n + 1] */
  double *speed;             /* [first[n]] */
  double *arrival;           /* [n] s */
  int32_t *given, *count;    /* [n] GPUs, now and by the last decision */
  double *ready;             /* [n] when it begins on places that it is given; NAN: it has none, or
                                runs */
  berth_elastic_job *job;    /* [n] scratch */
  berth_i_gang_place *place, *old; /* [n_places] of those that are to begin */
  int32_t n_place;
} elastic;

static elastic *of(const berth_gang *g) { return g->state; }

static int32_t most_of(const elastic *e, int32_t job) { return e->first[job + 1] - e->first[job]; }
static double speed_on(const elastic *e, int32_t job, int32_t n) {
  return e->speed[e->first[job] + n - 1];
}

/* ---- life ---- */

static berth_status init(berth_gang *g, const void *own) {
  const berth_gang_resize_options *o = own;
  size_t n = (size_t)g->n;
  berth_status st;
  if (o->n_first != g->n + 1)
    return berth_i_fail(g->ctx, BERTH_EINVAL,
                        "option first: expected %d numbers (one per job, and one more), got %d",
                        (int)g->n + 1, (int)o->n_first);
  if (o->first[0] != 0)
    return berth_i_fail(g->ctx, BERTH_EINVAL, "option first: expected 0, got %d", (int)o->first[0]);
  for (int32_t j = 0; j < g->n; j++)
    if (o->first[j + 1] < o->first[j])
      return berth_i_fail(
          g->ctx, BERTH_EINVAL,
          "gang: job %d: its speeds, %d to %d, end before they begin", (int)j,
          (int)o->first[j], (int)o->first[j + 1]);
  if (o->n_speeds != o->first[g->n])
    return berth_i_fail(g->ctx, BERTH_EINVAL, "option speeds: expected %d numbers, got %d",
                        (int)o->first[g->n], (int)o->n_speeds);
  elastic *e;
  if (!(e = g->state = berth_i_pool_zalloc(&g->pool, 1, sizeof *e))) return berth_i_nomem(g->ctx);
  e->o = *o;
  e->first = berth_i_pool_copy(&g->pool, o->first, n + 1, sizeof *e->first);
  e->speed = berth_i_pool_alloc(&g->pool, (size_t)o->n_speeds, sizeof *e->speed);
  e->arrival = berth_i_pool_alloc(&g->pool, n, sizeof *e->arrival);
  e->given = berth_i_pool_zalloc(&g->pool, n, sizeof *e->given);
  e->count = berth_i_pool_zalloc(&g->pool, n, sizeof *e->count);
  e->ready = berth_i_pool_alloc(&g->pool, n, sizeof *e->ready);
  e->job = berth_i_pool_alloc(&g->pool, n, sizeof *e->job);
  if ((st = berth_i_pool_status(&g->pool)) != BERTH_OK) return st;
  if (o->n_speeds > 0) memcpy(e->speed, o->speeds, (size_t)o->n_speeds * sizeof *e->speed);
  for (int32_t j = 0; j < g->n; j++) {
    e->ready[j] = NAN;
    /* its size is the least number on which it can run; none: too many for any cluster */
    int32_t least = 1;
    while (least <= most_of(e, j) && !(speed_on(e, j, least) > 0)) least++;
    g->job[j].size = least <= most_of(e, j) ? least : INT32_MAX;
  }
  return BERTH_OK;
}

static berth_status init_optimus(berth_gang *g, const void *own) {
  berth_status st = init(g, own);
  if (st == BERTH_OK) of(g)->optimus = true;
  return st;
}

/* Those on several machines have whole ones: they do not share. */
static berth_status attach(berth_gang *g) {
  elastic *e = of(g);
  int32_t largest = 0;
  e->place = berth_i_pool_alloc(&g->pool, (size_t)g->total + 1, sizeof *e->place);
  e->old = berth_i_pool_alloc(&g->pool, (size_t)g->total + 1, sizeof *e->old);
  if (berth_i_pool_status(&g->pool) != BERTH_OK) return BERTH_ENOMEM;
  for (int32_t m = 0; m < g->machines; m++) largest = g->cap[m] > largest ? g->cap[m] : largest;
  for (int32_t j = 0; j < g->n; j++)
    for (int32_t k = e->first[j], n = 1; k < e->first[j + 1]; k++, n++)
      if (n > largest && n % largest != 0) e->speed[k] = 0;
  return BERTH_OK;
}

/* ---- one job ---- */

static double speed(berth_gang *g, int32_t job) { return speed_on(of(g), job, g->job[job].size); }

static berth_i_gang_rank arrives(berth_gang *g, int32_t job) {
  of(g)->arrival[job] = berth_cluster_now(g->c);
  return (berth_i_gang_rank){ 0, job };
}

static void stops(berth_gang *g, int32_t job, double now, bool over) {
  (void)now;
  (void)over;
  of(g)->given[job] = 0;
}

/* ---- how many ---- */

static berth_status choose(berth_gang *g, int32_t n, double now) {
  elastic *e = of(g);
  for (int32_t i = 0; i < n; i++) {
    int32_t job = g->keep[i];
    berth_job_record r;
    berth_status st = berth_cluster_record(g->c, job, &r);
    if (st != BERTH_OK) return st;
    /* a change of GPUs costs (T - R d) / (T + d): age T, restarts R so far, of d s each */
    const double age = now - e->arrival[job], d = e->o.restart;
    const bool counts = !isnan(r.start) && age + d > 0;
    e->job[i] =
        (berth_elastic_job){ most_of(e, job), e->speed + e->first[job], r.left, e->given[job],
                             counts ? fmax(0, (age - r.pauses * d) / (age + d)) : 1 };
  }
  if (e->optimus) return berth_elastic_optimus(g->ctx, n, e->job, g->total, e->count);
  return berth_elastic_pollux(g->ctx, n, e->job, g->total, e->o.power, e->o.floor, e->count);
}

/* ---- where ---- */

static void keep_place(berth_gang *g, berth_i_gang_place p) {
  g->plan[p.machine] -= p.amount;
  of(g)->place[of(g)->n_place++] = p;
}

/* Those that go on as they are; the others of g->keep[0..n) pause, and are listed in g->start. */
static berth_status keep_some(berth_gang *g, int32_t n, double now) {
  elastic *e = of(g);
  int32_t n_old = e->n_place;
  memcpy(e->old, e->place, (size_t)n_old * sizeof *e->old);
  memcpy(g->plan, g->cap, (size_t)g->machines * sizeof *g->plan);
  e->n_place = g->n_start = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t job = g->keep[i];
    bool runs = g->job[job].run != BERTH_NONE,
         same = e->count[i] > 0 && e->count[i] == e->given[job];
    if (same && runs) {
      const berth_gang_run *r = &g->runs[g->job[job].run];
      for (int32_t j = r->first; j < r->first + r->n; j++)
        g->plan[g->place_machine[j]] -= g->place_amount[j];
    } else if (same) {
      for (int32_t k = 0; k < n_old; k++)
        if (e->old[k].job == job) keep_place(g, e->old[k]);
    }
    if (same) continue;
    berth_status st;
    if (runs && (st = berth_i_gang_stop(g, job, now, (berth_i_gang_rank){ 0, job })) != BERTH_OK)
      return st;
    e->ready[job] = NAN;
    e->given[job] = e->count[i];
    if (e->count[i] > 0) g->start[g->n_start++] = job;
  }
  return BERTH_OK;
}

/* The largest first; one that does not fit as a whole gets less. */
static berth_status place_all(berth_gang *g, double now) {
  elastic *e = of(g);
  for (int32_t i = 1, k; i < g->n_start; i++) { /* insertion sort: stable */
    int32_t job = g->start[i];
    for (k = i; k > 0 && e->given[g->start[k - 1]] < e->given[job]; k--)
      g->start[k] = g->start[k - 1];
    g->start[k] = job;
  }
  for (int32_t i = 0; i < g->n_start; i++) {
    int32_t job = g->start[i], *given = &e->given[job];
    berth_job_record r;
    berth_status st = berth_cluster_record(g->c, job, &r);
    if (st != BERTH_OK) return st;
    while (*given > 0 && !berth_i_gang_find_packed(g, g->plan, *given))
      for (--*given; *given > 0 && !(speed_on(e, job, *given) > 0); --*given) {}
    if (*given == 0) continue;
    for (int32_t k = 0; k < g->pick.n; k++)
      keep_place(g, (berth_i_gang_place){ job, g->pick.machine[k], g->pick.amount[k] });
    e->ready[job] = isnan(r.start) ? now : now + e->o.restart;
  }
  return BERTH_OK;
}

/* ---- when ---- */

/* Those whose time has come, in the order of their places, which are together. */
static berth_status begin_ready(berth_gang *g, double now) {
  elastic *e = of(g);
  int32_t left = 0;
  for (int32_t i = 0, next; i < e->n_place; i = next) {
    int32_t job = e->place[i].job;
    for (next = i; next < e->n_place && e->place[next].job == job; next++) {}
    if (e->ready[job] > now) {
      memmove(e->place + left, e->place + i, (size_t)(next - i) * sizeof *e->place);
      left += next - i;
      continue;
    }
    g->pick.n = 0;
    for (int32_t k = i; k < next; k++) {
      g->pick.machine[g->pick.n] = e->place[k].machine;
      g->pick.amount[g->pick.n++] = e->place[k].amount;
    }
    g->job[job].size = e->given[job];
    e->ready[job] = NAN;
    berth_i_gang_queue_remove(&g->waiting, job);
    berth_status st;
    if ((st = berth_i_gang_begin(g, job, now)) != BERTH_OK) return st;
    g->running[g->n_running++] = job;
  }
  e->n_place = left;
  return BERTH_OK;
}

static berth_status decide(berth_gang *g, double now) {
  const elastic *e = of(g);
  berth_i_gang_queue_fresh(g);
  berth_status st;
  if (g->reallocate) {
    /* 1. GPUs of each job. 2. Those that change pause. 3. Places of those. */
    int32_t n = berth_i_gang_list_all(g);
    if ((st = choose(g, n, now)) != BERTH_OK || (st = keep_some(g, n, now)) != BERTH_OK
        || (st = place_all(g, now)) != BERTH_OK)
      return st;
  }
  /* 4. Starts, now and when the next restart is over. */
  if ((st = begin_ready(g, now)) != BERTH_OK) return st;
  double next = INFINITY;
  for (int32_t i = 0; i < e->n_place; i++) next = fmin(next, e->ready[e->place[i].job]);
  return berth_cluster_wake(g->c, next);
}

/* ---- options ---- */

berth_gang_resize_options berth_gang_resize_default(void) {
  return (berth_gang_resize_options){ .power = -1, .floor = 0.01 };
}

static void set_defaults(void *out) {
  *(berth_gang_resize_options *)out = berth_gang_resize_default();
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_gang_resize_options, name, kind)
#define LIST(name, kind) BERTH_I_OPTION_LIST(berth_gang_resize_options, name, n_##name, kind)

static const berth_option_table *table(void) {
  static const berth_option options[] = {
    { LIST(first, WHOLES), .text = "where the speeds of each job begin" },
    { LIST(speeds, NUMBERS),
      .text = "work per s on 1, 2, ... GPUs, job after job; 0: not on so many" },
    { FIELD(restart, QUANTITY), .unit = BERTH_SECONDS,
      .text = "a job goes on so many s after a change" },
    { FIELD(power, NUMBER), .low = -INFINITY, .high = 1,
      .text = "the mean of speedup^power is made largest; 0: of logarithms" },
    { FIELD(floor, NUMBER), .above = 1, .text = "speedup of a job without GPUs" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("gang resize", options, berth_gang_resize_options, set_defaults);
}

/* ---- the rules ---- */

const berth_i_gang_rule berth_i_gang_optimus = {
  .about = {
    .choice = { "optimus", "Resizable jobs, at each slot (each event if there are none): one GPU "
                           "each by arrival, then one more to the job whose time left falls "
                           "most." },
    .source = "Peng et al., \"Optimus\", EuroSys 2018",
    .reads = "restart",
    .options = table,
  },
  .decide = decide, .arrives = arrives, .ordered = true, .stops = stops, .speed = speed,
  .init = init_optimus, .attach = attach,
};

const berth_i_gang_rule berth_i_gang_pollux = {
  .about = {
    .choice = { "pollux", "Resizable jobs, at each slot (each event if there are none): the "
                          "greatest mean of speedup^power." },
    .source = "Qiao et al., \"Pollux\", OSDI 2021, sec. 4.2",
    .reads = "restart power floor",
    .options = table,
  },
  .decide = decide, .arrives = arrives, .ordered = true, .stops = stops, .speed = speed,
  .init = init, .attach = attach,
};
