/* The interior-point solver of the favourite-child LP: warm starts, limits, hooks, threads, memory;
 * and the factorisation that it stands on. */
#include "extern/cholmod_internal.h"
#include "place_lp_interior_help.h"
#include "refusals.h"
#include <pthread.h>

/* ---- the factorisation ---- */

static void test_cholesky(berth_ctx *ctx) {
  /* [4 2 0; 2 5 3; 0 3 6] x = [8 21 24], x = (1 2 3) */
  static const int32_t at[] = { 0, 1, 3, 5 }, row[] = { 0, 1, 0, 1, 2 }, low[] = { 0, 1, 2, 1, 2 },
                       bare[] = { 0, 1, 0, 1, 1 };
  static const double good[] = { 4, 5, 2, 3, 6 }, bad[] = { 4, 5, 2, 30, 6 };
  double x[] = { 8, 21, 24 };
  berth_i_cholesky *k = NULL;
  bool definite = false;
  TEST("a system is factorised, refused when not definite, and factorised again");
  CHECK_STATUS(berth_i_cholesky_new(ctx, 3, at, row, &k), BERTH_OK);
  CHECK(berth_i_cholesky_price(k).flops > 0 && berth_i_cholesky_price(k).bytes > 0);
  CHECK_STATUS(berth_i_cholesky_factor(k, bad, &definite), BERTH_OK);
  CHECK(!definite);
  CHECK_STATUS(berth_i_cholesky_factor(k, good, &definite), BERTH_OK);
  CHECK(definite);
  CHECK_STATUS(berth_i_cholesky_solve(k, x), BERTH_OK);
  CHECK_NEAR(x[0], 1, 1e-12);
  CHECK_NEAR(x[1], 2, 1e-12);
  CHECK_NEAR(x[2], 3, 1e-12);
  berth_i_cholesky_release(k);
  berth_i_cholesky_release(NULL);
  TEST("what is no upper triangle with a diagonal is refused");
  k = NULL;
  CHECK_STATUS(berth_i_cholesky_new(ctx, 0, at, row, &k), BERTH_EINVAL);
  CHECK_STATUS(berth_i_cholesky_new(ctx, 3, at + 1, row, &k), BERTH_EINVAL);
  CHECK_STATUS(berth_i_cholesky_new(ctx, 3, at, low, &k), BERTH_EINVAL);
  CHECK_STATUS(berth_i_cholesky_new(ctx, 3, at, bare, &k), BERTH_EINVAL);
  CHECK(k == NULL);
}

/* ---- starts, limits, hooks ---- */

/* A full matrix, 3 on the diagonal and 1 elsewhere: x = 1 gives n + 2 everywhere. */
static void test_full(berth_ctx *ctx) {
  enum { FULL = 150 };
  static int32_t at[FULL + 1], row[FULL * (FULL + 1) / 2];
  static double value[FULL * (FULL + 1) / 2], x[FULL];
  berth_i_cholesky *k = NULL;
  bool definite = true;
  double off = 0;
  int32_t e = 0;
  TEST("a full matrix is factorised by blocks, and refused when not definite");
  for (int32_t j = 0; j < FULL; j++) {
    for (int32_t i = 0; i <= j; i++, e++) {
      row[e] = i;
      value[e] = i == j ? 3 : 1;
    }
    at[j + 1] = e;
    x[j] = FULL + 2;
  }
  CHECK_STATUS(berth_i_cholesky_new(ctx, FULL, at, row, &k), BERTH_OK);
  CHECK(berth_i_cholesky_price(k).flops > 40.0 * e);
  value[e - 1] = -3;
  CHECK_STATUS(berth_i_cholesky_factor(k, value, &definite), BERTH_OK);
  CHECK(!definite);
  value[e - 1] = 3;
  CHECK_STATUS(berth_i_cholesky_factor(k, value, &definite), BERTH_OK);
  CHECK(definite);
  CHECK_STATUS(berth_i_cholesky_solve(k, x), BERTH_OK);
  for (int32_t j = 0; j < FULL; j++) off = fmax(off, fabs(x[j] - 1));
  CHECK(off < 1e-12);
  berth_i_cholesky_release(k);
}

static void test_warm(berth_ctx *ctx, Draft *d) {
  berth_rng rng = seeded(17, 0);
  draft_layers(d, &rng, 60, 12, 3, EVEN);
  berth_i_lp_problem q;
  CHECK_STATUS(make_problem(ctx, d->n, d->p, d->m, d->edge, &q), BERTH_OK);
  TEST("from an entropic point it takes fewer iterations than from nothing, to the same value");
  berth_i_lp_point cold;
  CHECK_STATUS(berth_i_lp_point_init(ctx, &q, &cold), BERTH_OK);
  berth_i_lp_point warm;
  CHECK_STATUS(berth_i_lp_point_init(ctx, &q, &warm), BERTH_OK);
  CHECK_STATUS(berth_i_lp_interior(&q, 1e-3, 0, false, &cold), BERTH_OK);
  CHECK_STATUS(berth_i_lp_entropic(&q, 1e-2, 0, &warm), BERTH_OK);
  CHECK(berth_i_lp_gap(&warm) <= 1e-2 && berth_i_lp_gap(&warm) > 1e-3);
  CHECK_STATUS(berth_i_lp_interior(&q, 1e-3, 0, true, &warm), BERTH_OK);
  CHECK(berth_i_lp_gap(&warm) <= 1e-3 && berth_i_lp_gap(&cold) <= 1e-3);
  CHECK(warm.iterations < cold.iterations);
  CHECK(cold.lower <= warm.upper && warm.lower <= cold.upper);
  check_upper(&q, &warm);
  check_lower(&q, &warm);
  TEST("it goes on from its own point, and takes nothing back");
  double lower;
  lower = warm.lower;
  CHECK_STATUS(berth_i_lp_interior(&q, 1e-9, 0, true, &warm), BERTH_OK);
  CHECK(berth_i_lp_gap(&warm) <= 1e-9 && warm.lower >= lower);
  TEST("a limit of iterations is kept; what was found until then is certified");
  int32_t first = cold.iterations;
  berth_i_pool_free(&cold.pool);
  CHECK_STATUS(berth_i_lp_point_init(ctx, &q, &cold), BERTH_OK);
  CHECK_STATUS(berth_i_lp_interior(&q, 1e-9, 3, false, &cold), BERTH_OK);
  CHECK(first > 3 && cold.iterations == 3 && berth_i_lp_gap(&cold) > 1e-9
        && berth_i_lp_gap(&cold) < 0.5);
  check_upper(&q, &cold);
  check_lower(&q, &cold);
  berth_i_pool_free(&cold.pool);
  berth_i_pool_free(&warm.pool);
  free_problem(&q);
}

/* Split rows start inside too. */
static void test_warm_fork(berth_ctx *ctx, Draft *d) {
  berth_rng rng = seeded(23, 0);
  draft_fork_join(d, &rng, 300);
  berth_i_lp_problem q;
  CHECK_STATUS(make_problem(ctx, d->n, d->p, d->m, d->edge, &q), BERTH_OK);
  TEST("a warm start on wide rows");
  double want = solve(&q, 1e-8);
  berth_i_lp_point pt;
  CHECK_STATUS(berth_i_lp_point_init(ctx, &q, &pt), BERTH_OK);
  CHECK_STATUS(berth_i_lp_entropic(&q, 5e-2, 0, &pt), BERTH_OK);
  CHECK_STATUS(berth_i_lp_interior(&q, 1e-8, 0, true, &pt), BERTH_OK);
  CHECK(berth_i_lp_gap(&pt) <= 1e-8);
  CHECK_NEAR(pt.upper, want, 2e-8 * want);
  berth_i_pool_free(&pt.pool);
  free_problem(&q);
}

static void test_cost(berth_ctx *ctx, Draft *d) {
  double flops = -1;
  TEST("the price of a factor: nothing without ops, little for rows of 1500 edges");
  *d = (Draft){ .n = 0 };
  berth_i_lp_problem q;
  CHECK_STATUS(make_problem(ctx, 0, d->p, 0, d->edge, &q), BERTH_OK);
  CHECK_STATUS(berth_i_lp_interior_cost(&q, &flops), BERTH_OK);
  CHECK_NEAR(flops, 0, 0);
  free_problem(&q);
  *d = (Draft){ .n = 1501 };
  for (int32_t k = 1; k <= 1500; k++) draft_edge(d, 0, k, 10);
  CHECK_STATUS(make_problem(ctx, d->n, d->p, d->m, d->edge, &q), BERTH_OK);
  CHECK_STATUS(berth_i_lp_interior_cost(&q, &flops), BERTH_OK);
  double clique = 1500.0 * 1500 * 1500 / 3;
  CHECK(flops > 1500 && flops < 1e-3 * clique);
  free_problem(&q);
  TEST("a factor beyond the limits is refused, with its size");
  berth_rng rng = seeded(29, 0);
  draft_layers(d, &rng, 2, 1000, 4, EVEN);
  for (int32_t k = 0; k < 1000; k++) {
    draft_edge(d, k, 1000 + (k * 7 + 1) % 1000, 3); /* twice the same pair now and then: removed
                                                       below */
  }
  qsort(d->edge, (size_t)d->m, sizeof *d->edge, by_head);
  for (int32_t k = d->m - 1; k > 0; k--) {
    if (by_head(&d->edge[k], &d->edge[k - 1]) == 0)
      memmove(&d->edge[k], &d->edge[k + 1], sizeof *d->edge * (size_t)(--d->m - k));
  }
  CHECK_STATUS(make_problem(ctx, d->n, d->p, d->m, d->edge, &q), BERTH_OK);
  CHECK_STATUS(berth_i_lp_interior_cost(&q, &flops), BERTH_OK);
  CHECK(flops > 5e9);
  berth_i_lp_point pt;
  CHECK_STATUS(berth_i_lp_point_init(ctx, &q, &pt), BERTH_OK);
  CHECK_STATUS(berth_i_lp_interior(&q, 1e-2, 0, false, &pt), BERTH_EUNSUPPORTED);
  CHECK(strstr(berth_errmsg(ctx), "operations is above the limits") != NULL);
  berth_i_pool_free(&pt.pool);
  free_problem(&q);
}

static void test_dense(berth_ctx *ctx, Draft *d) {
  double flops = 0;
  TEST("a wide graph, whose factor is dense, to 1e-8");
  berth_rng rng = seeded(37, 0);
  draft_layers(d, &rng, 8, 100, 2, EVEN);
  berth_i_lp_problem q;
  CHECK_STATUS(make_problem(ctx, d->n, d->p, d->m, d->edge, &q), BERTH_OK);
  CHECK_STATUS(berth_i_lp_interior_cost(&q, &flops), BERTH_OK);
  CHECK(flops > 1e7);
  solve(&q, 1e-8);
  free_problem(&q);
}

static int stop_at_third(void *ud) { return ++*(int *)ud >= 3; }

static void test_interrupt(Draft *d) {
  int polls = 0;
  berth_hooks hooks = { .interrupt = stop_at_third, .ud = &polls };
  TEST("the interrupt hook is asked in every iteration");
  berth_ctx *ctx = must_ctx_new(&hooks);
  berth_rng rng = seeded(31, 0);
  draft_layers(d, &rng, 10, 8, 2, EVEN);
  berth_i_lp_problem q;
  CHECK_STATUS(make_problem(ctx, d->n, d->p, d->m, d->edge, &q), BERTH_OK);
  berth_i_lp_point pt;
  CHECK_STATUS(berth_i_lp_point_init(ctx, &q, &pt), BERTH_OK);
  CHECK_STATUS(berth_i_lp_interior(&q, 1e-9, 0, false, &pt), BERTH_EINTERRUPT);
  CHECK(polls == 3 && pt.iterations == 2);
  berth_i_pool_free(&pt.pool);
  free_problem(&q);
  berth_ctx_release(ctx);
}

/* ---- repetition, threads, memory ---- */

typedef struct Run {
  const Draft *d;
  double upper, lower, y[8000];
  berth_status st;
} Run;

static void *run_alone(void *ud) {
  Run *r = ud;
  Draft *mine = malloc(sizeof *mine);
  *mine = *r->d;
  berth_ctx *ctx;
  if ((r->st = berth_ctx_new(NULL, &ctx)) != BERTH_OK) return NULL;
  berth_i_lp_problem q;
  r->st = make_problem(ctx, mine->n, mine->p, mine->m, mine->edge, &q);
  berth_i_lp_point pt;
  if (r->st == BERTH_OK) r->st = berth_i_lp_point_init(ctx, &q, &pt);
  if (r->st == BERTH_OK) r->st = berth_i_lp_interior(&q, 1e-6, 0, false, &pt);
  r->upper = pt.upper;
  r->lower = pt.lower;
  memcpy(r->y, pt.y, sizeof *pt.y * (size_t)q.m);
  berth_i_pool_free(&pt.pool);
  free_problem(&q);
  berth_ctx_release(ctx);
  free(mine);
  return NULL;
}

static void test_threads(Draft *d, int32_t layers, int32_t width, const char *name) {
  static Run run[3];
  TEST(name);
  berth_rng rng = seeded(37, 0);
  draft_layers(d, &rng, layers, width, 2, EVEN);
  for (int k = 0; k < 3; k++) run[k] = (Run){ .d = d, .st = BERTH_EIO };
  pthread_t thread[2];
  for (int k = 0; k < 2; k++) CHECK(pthread_create(&thread[k], NULL, run_alone, &run[k]) == 0);
  for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
  run_alone(&run[2]);
  for (int k = 0; k < 3; k++) {
    CHECK_STATUS(run[k].st, BERTH_OK);
    CHECK(run[k].upper == run[2].upper && run[k].lower == run[2].lower
          && memcmp(run[k].y, run[2].y, sizeof run[k].y) == 0);
  }
}

static berth_status all_of_it(berth_ctx *ctx) {
  Edge edge[] = { { 0, 2, 1 }, { 1, 2, 3 }, { 1, 3, 1 } };
  static const double p[] = { 5, 4, 7, 4 };
  berth_i_lp_problem q;
  berth_i_lp_point pt;
  double flops;
  berth_status st = make_problem(ctx, 4, p, 3, edge, &q);
  if (st == BERTH_OK) {
    st = berth_i_lp_point_init(ctx, &q, &pt);
    if (st == BERTH_OK) st = berth_i_lp_interior_cost(&q, &flops);
    if (st == BERTH_OK) st = berth_i_lp_interior(&q, 1e-6, 0, false, &pt);
    if (st == BERTH_OK) st = berth_i_lp_interior(&q, 1e-9, 0, true, &pt);
    if (st == BERTH_OK) CHECK_NEAR(pt.upper, 12.5, 1e-6);
    berth_i_pool_free(&pt.pool);
  }
  free_problem(&q);
  return st;
}

/* The same with a factor of dense blocks, for one iteration. */
static berth_status dense_too(berth_ctx *ctx) {
  static Draft d;
  berth_rng rng = seeded(41, 0);
  draft_layers(&d, &rng, 3, 70, 4, EVEN);
  berth_i_lp_problem q;
  berth_status st = make_problem(ctx, d.n, d.p, d.m, d.edge, &q);
  berth_i_lp_point pt;
  if (st == BERTH_OK) {
    st = berth_i_lp_point_init(ctx, &q, &pt);
    if (st == BERTH_OK) st = berth_i_lp_interior(&q, 1e-6, 1, false, &pt);
    berth_i_pool_free(&pt.pool);
  }
  free_problem(&q);
  return st;
}

int main(void) {
  static Draft d;
  berth_ctx *ctx = must_ctx_new(NULL);
  test_cholesky(ctx);
  test_full(ctx);
  test_warm(ctx, &d);
  test_warm_fork(ctx, &d);
  test_cost(ctx, &d);
  test_dense(ctx, &d);
  test_interrupt(&d);
  test_threads(&d, 20, 10, "two threads and a repetition give the same bytes");
  test_threads(&d, 8, 100, "so they do on a wide graph");
  check_refusals(all_of_it);
  check_refusals(dense_too);
  return done_with(ctx);
}
