/* The executor on small graphs: what must hold of times (never how short they are), of results, of
 * order. */
#include "exec/exec_internal.h"
#include "exec_checker.h"

/* ---- by hand ---- */

static berth_exec_options paced(double scale) {
  berth_exec_options o = berth_exec_default();
  o.mode = BERTH_EXEC_PACED;
  o.scale = scale;
  return o;
}

/* a (2 s), 8 bytes at 1 byte/s, b (1 s); a second is 2 ms */
TEST("a chain takes its time") {
  berth_exec_options o = paced(0.002);
  int32_t apart_[] = { 0, 1 }, together[] = { 1, 1 };
  setup s = setup_of("2 1 0>1:8", 2, INFINITY);
  berth_executor *x = must_executor_new(s.cost, &o);
  berth_execution *r = must_executor_run(x, apart_, 1);
  CHECK(berth_execution_finish(r)[0] >= 0.004);
  CHECK(berth_execution_start(r)[1] >= 0.020);
  CHECK(berth_execution_makespan(r) >= 0.022);
  const berth_transfer *sent;
  CHECK(berth_execution_transfers(r, &sent) == 1);
  CHECK(sent[0].tensor == 0 && sent[0].src == 0 && sent[0].dst == 1
        && sent[0].finish - sent[0].start >= 0.016 - 1e-9);
  CHECK(berth_execution_busy(r)[1] >= 0.002);
  check_execution(r, &o);
  r = must_executor_run(x, together, 1);
  CHECK(berth_execution_makespan(r) >= 0.006 && berth_execution_transfers(r, &sent) == 0);
  CHECK(berth_execution_busy(r)[0] == 0);
  CHECK_NEAR(berth_executor_scale(x), 0.002, 0);
  CHECK(berth_executor_threads(x) == 4);
}

/* a (1 s) to b and c (2 s each) to d (1 s), 1 byte each; b apart: d waits for two transfers of 1 s.
 * a's tensor is one. */
TEST("a diamond takes its time, and a tensor crosses once") {
  berth_exec_options o = paced(0.002);
  int32_t device[] = { 0, 1, 0, 0 };
  setup s = setup_started();
  for (int k = 0; k < 4; k++) setup_op(&s, k == 1 || k == 2 ? 2 : 1);
  setup_add(&s, "0>1,2:1 1>3:1 2>3:1");
  setup_mesh(&s, 2, INFINITY);
  berth_executor *x = must_executor_new(s.cost, &o);
  berth_execution *r = must_executor_run(x, device, 3);
  CHECK(berth_execution_start(r)[1] >= 0.004);
  CHECK(berth_execution_start(r)[3] >= 0.010);
  CHECK(berth_execution_makespan(r) >= 0.012);
  const berth_transfer *sent;
  CHECK(berth_execution_transfers(r, &sent) == 2);
  check_execution(r, &o);
}

/* ---- at random ---- */

static const char *const kinds[] = { "matmul", "formation", "relu", "einsummable", "" };

/* A layered graph with all kinds of kernels, tensors of many readers and of none, sources and
 * sinks. */
static void make_mixed(setup *s, berth_rng *rng, int32_t n, int32_t devices, int uneven) {
  setup_begin(s);
  for (int32_t i = 0; i < n; i++) {
    berth_op op = berth_op_default();
    double seconds = berth_rng_below(rng, 4) * 0.25;
    op.seconds = &seconds;
    op.kind = kinds[berth_rng_below(rng, 5)];
    must_add_op(s->b, &op);
  }
  for (int32_t i = 0; i < n - 1; i++) {
    int32_t tensors = berth_rng_below(rng, 3);
    for (int32_t k = 0; k < tensors; k++) {
      int32_t t = setup_tensor(s, i, 0.001 * berth_rng_below(rng, 700));
      for (int32_t c = i + 1; c < n && c < i + 9; c++) {
        if (berth_rng_below(rng, 4) == 0) setup_use(s, t, c);
      }
    }
  }
  if (uneven) setup_uneven(s, devices);
  else setup_mesh(s, devices, INFINITY);
}

static void check_same_sums(const berth_execution *r, int32_t n, uint64_t *kept) {
  const uint64_t *sums = berth_execution_checksums(r);
  CHECK(berth_execution_wrong(r) == BERTH_NONE);
  for (int32_t i = 0; i < n; i++) {
    CHECK(kept[i] == 0 || kept[i] == sums[i]);
    kept[i] = sums[i];
  }
}

static berth_exec_options variant(int k) {
  static const berth_links links[] = { BERTH_LINKS_FREE, BERTH_LINKS_CHANNEL, BERTH_LINKS_DUPLEX,
                                       BERTH_LINKS_PAIR };
  static const berth_dispatch how[] = { BERTH_DISPATCH_FIFO, BERTH_DISPATCH_LIFO,
                                        BERTH_DISPATCH_RANDOM, BERTH_DISPATCH_BLEVEL,
                                        BERTH_DISPATCH_LIGHT_FIRST, BERTH_DISPATCH_LIGHT_CLASS };
  berth_exec_options o = berth_exec_default();
  o.links = links[k % 4];
  o.dispatch = how[k % 6];
  o.mode = k % 2 ? BERTH_EXEC_PACED : BERTH_EXEC_COMPUTE;
  o.seconds = 0.004;
  o.memory = 1 << (10 + k % 11);
  o.seed = 5;
  return o;
}

TEST("any placement, dispatch and links: order, exclusion, work conservation, results") {
  enum { N = 40, DEVICES = 3 };
  berth_rng rng = seeded(11, 0);
  for (int k = 0; k < 20; k++) {
    berth_exec_options o = variant(k);
    uint64_t sums[N] = { 0 };
    setup s;
    make_mixed(&s, &rng, N, DEVICES, k % 3 == 0);
    berth_executor *x = must_executor_new(s.cost, &o);
    int32_t device[N];
    for (int round = 0; round < 3; round++) {
      random_devices(&rng, N, round == 2 ? 1 : DEVICES, device);
      berth_execution *r = must_executor_run(x, device, 2);
      check_execution(r, &o);
      check_same_sums(r, N, sums);
    }
  }
}

/* Results depend on the graph, the sizes and the seed alone. */
TEST("results do not depend on mode, order and links, but on the seed") {
  enum { N = 30 };
  uint64_t sums[N] = { 0 };
  int32_t differ = 0;
  berth_rng rng = seeded(12, 0);
  setup s;
  make_mixed(&s, &rng, N, 2, 0);
  int32_t device[N];
  random_devices(&rng, N, 2, device);
  for (int k = 0; k < 5; k++) {
    berth_exec_options o = variant(k);
    o.memory = 65536;
    o.seed = k == 4 ? 6 : 5;
    berth_executor *x = must_executor_new(s.cost, &o);
    berth_execution *r = must_executor_run(x, device, 1);
    CHECK(berth_execution_wrong(r) == BERTH_NONE);
    for (int32_t i = 0; k == 4 && i < N; i++) differ += sums[i] != berth_execution_checksums(r)[i];
    if (k < 4) check_same_sums(r, N, sums);
  }
  CHECK(differ > N / 2);
}

TEST("a wrong result is found") {
  enum { N = 30 };
  berth_exec_options o = variant(0);
  berth_rng rng = seeded(13, 0);
  setup s;
  make_mixed(&s, &rng, N, 2, 0);
  int32_t device[N];
  random_devices(&rng, N, 2, device);
  berth_executor *x = must_executor_new(s.cost, &o);
  berth_execution *r;
  for (int32_t op = 0; op < N; op += 7) {
    x->corrupt = op;
    r = must_executor_run(x, device, 1);
    CHECK(berth_execution_wrong(r) == op); /* ids are topological here, so no earlier op reads it */
    RELEASE(r);
  }
  x->corrupt = BERTH_NONE;
  r = must_executor_run(x, device, 1);
  CHECK(berth_execution_wrong(r) == BERTH_NONE);
}

/* A copy that is not what was sent. */
TEST("a wrong copy is found") {
  berth_exec_options o = paced(0.001);
  int32_t device[] = { 0, 1 };
  setup s = setup_of("1 1 0>1:1", 2, INFINITY);
  berth_executor *x = must_executor_new(s.cost, &o);
  must_executor_run(x, device, 1);
  x->device = device;
  uint64_t sums[2];
  CHECK(berth_i_exec_compare(x, sums) == BERTH_NONE);
  x->copy_at[0][3] += 1;
  CHECK(berth_i_exec_compare(x, sums) == 0);
  x->device = NULL;
}

TEST("several runs: the median") {
  berth_exec_options o = paced(0.001);
  int32_t device[] = { 0 }, below = 0;
  setup s = setup_of("1", 1, INFINITY);
  berth_executor *x = must_executor_new(s.cost, &o);
  CHECK(berth_executor_threads(x) == 1);
  berth_execution *r = must_executor_run(x, device, 6);
  int32_t n;
  const double *times = berth_execution_times(r, &n);
  CHECK(n == 6);
  for (int32_t i = 0; i < n; i++) below += times[i] < berth_execution_makespan(r);
  CHECK(below <= 2);
}

/* The same kernel: kind, times, sizes. */
TEST("ops of one class run one kernel") {
  setup s = setup_of("1 2 1 1 1 0>1:64 2>3:64 4>3:640", 1, INFINITY);
  berth_executor *x = must_executor_new(s.cost, NULL);
  int32_t class_of[5];
  CHECK(berth_executor_kernels(x, class_of) == 4);
  CHECK(class_of[0] == 0 && class_of[1] == 1 && class_of[2] == 0 && class_of[3] == 2
        && class_of[4] == 3);
  CHECK_NEAR(berth_executor_scale(x), 0.1 / 6, 1e-15);
  CHECK_NEAR(berth_executor_byte_scale(x), 1, 0);
}

/* Longer than what is written between two looks at `stop`. */
TEST("a kernel that is stopped writes its output once") {
  enum { LENGTH = 50000 };
  static float one = 1, out[LENGTH];
  const float *in = &one;
  float *to = out;
  int64_t in_length = 1, out_length = LENGTH;
  berth_i_operands x = {
    .in = &in, .in_length = &in_length, .n_in = 1, .out = &to, .out_length = &out_length, .n_out = 1
  };
  berth_i_kernel mean = { BERTH_I_KERNEL_MEAN, 0, 0 };
  atomic_int stop = 1;
  int64_t written = 0;
  berth_i_kernel_run(&mean, &x, 1e9, &stop);
  for (int64_t i = 0; i < LENGTH; i++) written += out[i] == 1;
  CHECK(written == LENGTH);
}
