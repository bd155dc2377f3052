/* Small problems for the tests of PD-ORS. */
#ifndef PDORS_HELP_H
#define PDORS_HELP_H

#include "must.h"

enum { PDORS_JOBS = 12, PDORS_MACHINES = 6, PDORS_SLOTS = 16, PDORS_KINDS = 2 };

typedef struct small_problem {
  berth_ps_job job[PDORS_JOBS];
  int32_t jobs, machines, resources, slots;
  double capacity[PDORS_MACHINES * PDORS_KINDS];
} small_problem;

/* A worker does a sample in a slot inside, half of one across; takes 1 of each of two resources, as
 * does a server. */
static berth_ps_job plain_job(int32_t arrival, double samples, int32_t batch) {
  berth_ps_job j = { 0 };
  j.arrival = arrival;
  j.epochs = 1;
  j.samples = samples;
  j.batch = batch;
  j.tau = 0.5;
  j.bytes = batch;
  j.ratio = 1;
  j.inside = 4;       /* 2 bytes ratio / (4 batch) = 0.5 */
  j.across = 4.0 / 3; /* 1.5 */
  j.worker[0] = j.worker[1] = 1;
  j.server[0] = j.server[1] = 1;
  j.importance = 10;
  j.urgency = 0;
  j.target = 5;
  return j;
}

static double between(berth_rng *rng, double low, double high) {
  return low + (high - low) * berth_rng_uniform(rng);
}

static berth_ps_job random_job(berth_rng *rng, int32_t arrival) {
  berth_ps_job j = plain_job(arrival, 1 + berth_rng_below(rng, 6), 1 + berth_rng_below(rng, 4));
  j.tau = between(rng, 0.2, 0.8);
  j.ratio = 1 + berth_rng_below(rng, 3);
  j.inside = between(rng, 4, 20);
  j.across = j.inside / between(rng, 0.5, 8); /* some are faster apart */
  j.worker[0] = berth_rng_below(rng, 3);
  j.worker[1] = 1 + berth_rng_below(rng, 3);
  j.server[0] = 0;
  j.server[1] = 1 + berth_rng_below(rng, 2);
  j.importance = between(rng, 1, 100);
  j.urgency = berth_rng_below(rng, 3) == 0 ? 0 : between(rng, 0.01, 2);
  j.target = between(rng, 1, 6);
  return j;
}

static small_problem random_problem(berth_rng *rng, int32_t jobs, int32_t machines, int32_t slots) {
  small_problem p = {
    .jobs = jobs, .machines = machines, .resources = PDORS_KINDS, .slots = slots
  };
  int32_t arrival = 0;
  for (int32_t i = 0; i < jobs; i++) {
    p.job[i] = random_job(rng, arrival);
    if (berth_rng_below(rng, 2) && arrival + 1 < slots) arrival++;
  }
  for (int32_t i = 0; i < machines; i++) {
    p.capacity[PDORS_KINDS * i] = berth_rng_below(rng, 6);
    p.capacity[PDORS_KINDS * i + 1] = 2 + berth_rng_below(rng, 6);
  }
  return p;
}

static berth_ps *make_problem(const small_problem *p) {
  berth_ps_options o = berth_ps_default(p->machines, p->resources, p->slots, p->capacity);
  return must_ps_new(&o, p->jobs, p->job);
}

static berth_pdors *make_pdors(berth_ps *ps, berth_pdors_options o) {
  berth_pdors *d = NULL;
  CHECK_OK(berth_pdors_new(ps, &o, &d));
  return OWNED(d);
}

/* As published: plans are final. */
static berth_pdors_options published(void) {
  berth_pdors_options o = berth_pdors_default();
  o.plans = BERTH_PDORS_FINAL;
  return o;
}

/* Options of final plans by a number, so that all come up. */
static berth_pdors_options some_options(int32_t k) {
  berth_pdors_options o = published();
  o.algorithm = k % 4 == 3 ? BERTH_OASIS : BERTH_PDORS;
  o.mode = (berth_pdors_mode)(k % 3);
  o.favour = (berth_pdors_favour)(k / 2 % 2);
  o.gdelta = (berth_pdors_gdelta)(k / 3 % 2);
  o.bounds = k % 5 == 4 ? BERTH_PDORS_ONLINE : BERTH_PDORS_ORACLE;
  o.reclaim = k % 7 != 6;
  o.per_job = k % 11 > 7;
  o.seed = (uint64_t)k;
  return o;
}

enum { RUN_JOBS = 40, RUN_MACHINES = 8, RUN_SLOTS = 24, RUN_KINDS = 3 };

typedef struct big_problem {
  berth_ps_job job[RUN_JOBS];
  double capacity[RUN_MACHINES * RUN_KINDS];
  int32_t rack[RUN_MACHINES];
} big_problem;

static berth_ps_job big_job(berth_rng *rng, int32_t arrival) {
  berth_ps_job j = plain_job(arrival, 1000 * between(rng, 0.1, 20), 1 + berth_rng_below(rng, 30));
  j.epochs = between(rng, 0.5, 3);
  j.tau = between(rng, 1e-3, 5e-3);
  j.bytes = between(rng, 1, 100);
  j.ratio = between(rng, 0.4, 6);
  j.across = between(rng, 500, 20000) / j.batch;
  j.inside = j.across * between(rng, 0.7, 10);
  j.worker[0] = berth_rng_below(rng, 3);
  j.worker[1] = between(rng, 0.5, 4);
  j.worker[2] = between(rng, 1, 9);
  j.server[0] = 0;
  j.server[1] = between(rng, 0.5, 4);
  j.server[2] = between(rng, 1, 9);
  j.importance = between(rng, 1, 100);
  j.urgency = berth_rng_below(rng, 4) == 0 ? 0 : between(rng, 0.01, 5);
  j.target = between(rng, 1, 15);
  return j;
}

static void fill(big_problem *p, berth_rng *rng) {
  int32_t k = 1 + berth_rng_below(rng, 3);
  for (int32_t i = 0; i < RUN_JOBS; i++) p->job[i] = big_job(rng, i * RUN_SLOTS / RUN_JOBS);
  for (int32_t i = 0; i < RUN_MACHINES; i++) {
    int32_t size = 1 + i % k;
    p->capacity[RUN_KINDS * i] = i % 4 == 3 ? 0 : 6 * size;
    p->capacity[RUN_KINDS * i + 1] = 12.5 * size;
    p->capacity[RUN_KINDS * i + 2] = 30 * size;
    p->rack[i] = i / 3;
  }
}

#endif
