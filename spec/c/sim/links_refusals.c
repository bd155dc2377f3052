/* Refused allocations of simulations on links held as routes and shared fairly. */
#include "refusals.h"

static berth_status simulate(berth_cost *cost, berth_links links) {
  static const int32_t device[] = { 0, 1, 2, 3, 2, 1 };
  berth_sim_options o = berth_sim_default(NULL);
  berth_result *r = NULL;
  int32_t rows[12];
  memcpy(rows, device, sizeof device);
  memcpy(rows + 6, device, sizeof device);
  o.links = links;
  berth_status st = berth_simulate(cost, device, &o, &r);
  if (st == BERTH_OK && !berth_result_slack(r)) st = BERTH_ENOMEM;
  berth_sim_summary sum[2];
  TRY(st, berth_sim_batch(cost, &o, 2, rows, 1, sum));
  if (st == BERTH_OK)
    CHECK(sum[0].makespan == sum[1].makespan && sum[0].makespan == berth_result_makespan(r));
  RELEASE(r);
  return st;
}

/* A list placer plans on duplex links; the portfolio decides by the links themselves. */
static berth_status place(berth_cost *cost, berth_links links) {
  static const char *const names[] = { "heft", "round-robin", "anneal" };
  berth_place_options o = berth_place_default(NULL);
  berth_search_options search = berth_search_default();
  berth_status st = BERTH_OK;
  search.calls = 3;
  o.links = links;
  o.search = &search;
  for (int32_t i = 0; i < 3 && st == BERTH_OK; i++) {
    berth_placement *p = NULL;
    st = berth_place(cost, names[i], &o, &p, NULL);
    if (st == BERTH_OK)
      CHECK((int)berth_placement_links(p) == (i == 0 ? (int)BERTH_LINKS_DUPLEX : (int)links));
    RELEASE(p);
  }
  return st;
}

static berth_status build_all(void) {
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_cost *cost = NULL;
  berth_device d = berth_device_default();
  berth_link l = { 1, 0.25 };
  berth_status st = graph_of_text("1 1 1 1 1 1 0>1:2 0>2:2 0>3:2 0>4:2 0>5:2", &g);
  TRY(st, berth_topology_ring(ctx, 5, &d, &l, &t));
  TRY(st, berth_cost_new(g, t, NULL, &cost));
  TRY(st, simulate(cost, BERTH_LINKS_ROUTE));
  TRY(st, simulate(cost, BERTH_LINKS_FAIR));
  TRY(st, place(cost, BERTH_LINKS_ROUTE));
  TRY(st, place(cost, BERTH_LINKS_FAIR));
  RELEASE(cost, t, g);
  return st;
}

TEST_REFUSALS(build_all)
