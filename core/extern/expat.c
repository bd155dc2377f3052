/* expat, wrapped: XML as events (open, close, text) with line numbers, from memory, in chunks of 1
 * MiB. Memory comes from the context's allocator. A status returned by a handler stops the parser
 * and becomes the result. Declarations of entities are refused, so a small document cannot expand
 * into a large one. */
#include "expat_internal.h"

#include <expat.h>
#include <stddef.h>

enum { CHUNK = 1 << 20, MAX_DEPTH = 1000 };

/* ---- memory ---- */

/* expat's allocator has no user data: the context of the call under way is kept for the thread. */
static _Thread_local berth_ctx *present;

typedef union block {
  size_t size; /* with this head */
  max_align_t align;
} block;

static void *resize(void *ptr, size_t size) {
  block *old = ptr ? (block *)ptr - 1 : NULL, *b;
  if (size > SIZE_MAX - sizeof *b) return NULL;
  size += sizeof *b;
  b = old ? berth_i_realloc(present, old, old->size, size, 1) : berth_i_alloc(present, size, 1);
  if (!b) return NULL;
  b->size = size;
  return b + 1;
}

static void *allocate(size_t size) { return resize(NULL, size); }

static void release(void *ptr) {
  block *b = ptr ? (block *)ptr - 1 : NULL;
  if (b) berth_i_free(present, b, b->size, 1);
}

/* ---- events ---- */

typedef struct reading {
  berth_ctx *ctx;
  const char *name;
  const berth_i_xml_events *events;
  XML_Parser parser;
  char *root;       /* its full name, of which the first `home` bytes are the namespace */
  size_t home;
  int32_t depth;
  berth_status st;  /* why an event ended it */
} reading;

static int32_t line_of(const reading *r) {
  XML_Size line = XML_GetCurrentLineNumber(r->parser);
  return line < INT32_MAX ? (int32_t)line : INT32_MAX;
}

static void stop_if(reading *r, berth_status st) {
  r->st = st;
  if (st != BERTH_OK) XML_StopParser(r->parser, XML_FALSE);
}

static void refuse(reading *r, const char *what, const char *value) {
  stop_if(r, berth_i_fail(r->ctx, BERTH_EPARSE, "%s:%d: %s (%.40s)", r->name, (int)line_of(r), what,
                          value));
}

/* Behind the namespace, if it is the root's. */
static const char *short_name(const reading *r, const char *name) {
  const char *local = strchr(name, '\n');
  size_t n = local ? (size_t)(local - name) : 0;
  return local && n == r->home && memcmp(name, r->root, n) == 0 ? local + 1 : name;
}

static void on_open(void *ud, const XML_Char *name, const XML_Char **attributes) {
  reading *r = ud;
  if (r->st != BERTH_OK) return;
  if (++r->depth > MAX_DEPTH) {
    refuse(r, "elements are nested more than 1000 deep", short_name(r, name));
    return;
  }
  if (!r->root) {
    if (!(r->root = berth_i_strdup(r->ctx, name))) {
      stop_if(r, berth_i_nomem(r->ctx));
      return;
    }
    r->home = strcspn(name, "\n") < strlen(name) ? strcspn(name, "\n") : 0;
  }
  stop_if(r, r->events->open(r->events->ud, short_name(r, name), (const char *const *)attributes,
                             line_of(r)));
}

static void on_close(void *ud, const XML_Char *name) {
  reading *r = ud;
  (void)name;
  r->depth--;
  if (r->st == BERTH_OK) stop_if(r, r->events->close(r->events->ud));
}

static void on_text(void *ud, const XML_Char *text, int len) {
  reading *r = ud;
  if (r->st == BERTH_OK) stop_if(r, r->events->text(r->events->ud, text, (size_t)len));
}

/* So there is nothing to expand, and no bomb. */
static void on_entity(void *ud, const XML_Char *name, int is_parameter, const XML_Char *value,
                      int len, const XML_Char *base, const XML_Char *system, const XML_Char *public,
                      const XML_Char *notation) {
  (void)is_parameter, (void)value, (void)len, (void)base, (void)system, (void)public,
      (void)notation;
  refuse(ud, "declarations of entities are not read", name);
}

static void on_skipped(void *ud, const XML_Char *name, int is_parameter) {
  (void)is_parameter;
  refuse(ud, "entity is not declared here", name);
}

static int on_encoding(void *ud, const XML_Char *name, XML_Encoding *info) {
  (void)info;
  refuse(ud, "encoding is none of UTF-8, UTF-16, ISO-8859-1, US-ASCII", name);
  return XML_STATUS_ERROR;
}

/* ---- the whole ---- */

static berth_status failed(const reading *r) {
  enum XML_Error code = XML_GetErrorCode(r->parser);
  if (r->st != BERTH_OK) return r->st;
  if (code == XML_ERROR_NO_MEMORY) return berth_i_nomem(r->ctx);
  return berth_i_fail(r->ctx, BERTH_EPARSE, "%s:%d: %s", r->name, (int)line_of(r),
                      XML_ErrorString(code));
}

/* In chunks, since expat copies what it is given. */
static berth_status read_chunks(reading *r, const char *text, size_t len) {
  XML_SetUserData(r->parser, r);
  XML_SetElementHandler(r->parser, on_open, on_close);
  XML_SetCharacterDataHandler(r->parser, on_text);
  XML_SetEntityDeclHandler(r->parser, on_entity);
  XML_SetSkippedEntityHandler(r->parser, on_skipped);
  XML_SetUnknownEncodingHandler(r->parser, on_encoding, r);
  berth_status st;
  do {
    if ((st = berth_i_interrupted(r->ctx)) != BERTH_OK) return st;
    size_t n = len < CHUNK ? len : CHUNK;
    if (XML_Parse(r->parser, text, (int)n, n == len) != XML_STATUS_OK) return failed(r);
    text += n;
    len -= n;
  } while (len > 0);
  return BERTH_OK;
}

berth_status berth_i_xml_read(berth_ctx *ctx, const char *name, const char *text, size_t len,
                              const berth_i_xml_events *events) {
  static const XML_Memory_Handling_Suite of_context = { allocate, resize, release };
  reading r = { .ctx = ctx, .name = name, .events = events };
  berth_ctx *outer = present;
  present = ctx;
  r.parser = XML_ParserCreate_MM(NULL, &of_context, "\n");
  berth_status st = r.parser ? read_chunks(&r, text, len) : berth_i_nomem(ctx);
  if (r.parser) XML_ParserFree(r.parser);
  berth_i_strfree(ctx, r.root);
  present = outer;
  return st;
}
