/* Every file of the published data sets: counts and sums as their documentation gives them, and
 * berth JSON and GraphML give each graph back. */
#include "must.h"

#include <dirent.h>

static double sum_seconds(const berth_graph *g, int32_t type) {
  double sum = 0;
  berth_op op;
  for (int32_t v = 0; v < berth_graph_ops(g); v++)
    if (berth_graph_op(g, v, &op) == BERTH_OK && op.seconds) sum += op.seconds[type];
  return sum;
}

static double sum_params(const berth_graph *g) {
  double sum = 0;
  berth_op op;
  for (int32_t v = 0; v < berth_graph_ops(g); v++)
    if (berth_graph_op(g, v, &op) == BERTH_OK) sum += op.param_bytes;
  return sum;
}

static double sum_edge_bytes(const berth_graph *g) {
  double sum = 0;
  const int32_t *ops;
  berth_tensor x;
  for (int32_t t = 0; t < berth_graph_tensors(g); t++)
    if (berth_graph_tensor(g, t, &x) == BERTH_OK)
      sum += x.bytes * berth_graph_consumers(g, t, &ops);
  return sum;
}

/* @param format how the file's path follows from its name */
static int load(const char *format, const char *name, const berth_load_options *opts,
                berth_bundle *out) {
  char path[4096], file[200];
  snprintf(file, sizeof file, format, name);
  snprintf(path, sizeof path, "%s/data/%s", check_shared(), file);
  memset(out, 0, sizeof *out);
  berth_status st = berth_load(ctx, path, opts, out);
  if (st != BERTH_OK) printf("# %s\n", berth_errmsg(ctx));
  return CHECK_OK(st);
}

/* Text of a bundle, in berth JSON. */
static berth_text text_of(const berth_bundle *b) {
  berth_text t = { 0 };
  CHECK_OK(berth_write_bundle(b, &t));
  return t;
}

static void check_round_trip(const berth_bundle *b) {
  berth_text first = text_of(b), second = { 0 };
  berth_bundle again = { 0 };
  CHECK_OK(berth_parse(ctx, "again", first.data, first.len, NULL, &again));
  if (again.graph) second = text_of(&again);
  CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
  RELEASE(&first, &second, &again);
}

/* GraphML holds all of a graph but tensors that nobody reads, so the second time nothing is
 * lost. */
static void check_graphml(const berth_bundle *b) {
  berth_text first = { 0 }, second = { 0 }, third = { 0 };
  berth_bundle again = { 0 }, last = { 0 };
  CHECK_OK(berth_write_graph(b->graph, "graphml", &first));
  if (!CHECK_OK(berth_parse(ctx, "ml", first.data, first.len, NULL, &again))) return;
  CHECK_OK(berth_write_graph(again.graph, "graphml", &second));
  CHECK_OK(berth_parse(ctx, "ml", second.data, second.len, NULL, &last));
  CHECK_OK(berth_write_graph(last.graph, "graphml", &third));
  CHECK(second.len == third.len && memcmp(second.data, third.data, second.len) == 0);
  CHECK(berth_graph_edges(again.graph) == berth_graph_edges(b->graph));
  CHECK(sum_edge_bytes(again.graph) == sum_edge_bytes(b->graph));
  CHECK(sum_seconds(again.graph, 0) == sum_seconds(b->graph, 0));
  RELEASE(&first, &second, &third, &again, &last);
}

static void check_sizes(const berth_bundle *b, const char *format, int ops, int edges) {
  CHECK_TEXT(b->format, format);
  CHECK(berth_graph_ops(b->graph) == ops);
  CHECK(berth_graph_edges(b->graph) == edges);
}

/* ---- one test per set ---- */

static int shared_there(void) {
  if (!check_shared()) SKIP("the folder of test data, ../shared, is not there");
  return check_shared() != NULL;
}

TEST("all 10 DOPPLER graphs, the damaged ones as they are") {
  if (!shared_there()) return;
  static const struct {
    const char *name;
    int ops, edges;
    double comp; /* 1e10 units */
  } files[] = {
    { "chain_mm_112nodes", 76, 80, 4800.28 },
    { "ffnn_192nodes", 180, 208, 226.78 },
    { "transformer_block_215nodes", 182, 234, 388.68 },
    { "full_transformer_layer_261nodes", 229, 284, 388.98 },
    { "8gpu_transformer_block", 302, 398, 777.22 },
    { "8gpu_full_transformer", 367, 470, 777.86 },
    { "gdp_chain_mm_112nodes", 76, 80, 4800.28 },
    { "gdp_ffnn_192nodes", 180, 208, 226.78 },
    { "gdp_transformer_block_215nodes", 182, 234, 388.68 },
    { "gdp_full_transformer_layer_261nodes", 229, 284, 388.98 },
  };
  for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
    int32_t kinds = 0;
    berth_bundle b;
    if (!load("doppler/%s.txt", files[k].name, NULL, &b)) continue;
    check_sizes(&b, "doppler", files[k].ops, files[k].edges);
    CHECK_NEAR(sum_seconds(b.graph, 0) / 1e10, files[k].comp, 0.005);
    berth_op op;
    for (int32_t v = 0; v < files[k].ops; v++)
      if (berth_graph_op(b.graph, v, &op) == BERTH_OK)
        kinds += op.kind && strcmp(op.kind, "einsummable") == 0;
    if (strcmp(files[k].name, "gdp_ffnn_192nodes") == 0) CHECK(kinds == 128);
    CHECK((kinds > 0) == (strncmp(files[k].name, "gdp", 3) == 0));
    CHECK(!b.topology);
    check_round_trip(&b);
    check_graphml(&b);
    RELEASE(&b);
  }
}

static int is_producer(const berth_graph *g, int32_t producer, int32_t op) {
  const int32_t *in;
  int32_t n = berth_graph_inputs(g, op, &in);
  berth_tensor x;
  for (int32_t k = 0; k < n; k++)
    if (berth_graph_tensor(g, in[k], &x) == BERTH_OK && x.producer == producer) return 1;
  return 0;
}

static int feeds_forward(const berth_graph *g, int32_t op) {
  const int32_t *out, *ops;
  int32_t n = berth_graph_outputs(g, op, &out);
  for (int32_t k = 0; k < n; k++) {
    int32_t m = berth_graph_consumers(g, out[k], &ops);
    for (int32_t j = 0; j < m; j++)
      if (ops[j] < berth_graph_ops(g) / 2) return 1;
  }
  return 0;
}

/* Twins of sinks wait for them, so no backward op can begin at time 0; parameters count once. */
static void check_physical(const berth_graph *g, int several_sinks) {
  int32_t n = berth_graph_ops(g), sinks = 0;
  for (int32_t v = 0; v < n / 2; v++) {
    if (feeds_forward(g, v)) continue;
    sinks++;
    CHECK(is_producer(g, v, n - 1 - v));
  }
  CHECK(sinks >= 1 + (several_sinks != 0));
  const int32_t *in;
  berth_op op;
  for (int32_t v = n / 2; v < n; v++) {
    op = must_graph_op(g, v);
    CHECK(op.twin == n - 1 - v && op.param_bytes == 0);
    CHECK(berth_graph_inputs(g, v, &in) > 0);
  }
}

TEST("all 5 PipeDream profiles, mirrored and forward only") {
  if (!shared_there()) return;
  static const struct {
    const char *name;
    int ops, edges;
    double forward, backward, memory, dependencies; /* ms, ms, bytes of both passes, bytes x
                                                       consumers */
  } files[] = {
    { "alexnet", 46, 47, 680.703, 40.520, 3046234440.0, 2422161416.0 },
    { "gnmt", 96, 117, 33.533, 55.883, 2368446976.0, 1027801088.0 },
    { "resnet18", 142, 159, 581.071, 152.296, 17258656072.0, 18733285384.0 },
    { "squeezenet1_0", 136, 153, 587.884, 172.119, 24962622792.0, 27910094856.0 },
    { "vgg16", 82, 83, 251.874, 438.633, 30625298760.0, 29467058184.0 },
  };
  for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
    berth_load_options forward_only = berth_load_default(), pacml = berth_load_default();
    double activations = 0;
    forward_only.forward_only = 1;
    pacml.mirror = BERTH_MIRROR_PACML;
    berth_bundle physical;
    if (!load("pipedream/%s.txt", files[k].name, NULL, &physical)) continue;
    check_physical(physical.graph, strcmp(files[k].name, "gnmt") == 0);
    CHECK_NEAR(sum_seconds(physical.graph, 0), (files[k].forward + files[k].backward) * 1e-3, 6e-7);
    check_round_trip(&physical);
    RELEASE(&physical);
    berth_bundle both, forward;
    if (!load("pipedream/%s.txt", files[k].name, &pacml, &both)
        || !load("pipedream/%s.txt", files[k].name, &forward_only, &forward))
      continue;
    check_sizes(&both, "pipedream", files[k].ops, files[k].edges);
    check_sizes(&forward, "pipedream", files[k].ops / 2, (files[k].edges - 1) / 2);
    CHECK_NEAR(sum_seconds(forward.graph, 0), files[k].forward * 1e-3, 1e-9);
    CHECK_NEAR(sum_seconds(both.graph, 0), (files[k].forward + files[k].backward) * 1e-3, 6e-7);
    berth_tensor x;
    for (int32_t t = 0; t < berth_graph_tensors(forward.graph); t++)
      if (berth_graph_tensor(forward.graph, t, &x) == BERTH_OK) activations += x.bytes;
    CHECK_NEAR(2 * (activations + sum_params(forward.graph)), files[k].memory, 1);
    CHECK_NEAR(sum_params(both.graph), 2 * sum_params(forward.graph), 1);
    CHECK_NEAR(sum_edge_bytes(both.graph), files[k].dependencies, 0);
    check_round_trip(&both);
    check_graphml(&both);
    RELEASE(&both, &forward);
  }
}

TEST("all 24 dnn-partitioning inputs, with and without CPUs") {
  if (!shared_there()) return;
  static const struct {
    const char *name;
    int ops, edges, accelerators;
  } files[] = {
    { "latency-inputs/LayerGraphs/bert24_inference", 32, 55, 5 },
    { "latency-inputs/LayerGraphs/gnmt_inference", 96, 122, 6 },
    { "latency-inputs/LayerGraphs/inceptionv3_inference", 326, 363, 12 },
    { "latency-inputs/LayerGraphs/resnet50_inference", 177, 193, 14 },
    { "latency-inputs/OperatorGraphs/bert_l-12_inference", 783, 843, 8 },
    { "latency-inputs/OperatorGraphs/bert_l-3_inference", 235, 250, 4 },
    { "latency-inputs/OperatorGraphs/bert_l-6_inference", 418, 448, 6 },
    { "latency-inputs/OperatorGraphs/resnet50_inference", 604, 619, 9 },
    { "throughput-inputs/LayerGraphs/bert24_inference", 32, 55, 6 },
    { "throughput-inputs/LayerGraphs/bert24_training", 64, 110, 6 },
    { "throughput-inputs/LayerGraphs/gnmt_inference", 96, 122, 6 },
    { "throughput-inputs/LayerGraphs/gnmt_training", 192, 244, 6 },
    { "throughput-inputs/LayerGraphs/inceptionv3_inference", 326, 363, 6 },
    { "throughput-inputs/LayerGraphs/inceptionv3_training", 652, 726, 6 },
    { "throughput-inputs/LayerGraphs/resnet50_inference", 177, 193, 6 },
    { "throughput-inputs/LayerGraphs/resnet50_training", 354, 386, 6 },
    { "throughput-inputs/OperatorGraphs/bert_L-12_training", 2012, 2751, 6 },
    { "throughput-inputs/OperatorGraphs/bert_l-12_inference", 783, 843, 6 },
    { "throughput-inputs/OperatorGraphs/bert_l-3_inference", 235, 250, 3 },
    { "throughput-inputs/OperatorGraphs/bert_l-3_training", 600, 817, 3 },
    { "throughput-inputs/OperatorGraphs/bert_l-6_inference", 418, 448, 3 },
    { "throughput-inputs/OperatorGraphs/bert_l-6_training", 1071, 1462, 3 },
    { "throughput-inputs/OperatorGraphs/resnet50_inference", 604, 619, 6 },
    { "throughput-inputs/OperatorGraphs/resnet50_training", 1243, 1806, 6 },
  };
  for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
    int latency = strncmp(files[k].name, "latency", 7) == 0,
        layers = strstr(files[k].name, "Layer") != NULL;
    berth_load_options with_cpus = berth_load_default();
    with_cpus.cpus = 1;
    berth_bundle plain, cpus;
    if (!load("msr-fiddle/%s.json", files[k].name, NULL, &plain)
        || !load("msr-fiddle/%s.json", files[k].name, &with_cpus, &cpus))
      continue;
    check_sizes(&plain, "dnn-partitioning", files[k].ops, files[k].edges);
    check_sizes(&cpus, "dnn-partitioning", files[k].ops, files[k].edges);
    if (!CHECK(berth_topology_devices(plain.topology) == files[k].accelerators)) {
      printf("# %s: %d\n", files[k].name, (int)berth_topology_devices(plain.topology));
    }
    CHECK(berth_topology_devices(cpus.topology) == files[k].accelerators + (latency ? 8 : 1));
    berth_device d = must_topology_device(plain.topology, 0);
    CHECK_TEXT(d.type, "accelerator");
    CHECK(latency ? d.memory == 629145600.0 || d.memory == 2147483648.0
                  : d.memory >= 17e9 && d.memory < 17.2e9);
    CHECK_NEAR(sum_seconds(plain.graph, 0), sum_seconds(cpus.graph, 0), 0);
    if (layers)
      CHECK_NEAR(sum_seconds(cpus.graph, 1), 10 * sum_seconds(cpus.graph, 0),
                 1e-9 * sum_seconds(cpus.graph, 1));
    check_round_trip(&plain);
    check_round_trip(&cpus);
    check_graphml(&cpus);
    RELEASE(&plain, &cpus);
  }
}

/* Single-device times of the operator graphs, ms. */
TEST("single-device times of the operator graphs") {
  if (!shared_there()) return;
  static const struct {
    const char *name;
    double ms;
  } files[] = { { "bert_l-3_training", 123.1 },
                { "bert_l-6_training", 193.0 },
                { "resnet50_training", 685.5 },
                { "bert_L-12_training", 1891.8 } };
  for (size_t k = 0; k < 4; k++) {
    berth_bundle b;
    if (!load("msr-fiddle/throughput-inputs/OperatorGraphs/%s.json",
              files[k].name, NULL, &b))
      continue;
    /* documented with times of at least 1 us each */
    CHECK_NEAR(sum_seconds(b.graph, 0), files[k].ms * 1e-3, 1e-3);
    RELEASE(&b);
  }
}

TEST("180 random STG graphs: work and critical path") {
  if (!shared_there()) return;
  char path[4096];
  int seen = 0;
  double last_work = 0;
  snprintf(path, sizeof path, "%s/data/stg/optimum.csv", check_shared());
  FILE *f;
  if (!CHECK((f = fopen(path, "r")) != NULL)) return;
  char line[256];
  while (fgets(line, sizeof line, f)) {
    char name[64], status[16];
    int n, procs;
    double lower, best, path_length, work;
    if (sscanf(line, "%63[^,],%d,%d,%15[^,],%lf,%lf,%lf,%lf", name, &n, &procs, status, &lower,
               &best, &path_length, &work)
        != 8)
      continue;
    if (procs != 2) continue;
    berth_bundle b;
    if (!load("stg/%s", name, NULL, &b)) continue;
    CHECK(berth_graph_ops(b.graph) == n + 2);
    CHECK_NEAR(sum_seconds(b.graph, 0), work, 0);
    double order[2048];
    {
      double comp[2048], top = 0;
      berth_op op;
      for (int32_t v = 0; v < n + 2; v++)
        if (berth_graph_op(b.graph, v, &op) == BERTH_OK) comp[v] = op.seconds[0];
      CHECK_OK(berth_b_level(b.graph, comp, NULL, order));
      for (int32_t v = 0; v < n + 2; v++) top = order[v] > top ? order[v] : top;
      CHECK_NEAR(top, path_length, 0);
    }
    last_work = work;
    seen++;
    if (seen % 20 == 0) check_round_trip(&b);
    RELEASE(&b);
  }
  fclose(f);
  CHECK(seen == 180 && last_work > 0);
}

TEST("3 STG applications") {
  if (!shared_there()) return;
  static const struct {
    const char *name;
    int tasks;
    double work;
  } files[] = { { "robot", 88, 2483 }, { "fpppp", 334, 7129 }, { "sparse", 96, 1936 } };
  for (size_t k = 0; k < 3; k++) {
    berth_bundle b;
    if (!load("stg/%s.stg", files[k].name, NULL, &b)) continue;
    CHECK(berth_graph_ops(b.graph) == files[k].tasks + 2);
    CHECK_NEAR(sum_seconds(b.graph, 0), files[k].work, 0);
    check_round_trip(&b);
    RELEASE(&b);
  }
}

TEST("all 12 SAGA instances") {
  if (!shared_there()) return;
  static const struct {
    const char *name;
    int ops, devices, types;
  } files[] = {
    { "chain12", 12, 3, 1 },
    { "fft32", 224, 8, 1 },
    { "forkjoin100", 100, 8, 1 },
    { "gauss12", 77, 6, 1 },
    { "layered_n100_p8_c0.2_het", 102, 8, 1 },
    { "layered_n100_p8_c5_het", 102, 8, 1 },
    { "layered_n20_p3_c1_het", 22, 3, 1 },
    { "layered_n300_p16_c0.5_het", 302, 16, 1 },
    { "layered_n40_p4_c0.5_het", 42, 4, 1 },
    { "layered_n60_p6_c10_het", 62, 6, 1 },
    { "peft10", 10, 3, 3 },
    { "topcuoglu10", 10, 3, 3 },
  };
  for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
    berth_bundle b;
    if (!load("saga_reference/%s.json", files[k].name, NULL, &b)) continue;
    CHECK_TEXT(b.format, "saga");
    CHECK_TEXT(berth_graph_name(b.graph), files[k].name);
    CHECK(berth_graph_ops(b.graph) == files[k].ops);
    CHECK(berth_graph_types(b.graph) == files[k].types);
    CHECK(berth_topology_devices(b.topology) == files[k].devices);
    CHECK(berth_topology_links(b.topology) == files[k].devices * (files[k].devices - 1));
    if (strcmp(files[k].name, "peft10") == 0) {
      CHECK_NEAR(sum_seconds(b.graph, 0), 22 + 22 + 32 + 7 + 29 + 26 + 14 + 29 + 15 + 13, 0);
      CHECK_TEXT(berth_graph_type(b.graph, 2), "p3");
    }
    check_round_trip(&b);
    check_graphml(&b);
    RELEASE(&b);
  }
}

TEST("all 13 workflows") {
  if (!shared_there()) return;
  char path[4096];
  int seen = 0;
  snprintf(path, sizeof path, "%s/data/wfcommons/index.csv", check_shared());
  FILE *f;
  if (!CHECK((f = fopen(path, "r")) != NULL)) return;
  char line[512];
  while (fgets(line, sizeof line, f)) {
    char name[128];
    int n, m, with_data;
    double work, critical, parallelism, recorded, bytes;
    if (sscanf(line, "%127[^,],%d,%d,%d,%lf,%lf,%lf,%lf,%lf", name, &n, &m, &with_data, &work,
               &critical, &parallelism, &recorded, &bytes)
        != 9) {
      continue;
    }
    berth_bundle b;
    if (!load("wfcommons/%s.json", name, NULL, &b)) continue;
    check_sizes(&b, "wfcommons", n, m);
    CHECK_NEAR(sum_seconds(b.graph, 0), work, 5.01e-4);
    CHECK_NEAR(sum_edge_bytes(b.graph), bytes, 0.5);
    check_round_trip(&b);
    check_graphml(&b);
    RELEASE(&b);
    seen++;
  }
  fclose(f);
  CHECK(seen == 13);
}
