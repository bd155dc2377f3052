/* Options: descriptors, defaults, presets, checks of combinations. A preset sets the options of a
 * published simulator; what an order or discipline does not implement is refused, never ignored. */
#include "sim_internal.h"

#define C BERTH_I_CHOICE

const berth_choice *const berth_i_link_choices[] = {
  C("free", "No contention: every transfer takes latency plus bytes / bandwidth of its route, all "
            "at once."),
  C("channel", "Each device has one channel for sends and receives together: half duplex."),
  C("duplex", "Each device has one channel out and one in; a transfer holds the sender's and the "
              "receiver's, as network cards do."),
  C("pair", "One channel for each ordered pair of devices; transfers on it queue."),
  C("route", "A transfer holds every link of its route for its whole time, all of them or none; "
             "the oldest request that can start goes first. List placers plan with duplex "
             "instead."),
  C("fair", "After the latency of its route a transfer shares the bandwidth of its links, max-min "
            "fairly, with all that cross them, anew whenever one starts or ends. List placers "
            "plan with duplex instead."),
  NULL
};
const berth_choice *const berth_i_memory_choices[] = {
  C("none", "Not accounted: no peaks, no limits."),
  C("inference", "Parameters stay; a tensor is freed after its last reader on the device and its "
                 "last send. Default without twins."),
  C("training", "As inference, but what a backward twin needs stays until that has run. Default "
                "for graphs with twins."),
  C("total", "Nothing is freed: what is placed under it holds under any order of execution."),
  NULL
};
static const berth_choice *const sends[] = {
  C("push", "A tensor leaves when it is made, to every device with a reader."),
  C("pull", "A device picks an op whose producers are done, fetches what it lacks, and waits for "
            "it."),
  NULL
};
static const berth_choice *const event_orders[] = {
  C("event", "Discrete events, by time."),
  C("ready", "Ops by ready time, as the published simulator of Baechi does; with dispatch fifo "
             "and send push."),
  C("task", "Ends of ops, edges and collectives by (time, number), as the published simulator of "
            "TAG does; with dispatch fifo and send push, and links route only with reserve."),
  NULL
};
static const berth_choice *const collectives[] = {
  C("links", "A collective waits for what it needs of the links."),
  C("queue", "One queue for all collectives, one after another; they and transfers do not affect "
             "one another."),
  NULL
};

static const berth_choice *const presets[] = {
  C("doppler", "links free, dispatch fifo, send push, memory none: the published simulator of "
               "DOPPLER."),
  C("baechi-tf", "links channel with split windows, order ready, 1 us quantum, memory total: "
                 "Baechi's published TensorFlow simulator."),
  C("baechi-pt", "links free, dispatch fifo, send push, memory total: Baechi's published PyTorch "
                 "simulator."),
  C("tag", "links route with reserve, collectives queue, order task, 1 us quantum, memory "
           "inference: TAG's published simulator."),
  NULL
};

const berth_choice *const *berth_link_choices(void) { return berth_i_link_choices; }
const berth_choice *const *berth_memory_choices(void) { return berth_i_memory_choices; }

static void set_defaults(void *out) { *(berth_sim_options *)out = berth_sim_default(NULL); }

#define FIELD(name, kind) BERTH_I_OPTION(berth_sim_options, name, kind)

const berth_option_table *berth_sim_option_table(void) {
  static const berth_option options[] = {
    BERTH_I_LINKS_ROW(berth_sim_options, links),
    { FIELD(dispatch, CHOICE), .choices = berth_i_dispatch_choices,
      .text = "which of the ready ops an idle device runs next" },
    { FIELD(send, CHOICE), .choices = sends, .text = "when a tensor leaves" },
    BERTH_I_MEMORY_ROW(berth_sim_options, memory),
    BERTH_I_PARAM_MULTIPLE_ROW(berth_sim_options, param_multiple),
    { FIELD(order, CHOICE), .choices = event_orders, .text = "order in which events are handled" },
    { FIELD(split_windows, FLAG),
      .text = "channel and duplex: sender and receiver are held one after the other" },
    { FIELD(preempt, FLAG),
      .text = "a device drops its op for a better one by dispatch, and takes it up again later" },
    BERTH_I_QUANTUM_ROW(berth_sim_options, quantum),
    { FIELD(noise, NUMBER), .high = 10,
      .text = "sigma of a lognormal factor of median 1 on every op and transfer" },
    { FIELD(seed, SEED), .text = "of dispatch random and noise" },
    { FIELD(rank, OTHER), .takes = "array",
      .text = "dispatch static: a number for each op, least first" },
    { FIELD(sequence, OTHER), .takes = "array", .fallback = "the placement's",
      .text = "dispatch planned: all ops in the order of execution" },
    { FIELD(collectives, CHOICE), .choices = collectives,
      .text = "what collectives on several devices wait for" },
    { FIELD(reserve, FLAG), .text = "route: links are given out when a transfer is ready, from "
                                    "when they are free, idle meanwhile" },
    { .key = "preset",
      .type = BERTH_OPTION_OTHER,
      .takes = "choice",
      .choices = presets,
      .text = "the rules of a published simulator; other options override them" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("sim", options, berth_sim_options, set_defaults);
}

static bool has_twins(const berth_graph *g) {
  if (!g || !g->twin) return false;
  for (int32_t i = 0; i < g->n_ops; i++) {
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

static void set_doppler(berth_sim_options *o) { o->memory = BERTH_MEMORY_NONE; }

static void set_baechi_tf(berth_sim_options *o) {
  o->links = BERTH_LINKS_CHANNEL;
  o->split_windows = 1;
  o->order = BERTH_ORDER_READY;
  o->quantum = 1e-6;
  o->memory = BERTH_MEMORY_TOTAL;
}

static void set_baechi_pt(berth_sim_options *o) { o->memory = BERTH_MEMORY_TOTAL; }

static void set_tag(berth_sim_options *o) {
  o->links = BERTH_LINKS_ROUTE;
  o->reserve = 1;
  o->collectives = BERTH_COLLECTIVES_QUEUE;
  o->order = BERTH_ORDER_TASK;
  o->quantum = 1e-6;
}

static void (*const set_preset[])(berth_sim_options *) = { set_doppler, set_baechi_tf,
                                                           set_baechi_pt, set_tag };

const berth_choice *const *berth_sim_presets(void) { return presets; }

berth_status berth_sim_preset(berth_ctx *ctx, const char *name, berth_sim_options *out) {
  if (!ctx) return BERTH_EINVAL;
  berth_sim_options o = berth_sim_default(NULL);
  int k = name ? berth_choice_find(presets, name) : -1;
  if (k < 0) {
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "unknown preset \"%s\" (doppler, baechi-tf, baechi-pt, tag)",
                        name ? name : "");
  }
  set_preset[k](&o);
  *out = o;
  return BERTH_OK;
}

static berth_status check_rank(berth_ctx *ctx, const berth_graph *g, const double *rank) {
  if (!rank) return berth_i_fail(ctx, BERTH_EINVAL, "dispatch static needs a rank for every op");
  char label[64];
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (!isnan(rank[i])) continue;
    return berth_i_fail(ctx, BERTH_EINVAL, "%s: rank is not a number",
                        berth_i_op_label(g, i, label, sizeof label));
  }
  return BERTH_OK;
}

static berth_status check_sequence(berth_ctx *ctx, const berth_graph *g, const int32_t *sequence) {
  berth_status st = BERTH_OK;
  if (!sequence)
    return berth_i_fail(ctx, BERTH_EINVAL, "dispatch planned needs a sequence of all ops");
  uint8_t *seen;
  if (!(seen = berth_i_zalloc(ctx, (size_t)g->n_ops, 1))) return berth_i_nomem(ctx);
  char label[64];
  for (int32_t i = 0; i < g->n_ops && st == BERTH_OK; i++) {
    int32_t op = sequence[i];
    if (op < 0 || op >= g->n_ops) {
      st = berth_i_fail(ctx, BERTH_EINVAL, "sequence[%d] is %d: there are %d ops", (int)i, (int)op,
                        (int)g->n_ops);
    } else if (seen[op]++) {
      st = berth_i_fail(ctx, BERTH_EINVAL, "%s is twice in the sequence",
                        berth_i_op_label(g, op, label, sizeof label));
    }
  }
  berth_i_free(ctx, seen, (size_t)g->n_ops, 1);
  return st;
}

static berth_status check_no_communication(const berth_cost *cost, const char *order) {
  int32_t op = berth_i_first_communication(cost->g);
  if (op == BERTH_NONE) return BERTH_OK;
  char label[64];
  return berth_i_fail(cost->ctx, BERTH_EUNSUPPORTED,
                      "%s simulator, does not support communication ops: %s is one", order,
                      berth_i_op_label(cost->g, op, label, sizeof label));
}

/* What holds for both published orders. */
static berth_status check_simple(berth_ctx *ctx, const berth_sim_options *o, const char *order) {
  if (o->dispatch != BERTH_DISPATCH_FIFO)
    return berth_i_fail(ctx, BERTH_EINVAL, "order %s requires dispatch fifo", order);
  if (o->send != BERTH_SEND_PUSH)
    return berth_i_fail(ctx, BERTH_EINVAL, "order %s requires send push", order);
  return o->preempt ? berth_i_fail(ctx, BERTH_EINVAL, "order %s cannot preempt", order) : BERTH_OK;
}

static berth_status check_task_order(const berth_cost *cost, const berth_sim_options *o) {
  berth_status st = check_no_communication(cost, "order task, of TAG's");
  if (st != BERTH_OK || (st = check_simple(cost->ctx, o, "task")) != BERTH_OK) return st;
  if (!berth_i_on_links(o->links) || o->reserve) return BERTH_OK;
  return berth_i_fail(
      cost->ctx, BERTH_EINVAL,
      "order task requires links free, channel, duplex, pair, or route with reserve");
}

static berth_status check_ready_order(const berth_cost *cost, const berth_sim_options *o) {
  berth_ctx *ctx = cost->ctx;
  if (cost->g->n_collectives > 0) {
    return berth_i_fail(
        ctx, BERTH_EUNSUPPORTED,
        "order ready, of Baechi's simulator, does not support collectives: the graph has %d",
        (int)cost->g->n_collectives);
  }
  berth_status st;
  if ((st = check_no_communication(cost, "order ready, of Baechi's")) != BERTH_OK) return st;
  if ((st = check_simple(ctx, o, "ready")) != BERTH_OK) return st;
  if (berth_i_on_links(o->links)) {
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "order ready requires links free, channel, duplex or pair");
  }
  return BERTH_OK;
}

/* What sets the times of flows are bandwidths, latencies and bytes. */
static berth_status check_fair(berth_ctx *ctx, const berth_cost *cost, const berth_sim_options *o) {
  if (o->quantum > 0) {
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "links fair shares bandwidth continuously: it does not support quantum %g",
                        o->quantum);
  }
  if (cost->whole_us) {
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "links fair shares bandwidth continuously: it does not support a cost in "
                        "whole microseconds (whole_us)");
  }
  if (!cost->table) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "links fair shares the bandwidths of the topology: it does not support a "
                      "cost model that has a transfer function of its own");
}

berth_status berth_i_sim_check_options(berth_cost *cost, const berth_sim_options *o) {
  berth_ctx *ctx = cost->ctx;
  berth_status st;
  if ((st = berth_options_check(ctx, berth_sim_option_table(), o)) != BERTH_OK) return st;
  if (o->split_windows && o->links != BERTH_LINKS_CHANNEL && o->links != BERTH_LINKS_DUPLEX) {
    return berth_i_fail(ctx, BERTH_EINVAL, "split_windows needs links channel or duplex");
  }
  if (o->reserve && o->links != BERTH_LINKS_ROUTE)
    return berth_i_fail(ctx, BERTH_EINVAL, "reserve needs links route");
  if (o->links == BERTH_LINKS_FAIR && (st = check_fair(ctx, cost, o)) != BERTH_OK) return st;
  if (o->order == BERTH_ORDER_READY && (st = check_ready_order(cost, o)) != BERTH_OK) return st;
  if (o->order == BERTH_ORDER_TASK && (st = check_task_order(cost, o)) != BERTH_OK) return st;
  if (o->preempt && !berth_i_compares(o->dispatch)) {
    return berth_i_fail(
        ctx, BERTH_EINVAL,
        "preempt needs a dispatch that compares ops: light-first, light-class, blevel, lifo or "
        "static");
  }
  if (o->dispatch == BERTH_DISPATCH_STATIC && (st = check_rank(ctx, cost->g, o->rank)) != BERTH_OK)
    return st;
  if (o->dispatch == BERTH_DISPATCH_PLANNED
      && (st = check_sequence(ctx, cost->g, o->sequence)) != BERTH_OK)
    return st;
  return BERTH_OK;
}
