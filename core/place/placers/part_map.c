/* Maps parts to devices: a partition groups ops, but ignores which devices are near each other.
 * Exchanges of two parts as long as one saves transfer time. O(parts^3) a round, at most
 * MOST_ROUNDS. */
#include "place/place_internal.h"

typedef struct part_map {
  berth_cost *cost;
  int32_t parts;
  double *bytes, *count; /* [parts^2] from row to column: of the tensors that cross */
  int32_t *device;       /* [parts] */
} part_map;

enum { MOST_ROUNDS = 20 };

/* A tensor crosses to a part once.  @param stamp [parts] scratch */
static void add_traffic(part_map *m, const berth_i_units *u, const int32_t *part, int32_t tensor,
                        int32_t *stamp) {
  const berth_graph *g = u->cost->g;
  int32_t src = part[u->of[g->producer[tensor]]];
  for (int32_t i = g->use_at[tensor]; i < g->use_at[tensor + 1]; i++) {
    int32_t dst = part[u->of[g->use[i]]];
    size_t at = (size_t)src * (size_t)m->parts + (size_t)dst;
    if (dst == src || stamp[dst] == tensor) continue;
    stamp[dst] = tensor;
    m->bytes[at] += g->tensor_bytes[tensor];
    m->count[at] += g->tensor_bytes[tensor] > 0 || !m->cost->free_control;
  }
}

static double one_way(const part_map *m, int32_t p, int32_t q) {
  size_t at = (size_t)p * (size_t)m->parts + (size_t)q,
         pair = berth_i_pair(m->cost->t, m->device[p], m->device[q]);
  if (p == q || m->count[at] + m->bytes[at] == 0) return 0;
  if (isinf(m->cost->t->latency[pair])) return 1e30; /* unreachable; finite, so that fewer of them
                                                        are better */
  return m->count[at] * m->cost->t->latency[pair] + m->bytes[at] / m->cost->t->bandwidth[pair];
}

/* Seconds of all transfers from and to two parts. */
static double seconds_of(const part_map *m, int32_t p, int32_t q) {
  double sum = one_way(m, p, q) + one_way(m, q, p);
  for (int32_t r = 0; r < m->parts; r++) {
    if (r != p && r != q)
      sum += one_way(m, p, r) + one_way(m, r, p) + one_way(m, q, r) + one_way(m, r, q);
  }
  return sum;
}

static void swap(part_map *m, int32_t p, int32_t q) {
  int32_t d = m->device[p];
  m->device[p] = m->device[q];
  m->device[q] = d;
}

static bool alike(const part_map *m, int32_t p, int32_t q) {
  int32_t d = m->device[p], e = m->device[q];
  return m->cost->class_of[d] == m->cost->class_of[e]
         && m->cost->t->devices[d].memory == m->cost->t->devices[e].memory;
}

static bool improve(part_map *m) {
  bool any = false;
  for (int32_t p = 0; p < m->parts; p++) {
    for (int32_t q = p + 1; q < m->parts; q++) {
      if (!alike(m, p, q)) continue;
      double before = seconds_of(m, p, q);
      swap(m, p, q);
      if (seconds_of(m, p, q) < before * (1 - 1e-9)) any = true;
      else swap(m, p, q);
    }
  }
  return any;
}

berth_status berth_i_map_parts(const berth_i_units *u, int32_t parts, const int32_t *part,
                               int32_t *device) {
  berth_i_pool scratch = berth_i_pool_empty(u->cost->ctx);
  berth_ctx *ctx = u->cost->ctx;
  size_t n = (size_t)parts, cells = n * n;
  part_map m = { u->cost, parts, NULL, NULL, device };
  int32_t *stamp = NULL;
  if (u->cost->uniform || u->cost->table) return BERTH_OK;
  m.bytes = berth_i_pool_zalloc(&scratch, cells, sizeof *m.bytes);
  m.count = berth_i_pool_zalloc(&scratch, cells, sizeof *m.count);
  stamp = berth_i_pool_alloc(&scratch, n, sizeof *stamp);
  berth_status st = berth_i_pool_status(&scratch);
  for (int32_t i = 0; i < parts && st == BERTH_OK; i++) stamp[i] = BERTH_NONE;
  for (int32_t i = 0; i < u->cost->g->n_tensors && st == BERTH_OK; i++)
    add_traffic(&m, u, part, i, stamp);
  for (int32_t i = 0; i < MOST_ROUNDS && st == BERTH_OK && improve(&m); i++)
    st = berth_i_interrupted(ctx);
  berth_i_pool_free(&scratch);
  return st;
}
