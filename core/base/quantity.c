/* Numbers with units, in and out. */
#include "base_internal.h"
#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Scale {
  const char *name;
  double factor;
} Scale;

static const Scale times[] = {
  { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 }, { "min", 60 }, { "h", 3600 }, { NULL, 0 }
};
static const Scale decimal[] = {
  { "", 1 }, { "k", 1e3 }, { "K", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { "T", 1e12 }, { "P", 1e15 }, { NULL, 0 }
};
static const Scale binary[] = {
  { "Ki", 1024.0 }, { "Mi", 1048576.0 }, { "Gi", 1073741824.0 }, { "Ti", 1099511627776.0 }, { NULL, 0 }
};

static const char *expected(berth_unit unit) {
  switch (unit) {
    case BERTH_SECONDS: return "seconds, as in \"5 us\"";
    case BERTH_BYTES: return "bytes, as in \"16 GB\" or \"16 GiB\"";
    case BERTH_BYTES_PER_SECOND: return "bytes per second, as in \"25 GB/s\" or \"25 Gbit/s\"";
    case BERTH_FLOP: return "FLOP, as in \"8.2 GFLOP\"";
    case BERTH_FLOP_PER_SECOND: return "FLOP per second, as in \"312 TFLOP/s\"";
  }
  return "a quantity";
}

/* 0 if `word` of n characters is not `name`. */
static bool is(const char *word, size_t n, const char *name) { return strlen(name) == n && memcmp(word, name, n) == 0; }

static double find(const Scale *table, const char *word, size_t n) {
  for (; table->name; table++)
    if (is(word, n, table->name)) return table->factor;
  return 0;
}

static size_t ends(const char *word, size_t n, const char *tail) {
  size_t k = strlen(tail);
  return n >= k && memcmp(word + n - k, tail, k) == 0 ? k : 0;
}

static double prefix(const char *word, size_t n, bool with_binary) {
  double factor = find(decimal, word, n);
  return factor == 0 && with_binary ? find(binary, word, n) : factor;
}

static double data_scale(const char *word, size_t n) {
  size_t k;
  if ((k = ends(word, n, "bit"))) return prefix(word, n - k, true) / 8;
  if ((k = ends(word, n, "bytes")) || (k = ends(word, n, "byte")) || (k = ends(word, n, "B"))) return prefix(word, n - k, true);
  return 0;
}

static double flop_scale(const char *word, size_t n) {
  size_t k;
  if ((k = ends(word, n, "FLOP")) || (k = ends(word, n, "FLOPs")) || (k = ends(word, n, "flop"))) return prefix(word, n - k, false);
  return 0;
}

/* Factor of a unit word, 0 if it is not one of this kind. */
static double scale(const char *word, size_t n, berth_unit unit) {
  size_t k;
  if (n == 0) return 1;
  if (unit == BERTH_SECONDS) return find(times, word, n);
  if (unit == BERTH_BYTES) return data_scale(word, n);
  if (unit == BERTH_FLOP) return flop_scale(word, n);
  if (!(k = ends(word, n, "/s"))) return 0;
  return unit == BERTH_FLOP_PER_SECOND ? flop_scale(word, n - k) : data_scale(word, n - k);
}

/* A plain decimal number, "inf" included; hexadecimal, "nan" and a locale's decimal comma are not numbers here. */
static const char *read_number(const char *s, double *value) {
  char digits[64];
  size_t n = 0;
  char *end;
  if (strncmp(s, "inf", 3) == 0) {
    *value = INFINITY;
    return s + 3;
  }
  while (s[n] && n + 1 < sizeof digits && (isdigit((unsigned char)s[n]) || s[n] == '.' || s[n] == '-' || s[n] == '+' ||
         ((s[n] == 'e' || s[n] == 'E') && n > 0 && (isdigit((unsigned char)s[n + 1]) || s[n + 1] == '-' || s[n + 1] == '+'))))
    n++;
  for (size_t i = 0; i < n; i++) digits[i] = s[i] == '.' ? localeconv()->decimal_point[0] : s[i];
  digits[n] = '\0';
  *value = strtod(digits, &end);
  return n > 0 && *end == '\0' ? s + n : NULL;
}

berth_status berth_quantity_parse(berth_ctx *ctx, const char *text, berth_unit unit, double *out) {
  const char *s = text, *word;
  double value, factor;
  size_t n;
  while (isspace((unsigned char)*s)) s++;
  if (!(s = read_number(s, &value)))
    return berth_i_fail(ctx, BERTH_EINVAL, "\"%.60s\" is not a number of %s", text, expected(unit));
  while (isspace((unsigned char)*s)) s++;
  word = s;
  n = strlen(word);
  while (n > 0 && isspace((unsigned char)word[n - 1])) n--;
  factor = scale(word, n, unit);
  if (factor == 0)
    return berth_i_fail(ctx, BERTH_EINVAL, "\"%.60s\": the unit \"%.*s\" is not one of %s", text, (int)(n < 20 ? n : 20), word,
                        expected(unit));
  if (!(value >= 0)) return berth_i_fail(ctx, BERTH_EINVAL, "\"%.60s\" is negative", text);
  if (isinf(value * factor) && !isinf(value)) return berth_i_fail(ctx, BERTH_EINVAL, "\"%.60s\" is too large", text);
  *out = value * factor;
  return BERTH_OK;
}

static const char *format_with(double value, const Scale *table, int n, const char *unit, char *buf, size_t size) {
  int k = 0;
  while (k + 1 < n && fabs(value) >= 0.9995 * table[k + 1].factor) k++;
  snprintf(buf, size, fabs(value) >= 999.5 * table[k].factor ? "%.0f %s%s" : "%.3g %s%s", value / table[k].factor, table[k].name,
           unit);
  return buf;
}

const char *berth_quantity_format(double value, berth_unit unit, char *buf, size_t size) {
  static const Scale seconds[] = { { "n", 1e-9 }, { "u", 1e-6 }, { "m", 1e-3 }, { "", 1 } };
  static const Scale many[] = { { "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { "T", 1e12 }, { "P", 1e15 } };
  static const char *const names[] = { "s", "B", "B/s", "FLOP", "FLOP/s" };
  if (isnan(value)) snprintf(buf, size, "unknown");
  else if (isinf(value)) snprintf(buf, size, value > 0 ? "inf" : "-inf");
  else if (value == 0) snprintf(buf, size, "0 %s", names[unit]);
  else if (unit == BERTH_SECONDS) format_with(value, seconds, 4, names[unit], buf, size);
  else format_with(value, many, 6, names[unit], buf, size);
  return buf;
}
