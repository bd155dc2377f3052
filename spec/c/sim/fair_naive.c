/* Fair sharing by hand, and against a plain fluid simulator that fills up all rates again at every
 * event. */
#include "sim_help.h"

enum { MOST_LINKS = 64, MOST_FLOWS = 400, OPS = 60 };

/* ---- the plain one: from requests to arrivals ---- */

typedef struct flow {
  double begin, left, rate, finish;
  int32_t n;
  const int32_t *links;
} flow;

static int is_on(const flow *f, int32_t link) {
  for (int32_t i = 0; i < f->n; i++) {
    if (f->links[i] == link) return 1;
  }
  return 0;
}

/* Progressive filling: raise all rates together; what crosses a full link keeps its rate. */
static void fill_rates(const berth_topology *t, flow *f, int32_t n, double now) {
  double room[MOST_LINKS];
  int any = 1;
  for (int32_t l = 0; l < berth_topology_links(t); l++) {
    berth_link link;
    berth_topology_link(t, l, NULL, NULL, &link);
    room[l] = link.bandwidth;
  }
  int open[MOST_FLOWS];
  for (int32_t i = 0; i < n; i++) {
    open[i] = f[i].begin <= now && f[i].left > 0;
    f[i].rate = 0;
  }
  while (any) {
    double step = INFINITY;
    int32_t full = -1;
    for (int32_t l = 0; l < berth_topology_links(t); l++) {
      int32_t users = 0;
      for (int32_t i = 0; i < n; i++) users += open[i] && is_on(&f[i], l);
      if (users > 0 && room[l] / users < step) {
        step = room[l] / users;
        full = l;
      }
    }
    any = full >= 0;
    for (int32_t i = 0; any && i < n; i++) {
      if (!open[i]) continue;
      f[i].rate += step;
      for (int32_t k = 0; k < f[i].n; k++) room[f[i].links[k]] -= step;
    }
    for (int32_t i = 0; any && i < n; i++) {
      if (open[i] && is_on(&f[i], full)) open[i] = 0;
    }
  }
}

static void run_fluid(const berth_topology *t, flow *f, int32_t n) {
  double now = 0;
  for (;;) {
    double next = INFINITY;
    fill_rates(t, f, n, now);
    for (int32_t i = 0; i < n; i++) {
      if (f[i].begin > now) next = fmin(next, f[i].begin);
      if (f[i].rate > 0) next = fmin(next, now + f[i].left / f[i].rate);
    }
    if (isinf(next)) return;
    for (int32_t i = 0; i < n; i++) {
      if (f[i].begin > now || f[i].left <= 0) continue;
      f[i].left -= f[i].rate * (next - now);
      if (f[i].left < 1e-9) {
        f[i].left = 0;
        f[i].finish = next;
      }
    }
    now = next;
  }
}

static void check_against_fluid(const setup *s, const berth_result *r, double factor) {
  static flow f[MOST_FLOWS];
  const berth_transfer *x;
  int32_t n = berth_result_transfers(r, &x);
  if (!CHECK(n <= MOST_FLOWS)) return;
  for (int32_t i = 0; i < n; i++) {
    berth_link path = must_topology_path(s->t, x[i].src, x[i].dst);
    berth_tensor tensor = must_graph_tensor(s->g, x[i].tensor);
    f[i].n = berth_topology_route(s->t, x[i].src, x[i].dst, &f[i].links);
    f[i].begin = f[i].finish = x[i].start + path.latency * factor;
    f[i].left = tensor.bytes * factor;
    CHECK(x[i].start >= berth_result_finish(r)[tensor.producer]);
    CHECK(x[i].finish
          >= x[i].start + berth_cost_transfer(s->cost, x[i].tensor, x[i].src, x[i].dst) - 1e-9);
  }
  run_fluid(s->t, f, n);
  for (int32_t i = 0; i < n; i++) CHECK_NEAR(x[i].finish, f[i].finish, 1e-7);
}

/* ---- by hand ---- */

/* `n` producers of 0 s on device `from`, consumers on device `to`. */
static berth_result *simulate_flows(setup *s, int32_t n, const int32_t *from, const int32_t *to,
                                    const double *bytes) {
  berth_sim_options o = berth_sim_default(NULL);
  setup_begin(s);
  int32_t device[16];
  for (int32_t i = 0; i < n; i++) {
    device[2 * i] = from[i];
    device[2 * i + 1] = to[i];
    setup_add(s, "0 0");
    setup_edge(s, 2 * i, 2 * i + 1, bytes[i]);
  }
  setup_mesh(s, 3, INFINITY);
  o.links = BERTH_LINKS_FAIR;
  return must_simulate(s->cost, device, &o);
}

static void check_finishes(const berth_result *r, int32_t n, const double *want) {
  for (int32_t i = 0; i < n; i++) CHECK_NEAR(berth_result_finish(r)[2 * i + 1], want[i], 1e-12);
}

TEST("two flows share a link, the way back is free") {
  static const int32_t from[] = { 0, 0, 1 }, to[] = { 1, 1, 0 };
  /* the way back is another link */
  static const double bytes[] = { 1, 3, 4 }, want[] = { 2, 4, 4 };
  setup s;
  berth_result *r = simulate_flows(&s, 3, from, to, bytes);
  check_finishes(r, 3, want);
}

TEST("three flows leave one by one; nothing takes no time") {
  static const int32_t from[] = { 0, 0, 0, 0 }, to[] = { 1, 1, 1, 1 };
  static const double bytes[] = { 1, 2, 3, 0 }, want[] = { 3, 5, 6, 0 };
  setup s;
  berth_result *r = simulate_flows(&s, 4, from, to, bytes);
  check_finishes(r, 4, want);
}

/* A line of two links, 1 and 10 bytes/s: the long flow and the short one halve the first; the third
 * has what is left. */
TEST("max-min: the bottleneck first, the rest gets more") {
  berth_sim_options o = berth_sim_default(NULL);
  int32_t device[] = { 0, 2, 0, 1, 1, 2 };
  setup s = setup_started();
  setup_add(&s, "0 0 0 0 0 0 0>1:2 2>3:2 4>5:40");
  setup_wires(&s, "1 1 1 0-1:1,0.5 1-2:10");
  o.links = BERTH_LINKS_FAIR;
  berth_result *r = must_simulate(s.cost, device, &o);
  CHECK_NEAR(berth_result_finish(r)[1], 4.5, 1e-12); /* 0.5 s of latency, 2 bytes at 0.5 */
  CHECK_NEAR(berth_result_finish(r)[3], 4.5, 1e-12);
  CHECK_NEAR(berth_result_finish(r)[5], 0.5 + 35 / 9.5, 1e-12); /* 10, then 9.5 bytes/s */
  check_against_fluid(&s, r, 1);
}

/* ---- at random ---- */

static void one_random(berth_rng *rng, int32_t round, int ties) {
  setup s;
  int32_t n = 2 + berth_rng_below(rng, OPS - 1), devices = 2 + berth_rng_below(rng, 4);
  berth_sim_options o = berth_sim_default(NULL);
  setup_random(&s, rng, n, ties);
  if (round % 2) setup_mesh(&s, devices, INFINITY);
  else setup_uneven(&s, devices < 3 ? 3 : devices);
  int32_t device[OPS];
  random_devices(rng, n, devices, device);
  o.links = BERTH_LINKS_FAIR;
  o.send = round % 3 == 0 ? BERTH_SEND_PULL : BERTH_SEND_PUSH;
  o.dispatch = round % 5 == 0 ? BERTH_DISPATCH_BLEVEL : BERTH_DISPATCH_FIFO;
  o.preempt = round % 10 == 0;
  berth_result *r = must_simulate(s.cost, device, &o);
  check_against_fluid(&s, r, 1);
  CHECK(berth_result_slack(r) != NULL);
  berth_sim *sim = must_sim_new(s.cost, &o);
  berth_sim_summary sum[3];
  for (int k = 0; k < 2; k++) {
    sum[k] = must_sim_run(sim, device);
    CHECK(sum[k].makespan == berth_result_makespan(r));
  }
  RELEASE(sim);
  CHECK_OK(berth_sim_batch(s.cost, &o, 1, device, 2, &sum[2]));
  CHECK(sum[2].makespan == sum[0].makespan && sum[2].peak == sum[0].peak);
}

static void at_random(int ties) {
  berth_rng rng = seeded(21, (uint64_t)ties);
  for (int32_t round = 0; round < 120; round++) one_random(&rng, round, ties);
}

/* ---- refusals ---- */

TEST("what does not go together is refused by name") {
  static const int32_t device[] = { 0, 1 };
  berth_result *r = NULL;
  berth_sim_options o = berth_sim_default(NULL);
  setup s = setup_of("1 1 0>1:1", 2, INFINITY);
  o.links = BERTH_LINKS_FAIR;
  o.quantum = 0.5;
  CHECK_ERROR(berth_simulate(s.cost, device, &o, &r), BERTH_EINVAL,
              "links fair shares bandwidth continuously: it does not support quantum 0.5");
  o.quantum = 0;
  o.order = BERTH_ORDER_READY;
  CHECK_ERROR(berth_simulate(s.cost, device, &o, &r), BERTH_EINVAL,
              "order ready requires links free, channel, duplex or pair");
  o.order = BERTH_ORDER_EVENT;
  o.split_windows = 1;
  CHECK_STATUS(berth_simulate(s.cost, device, &o, &r), BERTH_EINVAL);
  CHECK(r == NULL);
}

TEST("real times: as the fluid simulator") { at_random(0); }
TEST("coinciding times: as the fluid simulator") { at_random(1); }
