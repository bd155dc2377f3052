/* Ops that feed one consumer only share a device with it: pairs by falling weight, joined as far as
 * limits allow. Source: Baechi's co-placement. */
#include "transform_internal.h"

typedef struct coplacing {
  const berth_graph *g;
  const berth_coplace_options *o;
  berth_i_sharing sharing;
  berth_i_pairs pairs;
  int32_t *order; /* [pairs] by weight */
  int32_t *group; /* [ops] */
  int32_t joined;
} coplacing;

berth_coplace_options berth_coplace_default(void) {
  return (berth_coplace_options){ .share = berth_share_default(), .control = 1 };
}

static void set_defaults(void *out) { *(berth_coplace_options *)out = berth_coplace_default(); }

const berth_option_table *berth_coplace_option_table(void) {
  static const berth_option options[] = {
    { BERTH_I_OPTION(berth_coplace_options, control, FLAG),
      .text = "an edge of zero bytes counts" }, { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("coplace", options, berth_coplace_options, set_defaults);
}

static bool counts(const coplacing *c, int32_t e) {
  return c->o->control || c->pairs.bytes[e] > 0 || c->pairs.dst[e] >= c->g->n_ops;
}

/* Is this the one edge of its producer? */
static bool is_only_edge(const coplacing *c, int32_t e) {
  int32_t u = c->pairs.src[e], n = 0;
  if (u >= c->g->n_ops || c->pairs.dst[e] >= c->g->n_ops || !counts(c, e)) return false;
  for (int32_t k = c->pairs.at[u]; k < c->pairs.at[u + 1] && n < 2; k++) n += counts(c, k);
  return n == 1;
}

/* Pairs from the heaviest on; a pair whose sets may not share a device is left. */
static berth_status join_all(coplacing *c) {
  berth_status st = berth_i_sharing_join_groups(&c->sharing, "coplace", false);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_pairs_by_weight(c->g, &c->pairs, NULL, c->order)) != BERTH_OK) return st;
  for (int32_t k = 0; k < c->pairs.n; k++) {
    int32_t e = c->order[k];
    if (!is_only_edge(c, e)) continue;
    int32_t a = berth_i_sharing_root(&c->sharing, c->pairs.src[e]);
    int32_t b = berth_i_sharing_root(&c->sharing, c->pairs.dst[e]);
    if (a != b && berth_i_sharing_apart(&c->sharing, a, b) != BERTH_I_TOGETHER) continue;
    if (a != b) berth_i_sharing_join(&c->sharing, a, b);
    c->joined++;
  }
  return berth_i_sharing_groups(&c->sharing, c->group);
}

berth_status berth_graph_coplace(const berth_graph *g, const berth_coplace_options *opts,
                                 berth_graph **out, int32_t *n_joined) {
  if (!g || !out) return BERTH_EINVAL;
  const berth_coplace_options defaults = berth_coplace_default();
  coplacing c = { .g = g, .o = opts ? opts : &defaults };
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  berth_status st;
  if ((st = berth_i_sharing_init(g, "coplace", &c.o->share, &scratch, &c.sharing)) != BERTH_OK)
    goto done;
  if ((st = berth_i_pairs_init(g, &scratch, &c.pairs)) != BERTH_OK) goto done;
  c.order = berth_i_pool_alloc(&scratch, (size_t)c.pairs.n, sizeof *c.order);
  c.group = berth_i_pool_alloc(&scratch, (size_t)g->n_ops, sizeof *c.group);
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) st = join_all(&c);
  if (st == BERTH_OK) st = berth_i_regroup(g, c.group, out);
  if (st == BERTH_OK && n_joined) *n_joined = c.joined;
done:
  berth_i_pool_free(&scratch);
  return st;
}
