/* The linear program of favourite children against GLPK's simplex on random graphs. */
#include "place_lp_help.h"

static berth_lp *solve(berth_cost *cost, berth_lp_method method, double gap) {
  berth_lp_options o = berth_lp_default();
  o.method = method;
  o.gap = gap;
  return must_lp_solve(cost, &o);
}

static void check_favourites(const lp_answer *a, int32_t n) {
  static const double taus[] = { 0, 0.1, 0.5, 1 };
  int32_t child[LP_OPS];
  uint8_t taken[LP_OPS] = { 0 };
  for (size_t k = 0; k < sizeof taus / sizeof *taus; k++) {
    CHECK_OK(berth_lp_favourites(a->lp, taus[k], child));
    lp_check_children(a, n, child);
    for (int32_t e = 0; e < a->m && taus[k] > 0 && taus[k] <= 0.5; e++) {
      if (child[a->src[e]] == a->dst[e]) CHECK(1 - a->y[e] <= taus[k] + 1e-8);
      else CHECK(1 - a->y[e] >= taus[k] - 1e-8); /* below a half nobody competes */
    }
  }
  CHECK_OK(berth_lp_favourites(a->lp, 0, child));
  for (int32_t e = 0; e < n; e++) {
    if (child[e] != BERTH_NONE) taken[child[e]] = 1;
  }
  /* maximal */
  for (int32_t e = 0; e < a->m; e++) CHECK(child[a->src[e]] != BERTH_NONE || taken[a->dst[e]]);
}

static void check_answer(const berth_lp *lp, const lp_case *k, double optimum) {
  const berth_lp_summary *s = berth_lp_get(lp);
  lp_answer a = lp_read(lp);
  CHECK(s->lower <= optimum * (1 + 1e-9) + 1e-12 && s->upper >= optimum * (1 - 1e-9) - 1e-12);
  CHECK(a.m == k->m);
  lp_check_feasible(&a, k->n);
  CHECK_NEAR(lp_longest(&a, k->n, k->p), s->upper, 1e-12 * s->upper);
  check_favourites(&a, k->n);
  if (k->n > 60) return;
  CHECK(s->lower <= lp_proved(&a, k) * (1 + 1e-9) + 1e-12);
}

static void check_case(const lp_case *k, int both) {
  berth_cost *cost = lp_cost(k);
  double optimum = lp_simplex(k, 1);
  if (both) CHECK_NEAR(lp_simplex(k, 0), optimum, 1e-7 * optimum);
  berth_lp *lp;
  for (int32_t method = BERTH_LP_AUTO; method <= BERTH_LP_INTERIOR; method++) {
    lp = solve(cost, (berth_lp_method)method, 0.01);
    check_answer(lp, k, optimum);
    CHECK(berth_lp_get(lp)->reached == (berth_lp_get(lp)->gap <= 0.01));
    RELEASE(lp);
  }
  lp = solve(cost, BERTH_LP_AUTO, 1e-7);
  check_answer(lp, k, optimum);
  if (!CHECK(berth_lp_get(lp)->reached))
    printf("# %d ops, %d pairs: gap %g\n", (int)k->n, (int)k->m, berth_lp_get(lp)->gap);
  CHECK_NEAR(berth_lp_get(lp)->upper, optimum, 1e-6 * optimum);
  CHECK_NEAR(berth_lp_get(lp)->lower, optimum, 1e-6 * optimum);
}

TEST("100 random graphs of up to 40 ops: the value of GLPK's simplex in both formulations, and "
     "proofs that hold") {
  static lp_case k;
  berth_rng rng = seeded(20, 0);
  glp_term_out(GLP_OFF);
  for (int i = 0; i < 100; i++) {
    lp_random(&k, 2 + berth_rng_below(&rng, 39), &rng);
    check_case(&k, 1);
  }
  CASE("12 random graphs of up to 150 ops")
  for (int i = 0; i < 12; i++) {
    lp_random(&k, 60 + berth_rng_below(&rng, 91), &rng);
    check_case(&k, 0);
  }
  CASE("4 random graphs of up to 500 ops")
  for (int i = 0; i < 4; i++) {
    lp_random(&k, i == 0 ? 500 : 250 + berth_rng_below(&rng, 150), &rng);
    check_case(&k, 0);
  }
  glp_free_env();
}
