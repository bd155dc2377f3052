/* What the readers and writers share: the source, lines and words of text formats, checked members
 * of JSON objects, edge lists, growing text.
 *
 * Readers report the first problem as "name:line: path: reason (value)" with BERTH_EPARSE and
 * release what they made; the caller gets parts of a bundle only if the whole file is valid. */
#ifndef BERTH_IO_INTERNAL_H
#define BERTH_IO_INTERNAL_H

#include "graph/graph_internal.h"
#include "extern/cjson_internal.h"
#include "extern/zlib_internal.h"
#include "base/pool_internal.h"
#include "base/utf8.h"
#include "topology/topology_internal.h"
#include <berth/io.h>

/* A value in a document of JSON; NULL: absent. Lives as long as the document. */
typedef const berth_i_json_value *berth_i_value;

/* A file in memory: unpacked, without byte order mark, text[len] == 0. */
typedef struct berth_i_source {
  berth_ctx *ctx;
  const char *name;
  const char *text;
  size_t len;
  berth_load_options opts;
} berth_i_source;

/* ---- readers ---- */

/* The three parts of a berth file. A later part may refer to an earlier one by name. */
berth_status berth_i_read_berth_topology(const berth_i_json *doc, berth_i_value v,
                                         berth_topology **out);
berth_status berth_i_read_berth_graph(const berth_i_json *doc, berth_i_value v,
                                      const berth_topology *t, berth_graph **out);
berth_status berth_i_read_berth_placement(const berth_i_json *doc, berth_i_value v,
                                          const berth_graph *g, const berth_topology *t,
                                          berth_placement **out);

/* ---- files (io/text/file.c) ---- */

/** Whole file, or standard input ("-").  @param out [*size], of which *len are used and one more is
 *  0  @return BERTH_OK, BERTH_EIO, BERTH_EPARSE (more than `most` bytes), BERTH_ENOMEM,
 *          BERTH_EINTERRUPT */
berth_status berth_i_read_file(berth_ctx *ctx, const char *path, size_t most, char **out,
                               size_t *len, size_t *size);
/** A regular file that is not empty, for reading; false: it is another, or cannot be mapped. While
 *  it is mapped it must not become shorter. */
bool berth_i_map_file(const char *path, const char **text, size_t *len);
void berth_i_unmap_file(const char *text, size_t len);
/** For messages: the path, or "standard input". */
const char *berth_i_input_name(const char *path);
/** Does the name of a file end in ".gz"? */
static inline bool berth_i_packs(const char *path) {
  size_t n = strlen(path);
  return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}
/** The option as a size. */
size_t berth_i_most_bytes(double most);

/* ---- lines of text formats (io/text/lines.c) ---- */

typedef struct berth_i_lines {
  const berth_i_source *src;
  const char *next;       /* start of the line to come */
  const char *at, *end;   /* rest of the present line, without its end */
  int32_t line;           /* its number, from 1; 0 before the first */
} berth_i_lines;

berth_i_lines berth_i_lines_of(const berth_i_source *src);
/** Goes to the next line. @return false at the end of the text */
bool berth_i_lines_next(berth_i_lines *l);
/** Like _next, but skips blank lines. */
bool berth_i_lines_next_filled(berth_i_lines *l);
void berth_i_lines_skip_blanks(berth_i_lines *l);
bool berth_i_lines_is_blank(const berth_i_lines *l); /* nothing but blanks left in this line */
/** BERTH_EPARSE "name:line: ..." */
berth_status berth_i_lines_fail(const berth_i_lines *l, const char *format, ...) BERTH_PRINTF(2, 3);
/** A word up to a blank or one of `stop`, cut at size - 1. @return its length; 0: none */
size_t berth_i_lines_word(berth_i_lines *l, const char *stop, char *buf, size_t size);
/** A finite number >= 0, or an id in 0..INT32_MAX, called `what` in messages. */
berth_status berth_i_lines_amount(berth_i_lines *l, const char *stop, const char *what,
                                  double *out);
berth_status berth_i_lines_id(berth_i_lines *l, const char *stop, const char *what, int32_t *out);
/** For loops over lines: calls the interrupt hook every few thousand lines.
 *  @return BERTH_OK, BERTH_EINTERRUPT */
static inline berth_status berth_i_lines_interrupted(const berth_i_lines *l) {
  return l->line % 4096 == 0 ? berth_i_interrupted(l->src->ctx) : BERTH_OK;
}
/** The rest of the line is one number and nothing else. */
bool berth_i_lines_is_number(berth_i_lines *l);
/** Words of the next line that is no comment; 0 at the end.  @param commas out: it has some */
int berth_i_lines_next_words(berth_i_lines *l, bool *commas);
/** Is the word anywhere between the two? */
bool berth_i_has(const char *at, const char *end, const char *word);
/** strtod in the C locale over a whole word; what is not a plain decimal number fails. May give an
 * infinity. */
bool berth_i_decimal(const char *word, double *out);

/* ---- members of JSON objects (io/json/fields.c) ---- */

/** Finds the members named in keys[n]; absent ones are NULL. Refused: a key given twice; the
 *  absence of one of the first `needed` keys; if strict, a key that is not listed. If not strict, a
 *  member that is null is absent, as in the files that Python scripts write. */
berth_status berth_i_fields(const berth_i_json *doc, berth_i_value object,
                            const char *const *keys, int n, int needed, bool strict,
                            berth_i_value *found);
/* v NULL: out stays as it is. */
berth_status berth_i_get_text(const berth_i_json *doc, berth_i_value v,
                              const char **out);
/* false, true, 0, 1 */
berth_status berth_i_get_bool(const berth_i_json *doc, berth_i_value v, bool *out);
/* false, true */
berth_status berth_i_get_flag(const berth_i_json *doc, berth_i_value v, bool *out);
typedef struct berth_i_bit {
  int field;
  uint32_t bit;
} berth_i_bit;
/** Sets the bits whose fields are true, by one of the two functions above. */
berth_status berth_i_get_bits(const berth_i_json *doc, const berth_i_value *f,
                              const berth_i_bit *bits, int n, bool strict, uint32_t *out);
berth_status berth_i_get_int(const berth_i_json *doc, berth_i_value v, int32_t min,
                             int32_t max, int32_t *out);
/* a finite number >= 0 */
berth_status berth_i_get_amount(const berth_i_json *doc, berth_i_value v, double *out);
/** A number in the base unit, or a string with a unit. */
berth_status berth_i_get_quantity(const berth_i_json *doc, berth_i_value v,
                                  berth_unit unit, bool infinite, double *out);
/** One number of an object: found[field], written to the double at `offset` of the target. */
typedef struct berth_i_quantity {
  int field;
  berth_unit unit;
  bool infinite; /* infinity is legal */
  size_t offset;
} berth_i_quantity;
/** berth_i_get_quantity for a table of n, in its order. */
berth_status berth_i_get_quantities(const berth_i_json *doc, berth_i_value *found,
                                    const berth_i_quantity *q, int n, void *target);
/** An object whose members are the numbers and flags of tables without a key in common.
 *  @param structs [n] that they go to */
berth_status berth_i_get_options(const berth_i_json *doc, berth_i_value v, int n,
                                 const berth_option_table *const *tables, void *const *structs);
/** v must be an array (NULL: empty).  @param first its first member */
berth_status berth_i_get_array(const berth_i_json *doc, berth_i_value v,
                               berth_i_value *first, int32_t *n);
/** An array of strings.  @param out [*n] of the pool; both are unchanged if v is NULL */
berth_status berth_i_get_texts(const berth_i_json *doc, berth_i_value v,
                               berth_i_pool *pool, const char ***out, int32_t *n);
/** Calls read(ud, member, position) for every member of the array v (NULL: empty), in order, until
 *  one fails. */
typedef berth_status (*berth_i_read_fn)(void *ud, berth_i_value v, int32_t i);
berth_status berth_i_each(const berth_i_json *doc, berth_i_value v,
                          berth_i_read_fn read, void *ud);
/** v must be there. */
berth_status berth_i_need(const berth_i_json *doc, berth_i_value object,
                          berth_i_value v, const char *key);
/** Turns a failure without a file name into "name:line: path: message". */
berth_status berth_i_blame(const berth_i_json *doc, berth_i_value v, berth_status st);
/** "name: message", BERTH_EPARSE for BERTH_EINVAL. */
berth_status berth_i_blame_file(berth_ctx *ctx, const char *name, berth_status st);

/* Identifiers of foreign formats: strings or whole numbers, each naming the op (or node) with that
 * number. */
berth_status berth_i_add_id(const berth_i_json *doc, berth_i_value v, const char *what,
                            berth_i_names *ids);
berth_status berth_i_find_id(const berth_i_json *doc, berth_i_value v, const char *what,
                             const berth_i_names *ids, int32_t *out);
/** The text of an identifier, in buf if it is a number. */
berth_status berth_i_id_text(const berth_i_json *doc, berth_i_value v, char *buf,
                             size_t size, const char **out);

/* ---- edges (io/text/edges.c) ---- */

typedef struct berth_i_edge {
  int32_t src, dst;
  double bytes;
  int32_t line;                      /* its line in a text file, */
  berth_i_value origin;  /* or in JSON */
} berth_i_edge;

typedef struct berth_i_edges {
  berth_i_edge *at;
  size_t n, cap;
} berth_i_edges;
berth_status berth_i_edges_add(berth_ctx *ctx, berth_i_edges *e, berth_i_edge edge);
void berth_i_edges_release(berth_ctx *ctx, berth_i_edges *e);
/** First edge that repeats an earlier one (same src and dst), or NULL. O(edges + ops) */
berth_status berth_i_edges_repeated(berth_ctx *ctx, const berth_i_edges *e, int32_t n_ops,
                                    const berth_i_edge **out);
/** The same for edges read from JSON: refuses the repeated one where it is. */
berth_status berth_i_edges_once(const berth_i_json *doc, const berth_i_edges *e, int32_t n_ops);
/** "name:line: message" for a graph of these edges that could not be finished; the line is that of
 * an edge on the cycle. */
berth_status berth_i_edges_blame(const berth_i_source *src, const berth_i_edges *e,
                                 berth_status st);
/** One tensor per producer and different size, in order of the producers' ids, then of the edges;
 * consumers in edge order.
 *  @param resident as in berth_tensor */
berth_status berth_i_edges_build(berth_ctx *ctx, const berth_i_edges *e, int32_t n_ops,
                                 double resident, berth_graph_builder *b);

/** An order of the (tensor, consumer) pairs, numbered tensor by tensor, that keeps both the lists
 *  of consumers (use_at, use) and those of inputs (in_at, in). @param order [edges] @param ok
 *  false: the two contradict each other. O(edges) */
berth_status berth_i_merge_order(berth_ctx *ctx, int32_t n_ops, int32_t n_tensors,
                                 const int32_t *use_at, const int32_t *use, const int32_t *in_at,
                                 const int32_t *in, int32_t *order, bool *ok);

/* ---- text (io/text/text.c) ---- */

/* A writer's handle on the text: remembers the first failure, so that calls need no checks. */
typedef struct berth_i_out {
  berth_text *text;
  berth_status st;
  size_t mark; /* length at the start */
} berth_i_out;
berth_i_out berth_i_out_open(berth_ctx *ctx, berth_text *text);
/** On failure the text is as it was before. */
berth_status berth_i_out_close(berth_i_out *o);
void berth_i_put(berth_i_out *o, const char *s);
void berth_i_put_n(berth_i_out *o, const char *s, size_t n);
void berth_i_putf(berth_i_out *o, const char *format, ...) BERTH_PRINTF(2, 3);
/** Shortest text that reads back as the same number; infinity as "inf" in quotes, NaN as null. */
void berth_i_put_number(berth_i_out *o, double x);
void berth_i_put_string(berth_i_out *o, const char *s); /* JSON, in quotes; bad UTF-8 becomes
                                                           U+FFFD */
/** The same without quotes or infinities, into buf. */
enum { BERTH_I_NUMBER_SIZE = 40 };
const char *berth_i_number_text(double x, char buf[BERTH_I_NUMBER_SIZE]);

/* ---- writers ---- */

extern const char *const berth_i_collective_names[]; /* by kind, NULL-terminated */
berth_status berth_i_write_berth(berth_graph *g, const int32_t *device, berth_text *out);
berth_status berth_i_write_graphml(berth_graph *g, const int32_t *device, berth_text *out);
berth_status berth_i_write_dot(berth_graph *g, const int32_t *device, berth_text *out);

/* An edge per consumer, in an order that keeps the inputs of every op and the consumers of every
 * tensor; then those of the collectives, which are nodes behind the ops. */
typedef struct berth_i_edge_rows {
  int32_t n, *tensor, *from, *to; /* [n]; tensor BERTH_NONE: of a collective */
} berth_i_edge_rows;
berth_status berth_i_edge_rows_of(berth_graph *g, berth_i_pool *pool, berth_i_edge_rows *rows);

#endif
