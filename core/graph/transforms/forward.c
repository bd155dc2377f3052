/* The forward ops of a training graph, and which of them each other op joins: a backward op its
 * twin, others the forward op among their producers that has most parameters. Times are those of
 * the forward pass; memory includes the joined ops on request. O(ops log ops + edges). */
#include "transform_internal.h"

typedef struct passes {
  berth_i_pool pool;
  const berth_graph *g;
  const berth_forward_options *o;
  berth_i_sharing sharing;
  int32_t *place;     /* [ops] in topological order */
  uint8_t *forward;   /* [ops] */
  uint8_t *tainted;   /* [collectives] a member is not forward */
  int32_t *image;     /* [ops] forward op that it belongs to, or is; BERTH_NONE: not determined
                         yet */
  int32_t *lead;      /* [ops] at the root of a group: its lowest forward op */
  double *param, *workspace; /* [ops] of forward ops */
  int32_t *group, *number;   /* [ops] */
  double *seconds;    /* [types] of the current op */
  berth_graph_builder *b;
} passes;

berth_forward_options berth_forward_default(void) {
  return (berth_forward_options){ .memory_fraction = 1 };
}

/* ---- which are forward ---- */

/* Of two twins without flags the later one is backward. */
static bool is_late_twin(const passes *p, int32_t v) {
  int32_t twin = berth_i_twin(p->g, v);
  if (twin == BERTH_NONE
      || (berth_i_flags(p->g, v) | berth_i_flags(p->g, twin)) & BERTH_OP_BACKWARD)
    return false;
  return p->place[twin] < p->place[v];
}

static bool follows_backward(const passes *p, int32_t v) {
  const berth_graph *g = p->g;
  for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
    if (!p->forward[g->producer[g->in[i]]]) return true;
  }
  for (int32_t i = g->after ? g->after_at[v] : 0; g->after && i < g->after_at[v + 1]; i++) {
    if (p->tainted[g->after[i]]) return true;
  }
  return false;
}

static bool is_flagged(const berth_graph *g, int32_t v) {
  return berth_i_flags(g, v) & (BERTH_OP_BACKWARD | BERTH_OP_UPDATE);
}

static void classify(passes *p) {
  const berth_graph *g = p->g;
  for (int32_t k = 0; k < g->n_ops; k++) p->place[g->topo[k]] = k;
  for (int32_t k = 0; k < g->n_ops; k++) {
    int32_t v = g->topo[k];
    p->forward[v] = !is_flagged(g, v) && !is_late_twin(p, v) && !follows_backward(p, v);
    for (int32_t i = g->wait ? g->wait_at[v] : 0; g->wait && i < g->wait_at[v + 1]; i++)
      p->tainted[g->wait[i]] |= !p->forward[v];
  }
}

static berth_status check_collective(const passes *p, int32_t k) {
  const berth_collective *c = &p->g->collectives[k];
  int32_t yes = BERTH_NONE, no = BERTH_NONE;
  for (int32_t j = 0; j < c->n_members; j++) {
    if (p->forward[c->members[j]]) yes = c->members[j];
    else no = c->members[j];
  }
  if (yes == BERTH_NONE || no == BERTH_NONE) return BERTH_OK;
  char one[80], two[80];
  return berth_i_fail(p->g->ctx, BERTH_EINVAL,
                      "forward: collective %ld has forward and other members: %s, %s", (long)k,
                      berth_i_op_label(p->g, yes, one, sizeof one),
                      berth_i_op_label(p->g, no, two, sizeof two));
}

static berth_status check_passes(const passes *p) {
  int32_t n = 0;
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < p->g->n_ops; k++) n += p->forward[k];
  if (n == 0) return berth_i_fail(p->g->ctx, BERTH_EINVAL, "forward: no op is a forward op");
  for (int32_t k = 0; k < p->g->n_collectives && st == BERTH_OK; k++) st = check_collective(p, k);
  return st;
}

/* ---- what the others join ---- */

static int32_t with_most_parameters(const passes *p, int32_t v) {
  const berth_graph *g = p->g;
  int32_t best = BERTH_NONE;
  for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
    int32_t u = p->image[g->producer[g->in[i]]];
    double bytes = u == BERTH_NONE ? 0 : berth_i_param(g, u),
           most = best == BERTH_NONE ? 0 : berth_i_param(g, best);
    if (bytes > most || (bytes > 0 && bytes == most && u < best)) best = u;
  }
  return best;
}

static int32_t with_most_bytes(const passes *p, int32_t v) {
  const berth_graph *g = p->g;
  int32_t best = BERTH_NONE;
  double most = -1;
  for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
    int32_t t = g->in[i], u = p->image[g->producer[t]];
    if (u == BERTH_NONE || g->tensor_bytes[t] < most || (g->tensor_bytes[t] == most && u > best))
      continue;
    best = u;
    most = g->tensor_bytes[t];
  }
  return best;
}

static int32_t image_of(const passes *p, int32_t v) {
  int32_t twin = berth_i_twin(p->g, v), best = BERTH_NONE;
  if (p->forward[v]) return v;
  if (twin != BERTH_NONE && p->forward[twin]) return twin;
  if (berth_i_flags(p->g, v) & BERTH_OP_UPDATE) best = with_most_parameters(p, v);
  if (best == BERTH_NONE) best = with_most_bytes(p, v);
  return best != BERTH_NONE ? best : p->lead[berth_i_sharing_root(&p->sharing, v)];
}

static int32_t image_of_readers(const passes *p, int32_t v) {
  const berth_graph *g = p->g;
  int32_t lowest = BERTH_NONE;
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) {
    for (int32_t j = g->use_at[g->out[i]]; j < g->use_at[g->out[i] + 1]; j++) {
      int32_t w = g->use[j];
      if (p->image[w] != BERTH_NONE && (lowest == BERTH_NONE || w < lowest)) lowest = w;
    }
  }
  return lowest == BERTH_NONE ? BERTH_NONE : p->image[lowest];
}

static void find_leads(passes *p) {
  memset(p->lead, 0xff, (size_t)p->g->n_ops * sizeof *p->lead);
  for (int32_t v = p->g->n_ops - 1; v >= 0; v--) {
    if (p->forward[v]) p->lead[berth_i_sharing_root(&p->sharing, v)] = v;
  }
}

/* Along the order from producers; against it from readers; what is left, to the lowest forward
 * op. */
static void find_images(passes *p) {
  const berth_graph *g = p->g;
  int32_t lowest = 0;
  while (!p->forward[lowest]) lowest++;
  memset(p->image, 0xff, (size_t)g->n_ops * sizeof *p->image);
  for (int32_t k = 0; k < g->n_ops; k++) p->image[g->topo[k]] = image_of(p, g->topo[k]);
  for (int32_t k = g->n_ops - 1; k >= 0; k--) {
    if (p->image[g->topo[k]] == BERTH_NONE) p->image[g->topo[k]] = image_of_readers(p, g->topo[k]);
  }
  for (int32_t k = 0; k < g->n_ops; k++) {
    if (p->image[k] == BERTH_NONE) p->image[k] = lowest;
  }
}

static berth_status tie(passes *p, int32_t v) {
  int32_t a = berth_i_sharing_root(&p->sharing, v),
          b = berth_i_sharing_root(&p->sharing, p->image[v]);
  if (a == b) return BERTH_OK;
  berth_i_apart why = berth_i_sharing_apart(&p->sharing, a, b);
  if (why != BERTH_I_TOGETHER)
    return berth_i_sharing_refuse(&p->sharing, "forward", v, p->image[v], why);
  berth_i_sharing_join(&p->sharing, a, b);
  return BERTH_OK;
}

static berth_status tie_all(passes *p) {
  berth_status st = BERTH_OK;
  for (int32_t v = 0; v < p->g->n_ops && st == BERTH_OK; v++) st = tie(p, v);
  return st;
}

/* ---- groups and memory ---- */

/* Forward ops that share a set share a device. */
static void number_groups(passes *p) {
  int32_t v, root, n = 0, *count = p->lead, *id = p->place; /* both done with */
  memset(count, 0, (size_t)p->g->n_ops * sizeof *count);
  memset(id, 0xff, (size_t)p->g->n_ops * sizeof *id);
  for (v = 0; v < p->g->n_ops; v++) count[berth_i_sharing_root(&p->sharing, v)] += p->forward[v];
  for (v = 0; v < p->g->n_ops; v++) {
    root = berth_i_sharing_root(&p->sharing, v);
    if (p->forward[v] && count[root] > 1 && id[root] == BERTH_NONE) id[root] = n++;
    p->group[v] = id[root];
  }
}

static double running_bytes(const passes *p, int32_t v) {
  const berth_graph *g = p->g;
  double sum = berth_i_workspace(g, v);
  for (int32_t i = g->out_at[v]; i < g->out_at[v + 1]; i++) sum += berth_i_resident(g, g->out[i]);
  for (int32_t i = g->in_at[v]; i < g->in_at[v + 1]; i++) {
    if (!p->forward[g->producer[g->in[i]]]) sum += berth_i_resident(g, g->in[i]);
  }
  return sum;
}

static void count_memory(passes *p) {
  for (int32_t v = 0; v < p->g->n_ops; v++) {
    p->param[v] = berth_i_param(p->g, v);
    p->workspace[v] = berth_i_workspace(p->g, v);
  }
  for (int32_t v = 0; p->o->memory == BERTH_FORWARD_TRAINING && v < p->g->n_ops; v++) {
    if (p->forward[v]) continue;
    int32_t f = p->image[v];
    p->param[f] += berth_i_param(p->g, v);
    p->workspace[f] = fmax(p->workspace[f], running_bytes(p, v));
  }
}

/* ---- the graph ---- */

static bool can_run(const passes *p, int32_t v, int32_t type) {
  const berth_i_sharing *s = &p->sharing;
  size_t root = (size_t)berth_i_sharing_root(s, v);
  return s->can[root * (size_t)s->words + (size_t)(type / 64)] >> (type % 64) & 1;
}

static berth_status refuse_type(const passes *p, int32_t v, int32_t type) {
  char label[80];
  return berth_i_fail(p->g->ctx, BERTH_EUNSUPPORTED,
                      "forward: %s has no times, so it cannot be kept off device type \"%s\", "
                      "which an op that belongs to it cannot run",
                      berth_i_op_label(p->g, v, label, sizeof label), p->g->types[type]);
}

/* Times of types that an op that belongs to it cannot run are taken from it. */
static berth_status limit_types(passes *p, int32_t v, berth_op *op) {
  for (int32_t k = 0; k < p->g->n_types; k++) {
    bool can = can_run(p, v, k);
    if (!op->seconds && !can) return refuse_type(p, v, k);
    p->seconds[k] = can && op->seconds ? op->seconds[k] : BERTH_UNSUPPORTED;
  }
  if (!op->seconds) return BERTH_OK;
  op->seconds = p->seconds;
  if (!can_run(p, v, p->g->n_types) && (p->g->n_types > 1 || p->g->types[0][0])) {
    op->flop = op->bytes = 0;
    op->shape = NULL;
  }
  return BERTH_OK;
}

static berth_status add_op(passes *p, int32_t v) {
  berth_op op;
  berth_status st = berth_graph_op(p->g, v, &op);
  if (st == BERTH_OK) st = limit_types(p, v, &op);
  if (st != BERTH_OK) return st;
  op.param_bytes = p->param[v] / p->o->memory_fraction;
  op.workspace_bytes = p->workspace[v] / p->o->memory_fraction;
  op.group = p->group[v];
  op.pin = p->sharing.pin[berth_i_sharing_root(&p->sharing, v)];
  op.twin = BERTH_NONE;
  return berth_graph_builder_add_op(p->b, &op, &p->number[v]);
}

/* A tensor that only the backward pass reads stays, without readers. */
static berth_status add_tensor(passes *p, int32_t t) {
  const berth_graph *g = p->g;
  berth_tensor x;
  berth_status st = berth_graph_tensor(g, t, &x);
  x.producer = p->number[x.producer];
  x.resident_bytes /= p->o->memory_fraction;
  int32_t id;
  if (st == BERTH_OK) st = berth_graph_builder_add_tensor(p->b, &x, &id);
  for (int32_t j = g->use_at[t]; j < g->use_at[t + 1] && st == BERTH_OK; j++) {
    if (p->forward[g->use[j]])
      st = berth_graph_builder_add_consumer(p->b, id, p->number[g->use[j]]);
  }
  return st;
}

static int32_t keep_forward(const passes *p, int32_t n, const int32_t *ops, int32_t *list) {
  int32_t m = 0;
  for (int32_t j = 0; j < n; j++) {
    if (p->forward[ops[j]]) list[m++] = p->number[ops[j]];
  }
  return m;
}

/* @param list [members and consumers] scratch */
static berth_status add_collective(passes *p, int32_t k, int32_t *list) {
  berth_collective c = p->g->collectives[k];
  int32_t members = keep_forward(p, c.n_members, c.members, list);
  if (members == 0) return BERTH_OK;
  c.n_consumers = keep_forward(p, c.n_consumers, c.consumers, list + members);
  c.n_members = members;
  c.members = list;
  c.consumers = list + members;
  return berth_graph_builder_add_collective(p->b, &c, NULL);
}

static berth_status add_collectives(passes *p) {
  const berth_graph *g = p->g;
  berth_status st = BERTH_OK;
  if (g->n_collectives == 0) return BERTH_OK;
  int32_t *list;
  if (!(list = berth_i_alloc(g->ctx, g->n_coll_ops, sizeof *list))) return berth_i_nomem(g->ctx);
  for (int32_t k = 0; k < g->n_collectives && st == BERTH_OK; k++) st = add_collective(p, k, list);
  berth_i_free(g->ctx, list, g->n_coll_ops, sizeof *list);
  return st;
}

static berth_status build(passes *p, berth_graph **out) {
  const berth_graph *g = p->g;
  berth_status st = berth_i_builder_like(g, &p->b);
  for (int32_t k = 0; k < g->n_ops && st == BERTH_OK; k++) {
    if (p->forward[k]) st = add_op(p, k);
  }
  for (int32_t k = 0; k < g->n_tensors && st == BERTH_OK; k++) {
    if (p->forward[g->producer[k]]) st = add_tensor(p, k);
  }
  if (st == BERTH_OK) st = add_collectives(p);
  return st == BERTH_OK ? berth_graph_builder_finish(p->b, out) : st;
}

/* ---- the whole ---- */

static void set_defaults(void *out) { *(berth_forward_options *)out = berth_forward_default(); }

static const berth_choice *const memories[] = {
  BERTH_I_CHOICE("training", "A forward op carries the parameters and the workspace of the ops "
                             "that join it."),
  BERTH_I_CHOICE("forward", "Published: what the forward ops have by themselves; training needs "
                            "more."),
  NULL
};

const berth_option_table *berth_forward_option_table(void) {
  static const berth_option options[] = {
    { BERTH_I_OPTION(berth_forward_options, memory, CHOICE), .choices = memories,
      .text = "memory of a forward op" },
    { BERTH_I_OPTION(berth_forward_options, memory_fraction, NUMBER), .above = 1, .high = 1,
      .text = "share of the memory of devices that is there: all that ops hold is divided by it" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("forward", options, berth_forward_options, set_defaults);
}

static berth_status alloc(passes *p) {
  size_t n = (size_t)p->g->n_ops;
  p->place = berth_i_pool_alloc(&p->pool, n, sizeof *p->place);
  p->forward = berth_i_pool_zalloc(&p->pool, n, 1);
  p->tainted = berth_i_pool_zalloc(&p->pool, (size_t)p->g->n_collectives, 1);
  p->image = berth_i_pool_alloc(&p->pool, n, sizeof *p->image);
  p->lead = berth_i_pool_alloc(&p->pool, n, sizeof *p->lead);
  p->param = berth_i_pool_alloc(&p->pool, n, sizeof *p->param);
  p->workspace = berth_i_pool_alloc(&p->pool, n, sizeof *p->workspace);
  p->group = berth_i_pool_alloc(&p->pool, n, sizeof *p->group);
  p->number = berth_i_pool_alloc(&p->pool, n, sizeof *p->number);
  p->seconds = berth_i_pool_alloc(&p->pool, (size_t)p->g->n_types, sizeof *p->seconds);
  return berth_i_pool_status(&p->pool);
}

static berth_status run(passes *p, berth_graph **out) {
  classify(p);
  berth_status st;
  if ((st = check_passes(p)) != BERTH_OK) return st;
  if ((st = berth_i_sharing_join_groups(&p->sharing, "forward", true)) != BERTH_OK) return st;
  find_leads(p);
  find_images(p);
  if ((st = tie_all(p)) != BERTH_OK) return st;
  number_groups(p);
  count_memory(p);
  return build(p, out);
}

berth_status berth_graph_forward(const berth_graph *g, const berth_forward_options *opts,
                                 berth_graph **out, int32_t *map) {
  if (!g || !out) return BERTH_EINVAL;
  const berth_forward_options defaults = berth_forward_default();
  const berth_share_options free_of_limits = berth_share_default();
  passes p = { .pool = berth_i_pool_empty(g->ctx), .g = g, .o = opts ? opts : &defaults };
  berth_status st = berth_options_check(g->ctx, berth_forward_option_table(), p.o);
  if (st != BERTH_OK) return st;
  st = berth_i_sharing_init(g, "forward", &free_of_limits, &p.pool, &p.sharing);
  if (st == BERTH_OK) st = alloc(&p);
  if (st == BERTH_OK) st = run(&p, out);
  for (int32_t v = 0; st == BERTH_OK && map && v < g->n_ops; v++) map[v] = p.number[p.image[v]];
  berth_i_pool_free(&p.pool);
  berth_graph_builder_release(p.b);
  return st;
}
