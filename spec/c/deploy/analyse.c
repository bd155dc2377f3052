/* Analysis, op groups, splits and simplification in C: small cases, properties, refusals,
 * allocation failure. */
#include "deploy/analyse/grouping_internal.h"
#include "refusals.h"

enum { CHAIN = 200 };

static int32_t add_op(berth_graph_builder *b, const char *kind, int32_t group, double param) {
  berth_op op = berth_op_default();
  int32_t id = BERTH_NONE;
  op.kind = kind;
  op.group = group;
  op.flop = 1e9;
  op.param_bytes = param;
  berth_graph_builder_add_op(b, &op, &id);
  return id;
}

static berth_status connect(berth_graph_builder *b, int32_t src, int32_t dst, double bytes,
                            uint32_t flags) {
  const berth_tensor t = { src, bytes, -1, flags };
  int32_t id;
  berth_status st = berth_graph_builder_add_tensor(b, &t, &id);
  return st == BERTH_OK ? berth_graph_builder_add_consumer(b, id, dst) : st;
}

/* Placeholder -> Relu -> ...: every tensor has the batch, every op is a base group; bytes[k] cross
 * from k to k + 1. */
static berth_status chain_with(int32_t n, const double *bytes, const int32_t *group,
                               const double *params, berth_graph **out) {
  berth_graph_builder *b;
  berth_status st = berth_graph_builder_new(ctx, &b);
  if (st != BERTH_OK) return st;
  for (int32_t k = 0; k < n && st == BERTH_OK; k++) {
    const char *kind = k == 0 ? "Placeholder" : "Relu";
    if (add_op(b, kind, group ? group[k] : BERTH_NONE, params ? params[k] : 4e6) == BERTH_NONE)
      st = BERTH_ENOMEM;
    if (k > 0 && st == BERTH_OK) st = connect(b, k - 1, k, bytes ? bytes[k - 1] : 400, 0);
  }
  TRY(st, berth_graph_builder_finish(b, out));
  RELEASE(b);
  return st;
}

static berth_status chain(int32_t n, const double *bytes, const int32_t *group, berth_graph **out) {
  return chain_with(n, bytes, group, NULL, out);
}

/* ---- op groups ---- */

static void random_seconds(berth_rng *rng, int32_t n, double *seconds) {
  for (int32_t k = 0; k < n; k++) {
    seconds[k] = berth_rng_below(rng, 1000) * 1e-6;
    for (int32_t i = 1; i < BERTH_I_GROUP_TIMES; i++) seconds[i * n + k] = seconds[k] / (1 << i);
  }
}

static double time_of_group(int32_t n, const double *seconds, const int32_t *group, int32_t which) {
  double sum = 0;
  for (int32_t k = 0; k < n; k++) sum += group[k] == which ? seconds[k] : 0;
  return sum;
}

/* Numbered by falling time, none empty, whole base groups. */
static void check_groups(const berth_analysis *a, int32_t n, const double *seconds,
                         const int32_t *group, int32_t groups) {
  const int32_t *base = berth_analysis_base(a, NULL);
  double before = INFINITY;
  for (int32_t p = 0; p < groups; p++) {
    int32_t size = 0;
    double now = time_of_group(n, seconds, group, p);
    for (int32_t k = 0; k < n; k++) size += group[k] == p;
    CHECK(size > 0);
    CHECK(now <= before * (1 + 1e-12));
    before = now;
  }
  for (int32_t k = 0; k < n; k++) {
    CHECK(group[k] >= 0 && group[k] < groups);
    for (int32_t i = 0; i < k; i++) CHECK(base[i] != base[k] || group[i] == group[k]);
  }
}

/* Vertex weights of a part: at most 5 times its share, and what one base group is too heavy for. */
static void check_balance(int32_t n, const double *seconds, const int32_t *group, int32_t groups,
                          int32_t asked) {
  double total = 0, most = 0, load[CHAIN] = { 0 };
  for (int32_t k = 0; k < n; k++) {
    double mean = (seconds[k] + seconds[n + k] + seconds[2 * n + k] + seconds[3 * n + k]) / 4;
    double w = 1 + floor(sqrt(mean * 1e6));
    total += w;
    most = fmax(most, w);
    load[group[k]] += w;
  }
  for (int32_t p = 0; p < groups; p++) CHECK(load[p] <= 5 * total / asked + most);
}

static void check_random_groups(berth_rng *rng) {
  double bytes[CHAIN] = { 0 };
  int32_t colocated[CHAIN] = { 0 }, n = 1 + berth_rng_below(rng, CHAIN);
  berth_i_grouping o = { 1 + berth_rng_below(rng, 80), berth_rng_below(rng, 3) == 0,
                         (uint64_t)berth_rng_below(rng, 1000), NULL, INFINITY };
  double held[CHAIN], sum[CHAIN] = { 0 };
  int32_t members[CHAIN] = { 0 };
  for (int32_t k = 0; k < n; k++) {
    colocated[k] = berth_rng_below(rng, 10) == 0 ? berth_rng_below(rng, 5) : BERTH_NONE;
    bytes[k] = berth_rng_below(rng, 3) == 0 ? 4e9 : 4 * (1 + berth_rng_below(rng, 1000));
  }
  berth_graph *g;
  CHECK_OK(chain(n, bytes, colocated, &g));
  berth_analysis *a = must_analyse(g, NULL);
  int32_t base;
  berth_analysis_base(a, &base);
  double seconds[BERTH_I_GROUP_TIMES * CHAIN];
  random_seconds(rng, n, seconds);
  int32_t group[CHAIN], groups;
  CHECK_OK(berth_i_deploy_group(a, seconds, &o, group, &groups));
  CHECK(groups <= o.groups && (base > o.groups || groups == base));
  check_groups(a, n, seconds, group, groups);
  if (!o.top_k && base > o.groups) check_balance(n, seconds, group, groups, o.groups);
  int32_t again[CHAIN], same;
  CHECK_OK(berth_i_deploy_group(a, seconds, &o, again, &same));
  CHECK(same == groups && memcmp(group, again, (size_t)n * sizeof *group) == 0);
  /* With a limit: no op group above it has more than one base group. */
  const int32_t *of = berth_analysis_base(a, NULL);
  for (int32_t k = 0; k < n; k++) held[k] = berth_rng_below(rng, 10);
  o.bytes = held;
  o.limit = 20;
  CHECK_OK(berth_i_deploy_group(a, seconds, &o, group, &groups));
  CHECK(groups >= same);
  check_groups(a, n, seconds, group, groups);
  for (int32_t k = 0; k < n; k++) sum[group[k]] += held[k];
  for (int32_t b = 0; b < base; b++) {
    int32_t k = 0;
    while (of[k] != b) k++;
    members[group[k]]++;
  }
  for (int32_t k = 0; k < groups; k++) CHECK(sum[k] <= o.limit || members[k] == 1);
  RELEASE(g);
}

/* Two op groups of 4 and 4 ops; of at most 5 bytes: 3 + 2, 6, 0; 1 + 1 + 1, 4. */
TEST("op groups above a limit of bytes are cut in the order of ops") {
  enum { N = 8 };
  static const double held[N] = { 3, 2, 6, 0, 1, 1, 1, 4 };
  static const int32_t want[N] = { 0, 0, 1, 2, 3, 3, 3, 4 };
  double seconds[BERTH_I_GROUP_TIMES * N], bytes[N];
  for (int32_t k = 0; k < BERTH_I_GROUP_TIMES * N; k++) seconds[k] = 1e-3;
  for (int32_t k = 0; k < N; k++) bytes[k] = k == 3 ? 4 : 4e6;
  berth_graph *g;
  CHECK_OK(chain(N, bytes, NULL, &g));
  berth_analysis *a = must_analyse(g, NULL);
  for (double limit = 5; limit < 100; limit *= 3) {
    const berth_i_grouping o = { 2, false, 1, held, limit };
    int32_t group[N], n;
    CHECK_OK(berth_i_deploy_group(a, seconds, &o, group, &n));
    CHECK(n == (limit > 5 ? 2 : 5));
    for (int32_t k = 0; k < N - 1 && limit <= 5; k++)
      CHECK((group[k] == group[k + 1]) == (want[k] == want[k + 1]));
  }
  RELEASE(g);
}

/* Times 1 9 1 1 8 1 1 1 us: centres 1 and 4 with three groups; 2 is nearer to 1, 3 to 4. No third
 * group: all are reached. */
TEST("top-k: the nearest centre by hops") {
  static const double us[8] = { 1, 9, 1, 1, 8, 1, 1, 1 };
  static const int32_t want[8] = { 1, 1, 1, 0, 0, 0, 0, 0 };
  double seconds[BERTH_I_GROUP_TIMES * 8];
  const berth_i_grouping o = { 3, true, 0, NULL, INFINITY };
  for (int32_t k = 0; k < BERTH_I_GROUP_TIMES * 8; k++) seconds[k] = us[k % 8] * 1e-6;
  berth_graph *g;
  CHECK_OK(chain(8, NULL, NULL, &g));
  berth_analysis *a = must_analyse(g, NULL);
  int32_t group[8], n;
  CHECK_OK(berth_i_deploy_group(a, seconds, &o, group, &n));
  CHECK(n == 2 && memcmp(group, want, sizeof want) == 0);
  seconds[1] = -1;
  CHECK_ERROR(berth_i_deploy_group(a, seconds, &o, group, &n), BERTH_EINVAL, "op 1 takes -1 s");
  RELEASE(g);
}

/* Sets {0}, {1, 2}, {3} of a chain of 4,000, 8, 0 and, from the first set to the last op, 400 and
 * 80 bytes. */
TEST("between sets of ops: elements, of all tensors, each once per set that reads it") {
  static const int32_t of[] = { 0, 1, 1, 2 }, at[] = { 0, 2, 4, 6 },
                       adjacent[] = { 1, 2, 0, 2, 0, 1 };
  /* unknown: 1,000; 400 / 4 + 80 / 4 */
  static const double elements[] = { 1000, 120, 1000, 1000, 120, 1000 };
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t k = 0; k < 4; k++) add_op(b, "Relu", BERTH_NONE, 0);
  CHECK_OK(connect(b, 0, 1, 4000, 0));
  /* in the set of op 1: sent there once */
  CHECK_OK(berth_graph_builder_add_consumer(b, 0, 2));
  CHECK_OK(connect(b, 1, 2, 8, 0));
  CHECK_OK(connect(b, 2, 3, 0, 0));
  CHECK_OK(connect(b, 0, 3, 400, 0));
  CHECK_OK(connect(b, 0, 3, 80, 0));
  berth_graph *g = must_graph(b);
  berth_i_set_graph s;
  CHECK_OK(berth_i_set_graph_new(g, 4, NULL, 3, of, &s));
  CHECK(memcmp(s.at, at, sizeof at) == 0 && memcmp(s.adjacent, adjacent, sizeof adjacent) == 0);
  for (int32_t k = 0; k < 6; k++) CHECK_NEAR(s.elements[k], elements[k], 0);
  berth_i_pool_free(&s.pool);
}

/* Means over the batch sizes: 0.25 s weighs 1 + sqrt(250,000) = 501; 0.01 s, as 0.02 s at a half
 * and a quarter, 101; 3 us 2; the rest 1. The op groups are what METIS makes of these weights. */
TEST("op groups are cut by the roots of the mean times of ops") {
  double seconds[BERTH_I_GROUP_TIMES * CHAIN] = { 0 }, weight[CHAIN];
  int32_t of[CHAIN];
  const berth_i_grouping o = { 8, false, 1, NULL, INFINITY };
  for (int32_t k = 0; k < CHAIN; k++) {
    of[k] = k;
    weight[k] = k >= 170 ? 101 : k % 40 == 5 ? 501 : k < 60 ? 2 : 1;
    for (int32_t i = 0; i < BERTH_I_GROUP_TIMES; i++) {
      seconds[i * CHAIN + k] = k >= 170      ? (i == 1 || i == 2) * 0.02
                               : k % 40 == 5 ? 0.25
                               : k < 60      ? 3e-6
                                             : 0;
    }
  }
  berth_graph *g;
  CHECK_OK(chain(CHAIN, NULL, NULL, &g));
  berth_analysis *a = must_analyse(g, NULL);
  int32_t group[CHAIN], n;
  CHECK_OK(berth_i_deploy_group(a, seconds, &o, group, &n));
  berth_i_set_graph s;
  CHECK_OK(berth_i_set_graph_new(g, CHAIN, NULL, CHAIN, of, &s));
  int32_t part[CHAIN];
  CHECK_OK(berth_i_set_graph_cut(&s, weight, 8, 5, 1, part));
  for (int32_t k = 0; k < CHAIN; k++) {
    for (int32_t i = 0; i < k; i++) CHECK((group[i] == group[k]) == (part[i] == part[k]));
  }
  berth_i_pool_free(&s.pool);
  RELEASE(g);
}

/* 8 equal ops, 4 bytes from op 2 to 3, 4e6 between others: of two op groups each may be of any
 * size, so that is the cut. */
TEST("op groups are cut where least crosses") {
  enum { N = 8 };
  double seconds[BERTH_I_GROUP_TIMES * N];
  const berth_i_grouping o = { 2, false, 1, NULL, INFINITY };
  for (int32_t k = 0; k < BERTH_I_GROUP_TIMES * N; k++) seconds[k] = 1e-3;
  double bytes[N];
  for (int32_t k = 0; k < N; k++) bytes[k] = k == 2 ? 4 : 4e6;
  berth_graph *g;
  CHECK_OK(chain(N, bytes, NULL, &g));
  berth_analysis *a = must_analyse(g, NULL);
  int32_t group[N], n;
  CHECK_OK(berth_i_deploy_group(a, seconds, &o, group, &n));
  CHECK(n == 2);
  for (int32_t k = 0; k < N - 1; k++) CHECK((group[k] == group[k + 1]) == (k != 2));
  RELEASE(g);
}

/* ---- splits ---- */

/* 40 equal ops, cheap to cut in the middle only: halves. */
static void check_halves(bool published) {
  enum { N = 40 };
  double bytes[N], seconds[N];
  int32_t op[N];
  berth_i_dealing o = { 2, 0, published, 1 };
  for (int32_t k = 0; k < N; k++) op[k] = k, seconds[k] = 1e-3, bytes[k] = k == N / 2 - 1 ? 4 : 4e6;
  berth_graph *g;
  CHECK_OK(chain(N, bytes, NULL, &g));
  int32_t part[N];
  CHECK_OK(berth_i_deploy_split(g, N, op, published ? NULL : seconds, &o, part));
  for (int32_t k = 0; k < N; k++) CHECK(part[k] == part[k < N / 2 ? 0 : N - 1]);
  CHECK(part[0] != part[N - 1]);
  o.number = 3;
  int32_t turned[N];
  CHECK_OK(berth_i_deploy_split(g, N, op, seconds, &o, turned));
  for (int32_t k = 0; k < N; k++) CHECK(turned[k] == (part[k] + 3) % 2);
  RELEASE(g);
}

/* Ops 1 and 2 of 10 have all the time, or most of the parameters: of two parts none has more than
 * 3/4 of that, so these two are apart, though dear to cut. */
static void check_heavy_pair(bool published) {
  enum { N = 10 };
  double bytes[N], seconds[N], params[N];
  int32_t op[N];
  const berth_i_dealing o = { 2, 0, published, 1 };
  for (int32_t k = 0; k < N; k++) {
    bool heavy = k == 1 || k == 2;
    op[k] = k;
    bytes[k] = k == 1 ? 4e6 : 4;
    seconds[k] = heavy && !published ? 0.5 : 0;
    params[k] = heavy == published ? 4e8 : 0; /* weight 1,001 to 1 */
  }
  berth_graph *g;
  CHECK_OK(chain_with(N, bytes, NULL, params, &g));
  int32_t part[N];
  CHECK_OK(berth_i_deploy_split(g, N, op, seconds, &o, part));
  CHECK(part[1] != part[2]);
  RELEASE(g);
}

static void check_random_split(berth_rng *rng) {
  double seconds[CHAIN];
  int32_t op[CHAIN], colocated[CHAIN], n = 2 + berth_rng_below(rng, CHAIN - 2),
                                       first = berth_rng_below(rng, n);
  berth_i_dealing o = { 1 + berth_rng_below(rng, 9), berth_rng_below(rng, 100), false, 5 };
  double total = 0, most = 0, load[9] = { 0 }, unit[CHAIN] = { 0 };
  for (int32_t k = 0; k < n; k++) {
    colocated[k] = k < first                      ? BERTH_NONE
                   : berth_rng_below(rng, 8) == 0 ? 1 + berth_rng_below(rng, 3)
                                                  : BERTH_NONE;
    seconds[k] = berth_rng_uniform(rng);
    op[k] = k + first;
  }
  berth_graph *g;
  CHECK_OK(chain(n, NULL, colocated, &g));
  int32_t part[CHAIN];
  CHECK_OK(berth_i_deploy_split(g, n - first, op, seconds, &o, part));
  for (int32_t k = 0; k < n - first; k++) {
    int32_t group = colocated[op[k]];
    CHECK(part[k] >= 0 && part[k] < o.parts);
    for (int32_t i = 0; i < k; i++)
      CHECK(group == BERTH_NONE || group != colocated[op[i]] || part[i] == part[k]);
    total += seconds[op[k]];
    load[part[k]] += seconds[op[k]];
    unit[group == BERTH_NONE ? 4 + k % (CHAIN - 4) : group] += seconds[op[k]];
  }
  for (int32_t k = 0; k < CHAIN; k++) most = fmax(most, unit[k]);
  for (int32_t p = 0; p < o.parts; p++) CHECK(load[p] <= 1.5 * total / o.parts + most + 1e-9);
  RELEASE(g);
}

/* ---- rules and refusals ---- */

static void check_refusal(const berth_analysis_options *o, const char *text) {
  berth_graph *g;
  berth_analysis *a = NULL;
  CHECK_OK(chain(2, NULL, NULL, &g));
  CHECK_STATUS(berth_analyse(g, o, &a), BERTH_EINVAL);
  CHECK(a == NULL);
  CHECK_TEXT(berth_errmsg(ctx), text);
  RELEASE(g);
}

TEST("rules without sense are refused") {
  const berth_kind_rule nameless = { NULL, BERTH_ROLE_AUTO, BERTH_BATCH_AUTO, 0 };
  const berth_kind_rule bad_role = { "a", (berth_role)9, BERTH_BATCH_AUTO, 0 };
  const berth_kind_rule bad_batch = { "a", BERTH_ROLE_AUTO, (berth_batch_rule)8, 0 };
  const int32_t op = 2;
  berth_analysis_options o = berth_analysis_default();
  o.n_rules = 1;
  o.rules = &nameless;
  check_refusal(&o, "rule 0 has no kind");
  o.rules = &bad_role;
  check_refusal(&o, "rule 0: role 9 is unknown");
  o.rules = &bad_batch;
  check_refusal(&o, "rule 0: batch rule 8 is unknown");
  o = berth_analysis_default();
  o.n_ops = 1;
  o.op = &op;
  o.op_rule = &nameless;
  check_refusal(&o, "there is no op 2, only 2 ops");
  o = berth_analysis_default();
  o.flags = 3;
  check_refusal(&o, "option flags is 3 (0 to 2)");
}

TEST("an analysis lives as long as somebody holds it, and keeps the graph") {
  berth_graph *g;
  CHECK_OK(chain(3, NULL, NULL, &g));
  berth_analysis *a = must_analyse(g, NULL);
  RELEASE(g);
  berth_analysis_retain(a);
  RELEASE(a);
  CHECK(berth_graph_ops(berth_analysis_graph(a)) == 3);
  int32_t n;
  CHECK(berth_analysis_base(a, &n)[2] == 2 && n == 3);
  CHECK(berth_analysis_role(a)[0] == BERTH_ROLE_INPUT && berth_analysis_from_input(a)[2]);
  CHECK(berth_analysis_batch(a)[1] && !berth_analysis_gradient(a)[1]);
  RELEASE(a);
  berth_analysis_release(NULL);
}

/* ---- memory ---- */

static berth_status cost_of(berth_graph *g, berth_cost **out) {
  berth_topology *t = NULL;
  berth_topology_builder *b;
  berth_device d = berth_device_default();
  berth_status st = berth_topology_builder_new(ctx, &b);
  if (st != BERTH_OK) return st;
  d.flops = 1e12;
  if ((st = berth_topology_builder_add_device(b, &d, NULL, NULL)) == BERTH_OK)
    st = berth_topology_builder_finish(b, &t);
  RELEASE(b);
  TRY(st, berth_cost_new(g, t, NULL, out));
  RELEASE(t);
  return st;
}

static berth_status all_of_it(berth_graph *g, berth_cost *c, berth_analysis **a,
                              berth_graph **smaller) {
  enum { N = 30 };
  const berth_i_grouping metis = { 4, false, 1, NULL, INFINITY };
  const berth_i_grouping top = { 4, true, 1, NULL, INFINITY };
  const berth_i_dealing deal = { 3, 1, false, 1 };
  berth_simplify_options o = berth_simplify_default();
  berth_status st = berth_analyse(g, NULL, a);
  (void)ctx;
  double seconds[BERTH_I_GROUP_TIMES * N];
  for (int32_t k = 0; k < BERTH_I_GROUP_TIMES * N; k++) seconds[k] = 1e-4;
  int32_t op[N];
  for (int32_t k = 0; k < N; k++) op[k] = k;
  o.cost = c;
  o.cheap = 1;
  int32_t group[N], n;
  TRY(st, berth_i_deploy_group(*a, seconds, &metis, group, &n));
  TRY(st, berth_i_deploy_group(*a, seconds, &top, group, &n));
  TRY(st, berth_i_deploy_split(g, N, op, seconds, &deal, group));
  return st == BERTH_OK ? berth_simplify(g, &o, smaller, group) : st;
}

static berth_status work(void) {
  berth_graph *g = NULL, *smaller = NULL;
  berth_cost *c = NULL;
  berth_analysis *a = NULL;
  berth_status st = chain(30, NULL, NULL, &g);
  TRY(st, cost_of(g, &c));
  TRY(st, all_of_it(g, c, &a, &smaller));
  if (st == BERTH_OK) CHECK(berth_graph_ops(smaller) == 2); /* the input, and all the rest */
  RELEASE(smaller, a, c, g);
  return st;
}

TEST("op groups hold whole base groups, by falling time, balanced, the same again") {
  berth_rng rng = seeded(11, 0);
  for (int k = 0; k < 60; k++) check_random_groups(&rng);
}

TEST("a split cuts where least crosses, and turns with the number of the op group") {
  check_halves(false);
  check_halves(true);
}

TEST("splits keep colocation groups together and are balanced") {
  berth_rng rng = seeded(11, 0);
  for (int k = 0; k < 100; k++) check_random_split(&rng);
}

TEST("a split spreads the times of ops, or their parameters if published") {
  check_heavy_pair(false);
  check_heavy_pair(true);
}
TEST_REFUSALS(work)
