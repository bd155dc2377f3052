/* The factors of frameworks, by scripts/bench/llm_factors on 2026-11-30; not to be edited. Errors
 * are those of the rows that they were fitted to; docs/accuracy.md has those of others. */
#include "step_internal.h"

typedef struct row {
  berth_llm_factors f;
  berth_llm_provenance about;
} row;

/* In the order of berth_llm_framework: products, attention, elementwise, launch, inside, across. */
static const row rows[] = {
  { { 1.1, 1.691, 1.3, 0.0003081, 0.9888, 2.437 }, /* megatron */
    { "35 rows: dense models of Megatron-Bridge;"
      " 6.9 % (left out 8.6 %)",
      0.0865, 0.187 } },
  { { 1.071, 1.3, 0.6221, 0.0008064, 0.9878, 1.012 }, /* megatron-2022 */
    { "39 rows: GPT on A100 (vTrain), several machines, uncontended;"
      " 39 rows: one machine;"
      " 5.2 % (left out 5.9 %)",
      0.059, 0.126 } },
  { { 0.9711, 2.957, 1.291, 0.002267, 1.227, 3.645 }, /* deepspeed */
    { "57 rows: BLOOM's sweeps on A100;"
      " 3.8 % (left out 4.6 %)",
      0.0461, 0.0922 } },
  { { 1.008, 1.447, 1.381, 0.0005, 2.556, 2.024 }, /* fsdp */
    { "104 rows: MPT by FSDP on A100 and H100;"
      " 3.4 % (left out 3.5 %)",
      0.0351, 0.0782 } },
  { { 1.117, 1.453, 1.381, 0.0005, 0.9486, 2.024 }, /* torchtitan */
    { "11 rows: Llama 3.1 by torchtitan on H100;"
      " 3.8 % (left out 10.0 %)",
      0.1, 0.201 } },
};

berth_llm_factors berth_llm_factors_of(berth_llm_framework framework,
                                       berth_llm_provenance *about) {
  size_t n = sizeof rows / sizeof *rows, i = (size_t)framework < n ? (size_t)framework : 0;
  if (about) *about = rows[i].about;
  return rows[i].f;
}
