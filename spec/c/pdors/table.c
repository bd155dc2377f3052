/* Decisions beside the full table of PD-ORS, algorithm 3, on the same slots: every amount in every
 * slot is asked, each on its own. So neither bounds nor classes of slots may change what is
 * decided, with random rounding, too. */
#include "pdors/pdors_internal.h"
#include "pdors_help.h"

enum { MOST_QUANTA = 300 };

typedef struct table {
  berth_pdors *d;
  berth_i_slot_solver *solver; /* another one */
  double cost[RUN_SLOTS][MOST_QUANTA];
} table;

static double ask(table *t, int32_t job, int32_t slot, int32_t v, double samples) {
  const berth_i_pdors_slot *s = berth_i_pdors_slot_at(t->d, slot);
  berth_i_slot_state state = { s->price, s->left };
  berth_ps_place place[RUN_MACHINES];
  berth_i_slot_answer a = { .place = place };
  if (t->d->oasis) {
    berth_i_oasis_begin(t->d, job, &state);
    berth_i_oasis_solve(t->d, samples, &a);
  } else {
    CHECK_OK(berth_i_slot_begin(t->solver, job, &state));
    CHECK_OK(berth_i_slot_solve(t->solver, samples, berth_i_pdors_stream(t->d, job, slot, v), &a));
  }
  return a.feasible ? a.cost : INFINITY;
}

static double best_payoff(table *t, int32_t job, int32_t *done) {
  const berth_ps_job *j = berth_ps_job_at(t->d->ps, job);
  berth_i_pdors_rates r;
  double best = -INFINITY;
  berth_i_pdors_rates_of(t->d, job, &r);
  if (!(r.most > 0)) return best;
  double q = berth_i_pdors_quantum(t->d, &r);
  int32_t n = (int32_t)ceil(r.work / q * (1 - 1e-12));
  if (n > MOST_QUANTA) return best; /* more slots than there are */
  int32_t most;
  most = (int32_t)fmin(n, floor(r.most / q * (1 + 1e-12)));
  double cost[MOST_QUANTA + 1];
  for (int32_t k = 0; k <= n; k++) cost[k] = k == 0 ? 0 : INFINITY;
  for (int32_t slot = j->arrival; slot < RUN_SLOTS; slot++) {
    for (int32_t v = 1; v <= most; v++)
      t->cost[slot][v] = ask(t, job, slot, v, fmin(v * q, r.work) * r.scale);
    for (int32_t k = n; k > 0; k--)
      for (int32_t v = 1; v <= most && v <= k; v++)
        cost[k] = fmin(cost[k], cost[k - v] + t->cost[slot][v]);
    if (!(berth_ps_utility(j, slot - j->arrival) - cost[n] > best)) continue;
    best = berth_ps_utility(j, slot - j->arrival) - cost[n];
    *done = slot;
  }
  return best;
}

static int decided[2];

static void play(berth_ps *ps, berth_pdors_options o) {
  static table t;
  t.d = make_pdors(ps, o);
  CHECK_OK(berth_i_slot_solver_new(ps, &t.d->o, &t.solver));
  for (int32_t i = 0; i < RUN_JOBS; i++) {
    int32_t done = BERTH_NONE;
    berth_i_pdors_note_job(t.d, i);
    double payoff = best_payoff(&t, i, &done);
    berth_pdors_plan plan = must_pdors_admit(t.d, i);
    decided[plan.admitted]++;
    if (berth_ps_job_at(ps, i)->moving > 0) { /* cut where it is done */
      CHECK(plan.admitted || !(payoff > 0));
      CHECK(!plan.admitted || (plan.payoff >= payoff - 1e-9 && plan.done <= done));
      continue;
    }
    CHECK(plan.admitted == (payoff > 0));
    if (!plan.admitted) continue;
    CHECK_NEAR(plan.payoff, payoff, 1e-9 * payoff);
    CHECK(plan.done == done);
  }
  berth_i_slot_solver_release(t.solver);
  RELEASE(t.d);
}

TEST("bounds and classes of slots change nothing") {
  static big_problem p;
  berth_rng rng = seeded(29, 0);
  for (int32_t k = 0; k < 24; k++) {
    berth_ps_options po = berth_ps_default(RUN_MACHINES, RUN_KINDS, RUN_SLOTS, p.capacity);
    berth_pdors_options o = some_options(k);
    if (o.mode == BERTH_PDORS_EXACT) o.mode = BERTH_PDORS_REPAIRED;
    o.quanta = 5 + 4 * (k % 9);
    fill(&p, &rng);
    if (k % 6 == 5) p.job[k].moving = 0.2;
    berth_ps *ps = must_ps_new(&po, RUN_JOBS, p.job);
    play(ps, o);
  }
  printf("# %d admitted, %d refused\n", decided[1], decided[0]);
  CHECK(decided[1] > 100);
}
