/* Every allocation of a job refused in turn, alone and with all that follow. */
#ifndef BERTH_REFUSALS_H
#define BERTH_REFUSALS_H

#include "must.h"

typedef berth_status refused_job(berth_ctx *ctx, const void *what);

/* Some refusals are made good by asking for less: success alone does not end it.
 * @param sign 1: the n-th request is refused; -1: and all after it
 * @param coarse 0: every n; k: steps of n / k more
 * @return how often it ran */
static inline long refuse_each(refused_job *job, const void *what, int sign, int coarse) {
  check_alloc_state s = { 0, 0, 0 };
  berth_status st = BERTH_ENOMEM;
  long at = 0, runs = 0;
  for (; s.calls >= sign * s.fail_at && runs < 5000; runs++) {
    berth_hooks h = { check_alloc, &s, NULL, NULL, NULL, NULL };
    s.fail_at = 0;
    berth_ctx *ctx = must_ctx_new(&h);
    at += 1 + (coarse ? at / coarse : 0);
    s.fail_at = sign * (s.calls + at);
    st = job(ctx, what);
    if (!CHECK(st == BERTH_OK || (st == BERTH_ENOMEM && s.calls >= sign * s.fail_at)))
      printf("# allocation %ld: %s\n", at, berth_errmsg(ctx));
    berth_ctx_release(ctx);
    if (!CHECK(s.held == 0)) printf("# allocation %ld leaks %ld bytes\n", at, s.held);
  }
  CHECK_STATUS(st, BERTH_OK);
  return runs;
}

typedef struct bare_job {
  berth_status (*work)(berth_ctx *ctx);
} bare_job;

static inline berth_status do_bare_job(berth_ctx *ctx, const void *what) {
  return ((const bare_job *)what)->work(ctx);
}
static inline void refuse_in_turn(berth_status (*work)(berth_ctx *ctx), int sign) {
  CHECK(refuse_each(do_bare_job, &(bare_job){ work }, sign, 0) > 40);
}
static inline void check_refusals(berth_status (*work)(berth_ctx *ctx)) {
  TEST("every refused allocation is reported or made good, and leaks nothing");
  refuse_in_turn(work, 1);
  refuse_in_turn(work, -1);
}

#endif
