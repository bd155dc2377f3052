/* What the tests of the room assign share. */
#ifndef BERTH_ASSIGN_HELP_H
#define BERTH_ASSIGN_HELP_H

#include "sim/sim_help.h"

/** Assignment and one run of n episodes of a setup that has its topology. */
typedef struct episode_setup {
  berth_assign *a;
  berth_episodes *e;
} episode_setup;

MUST(berth_assign *, assign_new, (berth_cost *c, const berth_assign_options *o), c, o, &out)
MUST(berth_episodes *, episodes_new, (berth_assign *a, int32_t n), a, n, &out)

static episode_setup episodes_of(const setup *s, const berth_assign_options *o, int32_t n) {
  berth_assign *a = must_assign_new(s->cost, o);
  return (episode_setup){ a, must_episodes_new(a, n) };
}

static void check_doubles(const double *got, const double *want, int32_t n, const char *what) {
  for (int32_t i = 0; i < n; i++) {
    if (!CHECK_NEAR(got[i], want[i], 1e-12)) printf("# %s, number %d\n", what, (int)i);
  }
}
static void check_ids(const int32_t *got, const int32_t *want, int32_t n, const char *what) {
  for (int32_t i = 0; i < n; i++) {
    if (!CHECK(got[i] == want[i]))
      printf("# %s, number %d: %d, not %d\n", what, (int)i, (int)got[i], (int)want[i]);
  }
}

/* Of a single episode. */
static void check_candidates(const berth_episodes *e, int32_t n, const int32_t *want) {
  const int32_t *first, *ops;
  if (CHECK(berth_episodes_candidates(e, &first, &ops) == n)) check_ids(ops, want, n, "candidates");
}
static void check_devices(berth_episodes *e, int32_t op, int32_t n, const double *want) {
  double got[64];
  if (CHECK_OK(berth_episodes_devices(e, &op, got)))
    check_doubles(got, want, n, "devices");
}
static void put(berth_episodes *e, int32_t op, int32_t device) {
  CHECK_OK(berth_episodes_assign(e, &op, &device));
}

#endif
