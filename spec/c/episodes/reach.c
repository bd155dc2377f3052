/* Where ops may go when devices do not reach one another: what is allowed, told by the log, and
 * enough for a placement that runs. */
#include "assign_help.h"
#include "refusals.h"
#include <stdbool.h>

enum { MOST = 12, DEVICES = 4 };

static void expect(berth_episodes *e, int32_t op, int a, int b, int c) {
  uint8_t may[3];
  CHECK_OK(berth_episodes_allowed(e, &op, may));
  if (!CHECK(may[0] == a && may[1] == b && may[2] == c))
    printf("# op %d: %d %d %d\n", (int)op, may[0], may[1], may[2]);
}

/* Both 0 and 1 give to 2, which gives to 3, pinned to device 1. Devices 0 and 1 reach one another,
 * from 1 a link leads to 2. */
TEST("links that lead one way, and a pinned consumer") {
  int32_t op = 2;
  setup s = setup_started();
  setup_add(&s, "1 1 1 1@1 0>2:1 1>2:1 2>3:1");
  setup_wires(&s, "1 1 1 0-1:1 1>2:1");
  episode_setup x = episodes_of(&s, NULL, 1);
  CHECK(berth_assign_restricted(x.a));
  expect(x.e, 0, 1, 1, 1);
  put(x.e, 0, 0);
  expect(x.e, 1, 1, 1, 1);
  put(x.e, 1, 1);
  expect(x.e, 2, 1, 1, 0); /* from device 2 no link leads to that of op 3 */
  uint8_t best[3];
  CHECK_OK(berth_episodes_teacher_devices(x.e, &op, best));
  CHECK(best[0] && !best[1] && !best[2]); /* device 1 is busy with op 3 first */
  put(x.e, 2, 0);
  berth_episode_log log;
  CHECK_OK(berth_episodes_log(x.e, &log));
  CHECK(log.allowed && log.allowed[3] && log.allowed[6] && log.allowed[7] && !log.allowed[8]);
  berth_episodes_start(x.e, 0, 0);
  put(x.e, 0, 2);
  put(x.e, 1, 0);
  expect(x.e, 2, 1, 1, 1); /* led astray: nothing is left that could be reached */
  RELEASE(x.e, x.a);
}

TEST("nothing to rule out") {
  setup s = setup_of("1", 2, INFINITY);
  episode_setup x = episodes_of(&s, NULL, 1);
  CHECK(!berth_assign_restricted(x.a));
  put(x.e, 0, 1);
  berth_episode_log log;
  CHECK_OK(berth_episodes_log(x.e, &log));
  CHECK(!log.allowed);
  RELEASE(x.e, x.a);
}

/* ---- any graph, any links ---- */

static void random_problem(setup *s, berth_rng *rng, int32_t n, int32_t devices) {
  setup_random(s, rng, n, 1);
  char text[400], *end = text;
  for (int32_t i = 0; i < devices; i++) end += sprintf(end, "1 ");
  for (int32_t i = 0; i < devices; i++) {
    for (int32_t k = 0; k < devices; k++) {
      int32_t bandwidth = 1 + berth_rng_below(rng, 3);
      if (i != k && berth_rng_below(rng, 3) == 0)
        end += sprintf(end, "%d>%d:%d ", (int)i, (int)k, (int)bandwidth);
    }
  }
  setup_wires(s, text);
}

/* From everywhere that op reads from. */
static bool reaches(const setup *s, const int32_t *device, int32_t op, int32_t d) {
  for (int32_t t = 0; t < berth_graph_tensors(s->g); t++) {
    const int32_t *use;
    int32_t n = berth_graph_consumers(s->g, t, &use);
    berth_tensor x = must_graph_tensor(s->g, t);
    for (int32_t i = 0; i < n; i++) {
      if (use[i] == op && isinf(berth_cost_transfer(s->cost, t, device[x.producer], d)))
        return false;
    }
  }
  return true;
}

/* @return whether there was something that could be reached */
static bool check_allowed(const setup *s, berth_episodes *e, int32_t op, int32_t devices,
                          uint8_t *may) {
  uint8_t want[DEVICES];
  int32_t n = 0;
  for (int32_t d = 0; d < devices; d++)
    n += want[d] = reaches(s, berth_episodes_placement(e), op, d);
  CHECK_OK(berth_episodes_allowed(e, &op, may));
  uint8_t best[DEVICES];
  CHECK_OK(berth_episodes_teacher_devices(e, &op, best));
  for (int32_t d = 0; d < devices; d++) CHECK(may[d] == (n > 0 ? want[d] : 1) && best[d] <= may[d]);
  return n > 0;
}

static void any(berth_rng *rng) {
  int32_t n = 1 + berth_rng_below(rng, MOST), devices = 1 + berth_rng_below(rng, DEVICES), step = 0;
  bool reached = true;
  setup s;
  berth_result *r = NULL;
  random_problem(&s, rng, n, devices);
  episode_setup x = episodes_of(&s, NULL, 1);
  uint8_t told[MOST][DEVICES];
  for (; berth_episodes_step(x.e) < berth_assign_steps(x.a); step++) {
    const int32_t *first, *ops;
    int32_t k = berth_episodes_candidates(x.e, &first, &ops), op = ops[berth_rng_below(rng, k)];
    reached = check_allowed(&s, x.e, op, devices, told[step]) && reached;
    int32_t d;
    do d = berth_rng_below(rng, devices);
    while (!told[step][d]);
    put(x.e, op, d);
  }
  berth_episode_log log;
  CHECK_OK(berth_episodes_log(x.e, &log));
  for (int32_t i = 0; i < step; i++) {
    for (int32_t d = 0; d < devices; d++)
      CHECK(told[i][d] == (log.allowed ? log.allowed[i * devices + d] : 1));
  }
  berth_status st = berth_simulate(s.cost, berth_episodes_placement(x.e), NULL, &r);
  CHECK(st == (reached ? BERTH_OK : BERTH_EUNREACHABLE));
  RELEASE(r);
  RELEASE(x.e, x.a);
}

/* ---- refused allocations ---- */

static berth_status job(void) {
  static const int32_t here = 0;
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_cost *cost = NULL;
  berth_assign *a = NULL;
  berth_episodes *e = NULL;
  berth_status st = graph_of_text("10 20 30 5 0>1,2:40 1>3:80 2>3:120", &g);
  TRY(st, topology_of_text("1 1", &t));
  TRY(st, berth_cost_new(g, t, NULL, &cost));
  TRY(st, berth_assign_new(cost, NULL, &a));
  TRY(st, berth_episodes_new(a, 1, &e));
  while (st == BERTH_OK && berth_episodes_step(e) < berth_assign_steps(a)) {
    const int32_t *first, *ops;
    berth_episodes_candidates(e, &first, &ops);
    st = berth_episodes_assign(e, ops, &here);
  }
  berth_episode_log log;
  TRY(st, berth_episodes_log(e, &log));
  if (st == BERTH_OK)
    CHECK(log.allowed && log.allowed[0] && log.allowed[2 * log.n_rows - 2]
          && !log.allowed[2 * log.n_rows - 1]);
  RELEASE(e, a, cost, t, g);
  return st;
}

TEST("any graph, any links: as by asking every tensor; what keeps to it runs") {
  berth_rng rng = seeded(11, 0);
  for (int i = 0; i < 4000; i++) any(&rng);
}
TEST_REFUSALS(job)
