/* Recipe: a file format that is read; CONTRIBUTING.md says where it goes. This one reads the
 * number of ops, then producer, consumer and bytes of each edge:
 *   ops 3
 *   0 1 8e6 */
#include "io/formats_internal.h"

/* No other format begins with that word. */
static berth_i_match match_pairs(berth_i_lines first) {
  char word[8];
  berth_i_lines_word(&first, "", word, sizeof word);
  return berth_i_match_if(strcmp(word, "ops") == 0, BERTH_I_MATCH_MARK);
}

static berth_status add_ops(berth_i_lines *l, berth_graph_builder *b, int32_t *n) {
  const double second = 1;
  char word[8];
  berth_op op = berth_op_default();
  berth_status st;
  if (!berth_i_lines_next_filled(l)) return berth_i_lines_fail(l, "number of ops is missing");
  berth_i_lines_word(l, "", word, sizeof word);
  st = berth_i_lines_id(l, "", "number of ops", n);
  op.seconds = &second;
  for (int32_t k = 0; k < *n && st == BERTH_OK; k++) st = berth_graph_builder_add_op(b, &op, NULL);
  return st;
}

static berth_status read_edge(berth_i_lines *l, int32_t n, berth_i_edges *edges) {
  berth_i_edge e = { .line = l->line };
  berth_status st;
  if ((st = berth_i_lines_id(l, "", "producer", &e.src)) != BERTH_OK) return st;
  if ((st = berth_i_lines_id(l, "", "consumer", &e.dst)) != BERTH_OK) return st;
  if ((st = berth_i_lines_amount(l, "", "bytes", &e.bytes)) != BERTH_OK) return st;
  if (e.src >= n || e.dst >= n) return berth_i_lines_fail(l, "op is not in 0..%d", (int)n - 1);
  return berth_i_edges_add(l->src->ctx, edges, e);
}

static berth_status read_pairs(const berth_i_source *src, berth_bundle *out) {
  berth_i_lines l = berth_i_lines_of(src);
  berth_i_edges edges = { 0 };
  berth_graph_builder *b = NULL;
  int32_t n = 0;
  berth_status st = berth_graph_builder_new(src->ctx, &b);
  if (st == BERTH_OK) st = add_ops(&l, b, &n);
  while (st == BERTH_OK && berth_i_lines_next_filled(&l)) st = read_edge(&l, n, &edges);
  if (st == BERTH_OK) st = berth_i_edges_build(src->ctx, &edges, n, -1, b);
  if (st == BERTH_OK) st = berth_graph_builder_finish(b, &out->graph);
  if (st == BERTH_ECYCLE) st = berth_i_edges_blame(src, &edges, st);
  berth_i_edges_release(src->ctx, &edges);
  berth_graph_builder_release(b);
  return st;
}

const berth_i_format berth_i_format_pairs = {
  .about = { .choice = { "pairs", "Edges with their bytes; every op takes 1 s." },
             .loads = BERTH_HOLDS_GRAPH },
  .match_text = match_pairs, .read_text = read_pairs
};
