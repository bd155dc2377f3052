/* What a job can do at all, on an empty cluster. */
#include "pdors_internal.h"

/* Units of one kind that find room on an empty machine; at most `limit`. */
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
  /* Outside slots. */
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
