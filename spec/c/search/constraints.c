/* What a search must keep whatever it tries: memory, pins, types, groups; budgets, clocks and
 * interrupts; the same answer for any number of threads; starts. For each of the methods. */
#include "sim/sim_help.h"
#include "refusals.h"

enum { OPS = 36, DEVICES = 4 };

static const berth_search_method methods[] = { BERTH_SEARCH_ANNEAL, BERTH_SEARCH_LOCAL,
                                               BERTH_SEARCH_BRKGA };
enum { METHODS = 3 };

/* Pins, two groups, one op that device 0 cannot run; memory of 0: no limit. Device i is 1 + i / 4
 * times as fast. */
static void constrained(setup *s, uint64_t seed, double memory, int uneven) {
  berth_topology_builder *b = NULL;
  berth_rng rng = seeded(seed, 0);
  setup_begin(s);
  for (int i = 0; i < OPS; i++) {
    berth_op op = berth_op_default();
    double seconds = 1 + 3 * berth_rng_uniform(&rng);
    op.seconds = &seconds;
    op.param_bytes = 1 + berth_rng_below(&rng, 8);
    if (i % 11 == 3) op.pin = i % DEVICES;
    if (i % 9 == 5) op.group = i < OPS / 2 ? 0 : 1;
    must_add_op(s->b, &op);
  }
  for (int i = 1; i < OPS; i++)
    setup_edge(s, berth_rng_below(&rng, i), i, 4 * berth_rng_uniform(&rng));
  s->g = must_graph_builder_finish(s->b);
  b = must_topology_builder_new();
  for (int i = 0; i < DEVICES; i++) {
    berth_device d = berth_device_default();
    d.speed = uneven ? 1 + 0.25 * i : 1;
    if (memory > 0) d.memory = memory;
    must_add_device(b, &d);
  }
  for (int i = 0; i < DEVICES; i++) {
    berth_link l = { 1 + (uneven ? 0.5 * i : 0), 0.125 };
    CHECK_OK(berth_topology_builder_add_duplex(b, i, (i + 1) % DEVICES, &l, NULL));
  }
  s->t = must_topology(b);
  s->cost = must_cost_new(s->g, s->t, NULL);
}

static berth_sim_summary simulate(const setup *s, const berth_sim_options *o,
                                  const int32_t *device) {
  berth_sim_summary sum = { 0, 0, 0 };
  berth_sim *sim = must_sim_new(s->cost, o);
  sum = must_sim_run(sim, device); /* which refuses broken pins, types and
                                                               groups */
  RELEASE(sim);
  return sum;
}

/* ---- memory, pins, groups at every step ---- */

typedef struct seen {
  setup *s;
  berth_sim_options judge;
  long asked, broken;
} seen;

static berth_status look_at(void *ud, const int32_t *device, double limit, double *out) {
  seen *a = ud;
  berth_sim_summary sum = simulate(a->s, &a->judge, device);
  (void)limit;
  a->asked++;
  a->broken += sum.oom_op != BERTH_NONE;
  *out = sum.makespan;
  return BERTH_OK;
}

TEST("every placement that an objective is asked about keeps memory, pins, groups; its value is "
     "the answer's") {
  for (int k = 0; k < 3 * METHODS; k++) {
    setup s;
    seen a;
    berth_objective f = { look_at, NULL, &a };
    berth_search_options o = berth_search_default();
    constrained(&s, (uint64_t)k, k % 2 ? 190 : 140, 1);
    a = (seen){ &s, berth_sim_default(s.g), 0, 0 };
    a.judge.memory = k % 2 ? BERTH_MEMORY_TOTAL : BERTH_MEMORY_INFERENCE;
    o.method = methods[k % METHODS];
    o.judge = &a.judge;
    o.objective = &f;
    o.calls = 250;
    o.population = 20;
    int32_t device[OPS];
    berth_search_report r = must_search(s.cost, &o, device);
    CHECK(a.asked > 50 && a.asked <= 250);
    CHECK(a.broken == 0);
    CHECK(r.value == simulate(&s, &a.judge, device).makespan);
    setup_end(&s);
  }
}

/* Ops 0 and 1 gather 4 bytes on device 0, where op 0 takes 6 while it runs: never at once, but the
 * answer has to hold in any order. */
TEST("memory in any order: what is gathered, once per device, and the largest workspace") {
  for (int room = 9; room <= 10; room++) {
    static const int32_t members[] = { 0, 1 };
    berth_collective c = { BERTH_ALLGATHER, 4, 1, 2, members, 0, NULL };
    berth_search_options o = berth_search_default();
    setup s = setup_started();
    for (int32_t i = 0; i < 3; i++) {
      berth_op op = berth_op_default();
      double one = 1;
      op.seconds = &one;
      op.pin = i / 2;
      op.workspace_bytes = i == 0 ? 6 : 0;
      must_add_op(s.b, &op);
    }
    must_add_collective(s.b, &c);
    setup_mesh(&s, 2, room);
    berth_sim_options judge = berth_sim_default(s.g);
    judge.memory = BERTH_MEMORY_TOTAL;
    o.judge = &judge;
    o.calls = 10;
    CHECK(simulate(&s, &judge, (const int32_t[]){ 0, 0, 1 }).oom_op == BERTH_NONE);
    int32_t device[3];
    CHECK_STATUS(berth_search(s.cost, &o, device, NULL), room == 10 ? BERTH_OK : BERTH_EINFEASIBLE);
  }
}

/* ---- judges ---- */

static int same(const setup *s, const berth_search_options *a, const berth_search_options *b,
                double *value) {
  int32_t x[OPS];
  berth_search_report p = must_search(s->cost, a, x);
  int32_t y[OPS];
  berth_search_report q = must_search(s->cost, b, y);
  *value = p.value;
  return p.value == q.value && p.calls == q.calls && memcmp(x, y, sizeof x) == 0
      && simulate(s, a->judge, x).makespan == p.value;
}

TEST("unequal devices, every discipline of links: the value is the judge's; 1, 2 and 4 threads "
     "and no limit: the same bytes") {
  static const berth_links links[] = { BERTH_LINKS_FREE, BERTH_LINKS_DUPLEX, BERTH_LINKS_ROUTE,
                                       BERTH_LINKS_FAIR };
  for (int k = 0; k < 4 * METHODS; k++) {
    setup s;
    berth_search_options a = berth_search_default();
    constrained(&s, (uint64_t)k, k % 2 ? 150 : 0, 1);
    berth_sim_options judge = berth_sim_default(s.g);
    judge.links = links[k % 4];
    a.method = methods[k % METHODS];
    a.judge = &judge;
    a.calls = 220;
    a.population = 21;
    a.restarts = 3;
    a.threads = 1;
    a.seed = 5;
    berth_search_options b = a;
    double value;
    for (b.threads = 2; b.threads <= 4; b.threads += 2) CHECK(same(&s, &a, &b, &value));
    b.no_limit = 1;
    CHECK(same(&s, &a, &b, &value));
    setup_end(&s);
  }
}

TEST("walks long enough for two phases: the same bytes for any number of threads") {
  setup s;
  berth_search_options a = berth_search_default();
  constrained(&s, 3, 150, 0);
  berth_sim_options judge = berth_sim_default(s.g);
  judge.links = BERTH_LINKS_DUPLEX;
  a.judge = &judge;
  a.calls = 6000;
  a.restarts = 5; /* and a polish */
  a.threads = 1;
  berth_search_options b = a;
  b.threads = 3;
  double value;
  CHECK(same(&s, &a, &b, &value));
}

/* ---- clock, interrupt, progress ---- */

typedef struct hook_log {
  double now, told;
  long ticks, asked, stop_at, back;
} hook_log;

static double tick(void *ud) {
  hook_log *h = ud;
  h->ticks++;
  return h->now += 0.01;
}
static int stop(void *ud) {
  hook_log *h = ud;
  h->asked++;
  return h->stop_at > 0 && h->asked >= h->stop_at;
}
static void told(void *ud, const char *what, double done) {
  hook_log *h = ud;
  h->back += strcmp(what, "search") != 0 || !(done > h->told) || done > 1;
  h->told = done;
}

TEST("seconds alone: ends by the clock; both budgets: the first that is used up; progress only "
     "grows; interrupt keeps the best") {
  for (int k = 0; k < 3 * METHODS; k++) {
    hook_log h = { 0, 0, 0, 0, 0, 0 };
    berth_hooks hooks = { 0 };
    berth_search_options o = berth_search_default();
    hooks.clock = tick;
    hooks.interrupt = stop;
    hooks.progress = told;
    hooks.ud = &h;
    setup s;
    hooked(&hooks);
    constrained(&s, (uint64_t)k, 150, 0);
    o.method = methods[k % METHODS];
    o.threads = 1;
    o.calls = k / METHODS == 0 ? 0 : 3000;
    o.seconds = k / METHODS == 2 ? 0 : 1;
    h.stop_at = k / METHODS == 2 ? 20 : 0;
    int32_t device[OPS];
    berth_search_report r = must_search(s.cost, &o, device);
    CHECK(r.value <= r.start && r.interrupted == (k / METHODS == 2));
    CHECK(h.back == 0);
    if (k / METHODS < 2 && !CHECK(h.ticks >= 98 && h.ticks < 220 && h.told > 0.97))
      printf("# k %d: %ld, %g\n", k, h.ticks, h.told);
    else CHECK(r.calls < 3000);
    h.stop_at = 1;
    CHECK_STATUS(berth_search(s.cost, &o, device, &r), BERTH_EINTERRUPT);
    setup_end(&s);
  }
}

/* ---- starts ---- */

TEST("a given start, and further ones: never worse than any; what breaks memory is passed over, "
     "alone it is refused") {
  for (int k = 0; k < METHODS; k++) {
    setup s;
    int32_t further[2 * OPS] = { 0 };
    berth_search_options o = berth_search_default();
    constrained(&s, 9, 150, 1);
    berth_placement *p = must_place(s.cost, "heft", NULL);
    int32_t device[OPS];
    memcpy(device, berth_placement_device(p), sizeof device);
    memcpy(further + OPS, device, sizeof device); /* the first breaks pins */
    o.method = methods[k];
    o.calls = 4;
    o.further = further;
    o.n_further = 2;
    berth_search_report r = must_search(s.cost, &o, device);
    CHECK(r.value <= simulate(&s, NULL, further + OPS).makespan);
    o.start = further + OPS;
    o.calls = 1;
    r = must_search(s.cost, &o, device);
    CHECK(r.calls == 1 && memcmp(device, further + OPS, sizeof device) == 0);
    o.start = further;
    CHECK_STATUS(berth_search(s.cost, &o, device, &r), BERTH_EINVAL);
  }
}

TEST("the placers that search, with ten calls: never worse than single and round-robin where "
     "these fit") {
  static const char *const names[] = { "anneal", "local", "brkga" }, *const trivial[] = {
    "single", "round-robin"
  };
  for (int k = 0; k < 12; k++) {
    setup s;
    berth_search_options o = berth_search_default();
    berth_placement *p = NULL, *q = NULL;
    constrained(&s, (uint64_t)k, k % 3 ? 0 : 150, k % 2);
    berth_place_options place = berth_place_default(s.g);
    place.links = k % 2 ? BERTH_LINKS_DUPLEX : BERTH_LINKS_FREE;
    place.search = &o;
    o.calls = 10;
    p = must_place(s.cost, names[k % METHODS], &place);
    for (int i = 0; i < 2; i++) {
      if (berth_place(s.cost, trivial[i], &place, &q, NULL) == BERTH_OK) {
        CHECK(berth_placement_estimate(p) <= berth_placement_estimate(q));
        RELEASE(q);
      }
    }
  }
}

/* ---- options, refusals ---- */

static void refuse(const setup *s, const berth_search_options *o, const char *message) {
  int32_t device[OPS] = { 7 };
  CHECK_ERROR(berth_search(s->cost, o, device, NULL), BERTH_EINVAL, message);
  CHECK(device[0] == 7);
}

TEST("options that are out of range for generations are reported with their values") {
  setup s;
  berth_search_options d = berth_search_default();
  constrained(&s, 1, 0, 0);
  d.method = BERTH_SEARCH_BRKGA;
  berth_search_options o = d;
  o.population = 2;
  refuse(&s, &o, "search: option population: 2 is not from 3 to 100000");
  o = d;
  o.elite = 1;
  refuse(&s, &o, "search: options elite: 1 and mutants: 0.15 sum to 1 or more: no children");
  o = d;
  o.elite = NAN;
  CHECK_STATUS(berth_search(s.cost, &o, NULL, NULL), BERTH_EINVAL);
  o = d;
  o.mutants = 0.9;
  refuse(&s, &o, "search: options elite: 0.2 and mutants: 0.9 sum to 1 or more: no children");
  o = d;
  o.bias = 0.25;
  refuse(&s, &o, "search: option bias is 0.25 (0.5 to 1)");
  o = d;
  o.n_further = 1;
  refuse(&s, &o, "search: option n_further: 1 placements, but none are given");
  o = d;
  o.method = (berth_search_method)9;
  refuse(&s, &o, "search: there is no method 9");
}

static berth_status search_by(const void *method) {
  let_pass();
  setup s;
  constrained(&s, 2, 150, 1);
  berth_search_options o = berth_search_default();
  o.method = *(const berth_search_method *)method;
  o.calls = 40;
  int32_t device[OPS];
  refuse_from_here();
  return berth_search(s.cost, &o, device, NULL);
}

TEST("refused allocations: out of memory, nothing is kept, for each method") {
  for (int m = 0; m < METHODS; m++) CHECK(refuse_each(search_by, &methods[m], 1, 0) > 5);
}
