/* A cluster, its clock and events: arrivals in order of the jobs, ends by a heap, slots and wakes.
 * At one time ends come first (up to the slack), then wakes, slots, arrivals; a scheduler decides
 * within these events. Sums over time are kept up whenever the clock moves. O(log jobs) an event,
 * besides what the scheduler does. */
#include "cluster_internal.h"

berth_cluster_options berth_cluster_default(int32_t machines) {
  return (berth_cluster_options){ machines, 1, NULL, INFINITY, 0, 0 };
}

static void set_defaults(void *out) { *(berth_cluster_options *)out = berth_cluster_default(1); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_cluster_options, name, kind)

const berth_option_table *berth_cluster_option_table(void) {
  static const berth_option options[] = {
    { FIELD(machines, WHOLE), .low = 1, .high = 1 << 20, .fallback = "required",
      .text = "how many machines" },
    { FIELD(resources, WHOLE), .low = 1, .high = 1024 },
    { FIELD(capacity, OTHER), .takes = "number or array", .fallback = "1",
      .text = "of each machine: a number, an array with one per resource, or an array of these "
              "with one per machine" },
    { FIELD(horizon, QUANTITY), .unit = BERTH_SECONDS, .high = INFINITY, .fallback = "none",
      .text = "nothing happens from then on" },
    { FIELD(slot, QUANTITY), .unit = BERTH_SECONDS, .fallback = "none",
      .text = "time between slots, the first at 0" },
    { FIELD(slack, QUANTITY), .unit = BERTH_SECONDS,
      .text = "an end so little after another event comes before it" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("cluster", options, berth_cluster_options, set_defaults);
}

/* ---- checks ---- */

static berth_status check_options(berth_ctx *ctx, const berth_cluster_options *o) {
  berth_status st = berth_options_check(ctx, berth_cluster_option_table(), o);
  if (st != BERTH_OK) return st;
  for (size_t i = 0; o->capacity && i < (size_t)o->machines * (size_t)o->resources; i++)
    if (!(o->capacity[i] >= 0) || isinf(o->capacity[i]))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "cluster: capacity of machine %d, resource %d: expected a finite number "
                          "not below 0, got %g",
                          (int)(i / (size_t)o->resources), (int)(i % (size_t)o->resources),
                          o->capacity[i]);
  return BERTH_OK;
}

static berth_status check_jobs(berth_ctx *ctx, int32_t n, const berth_job *jobs) {
  for (int32_t j = 0; j < n; j++) {
    if (!(jobs[j].arrival >= 0) || isinf(jobs[j].arrival))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "cluster: job %d: arrival: expected a finite time not below 0, got %g",
                          (int)j, jobs[j].arrival);
    if (!(jobs[j].work >= 0) || isinf(jobs[j].work))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "cluster: job %d: work: expected a finite number not below 0, got %g",
                          (int)j, jobs[j].work);
    if (!(jobs[j].deadline >= 0))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "cluster: job %d: deadline: expected a time not below 0, got %g", (int)j,
                          jobs[j].deadline);
    if (j > 0 && jobs[j].arrival < jobs[j - 1].arrival)
      return berth_i_fail(
          ctx, BERTH_EINVAL,
          "cluster: job %d arrives at %g s, before job %d (%g s): sort jobs by arrival", (int)j,
          jobs[j].arrival, (int)j - 1, jobs[j - 1].arrival);
  }
  return BERTH_OK;
}

/* ---- life ---- */

static size_t cells(const berth_cluster *c) {
  return (size_t)c->o.machines * (size_t)c->o.resources;
}

void berth_cluster_release(berth_cluster *c) {
  if (!c) return;
  berth_ctx *ctx = c->ctx;
  berth_i_heap_release(ctx, &c->ends);
  berth_i_pool_free(&c->pool);
  berth_ctx_release(ctx);
}

static berth_status get_arrays(berth_cluster *c) {
  size_t machines = (size_t)c->o.machines, n = (size_t)c->n;
  c->capacity = berth_i_pool_alloc(&c->pool, cells(c), sizeof *c->capacity);
  c->free_amount = berth_i_pool_alloc(&c->pool, cells(c), sizeof *c->free_amount);
  c->users = berth_i_pool_zalloc(&c->pool, machines, sizeof *c->users);
  c->named = berth_i_pool_zalloc(&c->pool, machines, sizeof *c->named);
  c->job = berth_i_pool_alloc(&c->pool, n, sizeof *c->job);
  c->at = berth_i_pool_alloc(&c->pool, n, sizeof *c->at);
  berth_status st;
  if ((st = berth_i_pool_status(&c->pool)) != BERTH_OK) return st;
  return berth_i_heap_init(c->ctx, &c->ends, c->n, n);
}

berth_status berth_cluster_new(berth_ctx *ctx, const berth_cluster_options *opts, int32_t n,
                               const berth_job *jobs, berth_cluster **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_cluster_options o = *opts;
  berth_status st = check_options(ctx, &o);
  if (st == BERTH_OK)
    st = n < 0
             ? berth_i_fail(ctx, BERTH_EINVAL, "cluster: jobs: expected at least 0, got %d", (int)n)
             : check_jobs(ctx, n, jobs);
  if (st != BERTH_OK) return st;
  berth_cluster *c;
  if (!(c = berth_i_pool_object(ctx, sizeof *c))) return berth_i_nomem(ctx);
  c->ctx = ctx;
  c->o = o;
  c->n = n;
  berth_ctx_retain(ctx);
  if ((st = get_arrays(c)) == BERTH_OK) {
    for (size_t i = 0; i < cells(c); i++)
      c->capacity[i] = c->free_amount[i] = c->o.capacity ? c->o.capacity[i] : 1;
    for (int32_t j = 0; j < c->n; j++) {
      c->job[j] = jobs[j];
      c->at[j] =
          (berth_i_cluster_job){ .r = { BERTH_JOB_COMING, NAN, NAN, jobs[j].work, 0, 0, 0, 0, 0 },
                                 .hold = BERTH_NONE };
    }
    c->o.capacity = NULL;
    c->free_hold = c->first_waiting = c->last_waiting = BERTH_NONE;
    c->slot_at = c->o.slot > 0 ? 0 : INFINITY;
    c->wake_at = INFINITY;
    *out = c;
  } else {
    berth_cluster_release(c);
  }
  return st;
}

/* ---- time ---- */

void berth_i_cluster_advance(berth_cluster *c, double time) {
  double span = time - c->now;
  if (!(span > 0)) return;
  c->sum.running_seconds += span * c->ends.n;
  c->sum.machine_seconds += span * c->used_machines;
  c->sum.share_seconds += span * c->used_share;
  c->now = time;
}

static berth_cluster_event event(berth_cluster *c, berth_cluster_event_kind kind, double time,
                                 int32_t job) {
  berth_i_cluster_advance(c, time);
  return (berth_cluster_event){ kind, c->now, job };
}

/* What may come next, by kind; INFINITY: it does not. */
typedef struct upcoming {
  double end, slot, arrival, other; /* other: the first that is no end */
} upcoming;

static upcoming upcoming_of(const berth_cluster *c) {
  upcoming u = { c->ends.n > 0 ? c->ends.at[0].key : INFINITY, INFINITY, INFINITY, 0 };
  /* slots go on as long as there are jobs, or are to come */
  if (c->next_arrival < c->n || c->ends.n > 0 || c->sum.arrived > c->sum.done + c->sum.refused)
    u.slot = c->slot_at;
  if (c->next_arrival < c->n) u.arrival = c->job[c->next_arrival].arrival;
  u.other = fmin(fmin(u.arrival, u.slot), c->wake_at);
  return u;
}

static bool is_over(const berth_cluster *c, const upcoming *u) {
  return c->over || (isinf(u->end) && isinf(u->other)) || fmin(u->end, u->other) >= c->o.horizon;
}

double berth_cluster_upcoming(const berth_cluster *c) {
  upcoming u = upcoming_of(c);
  return is_over(c, &u) ? INFINITY : fmax(c->now, fmin(u.end, u.other));
}

berth_status berth_cluster_next(berth_cluster *c, berth_cluster_event *out) {
  if (!c) return BERTH_EINVAL;
  upcoming u = upcoming_of(c);
  if (is_over(c, &u)) {
    *out = event(c, BERTH_CLUSTER_OVER, isfinite(c->o.horizon) ? c->o.horizon : c->now,
                 BERTH_NONE);
    c->over = true;
  } else if (u.end <= u.other + c->o.slack) {
    int32_t job = c->ends.at[0].item;
    *out = event(c, BERTH_CLUSTER_END_OF_JOB, fmin(u.end, u.other), job);
    berth_i_cluster_job *j = &c->at[job];
    berth_i_heap_remove(&c->ends, job);
    berth_i_cluster_give_back(c, job);
    j->r.state = BERTH_JOB_DONE;
    j->r.end = c->now;
    j->r.left = j->r.rate = 0;
    c->sum.done++;
  } else if (c->wake_at <= u.other) {
    *out = event(c, BERTH_CLUSTER_WAKE, c->wake_at, BERTH_NONE);
    c->wake_at = INFINITY;
  } else if (u.slot <= u.other) {
    *out = event(c, BERTH_CLUSTER_SLOT, u.slot, BERTH_NONE);
    c->slot_at = (floor(u.slot / c->o.slot + 0.5) + 1) * c->o.slot;
  } else {
    *out = event(c, BERTH_CLUSTER_ARRIVAL, u.arrival, c->next_arrival);
    berth_i_cluster_enter(c, c->next_arrival++);
    c->sum.arrived++;
  }
  return BERTH_OK;
}

void berth_cluster_stop(berth_cluster *c) {
  c->o.horizon = c->now;
  c->over = true;
}

/* ---- schedulers ---- */

berth_status berth_cluster_step(berth_cluster *c, const berth_scheduler *s,
                                berth_cluster_event *out) {
  if (!c) return BERTH_EINVAL;
  berth_status st = berth_cluster_next(c, out);
  if (st != BERTH_OK) return st;
  switch (out->kind) {
    case BERTH_CLUSTER_END_OF_JOB: return s->end ? s->end(s->ud, c, out->job) : BERTH_OK;
    case BERTH_CLUSTER_WAKE: return s->wake ? s->wake(s->ud, c) : BERTH_OK;
    case BERTH_CLUSTER_SLOT: return s->slot ? s->slot(s->ud, c) : BERTH_OK;
    case BERTH_CLUSTER_ARRIVAL: return s->arrival ? s->arrival(s->ud, c, out->job) : BERTH_OK;
    default: return BERTH_OK;
  }
}

berth_status berth_cluster_run(berth_cluster *c, const berth_scheduler *s) {
  if (!c) return BERTH_EINVAL;
  berth_cluster_event e;
  berth_status st;
  do {
    if ((st = berth_i_interrupted(c->ctx)) == BERTH_OK) st = berth_cluster_step(c, s, &e);
  } while (st == BERTH_OK && e.kind != BERTH_CLUSTER_OVER);
  return st;
}
