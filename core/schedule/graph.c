/* A schedule as the step simulator has it: a graph of slots, their devices, their order, and a
 * topology whose links take p2p x bandwidth bytes in p2p seconds.
 *
 * Memory: an F produces, besides what it sends, one tensor of what its B frees, which the B reads,
 * and one of what its W frees; memory policy INFERENCE holds each until its reader ends. Tensors
 * between stages hold nothing. */
#include "schedule_internal.h"
#include "placement/placement_internal.h"
#include <stdlib.h>

/* Ops by chunk, micro-batch and kind, while the graph is built. */
typedef struct ops {
  const berth_schedule *s;
  berth_schedule_action *action;     /* [actions] stage by stage */
  int32_t *op[3];           /* by at[chunk] + micro-batch: that of F, B and W */
  size_t *at;               /* [n] */
  int32_t n;                /* ops */
} ops;

static berth_status ops_make(const berth_schedule *s, berth_i_pool *pool, ops *o) {
  const berth_schedule_problem *p = s->p;
  size_t total = 0;
  *o = (ops){ .s = s };
  o->action = berth_i_pool_alloc(pool, s->w.begin[p->p], sizeof *o->action);
  o->at = berth_i_pool_alloc(pool, (size_t)p->n, sizeof *o->at);
  for (int32_t c = 0; o->at && c < p->n; c++) {
    o->at[c] = total;
    total += (size_t)p->count[c];
  }
  for (int32_t k = 0; k < 3; k++)
    o->op[k] = berth_i_pool_alloc(pool, total, sizeof **o->op);
  for (int32_t i = 0; o->action && i < p->p; i++)
    berth_schedule_actions(s, i, o->action + s->w.begin[i]);
  return berth_i_pool_status(pool);
}

static size_t place(const ops *o, int32_t c, int32_t microbatch) {
  return o->at[c] + (size_t)(microbatch - o->s->p->first[c]);
}

static void note(ops *o, const berth_schedule_action *a, int32_t op) {
  size_t i = place(o, a->chunk, a->microbatch);
  if (a->kind == BERTH_SCHEDULE_FULL) o->op[1][i] = o->op[2][i] = op;
  else o->op[a->kind][i] = op;
}

static berth_status add_slot(ops *o, berth_graph_builder *b, int32_t stage,
                             const berth_schedule_action *a) {
  const berth_schedule_problem *p = o->s->p;
  char name[100], second[48];
  double seconds = berth_i_seconds(p, a->chunk, (int32_t)a->kind);
  bool backward = a->kind != BERTH_SCHEDULE_FORWARD;
  berth_i_action_text(a, name, sizeof name / 2);
  if (a->overlapped) {
    seconds = p->o.overlap * (seconds + berth_i_seconds(p, a[1].chunk, (int32_t)a[1].kind));
    size_t used = strlen(name);
    berth_snprintf(name + used, sizeof name - used, " %s",
                   berth_i_action_text(&a[1], second, sizeof second));
  }
  static const char *const kinds[] = { "forward", "backward", "weight", "backward" };
  berth_op op = berth_op_default();
  op.name = name;
  op.kind = a->overlapped ? "overlapped" : kinds[a->kind];
  op.seconds = &seconds;
  op.pin = stage;
  op.flags = backward && !a->overlapped ? BERTH_OP_BACKWARD : 0;
  note(o, a, o->n);
  if (a->overlapped) note(o, a + 1, o->n);
  o->n++;
  return berth_graph_builder_add_op(b, &op, NULL);
}

static berth_status add_slots(ops *o, berth_graph_builder *b) {
  const berth_schedule *s = o->s;
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < s->p->p; i++)
    for (size_t k = s->w.begin[i]; k < s->w.begin[i + 1] && st == BERTH_OK; k++) {
      st = add_slot(o, b, i, &o->action[k]);
      k += o->action[k].overlapped != 0;
    }
  for (int32_t i = 0; i < s->p->p && st == BERTH_OK; i++) {
    if (!(s->p->extra[i] > 0)) continue;
    char name[32];
    berth_op op = berth_op_default();
    berth_snprintf(name, sizeof name, "extra%d", (int)i);
    op.name = name;
    op.kind = "extra";
    op.seconds = &s->p->extra[i];
    op.pin = i;
    op.flags = BERTH_OP_UPDATE;
    o->n++;
    st = berth_graph_builder_add_op(b, &op, NULL);
  }
  return st;
}

static berth_status connect(berth_graph_builder *b, int32_t from, int32_t to, double bytes,
                            double resident) {
  if (from == to) return BERTH_OK; /* an F and its B are never in one slot */
  int32_t tensor;
  berth_tensor t = { .producer = from, .bytes = bytes, .resident_bytes = resident };
  berth_status st = berth_graph_builder_add_tensor(b, &t, &tensor);
  return st == BERTH_OK ? berth_graph_builder_add_consumer(b, tensor, to) : st;
}

/* The tensors that one micro-batch leaves in a chunk and sends on. */
static berth_status connect_one(const ops *o, berth_graph_builder *b, int32_t c, int32_t k,
                                double bandwidth) {
  const berth_schedule_problem *p = o->s->p;
  size_t i = o->at[c] + (size_t)k;
  int32_t next = p->next[c], f = o->op[0][i], back = o->op[1][i];
  berth_status st = connect(b, f, back, 0, p->frees[1][c]);
  if (st == BERTH_OK && !p->o.joined) st = connect(b, f, o->op[2][i], 0, p->frees[2][c]);
  if (st == BERTH_OK && !p->o.joined) st = connect(b, back, o->op[2][i], 0, 0);
  if (st != BERTH_OK || next == BERTH_NONE) return st;
  size_t j = o->at[next] + (size_t)k;
  double bytes = p->lag[next] * bandwidth;
  st = connect(b, f, o->op[0][j], bytes, 0);
  return st == BERTH_OK ? connect(b, o->op[1][j], back, bytes, 0) : st;
}

berth_status berth_schedule_graph(const berth_schedule *s, double bandwidth, berth_graph **out) {
  if (!s || !out) return BERTH_EINVAL;
  const berth_schedule_problem *p = s->p;
  if (!(bandwidth > 0) || isinf(bandwidth))
    return berth_i_fail(s->ctx, BERTH_EINVAL, "schedule: bandwidth %g, expected above 0",
                        bandwidth);
  berth_i_pool pool = berth_i_pool_empty(s->ctx);
  berth_graph_builder *b = NULL;
  ops o;
  berth_status st = ops_make(s, &pool, &o);
  if (st == BERTH_OK) st = berth_graph_builder_new(s->ctx, &b);
  if (st == BERTH_OK) st = berth_graph_builder_name(b, *s->name ? s->name : "schedule");
  if (st == BERTH_OK) st = add_slots(&o, b);
  for (int32_t c = 0; c < p->n; c++)
    for (int32_t k = 0; k < p->count[c] && st == BERTH_OK; k++)
      st = connect_one(&o, b, c, k, bandwidth);
  if (st == BERTH_OK) st = berth_graph_builder_finish(b, out);
  berth_graph_builder_release(b);
  berth_i_pool_free(&pool);
  return st;
}

/* ---- placement ---- */

/* Places of a word's slots, by their first action; ops are numbered in this order. */
static int32_t slots_of(const berth_i_words *w) {
  int32_t n = 0;
  for (size_t i = 0; i < w->begin[w->p->p]; i++) n += !(w->code[i] & BERTH_I_OVERLAPPED);
  return n;
}

typedef struct timed {
  double start, finish;
  int32_t op;
} timed;

static int by_start(const void *a, const void *b) {
  const timed *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->op < y->op ? -1 : x->op > y->op; /* of one stage: its order */
}

static void fill(berth_placement *out, timed *t, int32_t n) {
  qsort(t, (size_t)n, sizeof *t, by_start);
  for (int32_t i = 0; i < n; i++) {
    out->sequence[i] = t[i].op;
    out->start[t[i].op] = t[i].start;
    out->finish[t[i].op] = t[i].finish;
  }
}

/* Ops with their planned times, in the order of ids. */
static int32_t list_ops(const berth_schedule *s, const double *start, const double *finish,
                        timed *t, int32_t *device) {
  const berth_i_words *w = &s->w;
  int32_t n = 0;
  for (int32_t i = 0; i < s->p->p; i++)
    for (size_t k = w->begin[i]; k < w->begin[i + 1]; k++) {
      if (w->code[k] & BERTH_I_OVERLAPPED) continue;
      t[n] = (timed){ start[k], finish[k], n };
      device[n++] = i;
    }
  for (int32_t i = 0; i < s->p->p; i++) {
    if (!(s->p->extra[i] > 0)) continue;
    double from = w->begin[i + 1] > w->begin[i] ? finish[w->begin[i + 1] - 1] : 0;
    t[n] = (timed){ from, from + s->p->extra[i], n };
    device[n++] = i;
  }
  return n;
}

static berth_status deadlock(const berth_schedule *s, const berth_schedule_value *v) {
  char text[48];
  return berth_i_fail(s->ctx, BERTH_EINFEASIBLE,
                      "schedule: deadlock: stage%d waits for ever before %s", (int)v->stage,
                      berth_i_action_text(&v->action, text, sizeof text));
}

berth_status berth_schedule_placement(const berth_schedule *s, berth_placement **out) {
  if (!s || !out) return BERTH_EINVAL;
  const berth_schedule_problem *p = s->p;
  size_t actions = s->w.begin[p->p];
  berth_i_pool pool = berth_i_pool_empty(s->ctx);
  double *start = berth_i_pool_alloc(&pool, actions, sizeof *start);
  double *finish = berth_i_pool_alloc(&pool, actions, sizeof *finish);
  int32_t n = slots_of(&s->w);
  for (int32_t i = 0; i < p->p; i++) n += p->extra[i] > 0;
  timed *t = berth_i_pool_alloc(&pool, (size_t)n, sizeof *t);
  berth_placement *made = NULL;
  berth_schedule_value v;
  berth_status st = berth_i_pool_status(&pool);
  if (st == BERTH_OK) st = berth_schedule_evaluate(s, &v, start, finish, NULL);
  if (st == BERTH_OK && v.outcome == BERTH_SCHEDULE_DEADLOCK) st = deadlock(s, &v);
  if (st == BERTH_OK) st = berth_i_placement_make(s->ctx, n, s->name, true, &made);
  if (st == BERTH_OK) {
    list_ops(s, start, finish, t, made->device);
    fill(made, t, n);
    made->estimate = v.makespan;
    made->links = BERTH_LINKS_FREE;
    *out = made;
  }
  berth_i_pool_free(&pool);
  return st;
}

/* ---- topology ---- */

berth_status berth_schedule_topology(const berth_schedule_problem *p, double bandwidth,
                                     berth_topology **out) {
  if (!p || !out) return BERTH_EINVAL;
  berth_topology_builder *b = NULL;
  berth_link link = { bandwidth, 0 };
  berth_status st = berth_topology_builder_new(p->ctx, &b);
  for (int32_t s = 0; s < p->p && st == BERTH_OK; s++) {
    berth_device d = berth_device_default();
    char name[32];
    berth_snprintf(name, sizeof name, "stage%d", (int)s);
    d.name = name;
    d.memory = p->limit[s];
    st = berth_topology_builder_add_device(b, &d, NULL, NULL);
  }
  for (int32_t s = 0; s < p->p && p->p > 1 && st == BERTH_OK; s++)
    if (s + 1 < p->p || p->p > 2)
      st = berth_topology_builder_add_duplex(b, s, (s + 1) % p->p, &link, NULL);
  if (st == BERTH_OK) st = berth_topology_builder_finish(b, out);
  berth_topology_builder_release(b);
  return st;
}
