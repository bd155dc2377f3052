/* Topology: generators and presets, against counts and routes worked out by hand. */
#include "must.h"
#include "topology/topology_internal.h"

static const berth_link slow = { 4, 1 }, fast = { 10, 0.5 };

static int32_t hops(const berth_topology *t, int32_t a, int32_t b) {
  return berth_topology_route(t, a, b, NULL);
}
static void check_size(const berth_topology *t, int32_t devices, int32_t nodes, int32_t links) {
  CHECK(berth_topology_devices(t) == devices);
  CHECK(berth_topology_nodes(t) == nodes);
  CHECK(berth_topology_links(t) == links);
}
static void check_path(const berth_topology *t, int32_t a, int32_t b, double bandwidth,
                       double latency) {
  berth_link l = { 0, 0 };
  CHECK_STATUS(berth_topology_path(t, a, b, &l), BERTH_OK);
  CHECK(l.bandwidth == bandwidth && l.latency == latency);
}
static void check_symmetric(const berth_topology *t) {
  for (int32_t a = 0; a < t->n_devices; a++)
    for (int32_t b = 0; b < t->n_devices; b++) {
      size_t p = berth_i_pair(t, a, b), q = berth_i_pair(t, b, a);
      CHECK(t->route_len[p] >= (a != b) && t->route_len[p] == t->route_len[q]);
      CHECK(t->latency[p] == t->latency[q] && t->bandwidth[p] == t->bandwidth[q]);
    }
}
/* No link twice, none to itself. */
static void check_simple(const berth_topology *t) {
  for (int32_t i = 0; i < t->n_links; i++) {
    CHECK(t->from[i] != t->to[i]);
    for (int32_t j = 0; j < i; j++) CHECK(t->from[i] != t->from[j] || t->to[i] != t->to[j]);
  }
}

static void test_one_level(berth_ctx *ctx, const berth_device *d) {
  TEST("mesh, ring and star, down to one device");
  berth_topology *t = must_topology_mesh(ctx, 4, d, &slow);
  check_size(t, 4, 4, 12);
  check_path(t, 3, 0, 4, 1);
  CHECK_TEXT(t->devices[3].name, "d3");
  check_symmetric(t);
  check_simple(t);
  berth_topology_release(t);
  CHECK_STATUS(berth_topology_mesh(ctx, 1, d, &slow, &t), BERTH_OK);
  check_size(t, 1, 1, 0);
  CHECK(hops(t, 0, 0) == 0);
  berth_topology_release(t);
  for (int32_t n = 1; n <= 3; n++) {
    CHECK_STATUS(berth_topology_ring(ctx, n, d, &slow, &t), BERTH_OK);
    check_size(t, n, n, n == 1 ? 0 : n == 2 ? 2 : 6);
    check_simple(t);
    berth_topology_release(t);
  }
  CHECK_STATUS(berth_topology_ring(ctx, 6, d, &slow, &t), BERTH_OK);
  CHECK(hops(t, 0, 3) == 3 && hops(t, 0, 4) == 2 && hops(t, 5, 0) == 1);
  check_path(t, 0, 3, 4, 3);
  check_symmetric(t);
  berth_topology_release(t);
  CHECK_STATUS(berth_topology_star(ctx, 5, d, &slow, &t), BERTH_OK);
  check_size(t, 5, 6, 10);
  check_path(t, 4, 2, 4, 2);
  berth_topology_release(t);
  CHECK_STATUS(berth_topology_star(ctx, 1, d, &slow, &t), BERTH_OK);
  check_size(t, 1, 2, 2);
  berth_topology_release(t);
}

static void test_pcie(berth_ctx *ctx, const berth_device *d) {
  TEST("PCIe tree: two links below one switch, four across the root");
  berth_topology *t;
  CHECK_STATUS(berth_topology_pcie_tree(ctx, 6, 4, d, &fast, &slow, &t), BERTH_OK);
  check_size(t, 6, 9, 16);
  check_path(t, 0, 3, 10, 1);
  check_path(t, 3, 4, 4, 3);
  CHECK(hops(t, 3, 4) == 4 && hops(t, 4, 5) == 2);
  check_symmetric(t);
  berth_topology_release(t);
  CHECK_STATUS(berth_topology_pcie_tree(ctx, 6, 0, d, &fast, &slow, &t), BERTH_EINVAL);
}

static void test_dgx1(berth_ctx *ctx, const berth_device *d) {
  static const uint8_t bricks[8][8] = { { 0, 1, 1, 2, 2, 0, 0, 0 }, { 1, 0, 2, 1, 0, 2, 0, 0 },
                                        { 1, 2, 0, 2, 0, 0, 1, 0 }, { 2, 1, 2, 0, 0, 0, 0, 1 },
                                        { 2, 0, 0, 0, 0, 1, 1, 2 }, { 0, 2, 0, 0, 1, 0, 2, 1 },
                                        { 0, 0, 1, 0, 1, 2, 0, 2 }, { 0, 0, 0, 1, 2, 1, 2, 0 } };
  TEST("DGX-1: six bricks to a device, all pairs within two NVLinks");
  berth_topology *t;
  CHECK_STATUS(berth_topology_dgx1(ctx, d, &fast, &slow, &t), BERTH_OK);
  check_size(t, 8, 14, 2 * (16 + 8 + 4 + 1));
  for (int32_t a = 0; a < 8; a++) {
    int32_t sum = 0;
    for (int32_t b = 0; b < 8; b++) {
      sum += bricks[a][b];
      if (bricks[a][b]) check_path(t, a, b, 10 * bricks[a][b], 0.5);
      CHECK(hops(t, a, b) == (a == b ? 0 : bricks[a][b] ? 1 : 2));
    }
    CHECK(sum == 6);
  }
  check_path(t, 0, 5, 10, 1); /* over 1 or over 4, one brick somewhere on both */
  check_path(t, 0, 7, 20, 1); /* over 4, two bricks all the way, and not over 3 */
  berth_topology_release(t);
}

static void test_fat_tree(berth_ctx *ctx, const berth_device *d) {
  TEST("fat tree of k = 4: 16 devices, 20 switches, routes of 2, 4 and 6 links");
  berth_topology *t;
  CHECK_STATUS(berth_topology_fat_tree(ctx, 4, d, &slow, &t), BERTH_OK);
  check_size(t, 16, 36, 2 * 48);
  CHECK(hops(t, 0, 1) == 2 && hops(t, 0, 2) == 4 && hops(t, 0, 3) == 4);
  for (int32_t b = 4; b < 16; b++) CHECK(hops(t, 0, b) == 6);
  check_path(t, 0, 15, 4, 6);
  check_symmetric(t);
  check_simple(t);
  TEST("fat tree: the edges of a pod go up through different switches");
  const int32_t *up, *other;
  CHECK(berth_topology_route(t, 0, 4, &up) == 6 && berth_topology_route(t, 2, 4, &other) == 6);
  CHECK(t->to[up[1]] != t->to[other[1]] && t->to[up[2]] != t->to[other[2]]);
  berth_topology_release(t);
  CHECK_STATUS(berth_topology_fat_tree(ctx, 2, d, &slow, &t), BERTH_OK);
  check_size(t, 2, 7, 12);
  CHECK(hops(t, 0, 1) == 6);
  berth_topology_release(t);
  CHECK_STATUS(berth_topology_fat_tree(ctx, 3, d, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_fat_tree(ctx, 0, d, &slow, &t), BERTH_EINVAL);
}

static int32_t around(int32_t a, int32_t b, int32_t n) {
  int32_t x = abs(a - b);
  return x < n - x ? x : n - x;
}

static void check_torus(berth_ctx *ctx, const berth_device *d, int32_t x, int32_t y, int32_t z,
                        int32_t duplexes) {
  int32_t dims[3] = { x, y, z }, n = x * y * z;
  berth_topology *t;
  CHECK_STATUS(berth_topology_torus(ctx, 3, dims, d, &slow, &t), BERTH_OK);
  check_size(t, n, n, 2 * duplexes);
  check_simple(t);
  for (int32_t a = 0; a < n; a++)
    for (int32_t b = 0; b < n; b++)
      CHECK(hops(t, a, b)
            == around(a / (y * z), b / (y * z), x) + around(a / z % y, b / z % y, y)
                   + around(a % z, b % z, z));
  berth_topology_release(t);
}

static void test_torus(berth_ctx *ctx, const berth_device *d) {
  TEST("torus: distances add up over dimensions; sizes 1 and 2 give no double link");
  check_torus(ctx, d, 3, 4, 5, 180);
  check_torus(ctx, d, 2, 2, 2, 12);
  check_torus(ctx, d, 1, 1, 1, 0);
  check_torus(ctx, d, 1, 2, 3, 3 + 6);
  check_torus(ctx, d, 4, 1, 2, 8 + 4);
  berth_topology *t;
  CHECK_STATUS(berth_topology_torus(ctx, 2, (int32_t[]){ 4, 0 }, d, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_torus(ctx, 0, NULL, d, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_torus(ctx, 3, (int32_t[]){ 65536, 65536, 65536 }, d, &slow, &t),
               BERTH_EINVAL);
}

static void test_two_level(berth_ctx *ctx, const berth_device *d) {
  TEST("two levels: machine numbers, two links inside, four between");
  berth_topology *t;
  CHECK_STATUS(berth_topology_two_level(ctx, 3, 2, d, &fast, &slow, &t), BERTH_OK);
  check_size(t, 6, 6 + 1 + 3, 2 * (6 + 3));
  for (int32_t i = 0; i < 6; i++) CHECK(t->devices[i].machine == i / 2);
  check_path(t, 0, 1, 10, 1);
  check_path(t, 1, 2, 4, 3);
  check_symmetric(t);
  berth_topology_release(t);
  CHECK_STATUS(berth_topology_two_level(ctx, 0, 2, d, &fast, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_two_level(ctx, 1 << 20, 1 << 20, d, &fast, &slow, &t), BERTH_EINVAL);
}

static void test_refusals(berth_ctx *ctx, const berth_device *d) {
  berth_topology *t = NULL;
  berth_link none = { 0, 0 };
  berth_device bad = *d;
  TEST("generators refuse bad links, devices and counts");
  bad.speed = -1;
  CHECK_STATUS(berth_topology_mesh(ctx, 0, d, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_mesh(ctx, 1, d, &none, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_ring(ctx, 3, &bad, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_star(ctx, 3, NULL, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_two_level(ctx, 1, 1, NULL, &slow, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_dgx1(ctx, d, &slow, NULL, &t), BERTH_EINVAL);
  CHECK(t == NULL);
}

static void test_presets(berth_ctx *ctx) {
  const char *const *names = berth_device_presets();
  TEST("presets by name, with type, rates and memory");
  berth_device d;
  for (int i = 0; names[i]; i++) {
    CHECK_STATUS(berth_device_preset(ctx, names[i], &d), BERTH_OK);
    CHECK_TEXT(d.type, names[i]);
    CHECK(d.flops > 1e12 && d.memory > 1e10 && d.memory_bandwidth > 1e11 && d.overhead == 5e-6
          && d.speed == 1 && !d.name);
  }
  CHECK_STATUS(berth_device_preset(ctx, "V100", &d), BERTH_OK);
  CHECK(d.flops == 15.7e12 && d.memory == 16e9 && d.memory_bandwidth == 900e9);
  CHECK_STATUS(berth_device_preset(ctx, "v100", &d), BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx),
             "no device preset \"v100\"; there are P100, V100, A100, H100, GTX1080Ti, T4");
}

int main(void) {
  berth_device d = berth_device_default();
  berth_ctx *ctx = must_ctx_new(NULL);
  test_one_level(ctx, &d);
  test_pcie(ctx, &d);
  test_dgx1(ctx, &d);
  test_fat_tree(ctx, &d);
  test_torus(ctx, &d);
  test_two_level(ctx, &d);
  test_refusals(ctx, &d);
  test_presets(ctx);
  if (berth_ctx_memory(ctx) != 0) return 1;
  return done_with(ctx);
}
