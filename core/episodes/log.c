/* The log of finished episodes, sorted by episode, then step; the record itself is by step, then
 * episode, as the steps were taken. O(rows x devices x width). */
#include "episodes_internal.h"

static berth_status alloc_log(berth_episodes *e) {
  berth_i_log *l = &e->log;
  size_t devices = (size_t)e->a->n_devices;
  berth_i_pool_free(&l->pool);
  *l = (berth_i_log){ .pool = berth_i_pool_empty(e->ctx),
                      .rows = (size_t)e->n * (size_t)e->a->steps };
  l->op = berth_i_pool_alloc(&l->pool, l->rows, sizeof *l->op);
  l->device = berth_i_pool_alloc(&l->pool, l->rows, sizeof *l->device);
  l->chosen = berth_i_pool_alloc(&l->pool, l->rows, sizeof *l->chosen);
  l->first = berth_i_pool_alloc(&l->pool, l->rows + 1, sizeof *l->first);
  l->candidates =
      berth_i_pool_alloc(&l->pool, (size_t)e->history_first[l->rows], sizeof *l->candidates);
  if (e->seen_all)
    l->devices =
        berth_i_pool_alloc(&l->pool, l->rows * devices * (size_t)e->a->width, sizeof *l->devices);
  if (e->a->restricted) l->allowed = berth_i_pool_alloc(&l->pool, l->rows * devices, 1);
  return berth_i_pool_status(&l->pool);
}

/* Row `from` of the record becomes row `to` of the log. */
static void copy_row(berth_episodes *e, size_t from, size_t to) {
  berth_i_log *l = &e->log;
  size_t answer = (size_t)e->a->n_devices * (size_t)e->a->width;
  int32_t n = e->history_first[from + 1] - e->history_first[from];
  l->op[to] = e->op[from];
  l->device[to] = e->to[from];
  l->chosen[to] = e->chosen[from];
  l->first[to + 1] = l->first[to] + n;
  memcpy(l->candidates + l->first[to], e->history + e->history_first[from],
         (size_t)n * sizeof *l->candidates);
  if (e->a->restricted) { /* producers have not moved since */
    berth_i_allowed(e->a, e->episode[from % (size_t)e->n].device, l->op[to],
                    l->allowed + to * (size_t)e->a->n_devices);
  }
  if (e->seen_all)
    memcpy(l->devices + to * answer, e->seen + from * answer, answer * sizeof *l->devices);
}

berth_status berth_episodes_log(berth_episodes *e, berth_episode_log *out) {
  if (!e) return BERTH_EINVAL;
  size_t steps = (size_t)e->a->steps;
  if (e->step < e->a->steps) {
    return berth_i_fail(e->ctx, BERTH_EINVAL, "episodes: only %d of %d steps are taken",
                        (int)e->step, (int)e->a->steps);
  }
  berth_status st;
  if ((st = alloc_log(e)) != BERTH_OK) return st;
  e->log.first[0] = 0;
  for (size_t i = 0; i < (size_t)e->n; i++) {
    for (size_t k = 0; k < steps; k++) copy_row(e, k * (size_t)e->n + i, i * steps + k);
  }
  *out = (berth_episode_log){ (int32_t)e->log.rows, e->log.op,     e->log.device,  e->log.first,
                              e->log.candidates,    e->log.chosen, e->log.devices, e->log.allowed };
  return BERTH_OK;
}
