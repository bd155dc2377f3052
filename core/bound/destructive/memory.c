/* What must share a device must fit into it, and all clusters into all devices: pairs that no place
 * holds are apart, clusters that can only be within a set of places fit there together, and bounds
 * of bin packing hold for all of them. O(edges + MOST_SETS ops + MOST_PIECES clusters). */
#include "destructive_internal.h"
#include "base/sort_internal.h"

enum { MOST_SETS = 16, MOST_PIECES = 24 };

/* Clusters that can only be within the set exceed what its places hold together.
 * @param whole all else counts, too */
static bool overflows(const berth_i_destruct *b, const berth_i_destruct_state *s, uint64_t set,
                      bool whole) {
  berth_i_least_bytes sum = { 0, 0, 0 };
  double room = 0;
  for (int32_t x = 0; x < s->g->n; x++) {
    if (s->label[x] == x && !(s->can[x] & ~set)) berth_i_least_add(&sum, s->bytes[x]);
  }
  if (whole) berth_i_least_add(&sum, s->rest);
  for (int32_t j = 0; j < b->sizes; j++) {
    int32_t n = b->size_count[j];
    uint64_t places = b->size_of[j] & set;
    if (b->masks)
      for (n = 0; places; places &= places - 1) n++;
    if (n > 0) room += n * b->size[j];
  }
  return berth_i_exceeds(b->kinds, berth_i_least_need(sum), room);
}

static bool sets_overflow(berth_i_destruct *b, const berth_i_destruct_state *s) {
  int32_t n = 0;
  if (overflows(b, s, ~(uint64_t)0, true)) return true;
  uint64_t set[MOST_SETS];
  int32_t i;
  for (int32_t x = 0; b->masks && x < s->g->n && n < MOST_SETS; x++) {
    if (s->label[x] != x) continue;
    for (i = 0; i < n && set[i] != s->can[x]; i++) continue;
    if (i == n) set[n++] = s->can[x];
  }
  b->work += (int64_t)(n + 2) * s->g->n;
  for (i = 0; n > 1 && i < n; i++) {
    if (overflows(b, s, set[i], false)) return true;
  }
  return false;
}

/* In pieces of that size, each cluster on one device. */
static bool too_many_pieces(const berth_i_destruct *b, const double *x, int32_t n, double piece) {
  double need = 0, held = 0;
  for (int32_t i = 0; i < n && x[i] >= piece; i++) need += floor(x[i] / piece);
  for (int32_t i = 0; i < b->sizes; i++)
    held += b->size_count[i] * floor(b->size[i] * (1 + 1e-12 + b->kinds->slack) / piece);
  return need > held;
}

/* All places alike. Martello and Toth: nothing of `least` or more fits beside more than
 * limit - least. */
static bool too_many_devices(const berth_i_destruct *b, const double *x, int32_t n, double least) {
  double limit = b->size[0] * (1 + 1e-12 + b->kinds->slack), sum = 0;
  for (int32_t i = 0; i < n && x[i] >= least; i++) sum += x[i] > limit - least ? limit : x[i];
  return sum > limit * b->places * (1 + 1e-9);
}

static bool unpackable(berth_i_destruct *b, const berth_i_destruct_state *s) {
  double *x = b->real;
  bool equal = b->sizes == 1 && !isinf(b->size[0]);
  int32_t n = 0, sizes = 0;
  for (int32_t i = 0; i < s->g->n; i++) {
    if (s->label[i] == i && s->bytes[i].held > 0) x[n++] = s->bytes[i].held;
  }
  berth_i_sort_numbers_down(x, n);
  for (int32_t i = 0; i < n && sizes < MOST_PIECES; i++) {
    if (i > 0 && x[i] == x[i - 1]) continue;
    sizes++;
    for (int32_t part = 1; part <= 3; part++) {
      if (too_many_pieces(b, x, n, x[i] / part)) return true;
    }
    if (equal && 2 * x[i] <= b->size[0] && too_many_devices(b, x, n, x[i])) return true;
  }
  b->work += 4 * (int64_t)sizes * n;
  return false;
}

void berth_i_destruct_memory(berth_i_destruct *b, berth_i_destruct_state *s) {
  const berth_i_destruct_dag *g = s->g;
  s->merged = false;
  for (int32_t e = 0; e < g->m && !s->impossible; e++) {
    int32_t x = s->label[g->end[0][e]], y = s->label[g->end[1][e]];
    berth_i_least_bytes both = s->bytes[x];
    if (s->edge[e] != BERTH_I_DESTRUCT_OPEN || x == y) continue;
    berth_i_least_add(&both, s->bytes[y]);
    if (!berth_i_destruct_holding(b, s->can[x] & s->can[y], both))
      berth_i_destruct_decide(b, s, e, BERTH_I_DESTRUCT_APART);
  }
  b->work += 2 * g->m;
  if (!s->impossible) s->impossible = sets_overflow(b, s) || unpackable(b, s);
}
