/* Collectives into tensors and ops: each message of a schedule (expand_schedule.c) becomes a tensor
 * between ops of no time on the members' devices. The result is an ordinary graph with a map back.
 * O(ops + edges + messages). */
#include "expand_internal.h"
#include <stdio.h>

static const char *const kind_names[] = {
  "allreduce", "allgather", "reducescatter", "broadcast", "alltoall", "barrier", "parameter-server"
};

enum { POLL_EVERY = 4096, MOST_SEGMENT_OPS = 1 << 26 };

struct berth_expansion {
  berth_i_pool pool;
  berth_ctx *ctx;
  berth_graph *g;
  int32_t n_old_tensors;
  int32_t *device;      /* ops of g */
  int32_t *collective;  /* the same */
  berth_piece *piece;   /* new tensors */
  size_t n_ops, n_pieces, cap_device, cap_collective, cap_piece;
};

typedef struct expander {
  berth_i_pool pool;
  const berth_graph *g;
  const berth_expand_options *o;
  int32_t n_devices;
  const int32_t *device; /* [ops] as given */
  berth_graph_builder *b;
  berth_expansion *x;
  berth_i_schedule schedule;
  int32_t *order, *first; /* [n_devices] devices by group and number; the lowest device of each
                             one's group */
  double *seconds;        /* [types] of the current op */
  /* of the current collective */
  int32_t k;
  const berth_collective *c;
  int32_t n;             /* devices that have members: the positions */
  int32_t *position;     /* [n_devices] BERTH_NONE: no member there */
  int32_t *at;           /* [n_devices] device of each position */
  int32_t *state, *next; /* [n_devices] last op of each position, and that of the present step */
  double *added;         /* [n_devices] bytes that a position adds in the present step */
  int32_t *start, *size; /* [n_devices] groups of positions */
  int32_t steps;         /* so far */
  berth_i_rounds rounds;
} expander;

berth_expand_options berth_expand_default(void) {
  return (berth_expand_options){ .algorithm = BERTH_EXPAND_RING,
                                 .reduce_rate = INFINITY,
                                 .segments = 8 };
}

static void set_defaults(void *out) { *(berth_expand_options *)out = berth_expand_default(); }

static const berth_choice *const algorithms[] = {
  BERTH_I_CHOICE("ring", "Neighbours only, in a ring or a chain."),
  BERTH_I_CHOICE("tree", "A binomial tree to the first device and back."),
  BERTH_I_CHOICE("halving", "Recursive halving and doubling."),
  BERTH_I_CHOICE("hierarchical", "In groups of devices that fast links join, then across."),
  BERTH_I_CHOICE("direct", "Everyone with everyone, at once."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_expand_options, name, kind)

const berth_option_table *berth_expand_option_table(void) {
  static const berth_option options[] = {
    { FIELD(algorithm, CHOICE), .choices = algorithms, .text = "who sends what to whom" },
    { FIELD(groups, OTHER), .takes = "array",
      .fallback = "hierarchical: by the topology; else all one group",
      .text = "group of each device: devices that fast links join" },
    { FIELD(reduce_rate, QUANTITY), .unit = BERTH_BYTES_PER_SECOND, .above = 1, .high = INFINITY,
      .fallback = "in no time",
      .text = "rate at which a device of speed 1 adds what it has received" },
    { FIELD(segments, WHOLE), .low = 1,
      .text = "segments of a broadcast that is passed on as it comes" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("expand", options, berth_expand_options, set_defaults);
}

/* ---- checks ---- */

static berth_status check_options(berth_ctx *ctx, const berth_expand_options *o) {
  berth_status st = berth_options_check(ctx, berth_expand_option_table(), o);
  if (st != BERTH_OK) return st;
  if (o->algorithm == BERTH_EXPAND_HIERARCHICAL && !o->groups)
    return berth_i_fail(ctx, BERTH_EINVAL, "expand: hierarchical needs groups of devices");
  return BERTH_OK;
}

static berth_status check_devices(const berth_graph *g, int32_t n_devices, const int32_t *device) {
  if (n_devices < 1)
    return berth_i_fail(g->ctx, BERTH_EINVAL, "expand: %d devices, needs 1 or more",
                        (int)n_devices);
  char label[80];
  for (int32_t v = 0; v < g->n_ops; v++) {
    int32_t pin = berth_i_pin(g, v);
    if (device[v] < 0 || device[v] >= n_devices)
      return berth_i_fail(g->ctx, BERTH_EINVAL, "expand: %s is on device %d of %d",
                          berth_i_op_label(g, v, label, sizeof label), (int)device[v],
                          (int)n_devices);
    if (pin != BERTH_NONE && pin != device[v])
      return berth_i_fail(g->ctx, BERTH_EINVAL, "expand: %s is pinned to device %d, not device %d",
                          berth_i_op_label(g, v, label, sizeof label), (int)pin, (int)device[v]);
  }
  return BERTH_OK;
}

/* ---- what is added ---- */

static berth_status note_op(berth_expansion *x, int32_t device, int32_t collective) {
  berth_status st = BERTH_I_POOL_GROW(&x->pool, x->device, x->cap_device, x->n_ops + 1);
  if (st != BERTH_OK) return st;
  st = BERTH_I_POOL_GROW(&x->pool, x->collective, x->cap_collective, x->n_ops + 1);
  if (st != BERTH_OK) return st;
  x->device[x->n_ops] = device;
  x->collective[x->n_ops++] = collective;
  return BERTH_OK;
}

static const double *reducing_seconds(expander *e, double bytes) {
  if (bytes == 0 || isinf(e->o->reduce_rate)) return NULL;
  for (int32_t i = 0; i < e->g->n_types; i++) e->seconds[i] = bytes / e->o->reduce_rate;
  return e->seconds;
}

/* @param step BERTH_NONE: waits for the members  @param adds bytes */
static berth_status add_op(expander *e, int32_t position, int32_t step, double adds, int32_t *id) {
  const char *kind = kind_names[e->c->kind];
  char name[64];
  berth_op op = berth_op_default();
  if (step == BERTH_NONE) snprintf(name, sizeof name, "%s%ld.in", kind, (long)e->k);
  else snprintf(name, sizeof name, "%s%ld.step%ld", kind, (long)e->k, (long)step);
  op.name = name;
  op.kind = kind;
  op.pin = e->at[position];
  op.flags = BERTH_OP_COMMUNICATION;
  op.seconds = reducing_seconds(e, adds);
  berth_status st;
  if ((st = berth_graph_builder_add_op(e->b, &op, id)) != BERTH_OK) return st;
  return note_op(e->x, op.pin, e->k);
}

static berth_status add_tensor(expander *e, int32_t producer, double bytes, berth_piece piece,
                               int32_t *id) {
  const berth_tensor t = { .producer = producer, .bytes = bytes, .resident_bytes = 0 };
  berth_expansion *x = e->x;
  berth_status st = x->n_pieces % POLL_EVERY == 0 ? berth_i_interrupted(x->ctx) : BERTH_OK;
  if (st == BERTH_OK)
    st = BERTH_I_POOL_GROW(&x->pool, x->piece, x->cap_piece, x->n_pieces + 1);
  if (st == BERTH_OK) st = berth_graph_builder_add_tensor(e->b, &t, id);
  if (st != BERTH_OK) return st;
  piece.collective = e->k;
  x->piece[x->n_pieces++] = piece;
  return BERTH_OK;
}

static berth_status connect(expander *e, int32_t src, int32_t dst, double bytes,
                            berth_piece piece) {
  int32_t t;
  berth_status st = add_tensor(e, src, bytes, piece, &t);
  return st == BERTH_OK ? berth_graph_builder_add_consumer(e->b, t, dst) : st;
}

static berth_status order_only(expander *e, int32_t src, int32_t dst) {
  return connect(e, src, dst, 0, (berth_piece){ .step = BERTH_NONE });
}

/* ---- playing a schedule ---- */

typedef struct play {
  double block;      /* bytes */
  int32_t blocks;    /* of the vector */
  bool backwards;    /* from the last step to the first, receivers send, and what is received is
                        added */
} play;

static berth_i_message nth(const expander *e, const play *how, size_t i) {
  const berth_i_schedule *s = &e->schedule;
  berth_i_message m = s->at[how->backwards ? s->n - 1 - i : i];
  int32_t src = m.src;
  if (!how->backwards) return m;
  m.src = m.dst;
  m.dst = src;
  m.step = s->steps - 1 - m.step;
  return m;
}

static berth_status receive(expander *e, const play *how, berth_i_message m) {
  if (e->next[m.dst] == BERTH_NONE) {
    berth_status st;
    if ((st = add_op(e, m.dst, e->steps + m.step, e->added[m.dst], &e->next[m.dst])) != BERTH_OK)
      return st;
    if ((st = order_only(e, e->state[m.dst], e->next[m.dst])) != BERTH_OK) return st;
  }
  return connect(e, e->state[m.src], e->next[m.dst], m.count * how->block,
                 (berth_piece){ .step = e->steps + m.step,
                                .blocks = how->blocks,
                                .first = m.first,
                                .count = m.count,
                                .stride = m.stride,
                                .reduces = how->backwards });
}

/* Messages first..end-1 are those of one step: all are sent from what was there before it. */
static berth_status play_step(expander *e, const play *how, size_t first, size_t end) {
  berth_status st = BERTH_OK;
  for (int32_t j = 0; j < e->n; j++) {
    e->next[j] = BERTH_NONE;
    e->added[j] = 0;
  }
  for (size_t i = first; how->backwards && i < end; i++) {
    berth_i_message m = nth(e, how, i);
    e->added[m.dst] += m.count * how->block;
  }
  for (size_t i = first; i < end && st == BERTH_OK; i++) st = receive(e, how, nth(e, how, i));
  for (int32_t j = 0; j < e->n; j++) {
    if (e->next[j] != BERTH_NONE) e->state[j] = e->next[j];
  }
  return st;
}

static berth_status play_all(expander *e, const play *how) {
  size_t first = 0, end, n = e->schedule.n;
  berth_status st = BERTH_OK;
  for (; first < n && st == BERTH_OK; first = end) {
    int32_t step = nth(e, how, first).step;
    for (end = first; end < n && nth(e, how, end).step == step; end++) continue;
    st = play_step(e, how, first, end);
  }
  e->steps += e->schedule.steps;
  return st;
}

/* ---- kinds ---- */

static berth_status gather(expander *e, double block, bool backwards) {
  const play how = { block, e->n, backwards };
  berth_i_schedule_clear(&e->schedule);
  berth_status st = berth_i_gather(&e->schedule, e->o->algorithm, &e->rounds, backwards ? -1 : 1);
  return st == BERTH_OK ? play_all(e, &how) : st;
}

/* The whole vector from one position to all, or, added up, from all to one. */
static berth_status spread(expander *e, berth_expand_algorithm by, int32_t root, double bytes,
                           bool backwards) {
  const play how = { bytes, 1, backwards };
  berth_i_schedule_clear(&e->schedule);
  berth_status st = berth_i_spread(&e->schedule, by, &e->rounds, root);
  return st == BERTH_OK ? play_all(e, &how) : st;
}

static berth_status there_and_back(expander *e, berth_expand_algorithm by, int32_t root,
                                   double bytes) {
  berth_status st = spread(e, by, root, bytes, true);
  return st == BERTH_OK ? spread(e, by, root, bytes, false) : st;
}

static berth_status all_reduce(expander *e, double bytes) {
  if (e->o->algorithm == BERTH_EXPAND_TREE) return there_and_back(e, BERTH_EXPAND_TREE, 0, bytes);
  berth_status st = gather(e, bytes / e->n, true);
  return st == BERTH_OK ? gather(e, bytes / e->n, false) : st;
}

/* After a gather every device has all parts; rings and trees wait as long as an all-reduce does. */
static berth_status barrier(expander *e) {
  bool once = e->o->algorithm == BERTH_EXPAND_HALVING || e->o->algorithm == BERTH_EXPAND_DIRECT;
  return once ? gather(e, 0, false) : all_reduce(e, 0);
}

static berth_status exchange(expander *e) {
  const play how = { e->c->bytes / e->n, e->n, false };
  berth_i_schedule_clear(&e->schedule);
  berth_status st = berth_i_exchange(&e->schedule, e->o->algorithm, &e->rounds);
  return st == BERTH_OK ? play_all(e, &how) : st;
}

/* A segment is passed on as soon as it is there. */
static berth_status pass_segment(expander *e, const berth_i_message *m, int32_t segment,
                                 int32_t *got) {
  int32_t segments = e->o->segments,
          *own = &got[(size_t)m->dst * (size_t)segments + (size_t)segment];
  int32_t from = got[(size_t)m->src * (size_t)segments + (size_t)segment];
  berth_status st = add_op(e, m->dst, m->step + segment, 0, own);
  if (st != BERTH_OK) return st;
  int32_t before = segment > 0 ? own[-1] : e->state[m->dst];
  if ((st = order_only(e, before, *own)) != BERTH_OK) return st;
  return connect(e, from, *own, e->c->bytes / segments,
                 (berth_piece){ .step = m->step + segment,
                                .blocks = segments,
                                .first = segment,
                                .count = 1,
                                .stride = 1 });
}

static berth_status pass_segments(expander *e, int32_t root, int32_t *got) {
  int32_t segments = e->o->segments;
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < segments; k++)
    got[(size_t)root * (size_t)segments + (size_t)k] = e->state[root];
  for (int32_t k = 0; k < segments; k++) {
    for (size_t i = 0; i < e->schedule.n && st == BERTH_OK; i++)
      st = pass_segment(e, &e->schedule.at[i], k, got);
  }
  for (int32_t j = 0; j < e->n && st == BERTH_OK; j++)
    e->state[j] = got[(size_t)(j + 1) * (size_t)segments - 1];
  return st;
}

static berth_status check_segments(const expander *e) {
  double ops = (double)e->o->segments * (e->n - 1);
  if (ops <= MOST_SEGMENT_OPS) return BERTH_OK;
  return berth_i_fail(
      e->g->ctx, BERTH_EINVAL,
      "expand: collective %ld: %d segments to %d devices make %.0f ops, more than %d", (long)e->k,
      (int)e->o->segments, (int)e->n - 1, ops, (int)MOST_SEGMENT_OPS);
}

static berth_status broadcast_whole(expander *e, int32_t root) {
  size_t n = (size_t)e->n * (size_t)e->o->segments;
  berth_status st = check_segments(e);
  if (st != BERTH_OK) return st;
  int32_t *got = berth_i_alloc(e->g->ctx, n, sizeof *got);
  if (!got) return berth_i_nomem(e->g->ctx);
  berth_i_schedule_clear(&e->schedule);
  st = berth_i_spread(&e->schedule, e->o->algorithm, &e->rounds, root);
  if (st == BERTH_OK) st = pass_segments(e, root, got);
  berth_i_free(e->g->ctx, got, n, sizeof *got);
  return st;
}

static berth_status broadcast(expander *e, int32_t root) {
  const play how = { e->c->bytes / e->n, e->n, false };
  if (e->o->algorithm != BERTH_EXPAND_HALVING) return broadcast_whole(e, root);
  berth_i_schedule_clear(&e->schedule);
  berth_status st = berth_i_scatter(&e->schedule, e->n, root);
  if (st == BERTH_OK) st = play_all(e, &how);
  return st == BERTH_OK ? gather(e, e->c->bytes / e->n, false) : st;
}

static berth_status communicate(expander *e) {
  double b = e->c->bytes;
  int32_t root = e->position[e->device[e->c->members[0]]];
  switch (e->c->kind) {
    case BERTH_ALLREDUCE: return all_reduce(e, b);
    case BERTH_ALLGATHER: return gather(e, b, false);
    case BERTH_REDUCESCATTER: return gather(e, b / e->n, true);
    case BERTH_BROADCAST: return broadcast(e, root);
    case BERTH_ALLTOALL: return exchange(e);
    case BERTH_BARRIER: return barrier(e);
    case BERTH_PARAMETER_SERVER: return there_and_back(e, BERTH_EXPAND_DIRECT, root, b);
  }
  return berth_i_fail(e->g->ctx, BERTH_EINVAL, "expand: collective %ld: unknown kind %d",
                      (long)e->k, (int)e->c->kind);
}

/* ---- one collective ---- */

static int32_t group_of(const expander *e, int32_t device) {
  return e->o->groups ? e->o->groups[device] : 0;
}

static void find_positions(expander *e) {
  e->n = e->rounds.n_groups = 0;
  int32_t d;
  for (d = 0; d < e->n_devices; d++) e->position[d] = BERTH_NONE;
  for (int32_t i = 0; i < e->c->n_members; i++) e->position[e->device[e->c->members[i]]] = 0;
  for (int32_t i = 0; i < e->n_devices; i++) {
    d = e->order[i];
    if (e->position[d] == BERTH_NONE) continue;
    if (e->n == 0 || group_of(e, d) != group_of(e, e->at[e->n - 1])) {
      e->start[e->rounds.n_groups] = e->n;
      e->size[e->rounds.n_groups++] = 0;
    }
    e->size[e->rounds.n_groups - 1]++;
    e->position[d] = e->n;
    e->at[e->n++] = d;
  }
  e->rounds.n = e->n;
  e->rounds.start = e->start;
  e->rounds.size = e->size;
}

static berth_status start_members(expander *e) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < e->n && st == BERTH_OK; i++)
    st = add_op(e, i, BERTH_NONE, 0, &e->state[i]);
  for (int32_t i = 0; i < e->c->n_members && st == BERTH_OK; i++) {
    int32_t member = e->c->members[i];
    st = order_only(e, member, e->state[e->position[e->device[member]]]);
  }
  return st;
}

static bool is_consumer_at(const expander *e, int32_t consumer, int32_t position) {
  int32_t own = e->position[e->device[consumer]];
  return own == position || own == BERTH_NONE;
}

static berth_status connect_consumers(expander *e, int32_t position) {
  int32_t t = BERTH_NONE;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < e->c->n_consumers && st == BERTH_OK; i++) {
    if (!is_consumer_at(e, e->c->consumers[i], position)) continue;
    if (t == BERTH_NONE)
      st = add_tensor(e, e->state[position], 0, (berth_piece){ .step = BERTH_NONE }, &t);
    if (st == BERTH_OK) st = berth_graph_builder_add_consumer(e->b, t, e->c->consumers[i]);
  }
  return st;
}

static berth_status expand_one(expander *e, int32_t k) {
  e->k = k;
  e->c = &e->g->collectives[k];
  e->steps = 0;
  find_positions(e);
  berth_status st;
  if ((st = start_members(e)) != BERTH_OK) return st;
  if (e->n > 1 && (st = communicate(e)) != BERTH_OK) return st;
  for (int32_t i = 0; i < e->n && st == BERTH_OK; i++) st = connect_consumers(e, i);
  return st == BERTH_OK ? berth_i_interrupted(e->g->ctx) : st;
}

/* ---- the whole ---- */

static int32_t lowest_of_group(const expander *e, int32_t device) {
  int32_t d = 0;
  while (group_of(e, d) != group_of(e, device)) d++;
  return d;
}

static void order_devices(expander *e) {
  int32_t n = 0;
  for (int32_t d = 0; d < e->n_devices; d++) e->first[d] = lowest_of_group(e, d);
  for (int32_t d = 0; d < e->n_devices; d++) {
    for (int32_t i = d; e->first[d] == d && i < e->n_devices; i++) {
      if (e->first[i] == d) e->order[n++] = i;
    }
  }
}

static berth_status copy_graph(expander *e) {
  berth_op op;
  berth_status st = BERTH_OK;
  for (int32_t v = 0; v < e->g->n_ops && st == BERTH_OK; v++) {
    if ((st = berth_graph_op(e->g, v, &op)) != BERTH_OK) return st;
    if ((st = berth_graph_builder_add_op(e->b, &op, NULL)) == BERTH_OK)
      st = note_op(e->x, e->device[v], BERTH_NONE);
  }
  return st == BERTH_OK ? berth_i_copy_tensors(e->g, e->b) : st;
}

/* What was read before is read in the same order; what collectives send comes behind. */
static void restore_inputs(const berth_graph *g, berth_graph *more) {
  for (int32_t v = 0; v < g->n_ops; v++) {
    size_t n = (size_t)(g->in_at[v + 1] - g->in_at[v]);
    memcpy(more->in + more->in_at[v], g->in + g->in_at[v], n * sizeof *g->in);
  }
}

static berth_status expand_all(expander *e) {
  berth_status st = copy_graph(e);
  order_devices(e);
  for (int32_t k = 0; k < e->g->n_collectives && st == BERTH_OK; k++) st = expand_one(e, k);
  if (st == BERTH_OK) st = berth_graph_builder_finish(e->b, &e->x->g);
  if (st == BERTH_OK) restore_inputs(e->g, e->x->g);
  return st;
}

static berth_status alloc_expander(expander *e) {
  berth_i_pool *pool = &e->pool;
  size_t n = (size_t)e->n_devices;
  e->order = berth_i_pool_alloc(pool, n, sizeof *e->order);
  e->first = berth_i_pool_alloc(pool, n, sizeof *e->first);
  e->position = berth_i_pool_alloc(pool, n, sizeof *e->position);
  e->at = berth_i_pool_alloc(pool, n, sizeof *e->at);
  e->state = berth_i_pool_alloc(pool, n, sizeof *e->state);
  e->next = berth_i_pool_alloc(pool, n, sizeof *e->next);
  e->added = berth_i_pool_alloc(pool, n, sizeof *e->added);
  e->start = berth_i_pool_alloc(pool, n, sizeof *e->start);
  e->size = berth_i_pool_alloc(pool, n, sizeof *e->size);
  e->seconds = berth_i_pool_alloc(pool, (size_t)e->g->n_types, sizeof *e->seconds);
  return berth_i_pool_status(pool);
}

static berth_status new_expansion(const berth_graph *g, berth_expansion **out) {
  berth_expansion *x = berth_i_pool_object(g->ctx, sizeof *x);
  if (!x) return berth_i_nomem(g->ctx);
  x->ctx = g->ctx;
  x->n_old_tensors = g->n_tensors;
  *out = x;
  return BERTH_OK;
}

berth_status berth_graph_expand(const berth_graph *g, int32_t n_devices, const int32_t *device,
                                const berth_expand_options *opts, berth_expansion **out) {
  if (!g || !out) return BERTH_EINVAL;
  const berth_expand_options o = opts ? *opts : berth_expand_default();
  expander e = { .pool = berth_i_pool_empty(g->ctx),
                 .g = g,
                 .o = &o,
                 .n_devices = n_devices,
                 .device = device,
                 .schedule = { .pool = &e.pool } };
  berth_status st;
  if ((st = check_options(g->ctx, &o)) != BERTH_OK) return st;
  if ((st = check_devices(g, n_devices, device)) != BERTH_OK) return st;
  if ((st = new_expansion(g, &e.x)) != BERTH_OK) return st;
  if ((st = berth_i_builder_like(g, &e.b)) != BERTH_OK) goto done;
  if ((st = alloc_expander(&e)) == BERTH_OK) st = expand_all(&e);
done:
  berth_i_pool_free(&e.pool);
  berth_graph_builder_release(e.b);
  if (st == BERTH_OK) *out = e.x;
  else berth_expansion_release(e.x);
  return st;
}

void berth_expansion_release(berth_expansion *x) {
  if (!x) return;
  berth_graph *g = x->g;
  berth_i_pool_free(&x->pool);
  berth_graph_release(g); /* last: it may hold the context */
}

berth_graph *berth_expansion_graph(const berth_expansion *x) { return x->g; }
const int32_t *berth_expansion_device(const berth_expansion *x) { return x->device; }
const int32_t *berth_expansion_collective(const berth_expansion *x) { return x->collective; }

berth_status berth_expansion_piece(const berth_expansion *x, int32_t tensor, berth_piece *out) {
  if (!x) return BERTH_EINVAL;
  if (tensor < 0 || tensor >= x->g->n_tensors)
    return berth_i_fail(x->ctx, BERTH_EINVAL, "expansion: there is no tensor %ld among %ld",
                        (long)tensor, (long)x->g->n_tensors);
  if (tensor < x->n_old_tensors)
    *out = (berth_piece){ .collective = BERTH_NONE, .step = BERTH_NONE };
  else *out = x->piece[tensor - x->n_old_tensors];
  return BERTH_OK;
}
