/* Colocation groups from names: the union of all ops that appear under one name (union-find); each
 * set is called by its shortest name. O(pairs log pairs). */
#include "transform_internal.h"

typedef struct naming {
  const berth_graph *g;
  int32_t n;
  const int32_t *op;
  const char *const *name;
  berth_i_sharing sharing;
  berth_i_names names;
  int32_t *id;    /* [n] name of each pair */
  int32_t *first; /* [names] first op that carries it */
  int32_t *best;  /* [ops] at the root: pair whose name represents the set */
  int32_t *group; /* [ops] */
} naming;

static berth_status check_pair(const naming *c, int32_t k) {
  if (c->op[k] < 0 || c->op[k] >= c->g->n_ops) {
    return berth_i_fail(c->g->ctx, BERTH_EINVAL,
                        "colocate: pair %ld: op %ld does not exist (there are %ld)", (long)k,
                        (long)c->op[k], (long)c->g->n_ops);
  }
  if (c->name[k] && *c->name[k]) return BERTH_OK;
  return berth_i_fail(c->g->ctx, BERTH_EINVAL, "colocate: pair %ld: op %ld: the name is empty",
                      (long)k, (long)c->op[k]);
}

/* Numbers come in order of first use, so an id not below `known` is new. */
static berth_status join_pair(naming *c, int32_t k, int32_t *known) {
  berth_status st = check_pair(c, k);
  if (st == BERTH_OK) st = berth_i_names_add(c->g->ctx, &c->names, c->name[k], &c->id[k]);
  if (st != BERTH_OK) return st;
  if (c->id[k] == *known) {
    c->first[(*known)++] = c->op[k];
    return BERTH_OK;
  }
  int32_t a = berth_i_sharing_root(&c->sharing, c->first[c->id[k]]);
  int32_t b = berth_i_sharing_root(&c->sharing, c->op[k]);
  if (a == b) return BERTH_OK;
  berth_i_apart why = berth_i_sharing_apart(&c->sharing, a, b);
  if (why != BERTH_I_TOGETHER)
    return berth_i_sharing_refuse(&c->sharing, "colocate", c->first[c->id[k]], c->op[k], why);
  berth_i_sharing_join(&c->sharing, a, b);
  return BERTH_OK;
}

static bool precedes(const char *a, const char *b) {
  size_t x = strlen(a), y = strlen(b);
  return x != y ? x < y : strcmp(a, b) < 0;
}

static void find_best(naming *c) {
  memset(c->best, 0xff, (size_t)c->g->n_ops * sizeof *c->best);
  for (int32_t k = 0; k < c->n; k++) {
    int32_t root = berth_i_sharing_root(&c->sharing, c->op[k]);
    if (c->best[root] == BERTH_NONE || precedes(c->name[k], c->name[c->best[root]]))
      c->best[root] = k;
  }
}

static void write_same(naming *c, int32_t *same) {
  if (!same) return;
  find_best(c);
  for (int32_t k = 0; k < c->n; k++) same[k] = c->best[berth_i_sharing_root(&c->sharing, c->op[k])];
}

static berth_status join_all(naming *c) {
  int32_t known = 0;
  berth_status st = berth_i_sharing_join_groups(&c->sharing, "colocate", true);
  for (int32_t k = 0; k < c->n && st == BERTH_OK; k++) st = join_pair(c, k, &known);
  return st == BERTH_OK ? berth_i_sharing_groups(&c->sharing, c->group) : st;
}

berth_status berth_graph_colocate(const berth_graph *g, int32_t n, const int32_t *op,
                                  const char *const *name, berth_graph **out, int32_t *same) {
  if (!g || !out) return BERTH_EINVAL;
  const berth_share_options free_of_limits = berth_share_default();
  naming c = { .g = g, .n = n, .op = op, .name = name };
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  size_t pairs = n > 0 ? (size_t)n : 0, ops = (size_t)g->n_ops;
  if (n < 0) return berth_i_fail(g->ctx, BERTH_EINVAL, "colocate: %ld pairs", (long)n);
  berth_status st;
  if ((st = berth_i_sharing_init(g, "colocate", &free_of_limits, &scratch, &c.sharing)) != BERTH_OK)
    goto done;
  c.id = berth_i_pool_alloc(&scratch, pairs, sizeof *c.id);
  c.first = berth_i_pool_alloc(&scratch, pairs, sizeof *c.first);
  c.best = berth_i_pool_alloc(&scratch, ops, sizeof *c.best);
  c.group = berth_i_pool_alloc(&scratch, ops, sizeof *c.group);
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) st = join_all(&c);
  if (st == BERTH_OK) st = berth_i_regroup(g, c.group, out);
  if (st == BERTH_OK) write_same(&c, same);
done:
  berth_i_names_release(g->ctx, &c.names);
  berth_i_pool_free(&scratch);
  return st;
}
