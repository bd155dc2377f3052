/* The finalists: candidates with even and with best split of layers, in closed form; the best of
 * them on the event loop, and further ones while their closed form is below the best that ran. */
#include "plans_internal.h"

/* A found plan, and the same with the best split of layers. */
typedef struct candidate {
  berth_llm_found even, split;  /* split.value is INFINITY: none is better */
  bool further;                 /* beyond the number of finalists */
} candidate;

static double value_of(const candidate *y) { return fmin(y->even.value, y->split.value); }

/* ---- the best split ---- */

static berth_status split_layers(const berth_i_llm_valuer *x, berth_i_pool *pool, candidate *y) {
  berth_llm_plan *p = &y->split.plan;
  double share;
  int32_t n = p->pp * p->vp, *stages = berth_i_pool_alloc(pool, (size_t)n, sizeof *stages);
  y->split.value = INFINITY;
  berth_status st = berth_i_pool_status(pool);
  if (st == BERTH_OK) st = berth_i_llm_best_split(x->s->m, x->s->c, p, &x->s->f, stages);
  p->stages = stages, p->n_stages = n, p->embedding_as_layer = 0;
  if (st == BERTH_OK) st = berth_i_llm_value_memory(x, p, &y->split.memory, &share);
  if (st != BERTH_OK || share > x->o->fill) return st;
  if ((st = berth_i_llm_value_closed(x, p, &y->split.closed)) != BERTH_OK) return st;
  return berth_i_llm_value_of(x, &y->split);
}

static bool in_lists(const berth_llm_found *y) { return y->roles != BERTH_LLM_ON_FRONT; }

static berth_status split_all(const berth_i_llm_valuer *x, berth_i_pool *pool, candidate *y,
                              int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    const berth_llm_plan *p = &y[i].even.plan;
    berth_status st = BERTH_OK;
    if (in_lists(&y[i].even) && p->pp > 1 && !x->o->plan.stages)
      st = split_layers(x, pool, &y[i]);
    if (berth_i_llm_refusal(st)) y[i].split.value = INFINITY;
    else if (st != BERTH_OK) return st;
  }
  return BERTH_OK;
}

/* ---- the order ---- */

/* Stable. */
static void sort_by_value(candidate *y, int32_t n) {
  for (int32_t i = 1; i < n; i++) {
    candidate one = y[i];
    int32_t k = i;
    for (; k > 0 && value_of(&y[k - 1]) > value_of(&one); k--) y[k] = y[k - 1];
    y[k] = one;
  }
}

/* Keeps the best, half as many splits as finalists, the best of each kind and the front. */
static int32_t choose(candidate *y, int32_t n, int32_t finalists) {
  int32_t kept = 0, best = 0, split = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t *roles = &y[i].even.roles;
    bool beyond = *roles & BERTH_LLM_BEST && best++ >= finalists;
    if (*roles & BERTH_LLM_BEST_SPLIT && split++ >= (finalists + 1) / 2)
      *roles &= ~BERTH_LLM_BEST_SPLIT;
    y[i].split.roles = *roles;
    y[i].further = beyond && *roles == BERTH_LLM_BEST;
    if (*roles) y[kept++] = y[i];
  }
  return kept;
}

/* Those that did not run come last. */
static double key_of(const berth_llm_found *y) { return isnan(y->step) ? INFINITY : y->value; }

/* The best first; those that did not run by their value, last. Stable. */
static void rank(berth_llm_found *found, int32_t n) {
  for (int32_t i = 1; i < n; i++) {
    berth_llm_found y = found[i];
    double key = key_of(&y);
    int32_t k = i;
    for (; k > 0; k--) {
      const berth_llm_found *z = &found[k - 1];
      double other = key_of(z);
      if (other < key || (!(key < other) && z->value <= y.value)) break;
      found[k] = *z;
    }
    found[k] = y;
  }
}

/* ---- the event loop ---- */

/* A refusal leaves it in closed form. */
static berth_status run(const berth_i_llm_valuer *x, berth_llm_found *y) {
  berth_status st = berth_i_llm_value_events(x, &y->plan, &y->step);
  if (st == BERTH_OK) return berth_i_llm_value_of(x, y);
  return berth_i_llm_refusal(st) ? BERTH_OK : st;
}

static berth_status run_both(const berth_i_llm_valuer *x, const candidate *y,
                             berth_llm_found *out) {
  berth_llm_found z = y->split;
  *out = y->even;
  berth_status st = run(x, out);
  if (st != BERTH_OK || isinf(z.value)) return st;
  st = run(x, &z);
  if (key_of(&z) < key_of(out)) *out = z;
  return st;
}

/* Further candidates that do not run are left out. */
static berth_status run_all(const berth_i_llm_valuer *x, double started, const candidate *y,
                            int32_t *n, berth_llm_found *out) {
  berth_ctx *ctx = x->s->m->pool.ctx;
  bool over = false;
  double best = INFINITY;
  int32_t kept = 0;
  for (int32_t i = 0; i < *n; i++) {
    berth_llm_found *z = &out[kept];
    over = over || (i > 0 && x->o->seconds > 0
                    && berth_i_ctx_clock(ctx) - started >= x->o->seconds);
    over = over || berth_i_interrupted(ctx) != BERTH_OK;
    if (y[i].further && (over || value_of(&y[i]) >= best)) continue;
    *z = y[i].even;
    kept++;
    if (over || !in_lists(z)) continue;
    berth_i_progress(ctx, "finalists", (double)i / *n);
    berth_status st = run_both(x, &y[i], z);
    if (st == BERTH_EINTERRUPT) over = true;
    else if (st != BERTH_OK) return st;
    if (!isnan(z->step)) best = fmin(best, z->value);
  }
  *n = kept;
  return BERTH_OK;
}

berth_status berth_i_llm_run_finalists(const berth_i_llm_valuer *x, berth_i_pool *pool,
                                       double started, berth_llm_found *found, int32_t *n) {
  candidate *y = berth_i_pool_alloc(&x->s->pool, (size_t)*n, sizeof *y);
  if (!y) return berth_i_nomem(x->s->m->pool.ctx);
  for (int32_t i = 0; i < *n; i++) {
    y[i] = (candidate){ .even = found[i], .split = found[i] };
    y[i].split.value = INFINITY;
  }
  berth_status st = split_all(x, pool, y, *n);
  if (st != BERTH_OK) return st;
  sort_by_value(y, *n);
  *n = choose(y, *n, x->o->finalists);
  st = run_all(x, started, y, n, found);
  rank(found, *n);
  return st;
}
