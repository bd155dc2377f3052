/* Prices of unlike devices, for the loads of intervals. */
#include "destructive_internal.h"

enum { MOST_RATES = 16 };

static void fill_rates(berth_i_destruct *b, const berth_i_kinds *k, const double *price) {
  for (int32_t j = 0; j < k->n; j++)
    b->rate[j] = (berth_i_destruct_rate){ price[j], 0, b->u->cost->class_of[k->sample[j]] };
  for (int32_t d = 0; d < k->devices; d++) b->rate[k->of[d]].places |= (uint64_t)1 << d;
  b->rates = k->n;
}

/* @param room [2 * kinds] zeros */
static berth_status raise_rates(berth_i_destruct *b, const berth_i_kinds *k, double *room) {
  berth_i_prices p = { room, room + k->n, 0 };
  for (int32_t j = 0; j < k->n; j++) p.time[j] = 1.0 / k->devices;
  berth_status st;
  if ((st = berth_i_prices_raise(b->ctx, k, false, &p)) != BERTH_OK) return st;
  b->rate = berth_i_pool_alloc(&b->pool, (size_t)k->n, sizeof *b->rate);
  if (!b->rate) return berth_i_nomem(b->ctx);
  fill_rates(b, k, p.time);
  return BERTH_OK;
}

berth_status berth_i_destruct_rates(berth_i_destruct *b) {
  if (!(b->rules & BERTH_I_DESTRUCT_RATES) || b->classes < 2 || !b->masks) return BERTH_OK;
  berth_i_kinds k;
  berth_status st;
  if ((st = berth_i_kinds_init(b->u, BERTH_MEMORY_NONE, &k)) != BERTH_OK) return st;
  double *room = berth_i_zalloc(b->ctx, 2 * (size_t)k.n, sizeof *room);
  st = !room ? berth_i_nomem(b->ctx) : k.n <= MOST_RATES ? raise_rates(b, &k, room) : BERTH_OK;
  berth_i_free(b->ctx, room, 2 * (size_t)k.n, sizeof *room);
  berth_i_kinds_release(&k);
  return st;
}
