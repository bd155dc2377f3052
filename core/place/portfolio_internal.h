/* A run of the portfolio: its members, the jobs and workers that run them, and their reports.
 * Invariant: while jobs run, only the calling thread calls hooks and user functions; each other
 * worker has a context of its own, and answers move to the caller's context at the end. */
#ifndef BERTH_PORTFOLIO_INTERNAL_H
#define BERTH_PORTFOLIO_INTERNAL_H

#include "place_internal.h"
#include <pthread.h>
#include <stdatomic.h>

/** A member as it is run. The options are those with which berth_place gives the same. */
typedef struct berth_i_entry {
  berth_member member;
  const berth_i_placer *placer; /* NULL: the user's own function */
  berth_i_matching matching;
  berth_search_options search; /* of the search */
  bool baseline;    /* runs whatever the time */
  bool caller_only; /* on the calling thread */
  char *name;
  char text[1024];
} berth_i_entry;

struct berth_portfolio {
  berth_i_pool pool;
  berth_ctx *ctx;
  int32_t n, winner;
  berth_i_entry *entry;        /* [n] */
  berth_member_report *report; /* [n] */
};

/** What one thread works with. The calling one has the caller's context and cost; each other one
 *  has a context of its own, and borrowed copies of graph, topology and cost that name it, so that
 *  nothing shared is written. */
typedef struct berth_i_worker {
  struct berth_i_run *run;
  berth_ctx *ctx;
  berth_cost *cost;   /* that names ctx */
  berth_sim *sim;     /* NULL: none yet */
  berth_graph g;
  berth_topology t;
  berth_cost own;
  bool untimed;   /* what runs now is not stopped by the time */
  bool timed_out; /* ... was stopped by it */
} berth_i_worker;

typedef struct berth_i_run {
  berth_i_pool pool;
  berth_portfolio *p;
  berth_cost *cost;             /* the caller's */
  const berth_portfolio_options *o;
  berth_sim_options judge;
  bool own_sequence;        /* the judge runs each answer in its own order */
  berth_hooks hooks;        /* the caller's */
  double deadline;          /* by the clock; INFINITY: none */
  atomic_bool stopped;      /* by the hook, or nothing more can be found */
  atomic_bool hook_stopped; /* ... by the hook */
  atomic_int done;          /* members */
  int32_t reported;         /* of them to the progress hook */
  berth_i_worker *worker;
  int32_t workers;
  int32_t *job;         /* [n_jobs] member; BERTH_NONE: the linear program */
  uint8_t *caller_only; /* [n_jobs] */
  int32_t n_jobs;
  int32_t *favourite[BERTH_I_MATCHINGS]; /* [ops] each; NULL: not needed */
  pthread_mutex_t lock;                  /* of the linear program's outcome */
  pthread_cond_t solved;
  bool lp_done;
  berth_status lp_status;
  char lp_text[1024];
} berth_i_run;

/** Runs all members and judges their answers.
 *  @return BERTH_OK; BERTH_EINTERRUPT (hook), BERTH_ENOMEM, BERTH_ECALLBACK; errors of the judge's
 *          options */
berth_status berth_i_portfolio_execute(berth_i_run *r);

/** Places with one member and judges the answer, on worker w. */
void berth_i_portfolio_try(berth_i_worker *w, int32_t member);
/** Solves the linear program, on worker w, and wakes those that wait for it. */
void berth_i_portfolio_solve(berth_i_worker *w);

/** Seconds by the caller's clock; NaN without one. */
double berth_i_portfolio_now(const berth_i_run *r);

/** Calls of the search by default; 0 where there is nothing to choose. */
int64_t berth_i_portfolio_calls(const berth_graph *g, int32_t n_devices);

/** The reason why no answer keeps memory. */
berth_status berth_i_portfolio_refuse(const berth_i_run *r, berth_obstacle *why);

#endif
