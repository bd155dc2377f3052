/* Link cuts: by hand, and against the best of all schedules on two machines of two devices. */
#include "bound/destructive/destructive_internal.h"
#include "place/place_search.h"

/* Devices 0 and 1, 2 and 3 are close; memory, types and ops are the problem's. */
static made make_machines(const problem *p, berth_link close, berth_link far) {
  made m = { problem_graph(p), topology_of_pairs(p, close, far), NULL };
  m.c = must_cost_new(m.g, m.t, NULL);
  return m;
}

static berth_bounds bounds_of(const made *m, berth_memory_policy memory, bool thorough) {
  berth_bounds_options o = { memory, 1, thorough, 1e-6, BERTH_LINKS_FREE, 0 };
  berth_bounds b = must_bounds_compute(m->c, &o);
  return b;
}

TEST("a join with all its producers is on one machine, if the link between machines is slow") {
  berth_link quick = { INFINITY, 0 }, slow = { 1, 0 }, same = { 10, 0 };
  problem p;
  join_of(&p, 7, 4, 100);
  made m = make_machines(&p, quick, slow);
  berth_bounds b = bounds_of(&m, BERTH_MEMORY_NONE, false);
  CHECK_NEAR(b.link_cut, 4.5, 1e-3); /* seven of 1 s on two devices, then one; 2 at best by the
                                        path, 2.25 by the work */
  CHECK_NEAR(b.best, b.link_cut, 0);
  CHECK_TEXT(b.name, "link cut");
  b = bounds_of(&m, BERTH_MEMORY_NONE, true);
  CHECK(b.link_cut >= 4.5 * (1 - 1e-3) && b.link_cut <= 5 * (1 + 1e-9));

  CASE("what one machine does not hold crosses the slow link")
  problem_clear(&p, 4, 4);
  for (int32_t i = 0; i < 4; i++) p.param[i] = p.memory[i] = 1;
  for (int32_t i = 0; i < 3; i++) problem_edge(&p, i, i + 1, 10 + i);
  m = make_machines(&p, quick, slow);
  b = bounds_of(&m, BERTH_MEMORY_INFERENCE, false);
  CHECK_NEAR(b.link_cut, 4 + 11, 1e-3 * 15); /* two ops and two */
  CHECK_NEAR(bounds_of(&m, BERTH_MEMORY_NONE, false).link_cut, 4, 1e-3);

  CASE("nothing is cut where all pairs are as close, or there are two devices")
  m = make_machines(&p, same, same);
  CHECK(isnan(bounds_of(&m, BERTH_MEMORY_NONE, true).link_cut));
  p.devices = 2;
  m = make_machines(&p, quick, slow);
  CHECK(isnan(bounds_of(&m, BERTH_MEMORY_NONE, false).link_cut));
}

/* Three links, unlike in bandwidth and latency: what is close depends on the bytes. Op 2 may have
 * an output that nobody reads. */
static double bound_beside(int unread) {
  berth_bounds_options o = { BERTH_MEMORY_NONE, 1, 1, 1e-6, BERTH_LINKS_FREE, 0 };
  berth_graph *g = must_graph_of_text(unread ? "4 2 3 4 1 1>4:7 2>4:2 3>4:0 2>:1000"
                                                  : "4 2 3 4 1 1>4:7 2>4:2 3>4:0");
  berth_topology *t = must_topology_of_text("1 1 1 0-1:8,1 0-2:1,2 1-2:8,3");
  berth_cost *c = must_cost_new(g, t, NULL);
  berth_bounds b = must_bounds_compute(c, &o);
  RELEASE(c, t, g);
  return b.best;
}

TEST("the tensor that decides which ops are close has a reader") {
  CHECK_NEAR(bound_beside(1), bound_beside(0), 0);
}

/* ---- against all schedules ---- */

static double best_of_all(const problem *p, const made *m) {
  static double table[MOST_EDGES * MOST_DEVICES * MOST_DEVICES];
  search s = { p, table, 0, { 0 }, { 0 }, { 0 }, INFINITY, 1 };
  int32_t n = p->devices;
  for (int32_t i = 0; i < p->edges * n * n; i++)
    table[i] = berth_cost_transfer(m->c, i / (n * n), i / n % n, i % n);
  for (int32_t i = 0; i < MOST_OPS; i++) s.device[i] = BERTH_NONE;
  extend(&s, 0, 0);
  return s.best;
}

static void random_case(problem *p, berth_rng *rng, int round) {
  double total = 0;
  problem_clear(p, 3 + berth_rng_below(rng, 4), 3 + berth_rng_below(rng, 2));
  random_times(p, rng, round % 3);
  if (round % 2) add_edges(p, rng, 12);
  for (int32_t i = 1; round % 2 == 0 && i < p->ops; i++)
    problem_edge(p, berth_rng_below(rng, i), i, 1 + berth_rng_below(rng, 9));
  for (int32_t i = 0; i < p->ops; i++) {
    total += p->param[i] = berth_rng_below(rng, 5);
    if (berth_rng_below(rng, 6) == 0) p->group[i] = 0;
  }
  for (int32_t i = 0; i < p->ops; i++) {
    for (int32_t d = 0; d < p->devices; d++) {
      if (p->group[i] == 0 && isinf(p->time[i][d])) p->time[i][d] = 9;
    }
  }
  for (int32_t d = 0; d < p->devices; d++) {
    p->memory[d] = round % 4 ? INFINITY : ceil(total / p->devices * (1.1 + berth_rng_uniform(rng)));
  }
}

TEST("no schedule on two machines beats them") {
  int used = 0, cut = 0;
  berth_rng rng = seeded(407, 0);
  for (int i = 0; i < 400 && !check_bad; i++) {
    berth_link close = { 4 + 8 * berth_rng_uniform(&rng), 0 };
    berth_link far = { 0.3 + 2 * berth_rng_uniform(&rng), berth_rng_below(&rng, 4) };
    bool thorough = i % 2 ? false : true;
    berth_bounds_options o = { BERTH_MEMORY_INFERENCE, 1, thorough, 1e-3, BERTH_LINKS_FREE, 0 };
    problem p;
    random_case(&p, &rng, i);
    made m = make_machines(&p, close, far);
    berth_bounds b;
    if (berth_bounds_compute(m.c, &o, &b, NULL) == BERTH_OK) {
      double best = best_of_all(&p, &m);
      CHECK(isinf(best) || b.best <= best * (1 + 1e-9));
      if (check_bad) printf("# round %d: %s %.9g, best %.9g\n", i, b.name, b.best, best);
      used++;
      cut += !strcmp(b.name, "link cut");
    }
    unmake(&m);
  }
  printf("# %d problems, %d of them bounded by the cut\n", used, cut);
  CHECK(cut > used / 20);
}
