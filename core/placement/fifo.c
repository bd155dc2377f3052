/* Planned times of placers that only choose devices: a simulated run, first in, first out, gives
 * start and finish of each op, and the order of starts. O(simulation + ops log). */
#include "base/sort_internal.h"
#include "placement_internal.h"

berth_sim_options berth_i_fifo_options(const berth_cost *cost, const berth_place_options *opts) {
  berth_sim_options o = berth_sim_default(NULL);
  o.links = opts->links;
  o.quantum = opts->quantum;
  o.memory = berth_i_memory_counts(cost, opts->memory) ? opts->memory : BERTH_MEMORY_NONE;
  o.param_multiple = opts->param_multiple;
  return o;
}

typedef struct interval {
  double start, finish;
  int32_t place, op;
} interval;

BERTH_I_SORT(sort_by_start, interval, BERTH_I_UP(start) BERTH_I_UP(finish) BERTH_I_UP(place))

berth_status berth_i_order_by_start(berth_placement *p) {
  const int32_t *s = p->sequence;
  int32_t k = 1;
  while (k < p->n && (p->start[s[k - 1]] < p->start[s[k]]
                      || (p->start[s[k - 1]] == p->start[s[k]]
                          && p->finish[s[k - 1]] <= p->finish[s[k]])))
    k++;
  if (k >= p->n) return BERTH_OK; /* as most plans that follow time */
  interval *run = berth_i_alloc(p->ctx, (size_t)p->n, sizeof *run);
  if (!run) return berth_i_nomem(p->ctx);
  for (int32_t i = 0; i < p->n; i++)
    run[i] = (interval){ p->start[p->sequence[i]], p->finish[p->sequence[i]], i, p->sequence[i] };
  sort_by_start(run, (size_t)p->n);
  for (int32_t i = 0; i < p->n; i++) p->sequence[i] = run[i].op;
  berth_i_free(p->ctx, run, (size_t)p->n, sizeof *run);
  return BERTH_OK;
}

/* Workspace at the peak counts as if it were outputs: too large a share rather than too small a
 * one. */
static double live_share(berth_cost *cost, const berth_result *r, double param_multiple,
                         int32_t device) {
  const berth_graph *g = cost->g;
  const berth_transfer *sent;
  double live = berth_result_peak(r)[device], all = 0;
  int32_t n = berth_result_transfers(r, &sent);
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (berth_result_device(r)[i] != device) continue;
    live -= berth_i_param(g, i) * param_multiple;
    all += berth_i_output_bytes(g, i);
  }
  for (int32_t i = 0; i < n; i++) {
    if (sent[i].dst == device) all += berth_i_resident(g, sent[i].tensor);
  }
  return all > 0 ? fmin(1, fmax(0, live / all)) : 1;
}

berth_status berth_i_plan_fifo(berth_cost *cost, const berth_place_options *opts,
                               berth_placement *p, berth_oom *oom, double *live) {
  berth_sim_options o = berth_i_fifo_options(cost, opts);
  berth_result *r = NULL;
  berth_status st;
  if ((st = berth_simulate(cost, p->device, &o, &r)) != BERTH_OK) return st;
  p->estimate = berth_result_makespan(r);
  p->links = (int32_t)opts->links;
  oom->op = oom->device = BERTH_NONE;
  if (berth_result_oom(r, oom)) {
    oom->shortfall = berth_result_peak(r)[oom->device] - cost->t->devices[oom->device].memory;
    if (live) *live = live_share(cost, r, opts->param_multiple, oom->device);
  }
  if (p->n > 0) {
    size_t n = (size_t)p->n;
    memcpy(p->start, berth_result_start(r), n * sizeof *p->start);
    memcpy(p->finish, berth_result_finish(r), n * sizeof *p->finish);
    memcpy(p->sequence, cost->g->topo, n * sizeof *p->sequence);
    st = berth_i_order_by_start(p);
  }
  berth_result_release(r);
  return st;
}
