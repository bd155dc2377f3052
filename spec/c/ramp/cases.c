/* RAMP in C: allocation failure, extreme clusters and graphs, order of release, interrupts, blocks
 * of the caller's choice. */
#include "refusals.h"

/* Forward ops in a chain with a short cut, mirrored: node k takes k seconds, node 1 none. */
static const char profile[] =
    "node1 -- Input -- forward_compute_time=0, backward_compute_time=0, activation_size=64.0, "
    "parameter_size=0.0\n"
    "node2 -- Linear(a, b) -- forward_compute_time=2000, backward_compute_time=3000, "
    "activation_size=4096.0, parameter_size=512.0\n"
    "node3 -- Linear(b, c) -- forward_compute_time=3000, backward_compute_time=1000, "
    "activation_size=2048.0, parameter_size=256.0\n"
    "node4 -- Loss() -- forward_compute_time=4000, backward_compute_time=500, "
    "activation_size=8.0, parameter_size=0.0\n"
    "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node4\n\tnode2 -- node4\n";

typedef struct ramp_job {
  berth_ramp *ramp;
  berth_ramp_model *model;
  berth_ramp_planner *planner;
} ramp_job;

static berth_status make(const berth_ramp_options *o, const char *text, ramp_job *j) {
  berth_graph *g = NULL;
  berth_status st = graph_of_profile(text, &g);
  *j = (ramp_job){ NULL, NULL, NULL };
  TRY(st, berth_ramp_new(ctx, o, &j->ramp));
  TRY(st, berth_ramp_model_new(j->ramp, g, NULL, 0, &j->model));
  TRY(st, berth_ramp_planner_new(j->ramp, &j->planner));
  RELEASE(g);
  return st;
}

/* The cluster first: the others hold it. */
static void drop(ramp_job *j) {
  RELEASE(j->ramp, j->planner, j->model);
}

/* ---- allocation failure ---- */

static berth_status whole_job(int compat) {
  berth_ramp_options o = berth_ramp_default(compat);
  int32_t most[] = { 1, 8, 16, 2 };
  o.quantum = 0.25;
  ramp_job j;
  berth_status st = make(&o, profile, &j);
  berth_ramp_outcome out;
  for (int i = 0; st == BERTH_OK && i < 4; i++)
    st = berth_ramp_plan(j.planner, j.model, most[i], NULL, 1, NULL, &out);
  drop(&j);
  return st;
}

static berth_status published(void) {
  return whole_job(1);
}

static berth_status exact(void) {
  return whole_job(0);
}

/* A planner that was refused memory plans as before when there is some again. */
TEST("a planner goes on after it was refused memory") {
  check_alloc_state s = { 0, 0, 0 };
  berth_hooks hooks = { check_alloc, &s, NULL, NULL, NULL, NULL };
  berth_ramp_options o = berth_ramp_default(1);
  int whole = 0;
  hooked(&hooks);
  ramp_job j;
  CHECK_OK(make(&o, profile, &j));
  berth_ramp_outcome want;
  CHECK_OK(berth_ramp_plan(j.planner, j.model, 16, NULL, 1, NULL, &want));
  berth_ramp_outcome out;
  for (long n = 1; !whole; n++) {
    berth_ramp_planner *p;
    CHECK_OK(berth_ramp_planner_new(j.ramp, &p));
    CHECK_OK(berth_ramp_plan(p, j.model, 2, NULL, 1, NULL, &out));
    s.fail_at = s.calls + n;
    berth_status st = berth_ramp_plan(p, j.model, 16, NULL, 1, NULL, &out);
    CHECK(st == BERTH_OK || st == BERTH_ENOMEM);
    whole = st == BERTH_OK;
    s.fail_at = 0;
    CHECK_OK(berth_ramp_plan(p, j.model, 16, NULL, 1, NULL, &out));
    CHECK(out.step == want.step && out.ticks == want.ticks && out.deps == want.deps);
    RELEASE(p);
  }
  drop(&j);
  hooked(NULL);
  CHECK(s.held == 0);
}

/* ---- extremes ---- */

static void plan_everywhere(int32_t groups, int32_t racks, int32_t slots, const char *text) {
  for (int compat = 0; compat < 2; compat++) {
    berth_ramp_options o = berth_ramp_default(compat);
    o.groups = groups;
    o.racks = racks;
    o.slots = slots;
    o.quantum = 1e-6;
    ramp_job j;
    CHECK_OK(make(&o, text, &j));
    int32_t servers[1024];
    for (int32_t most = 1; most <= check_runs(256, 1024); most = most == 1 ? 2 : 2 * most) {
      berth_ramp_outcome out = { 0 };
      CHECK_OK(berth_ramp_plan(j.planner, j.model, most, NULL, 1, servers, &out));
      if (out.cause == BERTH_RAMP_NO_BLOCK) continue;
      CHECK(out.n_servers >= 1 && out.n_servers <= groups * racks * slots);
      CHECK(isfinite(out.step) && out.step >= 0);
      for (int32_t i = 0; i < out.n_servers; i++)
        CHECK(servers[i] >= 0 && servers[i] < berth_ramp_servers(j.ramp)
              && (i == 0 || servers[i] > servers[i - 1]));
    }
    drop(&j);
  }
}

static const char free_profile[] =
    "node1 -- A -- forward_compute_time=0, backward_compute_time=0, activation_size=0, "
    "parameter_size=0\n"
    "node2 -- B -- forward_compute_time=0, backward_compute_time=0, activation_size=0, "
    "parameter_size=0\n\tnode1 -- node2\n";
static const char weightless_profile[] =
    "node1 -- A -- forward_compute_time=5, backward_compute_time=1, activation_size=0, "
    "parameter_size=0\n"
    "node2 -- B -- forward_compute_time=7, backward_compute_time=2, activation_size=0, "
    "parameter_size=0\n\tnode1 -- node2\n";

/* One rack, one slot: a block of four is a server in each of four groups. */
TEST("a block along the groups, where there is one rack") {
  berth_ramp_options o = berth_ramp_default(1);
  berth_ramp_outcome out = { 0 };
  o.groups = 4;
  o.racks = o.slots = 1;
  ramp_job j;
  CHECK_OK(make(&o, profile, &j));
  CHECK(berth_ramp_legal(j.ramp, 4) && !berth_ramp_legal(j.ramp, 6));
  int32_t servers[4];
  CHECK_OK(berth_ramp_plan(j.planner, j.model, 4, NULL, 1, servers, &out));
  CHECK(out.cause != BERTH_RAMP_NO_BLOCK && out.n_servers == 4 && servers[0] == 0
        && servers[3] == 3);
  drop(&j);
}

static berth_ramp_outcome on_one_rack(int32_t slots) {
  berth_ramp_options o = berth_ramp_default(0);
  berth_ramp_outcome out = { 0 };
  o.groups = o.racks = 1;
  o.slots = slots;
  ramp_job j;
  CHECK_OK(make(&o, profile, &j));
  CHECK_OK(berth_ramp_plan(j.planner, j.model, 32, NULL, 1, NULL, &out));
  drop(&j);
  return out;
}

TEST("servers without flows change no channels") {
  berth_ramp_outcome small = on_one_rack(32), large = on_one_rack(1024);
  CHECK(small.n_servers == 32 && small.channels >= 32);
  CHECK(large.n_servers == 32 && large.channels == small.channels && large.step == small.step);
}

/* ---- interrupts ---- */

/* A chain of 20 ops, in text that lasts. */
static const char *long_profile(void) {
  static char text[16384];
  size_t n = 0;
  for (int k = 1; k <= 20; k++)
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "node%d -- A -- forward_compute_time=%d, backward_compute_time=1, "
                          "activation_size=8, parameter_size=8\n",
                          k, k);
  for (int k = 1; k < 20; k++)
    n += (size_t)snprintf(text + n, sizeof text - n, "\tnode%d -- node%d\n", k, k + 1);
  return text;
}

static int interrupt(void *ud) { return ++*(int *)ud > 0; }

TEST("a step of many pieces can be interrupted") {
  int asked = 0;
  berth_hooks hooks = { NULL, NULL, NULL, interrupt, NULL, &asked };
  berth_ramp_options o = berth_ramp_default(1);
  berth_ramp_outcome out = { .step = 7 };
  o.groups = o.racks = 1;
  o.slots = 1024;
  o.quantum = 1e-9;
  hooked(&hooks);
  ramp_job j;
  CHECK_OK(make(&o, long_profile(), &j));
  asked = 0;
  CHECK_STATUS(berth_ramp_plan(j.planner, j.model, 1024, NULL, 1, NULL, &out), BERTH_EINTERRUPT);
  CHECK(asked == 1 && out.step == 7);
  asked = 0; /* a small one asks nobody */
  CHECK_OK(berth_ramp_plan(j.planner, j.model, 16, NULL, 1, NULL, &out));
  CHECK(asked == 0 && out.step != 7);
  drop(&j);
  hooked(NULL);
}

/* ---- blocks ---- */

static void plan_on_blocks(int compat) {
  berth_ramp_options o = berth_ramp_default(compat);
  int32_t good[4] = { 1, 3, 9, 11 }, mixed[4] = { 3, 1, 9, 11 }, none[4] = { 0, 2, 9, 11 };
  uint8_t busy[32] = { 0 };
  berth_ramp_outcome out = { 0 };
  o.quantum = 1e-6;
  ramp_job j;
  CHECK_OK(make(&o, profile, &j));
  berth_ramp_outcome first;
  CHECK_OK(berth_ramp_plan(j.planner, j.model, 4, NULL, 1, NULL, &first));
  int32_t servers[32];
  CHECK_OK(berth_ramp_plan_on(j.planner, j.model, 4, NULL, 4, good, 1, servers, &out));
  CHECK(out.cause == BERTH_RAMP_PLACED && out.ops == first.ops);
  for (int i = 0; i < 4; i++) CHECK(servers[out.n_servers - 4 + i] == good[i]);
  CHECK(out.n_servers == (compat ? 5 : 4)); /* the op of one piece strays to server 0 */
  CHECK_STATUS(berth_ramp_plan_on(j.planner, j.model, 4, NULL, 4, mixed, 1, NULL, &out),
               BERTH_EINVAL);
  CHECK_STATUS(berth_ramp_plan_on(j.planner, j.model, 4, NULL, 4, none, 1, NULL, &out),
               BERTH_EINVAL);
  CHECK_STATUS(berth_ramp_plan_on(j.planner, j.model, 4, NULL, 2, good, 1, NULL, &out),
               BERTH_EINVAL);
  CHECK_STATUS(berth_ramp_plan_on(j.planner, j.model, 4, NULL, 0, good, 1, NULL, &out),
               BERTH_EINVAL);
  busy[9] = 1;
  CHECK_OK(berth_ramp_plan_on(j.planner, j.model, 4, busy, 4, good, 1, NULL, &out));
  CHECK(out.cause == BERTH_RAMP_NO_BLOCK && out.pieces == 4);
  /* no wish stays behind */
  CHECK_OK(berth_ramp_plan(j.planner, j.model, 4, NULL, 1, NULL, &out));
  CHECK(out.step == first.step && out.n_servers == first.n_servers);
  drop(&j);
}

TEST_REFUSALS(published)
TEST_REFUSALS(exact)

TEST("clusters of one server to 1024, in every shape") {
  static const int32_t shape[][3] = { { 1, 1, 1 },  { 2, 1, 1 },    { 1, 1, 2 },    { 8, 8, 8 },
                                      { 4, 4, 64 }, { 1, 1, 1024 }, { 1024, 1, 1 }, { 32, 32, 1 } };
  for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
    plan_everywhere(shape[i][0], shape[i][1], shape[i][2], profile);
}

TEST("graphs that take no time, or no memory") {
  static const int32_t shape[][3] = { { 1, 1, 1 },  { 2, 1, 1 },    { 1, 1, 2 },    { 8, 8, 8 },
                                      { 4, 4, 64 }, { 1, 1, 1024 }, { 1024, 1, 1 }, { 32, 32, 1 } };
  for (size_t i = 0; i < 4; i++)
    plan_everywhere(shape[i][0], shape[i][1], shape[i][2], free_profile);
  for (size_t i = 0; i < 4; i++)
    plan_everywhere(shape[i][0], shape[i][1], shape[i][2], weightless_profile);
}

TEST("a block of the caller's choice") {
  plan_on_blocks(1);
  plan_on_blocks(0);
}
