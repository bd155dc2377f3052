/* The linear program of favourite children on the layered random graphs and on operator graphs of
 * neural networks. */
#include "place_lp_help.h"

/* Transfers in whole microseconds, as the published core prices them. */
static berth_status whole_transfer(void *ud, int32_t tensor, int32_t src, int32_t dst,
                                   double *seconds) {
  const double *bytes = ud;
  (void)src;
  (void)dst;
  *seconds = nearbyint(134 + 0.0001754 * bytes[tensor]) * 1e-6;
  return BERTH_OK;
}

/* ---- gen_layered.py ---- */

static char *generate(int n) {
  char command[4200];
  size_t cap = 1 << 21;
  snprintf(command, sizeof command, "python3 '%s/reference/gen_layered.py' %d 20 1 2>/dev/null",
           check_shared(), n);
  FILE *f;
  if (!(f = popen(command, "r"))) return NULL;
  char *text = malloc(cap);
  size_t len = fread(text, 1, cap - 1, f);
  text[len] = '\0';
  if (pclose(f) == 0 && len > 0) return text;
  free(text);
  return NULL;
}

static double field(const char **at, const char *key) {
  *at = strstr(*at, key) + strlen(key);
  return strtod(*at, NULL);
}

/* @param bytes [n] out: of each op's tensor */
static berth_graph *read_layered(const char *text, int32_t n, double *bytes) {
  const char *at = text;
  berth_graph_builder *b = must_graph_builder_new();
  for (int32_t i = 0; i < n; i++) {
    berth_op op = berth_op_default();
    double seconds = field(&at, "\"cost_us\": ") * 1e-6;
    berth_tensor tensor = { i, bytes[i] = field(&at, "\"output_bytes\": "), -1, 0 };
    op.seconds = &seconds;
    must_add_op(b, &op);
    must_add_tensor(b, &tensor);
  }
  at = strstr(at, "\"edges\"");
  while (strstr(at, "\"src\": ")) {
    int32_t src = (int32_t)field(&at, "\"src\": ");
    CHECK_OK(berth_graph_builder_add_consumer(b, src, (int32_t)field(&at, "\"dst\": ")));
  }
  return must_graph(b);
}

static void check_interval(berth_cost *cost, berth_lp_method method, double gap, double value) {
  berth_lp_options o = { BERTH_LP_MEAN, method, gap, 0 };
  berth_lp *lp = must_lp_solve(cost, &o);
  const berth_lp_summary *s = berth_lp_get(lp);
  CHECK(s->reached);
  if (!CHECK(s->lower <= value + 1e-9 && s->upper >= value - 1e-9))
    printf("# %.10g..%.10g\n", s->lower, s->upper);
}

static void layered(int32_t n, double value) {
  static double bytes[5000];
  char *text = generate(n);
  berth_cost_model model = { 0 };
  if (!text) {
    SKIP("no python3, which draws the graph");
    return;
  }
  berth_graph *g = read_layered(text, n, bytes);
  free(text);
  model.transfer = whole_transfer;
  model.ud = bytes;
  berth_topology *t = must_mesh(2, INFINITY, 1, 0);
  berth_cost *cost = must_cost_new(g, t, &model);
  check_interval(cost, BERTH_LP_ENTROPIC, 0.01, value);
  check_interval(cost, BERTH_LP_AUTO, 0.01, value);
  check_interval(cost, BERTH_LP_AUTO, 1e-7, value);
}

/* ---- operator graphs ---- */

static lp_case *case_of(const berth_lp *lp, berth_cost *cost, lp_case *k) {
  lp_answer a = lp_read(lp);
  k->n = berth_graph_ops(berth_cost_graph(cost));
  k->m = 0;
  if (!CHECK(k->n <= LP_OPS && a.m <= LP_PAIRS)) return NULL;
  CHECK_OK(berth_cost_mean_ops(cost, k->p));
  for (int32_t e = 0; e < a.m; e++) lp_edge(k, a.src[e], a.dst[e], a.c[e]);
  return k;
}

static void operator_graph(const char *name, int oracle) {
  static lp_case k;
  char path[4200];
  berth_lp_options o = { BERTH_LP_MEAN, BERTH_LP_AUTO, 1e-6, 0 };
  snprintf(path, sizeof path, "%s/data/msr-fiddle/throughput-inputs/%s.json", check_shared(), name);
  berth_bundle b;
  if (!CHECK_OK(berth_load(ctx, path, NULL, &b))) return;
  berth_cost *cost = must_cost_new(b.graph, b.topology, NULL);
  berth_lp *lp = must_lp_solve(cost, &o);
  if (!CHECK(berth_lp_get(lp)->reached)) printf("# %s: gap %g\n", name, berth_lp_get(lp)->gap);
  if (oracle && case_of(lp, cost, &k)) {
    double value = lp_simplex(&k, 0);
    CHECK_NEAR(berth_lp_get(lp)->lower, value, 1e-6 * value);
    CHECK_NEAR(berth_lp_get(lp)->upper, value, 1e-6 * value);
  }
  o.method = BERTH_LP_ENTROPIC;
  o.gap = 0.01;
  lp = must_lp_solve(cost, &o);
  CHECK(berth_lp_get(lp)->reached);
  RELEASE(&b);
}

SETUP { glp_term_out(GLP_OFF); }

TEST("layered random graphs of 1,000 ops have the value 28964.867 us, "
     "of 5,000 ops (--full) 152401.766 us") {
  if (check_shared()) {
    layered(1000, 28964.867e-6);
    if (check_name && check_runs(0, 1)) layered(5000, 152401.766e-6);
  } else {
    SKIP("no ../shared");
  }
}

TEST("operator graphs of neural networks to 1e-6, one of them as GLPK has it") {
  if (check_shared()) {
    operator_graph("OperatorGraphs/bert_l-3_training", 1);
    operator_graph("OperatorGraphs/bert_l-6_training", 0);
    operator_graph("OperatorGraphs/resnet50_training", 0);
    operator_graph("OperatorGraphs/bert_L-12_training", 0);
    operator_graph("LayerGraphs/gnmt_training", 1);
    operator_graph("LayerGraphs/resnet50_training", 1);
    operator_graph("LayerGraphs/bert24_training", 1);
  } else {
    SKIP("no ../shared");
  }
  glp_free_env();
}
