/* Workers and parameter servers: the problem, which is a cluster of machines by resources and the
 * jobs that will come, checked and copied. It does not change once it is made, so runs share it. */
#include "ps_internal.h"

berth_ps_options berth_ps_default(int32_t machines, int32_t resources, int32_t slots,
                                  const double *capacity) {
  return (berth_ps_options){ machines, resources, slots, capacity, NULL, 1200, BERTH_PS_CASES };
}

static void set_defaults(void *out) { *(berth_ps_options *)out = berth_ps_default(1, 1, 1, NULL); }

static const berth_choice *const comms[] = {
  BERTH_I_CHOICE("cases", "By the pair of a worker and a server that are farthest apart."),
  BERTH_I_CHOICE("shared", "The links of a worker and of a server are shared by what is on other "
                           "machines."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_ps_options, name, kind)
#define GIVEN .fallback = "none; must be given"

const berth_option_table *berth_ps_option_table(void) {
  static const berth_option options[] = {
    { FIELD(machines, WHOLE), .low = 1, .high = 1 << 20, GIVEN,
      .text = "how many machines there are" },
    { FIELD(resources, WHOLE), .low = 1, .high = BERTH_PS_RESOURCES, GIVEN,
      .text = "resources of a machine" },
    { FIELD(slots, WHOLE), .low = 1, .high = INT32_MAX - 1, GIVEN, .text = "slots of time" },
    { FIELD(capacity, OTHER), .takes = "array", GIVEN,
      .text = "how much of each resource each machine has" },
    { FIELD(rack, OTHER), .takes = "array", .text = "rack of each machine" },
    { FIELD(slot_seconds, QUANTITY), .unit = BERTH_SECONDS, .above = 1,
      .text = "length of a slot" },
    { FIELD(comm, CHOICE), .choices = comms, .text = "how places set the speed of a job" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("ps", options, berth_ps_options, set_defaults);
}

/* ---- checks ---- */

static berth_status check_options(berth_ctx *ctx, const berth_ps_options *o) {
  berth_status st = berth_options_check(ctx, berth_ps_option_table(), o);
  if (st != BERTH_OK) return st;
  if (!o->capacity)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "ps: capacity: expected %d numbers for each of %d machines",
                        (int)o->resources, (int)o->machines);
  for (size_t i = 0; i < (size_t)o->machines * (size_t)o->resources; i++)
    if (!(o->capacity[i] >= 0) || isinf(o->capacity[i]))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "ps: capacity of machine %d, resource %d: expected a finite number not "
                          "below 0, got %g",
                          (int)(i / (size_t)o->resources), (int)(i % (size_t)o->resources),
                          o->capacity[i]);
  for (int32_t m = 0; o->rack && m < o->machines; m++)
    if (o->rack[m] < 0)
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "ps: rack of machine %d: expected a number not below 0, got %d", (int)m,
                          (int)o->rack[m]);
  return BERTH_OK;
}

/* What a number of a job may be. */
typedef enum range {
  POSITIVE,
  NOT_NEGATIVE,
  POSITIVE_OR_INFINITE,
  NOT_NEGATIVE_OR_INFINITE,
  ANY
} range;
typedef struct rule {
  const char *name;
  double value;
  range range;
} rule;

static bool obeys(const rule *r) {
  if (isnan(r->value)) return false;
  switch (r->range) {
    case POSITIVE: return r->value > 0 && !isinf(r->value);
    case NOT_NEGATIVE: return r->value >= 0 && !isinf(r->value);
    case POSITIVE_OR_INFINITE: return r->value > 0;
    case NOT_NEGATIVE_OR_INFINITE: return r->value >= 0;
    default: return !isinf(r->value);
  }
}

static berth_status check_numbers(berth_ctx *ctx, int32_t job, const berth_ps_job *j) {
  const rule rules[] = {
    { "epochs", j->epochs, POSITIVE },         { "samples", j->samples, POSITIVE },
    { "epochs * samples", berth_i_ps_work(j), POSITIVE }, { "batch", j->batch, POSITIVE },
    { "tau", j->tau, POSITIVE },               { "batch / tau", j->batch / j->tau, POSITIVE },
    { "bytes", j->bytes, NOT_NEGATIVE },       { "ratio", j->ratio, POSITIVE },
    { "inside", j->inside, POSITIVE_OR_INFINITE }, { "across", j->across, POSITIVE_OR_INFINITE },
    { "rack", j->rack, NOT_NEGATIVE_OR_INFINITE }, { "importance", j->importance, NOT_NEGATIVE },
    { "urgency", j->urgency, NOT_NEGATIVE },   { "target", j->target, ANY },
    { "moving", j->moving, NOT_NEGATIVE },
  };
  static const char *const wanted[] = { "a finite number above 0", "a finite number not below 0",
                                        "a number above 0", "a number not below 0",
                                        "a finite number" };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (!obeys(&rules[i]))
      return berth_i_fail(ctx, BERTH_EINVAL, "ps: job %d: %s: expected %s, got %g", (int)job,
                          rules[i].name, wanted[rules[i].range], rules[i].value);
  return BERTH_OK;
}

static berth_status check_demand(berth_ctx *ctx, int32_t job, const char *what, int32_t resources,
                                 const double *x) {
  for (int32_t r = 0; r < resources; r++)
    if (!(x[r] >= 0) || isinf(x[r]))
      return berth_i_fail(
          ctx, BERTH_EINVAL,
          "ps: job %d: resource %d of a %s: expected a finite number not below 0, got %g", (int)job,
          (int)r, what, x[r]);
  return BERTH_OK;
}

static berth_status check_jobs(berth_ctx *ctx, const berth_ps_options *o, int32_t n,
                               const berth_ps_job *jobs) {
  berth_status st = BERTH_OK;
  if (n < 0)
    return berth_i_fail(ctx, BERTH_EINVAL, "ps: jobs: expected at least 0, got %d", (int)n);
  for (int32_t i = 0; st == BERTH_OK && i < n; i++) {
    if (jobs[i].arrival < 0 || jobs[i].arrival >= o->slots)
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "ps: job %d: arrival: expected a slot from 0 to %d, got %d", (int)i,
                          (int)o->slots - 1, (int)jobs[i].arrival);
    if (i > 0 && jobs[i].arrival < jobs[i - 1].arrival)
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "ps: job %d arrives in slot %d, before job %d (%d): sort jobs by arrival",
                          (int)i, (int)jobs[i].arrival, (int)i - 1, (int)jobs[i - 1].arrival);
    st = check_numbers(ctx, i, &jobs[i]);
    if (st == BERTH_OK) st = check_demand(ctx, i, "worker", o->resources, jobs[i].worker);
    if (st == BERTH_OK) st = check_demand(ctx, i, "server", o->resources, jobs[i].server);
  }
  return st;
}

/* ---- life ---- */

static size_t cells(const berth_ps *p) { return (size_t)p->o.machines * (size_t)p->o.resources; }

void berth_ps_retain(berth_ps *p) { p->references++; }

void berth_ps_release(berth_ps *p) {
  if (!p || --p->references > 0) return;
  berth_ctx *ctx = p->ctx;
  berth_i_pool_free(&p->pool);
  berth_ctx_release(ctx);
}

static berth_status fill(berth_ps *p, const berth_ps_job *jobs) {
  p->capacity = berth_i_pool_copy(&p->pool, p->o.capacity, cells(p), sizeof *p->capacity);
  p->rack = berth_i_pool_copy(&p->pool, p->o.rack, (size_t)p->o.machines, sizeof *p->rack);
  p->job = berth_i_pool_alloc(&p->pool, (size_t)p->n, sizeof *p->job);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  p->o.capacity = p->capacity;
  p->o.rack = p->rack;
  for (int32_t i = 0; i < p->n; i++) {
    p->job[i] = jobs[i];
    for (int32_t r = p->o.resources; r < BERTH_PS_RESOURCES; r++)
      p->job[i].worker[r] = p->job[i].server[r] = 0;
  }
  return BERTH_OK;
}

berth_status berth_ps_new(berth_ctx *ctx, const berth_ps_options *opts, int32_t n,
                          const berth_ps_job *jobs, berth_ps **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_status st = check_options(ctx, opts);
  if (st == BERTH_OK) st = check_jobs(ctx, opts, n, jobs);
  if (st != BERTH_OK) return st;
  berth_ps *p;
  if (!(p = berth_i_pool_object(ctx, sizeof *p))) return berth_i_nomem(ctx);
  p->ctx = ctx;
  p->o = *opts;
  p->n = n;
  p->references = 1;
  berth_ctx_retain(ctx);
  if ((st = fill(p, jobs)) != BERTH_OK) {
    berth_ps_release(p);
    return st;
  }
  *out = p;
  return BERTH_OK;
}

berth_ctx *berth_ps_ctx(const berth_ps *p) { return p->ctx; }
const berth_ps_options *berth_ps_options_of(const berth_ps *p) { return &p->o; }
int32_t berth_ps_jobs(const berth_ps *p) { return p->n; }
const berth_ps_job *berth_ps_job_at(const berth_ps *p, int32_t job) {
  return job >= 0 && job < p->n ? &p->job[job] : NULL;
}
