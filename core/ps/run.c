/* Runs: a policy as a scheduler of the cluster, and what happens in each slot. Order within a
 * slot: ends of the slot before are reported, arrivals are reported, the policy assigns, the
 * assignment takes effect (assign.c). A run goes on to the slot after the last, so that ends in it
 * are counted. */
#include "ps_internal.h"

/* ---- life ---- */

static size_t cells(const berth_ps_run *r) {
  return (size_t)r->ps->o.machines * (size_t)r->ps->o.resources;
}

void berth_ps_run_release(berth_ps_run *r) {
  if (!r) return;
  berth_ps *p = r->ps;
  berth_cluster_release(r->cluster);
  berth_i_pool_free(&r->pool);
  berth_ps_release(p);
}

static berth_status get_arrays(berth_ps_run *r) {
  size_t n = (size_t)r->ps->n;
  r->at = berth_i_pool_zalloc(&r->pool, n, sizeof *r->at);
  r->active = berth_i_pool_alloc(&r->pool, n, sizeof *r->active);
  r->ended = berth_i_pool_alloc(&r->pool, n, sizeof *r->ended);
  r->held = berth_i_pool_alloc(&r->pool, n, sizeof *r->held);
  r->given = berth_i_pool_alloc(&r->pool, n, sizeof *r->given);
  r->times = berth_i_pool_alloc(&r->pool, n, sizeof *r->times);
  r->used = berth_i_pool_zalloc(&r->pool, cells(r), sizeof *r->used);
  r->free_amount = berth_i_pool_alloc(&r->pool, cells(r), sizeof *r->free_amount);
  r->users = berth_i_pool_zalloc(&r->pool, (size_t)r->ps->o.machines, sizeof *r->users);
  return berth_i_pool_status(&r->pool);
}

/* Its capacities are larger by the tolerance, its own comes on top: it never refuses what this file
 * allowed. It goes on to the slot after the last, before which come the ends that are due. */
static berth_status make_cluster(berth_ps_run *r) {
  const berth_ps *p = r->ps;
  berth_cluster_options o = berth_cluster_default(p->o.machines);
  berth_i_pool scratch = berth_i_pool_empty(r->ctx);
  berth_job *list = berth_i_pool_alloc(&scratch, (size_t)p->n, sizeof *list);
  double *capacity = berth_i_pool_alloc(&scratch, cells(r), sizeof *capacity);
  berth_status st = berth_i_pool_status(&scratch);
  for (int32_t j = 0; st == BERTH_OK && j < p->n; j++)
    list[j] = (berth_job){ p->job[j].arrival * p->o.slot_seconds, berth_i_ps_work(&p->job[j]),
                           INFINITY, 0 };
  for (size_t i = 0; st == BERTH_OK && i < cells(r); i++)
    capacity[i] = p->capacity[i] * (1 + BERTH_I_PS_TOLERANCE);
  o.resources = p->o.resources;
  o.capacity = capacity;
  o.slot = p->o.slot_seconds;
  o.slack = BERTH_I_PS_TOLERANCE * p->o.slot_seconds;
  if (st == BERTH_OK) st = berth_cluster_new(r->ctx, &o, p->n, list, &r->cluster);
  berth_i_pool_free(&scratch);
  return st;
}

berth_status berth_ps_run_new(berth_ps *p, berth_ps_run **out) {
  if (!p || !out) return BERTH_EINVAL;
  berth_ps_run *r = berth_i_pool_object(p->ctx, sizeof *r);
  if (!r) return berth_i_nomem(p->ctx);
  r->ps = p;
  r->ctx = p->ctx;
  berth_ps_retain(p);
  berth_status st;
  if ((st = get_arrays(r)) == BERTH_OK) st = make_cluster(r);
  if (st != BERTH_OK) {
    berth_ps_run_release(r);
    return st;
  }
  r->slot = BERTH_NONE;
  memcpy(r->free_amount, r->ps->capacity, cells(r) * sizeof *r->free_amount);
  for (int32_t j = 0; j < r->ps->n; j++) {
    berth_ps_record *x = &r->at[j].r;
    x->first = x->done = BERTH_NONE;
    x->end = NAN;
    x->left = berth_i_ps_work(&r->ps->job[j]);
  }
  *out = r;
  return BERTH_OK;
}

/* ---- slots ---- */

static berth_status report_ends(berth_ps_run *r) {
  const berth_ps_policy *policy = r->policy;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; policy->finish && st == BERTH_OK && i < r->n_ended; i++)
    st = policy->finish(policy->ud, r, r->ended[i]);
  r->n_ended = 0;
  return st;
}

/* Once per slot: after the last arrival in it, as the cluster has arrivals after its slots. No job
 * ends between them. */
static berth_status assign(berth_ps_run *r) {
  berth_status st = BERTH_OK;
  if (berth_cluster_upcoming(r->cluster) <= berth_cluster_now(r->cluster)) return BERTH_OK;
  r->assigning = true;
  if (r->policy->slot) st = r->policy->slot(r->policy->ud, r, r->slot);
  r->assigning = false;
  return st == BERTH_OK ? berth_i_ps_commit(r) : st;
}

/* ---- as a scheduler of the cluster ---- */

/* After an error the run is over; after an interrupt between events it is not. */
static berth_status report_failure(berth_ps_run *r, berth_status st) {
  r->over = r->over || st != BERTH_OK;
  return st;
}

static berth_status on_arrival(void *ud, berth_cluster *c, int32_t job) {
  berth_ps_run *r = ud;
  berth_status st = BERTH_OK;
  (void)c;
  r->at[job].r.state = BERTH_JOB_WAITING;
  r->active[r->n_active++] = job;
  if (r->policy->arrival) st = r->policy->arrival(r->policy->ud, r, job);
  return report_failure(r, st == BERTH_OK ? assign(r) : st);
}

static berth_status on_slot(void *ud, berth_cluster *c) {
  berth_ps_run *r = ud;
  r->slot++;
  berth_i_ps_clear(r);
  berth_status st = report_ends(r);
  if (r->slot >= r->ps->o.slots) berth_cluster_stop(c);
  else if (st == BERTH_OK) st = assign(r);
  return report_failure(r, st);
}

static berth_status on_end(void *ud, berth_cluster *c, int32_t job) {
  berth_ps_run *r = ud;
  berth_ps_record *x = &r->at[job].r;
  const berth_ps_job *j = &r->ps->job[job];
  x->state = BERTH_JOB_DONE;
  x->done = r->slot;
  x->end = berth_cluster_now(c) / r->ps->o.slot_seconds;
  x->left = 0;
  x->utility = berth_ps_utility(j, r->slot - j->arrival);
  r->ended[r->n_ended++] = job;
  return BERTH_OK;
}

berth_status berth_ps_run_play(berth_ps_run *r, const berth_ps_policy *policy) {
  if (!r) return BERTH_EINVAL;
  berth_scheduler s = { on_arrival, on_end, on_slot, NULL, r };
  if (r->policy || r->over)
    return berth_i_fail(r->ctx, BERTH_EINVAL, "ps: play: the run %s",
                        r->over ? "is over" : "is being played");
  r->policy = policy;
  berth_status st;
  if ((st = berth_cluster_run(r->cluster, &s)) == BERTH_OK) {
    /* The last slot is over, or there is no job, nor one to come. */
    r->over = true;
    r->slot += r->n_ended > 0;
    berth_i_ps_clear(r);
    st = report_ends(r);
  }
  r->policy = NULL;
  return st;
}
