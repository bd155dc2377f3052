/* Loading: unpack, find the format, read. */
#include "io_internal.h"

#include <stdio.h>

typedef struct Format {
  const char *name;
  berth_i_text_reader text;
  berth_i_json_reader json;
} Format;

static const Format FORMATS[] = {
  { "berth", NULL, berth_i_read_berth },
  { "dnn-partitioning", NULL, berth_i_read_dnn },
  { "pipedream", berth_i_read_pipedream, NULL },
  { "doppler", berth_i_read_doppler, NULL },
  { "stg", berth_i_read_stg, NULL },
  { "saga", NULL, berth_i_read_saga },
  { "wfcommons", NULL, berth_i_read_wfcommons },
  { "wfformat", NULL, berth_i_read_wfformat },
  { "graphml", berth_i_read_graphml, NULL },
};
enum { N_FORMATS = sizeof FORMATS / sizeof *FORMATS };

static const char *const FORMAT_LIST =
    "\"berth\", \"dnn-partitioning\", \"pipedream\", \"doppler\", \"stg\", \"saga\", \"wfcommons\", \"wfformat\", \"graphml\"";

const char *const *berth_formats(void) {
  static const char *const names[] = { "berth", "dnn-partitioning", "pipedream", "doppler", "stg", "saga", "wfcommons", "wfformat",
                                       "graphml", "dot", "chrome", NULL };
  return names;
}

berth_load_options berth_load_default(void) {
  berth_load_options o = { NULL, 1, 16e9, 0, BERTH_MIRROR_PHYSICAL };
  return o;
}

void berth_bundle_release(berth_bundle *b) {
  if (!b) return;
  berth_graph_release(b->graph);
  berth_topology_release(b->topology);
  berth_placement_release(b->placement);
  memset(b, 0, sizeof *b);
}

static const Format *format_named(const char *name) {
  int k;
  for (k = 0; k < N_FORMATS; k++)
    if (strcmp(FORMATS[k].name, name) == 0) return &FORMATS[k];
  return NULL;
}

/* ---- recognising -------------------------------------------------------------------------- */

/* Other formats may name the workflow that they hold. */
static bool is_workflow(const berth_i_json_value *v) {
  return v && (berth_i_json_get(v, "tasks") || berth_i_json_get(v, "specification") || berth_i_json_get(v, "execution"));
}

static const char *json_format(const berth_i_json *doc) {
  const berth_i_json_value *root = berth_i_json_root(doc);
  if (berth_i_json_get(root, "berth") || berth_i_json_get(root, "graph")) return "berth"; /* its reader asks for "berth": 1 */
  if (berth_i_json_get(root, "maxFPGAs")) return "dnn-partitioning";
  if (is_workflow(berth_i_json_get(root, "workflow"))) return "wfformat";
  if (!berth_i_json_get(root, "tasks")) return berth_i_json_get(root, "workflow") ? "wfformat" : NULL;
  return berth_i_json_get(root, "nodes") || berth_i_json_get(root, "links") ? "saga" : "wfcommons";
}

static bool has(const char *at, const char *end, const char *word) {
  size_t n = strlen(word);
  for (; (size_t)(end - at) >= n; at++)
    if (memcmp(at, word, n) == 0) return true;
  return false;
}

/* Of a text whose first line is one number. A line of STG has three numbers or more and no commas. */
static const char *numeric_format(berth_i_lines *l) {
  char word[16];
  int words = 0;
  do {
    if (!berth_i_lines_next(l)) return "doppler";
    berth_i_lines_skip_blanks(l);
  } while (*l->at == '#');
  if (has(l->at, l->end, ",")) return "doppler";
  while (berth_i_lines_word(l, "", word, sizeof word)) words++;
  return words >= 3 ? "stg" : "doppler";
}

static const char *text_format(const berth_i_source *src) {
  berth_i_lines l = berth_i_lines_of(src);
  char word[64];
  double number;
  do {
    if (!berth_i_lines_next_filled(&l)) return NULL;
    berth_i_lines_skip_blanks(&l);
  } while (*l.at == '#');
  if (*l.at == '<') return has(src->text, src->text + src->len, "graphml") ? "graphml" : NULL;
  if (has(l.at, l.end, " -- ")) return "pipedream";
  berth_i_lines_word(&l, "", word, sizeof word);
  return berth_i_decimal(word, &number) && berth_i_lines_is_blank(&l) ? numeric_format(&l) : NULL;
}

/* ---- reading ------------------------------------------------------------------------------ */

static berth_status unknown_format(const berth_i_source *src) {
  return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:1: not in a known format (%s)", src->name, FORMAT_LIST);
}

static berth_status read_json(const berth_i_source *src, const Format *format, berth_bundle *out) {
  berth_i_json *doc = NULL;
  berth_status st = berth_i_json_parse(src->ctx, src->name, src->text, src->len, &doc);
  if (st != BERTH_OK) return st;
  if (berth_i_json_kind_of(berth_i_json_root(doc)) != BERTH_I_JSON_OBJECT) {
    st = berth_i_json_fail(doc, berth_i_json_root(doc), "is not an object");
  } else if (!format && json_format(doc)) {
    format = format_named(json_format(doc));
  }
  if (st == BERTH_OK) st = format ? format->json(src, doc, out) : unknown_format(src);
  if (st == BERTH_OK) out->format = format->name;
  berth_i_json_release(doc);
  return st;
}

static berth_status read_text(const berth_i_source *src, const Format *format, berth_bundle *out) {
  berth_status st;
  if (!format && text_format(src)) format = format_named(text_format(src));
  if (!format) return unknown_format(src);
  if ((st = format->text(src, out)) == BERTH_OK) out->format = format->name;
  return st;
}

static bool looks_like_json(const berth_i_source *src) {
  const char *p = src->text;
  while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n') p++;
  return *p == '{' || *p == '[';
}

static berth_status read_source(berth_i_source *src, berth_bundle *out) {
  const Format *format = src->opts.format ? format_named(src->opts.format) : NULL;
  berth_bundle found = { NULL, NULL, NULL, NULL };
  berth_status st;
  if (src->len >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0) {
    src->text += 3;
    src->len -= 3;
  }
  if (src->len == 0) return berth_i_fail(src->ctx, BERTH_EPARSE, "%s:1: the file is empty", src->name);
  st = format ? (format->json ? read_json : read_text)(src, format, &found)
              : (looks_like_json(src) ? read_json : read_text)(src, NULL, &found);
  if (st == BERTH_OK) *out = found;
  else berth_bundle_release(&found);
  return st;
}

static berth_status check_options(berth_ctx *ctx, const berth_load_options *o) {
  if (o->format && !format_named(o->format)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "cannot read format \"%.40s\": must be one of %s", o->format, FORMAT_LIST);
  }
  if (!(o->bandwidth > 0) || isinf(o->bandwidth)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "bandwidth %g B/s must be positive and finite", o->bandwidth);
  }
  if (o->mirror != BERTH_MIRROR_PHYSICAL && o->mirror != BERTH_MIRROR_PACML) {
    return berth_i_fail(ctx, BERTH_EINVAL, "unknown way to mirror %d", o->mirror);
  }
  return BERTH_OK;
}

/* text is `size` bytes from the context and is released here. */
static berth_status parse_owned(berth_ctx *ctx, const char *name, char *text, size_t len, size_t size,
                                const berth_load_options *opts, berth_bundle *out) {
  berth_i_source src = { ctx, name, text, len, opts ? *opts : berth_load_default() };
  berth_status st = check_options(ctx, &src.opts);
  if (st == BERTH_OK && berth_i_is_gzip(text, len)) {
    char *plain = NULL;
    size_t plain_len = 0, plain_size = 0;
    st = berth_i_gunzip(ctx, name, text, len, &plain, &plain_len, &plain_size);
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

berth_status berth_load(berth_ctx *ctx, const char *path, const berth_load_options *opts, berth_bundle *out) {
  char *text = NULL;
  size_t len = 0, size = 0;
  berth_status st = berth_i_read_file(ctx, path, &text, &len, &size);
  return st == BERTH_OK ? parse_owned(ctx, path, text, len, size, opts, out) : st;
}

berth_status berth_parse(berth_ctx *ctx, const char *name, const char *text, size_t len, const berth_load_options *opts,
                         berth_bundle *out) {
  char *copy = berth_i_alloc(ctx, len + 1, 1);
  if (!copy) return berth_i_nomem(ctx);
  if (len > 0) memcpy(copy, text, len);
  copy[len] = 0;
  return parse_owned(ctx, name, copy, len, len + 1, opts, out);
}
