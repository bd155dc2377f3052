/* Which of many names a misspelt one may stand for, and the list of legal names in messages.
 * Distance: optimal string alignment (letters inserted, left out, replaced, neighbours swapped)
 * without regard to case, and with "-", "_" and " " alike. O(length^2) a name. */
#include "base_internal.h"
#include <ctype.h>

enum { MOST_LETTERS = 40, MOST_LISTED = 10, CUT_TO = 5, FAR = 99 };

static int letter(char c) { return c == '_' || c == ' ' ? '-' : tolower((unsigned char)c); }

static int least(int a, int b) { return a < b ? a : b; }

int berth_name_distance(const char *a, const char *b) {
  size_t n = strlen(a), m = strlen(b);
  if (n > MOST_LETTERS || m > MOST_LETTERS) return strcmp(a, b) == 0 ? 0 : FAR;
  int d[MOST_LETTERS + 1][MOST_LETTERS + 1];
  int replaced = n > 3 || m > 3 ? 1 : 2; /* "tau" is no misspelt "gap" */
  for (size_t i = 0; i <= n; i++) d[i][0] = (int)i;
  for (size_t k = 0; k <= m; k++) d[0][k] = (int)k;
  for (size_t i = 1; i <= n; i++) {
    for (size_t k = 1; k <= m; k++) {
      int x = letter(a[i - 1]), y = letter(b[k - 1]);
      d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1, d[i - 1][k - 1] + (x != y) * replaced);
      if (i > 1 && k > 1 && x == letter(b[k - 2]) && y == letter(a[i - 2]))
        d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
    }
  }
  return d[n][m];
}

static bool begins(const char *name, const char *word) {
  for (; *word; word++, name++)
    if (letter(*name) != letter(*word)) return false;
  return true;
}

/* Least first: the name in other letter case, names that begin with the word, then by distance. */
static int rank(const char *word, const char *name) {
  int distance = berth_name_distance(word, name);
  if (distance > 0 && strlen(word) >= 3 && begins(name, word)) return 1;
  return distance > 0 ? 1 + distance : 0;
}

/* Words for what has another name here. */
static const char *synonym(const char *word, const char *const *names, int32_t n) {
  static const char *const other[][2] = {
    { "time", "seconds" }, { "duration", "seconds" }, { "runtime", "seconds" },
    { "size", "bytes" }, { "source", "from" }, { "src", "from" }, { "target", "to" },
    { "dst", "to" }
  };
  for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
    for (int32_t i = 0; i < n && strcmp(word, other[k][0]) == 0; i++)
      if (strcmp(names[i], other[k][1]) == 0) return names[i];
  }
  return NULL;
}

const char *berth_name_nearest(const char *word, const char *const *names, int32_t n) {
  int best = FAR;
  const char *found = NULL;
  for (int32_t i = 0; word && i < n; i++) {
    int r = rank(word, names[i]);
    if (r < best) best = r, found = names[i];
  }
  if (best <= 1) return found;
  if (found && best - 1 <= (strlen(word) < 6 ? 1 : (int)strlen(word) / 3)) return found;
  return word ? synonym(word, names, n) : NULL;
}

typedef struct text {
  char *buf;
  size_t size, used;
} text;

static void add(text *t, const char *format, const char *s, int count) {
  size_t at = least((int)t->used, (int)t->size);
  int n = count >= 0 ? berth_snprintf(t->buf + at, t->size - at, format, count)
                     : berth_snprintf(t->buf + at, t->size - at, format, s);
  t->used += (size_t)n;
}

/* The names of least rank, in their order: those under the limit, and the first ones at it. */
static void add_nearest(text *t, const char *word, const char *const *names, int32_t n) {
  int limit = 0;
  for (int32_t under = 0; under < CUT_TO; limit++) {
    under = 0;
    for (int32_t i = 0; i < n; i++) under += least(rank(word, names[i]), FAR) <= limit;
  }
  limit--;
  int32_t at_limit = CUT_TO, shown = 0;
  for (int32_t i = 0; i < n; i++) at_limit -= least(rank(word, names[i]), FAR) < limit;
  for (int32_t i = 0; i < n; i++) {
    int r = least(rank(word, names[i]), FAR);
    if (r > limit || (r == limit && at_limit-- <= 0)) continue;
    add(t, shown++ ? ", %s" : "%s", names[i], -1);
  }
}

size_t berth_names_text(const char *word, const char *const *names, int32_t n, const char *all,
                        char *buf, size_t size) {
  text t = { buf, size, 0 };
  const char *meant = berth_name_nearest(word, names, n);
  if (size > 0) buf[0] = '\0';
  if (n <= MOST_LISTED) {
    for (int32_t i = 0; i < n; i++) add(&t, i ? ", %s" : "%s", names[i], -1);
  } else {
    if (meant) add(&t, "%d names", NULL, (int)n);
    else {
      add_nearest(&t, word ? word : "", names, n);
      add(&t, " and %d more", NULL, (int)n - CUT_TO);
    }
    if (all) add(&t, "; %s lists all", all, -1);
  }
  if (meant) add(&t, "; did you mean '%s'?", meant, -1);
  return t.used;
}
