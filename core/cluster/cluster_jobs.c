/* Decisions about jobs, and what is held.
 *
 * Invariants: a machine without jobs has exactly its capacity free; waiting jobs are a doubly
 * linked list by number; running ones are in a heap by their ends. Time that a job ran and held is
 * counted whenever its state changes. */
#include "cluster_internal.h"
#include "base/sort_internal.h"

static berth_status check(berth_cluster *c, int32_t job, berth_job_state state, const char *what) {
  static const char *const names[] = { "has not arrived", "waits", "runs", "is done",
                                       "was refused" };
  if (job < 0 || job >= c->n)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "cluster: %s: job %d does not exist: there are %d",
                        what, (int)job, (int)c->n);
  if (c->at[job].r.state != state)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "cluster: %s: job %d %s", what, (int)job,
                        names[c->at[job].r.state]);
  return BERTH_OK;
}

static berth_status check_rate(berth_cluster *c, int32_t job, double rate) {
  if (rate > 0 && isfinite(rate)) return BERTH_OK;
  return berth_i_fail(c->ctx, BERTH_EINVAL,
                      "cluster: job %d: rate: expected a finite number above 0, got %g", (int)job,
                      rate);
}

/* ---- what is held ---- */

static double *amounts(const berth_cluster *c, int32_t hold) {
  return c->amount + (size_t)hold * (size_t)c->o.resources;
}
static double *cell(double *table, const berth_cluster *c, int32_t machine) {
  return table + (size_t)machine * (size_t)c->o.resources;
}

/* The largest share of any resource of a machine. */
static double share(const berth_cluster *c, int32_t machine, const double *amount) {
  const double *capacity = cell(c->capacity, c, machine);
  double most = 0;
  for (int32_t r = 0; r < c->o.resources; r++)
    if (capacity[r] > 0) most = fmax(most, amount[r] / capacity[r]);
  return most;
}

/* Up to now. */
static void count_time(const berth_cluster *c, berth_i_cluster_job *j) {
  j->r.held += j->share * (c->now - j->since);
  j->r.ran += c->now - j->since;
  j->since = c->now;
}

void berth_i_cluster_give_back(berth_cluster *c, int32_t job) {
  berth_i_cluster_job *j = &c->at[job];
  count_time(c, j);
  for (int32_t h = j->hold, next; h != BERTH_NONE; h = next) {
    double *free_amount = cell(c->free_amount, c, c->hold[h].machine),
           *capacity = cell(c->capacity, c, c->hold[h].machine);
    bool last = --c->users[c->hold[h].machine] == 0;
    /* no job is there: exactly all is free, whatever was rounded on the way */
    for (int32_t r = 0; r < c->o.resources; r++)
      free_amount[r] = last ? capacity[r] : fmin(capacity[r], free_amount[r] + amounts(c, h)[r]);
    c->used_machines -= last;
    next = c->hold[h].next;
    c->hold[h].next = c->free_hold;
    c->free_hold = h;
    c->n_free_holds++;
  }
  j->hold = BERTH_NONE;
  c->used_share = c->used_machines > 0 ? c->used_share - j->share : 0;
  j->share = 0;
}

static int32_t get_hold(berth_cluster *c) {
  int32_t h = c->free_hold;
  if (h == BERTH_NONE) return c->n_holds++;
  c->free_hold = c->hold[h].next;
  c->n_free_holds--;
  return h;
}

static double wanted(const berth_cluster *c, int32_t machine, const double *amount, int32_t place,
                     int32_t r) {
  return amount ? amount[(size_t)place * (size_t)c->o.resources + (size_t)r]
                : cell(c->capacity, c, machine)[r];
}

static berth_status check_place(berth_cluster *c, int32_t job, int32_t machine,
                                const double *amount, int32_t place) {
  if (machine < 0 || machine >= c->o.machines)
    return berth_i_fail(c->ctx, BERTH_EINVAL,
                        "cluster: job %d: machine %d does not exist: there are %d", (int)job,
                        (int)machine, (int)c->o.machines);
  if (c->named[machine] == c->starts)
    return berth_i_fail(c->ctx, BERTH_EINVAL, "cluster: job %d: machine %d is named twice",
                        (int)job, (int)machine);
  c->named[machine] = c->starts;
  for (int32_t r = 0; r < c->o.resources; r++) {
    double x = wanted(c, machine, amount, place, r);
    if (!(x >= 0) || isinf(x))
      return berth_i_fail(c->ctx, BERTH_EINVAL,
                          "cluster: job %d: amount of resource %d on machine %d: expected a "
                          "finite number not below 0, got %g",
                          (int)job, (int)r, (int)machine, x);
    double left = cell(c->free_amount, c, machine)[r];
    /* amounts that were added up and taken apart may be off by rounding */
    if (x > left + 1e-9 * cell(c->capacity, c, machine)[r])
      return berth_i_fail(c->ctx, BERTH_EINFEASIBLE,
                          "cluster: job %d needs %g of resource %d on machine %d, where %g is left",
                          (int)job, x, (int)r, (int)machine, left);
  }
  return BERTH_OK;
}

static void take(berth_cluster *c, berth_i_cluster_job *j, int32_t hold, int32_t machine,
                 const double *amount, int32_t place) {
  c->hold[hold] = (berth_i_hold){ machine, j->hold };
  j->hold = hold;
  for (int32_t r = 0; r < c->o.resources; r++) {
    double x = wanted(c, machine, amount, place, r),
           *free_amount = &cell(c->free_amount, c, machine)[r];
    amounts(c, hold)[r] = x;
    *free_amount = fmax(0, *free_amount - x);
  }
  c->used_machines += c->users[machine]++ == 0;
  j->share += share(c, machine, amounts(c, hold));
}

/* ---- waiting jobs ---- */

static int32_t *after(berth_cluster *c, int32_t job) {
  return job == BERTH_NONE ? &c->first_waiting : &c->at[job].after;
}
static int32_t *before(berth_cluster *c, int32_t job) {
  return job == BERTH_NONE ? &c->last_waiting : &c->at[job].before;
}

/* Its place is sought from the end of the list and among the numbers above it, whichever is found
 * first. */
void berth_i_cluster_enter(berth_cluster *c, int32_t job) {
  int32_t left = c->last_waiting, right = job + 1;
  while (left > job && c->at[right].r.state != BERTH_JOB_WAITING)
    left = c->at[left].before, right++;
  if (left > job) left = c->at[right].before;
  right = *after(c, left);
  c->at[job].r.state = BERTH_JOB_WAITING;
  c->at[job].before = left;
  c->at[job].after = right;
  *after(c, left) = *before(c, right) = job;
}

static void leave(berth_cluster *c, int32_t job) {
  const berth_i_cluster_job *j = &c->at[job];
  *after(c, j->before) = j->after;
  *before(c, j->after) = j->before;
}

/* ---- decisions ---- */

/* Brings what is left of a running job up to now. */
static void update_served(berth_cluster *c, int32_t job) {
  berth_i_cluster_job *j = &c->at[job];
  j->r.left = fmax(0, j->r.left - j->r.rate * (c->now - j->since));
  count_time(c, j);
}

static void run(berth_cluster *c, int32_t job, double rate) {
  berth_i_cluster_job *j = &c->at[job];
  j->r.rate = rate;
  berth_i_heap_push(&c->ends, job, c->now + j->r.left / rate);
}

berth_status berth_cluster_start(berth_cluster *c, int32_t job, int32_t n, const int32_t *machine,
                                 const double *amount, double rate) {
  if (!c) return BERTH_EINVAL;
  berth_status st =
      c->over ? berth_i_fail(c->ctx, BERTH_EINVAL, "cluster: start: job %d: it is over", (int)job)
              : check(c, job, BERTH_JOB_WAITING, "start");
  if (st == BERTH_OK) st = check_rate(c, job, rate);
  if (st == BERTH_OK && n < 1)
    st = berth_i_fail(c->ctx, BERTH_EINVAL,
                      "cluster: start: job %d on %d machines: expected at least 1", (int)job,
                      (int)n);
  c->starts += st == BERTH_OK; /* a stamp, by which machines named twice are found */
  for (int32_t i = 0; i < n && st == BERTH_OK; i++)
    st = check_place(c, job, machine[i], amount, i);
  /* Space for n more places. */
  size_t need = (size_t)c->n_holds + (size_t)(n > c->n_free_holds ? n - c->n_free_holds : 0);
  if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&c->pool, c->hold, c->cap_hold, need);
  if (st == BERTH_OK)
    st = BERTH_I_POOL_GROW(&c->pool, c->amount, c->cap_amount, need * (size_t)c->o.resources);
  if (st != BERTH_OK) return st;
  leave(c, job);
  /* The last place first, so that lists are in the order given. */
  berth_i_cluster_job *j = &c->at[job];
  j->since = c->now;
  for (int32_t i = n - 1; i >= 0; i--) take(c, j, get_hold(c), machine[i], amount, i);
  c->used_share += j->share;
  c->at[job].r.state = BERTH_JOB_RUNNING;
  if (isnan(c->at[job].r.start)) c->at[job].r.start = c->now;
  run(c, job, rate);
  return BERTH_OK;
}

berth_status berth_cluster_set_rate(berth_cluster *c, int32_t job, double rate) {
  if (!c) return BERTH_EINVAL;
  berth_status st = check(c, job, BERTH_JOB_RUNNING, "set_rate");
  if (st == BERTH_OK) st = check_rate(c, job, rate);
  if (st != BERTH_OK || rate == c->at[job].r.rate) return st; /* as it is: not even rounded again */
  update_served(c, job);
  run(c, job, rate);
  return BERTH_OK;
}

berth_status berth_cluster_pause(berth_cluster *c, int32_t job) {
  if (!c) return BERTH_EINVAL;
  berth_status st = check(c, job, BERTH_JOB_RUNNING, "pause");
  if (st != BERTH_OK) return st;
  berth_i_cluster_job *j = &c->at[job];
  update_served(c, job);
  berth_i_heap_remove(&c->ends, job);
  berth_i_cluster_give_back(c, job);
  berth_i_cluster_enter(c, job);
  j->r.rate = 0;
  j->r.pauses++;
  return BERTH_OK;
}

berth_status berth_cluster_refuse(berth_cluster *c, int32_t job, int32_t cause) {
  if (!c) return BERTH_EINVAL;
  berth_status st = check(c, job, BERTH_JOB_WAITING, "refuse");
  if (st != BERTH_OK) return st;
  leave(c, job);
  c->at[job].r.state = BERTH_JOB_REFUSED;
  c->at[job].r.end = c->now;
  c->at[job].r.cause = cause;
  c->sum.refused++;
  return BERTH_OK;
}

berth_status berth_cluster_wake(berth_cluster *c, double time) {
  if (!c) return BERTH_EINVAL;
  if (!(time >= c->now))
    return berth_i_fail(c->ctx, BERTH_EINVAL, "cluster: wake at %g s: it is %g s", time, c->now);
  c->wake_at = time;
  return BERTH_OK;
}

/* ---- what is ---- */

double berth_cluster_now(const berth_cluster *c) { return c->now; }
int32_t berth_cluster_jobs(const berth_cluster *c) { return c->n; }
int32_t berth_cluster_machines(const berth_cluster *c) { return c->o.machines; }
int32_t berth_cluster_resources(const berth_cluster *c) { return c->o.resources; }
double berth_cluster_slot(const berth_cluster *c) { return c->o.slot; }
const double *berth_cluster_free(const berth_cluster *c) { return c->free_amount; }
const double *berth_cluster_capacity(const berth_cluster *c) { return c->capacity; }
const int32_t *berth_cluster_users(const berth_cluster *c) { return c->users; }

static berth_status check_id(const berth_cluster *c, int32_t job) {
  if (job >= 0 && job < c->n) return BERTH_OK;
  return berth_i_fail(c->ctx, BERTH_EINVAL, "cluster: job %d does not exist: there are %d",
                      (int)job, (int)c->n);
}

berth_status berth_cluster_job(const berth_cluster *c, int32_t job, berth_job *out) {
  if (!c) return BERTH_EINVAL;
  berth_status st = check_id(c, job);
  if (st == BERTH_OK) *out = c->job[job];
  return st;
}

berth_status berth_cluster_record(const berth_cluster *c, int32_t job, berth_job_record *out) {
  if (!c) return BERTH_EINVAL;
  berth_status st = check_id(c, job);
  if (st != BERTH_OK) return st;
  *out = c->at[job].r;
  if (out->state == BERTH_JOB_RUNNING) {
    double span = c->now - c->at[job].since;
    out->held += c->at[job].share * span;
    out->ran += span;
    out->left = fmax(0, out->left - out->rate * span);
  }
  return BERTH_OK;
}

int32_t berth_cluster_waiting(const berth_cluster *c, int32_t capacity, int32_t *jobs) {
  int32_t n = 0;
  for (int32_t j = c->first_waiting; j != BERTH_NONE && n < capacity; j = c->at[j].after)
    jobs[n++] = j;
  return c->sum.arrived - c->sum.done - c->sum.refused - c->ends.n;
}

double berth_cluster_end_of(const berth_cluster *c, int32_t job) {
  if (job < 0 || job >= c->n || c->ends.slot[job] < 0) return INFINITY;
  return c->ends.at[c->ends.slot[job]].key;
}

BERTH_I_SORT(sort_ends, berth_i_heap_entry, BERTH_I_UP(key) BERTH_I_UP(item))

/* A copy of the heap's array, sorted, is a heap as well: so the array itself may be sorted. */
int32_t berth_cluster_running(const berth_cluster *c, int32_t capacity, int32_t *jobs) {
  const berth_i_heap *h = &c->ends;
  sort_ends(h->at, (size_t)h->n);
  for (int32_t i = 0; i < h->n; i++) h->slot[h->at[i].item] = i;
  for (int32_t i = 0; i < h->n && i < capacity; i++) jobs[i] = h->at[i].item;
  return h->n;
}

int32_t berth_cluster_places(const berth_cluster *c, int32_t job, int32_t capacity,
                             int32_t *machine, double *amount) {
  int32_t n = 0;
  if (job < 0 || job >= c->n) return 0;
  for (int32_t h = c->at[job].hold; h != BERTH_NONE; h = c->hold[h].next, n++) {
    if (n >= capacity) continue;
    if (machine) machine[n] = c->hold[h].machine;
    if (amount)
      memcpy(amount + (size_t)n * (size_t)c->o.resources, amounts(c, h),
             (size_t)c->o.resources * sizeof *amount);
  }
  return n;
}

berth_cluster_summary berth_cluster_summarise(const berth_cluster *c) {
  berth_cluster_summary s = c->sum;
  s.time = c->now;
  s.running = c->ends.n;
  s.waiting = berth_cluster_waiting(c, 0, NULL);
  return s;
}
