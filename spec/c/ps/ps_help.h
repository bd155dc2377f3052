/* Problems and runs for specs of schedulers of workers and servers. */
#ifndef BERTH_PS_HELP_H
#define BERTH_PS_HELP_H

#include "ps_checker.h"

static double ps_between(berth_rng *g, double a, double b) {
  return a + (b - a) * berth_rng_uniform(g);
}

/* Resources 0 .. resources - 1; about `slots` / 4 slots long on 4 workers. */
static berth_ps_job ps_random_job(berth_rng *g, int32_t arrival, int32_t resources, int32_t slots) {
  berth_ps_job j = { 0 };
  j.arrival = arrival;
  j.batch = 1 + berth_rng_below(g, 12);
  j.tau = ps_between(g, 0.01, 0.02);
  j.bytes = ps_between(g, 0, 2);
  j.ratio = berth_rng_below(g, 5) ? ps_between(g, 1, 4) : ps_between(g, 0.4, 1);
  j.across = ps_between(g, 50, 100);
  j.inside = j.across * ps_between(g, 1, 20);
  j.epochs = 2;
  j.samples = floor(ps_between(g, 1, slots) * 2 / berth_ps_worker_slots(&j, j.across)) + 1;
  for (int32_t k = 0; k < resources; k++) {
    j.worker[k] = 1 + berth_rng_below(g, 4);
    j.server[k] = k == 0 ? 0 : 1 + berth_rng_below(g, 3);
  }
  j.importance = ps_between(g, 1, 100);
  j.urgency = ps_between(g, 0, 4);
  j.target = ps_between(g, 1, 8);
  return j;
}

typedef struct ps_case {
  int32_t machines, resources, slots, jobs;
  double least, most;   /* capacities */
} ps_case;

static berth_ps *ps_random_problem(berth_rng *g, ps_case c) {
  berth_ps_job *jobs = malloc((size_t)c.jobs * sizeof *jobs);
  double *capacity = malloc((size_t)c.machines * (size_t)c.resources * sizeof *capacity);
  berth_ps_options o = { 0 };
  berth_ps *p = NULL;
  for (int32_t i = 0; i < c.machines * c.resources; i++)
    capacity[i] = floor(ps_between(g, c.least, c.most));
  for (int32_t i = 0; i < c.jobs; i++)
    jobs[i] =
        ps_random_job(g, (int32_t)((int64_t)i * (c.slots - 1) / c.jobs), c.resources, c.slots);
  o = berth_ps_default(c.machines, c.resources, c.slots, capacity);
  CHECK(berth_ps_new(ctx, &o, c.jobs, jobs, &p) != BERTH_EINVAL);
  RELEASE(jobs, capacity);
  return OWNED(p);
}

/** Plays a scheduler's run, and releases the scheduler. @return the run; NULL if it failed, with
 * the status */
static berth_ps_run *ps_play(berth_ps *p, berth_ps_scheduler *s, berth_status *st) {
  berth_ps_policy policy = berth_ps_scheduler_policy(s);
  berth_ps_run *r = NULL;
  *st = berth_ps_run_new(p, &r);
  TRY(*st, berth_ps_run_play(r, &policy));
  RELEASE(s);
  if (*st == BERTH_OK) return OWNED(r);
  RELEASE(r);
  return NULL;
}

/** What a job had on each machine in a slot; sums may be asked for with machine = BERTH_NONE. */
static berth_ps_place ps_had(const ps_log *g, int32_t slot, int32_t job, int32_t machine) {
  berth_ps_place sum = { machine, 0, 0 };
  for (size_t e = 0; e < g->n; e++)
    if (g->slot[e] == slot && g->job[e] == job
        && (machine == BERTH_NONE || g->place[e].machine == machine)) {
      sum.workers += g->place[e].workers;
      sum.servers += g->place[e].servers;
    }
  return sum;
}

/* 4 samples a slot on one worker: 12 slots' work of it. */
static berth_ps_job ps_plain(int32_t arrival) {
  berth_ps_job j = { 0 };
  j.arrival = arrival;
  j.epochs = 1;
  j.samples = 48;
  j.batch = 4;
  j.tau = 0.25;
  j.ratio = 2;
  j.inside = j.across = 8;
  j.worker[0] = 1;
  j.server[1] = 1;
  j.importance = 1;
  return j;
}

static berth_ps *ps_problem(int32_t machines, int32_t slots, double of_workers, double of_servers,
                            int32_t n, const berth_ps_job *jobs) {
  double capacity[16];
  for (int32_t m = 0; m < machines; m++) {
    capacity[2 * m] = of_workers;
    capacity[2 * m + 1] = of_servers;
  }
  berth_ps_options o = berth_ps_default(machines, 2, slots, capacity);
  return must_ps_new(&o, n, jobs);
}

static berth_ps_scheduler *ps_optimus(berth_ps *p, const berth_ps_speed_fit *fit) {
  berth_ps_scheduler *s = NULL;
  berth_ps_optimus_options o = berth_ps_optimus_default();
  o.fit = fit;
  berth_ps_optimus_new(p, &o, &s);
  return OWNED(s);
}


/* Plays and judges. */
static berth_ps_run *ps_judged_play(berth_ps *p, berth_ps_scheduler *s) {
  berth_status st = BERTH_EINVAL;
  berth_ps_run *r = CHECK(s != NULL) ? ps_play(p, s, &st) : NULL;
  CHECK_OK(st);
  if (r) ps_judge(r, 1);
  return r;
}

static berth_ps_record ps_record_of(const berth_ps_run *r, int32_t job) {
  berth_ps_record x;
  berth_ps_run_record(r, job, &x);
  return x;
}

#endif
