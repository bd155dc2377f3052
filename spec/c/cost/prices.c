/* Cost: prices of ops, transfers and collectives against values by hand; refusals. */
#include "cost/cost_internal.h"
#include "refusals.h"

static berth_graph *finish_graph(berth_graph_builder *b) {
  return must_graph(b);
}
static berth_topology *finish_topology(berth_topology_builder *b) {
  return must_topology(b);
}
static berth_graph_builder *graph_builder(void) {
  return must_graph_builder_new();
}
static void add_op(berth_graph_builder *b, const char *name, const double *seconds, double flop,
                   double bytes, int32_t pin) {
  berth_op op = berth_op_default();
  op.name = name;
  op.seconds = seconds;
  op.flop = flop;
  op.bytes = bytes;
  op.pin = pin;
  must_add_op(b, &op);
}

/* One op of 2 s (and of `seconds`), or of flop and bytes; two chained tensors. */
static berth_graph *chain(double bytes_a, double bytes_b) {
  berth_graph_builder *b = graph_builder();
  for (int i = 0; i < 3; i++) add_op(b, NULL, (double[]){ 2 + i }, 0, 0, BERTH_NONE);
  must_add_edge(b, 0, 1, bytes_a);
  must_add_edge(b, 1, 2, bytes_b);
  return finish_graph(b);
}

/* d0, d1 fast; d2 half speed; d0-d1 8 B/s 1 s, d1-d2 4 B/s 2 s (both ways), so d0 -> d2 goes over
 * d1; d3 alone. */
static berth_topology *uneven(void) {
  return must_topology_of_text("1 1 0.5 1 0-1:8,1 1-2:4,2");
}
static berth_topology *mesh(int32_t n, double bandwidth, double latency) {
  return must_mesh(n, INFINITY, bandwidth, latency);
}
/* Takes both. */
static berth_cost *price(berth_graph *g, berth_topology *t, const berth_cost_model *m) {
  berth_cost *c = must_cost_new(g, t, m);
  RELEASE(g, t);
  return c;
}
static void refuse(berth_graph *g, berth_topology *t, const berth_cost_model *m,
                   berth_status want) {
  berth_cost *c = NULL;
  CHECK_STATUS(berth_cost_new(g, t, m, &c), want);
  CHECK(c == NULL);
  RELEASE(g, t);
}

TEST("transfers: latencies plus bytes over the least bandwidth") {
  berth_cost *c = price(chain(16, 0), uneven(), NULL);
  CHECK(!c->uniform && !c->table);
  CHECK(berth_cost_transfer(c, 0, 0, 0) == 0);
  CHECK(berth_cost_transfer(c, 0, 0, 1) == 3);
  CHECK(berth_cost_transfer(c, 0, 0, 2) == 7);
  CHECK(berth_cost_transfer(c, 1, 0, 2) == 3);
  CHECK(isinf(berth_cost_transfer(c, 0, 0, 3)));
  CHECK(isnan(berth_cost_transfer(c, 2, 0, 1)) && isnan(berth_cost_transfer(c, 0, 4, 1)));
  CHECK(isnan(berth_cost_transfer(c, 0, 0, -1)));
  CASE("transfers: factor and free control");
  c = price(chain(16, 0), uneven(),
            &(berth_cost_model){ .transfer_factor = 2, .free_control = 1 });
  CHECK(berth_cost_transfer(c, 0, 0, 2) == 14 && berth_cost_transfer(c, 1, 0, 2) == 0);
  CHECK(isinf(berth_cost_transfer(c, 0, 3, 2)));
  CASE("transfers: one number per tensor where all pairs are alike; true division");
  c = price(chain(0.1 + 0.2, 3), mesh(3, 1, 0), NULL);
  CHECK(c->uniform && berth_cost_transfer(c, 0, 2, 1) == 0.1 + 0.2
        && berth_cost_transfer(c, 1, 0, 1) == 3);
  CHECK(berth_cost_transfer(c, 0, 1, 1) == 0);
  c = price(chain(7, 0), mesh(2, 49, 0), NULL);
  CHECK(berth_cost_transfer(c, 0, 0, 1) == 7.0 / 49.0);
  c = price(chain(7, 0), mesh(2, INFINITY, 3), NULL);
  CHECK(berth_cost_transfer(c, 0, 0, 1) == 3);
}

TEST("ops: profile over speed; devices alike share a class") {
  berth_cost *c = price(chain(0, 0), uneven(), &(berth_cost_model){ .op_factor = 3 });
  CHECK(c->n_classes == 2 && c->class_of[0] == 0 && c->class_of[1] == 0 && c->class_of[2] == 1
        && c->class_of[3] == 0);
  CHECK(c->class_size[0] == 3 && c->class_device[1] == 2);
  CHECK(berth_cost_op(c, 1, 0) == 9 && berth_cost_op(c, 1, 2) == 18);
  CHECK(isnan(berth_cost_op(c, 3, 0)) && isnan(berth_cost_op(c, 0, 4))
        && isnan(berth_cost_op(c, -1, 0)));
  CHECK(berth_cost_graph(c)->n_ops == 3 && berth_cost_topology(c)->n_devices == 4);
  berth_cost_retain(c);
  RELEASE(c);
  CHECK(berth_cost_op(c, 1, 0) == 9);
  RELEASE(c);
  berth_cost_release(NULL);
}

static berth_topology *typed(int32_t n, const char *const *types, double flops,
                             double memory_bandwidth) {
  berth_device d = berth_device_default();
  berth_topology_builder *b = must_topology_builder_new();
  d.flops = flops;
  d.memory_bandwidth = memory_bandwidth;
  d.overhead = 0.5;
  for (int32_t i = 0; i < n; i++) {
    d.type = types[i];
    must_add_device(b, &d);
  }
  return finish_topology(b);
}
static berth_graph_builder *typed_graph(void) {
  berth_graph_builder *b = graph_builder();
  CHECK_OK(berth_graph_builder_types(b, 2, (const char *[]){ "cpu", "gpu" }));
  return b;
}

TEST("ops: a profile holds for the types that the graph names, the roofline for others") {
  static const char *const types[] = { "gpu", "cpu", "tpu" };
  berth_graph_builder *b = typed_graph();
  add_op(b, "both", (double[]){ 4, 1 }, 100, 10, BERTH_NONE);
  add_op(b, "flops", NULL, 100, 10, BERTH_NONE);
  add_op(b, "bytes", NULL, 10, 100, BERTH_NONE);
  add_op(b, "free", NULL, 0, 0, BERTH_NONE);
  add_op(b, "gpu only", (double[]){ BERTH_UNSUPPORTED, 1 }, 0, 5, BERTH_NONE);
  berth_cost *c = price(finish_graph(b), typed(3, types, 10, 5), NULL);
  CHECK(c->n_classes == 3);
  CHECK(berth_cost_op(c, 0, 0) == 1 && berth_cost_op(c, 0, 1) == 4
        && berth_cost_op(c, 0, 2) == 10.5);
  CHECK(berth_cost_op(c, 1, 0) == 10.5 && berth_cost_op(c, 2, 1) == 20.5);
  CHECK(berth_cost_op(c, 3, 0) == 0 && berth_cost_op(c, 3, 2) == 0);
  CHECK(berth_cost_op(c, 4, 0) == 1 && berth_cost_op(c, 4, 1) == BERTH_UNSUPPORTED
        && berth_cost_op(c, 4, 2) == 1.5);
  CASE("ops: a term of unknown rate is left out; a graph of one unnamed type fits all");
  b = graph_builder();
  add_op(b, NULL, NULL, 100, 10, BERTH_NONE);
  add_op(b, NULL, (double[]){ 3 }, 0, 0, BERTH_NONE);
  c = price(finish_graph(b), typed(3, types, 0, 5), NULL);
  CHECK(c->n_classes == 1 && berth_cost_op(c, 0, 1) == 2.5 && berth_cost_op(c, 1, 2) == 3);
}

TEST("ops that cannot be priced, run or pinned are named") {
  static const char *const types[] = { "gpu", "tpu" }, *const cpus[] = { "cpu", "cpu" };
  berth_graph_builder *b = typed_graph();
  add_op(b, "conv1", (double[]){ 4, 1 }, 0, 0, BERTH_NONE);
  refuse(finish_graph(b), typed(2, (const char *[]){ "npu", "tpu" }, 10, 5), NULL,
         BERTH_EINFEASIBLE);
  CHECK_TEXT(berth_errmsg(ctx), "op 0 \"conv1\" cannot run on any of the 2 devices");
  b = graph_builder();
  add_op(b, "conv1", NULL, 10, 0, BERTH_NONE);
  refuse(finish_graph(b), typed(2, types, 0, 5), NULL, BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx),
             "op 0 \"conv1\": no time for device type \"gpu\" (device \"d0\"): no profile, and "
             "no roofline from 10 FLOP and 0 B at 0 FLOP/s and 5 B/s (0: unknown): the device "
             "needs a preset, or flops and memory_bandwidth");
  b = typed_graph();
  add_op(b, NULL, (double[]){ BERTH_UNSUPPORTED, 1 }, 0, 0, BERTH_NONE);
  refuse(finish_graph(b), typed(2, cpus, 0, 0), NULL, BERTH_EINFEASIBLE);
  CHECK_TEXT(berth_errmsg(ctx), "op 0 cannot run on any of the 2 devices");
  b = typed_graph();
  add_op(b, "p", (double[]){ BERTH_UNSUPPORTED, 1 }, 0, 0, 1);
  refuse(finish_graph(b), typed(2, (const char *[]){ "gpu", "cpu" }, 0, 0), NULL,
         BERTH_EINFEASIBLE);
  CHECK_TEXT(berth_errmsg(ctx), "op 0 \"p\" is pinned to device \"d1\", which cannot run it");
  b = graph_builder();
  add_op(b, "p", (double[]){ 1 }, 0, 0, 2);
  refuse(finish_graph(b), mesh(2, 1, 0), NULL, BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx), "op 0 \"p\" is pinned to device 2, but there are 2");
  refuse(chain(0, 0), mesh(2, 1, 0), &(berth_cost_model){ .op_factor = -1 },
         BERTH_EINVAL);
  refuse(chain(0, 0), mesh(2, 1, 0), &(berth_cost_model){ .transfer_factor = NAN },
         BERTH_EINVAL);
}

/* Zeros follow each block: what stands behind the last device looks like a device of class 0. */
static void *alloc_before_zeros(void *ud, void *ptr, size_t osize, size_t nsize) {
  void *block = nsize ? calloc(1, nsize + 64) : NULL;
  (void)ud;
  if (block && ptr) memcpy(block, ptr, osize < nsize ? osize : nsize);
  if (block || nsize == 0) free(ptr);
  return block;
}

/* Two devices, 0 and 1, alike and without FLOP/s: an op pinned to device 2 is refused for its pin,
 * whether it has a profile, 1 s, or 10 FLOP, which would be no fault on a device that it does not
 * run on. */
TEST("a pin past the last device is named, whether or not the op has a time") {
  berth_hooks hooks = { .alloc = alloc_before_zeros };
  hooked(&hooks);
  for (int profiled = 0; profiled < 2; profiled++) {
    berth_graph_builder *b = graph_builder();
    add_op(b, "p", profiled ? (double[]){ 1 } : NULL, profiled ? 0 : 10, 0, 2);
    refuse(finish_graph(b), mesh(2, 1, 0), NULL, BERTH_EINVAL);
    CHECK_TEXT(berth_errmsg(ctx), "op 0 \"p\" is pinned to device 2, but there are 2");
  }
  hooked(NULL);
}

/* Device 0 has FLOP/s, device 1 has none. */
static berth_topology *one_rated(void) {
  berth_device d = berth_device_default();
  berth_topology_builder *b = must_topology_builder_new();
  for (int i = 0; i < 2; i++) {
    d.flops = i == 0 ? 5 : 0;
    must_add_device(b, &d);
  }
  CHECK_OK(berth_topology_builder_add_duplex(b, 0, 1, &(berth_link){ 8, 1 }, NULL));
  return finish_topology(b);
}

TEST("a device that an op cannot use needs no rates for it") {
  static const char *const types[] = { "gpu", "tpu" };
  berth_graph_builder *b = graph_builder();
  add_op(b, NULL, NULL, 10, 0, 0);
  berth_cost *c = price(finish_graph(b), one_rated(), NULL);
  CHECK(berth_cost_op(c, 0, 0) == 2 && berth_cost_op(c, 0, 1) == BERTH_UNSUPPORTED);
  b = graph_builder();
  add_op(b, NULL, NULL, 10, 0, 1);
  refuse(finish_graph(b), one_rated(), NULL, BERTH_EINVAL);
  b = graph_builder();
  add_op(b, NULL, NULL, 10, 0, BERTH_NONE);
  refuse(finish_graph(b), one_rated(), NULL, BERTH_EINVAL);
  CASE("a profile alone does not reach types that the graph does not name");
  b = typed_graph();
  add_op(b, NULL, (double[]){ 4, 1 }, 0, 0, BERTH_NONE);
  add_op(b, NULL, (double[]){ 4, 1 }, 100, 0, BERTH_NONE);
  c = price(finish_graph(b), typed(2, types, 10, 5), NULL);
  CHECK(berth_cost_op(c, 0, 0) == 1 && berth_cost_op(c, 0, 1) == BERTH_UNSUPPORTED);
  CHECK(berth_cost_op(c, 1, 0) == 1 && berth_cost_op(c, 1, 1) == 10.5);
}

TEST("a pinned op runs in one place only") {
  berth_graph_builder *b = graph_builder();
  add_op(b, NULL, (double[]){ 2 }, 0, 0, 2);
  berth_cost *c = price(finish_graph(b), uneven(), NULL);
  CHECK(berth_cost_op(c, 0, 2) == 4 && berth_cost_op(c, 0, 0) == BERTH_UNSUPPORTED);
  double s[1];
  CHECK_OK(berth_cost_mean_ops(c, s));
  CHECK(s[0] == 4);
  CHECK_OK(berth_cost_min_ops(c, s));
  CHECK(s[0] == 4);
  CHECK(berth_cost_rho(c) == 0);
}

typedef struct call_count {
  int ops, transfers, collectives;
  int32_t bad_op, bad_tensor;
  double bad;
  berth_status status;
} call_count;
static berth_status call_op(void *ud, int32_t op, int32_t device, double *s) {
  call_count *c = ud;
  c->ops++;
  *s = op == c->bad_op ? c->bad : 10 * op + device;
  return op == c->bad_op ? c->status : BERTH_OK;
}
static berth_status call_transfer(void *ud, int32_t tensor, int32_t src, int32_t dst, double *s) {
  call_count *c = ud;
  c->transfers++;
  *s = tensor == c->bad_tensor ? c->bad : 100 * tensor + 10 * src + dst;
  return tensor == c->bad_tensor ? c->status : BERTH_OK;
}
static berth_status call_collective(void *ud, int32_t collective, int32_t n, const int32_t *devices,
                                    double *s) {
  call_count *c = ud;
  c->collectives++;
  *s = collective == 1 ? c->bad : n + devices[0];
  return BERTH_OK;
}

TEST("functions: asked once per op and device, tensor and pair; factors apply") {
  call_count k = { .bad_op = -1, .bad_tensor = -1 };
  berth_cost_model m = { .op = call_op,
                         .transfer = call_transfer,
                         .collective = call_collective,
                         .ud = &k,
                         .op_factor = 2,
                         .transfer_factor = 3 };
  berth_cost *c = price(chain(5, 0), uneven(), &m);
  CHECK(k.ops == 12 && k.transfers == 2 * 12 && c->n_classes == 4 && c->table);
  CHECK(berth_cost_op(c, 2, 3) == 46 && berth_cost_transfer(c, 1, 2, 3) == 3 * 123
        && berth_cost_transfer(c, 1, 3, 3) == 0);
  k.transfers = 0;
  m.free_control = 1;
  c = price(chain(5, 0), uneven(), &m);
  CHECK(k.transfers == 2 * 12 && berth_cost_transfer(c, 1, 0, 1) == 0);
  CASE("functions: NaN, negative and failures are refused; infinity is legal");
  k.bad_op = 1;
  k.bad = NAN;
  refuse(chain(5, 0), uneven(), &m, BERTH_EINVAL);
  CHECK_TEXT(berth_errmsg(ctx), "op 1 on device \"d0\": the cost function gave nan s");
  k.bad = INFINITY;
  refuse(chain(5, 0), uneven(), &m, BERTH_EINFEASIBLE);
  k.status = BERTH_ECALLBACK;
  refuse(chain(5, 0), uneven(), &m, BERTH_ECALLBACK);
  k.status = BERTH_OK;
  k.bad_op = -1;
  k.bad_tensor = 0;
  c = price(chain(5, 0), uneven(), &m);
  CHECK(isinf(berth_cost_transfer(c, 0, 0, 1)));
  RELEASE(c);
  k.bad = -1;
  refuse(chain(5, 0), uneven(), &m, BERTH_EINVAL);
  CHECK_TEXT(
      berth_errmsg(ctx),
      "tensor 0 of op 0 from device \"d0\" to device \"d1\": the cost function gave -1 s");
  k.status = BERTH_ECALLBACK;
  refuse(chain(5, 0), uneven(), &m, BERTH_ECALLBACK);
}

static berth_graph *with_collectives(const berth_collective_kind *kinds, int n, double bytes) {
  berth_graph_builder *b = graph_builder();
  for (int i = 0; i < 4; i++) add_op(b, NULL, (double[]){ 1 }, 0, 0, BERTH_NONE);
  for (int i = 0; i < n; i++) {
    berth_collective c = { kinds[i], bytes, 1, 4, (int32_t[]){ 0, 1, 2, 3 }, 0, NULL };
    must_add_collective(b, &c);
  }
  return finish_graph(b);
}
static void check_collective(const berth_cost *c, int32_t k, const int32_t *devices, double want) {
  double s = -1;
  CHECK_OK(berth_cost_collective(c, k, 4, devices, &s));
  CHECK_NEAR(s, want, 1e-12);
}

TEST("collectives on a ring of 4: 96 B per member, 8 B/s, 0.5 s") {
  static const berth_collective_kind kinds[] = { BERTH_ALLREDUCE,     BERTH_ALLGATHER,
                                                 BERTH_REDUCESCATTER, BERTH_BROADCAST,
                                                 BERTH_ALLTOALL,      BERTH_BARRIER };
  static const double seconds[] = { 6 * 0.5 + 1.5 * 12, 3 * (0.5 + 12), 3 * (0.5 + 3),
                                    3 * 0.5 + 12,       3 * (0.5 + 3),  3 };
  static const int32_t all[] = { 0, 1, 2, 3 }, two[] = { 0, 1, 1, 0 }, one[] = { 2, 2, 2, 2 };
  call_count k = { .bad = -1 };
  double s = -1;
  berth_cost *c = price(with_collectives(kinds, 6, 96), mesh(5, 8, 0.5), NULL);
  for (int32_t i = 0; i < 6; i++) {
    check_collective(c, i, all, seconds[i]);
    check_collective(c, i, one, 0);
  }
  check_collective(c, 0, two, 2 * 0.5 + 12);
  CHECK_STATUS(berth_cost_collective(c, 6, 4, all, &s), BERTH_EINVAL);
  CHECK_STATUS(berth_cost_collective(c, 0, 3, all, &s), BERTH_EINVAL);
  CHECK_STATUS(berth_cost_collective(c, 0, 4, (int32_t[]){ 0, 1, 2, 5 }, &s), BERTH_EINVAL);
  CHECK(s == -1);
  CASE("collectives: the slowest pair counts; unreachable is said; factor and function");
  c = price(with_collectives(kinds, 6, 96), uneven(),
            &(berth_cost_model){ .transfer_factor = 2 });
  check_collective(c, 0, (int32_t[]){ 0, 1, 2, 2 }, 2 * (4 * 3 + 4.0 / 3 * 96 / 4));
  CHECK_STATUS(berth_cost_collective(c, 0, 4, all, &s), BERTH_EUNREACHABLE);
  c = price(with_collectives(kinds, 6, 96), uneven(),
            &(berth_cost_model){ .collective = call_collective, .ud = &k });
  check_collective(c, 0, all, 4);
  CHECK_STATUS(berth_cost_collective(c, 1, 4, all, &s), BERTH_EINVAL);
  CHECK(k.collectives == 2);
}

static berth_status build_all(void) {
  call_count k = { .bad_op = -1, .bad_tensor = -1 };
  berth_cost_model m = { .op = call_op, .transfer = call_transfer, .ud = &k };
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_cost *c = NULL, *by_function = NULL;
  berth_status st = graph_of_text("1 1 1 0>1:8", &g);
  TRY(st, mesh_of(3, INFINITY, 1, 1, &t));
  TRY(st, berth_cost_new(g, t, NULL, &c));
  TRY(st, berth_cost_new(g, t, &m, &by_function));
  RELEASE(by_function, c, t, g);
  return st;
}

TEST_REFUSALS(build_all)
