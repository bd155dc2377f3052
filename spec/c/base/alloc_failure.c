/* Every allocation refused in turn, alone and with all that follow, on load + price + place +
 * simulate + write, until all goes through: always an orderly BERTH_ENOMEM, never a leak. Promises
 * cover the context's allocator; third-party libraries allocate by themselves. */
#include "refusals.h"

static const char text[] =
    "5\n0,\n0, 0, 1, 2, \n1, 2, 3, 3, \n"
    "10,40,einsummable\n20,80,einsummable\n30,120,formation\n5,20,einsummable\n";

typedef struct placing_step {
  const char *placer, *preset;
} placing_step;

static berth_status write_all(const berth_bundle *b, berth_topology *t, berth_placement *p,
                              berth_result *r) {
  berth_text out = { ctx, NULL, 0, 0 };
  berth_bundle again = { 0 };
  berth_status st = berth_write_graph(b->graph, "berth", &out);
  TRY(st, berth_parse(ctx, "again", out.data, out.len, NULL, &again));
  TRY(st, berth_write_topology(t, &out));
  TRY(st, berth_write_placement(p, b->graph, t, &out));
  TRY(st, berth_write_trace(r, &out));
  TRY(st, berth_write_placed(b->graph, "dot", berth_placement_device(p), &out));
  RELEASE(&again, &out);
  return st;
}

static berth_status whole_job(const void *what) {
  const placing_step *step = what;
  berth_bundle b = { 0 };
  berth_topology *t = NULL;
  berth_cost *cost = NULL;
  berth_placement *p = NULL;
  berth_result *r = NULL;
  berth_bounds_options asked = berth_bounds_default(NULL);
  berth_device device = berth_device_default();
  berth_link link = { 1, 0 };
  berth_status st = berth_parse(ctx, "text", text, sizeof text - 1, NULL, &b);
  device.memory = 1e6;
  TRY(st, berth_topology_ring(ctx, 3, &device, &link, &t));
  TRY(st, berth_cost_new(b.graph, t, NULL, &cost));
  TRY(st, berth_place(cost, step->placer, NULL, &p, NULL));
  berth_sim_options opts;
  TRY(st, berth_sim_preset(ctx, step->preset, &opts));
  if (st == BERTH_OK) {
    opts.memory = BERTH_MEMORY_INFERENCE;
    st = berth_simulate(cost, berth_placement_device(p), &opts, &r);
  }
  asked.thorough = 1;
  berth_bounds bounds;
  TRY(st, berth_bounds_compute(cost, &asked, &bounds, NULL));
  berth_guarantees proved;
  TRY(st, berth_guarantees_compute(cost, NULL, &proved));
  if (st == BERTH_OK && !berth_result_slack(r)) st = BERTH_ENOMEM;
  TRY(st, write_all(&b, t, p, r));
  RELEASE(r, p, cost, t, &b);
  return st;
}

TEST("every allocation refused in turn") {
  static const char *const presets[] = { "doppler", "baechi-tf" };
  const berth_placer *const *placers = berth_placers();
  for (int i = 0; placers[i]; i++) {
    placing_step step = { placers[i]->name, presets[i % 2] };
    if (strcmp(placers[i]->name, "policy") == 0) continue;
    CASE(step.placer);
    refuse_each(whole_job, &step, 1, 100);
    refuse_each(whole_job, &step, -1, 100);
  }
}
