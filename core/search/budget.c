/* What walks share of hooks and clock. Invariant: only the calling thread calls hooks and reads the
 * clock; the other threads read `elapsed` and `stopped`. */
#include "search_internal.h"

enum { POLL_EVERY = 16 };

static double clock_now(const berth_i_search *s) { return berth_i_ctx_clock(s->p->ctx); }

static double used_part(const berth_i_search *s) {
  const berth_search_options *o = s->p->o;
  double part = 0;
  if (o->calls > 0) part = (double)atomic_load(&s->calls) / (double)o->calls;
  if (o->seconds > 0) part = fmax(part, atomic_load(&s->elapsed) / o->seconds);
  return fmin(part, 1);
}

static void report(berth_i_search *s) {
  int hundredths = (int)(100 * used_part(s));
  if (hundredths <= s->reported) return;
  s->reported = hundredths;
  berth_i_progress(s->p->ctx, "search", hundredths / 100.0);
}

void berth_i_search_watch(berth_i_search *s) {
  if (s->p->o->seconds > 0) atomic_store(&s->elapsed, clock_now(s) - s->began);
  report(s);
  if (atomic_load(&s->stopped) || berth_i_interrupted(s->p->ctx) == BERTH_OK) return;
  atomic_store(&s->interrupted, true);
  atomic_store(&s->stopped, true);
}

void berth_i_search_poll(berth_i_search *s) {
  if (s->polls++ % POLL_EVERY == 0 || s->p->o->objective) berth_i_search_watch(s);
}
