/* Refused allocations in PD-ORS, OASiS, certificates and the offline optimum. */
#include "pdors_help.h"
#include "refusals.h"

static berth_status run_of(berth_ps *ps, const berth_pdors_options *o) {
  berth_pdors *d = NULL;
  berth_ps_run *r = NULL;
  berth_status st = berth_pdors_new(ps, o, &d);
  if (st != BERTH_OK) return st;
  berth_ps_policy policy = berth_pdors_policy(d);
  if ((st = berth_ps_run_new(ps, &r)) == BERTH_OK) st = berth_ps_run_play(r, &policy);
  berth_pdors_certificate c;
  TRY(st, berth_pdors_certify(d, berth_ps_run_report(r).utility, 2, &c));
  RELEASE(r, d);
  return st;
}

static berth_status work(void) {
  berth_ps *ps = NULL;
  berth_rng rng = seeded(5, 2);
  small_problem p = random_problem(&rng, 3, 3, 4);
  berth_ps_options po = berth_ps_default(p.machines, p.resources, p.slots, p.capacity);
  berth_status st;
  if ((st = berth_ps_new(ctx, &po, p.jobs, p.job, &ps)) != BERTH_OK) return st;
  berth_pdors_options revised = berth_pdors_default();
  for (int32_t k = 0; k < 4 && st == BERTH_OK; k++) {
    berth_pdors_options o = some_options(k);
    st = run_of(ps, &o);
  }
  TRY(st, run_of(ps, &revised));
  berth_pdors_optimum best;
  TRY(st, berth_pdors_offline(ps, 100, &best, NULL));
  RELEASE(ps);
  po.comm = BERTH_PS_SHARED;
  ps = NULL;
  TRY(st, berth_ps_new(ctx, &po, p.jobs, p.job, &ps));
  TRY(st, run_of(ps, &revised));
  RELEASE(ps);
  return st;
}

TEST_REFUSALS(work)
