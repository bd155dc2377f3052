/* What each job has in a slot, and how that takes effect.
 *
 * Assignments of a slot are stretches of one array of places, written behind those before; the
 * cluster gets them only when the slot is committed, so that a job whose places are the same
 * runs on without a pause. Amounts in use are exact: where no job is left, all is free. */
#include "ps_internal.h"
#include "base/sort_internal.h"

static const berth_ps_place *places(const berth_ps_run *r, berth_i_ps_stretch s) {
  return r->place + s.first;
}
static size_t cell(const berth_ps_run *r, int32_t machine) {
  return (size_t)machine * (size_t)r->ps->o.resources;
}

/* ---- amounts of a slot ---- */

static void set_used(berth_ps_run *r, size_t at, double used) {
  r->used[at] = used;
  r->free_amount[at] = fmax(0, r->ps->capacity[at] - used);
}

/* Without a job on a machine exactly all is free, whatever was rounded on the way. */
static void give_back(berth_ps_run *r, int32_t job, berth_i_ps_stretch s) {
  for (int32_t i = 0; i < s.n; i++) {
    const berth_ps_place *p = &places(r, s)[i];
    bool last = --r->users[p->machine] == 0;
    for (int32_t k = 0; k < r->ps->o.resources; k++) {
      size_t at = cell(r, p->machine) + (size_t)k;
      set_used(r, at, last ? 0 : r->used[at] - berth_i_ps_demand(&r->ps->job[job], p, k));
    }
  }
}

static void drop(berth_ps_run *r, int32_t job) {
  berth_i_ps_state *s = &r->at[job];
  if (s->now.n == 0) return;
  give_back(r, job, s->now);
  s->now.n = 0;
  int32_t other = r->given[s->given] = r->given[--r->n_given];
  r->at[other].given = s->given;
}

void berth_i_ps_clear(berth_ps_run *r) {
  for (int32_t i = 0; i < r->n_given; i++) {
    give_back(r, r->given[i], r->at[r->given[i]].now);
    r->at[r->given[i]].now.n = 0;
  }
  r->n_given = 0;
}

/* ---- checks ---- */

static berth_status check_job(berth_ps_run *r, int32_t job, const char *what) {
  static const char *const names[] = { "has not arrived", "waits", "runs", "is done",
                                       "was refused" };
  if (job < 0 || job >= r->ps->n)
    return berth_i_fail(r->ctx, BERTH_EINVAL, "ps: %s: job %d does not exist: there are %d", what,
                        (int)job, (int)r->ps->n);
  if (!berth_i_ps_is_here(&r->at[job]))
    return berth_i_fail(r->ctx, BERTH_EINVAL, "ps: %s: job %d %s", what, (int)job,
                        names[r->at[job].r.state]);
  return BERTH_OK;
}

/* What the job itself was assigned there before does not count. `old` moves on along the old
 * places. */
static berth_status check_free(berth_ps_run *r, int32_t job, const berth_ps_place *p,
                               const berth_ps_place *old) {
  const berth_ps_job *j = &r->ps->job[job];
  for (int32_t k = 0; k < r->ps->o.resources; k++) {
    size_t at = cell(r, p->machine) + (size_t)k;
    double want = berth_i_ps_demand(j, p, k), capacity = r->ps->capacity[at];
    double used = r->used[at] - (old ? berth_i_ps_demand(j, old, k) : 0);
    if (used + want > capacity * (1 + BERTH_I_PS_TOLERANCE))
      return berth_i_fail(r->ctx, BERTH_EINFEASIBLE,
                          "ps: slot %d: job %d needs %g of resource %d on machine %d, where %g of "
                          "%g is left",
                          (int)r->slot, (int)job, want, (int)k, (int)p->machine,
                          fmax(0, capacity - used), capacity);
  }
  return BERTH_OK;
}

BERTH_I_SORT(sort_by_machine, berth_ps_place, BERTH_I_UP(machine))

/* ---- decisions ---- */

/* Writes them behind all others, where they do not count yet. */
static berth_status write_places(berth_ps_run *r, int32_t job, int32_t n, const berth_ps_place *p) {
  bool sorted = true;
  for (int32_t i = 0; i < n; i++) {
    if (p[i].machine < 0 || p[i].machine >= r->ps->o.machines)
      return berth_i_fail(r->ctx, BERTH_EINVAL,
                          "ps: job %d: machine %d does not exist: there are %d", (int)job,
                          (int)p[i].machine, (int)r->ps->o.machines);
    if (p[i].workers < 0 || p[i].servers < 0 || (p[i].workers == 0 && p[i].servers == 0))
      return berth_i_fail(r->ctx, BERTH_EINVAL,
                          "ps: job %d: machine %d: expected workers or servers, got %d and %d",
                          (int)job, (int)p[i].machine, (int)p[i].workers, (int)p[i].servers);
    sorted = sorted && (i == 0 || p[i].machine >= p[i - 1].machine);
  }
  berth_status st = BERTH_I_POOL_GROW(&r->pool, r->place, r->cap_places, r->n_places + (size_t)n);
  if (st != BERTH_OK) return st;
  berth_ps_place *to = r->place + r->n_places;
  if (n > 0) memcpy(to, p, (size_t)n * sizeof *to);
  if (!sorted) sort_by_machine(to, (size_t)n);
  const berth_ps_place *old = places(r, r->at[job].now), *end = old + r->at[job].now.n;
  st = BERTH_OK;
  for (int32_t i = 0; st == BERTH_OK && i < n; i++) {
    if (i > 0 && to[i].machine == to[i - 1].machine)
      return berth_i_fail(r->ctx, BERTH_EINVAL, "ps: job %d: machine %d is named twice", (int)job,
                          (int)to[i].machine);
    while (old < end && old->machine < to[i].machine) old++;
    st = check_free(r, job, &to[i], old < end && old->machine == to[i].machine ? old : NULL);
  }
  return st;
}

static bool same_places(const berth_ps_run *r, berth_i_ps_stretch a, berth_i_ps_stretch b) {
  return a.n == b.n
         && (a.first == b.first
             || memcmp(places(r, a), places(r, b), (size_t)a.n * sizeof(berth_ps_place)) == 0);
}

berth_status berth_ps_assign(berth_ps_run *r, int32_t job, int32_t n, const berth_ps_place *list) {
  if (!r) return BERTH_EINVAL;
  berth_status st = r->assigning ? check_job(r, job, "assign")
                                 : berth_i_fail(r->ctx, BERTH_EINVAL,
                                                "ps: assign: job %d: only in `slot`", (int)job);
  berth_i_ps_stretch s = { r->n_places, n };
  if (st == BERTH_OK && n < 0)
    st = berth_i_fail(r->ctx, BERTH_EINVAL, "ps: assign: job %d: expected 0 places or more, got %d",
                      (int)job, (int)n);
  if (st == BERTH_OK) st = write_places(r, job, n, list);
  if (st != BERTH_OK) return st;
  drop(r, job);
  if (n == 0) return BERTH_OK;
  if (same_places(r, s, r->at[job].last)) s = r->at[job].last;
  else r->n_places += (size_t)n;
  for (int32_t i = 0; i < s.n; i++) {
    const berth_ps_place *p = &places(r, s)[i];
    r->users[p->machine]++;
    for (int32_t k = 0; k < r->ps->o.resources; k++) {
      size_t at = cell(r, p->machine) + (size_t)k;
      set_used(r, at, r->used[at] + berth_i_ps_demand(&r->ps->job[job], p, k));
    }
  }
  r->at[job].now = s;
  r->at[job].given = r->n_given;
  r->given[r->n_given++] = job;
  return BERTH_OK;
}

berth_status berth_ps_refuse(berth_ps_run *r, int32_t job, int32_t cause) {
  if (!r) return BERTH_EINVAL;
  berth_status st = check_job(r, job, "refuse");
  if (st != BERTH_OK) return st;
  berth_i_ps_state *s = &r->at[job];
  s->r.left = berth_ps_run_left(r, job);
  if (s->r.state == BERTH_JOB_RUNNING) st = berth_cluster_pause(r->cluster, job);
  if (st == BERTH_OK) st = berth_cluster_refuse(r->cluster, job, cause);
  if (st != BERTH_OK) return st;
  drop(r, job);
  s->r.state = BERTH_JOB_REFUSED;
  s->r.cause = cause;
  return BERTH_OK;
}

/* ---- taking effect ---- */

/* So that the job ends when it should in this slot, or has the right work left after it, whatever
 * part of the slot is lost. The cluster has no rate of 0; the least number takes nothing off what
 * is left. */
static double rate_of(berth_ps_run *r, int32_t job) {
  berth_i_ps_state *s = &r->at[job];
  double speed = berth_ps_speed(r->ps, job, s->now.n, places(r, s->now)),
         left = berth_ps_run_left(r, job);
  double lost = fmin(1, s->owed), done = speed * (1 - lost), slot = r->ps->o.slot_seconds;
  s->owed -= lost;
  if (!(done > 0)) return 4.9e-324;
  if (left > done + BERTH_I_PS_TOLERANCE * berth_i_ps_work(&r->ps->job[job])) return done / slot;
  return left / (fmin(1, lost + left / speed) * slot);
}

static berth_status start(berth_ps_run *r, int32_t job, double rate) {
  berth_i_ps_stretch s = r->at[job].now;
  size_t resources = (size_t)r->ps->o.resources, n = (size_t)s.n;
  berth_status st = BERTH_I_POOL_GROW(&r->pool, r->machine, r->cap_machine, n);
  if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&r->pool, r->amount, r->cap_amount, n * resources);
  if (st != BERTH_OK) return st;
  for (size_t i = 0; i < n; i++) {
    r->machine[i] = places(r, s)[i].machine;
    for (size_t k = 0; k < resources; k++)
      r->amount[i * resources + k] =
          berth_i_ps_demand(&r->ps->job[job], &places(r, s)[i], (int32_t)k);
  }
  return berth_cluster_start(r->cluster, job, s.n, r->machine, r->amount, rate);
}

static berth_status run(berth_ps_run *r, int32_t job) {
  berth_i_ps_state *s = &r->at[job];
  const berth_ps_place *p = places(r, s->now);
  bool moves = s->last.n > 0 && s->now.first != s->last.first;
  s->r.moves += moves;
  if (moves) s->owed = r->ps->job[job].moving;
  double rate = rate_of(r, job);
  berth_status st = s->r.state == BERTH_JOB_RUNNING ? berth_cluster_set_rate(r->cluster, job, rate)
                                                    : start(r, job, rate);
  if (st != BERTH_OK) return st;
  s->r.state = BERTH_JOB_RUNNING;
  if (s->r.first == BERTH_NONE) s->r.first = r->slot;
  s->r.slots++;
  s->r.inside += s->now.n == 1;
  for (int32_t i = 0; i < s->now.n; i++) {
    s->r.worker_slots += p[i].workers;
    s->r.server_slots += p[i].servers;
    for (int32_t k = 0; k < r->ps->o.resources; k++)
      r->taken[k] += berth_i_ps_demand(&r->ps->job[job], &p[i], k);
  }
  r->entry[r->n_entries++] = (berth_i_ps_entry){ r->slot, job, s->now };
  s->last = s->now;
  return BERTH_OK;
}

berth_status berth_i_ps_commit(berth_ps_run *r) {
  size_t entries = r->n_entries + (size_t)r->n_given;
  berth_status st = BERTH_I_POOL_GROW(&r->pool, r->entry, r->cap_entries, entries);
  /* Jobs whose places change, or that have none, pause first. */
  for (int32_t i = 0; st == BERTH_OK && i < r->n_held; i++) {
    berth_i_ps_state *s = &r->at[r->held[i]];
    if (s->r.state != BERTH_JOB_RUNNING || (s->now.n > 0 && s->now.first == s->last.first))
      continue;
    st = berth_cluster_pause(r->cluster, r->held[i]);
    s->r.state = BERTH_JOB_WAITING;
  }
  berth_i_sort_ids(r->given, r->n_given);
  for (int32_t i = 0; st == BERTH_OK && i < r->n_given; i++) st = run(r, r->given[i]);
  if (st != BERTH_OK) return st;
  if (r->n_given > 0) memcpy(r->held, r->given, (size_t)r->n_given * sizeof *r->held);
  r->n_held = r->n_given;
  return BERTH_OK;
}
