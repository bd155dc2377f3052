/* Judges a run of workers and servers by its problem and its log alone: capacity, batch, ratio,
 * arrivals, no places after the end; and replays it with a rate model of its own: ends, work left,
 * utility. Shares no code with what it judges. */
#ifndef BERTH_PS_CHECKER_H
#define BERTH_PS_CHECKER_H

#include "must.h"

typedef struct ps_judged {
  double left, end, utility, owed; /* samples; slots, NAN unless done */
  int32_t done, slots, inside, moves;
  size_t n_last, last;             /* places in the log, of the last slot in which it had any */
} ps_judged;

typedef struct ps_log {
  size_t n;
  int32_t *slot, *job;
  berth_ps_place *place;
} ps_log;

static ps_log ps_log_of(const berth_ps_run *r) {
  ps_log g = { berth_ps_run_log(r, 0, NULL, NULL, NULL), NULL, NULL, NULL };
  g.slot = malloc((g.n + 1) * sizeof *g.slot);
  g.job = malloc((g.n + 1) * sizeof *g.job);
  g.place = malloc((g.n + 1) * sizeof *g.place);
  CHECK(berth_ps_run_log(r, g.n, g.slot, g.job, g.place) == g.n);
  return g;
}

static void ps_log_free(ps_log *g) {
  RELEASE(g->slot, g->job, g->place);
}

/* Workers or servers that are not on one machine. */
static double ps_away(size_t n, const berth_ps_place *p, int32_t machine, int workers) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    if (p[i].machine != machine) sum += workers ? p[i].workers : p[i].servers;
  return sum;
}

static int ps_in_one_rack(const berth_ps_options *o, size_t n, const berth_ps_place *p) {
  for (size_t i = 0; o->rack && i < n; i++)
    if (o->rack[p[i].machine] != o->rack[p[0].machine]) return 0;
  return o->rack != NULL;
}

/* 0: on one machine, 1: in one rack, 2: neither. */
static int ps_distance(const berth_ps_options *o, int32_t a, int32_t b) {
  if (a == b) return 0;
  return o->rack && o->rack[a] == o->rack[b] ? 1 : 2;
}

static double ps_pair(const berth_ps_options *o, const berth_ps_job *j, size_t n,
                      const berth_ps_place *p, int32_t a, int32_t b) {
  double link = ps_in_one_rack(o, n, p) && j->rack > 0 ? j->rack : j->across;
  if (a == b) return j->inside;
  return fmin(link / ps_away(n, p, a, 0), link / fmin(j->batch, ps_away(n, p, b, 1)));
}

/* By looking at each pair of worker and server: the bandwidth of the farthest, or the least. */
static double ps_slowest(const berth_ps_options *o, const berth_ps_job *j, size_t n,
                         const berth_ps_place *p) {
  double least = INFINITY,
         by_distance[] = { j->inside, j->rack > 0 ? j->rack : j->across, j->across };
  int farthest = 0;
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b < n; b++) {
      int d = ps_distance(o, p[a].machine, p[b].machine);
      if (p[a].workers == 0 || p[b].servers == 0) continue;
      least = fmin(least, ps_pair(o, j, n, p, p[a].machine, p[b].machine));
      if (d > farthest) farthest = d;
    }
  return o->comm == BERTH_PS_SHARED ? least : by_distance[farthest];
}

static double ps_naive_speed(const berth_ps_options *o, const berth_ps_job *j, size_t n,
                             const berth_ps_place *p) {
  double workers = 0, servers = 0;
  for (size_t i = 0; i < n; i++) {
    workers += p[i].workers;
    servers += p[i].servers;
  }
  if (workers > j->batch) workers = j->batch;
  if (workers == 0 || servers == 0 || servers * j->ratio < workers * (1 - 1e-12)) return 0;
  double b = ps_slowest(o, j, n, p);
  if (o->comm == BERTH_PS_SHARED)
    return j->batch / (j->tau * j->batch / workers + 2 * j->bytes / servers / b);
  return workers * (1 / (j->tau + 2 * j->bytes * j->ratio / (b * j->batch)));
}

static int ps_same(const berth_ps_place *a, size_t n, const berth_ps_place *b, size_t m) {
  if (n != m) return 0;
  for (size_t i = 0; i < n; i++)
    if (a[i].machine != b[i].machine || a[i].workers != b[i].workers
        || a[i].servers != b[i].servers)
      return 0;
  return 1;
}

/* One job in one slot: entries at .. at + n - 1. */
static void ps_judge_slot(const berth_ps_options *o, const berth_ps_job *j, ps_judged *x,
                          const ps_log *g, size_t at, size_t n) {
  double speed = ps_naive_speed(o, j, n, g->place + at), total = j->epochs * j->samples;
  CHECK(g->slot[at] >= j->arrival && g->slot[at] < o->slots);
  CHECK(x->done == BERTH_NONE);
  if (x->n_last > 0 && !ps_same(g->place + at, n, g->place + x->last, x->n_last)) {
    x->moves++;
    x->owed = j->moving;
  }
  double lost = fmin(1, x->owed);
  x->owed -= lost;
  x->last = at;
  x->n_last = n;
  x->slots++;
  x->inside += n == 1;
  if (speed > 0 && x->left <= speed * (1 - lost) + 1e-9 * total) {
    x->done = g->slot[at];
    x->end = g->slot[at] + fmin(1, lost + x->left / speed);
    x->left = 0;
    x->utility = j->importance / (1 + exp(j->urgency * (x->done - j->arrival - j->target)));
  } else {
    x->left -= speed * (1 - lost);
  }
}

/* All of one slot: entries from .. to - 1. */
static void ps_judge_capacity(berth_ps *p, const ps_log *g, size_t from, size_t to) {
  const berth_ps_options *o = berth_ps_options_of(p);
  size_t cells = (size_t)o->machines * (size_t)o->resources;
  double *used = calloc(cells, sizeof *used);
  for (size_t e = from; e < to; e++) {
    const berth_ps_job *j = berth_ps_job_at(p, g->job[e]);
    CHECK(g->place[e].machine >= 0 && g->place[e].machine < o->machines
          && g->place[e].workers + g->place[e].servers > 0);
    for (int32_t k = 0; k < o->resources; k++)
      used[g->place[e].machine * o->resources + k] +=
          g->place[e].workers * j->worker[k] + g->place[e].servers * j->server[k];
  }
  for (size_t i = 0; i < cells; i++) CHECK(used[i] <= o->capacity[i] * (1 + 1.001e-9));
  free(used);
}

/* What a scheduler promises besides: no worker too many, servers for all of them. */
static void ps_judge_ratio(const berth_ps_job *j, const ps_log *g, size_t at, size_t n) {
  double workers = 0, servers = 0;
  for (size_t i = at; i < at + n; i++) {
    workers += g->place[i].workers;
    servers += g->place[i].servers;
  }
  CHECK(workers >= 1 && workers <= j->batch);
  CHECK(servers >= 1 && servers * j->ratio >= workers * (1 - 1e-9));
}

static void ps_judge_log(berth_ps *p, const ps_log *g, int ratios, ps_judged *x) {
  const berth_ps_options *o = berth_ps_options_of(p);
  size_t from = 0;
  for (size_t e = 0, n; e < g->n; e += n) {
    for (n = 1; e + n < g->n && g->slot[e + n] == g->slot[e] && g->job[e + n] == g->job[e];) n++;
    if (e > 0)
      CHECK(g->slot[e] > g->slot[e - 1]
            || (g->slot[e] == g->slot[e - 1] && g->job[e] > g->job[e - 1]));
    for (size_t i = e + 1; i < e + n; i++) CHECK(g->place[i].machine > g->place[i - 1].machine);
    if (e > 0 && g->slot[e] != g->slot[e - 1]) {
      ps_judge_capacity(p, g, from, e);
      from = e;
    }
    ps_judge_slot(o, berth_ps_job_at(p, g->job[e]), &x[g->job[e]], g, e, n);
    if (ratios) ps_judge_ratio(berth_ps_job_at(p, g->job[e]), g, e, n);
  }
  ps_judge_capacity(p, g, from, g->n);
}

static void ps_judge_record(const berth_ps_run *r, int32_t job, const ps_judged *x, double total) {
  berth_ps_record got = must_ps_run_record(r, job);
  CHECK((got.state == BERTH_JOB_DONE) == (x->done != BERTH_NONE));
  CHECK(got.done == x->done && got.slots == x->slots && got.inside == x->inside
        && got.moves == x->moves);
  CHECK_NEAR(got.left, x->left, 1e-8 * total);
  if (x->done != BERTH_NONE) CHECK_NEAR(got.end, x->end, 1e-7);
  CHECK_NEAR(got.utility, x->utility, 1e-9);
}

/** Judges a run. @param ratios whether each slot of a job must have a working number of workers and
 * servers */
static void ps_judge(const berth_ps_run *r, int ratios) {
  berth_ps *p = berth_ps_run_problem(r);
  int32_t n = berth_ps_jobs(p);
  ps_judged *x = calloc((size_t)n + 1, sizeof *x);
  ps_log g = ps_log_of(r);
  double utility = 0;
  for (int32_t j = 0; j < n; j++) {
    const berth_ps_job *job = berth_ps_job_at(p, j);
    x[j].left = job->epochs * job->samples;
    x[j].done = BERTH_NONE;
  }
  ps_judge_log(p, &g, ratios, x);
  for (int32_t j = 0; j < n; j++) {
    ps_judge_record(r, j, &x[j], berth_ps_job_at(p, j)->epochs * berth_ps_job_at(p, j)->samples);
    utility += x[j].utility;
  }
  CHECK_NEAR(berth_ps_run_report(r).utility, utility, 1e-8);
  ps_log_free(&g);
  free(x);
}

#endif
