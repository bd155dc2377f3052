/* PipeDream's profiles (docs/formats.md, "pipedream"). Lines in any order, fields apart by " -- ":
 *   node<ID> -- <description> -- forward_compute_time=ms, backward_compute_time=ms,
 *     activation_size=B, parameter_size=B [-- stage_id=<ID>]
 *   <tab>node<A> -- node<B>
 * A size may be a list "[a; b]", which counts as its sum. Nodes are sorted by id, and become ops in
 * that order; the forward graph is then mirrored into a training graph. */
#include "base/sort_internal.h"
#include "io/formats_internal.h"

#include <stdio.h>

enum { MAX_KIND = 128 };

typedef struct pipedream_node {
  int32_t id, line;
  double forward, backward, activation, params;
  const char *kind; /* into the text */
  size_t kind_len;
} pipedream_node;

typedef struct profile {
  berth_ctx *ctx;
  pipedream_node *nodes;
  int32_t n;
  size_t cap;
  berth_i_edges edges; /* src, dst: ids, then ops */
} profile;

static void release_profile(profile *p) {
  berth_i_free(p->ctx, p->nodes, p->cap, sizeof *p->nodes);
  berth_i_edges_release(p->ctx, &p->edges);
}

/* Cuts the next field off at " -- "; the present line is what is left. */
static bool next_field(berth_i_lines *l, berth_i_lines *field) {
  const char *p = l->at;
  if (l->at == l->end) return false;
  *field = *l;
  /* a line that ends without separator is one field */
  while (p + 4 <= l->end && memcmp(p, " -- ", 4) != 0) p++;
  if (p + 4 > l->end) p = l->end;
  field->end = p;
  l->at = p < l->end ? p + 4 : l->end;
  return true;
}

/* Cuts off the description of a node, which may hold " -- ": it ends before the last field that
 * begins as the numbers do; without one, at the next " -- ". */
static bool next_description(berth_i_lines *l, berth_i_lines *field) {
  static const char numbers[] = " -- forward_compute_time=";
  const size_t n = sizeof numbers - 1;
  const char *from = l->at;
  for (const char *p = l->end - (l->end - from < (ptrdiff_t)n ? l->end - from : (ptrdiff_t)n);
       p > from; p--) {
    if ((size_t)(l->end - p) < n || memcmp(p, numbers, n) != 0) continue;
    *field = *l;
    field->end = p;
    l->at = p + 4;
    return true;
  }
  return next_field(l, field);
}

/* Passes over the word, and over blanks before it; false: it is not there, and only blanks are
 * passed. */
static bool starts(berth_i_lines *l, const char *word) {
  size_t n = strlen(word);
  berth_i_lines_skip_blanks(l);
  if ((size_t)(l->end - l->at) < n || memcmp(l->at, word, n) != 0) return false;
  l->at += n;
  return true;
}

/* The word is "node", directly followed by the number. */
static berth_status read_node_id(berth_i_lines *field, int32_t *id) {
  if (!starts(field, "node")) return berth_i_lines_fail(field, "\"node\" and a number are missing");
  berth_status st;
  if ((st = berth_i_lines_id(field, "", "node number", id)) != BERTH_OK) return st;
  return berth_i_lines_is_blank(field)
             ? BERTH_OK
             : berth_i_lines_fail(field, "something follows node %d", (int)*id);
}

/* ---- nodes ---- */

/* Layers with several outputs list the size of each. */
static berth_status read_list(berth_i_lines *f, const char *what, double *sum) {
  berth_status st = BERTH_OK;
  double x = 0;
  f->at++; /* [ */
  for (*sum = 0; st == BERTH_OK; f->at++) {
    if ((st = berth_i_lines_amount(f, ";]", what, &x)) != BERTH_OK) return st;
    *sum += x;
    berth_i_lines_skip_blanks(f);
    if (f->at == f->end) return berth_i_lines_fail(f, "the list of %s does not end", what);
    if (*f->at == ']') break;
    if (*f->at != ';') return berth_i_lines_fail(f, "the list of %s does not go on with ';'", what);
  }
  f->at++;
  return isinf(*sum) ? berth_i_lines_fail(f, "the sum of %s is too large", what) : BERTH_OK;
}

/* "key=" then a number or a list, then a comma or the end of the field. */
static berth_status read_value(berth_i_lines *f, const char *key, double *out) {
  if (!starts(f, key) || !starts(f, "=")) return berth_i_lines_fail(f, "\"%s=\" is missing", key);
  berth_i_lines_skip_blanks(f);
  berth_status st = f->at < f->end && *f->at == '[' ? read_list(f, key, out)
                                                    : berth_i_lines_amount(f, ",", key, out);
  if (st != BERTH_OK) return st;
  if (!starts(f, ",") && !berth_i_lines_is_blank(f))
    return berth_i_lines_fail(f, "something follows \"%s\"", key);
  return BERTH_OK;
}

/* The four numbers in the order of the file, then nothing. */
static berth_status read_values(berth_i_lines *f, pipedream_node *node) {
  berth_status st;
  if ((st = read_value(f, "forward_compute_time", &node->forward)) != BERTH_OK) return st;
  if ((st = read_value(f, "backward_compute_time", &node->backward)) != BERTH_OK) return st;
  if ((st = read_value(f, "activation_size", &node->activation)) != BERTH_OK) return st;
  if ((st = read_value(f, "parameter_size", &node->params)) != BERTH_OK) return st;
  return berth_i_lines_is_blank(f) ? BERTH_OK
                                   : berth_i_lines_fail(f, "something follows \"parameter_size\"");
}

/* The kind is the description up to the first bracket. */
static void take_kind(const berth_i_lines *f, pipedream_node *node) {
  const char *p = f->at;
  while (p < f->end && *p != '(') p++;
  while (p > f->at && p[-1] == ' ') p--;
  /* not copied: the text of the source outlives the profile */
  node->kind = f->at;
  node->kind_len = (size_t)(p - f->at);
}

/* @param description the field before the numbers */
static berth_status read_node(berth_i_lines *l, int32_t id, const berth_i_lines *description,
                              profile *p) {
  pipedream_node node = { .id = id, .line = l->line };
  take_kind(description, &node);
  berth_i_lines f;
  if (!next_field(l, &f))
    return berth_i_lines_fail(l, "the numbers of node %d are missing", (int)id);
  berth_status st;
  if ((st = read_values(&f, &node)) != BERTH_OK) return st;
  if (next_field(l, &f) && !starts(&f, "stage_id="))
    return berth_i_lines_fail(l, "something follows the numbers of node %d", (int)id);
  st = berth_i_grow(p->ctx, (void **)&p->nodes, &p->cap, (size_t)p->n + 1, sizeof *p->nodes);
  if (st == BERTH_OK) p->nodes[p->n++] = node;
  return st;
}

/* An indented line is an edge; the indent is what distinguishes them, as both begin with "node". */
static berth_status read_line(berth_i_lines *l, profile *p) {
  berth_i_edge edge = { 0, 0, 0, l->line, NULL };
  berth_i_lines f;
  bool indented = *l->at == '\t' || *l->at == ' ';
  next_field(l, &f);
  berth_status st;
  if ((st = read_node_id(&f, &edge.src)) != BERTH_OK) return st;
  if (!(indented ? next_field : next_description)(l, &f))
    return berth_i_lines_fail(l, "node %d is followed by nothing", (int)edge.src);
  if (!indented) return read_node(l, edge.src, &f, p);
  if ((st = read_node_id(&f, &edge.dst)) != BERTH_OK) return st;
  if (!berth_i_lines_is_blank(l)) return berth_i_lines_fail(l, "something follows the edge");
  return berth_i_edges_add(p->ctx, &p->edges, edge);
}

/* ---- the graph ---- */

BERTH_I_SORT(sort_ids, pipedream_node, BERTH_I_UP(id) BERTH_I_UP(line))

/* Sorted by id, then line: of a repeated node the second line is reported. */
static berth_status sort_nodes(const berth_i_lines *l, profile *p) {
  sort_ids(p->nodes, (size_t)p->n);
  for (int32_t k = 1; k < p->n; k++) {
    berth_i_lines at = *l;
    if (p->nodes[k].id != p->nodes[k - 1].id) continue;
    at.line = p->nodes[k].line;
    return berth_i_lines_fail(&at, "node %d is given twice", (int)p->nodes[k].id);
  }
  return BERTH_OK;
}

/* Binary search: ids are sorted and need not be dense. */
static int32_t op_of(const profile *p, int32_t id) {
  int32_t low = 0, high = p->n;
  while (low < high) {
    int32_t mid = low + (high - low) / 2;
    if (p->nodes[mid].id < id) low = mid + 1;
    else high = mid;
  }
  return low < p->n && p->nodes[low].id == id ? low : BERTH_NONE;
}

/* Ids become positions, so that ids need not be 0..n-1; then no edge may repeat. */
static berth_status resolve_edges(const berth_i_lines *l, profile *p) {
  const berth_i_edge *twice = NULL;
  berth_i_lines at = *l;
  for (size_t k = 0; k < p->edges.n; k++) {
    berth_i_edge *e = &p->edges.at[k];
    int32_t src = op_of(p, e->src), dst = op_of(p, e->dst);
    at.line = e->line;
    if (src == BERTH_NONE || dst == BERTH_NONE) {
      return berth_i_lines_fail(&at, "there is no node %d",
                                (int)(src == BERTH_NONE ? e->src : e->dst));
    }
    e->src = src;
    e->dst = dst;
  }
  berth_status st;
  if ((st = berth_i_edges_repeated(p->ctx, &p->edges, p->n, &twice)) != BERTH_OK || !twice)
    return st;
  at.line = twice->line;
  return berth_i_lines_fail(&at, "edge node%d -> node%d is given twice",
                            (int)p->nodes[twice->src].id, (int)p->nodes[twice->dst].id);
}

/* The backward time goes to the twin that the mirror adds. */
static berth_status add_op(const pipedream_node *node, berth_graph_builder *b) {
  berth_op op = berth_op_default();
  char name[24];
  /* longer kinds are cut */
  size_t n = node->kind_len < MAX_KIND ? node->kind_len : MAX_KIND - 1;
  double seconds = node->forward * 1e-3;
  /* names as in the file, so that users find their layers again */
  snprintf(name, sizeof name, "node%d", (int)node->id);
  char kind[MAX_KIND];
  memcpy(kind, node->kind, n);
  kind[n] = 0;
  op.name = name;
  op.kind = kind;
  op.seconds = &seconds;
  op.param_bytes = node->params;
  return berth_graph_builder_add_op(b, &op, NULL);
}

/* Every op has its activation as one tensor, read or not: tensor id = op id. */
static berth_status build_forward(const profile *p, berth_graph_builder *b, berth_graph **out) {
  berth_status st;
  for (int32_t k = 0; k < p->n; k++)
    if ((st = add_op(&p->nodes[k], b)) != BERTH_OK) return st;
  for (int32_t k = 0; k < p->n; k++) {
    berth_tensor t = { k, p->nodes[k].activation, -1, BERTH_TENSOR_BATCH };
    if ((st = berth_graph_builder_add_tensor(b, &t, NULL)) != BERTH_OK) return st;
  }
  for (size_t e = 0; e < p->edges.n; e++)
    if ((st = berth_graph_builder_add_consumer(b, p->edges.at[e].src, p->edges.at[e].dst))
        != BERTH_OK)
      return st;
  return berth_graph_builder_finish(b, out);
}

/* What PAC-ML's simulator does when it reads these profiles. */
static berth_mirror_options mirror_options(int way) {
  berth_mirror_options o = berth_mirror_default();
  if (way != BERTH_MIRROR_PACML) return o;
  o.join = BERTH_JOIN_LAST;
  o.gradients = BERTH_GRADIENT_AS_OUTPUT;
  o.activations = 0;
  o.params = 1;
  return o;
}

/* Replaces *g by the graph with both passes; backward times are per forward op. */
static berth_status mirror(const profile *p, int way, berth_graph **g) {
  berth_mirror_options o = mirror_options(way);
  berth_graph *both = NULL;
  double *backward = berth_i_alloc(p->ctx, (size_t)p->n, sizeof *backward);
  if (!backward) return berth_i_nomem(p->ctx);
  for (int32_t k = 0; k < p->n; k++) backward[k] = p->nodes[k].backward * 1e-3;
  o.seconds = backward;
  berth_status st;
  if ((st = berth_graph_mirror(*g, &o, &both, NULL)) == BERTH_OK) {
    berth_graph_release(*g);
    *g = both;
  }
  berth_i_free(p->ctx, backward, (size_t)p->n, sizeof *backward);
  return st;
}

static berth_status read_profile(berth_i_lines *l, profile *p) {
  berth_status st = BERTH_OK;
  while (st == BERTH_OK && berth_i_lines_next_filled(l))
    if ((st = berth_i_lines_interrupted(l)) == BERTH_OK) st = read_line(l, p);
  if (st == BERTH_OK && p->n == 0) st = berth_i_lines_fail(l, "there is no node");
  if (st == BERTH_OK) st = sort_nodes(l, p);
  return st == BERTH_OK ? resolve_edges(l, p) : st;
}

static berth_status read_pipedream(const berth_i_source *src, berth_bundle *out) {
  berth_i_lines l = berth_i_lines_of(src);
  profile p = { .ctx = src->ctx };
  berth_graph_builder *b = NULL;
  berth_status st = read_profile(&l, &p);
  if (st == BERTH_OK) st = berth_graph_builder_new(src->ctx, &b);
  if (st == BERTH_OK) st = build_forward(&p, b, &out->graph);
  if (st == BERTH_OK && !src->opts.forward_only) st = mirror(&p, src->opts.mirror, &out->graph);
  if (st == BERTH_ECYCLE || st == BERTH_EINVAL) st = berth_i_edges_blame(src, &p.edges, st);
  berth_graph_builder_release(b);
  release_profile(&p);
  return st;
}

/* Others may have " -- " farther behind. */
static berth_i_match match_pipedream(berth_i_lines first) {
  char word[64];
  berth_i_lines_word(&first, "", word, sizeof word);
  return berth_i_match_if(strncmp(first.at, " -- ", 4) == 0, BERTH_I_MATCH_MARK);
}

const berth_i_format berth_i_format_pipedream = {
  .about = { .choice = { "pipedream", "Profiles of PipeDream: forward and backward times." },
             .loads = BERTH_HOLDS_GRAPH, .reads = "forward_only mirror" },
  .match_text = match_pipedream, .read_text = read_pipedream
};
