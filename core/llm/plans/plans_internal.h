/* What the files of the plan search share. An *entry* is a plan of the space with a lower bound of
 * its step; entries that have the same splits of a layer share its prices. */
#ifndef BERTH_LLM_PLANS_INTERNAL_H
#define BERTH_LLM_PLANS_INTERNAL_H

#include "llm/step/step_internal.h"

/** Splits that decide what a layer costs. */
typedef struct berth_i_llm_cell {
  int32_t tp, cp, ep, etp, micro_batch;
  int sequence_parallel;
} berth_i_llm_cell;

typedef struct berth_i_llm_entry {
  double bound;            /* s: no order of the schedule is faster */
  double any_split;        /* the same of any split of the layers */
  int32_t cell, pp, vp;
  uint8_t schedule, recompute, zero, layered; /* layered: embedding_as_layer */
} berth_i_llm_entry;

typedef struct berth_i_llm_space {
  const berth_llm *m;
  const berth_llm_cluster *c;
  const berth_llm_search_options *o;
  berth_llm_factors f;
  berth_i_llm_cell *cell;
  berth_i_llm_entry *entry;
  size_t n_cells, cap_cells, n, cap;
  int64_t refused;         /* combinations that do not divide, at the first rule that says so */
  berth_i_pool pool;
} berth_i_llm_space;

/** All plans that divide, by bound; ties by cell, then by the order of the loops. */
berth_status berth_i_llm_space_make(const berth_llm *m, const berth_llm_cluster *c,
                                    const berth_llm_search_options *o, berth_i_llm_space *out);
/** Sets the least bound; with a prior, keeps the plans that it allows, in its order, and counts the
 *  others. An interrupt leaves all as they are.  @pre s->n > 0 */
berth_status berth_i_llm_space_order(berth_i_llm_space *s, berth_llm_search_about *about);
/** The entry as a plan, not filled. */
berth_llm_plan berth_i_llm_entry_plan(const berth_i_llm_space *s, const berth_i_llm_entry *e);
/** [pp vp] layers of each place so that the place with most work has least, by the prices of a
 *  filled plan.  O(layers^2 places) */
berth_status berth_i_llm_best_split(const berth_llm *m, const berth_llm_cluster *c,
                                    const berth_llm_plan *p, const berth_llm_factors *f,
                                    int32_t *out);

/* ---- values ---- */

typedef struct berth_i_llm_valuer {
  berth_i_llm_space *s;
  const berth_llm_search_options *o;
  berth_llm_memory *stage; /* [layers] scratch */
} berth_i_llm_valuer;

/** Whether a plan is refused, in place of a failure of the search. */
static inline bool berth_i_llm_refusal(berth_status st) {
  return st == BERTH_EINVAL || st == BERTH_EUNSUPPORTED;
}

/** Most memory of a stage.  @param share of what it may have */
berth_status berth_i_llm_value_memory(const berth_i_llm_valuer *x, const berth_llm_plan *p,
                                      double *bytes, double *share);
/** s in closed form, on the event loop */
berth_status berth_i_llm_value_closed(const berth_i_llm_valuer *x, const berth_llm_plan *filled,
                                      double *out);
berth_status berth_i_llm_value_events(const berth_i_llm_valuer *x, const berth_llm_plan *p,
                                      double *out);
/** Sets the value, of the objective. */
berth_status berth_i_llm_value_of(const berth_i_llm_valuer *x, berth_llm_found *y);

/** Runs the best candidates on the event loop and ranks what is kept; the best first. An interrupt
 *  leaves the others in closed form.  @param pool of the layer splits  @param n [1] in, out */
berth_status berth_i_llm_run_finalists(const berth_i_llm_valuer *x, berth_i_pool *pool,
                                       double started, berth_llm_found *found, int32_t *n);

#endif
