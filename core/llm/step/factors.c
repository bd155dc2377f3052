/* The factors of frameworks, by scripts/bench/llm_factors on 2026-11-30; not to be edited. Errors
 * are those of the rows that they were fitted to; docs/accuracy.md has those of others. */
#include "step_internal.h"

typedef struct row {
  berth_llm_factors f;
  berth_llm_provenance about;
} row;

/* In the order of berth_llm_framework: products, attention, elementwise, launch, inside, across. */
static const row rows[] = {
  { { 1.1, 1.714, 1.251, 0.0003192, 0.9208, 2.437 },
    { "35 rows: dense models of Megatron-Bridge; 6.9 % (left out 8.7 %)",
      0.0871, 0.187 } }, /* megatron */
  { { 1.064, 1.186, 0.6316, 0.000796, 0.8802, 1.004 },
    { "39 rows: GPT on A100 (vTrain), several machines, uncontended;"
      " 39 rows: one machine;"
      " 4.9 % (left out 5.3 %)",
      0.0532, 0.126 } }, /* megatron-2022 */
  { { 0.9945, 3.838, 0.5558, 0.0005, 2.273, 3.376 },
    { "57 rows: BLOOM's sweeps on A100; 4.4 % (left out 4.9 %)",
      0.0488, 0.0993 } }, /* deepspeed */
  { { 1.008, 1.447, 1.381, 0.0005, 2.556, 2.024 },
    { "104 rows: MPT by FSDP on A100 and H100; 3.4 % (left out 3.5 %)",
      0.0351, 0.0782 } }, /* fsdp */
  { { 1.116, 1.453, 1.381, 0.0005, 0.8403, 2.024 },
    { "11 rows: Llama 3.1 by torchtitan on H100; 4.0 % (left out 9.2 %)",
      0.0918, 0.184 } }, /* torchtitan */
};

berth_llm_factors berth_llm_factors_of(berth_llm_framework framework,
                                       berth_llm_provenance *about) {
  size_t n = sizeof rows / sizeof *rows, i = (size_t)framework < n ? (size_t)framework : 0;
  if (about) *about = rows[i].about;
  return rows[i].f;
}
