/* All packings of units in a given order, depth first: one unit a level, devices by id. Invariant:
 * the packing holds the units of the levels above. Cut off: levels whose remaining units exceed the
 * free bytes, empty devices like an earlier empty one, units like the one before on an earlier
 * device.
 * Exponential, up to the given number of steps. */
#include "packing_internal.h"

typedef struct tree {
  berth_i_packing *k;
  const int32_t *order;
  int32_t *next;       /* [n] device to try next, by level */
  int32_t *load;       /* [devices] units on each */
  double *sum, *least; /* [n + 1] permanent bytes of the units from that level on; the least of
                          them */
  int64_t tries;
  uint8_t *pinned; /* [devices] 1: some unit must be there */
  bool first;      /* one packing will do */
} tree;

/* An empty device that is like an earlier empty one. */
static bool is_repetition(const tree *t, int32_t unit, int32_t d) {
  const berth_cost *c = t->k->cost;
  if (!c->uniform || t->load[d] > 0 || t->pinned[d] || t->k->u->pin[unit] != BERTH_NONE)
    return false;
  for (int32_t e = 0; e < d; e++) {
    if (t->load[e] == 0 && !t->pinned[e] && c->class_of[e] == c->class_of[d]
        && t->k->limit[e] == t->k->limit[d])
      return true;
  }
  return false;
}

/* Units that differ in nothing but their number go to devices in that order. */
static bool is_twin(const tree *t, int32_t level) {
  const berth_i_units *u = t->k->u;
  if (!t->first || level == 0 || t->k->copy_share > 0 || !t->k->cost->uniform) return false;
  int32_t a = t->order[level - 1];
  int32_t b = t->order[level];
  for (int32_t c = 0; c < u->n_classes; c++) {
    size_t k = (size_t)u->n_classes;
    if (isinf(u->time[(size_t)a * k + (size_t)c]) != isinf(u->time[(size_t)b * k + (size_t)c]))
      return false;
  }
  return u->permanent[a] == u->permanent[b] && u->temporary[a] == u->temporary[b]
         && u->pin[a] == u->pin[b];
}

/* A device counts with its free bytes if the smallest remaining unit fits; with a margin for
 * rounding. */
static bool can_hold_rest(const tree *t, int32_t level) {
  double room = 0;
  for (int32_t d = 0; d < t->k->cost->n_devices; d++) {
    double left = berth_i_packing_left(t->k, d), error = 2e-12 * t->k->limit[d];
    if (left >= t->least[level] - error) room += fmax(0, left) + error;
  }
  return t->sum[level] <= room;
}

/* The unit of the level goes to the next device that takes it. */
static bool descend(tree *t, int32_t level) {
  int32_t unit = t->order[level];
  if (t->next[level] == 0 && !can_hold_rest(t, level)) return false;
  if (t->next[level] == 0 && is_twin(t, level)) t->next[level] = t->next[level - 1] - 1;
  for (int32_t d = t->next[level]; d < t->k->cost->n_devices && t->tries > 0; d++) {
    if (is_repetition(t, unit, d)) continue;
    t->tries--;
    if (berth_i_packing_try(t->k, unit, d) != 0) continue;
    t->load[d]++;
    t->next[level] = d + 1;
    return true;
  }
  return false;
}

static berth_status search(tree *t, berth_i_accept_fn accept, void *ud, bool *found) {
  const berth_i_units *u = t->k->u;
  t->sum[u->n] = 0;
  t->least[u->n] = INFINITY;
  for (int32_t i = u->n - 1; i >= 0; i--) {
    if (u->pin[i] != BERTH_NONE) t->pinned[u->pin[i]] = 1;
    t->sum[i] = t->sum[i + 1] + u->permanent[t->order[i]];
    t->least[i] = fmin(t->least[i + 1], u->permanent[t->order[i]]);
  }
  *found = false;
  t->next[0] = 0;
  for (int32_t level = 0;;) {
    if (level == u->n) {
      berth_status st = BERTH_OK;
      *found = true;
      if (accept) st = accept(ud, t->k->device, found);
      if (st != BERTH_OK || *found) return st;
    } else if (descend(t, level)) {
      if (++level < u->n) t->next[level] = 0;
      continue;
    }
    if (level-- == 0 || t->tries <= 0) return BERTH_OK;
    t->load[t->k->packed[t->k->n_packed - 1].device]--;
    berth_i_packing_pop(t->k);
  }
}

berth_status berth_i_packing_search(berth_i_packing *k, const int32_t *order, int64_t *tries,
                                    berth_i_accept_fn accept, void *ud, bool *found) {
  size_t n = (size_t)k->u->n + 1, devices = (size_t)k->cost->n_devices;
  berth_i_pool scratch = berth_i_pool_empty(k->cost->ctx);
  tree t = { .k = k, .order = order, .tries = *tries, .first = accept == NULL };
  t.next = berth_i_pool_alloc(&scratch, n, sizeof *t.next);
  t.load = berth_i_pool_zalloc(&scratch, devices, sizeof *t.load);
  t.sum = berth_i_pool_alloc(&scratch, n, sizeof *t.sum);
  t.least = berth_i_pool_alloc(&scratch, n, sizeof *t.least);
  t.pinned = berth_i_pool_zalloc(&scratch, devices, 1);
  berth_i_packing_clear(k);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) st = search(&t, accept, ud, found);
  *tries = t.tries;
  berth_i_pool_free(&scratch);
  return st;
}
