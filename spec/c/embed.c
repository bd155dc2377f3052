/* Embeds libberth in a C program, without Lua: builds a graph, places it, simulates the placement,
 * says how far from the best. */
#include <berth/berth.h>
#include <stdio.h>

static berth_status make_graph(berth_ctx *ctx, berth_graph **out) {
  berth_graph_builder *b;
  berth_status st = berth_graph_builder_new(ctx, &b);
  double seconds[4] = { 2e-3, 3e-3, 3e-3, 1e-3 };
  if (st != BERTH_OK) return st;
  int32_t id;
  for (int i = 0; i < 4 && st == BERTH_OK; i++) {
    berth_op op = berth_op_default();
    op.seconds = &seconds[i];
    st = berth_graph_builder_add_op(b, &op, &id);
  }
  if (st == BERTH_OK) st = berth_graph_builder_connect(b, 0, 1, 1e6, NULL);
  if (st == BERTH_OK) st = berth_graph_builder_connect(b, 0, 2, 1e6, NULL);
  if (st == BERTH_OK) st = berth_graph_builder_connect(b, 1, 3, 1e6, NULL);
  if (st == BERTH_OK) st = berth_graph_builder_connect(b, 2, 3, 1e6, NULL);
  if (st == BERTH_OK) st = berth_graph_builder_finish(b, out);
  berth_graph_builder_release(b);
  return st;
}

int main(void) {
  berth_ctx *ctx = NULL;
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_cost *cost = NULL;
  berth_placement *p = NULL;
  berth_result *r = NULL;
  berth_device device = berth_device_default();
  berth_link link = { 10e9, 1e-6 };
  int bad = 1;

  if (berth_ctx_new(NULL, &ctx) != BERTH_OK) return 1;
  if (make_graph(ctx, &g) != BERTH_OK) goto done;
  if (berth_topology_mesh(ctx, 2, &device, &link, &t) != BERTH_OK) goto done;
  if (berth_cost_new(g, t, NULL, &cost) != BERTH_OK) goto done;
  if (berth_place(cost, "m-etf", NULL, &p, NULL) != BERTH_OK) goto done;
  if (berth_simulate(cost, berth_placement_device(p), NULL, &r) != BERTH_OK) goto done;
  berth_bounds bounds;
  if (berth_bounds_compute(cost, NULL, &bounds, NULL) != BERTH_OK) goto done;
  printf("step time %.6f s, bound %.6f s (%s)\n", berth_result_makespan(r), bounds.best,
         bounds.name);
  /* the middle ops run side by side: 2 + 3 + 1 ms and one crossing of 101 us, whichever device the
   * last op is on */
  bad = !(berth_result_makespan(r) > 0.0061 && berth_result_makespan(r) < 0.006102
          && bounds.best <= berth_result_makespan(r));
done:
  if (bad) fprintf(stderr, "failed: %s\n", berth_errmsg(ctx));
  berth_result_release(r);
  berth_placement_release(p);
  berth_cost_release(cost);
  berth_topology_release(t);
  berth_graph_release(g);
  berth_ctx_release(ctx);
  return bad;
}
