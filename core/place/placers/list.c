/* ETF, m-ETF, HEFT, MinMin, b-level and critical-path list scheduling, and the user's own policy.
 * Each is a berth_policy and a few switches of the list engine (list/engine_internal.h), which has
 * the loop; here are only priorities, ties and settings. Sources: the descriptor of each placer. */
#include "list/ranks_internal.h"
#include "place/place_internal.h"

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
  (void)ud;
  for (int32_t i = 0; i < p->n; i++) priority[p->g->topo[i]] = -i;
  return BERTH_OK;
}

berth_status (*berth_i_prepare_ties(const berth_place_options *opts))(void *, const berth_plan *,
                                                                      double *) {
  bool published = opts->variant[0] != 0;
  berth_ties ties = opts->ties;
  if (ties == BERTH_TIES_DEFAULT) ties = published ? BERTH_TIES_TOPOLOGICAL : BERTH_TIES_LEVEL;
  if (ties == BERTH_TIES_BLEVEL) return by_b_level;
  return ties == BERTH_TIES_LEVEL ? by_static_level : by_topological_number;
}

static berth_status run_plain(berth_cost *cost, const char *placer, const berth_policy *policy,
                              const berth_place_options *opts, berth_placement **out,
                              berth_obstacle *why) {
  berth_i_setup s = berth_i_setup_from(placer, policy, opts);
  return berth_i_list_place(cost, &s, opts, out, why);
}

/* ---- earliest start first ---- */

static berth_status run_etf(berth_cost *cost, const berth_place_options *opts,
                            berth_placement **out, berth_obstacle *why) {
  berth_policy policy = { .name = "etf",
                          .choose = BERTH_CHOOSE_PAIR,
                          .prepare = by_static_level,
                          .score = berth_i_score_est };
  return run_plain(cost, "etf", &policy, opts, out, why);
}

/* A published variant has its own links and clock; asking for others would be ignored silently. */
static berth_status check_published(berth_cost *cost, const berth_place_options *opts,
                                    berth_links links) {
  if (opts->links == BERTH_LINKS_FREE || opts->links == links) return BERTH_OK;
  return berth_i_fail(
      cost->ctx, BERTH_EINVAL,
      "variant \"%s\" sets its own links discipline; leave the option links alone",
      opts->variant);
}

berth_status berth_i_set_baechi(berth_cost *cost, const berth_place_options *opts,
                                berth_i_setup *s) {
  bool tf = strcmp(opts->variant, "baechi-tf") == 0;
  s->links = tf ? BERTH_LINKS_CHANNEL : BERTH_LINKS_FREE;
  s->split_windows = s->blind_estimates = tf;
  s->clamp = true;
  s->tie = BERTH_I_TIE_ID;
  if (tf && s->quantum == 0) s->quantum = 1e-6;
  if (opts->memory != BERTH_MEMORY_NONE)
    s->rule = tf ? BERTH_I_RULE_BAECHI_TF : BERTH_I_RULE_BAECHI_PT;
  return check_published(cost, opts, s->links);
}

static berth_status run_m_etf(berth_cost *cost, const berth_place_options *opts,
                              berth_placement **out, berth_obstacle *why) {
  berth_policy policy = {
    .name = "m-etf", .ready = BERTH_READY_FINISHED, .choose = BERTH_CHOOSE_PAIR,
    .prepare = berth_i_prepare_ties(opts), .score = berth_i_score_est
  };
  berth_i_setup s = berth_i_setup_from("m-etf", &policy, opts);
  s.tie = BERTH_I_TIE_INPUTS;
  berth_status st;
  if (opts->variant[0] && (st = berth_i_set_baechi(cost, opts, &s)) != BERTH_OK) return st;
  return berth_i_list_place(cost, &s, opts, out, why);
}

/* ---- earliest finish ---- */

static berth_status run_minmin(berth_cost *cost, const berth_place_options *opts,
                               berth_placement **out, berth_obstacle *why) {
  berth_policy policy = { .name = "minmin", .choose = BERTH_CHOOSE_PAIR };
  return run_plain(cost, "minmin", &policy, opts, out, why);
}

static berth_status run_heft(berth_cost *cost, const berth_place_options *opts,
                             berth_placement **out, berth_obstacle *why) {
  berth_place_options own = *opts;
  berth_policy policy = {
    .name = "heft", .fit = BERTH_FIT_INSERTION, .prepare = by_upward_rank, .ud = &own
  };
  return run_plain(cost, "heft", &policy, opts, out, why);
}

static berth_status run_blevel(berth_cost *cost, const berth_place_options *opts,
                               berth_placement **out, berth_obstacle *why) {
  berth_policy policy = { .name = "blevel",
                          .ready = BERTH_READY_FINISHED,
                          .prepare = by_static_level };
  return run_plain(cost, "blevel", &policy, opts, out, why);
}

/* ---- critical path ---- */

/* The value by which runs are compared: the plan's makespan; for the published variant, whose plan
 * has no times, that of the published simulator. */
static berth_status value_of(berth_cost *cost, const berth_i_setup *s, const berth_placement *p,
                             double *value) {
  *value = p->estimate;
  if (!s->load_only) return BERTH_OK;
  berth_sim_options o;
  berth_status st;
  if ((st = berth_sim_preset(cost->ctx, "doppler", &o)) != BERTH_OK) return st;
  berth_result *r;
  if ((st = berth_simulate(cost, p->device, &o, &r)) != BERTH_OK) return st;
  *value = berth_result_makespan(r);
  berth_result_release(r);
  return BERTH_OK;
}

static berth_status run_critical_path(berth_cost *cost, const berth_place_options *opts,
                                      berth_placement **out, berth_obstacle *why) {
  berth_policy policy = { .name = "critical-path",
                          .prepare = by_b_level,
                          .score = berth_i_score_est };
  berth_i_setup s = berth_i_setup_from("critical-path", &policy, opts);
  berth_placement *best = NULL, *p;
  double least = INFINITY, value = 0;
  berth_status st = BERTH_OK;
  s.load_only = strcmp(opts->variant, "code") == 0;
  s.tie = s.load_only ? BERTH_I_TIE_DOPPLER : BERTH_I_TIE_RANDOM;
  if (s.load_only && (st = check_published(cost, opts, BERTH_LINKS_FREE)) != BERTH_OK) return st;
  for (int32_t i = 0; i < opts->tries; i++) {
    /* 1. Runs may be many and short: hooks are called between them. */
    if (i > 0) berth_i_progress(cost->ctx, "trying", (double)i / opts->tries);
    if (i > 0 && (st = berth_i_interrupted(cost->ctx)) != BERTH_OK) break;
    /* 2. A plan with random ties of its own. */
    s.stream = (uint64_t)i;
    if ((st = berth_i_list_place(cost, &s, opts, &p, why)) != BERTH_OK) break;
    /* 3. The best stays, of equal ones the first. */
    if (opts->tries > 1) st = value_of(cost, &s, p, &value);
    if (st == BERTH_OK && (!best || value < least)) {
      berth_placement_release(best);
      best = p;
      least = value;
    } else {
      berth_placement_release(p);
    }
    if (st != BERTH_OK) break;
  }
  if (st == BERTH_OK) {
    *out = best;
  } else {
    berth_placement_release(best);
  }
  return st;
}

/* ---- the user's ---- */

static berth_status run_policy(berth_cost *cost, const berth_place_options *opts,
                               berth_placement **out, berth_obstacle *why) {
  berth_i_setup s =
      berth_i_setup_from(opts->policy->name ? opts->policy->name : "policy", opts->policy, opts);
  return berth_i_engine_run(cost, &s, out, why);
}

const berth_i_placer berth_i_placer_m_etf = {
  .about = { .name = "m-etf", .reads = "coarsen coarsen_ops transfer_weight ties",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Walks through the plan's time; of the ready ops and all devices the pair that "
              "starts first. Ties: longest remaining path, then the device that holds most of the "
              "inputs.",
      .source = "Jeon et al. 2020 (Baechi), with the ties of ETF",
      .good = "Equal devices and tight memory.",
      .weak = "Ignores how fast a device is: a slow idle one is taken before a fast one that is "
              "free a little later." },
    { BERTH_I_BAECHI_TF("half-duplex channels, 1 us quantum, optimistic arrivals, ties by "
                        "topological number, memory as it counts it."),
      .weak = "As m-etf; copies of tensors are not charged.",
      .own_links = 1 },
    { BERTH_I_BAECHI_PT("transfers without contention, ties by topological number, memory as it "
                        "counts it."),
      .weak = "As m-etf.",
      .own_links = 1 }) },
  .run = run_m_etf,
  .members = BERTH_I_MEMBERS(
    { .order = 30, .name = "m-etf", .ties = BERTH_TIES_LEVEL },
    { .order = 40, .name = "m-etf topological", .ties = BERTH_TIES_TOPOLOGICAL,
      .any_size = true },
    { .order = 50, .name = "m-etf b-level", .ties = BERTH_TIES_BLEVEL },
    { .order = 220, .name = "m-etf b-level coplace", .ties = BERTH_TIES_BLEVEL,
      .coarsen = BERTH_COARSEN_COPLACE, .coarsen_ops = 8, .any_size = true }),
};
const berth_i_placer berth_i_placer_etf = {
  .about = { .name = "etf", .reads = "coarsen coarsen_ops transfer_weight",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Of all ops whose producers are placed and all devices, the pair that starts first. "
              "Ties: longest remaining path.",
      .source = "Hwang, Chow, Anger, Lee 1989",
      .good = "Equal devices, many ops ready at once.",
      .weak = "Ignores how fast a device is; a long path gets no head start but in ties." }) },
  .run = run_etf,
  .members = BERTH_I_MEMBERS(
    { .order = 130, .name = "etf" },
    { .order = 250, .name = "etf coplace, transfers x0.5", .coarsen = BERTH_COARSEN_COPLACE,
      .coarsen_ops = 8, .weight = 0.5 },
    { .order = 290, .name = "etf fuse, transfers x0.5", .coarsen = BERTH_COARSEN_FUSE,
      .coarsen_ops = 16, .weight = 0.5 }),
};
const berth_i_placer berth_i_placer_heft = {
    .about = {.name = "heft",
              .reads = "averages coarsen coarsen_ops transfer_weight",
              .variants = BERTH_I_VARIANTS(
                  {.name = "",
                   .rule = "Ops by the longest remaining path of mean times "
                           "and mean transfers; each where it "
                           "finishes first, free slots included.",
                   .source = "Topcuoglu, Hariri, Wu 2002",
                   .good = "Devices of different speed; a good first choice.",
                   .weak = "Decides one op at a time; mean times mislead where "
                           "devices or links differ much."})},
    .run = run_heft,
    .members = BERTH_I_MEMBERS({.order = 140, .name = "heft", .any_size = true},
                               {.order = 260,
                                .name = "heft coplace, transfers x2",
                                .coarsen = BERTH_COARSEN_COPLACE,
                                .coarsen_ops = 8,
                                .weight = 2}),
};
const berth_i_placer berth_i_placer_minmin = {
  .about = { .name = "minmin", .reads = "coarsen coarsen_ops transfer_weight",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Of all ops whose producers are placed, the one that can finish first of all, where "
              "it does.",
      .source = "Ibarra, Kim 1977",
      .good = "Many short, independent ops.",
      .weak = "Long ops are left for the end, on critical paths too." }) },
  .run = run_minmin,
  .members = BERTH_I_MEMBERS(
    { .order = 190, .name = "minmin" },
    { .order = 300, .name = "minmin fuse, transfers x0.5", .coarsen = BERTH_COARSEN_FUSE,
      .coarsen_ops = 16, .weight = 0.5 }),
};
const berth_i_placer berth_i_placer_blevel = {
  .about = { .name = "blevel", .reads = "coarsen coarsen_ops transfer_weight",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Walks through the plan's time; of the ready ops the one of longest remaining path "
              "(mean times, no transfers), where it finishes first.",
      .source = "Adam, Chandy, Dickson 1974 (HLFET)",
      .good = "Cheap links, deep graphs.",
      .weak = "The order ignores transfers; free slots are not filled." }) },
  .run = run_blevel,
  .members = BERTH_I_MEMBERS(
    { .order = 170, .name = "blevel" },
    { .order = 310, .name = "blevel fuse, transfers x0.5", .coarsen = BERTH_COARSEN_FUSE,
      .coarsen_ops = 16, .weight = 0.5 },
    { .order = 330, .name = "blevel, transfers x0.5", .weight = 0.5 }),
};
const berth_i_placer berth_i_placer_critical_path = {
  .about = { .name = "critical-path", .reads = "tries coarsen coarsen_ops transfer_weight",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "Of the candidates the op of longest remaining path, transfers included; where it "
              "starts first; ties at random, best of `tries`.",
      .source = "Kwok, Ahmad 1999, as the baseline of Yao et al. 2026 (DOPPLER)",
      .good = "Equal devices; many tries as a cheap search.",
      .weak = "Ignores how fast a device is." },
    { .name = "code",
      .rule = "As the published program: with k ops of longest path one of the first k candidates "
              "is taken, devices are judged by their load alone.",
      .source = "Yao et al. 2026, published code",
      .good = "To reproduce its figures, with the preset doppler.",
      .weak = "Worse than the paper's own rule; makes no plan, so no estimate.",
      .own_links = 1 }) },
  .run = run_critical_path,
  .members = BERTH_I_MEMBERS(
    { .order = 180, .name = "critical-path" },
    { .order = 240, .name = "critical-path coplace, transfers x2", .coarsen = BERTH_COARSEN_COPLACE,
      .coarsen_ops = 8, .weight = 2 }),
};
const berth_i_placer berth_i_placer_policy = {
  .about = { .name = "policy", .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "The user's own policy: functions that choose ops and devices, run by the list "
              "engine.",
      .source = "the user",
      .good = "A rule of one's own: see berth.place with a table or a function.",
      .weak = "As good as its rule." }) },
  .run = run_policy,
  .check = berth_i_check_policy,
};
