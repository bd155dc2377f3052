/* The favourite-child LP for the interior-point solver: edges that cannot matter are dropped, those
 * without competitors fixed, wide rows split into trees of groups, so that no clique of the linear
 * system is larger than an unsplit row. Arrays are counted first, then filled: none grows.
 * O(edges x BUSY_HUB) at worst. */
#include "interior_internal.h"

enum {
  WIDE_ROW = 12,  /* longer rows are split */
  GROUP = 6,      /* members of a group at most */
  BUSY_HUB = 4096 /* paths of two edges through a node: nodes with more are left out */
};

/* ---- which edges take part ---- */

typedef struct counts {
  uint8_t *dropped;    /* [m] some path of two edges is never shorter */
  int32_t *outs, *ins; /* [n] edges that are worth matching */
  int32_t *seen;       /* [n] edge from the present node, or BERTH_NONE */
} counts;

/* Drops i -> j where i -> k -> j exists with p_k >= c_ij. Dropped edges may be witnesses: theirs
 * are longer paths still. */
static void drop_dominated(const berth_i_lp_problem *q, int32_t *seen, uint8_t *dropped) {
  for (int32_t i = 0; i < q->n; i++) seen[i] = BERTH_NONE;
  for (int32_t i = 0; i < q->n; i++) {
    for (int32_t x = q->out_at[i]; x < q->out_at[i + 1]; x++) seen[q->head[q->out[x]]] = q->out[x];
    for (int32_t x = q->out_at[i]; x < q->out_at[i + 1]; x++) {
      int32_t k = q->head[q->out[x]], outs = q->out_at[k + 1] - q->out_at[k];
      if ((int64_t)outs * (q->in_at[k + 1] - q->in_at[k]) > BUSY_HUB) continue;
      for (int32_t y = q->out_at[k]; y < q->out_at[k + 1]; y++) {
        int32_t e = seen[q->head[q->out[y]]];
        if (e != BERTH_NONE && q->c[e] <= q->p[k]) dropped[e] = 1;
      }
    }
    for (int32_t x = q->out_at[i]; x < q->out_at[i + 1]; x++) seen[q->head[q->out[x]]] = BERTH_NONE;
  }
}

static bool is_worthy(const berth_i_lp_problem *q, const counts *k, int32_t e) {
  return !k->dropped[e] && q->c[e] > 0;
}

/* The only one on both its sides. */
static bool is_lone(const berth_i_lp_problem *q, const counts *k, int32_t e) {
  return k->outs[q->tail[e]] < 2 && k->ins[q->head[e]] < 2;
}

/* ---- sizes ---- */

static int32_t count_groups(int32_t d) { return d / GROUP + (d % GROUP > 0); }

int32_t berth_i_lp_levels(int32_t d) {
  int32_t levels = 0;
  for (; d > WIDE_ROW; d = count_groups(d)) levels++;
  return levels;
}

static void add_tree(berth_i_lp_model *a, int32_t d) {
  if (d < 2) return;
  while (d > WIDE_ROW) {
    int32_t groups = count_groups(d);
    a->items += d + groups;
    a->row_room += groups;
    d = groups;
  }
  a->items += d;
  a->row_room++;
}

static void measure(berth_i_lp_model *a, counts *k) {
  const berth_i_lp_problem *q = a->q;
  for (int32_t e = 0; e < q->m; e++) {
    a->edges += !k->dropped[e];
    k->outs[q->tail[e]] += is_worthy(q, k, e);
    k->ins[q->head[e]] += is_worthy(q, k, e);
  }
  for (int32_t e = 0; e < q->m; e++) a->matchable += is_worthy(q, k, e) && !is_lone(q, k, e);
  a->arcs = a->edges;
  for (int32_t i = 0; i < q->n; i++) {
    a->arcs += (q->in_at[i] == q->in_at[i + 1]) + (q->out_at[i] == q->out_at[i + 1]);
    add_tree(a, k->outs[i]);
    add_tree(a, k->ins[i]);
  }
}

static berth_status make_room(berth_i_lp_model *a) {
  berth_i_pool *pool = a->pool;
  size_t arcs = (size_t)a->arcs, rows = (size_t)a->row_room;
  a->edge = berth_i_pool_alloc(pool, (size_t)a->edges, sizeof *a->edge);
  a->from = berth_i_pool_alloc(pool, arcs, sizeof *a->from);
  a->to = berth_i_pool_alloc(pool, arcs, sizeof *a->to);
  a->length = berth_i_pool_zalloc(pool, arcs, sizeof *a->length);
  a->c = berth_i_pool_zalloc(pool, arcs, sizeof *a->c);
  a->var = berth_i_pool_alloc(pool, arcs, sizeof *a->var);
  a->arc = berth_i_pool_alloc(pool, (size_t)a->matchable, sizeof *a->arc);
  a->row_at = berth_i_pool_zalloc(pool, rows + 1, sizeof *a->row_at);
  a->row_var = berth_i_pool_alloc(pool, (size_t)a->items, sizeof *a->row_var);
  a->bound = berth_i_pool_alloc(pool, rows, sizeof *a->bound);
  a->side = berth_i_pool_alloc(pool, rows, sizeof *a->side);
  a->stand_in = berth_i_pool_alloc(pool, rows, sizeof *a->stand_in);
  return berth_i_pool_status(pool);
}

/* ---- arcs ---- */

/* The longest path with every c is about the size of the answer. */
static double choose_scale(const berth_i_lp_problem *q, double *end) {
  double most = q->floor;
  for (int32_t j = 0; j < q->n; j++) {
    end[j] = 0;
    for (int32_t e = q->in_at[j]; e < q->in_at[j + 1]; e++)
      end[j] = fmax(end[j], end[q->tail[e]] + q->c[e]);
    end[j] += q->p[j];
    most = fmax(most, end[j]);
  }
  return most > 0 ? most : 1;
}

/* Edges that are left, then one arc into every source, then one from every node without out-edges
 * to the sink. */
static void fill_arcs(berth_i_lp_model *a, const counts *k) {
  const berth_i_lp_problem *q = a->q;
  int32_t arc = 0;
  for (int32_t e = 0; e < q->m; e++) {
    if (k->dropped[e]) continue;
    bool worthy = is_worthy(q, k, e), lone = worthy && is_lone(q, k, e);
    a->edge[arc] = e;
    a->from[arc] = q->tail[e];
    a->to[arc] = q->head[e];
    a->length[arc] = q->p[q->tail[e]] / a->scale;
    a->var[arc] = BERTH_NONE;
    a->fixed[e] = lone;
    if (worthy && !lone) {
      a->c[arc] = q->c[e] / a->scale;
      a->var[arc] = a->vars;
      a->arc[a->vars++] = arc;
    }
    arc++;
  }
  for (int32_t i = 0; i < 2 * q->n; i++) {
    int32_t node = i % q->n;
    bool sink = i >= q->n;
    const int32_t *at = sink ? q->out_at : q->in_at;
    if (at[node] < at[node + 1]) continue;
    a->from[arc] = sink ? node : BERTH_NONE;
    a->to[arc] = sink ? q->n : node;
    a->var[arc] = BERTH_NONE;
    if (sink) a->length[arc] = q->p[node] / a->scale;
    arc++;
  }
}

/* ---- rows ---- */

static void add_row(berth_i_lp_model *a, int32_t side, const int32_t *member, int32_t d,
                    int32_t stand_in) {
  int32_t r = a->rows++, *item = a->row_var + a->row_at[r];
  memcpy(item, member, (size_t)d * sizeof *item);
  if (stand_in != BERTH_NONE) item[d++] = stand_in;
  a->row_at[r + 1] = a->row_at[r] + d;
  a->bound[r] = stand_in == BERTH_NONE;
  a->side[r] = side;
  a->stand_in[r] = stand_in;
}

/* Groups come before the row that they are part of. Even sizes.  @param member [d] overwritten */
static void add_rows(berth_i_lp_model *a, int32_t side, int32_t *member, int32_t d) {
  if (d < 2) return;
  while (d > WIDE_ROW) {
    int32_t groups = count_groups(d), from = 0;
    for (int32_t g = 0; g < groups; g++) {
      int32_t until = (int32_t)((int64_t)d * (g + 1) / groups);
      add_row(a, side, member + from, until - from, a->vars);
      member[g] = a->vars++;
      from = until;
    }
    d = groups;
  }
  add_row(a, side, member, d, BERTH_NONE);
}

/* ---- all of it ---- */

berth_status berth_i_lp_model_init(const berth_i_lp_problem *q, berth_i_pool *pool,
                                   berth_i_lp_model *a) {
  size_t n = (size_t)q->n, m = (size_t)q->m;
  berth_i_pool scratch = berth_i_pool_empty(q->ctx);
  *a = (berth_i_lp_model){ .q = q, .ctx = q->ctx, .pool = pool };
  counts k;
  k.dropped = berth_i_pool_zalloc(&scratch, m, sizeof *k.dropped);
  k.outs = berth_i_pool_zalloc(&scratch, n, sizeof *k.outs);
  k.ins = berth_i_pool_zalloc(&scratch, n, sizeof *k.ins);
  k.seen = berth_i_pool_alloc(&scratch, n, sizeof *k.seen);
  double *end = berth_i_pool_alloc(&scratch, n, sizeof *end);
  int32_t *var_of = berth_i_pool_alloc(&scratch, m, sizeof *var_of),
          *member = berth_i_pool_alloc(&scratch, m, sizeof *member);
  a->fixed = berth_i_pool_zalloc(pool, m, sizeof *a->fixed);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) st = berth_i_pool_status(pool);
  if (st != BERTH_OK) goto done;
  drop_dominated(q, k.seen, k.dropped);
  a->scale = choose_scale(q, end);
  measure(a, &k);
  if ((st = make_room(a)) != BERTH_OK) goto done;
  fill_arcs(a, &k);
  for (int32_t e = 0; e < q->m; e++) var_of[e] = BERTH_NONE;
  for (int32_t v = 0; v < a->matchable; v++) var_of[a->edge[a->arc[v]]] = v;
  for (int32_t i = 0; i < q->n; i++) {
    for (int side = 0; side < 2; side++) { /* out-edges, in-edges */
      const int32_t *at = side ? q->in_at : q->out_at;
      int32_t d = 0;
      for (int32_t x = at[i]; x < at[i + 1]; x++) {
        int32_t e = side ? x : q->out[x];
        if (var_of[e] != BERTH_NONE) member[d++] = var_of[e];
      }
      add_rows(a, side * q->n + i, member, d);
    }
  }
done:
  berth_i_pool_free(&scratch);
  return st;
}
