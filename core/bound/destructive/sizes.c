/* Which places hold how many bytes: places of one size are one entry, with a mask and a count.
 * O(places x sizes) once, O(sizes) a query. */
#include "destructive_internal.h"

berth_status berth_i_destruct_sizes(berth_i_destruct *b) {
  size_t n = (size_t)b->places;
  b->size_of = berth_i_pool_zalloc(&b->pool, n, sizeof *b->size_of);
  b->size = berth_i_pool_alloc(&b->pool, n, sizeof *b->size);
  b->size_count = berth_i_pool_zalloc(&b->pool, n, sizeof *b->size_count);
  double *limit = berth_i_pool_zalloc(&b->pool, n, sizeof *limit);
  berth_status st;
  if ((st = berth_i_pool_status(&b->pool)) != BERTH_OK) return st;
  for (int32_t d = 0; d < b->devices; d++)
    limit[b->part ? b->part[d] : d] += b->kinds->limit[b->kinds->of[d]];
  for (int32_t i = 0; i < b->places; i++) {
    int32_t k = 0;
    while (k < b->sizes && b->size[k] != limit[i]) k++;
    if (k == b->sizes) b->size[b->sizes++] = limit[i];
    b->size_count[k]++;
    if (b->masks) b->size_of[k] |= (uint64_t)1 << i;
  }
  return BERTH_OK;
}

uint64_t berth_i_destruct_holding(const berth_i_destruct *b, uint64_t can,
                                  berth_i_least_bytes bytes) {
  double need = berth_i_least_need(bytes);
  uint64_t out = can;
  bool some = false;
  for (int32_t j = 0; j < b->sizes; j++) {
    bool holds = !berth_i_exceeds(b->kinds, need, b->size[j]);
    some = some || holds;
    if (!holds && b->masks) out &= ~b->size_of[j];
  }
  return some ? out : 0;
}
