/* m-SCT of the published programs with several optimal solutions of its linear program: the answers
 * depend on which one the solver hands out. Training graphs of the dnn-partitioning set, under the
 * mapping of which the published figures are. Prints a table in Markdown.
 * usage: sct_vertices SHARED [VERTICES]
 *   cc -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -Icore/include -Ispec/c scripts/bench/sct_vertices.c
 *      -o sct_vertices build/libberth.a $(make -s libs) -lglpk */
#include "list/sct_vertex.h"
#include <berth/berth.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct model {
  const char *file, *label;
  double queue, parallel; /* published, ms; 0: not */
} model;

static const model models[] = { { "bert_l-3_training", "BERT-3", 233.5, 116.9 },
                                { "bert_l-6_training", "BERT-6", 395.8, 182.1 },
                                { "resnet50_training", "ResNet-50", 941.2, 618.9 },
                                { "bert_L-12_training", "BERT-12", 3050.2, 0 } };

typedef struct study {
  berth_ctx *ctx;
  berth_cost *cost;
  vertex_problem v;
  double *p, *c, *x, *weight;
  int32_t *src, *dst, *child;
} study;

static void must(berth_ctx *ctx, berth_status st, const char *what) {
  if (st == BERTH_OK) return;
  fprintf(stderr, "sct_vertices: %s: %s\n", what, berth_errmsg(ctx));
  exit(1);
}

static cJSON *read_json(const char *shared, const char *name) {
  char path[4096];
  long n;
  snprintf(path, sizeof path, "%s/data/msr-fiddle/throughput-inputs/OperatorGraphs/%s.json", shared,
           name);
  FILE *f;
  if (!(f = fopen(path, "rb"))) {
    fprintf(stderr, "sct_vertices: no %s\n", path);
    exit(1);
  }
  fseek(f, 0, SEEK_END);
  n = ftell(f);
  rewind(f);
  char *text = calloc((size_t)n + 1, 1);
  if (fread(text, 1, (size_t)n, f) != (size_t)n) exit(1);
  fclose(f);
  cJSON *json = cJSON_Parse(text);
  free(text);
  return json;
}

static double number(const cJSON *o, const char *key) {
  return cJSON_GetObjectItem(o, key)->valuedouble;
}

static int32_t find(const cJSON *nodes, double id) {
  const cJSON *node;
  int32_t i = 0;
  cJSON_ArrayForEach(node, nodes) {
    if (number(node, "id") == id) return i;
    i++;
  }
  return BERTH_NONE;
}

static void add_ops(study *s, berth_graph_builder *b, const cJSON *nodes) {
  const cJSON *node;
  int32_t i = 0;
  cJSON_ArrayForEach(node, nodes) {
    berth_op op = berth_op_default();
    s->p[i] = fmax(1, floor(1000 * number(node, "fpgaLatency"))) * 1e-6;
    op.seconds = &s->p[i++];
    op.param_bytes = number(node, "size");
    must(s->ctx, berth_graph_builder_add_op(b, &op, NULL), "op");
  }
}

/* One tensor per producer; one byte crosses in one microsecond. */
static void add_edges(study *s, berth_graph_builder *b, const cJSON *nodes, const cJSON *edges,
                      int32_t *tensor) {
  const cJSON *edge;
  int32_t e = 0;
  cJSON_ArrayForEach(edge, edges) {
    int32_t from = find(nodes, number(edge, "sourceId"));
    berth_tensor t = { from, floor(1000 * number(edge, "cost") + 0.5), 0, 0 };
    s->src[e] = from;
    s->dst[e] = find(nodes, number(edge, "destId"));
    s->c[e] = t.bytes * 1e-6;
    if (tensor[from] == BERTH_NONE)
      must(s->ctx, berth_graph_builder_add_tensor(b, &t, &tensor[from]), "tensor");
    must(s->ctx, berth_graph_builder_add_consumer(b, tensor[from], s->dst[e++]), "consumer");
  }
}

static void load(study *s, const char *shared, const char *name) {
  cJSON *json = read_json(shared, name);
  const cJSON *nodes = cJSON_GetObjectItem(json, "nodes"),
              *edges = cJSON_GetObjectItem(json, "edges");
  size_t n = (size_t)cJSON_GetArraySize(nodes), m = (size_t)cJSON_GetArraySize(edges);
  berth_device device = berth_device_default();
  berth_link link = { 1e6, 0 };
  int32_t *tensor = malloc(n * sizeof *tensor);
  s->p = malloc(n * sizeof *s->p);
  s->child = malloc(n * sizeof *s->child);
  s->c = malloc(m * sizeof *s->c);
  s->x = malloc(m * sizeof *s->x);
  s->weight = malloc(m * sizeof *s->weight);
  s->src = malloc(m * sizeof *s->src);
  s->dst = malloc(m * sizeof *s->dst);
  for (size_t i = 0; i < n; i++) tensor[i] = BERTH_NONE;
  berth_graph_builder *b;
  must(s->ctx, berth_graph_builder_new(s->ctx, &b), "builder");
  add_ops(s, b, nodes);
  add_edges(s, b, nodes, edges, tensor);
  berth_graph *g;
  must(s->ctx, berth_graph_builder_finish(b, &g), "graph");
  berth_graph_builder_release(b);
  device.memory = number(json, "maxSizePerFPGA");
  berth_topology *t;
  must(s->ctx, berth_topology_mesh(s->ctx, (int32_t)number(json, "maxFPGAs"), &device, &link, &t),
       "topology");
  must(s->ctx, berth_cost_new(g, t, NULL, &s->cost), "cost");
  berth_graph_release(g);
  berth_topology_release(t);
  s->v = (vertex_problem){ (int32_t)n, (int32_t)m, s->p, s->c, s->src, s->dst };
  free(tensor);
  cJSON_Delete(json);
}

static void unload(study *s) {
  berth_cost_release(s->cost);
  free(s->p);
  free(s->c);
  free(s->x);
  free(s->weight);
  free(s->src);
  free(s->dst);
  free(s->child);
}

/* ms: parallel: planned; queue: planned, then run by the published simulator. */
static double judge(study *s, bool queue, berth_place_options o) {
  o.variant = queue ? "baechi-tf" : "baechi-pt";
  o.quantum = 1e-6;
  berth_placement *p;
  must(s->ctx, berth_place(s->cost, "m-sct", &o, &p, NULL), "m-sct");
  double ms = 1e3 * berth_placement_estimate(p);
  berth_sim_options so;
  berth_result *r;
  if (queue) {
    must(s->ctx, berth_sim_preset(s->ctx, "baechi-tf", &so), "preset");
    must(s->ctx, berth_simulate(s->cost, berth_placement_device(p), &so, &r), "simulation");
    ms = 1e3 * berth_result_makespan(r);
    berth_result_release(r);
  }
  berth_placement_release(p);
  return ms;
}

static double with_solver(study *s, bool queue, double gap) {
  berth_place_options o = berth_place_default(NULL);
  o.gap = gap;
  return judge(s, queue, o);
}

static double with_vertex(study *s, bool queue) {
  berth_place_options o = berth_place_default(NULL);
  vertex_favourites(&s->v, s->x, queue ? 0.1 : 0.5, s->child);
  o.favourites = BERTH_FAVOURITES_GIVEN;
  o.favourite = s->child;
  return judge(s, queue, o);
}

typedef struct range {
  double own, least, most; /* with the solver's own vertex; of all */
} range;

static void widen(range *r, double ms, bool own) {
  if (own) r->own = r->least = r->most = ms;
  r->least = fmin(r->least, ms);
  r->most = fmax(r->most, ms);
}

static void row(const model *m, const char *what, double published, double rough, double exact,
                range r) {
  printf("| %s, %s | ", m->label, what);
  if (published > 0) {
    printf("%.1f", published);
  } else {
    printf("-");
  }
  printf(" | %.1f | %.1f | %.1f | %.1f to %.1f |\n", rough, exact, r.own, r.least, r.most);
}

static void run(const char *shared, const model *m, int vertices) {
  study s = { 0 };
  range queue = { 0 }, parallel = { 0 };
  must(NULL, berth_ctx_new(NULL, &s.ctx), "context");
  load(&s, shared, m->file);
  berth_rng rng;
  berth_rng_init(&rng, 1, 0);
  for (int k = 0; k < vertices; k++) {
    /* in turn: weights of both signs, such that few edges have x < 1, such that many have x = 0 */
    for (int32_t e = 0; e < s.v.m; e++) s.weight[e] = berth_rng_uniform(&rng) - 0.5 * ((k + 1) % 3);
    if (isnan(sct_vertex(&s.v, k ? s.weight : NULL, s.x))) continue;
    widen(&queue, with_vertex(&s, true), k == 0);
    widen(&parallel, with_vertex(&s, false), k == 0);
  }
  row(m, "queue, tau 0.1", m->queue, with_solver(&s, true, 0.01), with_solver(&s, true, 1e-6),
      queue);
  row(m, "parallel, tau 0.5", m->parallel, with_solver(&s, false, 0.01),
      with_solver(&s, false, 1e-6), parallel);
  fflush(stdout);
  unload(&s);
  berth_ctx_release(s.ctx);
}

int main(int argc, char **argv) {
  int vertices = argc > 2 ? atoi(argv[2]) : 12;
  if (argc < 2 || vertices < 1) {
    fprintf(stderr, "usage: sct_vertices SHARED [VERTICES]\n");
    return 2;
  }
  printf(
      "| ms | published | own solver, gap 1 %% | own solver, gap 1e-6 | simplex | %d vertices |\n"
      "|---|---|---|---|---|---|\n",
      vertices);
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) run(argv[1], &models[i], vertices);
  return 0;
}
