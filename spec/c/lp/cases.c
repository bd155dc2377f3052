/* The linear program of favourite children on graphs that can be checked by hand. */
#include "lp/exp_internal.h"
#include "lp/lp_internal.h"
#include "place_lp_help.h"
#include "refusals.h"

static berth_lp *solve_with(berth_cost *cost, berth_lp_times times, berth_lp_method method,
                            double gap) {
  berth_lp_options o = { times, method, gap, 0 };
  return must_lp_solve(cost, &o);
}
static berth_lp *solve(berth_cost *cost, berth_lp_times times) {
  return solve_with(cost, times, BERTH_LP_AUTO, 1e-8);
}

static lp_case make_case(int32_t n, const double *p, const char *edges) {
  static lp_case k;
  k.n = n;
  k.m = 0;
  memcpy(k.p, p, (size_t)n * sizeof *p);
  int src, dst, read;
  double c;
  for (; sscanf(edges, " %d>%d:%lf%n", &src, &dst, &c, &read) == 3; edges += read)
    lp_edge(&k, src, dst, c);
  return k;
}

static void check_value(const lp_case *k, double want) {
  berth_cost *cost = lp_cost(k);
  for (int method = BERTH_LP_AUTO; method <= BERTH_LP_INTERIOR; method++) {
    berth_lp *lp = solve_with(cost, BERTH_LP_MEAN, (berth_lp_method)method,
                              method == BERTH_LP_ENTROPIC ? 0.01 : 1e-8);
    const berth_lp_summary *s = berth_lp_get(lp);
    CHECK(s->lower <= want * (1 + 1e-12) && s->upper >= want * (1 - 1e-12));
    CHECK(s->reached);
    if (method != BERTH_LP_ENTROPIC) CHECK_NEAR(s->upper, want, 1e-6);
    if (method != BERTH_LP_ENTROPIC) CHECK_NEAR(s->lower, want, 1e-6);
    RELEASE(lp);
  }
}

TEST("the published cases: 8, 12.5, 18.2, 25.667") {
  const double a[] = { 1, 3, 3, 1, 3, 1 }, b[] = { 5, 4, 7, 4 }, c[] = { 9, 9, 8, 5, 6, 4 };
  const double d[] = { 6, 7, 9, 8, 10, 6, 6, 10, 6 };
  lp_case k = make_case(6, a, "0>1:1 0>4:1 1>2:1 2>3:1 4>5:1 5>3:1");
  check_value(&k, 8);
  k = make_case(4, b, "0>2:1 1>2:3 1>3:1");
  check_value(&k, 12.5);
  k = make_case(6, c, "0>2:2 1>2:3 1>3:1 4>5:3");
  check_value(&k, 18.2);
  k = make_case(9, d, "0>2:1 0>3:5 0>4:2 1>2:1 1>3:1 1>4:1 2>5:5 2>6:3 3>5:4 3>6:1 3>7:5 4>8:1");
  check_value(&k, 77.0 / 3);
}

TEST("one op, no edges, no competition, no time") {
  const double one[] = { 3 }, two[] = { 3, 5 }, zero[] = { 0, 0, 0, 0 };
  lp_case k = make_case(1, one, "");
  check_value(&k, 3);
  k = make_case(2, two, ""); /* no edges */
  check_value(&k, 5);
  k = make_case(2, two, "0>1:7"); /* nothing competes */
  check_value(&k, 8);
  k = make_case(2, two, "0>1:0");
  check_value(&k, 8);
  k = make_case(4, zero, "0>1:7 1>2:7 2>3:7");
  check_value(&k, 0);
  k = make_case(3, zero, "0>1:7 0>2:7"); /* half of it each */
  check_value(&k, 3.5);
  k = make_case(4, zero, "0>1:7 0>2:7 1>3:7 2>3:7");
  check_value(&k, 7);
}

TEST("the summary reports ratio, size and iterations, and outlives the cost") {
  const double p[] = { 5, 4, 7, 4 }, zero[] = { 1, 0, 1 };
  lp_case k = make_case(4, p, "0>2:1 1>2:3 1>3:1");
  berth_cost *cost = lp_cost(&k);
  berth_lp *lp = solve(cost, BERTH_LP_MEAN);
  CHECK_NEAR(berth_lp_get(lp)->rho, 0.75, 0);
  CHECK(berth_lp_get(lp)->ops == 3 && berth_lp_get(lp)->edges == 2); /* 1>3 is short */
  CHECK(berth_lp_get(lp)->entropic == 0 && berth_lp_get(lp)->interior > 0);
  RELEASE(cost);
  CHECK(lp_read(lp).m == 3); /* it holds what it needs */
  berth_lp_retain(lp);
  RELEASE(lp);
  CHECK(lp_read(lp).m == 3);
  RELEASE(lp);
  k = make_case(3, zero, "0>1:1 0>2:1");
  cost = lp_cost(&k);
  lp = solve(cost, BERTH_LP_MEAN);
  CHECK(isinf(berth_lp_get(lp)->rho));
  k = make_case(3, zero, "0>1:0 0>2:0");
  cost = lp_cost(&k);
  lp = solve(cost, BERTH_LP_MEAN);
  CHECK(berth_lp_get(lp)->rho == 0);
  RELEASE(lp, cost);
  berth_lp_release(NULL);
}

/* ---- pairs ---- */

/* On types "x" and "y": 0 takes 1 or 3, 1 only runs on x, 2 is pinned to the y device. 0 makes two
 * tensors, of 2 bytes for 2 and 1, and of 4 bytes for 1. x -> y takes 1 s/byte, y -> x 3 s/byte. */
static berth_cost *uneven(void) {
  static const char *const types[] = { "x", "y" };
  const double seconds[3][2] = { { 1, 3 }, { 5, BERTH_UNSUPPORTED }, { 2, 7 } };
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_OK(berth_graph_builder_types(b, 2, types));
  for (int i = 0; i < 3; i++) {
    berth_op op = berth_op_default();
    op.seconds = seconds[i];
    op.pin = i == 2 ? 1 : BERTH_NONE;
    must_add_op(b, &op);
  }
  must_text(b, "0>2,1:2 0>1:4");
  berth_graph *g = must_graph(b);
  berth_topology *t = must_topology_of_text("1:x 1:y 0>1:1 1>0:0.3333333333333333");
  berth_cost *cost = must_cost_new(g, t, NULL);
  RELEASE(g, t);
  return cost;
}

TEST("pairs: several tensors, unlike devices, pins, ops that cannot run everywhere") {
  berth_cost *cost = uneven();
  berth_lp *lp = solve(cost, BERTH_LP_MEAN);
  lp_answer a = lp_read(lp);
  CHECK(a.m == 2 && a.src[0] == 0 && a.dst[0] == 2 && a.src[1] == 0 && a.dst[1] == 1);
  CHECK_NEAR(a.c[0], 2 * 2, 1e-12);        /* mean of 1 and 3 s/byte */
  CHECK_NEAR(a.c[1], (2 + 4) * 2, 1e-12);
  /* ops take 2, 5 and 7: 2 + max(12 (1 - y) + 5, 4 y + 7) is least where y is 5/8 */
  CHECK_NEAR(berth_lp_get(lp)->upper, 2 + 7 + 4 * 5.0 / 8, 1e-6);
  CHECK_NEAR(a.y[1], 5.0 / 8, 1e-6);
  lp = solve(cost, BERTH_LP_LEAST);
  a = lp_read(lp);
  CHECK_NEAR(a.c[0], 2, 1e-12);            /* least of 2 and of the other child's 5 */
  CHECK_NEAR(a.c[1], 4, 1e-12);            /* largest of 2 and 4, least of that and of the other
                                              child's 7 */
  CHECK_NEAR(berth_lp_get(lp)->upper, 1 + 7 + 2 * 1.0 / 3, 1e-6); /* 4 (1 - y) + 5 = 2 y + 7 */
}

TEST("least times are capped by brothers and by other parents") {
  const double p[] = { 1, 2, 3, 1 };
  lp_case k = make_case(4, p, "0>1:100 0>2:100 1>3:100 2>3:100");
  berth_cost *cost = lp_cost(&k);
  berth_lp *lp = solve(cost, BERTH_LP_LEAST);
  lp_answer a = lp_read(lp);
  CHECK_NEAR(a.c[0], 3, 0); /* the other child's */
  CHECK_NEAR(a.c[1], 2, 0);
  CHECK_NEAR(a.c[2], 3, 0); /* the other parent's */
  CHECK_NEAR(a.c[3], 2, 0);
}

/* ---- favourites ---- */

TEST("favourites: by threshold, or as many as can be") {
  const double p[] = { 1, 1, 1, 9, 1 };
  lp_case k = make_case(5, p, "0>2:4 0>3:1 1>3:3 1>4:1");
  berth_cost *cost = lp_cost(&k);
  berth_lp *lp = solve(cost, BERTH_LP_MEAN);
  lp_answer a = lp_read(lp);
  /* 1 - y = 3 (1 - z) on the ways into 3, y + z = 1 */
  CHECK_NEAR(berth_lp_get(lp)->upper, 1 + 9 + 0.75, 1e-6);
  CHECK_NEAR(a.y[1], 0.25, 1e-6);
  CHECK_NEAR(a.y[2], 0.75, 1e-6);
  int32_t child[5];
  CHECK_OK(berth_lp_favourites(lp, 0.5, child));
  CHECK(child[1] == 3 && child[2] == BERTH_NONE && child[3] == BERTH_NONE
        && child[4] == BERTH_NONE);
  CHECK_OK(berth_lp_favourites(lp, 0, child));
  CHECK(child[1] == 3 && child[0] == 2);
  CHECK_OK(berth_lp_favourites(lp, 0.2, child));
  CHECK(child[1] == BERTH_NONE);
  CHECK_ERROR(berth_lp_favourites(lp, 1.01, child), BERTH_EINVAL,
              "favourites: tau: 1.01 is not in 0..1");
  CHECK_STATUS(berth_lp_favourites(lp, NAN, child), BERTH_EINVAL);
}

/* Paths through the edges are 14, 11, 13 and 5 long: 0>2 is taken first, then 1>3. */
TEST("favourites without a program: the longest paths first") {
  const double p[] = { 1, 1, 9, 1 };
  lp_case k = make_case(4, p, "0>2:4 0>3:9 1>2:3 1>3:3");
  berth_cost *cost = lp_cost(&k);
  int32_t child[4];
  CHECK_OK(berth_i_favourites_through(cost, child));
  CHECK(child[0] == 2 && child[1] == 3 && child[2] == BERTH_NONE && child[3] == BERTH_NONE);
  k = make_case(4, p, "0>2:4 1>2:4"); /* a tie: the lower one */
  cost = lp_cost(&k);
  CHECK_OK(berth_i_favourites_through(cost, child));
  CHECK(child[0] == 2 && child[1] == BERTH_NONE);
}

/* ---- refusals ---- */

TEST("bad options are refused with their values") {
  static const struct {
    berth_lp_options o;
    const char *message;
  } bad[] = {
    { { (berth_lp_times)7, BERTH_LP_AUTO, 0.01, 0 }, "option times is 7 (0 to 1)" },
    { { BERTH_LP_MEAN, (berth_lp_method)9, 0.01, 0 }, "option method is 9 (0 to 2)" },
    { { BERTH_LP_MEAN, BERTH_LP_AUTO, 0, 0 }, "option gap is 0 (a finite number from 1e-09)" },
    { { BERTH_LP_MEAN, BERTH_LP_AUTO, NAN, 0 }, NULL },
    { { BERTH_LP_MEAN, BERTH_LP_AUTO, INFINITY, 0 }, NULL },
    { { BERTH_LP_MEAN, BERTH_LP_AUTO, 0.01, -1 },
      "option iterations is -1 (a finite number from 0)" },
  };
  const double p[] = { 1, 2, 3 };
  lp_case k = make_case(3, p, "0>1:1 0>2:1");
  berth_cost *cost = lp_cost(&k);
  berth_lp *lp = NULL;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK_STATUS(berth_lp_solve(cost, &bad[i].o, &lp), BERTH_EINVAL);
    CHECK(lp == NULL);
    if (bad[i].message) CHECK_TEXT(berth_errmsg(ctx), bad[i].message);
  }
}

TEST("without a way between devices there are no mean times, but least ones") {
  berth_graph *g = must_graph_of_text("1 1 1 0>1:1 0>2:1");
  berth_topology *t = must_topology_of_text("1 1");
  berth_cost *cost = must_cost_new(g, t, NULL);
  for (int i = 0; i < 2; i++) {
    berth_lp *lp = solve(cost, i ? BERTH_LP_LEAST : BERTH_LP_MEAN); /* nothing crosses: all is 0 */
    CHECK_NEAR(berth_lp_get(lp)->lower, 2, 0);
  }
}

TEST("a consumer of a collective starts behind its members") {
  const int32_t members[] = { 0 }, consumers[] = { 1 };
  berth_collective all = { BERTH_ALLREDUCE, 8, 1, 1, members, 1, consumers };
  berth_graph_builder *b = must_graph_builder_new();
  must_text(b, "1 1");
  must_add_collective(b, &all);
  berth_graph *g = must_graph_builder_finish(b);
  berth_topology *t = must_mesh(2, INFINITY, 1, 0);
  berth_cost *cost = must_cost_new(g, t, NULL);
  berth_lp *lp = must_lp_solve(cost, NULL);
  CHECK_NEAR(berth_lp_get(lp)->upper, 2, 1e-2);
}

TEST("exp and log, which have the same bits everywhere") {
  for (double x = -699; x < 699; x += 0.137) CHECK_NEAR(berth_i_lp_exp(x) / exp(x), 1, 1e-13);
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    CHECK_NEAR(berth_i_lp_log(x), log(x), 1e-15 * (1 + fabs(log(x))));
  CHECK(berth_i_lp_exp(0) == 1 && berth_i_lp_log(1) == 0);
  CHECK(berth_i_lp_exp(-800) == 0 && berth_i_lp_exp(NAN) == 0
        && berth_i_lp_exp(800) == berth_i_lp_exp(700));
  CHECK(berth_i_lp_log(0) == -INFINITY && berth_i_lp_log(-1) == -INFINITY);
}

/* ---- behaviour ---- */

static void random_layers(lp_case *k, int32_t n, uint64_t seed) {
  berth_rng rng = seeded(seed, 0);
  lp_random(k, n, &rng);
}

TEST("iterations are limited, and the same input gives the same bytes") {
  static lp_case k;
  berth_lp_options o = { BERTH_LP_MEAN, BERTH_LP_ENTROPIC, 1e-9, 37 };
  random_layers(&k, 400, 3);
  berth_cost *cost = lp_cost(&k);
  for (int method = BERTH_LP_AUTO; method <= BERTH_LP_INTERIOR; method++) {
    o.method = (berth_lp_method)method;
    berth_lp *one = must_lp_solve(cost, &o);
    berth_lp *two = must_lp_solve(cost, &o);
    lp_answer a = lp_read(one);
    lp_answer b = lp_read(two);
    CHECK(memcmp(berth_lp_get(one), berth_lp_get(two), sizeof(berth_lp_summary)) == 0);
    CHECK(memcmp(a.y, b.y, (size_t)a.m * sizeof *a.y) == 0
          && memcmp(a.flow, b.flow, (size_t)a.m * sizeof *a.y) == 0);
    CHECK(berth_lp_get(one)->entropic <= 37 && berth_lp_get(one)->interior <= 37);
    if (method == BERTH_LP_ENTROPIC)
      CHECK(berth_lp_get(one)->entropic == 37 && !berth_lp_get(one)->reached);
    RELEASE(one, two);
  }
}

static int after_some(void *ud) { return --*(int *)ud < 0; }
static void count_progress(void *ud, const char *what, double done) {
  (void)ud;
  CHECK_TEXT(what, "favourites");
  CHECK(done >= 0 && done <= 1);
}

TEST("it stops when asked to, at any time") {
  static lp_case k;
  int left = 1 << 20;
  berth_hooks h = { NULL, NULL, NULL, after_some, count_progress, &left };
  berth_lp_options o = { BERTH_LP_MEAN, BERTH_LP_ENTROPIC, 1e-4, 0 };
  random_layers(&k, 300, 5);
  hooked(&h);
  berth_cost *cost = lp_cost(&k);
  left = 1 << 20;
  berth_lp *lp = must_lp_solve(cost, &o);
  RELEASE(lp);
  int asked = (1 << 20) - left;
  CHECK(asked > 4);
  for (left = 0; asked > 0; left = asked) {
    asked /= 2;
    left = asked;
    lp = NULL;
    CHECK_STATUS(berth_lp_solve(cost, &o, &lp), BERTH_EINTERRUPT);
    CHECK(lp == NULL);
  }
  hooked(NULL);
}

static berth_status solve_all(void) {
  berth_cost *cost = NULL;
  berth_lp *lp = NULL, *least = NULL;
  berth_lp_options o = { BERTH_LP_MEAN, BERTH_LP_ENTROPIC, 0.01, 0 };
  int32_t child[9];
  berth_status st = cost_of_text("6 7 9 8 10 6 6 10 6 0>2:1 0>3:5 0>4:2 1>2:1 1>3:1 1>4:1 2>5:5 "
                                 "2>6:3 3>5:4 3>6:1 3>7:5 4>8:1",
                                 2, INFINITY, 1, &cost);
  TRY(st, berth_lp_solve(cost, &o, &lp));
  TRY(st, berth_lp_favourites(lp, 0, child));
  o.times = BERTH_LP_LEAST;
  o.method = BERTH_LP_AUTO;
  TRY(st, berth_lp_solve(cost, &o, &least));
  TRY(st, berth_i_favourites_through(cost, child));
  RELEASE(least, lp, cost);
  return st;
}

TEST_REFUSALS(solve_all)
