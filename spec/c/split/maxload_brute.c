/* Splits: worked cases, all contiguous assignments of small random graphs, refusals, budgets, bad
 * input. */
#include "refusals.h"

enum { MOST = 8 };

/* Ops 0..n-1 forward; with `training` n more, op n+i the backward of i, in its group. Devices:
 * accelerators, then CPUs. */
typedef struct sample {
  int n, edges, training, acc, cpus;
  int src[64], dst[64];
  double bytes[2 * MOST], time[2 * MOST], slow[2 * MOST], size[2 * MOST], memory;
} sample;

static int ops_of(const sample *s) { return s->training ? 2 * s->n : s->n; }

static sample draw(uint64_t seed) {
  sample s = { 0 };
  berth_rng r = seeded(seed, 7);
  s.n = 3 + berth_rng_below(&r, s.training ? 3 : 4);
  s.training = berth_rng_below(&r, 3) == 0;
  s.acc = 1 + berth_rng_below(&r, 2);
  s.cpus = berth_rng_below(&r, 2);
  for (int i = 0; i < 2 * s.n; i++) {
    s.time[i] = 1 + berth_rng_below(&r, 9);
    s.slow[i] = s.time[i] * (1 + berth_rng_below(&r, 4));
    s.size[i] = berth_rng_below(&r, 5);
    s.bytes[i] = berth_rng_below(&r, 4);
  }
  for (int i = 0; i < s.n; i++) {
    for (int k = i + 1; k < s.n; k++) {
      if (berth_rng_below(&r, 3) != 0) continue;
      s.src[s.edges] = i;
      s.dst[s.edges++] = k;
    }
  }
  if (s.training) {
    int forward = s.edges;
    for (int i = 0; i < forward; i++) {
      s.src[s.edges] = s.n + s.dst[i];
      s.dst[s.edges++] = s.n + s.src[i];
    }
  }
  s.memory = 6 + berth_rng_below(&r, 16);
  return s;
}

static berth_cost *make(const sample *s) {
  const char *types[] = { "gpu", "cpu" };
  berth_graph_builder *b = NULL;
  berth_topology_builder *tb = NULL;
  berth_graph *g = NULL;
  berth_topology *t = NULL;
  berth_cost *c = NULL;
  berth_link link = { 1, 0 };
  if (berth_graph_builder_new(ctx, &b) || berth_graph_builder_types(b, 2, types)) goto done;
  int tensor[2 * MOST];
  for (int i = 0; i < ops_of(s); i++) {
    double seconds[2] = { s->time[i], s->slow[i] };
    berth_op op = berth_op_default();
    op.seconds = seconds;
    op.param_bytes = s->size[i];
    if (s->training) op.group = i % s->n;
    if (i >= s->n) op.flags = BERTH_OP_BACKWARD;
    tensor[i] = BERTH_NONE;
    if (berth_graph_builder_add_op(b, &op, NULL)) goto done;
  }
  for (int i = 0; i < s->edges; i++) {
    int32_t *of = &tensor[s->src[i]];
    berth_tensor one = { s->src[i], s->bytes[s->src[i]], -1, 0 };
    if (*of == BERTH_NONE && berth_graph_builder_add_tensor(b, &one, of)) goto done;
    if (berth_graph_builder_add_consumer(b, *of, s->dst[i])) goto done;
  }
  if (berth_graph_builder_finish(b, &g) || berth_topology_builder_new(ctx, &tb)) goto done;
  for (int i = 0; i < s->acc + s->cpus; i++) {
    berth_device d = berth_device_default();
    d.type = i < s->acc ? "gpu" : "cpu";
    d.memory = i < s->acc ? s->memory : INFINITY;
    if (berth_topology_builder_add_device(tb, &d, NULL, NULL)) goto done;
  }
  for (int i = 0; i < s->acc + s->cpus; i++)
    for (int k = i + 1; k < s->acc + s->cpus; k++)
      if (berth_topology_builder_add_duplex(tb, i, k, &link, NULL)) goto done;
  if (berth_topology_builder_finish(tb, &t)) goto done;
  if (berth_cost_new(g, t, NULL, &c)) c = NULL;
done:
  RELEASE(g, t, b, tb);
  return OWNED(c);
}

/* ---- by the words of the model ---- */

static int crosses(const sample *s, const int32_t *at, int op, int d) {
  for (int e = 0; e < s->edges; e++)
    if (s->src[e] == op && (at[op] == d) != (at[s->dst[e]] == d)) return 1;
  return 0;
}

static double load_of(const sample *s, const int32_t *at, int d, double *held) {
  double load = 0;
  *held = 0;
  for (int i = 0; i < ops_of(s); i++) {
    if (at[i] == d) {
      load += d < s->acc ? s->time[i] : s->slow[i];
      *held += s->size[i];
    }
    if (d < s->acc && s->acc + s->cpus > 1 && crosses(s, at, i, d)) load += s->bytes[i];
  }
  return load;
}

static double value_of(const sample *s, const int32_t *at, int *fits) {
  double most = 0;
  *fits = 1;
  double held;
  for (int d = 0; d < s->acc + s->cpus; d++) {
    most = fmax(most, load_of(s, at, d, &held));
    if (d < s->acc && held > s->memory) *fits = 0;
  }
  return most;
}

/* No circle of devices by forward edges: Warshall's closure. */
static int is_contiguous(const sample *s, const int32_t *at) {
  int way[4][4] = { { 0 } };
  for (int e = 0; e < s->edges; e++)
    if (s->src[e] < s->n && s->dst[e] < s->n && at[s->src[e]] != at[s->dst[e]])
      way[at[s->src[e]]][at[s->dst[e]]] = 1;
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++) way[i][j] |= way[i][k] && way[k][j];
  for (int i = 0; i < 4; i++)
    if (way[i][i]) return 0;
  return 1;
}

/* Latency by relaxing until nothing changes; INFINITY after more rounds than there are jobs. */
static double latency_of(const sample *s, const int32_t *at) {
  double end[2 * MOST] = { 0 }, most = 0, held;
  int n = ops_of(s), changed = 1;
  for (int round = 0; changed; round++) {
    if (round > 2 * n + 4) return INFINITY;
    changed = 0;
    for (int i = 0; i < n; i++) {
      double start = 0;
      for (int e = 0; e < s->edges; e++) {
        int same_job =
            at[i] < s->acc ? at[s->dst[e]] == at[i] && at[s->src[e]] != at[i] : s->dst[e] == i;
        if (same_job) start = fmax(start, end[s->src[e]]);
      }
      double t = start + (at[i] < s->acc ? load_of(s, at, at[i], &held) : s->slow[i]);
      if (t > end[i]) {
        end[i] = t;
        changed = 1;
      }
      most = fmax(most, end[i]);
    }
  }
  return most;
}

/* All assignments that keep groups; the best contiguous one, the best of all, the least latency. */
typedef struct best {
  double contiguous, any, latency;
} best;

static best try_all(const sample *s) {
  best b = { INFINITY, INFINITY, INFINITY };
  int devices = s->acc + s->cpus, total = 1;
  for (int i = 0; i < s->n; i++) total *= devices;
  int fits;
  for (int code = 0; code < total; code++) {
    int32_t at[2 * MOST];
    int rest = code;
    for (int i = 0; i < s->n; i++, rest /= devices) at[i] = at[s->n + i] = rest % devices;
    double x = value_of(s, at, &fits);
    if (!fits) continue;
    b.any = fmin(b.any, x);
    if (is_contiguous(s, at)) b.contiguous = fmin(b.contiguous, x);
    b.latency = fmin(b.latency, latency_of(s, at));
  }
  return b;
}

static int least_tried, least_found; /* latencies, and how many are the least of all */

/* ---- checks ---- */

static void check_against_all(uint64_t seed) {
  sample s = draw(seed);
  berth_cost *c = make(&s);
  best b = try_all(&s);
  berth_split_options o = berth_split_default();
  berth_split_report r;
  berth_placement *p = NULL, *again = NULL;
  berth_obstacle why;
  berth_status st = berth_split_find(c, &o, &p, &r, &why);
  if (isinf(b.contiguous)) {
    CHECK_STATUS(st, BERTH_EINFEASIBLE);
    CHECK(p == NULL && strstr(berth_errmsg(ctx), "split: ") != NULL);
    RELEASE(c);
    return;
  }
  CHECK_OK(st);
  CHECK_NEAR(r.value.max_load, b.contiguous, 1e-9);
  int fits;
  CHECK_NEAR(value_of(&s, berth_placement_device(p), &fits), b.contiguous, 1e-9);
  CHECK(fits && is_contiguous(&s, berth_placement_device(p)) && r.contiguous && r.proven
        && r.complete);
  CHECK_NEAR(r.bound, b.contiguous, 1e-9);
  CHECK_OK(berth_split_find(c, &o, &again, &r, &why));
  CHECK(memcmp(berth_placement_device(p), berth_placement_device(again),
               (size_t)ops_of(&s) * sizeof(int32_t))
        == 0);
  RELEASE(p, again);
  o.contiguous = 0;
  CHECK_OK(berth_split_find(c, &o, &p, &r, &why));
  CHECK(r.value.max_load <= b.contiguous + 1e-9 && r.value.max_load >= b.any - 1e-9
        && r.value.over == BERTH_NONE);
  CHECK(r.contiguous == is_contiguous(&s, berth_placement_device(p)));
  CHECK_NEAR(r.contiguous_load, b.contiguous, 1e-9);
  RELEASE(p);
  o.objective = BERTH_SPLIT_LATENCY;
  p = NULL;
  if (berth_split_find(c, &o, &p, &r, &why) == BERTH_OK) {
    CHECK_NEAR(r.value.latency, latency_of(&s, berth_placement_device(p)), 1e-9);
    CHECK(r.value.latency >= b.latency - 1e-9 && r.bound <= b.latency + 1e-9);
    value_of(&s, berth_placement_device(p), &fits);
    CHECK(fits);
    least_tried++;
    least_found += r.value.latency <= b.latency * (1 + 1e-9);
  }
  RELEASE(p);
}

/* Any assignment is valued as the model says, groups kept or not. */
static void check_values(uint64_t seed) {
  sample s = draw(seed);
  berth_cost *c = make(&s);
  berth_rng r = seeded(seed, 9);
  int32_t at[2 * MOST];
  for (int i = 0; i < ops_of(&s); i++) at[i] = berth_rng_below(&r, s.acc + s.cpus);
  berth_split_value v;
  double loads[4];
  CHECK_OK(berth_split_measure(c, at, NULL, loads, &v));
  int fits;
  double x = value_of(&s, at, &fits);
  CHECK_NEAR(v.max_load, x, 1e-9);
  CHECK((v.over == BERTH_NONE) == fits);
  double held;
  for (int d = 0; d < s.acc + s.cpus; d++) CHECK_NEAR(loads[d], load_of(&s, at, d, &held), 1e-9);
  CHECK_NEAR(v.latency, latency_of(&s, at), 1e-9);
}

/* a(3) -> b(3), a -> c(3), tensor 1: two accelerators. */
static sample fork_sample(void) {
  sample s = { .n = 3,
               .edges = 2,
               .acc = 2,
               .src = { 0, 0 },
               .dst = { 1, 2 },
               .bytes = { 1, 0, 0 },
               .memory = 10 };
  for (int i = 0; i < 3; i++) {
    s.time[i] = 3;
    s.slow[i] = 30;
    s.size[i] = 4;
  }
  return s;
}

/* Counts from a negative number while problems are made. */
static int stop(void *ud) { return ++*(int *)ud > 0; }

static berth_status everything(void) {
  sample s = draw(4);
  berth_split_options o = berth_split_default();
  berth_placement *p = NULL, *q = NULL;
  s.memory = 1000;
  berth_cost *c;
  if (!(c = make(&s))) return BERTH_ENOMEM;
  o.contiguous = 0;
  berth_status st = berth_split_find(c, &o, &p, NULL, NULL);
  o.objective = BERTH_SPLIT_LATENCY;
  TRY(st, berth_split_find(c, &o, &q, NULL, NULL));
  RELEASE(p, q, c);
  return st;
}

TEST("small random graphs: the best of all contiguous assignments, never worse after moves, "
     "latency and memory right") {
  for (uint64_t seed = 1; seed <= (uint64_t)check_runs(50, 150); seed++)
    check_against_all(seed);
  CHECK(least_found >= 0.95 * least_tried); /* the least latency is not promised */
}

TEST("any assignment is valued as the model says") {
  for (uint64_t seed = 1; seed <= (uint64_t)check_runs(70, 200); seed++) check_values(seed);
}

TEST("a tensor with two consumers crosses once; memory takes two of three ops") {
  sample s = fork_sample();
  berth_cost *c = make(&s);
  berth_placement *p = NULL;
  berth_split_report r;
  int32_t spread[] = { 0, 1, 1 }, same[] = { 0, 0, 0 };
  CHECK_OK(berth_split_find(c, NULL, &p, &r, NULL));
  CHECK_NEAR(r.value.max_load, 7, 1e-12);
  CHECK(r.proven && r.units == 3 && r.ideals == 5);
  berth_split_value v;
  double loads[2];
  CHECK_OK(berth_split_measure(c, spread, NULL, loads, &v));
  CHECK_NEAR(loads[0], 4, 0);
  CHECK_NEAR(loads[1], 7, 0);
  CHECK_NEAR(v.latency, 11, 0);
  CHECK(v.busiest == 1 && v.over == BERTH_NONE);
  CHECK_OK(berth_split_measure(c, same, NULL, NULL, &v));
  CHECK(v.over == 0);
  CHECK_NEAR(v.missing, 2, 1e-9);
  RELEASE(p);
}

TEST("moves unburden the busiest device: of 3 2 4 | 3 5 | 6 the 2 goes to 6") {
  berth_cost *c = must_cost_new(must_graph_of_text("3 2 4 3 5 6 0>1:0 1>2:0 2>3:0 3>4:0 4>5:0"),
                                must_mesh(3, INFINITY, 1, 0), NULL);
  berth_split_options o = berth_split_default();
  berth_placement *p = NULL;
  berth_split_report r;
  o.contiguous = 0;
  CHECK_OK(berth_split_find(c, &o, &p, &r, NULL));
  CHECK(r.contiguous_load == 9 && r.value.max_load == 8 && !r.contiguous);
  RELEASE(p);
}

TEST("a chain with both ends on one device: latency is infinite, the split not contiguous by "
     "its value") {
  sample s = fork_sample();
  int32_t ends[] = { 0, 1, 0 };
  s.src[1] = 1;
  berth_cost *c = make(&s);
  berth_split_value v;
  CHECK_OK(berth_split_measure(c, ends, NULL, NULL, &v));
  CHECK(isinf(v.latency) && !isinf(v.max_load));
}

TEST("what cannot be says why") {
  sample s = fork_sample();
  berth_placement *p = NULL;
  s.size[1] = 11;
  berth_cost *c = make(&s);
  berth_obstacle why;
  CHECK_ERROR(berth_split_find(c, NULL, &p, NULL, &why), BERTH_EINFEASIBLE,
              "split: op 1 and what must be with it needs 11 bytes, an accelerator has 10");
  CHECK(p == NULL && why.op == 1 && why.device == 0 && why.missing == 1);
  s.size[1] = s.size[0] = s.size[2] = 7;
  c = make(&s);
  CHECK_ERROR(berth_split_find(c, NULL, &p, NULL, &why), BERTH_EINFEASIBLE,
              "split: all ops need 21 bytes, the accelerators have 20 in all");
  s.size[1] = s.size[0] = s.size[2] = 6;
  c = make(&s);
  CHECK_STATUS(berth_split_find(c, NULL, &p, NULL, &why), BERTH_EINFEASIBLE);
  CHECK_TEXT(
      berth_errmsg(ctx),
      "split: no contiguous split of the 3 units fits in 2 accelerators of 10 bytes and 0 CPUs");
}

TEST("bad input is refused, and nothing is changed") {
  sample s = fork_sample();
  berth_cost *c = make(&s);
  berth_split_options o = berth_split_default();
  berth_placement *p = NULL;
  berth_split_value v = { .max_load = 77 };
  int32_t wrong[] = { 0, 2, 0 };
  CHECK_ERROR(berth_split_measure(c, wrong, NULL, NULL, &v), BERTH_EINVAL,
              "split: op 1 is on device 2, of 2");
  CHECK(v.max_load == 77);
  o.memory = NAN;
  CHECK_STATUS(berth_split_find(c, &o, &p, NULL, NULL), BERTH_EINVAL);
  o = berth_split_default();
  o.visits = -1;
  CHECK_ERROR(berth_split_find(c, &o, &p, NULL, NULL), BERTH_EINVAL,
              "option visits is -1 (a number from 0)");
  o = berth_split_default();
  o.objective = (berth_split_objective)9;
  CHECK_STATUS(berth_split_find(c, &o, &p, NULL, NULL), BERTH_EINVAL);
  o = berth_split_default();
  o.cpu = NULL;
  CHECK_STATUS(berth_split_find(c, &o, &p, NULL, NULL), BERTH_EINVAL);
  CHECK(p == NULL);
}

TEST("budgets: without memory the start is the answer, with its bound; without visits there is "
     "none") {
  sample s = fork_sample();
  berth_cost *c = make(&s);
  berth_split_options o = berth_split_default();
  berth_placement *p = NULL;
  o.memory = 0;
  berth_split_report r;
  CHECK_OK(berth_split_find(c, &o, &p, &r, NULL));
  CHECK(!r.complete && !r.proven && r.bound <= 7 && r.bound >= 4.5 && r.value.max_load >= 7);
  RELEASE(p);
  p = NULL;
  o = berth_split_default();
  o.visits = 0;
  CHECK_STATUS(berth_split_find(c, &o, &p, &r, NULL), BERTH_EINTERRUPT);
  CHECK(p == NULL);
  o.visits = 12;
  CHECK_OK(berth_split_find(c, &o, &p, &r, NULL));
  CHECK(!r.proven && r.visits <= 13 && r.value.max_load >= r.bound);
  RELEASE(p);
}

TEST("latency of training in few moves: innermost ops on one accelerator, the CPU around them") {
  /* op 0 on the CPU, 2 and 16 s; 1 to 3 take 15 s, and one tensor in and two out 3 s */
  sample s = { .n = 4, .training = 1, .acc = 2, .cpus = 1, .memory = 4, .edges = 10,
               .src = { 0, 0, 1, 1, 2, 5, 6, 6, 7, 7 }, .dst = { 1, 2, 2, 3, 3, 4, 4, 5, 5, 6 },
               .bytes = { 1, 1, 1, 1, 1, 1, 1, 1 }, .time = { 2, 3, 1, 1, 4, 4, 4, 2 },
               .slow = { 2, 12, 4, 2, 16, 16, 12, 2 }, .size = { 3, 1, 1, 2 } };
  berth_cost *c = make(&s);
  berth_split_options o = berth_split_default();
  berth_placement *p = NULL;
  o.objective = BERTH_SPLIT_LATENCY;
  o.memory = 0;
  o.visits = 50;
  berth_split_report r;
  CHECK_OK(berth_split_find(c, &o, &p, &r, NULL));
  CHECK_NEAR(r.value.latency, 36, 1e-9);
  CHECK(p && berth_placement_device(p)[0] == 2
        && berth_placement_device(p)[3] == berth_placement_device(p)[1]);
  RELEASE(p);
}

TEST("an interrupt ends the search, not what was found") {
  int calls = -100000;
  berth_hooks h = { NULL, NULL, NULL, stop, NULL, &calls };
  sample s = draw(11);
  berth_split_options o = berth_split_default();
  berth_placement *p = NULL;
  hooked(&h);
  s.memory = 1000;
  berth_cost *c = make(&s);
  calls = 0;
  o.contiguous = 0;
  berth_split_report r;
  CHECK_OK(berth_split_find(c, &o, &p, &r, NULL));
  CHECK(r.value.max_load == r.contiguous_load && calls > 0);
  RELEASE(p);
  hooked(NULL);
}
TEST_REFUSALS(everything)
