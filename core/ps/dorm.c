/* Dorm (Sun et al., 2017): at each change of the jobs, bundles of workers and servers for each, so
 * that the cluster is used most while shares stay near those of DRF and few running jobs change.
 * Here: fair shares, the greedy rule for many jobs, and the machines of the bundles that were
 * decided; the program is in dorm_program.c. */
#include "dorm_internal.h"

/* ---- dorm without its program ---- */

static double distance(const berth_i_dorm_job *x, int32_t n) {
  return fabs(n * x->share - x->fair * x->share);
}

static bool fits(const berth_i_dorm *d, const double *free_amount, const berth_i_dorm_job *x) {
  for (int32_t i = 0; i < d->base.ps->o.resources; i++)
    if (x->demand[i] > free_amount[i] + BERTH_I_PS_TOLERANCE * d->base.total[i]) return false;
  return true;
}

/* What is left of the sums, and the distance from fair shares so far. */
typedef struct state {
  double free_amount[BERTH_PS_RESOURCES], loss;
} state;

static void set(berth_i_dorm *d, state *s, berth_i_dorm_job *x, int32_t n) {
  for (int32_t i = 0; i < d->base.ps->o.resources; i++)
    s->free_amount[i] -= (n - x->chosen) * x->demand[i];
  s->loss += distance(x, n) - distance(x, x->chosen);
  x->chosen = n;
}

/* One more, if it fits, and fairness keeps to its limit or gets no worse. */
static bool add(berth_i_dorm *d, state *s, berth_i_dorm_job *x) {
  double loss = s->loss + distance(x, x->chosen + 1) - distance(x, x->chosen);
  if (x->chosen >= x->most || (loss > s->loss && loss > berth_i_dorm_unfairness(d) * (1 + 1e-9)))
    return false;
  if (!fits(d, s->free_amount, x)) return false;
  set(d, s, x, x->chosen + 1);
  return true;
}

/* Takes the first of the queue, which is by `key`. */
static berth_i_dorm_job *next(berth_i_dorm *d) {
  return d->queue.n > 0 ? &d->list[berth_i_heap_pop(&d->queue, NULL)] : NULL;
}

/* Sets `chosen`. */
static void dorm_greedy(berth_i_dorm *d) {
  state s = { { 0 }, 0 };
  int32_t left = berth_i_dorm_adjustable(d);
  berth_i_dorm_job *x;
  memcpy(s.free_amount, d->base.total, sizeof s.free_amount);
  for (int32_t k = 0; k < d->n; k++) {
    d->list[k].chosen = 0;
    s.loss += distance(&d->list[k], 0);
    set(d, &s, &d->list[k], d->list[k].before);
  }
  /* 1. Those farthest from fair come down to it; the others that run stay as they are: `most` says
   * so. */
  for (int32_t k = 0; k < d->n; k++)
    if (d->list[k].runs) berth_i_heap_push(&d->queue, k, -distance(&d->list[k], d->list[k].before));
  while ((x = next(d))) {
    bool may = left > 0 && distance(x, x->before) > 0;
    left -= may;
    if (may && x->before > x->fair) set(d, &s, x, x->fair > 1 ? x->fair : 1);
    if (!may) x->most = x->before;
  }
  /* 2. A bundle for each job that does not run. */
  for (int32_t k = 0; k < d->n; k++)
    if (!d->list[k].runs) add(d, &s, &d->list[k]);
  /* 3. As many more as fit, for those whose bundles use most first. */
  for (int32_t k = 0; k < d->n; k++) berth_i_heap_push(&d->queue, k, -d->list[k].use);
  while ((x = next(d)))
    while (add(d, &s, x)) continue;
}

berth_ps_dorm_options berth_ps_dorm_default(void) {
  return (berth_ps_dorm_options){ 0.1, 0.1, 200, 40, 60 };
}

static void set_defaults(void *out) { *(berth_ps_dorm_options *)out = berth_ps_dorm_default(); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_ps_dorm_options, name, kind)

const berth_option_table *berth_ps_dorm_option_table(void) {
  static const berth_option options[] = {
    { FIELD(theta_f, NUMBER),
      .text = "fairness: the sum of |share - DRF share| is at most theta_f * 2 * resources" },
    { FIELD(theta_a, NUMBER), .high = 1,
      .text = "adjustment: at most this part of the running jobs gets more or less" },
    { FIELD(nodes, WHOLE), .low = 1, .text = "nodes of a branch and bound at most" },
    { FIELD(most_jobs, WHOLE), .text = "with more jobs that are there, the greedy one decides" },
    { FIELD(most_cells, WHOLE),
      .text = "with at most so many jobs * machines, the program chooses machines, too" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("ps dorm", options, berth_ps_dorm_options, set_defaults);
}

static void release(berth_ps_scheduler *s) {
  berth_i_dorm *d = (berth_i_dorm *)s;
  berth_i_heap_release(s->ctx, &d->queue);
}

/* ---- jobs of a slot ---- */

static berth_i_dorm_job job_of(const berth_i_dorm *d, const berth_ps_run *r, int32_t job) {
  const berth_ps_job *j = &d->base.ps->job[job];
  berth_i_dorm_job x = { .job = job,
                         .bundle = berth_i_ps_bundle_of(j),
                         .runs = berth_i_ps_runs(r, job) };
  for (int32_t i = 0; i < d->base.ps->o.resources; i++) {
    x.demand[i] = x.bundle.workers * j->worker[i] + x.bundle.servers * j->server[i];
    if (x.demand[i] > 0) x.use += x.demand[i] / d->base.total[i];
  }
  x.share = berth_i_ps_share(&d->base, job, x.bundle.workers, x.bundle.servers);
  x.most = isinf(x.share) ? 0 : x.bundle.most;
  x.before = x.runs ? d->bundles[job] : 0;
  return x;
}

/* ---- bundles by machine ---- */

/* Cells before; false if they are unknown, as a machine has no whole bundles or some bundle is
 * smaller than others, or would be too many. */
static bool read_cells(berth_i_dorm *d, const berth_ps_run *r) {
  const berth_ps *p = d->base.ps;
  size_t machines = (size_t)p->o.machines;
  if ((size_t)d->n * machines > (size_t)d->o.most_cells) return false;
  memset(d->cell, 0, (size_t)d->n * machines * sizeof *d->cell);
  for (int32_t k = 0; k < d->n; k++) {
    const berth_i_dorm_job *x = &d->list[k];
    berth_i_ps_stretch last = r->at[x->job].last;
    if ((int64_t)x->bundle.workers * x->bundle.most != p->job[x->job].batch) return false;
    for (int32_t i = 0; x->runs && i < last.n; i++) {
      const berth_ps_place *at = &r->place[last.first + (size_t)i];
      int32_t n = at->servers / x->bundle.servers;
      if (n * x->bundle.servers != at->servers || n * x->bundle.workers != at->workers)
        return false;
      d->cell[(size_t)k * machines + (size_t)at->machine] = n;
    }
  }
  return true;
}

/* ---- placing ---- */

/* As the program has it. */
static void put_cells(berth_i_dorm *d, int32_t k) {
  const berth_i_dorm_job *x = &d->list[k];
  int32_t machines = d->base.ps->o.machines;
  d->bundles[x->job] = 0;
  for (int32_t m = 0; m < machines; m++) {
    int32_t n = d->cell[(size_t)k * (size_t)machines + (size_t)m];
    berth_ps_place at = { m, n * x->bundle.workers, n * x->bundle.servers };
    d->bundles[x->job] += n;
    if (n > 0) berth_i_ps_pack_put(&d->base.pack, x->job, &at);
  }
}

static bool is_kept(const berth_i_dorm_job *x) { return x->runs && x->chosen == x->before; }

/* Bundles one by one: each on the first machine that holds it, or in parts on several. */
static void put_anywhere(berth_i_dorm *d, const berth_i_dorm_job *x) {
  const berth_ps_job *j = &d->base.ps->job[x->job];
  int32_t *n = &d->bundles[x->job];
  for (*n = 0; *n < x->chosen; (*n)++) {
    int32_t turn = 0, workers = berth_i_ps_bundle_workers(j, &x->bundle, *n + 1)
                                - berth_i_ps_bundle_workers(j, &x->bundle, *n);
    berth_ps_place at = { 0, workers, x->bundle.servers };
    double demand[BERTH_PS_RESOURCES];
    for (int32_t i = 0; i < d->base.ps->o.resources; i++) demand[i] = berth_i_ps_demand(j, &at, i);
    at.machine = berth_i_ps_pack_find(&d->base.pack, 0, demand);
    if (at.machine != BERTH_NONE) berth_i_ps_pack_put(&d->base.pack, x->job, &at);
    else if (!berth_i_ps_pack_spread(&d->base.pack, x->job, workers, at.servers, &turn)) break;
  }
}

/* Those that stay as they are, those that run, the others. */
static void put_all(berth_i_dorm *d, berth_ps_run *r) {
  berth_i_ps_pack_reset(&d->base.pack);
  for (int32_t k = 0; k < d->n; k++)
    if (d->by_machine) put_cells(d, k);
    else if (is_kept(&d->list[k])) berth_i_ps_keep(&d->base, r, d->list[k].job);
  for (int pass = 0; pass < 2 && !d->by_machine; pass++)
    for (int32_t k = 0; k < d->n; k++)
      if (!is_kept(&d->list[k]) && d->list[k].runs == (pass == 0)) put_anywhere(d, &d->list[k]);
}

/* ---- decisions ---- */

static berth_status slot(berth_ps_scheduler *s, berth_ps_run *r) {
  berth_i_dorm *d = (berth_i_dorm *)s;
  if (!s->changed) return berth_i_ps_keep_all(s, r);
  d->n = s->n_jobs;
  d->running = 0;
  for (int32_t k = 0; k < d->n; k++) {
    d->list[k] = job_of(d, r, s->jobs[k]);
    d->running += d->list[k].runs;
  }
  /* 1. Fair shares: progressive filling of the cluster's sums. */
  double free_amount[BERTH_PS_RESOURCES];
  memcpy(free_amount, d->base.total, sizeof free_amount);
  for (int32_t k = 0; k < d->n; k++)
    if (d->list[k].most > 0) berth_i_heap_push(&d->queue, k, 0);
  while (d->queue.n > 0) {
    berth_i_dorm_job *x = &d->list[berth_i_heap_pop(&d->queue, NULL)];
    if (!fits(d, free_amount, x)) continue;
    for (int32_t i = 0; i < d->base.ps->o.resources; i++) free_amount[i] -= x->demand[i];
    if (++x->fair < x->most)
      berth_i_heap_push(&d->queue, (int32_t)(x - d->list), x->fair * x->share);
  }
  /* 2. Bundles: by the program; with many jobs, or without its answer, by the greedy rule. */
  bool solved = d->n == 0;
  berth_status st = BERTH_OK;
  d->by_machine = false;
  if (!solved && d->n <= d->o.most_jobs) {
    d->by_machine = read_cells(d, r);
    if ((st = berth_i_dorm_program(d, &solved)) != BERTH_OK) return st;
  }
  if (!solved) {
    d->by_machine = false;
    d->counts.greedy++;
    dorm_greedy(d);
  }
  /* 3. Machines. */
  put_all(d, r);
  return berth_i_ps_pack_assign(&s->pack, r);
}

static const berth_i_ps_rules rules = { sizeof(berth_i_dorm), NULL, slot, release };

berth_status berth_ps_dorm_new(berth_ps *p, const berth_ps_dorm_options *opts,
                               berth_ps_scheduler **out) {
  if (!p || !out) return BERTH_EINVAL;
  berth_ps_scheduler *s;
  berth_status st = berth_options_check(p->ctx, berth_ps_dorm_option_table(), opts);
  if (st == BERTH_OK) st = berth_i_ps_scheduler_new(p, &rules, &s);
  if (st != BERTH_OK) return st;
  berth_i_dorm *d = (berth_i_dorm *)s;
  size_t n = (size_t)p->n;
  d->o = *opts;
  d->list = berth_i_pool_alloc(&s->pool, n, sizeof *d->list);
  d->bundles = berth_i_pool_zalloc(&s->pool, n, sizeof *d->bundles);
  d->cell = berth_i_pool_alloc(&s->pool, (size_t)d->o.most_cells, sizeof *d->cell);
  if ((st = berth_i_pool_status(&s->pool)) == BERTH_OK)
    st = berth_i_heap_init(s->ctx, &d->queue, p->n, n);
  if (st == BERTH_OK) *out = s;
  else berth_ps_scheduler_release(s);
  return st;
}

berth_ps_dorm_counts berth_ps_dorm_counted(const berth_ps_scheduler *s) {
  return s->rules == &rules ? ((const berth_i_dorm *)s)->counts : (berth_ps_dorm_counts){ 0 };
}
