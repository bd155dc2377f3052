/* Least attained service, in queues (Tiresias). A job that has had its limit of service goes down to the next queue; one that has
 * waited too long goes back to the first. Within a queue, those that run come before those that wait, and those that have just come
 * into it are last. Rank: key is twice the queue, and 1 more for those that wait or have just come. */
#include "gang_internal.h"
#include "base/sort_internal.h"

static bool last_level(const berth_gang *g, int32_t job) { return g->job[job].level >= g->o.n_limits; }
static double weight(const berth_gang *g, int32_t job) { return g->o.rule == BERTH_GANG_LAS_2D ? g->job[job].size : 1; }

static berth_i_gang_rank behind(berth_gang *g, int32_t job) {
  return (berth_i_gang_rank){ 2 * g->job[job].level + 1, g->next_tie++ };
}

/* ---- when jobs change queues ------------------------------------------------------------------------------ */

static void expect_down(berth_gang *g, int32_t job) {
  berth_i_gang_job *j = &g->job[job];
  if (!last_level(g, job)) berth_i_heap_push(&g->due, job, j->since + (g->limit[j->level] / weight(g, job) - j->served));
}

static void expect_up(berth_gang *g, int32_t job, double now) {
  if (isfinite(g->o.promote) && g->job[job].level > 0 && g->job[job].served > 0)
    berth_i_heap_push(&g->up, job, now + g->o.promote * g->job[job].served);
}

/* Those of a heap whose time has come, by number, into g->keep. */
static int32_t collect(berth_gang *g, berth_i_heap *h, double now) {
  int32_t n = 0;
  while (h->n > 0 && h->at[0].key <= now) g->keep[n++] = berth_i_heap_pop(h, NULL);
  berth_i_sort_ids(g->keep, n);
  return n;
}

static void go_down(berth_gang *g, int32_t job, double now) {
  berth_i_gang_drop(g, job);
  g->job[job].level++;
  g->job[job].rank = behind(g, job);
  berth_i_gang_insert(g, job, now);
  expect_down(g, job);
}

static void go_up(berth_gang *g, int32_t job) {
  berth_i_gang_queue_remove(&g->waiting, job);
  g->job[job].level = 0;
  g->job[job].served = 0;
  berth_i_gang_enqueue(g, job, behind(g, job));
}

static void change_queues(berth_gang *g, double now) {
  int32_t n = collect(g, &g->due, now);
  for (int32_t i = 0; i < n; i++) go_down(g, g->keep[i], now);
  n = collect(g, &g->up, now);
  for (int32_t i = 0; i < n; i++) go_up(g, g->keep[i]);
}

/* Seconds are taken for GPU-s, at every event again. */
static double published_down(const berth_gang *g, double now) {
  double next = INFINITY;
  for (int32_t i = 0; i < g->n_running; i++) {
    const berth_i_gang_job *j = &g->job[g->running[i]];
    if (j->level < g->o.n_limits) next = fmin(next, now + ceil((g->limit[j->level] - (j->served + now - j->since)) / j->size));
  }
  return next;
}

static double next_down(const berth_gang *g, double now) {
  if (g->o.published && g->o.rule == BERTH_GANG_LAS_2D) return published_down(g, now);
  return g->due.n > 0 ? g->due.at[0].key : INFINITY;
}

static berth_status wake(berth_gang *g, double now) {
  double down = next_down(g, now), up = g->up.n > 0 ? g->up.at[0].key : INFINITY, next = fmin(down, up);
  if (g->o.tick > 0 && isfinite(next)) next = ceil(next / g->o.tick) * g->o.tick;
  return berth_cluster_wake(g->c, fmax(now, next));
}

/* ---- decisions --------------------------------------------------------------------------------------------- */

static berth_i_gang_rank arrives(berth_gang *g, int32_t job) { return behind(g, job); }

/* In front of those that wait, unless it has just come into the queue. */
static berth_i_gang_rank paused(berth_gang *g, int32_t job) {
  berth_i_gang_rank rank = g->job[job].rank;
  if (rank.key > 2 * g->job[job].level) return rank;
  return (berth_i_gang_rank){ rank.key + 1, g->first_tie-- };
}

/* From now on they are among those that run. */
static void settle(berth_gang *g) {
  for (int32_t i = 0; i < g->n_running; i++) {
    berth_i_gang_job *j = &g->job[g->running[i]];
    if (j->rank.key > 2 * j->level) j->rank = (berth_i_gang_rank){ 2 * j->level, g->next_tie++ };
  }
}

static berth_status decide(berth_gang *g, double now) {
  bool changed;
  berth_status st;
  int64_t tie;
  berth_i_gang_queue_fresh(g);
  tie = g->next_tie;
  change_queues(g, now);
  changed = g->next_tie != tie;
  if ((st = berth_i_gang_choose(g, now)) != BERTH_OK) return st;
  if (changed || g->n_start > 0) settle(g);
  return wake(g, now);
}

static berth_status begins(berth_gang *g, int32_t job, double now) {
  (void)now;
  berth_i_heap_remove(&g->up, job);
  expect_down(g, job);
  return BERTH_OK;
}

static void stops(berth_gang *g, int32_t job, double now, bool over) {
  berth_i_heap_remove(&g->due, job);
  if (!over) expect_up(g, job, now);
}

const berth_i_gang_ops berth_i_gang_las = { .decide = decide, .arrives = arrives, .paused = paused, .ordered = true,
                                            .begins = begins, .stops = stops };
