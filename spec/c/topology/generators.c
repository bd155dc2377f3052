/* Topology: generators and presets, against counts and routes worked out by hand. */
#include "topology/topology_internal.h"
#include "must.h"

static berth_device plain;

SETUP { plain = berth_device_default(); }

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
  l = must_topology_path(t, a, b);
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

TEST("mesh, ring and star, down to one device") {
  berth_topology *t = must_topology_mesh(4, &plain, &slow);
  check_size(t, 4, 4, 12);
  check_path(t, 3, 0, 4, 1);
  CHECK_TEXT(t->devices[3].name, "d3");
  check_symmetric(t);
  check_simple(t);
  RELEASE(t);
  t = must_topology_mesh(1, &plain, &slow);
  check_size(t, 1, 1, 0);
  CHECK(hops(t, 0, 0) == 0);
  RELEASE(t);
  for (int32_t n = 1; n <= 3; n++) {
    CHECK_OK(berth_topology_ring(ctx, n, &plain, &slow, &t));
    check_size(t, n, n, n == 1 ? 0 : n == 2 ? 2 : 6);
    check_simple(t);
    RELEASE(t);
  }
  CHECK_OK(berth_topology_ring(ctx, 6, &plain, &slow, &t));
  CHECK(hops(t, 0, 3) == 3 && hops(t, 0, 4) == 2 && hops(t, 5, 0) == 1);
  check_path(t, 0, 3, 4, 3);
  check_symmetric(t);
  RELEASE(t);
  CHECK_OK(berth_topology_star(ctx, 5, &plain, &slow, &t));
  check_size(t, 5, 6, 10);
  check_path(t, 4, 2, 4, 2);
  RELEASE(t);
  CHECK_OK(berth_topology_star(ctx, 1, &plain, &slow, &t));
  check_size(t, 1, 2, 2);
  RELEASE(t);
}

TEST("PCIe tree: two links below one switch, four across the root") {
  berth_topology *t;
  CHECK_OK(berth_topology_pcie_tree(ctx, 6, 4, &plain, &fast, &slow, &t));
  check_size(t, 6, 9, 16);
  check_path(t, 0, 3, 10, 1);
  check_path(t, 3, 4, 4, 3);
  CHECK(hops(t, 3, 4) == 4 && hops(t, 4, 5) == 2);
  check_symmetric(t);
  RELEASE(t);
  CHECK_STATUS(berth_topology_pcie_tree(ctx, 6, 0, &plain, &fast, &slow, &t), BERTH_EINVAL);
}

TEST("DGX-1: six bricks to a device, all pairs within two NVLinks") {
  static const uint8_t bricks[8][8] = { { 0, 1, 1, 2, 2, 0, 0, 0 }, { 1, 0, 2, 1, 0, 2, 0, 0 },
                                        { 1, 2, 0, 2, 0, 0, 1, 0 }, { 2, 1, 2, 0, 0, 0, 0, 1 },
                                        { 2, 0, 0, 0, 0, 1, 1, 2 }, { 0, 2, 0, 0, 1, 0, 2, 1 },
                                        { 0, 0, 1, 0, 1, 2, 0, 2 }, { 0, 0, 0, 1, 2, 1, 2, 0 } };
  berth_topology *t;
  CHECK_OK(berth_topology_dgx1(ctx, &plain, &fast, &slow, &t));
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
  RELEASE(t);
}

TEST("fat tree of k = 4: 16 devices, 20 switches, routes of 2, 4 and 6 links") {
  berth_topology *t;
  CHECK_OK(berth_topology_fat_tree(ctx, 4, &plain, &slow, &t));
  check_size(t, 16, 36, 2 * 48);
  CHECK(hops(t, 0, 1) == 2 && hops(t, 0, 2) == 4 && hops(t, 0, 3) == 4);
  for (int32_t b = 4; b < 16; b++) CHECK(hops(t, 0, b) == 6);
  check_path(t, 0, 15, 4, 6);
  check_symmetric(t);
  check_simple(t);
  CASE("fat tree: the edges of a pod go up through different switches");
  const int32_t *up, *other;
  CHECK(berth_topology_route(t, 0, 4, &up) == 6 && berth_topology_route(t, 2, 4, &other) == 6);
  CHECK(t->to[up[1]] != t->to[other[1]] && t->to[up[2]] != t->to[other[2]]);
  RELEASE(t);
  CHECK_OK(berth_topology_fat_tree(ctx, 2, &plain, &slow, &t));
  check_size(t, 2, 7, 12);
  CHECK(hops(t, 0, 1) == 6);
  RELEASE(t);
  CHECK_STATUS(berth_topology_fat_tree(ctx, 3, &plain, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_fat_tree(ctx, 0, &plain, &slow, &t), BERTH_EINVAL);
}

static int32_t around(int32_t a, int32_t b, int32_t n) {
  int32_t x = abs(a - b);
  return x < n - x ? x : n - x;
}

static void check_torus(int32_t x, int32_t y, int32_t z, int32_t duplexes) {
  int32_t dims[3] = { x, y, z }, n = x * y * z;
  berth_topology *t;
  CHECK_OK(berth_topology_torus(ctx, 3, dims, &plain, &slow, &t));
  check_size(t, n, n, 2 * duplexes);
  check_simple(t);
  for (int32_t a = 0; a < n; a++)
    for (int32_t b = 0; b < n; b++)
      CHECK(hops(t, a, b)
            == around(a / (y * z), b / (y * z), x) + around(a / z % y, b / z % y, y)
                   + around(a % z, b % z, z));
  RELEASE(t);
}

TEST("torus: distances add up over dimensions; sizes 1 and 2 give no double link") {
  check_torus(3, 4, 5, 180);
  check_torus(2, 2, 2, 12);
  check_torus(1, 1, 1, 0);
  check_torus(1, 2, 3, 3 + 6);
  check_torus(4, 1, 2, 8 + 4);
  berth_topology *t;
  CHECK_STATUS(berth_topology_torus(ctx, 2, (int32_t[]){ 4, 0 }, &plain, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_torus(ctx, 0, NULL, &plain, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_torus(ctx, 3, (int32_t[]){ 65536, 65536, 65536 }, &plain, &slow, &t),
               BERTH_EINVAL);
}

TEST("two levels: machine numbers, two links inside, four between") {
  berth_topology *t;
  CHECK_OK(berth_topology_two_level(ctx, 3, 2, &plain, &fast, &slow, &t));
  check_size(t, 6, 6 + 1 + 3, 2 * (6 + 3));
  for (int32_t i = 0; i < 6; i++) CHECK(t->devices[i].machine == i / 2);
  check_path(t, 0, 1, 10, 1);
  check_path(t, 1, 2, 4, 3);
  check_symmetric(t);
  RELEASE(t);
  CHECK_STATUS(berth_topology_two_level(ctx, 0, 2, &plain, &fast, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_two_level(ctx, 1 << 20, 1 << 20, &plain, &fast, &slow, &t),
               BERTH_EINVAL);
}

TEST("generators refuse bad links, devices and counts") {
  berth_topology *t = NULL;
  berth_link none = { 0, 0 };
  berth_device bad = plain;
  bad.speed = -1;
  CHECK_STATUS(berth_topology_mesh(ctx, 0, &plain, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_mesh(ctx, 1, &plain, &none, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_ring(ctx, 3, &bad, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_star(ctx, 3, NULL, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_two_level(ctx, 1, 1, NULL, &slow, &slow, &t), BERTH_EINVAL);
  CHECK_STATUS(berth_topology_dgx1(ctx, &plain, &slow, NULL, &t), BERTH_EINVAL);
  CHECK(t == NULL);
}

TEST("what cannot fit is refused at once") {
  berth_topology *t = NULL;
  CHECK_ERROR(berth_topology_mesh(ctx, 100000, &plain, &slow, &t), BERTH_EINVAL,
              "mesh of 100000 devices: more than 33554432 links");
  CHECK_ERROR(berth_topology_star(ctx, BERTH_MOST_DEVICES + 1, &plain, &slow, &t), BERTH_EINVAL,
              "16385 devices: must be 1 to 16384");
  CHECK_ERROR(berth_topology_torus(ctx, 2, (int32_t[]){ 129, 128 }, &plain, &slow, &t),
              BERTH_EINVAL, "torus: more than 16384 devices");
  CHECK_STATUS(berth_topology_fat_tree(ctx, 42, &plain, &slow, &t), BERTH_EINVAL);
  CHECK(t == NULL);
}

static int stop_soon(void *left) { return (*(int *)left)-- == 0; }

TEST("links that are added and routes that are sought ask the interrupt hook") {
  /* 200 devices: 39,800 links, asked every 4096; then 200 routes' sources */
  for (int asked = 0; asked < 12; asked += 3) {
    int left = asked;
    berth_hooks hooks = { .interrupt = stop_soon, .ud = &left };
    hooked(&hooks);
    berth_topology *t = NULL;
    CHECK_STATUS(berth_topology_mesh(ctx, 200, &plain, &slow, &t), BERTH_EINTERRUPT);
    CHECK(t == NULL);
  }
  hooked(NULL);
}

TEST("presets by name, with type, rates and memory") {
  const char *const *names = berth_device_presets();
  berth_device p;
  for (int i = 0; names[i]; i++) {
    CHECK_OK(berth_device_preset(ctx, names[i], &p));
    CHECK_TEXT(p.type, names[i]);
    CHECK(p.flops > 1e12 && p.memory > 1e10 && p.memory_bandwidth > 1e11 && p.overhead == 5e-6
          && p.speed == 1 && !p.name);
  }
  CHECK_OK(berth_device_preset(ctx, "V100", &p));
  CHECK(p.flops == 15.7e12 && p.memory == 16e9 && p.memory_bandwidth == 900e9);
  CHECK_ERROR(berth_device_preset(ctx, "v100", &p), BERTH_EINVAL,
              "no device preset \"v100\"; there are 18 names; docs/devices.md lists all; did you "
              "mean 'V100'?");
  CHECK(berth_device_sheet("nothing") == NULL);
  for (int i = 0; names[i]; i++) CHECK_TEXT(berth_device_sheet(names[i])->name, names[i]);
  CHECK_TEXT(berth_device_sheet("a100 80gb")->name, "A100");
}
