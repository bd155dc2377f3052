/* Growing text; numbers and strings in it. A writer's handle keeps the first failure, and then
 * appends nothing: writers check once, at the end, and the text is cut back to what it was. */
#include "io/io_internal.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* The text may be used again. */
void berth_text_release(berth_text *t) {
  if (!t || !t->ctx) return;
  berth_i_free(t->ctx, t->data, t->size, 1);
  t->data = NULL;
  t->len = t->size = 0;
}

/* A text without context takes this one. */
berth_i_out berth_i_out_open(berth_ctx *ctx, berth_text *text) {
  berth_i_out o = { text, BERTH_OK, text->len };
  if (!text->ctx) text->ctx = ctx;
  return o;
}

berth_status berth_i_out_close(berth_i_out *o) {
  if (o->st != BERTH_OK) {
    o->text->len = o->mark;
    if (o->text->data) o->text->data[o->mark] = 0;
  }
  return o->st;
}

/* One byte more, for the terminating zero. */
static bool make_room(berth_i_out *o, size_t more) {
  berth_text *t = o->text;
  void *data = t->data;
  if (o->st != BERTH_OK) return false;
  o->st = berth_i_grow(t->ctx, &data, &t->size, t->len + more + 1, 1);
  t->data = data;
  return o->st == BERTH_OK;
}

/* The text is zero-terminated at all times. */
void berth_i_put_n(berth_i_out *o, const char *s, size_t n) {
  if (!make_room(o, n)) return;
  memcpy(o->text->data + o->text->len, s, n);
  o->text->len += n;
  o->text->data[o->text->len] = 0;
}

void berth_i_put(berth_i_out *o, const char *s) { berth_i_put_n(o, s, strlen(s)); }

/* Short texts are formatted once into a buffer on the stack, longer ones a second time into the
 * text. */
void berth_i_putf(berth_i_out *o, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char few[128];
  int n = berth_vsnprintf(few, sizeof few, format, args);
  va_end(args);
  if (n < 0 || (size_t)n < sizeof few) {
    berth_i_put_n(o, few, n < 0 ? 0 : (size_t)n);
    return;
  }
  if (!make_room(o, (size_t)n)) return;
  va_start(args, format);
  berth_vsnprintf(o->text->data + o->text->len, (size_t)n + 1, format, args);
  va_end(args);
  o->text->len += (size_t)n;
}

/* printf writes the decimal point of the locale; files have a dot. */
static void dot_for_locale(char *buf) {
  const char *point = localeconv()->decimal_point;
  char *at;
  size_t n = strlen(point);
  if (strcmp(point, ".") == 0 || n == 0 || !(at = strstr(buf, point))) return;
  *at = '.';
  memmove(at + 1, at + n, strlen(at + n) + 1);
}

/* Whole numbers below 1e15 are exact in all digits. Else the fewest of 15 to 17 digits that read
 * back: 17 always do (IEEE 754 doubles). */
const char *berth_i_number_text(double x, char buf[BERTH_I_NUMBER_SIZE]) {
  if (x == floor(x) && fabs(x) < 1e15 && !(x == 0 && signbit(x))) {
    snprintf(buf, BERTH_I_NUMBER_SIZE, "%lld", (long long)x);
    return buf;
  }
  if (x == 0) return "-0";
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(buf, BERTH_I_NUMBER_SIZE, "%.*g", digits, x);
    if (strtod(buf, NULL) == x) break;
  }
  dot_for_locale(buf);
  return buf;
}

const char *berth_number_text(double x, int digits, char *buf, size_t size) {
  char text[BERTH_I_NUMBER_SIZE];
  if (!isfinite(x)) {
    snprintf(buf, size, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
  } else if (digits > 0) {
    snprintf(text, sizeof text, "%.*g", digits < 17 ? digits : 17, x);
    dot_for_locale(text);
    snprintf(buf, size, "%s", text);
  } else {
    snprintf(buf, size, "%s", berth_i_number_text(x, text));
  }
  return buf;
}

void berth_i_put_number(berth_i_out *o, double x) {
  char buf[BERTH_I_NUMBER_SIZE];
  if (isnan(x)) berth_i_put(o, "null");
  else if (isinf(x)) berth_i_put(o, "\"inf\"");
  else berth_i_put(o, berth_i_number_text(x, buf));
}

/* Control characters without a short form are \u00xx. */
static void put_escape(berth_i_out *o, unsigned char c) {
  switch (c) {
    case '"': berth_i_put(o, "\\\""); break;
    case '\\': berth_i_put(o, "\\\\"); break;
    case '\n': berth_i_put(o, "\\n"); break;
    case '\t': berth_i_put(o, "\\t"); break;
    case '\r': berth_i_put(o, "\\r"); break;
    default: berth_i_putf(o, "\\u%04x", c);
  }
}

/* Bytes that are not UTF-8 become U+FFFD, one each: the file must be valid JSON. */
void berth_i_put_string(berth_i_out *o, const char *s) {
  berth_i_put(o, "\"");
  while (*s) {
    size_t n = berth_i_utf8(s);
    if (n == 0) {
      berth_i_put(o, "\xef\xbf\xbd");
      n = 1;
    } else if (n == 1 && ((unsigned char)*s < 32 || *s == '"' || *s == '\\')) {
      put_escape(o, (unsigned char)*s);
    } else {
      berth_i_put_n(o, s, n);
    }
    s += n;
  }
  berth_i_put(o, "\"");
}
