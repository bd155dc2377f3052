/* From a plan to what each place of the pipeline takes: passes, transfers, data parallelism. */
#include "step_internal.h"

enum { HALF = 2, SINGLE = 4 };
/* Bytes a parameter that an optimiser reads and writes: gradient, states, weights. */
enum { ADAM_TRAFFIC = 40, SGD_TRAFFIC = 28 };
#define HOST 25e9 /* bytes/s between a GPU and the machine's memory, where states are offloaded */

/* What all stages on one group of GPUs share. */
typedef struct group {
  const berth_llm_gpus *g;
  berth_i_llm_prices prices;
  berth_i_llm_passes layer[BERTH_I_LLM_KINDS][2]; /* second: all is computed again */
  berth_i_llm_passes embedding, head;
} group;

const berth_llm_gpus *berth_i_llm_slowest(const berth_llm_cluster *c, const berth_llm_plan *p,
                                          int32_t s) {
  const berth_llm_gpus *g, *out = NULL;
  int32_t n = berth_llm_cluster_groups(c, &g), per = berth_llm_cluster_size(c) / p->pp, at = 0;
  for (int32_t k = 0; k < n; at += g[k++].count)
    if (at < (s + 1) * per && at + g[k].count > s * per && (!out || g[k].flops < out->flops))
      out = &g[k];
  return out;
}

static berth_status price_group(berth_i_llm_step *s, const berth_llm_factors *f, group *out) {
  berth_status st = berth_i_llm_prices_of(s->m->pool.ctx, s->m, &s->p, out->g, f, &out->prices);
  if (st != BERTH_OK) return st;
  s->fitted = s->fitted && out->prices.wide.fitted && out->prices.narrow.fitted;
  for (int32_t k = 0; k < s->m->about.kinds; k++) {
    berth_i_llm_price_layer(&out->prices, k, false, &out->layer[k][0]);
    if (s->p.recompute == BERTH_LLM_FULL)
      berth_i_llm_price_layer(&out->prices, k, true, &out->layer[k][1]);
  }
  berth_i_llm_price_embedding(&out->prices, &out->embedding);
  berth_i_llm_price_head(&out->prices, &out->head);
  return BERTH_OK;
}

/* ---- data parallelism ---- */

/* s of a collective on what a GPU holds, dense weights and experts apart. */
static double over_dp(const berth_i_llm_prices *x, berth_collective_kind kind, double bytes,
                      double dense, double experts) {
  const berth_llm_plan *p = x->p;
  int32_t gpus = p->tp * p->cp * p->dp, ep = p->ep * p->etp;
  return berth_i_llm_collective(x, kind, bytes * dense, p->dp * p->cp, p->tp)
         + berth_i_llm_collective(x, kind, bytes * experts, gpus / ep, ep);
}

/* Weights gathered in 16 bits, and gradients reduced, of what a GPU holds. */
static void dp_times(const berth_i_llm_prices *x, const berth_i_llm_held *h, double *gather,
                     double *reduce) {
  const berth_llm_plan *p = x->p;
  double bytes = p->gradients == BERTH_LLM_GRADIENTS_FP32 ? SINGLE : HALF;
  *gather = p->zero > 0 ? over_dp(x, BERTH_ALLGATHER, HALF, h->dense, h->experts) : 0;
  *reduce = over_dp(x, p->zero > 0 ? BERTH_REDUCESCATTER : BERTH_ALLREDUCE, bytes, h->trained,
                    h->trained_experts);
}

/* FSDP and ZeRO 3 gather weights for each micro-batch, unless they stay gathered for the step;
 * others once, after the optimiser. What does not overlap is part of the passes, or runs alone. */
static void add_dp(const berth_llm_plan *p, double gather, double reduce,
                   berth_i_llm_place_cost *place, berth_i_llm_stage_cost *stage) {
  bool sharded = p->zero == 3 || (p->zero == 2 && berth_i_llm_is_fsdp(p)),
       kept = p->zero == 3 && p->reshard == BERTH_LLM_OFF,
       gathers = p->overlap_gather == BERTH_LLM_ON, reduces = p->overlap_grad == BERTH_LLM_ON;
  if (!sharded || kept) {
    *(gathers ? &place->first_gather : &stage->gather) += gather;
    *(reduces ? &place->last_reduce : &stage->reduce) += reduce;
    return;
  }
  berth_i_llm_passes *pass = &place->pass;
  *(gathers ? &place->gather[0] : &pass->forward.of[BERTH_LLM_TIME_DP]) += gather;
  if (p->zero == 3)
    *(gathers ? &place->gather[1] : &pass->input.of[BERTH_LLM_TIME_DP]) += gather;
  *(reduces ? &place->reduce : &pass->weight.of[BERTH_LLM_TIME_DP]) += reduce;
}

static double optimizer_of(const berth_i_llm_prices *x, const berth_i_llm_held *h) {
  const berth_llm_plan *p = x->p;
  berth_i_llm_parts s = berth_i_llm_shares(p, 0);
  double bytes = p->optimizer == BERTH_LLM_ADAM ? ADAM_TRAFFIC : SGD_TRAFFIC,
         n = p->zero > 0 ? h->trained / s.dp + h->trained_experts / s.edp
                         : h->trained + h->trained_experts;
  if (p->offload) return bytes * n / HOST;
  return n > 0 ? berth_kernel_elementwise(&x->wide, bytes * n) : 0;
}

/* ---- places ---- */

static void add_passes(berth_i_llm_passes *a, const berth_i_llm_passes *b) {
  berth_i_llm_spend(&a->forward, &b->forward, 1);
  berth_i_llm_spend(&a->input, &b->input, 1);
  berth_i_llm_spend(&a->weight, &b->weight, 1);
}

/* Of a place's weights the data-parallel times: layer by layer, as they are bucketed. */
static void fill_place(berth_i_llm_step *s, group *g, int32_t at, const int32_t *from,
                       const berth_i_llm_held *kinds, berth_i_llm_held *total) {
  berth_i_llm_place_cost *x = &s->place[at];
  const berth_llm_plan *p = &s->p;
  double gather, reduce;
  x->layers = from[at + 1] - from[at];
  for (int32_t i = 0; i < x->layers; i++) {
    int32_t kind = s->m->layer[from[at] + i];
    bool again = p->recompute == BERTH_LLM_FULL
                 && (!p->recompute_layers || i < p->recompute_layers);
    add_passes(&x->pass, &g->layer[kind][again]);
    dp_times(&g->prices, &kinds[kind], &gather, &reduce);
    add_dp(p, gather, reduce, x, &s->stage[x->stage]);
    berth_i_llm_add_held(total, &kinds[kind], 1);
  }
}

static void fill_ends(berth_i_llm_step *s, group *g, int32_t at, berth_i_llm_held *total) {
  bool first = at == 0, last = at == s->n - 1;
  berth_i_llm_place_cost *x = &s->place[at];
  double gather, reduce;
  if (!first && !last) return;
  berth_i_llm_held h = berth_i_llm_held_outside(s->m, &s->p, first, last);
  if (first) add_passes(&x->pass, &g->embedding);
  if (last) add_passes(&x->pass, &g->head);
  dp_times(&g->prices, &h, &gather, &reduce);
  add_dp(&s->p, gather, reduce, x, &s->stage[x->stage]);
  berth_i_llm_add_held(total, &h, 1);
}

/* Each micro-batch costs launches of its own: transfers, loss, the schedule. */
static void add_turn(const berth_llm_factors *f, berth_i_llm_place_cost *x) {
  x->pass.forward.of[BERTH_LLM_TIME_LAUNCH] += f->launch;
  x->pass.input.of[BERTH_LLM_TIME_LAUNCH] += f->launch;
}

/* Transfers to the next place: within both receivers' passes, or beside them. */
static void add_p2p(berth_i_llm_step *s, const group *g, int32_t at) {
  const berth_llm_plan *p = &s->p;
  berth_i_llm_place_cost *x = &s->place[at], *next = x + 1;
  if (at + 1 == s->n || x->stage == next->stage) return;
  int64_t stage = (int64_t)p->tp * p->cp * p->dp,
          inside = g->g->domain > g->g->per_machine ? g->g->domain : g->g->per_machine;
  int32_t upper = x->stage < next->stage ? next->stage : x->stage;
  bool across = upper == p->pp - 1 && x->stage + next->stage == p->pp - 1
                    ? p->pp * stage > inside /* back from the last stage to the first */
                    : upper * stage % inside == 0;
  /* a tensor-parallel group sends each value once */
  double t = berth_i_llm_p2p(&g->prices, HALF * g->prices.tokens * s->m->about.hidden / p->tp,
                             across);
  if (p->overlap_p2p == BERTH_LLM_ON) {
    x->p2p = t;
    return;
  }
  next->pass.forward.of[BERTH_LLM_TIME_P2P] += t;
  x->pass.input.of[BERTH_LLM_TIME_P2P] += t;
}

static void sum_stage(berth_i_llm_step *s, const berth_i_llm_place_cost *x) {
  berth_i_llm_stage_cost *stage = &s->stage[x->stage];
  stage->forward += berth_i_llm_sum(&x->pass.forward);
  stage->backward += berth_i_llm_sum(&x->pass.input) + berth_i_llm_sum(&x->pass.weight);
}

/* ---- the whole ---- */

static berth_status fill(berth_i_llm_step *s, const berth_llm_cluster *c,
                         const berth_llm_factors *f, const int32_t *from) {
  const berth_llm_plan *p = &s->p;
  berth_i_llm_held kinds[BERTH_I_LLM_KINDS];
  group g = { .g = NULL };
  for (int32_t k = 0; k < s->m->about.kinds; k++)
    kinds[k] = berth_i_llm_held_by(p, &s->m->kind[k]);
  for (int32_t stage = 0; stage < p->pp; stage++) {
    const berth_llm_gpus *gpus = berth_i_llm_slowest(c, p, stage);
    berth_i_llm_held total = { 0, 0, 0, 0 };
    if (gpus != g.g) {
      g.g = gpus;
      berth_status st = price_group(s, f, &g);
      if (st != BERTH_OK) return st;
    }
    for (int32_t k = 0; k < p->vp; k++) {
      int32_t at = berth_i_llm_place(p, stage, k);
      fill_place(s, &g, at, from, kinds, &total);
      fill_ends(s, &g, at, &total);
      add_turn(f, &s->place[at]);
      add_p2p(s, &g, at);
    }
    s->stage[stage].optimizer = optimizer_of(&g.prices, &total);
  }
  for (int32_t i = 0; i < s->n; i++) sum_stage(s, &s->place[i]);
  return BERTH_OK;
}

static berth_status stored_of(berth_i_llm_step *s, const int32_t *from) {
  double stored[BERTH_I_LLM_KINDS];
  berth_status st = BERTH_OK;
  for (int32_t k = 0; k < s->m->about.kinds && st == BERTH_OK; k++)
    st = berth_llm_layer_memory(s->m, &s->p, k, &stored[k], NULL);
  for (int32_t i = 0; i < s->n; i++)
    for (int32_t l = from[i]; l < from[i + 1]; l++) s->place[i].stored += stored[s->m->layer[l]];
  return st;
}

berth_status berth_i_llm_step_make(const berth_llm *m, const berth_llm_cluster *c,
                                   const berth_llm_plan *filled, const berth_llm_factors *f,
                                   berth_i_llm_step *out) {
  berth_ctx *ctx = m->pool.ctx;
  *out = (berth_i_llm_step){ .m = m, .p = *filled, .n = filled->pp * filled->vp,
                             .batches = berth_i_llm_micro_batches(filled),
                             .fitted = 1, .pool = berth_i_pool_empty(ctx) };
  out->place = berth_i_pool_alloc(&out->pool, (size_t)out->n, sizeof *out->place);
  out->stage = berth_i_pool_alloc(&out->pool, (size_t)filled->pp, sizeof *out->stage);
  int32_t *from = berth_i_llm_starts(ctx, m, filled);
  berth_status st = from ? berth_i_pool_status(&out->pool) : berth_i_nomem(ctx);
  if (st == BERTH_OK) {
    memset(out->place, 0, (size_t)out->n * sizeof *out->place);
    memset(out->stage, 0, (size_t)filled->pp * sizeof *out->stage);
    for (int32_t s = 0; s < filled->pp; s++)
      for (int32_t k = 0; k < filled->vp; k++)
        out->place[berth_i_llm_place(filled, s, k)].stage = s;
    st = fill(out, c, f, from);
  }
  if (st == BERTH_OK) st = stored_of(out, from);
  if (from) berth_i_free(ctx, from, (size_t)out->n + 1, sizeof *from);
  return st;
}
