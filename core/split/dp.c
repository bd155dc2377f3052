/* The dynamic program over ideals of Tarnawski et al. 2020, sec. 5. A state of ideal I:
 * accelerators and CPUs used for I, and the best value so far. From I all ideals J above it are
 * evaluated whose difference fits on one device, depth first, with running sums.
 * Invariant: when I is reached, all states of it are final, as ideals come by size. States that
 * cannot end below the limit, or are dominated by one with fewer devices, are not continued; each
 * answer lowers the limit. O(pairs of ideals x states) at worst. */
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
  double relief;     /* most accelerator seconds that a CPU second replaces */
  int32_t *seen;     /* [ideals] the I from which it was visited last */
  int32_t *count;    /* [nets] units in J \ I */
  step *path;        /* [units + 1] */
  int32_t *live;     /* [states] of the present I */
  int32_t n_live;
  bool use_acc, use_cpu;
  int64_t poll;
} program;

/* ---- the remainder above an ideal ---- */

/* Accelerator work that a unit adds at least, unless CPU seconds replace it. */
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

/* No answer below the limit is possible: the remainder does not fit in the devices that are
 * left. */
static bool hopeless(const program *p, int32_t ideal, int32_t acc, int32_t cpu) {
  double left = p->rest[ideal];
  if (p->s->sum) return false;
  if (ideal == p->ideals->n - 1) return false;
  if (cpu == 0) left += p->open[ideal];
  double room = (acc + p->relief * cpu) * p->s->limit;
  return left > room * (1 + ROUNDING) || acc + cpu == 0;
}

/* A state is dominated, and dropped, if one with fewer devices is no worse. */
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

/* J \ I on one more accelerator, or CPU, for all live states of I. */
static void offer_all(program *p, int32_t from, const step *t) {
  int32_t acc = p->m->sorts.n_acc;
  double load = t->acc + t->transfers;
  bool fits = t->bytes <= p->m->sorts.memory * (1 + ROUNDING);
  for (int32_t i = 0; i < 2 * p->n_live; i++) {
    int32_t s = p->live[i / 2];
    bool cpu = i % 2;
    bool ok = cpu ? p->use_cpu && s % p->columns < p->columns - 1
                  : p->use_acc && fits && s / p->columns < acc;
    double x = cpu ? t->cpu : load;
    if (!ok || !(x < p->s->limit)) continue;
    double before = p->value[(size_t)from * (size_t)p->n_states + (size_t)s],
           v = p->s->sum ? before + x : fmax(before, x);
    size_t at = (size_t)t->ideal * (size_t)p->n_states + (size_t)(cpu ? s + 1 : s + p->columns);
    if (!(v < p->value[at]) || !(v < p->s->limit)) continue;
    p->value[at] = v;
    p->from[at] = 2 * from + cpu;
    if (t->ideal < p->ideals->n - 1) continue;
    p->s->limit = v;
    p->s->found = true;
  }
}

/* ---- all differences above one ideal ---- */

static berth_status go_on_from(program *p, int32_t from) {
  const berth_i_ideals *d = p->ideals;
  const berth_i_split_model *m = p->m;
  double most_bytes = m->sorts.memory * (1 + ROUNDING);
  berth_status st = BERTH_OK;
  step *t = p->path;
  *t = (step){ from, d->at[from], BERTH_NONE, 0, 0, 0, 0 };
  while (t >= p->path) {
    if (t->cursor == d->at[t->ideal + 1] || st != BERTH_OK || p->s->stopped) {
      if (t->unit != BERTH_NONE) uncount(m, t->unit, p->count);
      t--;
      continue;
    }
    int32_t to = d->to[t->cursor], u = d->add[t->cursor++];
    if (p->seen[to] == from) continue;
    p->seen[to] = from;
    /* J with u must fit some device */
    double acc = t->acc + m->acc[u], cpu = t->cpu + m->cpu[u], bytes = t->bytes + m->bytes[u];
    bool on_cpu = p->use_cpu && cpu < p->s->limit;
    if (!on_cpu && !(p->use_acc && acc < p->s->limit && bytes <= most_bytes)) continue;
    double transfers = fmax(0, t->transfers + cut_delta(m, u, p->count));
    *++t = (step){ to, d->at[to], u, acc, cpu, bytes, transfers };
    offer_all(p, from, t);
    if (p->s->visits <= 0) p->s->stopped = true;
    p->s->visits--;
    p->s->evaluated++;
    if (++p->poll % POLL == 0) st = berth_i_interrupted(m->cost->ctx);
  }
  return st;
}

/* ---- the answer ---- */

/* Back from the whole: the units between an ideal and the one before it go to one device. To find
 * them each ideal above the lower one gets a link to one below it.
 * @param unit_below [ideals] scratch.  O(devices (ideals + links)) */
static void read_answer(program *p, int32_t *unit_below) {
  const berth_i_ideals *d = p->ideals;
  int32_t ideal = d->n - 1, s = 0, acc = 0, cpu = 0, *below = p->seen;
  const double *value = p->value + (size_t)ideal * (size_t)p->n_states;
  for (int32_t i = 1; i < p->n_states; i++) {
    if (value[i] < value[s]) s = i;
  }
  while (ideal > 0) {
    int32_t from = p->from[(size_t)ideal * (size_t)p->n_states + (size_t)s], low = from / 2;
    bool on_cpu = from % 2;
    int32_t device = on_cpu ? p->m->sorts.cpu[cpu++] : p->m->sorts.acc[acc++];
    for (int32_t i = 0; i < d->n; i++) below[i] = BERTH_NONE;
    below[low] = low;
    for (int32_t i = low; i < d->n; i++) {
      for (int32_t e = d->at[i]; below[i] != BERTH_NONE && e < d->at[i + 1]; e++) {
        if (below[d->to[e]] != BERTH_NONE) continue;
        below[d->to[e]] = i;
        unit_below[d->to[e]] = d->add[e];
      }
    }
    for (; ideal != low; ideal = below[ideal]) p->s->device[unit_below[ideal]] = device;
    s -= on_cpu ? 1 : p->columns;
  }
}

/* ---- all together ---- */

double berth_i_split_dp_bytes(const berth_i_split_model *m, int32_t ideals) {
  return (double)ideals
         * ((m->sorts.n_acc + 1.0) * (m->sorts.n_cpu + 1.0) * (sizeof(double) + sizeof(int32_t))
            + 2 * sizeof(double) + 2 * sizeof(int32_t));
}

berth_status berth_i_split_dp(berth_i_split_search *s) {
  const berth_i_split_model *m = s->m;
  berth_i_pool scratch = berth_i_pool_empty(m->cost->ctx);
  program p = { .s = s, .m = m, .ideals = s->ideals, .columns = m->sorts.n_cpu + 1 };
  size_t n = (size_t)s->ideals->n;
  double total = 0;
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
  berth_status st = berth_i_pool_status(&scratch);
  if (st != BERTH_OK) goto done;
  for (int32_t u = 0; u < m->n; u++) total += least_work(m, u);
  p.relief = relief_of(m);
  measure_ideals(&p, total);
  for (size_t i = 0; i < cells; i++) p.value[i] = INFINITY;
  p.value[0] = 0;
  for (int32_t i = 0; i < p.ideals->n - 1 && st == BERTH_OK && !s->stopped; i++) {
    find_live(&p, i);
    if (p.n_live) st = go_on_from(&p, i);
  }
  if (s->found) read_answer(&p, p.from + cells);
done:
  berth_i_pool_free(&scratch);
  return st;
}
