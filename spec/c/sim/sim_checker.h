/* Judges a recorded run by its times alone; shares no code with the simulator. */
#ifndef BERTH_SIM_CHECKER_H
#define BERTH_SIM_CHECKER_H

#include "sim_help.h"

#define EPS 1e-9

typedef struct judged {
  const berth_graph *g;
  const berth_cost *cost;
  const berth_sim_options *o;
  const berth_result *r;
  int32_t n, n_sent, devices;
  const int32_t *device;
  const double *start, *finish;
  const berth_transfer *sent;
  const berth_collective_run *met;
  int32_t n_met;
  int tied; /* moments coincide: who held a pulling device when cannot be told from the times */
} judged;

static judged judge(const setup *s, const berth_sim_options *o, const berth_result *r) {
  judged j = {
    s->g, s->cost, o, r, berth_graph_ops(s->g), 0, berth_topology_devices(s->t), NULL, NULL, NULL,
    NULL, NULL,    0, 0
  };
  j.device = berth_result_device(r);
  j.start = berth_result_start(r);
  j.finish = berth_result_finish(r);
  j.n_sent = berth_result_transfers(r, &j.sent);
  j.n_met = berth_result_collectives(r, &j.met);
  return j;
}

/* A random graph on a mesh of three devices. */
static judged judge_random(berth_rng *rng, int32_t n, int ties, double memory,
                           const berth_sim_options *o) {
  int32_t device[64];
  setup s;
  setup_random(&s, rng, n, ties);
  setup_mesh(&s, 3, memory);
  random_devices(rng, n, 3, device);
  return judge(&s, o, run(&s, device, o));
}

static const berth_transfer *find_sent(const judged *j, int32_t tensor, int32_t dst) {
  for (int32_t i = 0; i < j->n_sent; i++) {
    if (j->sent[i].tensor == tensor && j->sent[i].dst == dst) return &j->sent[i];
  }
  return NULL;
}
static int32_t producer_of(const judged *j, int32_t tensor) {
  berth_tensor t = must_graph_tensor(j->g, tensor);
  return t.producer;
}

/* It runs beside what its device computes. */
static int beside(const judged *j, int32_t op) {
  berth_op x = must_graph_op(j->g, op);
  return (x.flags & BERTH_OP_COMMUNICATION) != 0;
}

/* When the last collective that op waits for is over; whether op waits for collective k at all. */
static int waits_for(const judged *j, int32_t op, int32_t k) {
  berth_collective c = must_graph_collective(j->g, k);
  for (int32_t i = 0; i < c.n_consumers; i++) {
    if (c.consumers[i] == op) return 1;
  }
  return 0;
}
static double met_before(const judged *j, int32_t op) {
  double at = 0;
  for (int32_t k = 0; k < j->n_met; k++) at = waits_for(j, op, k) ? fmax(at, j->met[k].finish) : at;
  return at;
}

/* When the last input is on the device of op. */
static double inputs_there(const judged *j, int32_t op) {
  const int32_t *in;
  double there = met_before(j, op);
  int32_t n = berth_graph_inputs(j->g, op, &in);
  for (int32_t i = 0; i < n; i++) {
    int32_t u = producer_of(j, in[i]);
    const berth_transfer *x =
        j->device[u] == j->device[op] ? NULL : find_sent(j, in[i], j->device[op]);
    if (j->device[u] != j->device[op] && !CHECK(x != NULL)) return there;
    there = fmax(there, x ? x->finish : j->finish[u]);
  }
  return there;
}
static double producers_done(const judged *j, int32_t op) {
  const int32_t *in;
  double done = met_before(j, op);
  int32_t n = berth_graph_inputs(j->g, op, &in);
  for (int32_t i = 0; i < n; i++) done = fmax(done, j->finish[producer_of(j, in[i])]);
  return done;
}
/* When op may be picked. */
static double ready_at(const judged *j, int32_t op) {
  return j->o->send == BERTH_SEND_PULL ? producers_done(j, op) : inputs_there(j, op);
}
/* From when op holds its device. */
static double held_from(const judged *j, int32_t op) {
  double from = j->start[op];
  if (j->o->send == BERTH_SEND_PUSH) return from;
  from = fmax(0, producers_done(j, op));
  for (int32_t v = 0; v < j->n && !beside(j, op); v++) { /* the device was free from the end of the
                                                            op before */
    if (v != op && !beside(j, v) && j->device[v] == j->device[op]
        && j->finish[v] <= j->start[op] + EPS && j->start[v] <= j->start[op]) {
      int before = j->start[v] < j->start[op] || j->finish[v] < j->finish[op];
      if (j->finish[v] > from && before) from = fmin(j->start[op], j->finish[v]);
    }
  }
  return from;
}

/* ---- precedence, devices, tensors ---- */

static void check_precedence(const judged *j) {
  for (int32_t v = 0; v < j->n; v++) {
    CHECK(j->start[v] >= inputs_there(j, v) - EPS);
    if (!j->o->preempt || beside(j, v)) {
      CHECK_NEAR(j->finish[v] - j->start[v], berth_cost_op(j->cost, v, j->device[v]), EPS);
    }
  }
  for (int32_t i = 0; i < j->n_sent; i++) {
    const berth_transfer *x = &j->sent[i];
    double c = berth_cost_transfer(j->cost, x->tensor, x->src, x->dst);
    CHECK(x->start >= j->finish[producer_of(j, x->tensor)] - EPS);
    CHECK(x->src != x->dst && x->src == j->device[producer_of(j, x->tensor)]);
    CHECK(find_sent(j, x->tensor, x->dst) == x); /* once per destination */
    CHECK(i == 0 || x->start >= j->sent[i - 1].start);
    if (!j->o->split_windows) CHECK_NEAR(x->finish - x->start, c, EPS);
  }
}
static void check_devices(const judged *j) {
  double busy[16] = { 0 };
  for (int32_t v = 0; v < j->n; v++) {
    if (beside(j, v)) continue;
    busy[j->device[v]] += berth_cost_op(j->cost, v, j->device[v]);
    for (int32_t w = 0; w < v && !j->o->preempt; w++) {
      if (j->device[v] != j->device[w] || beside(j, w)) continue;
      CHECK(j->finish[v] <= j->start[w] + EPS || j->finish[w] <= j->start[v] + EPS);
    }
  }
  for (int32_t d = 0; d < j->devices; d++) CHECK_NEAR(berth_result_busy(j->r)[d], busy[d], 1e-6);
}

/* The intervals cover [from, to). */
static int covered(double from, double to, int32_t n, const double (*part)[2]) {
  int moved = 1;
  while (from < to - EPS && moved) {
    moved = 0;
    for (int32_t i = 0; i < n; i++) {
      if (part[i][0] <= from + EPS && part[i][1] > from + EPS) {
        from = part[i][1];
        moved = 1;
      }
    }
  }
  return from >= to - EPS;
}

/* Communication ops begin as soon as they can. No device idles while another op could run on it;
 * the one that runs is the one that the dispatch prefers. */
static void check_work_conserving(const judged *j) {
  static double part[1024][2];
  for (int32_t v = 0; v < j->n; v++) {
    int32_t n = 0;
    for (int32_t w = 0; w < j->n; w++) {
      if (w == v || j->device[w] != j->device[v] || beside(j, w) || beside(j, v)) continue;
      part[n][0] = held_from(j, w);
      part[n++][1] = j->finish[w];
    }
    CHECK(covered(ready_at(j, v), held_from(j, v), n, (const double(*)[2])part));
  }
}
/* Below a hundredth of the mean work of a device; times are means over the devices. */
static int is_light(const judged *j, int32_t op) {
  double own = 0, all = 0;
  for (int32_t i = 0; i < j->n; i++) {
    double mean = 0;
    for (int32_t k = 0; k < j->devices; k++) mean += berth_cost_op(j->cost, i, k) / j->devices;
    all += mean;
    if (i == op) own = mean;
  }
  return own < all / j->devices / 100 * (1 - EPS);
}
/* Of two light ops the checker leaves the order open. */
static double key_of(const judged *j, int32_t op) {
  switch (j->o->dispatch) {
  case BERTH_DISPATCH_LIGHT_FIRST: return berth_cost_op(j->cost, op, j->device[op]);
  case BERTH_DISPATCH_LIGHT_CLASS: return is_light(j, op) ? -1 : ready_at(j, op);
  case BERTH_DISPATCH_STATIC: return j->o->rank[op];
  case BERTH_DISPATCH_LIFO: return -ready_at(j, op);
  case BERTH_DISPATCH_FIFO: return ready_at(j, op);
  default: return 0;
  }
}
static void check_dispatch(const judged *j) {
  for (int32_t v = 0; v < j->n; v++) {
    double picked = held_from(j, v);
    for (int32_t w = 0; w < j->n && !beside(j, v); w++) {
      if (w == v || beside(j, w) || j->device[w] != j->device[v] || held_from(j, w) <= picked + EPS)
        continue;
      if (ready_at(j, w) < picked - EPS) CHECK(key_of(j, v) <= key_of(j, w) + EPS);
    }
  }
}

/* ---- channels ---- */

/* Transfers, and behind them collectives: what each needs of the links, marked by number. */
enum { CHANNEL_WORDS = 4, MOST_LOADS = 1024 };

static void mark(uint64_t *need, int32_t channel) {
  if (CHECK(channel < 64 * CHANNEL_WORDS)) need[channel / 64] |= (uint64_t)1 << channel % 64;
}

static void need_pair(const judged *j, int32_t src, int32_t dst, uint64_t *need) {
  const int32_t *route;
  int32_t n = berth_topology_route(berth_cost_topology(j->cost), src, dst, &route);
  if (src == dst) return;
  if (j->o->links == BERTH_LINKS_CHANNEL || j->o->links == BERTH_LINKS_DUPLEX) mark(need, src);
  if (j->o->links == BERTH_LINKS_CHANNEL) mark(need, dst);
  if (j->o->links == BERTH_LINKS_DUPLEX) mark(need, j->devices + dst);
  if (j->o->links == BERTH_LINKS_PAIR) mark(need, src * j->devices + dst);
  for (int32_t i = 0; i < n && j->o->links == BERTH_LINKS_ROUTE; i++) mark(need, route[i]);
}
static void need_collective(const judged *j, int32_t k, uint64_t *need) {
  const int32_t *d;
  int32_t n = berth_result_collective_devices(j->r, k, &d);
  int whole = j->o->links == BERTH_LINKS_CHANNEL || j->o->links == BERTH_LINKS_DUPLEX;
  berth_collective c = must_graph_collective(j->g, k);
  if (j->o->collectives == BERTH_COLLECTIVES_QUEUE) {
    if (n > 1) mark(need, 64 * CHANNEL_WORDS - 1);
    return;
  }
  for (int32_t a = 0; a < n; a++) {
    for (int32_t b = 0; b < n; b++) {
      int ring = b == (a + 1) % n && !(c.kind == BERTH_BROADCAST && b == 0),
          star = (a == 0) != (b == 0);
      int uses = c.kind == BERTH_ALLTOALL || (c.kind == BERTH_PARAMETER_SERVER ? star : ring);
      if (whole || uses) need_pair(j, d[a], d[b], need);
    }
  }
}
static double load_start(const judged *j, int32_t i) {
  return i < j->n_sent ? j->sent[i].start : j->met[i - j->n_sent].start;
}
static double load_end(const judged *j, int32_t i) {
  return i < j->n_sent ? j->sent[i].finish : j->met[i - j->n_sent].finish;
}
static void needs(const judged *j, int32_t i, uint64_t *need) {
  memset(need, 0, CHANNEL_WORDS * sizeof *need);
  if (i < j->n_sent) need_pair(j, j->sent[i].src, j->sent[i].dst, need);
  else need_collective(j, i - j->n_sent, need);
}
/* [a][b]: they need something in common. Filled for one run at a time. */
static uint8_t clashes[MOST_LOADS][MOST_LOADS];
static void fill_clashes(const judged *j) {
  static uint64_t need[MOST_LOADS][CHANNEL_WORDS];
  int32_t n = j->n_sent + j->n_met;
  if (!CHECK(n <= MOST_LOADS)) return;
  for (int32_t i = 0; i < n; i++) needs(j, i, need[i]);
  for (int32_t a = 0; a < n; a++) {
    for (int32_t b = 0; b < n; b++) {
      uint64_t common = 0;
      for (int32_t k = 0; k < CHANNEL_WORDS; k++) common |= need[a][k] & need[b][k];
      clashes[a][b] = a != b && common;
    }
  }
}
static double members_done(const judged *j, int32_t k) {
  double at = 0;
  berth_collective c = must_graph_collective(j->g, k);
  for (int32_t i = 0; i < c.n_members; i++) at = fmax(at, j->finish[c.members[i]]);
  return at;
}
static double asked_at(const judged *j, const berth_transfer *x) {
  const int32_t *use;
  double at = INFINITY;
  int32_t n = berth_graph_consumers(j->g, x->tensor, &use);
  if (j->o->send == BERTH_SEND_PUSH) return j->finish[producer_of(j, x->tensor)];
  for (int32_t i = 0; i < n; i++) {
    if (j->device[use[i]] == x->dst) at = fmin(at, held_from(j, use[i]));
  }
  return at;
}
static double load_asked(const judged *j, int32_t i) {
  return i < j->n_sent ? asked_at(j, &j->sent[i]) : members_done(j, i - j->n_sent);
}
/* What is asked for is given out at once, from when it is free. */
static int reserved(const judged *j) {
  int two_ended = j->o->links == BERTH_LINKS_CHANNEL || j->o->links == BERTH_LINKS_DUPLEX;
  return j->o->reserve || (j->o->order == BERTH_ORDER_TASK && two_ended);
}
/* It starts when all that it needs has been given back by what asked before. */
static void check_reservation(const judged *j, int32_t a, const double *asked, int32_t loads) {
  double start = load_start(j, a), from = asked[a];
  for (int32_t b = 0; b < loads; b++) {
    int before =
        asked[b] < asked[a] - EPS || (asked[b] <= asked[a] + EPS && load_end(j, b) <= start + EPS);
    if (clashes[a][b] && before) from = fmax(from, load_end(j, b));
  }
  CHECK_NEAR(start, from, EPS);
}
static void check_channels(const judged *j) {
  static double part[MOST_LOADS][2], asked[MOST_LOADS];
  int32_t loads = j->n_sent + j->n_met;
  fill_clashes(j);
  for (int32_t a = 0; a < loads; a++) asked[a] = load_asked(j, a);
  for (int32_t a = 0; a < loads; a++) {
    double start = load_start(j, a), end = load_end(j, a);
    int32_t n = 0;
    if (reserved(j) && (!j->tied || j->o->send == BERTH_SEND_PUSH))
      check_reservation(j, a, asked, loads);
    for (int32_t b = 0; b < loads; b++) {
      double y_start = load_start(j, b), y_end = load_end(j, b);
      if (!clashes[a][b]) continue;
      CHECK(end <= y_start + EPS || y_end <= start + EPS);
      if (reserved(j)) continue;
      part[n][0] = y_start;
      part[n++][1] = y_end;
      /* y passed x while x waited: x must have had a channel busy with a third one */
      if (!(j->tied && j->n_met && j->o->send == BERTH_SEND_PULL)
          && asked[a] < asked[b] - EPS && y_start > asked[a] + EPS && y_start < start - EPS) {
        int blocked = 0;
        double fuzz = j->tied ? 0 : EPS; /* it may end by rounding later */
        for (int32_t c = 0; c < loads; c++) {
          /* it took no time, but its turn */
          int instant = j->tied && fabs(load_start(j, c) - y_start) <= EPS;
          if (c != b && clashes[a][c] && load_start(j, c) <= y_start + EPS
              && (load_end(j, c) > y_start + fuzz || instant))
            blocked = 1;
        }
        CHECK(blocked);
      }
    }
    /* it waited for something all the time; with pairs, which are given out ahead, a collective
     * waits for the last of several */
    if (!reserved(j) && (!j->tied || j->o->send == BERTH_SEND_PUSH)
        && !(j->n_met && j->o->links == BERTH_LINKS_PAIR))
      CHECK(covered(asked[a], start, n, (const double(*)[2])part));
  }
}

/* They begin when the last member has ended, or later if they need links; on one device at once;
 * and take their price. */
static void check_collectives(const judged *j) {
  for (int32_t k = 0; k < j->n_met; k++) {
    const berth_collective_run *m = &j->met[k];
    double price = -1, done = members_done(j, k);
    berth_collective c = must_graph_collective(j->g, k);
    int32_t at[64];
    for (int32_t i = 0; i < c.n_members; i++) at[i] = j->device[c.members[i]];
    CHECK_OK(berth_cost_collective(j->cost, k, c.n_members, at, &price));
    const int32_t *different;
    int32_t n = berth_result_collective_devices(j->r, k, &different);
    CHECK(n == m->n_devices && m->bytes == c.bytes);
    CHECK_NEAR(m->seconds, price, 0);
    CHECK_NEAR(m->finish - m->start, price, EPS);
    CHECK(j->finish[m->last] == done && m->start >= done);
    if (n == 1 || (j->o->links == BERTH_LINKS_FREE && j->o->collectives == BERTH_COLLECTIVES_LINKS))
      CHECK(m->start == done);
  }
}

/* ---- bounds ---- */

static void check_bounds(const judged *j) {
  double *comp = calloc((size_t)j->n + 1, sizeof *comp), work = 0, all = 0, cp = 0, last = 0;
  for (int32_t v = 0; v < j->n; v++) {
    comp[v] = berth_cost_op(j->cost, v, j->device[v]);
    work += comp[v];
    last = fmax(last, j->finish[v]);
  }
  all = work;
  for (int32_t i = 0; i < j->n_sent; i++)
    all += berth_cost_transfer(j->cost, j->sent[i].tensor, j->sent[i].src, j->sent[i].dst);
  for (int32_t k = 0; k < j->n_met; k++) {
    all += j->met[k].seconds;
    last = fmax(last, j->met[k].finish);
  }
  CHECK_OK(berth_critical_path(j->g, comp, NULL, NULL, NULL, &cp));
  CHECK(berth_result_makespan(j->r) == last);
  CHECK(last >= cp - EPS && last >= work / j->devices - EPS && last <= all + EPS);
  free(comp);
}

/* ---- memory: an interval from a to b counts at a <= t < b, and at a if b is a ---- */

typedef struct interval {
  double from, to, bytes;
  int32_t device;
} interval;

static double twin_end(const judged *j, int32_t op) {
  if (j->o->memory != BERTH_MEMORY_TRAINING) return 0;
  berth_op o = must_graph_op(j->g, op);
  return o.twin == BERTH_NONE || j->start[o.twin] < j->start[op] ? 0 : j->finish[o.twin];
}
static interval tensor_interval(const judged *j, int32_t tensor, int32_t device) {
  const int32_t *use;
  int32_t n = berth_graph_consumers(j->g, tensor, &use);
  interval x = { 0, 0, 0, device };
  berth_tensor t = must_graph_tensor(j->g, tensor);
  int32_t home = device == j->device[t.producer];
  x.bytes = t.resident_bytes;
  x.from = home ? j->start[t.producer] : find_sent(j, tensor, device)->start;
  if (home) {
    x.to = fmax(j->finish[t.producer], twin_end(j, t.producer));
    for (int32_t i = 0; i < j->n_sent; i++) {
      if (j->sent[i].tensor == tensor) x.to = fmax(x.to, j->sent[i].finish);
    }
  }
  for (int32_t i = 0; i < n; i++) {
    if (j->device[use[i]] == device)
      x.to = fmax(x.to, fmax(j->finish[use[i]], twin_end(j, use[i])));
  }
  if (j->o->memory == BERTH_MEMORY_TOTAL) x.to = INFINITY;
  return x;
}
static int32_t intervals(const judged *j, interval *x) {
  int32_t k = 0, n_tensors = berth_graph_tensors(j->g);
  for (int32_t v = 0; v < j->n; v++) {
    berth_op o = must_graph_op(j->g, v);
    x[k++] = (interval){ -1, INFINITY, o.param_bytes * j->o->param_multiple, j->device[v] };
    x[k++] = (interval){ j->start[v], j->finish[v], o.workspace_bytes, j->device[v] };
  }
  for (int32_t t = 0; t < n_tensors; t++)
    x[k++] = tensor_interval(j, t, j->device[producer_of(j, t)]);
  for (int32_t i = 0; i < j->n_sent; i++)
    x[k++] = tensor_interval(j, j->sent[i].tensor, j->sent[i].dst);
  for (int32_t m = 0; m < j->n_met; m++) {
    const int32_t *d;
    int32_t n = berth_result_collective_devices(j->r, m, &d);
    berth_collective c = must_graph_collective(j->g, m);
    double times = c.kind == BERTH_BARRIER || n == 1 ? 0 : c.kind == BERTH_ALLGATHER ? n : 1;
    for (int32_t i = 0; i < n && times > 0; i++)
      x[k++] = (interval){ j->met[m].start, j->met[m].finish, times * c.bytes, d[i] };
  }
  return k;
}
static double held_when(const interval *x, int32_t n, int32_t device, double at) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++) {
    int counts = at == x[i].from || (x[i].from < at && at < x[i].to);
    sum += x[i].device == device && counts ? x[i].bytes : 0;
  }
  return sum;
}
static double held_after(const interval *x, int32_t n, int32_t device, double at) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++)
    sum += x[i].device == device && x[i].from <= at && at < x[i].to ? x[i].bytes : 0;
  return sum;
}

/* ---- memory over time ---- */

typedef struct timeline {
  const double *time, *bytes;
  int32_t n;
} timeline;

static timeline timeline_of(const judged *j, int32_t device) {
  timeline m = { NULL, NULL, 0 };
  m.n = berth_result_memory(j->r, device, &m.time, &m.bytes);
  return m;
}
/* At the instant; after it. */
static double told_at(const timeline *m, double at) {
  int32_t k = 1;
  while (k < m->n && m->time[k] < at) k++;
  return k < m->n && m->time[k] == at ? m->bytes[k] : m->bytes[k - 1];
}
static double told_after(const timeline *m, double at) {
  int32_t k = m->n - 1;
  while (k > 0 && m->time[k] > at) k--;
  return m->bytes[k];
}
/* What holds of any timeline: in order, each entry for a reason, and exactly as high as the peak,
 * when the peak is. */
static void check_timeline_shape(const judged *j, int32_t device) {
  timeline m = timeline_of(j, device);
  int32_t top = 0;
  if (!CHECK(m.n > 0 && m.time[0] == 0)) return;
  for (int32_t k = 0; k < m.n; k++) {
    int twin = k + 1 < m.n && m.time[k + 1] == m.time[k];
    CHECK(isfinite(m.time[k]) && isfinite(m.bytes[k]) && m.bytes[k] >= 0);
    if (m.bytes[k] > m.bytes[top]) top = k;
    if (k == 0) continue;
    CHECK(m.time[k] >= m.time[k - 1] && (twin || m.bytes[k] != m.bytes[k - 1]));
    CHECK(k + 2 >= m.n || m.time[k + 2] > m.time[k]);
  }
  CHECK(m.bytes[top] == berth_result_peak(j->r)[device]
        && m.time[top] == berth_result_peak_time(j->r)[device]);
}
static void check_timeline(const judged *j, const interval *x, int32_t n, int32_t device) {
  timeline m = timeline_of(j, device);
  check_timeline_shape(j, device);
  if (m.n == 0) return;
  CHECK_NEAR(m.bytes[0], held_when(x, n, device, -0.5), 1e-6);
  for (int32_t i = 0; i < n; i++) {
    double ends[] = { x[i].from, x[i].to };
    for (int k = 0; k < 2; k++) {
      if (ends[k] < 0 || isinf(ends[k])) continue;
      CHECK_NEAR(told_at(&m, ends[k]), held_when(x, n, device, ends[k]), 1e-6);
      CHECK_NEAR(told_after(&m, ends[k]), held_after(x, n, device, ends[k]), 1e-6);
    }
  }
  for (int32_t k = 1; k < m.n; k++) { /* something happens there */
    int32_t i = 0;
    while (i < n && (x[i].device != device || (x[i].from != m.time[k] && x[i].to != m.time[k])))
      i++;
    CHECK(i < n);
  }
}

static void check_memory(const judged *j) {
  static interval x[8192];
  int32_t n = intervals(j, x);
  for (int32_t d = 0; d < j->devices; d++) check_timeline(j, x, n, d);
  for (int32_t d = 0; d < j->devices; d++) {
    const int32_t *ops;
    const double *bytes;
    double peak = held_when(x, n, d, -0.5), sum = 0;
    int32_t k = berth_result_peak_ops(j->r, d, &ops, &bytes);
    for (int32_t i = 0; i < n; i++) {
      if (x[i].device == d) peak = fmax(peak, held_when(x, n, d, x[i].from));
    }
    CHECK_NEAR(berth_result_peak(j->r)[d], peak, 1e-6);
    CHECK_NEAR(held_when(x, n, d, berth_result_peak_time(j->r)[d]), peak, 1e-6);
    for (int32_t i = 0; i < k; i++) {
      sum += bytes[i];
      CHECK(bytes[i] > 0 && j->device[ops[i]] == d && (i == 0 || ops[i] > ops[i - 1]));
    }
    CHECK_NEAR(sum, peak, 1e-6);
  }
}

/* The first instant over a limit, the lowest device, and how much over. */
static void check_oom(const judged *j, double limit) {
  static interval x[8192];
  int32_t n = intervals(j, x), device = -1;
  double first = INFINITY, held = 0;
  berth_oom oom = { -1, -1, 0, 0 };
  for (int32_t d = 0; d < j->devices; d++) {
    for (int32_t i = 0; i < n; i++) {
      double bytes = x[i].device == d && x[i].from < first ? held_when(x, n, d, x[i].from) : 0;
      if (!(bytes > limit * (1 + 1e-12))) continue;
      first = x[i].from;
      device = d;
      held = bytes;
    }
  }
  CHECK(berth_result_oom(j->r, &oom) == (device >= 0));
  if (device < 0) return;
  CHECK(oom.device == device);
  CHECK_NEAR(oom.time, fmax(first, 0), 0);
  CHECK_NEAR(oom.shortfall, held - limit, 1e-9);
  for (int32_t i = 0; first == -1 && i < j->n; i++) { /* parameters alone: who has most */
    berth_op most = must_graph_op(j->g, oom.op);
    berth_op other = must_graph_op(j->g, i);
    CHECK(j->device[i] != device || other.param_bytes <= most.param_bytes);
  }
}

/* ---- slack: delay one end, push everything that depends on it, in order of time ---- */

typedef struct delayed {
  double *start, *finish, *sent, *arrived;
} delayed;

static void push_ops(const judged *j, delayed *x, int32_t op, double extra) {
  double start = j->start[op];
  const int32_t *in;
  int32_t n = berth_graph_inputs(j->g, op, &in);
  for (int32_t i = 0; i < n; i++) {
    int32_t u = producer_of(j, in[i]);
    const berth_transfer *t =
        j->device[u] == j->device[op] ? NULL : find_sent(j, in[i], j->device[op]);
    start = fmax(start, t ? x->arrived[t - j->sent] : x->finish[u]);
  }
  for (int32_t v = 0; v < j->n && !beside(j, op); v++) {
    if (v != op && !beside(j, v) && j->device[v] == j->device[op]
        && j->finish[v] <= j->start[op] + EPS && j->start[v] < j->start[op]) {
      start = fmax(start, x->finish[v]);
    }
  }
  for (int32_t k = 0; k < j->n_met; k++)
    start = waits_for(j, op, k) ? fmax(start, x->arrived[j->n_sent + k]) : start;
  x->start[op] = start;
  x->finish[op] = start + (j->finish[op] - j->start[op]) + extra;
}
static double pushed_members(const judged *j, const delayed *x, int32_t k) {
  double at = 0;
  berth_collective c = must_graph_collective(j->g, k);
  for (int32_t i = 0; i < c.n_members; i++) at = fmax(at, x->finish[c.members[i]]);
  return at;
}
static void push_load(const judged *j, delayed *x, int32_t k) {
  double was = load_start(j, k),
         start = fmax(was, k < j->n_sent ? x->finish[producer_of(j, j->sent[k].tensor)]
                                         : pushed_members(j, x, k - j->n_sent));
  for (int32_t i = 0; i < j->n_sent + j->n_met; i++) {
    /* it was the first */
    int instant = load_start(j, i) == was && load_end(j, i) == was && load_end(j, k) > was;
    if (i != k && (load_start(j, i) < was || instant) && load_end(j, i) <= was + EPS
        && clashes[k][i])
      start = fmax(start, x->arrived[i]);
  }
  x->sent[k] = start;
  x->arrived[k] = start + (load_end(j, k) - was);
}
static double delayed_makespan(const judged *j, int32_t op, double delay) {
  size_t n = (size_t)j->n + 1, m = (size_t)(j->n_sent + j->n_met) + 1;
  delayed x = { calloc(n, 8), calloc(n, 8), calloc(m, 8), calloc(m, 8) };
  double end = 0;
  for (int32_t round = 0; round < j->n + j->n_sent + j->n_met; round++) { /* to the fixpoint */
    double before = 0, after = 0;
    for (int32_t v = 0; v < j->n; v++) before += x.finish[v];
    for (int32_t k = 0; k < j->n_sent + j->n_met; k++) before += x.arrived[k];
    for (int32_t v = 0; v < j->n; v++) push_ops(j, &x, v, v == op ? delay : 0);
    for (int32_t k = 0; k < j->n_sent + j->n_met; k++) push_load(j, &x, k);
    for (int32_t v = 0; v < j->n; v++) after += x.finish[v];
    for (int32_t k = 0; k < j->n_sent + j->n_met; k++) after += x.arrived[k];
    if (round > 1 && before == after) break;
  }
  for (int32_t v = 0; v < j->n; v++) end = fmax(end, x.finish[v]);
  for (int32_t k = 0; k < j->n_met; k++) end = fmax(end, x.arrived[j->n_sent + k]);
  RELEASE(x.start, x.finish, x.sent, x.arrived);
  return end;
}
/* Push, no preemption, no split windows, no coinciding moments. */
static void check_slack(const judged *j) {
  const double *slack = berth_result_slack(j->r);
  double makespan = berth_result_makespan(j->r);
  if (!CHECK(slack != NULL)) return;
  fill_clashes(j);
  for (int32_t v = 0; v < j->n; v++) {
    CHECK(delayed_makespan(j, v, slack[v] * (1 - 1e-9)) <= makespan + 1e-6);
    CHECK(delayed_makespan(j, v, slack[v] + 1e-3) >= makespan + 0.5e-3);
  }
}
/* A collective that op was the last to reach ends last. */
static int met_last(const judged *j, int32_t op) {
  for (int32_t k = 0; k < j->n_met; k++) {
    if (j->met[k].last == op && j->met[k].finish == berth_result_makespan(j->r)) return 1;
  }
  return 0;
}
static void check_critical(const judged *j) {
  const int32_t *op;
  int32_t n = berth_result_critical(j->r, &op);
  const double *slack = berth_result_slack(j->r);
  CHECK((n > 0) == (j->n > 0));
  if (n == 0) return;
  CHECK(j->finish[op[n - 1]] == berth_result_makespan(j->r) || met_last(j, op[n - 1]));
  for (int32_t i = 1; i < n; i++) {
    const int32_t *in;
    int32_t m = berth_graph_inputs(j->g, op[i], &in), feeds = 0;
    for (int32_t k = 0; k < m; k++) feeds |= producer_of(j, in[k]) == op[i - 1];
    for (int32_t k = 0; k < j->n_met; k++)
      feeds |= waits_for(j, op[i], k) && j->met[k].last == op[i - 1];
    CHECK(feeds
          || (j->device[op[i - 1]] == j->device[op[i]] && !beside(j, op[i - 1])
              && !beside(j, op[i])));
    if (!j->o->preempt) CHECK(j->finish[op[i - 1]] <= j->start[op[i]] + EPS);
  }
  if (j->o->links == BERTH_LINKS_FREE && j->o->send == BERTH_SEND_PUSH
      && j->o->collectives == BERTH_COLLECTIVES_LINKS) {
    for (int32_t i = 0; i < n; i++) CHECK(slack[op[i]] <= 1e-9);
  }
}

#endif
