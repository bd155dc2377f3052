/* m-ETF against the figures that the published code gives: four small cases by hand, four training
 * graphs from a folder of data beside the project (skipped where that is absent). */
#include "must.h"
#include <cjson/cJSON.h>

/* ---- cases: time unit 1 s, transfer times as bytes over 1 byte/s ---- */

typedef struct edge {
  int32_t src, dst;
  double time;
} edge;

/* The loader of one tensor per edge: what the published small cases mean. */
static berth_graph *small_graph(int n, const double *times, const double *memory, const edge *edges,
                                int m) {
  berth_graph_builder *b;
  berth_graph_builder_new(ctx, &b);
  int32_t id;
  for (int i = 0; i < n; i++) {
    berth_op op = berth_op_default();
    op.seconds = &times[i];
    op.param_bytes = memory ? memory[i] : 0;
    berth_graph_builder_add_op(b, &op, &id);
  }
  for (int i = 0; i < m; i++) {
    berth_tensor t = { edges[i].src, edges[i].time, 0, 0 };
    berth_graph_builder_add_tensor(b, &t, &id);
    berth_graph_builder_add_consumer(b, id, edges[i].dst);
  }
  berth_graph *g;
  berth_graph_builder_finish(b, &g);
  RELEASE(b);
  return OWNED(g);
}

static berth_cost *on_mesh(berth_graph *g, int devices, double memory, double bandwidth) {
  berth_topology *t;
  mesh_of(devices, memory, bandwidth, 0, &t);
  berth_cost *cost;
  berth_cost_new(g, t, NULL, &cost);
  RELEASE(t, g);
  return OWNED(cost);
}

static void expect(berth_cost *cost, const char *variant, const int32_t *device, double makespan) {
  berth_place_options o = berth_place_default(NULL);
  o.variant = variant;
  o.quantum = 1; /* the cases count whole seconds */
  berth_placement *p = must_place(cost, "m-etf", &o);
  for (int i = 0; i < berth_placement_ops(p); i++) {
    if (!CHECK(berth_placement_device(p)[i] == device[i]))
      printf("# op %d on %d\n", i, berth_placement_device(p)[i]);
  }
  CHECK_NEAR(berth_placement_estimate(p), makespan, 1e-9);
}

#define N(a) ((int)(sizeof(a) / sizeof *(a)))

TEST("published m-ETF, case A: memory turns an op away") {
  static const double times[] = { 1, 3, 3, 1, 3, 1 }, memory[] = { 1, 2, 2, 1, 1, 1 };
  static const edge edges[] = { { 0, 1, 1 }, { 0, 4, 1 }, { 1, 2, 1 },
                                { 2, 3, 1 }, { 4, 5, 1 }, { 5, 3, 1 } };
  static const int32_t device[] = { 0, 0, 1, 1, 1, 0 };
  berth_cost *cost =
      on_mesh(small_graph(N(times), times, memory, edges, N(edges)), 2, 4, 1);
  expect(cost, "baechi-tf", device, 9);
  expect(cost, "baechi-pt", device, 9);
  RELEASE(cost);
}

TEST("published m-ETF, case B: idling would win, it does not idle") {
  static const double times[] = { 5, 4, 7, 4 };
  static const edge edges[] = { { 0, 2, 1 }, { 1, 2, 3 }, { 1, 3, 1 } };
  static const int32_t device[] = { 0, 1, 0, 1 };
  berth_cost *cost =
      on_mesh(small_graph(N(times), times, NULL, edges, N(edges)), 2, INFINITY, 1);
  expect(cost, "baechi-tf", device, 14);
  RELEASE(cost);
}

TEST("published m-ETF, case C: two components") {
  static const double times[] = { 9, 9, 8, 5, 6, 4 };
  static const edge edges[] = { { 0, 2, 2 }, { 1, 2, 3 }, { 1, 3, 1 }, { 4, 5, 3 } };
  static const int32_t device[] = { 0, 1, 1, 1, 0, 0 };
  berth_cost *cost =
      on_mesh(small_graph(N(times), times, NULL, edges, N(edges)), 2, INFINITY, 1);
  expect(cost, "baechi-tf", device, 22);
  RELEASE(cost);
}

TEST("published m-ETF, case D: both disciplines, and the published simulator") {
  static const double times[] = { 6, 7, 9, 8, 10, 6, 6, 10, 6 };
  static const edge edges[] = { { 0, 2, 1 }, { 0, 3, 5 }, { 0, 4, 2 }, { 1, 2, 1 },
                                { 1, 3, 1 }, { 1, 4, 1 }, { 2, 5, 5 }, { 2, 6, 3 },
                                { 3, 5, 4 }, { 3, 6, 1 }, { 3, 7, 5 }, { 4, 8, 1 } };
  static const int32_t device[] = { 0, 1, 1, 0, 2, 1, 1, 0, 2 };
  berth_cost *cost =
      on_mesh(small_graph(N(times), times, NULL, edges, N(edges)), 3, INFINITY, 1);
  expect(cost, "baechi-tf", device, 29);
  expect(cost, "baechi-pt", device, 29);
  berth_sim_options o = must_sim_preset("baechi-tf");
  o.quantum = 1;
  berth_result *r = must_simulate(cost, device, &o);
  CHECK_NEAR(berth_result_makespan(r), 34, 1e-9);
  RELEASE(cost);
}

/* ---- training graphs ---- */

static char *slurp(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  char *text = malloc((size_t)n + 1);
  text[fread(text, 1, (size_t)n, f)] = '\0';
  fclose(f);
  return text;
}

static double number(const cJSON *o, const char *key) {
  return cJSON_GetObjectItem(o, key)->valuedouble;
}

/* Times max(1, trunc(1000 latency)) us; one tensor per producer, round(1000 cost) us for each
 * destination; parameters = size. */
static berth_graph *read_training(const cJSON *root) {
  const cJSON *nodes = cJSON_GetObjectItem(root, "nodes"), *o;
  int n = cJSON_GetArraySize(nodes), most = 0, i = 0;
  cJSON_ArrayForEach(o, nodes) most = number(o, "id") > most ? (int)number(o, "id") : most;
  int *by_id = calloc((size_t)most + 1, sizeof *by_id);
  int32_t *tensor = malloc((size_t)n * sizeof *tensor);
  berth_graph_builder *b;
  berth_graph_builder_new(ctx, &b);
  cJSON_ArrayForEach(o, nodes) {
    berth_op op = berth_op_default();
    double seconds = 1e-6 * fmax(1, trunc(1000 * number(o, "fpgaLatency")));
    op.seconds = &seconds;
    op.param_bytes = number(o, "size");
    by_id[(int)number(o, "id")] = i;
    tensor[i++] = -1;
    must_add_op(b, &op);
  }
  cJSON_ArrayForEach(o, cJSON_GetObjectItem(root, "edges")) {
    int src = by_id[(int)number(o, "sourceId")], dst = by_id[(int)number(o, "destId")];
    berth_tensor t = { src, nearbyint(1000 * number(o, "cost")), 0, 0 };
    if (tensor[src] < 0)
      tensor[src] = must_add_tensor(b, &t);
    CHECK_OK(berth_graph_builder_add_consumer(b, tensor[src], dst));
  }
  berth_graph *g = must_graph(b);
  RELEASE(by_id, tensor);
  return g;
}

static berth_cost *training_cost(const char *shared, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/data/msr-fiddle/throughput-inputs/OperatorGraphs/%s.json", shared,
           name);
  char *text;
  cJSON *root;
  if (!(text = slurp(path)) || !(root = cJSON_Parse(text))) {
    CHECK(!"the file can be read");
    return NULL;
  }
  berth_cost *cost = on_mesh(read_training(root), (int)number(root, "maxFPGAs"),
                             number(root, "maxSizePerFPGA"), 1e6);
  cJSON_Delete(root);
  free(text);
  return cost;
}

/* The published simulator's step time of the queue plan, and the parallel plan's own, in ms. */
static void expect_training(const char *shared, const char *name, double queue_ms,
                            double parallel_ms) {
  berth_cost *cost = training_cost(shared, name);
  berth_place_options o = berth_place_default(NULL);
  berth_placement *p = NULL;
  berth_result *r = NULL;
  if (!cost) return;
  o.variant = "baechi-tf";
  berth_sim_options so;
  if (CHECK_OK(berth_place(cost, "m-etf", &o, &p, NULL))) {
    so = must_sim_preset("baechi-tf");
    r = must_simulate(cost, berth_placement_device(p), &so);
    CHECK_NEAR(1e3 * berth_result_makespan(r), queue_ms, 0.0501);
    RELEASE(p);
  } else {
    printf("# %s\n", berth_errmsg(ctx));
  }
  o.variant = "baechi-pt";
  if (!isnan(parallel_ms) && CHECK_OK(berth_place(cost, "m-etf", &o, &p, NULL))) {
    CHECK_NEAR(1e3 * berth_placement_estimate(p), parallel_ms, 0.0501);
    RELEASE(p);
  }
}

static void training(const char *name, double queue_ms, double parallel_ms) {
  const char *shared = check_shared();
  if (!shared) {
    SKIP("no folder ../shared beside the project");
    return;
  }
  expect_training(shared, name, queue_ms, parallel_ms);
}

TEST("BERT-3 training") { training("bert_l-3_training", 199.9, 121.0); }
TEST("BERT-6 training") { training("bert_l-6_training", 338.7, 190.1); }
TEST("ResNet-50 training") { training("resnet50_training", 879.3, 729.9); }

TEST("BERT-12 training: 23 GB of parameters on six devices") {
  training("bert_L-12_training", 2800.8, NAN);
}
