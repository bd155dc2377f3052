/* GraphML in: nodes are ops, edges are tensors; attributes as docs/formats.md lists them. */
#include "io/formats_internal.h"
#include "extern/igraph_internal.h"
#include "xml_scan.h"

#include <stdio.h>
#include <stdlib.h>

static const char SECONDS[] = "seconds";

typedef struct Reader {
  const berth_i_source *src;
  berth_ctx *ctx;
  berth_i_table t;
  const berth_i_column **times; /* [n_types] "seconds" or "seconds:type" */
  const char **types;
  int32_t n_types;
  double *seconds;  /* [n_types] of the present op */
  int32_t *op_of;   /* [nodes] BERTH_NONE: a collective */
  int32_t n_ops;
  const berth_i_column *collective;
  berth_graph_builder *b;
} Reader;

static void release(Reader *r) {
  berth_i_free(r->ctx, r->op_of, (size_t)r->t.nodes.rows, sizeof *r->op_of);
  berth_i_free(r->ctx, r->times, (size_t)r->t.nodes.n, sizeof *r->times);
  berth_i_free(r->ctx, r->types, (size_t)r->t.nodes.n, sizeof *r->types);
  berth_i_free(r->ctx, r->seconds, (size_t)r->t.nodes.n, sizeof *r->seconds);
  berth_i_table_release(&r->t);
  berth_graph_builder_release(r->b);
}

static const berth_i_column *find(const berth_i_columns *c, const char *name) {
  int32_t k;
  for (k = 0; k < c->n; k++)
    if (strcmp(c->at[k].name, name) == 0) return &c->at[k];
  return NULL;
}

static const char *text_at(const berth_i_columns *c, const char *name, int32_t row) {
  const berth_i_column *x = find(c, name);
  return x && x->text ? x->text[row] : "";
}

/* ---- values ------------------------------------------------------------------------------- */

typedef struct Cell {
  const Reader *r;
  const berth_i_columns *table;
  int32_t row;
} Cell;

static int32_t line_of(const Cell *c) {
  bool edges = c->table == &c->r->t.edges;
  return edges ? berth_i_graphml_edge_line(c->r->src, c->row)
               : berth_i_graphml_node_line(c->r->src, text_at(c->table, "id", c->row));
}

static berth_status fail(const Cell *c, const char *what, const char *why, double value) {
  char buf[BERTH_I_NUMBER_SIZE];
  return berth_i_fail(c->r->ctx, BERTH_EPARSE, "%s:%d: %s %s (%s)", c->r->src->name, (int)line_of(c), what, why,
                      isfinite(value) ? berth_i_number_text(value, buf) : value > 0 ? "inf" : "-inf");
}

static berth_status parse_text(const Cell *c, const char *what, const char *text, berth_unit unit, double *out) {
  char message[256];
  berth_status st = berth_quantity_parse(c->r->ctx, text, unit, out);
  if (st != BERTH_EINVAL) return st;
  snprintf(message, sizeof message, "%s", berth_errmsg(c->r->ctx));
  return berth_i_fail(c->r->ctx, BERTH_EPARSE, "%s:%d: %s: %s", c->r->src->name, (int)line_of(c), what, message);
}

/* A missing value leaves out as it is. Texts may carry units. */
static berth_status get_column(const Cell *c, const berth_i_column *x, berth_unit unit, bool infinite, double *out) {
  double v;
  berth_status st = BERTH_OK;
  if (!x || (x->text && !*x->text[c->row])) return BERTH_OK;
  v = x->text ? 0 : x->number[c->row];
  if (x->text && strcmp(x->text[c->row], "Infinity") == 0) v = INFINITY;
  else if (x->text) st = parse_text(c, x->name, x->text[c->row], unit, &v);
  if (st != BERTH_OK || isnan(v)) return st;
  if (v < 0) return fail(c, x->name, "is negative", v);
  if (isinf(v) && !infinite) return fail(c, x->name, "is infinite", v);
  *out = v;
  return BERTH_OK;
}

static berth_status get_amount(const Cell *c, const char *name, berth_unit unit, double *out) {
  return get_column(c, find(c->table, name), unit, false, out);
}

static berth_status get_int(const Cell *c, const char *name, int32_t *out) {
  double v = NAN;
  berth_status st = get_column(c, find(c->table, name), BERTH_BYTES, false, &v);
  if (st != BERTH_OK || isnan(v)) return st;
  if (v != floor(v)) return fail(c, name, "is not a whole number", v);
  if (v >= INT32_MAX) return fail(c, name, "is beyond 32 bits", v);
  *out = (int32_t)v;
  return BERTH_OK;
}

static berth_status get_flag(const Cell *c, const char *name, uint32_t bit, uint32_t *flags) {
  double v = 0;
  const char *text = text_at(c->table, name, c->row);
  berth_status st = BERTH_OK;
  if (strcmp(text, "true") == 0) v = 1;
  else if (strcmp(text, "false") != 0) st = get_column(c, find(c->table, name), BERTH_BYTES, false, &v);
  if (v != 0) *flags |= bit;
  return st;
}

/* ---- ops ---------------------------------------------------------------------------------- */

static berth_status find_types(Reader *r) {
  size_t n = (size_t)r->t.nodes.n;
  int32_t k;
  r->times = berth_i_alloc(r->ctx, n, sizeof *r->times);
  r->types = berth_i_alloc(r->ctx, n, sizeof *r->types);
  r->seconds = berth_i_alloc(r->ctx, n, sizeof *r->seconds);
  if (!r->times || !r->types || !r->seconds) return berth_i_nomem(r->ctx);
  for (k = 0; k < r->t.nodes.n; k++) {
    const char *name = r->t.nodes.at[k].name, *rest = name + strlen(SECONDS);
    if (strncmp(name, SECONDS, strlen(SECONDS)) != 0 || (*rest && *rest != ':')) continue;
    r->times[r->n_types] = &r->t.nodes.at[k];
    r->types[r->n_types++] = *rest ? rest + 1 : "";
  }
  return r->n_types ? berth_graph_builder_types(r->b, r->n_types, r->types) : BERTH_OK;
}

/* An op has times for all types or for none. */
static berth_status read_times(Reader *r, const Cell *c, berth_op *op) {
  int32_t k, given = 0;
  berth_status st = BERTH_OK;
  for (k = 0; k < r->n_types && st == BERTH_OK; k++) {
    r->seconds[k] = NAN;
    st = get_column(c, r->times[k], BERTH_SECONDS, true, &r->seconds[k]);
    given += !isnan(r->seconds[k]);
  }
  if (st != BERTH_OK || given == 0) return st;
  if (given < r->n_types) return fail(c, SECONDS, "is given for some device types, but not for all", given);
  op->seconds = r->seconds;
  return BERTH_OK;
}

/* Without a column of names the ids are names, unless they are but n0, n1, ... */
static const char *name_of(const Reader *r, int32_t row) {
  const char *id = text_at(&r->t.nodes, "id", row);
  char usual[24];
  if (find(&r->t.nodes, "name")) return text_at(&r->t.nodes, "name", row);
  snprintf(usual, sizeof usual, "n%d", (int)row);
  return strcmp(id, usual) == 0 ? "" : id;
}

static berth_status read_op(Reader *r, int32_t row) {
  Cell c = { r, &r->t.nodes, row };
  berth_op op = berth_op_default();
  berth_status st;
  op.name = name_of(r, row);
  op.kind = text_at(&r->t.nodes, "kind", row);
  if ((st = read_times(r, &c, &op)) != BERTH_OK) return st;
  if ((st = get_amount(&c, "flop", BERTH_FLOP, &op.flop)) != BERTH_OK) return st;
  if ((st = get_amount(&c, "bytes", BERTH_BYTES, &op.bytes)) != BERTH_OK) return st;
  if ((st = get_amount(&c, "param_bytes", BERTH_BYTES, &op.param_bytes)) != BERTH_OK) return st;
  if ((st = get_amount(&c, "workspace_bytes", BERTH_BYTES, &op.workspace_bytes)) != BERTH_OK) return st;
  if ((st = get_int(&c, "group", &op.group)) != BERTH_OK) return st;
  if ((st = get_int(&c, "twin", &op.twin)) != BERTH_OK) return st;
  if ((st = get_int(&c, "pin", &op.pin)) != BERTH_OK) return st;
  if ((st = get_flag(&c, "backward", BERTH_OP_BACKWARD, &op.flags)) != BERTH_OK) return st;
  if ((st = get_flag(&c, "update", BERTH_OP_UPDATE, &op.flags)) != BERTH_OK) return st;
  if ((st = get_flag(&c, "splittable", BERTH_OP_SPLITTABLE, &op.flags)) != BERTH_OK) return st;
  if ((st = get_flag(&c, "communication", BERTH_OP_COMMUNICATION, &op.flags)) != BERTH_OK) return st;
  return berth_graph_builder_add_op(r->b, &op, NULL);
}

static bool is_collective(const Reader *r, int32_t row) {
  return r->collective && r->collective->text && *r->collective->text[row];
}

static berth_status read_ops(Reader *r) {
  berth_status st = find_types(r);
  int32_t row;
  if (st != BERTH_OK) return st;
  if (!(r->op_of = berth_i_alloc(r->ctx, (size_t)r->t.nodes.rows, sizeof *r->op_of))) return berth_i_nomem(r->ctx);
  for (row = 0; row < r->t.nodes.rows && st == BERTH_OK; row++) {
    r->op_of[row] = is_collective(r, row) ? BERTH_NONE : r->n_ops++;
    if (r->op_of[row] != BERTH_NONE) st = read_op(r, row);
  }
  return st;
}

/* ---- tensors ------------------------------------------------------------------------------ */

/* Edges of one tensor have one number in the column "tensor"; an edge without a number is a tensor of its own. */
typedef struct Share {
  double tensor;
  int32_t edge;
} Share;

static int compare_shares(const void *p, const void *q) {
  const Share *a = p, *b = q;
  if (a->tensor != b->tensor) return a->tensor < b->tensor ? -1 : 1;
  return a->edge < b->edge ? -1 : 1;
}

static berth_status list_shares(Reader *r, Share *share, size_t *n) {
  const berth_i_column *column = find(&r->t.edges, "tensor");
  int32_t e;
  berth_status st = BERTH_OK;
  for (e = 0; e < r->t.edges.rows && st == BERTH_OK; e++) {
    Cell c = { r, &r->t.edges, e };
    if (r->op_of[r->t.from[e]] == BERTH_NONE || r->op_of[r->t.to[e]] == BERTH_NONE) continue;
    share[*n] = (Share){ INFINITY, e };
    st = get_column(&c, column, BERTH_BYTES, false, &share[(*n)++].tensor);
  }
  if (*n > 0) qsort(share, *n, sizeof *share, compare_shares);
  return st;
}

static berth_status read_tensor(const Reader *r, int32_t edge, berth_tensor *t) {
  Cell c = { r, &r->t.edges, edge };
  berth_status st;
  *t = (berth_tensor){ r->op_of[r->t.from[edge]], 0, -1, 0 };
  if ((st = get_amount(&c, "bytes", BERTH_BYTES, &t->bytes)) != BERTH_OK) return st;
  if ((st = get_amount(&c, "resident_bytes", BERTH_BYTES, &t->resident_bytes)) != BERTH_OK) return st;
  if ((st = get_flag(&c, "batch", BERTH_TENSOR_BATCH, &t->flags)) != BERTH_OK) return st;
  return get_flag(&c, "gradient", BERTH_TENSOR_GRADIENT, &t->flags);
}

static bool same_tensor(const berth_tensor *a, const berth_tensor *b) {
  return a->producer == b->producer && a->bytes == b->bytes && a->resident_bytes == b->resident_bytes && a->flags == b->flags;
}

static berth_status add_tensors(Reader *r, const Share *share, size_t n, int32_t *tensor) {
  berth_tensor t, last = { 0, 0, 0, 0 };
  berth_status st;
  size_t k;
  for (k = 0; k < n; k++) {
    int32_t e = share[k].edge;
    Cell c = { r, &r->t.edges, e };
    if ((st = read_tensor(r, e, &t)) != BERTH_OK) return st;
    if (k > 0 && isfinite(share[k].tensor) && share[k].tensor == share[k - 1].tensor) {
      if (!same_tensor(&t, &last)) return fail(&c, "tensor", "has edges that differ in source, size or flags", share[k].tensor);
      tensor[e] = tensor[share[k - 1].edge];
      continue;
    }
    if ((st = berth_graph_builder_add_tensor(r->b, &t, &tensor[e])) != BERTH_OK) return st;
    last = t;
  }
  return BERTH_OK;
}

static berth_status read_tensors(Reader *r) {
  size_t m = (size_t)r->t.edges.rows, n = 0;
  Share *share = berth_i_alloc(r->ctx, m, sizeof *share);
  int32_t *tensor = berth_i_alloc(r->ctx, m, sizeof *tensor), e;
  berth_status st = share && tensor ? BERTH_OK : berth_i_nomem(r->ctx);
  for (e = 0; tensor && e < r->t.edges.rows; e++) tensor[e] = BERTH_NONE;
  if (st == BERTH_OK) st = list_shares(r, share, &n);
  if (st == BERTH_OK) st = add_tensors(r, share, n, tensor);
  for (e = 0; e < r->t.edges.rows && st == BERTH_OK; e++) {
    if (tensor[e] != BERTH_NONE) st = berth_graph_builder_add_consumer(r->b, tensor[e], r->op_of[r->t.to[e]]);
  }
  berth_i_free(r->ctx, share, m, sizeof *share);
  berth_i_free(r->ctx, tensor, m, sizeof *tensor);
  return st;
}

/* ---- collectives -------------------------------------------------------------------------- */

static berth_status collective_kind(const Cell *c, const char *name, berth_collective_kind *kind) {
  int k;
  for (k = 0; berth_i_collective_names[k]; k++) {
    if (strcmp(berth_i_collective_names[k], name) != 0) continue;
    *kind = (berth_collective_kind)k;
    return BERTH_OK;
  }
  return berth_i_fail(c->r->ctx, BERTH_EPARSE, "%s:%d: collective is of no known kind (%.40s)", c->r->src->name, (int)line_of(c),
                      name);
}

/* Members and consumers of all collectives, by counting: at[2 c] members of the c-th, at[2 c + 1] consumers. */
typedef struct Meetings {
  int32_t *number;   /* [nodes] of a collective */
  int32_t *at, *ops; /* [2 * n + 1], [edges] */
  int32_t n;
} Meetings;

static int32_t place_of(const Reader *r, const Meetings *x, int32_t e, int32_t *op) {
  int32_t from = r->t.from[e], to = r->t.to[e];
  *op = r->op_of[r->op_of[to] == BERTH_NONE ? from : to];
  if (r->op_of[to] == BERTH_NONE) return 2 * x->number[to];
  return r->op_of[from] == BERTH_NONE ? 2 * x->number[from] + 1 : -1;
}

static void sort_meetings(const Reader *r, Meetings *x) {
  int32_t e, op, k;
  for (e = 0; e < r->t.edges.rows; e++)
    if ((k = place_of(r, x, e, &op)) >= 0) x->at[k + 1]++;
  for (k = 0; k < 2 * x->n; k++) x->at[k + 1] += x->at[k];
  for (e = r->t.edges.rows - 1; e >= 0; e--)
    if ((k = place_of(r, x, e, &op)) >= 0) x->ops[--x->at[k + 1]] = op;
  /* now at[k + 1] is the start of list k, and the end of list k is the start of the next */
}

static int32_t list_start(const Meetings *x, int32_t k) { return x->at[k + 1]; }

static berth_status add_collective(Reader *r, const Meetings *x, int32_t row, int32_t total) {
  Cell c = { r, &r->t.nodes, row };
  int32_t k = 2 * x->number[row], members = list_start(x, k), consumers = list_start(x, k + 1);
  int32_t end = k + 2 < 2 * x->n ? list_start(x, k + 2) : total;
  berth_collective y = { BERTH_ALLREDUCE, 0, 1, consumers - members, x->ops + members, end - consumers, x->ops + consumers };
  berth_status st;
  if ((st = collective_kind(&c, r->collective->text[row], &y.kind)) != BERTH_OK) return st;
  if ((st = get_amount(&c, "bytes", BERTH_BYTES, &y.bytes)) != BERTH_OK) return st;
  if ((st = get_int(&c, "count", &y.count)) != BERTH_OK) return st;
  return berth_graph_builder_add_collective(r->b, &y, NULL);
}

static berth_status refuse_chains(const Reader *r) {
  int32_t e;
  for (e = 0; e < r->t.edges.rows; e++) {
    Cell c = { r, &r->t.edges, e };
    if (r->op_of[r->t.from[e]] != BERTH_NONE || r->op_of[r->t.to[e]] != BERTH_NONE) continue;
    return fail(&c, "edge", "leads from a collective to a collective", r->t.to[e]);
  }
  return BERTH_OK;
}

static berth_status read_collectives(Reader *r) {
  size_t rows = (size_t)r->t.nodes.rows, m = (size_t)r->t.edges.rows, lists;
  Meetings x = { .n = r->t.nodes.rows - r->n_ops };
  int32_t row, total = 0, seen = 0, op;
  berth_status st = refuse_chains(r);
  if (st != BERTH_OK || x.n == 0) return st;
  lists = 2 * (size_t)x.n + 2;
  x.number = berth_i_alloc(r->ctx, rows, sizeof *x.number);
  x.at = berth_i_zalloc(r->ctx, lists, sizeof *x.at);
  x.ops = berth_i_alloc(r->ctx, m, sizeof *x.ops);
  if (!x.number || !x.at || !x.ops) {
    st = berth_i_nomem(r->ctx);
    goto done;
  }
  for (row = 0; row < r->t.nodes.rows; row++) x.number[row] = r->op_of[row] == BERTH_NONE ? seen++ : BERTH_NONE;
  for (row = 0; row < r->t.edges.rows; row++) total += place_of(r, &x, row, &op) >= 0;
  sort_meetings(r, &x);
  for (row = 0; row < r->t.nodes.rows && st == BERTH_OK; row++)
    if (r->op_of[row] == BERTH_NONE) st = add_collective(r, &x, row, total);
done:
  berth_i_free(r->ctx, x.number, rows, sizeof *x.number);
  berth_i_free(r->ctx, x.at, lists, sizeof *x.at);
  berth_i_free(r->ctx, x.ops, m, sizeof *x.ops);
  return st;
}

/* ---- the whole ---------------------------------------------------------------------------- */

/* Counts the ops with a device; -1: the column holds something else. */
static int32_t count_placed(const Reader *r, const berth_i_column *x, int32_t *first_without) {
  int32_t row, n = 0;
  *first_without = BERTH_NONE;
  for (row = 0; row < r->t.nodes.rows; row++) {
    double v = x->number[row];
    if (r->op_of[row] == BERTH_NONE) continue;
    if (isnan(v) && *first_without == BERTH_NONE) *first_without = row;
    if (isnan(v)) continue;
    if (v < 0 || v >= INT32_MAX || v != floor(v)) return -1;
    n++;
  }
  return n;
}

/* A column "device" of whole numbers is a placement; any other use of the word is somebody else's. */
static berth_status read_placement(Reader *r, berth_placement **out) {
  const berth_i_column *x = find(&r->t.nodes, "device");
  int32_t *device, row, without = BERTH_NONE, n = x && x->number ? count_placed(r, x, &without) : 0;
  berth_status st;
  if (n <= 0) return BERTH_OK;
  if (without != BERTH_NONE) {
    Cell c = { r, &r->t.nodes, without };
    return berth_i_fail(r->ctx, BERTH_EPARSE, "%s:%d: node has no device, but others have (%.40s)", r->src->name,
                        (int)line_of(&c), text_at(&r->t.nodes, "id", without));
  }
  if (!(device = berth_i_alloc(r->ctx, (size_t)n, sizeof *device))) return berth_i_nomem(r->ctx);
  for (row = 0; row < r->t.nodes.rows; row++)
    if (r->op_of[row] != BERTH_NONE) device[r->op_of[row]] = (int32_t)x->number[row];
  st = berth_placement_new(r->ctx, n, device, NULL, NULL, NAN, out);
  berth_i_free(r->ctx, device, (size_t)n, sizeof *device);
  return st;
}

static berth_status refuse_entities(const berth_i_source *src) {
  const char *p = src->text, *stop = p + src->len, mark[] = "<!ENTITY";
  int32_t line = 1;
  for (; p + strlen(mark) <= stop; p++) {
    line += *p == '\n';
    if (*p == '<' && memcmp(p, mark, strlen(mark)) == 0) {
      return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:%d: declarations of entities are not read", src->name, (int)line);
    }
  }
  return BERTH_OK;
}

/* A second try for files with numbers below those that igraph reads. */
static berth_status read_as_texts(Reader *r) {
  const berth_i_source *src = r->src;
  char *copy = berth_i_alloc(r->ctx, src->len + 1, 1);
  berth_status st = BERTH_EPARSE;
  if (!copy) return berth_i_nomem(r->ctx);
  memcpy(copy, src->text, src->len + 1);
  if (berth_i_graphml_doubles_as_texts(src, copy)) st = berth_i_graphml_read(r->ctx, src->name, copy, src->len, &r->t);
  berth_i_free(r->ctx, copy, src->len + 1, 1);
  return st;
}

static berth_status read_table(Reader *r) {
  char text[64];
  int32_t line;
  berth_status st = refuse_entities(r->src), ids;
  if (st == BERTH_OK) st = berth_i_graphml_read(r->ctx, r->src->name, r->src->text, r->src->len, &r->t);
  if (st == BERTH_EPARSE && (line = berth_i_graphml_bad_number(r->src, text, sizeof text)) > 0) {
    return berth_i_fail(r->ctx, BERTH_EPARSE, "%s:%d: data is not a number (%s)", r->src->name, (int)line, text);
  }
  if (st == BERTH_EPARSE) st = read_as_texts(r);
  if (st != BERTH_OK && st != BERTH_EPARSE) return st;
  if (st == BERTH_OK && (st = berth_i_check_graphml_data(r->src)) != BERTH_OK) return st;
  ids = berth_i_check_graphml_ids(r->src);
  return ids == BERTH_OK ? st : ids; /* igraph gives no line for a missing id */
}

static berth_status read_graphml(const berth_i_source *src, berth_bundle *out) {
  Reader r = { .src = src, .ctx = src->ctx };
  berth_status st = read_table(&r);
  if (st == BERTH_OK) st = berth_graph_builder_new(src->ctx, &r.b);
  if (st == BERTH_OK) st = berth_graph_builder_name(r.b, r.t.name);
  r.collective = find(&r.t.nodes, "collective");
  if (st == BERTH_OK) st = read_ops(&r);
  if (st == BERTH_OK) st = read_tensors(&r);
  if (st == BERTH_OK) st = read_collectives(&r);
  if (st == BERTH_OK) st = read_placement(&r, &out->placement);
  if (st == BERTH_OK) st = berth_graph_builder_finish(r.b, &out->graph);
  release(&r);
  return berth_i_blame_file(src->ctx, src->name, st);
}

static berth_i_match match_graphml(berth_i_lines first) {
  const berth_i_source *src = first.src;
  bool yes = *first.at == '<' && berth_i_has(src->text, src->text + src->len, "graphml");
  return berth_i_match_if(yes, BERTH_I_MATCH_MARK);
}

const berth_i_format berth_i_format_graphml = {
  .about = { .choice = { "graphml", "XML of graphs, for other tools." }, .endings = "graphml",
             .loads = BERTH_HOLDS_GRAPH | BERTH_HOLDS_PLACEMENT,
             .saves = BERTH_HOLDS_GRAPH | BERTH_HOLDS_PLACEMENT },
  .match_text = match_graphml, .read_text = read_graphml, .write = berth_i_write_graphml
};
