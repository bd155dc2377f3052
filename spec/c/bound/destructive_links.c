/* Bounds of schedules on contended links, and with collectives, against simulations of small random
 * problems: all placements, queue rules, ways to send, and for the smallest all orders. */
#include "place/place_help.h"
#include <stdbool.h>

enum { OPS = 6, TENSORS = 10, ORDERS = 120 };

typedef struct links_case {
  int32_t ops, devices, tensors, collectives;
  double seconds[OPS];
  int32_t pin[OPS], group[OPS];
  int32_t producer[TENSORS], n_users[TENSORS], user[TENSORS][OPS];
  double bytes[TENSORS];
  berth_collective collective[2];
  int32_t member[2][2], after[2][1];
  int shape; /* of the topology: 0: all pairs, 1: a switch, 2: two machines */
  double bandwidth, latency;
} links_case;

/* ---- making ---- */

static void add_tensor(links_case *c, berth_rng *rng, int32_t producer) {
  int32_t t = c->tensors;
  c->producer[t] = producer;
  c->bytes[t] = 1 + berth_rng_below(rng, 8);
  c->n_users[t] = 0;
  for (int32_t u = producer + 1; u < c->ops; u++) {
    if (berth_rng_below(rng, 2)) c->user[t][c->n_users[t]++] = u;
  }
  c->tensors += c->n_users[t] > 0;
}

static void join_shape(links_case *c, berth_rng *rng, bool fork) {
  for (int32_t i = 0; i + 1 < c->ops; i++) {
    int32_t t = c->tensors++;
    c->producer[t] = fork ? 0 : i;
    c->n_users[t] = 1;
    c->user[t][0] = fork ? i + 1 : c->ops - 1;
    c->bytes[t] = 1 + berth_rng_below(rng, 8);
  }
}

static void add_collectives(links_case *c, berth_rng *rng) {
  int32_t k;
  for (k = 0; k < 2 && c->ops >= 4; k++) {
    int32_t at = berth_rng_below(rng, c->ops - 2);
    c->member[k][0] = at, c->member[k][1] = at + 1, c->after[k][0] = at + 2;
    c->collective[k] =
        (berth_collective){ BERTH_ALLREDUCE, 1 + berth_rng_below(rng, 9), 1, 2, NULL, 1, NULL };
    c->collective[k].n_consumers = berth_rng_below(rng, 3) > 0;
    c->pin[at] = berth_rng_below(rng, c->devices);
    c->pin[at + 1] = berth_rng_below(rng, c->devices);
  }
  c->collectives = k;
}

static void random_case(links_case *c, berth_rng *rng, int round) {
  int32_t kind = round % 4;
  memset(c, 0, sizeof *c);
  c->ops = 2 + berth_rng_below(rng, 4);
  c->devices = 2 + berth_rng_below(rng, 2);
  c->shape = berth_rng_below(rng, 3);
  c->bandwidth = 1 + berth_rng_below(rng, 3);
  c->latency = berth_rng_below(rng, 3) / 2.0;
  for (int32_t i = 0; i < c->ops; i++) {
    c->seconds[i] = berth_rng_below(rng, 8);
    c->pin[i] = berth_rng_below(rng, 3) == 0 ? berth_rng_below(rng, c->devices) : BERTH_NONE;
    c->group[i] = c->pin[i] == BERTH_NONE && berth_rng_below(rng, 5) == 0 ? 0 : BERTH_NONE;
  }
  if (kind == 1) join_shape(c, rng, false);
  else if (kind == 2) join_shape(c, rng, true);
  else for (int32_t i = 0; i < 7; i++) add_tensor(c, rng, berth_rng_below(rng, c->ops));
  if (kind == 3) {
    for (int32_t i = 0; i < c->ops; i++) c->group[i] = BERTH_NONE;
    add_collectives(c, rng);
  }
}

static berth_graph *graph_of(links_case *c) {
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < c->ops; i++) {
    berth_op op = berth_op_default();
    op.seconds = &c->seconds[i];
    op.pin = c->pin[i];
    op.group = c->group[i];
    must_add_op(b, &op);
  }
  for (int32_t i = 0; i < c->tensors; i++) {
    berth_tensor t = { c->producer[i], c->bytes[i], 0, 0 };
    must_add_tensor(b, &t);
    for (int32_t k = 0; k < c->n_users[i]; k++)
      CHECK_OK(berth_graph_builder_add_consumer(b, i, c->user[i][k]));
  }
  for (int32_t i = 0; i < c->collectives; i++) {
    c->collective[i].members = c->member[i];
    c->collective[i].consumers = c->after[i];
    must_add_collective(b, &c->collective[i]);
  }
  return must_graph(b);
}

static void add_wire(berth_topology_builder *b, int32_t x, int32_t y, double bandwidth,
                     double latency) {
  berth_link link = { bandwidth, latency };
  CHECK_OK(berth_topology_builder_add_duplex(b, x, y, &link, NULL));
}

static berth_topology *topology_of(const links_case *c) {
  int32_t node = BERTH_NONE;
  berth_topology_builder *b = must_topology_builder_new();
  for (int32_t i = 0; i < c->devices; i++) {
    berth_device d = berth_device_default();
    must_add_device(b, &d);
  }
  if (c->shape == 1) CHECK_OK(berth_topology_builder_add_switch(b, NULL, &node));
  for (int32_t i = 0; i < c->devices && c->shape == 1; i++)
    add_wire(b, i, node, c->bandwidth * (1 + i), c->latency);
  for (int32_t i = 0; i < c->devices && c->shape == 0; i++) {
    for (int32_t j = i + 1; j < c->devices; j++) add_wire(b, i, j, c->bandwidth, c->latency);
  }
  for (int32_t i = 0; i + 1 < c->devices && c->shape == 2; i++)
    add_wire(b, i, i + 1, i ? c->bandwidth : 8 * c->bandwidth, c->latency);
  return must_topology(b);
}

/* ---- all schedules ---- */

typedef struct attempt {
  berth_cost *cost;
  const links_case *c;
  berth_sim *sim;
  double best;
} attempt;

static bool may_be(const links_case *c, const int32_t *device) {
  int32_t together = BERTH_NONE;
  for (int32_t i = 0; i < c->ops; i++) {
    if (c->pin[i] != BERTH_NONE && c->pin[i] != device[i]) return false;
    if (c->group[i] == BERTH_NONE) continue;
    if (together != BERTH_NONE && together != device[i]) return false;
    together = device[i];
  }
  return true;
}

static void each_placement(attempt *t) {
  int32_t device[OPS] = { 0 }, i;
  do {
    berth_sim_summary s;
    if (may_be(t->c, device) && berth_sim_run(t->sim, device, &s) == BERTH_OK)
      t->best = fmin(t->best, s.makespan);
    for (i = 0; i < t->c->ops && ++device[i] == t->c->devices; i++) device[i] = 0;
  } while (i < t->c->ops);
}

static void run_all(attempt *t, const berth_sim_options *o) {
  if (!CHECK_OK(berth_sim_new(t->cost, o, &t->sim))) return;
  each_placement(t);
  RELEASE(t->sim);
}

/* Orders that contradict the graph are refused one by one. */
static void run_orders(attempt *t, berth_sim_options o, int32_t *sequence, int32_t n) {
  if (n == t->c->ops) {
    o.sequence = sequence;
    run_all(t, &o);
    return;
  }
  for (int32_t i = n; i < t->c->ops; i++) {
    int32_t x = sequence[n];
    sequence[n] = sequence[i], sequence[i] = x;
    run_orders(t, o, sequence, n + 1);
    sequence[i] = sequence[n], sequence[n] = x;
  }
}

static double shortest(berth_cost *cost, const links_case *c, berth_links links) {
  static const berth_dispatch rules[] = { BERTH_DISPATCH_FIFO, BERTH_DISPATCH_LIFO,
                                          BERTH_DISPATCH_BLEVEL };
  attempt t = { cost, c, NULL, INFINITY };
  berth_sim_options o = berth_sim_default(NULL);
  int32_t sequence[OPS] = { 0, 1, 2, 3, 4, 5 };
  o.links = links;
  o.memory = BERTH_MEMORY_NONE;
  for (int32_t i = 0; i < 6; i++) {
    o.dispatch = rules[i / 2];
    o.send = i % 2 ? BERTH_SEND_PULL : BERTH_SEND_PUSH;
    run_all(&t, &o);
  }
  o.dispatch = BERTH_DISPATCH_FIFO;
  o.split_windows = links == BERTH_LINKS_CHANNEL || links == BERTH_LINKS_DUPLEX;
  if (o.split_windows) run_all(&t, &o);
  o.split_windows = 0;
  o.dispatch = BERTH_DISPATCH_PLANNED;
  if (c->ops <= 4) run_orders(&t, o, sequence, 0);
  return t.best;
}

/* ---- bounds ---- */

static berth_bounds bounds_on(berth_cost *cost, berth_links links, bool thorough) {
  berth_bounds_options o = berth_bounds_default(NULL);
  berth_bounds b = { 0 };
  o.memory = BERTH_MEMORY_NONE;
  o.thorough = thorough;
  o.links = links;
  b = must_bounds_compute(cost, &o);
  return b;
}

static bool is_below(const berth_bounds *b, double best, int round, int links) {
  bool below = b->best <= best * (1 + 1e-9);
  CHECK(below);
  if (!below)
    printf("# round %d, links %d: %s %.9g, best %.9g\n", round, links, b->name, b->best, best);
  return below;
}

typedef struct tally {
  int raised[6], tight[6], of[6];
} tally;

static void try_case(links_case *c, int round, tally *n) {
  berth_graph *g = graph_of(c);
  berth_topology *t = topology_of(c);
  berth_links links = (berth_links)(round % 6);
  berth_cost *cost = must_cost_new(g, t, NULL);
  double best = shortest(cost, c, links);
  berth_bounds free_links = bounds_on(cost, BERTH_LINKS_FREE, true);
  berth_bounds cheap = bounds_on(cost, links, false), deep = bounds_on(cost, links, true);
  is_below(&free_links, best, round, 0);
  is_below(&cheap, best, round, links);
  is_below(&deep, best, round, links);
  n->of[links]++;
  n->raised[links] += deep.best > free_links.best * 1.001;
  n->tight[links] += deep.best > best * 0.999;
}

TEST("no schedule on contended links, no queue and no order beats the bounds; collectives, "
     "shared and double tensors") {
  tally n = { { 0 }, { 0 }, { 0 } };
  berth_rng rng = seeded(11, 0);
  for (int i = 0; i < 240 && !check_bad; i++) {
    links_case c;
    random_case(&c, &rng, i / 6);
    try_case(&c, i, &n);
  }
  for (int k = 0; k < 6; k++)
    printf("# links %d: %d problems, raised %d, closed %d\n", k, n.of[k], n.raised[k], n.tight[k]);
  CHECK(n.raised[BERTH_LINKS_FREE] == 0);
  CHECK(n.raised[BERTH_LINKS_DUPLEX] > 0 && n.raised[BERTH_LINKS_CHANNEL] > 0
        && n.raised[BERTH_LINKS_FAIR] > 0);
}

/* Ops 0 to n - 1, pinned to devices of their own, feed the last one, on one more: 1 s each,
 * transfers of 2 s. */
static void pinned_join(links_case *c, int32_t producers) {
  memset(c, 0, sizeof *c);
  c->ops = producers + 1;
  c->devices = c->ops;
  c->shape = 1;
  c->bandwidth = 1;
  for (int32_t i = 0; i < c->ops; i++) c->seconds[i] = 1, c->pin[i] = i, c->group[i] = BERTH_NONE;
  for (int32_t i = 0; i < producers; i++) {
    c->producer[i] = i, c->n_users[i] = 1, c->user[i][0] = producers, c->bytes[i] = 1;
  }
  c->tensors = producers;
}

TEST("three inputs through one channel: one after another; with a way for each at once") {
  links_case c;
  pinned_join(&c, 3);
  for (int i = 0; i < 3; i++) c.bytes[i] = 4;
  berth_graph *g = graph_of(&c);
  berth_topology *t = topology_of(&c); /* device i: i + 1 bytes/s, so device 3 takes in 4 */
  berth_cost *cost = must_cost_new(g, t, NULL);
  CHECK_NEAR(bounds_on(cost, BERTH_LINKS_FREE, true).best, 1 + 4 + 1, 1e-3);
  CHECK_NEAR(bounds_on(cost, BERTH_LINKS_FAIR, true).best, 1 + 4 + 1, 1e-3);
  CHECK_NEAR(bounds_on(cost, BERTH_LINKS_DUPLEX, true).transfers, 1 + 3 * 4.0 / 3 + 1, 1e-3);
}

/* Seconds 1 2 4 1 1, all links 1 byte/s. Within 6 s ops share devices so that what goes into one or
 * out of it takes its port too long. */
TEST("what crosses into one cluster goes through its port") {
  berth_cost *cost = must_cost_of_text("1 2 4 1 1 0>1:5 0>3:1 0>4:3 1>4:1 2>3:1 3>4:1", 3,
                                       INFINITY, 1);
  CHECK_NEAR(bounds_on(cost, BERTH_LINKS_FREE, true).best, 6, 1e-3);
  CHECK_NEAR(bounds_on(cost, BERTH_LINKS_CHANNEL, true).best, 7, 1e-3);
  CHECK_NEAR(bounds_on(cost, BERTH_LINKS_DUPLEX, true).best, 7, 1e-3);
}

TEST("a collective between pinned members takes what it is priced, with a consumer and without") {
  links_case c;
  for (int consumers = 0; consumers < 2; consumers++) {
    memset(&c, 0, sizeof c);
    c.ops = 3, c.devices = 2, c.bandwidth = 1, c.collectives = 1;
    for (int i = 0; i < 3; i++) c.seconds[i] = 1, c.group[i] = BERTH_NONE, c.pin[i] = i % 2;
    c.member[0][0] = 0, c.member[0][1] = 1, c.after[0][0] = 2;
    c.collective[0] = (berth_collective){ BERTH_ALLREDUCE, 4, 1, 2, NULL, consumers, NULL };
    berth_graph *g = graph_of(&c);
    berth_topology *t = topology_of(&c);
    int32_t on[] = { 0, 1 };
    double price = 0;
    berth_cost *cost = must_cost_new(g, t, NULL);
    CHECK_OK(berth_cost_collective(cost, 0, 2, on, &price));
    CHECK(price > 0);
    berth_bounds b = bounds_on(cost, BERTH_LINKS_FREE, true);
    CHECK_NEAR(b.critical_path, 1 + price + consumers, 1e-9);
    CHECK_NEAR(b.transfers, 1 + price + consumers, 1e-9);
    CHECK_NEAR(b.clusters, 1 + price + consumers, 1e-2);
  }
}
