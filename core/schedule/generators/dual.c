/* DualPipe and DualPipeV. Both are one pattern: a stage has a near chunk, on which micro-batches
 * come first, and a far one; the stage where the two meet is the last of `ranks`. With the
 * bidirectional map, the two halves of the stages mirror each other.
 * Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, sec. 3.2, and the steps that its
 * published code names. */
#include "generators_internal.h"

/* One stage while it is written; near and far are numbers of chunks. */
typedef struct dual {
  berth_i_writer o;
  int32_t near, far;
  int32_t *open, first, n; /* W's that wait, as chunks: a queue */
} dual;

static void forward(dual *d, int32_t k) { berth_i_put(&d->o, k, BERTH_SCHEDULE_FORWARD); }

/* B and W at once; or B alone, and its W later. */
static void backward(dual *d, int32_t k, bool apart) {
  if (!apart || d->o.p->o.joined) {
    berth_i_put_full(&d->o, k);
    return;
  }
  berth_i_put(&d->o, k, BERTH_SCHEDULE_BACKWARD);
  d->open[d->n++] = k;
}

static void weight(dual *d) {
  if (d->first < d->n) berth_i_put(&d->o, d->open[d->first++], BERTH_SCHEDULE_WEIGHT);
}

static void both(dual *d, int32_t f, int32_t b) {
  forward(d, f);
  d->o.code[d->o.n - 1] |= BERTH_I_OVERLAPPED;
  backward(d, b, false);
}

/* The eight steps of the published code. */
static void write_stage(dual *d, int32_t ranks, int32_t rank, int32_t m) {
  int32_t to_last = ranks - rank - 1, half = (rank + 1) / 2;
  for (int32_t i = 0; i < 2 * to_last; i++) forward(d, d->near);
  for (int32_t i = 0; i < rank + 1; i++) {
    forward(d, d->near);
    forward(d, d->far);
  }
  for (int32_t i = 0; i < to_last; i++) {
    backward(d, d->far, true);
    weight(d);
    forward(d, d->far);
  }
  for (int32_t i = 0; i < m - 2 * ranks + rank + 1; i++) {
    if (i == 0 && to_last == 0) {
      forward(d, d->near);
      backward(d, d->far, false);
    } else both(d, d->near, d->far);
    both(d, d->far, d->near);
  }
  for (int32_t i = 0; i < to_last; i++) {
    backward(d, d->far, false);
    both(d, d->far, d->near);
  }
  for (int32_t i = 0; i < rank + 1; i++) {
    backward(d, d->far, i > half || (i == half && rank % 2 == 1));
    backward(d, d->near, i >= half);
  }
  for (int32_t i = 0; i < to_last; i++) {
    weight(d);
    backward(d, d->near, true);
  }
  for (int32_t i = 0; i < rank + 1; i++) weight(d);
}

static berth_status write_all(const berth_schedule_problem *p, berth_i_words *w, bool mirrored) {
  int32_t ranks = mirrored ? p->p / 2 : p->p, m = mirrored ? p->m / 2 : p->m;
  if (m < 2 * ranks)
    return berth_i_fail(p->ctx, BERTH_EUNSUPPORTED,
                        "schedule: dual pipelines of %d stages require %d micro-batches, given %d",
                        (int)p->p, (int)(2 * p->p), (int)p->m);
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  int32_t *open = berth_i_pool_alloc(&pool, 2 * (size_t)p->m, sizeof *open);
  for (int32_t s = 0; open && s < p->p; s++) {
    bool second = mirrored && s >= ranks;
    dual d = { berth_i_writer_at(w, s), second, !second, open, 0, 0 };
    write_stage(&d, ranks, second ? p->p - 1 - s : s, m);
    berth_i_close(w, s, &d.o);
  }
  berth_status st = berth_i_pool_status(&pool);
  berth_i_pool_free(&pool);
  return st;
}

berth_status berth_i_make_dualpipe(const berth_schedule_problem *p, berth_i_words *w) {
  return write_all(p, w, true);
}

berth_status berth_i_make_dualpipev(const berth_schedule_problem *p, berth_i_words *w) {
  return write_all(p, w, false);
}
