/* Topology: clusters of device groups, by hand and against a walk over every route. */
#include "topology/topology_internal.h"
#include "refusals.h"

enum { MAX_GROUPS = 5 };

typedef struct group_case {
  berth_device_group group[MAX_GROUPS];
  double between[MAX_GROUPS * MAX_GROUPS];
  berth_groups spec;
} group_case;

static berth_device_group group_of(int32_t count, double bandwidth) {
  berth_device_group g = { berth_device_default(), count, 1, 0, bandwidth };
  return g;
}

static void start(group_case *c, int32_t n, double between, berth_group_links links) {
  for (int32_t k = 0; k < n * n; k++) c->between[k] = between;
  c->spec = (berth_groups){ n, c->group, c->between, 12e-6, links };
}

/* Links that two routes have in common. */
static int32_t common(const berth_topology *t, int32_t a, int32_t b, int32_t c, int32_t d) {
  const int32_t *x, *y;
  int32_t n = berth_topology_route(t, a, b, &x), m = berth_topology_route(t, c, d, &y), shared = 0;
  for (int32_t i = 0; i < n; i++)
    for (int32_t j = 0; j < m; j++) shared += x[i] == y[j];
  return shared;
}

static void check_path(const berth_topology *t, int32_t a, int32_t b, double bandwidth) {
  berth_link l = { 0, 0 };
  l = must_topology_path(t, a, b);
  CHECK(l.bandwidth == bandwidth && l.latency == 12e-6);
}

/* ---- by hand: devices 0 1 | 2 3 4 | 5, 8000, 3000 and 5000 inside, 2810 between ---- */

static berth_topology *three(group_case *c, berth_group_links links) {
  berth_topology *t = NULL;
  start(c, 3, 2810, links);
  c->group[0] = group_of(2, 8000);
  c->group[1] = group_of(3, 3000);
  c->group[2] = group_of(1, 5000);
  c->group[1].device.type = "slow";
  CHECK_OK(berth_topology_groups(ctx, &c->spec, &t));
  return OWNED(t);
}

static void check_three(const berth_topology *t) {
  static const int32_t machine[] = { 0, 0, 1, 1, 1, 2 };
  CHECK(berth_topology_devices(t) == 6);
  for (int32_t i = 0; i < 6; i++) CHECK(t->devices[i].machine == machine[i]);
  CHECK_TEXT(t->devices[3].name, "d3");
  CHECK_TEXT(t->devices[4].type, "slow");
  check_path(t, 0, 1, 8000);
  check_path(t, 4, 2, 3000);
  check_path(t, 1, 5, 2810);
  check_path(t, 5, 2, 2810);
}

TEST("tag: a link of its own for each pair inside, one for each ordered pair of groups") {
  group_case c;
  berth_topology *t;
  if (!(t = three(&c, BERTH_GROUPS_TAG))) return;
  check_three(t);
  CHECK(common(t, 2, 3, 2, 4) == 0 && common(t, 2, 3, 3, 2) == 0);
  CHECK(common(t, 0, 2, 1, 3) == 1);                              /* the groups' link */
  /* no gate is shared between pairs */
  CHECK(common(t, 0, 2, 0, 5) == 0 && common(t, 0, 5, 2, 5) == 0);
  CHECK(common(t, 0, 2, 2, 0) == 0);
}

TEST("heterog: one link for all that goes between groups") {
  group_case c;
  berth_topology *t;
  if (!(t = three(&c, BERTH_GROUPS_HETEROG))) return;
  check_three(t);
  CHECK(common(t, 0, 2, 3, 5) == 1 && common(t, 0, 2, 2, 0) == 1 && common(t, 0, 1, 0, 2) == 0);
  RELEASE(t);
  c.between[1] = 1000; /* 0 to 1 */
  CHECK_OK(berth_topology_groups(ctx, &c.spec, &t));
  check_path(t, 0, 2, 1000);
  check_path(t, 2, 0, 2810);
  CHECK(common(t, 0, 2, 1, 3) == 2 && common(t, 0, 2, 0, 5) == 1);
  RELEASE(t);
}

TEST("nic: ports for a device, cards for a machine") {
  group_case c;
  berth_topology *t;
  if (!(t = three(&c, BERTH_GROUPS_NIC))) return;
  check_three(t);
  CHECK(berth_topology_links(t) == 2 * 6 + 2 * 3);
  CHECK(berth_topology_route(t, 0, 1, NULL) == 2 && berth_topology_route(t, 0, 2, NULL) == 4);
  CHECK(common(t, 2, 3, 2, 4) == 1 && common(t, 2, 3, 3, 2) == 0);       /* the send port */
  /* send card; receive card and port */
  CHECK(common(t, 0, 2, 1, 5) == 1 && common(t, 0, 5, 2, 5) == 2);
  RELEASE(t);
  CASE("nic: machines of a group have cards of their own");
  c.group[1].machines = 2; /* 2 3 | 4 */
  c.between[4] = 2000;
  CHECK_OK(berth_topology_groups(ctx, &c.spec, &t));
  check_path(t, 2, 3, 3000);
  check_path(t, 3, 4, 2000);
  check_path(t, 4, 0, 2810);
  CHECK(t->devices[4].machine == 1 && common(t, 2, 0, 4, 0) == 2 && common(t, 2, 5, 3, 0) == 1);
  RELEASE(t);
}

TEST("tree: what leaves a rack shares its link") {
  group_case c;
  start(&c, 4, 2810, BERTH_GROUPS_TREE);
  for (int32_t g = 0; g < 4; g++) {
    c.group[g] = group_of(1, 8000);
    c.group[g].rack = g / 2;
  }
  c.between[1] = c.between[4] = c.between[11] = c.between[14] = 5000; /* the same rack */
  berth_topology *t;
  CHECK_OK(berth_topology_groups(ctx, &c.spec, &t));
  check_path(t, 0, 1, 5000);
  check_path(t, 0, 2, 2810);
  CHECK(berth_topology_route(t, 0, 1, NULL) == 4 && berth_topology_route(t, 0, 2, NULL) == 6);
  CHECK(common(t, 0, 2, 1, 3) == 2 && common(t, 0, 1, 2, 3) == 0);
  RELEASE(t);
}

/* ---- random clusters ---- */

static double pick(berth_rng *r) {
  static const double some[] = { 500, 1000, 2810, 5000 };
  return some[berth_rng_below(r, 4)];
}

static void draw(berth_rng *r, group_case *c, berth_group_links links) {
  int32_t n = 1 + berth_rng_below(r, MAX_GROUPS);
  bool ports = links == BERTH_GROUPS_NIC || links == BERTH_GROUPS_TREE;
  start(c, n, 1, links);
  for (int32_t g = 0; g < n; g++) {
    c->group[g] = group_of(1 + berth_rng_below(r, 4), 3000 + 1000 * (double)berth_rng_below(r, 3));
    if (ports) c->group[g].machines = 1 + berth_rng_below(r, c->group[g].count);
    if (links == BERTH_GROUPS_TREE) c->group[g].rack = berth_rng_below(r, n);
  }
  for (int32_t k = 0; k < n * n; k++) c->between[k] = pick(r);
}

/* Group and machine within it of a device, counted anew. */
static void find(const berth_groups *s, int32_t device, int32_t *g, int32_t *machine) {
  for (*g = 0; device >= s->group[*g].count; ++*g) device -= s->group[*g].count;
  *machine = device * s->group[*g].machines / s->group[*g].count;
}

static double expected(const berth_groups *s, int32_t a, int32_t b) {
  int32_t g, m;
  find(s, a, &g, &m);
  int32_t h, k;
  find(s, b, &h, &k);
  if (g == h && m == k) return s->group[g].bandwidth;
  double x = s->between[g * s->n + h];
  if (s->links == BERTH_GROUPS_NIC || s->links == BERTH_GROUPS_TREE)
    x = fmin(x, fmin(s->group[g].bandwidth, s->group[h].bandwidth));
  return x;
}

/* Walks the links: they join up, none twice, and give bottleneck and latency. */
static void walk(const berth_topology *t, const berth_groups *s, int32_t a, int32_t b) {
  const int32_t *links;
  int32_t n = berth_topology_route(t, a, b, &links), node = t->device_node[a];
  double least = INFINITY, latency = 0;
  for (int32_t k = 0; k < n; k++) {
    CHECK(t->from[links[k]] == node);
    node = t->to[links[k]];
    CHECK(k == n - 1 || t->node_device[node] == BERTH_NONE);
    for (int32_t j = 0; j < k; j++) CHECK(links[j] != links[k]);
    least = fmin(least, t->links[links[k]].bandwidth);
    latency += t->links[links[k]].latency;
  }
  CHECK(node == t->device_node[b] && t->route_set[berth_i_pair(t, a, b)]);
  CHECK(least == expected(s, a, b) && latency == 12e-6);
}

TEST("random clusters: every route has its bottleneck and 12 us in all") {
  berth_rng r = seeded(8, 0);
  for (int32_t trial = 0; trial < 200; trial++) {
    group_case c;
    draw(&r, &c, (berth_group_links)(trial % 4));
    berth_topology *t;
    if (!CHECK_OK(berth_topology_groups(ctx, &c.spec, &t))) continue;
    for (int32_t a = 0; a < t->n_devices; a++)
      for (int32_t b = 0; b < t->n_devices; b++)
        if (a != b) walk(t, &c.spec, a, b);
    RELEASE(t);
  }
}

/* ---- refusals ---- */

static void refused(const group_case *c, const char *text) {
  berth_topology *t = NULL;
  CHECK_ERROR(berth_topology_groups(ctx, &c->spec, &t), BERTH_EINVAL, text);
  CHECK(t == NULL);
}

TEST("refuses what makes no sense, with the values") {
  group_case c;
  start(&c, 2, 1000, BERTH_GROUPS_TAG);
  c.group[0] = c.group[1] = group_of(2, 8000);
  c.group[1].machines = 2;
  refused(&c, "groups: group 1: machines 2 must be 1 without ports (nic, tree)");
  c.group[1] = group_of(0, 8000);
  refused(&c, "groups: group 1: count 0 must be at least 1");
  c.group[1] = group_of(1, NAN);
  refused(&c, "groups: group 1: bandwidth nan must be above 0");
  c.group[1] = group_of(1, 8000);
  c.group[1].rack = 1;
  refused(&c, "groups: group 1: rack 1 must be 0 without racks (tree)");
  c.spec.links = BERTH_GROUPS_TREE;
  c.group[1].rack = 2;
  refused(&c, "groups: group 1: rack 2 must be at least 0 and below the number of groups");
  c.group[1].rack = 1;
  c.between[2] = 0;
  refused(&c, "groups: bandwidth 0 from group 1 to group 0 must be above 0");
  c.spec.latency = INFINITY;
  refused(&c, "groups: latency inf must be at least 0 and finite");
  c.spec.n = 0;
  refused(&c, "groups: no groups or bandwidths given");
}

static berth_status make(const void *what) {
  const berth_group_links links = *(const berth_group_links *)what;
  group_case c;
  berth_topology *t = NULL;
  start(&c, 3, 2810, links);
  for (int32_t g = 0; g < 3; g++) c.group[g] = group_of(2, 8000);
  if (links == BERTH_GROUPS_TREE) c.group[2].rack = 1;
  c.between[1] = 1000;
  berth_status st = berth_topology_groups(ctx, &c.spec, &t);
  RELEASE(t);
  return st;
}

TEST("every allocation refused in turn: no leak") {
  for (berth_group_links links = 0; links < 4; links++) refuse_each(make, &links, 1, 0);
}
