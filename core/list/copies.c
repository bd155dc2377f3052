/* Copies of tensors on other devices: one row of arrival times per tensor with copies. Structure:
 * rows in one array, free rows on a stack. Invariant: a tensor has a row only while some reader is
 * not placed (under PROFILE: to the end). O(width) a new row. */
#include "engine_internal.h"

berth_status berth_i_copies_init(berth_plan *p) {
  berth_i_copies *c = &p->copies;
  const berth_graph *g = p->g;
  c->width = p->setup->rule == BERTH_I_RULE_PROFILE ? 2 * p->devices : p->devices;
  c->row = berth_i_pool_alloc(&p->pool, (size_t)g->n_tensors, sizeof *c->row);
  c->left = berth_i_pool_alloc(&p->pool, (size_t)g->n_tensors, sizeof *c->left);
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) return st;
  for (int32_t t = 0; t < g->n_tensors; t++) {
    c->row[t] = BERTH_NONE;
    c->left[t] = g->use_at[t + 1] - g->use_at[t];
  }
  return BERTH_OK;
}

/* Each array has its own capacity: a refused allocation of one leaves the other unchanged. */
static bool grow_copies(berth_plan *p) {
  berth_i_copies *c = &p->copies;
  size_t need = (size_t)c->n_rows + 1, size = (size_t)c->width * sizeof *c->pool;
  return berth_i_pool_grow(&p->pool, (void **)&c->idle, &c->cap_idle, need, sizeof *c->idle)
             == BERTH_OK
         && berth_i_pool_grow(&p->pool, (void **)&c->pool, &c->cap, need, size) == BERTH_OK;
}

double *berth_i_copy_row(berth_plan *p, int32_t tensor) {
  berth_i_copies *c = &p->copies;
  if (c->row[tensor] == BERTH_NONE) {
    if (c->n_idle == 0 && (size_t)c->n_rows == c->cap && !grow_copies(p)) return NULL;
    c->row[tensor] = c->n_idle > 0 ? c->idle[--c->n_idle] : c->n_rows++;
    double *row;
    row = c->pool + (size_t)c->row[tensor] * (size_t)c->width;
    for (int32_t i = 0; i < c->width; i++) row[i] = NAN;
  }
  return c->pool + (size_t)c->row[tensor] * (size_t)c->width;
}

void berth_i_copy_drop(berth_plan *p, int32_t tensor) {
  berth_i_copies *c = &p->copies;
  if (c->row[tensor] == BERTH_NONE) return;
  c->idle[c->n_idle++] = c->row[tensor];
  c->row[tensor] = BERTH_NONE;
}
