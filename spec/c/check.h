/* Tests in C: TAP lines on standard output, one per TEST block. */
#ifndef BERTH_CHECK_H
#define BERTH_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_tests, check_bad, check_failed; /* check_bad: failures within the present test */
static const char *check_name;

static inline void check_close_test(void) {
  if (!check_name) return;
  printf("%s %d - %s\n", check_bad ? "not ok" : "ok", check_tests, check_name);
  check_failed += check_bad != 0;
  check_name = NULL;
}
static inline void check_begin(const char *name) {
  check_close_test();
  check_name = name;
  check_tests++;
  check_bad = 0;
}
static inline int check_report(int ok, const char *file, int line, const char *what) {
  if (!ok) {
    printf("# %s:%d: %s\n", file, line, what);
    check_bad++;
  }
  return ok;
}
static inline int check_near(double got, double want, double tol, const char *file, int line,
                             const char *what) {
  int ok = fabs(got - want) <= tol || got == want;
  if (!ok) printf("# %s:%d: %s is %.17g, not %.17g\n", file, line, what, got, want);
  check_bad += !ok;
  return ok;
}
static inline int check_status(int got, int want, const char *file, int line, const char *what) {
  if (got != want) printf("# %s:%d: %s gave status %d, not %d\n", file, line, what, got, want);
  check_bad += got != want;
  return got == want;
}
static inline int check_text(const char *got, const char *want, const char *file, int line) {
  int ok = got && strcmp(got, want) == 0;
  if (!ok) printf("# %s:%d: \"%s\", not \"%s\"\n", file, line, got ? got : "(null)", want);
  check_bad += !ok;
  return ok;
}
static inline void check_skip(const char *why) {
  printf("ok %d - %s # SKIP %s\n", check_tests, check_name, why);
  check_name = NULL;
}
static inline int check_done(void) {
  check_close_test();
  printf("1..%d\n", check_tests);
  return check_failed != 0;
}

#define TEST(name) check_begin(name);
#define SKIP(why) check_skip(why)
#define CHECK(cond) check_report((cond) != 0, __FILE__, __LINE__, #cond)
#define CHECK_NEAR(got, want, tol) check_near((got), (want), (tol), __FILE__, __LINE__, #got)
#define CHECK_STATUS(call, want) check_status((int)(call), (int)(want), __FILE__, __LINE__, #call)
#define CHECK_TEXT(got, want) check_text((got), (want), __FILE__, __LINE__)

/** How many random cases: all of them under `scripts/test --full`, which sets $BERTH_FULL; else a
 * few. */
static inline int check_runs(int few, int all) { return getenv("BERTH_FULL") ? all : few; }

/** The folder of test data, or NULL: `$BERTH_SHARED`, else ../shared. */
static inline const char *check_shared(void) {
  static const char *dir;
  if (dir) return dir[0] ? dir : NULL;
  dir = getenv("BERTH_SHARED");
  if (!dir) dir = "../shared";
  char path[4096];
  snprintf(path, sizeof path, "%s/data/stg/README.md", dir);
  FILE *f = fopen(path, "r");
  if (f) fclose(f);
  else dir = "";
  return dir[0] ? dir : NULL;
}

/* Allocator that refuses the n-th request (1-based; 0: never; -n: the n-th and all after it) and
 * counts what is still held. Before each block stands its size: a size given back that is another
 * one fails the test. */
typedef struct check_alloc_state {
  long calls, fail_at, held;
} check_alloc_state;

enum { CHECK_HEADER = 16 }; /* keeps the alignment of malloc */

static inline void *check_block(void *ptr, size_t osize) {
  char *block = ptr ? (char *)ptr - CHECK_HEADER : NULL;
  size_t kept = 0;
  if (block) memcpy(&kept, block, sizeof kept);
  if (kept != osize) {
    printf("# a block of %lu bytes is given back as one of %lu\n", (unsigned long)kept,
           (unsigned long)osize);
    check_bad++;
  }
  return block;
}
static inline int check_refuses(check_alloc_state *s) {
  s->calls++;
  return s->fail_at < 0 ? s->calls >= -s->fail_at : s->calls == s->fail_at;
}
static inline void *check_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  check_alloc_state *s = ud;
  char *block = check_block(ptr, osize);
  if (nsize == 0) {
    s->held -= (long)osize;
    free(block);
    return NULL;
  }
  if (check_refuses(s)) return NULL;
  block = realloc(block, CHECK_HEADER + nsize);
  if (!block) return NULL;
  memcpy(block, &nsize, sizeof nsize);
  s->held += (long)nsize - (long)osize;
  return block + CHECK_HEADER;
}

#endif
