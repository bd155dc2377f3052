/* Batches: the same bytes as single runs and for any number of threads; the lowest failing row is
 * told. */
#include "sim_help.h"

enum { OPS = 40, ROWS = 100 };

static void make(setup *s, int32_t *device) {
  berth_rng rng = seeded(31, 0);
  setup_random(s, &rng, OPS, 1);
  setup_mesh(s, 4, INFINITY);
  random_devices(&rng, ROWS * OPS, 4, device);
}

static void one_mode(const berth_sim_options *o) {
  static int32_t device[ROWS * OPS];
  static berth_sim_summary single[ROWS], batch[ROWS];
  setup s;
  make(&s, device);
  memset(single, 0, sizeof single); /* padding, too */
  for (int32_t i = 0; i < ROWS; i++) {
    berth_sim_options each = *o;
    each.seed += (uint64_t)i;
    berth_sim *sim = must_sim_new(s.cost, &each);
    single[i] = must_sim_run(sim, &device[i * OPS]);
    /* again: nothing is left over */
    single[i] = must_sim_run(sim, &device[i * OPS]);
    RELEASE(sim);
  }
  for (int32_t threads = 0; threads <= 5; threads++) {
    CHECK_OK(berth_sim_batch(s.cost, o, ROWS, device, threads, batch));
    for (int32_t i = 0; i < ROWS; i++) {
      CHECK(batch[i].makespan == single[i].makespan && batch[i].peak == single[i].peak
            && batch[i].oom_op == single[i].oom_op);
    }
  }
}

TEST("batch = single runs, any number of threads") {
  for (int mode = 0; mode < 15; mode++) {
    berth_sim_options o = berth_sim_default(NULL);
    o.links = (berth_links)(mode % 4);
    o.memory = mode == 0 ? BERTH_MEMORY_NONE : BERTH_MEMORY_INFERENCE;
    o.send = (berth_send)(mode / 4 % 2);
    if (mode % 3 == 1) o.dispatch = BERTH_DISPATCH_RANDOM;
    if (mode % 3 == 2) o.noise = 0.3;
    if (mode == 11) o.order = BERTH_ORDER_READY, o.send = BERTH_SEND_PUSH;
    if (mode >= 12)
      o.links = BERTH_LINKS_ROUTE, o.reserve = 1, o.collectives = BERTH_COLLECTIVES_QUEUE;
    if (mode == 14)
      o.order = BERTH_ORDER_TASK, o.dispatch = BERTH_DISPATCH_FIFO, o.send = BERTH_SEND_PUSH;
    o.seed = 7;
    one_mode(&o);
  }
}

TEST("the lowest failing row is reported") {
  static int32_t device[ROWS * OPS];
  static berth_sim_summary out[ROWS];
  setup s;
  make(&s, device);
  device[93 * OPS + 3] = 9;
  device[61 * OPS + 5] = 8;
  for (int32_t threads = 1; threads <= 3; threads++) {
    out[0].makespan = -1;
    CHECK_SAYS(berth_sim_batch(s.cost, NULL, ROWS, device, threads, out), BERTH_EINVAL,
               "placement 61: op 5: device 8");
    CHECK(out[0].makespan == -1);
  }
  CHECK_OK(berth_sim_batch(s.cost, NULL, 0, device, 2, out));
  CHECK_STATUS(berth_sim_batch(s.cost, NULL, -1, device, 2, out), BERTH_EINVAL);
}
