/* Order maintenance: labels rise along the list, however often one place is inserted at. */
#include "graph/transforms/line_internal.h"
#include "must.h"

enum { THINGS = 40 };

/* All things, in the order of `want`, and labels that say so. */
static void check_order(const berth_i_line *l, const int32_t *want) {
  int32_t x = l->next[l->n];
  for (int32_t i = 0; i < l->n; i++, x = l->next[x]) {
    CHECK(x == want[i] && l->prev[l->next[x]] == x);
    CHECK(i == 0 || berth_i_line_before(l, want[i - 1], x));
  }
  CHECK(x == l->n);
}

/* Takes the thing at `from` out and puts it behind the one that is then at `after`. */
static void move(berth_i_line *l, int32_t *want, int32_t from, int32_t after) {
  int32_t x = want[from];
  berth_i_line_remove(l, x);
  memmove(want + from, want + from + 1, (size_t)(l->n - 1 - from) * sizeof *want);
  berth_i_line_insert(l, x, want[after]);
  memmove(want + after + 2, want + after + 1, (size_t)(l->n - 2 - after) * sizeof *want);
  want[after + 1] = x;
}

static void check_moves(int32_t after) {
  berth_i_pool pool = berth_i_pool_empty(ctx);
  berth_rng rng = seeded(1, 0);
  int32_t want[THINGS];
  for (int32_t i = 0; i < THINGS; i++) want[i] = i;
  berth_i_line l;
  CHECK_OK(berth_i_line_init(&pool, THINGS, want, &l));
  for (int32_t i = 0; i < 400; i++) {
    move(&l, want, berth_rng_below(&rng, THINGS),
         after >= 0 ? after : berth_rng_below(&rng, THINGS - 1));
    if (i % 10 == 0) check_order(&l, want);
  }
  check_order(&l, want);
  berth_i_pool_free(&pool);
}

TEST("400 things in turn put behind the first") { check_moves(0); }
TEST("400 things in turn put behind the tenth") { check_moves(9); }
TEST("400 things in turn put at the end") { check_moves(THINGS - 2); }
TEST("400 things in turn put anywhere") { check_moves(-1); }
