/* UTF-8 without surrogates and overlong forms, as RFC 3629, sec. 4, defines it. */
#include "utf8.h"

#include <stdbool.h>

static bool is_tail(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

size_t berth_i_utf8(const char *s) {
  unsigned char a = (unsigned char)s[0];
  if (a < 0x80) return 1;
  if (a < 0xc2 || a > 0xf4 || !is_tail(s[1])) return 0;
  unsigned char b = (unsigned char)s[1];
  if (a < 0xe0) return 2;
  if ((a == 0xe0 && b < 0xa0) || (a == 0xed && b > 0x9f) || (a == 0xf0 && b < 0x90)
      || (a == 0xf4 && b > 0x8f))
    return 0;
  if (!is_tail(s[2])) return 0;
  if (a < 0xf0) return 3;
  return is_tail(s[3]) ? 4 : 0;
}

const char *berth_i_utf8_error(const char *s) {
  while (*s) {
    size_t n = berth_i_utf8(s);
    if (n == 0) return s;
    s += n;
  }
  return NULL;
}

size_t berth_i_utf8_put(uint32_t code, char out[4]) {
  if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
  size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t k = n; k-- > 1; code >>= 6) out[k] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)(n == 1 ? code : (0xf00 >> n & 0xff) | code);
  return n;
}
