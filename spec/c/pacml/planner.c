/* PAC-ML in C without Lua: a run from one end to the other, allocation failure in runs and
 * planners, interrupted learning. */
#include "pacml/ahead_internal.h"
#include "refusals.h"

static const char profile[] =
    "node1 -- Input -- forward_compute_time=0, backward_compute_time=0, activation_size=64.0, "
    "parameter_size=0.0\n"
    "node2 -- Linear(a, b) -- forward_compute_time=2000, backward_compute_time=3000, "
    "activation_size=4096.0, parameter_size=512.0\n"
    "node3 -- Loss() -- forward_compute_time=4000, backward_compute_time=500, "
    "activation_size=8.0, parameter_size=0.0\n"
    "\tnode1 -- node2\n\tnode2 -- node3\n";

enum { JOBS = 40 };

static const double beta[] = { 0.2, 0.5, 1 }, mass[] = { 1, 2, 1 };

typedef struct planner_world {
  berth_ramp *ramp;
  berth_ramp_model *model;
  berth_pacml *pacml;
  berth_pacml_ahead *ahead;
} planner_world;

static berth_status make(planner_world *w) {
  berth_pacml_process p = { 20, 40, 3, beta, mass };
  berth_ramp_options o = berth_ramp_default(1);
  berth_graph *g = NULL;
  berth_status st = graph_of_profile(profile, &g);
  *w = (planner_world){ NULL, NULL, NULL, NULL };
  o.time_scale = 1;
  TRY(st, berth_ramp_new(ctx, &o, &w->ramp));
  TRY(st, berth_ramp_model_new(w->ramp, g, NULL, 0, &w->model));
  TRY(st, berth_pacml_new(w->ramp, 1, &w->model, 50, 16, &w->pacml));
  TRY(st, berth_pacml_ahead_new(w->pacml, 4, 3, 0.9, &p, &w->ahead));
  RELEASE(g);
  return st;
}

/* The ramp first: the others hold it. */
static void drop(planner_world *w) {
  RELEASE(w->ramp, w->ahead, w->pacml, w->model);
}

static berth_status decide_all(const planner_world *w, berth_pacml_run *r) {
  berth_pacml_ahead_options o = berth_pacml_ahead_default();
  berth_status st = BERTH_OK;
  o.futures = 2;
  o.depth = 2;
  int32_t decision, n, block[32];
  while (st == BERTH_OK && berth_pacml_run_job(r) != BERTH_NONE) {
    st = berth_pacml_ahead_decide(w->ahead, r, &o, &decision, &n, block);
    TRY(st, berth_pacml_decide_on(r, decision, n, block, NULL));
  }
  return st;
}

static berth_status play(const planner_world *w, berth_pacml_report *out) {
  berth_pacml_run *r = NULL;
  berth_rng rng = seeded(1, 0);
  berth_pacml_job jobs[JOBS];
  berth_pacml_ahead_draw(w->ahead, &rng, JOBS, jobs);
  berth_status st = berth_pacml_run_new(w->pacml, JOBS, jobs, &r);
  TRY(st, decide_all(w, r));
  TRY(st, berth_pacml_run_report(r, INFINITY, out));
  RELEASE(r);
  return st;
}

static berth_status learn(const planner_world *w, int32_t jobs, double *blocked) {
  berth_pacml_learn_options o = berth_pacml_learn_default();
  berth_rng rng = seeded(2, 0);
  o.jobs = jobs;
  return berth_pacml_ahead_learn(w->ahead, &o, &rng, blocked);
}

static berth_status whole(void) {
  double blocked;
  planner_world w;
  berth_status st = make(&w);
  TRY(st, learn(&w, 50, &blocked));
  berth_pacml_report report;
  TRY(st, play(&w, &report));
  drop(&w);
  return st;
}

TEST("a planner decides about all jobs") {
  planner_world w;
  CHECK_OK(make(&w));
  berth_pacml_report report;
  CHECK_OK(play(&w, &report));
  CHECK(report.arrived == JOBS);
  CHECK(report.completed + report.rejected == JOBS && report.late == 0 && report.unplaced == 0);
  CHECK_NEAR(report.blocking_rate, (double)report.rejected / JOBS, 1e-12);
  drop(&w);
}

/* No server is ever free: each job is blocked, the one turned away now and those that come. The
 * discount is 0.9. Three arrivals: 1 + 0.9 + 0.81 + 0.729 = 3.439. The network, weights 0 but the
 * last, expects 10 more, an arrival later: 0.9^4 10 = 6.561. */
TEST("a future counts blocked jobs, and what the network expects, the less the later they "
     "arrive") {
  const double expected[] = { 0, 10 }, blocked[] = { 3.439, 3.439 + 6.561 };
  berth_pacml_ahead_options o = berth_pacml_ahead_default();
  berth_i_ahead_state full = { .now = 0 };
  planner_world w;
  CHECK_OK(make(&w));
  for (int32_t v = 0; v < BERTH_I_FAST_SERVERS; v++) full.free_at[v] = INFINITY;
  o.depth = 3;
  for (int i = 0; i < 2; i++) {
    int32_t n = berth_pacml_ahead_weights(w.ahead);
    double *weights = calloc((size_t)n, sizeof *weights);
    weights[n - 1] = expected[i];
    CHECK_OK(berth_pacml_ahead_set(w.ahead, weights));
    CHECK_NEAR(berth_i_ahead_future(w.ahead, &full, NULL, &o, 0), blocked[i], 1e-12);
    free(weights);
  }
  drop(&w);
}

/* A job that would end behind the horizon is blocked; nothing comes before it. */
TEST("what would end behind the horizon is blocked") {
  const berth_i_choice late = { .block = BERTH_NONE, .jct = 5 };
  berth_pacml_ahead_options o = berth_pacml_ahead_default();
  berth_i_ahead_state empty = { .now = 0 };
  planner_world w;
  CHECK_OK(make(&w));
  o.horizon = 1e-9;
  CHECK(berth_i_ahead_future(w.ahead, &empty, &late, &o, 0) == 1);
  drop(&w);
}

static int stop_at_third(void *ud) { return ++*(int *)ud >= 3; }

/* What was learned until then stays: weights are not zero any more. */
TEST("learning can be interrupted") {
  int asked = 0, changed = 0;
  berth_hooks hooks = { NULL, NULL, NULL, stop_at_third, NULL, &asked };
  hooked(&hooks);
  planner_world w;
  CHECK_OK(make(&w));
  asked = 0;
  double blocked;
  CHECK_STATUS(learn(&w, 1000000, &blocked), BERTH_EINTERRUPT);
  double *weights = malloc((size_t)berth_pacml_ahead_weights(w.ahead) * sizeof *weights);
  berth_pacml_ahead_get(w.ahead, weights);
  for (int32_t i = 0; i < berth_pacml_ahead_weights(w.ahead); i++) changed += weights[i] != 0;
  CHECK(changed > 0);
  free(weights);
  drop(&w);
  hooked(NULL);
}

TEST_REFUSALS(whole)
