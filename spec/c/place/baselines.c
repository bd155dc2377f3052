/* Baselines and m-topo: worked cases, and on random problems that what comes back keeps every
 * rule. */
#include "place_help.h"
#include "refusals.h"

static const char *const names[] = { "single", "round-robin", "random",
                                     "metis",  "m-topo",      "enumerative" };
enum { N_NAMES = 6 };

static berth_status place(const problem *p, const char *name, const berth_place_options *o,
                          berth_placement **out, berth_obstacle *why) {
  made m = problem_make(p);
  berth_status st = berth_place(m.c, name, o, out, why);
  unmake(&m);
  return st;
}

static int devices_are(const berth_placement *p, const char *digits) {
  for (int32_t i = 0; i < berth_placement_ops(p); i++) {
    if (berth_placement_device(p)[i] != digits[i] - '0') return 0;
  }
  return 1;
}

static void expect(const problem *p, const char *name, const berth_place_options *o,
                   const char *digits, double estimate) {
  berth_placement *r = NULL;
  if (!CHECK_OK(place(p, name, o, &r, NULL))) return;
  CHECK(devices_are(r, digits));
  CHECK_NEAR(berth_placement_estimate(r), estimate, 1e-12);
  CHECK_TEXT(berth_placement_placer(r), name);
  RELEASE(r);
}

static void set_time(problem *p, int32_t op, double t) {
  for (int32_t d = 0; d < p->devices; d++) p->time[op][d] = t;
}

/* Case A of the published cores: p = 1 3 3 1 3 1, memory 1 2 2 1 1 1. */
static void case_a(problem *p) {
  const double time[] = { 1, 3, 3, 1, 3, 1 }, bytes[] = { 1, 2, 2, 1, 1, 1 };
  problem_clear(p, 6, 2);
  for (int32_t i = 0; i < 6; i++) set_time(p, i, time[i]), p->param[i] = bytes[i];
  problem_edges(p, "0>1:1 0>4:1 1>2:1 2>3:1 4>5:1 5>3:1");
  p->bandwidth = 1;
  p->memory[0] = p->memory[1] = 4;
}

TEST("m-topo as published: case A, cap 6, real limits not tested") {
  berth_place_options o = berth_place_default(NULL);
  berth_placement *r = NULL;
  problem p;
  case_a(&p);
  o.variant = "baechi-tf";
  expect(&p, "m-topo", &o, "000101", 12);
  o.variant = "baechi-pt";
  /* by id: 1 3 5 6 | 1 1 */
  expect(&p, "m-topo", &o, "000011", 8);

  CASE("m-topo corrected: the limits hold");
  o.variant = "";
  CHECK_OK(place(&p, "m-topo", &o, &r, NULL));
  for (int32_t d = 0; d < 2; d++) {
    double held = 0;
    for (int32_t i = 0; i < 6; i++) held += berth_placement_device(r)[i] == d ? p.param[i] : 0;
    CHECK(held <= 4);
  }
  RELEASE(r);

  CASE("m-topo corrected: back to a device that a large op had closed");
  problem_clear(&p, 5, 2); /* 2 2 | 6 2, then 2 goes back */
  for (int32_t i = 0; i < 5; i++) p.param[i] = i == 2 ? 6 : 2;
  p.memory[0] = p.memory[1] = 8;
  expect(&p, "m-topo", &o, "00110", 3);

  CASE("m-topo: temporary bytes count in the PyTorch test but not in its cap");
  problem_clear(&p, 2, 2);
  for (int32_t i = 0; i < 2; i++) p.param[i] = 2, p.workspace[i] = 9;
  o.variant = "baechi-pt"; /* cap 4 / 2 + 2 = 4 < 11 */
  berth_obstacle why;
  CHECK_STATUS(place(&p, "m-topo", &o, &r, &why), BERTH_EINFEASIBLE);
  CHECK(why.op == 0 && why.missing == 7);
  o.variant = "baechi-tf"; /* 11 each, cap 22 */
  expect(&p, "m-topo", &o, "00", 2);

  CASE("m-topo: a group goes as a whole; TensorFlow's test of it is strict");
  problem_clear(&p, 4, 2); /* all 3: cap 6 + 3 = 9; ops 1 and 2 together: 3 + 6 < 9 is false */
  for (int32_t i = 0; i < 4; i++) p.param[i] = 3;
  p.group[1] = p.group[2] = 0;
  expect(&p, "m-topo", &o, "0111", 3);
  p.group[0] = p.group[3] = 0; /* 12 > 9 */
  CHECK_STATUS(place(&p, "m-topo", &o, &r, &why), BERTH_EINFEASIBLE);

  CASE("m-topo without accounting still balances sizes");
  problem_clear(&p, 4, 2);
  for (int32_t i = 0; i < 4; i++) p.param[i] = 3;
  p.memory[0] = 1;
  o = berth_place_default(NULL);
  o.memory = BERTH_MEMORY_NONE; /* level 6 + 3 */
  expect(&p, "m-topo", &o, "0001", 3);
}

TEST("single: the fastest device") {
  problem p;
  berth_place_options o = berth_place_default(NULL);
  berth_placement *r = NULL;
  berth_obstacle why = { 9, 9, 9 };
  problem_clear(&p, 3, 3);
  for (int32_t i = 0; i < 3; i++)
    p.time[i][0] = 3, p.time[i][1] = 1, p.time[i][2] = 2, p.param[i] = 4;
  expect(&p, "single", NULL, "111", 3);
  CASE("single: the fastest one on which all fits");
  p.memory[1] = 11;
  expect(&p, "single", NULL, "222", 6);
  CASE("single: the device asked for");
  o.device = 0;
  expect(&p, "single", &o, "000", 9);
  o.device = 1;
  CHECK_STATUS(place(&p, "single", &o, &r, &why), BERTH_EINFEASIBLE);
  CHECK(why.op == BERTH_NONE && why.device == 1 && why.missing == 1);
  CHECK(says("d1"));
  CASE("single: an op that another device must run");
  p.pin[2] = 1;
  o.device = BERTH_NONE;
  CHECK_STATUS(place(&p, "single", &o, &r, &why), BERTH_EINFEASIBLE);
  CHECK(why.device == 1 && why.missing == 1);
  o.device = 2;
  CHECK_STATUS(place(&p, "single", &o, &r, &why), BERTH_EINFEASIBLE);
  CHECK(why.op == 2 && why.device == 2);
}

TEST("round-robin: op k of the topological order to device k mod D") {
  berth_place_options o = berth_place_default(NULL);
  problem p = clear_problem(5, 3);
  expect(&p, "round-robin", NULL, "01201", 2);
  CASE("round-robin: the next device where the turn is pinned, unsupported or full");
  p.pin[1] = 2;
  p.time[3][0] = INFINITY;
  expect(&p, "round-robin", NULL, "02211", 2);
  for (int32_t i = 0; i < 5; i++) p.param[i] = 1;
  p.memory[0] = 0, p.memory[1] = p.memory[2] = 5;
  expect(&p, "round-robin", NULL, "12211", 3);
  CASE("round-robin: first-fit decreasing when turns lead nowhere");
  problem_clear(&p, 3, 2); /* 1 1 3 in turns: 1 | 1, then 3 nowhere; 3 | 1 1 fits */
  p.param[0] = p.param[1] = 1, p.param[2] = 3, p.memory[0] = 3, p.memory[1] = 2;
  expect(&p, "round-robin", NULL, "110", 2);

  CASE("random: all devices in turn, by seed");
  problem_clear(&p, 8, 4);
  int seen[4] = { 0 };
  for (o.seed = 0; o.seed < 200; o.seed++) {
    berth_placement *r = NULL;
    CHECK_OK(place(&p, "random", &o, &r, NULL));
    for (int32_t i = 0; i < 8; i++) seen[berth_placement_device(r)[i]]++;
    RELEASE(r);
  }
  for (int32_t d = 0; d < 4; d++) CHECK(seen[d] > 320 && seen[d] < 480);
}

/* Four chains of eight ops; 0 talks with 2 and 1 with 3 most: machines (0 1) and (2 3), with a slow
 * link between them. */
static void test_near(void) {
  const int32_t row[4] = { 0, 2, 1, 3 };
  berth_device d = berth_device_default();
  berth_link inside = { 100, 0 }, between = { 1, 0 };
  berth_topology *t = NULL;
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < 32; i++) must_text(b, "1");
  for (int32_t i = 0; i < 32; i++) {
    if (i % 8 < 7) must_add_edge(b, i, i + 1, 1000);
  }
  must_add_edge(b, 8 * row[0], 8 * row[1] + 4, 90);
  must_add_edge(b, 8 * row[2], 8 * row[3] + 4, 90);
  must_add_edge(b, 8 * row[1] + 4, 8 * row[3] + 7, 10);
  berth_graph *g = must_graph_builder_finish(b);
  CHECK_OK(berth_topology_two_level(ctx, 2, 2, &d, &inside, &between, &t));
  berth_cost *c = must_cost_new(g, t, NULL);
  berth_placement *r = must_place(c, "metis", NULL);
  const int32_t *at = berth_placement_device(r);
  CHECK(at[0] / 2 == at[16] / 2 && at[8] / 2 == at[24] / 2 && at[0] != at[16] && at[8] != at[24]
        && at[0] / 2 != at[8] / 2);
  RELEASE(t);
}

/* Two rings of four ops and a thin bridge. */
TEST("metis: cuts where little crosses, whatever the seed") {
  berth_place_options o = berth_place_default(NULL);
  berth_placement *r = NULL;
  problem p = clear_problem(8, 2);
  p.bandwidth = 1;
  for (int32_t i = 0; i < 8; i += 4) {
    problem_edge(&p, i, i + 1, 9), problem_edge(&p, i, i + 2, 9);
    problem_edge(&p, i + 1, i + 3, 9), problem_edge(&p, i + 2, i + 3, 9);
  }
  problem_edges(&p, "3>4:1");
  for (o.seed = 0; o.seed < 20; o.seed++) {
    CHECK_OK(place(&p, "metis", &o, &r, NULL));
    const int32_t *d = berth_placement_device(r);
    CHECK(d[0] == d[1] && d[1] == d[2] && d[2] == d[3] && d[4] == d[5] && d[5] == d[6]
          && d[6] == d[7] && d[0] != d[4]);
    RELEASE(r);
  }
  CASE("metis: pins move whole neighbourhoods only as far as they must");
  p.pin[0] = 1, p.pin[4] = 0;
  CHECK_OK(place(&p, "metis", NULL, &r, NULL));
  CHECK(berth_placement_device(r)[0] == 1 && berth_placement_device(r)[4] == 0);
  RELEASE(r);
  CASE("metis: parts that talk much are put on near devices") test_near();
  CASE("metis: one device, no edges, fewer ops than devices");
  problem_clear(&p, 3, 1);
  problem_edges(&p, "0>1:1");
  expect(&p, "metis", NULL, "000", 3);
  problem_clear(&p, 5, 2);
  set_time(&p, 0, 4);
  expect(&p, "metis", NULL, "01111", 4);
  problem_clear(&p, 2, 4);
  problem_edges(&p, "0>1:0");
  CHECK_OK(place(&p, "metis", NULL, &r, NULL));
  RELEASE(r);
  CASE("metis: all times zero");
  problem_clear(&p, 6, 3);
  for (int32_t i = 0; i < 6; i++) set_time(&p, i, 0);
  for (int32_t i = 1; i < 6; i++) problem_edge(&p, i - 1, i, 0);
  CHECK_OK(place(&p, "metis", NULL, &r, NULL));
  RELEASE(r);
}

/* Two lattices of 10 x 8 ops and one edge between them: large enough for METIS's k-way method. */
static berth_cost *lattices(void) {
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < 160; i++) must_text(b, "1p1");
  for (int32_t i = 0; i < 160; i++) {
    if (i % 8 < 7) must_add_edge(b, i, i + 1, 5);
    if (i % 80 < 72) must_add_edge(b, i, i + 8, 5);
  }
  must_add_edge(b, 79, 80, 1);
  berth_graph *g = must_graph_builder_finish(b);
  /* 80 for good, and some 90 live at once: two lattices never fit */
  berth_topology *t = must_mesh(2, 170, 1, 0);
  berth_cost *c = must_cost_new(g, t, NULL);
  RELEASE(g, t, b);
  return c;
}

static int cuts_lattices(const int32_t *d) {
  for (int32_t i = 0; i < 160; i++) {
    if (d[i] != d[i / 80 * 80]) return 0;
  }
  return d[0] != d[80];
}

TEST("metis, k-way: finds the one edge; rand() goes on as if nothing had been") {
  berth_cost *c = lattices();
  berth_place_options o = berth_place_default(NULL);
  o.memory = BERTH_MEMORY_INFERENCE;
  srand(5);
  int first = rand(), second = rand();
  srand(5);
  CHECK(rand() == first);
  for (o.seed = 0; o.seed < 5; o.seed++) {
    berth_placement *r = must_place(c, "metis", &o);
    CHECK(cuts_lattices(berth_placement_device(r)));
  }
  CHECK(rand() == second);
}

static berth_status metis_lattices(void) {
  let_pass();
  berth_place_options o = berth_place_default(NULL);
  o.memory = BERTH_MEMORY_INFERENCE;
  o.seed = 5;
  berth_cost *c = lattices();
  berth_placement *r = NULL;
  refuse_from_here();
  berth_status st = berth_place(c, "metis", &o, &r, NULL);
  RELEASE(r);
  return st;
}

TEST("metis, k-way: refused allocations") { CHECK(refuse_bare(metis_lattices, 1) > 10); }

TEST("memory total: copies of tensors count on the consumer's device") {
  problem p;
  /* 0 -> 1 of 4 bytes, kept. d0 is full with op 0's output; op 1 (2 bytes) fits on d1 only without
   * the copy of 4. */
  problem_clear(&p, 2, 2);
  problem_edges(&p, "0>1:4");
  p.resident = 1;
  p.bandwidth = 1;
  p.param[1] = 2;
  p.memory[0] = 5, p.memory[1] = 5;
  berth_obstacle why;
  berth_placement *r = NULL;
  CHECK_STATUS(place(&p, "round-robin", NULL, &r, &why), BERTH_EINFEASIBLE);
  CHECK_NEAR(why.missing, 1, 0);
  p.memory[1] = 6;
  expect(&p, "round-robin", NULL, "01", 6);
}

TEST("devices without routes between them") {
  berth_placement *r = NULL;
  problem p = clear_problem(4, 1);
  problem_edges(&p, "0>1:1 1>2:1");
  berth_graph *g = problem_graph(&p);
  berth_topology *t = must_topology_of_text("1:t0 1:t0");
  berth_cost *c = must_cost_new(g, t, NULL);
  for (int32_t i = 0; i < N_NAMES; i++) {
    if (!CHECK_OK(berth_place(c, names[i], NULL, &r, NULL))) continue;
    CHECK(berth_placement_device(r)[0] == berth_placement_device(r)[1]);
    CHECK(berth_placement_device(r)[1] == berth_placement_device(r)[2]);
    RELEASE(r);
  }
}

/* ---- any problem ---- */

static int keeps_rules(const problem *p, const int32_t *device, int limits) {
  search s = { .p = p, .limits = limits };
  for (int32_t i = 0; i < MOST_OPS; i++) s.device[i] = BERTH_NONE;
  for (int32_t i = 0; i < p->ops; i++) {
    if (device[i] < 0 || device[i] >= p->devices) return 0;
    if (!may_run(&s, i, device[i]) || !has_room(&s, i, device[i])) return 0;
    s.device[i] = device[i];
  }
  return 1;
}

static int plan_is_sound(const problem *p, const berth_placement *r) {
  const double *start = berth_placement_start(r), *finish = berth_placement_finish(r);
  const int32_t *seq = berth_placement_sequence(r), *device = berth_placement_device(r);
  double free_at[MOST_DEVICES] = { 0 }, end = 0;
  for (int32_t i = 0; i < p->ops; i++) {
    int32_t op = seq[i];
    if (i > 0 && start[op] < start[seq[i - 1]]) return 0;
    if (start[op] < free_at[device[op]]) return 0;
    free_at[device[op]] = finish[op];
    end = fmax(end, finish[op]);
  }
  for (int32_t e = 0; e < p->edges; e++) {
    if (start[p->dst[e]] < finish[p->src[e]]) return 0;
  }
  return end == berth_placement_estimate(r);
}

/* Six ops at most: what a placer's own rule cannot fit, the search behind it tries completely. */
static void check_any(const problem *p, uint64_t seed, int *unfit) {
  int fits = !isinf(best_makespan(p, 1));
  *unfit += !fits;
  for (int32_t i = 1; i < N_NAMES; i++) {
    berth_placement *r = NULL, *again = NULL;
    berth_place_options o = berth_place_default(NULL);
    o.seed = seed;
    if (!CHECK_STATUS(place(p, names[i], &o, &r, NULL), fits ? BERTH_OK : BERTH_EINFEASIBLE))
      printf("# %s\n", names[i]);
    if (!r) continue;
    CHECK(keeps_rules(p, berth_placement_device(r), 1));
    CHECK(plan_is_sound(p, r));
    CHECK_OK(place(p, names[i], &o, &again, NULL));
    CHECK(memcmp(berth_placement_device(r), berth_placement_device(again),
                 (size_t)p->ops * sizeof(int32_t))
          == 0);
    RELEASE(again, r);
  }
}

TEST("rules are kept, and infeasible is said exactly when nothing fits") {
  int unfit = 0;
  berth_rng rng = seeded(23, 0);
  for (uint64_t i = 0; i < 600; i++) {
    problem p;
    random_problem(&p, &rng);
    check_any(&p, i, &unfit);
  }
  CHECK(unfit > 50);
}

/* Tensors are kept and copied here; the simulator counts on its own. */
TEST("what is placed under TOTAL does not run out of memory when simulated") {
  int placed = 0, copied = 0;
  berth_rng rng = seeded(31, 0);
  for (uint64_t i = 0; i < 300; i++) {
    problem p;
    random_problem(&p, &rng);
    p.resident = 1;
    p.bandwidth = 1;
    for (int32_t e = 0; e < p.edges; e++) p.bytes[e] = berth_rng_below(&rng, 3);
    for (int32_t d = 0; d < p.devices; d++) p.memory[d] += 2 * berth_rng_below(&rng, 5);
    made m = problem_make(&p);
    for (int32_t k = 0; k < N_NAMES; k++) {
      berth_placement *r = NULL;
      berth_sim_options so = berth_sim_default(NULL);
      berth_place_options total = berth_place_default(NULL);
      if (berth_place(m.c, names[k], &total, &r, NULL) != BERTH_OK) continue;
      so.memory = BERTH_MEMORY_TOTAL;
      berth_result *run = must_simulate(m.c, berth_placement_device(r), &so);
      berth_oom oom;
      CHECK(!berth_result_oom(run, &oom));
      CHECK_NEAR(berth_result_makespan(run), berth_placement_estimate(r), 0);
      const berth_transfer *sent;
      copied += berth_result_transfers(run, &sent) > 0;
      placed++;
      RELEASE(run, r);
    }
    unmake(&m);
  }
  CHECK(placed > 500 && copied > 100);
  printf("# %d placed, %d with copies\n", placed, copied);
}

/* ---- the door ---- */

TEST("unknown placers and variants are refused with a list") {
  problem p;
  berth_placement *r = NULL;
  problem_clear(&p, 2, 2);
  CHECK_STATUS(place(&p, "hetf", NULL, &r, NULL), BERTH_EINVAL);
  CHECK(strstr(berth_errmsg(ctx), "heft,") && strstr(berth_errmsg(ctx), "hetf"));
  CHECK_STATUS(place(&p, NULL, NULL, &r, NULL), BERTH_EINVAL);
  berth_place_options o = berth_place_default(NULL);
  o.variant = "x";
  CHECK_SAYS(place(&p, "m-topo", &o, &r, NULL), BERTH_EINVAL, "\"baechi-pt\"");
  CASE("options are checked");
  o = berth_place_default(NULL), o.quantum = NAN;
  CHECK_STATUS(place(&p, "single", &o, &r, NULL), BERTH_EINVAL);
  o = berth_place_default(NULL), o.param_multiple = -1;
  CHECK_STATUS(place(&p, "single", &o, &r, NULL), BERTH_EINVAL);
  o = berth_place_default(NULL), o.device = 2;
  CHECK_STATUS(place(&p, "single", &o, &r, NULL), BERTH_EINVAL);
  o = berth_place_default(NULL), o.tries = 0;
  CHECK_STATUS(place(&p, "single", &o, &r, NULL), BERTH_EINVAL);
  o = berth_place_default(NULL), o.links = (berth_links)17;
  CHECK_STATUS(place(&p, "single", &o, &r, NULL), BERTH_EINVAL);
  CHECK_STATUS(place(&p, "policy", NULL, &r, NULL), BERTH_EINVAL);
  CASE("each placer is listed, and has \"\" as its first variant");
  int n = 0;
  for (const berth_placer *const *row = berth_placers(); *row; row++, n++)
    CHECK((*row)->variants[0].name[0] == 0);
  CHECK(n > 0);
  CHECK(berth_placer_find("nothing") == NULL);
}

TEST("a placement from arrays") {
  int32_t device[] = { 1, 0, 1 }, sequence[] = { 2, 0, 1 }, twice[] = { 2, 0, 2 },
          far[] = { 0, 1, 3 }, bad[] = { 0, -1, 0 };
  berth_placement *p = must_placement_new(3, device, sequence, NULL, NAN);
  CHECK(berth_placement_ops(p) == 3 && berth_placement_device(p)[2] == 1
        && berth_placement_sequence(p)[0] == 2);
  CHECK(isnan(berth_placement_estimate(p)) && !berth_placement_start(p)
        && !berth_placement_finish(p));
  CHECK_TEXT(berth_placement_placer(p), "");
  berth_placement_retain(p);
  RELEASE(p, p);
  p = NULL;
  CHECK_STATUS(berth_placement_new(ctx, 3, device, twice, NULL, NAN, &p), BERTH_EINVAL);
  CHECK_STATUS(berth_placement_new(ctx, 3, device, far, NULL, NAN, &p), BERTH_EINVAL);
  CHECK_STATUS(berth_placement_new(ctx, 3, bad, NULL, NULL, NAN, &p), BERTH_EINVAL);
  CHECK_STATUS(berth_placement_new(ctx, -1, device, NULL, NULL, NAN, &p), BERTH_EINVAL);
  CHECK_ERROR(berth_placement_new(ctx, 3, device, NULL, NULL, -1, &p), BERTH_EINVAL,
              "estimate: -1 s is negative");
  CHECK(p == NULL);
  p = must_placement_new(3, device, NULL, "by hand", 2.5);
  CHECK(berth_placement_estimate(p) == 2.5);
  CHECK_TEXT(berth_placement_placer(p), "by hand");
  RELEASE(p);
  berth_placement_release(NULL);
}
