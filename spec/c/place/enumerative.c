/* The enumerative optimizer: meta-ops, the assignment problem beside enumeration, and worked
 * placements. */
#include "place/placers/assignment_internal.h"
#include "place_help.h"
#include "refusals.h"

/* ---- assignment ---- */

static berth_i_price sum_of(int32_t rows, int32_t columns, const berth_i_price *price,
                            const int32_t *column) {
  berth_i_price sum = { 0, 0, 0 };
  bool taken[BERTH_I_MOST_PERMUTED] = { false };
  for (int32_t i = 0; i < rows; i++) {
    if (!CHECK(column[i] >= 0 && column[i] < columns && !taken[column[i]])) return sum;
    taken[column[i]] = true;
    const berth_i_price *p = &price[i * columns + column[i]];
    sum.refused += p->refused, sum.cost += p->cost, sum.tie += p->tie;
  }
  return sum;
}

/* Few values, so that ties and equal columns are common; integers, so that sums are exact. */
static void random_prices(berth_rng *rng, int32_t n, berth_i_price *price) {
  int32_t values = 1 + berth_rng_below(rng, 9);
  for (int32_t i = 0; i < n; i++) {
    price[i].refused = berth_rng_below(rng, 4) == 0;
    price[i].cost = price[i].refused > 0 ? 0 : berth_rng_below(rng, values);
    price[i].tie = berth_rng_below(rng, values);
  }
}

TEST("assignment: as few refusals, as little cost and as low ties as by trying all") {
  berth_rng rng = seeded(5, 0);
  berth_i_price price[BERTH_I_MOST_PERMUTED * BERTH_I_MOST_PERMUTED];
  int32_t fast[BERTH_I_MOST_PERMUTED], slow[BERTH_I_MOST_PERMUTED];
  for (int i = 0; i < 3000; i++) {
    int32_t columns = 1 + berth_rng_below(&rng, i % 30 ? 6 : 8),
            rows = 1 + berth_rng_below(&rng, columns);
    random_prices(&rng, rows * columns, price);
    CHECK_OK(berth_i_assignment(ctx, rows, columns, price, fast));
    berth_i_assignment_enumerate(rows, columns, price, slow);
    if (!CHECK(berth_i_price_compare(sum_of(rows, columns, price, fast),
                                     sum_of(rows, columns, price, slow))
               == 0))
      return;
  }
  CASE("assignment: the first choice of each is not the best of all");
  {
    /* 2 + 1 < 1 + 9 */
    const berth_i_price two[] = { { 0, 1, 0 }, { 0, 2, 0 }, { 0, 1, 0 }, { 0, 9, 0 } };
    CHECK_OK(berth_i_assignment(ctx, 2, 2, two, fast));
    CHECK(fast[0] == 1 && fast[1] == 0);
  }
  CHECK_OK(berth_i_assignment(ctx, 0, 3, NULL, fast));
}

/* ---- meta-ops ---- */

TEST("meta-ops: runs of equal time, depth and number of inputs") {
  int32_t n = 0;
  double comp[MOST_OPS] = { 1, 1, 1, 1, 2, 2.01, 1, 1 };
  static const int32_t equal[] = { 0, 0, 1, 1, 2, 3, 4, 5 }, near[] = { 0, 0, 1, 1, 2, 2, 3, 4 };
  problem p;
  /* 0 1 sources; 2 3 read one each; 4 5 read both; 6 reads 4, 7 reads 4 and 5 */
  problem_clear(&p, 8, 1);
  problem_edges(&p, "0>2:1 1>3:1 2>4:1"),
      problem_edges(&p, "3>4:1 2>5:1 3>5:1 4>6:1"),
      problem_edges(&p, "4>7:1 5>7:1");
  berth_graph *g = problem_graph(&p);
  int32_t set[MOST_OPS];
  CHECK_OK(berth_meta_ops(g, comp, 0, set, &n));
  CHECK(n == 6 && memcmp(set, equal, sizeof equal) == 0);
  CHECK_OK(berth_meta_ops(g, comp, 0.01, set, &n));
  CHECK(n == 5 && memcmp(set, near, sizeof near) == 0);
  comp[0] = comp[1] = INFINITY;
  CHECK_OK(berth_meta_ops(g, comp, 0.01, set, NULL));
  CHECK(memcmp(set, near, sizeof near) == 0);
  CHECK_ERROR(berth_meta_ops(g, comp, 1, set, NULL), BERTH_EINVAL,
              "meta-ops: tolerance 1 is not in 0..1");
  comp[3] = NAN;
  CHECK_SAYS(berth_meta_ops(g, comp, 0, set, NULL), BERTH_EINVAL, "op 3");
}

/* ---- placements ---- */

static void expect(const problem *p, const char *variant, const char *digits) {
  made m = problem_make(p);
  berth_place_options o = berth_place_default(NULL);
  berth_placement *r = NULL;
  o.variant = variant;
  if (CHECK_OK(berth_place(m.c, "enumerative", &o, &r, NULL))) {
    char found[MOST_OPS + 1] = "";
    for (int32_t i = 0; i < p->ops; i++) found[i] = (char)('0' + berth_placement_device(r)[i]);
    CHECK_TEXT(found, digits);
    CHECK_TEXT(berth_placement_placer(r), "enumerative");
  }
  RELEASE(r);
}

/* Two operators of two blocks, crossed: 0 feeds 3 and 1 feeds 2. Then their sum. */
static void crossed(problem *p) {
  problem_clear(p, 5, 2);
  p->bandwidth = 1;
  problem_edges(p, "0>3:4 1>2:4 2>4:1"),
      problem_edges(p, "3>4:2");
}

TEST("blocks go to different devices, each to its inputs") {
  problem p;
  crossed(&p);
  expect(&p, "", "01100"); /* 3 on 0, 2 on 1: nothing crosses; the sum to 3, which sends more */
  expect(&p, "enumerate", "01100");
  CASE("a block less free to move goes first where it must");
  p.pin[3] = 1;
  expect(&p, "", "01011"); /* 3 is pinned to 1, so 2 goes to 0 */
  CASE("a group is one block, wherever its members are");
  crossed(&p);
  p.group[0] = p.group[2] = 0;
  expect(&p, "", "01011"); /* 2 with 0: 3 is left for device 1; the sum: 2 s from 3, 1 s from 2 */
  CASE("more blocks than devices: in rounds");
  problem_clear(&p, 6, 2);
  expect(&p, "", "010101");
  CASE("a slow device counts like a transfer");
  problem_clear(&p, 1, 2);
  p.time[0][0] = 3;
  expect(&p, "", "1");
  CASE("memory comes before an even spread");
  problem_clear(&p, 4, 2);
  for (int32_t i = 0; i < 4; i++) p.param[i] = 1;
  p.memory[0] = 1;
  expect(&p, "", "0111");
}

TEST("blocks: partial products that are dear to move are made where their sum is") {
  problem p = clear_problem(6, 2);
  p.bandwidth = 1;
  problem_edges(&p, "0>4:9 1>4:9 2>5:9"),
      problem_edges(&p, "3>5:9");
  expect(&p, "blocks", "001101");
  CASE("blocks: cheap ones are distributed"); /* 2 + 1 on one device is worse than 1 + 0.1 + 1 */
  problem_clear(&p, 3, 2);
  p.bandwidth = 10;
  problem_edges(&p, "0>2:1 1>2:1");
  expect(&p, "blocks", "010");
  CASE("blocks: an op that reads from another twice is no sum of it");
  problem_clear(&p, 3, 2);
  p.bandwidth = 10;
  problem_edges(&p, "0>2:1 0>2:1 1>2:1");
  expect(&p, "blocks", "010");
  CASE("greedy: where the largest load grows least");
  problem_clear(&p, 3, 2);
  p.bandwidth = 10;
  problem_edges(&p, "0>2:1 1>2:1");
  expect(&p, "greedy", "010");
  problem_clear(&p, 2, 2);
  p.bandwidth = 1;
  problem_edges(&p, "0>1:9");
  expect(&p, "greedy", "00");
}

/* Every variant keeps what the plain form keeps: an answer wherever round-robin has one. */
TEST("an answer wherever another placer has one, the same each time") {
  static const char *const variants[] = { "", "enumerate", "blocks", "greedy" };
  int answers = 0;
  berth_rng rng = seeded(9, 0);
  for (int i = 0; i < 400; i++) {
    problem p;
    berth_place_options o = berth_place_default(NULL);
    berth_placement *other = NULL;
    random_problem(&p, &rng);
    for (int32_t e = 0; e < p.edges; e++) p.bytes[e] = berth_rng_below(&rng, 3);
    if (p.edges > 0 && i % 2) problem_edge(&p, p.src[0], p.dst[0], 1);
    p.bandwidth = 1;
    made m = problem_make(&p);
    berth_status st = berth_place(m.c, "round-robin", &o, &other, NULL);
    for (int v = 0; v < 4; v++) {
      berth_placement *a = NULL, *b = NULL;
      o.variant = variants[v];
      if (st == BERTH_OK) CHECK_OK(berth_place(m.c, "enumerative", &o, &a, NULL));
      if (!a) continue;
      answers++;
      b = must_place(m.c, "enumerative", &o);
      CHECK(memcmp(berth_placement_device(a), berth_placement_device(b),
                   (size_t)p.ops * sizeof(int32_t))
            == 0);
      for (int32_t k = 0; k < p.ops; k++) {
        int32_t d = berth_placement_device(a)[k];
        CHECK(!isinf(p.time[k][d]) && (p.pin[k] == BERTH_NONE || p.pin[k] == d));
      }
      RELEASE(a, b);
    }
    RELEASE(other, m.c, m.g, m.t);
  }
  CHECK(answers > 800);
}

/* ---- allocation failure ---- */

static berth_status place_crossed(const void *variant) {
  let_pass();
  problem p;
  crossed(&p);
  made m = problem_make(&p);
  berth_place_options o = berth_place_default(NULL);
  berth_placement *r = NULL;
  o.variant = variant;
  refuse_from_here();
  berth_status st = berth_place(m.c, "enumerative", &o, &r, NULL);
  RELEASE(r);
  return st;
}

TEST("enumerative: allocation failure at every allocation, no leak") {
  refuse_each(place_crossed, "", 1, 0);
  refuse_each(place_crossed, "blocks", 1, 0);
  refuse_each(place_crossed, "greedy", 1, 0);
}
