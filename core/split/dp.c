/* The dynamic program over ideals. A state of ideal I: accelerators and CPUs used for I, and the
 * best value so far. From I all ideals J above it are tried whose difference fits on one device,
 * depth first, with running sums. */
#include "split_internal.h"

enum { POLL = 1 << 16 };
static const double ROUNDING = 1e-12;

/* One step of the way from I up to the present J, and the sums of J \ I. */
typedef struct step {
  int32_t ideal, cursor, unit;
  double acc, cpu, bytes, transfers;
} step;

typedef struct program {
  berth_i_split_search *s;
  const berth_i_split_model *m;
  const berth_i_ideals *ideals;
  int32_t n_states, columns; /* columns: CPUs + 1 */
  double *value;     /* [ideals * states] */
  int32_t *from;     /* [ideals * states] 2 * ideal + (the last device is a CPU) */
  double *rest, *open; /* [ideals] least accelerator work above; price of the nets that are cut */
  double relief;     /* most accelerator seconds that a CPU second stands for */
  int32_t *seen;     /* [ideals] the I from which it was visited last */
  int32_t *count;    /* [nets] units in J \ I */
  step *path;        /* [units + 1] */
  int32_t *live;     /* [states] of the present I */
  int32_t n_live;
  bool use_acc, use_cpu;
  int64_t poll;
} program;

/* ---- what is left above an ideal ---- */

/* Accelerator work that a unit cannot but bring, unless CPU seconds stand for it. */
static double least_work(const berth_i_split_model *m, int32_t u) {
  return m->cpu[u] > 0 && !isinf(m->acc[u]) ? m->acc[u] : 0;
}

static double relief_of(const berth_i_split_model *m) {
  double most = 0;
  for (int32_t u = 0; u < m->n; u++)
    if (m->cpu[u] > 0 && !isinf(m->acc[u])) most = fmax(most, m->acc[u] / m->cpu[u]);
  return most;
}

double berth_i_split_bound(const berth_i_split_model *m) {
  double total = 0, widest = 0, share = m->sorts.n_acc + m->sorts.n_cpu * relief_of(m);
  for (int32_t u = 0; u < m->n; u++) {
    total += m->sorts.n_cpu ? least_work(m, u) : m->acc[u];
    widest = fmax(widest, fmin(m->acc[u], m->cpu[u]));
  }
  return fmax(widest, share > 0 ? total / share : 0);
}

/* The units of an ideal are found along its first link from below; `mark` counts the units of nets
 * in it. */
static double cut_delta(const berth_i_split_model *m, int32_t u, int32_t *count) {
  double d = 0;
  for (int32_t e = m->of_at[u]; e < m->of_at[u + 1]; e++) {
    int32_t k = m->of[e], size = m->net_at[k + 1] - m->net_at[k];
    if (count[k] == 0) d += m->price[k];
    if (++count[k] == size) d -= m->price[k];
  }
  return d;
}

static void uncount(const berth_i_split_model *m, int32_t u, int32_t *count) {
  for (int32_t e = m->of_at[u]; e < m->of_at[u + 1]; e++) count[m->of[e]]--;
}

/* Depth first from the empty ideal over all: rest and open. */
static void measure_ideals(program *p, double total) {
  const berth_i_ideals *d = p->ideals;
  int32_t depth = 0;
  for (int32_t i = 0; i < d->n; i++) p->seen[i] = BERTH_NONE;
  p->path[0] = (step){ 0, d->at[0], BERTH_NONE, 0, 0, 0, 0 };
  p->rest[0] = total;
  p->open[0] = 0;
  p->seen[0] = 0;
  while (depth >= 0) {
    step *t = &p->path[depth];
    if (t->cursor == d->at[t->ideal + 1]) {
      if (t->unit != BERTH_NONE) uncount(p->m, t->unit, p->count);
      depth--;
      continue;
    }
    int32_t to;
    to = d->to[t->cursor];
    int32_t u = d->add[t->cursor++];
    if (p->seen[to] == 0) continue;
    p->seen[to] = 0;
    p->open[to] = fmax(0, p->open[t->ideal] + cut_delta(p->m, u, p->count));
    p->rest[to] = fmax(0, p->rest[t->ideal] - least_work(p->m, u));
    p->path[++depth] = (step){ to, d->at[to], u, 0, 0, 0, 0 };
  }
  for (int32_t i = 0; i < d->n; i++) p->seen[i] = BERTH_NONE;
}

/* ---- states ---- */

/* Nothing below the limit can come of it: what is left does not fit in the devices that are
 * left. */
static bool hopeless(const program *p, int32_t ideal, int32_t acc, int32_t cpu) {
  double left = p->rest[ideal];
  if (p->s->sum) return false;
  if (ideal == p->ideals->n - 1) return false;
  if (cpu == 0) left += p->open[ideal];
  double room = (acc + p->relief * cpu) * p->s->limit;
  return left > room * (1 + ROUNDING) || acc + cpu == 0;
}

/* A state is dead that one with fewer devices is no worse than. */
static bool dominated(const program *p, const double *value, int32_t k, int32_t c) {
  for (int32_t a = 0; a <= k; a++)
    for (int32_t b = 0; b <= c; b++)
      if ((a < k || b < c) && value[a * p->columns + b] <= value[k * p->columns + c]) return true;
  return false;
}

static void find_live(program *p, int32_t ideal) {
  const double *value = p->value + (size_t)ideal * (size_t)p->n_states;
  int32_t acc = p->m->sorts.n_acc, cpu = p->m->sorts.n_cpu;
  p->n_live = 0;
  p->use_acc = p->use_cpu = false;
  for (int32_t k = 0; k <= acc; k++) {
    for (int32_t c = 0; c <= cpu; c++) {
      int32_t s = k * p->columns + c;
      if (!(value[s] < p->s->limit) || hopeless(p, ideal, acc - k, cpu - c)
          || dominated(p, value, k, c))
        continue;
      p->live[p->n_live++] = s;
      p->use_acc |= k < acc;
      p->use_cpu |= c < cpu;
    }
  }
}

static void offer(program *p, int32_t from, int32_t to, int32_t old, int32_t s, double load,
                  bool cpu) {
  double before = p->value[(size_t)from * (size_t)p->n_states + (size_t)old],
         v = p->s->sum ? before + load : fmax(before, load);
  size_t at = (size_t)to * (size_t)p->n_states + (size_t)s;
  if (!(v < p->value[at]) || !(v < p->s->limit)) return;
  p->value[at] = v;
  p->from[at] = 2 * from + cpu;
  if (to == p->ideals->n - 1) {
    p->s->limit = v;
    p->s->found = true;
  }
}

static void offer_all(program *p, int32_t from, const step *t) {
  int32_t acc = p->m->sorts.n_acc;
  double load = t->acc + t->transfers;
  bool on_acc = p->use_acc && load < p->s->limit && t->bytes <= p->m->sorts.memory * (1 + ROUNDING);
  bool on_cpu = p->use_cpu && t->cpu < p->s->limit;
  for (int32_t i = 0; i < p->n_live; i++) {
    int32_t s = p->live[i];
    if (on_acc && s / p->columns < acc) offer(p, from, t->ideal, s, s + p->columns, load, false);
    if (on_cpu && s % p->columns < p->columns - 1) offer(p, from, t->ideal, s, s + 1, t->cpu, true);
  }
}

/* ---- all differences above one ideal ---- */

static bool may_grow(const program *p, double acc, double cpu, double bytes) {
  if (p->use_cpu && cpu < p->s->limit) return true;
  return p->use_acc && acc < p->s->limit && bytes <= p->m->sorts.memory * (1 + ROUNDING);
}

static berth_status poll(program *p) {
  if (p->s->visits <= 0) p->s->stopped = true;
  p->s->visits--;
  p->s->tried++;
  return ++p->poll % POLL ? BERTH_OK : berth_i_interrupted(p->m->cost->ctx);
}

static void climb(program *p, step *t, int32_t to, int32_t u) {
  const berth_i_split_model *m = p->m;
  t[1] = (step){
    to, p->ideals->at[to], u, t->acc + m->acc[u], t->cpu + m->cpu[u], t->bytes + m->bytes[u], 0
  };
  t[1].transfers = fmax(0, t->transfers + cut_delta(m, u, p->count));
}

static berth_status go_on_from(program *p, int32_t from) {
  const berth_i_ideals *d = p->ideals;
  berth_status st = BERTH_OK;
  step *t = p->path;
  *t = (step){ from, d->at[from], BERTH_NONE, 0, 0, 0, 0 };
  while (t >= p->path) {
    if (t->cursor == d->at[t->ideal + 1] || st != BERTH_OK || p->s->stopped) {
      if (t->unit != BERTH_NONE) uncount(p->m, t->unit, p->count);
      t--;
      continue;
    }
    int32_t to;
    to = d->to[t->cursor];
    int32_t u = d->add[t->cursor++];
    if (p->seen[to] == from) continue;
    p->seen[to] = from;
    if (!may_grow(p, t->acc + p->m->acc[u], t->cpu + p->m->cpu[u], t->bytes + p->m->bytes[u]))
      continue;
    climb(p, t, to, u);
    offer_all(p, from, ++t);
    st = poll(p);
  }
  return st;
}

/* ---- the answer ---- */

/* Marks the units from `low` up to `high` with the device: walks links down by size, which needs
 * the links from below. */
static void assign(program *p, int32_t high, int32_t low, int32_t device, const int32_t *below,
                   const int32_t *unit_below) {
  while (high != low && high > 0) {
    p->s->device[unit_below[high]] = device;
    high = below[high];
  }
}

/* For each ideal above `low`, one link from an ideal above `low` as well. O(ideals + links) */
static void links_from(program *p, int32_t low, int32_t *below, int32_t *unit_below) {
  const berth_i_ideals *d = p->ideals;
  for (int32_t i = 0; i < d->n; i++) below[i] = BERTH_NONE;
  below[low] = low;
  for (int32_t i = low; i < d->n; i++) {
    if (below[i] == BERTH_NONE) continue;
    for (int32_t e = d->at[i]; e < d->at[i + 1]; e++) {
      if (below[d->to[e]] != BERTH_NONE) continue;
      below[d->to[e]] = i;
      unit_below[d->to[e]] = d->add[e];
    }
  }
}

static int32_t best_state(const program *p, int32_t ideal) {
  const double *value = p->value + (size_t)ideal * (size_t)p->n_states;
  int32_t best = 0;
  for (int32_t s = 1; s < p->n_states; s++)
    if (value[s] < value[best]) best = s;
  return best;
}

static void read_answer(program *p) {
  int32_t ideal = p->ideals->n - 1, s = best_state(p, ideal), acc = 0, cpu = 0;
  while (ideal > 0) {
    int32_t from = p->from[(size_t)ideal * (size_t)p->n_states + (size_t)s];
    bool on_cpu = from % 2;
    links_from(p, from / 2, p->seen, p->from + (size_t)p->ideals->n * (size_t)p->n_states);
    assign(p, ideal, from / 2, on_cpu ? p->m->sorts.cpu[cpu++] : p->m->sorts.acc[acc++], p->seen,
           p->from + (size_t)p->ideals->n * (size_t)p->n_states);
    s -= on_cpu ? 1 : p->columns;
    ideal = from / 2;
  }
}

/* ---- all together ---- */

double berth_i_split_dp_bytes(const berth_i_split_model *m, int32_t ideals) {
  return (double)ideals
         * ((m->sorts.n_acc + 1.0) * (m->sorts.n_cpu + 1.0) * (sizeof(double) + sizeof(int32_t))
            + 2 * sizeof(double) + 2 * sizeof(int32_t));
}

static berth_status solve(program *p) {
  berth_status st = BERTH_OK;
  size_t n = (size_t)p->ideals->n * (size_t)p->n_states;
  double total = 0;
  for (int32_t u = 0; u < p->m->n; u++) total += least_work(p->m, u);
  p->relief = relief_of(p->m);
  measure_ideals(p, total);
  for (size_t i = 0; i < n; i++) p->value[i] = INFINITY;
  p->value[0] = 0;
  for (int32_t u = 0; u < p->ideals->n - 1 && st == BERTH_OK && !p->s->stopped; u++) {
    find_live(p, u);
    if (p->n_live) st = go_on_from(p, u);
  }
  if (p->s->found) read_answer(p);
  return st;
}

berth_status berth_i_split_dp(berth_i_split_search *s) {
  const berth_i_split_model *m = s->m;
  berth_i_pool scratch = berth_i_pool_empty(m->cost->ctx);
  program p = { .s = s, .m = m, .ideals = s->ideals, .columns = m->sorts.n_cpu + 1 };
  size_t n = (size_t)s->ideals->n;
  p.n_states = (m->sorts.n_acc + 1) * p.columns;
  size_t cells = n * (size_t)p.n_states;
  p.value = berth_i_pool_alloc(&scratch, cells, sizeof *p.value);
  p.from = berth_i_pool_alloc(&scratch, cells + n, sizeof *p.from);
  p.rest = berth_i_pool_alloc(&scratch, n, sizeof *p.rest);
  p.open = berth_i_pool_alloc(&scratch, n, sizeof *p.open);
  p.seen = berth_i_pool_alloc(&scratch, n, sizeof *p.seen);
  p.count = berth_i_pool_zalloc(&scratch, (size_t)m->n_nets, sizeof *p.count);
  p.path = berth_i_pool_alloc(&scratch, (size_t)m->n + 1, sizeof *p.path);
  p.live = berth_i_pool_alloc(&scratch, (size_t)p.n_states, sizeof *p.live);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) st = solve(&p);
  berth_i_pool_free(&scratch);
  return st;
}
