/* What rules share: those that wait, those that run, and, for rules with pauses, both in one
 * order: a job runs if it fits what is left by those before. Those that run are an array in order
 * of rank, those that wait a treap, so a decision is O(changes log jobs + jobs that run), not a
 * sort of all. */
#include "gang_internal.h"
#include "base/sort_internal.h"

static const berth_i_gang_rank before_all = { -INFINITY, INT64_MIN };

/* ---- those that wait, and all ---- */

void berth_i_gang_enqueue(berth_gang *g, int32_t job, berth_i_gang_rank rank) {
  g->job[job].rank = rank;
  berth_i_gang_queue_add(&g->waiting, job, rank, g->job[job].size,
                         g->job[job].left / g->job[job].nominal);
}

void berth_i_gang_queue_fresh(berth_gang *g) {
  for (int32_t i = 0; i < g->n_fresh; i++)
    berth_i_gang_enqueue(g, g->fresh[i], g->rule->arrives(g, g->fresh[i]));
  g->n_fresh = 0;
}

int32_t berth_i_gang_list_all(berth_gang *g) {
  int32_t n = g->n_running + g->waiting.n;
  memcpy(g->keep, g->running, (size_t)g->n_running * sizeof *g->keep);
  berth_i_gang_queue_list(&g->waiting, g->keep + g->n_running);
  berth_i_sort_ids(g->keep, n);
  return n;
}

/* ---- the order of those that run ---- */

/* At present, comparable with those that wait. */
static berth_i_gang_rank rank_at(berth_gang *g, int32_t i, double now) {
  int32_t job = g->running[i];
  return g->rule->rank ? g->rule->rank(g, job, now, g->now_tie + i) : g->job[job].rank;
}

/* Equal ones stay as they are. */
void berth_i_gang_sort(berth_gang *g, double now) {
  for (int32_t i = 0; i < g->n_running; i++) g->job[g->running[i]].rank = rank_at(g, i, now);
  for (int32_t i = 1, k; i < g->n_running; i++) {
    int32_t job = g->running[i];
    for (k = i; k > 0 && berth_i_gang_before(g->job[job].rank, g->job[g->running[k - 1]].rank); k--)
      g->running[k] = g->running[k - 1];
    g->running[k] = job;
  }
}

/* The first from `i` on that is not before rank. */
static int32_t place_of(berth_gang *g, int32_t i, berth_i_gang_rank rank, double now) {
  int32_t end = g->n_running;
  while (i < end) {
    int32_t middle = i + (end - i) / 2;
    if (berth_i_gang_before(
            g->rule->moves ? g->job[g->running[middle]].rank : rank_at(g, middle, now), rank))
      i = middle + 1;
    else end = middle;
  }
  return i;
}

void berth_i_gang_drop(berth_gang *g, int32_t job) {
  int32_t i = 0;
  while (g->running[i] != job) i++;
  memmove(g->running + i, g->running + i + 1, (size_t)(--g->n_running - i) * sizeof *g->running);
}

void berth_i_gang_insert(berth_gang *g, int32_t job, double now) {
  int32_t i = place_of(g, 0, g->job[job].rank, now);
  memmove(g->running + i + 1, g->running + i, (size_t)(g->n_running++ - i) * sizeof *g->running);
  g->running[i] = job;
}

berth_status berth_i_gang_stop(berth_gang *g, int32_t job, double now, berth_i_gang_rank rank) {
  berth_status st = berth_i_gang_pause(g, job, now);
  if (st != BERTH_OK) return st;
  berth_i_gang_drop(g, job);
  berth_i_gang_enqueue(g, job, rank);
  return BERTH_OK;
}

/* ---- going through all ---- */

typedef struct walk {
  double now;
  int32_t i, wait;             /* next that runs, next that waits and may fit; BERTH_NONE */
  berth_i_gang_rank cursor;    /* of the last waiting job that was considered */
  int32_t left, rest;          /* units left by those before; held by those that run, from i on */
  int32_t first, n_keep;       /* those before `first` run on as they are; keep[n_keep] come behind
                                  them */
  int32_t reserved;            /* places */
} walk;

static void advance(berth_gang *g, walk *w) {
  w->wait = berth_i_gang_queue_next(&g->waiting, w->cursor, w->left, INFINITY);
}

static void pass(berth_gang *g, walk *w) {
  w->cursor = g->job[w->wait].rank;
  advance(g, w);
}

/* ---- the same where places matter ---- */

static bool stays(berth_gang *g, int32_t job) {
  const berth_gang_run *r = &g->runs[g->job[job].run];
  if (!berth_i_gang_by_place(g)) return true;
  for (int32_t i = r->first; i < r->first + r->n; i++)
    if (g->plan[g->place_machine[i]] < g->place_amount[i]) return false;
  return true;
}

static void mark(berth_gang *g, int32_t job, int32_t *free_units, int32_t sign) {
  const berth_gang_run *r = &g->runs[g->job[job].run];
  if (!berth_i_gang_by_place(g)) return;
  for (int32_t i = r->first; i < r->first + r->n; i++)
    free_units[g->place_machine[i]] += sign * g->place_amount[i];
}

/* On free units, if it fits there; else also on those of jobs that come later. */
static bool reserve(berth_gang *g, walk *w, int32_t job) {
  if (!berth_i_gang_by_place(g)) return true;
  if (!berth_i_gang_find(g, g->restored, job) && !berth_i_gang_find(g, g->plan, job)) return false;
  for (int32_t i = 0; i < g->pick.n; i++, w->reserved++) {
    g->plan[g->pick.machine[i]] -= g->pick.amount[i];
    g->restored[g->pick.machine[i]] -= g->pick.amount[i];
    g->reserved[w->reserved] = (berth_i_gang_place){ job, g->pick.machine[i], g->pick.amount[i] };
  }
  return true;
}

/* Merges those that run with those that wait, in order: a job that fits what those before it leave
 * runs, any other pauses or waits. Where places do not matter it ends when all that still run fit
 * and no other that waits does. */
static void go_through(berth_gang *g, walk *w) {
  while (w->wait != BERTH_NONE
         || (w->i < g->n_running && (w->rest > w->left || berth_i_gang_by_place(g)))) {
    bool runs = w->i < g->n_running;
    if (runs && w->wait != BERTH_NONE) {
      berth_i_gang_rank r =
          g->rule->moves ? g->job[g->running[w->i]].rank : rank_at(g, w->i, w->now);
      runs = berth_i_gang_before(r, g->job[w->wait].rank);
    }
    if (runs) {
      int32_t job = g->running[w->i], size = g->job[job].size;
      if (!g->rule->moves) g->job[job].rank = rank_at(g, w->i, w->now);
      w->i++;
      w->rest -= size;
      if (size <= w->left && stays(g, job)) {
        w->left -= size;
        mark(g, job, g->plan, -1);
        g->keep[w->n_keep++] = job;
      } else {
        mark(g, job, g->restored, 1);
        g->pause[g->n_pause++] = job;
      }
      if (w->wait != BERTH_NONE && g->job[w->wait].size > w->left) pass(g, w);
    } else {
      if (reserve(g, w, w->wait)) {
        w->left -= g->job[w->wait].size;
        g->keep[w->n_keep++] = g->start[g->n_start++] = w->wait;
      }
      pass(g, w);
    }
  }
}

berth_status berth_i_gang_choose(berth_gang *g, double now) {
  /* 1. Ranks as of now. */
  walk w = { now, 0, BERTH_NONE, before_all, g->total, g->total - g->left, 0, 0, 0 };
  g->now_tie = g->next_tie;
  g->next_tie += g->n_running;
  if (g->waiting.n + g->n_fresh > 0 && g->rule->moves) berth_i_gang_sort(g, now);
  berth_i_gang_queue_fresh(g);
  g->n_start = g->n_pause = 0;
  /* 2. Skip the prefix of those that run for sure. */
  if (berth_i_gang_by_place(g)) {
    memcpy(g->plan, g->cap, (size_t)g->machines * sizeof *g->plan);
    memcpy(g->restored, g->free_units, (size_t)g->machines * sizeof *g->restored);
    advance(g, &w);
  } else {
    /* As long as no job begins, all that run fit, and need not be checked. */
    for (advance(g, &w); w.wait != BERTH_NONE; pass(g, &w)) {
      int32_t before = place_of(g, w.i, g->job[w.wait].rank, w.now);
      for (; w.i < before; w.i++) {
        w.left -= g->job[g->running[w.i]].size;
        w.rest -= g->job[g->running[w.i]].size;
      }
      if (g->job[w.wait].size <= w.left) break;
    }
    w.first = w.wait == BERTH_NONE ? g->n_running : w.i;
  }
  if (w.wait == BERTH_NONE) return BERTH_OK;
  /* 3. Which jobs run. */
  go_through(g, &w);
  g->reserved[w.reserved].job = BERTH_NONE;
  /* 4. running = those before `first`, keep, those that were not considered. */
  int32_t rest = g->n_running - w.i;
  memmove(g->running + w.first + w.n_keep, g->running + w.i, (size_t)rest * sizeof *g->running);
  memcpy(g->running + w.first, g->keep, (size_t)w.n_keep * sizeof *g->running);
  g->n_running = w.first + w.n_keep + rest;
  for (int32_t i = 0; i < g->n_start; i++) berth_i_gang_queue_remove(&g->waiting, g->start[i]);
  /* 5. Pauses; into the queue from the last on, so that a rule may put each in front. */
  berth_status st;
  for (int32_t i = 0; i < g->n_pause; i++)
    if ((st = berth_i_gang_pause(g, g->pause[i], now)) != BERTH_OK) return st;
  for (int32_t i = g->n_pause - 1; i >= 0; i--) {
    int32_t job = g->pause[i];
    berth_i_gang_enqueue(g, job, g->rule->paused ? g->rule->paused(g, job) : g->job[job].rank);
  }
  /* 6. Starts, on the places reserved. */
  int32_t from = 0;
  for (int32_t i = 0; i < g->n_start; i++) {
    int32_t job = g->start[i];
    if (berth_i_gang_by_place(g)) {
      for (g->pick.n = 0; g->reserved[from].job == job; ++from) {
        g->pick.machine[g->pick.n] = g->reserved[from].machine;
        g->pick.amount[g->pick.n++] = g->reserved[from].amount;
      }
    } else {
      berth_i_gang_find(g, g->free_units, job);
    }
    if ((st = berth_i_gang_begin(g, job, now)) != BERTH_OK) return st;
  }
  return BERTH_OK;
}
