/* Reading a finished graph: sizes, names, one op, tensor or collective; its release. */
#include "builder_internal.h"

#include <stdio.h>

/* ---- device types ---- */

berth_status berth_i_types_copy(berth_i_pool *pool, int32_t n, const char *const *names,
                                char ***out) {
  char **types = berth_i_pool_alloc(pool, (size_t)n, sizeof *types);
  for (int32_t k = 0; types && k < n; k++) types[k] = berth_i_pool_strdup(pool, names[k]);
  berth_status st;
  if ((st = berth_i_pool_status(pool)) == BERTH_OK) *out = types;
  return st;
}

/* ---- the end of a graph ---- */

void berth_graph_retain(berth_graph *g) { g->refs++; }

void berth_graph_release(berth_graph *g) {
  if (!g || --g->refs > 0) return;
  berth_ctx *ctx = g->ctx;
  berth_i_names_release(ctx, &g->names);
  berth_i_names_release(ctx, &g->kinds);
  berth_i_pool_free(&g->columns);
  berth_i_pool_free(&g->pool);
  berth_ctx_release(ctx);
}

/* ---- sizes and names ---- */

const char *berth_graph_name(const berth_graph *g) { return g->name ? g->name : ""; }
const char *berth_graph_dtype(const berth_graph *g) { return g->dtype ? g->dtype : ""; }
int berth_graph_unitless(const berth_graph *g) { return g->unitless; }
int32_t berth_graph_ops(const berth_graph *g) { return g->n_ops; }
int32_t berth_graph_tensors(const berth_graph *g) { return g->n_tensors; }
int32_t berth_graph_edges(const berth_graph *g) { return g->n_edges; }

int32_t berth_graph_untimed(const berth_graph *g, int32_t *first) {
  int32_t n = 0, lowest = BERTH_NONE;
  for (int32_t k = 0; k < g->n_ops; k++) {
    bool timed = g->seconds && !isnan(g->seconds[(size_t)k * (size_t)g->n_types]);
    if (timed || (g->flop && g->flop[k] > 0) || (g->bytes && g->bytes[k] > 0)) continue;
    if (n++ == 0) lowest = k;
  }
  if (first) *first = lowest;
  return n;
}
int32_t berth_graph_collectives(const berth_graph *g) { return g->n_collectives; }
int32_t berth_graph_groups(const berth_graph *g) { return g->n_groups; }
int32_t berth_graph_types(const berth_graph *g) { return g->n_types; }

const char *berth_graph_type(const berth_graph *g, int32_t type) {
  return type >= 0 && type < g->n_types ? g->types[type] : NULL;
}

static const char *op_text(const int32_t *column, const berth_i_names *texts, int32_t op) {
  return column && column[op] != BERTH_NONE ? texts->text[column[op]] : NULL;
}

/* Length of the longest prefix of at most `most` bytes that does not end within a UTF-8
 * sequence. */
static size_t whole_prefix(const char *text, size_t most) {
  while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) most--;
  return most;
}

const char *berth_i_label(int32_t op, const char *name, char *buf, size_t size) {
  const size_t frame = sizeof "op 2147483647 \"...\"", room = size - frame;
  if (!name || !*name) {
    snprintf(buf, size, "op %ld", (long)op);
  } else if (strlen(name) <= room) {
    snprintf(buf, size, "op %ld \"%s\"", (long)op, name);
  } else {
    snprintf(buf, size, "op %ld \"%.*s...\"", (long)op, (int)whole_prefix(name, room), name);
  }
  return buf;
}

const char *berth_i_op_label(const berth_graph *g, int32_t op, char *buf, size_t size) {
  return berth_i_label(op, op >= 0 && op < g->n_ops ? op_text(g->op_name, &g->names, op) : NULL,
                       buf, size);
}

static int32_t find_from(const berth_graph *g, int32_t name, int32_t op) {
  while (op < g->n_ops && g->op_name[op] != name) op++;
  return op;
}

int32_t berth_graph_find(const berth_graph *g, const char *name) {
  int32_t id = name && *name && g->op_name ? berth_i_names_find(&g->names, name) : BERTH_NONE;
  if (id == BERTH_NONE) return BERTH_NONE;
  int32_t op = find_from(g, id, 0);
  return op < g->n_ops && find_from(g, id, op + 1) == g->n_ops ? op : BERTH_NONE;
}

/* ---- one of each ---- */

static berth_status check_id(const berth_graph *g, const char *what, int32_t id, int32_t n) {
  if (id >= 0 && id < n) return BERTH_OK;
  return berth_i_fail(g->ctx, BERTH_EINVAL, "%s %ld does not exist (there are %ld)", what, (long)id,
                      (long)n);
}

static double number(const double *column, int32_t op) { return column ? column[op] : 0; }

static const double *profile(const berth_graph *g, int32_t op) {
  const double *seconds = g->seconds ? g->seconds + (size_t)op * (size_t)g->n_types : NULL;
  return seconds && !isnan(*seconds) ? seconds : NULL;
}

berth_status berth_graph_op(const berth_graph *g, int32_t op, berth_op *out) {
  if (!g) return BERTH_EINVAL;
  berth_status st = check_id(g, "op", op, g->n_ops);
  if (st != BERTH_OK) return st;
  *out = (berth_op){
    .name = op_text(g->op_name, &g->names, op),
    .kind = op_text(g->op_kind, &g->kinds, op),
    .seconds = profile(g, op),
    .flop = number(g->flop, op),
    .bytes = number(g->bytes, op),
    .param_bytes = berth_i_param(g, op),
    .workspace_bytes = berth_i_workspace(g, op),
    .shape = berth_i_shape(g, op),
    .group = berth_i_group(g, op),
    .twin = berth_i_twin(g, op),
    .pin = berth_i_pin(g, op),
    .flags = g->flags ? g->flags[op] : 0,
  };
  return BERTH_OK;
}

berth_status berth_graph_tensor(const berth_graph *g, int32_t tensor, berth_tensor *out) {
  if (!g) return BERTH_EINVAL;
  berth_status st = check_id(g, "tensor", tensor, g->n_tensors);
  if (st != BERTH_OK) return st;
  *out = (berth_tensor){
    .producer = g->producer[tensor],
    .bytes = g->tensor_bytes[tensor],
    .resident_bytes = berth_i_resident(g, tensor),
    .flags = g->tensor_flags ? g->tensor_flags[tensor] : 0,
  };
  return BERTH_OK;
}

berth_status berth_graph_collective(const berth_graph *g, int32_t collective,
                                    berth_collective *out) {
  if (!g) return BERTH_EINVAL;
  berth_status st = check_id(g, "collective", collective, g->n_collectives);
  if (st == BERTH_OK) *out = g->collectives[collective];
  return st;
}

static int32_t slice(const int32_t *at, const int32_t *list, int32_t id, int32_t n,
                     const int32_t **out) {
  bool known = id >= 0 && id < n;
  if (out) *out = known ? list + at[id] : NULL;
  return known ? at[id + 1] - at[id] : 0;
}

int32_t berth_graph_inputs(const berth_graph *g, int32_t op, const int32_t **tensors) {
  return slice(g->in_at, g->in, op, g->n_ops, tensors);
}

int32_t berth_graph_outputs(const berth_graph *g, int32_t op, const int32_t **tensors) {
  return slice(g->out_at, g->out, op, g->n_ops, tensors);
}

int32_t berth_graph_consumers(const berth_graph *g, int32_t tensor, const int32_t **ops) {
  return slice(g->use_at, g->use, tensor, g->n_tensors, ops);
}
