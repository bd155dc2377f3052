/* Blocks as masks, models as tables: the cluster of at most 64 servers on which the planner plays.
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
  uint64_t mask = 0;
  for (int32_t i = 0; i < n; i++) mask |= (uint64_t)1 << block[i];
  for (size_t i = c->first; c->f->block && i < c->n; i++)
    if (c->f->block[i] == mask) return false; /* of another shape */
  if (c->f->block) c->f->block[c->n] = mask;
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
  f->block = berth_i_pool_alloc(&f->pool, f->n_blocks, sizeof *f->block);
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
  if (f->servers > BERTH_I_FAST_SERVERS || env->n_decisions > BERTH_I_FAST_DECISIONS)
    return berth_i_fail(env->ramp->ctx, BERTH_EUNSUPPORTED,
                        "pacml: planning ahead is for at most %d servers and %d decisions, not %d "
                        "and %d",
                        (int)BERTH_I_FAST_SERVERS, (int)BERTH_I_FAST_DECISIONS, (int)f->servers,
                        (int)env->n_decisions);
  f->all = f->servers == 64 ? ~(uint64_t)0 : ((uint64_t)1 << f->servers) - 1;
  berth_pacml_retain(env);
  berth_status st;
  if ((st = fill(f)) != BERTH_OK) berth_i_fast_release(f);
  return st;
}

static uint64_t first_free(const berth_i_fast *f, int32_t size, uint64_t busy) {
  for (int32_t i = f->first[size]; i < f->first[size + 1]; i++)
    if (!(f->block[i] & busy)) return f->block[i];
  return 0;
}

/* exact: the others are sought within the largest, if they can be there. */
uint64_t berth_i_fast_place(const berth_i_fast *f, const berth_i_fast_cut *cut, uint64_t busy,
                            uint64_t block) {
  uint64_t taken = block ? block : first_free(f, cut->size[0], busy);
  for (int32_t i = 1; taken && i < cut->n_sizes; i++) {
    uint64_t more = f->env->ramp->o.compat ? 0 : first_free(f, cut->size[i], busy | ~taken);
    if (!more) more = first_free(f, cut->size[i], busy);
    if (!more) return 0;
    taken |= more;
  }
  return taken;
}
