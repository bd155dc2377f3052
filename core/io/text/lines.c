/* Lines and words of the text formats. Line ends are LF or CR LF. berth_i_lines is a cursor:
 * at..end is the rest of the present line; copies of it are independent, which the recognisers
 * use. */
#include "io/io_internal.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* Not isspace: that depends on the locale. */
static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Before the first line: line 0. */
berth_i_lines berth_i_lines_of(const berth_i_source *src) {
  berth_i_lines l = { src, src->text, src->text, src->text, 0 };
  return l;
}

/* The last line need not end with LF. One CR before LF belongs to the line end. */
bool berth_i_lines_next(berth_i_lines *l) {
  const char *stop = l->src->text + l->src->len;
  if (l->next >= stop) return false;
  l->at = l->next;
  l->end = memchr(l->at, '\n', (size_t)(stop - l->at));
  if (!l->end) l->end = stop;
  l->next = l->end < stop ? l->end + 1 : stop;
  if (l->end > l->at && l->end[-1] == '\r') l->end--;
  l->line++;
  return true;
}

void berth_i_lines_skip_blanks(berth_i_lines *l) {
  while (l->at < l->end && is_blank(*l->at)) l->at++;
}

bool berth_i_lines_is_blank(const berth_i_lines *l) {
  const char *p = l->at;
  while (p < l->end && is_blank(*p)) p++;
  return p == l->end;
}

bool berth_i_lines_next_filled(berth_i_lines *l) {
  while (berth_i_lines_next(l))
    if (!berth_i_lines_is_blank(l)) return true;
  return false;
}

/* Before the first line the number is 1: there is no line 0 in an editor. */
berth_status berth_i_lines_fail(const berth_i_lines *l, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char why[320];
  berth_vsnprintf(why, sizeof why, format, args);
  va_end(args);
  return berth_i_fail(l->src->ctx, BERTH_EPARSE, "%s:%d: %s", l->src->name,
                      (int)(l->line ? l->line : 1), why);
}

/* A zero byte ends a word: strchr would find it in `stop`. */
size_t berth_i_lines_word(berth_i_lines *l, const char *stop, char *buf, size_t size) {
  size_t n = 0;
  berth_i_lines_skip_blanks(l);
  const char *from = l->at;
  while (l->at < l->end && *l->at && !is_blank(*l->at) && !strchr(stop, *l->at)) l->at++;
  n = (size_t)(l->at - from);
  size_t kept = n < size ? n : size - 1;
  memcpy(buf, from, kept);
  buf[kept] = 0;
  return n;
}

/* strtod also reads hexadecimal, "nan" and "inf", and expects the decimal point of the locale. So
 * the characters are checked first and the dot is replaced. 8 bytes are kept free for a longer
 * point. */
bool berth_i_decimal(const char *word, double *out) {
  const char *point = localeconv()->decimal_point;
  size_t n = 0;
  if (!*word) return false;
  char buf[72];
  for (; *word; word++) {
    if (n + 8 > sizeof buf || !strchr("0123456789+-.eE", *word)) return false;
    if (*word == '.') {
      n += (size_t)snprintf(buf + n, sizeof buf - n, "%.4s", point);
    } else {
      buf[n++] = *word;
    }
  }
  buf[n] = 0;
  char *end;
  *out = strtod(buf, &end);
  return *end == 0;
}

/* A word that was cut is refused: its value would be wrong. */
static berth_status read_word(berth_i_lines *l, const char *stop, const char *what, char *word,
                              size_t size) {
  size_t n = berth_i_lines_word(l, stop, word, size);
  if (n == 0) return berth_i_lines_fail(l, "%s is missing", what);
  return n < size ? BERTH_OK
                  : berth_i_lines_fail(l, "%s has more than %zu characters (%.40s...)", what,
                                       size - 1, word);
}

berth_status berth_i_lines_amount(berth_i_lines *l, const char *stop, const char *what,
                                  double *out) {
  char word[64];
  berth_status st = read_word(l, stop, what, word, sizeof word);
  if (st != BERTH_OK) return st;
  double x;
  if (!berth_i_decimal(word, &x))
    return berth_i_lines_fail(l, "%s is not a number (%.40s)", what, word);
  if (isinf(x)) return berth_i_lines_fail(l, "%s is too large (%.40s)", what, word);
  if (x < 0) return berth_i_lines_fail(l, "%s is negative (%.40s)", what, word);
  *out = x;
  return BERTH_OK;
}

/* Stops counting beyond INT32_MAX: no overflow. */
berth_status berth_i_lines_id(berth_i_lines *l, const char *stop, const char *what, int32_t *out) {
  char word[64];
  const char *p = word;
  int64_t x = 0;
  berth_status st = read_word(l, stop, what, word, sizeof word);
  if (st != BERTH_OK) return st;
  for (; *p >= '0' && *p <= '9' && x <= INT32_MAX; p++) x = 10 * x + (*p - '0');
  if (x > INT32_MAX) return berth_i_lines_fail(l, "%s is beyond 32 bits (%.40s)", what, word);
  if (*p) return berth_i_lines_fail(l, "%s is not a whole number from 0 (%.40s)", what, word);
  *out = (int32_t)x;
  return BERTH_OK;
}

bool berth_i_lines_is_number(berth_i_lines *l) {
  char word[64];
  berth_i_lines_word(l, "", word, sizeof word);
  double number;
  return berth_i_decimal(word, &number) && berth_i_lines_is_blank(l);
}

/* For recognising: words of more than 15 characters count more than once, which no format that is
 * recognised this way has. */
int berth_i_lines_next_words(berth_i_lines *l, bool *commas) {
  int words = 0;
  *commas = false;
  do {
    if (!berth_i_lines_next(l)) return 0;
    berth_i_lines_skip_blanks(l);
  } while (*l->at == '#');
  *commas = berth_i_has(l->at, l->end, ",");
  char word[16];
  while (berth_i_lines_word(l, "", word, sizeof word)) words++;
  return words;
}

/* Not strstr: the text may contain zero bytes, and `end` may be within it. */
bool berth_i_has(const char *at, const char *end, const char *word) {
  size_t n = strlen(word);
  for (; (size_t)(end - at) >= n; at++) {
    if (memcmp(at, word, n) == 0) return true;
  }
  return false;
}
