/* The table of formats. */
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

bool berth_i_format_reads(const berth_i_format *f) { return f->about.loads != 0; }
bool berth_i_format_writes(const berth_i_format *f) { return f->write != NULL; }

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
