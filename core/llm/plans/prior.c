/* The order of the visits by a prior. */
#include "plans_internal.h"
#include "base/sort_internal.h"

typedef struct ranked {
  double prior;
  int64_t place;  /* by bound */
  berth_i_llm_entry e;
} ranked;

BERTH_I_SORT(sort_ranked, ranked, BERTH_I_DOWN(prior) BERTH_I_UP(place))

enum { TURN = 256 };

static berth_status prior_of(const berth_i_llm_space *s, const berth_i_llm_entry *e, double *out) {
  berth_llm_plan p = berth_i_llm_entry_plan(s, e);
  *out = 0;
  berth_status st = s->o->prior(s->o->ud, &p, out);
  if (st == BERTH_OK && isnan(*out))
    st = berth_i_fail(s->m->pool.ctx, BERTH_EINVAL, "the prior gave NaN for tp %d, pp %d",
                      (int)p.tp, (int)p.pp);
  return st;
}

static berth_status by_prior(berth_i_llm_space *s, int64_t *excluded) {
  berth_ctx *ctx = s->m->pool.ctx;
  size_t n = 0;
  ranked *list = berth_i_pool_alloc(&s->pool, s->n, sizeof *list);
  if (!list) return berth_i_nomem(ctx);
  for (size_t i = 0; i < s->n; i++) {
    double prior;
    berth_status st = i % TURN ? BERTH_OK : berth_i_interrupted(ctx);
    if (st == BERTH_OK) st = prior_of(s, &s->entry[i], &prior);
    if (st != BERTH_OK) return st;
    if (prior > 0) list[n++] = (ranked){ .prior = prior, .place = (int64_t)i, .e = s->entry[i] };
  }
  if (!n)
    return berth_i_fail(ctx, BERTH_EINVAL, "the prior allows none of %lld plans",
                        (long long)s->n);
  sort_ranked(list, n);
  for (size_t i = 0; i < n; i++) s->entry[i] = list[i].e;
  *excluded = (int64_t)(s->n - n);
  s->n = n;
  return BERTH_OK;
}

berth_status berth_i_llm_space_order(berth_i_llm_space *s, berth_llm_search_about *about) {
  berth_status st = s->o->prior ? by_prior(s, &about->excluded) : BERTH_OK;
  about->bound = INFINITY;
  for (size_t i = 0; i < s->n; i++) about->bound = fmin(about->bound, s->entry[i].any_split);
  return st;
}
