/* The fixed part of assignment episodes (berth_assign): options, units, features and edges of one
 * graph on one topology, made once and read by all episodes. O((ops + edges) x devices). */
#include "episodes_internal.h"

berth_assign_options berth_assign_default(void) {
  berth_assign_options o = {
    BERTH_ESTIMATES_EXACT, BERTH_T_LEVELS_CODE, BERTH_EDGE_COSTS_PRODUCER, NULL, 0, 0
  };
  return o;
}

static void set_defaults(void *out) { *(berth_assign_options *)out = berth_assign_default(); }

static const berth_choice *const estimates[] = {
  BERTH_I_CHOICE("exact", "Earliest start; end is start and op time."),
  BERTH_I_CHOICE("load", "Op times on the device so far: the published code, without waits and "
                         "transfers."),
  NULL
};
static const berth_choice *const t_levels[] = {
  BERTH_I_CHOICE("code", "The b-level recursion on reversed edges."),
  BERTH_I_CHOICE("textbook", "Longest path to the op, with the transfer time of all outputs of "
                             "the producer on each edge."),
  NULL
};
static const berth_choice *const edge_costs[] = {
  BERTH_I_CHOICE("producer", "The transfer time of the tensor."),
  BERTH_I_CHOICE("code", "That of the consumer's output: the published code."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_assign_options, name, kind)

const berth_option_table *berth_assign_option_table(void) {
  static const berth_option options[] = {
    { FIELD(estimates, CHOICE), .choices = estimates,
      .text = "start and end of ops that are placed" },
    { FIELD(t_levels, CHOICE), .choices = t_levels, .text = "longest path to an op" },
    { FIELD(edge_costs, CHOICE), .choices = edge_costs,
      .text = "seconds of an edge against the flow" },
    { FIELD(unit, OTHER), .takes = "array", .fallback = "each op, but for groups and pins",
      .text = "unit of each op: ops of one are placed together" },
    { FIELD(partners, FLAG), .text = "a sixth feature of devices, which DOPPLER does not have" },
    { FIELD(contract, FLAG), .text = "units as the searches make them" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("assign", options, berth_assign_options, set_defaults);
}

void berth_assign_retain(berth_assign *a) { a->refs++; }

void berth_assign_release(berth_assign *a) {
  if (!a || --a->refs > 0) return;
  berth_ctx *ctx;
  ctx = a->ctx;
  berth_cost_release(a->cost);
  berth_i_pool_free(&a->pool);
  berth_ctx_release(ctx);
}

berth_status berth_assign_new(berth_cost *cost, const berth_assign_options *opts,
                              berth_assign **out) {
  if (!cost || !out) return BERTH_EINVAL;
  berth_ctx *ctx = cost->ctx;
  berth_assign_options o = opts ? *opts : berth_assign_default();
  berth_status st;
  if ((st = berth_options_check(ctx, berth_assign_option_table(), &o)) != BERTH_OK) return st;
  berth_assign *a;
  if (!(a = berth_i_pool_object(ctx, sizeof *a))) return berth_i_nomem(ctx);
  a->ctx = ctx;
  a->refs = 1;
  a->cost = cost;
  a->o = o;
  a->o.unit = NULL;
  a->n = cost->g->n_ops;
  a->n_devices = cost->n_devices;
  a->width = o.partners ? BERTH_I_FEATURES + 1 : BERTH_I_FEATURES;
  berth_ctx_retain(ctx);
  berth_cost_retain(cost);
  if ((st = berth_i_assign_units(a, o.unit)) == BERTH_OK
      && (st = berth_i_assign_pairs(a)) == BERTH_OK && (st = berth_i_assign_features(a)) == BERTH_OK
      && (st = berth_i_assign_edges(a)) == BERTH_OK) {
    a->restricted = berth_i_assign_restricts(a);
    *out = a;
  } else {
    berth_assign_release(a);
  }
  return st;
}

berth_cost *berth_assign_cost(const berth_assign *a) { return a->cost; }
int32_t berth_assign_steps(const berth_assign *a) { return a->steps; }
int berth_assign_restricted(const berth_assign *a) { return a->restricted; }
int32_t berth_assign_device_features(const berth_assign *a) { return a->width; }
const int32_t *berth_assign_units(const berth_assign *a) { return a->unit; }
const double *berth_assign_op_features(const berth_assign *a) { return a->feature; }
const int32_t *berth_assign_b_next(const berth_assign *a) { return a->b_next; }
const int32_t *berth_assign_t_next(const berth_assign *a) { return a->t_next; }

int32_t berth_assign_edges(const berth_assign *a, const int32_t **src, const int32_t **dst,
                           const double **seconds) {
  *src = a->src;
  *dst = a->dst;
  *seconds = a->seconds;
  return a->n_edges;
}
