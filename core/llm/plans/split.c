/* The split of layers with the least load of the fullest place, by the stage's own prices. */
#include "plans_internal.h"

/* s of a micro-batch at a place: sums over the layers before each one, and what is at the ends. */
typedef struct loads {
  const double *sum; /* [layers + 1] of the place's group */
  double first, last;
} loads;

static double work_of(const berth_i_llm_passes *x) {
  return berth_i_llm_sum(&x->forward) + berth_i_llm_sum(&x->input) + berth_i_llm_sum(&x->weight);
}

static berth_status loads_of(const berth_llm *m, const berth_llm_plan *p, const berth_llm_gpus *g,
                             const berth_llm_factors *f, double *sum, loads *out) {
  berth_i_llm_prices at;
  berth_i_llm_passes pass;
  double kind[BERTH_I_LLM_KINDS];
  berth_status st = berth_i_llm_prices_of(m->pool.ctx, m, p, g, f, &at);
  if (st != BERTH_OK) return st;
  for (int32_t k = 0; k < m->about.kinds; k++) {
    berth_i_llm_price_layer(&at, k, p->recompute == BERTH_LLM_FULL && !p->recompute_layers, &pass);
    kind[k] = work_of(&pass);
  }
  sum[0] = 0;
  for (int32_t l = 0; l < m->about.layers; l++) sum[l + 1] = sum[l] + kind[m->layer[l]];
  berth_i_llm_price_embedding(&at, &pass);
  out->first = work_of(&pass);
  berth_i_llm_price_head(&at, &pass);
  out->last = work_of(&pass);
  out->sum = sum;
  return BERTH_OK;
}

/* most[i][l]: least load of the fullest of places 0..i with the first l layers; from[i][l]: where
 * place i begins then. Of equal splits the one whose last places have fewest layers. */
static void fill_table(int32_t n, int32_t layers, const loads *x, double *most, int32_t *from) {
  int32_t row = layers + 1;
  for (int32_t i = 0; i < n; i++)
    for (int32_t l = i + 1; l <= layers - (n - 1 - i); l++) {
      double *best = &most[i * row + l];
      *best = INFINITY;
      for (int32_t k = l - 1; k >= (i ? i : 0); k--) {
        if (i == 0 && k > 0) continue;
        double load = x[i].sum[l] - x[i].sum[k] + (i == 0 ? x[i].first : 0)
                      + (i == n - 1 ? x[i].last : 0),
               before = i ? most[(i - 1) * row + k] : 0, all = fmax(load, before);
        if (all < *best) *best = all, from[i * row + l] = k;
        if (load >= *best) break;
      }
    }
}

berth_status berth_i_llm_best_split(const berth_llm *m, const berth_llm_cluster *c,
                                    const berth_llm_plan *p, const berth_llm_factors *f,
                                    int32_t *out) {
  berth_i_pool pool = berth_i_pool_empty(m->pool.ctx);
  int32_t n = p->pp * p->vp, layers = m->about.layers;
  size_t row = (size_t)layers + 1, size = (size_t)n * row;
  double *most = berth_i_pool_alloc(&pool, size, sizeof *most);
  int32_t *from = berth_i_pool_alloc(&pool, size, sizeof *from);
  double *sums = berth_i_pool_alloc(&pool, (size_t)p->pp * row, sizeof *sums);
  loads *x = berth_i_pool_alloc(&pool, (size_t)n, sizeof *x);
  berth_status st = berth_i_pool_status(&pool);
  for (int32_t s = 0; s < p->pp && st == BERTH_OK; s++) {
    loads one;
    st = loads_of(m, p, berth_i_llm_slowest(c, p, s), f, &sums[(size_t)s * row], &one);
    for (int32_t k = 0; k < p->vp && st == BERTH_OK; k++) x[berth_i_llm_place(p, s, k)] = one;
  }
  if (st == BERTH_OK) {
    fill_table(n, layers, x, most, from);
    for (int32_t i = n - 1, l = layers; i >= 0; i--) {
      int32_t k = from[(size_t)i * row + (size_t)l];
      out[i] = l - k;
      l = k;
    }
  }
  berth_i_pool_free(&pool);
  return st;
}
