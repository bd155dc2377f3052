/* Ops that wait for their device: those whose ready time is known, and those that are ready. Inline
 * because hot. */
#ifndef BERTH_PENDING_INTERNAL_H
#define BERTH_PENDING_INTERNAL_H

#include "sim_internal.h"

/* ---- pending lists: ops whose ready time is known, by (time, seq) ---- */

/* Insertion looks back this far; what belongs before goes to the device's heap. Keeps the cost of
 * an insertion bounded. */
enum { BERTH_I_NEAR = 48 };

static inline bool berth_i_push_over(berth_i_sim_state *s, berth_i_sim_device *v, berth_i_ready e) {
  berth_i_ready_up(&s->over[v->base], v->n_over++, e);
  return s->over[v->base].op == e.op
         && (v->head == v->tail || berth_i_ready_before(e, s->pending[v->head]));
}

/** @return it is the first now */
BERTH_I_INLINE bool berth_i_pending_push(berth_i_sim_state *s, berth_i_sim_device *v,
                                         berth_i_ready e) {
  berth_i_ready *at = s->pending;
  int32_t i = v->tail, head = v->head;
  if (i - head > BERTH_I_NEAR && berth_i_ready_before(e, at[i - 1 - BERTH_I_NEAR]))
    return berth_i_push_over(s, v, e);
  v->tail++;
  for (; i > head && berth_i_ready_before(e, at[i - 1]); i--) at[i] = at[i - 1];
  at[i] = e;
  return i == head && (v->n_over == 0 || berth_i_ready_before(e, s->over[v->base]));
}

BERTH_I_INLINE const berth_i_ready *berth_i_pending_first(const berth_i_sim_state *s,
                                                          const berth_i_sim_device *v) {
  const berth_i_ready *first = v->head < v->tail ? &s->pending[v->head] : NULL;
  if (v->n_over == 0) return first;
  return first && berth_i_ready_before(*first, s->over[v->base]) ? first : &s->over[v->base];
}

BERTH_I_INLINE int32_t berth_i_pending_pop(berth_i_sim_state *s, berth_i_sim_device *v) {
  const berth_i_ready *first = berth_i_pending_first(s, v);
  if (v->n_over == 0 || first != &s->over[v->base]) return s->pending[v->head++].op;
  return berth_i_ready_pop(&s->over[v->base], v->n_over--).op;
}

/* ---- ready sets, for dispatches that choose: by key, or at random (no key function) ---- */

static inline void berth_i_ready_put(const berth_i_sim_plan *p, berth_i_sim_state *s,
                                     berth_i_sim_device *v, berth_i_ready e) {
  berth_i_ready *set = &s->ready[v->base];
  if (!p->dispatch_key) {
    set[v->n_ready++] = e;
  } else {
    berth_i_ready_up(set, v->n_ready++, e);
  }
}

static inline void berth_i_absorb_pending(const berth_i_sim_plan *p, berth_i_sim_state *s,
                                          berth_i_sim_device *v, double now) {
  const berth_i_ready *first;
  ptrdiff_t classes = p->cost->n_classes;
  const double *work = p->work + p->cost->class_of[v - s->dev];
  while ((first = berth_i_pending_first(s, v)) && first->time <= now) {
    berth_i_ready e;
    e.op = berth_i_pending_pop(s, v);
    e.seq = s->place++;
    e.time = p->dispatch_key ? p->dispatch_key(p->key, e.op, work[e.op * classes], e.seq) : 0;
    berth_i_ready_put(p, s, v, e);
  }
}

static inline int32_t berth_i_ready_take(const berth_i_sim_plan *p, berth_i_sim_state *s,
                                         berth_i_sim_device *v) {
  berth_i_ready *set = &s->ready[v->base], e;
  if (!p->dispatch_key) {
    int32_t k = berth_rng_below(&s->rng, v->n_ready);
    e = set[k];
    set[k] = set[--v->n_ready];
  } else {
    e = berth_i_ready_pop(set, v->n_ready--);
  }
  v->key = e.time;
  v->place = e.seq;
  return e.op;
}

/* ---- slots of devices ---- */

/* Busy: the end of the phase or, with preemption, an op that becomes ready before. */
static inline void berth_i_show_due(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d) {
  const berth_i_sim_device *v = &s->dev[d];
  const berth_i_ready *first = p->preempt ? berth_i_pending_first(s, v) : NULL;
  if (first && first->time < v->due) {
    berth_i_slot_set(&s->slots, d, first->time, first->seq | BERTH_I_CHOOSE);
  } else {
    berth_i_slot_set(&s->slots, d, v->due, v->due_seq);
  }
}

/* What is left of the run cannot end in time; `end`: not before. */
static inline void berth_i_cut_short(berth_i_sim_state *s, double end) {
  s->cut = true;
  s->limit = end;
}

/* It starts. @return the least time until all is done, if `least` is one */
static inline double berth_i_watch_start(const berth_i_sim_plan *p, berth_i_sim_state *s,
                                         int32_t op, double least) {
  double *left = &s->watch->left[s->ops[op].device];
  if (s->watch->tail && s->watch->tail[op] > least) least = s->watch->tail[op];
  if (berth_i_is_async(p, op)) return least;
  if (*left > least) least = *left;
  *left -= s->ops[op].work;
  return least;
}

/* ---- an op on its device (occupy.c); not in plain runs ---- */

void berth_i_begin_phase(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d,
                         berth_i_phase phase, double due);
void berth_i_begin_computing(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d);
/** A run with a limit: the op starts now. */
void berth_i_check_limit(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t op);
/** Pull: requests the inputs that are not on the device, and counts in `missing` those that come
 * later.
 *  @return when they are all there; INFINITY: until they arrive */
double berth_i_fetch_inputs(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t id);
/** The device takes the op: pulls what it needs, and computes. */
void berth_i_occupy(const berth_i_sim_plan *p, berth_i_sim_state *s, int32_t d, int32_t id);
/** The rest of the op goes back to its place among the ready ones. */
void berth_i_suspend(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v);
void berth_i_end_op(const berth_i_sim_plan *p, berth_i_sim_state *s, berth_i_sim_device *v);

#endif
