/* Answers of the one-slot solver: checked machine by machine, against all placements where there
 * are few, and against its own bounds. */
#include "pdors_slot_help.h"

/* ---- what every answer must be ---- */

static void check_answer(const slot_case *c, double samples, const berth_i_slot_answer *a) {
  double workers = 0, servers = 0, cost = 0;
  CHECK(a->feasible == (a->cost < INFINITY) && a->bound <= a->cost && a->bound >= 0);
  if (!a->feasible) return;
  for (int32_t i = 0; i < a->n; i++) {
    const berth_ps_place *p = &a->place[i];
    CHECK(p->workers >= 0 && p->servers >= 0 && p->workers + p->servers > 0);
    CHECK(i == 0 || p->machine > a->place[i - 1].machine);
    CHECK(fits(c, p->machine, p->workers, p->servers));
    workers += p->workers;
    servers += p->servers;
    if (p->workers > 0) cost += p->workers * unit_price(c, p->machine, 0);
    if (p->servers > 0) cost += p->servers * unit_price(c, p->machine, 1);
  }
  CHECK(workers <= c->job.batch && servers >= servers_for(c, workers));
  CHECK(a->inside == (a->n == 1));
  CHECK_NEAR(a->cost, cost, 1e-9 * cost);
  CHECK(berth_ps_speed(c->p, 0, a->n, a->place) >= samples * (1 - 1e-9));
}

static double outside_slots(const slot_case *c) {
  return berth_ps_worker_slots(&c->job, c->job.across);
}
static double inside_slots(const slot_case *c) {
  return berth_ps_worker_slots(&c->job, c->job.inside);
}
/* So much that so many workers on several machines do. */
static double work_of(const slot_case *c, double workers) { return workers / outside_slots(c); }

static double on_one_machine(const slot_case *c, double samples) {
  int32_t workers = workers_for(samples, inside_slots(c)), servers = servers_for(c, workers);
  double best = INFINITY;
  for (int32_t h = 0; h < c->machines && workers <= c->job.batch; h++)
    if (fits(c, h, workers, servers))
      best = fmin(best, workers * unit_price(c, h, 0) + servers * unit_price(c, h, 1));
  return best;
}

/* ---- exact ---- */

/* Least cost of the rest from machine h on. */
static double brute(const slot_case *c, int32_t h, int32_t workers, int32_t servers) {
  double best = INFINITY;
  if (workers == 0 && servers == 0) return 0;
  if (h == c->machines) return INFINITY;
  for (int32_t w = 0; w <= workers; w++)
    for (int32_t s = 0; s <= servers; s++)
      if (fits(c, h, w, s))
        best = fmin(best, w * unit_price(c, h, 0) + s * unit_price(c, h, 1)
                              + brute(c, h + 1, workers - w, servers - s));
  return best;
}

static void check_exact(uint64_t seed, int32_t machines, int32_t batch, double size, int32_t kinds,
                        int by_mip) {
  berth_pdors_options o = berth_pdors_default();
  int32_t several = 0, none = 0;
  o.mode = BERTH_PDORS_EXACT;
  o.nodes = 10000000;
  berth_rng rng = seeded(seed, 0);
  slot_case c;
  berth_ps_place place[MOST_MACHINES];
  double x[2 * MOST_MACHINES];
  for (int32_t i = 0; i < 60; i++) {
    draw_case(&c, &rng, machines, batch, size, kinds);
    begin_case(&c, &o, 0);
    for (int32_t k = 1; k <= batch; k += by_mip ? 5 : 1) {
      berth_i_slot_answer a = { .place = place };
      double samples = work_of(&c, k), best = on_one_machine(&c, samples);
      best = fmin(best, by_mip ? by_glpk(&c, k, servers_for(&c, k), 1, x)
                               : brute(&c, 0, k, servers_for(&c, k)));
      CHECK_OK(berth_i_slot_solve(c.s, samples, 1, &a));
      check_answer(&c, samples, &a);
      CHECK_NEAR(a.cost, best, 1e-7 * best);
      several += a.n > 1;
      none += !a.feasible;
    }
    CHECK(berth_i_slot_counts(c.s)->unproved == 0);
    close_case(&c);
  }
  CHECK(several > 20 && (by_mip || none > 0));
}

/* ---- repaired ---- */

static int greedy_can(slot_case *c, int32_t workers) {
  berth_i_slot_want want = { { workers, servers_for(c, workers) } };
  int32_t can = 0;
  for (int32_t first = 0; first < 2; first++) {
    berth_i_slot_draft_clear(c->s);
    can |= berth_i_slot_repair(c->s, c->s->region, want, first);
  }
  return can;
}

typedef struct gaps {
  double published, best; /* most of the published program's value, of the best answer */
  int32_t n;
} gaps;

static void check_amount(slot_case *c, int32_t k, gaps *g) {
  berth_ps_place place[MOST_MACHINES], best_place[MOST_MACHINES];
  berth_i_slot_answer a = { .place = place }, best = { .place = best_place };
  double samples = work_of(c, k);
  CHECK_OK(berth_i_slot_solve(c->s, samples, (uint64_t)k, &a));
  check_answer(c, samples, &a);
  CHECK(a.feasible || !greedy_can(c, k));
  c->s->o.mode = BERTH_PDORS_EXACT;
  CHECK_OK(berth_i_slot_solve(c->s, samples, (uint64_t)k, &best));
  c->s->o.mode = BERTH_PDORS_REPAIRED;
  CHECK(best.cost <= a.cost && a.bound <= best.cost);
  if (!a.feasible || a.inside) return;
  g->best = fmax(g->best, a.cost / best.cost);
  double x[2 * MOST_MACHINES];
  g->published = fmax(g->published, a.cost / by_glpk(c, k, servers_for(c, k), 0, x));
  g->n++;
}

static void check_repaired(uint64_t seed, int32_t machines, double size, int32_t kinds,
                           gaps limit) {
  berth_pdors_options o = berth_pdors_default();
  gaps g = { 1, 1, 0 };
  o.nodes = 10000000;
  berth_rng rng = seeded(seed, 0);
  slot_case c;
  for (int32_t i = 0; i < 40; i++) {
    draw_case(&c, &rng, machines, 40, size, kinds);
    begin_case(&c, &o, 0);
    for (int32_t k = 1; k <= 40; k += 3) check_amount(&c, k, &g);
    CHECK(berth_i_slot_counts(c.s)->unproved == 0);
    close_case(&c);
  }
  printf("# %d answers, at most %.4f of the published program's value, %.4f of the best\n",
         (int)g.n, g.published, g.best);
  CHECK(g.n >= limit.n && g.published <= limit.published && g.best <= limit.best);
}

/* ---- faithful ---- */

TEST("faithful: what it finds is valid, and it counts what it does not") {
  berth_pdors_options o = berth_pdors_default();
  int32_t found = 0, several = 0;
  int64_t never = 0;
  o.mode = BERTH_PDORS_FAITHFUL;
  o.gdelta = BERTH_GDELTA_GIVEN;
  o.factor = 1;
  o.tries = 400;
  berth_rng rng = seeded(11, 0);
  slot_case c;
  berth_ps_place place[MOST_MACHINES];
  for (int32_t i = 0; i < 40; i++) {
    draw_case(&c, &rng, 20, 30, 12, 20);
    begin_case(&c, &o, 0);
    for (int32_t k = 1; k <= 30; k += 4) {
      berth_i_slot_answer a = { .place = place };
      double samples = work_of(&c, k);
      CHECK_OK(berth_i_slot_solve(c.s, samples, (uint64_t)k, &a));
      check_answer(&c, samples, &a);
      found += a.feasible;
      several += a.n > 1;
    }
    never += berth_i_slot_counts(c.s)->never_feasible;
    close_case(&c);
  }
  CHECK(found > 0 && several > 0 && never > 0);
}

/* ---- racks, ties, streams ---- */

TEST("racks are a third case") {
  berth_pdors_options o = berth_pdors_default();
  int32_t in_rack = 0, apart = 0;
  o.mode = BERTH_PDORS_EXACT;
  berth_rng rng = seeded(13, 0);
  slot_case c;
  berth_ps_place place[MOST_MACHINES];
  int32_t h;
  for (int32_t i = 0; i < 40; i++) {
    draw_case(&c, &rng, 9, 12, 3, 9);
    c.job.tau = 1e-6; /* the links decide */
    c.job.rack = 4e3;
    for (h = 0; h < c.machines; h++) c.rack[h] = h * 7 % 3;
    begin_case(&c, &o, 1);
    for (int32_t k = 1; k <= 12; k++) {
      berth_i_slot_answer a = { .place = place };
      double samples = work_of(&c, k), best = on_one_machine(&c, samples);
      slot_case part = c;
      int32_t w = workers_for(samples, berth_ps_worker_slots(&c.job, c.job.rack));
      best = fmin(best, brute(&c, 0, k, servers_for(&c, k)));
      int32_t r;
      for (r = 0; r < 3; r++) {
        for (h = 0; h < c.machines * RESOURCES; h++)
          part.left[h] = c.rack[h / RESOURCES] == r ? c.left[h] : 0;
        best = fmin(best, brute(&part, 0, w, servers_for(&c, w)));
      }
      CHECK_OK(berth_i_slot_solve(c.s, samples, 1, &a));
      check_answer(&c, samples, &a);
      CHECK_NEAR(a.cost, best, 1e-7 * best);
      for (h = 1, r = 0; h < a.n; h++)
        r |= c.rack[a.place[h].machine] != c.rack[a.place[0].machine];
      in_rack += a.n > 1 && !r;
      apart += r;
    }
    close_case(&c);
  }
  CHECK(in_rack > 10 && apart > 0);
}

/* Equal prices: the first machine that has room, and one machine rather than two. */
TEST("ties: one machine, the lowest") {
  berth_pdors_options o = berth_pdors_default();
  berth_ps_place place[MOST_MACHINES];
  berth_i_slot_answer a = { .place = place };
  berth_rng rng = seeded(17, 0);
  slot_case c;
  draw_case(&c, &rng, 6, 12, 10, 1);
  c.job.ratio = 3;
  c.job.across = c.job.inside; /* several machines are as good */
  for (int32_t i = 0; i < 6 * RESOURCES; i++) {
    c.price[i] = 1;
    c.left[i] = i / RESOURCES == 0 ? 0 : 20;
  }
  for (int32_t i = 0; i < RESOURCES; i++) c.job.worker[i] = c.job.server[i] = 1;
  begin_case(&c, &o, 0);
  CHECK_OK(berth_i_slot_solve(c.s, work_of(&c, 12), 1, &a));
  CHECK(a.inside && a.n == 1 && a.place[0].machine == 1 && a.place[0].workers == 12
        && a.place[0].servers == 4);
  CHECK_NEAR(a.bound, a.cost, 0);
  /* 16 units: the first four of those that have room */
  for (int32_t i = RESOURCES; i < 6 * RESOURCES; i++) c.left[i] = 4;
  CHECK_OK(berth_i_slot_begin(c.s, 0, &c.state));
  CHECK_OK(berth_i_slot_solve(c.s, work_of(&c, 12), 1, &a));
  CHECK(a.n == 4 && a.place[0].machine == 1 && a.place[3].machine == 4);
  CHECK_OK(berth_i_slot_solve(c.s, work_of(&c, 12.5), 1, &a));
  CHECK(!a.feasible && a.n == 0 && isinf(a.cost) && isinf(a.bound)); /* above the batch */
  close_case(&c);
}

static int same(const berth_i_slot_answer *a, const berth_i_slot_answer *b) {
  return a->cost == b->cost && a->bound == b->bound && a->n == b->n
         && (a->n == 0 || memcmp(a->place, b->place, (size_t)a->n * sizeof *a->place) == 0);
}

/* The same stream, the same answer, also after others and in another state. */
static void check_streams(berth_pdors_mode mode) {
  berth_pdors_options o = berth_pdors_default();
  o.mode = mode;
  berth_rng rng = seeded(19, 0);
  slot_case c, other;
  berth_ps_place place[2][MOST_MACHINES];
  for (int32_t i = 0; i < 20; i++) {
    berth_i_slot_answer a = { .place = place[0] }, b = { .place = place[1] };
    draw_case(&c, &rng, 20, 40, 9, 20);
    other = c;
    draw_state(&other, &rng, 5, 3);
    begin_case(&c, &o, 0);
    CHECK_OK(berth_i_slot_solve(c.s, work_of(&c, 17), 4, &a));
    other.state = (berth_i_slot_state){ other.price, other.left };
    CHECK_OK(berth_i_slot_begin(c.s, 0, &other.state));
    CHECK_OK(berth_i_slot_solve(c.s, work_of(&c, 9), 4, &b));
    CHECK_OK(berth_i_slot_begin(c.s, 0, &c.state));
    for (int32_t k = 40; k > 17; k -= 4)
      CHECK_OK(berth_i_slot_solve(c.s, work_of(&c, k), (uint64_t)k, &b));
    CHECK_OK(berth_i_slot_solve(c.s, work_of(&c, 17), 4, &b));
    CHECK(same(&a, &b));
    close_case(&c);
  }
}

/* What is not to be had at any price. */
TEST("infinite prices") {
  berth_pdors_options o = berth_pdors_default();
  berth_ps_place place[MOST_MACHINES];
  berth_i_slot_answer a = { .place = place };
  berth_rng rng = seeded(23, 0);
  slot_case c;
  for (int32_t i = 0; i < 30; i++) {
    draw_case(&c, &rng, 12, 12, 8, 12);
    c.job.worker[0] = 1; /* servers take none of it */
    for (int32_t h = 0; h < 12; h++)
      if (h % 2) c.price[h * RESOURCES] = INFINITY;
    begin_case(&c, &o, 0);
    CHECK_OK(berth_i_slot_solve(c.s, work_of(&c, 10), 1, &a));
    check_answer(&c, work_of(&c, 10), &a);
    for (int32_t h = 0; h < a.n; h++) CHECK(a.place[h].workers == 0 || a.place[h].machine % 2 == 0);
    close_case(&c);
  }
}

/* Workers, or servers, that take nothing; a batch of one; a cluster of one machine. */
static void check_extremes(berth_pdors_mode mode) {
  berth_pdors_options o = berth_pdors_default();
  o.mode = mode;
  o.nodes = 10000000;
  o.tries = 200;
  berth_rng rng = seeded(41, 0);
  slot_case c;
  berth_ps_place place[MOST_MACHINES];
  for (int32_t i = 0; i < 60; i++) {
    draw_case(&c, &rng, 1 + i % 4, i % 3 == 0 ? 1 : 5, 5, 4);
    for (int32_t r = 0; r < RESOURCES; r++) {
      if (i % 5 < 2) c.job.worker[r] = 0;
      if (i % 5 > 0 && i % 5 < 4) c.job.server[r] = 0;
    }
    begin_case(&c, &o, 0);
    for (int32_t k = 1; k <= c.job.batch + 1; k++) {
      berth_i_slot_answer a = { .place = place };
      double samples = work_of(&c, k), best = on_one_machine(&c, samples);
      if (k <= c.job.batch) best = fmin(best, brute(&c, 0, k, servers_for(&c, k)));
      CHECK_OK(berth_i_slot_solve(c.s, samples, 1, &a));
      check_answer(&c, samples, &a);
      if (mode != BERTH_PDORS_FAITHFUL) CHECK_NEAR(a.cost, best, 1e-7 * best);
    }
    close_case(&c);
  }
}

/* A batch of billions: as many workers as there is room for, at once. */
static void check_vast(berth_pdors_mode mode) {
  berth_pdors_options o = berth_pdors_default();
  berth_ps_place place[MOST_MACHINES];
  berth_i_slot_answer a = { .place = place };
  o.mode = mode;
  o.favour = BERTH_PDORS_COVERING;
  berth_rng rng = seeded(43, 0);
  slot_case c;
  for (int32_t i = 0; i < 10; i++) {
    draw_case(&c, &rng, 20, INT32_MAX, 10, 20);
    for (int32_t r = 0; r < RESOURCES; r++) {
      c.job.worker[r] = r == 0 ? 0 : c.job.worker[r] * 1e-8;
      c.job.server[r] *= 1e-8;
    }
    begin_case(&c, &o, 0);
    for (double amount = 1; amount <= INT32_MAX; amount = amount * 7 + 1) {
      CHECK_OK(berth_i_slot_solve(c.s, work_of(&c, amount), 1, &a));
      check_answer(&c, work_of(&c, amount), &a);
      CHECK(a.feasible || amount > 1e8);
    }
    close_case(&c);
  }
}

TEST("exact: the best of all placements on tiny clusters") { check_exact(1, 3, 6, 6, 3, 0); }
TEST("exact: machines that are alike") { check_exact(2, 4, 6, 5, 2, 0); }
TEST("exact: GLPK's branch and bound on larger ones") { check_exact(3, 12, 30, 6, 12, 1); }

TEST("repaired: feasible when greedy is, within 1.25 of the published program where machines "
     "have room for several") {
  check_repaired(4, 20, 24, 20, (gaps){ 1.25, 1.03, 100 });
}

TEST("repaired: small machines, where that program says little") {
  check_repaired(5, 20, 8, 20, (gaps){ 4, 1.03, 100 });
}
TEST("repaired: machines that are alike") { check_repaired(6, 40, 6, 5, (gaps){ 4, 1.03, 100 }); }
TEST("one stream, one answer: repaired") { check_streams(BERTH_PDORS_REPAIRED); }
TEST("one stream, one answer: faithful") { check_streams(BERTH_PDORS_FAITHFUL); }
TEST("extremes: exact") { check_extremes(BERTH_PDORS_EXACT); }
TEST("extremes: faithful") { check_extremes(BERTH_PDORS_FAITHFUL); }
TEST("billions of workers: repaired") { check_vast(BERTH_PDORS_REPAIRED); }
TEST("billions of workers: exact") { check_vast(BERTH_PDORS_EXACT); }
TEST("billions of workers: faithful") { check_vast(BERTH_PDORS_FAITHFUL); }
