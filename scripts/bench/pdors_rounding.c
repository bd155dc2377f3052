/* How good is rounding in one slot of PD-ORS? Random slots: 20 machines of 4 resources, each for
 * 18 mean units, of which 10 to 100 % is free; log-normal prices; 20 workers and 5 servers are
 * required. First the published way: each number of the linear program's answer, times G, is
 * rounded up or down by chance, and the rows hold or not. Then the results of repair from it, from
 * the hulls' program and from zero (greedy), against the published program and the best solution.
 * Prints tables in Markdown.
 * usage: pdors_rounding [SEED [SLOTS]]
 *   cc -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -Icore/include -Icore scripts/bench/pdors_rounding.c
 *      -o pdors_rounding build/libberth.a $(make -s libs) */
#include "pdors/slot_internal.h"
#include <berth/berth.h>
#include <stdio.h>
#include <stdlib.h>

enum { MACHINES = 20, RESOURCES = 4, CELLS = MACHINES * RESOURCES, WORKERS = 20, SERVERS = 5 };
enum { ROUNDINGS = 400, TRIES = 20, MOST_SLOTS = 1000 };

static const double mean[RESOURCES] = { 2, 5.5, 17, 7.5 }; /* GPU, CPU, memory, storage of a
                                                              worker */
static const berth_i_slot_want want = { { WORKERS, SERVERS } };

typedef struct slot {
  double capacity[CELLS], price[CELLS], left[CELLS];
  berth_ps_job job;
} slot;

typedef struct chances {
  double packing, covering;
  int any;
} chances;

typedef struct ratios {
  double sum, most, of_best;
  int n;
} ratios;

static int fail(berth_ctx *ctx) {
  fprintf(stderr, "pdors_rounding: %s\n", berth_errmsg(ctx));
  return 1;
}

/* ---- slots ---- */

static double between(berth_rng *rng, double a, double b) {
  return a + (b - a) * berth_rng_uniform(rng);
}

static void draw(slot *s, berth_rng *rng) {
  s->job = (berth_ps_job){ .epochs = 1,
                           .samples = 1e4,
                           .batch = 200,
                           .tau = 1e-3,
                           .bytes = 1,
                           .ratio = (double)WORKERS / SERVERS,
                           .inside = 1e9,
                           .across = 1e8,
                           .worker = { berth_rng_below(rng, 5), between(rng, 1, 10),
                                       between(rng, 2, 32), between(rng, 5, 10) },
                           .server = { 0, between(rng, 1, 10), between(rng, 2, 32),
                                       between(rng, 5, 10) },
                           .importance = 1,
                           .urgency = 0.1,
                           .target = 5 };
  for (int i = 0; i < CELLS; i++) {
    s->capacity[i] = 18 * mean[i % RESOURCES];
    s->left[i] = s->capacity[i] * between(rng, 0.1, 1);
    s->price[i] = exp(berth_rng_normal(rng)) / mean[i % RESOURCES];
  }
}

static berth_status open_solver(berth_ctx *ctx, slot *s, berth_i_slot_solver **out) {
  berth_ps_options p = berth_ps_default(MACHINES, RESOURCES, 1, s->capacity);
  berth_pdors_options o = berth_pdors_default();
  berth_i_slot_state state = { s->price, s->left };
  berth_ps *ps;
  berth_status st = berth_ps_new(ctx, &p, 1, &s->job, &ps);
  if (st != BERTH_OK) return st;
  o.nodes = 100000000;
  st = berth_i_slot_solver_new(ps, &o, out);
  berth_ps_release(ps);
  return st == BERTH_OK ? berth_i_slot_begin(*out, 0, &state) : st;
}

/* ---- roundings ---- */

/* @param rng NULL: down */
static int32_t rounded(double x, berth_rng *rng) {
  double low = floor(x + 1e-9);
  return (int32_t)low + (rng && berth_rng_uniform(rng) < x - low);
}

static void round_all(berth_i_slot_solver *s, double g, berth_rng *rng) {
  berth_i_slot_draft_clear(s);
  for (int32_t i = 0; i < s->lp.shares; i++) {
    const berth_i_slot_share *x = &s->lp.share[i];
    int32_t workers = rounded(g * x->workers, rng), servers = rounded(g * x->servers, rng);
    berth_i_slot_draft_put(s, x->machine, workers, servers);
  }
}

static bool all_fit(const berth_i_slot_solver *s) {
  const berth_i_slot_draft *d = &s->draft;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t h = d->touched[i];
    if (!berth_i_slot_fits(s, &s->class[s->class_of[h]], d -> units[0][h], d -> units[1][h]))
      return false;
  }
  return true;
}

static void roll(berth_i_slot_solver *s, double g, berth_rng *rng, chances *c) {
  int any = 0;
  for (int i = 0; i < ROUNDINGS; i++) {
    round_all(s, g, rng);
    bool fit = all_fit(s);
    bool covered = s->draft.all[0] >= WORKERS && s->draft.all[1] >= SERVERS;
    c->packing += fit / (double)ROUNDINGS;
    c->covering += covered / (double)ROUNDINGS;
    any |= fit && covered;
  }
  c->any += any;
}

/* ---- candidates ---- */

/* @param g 0: down @param tries roundings, of which the best is taken; 0: nothing is rounded, from
 *        nothing */
static double repaired(berth_i_slot_solver *s, double g, int tries, berth_rng *rng) {
  s->best_cost = INFINITY;
  s->best_n = 0;
  for (int i = 0; i < (tries > 0 ? tries : 2); i++) {
    if (tries > 0) round_all(s, g > 0 ? g : 1, g > 0 ? rng : NULL);
    else berth_i_slot_draft_clear(s);
    if (berth_i_slot_repair(s, s->region, want, tries > 1 ? i % 2 : i))
      berth_i_slot_keep(s, s->region);
  }
  return s->best_cost;
}

static void count(ratios *r, double cost, double published, double best) {
  if (isinf(cost)) return;
  r->n++;
  r->sum += cost / published;
  r->most = fmax(r->most, cost / published);
  r->of_best = fmax(r->of_best, cost / best);
}

/* ---- a slot ---- */

enum { FIXED = 6, FACTORS = FIXED + 4, WAYS = 8 };

static const double fixed[FIXED] = { 0.6, 0.8, 0.9, 1, 1.1, 1.5 };
static const char *const factor_names[FACTORS] = { "0.6",
                                                   "0.8",
                                                   "0.9",
                                                   "1",
                                                   "1.1",
                                                   "1.5",
                                                   "packing, formula",
                                                   "packing, tight",
                                                   "covering, formula",
                                                   "covering, tight" };
static const char *const way_names[WAYS] = { "rounded down, repaired",
                                             "one rounding, repaired",
                                             "best of 20 roundings, repaired",
                                             "the same, G for packing",
                                             "greedy",
                                             "hulls' program "
                                             "rounded down, "
                                             "repaired",
                                             "all of them (mode \"repaired\")",
                                             "best (mode "
                                             "\"exact\")" };

typedef struct study {
  chances chances[FACTORS];
  double factor[FACTORS]; /* sum */
  ratios ways[WAYS];
  int slots, feasible;
} study;

static double factor_of(berth_i_slot_solver *s, int i) {
  if (i < FIXED) return fixed[i];
  s->o.gdelta = (i - FIXED) % 2 ? BERTH_GDELTA_TIGHT : BERTH_GDELTA_FORMULA;
  s->o.favour = i < FIXED + 2 ? BERTH_PDORS_PACKING : BERTH_PDORS_COVERING;
  return berth_i_slot_factor(s, s->region, want);
}

static berth_status relax(berth_i_slot_solver *s, bool whole) {
  s->drawn = false;
  s->whole = whole;
  return berth_i_slot_relax(s, s->region, want);
}

static berth_status best_of_all(berth_i_slot_solver *s, berth_rng *rng, double *cost) {
  s->best_cost = INFINITY;
  s->best_n = 0;
  factor_of(s, FIXED);
  berth_i_slot_round_and_repair(s, s->region, want, rng);
  cost[6] = s->best_cost;
  berth_status st = berth_i_slot_exact(s, s->region, want);
  cost[7] = s->best_cost;
  return st;
}

/* With the published program's answer in s->lp. */
static void look_published(berth_i_slot_solver *s, berth_rng *rng, study *out, double *cost) {
  for (int i = 0; i < FACTORS; i++) {
    double g = factor_of(s, i);
    out->factor[i] += g;
    roll(s, g, rng, &out->chances[i]);
  }
  cost[0] = repaired(s, 0, 1, rng);
  cost[1] = repaired(s, 1, 1, rng);
  cost[2] = repaired(s, 1, TRIES, rng);
  cost[3] = repaired(s, factor_of(s, FIXED), TRIES, rng);
  cost[4] = repaired(s, 0, 0, rng);
}

static berth_status look(berth_i_slot_solver *s, berth_rng *rng, study *out) {
  out->slots++;
  berth_status st;
  if ((st = relax(s, false)) != BERTH_OK || isinf(s->lp.bound)) return st;
  double published = s->lp.bound;
  out->feasible++;
  double cost[WAYS];
  look_published(s, rng, out, cost);
  if ((st = relax(s, true)) != BERTH_OK || isinf(s->lp.bound)) return st;
  cost[5] = repaired(s, 0, 1, rng);
  if ((st = best_of_all(s, rng, cost)) != BERTH_OK) return st;
  for (int i = 0; i < WAYS; i++) count(&out->ways[i], cost[i], published, cost[7]);
  return BERTH_OK;
}

/* ---- tables ---- */

static void print(const study *s) {
  printf("Roundings without repair, %d slots of which %d can hold what is wanted by the linear "
         "program, %d roundings each:\n\n",
         s->slots, s->feasible, ROUNDINGS);
  printf("| G | mean G | Pr(all packing) | Pr(all covering) | slots with any feasible "
         "|\n|---|---|---|---|---|\n");
  for (int i = 0; i < FACTORS; i++)
    printf("| %s | %.3f | %.3f | %.3f | %d of %d |\n", factor_names[i], s->factor[i] / s->feasible,
           s->chances[i].packing / s->feasible, s->chances[i].covering / s->feasible,
           s->chances[i].any, s->feasible);
  printf("\nCost in whole numbers over the published program's value, and over the best:\n\n");
  printf("| way | slots | mean | most | most over the best |\n|---|---|---|---|---|\n");
  for (int i = 0; i < WAYS; i++) {
    const ratios *r = &s->ways[i];
    printf("| %s | %d | %.4f | %.4f | %.4f |\n", way_names[i], r->n, r->sum / r->n, r->most,
           r->of_best);
  }
}

int main(int argc, char **argv) {
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  int slots = argc > 2 ? atoi(argv[2]) : 20;
  study s = { 0 };
  berth_ctx *ctx;
  if (slots < 1 || slots > MOST_SLOTS || berth_ctx_new(NULL, &ctx) != BERTH_OK) return 2;
  slot at;
  berth_rng rng;
  for (int i = 0; i < slots; i++) {
    berth_i_slot_solver *solver = NULL;
    berth_rng_init(&rng, seed, (uint64_t)i);
    draw(&at, &rng);
    berth_status st = open_solver(ctx, &at, &solver);
    if (st == BERTH_OK) st = look(solver, &rng, &s);
    berth_i_slot_solver_release(solver);
    if (st != BERTH_OK) return fail(ctx);
  }
  print(&s);
  berth_ctx_release(ctx);
  return 0;
}
