/* Tight memory where it depends on the order of execution: limits that a known placement keeps;
 * repair of placements. */
#include "list/place_engine_help.h"

/* ---- limits that are known to do ---- */

static berth_graph *layers(berth_ctx *ctx, berth_rng *rng, int32_t n, int training) {
  berth_graph *g = NULL;
  berth_graph_builder *b = must_graph_builder_new(ctx);
  for (int32_t i = 0; i < n; i++) {
    berth_op op = berth_op_default();
    double second = 0.1 + berth_rng_uniform(rng);
    op.seconds = &second;
    op.param_bytes = berth_rng_below(rng, 3) ? berth_rng_below(rng, 1000) : 0;
    op.workspace_bytes = berth_rng_below(rng, 4) ? 0 : berth_rng_below(rng, 300);
    if (training && i >= n / 2) op.twin = n - 1 - i;
    CHECK_STATUS(berth_graph_builder_add_op(b, &op, NULL), BERTH_OK);
  }
  int32_t id;
  for (int32_t i = 0; i + 1 < n; i++) {
    berth_tensor t = { i, 1 + berth_rng_below(rng, 200), -1, 0 };
    CHECK_STATUS(berth_graph_builder_add_tensor(b, &t, &id), BERTH_OK);
    int32_t last = BERTH_NONE;
    for (int32_t k = 0; k < 2; k++) {
      int32_t to = i + 1 + berth_rng_below(rng, n - i - 1 < 12 ? n - i - 1 : 12);
      if (to != last) CHECK_STATUS(berth_graph_builder_add_consumer(b, id, to), BERTH_OK);
      last = to;
    }
  }
  if (!CHECK_STATUS(berth_graph_builder_finish(b, &g), BERTH_OK))
    printf("# %s\n", berth_errmsg(ctx));
  berth_graph_builder_release(b);
  return g;
}

static berth_topology *mesh(berth_ctx *ctx, int32_t n, const double *limit) {
  berth_link l = { 400, 0.01 };
  berth_topology_builder *b = must_topology_builder_new(ctx);
  for (int32_t i = 0; i < n; i++) {
    berth_device d = berth_device_default();
    d.memory = limit ? limit[i] : INFINITY;
    CHECK_STATUS(berth_topology_builder_add_device(b, &d, NULL, NULL), BERTH_OK);
    for (int32_t j = 0; j < i; j++)
      CHECK_STATUS(berth_topology_builder_add_duplex(b, j, i, &l, NULL), BERTH_OK);
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
static void plant(berth_ctx *ctx, berth_rng *rng, int32_t n, int32_t devices,
                  berth_memory_policy memory, double factor, int32_t *device, instance *x) {
  berth_sim_options so = berth_sim_default(NULL);
  berth_topology *roomy = mesh(ctx, devices, NULL);
  x->g = layers(ctx, rng, n, memory == BERTH_MEMORY_TRAINING);
  for (int32_t i = 0; i < n; i++)
    device[i] = slice_of(i, n, devices, memory == BERTH_MEMORY_TRAINING);
  so.memory = memory;
  berth_cost *cost = must_cost_new(x->g, roomy, NULL);
  berth_result *r = must_simulate(cost, device, &so);
  double limit[16];
  for (int32_t i = 0; i < devices; i++) limit[i] = factor * berth_result_peak(r)[i];
  RELEASE(r, cost, roomy);
  x->t = mesh(ctx, devices, limit);
  CHECK_STATUS(berth_cost_new(x->g, x->t, NULL, &x->cost), BERTH_OK);
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
  if (!CHECK_STATUS(berth_simulate(x->cost, berth_placement_device(p), &so, &r), BERTH_OK))
    return 0;
  berth_oom oom;
  int ok = CHECK(!berth_result_oom(r, &oom));
  berth_result_release(r);
  return ok;
}

static int places(berth_ctx *ctx, const instance *x, const char *placer,
                  berth_memory_policy memory) {
  berth_place_options o = berth_place_default(NULL);
  berth_placement *p = NULL;
  o.memory = memory;
  berth_status st = berth_place(x->cost, placer, &o, &p, NULL);
  if (!CHECK(st == BERTH_OK
             || (st == BERTH_EINFEASIBLE && !strstr(berth_errmsg(ctx), "cannot fit")))) {
    printf("# %s\n", berth_errmsg(ctx));
  }
  if (st == BERTH_OK) keeps(x, p, memory, strcmp(placer, "m-topo") != 0);
  berth_placement_release(p);
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
  berth_placement_release(p);
  free(other);
  return st == BERTH_OK;
}

static void known(berth_ctx *ctx, berth_memory_policy memory, int32_t n, int32_t devices,
                  double factor, int rounds, int least) {
  int topo = 0, etf = 0, heft = 0, mended = 0;
  int32_t *device = malloc((size_t)n * sizeof *device);
  berth_rng rng = seeded(81, (uint64_t)(n + (int)memory));
  for (int i = 0; i < rounds; i++) {
    instance x = { NULL, NULL, NULL };
    plant(ctx, &rng, n, devices, memory, factor, device, &x);
    topo += places(ctx, &x, "m-topo", memory);
    etf += places(ctx, &x, "m-etf", memory);
    heft += places(ctx, &x, "heft", memory);
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
static instance row(berth_ctx *ctx, const double *limit) {
  instance x = { NULL, NULL, NULL };
  berth_graph_builder *b = must_graph_builder_new(ctx);
  for (int i = 0; i < 4; i++) {
    berth_op op = berth_op_default();
    double second = 1;
    op.seconds = &second;
    op.param_bytes = 4;
    if (i < 2) op.group = 0;
    CHECK_STATUS(berth_graph_builder_add_op(b, &op, NULL), BERTH_OK);
    if (i > 0) CHECK_STATUS(berth_graph_builder_connect(b, i - 1, i, 0, NULL), BERTH_OK);
  }
  x.g = must_graph(b);
  x.t = mesh(ctx, 2, limit);
  CHECK_STATUS(berth_cost_new(x.g, x.t, NULL, &x.cost), BERTH_OK);
  return x;
}

static void repair_by_hand(berth_ctx *ctx) {
  static const double eight[] = { 8, 8 }, twelve[] = { 12, 12 }, seven[] = { 7, 9 };
  static const int32_t fits[] = { 1, 1, 0, 0 }, split[] = { 0, 1, 1, 1 }, one[] = { 0, 0, 0, 0 },
                       bad[] = { 0, 2, 0, 0 };
  berth_obstacle why = { -9, -9, -9 };
  berth_placement *p = NULL;
  instance x = row(ctx, eight);
  CHECK_STATUS(berth_place_repair(x.cost, fits, NULL, &p, &why), BERTH_OK); /* stays as it is */
  CHECK(p && memcmp(berth_placement_device(p), fits, sizeof fits) == 0);
  CHECK_TEXT(berth_placement_placer(p), "repair");
  CHECK_NEAR(berth_placement_estimate(p), 4.03 - 0.02, 1e-9); /* one transfer of 0.01 s */
  berth_placement_release(p);
  CHECK_STATUS(berth_place_repair(x.cost, one, NULL, &p, &why), BERTH_OK);
  CHECK(p && berth_placement_device(p)[0] == berth_placement_device(p)[1]);
  CHECK(p && berth_placement_device(p)[2] == berth_placement_device(p)[3]);
  berth_placement_release(p);
  CHECK_STATUS(berth_place_repair(x.cost, bad, NULL, &p, &why), BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx), "repair: op 1 is on device 2, and there are 2");
  release_instance(&x);
  x = row(ctx, twelve);
  /* the group joins, two stay */
  CHECK_STATUS(berth_place_repair(x.cost, split, NULL, &p, &why), BERTH_OK);
  CHECK(p && berth_placement_device(p)[0] == berth_placement_device(p)[1]);
  RELEASE(p, x.cost, x.t, x.g);
  x = row(ctx, seven);
  CHECK_STATUS(berth_place_repair(x.cost, fits, NULL, &p, &why), BERTH_EINFEASIBLE);
  CHECK(strstr(berth_errmsg(ctx), "repair: cannot fit: ") == berth_errmsg(ctx) && why.missing >= 0);
  release_instance(&x);
}

static berth_status refuse_one(check_alloc_state *s, const instance *x, const int32_t *device,
                               berth_memory_policy memory, long at) {
  berth_place_options o = berth_place_default(NULL);
  berth_placement *p = NULL;
  long held = s->held;
  o.memory = memory;
  s->calls = 0;
  s->fail_at = at;
  berth_status st = berth_place_repair(x->cost, device, &o, &p, NULL);
  s->fail_at = 0;
  berth_placement_release(p);
  CHECK(s->held == held);
  return st;
}

static void refused_memory(void) {
  check_alloc_state s = { 0, 0, 0 };
  berth_hooks hooks = { .alloc = check_alloc, .alloc_ud = &s };
  berth_ctx *ctx = must_ctx_new(&hooks);
  berth_rng rng = seeded(83, 0);
  for (int memory = BERTH_MEMORY_INFERENCE; memory <= BERTH_MEMORY_TOTAL; memory++) {
    int32_t device[24];
    instance x = { NULL, NULL, NULL };
    plant(ctx, &rng, 18, 3, (berth_memory_policy)memory, 1.0, device, &x);
    for (int i = 0; i < 18; i++) device[i] = i % 3;
    for (long at = 1; !check_bad; at += 1 + at / 9) {
      berth_status st = refuse_one(&s, &x, device, (berth_memory_policy)memory, at);
      CHECK_STATUS(refuse_one(&s, &x, device, (berth_memory_policy)memory, -at), st);
      if (st != BERTH_ENOMEM) break;
    }
    release_instance(&x);
  }
  berth_ctx_release(ctx);
  CHECK(s.held == 0);
}

int main(void) {
  berth_ctx *ctx = must_ctx_new(NULL);
  TEST("inference: limits that a known placement keeps")
  known(ctx, BERTH_MEMORY_INFERENCE, 60, 4, 1.02, 6, 5);
  known(ctx, BERTH_MEMORY_INFERENCE, 1000, 4, 1.02, 1, 1);
  TEST("training: limits that a known placement keeps")
  known(ctx, BERTH_MEMORY_TRAINING, 60, 4, 1.02, 6, 5);
  known(ctx, BERTH_MEMORY_TRAINING, 1000, 4, 1.02, 1, 1);
  known(ctx, BERTH_MEMORY_TRAINING, 400, 4, 1.05, 2, 2);
  TEST("repair keeps what fits, joins groups, moves the rest, and says why not")
  repair_by_hand(ctx);
  TEST("allocations refused, once and from then on") refused_memory();
  return done_with(ctx);
}
