/* One slot of OASiS: workers on the cheapest machines of their pool, each filled, and servers
 * likewise on theirs. Exact, as all units of a job are alike: Bao, Peng, Wu, Li, 2018, algorithm
 * 2. O(machines (resources + log machines)) a state, then O(machines) for each amount of work. */
#include "base/sort_internal.h"
#include "pdors_internal.h"

typedef struct spot {
  double cost;
  int32_t machine, units; /* that fit on it */
} spot;

struct berth_i_oasis {
  const berth_ps_job *job;
  double outside;           /* worker-slots per sample */
  spot *spot;               /* [machines] those for workers in front, by cost */
  int32_t workers, servers; /* spots with free units: from 0, and from the split on */
};

berth_status berth_i_oasis_new(berth_pdors *d) {
  size_t machines = (size_t)d->c.machines;
  d->oasis = berth_i_pool_zalloc(&d->pool, 1, sizeof *d->oasis);
  if (d->oasis) d->oasis->spot = berth_i_pool_alloc(&d->pool, machines, sizeof *d->oasis->spot);
  return berth_i_pool_status(&d->pool);
}

BERTH_I_SORT(sort_by_cost, spot, BERTH_I_UP(cost) BERTH_I_UP(machine))

/* @return number of spots with free units, cheapest first, at `out` */
static int32_t gather(const berth_pdors *d, const berth_i_slot_state *state, const double *demand,
                      int32_t from, int32_t to, spot *out) {
  int32_t n = 0;
  for (int32_t h = from; h < to; h++) {
    size_t at = (size_t)h * (size_t)d->c.resources;
    double cost = 0, units = INT32_MAX;
    for (int32_t r = 0; r < d->c.resources; r++, at++) {
      if (!(demand[r] > 0)) continue;
      cost += demand[r] * state->price[at];
      units = fmin(units, floor((state->left[at] + 1e-9 * d->c.capacity[at]) / demand[r]));
    }
    spot s = (spot){ cost, h, (int32_t)units };
    if (s.units > 0 && s.cost < INFINITY) out[n++] = s;
  }
  sort_by_cost(out, (size_t)n);
  return n;
}

void berth_i_oasis_begin(berth_pdors *d, int32_t job, const berth_i_slot_state *state) {
  berth_i_oasis *o = d->oasis;
  o->job = berth_ps_job_at(d->ps, job);
  o->outside = berth_ps_worker_slots(o->job, o->job->across);
  o->workers = gather(d, state, o->job->worker, 0, d->split, o->spot);
  o->servers = gather(d, state, o->job->server, d->split, d->c.machines, o->spot + d->split);
}

/* @return what could not be placed */
static int32_t fill(const spot *s, int32_t n, int32_t units, bool workers,
                    berth_i_slot_answer *out) {
  for (int32_t i = 0; i < n && units > 0; i++) {
    int32_t here = units < s[i].units ? units : s[i].units;
    out->place[out->n++] = (berth_ps_place){ s[i].machine, workers ? here : 0, workers ? 0 : here };
    out->cost += here * s[i].cost;
    units -= here;
  }
  return units;
}

BERTH_I_SORT(sort_by_machine, berth_ps_place, BERTH_I_UP(machine))

void berth_i_oasis_solve(berth_pdors *d, double samples, berth_i_slot_answer *out) {
  const berth_i_oasis *o = d->oasis;
  double workers = berth_i_pdors_workers(samples, o->outside),
         servers = berth_i_pdors_servers(o->job, workers);
  out->cost = 0;
  out->inside = false;
  out->n = 0;
  out->feasible = workers <= o->job->batch && servers <= INT32_MAX
                  && fill(o->spot, o->workers, (int32_t)workers, true, out) == 0
                  && fill(o->spot + d->split, o->servers, (int32_t)servers, false, out) == 0;
  if (!out->feasible) out->cost = INFINITY;
  else sort_by_machine(out->place, (size_t)out->n);
}
