/* The executor at the ends of the numbers, with more threads than cores, and beside itself. */
#include "exec/exec_internal.h"
#include "exec_checker.h"

/* ---- numbers ---- */

/* Two ops, one on each of two devices, with a link of 1 byte/s. */
static void make_pair(setup *s, double seconds, double bytes) {
  setup_begin(s);
  setup_op(s, seconds);
  setup_op(s, seconds);
  setup_edge(s, 0, 1, bytes);
  setup_mesh(s, 2, INFINITY);
}

static void check_new(double seconds, const berth_exec_options *o, const char *text) {
  berth_executor *x = NULL;
  setup s;
  make_pair(&s, seconds, 0);
  CHECK_ERROR(berth_executor_new(s.cost, o, &x), BERTH_EINVAL, text);
  CHECK(x == NULL);
}

TEST("no scale that is 0 or infinite") {
  berth_exec_options o = berth_exec_default();
  check_new(5e-324, NULL, "seconds: 0.1 for 9.88131e-324 s of ops is a scale of inf: give a scale");
  check_new(1e308, NULL, "seconds: 0.1 for inf s of ops is a scale of 0: give a scale");
  o.seconds = 5e-324;
  check_new(1, &o, "seconds: 4.94066e-324 for 2 s of ops is a scale of 0: give a scale");
}

/* @param text what a run says; NULL: it comes to an end */
static void check_run(double seconds, double bytes, const berth_exec_options *o, berth_status want,
                      const char *text) {
  int32_t device[] = { 0, 1 };
  berth_execution *r = NULL;
  setup s;
  make_pair(&s, seconds, bytes);
  berth_executor *x = must_executor_new(s.cost, o);
  CHECK_STATUS(berth_executor_run(x, device, 1, &r), want);
  if (text) CHECK_TEXT(berth_errmsg(ctx), text);
  else CHECK(berth_execution_wrong(r) == BERTH_NONE && berth_execution_makespan(r) >= 0);
  RELEASE(r);
}

TEST("times near 0 run, times without end are refused") {
  berth_exec_options o = berth_exec_default();
  o.scale = 1;
  check_run(5e-324, 0, &o, BERTH_OK, NULL);
  check_run(1e12, 0, &o, BERTH_EINVAL,
            "the placement takes 2e+12 s, at scale 1: more than 1e+09 s");
  check_run(0, 1e305, &o, BERTH_EINVAL,
            "the placement takes 1e+305 s, at scale 1: more than 1e+09 s");
  o.scale = 1e308;
  check_run(0, 0, &o, BERTH_OK, NULL);
  check_run(1e3, 0, &o, BERTH_EINVAL,
            "the placement takes 2000 s, at scale 1e+308: more than 1e+09 s");
  o.scale = 5e-324;
  check_run(1, 1, &o, BERTH_OK, NULL);
}

TEST("sizes near the end of the numbers are scaled down") {
  berth_exec_options o = berth_exec_default();
  o.scale = 1e-320;
  o.memory = 1e5;
  check_run(1, 1.7e308, &o, BERTH_OK, NULL);
  o.memory = 5e-324;
  check_run(1, 1e9, &o, BERTH_OK, NULL);
}

/* An allocator with less than a GB. */
static void *poor(void *ud, void *p, size_t old, size_t size) {
  return size > (size_t)1 << 30 ? NULL : check_alloc(ud, p, old, size);
}

TEST("sizes that no memory has are refused") {
  check_alloc_state state = { 0, 0, 0 };
  berth_hooks hooks = { poor, &state, NULL, NULL, NULL, NULL };
  berth_exec_options o = berth_exec_default();
  int32_t device[] = { 0, 1 };
  o.scale = 1e-320;
  for (double memory = 1e10; memory <= 1e300; memory *= 1e58) {
    berth_execution *r = NULL;
    setup s;
    o.memory = memory;
    hooked(&hooks);
    setup_begin(&s);
    setup_add(&s, "1 1");
    setup_edge(&s, 0, 1, memory);
    setup_mesh(&s, 2, INFINITY);
    berth_executor *x = must_executor_new(s.cost, &o);
    CHECK_ERROR(berth_executor_run(x, device, 1, &r), BERTH_ENOMEM, "out of memory");
    SETUP_END(&s, x);
    hooked(NULL);
    CHECK(state.held == 0);
  }
}

/* Two tensors that are infinite together share what there is. */
TEST("tensors that are infinite together") {
  berth_exec_options o = berth_exec_default();
  int32_t device[] = { 0, 0, 0 };
  setup s = setup_of("0 0 0 0>2:1.7e308 1>2:1.7e308", 1, INFINITY);
  o.memory = 3400;
  berth_executor *x = must_executor_new(s.cost, &o);
  CHECK_NEAR(berth_executor_byte_scale(x) * 1e305, 1, 1e-12);
  CHECK(x->length[0] == 425 || x->length[0] == 424);
  berth_execution *r = must_executor_run(x, device, 1);
  CHECK(berth_execution_wrong(r) == BERTH_NONE);
}

/* ---- many ---- */

static void make_wide(setup *s, int32_t n, int32_t width) {
  setup_begin(s);
  for (int32_t i = 0; i < n; i++) setup_op(s, i % 3);
  for (int32_t i = width; i < n; i++) {
    setup_edge(s, i - width, i, 1);
    setup_edge(s, i - width + 1, i, 1);
  }
}

TEST("thousands of ops, a thread for each of many pairs") {
  enum { N = 2000, D = 24 };
  berth_exec_options o = berth_exec_default();
  int32_t device[N];
  for (int32_t i = 0; i < N; i++) device[i] = i * 7 % D;
  o.mode = BERTH_EXEC_PACED;
  o.links = BERTH_LINKS_PAIR;
  o.seconds = 0.05;
  o.memory = 1 << 20;
  setup s;
  make_wide(&s, N, D);
  setup_mesh(&s, D, INFINITY);
  berth_executor *x = must_executor_new(s.cost, &o);
  CHECK(berth_executor_threads(x) == D * D);
  berth_execution *r = must_executor_run(x, device, 1);
  check_execution(r, &o);
  CHECK(berth_execution_wrong(r) == BERTH_NONE);
}

/* ---- side by side ---- */

typedef struct side {
  setup s;
  berth_status status;
  int32_t wrong;
  uint64_t sum;
} side;

/* A context, a graph and an executor of its own. No CHECK here: it counts without a lock. */
static void *run_side(void *ud) {
  side *d = ud;
  berth_exec_options o = berth_exec_default();
  o.seconds = 2e-3;
  o.memory = 1 << 16;
  int32_t device[60];
  for (int32_t i = 0; i < 60; i++) device[i] = i % 3;
  d->wrong = BERTH_NONE;
  for (int k = 0; k < 10 && d->status == BERTH_OK; k++) {
    berth_executor *x = NULL;
    berth_execution *r = NULL;
    o.mode = k % 2 ? BERTH_EXEC_PACED : BERTH_EXEC_COMPUTE;
    d->status = berth_executor_new(d->s.cost, &o, &x);
    if (d->status == BERTH_OK) d->status = berth_executor_run(x, device, 2, &r);
    if (d->status == BERTH_OK) {
      d->sum = berth_execution_checksums(r)[59];
      if (berth_execution_wrong(r) != BERTH_NONE) d->wrong = berth_execution_wrong(r);
    }
    berth_execution_release(r);
    berth_executor_release(x);
  }
  return NULL;
}

TEST("executors of two contexts in two threads") {
  enum { SIDES = 2 };
  side d[SIDES];
  for (int i = 0; i < SIDES; i++) {
    memset(&d[i], 0, sizeof d[i]);
    hooked(NULL); /* a context for each */
    make_wide(&d[i].s, 60, 5);
    setup_mesh(&d[i].s, 3, INFINITY);
  }
  pthread_t id[SIDES];
  for (int i = 0; i < SIDES; i++) CHECK(pthread_create(&id[i], NULL, run_side, &d[i]) == 0);
  for (int i = 0; i < SIDES; i++) CHECK(pthread_join(id[i], NULL) == 0);
  for (int i = 0; i < SIDES; i++) {
    CHECK_OK(d[i].status);
    CHECK(d[i].wrong == BERTH_NONE && d[i].sum == d[0].sum);
    setup_end(&d[i].s);
  }
}

/* An executor that runs while another one of the same context does. */
typedef struct nested {
  berth_executor *inner;
  int calls;
  berth_status status;
  int32_t wrong;
} nested;

static int run_inner(void *ud) {
  nested *n = ud;
  int32_t device[] = { 1, 0 };
  berth_execution *r = NULL;
  if (!n->inner || n->calls++ != 1) return 0; /* once, in the midst of the outer run */
  n->status = berth_executor_run(n->inner, device, 1, &r);
  if (r) n->wrong = berth_execution_wrong(r);
  RELEASE(r);
  return 0;
}

TEST("an executor runs within the run of another") {
  nested n = { NULL, 0, BERTH_ECALLBACK, 0 };
  berth_hooks hooks = { NULL, NULL, NULL, run_inner, NULL, &n };
  berth_exec_options o = berth_exec_default();
  int32_t device[] = { 0, 1 };
  berth_executor *x = NULL, *inner = NULL;
  hooked(&hooks);
  setup s = setup_of("1 1 0>1:1", 2, INFINITY);
  o.mode = BERTH_EXEC_PACED;
  inner = must_executor_new(s.cost, &o);
  x = must_executor_new(s.cost, &o);
  n.inner = inner;
  berth_execution *r = must_executor_run(x, device, 1);
  CHECK_OK(n.status);
  CHECK(n.wrong == BERTH_NONE && berth_execution_wrong(r) == BERTH_NONE);
}
