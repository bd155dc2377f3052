/* List placers against worked examples of their papers and against tables of makespans in a folder
 * of data beside the project. */
#include "must.h"

/* ---- the ten tasks of the HEFT paper (Topcuoglu, Hariri, Wu 2002) ---- */

static berth_cost *topcuoglu(void) {
  static const double times[10][3] = { { 14, 16, 9 }, { 13, 19, 18 }, { 11, 13, 19 },
                                       { 13, 8, 17 }, { 12, 13, 10 }, { 13, 16, 9 },
                                       { 7, 15, 11 }, { 5, 11, 14 },  { 18, 12, 20 },
                                       { 21, 7, 16 } };
  static const int edges[15][3] = { { 1, 2, 18 },  { 1, 3, 12 },  { 1, 4, 9 },  { 1, 5, 11 },
                                    { 1, 6, 14 },  { 2, 8, 19 },  { 2, 9, 16 }, { 3, 7, 23 },
                                    { 4, 8, 27 },  { 4, 9, 23 },  { 5, 9, 13 }, { 6, 8, 15 },
                                    { 7, 10, 17 }, { 8, 10, 11 }, { 9, 10, 13 } };
  static const char *const types[] = { "p1", "p2", "p3" };
  berth_graph_builder *b;
  berth_link link = { 1, 0 };
  berth_graph_builder_new(ctx, &b);
  berth_graph_builder_types(b, 3, types);
  for (int i = 0; i < 10; i++) {
    berth_op op = berth_op_default();
    op.seconds = times[i];
    must_add_op(b, &op);
  }
  for (int i = 0; i < 15; i++)
    berth_graph_builder_connect(b, edges[i][0] - 1, edges[i][1] - 1, edges[i][2], NULL);
  berth_graph *g = must_graph(b);
  berth_topology_builder *tb;
  berth_topology_builder_new(ctx, &tb);
  for (int i = 0; i < 3; i++) {
    berth_device d = berth_device_default();
    d.type = types[i];
    berth_topology_builder_add_device(tb, &d, NULL, NULL);
    for (int j = 0; j < i; j++) berth_topology_builder_add_duplex(tb, j, i, &link, NULL);
  }
  berth_topology *t = must_topology(tb);
  berth_cost *cost = must_cost_new(g, t, NULL);
  RELEASE(g, t);
  return cost;
}

static double estimate(berth_cost *cost, const char *placer, berth_average averages) {
  berth_place_options o = berth_place_default(NULL);
  o.averages = averages;
  berth_placement *p = must_place(cost, placer, &o);
  double value = berth_placement_estimate(p);
  RELEASE(p);
  return value;
}

TEST("published example: HEFT 80, CPOP 86; PEFT 85") {
  berth_cost *cost = topcuoglu();
  CHECK_NEAR(estimate(cost, "heft", BERTH_AVERAGE_TEXTBOOK), 80, 1e-9);
  CHECK_NEAR(estimate(cost, "cpop", BERTH_AVERAGE_TEXTBOOK), 86, 1e-9);
  CHECK_NEAR(estimate(cost, "peft", BERTH_AVERAGE_TEXTBOOK), 85, 1e-9);
}

/* x (1 s) -> w (2 s, pinned to device 1) -5 s-> y (1 s). By SAGA's ranks x and y are equal, 10 s,
 * and w is above: only x and y are critical, and they go to device 0, which costs y the transfer.
 * By the textbook all three are, and device 1 alone can run them. */
TEST("CPOP, by SAGA's averages: ops of the entry's rank are critical") {
  berth_cost *cost = must_cost_of_text("1 2@1 1 0>1:0 1>2:5", 2, INFINITY, 1);
  CHECK_NEAR(estimate(cost, "cpop", BERTH_AVERAGE_SAGA), 9, 0);
  CHECK_NEAR(estimate(cost, "cpop", BERTH_AVERAGE_TEXTBOOK), 4, 0);
}

/* ---- tables ---- */

static int split(char *line, char **field, int most) {
  int n = 0;
  for (char *f = strtok(line, ",\r\n"); f && n < most; f = strtok(NULL, ",\r\n")) field[n++] = f;
  return n;
}

static const char *placer_of(const char *algorithm) {
  static const char *const names[][2] = { { "HEFT", "heft" },
                                          { "CPOP", "cpop" },
                                          { "PEFT", "peft" },
                                          { "ETF", "etf" },
                                          { "MinMin", "minmin" } };
  for (int i = 0; i < 5; i++) {
    if (strcmp(names[i][0], algorithm) == 0) return names[i][1];
  }
  return NULL;
}

/* @return rows that were compared */
static int saga_table(const char *shared, const char *table, berth_average averages) {
  char path[4096];
  int rows = 0;
  snprintf(path, sizeof path, "%s/data/saga_reference/%s", shared, table);
  FILE *f;
  if (!CHECK((f = fopen(path, "r")) != NULL)) return 0;
  char line[512], *field[8];
  while (fgets(line, sizeof line, f)) {
    berth_bundle b = { 0 };
    berth_cost *cost = NULL;
    const char *placer;
    if (split(line, field, 8) < 5 || !(placer = placer_of(field[3]))) continue;
    if (averages == BERTH_AVERAGE_SAGA && strcmp(placer, "heft") != 0
        && strcmp(placer, "cpop") != 0)
      continue;
    snprintf(path, sizeof path, "%s/data/saga_reference/%s.json", shared, field[0]);
    if (CHECK_OK(berth_load(ctx, path, NULL, &b))
        && CHECK_OK(berth_cost_new(b.graph, b.topology, NULL, &cost))) {
      if (!CHECK_NEAR(estimate(cost, placer, averages), atof(field[4]), 1e-6))
        printf("# %s %s\n", field[0], placer);
      rows++;
    }
    RELEASE(cost, &b);
  }
  fclose(f);
  return rows;
}

static void saga(const char *table, berth_average averages, int rows) {
  const char *shared = check_shared();
  if (!shared) {
    SKIP("no folder ../shared beside the project");
    return;
  }
  CHECK(saga_table(shared, table, averages) == rows);
}

/* ---- Standard Task Graphs ---- */

static void stg_row(const char *shared, const char *file, int procs, double want) {
  char path[4096];
  berth_bundle b = { 0 };
  berth_cost *cost = NULL;
  berth_device d = berth_device_default();
  berth_link l = { INFINITY, 0 };
  snprintf(path, sizeof path, "%s/data/stg/%s", shared, file);
  berth_topology *t = must_topology_mesh(procs, &d, &l);
  if (CHECK_OK(berth_load(ctx, path, NULL, &b))
      && CHECK_OK(berth_cost_new(b.graph, t, NULL, &cost))) {
    if (!CHECK_NEAR(estimate(cost, "blevel", BERTH_AVERAGE_TEXTBOOK), want, 0))
      printf("# %s on %d\n", file, procs);
  }
  RELEASE(cost, &b);
}

static void stg(const char *table, int column, int rows) {
  const char *shared = check_shared();
  int n = 0;
  if (!shared) {
    SKIP("no folder ../shared beside the project");
    return;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/data/stg/%s", shared, table);
  FILE *f;
  if (!CHECK((f = fopen(path, "r")) != NULL)) return;
  char line[512], *field[12];
  while (fgets(line, sizeof line, f)) {
    if (split(line, field, 12) <= column || atoi(field[2]) < 1) continue;
    stg_row(shared, field[0], atoi(field[2]), atof(field[column]));
    n++;
  }
  fclose(f);
  CHECK(n == rows);
}

/* ---- critical path ---- */

TEST("critical path: more tries are never worse, the same seed gives the same answer") {
  berth_cost *cost = topcuoglu();
  berth_place_options o = berth_place_default(NULL);
  double last = INFINITY;
  for (o.tries = 1; o.tries <= 64; o.tries *= 4) {
    berth_placement *p = NULL, *q = NULL;
    p = must_place(cost, "critical-path", &o);
    q = must_place(cost, "critical-path", &o);
    CHECK(berth_placement_estimate(p) <= last);
    CHECK(memcmp(berth_placement_device(p), berth_placement_device(q), 10 * sizeof(int32_t)) == 0);
    last = berth_placement_estimate(p);
  }
}

/* By load alone three equal ops without inputs take turns on three devices, and so do their
 * consumers, wherever their inputs are. */
TEST("critical path, variant code: places by load alone") {
  berth_place_options o = berth_place_default(NULL);
  int count[3] = { 0, 0, 0 };
  berth_cost *cost = must_cost_of_text("1 1 1", 3, INFINITY, 1);
  o.variant = "code";
  berth_placement *p = must_place(cost, "critical-path", &o);
  for (int i = 0; i < 3; i++) count[berth_placement_device(p)[i]]++;
  CHECK(count[0] == 1 && count[1] == 1 && count[2] == 1);
  CHECK_NEAR(berth_placement_estimate(p), 1, 0);
  /* order is none of its business */
  CHECK(berth_placement_sequence(p) == NULL && berth_placement_start(p) == NULL);
}

TEST("textbook makespans of twelve instances") {
  saga("textbook_makespans.csv", BERTH_AVERAGE_TEXTBOOK, 60);
}

TEST("SAGA's makespans of HEFT and CPOP by SAGA's averages") {
  saga("saga_makespans.csv", BERTH_AVERAGE_SAGA, 20);
}

TEST("list scheduling by b-level: 720 rows of the Standard Task Graph Set") {
  stg("optimum.csv", 9, 720);
}
TEST("list scheduling by b-level: application graphs") { stg("applications.csv", 6, 15); }
