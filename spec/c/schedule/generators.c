/* Generators, the evaluator and the event loop: published bubbles, an independent checker,
 * deadlocks and memory by hand, mistakes in words. */
#include "refusals.h"
#include "schedule_checker.h"

static berth_schedule_problem_options shape(int stages, int microbatches, int chunks,
                                            berth_schedule_map map) {
  berth_schedule_problem_options o = berth_schedule_problem_default();
  o.stages = stages;
  o.microbatches = microbatches;
  o.chunks = chunks;
  o.map = map;
  return o;
}

static berth_schedule_problem *problem(const berth_schedule_problem_options *o) {
  berth_schedule_problem *p = NULL;
  CHECK_OK(berth_schedule_problem_new(ctx, o, &p));
  return p;
}

static berth_schedule *made(berth_schedule_problem *p, const char *name) {
  berth_schedule *s = NULL;
  CHECK_OK(berth_schedule_make(p, name, &s));
  return s;
}

static double bubble(const berth_schedule_problem_options *o, const char *name) {
  berth_schedule_problem *p = problem(o);
  berth_schedule *s = made(p, name);
  berth_schedule_value v = { .step = NAN };
  berth_schedule_evaluate(s, &v, NULL, NULL, NULL);
  double idle = v.step - berth_schedule_problem_work(p, 0);
  berth_schedule_release(s);
  berth_schedule_problem_release(p);
  return idle;
}

TEST("published bubbles at unit times without communication") {
  berth_schedule_problem_options one = shape(8, 24, 1, BERTH_MAP_INTERLEAVED);
  one.objective = BERTH_SCHEDULE_SPAN;
  CHECK_NEAR(bubble(&one, "1f1b"), 7 * 3, 1e-9);  /* (p - 1)(F + B + W) */
  CHECK_NEAR(bubble(&one, "gpipe"), 7 * 3, 1e-9);
  CHECK_NEAR(bubble(&one, "zb-h1"), 7, 1e-9);     /* (p - 1)(F + B - W) */
  CHECK_NEAR(bubble(&one, "zb-h2"), 0, 1e-9);     /* (p - 1)(F + B - 2W) */
  berth_schedule_problem_options two = shape(8, 24, 2, BERTH_MAP_INTERLEAVED);
  two.objective = BERTH_SCHEDULE_SPAN;
  CHECK_NEAR(bubble(&two, "interleaved-1f1b"), 7 * 3, 1e-9); /* 1F1B's over v, in chunks' times */
  two.map = BERTH_MAP_ZIGZAG;
  two.freed = 0;
  CHECK_NEAR(bubble(&two, "zb-v"), 0, 1e-9);
  berth_schedule_problem_options dual = shape(8, 20, 2, BERTH_MAP_BIDIRECTIONAL);
  CHECK_NEAR(bubble(&dual, "dualpipe"), 6, 1e-9); /* (p/2 - 1)(F&B + B + W - 3W), F&B = 3 */
  dual = shape(4, 10, 2, BERTH_MAP_ZIGZAG);
  CHECK_NEAR(bubble(&dual, "dualpipev"), 6, 1e-9);
}

TEST("V-half and V-min: 10 and 8 of 16 chunks at most, 8 stages") {
  berth_schedule_problem_options o = shape(8, 24, 2, BERTH_MAP_ZIGZAG);
  double one = 1, peak[8];
  o.activations = &one;
  o.n_activations = 1;
  o.freed = 0;
  const char *names[] = { "v-half", "v-min" };
  for (int k = 0; k < 2; k++) {
    berth_schedule_problem *p = problem(&o);
    berth_schedule *s = made(p, names[k]);
    berth_schedule_value v;
    berth_schedule_evaluate(s, &v, NULL, NULL, peak);
    for (int i = 0; i < 8; i++) CHECK(peak[i] <= (k ? 8 : 10));
    berth_schedule_release(s);
    berth_schedule_problem_release(p);
  }
}

/* ---- against the checker and the event loop ---- */

static void check_event_loop(const berth_schedule *s) {
  static double start[CHECKED_MOST], finish[CHECKED_MOST], peak[64];
  berth_schedule_problem *p = berth_schedule_problem_of(s);
  berth_schedule_value v;
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_placement *pl = NULL;
  berth_cost *c = NULL;
  berth_result *r = NULL;
  berth_schedule_evaluate(s, &v, start, finish, peak);
  CHECK_OK(berth_schedule_graph(s, 1e6, &g));
  CHECK_OK(berth_schedule_topology(p, 1e6, &t));
  CHECK_OK(berth_schedule_placement(s, &pl));
  CHECK_OK(berth_cost_new(g, t, NULL, &c));
  berth_sim_options o = berth_sim_default(g);
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.memory = BERTH_MEMORY_INFERENCE;
  o.sequence = berth_placement_sequence(pl);
  CHECK_OK(berth_simulate(c, berth_placement_device(pl), &o, &r));
  CHECK_NEAR(berth_result_makespan(r), v.makespan, 1e-9 * v.makespan);
  for (int i = 0; i < berth_schedule_problem_read(p)->stages; i++)
    CHECK_NEAR(berth_result_peak(r)[i], peak[i], 1e-9 * peak[i]);
  for (int i = 0; i < berth_graph_ops(g); i++)
    CHECK_NEAR(berth_result_start(r)[i], berth_placement_start(pl)[i], 1e-9 * v.makespan);
  berth_oom oom;
  CHECK(berth_result_oom(r, &oom) == (v.outcome == BERTH_SCHEDULE_MEMORY));
  berth_result_release(r);
  berth_cost_release(c);
  berth_placement_release(pl);
  berth_topology_release(t);
  berth_graph_release(g);
}

/* Unlike chunks and stages, in quarters: sums are exact. */
static double some(berth_rng *rng, int least, int most) {
  return (least + berth_rng_below(rng, most - least + 1)) / 4.0;
}

static void draw(berth_rng *rng, berth_schedule_problem_options *o, double list[7][32]) {
  int n = o->stages * o->chunks;
  for (int i = 0; i < n; i++) {
    list[0][i] = some(rng, 2, 8);
    list[1][i] = some(rng, 2, 8);
    list[2][i] = some(rng, 1, 6);
    list[3][i] = some(rng, 0, 2);
    list[4][i] = i > 0 ? list[4][0] : some(rng, 2, 4); /* limits of V-half are for like chunks */
    list[5][i] = some(rng, 0, 3);
  }
  o->forward = list[0];
  o->backward = list[1];
  o->weight = list[2];
  o->p2p = list[3];
  o->activations = list[4];
  o->extra = list[5];
  o->n_forward = o->n_backward = o->n_weight = o->n_activations = n;
  o->n_p2p = n - 1;
  o->n_extra = o->stages;
  o->freed = berth_rng_below(rng, 3) / 2.0;
  o->overlap = berth_rng_below(rng, 2) ? 1 : 0.75;
}

TEST("every generator on unlike chunks: words, dependencies, memory, times, the event loop") {
  berth_rng rng;
  berth_rng_init(&rng, 5, 0);
  const berth_schedule_generator *g;
  int n = 0;
  for (; (g = berth_schedule_generator_at(n)) != NULL; n++)
    for (int k = 0; k < 6; k++) {
      double list[7][32];
      berth_schedule_problem_options o = shape(4, 8, g->chunks ? g->chunks : 2 + k % 2, g->map);
      o.joined = k % 3 == 2;
      draw(&rng, &o, list);
      berth_schedule_problem *p = problem(&o);
      berth_schedule *s = made(p, g->name);
      CHECK_TEXT(berth_schedule_name(s), g->name);
      CHECK(berth_schedule_generator_find(g->name) == g);
      check_schedule(s, g->name);
      check_event_loop(s);
      berth_schedule_release(s);
      berth_schedule_problem_release(p);
    }
  CHECK(n >= 13);
  CHECK(berth_schedule_generator_find("gpipee") == NULL);
}

/* ---- by hand ---- */

#define F(c, m) { BERTH_SCHEDULE_FORWARD, c, m, 0 }
#define B(c, m) { BERTH_SCHEDULE_BACKWARD, c, m, 0 }
#define W(c, m) { BERTH_SCHEDULE_WEIGHT, c, m, 0 }

static berth_status make(berth_schedule_problem *p, const int32_t *count,
                         const berth_schedule_action *a, berth_schedule **out) {
  return berth_schedule_new(p, count, a, "hand", out);
}

TEST("a deadlock names the stage and the action that wait") {
  /* stage 0 wants B0 before F1, stage 1 wants F1 before B0 */
  berth_schedule_problem_options o = shape(2, 2, 1, BERTH_MAP_INTERLEAVED);
  o.joined = 1;
  berth_schedule_problem *p = problem(&o);
  const int32_t count[] = { 4, 4 };
  const berth_schedule_action a[] = { F(0, 0), B(0, 0), F(0, 1), B(0, 1),
                                      F(1, 0), F(1, 1), B(1, 0), B(1, 1) };
  berth_schedule *s = NULL;
  berth_schedule_value v;
  double start[8];
  CHECK_OK(make(p, count, a, &s));
  CHECK_OK(berth_schedule_evaluate(s, &v, start, NULL, NULL));
  CHECK(v.outcome == BERTH_SCHEDULE_DEADLOCK && isinf(v.step) && v.stage == 0 && v.index == 1);
  CHECK(v.action.kind == BERTH_SCHEDULE_BACKWARD && v.action.microbatch == 0);
  CHECK(start[0] == 0 && isnan(start[1]) && start[4] == 1 && isnan(start[5]));
  berth_placement *pl = NULL;
  CHECK_ERROR(berth_schedule_placement(s, &pl), BERTH_EINFEASIBLE,
              "schedule: deadlock: stage0 waits for ever before B0.0");
  berth_schedule_release(s);
  berth_schedule_problem_release(p);
}

TEST("the first action in time that passes a limit is named") {
  berth_schedule_problem_options o = shape(2, 3, 1, BERTH_MAP_INTERLEAVED);
  double limit[] = { 2, 1 };
  o.memory = limit;
  o.n_memory = 2;
  berth_schedule_problem *p = problem(&o);
  berth_schedule *s = made(p, "gpipe");
  berth_schedule_value v;
  double peak[2];
  CHECK_OK(berth_schedule_evaluate(s, &v, NULL, NULL, peak));
  /* F1 on stage 1 starts at 2, as does F2 on stage 0: the lower stage */
  CHECK(v.outcome == BERTH_SCHEDULE_MEMORY && v.stage == 0 && v.index == 2);
  CHECK(v.action.microbatch == 2 && v.excess == 1 && peak[0] == 3 && peak[1] == 3);
  CHECK(v.step == 12);
  check_event_loop(s);
  berth_schedule_release(s);
  berth_schedule_problem_release(p);
}

TEST("mistakes in words are named") {
  berth_schedule_problem_options o = shape(1, 2, 1, BERTH_MAP_INTERLEAVED);
  berth_schedule_problem *p = problem(&o);
  berth_schedule *s = NULL;
  const int32_t six[] = { 6 }, five[] = { 5 };
  const berth_schedule_action twice[] = { F(0, 0), F(0, 0), B(0, 0), W(0, 0), B(0, 1), W(0, 1) };
  const berth_schedule_action early[] = { F(0, 0), W(0, 0), B(0, 0), F(0, 1), B(0, 1), W(0, 1) };
  const berth_schedule_action order[] = { F(0, 1), F(0, 0), B(0, 0), W(0, 0), B(0, 1), W(0, 1) };
  const berth_schedule_action other[] = { F(0, 0), F(1, 1), B(0, 0), W(0, 0), B(0, 1), W(0, 1) };
  berth_schedule_action slot[] = { F(0, 0), F(0, 1), B(0, 0), W(0, 0), B(0, 1), W(0, 1) };
  CHECK_ERROR(make(p, six, twice, &s), BERTH_EINVAL,
              "schedule: stage0: F0.0 occurs a second time");
  CHECK_ERROR(make(p, six, early, &s), BERTH_EINVAL,
              "schedule: stage0: W0.0 comes before its B");
  CHECK_ERROR(make(p, six, order, &s), BERTH_EUNSUPPORTED,
              "schedule: stage0: F0.1 is out of order: earlier micro-batches come first");
  CHECK_ERROR(make(p, six, other, &s), BERTH_EINVAL,
              "schedule: stage0: F1.1 is of no chunk of the stage");
  CHECK_ERROR(make(p, five, slot, &s), BERTH_EINVAL, "schedule: stage0 lacks W0.1");
  slot[1].overlapped = 1;
  CHECK_ERROR(make(p, six, slot, &s), BERTH_EINVAL,
              "schedule: stage0: F0.1 is in a slot that is not an F and a B of two chunks");
  CHECK_ERROR(berth_schedule_make(p, "1f1", &s), BERTH_EINVAL,
              "schedule: unknown generator '1f1': 14 names; did you mean '1f1b'?");
  CHECK_STATUS(berth_schedule_make(p, "zb-v", &s), BERTH_EUNSUPPORTED);
  berth_schedule_problem_release(p);
}

/* All that allocates. */
static berth_status everything(void) {
  berth_schedule_problem_options o = shape(2, 4, 2, BERTH_MAP_ZIGZAG);
  berth_schedule_problem *p = NULL;
  berth_schedule *s = NULL, *found = NULL;
  berth_schedule_search_options few = berth_schedule_search_default();
  berth_schedule_value v;
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_placement *pl = NULL;
  few.calls = 60;
  o.overlap = 0.75;
  berth_status st = berth_schedule_problem_new(ctx, &o, &p);
  TRY(st, berth_schedule_make(p, "dualpipev", &s));
  TRY(st, berth_schedule_evaluate(s, &v, NULL, NULL, NULL));
  TRY(st, berth_schedule_graph(s, 1, &g));
  TRY(st, berth_schedule_topology(p, 1, &t));
  TRY(st, berth_schedule_placement(s, &pl));
  TRY(st, berth_schedule_search(p, &few, &found, NULL));
  double ones[] = { 1, 1, 1, 1, 1 }, bound;
  TRY(st, berth_schedule_bound_splits(p, &(berth_schedule_layers){ 5, ones, ones, ones, ones, 0 },
                                      INFINITY, &bound));
  berth_placement_release(pl);
  berth_topology_release(t);
  berth_graph_release(g);
  berth_schedule_release(found);
  berth_schedule_release(s);
  berth_schedule_problem_release(p);
  return st;
}
TEST_REFUSALS(everything)
