/* The step as a graph for the event loop: one GPU of each stage.
 *
 * Ops are the actions of the schedule, in its order. Where data parallelism runs beside an action,
 * the action is a chain of ops, one a layer, and its collectives are communication ops that follow
 * one another as on a stream: a gather while the layer before runs, a reduction behind its layer
 * and the next gather. What an F stores is a tensor that its last reader frees; what is there all
 * the time is memory of the stage's first op. */
#include "step_internal.h"
#include <berth/placement.h>

#define BANDWIDTH 1e12 /* bytes/s of all links: a transfer of t s has t x BANDWIDTH bytes */

typedef struct made {
  const berth_i_llm_step *s;
  berth_graph_builder *b;
  int32_t *first[3], *last[3]; /* [places * micro-batches] ops of F, B, W; BERTH_NONE */
  int32_t ops, stage;
  int32_t stream;              /* last communication op of the stage; BERTH_NONE */
  int32_t before[2];           /* the last two ops of the stage that compute; BERTH_NONE */
  double reduce;               /* s of the reduction that is to follow before[1]; 0: none */
  double memory;               /* bytes that the stage's next op holds all the time */
  bool bare;                   /* times only: neither names nor memory */
} made;

static berth_status add_op(made *x, const char *name, const char *kind, double seconds,
                           uint32_t flags, int32_t *out) {
  berth_op op = berth_op_default();
  op.name = x->bare ? NULL : name;
  op.kind = x->bare ? NULL : kind;
  op.seconds = &seconds;
  op.pin = x->stage;
  op.flags = flags;
  op.param_bytes = x->memory;
  x->memory = 0;
  *out = x->ops++;
  return berth_graph_builder_add_op(x->b, &op, NULL);
}

static berth_status follow(made *x, int32_t from, int32_t to) {
  if (from == BERTH_NONE || from == to) return BERTH_OK;
  return berth_graph_builder_connect(x->b, from, to, 0, NULL);
}

/* A collective behind the last one of the stage, and behind `after`. */
static berth_status add_collective(made *x, const char *name, const char *kind, double seconds,
                                   int32_t after, int32_t *out) {
  berth_status st = add_op(x, name, kind, seconds, BERTH_OP_COMMUNICATION, out);
  if (st == BERTH_OK) st = follow(x, x->stream, *out);
  if (st == BERTH_OK && after != x->stream) st = follow(x, after, *out);
  x->stream = *out;
  return st;
}

/* What one action takes: its work, and the collectives that run beside it. */
typedef struct work {
  const char *name, *kind;
  double seconds, gather, reduce;
  int32_t layers;
  uint32_t flags;
} work;

/* Slowed down by what runs beside it. */
static double slowed(const work *w, int32_t n) {
  double t = w->seconds / n, beside = (w->gather + w->reduce) / n;
  return t + BERTH_I_LLM_EXPOSED * fmin(t, beside);
}

/* The reduction that waits for the next gather. */
static berth_status add_reduction(made *x) {
  double seconds = x->reduce;
  int32_t op;
  char name[32];
  x->reduce = 0;
  if (seconds <= 0) return BERTH_OK;
  if (!x->bare) berth_snprintf(name, sizeof name, "reduce %d", (int)x->before[1]);
  return add_collective(x, name, "reduce", seconds, x->before[1], &op);
}

static berth_status add_piece(made *x, const work *w, int32_t i, int32_t n, int32_t *op) {
  char name[64], label[80];
  int32_t gathered = BERTH_NONE;
  berth_status st = BERTH_OK;
  if (!x->bare) {
    if (n == 1) berth_snprintf(name, sizeof name, "%s", w->name);
    else berth_snprintf(name, sizeof name, "%s/%d", w->name, (int)i);
    berth_snprintf(label, sizeof label, "gather %s", name);
  }
  if (w->gather > 0) {
    st = add_collective(x, label, "gather", w->gather / n, x->before[0], &gathered);
  }
  if (st == BERTH_OK) st = add_reduction(x);
  if (st == BERTH_OK) st = add_op(x, name, w->kind, slowed(w, n), w->flags, op);
  if (st == BERTH_OK) st = follow(x, gathered, *op);
  if (st == BERTH_OK && i > 0) st = follow(x, x->before[1], *op);
  x->before[0] = x->before[1];
  x->before[1] = *op;
  x->reduce = w->reduce / n;
  return st;
}

static berth_status add_chain(made *x, const work *w, int32_t *first, int32_t *last) {
  int32_t n = w->gather > 0 || w->reduce > 0 ? w->layers : 1;
  berth_status st = BERTH_OK;
  if (n < 1) n = 1;
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    st = add_piece(x, w, i, n, last);
    if (i == 0) *first = *last;
  }
  return st;
}

/* ---- actions ---- */

static double pass_seconds(const berth_i_llm_passes *p, berth_schedule_kind kind, bool joined) {
  if (kind == BERTH_SCHEDULE_FORWARD) return berth_i_llm_sum(&p->forward);
  double b = berth_i_llm_sum(&p->input), w = berth_i_llm_sum(&p->weight);
  if (kind == BERTH_SCHEDULE_WEIGHT) return w;
  return joined || kind == BERTH_SCHEDULE_FULL ? b + w : b;
}

/* The collectives of a place that run beside an action: those of the weights' gradients beside the
 * action that computes these. */
static void collectives_of(const made *x, const berth_schedule_action *a, bool joined, work *w) {
  const berth_i_llm_place_cost *c = &x->s->place[a->chunk];
  if (a->kind == BERTH_SCHEDULE_FORWARD) {
    w->gather = c->gather[0] + (a->microbatch == 0 ? c->first_gather : 0);
    return;
  }
  bool gradients = joined || a->kind != BERTH_SCHEDULE_BACKWARD;
  if (a->kind != BERTH_SCHEDULE_WEIGHT) w->gather = c->gather[1];
  if (gradients)
    w->reduce = c->reduce + (a->microbatch == x->s->batches - 1 ? c->last_reduce : 0);
}

static void note(made *x, const berth_schedule_action *a, int32_t first, int32_t last) {
  size_t i = (size_t)a->chunk * (size_t)x->s->batches + (size_t)a->microbatch;
  int kind = a->kind == BERTH_SCHEDULE_FULL ? BERTH_SCHEDULE_BACKWARD : (int)a->kind;
  x->first[kind][i] = first;
  x->last[kind][i] = last;
  if (a->kind == BERTH_SCHEDULE_FULL) x->first[2][i] = first, x->last[2][i] = last;
}

static void action_name(const berth_schedule_action *a, char *name, size_t size) {
  static const char letters[] = "FBWB";
  berth_snprintf(name, size, "%c%d.%d", letters[a->kind], (int)a->chunk, (int)a->microbatch);
  if (!a->overlapped) return;
  size_t used = strlen(name);
  berth_snprintf(name + used, size - used, " %c%d.%d", letters[a[1].kind], (int)a[1].chunk,
                 (int)a[1].microbatch);
}

/* One action, or two that overlap. */
static berth_status add_action(made *x, const berth_schedule_action *a, bool joined) {
  static const char *const kinds[] = { "forward", "backward", "weight", "backward" };
  const berth_i_llm_place_cost *c = &x->s->place[a->chunk];
  char name[48];
  work w = { .name = name, .kind = kinds[a->kind], .layers = c->layers,
             .seconds = pass_seconds(&c->pass, a->kind, joined),
             .flags = a->kind == BERTH_SCHEDULE_FORWARD ? 0 : BERTH_OP_BACKWARD };
  if (!x->bare) action_name(a, name, sizeof name);
  collectives_of(x, a, joined, &w);
  if (a->overlapped) {
    work v = { .seconds = 0 };
    collectives_of(x, a + 1, joined, &v);
    w.seconds += pass_seconds(&x->s->place[a[1].chunk].pass, a[1].kind, joined);
    w.gather += v.gather;
    w.reduce += v.reduce;
    w.kind = "overlapped";
    w.flags = 0;
  }
  int32_t first = x->ops, last = x->ops;
  berth_status st = add_chain(x, &w, &first, &last);
  note(x, a, first, last);
  if (a->overlapped) note(x, a + 1, first, last);
  return st;
}

/* What follows the last action of a stage, one after the other. */
static berth_status add_end(made *x, int32_t before) {
  const berth_i_llm_stage_cost *c = &x->s->stage[x->stage];
  const struct { const char *kind; double seconds; } ends[] = {
    { "reduce", c->reduce }, { "optimizer", c->optimizer }, { "gather", c->gather }
  };
  berth_status st = BERTH_OK;
  for (int i = 0; i < 3 && st == BERTH_OK; i++) {
    char name[48];
    int32_t op;
    if (!(ends[i].seconds > 0)) continue;
    if (!x->bare)
      berth_snprintf(name, sizeof name, "%s stage %d", ends[i].kind, (int)x->stage + 1);
    st = add_op(x, name, ends[i].kind, ends[i].seconds, BERTH_OP_UPDATE, &op);
    if (st == BERTH_OK) st = follow(x, before, op);
    if (st == BERTH_OK && x->stream != before) st = follow(x, x->stream, op);
    before = op;
    x->stream = BERTH_NONE;
  }
  return st;
}

static berth_status add_stage(made *x, const berth_schedule *made_schedule, bool joined,
                              berth_schedule_action *a) {
  int32_t n = berth_schedule_actions(made_schedule, x->stage, a);
  berth_status st = BERTH_OK;
  x->stream = x->before[0] = x->before[1] = BERTH_NONE;
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    st = add_action(x, &a[i], joined);
    i += a[i].overlapped != 0;
  }
  if (st == BERTH_OK) st = add_reduction(x);
  return st == BERTH_OK ? add_end(x, x->before[1]) : st;
}

/* ---- what passes between actions ---- */

static berth_status pass_tensor(made *x, int32_t from, int32_t to, double bytes,
                                double resident) {
  if (from == to) return BERTH_OK;
  berth_tensor t = { .producer = from, .bytes = bytes, .resident_bytes = resident };
  int32_t id;
  berth_status st = berth_graph_builder_add_tensor(x->b, &t, &id);
  return st == BERTH_OK ? berth_graph_builder_add_consumer(x->b, id, to) : st;
}

static berth_status connect_one(made *x, int32_t place, int32_t microbatch, bool joined) {
  const berth_i_llm_step *s = x->s;
  const berth_i_llm_place_cost *c = &s->place[place];
  size_t i = (size_t)place * (size_t)s->batches + (size_t)microbatch,
         j = i + (size_t)s->batches;
  int32_t f = x->last[0][i], b = x->first[1][i], w = x->first[2][i];
  double freed = joined || w == x->first[1][i] ? 1 : 0.5;
  berth_status st = BERTH_OK;
  if (!x->bare) { /* on one stage, whose order implies what waits for what */
    st = pass_tensor(x, f, x->last[1][i], 0, freed * c->stored);
    if (st == BERTH_OK && f != b && b != x->last[1][i]) st = pass_tensor(x, f, b, 0, 0);
    if (st == BERTH_OK && freed < 1) st = pass_tensor(x, f, w, 0, 0.5 * c->stored);
    if (st == BERTH_OK && freed < 1) st = pass_tensor(x, x->last[1][i], w, 0, 0);
  }
  if (st != BERTH_OK || place + 1 == s->n) return st;
  double bytes = c->p2p * BANDWIDTH;
  st = pass_tensor(x, f, x->first[0][j], bytes, 0);
  return st == BERTH_OK ? pass_tensor(x, x->last[1][j], b, bytes, 0) : st;
}

/* ---- the whole ---- */

static berth_status topology_of(const berth_i_llm_step *s, const berth_llm_memory *memory,
                                berth_topology **out) {
  berth_topology_builder *b = NULL;
  berth_link link = { BANDWIDTH, 0 };
  int32_t n = s->p.pp;
  berth_status st = berth_topology_builder_new(s->m->pool.ctx, &b);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    berth_device d = berth_device_default();
    char name[32];
    berth_snprintf(name, sizeof name, "stage%d", (int)i + 1);
    d.name = name;
    if (memory) d.memory = memory[i].limit;
    st = berth_topology_builder_add_device(b, &d, NULL, NULL);
  }
  for (int32_t i = 0; i < n && n > 1 && st == BERTH_OK; i++)
    if (i + 1 < n || n > 2) st = berth_topology_builder_add_duplex(b, i, (i + 1) % n, &link, NULL);
  if (st == BERTH_OK) st = berth_topology_builder_finish(b, out);
  berth_topology_builder_release(b);
  return st;
}

static berth_status fill(made *x, const berth_schedule *schedule, const berth_llm_memory *memory,
                         berth_i_pool *pool) {
  const berth_i_llm_step *s = x->s;
  size_t n = (size_t)s->n * (size_t)s->batches;
  bool joined = berth_schedule_problem_read(berth_schedule_problem_of(schedule))->joined != 0;
  for (int k = 0; k < 3; k++) {
    x->first[k] = berth_i_pool_alloc(pool, n, sizeof **x->first);
    x->last[k] = berth_i_pool_alloc(pool, n, sizeof **x->last);
  }
  berth_schedule_action *a = berth_i_pool_alloc(pool, (size_t)s->p.vp * 3 * (size_t)s->batches,
                                                sizeof *a);
  berth_status st = berth_i_pool_status(pool);
  for (x->stage = 0; x->stage < s->p.pp && st == BERTH_OK; x->stage++) {
    if (memory) x->memory = memory[x->stage].total - memory[x->stage].activations;
    st = add_stage(x, schedule, joined, a);
  }
  for (int32_t i = 0; i < s->n; i++)
    for (int32_t k = 0; k < s->batches && st == BERTH_OK; k++) st = connect_one(x, i, k, joined);
  return st;
}

static berth_status placement_of(berth_ctx *ctx, const berth_graph *g, berth_placement **out) {
  berth_i_pool pool = berth_i_pool_empty(ctx);
  int32_t n = berth_graph_ops(g), *device = berth_i_pool_alloc(&pool, (size_t)n, sizeof *device),
          *order = berth_i_pool_alloc(&pool, (size_t)n, sizeof *order);
  berth_status st = berth_i_pool_status(&pool);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    berth_op op;
    st = berth_graph_op(g, i, &op);
    device[i] = op.pin;
    order[i] = i;
  }
  if (st == BERTH_OK)
    st = berth_placement_new(ctx, n, device, order, "llm", (double)NAN, out);
  berth_i_pool_free(&pool);
  return st;
}

berth_status berth_i_llm_graph(const berth_i_llm_step *s, const berth_llm_memory *memory,
                               berth_graph **graph, berth_topology **topology,
                               berth_placement **placement) {
  berth_ctx *ctx = s->m->pool.ctx;
  berth_i_pool pool = berth_i_pool_empty(ctx);
  made x = { .s = s, .bare = !memory };
  berth_schedule *schedule = NULL;
  *graph = NULL, *topology = NULL, *placement = NULL;
  berth_status st = berth_i_llm_schedule(s, &schedule);
  if (st == BERTH_OK) st = berth_graph_builder_new(ctx, &x.b);
  if (st == BERTH_OK) st = berth_graph_builder_name(x.b, s->m->about.name);
  if (st == BERTH_OK) st = fill(&x, schedule, memory, &pool);
  if (st == BERTH_OK) st = berth_graph_builder_finish(x.b, graph);
  if (st == BERTH_OK) st = topology_of(s, memory, topology);
  if (st == BERTH_OK) st = placement_of(ctx, *graph, placement);
  if (st != BERTH_OK) {
    berth_graph_release(*graph);
    berth_topology_release(*topology);
    *graph = NULL, *topology = NULL;
  }
  berth_graph_builder_release(x.b);
  berth_schedule_release(schedule);
  berth_i_pool_free(&pool);
  return st;
}
