/* Tries against fresh runs: to the bit, under every option, after any sequence of tries,
 * acceptances and failures. */
#include "sim_help.h"

enum { OPS = 60, TRIES = 25 };

static int64_t tries_ended, runs_ended;

typedef struct pair {
  setup s;
  berth_sim *delta, *fresh;
  int32_t n, devices, device[OPS];
  berth_sim_options o;
} pair;

static int same_chain(const berth_sim *a, const berth_sim *b) {
  int32_t x[OPS], y[OPS], n = berth_sim_chain(a, x);
  return n == berth_sim_chain(b, y) && memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

static int same(const berth_sim_summary *a, const berth_sim_summary *b) {
  return a->makespan == b->makespan && a->peak == b->peak && a->oom_op == b->oom_op;
}

static void show_case(const pair *p, const char *what, const berth_sim_summary *a,
                      const berth_sim_summary *b) {
  printf(
      "# %s: links %d dispatch %d send %d memory %d order %d: %.17g %.17g %d, not %.17g %.17g %d\n",
      what, (int)p->o.links, (int)p->o.dispatch, (int)p->o.send, (int)p->o.memory, (int)p->o.order,
      a->makespan, a->peak, (int)a->oom_op, b->makespan, b->peak, (int)b->oom_op);
}

/* Some moves; sometimes an op twice, or to where it is. */
static int32_t some_moves(berth_rng *rng, const pair *p, int32_t *op, int32_t *to) {
  int32_t k =
      berth_rng_below(rng, 8) == 0 ? berth_rng_below(rng, p->n + 1) : berth_rng_below(rng, 4);
  for (int32_t i = 0; i < k; i++) {
    op[i] = berth_rng_below(rng, p->n);
    to[i] = berth_rng_below(rng, p->devices);
  }
  return k;
}

static void moved(const pair *p, int32_t k, const int32_t *op, const int32_t *to, int32_t *out) {
  memcpy(out, p->device, (size_t)p->n * sizeof *out);
  for (int32_t i = 0; i < k; i++) out[op[i]] = to[i];
}

static void one_try(pair *p, berth_rng *rng, double base) {
  int32_t op[OPS], to[OPS], there[OPS], k = some_moves(rng, p, op, to);
  int32_t kind = berth_rng_below(rng, 4);
  double limit = kind == 0 ? INFINITY : base * (0.6 + 0.6 * berth_rng_uniform(rng));
  moved(p, k, op, to, there);
  tries_ended -= berth_sim_ended(p->delta);
  runs_ended -= berth_sim_ended(p->fresh);
  berth_sim_summary a;
  CHECK_OK(berth_sim_try(p->delta, k, op, to, limit, &a));
  berth_sim_summary b = must_sim_run(p->fresh, there);
  tries_ended += berth_sim_ended(p->delta);
  runs_ended += berth_sim_ended(p->fresh);
  if (a.makespan > limit) { /* a bound; a run that was not cut tells more */
    if (!CHECK(b.makespan > limit && a.makespan <= b.makespan * (1 + 1e-9)))
      show_case(p, "bound", &a, &b);
  } else {
    if (!CHECK(same(&a, &b))) show_case(p, "try", &a, &b);
    CHECK(berth_rng_below(rng, 2) || same_chain(p->delta, p->fresh));
    if (berth_rng_below(rng, 2)) {
      CHECK_OK(berth_sim_accept(p->delta));
      memcpy(p->device, there, (size_t)p->n * sizeof *there);
      CHECK_STATUS(berth_sim_accept(p->delta), BERTH_EINVAL);
    }
  }
}

static void sequence(pair *p, berth_rng *rng) {
  p->delta = must_sim_new(p->s.cost, &p->o);
  p->fresh = must_sim_new(p->s.cost, &p->o);
  random_devices(rng, p->n, p->devices, p->device);
  berth_sim_summary a;
  CHECK_OK(berth_sim_base(p->delta, p->device, &a));
  berth_sim_summary b = must_sim_run(p->fresh, p->device);
  CHECK(same(&a, &b) && same_chain(p->delta, p->fresh));
  for (int32_t i = 0; i < TRIES; i++) {
    int32_t bad = -1 - berth_rng_below(rng, 2), op = berth_rng_below(rng, p->n), far = p->devices;
    one_try(p, rng, b.makespan);
    if (berth_rng_below(rng, 6) == 0)
      CHECK_STATUS(berth_sim_try(p->delta, 1, &op, &bad, INFINITY, &a), BERTH_EINVAL);
    if (berth_rng_below(rng, 6) == 0)
      CHECK_STATUS(berth_sim_try(p->delta, 1, &op, &far, INFINITY, &a), BERTH_EINVAL);
    if (berth_rng_below(rng, 6) == 0)
      CHECK_STATUS(berth_sim_try(p->delta, 1, &far, &op, -1, &a), BERTH_EINVAL);
    if (berth_rng_below(rng, 6) == 0)
      a = must_sim_run(p->delta, p->device);
    if (berth_rng_below(rng, 12) == 0)
      CHECK_OK(berth_sim_base(p->delta, p->device, &a));
  }
  RELEASE(p->delta, p->fresh);
}

/* Of some ops of the first half, for some of the second. */
static void add_collective(pair *p, berth_rng *rng) {
  int32_t half = p->n / 2;
  berth_collective c;
  memset(&c, 0, sizeof c);
  c.kind = BERTH_ALLREDUCE;
  c.count = 1;
  c.bytes = 4 * berth_rng_uniform(rng);
  int32_t members[OPS];
  c.members = members;
  int32_t consumers[OPS];
  c.consumers = consumers;
  for (int32_t i = 0; i < half; i++) {
    if (berth_rng_below(rng, 4) == 0) members[c.n_members++] = i;
    if (berth_rng_below(rng, 4) == 0) consumers[c.n_consumers++] = half + i;
  }
  if (c.n_members > 0) must_add_collective(p->s.b, &c);
}

static void build(pair *p, berth_rng *rng, int ties, int even, int collectives) {
  p->n = 1 + berth_rng_below(rng, OPS);
  p->devices = 2 + berth_rng_below(rng, 4);
  if (!even && p->devices < 3) p->devices = 3;
  setup_random(&p->s, rng, p->n, ties);
  for (int32_t i = 0; i < collectives; i++) add_collective(p, rng);
  if (even) setup_mesh(&p->s, p->devices, berth_rng_below(rng, 2) ? INFINITY : 60);
  else setup_uneven(&p->s, p->devices);
}

static void rewinding(int ties, int even) {
  berth_rng rng = seeded(21, (uint64_t)(2 * ties + even));
  for (int32_t round = 0; round < 150; round++) {
    pair p;
    build(&p, &rng, ties, even, round % 10 == 9);
    p.o = berth_sim_default(NULL);
    p.o.memory = round % 3 ? BERTH_MEMORY_NONE : (berth_memory_policy)(1 + round / 3 % 3);
    p.o.quantum = round % 5 == 0 ? 0.125 : 0;
    p.o.param_multiple = 1.5;
    sequence(&p, &rng);
    setup_end(&p.s);
  }
}

/* Some backward twins, which may end before their forward ops begin, and some ops of
 * communication. */
static void add_mixed_ops(pair *p, berth_rng *rng, int ties, int twins, int async_ops) {
  for (int32_t i = 0; i < p->n; i++) {
    berth_op op = berth_op_default();
    double x = ties ? berth_rng_below(rng, 5) * 0.25 : 4 * berth_rng_uniform(rng);
    op.seconds = &x;
    op.param_bytes = berth_rng_below(rng, 3) ? 0 : berth_rng_below(rng, 8);
    op.workspace_bytes = berth_rng_below(rng, 4);
    if (twins && i > p->n / 2 && berth_rng_below(rng, 2)) op.twin = p->n - 1 - i;
    if (async_ops && berth_rng_below(rng, 4) == 0) op.flags = BERTH_OP_COMMUNICATION;
    must_add_op(p->s.b, &op);
  }
}

static void add_mixed_tensors(pair *p, berth_rng *rng, int ties) {
  for (int32_t i = 0; i < p->n - 1; i++) {
    int32_t tensors = i == 0 ? 1 : berth_rng_below(rng, 3);
    for (int32_t k = 0; k < tensors; k++) {
      int32_t t =
          setup_tensor(&p->s, i, ties ? berth_rng_below(rng, 7) : 6 * berth_rng_uniform(rng));
      for (int32_t c = i + 1; c < p->n && c < i + 12; c++) {
        if (c == i + 1 || berth_rng_below(rng, 5) == 0) setup_use(&p->s, t, c);
      }
    }
  }
}

static void build_mixed(pair *p, berth_rng *rng, int32_t round) {
  int ties = round & 1, even = round >> 1 & 1;
  p->n = 12 + berth_rng_below(rng, OPS - 12);
  p->devices = 3 + berth_rng_below(rng, 3);
  setup_begin(&p->s);
  add_mixed_ops(p, rng, ties, round % 3 == 0, round % 7 == 6);
  add_mixed_tensors(p, rng, ties);
  for (int32_t i = 0; round % 5 == 4 && i < 3; i++) add_collective(p, rng);
  if (even) setup_mesh(&p->s, p->devices, berth_rng_below(rng, 2) ? INFINITY : 40);
  else setup_uneven(&p->s, p->devices);
}

TEST("every option") {
  berth_rng rng = seeded(22, 0);
  tries_ended = runs_ended = 0;
  double rank[OPS];
  for (int32_t i = 0; i < OPS; i++) rank[i] = berth_rng_uniform(&rng);
  int32_t order[OPS];
  for (int32_t i = 0; i < OPS; i++) order[i] = i;
  for (int32_t round = 0; round < 420; round++) {
    pair p;
    build_mixed(&p, &rng, round);
    p.o = berth_sim_default(NULL);
    p.o.links = (berth_links)berth_rng_below(&rng, 6);
    p.o.dispatch = (berth_dispatch)berth_rng_below(&rng, 7);
    p.o.send = (berth_send)berth_rng_below(&rng, 2);
    p.o.memory = (berth_memory_policy)berth_rng_below(&rng, 4);
    p.o.noise = berth_rng_below(&rng, 3) ? 0 : 0.1;
    p.o.quantum = p.o.links != BERTH_LINKS_FAIR && berth_rng_below(&rng, 3) == 0 ? 0.01 : 0;
    p.o.preempt = p.o.dispatch != BERTH_DISPATCH_FIFO && p.o.dispatch != BERTH_DISPATCH_PLANNED
                  && p.o.dispatch != BERTH_DISPATCH_RANDOM && berth_rng_below(&rng, 2);
    p.o.split_windows = (p.o.links == BERTH_LINKS_CHANNEL || p.o.links == BERTH_LINKS_DUPLEX)
                        && berth_rng_below(&rng, 2);
    if (p.o.links <= BERTH_LINKS_PAIR && p.o.dispatch == BERTH_DISPATCH_FIFO
        && p.o.send == BERTH_SEND_PUSH && berth_graph_collectives(p.s.g) == 0 && round % 7 != 6) {
      p.o.order = (berth_event_order)berth_rng_below(&rng, 2);
    }
    p.o.reserve = p.o.links == BERTH_LINKS_ROUTE && berth_rng_below(&rng, 2);
    p.o.collectives = (berth_collectives)berth_rng_below(&rng, 2);
    if (p.o.dispatch == BERTH_DISPATCH_FIFO && p.o.send == BERTH_SEND_PUSH && round % 7 != 6
        && berth_rng_below(&rng, 3) == 0 && (p.o.links <= BERTH_LINKS_PAIR || p.o.reserve)) {
      p.o.order = BERTH_ORDER_TASK;
    }
    p.o.seed = (uint64_t)round;
    p.o.rank = rank;
    p.o.sequence = order;
    sequence(&p, &rng);
    setup_end(&p.s);
  }
  CHECK(tries_ended < 0.9 * (double)runs_ended);
}

TEST("free links, real times, equal devices") { rewinding(0, 1); }
TEST("free links, real times, unequal devices and links") { rewinding(0, 0); }
TEST("free links, coinciding times, equal devices") { rewinding(1, 1); }
TEST("free links, coinciding times, unequal devices") { rewinding(1, 0); }

/* The second try goes on from a state that the first has kept. @param ends that it simulates */
static int same_with_one_moved(setup *s, int32_t op, int32_t *device, int64_t ends) {
  berth_sim_options o = berth_sim_default(NULL);
  berth_sim_summary a, b;
  int32_t there = 0;
  o.memory = BERTH_MEMORY_TOTAL;
  berth_sim *delta = must_sim_new(s->cost, &o), *fresh = must_sim_new(s->cost, &o);
  CHECK_OK(berth_sim_base(delta, device, &a));
  CHECK_OK(berth_sim_try(delta, 1, &op, &there, INFINITY, &a));
  int64_t before = berth_sim_ended(delta);
  CHECK_OK(berth_sim_try(delta, 1, &op, &there, INFINITY, &a));
  CHECK(berth_sim_ended(delta) - before == ends);
  device[op] = there;
  b = must_sim_run(fresh, device);
  return same(&a, &b);
}

TEST("a try goes on where many ops wait, the last one ahead of the others") {
  enum { MANY = 200 };
  int32_t device[MANY + 2] = { 0 };
  setup s = setup_started();
  for (int32_t i = 0; i < MANY + 2; i++) setup_op(&s, 1);
  for (int32_t i = 1; i <= MANY; i++) {
    setup_edge(&s, 0, i, MANY - i);
    device[i] = 1;
  }
  setup_edge(&s, MANY / 2, MANY + 1, 0);
  device[MANY + 1] = 1;
  setup_mesh(&s, 2, 1e9);
  CHECK(same_with_one_moved(&s, MANY + 1, device, MANY / 2 + 4));
  setup_end(&s);
}

TEST("parts of bytes: 3.1 are the sum of what is left, not 4.1 less 1") {
  int32_t device[] = { 1, 1, 1, 1, 1, 1 };
  setup s = setup_started();
  for (int32_t i = 0; i < 6; i++)
    setup_heavy(&s, 1, (double[]){ 0.1, 3, 0, 0, 0, 1 }[i], 0, BERTH_NONE);
  for (int32_t i = 0; i < 5; i++) setup_edge(&s, i, i + 1, 0);
  setup_mesh(&s, 2, 1e9);
  CHECK(same_with_one_moved(&s, 5, device, 6));
  setup_end(&s);
}
