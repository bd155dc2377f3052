/* m-SCT on random graphs: plans are schedules and keep memory with any favourites; nothing waits
 * that could run anywhere; the guarantee for small transfer times, against the best schedule of
 * all. */
#include "place_engine_help.h"
#include "place/place_help.h"

enum { MOST_GIVEN = 64 };

/* ---- any favourites, any setting ---- */

static void random_favourites(const instance *x, berth_rng *rng, int32_t *child) {
  int32_t n = berth_graph_ops(x->g);
  char taken[MOST_GIVEN] = { 0 };
  for (int32_t i = 0; i < n; i++) child[i] = BERTH_NONE;
  for (int32_t i = 0; i < n; i++) {
    const int32_t *out, *use;
    int32_t tensors = berth_graph_outputs(x->g, i, &out);
    for (int32_t k = 0; k < tensors && child[i] == BERTH_NONE; k++) {
      int32_t readers = berth_graph_consumers(x->g, out[k], &use);
      for (int32_t j = 0; j < readers && child[i] == BERTH_NONE; j++) {
        if (!taken[use[j]] && berth_rng_below(rng, 3)) child[i] = use[j];
      }
    }
    if (child[i] != BERTH_NONE) taken[child[i]] = 1;
  }
}

typedef struct tally {
  int placed, refused;
} tally;

static void try_options(const instance *x, const berth_place_options *o, tally *count) {
  berth_placement *p = NULL, *again = NULL;
  berth_status st = berth_place(x->cost, "m-sct", o, &p, NULL);
  if (st == BERTH_EINFEASIBLE || st == BERTH_EUNREACHABLE) {
    count->refused++;
    return;
  }
  count->placed++;
  if (!CHECK_OK(st)) return;
  if (!check_plan(x, p, o, 1)) {
    printf("# links %d, memory %d, favourites %d, ties %d\n", (int)o->links, (int)o->memory,
           (int)o->favourites, (int)o->ties);
  }
  again = must_place(x->cost, "m-sct", o);
  CHECK(memcmp(berth_placement_device(p), berth_placement_device(again),
               sizeof(int32_t) * (size_t)berth_placement_ops(p))
        == 0);
  CHECK(berth_placement_estimate(p) == berth_placement_estimate(again));
  RELEASE(p);
}

static void try_instance(berth_rng *rng, int what, tally *count) {
  instance x;
  berth_place_options o = berth_place_default(NULL);
  if (!random_instance(rng, what, 1 + berth_rng_below(rng, 40), 1 + berth_rng_below(rng, 4),
                       &x))
    return;
  int32_t child[MOST_GIVEN];
  random_favourites(&x, rng, child);
  for (int links = BERTH_LINKS_FREE; links <= BERTH_LINKS_PAIR; links++) {
    for (int memory = BERTH_MEMORY_NONE; memory <= BERTH_MEMORY_TOTAL; memory++) {
      o.links = (berth_links)links;
      o.memory = (berth_memory_policy)memory;
      o.favourites = BERTH_FAVOURITES_GIVEN;
      o.favourite = child;
      o.ties = (berth_ties)berth_rng_below(rng, 3);
      if (!check_bad) try_options(&x, &o, count);
      o.favourites = berth_rng_below(rng, 2) ? BERTH_FAVOURITES_THROUGH : BERTH_FAVOURITES_NONE;
      o.favourite = NULL;
      if (!check_bad) try_options(&x, &o, count);
    }
  }
  release_instance(&x);
}

static void many(int what, int rounds) {
  tally count = { 0, 0 };
  berth_rng rng = seeded(21, (uint64_t)what);
  int i;
  for (i = 0; i < rounds && !check_bad; i++) try_instance(&rng, what, &count);
  if (check_bad) printf("# round %d\n", i - 1);
  CHECK(count.placed > 2 * count.refused);
  printf("# %d plans, %d refusals\n", count.placed, count.refused);
}

/* ---- published: everything is placed, or refused; transfers arrive ---- */

TEST("the published variants place or refuse") {
  int placed = 0, refused = 0;
  berth_rng rng = seeded(22, 0);
  for (int i = 0; i < 120 && !check_bad; i++) {
    instance x;
    berth_place_options o = berth_place_default(NULL);
    int what = WITH_GROUPS | WITH_MEMORY | (i % 3 ? WITH_PINS | WITH_TYPES | WITH_UNEVEN : 0)
               | (i % 2 ? WITH_TIES : 0);
    if (!random_instance(&rng, what, 1 + berth_rng_below(&rng, 40),
                         1 + berth_rng_below(&rng, 4), &x))
      continue;
    int32_t child[MOST_GIVEN];
    random_favourites(&x, &rng, child);
    o.favourites = BERTH_FAVOURITES_GIVEN;
    o.favourite = child;
    for (int v = 0; v < 2; v++) {
      berth_placement *p = NULL;
      o.variant = v ? "baechi-tf" : "baechi-pt";
      o.quantum = v ? 1e-9 : 0;
      berth_status st = berth_place(x.cost, "m-sct", &o, &p, NULL);
      if (st == BERTH_EINFEASIBLE || st == BERTH_EUNREACHABLE) {
        refused++;
        continue;
      }
      placed++;
      if (CHECK_OK(st))
        CHECK(v ? check_order(&x, p) : check_ops(&x, p) && check_order(&x, p));
      RELEASE(p);
    }
    release_instance(&x);
  }
  CHECK(placed > 40);
  printf("# %d plans, %d refusals\n", placed, refused);
}

/* ---- nothing waits that could run anywhere ---- */

static double everywhere(const instance *x, const berth_placement *p, int32_t op) {
  const int32_t *in;
  int32_t n = berth_graph_inputs(x->g, op, &in);
  double most = 0;
  for (int32_t i = 0; i < n; i++) {
    berth_tensor t = must_graph_tensor(x->g, in[i]);
    for (int32_t d = 0; d < berth_topology_devices(x->t); d++) {
      most = fmax(most, berth_placement_finish(p)[t.producer]
                            + berth_cost_transfer(x->cost, in[i],
                                                  berth_placement_device(p)[t.producer], d));
    }
  }
  return most;
}

/* Busy time of device d between two instants. */
static double busy(const berth_placement *p, int32_t d, double from, double to) {
  double sum = 0;
  for (int32_t i = 0; i < berth_placement_ops(p); i++) {
    if (berth_placement_device(p)[i] != d) continue;
    sum +=
        fmax(0, fmin(berth_placement_finish(p)[i], to) - fmax(berth_placement_start(p)[i], from));
  }
  return sum;
}

TEST("no device is idle while an op waits whose inputs are everywhere") {
  int seen = 0;
  berth_rng rng = seeded(23, 0);
  for (int round = 0; round < 200 && !check_bad; round++) {
    instance x;
    berth_place_options o = berth_place_default(NULL);
    if (!random_instance(&rng, round % 2 ? WITH_TIES : WITH_UNEVEN,
                         1 + berth_rng_below(&rng, 40), 1 + berth_rng_below(&rng, 5), &x))
      continue;
    int32_t child[MOST_GIVEN];
    random_favourites(&x, &rng, child);
    o.favourites = BERTH_FAVOURITES_GIVEN;
    o.favourite = child;
    berth_placement *p = must_place(x.cost, "m-sct", &o);
    for (int32_t i = 0; p && i < berth_graph_ops(x.g); i++) {
      double from = everywhere(&x, p, i), to = berth_placement_start(p)[i];
      if (!(to > from)) continue;
      seen++;
      for (int32_t d = 0; d < berth_topology_devices(x.t); d++)
        CHECK_NEAR(busy(p, d, from, to), to - from, 1e-9 * (1 + to));
    }
    RELEASE(p, x.cost, x.t, x.g);
  }
  CHECK(seen > 100);
}

/* ---- nobody's favourite: m-ETF ---- */

TEST("without favourites it plans what m-ETF plans") {
  berth_rng rng = seeded(24, 0);
  for (int round = 0; round < 120 && !check_bad; round++) {
    instance x;
    berth_place_options o = berth_place_default(NULL);
    berth_placement *a = NULL, *b = NULL;
    if (!random_instance(&rng, round % 3 ? WITH_UNEVEN | WITH_TYPES : 0,
                         1 + berth_rng_below(&rng, 40), 1 + berth_rng_below(&rng, 5), &x))
      continue;
    o.ties = (berth_ties)(round % 3);
    a = must_place(x.cost, "m-etf", &o);
    o.favourites = BERTH_FAVOURITES_NONE;
    b = must_place(x.cost, "m-sct", &o);
    for (int32_t i = 0; a && b && i < berth_graph_ops(x.g); i++) {
      CHECK(berth_placement_device(a)[i] == berth_placement_device(b)[i]);
      CHECK(berth_placement_start(a)[i] == berth_placement_start(b)[i]);
    }
    RELEASE(a, b, x.cost, x.t, x.g);
  }
}

/* ---- against the best of all schedules ---- */

/* Like devices, op times from 1 to 4, transfers of 1 at most. */
static void small_transfers(problem *p, berth_rng *rng) {
  problem_clear(p, 3 + berth_rng_below(rng, 5), 2 + berth_rng_below(rng, 2));
  p->bandwidth = 1;
  for (int32_t i = 0; i < p->ops; i++) {
    double time = 1 + berth_rng_below(rng, 4);
    for (int32_t d = 0; d < p->devices; d++) p->time[i][d] = time;
    for (int32_t j = 0; j < i; j++) {
      if (berth_rng_below(rng, 3) == 0) problem_edge(p, j, i, 0.25 * berth_rng_below(rng, 5));
    }
  }
}

TEST("transfers no longer than ops: within 7/3 - 4/(3n) of the best schedule") {
  double worst = 0;
  berth_rng rng = seeded(25, 0);
  for (int round = 0; round < 150 && !check_bad; round++) {
    problem q;
    berth_place_options o = berth_place_default(NULL);
    small_transfers(&q, &rng);
    made m = problem_make(&q);
    o.gap = 1e-7;
    for (int tau = 0; tau < 2; tau++) {
      double best = best_makespan(&q, 0), limit = 7.0 / 3 - 4.0 / (3 * q.devices);
      o.tau = 0.5 * tau;
      berth_placement *p = must_place(m.c, "m-sct", &o);
      if (!p) break;
      double found = berth_placement_estimate(p);
      CHECK(found >= best - 1e-9);
      CHECK(found <= limit * best + 1e-9);
      worst = fmax(worst, found / best);
      RELEASE(p);
    }
    unmake(&m);
  }
  printf("# at most %.3f times the best\n", worst);
}

TEST("plain graphs") { many(0, 20); }
TEST("ties and ops of no length") { many(WITH_TIES, 20); }
TEST("two types of device, uneven links") { many(WITH_TYPES | WITH_UNEVEN, 20); }
TEST("pins and groups") { many(WITH_PINS | WITH_GROUPS | WITH_TIES, 20); }
TEST("memory limits") { many(WITH_MEMORY, 30); }
TEST("memory limits, twins, ties") { many(WITH_MEMORY | WITH_TWINS | WITH_TIES, 30); }
TEST("everything at once") { many(WITH_ALL, 50); }
