/* What holds of any execution, from its report alone: precedence, one thing at a time, no device
 * idle while it could work. */
#ifndef BERTH_EXEC_CHECKER_H
#define BERTH_EXEC_CHECKER_H

#include "sim/sim_help.h"

typedef struct traced {
  const berth_execution *r;
  const berth_graph *g;
  int32_t n, devices, n_sent;
  const int32_t *device;
  const double *start, *finish;
  const berth_transfer *sent;
  const berth_exec_turns *turns;
} traced;

static traced trace_of(const berth_execution *r) {
  traced x = { .r = r };
  x.g = berth_cost_graph(berth_execution_cost(r));
  x.n = berth_graph_ops(x.g);
  x.devices = berth_topology_devices(berth_cost_topology(berth_execution_cost(r)));
  x.device = berth_execution_device(r);
  x.start = berth_execution_start(r);
  x.finish = berth_execution_finish(r);
  x.n_sent = berth_execution_transfers(r, &x.sent);
  x.turns = berth_execution_turns(r);
  return x;
}

static int32_t made_by(const traced *x, int32_t tensor) {
  berth_tensor t = must_graph_tensor(x->g, tensor);
  return t.producer;
}

static const berth_transfer *sent_to(const traced *x, int32_t tensor, int32_t dst) {
  const berth_transfer *found = NULL;
  for (int32_t i = 0; i < x->n_sent; i++) {
    if (x->sent[i].tensor != tensor || x->sent[i].dst != dst) continue;
    CHECK(!found); /* once */
    found = &x->sent[i];
  }
  return found;
}

static void check_precedence(const traced *x) {
  for (int32_t op = 0; op < x->n; op++) {
    const int32_t *in;
    int32_t n = berth_graph_inputs(x->g, op, &in);
    CHECK(x->start[op] >= 0 && x->finish[op] >= x->start[op]);
    for (int32_t i = 0; i < n; i++) {
      int32_t u = made_by(x, in[i]);
      const berth_transfer *t = sent_to(x, in[i], x->device[op]);
      CHECK((t != NULL) == (x->device[u] != x->device[op]));
      CHECK(x->start[op] >= x->finish[u] && x->turns[op].ready >= x->turns[u].finish);
      if (!t) continue;
      CHECK(t->src == x->device[u] && t->start >= x->finish[u] && t->finish >= t->start
            && x->start[op] >= t->finish);
    }
  }
}

static int apart(double start_a, double finish_a, double start_b, double finish_b) {
  return finish_a <= start_b || finish_b <= start_a;
}

static int share_channel(const berth_transfer *a, const berth_transfer *b, berth_links links) {
  int pair = a->src == b->src && a->dst == b->dst;
  int duplex = a->src == b->src || a->dst == b->dst;
  if (links == BERTH_LINKS_PAIR) return pair;
  if (links == BERTH_LINKS_DUPLEX) return duplex;
  return links == BERTH_LINKS_CHANNEL && (duplex || a->src == b->dst || a->dst == b->src);
}

static void check_one_at_a_time(const traced *x, berth_links links) {
  for (int32_t a = 0; a < x->n; a++) {
    for (int32_t b = 0; b < a; b++) {
      if (x->device[a] == x->device[b])
        CHECK(apart(x->start[a], x->finish[a], x->start[b], x->finish[b]));
    }
  }
  for (int32_t a = 0; a < x->n_sent; a++) {
    for (int32_t b = 0; b < a; b++) {
      const berth_transfer *p = &x->sent[a], *q = &x->sent[b];
      if (share_channel(p, q, links)) CHECK(apart(p->start, p->finish, q->start, q->finish));
    }
  }
}

/* The turn in which the device could start an op, given that those in `done` have run there: when
 * the one before ends or, if none of the others is ready by then, when the first of them is. */
static void check_work_conserving(const traced *x) {
  for (int32_t b = 0; b < x->n; b++) {
    int64_t free_at = 0, first = INT64_MAX;
    for (int32_t a = 0; a < x->n; a++) {
      if (x->device[a] != x->device[b]) continue;
      if (a != b && x->turns[a].start < x->turns[b].start) {
        if (x->turns[a].finish > free_at) free_at = x->turns[a].finish;
      } else if (x->turns[a].ready < first) {
        first = x->turns[a].ready;
      }
    }
    CHECK(x->turns[b].start >= x->turns[b].ready);
    CHECK(x->turns[b].start == (free_at > first ? free_at : first));
  }
}

/* A transfer leaves at once if no other holds a channel that it needs. Times of one turn are one
 * time. */
static void check_sends_promptly(const traced *x, berth_links links) {
  for (int32_t k = 0; k < x->n_sent; k++) {
    double from = x->finish[made_by(x, x->sent[k].tensor)];
    int excused = x->sent[k].start == from;
    for (int32_t i = 0; i < x->n_sent; i++) {
      if (i != k && share_channel(&x->sent[k], &x->sent[i], links))
        excused |= x->sent[i].finish == x->sent[k].start;
    }
    CHECK(excused);
  }
}

/* Of two that were both ready when one was chosen. */
static void check_dispatch(const traced *x, berth_dispatch dispatch) {
  for (int32_t a = 0; a < x->n; a++) {
    for (int32_t b = 0; b < x->n; b++) {
      int both = x->device[a] == x->device[b] && x->turns[b].ready <= x->turns[a].start
                 && x->turns[a].start < x->turns[b].start;
      if (!both) continue;
      if (dispatch == BERTH_DISPATCH_FIFO) CHECK(x->turns[a].ready <= x->turns[b].ready);
      if (dispatch == BERTH_DISPATCH_LIFO) CHECK(x->turns[a].ready >= x->turns[b].ready);
    }
  }
}

static void check_sums(const traced *x) {
  double last = 0, *busy = calloc((size_t)x->devices, sizeof *busy);
  for (int32_t op = 0; op < x->n; op++) {
    busy[x->device[op]] += x->finish[op] - x->start[op];
    last = fmax(last, x->finish[op]);
  }
  for (int32_t d = 0; d < x->devices; d++) CHECK_NEAR(berth_execution_busy(x->r)[d], busy[d], 1e-9);
  CHECK(berth_execution_makespan(x->r) == last);
  for (int32_t i = 1; i < x->n_sent; i++) CHECK(x->sent[i].start >= x->sent[i - 1].start);
  free(busy);
}

static void check_execution(const berth_execution *r, const berth_exec_options *o) {
  traced x = trace_of(r);
  check_precedence(&x);
  check_one_at_a_time(&x, o->links);
  check_work_conserving(&x);
  check_sends_promptly(&x, o->links);
  check_dispatch(&x, o->dispatch);
  check_sums(&x);
}

#endif
