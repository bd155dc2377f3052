/* Rooms of a search: they stay from one job to the next, and grow. */
#include "pdors_internal.h"

static berth_status reserve(berth_pdors *d, void **ptr, size_t *have, size_t need, size_t size) {
  if (*ptr && *have >= need) return BERTH_OK;
  void *more;
  if (!(more = berth_i_pool_realloc(&d->pool, *ptr, *have, need, size)))
    return berth_i_nomem(d->ctx);
  *ptr = more;
  *have = need;
  return BERTH_OK;
}

berth_status berth_i_pdors_search_init(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  size_t slots = (size_t)d->c.slots, table = 1;
  while (table < 2 * slots) table *= 2;
  s->table_cap = table;
  s->class_of = berth_i_pool_alloc(&d->pool, slots, sizeof *s->class_of);
  s->slot_of = berth_i_pool_alloc(&d->pool, slots, sizeof *s->slot_of);
  s->worth = berth_i_pool_alloc(&d->pool, slots, sizeof *s->worth);
  s->hull = berth_i_pool_alloc(&d->pool, 2 * slots, sizeof *s->hull);
  s->heap = berth_i_pool_alloc(&d->pool, 2 * slots, sizeof *s->heap);
  s->table = berth_i_pool_alloc(&d->pool, table, sizeof *s->table);
  s->answer = berth_i_pool_alloc(&d->pool, (size_t)d->c.machines, sizeof *s->answer);
  return berth_i_pool_status(&d->pool);
}

berth_status berth_i_pdors_reserve_by_class(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  size_t works = (size_t)s->classes * (size_t)(s->most + 1);
  berth_status st;
  if ((st = reserve(d, (void **)&s->lower, &s->works, works, sizeof *s->lower)) != BERTH_OK)
    return st;
  if ((st = reserve(d, (void **)&s->known, &s->options, works, sizeof *s->known)) != BERTH_OK)
    return st;
  memset(s->known, 0, works * sizeof *s->known);
  return BERTH_OK;
}

berth_status berth_i_pdors_reserve_by_quantum(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  size_t cells = (size_t)(s->n + 1) * (size_t)(s->quanta + 1);
  berth_status st;
  if ((st = reserve(d, (void **)&s->ahead, &s->ahead_cap, cells, sizeof *s->ahead)) != BERTH_OK)
    return st;
  if ((st = reserve(d, (void **)&s->behind, &s->behind_cap, cells, sizeof *s->behind))
      != BERTH_OK)
    return st;
  return reserve(d, (void **)&s->chosen, &s->chosen_cap, cells, sizeof *s->chosen);
}
