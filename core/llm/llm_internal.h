/* What the files of llm share: a model while it is read, and the model itself. */
#ifndef BERTH_LLM_INTERNAL_H
#define BERTH_LLM_INTERNAL_H

#include "base/pool_internal.h"
#include <berth/llm.h>

enum { BERTH_I_LLM_NOTES = 8, BERTH_I_LLM_KINDS = 8, BERTH_I_LLM_WIDEST = 32767 };

/* Which variant each layer is of. */
enum { BERTH_I_LLM_MOE = 1, BERTH_I_LLM_WINDOW = 2, BERTH_I_LLM_INDEX = 4 };

/** What a reader fills and berth_i_llm_make turns into a model. 0 in `narrow` and `wide`: as in
 *  the shapes. */
typedef struct berth_i_llm_draft {
  berth_llm_shapes s;
  struct {
    int32_t heads, kv_heads, head_dim, value_dim;
    int sinks;
  } narrow, wide;      /* layers with a window; without one */
  int keys_are_values; /* layers without a window have no value projection */
  int router_scales;   /* vectors of hidden and of experts in the router */
  int layer_scale;     /* a number for each layer */
  int moe_norms;       /* further norms in layers with experts */
  uint8_t *variant;    /* [layers] bits; NULL: by the shapes */
  const char *name, *type;
  char notes[BERTH_I_LLM_NOTES][200];
  int32_t n_notes;
} berth_i_llm_draft;

struct berth_llm {
  berth_i_pool pool;
  int32_t refs;
  berth_llm_about about;
  berth_llm_kind kind[BERTH_I_LLM_KINDS];
  int32_t *layer;  /* [layers] */
  const char *note[BERTH_I_LLM_NOTES];
  int32_t n_notes;
};

void berth_i_llm_note(berth_i_llm_draft *d, const char *format, ...) BERTH_PRINTF(2, 3);
/** Checks the draft, in which zeros mean defaults, and builds. @return BERTH_OK, BERTH_EINVAL,
 *  BERTH_ENOMEM */
berth_status berth_i_llm_make(berth_ctx *ctx, berth_i_llm_draft *d, berth_llm **out);

/* ---- what each GPU has: shards.c ---- */

/** Parts that a GPU has of weights, and how many GPUs hold the same: of experts apart. */
typedef struct berth_i_llm_parts {
  double tp, kv, ep, etp;
  double dp, edp;
} berth_i_llm_parts;
berth_i_llm_parts berth_i_llm_shares(const berth_llm_plan *p, int32_t kv_heads);

/** Parameters on a GPU: of experts apart, which have another data parallelism. */
typedef struct berth_i_llm_held {
  double dense, experts;
  double trained, trained_experts; /* those that have gradients */
} berth_i_llm_held;
/** Of a layer. */
berth_i_llm_held berth_i_llm_held_by(const berth_llm_plan *p, const berth_llm_kind *k);
/** Outside the layers. The head of tied weights is a copy where the last stage is not the first. */
berth_i_llm_held berth_i_llm_held_outside(const berth_llm *m, const berth_llm_plan *p,
                                          bool first, bool last);
void berth_i_llm_add_held(berth_i_llm_held *a, const berth_i_llm_held *b, double n);
/** Megatron pads the vocabulary to a multiple of 128 tp. */
double berth_i_llm_padded_vocab(const berth_llm *m, const berth_llm_plan *p);
int32_t berth_i_llm_micro_batches(const berth_llm_plan *p);
/** Of a micro-batch on a GPU. */
double berth_i_llm_tokens(const berth_llm_plan *p);
/** The place in the pipeline's order of chunk c of stage s. */
int32_t berth_i_llm_place(const berth_llm_plan *p, int32_t s, int32_t c);
/** [places + 1] the first layer of each place; berth_i_free() frees it. NULL: no memory */
int32_t *berth_i_llm_starts(berth_ctx *ctx, const berth_llm *m, const berth_llm_plan *p);
void berth_i_llm_starts_into(const berth_llm *m, const berth_llm_plan *p, int32_t *at);
/** Whether the splits tp, ep, etp, pp and vp divide the model. */
berth_status berth_i_llm_check_model(berth_ctx *ctx, const berth_llm *m, const berth_llm_plan *p);
/** Fewest heads of keys and values of a kind of layers; INT32_MAX: all have latent attention. */
int32_t berth_i_llm_kv_heads(const berth_llm *m);

/* Whether weights are sharded by FSDP: in FP32, with the optimiser. */
static inline bool berth_i_llm_is_fsdp(const berth_llm_plan *p) {
  return p->framework == BERTH_LLM_FSDP || p->framework == BERTH_LLM_TORCHTITAN;
}
static inline bool berth_i_llm_is_megatron(const berth_llm_plan *p) {
  return p->framework == BERTH_LLM_MEGATRON || p->framework == BERTH_LLM_MEGATRON_2022;
}
static inline bool berth_i_llm_is_v(const berth_llm_plan *p) {
  return p->schedule == BERTH_LLM_ZB_V || p->schedule == BERTH_LLM_DUALPIPE_V;
}

#endif
