/* Slots: the next event of each source, the earliest found by a scan of a few or a tournament tree
 * of many. */
#include "sim_internal.h"

enum { SCAN_AT_MOST = 16 };

static size_t slots_padded(const berth_i_slots *q) { return ((size_t)q->n + 1) & ~(size_t)1; }

void berth_i_slots_init(berth_i_pool *pool, berth_i_slots *q, int32_t n) {
  q->n = n;
  q->at = berth_i_pool_alloc(pool, slots_padded(q), sizeof *q->at);
  if (q->n <= SCAN_AT_MOST) return;
  for (q->width = 1; q->width < q->n; q->width *= 2) continue;
  q->winner = berth_i_pool_alloc(pool, 2 * (size_t)q->width, sizeof *q->winner);
}

static int32_t slots_better(const berth_i_slots *q, int32_t a, int32_t b) {
  return b < q->n && (a >= q->n || berth_i_when_before(q->at[b], q->at[a])) ? b : a;
}

void berth_i_slots_replay(berth_i_slots *q, int32_t k) {
  for (int32_t i = (k + q->width) / 2; i > 0; i /= 2)
    q->winner[i] = slots_better(q, q->winner[2 * i], q->winner[2 * i + 1]);
}

void berth_i_slots_clear(berth_i_slots *q) {
  size_t n = slots_padded(q);
  for (size_t i = 0; i < n; i++) {
    q->at[i].time = berth_i_time_bits(INFINITY);
    q->at[i].seq = UINT64_MAX;
  }
  if (!q->winner) return;
  for (int32_t k = 0; k < q->width; k++) q->winner[q->width + k] = k;
  for (int32_t k = q->width - 1; k > 0; k--)
    q->winner[k] = slots_better(q, q->winner[2 * k], q->winner[2 * k + 1]);
}
