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

/* The last ending of a name, without the dot: [*n] characters; 0: it has none, as ".profile". A
 *  second one is ".gz". */
static const char *ending_of(const char *path, size_t *n) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  size_t len = strlen(name) - (berth_i_packs(name) ? 3 : 0), at = len;
  while (at > 0 && name[at - 1] != '.') at--;
  *n = at > 1 ? len - at : 0;
  return name + at;
}

/* In ASCII, also where the locale has other rules. */
static bool same_letters(const char *a, const char *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char x = a[i] >= 'A' && a[i] <= 'Z' ? (char)(a[i] + 32) : a[i];
    if (x != b[i]) return false;
  }
  return true;
}

/* Is the ending [n] one of a list? */
static bool has_ending(const char *list, const char *ending, size_t n) {
  for (const char *e = list; e && *e; e += strspn(e, " ")) {
    size_t k = strcspn(e, " ");
    if (k == n && same_letters(ending, e, n)) return true;
    e += k;
  }
  return false;
}

berth_status berth_format_of_path(berth_ctx *ctx, const char *path, int saves,
                                  const char **format) {
  if (!ctx) return BERTH_EINVAL;
  char list[200] = "";
  size_t n, used = 0;
  int able = 0;
  const char *ending = ending_of(path, &n);
  for (const berth_format *const *f = formats; *f; f++) {
    bool holds = ((*f)->saves & saves) == saves;
    const char *name = (*f)->choice.name;
    if (holds && (n == 0 || has_ending((*f)->endings, ending, n))) {
      *format = name;
      return BERTH_OK;
    }
    if (holds && used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s: %s", used ? "; " : "",
                               name, (*f)->endings);
    able += holds;
    if (!has_ending((*f)->endings, ending, n)) continue;
    return berth_i_fail(ctx, BERTH_EINVAL, "%s: format %s, of this ending, cannot hold it", path,
                        name);
  }
  *format = "berth";
  if (able == 1) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "%s: no format has the ending .%.*s: name the format, "
                      "or use one of these endings (%s)", path, (int)n, ending, list);
}

/* An option that no format lists is read by all. The message needs the names of all readers, so the
 * loop goes on until the format itself is found. */
berth_status berth_format_check(berth_ctx *ctx, const char *format, const char *key) {
  if (!ctx) return BERTH_EINVAL;
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
