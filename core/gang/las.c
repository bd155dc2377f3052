/* Least attained service, in queues (Tiresias). A job that has had its limit of service moves down
 * to the next queue; one that has waited too long returns to the first. Within a queue, those
 * that run come before those that wait, and those that have just come into it are last. Rank: key
 * is twice the queue, and 1 more for those that wait or have just come. */
#include "gang_internal.h"
#include "base/sort_internal.h"

typedef struct las {
  berth_gang_las_options o; /* its limits are the copy */
  double *limit;            /* [n_limits] */
  bool by_gpus;             /* service is s times GPUs */
} las;

static las *of(const berth_gang *g) { return g->state; }

static double weight(const berth_gang *g, int32_t job) {
  return of(g)->by_gpus ? g->job[job].size : 1;
}

static berth_i_gang_rank behind(berth_gang *g, int32_t job) {
  return (berth_i_gang_rank){ 2 * g->job[job].level + 1, g->next_tie++ };
}

/* ---- when jobs change queues ---- */

static void expect_down(berth_gang *g, int32_t job) {
  berth_i_gang_job *j = &g->job[job];
  if (j->level < of(g)->o.n_limits)
    berth_i_heap_push(&g->due, job,
                      j->since + (of(g)->limit[j->level] / weight(g, job) - j->served));
}

/* Those of a heap whose time has come, by number, into g->keep. */
static int32_t collect(berth_gang *g, berth_i_heap *h, double now) {
  int32_t n = 0;
  while (h->n > 0 && h->at[0].key <= now) g->keep[n++] = berth_i_heap_pop(h, NULL);
  berth_i_sort_ids(g->keep, n);
  return n;
}

static double next_down(const berth_gang *g, double now) {
  if (of(g)->o.published && of(g)->by_gpus) {
    /* Seconds are taken for GPU-s, at every event again. */
    const las *l = of(g);
    double next = INFINITY;
    for (int32_t i = 0; i < g->n_running; i++) {
      const berth_i_gang_job *j = &g->job[g->running[i]];
      if (j->level < l->o.n_limits)
        next = fmin(
            next, now + ceil((l->limit[j->level] - (j->served + now - j->since)) / j->size));
    }
    return next;
  }
  return g->due.n > 0 ? g->due.at[0].key : INFINITY;
}

/* ---- decisions ---- */

static berth_i_gang_rank arrives(berth_gang *g, int32_t job) { return behind(g, job); }

/* In front of those that wait, unless it has just come into the queue. */
static berth_i_gang_rank paused(berth_gang *g, int32_t job) {
  berth_i_gang_rank rank = g->job[job].rank;
  if (rank.key > 2 * g->job[job].level) return rank;
  return (berth_i_gang_rank){ rank.key + 1, g->first_tie-- };
}

static berth_status decide(berth_gang *g, double now) {
  berth_i_gang_queue_fresh(g);
  int64_t tie = g->next_tie;
  int32_t n = collect(g, &g->due, now); /* down a queue */
  for (int32_t i = 0; i < n; i++) {
    int32_t job = g->keep[i];
    berth_i_gang_drop(g, job);
    g->job[job].level++;
    g->job[job].rank = behind(g, job);
    berth_i_gang_insert(g, job, now);
    expect_down(g, job);
  }
  n = collect(g, &g->up, now); /* back to the first */
  for (int32_t i = 0; i < n; i++) {
    int32_t job = g->keep[i];
    berth_i_gang_queue_remove(&g->waiting, job);
    g->job[job].level = 0;
    g->job[job].served = 0;
    berth_i_gang_enqueue(g, job, behind(g, job));
  }
  bool changed = g->next_tie != tie;
  berth_status st;
  if ((st = berth_i_gang_choose(g, now)) != BERTH_OK) return st;
  /* Those that have begun are among those that run from now on. */
  for (int32_t i = 0; (changed || g->n_start > 0) && i < g->n_running; i++) {
    berth_i_gang_job *j = &g->job[g->running[i]];
    if (j->rank.key > 2 * j->level) j->rank = (berth_i_gang_rank){ 2 * j->level, g->next_tie++ };
  }
  double next = fmin(next_down(g, now), g->up.n > 0 ? g->up.at[0].key : INFINITY);
  if (of(g)->o.tick > 0 && isfinite(next)) next = ceil(next / of(g)->o.tick) * of(g)->o.tick;
  return berth_cluster_wake(g->c, fmax(now, next));
}

static berth_status begins(berth_gang *g, int32_t job, double now) {
  (void)now;
  berth_i_heap_remove(&g->up, job);
  expect_down(g, job);
  return BERTH_OK;
}

static void stops(berth_gang *g, int32_t job, double now, bool over) {
  berth_i_heap_remove(&g->due, job);
  if (!over && isfinite(of(g)->o.promote) && g->job[job].level > 0 && g->job[job].served > 0)
    berth_i_heap_push(&g->up, job, now + of(g)->o.promote * g->job[job].served);
}

/* ---- options ---- */

enum { DEFAULT_LIMITS = 2 };

berth_gang_las_options berth_gang_las_default(void) {
  static const double limits[DEFAULT_LIMITS] = { 3250, 7200 };
  return (berth_gang_las_options){ .n_limits = DEFAULT_LIMITS, .limits = limits,
                                   .promote = INFINITY };
}

static void set_defaults(void *out) { *(berth_gang_las_options *)out = berth_gang_las_default(); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_gang_las_options, name, kind)

static const berth_option_table *table(void) {
  static const berth_option options[] = {
    { BERTH_I_OPTION_LIST(berth_gang_las_options, limits, n_limits, NUMBERS),
      .fallback = "3250, 7200",
      .text = "s of service (las-2d: GPU-s) at which a job goes down a queue" },
    { FIELD(promote, NUMBER), .above = 1, .high = INFINITY, .fallback = "never",
      .text = "a job goes back to the first queue after waiting so many times what it has run "
              "since it was there" },
    { FIELD(tick, QUANTITY), .unit = BERTH_SECONDS, .fallback = "at once",
      .text = "jobs go down at whole ticks of so many s; the published simulator: 1" },
    { FIELD(published, FLAG),
      .text = "jobs go down when they do in the published simulator, which takes seconds "
              "for GPU-s there, so that some go down later" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("gang las", options, berth_gang_las_options, set_defaults);
}

static berth_status init(berth_gang *g, const void *own) {
  const berth_gang_las_options *o = own;
  for (int32_t i = 1; i < o->n_limits; i++) {
    if (o->limits[i] >= o->limits[i - 1]) continue;
    return berth_i_fail(g->ctx, BERTH_EINVAL,
                        "option limits: expected ascending numbers, got %g after %g", o->limits[i],
                        o->limits[i - 1]);
  }
  las *l;
  if (!(l = g->state = berth_i_pool_zalloc(&g->pool, 1, sizeof *l))) return berth_i_nomem(g->ctx);
  l->o = *o;
  l->o.limits = l->limit =
      berth_i_pool_copy(&g->pool, o->limits, (size_t)o->n_limits, sizeof *l->limit);
  return berth_i_pool_status(&g->pool);
}

static berth_status init_2d(berth_gang *g, const void *own) {
  berth_status st = init(g, own);
  if (st == BERTH_OK) of(g)->by_gpus = true;
  return st;
}

/* ---- the rules ---- */

const berth_i_gang_rule berth_i_gang_las = {
  .about = {
    .choice = { "las", "Queues by seconds run; in a queue those that run come before those that "
                       "wait, then in order of coming into it; runs and pauses as srtf." },
    .source = "Gu et al., \"Tiresias\", NSDI 2019",
    .reads = "rate placement limits promote tick",
    .options = table,
  },
  .decide = decide, .arrives = arrives, .paused = paused, .ordered = true, .begins = begins,
  .stops = stops, .init = init,
};

const berth_i_gang_rule berth_i_gang_las_2d = {
  .about = {
    .choice = { "las-2d", "Queues by seconds run times GPUs; else as las." },
    .source = "Gu et al., \"Tiresias\", NSDI 2019",
    .reads = "rate placement limits promote tick published",
    .options = table,
  },
  .decide = decide, .arrives = arrives, .paused = paused, .ordered = true, .begins = begins,
  .stops = stops, .init = init_2d,
};
