/* Formats: one descriptor each, in the file of its reader, or of its writer if it is only written.
 * The tables of names, endings and options follow from the two lists below. To add one: a file with
 * its descriptor and a line in a list (spec/recipes/format.c). */
#ifndef BERTH_FORMATS_INTERNAL_H
#define BERTH_FORMATS_INTERNAL_H

#include "io/io_internal.h"

/** How sure a format is that a file is in it. The surest reads it. If two are equally sure, the
 *  file is refused: the order of the lists does not matter. */
typedef enum berth_i_match {
  BERTH_I_MATCH_NONE,
  BERTH_I_MATCH_SHAPE, /* by what other formats may have, too */
  BERTH_I_MATCH_MARK   /* by what only this format has */
} berth_i_match;

static inline berth_i_match berth_i_match_if(bool yes, berth_i_match match) {
  return yes ? match : BERTH_I_MATCH_NONE;
}

/** One format. Of JSON: with match_json and read_json; of other text: match_text and read_text; not
 *  text: match_bytes and read_bytes, which are called first, with a file that is mapped if it is
 *  regular: bytes of it that are not read cost nothing, and text[len] may not be read. */
typedef struct berth_i_format {
  berth_format about;
  bool trains; /* makes training steps itself */
  berth_i_match (*match_json)(berth_i_value root); /* an object */
  berth_i_match (*match_text)(berth_i_lines first); /* at the first line that is no comment */
  berth_i_match (*match_bytes)(const char *text, size_t len);
  /** Fill out->graph and other parts. On failure the caller releases what is there. */
  berth_status (*read_json)(const berth_i_source *src, const berth_i_json *doc, berth_bundle *out);
  berth_status (*read_text)(const berth_i_source *src, berth_bundle *out);
  berth_status (*read_bytes)(const berth_i_source *src, berth_bundle *out);
  /** A graph, with a placement if device is not NULL.  @param device [ops], none negative */
  berth_status (*write)(berth_graph *g, const int32_t *device, berth_text *out);
} berth_i_format;

/** Formats that are read, in the order of berth_formats(). Some are written, too. */
#define BERTH_I_READERS(X) \
  X(berth) X(dnn) X(pipedream) X(doppler) X(stg) X(saga) X(wfcommons) X(wfformat) X(graphml) \
  X(node_link) X(dot) X(gml) X(onnx)

/** Formats that are only written. */
#define BERTH_I_WRITERS(X) X(chrome)

#define BERTH_I_DECLARE_FORMAT(symbol) extern const berth_i_format berth_i_format_##symbol;
BERTH_I_READERS(BERTH_I_DECLARE_FORMAT)
BERTH_I_WRITERS(BERTH_I_DECLARE_FORMAT)

/* formats.c */
extern const berth_i_format *const berth_i_formats[];        /* NULL-terminated */
extern const berth_choice *const berth_i_readable_formats[]; /* NULL-terminated */
const berth_i_format *berth_i_format_find(const char *name); /* NULL: there is none of that name */
bool berth_i_format_reads(const berth_i_format *f);
bool berth_i_format_writes(const berth_i_format *f);         /* graphs */
/** Names of those that do, "\"a\", \"b\"".  @return buf */
const char *berth_i_format_list(bool (*which)(const berth_i_format *f), char *buf, size_t size);

#endif
