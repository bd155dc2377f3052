/* Moves on skeletons: one action goes to another place in its stage's word, and so does the action
 * of the same chunk, kind and micro-batch on the stages next to it, as far. */
#include "search_internal.h"

/* Place of the k-th code of its sort in the word of a stage; the end: there is none. */
static size_t find(const berth_i_words *w, int32_t s, berth_i_code code, int32_t k) {
  size_t i = w->begin[s], end = w->begin[s + 1];
  for (; i < end; i++)
    if (w->code[i] == code && k-- == 0) break;
  return i;
}

static int32_t number(const berth_i_words *w, int32_t s, size_t i) {
  int32_t k = 0;
  for (size_t j = w->begin[s]; j < i; j++) k += w->code[j] == w->code[i];
  return k;
}

/* The action at `from` goes to `to`; those between move by one.  @return false: all are alike */
static bool shift(berth_i_code *code, size_t from, size_t to) {
  berth_i_code c = code[from];
  bool alike = true;
  for (size_t i = from < to ? from : to; i <= (from < to ? to : from); i++) alike &= code[i] == c;
  if (to > from) memmove(code + from, code + from + 1, (to - from) * sizeof *code);
  else memmove(code + to + 1, code + to, (from - to) * sizeof *code);
  code[to] = c;
  return !alike;
}

/* How far: mostly a few places, at times half a word. */
static int64_t distance(berth_rng *rng, size_t n) {
  double most = log(n > 8 ? (double)n / 2 : 4.0);
  double x = berth_rng_uniform(rng);
  int64_t d = (int64_t)exp(x * x * most);
  return berth_rng_u64(rng) & 1 ? d : -d;
}

static bool shift_on(berth_i_words *w, int32_t s, berth_i_code code, int32_t k, int64_t d) {
  size_t i = find(w, s, code, k), begin = w->begin[s], end = w->begin[s + 1];
  if (i == end) return false;
  int64_t to = (int64_t)i + d;
  if (to < (int64_t)begin) to = (int64_t)begin;
  if (to >= (int64_t)end) to = (int64_t)end - 1;
  return shift(w->code, i, (size_t)to);
}

/* Stages around s: mostly few. */
static void draw_range(berth_rng *rng, int32_t p, int32_t s, int32_t *low, int32_t *high) {
  double x = berth_rng_uniform(rng);
  int32_t more = (int32_t)(x * x * x * p);
  int32_t down = berth_rng_below(rng, more + 1);
  *low = s - down < 0 ? 0 : s - down;
  *high = s + more - down >= p ? p - 1 : s + more - down;
}

bool berth_i_move_earlier(berth_i_words *w, berth_rng *rng, int32_t s, berth_i_code code,
                          int32_t k, int32_t *low, int32_t *high) {
  int64_t d = -1 - (int64_t)(berth_rng_below(rng, 2) ? 0 : berth_rng_below(rng, 4));
  *low = *high = s;
  if (berth_rng_below(rng, 2)) draw_range(rng, w->p->p, s, low, high);
  bool moved = false;
  for (int32_t t = *low; t <= *high; t++) moved |= shift_on(w, t, code, k, d);
  return moved;
}

bool berth_i_move_shift(berth_i_words *w, berth_rng *rng, int32_t s, size_t i, int32_t *low,
                        int32_t *high) {
  berth_i_code code = w->code[i];
  int32_t k = number(w, s, i);
  int64_t d = distance(rng, w->begin[s + 1] - w->begin[s]);
  bool moved = false;
  draw_range(rng, w->p->p, s, low, high);
  for (int32_t t = *low; t <= *high; t++) moved |= shift_on(w, t, code, k, d);
  return moved;
}
