/* Pipeline problems: options, checks, the way of a micro-batch through the chunks. All arrays are
 * in one pool with the problem, in full length. */
#include "schedule_internal.h"

enum { MOST_ACTIONS = 1 << 28 };

berth_schedule_problem_options berth_schedule_problem_default(void) {
  return (berth_schedule_problem_options){ .stages = 1, .microbatches = 1, .chunks = 1,
                                           .freed = 0.5, .overlap = 1 };
}

static void set_defaults(void *out) {
  *(berth_schedule_problem_options *)out = berth_schedule_problem_default();
}

const berth_choice *const berth_i_map_choices[] = {
  BERTH_I_CHOICE("interleaved", "Chunk c is on stage c modulo stages."),
  BERTH_I_CHOICE("zigzag", "Chunks go down the stages and up again: with two chunks, the V."),
  BERTH_I_CHOICE("bidirectional", "Two copies of the model, down and up the stages, each with half "
                                  "of the micro-batches."),
  NULL
};
static const berth_choice *const objectives[] = {
  BERTH_I_CHOICE("makespan", "The end of the last action."),
  BERTH_I_CHOICE("span", "The longest stage, from its own first to its own last action."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_schedule_problem_options, name, kind)
#define LIST(name) BERTH_I_OPTION_LIST(berth_schedule_problem_options, name, n_##name, NUMBERS)
#define GIVEN .fallback = "none; must be given"

const berth_option_table *berth_schedule_problem_option_table(void) {
  static const berth_option options[] = {
    { FIELD(stages, WHOLE), .low = 1, .high = BERTH_MOST_DEVICES, GIVEN,
      .text = "stages, one device each" },
    { FIELD(microbatches, WHOLE), .low = 1, .high = 1 << 24, GIVEN,
      .text = "micro-batches of a step" },
    { FIELD(chunks, WHOLE), .low = 1, .high = BERTH_I_MOST_CHUNKS,
      .text = "chunks of the model on each stage" },
    { FIELD(map, CHOICE), .choices = berth_i_map_choices, .text = "which chunks a stage has" },
    { FIELD(objective, CHOICE), .choices = objectives, .text = "what the step is" },
    { FIELD(joined, FLAG), .text = "the backward pass is one action, B and W together" },
    { LIST(forward), .fallback = "1", .text = "s of F, one number or by chunk" },
    { LIST(backward), .fallback = "1", .text = "s of B (gradient of inputs), likewise" },
    { LIST(weight), .fallback = "1", .text = "s of W (gradient of weights), likewise" },
    { LIST(p2p), .fallback = "0",
      .text = "s between chunks on different stages, one number or by boundary" },
    { LIST(activations), .above = 1, .fallback = "1 / chunks",
      .text = "what F takes of the memory, one number or by chunk" },
    { FIELD(freed, NUMBER), .high = 1, .text = "share of it that B frees; W frees the rest" },
    { LIST(memory), .above = 1, .high = INFINITY, .fallback = "inf",
      .text = "memory of a stage, one number or by stage; 1: the activations of a micro-batch of a "
              "stage" },
    { LIST(extra), .fallback = "0",
      .text = "s after a stage's last action (optimiser, data parallelism), likewise" },
    { FIELD(overlap, NUMBER), .above = 1,
      .text = "an F and a B in one slot take so many times the sum of their times" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("schedule problem", options, berth_schedule_problem_options, set_defaults);
}

/* ---- checks ---- */

static berth_status check_list(berth_ctx *ctx, const char *key, int32_t n, int32_t full,
                               const char *per) {
  if (n == 0 || n == 1 || n == full) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "schedule: %s has %d numbers, expected 1 or %d (one per %s)", key, (int)n,
                      (int)full, per);
}

static berth_status check_lists(berth_ctx *ctx, const berth_schedule_problem_options *o) {
  int32_t chunks = o->stages * o->chunks;
  berth_status st;
#define CHECK_LIST(key, full, per) \
  if ((st = check_list(ctx, #key, o->n_##key, full, per)) != BERTH_OK) return st
  CHECK_LIST(forward, chunks, "chunk");
  CHECK_LIST(backward, chunks, "chunk");
  CHECK_LIST(weight, chunks, "chunk");
  CHECK_LIST(p2p, chunks - 1, "boundary of chunks");
  CHECK_LIST(activations, chunks, "chunk");
  CHECK_LIST(memory, o->stages, "stage");
  CHECK_LIST(extra, o->stages, "stage");
#undef CHECK_LIST
  return BERTH_OK;
}

static berth_status check_options(berth_ctx *ctx, const berth_schedule_problem_options *o) {
  berth_status st = berth_options_check(ctx, berth_schedule_problem_option_table(), o);
  if (st != BERTH_OK) return st;
  double actions = 3.0 * o->stages * o->chunks * o->microbatches;
  if (actions > MOST_ACTIONS)
    return berth_i_fail(ctx, BERTH_EINVAL, "schedule: %.0f actions, at most %d", actions,
                        MOST_ACTIONS);
  if (o->map == BERTH_MAP_BIDIRECTIONAL
      && (o->chunks != 2 || o->stages % 2 || o->microbatches % 2))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "schedule: map bidirectional requires 2 chunks (given: %d) and even "
                        "numbers of stages (%d) and micro-batches (%d)",
                        (int)o->chunks, (int)o->stages, (int)o->microbatches);
  return check_lists(ctx, o);
}

/* ---- making one ---- */

/* [full] of a list of full length, one number or none. */
static double *filled(berth_i_pool *pool, const double *list, int32_t n, int32_t full,
                      double otherwise) {
  double *x = berth_i_pool_alloc(pool, (size_t)full, sizeof *x);
  for (int32_t i = 0; x && i < full; i++) x[i] = n == 0 ? otherwise : list[n == 1 ? 0 : i];
  return x;
}

static int32_t stage_of(const berth_schedule_problem *q, int32_t c) {
  int32_t round = c / q->p, k = c % q->p;
  return q->o.map == BERTH_MAP_INTERLEAVED || round % 2 == 0 ? k : q->p - 1 - k;
}

static void set_ways(berth_schedule_problem *q) {
  bool two = q->o.map == BERTH_MAP_BIDIRECTIONAL;
  for (int32_t c = 0; c < q->n; c++) {
    int32_t s = q->stage[c] = stage_of(q, c);
    q->local[c] = c / q->p;
    q->chunk[s * q->v + q->local[c]] = c;
    bool starts = c == 0 || (two && c == q->p);
    bool ends = c == q->n - 1 || (two && c == q->p - 1);
    q->prev[c] = starts ? BERTH_NONE : c - 1;
    q->next[c] = ends ? BERTH_NONE : c + 1;
    q->count[c] = two ? q->m / 2 : q->m;
    q->first[c] = two && c >= q->p ? q->m / 2 : 0;
    q->lag[c] = starts || q->stage[c - 1] == s ? 0 : q->o.p2p[c - 1];
  }
}

static void set_lanes(berth_schedule_problem *q) {
  for (int32_t c = 0; c < q->n; c++) {
    int32_t f = berth_i_lane(c, BERTH_SCHEDULE_FORWARD), b = f + 1;
    int32_t before = q->prev[c], after = q->next[c];
    q->source[f] = before == BERTH_NONE ? BERTH_NONE : 2 * before;
    q->source[b] = after == BERTH_NONE ? f : 2 * after + 1;
    q->wait[f] = q->lag[c];
    q->wait[b] = after == BERTH_NONE ? 0 : q->lag[after];
    q->reader[f] = after == BERTH_NONE || q->stage[after] == q->stage[c] ? BERTH_NONE
                                                                         : q->stage[after];
    q->reader[b] = before == BERTH_NONE || q->stage[before] == q->stage[c] ? BERTH_NONE
                                                                           : q->stage[before];
  }
}

static void set_memory(berth_schedule_problem *q) {
  for (int32_t c = 0; c < q->n; c++) {
    q->adds[c] = q->o.activations[c];
    q->frees[0][c] = 0;
    q->frees[1][c] = q->o.joined ? q->adds[c] : q->o.freed * q->adds[c];
    q->frees[2][c] = q->adds[c] - q->frees[1][c];
  }
}

static void allocate(berth_schedule_problem *q, const berth_schedule_problem_options *o) {
  size_t n = (size_t)q->n;
  berth_i_pool *pool = &q->pool;
  int32_t **whole[] = { &q->stage, &q->local, &q->chunk, &q->next, &q->prev, &q->count,
                        &q->first };
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    *whole[i] = berth_i_pool_alloc(pool, n, sizeof **whole[i]);
  q->source = berth_i_pool_alloc(pool, 2 * n, sizeof *q->source);
  q->reader = berth_i_pool_alloc(pool, 2 * n, sizeof *q->reader);
  q->wait = berth_i_pool_alloc(pool, 2 * n, sizeof *q->wait);
  double **real[] = { &q->lag, &q->adds, &q->frees[0], &q->frees[1], &q->frees[2] };
  for (size_t i = 0; i < sizeof real / sizeof *real; i++)
    *real[i] = berth_i_pool_alloc(pool, n, sizeof **real[i]);
  q->time[0] = filled(pool, o->forward, o->n_forward, q->n, 1);
  q->time[1] = filled(pool, o->backward, o->n_backward, q->n, 1);
  q->time[2] = filled(pool, o->weight, o->n_weight, q->n, 1);
  q->o.forward = q->time[0];
  q->o.backward = filled(pool, o->backward, o->n_backward, q->n, 1);
  q->o.weight = filled(pool, o->weight, o->n_weight, q->n, 1);
  q->o.p2p = filled(pool, o->p2p, o->n_p2p, q->n - 1, 0);
  q->o.activations = filled(pool, o->activations, o->n_activations, q->n, 1.0 / q->v);
  q->o.memory = q->limit = filled(pool, o->memory, o->n_memory, q->p, INFINITY);
  q->o.extra = q->extra = filled(pool, o->extra, o->n_extra, q->p, 0);
  q->o.n_forward = q->o.n_backward = q->o.n_weight = q->o.n_activations = q->n;
  q->o.n_p2p = q->n - 1;
  q->o.n_memory = q->o.n_extra = q->p;
}

static void join(berth_schedule_problem *q) {
  for (int32_t c = 0; c < q->n; c++) {
    q->time[1][c] += q->time[2][c];
    q->time[2][c] = 0;
  }
}

static berth_status check_room(const berth_schedule_problem *q) {
  for (int32_t c = 0; c < q->n; c++)
    if (berth_i_over(q->adds[c], q->limit[q->stage[c]]))
      return berth_i_fail(q->ctx, BERTH_EINFEASIBLE,
                          "schedule: memory: stage%d has %g, F%d.0 takes %g", (int)q->stage[c],
                          q->limit[q->stage[c]], (int)c, q->adds[c]);
  return BERTH_OK;
}

berth_status berth_schedule_problem_new(berth_ctx *ctx, const berth_schedule_problem_options *opts,
                                        berth_schedule_problem **out) {
  if (!ctx || !opts || !out) return BERTH_EINVAL;
  berth_status st = check_options(ctx, opts);
  if (st != BERTH_OK) return st;
  berth_schedule_problem *q = berth_i_pool_object(ctx, sizeof *q);
  if (!q) return berth_i_nomem(ctx);
  berth_ctx_retain(ctx);
  q->ctx = ctx;
  q->refs = 1;
  q->o = *opts;
  q->p = opts->stages;
  q->v = opts->chunks;
  q->m = opts->microbatches;
  q->n = q->p * q->v;
  allocate(q, opts);
  if ((st = berth_i_pool_status(&q->pool)) == BERTH_OK) {
    set_ways(q);
    set_lanes(q);
    set_memory(q);
    if (q->o.joined) join(q);
    st = check_room(q);
  }
  if (st == BERTH_OK) *out = q;
  else berth_schedule_problem_release(q);
  return st;
}

void berth_schedule_problem_retain(berth_schedule_problem *p) { p->refs++; }

void berth_schedule_problem_release(berth_schedule_problem *p) {
  if (!p || --p->refs > 0) return;
  berth_ctx *ctx = p->ctx;
  berth_i_pool_free(&p->pool);
  berth_ctx_release(ctx);
}

/* ---- reading ---- */

const berth_schedule_problem_options *
berth_schedule_problem_read(const berth_schedule_problem *p) {
  return &p->o;
}

int32_t berth_schedule_problem_chunk(const berth_schedule_problem *p, int32_t stage, int32_t k) {
  bool exists = stage >= 0 && stage < p->p && k >= 0 && k < p->v;
  return exists ? p->chunk[stage * p->v + k] : BERTH_NONE;
}

int32_t berth_schedule_problem_stage(const berth_schedule_problem *p, int32_t chunk) {
  return chunk >= 0 && chunk < p->n ? p->stage[chunk] : BERTH_NONE;
}

double berth_schedule_problem_work(const berth_schedule_problem *p, int32_t stage) {
  if (stage < 0 || stage >= p->p) return 0;
  double work = p->extra[stage];
  for (int32_t k = 0; k < p->v; k++) {
    int32_t c = p->chunk[stage * p->v + k];
    work += p->count[c] * (p->time[0][c] + p->time[1][c] + p->time[2][c]);
  }
  return work;
}
