/* What the files of the timeline writer share. */
#ifndef BERTH_TRACE_INTERNAL_H
#define BERTH_TRACE_INTERNAL_H

#include "../cost/cost_internal.h"
#include "io_internal.h"

typedef struct berth_i_change {
  double time;   /* s */
  double bytes;  /* signed */
  int32_t device;
  int32_t charge; /* at one time, what goes goes first: 0 freed, 1 charged */
} berth_i_change;

typedef struct berth_i_changes {
  berth_i_change *at; /* by device, then time, then charge */
  size_t n, cap;
} berth_i_changes;

/** Changes of each device's memory during a run, parameters included. The result tells peaks only, so the accounting is done
 *  again under each policy and parameter multiple, and the one that explains the peaks best is taken; none for NONE. */
berth_status berth_i_memory_changes(const berth_result *r, berth_i_changes *out);
void berth_i_changes_release(berth_ctx *ctx, berth_i_changes *c);

#endif
