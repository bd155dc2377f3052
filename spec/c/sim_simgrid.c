/* Planned order without contention against times from SimGrid, which moves whole bytes. */
#include "sim_help.h"

typedef struct pdag {
  int32_t hosts, n, m, *host, *sequence;
  double speed[64], bandwidth, latency;
} pdag;

static void read_pdag(setup *s, const char *text, pdag *p) {
  char *at = strstr(text, "hosts") + 5;
  p->hosts = (int32_t)strtol(at, &at, 10);
  for (int32_t i = 0; i < p->hosts; i++) p->speed[i] = strtod(at, &at);
  at = strstr(at, "link") + 4;
  p->bandwidth = strtod(at, &at);
  p->latency = strtod(at, &at);
  at = strstr(at, "tasks") + 5;
  p->n = (int32_t)strtol(at, &at, 10);
  p->host = malloc((size_t)p->n * sizeof *p->host);
  p->sequence = malloc((size_t)p->n * sizeof *p->sequence);
  for (int32_t i = 0; i < p->n; i++) {
    p->host[i] = (int32_t)strtol(at, &at, 10);
    p->sequence[i] = setup_op(s, strtod(at, &at));
  }
  at = strstr(at, "edges") + 5;
  p->m = (int32_t)strtol(at, &at, 10);
  for (int32_t e = 0; e < p->m; e++) {
    int32_t src = (int32_t)strtol(at, &at, 10), dst = (int32_t)strtol(at, &at, 10);
    setup_edge(s, src, dst, floor(strtod(at, &at)));
  }
}

static void hosts_mesh(setup *s, const pdag *p) {
  berth_topology_builder *b = NULL;
  berth_link l = { p->bandwidth, p->latency };
  CHECK_STATUS(berth_topology_builder_new(s->ctx, &b), BERTH_OK);
  for (int32_t i = 0; i < p->hosts; i++) {
    berth_device d = berth_device_default();
    d.speed = p->speed[i];
    CHECK_STATUS(berth_topology_builder_add_device(b, &d, NULL, NULL), BERTH_OK);
  }
  for (int32_t i = 0; i < p->hosts; i++) {
    for (int32_t k = i + 1; k < p->hosts; k++) CHECK_STATUS(berth_topology_builder_add_duplex(b, i, k, &l, NULL), BERTH_OK);
  }
  CHECK_STATUS(berth_graph_builder_finish(s->b, &s->g), BERTH_OK);
  CHECK_STATUS(berth_topology_builder_finish(b, &s->t), BERTH_OK);
  berth_topology_builder_release(b);
  CHECK_STATUS(berth_cost_new(s->g, s->t, NULL, &s->cost), BERTH_OK);
}

static void check_times(const berth_result *r, const char *times, int32_t n) {
  char *at = (char *)times;
  for (int32_t i = 0; i < n; i++) {
    CHECK(strtol(at, &at, 10) == i);
    CHECK_NEAR(berth_result_start(r)[i], strtod(at, &at), 1e-9);
    CHECK_NEAR(berth_result_finish(r)[i], strtod(at, &at), 1e-9);
  }
}

static void one_case(const char *dir, const char *name) {
  setup s;
  pdag p;
  char file[64];
  char *text, *times;
  berth_sim_options o = berth_sim_default(NULL);
  berth_sim_summary sum;
  berth_sim *sim = NULL;
  berth_result *r = NULL;
  snprintf(file, sizeof file, "%s.pdag", name);
  text = read_text(dir, "reference/simgrid", file);
  snprintf(file, sizeof file, "%s.free.times", name);
  times = read_text(dir, "reference/simgrid", file);
  if (!CHECK(text && times)) return;
  setup_begin(&s);
  read_pdag(&s, text, &p);
  hosts_mesh(&s, &p);
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.sequence = p.sequence;
  CHECK_STATUS(berth_simulate(s.cost, p.host, &o, &r), BERTH_OK);
  check_times(r, times, p.n);
  o.memory = BERTH_MEMORY_NONE;
  CHECK_STATUS(berth_sim_new(s.cost, &o, &sim), BERTH_OK);
  CHECK_STATUS(berth_sim_run(sim, p.host, &sum), BERTH_OK);
  CHECK(sum.makespan == berth_result_makespan(r));
  berth_sim_release(sim);
  berth_result_release(r);
  setup_end(&s);
  free(p.host);
  free(p.sequence);
  free(text);
  free(times);
}

int main(void) {
  TEST("every start and finish, to 1e-9 s")
  const char *dir = check_shared();
  if (!dir) {
    SKIP("no test data beside the project");
  } else {
    one_case(dir, "tiny");
    one_case(dir, "d100");
    one_case(dir, "d1k");
  }
  return check_done();
}
