/* The loops of the threads: a device thread computes the op that it is given; a copier thread moves
 * pieces of the copies that it is given, the one due first. Neither decides what runs (turns.c). */
#include "exec_internal.h"

/* ---- devices ---- */

static void corrupt_result(const berth_executor *x, int32_t op, const berth_i_operands *a) {
  if (x->corrupt == op) a->out[0][a->out_length[0] / 2] += 1;
}

static void compute(berth_executor *x, int32_t op, berth_i_operands *a) {
  double seconds = berth_i_exec_nominal(x, op);
  if (x->o.mode == BERTH_EXEC_PACED) seconds *= x->o.duty;
  berth_i_exec_operands(x, op, a);
  berth_i_kernel_run(&x->kernel[op], a,
                     berth_i_kernel_amount(&x->kernel[op], a->n_in, seconds, &x->o), &x->stop);
  corrupt_result(x, op, a);
}

/* Under the lock. */
static void sleep_to_end(berth_executor *x, berth_i_exec_thread *t, int32_t op) {
  double end = x->start[op] + berth_i_exec_nominal(x, op);
  if (x->o.mode != BERTH_EXEC_PACED) return;
  while (!atomic_load_explicit(&x->stop, memory_order_relaxed) && berth_i_exec_now() < end) {
    berth_i_exec_wait_until(&t->wake, &x->lock, end);
  }
}

void *berth_i_exec_device_main(void *ud) {
  berth_i_exec_thread *t = ud;
  berth_executor *x = t->x;
  berth_i_exec_sharpen_timers();
  pthread_mutex_lock(&x->lock);
  while (!x->quit) {
    int32_t op = t->first;
    if (op == BERTH_NONE) {
      pthread_cond_wait(&t->wake, &x->lock);
      continue;
    }
    pthread_mutex_unlock(&x->lock);
    compute(x, op, &x->dev[t->number].args);
    pthread_mutex_lock(&x->lock);
    sleep_to_end(x, t, op);
    t->first = BERTH_NONE;
    berth_i_exec_op_ended(x, op);
  }
  pthread_mutex_unlock(&x->lock);
  return NULL;
}

/* ---- copies ---- */

static double due(const berth_i_copy *c) {
  return c->start + c->seconds * (c->done + 1) / c->pieces;
}

/* Of those under way the one whose next piece is due first. */
static int32_t next_due(const berth_executor *x, const berth_i_exec_thread *t) {
  int32_t best = t->first;
  for (int32_t i = t->first; i != BERTH_NONE; i = x->copy[i].next) {
    if (due(&x->copy[i]) < due(&x->copy[best])) best = i;
  }
  return best;
}

static void forget(berth_executor *x, berth_i_exec_thread *t, int32_t copy) {
  int32_t *at = &t->first;
  while (*at != copy) at = &x->copy[*at].next;
  *at = x->copy[copy].next;
}

/* Its numbers do not change while it is under way, but for `next`. */
static void copy_piece(const berth_executor *x, const berth_i_copy *c) {
  int64_t n = x->length[c->tensor], from = n * c->done / c->pieces,
          to = n * (c->done + 1) / c->pieces;
  memcpy(x->copy_at[c->edge] + from, x->home[c->tensor] + from,
         (size_t)(to - from) * sizeof(float));
}

/* Under the lock. */
static void go_on(berth_executor *x, berth_i_exec_thread *t, int32_t copy) {
  berth_i_copy piece = x->copy[copy];
  bool stopped = atomic_load_explicit(&x->stop, memory_order_relaxed);
  if (!stopped && berth_i_exec_now() < due(&piece)) {
    berth_i_exec_wait_until(&t->wake, &x->lock, due(&piece));
    return;
  }
  if (!stopped) {
    pthread_mutex_unlock(&x->lock);
    copy_piece(x, &piece);
    pthread_mutex_lock(&x->lock);
    if (++x->copy[copy].done < piece.pieces) return;
  }
  forget(x, t, copy);
  berth_i_exec_copy_ended(x, copy);
}

void *berth_i_exec_copier_main(void *ud) {
  berth_i_exec_thread *t = ud;
  berth_executor *x = t->x;
  berth_i_exec_sharpen_timers();
  pthread_mutex_lock(&x->lock);
  while (!x->quit) {
    if (t->first == BERTH_NONE) {
      pthread_cond_wait(&t->wake, &x->lock);
    } else {
      go_on(x, t, next_due(x, t));
    }
  }
  pthread_mutex_unlock(&x->lock);
  return NULL;
}
