/* Topology: building, routes, refusals, memory. */
#include "topology/topology_internal.h"
#include "refusals.h"

static void add_devices(berth_topology_builder *b, int32_t n) {
  berth_device d = berth_device_default();
  for (int32_t i = 0; i < n; i++)
    must_add_device(b, &d);
}
static int32_t duplex(berth_topology_builder *b, int32_t a, int32_t c, double bandwidth,
                      double latency) {
  berth_link l = { bandwidth, latency };
  int32_t id = -1;
  CHECK_OK(berth_topology_builder_add_duplex(b, a, c, &l, &id));
  return id;
}
static void check_path(const berth_topology *t, int32_t a, int32_t b, double bandwidth,
                       double latency) {
  berth_link l = must_topology_path(t, a, b);
  CHECK(l.bandwidth == bandwidth && l.latency == latency);
}
static int route_is(const berth_topology *t, int32_t a, int32_t b, int32_t n, const int32_t *want) {
  const int32_t *links;
  return berth_topology_route(t, a, b, &links) == n
         && (n == 0 || memcmp(links, want, (size_t)n * sizeof *want) == 0);
}

TEST("fewest links, then widest, then quickest, then lowest ids") {
  berth_topology_builder *b = must_topology_builder_new();
  add_devices(b, 3);
  int32_t s1 = must_topology_builder_add_switch(b, NULL);
  int32_t s2 = must_topology_builder_add_switch(b, NULL);
  int32_t s3 = must_topology_builder_add_switch(b, NULL);
  duplex(b, 0, s1, 4, 1);  /* 0 1 */
  duplex(b, s1, 1, 4, 1);  /* 2 3 */
  duplex(b, 0, s2, 8, 5);  /* 4 5: wider, slower */
  duplex(b, s2, 1, 8, 5);  /* 6 7 */
  duplex(b, 0, s3, 8, 5);  /* 8 9: the same with higher ids */
  duplex(b, s3, 1, 8, 5);  /* 10 11 */
  duplex(b, 1, 2, 1, 0);   /* 12 13: narrow; 0 -> 2 is one link longer and takes the quick head */
  berth_topology *t = must_topology_builder_finish(b);
  CHECK(route_is(t, 0, 1, 2, (int32_t[]){ 4, 6 }));
  check_path(t, 0, 1, 8, 10);
  CHECK(route_is(t, 0, 2, 3, (int32_t[]){ 0, 2, 12 }));
  check_path(t, 0, 2, 1, 2);
  CHECK(route_is(t, 1, 2, 1, (int32_t[]){ 12 }));
  CHECK(route_is(t, 2, 2, 0, NULL));
  check_path(t, 2, 2, INFINITY, 0);
}

TEST("a route by hand holds, if it joins up") {
  berth_topology_builder *b = must_topology_builder_new();
  add_devices(b, 3);
  duplex(b, 0, 1, 4, 1); /* 0 1 */
  duplex(b, 1, 2, 2, 1); /* 2 3 */
  duplex(b, 0, 2, 8, 1); /* 4 5 */
  CHECK_ERROR(berth_topology_builder_set_route(b, 0, 1, 1, (int32_t[]){ 2 }), BERTH_EINVAL,
              "route from device 0 to device 1: link 2 starts at \"d1\", not at \"d0\"");
  CHECK_ERROR(berth_topology_builder_set_route(b, 0, 1, 1, (int32_t[]){ 4 }), BERTH_EINVAL,
              "route from device 0 to device 1 ends at \"d2\"");
  CHECK_STATUS(berth_topology_builder_set_route(b, 0, 1, 1, (int32_t[]){ 6 }), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_builder_set_route(b, 0, 1, 0, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_builder_set_route(b, 0, 0, 2, (int32_t[]){ 0, 1 }), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_builder_set_route(b, 0, 3, 1, (int32_t[]){ 0 }), BERTH_EINVAL);
  CHECK_OK(berth_topology_builder_set_route(b, 0, 1, 1, (int32_t[]){ 0 }));
  CHECK_OK(berth_topology_builder_set_route(b, 0, 1, 2, (int32_t[]){ 4, 3 }));
  berth_topology *t = must_topology_builder_finish(b);
  CHECK(route_is(t, 0, 1, 2, (int32_t[]){ 4, 3 }) && t->route_set[berth_i_pair(t, 0, 1)] == 1);
  check_path(t, 0, 1, 2, 2);
  CHECK(route_is(t, 1, 0, 1, (int32_t[]){ 1 }) && t->route_set[berth_i_pair(t, 1, 0)] == 0);
}

TEST("unreachable is said; one-way links lead one way; infinite bandwidth is legal") {
  berth_link l = { INFINITY, 0 };
  berth_topology_builder *b = must_topology_builder_new();
  add_devices(b, 3);
  CHECK_OK(berth_topology_builder_add_link(b, 0, 1, &l, NULL));
  berth_topology *t = must_topology_builder_finish(b);
  check_path(t, 0, 1, INFINITY, 0);
  CHECK(berth_topology_route(t, 1, 0, NULL) == -1 && berth_topology_route(t, 0, 2, NULL) == -1);
  CHECK_ERROR(berth_topology_path(t, 1, 0, &l), BERTH_EUNREACHABLE,
              "no route from device \"d1\" to device \"d0\"");
  CHECK_STATUS(berth_topology_path(t, 1, 3, &l), BERTH_EINVAL);
  CHECK(berth_topology_route(t, -1, 0, NULL) == -1);
}

static void refuse_device(berth_topology_builder *b, double *field, double bad, double good,
                          const berth_device *d) {
  *field = bad;
  CHECK_STATUS(berth_topology_builder_add_device(b, d, NULL, NULL), BERTH_EINVAL);
  *field = good;
}

TEST("refuses what makes no sense, with the values") {
  berth_topology *t = NULL;
  berth_device d = berth_device_default();
  berth_link l = { 0, 0 };
  berth_topology_builder *b = must_topology_builder_new();
  CHECK_STATUS(berth_topology_builder_finish(b, &t), BERTH_EINVAL);
  refuse_device(b, &d.speed, 0, 1, &d);
  CHECK_TEXT(berth_errmsg(ctx), "device \"d0\": speed 0 must be positive and finite");
  refuse_device(b, &d.speed, INFINITY, 1, &d);
  refuse_device(b, &d.speed, NAN, 1, &d);
  refuse_device(b, &d.flops, -1, 0, &d);
  refuse_device(b, &d.memory, NAN, 1, &d);
  refuse_device(b, &d.memory_bandwidth, -1, 0, &d);
  refuse_device(b, &d.overhead, INFINITY, 0, &d);
  d.machine = -1;
  CHECK_STATUS(berth_topology_builder_add_device(b, &d, NULL, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_builder_add_device(b, NULL, NULL, NULL), BERTH_EINVAL);
  add_devices(b, 2);
  CHECK_ERROR(berth_topology_builder_add_link(b, 0, 1, &l, NULL), BERTH_EINVAL,
              "link 0: bandwidth 0 B/s must be positive (leave the link out if there is none)");
  l.bandwidth = 1;
  CHECK_STATUS(berth_topology_builder_add_link(b, 1, 1, &l, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_builder_add_link(b, 0, 2, &l, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_builder_add_link(b, -1, 0, &l, NULL), BERTH_EINVAL);
  l.latency = INFINITY;
  CHECK_STATUS(berth_topology_builder_add_link(b, 0, 1, &l, NULL), BERTH_EINVAL);
  l.latency = NAN;
  CHECK_STATUS(berth_topology_builder_add_duplex(b, 0, 1, &l, NULL), BERTH_EINVAL);
  CHECK_OK(berth_topology_builder_add_switch(b, "d1", NULL));
  CHECK_ERROR(berth_topology_builder_finish(b, &t), BERTH_EINVAL,
              "nodes 1 and 2 are both named \"d1\"");
  CHECK(t == NULL);
}

TEST("gives back what went in, also when the builder is used again") {
  berth_device d = berth_device_default();
  berth_topology_builder *b = must_topology_builder_new();
  CHECK_OK(berth_topology_builder_name(b, "pair"));
  int32_t node = must_topology_builder_add_switch(b, "sw");
  d.name = "gpu";
  d.type = "V100";
  d.memory = 5;
  d.machine = 3;
  int32_t device;
  CHECK_OK(berth_topology_builder_add_device(b, &d, &device, &node));
  CHECK(device == 0 && node == 1);
  CHECK(duplex(b, 1, 0, 7, 2) == 0);
  berth_topology *t = must_topology_builder_finish(b);
  add_devices(b, 1);
  RELEASE(b);
  CHECK_TEXT(berth_topology_name(t), "pair");
  CHECK(berth_topology_devices(t) == 1 && berth_topology_nodes(t) == 2
        && berth_topology_links(t) == 2);
  d = must_topology_device(t, 0);
  CHECK_TEXT(d.name, "gpu");
  CHECK_TEXT(d.type, "V100");
  CHECK(d.memory == 5 && d.machine == 3 && d.speed == 1);
  const char *name;
  CHECK_OK(berth_topology_node(t, 0, &name, &device));
  CHECK_TEXT(name, "sw");
  CHECK(device == BERTH_NONE);
  berth_link l;
  int32_t from, to;
  CHECK_OK(berth_topology_link(t, 1, &from, &to, &l));
  CHECK(from == 0 && to == 1 && l.bandwidth == 7 && l.latency == 2);
  CHECK_STATUS(berth_topology_device(t, 1, &d), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_node(t, 2, NULL, NULL), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_link(t, -1, NULL, NULL, NULL), BERTH_EINVAL);
  berth_topology_retain(t);
  RELEASE(t, t);
  berth_topology_release(NULL);
  CHECK(berth_ctx_memory(ctx) == 0);
}

/* Naive reference: all simple paths, compared by the rule as it is written. */
typedef struct best_path {
  const berth_topology *t;
  int32_t goal, links[16], n, found[16], n_found;
  uint8_t seen[16];
  berth_link value;
} best_path;

static int is_better(const best_path *s, berth_link v) {
  if (s->n_found < 0) return 1;
  if (s->n != s->n_found) return s->n < s->n_found;
  if (v.bandwidth != s->value.bandwidth) return v.bandwidth > s->value.bandwidth;
  if (v.latency != s->value.latency) return v.latency < s->value.latency;
  for (int32_t i = 0; i < s->n; i++)
    if (s->links[i] != s->found[i]) return s->links[i] < s->found[i];
  return 0;
}
static void walk(best_path *s, int32_t node, berth_link v) {
  if (node == s->goal) {
    if (!is_better(s, v)) return;
    memcpy(s->found, s->links, sizeof s->links);
    s->n_found = s->n;
    s->value = v;
    return;
  }
  s->seen[node] = 1;
  for (int32_t k = 0; k < s->t->n_links; k++) {
    berth_link w = { fmin(v.bandwidth, s->t->links[k].bandwidth),
                     v.latency + s->t->links[k].latency };
    if (s->t->from[k] != node || s->seen[s->t->to[k]]) continue;
    s->links[s->n++] = k;
    walk(s, s->t->to[k], w);
    s->n--;
  }
  s->seen[node] = 0;
}

static berth_topology *random_topology(berth_rng *rng) {
  int32_t n = 1 + berth_rng_below(rng, 6), v = n + berth_rng_below(rng, 3),
          m = berth_rng_below(rng, 3 * v);
  berth_topology_builder *b = must_topology_builder_new();
  add_devices(b, n);
  for (int32_t i = n; i < v; i++)
    CHECK_OK(berth_topology_builder_add_switch(b, NULL, NULL));
  for (int32_t i = 0; i < m; i++) {
    berth_link l = { 1 + berth_rng_below(rng, 3), berth_rng_below(rng, 3) };
    int32_t from = berth_rng_below(rng, v), to = berth_rng_below(rng, v);
    if (from != to) CHECK_OK(berth_topology_builder_add_link(b, from, to, &l, NULL));
  }
  return must_topology(b);
}

static void check_against_reference(const berth_topology *t, int32_t a, int32_t b) {
  best_path s = { .t = t, .goal = t->device_node[b], .n_found = -1 };
  berth_link none = { INFINITY, 0 };
  size_t pair = berth_i_pair(t, a, b);
  walk(&s, t->device_node[a], none);
  CHECK(berth_topology_route(t, a, b, NULL) == s.n_found);
  if (s.n_found < 0) {
    CHECK(isinf(t->latency[pair]));
    return;
  }
  CHECK(route_is(t, a, b, s.n_found, s.found));
  CHECK(t->latency[pair] == s.value.latency && t->bandwidth[pair] == s.value.bandwidth);
}

TEST("routes of 2000 random topologies equal those of an exhaustive search") {
  berth_rng rng = seeded(11, 0);
  for (int round = 0; round < 2000; round++) {
    berth_topology *t = random_topology(&rng);
    for (int32_t a = 0; a < t->n_devices; a++)
      for (int32_t b = 0; b < t->n_devices; b++) check_against_reference(t, a, b);
    RELEASE(t);
  }
}

TEST("a ring of 1000 devices takes under 40 MB, a star under 50 MB") {
  berth_device d = berth_device_default();
  berth_link l = { 1e9, 1e-6 };
  berth_topology *t;
  CHECK_OK(berth_topology_ring(ctx, 1000, &d, &l, &t));
  CHECK(berth_topology_route(t, 0, 500, NULL) == 500 && berth_topology_route(t, 0, 999, NULL) == 1);
  printf("# ring: %.1f MB\n", (double)berth_ctx_memory(ctx) / 1e6);
  CHECK(berth_ctx_memory(ctx) < 40000000);
  RELEASE(t);
  CHECK_OK(berth_topology_star(ctx, 1000, &d, &l, &t));
  printf("# star: %.1f MB\n", (double)berth_ctx_memory(ctx) / 1e6);
  CHECK(berth_ctx_memory(ctx) < 50000000);
  RELEASE(t);
}

/* Node 2 is a switch. @param by_hand the sum is that of a route given by hand: a quicker one is
 * there */
static void check_infinite(int by_hand) {
  berth_topology *t = NULL;
  berth_topology_builder *b = must_topology_builder_new();
  add_devices(b, 2);
  CHECK_OK(berth_topology_builder_add_switch(b, "s", NULL));
  duplex(b, 0, 2, 1, 1e308);
  duplex(b, 2, 1, 1, 1e308);
  if (by_hand) {
    duplex(b, 0, 1, 1, 0);
    CHECK_OK(berth_topology_builder_set_route(b, 0, 1, 2, (int32_t[]){ 0, 2 }));
  }
  CHECK_STATUS(berth_topology_builder_finish(b, &t), BERTH_EINVAL);
  CHECK(strstr(berth_errmsg(ctx),
               "route from \"d0\" to \"d1\": the latencies of its 2 links add up to inf s")
        != NULL);
  CHECK(strstr(berth_errmsg(ctx), "has 1e+308 s") != NULL && t == NULL);
}
TEST("latencies that add up to infinity are no missing route") {
  check_infinite(0);
  check_infinite(1);
}

static int stop(void *ud) {
  (void)ud;
  return 1;
}
TEST("routing stops when the hook asks for it") {
  berth_hooks h = { NULL, NULL, NULL, stop, NULL, NULL };
  berth_topology *t = NULL;
  hooked(&h);
  CHECK_STATUS(mesh_of(3, INFINITY, 1, 0, &t), BERTH_EINTERRUPT);
  CHECK(t == NULL && berth_ctx_memory(ctx) == 0);
  hooked(NULL);
}

static berth_status build_all(void) {
  berth_topology_builder *b = NULL;
  berth_topology *t = NULL, *machine = NULL;
  berth_device d = berth_device_default();
  berth_link l = { 4, 1 };
  berth_status st = berth_topology_builder_new(ctx, &b);
  TRY(st, berth_topology_builder_name(b, "all"));
  for (int i = 0; i < 5 && st == BERTH_OK; i++)
    st = berth_topology_builder_add_device(b, &d, NULL, NULL);
  TRY(st, berth_topology_builder_add_switch(b, NULL, NULL));
  for (int i = 0; i < 5 && st == BERTH_OK; i++)
    st = berth_topology_builder_add_duplex(b, i, 5, &l, NULL);
  TRY(st, berth_topology_builder_set_route(b, 0, 1, 2, (int32_t[]){ 0, 3 }));
  TRY(st, berth_topology_builder_finish(b, &t));
  d.type = "gpu";
  TRY(st, berth_topology_dgx1(ctx, &d, &l, &l, &machine));
  RELEASE(machine, t, b);
  return st;
}

TEST_REFUSALS(build_all)
