/* Megatron's layout of a pipeline: "Et*3|(tt|)*29,m|L". Letters are layers (E embedding, t layer, m
 * prediction of further tokens, L loss), | ends a chunk, x*n repeats a layer or a group; commas and
 * blanks mean nothing. */
#include "launch_internal.h"
#include <stdio.h>

enum { MOST_LETTERS = 65536, DEEPEST = 20 };

typedef struct layout {
  const char *text, *p;
  char *letters; /* [MOST_LETTERS + 1] expanded */
  size_t n;
  char *why;
  size_t size;
  int depth;
} layout;

static bool refuse(const layout *y, const char *at, const char *reason) {
  if (!y->why[0]) snprintf(y->why, y->size, "character %d: %s", (int)(at - y->text) + 1, reason);
  return false;
}

static void skip(layout *y) { while (*y->p && strchr(" \t\r\n,", *y->p)) y->p++; }

/* The letters from `from` on so many times as a star says. */
static bool repeat(layout *y, size_t from) {
  skip(y);
  if (*y->p != '*') return true;
  y->p++;
  skip(y);
  const char *at = y->p;
  size_t times = 0, n = y->n - from;
  for (; *y->p >= '0' && *y->p <= '9' && times <= MOST_LETTERS; y->p++)
    times = 10 * times + (size_t)(*y->p - '0');
  if (y->p == at) return refuse(y, at, "a number is needed behind *");
  if (times > MOST_LETTERS || from + n * times > MOST_LETTERS)
    return refuse(y, at, "more than 65536 layers");
  for (size_t k = 1; k < times; k++) memcpy(y->letters + from + k * n, y->letters + from, n);
  y->n = from + n * times;
  return true;
}

static bool expand(layout *y, bool group) {
  for (skip(y); *y->p && *y->p != ')'; skip(y)) {
    size_t from = y->n;
    const char *at = y->p++;
    if (*at == '(') {
      if (++y->depth > DEEPEST) return refuse(y, at, "groups are nested too deeply");
      if (!expand(y, true)) return false;
      if (*y->p != ')') return refuse(y, at, "'(' without ')'");
      y->p++;
      y->depth--;
    } else if (strchr("EtmL|", *at)) {
      if (y->n == MOST_LETTERS) return refuse(y, at, "more than 65536 layers");
      y->letters[y->n++] = *at;
    } else return refuse(y, at, "is none of E t m L | ( ) * ,");
    if (!repeat(y, from)) return false;
  }
  return *y->p != ')' || group || refuse(y, y->p, "')' without '('");
}

static bool count_layers(const layout *y, int32_t *count, int32_t most, int32_t *chunks,
                         int32_t *predict) {
  int32_t c = 0, e = 0, l = 0;
  *predict = 0;
  count[0] = 0;
  for (size_t i = 0; i < y->n; i++) {
    const char x = y->letters[i];
    if (x == '|' && ++c < most) count[c] = 0;
    if (c >= most) break;
    e += x == 'E';
    l += x == 'L';
    count[c] += x == 't';
    *predict += x == 'm';
  }
  *chunks = c + 1;
  const char *reason = c >= most ? "has too many chunks" : NULL;
  if (e != 1 || y->letters[0] != 'E') reason = "begins with no E, or has several";
  if (l != 1 || y->letters[y->n - 1] != 'L') reason = "ends with no L, or has several";
  if (reason) snprintf(y->why, y->size, "%s", reason);
  return !reason;
}

berth_status berth_i_layout_read(berth_i_pool *pool, const char *text, int32_t *count,
                                 int32_t most, int32_t *chunks, int32_t *predict, char *why,
                                 size_t size) {
  char *letters = berth_i_pool_zalloc(pool, MOST_LETTERS + 1, 1);
  if (!letters) return berth_i_pool_status(pool);
  layout y = { .text = text, .p = text, .letters = letters, .why = why, .size = size };
  why[0] = '\0';
  bool fine = expand(&y, false) && (y.n > 0 || refuse(&y, text, "is empty"))
              && count_layers(&y, count, most, chunks, predict);
  return fine ? BERTH_OK : BERTH_EINVAL;
}
