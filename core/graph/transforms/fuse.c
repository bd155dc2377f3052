/* Fusion and chain contraction: options, then contraction, then the graph of what is left. */
#include "contract_internal.h"

berth_fuse_options berth_fuse_defaults(void) { return (berth_fuse_options){ .share = berth_share_defaults() }; }

static berth_status check_options(const berth_graph *g, const char *who, const berth_fuse_options *o) {
  if (o->check != BERTH_FUSE_EXACT && o->check != BERTH_FUSE_CHEAP) {
    return berth_i_fail(g->ctx, BERTH_EINVAL, "%s: option check: %d is unknown", who, (int)o->check);
  }
  if (o->scope != BERTH_FUSE_GROUPS && o->scope != BERTH_FUSE_ALL) {
    return berth_i_fail(g->ctx, BERTH_EINVAL, "%s: option scope: %d is unknown", who, (int)o->scope);
  }
  if (o->inner != BERTH_INNER_KEEP && o->inner != BERTH_INNER_DROP) {
    return berth_i_fail(g->ctx, BERTH_EINVAL, "%s: option inner: %d is unknown", who, (int)o->inner);
  }
  return BERTH_OK;
}

/* Places in the order of the line, which is that of the graph. */
static void number_places(const berth_i_clusters *c, int32_t *place) {
  int32_t x, n = 0;
  for (x = c->line.next[c->n_nodes]; x != c->n_nodes; x = c->line.next[x]) place[x] = n++;
}

static berth_status contract(const berth_graph *g, const berth_fuse_options *o, berth_i_check check, berth_i_sharing *sharing,
                             int32_t *place) {
  berth_i_clusters c = { .g = g };
  berth_i_pairs pairs;
  berth_status st = berth_i_pairs_init(g, &pairs);
  if (st == BERTH_OK) {
    st = berth_i_clusters_init(g, sharing, &pairs, &c);
    if (st == BERTH_OK) {
      number_places(&c, place);
      st = berth_i_contract(&c, o, check, place);
    }
    berth_i_clusters_release(&c);
  }
  berth_i_pairs_release(g, &pairs);
  return st;
}

/* @param number [ops] scratch */
static int32_t number_roots(const berth_i_sharing *s, int32_t *number, int32_t *map) {
  int32_t v, root, n = 0;
  memset(number, 0xff, (size_t)s->g->n_ops * sizeof *number);
  for (v = 0; v < s->g->n_ops; v++) {
    root = berth_i_sharing_root(s, v);
    if (number[root] == BERTH_NONE) number[root] = n++;
    map[v] = number[root];
  }
  return n;
}

static berth_status fuse(const berth_graph *g, const char *who, const berth_fuse_options *o, berth_i_check check,
                         berth_graph **out, int32_t *map) {
  berth_i_sharing sharing = { .g = g };
  size_t ops = (size_t)g->n_ops, nodes = ops + (size_t)g->n_collectives;
  int32_t *place = NULL, *own = NULL, n;
  berth_status st = check_options(g, who, o);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_sharing_init(g, who, &o->share, &sharing)) != BERTH_OK) goto done;
  place = berth_i_alloc(g->ctx, nodes, sizeof *place);
  own = berth_i_alloc(g->ctx, ops, sizeof *own);
  st = place && own ? contract(g, o, check, &sharing, place) : berth_i_nomem(g->ctx);
  if (st != BERTH_OK) goto done;
  n = number_roots(&sharing, place, own);
  st = berth_i_quotient(g, n, own, o->inner, out);
  if (st == BERTH_OK && map) memcpy(map, own, ops * sizeof *map);
done:
  berth_i_free(g->ctx, place, nodes, sizeof *place);
  berth_i_free(g->ctx, own, ops, sizeof *own);
  berth_i_sharing_release(&sharing);
  return st;
}

berth_status berth_graph_fuse(const berth_graph *g, const berth_fuse_options *opts, berth_graph **out, int32_t *map) {
  const berth_fuse_options defaults = berth_fuse_defaults(), *o = opts ? opts : &defaults;
  return fuse(g, "fuse", o, o->check == BERTH_FUSE_CHEAP ? BERTH_I_CHECK_CHEAP : BERTH_I_CHECK_EXACT, out, map);
}

berth_status berth_graph_fuse_chains(const berth_graph *g, const berth_fuse_options *opts, berth_graph **out, int32_t *map) {
  berth_fuse_options o = opts ? *opts : berth_fuse_defaults();
  o.scope = BERTH_FUSE_ALL;
  o.check = BERTH_FUSE_EXACT;
  return fuse(g, "chains", &o, BERTH_I_CHECK_CHAIN, out, map);
}
