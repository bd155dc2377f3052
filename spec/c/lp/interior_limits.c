/* The interior-point solver of the favourite-child LP: warm starts, limits, hooks, threads, memory;
 * and the factorisation that it stands on. */
#include "extern/cholmod_internal.h"
#include "place_lp_interior_help.h"
#include "refusals.h"
#include <pthread.h>

/* ---- the factorisation ---- */

TEST("a system is factorised, refused when not definite, and factorised again") {
  /* [4 2 0; 2 5 3; 0 3 6] x = [8 21 24], x = (1 2 3) */
  static const int32_t at[] = { 0, 1, 3, 5 }, row[] = { 0, 1, 0, 1, 2 }, low[] = { 0, 1, 2, 1, 2 },
                       bare[] = { 0, 1, 0, 1, 1 };
  static const double good[] = { 4, 5, 2, 3, 6 }, bad[] = { 4, 5, 2, 30, 6 };
  double x[] = { 8, 21, 24 };
  berth_i_cholesky *k = NULL;
  bool definite = false;
  CHECK_OK(berth_i_cholesky_new(ctx, 3, at, row, &k));
  CHECK(berth_i_cholesky_price(k).flops > 0 && berth_i_cholesky_price(k).bytes > 0);
  CHECK_OK(berth_i_cholesky_factor(k, bad, &definite));
  CHECK(!definite);
  CHECK_OK(berth_i_cholesky_factor(k, good, &definite));
  CHECK(definite);
  CHECK_OK(berth_i_cholesky_solve(k, x));
  CHECK_NEAR(x[0], 1, 1e-12);
  CHECK_NEAR(x[1], 2, 1e-12);
  CHECK_NEAR(x[2], 3, 1e-12);
  berth_i_cholesky_release(k);
  berth_i_cholesky_release(NULL);
  CASE("what is no upper triangle with a diagonal is refused");
  k = NULL;
  CHECK_STATUS(berth_i_cholesky_new(ctx, 0, at, row, &k), BERTH_EINVAL);
  CHECK_STATUS(berth_i_cholesky_new(ctx, 3, at + 1, row, &k), BERTH_EINVAL);
  CHECK_STATUS(berth_i_cholesky_new(ctx, 3, at, low, &k), BERTH_EINVAL);
  CHECK_STATUS(berth_i_cholesky_new(ctx, 3, at, bare, &k), BERTH_EINVAL);
  CHECK(k == NULL);
}

/* ---- starts, limits, hooks ---- */

/* A full matrix, 3 on the diagonal and 1 elsewhere: x = 1 gives n + 2 everywhere. */
TEST("a full matrix is factorised by blocks, and refused when not definite") {
  enum { FULL = 150 };
  static int32_t at[FULL + 1], row[FULL * (FULL + 1) / 2];
  static double value[FULL * (FULL + 1) / 2], x[FULL];
  berth_i_cholesky *k = NULL;
  bool definite = true;
  double off = 0;
  int32_t e = 0;
  for (int32_t j = 0; j < FULL; j++) {
    for (int32_t i = 0; i <= j; i++, e++) {
      row[e] = i;
      value[e] = i == j ? 3 : 1;
    }
    at[j + 1] = e;
    x[j] = FULL + 2;
  }
  CHECK_OK(berth_i_cholesky_new(ctx, FULL, at, row, &k));
  CHECK(berth_i_cholesky_price(k).flops > 40.0 * e);
  value[e - 1] = -3;
  CHECK_OK(berth_i_cholesky_factor(k, value, &definite));
  CHECK(!definite);
  value[e - 1] = 3;
  CHECK_OK(berth_i_cholesky_factor(k, value, &definite));
  CHECK(definite);
  CHECK_OK(berth_i_cholesky_solve(k, x));
  for (int32_t j = 0; j < FULL; j++) off = fmax(off, fabs(x[j] - 1));
  CHECK(off < 1e-12);
  berth_i_cholesky_release(k);
}

static lp_draft draft;

TEST("from an entropic point it takes fewer iterations than from nothing, to the same value") {
  berth_rng rng = seeded(17, 0);
  draft_layers(&draft, &rng, 60, 12, 3, EVEN);
  berth_i_lp_problem q;
  CHECK_OK(make_problem(draft.n, draft.p, draft.m, draft.edge, &q));
  berth_i_lp_point cold;
  CHECK_OK(berth_i_lp_point_init(ctx, &q, &cold));
  berth_i_lp_point warm;
  CHECK_OK(berth_i_lp_point_init(ctx, &q, &warm));
  CHECK_OK(berth_i_lp_interior(&q, 1e-3, 0, false, &cold));
  CHECK_OK(berth_i_lp_entropic(&q, 1e-2, 0, &warm));
  CHECK(berth_i_lp_gap(&warm) <= 1e-2 && berth_i_lp_gap(&warm) > 1e-3);
  CHECK_OK(berth_i_lp_interior(&q, 1e-3, 0, true, &warm));
  CHECK(berth_i_lp_gap(&warm) <= 1e-3 && berth_i_lp_gap(&cold) <= 1e-3);
  CHECK(warm.iterations < cold.iterations);
  CHECK(cold.lower <= warm.upper && warm.lower <= cold.upper);
  check_upper(&q, &warm);
  check_lower(&q, &warm);
  CASE("it goes on from its own point, and takes nothing back");
  double lower;
  lower = warm.lower;
  CHECK_OK(berth_i_lp_interior(&q, 1e-9, 0, true, &warm));
  CHECK(berth_i_lp_gap(&warm) <= 1e-9 && warm.lower >= lower);
  CASE("a limit of iterations is kept; what was found until then is certified");
  int32_t first = cold.iterations;
  berth_i_pool_free(&cold.pool);
  CHECK_OK(berth_i_lp_point_init(ctx, &q, &cold));
  CHECK_OK(berth_i_lp_interior(&q, 1e-9, 3, false, &cold));
  CHECK(first > 3 && cold.iterations == 3 && berth_i_lp_gap(&cold) > 1e-9
        && berth_i_lp_gap(&cold) < 0.5);
  check_upper(&q, &cold);
  check_lower(&q, &cold);
  berth_i_pool_free(&cold.pool);
  berth_i_pool_free(&warm.pool);
  free_problem(&q);
}

/* Split rows start inside too. */
TEST("a warm start on wide rows") {
  berth_rng rng = seeded(23, 0);
  draft_fork_join(&draft, &rng, 300);
  berth_i_lp_problem q;
  CHECK_OK(make_problem(draft.n, draft.p, draft.m, draft.edge, &q));
  double want = solve(&q, 1e-8);
  berth_i_lp_point pt;
  CHECK_OK(berth_i_lp_point_init(ctx, &q, &pt));
  CHECK_OK(berth_i_lp_entropic(&q, 5e-2, 0, &pt));
  CHECK_OK(berth_i_lp_interior(&q, 1e-8, 0, true, &pt));
  CHECK(berth_i_lp_gap(&pt) <= 1e-8);
  CHECK_NEAR(pt.upper, want, 2e-8 * want);
  berth_i_pool_free(&pt.pool);
  free_problem(&q);
}

TEST("the price of a factor: nothing without ops, little for rows of 1500 edges") {
  double flops = -1;
  draft = (lp_draft){ .n = 0 };
  berth_i_lp_problem q;
  CHECK_OK(make_problem(0, draft.p, 0, draft.edge, &q));
  CHECK_OK(berth_i_lp_interior_cost(&q, &flops));
  CHECK_NEAR(flops, 0, 0);
  free_problem(&q);
  draft = (lp_draft){ .n = 1501 };
  for (int32_t k = 1; k <= 1500; k++) draft_edge(&draft, 0, k, 10);
  CHECK_OK(make_problem(draft.n, draft.p, draft.m, draft.edge, &q));
  CHECK_OK(berth_i_lp_interior_cost(&q, &flops));
  double clique = 1500.0 * 1500 * 1500 / 3;
  CHECK(flops > 1500 && flops < 1e-3 * clique);
  free_problem(&q);
  CASE("a factor beyond the limits is refused, with its size");
  berth_rng rng = seeded(29, 0);
  draft_layers(&draft, &rng, 2, 1000, 4, EVEN);
  for (int32_t k = 0; k < 1000; k++) {
    draft_edge(&draft, k, 1000 + (k * 7 + 1) % 1000, 3); /* twice the same pair now and then:
                                                            removed below */
  }
  qsort(draft.edge, (size_t)draft.m, sizeof *draft.edge, by_head);
  for (int32_t k = draft.m - 1; k > 0; k--) {
    if (by_head(&draft.edge[k], &draft.edge[k - 1]) == 0)
      memmove(&draft.edge[k], &draft.edge[k + 1], sizeof *draft.edge * (size_t)(--draft.m - k));
  }
  CHECK_OK(make_problem(draft.n, draft.p, draft.m, draft.edge, &q));
  CHECK_OK(berth_i_lp_interior_cost(&q, &flops));
  CHECK(flops > 5e9);
  berth_i_lp_point pt;
  CHECK_OK(berth_i_lp_point_init(ctx, &q, &pt));
  CHECK_SAYS(berth_i_lp_interior(&q, 1e-2, 0, false, &pt), BERTH_EUNSUPPORTED,
             "operations is above the limits");
  berth_i_pool_free(&pt.pool);
  free_problem(&q);
}

TEST("a wide graph, whose factor is dense, to 1e-8") {
  double flops = 0;
  berth_rng rng = seeded(37, 0);
  draft_layers(&draft, &rng, 8, 100, 2, EVEN);
  berth_i_lp_problem q;
  CHECK_OK(make_problem(draft.n, draft.p, draft.m, draft.edge, &q));
  CHECK_OK(berth_i_lp_interior_cost(&q, &flops));
  CHECK(flops > 1e7);
  solve(&q, 1e-8);
  free_problem(&q);
}

static int stop_at_third(void *ud) { return ++*(int *)ud >= 3; }

TEST("the interrupt hook is asked in every iteration") {
  int polls = 0;
  berth_hooks hooks = { .interrupt = stop_at_third, .ud = &polls };
  hooked(&hooks);
  berth_rng rng = seeded(31, 0);
  draft_layers(&draft, &rng, 10, 8, 2, EVEN);
  berth_i_lp_problem q;
  CHECK_OK(make_problem(draft.n, draft.p, draft.m, draft.edge, &q));
  berth_i_lp_point pt;
  CHECK_OK(berth_i_lp_point_init(ctx, &q, &pt));
  CHECK_STATUS(berth_i_lp_interior(&q, 1e-9, 0, false, &pt), BERTH_EINTERRUPT);
  CHECK(polls == 3 && pt.iterations == 2);
  berth_i_pool_free(&pt.pool);
  free_problem(&q);
  hooked(NULL);
}

/* ---- repetition, threads, memory ---- */

typedef struct lone_run {
  const lp_draft *d;
  double upper, lower, y[8000];
  berth_status st;
} lone_run;

static void *run_alone(void *ud) {
  lone_run *r = ud;
  lp_draft *mine = malloc(sizeof *mine);
  *mine = *r->d;
  berth_ctx *own;
  if ((r->st = berth_ctx_new(NULL, &own)) != BERTH_OK) return NULL;
  berth_i_lp_problem q;
  r->st = make_problem(mine->n, mine->p, mine->m, mine->edge, &q);
  berth_i_lp_point pt;
  TRY(r->st, berth_i_lp_point_init(own, &q, &pt));
  TRY(r->st, berth_i_lp_interior(&q, 1e-6, 0, false, &pt));
  r->upper = pt.upper;
  r->lower = pt.lower;
  memcpy(r->y, pt.y, sizeof *pt.y * (size_t)q.m);
  berth_i_pool_free(&pt.pool);
  free_problem(&q);
  berth_ctx_release(own);
  free(mine);
  return NULL;
}

static void same_in_threads(int32_t layers, int32_t width) {
  static lone_run run[3];
  berth_rng rng = seeded(37, 0);
  draft_layers(&draft, &rng, layers, width, 2, EVEN);
  for (int k = 0; k < 3; k++) run[k] = (lone_run){ .d = &draft, .st = BERTH_EIO };
  pthread_t thread[2];
  for (int k = 0; k < 2; k++) CHECK(pthread_create(&thread[k], NULL, run_alone, &run[k]) == 0);
  for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
  run_alone(&run[2]);
  for (int k = 0; k < 3; k++) {
    CHECK_OK(run[k].st);
    CHECK(run[k].upper == run[2].upper && run[k].lower == run[2].lower
          && memcmp(run[k].y, run[2].y, sizeof run[k].y) == 0);
  }
}

static berth_status all_of_it(void) {
  lp_edge edge[] = { { 0, 2, 1 }, { 1, 2, 3 }, { 1, 3, 1 } };
  static const double p[] = { 5, 4, 7, 4 };
  berth_i_lp_problem q;
  berth_i_lp_point pt;
  double flops;
  berth_status st = make_problem(4, p, 3, edge, &q);
  if (st == BERTH_OK) {
    st = berth_i_lp_point_init(ctx, &q, &pt);
    TRY(st, berth_i_lp_interior_cost(&q, &flops));
    TRY(st, berth_i_lp_interior(&q, 1e-6, 0, false, &pt));
    TRY(st, berth_i_lp_interior(&q, 1e-9, 0, true, &pt));
    if (st == BERTH_OK) CHECK_NEAR(pt.upper, 12.5, 1e-6);
    berth_i_pool_free(&pt.pool);
  }
  free_problem(&q);
  return st;
}

/* The same with a factor of dense blocks, for one iteration. */
static berth_status dense_too(void) {
  static lp_draft d;
  berth_rng rng = seeded(41, 0);
  draft_layers(&d, &rng, 3, 70, 4, EVEN);
  berth_i_lp_problem q;
  berth_status st = make_problem(d.n, d.p, d.m, d.edge, &q);
  berth_i_lp_point pt;
  if (st == BERTH_OK) {
    st = berth_i_lp_point_init(ctx, &q, &pt);
    TRY(st, berth_i_lp_interior(&q, 1e-6, 1, false, &pt));
    berth_i_pool_free(&pt.pool);
  }
  free_problem(&q);
  return st;
}

TEST_REFUSALS(all_of_it)
TEST_REFUSALS(dense_too)

TEST("two threads and a repetition give the same bytes") { same_in_threads(20, 10); }
TEST("so they do on a wide graph") { same_in_threads(8, 100); }
