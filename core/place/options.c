/* Checks of a placer's options before it runs: variant, ranges, device, coarse graphs, and the
 * placer's own check. An option that would have no effect is refused, not ignored. */
#include "place_internal.h"
#include <stdio.h>

static berth_status check_variant(berth_ctx *ctx, const berth_i_placer *p, const char *variant) {
  char list[200];
  size_t used = 0;
  list[0] = 0;
  for (const berth_placer_variant *v = p->about.variants; v->name; v++) {
    if (!variant || strcmp(v->name, variant) == 0) return BERTH_OK;
    if (used < sizeof list)
      used +=
          (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\"", used ? ", " : "", v->name);
  }
  return berth_i_fail(ctx, BERTH_EINVAL, "unknown variant of %s \"%s\"; there are %s",
                      p->about.name, variant, list);
}

static berth_status check_enum(berth_ctx *ctx, const char *what, int value, int last) {
  if (value >= 0 && value <= last) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option %s: there is no choice %d", what, value);
}

static berth_status check_device(berth_cost *cost, int32_t device) {
  if (device >= BERTH_NONE && device < cost->n_devices) return BERTH_OK;
  return berth_i_fail(cost->ctx, BERTH_EINVAL, "option device: there is no device %d among %d",
                      (int)device, (int)cost->n_devices);
}

berth_status berth_i_check_policy(berth_cost *cost, const berth_place_options *o) {
  berth_ctx *ctx = cost->ctx;
  const berth_policy *p = o->policy;
  if (!p) return berth_i_fail(ctx, BERTH_EINVAL, "placer \"policy\" needs the option policy");
  berth_status st;
  if ((st = check_enum(ctx, "policy.ready", (int)p->ready, BERTH_READY_FINISHED)) != BERTH_OK)
    return st;
  if ((st = check_enum(ctx, "policy.fit", (int)p->fit, BERTH_FIT_INSERTION)) != BERTH_OK) return st;
  return check_enum(ctx, "policy.choose", (int)p->choose, BERTH_CHOOSE_DEVICE);
}

/* ---- coarse graphs ---- */

static berth_status check_sets(berth_ctx *ctx, const berth_place_options *o) {
  if (o->coarsen_ops == 0 || o->coarsen != BERTH_COARSEN_NONE) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option coarsen_ops: %d means nothing without coarsen",
                      (int)o->coarsen_ops);
}

static berth_status check_coarse(berth_ctx *ctx, const berth_placer *p,
                                 const berth_place_options *o) {
  const char *what = o->coarsen != BERTH_COARSEN_NONE ? "coarsen" : "transfer_weight";
  berth_status st = check_sets(ctx, o);
  if (st != BERTH_OK || !berth_i_is_coarse(o)) return st;
  if (!berth_placer_reads(p, what))
    return berth_i_fail(ctx, BERTH_EINVAL, "option %s: means nothing to %s", what, p->name);
  if (o->variant && o->variant[0]) {
    return berth_i_fail(ctx, BERTH_EINVAL, "option %s: variant \"%s\" of %s is as published", what,
                        o->variant, p->name);
  }
  if (o->coarsen == BERTH_COARSEN_NONE || !o->favourite) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL,
                      "option favourite: it is of ops, and coarsen makes sets of them");
}

/* ---- all ---- */

berth_status berth_i_placer_check(berth_cost *cost, const berth_i_placer *p,
                                  const berth_place_options *o) {
  berth_ctx *ctx = cost->ctx;
  berth_status st;
  if ((st = check_variant(ctx, p, o->variant)) != BERTH_OK) return st;
  if ((st = berth_options_check(ctx, berth_place_option_table(), o)) != BERTH_OK) return st;
  if ((st = check_device(cost, o->device)) != BERTH_OK) return st;
  if ((st = check_enum(ctx, "favourites", (int)o->favourites, BERTH_FAVOURITES_GIVEN)) != BERTH_OK)
    return st;
  if ((st = check_coarse(ctx, &p->about, o)) != BERTH_OK) return st;
  if ((st = berth_i_cost_check_range(cost)) != BERTH_OK) return st;
  return p->check ? p->check(cost, o) : BERTH_OK;
}
