/* Layout of an execution, for the files that fill it. */
#ifndef BERTH_EXECUTION_INTERNAL_H
#define BERTH_EXECUTION_INTERNAL_H

#include "exec_internal.h"

struct berth_execution {
  berth_i_pool pool;
  berth_ctx *ctx;
  berth_cost *cost;
  int32_t n_ops, n_devices, n_transfers, n_times;
  double makespan;
  double *times;             /* [n_times] */
  int32_t *device;           /* [n_ops] */
  double *start, *finish;    /* [n_ops] */
  double *busy;              /* [n_devices] */
  berth_transfer *transfer;  /* [n_transfers] */
  berth_exec_turns *turns;   /* [n_ops] */
  uint64_t *sums;            /* [n_ops]; NULL: not checked */
  int32_t wrong;
};

/** What x has just done, compared with the run on one thread if that is wanted. */
berth_status berth_i_execution_new(berth_executor *x, berth_execution **out);

#endif
