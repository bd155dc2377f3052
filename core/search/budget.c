/* What walks share of hooks and clock: the used part of the budget, told and asked on the calling
 * thread. */
#include "search_internal.h"

enum { LOOK_EVERY = 16 };

static double clock_now(const berth_i_search *s) { return berth_i_ctx_clock(s->p->ctx); }

static double used_part(const berth_i_search *s) {
  const berth_search_options *o = s->p->o;
  double part = 0;
  if (o->calls > 0) part = (double)atomic_load(&s->calls) / (double)o->calls;
  if (o->seconds > 0) part = fmax(part, atomic_load(&s->elapsed) / o->seconds);
  return fmin(part, 1);
}

static void tell(berth_i_search *s) {
  int hundredths = (int)(100 * used_part(s));
  if (hundredths <= s->told) return;
  s->told = hundredths;
  berth_i_progress(s->p->ctx, "search", hundredths / 100.0);
}

void berth_i_search_watch(berth_i_search *s) {
  if (s->p->o->seconds > 0) atomic_store(&s->elapsed, clock_now(s) - s->began);
  tell(s);
  if (atomic_load(&s->stopped) || berth_i_interrupted(s->p->ctx) == BERTH_OK) return;
  atomic_store(&s->asked, true);
  atomic_store(&s->stopped, true);
}

void berth_i_search_look(berth_i_search *s) {
  if (s->looks++ % LOOK_EVERY == 0 || s->p->o->objective) berth_i_search_watch(s);
}
