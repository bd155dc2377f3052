/* Reachability by depth-first search along the edges or against them, and components by union-find.
 * Every op and every collective is expanded once: O(ops + edges). */
#include "graph_internal.h"
#include "base/union_find_internal.h"

/* A search along the edges or against them; every op and every collective is expanded once. */
typedef struct search {
  const berth_graph *g;
  berth_i_pool pool;
  bool forward;
  uint8_t *mark; /* [n_ops] */
  uint8_t *expanded;  /* [n_collectives] */
  int32_t *todo; /* [n_ops] ops marked and not expanded: a stack */
  int32_t n_todo;
} search;

/* @param mark [n_ops] NULL: its own */
static berth_status open_search(const berth_graph *g, bool forward, uint8_t *mark, search *s) {
  *s = (search){ .g = g, .pool = berth_i_pool_empty(g->ctx), .forward = forward };
  s->mark = mark ? mark : berth_i_pool_zalloc(&s->pool, (size_t)g->n_ops, sizeof *mark);
  s->expanded = berth_i_pool_zalloc(&s->pool, (size_t)g->n_collectives, sizeof *s->expanded);
  s->todo = berth_i_pool_alloc(&s->pool, (size_t)g->n_ops, sizeof *s->todo);
  return berth_i_pool_status(&s->pool);
}

static void visit(search *s, int32_t op) {
  if (s->mark[op]) return;
  s->mark[op] = 1;
  s->todo[s->n_todo++] = op;
}

static void visit_all(search *s, int32_t n, const int32_t *ops) {
  for (int32_t j = 0; j < n; j++) visit(s, ops[j]);
}

static void expand_tensors(search *s, int32_t op) {
  const berth_graph *g = s->g;
  if (!s->forward) {
    for (int32_t i = g->in_at[op]; i < g->in_at[op + 1]; i++) visit(s, g->producer[g->in[i]]);
    return;
  }
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    visit_all(s, g->use_at[t + 1] - g->use_at[t], g->use + g->use_at[t]);
  }
}

static void expand_collectives(search *s, int32_t op) {
  const int32_t *at = s->forward ? s->g->wait_at : s->g->after_at,
                *list = s->forward ? s->g->wait : s->g->after;
  if (!list) return;
  for (int32_t i = at[op]; i < at[op + 1]; i++) {
    const berth_collective *c = &s->g->collectives[list[i]];
    if (s->expanded[list[i]]) continue;
    s->expanded[list[i]] = 1;
    visit_all(s, s->forward ? c->n_consumers : c->n_members,
              s->forward ? c->consumers : c->members);
  }
}

/* Until nothing is left, or `stop` is marked. */
static void run_search(search *s, int32_t op, int32_t stop) {
  visit(s, op);
  while (s->n_todo > 0 && (stop == BERTH_NONE || !s->mark[stop])) {
    op = s->todo[--s->n_todo];
    expand_tensors(s, op);
    expand_collectives(s, op);
  }
}

static berth_status check_op(const berth_graph *g, int32_t op) {
  if (op >= 0 && op < g->n_ops) return BERTH_OK;
  return berth_i_fail(g->ctx, BERTH_EINVAL, "op %ld does not exist (there are %ld ops)", (long)op,
                      (long)g->n_ops);
}

berth_status berth_reach(const berth_graph *g, int32_t op, int forward, uint8_t *mark) {
  if (!g) return BERTH_EINVAL;
  berth_status st = check_op(g, op);
  if (st != BERTH_OK) return st;
  search s;
  if ((st = open_search(g, forward != 0, mark, &s)) == BERTH_OK) {
    memset(mark, 0, (size_t)g->n_ops * sizeof *mark);
    run_search(&s, op, BERTH_NONE);
  }
  berth_i_pool_free(&s.pool);
  return st;
}

berth_status berth_reachable(const berth_graph *g, int32_t a, int32_t b, int *yes) {
  if (!g) return BERTH_EINVAL;
  berth_status st;
  if ((st = check_op(g, a)) != BERTH_OK) return st;
  if ((st = check_op(g, b)) != BERTH_OK) return st;
  search s;
  if ((st = open_search(g, true, NULL, &s)) == BERTH_OK) {
    run_search(&s, a, b);
    *yes = s.mark[b];
  }
  berth_i_pool_free(&s.pool);
  return st;
}

/* ---- components ---- */

/* Union-find over edges and collectives; components are numbered in order of their lowest ops,
 * which are the roots. */
berth_status berth_components(const berth_graph *g, int32_t *component, int32_t *n) {
  if (!g) return BERTH_EINVAL;
  int32_t *parent = berth_i_alloc(g->ctx, (size_t)g->n_ops, sizeof *parent);
  if (!parent) return berth_i_nomem(g->ctx);
  berth_i_sets_init(parent, g->n_ops);
  for (int32_t t = 0; t < g->n_tensors; t++) {
    for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++)
      berth_i_sets_join(parent, g->producer[t], g->use[j]);
  }
  for (int32_t k = 0; k < g->n_collectives; k++) {
    const berth_collective *c = &g->collectives[k];
    for (int32_t j = 1; j < c->n_members; j++)
      berth_i_sets_join(parent, c->members[0], c->members[j]);
    for (int32_t j = 0; j < c->n_consumers; j++)
      berth_i_sets_join(parent, c->members[0], c->consumers[j]);
  }
  int32_t count = 0;
  for (int32_t v = 0; v < g->n_ops; v++)
    component[v] = parent[v] == v ? count++ : component[berth_i_sets_root(parent, v)];
  if (n) *n = count;
  berth_i_free(g->ctx, parent, (size_t)g->n_ops, sizeof *parent);
  return BERTH_OK;
}
