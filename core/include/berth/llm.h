/* Large language models: what a model consists of, what GPUs there are, and what a training plan
 * costs in memory. Nouns:
 *  - model: an ordered list of layers, each of a *kind*: its attention and its MLP or experts. A
 *    kind is a list of *weights* with their shapes; parameters and shards follow from these;
 *  - cluster: groups of alike GPUs in machines, from data sheets; underneath a berth topology;
 *  - plan: how training is split over GPUs;
 *  - memory: bytes of a GPU by pipeline stage and kind;
 *  - estimate: the time of a step by kind, with the error that such estimates had.
 *
 * Source of the formulas: Narayanan et al., "Efficient large-scale language model training on GPU
 * clusters using Megatron-LM", 2021; Korthikanti et al., "Reducing activation recomputation in
 * large transformer models", 2022. */
#ifndef BERTH_LLM_H
#define BERTH_LLM_H

#include <berth/placement.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models ---- */

typedef struct berth_llm berth_llm; /* immutable */

/** A model by hand: a decoder whose layers differ at most in window and in experts. 0 means what
 *  the comment says. */
typedef struct berth_llm_shapes {
  int32_t layers, hidden, heads; /* required */
  int32_t kv_heads;              /* 0: heads */
  int32_t head_dim;              /* of queries and keys; 0: hidden / heads */
  int32_t value_dim;             /* 0: head_dim */
  int32_t ffn;                   /* width of a dense MLP; 0: 4 hidden */
  int32_t vocab;                 /* required */
  int gated;                     /* 1: three MLP matrices */
  int tied;                      /* 1: the head is the embedding */
  int qkv_bias, out_bias, mlp_bias;
  int norm_bias;                 /* 1: layer norms with scale and shift; 0: scale alone */
  int qk_norm;                   /* 0: none; 1: of each head; 2: of all heads together */
  int layer_norms;               /* of a layer; default 2 */
  int32_t positions;             /* learned ones; 0: none */
  int embedding_norm;
  int32_t experts, top;          /* of a layer with experts, and of a token; 0: no experts */
  int32_t expert_ffn;            /* 0: ffn */
  int32_t shared_ffn;            /* of all shared experts together; 0: none */
  int shared_gate;               /* 1: the shared expert has a gate of `hidden` weights */
  int router_bias, expert_bias;
  int with_dense;                /* 1: layers with experts have a dense MLP, too */
  int32_t dense_layers;          /* the first ones have no experts */
  int32_t moe_every;             /* every k-th layer has experts; default 1 */
  int32_t q_rank, kv_rank;       /* latent attention; kv_rank 0: none, q_rank 0: full queries */
  int32_t rope_dim;              /* of it: part of head_dim that is shared by the heads' keys */
  int32_t index_heads, index_dim, index_top; /* sparse attention by an index; 0: none */
  int32_t window;                /* tokens that a layer with a window attends to; 0: none */
  int32_t full_every;            /* every k-th layer has no window; 0: all have one */
  int sinks;                     /* 1: a learned logit for each head */
} berth_llm_shapes;
berth_llm_shapes berth_llm_shapes_default(void);
const berth_option_table *berth_llm_shapes_option_table(void);

typedef enum berth_llm_part {
  BERTH_LLM_ATTENTION, BERTH_LLM_MLP, BERTH_LLM_EXPERTS, BERTH_LLM_ROUTER, BERTH_LLM_SHARED,
  BERTH_LLM_NORM, BERTH_LLM_EMBEDDING, BERTH_LLM_HEAD
} berth_llm_part;
/** How tensor parallelism splits a weight. */
typedef enum berth_llm_shard {
  BERTH_LLM_WHOLE,  /* each GPU holds it */
  BERTH_LLM_COLUMN, /* by its outputs */
  BERTH_LLM_ROW,    /* by its inputs */
  BERTH_LLM_KV      /* by key and value heads; no further than there are heads */
} berth_llm_shard;

typedef struct berth_llm_weight {
  const char *name;   /* "q", "gate" */
  int32_t rows;       /* inputs; 1: a vector */
  int32_t columns;    /* outputs */
  int32_t copies;     /* experts; 1 of others */
  berth_llm_part part;
  berth_llm_shard shard;
} berth_llm_weight;
/** rows * columns * copies */
double berth_llm_weight_count(const berth_llm_weight *w);
const char *berth_llm_part_name(berth_llm_part part);
const char *berth_llm_shard_name(berth_llm_shard shard);

/** Layers that are alike. */
typedef struct berth_llm_kind {
  int32_t layers;                       /* how many */
  int32_t heads, kv_heads, head_dim, value_dim;
  int32_t window;                       /* tokens attended to; 0: all before */
  int32_t q_rank, kv_rank, rope_dim;    /* latent attention; kv_rank 0: none */
  int32_t index_heads, index_dim, index_top;
  int32_t ffn;                          /* dense MLP; 0: none */
  int32_t experts, top, expert_ffn, shared_ffn;
  int gated;
  int32_t norms;                        /* of the width of the residual stream */
  const berth_llm_weight *weights;      /* [n_weights] */
  int32_t n_weights;
  double parameters, active;            /* of one layer; active: without experts not used */
} berth_llm_kind;

typedef struct berth_llm_about {
  const char *name, *type;     /* of the file; model_type, "" by hand */
  int32_t layers, hidden, vocab, kinds;
  int tied;
  double parameters;           /* as published counts have them: without modules for predicting
                                  further tokens */
  double active;               /* parameters that one token uses, embedding and head included */
  const berth_llm_weight *weights; /* [n_weights] outside the layers: embedding first, then
                                      positions, norms, and the head unless tied */
  int32_t n_weights;
} berth_llm_about;

/**
 * A model from a config.json.
 *
 * @param name of the file, for messages and the model's name  @param text [len], text[len] == 0
 * @return BERTH_OK; BERTH_EPARSE (file, line, field, value); BERTH_EUNSUPPORTED (a field that
 *         changes shapes and is not understood, or layers that are not attention with MLP or
 *         experts); BERTH_EINVAL (what the shapes contradict); BERTH_ENOMEM
 *
 * Fields and their synonyms: docs/llm.md. An unknown model_type with the common fields is read as a
 * decoder, with a note. O(text + layers)
 */
berth_status berth_llm_parse(berth_ctx *ctx, const char *name, const char *text, size_t len,
                             berth_llm **out);
/** By hand. @return BERTH_OK, BERTH_EINVAL, BERTH_ENOMEM */
berth_status berth_llm_new(berth_ctx *ctx, const berth_llm_shapes *shapes, berth_llm **out);
void berth_llm_retain(berth_llm *m);
void berth_llm_release(berth_llm *m); /* NULL is fine */
/** These live as long as m. */
const berth_llm_about *berth_llm_about_of(const berth_llm *m);
const berth_llm_kind *berth_llm_kinds(const berth_llm *m);  /* [kinds] in order of first layers */
const int32_t *berth_llm_layers(const berth_llm *m);        /* [layers] kind of each */
/** What the reader left out or assumed. @return how many */
int32_t berth_llm_notes(const berth_llm *m, const char *const **notes);

/* ---- clusters ---- */

/** Alike GPUs in machines. */
typedef struct berth_llm_gpus {
  const berth_data_sheet *sheet; /* NULL: of a topology whose device type has none */
  const char *name;
  int32_t count, per_machine;    /* GPUs in all, and of a machine; the last may have fewer */
  int32_t domain;                /* GPUs that fast links join */
  double memory;                 /* bytes that programs can have */
  double flops;                  /* FLOP/s in bf16, else fp16, else what the device has */
  double memory_bandwidth;       /* bytes/s */
  double link, link_latency;     /* bytes/s and s of a GPU within a machine, into one direction */
  double nic, nic_latency;       /* the same of a whole machine to others */
} berth_llm_gpus;

/** 0 or NULL: as the data sheet has it. */
typedef struct berth_llm_cluster_options {
  const char *gpu;          /* name of a data sheet */
  int32_t gpus;             /* in all */
  int32_t per_machine;
  double memory;            /* bytes of a GPU that programs can have */
  double link;              /* bytes/s of a GPU within a machine */
  double link_latency;      /* s; default 2e-6 */
  int32_t nics;             /* network cards of a machine */
  double nic;               /* bytes/s of each */
  double nic_latency;       /* s; default 5e-6 */
  double oversubscription;  /* of the network above the machines; default 1 */
} berth_llm_cluster_options;
berth_llm_cluster_options berth_llm_cluster_default(void);
const berth_option_table *berth_llm_cluster_option_table(void);

typedef struct berth_llm_cluster berth_llm_cluster; /* immutable */

/** "64xH100"; "2x8xA100-80GB": machines of 8; "8xA100+8xH100": groups one behind the other.
 *  @return BERTH_OK, BERTH_EINVAL, BERTH_ENOMEM */
berth_status berth_llm_cluster_parse(berth_ctx *ctx, const char *text, berth_llm_cluster **out);
berth_status berth_llm_cluster_new(berth_ctx *ctx, const berth_llm_cluster_options *opts,
                                   berth_llm_cluster **out);
/** Any topology: successive devices of one type and memory are a group; links are the paths between
 *  its first devices. The topology is retained.
 *  @return BERTH_OK, BERTH_EINVAL (a device without a limit of memory), BERTH_EUNREACHABLE,
 *          BERTH_ENOMEM */
berth_status berth_llm_cluster_of(berth_topology *t, berth_llm_cluster **out);
void berth_llm_cluster_retain(berth_llm_cluster *c);
void berth_llm_cluster_release(berth_llm_cluster *c); /* NULL is fine */
int32_t berth_llm_cluster_size(const berth_llm_cluster *c); /* GPUs */
/** @return how many groups, in order of the GPUs */
int32_t berth_llm_cluster_groups(const berth_llm_cluster *c, const berth_llm_gpus **groups);
/** That of berth_llm_cluster_of; else a new one: a switch in each machine (links of the GPUs), one
 *  between the machines. @return BERTH_OK, BERTH_EINVAL (too many devices), BERTH_ENOMEM,
 *  BERTH_EINTERRUPT */
berth_status berth_llm_cluster_topology(const berth_llm_cluster *c, berth_topology **out);

/* ---- plans ---- */

typedef enum berth_llm_schedule {
  BERTH_LLM_SCHEDULE_AUTO, BERTH_LLM_GPIPE, BERTH_LLM_1F1B, BERTH_LLM_INTERLEAVED,
  BERTH_LLM_ZB_H1, BERTH_LLM_ZB_V, BERTH_LLM_DUALPIPE_V
} berth_llm_schedule;
typedef enum berth_llm_recompute {
  BERTH_LLM_RECOMPUTE_NONE, BERTH_LLM_SELECTIVE, BERTH_LLM_FULL
} berth_llm_recompute;
typedef enum berth_llm_dtype { BERTH_LLM_BF16, BERTH_LLM_FP16, BERTH_LLM_FP8 } berth_llm_dtype;
typedef enum berth_llm_optimizer { BERTH_LLM_ADAM, BERTH_LLM_SGD } berth_llm_optimizer;
typedef enum berth_llm_training {
  BERTH_LLM_PRETRAIN, BERTH_LLM_FINETUNE, BERTH_LLM_LORA
} berth_llm_training;
typedef enum berth_llm_framework {
  BERTH_LLM_MEGATRON, BERTH_LLM_MEGATRON_2022, BERTH_LLM_DEEPSPEED, BERTH_LLM_FSDP,
  BERTH_LLM_TORCHTITAN
} berth_llm_framework;
typedef enum berth_llm_choice { BERTH_LLM_AUTO, BERTH_LLM_OFF, BERTH_LLM_ON } berth_llm_choice;
typedef enum berth_llm_gradients {
  BERTH_LLM_GRADIENTS_AUTO, BERTH_LLM_GRADIENTS_FP32, BERTH_LLM_GRADIENTS_BF16
} berth_llm_gradients;

/** How training is split over GPUs. What is 0, -1 or AUTO is filled by berth_llm_plan_fill. GPUs
 *  are numbered by tp, then cp, dp, pp. */
typedef struct berth_llm_plan {
  int32_t tp, cp, pp;        /* tensor, context and pipeline parallelism; default 1 */
  int32_t dp;                /* 0: the GPUs that are left */
  int32_t ep, etp;           /* experts over GPUs, tensor parallelism within an expert; default 1 */
  int32_t vp;                /* model chunks of a stage; default 1; 2 for the V schedules */
  berth_llm_schedule schedule;
  int32_t micro_batch;       /* sequences; default 1 */
  int32_t global_batch;      /* sequences; 0: dp * micro_batch * 4 pp */
  int32_t seq;               /* tokens of a sequence; default 4096 */
  const int32_t *stages;     /* [n_stages] layers of each chunk in pipeline order; NULL: even */
  int32_t n_stages;
  int embedding_as_layer;    /* 1: the even split counts embedding and head as a layer each */
  berth_llm_choice sequence_parallel;
  int32_t zero;              /* -1: by the framework */
  berth_llm_choice reshard;  /* zero 3: weights are dropped after the forward pass */
  berth_llm_recompute recompute;
  int32_t recompute_layers;  /* of each chunk, with FULL; 0: all */
  int offload;               /* 1: optimiser states are in the machine's memory */
  int flash;                 /* 1 (default): attention never stores its scores */
  int dropout;               /* 1: masks are stored */
  berth_llm_choice fused_loss; /* the gradient of logits is computed in their place */
  berth_llm_dtype dtype;
  berth_llm_optimizer optimizer;
  berth_llm_gradients gradients;
  berth_llm_choice overlap_grad, overlap_gather, overlap_tp, overlap_p2p;
  berth_llm_training training;
  int32_t lora_rank;         /* default 16 */
  berth_llm_framework framework;
  double runtime;            /* bytes of runtime, NCCL and allocator; -1: by the framework */
} berth_llm_plan;
berth_llm_plan berth_llm_plan_default(void);
const berth_option_table *berth_llm_plan_option_table(void);

/** Fills what is open by what a practitioner would choose, and checks the plan.
 *  @return BERTH_OK, BERTH_EINVAL (what does not fit together, with the numbers) */
berth_status berth_llm_plan_fill(const berth_llm *m, const berth_llm_cluster *c,
                                 berth_llm_plan *plan);

/* ---- memory ---- */

/** Bytes of a GPU of one pipeline stage. */
typedef struct berth_llm_memory {
  int32_t layers;      /* of the stage */
  double in_flight;    /* layers whose activations are stored at the peak, micro-batches counted */
  double weights, gradients, optimizer;
  double activations;  /* stored from forward to backward */
  double working;      /* of one layer's backward pass, with what is recomputed for it */
  double logits;       /* of the head; 0 but in the last stage */
  double buffers;      /* gathered weights and gradients that are not yet reduced */
  double runtime;
  double total, limit; /* limit: what the stage's smallest GPU has */
} berth_llm_memory;

/**
 * Memory of each stage of a filled plan, in closed form.
 *
 * @param out [pp]
 * @return BERTH_OK, BERTH_EINVAL (the plan does not fit model or cluster), BERTH_ENOMEM
 *
 * Source: Korthikanti et al. 2022, sec. 4; ZeRO (Rajbhandari et al. 2020). Extended to grouped
 * heads, latent attention, gated MLPs and experts; frameworks differ as docs/llm.md says.
 * O(layers + stages)
 */
berth_status berth_llm_memory_of(const berth_llm *m, const berth_llm_cluster *c,
                                 const berth_llm_plan *plan, berth_llm_memory *out);
/** Bytes that a layer of a kind stores for one micro-batch on a GPU, and those of all its
 *  activations at once, as recomputation for its backward pass needs them.
 *  @param kind from 0  @param stored, all may be NULL */
berth_status berth_llm_layer_memory(const berth_llm *m, const berth_llm_plan *plan, int32_t kind,
                                    double *stored, double *all);

/* ---- the time of a step ---- */

/** What the time of a GPU is spent on. */
#define BERTH_LLM_TIMES(X)                                                                       \
  X(PRODUCTS, products)       /* matrix products */                                              \
  X(ATTENTION, attention)                                                                        \
  X(ELEMENTWISE, elementwise) /* norms, activations, loss: bound by memory */                    \
  X(LAUNCH, launch)           /* kernels that are launched more slowly than they run */          \
  X(TP, tp)                   /* communication that computation does not hide, by kind */        \
  X(CP, cp)                                                                                      \
  X(EP, ep)                                                                                      \
  X(P2P, p2p)                                                                                    \
  X(DP, dp)                                                                                      \
  X(OPTIMIZER, optimizer)                                                                        \
  X(BUBBLE, bubble)           /* waiting for other stages */
#define BERTH_LLM_TIME_VALUE(NAME, name) BERTH_LLM_TIME_##NAME,
typedef enum berth_llm_time { BERTH_LLM_TIMES(BERTH_LLM_TIME_VALUE) BERTH_LLM_TIME_KINDS }
  berth_llm_time;
#undef BERTH_LLM_TIME_VALUE
const char *berth_llm_time_name(berth_llm_time kind); /* "products" */

/** How a framework's steps differ from the kernels that they consist of. */
typedef struct berth_llm_factors {
  double products, attention, elementwise; /* so many times the time of the kernels */
  double launch;         /* s: a pass through a layer takes no less */
  double inside, across; /* communication within a machine and across: so many times the time */
} berth_llm_factors;

/** What the shipped factors were fitted to. */
typedef struct berth_llm_provenance {
  const char *rows;      /* which measured rows, with their number and the date */
  double error, worst;   /* mean of |estimate / measurement - 1|; nine rows of ten are below */
} berth_llm_provenance;

/** @param about may be NULL  @return the shipped factors of a framework */
berth_llm_factors berth_llm_factors_of(berth_llm_framework framework,
                                       berth_llm_provenance *about);

typedef enum berth_llm_form { BERTH_LLM_EVENTS, BERTH_LLM_CLOSED } berth_llm_form;

typedef struct berth_llm_estimate_options {
  berth_llm_form form;       /* default EVENTS: the step on the event loop */
  berth_llm_factors factors; /* 0: as shipped */
  double error;              /* of these, for the range; 0: as shipped */
} berth_llm_estimate_options;
berth_llm_estimate_options berth_llm_estimate_default(void);
const berth_option_table *berth_llm_estimate_option_table(void);

typedef struct berth_llm_estimate {
  double step;               /* s */
  double low, high;          /* s: nine of ten measured steps were within this range of theirs */
  double tokens;             /* tokens/s, all GPUs */
  double model_flop;         /* of a step, as published formulas count it: scores in full */
  double hardware_flop;      /* with what is computed again */
  double mfu, hfu;           /* their shares of the peak of all GPUs in 16 bits (FP8: in FP8) */
  int32_t stage;             /* from 0: the one with most work, to which `time` refers */
  double time[BERTH_LLM_TIME_KINDS]; /* s by kind; the sum is the step */
  double hidden;             /* s of communication beside computation */
  int fitted;                /* 1: kernel constants of all GPUs were fitted to them */
  berth_llm_factors factors; /* that were used */
  berth_llm_provenance about;
} berth_llm_estimate;

/**
 * @param opts NULL: defaults
 * @return BERTH_OK; BERTH_EINVAL (plan, options); BERTH_EUNSUPPORTED (a schedule that does not
 *         serve so many micro-batches); BERTH_ENOMEM; BERTH_EINTERRUPT
 *
 * The closed form is exact for stages that are alike without overlap, and takes some 10 us; where
 * they are unlike it is up to 7 % off the event loop, with overlap up to 22 %. O(layers); EVENTS:
 * O(stages x chunks x micro-batches).
 */
berth_status berth_llm_estimate_of(const berth_llm *m, const berth_llm_cluster *c,
                                   const berth_llm_plan *plan,
                                   const berth_llm_estimate_options *opts,
                                   berth_llm_estimate *out);
/** The step as a graph, one GPU of each stage as device, in the order of the schedule; memory
 *  policy INFERENCE, dispatch PLANNED. Ops: docs/llm.md. */
berth_status berth_llm_graph(const berth_llm *m, const berth_llm_cluster *c,
                             const berth_llm_plan *plan, const berth_llm_estimate_options *opts,
                             berth_graph **graph, berth_topology **topology,
                             berth_placement **placement);

/* ---- calibration ---- */

/** A step that was measured. */
typedef struct berth_llm_measured {
  const berth_llm *model;
  const berth_llm_cluster *cluster;
  berth_llm_plan plan;
  double seconds;
} berth_llm_measured;

typedef enum berth_llm_terms {
  BERTH_LLM_FOUR, /* products with attention; element-wise with launch; inside; across */
  BERTH_LLM_SIX   /* each factor */
} berth_llm_terms;

typedef struct berth_llm_calibrate_options {
  berth_llm_terms terms; /* default FOUR */
  double shrink;         /* the mean error may grow by shrink / rows for a factor that is e times
                            less far from that of the framework; default 0.1 */
  berth_llm_factors start; /* what few rows stay near; 0: the framework's */
  int64_t calls;         /* estimates of all rows for a fit; default 300 */
} berth_llm_calibrate_options;
berth_llm_calibrate_options berth_llm_calibrate_default(void);
const berth_option_table *berth_llm_calibrate_option_table(void);

typedef struct berth_llm_calibration {
  berth_llm_factors factors;   /* for berth_llm_estimate_options */
  berth_llm_factors low, high; /* how far they move when one row is left out */
  int32_t rows;
  double before, error;        /* mean of |estimate / measurement - 1|: as shipped; calibrated */
  double left_out;             /* of each row by the factors of all others; NaN: one row */
  double worst;                /* nine of ten estimates: below 2.06 left_out, and no less than the
                                  framework's own / sqrt(rows); `error` of an estimate's options */
} berth_llm_calibration;

/**
 * Factors that fit measured steps, by the closed form: Nelder and Mead's simplex on the mean of
 * |log(estimate / measurement)|. Few rows stay near the framework's factors.
 *
 * @return BERTH_OK; BERTH_EINVAL (no rows; seconds; frameworks that differ; a plan); BERTH_ENOMEM;
 *         BERTH_EINTERRUPT.  O(calls x rows^2) estimates up to 40 rows, whose ranges leave each row
 *         out; above, each fortieth part
 */
berth_status berth_llm_calibrate(int32_t n, const berth_llm_measured *rows,
                                 const berth_llm_calibrate_options *opts,
                                 berth_llm_calibration *out);

/* ---- launch files ---- */
/* What a framework is launched with, as a plan, and the way back. */

/** A kind of file. */
typedef struct berth_llm_format {
  const char *name;   /* "megatron" */
  const char *title;  /* "Megatron-LM" */
  const char *text;   /* what such a file is */
  int reads, writes;  /* 1: berth_llm_launch_parse reads it; berth_llm_export writes it */
} berth_llm_format;
/** Format i, from 0; NULL: there are no more. */
const berth_llm_format *berth_llm_format_at(int32_t i);

typedef struct berth_llm_launch berth_llm_launch;

/**
 * A launch file: flags of Megatron-LM, as a text or in a shell script; torchtitan's TOML;
 * DeepSpeed's JSON; accelerate's JSON with FSDP.
 *
 * @param name of the file, for messages  @param text [len], text[len] == 0
 * @param format name of one that is read; NULL: by the contents
 * @return BERTH_OK; BERTH_EPARSE (file, line, flag, value, reason); BERTH_EINVAL (format);
 *         BERTH_ENOMEM
 *
 * A script is not run: docs/launch.md says what of it is understood. O(text)
 */
berth_status berth_llm_launch_parse(berth_ctx *ctx, const char *name, const char *text, size_t len,
                                    const char *format, berth_llm_launch **out);
void berth_llm_launch_release(berth_llm_launch *l); /* NULL is fine */

typedef struct berth_llm_launch_about {
  const char *name, *format;  /* of the file; of its format */
  const char *model, *flavor; /* by name, where the file has that; NULL */
  const char *no_model;       /* why the shapes are no model; NULL: they are */
  int32_t gpus;               /* that the file starts; 0: it does not say */
  int32_t settings;           /* that were understood */
} berth_llm_launch_about;
/** Valid as long as l. */
berth_llm_launch_about berth_llm_launch_about_of(const berth_llm_launch *l);
/** What the file says of the model's shapes; the rest is as by default. */
const berth_llm_shapes *berth_llm_launch_shapes(const berth_llm_launch *l);
/** @return BERTH_OK, BERTH_EUNSUPPORTED (the file does not say all shapes), BERTH_EINVAL,
 *          BERTH_ENOMEM */
berth_status berth_llm_launch_model(const berth_llm_launch *l, berth_llm **out);
/** What changes a plan and was not understood, and what was assumed, by the last call that made a
 *  plan.  @return how many */
int32_t berth_llm_launch_notes(const berth_llm_launch *l, const char *const **notes);
/**
 * Sets options that are open by what the file says, else by what its framework does without the
 * flag. What neither decides stays open.
 *
 * @param gpus, layers  of the cluster and the model, for what depends on them; 0: as the file has
 *                      it
 * @param plan   not filled; `stages` lives as long as l
 * @param given  bit i: row i of berth_llm_plan_option_table is set and stays; afterwards also what
 *               was set here
 * @param source [rows of the table] where each was set here: "--seq-length, line 12"; valid as long
 *               as l; may be NULL
 * @return BERTH_OK; BERTH_EPARSE (settings that contradict one another); BERTH_ENOMEM
 */
berth_status berth_llm_launch_plan(berth_llm_launch *l, int32_t gpus, int32_t layers,
                                   berth_llm_plan *plan, uint64_t *given, const char **source);

typedef struct berth_llm_exported berth_llm_exported; /* immutable */

/**
 * The file that launches a plan.
 *
 * @param plan   filled or not  @param format name of one that is written
 * @return BERTH_OK; BERTH_EINVAL (format; a plan that does not fit model or cluster);
 *         BERTH_EUNSUPPORTED (what the framework does not have); BERTH_ENOMEM
 *
 * What the file does not have and the framework does is a note, and a comment in the text where the
 * format has comments. O(layers + chunks)
 */
berth_status berth_llm_export(const berth_llm *m, const berth_llm_cluster *c,
                              const berth_llm_plan *plan, const char *format,
                              berth_llm_exported **out);
void berth_llm_exported_release(berth_llm_exported *e); /* NULL is fine */
/** @param len may be NULL  @return zero-terminated; lives as long as e */
const char *berth_llm_exported_text(const berth_llm_exported *e, size_t *len);
/** @return how many */
int32_t berth_llm_exported_notes(const berth_llm_exported *e, const char *const **notes);

/* ---- search ---- */

typedef enum berth_llm_objective {
  BERTH_LLM_FASTEST, /* least step: most tokens/s of a GPU, least cost of a token */
  BERTH_LLM_SMALLEST /* least memory of the fullest GPU */
} berth_llm_objective;

/** Which best a plan is. */
enum {
  BERTH_LLM_BEST = 1,          /* among the best of all */
  BERTH_LLM_BEST_SPLIT = 2,    /* the best of its tp, cp, pp, ep, etp, which is among the best */
  BERTH_LLM_BEST_NO_PP = 4,    /* the best with pp 1 */
  BERTH_LLM_BEST_NO_TP = 8,    /* the best with tp 1 */
  BERTH_LLM_BEST_ZERO_3 = 16,  /* the best with zero 3 and dp alone */
  BERTH_LLM_ON_FRONT = 32      /* no plan has less memory and a shorter step (closed form) */
};

typedef struct berth_llm_found {
  berth_llm_plan plan;  /* filled */
  int32_t roles;        /* bits of the above */
  double closed, step;  /* s, in closed form; on the event loop, NaN: not run */
  double memory;        /* bytes of the fullest GPU */
  double value;         /* of the objective: of `step`, or of `closed` where it is NaN */
} berth_llm_found;

/** The space: all combinations of these parts. A list has the values that are allowed; an empty
 *  one, all: docs/plans.md. */
typedef struct berth_llm_search_options {
  const int32_t *tp, *cp, *pp, *dp, *ep, *etp, *vp;
  int32_t n_tp, n_cp, n_pp, n_dp, n_ep, n_etp, n_vp;
  const int32_t *micro_batch, *zero;
  int32_t n_micro_batch, n_zero;
  const int32_t *schedule;          /* of berth_llm_schedule */
  const int32_t *recompute;         /* of berth_llm_recompute */
  const int32_t *sequence_parallel; /* 0, 1 */
  int32_t n_schedule, n_recompute, n_sequence_parallel;
  int inside;                       /* 1: tp is at most what fast links join */
  berth_llm_objective objective;
  double time;                      /* s: most that a step may take; 0: no limit */
  double fill;                      /* share of a GPU's memory that a plan may have; default 0.9 */
  int32_t finalists;                /* that run on the event loop at least; default 16 */
  int front;                        /* 1: also the front of step and memory */
  int64_t calls;                    /* most plans that are valued; 0: no limit */
  double seconds;                   /* by the context's clock; 0: no limit */
  berth_llm_plan plan;              /* what is not searched; the parts above are ignored */
  berth_llm_estimate_options estimate; /* factors */
  /** An objective of one's own in place of `objective`: least is best, INFINITY: not allowed. For
   *  each plan that fits, with `closed`, and again for each finalist, with `step`. It excludes
   *  nothing by a bound.  @param x roles and value are not set */
  berth_status (*value)(void *ud, const berth_llm_found *x, double *out);
  /** The order of the visits, which decides where `calls` or `seconds` end the search: larger goes
   *  first, ties by bound; 0 and less: not allowed. NULL: by bound.  @param p not filled */
  berth_status (*prior)(void *ud, const berth_llm_plan *p, double *out);
  void *ud;
} berth_llm_search_options;
berth_llm_search_options berth_llm_search_default(void);
const berth_option_table *berth_llm_search_option_table(void);

/** All plans of the space are counted: it has refused + excluded + unfit + bounded +
 *  valued + failed + left. */
typedef struct berth_llm_search_about {
  int64_t refused;  /* combinations that do not divide, at the first rule that refuses them */
  int64_t excluded; /* by the prior, or by an objective of one's own */
  int64_t unfit;    /* do not fit the memory */
  int64_t bounded;  /* cannot be among the best, or within `time`, by their lower bound */
  int64_t valued;   /* in closed form */
  int64_t failed;   /* the schedule does not serve their micro-batches */
  int64_t left;     /* not reached: calls, seconds, interrupt */
  double best;      /* of the objective over the space, in closed form, layers even: s or bytes;
                       NaN: none fits */
  double bound;     /* s: no plan of the space has a shorter step, whatever its memory and its
                       split of the layers */
  int32_t n;        /* plans that were found */
  int fits;         /* 0: none fits; then the one plan is that with least memory */
} berth_llm_search_about;

typedef struct berth_llm_search berth_llm_search; /* immutable */

/**
 * The best plans of a space.
 *
 * @param opts NULL: defaults, with the plan's defaults
 * @return BERTH_OK; BERTH_EINVAL (options; no plan divides; NaN or -INFINITY of a function);
 *         BERTH_ENOMEM; what a function returned
 *
 * Exact by the closed form: plans are visited in order of a lower bound, and one is valued unless
 * its bound or its memory excludes it. The finalists run on the event loop, with even and best
 * split of layers. An interrupt keeps what was found.
 */
berth_status berth_llm_search_run(const berth_llm *m, const berth_llm_cluster *c,
                                  const berth_llm_search_options *opts, berth_llm_search **out);
void berth_llm_search_retain(berth_llm_search *s);
void berth_llm_search_release(berth_llm_search *s); /* NULL is fine */
const berth_llm_search_about *berth_llm_search_about_of(const berth_llm_search *s);
/** [about.n] the best first; as long as s lives */
const berth_llm_found *berth_llm_search_plans(const berth_llm_search *s);

#ifdef __cplusplus
}
#endif
#endif
