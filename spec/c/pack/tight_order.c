/* Tight memory where it depends on the order of execution: limits that a known placement keeps;
 * repair of placements. */
#include "list/place_engine_help.h"
#include "refusals.h"

/* ---- limits that are known to do ---- */

static berth_graph *layers(berth_rng *rng, int32_t n, int training) {
  berth_graph *g = NULL;
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < n; i++) {
    berth_op op = berth_op_default();
    double second = 0.1 + berth_rng_uniform(rng);
    op.seconds = &second;
    op.param_bytes = berth_rng_below(rng, 3) ? berth_rng_below(rng, 1000) : 0;
    op.workspace_bytes = berth_rng_below(rng, 4) ? 0 : berth_rng_below(rng, 300);
    if (training && i >= n / 2) op.twin = n - 1 - i;
    must_add_op(b, &op);
  }
  int32_t id;
  for (int32_t i = 0; i + 1 < n; i++) {
    berth_tensor t = { i, 1 + berth_rng_below(rng, 200), -1, 0 };
    id = must_add_tensor(b, &t);
    int32_t last = BERTH_NONE;
    for (int32_t k = 0; k < 2; k++) {
      int32_t to = i + 1 + berth_rng_below(rng, n - i - 1 < 12 ? n - i - 1 : 12);
      if (to != last) CHECK_OK(berth_graph_builder_add_consumer(b, id, to));
      last = to;
    }
  }
  CHECK_OK(berth_graph_builder_finish(b, &g));
  RELEASE(b);
  return OWNED(g);
}

static berth_topology *mesh(int32_t n, const double *limit) {
  berth_link l = { 400, 0.01 };
  berth_topology_builder *b = must_topology_builder_new();
  for (int32_t i = 0; i < n; i++) {
    berth_device d = berth_device_default();
    d.memory = limit ? limit[i] : INFINITY;
    must_add_device(b, &d);
    for (int32_t j = 0; j < i; j++)
      CHECK_OK(berth_topology_builder_add_duplex(b, j, i, &l, NULL));
  }
  return must_topology(b);
}

/* A twin goes with its op. */
static int32_t slice_of(int32_t i, int32_t n, int32_t devices, int training) {
  if (!training) return (int32_t)((int64_t)i * devices / n);
  return (int32_t)((int64_t)(i < n / 2 ? i : n - 1 - i) * devices / (n - n / 2));
}

/* Slices along the order of the ops, run first in, first out: its peaks, times a factor, are the
 * limits. */
static void plant(berth_rng *rng, int32_t n, int32_t devices, berth_memory_policy memory,
                  double factor, int32_t *device, instance *x) {
  berth_sim_options so = berth_sim_default(NULL);
  berth_topology *roomy = mesh(devices, NULL);
  x->g = layers(rng, n, memory == BERTH_MEMORY_TRAINING);
  for (int32_t i = 0; i < n; i++)
    device[i] = slice_of(i, n, devices, memory == BERTH_MEMORY_TRAINING);
  so.memory = memory;
  berth_cost *cost = must_cost_new(x->g, roomy, NULL);
  berth_result *r = must_simulate(cost, device, &so);
  double limit[16];
  for (int32_t i = 0; i < devices; i++) limit[i] = factor * berth_result_peak(r)[i];
  RELEASE(r, cost, roomy);
  x->t = mesh(devices, limit);
  x->cost = must_cost_new(x->g, x->t, NULL);
}

static int keeps(const instance *x, const berth_placement *p, berth_memory_policy memory,
                 int planned) {
  berth_sim_options so = berth_sim_default(NULL);
  berth_result *r = NULL;
  so.memory = memory;
  if (planned) {
    so.dispatch = BERTH_DISPATCH_PLANNED;
    so.sequence = berth_placement_sequence(p);
  }
  if (!CHECK_OK(berth_simulate(x->cost, berth_placement_device(p), &so, &r)))
    return 0;
  berth_oom oom;
  int ok = CHECK(!berth_result_oom(r, &oom));
  RELEASE(r);
  return ok;
}

static int places(const instance *x, const char *placer, berth_memory_policy memory) {
  berth_place_options o = berth_place_default(NULL);
  berth_placement *p = NULL;
  o.memory = memory;
  berth_status st = berth_place(x->cost, placer, &o, &p, NULL);
  if (!CHECK(st == BERTH_OK
             || (st == BERTH_EINFEASIBLE && !strstr(berth_errmsg(ctx), "cannot fit")))) {
    printf("# %s\n", berth_errmsg(ctx));
  }
  if (st == BERTH_OK) keeps(x, p, memory, strcmp(placer, "m-topo") != 0);
  RELEASE(p);
  return st == BERTH_OK;
}

/* The known placement with a tenth of its ops elsewhere. */
static int repairs(const instance *x, berth_rng *rng, const int32_t *device,
                   berth_memory_policy memory) {
  berth_place_options o = berth_place_default(NULL);
  berth_placement *p = NULL;
  int32_t n = berth_graph_ops(x->g), devices = berth_topology_devices(x->t),
          *other = malloc((size_t)n * sizeof *other);
  for (int32_t i = 0; i < n; i++)
    other[i] = berth_rng_below(rng, 10) ? device[i] : berth_rng_below(rng, devices);
  o.memory = memory;
  berth_status st = berth_place_repair(x->cost, other, &o, &p, NULL);
  if (st == BERTH_OK) keeps(x, p, memory, 0);
  RELEASE(p);
  free(other);
  return st == BERTH_OK;
}

static void known(berth_memory_policy memory, int32_t n, int32_t devices, double factor, int rounds,
                  int least) {
  int topo = 0, etf = 0, heft = 0, mended = 0;
  int32_t *device = malloc((size_t)n * sizeof *device);
  berth_rng rng = seeded(81, (uint64_t)(n + (int)memory));
  for (int i = 0; i < rounds; i++) {
    instance x = { NULL, NULL, NULL };
    plant(&rng, n, devices, memory, factor, device, &x);
    topo += places(&x, "m-topo", memory);
    etf += places(&x, "m-etf", memory);
    heft += places(&x, "heft", memory);
    mended += repairs(&x, &rng, device, memory);
    release_instance(&x);
  }
  printf("# memory %d, %d ops, %d devices, %.2f: m-topo %d, m-etf %d, heft %d, repair %d of %d\n",
         (int)memory, (int)n, (int)devices, factor, topo, etf, heft, mended, rounds);
  CHECK(topo >= least && mended >= least && etf >= least && heft >= least);
  free(device);
}

/* ---- repair ---- */

/* Four ops of 4 B in a row; the devices hold what limit says. */
static instance row(const double *limit) {
  instance x = { NULL, NULL, NULL };
  berth_graph_builder *b = must_graph_builder_new();
  for (int i = 0; i < 4; i++) {
    berth_op op = berth_op_default();
    double second = 1;
    op.seconds = &second;
    op.param_bytes = 4;
    if (i < 2) op.group = 0;
    must_add_op(b, &op);
    if (i > 0) must_add_edge(b, i - 1, i, 0);
  }
  x.g = must_graph(b);
  x.t = mesh(2, limit);
  x.cost = must_cost_new(x.g, x.t, NULL);
  return x;
}

TEST("repair keeps what fits, joins groups, moves the rest, and says why not") {
  static const double eight[] = { 8, 8 }, twelve[] = { 12, 12 }, seven[] = { 7, 9 };
  static const int32_t fits[] = { 1, 1, 0, 0 }, split[] = { 0, 1, 1, 1 }, one[] = { 0, 0, 0, 0 },
                       bad[] = { 0, 2, 0, 0 };
  berth_obstacle why = { -9, -9, -9 };
  berth_placement *p = NULL;
  instance x = row(eight);
  CHECK_OK(berth_place_repair(x.cost, fits, NULL, &p, &why)); /* stays as it is */
  CHECK(p && memcmp(berth_placement_device(p), fits, sizeof fits) == 0);
  CHECK_TEXT(berth_placement_placer(p), "repair");
  CHECK_NEAR(berth_placement_estimate(p), 4.03 - 0.02, 1e-9); /* one transfer of 0.01 s */
  RELEASE(p);
  CHECK_OK(berth_place_repair(x.cost, one, NULL, &p, &why));
  CHECK(p && berth_placement_device(p)[0] == berth_placement_device(p)[1]);
  CHECK(p && berth_placement_device(p)[2] == berth_placement_device(p)[3]);
  RELEASE(p);
  CHECK_ERROR(berth_place_repair(x.cost, bad, NULL, &p, &why), BERTH_EINVAL,
              "repair: op 1 is on device 2, and there are 2");
  release_instance(&x);
  x = row(twelve);
  /* the group joins, two stay */
  CHECK_OK(berth_place_repair(x.cost, split, NULL, &p, &why));
  CHECK(p && berth_placement_device(p)[0] == berth_placement_device(p)[1]);
  RELEASE(p, x.cost, x.t, x.g);
  x = row(seven);
  CHECK_STATUS(berth_place_repair(x.cost, fits, NULL, &p, &why), BERTH_EINFEASIBLE);
  CHECK(strstr(berth_errmsg(ctx), "repair: cannot fit: ") == berth_errmsg(ctx) && why.missing >= 0);
  release_instance(&x);
}

static berth_status repair_planted(const void *memory) {
  let_pass();
  berth_rng rng = seeded(83, 0);
  int32_t device[24];
  instance x = { NULL, NULL, NULL };
  berth_place_options o = berth_place_default(NULL);
  o.memory = *(const berth_memory_policy *)memory;
  plant(&rng, 18, 3, o.memory, 1.0, device, &x);
  for (int i = 0; i < 18; i++) device[i] = i % 3;
  berth_placement *p = NULL;
  refuse_from_here();
  berth_status st = berth_place_repair(x.cost, device, &o, &p, NULL);
  RELEASE(p);
  release_instance(&x);
  return st == BERTH_EINFEASIBLE ? BERTH_OK : st;
}

TEST("allocations refused, once and from then on") {
  for (berth_memory_policy m = BERTH_MEMORY_INFERENCE; m <= BERTH_MEMORY_TOTAL; m++) {
    refuse_each(repair_planted, &m, 1, 9);
    refuse_each(repair_planted, &m, -1, 9);
  }
}

TEST("inference: limits that a known placement keeps") {
  known(BERTH_MEMORY_INFERENCE, 60, 4, 1.02, 6, 5);
  known(BERTH_MEMORY_INFERENCE, 1000, 4, 1.02, 1, 1);
}

TEST("training: limits that a known placement keeps") {
  known(BERTH_MEMORY_TRAINING, 60, 4, 1.02, 6, 5);
  known(BERTH_MEMORY_TRAINING, 1000, 4, 1.02, 1, 1);
  known(BERTH_MEMORY_TRAINING, 400, 4, 1.05, 2, 2);
}
