/* What a run leaves behind: times, devices, transfers, turns, checksums, copied out of the
 * executor, which may run again. */
#include "base/sort_internal.h"
#include "execution_internal.h"

static berth_status alloc_arrays(berth_execution *r) {
  size_t n = (size_t)r->n_ops;
  r->device = berth_i_pool_alloc(&r->pool, n, sizeof *r->device);
  r->start = berth_i_pool_alloc(&r->pool, n, sizeof *r->start);
  r->finish = berth_i_pool_alloc(&r->pool, n, sizeof *r->finish);
  r->busy = berth_i_pool_zalloc(&r->pool, (size_t)r->n_devices, sizeof *r->busy);
  r->transfer = berth_i_pool_alloc(&r->pool, (size_t)r->n_transfers, sizeof *r->transfer);
  r->turns = berth_i_pool_alloc(&r->pool, n, sizeof *r->turns);
  return berth_i_pool_status(&r->pool);
}

static void fill_ops(const berth_executor *x, berth_execution *r) {
  memcpy(r->device, x->device, (size_t)r->n_ops * sizeof *r->device);
  memcpy(r->turns, x->turns, (size_t)r->n_ops * sizeof *r->turns);
  for (int32_t op = 0; op < r->n_ops; op++) {
    r->start[op] = x->start[op] - x->origin;
    r->finish[op] = x->finish[op] - x->origin;
    r->busy[x->device[op]] += r->finish[op] - r->start[op];
    if (r->finish[op] > r->makespan) r->makespan = r->finish[op];
  }
}

BERTH_I_SORT(sort_transfers, berth_transfer, BERTH_I_UP(start) BERTH_I_UP(tensor) BERTH_I_UP(dst))

static void fill_transfers(const berth_executor *x, berth_execution *r) {
  for (int32_t i = 0; i < r->n_transfers; i++) {
    const berth_i_copy *c = &x->copy[i];
    r->transfer[i] =
        (berth_transfer){ c->tensor, c->src, c->dst, c->start - x->origin, c->finish - x->origin };
  }
  sort_transfers(r->transfer, (size_t)r->n_transfers);
}

static berth_status check(berth_executor *x, berth_execution *r) {
  if (!x->o.check) return BERTH_OK;
  if (!(r->sums = berth_i_pool_alloc(&r->pool, (size_t)r->n_ops, sizeof *r->sums)))
    return berth_i_nomem(r->ctx);
  r->wrong = berth_i_exec_compare(x, r->sums);
  return BERTH_OK;
}

berth_status berth_i_execution_new(berth_executor *x, berth_execution **out) {
  berth_execution *r = berth_i_pool_object(x->ctx, sizeof *r);
  if (!r) return berth_i_nomem(x->ctx);
  r->ctx = x->ctx;
  r->cost = x->cost;
  berth_cost_retain(r->cost);
  r->n_ops = x->g->n_ops;
  r->n_devices = x->n_devices;
  r->n_transfers = x->n_copies;
  r->wrong = BERTH_NONE;
  berth_status st;
  if ((st = alloc_arrays(r)) != BERTH_OK) goto fail;
  fill_ops(x, r);
  fill_transfers(x, r);
  if ((st = check(x, r)) != BERTH_OK) goto fail;
  *out = r;
  return BERTH_OK;
fail:
  berth_execution_release(r);
  return st;
}

void berth_execution_release(berth_execution *r) {
  if (!r) return;
  berth_cost *cost = r->cost;
  berth_i_pool_free(&r->pool);
  berth_cost_release(cost); /* last: it may hold the context */
}

double berth_execution_makespan(const berth_execution *r) { return r->makespan; }
const int32_t *berth_execution_device(const berth_execution *r) { return r->device; }
const double *berth_execution_start(const berth_execution *r) { return r->start; }
const double *berth_execution_finish(const berth_execution *r) { return r->finish; }
const double *berth_execution_busy(const berth_execution *r) { return r->busy; }
const berth_exec_turns *berth_execution_turns(const berth_execution *r) { return r->turns; }
const uint64_t *berth_execution_checksums(const berth_execution *r) { return r->sums; }
int32_t berth_execution_wrong(const berth_execution *r) { return r->wrong; }
berth_cost *berth_execution_cost(const berth_execution *r) { return r->cost; }

const double *berth_execution_times(const berth_execution *r, int32_t *n) {
  *n = r->n_times;
  return r->times;
}

int32_t berth_execution_transfers(const berth_execution *r, const berth_transfer **out) {
  *out = r->transfer;
  return r->n_transfers;
}
