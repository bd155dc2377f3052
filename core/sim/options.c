/* Options: defaults, presets, checks. */
#include "sim_internal.h"

#define MOST_NOISE 10.0 /* factors then lie within 1e-40 to 1e40 */

static bool has_twins(const berth_graph *g) {
  int32_t i;
  if (!g || !g->twin) return false;
  for (i = 0; i < g->n_ops; i++) {
    if (g->twin[i] != BERTH_NONE) return true;
  }
  return false;
}

berth_sim_options berth_sim_default(const berth_graph *g) {
  berth_sim_options o;
  memset(&o, 0, sizeof o);
  o.rank = NULL;
  o.sequence = NULL;
  o.memory = has_twins(g) ? BERTH_MEMORY_TRAINING : BERTH_MEMORY_INFERENCE;
  o.param_multiple = 1;
  return o;
}

berth_status berth_sim_preset(berth_ctx *ctx, const char *name, berth_sim_options *out) {
  berth_sim_options o = berth_sim_default(NULL);
  if (!name) return berth_i_fail(ctx, BERTH_EINVAL, "no preset name");
  if (strcmp(name, "doppler") == 0) {
    o.memory = BERTH_MEMORY_NONE;
  } else if (strcmp(name, "baechi-tf") == 0) {
    o.links = BERTH_LINKS_CHANNEL;
    o.split_windows = 1;
    o.order = BERTH_ORDER_READY;
    o.quantum = 1e-6;
    o.memory = BERTH_MEMORY_TOTAL;
  } else if (strcmp(name, "baechi-pt") == 0) {
    o.memory = BERTH_MEMORY_TOTAL;
  } else if (strcmp(name, "tag") == 0) {
    o.links = BERTH_LINKS_ROUTE;
    o.reserve = 1;
    o.collectives = BERTH_COLLECTIVES_QUEUE;
    o.order = BERTH_ORDER_TASK;
    o.quantum = 1e-6;
  } else {
    return berth_i_fail(ctx, BERTH_EINVAL, "unknown preset \"%s\" (doppler, baechi-tf, baechi-pt, tag)", name);
  }
  *out = o;
  return BERTH_OK;
}

static berth_status check_number(berth_ctx *ctx, const char *what, double x) {
  if (x >= 0 && !isinf(x)) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option %s is %g (a finite number from 0)", what, x);
}

static berth_status check_noise(berth_ctx *ctx, double sigma) {
  if (sigma >= 0 && sigma <= MOST_NOISE) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option noise is %g (0 to %g)", sigma, MOST_NOISE);
}

static berth_status check_choice(berth_ctx *ctx, const char *what, int value, int last) {
  if (value >= 0 && value <= last) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option %s is %d (0 to %d)", what, value, last);
}

static berth_status check_rank(berth_ctx *ctx, const berth_graph *g, const double *rank) {
  char label[64];
  int32_t i;
  if (!rank) return berth_i_fail(ctx, BERTH_EINVAL, "dispatch static needs a rank for every op");
  for (i = 0; i < g->n_ops; i++) {
    if (!isnan(rank[i])) continue;
    return berth_i_fail(ctx, BERTH_EINVAL, "%s: rank is not a number", berth_i_op_label(g, i, label, sizeof label));
  }
  return BERTH_OK;
}

static berth_status check_sequence(berth_ctx *ctx, const berth_graph *g, const int32_t *sequence) {
  char label[64];
  berth_status st = BERTH_OK;
  uint8_t *seen;
  int32_t i;
  if (!sequence) return berth_i_fail(ctx, BERTH_EINVAL, "dispatch planned needs a sequence of all ops");
  if (!(seen = berth_i_zalloc(ctx, (size_t)g->n_ops, 1))) return berth_i_nomem(ctx);
  for (i = 0; i < g->n_ops && st == BERTH_OK; i++) {
    int32_t op = sequence[i];
    if (op < 0 || op >= g->n_ops) {
      st = berth_i_fail(ctx, BERTH_EINVAL, "sequence[%d] is %d: there are %d ops", (int)i, (int)op, (int)g->n_ops);
    } else if (seen[op]++) {
      st = berth_i_fail(ctx, BERTH_EINVAL, "%s is twice in the sequence", berth_i_op_label(g, op, label, sizeof label));
    }
  }
  berth_i_free(ctx, seen, (size_t)g->n_ops, 1);
  return st;
}

static berth_status check_no_communication(const berth_cost *cost, const char *order) {
  char label[64];
  int32_t op = berth_i_first_communication(cost->g);
  if (op == BERTH_NONE) return BERTH_OK;
  return berth_i_fail(cost->ctx, BERTH_EUNSUPPORTED, "%s simulator, knows no communication ops: %s is one", order,
                      berth_i_op_label(cost->g, op, label, sizeof label));
}

/* What holds for both published orders. */
static berth_status check_simple(berth_ctx *ctx, const berth_sim_options *o, const char *order) {
  if (o->dispatch != BERTH_DISPATCH_FIFO) return berth_i_fail(ctx, BERTH_EINVAL, "order %s goes with dispatch fifo only", order);
  if (o->send != BERTH_SEND_PUSH) return berth_i_fail(ctx, BERTH_EINVAL, "order %s goes with send push only", order);
  return o->preempt ? berth_i_fail(ctx, BERTH_EINVAL, "order %s cannot preempt", order) : BERTH_OK;
}

static berth_status check_task_order(const berth_cost *cost, const berth_sim_options *o) {
  berth_status st = check_no_communication(cost, "order task, of TAG's");
  if (st != BERTH_OK || (st = check_simple(cost->ctx, o, "task")) != BERTH_OK) return st;
  if (!berth_i_on_links(o->links) || o->reserve) return BERTH_OK;
  return berth_i_fail(cost->ctx, BERTH_EINVAL, "order task goes with links free, channel, duplex, pair, or route with reserve");
}

static berth_status check_ready_order(const berth_cost *cost, const berth_sim_options *o) {
  berth_ctx *ctx = cost->ctx;
  berth_status st;
  if (cost->g->n_collectives > 0) {
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED, "order ready, of Baechi's simulator, knows no collectives: the graph has %d",
                        (int)cost->g->n_collectives);
  }
  if ((st = check_no_communication(cost, "order ready, of Baechi's")) != BERTH_OK) return st;
  if ((st = check_simple(ctx, o, "ready")) != BERTH_OK) return st;
  if (berth_i_on_links(o->links)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "order ready goes with links free, channel, duplex or pair only");
  }
  return BERTH_OK;
}

/* What sets the times of flows are bandwidths, latencies and bytes. */
static berth_status check_fair(berth_ctx *ctx, const berth_cost *cost, const berth_sim_options *o) {
  if (o->quantum > 0) {
    return berth_i_fail(ctx, BERTH_EINVAL, "links fair shares bandwidth continuously: it does not go with quantum %g",
                        o->quantum);
  }
  if (cost->whole_us) {
    return berth_i_fail(ctx, BERTH_EINVAL, "links fair shares bandwidth continuously: it does not go with a cost in whole "
                                           "microseconds (whole_us)");
  }
  if (!cost->table) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "links fair shares the bandwidths of the topology: it does not go with a cost model "
                                         "that has a transfer function of its own");
}

berth_status berth_i_sim_check_options(berth_cost *cost, const berth_sim_options *o) {
  berth_ctx *ctx = cost->ctx;
  berth_status st;
  if ((st = check_choice(ctx, "links", (int)o->links, BERTH_LINKS_FAIR)) != BERTH_OK) return st;
  if ((st = check_choice(ctx, "dispatch", (int)o->dispatch, BERTH_DISPATCH_STATIC)) != BERTH_OK) return st;
  if ((st = check_choice(ctx, "send", (int)o->send, BERTH_SEND_PULL)) != BERTH_OK) return st;
  if ((st = check_choice(ctx, "memory", (int)o->memory, BERTH_MEMORY_TOTAL)) != BERTH_OK) return st;
  if ((st = check_choice(ctx, "order", (int)o->order, BERTH_ORDER_TASK)) != BERTH_OK) return st;
  if ((st = check_choice(ctx, "collectives", (int)o->collectives, BERTH_COLLECTIVES_QUEUE)) != BERTH_OK) return st;
  if ((st = check_number(ctx, "param_multiple", o->param_multiple)) != BERTH_OK) return st;
  if ((st = check_number(ctx, "quantum", o->quantum)) != BERTH_OK) return st;
  if ((st = check_noise(ctx, o->noise)) != BERTH_OK) return st;
  if (o->split_windows && o->links != BERTH_LINKS_CHANNEL && o->links != BERTH_LINKS_DUPLEX) {
    return berth_i_fail(ctx, BERTH_EINVAL, "split_windows needs links channel or duplex");
  }
  if (o->reserve && o->links != BERTH_LINKS_ROUTE) return berth_i_fail(ctx, BERTH_EINVAL, "reserve needs links route");
  if (o->links == BERTH_LINKS_FAIR && (st = check_fair(ctx, cost, o)) != BERTH_OK) return st;
  if (o->order == BERTH_ORDER_READY && (st = check_ready_order(cost, o)) != BERTH_OK) return st;
  if (o->order == BERTH_ORDER_TASK && (st = check_task_order(cost, o)) != BERTH_OK) return st;
  if (o->preempt && !berth_i_compares(o->dispatch)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "preempt needs a dispatch that compares ops: light-first, blevel, lifo or static");
  }
  if (o->dispatch == BERTH_DISPATCH_STATIC && (st = check_rank(ctx, cost->g, o->rank)) != BERTH_OK) return st;
  if (o->dispatch == BERTH_DISPATCH_PLANNED && (st = check_sequence(ctx, cost->g, o->sequence)) != BERTH_OK) return st;
  return BERTH_OK;
}
