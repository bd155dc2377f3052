/* The table of placers, and the door to them: options are checked here once for all. */
#include "place_internal.h"
#include <stdio.h>

static const berth_i_placer *const placers[] = {
  &berth_i_placer_single,        &berth_i_placer_round_robin, &berth_i_placer_random, &berth_i_placer_metis,
  &berth_i_placer_m_topo,        &berth_i_placer_m_etf,       &berth_i_placer_m_sct,  &berth_i_placer_etf,    &berth_i_placer_heft,
  &berth_i_placer_cpop,          &berth_i_placer_peft,        &berth_i_placer_minmin, &berth_i_placer_blevel,
  &berth_i_placer_critical_path, &berth_i_placer_enumerative, &berth_i_placer_exact, &berth_i_placer_anneal,
  &berth_i_placer_local,         &berth_i_placer_brkga,       &berth_i_placer_portfolio, &berth_i_placer_policy, NULL
};

static const char *const placer_names[] = {
  "single", "round-robin", "random", "metis", "m-topo", "m-etf", "m-sct", "etf", "heft", "cpop", "peft", "minmin", "blevel",
  "critical-path", "enumerative", "exact", "anneal", "local", "brkga", "portfolio", "policy", NULL
};

const char *const *berth_placers(void) { return placer_names; }

static const berth_i_placer *find_placer(const char *name) {
  const berth_i_placer *const *p;
  for (p = placers; name && *p; p++) {
    if (strcmp((*p)->name, name) == 0) return *p;
  }
  return NULL;
}

const char *const *berth_placer_variants(const char *placer) {
  const berth_i_placer *p = find_placer(placer);
  return p ? p->variants : NULL;
}

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

static berth_status unknown(berth_ctx *ctx, const char *what, const char *name, const char *const *names) {
  char list[400];
  return berth_i_fail(ctx, BERTH_EINVAL, "unknown %s \"%s\"; there are %s", what, name ? name : "",
                      list_names(names, list, sizeof list));
}

static berth_status check_variant(berth_ctx *ctx, const berth_i_placer *p, const char *variant) {
  const char *const *v;
  char what[64];
  for (v = p->variants; *v; v++) {
    if (strcmp(*v, variant) == 0) return BERTH_OK;
  }
  snprintf(what, sizeof what, "variant of %s", p->name);
  return unknown(ctx, what, variant, p->variants);
}

static berth_status check_enum(berth_ctx *ctx, const char *what, int value, int last) {
  if (value >= 0 && value <= last) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option %s: there is no choice %d", what, value);
}

static berth_status check_number(berth_ctx *ctx, const char *what, double value) {
  if (value >= 0 && !isinf(value)) return BERTH_OK;
  return berth_i_fail(ctx, BERTH_EINVAL, "option %s: %g is not a finite number from 0 on", what, value);
}

static berth_status check_policy(berth_ctx *ctx, const berth_policy *p) {
  berth_status st;
  if (!p) return berth_i_fail(ctx, BERTH_EINVAL, "placer \"policy\" needs the option policy");
  if ((st = check_enum(ctx, "policy.ready", (int)p->ready, BERTH_READY_FINISHED)) != BERTH_OK) return st;
  if ((st = check_enum(ctx, "policy.fit", (int)p->fit, BERTH_FIT_INSERTION)) != BERTH_OK) return st;
  return check_enum(ctx, "policy.choose", (int)p->choose, BERTH_CHOOSE_DEVICE);
}

static berth_status check_device(berth_cost *cost, int32_t device) {
  if (device >= BERTH_NONE && device < cost->n_devices) return BERTH_OK;
  return berth_i_fail(cost->ctx, BERTH_EINVAL, "option device: there is no device %d among %d", (int)device,
                      (int)cost->n_devices);
}

static berth_status check_options(berth_cost *cost, const berth_i_placer *p, const berth_place_options *o) {
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
  if ((st = berth_i_check_coarse(ctx, p->name, o)) != BERTH_OK) return st;
  if (o->tries < 1) return berth_i_fail(ctx, BERTH_EINVAL, "option tries: %d is less than 1", (int)o->tries);
  if (p == &berth_i_placer_m_sct) return berth_i_sct_check(ctx, o);
  return p == &berth_i_placer_policy ? check_policy(ctx, o->policy) : BERTH_OK;
}

/* A placer blames the op at which it got stuck for lack of memory. If nothing can fit at all, that is the better reason. */
static berth_status give_reason(berth_cost *cost, const berth_i_placer *p, const berth_place_options *o, berth_obstacle *why) {
  const char *name = p == &berth_i_placer_policy && o->policy->name ? o->policy->name : p->name;
  bool proved = why->op == BERTH_NONE && p != &berth_i_placer_single; /* which tells the graph as a whole */
  berth_status st;
  if (proved || !(why->missing > 0)) return BERTH_EINFEASIBLE;
  st = berth_i_prove_infeasible(cost, name, o->memory, o->param_multiple, why);
  return st == BERTH_OK ? BERTH_EINFEASIBLE : st;
}

static berth_status check_exact(const berth_cost *cost) {
  char label[64];
  int32_t op = berth_i_first_communication(cost->g);
  if (cost->g->n_collectives > 0) {
    return berth_i_fail(cost->ctx, BERTH_EUNSUPPORTED, "exact: the graph has %d collectives; search (anneal, local) takes them",
                        (int)cost->g->n_collectives);
  }
  if (op == BERTH_NONE) return BERTH_OK;
  return berth_i_fail(cost->ctx, BERTH_EUNSUPPORTED, "exact: %s is a communication op; search (anneal, local) takes them",
                      berth_i_op_label(cost->g, op, label, sizeof label));
}

/* @param p, o out: the placer; its options, filled in */
static berth_status look_up(berth_cost *cost, const char *placer, const berth_place_options *opts, const berth_i_placer **p,
                            berth_place_options *o) {
  berth_status st;
  *o = opts ? *opts : berth_place_default(cost->g);
  if (!o->variant) o->variant = "";
  if (!(*p = find_placer(placer))) return unknown(cost->ctx, "placer", placer, placer_names);
  if ((st = check_options(cost, *p, o)) != BERTH_OK) return st;
  return *p == &berth_i_placer_exact ? check_exact(cost) : BERTH_OK;
}

berth_status berth_i_place_check(berth_cost *cost, const char *placer, const berth_place_options *opts) {
  berth_place_options o;
  const berth_i_placer *p;
  return look_up(cost, placer, opts, &p, &o);
}

berth_status berth_place(berth_cost *cost, const char *placer, const berth_place_options *opts, berth_placement **out,
                         berth_obstacle *why) {
  berth_place_options o;
  berth_obstacle own = { BERTH_NONE, BERTH_NONE, 0 };
  const berth_i_placer *p;
  berth_status st = look_up(cost, placer, opts, &p, &o);
  if (st != BERTH_OK) return st;
  st = berth_i_is_coarse(&o) ? berth_i_run_coarse(cost, p, &o, out, &own) : p->run(cost, &o, out, &own);
  if (st == BERTH_EINFEASIBLE) st = give_reason(cost, p, &o, &own);
  if (st == BERTH_EINFEASIBLE && why) *why = own;
  return st;
}
