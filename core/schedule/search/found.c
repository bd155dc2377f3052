/* The best words so far, and the budget. */
#include "search_internal.h"

enum { LOOK = 16 }; /* calls between looks at the clock and the hooks */

berth_i_cost berth_i_found_try(berth_i_found *f, const berth_i_words *skeleton,
                               const double *theta, double limit) {
  berth_i_cost c = berth_i_fill_run(&f->fill, skeleton, theta, limit);
  f->calls++;
  if (c.step < f->step) {
    f->step = c.step;
    memcpy(f->best.code, f->fill.words.code, f->best.begin[f->p->p] * sizeof *f->best.code);
  }
  return c;
}

bool berth_i_found_ends(berth_i_found *f) {
  if (f->stopped != BERTH_OK || f->used >= 1) return true;
  if (f->step <= f->bound * (1 + 1e-9)) return true;
  f->used = fmax(f->used, (double)f->calls / (double)f->most_calls);
  if (f->calls < f->next_look) return f->used >= 1;
  f->next_look = f->calls + LOOK;
  if (isfinite(f->most_seconds))
    f->used = fmax(f->used, (berth_i_ctx_clock(f->ctx) - f->started) / f->most_seconds);
  berth_i_progress(f->ctx, "schedule", fmin(f->used, 1));
  f->stopped = berth_i_interrupted(f->ctx);
  return f->stopped != BERTH_OK || f->used >= 1;
}
