/* Slots where an overlap shortens them: an F and a B of two chunks that follow one another on a
 * stage, or with a W between them that can wait, run together.
 *
 * All pairs of a schedule are joined at once; what does not shorten the step so is tried in halves.
 * Then pairs are parted in the same way. It begins from the best schedule without slots, and from
 * the generators that have slots of their own. O(calls x actions). */
#include "slots_internal.h"
#include "schedule/generators/generators_internal.h"

enum { LOOK = 16 }; /* calls between looks at the clock and the hook */

/* Place in the words of a pair's first action; `width` 3: a W is between the two, behind them when
 * they are joined. */
typedef struct pair {
  size_t at;
  int32_t width;
  bool joined, changed;
} pair;

typedef struct slots {
  const berth_schedule_problem *p;
  berth_i_run run;
  berth_i_words words;
  pair *pairs;
  int32_t n;
  double step;            /* of the words */
  int64_t calls, most;
  double deadline;        /* by the context's clock */
  berth_status stopped;
} slots;

/* The objective; INFINITY: deadlock, or too much memory. */
static double value_of(slots *k, const berth_i_words *w) {
  const berth_schedule_problem *p = k->p;
  k->calls++;
  for (int32_t s = 0; s < p->p; s++)
    if (berth_i_over(berth_i_word_peak(w, s, w->begin[s + 1] - w->begin[s], NULL), p->limit[s]))
      return INFINITY;
  return berth_i_run_words(&k->run, w, NULL, NULL);
}

static bool ends(slots *k) {
  if (k->stopped != BERTH_OK || k->calls >= k->most) return true;
  if (k->calls % LOOK) return false;
  if (isfinite(k->deadline) && berth_i_ctx_clock(k->p->ctx) > k->deadline) k->most = k->calls;
  k->stopped = berth_i_interrupted(k->p->ctx);
  return k->stopped != BERTH_OK || k->calls >= k->most;
}

static bool can_join(berth_i_code a, berth_i_code b) {
  int32_t x = berth_i_kind(a), y = berth_i_kind(b);
  return (x == BERTH_SCHEDULE_FORWARD) != (y == BERTH_SCHEDULE_FORWARD)
         && x != BERTH_SCHEDULE_WEIGHT && y != BERTH_SCHEDULE_WEIGHT
         && berth_i_local(a) != berth_i_local(b);
}

static void find_pairs(slots *k) {
  const berth_i_words *w = &k->words;
  k->n = 0;
  for (int32_t s = 0; s < k->p->p; s++)
    for (size_t i = w->begin[s]; i + 1 < w->begin[s + 1]; i++) {
      const berth_i_code *c = w->code + i;
      bool joined = *c & BERTH_I_OVERLAPPED;
      bool between = i + 2 < w->begin[s + 1] && berth_i_kind(c[1]) == BERTH_SCHEDULE_WEIGHT;
      int32_t width = joined || can_join(c[0], c[1]) ? 2 : between && can_join(c[0], c[2]) ? 3 : 0;
      if (width == 0 || (!joined && c[width - 1] & BERTH_I_OVERLAPPED)) continue;
      k->pairs[k->n++] = (pair){ .at = i, .width = width, .joined = joined };
      i += (size_t)width - 1;
    }
}

static void exchange(berth_i_code *a, berth_i_code *b) {
  berth_i_code c = *a;
  *a = *b;
  *b = c;
}

static void toggle(slots *k, int32_t i) {
  pair *x = &k->pairs[i];
  berth_i_code *c = k->words.code + x->at;
  if (x->width == 3) exchange(c + 1, c + 2);
  *c ^= BERTH_I_OVERLAPPED;
  x->joined = !x->joined;
}

/* Joins those pairs low..high - 1 that are not, or parts those that are, if that shortens the
 * step. */
static void try_block(slots *k, int32_t low, int32_t high, bool joined) {
  int32_t changed = 0;
  if (low >= high || ends(k)) return;
  for (int32_t i = low; i < high; i++) {
    k->pairs[i].changed = k->pairs[i].joined == joined;
    changed += k->pairs[i].changed;
  }
  if (changed == 0) return;
  for (int32_t i = low; i < high; i++)
    if (k->pairs[i].changed) toggle(k, i);
  double step = value_of(k, &k->words);
  if (step < k->step * (1 - 1e-12)) {
    k->step = step;
    return;
  }
  for (int32_t i = low; i < high; i++)
    if (k->pairs[i].changed) toggle(k, i);
  if (high - low < 2) return;
  int32_t middle = low + (high - low) / 2;
  try_block(k, low, middle, joined);
  try_block(k, middle, high, joined);
}

/* From k->words, whose step is k->step. */
static void improve(slots *k, int64_t most) {
  k->most = most;
  find_pairs(k);
  for (double before = INFINITY; k->step < before && !ends(k);) {
    before = k->step;
    try_block(k, 0, k->n, false);
    try_block(k, 0, k->n, true);
  }
}

static void copy(const berth_i_words *from, berth_i_words *to) {
  memcpy(to->begin, from->begin, ((size_t)from->p->p + 1) * sizeof *to->begin);
  memcpy(to->code, from->code, from->begin[from->p->p] * sizeof *to->code);
}

static void keep(const slots *k, berth_i_words *best, double *step) {
  if (!(k->step < *step)) return;
  *step = k->step;
  copy(&k->words, best);
}

/* The generator with the shortest step into k->words. */
static berth_status best_generator(slots *k, berth_i_words *scratch) {
  k->step = INFINITY;
  for (int32_t g = 0; berth_schedule_generator_at(g); g++) {
    berth_i_words_begin(scratch);
    berth_status st = berth_i_generate(k->p, g, scratch);
    if (st == BERTH_ENOMEM) return st;
    double step = st == BERTH_OK ? value_of(k, scratch) : INFINITY;
    if (!(step < k->step)) continue;
    k->step = step;
    copy(scratch, &k->words);
  }
  return BERTH_OK;
}

berth_status berth_i_slots(const berth_schedule_problem *p, int64_t calls, double deadline,
                           berth_i_words *best, double *step, int64_t *used) {
  berth_i_pool pool = berth_i_pool_empty(p->ctx);
  berth_i_words scratch = { 0 };
  slots k = { .p = p, .step = *step, .deadline = deadline };
  berth_status st = berth_i_run_make(p, &pool, &k.run);
  if (st == BERTH_OK) st = berth_i_words_make(p, &pool, &k.words);
  if (st == BERTH_OK) st = berth_i_words_make(p, &pool, &scratch);
  k.pairs = berth_i_pool_alloc(&pool, scratch.begin ? scratch.begin[p->p] / 2 : 0, sizeof *k.pairs);
  if (st == BERTH_OK && (st = berth_i_pool_status(&pool)) == BERTH_OK) {
    if (isfinite(*step)) {
      copy(best, &k.words);
      improve(&k, calls / 2);
      keep(&k, best, step);
    }
    st = best_generator(&k, &scratch);
  }
  if (st == BERTH_OK && isfinite(k.step)) {
    improve(&k, calls);
    keep(&k, best, step);
  }
  *used += k.calls;
  berth_i_pool_free(&pool);
  return st == BERTH_OK ? k.stopped : st;
}
