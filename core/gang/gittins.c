/* The Gittins index of attained service: what is the chance that a job ends within the next
 * quantum, per GPU-s that it takes meanwhile, given what it has had? By the service of jobs known
 * before, or of those that have ended so far. It is computed again after each whole quantum; of
 * equal ones those that run come first, then by job. */
#include "gang_internal.h"
#include "base/sort_internal.h"

static const int64_t WAITING_RANK = INT64_MAX / 2; /* ties of those that wait are from here on */

typedef struct gittins {
  double quantum;    /* GPU-s */
  bool learns;       /* from jobs that end */
  double *history;   /* [most] GPU-s; the first n are sorted, and in use; n_seen are known */
  double *sum;       /* [most + 1] sums of history */
  int32_t most, n, n_seen;
} gittins;

static gittins *of(const berth_gang *g) { return g->state; }

static void add_up(gittins *h) {
  berth_i_sort_numbers(h->history, h->n);
  for (int32_t i = 0; i < h->n; i++) h->sum[i + 1] = h->sum[i] + h->history[i];
}

/* How many of the history are not above x. */
static int32_t up_to(const gittins *h, double x) {
  int32_t low = 0, high = h->n;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (h->history[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Pr[S - a <= D | S > a] / E[min(S - a, D) | S > a]; 0 where no job is known to have had more than
 * a. */
static double index_at(const gittins *h, double a) {
  int32_t from = up_to(h, a), to = up_to(h, a + h->quantum);
  double spent = h->sum[to] - h->sum[from] - a * (to - from) + h->quantum * (h->n - to);
  return from < h->n ? (to - from) / spent : 0;
}

/* ---- whole quanta: job[].level of them ---- */

static double key_of(const berth_gang *g, int32_t job) {
  return -index_at(of(g), g->job[job].level * of(g)->quantum);
}

static void expect(berth_gang *g, int32_t job) {
  berth_i_gang_job *j = &g->job[job];
  berth_i_heap_push(&g->due, job,
                    j->since + ((j->level + 1) * of(g)->quantum / j->size - j->served));
}

/* ---- the rule ---- */

static berth_i_gang_rank arrives(berth_gang *g, int32_t job) {
  return (berth_i_gang_rank){ key_of(g, job), WAITING_RANK + job };
}
static berth_i_gang_rank paused(berth_gang *g, int32_t job) {
  return (berth_i_gang_rank){ g->job[job].rank.key, WAITING_RANK + job };
}

static berth_status begins(berth_gang *g, int32_t job, double now) {
  (void)now;
  g->job[job].rank.tie = g->next_tie++;
  expect(g, job);
  return BERTH_OK;
}

static void stops(berth_gang *g, int32_t job, double now, bool over) {
  gittins *h = of(g);
  (void)now;
  berth_i_heap_remove(&g->due, job);
  if (over && h->learns) h->history[h->n_seen++] = g->job[job].served * g->job[job].size;
}

static berth_status decide(berth_gang *g, double now) {
  const gittins *h = of(g);
  /* Jobs that have had another quantum. */
  while (g->due.n > 0 && g->due.at[0].key <= now) {
    int32_t job = berth_i_heap_pop(&g->due, NULL);
    g->job[job].level++;
    berth_i_gang_drop(g, job);
    g->job[job].rank = (berth_i_gang_rank){ key_of(g, job), g->next_tie++ };
    berth_i_gang_insert(g, job, now);
    expect(g, job);
  }
  if (h->learns && h->n_seen > h->n + h->n / 4) {
    /* Those that have ended are counted in when there are a quarter more of them. */
    of(g)->n = of(g)->n_seen;
    add_up(of(g));
    int32_t n = g->waiting.n;
    berth_i_gang_queue_list(&g->waiting, g->keep);
    berth_i_gang_queue_clear(&g->waiting);
    for (int32_t i = 0; i < n; i++)
      berth_i_gang_enqueue(g, g->keep[i],
                           (berth_i_gang_rank){ key_of(g, g->keep[i]), WAITING_RANK + g->keep[i] });
    for (int32_t i = 0; i < g->n_running; i++)
      g->job[g->running[i]].rank.key = key_of(g, g->running[i]);
    berth_i_gang_sort(g, now);
  }
  berth_status st;
  if ((st = berth_i_gang_choose(g, now)) != BERTH_OK) return st;
  return berth_cluster_wake(g->c, g->waiting.n > 0 && g->due.n > 0 ? fmax(now, g->due.at[0].key)
                                                                   : INFINITY);
}

/* ---- options ---- */

berth_gang_gittins_options berth_gang_gittins_default(void) {
  return (berth_gang_gittins_options){ .quantum = 3250 };
}

static void set_defaults(void *out) {
  *(berth_gang_gittins_options *)out = berth_gang_gittins_default();
}

static const berth_option_table *table(void) {
  static const berth_option options[] = {
    { BERTH_I_OPTION_LIST(berth_gang_gittins_options, history, n_history, NUMBERS),
      .fallback = "those that have ended so far", .text = "GPU-s of jobs known before" },
    { BERTH_I_OPTION(berth_gang_gittins_options, quantum, NUMBER), .above = 1,
      .text = "GPU-s to look ahead, after each of which its index is computed again" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("gang gittins", options, berth_gang_gittins_options, set_defaults);
}

static berth_status init(berth_gang *g, const void *own) {
  const berth_gang_gittins_options *o = own;
  gittins *h = g->state = berth_i_pool_zalloc(&g->pool, 1, sizeof *h);
  if (!h) return berth_i_nomem(g->ctx);
  h->quantum = o->quantum;
  h->learns = !o->history;
  h->most = h->learns ? g->n : o->n_history;
  h->history = berth_i_pool_alloc(&g->pool, (size_t)h->most, sizeof *h->history);
  h->sum = berth_i_pool_zalloc(&g->pool, (size_t)h->most + 1, sizeof *h->sum);
  if (berth_i_pool_status(&g->pool) != BERTH_OK) return BERTH_ENOMEM;
  if (!h->learns) h->n = o->n_history;
  if (h->n > 0) memcpy(h->history, o->history, (size_t)h->n * sizeof *h->history);
  add_up(h);
  return BERTH_OK;
}

const berth_i_gang_rule berth_i_gang_gittins = {
  .about = {
    .choice = { "gittins", "By the chance to end within the next quantum per GPU-s that it takes, "
                           "given the service so far; runs and pauses as srtf." },
    .source = "Gu et al., \"Tiresias\", NSDI 2019, 2D-Gittins",
    .reads = "rate placement history quantum",
    .options = table,
  },
  .decide = decide, .arrives = arrives, .ordered = true, .paused = paused, .begins = begins,
  .stops = stops, .init = init,
};
