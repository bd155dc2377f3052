/* What is refused, and how it is said; interrupts; allocations that fail. */
#include "sim_help.h"

static void small(setup *s) {
  setup_begin(s);
  setup_add(s, "1 2 3 0>1:4 1>2:4");
}
static void refuse(setup *s, const int32_t *device, const berth_sim_options *o, berth_status want,
                   const char *what) {
  berth_sim_summary sum = { -1, -1, -1 }, batch[2] = { { -1, -1, -1 }, { -1, -1, -1 } };
  berth_sim *sim = NULL;
  int32_t two[6] = { device[0], device[1], device[2], device[0], device[1], device[2] };
  check_refused(s, device, o, want, what);
  berth_status st = berth_sim_new(s->cost, o, &sim);
  if (st == BERTH_OK) st = berth_sim_run(sim, device, &sum);
  CHECK_STATUS(st, want);
  CHECK(says(s, what) && sum.makespan == -1);
  berth_sim_release(sim);
  CHECK_STATUS(berth_sim_batch(s->cost, o, 2, two, 1, batch), want);
  CHECK(says(s, what) && batch[0].makespan == -1);
}

static void placements(void) {
  setup s;
  int32_t high[] = { 0, 2, 0 }, low[] = { 0, -1, 0 };
  small(&s);
  setup_mesh(&s, 2, INFINITY);
  refuse(&s, high, NULL, BERTH_EINVAL, "op 1");
  refuse(&s, high, NULL, BERTH_EINVAL, "device 2 is out of range");
  refuse(&s, low, NULL, BERTH_EINVAL, "device -1");
  setup_end(&s);
}

static void constraints(void) {
  static const char *const types[] = { "cpu", "gpu" };
  double seconds[] = { 1, BERTH_UNSUPPORTED };
  berth_op op = berth_op_default();
  int32_t wrong_type[] = { 1, 0, 0 }, wrong_pin[] = { 0, 0, 0 };
  setup s = setup_started();
  CHECK_STATUS(berth_graph_builder_types(s.b, 2, types), BERTH_OK);
  op.name = "conv";
  op.seconds = seconds;
  CHECK_STATUS(berth_graph_builder_add_op(s.b, &op, NULL), BERTH_OK);
  op.name = "pinned";
  seconds[1] = 1;
  op.pin = 1;
  CHECK_STATUS(berth_graph_builder_add_op(s.b, &op, NULL), BERTH_OK);
  op.name = "mate";
  op.pin = BERTH_NONE;
  CHECK_STATUS(berth_graph_builder_add_op(s.b, &op, NULL), BERTH_OK);
  setup_wires(&s, "1:cpu 1:gpu 0-1:1");
  refuse(&s, wrong_type, NULL, BERTH_EINVAL, "conv");
  refuse(&s, wrong_pin, NULL, BERTH_EINVAL, "pinned");
  setup_end(&s);
}

static void groups(void) {
  double seconds = 1;
  berth_op op = berth_op_default();
  int32_t apart[] = { 0, 1, 1 }, together[] = { 0, 0, 1 };
  setup s = setup_started();
  op.seconds = &seconds;
  for (int i = 0; i < 3; i++) {
    op.group = i < 2 ? 4 : BERTH_NONE;
    CHECK_STATUS(berth_graph_builder_add_op(s.b, &op, NULL), BERTH_OK);
  }
  setup_mesh(&s, 2, INFINITY);
  refuse(&s, apart, NULL, BERTH_EINVAL, "group 4");
  berth_result *r = must_simulate(s.cost, together, NULL);
  SETUP_END(&s, r);
}

static void options(void) {
  static const double nan_rank[] = { 0, NAN, 0 };
  static const int32_t twice[] = { 0, 1, 1 }, outside[] = { 0, 1, 3 }, in_order[] = { 0, 1, 2 };
  int32_t device[] = { 0, 1, 0 };
  berth_sim_options o = berth_sim_default(NULL);
  setup s;
  small(&s);
  setup_mesh(&s, 2, INFINITY);
#define BAD(set, what)                                \
  do {                                                \
    o = berth_sim_default(NULL);                      \
    set;                                              \
    refuse(&s, device, &o, BERTH_EINVAL, what);       \
  } while (0)
  BAD(o.links = (berth_links)6, "links");
  BAD(o.dispatch = (berth_dispatch)-1, "dispatch");
  BAD(o.send = (berth_send)2, "send");
  BAD(o.memory = (berth_memory_policy)9, "memory");
  BAD(o.order = (berth_event_order)3, "order");
  BAD(o.noise = NAN, "noise");
  BAD(o.quantum = -1, "quantum");
  BAD(o.param_multiple = INFINITY, "param_multiple");
  BAD(o.dispatch = BERTH_DISPATCH_STATIC, "rank");
  BAD(o.dispatch = BERTH_DISPATCH_STATIC; o.rank = nan_rank, "op 1");
  BAD(o.dispatch = BERTH_DISPATCH_PLANNED, "sequence");
  BAD(o.dispatch = BERTH_DISPATCH_PLANNED; o.sequence = twice, "op 1 is twice");
  BAD(o.dispatch = BERTH_DISPATCH_PLANNED; o.sequence = outside, "sequence[2] is 3");
  BAD(o.split_windows = 1, "split_windows");
  BAD(o.order = BERTH_ORDER_READY; o.dispatch = BERTH_DISPATCH_LIFO, "ready");
  BAD(o.order = BERTH_ORDER_READY; o.send = BERTH_SEND_PULL, "push");
  BAD(o.order = BERTH_ORDER_READY; o.preempt = 1, "preempt");
  BAD(o.preempt = 1, "preempt needs a dispatch that compares ops");
  BAD(o.preempt = 1; o.dispatch = BERTH_DISPATCH_RANDOM, "light-first, blevel, lifo or static");
  BAD(o.preempt = 1; o.dispatch = BERTH_DISPATCH_PLANNED; o.sequence = in_order, "preempt");
  BAD(o.noise = 10.5, "noise is 10.5 (0 to 10)");
  berth_sim_options keep = o;
  CHECK_STATUS(berth_sim_preset(s.ctx, "nonsense", &o), BERTH_EINVAL);
  CHECK(says(&s, "doppler, baechi-tf, baechi-pt") && memcmp(&o, &keep, sizeof o) == 0);
  setup_end(&s);
}

static void deadlock(void) {
  int32_t device[] = { 0, 0, 1 }, sequence[] = { 1, 0, 2 };
  setup s;
  for (int links = 0; links < 2; links++) {
    berth_sim_options o = berth_sim_default(NULL);
    o.dispatch = BERTH_DISPATCH_PLANNED;
    o.links = (berth_links)(2 * links);
    o.sequence = sequence;
    small(&s);
    setup_mesh(&s, 2, INFINITY);
    refuse(&s, device, &o, BERTH_EINVAL, "op 1");
    refuse(&s, device, &o, BERTH_EINVAL, "waits for op 0");
    setup_end(&s);
  }
}

static void unreachable(void) {
  int32_t device[] = { 0, 1, 0 }, fine[] = { 0, 0, 1 };
  setup s;
  for (int mode = 0; mode < 6; mode++) {
    berth_sim_options o = berth_sim_default(NULL);
    if (mode < 4) o.links = (berth_links)mode;
    if (mode == 4) o.order = BERTH_ORDER_READY;
    if (mode == 5) o.send = BERTH_SEND_PULL;
    small(&s);
    setup_wires(&s, "1 1 0>1:1"); /* no way back */
    refuse(&s, device, &o, BERTH_EUNREACHABLE, "tensor 1");
    refuse(&s, device, &o, BERTH_EUNREACHABLE, "device 1");
    berth_result *r = must_simulate(s.cost, fine, &o);
    SETUP_END(&s, r);
  }
}

static void collectives(void) {
  static const int32_t members[] = { 0, 1 };
  berth_collective c = { BERTH_ALLREDUCE, 8, 1, 2, members, 0, NULL };
  int32_t device[] = { 0, 1, 0 };
  setup s;
  small(&s);
  CHECK_STATUS(berth_graph_builder_add_collective(s.b, &c, NULL), BERTH_OK);
  setup_mesh(&s, 2, INFINITY);
  berth_sim_options o = must_sim_preset(s.ctx, "baechi-tf");
  refuse(&s, device, &o, BERTH_EUNSUPPORTED, "order ready");
  setup_end(&s);
}

static int stop(void *ud) { return ++*(int *)ud > 2; }

/* Asked at once and then once per row by the calling thread, which may find that the others have
 * done all the rest. */
static void interrupted_batch(setup *s, int *calls, int32_t threads) {
  static int32_t device[1000 * 3];
  *calls = threads == 1 ? -20 : 1;
  berth_sim_summary out[1000];
  out[0].makespan = -1;
  berth_status st = berth_sim_batch(s->cost, NULL, 1000, device, threads, out);
  if (threads > 1 && *calls < 3) return;
  CHECK_STATUS(st, BERTH_EINTERRUPT);
  CHECK_TEXT(berth_errmsg(s->ctx), "interrupted");
  CHECK(*calls == 3 && out[0].makespan == -1);
}

static void interrupts(void) {
  int calls = 0;
  berth_hooks h = { 0 };
  int32_t device[] = { 0, 1, 0 };
  setup s;
  small(&s);
  RELEASE(s.b, s.ctx);
  h.interrupt = stop;
  h.ud = &calls;
  memset(&s, 0, sizeof s);
  CHECK_STATUS(berth_ctx_new(&h, &s.ctx), BERTH_OK);
  CHECK_STATUS(berth_graph_builder_new(s.ctx, &s.b), BERTH_OK);
  for (int i = 0; i < 3; i++) setup_op(&s, 1);
  setup_mesh(&s, 2, INFINITY);
  calls = 0;
  berth_result *r = must_simulate(s.cost, device, NULL);
  berth_result_release(r);
  r = NULL;
  calls = 2;
  CHECK_STATUS(berth_simulate(s.cost, device, NULL, &r), BERTH_EINTERRUPT);
  berth_sim_summary sum[1];
  CHECK_STATUS(berth_sim_batch(s.cost, NULL, 1, device, 1, sum), BERTH_EINTERRUPT);
  CHECK(r == NULL);
  for (int32_t threads = 1; threads <= 3; threads++) interrupted_batch(&s, &calls, threads);
  setup_end(&s);
}

/* ---- allocations ---- */

static berth_status whole(setup *s, const berth_sim_options *o, const int32_t *device) {
  berth_result *r = NULL;
  berth_sim *sim = NULL;
  berth_status st = berth_simulate(s->cost, device, o, &r);
  if (st == BERTH_OK && !berth_result_slack(r)) st = BERTH_ENOMEM;
  if (st == BERTH_OK) st = berth_sim_new(s->cost, o, &sim);
  berth_sim_summary sum[3];
  if (st == BERTH_OK) st = berth_sim_run(sim, device, sum);
  if (st == BERTH_OK) st = berth_sim_batch(s->cost, o, 3, device, 2, sum);
  RELEASE(sim, r);
  return st;
}

static void fail_each(const berth_sim_options *o, int devices) {
  check_alloc_state a = { 0, 0, 0 };
  berth_hooks h = { 0 };
  int32_t device[] = { 0, 1, 0, 1, 1, 0, 0, 0, 1 };
  long before, n;
  berth_status st = BERTH_ENOMEM;
  setup s;
  memset(&s, 0, sizeof s);
  h.alloc = check_alloc;
  h.alloc_ud = &a;
  CHECK_STATUS(berth_ctx_new(&h, &s.ctx), BERTH_OK);
  CHECK_STATUS(berth_graph_builder_new(s.ctx, &s.b), BERTH_OK);
  for (int i = 0; i < 3; i++) setup_heavy(&s, 1, 1, 1, i < 2 ? 1 - i : BERTH_NONE);
  setup_add(&s, "0>1:4 1>2:4");
  setup_mesh(&s, devices, INFINITY);
  before = a.held;
  double held = (double)berth_ctx_memory(s.ctx);
  for (n = 1; st != BERTH_OK && n < 500; n++) {
    a.calls = 0;
    a.fail_at = n;
    st = whole(&s, o, device);
    CHECK(st == BERTH_OK || st == BERTH_ENOMEM);
    CHECK(a.held == before && (double)berth_ctx_memory(s.ctx) == held);
  }
  CHECK(st == BERTH_OK && n > 10);
  a.fail_at = 0;
  setup_end(&s);
  CHECK(a.held == 0);
}

static void allocations(void) {
  static const int32_t sequence[] = { 0, 1, 2 };
  static const double rank[] = { 0, 1, 2 };
  for (int mode = 0; mode < 10; mode++) {
    berth_sim_options o = berth_sim_default(NULL);
    o.links = (berth_links)(mode % 4);
    o.memory = (berth_memory_policy)(mode % 4);
    o.split_windows = mode == 5;
    if (mode > 7) o.order = BERTH_ORDER_READY;
    if (mode == 3) o.dispatch = BERTH_DISPATCH_PLANNED;
    if (mode == 4) o.dispatch = BERTH_DISPATCH_BLEVEL;
    if (mode == 6) o.dispatch = BERTH_DISPATCH_STATIC;
    if (mode == 7) o.send = BERTH_SEND_PULL;
    o.preempt = mode == 6;
    o.quantum = mode == 2 ? 0.5 : 0;
    o.sequence = sequence;
    o.rank = rank;
    fail_each(&o, mode % 2 ? 2 : 20);
  }
}

int main(void) {
  TEST("devices out of range") placements();
  TEST("types and pins") constraints();
  TEST("colocation groups") groups();
  TEST("options") options();
  TEST("a sequence that deadlocks") deadlock();
  TEST("unreachable devices") unreachable();
  TEST("collectives") collectives();
  TEST("interrupts") interrupts();
  TEST("every allocation fails in turn") allocations();
  return check_done();
}
