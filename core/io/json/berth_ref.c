/* References by position or name. The table of names is built at the first reference by name: most
 * files have positions only. O(1) a reference. */
#include "berth_ref.h"

void berth_i_lookup_release(berth_ctx *ctx, berth_i_lookup *x) {
  berth_i_free(ctx, x->id, (size_t)x->n, sizeof *x->id);
  berth_i_names_release(ctx, &x->names);
  x->id = NULL;
}

/* Interns the names. A name that comes twice keeps one entry, whose id becomes BERTH_NONE: it is
 * refused only where it is used. */
static berth_status prepare(berth_ctx *ctx, berth_i_lookup *x) {
  berth_status st = BERTH_OK;
  if (!(x->id = berth_i_alloc(ctx, (size_t)x->n, sizeof *x->id))) return berth_i_nomem(ctx);
  int32_t k;
  for (int32_t i = 0; i < x->n && st == BERTH_OK; i++) {
    const char *name = x->name(x->ud, i);
    int32_t known = x->names.n;
    if (!name || !*name) continue;
    if ((st = berth_i_names_add(ctx, &x->names, name, &k)) == BERTH_OK)
      x->id[k] = k == known ? i : BERTH_NONE;
  }
  x->ready = st == BERTH_OK;
  if (!x->ready) berth_i_lookup_release(ctx, x);
  return st;
}

static berth_status find_named(const berth_i_json *doc, berth_i_value v,
                               berth_i_lookup *x, int32_t *out) {
  berth_ctx *ctx = berth_i_json_ctx(doc);
  berth_status st = x->ready || x->n == 0 ? BERTH_OK : prepare(ctx, x);
  if (st != BERTH_OK) return st;
  int32_t k = x->names.n ? berth_i_names_find(&x->names, berth_i_json_string(v)) : BERTH_NONE;
  if (k == BERTH_NONE) return berth_i_json_fail(doc, v, "is the name of no %s", x->what);
  if (x->id[k] == BERTH_NONE)
    return berth_i_json_fail(doc, v, "is the name of more than one %s", x->what);
  *out = x->id[k];
  return BERTH_OK;
}

berth_status berth_i_get_ref(const berth_i_json *doc, berth_i_value v,
                             berth_i_lookup *x, int32_t *out) {
  if (!v) return BERTH_OK;
  berth_i_json_kind kind = berth_i_json_kind_of(v);
  if (kind == BERTH_I_JSON_STRING && x->name) return find_named(doc, v, x, out);
  if (kind != BERTH_I_JSON_NUMBER) {
    return berth_i_json_fail(doc, v, "is not the position%s of any %s",
                             x->name ? " or the name" : "", x->what);
  }
  double number = berth_i_json_number(v);
  if (!(number >= 0) || number != floor(number))
    return berth_i_json_fail(doc, v, "is not the position of any %s", x->what);
  if (number >= x->n)
    return berth_i_json_fail(doc, v, "is beyond the last %s: there are %d, from 0", x->what,
                             (int)x->n);
  *out = (int32_t)number;
  return BERTH_OK;
}

/* A failure in the middle leaves the list in the pool, which the caller frees. */
berth_status berth_i_get_refs(const berth_i_json *doc, berth_i_value v,
                              berth_i_lookup *x, berth_i_pool *pool, int32_t **out, int32_t *n) {
  berth_i_value member;
  int32_t count = 0;
  berth_status st = berth_i_get_array(doc, v, &member, &count);
  if (st != BERTH_OK) return st;
  int32_t *list;
  if (!(list = berth_i_pool_alloc(pool, (size_t)count, sizeof *list)))
    return berth_i_pool_status(pool);
  for (int32_t k = 0; k < count && st == BERTH_OK; k++, member = berth_i_json_next(member))
    st = berth_i_get_ref(doc, member, x, &list[k]);
  *out = list;
  *n = count;
  return st;
}

const char *berth_i_listed_name(const void *names, int32_t i) {
  return ((const char *const *)names)[i];
}

const char *berth_i_topology_device_name(const void *topology, int32_t device) {
  return ((const berth_topology *)topology)->devices[device].name;
}

const char *berth_i_graph_op_name(const void *graph, int32_t op) {
  berth_op o;
  return berth_graph_op(graph, op, &o) == BERTH_OK ? o.name : NULL;
}
