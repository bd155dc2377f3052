/* Fusion and chain contraction: options, contraction of pairs (contract.c), then the quotient
 * graph. */
#include "contract_internal.h"

berth_fuse_options berth_fuse_default(void) {
  return (berth_fuse_options){ .share = berth_share_default() };
}

static void set_defaults(void *out) { *(berth_fuse_options *)out = berth_fuse_default(); }

static const berth_choice *const checks[] = {
  BERTH_I_CHOICE("exact", "A pair is left alone only if another path leads from one to the other."),
  BERTH_I_CHOICE("cheap", "Published: left alone if one has several consumers and the other "
                          "several producers."),
  BERTH_I_CHOICE("thorough", "Exact, by its published name."),
  NULL
};
static const berth_choice *const scopes[] = {
  BERTH_I_CHOICE("groups", "Both in one colocation group."),
  BERTH_I_CHOICE("all", "Any two ops, not of two different groups."),
  NULL
};
static const berth_choice *const inners[] = {
  BERTH_I_CHOICE("keep", "They become one tensor without readers, of their resident bytes."),
  BERTH_I_CHOICE("drop", "Published: they are gone, and memory is underestimated."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_fuse_options, name, kind)
enum { OF_CHAINS = 2 }; /* from this row on */

static const berth_option rows[] = {
  { FIELD(check, CHOICE), .choices = checks, .text = "which pairs would close a cycle" },
  { FIELD(scope, CHOICE), .choices = scopes, .text = "which connected ops may be fused" },
  { FIELD(inner, CHOICE), .choices = inners, .text = "tensors made and read within a fused op" },
  { FIELD(split_twins, FLAG), .text = "an op is fused without its twin, too" },
  { .key = NULL }
};

const berth_option_table *berth_fuse_option_table(void) {
  BERTH_I_OPTION_TABLE("fuse", rows, berth_fuse_options, set_defaults);
}

const berth_option_table *berth_chains_option_table(void) {
  BERTH_I_OPTION_TABLE("chains", rows + OF_CHAINS, berth_fuse_options, set_defaults);
}

/* Places in the order of the line, which is that of the graph. */
static void number_places(const berth_i_clusters *c, int32_t *place) {
  int32_t n = 0;
  for (int32_t x = c->line.next[c->n_nodes]; x != c->n_nodes; x = c->line.next[x]) place[x] = n++;
}

static berth_status contract(const berth_graph *g, const berth_fuse_options *o, berth_i_check check,
                             berth_i_sharing *sharing, int32_t *place) {
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  berth_i_clusters c;
  berth_i_pairs pairs;
  berth_status st = berth_i_pairs_init(g, &scratch, &pairs);
  if (st == BERTH_OK) st = berth_i_clusters_init(g, sharing, &pairs, &scratch, &c);
  if (st == BERTH_OK) {
    number_places(&c, place);
    st = berth_i_contract(&c, o, check, place);
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* @param number [ops] scratch */
static int32_t number_roots(const berth_i_sharing *s, int32_t *number, int32_t *map) {
  int32_t n = 0;
  memset(number, 0xff, (size_t)s->g->n_ops * sizeof *number);
  for (int32_t v = 0; v < s->g->n_ops; v++) {
    int32_t root = berth_i_sharing_root(s, v);
    if (number[root] == BERTH_NONE) number[root] = n++;
    map[v] = number[root];
  }
  return n;
}

static berth_status fuse(const berth_graph *g, const char *who, const berth_fuse_options *o,
                         berth_i_check check, berth_graph **out, int32_t *map) {
  berth_i_pool scratch = berth_i_pool_empty(g->ctx);
  size_t ops = (size_t)g->n_ops;
  berth_status st = berth_options_check(g->ctx, berth_fuse_option_table(), o);
  if (st != BERTH_OK) return st;
  berth_i_sharing sharing;
  if ((st = berth_i_sharing_init(g, who, &o->share, &scratch, &sharing)) != BERTH_OK) goto done;
  int32_t *place = berth_i_pool_alloc(&scratch, ops + (size_t)g->n_collectives, sizeof *place);
  int32_t *own = berth_i_pool_alloc(&scratch, ops, sizeof *own);
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if ((st = contract(g, o, check, &sharing, place)) != BERTH_OK) goto done;
  int32_t n = number_roots(&sharing, place, own);
  st = berth_i_quotient(g, n, own, o->inner, out);
  if (st == BERTH_OK && map) memcpy(map, own, ops * sizeof *map);
done:
  berth_i_pool_free(&scratch);
  return st;
}

berth_status berth_graph_fuse(const berth_graph *g, const berth_fuse_options *opts,
                              berth_graph **out, int32_t *map) {
  if (!g || !out) return BERTH_EINVAL;
  const berth_fuse_options defaults = berth_fuse_default(), *o = opts ? opts : &defaults;
  return fuse(g, "fuse", o,
              o->check == BERTH_FUSE_CHEAP ? BERTH_I_CHECK_CHEAP : BERTH_I_CHECK_EXACT, out, map);
}

berth_status berth_graph_fuse_chains(const berth_graph *g, const berth_fuse_options *opts,
                                     berth_graph **out, int32_t *map) {
  if (!g || !out) return BERTH_EINVAL;
  berth_fuse_options o = opts ? *opts : berth_fuse_default();
  o.scope = BERTH_FUSE_ALL;
  o.check = BERTH_FUSE_EXACT;
  return fuse(g, "chains", &o, BERTH_I_CHECK_CHAIN, out, map);
}
