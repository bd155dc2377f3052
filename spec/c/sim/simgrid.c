/* Planned order against times from SimGrid, which moves whole bytes: without contention, on a mesh
 * whose links share their bandwidth among flows, and on one link for all. */
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

static void wire_mesh(berth_topology_builder *b, const pdag *p, const int32_t *node) {
  berth_link l = { p->bandwidth, p->latency };
  for (int32_t i = 0; i < p->hosts; i++) {
    for (int32_t k = i + 1; k < p->hosts; k++) {
      CHECK_OK(berth_topology_builder_add_duplex(b, node[i], node[k], &l, NULL));
    }
  }
}

/* Everybody sends into one end of the one link and receives from the other. */
static void wire_bus(berth_topology_builder *b, const pdag *p, const int32_t *node) {
  berth_link l = { p->bandwidth, p->latency }, none = { INFINITY, 0 };
  int32_t in = must_topology_builder_add_switch(b, "in");
  int32_t out;
  CHECK_OK(berth_topology_builder_add_switch(b, "out", &out));
  CHECK_OK(berth_topology_builder_add_link(b, in, out, &l, NULL));
  for (int32_t i = 0; i < p->hosts; i++) {
    CHECK_OK(berth_topology_builder_add_link(b, node[i], in, &none, NULL));
    CHECK_OK(berth_topology_builder_add_link(b, out, node[i], &none, NULL));
  }
}

static void wire(setup *s, const pdag *p, int bus) {
  berth_topology_builder *b = must_topology_builder_new();
  int32_t node[64];
  for (int32_t i = 0; i < p->hosts; i++) {
    berth_device d = berth_device_default();
    d.speed = p->speed[i];
    node[i] = must_add_device(b, &d);
  }
  (bus ? wire_bus : wire_mesh)(b, p, node);
  s->g = must_graph_builder_finish(s->b);
  s->t = must_topology(b);
  s->cost = must_cost_new(s->g, s->t, NULL);
}

static void check_times(const berth_result *r, const char *times, int32_t n) {
  char *at = (char *)times;
  for (int32_t i = 0; i < n; i++) {
    CHECK(strtol(at, &at, 10) == i);
    CHECK_NEAR(berth_result_start(r)[i], strtod(at, &at), 1e-9);
    CHECK_NEAR(berth_result_finish(r)[i], strtod(at, &at), 1e-9);
  }
}

/* "case,tasks,hosts,edges,remote_edges,mode,makespan" */
static double listed_makespan(const char *dir, const char *name, const char *mode) {
  char *text = read_text(dir, "reference/simgrid", "makespans.csv");
  double makespan = NAN;
  for (char *line = text; line && *line; line = (line = strchr(line, '\n')) ? line + 1 : NULL) {
    char of[32], how[32];
    double listed;
    if (sscanf(line, "%31[^,],%*d,%*d,%*d,%*d,%31[^,],%lf", of, how, &listed) != 3) continue;
    if (strcmp(of, name) == 0 && strcmp(how, mode) == 0) makespan = listed;
  }
  free(text);
  return makespan;
}

static void one_case(const char *dir, const char *name, const char *mode) {
  char file[64];
  double listed = listed_makespan(dir, name, mode);
  berth_sim_options o = berth_sim_default(NULL);
  snprintf(file, sizeof file, "%s.pdag", name);
  char *text = read_text(dir, "reference/simgrid", file);
  snprintf(file, sizeof file, "%s.%s.times", name, mode);
  char *times = read_text(dir, "reference/simgrid", file);
  if (!CHECK(text && times)) return;
  setup s = setup_started();
  pdag p;
  read_pdag(&s, text, &p);
  wire(&s, &p, strcmp(mode, "bus") == 0);
  o.links = strcmp(mode, "free") == 0 ? BERTH_LINKS_FREE : BERTH_LINKS_FAIR;
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.sequence = p.sequence;
  berth_result *r = must_simulate(s.cost, p.host, &o);
  check_times(r, times, p.n);
  CHECK_NEAR(berth_result_makespan(r), listed, 1e-9 * listed);
  o.memory = BERTH_MEMORY_NONE;
  berth_sim *sim = must_sim_new(s.cost, &o);
  berth_sim_summary sum = must_sim_run(sim, p.host);
  CHECK(sum.makespan == berth_result_makespan(r));
  RELEASE(p.host, p.sequence, text, times);
}

TEST("every start and finish, to 1e-9 s") {
  static const char *const modes[] = { "free", "mesh", "bus" };
  const char *dir = check_shared();
  if (!dir) {
    SKIP("no test data beside the project");
  } else {
    for (int k = 0; k < 3; k++) {
      one_case(dir, "tiny", modes[k]);
      one_case(dir, "d100", modes[k]);
      one_case(dir, "d1k", modes[k]);
    }
  }
}
