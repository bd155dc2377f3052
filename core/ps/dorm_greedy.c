/* Dorm without its program. */
#include "dorm_internal.h"

static double distance(const berth_i_dorm_job *x, int32_t n) {
  return fabs(n * x->share - x->fair * x->share);
}

/* What is left of the sums, and the distance from fair shares so far. */
typedef struct state {
  double free_amount[BERTH_PS_RESOURCES], loss;
} state;

static void set(berth_i_dorm *d, state *s, berth_i_dorm_job *x, int32_t n) {
  for (int32_t i = 0; i < d->base.ps->o.resources; i++)
    s->free_amount[i] -= (n - x->chosen) * x->demand[i];
  s->loss += distance(x, n) - distance(x, x->chosen);
  x->chosen = n;
}

/* One more, if there is room, and fairness keeps to its limit or gets no worse. */
static bool add(berth_i_dorm *d, state *s, berth_i_dorm_job *x) {
  double loss = s->loss + distance(x, x->chosen + 1) - distance(x, x->chosen);
  if (x->chosen >= x->most || (loss > s->loss && loss > berth_i_dorm_unfairness(d) * (1 + 1e-9)))
    return false;
  for (int32_t i = 0; i < d->base.ps->o.resources; i++)
    if (x->demand[i] > s->free_amount[i] + BERTH_I_PS_TOLERANCE * d->base.total[i]) return false;
  set(d, s, x, x->chosen + 1);
  return true;
}

/* Takes the first of the queue, which is by `key`. */
static berth_i_dorm_job *next(berth_i_dorm *d) {
  return d->queue.n > 0 ? &d->list[berth_i_heap_pop(&d->queue, NULL)] : NULL;
}

/* Those farthest from fair come down to it; the others that run stay as they are: `most` says
 * so. */
static void free_some(berth_i_dorm *d, state *s) {
  int32_t left = berth_i_dorm_adjustable(d);
  for (int32_t k = 0; k < d->n; k++)
    if (d->list[k].runs) berth_i_heap_push(&d->queue, k, -distance(&d->list[k], d->list[k].before));
  berth_i_dorm_job *x;
  while ((x = next(d))) {
    bool may = left > 0 && distance(x, x->before) > 0;
    left -= may;
    if (may && x->before > x->fair) set(d, s, x, x->fair > 1 ? x->fair : 1);
    if (!may) x->most = x->before;
  }
}

void berth_i_dorm_greedy(berth_i_dorm *d) {
  state s = { { 0 }, 0 };
  memcpy(s.free_amount, d->base.total, sizeof s.free_amount);
  for (int32_t k = 0; k < d->n; k++) {
    d->list[k].chosen = 0;
    s.loss += distance(&d->list[k], 0);
    set(d, &s, &d->list[k], d->list[k].before);
  }
  free_some(d, &s);
  for (int32_t k = 0; k < d->n; k++)
    if (!d->list[k].runs) add(d, &s, &d->list[k]);
  for (int32_t k = 0; k < d->n; k++) berth_i_heap_push(&d->queue, k, -d->list[k].use);
  berth_i_dorm_job *x;
  while ((x = next(d)))
    while (add(d, &s, x)) continue;
}
