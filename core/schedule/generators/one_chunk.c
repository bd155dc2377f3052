/* Patterns with one chunk a stage: GPipe, 1F1B, ZB-H1, ZB-H2. */
#include "generators_internal.h"

berth_status berth_i_make_gpipe(const berth_schedule_problem *p, berth_i_words *w) {
  for (int32_t s = 0; s < p->p; s++) {
    berth_i_writer o = berth_i_writer_at(w, s);
    for (int32_t j = 0; j < p->m; j++) berth_i_put(&o, 0, BERTH_SCHEDULE_FORWARD);
    for (int32_t j = 0; j < p->m; j++) berth_i_put_full(&o, 0);
    berth_i_close(w, s, &o);
  }
  return BERTH_OK;
}

/* `ahead` F's, then F and B in turn, then B's. After a B comes a W if more than `most` wait, or if
 * there are no F's left. */
static void one_f_one_b(const berth_schedule_problem *p, berth_i_words *w, int32_t s,
                        int32_t ahead, int32_t most) {
  berth_i_writer o = berth_i_writer_at(w, s);
  int32_t f = 0, waiting = 0;
  while (f < ahead && f < p->m) {
    berth_i_put(&o, 0, BERTH_SCHEDULE_FORWARD);
    f++;
  }
  for (int32_t b = 0; b < p->m; b++) {
    bool cooling = f == p->m;
    if (!cooling) {
      berth_i_put(&o, 0, BERTH_SCHEDULE_FORWARD);
      f++;
    }
    berth_i_put(&o, 0, BERTH_SCHEDULE_BACKWARD);
    waiting++;
    if (p->o.joined || !(waiting > most || cooling)) continue;
    berth_i_put(&o, 0, BERTH_SCHEDULE_WEIGHT);
    waiting--;
  }
  for (; waiting > 0 && !p->o.joined; waiting--) berth_i_put(&o, 0, BERTH_SCHEDULE_WEIGHT);
  berth_i_close(w, s, &o);
}

berth_status berth_i_make_1f1b(const berth_schedule_problem *p, berth_i_words *w) {
  for (int32_t s = 0; s < p->p; s++) {
    berth_i_writer o = berth_i_writer_at(w, s);
    int32_t f = p->p - s - 1 < p->m ? p->p - s - 1 : p->m;
    for (int32_t j = 0; j < f; j++) berth_i_put(&o, 0, BERTH_SCHEDULE_FORWARD);
    for (int32_t b = 0; b < p->m; b++) {
      if (f++ < p->m) berth_i_put(&o, 0, BERTH_SCHEDULE_FORWARD);
      berth_i_put_full(&o, 0);
    }
    berth_i_close(w, s, &o);
  }
  return BERTH_OK;
}

berth_status berth_i_make_zb_h1(const berth_schedule_problem *p, berth_i_words *w) {
  for (int32_t s = 0; s < p->p; s++) one_f_one_b(p, w, s, p->p - s - 1, s);
  return BERTH_OK;
}

berth_status berth_i_make_zb_h2(const berth_schedule_problem *p, berth_i_words *w) {
  for (int32_t s = 0; s < p->p; s++) one_f_one_b(p, w, s, 2 * (p->p - s - 1), 2 * s);
  return BERTH_OK;
}
