/* DOPPLER's task graphs, as text (docs/formats.md, "doppler"):
 *   number of vertices with inputs
 *   ids of inputs
 *   edge sources
 *   edge destinations
 *   a line per vertex that is no input: "work,transfer" or "work,transfer,kind"
 * Commas may trail. Inputs are not vertices: the others are numbered from 0. */
#include "io/formats_internal.h"

static const char *const SEPARATORS = ",";

/* Past blanks and commas; false at the end of the line. */
static bool more(berth_i_lines *l) {
  for (;;) {
    berth_i_lines_skip_blanks(l);
    if (l->at == l->end) return false;
    if (*l->at != ',') return true;
    l->at++;
  }
}

/* Blank lines count: an empty list of inputs or edges is an empty line. */
static berth_status next_line(berth_i_lines *l, const char *what) {
  return berth_i_lines_next(l) ? BERTH_OK
                               : berth_i_lines_fail(l, "the line with %s is missing", what);
}

static berth_status read_count(berth_i_lines *l, int32_t *n) {
  berth_status st = next_line(l, "the number of vertices");
  if (st == BERTH_OK) st = berth_i_lines_id(l, SEPARATORS, "number of vertices", n);
  if (st == BERTH_OK && more(l))
    st = berth_i_lines_fail(l, "something follows the number of vertices");
  return st;
}

/* Of the list only its length counts. */
static berth_status drop_inputs(berth_i_lines *l, int32_t *n) {
  int32_t total = *n, inputs = 0, id;
  berth_status st = next_line(l, "the input vertices");
  for (; st == BERTH_OK && more(l); inputs++)
    st = berth_i_lines_id(l, SEPARATORS, "input vertex", &id);
  if (st == BERTH_OK && inputs > total) {
    st = berth_i_lines_fail(l, "%d input vertices are more than all %d vertices", (int)inputs,
                            (int)total);
  }
  *n = total - inputs;
  return st;
}

static berth_status read_vertex_id(berth_i_lines *l, const char *what, int32_t n, int32_t *id) {
  berth_status st = berth_i_lines_id(l, SEPARATORS, what, id);
  if (st == BERTH_OK && *id >= n)
    st = berth_i_lines_fail(l, "%s is not in 0..%d (%d)", what, (int)n - 1, (int)*id);
  return st;
}

/* Sources and destinations are lists of the same length on two lines, matched by position. */
static berth_status read_edges(berth_i_lines *l, int32_t n, berth_i_edges *e) {
  berth_status st = next_line(l, "the edge sources");
  size_t k = 0;
  while (st == BERTH_OK && more(l)) {
    berth_i_edge edge = { 0, 0, 0, l->line, NULL };
    if ((st = read_vertex_id(l, "edge source", n, &edge.src)) == BERTH_OK)
      st = berth_i_edges_add(l->src->ctx, e, edge);
  }
  if (st == BERTH_OK) st = next_line(l, "the edge destinations");
  for (; st == BERTH_OK && more(l); k++) {
    if (k == e->n)
      return berth_i_lines_fail(l, "more than %zu edge destinations for as many sources", e->n);
    st = read_vertex_id(l, "edge destination", n, &e->at[k].dst);
  }
  if (st == BERTH_OK && k < e->n)
    st = berth_i_lines_fail(l, "%zu edge destinations for %zu sources", k, e->n);
  return st;
}

/* One transfer cost per vertex: all of its out-edges have it. */
static berth_status read_vertex(berth_i_lines *l, berth_graph_builder *b, double *transfer) {
  berth_op op = berth_op_default();
  char kind[64] = "";
  double seconds = 0;
  berth_status st;
  if ((st = berth_i_lines_amount(l, SEPARATORS, "work", &seconds)) != BERTH_OK) return st;
  if (!more(l)) return berth_i_lines_fail(l, "transfer cost is missing");
  if ((st = berth_i_lines_amount(l, SEPARATORS, "transfer cost", transfer)) != BERTH_OK) return st;
  if (more(l)) berth_i_lines_word(l, SEPARATORS, kind, sizeof kind);
  if (more(l)) return berth_i_lines_fail(l, "something follows work, transfer cost and kind");
  op.seconds = &seconds;
  op.kind = kind;
  return berth_graph_builder_add_op(b, &op, NULL);
}

/* Blank lines may be between vertices; after the last one nothing may follow. */
static berth_status read_vertices(berth_i_lines *l, int32_t n, berth_graph_builder *b,
                                  double *transfer) {
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < n && st == BERTH_OK; k++) {
    if (!berth_i_lines_next_filled(l))
      return berth_i_lines_fail(l, "%d of %d vertices are missing", (int)(n - k), (int)n);
    if ((st = berth_i_lines_interrupted(l)) == BERTH_OK) st = read_vertex(l, b, &transfer[k]);
  }
  if (st == BERTH_OK && berth_i_lines_next_filled(l))
    st = berth_i_lines_fail(l, "something follows vertex %d", (int)n - 1);
  return st;
}

static berth_status refuse_repeated(const berth_i_source *src, const berth_i_edges *e, int32_t n) {
  const berth_i_edge *twice = NULL;
  berth_status st = berth_i_edges_repeated(src->ctx, e, n, &twice);
  if (st != BERTH_OK || !twice) return st;
  return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:%d: edge %d -> %d is given twice", src->name,
                      (int)twice->line, (int)twice->src, (int)twice->dst);
}

/* A line has at least three characters, so a count beyond the file is refused before memory is
 * taken for it. */
static berth_status check_count(const berth_i_lines *l, int32_t n) {
  if ((size_t)n <= l->src->len) return BERTH_OK;
  return berth_i_lines_fail(l, "the file is too short for %d vertices", (int)n);
}

static berth_status read_doppler(const berth_i_source *src, berth_bundle *out) {
  berth_i_lines l = berth_i_lines_of(src);
  berth_graph_builder *b = NULL;
  berth_i_edges e = { NULL, 0, 0 };
  double *transfer = NULL;
  int32_t n = 0;
  berth_status st = berth_graph_builder_new(src->ctx, &b);
  if (st != BERTH_OK) return st;
  berth_graph_builder_unitless(b, 1);
  if ((st = read_count(&l, &n)) != BERTH_OK || (st = drop_inputs(&l, &n)) != BERTH_OK) goto done;
  if ((st = check_count(&l, n)) != BERTH_OK || (st = read_edges(&l, n, &e)) != BERTH_OK) goto done;
  if (!(transfer = berth_i_alloc(src->ctx, (size_t)n, sizeof *transfer))) {
    st = berth_i_nomem(src->ctx);
    goto done;
  }
  if ((st = read_vertices(&l, n, b, transfer)) != BERTH_OK) goto done;
  for (size_t k = 0; k < e.n; k++) e.at[k].bytes = transfer[e.at[k].src];
  if ((st = refuse_repeated(src, &e, n)) != BERTH_OK) goto done;
  /* the bytes of an edge are known only after its source's line, which comes later */
  if ((st = berth_i_edges_build(src->ctx, &e, n, -1, b)) != BERTH_OK) goto done;
  st = berth_i_edges_blame(src, &e, berth_graph_builder_finish(b, &out->graph));
done:
  berth_i_free(src->ctx, transfer, (size_t)n, sizeof *transfer);
  berth_i_edges_release(src->ctx, &e);
  berth_graph_builder_release(b);
  return st;
}

/* A number, then no line of STG. */
static berth_i_match match_doppler(berth_i_lines first) {
  if (!berth_i_lines_is_number(&first)) return BERTH_I_MATCH_NONE;
  bool commas;
  int words = berth_i_lines_next_words(&first, &commas);
  return berth_i_match_if(words < 3 || commas, BERTH_I_MATCH_SHAPE);
}

const berth_i_format berth_i_format_doppler = {
  .about = { .choice = { "doppler", "Graphs of the published simulator of DOPPLER." },
             .loads = BERTH_HOLDS_GRAPH },
  .match_text = match_doppler, .read_text = read_doppler
};
