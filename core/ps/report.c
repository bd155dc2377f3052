/* Reading a run: what is active, left and assigned, the record of each job, the log of all
 * assignments, and sums over the run. */
#include "ps_internal.h"
#include "base/sort_internal.h"

int32_t berth_ps_run_slot(const berth_ps_run *r) { return r->slot; }
berth_ps *berth_ps_run_problem(const berth_ps_run *r) { return r->ps; }
const double *berth_ps_run_free(const berth_ps_run *r) { return r->free_amount; }

int32_t berth_ps_run_active(const berth_ps_run *r, int32_t capacity, int32_t *jobs) {
  int32_t n = 0;
  for (int32_t i = 0; i < r->n_active; i++) {
    int32_t j = r->active[i];
    if (!berth_i_ps_is_here(&r->at[j])) continue;
    r->active[n] = j;
    if (n++ < capacity) jobs[n - 1] = j;
  }
  ((berth_ps_run *)r)->n_active = n; /* only forgets those that are over */
  return n;
}

double berth_ps_run_left(const berth_ps_run *r, int32_t job) {
  berth_job_record x;
  if (job < 0 || job >= r->ps->n || berth_cluster_record(r->cluster, job, &x) != BERTH_OK)
    return NAN;
  return x.left;
}

int32_t berth_ps_run_places(const berth_ps_run *r, int32_t job, int32_t capacity,
                            berth_ps_place *places) {
  if (job < 0 || job >= r->ps->n) return 0;
  berth_i_ps_stretch last = r->at[job].last;
  for (int32_t i = 0; i < last.n && i < capacity; i++) places[i] = r->place[last.first + (size_t)i];
  return last.n;
}

/* ---- records and log ---- */

berth_status berth_ps_run_record(const berth_ps_run *r, int32_t job, berth_ps_record *out) {
  if (!r) return BERTH_EINVAL;
  if (job < 0 || job >= r->ps->n)
    return berth_i_fail(r->ctx, BERTH_EINVAL, "ps: job %d does not exist: there are %d", (int)job,
                        (int)r->ps->n);
  *out = r->at[job].r;
  if (berth_i_ps_is_here(&r->at[job])) out->left = berth_ps_run_left(r, job);
  return BERTH_OK;
}

size_t berth_ps_run_log(const berth_ps_run *r, size_t capacity, int32_t *slot, int32_t *job,
                        berth_ps_place *place) {
  size_t n = 0;
  for (size_t e = 0; e < r->n_entries; e++) {
    const berth_i_ps_entry *x = &r->entry[e];
    for (int32_t i = 0; i < x->at.n; i++, n++) {
      if (n >= capacity) continue;
      if (slot) slot[n] = x->slot;
      if (job) job[n] = x->job;
      if (place) place[n] = r->place[x->at.first + (size_t)i];
    }
  }
  return n;
}

/* ---- report ---- */

berth_ps_report berth_ps_run_report(const berth_ps_run *r) {
  const berth_ps *p = r->ps;
  berth_ps_report out = { 0 };
  double slots = 0, inside = 0, time = 0;
  for (int32_t j = 0; j < p->n; j++) {
    const berth_ps_record *x = &r->at[j].r;
    out.utility += x->utility;
    out.done += x->state == BERTH_JOB_DONE;
    out.refused += x->state == BERTH_JOB_REFUSED;
    out.unfinished += x->state != BERTH_JOB_DONE && x->state != BERTH_JOB_REFUSED;
    slots += x->slots;
    inside += x->inside;
    r->times[j] = x->state == BERTH_JOB_DONE ? x->end - p->job[j].arrival : p->o.slots;
    time += r->times[j];
  }
  out.training_mean = p->n > 0 ? time / p->n : NAN;
  berth_i_sort_numbers(r->times, p->n);
  out.training_median = p->n > 0 ? (r->times[p->n / 2] + r->times[(p->n - 1) / 2]) / 2 : NAN;
  out.inside = slots > 0 ? inside / slots : 0;
  for (int32_t k = 0; k < p->o.resources; k++) {
    double all = 0;
    for (int32_t m = 0; m < p->o.machines; m++)
      all += p->capacity[(size_t)m * (size_t)p->o.resources + (size_t)k];
    all *= p->o.slots;
    out.used[k] = all > 0 ? r->taken[k] / all : 0;
  }
  return out;
}
