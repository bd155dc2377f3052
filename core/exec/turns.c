/* Turns: what became ready, which op a device gets next, which transfers start. All under the lock.
 * The thread that has ended an op or a copy takes a turn: O(devices + ready ops + waiting
 * copies). */
#include "exec_internal.h"

double berth_i_exec_nominal(const berth_executor *x, int32_t op) {
  return berth_i_op_time(x->cost, op, x->device[op]) * x->scale;
}

/* ---- ops ---- */

static void make_ready(berth_executor *x, int32_t op) {
  berth_i_exec_device *d = &x->dev[x->device[op]];
  d->ready[d->n_ready++] = op;
  x->since[op] = x->sequence++;
  x->turns[op].ready = x->turn;
}

static void input_there(berth_executor *x, int32_t op) {
  if (--x->missing[op] == 0) make_ready(x, op);
}

/* Least goes first; ties: the op that became ready first. */
static double key(const berth_executor *x, int32_t op) {
  const berth_i_dispatch *d = berth_i_dispatch_of(x->o.dispatch);
  return d->key ? d->key(x->key, op, berth_i_exec_nominal(x, op), (double)x->since[op])
                : (double)x->since[op];
}

static bool precedes(const berth_executor *x, int32_t a, int32_t b) {
  double ka = key(x, a), kb = key(x, b);
  return ka < kb || (ka == kb && x->since[a] < x->since[b]);
}

/* O(ready) */
static int32_t choose(berth_executor *x, berth_i_exec_device *d) {
  int32_t best = 0;
  if (x->o.dispatch == BERTH_DISPATCH_RANDOM) {
    best = berth_rng_below(&x->rng, d->n_ready);
  } else {
    for (int32_t i = 1; i < d->n_ready; i++) {
      if (precedes(x, d->ready[i], d->ready[best])) best = i;
    }
  }
  int32_t op = d->ready[best];
  d->ready[best] = d->ready[--d->n_ready];
  return op;
}

static void start_next_op(berth_executor *x, int32_t device, double now) {
  berth_i_exec_device *d = &x->dev[device];
  if (d->op != BERTH_NONE || d->n_ready == 0) return;
  d->op = choose(x, d);
  x->start[d->op] = now;
  x->turns[d->op].start = x->turn;
  x->thread[device].first = d->op;
  x->busy++;
  pthread_cond_signal(&x->thread[device].wake);
}

/* ---- transfers ---- */

static void channels_of(const berth_executor *x, const berth_i_copy *c, size_t *out, size_t *in) {
  size_t n = (size_t)x->n_devices;
  *out = x->o.links == BERTH_LINKS_PAIR ? (size_t)c->src * n + (size_t)c->dst : (size_t)c->src;
  *in = x->o.links == BERTH_LINKS_PAIR     ? *out
        : x->o.links == BERTH_LINKS_DUPLEX ? n + (size_t)c->dst
                                           : (size_t)c->dst;
}

static bool is_free(const berth_executor *x, const berth_i_copy *c) {
  if (x->o.links == BERTH_LINKS_FREE) return true;
  size_t out, in;
  channels_of(x, c, &out, &in);
  return !x->channel[out] && !x->channel[in];
}

static void hold(berth_executor *x, const berth_i_copy *c, uint8_t held) {
  if (x->o.links == BERTH_LINKS_FREE) return;
  size_t out, in;
  channels_of(x, c, &out, &in);
  x->channel[out] = x->channel[in] = held;
}

/* Threads behind those of the devices: by sender, or by ordered pair without the diagonal. */
static berth_i_exec_thread *copier(const berth_executor *x, int32_t src, int32_t dst) {
  int32_t at = src;
  if (x->o.links == BERTH_LINKS_PAIR) at = src * (x->n_devices - 1) + dst - (dst > src);
  return &x->thread[x->n_devices + at];
}

static void start_copy(berth_executor *x, int32_t copy, double now) {
  berth_i_copy *c = &x->copy[copy];
  berth_i_exec_thread *t = copier(x, c->src, c->dst);
  hold(x, c, 1);
  c->start = now;
  c->next = t->first;
  t->first = copy;
  x->busy++;
  pthread_cond_signal(&t->wake);
}

/* Oldest first; those that cannot start stay in order. O(waiting) */
static void start_copies(berth_executor *x, double now) {
  int32_t kept = 0;
  for (int32_t i = 0; i < x->n_waiting; i++) {
    int32_t copy = x->waiting[i];
    if (is_free(x, &x->copy[copy])) start_copy(x, copy, now);
    else x->waiting[kept++] = copy;
  }
  x->n_waiting = kept;
}

static int32_t pieces_of(const berth_executor *x, int32_t tensor) {
  double n = (double)x->length[tensor] * sizeof(float) / 65536;
  return n < 1 ? 1 : n > 64 ? 64 : (int32_t)n;
}

static void request_copy(berth_executor *x, int32_t edge) {
  int32_t t = x->edge_tensor[edge], src = x->device[x->g->producer[t]],
          dst = x->device[x->g->use[edge]];
  berth_i_copy *c = &x->copy[x->n_copies];
  *c = (berth_i_copy){
    .edge = edge, .tensor = t, .src = src, .dst = dst, .pieces = pieces_of(x, t), .next = BERTH_NONE
  };
  c->seconds = berth_i_transfer_time(x->cost, t, src, dst) * x->scale;
  x->waiting[x->n_waiting++] = x->n_copies++;
  x->left++;
}

/* ---- turns ---- */

static void end_turn(berth_executor *x, double now) {
  if (atomic_load_explicit(&x->stop, memory_order_relaxed)) {
    if (x->busy == 0) pthread_cond_signal(&x->news);
    return;
  }
  start_copies(x, now);
  for (int32_t d = 0; d < x->n_devices; d++) start_next_op(x, d, now);
  if (x->left == 0) pthread_cond_signal(&x->news);
}

void berth_i_exec_begin(berth_executor *x) {
  const berth_graph *g = x->g;
  x->turn = 1;
  for (int32_t op = 0; op < g->n_ops; op++) {
    x->missing[op] = g->in_at[op + 1] - g->in_at[op];
    if (x->missing[op] == 0) make_ready(x, op);
  }
  end_turn(x, x->origin);
}

static void send_outputs(berth_executor *x, int32_t op) {
  const berth_graph *g = x->g;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t e = g->use_at[t]; e < g->use_at[t + 1]; e++) {
      if (x->lead[e] == BERTH_NONE) input_there(x, g->use[e]);
      else if (x->lead[e] == e) request_copy(x, e);
    }
  }
}

void berth_i_exec_op_ended(berth_executor *x, int32_t op) {
  double now = berth_i_exec_now();
  x->turn++;
  x->busy--;
  x->left--;
  x->finish[op] = now;
  x->turns[op].finish = x->turn;
  x->dev[x->device[op]].op = BERTH_NONE;
  send_outputs(x, op);
  end_turn(x, now);
}

void berth_i_exec_copy_ended(berth_executor *x, int32_t copy) {
  const berth_graph *g = x->g;
  berth_i_copy *c = &x->copy[copy];
  double now = berth_i_exec_now();
  x->turn++;
  x->busy--;
  x->left--;
  c->finish = now;
  hold(x, c, 0);
  for (int32_t e = c->edge; e < g->use_at[c->tensor + 1]; e++) {
    if (x->lead[e] == c->edge) input_there(x, g->use[e]);
  }
  end_turn(x, now);
}
