/* One slot of one job at given prices (PD-ORS, algorithm 4): all on one machine, which is a search
 * for the cheapest that holds it; else in one rack, or anywhere, which is an integer program: its
 * relaxation (slot_lp.c), then whole numbers (slot_round.c, slot_exact.c). With shared links
 * revised plans choose among offers instead (slot_shared.c).
 *
 * Invariant: best_cost is that of best[0..best_n), INFINITY if there is none; whatever costs no
 * less by a bound is not solved. */
#include "slot_internal.h"

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
  s->shared = s->c.comm == BERTH_PS_SHARED && o->plans == BERTH_PDORS_REVISED;
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
  berth_ctx *ctx = s->ctx;
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
  s->number = job;
  s->listed = false;
  s->inside_slots = berth_ps_worker_slots(s->job, s->job->inside);
  s->rack_slots = s->job->rack > 0 ? berth_ps_worker_slots(s->job, s->job->rack) : INFINITY;
  berth_i_slot_classify(s, state);
  /* The cluster, then each rack. */
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

/* @return false: more workers than the batch has samples */
static bool wanted(const berth_i_slot_solver *s, double samples, double slots,
                   berth_i_slot_want *out) {
  double workers = berth_i_pdors_workers(samples, slots),
         servers = berth_i_pdors_servers(s->job, workers);
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
    double cost = berth_i_slot_cost(c, want.units[0], want.units[1]);
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

/* Only a better answer than the best so far is searched for; but the published way rounds whenever
 * there is a program. */
static berth_status solve_region(berth_i_slot_solver *s, const berth_i_slot_region *g,
                                 double samples, berth_rng *rng, double *bound) {
  berth_i_slot_want want;
  bool always = s->o.mode == BERTH_PDORS_FAITHFUL;
  if (!wanted(s, samples, g->slots, &want)) return BERTH_OK;
  /* 1. Each kind at its cheapest price. */
  berth_i_slot_sort(s);
  double least = want.units[0] * s->cheap[0][g->list].price
                 + want.units[1] * s->cheap[1][g->list].price;
  if (isinf(least) || (least >= s->best_cost && !always)) return BERTH_OK;
  /* 2. The linear program. */
  berth_status st;
  if ((st = berth_i_slot_relax(s, g, want)) != BERTH_OK) return st;
  *bound = fmin(*bound, s->lp.bound);
  if (isinf(s->lp.bound) || (s->lp.bound >= s->best_cost && !always)) return BERTH_OK;
  /* 3. Whole numbers. */
  if (always) berth_i_slot_round_faithfully(s, g, want, rng);
  else berth_i_slot_round_and_repair(s, g, want, rng);
  return s->o.mode == BERTH_PDORS_EXACT ? berth_i_slot_exact(s, g, want) : BERTH_OK;
}

/* Racks before the cluster: they are nearer. */
berth_status berth_i_slot_solve(berth_i_slot_solver *s, double samples, uint64_t stream,
                                berth_i_slot_answer *out) {
  if (s->shared) return berth_i_slot_shared(s, samples, out);
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
