/* Rules without pauses: FIFO, first fit, shortest first, and EASY backfill (Mu'alem and Feitelson,
 * IEEE TPDS 2001). Jobs wait in a queue by rank, which finds the next that fits in O(log jobs). */
#include "gang_internal.h"

static const berth_i_gang_rank before_all = { -INFINITY, INT64_MIN };

static berth_i_gang_rank by_arrival(berth_gang *g, int32_t job) {
  (void)g;
  return (berth_i_gang_rank){ 0, job };
}

static berth_i_gang_rank by_seconds(berth_gang *g, int32_t job) {
  return (berth_i_gang_rank){ g->job[job].left / g->job[job].nominal, job };
}

static berth_status begin(berth_gang *g, int32_t job, double now) {
  berth_i_gang_queue_remove(&g->waiting, job);
  return berth_i_gang_begin(g, job, now);
}

/* ---- first in, first out ---- */

/* @param head the first that has to wait, BERTH_NONE */
static berth_status begin_in_order(berth_gang *g, double now, int32_t *head) {
  berth_status st = BERTH_OK;
  berth_i_gang_queue_fresh(g);
  while (st == BERTH_OK) {
    *head = berth_i_gang_queue_next(&g->waiting, before_all, INT32_MAX, INFINITY);
    if (*head == BERTH_NONE || g->job[*head].size > g->left
        || !berth_i_gang_find(g, g->free_units, *head))
      break;
    st = begin(g, *head, now);
  }
  return st;
}

static berth_status fifo(berth_gang *g, double now) {
  int32_t head;
  return begin_in_order(g, now, &head);
}

static berth_status fit_first(berth_gang *g, double now) {
  berth_i_gang_rank cursor = before_all;
  berth_i_gang_queue_fresh(g);
  int32_t job;
  while ((job = berth_i_gang_queue_next(&g->waiting, cursor, g->left, INFINITY)) != BERTH_NONE) {
    berth_status st = BERTH_OK;
    cursor = g->job[job].rank;
    if (berth_i_gang_find(g, g->free_units, job)) st = begin(g, job, now);
    if (st != BERTH_OK) return st;
  }
  return BERTH_OK;
}

/* EASY backfill. Those that run are in order of their ends. O(running + waiting that may fit) */
static berth_status backfill(berth_gang *g, double now) {
  int32_t head;
  berth_status st = begin_in_order(g, now, &head);
  if (st != BERTH_OK || head == BERTH_NONE || g->left == 0) return st;
  /* 1. The shadow time, when the first that waits can begin, and the units that it leaves then.
   * INFINITY: places are missing, not units. */
  double shadow = INFINITY;
  int32_t surplus = 0, free_then = g->left;
  for (int32_t i = 0; i < g->n_running; i++) {
    free_then += g->job[g->running[i]].size;
    if (free_then < g->job[head].size) continue;
    shadow = g->job[g->running[i]].rank.key;
    surplus = free_then - g->job[head].size;
    break;
  }
  /* 2. In order: each job that fits, and ends before the shadow time or needs no more than the
   * surplus. Seconds that depend on places are known only once they are found. */
  berth_i_gang_rank cursor = g->job[head].rank;
  while (st == BERTH_OK) {
    int32_t least = g->left < surplus ? g->left : surplus;
    int32_t a = berth_i_gang_queue_next(&g->waiting, cursor, g->left,
                                        g->o.rate ? INFINITY : shadow - now);
    int32_t b = berth_i_gang_queue_next(&g->waiting, cursor, least, INFINITY);
    bool take_b = a == BERTH_NONE
                  || (b != BERTH_NONE && berth_i_gang_before(g->job[b].rank, g->job[a].rank));
    int32_t job = take_b ? b : a;
    if (job == BERTH_NONE) break;
    cursor = g->job[job].rank;
    if (!berth_i_gang_find(g, g->free_units, job)) continue;
    double rate;
    if ((st = berth_i_gang_rate(g, job, &rate)) != BERTH_OK) return st;
    bool in_time = now + g->job[job].left / rate <= shadow;
    if (!in_time && g->job[job].size > surplus) continue;
    if (!in_time) surplus -= g->job[job].size;
    st = begin(g, job, now);
  }
  return st;
}

static berth_status backfill_begins(berth_gang *g, int32_t job, double now) {
  g->job[job].rank = (berth_i_gang_rank){ berth_cluster_end_of(g->c, job), job };
  berth_i_gang_insert(g, job, now);
  return BERTH_OK;
}

/* ---- the rules ---- */

const berth_i_gang_rule berth_i_gang_fifo = {
  .about = {
    .choice = { "fifo", "By arrival; no job overtakes." },
    .reads = "rate placement",
  },
  .decide = fifo, .arrives = by_arrival,
};

const berth_i_gang_rule berth_i_gang_fit_first = {
  .about = {
    .choice = { "fit-first", "By arrival; any job that fits runs, at every event." },
    .reads = "rate placement",
  },
  .decide = fit_first, .arrives = by_arrival,
};

const berth_i_gang_rule berth_i_gang_sjf = {
  .about = {
    .choice = { "sjf", "By seconds of the whole job; any job that fits runs, at every event; no "
                       "pauses." },
    .source = "Weng et al., \"MLaaS in the Wild\", NSDI 2022, and its simulator",
    .reads = "rate placement",
  },
  .decide = fit_first, .arrives = by_seconds,
};

const berth_i_gang_rule berth_i_gang_backfill = {
  .about = {
    .choice = { "backfill", "By arrival; a job may overtake if it does not delay the first that "
                            "waits, as far as ends are known (EASY)." },
    .source = "Mu'alem and Feitelson, IEEE TPDS 2001",
    .reads = "rate placement",
  },
  .decide = backfill, .arrives = by_arrival, .ordered = true, .begins = backfill_begins,
};
