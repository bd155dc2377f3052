/* Rows of the copies of tensors: when each reaches which device, while readers are left. */
#include "engine_internal.h"

berth_status berth_i_copies_init(berth_plan *p) {
  berth_i_copies *c = &p->copies;
  const berth_graph *g = p->g;
  int32_t t;
  c->width = p->setup->rule == BERTH_I_RULE_PROFILE ? 2 * p->devices : p->devices;
  c->row = berth_i_alloc(p->ctx, (size_t)g->n_tensors, sizeof *c->row);
  c->left = berth_i_alloc(p->ctx, (size_t)g->n_tensors, sizeof *c->left);
  if (!c->row || !c->left) return berth_i_nomem(p->ctx);
  for (t = 0; t < g->n_tensors; t++) {
    c->row[t] = BERTH_NONE;
    c->left[t] = g->use_at[t + 1] - g->use_at[t];
  }
  return BERTH_OK;
}

void berth_i_copies_release(berth_plan *p) {
  berth_i_copies *c = &p->copies;
  berth_i_free(p->ctx, c->row, (size_t)p->g->n_tensors, sizeof *c->row);
  berth_i_free(p->ctx, c->left, (size_t)p->g->n_tensors, sizeof *c->left);
  berth_i_free(p->ctx, c->pool, c->cap, (size_t)c->width * sizeof *c->pool);
  berth_i_free(p->ctx, c->idle, c->cap_idle, sizeof *c->idle);
}

/* Each array has its own capacity: what is refused to one leaves the other as it is. */
static bool grow_copies(berth_plan *p) {
  berth_i_copies *c = &p->copies;
  size_t need = (size_t)c->n_rows + 1, size = (size_t)c->width * sizeof *c->pool;
  return berth_i_grow(p->ctx, (void **)&c->idle, &c->cap_idle, need, sizeof *c->idle) == BERTH_OK
      && berth_i_grow(p->ctx, (void **)&c->pool, &c->cap, need, size) == BERTH_OK;
}

double *berth_i_copy_row(berth_plan *p, int32_t tensor) {
  berth_i_copies *c = &p->copies;
  double *row;
  int32_t i;
  if (c->row[tensor] == BERTH_NONE) {
    if (c->n_idle == 0 && (size_t)c->n_rows == c->cap && !grow_copies(p)) return NULL;
    c->row[tensor] = c->n_idle > 0 ? c->idle[--c->n_idle] : c->n_rows++;
    row = c->pool + (size_t)c->row[tensor] * (size_t)c->width;
    for (i = 0; i < c->width; i++) row[i] = NAN;
  }
  return c->pool + (size_t)c->row[tensor] * (size_t)c->width;
}

void berth_i_copy_drop(berth_plan *p, int32_t tensor) {
  berth_i_copies *c = &p->copies;
  if (c->row[tensor] == BERTH_NONE) return;
  c->idle[c->n_idle++] = c->row[tensor];
  c->row[tensor] = BERTH_NONE;
}
