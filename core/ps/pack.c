/* Units of jobs on the machines of one slot. A tree of maxima (leaves are machines, a node has the
 * most that is left of each resource below it) finds the next machine that holds a unit, mostly in
 * O(resources log machines). Units are kept in the order in which they were put, so that the last
 * ones can be taken back; they are sorted by job and machine when they are assigned. */
#include "policies_internal.h"

/* Half of what a run allows: sums there are made in another order. */
#define TOLERANCE (BERTH_I_PS_TOLERANCE / 2)

static size_t resources(const berth_i_ps_pack *k) { return (size_t)k->ps->o.resources; }
static double *node(const berth_i_ps_pack *k, int32_t i) {
  return k->tree + (size_t)i * resources(k);
}
static size_t tree_size(const berth_i_ps_pack *k) { return 2 * (size_t)k->leaves * resources(k); }
static size_t buckets(const berth_i_ps_pack *k) {
  return (size_t)(k->ps->n > k->ps->o.machines ? k->ps->n : k->ps->o.machines) + 1;
}

berth_status berth_i_ps_pack_init(berth_i_ps_pack *k, berth_i_pool *pool, const berth_ps *p) {
  *k = (berth_i_ps_pack){ .ps = p, .pool = pool, .leaves = 1 };
  while (k->leaves < p->o.machines && k->leaves < 1 << 29) k->leaves *= 2;
  k->tree = berth_i_pool_alloc(pool, tree_size(k), sizeof *k->tree);
  k->first = berth_i_pool_alloc(pool, buckets(k), sizeof *k->first);
  k->place = berth_i_pool_alloc(pool, (size_t)p->o.machines, sizeof *k->place);
  return berth_i_pool_status(pool);
}

/* ---- the tree ---- */

static void join(berth_i_ps_pack *k, int32_t i) {
  for (size_t r = 0; r < resources(k); r++)
    node(k, i)[r] = fmax(node(k, 2 * i)[r], node(k, 2 * i + 1)[r]);
}

void berth_i_ps_pack_reset(berth_i_ps_pack *k) {
  for (int32_t m = 0; m < k->leaves; m++)
    for (size_t r = 0; r < resources(k); r++)
      node(k, k->leaves + m)[r] =
          m < k->ps->o.machines ? k->ps->capacity[(size_t)m * resources(k) + r] * (1 + TOLERANCE)
                                : -1;
  for (int32_t i = k->leaves - 1; i >= 1; i--) join(k, i);
  k->n = 0;
  k->st = BERTH_OK;
}

static bool enough(const berth_i_ps_pack *k, int32_t i, const double *demand) {
  for (size_t r = 0; r < resources(k); r++)
    if (demand[r] > node(k, i)[r]) return false;
  return node(k, i)[0] >= 0;
}

/* First leaf at or after `from` below node i, which has leaves first .. first + width - 1. */
static int32_t find_below(const berth_i_ps_pack *k, int32_t i, int32_t first, int32_t width,
                          int32_t from, const double *demand) {
  int32_t half = width / 2;
  if (first + width <= from || !enough(k, i, demand)) return BERTH_NONE;
  if (width == 1) return first;
  int32_t found = find_below(k, 2 * i, first, half, from, demand);
  return found != BERTH_NONE ? found : find_below(k, 2 * i + 1, first + half, half, from, demand);
}

int32_t berth_i_ps_pack_find(const berth_i_ps_pack *k, int32_t from, const double *demand) {
  int32_t found = find_below(k, 1, 0, k->leaves, from, demand);
  return found != BERTH_NONE || from <= 0 ? found : find_below(k, 1, 0, k->leaves, 0, demand);
}

static void change(berth_i_ps_pack *k, const berth_i_ps_unit *u, double sign) {
  int32_t i = k->leaves + u->at.machine;
  for (size_t r = 0; r < resources(k); r++)
    node(k, i)[r] -= sign * berth_i_ps_demand(&k->ps->job[u->job], &u->at, (int32_t)r);
  for (i /= 2; i >= 1; i /= 2) join(k, i);
}

/* ---- putting ---- */

void berth_i_ps_pack_put(berth_i_ps_pack *k, int32_t job, const berth_ps_place *at) {
  if (k->st == BERTH_OK) k->st = BERTH_I_POOL_GROW(k->pool, k->unit, k->cap, k->n + 1);
  if (k->st != BERTH_OK) return;
  k->unit[k->n] = (berth_i_ps_unit){ job, *at };
  change(k, &k->unit[k->n++], 1);
}

void berth_i_ps_pack_undo(berth_i_ps_pack *k, size_t n) {
  while (k->n > n) change(k, &k->unit[--k->n], -1);
}

bool berth_i_ps_pack_spread(berth_i_ps_pack *k, int32_t job, int32_t workers, int32_t servers,
                            int32_t *turn) {
  const berth_ps_job *j = &k->ps->job[job];
  size_t n = k->n;
  int32_t began = *turn;
  for (int64_t i = 0; i < (int64_t)workers + servers; i++) {
    bool server = i >= workers;
    berth_ps_place at = { berth_i_ps_pack_find(k, *turn, server ? j->server : j->worker), !server,
                          server };
    if (at.machine == BERTH_NONE) {
      berth_i_ps_pack_undo(k, n);
      *turn = began;
      return false;
    }
    *turn = (at.machine + 1) % k->ps->o.machines;
    berth_i_ps_pack_put(k, job, &at);
    if (k->st != BERTH_OK) return false;
  }
  return true;
}

/* ---- assigning ---- */

static int32_t key_of(const berth_i_ps_unit *u, bool by_job) {
  return by_job ? u->job : u->at.machine;
}

/* Stable. */
static void sort(berth_i_ps_pack *k, const berth_i_ps_unit *from, berth_i_ps_unit *to,
                 bool by_job) {
  size_t n = (size_t)(by_job ? k->ps->n : k->ps->o.machines);
  memset(k->first, 0, (n + 1) * sizeof *k->first);
  for (size_t i = 0; i < k->n; i++) k->first[key_of(&from[i], by_job) + 1]++;
  for (size_t i = 1; i <= n; i++) k->first[i] += k->first[i - 1];
  for (size_t i = 0; i < k->n; i++) to[k->first[key_of(&from[i], by_job)]++] = from[i];
}

/* Units of one job, by machine, from i on.  @return where the next job's begin */
static size_t gather(berth_i_ps_pack *k, size_t i, int32_t *n) {
  int32_t job = k->unit[i].job;
  *n = 0;
  for (; i < k->n && k->unit[i].job == job; i++) {
    const berth_ps_place *at = &k->unit[i].at;
    if (*n == 0 || k->place[*n - 1].machine != at->machine)
      k->place[(*n)++] = (berth_ps_place){ at->machine, 0, 0 };
    k->place[*n - 1].workers += at->workers;
    k->place[*n - 1].servers += at->servers;
  }
  return i;
}

berth_status berth_i_ps_pack_assign(berth_i_ps_pack *k, berth_ps_run *r) {
  if (k->st == BERTH_OK) k->st = BERTH_I_POOL_GROW(k->pool, k->sorted, k->cap_sorted, k->n);
  if (k->st != BERTH_OK) return k->st;
  sort(k, k->unit, k->sorted, false);
  sort(k, k->sorted, k->unit, true);
  berth_status st = BERTH_OK;
  for (size_t i = 0; st == BERTH_OK && i < k->n;) {
    int32_t n, job = k->unit[i].job;
    i = gather(k, i, &n);
    st = berth_ps_assign(r, job, n, k->place);
  }
  return st;
}
