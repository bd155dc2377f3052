/* Bounds with transfers: by hand, and against the best of all schedules of small random
 * problems. */
#include "place/place_search.h"

/* ---- bounds by hand ---- */

TEST("a join waits for the transfers of those that its device cannot run in time") {
  problem p;
  join_of(&p, 6, 4, 3); /* 4 on its device are done at 4, when the tensors of the other two are
                           there */
  berth_bounds b = thorough(&p);
  CHECK_NEAR(b.critical_path, 2, 1e-12);
  CHECK_NEAR(b.transfers, 5, 1e-12);
  CHECK_TEXT(b.name, "transfers");

  CASE("so does a fork, backwards");
  problem_clear(&p, 7, 4);
  p.bandwidth = 1;
  for (int32_t i = 1; i < 7; i++) problem_edge(&p, 0, i, 3);
  CHECK_NEAR(thorough(&p).transfers, 5, 1e-12);

  CASE("no transfer pays: all on one device, as its heads allow");
  join_of(&p, 3, 4, 100);
  CHECK_NEAR(thorough(&p).transfers, 4, 1e-12);

  CASE("pinned apart: the transfer is sure; in a group: it never takes place");
  problem_clear(&p, 2, 2);
  p.bandwidth = 1;
  problem_edges(&p, "0>1:3");
  CHECK_NEAR(thorough(&p).transfers, 2, 1e-12);
  p.pin[0] = 0, p.pin[1] = 1;
  CHECK_NEAR(thorough(&p).transfers, 5, 1e-12);
  join_of(&p, 3, 4, 1);
  CHECK_NEAR(thorough(&p).transfers, 3, 1e-12); /* one here, and two whose tensors are there at
                                                        2 */
  for (int32_t i = 0; i < 4; i++) p.group[i] = 0;
  CHECK_NEAR(thorough(&p).transfers, 4, 1e-12);

  CASE("the linear program sees that a producer has one favourite: a chain of forks and joins");
  problem_clear(&p, 7, 4); /* diamonds 0 -> {1, 2} -> 3 -> {4, 5} -> 6, all times 1 */
  p.bandwidth = 1;
  for (int32_t i = 0; i < 4; i += 3) {
    problem_edge(&p, i, i + 1, 1), problem_edge(&p, i, i + 2, 1);
    problem_edge(&p, i + 1, i + 3, 1), problem_edge(&p, i + 2, i + 3, 1);
  }
  b = thorough(&p);
  CHECK(b.lp <= 7 * (1 + 1e-9) && b.lp > b.critical_path + 0.5); /* 7: all on one device */
  CHECK(b.best >= b.lp && b.best <= 7 * (1 + 1e-9));

  CASE("the linear program is solved to the gap given");
  /* 1 is the favourite of 3, and x of that of 0: 0.9 (1 - x) by 1 is x + 0.8 by 2 */
  p.bytes[0] = 0.9, p.bytes[3] = 0.8;
  CHECK_NEAR(thorough(&p).lp, 5 + 0.8 + 0.1 / 1.9 + 1, 7e-6);

  CASE("cheap bounds tell that there are no others");
  made m = problem_make(&p);
  b = must_bounds_compute(m.c, NULL);
  CHECK(isnan(b.transfers) && isnan(b.lp) && b.best >= b.critical_path);
}

/* ---- bounds ---- */

typedef struct tally {
  int runs, reached, by[5];
  double gap, cheap;
} tally;

static void note_bound(const berth_bounds *b, double best, tally *sum) {
  static const char *const names[] = { "critical path", "transfers", "lp", "work", "memory" };
  sum->runs++;
  sum->reached += b->best >= best * (1 - 1e-6);
  sum->gap += b->best > 0 ? best / b->best - 1 : 0;
  for (int i = 0; i < 5; i++) sum->by[i] += strcmp(b->name, names[i]) == 0;
}

static double cheap_gap(const problem *p, double best) {
  made m = problem_make(p);
  berth_bounds_options o = { BERTH_MEMORY_NONE, 1, false, 1e-3, BERTH_LINKS_FREE, 0 };
  berth_bounds b = must_bounds_compute(m.c, &o);
  unmake(&m);
  return b.best > 0 ? best / b.best - 1 : 0;
}

TEST("no schedule with transfers beats a bound: uneven devices, groups, pins, any rho") {
  tally sum = { 0 };
  berth_rng rng = seeded(21, 0);
  for (int i = 0; i < 500 && !check_bad; i++) {
    problem p = clear_problem(1 + berth_rng_below(&rng, 6), 2 + berth_rng_below(&rng, 2));
    random_times(&p, &rng, i % 2);
    p.bandwidth = 1 + berth_rng_below(&rng, 4), p.latency = berth_rng_below(&rng, 3);
    for (int32_t k = 0; k < p.ops; k++) {
      if (berth_rng_below(&rng, 5) == 0) p.group[k] = 0;
      else if (i % 2 && berth_rng_below(&rng, 6) == 0) p.pin[k] = berth_rng_below(&rng, p.devices);
    }
    for (int32_t k = 0, d; k < p.ops; k++) {
      for (d = 0; p.group[k] == 0 && d < p.devices; d++)
        p.time[k][d] = isinf(p.time[k][d]) ? 9 : p.time[k][d];
    }
    add_edges(&p, &rng, 1 + berth_rng_below(&rng, 20));
    double best = optimum(&p, 0);
    berth_bounds b = thorough(&p);
    CHECK(b.transfers <= best * (1 + 1e-9) && b.lp <= best * (1 + 1e-9)
          && b.work <= best * (1 + 1e-9));
    CHECK(b.transfers >= b.critical_path * (1 - 1e-12) && b.lp >= b.critical_path * (1 - 1e-6));
    CHECK(b.clusters <= best * (1 + 1e-9) && b.intervals <= best * (1 + 1e-9)
          && b.intervals >= b.clusters);
    CHECK(b.best
          == fmax(fmax(fmax(b.transfers, b.lp), fmax(b.work, b.critical_path)), b.intervals));
    if (check_bad)
      printf("# round %d: optimum %g, transfers %g, lp %g, work %g\n", i, best, b.transfers, b.lp,
             b.work);
    note_bound(&b, best, &sum);
    sum.cheap += cheap_gap(&p, best);
  }
  CHECK(sum.gap < sum.cheap && sum.gap < 0.065 * sum.runs);
  CHECK(sum.by[1] > 20);
  printf("# bound reached by %d of %d, mean gap %.4f, cheap %.4f; critical path %d, transfers %d, "
         "lp %d, work %d\n",
         sum.reached, sum.runs, sum.gap / sum.runs, sum.cheap / sum.runs, sum.by[0], sum.by[1],
         sum.by[2], sum.by[3]);
}

/* ---- a table of transfer times ---- */

typedef struct prices {
  int32_t devices;
  double table[MOST_EDGES * MOST_DEVICES * MOST_DEVICES];
} prices;

static berth_status ask_price(void *ud, int32_t tensor, int32_t src, int32_t dst, double *seconds) {
  const prices *x = ud;
  *seconds = x->table[(tensor * x->devices + src) * x->devices + dst];
  return BERTH_OK;
}

TEST("prices by pair of devices, some pairs without a way: bounds hold, guarantees tell") {
  int cut = 0, feasible = 0;
  berth_rng rng = seeded(24, 0);
  for (int i = 0; i < 150 && !check_bad; i++) {
    berth_bounds_options o = { BERTH_MEMORY_NONE, 1, true, 1e-6, BERTH_LINKS_FREE, 0 };
    berth_guarantee_options go = berth_guarantee_default(NULL);
    berth_cost_model model = { .transfer = ask_price };
    problem p;
    int cuts = 0;
    problem_clear(&p, 2 + berth_rng_below(&rng, 4), 2 + i % 2);
    random_times(&p, &rng, berth_rng_below(&rng, 2));
    add_edges(&p, &rng, 1);
    prices x;
    x.devices = p.devices;
    for (int j = 0; j < p.edges * p.devices * p.devices; j++) {
      int diagonal = j / p.devices % p.devices == j % p.devices;
      x.table[j] = berth_rng_below(&rng, 12) ? berth_rng_below(&rng, 9) : INFINITY;
      cuts += isinf(x.table[j]) && !diagonal;
    }
    made m = problem_make(&p);
    model.ud = &x;
    berth_cost *c = must_cost_new(m.g, m.t, &model);
    double best = optimum_by(&p, x.table, 0);
    berth_bounds b = must_bounds_compute(c, &o);
    CHECK(b.best <= best * (1 + 1e-9));
    berth_guarantees k;
    CHECK_OK(berth_guarantees_compute(c, &go, &k));
    CHECK(!cuts || !k.of[1].valid);
    cut += cuts && strstr(k.of[0].why, "without a way between them");
    feasible += !isinf(best);
    if (check_bad)
      printf("# round %d: optimum %g, transfers %g, lp %g\n", i, best, b.transfers, b.lp);
    RELEASE(c, m.c, m.g, m.t);
  }
  CHECK(cut > 20 && feasible > 100);
}

/* ---- every discipline, by the simulator ---- */

enum { TINY = 4 };

typedef struct world {
  const problem *p;
  berth_cost *cost;
  berth_sim_options so;
  int32_t sequence[TINY];
  unsigned done;
  double best;
} world;

static void try_devices(world *w) {
  int32_t device[TINY] = { 0 };
  berth_sim *sim = NULL;
  w->so.sequence = w->sequence;
  if (!CHECK_OK(berth_sim_new(w->cost, &w->so, &sim))) return;
  int32_t i;
  do {
    berth_sim_summary s;
    if (berth_sim_run(sim, device, &s) == BERTH_OK) w->best = fmin(w->best, s.makespan);
    for (i = 0; i < w->p->ops && ++device[i] == w->p->devices; i++) device[i] = 0;
  } while (i < w->p->ops);
  RELEASE(sim);
}

static int has_inputs(const world *w, int32_t op) {
  for (int32_t i = 0; i < w->p->edges; i++) {
    if (w->p->dst[i] == op && !(w->done >> w->p->src[i] & 1)) return 0;
  }
  return 1;
}

static void try_orders(world *w, int32_t placed) {
  if (placed == w->p->ops) try_devices(w);
  for (int32_t op = 0; op < w->p->ops; op++) {
    if ((w->done >> op & 1) || !has_inputs(w, op)) continue;
    w->sequence[placed] = op;
    w->done |= 1u << op;
    try_orders(w, placed + 1);
    w->done &= ~(1u << op);
  }
}

static double best_on(const problem *p, berth_cost *cost, berth_links links, berth_send send) {
  world w = { p, cost, berth_sim_default(NULL), { 0 }, 0, INFINITY };
  w.so.dispatch = BERTH_DISPATCH_PLANNED;
  w.so.memory = BERTH_MEMORY_NONE;
  w.so.links = links;
  w.so.send = send;
  try_orders(&w, 0);
  return w.best;
}

TEST("contention only makes the best schedule longer: bounds hold on every discipline") {
  berth_rng rng = seeded(22, 0);
  for (int i = 0; i < 40 && !check_bad; i++) {
    problem p = clear_problem(2 + berth_rng_below(&rng, TINY - 1), 2 + i % 2);
    random_times(&p, &rng, berth_rng_below(&rng, 2));
    p.bandwidth = 2;
    add_edges(&p, &rng, 12);
    berth_bounds b = thorough(&p);
    double best_free = optimum(&p, 0);
    made m = problem_make(&p);
    for (int links = BERTH_LINKS_FREE; links <= BERTH_LINKS_PAIR; links++) {
      double push = best_on(&p, m.c, (berth_links)links, BERTH_SEND_PUSH);
      double pull = best_on(&p, m.c, (berth_links)links, BERTH_SEND_PULL);
      CHECK(b.best <= fmin(push, pull) * (1 + 1e-9));
      if (links == BERTH_LINKS_FREE) CHECK_NEAR(push, best_free, 1e-9 * best_free);
      if (check_bad)
        printf("# round %d, links %d: %g, %g; bound %g, free %g\n", i, links, push, pull, b.best,
               best_free);
    }
    unmake(&m);
  }
}
