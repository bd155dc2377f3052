/* TOML 1.0 as far as configurations need it: tables, dotted and quoted keys, strings, numbers,
 * booleans; arrays, inline tables and dates are values whose text alone is kept. */
#include "launch_internal.h"
#include "base/utf8.h"
#include <stdio.h>

enum { MOST_KEY = 200 };

typedef struct toml {
  berth_llm_launch *l;
  const char *p;
  int32_t line;
  char table[MOST_KEY]; /* "parallelism." */
  berth_status st;
} toml;

static void fail(toml *t, const char *reason) {
  if (t->st == BERTH_OK)
    t->st = berth_i_fail(t->l->pool.ctx, BERTH_EPARSE, "%s:%d: %s", t->l->name, (int)t->line,
                         reason);
}

static bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
         || c == '-';
}

static void skip_blanks(toml *t) { t->p += strspn(t->p, " \t"); }

static void skip_comment(toml *t) {
  if (*t->p == '#') t->p += strcspn(t->p, "\n");
}

/* Blanks, comments and line ends. */
static void skip_lines(toml *t) {
  for (; *t->p; t->p++) {
    t->p += strspn(t->p, " \t\r");
    skip_comment(t);
    if (*t->p != '\n') return;
    t->line++;
  }
}

/* ---- strings ---- */

/* \uXXXX and \UXXXXXXXX, at the letter. */
static bool read_code(toml *t, char *out, size_t *n) {
  uint32_t code = 0;
  int digits = *t->p++ == 'u' ? 4 : 8;
  for (int i = 0; i < digits; i++, t->p++) {
    const char *hex = "0123456789abcdefABCDEF", *at = *t->p ? strchr(hex, *t->p) : NULL;
    if (!at) return false;
    code = code << 4 | (uint32_t)(at - hex < 16 ? at - hex : at - hex - 6);
  }
  size_t length = berth_i_utf8_put(code, out + *n);
  *n += length;
  return length > 0;
}

static void escape(toml *t, char *out, size_t *n, bool several) {
  static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
  t->p++;
  const char *at = *t->p ? strchr(from, *t->p) : NULL;
  if (at) {
    out[(*n)++] = to[at - from];
    t->p++;
  } else if ((*t->p == 'u' || *t->p == 'U') && read_code(t, out, n)) return;
  else if (several && strspn(t->p, " \t\r\n") && t->p[strspn(t->p, " \t\r")] == '\n')
    for (; *t->p && strchr(" \t\r\n", *t->p); t->p++) t->line += *t->p == '\n';
  else fail(t, "an escape in a string is none of TOML");
}

/* At the quote. */
static const char *read_string(toml *t) {
  char quote = *t->p;
  bool several = t->p[1] == quote && t->p[2] == quote;
  t->p += several ? 3 : 1;
  if (several && *t->p == '\r') t->p++;
  if (several && *t->p == '\n') {
    t->p++;
    t->line++;
  }
  char *out = NULL;
  size_t n = 0, cap = 0;
  while (t->st == BERTH_OK) {
    if ((t->st = BERTH_I_POOL_GROW(&t->l->pool, out, cap, n + 5)) != BERTH_OK) return "";
    if (!*t->p || (*t->p == '\n' && !several)) {
      fail(t, "a string is not closed");
    } else if (*t->p == quote && (!several || (t->p[1] == quote && t->p[2] == quote))) {
      t->p += several ? 3 : 1;
      break;
    } else if (*t->p == '\\' && quote == '"') escape(t, out, &n, several);
    else {
      t->line += *t->p == '\n';
      out[n++] = *t->p++;
    }
  }
  return berth_i_launch_copy(t->l, out, n);
}

/* ---- keys ---- */

/* "a.b" and quoted parts, appended to `out`. */
static void read_key(toml *t, char *out) {
  for (;;) {
    skip_blanks(t);
    size_t n = strlen(out), k = 0;
    const char *part = t->p;
    if (*t->p == '"' || *t->p == '\'') {
      part = read_string(t);
      k = strlen(part);
    } else {
      while (is_bare(part[k])) k++;
      t->p += k;
      if (k == 0) fail(t, "a key is missing");
    }
    if (n + k + 2 > MOST_KEY) fail(t, "a key is too long");
    if (t->st != BERTH_OK) return;
    memcpy(out + n, part, k);
    out[n + k] = '\0';
    skip_blanks(t);
    if (*t->p != '.') return;
    t->p++;
    out[n + k] = '.';
    out[n + k + 1] = '\0';
  }
}

static void read_table(toml *t) {
  int brackets = t->p[1] == '[' ? 2 : 1;
  t->p += brackets;
  t->table[0] = '\0';
  read_key(t, t->table);
  if (t->st != BERTH_OK) return;
  for (int i = 0; i < brackets; i++)
    if (*t->p++ != ']') {
      t->p--;
      fail(t, "the name of a table has no ']'");
      return;
    }
  size_t n = strlen(t->table);
  t->table[n] = '.';
  t->table[n + 1] = '\0';
}

/* ---- values ---- */

/* An array or inline table: behind its end. */
static void skip_group(toml *t) {
  char open[64];
  int depth = 0;
  do {
    skip_lines(t);
    char c = *t->p;
    if (c == '"' || c == '\'') read_string(t);
    else if (c == '[' || c == '{') {
      if (depth == 64) fail(t, "arrays are nested too deeply");
      else open[depth++] = c;
      t->p++;
    } else if (c == ']' || c == '}') {
      if (open[depth - 1] != (c == ']' ? '[' : '{')) fail(t, "brackets do not match");
      depth--;
      t->p++;
    } else if (c) t->p++;
    else fail(t, "an array or table is not closed");
  } while (depth > 0 && t->st == BERTH_OK);
}

/* Digits of a number, with single underscores between them. */
static bool plain_number(const char *text, size_t n, char *out, size_t size) {
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    bool digits = i > 0 && i + 1 < n && text[i - 1] >= '0' && text[i - 1] <= '9'
                  && text[i + 1] >= '0' && text[i + 1] <= '9';
    if (text[i] == '_' && digits) continue;
    if (!strchr("0123456789+-.eE", text[i]) || k + 1 >= size) return false;
    out[k++] = text[i];
  }
  out[k] = '\0';
  return k > 0;
}

static bool read_based(const char *text, size_t n, double *out) {
  int base = text[1] == 'x' ? 16 : text[1] == 'o' ? 8 : 2;
  const char *hex = "0123456789abcdef";
  *out = 0;
  for (size_t i = 2; i < n; i++) {
    const char *at = strchr(hex, text[i] >= 'A' && text[i] <= 'F' ? text[i] + 32 : text[i]);
    if (text[i] == '_' && i > 2) continue;
    if (!at || at - hex >= base) return false;
    *out = *out * base + (double)(at - hex);
  }
  return n > 2 && *out < 9e15;
}

/* A number, boolean or date: up to what ends a value. */
static void read_scalar(toml *t, berth_i_value *v) {
  size_t n = strcspn(t->p, " \t\r\n#,]}");
  char digits[64];
  v->text = berth_i_launch_copy(t->l, t->p, n);
  v->kind = BERTH_I_VALUE_OTHER;
  if (strcmp(v->text, "true") == 0 || strcmp(v->text, "false") == 0) {
    v->kind = BERTH_I_VALUE_BOOL;
    v->number = *v->text == 't';
  } else if (n > 1 && v->text[0] == '0' && strchr("xob", v->text[1])) {
    if (!read_based(v->text, n, &v->number)) fail(t, "a number is malformed");
    v->kind = BERTH_I_VALUE_NUMBER;
  } else if (plain_number(v->text, n, digits, sizeof digits)
             && berth_i_launch_real(t->l, digits, &v->number))
    v->kind = BERTH_I_VALUE_NUMBER;
  else if (strspn(v->text, "0123456789-:.TZ+inaf") != n || n == 0) fail(t, "a value is malformed");
  t->p += n;
}

static void read_value(toml *t, berth_i_value *v) {
  const char *from = t->p;
  *v = (berth_i_value){ BERTH_I_VALUE_STRING, "", 0 };
  if (*t->p == '"' || *t->p == '\'') v->text = read_string(t);
  else if (*t->p == '[' || *t->p == '{') {
    v->kind = BERTH_I_VALUE_OTHER;
    skip_group(t);
    v->text = berth_i_launch_copy(t->l, from, (size_t)(t->p - from));
  } else read_scalar(t, v);
}

static void read_pair(toml *t, berth_i_toml_take take) {
  char key[MOST_KEY];
  berth_i_value v;
  int32_t line = t->line;
  memcpy(key, t->table, strlen(t->table) + 1);
  read_key(t, key);
  if (t->st == BERTH_OK && *t->p != '=') fail(t, "a key has no '='");
  if (t->st != BERTH_OK) return;
  t->p++;
  skip_blanks(t);
  read_value(t, &v);
  if (t->st == BERTH_OK) t->st = take(t->l, berth_i_launch_copy(t->l, key, strlen(key)), &v, line);
}

berth_status berth_i_toml_read(berth_llm_launch *l, berth_i_toml_take take) {
  toml t = { .l = l, .p = l->text, .line = 1, .st = BERTH_OK };
  for (skip_lines(&t); *t.p && t.st == BERTH_OK; skip_lines(&t)) {
    if (*t.p == '[') read_table(&t);
    else read_pair(&t, take);
    if (t.st != BERTH_OK) break;
    t.p += strspn(t.p, " \t\r");
    skip_comment(&t);
    if (*t.p && *t.p != '\n') fail(&t, "text behind a value or a table's name");
  }
  return t.st;
}
