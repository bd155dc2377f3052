/* The run on one thread in topological order, and the comparison of a threaded run's buffers with
 * it. Checksums are of bits: kernels give the same bytes in any order of ops. */
#include "exec_internal.h"

static uint64_t checksum(uint64_t h, const float *x, int64_t n) {
  const unsigned char *p = (const unsigned char *)x;
  for (size_t i = 0; i < (size_t)n * sizeof *x; i += sizeof *x) {
    uint32_t word;
    memcpy(&word, p + i, sizeof word);
    h = (h ^ word) * 1099511628211u;
  }
  return h;
}

static uint64_t sum_of(const berth_i_operands *a) {
  uint64_t h = 14695981039346656037u;
  for (int32_t i = 0; i < a->n_out; i++) h = checksum(h, a->out[i], a->out_length[i]);
  return h;
}

/* A placement of all on the first device, arena and all, whatever is allowed there. */
static berth_status run_alone(berth_executor *x, berth_i_operands *a, uint64_t *sums) {
  atomic_int never;
  berth_status st = BERTH_OK;
  atomic_init(&never, 0);
  for (int32_t i = 0; i < x->g->n_ops; i++) {
    int32_t op = x->g->topo[i];
    if (i % 64 == 0 && (st = berth_i_interrupted(x->ctx)) != BERTH_OK) return st;
    berth_i_exec_operands(x, op, a);
    berth_i_exec_give(x, op, x->own[op]);
    a->scratch = x->dev[0].args.scratch;
    berth_i_kernel_run(&x->kernel[op], a, 0, &never);
    sums[op] = sum_of(a);
  }
  return st;
}

berth_status berth_i_exec_expect(berth_executor *x) {
  size_t n = (size_t)x->g->n_ops;
  const int32_t *device = x->device;
  berth_i_pool scratch = berth_i_pool_empty(x->ctx);
  int32_t *zero = berth_i_pool_zalloc(&scratch, n, sizeof *zero);
  uint64_t *sums = berth_i_pool_alloc(&scratch, n, sizeof *sums);
  berth_i_operands a = { 0 };
  berth_status st = berth_i_operands_new(x, &scratch, &a);
  if (st != BERTH_OK) goto done;
  x->device = zero;
  if ((st = berth_i_exec_layout(x)) == BERTH_OK) st = run_alone(x, &a, sums);
  x->device = device;
  if (st != BERTH_OK) goto done;
  x->expected = berth_i_pool_copy(&x->pool, sums, n, sizeof *sums);
  st = berth_i_pool_status(&x->pool);
done:
  berth_i_pool_free(&scratch);
  return st;
}

static bool copies_agree(const berth_executor *x, int32_t op) {
  const berth_graph *g = x->g;
  for (int32_t i = g->out_at[op]; i < g->out_at[op + 1]; i++) {
    int32_t t = g->out[i];
    for (int32_t e = g->use_at[t]; e < g->use_at[t + 1]; e++) {
      if (x->lead[e] == e
          && memcmp(x->copy_at[e], x->home[t], (size_t)x->length[t] * sizeof(float)) != 0)
        return false;
    }
  }
  return true;
}

int32_t berth_i_exec_compare(berth_executor *x, uint64_t *sums) {
  berth_i_operands *a = &x->dev[0].args;
  int32_t wrong = BERTH_NONE;
  for (int32_t op = 0; op < x->g->n_ops; op++) {
    berth_i_exec_operands(x, op, a);
    sums[op] = sum_of(a);
    if (wrong == BERTH_NONE && (sums[op] != x->expected[op] || !copies_agree(x, op))) wrong = op;
  }
  return wrong;
}
