/* Models: layers of kinds, kinds of weights. A layer is of a variant (experts, window, index);
 * layers of one variant are one kind, so a model has at most eight. All that is counted or split
 * later is the list of weights. */
#include "llm_internal.h"
#include <stdio.h>

enum { MOST_WEIGHTS = 40, MOST_LAYERS = 100000 };

berth_llm_shapes berth_llm_shapes_default(void) {
  return (berth_llm_shapes){ .gated = 1, .layer_norms = 2, .moe_every = 1 };
}

static void set_defaults(void *out) { *(berth_llm_shapes *)out = berth_llm_shapes_default(); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_llm_shapes, name, kind)
#define SIZE(name, default_, ...) \
  { FIELD(name, WHOLE), .high = 5e8, .fallback = default_, .text = __VA_ARGS__ }
/* Products of two of these, and of one and two others, are below 2^31. */
#define WIDTH(name, default_, ...) \
  { FIELD(name, WHOLE), .high = BERTH_I_LLM_WIDEST, .fallback = default_, .text = __VA_ARGS__ }

const berth_option_table *berth_llm_shapes_option_table(void) {
  static const berth_option rows[] = {
    { FIELD(layers, WHOLE), .low = 1, .high = MOST_LAYERS, .fallback = "required",
      .text = "how many layers" },
    { FIELD(hidden, WHOLE), .low = 1, .high = 1e8, .fallback = "required",
      .text = "width of the residual stream" },
    { FIELD(heads, WHOLE), .low = 1, .high = BERTH_I_LLM_WIDEST, .fallback = "required",
      .text = "attention heads" },
    WIDTH(kv_heads, "heads", "heads of keys and values"),
    WIDTH(head_dim, "hidden / heads", "width of a head's query and key"),
    WIDTH(value_dim, "head_dim", "width of a head's value"),
    SIZE(ffn, "4 hidden", "width of a dense MLP"),
    { FIELD(vocab, WHOLE), .low = 1, .high = 5e8, .fallback = "required",
      .text = "tokens of the vocabulary" },
    { FIELD(gated, FLAG), .text = "the MLP has three matrices" },
    { FIELD(tied, FLAG), .text = "the head is the embedding" },
    { FIELD(qkv_bias, FLAG), .text = "biases of queries, keys and values" },
    { FIELD(out_bias, FLAG), .text = "bias of the attention's output" },
    { FIELD(mlp_bias, FLAG), .text = "biases of the MLP" },
    { FIELD(norm_bias, FLAG), .text = "norms have a shift, too" },
    { FIELD(qk_norm, WHOLE), .high = 2,
      .text = "norms of queries and keys: 0 none, 1 of each head, 2 of all heads together" },
    { FIELD(layer_norms, WHOLE), .low = 1, .high = 8, .text = "norms of a layer" },
    SIZE(positions, "none", "learned positions"),
    { FIELD(embedding_norm, FLAG), .text = "a norm behind the embedding" },
    SIZE(experts, "none", "routed experts of a layer"),
    SIZE(top, "none", "routed experts of a token"),
    SIZE(expert_ffn, "ffn", "width of an expert"),
    SIZE(shared_ffn, "none", "width of all shared experts together"),
    { FIELD(shared_gate, FLAG), .text = "the shared expert has a gate" },
    { FIELD(router_bias, FLAG), .text = "the router has a bias" },
    { FIELD(expert_bias, FLAG), .text = "experts have biases" },
    { FIELD(with_dense, FLAG), .text = "layers with experts have a dense MLP, too" },
    SIZE(dense_layers, "none", "the first layers, which have no experts"),
    { FIELD(moe_every, WHOLE), .low = 1, .high = MOST_LAYERS,
      .text = "every k-th layer has experts" },
    SIZE(q_rank, "full", "rank of latent queries"),
    SIZE(kv_rank, "none", "rank of latent keys and values"),
    WIDTH(rope_dim, "none", "of latent attention: part of head_dim that heads share"),
    WIDTH(index_heads, "none", "heads of the index of sparse attention"),
    WIDTH(index_dim, "none", "width of such a head"),
    SIZE(index_top, "none", "tokens that the index chooses"),
    SIZE(window, "none", "tokens that a layer with a window attends to"),
    SIZE(full_every, "none", "every k-th layer has no window"),
    { FIELD(sinks, FLAG), .text = "a learned logit for each head" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("llm.model", rows, berth_llm_shapes, set_defaults);
}

void berth_i_llm_note(berth_i_llm_draft *d, const char *format, ...) {
  if (d->n_notes == BERTH_I_LLM_NOTES) return;
  va_list args;
  va_start(args, format);
  vsnprintf(d->notes[d->n_notes++], sizeof d->notes[0], format, args);
  va_end(args);
}

/* ---- weights ---- */

double berth_llm_weight_count(const berth_llm_weight *w) {
  return w ? (double)w->rows * w->columns * w->copies : 0;
}

const char *berth_llm_part_name(berth_llm_part part) {
  static const char *const names[] = {
    "attention", "mlp", "experts", "router", "shared experts", "norm", "embedding", "head"
  };
  return part >= 0 && part <= BERTH_LLM_HEAD ? names[part] : "";
}

const char *berth_llm_shard_name(berth_llm_shard shard) {
  static const char *const names[] = { "whole", "column", "row", "kv" };
  return shard >= 0 && shard <= BERTH_LLM_KV ? names[shard] : "";
}

typedef struct list {
  berth_llm_weight at[MOST_WEIGHTS];
  int32_t n;
} list;

static void add(list *l, const char *name, int32_t rows, int32_t columns, int32_t copies,
                berth_llm_part part, berth_llm_shard shard) {
  if (rows > 0 && columns > 0 && copies > 0)
    l->at[l->n++] = (berth_llm_weight){ name, rows, columns, copies, part, shard };
}

static void add_vector(list *l, bool there, const char *name, int32_t n, berth_llm_part part,
                       berth_llm_shard shard) {
  if (there) add(l, name, 1, n, 1, part, shard);
}

static void add_norm(list *l, const berth_llm_shapes *s, const char *name, int32_t n) {
  add(l, name, 1, n, s->norm_bias ? 2 : 1, BERTH_LLM_NORM, BERTH_LLM_WHOLE);
}

/* Queries, keys and values through a narrow layer with a norm in it. The part of the keys that has
 * positions is the same for all heads, and does not pass the norm. */
static void add_latent(list *l, const berth_i_llm_draft *d, const berth_llm_kind *k) {
  const berth_llm_part at = BERTH_LLM_ATTENTION;
  int32_t h = d->s.hidden, q = k->heads * k->head_dim;
  if (k->q_rank) {
    add(l, "q_a", h, k->q_rank, 1, at, BERTH_LLM_WHOLE);
    add_vector(l, true, "q_a_norm", k->q_rank, BERTH_LLM_NORM, BERTH_LLM_WHOLE);
  }
  add(l, k->q_rank ? "q_b" : "q", k->q_rank ? k->q_rank : h, q, 1, at, BERTH_LLM_COLUMN);
  add(l, "kv_a", h, k->kv_rank + k->rope_dim, 1, at, BERTH_LLM_WHOLE);
  add_vector(l, true, "kv_a_norm", k->kv_rank, BERTH_LLM_NORM, BERTH_LLM_WHOLE);
  add(l, "kv_b", k->kv_rank, k->heads * (k->head_dim - k->rope_dim + k->value_dim), 1, at,
      BERTH_LLM_COLUMN);
}

static void add_heads(list *l, const berth_i_llm_draft *d, const berth_llm_kind *k) {
  const berth_llm_part at = BERTH_LLM_ATTENTION;
  int32_t h = d->s.hidden, q = k->heads * k->head_dim, kv = k->kv_heads * k->head_dim,
          v = d->keys_are_values && !k->window ? 0 : k->kv_heads * k->value_dim;
  add(l, "q", h, q, 1, at, BERTH_LLM_COLUMN);
  add(l, "k", h, kv, 1, at, BERTH_LLM_KV);
  add(l, "v", h, v, 1, at, BERTH_LLM_KV);
  add_vector(l, d->s.qkv_bias, "q_bias", q, at, BERTH_LLM_COLUMN);
  add_vector(l, d->s.qkv_bias, "k_bias", kv, at, BERTH_LLM_KV);
  add_vector(l, d->s.qkv_bias, "v_bias", v, at, BERTH_LLM_KV);
  bool all = d->s.qk_norm == 2;
  add_vector(l, d->s.qk_norm > 0, "q_norm", all ? q : k->head_dim, BERTH_LLM_NORM,
             all ? BERTH_LLM_COLUMN : BERTH_LLM_WHOLE);
  add_vector(l, d->s.qk_norm > 0, "k_norm", all ? kv : k->head_dim, BERTH_LLM_NORM,
             all ? BERTH_LLM_KV : BERTH_LLM_WHOLE);
}

/* The index of sparse attention: queries from the latent ones, one key for all heads, with a norm
 * that has a shift, and a weight for each head. */
static void add_index(list *l, const berth_i_llm_draft *d, const berth_llm_kind *k) {
  const berth_llm_part at = BERTH_LLM_ATTENTION;
  int32_t h = d->s.hidden;
  add(l, "index_q", k->q_rank ? k->q_rank : h, k->index_heads * k->index_dim, 1, at,
      BERTH_LLM_WHOLE);
  add(l, "index_k", h, k->index_dim, 1, at, BERTH_LLM_WHOLE);
  add(l, "index_norm", 1, k->index_dim, 2, BERTH_LLM_NORM, BERTH_LLM_WHOLE);
  add(l, "index_weight", h, k->index_heads, 1, at, BERTH_LLM_WHOLE);
}

static void add_mlp(list *l, const berth_llm_shapes *s, const char *const names[3], int32_t ffn,
                    int32_t copies, berth_llm_part part, bool bias) {
  if (s->gated) add(l, names[0], s->hidden, ffn, copies, part, BERTH_LLM_COLUMN);
  add(l, names[1], s->hidden, ffn, copies, part, BERTH_LLM_COLUMN);
  add(l, names[2], ffn, s->hidden, copies, part, BERTH_LLM_ROW);
  if (!bias) return;
  /* a copy is a vector of its own */
  add(l, "up_bias", 1, s->gated ? 2 * ffn : ffn, copies, part, BERTH_LLM_COLUMN);
  add(l, "down_bias", 1, s->hidden, copies, part, BERTH_LLM_WHOLE);
}

static void add_experts(list *l, const berth_i_llm_draft *d, const berth_llm_kind *k) {
  static const char *const routed[] = { "expert_gate", "expert_up", "expert_down" };
  static const char *const shared[] = { "shared_gate", "shared_up", "shared_down" };
  const berth_llm_shapes *s = &d->s;
  add(l, "router", s->hidden, k->experts, 1, BERTH_LLM_ROUTER, BERTH_LLM_WHOLE);
  add_vector(l, s->router_bias, "router_bias", k->experts, BERTH_LLM_ROUTER, BERTH_LLM_WHOLE);
  add_vector(l, d->router_scales, "router_scale", s->hidden, BERTH_LLM_ROUTER, BERTH_LLM_WHOLE);
  add_vector(l, d->router_scales, "expert_scale", k->experts, BERTH_LLM_ROUTER, BERTH_LLM_WHOLE);
  add_mlp(l, s, routed, k->expert_ffn, k->experts, BERTH_LLM_EXPERTS, s->expert_bias);
  if (!k->shared_ffn) return;
  add_mlp(l, s, shared, k->shared_ffn, 1, BERTH_LLM_SHARED, false);
  add_vector(l, s->shared_gate, "shared_weight", s->hidden, BERTH_LLM_SHARED, BERTH_LLM_WHOLE);
}

static void add_layer(list *l, const berth_i_llm_draft *d, const berth_llm_kind *k, bool sinks) {
  static const char *const dense[] = { "gate", "up", "down" };
  const berth_llm_shapes *s = &d->s;
  add(l, "norms", 1, s->hidden, k->norms * (s->norm_bias ? 2 : 1), BERTH_LLM_NORM,
      BERTH_LLM_WHOLE);
  if (k->kv_rank) add_latent(l, d, k);
  else add_heads(l, d, k);
  if (k->index_heads) add_index(l, d, k);
  add(l, "o", k->heads * k->value_dim, s->hidden, 1, BERTH_LLM_ATTENTION, BERTH_LLM_ROW);
  add_vector(l, s->out_bias, "o_bias", s->hidden, BERTH_LLM_ATTENTION, BERTH_LLM_WHOLE);
  add_vector(l, sinks, "sinks", k->heads, BERTH_LLM_ATTENTION, BERTH_LLM_COLUMN);
  if (k->experts) add_experts(l, d, k);
  if (k->ffn) add_mlp(l, s, dense, k->ffn, 1, BERTH_LLM_MLP, s->mlp_bias);
  add_vector(l, d->layer_scale, "scale", 1, BERTH_LLM_NORM, BERTH_LLM_WHOLE);
}

static void add_outside(list *l, const berth_llm_shapes *s) {
  add(l, "embedding", s->vocab, s->hidden, 1, BERTH_LLM_EMBEDDING, BERTH_LLM_ROW);
  add(l, "positions", s->positions, s->hidden, 1, BERTH_LLM_EMBEDDING, BERTH_LLM_WHOLE);
  if (s->embedding_norm) add_norm(l, s, "embedding_norm", s->hidden);
  add_norm(l, s, "final_norm", s->hidden);
  if (!s->tied) add(l, "head", s->hidden, s->vocab, 1, BERTH_LLM_HEAD, BERTH_LLM_COLUMN);
}

/* ---- building ---- */

static int32_t either(int32_t a, int32_t b) { return a ? a : b; }

static berth_status fill(berth_ctx *ctx, berth_i_llm_draft *d) {
  berth_llm_shapes *s = &d->s;
  const struct { const char *name; int32_t value; } needed[] = {
    { "layers", s->layers }, { "hidden", s->hidden }, { "heads", s->heads }, { "vocab", s->vocab }
  };
  for (int i = 0; i < 4; i++)
    if (needed[i].value <= 0)
      return berth_i_fail(ctx, BERTH_EINVAL, "%s is missing", needed[i].name);
  berth_status st = berth_options_check(ctx, berth_llm_shapes_option_table(), s);
  if (st != BERTH_OK) return st;
  if (!s->head_dim && s->hidden % s->heads)
    return berth_i_fail(ctx, BERTH_EINVAL, "hidden %d is no multiple of %d heads; give "
                        "head_dim", (int)s->hidden, (int)s->heads);
  s->kv_heads = either(s->kv_heads, s->heads);
  s->head_dim = either(s->head_dim, s->hidden / s->heads);
  s->value_dim = either(s->value_dim, s->head_dim);
  s->ffn = either(s->ffn, 4 * s->hidden);
  s->expert_ffn = either(s->expert_ffn, s->ffn);
  if (s->heads % s->kv_heads && !s->kv_rank)
    return berth_i_fail(ctx, BERTH_EINVAL, "%d heads are no multiple of %d kv_heads",
                        (int)s->heads, (int)s->kv_heads);
  if (s->experts && (s->top < 1 || s->top > s->experts))
    return berth_i_fail(ctx, BERTH_EINVAL, "top is %d of %d experts (1 to %d)", (int)s->top,
                        (int)s->experts, (int)s->experts);
  if (s->rope_dim > s->head_dim)
    return berth_i_fail(ctx, BERTH_EINVAL, "rope_dim %d exceeds head_dim %d",
                        (int)s->rope_dim, (int)s->head_dim);
  if (s->full_every && !s->window)
    return berth_i_fail(ctx, BERTH_EINVAL, "full_every requires window");
  return BERTH_OK;
}

static int variant_of(const berth_i_llm_draft *d, int32_t layer) {
  const berth_llm_shapes *s = &d->s;
  if (d->variant) return d->variant[layer];
  bool moe = s->experts && layer >= s->dense_layers && (layer + 1) % s->moe_every == 0,
       window = s->window && !(s->full_every && (layer + 1) % s->full_every == 0);
  return (moe ? BERTH_I_LLM_MOE : 0) | (window ? BERTH_I_LLM_WINDOW : 0)
         | (s->index_heads ? BERTH_I_LLM_INDEX : 0);
}

static berth_llm_kind kind_of(const berth_i_llm_draft *d, int v, bool *sinks) {
  const berth_llm_shapes *s = &d->s;
  bool w = v & BERTH_I_LLM_WINDOW, moe = v & BERTH_I_LLM_MOE, index = v & BERTH_I_LLM_INDEX;
  *sinks = s->sinks || (w ? d->narrow.sinks : d->wide.sinks);
  berth_llm_kind k = { .window = w ? s->window : 0, .q_rank = s->q_rank, .kv_rank = s->kv_rank,
                       .rope_dim = s->rope_dim, .gated = s->gated };
  k.heads = either(w ? d->narrow.heads : d->wide.heads, s->heads);
  k.kv_heads = either(w ? d->narrow.kv_heads : d->wide.kv_heads, s->kv_heads);
  k.head_dim = either(w ? d->narrow.head_dim : d->wide.head_dim, s->head_dim);
  k.value_dim = either(w ? d->narrow.value_dim : d->wide.value_dim,
                       d->wide.head_dim && !w ? k.head_dim : s->value_dim);
  if (index) {
    k.index_heads = s->index_heads;
    k.index_dim = s->index_dim;
  }
  k.index_top = s->index_top; /* also where the choice is another layer's */
  k.ffn = !moe || s->with_dense ? s->ffn : 0;
  k.norms = s->layer_norms + (moe ? d->moe_norms : 0);
  if (!moe) return k;
  k.experts = s->experts;
  k.top = s->top;
  k.expert_ffn = s->expert_ffn;
  k.shared_ffn = s->shared_ffn;
  return k;
}

static void count(berth_llm_kind *k) {
  for (int32_t i = 0; i < k->n_weights; i++) {
    const berth_llm_weight *w = &k->weights[i];
    double n = berth_llm_weight_count(w);
    k->parameters += n;
    k->active += w->part == BERTH_LLM_EXPERTS ? n * k->top / k->experts : n;
  }
}

/* Kinds in order of their first layers. */
static void make_kinds(berth_llm *m, const berth_i_llm_draft *d) {
  int32_t of[BERTH_I_LLM_KINDS];
  for (int v = 0; v < BERTH_I_LLM_KINDS; v++) of[v] = BERTH_NONE;
  for (int32_t i = 0; i < d->s.layers; i++) {
    int v = variant_of(d, i);
    if (of[v] == BERTH_NONE) {
      list l = { .n = 0 };
      bool sinks;
      berth_llm_kind *k = &m->kind[of[v] = m->about.kinds++];
      *k = kind_of(d, v, &sinks);
      add_layer(&l, d, k, sinks);
      k->weights = berth_i_pool_copy(&m->pool, l.at, (size_t)l.n, sizeof *l.at);
      k->n_weights = k->weights ? l.n : 0;
      count(k);
    }
    berth_llm_kind *k = &m->kind[of[v]];
    k->layers++;
    if (m->layer) m->layer[i] = of[v];
    m->about.parameters += k->parameters;
    m->about.active += k->active;
  }
}

berth_status berth_i_llm_make(berth_ctx *ctx, berth_i_llm_draft *d, berth_llm **out) {
  berth_status st = fill(ctx, d);
  if (st != BERTH_OK) return st;
  berth_llm *m = berth_i_pool_object(ctx, sizeof *m);
  if (!m) return berth_i_nomem(ctx);
  m->refs = 1;
  m->layer = berth_i_pool_alloc(&m->pool, (size_t)d->s.layers, sizeof *m->layer);
  m->about = (berth_llm_about){ .layers = d->s.layers, .hidden = d->s.hidden, .vocab = d->s.vocab,
                                .tied = d->s.tied };
  m->about.name = berth_i_pool_strdup(&m->pool, d->name ? d->name : "");
  m->about.type = berth_i_pool_strdup(&m->pool, d->type ? d->type : "");
  make_kinds(m, d);
  list l = { .n = 0 };
  add_outside(&l, &d->s);
  m->about.weights = berth_i_pool_copy(&m->pool, l.at, (size_t)l.n, sizeof *l.at);
  m->about.n_weights = l.n;
  for (int32_t i = 0; i < l.n; i++) {
    m->about.parameters += berth_llm_weight_count(&l.at[i]);
    m->about.active += berth_llm_weight_count(&l.at[i]);
  }
  for (; m->n_notes < d->n_notes; m->n_notes++)
    m->note[m->n_notes] = berth_i_pool_strdup(&m->pool, d->notes[m->n_notes]);
  if ((st = berth_i_pool_status(&m->pool)) != BERTH_OK) {
    berth_i_pool_free(&m->pool);
    return st;
  }
  *out = m;
  return BERTH_OK;
}

berth_status berth_llm_new(berth_ctx *ctx, const berth_llm_shapes *shapes, berth_llm **out) {
  if (!ctx || !shapes || !out) return BERTH_EINVAL;
  berth_i_llm_draft d = { .s = *shapes, .name = "by hand" };
  return berth_i_llm_make(ctx, &d, out);
}

void berth_llm_retain(berth_llm *m) { m->refs++; }

void berth_llm_release(berth_llm *m) {
  if (m && --m->refs == 0) berth_i_pool_free(&m->pool);
}

const berth_llm_about *berth_llm_about_of(const berth_llm *m) { return &m->about; }
const berth_llm_kind *berth_llm_kinds(const berth_llm *m) { return m->kind; }
const int32_t *berth_llm_layers(const berth_llm *m) { return m->layer; }

int32_t berth_llm_notes(const berth_llm *m, const char *const **notes) {
  *notes = m->note;
  return m->n_notes;
}
