/* A bound on every schedule: for any prices p of resources, the value of all capacity at these
 * prices, plus for each job the most that it pays at them, is at least the utility of any schedule
 * of all jobs (weak duality; PD-ORS, section 2).
 *
 * The value is convex in p, and machines of one type may change places in every slot: the mean over
 * such machines is as good a price for each. So there is one price for each type (or group of
 * types), resource and slot. A job pays at most as if work could be divided at will: in a slot it
 * lies on the hull of nothing, all that one machine can do, and all that several can at the lowest
 * prices. All of this errs on the safe side. Better prices are found by steps along a subgradient:
 * what all jobs together would take at these prices, against what there is. */
#include "base/sort_internal.h"
#include "pdors_internal.h"

enum { BERTH_I_PDORS_GROUPS = 32 };

/** Machines of one type have one price; if there are more types than so many, those of one group. A
 *  group can do what any of its types can. */
static inline int32_t berth_i_pdors_group(const berth_pdors *d, int32_t type) {
  if (d->types.n <= BERTH_I_PDORS_GROUPS) return type;
  return (int32_t)((int64_t)type * BERTH_I_PDORS_GROUPS / d->types.n);
}

enum { MOST_POINTS = 48 };

/** At most so much can be done in a slot, for the price of so many workers at least. */
typedef enum certified_end { INSIDE, APART, NEAR } certified_end;
typedef struct certified_point {
  double amount; /* samples */
  int32_t workers;
  certified_end end;
} certified_point;

/** The most that a job can do under any scheduler. */
typedef struct certified_job {
  double work, per_server;
  double tau, sending; /* shared links: slots for a sample to compute; to send, with one server for
                          each worker */
  size_t first;        /* points ascend by amount */
  int32_t points;
} certified_job;

typedef struct certifier {
  berth_i_pool pool;
  const berth_pdors *d;
  berth_ctx *ctx;
  berth_status st; /* BERTH_EINTERRUPT ends all evaluations */
  int32_t jobs, slots, types, resources; /* types: groups of them */
  size_t cells;                        /* slots * types * resources */
  certified_job *job;                  /* [jobs] */
  certified_point *point;              /* of all jobs */
  size_t points, point_cap;
  int32_t *most_in;                    /* [jobs * types] workers on one machine */
  uint8_t *fits_worker, *fits_server;  /* [jobs * types] */
  double *capacity;                        /* [types * resources] capacity of all machines of a
                                              type */
  double *value, *best_value, *start, *price, *slope; /* [cells] */
  berth_i_pdors_part *heap;            /* [MOST_POINTS * slots] */
  berth_pdors_certificate best;
} certifier;

/* ---- arrays of a certificate, and what the papers guarantee ---- */

static bool fits(const certifier *c, const double *demand, const double *capacity) {
  for (int32_t r = 0; r < c->resources; r++)
    if (demand[r] > capacity[r] * (1 + 1e-9)) return false;
  return true;
}

/* ---- what a job can do in a slot ---- */

BERTH_I_SORT(sort_points, certified_point,
             BERTH_I_UP(amount) BERTH_I_UP(end) BERTH_I_UP(workers))

static berth_status add_point(certifier *c, int32_t job, certified_point point) {
  certified_job *q = &c->job[job];
  if (!(point.amount > 0)) return BERTH_OK;
  if (q->points == 0) q->first = c->points;
  berth_status st = BERTH_I_POOL_GROW(&c->pool, c->point, c->point_cap, c->points + 1);
  if (st != BERTH_OK) return st;
  c->point[c->points++] = point;
  sort_points(c->point + q->first, (size_t)++q->points);
  return BERTH_OK;
}

static berth_status add_cases(certifier *c, int32_t job, const berth_i_pdors_rates *r) {
  berth_status st =
      add_point(c, job, (certified_point){ r->most_in / r->inside, r->most_in, INSIDE });
  if (st != BERTH_OK) return st;
  return add_point(c, job, (certified_point){ r->most_out / r->outside, r->most_out, APART });
}

/* Shared links. An iteration of W workers and S servers takes tau batch / W + 2 bytes / (S b). All
 * workers on one machine: b is at most the largest bandwidth of any pair. Workers on n > 1
 * machines: a worker on the one of these that has fewest servers, at most S / n, shares its link by
 * at least S - S / n; so S b is at most link n / (n - 1), and n is at least W over the workers that
 * one machine holds. Between two numbers of workers of the list: the speed of the larger, the price
 * of the smaller. */
static berth_status add_shared(certifier *c, int32_t job, const berth_i_pdors_rates *r) {
  const berth_ps_job *j = berth_ps_job_at(c->d->ps, job);
  double link = fmax(j->across, j->rack), one = 0;
  for (int32_t k = 0; k < c->d->types.n; k++) {
    const double *capacity = c->d->c.capacity
                             + (size_t)c->d->types.first[k] * (size_t)c->resources;
    double units = j->batch;
    for (int32_t i = 0; i < c->resources; i++)
      if (j->worker[i] > 0) units = fmin(units, floor(capacity[i] / j->worker[i] * (1 + 1e-9)));
    one = fmax(one, units);
  }
  if (!(one > 0)) return BERTH_OK;
  c->job[job].tau = j->tau;
  c->job[job].sending = 2 * j->bytes / (fmax(link, j->inside) * j->batch);
  berth_status st = add_point(c, job, (certified_point){ one / j->tau, (int32_t)one, NEAR });
  for (int32_t w = 2, before = 2; w <= r->most_out && st == BERTH_OK;) {
    double n = fmax(2, ceil(w / one));
    double iteration = j->tau * j->batch / w + 2 * j->bytes / link * (1 - 1 / n);
    st = add_point(c, job, (certified_point){ j->batch / iteration, before, APART });
    before = w + 1;
    if (w == r->most_out) break;
    w = (int32_t)fmin(r->most_out, w + fmax(1, floor(w / 8.0)));
  }
  return st;
}

/* Release it also if this fails. */
static berth_status certifier_init(certifier *c, const berth_pdors *d) {
  int32_t types = d->types.n < BERTH_I_PDORS_GROUPS ? d->types.n : BERTH_I_PDORS_GROUPS;
  size_t jobs = (size_t)berth_ps_jobs(d->ps), of_slot = (size_t)types * (size_t)d->c.resources;
  *c = (certifier){ .pool = berth_i_pool_empty(d->ctx),
                    .d = d,
                    .ctx = d->ctx,
                    .jobs = (int32_t)jobs,
                    .slots = d->c.slots,
                    .types = types,
                    .resources = d->c.resources };
  size_t pairs = jobs * (size_t)c->types;
  c->cells = (size_t)c->slots * of_slot;
  c->best.bound = INFINITY;
  c->job = berth_i_pool_alloc(&c->pool, jobs, sizeof *c->job);
  c->most_in = berth_i_pool_zalloc(&c->pool, pairs, sizeof *c->most_in);
  c->fits_worker = berth_i_pool_zalloc(&c->pool, pairs, 1);
  c->fits_server = berth_i_pool_zalloc(&c->pool, pairs, 1);
  c->capacity = berth_i_pool_zalloc(&c->pool, of_slot, sizeof *c->capacity);
  c->value = berth_i_pool_alloc(&c->pool, c->cells, sizeof *c->value);
  c->best_value = berth_i_pool_alloc(&c->pool, c->cells, sizeof *c->best_value);
  c->start = berth_i_pool_alloc(&c->pool, c->cells, sizeof *c->start);
  c->price = berth_i_pool_alloc(&c->pool, c->cells, sizeof *c->price);
  c->slope = berth_i_pool_alloc(&c->pool, c->cells, sizeof *c->slope);
  c->heap = berth_i_pool_alloc(&c->pool, MOST_POINTS * (size_t)c->slots, sizeof *c->heap);
  if (berth_i_pool_status(&c->pool) != BERTH_OK) return BERTH_ENOMEM;
  for (int32_t h = 0; h < c->d->c.machines; h++)
    for (int32_t r = 0; r < c->resources; r++)
      c->capacity[(size_t)berth_i_pdors_group(c->d, c->d->types.of[h]) * (size_t)c->resources
              + (size_t)r] += c->d->c.capacity[(size_t)h * (size_t)c->resources + (size_t)r];
  /* OASiS, too, is measured by what can be done without its pools. */
  berth_pdors any = *c->d;
  for (int32_t k = 0; k < c->resources && any.families == 2; k++)
    any.family[0].capacity[k] += any.family[1].capacity[k];
  any.families = 1;
  any.split = any.c.machines;
  for (int32_t i = 0; i < c->jobs; i++) {
    const berth_ps_job *j = berth_ps_job_at(d->ps, i);
    berth_i_pdors_rates r;
    berth_i_pdors_rates_of(&any, i, &r);
    c->job[i] = (certified_job){ .work = r.work * (1 - 1e-9), .per_server = r.per_server };
    berth_status st = d->c.comm == BERTH_PS_SHARED ? add_shared(c, i, &r) : add_cases(c, i, &r);
    if (st != BERTH_OK) return st;
    for (int32_t k = 0; k < c->d->types.n; k++) {
      const double *capacity =
          c->d->c.capacity + (size_t)c->d->types.first[k] * (size_t)c->resources;
      size_t at = (size_t)i * (size_t)c->types + (size_t)berth_i_pdors_group(c->d, k);
      int32_t most_in = berth_i_pdors_most_inside(c->d, j, c->d->types.first[k]);
      c->fits_worker[at] |= fits(c, j->worker, capacity);
      c->fits_server[at] |= fits(c, j->server, capacity);
      if (most_in > c->most_in[at]) c->most_in[at] = most_in;
    }
  }
  return BERTH_OK;
}

/* ---- guarantees ---- */

/* Least capacity in units, over machines that hold one. */
static double least_packing(const berth_pdors *d, const berth_ps_job *j) {
  double least = j->batch;
  for (int32_t t = 0; t < d->types.n; t++)
    for (int32_t r = 0; r < d->c.resources; r++) {
      double capacity =
          d->c.capacity[(size_t)d->types.first[t] * (size_t)d->c.resources + (size_t)r];
      if (j->worker[r] > 0 && capacity >= j->worker[r])
        least = fmin(least, capacity / j->worker[r]);
      if (j->server[r] > 0 && capacity >= j->server[r])
        least = fmin(least, capacity / j->server[r]);
    }
  return least;
}

/* Of the least work that is planned in a slot. */
static double least_covering(const berth_pdors *d, int32_t job) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  berth_i_pdors_rates r;
  berth_i_pdors_rates_of(d, job, &r);
  double workers = fmin(r.work, berth_i_pdors_quantum(d, &r)) * r.scale * r.outside;
  return workers / fmax(1, j->ratio);
}

/* Twice the spread of prices if slots are solved exactly; 3 G / delta is what rounding adds. It
 * holds for L and U as published. */
static double pdors_worst_case(const berth_pdors *d) {
  bool published = d->o.plans == BERTH_PDORS_FINAL && !d->o.per_job
                   && d->o.bounds != BERTH_PDORS_ONLINE && d->o.low_scale <= 1
                   && d->o.high_scale >= 1;
  bool exact = d->families == 2 || d->o.mode == BERTH_PDORS_EXACT,
       packing = d->o.favour == BERTH_PDORS_PACKING;
  if (!published) return NAN;
  double spread = 1, factor = d->o.gdelta == BERTH_GDELTA_GIVEN ? d->o.factor : 0;
  for (int32_t i = 0; i < d->families; i++)
    for (int32_t r = 0; r < d->c.resources; r++)
      if (d->family[i].wanted[r])
        spread = fmax(spread, d->family[i].log_high[r] - d->family[i].log_low);
  if (exact) return 2 * spread;
  for (int32_t i = 0; i < berth_ps_jobs(d->ps) && d->o.gdelta != BERTH_GDELTA_GIVEN; i++) {
    double w = packing ? least_packing(d, berth_ps_job_at(d->ps, i)) : least_covering(d, i);
    factor = fmax(factor, berth_gdelta(d->o.favour, d->o.gdelta, packing ? (double)d->cells + 1 : 2,
                                       d->o.delta, w));
  }
  return 2 * spread * (3 * factor / d->o.delta);
}

/* ---- one job ---- */

/* A job's prices in a slot: the cheapest worker and server anywhere, and both on one machine. */
typedef struct spot {
  double worker, server, both;
  int32_t in_type, worker_type, server_type;
} spot;

/* A corner of the hull of (samples, cost) in a slot, and what it takes. */
typedef struct corner {
  double amount, cost, workers, servers;
  int32_t worker_type, server_type;
} corner;

static double unit_cost(const certifier *c, const double *demand, const double *price) {
  double sum = 0;
  for (int32_t r = 0; r < c->resources; r++) sum += demand[r] * price[r];
  return sum;
}

static spot spot_at(const certifier *c, int32_t job, int32_t slot) {
  const certified_job *q = &c->job[job];
  const berth_ps_job *j = berth_ps_job_at(c->d->ps, job);
  const double *price = c->price + (size_t)slot * (size_t)c->types * (size_t)c->resources;
  spot s = { INFINITY, INFINITY, INFINITY, BERTH_NONE, BERTH_NONE, BERTH_NONE };
  for (int32_t k = 0; k < c->types; k++, price += c->resources) {
    size_t at = (size_t)job * (size_t)c->types + (size_t)k;
    double worker = c->fits_worker[at] ? unit_cost(c, j->worker, price) : INFINITY;
    double server = c->fits_server[at] ? unit_cost(c, j->server, price) : INFINITY;
    if (worker < s.worker) s.worker = worker, s.worker_type = k;
    if (server < s.server) s.server = server, s.server_type = k;
    if (c->most_in[at] > 0 && worker + server / q->per_server < s.both) {
      s.both = worker + server / q->per_server;
      s.in_type = k;
    }
  }
  return s;
}

/* Near: at most so many workers, all on one machine, and any number of servers: x for each worker,
 * which takes tau + sending / x slots for a sample. The x that makes a sample cheapest. */
static corner near_corner(const certified_job *q, const certified_point *p, const spot *s) {
  double least = 1 / q->per_server, x = least;
  if (s->server > 0) x = fmax(least, sqrt(q->sending * s->worker / (q->tau * s->server)));
  double servers = s->server > 0 ? x : least; /* free ones: no sending at all */
  double slots = s->server > 0 ? q->tau + q->sending / x : q->tau;
  double workers = p->amount * slots;
  return (corner){ p->amount,      workers * (s->worker + servers * s->server),
                   workers,        workers * servers,
                   s->worker_type, s->server_type };
}

/* The lower hull of nothing and the job's points, which ascend: corners 1 .. n; 0 is nothing.
 * @return n */
static int32_t hull_at(const certifier *c, int32_t job, int32_t slot, corner *hull) {
  const certified_job *q = &c->job[job];
  spot s = spot_at(c, job, slot);
  int32_t n = 0;
  hull[0] = (corner){ 0, 0, 0, 0, BERTH_NONE, BERTH_NONE };
  for (int32_t i = 0; i < q->points; i++) {
    const certified_point *p = &c->point[q->first + (size_t)i];
    bool apart = p->end != INSIDE;
    if (apart ? s.worker_type == BERTH_NONE || s.server_type == BERTH_NONE
              : s.in_type == BERTH_NONE)
      continue;
    corner x = { p->amount,
                 p->workers * (apart ? s.worker + s.server / q->per_server : s.both),
                 p->workers,
                 p->workers / q->per_server,
                 apart ? s.worker_type : s.in_type,
                 apart ? s.server_type : s.in_type };
    if (p->end == NEAR) x = near_corner(q, p, &s);
    if (n > 0 && x.amount == hull[n].amount) {
      if (x.cost >= hull[n].cost) continue;
      n--;
    }
    while (n > 0
           && !((hull[n].cost - hull[n - 1].cost) * (x.amount - hull[n - 1].amount)
                < (x.cost - hull[n - 1].cost) * (hull[n].amount - hull[n - 1].amount)))
      n--;
    hull[++n] = x;
  }
  return n;
}

static void offer(const certifier *c, int32_t job, int32_t slot, berth_i_pdors_fill *f) {
  corner hull[MOST_POINTS + 1];
  int32_t n = hull_at(c, job, slot, hull);
  for (int32_t k = 1; k <= n; k++) {
    double amount = hull[k].amount - hull[k - 1].amount;
    berth_i_pdors_fill_put(f, (berth_i_pdors_part){ amount,
                                                    (hull[k].cost - hull[k - 1].cost) / amount,
                                                    slot, k });
  }
}

/* @param last slot of completion, out
 * @return what the job pays at most; 0 if nothing */
static double payoff(const certifier *c, int32_t job, int32_t *last) {
  const berth_ps_job *j = berth_ps_job_at(c->d->ps, job);
  berth_i_pdors_fill f = { c->heap, 0, 0, c->job[job].work };
  double best = 0;
  *last = BERTH_NONE;
  for (int32_t t = j->arrival; t < c->slots; t++) {
    double worth = berth_ps_utility(j, t - j->arrival);
    if (worth <= best) break;
    offer(c, job, t, &f);
    double here = worth - berth_i_pdors_fill_cost(&f);
    if (!(here > best)) continue;
    best = here;
    *last = t;
  }
  return best;
}

/* ---- what a job takes then ---- */

static void use(certifier *c, int32_t slot, int32_t type, const double *demand, double units) {
  size_t at = ((size_t)slot * (size_t)c->types + (size_t)type) * (size_t)c->resources;
  const double *capacity = c->capacity + (size_t)type * (size_t)c->resources;
  for (int32_t r = 0; r < c->resources; r++)
    if (demand[r] > 0) c->slope[at + (size_t)r] -= demand[r] * units / capacity[r];
}

/* A share of a corner. */
static void use_corner(certifier *c, int32_t job, int32_t slot, const corner *x, double share) {
  const berth_ps_job *j = berth_ps_job_at(c->d->ps, job);
  if (x->workers > 0) use(c, slot, x->worker_type, j->worker, share * x->workers);
  if (x->servers > 0) use(c, slot, x->server_type, j->server, share * x->servers);
}

static void use_part(certifier *c, int32_t job, const berth_i_pdors_part *p) {
  corner hull[MOST_POINTS + 1];
  hull_at(c, job, p->slot, hull);
  const corner *low = &hull[p->which - 1], *high = &hull[p->which];
  double share = p->amount / (high->amount - low->amount);
  use_corner(c, job, p->slot, low, -share);
  use_corner(c, job, p->slot, high, share);
}

/* ---- the value of prices ---- */

/* The bound at these prices; the best one is kept. After an interrupt it is INFINITY, and c->st
 * has it.
 * @param value [cells] of all there is of each resource, type and slot
 * @param slope whether c->slope is computed, too
 * O(jobs slots (types resources + log slots)) */
static double bound_at(certifier *c, const double *value, bool slope) {
  berth_pdors_certificate now = { 0 };
  size_t of_slot = (size_t)c->types * (size_t)c->resources;
  for (size_t i = 0; i < c->cells; i++) {
    double capacity = c->capacity[i % of_slot];
    c->price[i] = capacity > 0 ? value[i] / capacity : 0;
    now.prices += value[i];
    c->slope[i] = 1;
  }
  int32_t last;
  for (int32_t job = 0; job < c->jobs; job++) {
    if (c->st == BERTH_OK) c->st = berth_i_interrupted(c->ctx);
    if (c->st != BERTH_OK) return INFINITY;
    now.jobs += payoff(c, job, &last);
    if (!slope || last == BERTH_NONE) continue;
    berth_i_pdors_fill f = { c->heap, 0, 0, c->job[job].work };
    for (int32_t t = berth_ps_job_at(c->d->ps, job)->arrival; t <= last; t++) offer(c, job, t, &f);
    for (int32_t i = 0; i < f.n; i++) use_part(c, job, &f.part[i]);
  }
  now.bound = (now.prices + now.jobs) * (1 + 1e-9);
  if (now.bound < c->best.bound) {
    c->best = now;
    memcpy(c->best_value, value, c->cells * sizeof *value);
  }
  return now.bound;
}

/* ---- better prices ---- */

static double scaled_bound(certifier *c, const double *value, double by) {
  for (size_t i = 0; i < c->cells; i++) c->value[i] = value[i] * by;
  return bound_at(c, c->value, false);
}

enum { DOUBLINGS = 60, HALVINGS = 6, MAX_IDLE_STEPS = 8 };

/* Along one direction: by factors of 4 until it gets worse, then closer. */
static void scale(certifier *c, const double *value) {
  double at = 1, step = 4, best = scaled_bound(c, value, at);
  for (int32_t i = 0; i < DOUBLINGS && c->st == BERTH_OK; i++) {
    double now = scaled_bound(c, value, at * step);
    if (now < best) at *= step, best = now;
    else if (step > 1 && i == 0) step = 0.25;
    else break;
  }
  step = 2;
  for (int32_t i = 0; i < HALVINGS && c->st == BERTH_OK; i++, step = sqrt(step)) {
    double up = scaled_bound(c, value, at * step), down = scaled_bound(c, value, at / step);
    if (up < best && up <= down) at *= step, best = up;
    else if (down < best) at /= step, best = down;
  }
}

/* Polyak's steps towards a value that is supposed to be there: its distance shrinks when it is not
 * found. */
static void descend(certifier *c, double utility, int32_t steps) {
  double part = 0.3;
  int32_t idle = 0;
  memcpy(c->value, c->best_value, c->cells * sizeof *c->value);
  for (int32_t i = 0; i < steps && c->st == BERTH_OK; i++) {
    double before = c->best.bound, bound = bound_at(c, c->value, true);
    if (c->st != BERTH_OK) return;
    idle = c->best.bound < before ? 0 : idle + 1;
    if (idle > MAX_IDLE_STEPS) {
      part /= 2;
      idle = 0;
      memcpy(c->value, c->best_value, c->cells * sizeof *c->value);
      continue;
    }
    double target = fmax(utility, c->best.bound * (1 - part));
    /* Prices of 0 cannot fall: their part of the slope counts only where it would raise them. */
    double length = 0;
    for (size_t k = 0; k < c->cells; k++)
      if (c->value[k] > 0 || c->slope[k] < 0) length += c->slope[k] * c->slope[k];
    if (!(length > 0) || !(bound > target)) return;
    double by = (bound - target) / length;
    for (size_t k = 0; k < c->cells; k++) c->value[k] = fmax(0, c->value[k] - by * c->slope[k]);
  }
}

/* Jobs that are worth something at no prices. */
static int32_t count_possible(certifier *c) {
  int32_t n = 0, last;
  for (size_t i = 0; i < c->cells; i++) c->price[i] = 0;
  for (int32_t job = 0; job < c->jobs; job++) n += payoff(c, job, &last) > 0;
  return n;
}

static void certify(certifier *c, double utility, int32_t steps) {
  const berth_pdors *d = c->d;
  size_t of_slot = (size_t)c->types * (size_t)c->resources;
  /* Prices as committed; the mean over each type. */
  memset(c->start, 0, c->cells * sizeof *c->start);
  for (int32_t t = 0; t < c->slots; t++)
    for (int32_t h = 0; h < d->c.machines; h++)
      for (int32_t r = 0; r < c->resources; r++) {
        double capacity = d->c.capacity[(size_t)h * (size_t)c->resources + (size_t)r];
        size_t group = (size_t)berth_i_pdors_group(d, d->types.of[h]);
        size_t at = (size_t)t * of_slot + group * (size_t)c->resources + (size_t)r;
        if (capacity > 0) c->start[at] += capacity * berth_pdors_price(d, h, r, t);
      }
  bound_at(c, c->start, false);
  if (steps == 0) return;
  /* These, scaled; no prices at all; all of each slot worth the same, scaled; steps from the
   * best. */
  scale(c, c->start);
  memset(c->value, 0, c->cells * sizeof *c->value);
  bound_at(c, c->value, false);
  for (size_t i = 0; i < c->cells; i++) c->start[i] = c->capacity[i % of_slot] > 0;
  scale(c, c->start);
  descend(c, utility, steps);
}

berth_status berth_pdors_certify(berth_pdors *d, double utility, int32_t steps,
                                 berth_pdors_certificate *out) {
  if (!d) return BERTH_EINVAL;
  if (!(utility >= 0 && utility < INFINITY) || steps < 0)
    return berth_i_fail(d->ctx, BERTH_EINVAL,
                        "pdors: a certificate of utility %g in %d steps: both at least 0", utility,
                        steps);
  certifier c;
  c.st = certifier_init(&c, d);
  int32_t possible = c.st == BERTH_OK ? count_possible(&c) : 0;
  if (c.st == BERTH_OK) certify(&c, utility, steps);
  if (c.st == BERTH_OK) {
    c.best.utility = utility;
    c.best.ratio = c.best.bound > 0 ? utility / c.best.bound : NAN;
    c.best.possible = possible;
    c.best.worst_case = pdors_worst_case(d);
    *out = c.best;
  }
  berth_i_pool_free(&c.pool);
  return c.st;
}
