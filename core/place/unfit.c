/* Proofs that no placement can fit. Permanent bytes add up on a device, whatever the order, and the largest temporary ones of the
 * units there come on top. */
#include "prices_internal.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_KINDS = 12 }; /* all subsets of kinds are tested up to here */

static bool fits_kind(const berth_i_kinds *k, int32_t unit, int32_t kind) {
  return !isinf(k->time[(size_t)unit * (size_t)k->n + (size_t)kind]);
}

/* ---- one unit ---------------------------------------------------------------------------- */

static berth_status prove_unit(const berth_i_units *u, const berth_i_kinds *k, int32_t unit, const char *placer,
                               berth_memory_policy memory, double param_multiple, berth_obstacle *why) {
  double need = u->permanent[unit] + u->temporary[unit], least = INFINITY;
  int32_t j, closest = BERTH_NONE;
  for (j = 0; j < k->n; j++) {
    if (fits_kind(k, unit, j)) return BERTH_OK;
    if (!berth_i_unit_can_run(u, unit, k->sample[j]) || !(need - k->limit[j] < least)) continue;
    least = need - k->limit[j];
    closest = k->sample[j];
  }
  return berth_i_infeasible(u->cost, placer, berth_i_unit_largest(u, unit, memory, param_multiple), closest, least, why);
}

/* ---- sums over devices --------------------------------------------------------------------- */

typedef struct sums {
  double *bytes, *temporary; /* [1 << bits] of units that fit only within the set of kinds */
  int32_t bits;
} sums;

static uint32_t kinds_of(const berth_i_kinds *k, int32_t unit) {
  uint32_t set = 0;
  int32_t j;
  for (j = 0; j < k->n; j++) set |= (uint32_t)fits_kind(k, unit, j) << j;
  return set;
}

/* After it, bytes[S] is the sum over all subsets of S, temporary[S] the largest. */
static void gather_subsets(sums *s) {
  uint32_t set, all = 1u << s->bits;
  int32_t j;
  for (j = 0; j < s->bits; j++) {
    for (set = 0; set < all; set++) {
      if (!(set >> j & 1)) continue;
      s->bytes[set] += s->bytes[set ^ 1u << j];
      s->temporary[set] = fmax(s->temporary[set], s->temporary[set ^ 1u << j]);
    }
  }
}

static double room_of(const berth_i_kinds *k, uint32_t set) {
  double room = 0;
  int32_t j;
  for (j = 0; j < k->n; j++) {
    if (set >> j & 1) room += k->limit[j] * k->size[j];
  }
  return room;
}

/* @param device the only one that can take it; BERTH_NONE: `devices` share it */
static berth_status say_sum(const berth_i_units *u, const char *placer, double need, double room, int32_t device,
                            int32_t devices, berth_obstacle *why) {
  char bytes[32], has[32], lacks[32], where[160];
  bool all = devices == u->cost->n_devices;
  berth_i_infeasible(u->cost, placer, BERTH_NONE, device, need - room, why);
  if (device != BERTH_NONE) berth_i_device_label(u->cost->t, device, where, sizeof where);
  else snprintf(where, sizeof where, all ? "all %d devices" : "the %d devices that can take it", (int)devices);
  return berth_i_fail(u->cost->ctx, BERTH_EINFEASIBLE, "%s: %s must be held by %s, with room for %s: %s are missing", placer,
                      berth_quantity_format(need, BERTH_BYTES, bytes, sizeof bytes), where,
                      berth_quantity_format(room, BERTH_BYTES, has, sizeof has),
                      berth_quantity_format(need - room, BERTH_BYTES, lacks, sizeof lacks));
}

static int32_t devices_in(const berth_i_kinds *k, uint32_t set) {
  int32_t j, n = 0;
  for (j = 0; j < k->n; j++) n += set >> j & 1 ? k->size[j] : 0;
  return n;
}

/* One of the devices of the kinds in the set. */
static int32_t sample_of(const berth_i_kinds *k, uint32_t set) {
  int32_t j = 0;
  while (!(set >> j & 1)) j++;
  return k->sample[j];
}

/* Units that fit only within S must share the room of S, where the largest temporary one comes on top of its device's sum. */
static berth_status prove_sets(const berth_i_units *u, const berth_i_kinds *k, const char *placer, sums *s, berth_obstacle *why) {
  uint32_t set;
  int32_t i;
  for (i = 0; i < u->n; i++) {
    set = kinds_of(k, i);
    s->bytes[set] += u->permanent[i];
    s->temporary[set] = fmax(s->temporary[set], u->temporary[i]);
  }
  gather_subsets(s);
  for (set = 1; set < 1u << s->bits; set++) {
    double need = s->bytes[set] + s->temporary[set], room = room_of(k, set);
    int32_t devices = devices_in(k, set);
    if (!berth_i_exceeds(need, room)) continue;
    return say_sum(u, placer, need, room, devices == 1 ? sample_of(k, set) : BERTH_NONE, devices, why);
  }
  return BERTH_OK;
}

/* Many kinds: what must be on one of them, and the whole. */
static berth_status prove_few_sets(const berth_i_units *u, const berth_i_kinds *k, const char *placer, berth_obstacle *why) {
  double all = 0, most = 0, room = 0;
  int32_t i, j;
  for (j = 0; j < k->n; j++) room += k->limit[j] * k->size[j];
  for (i = 0; i < u->n; i++) {
    all += u->permanent[i];
    most = fmax(most, u->temporary[i]);
  }
  if (berth_i_exceeds(all + most, room)) return say_sum(u, placer, all + most, room, BERTH_NONE, k->devices, why);
  for (j = 0; j < k->n; j++) {
    double bytes = 0, temporary = 0;
    for (i = 0; i < u->n; i++) {
      if (u->pin[i] == BERTH_NONE || k->of[u->pin[i]] != j) continue;
      bytes += u->permanent[i];
      temporary = fmax(temporary, u->temporary[i]);
    }
    if (!berth_i_exceeds(bytes + temporary, k->limit[j])) continue;
    return say_sum(u, placer, bytes + temporary, k->limit[j], k->sample[j], 1, why);
  }
  return BERTH_OK;
}

static berth_status prove_sums(const berth_i_units *u, const berth_i_kinds *k, const char *placer, berth_obstacle *why) {
  berth_ctx *ctx = u->cost->ctx;
  sums s = { NULL, NULL, k->n };
  size_t all = (size_t)1 << (k->n <= MOST_KINDS ? k->n : 0);
  berth_status st;
  if (k->n > MOST_KINDS) return prove_few_sets(u, k, placer, why);
  s.bytes = berth_i_zalloc(ctx, all, sizeof *s.bytes);
  s.temporary = berth_i_zalloc(ctx, all, sizeof *s.temporary);
  st = s.bytes && s.temporary ? prove_sets(u, k, placer, &s, why) : berth_i_nomem(ctx);
  berth_i_free(ctx, s.bytes, all, sizeof *s.bytes);
  berth_i_free(ctx, s.temporary, all, sizeof *s.temporary);
  return st;
}

/* ---- pigeonhole -------------------------------------------------------------------------- */

typedef struct sized {
  double bytes;
  int32_t unit;
} sized;

static int by_bytes(const void *pa, const void *pb) {
  const sized *a = pa, *b = pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a->unit < b->unit ? -1 : a->unit > b->unit;
}

/* How many pieces of that size all devices hold; counted only up to n. */
static double pieces(const berth_i_kinds *k, double size, int32_t n) {
  double sum = 0;
  int32_t j;
  for (j = 0; j < k->n && sum < n; j++) sum += k->size[j] * fmin(n, floor((k->limit[j] + 1e-9 * k->limit[j]) / size));
  return sum;
}

static berth_status say_piece(const berth_i_units *u, const berth_i_kinds *k, const char *placer, int32_t op, double size,
                              int32_t count, double fit, berth_obstacle *why) {
  char each[32], lacks[32], label[160], where[160];
  int32_t j, best = 0;
  double least = INFINITY;
  for (j = 0; j < k->n; j++) { /* bytes up to one piece more */
    double more = (floor(k->limit[j] / size) + 1) * size - k->limit[j];
    if (more < least) least = more, best = j;
  }
  berth_i_infeasible(u->cost, placer, op, k->sample[best], least, why);
  return berth_i_fail(u->cost->ctx, BERTH_EINFEASIBLE,
                      "%s: %d ops or groups need at least %s each, and all devices hold %d such: %s does not fit, %s comes "
                      "closest, %s are missing", placer, (int)count, berth_quantity_format(size, BERTH_BYTES, each, sizeof each), (int)fit,
                      berth_i_op_label(u->cost->g, op, label, sizeof label),
                      berth_i_device_label(u->cost->t, k->sample[best], where, sizeof where),
                      berth_quantity_format(least, BERTH_BYTES, lacks, sizeof lacks));
}

/* i + 1 units are at least as large as the i-th: no device takes more of them than limit / size. */
static berth_status prove_pieces(const berth_i_units *u, const berth_i_kinds *k, const char *placer, berth_memory_policy memory,
                                 double param_multiple, berth_obstacle *why) {
  size_t n = (size_t)u->n;
  berth_status st = BERTH_OK;
  int32_t i;
  sized *order = berth_i_alloc(u->cost->ctx, n, sizeof *order);
  if (!order) return berth_i_nomem(u->cost->ctx);
  for (i = 0; i < u->n; i++) {
    order[i].bytes = u->permanent[i];
    order[i].unit = i;
  }
  if (n > 0) qsort(order, n, sizeof *order, by_bytes);
  for (i = 0; i < u->n && order[i].bytes > 0 && st == BERTH_OK; i++) {
    double fit = pieces(k, order[i].bytes, u->n);
    int32_t op = berth_i_unit_largest(u, order[i].unit, memory, param_multiple);
    if (fit < i + 1) st = say_piece(u, k, placer, op, order[i].bytes, i + 1, fit, why);
  }
  berth_i_free(u->cost->ctx, order, n, sizeof *order);
  return st;
}

berth_status berth_i_prove_unfit(const berth_i_units *u, const berth_i_kinds *k, const char *placer, berth_memory_policy memory,
                                 double param_multiple, berth_obstacle *why) {
  berth_status st = BERTH_OK;
  int32_t i;
  for (i = 0; i < u->n && st == BERTH_OK; i++) st = prove_unit(u, k, i, placer, memory, param_multiple, why);
  if (st == BERTH_OK) st = prove_sums(u, k, placer, why);
  if (st == BERTH_OK) st = prove_pieces(u, k, placer, memory, param_multiple, why);
  return st;
}

berth_status berth_i_prove_infeasible(berth_cost *cost, const char *placer, berth_memory_policy memory, double param_multiple,
                                      berth_obstacle *why) {
  berth_i_units u;
  berth_i_kinds k;
  berth_status st = berth_i_units_init(cost, placer, memory, param_multiple, &u, why);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_kinds_init(&u, memory, &k)) == BERTH_OK) {
    st = berth_i_prove_unfit(&u, &k, placer, memory, param_multiple, why);
    berth_i_kinds_release(cost->ctx, &k);
  }
  berth_i_units_release(&u);
  return st;
}
