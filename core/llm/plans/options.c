/* Options of the plan search. */
#include "plans_internal.h"

berth_llm_search_options berth_llm_search_default(void) {
  return (berth_llm_search_options){ .fill = 0.9, .finalists = 16,
                                     .plan = berth_llm_plan_default() };
}

static void set_defaults(void *out) {
  *(berth_llm_search_options *)out = berth_llm_search_default();
}

static const berth_choice *const objectives[] = {
  BERTH_I_CHOICE("step", "Least step time: most tokens a second of a GPU on this cluster."),
  BERTH_I_CHOICE("memory", "Least memory of the fullest GPU."), NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_llm_search_options, name, kind)
#define LIST(name) BERTH_I_OPTION_LIST(berth_llm_search_options, name, n_##name, WHOLES)
#define MOST 1048576

const berth_option_table *berth_llm_search_option_table(void) {
  static const berth_option rows[] = {
    { LIST(tp), .low = 1, .high = MOST, .fallback = "all that divide",
      .text = "tensor parallelism: one value, or a list of those allowed" },
    { LIST(cp), .low = 1, .high = MOST, .fallback = "all that divide",
      .text = "context parallelism, likewise" },
    { LIST(pp), .low = 1, .high = MOST, .fallback = "all that divide",
      .text = "pipeline stages" },
    { LIST(dp), .low = 1, .high = MOST, .fallback = "all that divide",
      .text = "data parallelism" },
    { LIST(ep), .low = 1, .high = MOST, .fallback = "all that divide",
      .text = "GPUs that share the experts of a layer" },
    { LIST(etp), .low = 1, .high = MOST, .fallback = "1 and tp",
      .text = "tensor parallelism of an expert" },
    { LIST(vp), .low = 1, .high = 1000, .fallback = "1, and those whose chunks are alike",
      .text = "model chunks of a stage" },
    { LIST(micro_batch), .low = 1, .high = MOST, .fallback = "all that divide",
      .text = "sequences of a micro-batch" },
    { LIST(zero), .high = 3, .fallback = "0, 1, 3; with fsdp and torchtitan 0, 2, 3",
      .text = "what data parallelism shards" },
    { LIST(schedule), .low = 1, .high = BERTH_LLM_DUALPIPE_V,
      .fallback = "those of the framework", .text = "orders of the pipeline, by name" },
    { LIST(recompute), .high = BERTH_LLM_FULL, .fallback = "all; fsdp: none, full",
      .text = "what the backward pass computes again, by name" },
    { LIST(sequence_parallel), .high = 1, .fallback = "what the framework allows",
      .text = "norms and residuals are split by tp, too: off, on" },
    { FIELD(inside, FLAG), .text = "tp is at most the GPUs that fast links join" },
    { FIELD(objective, CHOICE), .choices = objectives, .text = "what the best plan has" },
    { FIELD(time, QUANTITY), .unit = BERTH_SECONDS, .fallback = "no limit",
      .text = "most that a step may take" },
    { FIELD(fill, NUMBER), .high = 1,
      .text = "share of a GPU's memory that a plan may have; measured runs slow down above 0.9" },
    { FIELD(finalists, WHOLE), .low = 1, .high = 1000,
      .text = "plans that run on the event loop at least" },
    { FIELD(front, FLAG), .text = "also finds the front of step and memory" },
    { FIELD(calls, LONG), .fallback = "no limit", .text = "most plans that are valued" },
    { FIELD(seconds, QUANTITY), .unit = BERTH_SECONDS, .fallback = "no limit",
      .text = "most time for the search" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("llm.search", rows, berth_llm_search_options, set_defaults);
}
