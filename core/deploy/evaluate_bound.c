/* A step time that no strategy of a problem can be below: the larger of a bound by work and one by
 * the longest path.
 *
 * Work: for any prices of devices whose sum is 1, the sum over ops of the least price times time is
 * at most the makespan (weak duality); prices are improved by multiplicative weights. Path: each op
 * takes at least its least time, or, cut over all devices, B over the sum of their speeds.
 * O(ROUNDS ops kinds + places devices). */
#include "values_internal.h"

/* ---- numbers of samples that replicas can have ---- */

typedef struct counts {
  berth_i_pool pool;
  int32_t *at;      /* [n_devices + 1] into samples */
  int32_t *samples; /* different ones of each device, at least 1 */
} counts;

static void add_count(counts *c, int32_t device, int32_t samples) {
  int32_t *end = &c->at[device + 1];
  if (samples < 1) return;
  for (int32_t k = c->at[device]; k < *end; k++)
    if (c->samples[k] == samples) return;
  c->samples[(*end)++] = samples;
}

static berth_status make_counts(berth_deploy *d, counts *c) {
  size_t n = (size_t)d->n_devices, most = 2 * (size_t)d->place_at[d->n_places] + n;
  c->at = berth_i_pool_zalloc(&c->pool, n + 1, sizeof *c->at);
  c->samples = berth_i_pool_alloc(&c->pool, most, sizeof *c->samples);
  if (berth_i_pool_status(&c->pool) != BERTH_OK) return BERTH_ENOMEM;
  /* Device by device: the whole batch, then its shares in all places. */
  for (int32_t device = 0; device < d->n_devices; device++) {
    c->at[device + 1] = c->at[device];
    add_count(c, device, d->batch);
    for (int32_t place = 0; place < d->n_places; place++)
      for (int32_t k = 0; k < berth_i_place_size(d, place); k++) {
        if (berth_i_place_devices(d, place)[k] != device) continue;
        add_count(c, device, berth_i_form_samples(d, berth_i_form_of(place, BERTH_I_CUT_EVEN), k));
        if (!d->o.uneven) continue;
        add_count(c, device, berth_i_form_samples(d, berth_i_form_of(place, BERTH_I_CUT_SPEED), k));
      }
  }
  return BERTH_OK;
}

/* As simulated. */
static double seconds(const berth_deploy *d, int32_t op, int32_t device, int32_t samples) {
  double t = berth_i_deploy_seconds(d, op, device, samples), q = d->sim.quantum;
  return q > 0 && !isinf(t) ? nearbyint(t / q) * q : t;
}

/* The largest s with t(b) >= o + s b. */
static double least_slope(const berth_deploy *d, const counts *c, int32_t op, int32_t device,
                          double o) {
  double least = INFINITY;
  for (int32_t k = c->at[device]; k < c->at[device + 1]; k++)
    least = fmin(least, (seconds(d, op, device, c->samples[k]) - o) / c->samples[k]);
  return least > 0 ? least : 0;
}

/* ---- work ---- */

/* Communication ops take no turn. */
static double work_of(const berth_deploy *d, const counts *c, int32_t op, int32_t device) {
  if (berth_i_flags(d->g, op) & BERTH_OP_COMMUNICATION) return 0;
  return d->cut_op[op] ? d->batch * least_slope(d, c, op, device, 0)
                       : seconds(d, op, device, d->batch);
}

typedef struct prices {
  int32_t n_ops, n;             /* kinds of devices: equal columns of work */
  const double **column;        /* [n] */
  double *count, *price, *load; /* [n] */
} prices;

/* So that all devices together have 1. */
static void normalise(prices *p) {
  double sum = 0;
  for (int32_t q = 0; q < p->n; q++) sum += p->count[q] * p->price[q];
  for (int32_t q = 0; q < p->n; q++) p->price[q] /= sum;
}

enum { ROUNDS = 200 };

/* The best bound of ROUNDS prices. */
static double best_priced(prices *p) {
  double best = 0;
  /* 1. Prices by speed: the best ones if devices differ by a factor only. Ops that cannot run there
   * count as free. */
  for (int32_t q = 0; q < p->n; q++) {
    double sum = 0;
    for (int32_t op = 0; op < p->n_ops; op++) sum += isinf(p->column[q][op]) ? 0 : p->column[q][op];
    p->price[q] = 1 / (sum > 0 ? sum : 1);
  }
  normalise(p);
  for (int32_t round = 0; round < ROUNDS; round++) {
    /* 2. The bound: each op on the kind on which it costs least. */
    double sum = 0, most = 0, step = 0.3 / (1 + round * 0.1);
    for (int32_t q = 0; q < p->n; q++) p->load[q] = 0;
    for (int32_t op = 0; op < p->n_ops; op++) {
      int32_t cheapest = 0;
      for (int32_t q = 1; q < p->n; q++)
        if (p->price[q] * p->column[q][op] < p->price[cheapest] * p->column[cheapest][op])
          cheapest = q;
      sum += p->price[cheapest] * p->column[cheapest][op];
      p->load[cheapest] += p->column[cheapest][op] / p->count[cheapest];
    }
    if (!isinf(sum)) best = fmax(best, sum);
    /* 3. Devices with much work get a higher price. */
    for (int32_t q = 0; q < p->n; q++) most = fmax(most, p->load[q]);
    for (int32_t q = 0; q < p->n && most > 0; q++) p->price[q] *= exp(step * p->load[q] / most);
    normalise(p);
  }
  return best;
}

static berth_status work_bound(berth_deploy *d, const counts *c, double *out) {
  size_t n = (size_t)d->n_devices, ops = (size_t)d->n_ops;
  double *work = berth_i_alloc(d->ctx, n * ops, sizeof *work),
         *own = berth_i_alloc(d->ctx, n, 3 * sizeof *own);
  prices p = { d->n_ops, 0, berth_i_alloc(d->ctx, n, sizeof *p.column), NULL, NULL, NULL };
  berth_status st = BERTH_OK;
  if (work && own && p.column) {
    p.count = own;
    p.price = own + n;
    p.load = own + 2 * n;
    for (int32_t k = 0; k < d->n_devices; k++)
      for (int32_t op = 0; op < d->n_ops; op++)
        work[(size_t)k * (size_t)d->n_ops + (size_t)op] = work_of(d, c, op, k);
    /* Devices with the same work are one kind. */
    for (int32_t k = 0; k < d->n_devices; k++) {
      const double *column = work + (size_t)k * (size_t)d->n_ops;
      int32_t q;
      for (q = 0; q < p.n && memcmp(p.column[q], column, (size_t)d->n_ops * sizeof *column) != 0;
           q++)
        continue;
      if (q == p.n) {
        p.column[p.n++] = column;
        p.count[q] = 0;
      }
      p.count[q]++;
    }
    *out = best_priced(&p);
  } else {
    st = berth_i_nomem(d->ctx);
  }
  berth_i_free(d->ctx, work, n * ops, sizeof *work);
  berth_i_free(d->ctx, own, n, 3 * sizeof *own);
  berth_i_free(d->ctx, (void *)(uintptr_t)p.column, n, sizeof *p.column);
  return st;
}

/* ---- path ---- */

/* o + B / sum (1 / c_d): all devices at once, each as long. */
static double spread(const berth_deploy *d, const counts *c, int32_t op, double o) {
  double speed = 0;
  for (int32_t k = 0; k < d->n_devices; k++)
    if (!isinf(berth_i_deploy_seconds(d, op, k, d->batch)))
      speed += 1 / least_slope(d, c, op, k, o);
  return o + d->batch / speed;
}

static double on_path(const berth_deploy *d, const counts *c, int32_t op) {
  double least = INFINITY;
  for (int32_t k = 0; k < d->n_devices; k++)
    if (!d->cut_op[op]) least = fmin(least, seconds(d, op, k, d->batch));
    else
      for (int32_t i = c->at[k]; i < c->at[k + 1]; i++)
        least = fmin(least, seconds(d, op, k, c->samples[i]));
  if (!d->cut_op[op] || d->o.positional) return least;
  return fmax(spread(d, c, op, 0), spread(d, c, op, least));
}

static berth_status path_bound(berth_deploy *d, const counts *c, double *out) {
  const berth_graph *g = d->g;
  double *end = berth_i_alloc(d->ctx, (size_t)d->n_ops, sizeof *end), most = 0;
  if (!end) return berth_i_nomem(d->ctx);
  for (int32_t i = 0; i < d->n_ops; i++) {
    int32_t op = g->topo[i];
    double start = 0;
    for (int32_t k = g->in_at[op]; k < g->in_at[op + 1]; k++)
      start = fmax(start, end[g->producer[g->in[k]]]);
    end[op] = start + on_path(d, c, op);
    most = fmax(most, end[op]);
  }
  berth_i_free(d->ctx, end, (size_t)d->n_ops, sizeof *end);
  *out = most;
  return BERTH_OK;
}

/* Sums in another order differ by rounding. */
berth_status berth_deploy_bound(berth_deploy *d, double *out, const char **which) {
  if (!d) return BERTH_EINVAL;
  double work = 0, path = 0;
  counts c = { .pool = berth_i_pool_empty(d->ctx) };
  if (d->sim.noise > 0)
    return berth_i_fail(d->ctx, BERTH_EUNSUPPORTED,
                        "a bound on step times: with noise of %g there is none", d->sim.noise);
  berth_status st;
  if ((st = make_counts(d, &c)) == BERTH_OK) st = work_bound(d, &c, &work);
  if (st == BERTH_OK) st = path_bound(d, &c, &path);
  berth_i_pool_free(&c.pool);
  if (st != BERTH_OK) return st;
  *out = fmax(work, path) * (1 - 1e-9);
  if (which) *which = work > path ? "work" : "path";
  return BERTH_OK;
}
