/* Adam with decoupled weight decay: both moments of all parameters in one array, in the order of
 * the parameters. O(numbers) a step, in one pass.
 *
 * Sources: Kingma, Ba, "Adam: a method for stochastic optimization", 2015, alg. 1; Loshchilov,
 * Hutter, "Decoupled weight decay regularization", 2019, alg. 2. */
#include "vector_internal.h"

#include "params_internal.h"

berth_adam_options berth_adam_default(void) { return (berth_adam_options){ 0.9, 0.999, 1e-8, 0 }; }

static void set_defaults(void *out) { *(berth_adam_options *)out = berth_adam_default(); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_adam_options, name, kind)

const berth_option_table *berth_adam_option_table(void) {
  static const berth_option options[] = {
    { FIELD(beta1, NUMBER), .high = 1, .text = "decay of the mean of gradients; below 1" },
    { FIELD(beta2, NUMBER), .high = 1, .text = "decay of the mean of their squares; below 1" },
    { FIELD(epsilon, NUMBER), .above = 1, .text = "added to the root of that" },
    { FIELD(decay, NUMBER), .text = "decoupled weight decay per step and unit of rate" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("adam", options, berth_adam_options, set_defaults);
}

/* Below 1: the bias corrections divide by 1 - b^t. epsilon is used as a float. */
static berth_status check_options(berth_ctx *ctx, const berth_adam_options *o) {
  berth_status st = berth_options_check(ctx, berth_adam_option_table(), o);
  if (st != BERTH_OK) return st;
  if (o->beta1 == 1 || o->beta2 == 1)
    return berth_i_fail(ctx, BERTH_EINVAL, "options beta1 and beta2 must be below 1");
  if ((float)o->epsilon > 0 && (float)o->epsilon < INFINITY) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option epsilon is %g (a float must hold it)", o->epsilon);
}

berth_status berth_adam_new(berth_params *p, const berth_adam_options *opts, berth_adam **out) {
  if (!p || !out) return BERTH_EINVAL;
  berth_adam_options o = opts ? *opts : berth_adam_default();
  berth_status st = check_options(p->ctx, &o);
  if (st != BERTH_OK) return st;
  berth_adam *a;
  if (!(a = berth_i_pool_object(p->ctx, sizeof *a))) return berth_i_nomem(p->ctx);
  if (!(a->first = berth_i_pool_zalloc(&a->pool, 2 * (size_t)p->size, sizeof *a->first))) {
    berth_i_pool_free(&a->pool);
    return berth_i_nomem(p->ctx);
  }
  berth_ctx_retain(p->ctx);
  berth_params_retain(p);
  a->ctx = p->ctx;
  a->refs = 1;
  a->params = p;
  a->o = o;
  a->size = p->size;
  a->second = a->first + p->size;
  *out = a;
  return BERTH_OK;
}

void berth_adam_retain(berth_adam *a) { a->refs++; }

void berth_adam_release(berth_adam *a) {
  if (!a || --a->refs > 0) return;
  berth_ctx *ctx = a->ctx;
  berth_params_release(a->params);
  berth_i_pool_free(&a->pool);
  berth_ctx_release(ctx);
}

int64_t berth_adam_steps(const berth_adam *a) { return a->steps; }

/* Moments are laid out by the parameters that were there when Adam was made. */
berth_status berth_i_adam_check(const berth_adam *a) {
  if (a->size == a->params->size) return BERTH_OK;
  return berth_i_fail(a->ctx, BERTH_EINVAL,
                      "adam: made for %lld numbers, the parameters have %lld now",
                      (long long)a->size, (long long)a->params->size);
}

/* ---- a step ---- */

/* Squares of gradients below 1e19 stay finite. The bits of positive floats have the order of the
 * floats, and infinities and NaN are above all: one comparison of integers, no branch. */
static bool all_usable(const float *g, int64_t n) {
  const float most = 1e19f;
  uint32_t limit, bad = 0;
  memcpy(&limit, &most, sizeof limit);
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &g[i], sizeof bits);
    bad |= (uint32_t)((bits & 0x7FFFFFFFu) >= limit);
  }
  return bad == 0;
}

/* Nothing is changed if one gradient is unusable: all are checked before the step. */
static berth_status check_gradients(const berth_params *p) {
  for (int32_t i = 0; i < p->n; i++) {
    const berth_array *g = p->item[i].array->gradient;
    int64_t k = 0;
    if (all_usable(g->data, g->size)) continue;
    while (all_usable(g->data + k, 1)) k++;
    return berth_i_fail(p->ctx, BERTH_EINVAL,
                        "adam: gradient %lld of \"%s\" is %g, must be finite and below 1e19",
                        (long long)k, p->item[i].name, (double)g->data[k]);
  }
  return BERTH_OK;
}

/* Moments that decay would end as denormals, on which processors are slow: those too small to count
 * beside epsilon become 0. */
static const float LEAST_FIRST = 1e-30f, LEAST_SECOND = 1e-36f;

berth_status berth_adam_step(berth_adam *a, double rate) {
  if (!a) return BERTH_EINVAL;
  const berth_params *p = a->params;
  const berth_adam_options *o = &a->o;
  berth_status st = berth_i_adam_check(a);
  if (st == BERTH_OK) st = check_gradients(p);
  if (st == BERTH_OK && !(rate >= 0 && rate < INFINITY)) {
    st = berth_i_fail(a->ctx, BERTH_EINVAL, "adam: rate is %g, must be finite and not negative",
                      rate);
  }
  if (st != BERTH_OK) return st;

  /* The bias corrections m' = m / (1 - b1^t) and v' = v / (1 - b2^t) are factors that all numbers
   * share: the step is x -= rate m' / (sqrt(v') + e). */
  double t = (double)(a->steps + 1);
  const float beta1 = (float)o->beta1, rest1 = (float)(1 - o->beta1);
  const float beta2 = (float)o->beta2, rest2 = (float)(1 - o->beta2);
  const float corrected_rate = (float)(rate / (1 - pow(o->beta1, t)));
  const float root = (float)(1 / sqrt(1 - pow(o->beta2, t)));
  const float epsilon = (float)o->epsilon, keep = (float)(1 - rate * o->decay);
  float *first = a->first, *second = a->second;
  for (int32_t k = 0; k < p->n; k++) {
    berth_array *array = p->item[k].array;
    const float *restrict g = array->gradient->data;
    float *restrict m = first, *restrict v = second, *restrict x = array->data;
    for (int64_t i = 0; i < array->size; i++) {
      /* first and second moment: m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2 */
      float mi = beta1 * m[i] + rest1 * g[i], vi = beta2 * v[i] + rest2 * (g[i] * g[i]);
      mi = fabsf(mi) < LEAST_FIRST ? 0 : mi;
      vi = vi < LEAST_SECOND ? 0 : vi;
      m[i] = mi;
      v[i] = vi;
      /* decoupled decay, then the step */
      x[i] = keep * x[i] - corrected_rate * mi / (sqrtf(vi) * root + epsilon);
    }
    first += array->size;
    second += array->size;
  }
  a->steps++;
  return BERTH_OK;
}
