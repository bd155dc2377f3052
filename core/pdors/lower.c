/* Slots that are alike, and what work costs in them at least: without regard to which machines
 * hold how much. These bounds decide which slots are solved.
 *
 * A class is all slots with the same commitments (hash, then comparison). Its bounds come from the
 * cheapest worker, server and pair on any machine, so they hold whatever the program of the slot
 * finds. Work in any shares lies on the lower hull of nothing, a full machine and all machines;
 * the cheapest parts up to some slot are kept in a heap, from one slot of completion to the next.
 */
#include "base/plain_heap_internal.h"
#include "pdors_internal.h"

/* ---- classes ---- */

static bool alike(const berth_pdors *d, int32_t a, int32_t b) {
  const berth_i_pdors_slot *s = &d->slot[a], *t = &d->slot[b];
  if (s->hash != t->hash) return false;
  if (!s->used || !t->used) return true; /* nothing was ever there, or all was given back */
  return memcmp(s->used, t->used, d->cells * sizeof *s->used) == 0;
}

static int32_t class_for(berth_pdors *d, int32_t slot) {
  berth_i_pdors_search *s = &d->search;
  size_t at = (size_t)(d->slot[slot].hash * 0x9e3779b97f4a7c15u >> 20) % s->table_cap;
  while (s->table[at] != BERTH_NONE && !alike(d, s->slot_of[s->table[at]], slot))
    at = (at + 1) % s->table_cap;
  if (s->table[at] == BERTH_NONE) {
    s->table[at] = s->classes++;
    s->slot_of[s->table[at]] = slot;
  }
  return s->table[at];
}

/* O(slots), where hashes differ if slots do. */
void berth_i_pdors_classify(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  s->classes = 0;
  for (int32_t i = 0; i < (int32_t)s->table_cap; i++) s->table[i] = BERTH_NONE;
  for (int32_t i = 0; i < s->n; i++) s->class_of[i] = class_for(d, s->from + i);
}

/* ---- costs of one class ---- */

/* Cheapest prices of a worker and of a server, anywhere; of a worker with its share of a server,
 * where both fit. */
typedef struct floors {
  double worker, server, both, server_there;
  double most_in;          /* workers that fit on one machine, with their servers */
  double workers, servers; /* units that fit, each as if the others were not there; counted up
                              to the most that is wanted */
} floors;

typedef struct needs {
  int32_t n;
  double per_server, most, most_servers; /* workers per server at most; workers and servers on
                                            several machines */
  double worker[BERTH_PS_RESOURCES], server[BERTH_PS_RESOURCES], mixed[BERTH_PS_RESOURCES];
  int32_t resource[BERTH_PS_RESOURCES];
} needs;

/* Plain comparisons: this is where most of the time of a decision goes. */
static inline double least(double a, double b) { return b < a ? b : a; }

/* A machine: prices, and what is left with the slack that commitments have. */
typedef struct machine_state {
  double price[BERTH_PS_RESOURCES], left[BERTH_PS_RESOURCES];
} machine_state;

/* Resources of which a unit takes none may have no price at all. */
static double cost(const needs *q, const double *demand, const machine_state *m) {
  double sum = 0;
  for (int32_t i = 0; i < q->n; i++) {
    if (!(demand[i] > 0)) continue;
    if (demand[i] > m->left[i]) return INFINITY;
    sum += demand[i] * m->price[i];
  }
  return sum;
}

static double units(const needs *q, const double *demand, const machine_state *m) {
  double most = INFINITY;
  for (int32_t i = 0; i < q->n; i++)
    if (demand[i] > 0) most = least(most, floor(m->left[i] / demand[i]));
  return most;
}

static floors floors_of(const berth_pdors *d, const needs *q, const berth_i_pdors_slot *s) {
  floors f = { INFINITY, INFINITY, INFINITY, INFINITY, 0, 0, 0 };
  machine_state m;
  for (int32_t h = 0; h < d->c.machines; h++) {
    for (int32_t i = 0; i < q->n; i++) {
      size_t k = (size_t)h * (size_t)d->c.resources + (size_t)q->resource[i];
      m.price[i] = s->price[k];
      m.left[i] = s->left[k] + 1e-9 * d->c.capacity[k];
    }
    double worker = h < d->split ? cost(q, q->worker, &m) : INFINITY;
    double server = d->families == 1 || h >= d->split ? cost(q, q->server, &m) : INFINITY;
    f.worker = least(f.worker, worker);
    f.server = least(f.server, server);
    if (worker < INFINITY && f.workers < q->most) f.workers += units(q, q->worker, &m);
    if (server < INFINITY && f.servers < q->most_servers) f.servers += units(q, q->server, &m);
    if (d->families == 2 || !(worker + server < INFINITY)) continue;
    f.both = least(f.both, worker + server / q->per_server);
    f.server_there = least(f.server_there, server);
    if (f.most_in >= d->search.rates.most_in) continue;
    double most = INFINITY; /* workers on this machine, with their servers */
    for (int32_t i = 0; i < q->n; i++) {
      most = least(most, m.left[i] / q->mixed[i]);
      if (q->worker[i] > 0) most = least(most, (m.left[i] - q->server[i]) / q->worker[i]);
      else if (q->server[i] > m.left[i]) most = 0;
    }
    if (most > f.most_in) f.most_in = most;
  }
  return f;
}

/* Servers beyond the workers' shares cost, too. */
static double inside(const berth_i_pdors_search *s, const berth_ps_job *j, const floors *f,
                     double samples) {
  double workers = berth_i_pdors_workers(samples, s->rates.inside),
         servers = berth_i_pdors_servers(j, workers);
  if (workers > s->rates.most_in || workers > f->most_in) return INFINITY;
  return workers * f->both + fmax(0, servers - workers / s->rates.per_server) * f->server_there;
}

static double outside(const berth_i_pdors_search *s, const berth_ps_job *j, const floors *f,
                      double samples) {
  double workers = berth_i_pdors_workers(samples, s->rates.outside),
         servers = berth_i_pdors_servers(j, workers);
  if (workers > s->rates.most_out || workers > f->workers || servers > f->servers) return INFINITY;
  return workers * f->worker + servers * f->server;
}

/* O(classes (machines resources + quanta)) */
void berth_i_pdors_lower(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  const berth_ps_job *j = berth_ps_job_at(d->ps, s->job);
  needs q;
  q.n = 0;
  q.per_server = s->rates.per_server;
  q.most = s->rates.most_out;
  q.most_servers = berth_i_pdors_servers(j, q.most);
  for (int32_t r = 0; r < d->c.resources; r++)
    if (j->worker[r] > 0 || j->server[r] > 0) {
      q.resource[q.n] = r;
      q.worker[q.n] = j->worker[r];
      q.server[q.n] = j->server[r];
      q.mixed[q.n++] = j->worker[r] + j->server[r] / j->ratio;
    }
  for (int32_t class = 0; class < s->classes; class++) {
    floors f = floors_of(d, &q, berth_i_pdors_slot_at(d, s->slot_of[class]));
    /* 1. Whole amounts. */
    double *lower = s->lower + (size_t)class * (size_t)(s->most + 1);
    lower[0] = 0;
    for (int32_t v = 1; v <= s->most; v++) {
      double samples = fmin(v * s->quantum, s->rates.work) * s->rates.scale;
      lower[v] = fmin(inside(s, j, &f, samples), outside(s, j, &f, samples)) * (1 - 1e-12);
    }
    /* 2. Work in any shares: the hull of nothing, a full machine, and all machines. */
    double a = fmin(s->rates.most_in, floor(f.most_in)),
           b = fmin(s->rates.most_out, fmin(f.workers, floor(f.servers * j->ratio * (1 + 1e-12)))),
           in = f.both < INFINITY ? a / s->rates.inside : 0,
           out = f.worker + f.server < INFINITY ? b / s->rates.outside : 0;
    berth_i_pdors_hull(in, in > 0 ? a * f.both : 0, out,
                       out > 0 ? b * (f.worker + f.server / s->rates.per_server) : 0,
                       s->hull + 2 * (size_t)class);
  }
}

/* ---- work in any shares ---- */

int32_t berth_i_pdors_hull(double amount_a, double cost_a, double amount_b, double cost_b,
                           berth_i_pdors_part out[2]) {
  double low = fmin(amount_a, amount_b), high = fmax(amount_a, amount_b);
  double cost_low = amount_a <= amount_b ? cost_a : cost_b,
         cost_high = amount_a <= amount_b ? cost_b : cost_a;
  out[0] = out[1] = (berth_i_pdors_part){ 0 };
  if (!(high > 0)) return 0;
  if (low == high) cost_high = fmin(cost_low, cost_high);
  if (low > 0 && low < high && cost_low * high < cost_high * low) {
    out[0] = (berth_i_pdors_part){ .amount = low, .slope = cost_low / low };
    out[1] = (berth_i_pdors_part){ .amount = high - low,
                                   .slope = (cost_high - cost_low) / (high - low),
                                   .which = 1 };
    return 2;
  }
  out[0] = (berth_i_pdors_part){ .amount = high, .slope = cost_high / high };
  return 1;
}

static inline bool dearer(berth_i_pdors_part a, berth_i_pdors_part b) { return a.slope > b.slope; }
BERTH_I_HEAP(part, berth_i_pdors_part, dearer)

void berth_i_pdors_fill_put(berth_i_pdors_fill *f, berth_i_pdors_part part) {
  if (!(part.amount > 0) || !(part.slope < INFINITY)) return;
  if (f->have >= f->want && part.slope >= f->part[0].slope) return;
  part_up(f->part, f->n++, part);
  f->have += part.amount;
  while (f->have - f->part[0].amount >= f->want) f->have -= part_pop(f->part, f->n--).amount;
  if (f->have > f->want) {
    f->part[0].amount -= f->have - f->want;
    f->have = f->want;
  }
}

double berth_i_pdors_fill_cost(const berth_i_pdors_fill *f) {
  double sum = 0;
  if (f->have < f->want * (1 - 1e-9)) return INFINITY;
  for (int32_t i = 0; i < f->n; i++) sum += f->part[i].amount * f->part[i].slope;
  return sum;
}

double berth_i_pdors_relaxed(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  berth_i_pdors_fill f = { s->heap, 0, 0, s->rates.work };
  double best = -INFINITY;
  for (int32_t i = 0; i < s->n; i++) {
    for (int32_t k = 0; k < 2; k++)
      berth_i_pdors_fill_put(&f, s->hull[2 * (size_t)s->class_of[i] + (size_t)k]);
    best = fmax(best, s->worth[i] - berth_i_pdors_fill_cost(&f));
  }
  return best;
}
