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
  int tied; /* moments coincide: who held a pulling device when cannot be told from the times */
} judged;

static inline judged judge(const setup *s, const berth_sim_options *o, const berth_result *r) {
  judged j = { s->g, s->cost, o, r, berth_graph_ops(s->g), 0, berth_topology_devices(s->t), NULL, NULL, NULL, NULL, 0 };
  j.device = berth_result_device(r);
  j.start = berth_result_start(r);
  j.finish = berth_result_finish(r);
  j.n_sent = berth_result_transfers(r, &j.sent);
  return j;
}

static inline const berth_transfer *find_sent(const judged *j, int32_t tensor, int32_t dst) {
  for (int32_t i = 0; i < j->n_sent; i++) {
    if (j->sent[i].tensor == tensor && j->sent[i].dst == dst) return &j->sent[i];
  }
  return NULL;
}
static inline int32_t producer_of(const judged *j, int32_t tensor) {
  berth_tensor t;
  CHECK_STATUS(berth_graph_tensor(j->g, tensor, &t), BERTH_OK);
  return t.producer;
}

/* When the last input is on the device of op. */
static inline double inputs_there(const judged *j, int32_t op) {
  const int32_t *in;
  double there = 0;
  int32_t n = berth_graph_inputs(j->g, op, &in);
  for (int32_t i = 0; i < n; i++) {
    int32_t u = producer_of(j, in[i]);
    const berth_transfer *x = j->device[u] == j->device[op] ? NULL : find_sent(j, in[i], j->device[op]);
    if (j->device[u] != j->device[op] && !CHECK(x != NULL)) return there;
    there = fmax(there, x ? x->finish : j->finish[u]);
  }
  return there;
}
static inline double producers_done(const judged *j, int32_t op) {
  const int32_t *in;
  double done = 0;
  int32_t n = berth_graph_inputs(j->g, op, &in);
  for (int32_t i = 0; i < n; i++) done = fmax(done, j->finish[producer_of(j, in[i])]);
  return done;
}
/* When op may be picked. */
static inline double ready_at(const judged *j, int32_t op) {
  return j->o->send == BERTH_SEND_PULL ? producers_done(j, op) : inputs_there(j, op);
}
/* From when op holds its device. */
static inline double held_from(const judged *j, int32_t op) {
  double from = j->start[op];
  if (j->o->send == BERTH_SEND_PUSH) return from;
  from = fmax(0, producers_done(j, op));
  for (int32_t v = 0; v < j->n; v++) { /* the device was free from the end of the op before */
    if (v != op && j->device[v] == j->device[op] && j->finish[v] <= j->start[op] + EPS && j->start[v] <= j->start[op]) {
      int before = j->start[v] < j->start[op] || j->finish[v] < j->finish[op];
      if (j->finish[v] > from && before) from = fmin(j->start[op], j->finish[v]);
    }
  }
  return from;
}

/* ---- precedence, devices, tensors ------------------------------------------------------------------ */

static inline void check_precedence(const judged *j) {
  for (int32_t v = 0; v < j->n; v++) {
    CHECK(j->start[v] >= inputs_there(j, v) - EPS);
    if (!j->o->preempt) CHECK_NEAR(j->finish[v] - j->start[v], berth_cost_op(j->cost, v, j->device[v]), EPS);
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
static inline void check_devices(const judged *j) {
  double busy[16] = { 0 };
  for (int32_t v = 0; v < j->n; v++) {
    busy[j->device[v]] += berth_cost_op(j->cost, v, j->device[v]);
    for (int32_t w = 0; w < v && !j->o->preempt; w++) {
      if (j->device[v] == j->device[w]) CHECK(j->finish[v] <= j->start[w] + EPS || j->finish[w] <= j->start[v] + EPS);
    }
  }
  for (int32_t d = 0; d < j->devices; d++) CHECK_NEAR(berth_result_busy(j->r)[d], busy[d], 1e-6);
}

/* The intervals cover [from, to). */
static inline int covered(double from, double to, int32_t n, const double (*part)[2]) {
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

/* No device idles while an op could run on it; the one that runs is the one that the dispatch prefers. */
static inline void check_work_conserving(const judged *j) {
  static double part[1024][2];
  for (int32_t v = 0; v < j->n; v++) {
    int32_t n = 0;
    for (int32_t w = 0; w < j->n; w++) {
      if (w == v || j->device[w] != j->device[v]) continue;
      part[n][0] = held_from(j, w);
      part[n++][1] = j->finish[w];
    }
    CHECK(covered(ready_at(j, v), held_from(j, v), n, (const double(*)[2])part));
  }
}
static inline double key_of(const judged *j, int32_t op) {
  switch (j->o->dispatch) {
  case BERTH_DISPATCH_LIGHT_FIRST: return berth_cost_op(j->cost, op, j->device[op]);
  case BERTH_DISPATCH_STATIC: return j->o->rank[op];
  case BERTH_DISPATCH_LIFO: return -ready_at(j, op);
  case BERTH_DISPATCH_FIFO: return ready_at(j, op);
  default: return 0;
  }
}
static inline void check_dispatch(const judged *j) {
  for (int32_t v = 0; v < j->n; v++) {
    double picked = held_from(j, v);
    for (int32_t w = 0; w < j->n; w++) {
      if (w == v || j->device[w] != j->device[v] || held_from(j, w) <= picked + EPS) continue;
      if (ready_at(j, w) < picked - EPS) CHECK(key_of(j, v) <= key_of(j, w) + EPS);
    }
  }
}

/* ---- channels ------------------------------------------------------------------------------------------ */

/* The transfers need a channel in common. */
static inline int common_link(const judged *j, const berth_transfer *a, const berth_transfer *b) {
  const berth_topology *t = berth_cost_topology(j->cost);
  const int32_t *x, *y;
  int32_t n = berth_topology_route(t, a->src, a->dst, &x), m = berth_topology_route(t, b->src, b->dst, &y);
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < m; k++) {
      if (x[i] == y[k]) return 1;
    }
  }
  return 0;
}
static inline int clash(const judged *j, const berth_transfer *a, const berth_transfer *b) {
  switch (j->o->links) {
  case BERTH_LINKS_CHANNEL: return a->src == b->src || a->dst == b->dst || a->src == b->dst || a->dst == b->src;
  case BERTH_LINKS_DUPLEX: return a->src == b->src || a->dst == b->dst;
  case BERTH_LINKS_PAIR: return a->src == b->src && a->dst == b->dst;
  case BERTH_LINKS_ROUTE: return common_link(j, a, b);
  default: return 0;
  }
}
static inline double asked_at(const judged *j, const berth_transfer *x) {
  const int32_t *use;
  double at = INFINITY;
  int32_t n = berth_graph_consumers(j->g, x->tensor, &use);
  if (j->o->send == BERTH_SEND_PUSH) return j->finish[producer_of(j, x->tensor)];
  for (int32_t i = 0; i < n; i++) {
    if (j->device[use[i]] == x->dst) at = fmin(at, held_from(j, use[i]));
  }
  return at;
}
static inline void check_channels(const judged *j) {
  static double part[1024][2];
  for (int32_t a = 0; a < j->n_sent; a++) {
    const berth_transfer *x = &j->sent[a];
    double asked = asked_at(j, x);
    int32_t n = 0;
    for (int32_t b = 0; b < j->n_sent; b++) {
      const berth_transfer *y = &j->sent[b];
      if (a == b || !clash(j, x, y)) continue;
      CHECK(x->finish <= y->start + EPS || y->finish <= x->start + EPS);
      part[n][0] = y->start;
      part[n++][1] = y->finish;
      /* y passed x while x waited: x must have had a channel busy with a third one */
      if (asked < asked_at(j, y) - EPS && y->start > asked + EPS && y->start < x->start - EPS) {
        int blocked = 0;
        for (int32_t c = 0; c < j->n_sent; c++) {
          const berth_transfer *z = &j->sent[c];
          if (c != a && c != b && clash(j, x, z) && z->start <= y->start + EPS && z->finish > y->start + EPS) blocked = 1;
        }
        CHECK(blocked);
      }
    }
    /* it waited for something all the time */
    if (!j->tied || j->o->send == BERTH_SEND_PUSH) CHECK(covered(asked, x->start, n, (const double(*)[2])part));
  }
}

/* ---- bounds ---------------------------------------------------------------------------------------------- */

static inline void check_bounds(const judged *j) {
  double *comp = calloc((size_t)j->n + 1, sizeof *comp), work = 0, all = 0, cp = 0, last = 0;
  for (int32_t v = 0; v < j->n; v++) {
    comp[v] = berth_cost_op(j->cost, v, j->device[v]);
    work += comp[v];
    last = fmax(last, j->finish[v]);
  }
  all = work;
  for (int32_t i = 0; i < j->n_sent; i++) all += berth_cost_transfer(j->cost, j->sent[i].tensor, j->sent[i].src, j->sent[i].dst);
  CHECK_STATUS(berth_critical_path(j->g, comp, NULL, NULL, NULL, &cp), BERTH_OK);
  CHECK(berth_result_makespan(j->r) == last);
  CHECK(last >= cp - EPS && last >= work / j->devices - EPS && last <= all + EPS);
  free(comp);
}

/* ---- memory, by intervals: one from a to b counts at a <= t < b, and at a if b is a; not for split windows ------ */

typedef struct interval {
  double from, to, bytes;
  int32_t device;
} interval;

static inline double twin_end(const judged *j, int32_t op) {
  berth_op o;
  if (j->o->memory != BERTH_MEMORY_TRAINING) return 0;
  CHECK_STATUS(berth_graph_op(j->g, op, &o), BERTH_OK);
  return o.twin == BERTH_NONE || j->start[o.twin] < j->start[op] ? 0 : j->finish[o.twin];
}
static inline interval tensor_interval(const judged *j, int32_t tensor, int32_t device) {
  berth_tensor t;
  const int32_t *use;
  int32_t n = berth_graph_consumers(j->g, tensor, &use), home;
  interval x = { 0, 0, 0, device };
  CHECK_STATUS(berth_graph_tensor(j->g, tensor, &t), BERTH_OK);
  home = device == j->device[t.producer];
  x.bytes = t.resident_bytes;
  x.from = home ? j->start[t.producer] : find_sent(j, tensor, device)->start;
  if (home) {
    x.to = fmax(j->finish[t.producer], twin_end(j, t.producer));
    for (int32_t i = 0; i < j->n_sent; i++) {
      if (j->sent[i].tensor == tensor) x.to = fmax(x.to, j->sent[i].finish);
    }
  }
  for (int32_t i = 0; i < n; i++) {
    if (j->device[use[i]] == device) x.to = fmax(x.to, fmax(j->finish[use[i]], twin_end(j, use[i])));
  }
  if (j->o->memory == BERTH_MEMORY_TOTAL) x.to = INFINITY;
  return x;
}
static inline int32_t intervals(const judged *j, interval *x) {
  int32_t k = 0, n_tensors = berth_graph_tensors(j->g);
  for (int32_t v = 0; v < j->n; v++) {
    berth_op o;
    CHECK_STATUS(berth_graph_op(j->g, v, &o), BERTH_OK);
    x[k++] = (interval){ -1, INFINITY, o.param_bytes * j->o->param_multiple, j->device[v] };
    x[k++] = (interval){ j->start[v], j->finish[v], o.workspace_bytes, j->device[v] };
  }
  for (int32_t t = 0; t < n_tensors; t++) x[k++] = tensor_interval(j, t, j->device[producer_of(j, t)]);
  for (int32_t i = 0; i < j->n_sent; i++) x[k++] = tensor_interval(j, j->sent[i].tensor, j->sent[i].dst);
  return k;
}
static inline double held_when(const interval *x, int32_t n, int32_t device, double at) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++) {
    int counts = at == x[i].from || (x[i].from < at && at < x[i].to);
    sum += x[i].device == device && counts ? x[i].bytes : 0;
  }
  return sum;
}
static inline double held_after(const interval *x, int32_t n, int32_t device, double at) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += x[i].device == device && x[i].from <= at && at < x[i].to ? x[i].bytes : 0;
  return sum;
}

/* ---- memory over time ------------------------------------------------------------------------------------------ */

typedef struct timeline {
  const double *time, *bytes;
  int32_t n;
} timeline;

static inline timeline timeline_of(const judged *j, int32_t device) {
  timeline m = { NULL, NULL, 0 };
  m.n = berth_result_memory(j->r, device, &m.time, &m.bytes);
  return m;
}
/* At the instant; after it. */
static inline double told_at(const timeline *m, double at) {
  int32_t k = 1;
  while (k < m->n && m->time[k] < at) k++;
  return k < m->n && m->time[k] == at ? m->bytes[k] : m->bytes[k - 1];
}
static inline double told_after(const timeline *m, double at) {
  int32_t k = m->n - 1;
  while (k > 0 && m->time[k] > at) k--;
  return m->bytes[k];
}
/* What holds of any timeline: in order, each entry for a reason, and exactly as high as the peak, when the peak is. */
static inline void check_timeline_shape(const judged *j, int32_t device) {
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
  CHECK(m.bytes[top] == berth_result_peak(j->r)[device] && m.time[top] == berth_result_peak_time(j->r)[device]);
}
static inline void check_timeline(const judged *j, const interval *x, int32_t n, int32_t device) {
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
    while (i < n && (x[i].device != device || (x[i].from != m.time[k] && x[i].to != m.time[k]))) i++;
    CHECK(i < n);
  }
}

static inline void check_memory(const judged *j) {
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
static inline void check_oom(const judged *j, double limit) {
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
    berth_op most, other;
    CHECK_STATUS(berth_graph_op(j->g, oom.op, &most), BERTH_OK);
    CHECK_STATUS(berth_graph_op(j->g, i, &other), BERTH_OK);
    CHECK(j->device[i] != device || other.param_bytes <= most.param_bytes);
  }
}

/* ---- slack: delay one end, push everything that depends on it, in order of time ---------------------------------- */

typedef struct delayed {
  double *start, *finish, *sent, *arrived;
} delayed;

static inline void push_ops(const judged *j, delayed *x, int32_t op, double extra) {
  double start = j->start[op];
  const int32_t *in;
  int32_t n = berth_graph_inputs(j->g, op, &in);
  for (int32_t i = 0; i < n; i++) {
    int32_t u = producer_of(j, in[i]);
    const berth_transfer *t = j->device[u] == j->device[op] ? NULL : find_sent(j, in[i], j->device[op]);
    start = fmax(start, t ? x->arrived[t - j->sent] : x->finish[u]);
  }
  for (int32_t v = 0; v < j->n; v++) {
    if (v != op && j->device[v] == j->device[op] && j->finish[v] <= j->start[op] + EPS && j->start[v] < j->start[op]) {
      start = fmax(start, x->finish[v]);
    }
  }
  x->start[op] = start;
  x->finish[op] = start + (j->finish[op] - j->start[op]) + extra;
}
static inline void push_sent(const judged *j, delayed *x, int32_t k) {
  const berth_transfer *t = &j->sent[k];
  double start = fmax(t->start, x->finish[producer_of(j, t->tensor)]);
  for (int32_t i = 0; i < j->n_sent; i++) {
    const berth_transfer *y = &j->sent[i];
    if (i != k && clash(j, t, y) && y->start < t->start && y->finish <= t->start + EPS) start = fmax(start, x->arrived[i]);
  }
  x->sent[k] = start;
  x->arrived[k] = start + (t->finish - t->start);
}
static inline double delayed_makespan(const judged *j, int32_t op, double delay) {
  size_t n = (size_t)j->n + 1, m = (size_t)j->n_sent + 1;
  delayed x = { calloc(n, 8), calloc(n, 8), calloc(m, 8), calloc(m, 8) };
  double end = 0;
  for (int32_t round = 0; round < j->n + j->n_sent; round++) { /* to the fixpoint */
    double before = 0, after = 0;
    for (int32_t v = 0; v < j->n; v++) before += x.finish[v];
    for (int32_t v = 0; v < j->n; v++) push_ops(j, &x, v, v == op ? delay : 0);
    for (int32_t k = 0; k < j->n_sent; k++) push_sent(j, &x, k);
    for (int32_t v = 0; v < j->n; v++) after += x.finish[v];
    if (round > 1 && before == after) break;
  }
  for (int32_t v = 0; v < j->n; v++) end = fmax(end, x.finish[v]);
  free(x.start);
  free(x.finish);
  free(x.sent);
  free(x.arrived);
  return end;
}
/* Push, no preemption, no split windows, no coinciding moments. */
static inline void check_slack(const judged *j) {
  const double *slack = berth_result_slack(j->r);
  double makespan = berth_result_makespan(j->r);
  if (!CHECK(slack != NULL)) return;
  for (int32_t v = 0; v < j->n; v++) {
    CHECK(delayed_makespan(j, v, slack[v] * (1 - 1e-9)) <= makespan + 1e-6);
    CHECK(delayed_makespan(j, v, slack[v] + 1e-3) >= makespan + 0.5e-3);
  }
}
static inline void check_critical(const judged *j) {
  const int32_t *op;
  int32_t n = berth_result_critical(j->r, &op);
  const double *slack = berth_result_slack(j->r);
  CHECK((n > 0) == (j->n > 0));
  if (n == 0) return;
  CHECK(j->finish[op[n - 1]] == berth_result_makespan(j->r));
  for (int32_t i = 1; i < n; i++) {
    const int32_t *in;
    int32_t k, m = berth_graph_inputs(j->g, op[i], &in), feeds = 0;
    for (k = 0; k < m; k++) feeds |= producer_of(j, in[k]) == op[i - 1];
    CHECK(feeds || j->device[op[i - 1]] == j->device[op[i]]);
    if (!j->o->preempt) CHECK(j->finish[op[i - 1]] <= j->start[op[i]] + EPS);
  }
  if (j->o->links == BERTH_LINKS_FREE && j->o->send == BERTH_SEND_PUSH) {
    for (int32_t i = 0; i < n; i++) CHECK(slack[op[i]] <= 1e-9);
  }
}

#endif
