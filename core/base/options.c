/* Descriptors of options: fields of a struct found by offset, checked against their range, and
 * printed. The tables are in the rooms that own the structs; bindings, command line and documents
 * read them. */
#include "base_internal.h"
#include <stdio.h>

static const void *field_of(const berth_option *o, const void *options) {
  return (const char *)options + o->offset;
}

/* A number of any width; choices count from the first. */
static double number_of(const berth_option *o, const void *options) {
  const void *at = field_of(o, options);
  switch (o->type) {
  case BERTH_OPTION_FLAG: return *(const int *)at;
  case BERTH_OPTION_CHOICE: return *(const int *)at - o->first;
  case BERTH_OPTION_WHOLE: return *(const int32_t *)at;
  case BERTH_OPTION_LONG: return (double)*(const int64_t *)at;
  case BERTH_OPTION_SEED: return (double)*(const uint64_t *)at;
  default: return *(const double *)at;
  }
}

static int count(const berth_choice *const *choices) {
  int n = 0;
  while (choices[n]) n++;
  return n;
}

static bool in_range(const berth_option *o, double x) {
  if (isnan(x) || (isinf(x) && !isinf(o->high))) return false;
  if (x < o->low || (o->above && x <= o->low)) return false;
  return o->high == 0 || x <= o->high;
}

static berth_status out_of_range(berth_ctx *ctx, const berth_option *o, const char *place,
                                 double x) {
  const char *from = o->above ? "above" : "from";
  if (isinf(o->low)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "option %s%s is %g (a finite number of at most %g)",
                        o->key, place, x, o->high);
  }
  if (o->high == 0 || isinf(o->high)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "option %s%s is %g (a %snumber %s %g)", o->key, place, x,
                        isinf(o->high) ? "" : "finite ", from, o->low);
  }
  return berth_i_fail(ctx, BERTH_EINVAL, "option %s%s is %g (%s%.10g to %.10g)", o->key, place, x,
                      o->above ? "above " : "", o->low, o->high);
}

/* Arrays: their length, and each number. */
static berth_status check_list(berth_ctx *ctx, const berth_option *o, const void *options) {
  int32_t n = *(const int32_t *)((const char *)options + o->count);
  if (n < 0)
    return berth_i_fail(ctx, BERTH_EINVAL, "option %s: there are %d numbers", o->key, (int)n);
  char place[16];
  for (int32_t i = 0; i < n; i++) {
    double x = o->type == BERTH_OPTION_NUMBERS ? (*(const double *const *)field_of(o, options))[i]
                                               : (*(const int32_t *const *)field_of(o, options))[i];
    if (in_range(o, x)) continue;
    snprintf(place, sizeof place, "[%d]", (int)i);
    return out_of_range(ctx, o, place, x);
  }
  return BERTH_OK;
}

static berth_status check(berth_ctx *ctx, const berth_option *o, const void *options) {
  double x;
  int n;
  switch (o->type) {
  case BERTH_OPTION_FLAG: case BERTH_OPTION_SEED: case BERTH_OPTION_OTHER: return BERTH_OK;
  case BERTH_OPTION_NUMBERS: case BERTH_OPTION_WHOLES: return check_list(ctx, o, options);
  case BERTH_OPTION_CHOICE:
    n = count(o->choices);
    x = number_of(o, options);
    if (x >= -o->first && x < n) return BERTH_OK;
    return berth_i_fail(ctx, BERTH_EINVAL, "option %s is %g (0 to %d)", o->key, x + o->first,
                        o->first + n - 1);
  default:
    x = number_of(o, options);
    return in_range(o, x) ? BERTH_OK : out_of_range(ctx, o, "", x);
  }
}

berth_status berth_options_check(berth_ctx *ctx, const berth_option_table *table,
                                 const void *options) {
  if (!ctx) return BERTH_EINVAL;
  berth_status st = BERTH_OK;
  for (const berth_option *o = table->options; o->key && st == BERTH_OK; o++)
    st = check(ctx, o, options);
  return st;
}

const berth_option *berth_option_find(const berth_option_table *table, const char *key) {
  for (const berth_option *o = table->options; o->key; o++) {
    if (strcmp(o->key, key) == 0) return o;
  }
  return NULL;
}

int berth_choice_find(const berth_choice *const *choices, const char *name) {
  for (int i = 0; choices[i]; i++) {
    if (strcmp(choices[i]->name, name) == 0) return i;
  }
  return -1;
}

static const char *copy(const char *text, char *buf, size_t size) {
  snprintf(buf, size, "%s", text);
  return buf;
}

/* A number, flag or choice by default.  @return false: the option is none of these */
static bool default_number(const berth_option_table *table, const berth_option *o, double *out) {
  union { double align; void *pointer; char bytes[1024]; } options;
  if (!table->defaults || table->size > sizeof options || o->type >= BERTH_OPTION_NUMBERS)
    return false;
  memset(&options, 0, sizeof options);
  table->defaults(&options);
  *out = number_of(o, &options);
  return true;
}

bool berth_i_option_is_default(const berth_option_table *table, const berth_option *o,
                               const void *options) {
  double x;
  return !default_number(table, o, &x) || number_of(o, options) == x;
}

const char *berth_option_default(const berth_option_table *table, const berth_option *o, char *buf,
                                 size_t size) {
  if (o->fallback) return o->fallback;
  double x;
  if (!default_number(table, o, &x)) return copy("none", buf, size);
  if (o->type == BERTH_OPTION_FLAG) return copy(x != 0 ? "true" : "false", buf, size);
  if (o->type == BERTH_OPTION_QUANTITY) return berth_quantity_format(x, o->unit, buf, size);
  if (o->type == BERTH_OPTION_CHOICE)
    return copy(x >= 0 && x < count(o->choices) ? o->choices[(int)x]->name : "none", buf, size);
  berth_snprintf(buf, size, "%.12g", x);
  return buf;
}
