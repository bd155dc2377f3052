/* Tests in C, with TAP lines on standard output:
 *
 *   TEST("what holds") { ... }   defines and registers a test;
 *   CASE("what else holds")      within it begins another one, with a line of its own;
 *   SETUP { ... }                runs before each TEST of the file.
 *
 * main, at the end, runs the tests in the order of their lines, each with a new context, ctx,
 * whose memory must be given back when the test ends. */
#ifndef BERTH_CHECK_H
#define BERTH_CHECK_H

#include <berth/berth.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_tests, check_bad, check_failed; /* check_bad: failures within the present test */
static const char *check_name;
static berth_ctx *ctx;

static void check_close_test(void) {
  if (!check_name) return;
  printf("%s %d - %s\n", check_bad ? "not ok" : "ok", check_tests, check_name);
  check_failed += check_bad != 0;
  check_name = NULL;
}
static void check_begin(const char *name) {
  check_close_test();
  check_name = name;
  check_tests++;
  check_bad = 0;
}
static int check_report(int ok, const char *file, int line, const char *what) {
  if (!ok) {
    printf("# %s:%d: %s\n", file, line, what);
    check_bad++;
  }
  return ok;
}
static int check_near(double got, double want, double tol, const char *file, int line,
                      const char *what) {
  int ok = fabs(got - want) <= tol || got == want;
  if (!ok) printf("# %s:%d: %s is %.17g, not %.17g\n", file, line, what, got, want);
  check_bad += !ok;
  return ok;
}
static int check_status(int got, int want, const char *file, int line, const char *what) {
  if (got != want)
    printf("# %s:%d: %s gave status %d, not %d (%s)\n", file, line, what, got, want,
           ctx ? berth_errmsg(ctx) : "");
  check_bad += got != want;
  return got == want;
}
static int check_text(const char *got, const char *want, const char *file, int line) {
  int ok = got && strcmp(got, want) == 0;
  if (!ok) printf("# %s:%d: \"%s\", not \"%s\"\n", file, line, got ? got : "(null)", want);
  check_bad += !ok;
  return ok;
}
static void check_skip(const char *why) {
  printf("ok %d - %s # SKIP %s\n", check_tests, check_name, why);
  check_name = NULL;
}

typedef struct check_test {
  const char *name;
  int line;
  void (*run)(void);
} check_test;

enum { CHECK_MOST = 100 };
static check_test check_list[CHECK_MOST];
static int check_count;
static void (*check_setup)(void);

static void check_add(const char *name, int line, void (*run)(void)) {
  int i = check_count++;
  if (i == CHECK_MOST) exit(2);
  for (; i > 0 && check_list[i - 1].line > line; i--) check_list[i] = check_list[i - 1];
  check_list[i] = (check_test){ name, line, run };
}
#define CHECK_AT_START(line) __attribute__((constructor)) static void check_at_start_##line(void)
#define CHECK_DEFINE(name, line) \
  static void check_test_##line(void); \
  CHECK_AT_START(line) { check_add(name, line, check_test_##line); } \
  static void check_test_##line(void)
#define CHECK_DEFINE_AT(name, line) CHECK_DEFINE(name, line)
#define TEST(name) CHECK_DEFINE_AT(name, __LINE__)
#define CASE(name) check_begin(name);
#define SETUP \
  static void setup_test(void); \
  CHECK_AT_START(setup) { check_setup = setup_test; } \
  static void setup_test(void)
#define SKIP(why) check_skip(why)
#define CHECK(cond) check_report((cond) != 0, __FILE__, __LINE__, #cond)
#define CHECK_NEAR(got, want, tol) check_near((got), (want), (tol), __FILE__, __LINE__, #got)
#define CHECK_STATUS(call, want) check_status((int)(call), (int)(want), __FILE__, __LINE__, #call)
#define CHECK_OK(call) CHECK_STATUS(call, BERTH_OK)
#define CHECK_TEXT(got, want) check_text((got), (want), __FILE__, __LINE__)

/* Does the last error have this text within? */
static int says(const char *what) {
  int ok = strstr(berth_errmsg(ctx), what) != NULL;
  if (!ok) printf("# \"%s\" does not say \"%s\"\n", berth_errmsg(ctx), what);
  return ok;
}
/* The call fails with this status and this message; with a message that says this. */
#define CHECK_ERROR(call, want, text) \
  (CHECK_STATUS(call, want), CHECK_TEXT(berth_errmsg(ctx), text))
#define CHECK_SAYS(call, want, text) \
  (CHECK_STATUS(call, want), CHECK(says(text)))

/* A step of a job that may fail: it runs if all went well until now. */
#define TRY(st, step) \
  do \
    if ((st) == BERTH_OK) (st) = (step); \
  while (0)

/** How many random cases: all of them under `scripts/test --full`, which sets $BERTH_FULL; else a
 * few. */
static int check_runs(int few, int all) { return getenv("BERTH_FULL") ? all : few; }

/** The folder of test data, or NULL: `$BERTH_SHARED`, else ../shared. */
static const char *check_shared(void) {
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

static void *check_block(void *ptr, size_t osize) {
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
static int check_refuses(check_alloc_state *s) {
  s->calls++;
  return s->fail_at < 0 ? s->calls >= -s->fail_at : s->calls == s->fail_at;
}
static void *check_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
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

/* Objects that the present test releases at its end. */
typedef struct check_owned {
  void *object;
  void (*release)(void *);
} check_owned;

static check_owned *check_objects;
static int check_n, check_room;
static int check_mark, check_hooked; /* how many there were when hooks were set; are they? */

static void check_own(void *object, void (*release)(void *)) {
  if (check_n == check_room)
    check_objects = realloc(check_objects, (size_t)(check_room += 4096) * sizeof *check_objects);
  if (object) check_objects[check_n++] = (check_owned){ object, release };
}
static void check_disown(const void *object) {
  int i = check_n - 1;
  while (i >= 0 && check_objects[i].object != object) i--;
  if (i < 0) return;
  if (i < check_mark) check_mark--;
  check_n--;
  memmove(&check_objects[i], &check_objects[i + 1], (size_t)(check_n - i) * sizeof *check_objects);
}
static void check_release_to(int n) {
  while (check_n > n) {
    check_n--;
    check_objects[check_n].release(check_objects[check_n].object);
  }
}

/* From here on ctx is a new context with these hooks; NULL: with none. What was made since hooks
 * were set is released: they may be gone afterwards. */
static void hooked(const berth_hooks *hooks) {
  if (check_hooked) check_release_to(check_mark);
  check_mark = check_n;
  check_hooked = hooks != NULL;
  berth_ctx_release(ctx);
  CHECK_OK(berth_ctx_new(hooks, &ctx));
}

int main(void) {
  for (int i = 0; i < check_count; i++) {
    check_begin(check_list[i].name);
    hooked(NULL);
    if (check_setup) check_setup();
    check_list[i].run();
    check_release_to(0);
    CHECK(berth_ctx_memory(ctx) == 0);
  }
  check_close_test();
  free(check_objects);
  berth_ctx_release(ctx);
  printf("1..%d\n", check_tests);
  return check_failed != 0;
}

#endif
