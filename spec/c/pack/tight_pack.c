/* Tight memory: an exact packer of few units against the placers, and perfect packings that were
 * planted. */
#include "list/place_engine_help.h"

enum { MOST_OPS = 12, MOST_DEVICES = 4 };
/* by devices: some 10^4 cases */
static const int32_t most_ops[MOST_DEVICES + 1] = { 0, 12, 12, 9, 8 };
static const char *const placers[] = { "m-topo", "round-robin", "metis",  "m-etf",
                                       "heft",   "minmin",      "blevel", "critical-path" };
enum { PLACERS = 8 };

/* ---- an exact packer, by plain recursion ---- */

typedef struct problem {
  int32_t n, devices, at[MOST_OPS], group[MOST_OPS], pin[MOST_OPS], n_tensors,
      producer[2 * MOST_OPS];
  double param[MOST_OPS], workspace[MOST_OPS], limit[MOST_DEVICES], bytes[2 * MOST_OPS];
  unsigned types[MOST_OPS], readers[2 * MOST_OPS]; /* bit t: type t runs it; bit i: op i reads it */
} problem;

/* All that is ever there, and the largest workspace. */
static double needs(const problem *p, int32_t d) {
  double held = 0, workspace = 0;
  for (int32_t i = 0; i < p->n; i++) {
    if (p->at[i] != d) continue;
    held += p->param[i];
    workspace = fmax(workspace, p->workspace[i]);
  }
  for (int32_t t = 0; t < p->n_tensors; t++) {
    int there = p->at[p->producer[t]] == d;
    for (int32_t i = 0; i < p->n; i++) there |= (p->readers[t] >> i & 1) && p->at[i] == d;
    if (there) held += p->bytes[t];
  }
  return held + workspace;
}

static int all_fit(const problem *p) {
  for (int32_t d = 0; d < p->devices; d++) {
    if (needs(p, d) > p->limit[d] * (1 + 1e-12)) return 0;
  }
  return 1;
}

static int may_be(const problem *p, int32_t op, int32_t d) {
  if (!(p->types[op] >> d % 2 & 1) || (p->pin[op] != BERTH_NONE && p->pin[op] != d)) return 0;
  for (int32_t i = 0; i < op; i++) {
    if (p->group[op] != BERTH_NONE && p->group[i] == p->group[op] && p->at[i] != d) return 0;
  }
  return 1;
}

static int exists(problem *p, int32_t op) {
  if (op == p->n) return all_fit(p);
  for (int32_t d = 0; d < p->devices; d++) {
    if (!may_be(p, op, d)) continue;
    p->at[op] = d;
    if (exists(p, op + 1)) return 1;
  }
  return 0;
}

/* ---- random problems ---- */

enum { COPIES = 1, WORKSPACES = 2, CHOICES = 4, UNEQUAL = 8 };

static void draw_op(problem *p, berth_rng *rng, int what, int32_t i) {
  p->param[i] = berth_rng_below(rng, 4) ? 1 + berth_rng_below(rng, 30) : 0;
  p->workspace[i] = what & WORKSPACES ? berth_rng_below(rng, 12) : 0;
  p->types[i] =
      what & CHOICES && berth_rng_below(rng, 4) == 0 ? 1u + (unsigned)berth_rng_below(rng, 2) : 3u;
  if (p->devices == 1) p->types[i] |= 1u;
  p->group[i] =
      what & CHOICES && berth_rng_below(rng, 3) == 0 ? berth_rng_below(rng, 2) : BERTH_NONE;
  p->pin[i] = BERTH_NONE;
  if (what & CHOICES && p->group[i] == BERTH_NONE && berth_rng_below(rng, 5) == 0)
    p->pin[i] = berth_rng_below(rng, p->devices);
  if (p->pin[i] != BERTH_NONE) p->types[i] = 3u;
  if (p->group[i] != BERTH_NONE) p->types[i] = 3u;
}

static void draw_tensors(problem *p, berth_rng *rng, int what) {
  p->n_tensors = 0;
  for (int32_t i = 0; i < p->n; i++) {
    if (berth_rng_below(rng, 3) == 0) continue;
    p->producer[p->n_tensors] = i;
    p->bytes[p->n_tensors] = what & COPIES ? berth_rng_below(rng, 6) : 0;
    p->readers[p->n_tensors] = 0;
    for (int32_t c = i + 1; c < p->n; c++)
      p->readers[p->n_tensors] |= (unsigned)(berth_rng_below(rng, 3) == 0) << c;
    p->n_tensors++;
  }
}

static void draw_limits(problem *p, berth_rng *rng, int what) {
  static const double factors[] = { 1.00, 1.02, 1.05, 1.10 };
  double total = 0, f = factors[berth_rng_below(rng, 4)];
  for (int32_t i = 0; i < p->n; i++)
    total += p->param[i] + (what & WORKSPACES ? p->workspace[i] / 1.3 : 0);
  for (int32_t i = 0; i < p->n_tensors; i++) total += p->bytes[i] * 1.5;
  for (int32_t i = 0; i < p->devices; i++) {
    double share = what & UNEQUAL ? 0.6 + 0.2 * berth_rng_below(rng, 5) : 1;
    p->limit[i] = f * share * total / p->devices;
  }
}

static void draw(problem *p, berth_rng *rng, int what) {
  p->devices = 2 + berth_rng_below(rng, MOST_DEVICES - 1);
  p->n = p->devices + berth_rng_below(rng, most_ops[p->devices] - p->devices + 1);
  for (int32_t i = 0; i < p->n; i++) draw_op(p, rng, what, i);
  draw_tensors(p, rng, what);
  draw_limits(p, rng, what);
}

static berth_graph *build_graph(const problem *p) {
  const char *types[] = { "x", "y" };
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_OK(berth_graph_builder_types(b, 2, types));
  for (int32_t i = 0; i < p->n; i++) {
    double seconds[2] = { p->types[i] & 1 ? 1 + i : BERTH_UNSUPPORTED,
                          p->types[i] & 2 ? 2 + i % 3 : BERTH_UNSUPPORTED };
    berth_op op = berth_op_default();
    op.seconds = seconds;
    op.param_bytes = p->param[i];
    op.workspace_bytes = p->workspace[i];
    op.group = p->group[i];
    op.pin = p->pin[i];
    must_add_op(b, &op);
  }
  int32_t id;
  for (int32_t i = 0; i < p->n_tensors; i++) {
    berth_tensor t = { p->producer[i], p->bytes[i], p->bytes[i], 0 };
    id = must_add_tensor(b, &t);
    for (int32_t c = 0; c < p->n; c++) {
      if (p->readers[i] >> c & 1)
        CHECK_OK(berth_graph_builder_add_consumer(b, id, c));
    }
  }
  return must_graph(b);
}

static berth_topology *build_devices(int32_t n, const double *limit) {
  berth_link l = { 4, 0 };
  berth_topology_builder *b = must_topology_builder_new();
  for (int32_t i = 0; i < n; i++) {
    berth_device d = berth_device_default();
    d.type = i % 2 ? "y" : "x";
    d.memory = limit[i];
    must_add_device(b, &d);
    for (int32_t j = 0; j < i; j++)
      CHECK_OK(berth_topology_builder_add_duplex(b, j, i, &l, NULL));
  }
  return must_topology(b);
}

/* ---- checks ---- */

static void holds(const instance *x, const berth_placement *p) {
  static const berth_dispatch dispatches[] = { BERTH_DISPATCH_FIFO, BERTH_DISPATCH_LIFO,
                                               BERTH_DISPATCH_LIGHT_FIRST };
  berth_sim_options so = berth_sim_default(NULL);
  so.memory = BERTH_MEMORY_TOTAL;
  for (int i = 0; i < 3; i++) {
    berth_result *r = NULL;
    so.dispatch = dispatches[i];
    so.links = (berth_links)(i + 1);
    if (!CHECK_OK(berth_simulate(x->cost, berth_placement_device(p), &so, &r)))
      return;
    berth_oom oom;
    CHECK(!berth_result_oom(r, &oom));
    RELEASE(r);
  }
}

static void try_all(const instance *x, int found, int *proved) {
  berth_place_options o = berth_place_default(NULL);
  int told = 0;
  for (int i = 0; i < PLACERS; i++) {
    berth_placement *p = NULL;
    berth_obstacle why = { -9, -9, -9 };
    berth_status st = berth_place(x->cost, placers[i], &o, &p, &why);
    if (!CHECK_STATUS(st, found ? BERTH_OK : BERTH_EINFEASIBLE))
      printf("# %s: %s\n", placers[i], berth_errmsg(ctx));
    if (st == BERTH_OK) holds(x, p);
    if (st == BERTH_EINFEASIBLE) told += strstr(berth_errmsg(ctx), "cannot fit") != NULL;
    if (st == BERTH_EINFEASIBLE)
      CHECK(why.op >= BERTH_NONE && why.device >= BERTH_NONE && why.missing >= 0);
    RELEASE(p);
  }
  *proved += told == PLACERS;
}

static void agrees(int what, int rounds) {
  int fit = 0, unfit = 0, proved = 0;
  berth_rng rng = seeded(71, (uint64_t)what);
  for (int round = 0; round < rounds && !check_bad; round++) {
    problem p;
    instance x = { NULL, NULL, NULL };
    draw(&p, &rng, what);
    x.g = build_graph(&p);
    x.t = build_devices(p.devices, p.limit);
    x.cost = must_cost_new(x.g, x.t, NULL);
    int found = exists(&p, 0);
    fit += found;
    unfit += !found;
    try_all(&x, found, &proved);
    if (check_bad) printf("# round %d: %d ops, %d devices\n", round, (int)p.n, (int)p.devices);
    release_instance(&x);
  }
  CHECK(fit > rounds / 8 && unfit > rounds / 8);
  printf("# %d fit, %d do not, %d of them proved\n", fit, unfit, proved);
}

/* ---- planted packings ---- */

/* Each device is cut into pieces of whole bytes: a perfect packing exists, without a free
 * byte. */
static void plant(berth_rng *rng, int32_t n, int32_t devices, int32_t room, double *size) {
  int32_t i = 0, cuts[1200];
  for (int32_t d = 0; d < devices; d++) {
    int32_t pieces = n / devices + (d < n % devices);
    for (int32_t k = 0; k + 1 < pieces; k++) cuts[k] = 1 + berth_rng_below(rng, room - 1);
    cuts[pieces - 1] = room;
    for (int32_t k = 1; k < pieces; k++) { /* insertion sort */
      int32_t c = cuts[k], j = k;
      while (j > 0 && cuts[j - 1] > c) cuts[j] = cuts[j - 1], j--;
      cuts[j] = c;
    }
    for (int32_t k = 0; k < pieces; k++) size[i++] = cuts[k] - (k > 0 ? cuts[k - 1] : 0);
  }
}

static int find_planted(berth_rng *rng, int32_t n, int32_t devices, int32_t room) {
  double size[1200], second = 1;
  instance x = { NULL, NULL, NULL };
  berth_placement *p = NULL;
  berth_place_options o = berth_place_default(NULL);
  plant(rng, n, devices, room, size);
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < n; i++) {
    berth_op op = berth_op_default();
    op.seconds = &second;
    op.param_bytes = size[(i * 7 + n / 3) % n]; /* n is no multiple of 7 */
    must_add_op(b, &op);
    if (i > 0) must_add_edge(b, i - 1, i, 0);
  }
  x.g = must_graph(b);
  double limit[16];
  for (int32_t i = 0; i < devices; i++) limit[i] = room;
  x.t = build_devices(devices, limit);
  x.cost = must_cost_new(x.g, x.t, NULL);
  berth_status st = berth_place(x.cost, "m-topo", &o, &p, NULL);
  CHECK(st == BERTH_OK
        || (st == BERTH_EINFEASIBLE && strstr(berth_errmsg(ctx), "no placement found")));
  if (st == BERTH_OK) holds(&x, p);
  RELEASE(p, x.cost, x.t, x.g);
  return st == BERTH_OK;
}

static void planted(int32_t n, int32_t devices, int32_t room, int rounds, int least) {
  int found = 0;
  berth_rng rng = seeded(72, (uint64_t)(n * 100 + devices));
  for (int i = 0; i < rounds; i++) found += find_planted(&rng, n, devices, room);
  printf("# %d ops on %d devices of %d B, no free byte: %d of %d found\n", (int)n, (int)devices,
         (int)room, found, rounds);
  CHECK(found >= least);
}

TEST("a placement is found exactly if there is one: parameters alone") { agrees(0, 250); }
TEST("... on unequal devices, with types, pins and groups") { agrees(CHOICES | UNEQUAL, 250); }
TEST("... with workspaces") { agrees(WORKSPACES | UNEQUAL, 250); }
TEST("... with copies") { agrees(COPIES, 250); }
TEST("... with everything") { agrees(COPIES | WORKSPACES | CHOICES | UNEQUAL, 250); }

TEST("perfect packings that were planted are found") {
  planted(50, 4, 10000, 8, 6);
  planted(100, 4, 100000, 8, 7);
  planted(200, 8, 100000, 6, 5);
  planted(500, 8, 1000000, 4, 4);
  planted(1000, 6, 10000000, 3, 3);
}
