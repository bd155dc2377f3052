/* Skeletons (words without W's) of zero-bubble schedules: F's, and then F and B in turn. W's fill
 * the gaps later (search/fill.c).
 * Source: Qi et al., "Zero Bubble Pipeline Parallelism", 2024, sec. 3.1 (the heuristic: before the
 * first B as many F's as fit, perhaps one more, and one more than on the next stage) and 6 (ZB-V).
 * Departs: theta, that W's may delay the next F or B by, stands for their rule of the largest
 * bubble. */
#include "generators_internal.h"

/* ---- one chunk a stage ---- */

/* F's before the first B: as many as end before it comes, and `more`; one more than on the next
 * stage at least, and with `few` at most. Memory holds them, and one fewer on each later stage. */
static void count_ahead(const berth_schedule_problem *p, int32_t more, bool few, int32_t *ahead) {
  double comes = 0, pace = 0;
  for (int32_t s = 0; s < p->p; s++) {
    comes += p->time[0][s] + p->lag[s];
    pace = fmax(pace, p->time[0][s]);
  }
  double begins = comes;
  for (int32_t s = p->p - 1; s >= 0; s--) {
    double least = s + 1 < p->p ? ahead[s + 1] + 1 : 1;
    double most = fmin(p->m, floor(p->limit[s] / p->adds[s] * (1 + 1e-12)) - s);
    begins -= p->time[0][s];
    double n = few || pace == 0 ? least : floor((comes - begins) / pace * (1 + 1e-12)) + more;
    ahead[s] = (int32_t)fmin(fmax(n, least), fmax(most, 1));
    begins -= p->lag[s];
    comes += p->time[1][s] + p->lag[s];
  }
}

static void one_chunk(const berth_schedule_problem *p, const int32_t *ahead, berth_i_words *out) {
  for (int32_t s = 0; s < p->p; s++) {
    berth_i_writer o = berth_i_writer_at(out, s);
    for (int32_t f = 0, b = 0; b < p->m;) {
      bool forward = f < p->m && f < b + ahead[s];
      berth_i_put(&o, 0, forward ? BERTH_SCHEDULE_FORWARD : BERTH_SCHEDULE_BACKWARD);
      if (forward) f++;
      else b++;
    }
    berth_i_close(out, s, &o);
  }
}

/* ---- the V ---- */

/* One more of chunk k, while there are any. */
static bool put(berth_i_writer *o, int32_t k, int32_t left[2], int32_t kind) {
  if (left[k] == 0) return false;
  left[k]--;
  berth_i_put(o, k, kind);
  return true;
}

/* F's fill the memory of 1x: 2(p - s) - 1 of the first chunk, then both in turn, the second first,
 * until that has s + 1. After a B come F and B of one chunk: p - 1 - s times of the second, until
 * the first B of the first comes back; then of both in turn. */
static void two_chunks(const berth_schedule_problem *p, berth_i_words *out) {
  for (int32_t s = 0; s < p->p; s++) {
    berth_i_writer o = berth_i_writer_at(out, s);
    int32_t f[2] = { p->m, p->m }, b[2] = { p->m, p->m };
    int32_t alone = 2 * (p->p - s) - 1, far = p->p - 1 - s;
    for (int32_t i = 0; i < alone; i++) put(&o, 0, f, BERTH_SCHEDULE_FORWARD);
    for (int32_t i = 0; i < 2 * s + 1; i++) put(&o, (i + 1) % 2, f, BERTH_SCHEDULE_FORWARD);
    put(&o, 1, b, BERTH_SCHEDULE_BACKWARD);
    for (int32_t i = 0; b[0] + b[1] > 0; i++) {
      int32_t k = i < far || (i - far) % 2;
      put(&o, k, f, BERTH_SCHEDULE_FORWARD);
      if (!put(&o, k, b, BERTH_SCHEDULE_BACKWARD)) put(&o, 1 - k, b, BERTH_SCHEDULE_BACKWARD);
    }
    berth_i_close(out, s, &o);
  }
}

bool berth_i_zero_bubble(const berth_schedule_problem *p, int32_t i, int32_t *ahead,
                         berth_i_words *skeleton) {
  if (i >= (p->v == 1 ? 4 : 1)) return false;
  if (p->v == 2) {
    two_chunks(p, skeleton);
    return true;
  }
  count_ahead(p, i % 2, i / 2, ahead);
  one_chunk(p, ahead, skeleton);
  return true;
}
