/* What each GPU has of a model: parameters by pipeline stage, layers by place, tokens. */
#include "llm_internal.h"

berth_i_llm_parts berth_i_llm_shares(const berth_llm_plan *p, int32_t kv_heads) {
  double group = (double)p->tp * p->cp * p->dp;
  return (berth_i_llm_parts){
    .tp = 1.0 / p->tp, .kv = 1.0 / (kv_heads && kv_heads < p->tp ? kv_heads : p->tp),
    .ep = 1.0 / p->ep, .etp = 1.0 / p->etp, .dp = (double)p->dp * p->cp,
    .edp = group / p->ep / p->etp
  };
}

static void add_weight(berth_i_llm_held *x, const berth_llm_plan *p, const berth_i_llm_parts *s,
                       const berth_llm_weight *w, double pad) {
  bool split = w->shard != BERTH_LLM_WHOLE, expert = w->part == BERTH_LLM_EXPERTS;
  double share = expert ? s->ep * (split ? s->etp : 1)
                 : w->shard == BERTH_LLM_KV ? s->kv : split ? s->tp : 1;
  double n = berth_llm_weight_count(w) * pad * share, trained = n;
  if (p->training == BERTH_LLM_LORA) { /* adapters beside the matrices of the layers */
    bool matrix = w->rows > 1 && w->part <= BERTH_LLM_SHARED && w->part != BERTH_LLM_ROUTER;
    trained = matrix ? (double)p->lora_rank * ((double)w->rows + w->columns) * w->copies * share
                     : 0;
    n += trained;
  }
  *(expert ? &x->experts : &x->dense) += n;
  *(expert ? &x->trained_experts : &x->trained) += trained;
}

berth_i_llm_held berth_i_llm_held_by(const berth_llm_plan *p, const berth_llm_kind *k) {
  berth_i_llm_held x = { 0, 0, 0, 0 };
  berth_i_llm_parts s = berth_i_llm_shares(p, k->kv_heads);
  for (int32_t i = 0; i < k->n_weights; i++) add_weight(&x, p, &s, &k->weights[i], 1);
  return x;
}

double berth_i_llm_padded_vocab(const berth_llm *m, const berth_llm_plan *p) {
  double unit = berth_i_llm_is_fsdp(p) ? 1 : 128.0 * p->tp;
  return ceil(m->about.vocab / unit) * unit;
}

berth_i_llm_held berth_i_llm_held_outside(const berth_llm *m, const berth_llm_plan *p,
                                          bool first, bool last) {
  berth_i_llm_held x = { 0, 0, 0, 0 };
  berth_i_llm_parts s = berth_i_llm_shares(p, 0);
  double pad = berth_i_llm_padded_vocab(m, p) / m->about.vocab;
  for (int32_t i = 0; i < m->about.n_weights; i++) {
    const berth_llm_weight *w = &m->about.weights[i];
    bool embedding = w->part == BERTH_LLM_EMBEDDING, table = i == 0,
         here = embedding ? first || (last && table && m->about.tied) : last;
    if (here) add_weight(&x, p, &s, w, table || w->part == BERTH_LLM_HEAD ? pad : 1);
  }
  return x;
}

void berth_i_llm_add_held(berth_i_llm_held *a, const berth_i_llm_held *b, double n) {
  a->dense += n * b->dense;
  a->experts += n * b->experts;
  a->trained += n * b->trained;
  a->trained_experts += n * b->trained_experts;
}

int32_t berth_i_llm_micro_batches(const berth_llm_plan *p) {
  return p->global_batch / p->dp / p->micro_batch;
}

int32_t berth_i_llm_place(const berth_llm_plan *p, int32_t s, int32_t c) {
  if (berth_i_llm_is_v(p) && c == 1) return 2 * p->pp - 1 - s;
  return c * p->pp + s;
}

/* Layers at a place: as listed, or even. What is left over goes to the first places with
 * DeepSpeed, else past the first and the last one, which have embedding and head. */
static int32_t layers_at(const berth_llm *m, const berth_llm_plan *p, int32_t place) {
  int32_t n = p->pp * p->vp, l = m->about.layers;
  if (p->stages) return p->stages[place];
  if (p->embedding_as_layer)
    return (l + 2) / n - (place == 0) - (place == n - 1);
  int32_t extra = l % n, order = place == 0 ? n - 1 : place == n - 1 ? n - 2 : place - 1;
  if (n == 1 || p->framework == BERTH_LLM_DEEPSPEED) order = place;
  return l / n + (order < extra);
}

double berth_i_llm_tokens(const berth_llm_plan *p) {
  return (double)p->micro_batch * (p->seq / p->cp);
}

void berth_i_llm_starts_into(const berth_llm *m, const berth_llm_plan *p, int32_t *at) {
  at[0] = 0;
  for (int32_t i = 0; i < p->pp * p->vp; i++) at[i + 1] = at[i] + layers_at(m, p, i);
}

int32_t *berth_i_llm_starts(berth_ctx *ctx, const berth_llm *m, const berth_llm_plan *p) {
  int32_t *at = berth_i_alloc(ctx, (size_t)(p->pp * p->vp) + 1, sizeof *at);
  if (at) berth_i_llm_starts_into(m, p, at);
  return at;
}
