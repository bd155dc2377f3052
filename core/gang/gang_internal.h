/* What the files of the gang schedulers share: the queue of waiting jobs, the scheduler's state,
 * and the descriptor by which a rule plugs in. */
#ifndef BERTH_GANG_INTERNAL_H
#define BERTH_GANG_INTERNAL_H

#include "base/heap_internal.h"
#include "base/pool_internal.h"
#include <berth/gang.h>

/* ---- jobs that wait, in order: queue.c ---- */

typedef struct berth_i_gang_rank {
  double key;
  int64_t tie;
} berth_i_gang_rank;

static inline bool berth_i_gang_before(berth_i_gang_rank a, berth_i_gang_rank b) {
  return a.key < b.key || (a.key == b.key && a.tie < b.tie);
}

typedef struct berth_i_gang_node {
  berth_i_gang_rank rank;
  double seconds, least_seconds; /* left to run; the least of the subtree */
  int32_t size, least_size;
  int32_t left, right;
} berth_i_gang_node;

/** A treap; its shape is a function of the job numbers in it. */
typedef struct berth_i_gang_queue {
  berth_i_gang_node *at; /* [n_jobs] */
  int32_t root, n;
} berth_i_gang_queue;

berth_status berth_i_gang_queue_init(berth_i_pool *pool, berth_i_gang_queue *q, int32_t n_jobs);
void berth_i_gang_queue_add(berth_i_gang_queue *q, int32_t job, berth_i_gang_rank rank,
                            int32_t size, double seconds);
void berth_i_gang_queue_remove(berth_i_gang_queue *q, int32_t job);
/** The first behind `after` that is not larger and not longer; BERTH_NONE. O(log n) if `seconds` is
 * INFINITY */
int32_t berth_i_gang_queue_next(const berth_i_gang_queue *q, berth_i_gang_rank after, int32_t size,
                                double seconds);
void berth_i_gang_queue_clear(berth_i_gang_queue *q);
/** All, in order.  @param job [q->n] out */
void berth_i_gang_queue_list(const berth_i_gang_queue *q, int32_t *job);

/* ---- a scheduler ---- */

typedef struct berth_i_gang_job {
  int32_t size, run;        /* its open run; BERTH_NONE */
  double nominal;           /* work per s by which it is ordered */
  double left;              /* work, while it waits */
  berth_i_gang_rank rank;   /* present one; of jobs that run as of the last decision */
  double served, since;     /* s run (LAS: since it was put up); present while it waits, else as of
                               `since` */
  int32_t level;            /* LAS: queue */
} berth_i_gang_job;

/* Places being chosen. */
typedef struct berth_i_gang_places {
  int32_t *machine, *amount; /* [machines] */
  int32_t n;
} berth_i_gang_places;

typedef struct berth_i_gang_place {
  int32_t job, machine, amount;
} berth_i_gang_place;

typedef struct berth_i_gang_rule berth_i_gang_rule;

struct berth_gang {
  berth_i_pool pool;            /* what the rule keeps in `state` is in it, too */
  berth_ctx *ctx;
  berth_gang_options o;
  const berth_i_gang_rule *rule;
  int32_t n;
  berth_i_gang_job *job;        /* [n] */
  uint8_t *consolidate;         /* [n], NULL */
  berth_i_gang_queue waiting;
  int32_t *running, n_running;  /* in the order of the rule */
  int32_t *fresh, n_fresh;      /* arrived since the last decision */
  int32_t *start, n_start, *pause, n_pause; /* chosen by a decision */
  int32_t *keep;                /* [n] scratch: those that run afterwards */
  int64_t next_tie, now_tie;    /* from now_tie on: of those that run at this decision */

  berth_cluster *c;             /* during its run */
  int32_t machines, resources, total, left; /* units in all; not held */
  int32_t *cap, *free_units;          /* [machines] units */
  int32_t *plan, *restored;         /* [machines] consolidation: left beside those chosen so far;
                                       and beside all others that run */
  int32_t idle, lowest;         /* machines without jobs; none below `lowest` has free units */
  berth_i_gang_places pick;
  size_t cap_reserved;
  berth_i_gang_place *reserved; /* consolidation: of those chosen to begin */
  double *amount;               /* [machines * resources] for the cluster */

  berth_i_heap due, up;         /* LAS: jobs that run, by when they go down; that wait, by when they
                                   go up */
  int64_t first_tie;
  void *state;                  /* of the rule: what its `init` has made; NULL */
  bool reallocate;              /* a slot has begun; where there are none: jobs have come or gone */

  berth_gang_run *runs;
  int32_t n_runs, n_places;
  size_t cap_runs, cap_machine, cap_amount;
  int32_t *place_machine, *place_amount;
  berth_gang_count *counts;
  int32_t n_counts;
  size_t cap_counts;
};

/** One rule: its descriptor. A new one is a file with its descriptor and a line of
 * BERTH_GANG_RULES. Those without pauses need decide and arrives only. */
struct berth_i_gang_rule {
  berth_gang_about about;
  berth_status (*decide)(berth_gang *g, double now);
  berth_i_gang_rank (*arrives)(berth_gang *g, int32_t job); /* its rank */
  /** Of one that runs, now, among those that wait; NULL: job[].rank as it is. tie: later than of
   * all that wait already. */
  berth_i_gang_rank (*rank)(berth_gang *g, int32_t job, double now, int64_t tie);
  bool ordered; /* g->running is kept, in order */
  bool moves;   /* the order of those that run changes by itself */
  berth_i_gang_rank (*paused)(berth_gang *g, int32_t job); /* from the last to the first; NULL: the
                                                              rank that it has */
  berth_status (*begins)(berth_gang *g, int32_t job, double now);
  void (*stops)(berth_gang *g, int32_t job, double now, bool over);
  double (*speed)(berth_gang *g, int32_t job);    /* on g->pick; NULL: as the option `rate` says */
  bool (*fits)(const berth_gang *g, int32_t job); /* alone; NULL: if it finds places in an empty
                                                     cluster */
  /** Checks what the table of options does not, and makes g->state; sizes are known.  @param own
   * borrowed; NULL: it has none */
  berth_status (*init)(berth_gang *g, const void *own);
  berth_status (*attach)(berth_gang *g);       /* when the cluster is known */
};

/* place.c */
/** Places for a job among `free_units`.  @return whether there are any; they are in g->pick */
bool berth_i_gang_find(berth_gang *g, const int32_t *free_units, int32_t job);
/** The fewest machines that hold it, the fullest of these. */
bool berth_i_gang_find_packed(berth_gang *g, const int32_t *free_units, int32_t size);
bool berth_i_gang_find_any(berth_gang *g, const int32_t *free_units, int32_t size);
/** Would it fit an empty cluster? */
bool berth_i_gang_fits_ever(berth_gang *g, int32_t job);
/** Nominal rate: as on the first places of an empty cluster. */
berth_status berth_i_gang_nominal(berth_gang *g, int32_t job);
bool berth_i_gang_by_place(const berth_gang *g); /* whether a job fits is not only a matter of how
                                                    much is left */
/** Begins on g->pick. */
berth_status berth_i_gang_begin(berth_gang *g, int32_t job, double now);
berth_status berth_i_gang_pause(berth_gang *g, int32_t job, double now);
/** @param over it has ended; it pauses else */
void berth_i_gang_give_back(berth_gang *g, int32_t job, double now, bool over);
berth_status berth_i_gang_rate(berth_gang *g, int32_t job, double *rate); /* on g->pick */

/* order.c */
/** Puts those that have arrived in the queue. */
void berth_i_gang_queue_fresh(berth_gang *g);
void berth_i_gang_enqueue(berth_gang *g, int32_t job, berth_i_gang_rank rank);
/** All that are there, by arrival, in g->keep.  @return their number */
int32_t berth_i_gang_list_all(berth_gang *g);
/** One of g->running pauses and waits by that rank. */
berth_status berth_i_gang_stop(berth_gang *g, int32_t job, double now, berth_i_gang_rank rank);
/** Goes through those that run and those that wait, in order: those that fit run, others pause. */
berth_status berth_i_gang_choose(berth_gang *g, double now);
/** Those that run, nearly in order, by their ranks now. */
void berth_i_gang_sort(berth_gang *g, double now);
/** Takes a job that has ended out of g->running. */
void berth_i_gang_drop(berth_gang *g, int32_t job);
/** Puts it among them, by its rank. */
void berth_i_gang_insert(berth_gang *g, int32_t job, double now);

#endif
