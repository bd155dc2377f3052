/* Placements that run out of memory when simulated, mended: what a run holds at its peaks is packed
 * anew, and run again; then local search on the bytes over the limits by runs alone; then, as far
 * as the budget goes, all packings. */
#include "pack_internal.h"
#include <stdlib.h>

enum {
  MOST_RUNS = 2000,
  LEAST_RUNS = 8,
  MOST_CULPRITS = 24,
  MOST_REPACKS = 24,
  MOST_CUTS = 12,
  FEW_UNITS = 64
};
static const double OPS_AND_EDGES = 4e6; /* simulated in all */

typedef struct culprit {
  double bytes;
  int32_t unit;
} culprit;

typedef struct repair {
  const berth_i_units *u;
  berth_sim_options sim;
  int32_t *device;                /* [ops] */
  double *left;                   /* [devices] limit less peak of the latest run; negative: over */
  double over;                    /* bytes, all devices; INFINITY: unreachable */
  culprit culprits[MOST_CULPRITS]; /* units on the device that is most over, that hold most there */
  int32_t n_culprits, worst;
  int32_t runs;                   /* that the budget still allows */
} repair;

static int32_t budget(const berth_i_units *u) {
  double runs = OPS_AND_EDGES / (1.0 + u->n_ops + u->cost->g->n_edges);
  return (int32_t)fmin(MOST_RUNS, fmax(LEAST_RUNS, runs));
}

/* ---- one run ---- */

static void measure(repair *r, const berth_result *run) {
  r->over = 0;
  r->worst = BERTH_NONE;
  for (int32_t d = 0; d < r->u->cost->n_devices; d++) {
    double over = berth_i_excess(berth_result_peak(run)[d], r->u->cost->t->devices[d].memory);
    r->left[d] = -over;
    if (over <= 0) continue;
    r->over += over;
    if (r->worst == BERTH_NONE || r->left[d] < r->left[r->worst]) r->worst = d;
  }
}

static void add_culprit(repair *r, int32_t unit, double bytes) {
  int32_t i;
  for (i = 0; i < r->n_culprits && r->culprits[i].unit != unit; i++) continue;
  if (i == r->n_culprits) {
    if (i == MOST_CULPRITS) {
      if (r->culprits[--i].bytes >= bytes) return;
    } else {
      r->n_culprits++;
    }
    r->culprits[i].unit = unit;
    r->culprits[i].bytes = 0;
  }
  for (bytes += r->culprits[i].bytes; i > 0 && r->culprits[i - 1].bytes < bytes; i--)
    r->culprits[i] = r->culprits[i - 1];
  r->culprits[i].unit = unit;
  r->culprits[i].bytes = bytes;
}

static void find_culprits(repair *r, const berth_result *run) {
  const int32_t *ops;
  const double *bytes;
  int32_t n = berth_result_peak_ops(run, r->worst, &ops, &bytes);
  r->n_culprits = 0;
  for (int32_t i = 0; i < n; i++) {
    if (r->device[ops[i]] == r->worst) add_culprit(r, r->u->of[ops[i]], bytes[i]);
  }
}

/* @param blame finds the culprits, too */
static berth_status try_run(repair *r, bool blame) {
  berth_result *run = NULL;
  berth_status st = berth_simulate(r->u->cost, r->device, &r->sim, &run);
  r->runs--;
  r->over = INFINITY;
  if (st == BERTH_EUNREACHABLE) return BERTH_OK;
  if (st != BERTH_OK) return st;
  measure(r, run);
  if (blame && r->worst != BERTH_NONE) find_culprits(r, run);
  berth_result_release(run);
  return BERTH_OK;
}

/* ---- moves ---- */

static void set_unit(repair *r, int32_t unit, int32_t device) {
  for (int32_t i = r->u->at[unit]; i < r->u->at[unit + 1]; i++) r->device[r->u->ops[i]] = device;
}

/* Of the devices that are not tried yet, the one with most room. @param room [devices] -INFINITY:
 * tried */
static int32_t roomiest(const repair *r, const double *room) {
  int32_t best = BERTH_NONE;
  for (int32_t d = 0; d < r->u->cost->n_devices; d++) {
    if (room[d] > -INFINITY && (best == BERTH_NONE || room[d] > room[best])) best = d;
  }
  return best;
}

/* Moves a unit where that leaves fewer bytes over.  @param room [devices] scratch */
static berth_status move_unit(repair *r, int32_t unit, const double *left, double *room,
                              bool *moved) {
  int32_t from = r->device[r->u->ops[r->u->at[unit]]];
  double before = r->over;
  berth_status st = BERTH_OK;
  memcpy(room, left, (size_t)r->u->cost->n_devices * sizeof *room);
  room[from] = -INFINITY;
  int32_t d;
  while (r->runs > 0 && (d = roomiest(r, room)) != BERTH_NONE) {
    room[d] = -INFINITY;
    if (!berth_i_unit_can_run(r->u, unit, d)) continue;
    set_unit(r, unit, d);
    if ((st = try_run(r, false)) != BERTH_OK) return st;
    *moved = r->over < before;
    if (*moved) return BERTH_OK;
  }
  set_unit(r, unit, from);
  r->over = before;
  return BERTH_OK;
}

/* @param left, room [devices] scratch */
static berth_status climb(repair *r, double *left, double *room) {
  bool moved = true;
  berth_status st = BERTH_OK;
  while (moved && r->runs > 0) {
    moved = false;
    if ((st = try_run(r, true)) != BERTH_OK) return st;
    if (r->over == 0 || isinf(r->over)) return BERTH_OK;
    memcpy(left, r->left, (size_t)r->u->cost->n_devices * sizeof *left);
    for (int32_t i = 0; i < r->n_culprits && !moved; i++) {
      if ((st = move_unit(r, r->culprits[i].unit, left, room, &moved)) != BERTH_OK) return st;
    }
  }
  return st;
}

/* ---- packing peaks anew ---- */

typedef struct repack {
  double *size, *none;        /* [units] bytes at the peak of its device; zeros */
  double *over;               /* [devices] bytes that a run took beyond the packing */
  int32_t *at, *best;         /* [units], [ops] */
  double least;               /* bytes over at best */
} repack;

static void set_devices(repair *r, const int32_t *at) {
  for (int32_t i = 0; i < r->u->n_ops; i++) r->device[i] = at[r->u->of[i]];
}

/* What ops on other devices left there is base: it stays, whatever moves. */
static void weigh(const repair *r, const berth_result *run, repack *w, berth_i_assignment *s) {
  memset(w->size, 0, (size_t)r->u->n * sizeof *w->size);
  for (int32_t d = 0; d < s->devices; d++) {
    const int32_t *ops;
    const double *bytes;
    int32_t n = berth_result_peak_ops(run, d, &ops, &bytes);
    s->base[d] = berth_result_peak(run)[d];
    for (int32_t i = 0; i < n; i++) {
      if (r->device[ops[i]] != d) continue;
      w->size[r->u->of[ops[i]]] += bytes[i];
      s->base[d] -= bytes[i];
    }
  }
  for (int32_t i = 0; i < r->u->n; i++) w->size[i] = fmax(w->size[i], r->u->permanent[i]);
}

/* Packed for less where the last packing was promised too much. */
static berth_status pack_peaks(repair *r, repack *w, berth_i_assignment *s) {
  bool fits = false;
  for (int32_t i = 0; i < r->u->n; i++) w->at[i] = r->device[r->u->ops[r->u->at[i]]];
  for (int32_t d = 0; d < s->devices; d++)
    s->limit[d] = r->u->cost->t->devices[d].memory - w->over[d];
  berth_i_assignment_load(s, w->at);
  berth_status st;
  if ((st = berth_i_assignment_unload(s)) != BERTH_OK) return st;
  if ((st = berth_i_assignment_local_search(s, 2e3 * s->n + 2e4, &fits)) != BERTH_OK) return st;
  set_devices(r, s->at);
  return BERTH_OK;
}

/* Tensors that cross are held twice: units go to their neighbours first, wherever it is cheaper,
 * and limits are looked at later. */
static berth_status gather(repair *r, berth_i_assignment *s) {
  uint8_t *near = berth_i_alloc(s->ctx, (size_t)s->n, 1);
  if (!near) return berth_i_nomem(s->ctx);
  if (s->n > 0) memset(near, 1, (size_t)s->n);
  for (int32_t d = 0; d < s->devices; d++)
    s->limit[d] = 1.02 * fmax(s->held[d], r->u->cost->t->devices[d].memory);
  berth_status st = berth_i_assignment_refine(s, near);
  berth_i_free(s->ctx, near, (size_t)s->n, 1);
  if (st == BERTH_OK) set_devices(r, s->at);
  return st;
}

static berth_status run_peaks(repair *r, repack *w, berth_i_assignment *s) {
  berth_result *run = NULL;
  berth_status st = berth_simulate(r->u->cost, r->device, &r->sim, &run);
  r->runs--;
  r->over = INFINITY;
  if (st == BERTH_EUNREACHABLE) return BERTH_OK;
  if (st != BERTH_OK) return st;
  measure(r, run);
  for (int32_t d = 0; d < s->devices; d++) {
    if (r->left[d] < 0) w->over[d] -= r->left[d] / 2;
  }
  if (r->over > 0) weigh(r, run, w, s);
  berth_result_release(run);
  return BERTH_OK;
}

static bool keep_best(repair *r, repack *w) {
  if (!(r->over < w->least)) return false;
  w->least = r->over;
  if (r->u->n_ops > 0) memcpy(w->best, r->device, (size_t)r->u->n_ops * sizeof *w->best);
  return true;
}

static void restore_best(repair *r, const repack *w) {
  r->over = w->least;
  if (r->u->n_ops > 0) memcpy(r->device, w->best, (size_t)r->u->n_ops * sizeof *w->best);
}

static berth_status repack_peaks(repair *r, repack *w) {
  int32_t rounds = r->runs < MOST_REPACKS ? r->runs / 2 : MOST_REPACKS, idle = 0;
  const berth_topology *t = r->u->cost->t;
  bool gathered = false;
  for (int32_t i = 0; i < r->u->cost->n_devices; i++) w->over[i] = t->devices[i].memory;
  berth_i_assignment s;
  berth_status st;
  if ((st = berth_i_assignment_init(r->u, w->over, w->size, w->none, 0, &s)) != BERTH_OK) return st;
  memset(w->over, 0, (size_t)s.devices * sizeof *w->over);
  w->least = INFINITY;
  for (int32_t i = 0; i < rounds && idle < 8 && st == BERTH_OK; i++, idle++) {
    if ((st = run_peaks(r, w, &s)) != BERTH_OK || isinf(r->over)) break;
    if (keep_best(r, w)) idle = 0;
    if (r->over == 0) break;
    st = pack_peaks(r, w, &s);
    if (st == BERTH_OK && idle == 2 && !gathered) {
      gathered = true;
      st = gather(r, &s);
      memset(w->over, 0, (size_t)s.devices * sizeof *w->over);
    }
  }
  berth_i_pool_free(&s.pool);
  if (st == BERTH_OK && !isinf(w->least)) restore_best(r, w);
  return st;
}

/* @param part [devices] less where a run took more of the limit than elsewhere */
static void adjust_parts(const repair *r, double *part) {
  const berth_device *device = r->u->cost->t->devices;
  for (int32_t d = 0; d < r->u->cost->n_devices; d++) {
    double peak = device[d].memory - r->left[d];
    if (!isinf(device[d].memory) && peak > 0)
      part[d] *= fmin(2, fmax(0.5, device[d].memory / peak));
  }
}

static berth_status try_slices(repair *r, repack *w, const double *part) {
  berth_status st = berth_i_pack_slices(r->u, part, w->at);
  if (st != BERTH_OK) return st;
  set_devices(r, w->at);
  return try_run(r, false);
}

/* Slices whose cuts are shifted until all devices are equally full, or memory holds; those that
 * come closest stand.
 * @param part [devices] scratch */
static berth_status cut_slices(repair *r, repack *w, double *part) {
  const berth_i_units *u = r->u;
  berth_status st = BERTH_OK;
  double all = 0;
  int32_t cuts = r->runs / 2 < MOST_CUTS ? r->runs / 2 : MOST_CUTS;
  for (int32_t i = 0; i < u->n; i++) all += u->permanent[i];
  for (int32_t i = 0; i < u->cost->n_devices; i++)
    part[i] = fmin(u->cost->t->devices[i].memory, 1 + 2 * all);
  w->least = INFINITY;
  for (int32_t i = 0; i < cuts && w->least > 0; i++) {
    if ((st = try_slices(r, w, part)) != BERTH_OK || isinf(r->over)) return st;
    keep_best(r, w);
    adjust_parts(r, part);
  }
  if (!isinf(w->least)) restore_best(r, w);
  return st;
}

/* Once more from slices, unless that ends with more over. */
static berth_status repack_slices(repair *r, repack *w) {
  berth_i_pool scratch = berth_i_pool_empty(r->u->cost->ctx);
  size_t ops = (size_t)r->u->n_ops, devices = (size_t)r->u->cost->n_devices;
  int32_t *before = berth_i_pool_alloc(&scratch, ops, sizeof *before);
  double least = r->over, *part = berth_i_pool_alloc(&scratch, devices, sizeof *part);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) {
    memcpy(before, r->device, ops * sizeof *before);
    r->runs = budget(r->u);
    st = cut_slices(r, w, part);
    if (st == BERTH_OK && r->over > 0) st = repack_peaks(r, w);
    if (st == BERTH_OK && !(r->over < least)) {
      memcpy(r->device, before, ops * sizeof *before);
      r->over = least;
    }
  }
  berth_i_pool_free(&scratch);
  return st;
}

static berth_status repack_all(repair *r) {
  berth_i_pool scratch = berth_i_pool_empty(r->u->cost->ctx);
  size_t n = (size_t)r->u->n, ops = (size_t)r->u->n_ops, devices = (size_t)r->u->cost->n_devices;
  repack w = { 0 };
  w.size = berth_i_pool_zalloc(&scratch, n, sizeof *w.size);
  w.none = berth_i_pool_zalloc(&scratch, n, sizeof *w.none);
  w.over = berth_i_pool_zalloc(&scratch, devices, sizeof *w.over);
  w.at = berth_i_pool_alloc(&scratch, n, sizeof *w.at);
  w.best = berth_i_pool_alloc(&scratch, ops, sizeof *w.best);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) == BERTH_OK) st = repack_peaks(r, &w);
  if (st == BERTH_OK && r->over > 0 && r->u->n > FEW_UNITS) st = repack_slices(r, &w);
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- all packings ---- */

static berth_status accept(void *ud, const int32_t *device, bool *yes) {
  repair *r = ud;
  *yes = false;
  if (r->runs <= 0) return BERTH_OK;
  memcpy(r->device, device, (size_t)r->u->n_ops * sizeof *device);
  berth_status st;
  if ((st = try_run(r, false)) == BERTH_OK) *yes = r->over == 0;
  return st;
}

static berth_status try_all(repair *r, bool *found) {
  berth_i_pool scratch = berth_i_pool_empty(r->u->cost->ctx);
  size_t ops = (size_t)r->u->n_ops, n = (size_t)r->u->n;
  int32_t *device = berth_i_pool_alloc(&scratch, ops, sizeof *device),
          *order = berth_i_pool_alloc(&scratch, n, sizeof *order);
  int64_t tries;
  berth_i_packing k;
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK && (st = berth_i_packing_init(r->u, r->sim.memory, device, &k)) == BERTH_OK) {
    for (int32_t i = 0; i < r->u->n; i++) order[i] = i;
    r->runs = budget(r->u);
    tries = 20 * (int64_t)r->runs;
    st = berth_i_packing_search(&k, order, &tries, accept, r, found);
    berth_i_pool_free(&k.pool);
  }
  berth_i_pool_free(&scratch);
  return st;
}

/* ---- both ---- */

berth_status berth_i_repair(const berth_i_units *u, const berth_place_options *opts,
                            int32_t *device, bool *found) {
  berth_ctx *ctx = u->cost->ctx;
  size_t devices = (size_t)u->cost->n_devices;
  repair r = { 0 };
  double *room = berth_i_alloc(ctx, 3 * devices, sizeof *room);
  if (!room) return berth_i_nomem(ctx);
  r.u = u;
  r.sim = berth_i_fifo_options(u->cost, opts);
  r.device = device;
  r.left = room;
  r.runs = budget(u);
  r.over = INFINITY;
  berth_status st = repack_all(&r);
  if (st == BERTH_OK && r.over > 0) st = climb(&r, room + devices, room + 2 * devices);
  *found = r.over == 0;
  if (st == BERTH_OK && !*found && u->n <= FEW_UNITS) st = try_all(&r, found);
  berth_i_free(ctx, room, 3 * devices, sizeof *room);
  return st;
}
