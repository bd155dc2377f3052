/* Layered layout: layers, distances within a layer, what is refused, and refused allocations. */
#include "refusals.h"

enum { OPS = 40 };

/* Op i > 0 reads from op (i - 1) / 2: a binary tree, so that layers have several ops. */
static berth_status tree(berth_ctx *ctx, berth_graph **out) {
  berth_op op = berth_op_default();
  berth_graph_builder *b = NULL;
  berth_status st = berth_graph_builder_new(ctx, &b);
  char name[16];
  for (int32_t i = 0; i < OPS && st == BERTH_OK; i++) {
    snprintf(name, sizeof name, "op%d", (int)i);
    op.name = name;
    st = berth_graph_builder_add_op(b, &op, NULL);
  }
  for (int32_t i = 1; i < OPS && st == BERTH_OK; i++) {
    berth_tensor t = { .producer = (i - 1) / 2, .bytes = 1, .resident_bytes = -1 };
    int32_t id;
    if ((st = berth_graph_builder_add_tensor(b, &t, &id)) == BERTH_OK)
      st = berth_graph_builder_add_consumer(b, id, i);
  }
  if (st == BERTH_OK) st = berth_graph_builder_finish(b, out);
  berth_graph_builder_release(b);
  return st;
}

static berth_status lay_out(berth_ctx *ctx) {
  berth_graph *g = NULL;
  double x[OPS], y[OPS];
  berth_status st = tree(ctx, &g);
  if (st == BERTH_OK) st = berth_graph_layout(g, NULL, x, y);
  berth_graph_release(g);
  return st;
}

static void layers(berth_ctx *ctx) {
  berth_graph *g = NULL;
  CHECK_STATUS(tree(ctx, &g), BERTH_OK);
  int32_t depth[OPS];
  CHECK_STATUS(berth_depth(g, depth), BERTH_OK);
  double x[OPS], y[OPS];
  CHECK_STATUS(berth_graph_layout(g, NULL, x, y), BERTH_OK);
  for (int32_t i = 0; i < OPS; i++) {
    CHECK(y[i] == depth[i]);
    for (int32_t j = 0; j < i; j++) CHECK(y[i] != y[j] || fabs(x[i] - x[j]) >= 1 - 1e-9);
  }
  depth[OPS - 1] = 200000;
  CHECK_STATUS(berth_graph_layout(g, depth, x, y), BERTH_EUNSUPPORTED);
  depth[OPS - 1] = depth[(OPS - 2) / 2];
  CHECK_STATUS(berth_graph_layout(g, depth, x, y), BERTH_EINVAL);
  depth[OPS - 1] = -1;
  CHECK_STATUS(berth_graph_layout(g, depth, x, y), BERTH_EINVAL);
  berth_graph_release(g);
}

int main(void) {
  berth_ctx *ctx = must_ctx_new(NULL);
  TEST("ops stand in layers, apart; wrong and far layers are refused") layers(ctx);
  CHECK(berth_ctx_memory(ctx) == 0);
  berth_ctx_release(ctx);
  check_refusals(lay_out);
  return check_done();
}
