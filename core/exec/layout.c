/* Where the tensors of a placement lie: in the arenas of the devices, one after another, aligned to
 * cache lines. Two passes: sizes first, then the arenas grow, then the pointers. An arena is kept
 * for the next placement. O(devices x ops + edges). */
#include "exec_internal.h"

enum { ALIGNMENT = 64 };

static size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Takes room for n floats; what does not fit is only counted, and NULL. */
static float *take(berth_i_arena *a, int64_t n) {
  size_t skip = (ALIGNMENT - (uintptr_t)a->block % ALIGNMENT) % ALIGNMENT, at = a->used;
  a->used += rounded((size_t)n * sizeof(float));
  return a->used + ALIGNMENT <= a->size ? (float *)(void *)(a->block + skip + at) : NULL;
}

/* The first edge of each tensor to each other device leads. seen: [devices], the last tensor met
 * there. */
static void find_leads(berth_executor *x, int32_t *seen, int32_t *first) {
  const berth_graph *g = x->g;
  for (int32_t d = 0; d < x->n_devices; d++) seen[d] = BERTH_NONE;
  for (int32_t e = 0; e < g->n_edges; e++) {
    int32_t t = x->edge_tensor[e], d = x->device[g->use[e]];
    x->lead[e] = BERTH_NONE;
    if (d == x->device[g->producer[t]]) continue;
    if (seen[d] != t) first[d] = e;
    seen[d] = t;
    x->lead[e] = first[d];
  }
}

static bool is_bare(const int32_t *at, int32_t op) { return at[op] == at[op + 1]; }

static size_t most_scratch(const berth_executor *x, int32_t d) {
  size_t most = 0;
  for (int32_t op = 0; op < x->g->n_ops; op++) {
    size_t n = x->device[op] == d ? berth_i_kernel_scratch(&x->kernel[op]) : 0;
    if (n > most) most = n;
  }
  return most;
}

/* Counts, or, with blocks, gives out. A source that is a sink, too, reads first, then writes behind
 * that. */
static void lay_out(berth_executor *x) {
  const berth_graph *g = x->g;
  for (int32_t d = 0; d < x->n_devices; d++) {
    x->arena[d].used = 0;
    x->dev[d].args.scratch = take(&x->arena[d], (int64_t)most_scratch(x, d));
  }
  for (int32_t op = 0; op < g->n_ops; op++) {
    int64_t own = BERTH_I_EXEC_GIVEN * (is_bare(g->in_at, op) + is_bare(g->out_at, op));
    x->own[op] = take(&x->arena[x->device[op]], own);
  }
  for (int32_t t = 0; t < g->n_tensors; t++)
    x->home[t] = take(&x->arena[x->device[g->producer[t]]], x->length[t]);
  for (int32_t e = 0; e < g->n_edges; e++) {
    if (x->lead[e] == e)
      x->copy_at[e] = take(&x->arena[x->device[g->use[e]]], x->length[x->edge_tensor[e]]);
  }
}

/* An arena that is too small is replaced; what was in it is over. */
static berth_status grow(berth_executor *x, berth_i_arena *a) {
  size_t need = a->used + ALIGNMENT;
  if (need <= a->size) return BERTH_OK;
  berth_i_free(x->ctx, a->block, a->size, 1);
  a->size = 0;
  if (!(a->block = berth_i_alloc(x->ctx, need, 1))) return berth_i_nomem(x->ctx);
  a->size = need;
  return BERTH_OK;
}

berth_status berth_i_exec_layout(berth_executor *x) {
  size_t n = (size_t)x->n_devices;
  int32_t *seen = berth_i_alloc(x->ctx, 2 * n, sizeof *seen);
  berth_status st = BERTH_OK;
  if (!seen) return berth_i_nomem(x->ctx);
  find_leads(x, seen, seen + n);
  lay_out(x);
  for (int32_t d = 0; d < x->n_devices && st == BERTH_OK; d++) st = grow(x, &x->arena[d]);
  if (st == BERTH_OK) lay_out(x);
  berth_i_free(x->ctx, seen, 2 * n, sizeof *seen);
  return st;
}

/* ---- operands ---- */

static void point_in(const berth_executor *x, int32_t op, berth_i_operands *a) {
  const berth_graph *g = x->g;
  a->n_in = 0;
  for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) {
    int32_t lead = x->lead[x->in_edge[i]];
    a->in[a->n_in] = lead == BERTH_NONE ? x->home[g->in[i]] : x->copy_at[lead];
    a->in_length[a->n_in++] = x->length[g->in[i]];
  }
  if (a->n_in > 0) return;
  a->in[0] = x->own[op];
  a->in_length[0] = BERTH_I_EXEC_GIVEN;
  a->n_in = 1;
}

void berth_i_exec_operands(const berth_executor *x, int32_t op, berth_i_operands *a) {
  const berth_graph *g = x->g;
  point_in(x, op, a);
  a->n_out = 0;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    a->out[a->n_out] = x->home[g->out[i]];
    a->out_length[a->n_out++] = x->length[g->out[i]];
  }
  if (a->n_out > 0) return;
  a->out[0] = x->own[op] + (is_bare(g->in_at, op) ? BERTH_I_EXEC_GIVEN : 0);
  a->out_length[0] = BERTH_I_EXEC_GIVEN;
  a->n_out = 1;
}

void berth_i_exec_give(const berth_executor *x, int32_t op, float *out) {
  if (!is_bare(x->g->in_at, op)) return;
  berth_rng rng;
  berth_rng_init(&rng, x->o.seed, (uint64_t)op);
  for (int32_t i = 0; i < BERTH_I_EXEC_GIVEN; i++)
    out[i] = (float)(2 * berth_rng_uniform(&rng) - 1);
}

berth_status berth_i_operands_new(const berth_executor *x, berth_i_pool *pool,
                                  berth_i_operands *a) {
  size_t in = (size_t)x->most_in, out = (size_t)x->most_out;
  a->in = berth_i_pool_alloc(pool, in, sizeof *a->in);
  a->in_length = berth_i_pool_alloc(pool, in, sizeof *a->in_length);
  a->out = berth_i_pool_alloc(pool, out, sizeof *a->out);
  a->out_length = berth_i_pool_alloc(pool, out, sizeof *a->out_length);
  return berth_i_pool_status(pool);
}
