/* Random problems for the list engine, and a checker of plans that shares no code with it. */
#ifndef BERTH_PLACE_ENGINE_HELP_H
#define BERTH_PLACE_ENGINE_HELP_H

#include "must.h"

typedef struct instance {
  berth_graph *g;
  berth_topology *t;
  berth_cost *cost;
} instance;

enum { /* what a random instance may have */
  WITH_TIES = 1,      /* times are small multiples of 1/4, some are zero */
  WITH_TYPES = 2,     /* two types of device, some ops run on one only */
  WITH_PINS = 4,
  WITH_GROUPS = 8,
  WITH_MEMORY = 16,   /* limits a little above an even share */
  WITH_TWINS = 32,
  WITH_UNEVEN = 64,   /* links of different bandwidth and latency, also over several hops */
  WITH_ALL = 127,
  WITH_COLLECTIVES = 128
};

static double random_time(berth_rng *rng, int what) {
  return what & WITH_TIES ? 0.25 * berth_rng_below(rng, 8) : 0.1 + 4 * berth_rng_uniform(rng);
}

static void add_random_op(berth_graph_builder *b, berth_rng *rng, int what, int32_t i,
                          int32_t devices) {
  berth_op op = berth_op_default();
  double seconds[2];
  int32_t odd = berth_rng_below(rng, 8);
  seconds[0] = random_time(rng, what);
  seconds[1] = what & WITH_TYPES ? random_time(rng, what) : seconds[0];
  if ((what & WITH_TYPES) && odd < 2 && devices > 1) seconds[odd] = BERTH_UNSUPPORTED;
  op.seconds = seconds;
  op.param_bytes = berth_rng_below(rng, 16);
  op.workspace_bytes = berth_rng_below(rng, 8);
  if ((what & WITH_GROUPS) && odd >= 5) op.group = berth_rng_below(rng, 4);
  if ((what & WITH_PINS) && odd == 2) op.pin = berth_rng_below(rng, devices);
  if ((what & WITH_TWINS) && i % 4 == 3) op.twin = i - 2;
  must_add_op(b, &op);
}

static void add_random_tensors(berth_graph_builder *b, berth_rng *rng, int what, int32_t from,
                               int32_t n) {
  int32_t id, tensors = berth_rng_below(rng, 3);
  for (int32_t k = 0; k < tensors; k++) {
    double bytes = what & WITH_TIES ? berth_rng_below(rng, 6) : 8 * berth_rng_uniform(rng);
    berth_tensor t = { from, bytes, berth_rng_below(rng, 6), 0 };
    id = must_add_tensor(b, &t);
    for (int32_t c = from + 1; c < n && c < from + 14; c++) {
      if (berth_rng_below(rng, 6) == 0)
        CHECK_OK(berth_graph_builder_add_consumer(b, id, c));
    }
  }
}

/* Members come before consumers by id; some have none of these. */
static void add_random_collectives(berth_graph_builder *b, berth_rng *rng, int what, int32_t n) {
  int32_t members[8], consumers[8];
  for (int32_t k = 0; k < 1 + n / 8 && n > 1; k++) {
    berth_collective c = {
      (berth_collective_kind)berth_rng_below(rng, BERTH_BARRIER + 1), 0, 1, 0, members, 0, consumers
    };
    int32_t cut = 1 + berth_rng_below(rng, n - 1);
    c.bytes = what & WITH_TIES ? berth_rng_below(rng, 4) : 8 * berth_rng_uniform(rng);
    for (int32_t i = cut - 1; i >= 0 && c.n_members < 5; i--) {
      if (berth_rng_below(rng, 3) == 0) members[c.n_members++] = i;
    }
    for (int32_t i = cut; i < n && c.n_consumers < 5; i++) {
      if (berth_rng_below(rng, 4) == 0) consumers[c.n_consumers++] = i;
    }
    if (c.n_members > 0) must_add_collective(b, &c);
  }
}

static berth_graph *random_ops(berth_rng *rng, int what, int32_t n, int32_t devices) {
  const char *types[] = { "x", "y" };
  berth_graph_builder *b = must_graph_builder_new();
  CHECK_OK(berth_graph_builder_types(b, 2, types));
  for (int32_t i = 0; i < n; i++) add_random_op(b, rng, what, i, devices);
  for (int32_t i = 0; i < n; i++) add_random_tensors(b, rng, what, i, n);
  if (what & WITH_COLLECTIVES) add_random_collectives(b, rng, what, n);
  return must_graph(b);
}

static double total_bytes(const berth_graph *g) {
  berth_op op;
  double sum = 0;
  for (int32_t i = 0; i < berth_graph_ops(g); i++) {
    berth_graph_op(g, i, &op);
    sum += op.param_bytes;
  }
  berth_tensor t;
  for (int32_t i = 0; i < berth_graph_tensors(g); i++) {
    berth_graph_tensor(g, i, &t);
    sum += t.resident_bytes;
  }
  return sum;
}

static berth_topology *random_devices(berth_rng *rng, int what, int32_t n, double memory) {
  berth_topology_builder *b = must_topology_builder_new();
  for (int32_t i = 0; i < n; i++) {
    berth_device d = berth_device_default();
    d.type = i % 2 ? "y" : "x";
    if (what & WITH_MEMORY)
      d.memory = floor(memory / n * (1.1 + 0.8 * berth_rng_uniform(rng))) + 12;
    if (what & WITH_TYPES) d.speed = 1 + 0.5 * berth_rng_below(rng, 2);
    must_add_device(b, &d);
  }
  for (int32_t i = 0; i < n; i++) {
    for (int32_t j = i + 1; j < n; j++) {
      berth_link l = { 2, 0.25 };
      if (what & WITH_UNEVEN) l.bandwidth = 1 + berth_rng_below(rng, 3);
      if ((what & WITH_UNEVEN) && j > i + 1 && berth_rng_below(rng, 3) == 0) continue;
      CHECK_OK(berth_topology_builder_add_duplex(b, i, j, &l, NULL));
    }
  }
  return must_topology(b);
}

/* @return 0: an op that no device can run was drawn; nothing is made */
static int random_instance(berth_rng *rng, int what, int32_t n, int32_t devices, instance *x) {
  x->g = random_ops(rng, what, n, devices);
  x->t = random_devices(rng, what, devices, total_bytes(x->g));
  if (berth_cost_new(x->g, x->t, NULL, &x->cost) == BERTH_OK) return 1;
  RELEASE(x->g, x->t);
  return 0;
}

static void release_instance(instance *x) {
  RELEASE(x->cost, x->g, x->t);
}

/* The n-th request is refused, then the n-th and all after it; s is the context's allocator.
 * @param coarse 0: every n; k: steps of n / k more */
static void refuse_placing(check_alloc_state *s, const instance *x, const char *placer,
                           const berth_place_options *o, long coarse) {
  berth_status st[2] = { BERTH_ENOMEM, BERTH_ENOMEM };
  for (long n = 1; st[0] == BERTH_ENOMEM && !check_bad; n += 1 + (coarse ? n / coarse : 0)) {
    for (int k = 0; k < 2; k++) {
      berth_placement *p = NULL;
      long held = s->held;
      s->calls = 0;
      s->fail_at = k ? -n : n;
      st[k] = berth_place(x->cost, placer, o, &p, NULL);
      s->fail_at = 0;
      CHECK((st[k] == BERTH_OK) == (p != NULL));
      RELEASE(p);
      CHECK(s->held == held);
    }
    CHECK_STATUS(st[1], st[0]);
  }
  CHECK(st[0] == BERTH_OK || st[0] == BERTH_EINFEASIBLE || st[0] == BERTH_EUNREACHABLE);
  if (check_bad)
    printf("# %s \"%s\", links %d, memory %d\n", placer, o->variant, (int)o->links, (int)o->memory);
}

/* ---- the checker ---- */

static int near(double a, double b) { return fabs(a - b) <= 1e-9 * (1 + fabs(a)); }

static int check_inputs(const instance *x, const berth_placement *p, int32_t op) {
  const double *start = berth_placement_start(p), *finish = berth_placement_finish(p);
  const int32_t *device = berth_placement_device(p), *in;
  int32_t n = berth_graph_inputs(x->g, op, &in);
  for (int32_t i = 0; i < n; i++) {
    berth_tensor t = must_graph_tensor(x->g, in[i]);
    double arrival =
        finish[t.producer] + berth_cost_transfer(x->cost, in[i], device[t.producer], device[op]);
    if (start[op] < arrival - 1e-9 * (1 + arrival)) return 0;
  }
  return 1;
}

static double collective_end(const instance *x, const berth_placement *p, int32_t k) {
  berth_collective c;
  double end = 0, seconds = NAN;
  berth_graph_collective(x->g, k, &c);
  int32_t device[8];
  for (int32_t i = 0; i < c.n_members; i++) {
    device[i] = berth_placement_device(p)[c.members[i]];
    end = fmax(end, berth_placement_finish(p)[c.members[i]]);
  }
  CHECK_OK(berth_cost_collective(x->cost, k, c.n_members, device, &seconds));
  return end + seconds;
}

/* @return 0: a consumer starts before one is over. @param last the end of the last one, at least
 *         what it is */
static int check_collectives(const instance *x, const berth_placement *p, double *last) {
  int32_t ok = 1;
  for (int32_t k = 0; k < berth_graph_collectives(x->g); k++) {
    double end = collective_end(x, p, k);
    berth_collective c = must_graph_collective(x->g, k);
    for (int32_t i = 0; i < c.n_consumers; i++)
      ok &= berth_placement_start(p)[c.consumers[i]] >= end - 1e-9 * (1 + end);
    *last = fmax(*last, end);
  }
  return ok;
}

static int check_ops(const instance *x, const berth_placement *p) {
  const double *start = berth_placement_start(p), *finish = berth_placement_finish(p);
  const int32_t *device = berth_placement_device(p);
  int32_t n = berth_graph_ops(x->g), at[64], ok = 1;
  for (int32_t i = 0; i < 64; i++) at[i] = BERTH_NONE;
  for (int32_t i = 0; i < n; i++) {
    berth_op op = must_graph_op(x->g, i);
    ok &= CHECK(device[i] >= 0 && device[i] < berth_topology_devices(x->t));
    ok &= CHECK(isfinite(berth_cost_op(x->cost, i, device[i])));
    ok &= CHECK(start[i] >= 0 && near(finish[i], start[i] + berth_cost_op(x->cost, i, device[i])));
    ok &= CHECK(check_inputs(x, p, i));
    if (op.group == BERTH_NONE) continue;
    if (at[op.group] == BERTH_NONE) at[op.group] = device[i];
    ok &= CHECK(at[op.group] == device[i]);
  }
  return ok;
}

/* The sequence holds every op once, starts do not fall in it, and ops of one device follow one
 * another. */
static int check_order(const instance *x, const berth_placement *p) {
  const double *start = berth_placement_start(p), *finish = berth_placement_finish(p);
  const int32_t *device = berth_placement_device(p), *sequence = berth_placement_sequence(p);
  int32_t n = berth_graph_ops(x->g), ok = 1;
  double free_at[64] = { 0 }, end = 0;
  char *seen = calloc((size_t)n + 1, 1);
  for (int32_t i = 0; i < n; i++) {
    int32_t op = sequence[i];
    ok &= CHECK(op >= 0 && op < n && !seen[op]);
    if (!ok) break;
    seen[op] = 1;
    ok &= CHECK(i == 0 || start[sequence[i - 1]] <= start[op]);
    ok &= CHECK(start[op] >= free_at[device[op]] - 1e-9 * (1 + start[op]));
    free_at[device[op]] = finish[op];
    end = fmax(end, finish[op]);
  }
  ok &= CHECK(check_collectives(x, p, &end));
  ok &= CHECK_NEAR(berth_placement_estimate(p), end, 1e-9 * (1 + end));
  free(seen);
  return ok;
}

/* In order of the plan on contention-free links: memory holds, and nothing is later than
 * planned. */
static int check_replay(const instance *x, const berth_placement *p, const berth_place_options *o,
                        int exact) {
  berth_sim_options so = berth_sim_default(NULL);
  berth_result *r = NULL;
  so.dispatch = BERTH_DISPATCH_PLANNED;
  so.sequence = berth_placement_sequence(p);
  so.memory = o->memory;
  so.param_multiple = o->param_multiple;
  so.quantum = o->quantum;
  int ok = CHECK_OK(berth_simulate(x->cost, berth_placement_device(p), &so, &r));
  if (!ok) return 0;
  berth_oom oom;
  if (berth_result_oom(r, &oom)) {
    printf("# op %d on device %d at %g: %g bytes short\n", (int)oom.op, (int)oom.device, oom.time,
           oom.shortfall);
    ok = CHECK(!"memory holds");
  }
  for (int32_t i = 0; i < berth_graph_ops(x->g) && o->links == BERTH_LINKS_FREE; i++) {
    double planned = berth_placement_start(p)[i], found = berth_result_start(r)[i];
    if (exact ? near(planned, found) : found <= planned + 1e-9 * (1 + planned)) continue;
    printf("# op %d is planned at %.17g and runs at %.17g\n", (int)i, planned, found);
    ok = CHECK(!"the plan is kept");
    break;
  }
  if (exact && o->links == BERTH_LINKS_FREE)
    ok &= CHECK(near(berth_result_makespan(r), berth_placement_estimate(p)));
  RELEASE(r);
  return ok;
}

static int check_plan(const instance *x, const berth_placement *p, const berth_place_options *o,
                      int append) {
  int ok = check_ops(x, p);
  ok = check_order(x, p) && ok;
  /* frees depend on times, which other links than those of the replay change */
  if (o->links == BERTH_LINKS_FREE || o->memory == BERTH_MEMORY_TOTAL
      || o->memory == BERTH_MEMORY_NONE) {
    ok = check_replay(x, p, o, append) && ok;
  }
  return ok;
}

#endif
