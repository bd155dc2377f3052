/* FIFO: a fixed number of workers for each job, drawn by its number, in order of arrival. Jobs
 * that run keep their places; with backfill those that fit go ahead of the first that does not. */
#include "policies_internal.h"

enum { TOO_LARGE = 1 }; /* cause of a refusal */

typedef struct fifo {
  berth_ps_scheduler base;
  berth_ps_fifo_options o;
  int32_t turn;  /* machine after the last on which something was put; 0 if all are empty */
} fifo;

berth_ps_fifo_options berth_ps_fifo_default(void) { return (berth_ps_fifo_options){ .most = 30 }; }

static void set_defaults(void *out) { *(berth_ps_fifo_options *)out = berth_ps_fifo_default(); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_ps_fifo_options, name, kind)

const berth_option_table *berth_ps_fifo_option_table(void) {
  static const berth_option options[] = {
    { FIELD(backfill, FLAG), .text = "jobs that fit go ahead of those that do not" },
    { FIELD(most, WHOLE), .low = 1, .text = "most workers of a job, which are drawn" },
    { FIELD(seed, SEED), .text = "of the numbers of workers" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("ps fifo", options, berth_ps_fifo_options, set_defaults);
}

static int32_t workers_of(const fifo *f, int32_t job) {
  int32_t batch = f->base.ps->job[job].batch;
  berth_rng g;
  berth_rng_init(&g, f->o.seed, (uint64_t)job);
  return 1 + berth_rng_below(&g, f->o.most < batch ? f->o.most : batch);
}

static bool place(fifo *f, int32_t job, int32_t *turn) {
  int32_t workers = workers_of(f, job);
  return berth_i_ps_pack_spread(&f->base.pack, job, workers,
                                berth_i_ps_servers(&f->base.ps->job[job], workers), turn);
}

/* On an empty cluster. */
static berth_status arrival(berth_ps_scheduler *s, berth_ps_run *r, int32_t job) {
  int32_t turn = 0;
  berth_i_ps_pack_reset(&s->pack);
  bool done = place((fifo *)s, job, &turn);
  return s->pack.st != BERTH_OK || done ? s->pack.st : berth_ps_refuse(r, job, TOO_LARGE);
}

static berth_status slot(berth_ps_scheduler *s, berth_ps_run *r) {
  fifo *f = (fifo *)s;
  bool done = true;
  if (!s->changed) return berth_i_ps_keep_all(s, r);
  berth_i_ps_pack_reset(&s->pack);
  for (int32_t i = 0; i < s->n_jobs; i++)
    if (berth_i_ps_runs(r, s->jobs[i])) berth_i_ps_keep(s, r, s->jobs[i]);
  if (s->pack.n == 0) f->turn = 0;
  for (int32_t i = 0; i < s->n_jobs && (done || f->o.backfill); i++)
    if (!berth_i_ps_runs(r, s->jobs[i])) done = place(f, s->jobs[i], &f->turn);
  return berth_i_ps_pack_assign(&s->pack, r);
}

static const berth_i_ps_rules rules = { sizeof(fifo), arrival, slot, NULL };

berth_status berth_ps_fifo_new(berth_ps *p, const berth_ps_fifo_options *opts,
                               berth_ps_scheduler **out) {
  if (!p || !out) return BERTH_EINVAL;
  berth_status st = berth_options_check(p->ctx, berth_ps_fifo_option_table(), opts);
  if (st == BERTH_OK) st = berth_i_ps_scheduler_new(p, &rules, out);
  if (st == BERTH_OK) ((fifo *)*out)->o = *opts;
  return st;
}
