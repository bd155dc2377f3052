/* Rooms of a certificate; and what the papers guarantee. */
#include "certify.h"

/* The links of shared ones may be faster than equation 1 says, but nothing is faster than to
 * compute alone. */
static void set_job(certifier *c, const berth_pdors *any, int32_t job) {
  const berth_ps_job *j = berth_ps_job_at(any->ps, job);
  berth_i_pdors_rates r;
  bool shared = any->c.comm == BERTH_PS_SHARED;
  berth_i_pdors_rates_of(any, job, &r);
  c->job[job] = (certified_job){ r.work * (1 - 1e-9),
                                 shared ? j->tau : r.inside,
                                 shared ? j->tau : r.outside,
                                 r.per_server,
                                 r.most_in,
                                 r.most_out };
}

static bool fits(const certifier *c, const double *demand, const double *capacity) {
  for (int32_t r = 0; r < c->resources; r++)
    if (demand[r] > capacity[r] * (1 + 1e-9)) return false;
  return true;
}

/* OASiS, too, is measured by what can be done without its pools. */
static void set_jobs(certifier *c) {
  berth_pdors any = *c->d;
  for (int32_t k = 0; k < c->resources && any.families == 2; k++)
    any.family[0].capacity[k] += any.family[1].capacity[k];
  any.families = 1;
  any.split = any.c.machines;
  for (int32_t i = 0; i < c->jobs; i++) {
    set_job(c, &any, i);
    for (int32_t k = 0; k < c->d->types.n; k++) {
      /* Set type. */
      const berth_ps_job *j = berth_ps_job_at(c->d->ps, i);
      const double *capacity =
          c->d->c.capacity + (size_t)c->d->types.first[k] * (size_t)c->resources;
      size_t at = (size_t)i * (size_t)c->types + (size_t)berth_i_pdors_group(c->d, k);
      int32_t most_in = berth_i_pdors_most_inside(c->d, j, c->d->types.first[k]);
      c->fits_worker[at] |= fits(c, j->worker, capacity);
      c->fits_server[at] |= fits(c, j->server, capacity);
      if (most_in > c->most_in[at]) c->most_in[at] = most_in;
    }
  }
}

berth_status berth_i_pdors_certifier_init(certifier *c, const berth_pdors *d) {
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
  c->heap = berth_i_pool_alloc(&c->pool, 2 * (size_t)c->slots, sizeof *c->heap);
  if (berth_i_pool_status(&c->pool) != BERTH_OK) return BERTH_ENOMEM;
  /* Set capacity. */
  for (int32_t h = 0; h < c->d->c.machines; h++)
    for (int32_t r = 0; r < c->resources; r++)
      c->capacity[(size_t)berth_i_pdors_group(c->d, c->d->types.of[h]) * (size_t)c->resources
              + (size_t)r] += c->d->c.capacity[(size_t)h * (size_t)c->resources + (size_t)r];
  set_jobs(c);
  return BERTH_OK;
}

/* ---- guarantees ---- */

/* Least room in units, over machines with room for one. */
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

/* Of the least work that is asked of a slot. */
static double least_covering(const berth_pdors *d, int32_t job) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  berth_i_pdors_rates r;
  berth_i_pdors_rates_of(d, job, &r);
  double workers = fmin(r.work, berth_i_pdors_quantum(d, &r)) * r.scale * r.outside;
  return workers / fmax(1, j->ratio);
}

static double factor(const berth_pdors *d) {
  double most = 0, rows = d->o.favour == BERTH_PDORS_PACKING ? (double)d->cells + 1 : 2;
  if (d->o.gdelta == BERTH_GDELTA_GIVEN) return d->o.factor;
  for (int32_t i = 0; i < berth_ps_jobs(d->ps); i++) {
    const berth_ps_job *j = berth_ps_job_at(d->ps, i);
    double w = d->o.favour == BERTH_PDORS_PACKING ? least_packing(d, j) : least_covering(d, i);
    most = fmax(most, berth_gdelta(d->o.favour, d->o.gdelta, rows, d->o.delta, w));
  }
  return most;
}

static double spread(const berth_pdors *d) {
  double most = 1;
  for (int32_t i = 0; i < d->families; i++)
    for (int32_t r = 0; r < d->c.resources; r++)
      if (d->family[i].wanted[r])
        most = fmax(most, d->family[i].log_high[r] - d->family[i].log_low);
  return most;
}

/* Twice the spread if slots are solved exactly; 3 G / delta is what rounding adds. It stands on L
 * and U as published. */
double berth_i_pdors_worst_case(const berth_pdors *d) {
  bool published = !d->o.per_job && d->o.bounds != BERTH_PDORS_ONLINE && d->o.low_scale <= 1
                   && d->o.high_scale >= 1;
  bool exact = d->families == 2 || d->o.mode == BERTH_PDORS_EXACT;
  if (!published) return NAN;
  return 2 * spread(d) * (exact ? 1 : 3 * factor(d) / d->o.delta);
}
