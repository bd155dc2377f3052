/* Prices: L (U / L)^(share committed), PD-ORS 4.2, from what jobs are worth at most and at least
 * per unit that they take; and what a job can do at all on an empty cluster, on which these stand.
 * Families: OASiS has prices of worker machines and of server machines apart. `epoch` counts
 * changes of L and U, by which slots whose prices are old are found. */
#include "pdors_internal.h"

/* ---- what a job can do at all, on an empty cluster ---- */

/* Units of one kind that fit on an empty machine; at most `limit`. */
static double units(const berth_pdors *d, const double *demand, int32_t machine, double limit) {
  const double *c = d->c.capacity + (size_t)machine * (size_t)d->c.resources;
  for (int32_t r = 0; r < d->c.resources; r++)
    if (demand[r] > 0) limit = fmin(limit, floor(c[r] / demand[r] * (1 + 1e-9)));
  return limit;
}

static bool fits(const berth_pdors *d, const berth_ps_job *j, int32_t machine, double workers) {
  const double *c = d->c.capacity + (size_t)machine * (size_t)d->c.resources;
  double servers = berth_i_pdors_servers(j, workers);
  for (int32_t r = 0; r < d->c.resources; r++)
    if (j->worker[r] * workers + j->server[r] * servers > c[r] * (1 + 1e-9)) return false;
  return true;
}

int32_t berth_i_pdors_most_inside(const berth_pdors *d, const berth_ps_job *j, int32_t machine) {
  int32_t low = 0, high = j->batch;
  while (low < high) {
    int32_t middle = high - (high - low) / 2;
    if (fits(d, j, machine, middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/* All machines as if they were one. */
static double most_together(const berth_pdors *d, const berth_ps_job *j) {
  double most = j->batch;
  for (int32_t r = 0; r < d->c.resources; r++) {
    double demand = j->worker[r] + j->server[r] / j->ratio;
    if (demand > 0) most = fmin(most, floor(d->family[0].capacity[r] / demand * (1 + 1e-9)));
  }
  return most;
}

/* As many workers as k servers can have, for some k; with many servers about the ratio. */
static double per_server(const berth_ps_job *j, int32_t most) {
  double best = 0;
  if (most > 64 * j->ratio) return j->ratio;
  for (double k = 1; k <= 64; k++) {
    double w = fmax(1, fmin(most, floor(k * j->ratio * (1 + 1e-12))));
    best = fmax(best, w / berth_i_pdors_servers(j, w));
  }
  return best;
}

/* O(types resources log batch) */
void berth_i_pdors_rates_of(const berth_pdors *d, int32_t job, berth_i_pdors_rates *out) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  *out = (berth_i_pdors_rates){ .work = j->epochs * j->samples,
                                .inside = berth_ps_worker_slots(j, j->inside) };
  double slots = berth_ps_worker_slots(j, j->across);
  if (d->families == 1 && d->c.rack && j->rack > 0)
    slots = fmin(slots, berth_ps_worker_slots(j, j->rack));
  out->outside = slots;
  /* Workers and servers each as if the others were not there. */
  double workers = 0, servers = 0, most = d->families == 1 ? most_together(d, j) : j->batch;
  for (int32_t t = 0; t < d->types.n; t++) {
    int32_t machine = d->types.first[t];
    if (machine < d->split) workers += d->types.count[t] * units(d, j->worker, machine, j->batch);
    if (d->families == 1 || machine >= d->split)
      servers += d->types.count[t] * units(d, j->server, machine, 1e15);
  }
  out->most_out = (int32_t)fmin(most, fmin(workers, floor(servers * j->ratio * (1 + 1e-12))));
  for (int32_t t = 0; t < d->types.n && d->families == 1 && out->most_in < j->batch; t++) {
    int32_t here = berth_i_pdors_most_inside(d, j, d->types.first[t]);
    if (here > out->most_in) out->most_in = here;
  }
  out->scale = 1 / (1 - fmin(j->moving, 1));
  out->most = fmax(out->most_in / out->inside, out->most_out / out->outside) / out->scale;
  out->per_server = per_server(j, out->most_in > out->most_out ? out->most_in : out->most_out);
}

bool berth_i_pdors_can_finish(const berth_pdors *d, const berth_i_pdors_rates *r, int32_t from) {
  return r->most > 0 && r->work <= r->most * (d->c.slots - from) * (1 + 1e-12);
}

static const double *capacity_of(const berth_pdors *d, int32_t machine) {
  return d->c.capacity + (size_t)machine * (size_t)d->c.resources;
}
static int32_t family_of(const berth_pdors *d, int32_t machine) { return machine >= d->split; }

/* What the unit of a family takes: a worker and a server; OASiS: a worker, or a server. */
static double demand_of(const berth_pdors *d, int32_t family, const berth_ps_job *j, int32_t r) {
  double servers = d->o.per_job ? 1 / j->ratio : 1; /* for a worker */
  if (d->families == 1) return j->worker[r] + servers * j->server[r];
  return family == 0 ? j->worker[r] : servers * j->server[r];
}

/* Worker-slots of a whole job. */
static double worker_slots(const berth_ps_job *j, double bandwidth) {
  return ceil(j->epochs * j->samples * berth_ps_worker_slots(j, bandwidth) * (1 - 1e-12));
}

/* Jobs that cannot be done in time do not count. */
static void note(berth_pdors *d, int32_t job) {
  const berth_ps_job *j = berth_ps_job_at(d->ps, job);
  d->seen[job] = 1;
  berth_i_pdors_rates rates;
  berth_i_pdors_rates_of(d, job, &rates);
  if (!berth_i_pdors_can_finish(d, &rates, j->arrival)) return;
  for (int32_t i = 0; i < d->families; i++) {
    /* Dearest: what it is worth at full speed, per unit of each resource. */
    berth_i_pdors_family *f = &d->family[i];
    double bandwidth = d->families == 1 ? j->inside : j->across;
    double slots = berth_ps_worker_slots(j, bandwidth);
    double best = berth_ps_utility(
        j, ceil(j->epochs * j->samples * slots / j->batch * (1 - 1e-12)));
    for (int32_t r = 0; r < d->c.resources; r++) {
      double demand = demand_of(d, i, j, r);
      if (!(demand > 0)) continue;
      f->wanted[r] = true;
      f->top[r] = fmax(f->top[r], best / demand / (d->o.per_job ? worker_slots(j, bandwidth) : 1));
    }
    /* Cheapest: what it is worth in the last slot, per unit of all that it takes at the lowest
     * speed. */
    double use = 0,
           worth = fmax(berth_ps_utility(j, d->c.slots - j->arrival), d->o.floor * j->importance);
    for (int32_t r = 0; r < d->c.resources; r++) use += demand_of(d, i, j, r);
    use *= worker_slots(j, j->across);
    if (!(use > 0) || !(worth > 0)) continue;
    f->least_use = fmin(f->least_use, use);
    f->least_worth = fmin(f->least_worth, worth / use);
  }
}

/* L and U of each family that some job takes of. */
static void refresh(berth_pdors *d) {
  double widened = d->o.bounds == BERTH_PDORS_ONLINE ? log(d->o.safety) : 0;
  d->epoch++;
  for (int32_t i = 0; i < d->families; i++) {
    berth_i_pdors_family *f = &d->family[i];
    double capacity = 0;
    for (int32_t r = 0; r < d->c.resources; r++) capacity += f->wanted[r] ? f->capacity[r] : 0;
    if (isinf(f->least_use) || !(capacity > 0)) continue;
    f->ready = true;
    /* 1 / mu is at most the least demand over all capacity, and L all capacity at most half of what
     * one job is worth; OASiS: a quarter for each of its pools. */
    double low = log(f->least_worth);
    if (!d->o.per_job)
      low = low + log(f->least_use) - log(2.0 * d->families * d->c.slots * capacity);
    f->log_low = low - widened + log(d->o.low_scale);
    for (int32_t r = 0; r < d->c.resources; r++)
      f->log_high[r] = fmax(log(f->top[r]) + widened + log(d->o.high_scale), f->log_low + 1);
  }
}

berth_status berth_i_pdors_bounds_init(berth_pdors *d) {
  int32_t jobs = berth_ps_jobs(d->ps);
  if (!(d->seen = berth_i_pool_zalloc(&d->pool, (size_t)jobs, 1))) return berth_i_nomem(d->ctx);
  for (int32_t i = 0; i < d->families; i++)
    d->family[i] = (berth_i_pdors_family){ .least_use = INFINITY, .least_worth = INFINITY };
  for (int32_t h = 0; h < d->c.machines; h++)
    for (int32_t r = 0; r < d->c.resources; r++)
      d->family[family_of(d, h)].capacity[r] += capacity_of(d, h)[r];
  if (d->o.bounds == BERTH_PDORS_PRIOR) {
    for (int32_t i = 0; i < d->families; i++)
      for (int32_t r = 0; r < d->c.resources; r++) {
        d->family[i].ready = d->family[i].wanted[r] = true;
        d->family[i].log_low = log(d->o.low) + log(d->o.low_scale);
        d->family[i].log_high[r] =
            fmax(log(d->o.high[r]) + log(d->o.high_scale), d->family[i].log_low + 1);
      }
  }
  if (d->o.bounds == BERTH_PDORS_ORACLE) {
    for (int32_t i = 0; i < jobs; i++) note(d, i);
    refresh(d);
  }
  return BERTH_OK;
}

void berth_i_pdors_note_job(berth_pdors *d, int32_t job) {
  if (d->o.bounds != BERTH_PDORS_ONLINE || d->seen[job]) return;
  berth_i_pdors_family before[BERTH_I_PDORS_FAMILIES];
  memcpy(before, d->family, sizeof before);
  note(d, job);
  if (memcmp(before, d->family, sizeof before) != 0) refresh(d);
}

/* Of a resource that no job takes, or before any job is known: 0. Of what a machine has none of:
 * not to be had. */
double berth_i_pdors_price_at(const berth_pdors *d, int32_t machine, int32_t resource,
                              double used) {
  const berth_i_pdors_family *f = &d->family[family_of(d, machine)];
  double capacity = capacity_of(d, machine)[resource];
  if (!(capacity > 0)) return INFINITY;
  if (!f->ready || !f->wanted[resource]) return 0;
  return exp(f->log_low + used / capacity * (f->log_high[resource] - f->log_low));
}

berth_status berth_pdors_range(const berth_pdors *d, int32_t machine, int32_t resource, double *low,
                               double *high) {
  if (!d) return BERTH_EINVAL;
  if (machine < 0 || machine >= d->c.machines || resource < 0 || resource >= d->c.resources)
    return berth_i_fail(d->ctx, BERTH_EINVAL, "pdors: there is no resource %d of a machine %d",
                        resource, machine);
  const berth_i_pdors_family *f = &d->family[family_of(d, machine)];
  bool none = !f->ready || !f->wanted[resource];
  *low = none ? 0 : exp(f->log_low);
  *high = none ? 0 : exp(f->log_high[resource]);
  return BERTH_OK;
}
