/* Loading in three steps: unpack gzip, find the format by the contents, read. Formats vote on how
 * sure they are (berth_i_match); the surest reads, and a tie is an error, so that the order of the
 * table never decides. */
#include "formats_internal.h"

void berth_bundle_release(berth_bundle *b) {
  if (!b) return;
  berth_graph_release(b->graph);
  berth_topology_release(b->topology);
  berth_placement_release(b->placement);
  berth_text_release(&b->facts);
  memset(b, 0, sizeof *b);
}

/* ---- recognising ---- */

/* JSON of others that is not read, by members of the top object. */
typedef struct foreign {
  const char *a, *b; /* members; b NULL: one decides */
  const char *what;
} foreign;
static const foreign foreign_json[] = {
  { "traceEvents", NULL, "a Chrome trace, which is written only" },
  { "task_graph", "network", "SAGA's own JSON: its tasks, edges, nodes, links are read" },
  { "opsetImport", NULL, "ONNX" },
  { "arg_nodes", "heads", "a graph of MXNet or TVM" },
  { "elements", NULL, "a graph of Cytoscape" },
  { "ops", NULL, "a graph without the object {\"berth\": 1, \"graph\": ...} around it" },
};

/* What a document seems to be that no format matches; NULL: that is not known. */
static const char *foreign_of(berth_i_value root) {
  berth_i_value schema = berth_i_json_get(root, "schema");
  if (schema && berth_i_json_kind_of(schema) == BERTH_I_JSON_STRING
      && strstr(berth_i_json_string(schema), "chakra"))
    return "a Chakra execution trace of PyTorch";
  for (size_t k = 0; k < sizeof foreign_json / sizeof *foreign_json; k++) {
    const foreign *f = &foreign_json[k];
    if (berth_i_json_get(root, f->a) && (!f->b || berth_i_json_get(root, f->b))) return f->what;
  }
  return NULL;
}

/* The same of what is not JSON, by its first bytes; a table has commas in its first line. */
static const char *foreign_text(const berth_i_source *src) {
  static const struct {
    const char *begin;
    size_t n;
    const char *what;
  } known[] = {
    { "\xff\xfe", 2, "UTF-16: save it as UTF-8" },   { "\xfe\xff", 2, "UTF-16: save it as UTF-8" },
    { "{\0", 2, "UTF-16: save it as UTF-8" },        { "\0", 1, "a binary file" },
    { "PK\3\4", 4, "a zip archive" },
    { "BZh", 3, "packed by bzip2: only gzip is read" },
    { "\xfd" "7zXZ", 5, "packed by xz: only gzip is read" },
    { "\x28\xb5\x2f\xfd", 4, "packed by zstd: only gzip is read" },
    { "<", 1, "XML without the element graphml" },
  };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (src->len >= known[k].n && memcmp(src->text, known[k].begin, known[k].n) == 0)
      return known[k].what;
  const char *end = memchr(src->text, '\n', src->len), *comma = memchr(src->text, ',', src->len);
  return end && comma && comma < end
             ? "write a graph of your own as berth JSON (docs/guides/place-a-graph.md), "
               "node-link JSON or DOT"
             : NULL;
}

/* Line 1: what decides is at the begin. */
static berth_status unknown_format(const berth_i_source *src, const char *what) {
  char list[400];
  return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:1: %s%snot in a known format (%s)", src->name,
                      what ? what : "", what ? "; " : "",
                      berth_i_format_list(berth_i_format_reads, list, sizeof list));
}

/* Goes to the first line that is no comment. */
static bool find_first_line(berth_i_lines *l) {
  do {
    if (!berth_i_lines_next_filled(l)) return false;
    berth_i_lines_skip_blanks(l);
  } while (*l->at == '#');
  return true;
}

/* A copy of `first`, which match_text may move on. */
static berth_i_match match(const berth_i_format *f, const berth_i_json *doc,
                           const berth_i_lines *first) {
  if (doc) return f->match_json ? f->match_json(berth_i_json_root(doc)) : BERTH_I_MATCH_NONE;
  return f->match_text ? f->match_text(*first) : BERTH_I_MATCH_NONE;
}

/* @param doc NULL: the text is not JSON */
static berth_status recognise(const berth_i_source *src, const berth_i_json *doc,
                              const berth_i_format **out) {
  berth_i_lines first = berth_i_lines_of(src);
  const berth_i_format *found = NULL, *other = NULL;
  berth_i_match best = BERTH_I_MATCH_NONE;
  if (!doc && !find_first_line(&first)) return unknown_format(src, foreign_text(src));
  for (const berth_i_format *const *f = berth_i_formats; *f; f++) {
    berth_i_match m = match(*f, doc, &first);
    if (m == BERTH_I_MATCH_NONE || m < best) continue;
    other = m == best ? found : NULL;
    best = m;
    found = *f;
  }
  if (!found)
    return unknown_format(src, doc ? foreign_of(berth_i_json_root(doc)) : foreign_text(src));
  if (other) {
    return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:1: may be \"%s\" or \"%s\": give its format",
                        src->name, other->about.choice.name, found->about.choice.name);
  }
  *out = found;
  return BERTH_OK;
}

/* ---- reading ---- */

/* Refuses options that are not as by default, and that the format does not read. */
static berth_status check_read(const berth_i_source *src, const berth_i_format *format) {
  const berth_option_table *table = berth_load_option_table();
  berth_status st = BERTH_OK;
  for (const berth_option *o = table->options; o->key && st == BERTH_OK; o++) {
    bool given = strcmp(o->key, "bind") == 0 ? src->opts.n_bind > 0
                 : strcmp(o->key, "cost") == 0 ? src->opts.cost != NULL
                 : !berth_i_option_is_default(table, o, &src->opts);
    if (!given) continue;
    st = berth_format_check(src->ctx, format->about.choice.name, o->key);
  }
  return st;
}

/* format NULL: by the contents. */
static berth_status read_json(const berth_i_source *src, const berth_i_format *format,
                              berth_bundle *out) {
  berth_i_json *doc = NULL;
  berth_status st = berth_i_json_parse(src->ctx, src->name, src->text, src->len, &doc);
  if (st != BERTH_OK) return st;
  if (berth_i_json_kind_of(berth_i_json_root(doc)) != BERTH_I_JSON_OBJECT) {
    st = berth_i_json_fail(doc, berth_i_json_root(doc), "is not an object");
  } else if (!format) {
    st = recognise(src, doc, &format);
  }
  if (st == BERTH_OK) st = check_read(src, format);
  if (st == BERTH_OK) st = format->read_json(src, doc, out);
  if (st == BERTH_OK) out->format = format->about.choice.name;
  berth_i_json_release(doc);
  return st;
}

/* Old files of DOS end with a control character, Ctrl-Z, and what comes before the end of its
 * block. */
static void drop_end(berth_i_source *src) {
  const char *mark = memchr(src->text, 0x1a, src->len);
  for (const char *p = mark; mark && p < src->text + src->len; p++)
    if (*p != 0x1a && *p != 0 && *p != '\r' && *p != '\n') mark = NULL;
  if (mark) src->len = (size_t)(mark - src->text);
}

static berth_status read_text(const berth_i_source *source, const berth_i_format *format,
                              berth_bundle *out) {
  berth_i_source own = *source, *src = &own;
  drop_end(src);
  berth_status st = format ? BERTH_OK : recognise(src, NULL, &format);
  if (st == BERTH_OK) st = check_read(src, format);
  if (st == BERTH_OK) st = format->read_text(src, out);
  if (st == BERTH_OK) out->format = format->about.choice.name;
  return st;
}

/* By the first character that is no blank: no text format begins with a bracket. A zero behind it
 * is UTF-16. */
static bool looks_like_json(const berth_i_source *src) {
  const char *p = src->text;
  while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n') p++;
  return (*p == '{' || *p == '[') && (p[1] || p + 1 >= src->text + src->len);
}

/* The format of what is no text: the given one, or by the contents; NULL: it is text. */
static const berth_i_format *binary_format(const char *text, size_t len,
                                           const berth_load_options *opts) {
  for (const berth_i_format *const *f = berth_i_formats; *f; f++) {
    if (!(*f)->match_bytes) continue;
    bool given = opts->format && strcmp(opts->format, (*f)->about.choice.name) == 0;
    if (given || (!opts->format && (*f)->match_bytes(text, len) != BERTH_I_MATCH_NONE)) return *f;
  }
  return NULL;
}

/* Replaces what a reader made by its training step. */
static berth_status train(const berth_i_source *src, berth_bundle *b) {
  berth_mirror_options o = berth_mirror_default();
  berth_graph *both = NULL;
  if (!src->opts.training || !b->graph) return BERTH_OK;
  if (b->placement)
    return berth_i_fail(src->ctx, BERTH_EINVAL, "%s: its placement is not that of a training step",
                        src->name);
  o.optimizer = src->opts.optimizer;
  o.params = o.optimizer == BERTH_OPTIMIZER_NONE;
  berth_status st = berth_graph_mirror(b->graph, &o, &both, NULL);
  if (st != BERTH_OK) return berth_i_prefix_error(src->ctx, "%s: ", src->name), st;
  berth_graph_release(b->graph);
  b->graph = both;
  return BERTH_OK;
}

static berth_status read_binary(const berth_i_source *src, const berth_i_format *format,
                                berth_bundle *out) {
  berth_bundle found = { 0 };
  berth_status st = check_read(src, format);
  if (st == BERTH_OK) st = format->read_bytes(src, &found);
  if (st == BERTH_OK && !format->trains) st = train(src, &found);
  found.format = format->about.choice.name;
  if (st == BERTH_OK) *out = found;
  else berth_bundle_release(&found);
  return st;
}

/* The byte order mark of UTF-8 is dropped; with it alone a file is empty. */
static berth_status read_source(berth_i_source *src, berth_bundle *out) {
  const berth_i_format *format = src->opts.format ? berth_i_format_find(src->opts.format) : NULL;
  const berth_i_format *binary = binary_format(src->text, src->len, &src->opts);
  berth_bundle found = { 0 };
  if (binary) return read_binary(src, binary, out);
  if (src->len >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0) {
    src->text += 3;
    src->len -= 3;
  }
  if (src->len == 0)
    return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:1: the file is empty", src->name);
  bool json = format ? format->read_json != NULL : looks_like_json(src);
  berth_status st = (json ? read_json : read_text)(src, format, &found);
  if (st == BERTH_OK) st = train(src, &found);
  if (st == BERTH_OK) *out = found;
  else berth_bundle_release(&found);
  return st;
}

static berth_status check_bind(berth_ctx *ctx, const berth_load_options *o) {
  for (int32_t k = 0; k < o->n_bind; k++) {
    double x = o->bind[k].value;
    if (!(x >= 0 && x <= (double)((int64_t)1 << 48) && x == floor(x)))
      return berth_i_fail(ctx, BERTH_EINVAL, "option bind: %s is %g (a whole number from 0 to "
                          "2^48)", o->bind[k].name, x);
  }
  return BERTH_OK;
}

/* Formats that are only written are no choice here. */
static berth_status check_options(berth_ctx *ctx, const berth_load_options *o) {
  const berth_i_format *format = o->format ? berth_i_format_find(o->format) : NULL;
  char list[400];
  if (o->format && !(format && berth_i_format_reads(format))) {
    berth_i_format_list(berth_i_format_reads, list, sizeof list);
    return berth_i_fail(ctx, BERTH_EINVAL, "cannot read format \"%.40s\": must be one of %s",
                        o->format, list);
  }
  if (!o->training && o->optimizer != BERTH_OPTIMIZER_ADAM)
    return berth_i_fail(ctx, BERTH_EINVAL, "option optimizer requires training");
  berth_status st = berth_options_check(ctx, berth_load_option_table(), o);
  return st == BERTH_OK ? check_bind(ctx, o) : st;
}

/* text is `size` bytes from the context and is released here; what was unpacked takes its place. */
static berth_status parse_owned(berth_ctx *ctx, const char *name, char *text, size_t len,
                                size_t size, const berth_load_options *opts, berth_bundle *out) {
  berth_i_source src = { ctx, name, text, len, *opts };
  berth_status st = BERTH_OK;
  if (berth_i_is_gzip(text, len)) {
    char *plain = NULL;
    size_t plain_len = 0, plain_size = 0;
    st = berth_i_gunzip(ctx, name, text, len, berth_i_most_bytes(opts->most_bytes), &plain,
                        &plain_len, &plain_size);
    berth_i_free(ctx, text, size, 1);
    text = plain;
    size = plain_size;
    src.text = plain;
    src.len = plain_len;
  }
  if (st == BERTH_OK) st = read_source(&src, out);
  berth_i_free(ctx, text, size, 1);
  return st;
}

/* Regular files that are no text, as they are; gzip and others are read and unpacked. */
static berth_status load_mapped(berth_ctx *ctx, const char *path, const berth_load_options *opts,
                                berth_bundle *out, bool *done) {
  berth_i_source src = { .ctx = ctx, .name = path, .opts = *opts };
  berth_status st = BERTH_OK;
  if (!berth_i_map_file(path, &src.text, &src.len)) return BERTH_OK;
  const berth_i_format *format = berth_i_is_gzip(src.text, src.len) ? NULL
                                 : binary_format(src.text, src.len, opts);
  *done = format != NULL;
  if (format) st = read_binary(&src, format, out);
  berth_i_unmap_file(src.text, src.len);
  return st;
}

berth_status berth_load(berth_ctx *ctx, const char *path, const berth_load_options *opts,
                        berth_bundle *out) {
  if (!ctx) return BERTH_EINVAL;
  char *text = NULL;
  size_t len = 0, size = 0;
  berth_load_options o = opts ? *opts : berth_load_default();
  bool done = false;
  berth_status st;
  if ((st = check_options(ctx, &o)) != BERTH_OK) return st;
  if ((st = load_mapped(ctx, path, &o, out, &done)) != BERTH_OK || done) return st;
  st = berth_i_read_file(ctx, path, berth_i_most_bytes(o.most_bytes), &text, &len, &size);
  if (st != BERTH_OK) return st;
  return parse_owned(ctx, berth_i_input_name(path), text, len, size, &o, out);
}

/* Readers need text[len] == 0, and unpacking replaces the text: so it is copied. */
berth_status berth_parse(berth_ctx *ctx, const char *name, const char *text, size_t len,
                         const berth_load_options *opts, berth_bundle *out) {
  if (!ctx) return BERTH_EINVAL;
  berth_load_options o = opts ? *opts : berth_load_default();
  berth_status st;
  if ((st = check_options(ctx, &o)) != BERTH_OK) return st;
  char *copy = berth_i_alloc(ctx, len + 1, 1);
  if (!copy) return berth_i_nomem(ctx);
  if (len > 0) memcpy(copy, text, len);
  copy[len] = 0;
  return parse_owned(ctx, name, copy, len, len + 1, &o, out);
}
