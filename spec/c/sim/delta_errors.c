/* Tries that are refused, leave the base as it is and can be followed by others; groups, pins; many
 * devices; refused memory. */
#include "refusals.h"
#include "sim_help.h"

/* a, b in one group; c pinned to 0; d free, and only what has type "fast" runs e. */
static void build(setup *s) {
  static const char *const types[] = { "fast", "slow" };
  berth_topology_builder *b = NULL;
  berth_link l = { 1, 0 };
  double seconds[2] = { 1, 2 };
  setup_begin(s);
  CHECK_OK(berth_graph_builder_types(s->b, 2, types));
  for (int32_t i = 0; i < 5; i++) {
    berth_op op = berth_op_default();
    op.seconds = seconds;
    op.group = i < 2 ? 0 : BERTH_NONE;
    op.pin = i == 2 ? 0 : BERTH_NONE;
    seconds[1] = i == 4 ? BERTH_UNSUPPORTED : 2;
    must_add_op(s->b, &op);
  }
  for (int32_t i = 1; i < 5; i++) setup_edge(s, i - 1, i, 3);
  s->g = must_graph_builder_finish(s->b);
  b = must_topology_builder_new();
  for (int32_t i = 0; i < 4; i++) {
    berth_device d = berth_device_default();
    d.type = types[i % 2];
    must_add_device(b, &d);
  }
  for (int32_t i = 0; i < 2; i++)
    CHECK_OK(berth_topology_builder_add_duplex(b, i, i + 1, &l, NULL));
  s->t = must_topology_builder_finish(b); /* device 3 is alone */
  RELEASE(b);
  s->cost = must_cost_new(s->g, s->t, NULL);
}

static void refused(berth_sim *sim, int32_t n, const int32_t *op, const int32_t *to,
                    berth_status want, const char *what) {
  berth_sim_summary sum = { -1, -1, -1 };
  CHECK_STATUS(berth_sim_try(sim, n, op, to, INFINITY, &sum), want);
  CHECK(says(what) && sum.makespan == -1);
  CHECK_STATUS(berth_sim_accept(sim), BERTH_EINVAL);
  CHECK(berth_sim_chain(sim, (int32_t[5]){ 0 }) == 0);
  CHECK_OK(berth_sim_try(sim, 0, NULL, NULL, INFINITY, &sum));
  CHECK(sum.makespan == 5); /* all on device 0 */
}

static void bad_moves(berth_links links, berth_memory_policy memory) {
  static const int32_t all[] = { 0, 0, 0, 0, 0 }, split[] = { 0, 1, 0, 0, 0 };
  static const int32_t op[] = { 0, 1, 2, 3, 4, 5 }, to[] = { 1, 1, 1, 3, 1, 0 }, apart[] = { 1, 2 };
  berth_sim_summary sum = { -1, -1, -1 };
  berth_sim_options o = berth_sim_default(NULL);
  o.links = links;
  o.memory = memory;
  setup s;
  build(&s);
  berth_sim *sim = must_sim_new(s.cost, &o);
  CHECK_SAYS(berth_sim_try(sim, 0, NULL, NULL, INFINITY, &sum), BERTH_EINVAL, "no base");
  CHECK_STATUS(berth_sim_accept(sim), BERTH_EINVAL);
  CHECK_STATUS(berth_sim_base(sim, split, &sum), BERTH_EINVAL);
  CHECK_STATUS(berth_sim_try(sim, 0, NULL, NULL, INFINITY, &sum), BERTH_EINVAL);
  CHECK_OK(berth_sim_base(sim, all, &sum));
  refused(sim, 1, op, to, BERTH_EINVAL, "group");        /* half a group */
  refused(sim, 2, op, apart, BERTH_EINVAL, "group");     /* all of it, to two devices */
  refused(sim, 1, op + 2, to + 2, BERTH_EINVAL, "op 2"); /* pinned */
  refused(sim, 1, op + 4, to + 4, BERTH_EINVAL, "op 4"); /* cannot run there */
  refused(sim, 1, op + 3, to + 3, BERTH_EUNREACHABLE, "device \"d3\"");
  refused(sim, 1, op + 5, to + 5, BERTH_EINVAL, "no op 5");
  refused(sim, 1, op, op + 5, BERTH_EINVAL, "device");
  refused(sim, -1, NULL, NULL, BERTH_EINVAL, "-1 moves");
  CHECK_STATUS(berth_sim_try(sim, 0, NULL, NULL, NAN, &sum), BERTH_EINVAL);
  CHECK_OK(berth_sim_try(sim, 2, op, to, INFINITY, &sum));
  CHECK(sum.makespan == 4 + 3 + 3); /* both of the group, where all takes twice as long */
  CHECK_OK(berth_sim_accept(sim));
  CHECK_OK(berth_sim_try(sim, 0, NULL, NULL, 4, &sum));
  CHECK(sum.makespan > 4 && sum.makespan <= 10);
}

/* A queue on one device: by hand. */
TEST("a queue, by hand") {
  static const int32_t base[] = { 0, 0, 0, 0 };
  int32_t op = 3, to = 1;
  berth_sim_options o = berth_sim_default(NULL);
  o.memory = BERTH_MEMORY_NONE;
  setup s = setup_started();
  for (int32_t i = 0; i < 4; i++) setup_op(&s, i + 1);
  setup_edge(&s, 0, 3, 5); /* a(1) -> d(4), 5 s to another device */
  setup_mesh(&s, 2, INFINITY);
  berth_sim *sim = must_sim_new(s.cost, &o);
  berth_sim_summary sum;
  CHECK_OK(berth_sim_base(sim, base, &sum));
  CHECK(sum.makespan == 10 && berth_sim_ended(sim) == 4);
  CHECK_OK(berth_sim_try(sim, 1, &op, &to, INFINITY, &sum));
  int32_t chain[4];
  /* 1 + 5 + 4 */
  CHECK(sum.makespan == 10 && berth_sim_chain(sim, chain) == 2 && chain[0] == 3 && chain[1] == 0);
  int64_t ended = berth_sim_ended(sim);
  CHECK(ended < 8); /* d matters from 6 s on: a and b have ended */
  CHECK_OK(berth_sim_try(sim, 1, &op, &to, 9, &sum));
  /* d cannot end in time: seen at its start, at the latest */
  CHECK(sum.makespan == 10 && berth_sim_ended(sim) - ended < 2);
  CHECK_STATUS(berth_sim_accept(sim), BERTH_EINVAL);
}

/* More devices than a scan of slots is for; more log than one mark. */
TEST("many devices, a long log") {
  enum { N = 1500, D = 90 };
  berth_sim *sim = NULL, *fresh = NULL;
  berth_sim_options o = berth_sim_default(NULL);
  int32_t *device = malloc(N * sizeof *device), *x = malloc(N * sizeof *x),
          *y = malloc(N * sizeof *y);
  o.memory = BERTH_MEMORY_NONE;
  berth_rng rng = seeded(9, 0);
  setup s;
  setup_random(&s, &rng, N, 0);
  setup_mesh(&s, D, INFINITY);
  random_devices(&rng, N, D, device);
  sim = must_sim_new(s.cost, &o);
  fresh = must_sim_new(s.cost, &o);
  berth_sim_summary a;
  CHECK_OK(berth_sim_base(sim, device, &a));
  berth_sim_summary b;
  int32_t n;
  for (int32_t i = 0; i < 200; i++) {
    int32_t op = berth_rng_below(&rng, N), to = berth_rng_below(&rng, i % 2 ? D : 4),
            before = device[op];
    CHECK_OK(berth_sim_try(sim, 1, &op, &to, INFINITY, &a));
    device[op] = to;
    b = must_sim_run(fresh, device);
    n = berth_sim_chain(sim, x);
    CHECK(a.makespan == b.makespan && n == berth_sim_chain(fresh, y)
          && memcmp(x, y, (size_t)n * sizeof *x) == 0);
    if (i % 3) CHECK_OK(berth_sim_accept(sim));
    else device[op] = before;
  }
  CHECK(berth_sim_ended(sim) < 0.75 * (double)berth_sim_ended(fresh));
  RELEASE(device, x, y);
}

/* ---- refused allocations ---- */

static berth_status build_graph(berth_graph **g) {
  berth_graph_builder *b = NULL;
  double seconds = 1;
  berth_op op = berth_op_default();
  berth_status st = berth_graph_builder_new(ctx, &b);
  op.seconds = &seconds;
  for (int32_t i = 0; i < 9 && st == BERTH_OK; i++) {
    op.group = i < 2 ? 0 : BERTH_NONE;
    st = berth_graph_builder_add_op(b, &op, NULL);
  }
  for (int32_t i = 1; i < 9 && st == BERTH_OK; i++)
    st = berth_graph_builder_connect(b, 0, i, 2, NULL);
  TRY(st, berth_graph_builder_finish(b, g));
  RELEASE(b);
  return st;
}

static berth_status try_and_accept(berth_sim *sim) {
  static const int32_t device[] = { 0, 0, 1, 2, 1, 2, 0, 1, 2 };
  int32_t op = 4, to = 2;
  berth_sim_summary sum;
  berth_status st = berth_sim_base(sim, device, &sum);
  TRY(st, berth_sim_try(sim, 1, &op, &to, INFINITY, &sum));
  return st == BERTH_OK ? berth_sim_accept(sim) : st;
}

/* What was refused once can be had later. */
static berth_status some_tries(berth_cost *cost, berth_links links, berth_memory_policy memory) {
  berth_sim *sim = NULL;
  berth_sim_options o = berth_sim_default(NULL);
  o.links = links;
  o.memory = memory;
  berth_status st;
  if ((st = berth_sim_new(cost, &o, &sim)) != BERTH_OK) return st;
  if (try_and_accept(sim) != BERTH_OK) {
    CHECK_OK(try_and_accept(sim));
    st = BERTH_ENOMEM;
  }
  RELEASE(sim);
  return st;
}

static berth_status build_all(void) {
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_cost *cost = NULL;
  berth_device d = berth_device_default();
  berth_link l = { 1, 0.25 };
  berth_status st = build_graph(&g);
  TRY(st, berth_topology_ring(ctx, 3, &d, &l, &t));
  TRY(st, berth_cost_new(g, t, NULL, &cost));
  TRY(st, some_tries(cost, BERTH_LINKS_FREE, BERTH_MEMORY_NONE));
  TRY(st, some_tries(cost, BERTH_LINKS_FREE, BERTH_MEMORY_INFERENCE));
  TRY(st, some_tries(cost, BERTH_LINKS_FAIR, BERTH_MEMORY_NONE));
  TRY(st, some_tries(cost, BERTH_LINKS_DUPLEX, BERTH_MEMORY_INFERENCE));
  RELEASE(cost, t, g);
  return st;
}

TEST("what is refused leaves the base") { bad_moves(BERTH_LINKS_FREE, BERTH_MEMORY_NONE); }
TEST("... with memory, too") { bad_moves(BERTH_LINKS_FREE, BERTH_MEMORY_INFERENCE); }
TEST("... and where links are shared") { bad_moves(BERTH_LINKS_DUPLEX, BERTH_MEMORY_INFERENCE); }

TEST("every refused allocation is reported, and the trial can be repeated") {
  refuse_in_turn(build_all, 1);
}
