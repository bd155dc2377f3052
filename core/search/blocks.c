/* Blocks: ops contracted along heavy tensors and light lines, within what some device can run and
 * hold. Union-find over ops; of roots, the devices that can run all of the block and its bytes.
 * Invariant: some device can run and hold each block, but for groups, which are joined in any case.
 * O(edges log(ops) + ops x devices). */
#include "search_internal.h"
#include "base/sort_internal.h"
#include "base/union_find_internal.h"

typedef struct forest {
  const berth_i_problem *p;
  int32_t *up;     /* [n] union-find */
  uint8_t *may;    /* [n * devices] of roots */
  double most;     /* part of a device's memory */
  double *bytes;   /* [n] of roots; NULL */
} forest;

static uint8_t *row(const forest *f, int32_t x) {
  return &f->may[(size_t)x * (size_t)f->p->n_devices];
}

static bool fit_together(const forest *f, int32_t a, int32_t b) {
  const berth_device *dev = f->p->cost->t->devices;
  for (int32_t d = 0; d < f->p->n_devices; d++) {
    if (!row(f, a)[d] || !row(f, b)[d]) continue;
    if (!f->bytes || f->bytes[a] + f->bytes[b] <= f->most * dev[d].memory) return true;
  }
  return false;
}

/* The lower root stays. */
static void join(forest *f, int32_t a, int32_t b, bool force) {
  a = berth_i_sets_root(f->up, a);
  b = berth_i_sets_root(f->up, b);
  if (a == b || (!force && !fit_together(f, a, b))) return;
  if (b < a) {
    int32_t swap = a;
    a = b;
    b = swap;
  }
  berth_i_sets_join(f->up, a, b);
  for (int32_t d = 0; d < f->p->n_devices; d++) row(f, a)[d] &= row(f, b)[d];
  if (f->bytes) f->bytes[a] += f->bytes[b];
}

/* All consumers of the op are one op; BERTH_NONE: there are several, or none. */
static int32_t only_consumer(const berth_graph *g, int32_t op) {
  int32_t one = BERTH_NONE;
  for (int32_t k = g->out_at[op]; k < g->out_at[op + 1]; k++) {
    for (int32_t u = g->use_at[g->out[k]]; u < g->use_at[g->out[k] + 1]; u++) {
      if (one != BERTH_NONE && g->use[u] != one) return BERTH_NONE;
      one = g->use[u];
    }
  }
  return one;
}

static bool only_producer(const berth_graph *g, int32_t op, int32_t from) {
  for (int32_t k = g->in_at[op]; k < g->in_at[op + 1]; k++) {
    if (g->producer[g->in[k]] != from) return false;
  }
  return true;
}

/* Ops alone; groups whatever their size; ends of heavy tensors; light ops in line. */
static void contract(forest *f, const berth_i_contract *c, int32_t *first) {
  const berth_i_problem *p = f->p;
  const berth_graph *g = p->cost->g;
  for (int32_t i = 0; i < p->n; i++) {
    f->up[i] = i;
    for (int32_t d = 0; d < p->n_devices; d++) row(f, i)[d] = berth_i_can_run(p->cost, i, d);
  }
  for (int32_t i = 0; i < g->n_groups; i++) first[i] = BERTH_NONE;
  for (int32_t i = 0; i < p->n; i++) {
    int32_t group = berth_i_group(g, i);
    if (group == BERTH_NONE) continue;
    if (first[group] == BERTH_NONE) first[group] = i;
    else join(f, first[group], i, true);
  }
  for (int32_t i = 0; i < p->n && !isinf(c->heavy); i++) {
    int32_t op = g->topo[i];
    for (int32_t k = g->out_at[op]; k < g->out_at[op + 1]; k++) {
      int32_t t = g->out[k];
      if (!(p->comm[t] >= c->heavy)) continue;
      for (int32_t u = g->use_at[t]; u < g->use_at[t + 1]; u++) join(f, op, g->use[u], false);
    }
  }
  for (int32_t i = 0; i < p->n && c->light > 0; i++) {
    int32_t to = only_consumer(g, i);
    if (to == BERTH_NONE || !(p->comp[i] < c->light) || !(p->comp[to] < c->light)) continue;
    if (only_producer(g, to, i)) join(f, i, to, false);
  }
}

/* ---- numbering ---- */

/* In the topological order of their first ops. */
static void number_blocks(const forest *f, berth_i_clumps *b) {
  const berth_graph *g = f->p->cost->g;
  for (int32_t i = 0; i < f->p->n; i++) b->of[i] = BERTH_NONE;
  for (int32_t i = 0; i < f->p->n; i++) {
    int32_t root = berth_i_sets_root(f->up, g->topo[i]);
    if (b->of[root] == BERTH_NONE) b->of[root] = b->n++;
  }
  for (int32_t i = 0; i < f->p->n; i++) b->of[i] = b->of[berth_i_sets_root(f->up, i)];
}

static berth_status alloc_blocks(const berth_i_problem *p, berth_i_clumps *b) {
  berth_i_pool *pool = &b->pool;
  size_t n = (size_t)b->n;
  b->at = berth_i_pool_zalloc(pool, n + 1, sizeof *b->at);
  b->ops = berth_i_pool_alloc(pool, (size_t)p->n, sizeof *b->ops);
  b->may = berth_i_pool_alloc(pool, n * (size_t)p->n_devices, 1);
  b->work = berth_i_pool_zalloc(pool, n, sizeof *b->work);
  b->bytes = berth_i_pool_zalloc(pool, n, sizeof *b->bytes);
  b->by_bytes = berth_i_pool_alloc(pool, n, sizeof *b->by_bytes);
  b->by_class = berth_i_pool_alloc(pool, n, sizeof *b->by_class);
  b->class_first = berth_i_pool_alloc(pool, n, sizeof *b->class_first);
  b->class_size = berth_i_pool_alloc(pool, n, sizeof *b->class_size);
  return berth_i_pool_status(pool);
}

static void fill_blocks(const forest *f, berth_i_clumps *b) {
  const berth_i_problem *p = f->p;
  const int32_t *topo = p->cost->g->topo;
  for (int32_t i = 0; i < p->n; i++) {
    b->at[b->of[i]]++;
    b->work[b->of[i]] += p->comp[i];
    if (p->bytes) b->bytes[b->of[i]] += p->bytes[i];
  }
  for (int32_t i = 1; i <= b->n; i++) b->at[i] += b->at[i - 1];
  for (int32_t i = p->n - 1; i >= 0; i--) b->ops[--b->at[b->of[topo[i]]]] = topo[i];
  for (int32_t i = 0; i < b->n; i++) {
    int32_t root = berth_i_sets_root(f->up, b->ops[b->at[i]]);
    memcpy(&b->may[(size_t)i * (size_t)p->n_devices], row(f, root), (size_t)p->n_devices);
  }
}

/* ---- classes: equal size, nearly equal work ---- */

typedef struct likeness {
  double work; /* or bytes */
  int32_t size, block;
} likeness;

BERTH_I_SORT(sort_by_likeness, likeness, BERTH_I_UP(size) BERTH_I_UP(work) BERTH_I_UP(block))

static bool alike(const likeness *a, const likeness *b) {
  return a->size == b->size && b->work <= 1.01 * a->work;
}

/* The largest first: the small ones fit into what is left. */
BERTH_I_SORT(sort_by_bytes, likeness, BERTH_I_DOWN(work) BERTH_I_UP(block))

/* Classes, and the order by bytes.  @param l [blocks] scratch */
static void rank_blocks(const berth_i_problem *p, berth_i_clumps *b, likeness *l) {
  int32_t first = 0;
  for (int32_t i = 0; i < b->n; i++) l[i] = (likeness){ b->bytes[i], 0, i };
  if (p->bytes) sort_by_bytes(l, (size_t)b->n);
  for (int32_t i = 0; i < b->n; i++) b->by_bytes[i] = l[i].block;
  for (int32_t i = 0; i < b->n; i++) l[i] = (likeness){ b->work[i], b->at[i + 1] - b->at[i], i };
  sort_by_likeness(l, (size_t)b->n);
  for (int32_t i = 0; i < b->n; i++) {
    if (!alike(&l[first], &l[i])) first = i;
    b->by_class[i] = l[i].block;
    b->class_first[l[i].block] = first;
    b->class_size[l[first].block] = i - first + 1;
  }
  for (int32_t i = 0; i < b->n; i++)
    b->class_size[i] = b->class_size[b->by_class[b->class_first[i]]];
}

/* ---- all ---- */

berth_status berth_i_clumps_make(const berth_i_problem *p, const berth_i_contract *c,
                                 berth_i_clumps *out) {
  size_t n = (size_t)p->n;
  berth_i_pool scratch = berth_i_pool_empty(p->ctx);
  berth_i_clumps b = { .pool = berth_i_pool_empty(p->ctx) };
  forest f = { .p = p, .most = c->most };
  f.up = berth_i_pool_alloc(&scratch, n, sizeof *f.up);
  f.may = berth_i_pool_alloc(&scratch, n * (size_t)p->n_devices, 1);
  f.bytes = berth_i_pool_copy(&scratch, p->bytes, n, sizeof *f.bytes);
  int32_t *first = berth_i_pool_alloc(&scratch, (size_t)p->cost->g->n_groups, sizeof *first);
  likeness *l = berth_i_pool_alloc(&scratch, n, sizeof *l);
  b.of = berth_i_pool_alloc(&b.pool, n, sizeof *b.of);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) st = berth_i_pool_status(&b.pool);
  if (st == BERTH_OK) {
    contract(&f, c, first);
    number_blocks(&f, &b);
    st = alloc_blocks(p, &b);
  }
  if (st == BERTH_OK) {
    fill_blocks(&f, &b);
    rank_blocks(p, &b, l);
  }
  berth_i_pool_free(&scratch);
  if (st == BERTH_OK) *out = b;
  else berth_i_pool_free(&b.pool);
  return st;
}
