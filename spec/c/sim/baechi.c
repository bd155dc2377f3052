/* Preset "baechi-tf": the published step simulator on the golden case of its authors' code, and by
 * its own pseudo-code. */
#include "sim_help.h"

/* p=6,7,9,8,10,6,6,10,6 on three devices; unit 1 us; transfer times are bytes at 1 MB/s */
static void golden_setup(setup *s) {
  static const double p[] = { 6, 7, 9, 8, 10, 6, 6, 10, 6 };
  static const int e[][3] = { { 0, 2, 1 }, { 0, 3, 5 }, { 0, 4, 2 }, { 1, 2, 1 },
                              { 1, 3, 1 }, { 1, 4, 1 }, { 2, 5, 5 }, { 2, 6, 3 },
                              { 3, 5, 4 }, { 3, 6, 1 }, { 3, 7, 5 }, { 4, 8, 1 } };
  setup_begin(s);
  for (int i = 0; i < 9; i++) setup_op(s, p[i] * 1e-6);
  for (int i = 0; i < 12; i++) setup_edge(s, e[i][0], e[i][1], e[i][2]);
  s->g = must_graph_builder_finish(s->b);
  s->t = must_mesh(3, INFINITY, 1e6, 0);
  s->cost = must_cost_new(s->g, s->t, NULL);
}

static double simulated(setup *s, const berth_sim_options *o, const int32_t *device) {
  berth_result *r = must_simulate(s->cost, device, o);
  double m = berth_result_makespan(r);
  RELEASE(r);
  return m;
}

TEST("golden case D under the sequential queue") {
  static const int32_t etf[] = { 0, 1, 1, 0, 2, 1, 1, 0, 2 }, sct[] = { 0, 1, 0, 2, 1, 1, 0, 2, 1 };
  setup s;
  golden_setup(&s);
  berth_sim_options o = must_sim_preset("baechi-tf");
  CHECK_NEAR(simulated(&s, &o, etf), 34e-6, 1e-18);
  CHECK_NEAR(simulated(&s, &o, sct), 38e-6, 1e-18);
  o = must_sim_preset("baechi-pt");
  CHECK_NEAR(simulated(&s, &o, etf), 29e-6, 1e-17);
}

/* ---- the pseudo-code of the published loop, on edges of one tensor each, in whole numbers ---- */

enum { OPS = 30, DEVICES = 3 };
typedef struct dag {
  int n_edges, src[OPS * OPS], dst[OPS * OPS], c[OPS * OPS], p[OPS];
} dag;

static void random_dag(dag *g, berth_rng *rng) {
  g->n_edges = 0;
  for (int i = 0; i < OPS; i++) g->p[i] = 1 + berth_rng_below(rng, 9);
  for (int i = 0; i < OPS; i++) {
    for (int k = i + 1; k < OPS; k++) {
      if (berth_rng_below(rng, 8)) continue;
      g->src[g->n_edges] = i;
      g->dst[g->n_edges] = k;
      g->c[g->n_edges++] = berth_rng_below(rng, 12);
    }
  }
}

static int naive(const dag *g, const int32_t *device, const int32_t *number) {
  int ready[OPS] = { 0 }, waiting[OPS] = { 0 }, channel[DEVICES] = { 0 }, free_at[DEVICES] = { 0 },
      last = 0;
  for (int e = 0; e < g->n_edges; e++) waiting[g->dst[e]]++;
  int queued[OPS];
  for (int i = 0; i < OPS; i++) queued[i] = waiting[i] == 0;
  for (;;) {
    int best = -1;
    for (int i = 0; i < OPS; i++) {
      if (queued[i] != 1) continue;
      if (best < 0 || ready[i] < ready[best]
          || (ready[i] == ready[best] && number[i] < number[best]))
        best = i;
    }
    if (best < 0) return last;
    queued[best] = 2;
    int d = device[best];
    int end = (free_at[d] > ready[best] ? free_at[d] : ready[best]) + g->p[best];
    free_at[d] = end;
    last = end > last ? end : last;
    for (int e = 0; e < g->n_edges; e++) {
      int to = g->dst[e], r = device[to], arrival = end;
      if (g->src[e] != best) continue;
      if (r != d) {
        int send = end > channel[d] ? end : channel[d];
        channel[d] = send + g->c[e];
        int receive = send > channel[r] ? send : channel[r];
        arrival = channel[r] = receive + g->c[e];
      }
      ready[to] = arrival > ready[to] ? arrival : ready[to];
      if (--waiting[to] == 0) queued[to] = 1;
    }
  }
}

TEST("random graphs against the pseudo-code") {
  static dag g;
  berth_rng rng = seeded(21, 0);
  for (int round = 0; round < 200; round++) {
    random_dag(&g, &rng);
    int32_t device[OPS];
    random_devices(&rng, OPS, DEVICES, device);
    setup s = setup_started();
    for (int i = 0; i < OPS; i++) setup_op(&s, g.p[i] * 1e-6);
    for (int e = 0; e < g.n_edges; e++) setup_edge(&s, g.src[e], g.dst[e], g.c[e]);
    s.g = must_graph_builder_finish(s.b);
    s.t = must_mesh(DEVICES, INFINITY, 1e6, 0);
    s.cost = must_cost_new(s.g, s.t, NULL);
    int32_t order[OPS];
    CHECK_OK(berth_topo_order(s.g, order));
    int32_t number[OPS];
    for (int i = 0; i < OPS; i++) number[order[i]] = i;
    berth_sim_options o = must_sim_preset("baechi-tf");
    berth_sim *sim = must_sim_new(s.cost, &o);
    berth_sim_summary sum = must_sim_run(sim, device);
    CHECK_NEAR(sum.makespan, naive(&g, device, number) * 1e-6, 0);
    SETUP_END(&s, sim);
  }
}
