/* Free time of one device, for insertion: slots in order of time, in blocks of up to 128 with the
 * length of their longest slot, so that a search skips blocks that are too tight. The last slot has
 * no end, so a search always succeeds. Every op adds at most one slot. */
#include "engine_internal.h"

enum { SLOTS_PER_BLOCK = 128 };

typedef struct slot {
  double start, finish;
} slot;

struct berth_i_free_block {
  slot *at; /* [SLOTS_PER_BLOCK] */
  int32_t n;
  double longest, end; /* end of the last */
};

static void measure(berth_i_free_block *b) {
  b->end = b->at[b->n - 1].finish;
  b->longest = 0;
  for (int32_t i = 0; i < b->n; i++) {
    double length = b->at[i].finish - b->at[i].start;
    if (length > b->longest) b->longest = length;
  }
}

static berth_status insert_block(berth_i_pool *pool, berth_i_free_slots *slots, size_t i) {
  berth_status st = berth_i_pool_grow(pool, (void **)&slots->block, &slots->cap,
                                      slots->n + 1, sizeof *slots->block);
  if (st != BERTH_OK) return st;
  slot *at;
  if (!(at = berth_i_pool_alloc(pool, SLOTS_PER_BLOCK, sizeof *at)))
    return berth_i_pool_status(pool);
  memmove(&slots->block[i + 1], &slots->block[i], (slots->n - i) * sizeof *slots->block);
  slots->block[i].at = at;
  slots->block[i].n = 0;
  slots->n++;
  return BERTH_OK;
}

berth_status berth_i_free_slots_init(berth_i_pool *pool, berth_i_free_slots *slots) {
  memset(slots, 0, sizeof *slots);
  berth_status st;
  if ((st = insert_block(pool, slots, 0)) != BERTH_OK) return st;
  slots->block[0].at[0].start = 0;
  slots->block[0].at[0].finish = INFINITY;
  slots->block[0].n = 1;
  measure(&slots->block[0]);
  return BERTH_OK;
}

/* The first block whose last slot ends at `time` or later. */
static size_t block_at(const berth_i_free_slots *slots, double time) {
  size_t low = 0, high = slots->n - 1;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (slots->block[mid].end >= time) {
      high = mid;
    } else {
      low = mid + 1;
    }
  }
  return low;
}

static double start_in(const slot *g, double ready) { return g->start > ready ? g->start : ready; }

/* Lengths are differences and starts + lengths are sums: both round, so the quick test allows for
 * it. */
static bool too_tight(const berth_i_free_block *b, double length) {
  return !isinf(b->end) && length > b->longest + 4e-16 * b->end;
}

double berth_i_free_slots_find(const berth_i_free_slots *slots, double ready, double length) {
  size_t i = block_at(slots, ready);
  for (;; i++) {
    const berth_i_free_block *b = &slots->block[i];
    if (too_tight(b, length)) continue;
    for (int32_t k = 0; k < b->n; k++) {
      double start = start_in(&b->at[k], ready);
      if (start + length <= b->at[k].finish) return start;
    }
  }
}

static berth_status split_block(berth_i_pool *pool, berth_i_free_slots *slots, size_t i) {
  berth_status st = insert_block(pool, slots, i + 1);
  if (st != BERTH_OK) return st;
  berth_i_free_block *low = &slots->block[i];
  berth_i_free_block *high = &slots->block[i + 1];
  high->n = low->n - low->n / 2;
  low->n -= high->n;
  memcpy(high->at, low->at + low->n, (size_t)high->n * sizeof(slot));
  measure(low);
  measure(high);
  return BERTH_OK;
}

static int32_t slot_at(const berth_i_free_block *b, double start) {
  int32_t low = 0, high = b->n - 1;
  while (low < high) {
    int32_t mid = (low + high + 1) / 2;
    if (b->at[mid].start <= start) {
      low = mid;
    } else {
      high = mid - 1;
    }
  }
  return low;
}

/* What is left of the slot before and after start..finish. Slots of no length stay: an op of no
 * length fits between two others that follow on each other. */
static void cut(berth_i_free_block *b, int32_t k, double start, double finish) {
  slot *at = b->at + k;
  if (start == finish && (start == at->start || finish == at->finish)) return;
  memmove(at + 2, at + 1, (size_t)(b->n - k - 1) * sizeof *at);
  b->n++;
  at[1].start = finish;
  at[1].finish = at->finish;
  at->finish = start;
}

berth_status berth_i_free_slots_take(berth_i_pool *pool, berth_i_free_slots *slots, double start,
                               double finish) {
  size_t i = block_at(slots, finish);
  if (slots->block[i].n == SLOTS_PER_BLOCK) {
    berth_status st;
    if ((st = split_block(pool, slots, i)) != BERTH_OK) return st;
    i = block_at(slots, finish);
  }
  berth_i_free_block *b = &slots->block[i];
  cut(b, slot_at(b, start), start, finish);
  measure(b);
  return BERTH_OK;
}
