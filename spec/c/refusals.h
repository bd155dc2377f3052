/* Every allocation of a job refused in turn, alone and with all that follow. */
#ifndef BERTH_REFUSALS_H
#define BERTH_REFUSALS_H

#include "must.h"

/* Some refusals are made good by asking for less: success alone does not end it. */
static inline void refuse_in_turn(berth_status (*work)(berth_ctx *ctx), int sign) {
  check_alloc_state s = { 0, 0, 0 };
  berth_status st = BERTH_ENOMEM;
  long at = 0;
  while (s.calls >= sign * s.fail_at && at < 2000) {
    berth_hooks h = { check_alloc, &s, NULL, NULL, NULL, NULL };
    s.fail_at = 0;
    berth_ctx *ctx = must_ctx_new(&h);
    s.fail_at = sign * (s.calls + ++at);
    st = work(ctx);
    if (!CHECK(st == BERTH_OK || (st == BERTH_ENOMEM && s.calls >= sign * s.fail_at)))
      printf("# allocation %ld: %s\n", at, berth_errmsg(ctx));
    berth_ctx_release(ctx);
    if (!CHECK(s.held == 0)) printf("# allocation %ld leaks %ld bytes\n", at, s.held);
  }
  CHECK(at > 40 && st == BERTH_OK);
}

static inline void check_refusals(berth_status (*work)(berth_ctx *ctx)) {
  TEST("every refused allocation is reported or made good, and leaks nothing");
  refuse_in_turn(work, 1);
  refuse_in_turn(work, -1);
}

#endif
