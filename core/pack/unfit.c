/* Proofs that no placement can fit, from the least bytes of units (berth_i_least): one unit alone,
 * sums over sets of device kinds, the pigeonhole principle, bounds of bin packing (bounds.c).
 * Invariant: permanent bytes add up, and so do parameters and the largest temporary bytes of one
 * op.
 * Workspaces and outputs do not add up: one may be freed before the other is made.
 * O(units x kinds + 2^kinds x kinds), up to MOST_KINDS kinds; else without the subsets. */
#include "pack_internal.h"
#include "base/sort_internal.h"
#include <stdio.h>

enum { MOST_KINDS = 12 }; /* all subsets of kinds are tested up to here */

static bool fits_kind(const berth_i_kinds *k, int32_t unit, int32_t kind) {
  return !isinf(k->time[(size_t)unit * (size_t)k->n + (size_t)kind]);
}

/* ---- one unit ---- */

static int32_t largest(const berth_i_units *u, int32_t unit) {
  return berth_i_unit_largest(u, unit, u->memory, u->param_multiple);
}

static berth_status prove_unit(const berth_i_units *u, const berth_i_kinds *k, int32_t unit,
                               const char *placer, berth_obstacle *why) {
  double need = k->least.need[unit], least = INFINITY;
  int32_t closest = BERTH_NONE;
  for (int32_t j = 0; j < k->n; j++) {
    if (fits_kind(k, unit, j)) return BERTH_OK;
    if (!berth_i_unit_can_run(u, unit, k->sample[j]) || !(need - k->limit[j] < least)) continue;
    least = need - k->limit[j];
    closest = k->sample[j];
  }
  return berth_i_cannot_fit(u->cost, placer, largest(u, unit), closest, least, why);
}

/* ---- sums over devices ---- */

/* @param device the only one that can take it; BERTH_NONE: `devices` share it */
static berth_status say_sum(const berth_i_units *u, const char *placer, double need, double room,
                            int32_t device, int32_t devices, berth_obstacle *why) {
  bool all = devices == u->cost->n_devices;
  berth_i_cannot_fit(u->cost, placer, BERTH_NONE, device, need - room, why);
  char where[160];
  if (device != BERTH_NONE) berth_i_device_label(u->cost->t, device, where, sizeof where);
  else
    snprintf(where, sizeof where, all ? "all %d devices" : "the %d devices that can take it",
             (int)devices);
  char bytes[32], has[32], lacks[32];
  return berth_i_fail(u->cost->ctx, BERTH_EINFEASIBLE,
                      "%s: cannot fit: %s must be held by %s, with room for %s: %s are missing",
                      placer, berth_quantity_format(need, BERTH_BYTES, bytes, sizeof bytes), where,
                      berth_quantity_format(room, BERTH_BYTES, has, sizeof has),
                      berth_quantity_format(need - room, BERTH_BYTES, lacks, sizeof lacks));
}

/* Units that fit only within a set of kinds must share the room of the set: for all sets, by sums
 * over subsets.  @param sums [2^kinds] zeros */
static berth_status prove_sets(const berth_i_units *u, const berth_i_kinds *k, const char *placer,
                               berth_i_least_bytes *sums, berth_obstacle *why) {
  uint32_t all = 1u << k->n;
  for (int32_t i = 0; i < u->n; i++) {
    uint32_t set = 0;
    for (int32_t j = 0; j < k->n; j++) set |= (uint32_t)fits_kind(k, i, j) << j;
    berth_i_least_add(&sums[set], berth_i_least_unit(&k->least, i));
  }
  for (int32_t j = 0; j < k->n; j++) {
    for (uint32_t set = 0; set < all; set++) {
      if (set >> j & 1) berth_i_least_add(&sums[set], sums[set ^ 1u << j]);
    }
  }
  for (uint32_t set = 1; set < all; set++) {
    double need = berth_i_least_need(sums[set]), room = 0;
    int32_t devices = 0, sample = BERTH_NONE;
    for (int32_t j = 0; j < k->n; j++) {
      if (!(set >> j & 1)) continue;
      room += k->limit[j] * k->size[j];
      devices += k->size[j];
      if (sample == BERTH_NONE) sample = k->sample[j];
    }
    if (berth_i_exceeds(k, need, room))
      return say_sum(u, placer, need, room, devices == 1 ? sample : BERTH_NONE, devices, why);
  }
  return BERTH_OK;
}

/* Many kinds: the whole, and what must be on one of them. */
static berth_status prove_few_sets(const berth_i_units *u, const berth_i_kinds *k,
                                   const char *placer, berth_obstacle *why) {
  berth_i_least_bytes all = { 0, 0, 0 };
  double room = 0;
  for (int32_t j = 0; j < k->n; j++) room += k->limit[j] * k->size[j];
  for (int32_t i = 0; i < u->n; i++) berth_i_least_add(&all, berth_i_least_unit(&k->least, i));
  if (berth_i_exceeds(k, berth_i_least_need(all), room))
    return say_sum(u, placer, berth_i_least_need(all), room, BERTH_NONE, k->devices, why);
  for (int32_t j = 0; j < k->n; j++) {
    berth_i_least_bytes own = { 0, 0, 0 };
    for (int32_t i = 0; i < u->n; i++) {
      if (u->pin[i] != BERTH_NONE && k->of[u->pin[i]] == j)
        berth_i_least_add(&own, berth_i_least_unit(&k->least, i));
    }
    if (!berth_i_exceeds(k, berth_i_least_need(own), k->limit[j])) continue;
    return say_sum(u, placer, berth_i_least_need(own), k->limit[j], k->sample[j], 1, why);
  }
  return BERTH_OK;
}

static berth_status prove_sums(const berth_i_units *u, const berth_i_kinds *k, const char *placer,
                               berth_obstacle *why) {
  berth_ctx *ctx = u->cost->ctx;
  size_t all = (size_t)1 << (k->n <= MOST_KINDS ? k->n : 0);
  if (k->n > MOST_KINDS) return prove_few_sets(u, k, placer, why);
  berth_i_least_bytes *sums;
  if (!(sums = berth_i_zalloc(ctx, all, sizeof *sums))) return berth_i_nomem(ctx);
  berth_status st = prove_sets(u, k, placer, sums, why);
  berth_i_free(ctx, sums, all, sizeof *sums);
  return st;
}

/* ---- pigeonhole ---- */

static berth_status say_piece(const berth_i_units *u, const berth_i_kinds *k, const char *placer,
                              int32_t op, double size, int32_t count, double fit,
                              berth_obstacle *why) {
  int32_t best = 0;
  double least = INFINITY;
  for (int32_t j = 0; j < k->n; j++) { /* bytes up to one piece more */
    double more = (berth_i_pieces_on(k, j, size) + 1) * size - k->limit[j];
    if (more < least) least = more, best = j;
  }
  berth_i_cannot_fit(u->cost, placer, op, k->sample[best], least, why);
  char each[32], lacks[32], label[160], where[160];
  return berth_i_fail(u->cost->ctx, BERTH_EINFEASIBLE,
                      "%s: cannot fit: %d ops or groups need at least %s each, and all devices "
                      "hold %d such: %s does not fit, %s comes closest, %s are missing",
                      placer, (int)count,
                      berth_quantity_format(size, BERTH_BYTES, each, sizeof each), (int)fit,
                      berth_i_op_label(u->cost->g, op, label, sizeof label),
                      berth_i_device_label(u->cost->t, k->sample[best], where, sizeof where),
                      berth_quantity_format(least, BERTH_BYTES, lacks, sizeof lacks));
}

/* i + 1 units are at least as large as the i-th: no device takes more of them than limit / size. */
static berth_status prove_pieces(const berth_i_units *u, const berth_i_kinds *k, const char *placer,
                                 berth_obstacle *why) {
  size_t n = (size_t)u->n;
  berth_status st = BERTH_OK;
  berth_i_keyed *order = berth_i_alloc(u->cost->ctx, n, sizeof *order);
  if (!order) return berth_i_nomem(u->cost->ctx);
  for (int32_t i = 0; i < u->n; i++) {
    order[i].key = k->least.held[i];
    order[i].id = i;
  }
  berth_i_sort_keyed_down(order, (int32_t)n);
  for (int32_t i = 0; i < u->n && order[i].key > 0 && st == BERTH_OK; i++) {
    double fit = 0; /* pieces of that size on all devices; counted only up to n */
    for (int32_t j = 0; j < k->n && fit < u->n; j++)
      fit += k->size[j] * fmin(u->n, berth_i_pieces_on(k, j, order[i].key));
    if (fit < i + 1)
      st = say_piece(u, k, placer, largest(u, order[i].id), order[i].key, i + 1, fit, why);
  }
  berth_i_free(u->cost->ctx, order, n, sizeof *order);
  return st;
}

berth_status berth_i_prove_unfit(const berth_i_units *u, const berth_i_kinds *k, const char *placer,
                                 berth_obstacle *why) {
  berth_status st = BERTH_OK;
  for (int32_t i = 0; i < u->n && st == BERTH_OK; i++) st = prove_unit(u, k, i, placer, why);
  if (st == BERTH_OK) st = prove_sums(u, k, placer, why);
  if (st == BERTH_OK) st = prove_pieces(u, k, placer, why);
  if (st == BERTH_OK) st = berth_i_prove_bins(u, k, placer, why);
  return st;
}

/* The last failure to prove is kept: several placers, and one of them at several steps, need it. */
berth_status berth_i_prove_infeasible(berth_cost *cost, const char *placer,
                                      berth_memory_policy memory, double param_multiple,
                                      berth_obstacle *why) {
  if (cost->unproved && cost->unproved_memory == (int)memory
      && cost->unproved_multiple == param_multiple)
    return BERTH_OK;
  berth_i_units u;
  berth_i_kinds k;
  berth_status st = berth_i_units_init(cost, placer, memory, param_multiple, &u, why);
  if (st != BERTH_OK) return st;
  if ((st = berth_i_kinds_init(&u, memory, &k)) == BERTH_OK) {
    st = berth_i_prove_unfit(&u, &k, placer, why);
    if (st == BERTH_OK) st = berth_i_prove_all_cases(&u, &k, placer, why);
    berth_i_kinds_release(&k);
  }
  berth_i_units_release(&u);
  if (st != BERTH_OK) return st;
  cost->unproved = true;
  cost->unproved_memory = (int)memory;
  cost->unproved_multiple = param_multiple;
  return BERTH_OK;
}
