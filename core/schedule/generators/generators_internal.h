/* What the registry of generators lists. Each writes all words of a problem whose map and chunks
 * are those of its row; `begin` has room for all actions of each stage, and all are written unless
 * it says otherwise. */
#ifndef BERTH_GENERATORS_INTERNAL_H
#define BERTH_GENERATORS_INTERNAL_H

#include "schedule/schedule_internal.h"

/* Appends to the word of one stage. */
typedef struct berth_i_writer {
  const berth_schedule_problem *p;
  berth_i_code *code;
  size_t n;
} berth_i_writer;

static inline berth_i_writer berth_i_writer_at(const berth_i_words *w, int32_t stage) {
  return (berth_i_writer){ w->p, w->code + w->begin[stage], 0 };
}
static inline void berth_i_put(berth_i_writer *w, int32_t local, int32_t kind) {
  w->code[w->n++] = berth_i_code_of(local, kind);
}
/** F, or B and W at once: of a problem with W's apart, two actions. */
static inline void berth_i_put_backward(berth_i_writer *w, int32_t local) {
  berth_i_put(w, local, BERTH_SCHEDULE_BACKWARD);
  if (!w->p->o.joined) berth_i_put(w, local, BERTH_SCHEDULE_WEIGHT);
}

berth_status berth_i_make_gpipe(berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_1f1b(berth_schedule_problem *p, berth_i_words *w);

#endif
