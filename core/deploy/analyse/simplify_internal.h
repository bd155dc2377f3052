/* Simplification: what joins what (simplify.c), and the graph of it (simplify_build.c). */
#ifndef BERTH_SIMPLIFY_INTERNAL_H
#define BERTH_SIMPLIFY_INTERNAL_H

#include "analyse_internal.h"

typedef struct berth_i_simplifying {
  berth_i_pool pool;
  const berth_graph *g;
  const berth_simplify_options *o;
  berth_i_op_rule *rule; /* [ops] */
  uint8_t *needed;       /* [ops] */
  uint8_t *passes;       /* [ops] a NoOp or Identity that is removed */
  int32_t *into;         /* [ops] head of its set, itself most often; BERTH_NONE: dropped */
  int32_t *group, *pin;  /* [ops] of the set, at its head */
  int32_t *source;       /* [tensors] what its readers read instead: itself, or what a removed op
                            passes on */
  int32_t *sole;         /* [ops] its reader: one op; BERTH_NONE; BERTH_I_SEVERAL */
  uint8_t *timed;        /* [ops] of the set, at its head: BERTH_I_BY_... */
  int32_t *level;        /* [ops] at heads: longest number of edges from a source */
  double *seconds;       /* [ops] to find what is cheap; NULL: not needed */
} berth_i_simplifying;

enum { BERTH_I_SEVERAL = -2, BERTH_I_BY_PROFILE = 1, BERTH_I_BY_ROOFLINE = 2 };

/** Does this tensor count in the new graph? */
static inline bool berth_i_stays(const berth_i_simplifying *x, int32_t tensor) {
  return x->o->control || !berth_i_is_control(x->g, tensor);
}
static inline bool berth_i_profiled(const berth_graph *g, int32_t op) {
  return g->seconds && !isnan(g->seconds[(size_t)op * (size_t)g->n_types]);
}
static inline bool berth_i_is_free(const berth_graph *g, int32_t op) {
  return !berth_i_profiled(g, op) && !(g->flop && g->flop[op] > 0)
         && !(g->bytes && g->bytes[op] > 0);
}

/** @param map [ops] out; may be NULL */
berth_status berth_i_simplify_build(const berth_i_simplifying *x, berth_graph **out, int32_t *map);

#endif
