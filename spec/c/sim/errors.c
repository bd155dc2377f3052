/* What is refused, and how it is said; interrupts; allocations that fail. */
#include "sim_help.h"
#include "refusals.h"

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
  TRY(st, berth_sim_run(sim, device, &sum));
  CHECK_STATUS(st, want);
  CHECK(says(what) && sum.makespan == -1);
  RELEASE(sim);
  CHECK_STATUS(berth_sim_batch(s->cost, o, 2, two, 1, batch), want);
  CHECK(says(what) && batch[0].makespan == -1);
}

TEST("devices out of range") {
  setup s;
  int32_t high[] = { 0, 2, 0 }, low[] = { 0, -1, 0 };
  small(&s);
  setup_mesh(&s, 2, INFINITY);
  refuse(&s, high, NULL, BERTH_EINVAL, "op 1");
  refuse(&s, high, NULL, BERTH_EINVAL, "device 2 is out of range");
  refuse(&s, low, NULL, BERTH_EINVAL, "device -1");
}

TEST("types and pins") {
  static const char *const types[] = { "cpu", "gpu" };
  double seconds[] = { 1, BERTH_UNSUPPORTED };
  berth_op op = berth_op_default();
  int32_t wrong_type[] = { 1, 0, 0 }, wrong_pin[] = { 0, 0, 0 };
  setup s = setup_started();
  CHECK_OK(berth_graph_builder_types(s.b, 2, types));
  op.name = "conv";
  op.seconds = seconds;
  must_add_op(s.b, &op);
  op.name = "pinned";
  seconds[1] = 1;
  op.pin = 1;
  must_add_op(s.b, &op);
  op.name = "mate";
  op.pin = BERTH_NONE;
  must_add_op(s.b, &op);
  setup_wires(&s, "1:cpu 1:gpu 0-1:1");
  refuse(&s, wrong_type, NULL, BERTH_EINVAL, "conv");
  refuse(&s, wrong_pin, NULL, BERTH_EINVAL, "pinned");
}

TEST("colocation groups") {
  double seconds = 1;
  berth_op op = berth_op_default();
  int32_t apart[] = { 0, 1, 1 }, together[] = { 0, 0, 1 };
  setup s = setup_started();
  op.seconds = &seconds;
  for (int i = 0; i < 3; i++) {
    op.group = i < 2 ? 4 : BERTH_NONE;
    must_add_op(s.b, &op);
  }
  setup_mesh(&s, 2, INFINITY);
  refuse(&s, apart, NULL, BERTH_EINVAL, "group 4");
  must_simulate(s.cost, together, NULL);
}

TEST("options") {
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
  BAD(o.preempt = 1; o.dispatch = BERTH_DISPATCH_RANDOM, "light-class, blevel, lifo or static");
  BAD(o.preempt = 1; o.dispatch = BERTH_DISPATCH_PLANNED; o.sequence = in_order, "preempt");
  BAD(o.noise = 10.5, "noise is 10.5 (0 to 10)");
  berth_sim_options keep = o;
  CHECK_STATUS(berth_sim_preset(ctx, "nonsense", &o), BERTH_EINVAL);
  CHECK(says("doppler, baechi-tf, baechi-pt") && memcmp(&o, &keep, sizeof o) == 0);
}

TEST("a sequence that deadlocks") {
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
  }
}

TEST("unreachable devices") {
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
    refuse(&s, device, &o, BERTH_EUNREACHABLE, "from device \"d1\"");
    must_simulate(s.cost, fine, &o);
  }
}

TEST("collectives") {
  static const int32_t members[] = { 0, 1 };
  berth_collective c = { BERTH_ALLREDUCE, 8, 1, 2, members, 0, NULL };
  int32_t device[] = { 0, 1, 0 };
  setup s;
  small(&s);
  must_add_collective(s.b, &c);
  setup_mesh(&s, 2, INFINITY);
  berth_sim_options o = must_sim_preset("baechi-tf");
  refuse(&s, device, &o, BERTH_EUNSUPPORTED, "order ready");
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
  CHECK_ERROR(st, BERTH_EINTERRUPT, "interrupted");
  CHECK(*calls == 3 && out[0].makespan == -1);
}

TEST("interrupts") {
  int calls = 0;
  int32_t device[] = { 0, 1, 0 };
  hooked(&(berth_hooks){ .interrupt = stop, .ud = &calls });
  setup s = setup_of("1 1 1", 2, INFINITY);
  calls = 0;
  berth_result *r = must_simulate(s.cost, device, NULL);
  RELEASE(r);
  r = NULL;
  calls = 2;
  CHECK_STATUS(berth_simulate(s.cost, device, NULL, &r), BERTH_EINTERRUPT);
  berth_sim_summary sum[1];
  CHECK_STATUS(berth_sim_batch(s.cost, NULL, 1, device, 1, sum), BERTH_EINTERRUPT);
  CHECK(r == NULL);
  for (int32_t threads = 1; threads <= 3; threads++) interrupted_batch(&s, &calls, threads);
  hooked(NULL);
}

/* ---- allocations ---- */

static berth_status whole(setup *s, const berth_sim_options *o, const int32_t *device) {
  berth_result *r = NULL;
  berth_sim *sim = NULL;
  berth_status st = berth_simulate(s->cost, device, o, &r);
  if (st == BERTH_OK && !berth_result_slack(r)) st = BERTH_ENOMEM;
  TRY(st, berth_sim_new(s->cost, o, &sim));
  berth_sim_summary sum[3];
  TRY(st, berth_sim_run(sim, device, sum));
  TRY(st, berth_sim_batch(s->cost, o, 3, device, 2, sum));
  RELEASE(sim, r);
  return st;
}

typedef struct refused_run {
  berth_sim_options o;
  int devices;
} refused_run;

static berth_status run_whole(const void *what) {
  static const int32_t device[] = { 0, 1, 0, 1, 1, 0, 0, 0, 1 };
  const refused_run *x = what;
  let_pass();
  setup s = setup_of("1p1w1t1 1p1w1t0 1p1w1 0>1:4 1>2:4", x->devices, INFINITY);
  refuse_from_here();
  size_t held = berth_ctx_memory(ctx);
  berth_status st = whole(&s, &x->o, device);
  CHECK(berth_ctx_memory(ctx) == held);
  return st;
}


TEST("every allocation fails in turn") {
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
    CHECK(refuse_each(run_whole, &(refused_run){ o, mode % 2 ? 2 : 20 }, 1, 0) > 10);
  }
}
