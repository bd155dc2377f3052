/* Proofs that nothing fits, and the memory bound, against the simulator: all placements of tiny
 * problems, each in all orders. */
#include "list/place_engine_help.h"

enum { OPS = 4, DEVICES = 3 };

/* ---- problems ---- */

static void add_op(berth_graph_builder *b, berth_rng *rng, int32_t i, int32_t devices) {
  berth_op op = berth_op_default();
  double seconds[2];
  seconds[0] = berth_rng_below(rng, 3);
  seconds[1] = berth_rng_below(rng, 2) ? seconds[0] : berth_rng_below(rng, 3);
  if (devices > 1 && berth_rng_below(rng, 5) == 0)
    seconds[berth_rng_below(rng, 2)] = BERTH_UNSUPPORTED;
  op.seconds = seconds;
  op.param_bytes = berth_rng_below(rng, 2) ? berth_rng_below(rng, 5) : 0;
  op.workspace_bytes = berth_rng_below(rng, 2) ? berth_rng_below(rng, 7) : 0;
  if (berth_rng_below(rng, 4) == 0) op.group = 0;
  if (op.group == BERTH_NONE && berth_rng_below(rng, 8) == 0)
    op.pin = berth_rng_below(rng, devices);
  if (i >= 2 && berth_rng_below(rng, 3) == 0) op.twin = i - 2;
  must_add_op(b, &op);
}

static berth_graph *tiny_graph(berth_rng *rng, int32_t n, int32_t devices) {
  const char *types[] = { "x", "y" };
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_OK(berth_graph_builder_types(b, 2, types));
  for (int32_t i = 0; i < n; i++) add_op(b, rng, i, devices);
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = berth_rng_below(rng, 3); k > 0; k--) {
      berth_tensor t = { i, berth_rng_below(rng, 3), berth_rng_below(rng, 9), 0 };
      int32_t id = must_add_tensor(b, &t);
      for (int32_t c = i + 1; c < n; c++) {
        if (berth_rng_below(rng, 2))
          CHECK_OK(berth_graph_builder_add_consumer(b, id, c));
      }
    }
  }
  return must_graph(b);
}

static berth_topology *tiny_topology(berth_rng *rng, int32_t n) {
  berth_link l = { 2, 0 };
  berth_topology_builder *b = must_topology_builder_new();
  for (int32_t i = 0; i < n; i++) {
    berth_device d = berth_device_default();
    d.type = i % 2 ? "y" : "x";
    if (berth_rng_below(rng, 5)) d.memory = 3 + berth_rng_below(rng, 22);
    must_add_device(b, &d);
    for (int32_t j = 0; j < i; j++)
      CHECK_OK(berth_topology_builder_add_duplex(b, j, i, &l, NULL));
  }
  return must_topology(b);
}

/* ---- all schedules ---- */

typedef struct world {
  const instance *x;
  berth_sim_options so;
  int32_t sequence[OPS], placed;
  unsigned done;
  double best; /* makespan; INFINITY: nothing holds */
} world;

static void try_devices(world *w) {
  int32_t n = berth_graph_ops(w->x->g), devices = berth_topology_devices(w->x->t),
          device[OPS] = { 0 };
  berth_sim *sim = NULL;
  w->so.sequence = w->sequence;
  if (!CHECK_OK(berth_sim_new(w->x->cost, &w->so, &sim))) return;
  int32_t i;
  do {
    berth_sim_summary s;
    if (berth_sim_run(sim, device, &s) == BERTH_OK && s.oom_op == BERTH_NONE)
      w->best = fmin(w->best, s.makespan);
    for (i = 0; i < n && ++device[i] == devices; i++) device[i] = 0;
  } while (i < n);
  RELEASE(sim);
}

static int is_ready(const world *w, int32_t op) {
  const int32_t *in;
  int32_t n = berth_graph_inputs(w->x->g, op, &in);
  for (int32_t i = 0; i < n; i++) {
    berth_tensor t = must_graph_tensor(w->x->g, in[i]);
    if (!(w->done >> t.producer & 1)) return 0;
  }
  return 1;
}

static void try_orders(world *w) {
  int32_t n = berth_graph_ops(w->x->g);
  if (w->placed == n) try_devices(w);
  for (int32_t op = 0; op < n; op++) {
    if ((w->done >> op & 1) || !is_ready(w, op)) continue;
    w->sequence[w->placed++] = op;
    w->done |= 1u << op;
    try_orders(w);
    w->done &= ~(1u << op);
    w->placed--;
  }
}

static double best_within(const instance *x, berth_memory_policy memory, double param_multiple,
                          berth_send send) {
  world w = { x, berth_sim_default(NULL), { 0 }, 0, 0, INFINITY };
  w.so.dispatch = BERTH_DISPATCH_PLANNED;
  w.so.memory = memory;
  w.so.param_multiple = param_multiple;
  w.so.send = send;
  try_orders(&w);
  return w.best;
}

/* ---- what is claimed ---- */

typedef struct tally {
  int fit, unfit, proved, claims;
} tally;

/* No placer may say that nothing can fit. */
static void check_claims(const instance *x, berth_memory_policy memory, double param_multiple,
                         double best, tally *count) {
  static const berth_policy plain = { .name = "plain" };
  berth_place_options o = berth_place_default(NULL);
  o.memory = memory;
  o.param_multiple = param_multiple;
  o.policy = &plain;
  for (const berth_placer *const *placer = berth_placers(); *placer; placer++) {
    berth_placement *p = NULL;
    berth_status st = berth_place(x->cost, (*placer)->name, &o, &p, NULL);
    if (st == BERTH_EINFEASIBLE && strstr(berth_errmsg(ctx), "cannot fit")) {
      count->claims++;
      if (!CHECK(isinf(best))) printf("# %s\n", berth_errmsg(ctx));
    }
    RELEASE(p);
  }
}

static void check_instance(const instance *x, berth_memory_policy memory, double param_multiple,
                           tally *count) {
  double best = fmin(best_within(x, memory, param_multiple, BERTH_SEND_PUSH),
                     best_within(x, memory, param_multiple, BERTH_SEND_PULL));
  berth_bounds_options asked = { memory, param_multiple, true, 1e-2, BERTH_LINKS_FREE, 0 };
  berth_bounds b;
  berth_status st = berth_bounds_compute(x->cost, &asked, &b, NULL);
  if (isinf(best)) count->unfit++; else count->fit++;
  if (st == BERTH_EINFEASIBLE) {
    count->proved++;
    if (!CHECK(isinf(best)))
      printf("# memory %d: %s, but %g s\n", (int)memory, berth_errmsg(ctx), best);
  } else if (CHECK_OK(st)) {
    if (!CHECK(b.best <= best * (1 + 1e-9)))
      printf("# memory %d: bound %g s, but %g s\n", (int)memory, b.best, best);
  }
  check_claims(x, memory, param_multiple, best, count);
}

static void many(berth_memory_policy memory, int rounds) {
  tally count = { 0, 0, 0, 0 };
  berth_rng rng = seeded(51, (uint64_t)memory);
  for (int i = 0; i < rounds && !check_bad; i++) {
    int32_t devices = 1 + berth_rng_below(&rng, DEVICES),
            n = 1 + berth_rng_below(&rng, devices == DEVICES ? OPS - 1 : OPS);
    instance x = { tiny_graph(&rng, n, devices), tiny_topology(&rng, devices), NULL };
    if (berth_cost_new(x.g, x.t, NULL, &x.cost) == BERTH_OK)
      check_instance(&x, memory, i % 2 ? 1 : 1.5, &count);
    if (check_bad) printf("# round %d\n", i);
    release_instance(&x);
  }
  CHECK(count.fit > rounds / 3 && count.unfit > rounds / 20 && 2 * count.proved > count.unfit);
  printf("# %d fit, %d do not, %d of them proved; %d claims of placers\n", count.fit, count.unfit,
         count.proved, count.claims);
}

TEST("inference: what is proved is so") { many(BERTH_MEMORY_INFERENCE, check_runs(80, 1200)); }
TEST("training: what is proved is so") { many(BERTH_MEMORY_TRAINING, check_runs(80, 1200)); }
TEST("total: what is proved is so") { many(BERTH_MEMORY_TOTAL, check_runs(80, 1200)); }
