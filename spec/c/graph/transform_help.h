/* Random graphs for the transforms, and what must hold of every answer, found out without the
 * library's own searches. */
#ifndef BERTH_TRANSFORM_HELP_H
#define BERTH_TRANSFORM_HELP_H

#include "must.h"

typedef struct recipe {
  int32_t ops, groups;  /* groups 0: none */
  int types, twins, collectives;
  double density;       /* chance of an edge to each later op within reach */
  int32_t reach;
} recipe;

static void *must_have(size_t n, size_t size) {
  void *p = calloc(n ? n : 1, size);
  if (!p) exit(3);
  return p;
}

static void add_random_op(berth_graph_builder *b, berth_rng *rng, const recipe *r, int32_t id) {
  static const char *const kinds[] = { "matmul", "relu" };
  char name[32];
  berth_op op = berth_op_default();
  snprintf(name, sizeof name, "n%d", (int)id);
  double seconds[2];
  seconds[0] = berth_rng_below(rng, 8);
  seconds[1] =
      r->types > 1 && berth_rng_below(rng, 6) == 0 ? BERTH_UNSUPPORTED : berth_rng_below(rng, 8);
  op.name = name;
  op.kind = kinds[berth_rng_below(rng, 2)];
  op.seconds = seconds;
  op.flop = berth_rng_below(rng, 5);
  op.param_bytes = berth_rng_below(rng, 16);
  op.workspace_bytes = berth_rng_below(rng, 9);
  op.group = r->groups > 0 && berth_rng_below(rng, 5) > 0 ? 3 * berth_rng_below(rng, r->groups)
                                                          : BERTH_NONE;
  if (r->twins && id % 2 == 1 && berth_rng_below(rng, 2)) op.twin = id - 1;
  must_add_op(b, &op);
}

/* Edges lead from lower to higher `rank`, so ids are in no order. */
static void add_random_tensors(berth_graph_builder *b, berth_rng *rng, const recipe *r,
                               const int32_t *by_rank) {
  for (int32_t k = 0; k < r->ops; k++) {
    int32_t n = berth_rng_below(rng, 3);
    for (int32_t t = 0; t < n; t++) {
      berth_tensor x = { .producer = by_rank[k],
                         .bytes = berth_rng_below(rng, 6),
                         .resident_bytes = berth_rng_below(rng, 6) };
      int32_t id = must_add_tensor(b, &x);
      int32_t most = k + 1 + r->reach < r->ops ? k + 1 + r->reach : r->ops;
      for (int32_t j = k + 1; j < most; j++) {
        if (berth_rng_uniform(rng) < r->density)
          CHECK_OK(berth_graph_builder_add_consumer(b, id, by_rank[j]));
      }
    }
  }
}

static void add_random_collective(berth_graph_builder *b, berth_rng *rng, const recipe *r,
                                  const int32_t *by_rank) {
  int32_t cut = 1 + berth_rng_below(rng, r->ops - 1), members[4], consumers[3], n = 0, m = 0;
  berth_collective c = {
    .kind = BERTH_ALLREDUCE, .bytes = 4, .count = 1, .members = members, .consumers = consumers
  };
  for (int32_t j = 0; j < cut && n < 4; j++) {
    if (berth_rng_below(rng, 3) == 0) members[n++] = by_rank[j];
  }
  for (int32_t j = cut; j < r->ops && m < 3; j++) {
    if (berth_rng_below(rng, 3) == 0) consumers[m++] = by_rank[j];
  }
  c.n_members = n;
  c.n_consumers = m;
  if (n > 0) must_add_collective(b, &c);
}

static berth_graph *random_transformable(berth_rng *rng, const recipe *r) {
  static const char *const types[] = { "cpu", "gpu" };
  int32_t *by_rank = must_have((size_t)r->ops, sizeof *by_rank);
  berth_graph_builder *b = must_graph_builder_new();
  if (r->types > 1) CHECK_OK(berth_graph_builder_types(b, 2, types));
  for (int32_t k = 0; k < r->ops; k++) {
    add_random_op(b, rng, r, k);
    by_rank[k] = k;
  }
  berth_rng_shuffle(rng, by_rank, r->ops);
  add_random_tensors(b, rng, r, by_rank);
  for (int32_t k = 0; k < r->collectives && r->ops > 2; k++)
    add_random_collective(b, rng, r, by_rank);
  berth_graph *g = must_graph(b);
  free(by_rank);
  return g;
}

/* ---- a graph as a matrix of bytes, collectives as nodes behind the ops ---- */

typedef struct matrix {
  int32_t n, ops;
  uint8_t *edge; /* [n * n] */
  uint8_t *path; /* [n * n] of one edge or more */
} matrix;

static uint8_t *cell(const matrix *m, uint8_t *of, int32_t a, int32_t b) {
  return of + (size_t)a * (size_t)m->n + b;
}

static void fill_edges(const berth_graph *g, matrix *m) {
  const int32_t *to;
  for (int32_t t = 0; t < berth_graph_tensors(g); t++) {
    berth_tensor x = must_graph_tensor(g, t);
    int32_t n = berth_graph_consumers(g, t, &to);
    for (int32_t j = 0; j < n; j++) *cell(m, m->edge, x.producer, to[j]) = 1;
  }
  for (int32_t k = 0; k < berth_graph_collectives(g); k++) {
    berth_collective c = must_graph_collective(g, k);
    for (int32_t j = 0; j < c.n_members; j++) *cell(m, m->edge, c.members[j], m->ops + k) = 1;
    for (int32_t j = 0; j < c.n_consumers; j++) *cell(m, m->edge, m->ops + k, c.consumers[j]) = 1;
  }
}

static matrix new_matrix(const berth_graph *g) {
  matrix m = { .ops = berth_graph_ops(g) };
  m.n = m.ops + berth_graph_collectives(g);
  m.edge = must_have((size_t)m.n * (size_t)m.n, 1);
  m.path = must_have((size_t)m.n * (size_t)m.n, 1);
  fill_edges(g, &m);
  memcpy(m.path, m.edge, (size_t)m.n * (size_t)m.n);
  for (int32_t k = 0; k < m.n; k++) {
    for (int32_t i = 0; i < m.n; i++) {
      if (!*cell(&m, m.path, i, k)) continue;
      for (int32_t j = 0; j < m.n; j++) *cell(&m, m.path, i, j) |= *cell(&m, m.path, k, j);
    }
  }
  return m;
}

static void free_matrix(matrix *m) {
  RELEASE(m->edge, m->path);
}

static int has_detour(const matrix *m, int32_t a, int32_t b) {
  for (int32_t k = 0; k < m->n; k++) {
    if (k != a && k != b && *cell(m, m->path, a, k) && *cell(m, m->path, k, b)) return 1;
  }
  return 0;
}

static int is_cyclic(const matrix *m) {
  for (int32_t k = 0; k < m->n; k++) {
    if (*cell(m, m->path, k, k)) return 1;
  }
  return 0;
}

/* ---- what a contraction must keep ---- */

/* Bytes moved: each tensor once to each other device that reads it. */
static double cut_bytes(const berth_graph *g, const int32_t *device, int32_t devices) {
  double sum = 0;
  const int32_t *to;
  uint8_t *there = must_have((size_t)devices, 1);
  for (int32_t t = 0; t < berth_graph_tensors(g); t++) {
    berth_tensor x = must_graph_tensor(g, t);
    int32_t n = berth_graph_consumers(g, t, &to);
    memset(there, 0, (size_t)devices);
    there[device[x.producer]] = 1;
    for (int32_t j = 0; j < n; j++) {
      sum += there[device[to[j]]] ? 0 : x.bytes;
      there[device[to[j]]] = 1;
    }
  }
  free(there);
  return sum;
}

static void check_cuts(const berth_graph *g, const berth_graph *f, const int32_t *map,
                       berth_rng *rng) {
  int32_t n = berth_graph_ops(f), *new_device = must_have((size_t)n, sizeof *new_device);
  int32_t *old_device = must_have((size_t)berth_graph_ops(g), sizeof *old_device);
  for (int32_t v = 0; v < n; v++) new_device[v] = berth_rng_below(rng, 3);
  for (int32_t v = 0; v < berth_graph_ops(g); v++) old_device[v] = new_device[map[v]];
  CHECK_NEAR(cut_bytes(g, old_device, 3), cut_bytes(f, new_device, 3), 1e-9);
  RELEASE(new_device, old_device);
}

static void check_numbering(const int32_t *map, int32_t ops, int32_t n) {
  int32_t next = 0;
  for (int32_t v = 0; v < ops; v++) {
    CHECK(map[v] >= 0 && map[v] <= next && map[v] < n);
    next += map[v] == next;
  }
  CHECK(next == n);
}

static void check_sums(const berth_graph *g, const berth_graph *f, const int32_t *map) {
  for (int32_t k = 0; k < berth_graph_ops(f); k++) {
    double seconds[2] = { 0, 0 }, flop = 0, param = 0, workspace = 0;
    berth_op x = must_graph_op(f, k);
    berth_op y;
    for (int32_t v = 0; v < berth_graph_ops(g); v++) {
      if (map[v] != k) continue;
      berth_graph_op(g, v, &y);
      for (int32_t t = 0; t < berth_graph_types(g); t++) seconds[t] += y.seconds[t];
      flop += y.flop;
      param += y.param_bytes;
      workspace = fmax(workspace, y.workspace_bytes);
      CHECK(y.pin == BERTH_NONE || y.pin == x.pin);
      CHECK(y.group == BERTH_NONE || y.group == x.group);
    }
    for (int32_t t = 0; t < berth_graph_types(g); t++) CHECK_NEAR(x.seconds[t], seconds[t], 1e-9);
    CHECK_NEAR(x.flop, flop, 0);
    CHECK_NEAR(x.param_bytes, param, 0);
    CHECK_NEAR(x.workspace_bytes, workspace, 0);
  }
}

static double all_resident(const berth_graph *g) {
  double sum = 0;
  berth_tensor x;
  for (int32_t t = 0; t < berth_graph_tensors(g); t++) {
    berth_graph_tensor(g, t, &x);
    sum += x.resident_bytes;
  }
  return sum;
}

#endif
