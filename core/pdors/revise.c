/* Revised plans: whenever a job came, ended or is late, all jobs that are present are planned again
 * from that slot on, one after the other, each for what is left of it by the search of algorithm 2
 * at the prices of what was committed to those before it. A job without a plan waits.
 *
 * The order decides who gets what: jobs that are worth most for their share of the cluster come
 * first. A share is of each resource, weighted by the load of it: what all jobs so far would take.
 * What is left of a job that runs is less, so its density grows, and it is seldom displaced.
 * Nothing of the future is used. Jobs at the head of the order that are the same as in the last
 * revision, and on time, keep their plans; all do if jobs that came can be planned behind them and
 * no job loses by that against having the cluster alone.
 *
 * As long as the cluster is not overloaded (all work so far is less than it could do), the sum of
 * the planned utilities is what counts, not what they leave for jobs to come: the job that loses
 * most against its utility at best is planned first, and stays there if the sum is larger.
 *
 * O(jobs present) searches. Departs from the paper, where a plan and a refusal are final: the model
 * lets jobs be resized, moved and paused in every slot, so what was planned for later need not be
 * kept. The ratio that the paper guarantees is not proved for this. */
#include "base/sort_internal.h"
#include "pdors_internal.h"

berth_status berth_i_pdors_revision_init(berth_pdors *d) {
  berth_i_pdors_revision *v = &d->revision;
  size_t jobs = (size_t)berth_ps_jobs(d->ps);
  v->active = berth_i_pool_alloc(&d->pool, jobs, sizeof *v->active);
  v->present = berth_i_pool_alloc(&d->pool, jobs, sizeof *v->present);
  v->order = berth_i_pool_alloc(&d->pool, jobs, sizeof *v->order);
  v->rank = berth_i_pool_alloc(&d->pool, jobs, sizeof *v->rank);
  v->worth = berth_i_pool_zalloc(&d->pool, jobs, sizeof *v->worth);
  v->worth_before = berth_i_pool_alloc(&d->pool, jobs, sizeof *v->worth_before);
  v->copy.last = berth_i_pool_alloc(&d->pool, jobs, sizeof *v->copy.last);
  v->fastest = berth_i_pool_alloc(&d->pool, jobs, sizeof *v->fastest);
  for (size_t i = 0; v->fastest && i < jobs; i++) v->fastest[i] = NAN;
  return berth_i_pool_status(&d->pool);
}

/* ---- the order ---- */

/* Share of a resource, of the whole cluster in one slot, that so much work takes: on one machine if
 * it fits there. */
static double share_of(const berth_pdors *d, int32_t job, const berth_i_pdors_rates *r,
                       int32_t resource) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  double demand = j->worker[resource] + j->server[resource] / j->ratio;
  double slots = berth_ps_worker_slots(j, r->most_in > 0 ? j->inside : j->across);
  return demand > 0 ? demand * r->work * slots / d->family[0].capacity[resource] : 0;
}

/* @param r with the work that is left of it */
static berth_i_pdors_present present(const berth_pdors *d, int32_t job,
                                     const berth_i_pdors_rates *r, int32_t from) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  double last = from + ceil(r->work / r->most * (1 - 1e-12)) - 1, weighted = 0;
  for (int32_t k = 0; k < d->c.resources; k++)
    weighted += d->revision.load[k] * share_of(d, job, r, k);
  double best = berth_ps_utility(j, last - j->arrival);
  double density = weighted > 0 ? best / weighted : best > 0 ? INFINITY : 0;
  return (berth_i_pdors_present){ job, r->work, density, best };
}

BERTH_I_SORT(sort_by_density, berth_i_pdors_present, BERTH_I_DOWN(density) BERTH_I_UP(job))

berth_status berth_i_pdors_arrive(berth_pdors *d, berth_ps_run *r, int32_t job) {
  berth_i_pdors_rates rates;
  berth_status st = berth_i_pdors_planned_rates(d, job, &rates);
  if (st != BERTH_OK) return st;
  if (!berth_i_pdors_can_finish(d, &rates, berth_ps_job_at(d->ps, job)->arrival))
    return berth_ps_refuse(r, job, BERTH_I_PDORS_NO_SCHEDULE);
  for (int32_t k = 0; k < d->c.resources; k++)
    d->revision.load[k] += share_of(d, job, &rates, k);
  berth_i_pdors_note_job(d, job);
  d->revision.rank[job] = INT32_MAX;
  d->revision.due = true;
  return BERTH_OK;
}

/* ---- a revision ---- */

void berth_i_pdors_changed(berth_pdors *d, int32_t job) {
  berth_i_pdors_revision *v = &d->revision;
  v->due = true;
  if (v->rank[job] < v->keep) v->keep = v->rank[job];
}

/* Jobs that cannot be done in time any more leave. */
static berth_status list_present(berth_pdors *d, berth_ps_run *r, int32_t from) {
  berth_i_pdors_revision *v = &d->revision;
  int32_t n = berth_ps_run_active(r, berth_ps_jobs(d->ps), v->active);
  v->n = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t job = v->active[i];
    berth_i_pdors_rates rates;
    berth_status st = berth_i_pdors_planned_rates(d, job, &rates);
    if (st != BERTH_OK) return st;
    rates.work = berth_ps_run_left(r, job);
    if (berth_i_pdors_can_finish(d, &rates, from))
      v->present[v->n++] = present(d, job, &rates, from);
    else {
      berth_i_pdors_changed(d, job);
      berth_i_pdors_reclaim(d, job, from);
      if ((st = berth_ps_refuse(r, job, BERTH_I_PDORS_NO_SCHEDULE)) != BERTH_OK) return st;
    }
  }
  sort_by_density(v->present, (size_t)v->n);
  return BERTH_OK;
}

/* How many at the head of the order are those of the last one, less those that were done when they
 * were planned to be. */
static int32_t unchanged(const berth_pdors *d, const berth_ps_run *r) {
  const berth_i_pdors_revision *v = &d->revision;
  int32_t n = 0;
  for (int32_t i = 0; i < v->keep; i++) {
    if (!(berth_ps_run_left(r, v->order[i]) > 0)) continue;
    if (n == v->n || v->present[n].job != v->order[i]) break;
    n++;
  }
  return n;
}

static berth_status plan_one(berth_pdors *d, const berth_i_pdors_present *p, int32_t from) {
  berth_pdors_plan plan;
  d->last[p->job] = BERTH_NONE;
  berth_status st = berth_i_pdors_search_for(d, p->job, from, p->left, &plan);
  if (st == BERTH_OK && plan.admitted) st = berth_i_pdors_commit(d, p->job, &plan);
  if (st == BERTH_OK) d->revision.worth[p->job] = plan.admitted ? plan.utility : 0;
  return st;
}

/* Plans those in the order from there on. */
static berth_status plan_from(berth_pdors *d, int32_t first, int32_t from) {
  const berth_i_pdors_revision *v = &d->revision;
  berth_status st = BERTH_OK;
  if (first == 0) berth_i_pdors_clear(d, from);
  for (int32_t i = first; i < v->n; i++) berth_i_pdors_reclaim(d, v->present[i].job, from);
  for (int32_t i = first; i < v->n && st == BERTH_OK; i++) st = plan_one(d, &v->present[i], from);
  return st;
}

static void move(berth_i_pdors_present *p, int32_t from, int32_t to) {
  berth_i_pdors_present x = p[from];
  if (to < from) memmove(p + to + 1, p + to, (size_t)(from - to) * sizeof *p);
  else memmove(p + from, p + from + 1, (size_t)(to - from) * sizeof *p);
  p[to] = x;
}

/* @param best out, the sum of what each is worth at best @param lost out, where the job is that
 *        loses most against that; BERTH_NONE
 * @return utility of all plans */
static double utility_of(const berth_i_pdors_revision *v, double *best, int32_t *lost) {
  double sum = 0, most = 0;
  *best = 0;
  *lost = BERTH_NONE;
  for (int32_t i = 0; i < v->n; i++) {
    double worth = v->worth[v->present[i].job], loss = v->present[i].best - worth;
    sum += worth;
    *best += v->present[i].best;
    if (loss > most) most = loss, *lost = i;
  }
  return sum;
}

/* The work of all jobs so far is no more than the cluster could do by the end of the slot. */
static bool underloaded(const berth_pdors *d, int32_t slot) {
  for (int32_t k = 0; k < d->c.resources; k++)
    if (d->revision.load[k] > slot + 1) return false;
  return true;
}

/* Nothing to gain: plans are worth nearly what each job is worth at best. */
static bool settled(const berth_i_pdors_revision *v) {
  int32_t lost;
  double best, sum = utility_of(v, &best, &lost);
  return sum >= best * (1 - 1e-3);
}

/* Jobs without a plan behind those that have one, which keep it, if nobody loses by that. Not where
 * a job ended early, which leaves room that others can use, or is late. @param done out */
static berth_status add_plans(berth_pdors *d, int32_t from, bool *done) {
  berth_i_pdors_revision *v = &d->revision;
  berth_status st = BERTH_OK;
  /* 1. Those that have one: do they lose anything? */
  for (int32_t i = 0; i < v->n; i++) {
    const berth_i_pdors_present *p = &v->present[i];
    if (d->last[p->job] < from) v->worth[p->job] = p->best;
  }
  *done = v->keep == v->ordered && settled(v);
  /* 2. The others. */
  for (int32_t i = 0; i < v->n && st == BERTH_OK; i++) {
    const berth_i_pdors_present *p = &v->present[i];
    if (d->last[p->job] >= from) continue;
    v->worth[p->job] = 0;
    if (*done) st = plan_one(d, p, from);
  }
  *done = *done && settled(v);
  return st;
}

enum { MOST_MOVES = 2 };

/* The job that loses most goes first, if all plans together are worth more then. */
static berth_status improve(berth_pdors *d, int32_t from) {
  berth_i_pdors_revision *v = &d->revision;
  size_t jobs = (size_t)berth_ps_jobs(d->ps);
  int32_t lost;
  double best, sum = utility_of(v, &best, &lost);
  for (int32_t i = 0; i < MOST_MOVES && !settled(v) && lost > 0; i++) {
    int32_t at = lost;
    berth_status st = berth_i_pdors_save(d, from, &v->copy);
    if (st != BERTH_OK) return st;
    memcpy(v->worth_before, v->worth, jobs * sizeof *v->worth);
    move(v->present, at, 0);
    if ((st = plan_from(d, 0, from)) != BERTH_OK) return st;
    double now = utility_of(v, &best, &lost);
    if (!(now > sum * (1 + 1e-9))) {
      move(v->present, 0, at);
      memcpy(v->worth, v->worth_before, jobs * sizeof *v->worth);
      berth_i_pdors_restore(d, from, &v->copy);
      return BERTH_OK;
    }
    sum = now;
  }
  return BERTH_OK;
}

berth_status berth_i_pdors_revise(berth_pdors *d, berth_ps_run *r, int32_t from) {
  berth_i_pdors_revision *v = &d->revision;
  berth_status st = list_present(d, r, from);
  bool done = false;
  if (st == BERTH_OK) st = add_plans(d, from, &done);
  if (st == BERTH_OK && !done) st = plan_from(d, unchanged(d, r), from);
  if (st == BERTH_OK && !done && underloaded(d, from)) st = improve(d, from);
  if (st != BERTH_OK) return st;
  for (int32_t i = 0; i < v->n; i++) {
    v->order[i] = v->present[i].job;
    v->rank[v->order[i]] = i;
  }
  v->keep = v->ordered = v->n;
  v->due = false;
  return BERTH_OK;
}
