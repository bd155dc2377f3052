/* Strategies of deployment as decisions: one action for each op group. Values are simulated step
 * times; priors are local costs or a function of the caller's (TAG's network). */
#include "search_internal.h"

enum { STEPS_ABOVE = 6 };

berth_deploy_search_options berth_deploy_search_default(int published) {
  berth_deploy_search_options o = { 0 };
  o.decide = berth_decide_default(published);
  o.prior = published ? BERTH_DEPLOY_PRIOR_UNIFORM : BERTH_DEPLOY_PRIOR_LOCAL;
  o.sfb = published ? BERTH_DEPLOY_SFB_NONE : BERTH_DEPLOY_SFB_LOCAL;
  o.choose = !published;
  o.fill = published ? BERTH_FILL_FIRST : BERTH_FILL_NEAREST;
  o.temperature = 0.3;
  o.steps = -1;
  return o;
}

static void set_defaults(void *out) {
  *(berth_deploy_search_options *)out = berth_deploy_search_default(0);
}

static const berth_choice *const rules[] = {
  BERTH_I_CHOICE("none", "No ops are repeated."),
  BERTH_I_CHOICE("local", "By the time on one device, group by group."),
  BERTH_I_CHOICE("cut", "By a minimum cut."),
  NULL
};

const berth_choice *const *berth_deploy_sfb_choices(void) { return rules; }

#define FIELD(name, kind) BERTH_I_OPTION(berth_deploy_search_options, name, kind)

/* prior and fill may be functions of the user's: see berth_decide_option_table for the options of
 * `decide`. */
const berth_option_table *berth_deploy_search_option_table(void) {
  static const berth_option options[] = {
    { FIELD(temperature, NUMBER), .above = 1, .text = "of the prior local" },
    { FIELD(sfb, CHOICE), .choices = rules, .text = "the rule for ops that replicas repeat" },
    { FIELD(choose, FLAG) },
    { FIELD(steps, OTHER), .takes = "flag", .fallback = "true above six device groups",
      .text = "the tree chooses device group by device group, then option and shares; else whole "
              "actions" },
    { FIELD(start, OTHER), .takes = "array",
      .fallback = "all devices, AllReduce, even shares, or what is nearest",
      .text = "strategies to begin with" },
    { FIELD(baselines, FLAG), .text = "begins with the baselines, too, which are not counted" },
    { .key = NULL }
  };
  BERTH_I_OPTION_TABLE("deploy search", options, berth_deploy_search_options, set_defaults);
}

/* What the decider's functions work on. */
typedef struct search {
  berth_i_pool pool;
  berth_deploy *d;
  berth_deploy_search_options o;
  berth_i_space space;
  int32_t *action;    /* [groups] */
  uint8_t *duplicate; /* [ops] */
  /* for a prior of one's own */
  int32_t *seen;      /* [leaves * groups] */
  berth_leaf *leaf;   /* [leaves] */
  double *weight;     /* [leaves * actions of the problem] */
  size_t seen_cap, leaf_cap, weight_cap;
} search;

/* ---- values ---- */

static berth_status value(void *ud, int32_t k, const int32_t *assignment, double *out,
                          double *excess) {
  search *s = ud;
  berth_deploy *d = s->d;
  for (int32_t i = 0; i < k; i++) {
    bool any;
    berth_status st =
        berth_i_space_decode(d, &s->space, assignment + (size_t)i * (size_t)d->n_groups, s->action,
                             s->duplicate, &any);
    if (st != BERTH_OK) return st;
    berth_deploy_value v;
    st = s->space.chooses
             ? berth_deploy_evaluate(d, s->action, any ? s->duplicate : NULL, NULL, &v)
             : berth_deploy_evaluate_rule(d, s->action, s->o.sfb, s->duplicate, NULL, &v);
    if (st != BERTH_OK && st != BERTH_EUNREACHABLE) return st;
    out[i] = st == BERTH_OK ? v.seconds : INFINITY;
    if (st == BERTH_OK) excess[i] = berth_i_search_excess(&v);
  }
  return BERTH_OK;
}

/* ---- priors ---- */

/* Local costs have the better of AllReduce with and without repeated ops; where that is a choice,
 * and without the rule, apart. */
static berth_status part_costs(search *s, int32_t group, double *x) {
  berth_deploy *d = s->d;
  const berth_i_space *space = &s->space;
  if (!space->chooses && s->o.sfb != BERTH_DEPLOY_SFB_NONE) return BERTH_OK;
  for (int32_t a = d->n_actions; a < space->n_actions; a++) x[a] = INFINITY;
  for (int32_t a = 0; a < d->n_actions; a++) {
    const int32_t with = space->with[a];
    if (isinf(x[a]) || !berth_i_reduces_all(d, a)) continue;
    const berth_i_local_sfb *sfb;
    if (!(sfb = berth_i_local_sfb_of(d, d->values, group, a))) return BERTH_ENOMEM;
    if (with != BERTH_NONE && space->legal[(size_t)group * (size_t)space->n_actions + (size_t)with])
      x[with] = x[a];
    x[a] += sfb->saved;
  }
  return BERTH_OK;
}

/* Local costs in seconds as weights: exp of minus the relative excess over the least, by the
 * temperature. */
static berth_status local(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  search *s = ud;
  const int32_t n = s->space.n_actions;
  for (int32_t i = 0; i < k; i++) {
    double *row = p + (size_t)i * (size_t)n, least = INFINITY;
    bool any;
    berth_status st = berth_i_space_decode(s->d, &s->space, leaf[i].assignment, s->action,
                                           s->duplicate, &any);
    if (st == BERTH_OK) st = berth_deploy_local(s->d, s->action, leaf[i].decision, row);
    if (st == BERTH_OK) st = part_costs(s, leaf[i].decision, row);
    if (st != BERTH_OK) return st;
    for (int32_t a = 0; a < n; a++) least = fmin(least, row[a]);
    for (int32_t a = 0; a < n; a++)
      if (isinf(row[a])) row[a] = 0; /* nothing fits: all alike */
      else if (row[a] == least) row[a] = 1; /* at any temperature */
      else row[a] = least > 0 ? exp(-(row[a] - least) / (s->o.temperature * least)) : 0;
  }
  return BERTH_OK;
}

static berth_status own(void *ud, int32_t k, const berth_leaf *leaf, double *p) {
  search *s = ud;
  const size_t groups = (size_t)s->d->n_groups, actions = (size_t)s->d->n_actions, n = (size_t)k;
  berth_status st = BERTH_I_POOL_GROW(&s->pool, s->seen, s->seen_cap, n * groups);
  if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&s->pool, s->leaf, s->leaf_cap, n);
  if (st == BERTH_OK) st = BERTH_I_POOL_GROW(&s->pool, s->weight, s->weight_cap, n * actions);
  if (st != BERTH_OK) return st;
  /* 1. The caller's function gets actions of the problem. */
  for (size_t i = 0; i < n; i++) {
    int32_t *seen = s->seen + i * groups;
    for (size_t g = 0; g < groups; g++) seen[g] = s->space.of[leaf[i].assignment[g]];
    s->leaf[i] = leaf[i];
    s->leaf[i].assignment = seen;
  }
  for (size_t i = 0; i < n * actions; i++) s->weight[i] = 0;
  if ((st = s->o.own(s->o.ud, k, s->leaf, s->weight)) != BERTH_OK) return st;
  /* 2. Where ops may be repeated, half of the weight is for that. */
  for (size_t i = 0; i < n; i++) {
    const size_t all = (size_t)s->space.n_actions;
    const uint8_t *legal = s->space.legal + (size_t)leaf[i].decision * all;
    const double *weight = s->weight + i * actions;
    double *row = p + i * all;
    for (size_t a = 0; a < actions; a++) {
      const int32_t with = s->space.with[a];
      row[a] = weight[a];
      if (with == BERTH_NONE) continue;
      row[with] = legal[with] ? weight[a] / 2 : 0;
      row[a] -= row[with];
    }
  }
  return BERTH_OK;
}

/* ---- life ---- */

static void release(void *ud) {
  search *s = ud;
  berth_deploy *d = s->d;
  berth_i_pool_free(&s->space.pool);
  berth_i_pool_free(&s->pool);
  berth_deploy_release(d);
}

static berth_status make_search(berth_deploy *d,
                                const berth_deploy_search_options *o,
                                search **out) {
  search *s = berth_i_pool_object(d->ctx, sizeof *s);
  if (!s) return berth_i_nomem(d->ctx);
  berth_deploy_retain(s->d = d);
  s->o = *o;
  s->action = berth_i_pool_zalloc(&s->pool, (size_t)d->n_groups, sizeof *s->action);
  s->duplicate = berth_i_pool_zalloc(&s->pool, (size_t)d->n_ops, sizeof *s->duplicate);
  berth_status st;
  if ((st = berth_i_pool_status(&s->pool)) == BERTH_OK) st = berth_i_space_make(d, o, &s->space);
  if (st == BERTH_OK) *out = s;
  else release(s);
  return st;
}

/* ---- tables of the problem ---- */

typedef struct tables {
  berth_i_pool pool;
  double *position;       /* [groups] */
  double *weight;         /* [groups] */
  double *seam;           /* [2 * groups] */
  int32_t *rank;          /* [groups] */
  uint8_t *everywhere;    /* [actions] */
  int32_t *at, *path;     /* [actions + 1], [actions * (device groups + 5)] */
  int32_t *count;         /* [2 * device groups] */
  berth_i_first starts;
} tables;

static berth_status make_tables(search *s, tables *t) {
  berth_deploy *d = s->d;
  size_t groups = (size_t)d->n_groups, actions = (size_t)s->space.n_actions,
         device_groups = (size_t)d->n_device_groups;
  t->position = berth_i_pool_alloc(&t->pool, groups, sizeof *t->position);
  t->weight = berth_i_pool_alloc(&t->pool, groups, sizeof *t->weight);
  t->seam = berth_i_pool_alloc(&t->pool, 2 * groups, sizeof *t->seam);
  t->rank = berth_i_pool_alloc(&t->pool, groups, sizeof *t->rank);
  t->everywhere = berth_i_pool_alloc(&t->pool, actions, 1);
  t->at = berth_i_pool_alloc(&t->pool, actions + 1, sizeof *t->at);
  t->path = berth_i_pool_alloc(&t->pool, actions * (device_groups + 5), sizeof *t->path);
  t->count = berth_i_pool_alloc(&t->pool, 2 * device_groups, sizeof *t->count);
  berth_status st = berth_i_pool_status(&t->pool);
  if (st == BERTH_OK) st = berth_deploy_positions(d, t->position);
  if (st == BERTH_OK) st = berth_i_search_starts(d, &s->o, &s->space, &t->starts);
  if (st != BERTH_OK) return st;
  berth_i_search_weights(d, t->weight);
  berth_i_search_seams(d, t->position, t->rank, t->seam);
  berth_i_search_everywhere(d, t->everywhere);
  for (int32_t a = d->n_actions; a < s->space.n_actions; a++)
    t->everywhere[a] = t->everywhere[s->space.of[a]];
  return BERTH_OK;
}

/* ---- the decider ---- */

static berth_status check(berth_ctx *ctx, const berth_deploy_search_options *o) {
  berth_status st = berth_options_check(ctx, berth_deploy_search_option_table(), o);
  if (st != BERTH_OK) return st;
  if ((unsigned)o->prior > BERTH_DEPLOY_PRIOR_OWN
      || (o->prior == BERTH_DEPLOY_PRIOR_OWN && !o->own))
    return berth_i_fail(ctx, BERTH_EINVAL, "prior %d without a function", (int)o->prior);
  if (o->n_starts < 0) return berth_i_fail(ctx, BERTH_EINVAL, "%d starts", (int)o->n_starts);
  if (o->fill == BERTH_FILL_OWN)
    return berth_i_fail(ctx, BERTH_EINVAL, "fill: a function of one's own is not for deployments");
  return BERTH_OK;
}

/* The problem of the search: a choice for each op group. Above STEPS_ABOVE device groups, or as
 * given, an action is chosen in steps. */
static berth_decisions decisions_of(search *s, tables *t) {
  const berth_deploy_search_options *o = &s->o;
  bool in_steps = o->steps < 0 ? s->d->n_device_groups > STEPS_ABOVE : o->steps > 0;
  if (in_steps) berth_i_search_paths(s->d, &s->space, t->at, t->path, t->count);
  return (berth_decisions){
    .n = s->d->n_groups,
    .n_actions = s->space.n_actions,
    .legal = s->space.legal,
    .instead = s->space.instead,
    .position = t->position,
    .weight = t->weight,
    .seam = t->seam,
    .everywhere = t->everywhere,
    .n_starts = t->starts.n,
    .start = t->starts.assignment,
    .start_value = t->starts.value,
    .start_excess = t->starts.excess,
    .fill = o->fill,
    .value = value,
    .prior = o->prior == BERTH_DEPLOY_PRIOR_LOCAL ? local
             : o->prior == BERTH_DEPLOY_PRIOR_OWN ? own
                                                  : NULL,
    .release = release,
    .ud = s,
    .path_at = in_steps ? t->at : NULL,
    .path = in_steps ? t->path : NULL,
  };
}

berth_status berth_deploy_decider(berth_deploy *d, const berth_deploy_search_options *opts,
                                  berth_decider **out) {
  if (!d || !out) return BERTH_EINVAL;
  const berth_deploy_search_options o = opts ? *opts : berth_deploy_search_default(0);
  tables t = { .pool = berth_i_pool_empty(d->ctx) };
  search *s = NULL;
  berth_status st = check(d->ctx, &o);
  if (st != BERTH_OK || (st = make_search(d, &o, &s)) != BERTH_OK) return st;
  berth_deploy_retain(d); /* release of the search may be the last */
  if ((st = make_tables(s, &t)) == BERTH_OK) {
    berth_decisions p = decisions_of(s, &t);
    st = berth_decider_new(d->ctx, &p, &o.decide, out);
  } else {
    release(s);
  }
  berth_i_pool_free(&t.starts.pool);
  berth_i_pool_free(&t.pool);
  berth_deploy_release(d);
  return st;
}
