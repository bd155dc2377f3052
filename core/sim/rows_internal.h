/* Rows of option tables that are common to all rooms that plan or simulate: links, memory,
 * param_multiple, quantum. */
#ifndef BERTH_ROWS_INTERNAL_H
#define BERTH_ROWS_INTERNAL_H

#include "base/base_internal.h"
#include <berth/sim.h>

/* options.c: NULL-terminated */
extern const berth_choice *const berth_i_link_choices[], *const berth_i_memory_choices[];

#define BERTH_I_LINKS_ROW(struct_type, field) \
  { BERTH_I_OPTION_AT(struct_type, field, "links", CHOICE), .choices = berth_i_link_choices, \
    .text = "who shares what while tensors cross" }
#define BERTH_I_MEMORY_ROW(struct_type, field) \
  { BERTH_I_OPTION_AT(struct_type, field, "memory", CHOICE), .choices = berth_i_memory_choices, \
    .fallback = "training if any op has a twin, else inference", \
    .text = "what counts against the memory of a device, and until when" }
#define BERTH_I_PARAM_MULTIPLE_ROW(struct_type, field) \
  { BERTH_I_OPTION_AT(struct_type, field, "param_multiple", NUMBER), \
    .text = "parameter bytes are multiplied by it (gradients, optimiser state)" }
#define BERTH_I_QUANTUM_ROW(struct_type, field) \
  { BERTH_I_OPTION_AT(struct_type, field, "quantum", QUANTITY), .unit = BERTH_SECONDS, \
    .fallback = "exact times", .text = "times are rounded to multiples of it" }

#endif
