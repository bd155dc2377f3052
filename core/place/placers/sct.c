/* m-SCT: small communication times, with memory. */
#include "list/ranks_internal.h"
#include "list/sct_internal.h"
#include "place/place_internal.h"

static berth_status check_tau(berth_ctx *ctx, const berth_place_options *o) {
  if (!(o->tau >= 0 && o->tau <= 1)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "m-sct: option tau: %g is not from 0 to 1", o->tau);
  }
  if (o->tau == 0 || o->favourites == BERTH_FAVOURITES_LP) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "m-sct: option tau: %g means nothing without the linear program", o->tau);
}

static berth_status check_gap(berth_ctx *ctx, const berth_place_options *o) {
  if (!(o->gap >= 1e-9) || isinf(o->gap)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "m-sct: option gap: %g is not a finite number from 1e-9 on", o->gap);
  }
  if (o->gap == berth_place_default(NULL).gap || o->favourites == BERTH_FAVOURITES_LP) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "m-sct: option gap: %g means nothing without the linear program", o->gap);
}

static berth_status check_favourite(berth_ctx *ctx, const berth_place_options *o) {
  bool given = o->favourites == BERTH_FAVOURITES_GIVEN;
  if (given == (o->favourite != NULL)) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, given ? "m-sct: option favourite is missing: favourites are said to be given"
                                               : "m-sct: option favourite: it means nothing unless favourites are given");
}

static berth_status check(berth_cost *cost, const berth_place_options *o) {
  berth_ctx *ctx = cost->ctx;
  berth_status st;
  if ((st = check_tau(ctx, o)) != BERTH_OK || (st = check_gap(ctx, o)) != BERTH_OK) return st;
  return check_favourite(ctx, o);
}

static berth_status run_with(berth_cost *cost, const berth_place_options *opts, const int32_t *favourite, berth_placement **out,
                             berth_obstacle *why) {
  berth_policy policy = { .name = "m-sct", .ready = BERTH_READY_FINISHED, .choose = BERTH_CHOOSE_DEVICE };
  berth_i_setup s = berth_i_setup_from("m-sct", &policy, opts);
  berth_status st;
  s.tie = BERTH_I_TIE_INPUTS;
  s.favourite = favourite;
  s.published = opts->variant[0] != 0;
  s.policy.prepare = berth_i_prepare_ties(opts);
  if (s.published && (st = berth_i_set_baechi(cost, opts, &s)) != BERTH_OK) return st;
  return berth_i_list_place(cost, &s, opts, out, why);
}

static berth_status run_m_sct(berth_cost *cost, const berth_place_options *opts, berth_placement **out, berth_obstacle *why) {
  berth_ctx *ctx = cost->ctx;
  size_t n = (size_t)cost->g->n_ops;
  int32_t *favourite;
  berth_status st;
  if (!(favourite = berth_i_alloc(ctx, n, sizeof *favourite))) return berth_i_nomem(ctx);
  st = berth_i_sct_favourites(cost, opts, favourite);
  if (st == BERTH_OK) st = run_with(cost, opts, favourite, out, why);
  berth_i_free(ctx, favourite, n, sizeof *favourite);
  return st;
}

const berth_i_placer berth_i_placer_m_sct = { "m-sct", berth_i_baechi_variants, run_m_sct, check };
