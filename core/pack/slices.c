/* Slices: devices are filled one after another along an order of the ops, each op with its twin, so
 * that few tensors cross and what waits for a twin waits where the twin is. */
#include "pack_internal.h"

typedef struct slices {
  const berth_i_units *u;
  double *left; /* [devices] bytes of its share */
  int32_t *at;  /* [units] BERTH_NONE: not put yet */
  int32_t now;
} slices;

static int32_t twin_unit(const berth_i_units *u, int32_t op) {
  int32_t twin = berth_i_twin(u->cost->g, op);
  return twin == BERTH_NONE ? BERTH_NONE : u->of[twin];
}

/* Under TRAINING outputs wait for the twin of their producer: at one moment all of them are
 * there. */
static double kept_bytes(const berth_i_units *u, int32_t unit) {
  double sum = u->permanent[unit];
  for (int32_t i = u->at[unit]; u->memory == BERTH_MEMORY_TRAINING && i < u->at[unit + 1]; i++) {
    if (twin_unit(u, u->ops[i]) > unit) sum += berth_i_output_bytes(u->cost->g, u->ops[i]);
  }
  return sum;
}

static void put(slices *s, int32_t unit) {
  int32_t d = s->now, next = 0;
  while (!berth_i_unit_can_run(s->u, unit, d)) d = next++;
  s->at[unit] = d;
  s->left[d] -= kept_bytes(s->u, unit);
}

/* Numbers in the order in which a program runs the ops keep together what belongs together, more
 * than the topological order does. */
static bool numbered_in_order(const berth_graph *g) {
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t i = g->use_at[t]; i < g->use_at[t + 1]; i++) {
      if (g->use[i] < g->producer[t]) return false;
    }
  }
  return true;
}

berth_status berth_i_pack_slices(const berth_i_units *u, const double *part, int32_t *at) {
  berth_ctx *ctx = u->cost->ctx;
  size_t devices = (size_t)u->cost->n_devices;
  bool numbered = numbered_in_order(u->cost->g);
  slices s = { u, berth_i_alloc(ctx, devices, sizeof *s.left), at, 0 };
  if (!s.left) return berth_i_nomem(ctx);
  double all = 0, parts = 0;
  for (int32_t i = 0; i < u->n; i++) all += kept_bytes(u, i), at[i] = BERTH_NONE;
  for (size_t d = 0; d < devices; d++) parts += part[d];
  for (size_t d = 0; d < devices; d++) s.left[d] = parts > 0 ? all * (part[d] / parts) : 0;
  for (int32_t i = 0; i < u->n_ops; i++) {
    int32_t unit = u->of[numbered ? i : u->cost->g->topo[i]];
    if (at[unit] != BERTH_NONE) continue;
    while (s.now + 1 < u->cost->n_devices && s.left[s.now] < kept_bytes(u, unit) / 2) s.now++;
    put(&s, unit);
    for (int32_t k = u->at[unit]; k < u->at[unit + 1]; k++) {
      int32_t other = twin_unit(u, u->ops[k]);
      if (other != BERTH_NONE && at[other] == BERTH_NONE) put(&s, other);
    }
  }
  berth_i_free(ctx, s.left, devices, sizeof *s.left);
  return BERTH_OK;
}
