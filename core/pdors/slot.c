/* One slot of one job at given prices (PD-ORS, algorithm 4): all on one machine, in one rack, or
 * anywhere. */
#include "base/sort_internal.h"
#include "slot_internal.h"

/* One slot: machines that are alike. */

/* ---- the job ---- */

/* ---- one machine ---- */

int32_t berth_i_slot_most_more(const berth_i_slot_solver *s,
                               const berth_i_slot_class *c, int32_t kind,
                               int32_t workers, int32_t servers, int32_t most) {
  double fit = most;
  for (int32_t r = 0; r < s->resources; r++)
    if (s->takes[kind][r] > 0)
      fit = fmin(fit, (c->left[r] - s->takes[0][r] * workers - s->takes[1][r] * servers)
                              / s->takes[kind][r]
                          + 1e-6);
  int32_t n, more[2];
  for (n = fit > 0 ? (int32_t)fit : 0; n > 0; n--) { /* the quotient may be one too large */
    more[0] = workers + (kind == 0 ? n : 0);
    more[1] = servers + (kind == 1 ? n : 0);
    if (berth_i_slot_fits(s, c, more[0], more[1])) break;
  }
  return n;
}

/* A resource of which a unit takes none may have no price at all. */
static double price(const berth_i_slot_solver *s, const double *prices, int32_t kind) {
  double sum = 0;
  for (int32_t r = 0; r < s->resources; r++)
    if (s->takes[kind][r] > 0) sum += s->takes[kind][r] * prices[s->resource[r]];
  return sum;
}

static void measure(const berth_i_slot_solver *s, const berth_i_slot_state *state, int32_t machine,
                    berth_i_slot_class *c) {
  size_t at = (size_t)machine * (size_t)s->c.resources;
  for (int32_t r = 0; r < s->resources; r++) {
    size_t cell = at + (size_t)s->resource[r];
    /* a little less than what is let through at last */
    c->left[r] = state->left[cell] + 0.9e-9 * s->c.capacity[cell];
  }
  c->worker = price(s, state->price + at, 0);
  c->server = price(s, state->price + at, 1);
  c->rack = s->racks ? s->c.rack[machine] : 0;
}

/* ---- classes ---- */

static uint64_t mix(uint64_t h, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  h = (h ^ bits) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 32;
}

static uint64_t hash(const berth_i_slot_solver *s, const berth_i_slot_class *c) {
  uint64_t h = mix(mix((uint64_t)(uint32_t)c->rack, c->worker), c->server);
  for (int32_t r = 0; r < s->resources; r++) h = mix(h, c->left[r]);
  return h * 0xbf58476d1ce4e5b9u >> 20;
}

static bool alike(const berth_i_slot_solver *s, const berth_i_slot_class *a,
                  const berth_i_slot_class *b) {
  if (a->rack != b->rack || a->worker != b->worker || a->server != b->server) return false;
  for (int32_t r = 0; r < s->resources; r++)
    if (a->left[r] != b->left[r]) return false;
  return true;
}

/* Numbered by their first machine, which `first` is for now. */
static void put(berth_i_slot_solver *s, berth_i_slot_class *c, int32_t machine) {
  size_t at = (size_t)hash(s, c) % s->table_cap;
  while (s->table[at] != BERTH_NONE && !alike(s, &s->class[s->table[at]], c))
    at = (at + 1) % s->table_cap;
  if (s->table[at] == BERTH_NONE) {
    s->table[at] = s->classes;
    c->first = machine;
    s->class[s->classes++] = *c;
  }
  s->class_of[machine] = s->table[at];
  s->class[s->table[at]].count++;
}

BERTH_I_SORT(sort_by_rack, berth_i_slot_class, BERTH_I_UP(rack) BERTH_I_UP(first))

/* O(machines * resources), and a sort of classes with racks. */
static void classify(berth_i_slot_solver *s, const berth_i_slot_state *state) {
  /* List resources. */
  s->resources = 0;
  for (int32_t r = 0; r < s->c.resources; r++) {
    if (!(s->job->worker[r] > 0 || s->job->server[r] > 0)) continue;
    s->resource[s->resources] = r;
    s->takes[0][s->resources] = s->job->worker[r];
    s->takes[1][s->resources++] = s->job->server[r];
  }
  s->racks = s->c.rack && s->job->rack > 0;
  s->sorted = s->drawn = false;
  s->classes = 0;
  for (int32_t k = 0; k < (int32_t)s->table_cap; k++) s->table[k] = BERTH_NONE;
  for (int32_t h = 0; h < s->c.machines; h++) {
    berth_i_slot_class c = { 0 };
    measure(s, state, h, &c);
    put(s, &c, h);
  }
  if (s->racks) {
    sort_by_rack(s->class, (size_t)s->classes);
    for (int32_t k = 0; k < s->classes; k++) s->next[s->class_of[s->class[k].first]] = k;
    for (int32_t h = 0; h < s->c.machines; h++) s->class_of[h] = s->next[s->class_of[h]];
  }
  /* List members. */
  int32_t at = 0;
  for (int32_t k = 0; k < s->classes; k++) {
    s->class[k].first = s->next[k] = at;
    at += s->class[k].count;
  }
  for (int32_t h = 0; h < s->c.machines; h++) s->member[s->next[s->class_of[h]]++] = h;
  for (int32_t k = 0; k < s->classes; k++) {
    /* Set most units. */
    berth_i_slot_class *c = &s->class[k];
    c->most_workers = isinf(c->worker) ? 0 : berth_i_slot_most_more(s, c, 0, 0, 0, s->job->batch);
    c->most_servers = isinf(c->server) ? 0 : berth_i_slot_most_more(s, c, 1, 0, 0, INT32_MAX / 4);
    if (c->most_workers == 0) c->worker = INFINITY;
    if (c->most_servers == 0) c->server = INFINITY;
  }
}

/* ---- by price ---- */

BERTH_I_SORT(sort_by_price, berth_i_slot_priced, BERTH_I_UP(price) BERTH_I_UP(class))

static void sort_region(berth_i_slot_solver *s, const berth_i_slot_region *g, int32_t kind) {
  berth_i_slot_priced *list = s->cheap[kind] + g->list;
  for (int32_t k = 0; k < g->n; k++) {
    const berth_i_slot_class *c = &s->class[g->from + k];
    list[k] = (berth_i_slot_priced){ kind == 0 ? c->worker : c->server, g->from + k };
  }
  sort_by_price(list, (size_t)g->n);
}

void berth_i_slot_sort(berth_i_slot_solver *s) {
  if (s->sorted) return;
  s->sorted = true;
  for (int32_t i = 0; i < s->regions; i++) {
    sort_region(s, &s->region[i], 0);
    sort_region(s, &s->region[i], 1);
  }
}

/* ---- arrays ---- */

static berth_status alloc_arrays(berth_i_slot_solver *s) {
  size_t n = (size_t)s->c.machines, table = 1;
  while (table < 2 * n) table *= 2;
  s->table_cap = table;
  s->class = berth_i_pool_alloc(&s->pool, n, sizeof *s->class);
  s->class_of = berth_i_pool_alloc(&s->pool, n, sizeof *s->class_of);
  s->member = berth_i_pool_alloc(&s->pool, n, sizeof *s->member);
  s->next = berth_i_pool_alloc(&s->pool, n, sizeof *s->next);
  s->table = berth_i_pool_alloc(&s->pool, table, sizeof *s->table);
  s->cheap[0] = berth_i_pool_alloc(&s->pool, 2 * n, sizeof *s->cheap[0]);
  s->cheap[1] = berth_i_pool_alloc(&s->pool, 2 * n, sizeof *s->cheap[1]);
  s->region = berth_i_pool_alloc(&s->pool, n + 1, sizeof *s->region);
  s->draft.units[0] = berth_i_pool_zalloc(&s->pool, n, sizeof *s->draft.units[0]);
  s->draft.units[1] = berth_i_pool_zalloc(&s->pool, n, sizeof *s->draft.units[1]);
  s->draft.touched = berth_i_pool_alloc(&s->pool, n, sizeof *s->draft.touched);
  s->draft.is_touched = berth_i_pool_zalloc(&s->pool, n, sizeof *s->draft.is_touched);
  s->lp.key = berth_i_pool_alloc(&s->pool, n, sizeof *s->lp.key);
  s->best = berth_i_pool_alloc(&s->pool, n, sizeof *s->best);
  return berth_i_pool_status(&s->pool);
}

berth_status berth_i_slot_solver_new(berth_ps *p, const berth_pdors_options *o,
                                     berth_i_slot_solver **out) {
  berth_ctx *ctx = berth_ps_ctx(p);
  berth_i_slot_solver *s = berth_i_pool_object(ctx, sizeof *s);
  if (!s) return berth_i_nomem(ctx);
  berth_ctx_retain(ctx);
  berth_ps_retain(p);
  s->ctx = ctx;
  s->ps = p;
  s->o = *o;
  s->c = *berth_ps_options_of(p);
  s->whole = o->mode != BERTH_PDORS_FAITHFUL;
  berth_status st;
  if ((st = alloc_arrays(s)) != BERTH_OK) {
    berth_i_slot_solver_release(s);
    return st;
  }
  *out = s;
  return BERTH_OK;
}

void berth_i_slot_solver_release(berth_i_slot_solver *s) {
  if (!s) return;
  berth_ctx *ctx;
  ctx = s->ctx;
  berth_ps_release(s->ps);
  berth_i_pool_free(&s->pool);
  berth_ctx_release(ctx);
}

const berth_pdors_counts *berth_i_slot_counts(const berth_i_slot_solver *s) { return &s->counts; }

/* ---- a state ---- */

berth_status berth_i_slot_begin(berth_i_slot_solver *s, int32_t job,
                                const berth_i_slot_state *state) {
  s->job = berth_ps_job_at(s->ps, job);
  if (!s->job) return berth_i_fail(s->ctx, BERTH_EINVAL, "pdors: there is no job %d", job);
  s->inside_slots = berth_ps_worker_slots(s->job, s->job->inside);
  s->rack_slots = s->job->rack > 0 ? berth_ps_worker_slots(s->job, s->job->rack) : INFINITY;
  classify(s, state);
  /* List regions. */
  s->regions = 1;
  s->region[0] =
      (berth_i_slot_region){ 0, s->classes, 0, berth_ps_worker_slots(s->job, s->job->across) };
  for (int32_t k = 0; s->racks && k < s->classes; k++) {
    berth_i_slot_region *last = &s->region[s->regions - 1];
    if (k > 0 && s->class[k].rack == s->class[k - 1].rack) last->n++;
    else s->region[s->regions++] = (berth_i_slot_region){ k, 1, s->classes + k, s->rack_slots };
  }
  return BERTH_OK;
}

/* ---- one machine ---- */

/* @return false: more workers than the batch has samples. What is a rounding error above a whole
 *         number is that number */
static bool wanted(const berth_i_slot_solver *s, double samples, double slots,
                   berth_i_slot_want *out) {
  double workers = fmax(1, ceil(samples * slots * (1 - 1e-12)));
  double servers = fmax(1, ceil(workers / s->job->ratio * (1 - 1e-12)));
  if (!(workers <= s->job->batch && servers < INT32_MAX / 4)) return false;
  *out = (berth_i_slot_want){ { (int32_t)workers, (int32_t)servers } };
  return true;
}

/* Lowest machine among equals. */
static void solve_inside(berth_i_slot_solver *s, double samples) {
  berth_i_slot_want want;
  if (!wanted(s, samples, s->inside_slots, &want)) return;
  for (int32_t k = 0; k < s->classes; k++) {
    const berth_i_slot_class *c = &s->class[k];
    double cost = want.units[0] * c->worker + want.units[1] * c->server;
    if (!(cost < s->best_cost
          || (cost == s->best_cost && s->best_n == 1 && s->member[c->first] < s->best[0].machine)))
      continue;
    if (!berth_i_slot_fits(s, c, want.units[0], want.units[1])) continue;
    s->best[0] = (berth_ps_place){ s->member[c->first], want.units[0], want.units[1] };
    s->best_n = 1;
    s->best_cost = cost;
  }
}

/* ---- several machines ---- */

/* Each kind at its cheapest price. */
static double at_least(berth_i_slot_solver *s, const berth_i_slot_region *g,
                       berth_i_slot_want want) {
  berth_i_slot_sort(s);
  return want.units[0] * s->cheap[0][g->list].price + want.units[1] * s->cheap[1][g->list].price;
}

/* Only a better answer than the best so far is searched for; but the published way rounds whenever
 * there is a program. */
static berth_status solve_region(berth_i_slot_solver *s, const berth_i_slot_region *g,
                                 double samples, berth_rng *rng, double *bound) {
  berth_i_slot_want want;
  double least;
  bool always = s->o.mode == BERTH_PDORS_FAITHFUL;
  if (!wanted(s, samples, g->slots, &want) || isinf(least = at_least(s, g, want))) return BERTH_OK;
  if (least >= s->best_cost && !always) return BERTH_OK;
  berth_status st;
  if ((st = berth_i_slot_relax(s, g, want)) != BERTH_OK) return st;
  *bound = fmin(*bound, s->lp.bound);
  if (isinf(s->lp.bound) || (s->lp.bound >= s->best_cost && !always)) return BERTH_OK;
  /* Solve relaxed. */
  if (s->o.mode == BERTH_PDORS_FAITHFUL) {
    berth_i_slot_round_faithfully(s, g, want, rng);
    return BERTH_OK;
  }
  berth_i_slot_round_and_repair(s, g, want, rng);
  return s->o.mode == BERTH_PDORS_EXACT ? berth_i_slot_exact(s, g, want) : BERTH_OK;
}

/* Racks before the cluster: they are nearer. */
berth_status berth_i_slot_solve(berth_i_slot_solver *s, double samples, uint64_t stream,
                                berth_i_slot_answer *out) {
  berth_status st = BERTH_OK;
  berth_rng rng;
  berth_rng_init(&rng, s->o.seed, stream);
  s->best_n = 0;
  s->best_cost = INFINITY;
  solve_inside(s, samples);
  double bound = s->best_cost;
  for (int32_t i = 1; i < s->regions && st == BERTH_OK; i++)
    st = solve_region(s, &s->region[i], samples, &rng, &bound);
  if (st == BERTH_OK) st = solve_region(s, &s->region[0], samples, &rng, &bound);
  if (st == BERTH_OK) {
    out->feasible = s->best_n > 0;
    out->cost = s->best_cost;
    out->bound = fmax(0, fmin(bound, s->best_cost));
    out->inside = s->best_n == 1;
    out->n = s->best_n;
    memcpy(out->place, s->best, (size_t)s->best_n * sizeof *s->best);
  }
  return st;
}
