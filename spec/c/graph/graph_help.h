/* Small graphs for the tests of the graph room, and their edges spelled out one by one. */
#ifndef BERTH_GRAPH_HELP_H
#define BERTH_GRAPH_HELP_H

#include "must.h"

enum { SMALL = 9, SMALL_EDGES = 600 };

typedef struct flat_edge {
  int32_t src, dst, tensor; /* tensor: BERTH_NONE for one of a collective */
} flat_edge;

/* What was put into the builder, as plain edges in the order in which Kahn's algorithm visits them
 * per source. */
typedef struct flat {
  int32_t n_ops, n_tensors, n_edges;
  flat_edge edge[SMALL_EDGES];
} flat;

static void flat_add(flat *f, int32_t src, int32_t dst, int32_t tensor) {
  f->edge[f->n_edges++] = (flat_edge){ src, dst, tensor };
}

static void add_plain_op(berth_graph_builder *b, const char *name, double seconds) {
  berth_op op = berth_op_default();
  op.name = name;
  op.seconds = &seconds;
  must_add_op(b, &op);
}

/* Writes a random subset of 0..n-1 without what `banned` marks into ids, shuffled; returns its
 * size. */
static int32_t random_subset(berth_rng *rng, int32_t n, double share, const uint8_t *banned,
                             int32_t *ids) {
  int32_t count = 0;
  for (int32_t v = 0; v < n; v++) {
    if (!banned[v] && berth_rng_uniform(rng) < share) ids[count++] = v;
  }
  berth_rng_shuffle(rng, ids, count);
  return count;
}

/* Marks what may not come after op u: all of rank below or equal. `rank` NULL: nothing is banned
 * (cycles arise). */
static void ban(const int32_t *rank, int32_t n, int32_t u, uint8_t *banned) {
  for (int32_t v = 0; v < n; v++) {
    if (rank && rank[v] <= rank[u]) banned[v] = 1;
  }
}

static void random_tensors(berth_graph_builder *b, berth_rng *rng, const int32_t *rank,
                           double share, flat *f) {
  int32_t ids[SMALL], tensors = berth_rng_below(rng, 2 * f->n_ops + 1);
  for (int32_t k = 0; k < tensors; k++) {
    uint8_t banned[SMALL] = { 0 };
    berth_tensor t = { .producer = berth_rng_below(rng, f->n_ops),
                       .bytes = berth_rng_below(rng, 4),
                       .resident_bytes = -1 };
    must_add_tensor(b, &t);
    ban(rank, f->n_ops, t.producer, banned);
    int32_t n = random_subset(rng, f->n_ops, share, banned, ids);
    for (int32_t j = 0; j < n; j++) {
      CHECK_OK(berth_graph_builder_add_consumer(b, k, ids[j]));
      flat_add(f, t.producer, ids[j], k);
    }
  }
  f->n_tensors = tensors;
}

static void random_collective(berth_graph_builder *b, berth_rng *rng, const int32_t *rank,
                              flat *f) {
  int32_t members[SMALL], consumers[SMALL];
  uint8_t banned[SMALL] = { 0 }, none[SMALL] = { 0 };
  berth_collective c = {
    .kind = BERTH_ALLREDUCE, .bytes = 8, .count = 1, .members = members, .consumers = consumers
  };
  c.n_members = random_subset(rng, f->n_ops, 0.35, none, members);
  if (c.n_members == 0) members[c.n_members++] = berth_rng_below(rng, f->n_ops);
  for (int32_t i = 0; i < c.n_members; i++) ban(rank, f->n_ops, members[i], banned);
  c.n_consumers = random_subset(rng, f->n_ops, 0.4, banned, consumers);
  must_add_collective(b, &c);
  for (int32_t i = 0; i < c.n_members; i++) {
    for (int32_t j = 0; j < c.n_consumers; j++) flat_add(f, members[i], consumers[j], BERTH_NONE);
  }
}

/* A random graph of 1..SMALL ops; acyclic, but not in id order, unless `cyclic`. */
static void random_graph(berth_graph_builder *b, berth_rng *rng, int cyclic, flat *f) {
  int32_t collectives = berth_rng_below(rng, 3);
  *f = (flat){ .n_ops = 1 + berth_rng_below(rng, SMALL) };
  int32_t rank[SMALL];
  for (int32_t v = 0; v < f->n_ops; v++) {
    rank[v] = v;
    add_plain_op(b, NULL, 1);
  }
  berth_rng_shuffle(rng, rank, f->n_ops);
  random_tensors(b, rng, cyclic ? NULL : rank, cyclic ? 0.08 : 0.3, f);
  for (int32_t k = 0; k < collectives && !cyclic; k++) random_collective(b, rng, rank, f);
}

static void closure(const flat *f, uint8_t reach[SMALL][SMALL]) {
  memset(reach, 0, SMALL * SMALL);
  for (int32_t k = 0; k < f->n_edges; k++) reach[f->edge[k].src][f->edge[k].dst] = 1;
  for (int32_t k = 0; k < f->n_ops; k++) {
    for (int32_t i = 0; i < f->n_ops; i++) {
      for (int32_t j = 0; j < f->n_ops; j++) reach[i][j] |= reach[i][k] & reach[k][j];
    }
  }
}

#endif
