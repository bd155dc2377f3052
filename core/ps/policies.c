/* Schedulers of slots: creation, their form as a policy, and what they share: whether jobs have
 * changed, what stays in place, dominant shares, bundles. A scheduler's struct begins with
 * berth_ps_scheduler; its rules say how large it is. */
#include "policies_internal.h"

void berth_ps_scheduler_release(berth_ps_scheduler *s) {
  if (!s) return;
  berth_ps *p = s->ps;
  if (s->rules->release) s->rules->release(s);
  berth_i_pool_free(&s->pool);
  berth_ps_release(p);
}

berth_status berth_i_ps_scheduler_new(berth_ps *p, const berth_i_ps_rules *rules,
                                      berth_ps_scheduler **out) {
  berth_ps_scheduler *s = berth_i_pool_object(p->ctx, rules->size);
  if (!s) return berth_i_nomem(p->ctx);
  s->rules = rules;
  s->ps = p;
  s->ctx = p->ctx;
  berth_ps_retain(p);
  s->jobs = berth_i_pool_alloc(&s->pool, (size_t)p->n, sizeof *s->jobs);
  berth_status st = berth_i_ps_pack_init(&s->pack, &s->pool, p);
  for (int32_t m = 0; m < p->o.machines; m++)
    for (int32_t r = 0; r < p->o.resources; r++)
      s->total[r] += p->capacity[(size_t)m * (size_t)p->o.resources + (size_t)r];
  if (st == BERTH_OK) *out = s;
  else berth_ps_scheduler_release(s);
  return st;
}

/* ---- as a policy ---- */

static berth_status check_problem(const berth_ps_scheduler *s, const berth_ps_run *r) {
  if (berth_ps_run_problem(r) == s->ps) return BERTH_OK;
  return berth_i_fail(s->ctx, BERTH_EINVAL,
                      "ps: the scheduler was made for another problem than the run's");
}

static berth_status arrival(void *ud, berth_ps_run *r, int32_t job) {
  berth_ps_scheduler *s = ud;
  berth_status st = check_problem(s, r);
  if (st != BERTH_OK) return st;
  s->changed = true;
  return s->rules->arrival ? s->rules->arrival(s, r, job) : BERTH_OK;
}

static berth_status finish(void *ud, berth_ps_run *r, int32_t job) {
  (void)r, (void)job;
  ((berth_ps_scheduler *)ud)->changed = true;
  return BERTH_OK;
}

static berth_status slot(void *ud, berth_ps_run *r, int32_t number) {
  berth_ps_scheduler *s = ud;
  berth_status st = check_problem(s, r);
  (void)number;
  if (st != BERTH_OK) return st;
  s->n_jobs = berth_ps_run_active(r, s->ps->n, s->jobs);
  st = s->rules->slot(s, r);
  s->changed = false;
  return st;
}

berth_ps_policy berth_ps_scheduler_policy(berth_ps_scheduler *s) {
  return (berth_ps_policy){ arrival, finish, slot, s };
}

/* ---- jobs that go on as they are ---- */

bool berth_i_ps_runs(const berth_ps_run *r, int32_t job) {
  return r->at[job].r.state == BERTH_JOB_RUNNING;
}

void berth_i_ps_keep(berth_ps_scheduler *s, berth_ps_run *r, int32_t job) {
  berth_i_ps_stretch last = r->at[job].last;
  for (int32_t i = 0; i < last.n; i++)
    berth_i_ps_pack_put(&s->pack, job, &r->place[last.first + (size_t)i]);
}

berth_status berth_i_ps_keep_all(berth_ps_scheduler *s, berth_ps_run *r) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; st == BERTH_OK && i < s->n_jobs; i++) {
    if (!berth_i_ps_runs(r, s->jobs[i])) continue;
    int32_t n = berth_ps_run_places(r, s->jobs[i], s->ps->o.machines, s->pack.place);
    st = berth_ps_assign(r, s->jobs[i], n, s->pack.place);
  }
  return st;
}

/* ---- shares and bundles ---- */

double berth_i_ps_share(const berth_ps_scheduler *s, int32_t job, double workers, double servers) {
  const berth_ps_job *j = &s->ps->job[job];
  double most = 0;
  for (int32_t r = 0; r < s->ps->o.resources; r++) {
    double x = workers * j->worker[r] + servers * j->server[r];
    if (x > 0) most = fmax(most, x / s->total[r]);
  }
  return most;
}

berth_i_ps_bundle berth_i_ps_bundle_of(const berth_ps_job *j) {
  double whole = floor(j->ratio * (1 + 1e-12));
  berth_i_ps_bundle b = { 1, 1, 1 };
  if (whole >= 1) b.workers = whole < j->batch ? (int32_t)whole : j->batch;
  else b.servers = berth_i_ps_servers(j, 1);
  b.most = 1 + (j->batch - 1) / b.workers;
  return b;
}
