/* Layered layout: layers, distances within a layer, what is refused, and refused allocations. */
#include "refusals.h"

enum { OPS = 40 };

/* Op i > 0 reads from op (i - 1) / 2: a binary tree, so that layers have several ops. */
static berth_status tree(berth_graph **out) {
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
  TRY(st, berth_graph_builder_finish(b, out));
  RELEASE(b);
  return st;
}

static berth_status lay_out(void) {
  berth_graph *g = NULL;
  double x[OPS], y[OPS];
  berth_status st = tree(&g);
  TRY(st, berth_graph_layout(g, NULL, x, y));
  RELEASE(g);
  return st;
}

TEST("ops stand in layers, apart; wrong and far layers are refused") {
  berth_graph *g = NULL;
  CHECK_OK(tree(&g));
  int32_t depth[OPS];
  CHECK_OK(berth_depth(g, depth));
  double x[OPS], y[OPS];
  CHECK_OK(berth_graph_layout(g, NULL, x, y));
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
  RELEASE(g);
}

TEST_REFUSALS(lay_out)
