/* The answer of a placer: devices, and, if there is a plan, order and times. Reference counted; all
 * arrays are in one pool. Invariant: with start there is finish and a sequence;
 * a sequence may be alone. */
#include "placement_internal.h"

berth_status berth_i_placement_make(berth_ctx *ctx, int32_t n, const char *placer, bool planned,
                                    berth_placement **out) {
  berth_placement *p = berth_i_pool_object(ctx, sizeof *p);
  if (!p) return berth_i_nomem(ctx);
  p->ctx = ctx;
  p->refs = 1;
  p->n = n;
  p->estimate = p->bound = NAN;
  p->links = BERTH_NONE;
  berth_ctx_retain(ctx);
  p->device = berth_i_pool_alloc(&p->pool, (size_t)n, sizeof *p->device);
  p->placer = berth_i_pool_strdup(&p->pool, placer);
  if (planned) {
    p->sequence = berth_i_pool_alloc(&p->pool, (size_t)n, sizeof *p->sequence);
    p->start = berth_i_pool_alloc(&p->pool, (size_t)n, sizeof *p->start);
    p->finish = berth_i_pool_alloc(&p->pool, (size_t)n, sizeof *p->finish);
  }
  berth_status st;
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) {
    berth_placement_release(p);
    return st;
  }
  for (int32_t i = 0; i < n; i++) {
    p->device[i] = BERTH_NONE;
    if (!planned) continue;
    p->sequence[i] = BERTH_NONE;
    p->start[i] = p->finish[i] = NAN;
  }
  *out = p;
  return BERTH_OK;
}

void berth_placement_retain(berth_placement *p) { p->refs++; }

void berth_placement_release(berth_placement *p) {
  if (!p || --p->refs > 0) return;
  berth_ctx *ctx;
  ctx = p->ctx;
  berth_i_pool_free(&p->pool);
  berth_ctx_release(ctx);
}

void berth_i_placement_move(berth_placement *p, berth_ctx *to) {
  berth_i_pool_move(&p->pool, to);
  p->ctx = to;
}

static berth_status check_sequence(berth_ctx *ctx, int32_t n, const int32_t *sequence) {
  berth_status st = BERTH_OK;
  uint8_t *seen = berth_i_zalloc(ctx, (size_t)n, 1);
  if (!seen) return berth_i_nomem(ctx);
  for (int32_t i = 0; i < n && st == BERTH_OK; i++) {
    int32_t op = sequence[i];
    if (op < 0 || op >= n) {
      st = berth_i_fail(ctx, BERTH_EINVAL, "sequence[%d]: there is no op %d among %d", (int)i,
                        (int)op, (int)n);
    } else if (seen[op]++) {
      st = berth_i_fail(ctx, BERTH_EINVAL, "sequence[%d]: op %d comes a second time", (int)i,
                        (int)op);
    }
  }
  berth_i_free(ctx, seen, (size_t)n, 1);
  return st;
}

berth_status berth_placement_new(berth_ctx *ctx, int32_t ops, const int32_t *device,
                                 const int32_t *sequence, const char *placer, double estimate,
                                 berth_placement **out) {
  if (!ctx || !out) return BERTH_EINVAL;
  berth_placement *p = NULL;
  if (ops < 0) return berth_i_fail(ctx, BERTH_EINVAL, "%d ops: the number is negative", (int)ops);
  if (ops > 0 && !device)
    return berth_i_fail(ctx, BERTH_EINVAL, "a placement needs the device of every op");
  if (estimate < 0) return berth_i_fail(ctx, BERTH_EINVAL, "estimate: %g s is negative", estimate);
  for (int32_t i = 0; i < ops; i++) {
    if (device[i] < 0)
      return berth_i_fail(ctx, BERTH_EINVAL, "op %d: device %d is negative", (int)i,
                          (int)device[i]);
  }
  berth_status st;
  if (sequence && (st = check_sequence(ctx, ops, sequence)) != BERTH_OK) goto done;
  if ((st = berth_i_placement_make(ctx, ops, placer ? placer : "", false, &p)) != BERTH_OK)
    goto done;
  p->sequence = berth_i_pool_copy(&p->pool, sequence, (size_t)ops, sizeof *sequence);
  if ((st = berth_i_pool_status(&p->pool)) != BERTH_OK) goto done;
  if (ops > 0) memcpy(p->device, device, (size_t)ops * sizeof *device);
  p->estimate = estimate;
  *out = p;
  p = NULL;
done:
  berth_placement_release(p);
  return st;
}

int32_t berth_placement_ops(const berth_placement *p) { return p->n; }
const int32_t *berth_placement_device(const berth_placement *p) { return p->device; }
const int32_t *berth_placement_sequence(const berth_placement *p) { return p->sequence; }
const double *berth_placement_start(const berth_placement *p) { return p->start; }
const double *berth_placement_finish(const berth_placement *p) { return p->finish; }
double berth_placement_estimate(const berth_placement *p) { return p->estimate; }
double berth_placement_bound(const berth_placement *p) { return p->bound; }
int32_t berth_placement_links(const berth_placement *p) { return p->links; }
const char *berth_placement_placer(const berth_placement *p) { return p->placer; }
