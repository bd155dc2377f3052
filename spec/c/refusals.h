/* Every allocation of a job refused in turn, alone and with all that follow. */
#ifndef BERTH_REFUSALS_H
#define BERTH_REFUSALS_H

#include "must.h"

typedef berth_status refused_job(const void *what);

static check_alloc_state refusing;
static long refused_at; /* the n-th request from where refusals start; negative: and all after it */

/* In a job: what comes next is not refused; from here on requests are counted. */
static void let_pass(void) { refusing.fail_at = 0; }
static void refuse_from_here(void) {
  refusing.fail_at = refused_at > 0 ? refusing.calls + refused_at : refused_at - refusing.calls;
}

/* Some refusals are made good by asking for less: success alone does not end it. What the job has
 * from must_X is released for it.
 * @param sign 1: the n-th request is refused; -1: and all after it
 * @param coarse 0: every n; k: steps of n / k more
 * @return how often it ran */
static long refuse_each(refused_job *job, const void *what, int sign, int coarse) {
  berth_status st = BERTH_ENOMEM;
  long at = 0, runs = 0;
  for (refusing = (check_alloc_state){ 0, 0, 0 };
       refusing.calls >= sign * refusing.fail_at && runs < 5000; runs++) {
    let_pass();
    hooked(&(berth_hooks){ .alloc = check_alloc, .alloc_ud = &refusing });
    at += 1 + (coarse ? at / coarse : 0);
    refused_at = sign * at;
    refuse_from_here();
    st = job(what);
    if (!CHECK(st == BERTH_OK
               || (st == BERTH_ENOMEM && refusing.calls >= sign * refusing.fail_at)))
      printf("# allocation %ld: %s\n", at, berth_errmsg(ctx));
    hooked(NULL);
    if (!CHECK(refusing.held == 0))
      printf("# allocation %ld leaks %ld bytes\n", at, refusing.held);
  }
  CHECK_OK(st);
  return runs;
}

/* A job that needs nothing but ctx. */
static berth_status (*refused_work)(void);
static berth_status do_refused_work(const void *what) {
  (void)what;
  return refused_work();
}
static long refuse_bare(berth_status (*work)(void), int sign) {
  refused_work = work;
  return refuse_each(do_refused_work, NULL, sign, 0);
}
static void refuse_in_turn(berth_status (*work)(void), int sign) {
  CHECK(refuse_bare(work, sign) > 40);
}
#define TEST_REFUSALS(work) \
  TEST("every refused allocation is reported or made good, and leaks nothing") { \
    refuse_in_turn(work, 1); \
    refuse_in_turn(work, -1); \
  }

#endif
