/* Decisions beside algorithms 1 to 3 of PD-ORS written down as they are: no classes, no bounds, one
 * dynamic program for each slot of completion, slots by enumeration of all places. Work in
 * samples. */
#include "pdors_help.h"

typedef struct naive {
  const small_problem *p;
  berth_pdors_algorithm algorithm;
  /* the same U for both resources */
  double low, high;
  double used[PDORS_SLOTS][PDORS_MACHINES * PDORS_KINDS];
} naive;

static double price(const naive *n, int32_t slot, int32_t cell) {
  double capacity = n->p->capacity[cell];
  return capacity > 0 ? n->low * pow(n->high / n->low, n->used[slot][cell] / capacity) : INFINITY;
}

/* ---- one slot ---- */

typedef struct places {
  int32_t workers[PDORS_MACHINES], servers[PDORS_MACHINES];
} places;

static int fits(const naive *n, const berth_ps_job *j, int32_t slot, int32_t h, int32_t workers,
                int32_t servers) {
  if (n->algorithm == BERTH_OASIS && (h < (n->p->machines + 1) / 2 ? servers : workers)) return 0;
  for (int32_t r = 0; r < PDORS_KINDS; r++) {
    int32_t cell = PDORS_KINDS * h + r;
    if (n->used[slot][cell] + j->worker[r] * workers + j->server[r] * servers
        > n->p->capacity[cell] + 1e-9)
      return 0;
  }
  return 1;
}

static double cost_there(const naive *n, const berth_ps_job *j, int32_t slot, int32_t h,
                         int32_t workers, int32_t servers) {
  double sum = 0;
  for (int32_t r = 0; r < PDORS_KINDS; r++) {
    double amount = j->worker[r] * workers + j->server[r] * servers;
    if (amount > 0) sum += amount * price(n, slot, PDORS_KINDS * h + r);
  }
  return sum;
}

static double speed(const naive *n, const berth_ps_job *j, const places *a) {
  int32_t workers = 0, servers = 0, machines = 0;
  for (int32_t h = 0; h < n->p->machines; h++) {
    workers += a->workers[h];
    servers += a->servers[h];
    machines += a->workers[h] + a->servers[h] > 0;
  }
  if (workers > j->batch || servers < 1 || servers * j->ratio < workers - 1e-9) return 0;
  return workers / berth_ps_worker_slots(j, machines == 1 ? j->inside : j->across);
}

/* Machines from h on; what is before is in `a` and costs `spent`. */
static double enumerate(const naive *n, const berth_ps_job *j, int32_t slot, double samples,
                        int32_t h, places *a, double spent) {
  double best = INFINITY;
  if (h == n->p->machines) return speed(n, j, a) >= samples * (1 - 1e-9) ? spent : INFINITY;
  for (int32_t w = 0; w <= j->batch && fits(n, j, slot, h, w, 0); w++)
    for (int32_t s = 0; s <= j->batch && fits(n, j, slot, h, w, s); s++) {
      a->workers[h] = w;
      a->servers[h] = s;
      best = fmin(best, enumerate(n, j, slot, samples, h + 1, a,
                                  spent + cost_there(n, j, slot, h, w, s)));
    }
  a->workers[h] = a->servers[h] = 0;
  return best;
}

static double theta(const naive *n, const berth_ps_job *j, int32_t slot, int32_t samples) {
  places a = { { 0 }, { 0 } };
  return samples == 0 ? 0 : enumerate(n, j, slot, samples, 0, &a, 0);
}

/* ---- slots ---- */

static double theta_of[PDORS_SLOTS][8]; /* of the present job, so that the recursion below stays
                                           what it is */

static double all_slots(const berth_ps_job *j, int32_t slot, int32_t samples) {
  double best = INFINITY;
  if (slot < j->arrival) return samples == 0 ? 0 : INFINITY;
  for (int32_t v = 0; v <= samples; v++)
    best = fmin(best, theta_of[slot][v] + all_slots(j, slot - 1, samples - v));
  return best;
}

static double best_payoff(const naive *n, const berth_ps_job *j, int32_t *done) {
  double best = -INFINITY;
  int32_t samples = (int32_t)j->samples;
  for (int32_t t = j->arrival; t < n->p->slots; t++)
    for (int32_t v = 0; v <= samples; v++) theta_of[t][v] = theta(n, j, t, v);
  for (int32_t t = j->arrival; t < n->p->slots; t++) {
    double payoff = berth_ps_utility(j, t - j->arrival) - all_slots(j, t, samples);
    if (!(payoff > best)) continue;
    best = payoff;
    *done = t;
  }
  return best;
}

/* ---- beside the library ---- */

static void commit(naive *n, const berth_ps_job *j, const berth_pdors_plan *plan) {
  for (size_t i = 0; i < plan->n; i++)
    for (int32_t r = 0; r < PDORS_KINDS; r++)
      n->used[plan->slot[i]][PDORS_KINDS * plan->place[i].machine + r] +=
          j->worker[r] * plan->place[i].workers + j->server[r] * plan->place[i].servers;
}

static void check_slots(const naive *n, const berth_pdors *d) {
  for (int32_t t = 0; t < n->p->slots; t++)
    for (int32_t k = 0; k < n->p->machines * PDORS_KINDS; k++) {
      CHECK_NEAR(berth_pdors_committed(d, t)[k], n->used[t][k], 1e-9);
      CHECK(n->used[t][k] <= n->p->capacity[k] + 1e-9);
      if (n->p->capacity[k] > 0)
        CHECK_NEAR(berth_pdors_price(d, k / PDORS_KINDS, k % PDORS_KINDS, t), price(n, t, k),
                   1e-9 * price(n, t, k));
    }
}

/* What the plan says of itself. */
static void check_plan(const naive *n, const berth_ps_job *j, const berth_pdors_plan *plan) {
  double cost = 0, work = 0;
  size_t i = 0;
  while (i < plan->n) {
    places a = { { 0 }, { 0 } };
    int32_t slot = plan->slot[i];
    for (; i < plan->n && plan->slot[i] == slot; i++) {
      const berth_ps_place *p = &plan->place[i];
      a.workers[p->machine] = p->workers;
      a.servers[p->machine] = p->servers;
      cost += cost_there(n, j, slot, p->machine, p->workers, p->servers);
    }
    work += speed(n, j, &a);
    CHECK(slot >= j->arrival && slot <= plan->done);
  }
  CHECK_NEAR(cost, plan->cost, 1e-9 * (1 + cost));
  CHECK(work >= j->samples - 1e-9);
}

static int decided[2];

static void play(small_problem *p, berth_pdors_algorithm algorithm) {
  naive n = { .p = p, .algorithm = algorithm, .low = 0.05, .high = 30 };
  berth_pdors_options o = published();
  berth_ps *ps = make_problem(p);
  o.algorithm = algorithm;
  o.mode = BERTH_PDORS_EXACT;
  o.exact_work = true;
  o.bounds = BERTH_PDORS_PRIOR;
  o.low = n.low;
  o.high[0] = o.high[1] = n.high;
  berth_pdors *d = make_pdors(ps, o);
  for (int32_t i = 0; i < p->jobs; i++) {
    int32_t done = BERTH_NONE;
    double payoff = best_payoff(&n, &p->job[i], &done);
    berth_pdors_plan plan = must_pdors_admit(d, i);
    CHECK(plan.admitted == (payoff > 0));
    decided[plan.admitted]++;
    if (!plan.admitted) continue;
    CHECK_NEAR(plan.payoff, payoff, 1e-9 * (1 + payoff));
    CHECK_NEAR(plan.utility - plan.cost, plan.payoff, 1e-12 * (1 + plan.utility));
    CHECK(plan.done == done && plan.bound >= payoff - 1e-9);
    check_plan(&n, &p->job[i], &plan);
    commit(&n, &p->job[i], &plan);
  }
  check_slots(&n, d);
}

TEST("PD-ORS decides as the algorithms written down") {
  berth_rng rng = seeded(11, 0);
  for (int32_t k = 0; k < 60; k++) {
    small_problem p =
        random_problem(&rng, 5, 1 + berth_rng_below(&rng, 3), 2 + berth_rng_below(&rng, 4));
    play(&p, BERTH_PDORS);
  }
  CHECK(decided[0] > 20 && decided[1] > 60);
}

TEST("OASiS decides as the algorithms written down") {
  berth_rng rng = seeded(11, 0);
  for (int32_t k = 0; k < 60; k++) {
    small_problem p =
        random_problem(&rng, 5, 2 + berth_rng_below(&rng, 2), 2 + berth_rng_below(&rng, 4));
    play(&p, BERTH_OASIS);
  }
  CHECK(decided[0] > 40 && decided[1] > 100);
  printf("# %d admitted, %d refused\n", decided[1], decided[0]);
}
