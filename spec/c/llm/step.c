/* The time of a step: stages that are alike by closed form and on the event loop, published FLOP,
 * allocation failure. */
#include "llm/step/step_internal.h"
#include "refusals.h"

static berth_llm *gpt(int32_t layers, int32_t hidden, int32_t vocab) {
  berth_llm_shapes s = berth_llm_shapes_default();
  berth_llm *m = NULL;
  s.layers = layers;
  s.hidden = hidden;
  s.heads = hidden / 64;
  s.vocab = vocab;
  s.gated = 0;
  CHECK_OK(berth_llm_new(ctx, &s, &m));
  return m;
}

/* ---- stages that are alike ---- */

typedef struct pipeline {
  berth_llm_schedule schedule;
  int32_t stages, chunks, batches;
  double f, b, w, lag, optimizer, reduce, gather;
} pipeline;

enum { MOST_STAGES = 8, MOST_PLACES = 24 };

/* What a pipeline of alike places consists of; nothing overlaps. */
static berth_i_llm_step step_of(const pipeline *x, const berth_llm *m,
                                berth_i_llm_place_cost *place, berth_i_llm_stage_cost *stage) {
  berth_i_llm_step s = { .m = m, .n = x->stages * x->chunks, .batches = x->batches,
                         .place = place, .stage = stage };
  s.p = berth_llm_plan_default();
  s.p.pp = x->stages;
  s.p.vp = x->chunks;
  s.p.schedule = x->schedule;
  for (int32_t i = 0; i < s.n; i++) {
    place[i] = (berth_i_llm_place_cost){ .stage = i % x->stages, .layers = 1, .stored = 1,
                                         .p2p = i + 1 < s.n ? x->lag : 0 };
    place[i].pass.forward.of[BERTH_LLM_TIME_PRODUCTS] = x->f;
    place[i].pass.input.of[BERTH_LLM_TIME_ATTENTION] = x->b;
    place[i].pass.weight.of[BERTH_LLM_TIME_PRODUCTS] = x->w;
  }
  for (int32_t i = 0; i < x->stages; i++)
    stage[i] = (berth_i_llm_stage_cost){ .reduce = x->reduce, .gather = x->gather,
                                         .optimizer = x->optimizer };
  return s;
}

/* s on the event loop; `peak`: most activations of a stage, in micro-batches of a place. */
static double events_of(const berth_i_llm_step *s, double *peak) {
  berth_llm_memory memory[MOST_STAGES];
  berth_graph *g;
  berth_topology *t;
  berth_placement *p;
  berth_cost *cost = NULL;
  berth_sim *sim = NULL;
  berth_sim_summary sum = { .makespan = NAN };
  for (int32_t i = 0; i < s->p.pp; i++) memory[i] = (berth_llm_memory){ .limit = 1e9 };
  if (!CHECK_OK(berth_i_llm_graph(s, memory, &g, &t, &p))) return NAN;
  berth_sim_options o = berth_sim_default(g);
  o.dispatch = BERTH_DISPATCH_PLANNED;
  o.memory = BERTH_MEMORY_INFERENCE;
  o.sequence = berth_placement_sequence(p);
  CHECK_OK(berth_cost_new(g, t, NULL, &cost));
  CHECK_OK(berth_sim_new(cost, &o, &sim));
  CHECK_OK(berth_sim_run(sim, berth_placement_device(p), &sum));
  *peak = sum.peak;
  RELEASE(sim);
  RELEASE(cost);
  RELEASE(p);
  RELEASE(t);
  RELEASE(g);
  return sum.makespan;
}

static double drawn(berth_rng *r) { return 0.1 + berth_rng_uniform(r); }

TEST("alike stages take on the event loop what the closed form says") {
  static const berth_llm_schedule kinds[] = { BERTH_LLM_GPIPE, BERTH_LLM_1F1B,
                                              BERTH_LLM_INTERLEAVED };
  berth_llm *m = gpt(2, 64, 100);
  berth_rng r;
  berth_rng_init(&r, 7, 0);
  for (int i = 0; i < 300; i++) {
    berth_i_llm_place_cost place[MOST_PLACES];
    berth_i_llm_stage_cost stage[MOST_STAGES];
    pipeline x = { .schedule = kinds[i % 3], .chunks = 1, .f = drawn(&r), .b = drawn(&r),
                   .w = drawn(&r), .optimizer = drawn(&r), .reduce = drawn(&r),
                   .gather = drawn(&r) };
    x.stages = 2 + (int32_t)berth_rng_below(&r, MOST_STAGES - 1);
    x.batches = x.stages * (1 + (int32_t)berth_rng_below(&r, 4));
    if (x.schedule == BERTH_LLM_INTERLEAVED) x.chunks = 2 + (int32_t)berth_rng_below(&r, 2);
    if (x.schedule == BERTH_LLM_GPIPE) x.lag = 0.1 * drawn(&r);
    berth_i_llm_step s = step_of(&x, m, place, stage);
    double closed, peak, events = events_of(&s, &peak);
    CHECK_OK(berth_i_llm_closed(&s, &closed));
    if (!CHECK_NEAR(events / closed, 1, 1e-9))
      printf("# schedule %d: %d stages, %d chunks, %d micro-batches\n", (int)x.schedule,
             (int)x.stages, (int)x.chunks, (int)x.batches);
    if (x.schedule == BERTH_LLM_1F1B) CHECK_NEAR(peak, x.stages, 1e-9);
    if (x.schedule == BERTH_LLM_GPIPE) CHECK_NEAR(peak, x.batches, 1e-9);
  }
  berth_llm_release(m);
}

TEST("transfers that stages wait for are no shorter than the closed form") {
  berth_llm *m = gpt(2, 64, 100);
  berth_i_llm_place_cost place[MOST_PLACES];
  berth_i_llm_stage_cost stage[MOST_STAGES];
  for (int32_t stages = 2; stages <= MOST_STAGES; stages++)
    for (int32_t k = 1; k <= 4; k++) {
      pipeline x = { .schedule = BERTH_LLM_1F1B, .stages = stages, .chunks = 1,
                     .batches = stages * k, .f = 1, .b = 1, .w = 1, .lag = 0.25 };
      berth_i_llm_step s = step_of(&x, m, place, stage);
      double closed, peak, events = events_of(&s, &peak);
      CHECK_OK(berth_i_llm_closed(&s, &closed));
      CHECK(events >= closed * (1 - 1e-9) && events < 1.35 * closed);
    }
  berth_llm_release(m);
}

/* ---- the whole ---- */

TEST("FLOP are 72 B L s h^2 (1 + s / 6h + V / 12hL), with recomputation 96") {
  enum { LAYERS = 24, HIDDEN = 2048, VOCAB = 51200, SEQ = 1024, BATCH = 64 };
  berth_llm *m = gpt(LAYERS, HIDDEN, VOCAB);
  berth_llm_cluster *c = NULL;
  berth_llm_plan p = berth_llm_plan_default();
  berth_llm_estimate e;
  double l = LAYERS, h = HIDDEN, v = VOCAB, s = SEQ, all = BATCH * l * s * h * h;
  CHECK_OK(berth_llm_cluster_parse(ctx, "8xA100", &c));
  p.seq = SEQ;
  p.global_batch = BATCH;
  p.recompute = BERTH_LLM_FULL;
  CHECK_OK(berth_llm_estimate_of(m, c, &p, NULL, &e));
  CHECK_NEAR(e.model_flop / (72 * all * (1 + s / (6 * h) + v / (12 * h * l))), 1, 1e-12);
  CHECK_NEAR(e.hardware_flop / (96 * all * (1 + s / (6 * h) + v / (16 * h * l))), 1, 1e-12);
  double sum = 0;
  for (int k = 0; k < BERTH_LLM_TIME_KINDS; k++) sum += e.time[k];
  CHECK_NEAR(sum / e.step, 1, 1e-12);
  CHECK(e.low < e.step && e.step < e.high && e.fitted);
  CHECK_NEAR(e.tokens * e.step, BATCH * s, 1e-6);
  berth_llm_cluster_release(c);
  berth_llm_release(m);
}

TEST("refusals leave what they are given") {
  berth_llm *m = gpt(4, 64, 100);
  berth_llm_cluster *c = NULL;
  berth_llm_plan p = berth_llm_plan_default();
  berth_llm_estimate_options o = { .factors = { .products = -1 } };
  berth_llm_estimate e = { .step = 5 };
  CHECK_OK(berth_llm_cluster_parse(ctx, "4xA100", &c));
  CHECK_STATUS(berth_llm_estimate_of(m, c, &p, &o, &e), BERTH_EINVAL);
  p.tp = 3;
  CHECK_ERROR(berth_llm_estimate_of(m, c, &p, NULL, &e), BERTH_EINVAL,
              "4 GPUs are no multiple of tp 3 x cp 1 x pp 1 = 3");
  p = berth_llm_plan_default();
  p.pp = 4;
  p.schedule = BERTH_LLM_ZB_V;
  CHECK_SAYS(berth_llm_estimate_of(m, c, &p, NULL, &e), BERTH_EINVAL, "8 chunks");
  CHECK_STATUS(berth_llm_estimate_of(NULL, c, &p, NULL, &e), BERTH_EINVAL);
  CHECK(e.step == 5);
  CHECK_TEXT(berth_llm_time_name(BERTH_LLM_TIME_BUBBLE), "bubble");
  berth_llm_cluster_release(c);
  berth_llm_release(m);
}

/* ---- allocation failure ---- */

static berth_status whole(void) {
  berth_llm *m = NULL;
  berth_llm_cluster *c = NULL;
  berth_llm_shapes shapes = berth_llm_shapes_default();
  berth_llm_plan p = berth_llm_plan_default();
  berth_llm_estimate_options o = { .form = BERTH_LLM_CLOSED };
  berth_llm_estimate e;
  shapes.layers = 4, shapes.hidden = 64, shapes.heads = 4, shapes.vocab = 100;
  p.pp = 2, p.seq = 64, p.global_batch = 4, p.zero = 3;
  berth_status st = berth_llm_new(ctx, &shapes, &m);
  if (st == BERTH_OK) st = berth_llm_cluster_parse(ctx, "2xA100+2xH100", &c);
  if (st == BERTH_OK) st = berth_llm_estimate_of(m, c, &p, &o, &e);
  if (st == BERTH_OK) st = berth_llm_estimate_of(m, c, &p, NULL, &e);
  berth_llm_cluster_release(c);
  berth_llm_release(m);
  return st;
}
TEST_REFUSALS(whole)
