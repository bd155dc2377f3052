/* What the registry of generators lists. Each writes all words of a problem whose map and chunks
 * are those of its row, stage by stage. `begin` has room for all actions of each stage, of which
 * there are fewer where B and W are one. */
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
/** B and W as one action. */
static inline void berth_i_put_full(berth_i_writer *w, int32_t local) {
  berth_i_put(w, local, w->p->o.joined ? BERTH_SCHEDULE_BACKWARD : BERTH_SCHEDULE_FULL);
}
/** Ends the word of a stage: the next one begins there. */
static inline void berth_i_close(berth_i_words *w, int32_t stage, const berth_i_writer *o) {
  w->begin[stage + 1] = w->begin[stage] + o->n;
}

/** Write all words; `begin` is that of the actions then.
 *  @return BERTH_EUNSUPPORTED, BERTH_EINFEASIBLE, BERTH_ENOMEM */
typedef berth_status (*berth_i_make_fn)(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_gpipe(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_1f1b(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_zb_h1(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_zb_h2(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_interleaved(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_bfs(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_dualpipe(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_dualpipev(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_zb_v(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_v_half(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_v_min(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_heuristic_1x(const berth_schedule_problem *p, berth_i_words *w);
berth_status berth_i_make_heuristic_2x(const berth_schedule_problem *p, berth_i_words *w);

/** The words of a generator; BERTH_EUNSUPPORTED also where the problem's shape is not its own. */
berth_status berth_i_generate(const berth_schedule_problem *p, int32_t generator,
                              berth_i_words *w);

/** The i-th skeleton (words without W's), from 0, of a zero-bubble schedule with one chunk a stage
 *  or in the V: zero_bubble.c.
 *  @param ahead [stages] scratch  @return false: there is none */
bool berth_i_zero_bubble(const berth_schedule_problem *p, int32_t i, int32_t *ahead,
                         berth_i_words *skeleton);

#endif
