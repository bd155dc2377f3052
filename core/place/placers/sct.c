/* m-SCT, "small communication times" with memory: the placer and its options. It sets up the list
 * engine with a favourite child for each op (sct_favourites.c); the loop is list/sct_choose.c.
 * Source: Jeon et al. 2020 (Baechi); Hanen, Munier 1995. */
#include "list/ranks_internal.h"
#include "list/sct_internal.h"
#include "place/place_internal.h"

static berth_status check_tau(berth_ctx *ctx, const berth_place_options *o) {
  if (!(o->tau >= 0 && o->tau <= 1)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "m-sct: option tau: %g is not from 0 to 1", o->tau);
  }
  if (o->tau == 0 || o->favourites == BERTH_FAVOURITES_LP) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "m-sct: option tau: %g means nothing without the linear program", o->tau);
}

static berth_status check_gap(berth_ctx *ctx, const berth_place_options *o) {
  if (!(o->gap >= 1e-9) || isinf(o->gap)) {
    return berth_i_fail(ctx, BERTH_EINVAL,
                        "m-sct: option gap: %g is not a finite number from 1e-9 on", o->gap);
  }
  if (o->gap == berth_place_default(NULL).gap || o->favourites == BERTH_FAVOURITES_LP)
    return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "m-sct: option gap: %g means nothing without the linear program", o->gap);
}

static berth_status check_favourite(berth_ctx *ctx, const berth_place_options *o) {
  bool given = o->favourites == BERTH_FAVOURITES_GIVEN;
  if (given == (o->favourite != NULL)) return BERTH_OK;
  return berth_i_fail(
      ctx, BERTH_EINVAL,
      given ? "m-sct: option favourite is missing: favourites = given requires it"
            : "m-sct: option favourite: it means nothing unless favourites are given");
}

static berth_status check(berth_cost *cost, const berth_place_options *o) {
  berth_ctx *ctx = cost->ctx;
  berth_status st;
  if ((st = check_tau(ctx, o)) != BERTH_OK || (st = check_gap(ctx, o)) != BERTH_OK) return st;
  return check_favourite(ctx, o);
}

static berth_status run_with(berth_cost *cost, const berth_place_options *opts,
                             const int32_t *favourite, berth_placement **out, berth_obstacle *why) {
  berth_policy policy = { .name = "m-sct",
                          .ready = BERTH_READY_FINISHED,
                          .choose = BERTH_CHOOSE_DEVICE };
  berth_i_setup s = berth_i_setup_from("m-sct", &policy, opts);
  s.tie = BERTH_I_TIE_INPUTS;
  s.favourite = favourite;
  s.published = opts->variant[0] != 0;
  s.policy.prepare = berth_i_prepare_ties(opts);
  berth_status st;
  if (s.published && (st = berth_i_set_baechi(cost, opts, &s)) != BERTH_OK) return st;
  return berth_i_list_place(cost, &s, opts, out, why);
}

static berth_status run_m_sct(berth_cost *cost, const berth_place_options *opts,
                              berth_placement **out, berth_obstacle *why) {
  berth_ctx *ctx = cost->ctx;
  size_t n = (size_t)cost->g->n_ops;
  int32_t *favourite;
  if (!(favourite = berth_i_alloc(ctx, n, sizeof *favourite))) return berth_i_nomem(ctx);
  berth_status st = berth_i_sct_favourites(cost, opts, favourite);
  if (st == BERTH_OK) st = run_with(cost, opts, favourite, out, why);
  berth_i_free(ctx, favourite, n, sizeof *favourite);
  return st;
}

const berth_i_placer berth_i_placer_m_sct = {
  .about = { .name = "m-sct",
             .reads = "coarsen coarsen_ops transfer_weight ties favourites tau gap",
             .variants = BERTH_I_VARIANTS(
    { .name = "",
      .rule = "As m-etf, but an idle device waits for the favourite child of the op it ran last, "
              "once all producers of that are placed and while it could start nowhere earlier; "
              "meanwhile it runs only what has its inputs everywhere and is left over by other "
              "idle devices. Options favourites, tau, gap, ties.",
      .source = "Jeon et al. 2020 (Baechi); Hanen, Munier 1995; favourites by our own solver",
      .good = "Equal devices, transfers about as long as ops: it keeps chains together.",
      .weak = "The program ignores memory, contention and shared transfers; with very "
              "long transfers m-etf may be better." },
    { BERTH_I_BAECHI_TF("as m-etf there, with tau 0.1; a device waits once all producers of the "
                        "favourite have finished; an op is urgent only if it could start on "
                        "every device at once, busy ones included."),
      .weak = "As m-etf there; the answer depends on which of many optimal solutions the program "
              "has.",
      .own_links = 1 },
    { BERTH_I_BAECHI_PT("as m-etf there, with tau 0.5, waiting and urgency as in baechi-tf."),
      .weak = "As m-etf; the answer depends on which of many optimal solutions the program has.",
      .own_links = 1 }) },
  .run = run_m_sct,
  .check = check,
  .members = BERTH_I_MEMBERS(
    { .order = 60, .name = "m-sct through", .ties = BERTH_TIES_LEVEL,
      .favourites = BERTH_FAVOURITES_THROUGH },
    { .order = 70, .name = "m-sct through topological", .ties = BERTH_TIES_TOPOLOGICAL,
      .favourites = BERTH_FAVOURITES_THROUGH },
    { .order = 80, .name = "m-sct", .ties = BERTH_TIES_LEVEL, .matching = BERTH_I_MATCHING_GREEDY },
    { .order = 90, .name = "m-sct topological", .ties = BERTH_TIES_TOPOLOGICAL,
      .matching = BERTH_I_MATCHING_GREEDY },
    { .order = 100, .name = "m-sct b-level", .ties = BERTH_TIES_BLEVEL,
      .matching = BERTH_I_MATCHING_GREEDY },
    { .order = 110, .name = "m-sct tau=0.5 topological", .ties = BERTH_TIES_TOPOLOGICAL, .tau = 0.5,
      .matching = BERTH_I_MATCHING_HALF },
    { .order = 120, .name = "m-sct tau=0.1 topological", .ties = BERTH_TIES_TOPOLOGICAL, .tau = 0.1,
      .matching = BERTH_I_MATCHING_TENTH },
    { .order = 230, .name = "m-sct b-level coplace", .ties = BERTH_TIES_BLEVEL,
      .coarsen = BERTH_COARSEN_COPLACE, .coarsen_ops = 8 },
    { .order = 340, .name = "m-sct through, transfers x4", .ties = BERTH_TIES_LEVEL,
      .favourites = BERTH_FAVOURITES_THROUGH, .weight = 4 }),
};
