/* The analysis inside, and the rules of single ops. */
#ifndef BERTH_ANALYSE_INTERNAL_H
#define BERTH_ANALYSE_INTERNAL_H

#include "base/pool_internal.h"
#include "graph/graph_internal.h"
#include <berth/deploy.h>

struct berth_analysis {
  berth_i_pool pool;
  berth_graph *g;
  int32_t refs, n_base;
  uint8_t *role, *from_input; /* [ops] */
  uint8_t *batch, *gradient;  /* [tensors] */
  int32_t *base;              /* [ops] */
  int32_t n_unknown;
  const char **unknown;       /* [kinds + 1] texts of the graph's; "": none */
};

typedef struct berth_i_op_rule {
  uint8_t role, batch;
  bool all_outputs;
  bool known; /* some rule says whether it makes a batch */
  bool given; /* one of the caller's does */
} berth_i_op_rule;

/** @param rule [ops] out */
berth_status berth_i_op_rules(const berth_graph *g, const berth_analysis_options *o,
                              berth_i_op_rule *rule);
berth_status berth_i_check_rules(const berth_graph *g, const berth_analysis_options *o);

/** A control dependency: it carries nothing. */
static inline bool berth_i_is_control(const berth_graph *g, int32_t tensor) {
  return !(g->tensor_bytes[tensor] > 0) && !(g->tensor_flags && g->tensor_flags[tensor]);
}

static inline bool berth_i_writes_variable(uint8_t role) {
  return role == BERTH_ROLE_UPDATE || role == BERTH_ROLE_SCATTER || role == BERTH_ROLE_ASSIGN;
}

#endif
