/* Numbers with units, in and out: decimal and binary prefixes, bits and bytes, times, rates.
 * Parsing is exact to the last bit where the unit is a power of ten. */
#include "base_internal.h"
#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* A unit is 10^power x factor. The power joins the number's own exponent before it is read, so that
 * "5 us" is 5e-6 to the last bit. */
typedef struct unit_scale {
  const char *name;
  int power;
  double factor; /* 0: not a unit */
} unit_scale;

static const unit_scale times[] = {
  { "", 0, 1 },    { "s", 0, 1 },    { "ms", -3, 1 },  { "us", -6, 1 },
  { "ns", -9, 1 }, { "min", 0, 60 }, { "h", 0, 3600 }, { NULL, 0, 0 }
};
static const unit_scale decimal[] = { { "", 0, 1 },  { "k", 3, 1 },  { "K", 3, 1 },  { "M", 6, 1 },
                                 { "G", 9, 1 }, { "T", 12, 1 }, { "P", 15, 1 }, { NULL, 0, 0 } };
static const unit_scale binary[] = { { "Ki", 0, 1024.0 },
                                { "Mi", 0, 1048576.0 },
                                { "Gi", 0, 1073741824.0 },
                                { "Ti", 0, 1099511627776.0 },
                                { NULL, 0, 0 } };

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

static bool is(const char *word, size_t n, const char *name) {
  return strlen(name) == n && memcmp(word, name, n) == 0;
}

static unit_scale find(const unit_scale *table, const char *word, size_t n) {
  while (table->name && !is(word, n, table->name)) table++;
  return *table;
}

static size_t ends(const char *word, size_t n, const char *tail) {
  size_t k = strlen(tail);
  return n >= k && memcmp(word + n - k, tail, k) == 0 ? k : 0;
}

static unit_scale prefix(const char *word, size_t n, bool with_binary) {
  unit_scale scale = find(decimal, word, n);
  return scale.factor == 0 && with_binary ? find(binary, word, n) : scale;
}

static unit_scale data_scale(const char *word, size_t n) {
  unit_scale scale = { NULL, 0, 0 };
  size_t k;
  if ((k = ends(word, n, "bit"))) {
    scale = prefix(word, n - k, true);
    scale.factor /= 8;
  } else if ((k = ends(word, n, "bytes")) || (k = ends(word, n, "byte"))
             || (k = ends(word, n, "B"))) {
    scale = prefix(word, n - k, true);
  }
  return scale;
}

static unit_scale flop_scale(const char *word, size_t n) {
  size_t k;
  if ((k = ends(word, n, "FLOP")) || (k = ends(word, n, "FLOPs")) || (k = ends(word, n, "flop")))
    return prefix(word, n - k, false);
  return (unit_scale){ NULL, 0, 0 };
}

static unit_scale scale_of(const char *word, size_t n, berth_unit unit) {
  if (n == 0 || unit == BERTH_SECONDS) return find(times, word, n);
  if (unit == BERTH_BYTES) return data_scale(word, n);
  if (unit == BERTH_FLOP) return flop_scale(word, n);
  size_t k;
  if (!(k = ends(word, n, "/s"))) return (unit_scale){ NULL, 0, 0 };
  return unit == BERTH_FLOP_PER_SECOND ? flop_scale(word, n - k) : data_scale(word, n - k);
}

/* A plain decimal number, without its exponent; hexadecimal, "nan" and a locale's decimal comma are
 * not numbers here. */
typedef struct parsed_number {
  char digits[64];
  long exponent;
} parsed_number;

static const char *skip_digits(const char *s) {
  while (isdigit((unsigned char)*s)) s++;
  return s;
}

/* @return what follows the number; NULL: there is none */
static const char *read_number(const char *s, parsed_number *number) {
  const char *from = s;
  if (*s == '-' || *s == '+') s++;
  const char *end = skip_digits(s);
  if (*end == '.') end = skip_digits(end + 1);
  if (end - s < 1 || (end - s == 1 && *s == '.') || (size_t)(end - from) >= sizeof number->digits)
    return NULL;
  memcpy(number->digits, from, (size_t)(end - from));
  number->digits[end - from] = '\0';
  number->exponent = 0;
  const char *sign = end + 1;
  if (*end != 'e' && *end != 'E') return end;
  if (*sign == '-' || *sign == '+') sign++;
  if (!isdigit((unsigned char)*sign)) return end; /* a unit that begins with e: the unit's table
                                                     refuses it */
  number->exponent = strtol(end + 1, NULL, 10);
  return skip_digits(sign);
}

static double value_of(const parsed_number *number, unit_scale scale) {
  long exponent = number->exponent;
  if (exponent > 9999) exponent = 9999;
  if (exponent < -9999) exponent = -9999;
  char text[96];
  snprintf(text, sizeof text, "%se%ld", number->digits, exponent + scale.power);
  for (char *c = text; *c; c++)
    if (*c == '.') *c = localeconv()->decimal_point[0];
  return strtod(text, NULL) * scale.factor;
}

/* ---- what may have been meant ---- */

/* "Gbps", "gb", "TFLOPS", "25 GB" as a rate: what is left of a word without "/s", "ps" or the "S"
 * behind FLOP, and whether that was there. */
static size_t without_per_second(const char *word, size_t n, bool *per) {
  size_t k;
  *per = true;
  if ((k = ends(word, n, "/s")) || (k = ends(word, n, "/S")) || (k = ends(word, n, "ps"))
      || (k = ends(word, n, "PS") && !ends(word, n, "OPS") ? 2 : 0))
    return n - k;
  if (n > 4 && (word[n - 1] | 32) == 's' && (word[n - 2] | 32) == 'p') return n - 1;
  *per = false;
  return n;
}

static const char *meant_time(const char *word) {
  static const char *const other[][2] = {
    { "sec", "s" }, { "secs", "s" }, { "second", "s" }, { "seconds", "s" }, { "S", "s" },
    { "msec", "ms" }, { "MS", "ms" }, { "usec", "us" }, { "US", "us" }, { "\xC2\xB5s", "us" },
    { "\xCE\xBCs", "us" }, { "nsec", "ns" }, { "mins", "min" }, { "minutes", "min" },
    { "hour", "h" }, { "hours", "h" }
  };
  for (size_t i = 0; i < sizeof other / sizeof *other; i++)
    if (strcmp(word, other[i][0]) == 0) return other[i][1];
  return NULL;
}

/* The unit that a word of at most 15 letters stands for; "": none. */
static const char *meant(const char *word, berth_unit unit, char *out, size_t size) {
  bool per;
  size_t n = without_per_second(word, strlen(word), &per), at = 0;
  bool flop = unit == BERTH_FLOP || unit == BERTH_FLOP_PER_SECOND;
  bool rate = unit == BERTH_BYTES_PER_SECOND || unit == BERTH_FLOP_PER_SECOND;
  char base[16], scale[3] = "";
  out[0] = '\0';
  if (unit == BERTH_SECONDS) {
    snprintf(out, size, "%s", meant_time(word) ? meant_time(word) : "");
    return out;
  }
  for (size_t i = 0; i < n && i < sizeof base - 1; i++)
    base[i] = (char)tolower((unsigned char)word[i]);
  base[n < sizeof base - 1 ? n : sizeof base - 1] = '\0';
  if (strchr("kmgtp", base[0]) && base[0]) scale[at++] = (char)toupper((unsigned char)base[0]);
  if (at && base[0] == 'k') scale[0] = 'k';
  if (at && base[at] == 'i') scale[at++] = 'i';
  const char *rest = base + at, *noun = NULL;
  if (flop && (!strcmp(rest, "flop") || !strcmp(rest, "flops"))) noun = "FLOP";
  if (!flop && (!strcmp(rest, "bit") || !strcmp(rest, "bits"))) noun = "bit";
  if (!flop && (!strcmp(rest, "b") || !strcmp(rest, "byte") || !strcmp(rest, "bytes")))
    noun = rate && per && rest[1] == '\0' && word[n - 1] == 'b' ? "bit" : "B";
  if (noun) snprintf(out, size, "%s%s%s", scale, noun, rate ? "/s" : "");
  return out;
}

static berth_status refuse(berth_ctx *ctx, const char *text, const char *word, size_t n,
                           berth_unit unit) {
  char copy[16], better[16] = "";
  snprintf(copy, sizeof copy, "%.*s", (int)n, word);
  if (n < sizeof copy) meant(copy, unit, better, sizeof better);
  if (*better && strcmp(better, copy) != 0) {
    int number = (int)(word - text);
    while (number > 0 && isspace((unsigned char)text[number - 1])) number--;
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "\"%.60s\": the unit \"%s\" is unknown: type \"%.*s %s\"", text, copy,
                        number, text, better);
  }
  return berth_i_fail(ctx, BERTH_EINVAL, "\"%.60s\": the unit \"%.*s\" is not one of %s", text,
                      (int)(n < 20 ? n : 20), word, expected(unit));
}

berth_status berth_i_quantity_or_number(berth_ctx *ctx, const char *text, berth_unit unit,
                                        bool *bare, double *out) {
  const char *s = text;
  parsed_number number = { "", 0 };
  while (isspace((unsigned char)*s)) s++;
  bool infinite = strncmp(s, "inf", 3) == 0;
  if (!(s = infinite ? s + 3 : read_number(s, &number)))
    return berth_i_fail(ctx, BERTH_EINVAL, "\"%.60s\" is not a number of %s", text, expected(unit));
  const char *word;
  for (word = s; isspace((unsigned char)*word); word++) {}
  size_t n = strlen(word);
  while (n > 0 && isspace((unsigned char)word[n - 1])) n--;
  unit_scale scale = scale_of(word, n, unit);
  if (scale.factor == 0) return refuse(ctx, text, word, n, unit);
  double value = infinite ? INFINITY : value_of(&number, scale);
  if (!(value >= 0)) return berth_i_fail(ctx, BERTH_EINVAL, "\"%.60s\" is negative", text);
  if (isinf(value) && !infinite)
    return berth_i_fail(ctx, BERTH_EINVAL, "\"%.60s\" is too large", text);
  *bare = n == 0;
  *out = value;
  return BERTH_OK;
}

berth_status berth_quantity_parse(berth_ctx *ctx, const char *text, berth_unit unit, double *out) {
  if (!ctx) return BERTH_EINVAL;
  bool bare;
  double value;
  berth_status st = berth_i_quantity_or_number(ctx, text, unit, &bare, &value);
  if (st != BERTH_OK) return st;
  if (bare && value != 0 && !isinf(value))
    return berth_i_fail(ctx, BERTH_EINVAL, "\"%.60s\" has no unit; expected %s", text,
                        expected(unit));
  *out = value;
  return BERTH_OK;
}

typedef struct step {
  const char *name;
  double factor;
} step;

static const char *format_with(double value, const step *table, int n, const char *unit, char *buf,
                               size_t size) {
  int k = 0;
  while (k + 1 < n && fabs(value) / table[k].factor >= 999.5) k++;
  value /= table[k].factor;
  if (k > 0 && fabs(value) < 1) value = value < 0 ? -1 : 1; /* 999.5 of the step below */
  berth_snprintf(buf, size,
                 fabs(value) >= 999.5 && fabs(value) < 999999.5 ? "%.0f %s%s" : "%.3g %s%s", value,
                 table[k].name, unit);
  return buf;
}

const char *berth_quantity_format(double value, berth_unit unit, char *buf, size_t size) {
  static const step seconds[] = { { "n", 1e-9 }, { "u", 1e-6 }, { "m", 1e-3 }, { "", 1 } };
  static const step many[] = { { "", 1 },    { "k", 1e3 },  { "M", 1e6 },
                               { "G", 1e9 }, { "T", 1e12 }, { "P", 1e15 } };
  static const char *const names[] = { "s", "B", "B/s", "FLOP", "FLOP/s" };
  if (isnan(value)) snprintf(buf, size, "unknown");
  else if (isinf(value)) snprintf(buf, size, value > 0 ? "inf" : "-inf");
  else if (value == 0) snprintf(buf, size, "0 %s", names[unit]);
  else if (unit == BERTH_SECONDS) format_with(value, seconds, 4, names[unit], buf, size);
  else format_with(value, many, 6, names[unit], buf, size);
  return buf;
}
