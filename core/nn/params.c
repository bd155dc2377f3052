/* Named parameters with their gradients, in the order in which they were added: the order of the
 * file, of Adam's moments and of flat copies. */
#include "vector_internal.h"

#include "params_internal.h"

berth_status berth_params_new(berth_ctx *ctx, berth_params **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_params *p = berth_i_pool_object(ctx, sizeof *p);
  if (!p) return berth_i_nomem(ctx);
  berth_ctx_retain(ctx);
  p->ctx = ctx;
  p->refs = 1;
  *out = p;
  return BERTH_OK;
}

void berth_params_retain(berth_params *p) { p->refs++; }

void berth_params_release(berth_params *p) {
  if (!p || --p->refs > 0) return;
  berth_ctx *ctx = p->ctx;
  for (int32_t i = 0; i < p->n; i++) berth_array_release(p->item[i].array);
  berth_i_pool_free(&p->pool);
  berth_ctx_release(ctx);
}

/* ---- adding ---- */

/* Names are unique: files are matched by them. */
static berth_status check_name(const berth_params *p, const char *name) {
  if (!name || !name[0]) return berth_i_fail(p->ctx, BERTH_EINVAL, "a parameter needs a name");
  if (berth_params_find(p, name) == BERTH_NONE) return BERTH_OK;
  return berth_i_fail(p->ctx, BERTH_EINVAL, "there is a parameter \"%s\" already", name);
}

static berth_status make_param(berth_params *p, const char *name, int32_t rank,
                               const int32_t *shape, berth_i_param *item) {
  berth_status st = berth_array_new(p->ctx, rank, shape, &item->array);
  if (st != BERTH_OK) return st;
  if ((st = berth_array_new(p->ctx, rank, shape, &item->array->gradient)) != BERTH_OK) return st;
  item->name = berth_i_pool_strdup(&p->pool, name);
  return berth_i_pool_status(&p->pool);
}

berth_status berth_params_add(berth_params *p, const char *name, int32_t rank, const int32_t *shape,
                              berth_nn_init init, double value, berth_rng *rng, berth_array **a) {
  if (!p || !a) return BERTH_EINVAL;
  berth_i_param item = { NULL, NULL };
  berth_status st = check_name(p, name);
  if (st != BERTH_OK) return st;
  if (p->n == INT32_MAX) return berth_i_fail(p->ctx, BERTH_EINVAL, "too many parameters");
  st = BERTH_I_POOL_GROW(&p->pool, p->item, p->cap, (size_t)p->n + 1);
  if (st == BERTH_OK) st = make_param(p, name, rank, shape, &item);
  if (st == BERTH_OK) st = berth_i_init(item.array, name, init, value, rng);
  if (st != BERTH_OK) {
    berth_array_release(item.array);
    return st;
  }
  p->item[p->n++] = item;
  p->size += item.array->size;
  *a = item.array;
  return BERTH_OK;
}

/* ---- access ---- */

int32_t berth_params_count(const berth_params *p) { return p->n; }
int64_t berth_params_size(const berth_params *p) { return p->size; }
const char *berth_params_name(const berth_params *p, int32_t i) { return p->item[i].name; }
berth_array *berth_params_array(const berth_params *p, int32_t i) { return p->item[i].array; }
berth_array *berth_params_gradient(const berth_params *p, int32_t i) {
  return p->item[i].array->gradient;
}

int32_t berth_params_find(const berth_params *p, const char *name) {
  for (int32_t i = 0; i < p->n; i++) {
    if (strcmp(p->item[i].name, name) == 0) return i;
  }
  return BERTH_NONE;
}

/* ---- all at once ---- */

static berth_array *half(const berth_params *p, int32_t i, int gradients) {
  return gradients ? p->item[i].array->gradient : p->item[i].array;
}

void berth_params_zero_gradients(berth_params *p) {
  for (int32_t i = 0; i < p->n; i++) {
    berth_array *g = half(p, i, 1);
    memset(g->data, 0, (size_t)g->size * sizeof *g->data);
  }
}

void berth_params_get(const berth_params *p, int gradients, float *flat) {
  for (int32_t i = 0; i < p->n; i++) {
    const berth_array *a = half(p, i, gradients);
    memcpy(flat, a->data, (size_t)a->size * sizeof *flat);
    flat += a->size;
  }
}

void berth_params_set(berth_params *p, int gradients, const float *flat) {
  for (int32_t i = 0; i < p->n; i++) {
    berth_array *a = half(p, i, gradients);
    memcpy(a->data, flat, (size_t)a->size * sizeof *flat);
    flat += a->size;
  }
}

static void shrink(float *x, int64_t n, float f) {
  for (int64_t i = 0; i < n; i++) x[i] *= f;
}

/* By the norm over all gradients together, in double. A norm that is not finite is reported and
 * nothing is scaled. */
berth_status berth_params_clip(berth_params *p, double most, double *norm) {
  if (!p) return BERTH_EINVAL;
  double sum = 0;
  if (!(most > 0))
    return berth_i_fail(p->ctx, BERTH_EINVAL, "gradients clipped to a norm of %g, must be above 0",
                        most);
  for (int32_t i = 0; i < p->n; i++)
    sum += berth_i_moment(half(p, i, 1)->data, half(p, i, 1)->size, 0, 2);
  sum = sqrt(sum);
  for (int32_t i = 0; sum > most && isfinite(sum) && i < p->n; i++)
    shrink(half(p, i, 1)->data, half(p, i, 1)->size, (float)(most / sum));
  if (norm) *norm = sum;
  return BERTH_OK;
}
