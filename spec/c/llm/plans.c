/* The plan search in C: the best split of layers against all splits, what is found, refusals,
 * allocation failure. Brute force over whole spaces: spec/lua/llm/search_spec.lua. */
#include "llm/plans/plans_internal.h"
#include "refusals.h"

static berth_status make(berth_llm **m, berth_llm_cluster **c, const char *gpus) {
  berth_llm_shapes s = berth_llm_shapes_default();
  s.layers = 7, s.hidden = 512, s.heads = 8, s.vocab = 32000;
  berth_status st = berth_llm_new(ctx, &s, m);
  return st == BERTH_OK ? berth_llm_cluster_parse(ctx, gpus, c) : st;
}

static berth_llm_search_options options(void) {
  berth_llm_search_options o = berth_llm_search_default();
  o.plan.global_batch = 8;
  o.plan.seq = 256;
  return o;
}

/* ---- the split ---- */

/* s of a micro-batch at the fullest place of a plan. */
static double fullest(const berth_llm *m, const berth_llm_cluster *c, const berth_llm_plan *p) {
  berth_i_llm_step s;
  double most = 0;
  berth_llm_factors f = berth_llm_factors_of(p->framework, NULL);
  CHECK_OK(berth_i_llm_step_make(m, c, p, &f, &s));
  for (int32_t i = 0; i < p->pp; i++) most = fmax(most, s.stage[i].forward + s.stage[i].backward);
  berth_i_pool_free(&s.pool);
  return most;
}

static void check_split(const char *gpus) {
  berth_llm *m = NULL;
  berth_llm_cluster *c = NULL;
  berth_llm_plan p = berth_llm_plan_default();
  int32_t stages[3];
  CHECK_OK(make(&m, &c, gpus));
  p.pp = 3, p.seq = 256, p.global_batch = 6;
  p.overlap_p2p = BERTH_LLM_ON; /* transfers are not part of a stage's work */
  CHECK_OK(berth_llm_plan_fill(m, c, &p));
  berth_llm_factors f = berth_llm_factors_of(p.framework, NULL);
  CHECK_OK(berth_i_llm_best_split(m, c, &p, &f, stages));
  p.stages = stages, p.n_stages = 3;
  double best = fullest(m, c, &p);
  for (int32_t a = 1; a <= 5; a++)
    for (int32_t b = 1; a + b <= 6; b++) {
      int32_t other[] = { a, b, 7 - a - b };
      p.stages = other;
      CHECK(fullest(m, c, &p) >= best * (1 - 1e-12));
    }
  berth_llm_cluster_release(c);
  berth_llm_release(m);
}

TEST("no split of layers has less at its fullest place, on alike GPUs and on unlike ones") {
  check_split("3xA100");
  check_split("1xA100+2xH100");
}

/* ---- the search ---- */

TEST("plans are ranked, and live as long as the search") {
  berth_llm *m = NULL;
  berth_llm_cluster *c = NULL;
  berth_llm_search *s = NULL;
  berth_llm_search_options o = options();
  CHECK_OK(make(&m, &c, "4xA100"));
  CHECK_OK(berth_llm_search_run(m, c, &o, &s));
  berth_llm_cluster_release(c);
  berth_llm_release(m);
  berth_llm_search_retain(s);
  berth_llm_search_release(s);
  const berth_llm_search_about *a = berth_llm_search_about_of(s);
  const berth_llm_found *x = berth_llm_search_plans(s);
  CHECK(a->fits && a->n > 16 && a->valued > 0 && a->left == 0);
  CHECK(x[0].roles & BERTH_LLM_BEST && x[0].step >= a->bound && a->best <= x[0].closed * 1.001);
  for (int32_t i = 1; i < a->n; i++) CHECK(x[i].step >= x[i - 1].step);
  for (int32_t i = 0; i < a->n; i++)
    CHECK(x[i].plan.tp * x[i].plan.cp * x[i].plan.pp * x[i].plan.dp == 4);
  berth_llm_search_release(s);
}

TEST("refusals leave what they are given") {
  berth_llm *m = NULL;
  berth_llm_cluster *c = NULL;
  berth_llm_search *s = NULL;
  berth_llm_search_options o = options();
  CHECK_OK(make(&m, &c, "4xA100"));
  CHECK_ERROR(berth_llm_search_run(m, c, NULL, &s), BERTH_EINVAL,
              "a search requires global_batch: sequences of a step");
  o.fill = 2;
  CHECK_STATUS(berth_llm_search_run(m, c, &o, &s), BERTH_EINVAL);
  o = options();
  const int32_t three = 3;
  o.tp = &three, o.n_tp = 1;
  CHECK_SAYS(berth_llm_search_run(m, c, &o, &s), BERTH_EINVAL, "divides the GPUs");
  CHECK_STATUS(berth_llm_search_run(NULL, c, &o, &s), BERTH_EINVAL);
  CHECK(!s);
  berth_llm_search_release(s);
  berth_llm_cluster_release(c);
  berth_llm_release(m);
}

/* ---- functions ---- */

typedef struct seen {
  int32_t values, priors, fail_at; /* fail_at: of the calls of both */
} seen;

static berth_status count(seen *x) {
  return x->values + x->priors == x->fail_at ? BERTH_ECALLBACK : BERTH_OK;
}

static berth_status memory_time(void *ud, const berth_llm_found *x, double *out) {
  seen *s = ud;
  s->values++;
  *out = x->memory * (isnan(x->step) ? x->closed : x->step);
  return count(s);
}

static berth_status few_stages(void *ud, const berth_llm_plan *p, double *out) {
  seen *s = ud;
  s->priors++;
  *out = p->pp > 2 ? 0 : 1.0 / p->pp;
  return count(s);
}

TEST("functions rank and allow plans; what they return ends the search") {
  berth_llm *m = NULL;
  berth_llm_cluster *c = NULL;
  berth_llm_search *s = NULL;
  seen x = { 0 };
  berth_llm_search_options o = options();
  o.value = memory_time, o.prior = few_stages, o.ud = &x;
  CHECK_OK(make(&m, &c, "4xA100"));
  CHECK_OK(berth_llm_search_run(m, c, &o, &s));
  const berth_llm_search_about *a = berth_llm_search_about_of(s);
  const berth_llm_found *y = berth_llm_search_plans(s);
  int64_t tried = a->excluded + a->unfit + a->bounded + a->valued + a->failed + a->left;
  CHECK(a->excluded > 0 && a->bounded == 0 && x.priors == tried && x.values > a->valued);
  for (int32_t i = 0; i < a->n; i++) CHECK(y[i].plan.pp <= 2 && y[i].value >= y[0].value);
  int32_t calls = x.values + x.priors;
  berth_llm_search_release(s);
  for (int32_t i = 1; i <= calls; i += calls / 5) {
    x = (seen){ .fail_at = i };
    s = NULL;
    CHECK_STATUS(berth_llm_search_run(m, c, &o, &s), BERTH_ECALLBACK);
    CHECK(!s);
  }
  berth_llm_cluster_release(c);
  berth_llm_release(m);
}

/* ---- allocation failure ---- */

static berth_status whole(void) {
  berth_llm *m = NULL;
  berth_llm_cluster *c = NULL;
  berth_llm_search *s = NULL;
  berth_llm_search_options o = options();
  const int32_t one = 1, two = 2;
  o.micro_batch = o.cp = &one, o.pp = &two, o.n_micro_batch = o.n_cp = o.n_pp = 1;
  o.schedule = o.zero = &one, o.n_zero = 1;
  seen x = { 0 };
  o.finalists = o.front = 1;
  o.prior = few_stages, o.value = memory_time, o.ud = &x;
  berth_status st = make(&m, &c, "2xA100");
  if (st == BERTH_OK) st = berth_llm_search_run(m, c, &o, &s);
  berth_llm_search_release(s);
  berth_llm_cluster_release(c);
  berth_llm_release(m);
  return st;
}
TEST_REFUSALS(whole)
