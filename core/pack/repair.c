/* Placements that run out of memory when simulated, repaired: what a run holds at its peaks is
 * packed anew, and run again; the same from slices whose cuts are shifted; then local search on the
 * bytes over the limits by runs alone; then, as far as the budget goes, all packings.
 * Invariant: `least` and `best` are the least bytes over of any run so far. The budget is counted
 * in runs: some 4e6 ops and edges simulated in all, 8 to 2000 runs, for each of the parts. */
#include "pack_internal.h"

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
  int32_t *device;                 /* [ops] */
  double *left;                    /* [devices] limit less peak of the latest run; negative: over */
  double over;                     /* bytes, all devices; INFINITY: unreachable */
  culprit culprits[MOST_CULPRITS]; /* units on the device that is most over, that hold most there */
  int32_t n_culprits, worst;
  int32_t runs;                   /* that the budget still allows */
} repair;

static int32_t budget(const berth_i_units *u) {
  double runs = OPS_AND_EDGES / (1.0 + u->n_ops + u->cost->g->n_edges);
  return (int32_t)fmin(MOST_RUNS, fmax(LEAST_RUNS, runs));
}

typedef struct repack {
  double *size, *none;        /* [units] bytes at the peak of its device; zeros */
  double *over;               /* [devices] bytes that a run took beyond the packing */
  int32_t *at, *best;         /* [units], [ops] */
  double least;               /* bytes over at best */
} repack;

/* ---- one run ---- */

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

/* Bytes of units at the peak of their device. Bytes of ops on other devices are `base`: no move
 * changes them. */
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

/* @param blame lists the culprits, too  @param w, s sizes and limits for the next packing, lower
 *        where this one ran over; NULL */
static berth_status try_run(repair *r, bool blame, repack *w, berth_i_assignment *s) {
  berth_result *run = NULL;
  berth_status st = berth_simulate(r->u->cost, r->device, &r->sim, &run);
  r->runs--;
  r->over = INFINITY;
  if (st == BERTH_EUNREACHABLE) return BERTH_OK;
  if (st != BERTH_OK) return st;
  r->over = 0;
  r->worst = BERTH_NONE;
  for (int32_t d = 0; d < r->u->cost->n_devices; d++) {
    double over = berth_i_excess(berth_result_peak(run)[d], r->u->cost->t->devices[d].memory);
    r->left[d] = -over;
    if (over <= 0) continue;
    r->over += over;
    if (w) w->over[d] += over / 2;
    if (r->worst == BERTH_NONE || r->left[d] < r->left[r->worst]) r->worst = d;
  }
  if (w && r->over > 0) weigh(r, run, w, s);
  if (blame && r->worst != BERTH_NONE) {
    const int32_t *ops;
    const double *bytes;
    int32_t n = berth_result_peak_ops(run, r->worst, &ops, &bytes);
    r->n_culprits = 0;
    for (int32_t i = 0; i < n; i++) {
      if (r->device[ops[i]] == r->worst) add_culprit(r, r->u->of[ops[i]], bytes[i]);
    }
  }
  berth_result_release(run);
  return BERTH_OK;
}

/* ---- moves ---- */

static void set_unit(repair *r, int32_t unit, int32_t device) {
  for (int32_t i = r->u->at[unit]; i < r->u->at[unit + 1]; i++) r->device[r->u->ops[i]] = device;
}

/* Moves a unit where that leaves fewer bytes over: the device with most free memory first.
 * @param room [devices] scratch */
static berth_status move_unit(repair *r, int32_t unit, const double *left, double *room,
                              bool *moved) {
  int32_t devices = r->u->cost->n_devices, from = r->device[r->u->ops[r->u->at[unit]]];
  double before = r->over;
  berth_status st = BERTH_OK;
  memcpy(room, left, (size_t)devices * sizeof *room);
  room[from] = -INFINITY;
  while (r->runs > 0) {
    int32_t best = BERTH_NONE;
    for (int32_t d = 0; d < devices; d++) {
      if (room[d] > -INFINITY && (best == BERTH_NONE || room[d] > room[best])) best = d;
    }
    if (best == BERTH_NONE) break;
    room[best] = -INFINITY;
    if (!berth_i_unit_can_run(r->u, unit, best)) continue;
    set_unit(r, unit, best);
    if ((st = try_run(r, false, NULL, NULL)) != BERTH_OK) return st;
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
    if ((st = try_run(r, true, NULL, NULL)) != BERTH_OK) return st;
    if (r->over == 0 || isinf(r->over)) return BERTH_OK;
    memcpy(left, r->left, (size_t)r->u->cost->n_devices * sizeof *left);
    for (int32_t i = 0; i < r->n_culprits && !moved; i++) {
      if ((st = move_unit(r, r->culprits[i].unit, left, room, &moved)) != BERTH_OK) return st;
    }
  }
  return st;
}

/* ---- packing peaks anew ---- */

static void set_devices(repair *r, const int32_t *at) {
  for (int32_t i = 0; i < r->u->n_ops; i++) r->device[i] = at[r->u->of[i]];
}

static berth_status pack_peaks(repair *r, repack *w, berth_i_assignment *s) {
  bool fits = false;
  for (int32_t i = 0; i < r->u->n; i++) w->at[i] = r->device[r->u->ops[r->u->at[i]]];
  for (int32_t d = 0; d < s->devices; d++)
    s->limit[d] = r->u->cost->t->devices[d].memory - w->over[d];
  berth_i_assignment_load(s, w->at);
  berth_status st;
  if ((st = berth_i_assignment_unload(s)) != BERTH_OK) return st;
  st = berth_i_assignment_local_search(s, 2e3 * s->n + 2e4, &fits);
  if (st == BERTH_OK) set_devices(r, s->at);
  return st;
}

/* Tensors that cross are held twice: units go to their neighbours first, wherever it is cheaper;
 * the next packings keep the limits. */
static berth_status gather(repair *r, repack *w, berth_i_assignment *s) {
  uint8_t *near = berth_i_alloc(s->ctx, (size_t)s->n, 1);
  if (!near) return berth_i_nomem(s->ctx);
  if (s->n > 0) memset(near, 1, (size_t)s->n);
  for (int32_t d = 0; d < s->devices; d++)
    s->limit[d] = 1.02 * fmax(s->held[d], r->u->cost->t->devices[d].memory);
  berth_status st = berth_i_assignment_refine(s, near);
  berth_i_free(s->ctx, near, (size_t)s->n, 1);
  if (st == BERTH_OK) set_devices(r, s->at);
  memset(w->over, 0, (size_t)s->devices * sizeof *w->over);
  return st;
}

static bool keep_best(repair *r, repack *w) {
  if (!(r->over < w->least)) return false;
  w->least = r->over;
  if (r->u->n_ops > 0) memcpy(w->best, r->device, (size_t)r->u->n_ops * sizeof *w->best);
  return true;
}

static void restore_best(repair *r, const repack *w) {
  if (isinf(w->least)) return;
  r->over = w->least;
  if (r->u->n_ops > 0) memcpy(r->device, w->best, (size_t)r->u->n_ops * sizeof *w->best);
}

static berth_status repack_peaks(repair *r, repack *w) {
  int32_t rounds = r->runs < MOST_REPACKS ? r->runs / 2 : MOST_REPACKS, idle = 0;
  bool gathered = false;
  for (int32_t i = 0; i < r->u->cost->n_devices; i++)
    w->over[i] = r->u->cost->t->devices[i].memory;
  berth_i_assignment s;
  berth_status st;
  if ((st = berth_i_assignment_init(r->u, w->over, w->size, w->none, 0, &s)) != BERTH_OK) return st;
  memset(w->over, 0, (size_t)s.devices * sizeof *w->over);
  w->least = INFINITY;
  for (int32_t i = 0; i < rounds && idle < 8 && st == BERTH_OK; i++, idle++) {
    if ((st = try_run(r, false, w, &s)) != BERTH_OK || isinf(r->over)) break;
    if (keep_best(r, w)) idle = 0;
    if (r->over == 0) break;
    st = pack_peaks(r, w, &s);
    if (st != BERTH_OK || idle != 2 || gathered) continue;
    gathered = true;
    st = gather(r, w, &s);
  }
  berth_i_pool_free(&s.pool);
  if (st == BERTH_OK) restore_best(r, w);
  return st;
}

/* Slices whose cuts are shifted until all devices are equally full, or memory holds; the closest
 * ones remain.
 * @param part [devices] scratch: less where a run took more of the limit than elsewhere */
static berth_status cut_slices(repair *r, repack *w, double *part) {
  const berth_i_units *u = r->u;
  const berth_device *device = u->cost->t->devices;
  double all = 0;
  int32_t cuts = r->runs / 2 < MOST_CUTS ? r->runs / 2 : MOST_CUTS;
  for (int32_t i = 0; i < u->n; i++) all += u->permanent[i];
  for (int32_t d = 0; d < u->cost->n_devices; d++) part[d] = fmin(device[d].memory, 1 + 2 * all);
  w->least = INFINITY;
  for (int32_t i = 0; i < cuts && w->least > 0; i++) {
    berth_status st = berth_i_pack_slices(u, part, w->at);
    if (st != BERTH_OK) return st;
    set_devices(r, w->at);
    if ((st = try_run(r, false, NULL, NULL)) != BERTH_OK || isinf(r->over)) return st;
    keep_best(r, w);
    for (int32_t d = 0; d < u->cost->n_devices; d++) {
      double peak = device[d].memory - r->left[d];
      if (!isinf(device[d].memory) && peak > 0)
        part[d] *= fmin(2, fmax(0.5, device[d].memory / peak));
    }
  }
  restore_best(r, w);
  return BERTH_OK;
}

/* From where the placement is, then from slices, unless that ends with more over. */
static berth_status repack_all(repair *r) {
  berth_i_pool scratch = berth_i_pool_empty(r->u->cost->ctx);
  size_t n = (size_t)r->u->n, ops = (size_t)r->u->n_ops, devices = (size_t)r->u->cost->n_devices;
  repack w = { 0 };
  w.size = berth_i_pool_zalloc(&scratch, n, sizeof *w.size);
  w.none = berth_i_pool_zalloc(&scratch, n, sizeof *w.none);
  w.over = berth_i_pool_zalloc(&scratch, devices, sizeof *w.over);
  w.at = berth_i_pool_alloc(&scratch, n, sizeof *w.at);
  w.best = berth_i_pool_alloc(&scratch, ops, sizeof *w.best);
  int32_t *before = berth_i_pool_alloc(&scratch, ops, sizeof *before);
  double *part = berth_i_pool_alloc(&scratch, devices, sizeof *part);
  berth_status st = berth_i_pool_status(&scratch);
  if (st == BERTH_OK) st = repack_peaks(r, &w);
  double least = r->over;
  if (st != BERTH_OK || !(least > 0) || r->u->n <= FEW_UNITS) goto done;
  memcpy(before, r->device, ops * sizeof *before);
  r->runs = budget(r->u);
  st = cut_slices(r, &w, part);
  if (st == BERTH_OK && r->over > 0) st = repack_peaks(r, &w);
  if (st == BERTH_OK && !(r->over < least)) {
    memcpy(r->device, before, ops * sizeof *before);
    r->over = least;
  }
done:
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
  if ((st = try_run(r, false, NULL, NULL)) == BERTH_OK) *yes = r->over == 0;
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
