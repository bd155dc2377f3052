/* Patterns with one chunk a stage: GPipe, 1F1B. */
#include "generators_internal.h"

berth_status berth_i_make_gpipe(berth_schedule_problem *p, berth_i_words *w) {
  for (int32_t s = 0; s < p->p; s++) {
    berth_i_writer o = berth_i_writer_at(w, s);
    for (int32_t j = 0; j < p->m; j++) berth_i_put(&o, 0, BERTH_SCHEDULE_FORWARD);
    for (int32_t j = 0; j < p->m; j++) berth_i_put_backward(&o, 0);
  }
  return BERTH_OK;
}

berth_status berth_i_make_1f1b(berth_schedule_problem *p, berth_i_words *w) {
  for (int32_t s = 0; s < p->p; s++) {
    berth_i_writer o = berth_i_writer_at(w, s);
    int32_t ahead = p->p - s - 1 < p->m ? p->p - s - 1 : p->m;
    for (int32_t j = 0; j < ahead; j++) berth_i_put(&o, 0, BERTH_SCHEDULE_FORWARD);
    for (int32_t j = 0; j < p->m; j++) {
      if (j + ahead < p->m) berth_i_put(&o, 0, BERTH_SCHEDULE_FORWARD);
      berth_i_put_backward(&o, 0);
    }
  }
  return BERTH_OK;
}
