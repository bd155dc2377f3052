/* The table of formats, generated from the lists of formats_internal.h, and look-ups in it. The
 * three arrays have the same order: formats that are read first. */
#include "formats_internal.h"
#include <stdio.h>

#define ROW(symbol) &berth_i_format_##symbol,
const berth_i_format *const berth_i_formats[] = { BERTH_I_READERS(ROW) BERTH_I_WRITERS(ROW) NULL };

#define ABOUT(symbol) &berth_i_format_##symbol.about,
static const berth_format *const formats[] = { BERTH_I_READERS(ABOUT) BERTH_I_WRITERS(ABOUT) NULL };

#define CHOICE(symbol) &berth_i_format_##symbol.about.choice,
const berth_choice *const berth_i_readable_formats[] = { BERTH_I_READERS(CHOICE) NULL };

const berth_format *const *berth_formats(void) { return formats; }

const berth_i_format *berth_i_format_find(const char *name) {
  for (const berth_i_format *const *f = berth_i_formats; *f; f++) {
    if (strcmp((*f)->about.choice.name, name) == 0) return *f;
  }
  return NULL;
}

/* Legal for berth_load_options.format, and for berth_write_graph. */
bool berth_i_format_reads(const berth_i_format *f) { return f->about.loads != 0; }
bool berth_i_format_writes(const berth_i_format *f) { return f->write != NULL; }

/* Is the word one of those in a list separated by spaces? NULL: an empty list. A hit inside of
 * another word ("file" in "file_bandwidth") does not count. */
static bool has_word(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *at = list; at && (at = strstr(at, word)); at += n) {
    bool begins = at == list || at[-1] == ' ', ends = at[n] == 0 || at[n] == ' ';
    if (begins && ends) return true;
  }
  return false;
}

/* An option that no format lists is read by all. The message needs the names of all readers, so the
 * loop goes on until the format itself is found. */
berth_status berth_format_check(berth_ctx *ctx, const char *format, const char *key) {
  char readers[400] = "";
  size_t used = 0;
  for (const berth_format *const *f = formats; *f && used < sizeof readers; f++) {
    const char *name = (*f)->choice.name;
    if (!has_word((*f)->reads, key)) continue;
    if (strcmp(name, format) == 0) return BERTH_OK;
    used += (size_t)snprintf(readers + used, sizeof readers - used, "%s%s", used ? ", " : "", name);
  }
  if (used == 0) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option %s: the format %s does not read it; read by: %s",
                      key, format, readers);
}

/* `used` counts what snprintf would have written, so it may pass `size`; then the list is cut. */
const char *berth_i_format_list(bool (*which)(const berth_i_format *f), char *buf, size_t size) {
  size_t used = 0;
  buf[0] = 0;
  for (const berth_i_format *const *f = berth_i_formats; *f && used < size; f++) {
    if (!which(*f)) continue;
    const char *name = (*f)->about.choice.name;
    used += (size_t)snprintf(buf + used, size - used, "%s\"%s\"", used ? ", " : "", name);
  }
  return buf;
}
