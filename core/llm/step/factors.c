/* The factors of frameworks, by scripts/bench/llm_factors on 2026-11-30; not to be edited. Errors
 * are those of the rows that they were fitted to; docs/accuracy.md has those of others. */
#include "step_internal.h"

typedef struct row {
  berth_llm_factors f;
  berth_llm_provenance about;
} row;

/* In the order of berth_llm_framework: products, attention, elementwise, launch, inside, across. */
static const row rows[] = {
  { { 1.13, 1.3, 1.3, 0.000472, 1.2, 2.447 }, /* megatron */
    { "35 rows: dense models of Megatron-Bridge;"
      " 7.3 % (left out 8.4 %)",
      0.0843, 0.213 } },
  { { 1.071, 1.3, 0.6221, 0.0008064, 0.9878, 1.012 }, /* megatron-2022 */
    { "39 rows: GPT on A100 (vTrain), several machines, uncontended;"
      " 39 rows: one machine;"
      " 5.2 % (left out 5.9 %)",
      0.059, 0.126 } },
  { { 1.051, 3.62, 1.3, 0.0005001, 1.607, 1.2 }, /* deepspeed */
    { "57 rows: BLOOM's sweeps on A100;"
      " 4.7 % (left out 5.8 %)",
      0.0575, 0.118 } },
  { { 1.023, 1.444, 1.352, 0.0005, 2.237, 1.895 }, /* fsdp */
    { "104 rows: MPT by FSDP on A100 and H100;"
      " 3.5 % (left out 3.9 %)",
      0.0387, 0.0801 } },
  { { 1.131, 1.452, 1.352, 0.0005, 0.9292, 1.895 }, /* torchtitan */
    { "11 rows: Llama 3.1 by torchtitan on H100;"
      " 3.7 % (left out 9.8 %)",
      0.0982, 0.196 } },
};

berth_llm_factors berth_llm_factors_of(berth_llm_framework framework,
                                       berth_llm_provenance *about) {
  size_t n = sizeof rows / sizeof *rows, i = (size_t)framework < n ? (size_t)framework : 0;
  if (about) *about = rows[i].about;
  return rows[i].f;
}
