/* ETF, m-ETF, HEFT, MinMin, b-level and critical-path list scheduling, and the user's own policy: settings of the list engine. */
#include "list/ranks_internal.h"
#include "place/place_internal.h"

static const char *const textbook_only[] = { "", NULL };
const char *const berth_i_baechi_variants[] = { "", "baechi-tf", "baechi-pt", NULL };
static const char *const doppler_variants[] = { "", "code", NULL };

static berth_status by_static_level(void *ud, const berth_plan *p, double *priority) {
  (void)ud;
  return berth_i_static_level(p, priority);
}

static berth_status by_upward_rank(void *ud, const berth_plan *p, double *priority) {
  const berth_place_options *opts = ud;
  return berth_i_upward_rank(p, opts->averages, priority);
}

static berth_status by_b_level(void *ud, const berth_plan *p, double *priority) {
  (void)ud;
  return berth_i_upward_rank(p, BERTH_AVERAGE_TEXTBOOK, priority);
}

/* First to last. */
static berth_status by_topological_number(void *ud, const berth_plan *p, double *priority) {
  int32_t i;
  (void)ud;
  for (i = 0; i < p->n; i++) priority[p->g->topo[i]] = -i;
  return BERTH_OK;
}

berth_status (*berth_i_prepare_ties(const berth_place_options *opts))(void *, const berth_plan *, double *) {
  bool published = opts->variant[0] != 0;
  berth_ties ties = opts->ties;
  if (ties == BERTH_TIES_DEFAULT) ties = published ? BERTH_TIES_TOPOLOGICAL : BERTH_TIES_LEVEL;
  if (ties == BERTH_TIES_BLEVEL) return by_b_level;
  return ties == BERTH_TIES_LEVEL ? by_static_level : by_topological_number;
}

static berth_status run_plain(berth_cost *cost, const char *placer, const berth_policy *policy, const berth_place_options *opts,
                              berth_placement **out, berth_obstacle *why) {
  berth_i_setup s = berth_i_setup_from(placer, policy, opts);
  return berth_i_list_place(cost, &s, opts, out, why);
}

/* ---- earliest start first ---- */

static berth_status run_etf(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why) {
  berth_policy policy = { .name = "etf", .choose = BERTH_CHOOSE_PAIR, .prepare = by_static_level, .score = berth_i_score_est };
  return run_plain(cost, "etf", &policy, opts, out, why);
}

/* A published variant has its own links and clock; asking for others would be ignored silently. */
static berth_status check_published(berth_cost *cost, const berth_place_options *opts, berth_links links) {
  if (opts->links == BERTH_LINKS_FREE || opts->links == links) return BERTH_OK;
  return berth_i_fail(cost->ctx, BERTH_EINVAL, "variant \"%s\" brings its own links discipline; leave the option links alone",
                      opts->variant);
}

berth_status berth_i_set_baechi(berth_cost *cost, const berth_place_options *opts, berth_i_setup *s) {
  bool tf = strcmp(opts->variant, "baechi-tf") == 0;
  s->links = tf ? BERTH_LINKS_CHANNEL : BERTH_LINKS_FREE;
  s->split_windows = s->blind_estimates = tf;
  s->clamp = true;
  s->tie = BERTH_I_TIE_ID;
  if (tf && s->quantum == 0) s->quantum = 1e-6;
  if (opts->memory != BERTH_MEMORY_NONE) s->rule = tf ? BERTH_I_RULE_BAECHI_TF : BERTH_I_RULE_BAECHI_PT;
  return check_published(cost, opts, s->links);
}

static berth_status run_m_etf(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why) {
  berth_policy policy = {
    .name = "m-etf", .ready = BERTH_READY_FINISHED, .choose = BERTH_CHOOSE_PAIR,
    .prepare = berth_i_prepare_ties(opts), .score = berth_i_score_est
  };
  berth_i_setup s = berth_i_setup_from("m-etf", &policy, opts);
  berth_status st;
  s.tie = BERTH_I_TIE_INPUTS;
  if (opts->variant[0] && (st = berth_i_set_baechi(cost, opts, &s)) != BERTH_OK) return st;
  return berth_i_list_place(cost, &s, opts, out, why);
}

/* ---- earliest finish ---- */

static berth_status run_minmin(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why) {
  berth_policy policy = { .name = "minmin", .choose = BERTH_CHOOSE_PAIR };
  return run_plain(cost, "minmin", &policy, opts, out, why);
}

static berth_status run_heft(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why) {
  berth_place_options own = *opts;
  berth_policy policy = { .name = "heft", .fit = BERTH_FIT_INSERTION, .prepare = by_upward_rank, .ud = &own };
  return run_plain(cost, "heft", &policy, opts, out, why);
}

static berth_status run_blevel(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why) {
  berth_policy policy = { .name = "blevel", .ready = BERTH_READY_FINISHED, .prepare = by_static_level };
  return run_plain(cost, "blevel", &policy, opts, out, why);
}

/* ---- critical path ---- */

/* What the tries are compared by: the plan, or, where the plan is none, the published simulator. */
static berth_status value_of(berth_cost *cost, const berth_i_setup *s, const berth_placement *p, double *value) {
  berth_sim_options o;
  berth_result *r;
  berth_status st;
  *value = p->estimate;
  if (!s->load_only) return BERTH_OK;
  if ((st = berth_sim_preset(cost->ctx, "doppler", &o)) != BERTH_OK) return st;
  if ((st = berth_simulate(cost, p->device, &o, &r)) != BERTH_OK) return st;
  *value = berth_result_makespan(r);
  berth_result_release(r);
  return BERTH_OK;
}

static berth_status keep_better(berth_cost *cost, const berth_i_setup *s, berth_placement *p, berth_placement **best,
                                double *least) {
  double value;
  berth_status st = value_of(cost, s, p, &value);
  if (st != BERTH_OK || (*best && value >= *least)) {
    berth_placement_release(p);
    return st;
  }
  berth_placement_release(*best);
  *best = p;
  *least = value;
  return BERTH_OK;
}

/* Tries may be many and short. */
static berth_status next_try(berth_ctx *ctx, int32_t i, int32_t tries) {
  berth_i_progress(ctx, "trying", (double)i / tries);
  return berth_i_interrupted(ctx);
}

static berth_status run_critical_path(berth_cost *cost, const berth_place_options *opts, berth_placement **out,
                                      berth_obstacle *why) {
  berth_policy policy = { .name = "critical-path", .prepare = by_b_level, .score = berth_i_score_est };
  berth_i_setup s = berth_i_setup_from("critical-path", &policy, opts);
  berth_placement *best = NULL, *p;
  double least = INFINITY;
  berth_status st = BERTH_OK;
  int32_t i;
  s.load_only = strcmp(opts->variant, "code") == 0;
  s.tie = s.load_only ? BERTH_I_TIE_DOPPLER : BERTH_I_TIE_RANDOM;
  if (s.load_only && (st = check_published(cost, opts, BERTH_LINKS_FREE)) != BERTH_OK) return st;
  for (i = 0; i < opts->tries && st == BERTH_OK; i++) {
    s.stream = (uint64_t)i;
    if (i > 0 && (st = next_try(cost->ctx, i, opts->tries)) != BERTH_OK) break;
    if ((st = berth_i_list_place(cost, &s, opts, &p, why)) != BERTH_OK) break;
    if (opts->tries == 1) {
      best = p;
    } else {
      st = keep_better(cost, &s, p, &best, &least);
    }
  }
  if (st == BERTH_OK) {
    *out = best;
  } else {
    berth_placement_release(best);
  }
  return st;
}

/* ---- the user's ---- */

static berth_status run_policy(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why) {
  berth_i_setup s = berth_i_setup_from(opts->policy->name ? opts->policy->name : "policy", opts->policy, opts);
  return berth_i_engine_run(cost, &s, out, why);
}

const berth_i_placer berth_i_placer_m_etf = { "m-etf", berth_i_baechi_variants, run_m_etf, NULL };
const berth_i_placer berth_i_placer_etf = { "etf", textbook_only, run_etf, NULL };
const berth_i_placer berth_i_placer_heft = { "heft", textbook_only, run_heft, NULL };
const berth_i_placer berth_i_placer_minmin = { "minmin", textbook_only, run_minmin, NULL };
const berth_i_placer berth_i_placer_blevel = { "blevel", textbook_only, run_blevel, NULL };
const berth_i_placer berth_i_placer_critical_path = { "critical-path", doppler_variants, run_critical_path, NULL };
const berth_i_placer berth_i_placer_policy = { "policy", textbook_only, run_policy, berth_i_check_policy };
