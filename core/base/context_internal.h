/* Layout of the context; for base alone. */
#ifndef BERTH_CONTEXT_INTERNAL_H
#define BERTH_CONTEXT_INTERNAL_H

#include "base_internal.h"

struct berth_ctx {
  berth_hooks hooks;
  int32_t refs;
  size_t used, peak;
  uint64_t number; /* the last that berth_i_ctx_number gave */
  char error[1024];
};

#endif
