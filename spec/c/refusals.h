/* Every allocation of a job refused in turn. */
#ifndef BERTH_REFUSALS_H
#define BERTH_REFUSALS_H

#include "check.h"
#include <berth/berth.h>

/* Some refusals are made good by asking for less: success alone does not end it. */
static void check_refusals(berth_status (*build_all)(berth_ctx *ctx)) {
  check_alloc_state s = { 0, 0, 0 };
  berth_status st = BERTH_ENOMEM;
  long at = 0;
  TEST("every refused allocation is reported or made good, and leaks nothing");
  while (s.calls >= s.fail_at && at < 2000) {
    berth_hooks h = { check_alloc, &s, NULL, NULL, NULL, NULL, NULL };
    berth_ctx *ctx;
    s.fail_at = 0;
    CHECK_STATUS(berth_ctx_new(&h, &ctx), BERTH_OK);
    s.fail_at = s.calls + ++at;
    st = build_all(ctx);
    CHECK(st == BERTH_OK || (st == BERTH_ENOMEM && s.calls >= s.fail_at));
    berth_ctx_release(ctx);
    CHECK(s.held == 0);
  }
  CHECK(at > 40 && st == BERTH_OK);
}

#endif
