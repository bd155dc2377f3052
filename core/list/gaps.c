/* Free time of one device: gaps in order of time, in blocks that know their longest gap. The last
 * gap has no end, and an op more is a gap more. */
#include "engine_internal.h"

enum { GAPS_PER_BLOCK = 128 };

typedef struct gap {
  double start, finish;
} gap;

struct berth_i_gap_block {
  gap *at; /* [GAPS_PER_BLOCK] */
  int32_t n;
  double longest, end; /* end of the last */
};

static void measure(berth_i_gap_block *b) {
  b->end = b->at[b->n - 1].finish;
  b->longest = 0;
  for (int32_t i = 0; i < b->n; i++) {
    double length = b->at[i].finish - b->at[i].start;
    if (length > b->longest) b->longest = length;
  }
}

static berth_status insert_block(berth_i_pool *pool, berth_i_gaps *gaps, size_t i) {
  berth_status st =
      berth_i_pool_grow(pool, (void **)&gaps->block, &gaps->cap, gaps->n + 1, sizeof *gaps->block);
  if (st != BERTH_OK) return st;
  gap *at;
  if (!(at = berth_i_pool_alloc(pool, GAPS_PER_BLOCK, sizeof *at)))
    return berth_i_pool_status(pool);
  memmove(&gaps->block[i + 1], &gaps->block[i], (gaps->n - i) * sizeof *gaps->block);
  gaps->block[i].at = at;
  gaps->block[i].n = 0;
  gaps->n++;
  return BERTH_OK;
}

berth_status berth_i_gaps_init(berth_i_pool *pool, berth_i_gaps *gaps) {
  memset(gaps, 0, sizeof *gaps);
  berth_status st;
  if ((st = insert_block(pool, gaps, 0)) != BERTH_OK) return st;
  gaps->block[0].at[0].start = 0;
  gaps->block[0].at[0].finish = INFINITY;
  gaps->block[0].n = 1;
  measure(&gaps->block[0]);
  return BERTH_OK;
}

/* The first block whose last gap ends at `time` or later. */
static size_t block_at(const berth_i_gaps *gaps, double time) {
  size_t low = 0, high = gaps->n - 1;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (gaps->block[mid].end >= time) {
      high = mid;
    } else {
      low = mid + 1;
    }
  }
  return low;
}

static double start_in(const gap *g, double ready) { return g->start > ready ? g->start : ready; }

/* Lengths are differences and starts + lengths are sums: both round, so the quick test allows for
 * it. */
static bool too_tight(const berth_i_gap_block *b, double length) {
  return !isinf(b->end) && length > b->longest + 4e-16 * b->end;
}

double berth_i_gaps_find(const berth_i_gaps *gaps, double ready, double length) {
  size_t i = block_at(gaps, ready);
  for (;; i++) {
    const berth_i_gap_block *b = &gaps->block[i];
    if (too_tight(b, length)) continue;
    for (int32_t k = 0; k < b->n; k++) {
      double start = start_in(&b->at[k], ready);
      if (start + length <= b->at[k].finish) return start;
    }
  }
}

static berth_status split_block(berth_i_pool *pool, berth_i_gaps *gaps, size_t i) {
  berth_status st = insert_block(pool, gaps, i + 1);
  if (st != BERTH_OK) return st;
  berth_i_gap_block *low = &gaps->block[i];
  berth_i_gap_block *high = &gaps->block[i + 1];
  high->n = low->n - low->n / 2;
  low->n -= high->n;
  memcpy(high->at, low->at + low->n, (size_t)high->n * sizeof(gap));
  measure(low);
  measure(high);
  return BERTH_OK;
}

static int32_t gap_at(const berth_i_gap_block *b, double start) {
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

/* What is left of the gap before and after start..finish. Gaps of no length stay: an op of no
 * length fits in where two others meet. */
static void cut(berth_i_gap_block *b, int32_t k, double start, double finish) {
  gap *at = b->at + k;
  if (start == finish && (start == at->start || finish == at->finish)) return;
  memmove(at + 2, at + 1, (size_t)(b->n - k - 1) * sizeof *at);
  b->n++;
  at[1].start = finish;
  at[1].finish = at->finish;
  at->finish = start;
}

berth_status berth_i_gaps_take(berth_i_pool *pool, berth_i_gaps *gaps, double start,
                               double finish) {
  size_t i = block_at(gaps, finish);
  if (gaps->block[i].n == GAPS_PER_BLOCK) {
    berth_status st;
    if ((st = split_block(pool, gaps, i)) != BERTH_OK) return st;
    i = block_at(gaps, finish);
  }
  berth_i_gap_block *b = &gaps->block[i];
  cut(b, gap_at(b, start), start, finish);
  measure(b);
  return BERTH_OK;
}
