/* Blocks as masks, models as tables: the cluster on which the planner plays.
 * Legal blocks of each size are listed once, in the order of RAMP's first fit; a model under a
 * decision is its time and the different numbers of pieces of its ops, each of which takes a
 * block. O(models decisions) look-aheads at creation, then O(sizes blocks) a placement. */
#include "fast.h"

typedef struct collector {
  berth_i_fast *f;
  size_t first, n; /* blocks of this size from the first on; kept only if they fit */
} collector;

static bool collect(void *ud, int32_t n, const int32_t *block) {
  collector *c = ud;
  const berth_i_fast *f = c->f;
  berth_i_servers mask = { { 0 } };
  for (int32_t i = 0; i < n; i++) mask.w[block[i] / 64] |= (uint64_t)1 << block[i] % 64;
  for (size_t i = c->first; f->block && i < c->n; i++)
    if (berth_i_fast_equal(f, f->block + i * (size_t)f->words, mask.w))
      return false; /* of another shape */
  if (f->block)
    memcpy(f->block + c->n * (size_t)f->words, mask.w, (size_t)f->words * sizeof *mask.w);
  c->n++;
  return false;
}

static int32_t sizes(const berth_pacml *env) { return env->most + 1; }

static size_t collect_all(berth_i_fast *f) {
  collector c = { f, 0, 0 };
  for (int32_t k = 0; k < sizes(f->env); k++) {
    f->first[k] = (int32_t)(c.first = c.n);
    if (k == 1 || (k > 0 && k % 2 == 0)) berth_i_ramp_each_block(f->env->ramp, k, collect, &c);
  }
  f->first[sizes(f->env)] = (int32_t)c.n;
  return c.n;
}

static berth_status fill_cut(const berth_i_fast *f, int32_t model, int32_t decision,
                             berth_i_fast_cut *cut) {
  berth_ramp_outcome o;
  int32_t servers[BERTH_I_RAMP_SERVERS];
  berth_status st = berth_i_pacml_plan(f->env, model, decision, NULL, 0, NULL, servers, &o);
  if (st != BERTH_OK) return st;
  cut->jct = o.cause == BERTH_RAMP_PLACED ? f->env->steps * o.step : INFINITY;
  /* Different numbers of pieces, most first. */
  const berth_pacml *env = f->env;
  const berth_ramp_model *m = f->env->model[model];
  const int32_t *pieces = env->planner->pieces;
  cut->n_sizes = 0;
  for (int32_t i = 0; i < m->n; i++) {
    int32_t k = pieces[m->forward[i]], at = 0;
    while (at < cut->n_sizes && cut->size[at] > k) at++;
    if (at < cut->n_sizes && cut->size[at] == k) continue;
    if (cut->n_sizes == BERTH_I_FAST_SIZES)
      return berth_i_fail(env->ramp->ctx, BERTH_EUNSUPPORTED,
                          "pacml: a model whose ops have more than %d numbers of pieces",
                          (int)BERTH_I_FAST_SIZES);
    for (int32_t j = cut->n_sizes++; j > at; j--) cut->size[j] = cut->size[j - 1];
    cut->size[at] = k;
  }
  return BERTH_OK;
}

void berth_i_fast_release(berth_i_fast *f) {
  berth_i_pool_free(&f->pool);
  berth_pacml_release(f->env);
}

static berth_status fill(berth_i_fast *f) {
  const berth_pacml *env = f->env;
  f->first = berth_i_pool_alloc(&f->pool, (size_t)sizes(env) + 1, sizeof *f->first);
  f->cut = berth_i_pool_zalloc(&f->pool, (size_t)env->n * (size_t)env->n_decisions, sizeof *f->cut);
  berth_status st;
  if ((st = berth_i_pool_status(&f->pool)) != BERTH_OK) return st;
  f->n_blocks = collect_all(f);
  f->block = berth_i_pool_alloc(&f->pool, f->n_blocks, (size_t)f->words * sizeof *f->block);
  if ((st = berth_i_pool_status(&f->pool)) != BERTH_OK) return st;
  collect_all(f);
  for (int32_t m = 0; m < env->n; m++)
    for (int32_t i = 1; st == BERTH_OK && i < env->n_decisions; i++)
      st = fill_cut(f, m, env->decisions[i], &f->cut[m * env->n_decisions + i]);
  return st;
}

berth_status berth_i_fast_new(berth_pacml *env, berth_i_fast *f) {
  *f = (berth_i_fast){ .pool = berth_i_pool_empty(env->ramp->ctx),
                       .env = env,
                       .servers = env->ramp->servers };
  if (env->n_decisions > BERTH_I_FAST_DECISIONS)
    return berth_i_fail(env->ramp->ctx, BERTH_EUNSUPPORTED,
                        "pacml: planning ahead is for at most %d decisions, not %d",
                        (int)BERTH_I_FAST_DECISIONS, (int)env->n_decisions);
  f->words = (f->servers + 63) / 64;
  berth_pacml_retain(env);
  berth_status st;
  if ((st = fill(f)) != BERTH_OK) berth_i_fast_release(f);
  return st;
}

berth_i_servers berth_i_fast_busy(const berth_i_fast *f, const double *free_at, double time) {
  berth_i_servers busy;
  for (int32_t i = 0, s = 0; i < f->words; i++) {
    uint64_t word = 0;
    for (int32_t k = 0; k < 64 && s < f->servers; k++, s++)
      word |= (uint64_t)(free_at[s] > time) << k;
    busy.w[i] = word;
  }
  return busy;
}

/* BERTH_NONE: there is none. */
static int32_t first_free(const berth_i_fast *f, int32_t size, const berth_i_servers *busy) {
  for (int32_t i = f->first[size]; i < f->first[size + 1]; i++)
    if (!berth_i_fast_meets(f, berth_i_fast_block(f, i), busy->w)) return i;
  return BERTH_NONE;
}

/* exact: the others are sought within the largest, if they can be there. */
bool berth_i_fast_place(const berth_i_fast *f, const berth_i_fast_cut *cut,
                        const berth_i_servers *busy, int32_t block, berth_i_servers *taken) {
  if (block == BERTH_NONE) block = first_free(f, cut->size[0], busy);
  if (block == BERTH_NONE) return false;
  memcpy(taken->w, berth_i_fast_block(f, block), (size_t)f->words * sizeof *taken->w);
  for (int32_t i = 1; i < cut->n_sizes; i++) {
    block = BERTH_NONE;
    if (!f->env->ramp->o.compat) {
      berth_i_servers outside;
      for (int32_t k = 0; k < f->words; k++) outside.w[k] = busy->w[k] | ~taken->w[k];
      block = first_free(f, cut->size[i], &outside);
    }
    if (block == BERTH_NONE) block = first_free(f, cut->size[i], busy);
    if (block == BERTH_NONE) return false;
    for (int32_t k = 0; k < f->words; k++) taken->w[k] |= berth_i_fast_block(f, block)[k];
  }
  return true;
}
