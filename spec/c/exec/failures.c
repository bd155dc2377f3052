/* What the executor refuses, what stops it, and that nothing is left behind. */
#include "exec/exec_internal.h"
#include "exec_checker.h"
#include "refusals.h"

static void make_small(setup *s) {
  setup_add(s, "1 1 1 0>1:1 0>2:1");
}

static void refuse(const setup *s, const berth_exec_options *o, berth_status want,
                   const char *text) {
  berth_executor *x = NULL;
  CHECK_ERROR(berth_executor_new(s->cost, o, &x), want, text);
  CHECK(x == NULL);
}

TEST("options are checked, with their values") {
  setup s = setup_started();
  make_small(&s);
  setup_mesh(&s, 2, INFINITY);
#define WITH(assignment, status, text) \
  o = berth_exec_default(), o.assignment, refuse(&s, &o, status, text)
  berth_exec_options o;
  WITH(seconds = 0, BERTH_EINVAL, "option seconds is 0 (a finite number above 0)");
  WITH(seconds = NAN, BERTH_EINVAL, "option seconds is nan (a finite number above 0)");
  WITH(scale = -1, BERTH_EINVAL, "option scale is -1 (a finite number from 0)");
  WITH(duty = 1.5, BERTH_EINVAL, "option duty is 1.5 (0 to 1)");
  WITH(flops = -2, BERTH_EINVAL, "option flops is -2 (a finite number above 0)");
  WITH(stream = INFINITY, BERTH_EINVAL, "option stream is inf (a finite number above 0)");
  WITH(memory = 0, BERTH_EINVAL, "option memory is 0 (a finite number above 0)");
  WITH(mode = (berth_exec_mode)7, BERTH_EINVAL, "option mode is 7 (0 to 1)");
  WITH(links = BERTH_LINKS_FAIR, BERTH_EUNSUPPORTED,
       "links: the executor has free, channel, duplex and pair");
  WITH(dispatch = BERTH_DISPATCH_PLANNED, BERTH_EUNSUPPORTED,
       "dispatch planned requires option sequence, which the executor does not have");
#undef WITH
}

TEST("collectives and communication ops are refused") {
  int32_t member = 0;
  berth_collective c = { BERTH_ALLREDUCE, 8, 1, 1, &member, 0, NULL };
  berth_op async = berth_op_default();
  double second = 1;
  setup s = setup_started();
  make_small(&s);
  must_add_collective(s.b, &c);
  setup_mesh(&s, 2, INFINITY);
  refuse(&s, NULL, BERTH_EUNSUPPORTED, "1 collectives in the graph: expand them first");
  setup_end(&s);
  setup_begin(&s);
  make_small(&s);
  async.seconds = &second;
  async.flags = BERTH_OP_COMMUNICATION;
  must_add_op(s.b, &async);
  setup_mesh(&s, 2, INFINITY);
  refuse(&s, NULL, BERTH_EUNSUPPORTED,
         "op 3 is a communication op that takes time: the executor has none");
  setup_end(&s);
  setup_begin(&s);
  make_small(&s);
  second = 0;
  must_add_op(s.b, &async);
  setup_mesh(&s, 2, INFINITY);
  /* in no time it is an op like others */
  must_executor_new(s.cost, NULL);
}

/* What the simulator says of a placement, it says. */
TEST("placements are refused as by the simulator") {
  int32_t bad[] = { 0, 2, 1 }, good[] = { 0, 1, 0 };
  berth_execution *r = NULL;
  berth_result *simulated = NULL;
  setup s = setup_started();
  make_small(&s);
  setup_mesh(&s, 2, INFINITY);
  berth_executor *x = must_executor_new(s.cost, NULL);
  CHECK_STATUS(berth_simulate(s.cost, bad, NULL, &simulated), BERTH_EINVAL);
  char text[200];
  snprintf(text, sizeof text, "%s", berth_errmsg(ctx));
  CHECK(strstr(text, "op 1: device 2") != NULL);
  CHECK_ERROR(berth_executor_run(x, bad, 1, &r), BERTH_EINVAL, text);
  CHECK_ERROR(berth_executor_run(x, good, 0, &r), BERTH_EINVAL, "repeats: 0 is not positive");
  CHECK(r == NULL);
  r = must_executor_run(x, good, 1);
  RELEASE(r);
}

TEST("devices without a route between them are reported") {
  int32_t device[] = { 0, 1, 0 };
  berth_execution *r = NULL;
  setup s = setup_started();
  make_small(&s);
  setup_wires(&s, "1 1");
  berth_executor *x = must_executor_new(s.cost, NULL);
  CHECK_STATUS(berth_executor_run(x, device, 1, &r), BERTH_EUNREACHABLE);
}

/* ---- threads that cannot be had ---- */

static int allowed; /* threads still to be had */

static int spawn(pthread_t *id, const pthread_attr_t *attr, void *(*body)(void *), void *ud) {
  if (allowed-- <= 0) return 11;
  return pthread_create(id, attr, body, ud);
}

TEST("threads that cannot be had") {
  setup s = setup_started();
  make_small(&s);
  setup_mesh(&s, 3, INFINITY);
  for (int n = 0; n <= 6; n++) {
    berth_executor *x = NULL;
    size_t held = berth_ctx_memory(ctx);
    allowed = n;
    CHECK_STATUS(berth_i_executor_new(s.cost, NULL, spawn, &x),
                 n < 6 ? BERTH_EUNSUPPORTED : BERTH_OK);
    if (n == 6) RELEASE(x);
    if (n == 6) break;
    char text[60];
    snprintf(text, sizeof text, "%d of 6 threads can be had", n);
    CHECK_TEXT(berth_errmsg(ctx), text);
    CHECK(x == NULL && berth_ctx_memory(ctx) == held);
  }
}

/* ---- stopping ---- */

typedef struct stopper {
  int calls, stop_at;
  berth_executor *x;
  double progress;
} stopper;

static int interrupt(void *ud) {
  stopper *s = ud;
  int32_t device[] = { 0, 0, 0 };
  berth_execution *r = NULL;
  /* busy */
  if (s->x && s->calls > 1) CHECK_STATUS(berth_executor_run(s->x, device, 1, &r), BERTH_EINVAL);
  return ++s->calls == s->stop_at;
}

static void progress(void *ud, const char *what, double done) {
  stopper *s = ud;
  CHECK_TEXT(what, "execute");
  CHECK(done >= 0 && done <= 1);
  s->progress = done;
}

/* An op of a minute, or a transfer of one, or a kernel, is given up; the executor goes on. */
static void stops(berth_exec_mode mode, double op, double bytes) {
  stopper stop = { 0, 4, NULL, 0 };
  berth_hooks hooks = { NULL, NULL, NULL, interrupt, progress, &stop };
  berth_exec_options o = berth_exec_default();
  int32_t device[] = { 0, 1 }, alone[] = { 0, 0 };
  berth_execution *r = NULL;
  setup s;
  hooked(&hooks);
  setup_begin(&s);
  setup_add(&s, "1e-6");
  setup_op(&s, op);
  setup_edge(&s, 0, 1, bytes);
  setup_mesh(&s, 2, INFINITY);
  o.mode = mode;
  o.scale = 1;
  berth_executor *x = must_executor_new(s.cost, &o);
  stop.x = x;
  for (int k = 0; k < 2; k++) {
    stop.calls = 0;
    CHECK_ERROR(berth_executor_run(x, bytes > 0 ? device : alone, 1, &r), BERTH_EINTERRUPT,
                "interrupted");
    CHECK(r == NULL);
  }
}

TEST("an interrupt ends what is under way; the executor stays") {
  stops(BERTH_EXEC_PACED, 60, 0);
  stops(BERTH_EXEC_COMPUTE, 60, 0);
  stops(BERTH_EXEC_COMPUTE, 1e-6, 60);
}

/* ---- memory ---- */

static berth_status whole_job(void) {
  berth_exec_options o = berth_exec_default();
  int32_t device[] = { 0, 1, 0 }, all[] = { 1, 1, 1 };
  berth_cost *cost = NULL;
  berth_executor *x = NULL;
  berth_execution *r = NULL;
  o.dispatch = BERTH_DISPATCH_BLEVEL;
  o.scale = 1e-4;
  berth_status st = cost_of_text("1 1 1 0>1:1 0>2:1", 2, INFINITY, 1, &cost);
  TRY(st, berth_executor_new(cost, &o, &x));
  TRY(st, berth_executor_run(x, device, 2, &r));
  RELEASE(r);
  r = NULL;
  TRY(st, berth_executor_run(x, all, 1, &r));
  if (st == BERTH_OK) CHECK(berth_execution_wrong(r) == BERTH_NONE);
  RELEASE(x); /* before what it has made */
  RELEASE(r, cost);
  return st;
}

TEST_REFUSALS(whole_job)
