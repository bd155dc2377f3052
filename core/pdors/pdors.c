/* PD-ORS and OASiS: options, creation, decisions, and the policy of a run. A job is admitted when
 * it arrives if its best schedule at the present prices pays (algorithm 1); in each slot it has
 * what was committed to it then. Beyond the paper: what an early end leaves is free again, and
 * jobs that are late are planned on. */
#include "base/sort_internal.h"
#include "pdors_internal.h"

/* A run: jobs are decided about as they arrive, and have in each slot what was committed to them
 * then. */

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
  if (d->o.plans == BERTH_PDORS_REVISED) return berth_i_pdors_arrive(d, r, job);
  berth_pdors_plan plan;
  if ((st = berth_pdors_admit(d, job, &plan)) != BERTH_OK || plan.admitted) return st;
  return berth_ps_refuse(r, job, isinf(plan.bound) ? BERTH_I_PDORS_NO_SCHEDULE
                                                 : BERTH_I_PDORS_NO_PAYOFF);
}

static berth_status finish(void *ud, berth_ps_run *r, int32_t job) {
  berth_pdors *d = ud;
  if (d->o.plans == BERTH_PDORS_REVISED && d->last[job] >= berth_ps_run_slot(r))
    berth_i_pdors_changed(d, job);
  if (d->o.reclaim) berth_i_pdors_reclaim(d, job, berth_ps_run_slot(r));
  return BERTH_OK;
}

static berth_status slot(void *ud, berth_ps_run *r, int32_t at) {
  berth_pdors *d = ud;
  berth_status st = BERTH_OK;
  if (d->o.extend && at > 0) {
    /* 1. Plans that ended with the slot before, too early. */
    const berth_i_pdors_slot *s = &d->slot[at - 1];
    for (size_t i = 0; i < s->n; i++) {
      int32_t job = s->entry[i].job;
      if ((i > 0 && s->entry[i - 1].job == job) || d->last[job] != at - 1) continue;
      if (berth_ps_run_left(r, job) > 0) d->late[d->n_late++] = job;
    }
    /* 2. What is left of late ones is planned as if it came now; a job for which no plan pays is
     * planned again in the next slot. */
    int32_t n = d->n_late;
    d->n_late = 0;
    for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
      int32_t job = d->late[i];
      if (d->o.plans == BERTH_PDORS_REVISED) {
        berth_i_pdors_changed(d, job);
        continue;
      }
      berth_pdors_plan plan;
      st = berth_i_pdors_search_for(d, job, at, berth_ps_run_left(r, job), &plan);
      if (st != BERTH_OK) break;
      if (plan.admitted) st = berth_i_pdors_commit(d, job, &plan);
      else d->late[d->n_late++] = job;
    }
  }
  if (d->o.plans == BERTH_PDORS_REVISED && d->revision.due) st = berth_i_pdors_revise(d, r, at);
  /* 3. What is committed in this slot. */
  const berth_i_pdors_slot *s = &d->slot[at];
  berth_ps_place *place = d->search.answer;
  for (size_t i = 0; i < s->n && st == BERTH_OK;) {
    int32_t job = s->entry[i].job, n = 0;
    for (; i < s->n && s->entry[i].job == job; i++) place[n++] = s->entry[i].place;
    if (berth_ps_run_left(r, job) > 0) st = berth_ps_assign(r, job, n, place);
  }
  return st;
}

berth_ps_policy berth_pdors_policy(berth_pdors *d) {
  return (berth_ps_policy){ arrival, finish, slot, d };
}

enum { UNDECIDED = BERTH_NONE, REFUSED = -2 };

berth_pdors_options berth_pdors_default(void) {
  return (berth_pdors_options){ .mode = BERTH_PDORS_REPAIRED,
                                .factor = 1,
                                .delta = 0.5,
                                .tries = 20,
                                .quanta = 64,
                                .most_quanta = 256,
                                .safety = 2,
                                .bounds = BERTH_PDORS_AUTO,
                                .low_scale = 1,
                                .high_scale = 1,
                                .floor = 1e-6,
                                .reclaim = true,
                                .extend = true,
                                .nodes = 100000 };
}

/* ---- options ---- */

static void set_defaults(void *out) { *(berth_pdors_options *)out = berth_pdors_default(); }

#define C BERTH_I_CHOICE
static const berth_choice *const algorithms[] = {
  C("pd-ors", "Workers and servers on any machines."),
  C("oasis", "Half of the machines for workers, half for servers."),
  NULL
};
static const berth_choice *const modes[] = {
  C("faithful", "Round the linear program until feasible, at most `tries` times, else there is no "
                "schedule in that slot."),
  C("repaired", "Rounded ones are repaired; floor and greedy are candidates, too."),
  C("exact", "The best whole numbers for each slot."),
  NULL
};
static const berth_choice *const favours[] = {
  C("packing", "Resources are kept."), C("covering", "Work is covered."), NULL
};
static const berth_choice *const forms[] = {
  C("formula", "As published."),
  C("tight", "The least that the proof allows."),
  C("given", "`factor`."),
  NULL
};
static const berth_choice *const plans[] = {
  C("revised", "All jobs that are present are planned again when one came, ended early or is late, "
               "those worth most for their share of the cluster first. Only jobs that cannot be "
               "done in time are refused."),
  C("final", "As published: a job is admitted with its plan for good when it comes, or refused."),
  NULL
};
static const berth_choice *const bounds[] = {
  C("oracle", "From all jobs of the problem, as the evaluation does."),
  C("prior", "As given: `low` and `high`."),
  C("online", "From jobs that have come so far, widened by `safety`."),
  C("auto", "oracle if plans are final, else online."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_pdors_options, name, kind)

const berth_option_table *berth_pdors_option_table(void) {
  static const berth_option options[] = {
    { FIELD(algorithm, CHOICE), .choices = algorithms, .text = "which paper's" },
    { FIELD(plans, CHOICE), .choices = plans,
      .fallback = "revised; algorithm oasis, mode faithful: final",
      .text = "whether plans and refusals are final" },
    { FIELD(mode, CHOICE), .choices = modes, .text = "how fractions become whole numbers" },
    { FIELD(favour, CHOICE), .choices = favours, .text = "which constraints rounding favours" },
    { FIELD(gdelta, CHOICE), .choices = forms,
      .text = "by what fractions are multiplied before rounding" },
    { FIELD(factor, NUMBER), .above = 1, .text = "gdelta given: the number" },
    { FIELD(delta, NUMBER), .above = 1, .high = 1,
      .text = "chance of failure that rounding allows; below 1" },
    { FIELD(tries, WHOLE), .low = 1, .text = "roundings of a program at most" },
    { FIELD(quanta, WHOLE), .low = 1, .text = "parts of a job's work, about" },
    { FIELD(most_quanta, WHOLE), .low = 1, .high = 10000, .text = "parts of a job's work at most" },
    { FIELD(exact_work, FLAG), .text = "a part is a sample; for tiny jobs" },
    { FIELD(bounds, CHOICE), .choices = bounds, .text = "where L and U of the prices come from" },
    { FIELD(low, OTHER), .takes = "number", .text = "bounds prior: L, above 0" },
    { FIELD(high, OTHER), .takes = "array", .text = "bounds prior: U of each resource, above 0" },
    { FIELD(safety, NUMBER), .low = 1, .text = "bounds online: L and U are wider by it" },
    { FIELD(low_scale, NUMBER), .above = 1, .text = "L is multiplied by it" },
    { FIELD(high_scale, NUMBER), .above = 1, .text = "U is multiplied by it" },
    { FIELD(per_job, FLAG),
      .text = "L and U are worth per unit of all that a job takes, not as published" },
    { FIELD(floor, NUMBER), .high = 1, .text = "least utility in L, by importance" },
    { FIELD(reclaim, FLAG), .fallback = "true; mode faithful: false",
      .text = "what an early end leaves is free again; false requires plans final" },
    { FIELD(extend, FLAG), .fallback = "true; mode faithful: false",
      .text = "a job that is not done at the end of its plan is planned on; false requires plans "
              "final" },
    { FIELD(nodes, WHOLE), .low = 1, .text = "mode exact: entries of the table for a slot" },
    { FIELD(seed, SEED), .text = "of roundings" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("pdors", options, berth_pdors_options, set_defaults);
}

static berth_status check_options(berth_ctx *ctx, const berth_pdors_options *o,
                                  const berth_ps_options *c) {
  berth_status st = berth_options_check(ctx, berth_pdors_option_table(), o);
  if (st != BERTH_OK) return st;
  if (o->delta == 1) return berth_i_fail(ctx, BERTH_EINVAL, "option delta is 1 (below 1)");
  if (o->plans == BERTH_PDORS_REVISED && o->algorithm == BERTH_OASIS)
    return berth_i_fail(ctx, BERTH_EINVAL, "pdors: algorithm oasis requires plans final");
  if (o->plans == BERTH_PDORS_REVISED && !(o->reclaim && o->extend))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "pdors: %s false requires plans final: revised ones always do so",
                        o->reclaim ? "extend" : "reclaim");
  if (o->algorithm == BERTH_OASIS && c->machines < 2)
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "pdors: OASiS has machines for workers and others for servers: at least 2");
  if (o->bounds != BERTH_PDORS_PRIOR) return BERTH_OK;
  if (!(o->low > 0 && o->low < INFINITY))
    return berth_i_fail(ctx, BERTH_EINVAL, "pdors: low is %g: above 0", o->low);
  for (int32_t r = 0; r < c->resources; r++)
    if (!(o->high[r] > 0 && o->high[r] < INFINITY))
      return berth_i_fail(ctx, BERTH_EINVAL, "pdors: high of resource %d is %g: above 0", r,
                          o->high[r]);
  return BERTH_OK;
}

/* ---- machines that are the same ---- */

typedef struct keyed {
  const double *row;
  int32_t columns, pool, machine;
} keyed;

static int same_order(const keyed *x, const keyed *y) {
  if (x->pool != y->pool) return x->pool < y->pool ? -1 : 1;
  for (int32_t r = 0; r < x->columns; r++)
    if (x->row[r] != y->row[r]) return x->row[r] < y->row[r] ? -1 : 1;
  return 0;
}

BERTH_I_SORT(sort_keyed, keyed, BERTH_I_KEY(same_order(a, b), 0) BERTH_I_UP(machine))

static berth_status types_init(berth_pdors *d) {
  berth_i_pdors_types *t = &d->types;
  size_t n = (size_t)d->c.machines;
  keyed *k = berth_i_alloc(d->ctx, n, sizeof *k);
  t->of = berth_i_pool_alloc(&d->pool, n, sizeof *t->of);
  t->first = berth_i_pool_alloc(&d->pool, n, sizeof *t->first);
  t->count = berth_i_pool_alloc(&d->pool, n, sizeof *t->count);
  if (!k || berth_i_pool_status(&d->pool) != BERTH_OK) {
    berth_i_free(d->ctx, k, n, sizeof *k);
    return berth_i_nomem(d->ctx);
  }
  for (int32_t h = 0; h < d->c.machines; h++)
    k[h] = (keyed){ d->c.capacity + (size_t)h * (size_t)d->c.resources, d->c.resources,
                    h >= d->split, h };
  sort_keyed(k, n);
  for (int32_t i = 0; i < d->c.machines; i++) {
    if (i == 0 || same_order(&k[i - 1], &k[i]) != 0) {
      t->first[t->n] = k[i].machine;
      t->count[t->n++] = 0;
    }
    t->of[k[i].machine] = t->n - 1;
    t->count[t->n - 1]++;
  }
  berth_i_free(d->ctx, k, n, sizeof *k);
  return BERTH_OK;
}

/* ---- life ---- */

static berth_status init(berth_pdors *d) {
  int32_t jobs = berth_ps_jobs(d->ps);
  d->last = berth_i_pool_alloc(&d->pool, (size_t)jobs, sizeof *d->last);
  d->late = berth_i_pool_alloc(&d->pool, (size_t)jobs, sizeof *d->late);
  berth_status st;
  if ((st = berth_i_pool_status(&d->pool)) != BERTH_OK) return st;
  for (int32_t i = 0; i < jobs; i++) d->last[i] = UNDECIDED;
  if ((st = types_init(d)) != BERTH_OK || (st = berth_i_pdors_bounds_init(d)) != BERTH_OK
      || (st = berth_i_pdors_revision_init(d)) != BERTH_OK)
    return st;
  if ((st = berth_i_pdors_slots_init(d)) != BERTH_OK
      || (st = berth_i_pdors_search_init(d)) != BERTH_OK)
    return st;
  return d->families == 2 ? berth_i_oasis_new(d)
                          : berth_i_slot_solver_new(d->ps, &d->o, &d->solver);
}

berth_status berth_pdors_new(berth_ps *p, const berth_pdors_options *opts, berth_pdors **out) {
  if (!p || !out) return BERTH_EINVAL;
  berth_ctx *ctx = berth_ps_ctx(p);
  const berth_ps_options *c = berth_ps_options_of(p);
  berth_status st = check_options(ctx, opts, c);
  if (st != BERTH_OK) return st;
  berth_pdors *d;
  if (!(d = berth_i_pool_object(ctx, sizeof *d))) return berth_i_nomem(ctx);
  berth_ps_retain(p);
  d->ps = p;
  d->ctx = ctx;
  d->o = *opts;
  d->c = *c;
  d->cells = (size_t)c->machines * (size_t)c->resources;
  if (d->o.bounds == BERTH_PDORS_AUTO)
    d->o.bounds = d->o.plans == BERTH_PDORS_FINAL ? BERTH_PDORS_ORACLE : BERTH_PDORS_ONLINE;
  d->shared = c->comm == BERTH_PS_SHARED && d->o.plans == BERTH_PDORS_REVISED;
  d->families = opts->algorithm == BERTH_OASIS ? 2 : 1;
  d->split = d->families == 2 ? c->machines - c->machines / 2 : c->machines;
  if ((st = init(d)) != BERTH_OK) {
    berth_pdors_release(d);
    return st;
  }
  *out = d;
  return BERTH_OK;
}

void berth_pdors_release(berth_pdors *d) {
  if (!d) return;
  berth_ps *p = d->ps;
  berth_i_slot_solver_release(d->solver);
  berth_i_pool_free(&d->pool);
  berth_ps_release(p);
}

/* ---- decisions ---- */

berth_status berth_pdors_decide(berth_pdors *d, int32_t job, berth_pdors_plan *out) {
  if (!d) return BERTH_EINVAL;
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  if (!j) return berth_i_fail(d->ctx, BERTH_EINVAL, "pdors: there is no job %d", job);
  berth_i_pdors_note_job(d, job);
  return berth_i_pdors_search_for(d, job, j->arrival, j->epochs * j->samples, out);
}

berth_status berth_pdors_admit(berth_pdors *d, int32_t job, berth_pdors_plan *out) {
  if (!d) return BERTH_EINVAL;
  if (berth_ps_job_at(d->ps, job) && d->last[job] != UNDECIDED)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "pdors: job %d was %s before", job,
                        d->last[job] == REFUSED ? "refused" : "admitted");
  berth_pdors_plan plan;
  berth_status st;
  if ((st = berth_pdors_decide(d, job, &plan)) != BERTH_OK) return st;
  if (!plan.admitted) d->last[job] = REFUSED;
  else if ((st = berth_i_pdors_commit(d, job, &plan)) != BERTH_OK) return st;
  *out = plan;
  return BERTH_OK;
}

double berth_pdors_price(const berth_pdors *d, int32_t machine, int32_t resource, int32_t slot) {
  size_t at = (size_t)machine * (size_t)d->c.resources + (size_t)resource;
  if (machine < 0 || machine >= d->c.machines || resource < 0 || resource >= d->c.resources)
    return NAN;
  if (slot < 0 || slot >= d->c.slots) return NAN;
  return berth_i_pdors_price_at(d, machine, resource,
                                d->slot[slot].used ? d->slot[slot].used[at] : 0);
}

const double *berth_pdors_committed(const berth_pdors *d, int32_t slot) {
  if (slot < 0 || slot >= d->c.slots) return NULL;
  return d->slot[slot].used ? d->slot[slot].used : d->blank.used;
}

berth_pdors_counts berth_pdors_counted(const berth_pdors *d) {
  berth_pdors_counts c = d->solver ? *berth_i_slot_counts(d->solver) : (berth_pdors_counts){ 0 };
  c.slots_solved = d->counts.slots_solved;
  c.slots_remembered = d->counts.slots_remembered;
  return c;
}
