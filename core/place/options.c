/* Options of placers are checked here once for all. */
#include "place_internal.h"
#include <stdio.h>

/* "a", "b", "c"; cut short if buf is full */
static const char *list_names(const char *const *names, char *buf, size_t size) {
  size_t used = 0;
  buf[0] = 0;
  for (; *names && used < size; names++) {
    int k = snprintf(buf + used, size - used, "%s\"%s\"", used ? ", " : "", *names);
    if (k < 0) break;
    used += (size_t)k;
  }
  return buf;
}

berth_status berth_i_unknown(berth_ctx *ctx, const char *what, const char *name, const char *const *names) {
  char list[400];
  return berth_i_fail(ctx, BERTH_EINVAL, "unknown %s \"%s\"; there are %s", what, name ? name : "",
                      list_names(names, list, sizeof list));
}

static berth_status check_variant(berth_ctx *ctx, const berth_i_placer *p, const char *variant) {
  const char *const *v;
  char what[64];
  if (!variant) return BERTH_OK;
  for (v = p->variants; *v; v++) {
    if (strcmp(*v, variant) == 0) return BERTH_OK;
  }
  snprintf(what, sizeof what, "variant of %s", p->name);
  return berth_i_unknown(ctx, what, variant, p->variants);
}

static berth_status check_enum(berth_ctx *ctx, const char *what, int value, int last) {
  if (value >= 0 && value <= last) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option %s: there is no choice %d", what, value);
}

static berth_status check_number(berth_ctx *ctx, const char *what, double value) {
  if (value >= 0 && !isinf(value)) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option %s: %g is not a finite number from 0 on", what, value);
}

static berth_status check_device(berth_cost *cost, int32_t device) {
  if (device >= BERTH_NONE && device < cost->n_devices) return BERTH_OK;
  return berth_i_fail(cost->ctx, BERTH_EINVAL, "option device: there is no device %d among %d", (int)device,
                      (int)cost->n_devices);
}

berth_status berth_i_check_policy(berth_cost *cost, const berth_place_options *o) {
  berth_ctx *ctx = cost->ctx;
  const berth_policy *p = o->policy;
  berth_status st;
  if (!p) return berth_i_fail(ctx, BERTH_EINVAL, "placer \"policy\" needs the option policy");
  if ((st = check_enum(ctx, "policy.ready", (int)p->ready, BERTH_READY_FINISHED)) != BERTH_OK) return st;
  if ((st = check_enum(ctx, "policy.fit", (int)p->fit, BERTH_FIT_INSERTION)) != BERTH_OK) return st;
  return check_enum(ctx, "policy.choose", (int)p->choose, BERTH_CHOOSE_DEVICE);
}

/* ---- coarse graphs ---- */

static bool takes_views(const char *placer) {
  static const char *const names[] = { "metis", "m-topo", "m-etf", "m-sct", "etf", "heft", "cpop", "peft", "minmin", "blevel",
                                       "critical-path", NULL };
  const char *const *k;
  for (k = names; *k; k++) {
    if (strcmp(*k, placer) == 0) return true;
  }
  return false;
}

static berth_status check_numbers(berth_ctx *ctx, const berth_place_options *o) {
  if (!(o->transfer_weight > 0) || isinf(o->transfer_weight)) {
    return berth_i_fail(ctx, BERTH_EINVAL, "option transfer_weight: %g is not a finite number above 0", o->transfer_weight);
  }
  if (o->coarsen < BERTH_COARSEN_NONE || o->coarsen > BERTH_COARSEN_FUSE) {
    return berth_i_fail(ctx, BERTH_EINVAL, "option coarsen: there is no choice %d", (int)o->coarsen);
  }
  if (o->coarsen_ops < 0) return berth_i_fail(ctx, BERTH_EINVAL, "option coarsen_ops: %d is negative", (int)o->coarsen_ops);
  if (o->coarsen_ops == 0 || o->coarsen != BERTH_COARSEN_NONE) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option coarsen_ops: %d means nothing without coarsen", (int)o->coarsen_ops);
}

static berth_status check_coarse(berth_ctx *ctx, const char *placer, const berth_place_options *o) {
  const char *what = o->coarsen != BERTH_COARSEN_NONE ? "coarsen" : "transfer_weight";
  berth_status st = check_numbers(ctx, o);
  if (st != BERTH_OK || !berth_i_is_coarse(o)) return st;
  if (!takes_views(placer)) return berth_i_fail(ctx, BERTH_EINVAL, "option %s: means nothing to %s", what, placer);
  if (o->variant && o->variant[0]) {
    return berth_i_fail(ctx, BERTH_EINVAL, "option %s: variant \"%s\" of %s is as published", what, o->variant, placer);
  }
  if (o->coarsen == BERTH_COARSEN_NONE || !o->favourite) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option favourite: it is of ops, and coarsen makes sets of them");
}

/* ---- all ---- */

berth_status berth_i_placer_check(berth_cost *cost, const berth_i_placer *p, const berth_place_options *o) {
  berth_ctx *ctx = cost->ctx;
  berth_status st;
  if ((st = check_variant(ctx, p, o->variant)) != BERTH_OK) return st;
  if ((st = check_enum(ctx, "averages", (int)o->averages, BERTH_AVERAGE_SAGA)) != BERTH_OK) return st;
  if ((st = check_enum(ctx, "links", (int)o->links, BERTH_LINKS_FAIR)) != BERTH_OK) return st;
  if ((st = check_enum(ctx, "memory", (int)o->memory, BERTH_MEMORY_TOTAL)) != BERTH_OK) return st;
  if ((st = check_number(ctx, "param_multiple", o->param_multiple)) != BERTH_OK) return st;
  if ((st = check_number(ctx, "quantum", o->quantum)) != BERTH_OK) return st;
  if ((st = check_device(cost, o->device)) != BERTH_OK) return st;
  if ((st = check_enum(ctx, "ties", (int)o->ties, BERTH_TIES_BLEVEL)) != BERTH_OK) return st;
  if ((st = check_enum(ctx, "favourites", (int)o->favourites, BERTH_FAVOURITES_GIVEN)) != BERTH_OK) return st;
  if ((st = check_coarse(ctx, p->name, o)) != BERTH_OK) return st;
  if (o->tries < 1) return berth_i_fail(ctx, BERTH_EINVAL, "option tries: %d is less than 1", (int)o->tries);
  return p->check ? p->check(cost, o) : BERTH_OK;
}
