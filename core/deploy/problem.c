/* The problem: options, creation, reading. It is made once, in the order times, ops and groups,
 * sets and places, layouts, actions (problem_*.c, compile/layout.c), then read by compiler,
 * evaluator and search; what they compute on first use is kept with it. */
#include "deploy_internal.h"

berth_deploy_options berth_deploy_default(berth_physics physics) {
  berth_deploy_options o = { .op_groups = 60,
                             .group_bytes = INFINITY,
                             .bucket = BERTH_BUCKET_GROUP,
                             .bucket_bytes = 25 << 20,
                             .uneven = 1,
                             .gather = 1,
                             .order = BERTH_DEPLOY_RANK };
  if (physics == BERTH_PHYSICAL) return o;
  o.bucket = BERTH_BUCKET_NONE;
  o.free_auxiliary = 1;
  o.order = BERTH_DEPLOY_FIFO;
  if (physics == BERTH_COMPAT) return o;
  o.uneven = o.gather = 0;
  o.split_parameters = o.split_gradients = o.positional = o.redundant = 1;
  return o;
}

static void set_defaults(void *out) {
  *(berth_deploy_options *)out = berth_deploy_default(BERTH_PHYSICAL);
}

static const berth_choice *const groupings[] = {
  BERTH_I_CHOICE("metis", "METIS."),
  BERTH_I_CHOICE("top-k", "The costliest base groups as centres, each other one with the nearest."),
  NULL
};
static const berth_choice *const splits[] = {
  BERTH_I_CHOICE("time", "Time."), BERTH_I_CHOICE("parameters", "Parameters, as published."), NULL
};
static const berth_choice *const buckets[] = {
  BERTH_I_CHOICE("none", "Each gradient alone."),
  BERTH_I_CHOICE("group", "The gradients of an op group in one AllReduce."),
  BERTH_I_CHOICE("bytes", "Up to bucket_bytes in one AllReduce."),
  NULL
};
static const berth_choice *const orders[] = {
  BERTH_I_CHOICE("fifo", "First in, first out."),
  BERTH_I_CHOICE("rank", "The op with the longest way to the end; updates last."),
  NULL
};

#define FIELD(name, kind) BERTH_I_OPTION(berth_deploy_options, name, kind)
#define AS(field, name, kind) BERTH_I_OPTION_AT(berth_deploy_options, field, name, kind)

const berth_option_table *berth_deploy_option_table(void) {
  static const berth_option options[] = {
    { FIELD(batch, WHOLE), .low = 1, .fallback = "none; must be given",
      .text = "samples in a step" },
    { FIELD(op_groups, WHOLE), .low = 1, .text = "most op groups" },
    { FIELD(group_bytes, QUANTITY), .unit = BERTH_BYTES, .above = 1, .high = INFINITY,
      .fallback = "no limit",
      .text = "most bytes of an op group, parameters and outputs of forward ops: one with more is "
              "cut into smaller ones" },
    { AS(top_k, "grouping", CHOICE), .choices = groupings, .text = "how op groups are made" },
    { AS(split_parameters, "split", CHOICE), .choices = splits,
      .text = "what the option SPLIT balances" },
    { FIELD(seed, SEED), .text = "of METIS" },
    { FIELD(uneven, FLAG), .text = "replicas may have shares by speed" },
    { AS(device_group, "device_groups", OTHER), .takes = "array",
      .fallback = "same machine, type, speed, rates and memory",
      .text = "group of each device" },
    { AS(set_device, "sets", OTHER), .takes = "array",
      .fallback = "unions of device groups, and each device",
      .text = "candidate device sets: arrays of devices" },
    { AS(point_cost, "points", OTHER), .takes = "array",
      .text = "{ batch, cost } or { batch, graph }: profiles at other batch sizes" },
    { FIELD(duplicates, FLAG), .text = "an op group may be repeated whole on every replica" },
    { FIELD(strict, FLAG), .text = "no replicas with unequal shares" },
    { FIELD(redundant, FLAG),
      .text = "as published: PS is legal, too, where no gradient is reduced" },
    { FIELD(bucket, CHOICE), .choices = buckets, .text = "which gradients share an AllReduce" },
    { FIELD(bucket_bytes, QUANTITY), .unit = BERTH_BYTES, .above = 1, .high = INFINITY,
      .text = "most bytes in one AllReduce; makes the bucket `bytes`" },
    { FIELD(split_gradients, FLAG),
      .text = "as published: partial gradients count as 1/n of their bytes" },
    { FIELD(positional, FLAG),
      .text = "as published: parts by position, splits and concatenations on the first device" },
    { FIELD(gather, FLAG),
      .text = "parts go to all replicas by AllGather, not by a concatenation that all read" },
    { FIELD(free_auxiliary, FLAG), .text = "splits, sums and concatenations take no time" },
    { FIELD(input_at_first, FLAG), .text = "input ops are on the first device that can run them" },
    { FIELD(order, CHOICE), .choices = orders, .text = "which ready op goes first" },
    { FIELD(analysis, OTHER), .takes = "analysis", .fallback = "berth.deploy.analyse",
      .text = "roles and batch rules of ops" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("deploy", options, berth_deploy_options, set_defaults);
}

/* ---- checks ---- */

static berth_status check(const berth_cost *cost, const berth_deploy_options *o) {
  berth_ctx *ctx = cost->ctx;
  if (o->n_sets < 0 || o->n_points < 0)
    return berth_i_fail(ctx, BERTH_EINVAL, "%ld device sets, %ld profiles: neither may be below 0",
                        (long)o->n_sets, (long)o->n_points);
  berth_status st = berth_options_check(ctx, berth_deploy_option_table(), o);
  if (st != BERTH_OK) return st;
  if (cost->collective || cost->table)
    return berth_i_fail(ctx, BERTH_EUNSUPPORTED,
                        "the cost prices %s by a function: it has no price for the compiled "
                        "graph's",
                        cost->collective ? "collectives" : "transfers");
  if (o->analysis && berth_analysis_graph(o->analysis) != cost->g)
    return berth_i_fail(ctx, BERTH_EINVAL, "the analysis is of another graph than the cost");
  return BERTH_OK;
}

/* ---- life ---- */

static berth_deploy *make_empty(berth_cost *cost, const berth_deploy_options *o) {
  berth_deploy *d = berth_i_pool_object(cost->ctx, sizeof *d);
  if (!d) return NULL;
  d->ctx = cost->ctx;
  d->refs = 1;
  d->cost = cost;
  d->g = cost->g;
  d->t = cost->t;
  d->o = *o;
  d->o.analysis = NULL;
  d->o.device_group = d->o.set_at = d->o.set_device = d->o.point_batch = NULL;
  d->o.point_cost = NULL;
  d->n_ops = cost->g->n_ops;
  d->n_devices = cost->n_devices;
  d->batch = o->batch;
  berth_ctx_retain(d->ctx);
  berth_cost_retain(cost);
  return d;
}

/* Options that the simulator refuses, or that compiled graphs cannot do with, are refused before
 * anything is compiled. */
static berth_status check_sim(const berth_deploy *d) {
  berth_sim_options o = d->sim;
  berth_sim *sim = NULL;
  if (o.order == BERTH_ORDER_READY)
    return berth_i_fail(d->ctx, BERTH_EUNSUPPORTED,
                        "order ready has no collectives, which keep replicas in step");
  if (d->o.order == BERTH_DEPLOY_RANK) {
    o.dispatch = BERTH_DISPATCH_STATIC;
    o.rank = d->rank;
  }
  berth_status st = berth_sim_new(d->cost, &o, &sim);
  berth_sim_release(sim);
  return st;
}

berth_status berth_deploy_new(berth_cost *cost, const berth_sim_options *sim,
                              const berth_deploy_options *opts, berth_deploy **out) {
  if (!cost || !out) return BERTH_EINVAL;
  berth_status st = check(cost, opts);
  if (st != BERTH_OK) return st;
  berth_deploy *d;
  if (!(d = make_empty(cost, opts))) return berth_i_nomem(cost->ctx);
  d->sim = sim ? *sim : berth_sim_default(d->g);
  d->sim.rank = NULL;
  d->sim.sequence = NULL;
  if (opts->analysis) berth_analysis_retain(d->analysis = (berth_analysis *)opts->analysis);
  else if ((st = berth_analyse(d->g, NULL, &d->analysis)) != BERTH_OK) goto done;
  if ((st = berth_i_deploy_times(d, opts)) != BERTH_OK) goto done;
  if ((st = berth_i_deploy_ops(d)) != BERTH_OK) goto done;
  if ((st = check_sim(d)) != BERTH_OK) goto done;
  if ((st = berth_i_deploy_sets(d, opts)) != BERTH_OK) goto done;
  if ((st = berth_i_deploy_lay_out(d)) != BERTH_OK) goto done;
  if ((st = berth_i_deploy_actions(d)) != BERTH_OK) goto done;
  *out = d;
  d = NULL;
done:
  berth_deploy_release(d);
  return st;
}

void berth_deploy_retain(berth_deploy *d) { d->refs++; }

void berth_deploy_release(berth_deploy *d) {
  if (!d || --d->refs > 0) return;
  berth_ctx *ctx = d->ctx;
  berth_i_pool_free(&d->baseline_pool);
  berth_i_values_release(d);
  berth_i_emission_release(d, d->scratch);
  for (int32_t i = 0; d->moves && i < BERTH_I_MOVE_SLOTS; i++)
    berth_i_free(ctx, d->moves[i].move, (size_t)d->moves[i].n, sizeof *d->moves[i].move);
  for (int32_t k = 0; k < d->n_points; k++) berth_cost_release(d->point_cost[k]);
  berth_analysis_release(d->analysis);
  berth_cost_release(d->cost);
  berth_i_pool_free(&d->pool);
  berth_ctx_release(ctx);
}

/* ---- reading ---- */

berth_cost *berth_deploy_cost(const berth_deploy *d) { return d->cost; }
const berth_analysis *berth_deploy_analysis(const berth_deploy *d) { return d->analysis; }
const berth_deploy_options *berth_deploy_given(const berth_deploy *d) { return &d->o; }
const berth_sim_options *berth_deploy_simulation(const berth_deploy *d) { return &d->sim; }
int32_t berth_deploy_groups(const berth_deploy *d) { return d->n_groups; }
const int32_t *berth_deploy_group(const berth_deploy *d) { return d->group; }
const double *berth_deploy_group_seconds(const berth_deploy *d) { return d->group_seconds; }
int32_t berth_deploy_device_groups(const berth_deploy *d) { return d->n_device_groups; }
const int32_t *berth_deploy_device_group(const berth_deploy *d) { return d->device_group; }
int32_t berth_deploy_sets(const berth_deploy *d) { return d->n_sets; }
const uint8_t *berth_deploy_legal(const berth_deploy *d) { return d->legal; }

int32_t berth_deploy_set(const berth_deploy *d, int32_t set, const int32_t **devices) {
  bool known = set >= 0 && set < d->n_sets;
  if (devices) *devices = known ? berth_i_place_devices(d, set) : NULL;
  return known ? berth_i_place_size(d, set) : 0;
}

int32_t berth_deploy_actions(const berth_deploy *d, const berth_action **out) {
  if (out) *out = d->action;
  return d->n_actions;
}

static berth_status check_set(const berth_deploy *d, int32_t set) {
  if (set >= 0 && set < d->n_sets) return BERTH_OK;
  return berth_i_fail(d->ctx, BERTH_EINVAL, "there is no device set %ld (there are %ld)", (long)set,
                      (long)d->n_sets);
}

berth_status berth_deploy_samples(const berth_deploy *d, int32_t set, berth_deploy_shares shares,
                                  int32_t *out) {
  if (!d) return BERTH_EINVAL;
  berth_status st = check_set(d, set);
  if (st != BERTH_OK) return st;
  for (int32_t k = 0; k < berth_i_place_size(d, set); k++)
    out[k] = berth_i_form_samples(d, berth_i_form_of(set, berth_i_cut_by(shares)), k);
  return BERTH_OK;
}

berth_status berth_deploy_owners(const berth_deploy *d, int32_t set, berth_deploy_shares shares,
                                 int32_t *out) {
  if (!d) return BERTH_EINVAL;
  int kind = shares == BERTH_SHARES_SPEED;
  berth_status st = check_set(d, set);
  if (st != BERTH_OK) return st;
  for (int32_t i = d->run_at[kind][set]; i < d->run_at[kind][set + 1]; i++) {
    int32_t end = i + 1 < d->run_at[kind][set + 1] ? d->run[kind][i + 1].first : d->batch;
    for (int32_t s = d->run[kind][i].first; s < end; s++)
      out[s] = berth_i_place_devices(d, set)[d->run[kind][i].owner];
  }
  return BERTH_OK;
}

double berth_deploy_op(const berth_deploy *d, int32_t op, int32_t device, int32_t samples) {
  if (op < 0 || op >= d->n_ops || device < 0 || device >= d->n_devices || samples < 0)
    return (double)NAN;
  return berth_i_can_run(d->cost, op, device) ? berth_i_deploy_seconds(d, op, device, samples)
                                              : BERTH_UNSUPPORTED;
}
