/* A run: jobs are decided about as they arrive, and have in each slot what was committed to them
 * then. */
#include "pdors_internal.h"

enum { NO_SCHEDULE = 1, NO_PAYOFF = 2 };

static berth_status check_problem(const berth_pdors *d, const berth_ps_run *r) {
  berth_ps *p = berth_ps_run_problem(r);
  const berth_ps_options *o = berth_ps_options_of(p);
  if (p == d->ps) return BERTH_OK;
  if (berth_ps_jobs(p) == berth_ps_jobs(d->ps) && o->machines == d->c.machines
      && o->resources == d->c.resources && o->slots == d->c.slots)
    return BERTH_OK;
  return berth_i_fail(
      d->ctx, BERTH_EINVAL,
      "pdors: made for %d jobs, %d machines and %d slots; the run has %d, %d and %d",
      berth_ps_jobs(d->ps), d->c.machines, d->c.slots, berth_ps_jobs(p), o->machines, o->slots);
}

static berth_status arrival(void *ud, berth_ps_run *r, int32_t job) {
  berth_pdors *d = ud;
  berth_status st = check_problem(d, r);
  if (st != BERTH_OK) return st;
  berth_pdors_plan plan;
  if ((st = berth_pdors_admit(d, job, &plan)) != BERTH_OK || plan.admitted) return st;
  return berth_ps_refuse(r, job, isinf(plan.bound) ? NO_SCHEDULE : NO_PAYOFF);
}

static berth_status finish(void *ud, berth_ps_run *r, int32_t job) {
  berth_pdors *d = ud;
  if (d->o.reclaim) berth_i_pdors_reclaim(d, job, berth_ps_run_slot(r));
  return BERTH_OK;
}

/* What is left of late ones is planned as if it came now; what finds no place waits for another
 * slot. */
static berth_status plan_late(berth_pdors *d, const berth_ps_run *r, int32_t at) {
  int32_t kept = 0, n = d->n_late;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    int32_t job = d->late[i];
    berth_pdors_plan plan;
    if ((st = berth_i_pdors_search_for(d, job, at, berth_ps_run_left(r, job), &plan)) != BERTH_OK)
      break;
    if (plan.admitted) st = berth_i_pdors_commit(d, job, &plan);
    else d->late[kept++] = job;
  }
  d->n_late = kept;
  return st;
}

static berth_status assign(const berth_pdors *d, berth_ps_run *r, const berth_i_pdors_slot *s) {
  berth_ps_place *place = d->search.answer;
  berth_status st = BERTH_OK;
  size_t i = 0;
  while (i < s->n && st == BERTH_OK) {
    int32_t job = s->entry[i].job, n = 0;
    for (; i < s->n && s->entry[i].job == job; i++) place[n++] = s->entry[i].place;
    if (berth_ps_run_left(r, job) > 0) st = berth_ps_assign(r, job, n, place);
  }
  return st;
}

static berth_status slot(void *ud, berth_ps_run *r, int32_t at) {
  berth_pdors *d = ud;
  if (d->o.extend && at > 0) {
    /* Plans that ended with the slot before, too early. */
    const berth_i_pdors_slot *s = &d->slot[at - 1];
    for (size_t i = 0; i < s->n; i++) {
      int32_t job = s->entry[i].job;
      if ((i > 0 && s->entry[i - 1].job == job) || d->last[job] != at - 1) continue;
      if (berth_ps_run_left(r, job) > 0) d->late[d->n_late++] = job;
    }
    berth_status st;
    if ((st = plan_late(d, r, at)) != BERTH_OK) return st;
  }
  return assign(d, r, &d->slot[at]);
}

berth_ps_policy berth_pdors_policy(berth_pdors *d) {
  return (berth_ps_policy){ arrival, finish, slot, d };
}
