/* What the files of the step time share. Seconds are of one GPU, by kind; "place": a chunk of
 * layers in the order of the pipeline. */
#ifndef BERTH_LLM_STEP_INTERNAL_H
#define BERTH_LLM_STEP_INTERNAL_H

#include "llm/llm_internal.h"
#include <berth/cost.h>
#include <berth/placement.h>
#include <berth/schedule.h>

/** Seconds by kind; `hidden`: of communication that runs beside computation. */
typedef struct berth_i_llm_spent {
  double of[BERTH_LLM_TIME_KINDS];
  double hidden;
} berth_i_llm_spent;

/** The group of the slowest GPU of a stage. */
const berth_llm_gpus *berth_i_llm_slowest(const berth_llm_cluster *c, const berth_llm_plan *p,
                                          int32_t stage);
void berth_i_llm_spend(berth_i_llm_spent *a, const berth_i_llm_spent *b, double n);
double berth_i_llm_sum(const berth_i_llm_spent *x);

/** Of one micro-batch: forward; gradient of the inputs, with what is computed again; gradient of
 *  the weights. */
typedef struct berth_i_llm_passes {
  berth_i_llm_spent forward, input, weight;
} berth_i_llm_passes;

/** What prices the work of one stage. */
typedef struct berth_i_llm_prices {
  const berth_llm *m;
  const berth_llm_plan *p;
  const berth_llm_factors *f;
  const berth_llm_gpus *g;   /* the slowest of the stage */
  berth_kernels wide;        /* 16 bits */
  berth_kernels narrow;      /* products of the layers: 16 bits or FP8 */
  double tokens;             /* of a micro-batch, for all GPUs of a tensor-parallel group */
  double sequence;           /* share of work by token that a GPU does: 1 / tp, or 1 */
} berth_i_llm_prices;

/** Communication that overlaps slows computation down: this share of the shorter of both is not
 *  hidden. Fitted with the factors: docs/llm.md. */
#define BERTH_I_LLM_EXPOSED 0.35
/** Transfers of tensor parallelism in pieces beside the products: the share that is not hidden. */
#define BERTH_I_LLM_EXPOSED_TP 0.5

/** The framework's factors, but those of the options.  @param about out */
berth_llm_factors berth_i_llm_factors_for(const berth_llm_plan *p,
                                          const berth_llm_estimate_options *o,
                                          berth_llm_provenance *about);

/** @return BERTH_OK, BERTH_EINVAL (no rate) */
berth_status berth_i_llm_prices_of(berth_ctx *ctx, const berth_llm *m, const berth_llm_plan *p,
                                   const berth_llm_gpus *g, const berth_llm_factors *f,
                                   berth_i_llm_prices *out);
/** s of a collective among n GPUs, each `stride` from the next. */
double berth_i_llm_collective(const berth_i_llm_prices *x, berth_collective_kind kind,
                              double bytes, int32_t n, int64_t stride);
/** s of so many bytes from one GPU to the next stage's. */
double berth_i_llm_p2p(const berth_i_llm_prices *x, double bytes, bool across);
/** Of a layer; `again`: all of its forward pass is computed again. */
void berth_i_llm_price_layer(const berth_i_llm_prices *x, int32_t kind, bool again,
                             berth_i_llm_passes *out);
void berth_i_llm_price_embedding(const berth_i_llm_prices *x, berth_i_llm_passes *out);
void berth_i_llm_price_head(const berth_i_llm_prices *x, berth_i_llm_passes *out);
/** FLOP of a micro-batch of the whole model: forward and backward as published formulas count
 *  them, and what is computed again. */
void berth_i_llm_flop(const berth_llm *m, const berth_llm_plan *p, double *model, double *again);

/** A place of the pipeline. */
typedef struct berth_i_llm_place_cost {
  int32_t stage, layers;
  berth_i_llm_passes pass;
  double p2p;              /* s to the next place, beside computation; 0: within `pass` */
  double gather[2], reduce; /* s of data parallelism for each micro-batch, beside computation:
                               forward, backward */
  double first_gather, last_reduce; /* the same, once a step */
  double stored;           /* bytes of activations of a micro-batch */
} berth_i_llm_place_cost;

typedef struct berth_i_llm_stage_cost {
  double reduce, gather;   /* s of data parallelism that runs beside nothing, before and after the
                              optimiser */
  double optimizer;
  double forward, backward; /* s of a micro-batch, all chunks */
} berth_i_llm_stage_cost;

/** All that the time of a step is made from. */
typedef struct berth_i_llm_step {
  const berth_llm *m;
  berth_llm_plan p;        /* filled */
  int32_t n, batches;      /* places; micro-batches */
  berth_i_llm_place_cost *place; /* [n] */
  berth_i_llm_stage_cost *stage; /* [pp] */
  int fitted;              /* 1: kernel constants of all GPUs were fitted to them */
  berth_i_pool pool;
} berth_i_llm_step;

/** Free with berth_i_pool_free(&out->pool), also on failure. */
berth_status berth_i_llm_step_make(const berth_llm *m, const berth_llm_cluster *c,
                                   const berth_llm_plan *filled, const berth_llm_factors *f,
                                   berth_i_llm_step *out);
/** s of the step. Exact for uniform stages without overlap; schedules other than gpipe, 1f1b and
 *  interleaved are evaluated. */
berth_status berth_i_llm_closed(const berth_i_llm_step *s, double *out);
/** s of data parallelism that a place's computation does not hide: for each micro-batch; once. */
double berth_i_llm_exposed_dp(const berth_i_llm_place_cost *x);
double berth_i_llm_exposed_ends(const berth_i_llm_place_cost *x);
/** The schedule of the step's places. */
berth_status berth_i_llm_schedule(const berth_i_llm_step *s, berth_schedule **out);
/** The step for the event loop; berth_llm_graph().
 *  @param memory [pp] NULL: without names and memory, for its time alone */
berth_status berth_i_llm_graph(const berth_i_llm_step *s, const berth_llm_memory *memory,
                               berth_graph **graph, berth_topology **topology,
                               berth_placement **placement);

#endif
