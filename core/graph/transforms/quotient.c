/* The graph that has one op for each set of ops: times, FLOP and parameters are summed, workspaces
 * are not (one op runs at a time), pins and groups are inherited; a tensor that leaves a set stays
 * one tensor, inner ones are dropped or become one. O(ops + edges). */
#include "transform_internal.h"
#include <stdio.h>

enum { NONE_YET = BERTH_NONE, SEVERAL = -2 };

/* What the ops of a set have in common. */
typedef struct common {
  int32_t size, first, last; /* in topological order */
  int32_t pin, group, twin;  /* twin: set; SEVERAL */
  uint32_t all, any;         /* flags */
  bool has_times, one_kind;
  double flop, bytes, param_bytes, workspace_bytes;
  const berth_shape *shape;  /* of the only op with FLOP or bytes */
  double inner;              /* resident bytes of tensors that are made and read within */
  uint32_t inner_all;        /* flags that these have */
} common;

typedef struct quotient {
  berth_i_pool pool;
  const berth_graph *g;
  int32_t n;
  const int32_t *map;
  berth_fuse_inner inner;
  common *set;       /* [n] */
  double *seconds;   /* [n * types] */
  int32_t *stamp_of; /* [n] stamp of the latest list that has the set */
  int32_t *list;     /* [most members or consumers of a collective] */
  char *name;
  size_t name_cap;
  berth_graph_builder *b;
} quotient;

/* ---- sets ---- */

static void start_sets(quotient *q) {
  for (int32_t k = 0; k < q->n; k++) {
    q->set[k] = (common){ .first = BERTH_NONE,
                          .pin = BERTH_NONE,
                          .group = BERTH_NONE,
                          .twin = NONE_YET,
                          .all = UINT32_MAX,
                          .one_kind = true,
                          .inner_all = UINT32_MAX };
  }
}

static int32_t kind_of(const berth_graph *g, int32_t op) {
  return g->op_kind ? g->op_kind[op] : BERTH_NONE;
}

static void add_times(quotient *q, int32_t k, int32_t op) {
  const double *seconds = berth_i_profile_of(q->g, op);
  int32_t types = q->g->n_types;
  if (!seconds) return;
  q->set[k].has_times = true;
  for (int32_t i = 0; i < types; i++)
    q->seconds[(size_t)k * (size_t)types + (size_t)i] += seconds[i];
}

static void add_member(quotient *q, int32_t op) {
  const berth_graph *g = q->g;
  common *x = &q->set[q->map[op]];
  x->size++;
  if (x->pin == BERTH_NONE) x->pin = berth_i_pin(g, op);
  if (x->group == BERTH_NONE) x->group = berth_i_group(g, op);
  x->all &= berth_i_flags(g, op);
  x->any |= berth_i_flags(g, op);
  if (berth_i_has_rates(g, op)) x->shape = x->flop + x->bytes > 0 ? NULL : berth_i_shape(g, op);
  if (g->flop) x->flop += g->flop[op];
  if (g->bytes) x->bytes += g->bytes[op];
  x->param_bytes += berth_i_param(g, op);
  x->workspace_bytes = fmax(x->workspace_bytes, berth_i_workspace(g, op));
  add_times(q, q->map[op], op);
}

/* Kahn's order of g. */
static void note_place(quotient *q, int32_t op) {
  common *x = &q->set[q->map[op]];
  if (x->first == BERTH_NONE) x->first = op;
  x->last = op;
  x->one_kind &= kind_of(q->g, op) == kind_of(q->g, x->first);
}

static void note_twin(quotient *q, int32_t op) {
  int32_t own = q->map[op], twin = berth_i_twin(q->g, op),
          other = twin == BERTH_NONE ? own : q->map[twin];
  common *x = &q->set[own];
  if (other == own || x->twin == other) return;
  x->twin = x->twin == NONE_YET ? other : SEVERAL;
}

/* Twins of twins: only where all twins of one set are in the other, and the other way round. */
static void match_twins(quotient *q) {
  for (int32_t k = 0; k < q->n; k++) {
    int32_t other = q->set[k].twin;
    if (other >= 0 && q->set[other].twin != k) q->set[k].twin = SEVERAL;
  }
}

/* A backward op that is fused with an optimiser step is no forward op. */
static uint32_t flags_of(const common *x, bool forward_inside) {
  const uint32_t pass = BERTH_OP_BACKWARD | BERTH_OP_UPDATE;
  return forward_inside
             ? x->all
             : (x->all & (BERTH_OP_SPLITTABLE | BERTH_OP_COMMUNICATION)) | (x->any & pass);
}

/* ---- tensors ---- */

static bool is_inner(const quotient *q, int32_t t) {
  const berth_graph *g = q->g;
  int32_t own = q->map[g->producer[t]];
  for (int32_t j = g->use_at[t]; j < g->use_at[t + 1]; j++) {
    if (q->map[g->use[j]] != own) return false;
  }
  return g->use_at[t] < g->use_at[t + 1];
}

static void absorb_tensor(quotient *q, int32_t t) {
  common *x = &q->set[q->map[q->g->producer[t]]];
  x->inner += berth_i_resident(q->g, t);
  x->inner_all &= q->g->tensor_flags ? q->g->tensor_flags[t] : 0;
}

static berth_status add_leaving(quotient *q, int32_t t, int32_t *id) {
  const berth_graph *g = q->g;
  berth_tensor x;
  int32_t own = q->map[g->producer[t]];
  berth_status st = berth_graph_tensor(g, t, &x);
  x.producer = own;
  if (st == BERTH_OK) st = berth_graph_builder_add_tensor(q->b, &x, id);
  for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && st == BERTH_OK; j++) {
    int32_t to = q->map[g->use[j]];
    if (to == own || q->stamp_of[to] == t) continue;
    q->stamp_of[to] = t;
    st = berth_graph_builder_add_consumer(q->b, *id, to);
  }
  return st;
}

static berth_status add_kept(quotient *q, int32_t k) {
  const berth_tensor x = { .producer = k,
                           .resident_bytes = q->set[k].inner,
                           .flags = q->set[k].inner_all };
  return x.resident_bytes > 0 ? berth_graph_builder_add_tensor(q->b, &x, NULL) : BERTH_OK;
}

static berth_status add_tensors(quotient *q) {
  berth_status st = BERTH_OK;
  memset(q->stamp_of, 0xff, (size_t)q->n * sizeof *q->stamp_of);
  int32_t id;
  for (int32_t t = 0; t < q->g->n_tensors && st == BERTH_OK; t++) {
    if (is_inner(q, t)) absorb_tensor(q, t);
    else st = add_leaving(q, t, &id);
  }
  for (int32_t k = 0; q->inner == BERTH_INNER_KEEP && k < q->n && st == BERTH_OK; k++)
    st = add_kept(q, k);
  return st;
}

/* ---- ops ---- */

static const char *name_of(const berth_graph *g, int32_t op) {
  return g->op_name && g->op_name[op] != BERTH_NONE ? g->names.text[g->op_name[op]] : NULL;
}

/* "a+b", "first..last (5)"; what has no name is left out. */
static berth_status joint_name(quotient *q, const common *x, const char **out) {
  const char *first = name_of(q->g, x->first), *last = name_of(q->g, x->last);
  *out = first ? first : last;
  if (x->size == 1 || !first || !last) return BERTH_OK;
  berth_status st =
      BERTH_I_POOL_GROW(&q->pool, q->name, q->name_cap, strlen(first) + strlen(last) + 32);
  if (st != BERTH_OK) return st;
  if (x->size == 2) snprintf(q->name, q->name_cap, "%s+%s", first, last);
  else snprintf(q->name, q->name_cap, "%s..%s (%ld)", first, last, (long)x->size);
  *out = q->name;
  return BERTH_OK;
}

static const char *joint_kind(const quotient *q, const common *x) {
  int32_t kind = kind_of(q->g, x->first);
  if (!x->one_kind) return "fused";
  return kind == BERTH_NONE ? NULL : q->g->kinds.text[kind];
}

static berth_status add_op(quotient *q, int32_t k, bool forward_inside) {
  const common *x = &q->set[k];
  berth_op op = { .kind = joint_kind(q, x),
                  .flop = x->flop,
                  .bytes = x->bytes,
                  .param_bytes = x->param_bytes,
                  .workspace_bytes = x->workspace_bytes,
                  .shape = x->shape,
                  .group = x->group,
                  .pin = x->pin };
  berth_status st = joint_name(q, x, &op.name);
  if (st != BERTH_OK) return st;
  op.seconds = x->has_times ? q->seconds + (size_t)k * (size_t)q->g->n_types : NULL;
  op.twin = x->twin >= 0 ? x->twin : BERTH_NONE;
  op.flags = flags_of(x, forward_inside);
  return berth_graph_builder_add_op(q->b, &op, NULL);
}

/* Is some op of the set neither backward nor update? @param stamp_of [n] scratch: 0 where there is
 * one */
static void find_forward(quotient *q) {
  memset(q->stamp_of, 0xff, (size_t)q->n * sizeof *q->stamp_of);
  for (int32_t v = 0; v < q->g->n_ops; v++) {
    if (!(berth_i_flags(q->g, v) & (BERTH_OP_BACKWARD | BERTH_OP_UPDATE)))
      q->stamp_of[q->map[v]] = 0;
  }
}

static berth_status add_ops(quotient *q) {
  berth_status st = BERTH_OK;
  start_sets(q);
  for (int32_t v = 0; v < q->g->n_ops; v++) add_member(q, v);
  for (int32_t v = 0; v < q->g->n_ops; v++) note_place(q, q->g->topo[v]);
  for (int32_t v = 0; q->g->twin && v < q->g->n_ops; v++) note_twin(q, v);
  match_twins(q);
  find_forward(q);
  for (int32_t k = 0; k < q->n && st == BERTH_OK; k++) st = add_op(q, k, q->stamp_of[k] == 0);
  return st;
}

/* ---- collectives ---- */

/* @param stamp another one for each list */
static int32_t map_list(quotient *q, int32_t n, const int32_t *ops, int32_t stamp, int32_t *list) {
  int32_t m = 0;
  for (int32_t j = 0; j < n; j++) {
    int32_t k = q->map[ops[j]];
    if (q->stamp_of[k] == stamp) continue;
    q->stamp_of[k] = stamp;
    list[m++] = k;
  }
  return m;
}

static berth_status add_collective(quotient *q, int32_t k) {
  berth_collective c = q->g->collectives[k];
  int32_t members = map_list(q, c.n_members, c.members, 2 * k, q->list);
  int32_t consumers = map_list(q, c.n_consumers, c.consumers, 2 * k + 1, q->list + members);
  c.n_members = members;
  c.members = q->list;
  c.n_consumers = consumers;
  c.consumers = q->list + members;
  return berth_graph_builder_add_collective(q->b, &c, NULL);
}

static berth_status add_collectives(quotient *q) {
  berth_status st = BERTH_OK;
  memset(q->stamp_of, 0xff, (size_t)q->n * sizeof *q->stamp_of);
  for (int32_t k = 0; k < q->g->n_collectives && st == BERTH_OK; k++) st = add_collective(q, k);
  return st;
}

/* ---- the whole ---- */

static berth_status build(quotient *q, berth_graph **out) {
  berth_status st;
  if ((st = add_ops(q)) != BERTH_OK) return st;
  if ((st = add_tensors(q)) != BERTH_OK) return st;
  if ((st = add_collectives(q)) != BERTH_OK) return st;
  return berth_graph_builder_finish(q->b, out);
}

berth_status berth_i_quotient(const berth_graph *g, int32_t n, const int32_t *map,
                              berth_fuse_inner inner, berth_graph **out) {
  quotient q = { .pool = berth_i_pool_empty(g->ctx), .g = g, .n = n, .map = map, .inner = inner };
  size_t sets = (size_t)n;
  berth_status st = berth_i_builder_like(g, &q.b);
  if (st != BERTH_OK) return st;
  q.set = berth_i_pool_alloc(&q.pool, sets, sizeof *q.set);
  q.seconds = berth_i_pool_zalloc(&q.pool, sets * (size_t)g->n_types, sizeof *q.seconds);
  q.stamp_of = berth_i_pool_alloc(&q.pool, sets, sizeof *q.stamp_of);
  q.list = berth_i_pool_alloc(&q.pool, g->n_coll_ops, sizeof *q.list);
  if ((st = berth_i_pool_status(&q.pool)) == BERTH_OK) st = build(&q, out);
  berth_i_pool_free(&q.pool);
  berth_graph_builder_release(q.b);
  return st;
}
