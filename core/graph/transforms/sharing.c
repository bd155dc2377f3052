/* Sets of ops that are to share a device: disjoint sets (union-find) whose roots hold sums of
 * bytes, times and counts, and common pins and types; two sets join only if the result may still
 * run somewhere and keeps the limits. */
#include "base/sort_internal.h"
#include "transform_internal.h"

berth_share_options berth_share_default(void) {
  return (berth_share_options){
    .max_ops = INT32_MAX, .max_bytes = INFINITY, .param_multiple = 1, .max_seconds = INFINITY
  };
}

/* ---- options ---- */

static void set_defaults(void *out) { *(berth_share_options *)out = berth_share_default(); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_share_options, name, kind)

const berth_option_table *berth_share_option_table(void) {
  static const berth_option options[] = {
    { FIELD(max_ops, WHOLE), .low = 1, .fallback = "no limit", .text = "most ops in one set" },
    { FIELD(max_bytes, QUANTITY), .unit = BERTH_BYTES, .high = INFINITY, .fallback = "no limit",
      .text = "most parameter bytes x param_multiple and output bytes in one set" },
    { FIELD(param_multiple, NUMBER),
      .text = "parameter bytes are multiplied by it (gradients, optimiser state)" },
    { FIELD(max_seconds, QUANTITY), .unit = BERTH_SECONDS, .high = INFINITY, .fallback = "no limit",
      .text = "greatest sum of op times in one set" },
    { FIELD(seconds, OTHER), .takes = "array", .fallback = "the times of the graph",
      .text = "op times that max_seconds adds up" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("share", options, berth_share_options, set_defaults);
}

static berth_status check_time(const berth_graph *g, const char *who, const berth_share_options *o,
                               int32_t op) {
  if (o->seconds ? o->seconds[op] >= 0 : berth_i_profile_of(g, op) != NULL) return BERTH_OK;
  char label[80];
  berth_i_op_label(g, op, label, sizeof label);
  if (o->seconds) {
    return berth_i_fail(g->ctx, BERTH_EINVAL, "%s: option seconds: %s: %g s is no time", who, label,
                        o->seconds[op]);
  }
  return berth_i_fail(g->ctx, BERTH_EINVAL,
                      "%s: option max_seconds: %s has no times in the graph: give option seconds",
                      who, label);
}

static berth_status check_devices(const berth_graph *g, const char *who,
                                  const berth_share_options *o) {
  if (o->n_devices < 0)
    return berth_i_fail(g->ctx, BERTH_EINVAL, "%s: %ld devices", who, (long)o->n_devices);
  for (int32_t d = 0; d < o->n_devices; d++) {
    if (o->device_type[d] >= BERTH_NONE && o->device_type[d] < g->n_types) continue;
    return berth_i_fail(g->ctx, BERTH_EINVAL,
                        "%s: device %ld: type %ld does not exist (there are %ld)", who, (long)d,
                        (long)o->device_type[d], (long)g->n_types);
  }
  char label[80];
  for (int32_t v = 0; o->n_devices > 0 && v < g->n_ops; v++) {
    if (berth_i_pin(g, v) < o->n_devices) continue;
    return berth_i_fail(g->ctx, BERTH_EINVAL, "%s: %s is pinned to device %ld, there are %ld", who,
                        berth_i_op_label(g, v, label, sizeof label), (long)berth_i_pin(g, v),
                        (long)o->n_devices);
  }
  return BERTH_OK;
}

static berth_status check_options(const berth_graph *g, const char *who,
                                  const berth_share_options *o) {
  berth_status st = berth_options_check(g->ctx, berth_share_option_table(), o);
  if (st != BERTH_OK) return st;
  for (int32_t v = 0; (o->seconds || !isinf(o->max_seconds)) && v < g->n_ops; v++) {
    if ((st = check_time(g, who, o, v)) != BERTH_OK) return st;
  }
  return check_devices(g, who, o);
}

/* ---- what an op is ---- */

static void set_bit(uint64_t *bits, int32_t k) { bits[k / 64] |= (uint64_t)1 << (k % 64); }

static bool is_any_type(const berth_graph *g) { return g->n_types == 1 && g->types[0][0] == '\0'; }

/* As cost prices: times hold on the types that the graph names; elsewhere, and without times, the
 * roofline does. */
static void set_types(const berth_i_sharing *s, int32_t op) {
  const berth_graph *g = s->g;
  const double *seconds = berth_i_profile_of(g, op);
  uint64_t *can = s->can + (size_t)op * (size_t)s->words;
  for (int32_t k = 0; k < g->n_types; k++) {
    if (!seconds || !isinf(seconds[k])) set_bit(can, k);
  }
  if (!is_any_type(g) && (!seconds || berth_i_has_rates(g, op))) set_bit(can, g->n_types);
}

static void set_present(const berth_i_sharing *s, uint64_t *present) {
  int32_t other = s->g->n_types;
  for (int32_t d = 0; d < s->o->n_devices; d++)
    set_bit(present, s->o->device_type[d] == BERTH_NONE ? other : s->o->device_type[d]);
}

static void keep_only(const berth_i_sharing *s, int32_t op, const uint64_t *bits) {
  for (int32_t k = 0; k < s->words; k++)
    s->can[(size_t)op * (size_t)s->words + (size_t)k] &= bits[k];
}

/* A pinned op runs on the type of its device only. `bits` is [words] of zeros and is left so. */
static void keep_pin_type(const berth_i_sharing *s, int32_t op, uint64_t *bits) {
  if (s->pin[op] == BERTH_NONE || s->o->n_devices == 0) return;
  int32_t type =
      s->o->device_type[s->pin[op]] == BERTH_NONE ? s->g->n_types : s->o->device_type[s->pin[op]];
  set_bit(bits, type);
  keep_only(s, op, bits);
  bits[type / 64] = 0;
}

static void set_runs(const berth_i_sharing *s, int32_t op) {
  const uint8_t *may = s->o->runs + (size_t)op * (size_t)s->o->n_devices;
  for (int32_t d = 0; d < s->o->n_devices; d++) {
    if (may[d] && (s->pin[op] == BERTH_NONE || s->pin[op] == d))
      set_bit(s->runs + (size_t)op * (size_t)s->run_words, d);
  }
}

static void set_bytes(const berth_i_sharing *s, int32_t op) {
  const berth_graph *g = s->g;
  s->bytes[op] = berth_i_param(g, op) * s->o->param_multiple;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++)
    s->bytes[op] += berth_i_resident(g, g->out[i]);
}

static void set_seconds(const berth_i_sharing *s, int32_t op) {
  const double *from = s->o->seconds ? s->o->seconds + op : berth_i_profile_of(s->g, op);
  memcpy(s->seconds + (size_t)op * (size_t)s->columns, from, (size_t)s->columns * sizeof *from);
}

/* @param bits [2 * words] zeros */
static void fill(berth_i_sharing *s, uint64_t *bits) {
  set_present(s, bits);
  for (int32_t v = 0; v < s->g->n_ops; v++) {
    s->parent[v] = v;
    s->size[v] = 1;
    s->pin[v] = berth_i_pin(s->g, v);
    set_types(s, v);
    if (s->o->n_devices > 0) keep_only(s, v, bits);
    keep_pin_type(s, v, bits + s->words);
    if (s->runs) set_runs(s, v);
    if (s->bytes) set_bytes(s, v);
    if (s->seconds) set_seconds(s, v);
  }
}

static berth_status alloc(berth_i_pool *pool, berth_i_sharing *s) {
  size_t n = (size_t)s->g->n_ops;
  s->parent = berth_i_pool_alloc(pool, n, sizeof *s->parent);
  s->size = berth_i_pool_alloc(pool, n, sizeof *s->size);
  s->pin = berth_i_pool_alloc(pool, n, sizeof *s->pin);
  s->can = berth_i_pool_zalloc(pool, n * (size_t)s->words, sizeof *s->can);
  if (s->o->runs) s->runs = berth_i_pool_zalloc(pool, n * (size_t)s->run_words, sizeof *s->runs);
  if (!isinf(s->o->max_bytes)) s->bytes = berth_i_pool_alloc(pool, n, sizeof *s->bytes);
  if (!isinf(s->o->max_seconds))
    s->seconds = berth_i_pool_alloc(pool, n * (size_t)s->columns, sizeof *s->seconds);
  return berth_i_pool_status(pool);
}

berth_status berth_i_sharing_init(const berth_graph *g, const char *who,
                                  const berth_share_options *o, berth_i_pool *pool,
                                  berth_i_sharing *s) {
  size_t words = (size_t)(g->n_types + 64) / 64;
  *s = (berth_i_sharing){
    .g = g, .o = o, .words = (int32_t)words, .columns = o->seconds ? 1 : g->n_types
  };
  berth_status st;
  if ((st = check_options(g, who, o)) != BERTH_OK) return st;
  s->run_words = o->n_devices / 64 + 1;
  uint64_t *bits;
  if (!(bits = berth_i_zalloc(g->ctx, 2 * words, sizeof *bits))) return berth_i_nomem(g->ctx);
  if ((st = alloc(pool, s)) == BERTH_OK) fill(s, bits);
  berth_i_free(g->ctx, bits, 2 * words, sizeof *bits);
  return st;
}

/* ---- joining ---- */

static bool share_a_bit(const uint64_t *bits, int32_t words, int32_t a, int32_t b) {
  const uint64_t *x = bits + (size_t)a * (size_t)words, *y = bits + (size_t)b * (size_t)words;
  int32_t k = 0;
  while (k < words && !(x[k] & y[k])) k++;
  return k < words;
}

static bool share_a_type(const berth_i_sharing *s, int32_t a, int32_t b) {
  return share_a_bit(s->can, s->words, a, b)
         && (!s->runs || share_a_bit(s->runs, s->run_words, a, b));
}

/* On the slowest type that can run both. */
static bool too_long(const berth_i_sharing *s, int32_t a, int32_t b) {
  const double *x = s->seconds + (size_t)a * (size_t)s->columns,
               *y = s->seconds + (size_t)b * (size_t)s->columns;
  double longest = 0;
  for (int32_t k = 0; k < s->columns; k++) {
    if (!isinf(x[k] + y[k])) longest = fmax(longest, x[k] + y[k]);
  }
  return longest > s->o->max_seconds;
}

static bool beyond_limit(const berth_i_sharing *s, int32_t a, int32_t b) {
  if (s->size[a] > s->o->max_ops - s->size[b]) return true;
  if (s->bytes && s->bytes[a] + s->bytes[b] > s->o->max_bytes) return true;
  return s->seconds && too_long(s, a, b);
}

berth_i_apart berth_i_sharing_apart(const berth_i_sharing *s, int32_t a, int32_t b) {
  if (s->pin[a] != BERTH_NONE && s->pin[b] != BERTH_NONE && s->pin[a] != s->pin[b])
    return BERTH_I_PINS;
  if (!share_a_type(s, a, b)) return BERTH_I_TYPES;
  return beyond_limit(s, a, b) ? BERTH_I_LIMIT : BERTH_I_TOGETHER;
}

static bool all_share_a_bit(const uint64_t *bits, int32_t words, int32_t n, const int32_t *roots) {
  for (int32_t k = 0; k < words; k++) {
    uint64_t common = ~(uint64_t)0;
    for (int32_t i = 0; i < n; i++) common &= bits[(size_t)roots[i] * (size_t)words + (size_t)k];
    if (common) return true;
  }
  return false;
}

static bool all_share_a_type(const berth_i_sharing *s, int32_t n, const int32_t *roots) {
  return all_share_a_bit(s->can, s->words, n, roots)
         && (!s->runs || all_share_a_bit(s->runs, s->run_words, n, roots));
}

bool berth_i_sharing_compatible(const berth_i_sharing *s, int32_t n, const int32_t *roots) {
  int32_t pin = BERTH_NONE;
  for (int32_t i = 0; i < n; i++) {
    int32_t own = s->pin[roots[i]];
    if (own != BERTH_NONE && pin != BERTH_NONE && own != pin) return false;
    if (own != BERTH_NONE) pin = own;
  }
  return all_share_a_type(s, n, roots);
}

int32_t berth_i_sharing_join(berth_i_sharing *s, int32_t a, int32_t b) {
  int32_t root = s->size[a] > s->size[b] || (s->size[a] == s->size[b] && a < b) ? a : b,
          other = root == a ? b : a;
  s->parent[other] = root;
  s->size[root] += s->size[other];
  if (s->pin[root] == BERTH_NONE) s->pin[root] = s->pin[other];
  keep_only(s, root, s->can + (size_t)other * (size_t)s->words);
  for (int32_t k = 0; s->runs && k < s->run_words; k++) {
    s->runs[(size_t)root * (size_t)s->run_words + (size_t)k] &=
        s->runs[(size_t)other * (size_t)s->run_words + (size_t)k];
  }
  if (s->bytes) s->bytes[root] += s->bytes[other];
  for (int32_t k = 0; s->seconds && k < s->columns; k++) {
    s->seconds[(size_t)root * (size_t)s->columns + (size_t)k] +=
        s->seconds[(size_t)other * (size_t)s->columns + (size_t)k];
  }
  return root;
}

berth_status berth_i_sharing_refuse(const berth_i_sharing *s, const char *who, int32_t a, int32_t b,
                                    berth_i_apart why) {
  char one[80];
  int32_t ra = berth_i_sharing_root(s, a), rb = berth_i_sharing_root(s, b);
  berth_i_op_label(s->g, a, one, sizeof one);
  char two[80];
  berth_i_op_label(s->g, b, two, sizeof two);
  if (why == BERTH_I_PINS) {
    return berth_i_fail(s->g->ctx, BERTH_EINVAL,
                        "%s: %s and %s must share a device, but one is bound to device %ld, the "
                        "other to device %ld",
                        who, one, two, (long)s->pin[ra], (long)s->pin[rb]);
  }
  return berth_i_fail(s->g->ctx, BERTH_EINFEASIBLE,
                      "%s: %s and %s must share a device, but no type of device can run both of "
                      "them and what belongs to them",
                      who, one, two);
}

typedef struct member {
  int32_t group, op;
} member;

BERTH_I_SORT(sort_by_group, member, BERTH_I_UP(group) BERTH_I_UP(op))

static size_t list_members(const berth_graph *g, member *list) {
  size_t n = 0;
  for (int32_t v = 0; v < g->n_ops; v++) {
    if (g->group[v] != BERTH_NONE) list[n++] = (member){ g->group[v], v };
  }
  sort_by_group(list, n);
  return n;
}

static berth_status join_members(berth_i_sharing *s, const char *who, bool strict, int32_t first,
                                 int32_t op) {
  int32_t a = berth_i_sharing_root(s, first), b = berth_i_sharing_root(s, op);
  if (a == b) return BERTH_OK;
  berth_i_apart why = berth_i_sharing_apart(s, a, b);
  if (strict && (why == BERTH_I_PINS || why == BERTH_I_TYPES))
    return berth_i_sharing_refuse(s, who, first, op, why);
  berth_i_sharing_join(s, a, b);
  return BERTH_OK;
}

/* Sorted, since group ids may be sparse. */
berth_status berth_i_sharing_join_groups(berth_i_sharing *s, const char *who, bool strict) {
  const berth_graph *g = s->g;
  berth_status st = BERTH_OK;
  if (!g->group) return BERTH_OK;
  member *list;
  if (!(list = berth_i_alloc(g->ctx, (size_t)g->n_ops, sizeof *list))) return berth_i_nomem(g->ctx);
  size_t n = list_members(g, list);
  for (size_t k = 1; k < n && st == BERTH_OK; k++) {
    if (list[k].group == list[k - 1].group)
      st = join_members(s, who, strict, list[k - 1].op, list[k].op);
  }
  berth_i_free(g->ctx, list, (size_t)g->n_ops, sizeof *list);
  return st;
}

berth_status berth_i_sharing_groups(const berth_i_sharing *s, int32_t *group) {
  int32_t n = 0, *number = berth_i_alloc(s->g->ctx, (size_t)s->g->n_ops, sizeof *number);
  if (!number) return berth_i_nomem(s->g->ctx);
  memset(number, 0xff, (size_t)s->g->n_ops * sizeof *number);
  for (int32_t v = 0; v < s->g->n_ops; v++) {
    int32_t root = berth_i_sharing_root(s, v);
    if (s->size[root] > 1 && number[root] == BERTH_NONE) number[root] = n++;
    group[v] = number[root];
  }
  berth_i_free(s->g->ctx, number, (size_t)s->g->n_ops, sizeof *number);
  return BERTH_OK;
}
