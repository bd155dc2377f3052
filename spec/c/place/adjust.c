/* Adjusters: groups that a placement has split come onto one device. */
#include "refusals.h"

typedef struct part {
  double seconds, param;
  int32_t group, pin;
} part;

static berth_graph *graph_of(int32_t n, const part *parts) {
  berth_graph_builder *b = NULL;
  berth_graph *g = NULL;
  if (berth_graph_builder_new(ctx, &b) != BERTH_OK) return NULL;
  int32_t k;
  for (k = 0; k < n; k++) {
    berth_op op = berth_op_default();
    op.seconds = &parts[k].seconds;
    op.param_bytes = parts[k].param;
    op.group = parts[k].group;
    op.pin = parts[k].pin;
    if (berth_graph_builder_add_op(b, &op, NULL) != BERTH_OK) break;
  }
  if (k == n) berth_graph_builder_finish(b, &g);
  RELEASE(b);
  return g;
}

static berth_cost *cost_of(int32_t n, const part *parts, int32_t devices, double memory) {
  berth_graph *g = graph_of(n, parts);
  berth_topology *t = NULL;
  berth_cost *cost = NULL;
  if (g && mesh_of(devices, memory, 100, 0, &t) == BERTH_OK)
    berth_cost_new(g, t, NULL, &cost);
  RELEASE(g, t);
  return OWNED(cost);
}

/* The group's devices: op 0 on 2, ops 1 and 3 on 0, ops 2 and 4 on 1; op 5 is alone. */
static const part five[] = { { 2, 5, 0, -1 }, { 1, 9, 0, -1 }, { 7, 1, 0, -1 },
                             { 1, 4, 0, -1 }, { 1, 2, 0, -1 }, { 3, 6, -1, -1 } };
static const int32_t split[] = { 2, 0, 1, 0, 1, 1 };

TEST("each rule chooses its device") {
  static const int32_t expected[] = { 2, 0, 1, 0, 0, 1 };
  berth_cost *cost = cost_of(6, five, 3, INFINITY);
  for (int32_t by = BERTH_ADJUST_RANDOM; by <= BERTH_ADJUST_TIME_SUM; by++) {
    berth_adjust_options o = berth_adjust_default(berth_cost_graph(cost));
    o.by = (berth_adjust_by)by;
    berth_placement *p = must_adjust(cost, split, &o);
    for (int32_t k = 0; k < 5; k++) CHECK(berth_placement_device(p)[k] == expected[by]);
    CHECK(berth_placement_device(p)[5] == 1);
    CHECK_TEXT(berth_placement_placer(p), "adjust");
    CHECK_NEAR(berth_placement_estimate(p), expected[by] == 1 ? 15 : 12, 1e-12);
    RELEASE(p);
  }
}

TEST("with fit, the devices in order until there is room, largest group first") {
  static const part parts[] = {
    { 1, 60, 0, -1 }, { 1, 10, 0, -1 }, { 1, 50, -1, -1 }, { 1, 20, 1, -1 }, { 1, 20, 1, -1 }
  };
  static const int32_t from[] = { 0, 1, 0, 0, 1 };
  berth_cost *cost = cost_of(5, parts, 2, 100);
  berth_adjust_options o = berth_adjust_default(berth_cost_graph(cost));
  berth_placement *p = must_adjust(cost, from, &o);
  const int32_t *d = berth_placement_device(p);
  CHECK(d[0] == 0 && d[1] == 0 && d[3] == 0 && d[4] == 0); /* 160 bytes on device 0 */
  RELEASE(p);
  o.fit = 1; /* 50 stay on 0; 70 go to 1; 40 to 0 */
  p = must_adjust(cost, from, &o);
  d = berth_placement_device(p);
  CHECK(d[0] == 1 && d[1] == 1 && d[2] == 0 && d[3] == 0 && d[4] == 0);
  RELEASE(p);
  p = NULL;
  o.place.param_multiple = 1.3;
  berth_obstacle why;
  CHECK_STATUS(berth_adjust(cost, from, &o, &p, &why), BERTH_EINFEASIBLE); /* 65; 91; 52 */
  CHECK(p == NULL && why.op == 3 && why.device == 0);
  CHECK_NEAR(why.missing, 17, 1e-9);
  CHECK(says("adjust: no placement found: op 3 does not fit"));
  o.place.memory = BERTH_MEMORY_NONE;
  CHECK_OK(berth_adjust(cost, from, &o, &p, &why));
  CHECK(berth_placement_device(p)[0] == 0);
  RELEASE(p);
}

TEST("devices that cannot run the group are passed over") {
  static const part parts[] = { { 1, 1, 0, -1 }, { 9, 9, 0, -1 }, { 1, 1, 0, 2 } };
  static const int32_t from[] = { 0, 0, 2 };
  berth_cost *cost = cost_of(3, parts, 3, INFINITY);
  berth_adjust_options o = berth_adjust_default(berth_cost_graph(cost));
  o.by = BERTH_ADJUST_TIME;
  berth_placement *p = must_adjust(cost, from, &o);
  CHECK(berth_placement_device(p)[0] == 2 && berth_placement_device(p)[1] == 2);
  o.fit = 1;
  p = must_adjust(cost, from, &o);
  CHECK(berth_placement_device(p)[0] == 2);
}

TEST("bad input is named") {
  static const int32_t beyond[] = { 2, 0, 1, 0, 1, 3 };
  static const part pinned[] = { { 1, 1, -1, 1 } };
  static const int32_t elsewhere[] = { 0 };
  berth_cost *cost = cost_of(6, five, 3, INFINITY);
  berth_adjust_options o = berth_adjust_default(NULL);
  berth_placement *p = NULL;
  CHECK_ERROR(berth_adjust(cost, beyond, NULL, &p, NULL), BERTH_EINVAL,
              "adjust: op 5: device 3 does not exist (there are 3)");
  o.by = (berth_adjust_by)9;
  CHECK_STATUS(berth_adjust(cost, split, &o, &p, NULL), BERTH_EINVAL);
  o = berth_adjust_default(NULL);
  o.place.param_multiple = NAN;
  CHECK_ERROR(berth_adjust(cost, split, &o, &p, NULL), BERTH_EINVAL,
              "option param_multiple is nan (a finite number from 0)");
  cost = cost_of(1, pinned, 2, INFINITY);
  CHECK_STATUS(berth_adjust(cost, elsewhere, NULL, &p, NULL), BERTH_EINVAL);
  CHECK(strstr(berth_errmsg(ctx), "adjust: op 0 cannot run on device \"d0\"") != NULL && p == NULL);
}

TEST("random placements: groups whole, others untouched, memory kept with fit") {
  berth_rng rng = seeded(3, 0);
  for (int32_t k = 0; k < 100; k++) {
    part parts[30];
    int32_t from[30], n = 2 + berth_rng_below(&rng, 28);
    berth_placement *p = NULL;
    for (int32_t v = 0; v < n; v++) {
      parts[v] = (part){ 1 + berth_rng_below(&rng, 9), berth_rng_below(&rng, 9),
                         berth_rng_below(&rng, 7) - 1, -1 };
      from[v] = berth_rng_below(&rng, 4);
    }
    berth_cost *cost = cost_of(n, parts, 4, 10 + berth_rng_below(&rng, 60));
    berth_adjust_options o = berth_adjust_default(berth_cost_graph(cost));
    o.by = (berth_adjust_by)berth_rng_below(&rng, 6);
    o.fit = k % 2;
    o.place.memory = BERTH_MEMORY_TOTAL;
    berth_status st = berth_adjust(cost, from, &o, &p, NULL);
    CHECK(st == BERTH_OK || (o.fit && st == BERTH_EINFEASIBLE));
    for (int32_t v = 0; p && v < n; v++) {
      double held = 0;
      CHECK(parts[v].group != BERTH_NONE || berth_placement_device(p)[v] == from[v]);
      for (int32_t w = 0; w < n; w++) {
        CHECK(parts[v].group == BERTH_NONE || parts[w].group != parts[v].group
              || berth_placement_device(p)[w] == berth_placement_device(p)[v]);
        if (berth_placement_device(p)[w] == berth_placement_device(p)[v]) held += parts[w].param;
      }
      if (o.fit) {
        berth_device device;
        berth_topology_device(berth_cost_topology(cost), 0, &device);
        CHECK(held <= device.memory);
      }
    }
    RELEASE(p, cost);
  }
}

static berth_status adjust_all(void) {
  berth_cost *cost = cost_of(6, five, 3, 100);
  berth_adjust_options o = berth_adjust_default(NULL);
  berth_placement *p = NULL, *q = NULL;
  berth_status st = cost ? BERTH_OK : BERTH_ENOMEM;
  o.place.memory = BERTH_MEMORY_TOTAL;
  TRY(st, berth_adjust(cost, split, &o, &p, NULL));
  o.fit = 1;
  TRY(st, berth_adjust(cost, split, &o, &q, NULL));
  RELEASE(p, q, cost);
  return st;
}

TEST_REFUSALS(adjust_all)
