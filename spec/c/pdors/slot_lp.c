/* The linear program of one slot, against GLPK machine by machine. */
#include "pdors_slot_help.h"

/* The answer, machine by machine: feasible, and of that cost. */
static void check_shares(const slot_case *c, const berth_i_slot_lp *p, double workers,
                         double servers) {
  double w[MOST_MACHINES] = { 0 }, s[MOST_MACHINES] = { 0 }, all_w = 0, all_s = 0, cost = 0;
  for (int32_t i = 0; i < p->shares; i++) {
    int32_t h = p->share[i].machine;
    CHECK(w[h] + s[h] == 0);
    w[h] = p->share[i].workers;
    s[h] = p->share[i].servers;
    CHECK(w[h] >= 0 && s[h] >= 0 && fits(c, h, w[h] - 1e-7, s[h] - 1e-7));
    all_w += w[h];
    all_s += s[h];
    cost += w[h] * unit_price(c, h, 0) + s[h] * unit_price(c, h, 1);
  }
  CHECK(all_w >= workers - 1e-6 && all_s >= servers - 1e-6);
  CHECK_NEAR(cost, p->bound, 1e-7 * p->bound);
}

static void check_program(slot_case *c, int32_t workers, int32_t servers, int32_t *feasible) {
  berth_i_slot_want want = { { workers, servers } };
  double x[2 * MOST_MACHINES], value = by_glpk(c, workers, servers, 0, x);
  c->s->whole = c->s->drawn = false;
  CHECK_OK(berth_i_slot_relax(c->s, c->s->region, want));
  if (isinf(value)) {
    CHECK(isinf(c->s->lp.bound));
    return;
  }
  ++*feasible;
  CHECK(c->s->lp.solved);
  CHECK_NEAR(c->s->lp.bound, value, 1e-7 * value);
  check_shares(c, &c->s->lp, workers, servers);
  c->s->whole = true;
  c->s->drawn = false;
  CHECK_OK(berth_i_slot_relax(c->s, c->s->region, want));
  CHECK(c->s->lp.bound >= value * (1 - 1e-7));
  if (!isinf(c->s->lp.bound)) check_shares(c, &c->s->lp, workers, servers);
}

static void check_random(uint64_t seed, int32_t machines, double size, int32_t kinds,
                         double price) {
  berth_pdors_options o = berth_pdors_default();
  int32_t feasible = 0;
  berth_rng rng = seeded(seed, 0);
  slot_case c;
  for (int32_t i = 0; i < 40; i++) {
    draw_case(&c, &rng, machines, 60, size, kinds);
    for (int32_t k = 0; k < CELLS; k++) c.price[k] = price > 0 ? price : c.price[k];
    begin_case(&c, &o, 0);
    for (int32_t k = 1; k <= 60; k += 7 + berth_rng_below(&rng, 9))
      check_program(&c, k, servers_for(&c, k), &feasible);
    close_case(&c);
  }
  CHECK(feasible > 20);
}

/* Prices as they are near full machines, far too far apart for GLPK: the answer is feasible and
 * costs what its duals prove. */
static void check_spread(double deviation) {
  berth_pdors_options o = berth_pdors_default();
  int32_t solved = 0;
  berth_rng rng = seeded(37, 0);
  slot_case c;
  for (int32_t i = 0; i < 200; i++) {
    draw_case(&c, &rng, 40, 100, 20, 40);
    for (int32_t k = 0; k < CELLS; k++) c.price[k] = exp(deviation * berth_rng_normal(&rng));
    begin_case(&c, &o, 0);
    c.s->whole = i % 2 == 0;
    for (int32_t k = 1; k <= 100; k += 9) {
      berth_i_slot_want want = { { k, servers_for(&c, k) } };
      CHECK_OK(berth_i_slot_relax(c.s, c.s->region, want));
      if (isinf(c.s->lp.bound)) continue;
      CHECK(c.s->lp.solved);
      check_shares(&c, &c.s->lp, want.units[0], want.units[1]);
      solved++;
    }
    close_case(&c);
  }
  CHECK(solved > 1000);
}

/* The same program after others: the same answer. */
TEST("an answer does not depend on what was asked before") {
  berth_pdors_options o = berth_pdors_default();
  int32_t n = 0;
  berth_rng rng = seeded(5, 0);
  slot_case c;
  draw_case(&c, &rng, 20, 60, 10, 7);
  begin_case(&c, &o, 0);
  berth_i_slot_share first[CELLS];
  for (int32_t i = 0; i < 2; i++) {
    for (int32_t k = 60; k > 12 && i == 1; k -= 5)
      CHECK_OK(berth_i_slot_relax(c.s, c.s->region, (berth_i_slot_want){ { k, 9 } }));
    CHECK_OK(berth_i_slot_relax(c.s, c.s->region, (berth_i_slot_want){ { 12, 4 } }));
    if (i == 0) memcpy(first, c.s->lp.share, (size_t)(n = c.s->lp.shares) * sizeof *first);
  }
  CHECK(n > 0 && n == c.s->lp.shares
        && memcmp(first, c.s->lp.share, (size_t)n * sizeof *first) == 0);
  close_case(&c);
}

TEST("different machines: GLPK's value") { check_random(1, 20, 8, 40, 0); }
TEST("classes of machines that are alike") { check_random(2, 30, 8, 3, 0); }
TEST("small machines, many of them full") { check_random(3, 40, 2.5, 11, 0); }
TEST("equal prices everywhere") { check_random(4, 20, 6, 40, 1); }
TEST("prices over many orders of magnitude") { check_spread(3); }
TEST("prices over too many") { check_spread(12); }
