/* The clairvoyant bound's solver: errors in it, interrupts, size. */
#include "extern/glpk_internal.h"
#include "must.h"
#include <glpk.h>

static int stop(void *ud) { return ++*(int *)ud > 1; }

static void many_jobs(berth_clairvoyant_jobs *k, double *arrival, int32_t *first,
                      berth_clairvoyant_choice *choice, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    arrival[i] = i;
    first[i + 1] = 9 * (i + 1);
    for (int32_t c = 0; c < 9; c++)
      choice[9 * i + c] =
          (berth_clairvoyant_choice){ 700.0 * (1 + i % 7) / (c + 1) + c * 0.37, c + 1 };
  }
  first[0] = 0;
  *k = (berth_clairvoyant_jobs){ n, arrival, first, choice, 32, 1e-7 };
}

/* A program of many columns of few entries, in little memory. */
static berth_status in_memory(int32_t megabytes, double *value) {
  enum { N = 20000 };
  static double cost[N], most[N], x[N], dual[1], entry[N];
  static int32_t at[N + 1], row[N];
  static const double bound[1] = { 5 };
  static const uint8_t equal[1] = { 0 };
  berth_i_glpk_program p = { 1, N, bound, equal, cost, most, at, row, entry, megabytes };
  int32_t j, steps = 0;
  for (j = 0; j < N; j++) {
    cost[j] = entry[j] = 1;
    most[j] = 1;
    at[j + 1] = j + 1;
  }
  berth_status st = berth_i_glpk_maximise(ctx, &p, x, dual, &steps);
  for (j = 0, *value = 0; j < N; j++) *value += x[j];
  return st;
}

TEST("the solver's errors do not abort, and leave the caller's use of it alone") {
  glp_prob *own = glp_create_prob(); /* the caller's, on the caller's thread */
  glp_add_rows(own, 3);
  double value;
  CHECK_ERROR(in_memory(1, &value), BERTH_ENOMEM, "GLPK is out of memory");
  CHECK_OK(in_memory(0, &value));
  CHECK_NEAR(value, 5, 1e-9);
  CHECK(glp_get_num_rows(own) == 3);
  glp_delete_prob(own);
}

TEST("it can be interrupted") {
  enum { N = 3000 };
  static double arrival[N];
  static int32_t first[N + 1];
  static berth_clairvoyant_choice choice[9 * N];
  berth_clairvoyant_jobs k;
  int asked = 0;
  berth_hooks hooks = { NULL, NULL, NULL, stop, NULL, &asked };
  berth_clairvoyant *s = NULL;
  many_jobs(&k, arrival, first, choice, N);
  hooked(&hooks);
  CHECK_ERROR(berth_clairvoyant_new(ctx, &k, &s), BERTH_EINTERRUPT, "interrupted");
  hooked(NULL);
}

TEST("1001 arrivals with nine choices each are solved, with a proof") {
  enum { N = 1001 };
  static double arrival[N];
  static int32_t first[N + 1];
  static berth_clairvoyant_choice choice[9 * N];
  berth_clairvoyant_jobs k;
  berth_clairvoyant *s = NULL;
  many_jobs(&k, arrival, first, choice, N);
  CHECK_OK(berth_clairvoyant_new(ctx, &k, &s));
  const berth_clairvoyant_summary *a = berth_clairvoyant_get(s);
  CHECK_NEAR(a->value, a->bound, 1e-7 * a->bound);
  CHECK(a->jobs == (int32_t)floor(a->bound) && a->moments == N);
  RELEASE(s);
}
