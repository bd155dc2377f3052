/* The Gittins index of attained service: what is the chance that a job ends within the next quantum, per GPU-s that it takes
 * meanwhile, given what it has had? By the service of jobs known before, or of those that have ended so far. It is looked at again
 * after each whole quantum; of equal ones those that run come first, then by job. */
#include "gang_internal.h"
#include "base/sort_internal.h"

static const int64_t WAITS = INT64_MAX / 2; /* ties of those that wait are from here on */

static void add_up(berth_gang *g) {
  berth_i_sort_numbers(g->history, g->n_history);
  for (int32_t i = 0; i < g->n_history; i++) g->sum[i + 1] = g->sum[i] + g->history[i];
}

/* How many of the history are not above x. */
static int32_t up_to(const berth_gang *g, double x) {
  int32_t low = 0, high = g->n_history;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (g->history[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Pr[S - a <= D | S > a] / E[min(S - a, D) | S > a]; 0 where nobody is known to have had more than a. */
static double index_at(const berth_gang *g, double a) {
  int32_t from = up_to(g, a), to = up_to(g, a + g->o.quantum), n = g->n_history;
  double spent = g->sum[to] - g->sum[from] - a * (to - from) + g->o.quantum * (n - to);
  return from < n ? (to - from) / spent : 0;
}

/* ---- whole quanta: job[].level of them ----------------------------------------------------------------------- */

static double key_of(const berth_gang *g, int32_t job) { return -index_at(g, g->job[job].level * g->o.quantum); }

static void expect(berth_gang *g, int32_t job) {
  berth_i_gang_job *j = &g->job[job];
  berth_i_heap_push(&g->due, job, j->since + ((j->level + 1) * g->o.quantum / j->size - j->served));
}

static void catch_up(berth_gang *g, double now) {
  while (g->due.n > 0 && g->due.at[0].key <= now) {
    int32_t job = berth_i_heap_pop(&g->due, NULL);
    g->job[job].level++;
    berth_i_gang_drop(g, job);
    g->job[job].rank = (berth_i_gang_rank){ key_of(g, job), g->next_tie++ };
    berth_i_gang_insert(g, job, now);
    expect(g, job);
  }
}

/* ---- learning ------------------------------------------------------------------------------------------------ */

static void rank_waiting(berth_gang *g) {
  int32_t n = g->waiting.n;
  berth_i_gang_queue_list(&g->waiting, g->keep);
  berth_i_gang_queue_clear(&g->waiting);
  for (int32_t i = 0; i < n; i++)
    berth_i_gang_enqueue(g, g->keep[i], (berth_i_gang_rank){ key_of(g, g->keep[i]), WAITS + g->keep[i] });
}

/* Those that have ended are counted in when there are a quarter more of them. */
static void learn(berth_gang *g, double now) {
  g->n_history = g->n_seen;
  add_up(g);
  rank_waiting(g);
  for (int32_t i = 0; i < g->n_running; i++) g->job[g->running[i]].rank.key = key_of(g, g->running[i]);
  berth_i_gang_sort(g, now);
}

/* ---- the rule ------------------------------------------------------------------------------------------------- */

static berth_status init(berth_gang *g, const berth_gang_options *o) {
  (void)o;
  add_up(g);
  return BERTH_OK;
}

static berth_i_gang_rank arrives(berth_gang *g, int32_t job) { return (berth_i_gang_rank){ key_of(g, job), WAITS + job }; }
static berth_i_gang_rank paused(berth_gang *g, int32_t job) { return (berth_i_gang_rank){ g->job[job].rank.key, WAITS + job }; }

static berth_status begins(berth_gang *g, int32_t job, double now) {
  (void)now;
  g->job[job].rank.tie = g->next_tie++;
  expect(g, job);
  return BERTH_OK;
}

static void stops(berth_gang *g, int32_t job, double now, bool over) {
  (void)now;
  berth_i_heap_remove(&g->due, job);
  if (over && g->learns) g->history[g->n_seen++] = g->job[job].served * g->job[job].size;
}

static berth_status decide(berth_gang *g, double now) {
  berth_status st;
  catch_up(g, now);
  if (g->learns && g->n_seen > g->n_history + g->n_history / 4) learn(g, now);
  if ((st = berth_i_gang_choose(g, now)) != BERTH_OK) return st;
  return berth_cluster_wake(g->c, g->waiting.n > 0 && g->due.n > 0 ? fmax(now, g->due.at[0].key) : INFINITY);
}

const berth_i_gang_ops berth_i_gang_gittins = { .decide = decide, .arrives = arrives, .ordered = true, .paused = paused,
                                                .begins = begins, .stops = stops, .init = init };
