/* Optimus (Peng et al., 2018): workers and servers by the time that they take off what is left, for
 * their dominant share; a heap holds each job's best next step. Then machines: each job in even
 * parts on as few as hold it. */
#include "base/heap_internal.h"
#include "policies_internal.h"

enum { WORKER = 1, SERVER = 2 }; /* what a job may get more of */

typedef struct size {
  int32_t workers, servers;
} size;

typedef struct optimus {
  berth_ps_scheduler base;
  berth_ps_speed_fit *fit;  /* [jobs]; NULL: none */
  berth_i_heap queue;
  size *at;                               /* [jobs] */
  double *left;                           /* [jobs] samples */
  uint8_t *may;                           /* [jobs] of WORKER and SERVER: which may still fit */
  double free_amount[BERTH_PS_RESOURCES]; /* of the cluster's sums */
} optimus;

berth_ps_optimus_options berth_ps_optimus_default(void) {
  return (berth_ps_optimus_options){ NULL };
}

static void set_defaults(void *out) {
  *(berth_ps_optimus_options *)out = berth_ps_optimus_default();
}

const berth_option_table *berth_ps_optimus_option_table(void) {
  static const berth_option options[] = {
    { BERTH_I_OPTION(berth_ps_optimus_options, fit, OTHER), .takes = "array",
      .fallback = "the problem's own model",
      .text = "five terms of the speed of each job" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("ps optimus", options, berth_ps_optimus_options, set_defaults);
}

static void release(berth_ps_scheduler *s) {
  optimus *o = (optimus *)s;
  berth_i_heap_release(s->ctx, &o->queue);
}

/* ---- speeds, as estimated ---- */

/* Slots per sample. The problem's own model: no worker has a server on its machine. */
static double time_of(const optimus *o, int32_t job, size s) {
  const berth_ps_job *j = &o->base.ps->job[job];
  double w = s.workers, p = s.servers;
  if (o->fit) {
    const double *t = o->fit[job].theta;
    return j->batch / w * t[0] + t[1] + t[2] * w / p + t[3] * w + t[4] * p;
  }
  if (o->base.ps->o.comm == BERTH_PS_SHARED)
    return j->tau / w + 2 * j->bytes * fmax(w, p) / (p * j->across * j->batch);
  return berth_ps_worker_slots(j, j->across) / w;
}

static size with_more(const optimus *o, int32_t job, int what) {
  size s = o->at[job];
  if (what == SERVER) return (size){ s.workers, s.servers + (s.servers < INT32_MAX) };
  int32_t needed = berth_i_ps_servers(&o->base.ps->job[job], s.workers + 1);
  return (size){ s.workers + 1, needed > s.servers ? needed : s.servers };
}

/* Time that it takes off, for the largest share of what it costs. Never more servers than workers,
 * unless these need them. */
static double gain(const optimus *o, int32_t job, int what) {
  const berth_ps_job *j = &o->base.ps->job[job];
  size now = o->at[job], then = with_more(o, job, what);
  if (!(o->may[job] & what) || then.workers > j->batch
      || (then.servers > then.workers && then.servers > berth_i_ps_servers(j, then.workers)))
    return -INFINITY;
  return o->left[job] * (time_of(o, job, now) - time_of(o, job, then)) /
         berth_i_ps_share(&o->base, job, then.workers - now.workers, then.servers - now.servers);
}

/* ---- amounts ---- */

static bool take(optimus *o, int32_t job, size then) {
  const berth_ps_job *j = &o->base.ps->job[job];
  berth_ps_place more = { 0, then.workers - o->at[job].workers, then.servers - o->at[job].servers };
  for (int32_t r = 0; r < o->base.ps->o.resources; r++)
    if (berth_i_ps_demand(j, &more, r) >
        o->free_amount[r] + BERTH_I_PS_TOLERANCE * o->base.total[r])
      return false;
  for (int32_t r = 0; r < o->base.ps->o.resources; r++)
    o->free_amount[r] -= berth_i_ps_demand(j, &more, r);
  o->at[job] = then;
  return true;
}

static void enqueue(optimus *o, int32_t job) {
  double best = fmax(gain(o, job, WORKER), gain(o, job, SERVER));
  if (best > 0) berth_i_heap_push(&o->queue, job, -best);
}

/* ---- machines ---- */

static int32_t share_of(int32_t all, int32_t n, int32_t i) { return all / n + (i < all % n); }

/* n even parts, the first ones with a worker more, the last ones with a server more: for each the
 * next machine that holds it, in the pack's list. @return whether all have one */
static bool find_machines(optimus *o, int32_t job, int32_t n) {
  const berth_ps_job *j = &o->base.ps->job[job];
  int32_t from = 0;
  for (int32_t i = 0; i < n; i++) {
    berth_ps_place *at = &o->base.pack.place[i];
    *at = (berth_ps_place){ BERTH_NONE, share_of(o->at[job].workers, n, i),
                            share_of(o->at[job].servers, n, n - 1 - i) };
    double demand[BERTH_PS_RESOURCES];
    for (int32_t r = 0; r < o->base.ps->o.resources; r++) demand[r] = berth_i_ps_demand(j, at, r);
    at->machine = from < o->base.ps->o.machines ? berth_i_ps_pack_find(&o->base.pack, from, demand)
                                                : BERTH_NONE;
    if (at->machine < from) return false; /* none, or one of those before */
    from = at->machine + 1;
  }
  return true;
}

/* In even parts on as few machines as hold them; else a worker with the servers that it makes
 * necessary, again and again. */
static void put(optimus *o, int32_t job) {
  size s = o->at[job];
  int64_t units = (int64_t)s.workers + s.servers;
  int32_t most = units < o->base.ps->o.machines ? (int32_t)units : o->base.ps->o.machines;
  for (int32_t n = 1; n <= most; n++) {
    if (!find_machines(o, job, n)) continue;
    for (int32_t i = 0; i < n; i++)
      berth_i_ps_pack_put(&o->base.pack, job, &o->base.pack.place[i]);
    return;
  }
  int32_t servers = 0, turn = 0;
  for (int32_t w = 1; w <= s.workers; w++) {
    int32_t needed = berth_i_ps_servers(&o->base.ps->job[job], w);
    if (!berth_i_ps_pack_spread(&o->base.pack, job, 1, needed - servers, &turn)) return;
    servers = needed;
  }
}

static berth_status slot(berth_ps_scheduler *s, berth_ps_run *r) {
  optimus *o = (optimus *)s;
  /* 1. A worker with its servers for each job, the least left first, as far as they fit. */
  memcpy(o->free_amount, s->total, sizeof o->free_amount);
  for (int32_t i = 0; i < s->n_jobs; i++) {
    int32_t job = s->jobs[i];
    o->at[job] = (size){ 0, 0 };
    o->left[job] = berth_ps_run_left(r, job);
    o->may[job] = WORKER | SERVER;
    berth_i_heap_push(&o->queue, job, o->left[job]);
  }
  while (o->queue.n > 0) {
    int32_t job = berth_i_heap_pop(&o->queue, NULL);
    take(o, job, with_more(o, job, WORKER));
  }
  /* 2. One more worker or server at a time, where it takes off most time for its share. */
  for (int32_t i = 0; i < s->n_jobs; i++)
    if (o->at[s->jobs[i]].workers > 0) enqueue(o, s->jobs[i]);
  while (o->queue.n > 0) {
    int32_t job = berth_i_heap_pop(&o->queue, NULL);
    int what = gain(o, job, WORKER) >= gain(o, job, SERVER) ? WORKER : SERVER;
    if (!take(o, job, with_more(o, job, what))) o->may[job] &= (uint8_t)~what;
    enqueue(o, job);
  }
  /* 3. Machines, for jobs with the smallest share first. */
  berth_i_ps_pack_reset(&s->pack);
  for (int32_t i = 0; i < s->n_jobs; i++) {
    int32_t job = s->jobs[i];
    if (o->at[job].workers > 0)
      berth_i_heap_push(&o->queue, job,
                        berth_i_ps_share(s, job, o->at[job].workers, o->at[job].servers));
  }
  while (o->queue.n > 0) put(o, berth_i_heap_pop(&o->queue, NULL));
  return berth_i_ps_pack_assign(&s->pack, r);
}

/* ---- life ---- */

static const berth_i_ps_rules rules = { sizeof(optimus), NULL, slot, release };

berth_status berth_ps_optimus_new(berth_ps *p, const berth_ps_optimus_options *opts,
                                  berth_ps_scheduler **out) {
  if (!p || !out) return BERTH_EINVAL;
  const berth_ps_speed_fit *fit = opts->fit;
  berth_ps_scheduler *s;
  for (int32_t j = 0; fit && j < p->n; j++)
    for (int i = 0; i < 5; i++)
      if (!(fit[j].theta[i] >= 0) || isinf(fit[j].theta[i]))
        return berth_i_fail(
            p->ctx, BERTH_EINVAL,
            "optimus: fit of job %d, term %d: expected a finite number not below 0, got %g", (int)j,
            i, fit[j].theta[i]);
  berth_status st = berth_i_ps_scheduler_new(p, &rules, &s);
  if (st != BERTH_OK) return st;
  optimus *o = (optimus *)s;
  size_t n = (size_t)p->n;
  o->at = berth_i_pool_alloc(&s->pool, n, sizeof *o->at);
  o->left = berth_i_pool_alloc(&s->pool, n, sizeof *o->left);
  o->may = berth_i_pool_alloc(&s->pool, n, sizeof *o->may);
  o->fit = berth_i_pool_copy(&s->pool, fit, n, sizeof *fit);
  if ((st = berth_i_pool_status(&s->pool)) == BERTH_OK)
    st = berth_i_heap_init(s->ctx, &o->queue, p->n, n);
  if (st == BERTH_OK) *out = s;
  else berth_ps_scheduler_release(s);
  return st;
}
