/* Rooms of a search: they stay from one job to the next, and grow. */
#include "pdors_internal.h"

static berth_status room_for(berth_ctx *ctx, void **ptr, size_t *have, size_t need, size_t size) {
  if (*ptr && *have >= need) return BERTH_OK;
  berth_i_free(ctx, *ptr, *have, size);
  *have = 0;
  if (!(*ptr = berth_i_alloc(ctx, need, size))) return berth_i_nomem(ctx);
  *have = need;
  return BERTH_OK;
}

berth_status berth_i_pdors_search_init(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  size_t slots = (size_t)d->c.slots, table = 1;
  while (table < 2 * slots) table *= 2;
  s->slots = slots;
  s->table_room = table;
  if (!(s->class_of = berth_i_alloc(d->ctx, slots, sizeof *s->class_of))
      || !(s->slot_of = berth_i_alloc(d->ctx, slots, sizeof *s->slot_of))
      || !(s->worth = berth_i_alloc(d->ctx, slots, sizeof *s->worth))
      || !(s->hull = berth_i_alloc(d->ctx, 2 * slots, sizeof *s->hull))
      || !(s->heap = berth_i_alloc(d->ctx, 2 * slots, sizeof *s->heap))
      || !(s->table = berth_i_alloc(d->ctx, table, sizeof *s->table))
      || !(s->answer = berth_i_alloc(d->ctx, (size_t)d->c.machines, sizeof *s->answer)))
    return berth_i_nomem(d->ctx);
  return BERTH_OK;
}

berth_status berth_i_pdors_room_by_class(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  size_t works = (size_t)s->classes * (size_t)(s->most + 1);
  berth_status st;
  if ((st = room_for(d->ctx, (void **)&s->lower, &s->works, works, sizeof *s->lower)) != BERTH_OK) return st;
  if ((st = room_for(d->ctx, (void **)&s->known, &s->options, works, sizeof *s->known)) != BERTH_OK) return st;
  memset(s->known, 0, works * sizeof *s->known);
  return BERTH_OK;
}

berth_status berth_i_pdors_room_by_quantum(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  size_t cells = (size_t)(s->n + 1) * (size_t)(s->quanta + 1);
  berth_status st;
  if ((st = room_for(d->ctx, (void **)&s->ahead, &s->ahead_room, cells, sizeof *s->ahead)) != BERTH_OK) return st;
  if ((st = room_for(d->ctx, (void **)&s->behind, &s->behind_room, cells, sizeof *s->behind)) != BERTH_OK) return st;
  return room_for(d->ctx, (void **)&s->chosen, &s->chosen_room, cells, sizeof *s->chosen);
}

void berth_i_pdors_search_release(berth_pdors *d) {
  berth_i_pdors_search *s = &d->search;
  berth_i_free(d->ctx, s->class_of, s->slots, sizeof *s->class_of);
  berth_i_free(d->ctx, s->slot_of, s->slots, sizeof *s->slot_of);
  berth_i_free(d->ctx, s->worth, s->slots, sizeof *s->worth);
  berth_i_free(d->ctx, s->hull, 2 * s->slots, sizeof *s->hull);
  berth_i_free(d->ctx, s->heap, 2 * s->slots, sizeof *s->heap);
  berth_i_free(d->ctx, s->table, s->table_room, sizeof *s->table);
  berth_i_free(d->ctx, s->answer, (size_t)d->c.machines, sizeof *s->answer);
  berth_i_free(d->ctx, s->lower, s->works, sizeof *s->lower);
  berth_i_free(d->ctx, s->known, s->options, sizeof *s->known);
  berth_i_free(d->ctx, s->ahead, s->ahead_room, sizeof *s->ahead);
  berth_i_free(d->ctx, s->behind, s->behind_room, sizeof *s->behind);
  berth_i_free(d->ctx, s->chosen, s->chosen_room, sizeof *s->chosen);
  berth_i_free(d->ctx, s->place, s->place_cap, sizeof *s->place);
  berth_i_free(d->ctx, s->plan_slot, s->plan_cap, sizeof *s->plan_slot);
  berth_i_free(d->ctx, s->plan_place, s->plan_place_cap, sizeof *s->plan_place);
}
