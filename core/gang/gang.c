/* Gang schedulers: creation, events, options and the list of rules. A scheduler is a rule (a
 * descriptor of functions, one file for each family) over shared books: who waits (queue.c), who
 * runs (order.c), which units are free (place.c). A rule decides once per instant, after the last
 * event of it.
 *
 * Invariants between events: every job that has arrived and neither ended nor was refused is in
 * `fresh`, `waiting` or `running`; free_units and left are the capacity less the places of the
 * open runs. */
#include "gang_internal.h"
#include <assert.h>

/* ---- the gang rules by their number, and the options that they share ---- */

#define C BERTH_I_CHOICE

#define DECLARE(NAME, symbol) extern const berth_i_gang_rule berth_i_gang_##symbol;
BERTH_GANG_RULES(DECLARE)

#define ROW(NAME, symbol) &berth_i_gang_##symbol,
static const berth_i_gang_rule *const rules[] = { BERTH_GANG_RULES(ROW) };

#define CHOICE(NAME, symbol) &berth_i_gang_##symbol.about.choice,
static const berth_choice *const names[] = { BERTH_GANG_RULES(CHOICE) NULL };

static const berth_choice *const placements[] = {
  C("any", "The first machines with anything left."),
  C("consolidate", "The fullest machine that holds it, or whole machines of the largest kind and "
                   "the rest on one more; else it waits."),
  C("spread", "One by one where most is left."),
  NULL
};

/* @return NULL: there is none */
static const berth_i_gang_rule *rule_of(int rule) {
  return rule >= 0 && rule < (int)(sizeof rules / sizeof *rules) ? rules[rule] : NULL;
}

const berth_gang_about *berth_gang_describe(int rule) {
  const berth_i_gang_rule *r = rule_of(rule);
  return r ? &r->about : NULL;
}

berth_gang_options berth_gang_default(berth_gang_rule rule) {
  return (berth_gang_options){ .rule = rule };
}

static void set_defaults(void *out) {
  *(berth_gang_options *)out = berth_gang_default(BERTH_GANG_FIFO);
}

#define FIELD(name, kind) BERTH_I_OPTION(berth_gang_options, name, kind)

const berth_option_table *berth_gang_option_table(void) {
  static const berth_option options[] = {
    { FIELD(rule, CHOICE), .choices = names, .text = "how jobs are served" },
    { FIELD(amounts, FLAG), .text = "gangs are amounts of the first resource, not whole machines" },
    { FIELD(rate, OTHER), .takes = "function", .fallback = "1",
      .text = "work per s of (job, machines, amounts), called at each start; those that wait are "
              "ordered by the rate on the first places of an empty cluster" },
    { FIELD(placement, CHOICE), .choices = placements, .text = "where gangs of GPUs go" },
    { FIELD(consolidate, OTHER), .takes = "array",
      .text = "placement consolidate: whether each job is; others are spread" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("gang", options, berth_gang_options, set_defaults);
}

/* ---- checks ---- */

static berth_status check(berth_ctx *ctx, int32_t n, const int32_t *size,
                          const berth_gang_options *o) {
  if (n < 0)
    return berth_i_fail(ctx, BERTH_EINVAL, "gang: jobs: expected at least 0, got %d", (int)n);
  for (int32_t j = 0; j < n; j++)
    if (size[j] < 1)
      return berth_i_fail(ctx, BERTH_EINVAL, "gang: job %d: size: expected at least 1, got %d",
                          (int)j, (int)size[j]);
  return berth_options_check(ctx, berth_gang_option_table(), o);
}

/* ---- life ---- */

void berth_gang_release(berth_gang *g) {
  if (!g) return;
  berth_ctx *ctx = g->ctx;
  berth_i_heap_release(ctx, &g->due);
  berth_i_heap_release(ctx, &g->up);
  berth_i_pool_free(&g->pool);
  berth_ctx_release(ctx);
}

/* What the rule has of its own. */
static berth_status init_rule(berth_gang *g, const void *own) {
  union { double align; void *pointer; char bytes[256]; } defaults;
  const berth_option_table *table = g->rule->about.options ? g->rule->about.options() : NULL;
  if (!table)
    return own ? berth_i_fail(g->ctx, BERTH_EINVAL, "gang: %s has no options of its own",
                              g->rule->about.choice.name)
               : BERTH_OK;
  if (!own) {
    assert(table->size <= sizeof defaults);
    table->defaults(&defaults);
    own = &defaults;
  }
  berth_status st = berth_options_check(g->ctx, table, own);
  return st == BERTH_OK ? g->rule->init(g, own) : st;
}

static berth_status get_arrays(berth_gang *g) {
  size_t n = (size_t)g->n;
  g->job = berth_i_pool_zalloc(&g->pool, n, sizeof *g->job);
  g->running = berth_i_pool_alloc(&g->pool, n, sizeof *g->running);
  g->fresh = berth_i_pool_alloc(&g->pool, n, sizeof *g->fresh);
  g->start = berth_i_pool_alloc(&g->pool, n, sizeof *g->start);
  g->pause = berth_i_pool_alloc(&g->pool, n, sizeof *g->pause);
  g->keep = berth_i_pool_alloc(&g->pool, n, sizeof *g->keep);
  berth_status st;
  if ((st = berth_i_pool_status(&g->pool)) != BERTH_OK) return st;
  if ((st = berth_i_gang_queue_init(&g->pool, &g->waiting, g->n)) != BERTH_OK) return st;
  if ((st = berth_i_heap_init(g->ctx, &g->due, g->n, n)) != BERTH_OK) return st;
  return berth_i_heap_init(g->ctx, &g->up, g->n, n);
}

berth_status berth_gang_new(berth_ctx *ctx, int32_t n, const int32_t *size,
                            const berth_gang_options *opts, berth_gang **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_status st = check(ctx, n, size, opts);
  if (st != BERTH_OK) return st;
  berth_gang *g;
  if (!(g = berth_i_pool_object(ctx, sizeof *g))) return berth_i_nomem(ctx);
  berth_ctx_retain(g->ctx = ctx);
  g->n = n;
  g->rule = rule_of((int)opts->rule);
  g->first_tie = -1;
  if ((st = get_arrays(g)) == BERTH_OK) {
    /* What all rules share; the arrays are the caller's. */
    g->o = *opts;
    g->o.consolidate = NULL;
    g->o.own = NULL;
    g->consolidate =
        berth_i_pool_copy(&g->pool, opts->consolidate, (size_t)g->n, sizeof *g->consolidate);
    st = berth_i_pool_status(&g->pool);
  }
  for (int32_t j = 0; st == BERTH_OK && j < n; j++) {
    g->job[j].size = size[j];
    g->job[j].run = BERTH_NONE;
  }
  if (st == BERTH_OK) st = init_rule(g, opts->own);
  if (st != BERTH_OK) {
    berth_gang_release(g);
    return st;
  }
  *out = g;
  return BERTH_OK;
}

/* ---- the cluster of a run ---- */

static berth_status get_places(berth_gang *g, const berth_cluster *c) {
  size_t n = (size_t)berth_cluster_machines(c);
  g->machines = (int32_t)n;
  g->resources = berth_cluster_resources(c);
  g->cap = berth_i_pool_alloc(&g->pool, n, sizeof *g->cap);
  g->free_units = berth_i_pool_alloc(&g->pool, n, sizeof *g->free_units);
  g->plan = berth_i_pool_alloc(&g->pool, n, sizeof *g->plan);
  g->restored = berth_i_pool_alloc(&g->pool, n, sizeof *g->restored);
  g->pick.machine = berth_i_pool_alloc(&g->pool, n, sizeof *g->pick.machine);
  g->pick.amount = berth_i_pool_alloc(&g->pool, n, sizeof *g->pick.amount);
  g->amount = berth_i_pool_alloc(&g->pool, n * (size_t)g->resources, sizeof *g->amount);
  return berth_i_pool_status(&g->pool);
}

static berth_status count_units(berth_gang *g, const berth_cluster *c) {
  const double *capacity = berth_cluster_capacity(c);
  int64_t total = 0;
  for (int32_t m = 0; m < g->machines; m++) {
    double units = g->o.amounts ? floor(capacity[(size_t)m * (size_t)g->resources] + 1e-9) : 1;
    total += (int64_t)fmin(units, INT32_MAX);
    if (total > INT32_MAX)
      return berth_i_fail(g->ctx, BERTH_EINVAL, "gang: the machines have more than %d units in all",
                          INT32_MAX);
    g->cap[m] = g->free_units[m] = (int32_t)units;
  }
  g->total = g->left = (int32_t)total;
  g->idle = g->machines;
  while (g->lowest < g->machines && g->free_units[g->lowest] == 0) g->lowest++;
  return BERTH_OK;
}

static berth_status attach(berth_gang *g, berth_cluster *c) {
  if (berth_cluster_jobs(c) != g->n)
    return berth_i_fail(g->ctx, BERTH_EINVAL, "gang: the cluster has %d jobs, expected %d",
                        (int)berth_cluster_jobs(c), (int)g->n);
  if (g->cap) return berth_i_fail(g->ctx, BERTH_EINVAL, "gang: has had a run already");
  berth_status st;
  if ((st = get_places(g, c)) != BERTH_OK || (st = count_units(g, c)) != BERTH_OK) return st;
  g->c = c;
  st = BERTH_I_POOL_GROW(&g->pool, g->reserved, g->cap_reserved,
                         berth_i_gang_by_place(g) ? (size_t)g->total + 1 : 1);
  return st == BERTH_OK && g->rule->attach ? g->rule->attach(g) : st;
}

/* ---- events ---- */

static berth_status note_counts(berth_gang *g, double now) {
  berth_gang_count at = { now, g->idle, g->left, g->waiting.n },
                   *last = g->n_counts > 0 ? &g->counts[g->n_counts - 1] : NULL;
  if (last && last->idle == at.idle && last->left == at.left && last->waiting == at.waiting)
    return BERTH_OK;
  if (last && last->time == now) {
    *last = at;
    return BERTH_OK;
  }
  berth_status st =
      BERTH_I_POOL_GROW(&g->pool, g->counts, g->cap_counts, (size_t)g->n_counts + 1);
  if (st == BERTH_OK) g->counts[g->n_counts++] = at;
  return st;
}

/* Once per instant: after the last event of it. */
static berth_status decide(berth_gang *g) {
  double now = berth_cluster_now(g->c);
  if (berth_cluster_upcoming(g->c) <= now) return BERTH_OK;
  berth_status st = g->rule->decide(g, now);
  g->reallocate = false;
  return st == BERTH_OK ? note_counts(g, now) : st;
}

static berth_status attached(berth_gang *g, berth_cluster *c) {
  return g->c == c ? BERTH_OK : attach(g, c);
}

static berth_status arrival(void *ud, berth_cluster *c, int32_t job) {
  berth_gang *g = ud;
  berth_job b;
  berth_status st = attached(g, c);
  if (st == BERTH_OK) st = berth_cluster_job(c, job, &b);
  if (st != BERTH_OK) return st;
  if (!berth_i_gang_fits_ever(g, job)) {
    if ((st = berth_cluster_refuse(c, job, BERTH_GANG_TOO_LARGE)) != BERTH_OK) return st;
  } else {
    g->job[job].left = b.work;
    if ((st = berth_i_gang_nominal(g, job)) != BERTH_OK) return st;
    g->fresh[g->n_fresh++] = job;
    g->reallocate = g->reallocate || berth_cluster_slot(c) == 0;
  }
  return decide(g);
}

static berth_status end(void *ud, berth_cluster *c, int32_t job) {
  berth_gang *g = ud;
  berth_i_gang_give_back(g, job, berth_cluster_now(c), true);
  if (g->rule->ordered) berth_i_gang_drop(g, job);
  g->reallocate = g->reallocate || berth_cluster_slot(c) == 0;
  return decide(g);
}

static berth_status slot(void *ud, berth_cluster *c) {
  berth_gang *g = ud;
  berth_status st = attached(g, c);
  if (st != BERTH_OK) return st;
  g->reallocate = true;
  return decide(g);
}

static berth_status wake(void *ud, berth_cluster *c) {
  (void)c;
  return decide(ud);
}

berth_scheduler berth_gang_scheduler(berth_gang *g) {
  return (berth_scheduler){ arrival, end, slot, wake, g };
}

/* ---- what has been ---- */

const berth_gang_run *berth_gang_runs(const berth_gang *g, int32_t *n) {
  *n = g->n_runs;
  return g->runs;
}

const int32_t *berth_gang_places(const berth_gang *g, const int32_t **amount) {
  if (amount) *amount = g->place_amount;
  return g->place_machine;
}

const berth_gang_count *berth_gang_counts(const berth_gang *g, int32_t *n) {
  *n = g->n_counts;
  return g->counts;
}
