/* config.json to a draft. Each field of interest is a row: what it means, its names, and its legal
 * range. The model_type decides only what the fields leave open: biases, norms, defaults. First the
 * fields that no layer of attention and MLP has are refused, then the known ones are read, then
 * what is left: a name that speaks of sizes or numbers may change shapes, so it is refused, too. */
#include "extern/cjson_internal.h"
#include "llm_internal.h"

typedef const berth_i_json_value *value;

/* ---- fields ---- */

/* What a field means. Numbers: BERTH_NONE while absent. */
enum {
  LAYERS, HIDDEN, FFN, HEADS, KV_HEADS, HEAD_DIM, VALUE_DIM, VOCAB, POSITIONS, EXPERTS, TOP,
  EXPERT_FFN, SHARED, SHARED_FFN, DENSE_FFN, FIRST_DENSE, SPARSE_STEP, MOE_STEP, Q_RANK, KV_RANK,
  NOPE_DIM, ROPE_DIM, INDEX_DIM, INDEX_HEADS, INDEX_TOP, WINDOW, CHUNK, WINDOW_LAYERS, SWA_HEADS,
  SWA_KV_HEADS, SWA_HEAD_DIM, SWA_VALUE_DIM, WIDE_HEAD_DIM, WIDE_KV_HEADS, EXPANSION, PREDICT,
  N_NUMBERS
};
static const struct { const char *names; int32_t low, high; } numbers[N_NUMBERS] = {
  [LAYERS] = { "num_hidden_layers n_layer n_layers num_layers", 1, 100000 },
  [HIDDEN] = { "hidden_size n_embd d_model", 1, 100000000 },
  [FFN] = { "intermediate_size ffn_dim n_inner ffn_hidden_size", 0, 500000000 },
  [HEADS] = { "num_attention_heads n_head n_heads", 1, BERTH_I_LLM_WIDEST },
  [KV_HEADS] = { "num_key_value_heads num_kv_heads", 1, BERTH_I_LLM_WIDEST },
  [HEAD_DIM] = { "head_dim attention_head_dim", 0, BERTH_I_LLM_WIDEST },
  [VALUE_DIM] = { "v_head_dim", 0, BERTH_I_LLM_WIDEST },
  [VOCAB] = { "vocab_size", 1, 500000000 },
  [POSITIONS] = { "max_position_embeddings n_positions max_seq_len", 0, 500000000 },
  [EXPERTS] = { "num_local_experts n_routed_experts num_experts moe_num_experts", 0, 500000000 },
  [TOP] = { "num_experts_per_tok num_experts_per_token experts_per_token top_k_experts moe_top_k "
            "moe_topk", 0, 500000000 },
  [EXPERT_FFN] = { "moe_intermediate_size expert_intermediate_size", 0, 500000000 },
  [SHARED] = { "n_shared_experts num_shared_experts", 0, 1000 },
  [SHARED_FFN] = { "shared_expert_intermediate_size share_expert_dim shared_intermediate_size", 0,
                   500000000 },
  [DENSE_FFN] = { "dense_intermediate_size intermediate_size_mlp", 0, 500000000 },
  [FIRST_DENSE] = { "first_k_dense_replace", 0, 100000 },
  [SPARSE_STEP] = { "decoder_sparse_step", 1, 100000 },
  [MOE_STEP] = { "interleave_moe_layer_step", 0, 100000 },
  [Q_RANK] = { "q_lora_rank", 0, 500000000 },
  [KV_RANK] = { "kv_lora_rank", 0, 500000000 },
  [NOPE_DIM] = { "qk_nope_head_dim", 0, BERTH_I_LLM_WIDEST },
  [ROPE_DIM] = { "qk_rope_head_dim", 0, BERTH_I_LLM_WIDEST },
  [INDEX_DIM] = { "index_head_dim", 0, BERTH_I_LLM_WIDEST },
  [INDEX_HEADS] = { "index_n_heads", 0, BERTH_I_LLM_WIDEST },
  [INDEX_TOP] = { "index_topk", 0, 500000000 },
  [WINDOW] = { "sliding_window sliding_window_size", 0, 500000000 },
  [CHUNK] = { "attention_chunk_size", 0, 500000000 },
  [WINDOW_LAYERS] = { "max_window_layers", 0, 100000 },
  [SWA_HEADS] = { "swa_num_attention_heads", 0, BERTH_I_LLM_WIDEST },
  [SWA_KV_HEADS] = { "swa_num_key_value_heads", 0, BERTH_I_LLM_WIDEST },
  [SWA_HEAD_DIM] = { "swa_head_dim", 0, BERTH_I_LLM_WIDEST },
  [SWA_VALUE_DIM] = { "swa_v_head_dim", 0, BERTH_I_LLM_WIDEST },
  [WIDE_HEAD_DIM] = { "global_head_dim", 0, BERTH_I_LLM_WIDEST },
  [WIDE_KV_HEADS] = { "num_global_key_value_heads", 0, BERTH_I_LLM_WIDEST },
  [EXPANSION] = { "expansion_ratio", 1, 1000 },
  [PREDICT] = { "num_nextn_predict_layers num_mtp_modules mtp_num_hidden_layers", 0, 1000 },
};

enum {
  TIED, ATTENTION_BIAS, QKV_BIAS, MLP_BIAS, NO_BIAS, QK_NORM, USE_WINDOW, LEARNED, ROUTING_BIAS,
  KEYS_ARE_VALUES, MOE_BLOCK, WIDE_SINKS, NARROW_SINKS, N_FLAGS
};
static const char *const flags[N_FLAGS] = {
  [TIED] = "tie_word_embeddings", [ATTENTION_BIAS] = "attention_bias use_bias",
  [QKV_BIAS] = "qkv_bias", [MLP_BIAS] = "mlp_bias", [NO_BIAS] = "no_bias",
  [QK_NORM] = "use_qk_norm", [USE_WINDOW] = "use_sliding_window", [LEARNED] = "learned_pos_emb",
  [ROUTING_BIAS] = "use_routing_bias use_moe_router_bias", [KEYS_ARE_VALUES] = "attention_k_eq_v",
  [MOE_BLOCK] = "enable_moe_block", [WIDE_SINKS] = "add_full_attention_sink_bias",
  [NARROW_SINKS] = "add_swa_attention_sink_bias",
};

enum { TYPE, ACTIVATION, TOPK_METHOD, QK_NORM_TYPE, N_TEXTS };
static const char *const texts[N_TEXTS] = {
  [TYPE] = "model_type", [ACTIVATION] = "hidden_act hidden_activation activation_function",
  [TOPK_METHOD] = "topk_method", [QK_NORM_TYPE] = "qk_norm_type",
};

/* Arrays by layer: the bit that a member which is `yes` sets, or clears. */
enum { MLP_ONLY = 4, N_LISTS };
static const struct { const char *name, *yes, *no; uint8_t bit; } lists[N_LISTS] = {
  { "layer_types", "sliding_attention chunked_attention",
    "full_attention deepseek_sparse_attention", BERTH_I_LLM_WINDOW },
  { "hybrid_layer_pattern", "1", "0", BERTH_I_LLM_WINDOW },
  { "mlp_layer_types", "sparse", "dense", BERTH_I_LLM_MOE },
  { "indexer_types", "full", "shared", BERTH_I_LLM_INDEX },
  [MLP_ONLY] = { "mlp_only_layers", NULL, NULL, 0 }, /* numbers of layers */
};

#define OTHER_LAYERS \
  "belongs to layers that are not attention with an MLP or experts (state space or linear " \
  "attention), which are not supported"
#define UNKNOWN "changes shapes and is not understood"

/* In the order in which they are reported; a star at the end stands for any ending. */
static const struct { const char *name, *reason; } refused[] = {
  { "hybrid_override_pattern", OTHER_LAYERS }, { "layers_block_type", OTHER_LAYERS },
  { "linear_attn_config", OTHER_LAYERS }, { "linear_*", OTHER_LAYERS },
  { "mamba_*", OTHER_LAYERS }, { "ssm_*", OTHER_LAYERS }, { "conv_kernel", OTHER_LAYERS },
  { "compress_ratios", UNKNOWN }, { "sparse_attention_config", UNKNOWN }, { "hc_mult", UNKNOWN },
  { "use_double_wide_mlp", UNKNOWN }, { "multi_query", UNKNOWN },
  { "new_decoder_architecture", UNKNOWN }, { "is_encoder_decoder", UNKNOWN },
  { "attention_other_setting", UNKNOWN }, { "cross_attention_hidden_size", UNKNOWN },
  { "add_cross_attention", UNKNOWN },
};
enum { N_REFUSED = sizeof refused / sizeof *refused };

/* Names that speak of sizes and change no shape of the layers. */
static const char harmless[] =
    " chunk_size_feed_forward ep_size n_ctx n_group topk_group num_beams num_beam_groups "
    "num_return_sequences no_repeat_ngram_size encoder_no_repeat_ngram_size num_logits_to_keep "
    "num_expert_group original_max_position_embeddings rotary_dim partial_rotary_dim qk_head_dim "
    "vocab_size_per_layer_input max_position_embeddings tokenizer_vocab_size attn_config "
    "attn_type_list mtp_transformer_layers index_topk_freq rotary_pct moe_layer_freq "
    "word_embed_proj_dim sample_size ";

/* Parts of names that speak of shapes. */
static const char *const shape_words[] = {
  "_dim", "_size", "_rank", "_heads", "_layers", "_ratio", "_pattern", "_freq", "_interval",
  "_types", "_experts", "_groups", "_config", NULL
};

/* ---- model types ---- */

enum {
  T_TIED = 1, T_PLAIN = 2 /* MLP of two matrices */, T_SHIFT = 4 /* norms with a shift */,
  T_QKV_BIAS = 8, T_ALL_BIAS = 16, T_NO_OUT_BIAS = 32 /* attention_bias is not of the output */,
  T_QK_NORM = 64, T_NORMS4 = 128, T_POSITIONS = 256, T_SINKS = 512, T_EXPERT_BIAS = 1024,
  T_SHARED_GATE = 2048, T_EMBEDDING_NORM = 4096, T_SHARED_ONE = 8192 /* like a routed one */,
  T_CHUNKED = 16384 /* three of four layers attend within chunks */, T_NO_WINDOW = 32768,
  T_SOFT = 65536 /* use_qk_norm has no weights */
};
static const struct { const char *name; int32_t bits; int32_t extra_positions; } types[] = {
  { "llama", 0, 0 }, { "mistral", 0, 0 }, { "mixtral", 0, 0 }, { "phi3", 0, 0 },
  { "qwen2", T_QKV_BIAS, 0 }, { "qwen2_moe", T_QKV_BIAS | T_SHARED_GATE, 0 },
  { "qwen3", T_QK_NORM, 0 }, { "qwen3_moe", T_QK_NORM, 0 },
  { "qwen3_vl_text", T_QK_NORM, 0 }, { "qwen3_vl_moe_text", T_QK_NORM, 0 },
  { "deepseek_v2", 0, 0 }, { "deepseek_v3", 0, 0 }, { "deepseek_v32", 0, 0 },
  { "kimi_k2", 0, 0 }, { "glm_moe_dsa", 0, 0 }, { "glm4_moe", T_NO_OUT_BIAS, 0 },
  { "gpt_oss", T_SINKS | T_EXPERT_BIAS, 0 },
  { "gemma", T_TIED, 0 }, { "gemma2", T_TIED | T_NORMS4, 0 },
  { "gemma3_text", T_TIED | T_NORMS4 | T_QK_NORM, 0 },
  { "gemma4_text", T_TIED | T_NORMS4 | T_QK_NORM, 0 },
  { "llama4_text", T_SHARED_ONE | T_CHUNKED | T_SOFT, 0 },
  { "minimax_m2", 0, 0 }, { "mimo", T_NO_OUT_BIAS, 0 }, { "mimo_v2_flash", T_NO_OUT_BIAS, 0 },
  { "gpt2", T_TIED | T_PLAIN | T_SHIFT | T_ALL_BIAS | T_POSITIONS, 0 },
  { "gpt_neox", T_PLAIN | T_SHIFT | T_ALL_BIAS, 0 },
  { "opt", T_TIED | T_PLAIN | T_SHIFT | T_ALL_BIAS | T_POSITIONS, 2 },
  { "bloom", T_TIED | T_PLAIN | T_SHIFT | T_ALL_BIAS | T_EMBEDDING_NORM, 0 },
  { "mpt", T_TIED | T_PLAIN, 0 },
};
enum { N_TYPES = sizeof types / sizeof *types };

typedef struct reader {
  const berth_i_json *doc;
  value object;
  berth_i_pool pool;
  berth_i_llm_draft d;
  int32_t number[N_NUMBERS], flag[N_FLAGS];
  value at[N_NUMBERS]; /* where the number is, for messages */
  const char *text[N_TEXTS];
  value list[N_LISTS], frequency;
  int32_t bits;
} reader;

/* ---- names ---- */

static bool listed(const char *names, const char *key) {
  size_t n = strlen(key);
  for (const char *p = names; (p = strstr(p, key)) != NULL; p += n)
    if ((p == names || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) return true;
  return false;
}

static bool fits(const char *pattern, const char *key) {
  size_t n = strlen(pattern);
  if (pattern[n - 1] == '*') return strncmp(pattern, key, n - 1) == 0;
  return strcmp(pattern, key) == 0;
}

/* null, false, 0, [] and {} say that there is none of it. */
static bool says_none(value v) {
  switch (berth_i_json_kind_of(v)) {
  case BERTH_I_JSON_NULL: return true;
  case BERTH_I_JSON_BOOL: return !berth_i_json_true(v);
  case BERTH_I_JSON_NUMBER: return berth_i_json_number(v) == 0;
  case BERTH_I_JSON_STRING: return false;
  default: return berth_i_json_first(v) == NULL;
  }
}

static berth_status refuse(const reader *r, value v, const char *reason) {
  berth_i_json_fail(r->doc, v, "%s", reason);
  return BERTH_EUNSUPPORTED;
}

static berth_status refuse_foreign(const reader *r) {
  for (int i = 0; i < N_REFUSED; i++)
    for (value v = berth_i_json_first(r->object); v; v = berth_i_json_next(v))
      if (fits(refused[i].name, berth_i_json_key(v)) && !says_none(v))
        return refuse(r, v, refused[i].reason);
  return BERTH_OK;
}

static bool speaks_of_shapes(const char *key) {
  if (strncmp(key, "num_", 4) == 0 || strncmp(key, "n_", 2) == 0) return true;
  for (int i = 0; shape_words[i]; i++)
    if (strstr(key, shape_words[i])) return true;
  return false;
}

/* ---- members ---- */

static berth_status read_number(reader *r, int k, value v) {
  if (berth_i_json_kind_of(v) == BERTH_I_JSON_NULL) return BERTH_OK;
  if (berth_i_json_kind_of(v) != BERTH_I_JSON_NUMBER)
    return berth_i_json_fail(r->doc, v, "is not a number");
  double x = berth_i_json_number(v);
  if (x != floor(x) || x < numbers[k].low || x > numbers[k].high)
    return berth_i_json_fail(r->doc, v, "is not a whole number from %d to %d",
                             (int)numbers[k].low, (int)numbers[k].high);
  if (r->number[k] != BERTH_NONE && r->number[k] != (int32_t)x && k != PREDICT) {
    return berth_i_json_fail(r->doc, v, "contradicts \"%s\", which is %d",
                             berth_i_json_key(r->at[k]), (int)r->number[k]);
  }
  r->number[k] = (int32_t)x;
  r->at[k] = v;
  return BERTH_OK;
}

static berth_status read_flag(const reader *r, int32_t *flag, value v) {
  if (berth_i_json_kind_of(v) == BERTH_I_JSON_NULL) return BERTH_OK;
  if (berth_i_json_kind_of(v) != BERTH_I_JSON_BOOL)
    return berth_i_json_fail(r->doc, v, "is neither true nor false");
  *flag = berth_i_json_true(v);
  return BERTH_OK;
}

static berth_status read_text(const reader *r, const char **text, value v) {
  if (berth_i_json_kind_of(v) == BERTH_I_JSON_NULL) return BERTH_OK;
  if (berth_i_json_kind_of(v) != BERTH_I_JSON_STRING)
    return berth_i_json_fail(r->doc, v, "is not a string");
  *text = berth_i_json_string(v);
  return BERTH_OK;
}

/* A member of the object that is searched. */
static berth_status read_member(reader *r, value v) {
  const char *key = berth_i_json_key(v);
  for (int k = 0; k < N_NUMBERS; k++)
    if (listed(numbers[k].names, key)) return read_number(r, k, v);
  for (int k = 0; k < N_FLAGS; k++)
    if (listed(flags[k], key)) return read_flag(r, &r->flag[k], v);
  for (int k = 0; k < N_TEXTS; k++)
    if (listed(texts[k], key)) return read_text(r, &r->text[k], v);
  for (int k = 0; k < N_LISTS; k++) {
    if (strcmp(lists[k].name, key) != 0 || says_none(v)) continue;
    if (berth_i_json_kind_of(v) != BERTH_I_JSON_ARRAY)
      return berth_i_json_fail(r->doc, v, "is not an array");
    r->list[k] = v;
    return BERTH_OK;
  }
  if (strcmp(key, "moe_layer_freq") == 0 && !says_none(v)) r->frequency = v;
  if (says_none(v) || !speaks_of_shapes(key) || listed(harmless, key)) return BERTH_OK;
  if (strcmp(key, "quantization_config") == 0 || strcmp(key, "vision_config") == 0
      || berth_i_json_kind_of(v) == BERTH_I_JSON_STRING)
    return BERTH_OK;
  return refuse(r, v, UNKNOWN);
}

static int32_t number(const reader *r, int k) { return r->number[k] > 0 ? r->number[k] : 0; }
/* What is too large is refused later, as any width is. */
static int32_t times(int32_t a, int32_t b) {
  int64_t x = (int64_t)a * b;
  return x < INT32_MAX ? (int32_t)x : INT32_MAX;
}
static bool flag(const reader *r, int k, bool otherwise) {
  return r->flag[k] == BERTH_NONE ? otherwise : r->flag[k] != 0;
}
static bool is(const reader *r, int32_t bit) { return (r->bits & bit) != 0; }

/* ---- layers ---- */

static const char *member_text(value v, char buf[16]) {
  if (berth_i_json_kind_of(v) == BERTH_I_JSON_STRING) return berth_i_json_string(v);
  if (berth_i_json_kind_of(v) == BERTH_I_JSON_NUMBER)
    berth_snprintf(buf, 16, "%.9g", berth_i_json_number(v));
  else buf[0] = '\0';
  return buf;
}

/* An array of one member for each layer: `bit` where the member is among `yes`. */
static berth_status read_layers(reader *r, value array, const char *yes, const char *no,
                                uint8_t bit) {
  int32_t i = 0;
  char buf[16];
  if (berth_i_json_count(array) < r->d.s.layers)
    return berth_i_json_fail(r->doc, array, "has %d members for %d layers",
                             (int)berth_i_json_count(array), (int)r->d.s.layers);
  for (value v = berth_i_json_first(array); v && i < r->d.s.layers; v = berth_i_json_next(v), i++) {
    const char *text = member_text(v, buf);
    if (strstr(text, "linear") || strstr(text, "mamba")) return refuse(r, v, OTHER_LAYERS);
    if (!*text || (!listed(yes, text) && !listed(no, text))) return refuse(r, v, UNKNOWN);
    r->d.variant[i] &= (uint8_t)~bit;
    if (listed(yes, text)) r->d.variant[i] |= bit;
  }
  return BERTH_OK;
}

static berth_status read_mlp_only(reader *r) {
  for (value v = r->list[MLP_ONLY] ? berth_i_json_first(r->list[MLP_ONLY]) : NULL; v;
       v = berth_i_json_next(v)) {
    double x = berth_i_json_kind_of(v) == BERTH_I_JSON_NUMBER ? berth_i_json_number(v) : -1;
    if (x != floor(x) || x < 0 || x >= r->d.s.layers)
      return berth_i_json_fail(r->doc, v, "is not the number of a layer");
    r->d.variant[(int32_t)x] &= (uint8_t)~BERTH_I_LLM_MOE;
  }
  return BERTH_OK;
}

/* moe_layer_freq: an array, or every how many layers. */
static berth_status read_frequency(reader *r, int32_t *every) {
  if (!r->frequency) return BERTH_OK;
  if (berth_i_json_kind_of(r->frequency) == BERTH_I_JSON_ARRAY)
    return read_layers(r, r->frequency, "1", "0", BERTH_I_LLM_MOE);
  double x = berth_i_json_kind_of(r->frequency) == BERTH_I_JSON_NUMBER
             ? berth_i_json_number(r->frequency) : 0;
  if (x != floor(x) || x < 1 || x > 100000)
    return berth_i_json_fail(r->doc, r->frequency, "is neither an array nor a number from 1");
  *every = (int32_t)x;
  return BERTH_OK;
}

static bool has_window(const reader *r, int32_t layer) {
  if (!r->d.s.window || flag(r, USE_WINDOW, true) == false) return false;
  if (is(r, T_CHUNKED)) return (layer + 1) % 4 != 0;
  return r->flag[USE_WINDOW] != 1 || layer >= number(r, WINDOW_LAYERS);
}

static berth_status set_variants(reader *r) {
  berth_llm_shapes *s = &r->d.s;
  r->d.variant = berth_i_pool_zalloc(&r->pool, (size_t)s->layers, 1);
  berth_status st = berth_i_pool_status(&r->pool);
  int32_t every = number(r, SPARSE_STEP) ? number(r, SPARSE_STEP) : 1;
  if (number(r, MOE_STEP)) every = number(r, MOE_STEP);
  for (int32_t i = 0; st == BERTH_OK && i < s->layers; i++)
    r->d.variant[i] = (uint8_t)((has_window(r, i) ? BERTH_I_LLM_WINDOW : 0)
                                | (s->index_heads ? BERTH_I_LLM_INDEX : 0)
                                | (s->experts ? BERTH_I_LLM_MOE : 0));
  if (st != BERTH_OK || (st = read_frequency(r, &every)) != BERTH_OK) return st;
  for (int32_t i = 0; i < s->layers; i++) {
    bool turn = r->frequency && !number(r, MOE_STEP) ? i % every == 0 : (i + 1) % every == 0;
    if (i < number(r, FIRST_DENSE) || !turn) r->d.variant[i] &= (uint8_t)~BERTH_I_LLM_MOE;
  }
  for (int k = 0; k < MLP_ONLY && st == BERTH_OK; k++)
    if (r->list[k] && (lists[k].bit != BERTH_I_LLM_WINDOW || s->window))
      st = read_layers(r, r->list[k], lists[k].yes, lists[k].no, lists[k].bit);
    else if (r->list[k]) /* without a window the types are checked all the same */
      st = read_layers(r, r->list[k], "", "full_attention deepseek_sparse_attention 0", 0);
  if (st == BERTH_OK) st = read_mlp_only(r);
  for (int32_t i = 0; !s->experts && i < s->layers; i++)
    r->d.variant[i] &= (uint8_t)~BERTH_I_LLM_MOE;
  return st;
}

/* ---- the draft ---- */

static void set_biases(reader *r) {
  berth_llm_shapes *s = &r->d.s;
  bool all = is(r, T_ALL_BIAS) && !flag(r, NO_BIAS, false), bias = flag(r, ATTENTION_BIAS, all);
  s->qkv_bias = bias || flag(r, QKV_BIAS, is(r, T_QKV_BIAS));
  s->out_bias = bias && !is(r, T_NO_OUT_BIAS);
  s->mlp_bias = flag(r, MLP_BIAS, all);
  s->norm_bias = is(r, T_SHIFT);
  s->expert_bias = is(r, T_EXPERT_BIAS);
  s->router_bias = s->expert_bias || flag(r, ROUTING_BIAS, false)
                   || (r->text[TOPK_METHOD] && strcmp(r->text[TOPK_METHOD], "noaux_tc") == 0);
  bool norm = flag(r, QK_NORM, is(r, T_QK_NORM)) && !is(r, T_SOFT);
  s->qk_norm = !norm ? 0 : r->text[QK_NORM_TYPE] && strcmp(r->text[QK_NORM_TYPE], "per_layer") == 0
               ? 2 : 1;
}

static void set_experts(reader *r) {
  berth_llm_shapes *s = &r->d.s;
  bool on = flag(r, MOE_BLOCK, true);
  s->experts = on ? number(r, EXPERTS) : 0;
  if (!s->experts) return;
  s->top = number(r, TOP);
  s->expert_ffn = number(r, EXPERT_FFN) ? number(r, EXPERT_FFN) : s->ffn;
  s->shared_ffn = number(r, SHARED_FFN) ? number(r, SHARED_FFN)
                                        : times(number(r, SHARED), s->expert_ffn);
  if (is(r, T_SHARED_ONE)) s->shared_ffn = s->expert_ffn;
  s->shared_gate = is(r, T_SHARED_GATE);
  s->with_dense = r->flag[MOE_BLOCK] == 1; /* beside it, with norms of its own */
  if (s->with_dense) {
    r->d.moe_norms = 3;
    r->d.router_scales = 1;
  }
  if (number(r, DENSE_FFN)) s->ffn = number(r, DENSE_FFN);
}

static void set_attention(reader *r) {
  berth_llm_shapes *s = &r->d.s;
  s->kv_heads = number(r, KV_HEADS);
  s->head_dim = number(r, HEAD_DIM);
  s->value_dim = number(r, VALUE_DIM);
  s->kv_rank = number(r, KV_RANK);
  if (s->kv_rank) {
    s->q_rank = number(r, Q_RANK);
    s->rope_dim = number(r, ROPE_DIM);
    s->head_dim = number(r, NOPE_DIM) + s->rope_dim;
  }
  s->index_heads = number(r, INDEX_HEADS);
  s->index_dim = number(r, INDEX_DIM);
  s->index_top = number(r, INDEX_TOP);
  s->window = is(r, T_CHUNKED) ? number(r, CHUNK) : number(r, WINDOW);
  r->d.narrow.heads = number(r, SWA_HEADS);
  r->d.narrow.kv_heads = number(r, SWA_KV_HEADS);
  r->d.narrow.head_dim = number(r, SWA_HEAD_DIM);
  r->d.narrow.value_dim = number(r, SWA_VALUE_DIM);
  r->d.wide.head_dim = number(r, WIDE_HEAD_DIM);
  r->d.wide.kv_heads = number(r, WIDE_KV_HEADS);
  r->d.narrow.sinks = flag(r, NARROW_SINKS, false);
  r->d.wide.sinks = flag(r, WIDE_SINKS, false);
  r->d.keys_are_values = flag(r, KEYS_ARE_VALUES, false);
  s->sinks = is(r, T_SINKS);
}

/* silu, gelu_pytorch_tanh and their like come with a gate, where the type does not say. */
static bool is_gated(const reader *r, bool known) {
  if (known) return !is(r, T_PLAIN);
  const char *a = r->text[ACTIVATION];
  return !a || (strncmp(a, "gelu", 4) != 0 && strncmp(a, "relu", 4) != 0);
}

static bool set_type(reader *r) {
  for (int i = 0; r->text[TYPE] && i < N_TYPES; i++) {
    if (strcmp(types[i].name, r->text[TYPE]) != 0) continue;
    r->bits = types[i].bits;
    if (is(r, T_POSITIONS) || flag(r, LEARNED, false))
      r->d.s.positions = number(r, POSITIONS) + types[i].extra_positions;
    return true;
  }
  berth_i_llm_note(&r->d, "model_type \"%.40s\" is unknown: read by its common fields",
                   r->text[TYPE] ? r->text[TYPE] : "");
  return false;
}

static void set_draft(reader *r) {
  berth_llm_shapes *s = &r->d.s;
  *s = berth_llm_shapes_default();
  bool known = set_type(r);
  s->layers = number(r, LAYERS);
  s->hidden = number(r, HIDDEN);
  s->heads = number(r, HEADS);
  s->vocab = number(r, VOCAB);
  s->ffn = number(r, FFN);
  if (!s->ffn) s->ffn = times(number(r, EXPANSION), s->hidden);
  s->gated = is_gated(r, known);
  s->tied = flag(r, TIED, is(r, T_TIED));
  s->layer_norms = is(r, T_NORMS4) ? 4 : 2;
  s->embedding_norm = is(r, T_EMBEDDING_NORM);
  r->d.layer_scale = r->text[TYPE] && strcmp(r->text[TYPE], "gemma4_text") == 0;
  r->d.type = r->text[TYPE];
  set_attention(r);
  set_biases(r);
  set_experts(r);
  if (number(r, PREDICT))
    berth_i_llm_note(&r->d, "modules that predict further tokens (\"%s\") are left out",
                     berth_i_json_key(r->at[PREDICT]));
}

/* Python writes Infinity and NaN, which are no JSON: a copy of the text with numbers of the same
 * length in their place. */
static char *as_json(berth_i_pool *pool, const char *text, size_t len) {
  static const char *const words[] = { "Infinity", "1e999   ", "NaN", "0  " };
  char *copy = berth_i_pool_alloc(pool, len + 1, 1);
  if (!copy) return NULL;
  memcpy(copy, text, len);
  copy[len] = '\0';
  bool quoted = false;
  for (size_t i = 0; i < len; i++) {
    if (copy[i] == '\\' && i + 1 < len) i++;
    else if (copy[i] == '"') quoted = !quoted;
    for (int k = 0; !quoted && k < 4; k += 2)
      if (strncmp(copy + i, words[k], strlen(words[k])) == 0)
        memcpy(copy + i, words[k + 1], strlen(words[k]));
  }
  return copy;
}

/* The file's name without its ending; of "x/config.json" x. */
static const char *name_of(berth_i_pool *pool, const char *path) {
  char *copy = berth_i_pool_strdup(pool, path);
  if (!copy) return NULL;
  size_t n = strlen(copy);
  static const char *const endings[] = { "config.json", ".json", "_", "/" };
  for (int i = 0; i < 4; i++) {
    size_t k = strlen(endings[i]);
    if (n > k && strcmp(copy + n - k, endings[i]) == 0) copy[n -= k] = '\0';
  }
  char *slash = strrchr(copy, '/');
  return slash ? slash + 1 : copy;
}

/* The text part of a model of several modes; flags and quantization of the whole hold for it. */
static berth_status find_object(reader *r) {
  value root = berth_i_json_root(r->doc);
  if (berth_i_json_kind_of(root) != BERTH_I_JSON_OBJECT)
    return berth_i_json_fail(r->doc, root, "is not an object");
  value part = berth_i_json_get(root, "text_config"), tied;
  if (!part) part = berth_i_json_get(root, "llm_config");
  r->object = root;
  if (part && berth_i_json_kind_of(part) == BERTH_I_JSON_OBJECT) {
    r->object = part;
    berth_i_llm_note(&r->d, "the text part (\"%s\") of a model of several modes",
                     berth_i_json_key(part));
    tied = berth_i_json_get(root, flags[TIED]);
    berth_status st = tied ? read_flag(r, &r->flag[TIED], tied) : BERTH_OK;
    if (st != BERTH_OK) return st;
  }
  if (berth_i_json_get(root, "quantization_config")
      || berth_i_json_get(r->object, "quantization_config"))
    berth_i_llm_note(&r->d, "quantization_config: weights for training are bf16");
  return BERTH_OK;
}

static berth_status need_fields(const reader *r) {
  static const int needed[] = { LAYERS, HIDDEN, HEADS, VOCAB };
  for (int i = 0; i < 4; i++)
    if (r->number[needed[i]] == BERTH_NONE)
      return berth_i_json_fail(r->doc, r->object, "has no \"%.*s\"",
                               (int)strcspn(numbers[needed[i]].names, " "),
                               numbers[needed[i]].names);
  if (number(r, EXPERTS) && flag(r, MOE_BLOCK, true) && !number(r, TOP))
    return berth_i_json_fail(r->doc, r->at[EXPERTS], "has no \"num_experts_per_tok\" beside it");
  return BERTH_OK;
}

static berth_status read_object(reader *r) {
  berth_status st = refuse_foreign(r);
  for (value v = berth_i_json_first(r->object); v && st == BERTH_OK; v = berth_i_json_next(v))
    st = read_member(r, v);
  if (st == BERTH_OK) st = need_fields(r);
  if (st != BERTH_OK) return st;
  set_draft(r);
  return set_variants(r);
}

berth_status berth_llm_parse(berth_ctx *ctx, const char *name, const char *text, size_t len,
                             berth_llm **out) {
  if (!ctx || !name || !text || !out) return BERTH_EINVAL;
  reader r = { .pool = berth_i_pool_empty(ctx) };
  berth_i_json *doc = NULL;
  const char *copy = as_json(&r.pool, text, len);
  berth_status st = berth_i_pool_status(&r.pool);
  if (st != BERTH_OK || (st = berth_i_json_parse(ctx, name, copy, len, &doc)) != BERTH_OK) {
    berth_i_pool_free(&r.pool);
    return st;
  }
  r.doc = doc;
  for (int k = 0; k < N_NUMBERS; k++) r.number[k] = BERTH_NONE;
  for (int k = 0; k < N_FLAGS; k++) r.flag[k] = BERTH_NONE;
  r.d.name = name_of(&r.pool, name);
  if ((st = berth_i_pool_status(&r.pool)) == BERTH_OK && (st = find_object(&r)) == BERTH_OK
      && (st = read_object(&r)) == BERTH_OK) {
    st = berth_i_llm_make(ctx, &r.d, out);
    if (st == BERTH_EINVAL) {
      berth_i_prefix_error(ctx, "%s: ", name);
      st = BERTH_EPARSE;
    }
  }
  berth_i_pool_free(&r.pool);
  berth_i_json_release(doc);
  return st;
}
