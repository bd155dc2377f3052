/* A graph and a topology that use every field, for tests of readers and writers. */
#ifndef BERTH_IO_SUPPORT_H
#define BERTH_IO_SUPPORT_H

#include <berth/berth.h>
#include <string.h>

/* Consumers are added across tensors, so that the inputs of op 3 are not in the order of the
 * tensors. */
static berth_status full_graph(berth_graph **out) {
  static const char *const types[] = { "cpu", "gpu \"A\" <&>" };
  static const double times[][2] = {
    { 0.1 + 0.2, 1e-3 }, { 1.0 / 3, INFINITY }, { INFINITY, 2.5e-300 }, { 1e300 / 3, 0 }
  };
  static const int32_t members[] = { 3, 1 }, consumers[] = { 4 };
  berth_collective c = { BERTH_REDUCESCATTER, 12345678.9, 7, 2, members, 1, consumers };
  berth_collective server = { BERTH_PARAMETER_SERVER, 0.1, 1, 2, members, 1, consumers };
  berth_collective last = { BERTH_BARRIER, 0, 1, 1, &consumers[0], 0, NULL };
  berth_graph_builder *b = NULL;
  berth_tensor t0 = { 0, 8.5, -1, BERTH_TENSOR_BATCH }, t1 = { 0, 0, 4, BERTH_TENSOR_GRADIENT },
               t2 = { 1, 1e9 + 1.0 / 3, -1, 0 };
  berth_status st = berth_graph_builder_new(ctx, &b);
  TRY(st, berth_graph_builder_types(b, 2, types));
  TRY(st, berth_graph_builder_name(b, "full \xc3\xa9 \"x\"\\"));
  for (int32_t k = 0; k < 5 && st == BERTH_OK; k++) {
    berth_op op = berth_op_default();
    op.name = k == 2 ? "" : k == 3 ? "tab\tnew\nline<>&\"" : "same";
    op.kind = k == 1 ? "matmul" : "";
    op.seconds = k < 4 ? times[k] : NULL;
    op.flop = k == 4 ? 1e12 / 7 : 0;
    op.bytes = k == 4 ? 3 : 0;
    op.param_bytes = k == 1 ? 4096.5 : 0;
    op.workspace_bytes = k == 2 ? 1e6 : 0;
    op.group = k < 2 ? 5 : BERTH_NONE;
    op.twin = k == 0 ? 3 : BERTH_NONE;
    op.pin = k == 1 ? 1 : BERTH_NONE;
    op.flags = k == 3 ? BERTH_OP_BACKWARD : k == 4 ? BERTH_OP_UPDATE | BERTH_OP_SPLITTABLE
               : k == 2 ? BERTH_OP_COMMUNICATION : 0;
    st = berth_graph_builder_add_op(b, &op, NULL);
  }
  TRY(st, berth_graph_builder_add_tensor(b, &t0, NULL));
  TRY(st, berth_graph_builder_add_tensor(b, &t1, NULL));
  TRY(st, berth_graph_builder_add_tensor(b, &t2, NULL));
  TRY(st, berth_graph_builder_add_consumer(b, 2, 3));
  TRY(st, berth_graph_builder_add_consumer(b, 0, 3));
  TRY(st, berth_graph_builder_add_consumer(b, 0, 2));
  TRY(st, berth_graph_builder_add_consumer(b, 1, 1));
  TRY(st, berth_graph_builder_add_collective(b, &c, NULL));
  TRY(st, berth_graph_builder_add_collective(b, &server, NULL));
  TRY(st, berth_graph_builder_add_collective(b, &last, NULL));
  TRY(st, berth_graph_builder_finish(b, out));
  RELEASE(b);
  return st;
}

/* Nodes interleaved, a one-way link, an unequal pair, a route by hand, infinities. */
static berth_status full_topology(berth_topology **out) {
  berth_device d = berth_device_default();
  berth_link l = { 25e9 / 3, 5e-6 }, wide = { INFINITY, 0 };
  berth_topology_builder *b = NULL;
  int32_t first[] = { 0, 2 };
  berth_status st = berth_topology_builder_new(ctx, &b);
  TRY(st, berth_topology_builder_name(b, "both"));
  d.name = "gpu0";
  d.type = "gpu \"A\" <&>";
  d.speed = 1.0 / 3;
  d.flops = 15.7e12;
  d.memory = 16e9;
  d.memory_bandwidth = 900e9;
  d.overhead = 5e-6;
  d.machine = 3;
  TRY(st, berth_topology_builder_add_device(b, &d, NULL, NULL));
  TRY(st, berth_topology_builder_add_switch(b, "sw", NULL));
  TRY(st, berth_topology_builder_add_device(b, &(berth_device){ .type = "cpu", .speed = 1,
      .memory = INFINITY }, NULL, NULL));
  TRY(st, berth_topology_builder_add_duplex(b, 0, 1, &l, NULL));
  TRY(st, berth_topology_builder_add_link(b, 1, 2, &wide, NULL));
  TRY(st, berth_topology_builder_add_link(b, 2, 1, &l, NULL));
  TRY(st, berth_topology_builder_add_duplex(b, 0, 2, &l, NULL));
  TRY(st, berth_topology_builder_set_route(b, 0, 1, 2, first));
  TRY(st, berth_topology_builder_finish(b, out));
  RELEASE(b);
  return st;
}

static int same_text(const berth_text *a, const berth_text *b) {
  return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

#endif
