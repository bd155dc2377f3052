/* Local search on the bytes over the limits: between a device that overflows and one with free
 * memory, up to three units are exchanged for up to three; where nothing helps, a random exchange
 * (kick), and again, as in iterated local search (Lourenco, Martin, Stuetzle 2003).
 * Structure: bundles of one to three units, sorted by bytes; the best exchanges of bundles are
 * found by one merge of both lists. Levels: bundles of at most 1, 2, 3 units, as in variable
 * neighbourhood descent. Invariant: `least` and `best` are the least overflow so far.
 * Work is counted in steps of some 10 ns, so that the answer depends on nothing else. */
#include "pack_internal.h"
#include "base/sort_internal.h"

enum { MOST_LEVELS = 3, MOST_CHECKS = 6 };
/* units of a device that are listed, by level */
static const int32_t list_length[MOST_LEVELS + 1] = { 0, 160, 64, 40 };
static const double HOPELESS = 64; /* times the largest unit over the limits */

typedef struct bundle {
  double bytes;
  int32_t unit[MOST_LEVELS]; /* BERTH_NONE: none */
} bundle;

typedef struct bundles {
  bundle *at;
  size_t n, cap;
} bundles;

typedef struct choice {
  double worth; /* larger is better */
  bundle out, back;
} choice;

typedef struct local_search {
  berth_i_pool arrays;
  berth_i_assignment *s;
  bundles out, back; /* from the device that overflows, and back from the other */
  bundle *pool;      /* [n] units of one device, to choose from */
  int32_t *best;     /* [n] devices with the least overflow so far */
  double least;
  choice top[MOST_CHECKS];
  int32_t n_top;
  berth_rng rng;
  double work;       /* left */
} local_search;

/* ---- bundles ---- */

BERTH_I_SORT(sort_bundles, bundle,
             BERTH_I_UP(bytes) BERTH_I_UP(unit[0]) BERTH_I_UP(unit[1]) BERTH_I_UP(unit[2]))

static bundle alone(double bytes, int32_t unit) {
  bundle b = { bytes, { unit, BERTH_NONE, BERTH_NONE } };
  return b;
}

static berth_status add(local_search *w, bundles *list, const bundle *a, const bundle *b,
                        const bundle *c) {
  berth_status st =
      berth_i_pool_grow(&w->arrays, (void **)&list->at, &list->cap, list->n + 1, sizeof *list->at);
  if (st != BERTH_OK) return st;
  bundle *x = &list->at[list->n++];
  *x = *a;
  if (b) x->bytes += b->bytes, x->unit[1] = b->unit[0];
  if (c) x->bytes += c->bytes, x->unit[2] = c->unit[0];
  return BERTH_OK;
}

/* Units on one device that the other could take, in w->pool. Of units that are alike in all that
 * counts `level` are enough; of many, some are taken evenly over all sizes, from a random one on.
 * @return how many */
static int32_t list_units(local_search *w, int32_t on, int32_t to, int32_t level) {
  berth_i_assignment *s = w->s;
  int32_t n = 0, kept = 0, run = 0, most = list_length[level];
  for (int32_t i = s->first[on]; i != BERTH_NONE; i = s->next[i]) {
    w->work -= 1;
    if ((s->size[i] > 0 || s->temporary[i] > 0 || s->copy_share > 0)
        && berth_i_assignment_may(s, i, to))
      w->pool[n++] = alone(s->size[i], i);
  }
  sort_bundles(w->pool, (size_t)n);
  w->work -= 10.0 * n;
  for (int32_t i = 0; i < n; i++) {
    const bundle *x = &w->pool[i];
    bool same = s->copy_share == 0 && i > 0 && x->bytes == x[-1].bytes
             && s->temporary[x->unit[0]] == s->temporary[x[-1].unit[0]];
    run = same ? run + 1 : 0;
    if (run < level) w->pool[kept++] = *x;
  }
  if (kept <= most) return kept;
  int32_t shift = berth_rng_below(&w->rng, kept / most + 1);
  for (int32_t i = 0; i < most; i++) {
    int64_t from = (int64_t)i * kept / most + shift;
    w->pool[i] = w->pool[from < kept ? from : kept - 1];
  }
  return most;
}

/* @param none the empty bundle is one, too */
static berth_status list_bundles(local_search *w, bundles *list, int32_t on, int32_t to,
                                 int32_t level, bool none) {
  bundle nothing = alone(0, BERTH_NONE), *p = w->pool;
  berth_status st = BERTH_OK;
  int32_t n = 0;
  list->n = 0;
  if (none) st = add(w, list, &nothing, NULL, NULL);
  if (st == BERTH_OK) n = list_units(w, on, to, level);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    st = add(w, list, &p[i], NULL, NULL);
    for (int32_t j = i + 1; level > 1 && j < n && st == BERTH_OK; j++) {
      st = add(w, list, &p[i], &p[j], NULL);
      for (int32_t k = j + 1; level > 2 && k < n && st == BERTH_OK; k++)
        st = add(w, list, &p[i], &p[j], &p[k]);
    }
  }
  sort_bundles(list->at, list->n);
  w->work -= 20.0 * (double)list->n;
  return st;
}

static void move_bundle(local_search *w, const bundle *b, int32_t to) {
  for (int32_t i = 0; i < MOST_LEVELS; i++) {
    if (b->unit[i] != BERTH_NONE) berth_i_assignment_move(w->s, b->unit[i], to);
  }
}

static double pair_over(const berth_i_assignment *s, int32_t a, int32_t b) {
  return fmax(0, berth_i_assignment_over(s, a)) + fmax(0, berth_i_assignment_over(s, b));
}

static void keep_choice(local_search *w, double worth, const bundle *out, const bundle *back) {
  int32_t i = w->n_top;
  if (i == MOST_CHECKS && worth <= w->top[i - 1].worth) return;
  if (i == MOST_CHECKS) i--;
  else w->n_top++;
  for (; i > 0 && w->top[i - 1].worth < worth; i--) w->top[i] = w->top[i - 1];
  w->top[i].worth = worth;
  w->top[i].out = *out;
  w->top[i].back = *back;
}

/* For each bundle the two whose exchange is closest to a shift of all needed, or all free, bytes.
 * Worth: the reduction of the overflow of both devices, by sizes alone; ties: the smallest rest. */
static void match(local_search *w, double need, double room) {
  double wanted = fmin(need, room);
  size_t j = 0;
  w->n_top = 0;
  for (size_t i = 0; i < w->out.n; i++) {
    const bundle *a = &w->out.at[i];
    while (j + 1 < w->back.n && w->back.at[j + 1].bytes <= a->bytes - wanted) j++;
    for (size_t e = j; e < j + 2 && e < w->back.n; e++) {
      double shift = a->bytes - w->back.at[e].bytes;
      double off = fmin(shift, need) - fmax(0, shift - room);
      double worth = off - 1e-9 * fabs(shift - wanted);
      if (worth > 0) keep_choice(w, worth, a, &w->back.at[e]);
    }
  }
  w->work -= 3.0 * (double)(w->out.n + w->back.n);
}

/* Sums of the devices as they were: adding and taking off again rounds. */
static bool try_exchange(local_search *w, const choice *c, int32_t a, int32_t b) {
  berth_i_assignment *s = w->s;
  double held_a = s->held[a], held_b = s->held[b], before = pair_over(s, a, b);
  move_bundle(w, &c->out, b);
  move_bundle(w, &c->back, a);
  w->work -= 20;
  double after = pair_over(s, a, b);
  if (after < before - 1e-12 * before) return true;
  move_bundle(w, &c->out, a);
  move_bundle(w, &c->back, b);
  s->held[a] = held_a;
  s->held[b] = held_b;
  return false;
}

/* From a, which overflows, to b. Lists by size alone miss one move: that of the unit with the
 * largest temporary bytes, which lowers the maximum; it is evaluated first. */
static berth_status exchange(local_search *w, int32_t a, int32_t b, int32_t level, bool *better) {
  berth_i_assignment *s = w->s;
  double need = berth_i_assignment_over(s, a), room = -berth_i_assignment_over(s, b);
  int32_t top = level == 1 && s->top[a] < s->n ? s->order[s->top[a]] : BERTH_NONE;
  *better = false;
  if (top != BERTH_NONE && berth_i_assignment_may(s, top, b)) {
    choice c = { 0, alone(s->size[top], top), alone(0, BERTH_NONE) };
    if ((*better = try_exchange(w, &c, a, b))) return BERTH_OK;
  }
  berth_status st;
  if ((st = list_bundles(w, &w->out, a, b, level, false)) != BERTH_OK) return st;
  if ((st = list_bundles(w, &w->back, b, a, level, true)) != BERTH_OK) return st;
  match(w, need, fmax(room, s->temporary[s->order[0]] > 0 ? 1e-9 * need : 0));
  for (int32_t i = 0; i < w->n_top && !*better; i++) *better = try_exchange(w, &w->top[i], a, b);
  return BERTH_OK;
}

static berth_status sweep(local_search *w, int32_t level, bool *better) {
  berth_i_assignment *s = w->s;
  berth_status st = BERTH_OK;
  int32_t shift = berth_rng_below(&w->rng, s->devices);
  *better = false;
  for (int32_t a = 0; a < s->devices && st == BERTH_OK; a++) {
    for (int32_t i = 0; i < s->devices && st == BERTH_OK && w->work > 0; i++) {
      int32_t b = (i + shift) % s->devices;
      bool done = false;
      if (a == b || !(berth_i_assignment_over(s, a) > 0) || berth_i_assignment_over(s, b) > 0)
        continue;
      st = exchange(w, a, b, level, &done);
      *better = *better || done;
    }
  }
  return st;
}

/* ---- all of it ---- */

/* To where no exchange helps, with larger and larger bundles. */
static berth_status descend(local_search *w) {
  berth_i_assignment *s = w->s;
  berth_status st = BERTH_OK;
  int32_t level = 1;
  bool better;
  while (st == BERTH_OK && level <= MOST_LEVELS && w->work > 0
         && berth_i_assignment_overflow(s) > 0) {
    st = sweep(w, level, &better);
    level = better ? 1 : level + 1;
  }
  double over = berth_i_assignment_overflow(s);
  if (!(over < w->least)) return st;
  w->least = over;
  memcpy(w->best, s->at, (size_t)s->n * sizeof *w->best);
  return st;
}

/* A few units go anywhere. */
static void kick(local_search *w) {
  berth_i_assignment *s = w->s;
  int32_t n = 2 + berth_rng_below(&w->rng, 4);
  for (int32_t i = 0; i < n; i++) {
    int32_t unit = berth_rng_below(&w->rng, s->n), to = berth_rng_below(&w->rng, s->devices);
    if (berth_i_assignment_may(s, unit, to)) berth_i_assignment_move(s, unit, to);
  }
  w->work -= 100;
}

/* Descents with kicks between them, every fourth time from the best. Where so much is over that a
 * few units here or there will not do, one descent is all. */
static berth_status climb(local_search *w) {
  berth_i_assignment *s = w->s;
  berth_status st = descend(w);
  double largest = 0;
  for (int32_t i = 0; i < s->n; i++) largest = fmax(largest, s->size[i]);
  if (st != BERTH_OK || w->least > HOPELESS * largest) return st;
  for (int32_t round = 1; st == BERTH_OK && w->least > 0 && w->work > 0 && s->devices > 1;
       round++) {
    for (int32_t i = 0; round % 4 == 0 && i < s->n; i++)
      berth_i_assignment_move(s, i, w->best[i]);
    if (round % 16 == 0 && (st = berth_i_interrupted(s->ctx)) != BERTH_OK) break;
    kick(w);
    w->work -= round % 4 == 0 ? 0.2 * s->n : 0;
    st = descend(w);
  }
  return st;
}

berth_status berth_i_assignment_local_search(berth_i_assignment *s, double work, bool *fits) {
  local_search w = { .arrays = berth_i_pool_empty(s->ctx), .s = s, .work = work,
                     .least = INFINITY };
  *fits = !(berth_i_assignment_overflow(s) > 0);
  if (*fits || s->n == 0) return BERTH_OK;
  berth_rng_init(&w.rng, 0, 0);
  w.pool = berth_i_pool_alloc(&w.arrays, (size_t)s->n, sizeof *w.pool);
  w.best = berth_i_pool_alloc(&w.arrays, (size_t)s->n, sizeof *w.best);
  berth_status st;
  if ((st = berth_i_pool_status(&w.arrays)) == BERTH_OK) st = climb(&w);
  if (st == BERTH_OK) { /* sums from the start count: those along the way are rounded otherwise */
    berth_i_assignment_load(s, w.best);
    *fits = !(berth_i_assignment_overflow(s) > 0);
  }
  berth_i_pool_free(&w.arrays);
  return st;
}
