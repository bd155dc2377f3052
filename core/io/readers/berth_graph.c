/* The "graph" of a berth file: types, ops, tensors with their consumers, explicit orders of inputs,
 * collectives (docs/formats.md, "berth").
 *
 * Names of all ops are listed before the first op is read, as references lead forwards, too.
 * Consumers are kept per tensor and added at the end, in an order that keeps both the consumers of
 * every tensor and the "inputs" of every op. O(ops + edges). */
#include "io/json/berth_ref.h"

enum { G_NAME, G_DTYPE, G_UNITLESS, G_TYPES, G_OPS, G_TENSORS, G_COLLECTIVES, N_G };
static const char *const GRAPH[] = { "name",        "dtype", "unitless", "types", "ops", "tensors",
                                     "collectives" };
enum {
  O_NAME,
  O_KIND,
  O_SECONDS,
  O_FLOP,
  O_BYTES,
  O_PARAM,
  O_WORKSPACE,
  O_SHAPE,
  O_GROUP,
  O_TWIN,
  O_PIN,
  O_BACKWARD,
  O_UPDATE,
  O_SPLITTABLE,
  O_COMMUNICATION,
  O_INPUTS,
  N_O
};
static const char *const OP[] = { "name",       "kind",          "seconds",         "flop",
                                  "bytes",      "param_bytes",   "workspace_bytes", "shape",
                                  "group",      "twin",          "pin",             "backward",
                                  "update",     "splittable",    "communication",   "inputs" };
enum { T_FROM, T_TO, T_BYTES, T_RESIDENT, T_BATCH, T_GRADIENT, N_T };
static const char *const TENSOR[] = {
  "from", "to", "bytes", "resident_bytes", "batch", "gradient"
};
enum { C_KIND, C_BYTES, C_COUNT, C_MEMBERS, C_CONSUMERS, N_C };
static const char *const COLLECTIVE[] = { "kind", "bytes", "count", "members", "consumers" };

const char *const berth_i_collective_names[] = { "allreduce",        "allgather", "reducescatter",
                                                 "broadcast",        "alltoall",  "barrier",
                                                 "parameter-server", NULL };

typedef struct reader {
  berth_i_pool pool;
  const berth_i_json *doc;
  berth_ctx *ctx;
  berth_i_value g[N_G];
  berth_i_lookup ops, devices, tensors;
  int32_t n_types;
  double *seconds;    /* [n_types] of the present op */
  const char **names; /* [ops] made for the look-up */
  berth_i_value *inputs;      /* [ops] explicit orders of inputs; NULL: no op has one */
  int32_t *use_at;    /* [tensors + 1] */
  int32_t *use;       /* consumers, tensor by tensor */
  size_t n_use, cap_use;
  berth_graph_builder *b;
} reader;

static void release(reader *r) {
  berth_i_lookup_release(r->ctx, &r->ops);
  berth_i_lookup_release(r->ctx, &r->devices);
  berth_i_pool_free(&r->pool);
  berth_graph_builder_release(r->b);
}

/* ---- head ---- */

static berth_status read_name(reader *r) {
  const char *name = "";
  berth_status st = berth_i_get_text(r->doc, r->g[G_NAME], &name);
  return st == BERTH_OK ? berth_graph_builder_name(r->b, name) : st;
}

static berth_status read_dtype(reader *r) {
  const char *dtype = "";
  berth_status st = berth_i_get_text(r->doc, r->g[G_DTYPE], &dtype);
  if (st != BERTH_OK || !*dtype) return st;
  return berth_i_blame(r->doc, r->g[G_DTYPE], berth_graph_builder_dtype(r->b, dtype));
}

static berth_status read_unitless(reader *r) {
  berth_i_value v = r->g[G_UNITLESS];
  if (!v) return BERTH_OK;
  if (berth_i_json_kind_of(v) != BERTH_I_JSON_BOOL)
    return berth_i_json_fail(r->doc, v, "is not true or false");
  berth_graph_builder_unitless(r->b, berth_i_json_true(v));
  return BERTH_OK;
}

static berth_status read_types(reader *r) {
  const char **names = NULL;
  int32_t n = 0;
  berth_status st = berth_i_get_texts(r->doc, r->g[G_TYPES], &r->pool, &names, &n);
  if (st != BERTH_OK) return st;
  r->n_types = n ? n : 1;
  if (!(r->seconds = berth_i_pool_alloc(&r->pool, (size_t)r->n_types, sizeof *r->seconds)))
    return berth_i_nomem(r->ctx);
  if (!r->g[G_TYPES]) return BERTH_OK;
  return berth_i_blame(r->doc, r->g[G_TYPES], berth_graph_builder_types(r->b, n, names));
}

/* ---- ops ---- */

/* Time of the present op on type k, or that there is none: null or "unsupported". */
static berth_status read_time(void *ud, berth_i_value v, int32_t k) {
  reader *r = ud;
  bool none = berth_i_json_kind_of(v) == BERTH_I_JSON_NULL
              || (berth_i_json_kind_of(v) == BERTH_I_JSON_STRING
                  && strcmp(berth_i_json_string(v), "unsupported") == 0);
  if (!none) return berth_i_get_quantity(r->doc, v, BERTH_SECONDS, true, &r->seconds[k]);
  r->seconds[k] = BERTH_UNSUPPORTED;
  return BERTH_OK;
}

/* One time per type; with one type also a plain time. */
static berth_status read_seconds(reader *r, berth_i_value v) {
  if (berth_i_json_kind_of(v) != BERTH_I_JSON_ARRAY) {
    return r->n_types == 1
               ? read_time(r, v, 0)
               : berth_i_json_fail(r->doc, v, "is one time for %d types", (int)r->n_types);
  }
  berth_i_value x;
  int32_t n;
  berth_status st;
  if ((st = berth_i_get_array(r->doc, v, &x, &n)) != BERTH_OK) return st;
  if (n != r->n_types)
    return berth_i_json_fail(r->doc, v, "is of length %d, for %d types", (int)n, (int)r->n_types);
  return berth_i_each(r->doc, v, read_time, r);
}

/* Without a topology in the file any device number may be meant. */
static berth_status read_pin(reader *r, berth_i_value v, int32_t *pin) {
  if (r->devices.ud) return berth_i_get_ref(r->doc, v, &r->devices, pin);
  if (v && berth_i_json_kind_of(v) == BERTH_I_JSON_STRING) {
    return berth_i_json_fail(r->doc, v, "is a name, but the file has no topology");
  }
  return berth_i_get_int(r->doc, v, 0, INT32_MAX - 1, pin);
}

/* Kept as JSON until all tensors are known: positions may be beyond the tensors read so far. */
static berth_status keep_inputs(reader *r, berth_i_value v, int32_t op) {
  if (!v) return BERTH_OK;
  if (!r->inputs
      && !(r->inputs = berth_i_pool_zalloc(&r->pool, (size_t)r->ops.n, sizeof *r->inputs)))
    return berth_i_nomem(r->ctx);
  r->inputs[op] = v;
  return BERTH_OK;
}

static berth_status read_shape(const reader *r, berth_i_value v, berth_shape *shape) {
  const berth_option_table *tables[] = { berth_product_option_table(),
                                         berth_attention_option_table() };
  void *parts[] = { &shape->product, &shape->attention };
  return berth_i_get_options(r->doc, v, 2, tables, parts);
}

/* seconds and shape are the reader's: the builder copies them. */
static berth_status read_op(void *ud, berth_i_value v, int32_t id) {
  static const berth_i_quantity amounts[] = {
    { O_FLOP, BERTH_FLOP, false, offsetof(berth_op, flop) },
    { O_BYTES, BERTH_BYTES, false, offsetof(berth_op, bytes) },
    { O_PARAM, BERTH_BYTES, false, offsetof(berth_op, param_bytes) },
    { O_WORKSPACE, BERTH_BYTES, false, offsetof(berth_op, workspace_bytes) }
  };
  static const berth_i_bit flags[] = { { O_BACKWARD, BERTH_OP_BACKWARD },
                                       { O_UPDATE, BERTH_OP_UPDATE },
                                       { O_SPLITTABLE, BERTH_OP_SPLITTABLE },
                                       { O_COMMUNICATION, BERTH_OP_COMMUNICATION } };
  reader *r = ud;
  berth_op op = berth_op_default();
  berth_shape shape = { .product = { .m = 0 } };
  berth_i_value f[N_O];
  berth_status st = berth_i_fields(r->doc, v, OP, N_O, 0, true, f);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_get_text(r->doc, f[O_NAME], &op.name)) != BERTH_OK) return st;
  if ((st = berth_i_get_text(r->doc, f[O_KIND], &op.kind)) != BERTH_OK) return st;
  if (f[O_SECONDS] && (st = read_seconds(r, f[O_SECONDS])) != BERTH_OK) return st;
  op.seconds = f[O_SECONDS] ? r->seconds : NULL;
  if ((st = berth_i_get_quantities(r->doc, f, amounts, 4, &op)) != BERTH_OK) return st;
  if (f[O_SHAPE] && (st = read_shape(r, f[O_SHAPE], &shape)) != BERTH_OK) return st;
  op.shape = f[O_SHAPE] ? &shape : NULL;
  if ((st = berth_i_get_int(r->doc, f[O_GROUP], 0, INT32_MAX - 1, &op.group)) != BERTH_OK)
    return st;
  if ((st = berth_i_get_ref(r->doc, f[O_TWIN], &r->ops, &op.twin)) != BERTH_OK) return st;
  if ((st = read_pin(r, f[O_PIN], &op.pin)) != BERTH_OK) return st;
  if ((st = berth_i_get_bits(r->doc, f, flags, 4, true, &op.flags)) != BERTH_OK) return st;
  if ((st = keep_inputs(r, f[O_INPUTS], id)) != BERTH_OK) return st;
  return berth_i_blame(r->doc, v, berth_graph_builder_add_op(r->b, &op, NULL));
}

/* Names of ops, for references to later ones. Wrong ones are refused when the op itself is read. */
static berth_status list_names(reader *r, berth_i_value v) {
  if (!(r->names = berth_i_pool_zalloc(&r->pool, (size_t)r->ops.n, sizeof *r->names)))
    return berth_i_nomem(r->ctx);
  for (int32_t i = 0; v; i++, v = berth_i_json_next(v)) {
    berth_i_value name =
        berth_i_json_kind_of(v) == BERTH_I_JSON_OBJECT ? berth_i_json_get(v, "name") : NULL;
    if (name && berth_i_json_kind_of(name) == BERTH_I_JSON_STRING)
      r->names[i] = berth_i_json_string(name);
  }
  r->ops.name = berth_i_listed_name;
  r->ops.ud = r->names;
  return BERTH_OK;
}

static berth_status read_ops(reader *r) {
  berth_i_value v;
  berth_status st = berth_i_get_array(r->doc, r->g[G_OPS], &v, &r->ops.n);
  if (st == BERTH_OK) st = list_names(r, v);
  return st == BERTH_OK ? berth_i_each(r->doc, r->g[G_OPS], read_op, r) : st;
}

/* ---- tensors ---- */

/* Edges are numbered in int32_t. */
static berth_status read_consumer(void *ud, berth_i_value v, int32_t i) {
  reader *r = ud;
  int32_t op = 0;
  (void)i;
  berth_status st = berth_i_get_ref(r->doc, v, &r->ops, &op);
  if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&r->pool, r->use, r->cap_use, r->n_use + 1);
  if (st == BERTH_OK) r->use[r->n_use++] = op;
  return r->n_use == INT32_MAX ? berth_i_json_fail(r->doc, v, "is one edge too many") : st;
}

static berth_status read_tensor(void *ud, berth_i_value v, int32_t id) {
  static const berth_i_quantity amounts[] = {
    { T_BYTES, BERTH_BYTES, false, offsetof(berth_tensor, bytes) },
    { T_RESIDENT, BERTH_BYTES, false, offsetof(berth_tensor, resident_bytes) }
  };
  static const berth_i_bit flags[] = { { T_BATCH, BERTH_TENSOR_BATCH },
                                       { T_GRADIENT, BERTH_TENSOR_GRADIENT } };
  reader *r = ud;
  berth_tensor t = { 0, 0, -1, 0 };
  berth_i_value f[N_T];
  berth_status st = berth_i_fields(r->doc, v, TENSOR, N_T, 1, true, f);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_get_ref(r->doc, f[T_FROM], &r->ops, &t.producer)) != BERTH_OK) return st;
  if ((st = berth_i_get_quantities(r->doc, f, amounts, 2, &t)) != BERTH_OK) return st;
  if ((st = berth_i_get_bits(r->doc, f, flags, 2, true, &t.flags)) != BERTH_OK) return st;
  if ((st = berth_i_each(r->doc, f[T_TO], read_consumer, r)) != BERTH_OK) return st;
  r->use_at[id + 1] = (int32_t)r->n_use;
  return berth_i_blame(r->doc, v, berth_graph_builder_add_tensor(r->b, &t, NULL));
}

/* seen[op] is the last tensor, plus 1, that has the op as a consumer. */
static berth_status refuse_repeated_consumers(reader *r) {
  int32_t *seen = berth_i_zalloc(r->ctx, (size_t)r->ops.n, sizeof *seen), t = 0;
  berth_i_value v = r->g[G_TENSORS] ? berth_i_json_first(r->g[G_TENSORS]) : NULL;
  berth_status st = seen ? BERTH_OK : berth_i_nomem(r->ctx);
  for (; v && st == BERTH_OK; t++, v = berth_i_json_next(v)) {
    for (int32_t e = r->use_at[t]; e < r->use_at[t + 1] && st == BERTH_OK; e++) {
      if (seen[r->use[e]] == t + 1)
        st = berth_i_json_fail(r->doc, v, "has op %d as a consumer twice", (int)r->use[e]);
      seen[r->use[e]] = t + 1;
    }
  }
  berth_i_free(r->ctx, seen, (size_t)r->ops.n, sizeof *seen);
  return st;
}

static berth_status read_tensors(reader *r) {
  berth_i_value v;
  berth_status st = berth_i_get_array(r->doc, r->g[G_TENSORS], &v, &r->tensors.n);
  if (st != BERTH_OK) return st;
  if (!(r->use_at = berth_i_pool_zalloc(&r->pool, (size_t)r->tensors.n + 1, sizeof *r->use_at)))
    return berth_i_nomem(r->ctx);
  st = berth_i_each(r->doc, r->g[G_TENSORS], read_tensor, r);
  return st == BERTH_OK ? refuse_repeated_consumers(r) : st;
}

/* ---- edges ---- */

/* Inputs of every op, in the order given or, by default, in the order of the tensors. */
typedef struct input_list {
  int32_t *at, *list; /* [ops + 1], [edges] */
  int32_t *stamp;     /* [tensors] last op that was seen to read it, plus 1 */
  int32_t *order;     /* [edges] */
  int32_t *tensor;    /* [edges] of each pair */
} input_list;

/* By counting; filled from the last edge backwards, which leaves at[v + 1] at the begin of v's
 * inputs, so the offsets are shifted by one afterwards. */
static void fill_default_inputs(const reader *r, input_list *x) {
  for (int32_t t = 0; t < r->tensors.n; t++)
    for (int32_t e = r->use_at[t]; e < r->use_at[t + 1]; e++) {
      x->tensor[e] = t;
      x->at[r->use[e] + 1]++;
    }
  for (int32_t v = 0; v < r->ops.n; v++) x->at[v + 1] += x->at[v];
  for (int32_t e = (int32_t)r->n_use - 1; e >= 0; e--)
    x->list[--x->at[r->use[e] + 1]] = x->tensor[e];
  for (int32_t v = 0; v < r->ops.n; v++) x->at[v] = x->at[v + 1];
  x->at[r->ops.n] = (int32_t)r->n_use;
}

/* The list must name the tensors that name the op, each once. */
static berth_status reorder_inputs(reader *r, input_list *x, int32_t op) {
  int32_t *at = x->list + x->at[op], *list = NULL, n = x->at[op + 1] - x->at[op], given = 0;
  berth_i_pool scratch = berth_i_pool_empty(r->ctx);
  berth_status st = berth_i_get_refs(r->doc, r->inputs[op], &r->tensors, &scratch, &list, &given);
  if (st != BERTH_OK) goto done;
  int32_t k;
  for (k = 0; k < n; k++) x->stamp[at[k]] = op + 1;
  for (k = 0; k < given; k++) {
    if (x->stamp[list[k]] != op + 1) break;
    x->stamp[list[k]] = 0;
  }
  if (k < given || given != n)
    st = berth_i_json_fail(r->doc, r->inputs[op],
                           "does not name the tensors that go to the op, each once");
  else if (n > 0) memcpy(at, list, (size_t)n * sizeof *at);
done:
  berth_i_pool_free(&scratch);
  return st;
}

/* The merge fails only if the orders form a cycle, as when two ops list the same two tensors in
 * different orders than the tensors list the ops. */
static berth_status order_edges(reader *r, input_list *x) {
  berth_status st = BERTH_OK;
  bool ok = false;
  fill_default_inputs(r, x);
  for (int32_t v = 0; v < r->ops.n && st == BERTH_OK; v++)
    if (r->inputs[v]) st = reorder_inputs(r, x, v);
  if (st == BERTH_OK)
    st = berth_i_merge_order(r->ctx, r->ops.n, r->tensors.n, r->use_at, r->use, x->at, x->list,
                             x->order, &ok);
  if (st == BERTH_OK && !ok)
    st = berth_i_json_fail(r->doc, r->g[G_OPS],
                           "have \"inputs\" that contradict the order of \"to\" in the tensors");
  return st;
}

static berth_status add_ordered_edges(reader *r) {
  size_t m = r->n_use;
  berth_i_pool scratch = berth_i_pool_empty(r->ctx);
  input_list x = { berth_i_pool_zalloc(&scratch, (size_t)r->ops.n + 1, sizeof(int32_t)),
               berth_i_pool_alloc(&scratch, m, sizeof(int32_t)),
               berth_i_pool_zalloc(&scratch, (size_t)r->tensors.n, sizeof(int32_t)),
               berth_i_pool_alloc(&scratch, m, sizeof(int32_t)),
               berth_i_pool_alloc(&scratch, m, sizeof(int32_t)) };
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) st = order_edges(r, &x);
  for (size_t i = 0; i < m && st == BERTH_OK; i++)
    st = berth_graph_builder_add_consumer(r->b, x.tensor[x.order[i]], r->use[x.order[i]]);
  berth_i_pool_free(&scratch);
  return st;
}

/* Without "inputs" the order of the tensors is right: no sorting. */
static berth_status add_edges(reader *r) {
  berth_status st = BERTH_OK;
  if (r->inputs) return add_ordered_edges(r);
  for (int32_t t = 0; t < r->tensors.n; t++)
    for (int32_t e = r->use_at[t]; e < r->use_at[t + 1] && st == BERTH_OK; e++)
      st = berth_graph_builder_add_consumer(r->b, t, r->use[e]);
  return st;
}

/* ---- collectives ---- */

/* Names are in the order of the enum. */
static berth_status read_collective_kind(const reader *r, berth_i_value v,
                                         berth_collective_kind *kind) {
  const char *name = "";
  berth_status st = berth_i_get_text(r->doc, v, &name);
  if (st != BERTH_OK) return st;
  for (int k = 0; berth_i_collective_names[k]; k++) {
    if (strcmp(berth_i_collective_names[k], name) != 0) continue;
    *kind = (berth_collective_kind)k;
    return BERTH_OK;
  }
  return berth_i_json_fail(r->doc, v,
                           "is not a kind of collective: allreduce, allgather, reducescatter, "
                           "broadcast, alltoall, barrier, parameter-server");
}

static berth_status read_collective(void *ud, berth_i_value v, int32_t i) {
  reader *r = ud;
  berth_collective c = { BERTH_ALLREDUCE, 0, 1, 0, NULL, 0, NULL };
  int32_t *members = NULL, *consumers = NULL;
  berth_i_pool scratch = berth_i_pool_empty(r->ctx);
  berth_i_value f[N_C];
  (void)i;
  berth_status st = berth_i_fields(r->doc, v, COLLECTIVE, N_C, 1, true, f);
  if (st != BERTH_OK) return st;
  if ((st = read_collective_kind(r, f[C_KIND], &c.kind)) != BERTH_OK) return st;
  if ((st = berth_i_get_quantity(r->doc, f[C_BYTES], BERTH_BYTES, false, &c.bytes)) != BERTH_OK)
    return st;
  if ((st = berth_i_get_int(r->doc, f[C_COUNT], 1, INT32_MAX - 1, &c.count)) != BERTH_OK) return st;
  if ((st = berth_i_get_refs(r->doc, f[C_MEMBERS], &r->ops, &scratch, &members, &c.n_members))
      != BERTH_OK)
    goto done;
  if ((st = berth_i_get_refs(r->doc, f[C_CONSUMERS], &r->ops, &scratch, &consumers, &c.n_consumers))
      != BERTH_OK)
    goto done;
  c.members = members;
  c.consumers = consumers;
  st = berth_i_blame(r->doc, v, berth_graph_builder_add_collective(r->b, &c, NULL));
done:
  berth_i_pool_free(&scratch);
  return st;
}

berth_status berth_i_read_berth_graph(const berth_i_json *doc, berth_i_value v,
                                      const berth_topology *t, berth_graph **out) {
  berth_ctx *ctx = berth_i_json_ctx(doc);
  reader r = { .pool = berth_i_pool_empty(ctx),
               .doc = doc,
               .ctx = ctx,
               .ops = { .what = "op" },
               .tensors = { .what = "tensor" },
               .devices = { .what = "device",
                            .n = t ? t->n_devices : 0,
                            .name = berth_i_topology_device_name,
                            .ud = t } };
  berth_status st = berth_i_fields(doc, v, GRAPH, N_G, 0, true, r.g);
  if (st != BERTH_OK || (st = berth_graph_builder_new(r.ctx, &r.b)) != BERTH_OK) return st;
  if ((st = read_name(&r)) != BERTH_OK || (st = read_dtype(&r)) != BERTH_OK
      || (st = read_unitless(&r)) != BERTH_OK || (st = read_types(&r)) != BERTH_OK)
    goto done;
  if ((st = read_ops(&r)) != BERTH_OK || (st = read_tensors(&r)) != BERTH_OK) goto done;
  if ((st = add_edges(&r)) != BERTH_OK) goto done;
  if ((st = berth_i_each(doc, r.g[G_COLLECTIVES], read_collective, &r)) != BERTH_OK) goto done;
  st = berth_graph_builder_finish(r.b, out);
  st = berth_i_blame(doc, st == BERTH_ECYCLE && r.g[G_TENSORS] ? r.g[G_TENSORS] : v, st);
done:
  release(&r);
  return st;
}
