/* The "placement" of a berth file: device of every op, and, if given, order, start and finish
 * times, and the names beside the ids.
 *
 * Names may come from the graph and topology of the same file, else from op_names and device_names
 * of the placement itself; where both are there, they must agree. */
#include "placement/placement_internal.h"
#include "io/json/berth_ref.h"

enum { P_DEVICE, P_PLACER, P_ESTIMATE, P_SEQUENCE, P_START, P_FINISH, P_OPS, P_DEVICES, N_P };
static const char *const PLACEMENT[] = { "device",   "placer",        "estimate_seconds",
                                         "sequence", "start_seconds", "finish_seconds",
                                         "op_names", "device_names" };

typedef struct reader {
  berth_i_pool pool;
  const berth_i_json *doc;
  berth_ctx *ctx;
  berth_i_value p[N_P];
  const berth_graph *g;
  const berth_topology *t;
  const char **op_names, **device_names; /* as the file lists them */
  int32_t n_op_names, n_device_names;
  berth_i_lookup ops, devices;
} reader;

/* The placement itself owns its arrays. */
static void release(reader *r) {
  berth_i_lookup_release(r->ctx, &r->ops);
  berth_i_lookup_release(r->ctx, &r->devices);
  berth_i_pool_free(&r->pool);
}

/* Names given beside ids must be those of the graph or topology in the same file. */
static berth_status compare_names(reader *r, berth_i_value list,
                                  const char *const *names, int32_t n,
                                  const char *(*name)(const void *, int32_t),
                                  const void *ud, int32_t n_things,
                                  const char *what) {
  berth_i_value v = list ? berth_i_json_first(list) : NULL;
  if (!list || !ud) return BERTH_OK;
  if (n != n_things)
    return berth_i_json_fail(r->doc, list, "is of length %d, for %d %ss", (int)n, (int)n_things,
                             what);
  for (int32_t k = 0; k < n; k++, v = berth_i_json_next(v)) {
    const char *is = name(ud, k);
    if (strcmp(is ? is : "", names[k]) != 0)
      return berth_i_json_fail(r->doc, v, "is not the name of %s %d, \"%s\"", what, (int)k,
                               is ? is : "");
  }
  return BERTH_OK;
}

static berth_status read_all_names(reader *r) {
  berth_status st;
  if ((st = berth_i_get_texts(r->doc, r->p[P_OPS], &r->pool, &r->op_names,
                              &r->n_op_names)) != BERTH_OK)
    return st;
  if ((st = berth_i_get_texts(r->doc, r->p[P_DEVICES], &r->pool, &r->device_names,
                             &r->n_device_names)) != BERTH_OK)
    return st;
  st = compare_names(r, r->p[P_OPS], r->op_names, r->n_op_names, berth_i_graph_op_name, r->g,
                     r->g ? r->g->n_ops : 0, "op");
  if (st != BERTH_OK) return st;
  return compare_names(r, r->p[P_DEVICES], r->device_names, r->n_device_names,
                       berth_i_topology_device_name, r->t, r->t ? r->t->n_devices : 0, "device");
}

/* Devices are those of the topology, else those named, else any. */
static void prepare_lookups(reader *r, int32_t n_ops) {
  r->ops = (berth_i_lookup){ .what = "op", .n = n_ops };
  r->devices = (berth_i_lookup){ .what = "device", .n = INT32_MAX };
  /* The graph's own names, else those of the placement, else positions only. */
  if (r->g) {
    r->ops.name = berth_i_graph_op_name;
    r->ops.ud = r->g;
  } else if (r->op_names) {
    r->ops.name = berth_i_listed_name;
    r->ops.ud = r->op_names;
  }
  if (r->t) {
    r->devices.n = r->t->n_devices;
    r->devices.name = berth_i_topology_device_name;
    r->devices.ud = r->t;
  } else if (r->device_names) {
    r->devices.n = r->n_device_names;
    r->devices.name = berth_i_listed_name;
    r->devices.ud = r->device_names;
  }
}

/* Without names a string would be reported as "not the position": this message says what is
 * missing. */
static berth_status check_named(reader *r, berth_i_value list, const berth_i_lookup *x) {
  berth_i_value v = x->name || !list || berth_i_json_kind_of(list) != BERTH_I_JSON_ARRAY
                ? NULL
                : berth_i_json_first(list);
  for (; v; v = berth_i_json_next(v)) {
    if (berth_i_json_kind_of(v) == BERTH_I_JSON_STRING)
      return berth_i_json_fail(r->doc, v, "is a name, but the file names no %ss", x->what);
  }
  return BERTH_OK;
}

/* A permutation: as many as ops, in range (berth_i_get_refs), none twice. */
static berth_status check_sequence(reader *r, const int32_t *sequence, int32_t n) {
  uint8_t *seen = berth_i_zalloc(r->ctx, (size_t)n, 1);
  berth_i_value v = berth_i_json_first(r->p[P_SEQUENCE]);
  berth_status st = seen ? BERTH_OK : berth_i_nomem(r->ctx);
  for (int32_t k = 0; k < n && st == BERTH_OK; k++, v = berth_i_json_next(v)) {
    if (seen[sequence[k]]++) st = berth_i_json_fail(r->doc, v, "is given twice");
  }
  berth_i_free(r->ctx, seen, (size_t)n, 1);
  return st;
}

/* @param n the length that the list must have */
static berth_status read_refs(reader *r, berth_i_value v, berth_i_lookup *x,
                              int32_t n, int32_t **out) {
  int32_t *list = NULL, count = 0;
  berth_status st = check_named(r, v, x);
  if (st != BERTH_OK || (st = berth_i_get_refs(r->doc, v, x, &r->pool, &list, &count)) != BERTH_OK)
    return st;
  if (count != n)
    return berth_i_json_fail(r->doc, v, "is of length %d, for %d ops", (int)count, (int)n);
  *out = list;
  return BERTH_OK;
}

/* Of every op; infinity is legal (an op that never runs in a plan that failed). */
static berth_status read_seconds(reader *r, berth_i_value list, berth_placement *p, double **out) {
  const int32_t n = p->n;
  if (!list) return BERTH_OK;
  berth_i_value v;
  int32_t count;
  berth_status st;
  if ((st = berth_i_get_array(r->doc, list, &v, &count)) != BERTH_OK) return st;
  if (count != n)
    return berth_i_json_fail(r->doc, list, "is of length %d, for %d ops", (int)count, (int)n);
  if (!(*out = berth_i_pool_alloc(&p->pool, (size_t)n, sizeof **out)))
    return berth_i_pool_status(&p->pool);
  for (int32_t k = 0; k < n && st == BERTH_OK; k++, v = berth_i_json_next(v)) {
    st = berth_i_get_quantity(r->doc, v, BERTH_SECONDS, true, &(*out)[k]);
  }
  return st;
}

static berth_status check_plan(reader *r, const berth_placement *p) {
  berth_i_value v = berth_i_json_first(r->p[P_FINISH]);
  for (int32_t k = 0; k < p->n; k++, v = berth_i_json_next(v)) {
    if (p->finish[k] < p->start[k])
      return berth_i_json_fail(r->doc, v, "is before the start, %g s", p->start[k]);
  }
  return BERTH_OK;
}

static berth_status read_plan(reader *r, berth_placement *p) {
  /* A plan is both or none. */
  if (!r->p[P_START] != !r->p[P_FINISH]) {
    berth_i_value v = r->p[P_START] ? r->p[P_START] : r->p[P_FINISH];
    return berth_i_json_fail(r->doc, v, "needs both start_seconds and finish_seconds");
  }
  berth_status st;
  if ((st = read_seconds(r, r->p[P_START], p, &p->start)) != BERTH_OK) return st;
  if ((st = read_seconds(r, r->p[P_FINISH], p, &p->finish)) != BERTH_OK) return st;
  return p->finish ? check_plan(r, p) : BERTH_OK;
}

/* "device" decides how many ops there are; all other lists must have that length. */
static berth_status count_ops(reader *r, int32_t *n) {
  berth_i_value v;
  berth_status st = berth_i_get_array(r->doc, r->p[P_DEVICE], &v, n);
  if (st == BERTH_OK && r->g && *n != r->g->n_ops) {
    st = berth_i_json_fail(r->doc, r->p[P_DEVICE], "is of length %d, for %d ops", (int)*n,
                           (int)r->g->n_ops);
  }
  if (st == BERTH_OK && *n == 0 && !r->g)
    st = berth_i_json_fail(r->doc, r->p[P_DEVICE], "is empty: it places nothing");
  if (st == BERTH_OK && r->op_names && r->n_op_names != *n) {
    st = berth_i_json_fail(r->doc, r->p[P_OPS], "is of length %d, for %d ops", (int)r->n_op_names,
                           (int)*n);
  }
  return st;
}

/* Times are read into the finished object: its pool owns them. */
static berth_status read_placement(reader *r, berth_placement **out) {
  int32_t *device = NULL, *sequence = NULL, n = 0;
  const char *placer = NULL;
  double estimate = NAN;
  berth_placement *p = NULL;
  berth_status st;
  if ((st = read_all_names(r)) != BERTH_OK || (st = count_ops(r, &n)) != BERTH_OK) return st;
  prepare_lookups(r, n);
  if ((st = read_refs(r, r->p[P_DEVICE], &r->devices, n, &device)) != BERTH_OK) goto done;
  if (r->p[P_SEQUENCE] && (st = read_refs(r, r->p[P_SEQUENCE], &r->ops, n, &sequence)) != BERTH_OK)
    goto done;
  if (sequence && (st = check_sequence(r, sequence, n)) != BERTH_OK) goto done;
  if ((st = berth_i_get_quantity(r->doc, r->p[P_ESTIMATE], BERTH_SECONDS, true, &estimate))
      != BERTH_OK)
    goto done;
  if ((st = berth_i_get_text(r->doc, r->p[P_PLACER], &placer)) != BERTH_OK) goto done;
  if ((st = berth_placement_new(r->ctx, n, device, sequence, placer, estimate, &p)) != BERTH_OK)
    goto done;
  if ((st = read_plan(r, p)) != BERTH_OK) goto done;
  *out = p;
  p = NULL;
done:
  berth_placement_release(p);
  return st;
}

berth_status berth_i_read_berth_placement(const berth_i_json *doc, berth_i_value v,
                                          const berth_graph *g, const berth_topology *t,
                                          berth_placement **out) {
  reader r = { .pool = berth_i_pool_empty(berth_i_json_ctx(doc)),
               .doc = doc,
               .ctx = berth_i_json_ctx(doc),
               .g = g,
               .t = t };
  berth_status st = berth_i_fields(doc, v, PLACEMENT, N_P, 1, true, r.p);
  if (st == BERTH_OK) st = read_placement(&r, out);
  release(&r);
  return st;
}
