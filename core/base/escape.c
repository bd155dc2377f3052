/* Texts of others for people: what a terminal would carry out or reorder is written as a JSON
 * escape, so that a name in a file cannot set titles, move the cursor or hide what follows. */
#include "base_internal.h"
#include "utf8.h"
#include <stdio.h>

/* Bytes of the character at s if it must not reach a terminal, else 0: controls (C0, DEL, C1), line
 * and paragraph separators, marks of direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
 * U+2069), and bytes that are not UTF-8. */
static size_t unsafe(const char *s, unsigned *code) {
  const unsigned char *b = (const unsigned char *)s;
  size_t n = berth_i_utf8(s);
  *code = n == 2 ? (b[0] & 0x1fu) << 6 | (b[1] & 0x3fu)
          : n == 3 ? (b[0] & 0xfu) << 12 | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu) : b[0];
  if (n == 0) return 1;
  if (n == 4) return 0;
  unsigned c = *code;
  bool control = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
  bool mark = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e)
              || (c >= 0x2066 && c <= 0x2069);
  return control || mark ? n : 0;
}

bool berth_i_escape_one(const char *s, char out[8]) {
  unsigned code;
  if (unsafe(s, &code) == 0) return false;
  snprintf(out, 8, "\\u%04x", code & 0xffff);
  return true;
}

size_t berth_escape(const char *text, int lines, char *buf, size_t size) {
  size_t need = 0;
  if (size > 0) buf[0] = 0;
  for (const char *s = text; *s;) {
    unsigned code;
    size_t n = unsafe(s, &code);
    char escaped[8];
    bool kept = n == 0 || (lines && (*s == '\n' || *s == '\t'));
    if (n == 0) n = berth_i_utf8(s);
    if (!kept) berth_i_escape_one(s, escaped);
    const char *from = kept ? s : escaped;
    size_t k = kept ? n : strlen(escaped);
    if (need + k < size) {
      memcpy(buf + need, from, k);
      buf[need + k] = 0;
    } else if (need < size) {
      size = need + 1; /* no part of a character or an escape, and nothing behind it */
    }
    need += k;
    s += n;
  }
  return need;
}
