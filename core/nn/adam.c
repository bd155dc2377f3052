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

static berth_status check_options(berth_ctx *ctx, const berth_adam_options *o) {
  berth_status st = berth_options_check(ctx, berth_adam_option_table(), o);
  if (st != BERTH_OK) return st;
  if (o->beta1 == 1 || o->beta2 == 1)
    return berth_i_fail(ctx, BERTH_EINVAL, "options beta1 and beta2 must be below 1");
  if ((float)o->epsilon > 0 && (float)o->epsilon < INFINITY) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option epsilon is %g (a float must hold it)", o->epsilon);
}

berth_status berth_adam_new(berth_params *p, const berth_adam_options *opts, berth_adam **out) {
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
  berth_ctx *ctx;
  ctx = a->ctx;
  berth_params_release(a->params);
  berth_i_pool_free(&a->pool);
  berth_ctx_release(ctx);
}

int64_t berth_adam_steps(const berth_adam *a) { return a->steps; }

berth_status berth_i_adam_check(const berth_adam *a) {
  if (a->size == a->params->size) return BERTH_OK;
  return berth_i_fail(a->ctx, BERTH_EINVAL,
                      "adam: made for %lld numbers, the parameters have %lld now",
                      (long long)a->size, (long long)a->params->size);
}

/* ---- a step ---- */

/* Compares bits, which takes in NaN: all of 1e19 and above. */
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

/* Bias corrections folded into three factors: x -= rate m' / (sqrt(v') + e), where m' = m / (1 -
 * b1^t), v' = v / (1 - b2^t). */
typedef struct Factors {
  float beta1, rest1, beta2, rest2, rate, root, epsilon, keep;
} Factors;

static Factors factors(const berth_adam *a, double rate) {
  const berth_adam_options *o = &a->o;
  double t = (double)(a->steps + 1);
  Factors f;
  f.beta1 = (float)o->beta1;
  f.rest1 = (float)(1 - o->beta1);
  f.beta2 = (float)o->beta2;
  f.rest2 = (float)(1 - o->beta2);
  f.rate = (float)(rate / (1 - pow(o->beta1, t)));
  f.root = (float)(1 / sqrt(1 - pow(o->beta2, t)));
  f.epsilon = (float)o->epsilon;
  f.keep = (float)(1 - rate * o->decay);
  return f;
}

/* Moments that die away would end as denormals, on which processors are slow: those below what
 * epsilon lets count become 0. */
static const float LEAST_FIRST = 1e-30f, LEAST_SECOND = 1e-36f;

static void update(const Factors *restrict f, int64_t n, const float *restrict g, float *restrict m,
                   float *restrict v, float *restrict x) {
  const Factors c = *f;
  for (int64_t i = 0; i < n; i++) {
    float first = c.beta1 * m[i] + c.rest1 * g[i],
          second = c.beta2 * v[i] + c.rest2 * (g[i] * g[i]);
    first = fabsf(first) < LEAST_FIRST ? 0 : first;
    second = second < LEAST_SECOND ? 0 : second;
    m[i] = first;
    v[i] = second;
    x[i] = c.keep * x[i] - c.rate * first / (sqrtf(second) * c.root + c.epsilon);
  }
}

berth_status berth_adam_step(berth_adam *a, double rate) {
  const berth_params *p = a->params;
  berth_status st = berth_i_adam_check(a);
  if (st == BERTH_OK) st = check_gradients(p);
  if (st == BERTH_OK && !(rate >= 0 && rate < INFINITY)) {
    st = berth_i_fail(a->ctx, BERTH_EINVAL, "adam: rate is %g, must be finite and not negative",
                      rate);
  }
  if (st != BERTH_OK) return st;
  Factors f = factors(a, rate);
  for (int64_t i = 0, at = 0; i < p->n; i++) {
    berth_array *x = p->item[i].array;
    update(&f, x->size, x->gradient->data, a->first + at, a->second + at, x->data);
    at += x->size;
  }
  a->steps++;
  return BERTH_OK;
}
