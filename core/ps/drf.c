/* Dominant resource fairness by progressive filling (Ghodsi et al., 2011): a heap of jobs by their
 * largest share of any resource; the job with the least gets a bundle more, and leaves the heap if
 * that does not fit. O(bundles (log jobs + resources log machines)) a slot. */
#include "base/heap_internal.h"
#include "policies_internal.h"

typedef struct drf {
  berth_ps_scheduler base;
  berth_i_heap queue;  /* by dominant share */
  int32_t *bundles;    /* [jobs] */
  int32_t turn;
} drf;

static void release(berth_ps_scheduler *s) {
  drf *d = (drf *)s;
  berth_i_heap_release(s->ctx, &d->queue);
}

static void enqueue(drf *d, int32_t job, const berth_i_ps_bundle *b) {
  int32_t n = d->bundles[job], workers = berth_i_ps_bundle_workers(&d->base.ps->job[job], b, n);
  if (n < b->most)
    berth_i_heap_push(&d->queue, job,
                      berth_i_ps_share(&d->base, job, workers, (double)n * b->servers));
}

/* The job with the least dominant share gets one bundle more, if it fits; else no more. */
static berth_status slot(berth_ps_scheduler *s, berth_ps_run *r) {
  drf *d = (drf *)s;
  if (!s->changed) return berth_i_ps_keep_all(s, r);
  berth_i_ps_pack_reset(&s->pack);
  d->turn = 0;
  for (int32_t i = 0; i < s->n_jobs; i++) {
    berth_i_ps_bundle b = berth_i_ps_bundle_of(&s->ps->job[s->jobs[i]]);
    d->bundles[s->jobs[i]] = 0;
    enqueue(d, s->jobs[i], &b);
  }
  while (d->queue.n > 0) {
    int32_t job = berth_i_heap_pop(&d->queue, NULL), n = d->bundles[job];
    const berth_ps_job *j = &s->ps->job[job];
    berth_i_ps_bundle b = berth_i_ps_bundle_of(j);
    int32_t workers =
        berth_i_ps_bundle_workers(j, &b, n + 1) - berth_i_ps_bundle_workers(j, &b, n);
    if (!berth_i_ps_pack_spread(&s->pack, job, workers, b.servers, &d->turn)) continue;
    d->bundles[job]++;
    enqueue(d, job, &b);
  }
  return berth_i_ps_pack_assign(&s->pack, r);
}

static const berth_i_ps_rules rules = { sizeof(drf), NULL, slot, release };

berth_status berth_ps_drf_new(berth_ps *p, berth_ps_scheduler **out) {
  if (!p || !out) return BERTH_EINVAL;
  berth_ps_scheduler *s;
  berth_status st = berth_i_ps_scheduler_new(p, &rules, &s);
  if (st != BERTH_OK) return st;
  drf *d = (drf *)s;
  st = berth_i_heap_init(s->ctx, &d->queue, p->n, (size_t)p->n);
  d->bundles = berth_i_pool_alloc(&s->pool, (size_t)p->n, sizeof *d->bundles);
  if (st == BERTH_OK) st = berth_i_pool_status(&s->pool);
  if (st == BERTH_OK) *out = s;
  else berth_ps_scheduler_release(s);
  return st;
}
