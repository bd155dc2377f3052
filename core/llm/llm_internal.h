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

/* Whether weights are sharded by FSDP: in FP32, with the optimiser. */
static inline bool berth_i_llm_is_fsdp(const berth_llm_plan *p) {
  return p->framework == BERTH_LLM_FSDP || p->framework == BERTH_LLM_TORCHTITAN;
}
static inline bool berth_i_llm_is_v(const berth_llm_plan *p) {
  return p->schedule == BERTH_LLM_ZB_V || p->schedule == BERTH_LLM_DUALPIPE_V;
}

#endif
