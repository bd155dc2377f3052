/* Collecting a graph: each row is checked, then appended to columns. A column begins to exist with
 * the first value that differs from its blank; texts are interned. Amortised O(1) a row. */
#include "base/utf8.h"
#include "builder_internal.h"

#include <stdio.h>

enum { FIRST_ROOM = 16 };

/* One field of the row to be added. */
typedef struct cell {
  int column;
  const void *value; /* NULL: blank */
  bool blank;        /* does not bring the column into being */
} cell;

static void init_column(berth_i_column *c, size_t width, int blank) {
  *c = (berth_i_column){ .width = width, .blank = blank };
}

static void init_columns(berth_graph_builder *b) {
  berth_i_column *c = b->column;
  init_column(&c[BERTH_I_SECONDS], sizeof(double), 0xff);
  for (int k = BERTH_I_FLOP; k <= BERTH_I_WORKSPACE; k++) init_column(&c[k], sizeof(double), 0);
  init_column(&c[BERTH_I_SHAPE], sizeof(berth_shape), 0);
  for (int k = BERTH_I_GROUP; k <= BERTH_I_PIN; k++) init_column(&c[k], sizeof(int32_t), 0xff);
  init_column(&c[BERTH_I_FLAGS], sizeof(uint8_t), 0);
  init_column(&c[BERTH_I_NAME], sizeof(int32_t), 0xff);
  init_column(&c[BERTH_I_KIND], sizeof(int32_t), 0xff);
  init_column(&c[BERTH_I_PRODUCER], sizeof(int32_t), 0);
  init_column(&c[BERTH_I_TENSOR_BYTES], sizeof(double), 0);
  init_column(&c[BERTH_I_RESIDENT], sizeof(double), 0);
  init_column(&c[BERTH_I_TENSOR_FLAGS], sizeof(uint8_t), 0);
  init_column(&c[BERTH_I_EDGE_TENSOR], sizeof(int32_t), 0);
  init_column(&c[BERTH_I_EDGE_OP], sizeof(int32_t), 0);
  init_column(&c[BERTH_I_COLLECTIVES], sizeof(berth_collective), 0);
  init_column(&c[BERTH_I_COLL_OPS], sizeof(int32_t), 0);
}

void berth_i_builder_reset(berth_graph_builder *b) {
  berth_i_pool none = berth_i_pool_empty(b->ctx);
  *b = (berth_graph_builder){ .ctx = b->ctx, .columns = none, .edges = none, .n_types = 1 };
  init_columns(b);
}

size_t berth_i_builder_rows(const berth_graph_builder *b, int column) {
  if (column <= BERTH_I_KIND) return (size_t)b->n_ops;
  if (column <= BERTH_I_TENSOR_FLAGS) return (size_t)b->n_tensors;
  if (column <= BERTH_I_EDGE_OP) return (size_t)b->n_edges;
  return column == BERTH_I_COLLECTIVES ? (size_t)b->n_collectives : b->n_coll_ops;
}

berth_status berth_graph_builder_new(berth_ctx *ctx, berth_graph_builder **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_graph_builder *b = berth_i_alloc(ctx, 1, sizeof *b);
  if (!b) return berth_i_nomem(ctx);
  b->ctx = ctx;
  berth_i_builder_reset(b);
  berth_ctx_retain(ctx);
  *out = b;
  return BERTH_OK;
}

void berth_graph_builder_release(berth_graph_builder *b) {
  if (!b) return;
  berth_ctx *ctx = b->ctx;
  berth_i_pool_free(&b->columns);
  berth_i_pool_free(&b->edges);
  berth_i_names_release(ctx, &b->names);
  berth_i_names_release(ctx, &b->kinds);
  berth_i_free(ctx, b, 1, sizeof *b);
  berth_ctx_release(ctx);
}

/* ---- columns ---- */

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

bool berth_i_builder_resize(berth_graph_builder *b, int column, size_t cap) {
  berth_i_column *c = &b->column[column];
  bool is_edge = column == BERTH_I_EDGE_TENSOR || column == BERTH_I_EDGE_OP;
  void *data =
      berth_i_pool_realloc(is_edge ? &b->edges : &b->columns, c->data, c->cap, cap, c->width);
  if (!data) return false;
  c->data = data;
  c->cap = cap;
  return true;
}

/* The residency of a tensor is its bytes unless given; all other blanks are one repeated
 * byte. */
static void fill_blank(berth_graph_builder *b, int column, size_t rows) {
  berth_i_column *c = &b->column[column];
  if (rows == 0) return;
  if (column == BERTH_I_RESIDENT) {
    memcpy(c->data, b->column[BERTH_I_TENSOR_BYTES].data, rows * c->width);
  } else {
    memset(c->data, c->blank, rows * c->width);
  }
}

static size_t comfortable_cap(const berth_i_column *c, size_t need) {
  return max_size(max_size(need, c->hint), max_size(c->cap + c->cap / 2, FIRST_ROOM));
}

/* Room for `more` rows after the present ones. Grows by half, so that the peak stays near the
 * contents. */
static berth_status make_room(berth_graph_builder *b, int column, size_t more) {
  berth_i_column *c = &b->column[column];
  size_t rows = berth_i_builder_rows(b, column), need = rows + more;
  bool fresh = !c->data;
  if (!fresh && need <= c->cap) return BERTH_OK;
  if (!berth_i_builder_resize(b, column, comfortable_cap(c, need))
      && !berth_i_builder_resize(b, column, need))
    return berth_i_nomem(b->ctx);
  if (fresh) fill_blank(b, column, rows);
  return BERTH_OK;
}

static void write_cell(berth_graph_builder *b, const cell *x) {
  berth_i_column *c = &b->column[x->column];
  char *at = (char *)c->data + berth_i_builder_rows(b, x->column) * c->width;
  if (x->value) {
    memcpy(at, x->value, c->width);
  } else {
    memset(at, c->blank, c->width);
  }
}

static berth_status make_room_for_row(berth_graph_builder *b, const cell *row, int n) {
  berth_status st;
  for (int k = 0; k < n; k++) {
    if (row[k].blank && !b->column[row[k].column].data) continue;
    if ((st = make_room(b, row[k].column, 1)) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

/* Needs the room; the caller counts the row. */
static void write_row(berth_graph_builder *b, const cell *row, int n) {
  for (int k = 0; k < n; k++) {
    if (b->column[row[k].column].data) write_cell(b, &row[k]);
  }
}

/* ---- checks ---- */

/* What a message is about. It is put into words on failure only: that would take longer than adding
 * an op. */
typedef struct subject {
  const char *noun;
  int32_t id;
  const char *name;
} subject;

static berth_status refuse(berth_ctx *ctx, subject s, const char *format, ...) BERTH_PRINTF(3, 4);
static berth_status refuse(berth_ctx *ctx, subject s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char text[160];
  berth_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  char label[96];
  if (s.name) {
    berth_i_label(s.id, s.name, label, sizeof label);
  } else {
    snprintf(label, sizeof label, "%s %ld", s.noun, (long)s.id);
  }
  return berth_i_fail(ctx, BERTH_EINVAL, "%s: %s", label, text);
}

static berth_status check_amount(berth_ctx *ctx, subject s, const char *what, double x,
                                 const char *unit) {
  if (isnan(x)) return refuse(ctx, s, "%s is not a number", what);
  if (x < 0) return refuse(ctx, s, "%s %g %s is negative", what, x, unit);
  if (isinf(x)) return refuse(ctx, s, "%s is infinite", what);
  return BERTH_OK;
}

static berth_status check_seconds(berth_graph_builder *b, subject s, const double *seconds) {
  berth_status st;
  for (int32_t k = 0; seconds && k < b->n_types; k++) {
    if (seconds[k] == BERTH_UNSUPPORTED) continue;
    if ((st = check_amount(b->ctx, s, "time", seconds[k], "s")) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status check_link(berth_ctx *ctx, subject s, const char *what, int32_t id) {
  if (id >= BERTH_NONE && id < INT32_MAX) return BERTH_OK;
  return refuse(ctx, s, "%s %ld is out of range", what, (long)id);
}

static berth_status check_flags(berth_ctx *ctx, subject s, uint32_t flags, uint32_t known) {
  if (!(flags & ~known)) return BERTH_OK;
  return refuse(ctx, s, "unknown flags 0x%lx", (unsigned long)(flags & ~known));
}

static berth_status check_count(berth_ctx *ctx, const char *what, size_t n, size_t more) {
  if (n < INT32_MAX && more < (size_t)INT32_MAX - n) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "too many %s: %zu and %zu more", what, n, more);
}

static berth_status check_op_exists(berth_graph_builder *b, subject s, const char *what,
                                    int32_t op) {
  if (op >= 0 && op < b->n_ops) return BERTH_OK;
  return refuse(b->ctx, s, "%s op %ld does not exist (there are %ld ops)", what, (long)op,
                (long)b->n_ops);
}

static berth_status check_op(berth_graph_builder *b, const berth_op *op) {
  const uint32_t known =
      BERTH_OP_BACKWARD | BERTH_OP_UPDATE | BERTH_OP_SPLITTABLE | BERTH_OP_COMMUNICATION;
  const subject s = { "op", b->n_ops, op->name };
  berth_ctx *ctx = b->ctx;
  berth_status st;
  if ((st = check_seconds(b, s, op->seconds)) != BERTH_OK) return st;
  if ((st = check_amount(ctx, s, "work", op->flop, "FLOP")) != BERTH_OK) return st;
  if ((st = check_amount(ctx, s, "memory traffic", op->bytes, "B")) != BERTH_OK) return st;
  if ((st = check_amount(ctx, s, "parameter size", op->param_bytes, "B")) != BERTH_OK) return st;
  if ((st = check_amount(ctx, s, "workspace size", op->workspace_bytes, "B")) != BERTH_OK)
    return st;
  char wrong[160];
  if (op->shape && berth_i_shape_error(op->shape, op->flop, wrong, sizeof wrong))
    return refuse(ctx, s, "%s", wrong);
  if ((st = check_link(ctx, s, "group", op->group)) != BERTH_OK) return st;
  if ((st = check_link(ctx, s, "twin", op->twin)) != BERTH_OK) return st;
  if ((st = check_link(ctx, s, "pin", op->pin)) != BERTH_OK) return st;
  if ((st = check_flags(ctx, s, op->flags, known)) != BERTH_OK) return st;
  return check_count(ctx, "ops", (size_t)b->n_ops, 1);
}

static berth_status check_tensor(berth_graph_builder *b, const berth_tensor *t) {
  const subject s = { "tensor", b->n_tensors, NULL };
  berth_status st;
  if ((st = check_op_exists(b, s, "producer", t->producer)) != BERTH_OK) return st;
  if ((st = check_amount(b->ctx, s, "size", t->bytes, "B")) != BERTH_OK) return st;
  if (!(t->resident_bytes < 0)) { /* NaN, too */
    if ((st = check_amount(b->ctx, s, "resident size", t->resident_bytes, "B")) != BERTH_OK)
      return st;
  }
  if ((st = check_flags(b->ctx, s, t->flags, BERTH_TENSOR_BATCH | BERTH_TENSOR_GRADIENT))
      != BERTH_OK)
    return st;
  return check_count(b->ctx, "tensors", (size_t)b->n_tensors, 1);
}

static berth_status check_edge(berth_graph_builder *b, int32_t tensor, int32_t op) {
  const subject s = { "tensor", tensor, NULL };
  berth_status st = check_op_exists(b, s, "consumer", op);
  return st != BERTH_OK ? st : check_count(b->ctx, "edges", (size_t)b->n_edges, 1);
}

static berth_status check_op_list(berth_graph_builder *b, subject s, const char *what, int32_t n,
                                  const int32_t *ops) {
  if (n < 0) return refuse(b->ctx, s, "number of %ss %ld is negative", what, (long)n);
  if (n > 0 && !ops) return refuse(b->ctx, s, "%ld %ss, but no list of them", (long)n, what);
  berth_status st;
  for (int32_t k = 0; k < n; k++) {
    if ((st = check_op_exists(b, s, what, ops[k])) != BERTH_OK) return st;
  }
  return BERTH_OK;
}

static berth_status check_collective(berth_graph_builder *b, const berth_collective *c) {
  const subject s = { "collective", b->n_collectives, NULL };
  berth_ctx *ctx = b->ctx;
  if ((int)c->kind < BERTH_ALLREDUCE || (int)c->kind > BERTH_PARAMETER_SERVER)
    return refuse(ctx, s, "unknown kind %d", (int)c->kind);
  berth_status st;
  if ((st = check_amount(ctx, s, "size", c->bytes, "B")) != BERTH_OK) return st;
  if (c->count < 1) return refuse(ctx, s, "count %ld is below 1", (long)c->count);
  if (c->n_members < 1) return refuse(ctx, s, "%ld members, needs 1 or more", (long)c->n_members);
  if ((st = check_op_list(b, s, "member", c->n_members, c->members)) != BERTH_OK) return st;
  if ((st = check_op_list(b, s, "consumer", c->n_consumers, c->consumers)) != BERTH_OK) return st;
  /* _finish needs two stamps for each */
  if ((st = check_count(ctx, "collectives", 2 * (size_t)b->n_collectives, 2)) != BERTH_OK)
    return st;
  return check_count(ctx, "members and consumers of collectives", b->n_coll_ops,
                     (size_t)c->n_members + (size_t)c->n_consumers);
}

/* ---- adding ---- */

static berth_status check_types(berth_graph_builder *b, int32_t n, const char *const *names) {
  if (b->n_ops > 0)
    return berth_i_fail(b->ctx, BERTH_EINVAL, "device types must be named before the first op");
  if (n < 1)
    return berth_i_fail(b->ctx, BERTH_EINVAL, "%ld device types, needs 1 or more", (long)n);
  for (int32_t i = 0; i < n; i++) {
    if (!names[i] || (n > 1 && !*names[i]))
      return berth_i_fail(b->ctx, BERTH_EINVAL, "device type %ld has no name", (long)i);
    if (berth_i_utf8_error(names[i]))
      return berth_i_fail(b->ctx, BERTH_EINVAL, "device type %ld: the name is not UTF-8", (long)i);
    for (int32_t k = 0; k < i; k++) {
      if (strcmp(names[i], names[k]) == 0) {
        return berth_i_fail(b->ctx, BERTH_EINVAL, "device type \"%s\" is named twice", names[i]);
      }
    }
  }
  return BERTH_OK;
}

berth_status berth_graph_builder_types(berth_graph_builder *b, int32_t n,
                                       const char *const *names) {
  if (!b) return BERTH_EINVAL;
  berth_status st;
  if ((st = check_types(b, n, names)) != BERTH_OK) return st;
  char **types;
  if ((st = berth_i_types_copy(&b->columns, n, names, &types)) != BERTH_OK) return st;
  b->column[BERTH_I_SECONDS].data = NULL; /* may exist, without rows, after a refused allocation */
  b->column[BERTH_I_SECONDS].cap = 0;
  b->column[BERTH_I_SECONDS].width = (size_t)n * sizeof(double);
  b->types = types;
  b->n_types = n;
  return BERTH_OK;
}

berth_status berth_graph_builder_name(berth_graph_builder *b, const char *name) {
  if (!b) return BERTH_EINVAL;
  char *copy = NULL;
  if (name && berth_i_utf8_error(name))
    return berth_i_fail(b->ctx, BERTH_EINVAL, "the graph's name is not UTF-8");
  if (name && *name && !(copy = berth_i_pool_strdup(&b->columns, name)))
    return berth_i_pool_status(&b->columns);
  b->name = copy;
  return BERTH_OK;
}

berth_status berth_graph_builder_dtype(berth_graph_builder *b, const char *dtype) {
  static const char *const known[] = { "fp64", "fp32", "tf32", "bf16", "fp16" };
  enum { KNOWN = sizeof known / sizeof *known };
  if (!b) return BERTH_EINVAL;
  const char *found = NULL;
  for (int k = 0; dtype && k < KNOWN; k++)
    if (strcmp(dtype, known[k]) == 0) found = known[k];
  if (dtype && *dtype && !found) {
    char legal[100];
    berth_names_text(dtype, known, KNOWN, NULL, legal, sizeof legal);
    return berth_i_fail(b->ctx, BERTH_EINVAL, "no dtype \"%s\" (legal: %s)", dtype, legal);
  }
  b->dtype = found;
  return BERTH_OK;
}

void berth_graph_builder_unitless(berth_graph_builder *b, int unitless) {
  if (b) b->unitless = unitless != 0;
}

void berth_i_builder_describe(berth_graph_builder *b, const berth_graph *g) {
  b->dtype = g->dtype;
  b->unitless = g->unitless;
}

static berth_status reserve_rows(berth_graph_builder *b, int column, size_t rows) {
  size_t present = berth_i_builder_rows(b, column);
  return rows > present ? make_room(b, column, rows - present) : BERTH_OK;
}

/* Columns that may stay away get the hint only. */
berth_status berth_graph_builder_reserve(berth_graph_builder *b, int32_t ops, int32_t tensors,
                                         int32_t edges) {
  if (!b) return BERTH_EINVAL;
  if (ops < 0 || tensors < 0 || edges < 0) {
    return berth_i_fail(b->ctx, BERTH_EINVAL,
                        "capacity of %ld ops, %ld tensors, %ld edges is negative", (long)ops,
                        (long)tensors, (long)edges);
  }
  for (int k = 0; k <= BERTH_I_KIND; k++) b->column[k].hint = (size_t)ops;
  for (int k = BERTH_I_PRODUCER; k <= BERTH_I_TENSOR_FLAGS; k++)
    b->column[k].hint = (size_t)tensors;
  berth_status st;
  if ((st = reserve_rows(b, BERTH_I_PRODUCER, (size_t)tensors)) != BERTH_OK) return st;
  if ((st = reserve_rows(b, BERTH_I_TENSOR_BYTES, (size_t)tensors)) != BERTH_OK) return st;
  if ((st = reserve_rows(b, BERTH_I_EDGE_TENSOR, (size_t)edges)) != BERTH_OK) return st;
  return reserve_rows(b, BERTH_I_EDGE_OP, (size_t)edges);
}

berth_op berth_op_default(void) {
  return (berth_op){ .group = BERTH_NONE, .twin = BERTH_NONE, .pin = BERTH_NONE };
}

static berth_status check_text(berth_ctx *ctx, subject s, const char *what, const char *text) {
  const char *wrong = text ? berth_i_utf8_error(text) : NULL;
  if (!wrong) return BERTH_OK;
  s.name = NULL;
  return refuse(ctx, s, "%s is not UTF-8: byte 0x%02x at %zu", what,
                (unsigned)(unsigned char)*wrong, (size_t)(wrong - text) + 1);
}

static berth_status intern(berth_ctx *ctx, berth_i_names *names, const char *text, int32_t *id) {
  *id = BERTH_NONE;
  return text && *text ? berth_i_names_add(ctx, names, text, id) : BERTH_OK;
}

static berth_status check_texts(berth_graph_builder *b, const berth_op *op) {
  const subject s = { "op", b->n_ops, NULL };
  berth_status st = check_text(b->ctx, s, "the name", op->name);
  return st == BERTH_OK ? check_text(b->ctx, s, "the kind", op->kind) : st;
}

berth_status berth_graph_builder_add_op(berth_graph_builder *b, const berth_op *op, int32_t *id) {
  if (!b) return BERTH_EINVAL;
  int32_t name, kind;
  uint8_t flags = (uint8_t)op->flags;
  berth_status st;
  const cell row[] = {
    { BERTH_I_SECONDS, op->seconds, !op->seconds },
    { BERTH_I_FLOP, &op->flop, op->flop == 0 },
    { BERTH_I_BYTES, &op->bytes, op->bytes == 0 },
    { BERTH_I_PARAM, &op->param_bytes, op->param_bytes == 0 },
    { BERTH_I_WORKSPACE, &op->workspace_bytes, op->workspace_bytes == 0 },
    { BERTH_I_SHAPE, op->shape, !op->shape },
    { BERTH_I_GROUP, &op->group, op->group == BERTH_NONE },
    { BERTH_I_TWIN, &op->twin, op->twin == BERTH_NONE },
    { BERTH_I_PIN, &op->pin, op->pin == BERTH_NONE },
    { BERTH_I_FLAGS, &flags, flags == 0 },
    { BERTH_I_NAME, &name, !op->name || !*op->name },
    { BERTH_I_KIND, &kind, !op->kind || !*op->kind },
  };
  const int n = (int)(sizeof row / sizeof *row);
  if ((st = check_op(b, op)) != BERTH_OK) return st;
  if ((st = check_texts(b, op)) != BERTH_OK) return st;
  if ((st = make_room_for_row(b, row, n)) != BERTH_OK) return st;
  if ((st = intern(b->ctx, &b->names, op->name, &name)) != BERTH_OK) return st;
  if ((st = intern(b->ctx, &b->kinds, op->kind, &kind)) != BERTH_OK) return st;
  write_row(b, row, n);
  if (op->group >= b->n_groups) b->n_groups = op->group + 1;
  if (id) *id = b->n_ops;
  b->n_ops++;
  return BERTH_OK;
}

/* Needs a checked tensor. */
static berth_status append_tensor(berth_graph_builder *b, const berth_tensor *t, int32_t *id) {
  double resident = t->resident_bytes < 0 ? t->bytes : t->resident_bytes;
  uint8_t flags = (uint8_t)t->flags;
  const cell row[] = {
    { BERTH_I_PRODUCER, &t->producer, false },
    { BERTH_I_TENSOR_BYTES, &t->bytes, false },
    { BERTH_I_RESIDENT, &resident, resident == t->bytes },
    { BERTH_I_TENSOR_FLAGS, &flags, flags == 0 },
  };
  const int n = (int)(sizeof row / sizeof *row);
  berth_status st;
  if ((st = make_room_for_row(b, row, n)) != BERTH_OK) return st;
  write_row(b, row, n);
  if (id) *id = b->n_tensors;
  b->n_tensors++;
  return BERTH_OK;
}

static berth_status make_room_for_edge(berth_graph_builder *b) {
  berth_status st = make_room(b, BERTH_I_EDGE_TENSOR, 1);
  return st != BERTH_OK ? st : make_room(b, BERTH_I_EDGE_OP, 1);
}

static void append_edge(berth_graph_builder *b, int32_t tensor, int32_t op) {
  ((int32_t *)b->column[BERTH_I_EDGE_TENSOR].data)[b->n_edges] = tensor;
  ((int32_t *)b->column[BERTH_I_EDGE_OP].data)[b->n_edges] = op;
  b->n_edges++;
}

berth_status berth_graph_builder_add_tensor(berth_graph_builder *b, const berth_tensor *t,
                                            int32_t *id) {
  if (!b) return BERTH_EINVAL;
  berth_status st = check_tensor(b, t);
  return st != BERTH_OK ? st : append_tensor(b, t, id);
}

berth_status berth_graph_builder_add_consumer(berth_graph_builder *b, int32_t tensor, int32_t op) {
  if (!b) return BERTH_EINVAL;
  if (tensor < 0 || tensor >= b->n_tensors) {
    return berth_i_fail(b->ctx, BERTH_EINVAL, "tensor %ld does not exist (there are %ld tensors)",
                        (long)tensor, (long)b->n_tensors);
  }
  berth_status st;
  if ((st = check_edge(b, tensor, op)) != BERTH_OK) return st;
  if ((st = make_room_for_edge(b)) != BERTH_OK) return st;
  append_edge(b, tensor, op);
  return BERTH_OK;
}

berth_status berth_graph_builder_connect(berth_graph_builder *b, int32_t src, int32_t dst,
                                         double bytes, int32_t *tensor) {
  if (!b) return BERTH_EINVAL;
  const berth_tensor t = { .producer = src, .bytes = bytes, .resident_bytes = -1 };
  berth_status st;
  if ((st = check_tensor(b, &t)) != BERTH_OK) return st;
  if ((st = check_edge(b, b->n_tensors, dst)) != BERTH_OK) return st;
  if ((st = make_room_for_edge(b)) != BERTH_OK) return st;
  int32_t id;
  if ((st = append_tensor(b, &t, &id)) != BERTH_OK) return st;
  append_edge(b, id, dst);
  if (tensor) *tensor = id;
  return BERTH_OK;
}

static void append_coll_ops(berth_graph_builder *b, int32_t n, const int32_t *ops) {
  int32_t *all = b->column[BERTH_I_COLL_OPS].data;
  if (n > 0) memcpy(all + b->n_coll_ops, ops, (size_t)n * sizeof *ops);
  b->n_coll_ops += (size_t)n;
}

berth_status berth_graph_builder_add_collective(berth_graph_builder *b, const berth_collective *c,
                                                int32_t *id) {
  if (!b) return BERTH_EINVAL;
  berth_collective own = *c;
  berth_status st;
  if ((st = check_collective(b, c)) != BERTH_OK) return st;
  if ((st = make_room(b, BERTH_I_COLL_OPS, (size_t)c->n_members + (size_t)c->n_consumers))
      != BERTH_OK)
    return st;
  if ((st = make_room(b, BERTH_I_COLLECTIVES, 1)) != BERTH_OK) return st;
  own.members = own.consumers = NULL;
  ((berth_collective *)b->column[BERTH_I_COLLECTIVES].data)[b->n_collectives] = own;
  append_coll_ops(b, c->n_members, c->members);
  append_coll_ops(b, c->n_consumers, c->consumers);
  if (id) *id = b->n_collectives;
  b->n_collectives++;
  return BERTH_OK;
}
