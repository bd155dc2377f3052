/* ONNX from C: prices of nodes without a rule, training steps, refused allocations. The model is
 * spec/fuzz/seeds/onnx_bodies.onnx: its node z, b -> e is com.x.Own with axis 2 and sizes 3, 4. */
#include "refusals.h"
#include "io_support.h"

static const char MODEL[] = "spec/fuzz/seeds/onnx_bodies.onnx";

/* 10 FLOP for each size of the inputs; fails at a rank that ud has. */
static berth_status price(void *ud, const berth_node *node, berth_node_cost *out) {
  CHECK_TEXT(node->name, "e");
  CHECK_TEXT(node->kind, "Own");
  CHECK_TEXT(node->domain, "com.x");
  CHECK(node->n_inputs == 2 && node->n_outputs == 1 && node->n_attributes == 2);
  CHECK(node->attributes[0].type == BERTH_NODE_INT && node->attributes[0].i == 2);
  CHECK(node->attributes[1].type == BERTH_NODE_INTS && node->attributes[1].n == 2
        && node->attributes[1].ints[1] == 4);
  CHECK(node->outputs[0].rank == 2 && node->outputs[0].dim[1] == 4);
  out->known = 1;
  out->flop = 10.0 * node->inputs[0].rank;
  if (!ud) return BERTH_OK;
  snprintf(out->why, sizeof out->why, "no");
  return BERTH_EUNSUPPORTED;
}

static berth_status load(int training, int fail, berth_bundle *b) {
  berth_load_options o = berth_load_default();
  o.training = training;
  o.cost = price;
  o.cost_ud = fail ? &o : NULL;
  return berth_load(ctx, MODEL, &o, b);
}

TEST("nodes without a rule cost what a function says") {
  berth_bundle b = { 0 };
  if (!CHECK_OK(load(0, 0, &b))) return;
  int32_t v = berth_graph_find(b.graph, "e");
  CHECK(must_graph_op(b.graph, v).flop == 20 && b.note[0] == 0);
  CHECK(must_graph_op(b.graph, v).bytes == 4 * (20 + 4 + 20));
  RELEASE(&b);
  CHECK_ERROR(load(0, 1, &b), BERTH_EUNSUPPORTED,
              "spec/fuzz/seeds/onnx_bodies.onnx: node e (com.x.Own): cost: no");
  CHECK(!b.graph);
}

TEST("an optimizer requires training") {
  berth_bundle b = { 0 };
  berth_load_options o = berth_load_default();
  o.optimizer = BERTH_OPTIMIZER_SGD;
  CHECK_ERROR(berth_load(ctx, MODEL, &o, &b), BERTH_EINVAL, "option optimizer requires training");
  o.training = 1;
  if (!CHECK_OK(berth_load(ctx, MODEL, &o, &b))) return;
  CHECK_TEXT(must_graph_op(b.graph, berth_graph_ops(b.graph) - 1).kind, "sgd");
  RELEASE(&b);
}

static berth_status read_step(const void *what) {
  berth_bundle b = { 0 };
  (void)what;
  berth_status st = load(1, 0, &b);
  RELEASE(&b);
  return st;
}

TEST("every refused allocation is reported") { CHECK(refuse_each(read_step, NULL, 1, 0) > 100); }
