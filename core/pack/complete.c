/* Exact packing by bin completion: the unit that is hardest to place chooses a device, which is
 * then filled completely, with no more waste than the limits allow in all. Units that are alike
 * are counted, not listed.
 * Source: the scheme of Gent and Walsh, and Korf, "A new algorithm for optimal bin packing", 2002.
 * Departs from it: devices that differ in limit and in what they can run, and bytes that take
 * turns. Of dominance only this: a device is not closed on a unit that it could still take. */
#include "pack_internal.h"
#include "base/sort_internal.h"

enum { MOST_DEVICES = 32, MOST_FRAMES = 4000 };

typedef struct sort_of_unit {
  double size, temporary;
  int32_t first, count;  /* in order */
  uint32_t devices;      /* bit d: it can run there */
  int32_t left;          /* not packed */
} sort_of_unit;

typedef struct ranked {
  double size, temporary;
  uint32_t devices;
  int32_t unit, choices;
} ranked;

typedef struct completion {
  const berth_i_units *u;
  int32_t devices, n, sorts;   /* n: units with bytes */
  ranked *order;               /* [n] */
  sort_of_unit *sort;          /* [sorts] */
  int32_t *take;               /* [devices * sorts] */
  int32_t alike[MOST_DEVICES]; /* the first device that is like it */
  double limit[MOST_DEVICES];
  double size_left, room_left; /* of units not packed; of devices not closed */
  double error;                /* bytes of rounding in these sums */
  uint32_t open;
  double work;
} completion;

typedef enum outcome { DEAD_END, SOLVED, GAVE_UP } outcome;

/* ---- sorts ---- */

BERTH_I_SORT(sort_by_difficulty, ranked,
             BERTH_I_UP(choices) BERTH_I_KEY(b->size + b->temporary, a->size + a->temporary)
                 BERTH_I_DOWN(size) BERTH_I_UP(devices) BERTH_I_UP(unit))

static bool alike(const ranked *a, const ranked *b) {
  return a->size == b->size && a->temporary == b->temporary && a->devices == b->devices;
}

/* Units without bytes are left out: they can be anywhere. */
static void rank_units(completion *c, const double *size, const double *temporary) {
  for (int32_t i = 0; i < c->u->n; i++) {
    ranked *r = &c->order[c->n];
    if (!(size[i] > 0) && !(temporary[i] > 0)) continue;
    c->n++;
    r->unit = i;
    r->size = size[i];
    r->temporary = temporary[i];
    r->devices = 0;
    r->choices = 0;
    for (int32_t d = 0; d < c->devices; d++) {
      if (!berth_i_unit_can_run(c->u, i, d)) continue;
      r->devices |= 1u << d;
      r->choices++;
    }
  }
  sort_by_difficulty(c->order, (size_t)c->n);
}

static void count_sorts(completion *c) {
  c->sorts = 0;
  for (int32_t i = 0; i < c->n; i++) {
    const ranked *r = &c->order[i];
    sort_of_unit *s = &c->sort[c->sorts];
    if (i > 0 && alike(r, r - 1)) {
      s[-1].count++;
      continue;
    }
    s->size = r->size;
    s->temporary = r->temporary;
    s->devices = r->devices;
    s->first = i;
    s->count = 1;
    c->sorts++;
  }
  for (int32_t i = 0; i < c->sorts; i++) {
    c->sort[i].left = c->sort[i].count;
    c->size_left += c->sort[i].size * c->sort[i].count;
  }
}

/* Devices that are alike, the first of each sort. A device without a limit would take everything:
 * limits are cut so that sums are finite. */
static void find_alike(completion *c) {
  double all = 0;
  for (int32_t i = 0; i < c->n; i++) all += c->order[i].size + c->order[i].temporary;
  for (int32_t d = 0; d < c->devices; d++) {
    c->limit[d] = fmin(c->limit[d], 2 * all + 1);
    int32_t e = 0;
    for (bool same = false; e < d && !same; e += !same) {
      same = c->limit[e] == c->limit[d];
      for (int32_t i = 0; i < c->sorts && same; i++)
        same = (c->sort[i].devices >> e & 1) == (c->sort[i].devices >> d & 1);
    }
    c->alike[d] = e;
    c->open |= 1u << d;
    c->room_left += c->limit[d];
  }
  c->error = 1e-12 * c->room_left;
}

/* ---- search ---- */

typedef struct filling {
  int32_t device;
  double held, temporary; /* on it so far */
} filling;

static outcome pack_rest(completion *c);

static bool takes(const completion *c, const filling *f, const sort_of_unit *s) {
  if (!(s->devices >> f->device & 1)) return false;
  return berth_i_excess(f->held + s->size + fmax(f->temporary, s->temporary), c->limit[f->device])
         <= 0;
}

/* Closes the device: its content is maximal (no remaining unit fits on top, so no other content
 * holds more), and the rest is packed on the others. size_left no longer counts what the
 * device has. */
static outcome close_device(completion *c, const filling *f) {
  double room = c->room_left - c->limit[f->device];
  c->work -= c->sorts;
  if (c->size_left > room + c->error) return DEAD_END;
  for (int32_t i = 0; i < c->sorts; i++) {
    if (c->sort[i].left > 0 && takes(c, f, &c->sort[i])) return DEAD_END;
  }
  c->room_left = room;
  c->open &= ~(1u << f->device);
  outcome o = pack_rest(c);
  if (o == SOLVED) return o;
  c->open |= 1u << f->device;
  c->room_left = room + c->limit[f->device];
  return o;
}

/* All that could still come must be enough to make the waste small. */
static bool can_still_fill(const completion *c, const filling *f, int32_t from) {
  /* units packed here are in neither sum of sizes */
  double more = 0, waste = c->room_left - c->size_left - f->held;
  double lacking = c->limit[f->device] - f->held - fmax(waste, 0);
  if (f->held + c->size_left > c->room_left + c->error) return false;
  for (int32_t i = from; i < c->sorts && more < lacking; i++) {
    if (c->sort[i].devices >> f->device & 1) more += c->sort[i].size * c->sort[i].left;
  }
  return more >= lacking - c->error;
}

static void put(completion *c, filling *f, int32_t i, int32_t count) {
  sort_of_unit *s = &c->sort[i];
  s->left -= count;
  c->take[(size_t)f->device * (size_t)c->sorts + (size_t)i] += count;
  c->size_left -= count * s->size;
  f->held += count * s->size;
  if (count > 0) f->temporary = fmax(f->temporary, s->temporary);
}

static outcome complete(completion *c, filling f, int32_t from) {
  int32_t i = from, count = 0;
  outcome o = DEAD_END;
  filling g = f;
  if ((c->work -= 1) < 0) return GAVE_UP;
  while (i < c->sorts && (c->sort[i].left == 0 || !takes(c, &f, &c->sort[i]))) i++;
  c->work -= 0.1 * (i - from);
  if (!can_still_fill(c, &f, i)) return DEAD_END;
  if (i == c->sorts) return close_device(c, &f);
  while (c->sort[i].left > 0 && takes(c, &g, &c->sort[i])) {
    put(c, &g, i, 1);
    count++;
  }
  for (;;) {
    double saved = c->size_left;
    o = complete(c, g, i + 1);
    if (o != DEAD_END || count == 0) break;
    c->size_left = saved;
    put(c, &g, i, -1);
    g.temporary = --count > 0 ? fmax(f.temporary, c->sort[i].temporary) : f.temporary;
  }
  if (o == GAVE_UP && count > 0) put(c, &g, i, -count);
  return o;
}

/* The first unit that is left chooses a device, of those that are alike only the first. */
static outcome pack_rest(completion *c) {
  int32_t i = 0;
  outcome o = DEAD_END;
  while (i < c->sorts && c->sort[i].left == 0) i++;
  if (i == c->sorts) return SOLVED;
  for (int32_t d = 0; d < c->devices && o == DEAD_END; d++) {
    filling f = { d, 0, 0 };
    double saved = c->size_left;
    bool repeated = false;
    for (int32_t e = 0; e < d; e++) repeated |= (c->open >> e & 1) && c->alike[e] == c->alike[d];
    if (!(c->open >> d & 1) || repeated || !takes(c, &f, &c->sort[i])) continue;
    put(c, &f, i, 1);
    o = complete(c, f, i);
    if (o == SOLVED) break;
    put(c, &f, i, -1);
    c->size_left = saved;
  }
  return o;
}

/* ---- answer ---- */

static void read_answer(const completion *c, int32_t *at) {
  for (int32_t i = 0; i < c->u->n; i++) {
    for (at[i] = 0; !berth_i_unit_can_run(c->u, i, at[i]); at[i]++) continue;
  }
  for (int32_t i = 0; i < c->sorts; i++) {
    int32_t next = c->sort[i].first;
    for (int32_t d = 0; d < c->devices; d++) {
      int32_t k = c->take[(size_t)d * (size_t)c->sorts + (size_t)i];
      for (; k > 0; k--) at[c->order[next++].unit] = d;
    }
  }
}

berth_status berth_i_pack_complete(const berth_i_units *u, const double *limit, const double *size,
                                   const double *temporary, double work, int32_t *at,
                                   berth_i_verdict *verdict) {
  completion c = { .u = u, .devices = u->cost->n_devices, .work = work };
  berth_i_pool scratch = berth_i_pool_empty(u->cost->ctx);
  size_t n = (size_t)u->n, devices = (size_t)u->cost->n_devices;
  *verdict = BERTH_I_UNKNOWN;
  if (devices > MOST_DEVICES) return BERTH_OK;
  c.order = berth_i_pool_alloc(&scratch, n, sizeof *c.order);
  c.sort = berth_i_pool_zalloc(&scratch, n, sizeof *c.sort);
  berth_status st;
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  memcpy(c.limit, limit, devices * sizeof *limit);
  rank_units(&c, size, temporary);
  count_sorts(&c);
  c.take = berth_i_pool_zalloc(&scratch, devices * (size_t)c.sorts, sizeof *c.take);
  if ((st = berth_i_pool_status(&scratch)) != BERTH_OK) goto done;
  if ((int64_t)c.sorts * c.devices > MOST_FRAMES) goto done;
  find_alike(&c);
  outcome o = pack_rest(&c);
  if (o == SOLVED) read_answer(&c, at);
  *verdict = o == SOLVED ? BERTH_I_FITS : o == DEAD_END ? BERTH_I_UNFIT : BERTH_I_UNKNOWN;
done:
  berth_i_pool_free(&scratch);
  return st;
}
