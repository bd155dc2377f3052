/* Every allocation refused in turn, alone and with all that follow, on load + price + place +
 * simulate + write, until all goes through: always an orderly BERTH_ENOMEM, never a leak. Promises
 * cover the context's allocator; third-party libraries allocate by themselves. */
#include "refusals.h"

static const char text[] =
    "5\n0,\n0, 0, 1, 2, \n1, 2, 3, 3, \n"
    "10,40,einsummable\n20,80,einsummable\n30,120,formation\n5,20,einsummable\n";

typedef struct Step {
  const char *placer, *preset;
} Step;

static berth_status write_all(berth_ctx *ctx, const berth_bundle *b, berth_topology *t,
                              berth_placement *p, berth_result *r) {
  berth_text out = { ctx, NULL, 0, 0 };
  berth_bundle again = { NULL, NULL, NULL, NULL };
  berth_status st = berth_write_graph(b->graph, "berth", &out);
  if (st == BERTH_OK) st = berth_parse(ctx, "again", out.data, out.len, NULL, &again);
  if (st == BERTH_OK) st = berth_write_topology(t, &out);
  if (st == BERTH_OK) st = berth_write_placement(p, b->graph, t, &out);
  if (st == BERTH_OK) st = berth_write_trace(r, &out);
  if (st == BERTH_OK) st = berth_write_placed(b->graph, "dot", berth_placement_device(p), &out);
  RELEASE(&again, &out);
  return st;
}

static berth_status whole_job(berth_ctx *ctx, const void *what) {
  const Step *step = what;
  berth_bundle b = { NULL, NULL, NULL, NULL };
  berth_topology *t = NULL;
  berth_cost *cost = NULL;
  berth_placement *p = NULL;
  berth_result *r = NULL;
  berth_bounds_options asked = berth_bounds_default(NULL);
  berth_device device = berth_device_default();
  berth_link link = { 1, 0 };
  berth_status st = berth_parse(ctx, "text", text, sizeof text - 1, NULL, &b);
  device.memory = 1e6;
  if (st == BERTH_OK) st = berth_topology_ring(ctx, 3, &device, &link, &t);
  if (st == BERTH_OK) st = berth_cost_new(b.graph, t, NULL, &cost);
  if (st == BERTH_OK) st = berth_place(cost, step->placer, NULL, &p, NULL);
  berth_sim_options opts;
  if (st == BERTH_OK) st = berth_sim_preset(ctx, step->preset, &opts);
  if (st == BERTH_OK) {
    opts.memory = BERTH_MEMORY_INFERENCE;
    st = berth_simulate(cost, berth_placement_device(p), &opts, &r);
  }
  asked.thorough = 1;
  berth_bounds bounds;
  if (st == BERTH_OK) st = berth_bounds_compute(cost, &asked, &bounds, NULL);
  berth_guarantees proved;
  if (st == BERTH_OK) st = berth_guarantees_compute(cost, NULL, &proved);
  if (st == BERTH_OK && !berth_result_slack(r)) st = BERTH_ENOMEM;
  if (st == BERTH_OK) st = write_all(ctx, &b, t, p, r);
  RELEASE(r, p, cost, t, &b);
  return st;
}

int main(void) {
  static const char *const presets[] = { "doppler", "baechi-tf" };
  static char names[32][64]; /* a test's name lives until the next one */
  const berth_placer *const *placers = berth_placers();
  for (int i = 0; placers[i]; i++) {
    Step step = { placers[i]->name, presets[i % 2] };
    if (strcmp(placers[i]->name, "policy") == 0) continue;
    snprintf(names[i], sizeof names[i], "%s, %s", step.placer, step.preset);
    TEST(names[i]);
    refuse_each(whole_job, &step, 1, 100);
    refuse_each(whole_job, &step, -1, 100);
  }
  return check_done();
}
