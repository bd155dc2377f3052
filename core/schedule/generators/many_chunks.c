/* Patterns with several chunks a stage, in the order of chunks of the model: interleaved 1F1B and
 * breadth first. */
#include "generators_internal.h"

/* The chunk of the k-th F of a stage: groups of p micro-batches, chunk by chunk. */
static int32_t local_of(const berth_schedule_problem *p, int32_t k) { return k / p->p % p->v; }

berth_status berth_i_make_interleaved(const berth_schedule_problem *p, berth_i_words *w) {
  if (p->m % p->p)
    return berth_i_fail(p->ctx, BERTH_EUNSUPPORTED,
                        "schedule: interleaved-1f1b requires a multiple of %d micro-batches (one "
                        "per stage), given %d",
                        (int)p->p, (int)p->m);
  int32_t all = p->m * p->v;
  for (int32_t s = 0; s < p->p; s++) {
    berth_i_writer o = berth_i_writer_at(w, s);
    int32_t ahead = (p->p - s - 1) * 2 + (p->v - 1) * p->p, f = 0;
    if (ahead > all || p->m == p->p) ahead = all;
    for (; f < ahead; f++) berth_i_put(&o, local_of(p, f), BERTH_SCHEDULE_FORWARD);
    for (int32_t b = 0; b < all; b++) {
      if (f < all) berth_i_put(&o, local_of(p, f++), BERTH_SCHEDULE_FORWARD);
      berth_i_put_full(&o, p->v - 1 - local_of(p, b));
    }
    berth_i_close(w, s, &o);
  }
  return BERTH_OK;
}

berth_status berth_i_make_bfs(const berth_schedule_problem *p, berth_i_words *w) {
  for (int32_t s = 0; s < p->p; s++) {
    berth_i_writer o = berth_i_writer_at(w, s);
    for (int32_t k = 0; k < p->v; k++)
      for (int32_t j = 0; j < p->m; j++) berth_i_put(&o, k, BERTH_SCHEDULE_FORWARD);
    for (int32_t k = p->v - 1; k >= 0; k--)
      for (int32_t j = 0; j < p->m; j++) berth_i_put_full(&o, k);
    berth_i_close(w, s, &o);
  }
  return BERTH_OK;
}
