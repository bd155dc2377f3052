/* Work done again and again with the n-th allocation refused, for n = 1, 2, ... until it succeeds; nothing may leak. */
#ifndef BERTH_REFUSALS_H
#define BERTH_REFUSALS_H

#include "check.h"
#include <berth/base.h>

/** @param work all that is to be tried; `arg` is handed on  @param sign 1: one is refused, -1: all from it on */
static inline void check_refusals(berth_status (*work)(berth_ctx *ctx, int arg), int arg, long sign) {
  check_alloc_state s = { 0, 0, 0 };
  berth_hooks hooks = { check_alloc, &s, NULL, NULL, NULL, NULL, NULL };
  berth_status st = BERTH_ENOMEM;
  for (long n = 1; st == BERTH_ENOMEM; n++) {
    berth_ctx *ctx;
    s = (check_alloc_state){ 0, sign * n, 0 };
    if (berth_ctx_new(&hooks, &ctx) != BERTH_OK) continue;
    st = work(ctx, arg);
    if (st != BERTH_OK && st != BERTH_ENOMEM) printf("# allocation %ld: %s\n", n, berth_errmsg(ctx));
    berth_ctx_release(ctx);
    if (!CHECK(s.held == 0)) printf("# allocation %ld leaks %ld bytes\n", n, s.held);
  }
  CHECK_STATUS(st, BERTH_OK);
}

#endif
