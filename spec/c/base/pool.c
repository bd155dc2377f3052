/* Pools: arrays that are freed by one call. */
#include "base/pool_internal.h"
#include "check.h"

static check_alloc_state s;

SETUP {
  s = (check_alloc_state){ 0, 0, 0 };
  hooked(&(berth_hooks){ .alloc = check_alloc, .alloc_ud = &s });
}

TEST("arrays of a pool: zeroed, copied, empty, moved, freed by one call") {
  long held = s.held;
  berth_i_pool p = berth_i_pool_empty(ctx);
  double given[3] = { 1, 2, 3 };
  double *x = berth_i_pool_copy(&p, given, 3, sizeof *x);
  int32_t *z = berth_i_pool_zalloc(&p, 1000, sizeof *z);
  char *text = berth_i_pool_strdup(&p, "berth");
  CHECK(x[0] == 1 && x[2] == 3 && z[0] == 0 && z[999] == 0 && strcmp(text, "berth") == 0);
  CHECK(berth_i_pool_alloc(&p, 0, 8) != NULL);
  CHECK((uintptr_t)x % 16 == 0 && (uintptr_t)z % 16 == 0);
  CHECK(s.held - held == 3 * 32 + 3 * 8 + 4000 + 6);
  CHECK(berth_i_pool_status(&p) == BERTH_OK);
  berth_i_pool moved = p;
  CHECK(berth_i_pool_alloc(&moved, 1, 8) != NULL);
  berth_i_pool_free(&moved);
  CHECK(s.held == held);
  berth_i_pool_free(&moved);
  CHECK(berth_i_pool_alloc(&moved, 5, 1) != NULL);
  berth_i_pool_free(&moved);
}

/* Two arrays grow in turn, so that blocks at both ends and in the middle of the list move. */
TEST("arrays of a pool grow and keep what they hold") {
  berth_i_pool p = berth_i_pool_empty(ctx);
  void *at[3] = { NULL, NULL, NULL };
  size_t cap[3] = { 0, 0, 0 };
  bool same = true;
  for (int32_t i = 0; i < 3000; i++) {
    int32_t k = i % 3;
    CHECK(berth_i_pool_grow(&p, &at[k], &cap[k], (size_t)i / 3 + 1, sizeof(int32_t)) == BERTH_OK);
    ((int32_t *)at[k])[i / 3] = i;
  }
  for (int32_t i = 0; i < 3000; i++) same = same && ((int32_t *)at[i % 3])[i / 3] == i;
  CHECK(same);
  berth_i_pool_free(&p);
}

TEST("a refused request marks the pool, a refused growth does not") {
  berth_i_pool p = berth_i_pool_empty(ctx);
  void *grown = NULL;
  size_t cap = 0;
  CHECK(berth_i_pool_alloc(&p, 4, 8) != NULL);
  CHECK(berth_i_pool_grow(&p, &grown, &cap, 4, 8) == BERTH_OK);
  s.fail_at = s.calls + 1;
  CHECK(berth_i_pool_grow(&p, &grown, &cap, 400, 8) == BERTH_ENOMEM && cap == 8);
  CHECK(berth_i_pool_grow(&p, &grown, &cap, SIZE_MAX / 8, 8) == BERTH_ENOMEM && cap == 8);
  CHECK(berth_i_pool_status(&p) == BERTH_OK);
  s.fail_at = s.calls + 1;
  CHECK(berth_i_pool_alloc(&p, 4, 8) == NULL && berth_i_pool_alloc(&p, 4, 8) == NULL);
  CHECK(berth_i_pool_status(&p) == BERTH_ENOMEM);
  CHECK(berth_i_pool_status(&p) == BERTH_OK && berth_i_pool_alloc(&p, 4, 8) != NULL);
  berth_i_pool_free(&p);
  CHECK(berth_i_pool_alloc(&p, SIZE_MAX / 4, 8) == NULL && berth_i_pool_status(&p) == BERTH_ENOMEM);
  berth_i_pool_free(&p);
}

typedef struct object {
  berth_i_pool pool;
  int32_t n, *list;
} object;

TEST("an object is freed with the pool with which it begins") {
  long held = s.held;
  object *o = berth_i_pool_object(ctx, sizeof *o);
  CHECK(o->n == 0 && o->list == NULL);
  o->list = berth_i_pool_alloc(&o->pool, 7, sizeof *o->list);
  CHECK(o->list && berth_i_pool_copy(&o->pool, NULL, 7, 1) == NULL
        && berth_i_pool_status(&o->pool) == BERTH_OK);
  berth_i_pool_free(&o->pool);
  CHECK(s.held == held);
  s.fail_at = s.calls + 1;
  CHECK(berth_i_pool_object(ctx, sizeof *o) == NULL);
}
