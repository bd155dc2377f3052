/* The layered random graphs of gen_layered.py, read from its files. */
#ifndef BERTH_BENCH_LAYERED_H
#define BERTH_BENCH_LAYERED_H

#include "bench.h"

static char *slurp(const char *path, size_t *len) {
  FILE *f = fopen(path, "rb");
  long n;
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  n = ftell(f);
  rewind(f);
  char *text = malloc((size_t)n + 1);
  *len = fread(text, 1, (size_t)n, f);
  text[*len] = '\0';
  fclose(f);
  return text;
}

static double field(const char **at, const char *key) {
  *at = strstr(*at, key) + strlen(key);
  return strtod(*at, NULL);
}

/* Reads the generator's plain JSON: nodes in id order, then edges; one tensor per producer. */
static berth_graph *read_layered(berth_ctx *ctx, const char *path, int32_t n) {
  size_t len;
  char *text = slurp(path, &len);
  const char *at = text;
  if (!text) return NULL;
  berth_graph_builder *b;
  must(ctx, berth_graph_builder_new(ctx, &b), "builder");
  must(ctx, berth_graph_builder_reserve(b, n, n, 0), "reserve");
  for (int32_t i = 0; i < n; i++) {
    berth_op op = berth_op_default();
    berth_tensor tensor = { i, 0, -1, 0 };
    double seconds = field(&at, "\"cost_us\": ") * 1e-6;
    op.seconds = &seconds;
    op.param_bytes = field(&at, "\"persistent_bytes\": ");
    tensor.bytes = field(&at, "\"output_bytes\": ");
    op.workspace_bytes = field(&at, "\"temp_bytes\": ");
    int32_t id;
    must(ctx, berth_graph_builder_add_op(b, &op, &id), "op");
    must(ctx, berth_graph_builder_add_tensor(b, &tensor, &id), "tensor");
  }
  at = strstr(at, "\"edges\"");
  while (strstr(at, "\"src\": ")) {
    int32_t src = (int32_t)field(&at, "\"src\": ");
    must(ctx, berth_graph_builder_add_consumer(b, src, (int32_t)field(&at, "\"dst\": ")), "edge");
  }
  free(text);
  berth_ctx_memory_reset_peak(ctx);
  berth_graph *g;
  must(ctx, berth_graph_builder_finish(b, &g), "graph");
  berth_graph_builder_release(b);
  return g;
}

#endif
