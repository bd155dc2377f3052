/* The arena of a compiled graph: columns that grow together and are kept from one graph to the
 * next.
 * After a refusal (a->st) nothing more is added, so that callers check once. */
#include "compile_internal.h"

/* ---- columns ---- */

typedef struct column {
  void *at;      /* address of the pointer */
  size_t width;
} column;

/* A refusal leaves `cap` as it is: columns that have grown already are then longer than it. */
static berth_status grow(berth_i_arena *a, const column *c, int n, size_t *cap, size_t need) {
  size_t more = *cap < 64 ? 64 : *cap;
  if (need <= *cap) return BERTH_OK;
  while (more < need) more += more / 2;
  for (int k = 0; k < n; k++) {
    void *old, *made;
    memcpy(&old, c[k].at, sizeof old);
    made = berth_i_pool_realloc(&a->pool, old, old ? 1 : 0, more, c[k].width);
    if (!made) return berth_i_nomem(a->d->ctx);
    memcpy(c[k].at, &made, sizeof made);
  }
  *cap = more;
  return BERTH_OK;
}

#define COLUMN(p) { &(p), sizeof *(p) }
#define OP_COLUMNS(a)                                                                      \
  {                                                                                        \
    COLUMN((a)->seconds), COLUMN((a)->param), COLUMN((a)->workspace), COLUMN((a)->rank),   \
        COLUMN((a)->twin), COLUMN((a)->device), COLUMN((a)->origin), COLUMN((a)->samples), \
        COLUMN((a)->flags), COLUMN((a)->part)                                              \
  }
#define TENSOR_COLUMNS(a)                                                                  \
  {                                                                                        \
    COLUMN((a)->producer), COLUMN((a)->source), COLUMN((a)->bytes), COLUMN((a)->resident), \
        COLUMN((a)->tensor_flags)                                                          \
  }
#define EDGE_COLUMNS(a) { COLUMN((a)->edge_tensor), COLUMN((a)->edge_op) }
#define OP_LISTS(a)                                                                       \
  {                                                                                       \
    COLUMN((a)->in_at), COLUMN((a)->out_at), COLUMN((a)->wait_at), COLUMN((a)->after_at), \
        COLUMN((a)->topo), COLUMN((a)->left)                                              \
  }
#define TENSOR_LISTS(a) { COLUMN((a)->out), COLUMN((a)->use_at) }
#define EDGE_LISTS(a) { COLUMN((a)->in), COLUMN((a)->use) }
#define MEMBER_LISTS(a) { COLUMN((a)->wait), COLUMN((a)->after) }
#define COUNT(x) ((int)(sizeof(x) / sizeof *(x)))

/* No count passes what an int32_t holds, with space for what is added next. */
static bool reserve(berth_i_arena *a, const column *c, int n, size_t *cap, int32_t have,
                    int32_t more, const char *what) {
  if (a->st == BERTH_OK && (int64_t)have + more >= INT32_MAX / 2)
    a->st = berth_i_fail(a->d->ctx, BERTH_EINVAL, "the compiled graph has more than %ld %s",
                         (long)(INT32_MAX / 2), what);
  if (a->st == BERTH_OK) a->st = grow(a, c, n, cap, (size_t)have + (size_t)more);
  return a->st == BERTH_OK;
}

bool berth_i_arena_ops(berth_i_arena *a, int32_t more) {
  const column c[] = OP_COLUMNS(a);
  return reserve(a, c, COUNT(c), &a->cap_ops, a->n_ops, more, "ops");
}

bool berth_i_arena_tensors(berth_i_arena *a, int32_t more) {
  const column c[] = TENSOR_COLUMNS(a);
  return reserve(a, c, COUNT(c), &a->cap_tensors, a->n_tensors, more, "tensors");
}

bool berth_i_arena_edges(berth_i_arena *a, int32_t more) {
  const column c[] = EDGE_COLUMNS(a);
  return reserve(a, c, COUNT(c), &a->cap_edges, a->n_edges, more, "edges");
}

berth_status berth_i_arena_reserve_lists(berth_i_arena *a) {
  const column ops[] = OP_LISTS(a), tensors[] = TENSOR_LISTS(a), edges[] = EDGE_LISTS(a),
               members[] = MEMBER_LISTS(a), untaken[] = { COLUMN(a->untaken) };
  berth_status st = grow(a, ops, COUNT(ops), &a->cap_op_lists, (size_t)a->n_ops + 1);
  if (st == BERTH_OK)
    st = grow(a, tensors, COUNT(tensors), &a->cap_tensor_lists, (size_t)a->n_tensors + 1);
  if (st == BERTH_OK) st = grow(a, edges, COUNT(edges), &a->cap_edge_lists, (size_t)a->n_edges + 1);
  if (st == BERTH_OK)
    st = grow(a, members, COUNT(members), &a->cap_member_lists, (size_t)a->n_coll_ops + 1);
  return st == BERTH_OK ? grow(a, untaken, COUNT(untaken), &a->cap_coll_lists,
                               (size_t)a->n_collectives + 1)
                        : st;
}

int32_t berth_i_items_take(berth_i_arena *a, berth_i_items *p, size_t n, size_t size) {
  if (a->st == BERTH_OK) a->st = berth_i_pool_grow(&a->pool, &p->at, &p->cap, p->n + n, size);
  if (a->st != BERTH_OK) return BERTH_NONE;
  p->n += n;
  return (int32_t)(p->n - n);
}

/* ---- what is added ---- */

int32_t berth_i_add_auxiliary(berth_i_arena *a, int32_t origin, berth_part part, int32_t device,
                              int32_t samples, double bytes) {
  int32_t v = a->n_ops;
  if (!berth_i_arena_ops(a, 1)) return BERTH_NONE;
  const berth_deploy *d = a->d;
  const berth_device *x = &d->t->devices[device];
  bool free = d->o.free_auxiliary || !(x->memory_bandwidth > 0);
  double seconds = free ? 0 : bytes / x->memory_bandwidth / x->speed * d->cost->op_factor;
  a->seconds[v] = d->cost->whole_us && !free ? berth_i_whole_us(seconds) : seconds;
  a->param[v] = a->workspace[v] = 0;
  a->rank[v] = a->d->rank[origin];
  a->twin[v] = BERTH_NONE;
  a->device[v] = device;
  a->origin[v] = origin;
  a->samples[v] = samples;
  a->flags[v] = part == BERTH_PART_BUCKET && a->d->sim.order == BERTH_ORDER_EVENT
                    ? BERTH_OP_COMMUNICATION
                    : 0;
  a->part[v] = (uint8_t)part;
  return a->n_ops++;
}

int32_t berth_i_add_piece(berth_i_arena *a, int32_t producer, int32_t source, double share) {
  const berth_graph *g = a->d->g;
  int32_t t = a->n_tensors;
  if (!berth_i_arena_tensors(a, 1)) return BERTH_NONE;
  a->producer[t] = producer;
  a->source[t] = source;
  a->bytes[t] = a->resident[t] = g->tensor_bytes[source] * share;
  a->tensor_flags[t] = g->tensor_flags ? g->tensor_flags[source] : 0;
  return a->n_tensors++;
}

void berth_i_add_edge(berth_i_arena *a, int32_t tensor, int32_t op) {
  if (!berth_i_arena_edges(a, 1)) return;
  a->edge_tensor[a->n_edges] = tensor;
  a->edge_op[a->n_edges++] = op;
}

void berth_i_begin_collective(berth_i_arena *a, berth_collective_kind kind, double bytes,
                              int32_t count) {
  size_t need = (size_t)a->n_collectives + 1;
  if (a->st == BERTH_OK)
    a->st = BERTH_I_POOL_GROW(&a->pool, a->collective, a->cap_collectives, need);
  if (a->st == BERTH_OK)
    a->collective[a->n_collectives++] = (berth_collective){ kind, bytes, count, 0, NULL, 0, NULL };
}

/* @return whether there is space for it */
static bool add_to_collective(berth_i_arena *a, int32_t op) {
  const column c[] = { COLUMN(a->coll_ops) };
  if (!reserve(a, c, COUNT(c), &a->cap_coll_ops, a->n_coll_ops, 1, "members of collectives"))
    return false;
  a->coll_ops[a->n_coll_ops++] = op;
  return true;
}

void berth_i_add_member(berth_i_arena *a, int32_t op) {
  if (add_to_collective(a, op)) a->collective[a->n_collectives - 1].n_members++;
}

void berth_i_add_waiting(berth_i_arena *a, int32_t op) {
  if (add_to_collective(a, op)) a->collective[a->n_collectives - 1].n_consumers++;
}

/* ---- life ---- */

static berth_status alloc_maps(berth_i_arena *a) {
  size_t ops = (size_t)a->d->n_ops, tensors = (size_t)a->d->g->n_tensors,
         devices = (size_t)a->d->n_devices;
  a->form = berth_i_pool_alloc(&a->pool, ops, sizeof *a->form);
  a->repeated = berth_i_pool_alloc(&a->pool, ops, 1);
  a->first_op = berth_i_pool_alloc(&a->pool, ops, sizeof *a->first_op);
  a->stamp = berth_i_pool_alloc(&a->pool, ops, sizeof *a->stamp);
  a->first_tensor = berth_i_pool_alloc(&a->pool, tensors, sizeof *a->first_tensor);
  a->version = berth_i_pool_alloc(&a->pool, tensors, sizeof *a->version);
  a->reduction = berth_i_pool_alloc(&a->pool, tensors, sizeof *a->reduction);
  a->key_bucket = berth_i_pool_alloc(&a->pool, a->n_keys, sizeof *a->key_bucket);
  a->concat_op = berth_i_pool_alloc(&a->pool, devices, sizeof *a->concat_op);
  a->class_of = berth_i_pool_zalloc(&a->pool, devices, sizeof *a->class_of);
  return berth_i_pool_status(&a->pool);
}

berth_status berth_i_arena_new(berth_deploy *d, berth_i_arena **out) {
  berth_i_arena *a = berth_i_pool_object(d->ctx, sizeof *a);
  if (!a) return berth_i_nomem(d->ctx);
  a->d = d;
  a->n_keys = (size_t)(d->n_groups > d->n_places ? d->n_groups : d->n_places);
  a->type[0] = a->no_name;
  a->class_size[0] = d->n_devices;
  if (alloc_maps(a) != BERTH_OK) {
    berth_i_arena_release(a);
    return BERTH_ENOMEM;
  }
  *out = a;
  return BERTH_OK;
}

void berth_i_arena_release(berth_i_arena *a) {
  if (a) berth_i_pool_free(&a->pool);
}

void berth_i_arena_empty(berth_i_arena *a) {
  size_t tensors = (size_t)a->d->g->n_tensors;
  a->st = BERTH_OK;
  a->n_ops = a->n_tensors = a->n_edges = a->n_collectives = a->n_coll_ops = 0;
  a->versions.n = a->ids.n = a->reductions.n = a->links.n = a->buckets.n = 0;
  memset(a->version, 0xff, tensors * sizeof *a->version);
  memset(a->reduction, 0xff, tensors * sizeof *a->reduction);
  memset(a->stamp, 0xff, (size_t)a->d->n_ops * sizeof *a->stamp);
  memset(a->key_bucket, 0xff, a->n_keys * sizeof *a->key_bucket);
}
