/* Prices of collectives by every algorithm, by hand; the lines of TAG; groups; refusals. */
#include "must.h"
#include <cJSON.h>

enum { KINDS = BERTH_PARAMETER_SERVER + 1 };

static berth_graph *members(int32_t n, double bytes) {
  static const int32_t ids[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < n; i++) must_text(b, "1");
  for (int32_t k = 0; k < KINDS; k++) {
    berth_collective c = { (berth_collective_kind)k, bytes, 1, n, ids, 0, NULL };
    must_add_collective(b, &c);
  }
  return must_graph(b);
}

static berth_status try_cost(berth_graph *g, berth_topology *t, const berth_cost_model *m,
                             berth_cost **out) {
  berth_status st = berth_cost_new(g, t, m, out);
  RELEASE(g, t);
  return st;
}
static berth_cost *price(berth_graph *g, berth_topology *t, const berth_cost_model *m) {
  berth_cost *c = NULL;
  CHECK_OK(try_cost(g, t, m, &c));
  return OWNED(c);
}
static berth_topology *mesh(int32_t n, double bandwidth, double latency) {
  return must_mesh(n, INFINITY, bandwidth, latency);
}
static void check_price(const berth_cost *c, int32_t k, int32_t n, double want,
                        berth_collective_algorithm how) {
  static const int32_t at[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  berth_collective_algorithm got = BERTH_COLLECTIVE_AUTO;
  double s = -1;
  CHECK_OK(berth_cost_collective_by(c, k, n, at, &s, &got));
  CHECK_NEAR(s, want, 1e-9 * (1 + want));
  if (!CHECK(got == how)) printf("# kind %d by %s\n", (int)k, berth_collective_algorithm_name(got));
}

/* 96 B at 8 B/s: 12 s, latency 0.5 s. Kinds in their order; NAN: by RING. */
typedef struct row {
  berth_collective_algorithm how;
  int32_t n;
  double seconds[KINDS];
} row;

TEST("by hand: four devices and less") {
  const double none = (double)NAN, two4 = 2 + 12 + 2 * sqrt(24);
  const row rows[] = {
    { BERTH_COLLECTIVE_RING, 4, { 3 + 18, 1.5 + 36, 1.5 + 9, 1.5 + 12, 1.5 + 9, 3, 75 } },
    { BERTH_COLLECTIVE_TREE, 4, { 50, 2 + 36 + 96, 2 + 2.75 * 12, 25, none, 2, none } },
    { BERTH_COLLECTIVE_TREE, 3, { 50, 2 + 24 + 72, 2 + 2 * 12 + 8, 25, none, 2, none } },
    { BERTH_COLLECTIVE_DOUBLE_TREE, 4, { 2 * two4, none, none, two4, none, 2, none } },
    { BERTH_COLLECTIVE_HALVING, 4, { 2 + 18, 1 + 36, 1 + 9, 2 + 18, 1 + 12, 1, none } },
    { BERTH_COLLECTIVE_HALVING,
      3,
      { 1 + 12 + 25, 1 + 24, 0.5 + 6 + 1 + 16, 2 + 16, 1 + 8, 1, none } },
    { BERTH_COLLECTIVE_HALVING, 8, { 3 + 21, 1.5 + 84, 1.5 + 10.5, 3 + 21, 1.5 + 18, 1.5, none } },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int32_t n = rows[i].n;
    berth_cost_model m = { .collective_algorithm = rows[i].how };
    berth_cost *c = price(members(n, 96), mesh(8, 8, 0.5), &m);
    berth_cost *ring = price(members(n, 96), mesh(8, 8, 0.5), NULL);
    for (int32_t k = 0; k < KINDS; k++) {
      double other = 0, want = rows[i].seconds[k];
      static const int32_t at[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
      CHECK_OK(berth_cost_collective(ring, k, n, at, &other));
      check_price(c, k, n, isnan(want) ? other : want,
                  isnan(want) ? BERTH_COLLECTIVE_RING : rows[i].how);
    }
  }
  CASE("two trees: at least one block");
  {
    berth_cost_model m = { .collective_algorithm = BERTH_COLLECTIVE_DOUBLE_TREE };
    berth_cost *c = price(members(4, 0.8), mesh(4, 8, 0.5), &m);
    check_price(c, BERTH_BROADCAST, 4, 5 * 0.6, BERTH_COLLECTIVE_DOUBLE_TREE);
  }
}

/* Two machines of two devices: inside 16 B/s and 0.25 s, across (over a switch) 4 B/s and 1 s. */
static berth_topology *machines(void) {
  return must_topology_of_text("1 1 1 1 s 0-4:4,0.5 1-4:4,0.5 2-4:4,0.5 3-4:4,0.5 0-1:16,0.25 "
                                    "2-3:16,0.25");
}

/* 96 B: 6 s inside, 24 s across. */
TEST("groups: found by bandwidth, or given") {
  static const int32_t given[] = { 0, 0, 7, 7, -1 }; /* the last is of no device */
  const double allreduce = 2 * 6.25 + (2 * 1 + 24);
  for (int way = 0; way < 2; way++) {
    berth_cost_model m = { .collective_algorithm = BERTH_COLLECTIVE_HIERARCHICAL,
                           .device_group = way ? given : NULL };
    berth_cost *c = price(members(4, 96), machines(), &m);
    check_price(c, BERTH_ALLREDUCE, 4, allreduce, BERTH_COLLECTIVE_HIERARCHICAL);
    check_price(c, BERTH_BROADCAST, 4, 6.25 + 25, BERTH_COLLECTIVE_HIERARCHICAL);
    check_price(c, BERTH_REDUCESCATTER, 4, 0.5 + 1.5 + 6 + (1 + 12), BERTH_COLLECTIVE_HIERARCHICAL);
    check_price(c, BERTH_ALLGATHER, 4, 0.5 + 6 + 24 + (1 + 48), BERTH_COLLECTIVE_HIERARCHICAL);
    check_price(c, BERTH_BARRIER, 4, 0.5 + 2, BERTH_COLLECTIVE_HIERARCHICAL);
    check_price(c, BERTH_ALLTOALL, 4, 3 + 18, BERTH_COLLECTIVE_RING);
    check_price(c, BERTH_PARAMETER_SERVER, 4, 2 * 6.25 + 4 * 25, BERTH_COLLECTIVE_RING);
  }
  CASE("groups: all alike are one, and go by ring");
  {
    berth_cost_model m = { .collective_algorithm = BERTH_COLLECTIVE_HIERARCHICAL };
    berth_cost *c = price(members(4, 96), mesh(4, 8, 0.5), &m);
    check_price(c, BERTH_ALLREDUCE, 4, 21, BERTH_COLLECTIVE_HIERARCHICAL);
  }
  CASE("auto: the least; ties to the first");
  {
    berth_cost_model m = { .collective_algorithm = BERTH_COLLECTIVE_AUTO };
    berth_cost *c = price(members(4, 96), mesh(4, 8, 0.5), &m);
    check_price(c, BERTH_ALLREDUCE, 4, 20, BERTH_COLLECTIVE_HALVING);
    check_price(c, BERTH_BROADCAST, 4, 13.5, BERTH_COLLECTIVE_RING);
    check_price(c, BERTH_PARAMETER_SERVER, 4, 75, BERTH_COLLECTIVE_RING);
    c = price(members(4, 96), machines(), &m);
    /* 40 s by halving, 42 s by ring */
    check_price(c, BERTH_ALLREDUCE, 4, allreduce, BERTH_COLLECTIVE_HIERARCHICAL);
  }
}

/* Links of 0.5 s: 16 B/s both ways between two devices of three; `out` and `in` B/s from and to the
 * one that stands apart. */
static berth_topology *half_slow(int32_t apart, double out, double in) {
  const int one = (apart + 1) % 3, two = (apart + 2) % 3, it = apart;
  char text[200];
  snprintf(text, sizeof text,
           "1 1 1 %d-%d:16,0.5 %d>%d:%.17g,0.5 %d>%d:%.17g,0.5 %d>%d:%.17g,0.5 %d>%d:%.17g,0.5",
           one, two, it, one, out, it, two, out, one, it, in, two, it, in);
  return must_topology_of_text(text);
}

/* Groups of one and two devices. 96 B: 0.5 + 6 s within the two, before and after; a ring of two
 * groups, 2 0.5 + 24 s. One group of all three would be a ring of three: 4 0.5 + 4/3 24 = 34 s. */
TEST("groups: a device that is slow one way, out or in, stands apart") {
  berth_cost_model m = { .collective_algorithm = BERTH_COLLECTIVE_HIERARCHICAL };
  for (int32_t apart = 0; apart < 3; apart++)
    for (int slow_in = 0; slow_in < 2; slow_in++) {
      berth_topology *t = half_slow(apart, slow_in ? 16 : 4, slow_in ? 4 : 16);
      berth_cost *c = price(members(3, 96), t, &m);
      check_price(c, BERTH_ALLREDUCE, 3, 2 * 6.5 + (1 + 24), BERTH_COLLECTIVE_HIERARCHICAL);
    }
}

static char *read_golden(void) {
  const char *dir = check_shared();
  if (!dir) return NULL;
  char path[4096];
  snprintf(path, sizeof path, "%s/data/tag/golden_allreduce.json", dir);
  FILE *f;
  if (!(f = fopen(path, "rb"))) return NULL;
  char *text = calloc(1, 1 << 16);
  size_t got = fread(text, 1, (1 << 16) - 1, f);
  fclose(f);
  CHECK(got > 0);
  return text;
}

TEST("lines: TAG's values") {
  int compared = 0;
  char *text;
  if (!(text = read_golden())) {
    check_skip("no shared data");
    return;
  }
  cJSON *all = cJSON_Parse(text);
  cJSON *base = cJSON_GetObjectItem(all, "allreduce_base_model_at_2810");
  cJSON *rate, *size;
  cJSON_ArrayForEach(rate, cJSON_GetObjectItem(all, "allreduce_us")) {
    double lines[4];
    for (int i = 0; i < 4; i++)
      lines[i] = cJSON_GetArrayItem(base, i)->valuedouble * 2810 / strtod(rate->string, NULL);
    cJSON_ArrayForEach(size, rate) {
      berth_cost_model m = { .collective_algorithm = BERTH_COLLECTIVE_LINES,
                             .collective_lines = lines };
      berth_cost *c =
          price(members(2, strtod(size->string, NULL) + 1023), mesh(2, 8, 0.5), &m);
      check_price(c, BERTH_ALLREDUCE, 2, size->valuedouble * 1e-6, BERTH_COLLECTIVE_LINES);
      compared++;
      RELEASE(c);
    }
  }
  CHECK(compared == 28);
  cJSON_Delete(all);
  free(text);
}

TEST("refused by name") {
  static const double lines[] = { 1, 2, 3, 4 }, bad[] = { 1, INFINITY, 3, 4 };
  static const int32_t group[] = { 0, 0, 0, -1 };
  const struct {
    berth_cost_model m;
    const char *what;
  } cases[] = {
    { { .collective_algorithm = (berth_collective_algorithm)9 }, "collective_algorithm is 9" },
    { { .collective_algorithm = BERTH_COLLECTIVE_FUNCTION }, "collective_algorithm is 8" },
    { { .collective_algorithm = BERTH_COLLECTIVE_LINES }, "needs collective_lines" },
    { { .collective_algorithm = BERTH_COLLECTIVE_LINES, .collective_lines = bad },
      "collective_lines[1] is inf" },
    { { .collective_algorithm = BERTH_COLLECTIVE_TREE, .collective_lines = lines },
      "collective_lines require" },
    { { .collective_algorithm = BERTH_COLLECTIVE_TREE, .device_group = group },
      "device_group requires" },
    { { .collective_algorithm = BERTH_COLLECTIVE_AUTO, .device_group = group },
      "device_group[3] is -1" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    berth_cost *c = NULL;
    CHECK_STATUS(try_cost(members(4, 96), mesh(4, 8, 0.5), &cases[i].m, &c),
                 BERTH_EINVAL);
    if (!CHECK(strstr(berth_errmsg(ctx), cases[i].what) != NULL))
      printf("# %s\n", berth_errmsg(ctx));
    CHECK(c == NULL);
  }
}

/* ---- bytes on links ---- */

/* Bytes between every two of five devices, groups { 0, 1, 4 } and { 2, 3 }, each with its leader
 * first. */
static void hierarchical_bytes(berth_collective_kind kind, const double (*want)[5]) {
  static const int32_t ops[] = { 0, 1, 2, 3, 4 }, group[] = { 0, 0, 1, 1, 0 };
  berth_cost_model m = { .collective_algorithm = BERTH_COLLECTIVE_HIERARCHICAL,
                         .device_group = group };
  berth_collective k = { kind, 96, 1, 5, ops, 0, NULL };
  berth_topology *t = mesh(5, 8, 0.5);
  berth_graph_builder *b = must_graph_builder_new();
  must_text(b, "1 1 1 1 1");
  must_add_collective(b, &k);
  berth_graph *g = must_graph_builder_finish(b);
  berth_cost *c = must_cost_new(g, t, &m);
  berth_result *r = must_simulate(c, ops, NULL);
  for (int32_t u = 0; u < 5; u++) {
    for (int32_t v = 0; v < 5; v++) {
      const int32_t *link;
      if (u == v || !CHECK(berth_topology_route(t, u, v, &link) == 1)) continue;
      CHECK_NEAR(berth_result_link_bytes(r)[link[0]], want[u][v], 1e-9);
    }
  }
}

/* Chains 0 - 1 - 4 and 2 - 3, and a ring of the leaders 0 and 2. */
TEST("groups: what goes along chains and around the ring of leaders") {
  static const double allreduce[5][5] = { { 0, 96, 96, 0, 0 },
                                          { 96, 0, 0, 0, 96 },
                                          { 96, 0, 0, 96, 0 },
                                          { 0, 0, 96, 0, 0 },
                                          { 0, 96, 0, 0, 0 } };
  static const double allgather[5][5] = { { 0, 480, 288, 0, 0 },
                                          { 192, 0, 0, 0, 480 },
                                          { 288, 0, 0, 480, 0 },
                                          { 0, 0, 96, 0, 0 },
                                          { 0, 96, 0, 0, 0 } };
  hierarchical_bytes(BERTH_ALLREDUCE, allreduce);
  hierarchical_bytes(BERTH_ALLGATHER, allgather);
}
