/* Prices of unlike devices, for the loads of intervals: those that make the bound of work largest,
 * whatever memory there is (placement/prices.c). */
#include "destructive_internal.h"

enum { MOST_RATES = 16 };

berth_status berth_i_destruct_rates(berth_i_destruct *b) {
  if (!(b->rules & BERTH_I_DESTRUCT_RATES) || b->classes < 2 || !b->masks) return BERTH_OK;
  berth_i_kinds k;
  berth_status st;
  if ((st = berth_i_kinds_init(b->u, BERTH_MEMORY_NONE, &k)) != BERTH_OK) return st;
  if (k.n > MOST_RATES) goto done;
  double *room = berth_i_pool_zalloc(&b->pool, 2 * (size_t)k.n, sizeof *room);
  b->rate = berth_i_pool_alloc(&b->pool, (size_t)k.n, sizeof *b->rate);
  if ((st = berth_i_pool_status(&b->pool)) != BERTH_OK) goto done;
  berth_i_prices p = { room, room + k.n, 0 };
  for (int32_t j = 0; j < k.n; j++) p.time[j] = 1.0 / k.devices;
  if ((st = berth_i_prices_raise(b->ctx, &k, false, &p)) != BERTH_OK) goto done;
  for (int32_t j = 0; j < k.n; j++)
    b->rate[j] = (berth_i_destruct_rate){ p.time[j], 0, b->u->cost->class_of[k.sample[j]] };
  for (int32_t d = 0; d < k.devices; d++) b->rate[k.of[d]].places |= (uint64_t)1 << d;
  b->rates = k.n;
done:
  berth_i_kinds_release(&k);
  return st;
}
