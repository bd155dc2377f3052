/* The planner of PAC-ML's job: a network of one hidden layer that estimates how many jobs will be
 * blocked after a decision. Here: its life, its weights, and games in which it decides alone.
 *
 * Weights are rows of `hidden`, one for each input, then the biases, then the output's, then its
 * bias; `is_new` says that none was learned. A game is O(choices inputs hidden) a job. */
#include "ahead_internal.h"

static berth_status check_process(berth_ctx *ctx, const berth_pacml_process *p) {
  double sum = 0;
  if (!(p->gap_least > 0) || !(p->gap_most >= p->gap_least) || isinf(p->gap_most))
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "pacml: gaps between arrivals: expected 0 < least <= most, got %g and %g",
                        p->gap_least, p->gap_most);
  if (p->n < 1) return berth_i_fail(ctx, BERTH_EINVAL, "pacml: no betas");
  for (int32_t i = 0; i < p->n; i++) {
    if (!(p->beta[i] > 0) || isinf(p->beta[i]))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "pacml: beta %d: expected a finite number above 0, got %g", (int)i + 1,
                          p->beta[i]);
    if (!(p->mass[i] >= 0) || isinf(p->mass[i]))
      return berth_i_fail(ctx, BERTH_EINVAL,
                          "pacml: mass %d: expected a finite number not below 0, got %g",
                          (int)i + 1, p->mass[i]);
    sum += p->mass[i];
  }
  if (!(sum > 0))
    return berth_i_fail(ctx, BERTH_EINVAL, "pacml: the masses of the betas add up to %g", sum);
  return BERTH_OK;
}

void berth_pacml_ahead_release(berth_pacml_ahead *a) {
  if (!a) return;
  berth_ctx *ctx = a->f.env->ramp->ctx;
  berth_ctx_retain(ctx);
  berth_i_free(ctx, a->w, (size_t)a->n_weights, sizeof *a->w);
  berth_i_free(ctx, (void *)a->process.beta, (size_t)a->process.n, sizeof *a->process.beta);
  berth_i_free(ctx, a->cumulative, (size_t)a->process.n, sizeof *a->cumulative);
  berth_i_fast_release(&a->f);
  berth_i_free(ctx, a, 1, sizeof *a);
  berth_ctx_release(ctx);
}

static berth_status fill(berth_pacml_ahead *a, const berth_pacml_process *p) {
  berth_ctx *ctx = a->f.env->ramp->ctx;
  double sum = 0;
  a->process = *p;
  double *beta;
  a->process.beta = a->process.mass = beta = berth_i_alloc(ctx, (size_t)p->n, sizeof *beta);
  if (!beta || !(a->cumulative = berth_i_alloc(ctx, (size_t)p->n, sizeof *a->cumulative))
      || !(a->w = berth_i_zalloc(ctx, (size_t)a->n_weights, sizeof *a->w)))
    return berth_i_nomem(ctx);
  for (int32_t i = 0; i < p->n; i++) {
    beta[i] = p->beta[i];
    a->cumulative[i] = sum += p->mass[i];
  }
  a->gap = (p->gap_least + p->gap_most) / 2;
  /* Before anything is learned: one unit that is the lower, the more servers and blocks stay free
   * at the moments to come. */
  int32_t width = a->n_counted + 1;
  for (int32_t i = 0; i < BERTH_I_AHEAD_MOMENTS; i++)
    for (int32_t k = 0; k < width; k++)
      a->w[(i * width + k) * a->hidden] =
          (k == 0 ? -1.0 : -3.0 / a->n_counted) / BERTH_I_AHEAD_MOMENTS;
  a->w[a->inputs * a->hidden] = 1.5;
  a->w[(a->inputs + 1) * a->hidden] = 4;
  a->is_new = true;
  return BERTH_OK;
}

berth_status berth_pacml_ahead_new(berth_pacml *p, int32_t hidden, int32_t blocks, double discount,
                                   const berth_pacml_process *process, berth_pacml_ahead **out) {
  if (!p || !out) return BERTH_EINVAL;
  berth_ctx *ctx = p->ramp->ctx;
  berth_status st = check_process(ctx, process);
  if (st == BERTH_OK && (hidden < 1 || hidden > BERTH_I_AHEAD_HIDDEN))
    st = berth_i_fail(ctx, BERTH_EINVAL, "pacml: hidden: expected 1 to 1024 units, got %d",
                      (int)hidden);
  if (st == BERTH_OK && (blocks < 1 || blocks > 8))
    st = berth_i_fail(ctx, BERTH_EINVAL,
                      "pacml: blocks: expected 1 to 8 choices for each number of pieces, got %d",
                      (int)blocks);
  if (st == BERTH_OK && !(discount >= 0 && discount < 1))
    st =
        berth_i_fail(ctx, BERTH_EINVAL, "pacml: discount: expected 0 to below 1, got %g", discount);
  if (st != BERTH_OK) return st;
  berth_pacml_ahead *a;
  if (!(a = berth_i_zalloc(ctx, 1, sizeof *a))) return berth_i_nomem(ctx);
  if ((st = berth_i_fast_new(p, &a->f)) != BERTH_OK) {
    berth_i_free(ctx, a, 1, sizeof *a);
    return st;
  }
  a->hidden = hidden;
  a->n_blocks = blocks;
  a->discount = discount;
  /* Blocks are counted for sizes that are powers of 2. */
  for (int32_t k = 2; k <= a->f.env->most && a->n_counted < BERTH_I_AHEAD_SIZES; k *= 2) {
    if (!a->f.env->legal[k]) continue;
    /* some blocks of a size stand for all of them */
    int32_t n = a->f.first[k + 1] - a->f.first[k];
    a->counted[a->n_counted] = k;
    a->blocks[a->n_counted++] = n < BERTH_I_AHEAD_COUNTED ? n : BERTH_I_AHEAD_COUNTED;
  }
  a->inputs = BERTH_I_AHEAD_MOMENTS * (a->n_counted + 1) + BERTH_I_AHEAD_OWN;
  a->n_weights = a->hidden * (a->inputs + 1) + a->hidden + 1;
  for (int32_t v = 0; v < a->f.servers; v++)
    for (int32_t k = 0; k < a->n_counted; k++)
      for (int32_t i = 0; i < a->blocks[k]; i++) {
        const uint64_t *block = berth_i_fast_block(&a->f, a->f.first[a->counted[k]] + i);
        a->all.of[k] |= (uint32_t)1 << i;
        a->with[v].of[k] |= (uint32_t)(block[v / 64] >> v % 64 & 1) << i;
      }
  if ((st = fill(a, process)) == BERTH_OK) *out = a;
  else berth_pacml_ahead_release(a);
  return st;
}

int32_t berth_pacml_ahead_inputs(const berth_pacml_ahead *a) { return a->inputs; }
int32_t berth_pacml_ahead_weights(const berth_pacml_ahead *a) { return a->n_weights; }

berth_status berth_pacml_ahead_set(berth_pacml_ahead *a, const double *w) {
  if (!a) return BERTH_EINVAL;
  for (int32_t i = 0; i < a->n_weights; i++)
    if (!isfinite(w[i]))
      return berth_i_fail(a->f.env->ramp->ctx, BERTH_EINVAL, "pacml: weight %d is %g", (int)i + 1,
                          w[i]);
  memcpy(a->w, w, (size_t)a->n_weights * sizeof *w);
  a->is_chosen = false;
  a->is_new = true;
  for (int32_t i = 0; i < a->n_weights; i++) a->is_new = a->is_new && w[i] == 0;
  return BERTH_OK;
}

void berth_pacml_ahead_get(const berth_pacml_ahead *a, double *w) {
  memcpy(w, a->w, (size_t)a->n_weights * sizeof *w);
}

/* ---- games ---- */

berth_status berth_pacml_ahead_play(berth_pacml_ahead *a, int32_t n, const berth_pacml_job *jobs,
                                    int32_t *blocked) {
  if (!a) return BERTH_EINVAL;
  for (int32_t j = 0; j < n; j++)
    if (jobs[j].model < 0 || jobs[j].model >= a->f.env->n || !(jobs[j].beta > 0)
        || !(jobs[j].arrival >= (j > 0 ? jobs[j - 1].arrival : 0)))
      return berth_i_fail(a->f.env->ramp->ctx, BERTH_EINVAL,
                          "pacml: job %d: model %d, beta %g, arrival %g s", (int)j,
                          (int)jobs[j].model + 1, jobs[j].beta, jobs[j].arrival);
  return berth_i_ahead_play(a, n, jobs, 0, blocked);
}
