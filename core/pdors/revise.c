/* Plans of all present jobs, made again. */
#include "pdors_internal.h"
#include "base/sort_internal.h"

static double env(const char *name, double other) {
  const char *x = getenv(name);
  return x ? atof(x) : other;
}

berth_status berth_i_pdors_revision_init(berth_pdors *d) {
  berth_i_pdors_revision *v = &d->revision;
  size_t jobs = (size_t)berth_ps_jobs(d->ps);
  v->active = berth_i_pool_alloc(&d->pool, jobs, sizeof *v->active);
  v->present = berth_i_pool_alloc(&d->pool, jobs, sizeof *v->present);
  v->last = berth_i_pool_alloc(&d->pool, jobs, sizeof *v->last);
  d->fastest = berth_i_pool_alloc(&d->pool, jobs, sizeof *d->fastest);
  for (size_t i = 0; d->fastest && i < jobs; i++) d->fastest[i] = -1;
  v->load = berth_i_pool_zalloc(&d->pool, BERTH_PS_RESOURCES, sizeof *v->load);
  return berth_i_pool_status(&d->pool);
}

BERTH_I_SORT(sort_by_density, berth_i_pdors_present, BERTH_I_DOWN(density) BERTH_I_UP(job))

static berth_status keep(berth_pdors *d, int32_t from) {
  berth_i_pdors_revision *v = &d->revision;
  v->entries = 0;
  for (int32_t t = from; t < d->c.slots; t++) {
    berth_i_pdors_slot *s = &d->slot[t];
    berth_status st = BERTH_I_POOL_GROW(&d->pool, v->entry, v->cap, v->entries + s->n);
    if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&d->pool, v->slot, v->cap_slot, v->entries + s->n);
    if (st != BERTH_OK) return st;
    for (size_t i = 0; i < s->n; i++) {
      v->entry[v->entries] = s->entry[i];
      v->slot[v->entries++] = t;
    }
  }
  memcpy(v->last, d->last, (size_t)berth_ps_jobs(d->ps) * sizeof *v->last);
  return BERTH_OK;
}

static berth_status back(berth_pdors *d, int32_t from) {
  berth_i_pdors_revision *v = &d->revision;
  berth_i_pdors_clear(d, from);
  berth_status st = BERTH_OK;
  for (size_t i = 0; i < v->entries && st == BERTH_OK; i++)
    st = berth_i_pdors_put(d, v->slot[i], &v->entry[i]);
  memcpy(d->last, v->last, (size_t)berth_ps_jobs(d->ps) * sizeof *v->last);
  return st;
}

static void set_scale(berth_pdors *d, double scale) {
  if (d->scale == scale) return;
  d->scale = scale;
  d->epoch++;
}

/* plan these that have none, in order */
static berth_status plan_all(berth_pdors *d, berth_i_pdors_present *p, int32_t n, int32_t from, double scale, double *total) {
  berth_status st = BERTH_OK;
  int passes = (int)env("PASSES", 1);
  *total = 0;
  for (int32_t i = 0; i < n; i++) p[i].utility = 0;
  for (int pass = 0; pass < passes; pass++) {
    set_scale(d, pass == passes - 1 ? (passes == 1 ? scale : -14) : scale);
    for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
      if (p[i].utility > 0) continue;
      berth_pdors_plan plan;
      st = berth_i_pdors_search_for(d, p[i].job, from, p[i].left, &plan);
      if (st == BERTH_OK && plan.admitted) {
        st = berth_i_pdors_commit(d, p[i].job, &plan);
        p[i].utility = plan.utility;
        *total += plan.utility;
      }
    }
  }
  return st;
}

berth_status berth_i_pdors_revise(berth_pdors *d, berth_ps_run *r, int32_t from) {
  berth_i_pdors_revision *v = &d->revision;
  int32_t n = berth_ps_run_active(r, berth_ps_jobs(d->ps), v->active), m = 0;
  double top = 0, weight[BERTH_PS_RESOURCES] = { 0 }, power = env("POWER", 1);
  for (int32_t k = 0; k < d->c.resources; k++) top = fmax(top, v->load[k]);
  for (int32_t k = 0; k < d->c.resources; k++) weight[k] = top > 0 ? pow(v->load[k] / top, power) : 1;
  for (int32_t i = 0; i < n; i++) {
    int32_t job = v->active[i];
    const berth_ps_job *j = berth_ps_job_at(d->ps, job);
    berth_i_pdors_rates rates;
    berth_i_pdors_rates_of(d, job, &rates);
    double cc = rates.most_in / rates.inside >= rates.most_out / rates.outside ? rates.inside : rates.outside;
    if (d->c.comm == BERTH_PS_SHARED) {
      berth_status st1 = berth_i_pdors_shared_rates(d, job, &rates);
      if (st1 != BERTH_OK) return st1;
    }
    rates.work = berth_ps_run_left(r, job);
    if (!berth_i_pdors_can_finish(d, &rates, from)) continue;
    double slots = ceil(rates.work / rates.most * (1 - 1e-9));
    double best = berth_ps_utility(j, from + slots - 1 - j->arrival);
    if (best < env("LEAST", 1e-3) * j->importance) continue;
    double share = 0, c = cc;
    for (int32_t k = 0; k < d->c.resources; k++)
      if (d->family[0].capacity[k] > 0) share += weight[k] * (j->worker[k] + j->server[k] / j->ratio) * rates.work * c / d->family[0].capacity[k];
    v->present[m++] = (berth_i_pdors_present){ job, rates.work, best / share, 0 };
  }
  sort_by_density(v->present, (size_t)m);
  berth_status st;
  double best, total;
  berth_i_pdors_present *p = v->present;
  best = -1;
  char list[100];
  strcpy(list, getenv("SCALES") ? getenv("SCALES") : "0");
  int choices = 0;
  for (char *x = strtok(list, ";"); x; x = strtok(NULL, ";"), choices++) {
    berth_i_pdors_clear(d, from);
    if ((st = plan_all(d, p, m, from, atof(x), &total)) != BERTH_OK) return st;
    if (total <= best * (1 + 1e-9)) continue;
    best = total;
    if ((st = keep(d, from)) != BERTH_OK) return st;
  }
  return choices > 1 ? back(d, from) : BERTH_OK;
}
