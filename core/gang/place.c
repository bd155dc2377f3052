/* Where a gang runs, and the record of it.
 *
 * Free units of each machine are kept up as jobs begin and end; below `lowest` there are none. The
 * three placements: the first free units; one by one where most is left; consolidated on the
 * fullest machine that holds the gang, or on whole machines and one more. O(machines) each. */
#include "gang_internal.h"

bool berth_i_gang_by_place(const berth_gang *g) { return g->o.placement == BERTH_GANG_CONSOLIDATE; }

/* ---- choosing places ---- */

static void put(berth_gang *g, int32_t machine, int32_t amount) {
  g->pick.machine[g->pick.n] = machine;
  g->pick.amount[g->pick.n++] = amount;
}

static bool find_from(berth_gang *g, const int32_t *free_units, int32_t size, int32_t from) {
  g->pick.n = 0;
  for (int32_t m = from; m < g->machines && size > 0; m++) {
    int32_t some = free_units[m] < size ? free_units[m] : size;
    if (some > 0) put(g, m, some);
    size -= some;
  }
  return size == 0;
}

/* One by one where most is left: as many on each machine as are above some level, and one more on
 * the first of those at it. */
static bool find_spread(berth_gang *g, const int32_t *free_units, int32_t size) {
  int32_t low = 0, high = 0;
  g->pick.n = 0;
  for (int32_t m = 0; m < g->machines; m++) high = free_units[m] > high ? free_units[m] : high;
  while (low < high) { /* the least level above which there are at most `size` */
    int32_t level = low + (high - low) / 2;
    int64_t above = 0;
    for (int32_t m = 0; m < g->machines; m++)
      above += free_units[m] > level ? free_units[m] - level : 0;
    if (above <= size) high = level;
    else low = level + 1;
  }
  for (int32_t m = 0; m < g->machines; m++) size -= free_units[m] > low ? free_units[m] - low : 0;
  for (int32_t m = 0; m < g->machines; m++) {
    int32_t some = free_units[m] > low ? free_units[m] - low : 0;
    if (size > 0 && low > 0 && free_units[m] >= low) some++, size--;
    if (some > 0) put(g, m, some);
  }
  return size == 0;
}

bool berth_i_gang_find_packed(berth_gang *g, const int32_t *free_units, int32_t size) {
  int32_t best = BERTH_NONE, largest = 0;
  g->pick.n = 0;
  /* 1. The fullest machine on which it fits. */
  for (int32_t m = 0; m < g->machines; m++) {
    largest = g->cap[m] > largest ? g->cap[m] : largest;
    if (free_units[m] >= size && (best == BERTH_NONE || free_units[m] < free_units[best])) best = m;
  }
  if (best != BERTH_NONE) {
    put(g, best, size);
    return true;
  }
  /* 2. Whole machines of the largest kind. */
  for (int32_t m = 0; m < g->machines && size >= largest; m++) {
    if (free_units[m] < largest) continue;
    put(g, m, largest);
    size -= largest;
  }
  if (size >= largest) return false;
  if (size == 0) return true;
  /* 3. The rest on the fullest other machine that holds it. */
  for (int32_t m = 0, i = 0; m < g->machines; m++) {
    if (i < g->pick.n && g->pick.machine[i] == m) i++;
    else if (free_units[m] >= size && (best == BERTH_NONE || free_units[m] < free_units[best]))
      best = m;
  }
  if (best != BERTH_NONE) put(g, best, size);
  return best != BERTH_NONE;
}

bool berth_i_gang_find(berth_gang *g, const int32_t *free_units, int32_t job) {
  int32_t size = g->job[job].size;
  switch (g->o.placement) {
    case BERTH_GANG_SPREAD: return find_spread(g, free_units, size);
    case BERTH_GANG_CONSOLIDATE:
      if (g->consolidate && !g->consolidate[job]) return find_spread(g, free_units, size);
      return berth_i_gang_find_packed(g, free_units, size);
    default: return find_from(g, free_units, size, free_units == g->free_units ? g->lowest : 0);
  }
}

bool berth_i_gang_find_any(berth_gang *g, const int32_t *free_units, int32_t size) {
  return find_from(g, free_units, size, 0);
}

bool berth_i_gang_fits_ever(berth_gang *g, int32_t job) {
  if (g->rule->fits) return g->rule->fits(g, job);
  return g->job[job].size <= g->total
         && (!berth_i_gang_by_place(g) || berth_i_gang_find(g, g->cap, job));
}

/* ---- rates ---- */

static const double *amounts(berth_gang *g) {
  if (!g->o.amounts) return NULL;
  for (int32_t i = 0; i < g->pick.n; i++) {
    double *x = g->amount + (size_t)i * (size_t)g->resources;
    memset(x, 0, (size_t)g->resources * sizeof *x);
    x[0] = g->pick.amount[i];
  }
  return g->amount;
}

berth_status berth_i_gang_rate(berth_gang *g, int32_t job, double *rate) {
  *rate = g->rule->speed ? g->rule->speed(g, job) : 1;
  if (g->rule->speed || !g->o.rate) return BERTH_OK;
  berth_status st;
  if ((st = g->o.rate(g->o.ud, job, g->pick.n, g->pick.machine, amounts(g), rate)) != BERTH_OK)
    return st;
  if (*rate > 0 && isfinite(*rate)) return BERTH_OK;
  return berth_i_fail(g->ctx, BERTH_EINVAL,
                      "gang: job %d: rate: expected a finite number above 0, got %g", (int)job,
                      *rate);
}

berth_status berth_i_gang_nominal(berth_gang *g, int32_t job) {
  g->job[job].nominal = 1;
  if (!g->o.rate) return BERTH_OK;
  berth_i_gang_find(g, g->cap, job);
  return berth_i_gang_rate(g, job, &g->job[job].nominal);
}

/* ---- beginning and leaving ---- */

berth_status berth_i_gang_begin(berth_gang *g, int32_t job, double now) {
  double rate;
  berth_status st = berth_i_gang_rate(g, job, &rate);
  if (st == BERTH_OK) {
    size_t runs = (size_t)g->n_runs + 1, places = (size_t)g->n_places + (size_t)g->pick.n;
    st = BERTH_I_POOL_GROW(&g->pool, g->runs, g->cap_runs, runs);
    if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&g->pool, g->place_machine, g->cap_machine, places);
    if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&g->pool, g->place_amount, g->cap_amount, places);
  }
  if (st == BERTH_OK)
    st = berth_cluster_start(g->c, job, g->pick.n, g->pick.machine, amounts(g), rate);
  if (st != BERTH_OK) return st;
  g->job[job].run = g->n_runs;
  g->runs[g->n_runs++] = (berth_gang_run){ job, g->n_places, g->pick.n, now, NAN };
  for (int32_t i = 0; i < g->pick.n; i++, g->n_places++) {
    g->place_machine[g->n_places] = g->pick.machine[i];
    g->place_amount[g->n_places] = g->pick.amount[i];
    int32_t machine = g->pick.machine[i];
    int32_t amount = g->pick.amount[i];
    g->idle -= g->free_units[machine] == g->cap[machine];
    g->free_units[machine] -= amount;
    while (g->lowest < g->machines && g->free_units[g->lowest] == 0) g->lowest++;
  }
  g->left -= g->job[job].size;
  g->job[job].since = now;
  return g->rule->begins ? g->rule->begins(g, job, now) : BERTH_OK;
}

void berth_i_gang_give_back(berth_gang *g, int32_t job, double now, bool over) {
  berth_gang_run *r = &g->runs[g->job[job].run];
  g->job[job].run = BERTH_NONE;
  r->end = now;
  for (int32_t i = r->first; i < r->first + r->n; i++) {
    int32_t m = g->place_machine[i];
    g->free_units[m] += g->place_amount[i];
    g->idle += g->free_units[m] == g->cap[m];
    g->lowest = m < g->lowest ? m : g->lowest;
  }
  g->left += g->job[job].size;
  g->job[job].served += now - g->job[job].since;
  if (g->rule->stops) g->rule->stops(g, job, now, over);
}

berth_status berth_i_gang_pause(berth_gang *g, int32_t job, double now) {
  berth_job_record r;
  berth_status st = berth_cluster_pause(g->c, job);
  if (st == BERTH_OK) st = berth_cluster_record(g->c, job, &r);
  if (st != BERTH_OK) return st;
  g->job[job].left = r.left;
  berth_i_gang_give_back(g, job, now, false);
  return BERTH_OK;
}
